"""All biases of a judge from one file of judgments, each where its columns are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge._validation import FloatArray, Seed, open_unit
from adjudge.diagnosis.agreement import agreement
from adjudge.diagnosis.contradictions import contradictions
from adjudge.diagnosis.family import family_bias, family_of
from adjudge.diagnosis.family_scores import family_scores
from adjudge.diagnosis.position import position_bias
from adjudge.diagnosis.reliability import reliability
from adjudge.diagnosis.verbosity import verbosity_bias
from adjudge.io.tables import TableLike, as_text
from adjudge.results.bias import (
    Agreement,
    BiasReport,
    Contradictions,
    FamilyBias,
    FamilyScores,
    JudgeBias,
    PositionBias,
    Reliability,
    VerbosityBias,
)
from adjudge.rows.columns import text_column
from adjudge.rows.verdicts import CLUSTER, LABEL_VALUES, Verdicts, prepare_verdicts

_ASSUMPTIONS = (
    "intervals are clustered: rows of one cluster may be alike, clusters are independent",
    "each 95 % interval alarms on an unbiased judge at most once in twenty; with k judges and "
    "biases expect k/20 false alarms",
)

#: Score differences, response_a minus response_b, with response_a shown first and second.
_BOTH_SCORES = ("score_diff_ab", "score_diff_ba")


@dataclass(frozen=True)
class _Options:
    near_tie: float | None
    families: Mapping[str, str] | None
    by: str | None
    confidence_level: float
    seed: Seed


def diagnose_bias(
    source: TableLike,
    *,
    pairs: TableLike | None = None,
    labels: TableLike | None = None,
    columns: Mapping[str, str] | None = None,
    judge: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    near_tie: float | None = None,
    families: Mapping[str, str] | None = None,
    confidence_level: float = 0.95,
    rng: Seed = 0,
) -> BiasReport:
    """Position, verbosity, family, agreement, reliability and contradictions, per judge.

    `source` is a frame or a path of judgments: id, judge, p_fwd and p_rev or p_a (all about
    response_a), or verdicts in both orders as verdict_fwd and verdict_rev; or of battles, as `rank`
    takes them, where people's winner is the label. What else is there decides what can be measured:
    label (agreement, reliability), response_a and response_b or length_a and length_b (verbosity),
    model_a and model_b (family), score_a and score_b (contradictions; with several judges, family
    in points), score_diff_ab and score_diff_ba (position, in points too). `pairs` and `labels` add
    such columns by id, `judge` names the judge of a file that does not. What could not be measured
    is named in `not_measured`, with the reason.

    `cluster` names the column whose rows are alike (default prompt_id where it repeats, else
    each pair by itself; a row without a cluster is one of its own). `by` groups the position bias.
    `near_tie` is how close to a tie the judge must be for verbosity: 0.1 in probability, or 0.3 in
    score where the judge gave scores alone (a rubric's p_a is its score).

    >>> always_first = {"id": list("abcdefgh"), "p_fwd": [1.0] * 8, "p_rev": [0.0] * 8}
    >>> report = diagnose_bias(always_first)
    >>> report.position.first_share, report.position.flip_share
    (1.0, 1.0)
    """
    open_unit(confidence_level, "confidence_level")
    rows = prepare_verdicts(
        source,
        pairs=pairs,
        labels=labels,
        columns=columns,
        judge=judge,
        cluster="auto" if cluster is None else cluster,
    )
    frame = rows.frame
    if by is not None:
        text_column(frame, by, "by")
    options = _Options(near_tie, families, by, confidence_level, rng)
    judges = [
        _measure(part, rows, str(name), options)
        for (name,), part in sorted(frame.partition_by("judge", as_dict=True).items())
    ]
    whole = judges[0]
    if len(judges) > 1:
        whole = _measure(frame, rows, None, options)
    return BiasReport(
        rows=frame.height,
        clusters=frame[CLUSTER].n_unique(),
        clustered_by=rows.cluster,
        position=whole.position,
        verbosity=whole.verbosity,
        family=whole.family,
        agreement=whole.agreement,
        reliability=whole.reliability,
        contradictions=whole.contradictions,
        not_measured=whole.not_measured,
        judges=tuple(judges),
        family_scores=whole.family_scores,
        dropped=rows.dropped,
        confidence_level=confidence_level,
        seed=rng if isinstance(rng, int) else None,
        assumptions=_ASSUMPTIONS,
    )


def _measure(part: pl.DataFrame, rows: Verdicts, judge: str | None, options: _Options) -> JudgeBias:
    clusters = part[CLUSTER].to_numpy()
    missing: dict[str, str] = {}
    return JudgeBias(
        judge=judge,
        rows=part.height,
        position=_position(part, clusters, options, missing),
        verbosity=_verbosity(part, clusters, options, missing, graded=rows.graded),
        family=_family(part, rows.frame, judge, clusters, options, missing),
        family_scores=_family_scores(part, rows.frame, judge, options, missing),
        agreement=_agreement(part, clusters, options, missing),
        reliability=_reliability(part, clusters, options, missing, graded=rows.graded),
        contradictions=_contradictions(part, clusters, options, missing, rows.by_score),
        not_measured=missing,
    )


def _numbers(part: pl.DataFrame, column: str) -> FloatArray:
    values = part[column].cast(pl.Float64).to_list()
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _has(part: pl.DataFrame, *columns: str) -> bool:
    return all(c in part.columns and part[c].null_count() < part.height for c in columns)


def _position(
    part: pl.DataFrame, clusters: NDArray[Any], options: _Options, missing: dict[str, str]
) -> PositionBias | None:
    forward, reverse = _numbers(part, "p_fwd"), _numbers(part, "p_rev")
    ahead = behind = None
    if _has(part, *_BOTH_SCORES):
        # The rubric protocol scores both answers in both orders; each order's higher score is its
        # verdict.
        ahead, behind = (_numbers(part, column) for column in _BOTH_SCORES)
        forward = np.where(np.isnan(forward), (np.sign(ahead) + 1) / 2, forward)
        reverse = np.where(np.isnan(reverse), (np.sign(behind) + 1) / 2, reverse)
    if np.isnan(forward + reverse).all():
        missing["position"] = "no pair was asked in both orders (p_fwd and p_rev)"
        return None
    return position_bias(
        forward,
        reverse,
        gap_fwd=ahead,
        gap_rev=behind,
        clusters=clusters,
        groups=None if options.by is None else as_text(part[options.by]).to_list(),
        confidence_level=options.confidence_level,
    )


def _verbosity(
    part: pl.DataFrame,
    clusters: NDArray[Any],
    options: _Options,
    missing: dict[str, str],
    *,
    graded: bool,
) -> VerbosityBias | None:
    if not _has(part, "length_a", "length_b"):
        missing["verbosity"] = "no response text or length: give --pairs, or length_a and length_b"
        return None
    known = part["length_a"].is_not_null() & part["length_b"].is_not_null()
    kept, index = part.filter(known), known.to_numpy()
    # A rubric's p_a is its score difference on another scale: near-tied is said in points.
    by_score = _has(part, "score_a", "score_b") and (not graded or _has(part, *_BOTH_SCORES))
    if not graded and not by_score:
        missing["verbosity"] = "verdicts alone do not say where the judge is near-tied"
        return None
    margin = (
        _numbers(kept, "score_a") - _numbers(kept, "score_b")
        if by_score
        else _numbers(kept, "p_a") - 0.5
    )
    return verbosity_bias(
        margin,
        _numbers(kept, "length_a"),
        _numbers(kept, "length_b"),
        near_tie=options.near_tie or (0.3 if by_score else 0.1),
        labels=kept["label"].to_list() if "label" in kept.columns else None,
        clusters=clusters[index],
        confidence_level=options.confidence_level,
    )


def _family(
    part: pl.DataFrame,
    everyone: pl.DataFrame,
    judge: str | None,
    clusters: NDArray[Any],
    options: _Options,
    missing: dict[str, str],
) -> FamilyBias | None:
    if judge is None:
        missing["family"] = "several judges: see each of them"
        return None
    if not _has(part, "model_a", "model_b"):
        missing["family"] = "model_a and model_b are not named"
        return None
    own = family_of(judge, options.families)
    if own is None:
        missing["family"] = f"the family of {judge} is not known: give --judge or --families"
        return None
    sides = [
        [model is not None and family_of(model, options.families) == own for model in part[column]]
        for column in ("model_a", "model_b")
    ]
    if "label" in part.columns and part["label"].null_count() < part.height:
        reference = np.array([LABEL_VALUES.get(label, np.nan) for label in part["label"]])
        name = "people"
    else:
        picks = (
            everyone.filter(pl.col("judge") != judge)
            .with_columns(((pl.col("p_a") > 0.5) + 0.5 * (pl.col("p_a") == 0.5)).alias("pick"))
            .group_by("id")
            .agg(pl.col("pick").mean())
        )
        joined = part.select("id").join(picks, on="id", how="left", maintain_order="left")
        reference, name = _numbers(joined, "pick"), "the other judges"
        if np.isnan(reference).all():
            missing["family"] = "neither labels nor another judge to hold this one against"
            return None
    return family_bias(
        _numbers(part, "p_a"),
        reference,
        sides[0],
        sides[1],
        family=own,
        reference_name=name,
        clusters=clusters,
        confidence_level=options.confidence_level,
    )


def _family_scores(
    part: pl.DataFrame,
    everyone: pl.DataFrame,
    judge: str | None,
    options: _Options,
    missing: dict[str, str],
) -> FamilyScores | None:
    """Scores of single answers beside the other judges' median; silent where nobody scored."""
    if judge is None or not _has(part, "score_a", "score_b", "model_a", "model_b"):
        return None
    own = family_of(judge, options.families)
    if own is None:
        return None
    answers = pl.concat(
        everyone.select(
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
        missing["family_scores"] = "no other judge scored the same answers"
        return None
    return family_scores(
        (held["score"] - held["others"]).fill_null(np.nan).to_numpy(),
        held["model"].to_list(),
        [m is not None and family_of(m, options.families) == own for m in held["model"]],
        judge=judge,
        family=own,
        confidence_level=options.confidence_level,
    )


def _agreement(
    part: pl.DataFrame, clusters: NDArray[Any], options: _Options, missing: dict[str, str]
) -> Agreement | None:
    if not _has(part, "label", "verdict"):
        missing["agreement"] = "no labelled verdict: add label, or give --labels"
        return None
    column = "labels" if "labels" in part.columns else "label"
    said = [value if isinstance(value, list) else [value] for value in part[column].to_list()]
    # The judge has no verdict "tie" to agree with one by: people's ties say nothing of it here.
    widest = max(len(row) for row in said)
    human = [
        [None if label == "tie" else label for label in row] + [None] * (widest - len(row))
        for row in said
    ]
    verdicts = part["verdict"].to_list()
    if not any(v and any(row) for v, row in zip(verdicts, human, strict=True)):
        missing["agreement"] = "no row has both a verdict and a label that is not a tie"
        return None
    return agreement(verdicts, human, clusters=clusters, confidence_level=options.confidence_level)


def _reliability(
    part: pl.DataFrame,
    clusters: NDArray[Any],
    options: _Options,
    missing: dict[str, str],
    *,
    graded: bool,
) -> Reliability | None:
    if not graded:
        missing["reliability"] = "verdicts without probabilities carry no confidence"
        return None
    if _has(part, *_BOTH_SCORES):
        missing["reliability"] = "a rubric's p_a is a score difference, no probability: see rank"
        return None
    if not _has(part, "label"):
        missing["reliability"] = "no label: add label, or give --labels"
        return None
    known = part["label"].is_in(["A", "B"]).fill_null(False) & part["verdict"].is_not_null()
    kept = part.filter(known)
    if kept.height == 0:
        missing["reliability"] = "no row has a verdict and a label that is not a tie"
        return None
    p_a = _numbers(kept, "p_a")
    return reliability(
        np.maximum(p_a, 1 - p_a),
        (kept["verdict"] == kept["label"]).to_numpy().astype(np.int64),
        clusters=clusters[known.to_numpy()],
        confidence_level=options.confidence_level,
        rng=options.seed,
    )


def _contradictions(
    part: pl.DataFrame,
    clusters: NDArray[Any],
    options: _Options,
    missing: dict[str, str],
    by_score: bool,
) -> Contradictions | None:
    if by_score or not _has(part, "score_a", "score_b", "verdict"):
        missing["contradictions"] = "needs verdicts beside score_a and score_b"
        return None
    return contradictions(
        part["verdict"].to_list(),
        _numbers(part, "score_a"),
        _numbers(part, "score_b"),
        clusters=clusters,
        confidence_level=options.confidence_level,
    )
