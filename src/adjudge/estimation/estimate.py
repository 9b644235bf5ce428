"""The public call: `estimate` takes a table or arrays, chooses an estimator, returns the rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from adjudge.data.grades import Grades, mixed_models, prepare_grades
from adjudge.data.scales import as_numbers
from adjudge.data.source import Reading, Source
from adjudge.data.tables import TableLike, as_text
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.classes import ClassEstimate, check_classes, estimate_classes
from adjudge.estimation.estimators import Method, find_estimator, known_estimator
from adjudge.estimation.estimators.alone import HUMAN_ONLY
from adjudge.estimation.estimators.base import Estimator
from adjudge.estimation.estimators.conditional import CONDITIONAL
from adjudge.estimation.estimators.misclassification import MISCLASSIFICATION
from adjudge.estimation.estimators.ppi import PPI
from adjudge.estimation.groups import GroupedEstimate, estimate_groups
from adjudge.estimation.judges import prepare_judges
from adjudge.estimation.means import MeanEstimate, estimate_means
from adjudge.estimation.rate import (
    INTERVALS,
    NEARLY_ALL,
    OF_VERDICT,
    Estimate,
    IntervalMethod,
    LabelsDrawn,
    Request,
    best_for_random_labels,
    estimate_rate,
    exact_intervals,
    how_drawn,
    no_profile_for,
)
from adjudge.estimation.sample import Sample, refuse_shares, sample_of
from adjudge.estimation.sharing import FEWEST_OTHERS
from adjudge.present.text import count
from adjudge.statistics.by_verdict import LEVEL, p_within_verdicts
from adjudge.validation import Seed, one_of, open_unit

_KINDS = {"binary": "verdicts of 0 and 1", "probability": "probabilities", "classes": "classes"}
AnyEstimate = Estimate | GroupedEstimate | ClassEstimate | MeanEstimate
#: A value for each row; None or NaN if there is none.
Values = ArrayLike | Sequence[Any]


class Options(Reading, total=False):
    """What `estimate` takes in every form."""

    judge: Values | None
    human: Values | None
    judges: Sequence[str]
    labels: TableLike | None
    model: str | None
    cluster: str | Values | None
    strata: str | Values | None
    sampling_probability: Values | None
    method: Method
    interval: IntervalMethod
    labels_are_random: bool
    labels_by_verdict: bool
    confidence_level: float
    judge_column: str
    human_column: str
    positive: str | None
    scale: tuple[float, float] | None
    model_labels: bool
    seed: Seed


@overload
def estimate(data: TableLike | Grades | None = ..., **options: Unpack[Options]) -> Estimate: ...
@overload
def estimate(
    data: TableLike | Grades | None = ...,
    *,
    by: str | Values,
    pool: bool = ...,
    share: bool = ...,
    **options: Unpack[Options],
) -> GroupedEstimate: ...
def estimate(
    data: TableLike | Grades | None = None,
    *,
    judge: Values | None = None,
    human: Values | None = None,
    judges: Sequence[str] = (),
    labels: TableLike | None = None,
    model: str | None = None,
    by: str | Values | None = None,
    pool: bool = False,
    share: bool = False,
    cluster: str | Values | None = None,
    strata: str | Values | None = None,
    sampling_probability: Values | None = None,
    method: Method = "auto",
    interval: IntervalMethod = "wald",
    labels_are_random: bool = False,
    labels_by_verdict: bool = False,
    confidence_level: float = 0.95,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    scale: tuple[float, float] | None = None,
    model_labels: bool = False,
    seed: Seed = 0,
    **reading: Unpack[Reading],
) -> AnyEstimate:
    """The rate or mean that people would give, from the judge's verdicts and some human labels.

    Rows with a human label calibrate, rows without one are the test set. Give a table, or the
    arrays `judge` and `human` (None or NaN if there is no label). Verdicts can be 0/1,
    probabilities, scores, or class names.

    Args:
        data: Rows with the judge's verdict and, for some, a human label. The columns are
            `judge_column` and `human_column`; `sampled_by` and `sampling_probability` are used if
            present. A path, a frame, a dict of columns, or the result of `prepare_grades`.
        judge: Array of verdicts or probabilities, if there is no table.
        human: Array of labels, if there is no table.
        judges: Name of a judge whose rows are used; of several, the mean of their verdicts. It is a
            name in the column judge_name (or judge), or the column of the judge's verdicts. The
            mean is a probability; with random labels the method is ppi++. Rows that one of the
            judges did not judge are left out and counted.
        labels: Human labels by id. A second table; its labels replace those in `data`.
        model: The win rate of this model, from judgments of pairs with model_a and model_b; a tie
            is half a win. The rows are as `adjudge judge` or AlpacaEval writes them; the rate is
            the share of its pairs in which people prefer its answer. `by="opponent"` gives one rate
            for each opponent. The judge's probabilities are used, with `judge_column="verdict"` its
            verdicts.
        by: A rate for each value of this column, such as model. Or an array of groups. Each group
            has its own confusion matrix.
        pool: With groups: one confusion matrix for all of them (read the warning). Almost always a
            mistake.
        share: With four groups or more: a second interval that borrows from the other groups.
        cluster: Column of rows that belong together; none: all rows are independent. Or an array. A
            row without a value is a cluster of one. Default: prompt_id, if it repeats within a
            group, or else id, if it does.
        strata: A confusion matrix for each value of this column. Or an array. The strata's rates
            are combined.
        sampling_probability: Array, if labels were picked with unequal probabilities.
        method: auto, misclassification, ppi++, conditional, difference, human-only or naive. auto:
            misclassification; with random labels conditional, or ppi++ for probabilities. It never
            tests.
        interval: wald (Eq. 6), or profile for weak judges and few labels.
        labels_are_random: State that the labelled rows are a random sample of the test rows; not
            needed if sampled_by is random. auto then uses conditional for 0/1 verdicts and ppi++
            for probabilities. No test decides this.
        labels_by_verdict: State that rows were drawn for labelling by the judge's verdict, such as
            all fails and some passes, at random within each. Each verdict then counts with its
            share of all rows; probabilities above one half are the verdict 1.
        confidence_level: Confidence level of the intervals.
        judge_column: Column of one judge's verdicts, as the user's file names it. The same as
            --column judge=NAME (`columns`).
        human_column: Column of the human labels.
        positive: For labels that are words: the one that counts as 1. Verdicts can be the same
            words, or probabilities of that one.
        scale: Lowest and highest score, such as 1-5, for means of scores. Default: the range of
            people's and the judge's scores together.
        model_labels: Use labels that a model made (labelled_by model); the result states it. They
            are refused otherwise.
        seed: Seed of everything random. The profile interval and the permutation test under `pool`
            use it. A number or a numpy Generator.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    Returns:
        An EstimateResult: `method`, `n`, `n_labels`, `intervals()` and, without `by`, `estimate`,
        `low` and `high`. It is an Estimate, with `by` a GroupedEstimate. Rows of more than two
        classes, without `positive`, give a ClassEstimate, which has a rate for each class; scores
        (numbers outside [0, 1]) give a MeanEstimate, unless `method` is named. If no valid number
        exists, the result gives the reason instead.

    >>> result = estimate(judge=[1] * 60 + [0] * 40 + [1, 1, 1, 0] * 9 + [0, 0, 0, 1] * 9,
    ...                   human=[None] * 100 + [1] * 36 + [0] * 36)
    >>> round(result.estimate, 3), round(result.naive, 3)
    (0.7, 0.6)
    """
    level = open_unit(confidence_level, "confidence_level")
    options: dict[str, Any] = {
        "by": by,
        "cluster": cluster,
        "strata": strata,
        "sampling_probability": sampling_probability,
        "model": model,
        "judge_column": judge_column,
        "human_column": human_column,
        "positive": positive,
        "model_labels": model_labels,
        "paired": pool,
        "by_verdict": labels_by_verdict,
        "scores": method == "auto" and positive is None and not isinstance(data, Grades),
    }
    if judges:
        arrays = judge is not None or human is not None
        if arrays or data is None or isinstance(data, Grades):
            raise ArgumentError("judges", judges, "give the table that has their rows")
        rows = prepare_judges(Source(data, labels=labels, **reading), judges, **options)
    else:
        rows = prepare_grades(data, judge=judge, human=human, labels=labels, **options, **reading)
    if rows.scale == "scores":
        drawn = how_drawn(rows, None, declared=labels_are_random)
        other = {"pool": pool, "strata": strata is not None, "interval": interval != "wald"}
        other |= {"share": share, "labels_by_verdict": labels_by_verdict}
        return estimate_means(rows, drawn, level, scale, **other)
    _check_rates(rows, method, interval, pool=pool, share=share, scale=scale)
    sample = _drawn_by_verdict(rows) if labels_by_verdict else sample_of(rows)
    labels_drawn = how_drawn(rows, sample, declared=labels_are_random, by_verdict=labels_by_verdict)
    matrix = "--interval profile" if interval == "profile" else "--pool" if pool else None
    estimator, why = choose(
        method,
        labels_drawn=labels_drawn,
        scale=rows.scale if sample is None else sample.scale,
        matrix="--strata" if rows.strata is not None else matrix,
        graded=sample is not None and sample.graded,
        labelled=(0, 0) if sample is None else (sample.m, len(sample.judge)),
    )
    request = Request(
        estimator=estimator,
        why=why,
        labels_drawn=labels_drawn,
        interval=interval,
        confidence_level=level,
        pool=pool,
        share=share,
        seed=seed,
        notes=_notes(rows),
    )
    if sample is None and rows.by is not None:
        return estimate_groups(rows, None, request)
    if sample is None:
        everyone = np.ones(len(rows.verdicts), dtype=bool)
        return estimate_classes(rows, request, everyone, everyone, dropped=rows.dropped)
    if not estimator.takes_shares:
        column = human_column if rows.wins_of is None else "label"
        refuse_shares(sample, estimator.name, rows.name, column)
    sample = replace(sample, random=request.random_labels)
    _check_combination(sample, estimator, interval)
    if rows.by is not None:
        return estimate_groups(rows, sample, request)
    warnings = tuple(mixed_models(rows))
    dropped = rows.dropped
    group = None if rows.wins_of is None else f"win rate of {rows.wins_of}"
    del rows  # a large file is in memory once: its numbers are in `sample`
    exact = exact_intervals([sample], request)[0]
    return estimate_rate(
        sample, request, group=group, dropped=dropped, warnings=warnings, exact=exact
    )


def choose(
    method: str,
    *,
    labels_drawn: LabelsDrawn,
    scale: str,
    matrix: str | None,
    graded: bool = False,
    labelled: tuple[int, int] = (0, 0),
) -> tuple[Estimator, str]:
    """The estimator that will be used and why.

    The choice depends on how the labels were sampled and on the judge's scale, never on a test or
    on a width. `matrix` names an option that needs a confusion matrix, which only misclassification
    has. `graded` labels are shares of people, which have means but no confusion matrix. `labelled`
    is how many rows have a label, and how many there are.
    """
    planned = labels_drawn == "plan"
    if method != "auto":
        estimator = find_estimator(method)
        if labels_drawn == "verdict" and not estimator.takes_verdict_draw:
            raise ArgumentError("method", method, f"{OF_VERDICT}: only conditional can use them")
        if planned and not estimator.takes_plan:
            remedy = "only conditional, or misclassification with weighted sensitivity and "
            remedy += "specificity, can use them"
            raise ArgumentError("method", method, f"labels were picked by a plan: {remedy}")
        return estimator, f"{method}, as requested"
    sampling = "recorded as sampled at random (sampled_by)"
    if labels_drawn == "declared":
        sampling = "declared a random sample of the test rows"
    verdicts = {"binary": "0 or 1", "probability": "probabilities"}.get(scale, "classes")
    of_random = best_for_random_labels(scale)
    scores = f"the judge says {verdicts}"
    if graded:
        of_random = PPI
        scores = "are shares of people, which have only means"
    m, rows = labelled
    unknown = labels_drawn == "unknown"
    if matrix is not None and labels_drawn == "verdict":
        remedy = f"leave out {matrix}: only conditional can use labels drawn by verdict"
        raise ArgumentError("labels_by_verdict", True, remedy)
    cases = (
        (labels_drawn == "verdict", CONDITIONAL, OF_VERDICT),
        (matrix is not None, MISCLASSIFICATION, f"{matrix} needs it"),
        (planned, CONDITIONAL, "labels were picked by a plan (by verdict)"),
        (0 < m == rows, HUMAN_ONLY, "every row has a human label"),
        (unknown and m > NEARLY_ALL * rows, HUMAN_ONLY, f"{m:,} of {rows:,} rows have a label"),
        (
            unknown,
            MISCLASSIFICATION,
            "it is not known that the labels are a random sample of the test rows (if they are, "
            "declare it: --labels-are-random, labels_are_random=True)",
        ),
        (True, of_random, f"the labels are {sampling} and {scores}"),
    )
    estimator, why = next((chosen, why) for holds, chosen, why in cases if holds)
    return estimator, f"{estimator.name}, because {why}"


def _drawn_by_verdict(rows: Grades) -> Sample | None:
    """The sample for labels drawn by verdict, with verdicts of 0 and 1; None for classes.

    Refused if the judge's scores show that labels within a verdict are no random draw from it.
    """
    sample = sample_of(rows)
    if sample is None:
        return None
    scores = sample.judge
    if sample.scale == "probability":
        if (scores == 0.5).any():
            n = int((scores == 0.5).sum())
            problem = f"{count(n, 'row has', 'rows have')} the probability 0.5: neither 0 nor 1"
            remedy = "name the column of the verdicts: --judge-column NAME (judge_column=)"
            raise DataError(rows.name, problem, column="judge", remedy=remedy)
        sample = replace(sample, judge=(scores > 0.5).astype(np.float64))
    else:
        doubts = [name for name in ("p_pass", "p_a", "uncertainty") if name in rows.frame.columns]
        scores = as_numbers(as_text(rows.frame[doubts[0]])) if doubts else scores
    verdicts = sample.judge.astype(np.int64)
    p_value = p_within_verdicts(verdicts, sample.labelled, scores, sample.clusters)
    if p_value < LEVEL:
        problem = "the labelled rows of a verdict have other scores of the judge than the others "
        problem += f"(p = {p_value:.1g}): they are no random draw from it"
        remedy = "give the probability with which each row was drawn: the column "
        remedy += "sampling_probability"
        raise DataError(rows.name, problem, remedy=remedy)
    return sample.whole()


def _notes(rows: Grades) -> tuple[str, ...]:
    """What the rows are, for the assumptions of a result."""
    notes = (*rows.judges, *rows.makers)
    if rows.wins_of is None:
        return notes
    return (
        *notes,
        f"the rate is the share of the pairs of {rows.wins_of} in which people prefer its "
        "answer, and a tie counts half; it depends on the opponents in the file",
    )


def _check_rates(
    rows: Grades, method: str, interval: str, *, pool: bool, share: bool, scale: object
) -> None:
    """Refuse options that these rows, or each other, cannot have."""
    if scale is not None:
        remedy = f"is for means of scores, and these rows are {_KINDS[rows.scale]}: leave it out"
        raise ArgumentError("scale", scale, remedy)
    _check_pool(rows, method, pool)
    if share:
        _check_share(rows, plain=not pool and interval == "wald")
    if rows.scale == "classes":
        check_classes(rows, method, interval)


def _check_pool(rows: Grades, method: str, pool: bool) -> None:
    """Refuse one confusion matrix without groups, or for a method that has none."""
    if pool and rows.by is None:
        raise ArgumentError("pool", pool, "needs groups: name their column with --by model (by=)")
    if pool and known_estimator(method).needs_labels_of_group:
        remedy = "leave out pool, or use --method misclassification (method=)"
        needs = f"{method} needs labels that are a random sample of each group's rows"
        raise ArgumentError("pool", pool, f"{needs}: {remedy}")


def _check_share(rows: Grades, *, plain: bool) -> None:
    """Refuse a prior from the other groups if there are too few, or if labels are shared."""
    if rows.scale == "classes":
        remedy = "is for rates: name the class that counts as 1: --positive NAME (positive=)"
        raise ArgumentError("share", True, remedy)
    if len(rows.group_names) <= FEWEST_OTHERS:
        remedy = f"needs {FEWEST_OTHERS + 1} groups or more (--by), to learn from others"
        raise ArgumentError("share", True, remedy)
    if not plain:
        remedy = (
            "is for the wald interval from each group's own labels: leave out pool and interval"
        )
        raise ArgumentError("share", True, remedy)


def _check_combination(sample: Sample, estimator: Estimator, interval: str) -> None:
    """Refuse options that cannot be combined, before anything is computed."""
    one_of(interval, INTERVALS, "interval")
    method = estimator.name
    strata = "leave out --strata (strata=)"
    obstacle = no_profile_for(sample)
    remedy = None
    if estimator.needs_verdicts and sample.scale == "probability":
        remedy = "needs verdicts of 0 and 1, not probabilities: name their column with "
        remedy += "--judge-column (judge_column=)"
    elif sample.strata is not None and not estimator.has_matrix:
        remedy = f"{strata}: only misclassification has strata"
    elif sample.strata is not None and sample.planned:
        remedy = f"{strata}: labels picked by a plan cannot be stratified again"
    if remedy is not None:
        raise ArgumentError("method", method, remedy)
    if interval == "profile" and not estimator.has_matrix:
        remedy = f"is for method misclassification; the method here is {method}"
        raise ArgumentError("interval", interval, remedy)
    if interval == "profile" and obstacle is not None:
        raise ArgumentError("interval", interval, f"cannot be used with {obstacle}; use wald")
