"""How many labels, in which split, for an interval of a given width; and does the judge help?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from adjudge.data.grades import Grades, prepare_grades
from adjudge.data.rows import merge_dropped
from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.estimation.estimators.misclassification import correct_means
from adjudge.estimation.label_budget import (
    BEHIND_EACH,
    MOST_LABELS,
    REPEATS,
    Allocation,
    PlanInputs,
    one_each,
    proposition_51,
    proposition_61,
)
from adjudge.estimation.mean_plan import MeanPlan, plan_mean
from adjudge.estimation.rate_view import RateResult, sentence
from adjudge.estimation.sample import Counts, counts_of, refuse_shares, sample_of
from adjudge.present.blocks import Block, Headline, Note, Table, Tone
from adjudge.present.figure import ACCENT, GOOD, INK, SERIES, WARM, new_figure, themed
from adjudge.present.result import Count, Level, NotNegative, Proportion, frozen
from adjudge.present.text import count as counted
from adjudge.present.text import interval, level, number, percent
from adjudge.statistics.numbers import binomial_interval
from adjudge.validation import count, open_unit, unit
from adjudge.validation import positive as positive_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


HOW_TO_DRAW = (
    "the human class of a row is unknown before it is labelled: sample rows at random and stop "
    "when each class has its number; keep all labels",
    "never fill a class by picking on the judge's verdict and then treat the labels as random: "
    "the measured sensitivity and specificity would be wrong",
    "rows picked by verdict have a sampling probability and are only for method conditional (or "
    "weighted sensitivity and specificity)",
)
#: Name, field of the plan, colour and line of each way to use labels. Two pairs of widths are
#: almost the same: dashes over a line show both.
_WAYS = (
    ("by class, Algorithm 1 (misclassification)", "expected_width", ACCENT, "-"),
    ("at random (misclassification)", "random_width", SERIES[4], "--"),
    ("at random (conditional)", "conditional_width", SERIES[2], "-"),
    ("by verdict (conditional)", "verdict_width", GOOD, "--"),
    ("people alone", "human_only_width", WARM, ":"),
)


@dataclass(frozen=True, kw_only=True)
class NextLabels:
    """The effect of more labels: the expected width after adding them in one of several ways."""

    extra: Count
    how: str
    m0: Count
    m1: Count
    expected_width: NotNegative


@frozen
class RatePlan(RateResult):
    """How many labels, in which split, for a given interval width; and does the judge help?"""

    kind: ClassVar[str] = "plan_rate"

    m0: Count | None = None
    m1: Count | None = None
    expected_width: NotNegative | None = None
    human_only_width: NotNegative | None = None
    recommendation: str
    target_width: NotNegative | None = None
    confidence_level: Level
    rate: Proportion | None = None
    judge_rate: Proportion
    sensitivity: Proportion
    specificity: Proportion
    n_test: Count
    labels: Count | None = None
    labelled: Count = 0
    expected_draws: Count | None = None
    random_width: NotNegative | None = None
    human_only_labels: Count | None = None
    conditional_labels: Count | None = None
    conditional_width: NotNegative | None = None
    simulated_coverage: Proportion | None = None
    verdict_m0: Count | None = None
    verdict_m1: Count | None = None
    verdict_width: NotNegative | None = None
    judge_helps: bool
    variance_ratio: float | None = None
    proposition_51: Count | None = None
    proposition_61: tuple[float, float] | None = None
    reason: str | None = None
    next_labels: tuple[NextLabels, ...] = ()
    how_to_draw: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether some number of labels reaches the width with the judge, or the budget is used."""
        return self.can_draw("random") or self.can_draw("verdict")

    def can_draw(self, draw: str) -> bool:
        """Whether some number of labels drawn in this way, random or verdict, is enough."""
        return self.needed(draw) is not None or (draw == "random" and self.m0 is not None)

    def needed(self, draw: str) -> int | None:
        """Labels in all that `conditional` needs, drawn random or verdict; None: no number."""
        if draw == "verdict":
            return None if self.verdict_m0 is None else self.verdict_m0 + (self.verdict_m1 or 0)
        by_class = None if self.m0 is None else self.labels
        return by_class if self.target_width is None else self.conditional_labels

    def _parts(self) -> Sequence[Any]:
        return self.next_labels or [self]

    def view(self) -> list[Block]:
        """What the width costs, every way to draw the labels, the effect of more labels."""
        tone: Tone = "plain" if self.feasible else "bad"
        numbers: list[Block] = []
        if self.reason is not None:
            numbers.append(Note([self.reason], tone=tone))
        planned = self.target_width is None or self.conditional_labels is not None
        if planned and self.conditional_width is not None:
            trial = f"{REPEATS:,} simulated samples: mean width {self.conditional_width:.3f}"
            numbers.append(Note([f"{trial}, {percent(self.simulated_coverage)} contain the rate"]))
        if self.feasible:
            numbers.append(_ways(self))
        if steps := self.next_labels:
            rows = [(s.how, *map(number, (s.extra, s.m1, s.m0, s.expected_width))) for s in steps]
            names = ("next labels", "more", "positive", "negative", "width")
            caption = "What more labels would buy (misclassification)"
            numbers.append(Table(names, rows, caption, detail=True))
        if lines := [*_judge_worth(self), *(f"how to draw: {text}" for text in self.how_to_draw)]:
            numbers.append(Note(lines, detail=True, title="What the judge is worth, how to draw"))
        caption = (
            f"Expected width of the {level(self.confidence_level)} interval by number of labels, "
            "for each way to use them."
        )
        return self.show(
            Headline(sentence(None, self.recommendation), tone=tone),
            *numbers,
            assumptions=self.assumptions,
            figure=None if self.rate is None else ("widths", plan_figure, caption),
        )


