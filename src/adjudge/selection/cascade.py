"""A cascade: judges, cheap to strong, each asked only if those before are unsure.

What they say about a row becomes one verdict and one doubt. Calibrate, select, serve and the
runner's stop rule all use this code, so that a row is decided in use exactly as in calibration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adjudge.data.judgments import ERROR, IS_ERROR, mark_off_answer
from adjudge.data.rows import FAIL, PASS, Rows
from adjudge.data.tables import as_text
from adjudge.data.writing import Row, read_result
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.judges.interface import Judge
from adjudge.judges.judge import identity_of, match_judge, take_known_route
from adjudge.policy.doubts import CascadeReport, CascadeRule, CostSource, LearningShare
from adjudge.policy.result import Contradiction, Policy, PolicyGroup
from adjudge.present.text import count
from adjudge.records import About, Grade, Pair, Subject
from adjudge.selection.doubts.base import (
    NO_LENGTHS,
    Answers,
    Coverage,
    Decision,
    Doubt,
    DoubtMethod,
    FittedDoubt,
    Labelled,
    ScoredRows,
    StageCount,
    check_identities,
)
from adjudge.selection.doubts.evidence import (
    ORDER_GAP,
    Evidence,
    LearnedMargin,
    check_context,
    count_overturned,
    doubt_of,
    with_context,
    with_learned,
)
from adjudge.selection.doubts.jury import IS_MEASURED, MEMBER, JudgeTable, name_members
from adjudge.selection.labelled import NewRows
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.store import StorePlace, read_judge_parts
from adjudge.validation import BoolArray, FloatArray, IntArray, exact_level, non_negative

if TYPE_CHECKING:
    from adjudge.selection.cascade_plan import CascadePlan

#: The value in the judge and protocol columns of a cascade's rows.
CASCADE = "cascade"
#: The column with the judge at which a row ended.
STAGE = "stage"
NOT_ASKED = "needs a judge that was not asked"
NOT_EVERY_STAGE = "not judged by every stage"
LEARNING_ROW = "in the learning share of the cascade"
OTHER_JUDGE = "of a judge that is not a stage of the cascade"
#: A judge and its protocol.
Member = tuple[str, str | None]
_ROW = "__row"
#: Columns of the judges' rows that a cascade reads, in addition to its context columns.
_READ: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("id", "judge", "protocol", "status", "verdict"), pl.String),
    **dict.fromkeys(("p_a", "p_fwd", "p_rev", "uncertainty", "answer_mass"), pl.Float64),
    "judge_fingerprint": pl.String,
}


@dataclass(frozen=True, kw_only=True)
class CascadeRows(ScoredRows):
    """The rows as a cascade decides them: `rows` are those that have reached a decision.

    `judged` has the same rows with the values of the judge at which each ended. `stage` is that
    judge's position, `failed` marks the judges that were asked and gave no score.
    """

    judges: tuple[str, ...]
    judged: pl.DataFrame
    stage: IntArray
    failed: BoolArray

    def stages(self, accepted: BoolArray) -> tuple[StageCount, ...]:
        counts = []
        for at, judge in enumerate(self.judges):
            ended = self.stage == at
            count = StageCount(
                judge=judge,
                n=int(ended.sum()),
                n_accepted=int((accepted & ended).sum()),
                n_failed=int(self.failed[:, at].sum()),
            )
            counts.append(count)
        return tuple(counts)

    @property
    def cost(self) -> float | None:
        """None if one of the rows has no cost."""
        if "cost" not in self.rows.columns or not self.rows.height:
            return None
        return None if self.rows["cost"].null_count() else float(self.rows["cost"].sum())


def find_stages(cascade: str | Sequence[str], frame: pl.DataFrame) -> tuple[Member, ...]:
    """The named judges of the frame, cheap to strong, separated by commas or in a list.

    A judge is named as in the file, or by its model alone ("gpt-4.1" for "openai:gpt-4.1"). Names
    can contain commas.

    >>> rows = pl.DataFrame({"judge": ["x:a,b", "x:c"], "protocol": ["preference"] * 2})
    >>> find_stages("a,b,c", rows)
    (('x:a,b', 'preference'), ('x:c', 'preference'))
    """
    named = name_members(frame).select(MEMBER, "judge", "protocol").unique().sort(MEMBER)
    members = {member: (judge, protocol) for member, judge, protocol in named.iter_rows()}
    members = {member.partition(":")[2]: stage for member, stage in members.items()} | members
    there = ", ".join(named[MEMBER].to_list())
    left = list(cascade.split(",")) if isinstance(cascade, str) else list(cascade)
    stages: list[Member] = []
    while left:
        ends = range(len(left), 0, -1) if isinstance(cascade, str) else [1]
        texts = {end: ",".join(left[:end]).strip() for end in ends}
        end = next((end for end, text in texts.items() if text and text in members), None)
        if end is None:
            raise ArgumentError("cascade", left[0], f"the judgments have {there}")
        stages.append(members[texts[end]])
        left = left[end:]
    if len(stages) < 2 or len(set(stages)) < len(stages):
        raise ArgumentError(
            "cascade", cascade, f"name two judges or more, each once, cheap to strong: {there}"
        )
    return tuple(stages)


def find_costs(
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
        judged = frame.filter(of_stages([(judge, protocol)]))
        known_costs = judged["cost"].cast(pl.Float64, strict=False).drop_nulls()
        if known_costs.is_empty():
            raise ArgumentError("costs", judge, f"no row of this judge has a cost; {remedy}")
        means.append(float(known_costs.to_numpy().mean()))
    if means[-1] <= 0:
        raise ArgumentError("costs", stages[-1][0], f"the cost of its rows is 0; {remedy}")
    return means, "dollars"


def stage_names(stages: Sequence[Member]) -> tuple[str, ...]:
    """The judges' names, with the protocol if one judge was asked by several protocols.

    >>> stage_names([("x", "likelihood"), ("x", "preference"), ("y", "preference")])
    ('x (likelihood)', 'x (preference)', 'y')
    """
    judges = [judge for judge, _ in stages]
    return tuple(
        f"{judge} ({protocol})" if judges.count(judge) > 1 else judge for judge, protocol in stages
    )


def of_stages(stages: Sequence[Member]) -> pl.Expr:
    return pl.any_horizontal(
        (pl.col("judge") == judge) & pl.col("protocol").eq_missing(pl.lit(protocol, pl.String))
        for judge, protocol in stages
    )


def lay_out(frame: pl.DataFrame, stages: Sequence[Member]) -> tuple[JudgeTable, Evidence]:
    """The rows of every stage, one per id, and its answers."""
    table = JudgeTable.build([frame.filter(of_stages([stage])) for stage in stages])
    return table, table.evidence(stage_names(stages))


def stage_doubts(
    doubts: Sequence[LearnedMargin], evidence: Evidence
) -> tuple[FloatArray, FloatArray]:
    """Margin and u of every row at every stage; 0 and infinity if a judge has no verdict."""
    so_far = (evidence.of(range(stage + 1)) for stage in range(len(doubts)))
    margins = [margin.margins(seen) for margin, seen in zip(doubts, so_far, strict=True)]
    return with_failures(np.column_stack(margins), evidence)


def with_failures(margins: FloatArray, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """The margins and their doubts; 0 and infinity if a judge failed or returned a tie."""
    no_score = np.isnan(evidence.p)
    if evidence.ties is not None:
        no_score |= evidence.ties
    return np.where(no_score, 0.0, margins), np.where(no_score, np.inf, doubt_of(margins))


def stop_at(doubts: FloatArray, tau: float) -> IntArray:
    """The stage of every row: the first with a doubt of at most tau, else the last.

    >>> stop_at(np.array([[0.05, 0.01], [0.3, 0.2], [np.inf, 0.04]]), 0.1).tolist()
    [0, 1, 1]
    """
    sure = doubts <= tau
    return np.asarray(np.where(sure.any(axis=1), sure.argmax(axis=1), doubts.shape[1] - 1))


def run_cascade(rule: CascadeRule, frame: pl.DataFrame, *, about: About = "pairs") -> CascadeRows:
    """Apply the cascade to the judges' rows (of every status); rows of other judges are ignored."""
    check_context(frame, lengths=rule.lengths, category=rule.category, who="the cascade")
    table, evidence = lay_out(frame, rule.members)
    needs_gaps = any(ORDER_GAP in stage.columns for stage in rule.stages)
    if needs_gaps and evidence.order_gaps is None:
        raise ArgumentError("judgments", "p_fwd, p_rev", "the cascade needs both orders")
    learned = [LearnedMargin.load(stage, rule.categories) for stage in rule.stages]
    evidence = with_context(evidence, table.frame, lengths=rule.lengths, category=rule.category)
    margins, doubts = stage_doubts(learned, evidence)
    stage = stop_at(doubts, rule.tau)
    way = np.arange(len(rule.stages)) <= stage[:, None]
    complete = (table.asked | ~way).all(axis=1)
    judged = _at_stage(table, stage).with_columns(
        *_spent(table, way),
        judge=pl.lit(CASCADE),
        protocol=pl.lit(CASCADE),
        judge_fingerprint=pl.lit(None, pl.String),
    )
    here = np.arange(len(stage)), stage
    doubt = np.where(np.isinf(doubts[here]), INFINITE_DOUBT, doubts[here])
    rows = with_learned(judged, margins[here], doubt, about=about)
    if "label" in rows.columns:
        rows = rows.with_columns(IS_ERROR.alias(ERROR))
    decided = pl.Series(complete)
    ended = judged.filter(decided)
    incomplete = judged.filter(~decided)
    failed = way & table.asked & np.isnan(evidence.p)
    return CascadeRows(
        rows=rows.filter(decided),
        judge_verdicts=table.of_judges[0]["verdict"].filter(decided),
        everything=pl.concat([ended, incomplete]),
        unscored={NOT_ASKED: incomplete.height},
        reason=pl.lit(NOT_ASKED),
        judges=stage_names(rule.members),
        judged=ended,
        stage=stage[complete],
        failed=failed[complete],
    )


