"""Plan a cascade: cost and coverage over tau, which judges are worth their cost, where to stop.

Stages, weights, curve and tau are learned only from the rows of the learning share, which is a
seeded hash of their cluster or id. The other labels calibrate: `Cascade`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl

from adjudge.data.judgments import WORDS, Judgments, prepare_judgments
from adjudge.data.rows import Rows, measured, merge_dropped
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import (
    CascadeRule,
    CostSource,
    DroppedStage,
    LearningShare,
    Lengths,
    Stage,
)
from adjudge.present.blocks import Block
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
from adjudge.records import MEASURED, MIN_ANSWER_MASS, About
from adjudge.selection.cascade import (
    NOT_EVERY_STAGE,
    OTHER_JUDGE,
    Cascade,
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
from adjudge.selection.labelled import LabelledRows, read_labelled
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.statistics.numbers import cluster_codes
from adjudge.statistics.ridge import FOLDS, PENALTIES
from adjudge.store import StorePlace
from adjudge.validation import BoolArray, FloatArray, IntArray, exact_level, one_of, open_unit, unit
from adjudge.validation import count as check_count

PLAN_SCHEMA = 1
#: What a plan can be of; the first is the default.
CANDIDATES = ("learned", "label_free", "jury")
#: The most coverage that a plan gives up when it drops a judge: within the error of the estimates.
_SLACK = 0.01
#: How many values of tau are tried.
_TRIED = 200
#: How many of them a plan has.
_SHOWN = 40


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
        from adjudge.selection.cascade_view import view_plan

        return view_plan(self)


def plan_cascade(
    judgments: TableLike | Judgments,
    cascade: Cascade,
    *,
    alpha: float | Fraction = 0.1,
    tau: float | None = None,
    candidate: str = CANDIDATES[0],
    labels: TableLike | None = None,
    pairs: TableLike | None = None,
    ties: str = "drop",
    cluster: str | None = "auto",
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
        cascade: The judges, their costs, and what is learned from.
        alpha: Error level allowed among accepted verdicts.
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
        min_answer_mass: Minimum probability of the answer letters; below it a row is off_answer.
        seed: Seed of everything random.
        store: Store of the judge's replies, to name what differs between judges.

    >>> from adjudge.simulate.pairs import cascade_judges
    >>> plan = plan_cascade(cascade_judges(600, seed=1), Cascade("cheap,strong", costs=[1, 20]))
    >>> [stage.judge for stage in plan.rule.stages], plan.planned.cost < 20
    (['cheap', 'strong'], True)
    """
    level = float(exact_level(alpha))
    one_of(candidate, CANDIDATES, "candidate")
    learning_share = open_unit(cascade.share, "learning_share")
    check_count(seed, "seed")
    limit = None if min_answer_mass is None else unit(min_answer_mass, "min_answer_mass")
    # Rows of every status: a row continues after a judge fails.
    labelled = read_labelled(
        prepare_judgments(judgments, labels=labels, pairs=pairs),
        ties=ties,
        cluster=cluster,
        min_answer_mass=limit,
        keep_failed=True,
    )
    learning = LearningShare(column=labelled.cluster or "id", share=learning_share, seed=seed)
    rows = _read_learning_rows(labelled, cascade, learning)
    sheet = _sheets(rows, level)
    combinations, dropped_stages = _combinations(rows, sheet)
    best = _best_of(combinations, candidate, tau_given=tau is not None)
    planned = best.tau if tau is None else unit(tau, "tau")
    # A jury is asked about every row: it has no tau.
    points = (best.sheet.point(0.0),) if candidate == "jury" else best.sheet.points(planned)
    alone = [
        JudgeAlone(judge=judge, cost=point.cost, coverage=point.coverage, wrong=point.wrong)
        for judge, point in zip(rows.judges, _points_alone(rows, sheet), strict=True)
    ]
    return CascadePlan(
        about=labelled.about,
        alpha=level,
        rule=with_parts(_make_rule(rows, best, planned), store),
        tau_given=tau is not None,
        feasible=best.feasible,
        cost_source=rows.cost_source,
        points=points,
        alone=tuple(alone),
        candidate=candidate,
        candidates=tuple(combination.scored for combination in combinations),
        dropped_stages=tuple(dropped_stages) if best.learns else (),
        min_answer_mass=limit,
        assumptions=(
            "the rows of the learning share are like those to be judged",
            "coverage is an estimate from the learning share, not a promise; the other labels "
            "calibrate",
        ),
        warnings=tuple(_plan_warnings(rows, best, dropped_stages)),
        dropped=rows.dropped,
    )


