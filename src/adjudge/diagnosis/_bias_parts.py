"""Each bias of one judge's rows: a result if its columns are there, else the reason why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.data.labels import LABELS_OF
from adjudge.data.rows import Rows, confidences, has_values, merge_dropped
from adjudge.data.tables import as_text
from adjudge.data.verdicts import CLUSTER, label_values
from adjudge.diagnosis.agreement import agreement
from adjudge.diagnosis.family import family_bias, family_scores
from adjudge.diagnosis.length import length_bias
from adjudge.diagnosis.position import picks, position_bias
from adjudge.diagnosis.reliability import contradictions, reliability
from adjudge.diagnosis.repeats import retest
from adjudge.diagnosis.verbosity import verbosity_bias
from adjudge.results.bias import (
    Agreement,
    Contradictions,
    FamilyBias,
    FamilyScores,
    JudgeBias,
    PositionBias,
    Reliability,
    Retest,
)
from adjudge.results.length import LengthBias, VerbosityBias
from adjudge.rows.families import family_of, of_family
from adjudge.validation import FloatArray, Seed

#: Score differences, response_a minus response_b, with response_a shown first and second.
_BOTH_SCORES = ("score_diff_ab", "score_diff_ba")
#: The preference that the judge stated in addition to its scores, in the same two orders.
_BOTH_PREFERENCES = ("preference_ab", "preference_ba")
_NO_LENGTH = "no response text or length: give --pairs, or length_a and length_b"


@dataclass(frozen=True, kw_only=True)
class BiasRows:
    """Rows of one judge, or of all if `judge` is None, and how to diagnose them.

    `everyone` has all judges' rows, `repeats` every answer to the same rows. A diagnosis of the
    rows is a result, or the reason why there is none.
    """

    frame: pl.DataFrame
    judge: str | None
    everyone: pl.DataFrame
    repeats: pl.DataFrame
    graded: bool
    by_score: bool
    near_tie: float | None
    families: Mapping[str, str] | None
    by: str | None
    floor: float
    confidence_level: float
    seed: Seed

    def has(self, *columns: str) -> bool:
        """Whether each column has a value in some row."""
        return has_values(self.frame, *columns)


def diagnose_rows(rows: BiasRows) -> JudgeBias:
    """Every bias that can be measured on these rows, and the reasons for the others."""
    diagnoses: dict[str, Any] = {
        "position": _position(rows),
        "length": _length(rows),
        "verbosity": _verbosity(rows),
        "family": _family(rows),
        "family_scores": _family_scores(rows),
        "agreement": _agreement(rows),
        "reliability": _reliability(rows),
        "contradictions": _contradictions(rows),
        "retest": _retest(rows),
    }
    missing = {name: made for name, made in diagnoses.items() if isinstance(made, str)}
    return JudgeBias(
        judge=rows.judge,
        rows=rows.frame.height,
        **{name: None if name in missing else made for name, made in diagnoses.items()},
        not_measured=missing,
    )


def _numbers(part: pl.DataFrame, column: str) -> FloatArray:
    return part[column].cast(pl.Float64).fill_null(np.nan).to_numpy()


def wins_of(part: pl.DataFrame) -> FloatArray:
    """The judge's verdict for response_a as 1, 0 and one half; NaN without an answer."""
    p_a = _numbers(part, "p_a")
    return np.where(np.isnan(p_a), np.nan, picks(p_a))


def _clusters(part: pl.DataFrame) -> NDArray[Any]:
    return part[CLUSTER].to_numpy()


def _position(rows: BiasRows) -> PositionBias | str:
    forward, reverse = (_numbers(rows.frame, column) for column in ("p_fwd", "p_rev"))
    ahead = behind = None
    if rows.has(*_BOTH_SCORES):
        # The rubric protocol scores both answers in both orders; the higher score of an order is
        # its verdict.
        ahead, behind = (_numbers(rows.frame, column) for column in _BOTH_SCORES)
        forward = np.where(np.isnan(forward), (np.sign(ahead) + 1) / 2, forward)
        reverse = np.where(np.isnan(reverse), (np.sign(behind) + 1) / 2, reverse)
    if np.isnan(forward + reverse).all():
        return "no pair was asked in both orders (p_fwd and p_rev)"
    return position_bias(
        forward,
        reverse,
        gap_fwd=ahead,
        gap_rev=behind,
        clusters=_clusters(rows.frame),
        groups=None if rows.by is None else as_text(rows.frame[rows.by]).to_list(),
        floor=rows.floor,
        confidence_level=rows.confidence_level,
    )


