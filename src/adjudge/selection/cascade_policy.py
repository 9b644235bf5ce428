"""A cascade in a policy: the rows that calibrate it, and its entry in the policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from adjudge.data.rows import Identity, Rows, identities
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.judges.identity import match_judge
from adjudge.policy.doubts import CascadeReport, CascadeRule
from adjudge.records import MEASURED, About
from adjudge.selection.cascade import (
    CASCADE,
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
from adjudge.selection.cascade_plan import NOT_EVERY_STAGE, CascadePlan, read_plan
from adjudge.selection.doubts.learned import count_overturned
from adjudge.store import StorePlace

LEARNING_ROW = "in the learning share of the cascade"


@dataclass(frozen=True)
class CalibrationRows:
    """The rows of a planned cascade that calibrate.

    `last` are the usable rows of the last judge, `last_asked` is true if it was asked about all.
    """

    plan: CascadePlan
    cascade: CascadeRows
    last: pl.DataFrame
    last_asked: bool
    dropped: Mapping[str, int]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What holds for a cascade, and what is assumed about rows that some judge did not see."""
        lines = describe_cascade(self.plan.rule)
        if lost := self.dropped.get(NOT_EVERY_STAGE):
            lines += (
                f"the {lost:,} rows that were not judged by every stage are missing at random",
            )
        return lines

    def report(self, *, coverage_last: float) -> CascadeReport:
        """The entry in the policy; `coverage_last` is for the last judge's usable rows."""
        rule, rows = self.plan.rule, self.cascade
        costs = np.cumsum([stage.cost for stage in rule.stages])
        measured = self.last.height / rows.rows.height
        return CascadeReport(
            rule=rule,
            cost_source=self.plan.cost_source,
            cost=float(costs[rows.stage].mean()),
            cost_last=rule.stages[-1].cost,
            coverage_last=coverage_last * measured if self.last_asked else None,
            n_verdicts=rows.rows.height,
            n_overturned=count_overturned(rows.judged["verdict"], rows.rows["verdict"]),
            stopped=tuple(np.bincount(rows.stage, minlength=len(costs)).tolist()),
            failed=tuple(rows.failed.sum(axis=0).tolist()),
            dropped_stages=self.plan.dropped_stages,
        )


def refuse_with_cascade(**options: object) -> None:
    """Refuse options that cannot be combined with a cascade."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(name, value, "leave it out: it cannot be used with a cascade")


def choose_plan(
    plan: CascadePlan | str | Path | None,
    *,
    plan_now: Callable[[], CascadePlan],
    given: Mapping[str, object],
    limit: float | None,
) -> CascadePlan:
    """The given plan, with all its settings, or a new one."""
    if plan is None:
        return plan_now()
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(name, value, "leave it out: the plan sets it")
    planned = read_plan(plan)
    if planned.min_answer_mass != limit:
        raise ArgumentError(
            "min_answer_mass", limit, f"the plan was made with {planned.min_answer_mass}: use that"
        )
    return planned


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
    cluster: str | None,
    about: About,
    store: StorePlace = None,
) -> CalibrationRows:
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
    return CalibrationRows(
        plan,
        done,
        last.filter(pl.col("status").is_in(list(MEASURED))),
        last.height == done.rows.height,
        dropped,
    )


def _judged_by_all(frame: pl.DataFrame, members: Sequence[Member]) -> pl.Series:
    """The ids that every stage was asked about."""
    laid = lay_out(frame, members)
    return laid.frame["id"].filter(pl.Series(laid.asked.all(axis=1)))


def check_stages(
    rule: CascadeRule, frame: pl.DataFrame, *, made: str = "the cascade", store: StorePlace = None
) -> list[str]:
    """Notes on rows that cannot be checked; PolicyMismatchError for another judge or prompt."""
    known = [
        Identity(stage.judge, stage.protocol, stage.judge_fingerprint, stage.fingerprint_parts)
        for stage in rule.stages
    ]
    remarks = [
        match_judge(known, given, made=made, by_name=True, store=store).remark
        for given in identities(frame)
    ]
    return list(dict.fromkeys(remark for remark in remarks if remark is not None))


def check_ended(rule: CascadeRule, frame: pl.DataFrame) -> None:
    """PolicyMismatchError for decided rows that did not end at one of the cascade's judges."""
    ended = pl.col("judge")
    if STAGE in frame.columns:
        ended = pl.when(ended == CASCADE).then(pl.col(STAGE)).otherwise(ended)
    names = frame.select(ended.drop_nulls().unique().sort()).to_series()
    others = [name for name in names if name not in rule.judges]
    if others:
        raise PolicyMismatchError(
            f"the cascade asks {', '.join(rule.judges)}, but there are rows of {others[0]}; give "
            "rows that this policy decided",
            differs=("judge",),
        )


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