# --- the call and its numbers ---


def plan_rate(
    data: TableLike | Grades | None = None,
    *,
    width: float | None = None,
    budget: int | None = None,
    labels: TableLike | None = None,
    judge_rate: float | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
    n_test: int | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    step: int = 50,
    confidence_level: float = 0.95,
    model_labels: bool = False,
    **reading: Unpack[Reading],
) -> RatePlan | MeanPlan:
    """Plan human labels for a rate or a mean: either for a target `width` or for a `budget`.

    The judge's rate and quality come from a table with some labels (a pilot); an explicit argument
    overrides them. Sensitivity and specificity are (correct + 1)/(labels + 2), as in the pilot of
    Algorithm 1. Labels picked by a plan are weighted, as in `estimate`.

    All numbers of labels are totals, including existing ones. `expected_draws` is how many more
    random rows people must label to fill both classes. Widths are those of Eq. 6 at the expected
    counts, as in the paper's Figure 3, with all `n_test` rows left to the judge; if labels sampled
    from them would make it wider, a warning gives the width. Random labels are used with
    `conditional`: `conditional_labels` is the fewest that give 10 labels per verdict and keep the
    width in 1,000 simulated samples of these rows. `conditional_width` is their mean width,
    `simulated_coverage` the share that contain the rate. `verdict_m0` and `verdict_m1` are the
    fewest, simulated in the same way, if rows are picked by verdict. The split is Algorithm 1's
    (pilot 10 per class). `judge_helps` is true if a way with the judge needs fewer labels than
    people alone, or is narrower with the budget.
    `variance_ratio` compares misclassification alone with people, with random labels: Eq. 9 with
    m theta and m (1 - theta) labels against theta (1 - theta)/m. Proposition 6.1 is the same for
    q0 = q1 and infinitely many test rows. `next_labels` gives the effect of `step` more labels.

    The plan is only as good as its inputs: from a small pilot it is as uncertain as that pilot.

    Rows of scores give a MeanPlan: how many labels for a width of the mean, on their scale, from
    the spread and correlation of 30 labels or more.

    Args:
        data: Judged rows, some labelled: a pilot. A path, a frame or a dict of columns.
        width: Wanted width of the interval.
        budget: A number of labels instead of a width, including the labels in the table.
        labels: Human labels by id. A second table; its labels replace those in `data`.
        judge_rate: Share of rows that the judge passes; by default from the table.
        sensitivity: Share of the rows people call 1 that the judge calls 1; by default from the
            labels of the table.
        specificity: Share of the rows people call 0 that the judge calls 0; by default from the
            labels of the table.
        n_test: Number of judged rows; by default from the table.
        judge_column: Column of the judge's verdicts.
        human_column: Column of the human labels.
        positive: For labels that are words: the one that counts as 1.
        step: Also show the effect of this many more labels.
        confidence_level: Confidence level of the intervals.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> plan = plan_rate(judge_rate=0.55, sensitivity=0.9, specificity=0.7, n_test=1000, budget=200)
    >>> plan.m0, plan.m1, round(plan.expected_width, 3)
    (117, 83, 0.216)
    """
    values: dict[str, Any] = {
        "judge_rate": judge_rate,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "n_test": n_test,
    }
    have = (0, 0)
    behind = (0, 0)
    makers = tuple[str, ...]()
    dropped = dict[str, int]()
    if data is not None:
        rows = prepare_grades(
            data,
            labels=labels,
            judge_column=judge_column,
            human_column=human_column,
            positive=positive,
            **reading,
            needs_labels=False,
            model_labels=model_labels,
            scores=positive is None,
        )
        if rows.scale == "scores":
            return _plan_mean(rows, width, budget, confidence_level, values)
        counts, quality = _measure_judge(rows, judge_column, human_column, values)
        have = counts.m0, counts.m1
        behind = counts.c0 + counts.m1 - counts.c1, counts.c1 + counts.m0 - counts.c0
        if counts.n == 0 and judge_rate is None and any(have):
            remedy = "no label is left to buy: adjudge estimate gives the human rate"
            raise ArgumentError("data", rows.name, f"every row has a human label, so {remedy}")
        measured = {**quality, "judge_rate": counts.p if counts.n else None, "n_test": counts.n}
        values |= {name: value for name, value in measured.items() if values[name] is None}
        makers = rows.makers
        dropped = merge_dropped(rows.dropped)
    for name, value in values.items():
        if value is None:
            guess = f"give a guess with --{name.replace('_', '-')} ({name}=)"
            remedy = f"no table gives it: {guess}, or a table with about 20 rows labelled at random"
            raise ArgumentError(name, None, remedy)
    inputs = PlanInputs(
        p=unit(values["judge_rate"], "judge_rate"),
        q0=unit(values["specificity"], "specificity"),
        q1=unit(values["sensitivity"], "sensitivity"),
        n=count(values["n_test"], "n_test", least=1),
        have=have,
        behind=behind,
        level=open_unit(confidence_level, "confidence_level"),
    )
    _check_aim(width, budget)
    if budget is not None:
        budget = count(budget, "budget", least=2)
    if width is not None:
        positive_number(width, "width")
        unit(width, "width")
    count(step, "step", least=1)
    if inputs.q0 + inputs.q1 <= 1:
        plan = _plan_people_alone(inputs, width, budget)
    else:
        if width is not None:
            budget = _fewest(lambda size: inputs.corrected_width(*inputs.by_class(size)), width)
        plan = _plan(inputs, width, budget, step)
    return replace(plan, assumptions=(*plan.assumptions, *makers), dropped=dropped)


