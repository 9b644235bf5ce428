"""A cascade as a doubt: judges, cheap to strong, each needed only if those before are unsure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.judgments import doubt_ties
from adjudge.data.rows import Identity, Rows
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.policy.doubts import CascadeReport, CascadeRule
from adjudge.policy.result import Contradiction, Policy
from adjudge.present.text import count
from adjudge.records import MEASURED, About
from adjudge.selection.cascade import (
    CASCADE,
    NOT_ASKED,
    OTHER_JUDGE,
    STAGE,
    CascadeRows,
    Member,
    in_learning_share,
    lay_out,
    members_of,
    of_stages,
    run_cascade,
    stage_names,
)
from adjudge.selection.cascade_plan import (
    NOT_EVERY_STAGE,
    CascadePlan,
    plan_cascade,
    read_plan,
    with_parts,
)
from adjudge.selection.doubts.base import (
    Coverage,
    Doubt,
    DoubtFit,
    DoubtRequest,
    Labelled,
    ScoredRows,
    StageCount,
    check_identities,
)
from adjudge.selection.doubts.evidence import count_overturned
from adjudge.selection.labelled import NewRows
from adjudge.store import StorePlace
from adjudge.validation import BoolArray, IntArray, exact_level

LEARNING_ROW = "in the learning share of the cascade"


@dataclass(frozen=True)
class CascadeScores(ScoredRows):
    """The rows as a cascade decides them, where each ended, and which judges failed."""

    judges: tuple[str, ...] = ()
    stage: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    failed: BoolArray = field(default_factory=lambda: np.empty((0, 0), np.bool_))

    def stages(self, accepted: BoolArray) -> tuple[StageCount, ...]:
        return tuple(
            StageCount(
                judge=judge,
                n=int((self.stage == at).sum()),
                n_accepted=int((accepted & (self.stage == at)).sum()),
                n_failed=int(self.failed[:, at].sum()),
            )
            for at, judge in enumerate(self.judges)
        )

    @property
    def cost(self) -> float | None:
        """None if one of the rows has no cost."""
        if "cost" not in self.rows.columns or not self.rows.height:
            return None
        return None if self.rows["cost"].null_count() else float(self.rows["cost"].sum())


@dataclass(frozen=True)
class CascadeDoubt(Doubt):
    """Several judges, cheap to strong; a row ends at the first one that is sure enough."""

    rule: CascadeRule
    saved: CascadeReport | None = None

    learned = True
    mute = ("row without a verdict", "rows without a verdict")
    tie = "the last judge failed or returned a tie"
    no_verdict = "margin 0"
    columns = (STAGE,)

    @property
    def judges(self) -> tuple[str, ...]:
        return stage_names(members_of(self.rule))

    @property
    def fingerprints(self) -> tuple[str, ...]:
        prints = {stage.judge_fingerprint for stage in self.rule.stages}
        return tuple(sorted(name for name in prints if name is not None))

    @classmethod
    def load(cls, policy: Policy) -> CascadeDoubt | None:
        saved = policy.cascade
        return None if saved is None else cls(saved.rule, saved)

    def score(self, new: NewRows) -> CascadeScores:
        chain = run_cascade(self.rule, new.everything, about=new.about)
        ignored = new.everything.filter(~of_stages(members_of(self.rule))).height
        decided = chain.rows.select("verdict", "uncertainty").get_columns()
        return CascadeScores(
            rows=doubt_ties(chain.judged).with_columns(decided),
            judge_verdicts=chain.judged["verdict"],
            everything=pl.concat([chain.judged, chain.incomplete]),
            unscored={NOT_ASKED: chain.incomplete.height},
            reason=pl.lit(NOT_ASKED),
            remarks=(f"{count(ignored, 'row')} {OTHER_JUDGE}: ignored",) if ignored else (),
            judges=self.judges,
            stage=chain.stage,
            failed=chain.failed,
        )

    def check_judges(self, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
        return check_stages(self.rule, frame.filter(of_stages(members_of(self.rule))), store=store)

    def check_decided(self, frame: pl.DataFrame) -> None:
        """Every row must have ended at one of the cascade's judges."""
        ended = pl.col("judge")
        if STAGE in frame.columns:
            ended = pl.when(ended == CASCADE).then(pl.col(STAGE)).otherwise(ended)
        names = frame.select(ended.drop_nulls().unique().sort()).to_series()
        others = [name for name in names if name not in self.rule.judges]
        if others:
            raise PolicyMismatchError(
                f"the cascade asks {', '.join(self.rule.judges)}, but there are rows of "
                f"{others[0]}; give rows that this policy decided",
                differs=("judge",),
            )

    def contradictions(self) -> Iterator[Contradiction]:
        """The rows at the stages, and their cost, must add up to those of all rows."""
        if (saved := self.saved) is None:
            return
        if len(saved.stopped) != len(self.rule.stages):
            expected = f"{len(self.rule.stages)} numbers"
            yield Contradiction.of("cascade.stopped", saved.stopped, expected=expected)
            return
        costs = np.cumsum([stage.cost for stage in self.rule.stages])
        rows = sum(saved.stopped)
        cost = float(np.repeat(costs, saved.stopped).mean()) if rows else saved.cost
        implied = {"n_verdicts": rows, "cost": cost, "cost_last": self.rule.stages[-1].cost}
        yield from Contradiction.between(saved, implied, within="cascade.")


