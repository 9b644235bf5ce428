"""How many labels, split how, for an interval of a given width; and is the judge worth having?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from adjudge._stats import binomial_interval, normal_quantile
from adjudge._text import percent
from adjudge._validation import count, open_unit, positive
from adjudge.errors import ArgumentError
from adjudge.estimation.allocation import (
    Allocation,
    by_verdict,
    check_share,
    conditional_variance,
    one_each,
    optimal_split,
    ppi_variance,
    proposition_61,
    split,
    variance_ratio,
)
from adjudge.estimation.misclassification import corrected_interval
from adjudge.estimation.outcome import clip
from adjudge.results.estimation import NextLabels, RatePlan

PILOT = 10
#: A plan for more labels than this is an infeasible plan.
MOST_LABELS = 10_000_000
HOW_TO_DRAW = (
    "the human class of a row is unknown before it is labelled: draw rows at random and stop when "
    "each class has its number; keep every label on the way",
    "never fill a class by picking on the judge's verdict and then treat the labels as random: the "
    "sensitivity and specificity so measured are wrong",
    "rows picked by verdict carry their sampling probability and are for method conditional (or "
    "weighted sensitivity and specificity) alone",
)


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a plan starts from: the judge's rate and quality, test rows, labels of class 0 and 1."""

    p: float
    q0: float
    q1: float
    n: int
    have: tuple[int, int]
    level: float

    @property
    def theta(self) -> float:
        """The corrected rate, clipped; for q0 + q1 > 1 only."""
        return clip((self.p + self.q0 - 1) / (self.q0 + self.q1 - 1))

    def corrected_width(self, m0: float, m1: float, rows: int | None = None) -> float:
        """Width of Eq. 6 with these labels, and all test rows or as many as given."""
        n = self.n if rows is None else rows
        bounds = corrected_interval(
            self.p, self.q0, self.q1, n, m0, m1, confidence_level=self.level
        )
        return float(bounds.length)

    def by_class(self, m: int) -> Allocation:
        """Algorithm 1's split; it never believes in a class without errors."""
        soft0, soft1 = (
            q if q < 1 else 1 - 1 / (PILOT + 2 + size)
            for q, size in zip((self.q0, self.q1), self.have, strict=True)
        )
        return split(m, p=self.p, q0=soft0, q1=soft1, pilot=min(PILOT, m // 2))

    def ppi_width(self, m: int) -> float:
        """Width of ppi++, the labels drawn out of the test rows."""
        left = max(self.n + sum(self.have) - m, 0)
        return self._normal_width(ppi_variance(self.p, self.q1, self.theta, left, m))

    def verdict_width(self, verdicts: Allocation) -> float:
        """Width of the conditional estimator with so many labels of verdict 0 and 1."""
        return self._normal_width(
            conditional_variance(self.p, self.q0, self.q1, self.theta, self.n, *verdicts)
        )

    def _normal_width(self, variance: float) -> float:
        return clip(2 * normal_quantile(self.level) * math.sqrt(variance))

    def draws(self, quota: Allocation) -> int | None:
        """About how many more random rows fill both quotas; None when a class does not occur."""
        theta, have = self.theta, self.have
        needs = ((quota.m1 - have[1], theta), (quota.m0 - have[0], 1 - theta))
        if any(size > 0 and share <= 0 for size, share in needs):
            return None
        return math.ceil(max((size / share for size, share in needs if size > 0), default=0))

    def width_after(self, quota: Allocation, draws: int | None) -> float:
        """Width once the labels are drawn out of the test rows, which leaves fewer of them."""
        if draws is None or draws >= self.n:
            return self.corrected_width(*quota)
        m0 = max(self.have[0] + draws * (1 - self.theta), quota.m0)
        m1 = max(self.have[1] + draws * self.theta, quota.m1)
        return self.corrected_width(m0, m1, self.n - draws)


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
    guess = Guess(
        p=check_share(judge_rate, "judge_rate"),
        q0=check_share(specificity, "specificity"),
        q1=check_share(sensitivity, "sensitivity"),
        n=count(n_test, "n_test", least=1),
        have=have,
        level=open_unit(confidence_level, "confidence_level"),
    )
    if (width is None) == (labels is None):
        raise ArgumentError(
            "width, labels",
            (width, labels),
            "give one of the two: --width (width=) or --labels (labels=)",
        )
    if labels is not None:
        labels = count(labels, "labels", least=2)
    if width is not None:
        positive(width, "width")
    count(step, "step", least=1)
    if guess.q0 + guess.q1 <= 1:
        return _plan_people_alone(guess, width, labels)
    m = labels
    if width is not None:
        m = _fewest(lambda size: guess.corrected_width(*guess.by_class(size)), width)
    if m is None:
        floor = guess.corrected_width(MOST_LABELS, MOST_LABELS)
        reason = (
            f"no number of labels gives width {width:g}: the {n_test} test rows alone leave "
            f"{floor:.3f}; judge more rows"
        )
        return _plan(guess, width, None, reason, step)
    return _plan(guess, width, m, None, step)


T = TypeVar("T")


def _plan(
    guess: Guess, width: float | None, labels: int | None, reason: str | None, step: int
) -> RatePlan:
    """The plan for so many labels; where none are enough, the judge's worth at 200 or those there.

    Without a number of labels no width is given, only what the width asked for would cost others.
    """
    theta, level = guess.theta, guess.level
    m = labels if labels is not None else max(sum(guess.have), 200)
    quota = guess.by_class(m)
    optimal = optimal_split(m, theta=theta, q0=guess.q0, q1=guess.q1)
    verdicts = by_verdict(m, p=guess.p, q0=guess.q0, q1=guess.q1, theta=theta)
    plan_width, ppi_width = guess.corrected_width(*quota), guess.ppi_width(m)
    human_width = _human_width(theta, m, level)
    ratio = variance_ratio(guess.p, guess.q0, guess.q1, theta, guess.n, m)
    region = proposition_61((guess.q0 + guess.q1) / 2)
    draws = None if labels is None else guess.draws(quota)
    people_need = ppi_needs = None
    if width is None:
        advice = (
            f"{m} labels drawn at random give an expected width of {ppi_width:.3f} with ppi++ "
            f"(estimate --labels-are-random), {human_width:.3f} people alone; split by class and "
            f"corrected (misclassification), {plan_width:.3f}"
        )
    else:
        people_need = _fewest(lambda size: _human_width(theta, size, level), width)
        ppi_needs = _fewest(guess.ppi_width, width)
        costs = [
            f"infeasible by correcting: {reason}" if labels is None else None,
            _ppi_cost(guess, width, ppi_needs),
            None if labels is None else _correction_cost(guess, labels, draws),
            None if people_need is None else f"people alone take {people_need:,}",
        ]
        advice = "; ".join(cost for cost in costs if cost is not None)

    def known(value: T) -> T | None:
        return None if labels is None else value

    return RatePlan(
        m0=known(quota.m0),
        m1=known(quota.m1),
        expected_width=known(plan_width),
        human_only_width=known(human_width),
        recommendation=advice,
        target_width=width,
        confidence_level=level,
        rate=theta,
        judge_rate=guess.p,
        sensitivity=guess.q1,
        specificity=guess.q0,
        n_test=guess.n,
        labels=labels,
        optimal_m0=known(optimal.m0),
        optimal_m1=known(optimal.m1),
        optimal_width=known(guess.corrected_width(*optimal)),
        expected_draws=draws,
        random_m=labels,
        random_width=known(guess.corrected_width(*one_each(m, theta))),
        ppi_width=known(ppi_width),
        human_only_labels=people_need,
        ppi_labels=ppi_needs,
        verdict_m0=known(verdicts.m0),
        verdict_m1=known(verdicts.m1),
        verdict_width=known(guess.verdict_width(verdicts)),
        judge_helps=ratio <= 1,
        variance_ratio=ratio,
        proposition_61=region,
        proposition_61_says=region is not None and region[0] <= theta <= region[1],
        reason=reason,
        next_labels=_next_labels(guess, step) if min(guess.have) > 0 else (),
        how_to_draw=HOW_TO_DRAW,
        assumptions=(
            f"the judge says 1 on {percent(guess.p)} of test rows, with sensitivity "
            f"{guess.q1:.3f} and specificity {guess.q0:.3f}; the plan is as good as these three",
        ),
        warnings=_warnings(guess, quota, draws),
    )


def _plan_people_alone(guess: Guess, width: float | None, labels: int | None) -> RatePlan:
    """The plan when the judge is no better than a coin: no correction, people alone."""
    have = guess.have
    theta = have[1] / sum(have) if sum(have) else 0.5
    m = labels
    if width is not None:
        m = _fewest(lambda size: _human_width(theta, size, guess.level), width)
    human = None if m is None else _human_width(theta, m, guess.level)
    cost = "" if human is None else f"; {m} random labels give people alone a width of {human:.3f}"
    return RatePlan(
        human_only_width=human,
        recommendation=f"do not use this judge{cost}",
        target_width=width,
        confidence_level=guess.level,
        judge_rate=guess.p,
        sensitivity=guess.q1,
        specificity=guess.q0,
        n_test=guess.n,
        labels=m,
        random_m=m,
        human_only_labels=m if labels is None else None,
        judge_helps=False,
        proposition_61_says=False,
        reason=(
            f"sensitivity {guess.q1:.3f} + specificity {guess.q0:.3f} is not above 1: a judge no "
            "better than a coin cannot be corrected"
        ),
        assumptions=(f"a human rate near {theta:.2f}",),
    )


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


def _next_labels(guess: Guess, step: int) -> tuple[NextLabels, ...]:
    """What `step` more labels buy: at random, as Algorithm 1 would have it, or into one class."""
    m0, m1 = guess.have
    ones = round(step * guess.theta)
    wanted = min(max(guess.by_class(m0 + m1 + step).m1 - m1, 0), step)
    ways = (
        ("none yet", 0, 0),
        ("drawn at random", step - ones, ones),
        ("split by Algorithm 1", step - wanted, wanted),
        ("all of human class 0", step, 0),
        ("all of human class 1", 0, step),
    )
    return tuple(
        NextLabels(
            extra=a + b,
            how=how,
            m0=m0 + a,
            m1=m1 + b,
            expected_width=guess.corrected_width(m0 + a, m1 + b),
        )
        for how, a, b in ways
    )


def _ppi_cost(guess: Guess, width: float, needs: int | None) -> str | None:
    """What ppi++ costs in random labels, where the rows are enough for it."""
    have = sum(guess.have)
    if needs is None or needs >= guess.n + have:
        return None
    more = f" ({have:,} are there, {max(needs - have, 0):,} more)" if have else ""
    return (
        f"width {width:g} takes {needs:,} labels drawn at random{more}, used with ppi++ "
        "(estimate --labels-are-random)"
    )


def _correction_cost(guess: Guess, labels: int, draws: int | None) -> str:
    if draws is None:
        filled = "of which one does not occur"
    elif draws:
        filled = f"about {draws:,} {'more ' * bool(sum(guess.have))}random draws"
    else:
        filled = "which the labels there fill"
    return (
        "correcting the judge (misclassification), which stays right where labelled rows are "
        f"not such a sample, takes {labels:,} split by class, {filled}"
    )


def _warnings(guess: Guess, quota: Allocation, draws: int | None) -> tuple[str, ...]:
    if guess.theta in (0.0, 1.0):
        return (
            f"the corrected rate is at the edge ({guess.theta:g}): widths there are clipped and "
            "say little; a class that does not occur cannot be labelled",
        )
    warnings = []
    width, after = guess.corrected_width(*quota), guess.width_after(quota, draws)
    if draws is not None and draws > guess.n:
        warnings.append(
            f"filling both classes takes about {draws:,} random draws and there are {guess.n:,} "
            "rows: the split cannot be filled here; judge more rows, or label at random"
        )
    elif after > 1.05 * width:
        warnings.append(
            f"{draws:,} labels drawn out of these {guess.n:,} rows leave fewer to the judge: "
            f"correcting it then gives a width near {after:.3f}, not {width:.3f}; judge more rows, "
            "or use ppi++"
        )
    if min(quota) < 20:
        warnings.append(
            "fewer than 20 labels in a class: estimate with interval profile (--interval profile)"
        )
    return tuple(warnings)
