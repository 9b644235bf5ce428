"""Plan a cascade: cost and coverage over tau, which judges are worth their cost, where to stop.

Stages, weights, curve and tau are learned only from the rows of the learning share, which is a
seeded hash of their cluster or id. The other labels calibrate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from adjudge.data.judgments import WORDS, Judgments
from adjudge.data.rows import Rows, merge_dropped
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import (
    CascadeRule,
    CostSource,
    DroppedStage,
    LearningShare,
    Stage,
    money,
)
from adjudge.present.blocks import Block, Figure, Headline, Note, explain, table_of, warnings_of
from adjudge.present.figure import ACCENT, GOOD, INK, MUTED, WARM, new_figure, themed
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    ResultWithDigest,
    frozen,
    not_empty,
)
from adjudge.present.text import clip_names, count, left_out, percent
from adjudge.records import MIN_ANSWER_MASS, About
from adjudge.selection.cascade import (
    OTHER_JUDGE,
    Member,
    StageEvidence,
    find_stages,
    fit_stages,
    in_learning_share,
    lay_out,
    of_stages,
    stage_names,
    stop_at,
    with_failures,
)
from adjudge.selection.doubts.evidence import (
    FEWEST_LEARNING,
    LearnedMargin,
    advise_learning,
    lengths_in,
    with_context,
)
from adjudge.selection.labelled import read_labelled
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.statistics.numbers import cluster_codes
from adjudge.store import StorePlace, read_judge_parts
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    exact_level,
    non_negative,
    open_unit,
    unit,
)
from adjudge.validation import count as check_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NOT_EVERY_STAGE = "not judged by every stage"
PLAN_SCHEMA = 1
#: The most coverage that a plan gives up when it drops a judge: within the error of the estimates.
_SLACK = 0.01
#: How many values of tau are tried, and how many a plan keeps.
_TRIED, _KEPT = 200, 40
#: Lines of the curve that a table shows.
_LINES = 9


@dataclass(frozen=True, kw_only=True)
class CostPoint:
    """A cascade that stops at `tau`: its cost per row, and what could be accepted at alpha.

    `coverage` is the largest share whose mean fitted error probability is at most alpha, `wrong`
    the observed share of errors in it; `stops` the share of rows that end at each stage. All are
    computed with ridges that were fitted without the row.
    """

    tau: Proportion
    cost: NotNegative
    coverage: Proportion
    wrong: Proportion | None
    stops: tuple[Proportion, ...]


@dataclass(frozen=True, kw_only=True)
class JudgeAlone:
    """One judge of the cascade asked about every row."""

    judge: str
    cost: NotNegative
    coverage: Proportion
    wrong: Proportion | None


def _can_be_shown(plan: CascadePlan) -> str | None:
    """The planned point is marked, and costs are shares of the last judge's cost."""
    if all(point.tau != plan.rule.tau for point in plan.points):
        return f"no point has the planned tau {plan.rule.tau!r}"
    if plan.last.cost <= 0:
        return "the last judge costs nothing"
    if {len(point.stops) for point in plan.points} != {len(plan.rule.stages)}:
        return "points and stages differ in length"
    return None


@frozen
class CascadePlan(ResultWithDigest):
    """Cost and coverage of a cascade, stage by stage, estimated only on the learning share.

    `points` is the curve over tau of the kept stages. `feasible` is False if no tau passes at
    alpha: then only the last judge is left.
    """

    kind: ClassVar[str] = "plan_cascade"
    rows_in: ClassVar[str] = "points"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("points", "alone"), _can_be_shown)

    schema_version: Count = PLAN_SCHEMA
    about: About = "pairs"
    alpha: Level
    rule: CascadeRule
    tau_given: bool = False
    feasible: bool
    cost_source: CostSource
    points: tuple[CostPoint, ...]
    alone: tuple[JudgeAlone, ...]
    dropped_stages: tuple[DroppedStage, ...] = ()
    min_answer_mass: Proportion | None = None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]

    @property
    def planned(self) -> CostPoint:
        """The point of the planned tau."""
        return next(point for point in self.points if point.tau == self.rule.tau)

    @property
    def last(self) -> JudgeAlone:
        """The last of the requested judges, alone."""
        return self.alone[-1]

    def view(self) -> list[Block]:
        return view_cascade_plan(self)