def _check_aim(width: float | None, budget: int | None) -> None:
    if (width is None) == (budget is None):
        remedy = "give one of the two: --width (width=) or --budget (budget=)"
        raise ArgumentError("width, budget", (width, budget), remedy)


def _plan_mean(
    rows: Grades,
    width: float | None,
    budget: int | None,
    level: float,
    for_rates: Mapping[str, object],
) -> MeanPlan:
    """The plan for scores; `for_rates` are options that means do not have."""
    _check_aim(width, budget)
    for option, value in for_rates.items():
        if value is not None:
            raise ArgumentError(option, value, "is for rates, and these rows are scores")
    if width is not None:
        positive_number(width, "width")
    level = open_unit(level, "confidence_level")
    return plan_mean(rows, width=width, budget=budget, confidence_level=level)


def _measure_judge(
    rows: Grades, judge_column: str, human_column: str, guesses: Mapping[str, Any]
) -> tuple[Counts, dict[str, float | None]]:
    """The counts of a table, and the judge's specificity and sensitivity; None if unknown."""
    sample = sample_of(rows)
    refuse_shares(sample, "a plan", rows.name, human_column)
    if sample is None or rows.scale != "binary":
        remedy = "or the class that counts as 1: --positive NAME (positive=)"
        raise ArgumentError("judge_column", judge_column, f"give verdicts of 0 and 1, {remedy}")
    counts = counts_of(sample)
    right = [float(counts.c0), float(counts.c1)]
    guessed = guesses["sensitivity"] is not None and guesses["specificity"] is not None
    if sample.planned and min(counts.m0, counts.m1) > 0 and not guessed:
        if not sample.weighted:
            mixed = "some labels picked by a plan, others without a sampling probability"
            remedy = "give --sensitivity and --specificity (sensitivity=, specificity=)"
            raise ArgumentError("table", mixed, remedy)
        fit = correct_means(sample)
        right = [counts.m0 * (1 - fit.mu0), counts.m1 * fit.mu1]
    # One right and one wrong label are added: a pilot without errors does not prove there are none.
    named = zip(("specificity", "sensitivity"), right, (counts.m0, counts.m1), strict=True)
    return counts, {name: (r + 1) / (m + 2) if m else None for name, r, m in named}


