"""The labelled scores of each judge, and how judges stand to people and to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl

from adjudge.data.families import family_of, of_family
from adjudge.data.scores import ratings_table
from adjudge.diagnosis.agreement import agreement
from adjudge.diagnosis.family import FamilyScores, family_scores
from adjudge.diagnosis.scores.nonconformity import Target, human_target, round_half_up
from adjudge.diagnosis.scores.result import HumanAgreement, MeanScore, WidthAgreement
from adjudge.statistics.agreement import spearman
from adjudge.statistics.clusters import mean_interval
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import BoolArray, FloatArray, IntArray

#: The answer that a row is about: its document and its model.
KEY = "__key"


@dataclass(frozen=True)
class ScoreRows:
    """The labelled rows of one judge. Documents are numbered over the entire file."""

    judge: str
    frame: pl.DataFrame
    scale: tuple[int, int]
    document: IntArray
    score: FloatArray
    ratings: FloatArray
    target: Target
    error: FloatArray

    @cached_property
    def by_criterion(self) -> dict[str, BoolArray]:
        """Which rows each criterion has, criteria in the order of the file."""
        names = self.frame["criterion"]
        return {name: (names == name).to_numpy() for name in names.unique(maintain_order=True)}


def split_by_judge(frame: pl.DataFrame, *, scale: tuple[int, int], target: str) -> list[ScoreRows]:
    """One `ScoreRows` per judge in alphabetical order; `KEY` names the answer of a row."""
    documents, _ = cluster_codes(frame["doc_id"].to_list())
    table = ratings_table(frame)
    keyed = frame.with_columns(
        pl.concat_str("doc_id", pl.coalesce("model", "id"), separator="\x1f").alias(KEY),
        pl.col("judge", "criterion").fill_null("unnamed"),
    ).with_row_index("__row")
    judges = []
    for (judge,), judge_rows in sorted(keyed.partition_by("judge", as_dict=True).items()):
        places = judge_rows["__row"].to_numpy()
        score = judge_rows["judge_score"].to_numpy().astype(np.float64)
        ratings = table[places]
        rows = ScoreRows(
            judge=str(judge),
            frame=judge_rows,
            scale=scale,
            document=documents[places],
            score=score,
            ratings=ratings,
            target=human_target(ratings, target=target, scale=scale),
            error=judge_errors(score, ratings, target),
        )
        judges.append(rows)
    return judges


def judge_errors(score: FloatArray, ratings: FloatArray, target: str) -> FloatArray:
    """|judge - human| of each row: of the raters' rounded mean, or the mean over raters."""
    people = ratings
    if target == "mean":
        people = round_half_up(np.nanmean(ratings, axis=1, keepdims=True))
    return np.asarray(np.nanmean(np.abs(people - score[:, None]), axis=1))


def mean_scores(rows: ScoreRows, confidence_level: float) -> Iterator[MeanScore]:
    """The judge's mean and people's: over all rows, per criterion and per model if several."""
    people = np.nanmean(rows.ratings, axis=1)
    reach = float(rows.scale[1] - rows.scale[0])
    model_of = rows.frame["model"]
    models = model_of.drop_nulls().unique(maintain_order=True)
    everything = np.ones(len(people), dtype=bool)
    groups: list[tuple[str | None, str | None, BoolArray]] = [(None, None, everything)]
    if len(rows.by_criterion) > 1:
        groups += [(criterion, None, among) for criterion, among in rows.by_criterion.items()]
    if len(models) > 1:
        groups += [(None, name, model_of.eq_missing(name).to_numpy()) for name in models]
    for criterion, model, among in groups:
        gap = (rows.score - people)[among]
        documents = rows.document[among]
        interval = mean_interval(gap, documents, confidence_level, bounds=(-reach, reach))
        yield MeanScore(
            judge=rows.judge,
            criterion=criterion,
            model=model,
            n=len(gap),
            judge_mean=float(rows.score[among].mean()),
            human_mean=float(people[among].mean()),
            difference=float(gap.mean()),
            interval=interval,
        )


def with_people(judges: Sequence[ScoreRows], confidence_level: float) -> Iterator[HumanAgreement]:
    """The agreement of each judge with people, per criterion."""
    for rows in judges:
        for criterion, among in rows.by_criterion.items():
            agreed = agreement(
                rows.score[among].tolist(),
                rows.ratings[among].tolist(),
                level="interval",
                clusters=rows.document[among],
                confidence_level=confidence_level,
            )
            yield HumanAgreement(judge=rows.judge, criterion=criterion, agreement=agreed)


def family_points(
    judges: Sequence[ScoreRows], families: Mapping[str, str] | None, confidence_level: float
) -> Iterator[FamilyScores]:
    """Each judge's scores of its own family compared with people's, if it scored any."""
    for rows in judges:
        maker = family_of(rows.judge, families)
        of_judge = [] if maker is None else of_family(rows.frame["model"], maker, families)
        if any(of_judge):
            yield family_scores(
                rows.score - np.nanmean(rows.ratings, axis=1),
                rows.frame["model"].to_list(),
                of_judge,
                judge=rows.judge,
                family=maker,
                reference_name="people",
                confidence_level=confidence_level,
            )


def between_judges(
    widths: Sequence[tuple[str, str, pl.DataFrame]], alpha: float
) -> Iterator[WidthAgreement]:
    """Rows that two judges both scored, matched by document, model and criterion."""
    for (first, method, sizes), (second, other, other_sizes) in combinations(widths, 2):
        if method != other:
            continue
        on = ["criterion", KEY]
        both = sizes.join(other_sizes.unique(on, keep="last"), on=on, maintain_order="left")
        for criterion in sizes["criterion"].unique(maintain_order=True):
            matched = both.filter(pl.col("criterion") == criterion)
            if not matched.is_empty():
                yield WidthAgreement(
                    judge_a=first,
                    judge_b=second,
                    criterion=criterion,
                    method=method,
                    alpha=alpha,
                    n=matched.height,
                    spearman=spearman(*matched.select("width", "width_right").to_numpy().T),
                )