def plan_cascade(
    judgments: TableLike | Judgments,
    cascade: str | Sequence[str],
    *,
    alpha: float | Fraction = 0.1,
    costs: Sequence[float] | None = None,
    tau: float | None = None,
    labels: TableLike | None = None,
    pairs: TableLike | None = None,
    ties: str = "drop",
    cluster: str | None = "auto",
    category: str | None = None,
    learning_share: float = 0.3,
    min_answer_mass: float | None = MIN_ANSWER_MASS,
    seed: int = 0,
    store: StorePlace = None,
) -> CascadePlan:
    """Cost and coverage of a cascade over tau, and the judges worth their cost.

    All of it is estimated on the learning share. Each judge must have judged the rows. A judge
    other than the last is dropped if as much is accepted without it, at no higher cost per accepted
    verdict. The planned tau is the largest one for which the mean fitted error probability of the
    rows below it, plus one standard error, is at most `alpha`.

    Args:
        judgments: Judgments with p_a, or p_fwd and p_rev. A file or a frame, of judgments or
            grades.
        cascade: Judges of the file, cheap to strong, separated by commas. Or a list of them.
        alpha: Error level allowed among accepted verdicts.
        costs: Cost of a row for each judge of the cascade, such as 1,5,30. By default the mean of
            the rows' column `cost`.
        tau: Stop if the fitted probability of an error is at most this. A smaller tau costs more
            and accepts more. Choose it from the curve, before calibrating. By default the largest
            that reaches alpha.
        labels: Human labels by id, for rows without a label.
        pairs: The judged pairs, for a learned doubt that uses the length of the texts.
        ties: Human ties: drop, or error (count each as an error).
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        category: Column of categories that a learned doubt or cascade can learn from.
        learning_share: Share of the labels that a learned doubt, jury or cascade learns from.
        min_answer_mass: Minimum probability of the answer letters; below it a row is off_answer.
        seed: Seed of everything random.
        store: Store of the judge's replies, to name what differs between judges.

    >>> from adjudge.simulate.selective import cascade_judges
    >>> plan = plan_cascade(cascade_judges(600, seed=1), "cheap,strong", costs=[1, 20])
    >>> [stage.judge for stage in plan.rule.stages], plan.planned.cost < 20
    (['cheap', 'strong'], True)
    """
    level = float(exact_level(alpha))
    learning_share = open_unit(learning_share, "learning_share")
    check_count(seed, "seed")
    limit = None if min_answer_mass is None else unit(min_answer_mass, "min_answer_mass")
    # Rows of every status: a row continues after a judge fails.
    table = read_labelled(
        judgments,
        labels,
        pairs=pairs,
        ties=ties,
        cluster=cluster,
        min_answer_mass=limit,
        keep_failed=True,
    )
    stages = find_stages(cascade, table.frame)
    rows = Rows(table.frame, table.dropped).without(~of_stages(stages), OTHER_JUDGE)
    learning = LearningShare(column=table.cluster or "id", share=learning_share, seed=seed)
    share = pl.Series(in_learning_share(rows.frame, learning))
    rows = rows.without(~pl.lit(share), "outside the learning share")
    prices, source = _costs(rows.frame, stages, costs)
    frame, evidence, left_out_rows = _learning_rows(rows, stages, learning)
    prefers_a = (frame["label"] == WORDS[table.about][0]).to_numpy().astype(np.int64)
    units = cluster_codes(frame[learning.column].to_list())[0]
    whole = with_context(evidence.whole, frame, lengths=None, category=category)
    lengths = lengths_in(frame)
    whole = with_context(whole, frame, lengths=lengths, category=None)

    @cache
    def sheet(kept: tuple[int, ...]) -> Sheet:
        """The cascade of these judges, named as if the others had not been asked."""
        seen = replace(evidence, whole=whole).of(kept)
        names = stage_names([stages[at] for at in kept])
        return Sheet.fit(
            replace(seen, whole=replace(seen.whole, judges=names)),
            prefers_a,
            units=units,
            seed=seed,
            costs=[prices[at] for at in kept],
            alpha=level,
        )

    kept, dropped = drop_stages(tuple(range(len(stages))), sheet, [name for name, _ in stages])
    chosen = sheet(kept)
    # Alone, the last judge gets every row for any tau: no margin for chance is needed.
    planned = chosen.largest_tau(margin=1.0 if len(kept) > 1 else 0.0)
    feasible = planned is not None
    warnings = advise_learning(round(len(prefers_a) / learning_share))
    if len(kept) == 1 and len(dropped) + 1 < len(stages):
        warnings.append(
            f"no tau leaves a margin for chance in {len(prefers_a)} rows: only the last judge "
            "is left; label more rows"
        )
    if tau is not None:
        planned = unit(tau, "tau")
    points = chosen.points(planned)
    prints = [_fingerprint(rows.frame, stage) for stage in stages]
    rule = CascadeRule(
        stages=tuple(
            Stage(
                judge=stages[at][0],
                protocol=stages[at][1],
                judge_fingerprint=prints[at],
                cost=prices[at],
                columns=doubt.columns,
                scales=tuple(doubt.scales.tolist()),
                weights=tuple(doubt.weights.tolist()),
                penalty=doubt.penalty,
            )
            for at, doubt in zip(kept, chosen.fitted, strict=True)
        ),
        tau=planned or 0.0,
        lengths=lengths,
        category=category,
        categories=whole.categories,
        learning=learning,
        n_learning=len(prefers_a),
    )
    return CascadePlan(
        about=table.about,
        alpha=level,
        rule=with_parts(rule, store),
        tau_given=tau is not None,
        feasible=feasible,
        cost_source=source,
        points=points,
        alone=tuple(sheet((at,)).alone(stages[at][0]) for at in range(len(stages))),
        dropped_stages=tuple(dropped),
        min_answer_mass=limit,
        assumptions=(
            "the rows of the learning share are like those to be judged",
            "coverage is what the fitted error probabilities allow at alpha: an estimate, not a "
            "promise; the labels outside the learning share calibrate",
        ),
        warnings=tuple(warnings),
        dropped=left_out_rows,
    )