@dataclass(frozen=True, kw_only=True)
class _LearningRows:
    """The rows that a plan is made from: what each judge answered, and what people prefer."""

    stages: Sequence[Member]
    costs: Sequence[float]
    cost_source: CostSource
    fingerprints: Sequence[str | None]
    learning: LearningShare
    evidence: Evidence
    prefers_a: IntArray
    units: IntArray
    lengths: Lengths | None
    category: str | None
    dropped: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.prefers_a)

    @property
    def judges(self) -> list[str]:
        return [judge for judge, _ in self.stages]


def _read_learning_rows(
    labelled: LabelledRows, cascade: Cascade, learning: LearningShare
) -> _LearningRows:
    stages = find_stages(cascade.judges, labelled.frame)
    rows = Rows(labelled.frame, labelled.dropped).without(~of_stages(stages), OTHER_JUDGE)
    # A row that one judge failed goes to the next one; a row that all of them failed ends nowhere.
    answered = pl.col("status").is_in(list(MEASURED)).any().over("id")
    rows = measured(rows, without=~answered)
    share = pl.Series(in_learning_share(rows.frame, learning))
    rows = rows.without(~pl.lit(share), "outside the learning share")
    costs, cost_source = find_costs(rows.frame, stages, cascade.costs)
    frame, evidence, dropped = _asked_rows(rows, stages, learning)
    lengths = lengths_in(frame)
    units, _ = cluster_codes(frame[learning.column].to_list())
    category = cascade.category
    prefers_a = frame["label"] == WORDS[labelled.about][0]
    return _LearningRows(
        stages=stages,
        costs=costs,
        cost_source=cost_source,
        fingerprints=[_fingerprint(rows.frame, stage) for stage in stages],
        learning=learning,
        evidence=with_context(evidence, frame, lengths=lengths, category=category),
        prefers_a=prefers_a.to_numpy().astype(np.int64),
        units=units,
        lengths=lengths,
        category=category,
        dropped=dropped,
    )


def _asked_rows(
    rows: Rows, stages: Sequence[Member], learning: LearningShare
) -> tuple[pl.DataFrame, Evidence, Mapping[str, int]]:
    """The rows that every judge was asked about, their answers, and how many are left out.

    Human ties are left out because they do not show who is right.
    """
    rows = rows.without(pl.col("label") == "tie", "human tie")
    table, evidence = lay_out(rows.frame.sort("id"), stages)
    asked_all = np.asarray(table.asked.all(axis=1))
    evidence = evidence.take(asked_all)
    n = int(asked_all.sum())
    scored_by_judge = (~np.isnan(evidence.p)).sum(axis=0)
    if n < FEWEST_LEARNING or (scored_by_judge < FEWEST_LEARNING).any():
        raise ArgumentError(
            "learning_share",
            learning.share,
            f"leaves {n} labelled rows that every judge was asked about, but each judge needs "
            f"{FEWEST_LEARNING} rows with a usable score; label more rows, or raise the share",
        )
    dropped = merge_dropped(rows.dropped, {NOT_EVERY_STAGE: len(asked_all) - n})
    return table.frame.filter(pl.Series(asked_all)), evidence, dropped


class _Sheets(Protocol):
    """The sheet of a chain of judges; `plain` learns nothing."""

    def __call__(self, chain: tuple[int, ...], *, plain: bool = False) -> Sheet: ...


def _sheets(rows: _LearningRows, alpha: float) -> _Sheets:
    @cache
    def sheet(chain: tuple[int, ...], *, plain: bool = False) -> Sheet:
        """The cascade of these judges, named as if the others had not been asked."""
        names = stage_names([rows.stages[at] for at in chain])
        evidence = replace(rows.evidence.of(chain), judges=names)
        costs = [rows.costs[at] for at in chain]
        if plain:
            return Sheet.plain(evidence, rows.prefers_a, costs=costs, alpha=alpha)
        return Sheet.fit(
            evidence,
            rows.prefers_a,
            units=rows.units,
            seed=rows.learning.seed,
            costs=costs,
            alpha=alpha,
        )

    return sheet


@dataclass(frozen=True)
class _Combination:
    """One way to combine these judges, where it stops, and what it accepts."""

    chain: tuple[int, ...]
    sheet: Sheet
    tau: float | None
    scored: CascadeCandidate

    @property
    def learns(self) -> bool:
        return self.scored.name == CANDIDATES[0]

    @property
    def feasible(self) -> bool:
        return self.tau is not None and (self.learns or self.scored.coverage > 0)


