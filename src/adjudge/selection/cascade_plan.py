"""Plan a cascade: cost and coverage over tau, which judges are worth their cost, where to stop.

Stages, weights, curve and tau are learned only from the rows of the learning share, which is a
seeded hash of their cluster or id. The other labels calibrate: `CascadeRequest`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from adjudge.data.judgments import WORDS, Judgments, prepare_judgments
from adjudge.data.rows import Rows, merge_dropped
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import CascadeRule, CostSource, DroppedStage, LearningShare, Stage, money
from adjudge.present.blocks import Block, Figure, Headline, Note, explain, table_of, warnings_of
from adjudge.present.figure import ACCENT, GOOD, INK, MARKS, MUTED, WARM, new_figure, themed
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
    NOT_EVERY_STAGE,
    OTHER_JUDGE,
    Member,
    find_costs,
    find_stages,
    in_learning_share,
    lay_out,
    of_stages,
    stage_doubts,
    stage_names,
    stop_at,
    with_failures,
    with_parts,
)
from adjudge.selection.doubts.evidence import (
    FEWEST_LEARNING,
    Evidence,
    LearnedMargin,
    advise_learning,
    learn,
    lengths_in,
    with_context,
)
from adjudge.selection.guarantees import scope_threshold
from adjudge.selection.labelled import read_labelled
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.statistics.numbers import cluster_codes
from adjudge.statistics.ridge import FOLDS, PENALTIES
from adjudge.store import StorePlace
from adjudge.validation import BoolArray, FloatArray, IntArray, exact_level, one_of, open_unit, unit
from adjudge.validation import count as check_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

PLAN_SCHEMA = 1
#: What a plan can be of; the first is the default.
_JOINED = {"learned": " -> ", "label_free": " -> ", "jury": " + "}
CANDIDATES = tuple(_JOINED)
#: Lines of the curve that a table shows.
_LINES = 9
#: The most coverage that a plan gives up when it drops a judge: within the error of the estimates.
_SLACK = 0.01
#: How many values of tau are tried, and how many a plan keeps.
_TRIED, _KEPT = 200, 40


@dataclass(frozen=True, kw_only=True)
class JudgeAlone:
    """One judge of the cascade asked about every row."""

    judge: str
    cost: NotNegative
    coverage: Proportion
    wrong: Proportion | None


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
class CascadeCandidate:
    """One way to combine the judges, scored on the learning share.

    `learned` stops by fitted error probabilities, `label_free` by the mean log odds of the judges
    so far, `jury` asks its judges about every row. `coverage` is the share of the learning rows
    that scope accepts at alpha, by their labels, and `wrong` the share of errors in it.
    """

    name: str
    judges: tuple[str, ...]
    tau: Proportion
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
    alpha: then only the last judge is left. `candidates` are the ways to combine the judges that
    were tried; the plan is of `candidate`.
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
    candidate: str = CANDIDATES[0]
    candidates: tuple[CascadeCandidate, ...] = ()
    dropped_stages: tuple[DroppedStage, ...] = ()
    min_answer_mass: Proportion | None = None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]

    @property
    def planned(self) -> CostPoint:
        return next(point for point in self.points if point.tau == self.rule.tau)

    @property
    def last(self) -> JudgeAlone:
        return self.alone[-1]

    def view(self) -> list[Block]:
        return _view(self)


def plan_cascade(
    judgments: TableLike | Judgments,
    cascade: str | Sequence[str],
    *,
    alpha: float | Fraction = 0.1,
    costs: Sequence[float] | None = None,
    tau: float | None = None,
    candidate: str = CANDIDATES[0],
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
    rows below it, plus one standard error, is at most `alpha`. Juries of the cheap judges and a
    cascade that learns nothing are scored on the same rows, and can be planned instead.

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
        candidate: What to plan: learned, label_free (stop by the mean log odds of the judges so
            far) or jury (the best jury of the first judges, asked about every row). All are scored
            on the learning share; on over-confident judges the last two lose.
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

    >>> from adjudge.simulate.pairs import cascade_judges
    >>> plan = plan_cascade(cascade_judges(600, seed=1), "cheap,strong", costs=[1, 20])
    >>> [stage.judge for stage in plan.rule.stages], plan.planned.cost < 20
    (['cheap', 'strong'], True)
    """
    level = float(exact_level(alpha))
    one_of(candidate, CANDIDATES, "candidate")
    learning_share = open_unit(learning_share, "learning_share")
    check_count(seed, "seed")
    limit = None if min_answer_mass is None else unit(min_answer_mass, "min_answer_mass")
    prepared = prepare_judgments(judgments, labels=labels, pairs=pairs)
    # Rows of every status: a row continues after a judge fails.
    table = read_labelled(
        prepared, ties=ties, cluster=cluster, min_answer_mass=limit, keep_failed=True
    )
    stages = find_stages(cascade, table.frame)
    rows = Rows(table.frame, table.dropped).without(~of_stages(stages), OTHER_JUDGE)
    learning = LearningShare(column=table.cluster or "id", share=learning_share, seed=seed)
    share = pl.Series(in_learning_share(rows.frame, learning))
    rows = rows.without(~pl.lit(share), "outside the learning share")
    prices, source = find_costs(rows.frame, stages, costs)
    frame, evidence, left_out_rows = _learning_rows(rows, stages, learning)
    prefers_a = (frame["label"] == WORDS[table.about][0]).to_numpy().astype(np.int64)
    units = cluster_codes(frame[learning.column].to_list())[0]
    lengths = lengths_in(frame)
    evidence = with_context(evidence, frame, lengths=lengths, category=category)

    @cache
    def sheet(chain: tuple[int, ...], *, plain: bool = False) -> Sheet:
        """The cascade of these judges, named as if the others had not been asked."""
        names = stage_names([stages[at] for at in chain])
        seen = replace(evidence.of(chain), judges=names)
        chain_costs = [prices[at] for at in chain]
        if plain:
            return Sheet.plain(seen, prefers_a, costs=chain_costs, alpha=level)
        return Sheet.fit(seen, prefers_a, units=units, seed=seed, costs=chain_costs, alpha=level)

    everyone, judges = tuple(range(len(stages))), [name for name, _ in stages]
    chain, dropped = drop_stages(everyone, sheet, judges)
    # Alone, the last judge gets every row for any tau: no margin for chance is needed.
    planned = sheet(chain).largest_tau(margin=1.0 if len(chain) > 1 else 0.0)
    tried = [
        ("learned", chain, sheet(chain), planned),
        ("label_free", everyone, (free := sheet(everyone, plain=True)), free.largest_tau()),
    ]
    cheap = [everyone[:size] for size in range(2, len(stages))]
    tried += [("jury", jury, sheet(jury, plain=True), 0.0) for jury in cheap]
    candidates = [
        way.candidate(name, tuple(judges[at] for at in among), stop or 0.0)
        for name, among, way, stop in tried
    ]
    named = [at for at, scored in enumerate(candidates) if scored.name == candidate]
    if not named or (candidate == "jury" and tau is not None):
        remedy = "leave out tau: a jury is asked about every row"
        raise ArgumentError("candidate", candidate, remedy if named else "name three judges")
    best = max(named, key=lambda at: (candidates[at].coverage, -candidates[at].cost))
    _, chain, chosen, planned = tried[best]
    if candidate != "learned":
        lengths, category, dropped = None, None, []
    feasible = planned is not None and (candidate == "learned" or candidates[best].coverage > 0)
    warnings = advise_learning(round(len(prefers_a) / learning_share))
    if len(chain) == 1 and len(dropped) + 1 < len(stages):
        warnings.append(
            f"no tau leaves a margin for chance in {len(prefers_a)} rows: only the last judge "
            "is left; label more rows"
        )
    if tau is not None:
        planned = unit(tau, "tau")
    # A jury is asked about every row: it has no tau.
    points = (chosen.point(0.0),) if candidate == "jury" else chosen.points(planned)
    prints = [_fingerprint(rows.frame, stage) for stage in stages]
    alone = [sheet((at,)).point(0.0) for at in range(len(stages))]
    rule = CascadeRule(
        stages=tuple(
            Stage(
                judge=stages[at][0],
                protocol=stages[at][1],
                judge_fingerprint=prints[at],
                cost=prices[at],
                **doubt.entries,
            )
            for at, doubt in zip(chain, chosen.fitted, strict=True)
        ),
        tau=planned or 0.0,
        lengths=lengths,
        category=category,
        categories=evidence.categories if category is not None else (),
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
        alone=tuple(
            JudgeAlone(judge=judge, cost=point.cost, coverage=point.coverage, wrong=point.wrong)
            for (judge, _), point in zip(stages, alone, strict=True)
        ),
        candidate=candidate,
        candidates=tuple(candidates),
        dropped_stages=tuple(dropped),
        min_answer_mass=limit,
        assumptions=(
            "the rows of the learning share are like those to be judged",
            "coverage is an estimate from the learning share, not a promise; the other labels "
            "calibrate",
        ),
        warnings=tuple(warnings),
        dropped=left_out_rows,
    )