def _plan(inputs: PlanInputs, width: float | None, labels: int | None, step: int) -> RatePlan:
    """The plan for that many labels; if no number is enough, the judge's value at 200 or more.

    Without a number of labels there is no width, only what the requested one costs otherwise.
    """
    theta = inputs.theta
    m = labels if labels is not None else max(sum(inputs.have), 200)
    quota = inputs.by_class(m)
    quality = (inputs.q0 + inputs.q1) / 2
    draws = reason = people_need = random_need = None
    sized: dict[str, Any] = {}
    if labels is not None:
        draws = inputs.draws(quota)
        sized = {
            "m0": quota.m0,
            "m1": quota.m1,
            "expected_width": inputs.corrected_width(*quota),
            "human_only_width": _human_width(theta, m, inputs.level),
            "random_width": inputs.corrected_width(*one_each(m, theta)),
        }
    elif width is not None:
        floor = inputs.corrected_width(MOST_LABELS, MOST_LABELS)
        rows = f"the {inputs.n:,} test rows alone give {floor:.3f}"
        reason = f"misclassification cannot give width {width:g}: {rows}"
    verdict_need: int | None = m
    by_class = False
    split = _split_warnings(inputs, quota, draws)
    trial, coverage = inputs.try_labels(m)
    if width is None:
        judged = f"give a width of {trial:.3f} with conditional,"
        if math.isinf(trial):
            judged = "leave no row to the judge and give"
        advice = (
            f"{m:,} random labels {judged} {sized['human_only_width']:.3f} with people alone; "
            f"split by class, {sized['expected_width']:.3f} with misclassification"
        )
        helps = min(trial, sized["expected_width"]) < sized["human_only_width"]
    else:
        people_need = _fewest(lambda size: _human_width(theta, size, inputs.level), width)
        have = sum(inputs.have)
        random_need = _fewest(lambda m: inputs.try_labels(m)[0], width, least=inputs.fewest_random)
        least = max(have, 2 * BEHIND_EACH)
        verdict_need = _fewest(lambda m: inputs.try_labels(m, "verdict")[0], width, least=least)
        costs = []
        if random_need is not None:
            trial, coverage = inputs.try_labels(random_need)
            more = f" ({have:,} exist, {max(random_need - have, 0):,} more)" if have else ""
            costs.append((random_need, f"{random_need:,} random labels{more} with conditional"))
        if labels is not None:
            costs.append((labels, f"{labels:,} split by class with misclassification"))
        best = min(costs, default=(math.inf, ""))[0]
        by_class = best == labels
        helps = min(best, verdict_need or best) < (people_need or math.inf)
        if people_need is not None:
            costs.append((people_need, f"{people_need:,} with people alone"))
        listed = ", ".join(text for _, text in sorted(costs))
        none = f"no number of labels gives width {width:g}"
        advice = f"width {width:g} needs {listed}" if costs else none
    if verdict_need is not None:
        sized["verdict_m0"], sized["verdict_m1"] = inputs.by_verdict(verdict_need)
        verdict_width = inputs.try_labels(verdict_need, "verdict")[0]
        sized["verdict_width"] = None if math.isinf(verdict_width) else verdict_width
    return RatePlan(
        **sized,
        **inputs.shown(),
        recommendation=advice,
        target_width=width,
        rate=theta,
        labels=labels,
        expected_draws=draws,
        human_only_labels=people_need,
        conditional_labels=random_need,
        conditional_width=None if math.isinf(trial) else trial,
        simulated_coverage=None if math.isinf(trial) else coverage,
        judge_helps=helps,
        variance_ratio=inputs.variance_ratio(m),
        proposition_51=proposition_51(quality),
        proposition_61=proposition_61(quality),
        reason=reason,
        next_labels=_next_labels(inputs, step) if min(inputs.have) > 0 else (),
        how_to_draw=(*HOW_TO_DRAW, *(() if by_class else split)),
        assumptions=(
            f"judge rate {inputs.p:.2f}, sensitivity {inputs.q1:.2f}, specificity {inputs.q0:.2f}",
            "the plan is only as good as these numbers",
        ),
        warnings=(*_plan_warnings(inputs, random_need or m), *(split if by_class else ())),
    )