def with_parts(rule: CascadeRule, store: StorePlace) -> CascadeRule:
    """The rule with the parts of its judges' fingerprints, if the store has them."""
    prints = [s.judge_fingerprint for s in rule.stages if s.judge_fingerprint is not None]
    parts = read_judge_parts(prints, store)
    return replace(
        rule,
        stages=tuple(
            replace(stage, fingerprint_parts=dict(parts[stage.judge_fingerprint]))
            if stage.judge_fingerprint in parts
            else stage
            for stage in rule.stages
        ),
    )


def _learning_rows(
    rows: Rows, stages: Sequence[Member], learning: LearningShare
) -> tuple[pl.DataFrame, StageEvidence, Mapping[str, int]]:
    """The rows that every judge was asked about, their answers, and how many are left out.

    Human ties are left out because they do not show who is right.
    """
    rows = rows.without(pl.col("label") == "tie", "human tie")
    laid = lay_out(rows.frame.sort("id"), stages)
    asked = np.asarray(laid.asked.all(axis=1))
    evidence, n = laid.evidence.take(asked), int(asked.sum())
    if n < FEWEST_LEARNING or (evidence.measured.sum(axis=0) < FEWEST_LEARNING).any():
        raise ArgumentError(
            "learning_share",
            learning.share,
            f"leaves {n} labelled rows that every judge was asked about, but each judge needs "
            f"{FEWEST_LEARNING} rows with a usable score; label more rows, or raise the share",
        )
    dropped = merge_dropped(rows.dropped, {NOT_EVERY_STAGE: len(asked) - n})
    return laid.frame.filter(pl.Series(asked)), evidence, dropped


def _costs(
    frame: pl.DataFrame, stages: Sequence[Member], costs_given: Sequence[float] | None
) -> tuple[list[float], CostSource]:
    """The cost of a row with each judge: as given, or the mean cost of its rows."""
    if costs_given is not None:
        costs = [non_negative(cost, "costs") for cost in costs_given]
        if len(costs) != len(stages) or costs[-1] == 0:
            raise ArgumentError(
                "costs", tuple(costs_given), f"give {len(stages)}, one per judge, the last above 0"
            )
        return costs, "given"
    remedy = "give --costs, such as 1,5,30, or run the judges with --prices"
    if "cost" not in frame.columns:
        raise ArgumentError("costs", None, f"the rows have no cost; {remedy}")
    means = []
    for judge, protocol in stages:
        judge_costs = frame.filter(of_stages([(judge, protocol)]))["cost"].cast(
            pl.Float64, strict=False
        )
        if judge_costs.drop_nulls().is_empty():
            raise ArgumentError("costs", judge, f"no row of this judge has a cost; {remedy}")
        means.append(float(judge_costs.drop_nulls().to_numpy().mean()))
    if means[-1] <= 0:
        raise ArgumentError("costs", stages[-1][0], f"the cost of its rows is 0; {remedy}")
    return means, "dollars"