def _learning_rows(
    rows: Rows, stages: Sequence[Member], learning: LearningShare
) -> tuple[pl.DataFrame, Evidence, Mapping[str, int]]:
    """The rows that every judge was asked about, their answers, and how many are left out.

    Human ties are left out because they do not show who is right.
    """
    rows = rows.without(pl.col("label") == "tie", "human tie")
    table, evidence = lay_out(rows.frame.sort("id"), stages)
    asked = np.asarray(table.asked.all(axis=1))
    evidence, n = evidence.take(asked), int(asked.sum())
    if n < FEWEST_LEARNING or ((~np.isnan(evidence.p)).sum(axis=0) < FEWEST_LEARNING).any():
        raise ArgumentError(
            "learning_share",
            learning.share,
            f"leaves {n} labelled rows that every judge was asked about, but each judge needs "
            f"{FEWEST_LEARNING} rows with a usable score; label more rows, or raise the share",
        )
    dropped = merge_dropped(rows.dropped, {NOT_EVERY_STAGE: len(asked) - n})
    return table.frame.filter(pl.Series(asked)), evidence, dropped


def _fingerprint(frame: pl.DataFrame, stage: Member) -> str | None:
    prints = frame.filter(of_stages([stage]))["judge_fingerprint"].drop_nulls().unique()
    if len(prints) > 1:
        raise ArgumentError(
            "cascade", stage[0], "its rows have several fingerprints: a stage must be one judge"
        )
    return None if prints.is_empty() else str(prints[0])