def _length(rows: BiasRows) -> LengthBias | str:
    if not rows.has("length_a", "length_b"):
        return _NO_LENGTH
    models, labels = rows.has("model_a", "model_b"), rows.has("label")
    if not models and not labels:
        return "longer answers can be better ones: name model_a and model_b, or give labels"
    frame = rows.frame
    return length_bias(
        wins_of(frame),
        _numbers(frame, "length_a"),
        _numbers(frame, "length_b"),
        models_a=as_text(frame["model_a"]) if models else None,
        models_b=as_text(frame["model_b"]) if models else None,
        labels=frame["label"] if labels else None,
        clusters=_clusters(frame),
        floor=rows.floor,
        confidence_level=rows.confidence_level,
    )


def _verbosity(rows: BiasRows) -> VerbosityBias | str:
    if not rows.has("length_a", "length_b"):
        return _NO_LENGTH
    # A rubric's p_a is its score difference on another scale: near-tied is defined in points.
    by_score = rows.has("score_a", "score_b") and (not rows.graded or rows.has(*_BOTH_SCORES))
    if not rows.graded and not by_score:
        return "verdicts alone do not show where the judge is near-tied"
    missing = pl.col("length_a").is_null() | pl.col("length_b").is_null()
    measured = Rows(rows.frame).without(missing, "no length")
    kept = measured.frame
    bias = verbosity_bias(
        _numbers(kept, "score_a") - _numbers(kept, "score_b")
        if by_score
        else _numbers(kept, "p_a") - 0.5,
        _numbers(kept, "length_a"),
        _numbers(kept, "length_b"),
        near_tie=rows.near_tie or (0.3 if by_score else 0.1),
        labels=kept["label"] if "label" in kept.columns else None,
        clusters=_clusters(kept),
        floor=rows.floor,
        confidence_level=rows.confidence_level,
    )
    return replace(bias, dropped=merge_dropped(measured.dropped, bias.dropped))


def _family(rows: BiasRows) -> FamilyBias | str:
    judge, families = rows.judge, rows.families
    if judge is None:
        return "several judges: see the result of each"
    if not rows.has("model_a", "model_b"):
        return "model_a and model_b are not named"
    own = family_of(judge, families)
    if own is None:
        return f"the family of {judge} is unknown: give --judge or --families"
    if rows.has("label"):
        reference = label_values(rows.frame["label"])
        name = "people"
    else:
        picks = (
            rows.everyone.filter(pl.col("judge") != judge)
            .with_columns(((pl.col("p_a") > 0.5) + 0.5 * (pl.col("p_a") == 0.5)).alias("pick"))
            .group_by("id")
            .agg(pl.col("pick").mean())
        )
        joined = rows.frame.select("id").join(picks, on="id", how="left", maintain_order="left")
        reference, name = _numbers(joined, "pick"), "the other judges"
        if np.isnan(reference).all():
            return "neither labels nor another judge to compare with"
    return family_bias(
        _numbers(rows.frame, "p_a"),
        reference,
        *(of_family(rows.frame[side], own, families) for side in ("model_a", "model_b")),
        family=own,
        reference_name=name,
        clusters=_clusters(rows.frame),
        floor=rows.floor,
        confidence_level=rows.confidence_level,
    )


def _family_scores(rows: BiasRows) -> FamilyScores | str | None:
    """Scores of single answers against the other judges' median; None if there are no scores."""
    judge, families = rows.judge, rows.families
    if judge is None or not rows.has("score_a", "score_b", "model_a", "model_b"):
        return None
    own = family_of(judge, families)
    if own is None:
        return None
    answers = pl.concat(
        rows.everyone.select(
            "id",
            "judge",
            pl.lit(side).alias("side"),
            pl.col(f"model_{side}").cast(pl.String).alias("model"),
            pl.col(f"score_{side}").cast(pl.Float64).alias("score"),
        )
        for side in ("a", "b")
    )
    mine = answers.filter(pl.col("judge") == judge)
    others = answers.filter(pl.col("judge") != judge).group_by("id", "side")
    held = mine.join(
        others.agg(pl.col("score").median().alias("others")), on=["id", "side"], how="left"
    )
    if held["others"].null_count() == held.height:
        return "no other judge scored the same answers"
    return family_scores(
        (held["score"] - held["others"]).fill_null(np.nan).to_numpy(),
        held["model"].to_list(),
        of_family(held["model"], own, families),
        judge=judge,
        family=own,
        confidence_level=rows.confidence_level,
    )