def _at_stage(table: JudgeTable, stage: IntArray) -> pl.DataFrame:
    """The rows with the columns and the name of the judge at which each ended."""
    ends = [
        judge_rows.with_row_index(_ROW)
        .filter(pl.Series(stage == at))
        .with_columns(pl.col("judge").alias(STAGE))
        for at, judge_rows in enumerate(table.of_judges)
    ]
    ended = pl.concat(ends, how="diagonal_relaxed").sort(_ROW).drop(_ROW, "id")
    frame = table.frame.drop(STAGE, strict=False)
    return frame.hstack(ended.drop([c for c in ended.columns if c in frame.columns]))


def _spent(table: JudgeTable, way: BoolArray) -> list[pl.Series]:
    """Tokens and cost of every row, summed over the judges that were asked; null if unknown."""
    spent = []
    for column in ("tokens", "cost"):
        if all(column in judge_rows.columns for judge_rows in table.of_judges):
            each = table.across(pl.col(column).cast(pl.Float64, strict=False).fill_null(np.nan))
            total = pl.Series(column, np.where(way, each, 0.0).sum(axis=1), nan_to_null=True)
            spent.append(total.cast(pl.Int64) if column == "tokens" else total)
    return spent


@dataclass(frozen=True)
class CascadeDoubt(Doubt):
    """Several judges, cheap to strong; a row ends at the first one that is sure enough."""

    rule: CascadeRule
    saved: CascadeReport | None = None

    learned = True
    infinite_rows = ("row without a verdict", "rows without a verdict")
    tie = "the last judge failed or returned a tie"
    no_verdict = "margin 0"
    columns = (STAGE,)

    def __post_init__(self) -> None:
        prints = {stage.judge_fingerprint for stage in self.rule.stages}
        rule = self.rule
        vars(self).update(
            judges=stage_names(rule.members),
            fingerprints=tuple(sorted(name for name in prints if name is not None)),
            stages=rule.stages,
            not_servable=NO_LENGTHS if rule.lengths == "length" else None,
        )

    @classmethod
    def load(cls, policy: Policy) -> CascadeDoubt | None:
        saved = policy.cascade
        return None if saved is None else cls(saved.rule, saved)

    def score(self, new: NewRows) -> CascadeRows:
        ignored = new.everything.filter(~of_stages(self.rule.members)).height
        remarks = (f"{count(ignored, 'row')} {OTHER_JUDGE}: ignored",) if ignored else ()
        return replace(run_cascade(self.rule, new.everything, about=new.about), remarks=remarks)

    def check_judges(
        self, frame: pl.DataFrame, *, made: str = "the cascade", store: StorePlace = None
    ) -> list[str]:
        stages = [stage.identity for stage in self.rule.stages]
        frame = frame.filter(of_stages(self.rule.members))
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
                f"{others[0]}; give rows that this policy verdicts",
                differs=("judge",),
            )

    def take_judges(
        self, policy: Policy, judges: Sequence[Judge]
    ) -> tuple[Sequence[Judge], Sequence[PolicyGroup]]:
        stages = self.rule.stages
        if len(judges) != len(stages):
            names = ", ".join(self.rule.judges)
            raise PolicyMismatchError(
                f"the cascade has {len(stages)} judges ({names}), but {len(judges)} were given",
                differs=("judge",),
            )
        checked = []
        for stage, judge in zip(stages, judges, strict=True):
            judge = take_known_route(judge, {stage.judge_fingerprint}.__contains__) or judge
            match_judge(
                [stage.identity], identity_of(judge), made="this stage of the cascade", by_name=True
            )
            checked.append(judge)
        return checked, policy.groups

    def decide(
        self, policy: Policy, subject: Subject, category: str | None, answers: Answers
    ) -> Decision | None:
        """On what the judges of a service said so far, in rows as a run writes them."""
        context = {} if self.rule.category is None else {self.rule.category: category}
        rows = []
        for judge, record in answers:
            values = {f.name: getattr(record, f.name) for f in fields(record) if f.name != "extra"}
            named = "judge_name" if isinstance(record, Grade) else "judge"
            identity = {named: judge.backend.name, "judge_fingerprint": judge.fingerprint}
            rows.append(values | identity | context)
        frame = read_answers(policy, self.rule, [subject], [rows])
        for end in run_cascade(self.rule, frame, about=policy.about).rows.to_dicts():
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


