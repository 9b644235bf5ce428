"""The front door: `estimate` takes a table or arrays and returns the number one may report."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from adjudge._validation import Seed, generator, open_unit
from adjudge.errors import ArgumentError
from adjudge.estimation.classes import check_classes, estimate_classes
from adjudge.estimation.compare import paired_difference
from adjudge.estimation.inputs import Rows, read_rows
from adjudge.estimation.methods import check_combination, choose, describe
from adjudge.estimation.pooling import POOLING, judge_differs
from adjudge.estimation.sample import Sample
from adjudge.io.tables import TableLike
from adjudge.results.estimation import (
    ClassEstimate,
    Estimate,
    GroupedEstimate,
    RateDifference,
)

AnyEstimate = Estimate | GroupedEstimate | ClassEstimate | RateDifference


def estimate(
    data: TableLike | None = None,
    *,
    judge: ArrayLike | None = None,
    human: ArrayLike | None = None,
    labels: TableLike | None = None,
    by: str | ArrayLike | None = None,
    pool: bool = False,
    compare: tuple[str, str] | None = None,
    cluster: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    sampling_probability: ArrayLike | None = None,
    method: str = "auto",
    interval: str = "wald",
    labels_are_random: bool = False,
    confidence_level: float = 0.95,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    rng: Seed = 0,
) -> AnyEstimate:
    """The rate people would give, from the judge's verdicts and some human labels.

    Rows with a human label calibrate, rows without one are the test set. `data` is a path, a
    polars or pandas frame or a dict of columns; or give the arrays `judge` and `human` (None or
    NaN where there is no label). Verdicts may be 0/1, probabilities, or class names.

    Args:
        data: Table with `judge_column` and `human_column`; `sampled_by` and
            `sampling_probability` are honoured where present.
        judge: Verdicts or probabilities, when there is no table.
        human: Labels, when there is no table.
        labels: A second table with labels by id; they replace those in `data`.
        by: Column (or array) of groups: one estimate each, with its own confusion matrix.
        pool: With `by`: one confusion matrix for all groups. Almost always a mistake.
        compare: With `by`: two group names; the corrected difference, paired by `cluster`.
        cluster: Column (or array) of rows that belong together, such as the prompt.
        strata: Column (or array): a confusion matrix per stratum, combined.
        sampling_probability: Array, where labels were picked with unequal probabilities.
        method: auto, misclassification, ppi++, conditional, difference, human-only or naive.
        interval: wald (Eq. 6) or profile (for weak judges and few labels).
        labels_are_random: Declare the labels a random sample of the test rows; auto then takes
            ppi++. Nothing is ever tested to decide this.
        confidence_level: Of all intervals.
        judge_column: The verdicts' column.
        human_column: The labels' column.
        positive: For labels in words: the one that counts as 1. Verdicts may be in the same words,
            or probabilities of that one.
        rng: Seed of the profile interval and of the permutation test under `pool`.

    Returns:
        Estimate; GroupedEstimate with `by`; RateDifference with `compare`; ClassEstimate for
        classes. Where no honest number exists the result says why instead.

    >>> result = estimate(judge=[1] * 60 + [0] * 40 + [1, 1, 1, 0] * 9 + [0, 0, 0, 1] * 9,
    ...                   human=[None] * 100 + [1] * 36 + [0] * 36)
    >>> round(result.estimate, 3), round(result.naive, 3)
    (0.7, 0.6)
    """
    level = open_unit(confidence_level, "confidence_level")
    if compare is not None and by is None:
        raise ArgumentError("compare", compare, "name the column of the two: --by model (by=)")
    if pool and by is None:
        raise ArgumentError("pool", pool, "pools over groups: name their column: --by model (by=)")
    rows = read_rows(
        data,
        judge=judge,
        human=human,
        labels=labels,
        by=by,
        cluster=cluster,
        strata=strata,
        sampling_probability=sampling_probability,
        judge_column=judge_column,
        human_column=human_column,
        positive=positive,
    )
    if rows.scale == "classes":
        check_classes(rows, method, interval, compare)
        return estimate_classes(rows, method, labels_are_random, by, pool, level)
    sample = rows.sample
    if sample is None:
        raise AssertionError("rows that are not classes make a sample")
    chosen, why = choose(method, labels_are_random=labels_are_random, planned=sample.planned)
    check_combination(sample, chosen, interval)
    if compare is not None:
        return _difference(rows, sample, compare, chosen, why, interval, pool, level)
    if by is None:
        result, _ = describe(
            sample,
            chosen,
            why,
            confidence_level=level,
            interval=interval,
            strata_names=rows.strata_names,
            rng=rng,
            dropped=rows.dropped,
            warnings=_mixed_models(rows),
        )
        return result
    return _grouped(
        rows,
        sample,
        str(by) if isinstance(by, str) else "by",
        chosen,
        why,
        interval,
        pool,
        level,
        rng,
    )


def _mixed_models(rows: Rows) -> tuple[str, ...]:
    """About to mix models whose rows the judge may treat differently."""
    if "model" not in rows.frame.columns:
        return ()
    models = rows.frame.get_column("model").n_unique()
    if models < 2:
        return ()
    return (
        f"the rows come from {models} models: this is one rate and one confusion matrix for their "
        "mixture; for a rate per model: --by model (by=)",
    )


def _group_sample(sample: Sample, rows: Rows, code: int, pool: bool) -> Sample:
    mine = np.asarray(rows.groups == code)
    everyone = np.ones_like(mine)
    return sample.restricted(mine, calibration=everyone if pool else None)


def _grouped(
    rows: Rows,
    sample: Sample,
    by: str,
    method: str,
    why: str,
    interval: str,
    pool: bool,
    level: float,
    rng: Seed,
) -> GroupedEstimate:
    groups = tuple(
        describe(
            _group_sample(sample, rows, code, pool).compact(),
            method,
            why,
            confidence_level=level,
            interval=interval,
            strata_names=rows.strata_names,
            group=name,
            rng=rng,
            checks=len(rows.group_names),
        )[0]
        for code, name in enumerate(rows.group_names)
    )
    warnings, differs = _pool_warnings(rows, sample, pool, rng)
    return GroupedEstimate(
        method=method,
        interval=groups[0].interval,
        confidence_level=level,
        by=by,
        pooled=pool,
        groups=groups,
        judge_differs_p_value=differs,
        warnings=warnings,
        dropped=rows.dropped,
        seed=rng if isinstance(rng, int) else None,
    )


def _pool_warnings(
    rows: Rows, sample: Sample, pool: bool, rng: Seed
) -> tuple[tuple[str, ...], float | None]:
    if rows.groups is None or len(rows.group_names) < 2:
        return (), None
    stream = generator(rng if isinstance(rng, int) else 0)
    differs = judge_differs(sample, rows.groups, len(rows.group_names), stream)
    if not pool:
        return (), differs
    shown = "" if differs is None else f" (these labels: p = {differs:.2g} for no difference)"
    return (POOLING + shown,), differs


def _difference(
    rows: Rows,
    sample: Sample,
    compare: tuple[str, str],
    method: str,
    why: str,
    interval: str,
    pool: bool,
    level: float,
) -> RateDifference:
    if interval == "profile":
        raise ArgumentError("interval", interval, "has no version for a difference; use wald")
    codes = []
    for name in compare:
        if name not in rows.group_names:
            raise ArgumentError(
                "compare", name, "choose two of " + ", ".join(rows.group_names[:20])
            )
        codes.append(rows.group_names.index(name))
    if codes[0] == codes[1]:
        raise ArgumentError("compare", compare, "name two different groups")
    sides = [
        describe(
            _group_sample(sample, rows, code, pool),
            method,
            why,
            confidence_level=level,
            strata_names=rows.strata_names,
            group=name,
            beside=False,
        )
        for code, name in zip(codes, compare, strict=True)
    ]
    (first, raw_a), (second, raw_b) = sides
    either = np.asarray((rows.groups == codes[0]) | (rows.groups == codes[1]))
    used = sample.restricted(either, calibration=np.ones_like(either) if pool else None)
    found = paired_difference(raw_a, raw_b, used, names=compare)
    shared, total = _shared(rows, sample, codes)
    warnings = list(_pool_warnings(rows, sample, pool, 0)[0])
    warnings += [f"{one.group}: {text}" for one in (first, second) for text in one.warnings]
    if sample.clusters is None:
        warnings.append(
            "no cluster column: rows of the two are taken as independent; name the prompt's column "
            "to pair them: --cluster prompt_id (cluster=)"
        )
    elif shared == 0:
        warnings.append("no cluster holds rows of both: nothing is paired")
    apart = None if first.naive is None or second.naive is None else first.naive - second.naive
    return RateDifference(
        a=compare[0],
        b=compare[1],
        method=method,
        interval="wald",
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        confidence_level=level,
        standard_error=found.standard_error,
        unpaired_standard_error=found.unpaired_standard_error,
        reason=found.reason,
        naive=apart,
        pooled=pool,
        shared_clusters=shared,
        clusters=total,
        estimate_a=first,
        estimate_b=second,
        assumptions=first.assumptions,
        warnings=tuple(warnings),
        dropped=rows.dropped,
    )


def _shared(rows: Rows, sample: Sample, codes: list[int]) -> tuple[int, int]:
    if sample.clusters is None:
        return 0, 0
    a, b = (set(sample.clusters[rows.groups == code].tolist()) for code in codes)
    return len(a & b), len(a | b)