def _plan_people_alone(inputs: PlanInputs, width: float | None, labels: int | None) -> RatePlan:
    """The plan if the judge is not better than chance: no correction, people alone."""
    have = inputs.have
    theta = have[1] / sum(have) if sum(have) else 0.5
    m = labels
    if width is not None:
        m = _fewest(lambda size: _human_width(theta, size, inputs.level), width)
    human = None if m is None else _human_width(theta, m, inputs.level)
    advice = "these labels do not show that the judge is better than chance"
    if human is not None:
        advice += f"; {m:,} random labels give a width of {human:.3f} with people alone"
    return RatePlan(
        human_only_width=human,
        recommendation=advice,
        **inputs.shown(),
        target_width=width,
        labels=m,
        human_only_labels=m if labels is None else None,
        judge_helps=False,
        reason=(
            f"sensitivity {inputs.q1:.3f} + specificity {inputs.q0:.3f} is not above 1: a judge "
            "not better than chance cannot be corrected"
        ),
        assumptions=(f"a human rate near {theta:.2f}",),
    )


def _fewest(width_of: Callable[[int], float], target: float, least: int = 2) -> int | None:
    """Smallest m >= `least` with width_of(m) <= target, by doubling and bisection."""
    high = least
    while width_of(high) > target:
        high *= 2
        if high > MOST_LABELS:
            return None
    low = max(high // 2, least - 1)
    while high - low > 1:
        middle = (low + high) // 2
        if width_of(middle) > target:
            low = middle
        else:
            high = middle
    return high


def _human_width(theta: float, m: int, level: float) -> float:
    """Width of people alone: Clopper-Pearson at the expected count, as in human-only."""
    low, high = binomial_interval(m * theta, m, level)
    return high - low


def _next_labels(inputs: PlanInputs, step: int) -> tuple[NextLabels, ...]:
    """The effect of `step` more labels: at random, split by Algorithm 1, or in one class."""
    m0, m1 = inputs.have
    ones = round(step * inputs.theta)
    wanted = min(max(inputs.by_class(m0 + m1 + step).m1 - m1, 0), step)
    ways = (
        ("none yet", 0, 0),
        ("sampled at random", step - ones, ones),
        ("split by Algorithm 1", step - wanted, wanted),
        ("all of human class 0", step, 0),
        ("all of human class 1", 0, step),
    )
    steps = []
    for how, a, b in ways:
        width = inputs.corrected_width(m0 + a, m1 + b)
        steps.append(NextLabels(extra=a + b, how=how, m0=m0 + a, m1=m1 + b, expected_width=width))
    return tuple(steps)


def _plan_warnings(inputs: PlanInputs, random_labels: int) -> tuple[str, ...]:
    few = (
        f"{random_labels:,} random labels give fewer than {BEHIND_EACH} for one verdict: the "
        f"width of conditional is approximate there; use {inputs.fewest_random:,} or more"
    )
    edge = (
        f"the corrected rate is at the edge ({inputs.theta:g}): widths there are clipped and not "
        "informative; a class that does not occur cannot be labelled"
    )
    cases = ((random_labels < inputs.fewest_random, few), (inputs.theta in (0.0, 1.0), edge))
    return tuple(text for holds, text in cases if holds)


def _split_warnings(inputs: PlanInputs, quota: Allocation, draws: int | None) -> tuple[str, ...]:
    """What stands against the split by class: warnings if it is what the plan advises."""
    if inputs.theta in (0.0, 1.0):
        return ()
    few = "fewer than 20 labels in a class: misclassification then needs --interval profile"
    warnings = (few,) if min(quota) < 20 else ()
    width = inputs.corrected_width(*quota)
    after = inputs.width_after(quota, draws)
    if draws is not None and draws > inputs.n:
        return (
            f"filling both classes needs about {draws:,} random rows, but there are {inputs.n:,} "
            "rows: the split cannot be filled here; judge more rows, or label at random",
            *warnings,
        )
    if after > 1.05 * width:
        return (
            f"{draws:,} labels sampled from these {inputs.n:,} rows leave fewer to the judge: "
            f"correction then gives a width near {after:.3f}, not {width:.3f}; judge more rows, "
            "or use conditional",
            *warnings,
        )
    return warnings


# --- the view ---


def _ways(plan: RatePlan) -> Table:
    """Every way to draw that many labels, and the width of the interval of each method."""
    corrected = "misclassification"
    labels = number(plan.labels)
    # As many random labels as the width needs, if one was asked for.
    random_labels = number(plan.conditional_labels or plan.labels)
    by_class = _split(plan.m1, plan.m0)
    by_verdict = _split(plan.verdict_m1, plan.verdict_m0)
    rows = [
        ("by human class (Algorithm 1)", corrected, by_class, plan.expected_width),
        ("at random", corrected, labels, plan.random_width),
        ("at random", "conditional", random_labels, plan.conditional_width),
        ("at random", "human-only", labels, plan.human_only_width),
        ("by verdict", "conditional", by_verdict, plan.verdict_width),
    ]
    caption = f"Expected width of a {level(plan.confidence_level)} interval with "
    caption += counted(plan.n_test, "test row")
    if plan.m0 is not None:
        draws = "no number of" if plan.expected_draws is None else f"about {plan.expected_draws:,}"
        caption += f"; {draws} random draws fill both classes of Algorithm 1"
    return Table(
        ("how the labels are drawn", "method", "labels", "width"),
        [(*words, number(width)) for *words, width in rows if width is not None],
        caption=caption,
        text_columns=3,
        detail=True,
    )


def _split(ones: int | None, zeros: int | None) -> str:
    return f"{number(ones)} positive, {number(zeros)} negative"


def _judge_worth(plan: RatePlan) -> list[str]:
    """Whether the judge makes the interval shorter."""
    if plan.variance_ratio is None or plan.rate is None:
        return []
    region = plan.proposition_61
    quality = number((plan.sensitivity + plan.specificity) / 2)
    better = "it does better" if plan.variance_ratio <= 1 else "people alone do better than it"
    helps = "never helps" if region is None else f"helps for rates in {interval(*region)}"
    lines = [
        f"with random labels misclassification has {number(plan.variance_ratio, 2)} times the "
        f"variance of people alone at rate {number(plan.rate)}: {better}",
        f"Proposition 6.1 (misclassification, q0 = q1 = {quality}, infinitely many test rows): the "
        f"judge {helps}",
    ]
    if plan.proposition_51 is not None:
        lines.append(
            f"Proposition 5.1 (q0 = q1 = {quality}, as many labels of either class, a second-order "
            f"approximation): from {plan.proposition_51:,} labels on the corrected rate is less "
            "biased than the judge's rate, at every rate; its width is not compared"
        )
    return lines


def plan_figure(plan: RatePlan) -> Drawing:
    """Expected width against the number of labels, for each way to use them."""
    most = max(plan.labels or 400, 100) * 2
    sizes = np.unique(np.geomspace(20, most, 40).astype(int))
    names = ("judge_rate", "sensitivity", "specificity", "n_test", "confidence_level")
    inputs: dict[str, Any] = {name: getattr(plan, name) for name in names}
    plans = [plan_rate(**inputs, budget=int(size)) for size in sizes]
    with themed():
        figure = new_figure(7.2, 4.2)
        axes = figure.subplots()
        for name, field, colour, line in _WAYS:
            axes.plot(sizes, [getattr(p, field) for p in plans], line, color=colour, label=name)
        if plan.target_width is not None:
            axes.axhline(plan.target_width, color=INK, linewidth=1)
            axes.text(sizes[0], plan.target_width, "width wanted", va="bottom", fontsize=8.5)
        axes.set_xscale("log")
        ticks = [t for t in (20, 50, 100, 200, 500, 1000, 2000, 5000, 10000) if t <= most]
        axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        ylabel = f"expected width of the {level(plan.confidence_level)} interval"
        axes.set(xlabel="human labels", ylabel=ylabel)
        axes.legend(fontsize=8.5)
        axes.set_title(
            f"With random labels misclassification has {number(plan.variance_ratio, 2)} times\n"
            "the variance of people alone"
        )
    return figure