def _fingerprint(frame: pl.DataFrame, stage: Member) -> str | None:
    prints = frame.filter(of_stages([stage]))["judge_fingerprint"].drop_nulls().unique()
    if len(prints) > 1:
        raise ArgumentError(
            "cascade", stage[0], "its rows have several fingerprints: a stage must be one judge"
        )
    return None if prints.is_empty() else str(prints[0])


@dataclass(frozen=True)
class Sheet:
    """One cascade on the learning rows: held-out doubts and errors of each row at each stage."""

    fitted: tuple[LearnedMargin, ...]
    doubts: FloatArray
    wrong: BoolArray
    costs: FloatArray
    alpha: float

    @classmethod
    def fit(
        cls,
        evidence: StageEvidence,
        prefers_a: IntArray,
        *,
        units: IntArray,
        seed: int,
        costs: Sequence[float],
        alpha: float,
    ) -> Sheet:
        """Learn every stage; `costs` are those of a row with each judge."""
        fitted, held_out = fit_stages(evidence, prefers_a, units=units, seed=seed)
        margins, doubts = with_failures(held_out, evidence)
        wrong = (margins > 0) != (prefers_a[:, None] > 0)
        return cls(fitted, doubts, wrong, np.cumsum(costs), alpha)

    @property
    def taus(self) -> FloatArray:
        """Values of tau at which some row changes its stage, thinned."""
        values = np.unique(self.doubts[np.isfinite(self.doubts)])
        if len(values) > _TRIED:
            values = values[np.linspace(0, len(values) - 1, _TRIED).round().astype(int)]
        return np.concatenate(([0.0], values))

    def point(self, tau: float) -> CostPoint:
        """Cost, and coverage at alpha, if rows stop at this tau."""
        stage = stop_at(self.doubts, tau)
        here = np.arange(len(stage)), stage
        doubt, wrong = np.minimum(self.doubts[here], INFINITE_DOUBT), self.wrong[here]
        order = np.argsort(doubt, kind="stable")
        means = np.cumsum(doubt[order]) / np.arange(1, len(order) + 1)
        # Tied rows are accepted together.
        ends = np.append(np.diff(doubt[order]) > 0, True)
        passing = np.flatnonzero(ends & (means <= self.alpha))
        accepted = order[: passing[-1] + 1] if len(passing) else order[:0]
        return CostPoint(
            tau=tau,
            cost=float(self.costs[stage].mean()),
            coverage=len(accepted) / len(stage),
            wrong=float(wrong[accepted].mean()) if len(accepted) else None,
            stops=tuple((np.bincount(stage, minlength=len(self.costs)) / len(stage)).tolist()),
        )

    @property
    def planned(self) -> float | None:
        """The largest tau with a margin for chance; see `largest_tau`."""
        return self.largest_tau(margin=1.0)

    def largest_tau(self, *, margin: float) -> float | None:
        """The largest tau for which the mean doubt of the rows below it is at most alpha.

        A margin of `margin` standard errors of a share alpha is kept. With about ninety rows, a tau
        without a margin is above alpha in half of all cases, and then little can be accepted.
        """
        best = None
        for tau in self.taus[1:].tolist():
            doubt = self.doubts[np.arange(len(self.doubts)), stop_at(self.doubts, tau)]
            below = doubt[doubt <= tau]
            error = (self.alpha * (1 - self.alpha) / max(len(below), 1)) ** 0.5
            if len(below) and below.mean() + margin * error <= self.alpha:
                best = tau
        return best

    def points(self, planned: float | None) -> tuple[CostPoint, ...]:
        """The curve, thinned, including the planned tau and half of it."""
        taus = self.taus
        some = taus[np.unique(np.linspace(0, len(taus) - 1, _KEPT).round().astype(int))]
        wanted = {*some.tolist(), planned or 0.0, (planned or 0.0) / 2}
        return tuple(self.point(tau) for tau in sorted(wanted))

    def best(self, coverage: float) -> CostPoint | None:
        """The point with at least this coverage and the lowest cost per accepted verdict."""
        points = [self.point(tau) for tau in self.taus.tolist()]
        enough = [point for point in points if point.coverage >= max(coverage, _SLACK)]
        return min(enough, key=lambda point: point.cost / point.coverage, default=None)

    def alone(self, judge: str) -> JudgeAlone:
        """A cascade of one judge."""
        point = self.point(0.0)
        return JudgeAlone(judge=judge, cost=point.cost, coverage=point.coverage, wrong=point.wrong)