def fit_stages(
    evidence: Evidence, prefers_a: IntArray, *, units: IntArray, seed: int
) -> tuple[tuple[LearnedMargin, ...], FloatArray]:
    """A ridge for each stage, fitted on its scored rows, and margins held out.

    Those are the margins of the rows by ridges that were fitted without their fold of `units`.
    """
    rows = len(prefers_a)
    groups = int(units.max()) + 1
    fold = (np.random.default_rng(seed).permutation(groups) % FOLDS)[units]
    fitted, held_out = [], np.zeros(evidence.p.shape)
    for stage in range(len(evidence.judges)):
        so_far = evidence.of(range(stage + 1))
        learns = ~np.isnan(evidence.p[:, stage]) & np.vstack(
            [np.ones(rows, dtype=np.bool_), *(fold != left for left in range(FOLDS))]
        )
        names, fit = learn(so_far, prefers_a, learns, units=units, seed=seed)
        whole, *others = (
            LearnedMargin(names, so_far.categories, scales, weights, float(penalty))
            for scales, weights, penalty in zip(*fit, strict=True)
        )
        fitted.append(whole)
        for left, margin in enumerate(others):
            held_out[:, stage] = np.where(fold == left, margin.margins(so_far), held_out[:, stage])
    return tuple(fitted), held_out


