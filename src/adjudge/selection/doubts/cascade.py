"""A cascade as a doubt: judges, cheap to strong, each needed only if those before are unsure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from adjudge.data import read_result
from adjudge.data.judgments import doubt_ties
from adjudge.data.rows import Rows
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.judges.interface import Judge
from adjudge.policy.doubts import CascadeReport, CascadeRule, Stage
from adjudge.policy.result import Contradiction, Policy, PolicyGroup
from adjudge.present.text import count
from adjudge.records import MEASURED, Subject
from adjudge.selection.cascade import (
    CASCADE,
    NOT_ASKED,
    OTHER_JUDGE,
    STAGE,
    CascadeRows,
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
    with_parts,
)
from adjudge.selection.doubts.base import (
    NO_LENGTHS,
    Answers,
    Coverage,
    Decision,
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
from adjudge.validation import BoolArray, exact_level

LEARNING_ROW = "in the learning share of the cascade"


@dataclass(frozen=True, kw_only=True)
class CascadeScores(ScoredRows):
    """The rows as a cascade decides them, where each ended, and which judges failed."""

    judges: tuple[str, ...]
    chain: CascadeRows

    def stages(self, accepted: BoolArray) -> tuple[StageCount, ...]:
        return tuple(
            StageCount(
                judge=judge,
                n=int((self.chain.stage == at).sum()),
                n_accepted=int((accepted & (self.chain.stage == at)).sum()),
                n_failed=int(self.chain.failed[:, at].sum()),
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
            chain=chain,
        )

    def check_judges(
        self, frame: pl.DataFrame, *, made: str = "the cascade", store: StorePlace = None
    ) -> list[str]:
        stages = [stage.identity for stage in self.rule.stages]
        frame = frame.filter(of_stages(members_of(self.rule)))
        return check_identities(stages, frame, made=made, store=store)

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

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.rule.stages

    @property
    def not_servable(self) -> str | None:
        return NO_LENGTHS if self.rule.lengths == "length" else None

    def take_judges(
        self, policy: Policy, judges: Sequence[Judge]
    ) -> tuple[Sequence[Judge], Sequence[PolicyGroup]]:
        from adjudge.selection.cascade_judging import check_judges

        return check_judges(policy, judges), policy.groups

    def decide(
        self, policy: Policy, subject: Subject, category: str | None, answers: Answers
    ) -> Decision | None:
        from adjudge.selection.cascade_judging import decide_one, row_of

        context = {} if policy.category is None else {policy.category: category}
        rows = [{**row_of(judgment, judge), **context} for judge, judgment in answers]
        for end in decide_one(policy, subject, rows).rows.to_dicts():
            return Decision(end["status"], end["verdict"], end["uncertainty"])
        return None

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
    chain: CascadeRows
    last: pl.DataFrame
    last_asked: bool

    def entries(self, coverage: Coverage, total: float) -> dict[str, Any]:
        rule, chain = self.plan.rule, self.chain
        costs = np.cumsum([stage.cost for stage in rule.stages])
        measured = self.last.height / chain.rows.height
        report = CascadeReport(
            rule=rule,
            cost_source=self.plan.cost_source,
            cost=float(costs[chain.stage].mean()),
            cost_last=rule.stages[-1].cost,
            coverage_last=coverage(self.last) * measured if self.last_asked else None,
            n_verdicts=chain.rows.height,
            n_overturned=count_overturned(chain.judged["verdict"], chain.rows["verdict"]),
            stopped=tuple(np.bincount(chain.stage, minlength=len(costs)).tolist()),
            failed=tuple(chain.failed.sum(axis=0).tolist()),
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
        """Run the planned cascade on the labelled rows; those of its learning share are refused.

        So are rows that share a cluster with one of them. If some rows need a judge that was not
        asked, only rows that every judge was asked about calibrate. The rows that end earlier are
        the easy ones, so they alone would not be a random sample.
        """
        plan = self._planned(labelled)
        rule = with_parts(plan.rule, labelled.store)
        plan, about, cluster = replace(plan, rule=rule), labelled.about, labelled.cluster
        if plan.about != about:
            raise PolicyMismatchError(
                f"the plan is about {plan.about}, but these are {about}; plan again on rows like "
                "these",
                differs=("about",),
            )
        members, doubt = members_of(rule), CascadeDoubt(rule)
        rows = Rows(labelled.frame).without(~of_stages(members), OTHER_JUDGE)
        doubt.check_judges(rows.frame, made="the plan", store=labelled.store)
        frame = rows.frame.with_columns(__used=in_learning_share(rows.frame, rule.learning))
        used = pl.col("__used")
        if cluster is not None:
            used |= used.any().over(cluster) & pl.col(cluster).is_not_null()
        left = frame.filter(~used).drop("__used").sort("id")
        learned = rows.frame["id"].n_unique() - left["id"].n_unique()
        dropped = {**rows.dropped, LEARNING_ROW: learned}
        if left.height == 0:
            raise ArgumentError(
                "judgments",
                learned,
                "every labelled row is in the learning share of the cascade: label others to "
                "calibrate",
            )
        chain = run_cascade(rule, left, about=about)
        assumptions = [
            f"the cascade ({', '.join(doubt.judges)}) counts as one judge: its verdict and doubt "
            "are a fixed function of the row, learned from labels that do not calibrate, so every "
            "guarantee holds as for any judge; the promise is about the cascade's verdict, which "
            "can differ from that of the judge at which a row ends",
            "if a judge fails, the row continues with the next one, in calibration exactly as in "
            "use; if the last one fails, there is no verdict",
        ]
        if chain.incomplete.height:
            laid, n = lay_out(left, members), left["id"].n_unique()
            whole = laid.frame["id"].filter(pl.Series(laid.asked.all(axis=1)))
            asked = chain.rows["id"].is_in(whole.implode()).to_numpy()
            # The rows that end at a stage all skipped the later ones: the cascade was in use.
            spared = [stage for stage in set(chain.stage) if not asked[chain.stage == stage].any()]
            if chain.rows.height == 0 or spared:
                raise ArgumentError(
                    "judgments",
                    chain.incomplete.height,
                    f"of {n} labelled rows, this many need a judge that was not asked, and the "
                    "others are not a random sample: ask that judge too",
                )
            left = left.filter(pl.col("id").is_in(whole.implode()))
            lost = n - len(whole)
            dropped |= {NOT_EVERY_STAGE: lost}
            assumptions.append(
                f"the {lost:,} rows that were not judged by every stage are missing at random"
            )
            chain = run_cascade(rule, left, about=about)
        last = left.filter(of_stages(members[-1:]), pl.col("id").is_in(chain.rows["id"].implode()))
        alpha, remarks = float(exact_level(labelled.settings["alpha"])), list(plan.warnings)
        if plan.alpha != alpha:
            remarks.append(f"the cascade was planned for alpha {plan.alpha:g}")
        if not plan.feasible:
            remarks.append("no tau passes in the learning share: every row goes to the last judge")
        return CascadeFit(
            doubt=doubt,
            rows=chain.rows,
            dropped=dropped,
            assumptions=tuple(assumptions),
            remarks=tuple(remarks),
            plan=plan,
            chain=chain,
            last=last.filter(pl.col("status").is_in(list(MEASURED))),
            last_asked=last.height == chain.rows.height,
        )

    def _planned(self, labelled: Labelled) -> CascadePlan:
        """The given plan, with all its settings, or a new one."""
        options, plan = self.options, self.options.plan
        if plan is None:
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
        limit = labelled.settings["min_answer_mass"]
        if not isinstance(plan, CascadePlan):
            plan = read_result(plan, CascadePlan)
        if plan.min_answer_mass != limit:
            raise ArgumentError(
                "min_answer_mass", limit, f"the plan was made with {plan.min_answer_mass}: use that"
            )
        return plan
