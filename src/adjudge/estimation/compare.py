"""The public call: `compare` reads the systems, and returns the comparison that they allow."""

from __future__ import annotations

from typing import Any, Unpack

from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.estimation.comparison import Comparison, compare_two
from adjudge.estimation.judge_comparison import JudgeComparison, compare_judges, read_judges
from adjudge.estimation.many_systems import ComparisonOfMany, compare_many, compare_slices
from adjudge.estimation.systems import choose_two, read_systems
from adjudge.estimation.until_sure import SequentialComparison, check_terms, look, stored_labels
from adjudge.store import StorePlace
from adjudge.validation import Seed, open_unit

AnyComparison = Comparison | ComparisonOfMany | JudgeComparison | SequentialComparison


def compare(
    data: TableLike,
    other: TableLike | None = None,
    *,
    a: str | None = None,
    b: str | None = None,
    by: str = "model",
    within: str | None = None,
    judge: str | None = None,
    judges: bool = False,
    screen: bool = False,
    until_sure: bool = False,
    rounds: bool = False,
    equal_within: float | None = None,
    max_labels: int | None = None,
    scale: tuple[int, int] | None = None,
    store: StorePlace = "adjudge.db",
    labels: TableLike | None = None,
    cluster: str | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    model_labels: bool = False,
    confidence_level: float = 0.95,
    seed: Seed = 0,
    **reading: Unpack[Reading],
) -> AnyComparison:
    """Whether system B is better than system A, on the same questions.

    Without `a` and `b`, all systems are compared. Differences are B - A.

    Args:
        data: Rows of the systems, as grades, probabilities, scores or judgments of pairs. A path, a
            frame or a log. A second file can have the other system.
        other: The second system's file, if each system has its own. Rows are paired by id, or by
            prompt; a run is named by its model, or by its file.
        a: The system to compare with.
        b: The system that is compared; differences are B - A.
        by: Column of the systems.
        within: Compare the two systems within each value of this column.
        judge: The judge whose verdicts count, if the rows have several.
        judges: Compare judges or prompts by people's labels, not systems. Rows are judgments or
            grades of several judges on the same rows.
        screen: A screening list of differences, of which a share of 1 - confidence_level is false.
            For 20 pairs or slices or more; otherwise the chance of one false one is bounded (Holm).
        until_sure: Draw questions to label until it is known, with a look after every label. The
            state is in `store`; labels come from the labelling page, from `labels` or from `data`.
        rounds: With until_sure: a look after every 50 labels only; fewer labels, approximate.
        equal_within: With until_sure: also stop if the systems are equal within this difference.
        max_labels: With until_sure: labels that can be had, to say what is out of reach.
        scale: With until_sure: lowest and highest score, if there are scores.
        store: With until_sure: store of the state and of labels, a file or postgresql://...
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
        Comparison of two systems; ComparisonOfMany of several, or within slices; JudgeComparison
        with `judges`; SequentialComparison with `until_sure`.

    >>> rows = {"id": [*range(60)] * 2, "model": ["old"] * 60 + ["new"] * 60,
    ...         "judge": [1, 0] * 30 + [1, 1, 1, 0] * 15}
    >>> result = compare(rows, a="old", b="new")
    >>> round(result.judge.estimate, 2), result.better
    (0.25, True)
    """
    confidence = open_unit(confidence_level, "confidence_level")
    sequential: dict[str, Any] = {
        "rounds": rounds,
        "equal_within": equal_within,
        "max_labels": max_labels,
    }
    for option, value in {**sequential, "scale": scale}.items():
        if value and not until_sure:
            raise ArgumentError(option, value, "is for --until-sure (until_sure=True)")
    if judges:
        for name, given in {"a": a, "b": b, "within": within, "screen": screen}.items():
            if given:
                raise ArgumentError(name, given, "is for systems, not for judges")
        rows = read_judges(data, other, labels, **reading)
        return compare_judges(rows, cluster=cluster, confidence_level=confidence, seed=seed)
    options: dict[str, Any] = {
        "a": a,
        "b": b,
        "by": by,
        "within": within,
        "judge": judge,
        "cluster": "none" if until_sure else cluster,
        "judge_column": judge_column,
        "human_column": human_column,
        "positive": positive,
        "model_labels": model_labels,
        **reading,
    }
    slices = read_systems(data, other, labels=labels, **options)
    if within is not None:
        if until_sure:
            raise ArgumentError("within", within, "leave it out: one question at a time")
        some = {name: systems for name, systems in slices.items() if name is not None}
        first, second = (a, b) if a and b else choose_two(next(iter(some.values())), a, b)
        return compare_slices(
            some, first, second, within=within, confidence_level=confidence, screen=screen
        )
    systems = slices[None]
    if until_sure:
        if not isinstance(seed, int):
            raise ArgumentError("seed", seed, "give a whole number: a later look repeats the draw")
        terms = check_terms(confidence_level=confidence, scale=scale, seed=seed, **sequential)
        if labels is None and (kept := stored_labels(store, systems, scale)) is not None:
            systems = read_systems(data, other, labels=kept, **options)[None]
        return look(systems, *choose_two(systems, a, b), terms, store)
    if a is None and b is None and len(systems.names) > 2:
        return compare_many(systems, confidence_level=confidence, screen=screen, seed=seed)
    if screen:
        raise ArgumentError("screen", screen, "is for many systems, or slices (--within)")
    return compare_two(systems, *choose_two(systems, a, b), confidence_level=confidence)