@dataclass(frozen=True)
class Sheet:
    """One cascade on the learning rows: held-out doubts and errors of each row at each stage."""

    fitted: tuple[LearnedMargin, ...]
    doubts: FloatArray
    wrong: BoolArray
    costs: FloatArray
    alpha: float
    #: The estimated error probability of each row at each stage.
    risks: FloatArray

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
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
        return cls(fitted, doubts, wrong, np.cumsum(costs), alpha, doubts)

    @classmethod
    def plain(
        cls, evidence: Evidence, prefers_a: IntArray, *, costs: Sequence[float], alpha: float
    ) -> Sheet:
        """Nothing is learned: the mean log odds of the judges so far, and errors by the labels."""
        margin = LearnedMargin(("mean odds",), (), np.ones(1), np.ones(1), PENALTIES[0])
        fitted = (margin,) * len(evidence.judges)
        margins, doubts = stage_doubts(fitted, evidence)
        wrong = ((margins > 0) != (prefers_a[:, None] > 0)) | np.isinf(doubts)
        return cls(fitted, doubts, wrong, np.cumsum(costs), alpha, wrong.astype(np.float64))

    @property
    def taus(self) -> FloatArray:
        """Values of tau at which some row changes its stage, thinned."""
        values = np.unique(self.doubts[np.isfinite(self.doubts)])
        if len(values) > _TRIED:
            values = values[np.linspace(0, len(values) - 1, _TRIED).round().astype(int)]
        return np.concatenate(([0.0], values))

    def stop(self, tau: float) -> tuple[IntArray, FloatArray, BoolArray, FloatArray]:
        """Stage, doubt, error and risk of every row, if rows stop at this tau."""
        stage = stop_at(self.doubts, tau)
        here = np.arange(len(stage)), stage
        doubt, risk = (np.minimum(of[here], INFINITE_DOUBT) for of in (self.doubts, self.risks))
        return stage, doubt, self.wrong[here], risk

    def point(self, tau: float) -> CostPoint:
        """Cost, and coverage at alpha, if rows stop at this tau."""
        stage, doubt, wrong, risk = self.stop(tau)
        order = np.argsort(doubt, kind="stable")
        means = np.cumsum(risk[order]) / np.arange(1, len(order) + 1)
        # Tied rows are accepted together.
        ends = np.append(np.diff(doubt[order]) > 0, True)
        passing = np.flatnonzero(ends & (means <= self.alpha))
        accepted = np.zeros(len(stage), dtype=np.bool_)
        accepted[order[: passing[-1] + 1 if len(passing) else 0]] = True
        stops = np.bincount(stage, minlength=len(self.costs)) / len(stage)
        shares = self._shares(stage, wrong, accepted)
        return CostPoint(tau=tau, **shares, stops=tuple(stops.tolist()))

    def _shares(self, stage: IntArray, wrong: BoolArray, accepted: BoolArray) -> dict[str, Any]:
        """The mean cost of a row, the share accepted, and the share of errors in it."""
        return {
            "cost": float(self.costs[stage].mean()),
            "coverage": float(accepted.mean()),
            "wrong": float(wrong[accepted].mean()) if accepted.any() else None,
        }

    def largest_tau(self, *, margin: float = 1.0) -> float | None:
        """The largest tau for which the mean risk of the rows below it is at most alpha.

        A margin of `margin` standard errors of a share alpha is kept. With about ninety rows, a tau
        without a margin is above alpha in half of all cases, and then little can be accepted.
        """
        best = None
        for tau in self.taus[1:].tolist():
            _, doubt, _, risk = self.stop(tau)
            below = risk[doubt <= tau]
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

    def candidate(self, name: str, judges: tuple[str, ...], tau: float) -> CascadeCandidate:
        """This cascade at tau, by what scope accepts of the rows at alpha."""
        stage, doubt, wrong, _ = self.stop(tau)
        mute = doubt == INFINITE_DOUBT
        rule = scope_threshold(doubt, wrong | mute, alpha=self.alpha)
        shares = self._shares(stage, wrong, rule.accept(doubt) & ~mute)
        return CascadeCandidate(name=name, judges=judges, tau=tau, **shares)

    def best(self, coverage: float) -> CostPoint | None:
        """The point with at least this coverage and the lowest cost per accepted verdict."""
        points = [self.point(tau) for tau in self.taus.tolist()]
        enough = [point for point in points if point.coverage >= max(coverage, _SLACK)]
        return min(enough, key=lambda point: point.cost / point.coverage, default=None)


def drop_stages(
    chain: tuple[int, ...], sheet: Callable[[tuple[int, ...]], Sheet], names: Sequence[str]
) -> tuple[tuple[int, ...], list[DroppedStage]]:
    """Drop judges, one by one, if the cascade accepts as much without them at no higher cost.

    The cost is per accepted verdict: people label what is not accepted, so a cheap cascade that
    accepts little saves nothing. The last judge always stays, because a hundred labels cannot show
    that it is not needed. If no tau passes, only the last judge stays: no row would end earlier.
    """
    dropped: list[DroppedStage] = []
    while len(chain) > 1 and (tau := sheet(chain).largest_tau()) is not None:
        now = sheet(chain).point(tau)
        others = {}
        for at in chain[:-1]:
            rest = tuple(other for other in chain if other != at)
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
        chain = tuple(other for other in chain if other != worst)
    return chain if sheet(chain).largest_tau() is not None else chain[-1:], dropped