def _combinations(
    rows: _LearningRows, sheet: _Sheets
) -> tuple[list[_Combination], list[DroppedStage]]:
    """All that are tried, and the judges that the learned cascade does without."""

    def combine(
        name: str, chain: tuple[int, ...], of_chain: Sheet, tau: float | None
    ) -> _Combination:
        judges = tuple(rows.judges[at] for at in chain)
        scored = of_chain.candidate(name, judges, tau or 0.0)
        return _Combination(chain, of_chain, tau, scored)

    everyone = tuple(range(len(rows.stages)))
    chain, dropped = drop_stages(everyone, sheet, rows.judges)
    # Alone, the last judge gets every row for any tau: no margin for chance is needed.
    margin = 1.0 if len(chain) > 1 else 0.0
    learned = sheet(chain)
    label_free = sheet(everyone, plain=True)
    combinations = [
        combine("learned", chain, learned, learned.largest_tau(margin=margin)),
        combine("label_free", everyone, label_free, label_free.largest_tau()),
    ]
    for size in range(2, len(rows.stages)):
        jury = everyone[:size]
        combinations.append(combine("jury", jury, sheet(jury, plain=True), 0.0))
    return combinations, dropped


def _best_of(
    combinations: Sequence[_Combination], candidate: str, *, tau_given: bool
) -> _Combination:
    """The one of this name that accepts most, the cheapest if several do."""
    named = [combination for combination in combinations if combination.scored.name == candidate]
    if not named or (candidate == "jury" and tau_given):
        remedy = "leave out tau: a jury is asked about every row"
        raise ArgumentError("candidate", candidate, remedy if named else "name three judges")
    return max(named, key=lambda best: (best.scored.coverage, -best.scored.cost))


def _points_alone(rows: _LearningRows, sheet: _Sheets) -> list[CostPoint]:
    """What each judge costs and accepts if it is asked about every row."""
    return [sheet((at,)).point(0.0) for at in range(len(rows.stages))]


def _plan_warnings(
    rows: _LearningRows, best: _Combination, dropped_stages: Sequence[DroppedStage]
) -> list[str]:
    warnings = advise_learning(round(len(rows) / rows.learning.share))
    dropped_for_cost = len(dropped_stages) if best.learns else 0
    if len(best.chain) == 1 and dropped_for_cost + 1 < len(rows.stages):
        warnings.append(
            f"no tau leaves a margin for chance in {len(rows)} rows: only the last judge "
            "is left; label more rows"
        )
    return warnings


def _make_rule(rows: _LearningRows, best: _Combination, tau: float | None) -> CascadeRule:
    category = rows.category if best.learns else None
    stages = []
    for at, margin in zip(best.chain, best.sheet.fitted, strict=True):
        judge, protocol = rows.stages[at]
        stage = Stage(
            judge=judge,
            protocol=protocol,
            judge_fingerprint=rows.fingerprints[at],
            cost=rows.costs[at],
            **margin.saved_fields,
        )
        stages.append(stage)
    return CascadeRule(
        stages=tuple(stages),
        tau=tau or 0.0,
        lengths=rows.lengths if best.learns else None,
        category=category,
        categories=() if category is None else rows.evidence.categories,
        learning=rows.learning,
        n_learning=len(rows),
    )


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
    fitted = []
    held_out = np.zeros(evidence.p.shape)
    for stage in range(len(evidence.judges)):
        so_far = evidence.of(range(stage + 1))
        every_row = np.ones(rows, dtype=np.bool_)
        without_fold = [fold != left_out for left_out in range(FOLDS)]
        learns = ~np.isnan(evidence.p[:, stage]) & np.vstack([every_row, *without_fold])
        names, ridges = learn(so_far, prefers_a, learns, units=units, seed=seed)
        margins = [
            LearnedMargin(names, so_far.categories, scales, weights, float(penalty))
            for scales, weights, penalty in zip(*ridges, strict=True)
        ]
        fitted.append(margins[0])
        for at, margin in enumerate(margins[1:]):
            rows_of_fold = fold == at
            held_out[rows_of_fold, stage] = margin.margins(so_far)[rows_of_fold]
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
        doubt = np.minimum(self.doubts[here], INFINITE_DOUBT)
        risk = np.minimum(self.risks[here], INFINITE_DOUBT)
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
        some = taus[np.unique(np.linspace(0, len(taus) - 1, _SHOWN).round().astype(int))]
        wanted = {*some.tolist(), planned or 0.0, (planned or 0.0) / 2}
        return tuple(self.point(tau) for tau in sorted(wanted))

    def candidate(self, name: str, judges: tuple[str, ...], tau: float) -> CascadeCandidate:
        """This cascade at tau, by what scope accepts of the rows at alpha."""
        stage, doubt, wrong, _ = self.stop(tau)
        no_verdict = doubt == INFINITE_DOUBT
        rule = scope_threshold(doubt, wrong | no_verdict, alpha=self.alpha)
        shares = self._shares(stage, wrong, rule.accept(doubt) & ~no_verdict)
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
