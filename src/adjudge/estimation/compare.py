"""The public call: `compare` reads the systems, and returns the comparison that they allow."""

from __future__ import annotations

from typing import Unpack

from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.estimation.comparison import Comparison, compare_two
from adjudge.estimation.systems import read_systems
from adjudge.validation import Seed, open_unit


def compare(
    data: TableLike,
    other: TableLike | None = None,
    *,
    a: str | None = None,
    b: str | None = None,
    by: str = "model",
    within: str | None = None,
    labels: TableLike | None = None,
    cluster: str | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    model_labels: bool = False,
    confidence_level: float = 0.95,
    seed: Seed = 0,
    **reading: Unpack[Reading],
) -> Comparison:
    """Whether system B is better than system A, on the same questions.

    Args:
        data: Rows of the systems, as grades, probabilities, scores or judgments of pairs. A path, a
            frame or a log. A second file can have the other system.
        other: The second system's file, if each system has its own. Rows are paired by id, or by
            prompt; a run is named by its model, or by its file.
        a: The system to compare with.
        b: The system that is compared; differences are B - A.
        by: Column of the systems.
        within: Compare within each value of this column.
        labels: Human labels by id. If ids name questions, with the systems' column too.
        cluster: Column of questions that belong together; none: all are independent. Default:
            prompt_id or doc_id, if rows are paired by another column.
        judge_column: Column of the judge's verdicts.
        human_column: Column of the human labels.
        positive: For verdicts that are words: the one that counts as 1.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
        confidence_level: Confidence level of the intervals.
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    Returns:
        Comparison: the judge's difference, and people's if there are labels.

    >>> rows = {"id": [*range(60)] * 2, "model": ["old"] * 60 + ["new"] * 60,
    ...         "judge": [1, 0] * 30 + [1, 1, 1, 0] * 15}
    >>> result = compare(rows, a="old", b="new")
    >>> round(result.judge.estimate, 2), result.better
    (0.25, True)
    """
    confidence = open_unit(confidence_level, "confidence_level")
    slices = read_systems(
        data,
        other,
        a=a,
        b=b,
        by=by,
        within=within,
        labels=labels,
        cluster=cluster,
        judge_column=judge_column,
        human_column=human_column,
        positive=positive,
        model_labels=model_labels,
        **reading,
    )
    systems = slices[None]
    if len(systems.names) < 2:
        raise ArgumentError("by", by, f"the rows are of one system, {systems.names[0]}")
    if (a is None) is not (b is None) and len(systems.names) > 2:
        raise ArgumentError("b" if b is None else "a", None, "name both: --a NAME --b NAME")
    given = [name for name in (a, b) if name is not None]
    others = [name for name in systems.names if name not in given]
    return compare_two(systems, a or others[0], b or others[-1], confidence_level=confidence)