def in_learning_share(frame: pl.DataFrame, learning: LearningShare) -> BoolArray:
    """Rows that the cascade can learn from: by the hash of their cluster, or else of their id."""
    if learning.column not in frame.columns:
        raise ArgumentError(
            "judgments", learning.column, "the cascade's learning share is a hash of this column"
        )
    # One cluster for all rows of an id: the rows of some judges can lack it.
    table = frame.select("id", cluster=as_text(frame[learning.column]))
    cluster = pl.col("cluster").drop_nulls().first().over("id")
    key = pl.coalesce("cluster " + cluster, "row " + pl.col("id").cast(pl.String))
    digests = (
        hashlib.sha256(f"cascade {learning.seed} {name}".encode()).digest()
        for name in table.select(key).to_series()
    )
    below = [int.from_bytes(digest[:8], "big") / 2**64 < learning.share for digest in digests]
    return np.array(below, dtype=np.bool_)


def read_answers(
    policy: Policy, rule: CascadeRule, subjects: Sequence[Subject], rows: Sequence[Sequence[Row]]
) -> pl.DataFrame:
    """The rows in the form that selection reads: grades in the columns of pairs, with context."""
    context = [] if rule.category is None else [rule.category]
    if rule.lengths == "length":
        context += ["length_a", "length_b"]
    read = []
    for subject, subject_rows in zip(subjects, rows, strict=True):
        for row in subject_rows:
            values = {name: row.get(name) for name in _READ} | {
                name: row[name] for name in context if name in row
            }
            if policy.about == "grades":
                word = None if row["judge"] is None else PASS if row["judge"] else FAIL
                values |= {"judge": row["judge_name"], "p_a": row["p_pass"], "verdict": word}
            if rule.lengths == "response" and isinstance(subject, Pair):
                values |= {"response_a": subject.response_a, "response_b": subject.response_b}
            read.append(values)
    frame = pl.DataFrame(read, schema_overrides=_READ, infer_schema_length=None)
    return mark_off_answer(frame, policy.min_answer_mass)


