"""Prompt sensitivity: how often a judge's answers change with another wording of the prompt.

The diagnosis paper leaves it to future work (section 7). Two files, the same rows, two prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.tables import TableLike
from adjudge.diagnosis._intervals import (
    FLOOR,
    Interval,
    codes_of,
    count_clusters,
    excludes,
    mean_interval,
    share_interval,
    shows,
)
from adjudge.errors import ArgumentError
from adjudge.results.prompts import PromptChange, PromptSensitivity
from adjudge.rows.prompts import PromptRows, prepare_prompts
from adjudge.validation import FloatArray, non_negative, open_unit, same_length

_ASSUMPTIONS = (
    "intervals are clustered: rows of one cluster can be alike, clusters are independent",
    "one judge answered both prompts with the same settings",
)


def diagnose_prompts(
    first: TableLike,
    second: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    cluster: str | None = None,
    floor: float = FLOOR,
    confidence_level: float = 0.95,
) -> PromptSensitivity:
    """How often verdicts or scores change between two prompts, per judge and criterion.

    With repeats in both (`judge --repeats`), the result also has how often the judge changes when
    it is asked again with the same prompt, and what the prompt adds to that.

    Args:
        first: Scores, judgments or tournaments of a judge with one prompt. A path or a frame.
        second: The same rows with another prompt. A path or a frame.
        columns: Columns with other names. Our column names to those of both tables.
        labels_as: Meaning of words in label and verdict columns. Their words to ours.
        cluster: Column of rows that belong together. Default: doc_id, else prompt_id, else every
            row is a cluster.
        floor: A smaller effect of the prompt does not count. However significant it is.
        confidence_level: Level of all intervals.

    >>> rows = {"id": list("abcd"), "judge": ["j"] * 4, "verdict": ["A", "B", "A", "B"]}
    >>> done = diagnose_prompts(rows, {**rows, "verdict": ["A", "B", "B", "B"]})
    >>> done.groups[0].changed, done.groups[0].again
    (0.25, None)
    """
    open_unit(confidence_level, "confidence_level")
    non_negative(floor, "floor")
    rows = prepare_prompts(first, second, columns=columns, labels_as=labels_as, cluster=cluster)
    return PromptSensitivity(
        first=rows.names[0],
        second=rows.names[1],
        answers=rows.answers,
        groups=tuple(
            _group(str(judge) if judge else None, criterion, part, rows, floor, confidence_level)
            for (judge, criterion), part in rows.frame.partition_by(
                ["judge", "criterion"], as_dict=True, maintain_order=True
            ).items()
        ),
        clustered_by=rows.cluster,
        floor=floor,
        confidence_level=confidence_level,
        dropped=rows.dropped,
        assumptions=_ASSUMPTIONS,
    )


def _group(
    judge: str | None,
    criterion: Any,
    part: pl.DataFrame,
    rows: PromptRows,
    floor: float,
    confidence_level: float,
) -> PromptChange:
    return prompt_change(
        part["first"].to_list(),
        part["second"].to_list(),
        values=None
        if part["value_first"].list.len().min() == 0 or part["value_second"].list.len().min() == 0
        else (part["value_first"].to_list(), part["value_second"].to_list()),
        ordered=rows.answers == "scores",
        clusters=part["cluster"].to_list(),
        judge=judge,
        criterion=None if criterion is None else str(criterion),
        floor=floor,
        confidence_level=confidence_level,
    )


def prompt_change(
    first: Sequence[Sequence[Any]],
    second: Sequence[Sequence[Any]],
    *,
    values: tuple[Sequence[Sequence[float]], Sequence[Sequence[float]]] | None = None,
    ordered: bool = False,
    clusters: ArrayLike | Sequence[Any] | None = None,
    judge: str | None = None,
    criterion: str | None = None,
    floor: float = FLOOR,
    confidence_level: float = 0.95,
) -> PromptChange:
    """The answers of each row to both prompts, with all repeats.

    With shares p_v and q_v of the answers v, a row changes with probability 1 - sum p_v q_v. Asked
    again with the same prompt it changes with 1 - sum p_v^2 (and q), estimated without bias from
    two or more answers. The former minus the mean of the latter is sum (p_v - q_v)^2 / 2, which is
    0 if the prompt has no effect.

    Args:
        first: The answers of each row to the first prompt, one per repeat.
        second: The answers to the second prompt.
        values: The numbers behind the answers, in the same form.
        ordered: Whether the mean of the numbers has a direction, as scores have.
        clusters: The cluster of each row, such as its prompt. Rows of one cluster can be alike.
            Default: every row is a cluster.
        judge: Name of the judge.
        criterion: Name of the criterion.
        floor: A smaller effect of the prompt does not count.
        confidence_level: Level of all intervals.

    >>> again = prompt_change([["A", "A"], ["A", "B"]], [["B", "B"], ["A", "B"]])
    >>> again.changed, again.again, again.excess
    (0.75, 0.5, 0.25)
    """
    n = same_length(first=first, second=second)
    if n == 0 or not all(map(len, (*first, *second))):
        raise ArgumentError("first", f"{n} rows", "give an answer to both prompts for every row")
    codes = codes_of(clusters, n)
    tallies = [(Counter(one), Counter(other)) for one, other in zip(first, second, strict=True)]
    changed = np.array([1 - _meeting(one, other) for one, other in tallies])
    low, high = share_interval(changed, codes, confidence_level)
    asked = np.array([min(one.total(), other.total()) > 1 for one, other in tallies])
    again = np.array(
        [
            (_flips(one) + _flips(other)) / 2
            for (one, other), twice in zip(tallies, asked, strict=True)
            if twice
        ]
    )
    excess: float | None = None
    ends: Interval = (None, None)
    if len(again):
        gap = changed[asked] - again
        excess = float(gap.mean())
        ends = mean_interval(gap, codes[asked], confidence_level, bounds=(-1.0, 1.0))
    distance = shift = None
    reach: Interval = (None, None)
    if values is not None:
        apart = _means(values[1]) - _means(values[0])
        distance = float(np.abs(apart).mean())
        if ordered:
            shift = float(apart.mean())
            widest = float(np.ptp(np.concatenate([_flat(values[0]), _flat(values[1])])))
            reach = mean_interval(apart, codes, confidence_level, bounds=(-widest, widest))
    return PromptChange(
        judge=judge,
        criterion=criterion,
        n=n,
        clusters=count_clusters(codes),
        changed=float(changed.mean()),
        low=low,
        high=high,
        repeated=int(asked.sum()),
        again=float(again.mean()) if len(again) else None,
        excess=excess,
        excess_low=ends[0],
        excess_high=ends[1],
        distance=distance,
        shift=shift,
        shift_low=reach[0],
        shift_high=reach[1],
        more_than_again=excess is not None and excess > 0 and shows(excess, ends, 0.0, floor),
        shifted=excludes(reach, 0.0) and bool(shift),
    )


def _meeting(one: Counter[Any], other: Counter[Any]) -> float:
    """The probability that an answer of each is the same."""
    same = sum(times * other[answer] for answer, times in one.items())
    return same / (one.total() * other.total())


def _flips(answers: Counter[Any]) -> float:
    """The probability that two different answers of one row differ."""
    k = answers.total()
    return 1 - sum(times * (times - 1) for times in answers.values()) / (k * (k - 1))


def _means(values: Sequence[Sequence[float]]) -> FloatArray:
    return np.array([np.mean(row) for row in values])


def _flat(values: Sequence[Sequence[float]]) -> FloatArray:
    return np.array([value for row in values for value in row], dtype=np.float64)