@dataclass(frozen=True, kw_only=True)
class CascadeFit(DoubtFit):
    """A planned cascade and the labelled rows that calibrate it.

    `last` are the usable rows of the last judge, `last_asked` is true if it was asked about all.
    """

    doubt: CascadeDoubt
    plan: CascadePlan
    cascade: CascadeRows
    last: pl.DataFrame
    last_asked: bool

    def entries(self, coverage: Coverage, total: float) -> dict[str, Any]:
        rule, rows = self.plan.rule, self.cascade
        costs = np.cumsum([stage.cost for stage in rule.stages])
        measured = self.last.height / rows.rows.height
        report = CascadeReport(
            rule=rule,
            cost_source=self.plan.cost_source,
            cost=float(costs[rows.stage].mean()),
            cost_last=rule.stages[-1].cost,
            coverage_last=coverage(self.last) * measured if self.last_asked else None,
            n_verdicts=rows.rows.height,
            n_overturned=count_overturned(rows.judged["verdict"], rows.rows["verdict"]),
            stopped=tuple(np.bincount(rows.stage, minlength=len(costs)).tolist()),
            failed=tuple(rows.failed.sum(axis=0).tolist()),
            dropped_stages=self.plan.dropped_stages,
        )
        return {"cascade": report}


class CascadeRequest(DoubtRequest):
    """A cascade of the named judges, planned on the same rows, or the cascade of a plan."""

    doubt = CascadeDoubt
    asked_by = dict.fromkeys(("cascade", "plan"))
    reads_texts = True
    reads_failed = True
    keeps_cuts = False
    refuses = dict.fromkeys(
        ("jury", "doubt", "weights", "judge"), "leave it out: it cannot be used with a cascade"
    )

    def learn(self, labelled: Labelled) -> CascadeFit:
        plan = self._planned(labelled)
        plan = replace(plan, rule=with_parts(plan.rule, labelled.store))
        return rows_to_calibrate(
            plan,
            labelled.frame,
            alpha=float(exact_level(labelled.settings["alpha"])),
            cluster=labelled.cluster,
            about=labelled.about,
            store=labelled.store,
        )

    def _planned(self, labelled: Labelled) -> CascadePlan:
        """The given plan, with all its settings, or a new one."""
        options = self.options
        if options.plan is None:
            if labelled.judgments is None:
                raise ArgumentError("judgments", None, "a cascade is planned on judgments")
            return plan_cascade(
                labelled.judgments,
                options.cascade or (),
                costs=options.costs,
                category=options.category,
                learning_share=options.learning_share,
                store=labelled.store,
                **labelled.settings,
            )
        for name in ("cascade", "costs", "category"):
            if (value := getattr(options, name)) is not None:
                raise ArgumentError(name, value, "leave it out: the plan sets it")
        plan, limit = read_plan(options.plan), labelled.settings["min_answer_mass"]
        if plan.min_answer_mass != limit:
            raise ArgumentError(
                "min_answer_mass", limit, f"the plan was made with {plan.min_answer_mass}: use that"
            )
        return plan


def plan_remarks(plan: CascadePlan, alpha: float) -> tuple[str, ...]:
    """What a reader should know about a plan."""
    lines = list(plan.warnings)
    if plan.alpha != alpha:
        lines.append(f"the cascade was planned for alpha {plan.alpha:g}")
    if not plan.feasible:
        lines.append("no tau passes in the learning share: every row goes to the last judge")
    return tuple(lines)