def _policy_fields(
    plan: CascadePlan, decided: CascadeRows, last: pl.DataFrame, coverage: Coverage, total: float
) -> dict[str, Any]:
    """The policy's field, given the rows of the last judge on what the cascade decided."""
    rule = plan.rule
    n = decided.rows.height
    costs = np.cumsum([stage.cost for stage in rule.stages])
    measured = last.filter(IS_MEASURED)
    report = CascadeReport(
        rule=rule,
        cost_source=plan.cost_source,
        cost=float(costs[decided.stage].mean()),
        cost_last=rule.stages[-1].cost,
        coverage_last=coverage(measured) * (measured.height / n) if last.height == n else None,
        n_verdicts=n,
        n_overturned=count_overturned(decided.judged["verdict"], decided.rows["verdict"]),
        stopped=tuple(np.bincount(decided.stage, minlength=len(costs)).tolist()),
        failed=tuple(decided.failed.sum(axis=0).tolist()),
        dropped_stages=plan.dropped_stages,
    )
    return {"cascade": report}


def with_parts(rule: CascadeRule, store: StorePlace) -> CascadeRule:
    """The rule with the parts of its judges' fingerprints, if the store has them."""
    prints = [s.judge_fingerprint for s in rule.stages if s.judge_fingerprint is not None]
    parts = read_judge_parts(prints, store)
    stages = (
        replace(s, fingerprint_parts=dict(parts[s.judge_fingerprint]))
        if s.judge_fingerprint in parts
        else s
        for s in rule.stages
    )
    return replace(rule, stages=tuple(stages))