def _agreement(rows: BiasRows) -> Agreement | str:
    if not rows.has("label", "verdict"):
        return "no labelled verdict: add label, or give --labels"
    tied, human = _preferences(rows.frame)
    kept = rows.frame.filter(~tied)
    # People's ties are left out, so a judge's tie is not an answer either.
    verdicts = kept["verdict"].replace("tie", None)
    several = human.dtype == pl.List
    labelled = human.list.drop_nulls().list.len() > 0 if several else human.is_not_null()
    if not (verdicts.is_not_null() & labelled).any():
        return "no row has both a verdict and a label that is not a tie"
    result = agreement(
        verdicts,
        human.to_list() if several else human,
        clusters=_clusters(kept),
        confidence_level=rows.confidence_level,
    )
    return replace(result, dropped=merge_dropped({"human tie": int(tied.sum())}, result.dropped))


def _preferences(frame: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Which rows people call a tie, and the labels of the others: one, or one per rater."""
    if LABELS_OF not in frame.columns:
        is_tie = (frame["label"] == "tie").fill_null(False)
        return is_tie, frame["label"].filter(~is_tie)
    said = [row or [None] for row in frame[LABELS_OF].to_list()]
    tied = [{*row} - {None} == {"tie"} for row in said]
    widest = max(len(row) for row in said)
    others = [
        [None if label == "tie" else label for label in row] + [None] * (widest - len(row))
        for row, tie in zip(said, tied, strict=True)
        if not tie
    ]
    return pl.Series(tied), pl.Series(others, dtype=pl.List(pl.String))


def _reliability(rows: BiasRows) -> Reliability | str:
    if not rows.graded:
        return "verdicts without probabilities have no confidence"
    if rows.has(*_BOTH_SCORES):
        return "a rubric's p_a is a score difference, not a probability: see rank"
    if not rows.has("label"):
        return "no label: add label, or give --labels"
    known = (
        Rows(rows.frame)
        .without(pl.col("verdict").is_null(), "no judge answer")
        .without(pl.col("verdict") == "tie", "judge tie")
        .without(pl.col("label").is_null(), "no human label")
        .without(pl.col("label") == "tie", "human tie")
    )
    kept = known.frame
    if kept.is_empty():
        return "no row has a verdict and a label that is not a tie"
    result = reliability(
        confidences(kept),
        (kept["verdict"] == kept["label"]).to_numpy().astype(np.int64),
        clusters=_clusters(kept),
        floor=rows.floor,
        confidence_level=rows.confidence_level,
        seed=rows.seed,
    )
    return replace(result, dropped=known.dropped)


def _contradictions(rows: BiasRows) -> Contradictions | str:
    stated = set(_BOTH_PREFERENCES) <= set(rows.frame.columns)
    if stated and rows.has(*_BOTH_SCORES) and any(rows.has(name) for name in _BOTH_PREFERENCES):
        return contradictions(
            [said for name in _BOTH_PREFERENCES for said in rows.frame[name].to_list()],
            np.concatenate([_numbers(rows.frame, name) for name in _BOTH_SCORES]),
            np.zeros(2 * rows.frame.height),
            clusters=np.tile(_clusters(rows.frame), 2),
            confidence_level=rows.confidence_level,
            unit="reply",
        )
    if rows.by_score or rows.has(*_BOTH_SCORES):
        return "the verdicts are computed from the scores, so they cannot contradict them"
    if not rows.has("score_a", "score_b", "verdict"):
        return "needs verdicts together with score_a and score_b"
    return contradictions(
        rows.frame["verdict"].to_list(),
        _numbers(rows.frame, "score_a"),
        _numbers(rows.frame, "score_b"),
        clusters=_clusters(rows.frame),
        confidence_level=rows.confidence_level,
    )


def _retest(rows: BiasRows) -> Retest | None:
    """None if nothing was asked again: most files have no repeats."""
    asked = rows.repeats
    key = pl.concat_str("judge", "id", separator="\x1f")
    if "repeat" not in asked.columns or asked.select(key.is_duplicated().any()).item() is not True:
        return None
    return retest(
        asked.select(key).to_series().to_list(),
        asked["verdict"].to_list(),
        clusters=_clusters(asked),
        confidence_level=rows.confidence_level,
    )
