"""How many labels, split how, for an interval of a given width; and is the judge worth having?"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from adjudge._stats import binomial_interval, normal_quantile
from adjudge._validation import count, open_unit, positive
from adjudge.errors import ArgumentError
from adjudge.estimation.allocation import Allocation, optimal_split, split
from adjudge.estimation.misclassification import corrected_interval
from adjudge.estimation.variances import (
    by_verdict,
    conditional_variance,
    ppi_variance,
    proposition_61,
    variance_ratio,
)
from adjudge.results.estimation import NextLabels, RatePlan

PILOT = 10
#: A plan for more labels than this is an infeasible plan.
MOST_LABELS = 10_000_000


def plan_rate(
    *,
    judge_rate: float,
    sensitivity: float,
    specificity: float,
    n_test: int,
    width: float | None = None,
    labels: int | None = None,
    have: tuple[int, int] = (0, 0),
    step: int = 50,
    confidence_level: float = 0.95,
) -> RatePlan:
    """Plan human labels for a corrected rate: either for a target `width` or for a budget `labels`.

    All numbers of labels are in all, those already there (`have`, of class 0 and 1) included;
    `expected_draws` is how many more random rows people would look at to fill both classes.
    Widths are those of Eq. 6 at the expected counts, as in the paper's Figure 3, with all `n_test`
    rows left to the judge; where labels drawn out of them would make it wider, a warning says how
    wide. The widths of ppi++ count labels as drawn out of these rows. The split is
    Algorithm 1's (pilot 10 a class); `optimal_m0`, `optimal_m1` minimise Eq. 9 instead. Whether the
    judge helps compares variances with random labels: Eq. 9 with m theta and m (1 - theta) labels
    against theta (1 - theta)/m, for the judge at hand; Proposition 6.1 says the same for q0 = q1
    and endless test rows. `next_labels` says what `step` more would buy.

    Guesses go in, guesses come out: with judge quality taken from a small pilot the plan is as
    uncertain as that pilot.

    >>> plan = plan_rate(judge_rate=0.55, sensitivity=0.9, specificity=0.7, n_test=1000, labels=200)
    >>> plan.m0, plan.m1, round(plan.expected_width, 3)
    (117, 83, 0.216)
    """
    level = open_unit(confidence_level, "confidence_level")
    p, q0, q1 = _shares(judge_rate, specificity, sensitivity)
    count(n_test, "n_test", least=1)
    if (width is None) == (labels is None):
        raise ArgumentError(
            "width, labels",
            (width, labels),
            "give one of the two: --width (width=) or --labels (labels=)",
        )
    if q0 + q1 <= 1:
        return _people_alone(p, q0, q1, n_test, width, labels, have, level)
    theta = min(max((p + q0 - 1) / (q0 + q1 - 1), 0.0), 1.0)

    def expected(m0: float, m1: float, rows: int = n_test) -> float:
        low, high, _ = corrected_interval(p, q0, q1, rows, m0, m1, confidence_level=level)
        return float(high - low)

    def by_class(m: int) -> Allocation:
        pilot = min(PILOT, m // 2)
        # Algorithm 1 never believes in a class without errors.
        soft0, soft1 = (
            q if q < 1 else 1 - 1 / (PILOT + 2 + size)
            for q, size in zip((q0, q1), have, strict=True)
        )
        return split(m, p=p, q0=soft0, q1=soft1, pilot=pilot)

    reason = None
    if labels is not None:
        m: int | None = count(labels, "labels", least=2)
    else:
        target = positive(float(width or 0), "width")
        m = _fewest(lambda size: expected(*by_class(size)), target)
        if m is None:
            floor = expected(MOST_LABELS, MOST_LABELS)
            reason = (
                f"no number of labels gives width {target:g}: the {n_test} test rows alone leave "
                f"{floor:.3f}; judge more rows"
            )
    shown = m if m is not None else max(sum(have), 200)
    shares = by_class(shown)
    optimal = optimal_split(shown, theta=theta, q0=q0, q1=q1)
    ratio = variance_ratio(p, q0, q1, theta, n_test, shown)
    region = proposition_61((q0 + q1) / 2)
    verdict = by_verdict(shown, p=p, q0=q0, q1=q1, theta=theta)
    human_width = _human_width(theta, shown, level)
    z = normal_quantile(level)
    verdict_width = _capped(
        2 * z * math.sqrt(conditional_variance(p, q0, q1, theta, n_test, *verdict))
    )

    def by_ppi(size: int) -> float:
        left = max(n_test + sum(have) - size, 0)
        return _capped(2 * z * math.sqrt(ppi_variance(p, q1, theta, left, size)))

    ppi_width = by_ppi(shown)
    random_m1 = min(max(round(shown * theta), 1), shown - 1)
    plan_width = expected(*shares)

    def fewest(width_of: Callable[[int], float]) -> int | None:
        return None if width is None else _fewest(width_of, width)

    people_need = fewest(lambda size: _human_width(theta, size, level))
    ppi_needs = fewest(by_ppi)
    draws = None if m is None else _draws(shares, theta, have)
    after = plan_width
    if draws is not None and draws < n_test:
        kept = have[0] + draws * (1 - theta), have[1] + draws * theta
        after = expected(max(kept[0], shares.m0), max(kept[1], shares.m1), n_test - draws)
    if width is None:
        advice = (
            f"{shown} labels drawn at random give an expected width of {ppi_width:.3f} with ppi++ "
            f"(estimate --labels-are-random), {human_width:.3f} people alone; split by class and "
            f"corrected (misclassification), {plan_width:.3f}"
        )
    else:
        advice = _for_width(width, m, draws, ppi_needs, people_need, sum(have), n_test, reason)
    return RatePlan(
        m0=None if m is None else shares.m0,
        m1=None if m is None else shares.m1,
        expected_width=None if m is None else plan_width,
        human_only_width=None if m is None else human_width,
        recommendation=advice,
        target_width=width,
        confidence_level=level,
        rate=theta,
        judge_rate=p,
        sensitivity=q1,
        specificity=q0,
        n_test=n_test,
        labels=m,
        optimal_m0=None if m is None else optimal.m0,
        optimal_m1=None if m is None else optimal.m1,
        optimal_width=None if m is None else expected(*optimal),
        expected_draws=draws,
        random_m=m,
        random_width=None if m is None else expected(shown - random_m1, random_m1),
        ppi_width=None if m is None else ppi_width,
        human_only_labels=people_need,
        ppi_labels=ppi_needs,
        verdict_m0=None if m is None else verdict.m0,
        verdict_m1=None if m is None else verdict.m1,
        verdict_width=None if m is None else verdict_width,
        judge_helps=ratio <= 1,
        variance_ratio=ratio,
        proposition_61=region,
        proposition_61_says=region is not None and region[0] <= theta <= region[1],
        reason=reason,
        next_labels=_next(expected, by_class, theta, have, step) if min(have) > 0 else (),
        how_to_draw=HOW_TO_DRAW,
        assumptions=(
            f"the judge says 1 on {p:.1%} of test rows, with sensitivity {q1:.3f} and specificity "
            f"{q0:.3f}; the plan is as good as these three",
        ),
        warnings=_edges(theta, shares, draws, n_test, plan_width, after),
    )


def _people_alone(
    p: float,
    q0: float,
    q1: float,
    n_test: int,
    width: float | None,
    labels: int | None,
    have: tuple[int, int],
    level: float,
) -> RatePlan:
    """The plan when the judge is no better than a coin: no correction, people alone."""
    theta = have[1] / sum(have) if sum(have) else 0.5
    m = labels or _fewest(lambda size: _human_width(theta, size, level), float(width or 1))
    reason = (
        f"sensitivity {q1:.3f} + specificity {q0:.3f} is not above 1: a judge no better than a "
        "coin cannot be corrected"
    )
    human = None if m is None else _human_width(theta, m, level)
    told = "" if human is None else f"; {m} random labels give people alone a width of {human:.3f}"
    return RatePlan(
        human_only_width=human,
        recommendation=f"do not use this judge{told}",
        target_width=width,
        confidence_level=level,
        judge_rate=p,
        sensitivity=q1,
        specificity=q0,
        n_test=n_test,
        labels=m,
        random_m=m,
        human_only_labels=m if labels is None else None,
        judge_helps=False,
        proposition_61_says=False,
        reason=reason,
        assumptions=(f"a human rate near {theta:.2f}",),
    )


HOW_TO_DRAW = (
    "the human class of a row is unknown before it is labelled: draw rows at random and stop when "
    "each class has its number; keep every label on the way",
    "never fill a class by picking on the judge's verdict and then treat the labels as random: the "
    "sensitivity and specificity so measured are wrong",
    "rows picked by verdict carry their sampling probability and are for method conditional (or "
    "weighted sensitivity and specificity) alone",
)


def _shares(
    judge_rate: float, specificity: float, sensitivity: float
) -> tuple[float, float, float]:
    for name, value in (
        ("judge_rate", judge_rate),
        ("specificity", specificity),
        ("sensitivity", sensitivity),
    ):
        if not 0 <= value <= 1:
            raise ArgumentError(name, value, "give a share in [0, 1]")
    return float(judge_rate), float(specificity), float(sensitivity)


def _fewest(width_of: Callable[[int], float], target: float) -> int | None:
    """Smallest m >= 2 with width_of(m) <= target, by doubling and bisection."""
    high = 2
    while width_of(high) > target:
        high *= 2
        if high > MOST_LABELS:
            return None
    low = max(high // 2, 1)
    while high - low > 1:
        middle = (low + high) // 2
        if width_of(middle) > target:
            low = middle
        else:
            high = middle
    return high


def _human_width(theta: float, m: int, level: float) -> float:
    """Width of people alone: Clopper and Pearson's at the expected count, as human-only gives."""
    low, high = binomial_interval(m * theta, m, level)
    return high - low