class _CascadeMethod(DoubtMethod):
    """What a cascade that is planned now, and one that was planned before, have in common."""

    doubt = CascadeDoubt
    reads_texts = True
    reads_failed = True
    keeps_cuts = False

    @property
    def takes_weights(self) -> bool:
        return False


@dataclass(frozen=True)
class Cascade(_CascadeMethod):
    """Judges of the rows, cheap to strong; each is needed only if those before it are not sure.

    Stages, weights and tau are planned by `plan_cascade`, on a share of the labels that does not
    calibrate.

    Args:
        judges: Judges of the file, cheap to strong, separated by commas. Or a list of them.
        costs: Cost of a row for each judge of the cascade, such as 1,5,30. By default the mean of
            the rows' column `cost`.
        category: Column of categories that a learned doubt or cascade can learn from.
        share: Share of the labels that a learned doubt, jury or cascade learns from.
    """

    judges: str | Sequence[str] = ()
    costs: Sequence[float] | None = None
    category: str | None = None
    share: float = 0.3

    @property
    def columns(self) -> tuple[str | None, ...]:
        return (self.category,)

    def learn(self, labelled: Labelled) -> FittedDoubt:
        from adjudge.selection.cascade_plan import plan_cascade

        if labelled.judgments is None:
            raise ArgumentError("judgments", None, "a cascade is planned on judgments")
        plan = plan_cascade(labelled.judgments, self, store=labelled.store, **labelled.settings)
        return calibrate_plan(plan, labelled)


@dataclass(frozen=True)
class PlannedCascade(_CascadeMethod):
    """The cascade of a plan that `plan_cascade` made before.

    Args:
        plan: Use the cascade of this plan (plan cascade -o) instead of planning one.
    """

    plan: CascadePlan | str | Path

    @cached_property
    def read_plan(self) -> CascadePlan:
        from adjudge.selection.cascade_plan import CascadePlan

        if isinstance(self.plan, CascadePlan):
            return self.plan
        return read_result(self.plan, CascadePlan)

    @property
    def columns(self) -> tuple[str | None, ...]:
        return (self.read_plan.rule.category,)

    def learn(self, labelled: Labelled) -> FittedDoubt:
        limit = labelled.settings["min_answer_mass"]
        planned_limit = self.read_plan.min_answer_mass
        if planned_limit != limit:
            remedy = f"the plan was made with {planned_limit}: use that"
            raise ArgumentError("min_answer_mass", limit, remedy)
        return calibrate_plan(self.read_plan, labelled)