def drop_stages(
    kept: tuple[int, ...], sheet: Callable[[tuple[int, ...]], Sheet], names: Sequence[str]
) -> tuple[tuple[int, ...], list[DroppedStage]]:
    """Drop judges, one by one, if the cascade accepts as much without them at no higher cost.

    The cost is per accepted verdict: people label what is not accepted, so a cheap cascade that
    accepts little saves nothing. The last judge always stays, because a hundred labels cannot show
    that it is not needed. If no tau passes, only the last judge stays: no row would end earlier.
    """
    dropped: list[DroppedStage] = []
    while len(kept) > 1 and (tau := sheet(kept).planned) is not None:
        now = sheet(kept).point(tau)
        others = {}
        for at in kept[:-1]:
            rest = tuple(other for other in kept if other != at)
            point = sheet(rest).best(now.coverage - _SLACK)
            if point is not None and point.cost * now.coverage <= now.cost * point.coverage:
                others[at] = point
        if not others:
            break
        worst = min(others, key=lambda at: (others[at].cost / others[at].coverage, at))
        dropped.append(
            DroppedStage(
                judge=names[worst],
                cost_with=now.cost,
                cost_without=others[worst].cost,
                coverage_with=now.coverage,
                coverage_without=others[worst].coverage,
            )
        )
        kept = tuple(other for other in kept if other != worst)
    return kept if sheet(kept).planned is not None else kept[-1:], dropped


def view_cascade_plan(plan: CascadePlan) -> list[Block]:
    """The planned cascade, the curve over tau, each judge alone, and the judges that do not pay."""
    curve = table_of(
        shown_points(plan),
        {
            "tau": lambda point: (
                ("* " if point.tau == plan.rule.tau else "  ") + f"{point.tau:.3g}"
            ),
            "cost": lambda point: percent(point.cost / plan.last.cost),
            "accepted": lambda point: percent(point.coverage),
            "error share": lambda point: percent(point.wrong),
            **{
                f"ends at {at + 1}": partial(lambda at, point: percent(point.stops[at]), at)
                for at in range(len(plan.rule.stages))
            },
        },
        caption=f"Cost and coverage over tau at alpha {plan.alpha:g}, on "
        f"{count(plan.rule.n_learning, 'row')} of the learning share, each scored by a fit "
        "without it",
    )
    alone = table_of(
        plan.alone,
        {
            "judge alone": lambda judge: judge.judge,
            "cost per row": lambda judge: money(judge.cost, plan.cost_source),
            "accepted": lambda judge: percent(judge.coverage),
            "error share": lambda judge: percent(judge.wrong),
        },
        caption="Each judge alone on the same rows",
    )
    notes = [
        f"dropped {judge.judge}: with it {percent(judge.coverage_with)} accepted at "
        f"{money(judge.cost_with, plan.cost_source)} per row at the planned tau, without it "
        f"{percent(judge.coverage_without)} at {money(judge.cost_without, plan.cost_source)} at "
        "the cheapest tau"
        for judge in plan.dropped_stages
    ]
    share = plan.rule.learning
    notes += [
        f"cost: per row, relative to {plan.last.judge} alone; accepted: the largest share with a "
        "mean fitted error probability of at most alpha; error share: by the labels; * planned",
        f"learning share: {percent(share.share)} of the rows by a hash of {share.column} "
        f"(seed {share.seed}); calibrate refuses them",
        *left_out(plan.dropped),
    ]
    figure = Figure(
        "cascade",
        partial(cascade_figure, plan),
        "Up and to the left is better: more is accepted at less cost. A smaller tau moves right "
        "along the curve.",
    )
    tables: list[Block] = [_plan_headline(plan), curve, alone]
    return [*tables, *warnings_of(plan.warnings), Note(notes), *explain(plan.assumptions), figure]