def _draws(quota: Allocation, theta: float, have: tuple[int, int]) -> int | None:
    """About how many more random rows fill both quotas; None when a class does not occur."""
    needs = ((quota.m1 - have[1], theta), (quota.m0 - have[0], 1 - theta))
    if any(size > 0 and share <= 0 for size, share in needs):
        return None
    return math.ceil(max((size / share for size, share in needs if size > 0), default=0))


def _next(
    expected: Callable[[float, float], float],
    by_class: Callable[[int], Allocation],
    theta: float,
    have: tuple[int, int],
    step: int,
) -> tuple[NextLabels, ...]:
    """What `step` more labels buy: at random, as Algorithm 1 would have it, or into one class."""
    m0, m1 = have
    ones = round(step * theta)
    wanted = min(max(by_class(m0 + m1 + step).m1 - m1, 0), step)
    ways = (
        ("none yet", 0, 0),
        ("drawn at random", step - ones, ones),
        ("split by Algorithm 1", step - wanted, wanted),
        ("all of human class 0", step, 0),
        ("all of human class 1", 0, step),
    )
    return tuple(
        NextLabels(
            extra=a + b, how=how, m0=m0 + a, m1=m1 + b, expected_width=expected(m0 + a, m1 + b)
        )
        for how, a, b in ways
    )


