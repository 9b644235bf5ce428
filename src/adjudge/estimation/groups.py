"""Several groups: a rate for each, one confusion matrix for all of them, or the difference of two.

For a difference, influence values of both rates are subtracted row by row and summed per cluster.
Prompts that are hard for both, and calibration rows used for both, then cancel with the right sign.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError
from adjudge.estimation.clusters import TOO_FEW, active_clusters, variance
from adjudge.estimation.methods import Request, describe, known_seed, run
from adjudge.estimation.outcome import Outcome, clip
from adjudge.estimation.sample import Sample
from adjudge.results.estimation import GroupedEstimate, RateDifference
from adjudge.validation import FloatArray, IntArray, generator

POOLING = (
    "one confusion matrix for all groups is correct only if the judge has the same error rates on "
    "each of them; otherwise the interval misses the truth even with many rows (measured on "
    "trivia answers of eight models: a 95 % interval covered 40 % for one of them). Calibrate per "
    "group unless you have a reason not to"
)


def estimate_groups(rows: Grades, sample: Sample, request: Request) -> GroupedEstimate:
    """One estimate for each group."""
    groups = tuple(
        describe(
            _group_sample(sample, rows, code, request.pool).compact(),
            request,
            group=name,
            checks=len(rows.group_names),
            own=_group_sample(sample, rows, code, False).compact() if request.pool else None,
        )[0]
        for code, name in enumerate(rows.group_names)
    )
    warnings, p_value = _check_pooling(rows, sample, request)
    return GroupedEstimate(
        method=request.method,
        interval=groups[0].interval,
        confidence_level=request.confidence_level,
        by=str(request.by),
        pooled=request.pool,
        groups=groups,
        judge_differs_p_value=p_value,
        warnings=warnings,
        dropped=rows.dropped,
        seed=known_seed(request.seed),
    )


def _group_sample(sample: Sample, rows: Grades, code: int, pool: bool) -> Sample:
    mine = np.asarray(rows.groups == code)
    return sample.restrict(mine, calibration=np.ones_like(mine) if pool else None)


def _check_pooling(
    rows: Grades, sample: Sample, request: Request
) -> tuple[tuple[str, ...], float | None]:
    """The warning about pooling, and the p-value for equal judge errors on all groups."""
    if rows.groups is None or len(rows.group_names) < 2:
        return (), None
    p_value = judge_differs(sample, rows.groups, len(rows.group_names), generator(request.seed))
    if not request.pool:
        return (), p_value
    shown = "" if p_value is None else f" (these labels: p = {p_value:.2g} for no difference)"
    return (POOLING + shown,), p_value


def judge_differs(
    sample: Sample, groups: IntArray, size: int, rng: np.random.Generator, *, draws: int = 1999
) -> float | None:
    """Permutation p-value for "sensitivity and specificity are the same in every group".

    Pearson's statistic of verdict by group, summed over the two human classes. Groups are permuted
    within a class, so the false-alarm rate is exact. With few labels per group the test has little
    power: a large p-value does not justify pooling. None if no class has labels in two groups, and
    for probabilities and labels that are shares.
    """
    if sample.scale != "binary" or sample.graded:
        return None
    observed, drawn, any_table = 0.0, np.zeros(draws), False
    for rows in (sample.negative, sample.positive):
        sizes = np.bincount(groups[rows], minlength=size)
        hits = np.bincount(groups[rows], weights=sample.judge[rows], minlength=size)[sizes > 0]
        sizes = sizes[sizes > 0]
        ones, total = int(hits.sum()), int(sizes.sum())
        if len(sizes) < 2 or ones in (0, total):
            continue
        any_table = True
        observed += float(_pearson(hits[None, :], sizes, ones, total)[0])
        permuted = rng.multivariate_hypergeometric(sizes, ones, size=draws)
        drawn += _pearson(permuted, sizes, ones, total)
    if not any_table:
        return None
    return float((1 + (drawn >= observed - 1e-9).sum()) / (draws + 1))


def _pearson(hits: np.ndarray, sizes: IntArray, ones: int, total: int) -> FloatArray:
    share = ones / total
    gap = hits - sizes * share
    return np.asarray((gap**2 / (sizes * share * (1 - share))).sum(axis=1))


def estimate_difference(
    rows: Grades, sample: Sample, request: Request, compare: tuple[str, str]
) -> RateDifference:
    """The corrected rate of the first group minus that of the second."""
    if request.interval == "profile":
        raise ArgumentError(
            "interval", request.interval, "is not available for a difference; use wald"
        )
    for name in compare:
        if name not in rows.group_names:
            raise ArgumentError(
                "compare", name, "choose two of " + ", ".join(rows.group_names[:20])
            )
    if compare[0] == compare[1]:
        raise ArgumentError("compare", compare, "name two different groups")
    codes = [rows.group_names.index(name) for name in compare]
    (first, raw_a), (second, raw_b) = (
        describe(
            _group_sample(sample, rows, code, request.pool), request, group=name, alternatives=False
        )
        for code, name in zip(codes, compare, strict=True)
    )
    either = np.asarray((rows.groups == codes[0]) | (rows.groups == codes[1]))
    used = sample.restrict(either, calibration=np.ones_like(either) if request.pool else None)
    gap = paired_difference(raw_a, raw_b, used, names=compare)
    people = _people_alone(rows, sample, request, codes)
    shared, total = _shared_clusters(rows, sample, codes)
    warnings = [
        *_check_pooling(rows, sample, request)[0],
        *(f"{one.group}: {text}" for one in (first, second) for text in one.warnings),
    ]
    if sample.clusters is None:
        warnings.append(
            "no cluster column: rows of the two groups are treated as independent; name the "
            "prompt's column to pair them: --cluster prompt_id (cluster=)"
        )
    elif shared == 0:
        warnings.append("no cluster has rows of both: nothing is paired")
    return RateDifference(
        a=compare[0],
        b=compare[1],
        method=request.method,
        interval="wald",
        **gap._asdict(),
        confidence_level=request.confidence_level,
        naive=None if first.naive is None or second.naive is None else first.naive - second.naive,
        human_only=people.estimate,
        human_only_low=people.low,
        human_only_high=people.high,
        pooled=request.pool,
        shared_clusters=shared,
        clusters=total,
        estimate_a=first,
        estimate_b=second,
        assumptions=first.assumptions,
        warnings=tuple(warnings),
        dropped=rows.dropped,
    )


def _people_alone(rows: Grades, sample: Sample, request: Request, codes: list[int]) -> Difference:
    """The difference from the labels alone, without the judge."""
    if sample.planned:
        return Difference(reason="labels were picked by a plan")
    parts = [_group_sample(sample, rows, code, pool=False) for code in codes]
    a, b = (run(part, "human-only", confidence_level=request.confidence_level)[0] for part in parts)
    both = replace(parts[0], labelled=parts[0].labelled | parts[1].labelled)
    return paired_difference(a, b, replace(both, test=both.labelled))


def _shared_clusters(rows: Grades, sample: Sample, codes: list[int]) -> tuple[int, int]:
    if sample.clusters is None:
        return 0, 0
    a, b = (set(sample.clusters[rows.groups == code].tolist()) for code in codes)
    return len(a & b), len(a | b)


class Difference(NamedTuple):
    """theta_A - theta_B with its interval in [-1, 1], or the reason why there is none.

    The fields are those of `RateDifference`.
    """

    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    unpaired_standard_error: float | None = None
    reason: str | None = None


def paired_difference(
    a: Outcome, b: Outcome, sample: Sample, *, names: tuple[str, str] = ("the first", "the second")
) -> Difference:
    """Difference of two outcomes on one set of rows (their `influence` arrays match these rows).

    Var(A - B) = sum over clusters of (S_A - S_B)^2. Its ratio to Var(A) + Var(B) scales the two
    half-lengths, half^2 = (half_A^2 + half_B^2) Var(A-B) / (Var(A) + Var(B)), so that each
    interval's adjustment for small samples is kept. Without clusters, rows are independent and only
    calibration rows used for both models are shared. The interval is normal (with clusters:
    Student's). With few labels per model it is approximate, as are its two parts.
    """
    for name, one in zip(names, (a, b), strict=True):
        if one.estimate is None:
            return Difference(reason=f"{name} has no rate: {one.reason}")
    if (
        a.estimate is None
        or b.estimate is None
        or a.influence is None
        or b.influence is None
        or a.centre is None
        or b.centre is None
        or a.half is None
        or b.half is None
    ):
        raise AssertionError("an outcome with an estimate has its influence, centre and half")
    active = active_clusters(sample)
    if active is not None and active < 2:
        return Difference(reason=TOO_FEW)
    variance_a, variance_b, paired = (
        variance(values, sample.clusters, active)
        for values in (a.influence, b.influence, a.influence - b.influence)
    )
    apart = variance_a + variance_b
    ratio = paired / apart if apart > 0 else 1.0
    half = math.sqrt((a.half**2 + b.half**2) * ratio)
    centre = a.centre - b.centre
    low, high = clip(centre - half, -1, 1), clip(centre + half, -1, 1)
    if low == -1 and high == 1:
        return Difference(
            reason="the interval is all of [-1, 1]: every difference is compatible with "
            "these labels; label more rows, or use another judge"
        )
    return Difference(
        clip(a.estimate - b.estimate, -1, 1), low, high, math.sqrt(paired), math.sqrt(apart)
    )