def calibrate_plan(plan: CascadePlan, labelled: Labelled) -> FittedDoubt:
    """Run the planned cascade on the labelled rows; those of its learning share are refused.

    So are rows that share a cluster with one of them.
    """
    if plan.about != labelled.about:
        raise PolicyMismatchError(
            f"the plan is about {plan.about}, but these are {labelled.about}; plan again on rows "
            "like these",
            differs=("about",),
        )
    rule = with_parts(plan.rule, labelled.store)
    plan = replace(plan, rule=rule)
    doubt = CascadeDoubt(rule)
    rows = Rows(labelled.frame).without(~of_stages(rule.members), OTHER_JUDGE)
    doubt.check_judges(rows.frame, made="the plan", store=labelled.store)
    frame = _outside_learning_share(rows.frame, rule.learning, labelled.cluster)
    n_learning = rows.frame["id"].n_unique() - frame["id"].n_unique()
    if frame.height == 0:
        raise ArgumentError(
            "judgments",
            n_learning,
            "every labelled row is in the learning share of the cascade: label others to calibrate",
        )
    dropped = {**rows.dropped, LEARNING_ROW: n_learning}
    assumptions = [_ONE_JUDGE.format(", ".join(doubt.judges)), _FAILURES]
    decided = run_cascade(rule, frame, about=labelled.about)
    if decided.unscored[NOT_ASKED]:
        complete = _asked_every_stage(frame, rule, decided)
        lost = frame["id"].n_unique() - complete["id"].n_unique()
        dropped[NOT_EVERY_STAGE] = lost
        assumptions.append(
            f"the {lost:,} rows that were not judged by every stage are missing at random"
        )
        frame = complete
        decided = run_cascade(rule, frame, about=labelled.about)
    was_decided = pl.col("id").is_in(decided.rows["id"].implode())
    last_judge = frame.filter(of_stages(rule.members[-1:]), was_decided)
    return FittedDoubt(
        doubt,
        decided.rows,
        dropped=dropped,
        assumptions=tuple(assumptions),
        remarks=tuple(_plan_remarks(plan, labelled.settings["alpha"], n_learning)),
        policy_fields=partial(_policy_fields, plan, decided, last_judge),
    )


_ONE_JUDGE = (
    "the cascade ({}) counts as one judge: its verdict and doubt are a fixed function of the row, "
    "learned from labels that do not calibrate, so every guarantee holds as for any judge; the "
    "promise is about the cascade's verdict, which can differ from that of the judge at which a "
    "row ends"
)
_FAILURES = (
    "if a judge fails, the row continues with the next one, in calibration exactly as in use; if "
    "the last one fails, there is no verdict"
)


def _outside_learning_share(
    frame: pl.DataFrame, learning: LearningShare, cluster: str | None
) -> pl.DataFrame:
    """The rows that can calibrate, sorted by id."""
    frame = frame.with_columns(__learning=in_learning_share(frame, learning))
    used = pl.col("__learning")
    if cluster is not None:
        used |= used.any().over(cluster) & pl.col(cluster).is_not_null()
    return frame.filter(~used).drop("__learning").sort("id")


def _asked_every_stage(
    frame: pl.DataFrame, rule: CascadeRule, decided: CascadeRows
) -> pl.DataFrame:
    """The rows that every judge was asked about, if others need a judge that was not asked.

    The rows that end earlier are the easy ones: alone they would not be a random sample.
    """
    table, _ = lay_out(frame, rule.members)
    complete_ids = table.frame["id"].filter(pl.Series(table.asked.all(axis=1)))
    complete = decided.rows["id"].is_in(complete_ids.implode()).to_numpy()
    # If all rows that end at a stage skipped the later ones, the cascade was in use.
    in_use = any(not complete[decided.stage == stage].any() for stage in set(decided.stage))
    if decided.rows.height == 0 or in_use:
        raise ArgumentError(
            "judgments",
            decided.unscored[NOT_ASKED],
            f"of {frame['id'].n_unique()} labelled rows, this many need a judge that was not "
            "asked, and the others are not a random sample: ask that judge too",
        )
    return frame.filter(pl.col("id").is_in(complete_ids.implode()))


def _plan_remarks(plan: CascadePlan, alpha: float | Fraction, n_learning: int) -> list[str]:
    """What a reader of the policy should know about the plan, one sentence each."""
    remarks = list(plan.warnings)
    if plan.alpha != float(exact_level(alpha)):
        remarks.append(f"the cascade was planned for alpha {plan.alpha:g}")
    if not plan.feasible and plan.candidate != "jury":
        remarks.append("no tau passes in the learning share: every row goes to the last judge")
    if len(plan.rule.stages) == 1:
        judge = plan.rule.judges[0]
        remarks.append(
            f"the cascade is {judge} alone, and {count(n_learning, 'row')} of the learning share "
            "do not calibrate: if you want this judge alone in any case, "
            f"calibrate --judge {judge} uses all labels"
        )
    return remarks