def _for_width(
    width: float,
    m: int | None,
    draws: int | None,
    ppi_needs: int | None,
    people_need: int | None,
    have: int,
    n_test: int,
    reason: str | None,
) -> str:
    """What the width costs in labels, cheapest way first."""
    told = [] if m is not None else [f"infeasible by correcting: {reason}"]
    if ppi_needs is not None and ppi_needs < n_test + have:
        more = f" ({have:,} are there, {max(ppi_needs - have, 0):,} more)" if have else ""
        told.append(
            f"width {width:g} takes {ppi_needs:,} labels drawn at random{more}, used with ppi++ "
            "(estimate --labels-are-random)"
        )
    if m is not None:
        filled = (
            "of which one does not occur"
            if draws is None
            else f"about {draws:,} {'more ' * bool(have)}random draws"
            if draws
            else "which the labels there fill"
        )
        told.append(
            "correcting the judge (misclassification), which stays right where labelled rows are "
            f"not such a sample, takes {m:,} split by class, {filled}"
        )
    if people_need is not None:
        told.append(f"people alone take {people_need:,}")
    return "; ".join(told)


def _edges(
    theta: float, shares: Allocation, draws: int | None, n_test: int, width: float, after: float
) -> tuple[str, ...]:
    if theta in (0.0, 1.0):
        return (
            f"the corrected rate is at the edge ({theta:g}): widths there are cut at the edge and "
            "say little; a class that does not occur cannot be labelled",
        )
    told = []
    if draws is not None and draws > n_test:
        told.append(
            f"filling both classes takes about {draws:,} random draws and there are {n_test:,} "
            "rows: the split cannot be filled here; judge more rows, or label at random"
        )
    elif after > 1.05 * width:
        told.append(
            f"{draws:,} labels drawn out of these {n_test:,} rows leave fewer to the judge: "
            f"correcting it then gives a width near {after:.3f}, not {width:.3f}; judge more rows, "
            "or use ppi++"
        )
    if min(shares) < 20:
        told.append(
            "fewer than 20 labels in a class: estimate with interval profile (--interval profile)"
        )
    return tuple(told)


def _capped(width: float) -> float:
    return float(np.clip(width, 0, 1))