def _plan_headline(plan: CascadePlan) -> Headline:
    stages, planned, last = plan.rule.judges, plan.planned, plan.last
    if not plan.feasible:
        return Headline(
            f"No tau passes at alpha {plan.alpha:g}: every row would go to {stages[-1]}",
            "Allow a larger alpha, label more rows, or use better judges.",
            tone="bad",
        )
    whole = percent(planned.cost / last.cost)
    if len(stages) == 1:
        return Headline(
            f"No cascade saves cost: {stages[0]} alone accepts about {percent(planned.coverage)} "
            f"at alpha {plan.alpha:g}",
            f"Ask {stages[0]} about every row.",
        )
    tau = f"tau {planned.tau:.3g}" + (" (yours)" if plan.tau_given else "")
    return Headline(
        f"{' -> '.join(stages)} at {tau}: about {percent(planned.coverage)} accepted at alpha "
        f"{plan.alpha:g} for {whole} of the cost of {last.judge} alone, which accepts about "
        f"{percent(last.coverage)}",
        "Calibrate it on the other labels: adjudge calibrate --plan.",
    )


def shown_points(plan: CascadePlan) -> list[CostPoint]:
    """Lines of the curve, evenly spaced, with the planned one and half of it."""
    points, last = plan.points, len(plan.points) - 1
    places = {round(at * last / (_LINES - 1)) for at in range(_LINES)}
    half = min(points, key=lambda point: abs(point.tau - plan.rule.tau / 2))
    places |= {points.index(plan.planned), points.index(half)}
    return [points[at] for at in sorted(places)]


def cascade_figure(plan: CascadePlan) -> Drawing:
    """Coverage against cost, the curve of the cascade and a dot for each judge alone."""
    with themed():
        figure = new_figure(7.4, 4.6)
        axes = figure.subplots()
        whole = plan.last.cost
        points = sorted(plan.points, key=lambda point: (point.cost, point.coverage))
        axes.plot(
            [point.cost / whole for point in points],
            [point.coverage for point in points],
            color=ACCENT,
            marker=".",
            markersize=9,
            label="cascade, over tau",
            clip_on=False,
            zorder=3,
        )
        dropped = {stage.judge for stage in plan.dropped_stages}
        judges = [judge.judge for judge in plan.alone]
        names = dict(zip(judges, clip_names(judges), strict=True))
        for judge in plan.alone:
            colour = WARM if judge.judge in dropped else MUTED
            where = (judge.cost / whole, judge.coverage)
            axes.plot(*where, "s", color=colour, markersize=7, clip_on=False)
            name = names[judge.judge] + (", dropped" if judge.judge in dropped else " alone")
            # The name stays inside the axes.
            right, low = where[0] > 0.6, where[1] < 0.1
            axes.annotate(
                name,
                where,
                xytext=(-8 if right else 8, 8 if low else -14),
                textcoords="offset points",
                color=colour,
                fontsize=9,
                ha="right" if right else "left",
                # If a judge alone is as good as the cascade, its name is over the curve.
                bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5},
                zorder=3,
            )
        planned = plan.planned
        named = "your tau" if plan.tau_given else "planned tau"
        axes.plot(
            planned.cost / whole,
            planned.coverage,
            "o",
            color=GOOD,
            markersize=11,
            label=f"{named} {planned.tau:.3g}",
            zorder=4,
            markerfacecolor="none",
            markeredgewidth=2.5,
            clip_on=False,
        )
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1.03)
        axes.set_xlabel(f"cost of a row, as a share of {names[plan.last.judge]} alone")
        axes.set_ylabel(f"share accepted at alpha {plan.alpha:g}")
        axes.set_title(
            f"About {percent(planned.coverage, 0)} accepted at "
            f"{percent(planned.cost / whole, 0)} of the cost; the last judge alone: "
            f"{percent(plan.last.coverage, 0)}",
            color=INK,
        )
        axes.legend(fontsize=9, loc="lower right")
    return figure