def _view(plan: CascadePlan) -> list[Block]:
    learned = plan.candidate == "learned"
    curve = table_of(
        _shown_points(plan),
        {
            "tau": lambda point: _star(point.tau == plan.rule.tau) + f"{point.tau:.3g}",
            "cost": lambda point: percent(point.cost / plan.last.cost),
            "accepted": lambda point: percent(point.coverage),
            "error share": lambda point: percent(point.wrong),
            **{
                f"ends at {at + 1}": partial(lambda at, point: percent(point.stops[at]), at)
                for at in range(len(plan.rule.stages))
            },
        },
        caption=f"Cost and coverage over tau at alpha {plan.alpha:g}, on "
        f"{count(plan.rule.n_learning, 'row')} of the learning share, "
        + ("each scored by a fit without it" if learned else "by their labels; nothing is fitted"),
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
    risk = "mean fitted error probability" if learned else "share of errors"
    notes += [
        f"cost: per row, relative to {plan.last.judge} alone; accepted: the largest share with a "
        f"{risk} of at most alpha; error share: by the labels; * planned",
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
    others = table_of(
        plan.candidates,
        {
            "candidate": lambda way: _star(way.name == plan.candidate) + way.name,
            "judges": lambda way: _JOINED[way.name].join(way.judges),
            "cost": lambda way: percent(way.cost / plan.last.cost),
            "accepted": lambda way: percent(way.coverage),
            "error share": lambda way: percent(way.wrong),
        },
        text_columns=2,
        caption="Candidates, by what scope accepts of the learning share; --candidate plans one",
    )
    tables: list[Block] = [_headline(plan), curve, alone, *[others] * bool(plan.candidates)]
    return [*tables, *warnings_of(plan.warnings), Note(notes), *explain(plan.assumptions), figure]


def _star(planned: bool) -> str:
    return "* " if planned else "  "


def _headline(plan: CascadePlan) -> Headline:
    stages, planned, last = plan.rule.judges, plan.planned, plan.last
    level, accepted = f"at alpha {plan.alpha:g}", f"about {percent(planned.coverage)}"
    if not plan.feasible:
        outcome = f"No tau passes {level}: every row would go to {stages[-1]}"
        if plan.candidate == "jury":
            outcome = f"The jury of {' + '.join(stages)} accepts nothing {level}"
        remedy = "Allow a larger alpha, label more rows, or use better judges."
        return Headline(outcome, remedy, tone="bad")
    if len(stages) == 1:
        alone = f"No cascade saves cost: {stages[0]} alone accepts {accepted} {level}"
        return Headline(alone, f"Ask {stages[0]} about every row.")
    tau = f"at tau {planned.tau:.3g}" + " (yours)" * plan.tau_given
    if plan.candidate != "learned":
        tau = "as a jury" if plan.candidate == "jury" else f"{tau}, label-free"
    return Headline(
        f"{_JOINED[plan.candidate].join(stages)} {tau}: {accepted} accepted {level} for "
        f"{percent(planned.cost / last.cost)} of the cost of {last.judge} alone, which accepts "
        f"about {percent(last.coverage)}",
        "Calibrate it on the other labels: adjudge calibrate --plan.",
    )


def _shown_points(plan: CascadePlan) -> list[CostPoint]:
    """Lines of the curve, evenly spaced, with the planned one and half of it."""
    points, last = plan.points, len(plan.points) - 1
    places = {round(at * last / (_LINES - 1)) for at in range(_LINES)}
    half = min(points, key=lambda point: abs(point.tau - plan.rule.tau / 2))
    places |= {points.index(plan.planned), points.index(half)}
    return [points[at] for at in sorted(places)]


def cascade_figure(plan: CascadePlan) -> Drawing:
    with themed():
        figure = new_figure(7.4, 4.6)
        axes = figure.subplots()
        whole, planned = plan.last.cost, plan.planned
        points = sorted(plan.points, key=lambda point: (point.cost, point.coverage))
        cost, coverage = [p.cost / whole for p in points], [p.coverage for p in points]
        style: dict[str, Any] = {"clip_on": False, "zorder": 3, "markersize": 9}
        axes.plot(cost, coverage, color=ACCENT, marker=".", label="cascade, over tau", **style)
        dropped = {stage.judge for stage in plan.dropped_stages}
        names = clip_names(judge.judge for judge in plan.alone)
        for at, (name, judge) in enumerate(zip(names, plan.alone, strict=True)):
            colour, kind = (WARM, ", dropped") if judge.judge in dropped else (MUTED, " alone")
            style = {"color": colour, "clip_on": False, "linestyle": "", "label": name + kind}
            axes.plot(judge.cost / whole, judge.coverage, marker=MARKS[at % len(MARKS)], **style)
        tau = f"{'your' if plan.tau_given else 'planned'} tau {planned.tau:.3g}"
        axes.plot(
            planned.cost / whole,
            planned.coverage,
            "o",
            color=GOOD,
            markersize=11,
            label="planned jury" if plan.candidate == "jury" else tau,
            zorder=4,
            markerfacecolor="none",
            markeredgewidth=2.5,
            clip_on=False,
        )
        axes.set(xlim=(0, None), ylim=(0, 1.03))
        axes.set_xlabel(f"cost of a row, as a share of {names[-1]} alone")
        axes.set_ylabel(f"share accepted at alpha {plan.alpha:g}")
        axes.set_title(
            f"About {percent(planned.coverage, 0)} accepted at "
            f"{percent(planned.cost / whole, 0)} of the cost; the last judge alone: "
            f"{percent(plan.last.coverage, 0)}",
            color=INK,
        )
        axes.legend(fontsize=9, loc="lower right")
    return figure
