"""The public call: `estimate` takes a table or arrays, chooses an estimator, returns the rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from adjudge.data.grades import Grades, prepare_grades
from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.estimation.classes import ClassEstimate, check_classes, estimate_classes
from adjudge.estimation.estimators import Method, find_estimator, known_estimator
from adjudge.estimation.estimators.alone import HUMAN_ONLY
from adjudge.estimation.estimators.base import Estimator
from adjudge.estimation.estimators.conditional import CONDITIONAL
from adjudge.estimation.estimators.misclassification import MISCLASSIFICATION
from adjudge.estimation.estimators.ppi import PPI
from adjudge.estimation.groups import GroupedEstimate, estimate_groups
from adjudge.estimation.means import MeanEstimate, estimate_means
from adjudge.estimation.panel import PanelEstimate, estimate_panel, prepare_panel
from adjudge.estimation.rate import (
    INTERVALS,
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
from adjudge.validation import Seed, one_of, open_unit

AnyEstimate = Estimate | GroupedEstimate | ClassEstimate | MeanEstimate | PanelEstimate
#: A value for each row; None or NaN if there is none.
Values = ArrayLike | Sequence[Any]


class Options(Reading, total=False):
    """What `estimate` takes in every form."""

    labels: TableLike | None
    labels_are_random: bool
    confidence_level: float
    judge_column: str
    human_column: str
    positive: str | None
    model_labels: bool
    seed: Seed


class OneJudgeOptions(Options, total=False):
    """What `estimate` takes for one judge."""

    judge: Values | None
    human: Values | None
    model: str | None
    cluster: str | Values | None
    strata: str | Values | None
    sampling_probability: Values | None
    method: Method
    interval: IntervalMethod


@overload
def estimate(
    data: TableLike | Grades | None = ..., **options: Unpack[OneJudgeOptions]
) -> Estimate: ...
@overload
def estimate(
    data: TableLike | Grades | None = ...,
    *,
    by: str | Values,
    pool: bool = ...,
    **options: Unpack[OneJudgeOptions],
) -> GroupedEstimate: ...
@overload
def estimate(
    data: TableLike | None = ...,
    *,
    judges: Sequence[str],
    share: bool = ...,
    by: str | None = ...,
    cluster: str | None = ...,
    **options: Unpack[Options],
) -> PanelEstimate: ...
def estimate(
    data: TableLike | Grades | None = None,
    *,
    judge: Values | None = None,
    human: Values | None = None,
    judges: Sequence[str] = (),
    share: bool = False,
    labels: TableLike | None = None,
    model: str | None = None,
    by: str | Values | None = None,
    pool: bool = False,
    cluster: str | Values | None = None,
    strata: str | Values | None = None,
    sampling_probability: Values | None = None,
    method: Method = "auto",
    interval: IntervalMethod = "wald",
    labels_are_random: bool = False,
    confidence_level: float = 0.95,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
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
        judges: Two or more judges for one rate, by the names of their columns of verdicts. Or names
            in the column `judge_name` (`judge`) with a row per id and judge. Their verdicts
            together predict the human label. Needs labels that are a random sample, 50 per group;
            approximate.
        share: With several judges: a second interval that borrows from the other groups.
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
        cluster: Column of rows that belong together; none: all rows are independent. Or an array. A
            row without a value is a cluster of one. Default: prompt_id, if it repeats within a
            group.
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
        confidence_level: Confidence level of the intervals.
        judge_column: Column of one judge's verdicts, as the user's file names it. The same as
            --column judge=NAME (`columns`); for several judges use --judge (`judges`).
        human_column: Column of the human labels.
        positive: For labels that are words: the one that counts as 1. Verdicts can be the same
            words, or probabilities of that one.
        model_labels: Use labels that a model made (labelled_by model); the result states it. They
            are refused otherwise.
        seed: Seed of everything random. The profile interval and the permutation test under `pool`
            use it. A number or a numpy Generator.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    Returns:
        Estimate; GroupedEstimate with `by`; PanelEstimate with `judges`. Rows of more than two
        classes, without `positive`, give a ClassEstimate instead of an Estimate; scores (numbers
        outside [0, 1]) give a MeanEstimate, unless `method` is named. If no valid number
        exists, the result gives the reason instead.

    >>> result = estimate(judge=[1] * 60 + [0] * 40 + [1, 1, 1, 0] * 9 + [0, 0, 0, 1] * 9,
    ...                   human=[None] * 100 + [1] * 36 + [0] * 36)
    >>> round(result.estimate, 3), round(result.naive, 3)
    (0.7, 0.6)
    """
    level = open_unit(confidence_level, "confidence_level")
    table: dict[str, Any] = {
        "labels": labels,
        "by": by,
        "cluster": cluster,
        "judge_column": judge_column,
        "human_column": human_column,
        "positive": positive,
        "model_labels": model_labels,
        **reading,
    }
    if share and not judges:
        raise ArgumentError("share", share, "is for several judges: --judge A --judge B (judges=)")
    if judges:
        for_one_judge = {
            "method": method != "auto",
            "interval": interval != "wald",
            "pool": pool,
            "strata": strata is not None,
            "sampling_probability": sampling_probability is not None,
            "judge, human": judge is not None or human is not None,
            "model": model is not None,
        }
        remedy = "leave it out, or name the column of one judge with --judge-column instead of "
        remedy += "--judge (judge_column= instead of judges=)"
        for option, present in for_one_judge.items():
            if present:
                raise ArgumentError(option, "given", f"is for one judge: {remedy}")
        for option, column in (("by", by), ("cluster", cluster)):
            if column is not None and not isinstance(column, str):
                raise ArgumentError(option, "an array", "name a column of the table")
        if isinstance(data, Grades):
            raise ArgumentError("data", "prepared grades", "give the table that has the judges")
        panel = prepare_panel(data, judges, **table)
        return estimate_panel(
            panel,
            labels_are_random=labels_are_random,
            share=share,
            confidence_level=level,
            seed=seed,
        )
    rows = prepare_grades(
        data,
        judge=judge,
        human=human,
        strata=strata,
        sampling_probability=sampling_probability,
        model=model,
        paired=pool,
        scores=method == "auto" and positive is None and not isinstance(data, Grades),
        **table,
    )
    if rows.scale == "scores":
        drawn = how_drawn(rows, None, declared=labels_are_random)
        other = {"pool": pool, "strata": strata is not None, "interval": interval != "wald"}
        return estimate_means(rows, drawn, level, **other)
    if pool and rows.by is None:
        raise ArgumentError("pool", pool, "needs groups: name their column with --by model (by=)")
    if rows.scale == "classes":
        check_classes(rows, method, interval)
    sample = sample_of(rows)
    labels_drawn = how_drawn(rows, sample, declared=labels_are_random)
    if pool and known_estimator(method).needs_labels_of_group:
        remedy = "leave out pool, or use --method misclassification (method=)"
        needs = f"{method} needs labels that are a random sample of each group's rows"
        raise ArgumentError("pool", pool, f"{needs}: {remedy}")
    matrix = "--interval profile" if interval == "profile" else "--pool" if pool else None
    estimator, why = choose(
        method,
        labels_drawn=labels_drawn,
        scale=rows.scale if sample is None else sample.scale,
        matrix="--strata" if rows.strata is not None else matrix,
        graded=sample is not None and sample.graded,
        complete=sample is not None and sample.n == 0 and sample.m > 0,
    )
    notes = rows.makers
    if rows.wins_of is not None:
        notes += (
            f"the rate is the share of the pairs of {rows.wins_of} in which people prefer its "
            "answer, and a tie counts half; it depends on the opponents in the file",
        )
    request = Request(
        estimator=estimator,
        why=why,
        labels_drawn=labels_drawn,
        interval=interval,
        confidence_level=level,
        pool=pool,
        seed=seed,
        notes=notes,
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
    models = rows.frame["model"].n_unique() if "model" in rows.frame.columns else 1
    mixed = f"the rows of {models} models are mixed; a rate per model: --by model (by=)"
    warnings, dropped = (mixed,) if models > 1 else (), rows.dropped
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
    complete: bool = False,
) -> tuple[Estimator, str]:
    """The estimator that will be used and why.

    The choice depends on how the labels were sampled and on the judge's scale, never on a test or
    on a width. `matrix` names an option that needs a confusion matrix, which only misclassification
    has. `graded` labels are shares of people, which have means but no confusion matrix. Labels are
    `complete` if every row has one.
    """
    planned = labels_drawn == "plan"
    if method != "auto":
        estimator = find_estimator(method)
        if planned and not estimator.takes_plan:
            remedy = "only conditional, or misclassification with weighted sensitivity and "
            remedy += "specificity, can use them"
            raise ArgumentError("method", method, f"labels were picked by a plan: {remedy}")
        return estimator, f"{method}, as requested"
    sampling = "recorded as sampled at random (sampled_by)"
    if labels_drawn == "declared":
        sampling = "declared a random sample of the test rows"
    verdicts = {"binary": "0 or 1", "probability": "probabilities"}.get(scale, "classes")
    of_random, scores = best_for_random_labels(scale), f"the judge says {verdicts}"
    if graded:
        of_random, scores = PPI, "are shares of people, which have only means"
    cases = (
        (matrix is not None, MISCLASSIFICATION, f"{matrix} needs it"),
        (planned, CONDITIONAL, "labels were picked by a plan (by verdict)"),
        (complete, HUMAN_ONLY, "every row has a human label"),
        (
            labels_drawn == "unknown",
            MISCLASSIFICATION,
            "it is not known that the labels are a random sample of the test rows (if they are, "
            "declare it: --labels-are-random, labels_are_random=True)",
        ),
        (True, of_random, f"the labels are {sampling} and {scores}"),
    )
    estimator, why = next((chosen, why) for holds, chosen, why in cases if holds)
    return estimator, f"{estimator.name}, because {why}"


def _check_combination(sample: Sample, estimator: Estimator, interval: str) -> None:
    """Refuse options that cannot be combined, before anything is computed."""
    one_of(interval, INTERVALS, "interval")
    method, strata = estimator.name, "leave out --strata (strata=)"
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