def rows_to_calibrate(
    plan: CascadePlan,
    frame: pl.DataFrame,
    *,
    alpha: float,
    cluster: str | None,
    about: About,
    store: StorePlace = None,
) -> CascadeFit:
    """Run the planned cascade on labelled rows; those of its learning share are refused.

    So are rows that share a cluster with one of them. If some rows need a judge that was not asked,
    only rows that every judge was asked about calibrate. The rows that end earlier are the easy
    ones, so they alone would not be a random sample.
    """
    if plan.about != about:
        raise PolicyMismatchError(
            f"the plan is about {plan.about}, but these are {about}; plan again on rows like these",
            differs=("about",),
        )
    members = members_of(plan.rule)
    rows = Rows(frame).without(~of_stages(members), OTHER_JUDGE)
    check_stages(plan.rule, rows.frame, made="the plan", store=store)
    learning = in_learning_share(rows.frame, plan.rule.learning)
    used = rows.frame.with_columns(__used=pl.Series(learning))
    if cluster is not None:
        alike = pl.col("__used").any().over(cluster) & pl.col(cluster).is_not_null()
        used = used.with_columns(__used=pl.col("__used") | alike)
    left = used.filter(~pl.col("__used")).drop("__used").sort("id")
    learned = rows.frame["id"].n_unique() - left["id"].n_unique()
    dropped = {**rows.dropped, LEARNING_ROW: learned}
    if left.height == 0:
        raise ArgumentError(
            "judgments",
            learned,
            "every labelled row is in the learning share of the cascade: label others to calibrate",
        )
    done = run_cascade(plan.rule, left, about=about)
    if done.incomplete.height:
        whole, n = _judged_by_all(left, members), left["id"].n_unique()
        asked = done.rows["id"].is_in(whole.implode()).to_numpy()
        # The rows that end at a stage all skipped the later ones: the cascade was in use.
        spared = [stage for stage in set(done.stage) if not asked[done.stage == stage].any()]
        if done.rows.height == 0 or spared:
            raise ArgumentError(
                "judgments",
                done.incomplete.height,
                f"of {n} labelled rows, this many need a judge that was not asked, and the others "
                "are not a random sample: ask that judge too",
            )
        left = left.filter(pl.col("id").is_in(whole.implode()))
        dropped |= {NOT_EVERY_STAGE: n - len(whole)}
        done = run_cascade(plan.rule, left, about=about)
    last = left.filter(of_stages(members[-1:]), pl.col("id").is_in(done.rows["id"].implode()))
    lines = describe_cascade(plan.rule)
    if lost := dropped.get(NOT_EVERY_STAGE):
        lines += (f"the {lost:,} rows that were not judged by every stage are missing at random",)
    return CascadeFit(
        doubt=CascadeDoubt(plan.rule),
        rows=done.rows,
        dropped=dropped,
        assumptions=lines,
        remarks=plan_remarks(plan, alpha),
        plan=plan,
        cascade=done,
        last=last.filter(pl.col("status").is_in(list(MEASURED))),
        last_asked=last.height == done.rows.height,
    )


def _judged_by_all(frame: pl.DataFrame, members: Sequence[Member]) -> pl.Series:
    """The ids that every stage was asked about."""
    laid = lay_out(frame, members)
    return laid.frame["id"].filter(pl.Series(laid.asked.all(axis=1)))


def check_stages(
    rule: CascadeRule, frame: pl.DataFrame, *, made: str = "the cascade", store: StorePlace = None
) -> list[str]:
    """Notes on rows that cannot be checked; PolicyMismatchError for another judge or prompt."""
    stages = [
        Identity(stage.judge, stage.protocol, stage.judge_fingerprint, stage.fingerprint_parts)
        for stage in rule.stages
    ]
    return check_identities(stages, frame, made=made, store=store)


def describe_cascade(rule: CascadeRule) -> tuple[str, ...]:
    """What holds for a cascade, one sentence each."""
    names = ", ".join(stage_names(members_of(rule)))
    return (
        f"the cascade ({names}) counts as one judge: its verdict and doubt are a fixed function of "
        "the row, learned from labels that do not calibrate, so every guarantee holds as for any "
        "judge; the promise is about the cascade's verdict, which can differ from that of the "
        "judge at which a row ends",
        "if a judge fails, the row continues with the next one, in calibration exactly as in use; "
        "if the last one fails, there is no verdict",
    )
