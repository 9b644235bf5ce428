"""A cascade: judges, cheap to strong, each asked only if those before are unsure.

What they say about a row becomes one verdict and one doubt. Calibrate, select, serve and the
runner's stop rule all use this code, so that a row is decided in use exactly as in calibration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.data.judgments import ERROR, IS_ERROR, mark_off_answer
from adjudge.data.rows import FAIL, PASS
from adjudge.data.tables import as_text
from adjudge.data.writing import Row
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.judges.interface import Judge
from adjudge.judges.judge import identity_of, match_judge, take_known_route
from adjudge.policy.doubts import CascadeReport, CascadeRule, LearningShare
from adjudge.policy.result import Contradiction, Policy, PolicyGroup
from adjudge.present.text import count
from adjudge.records import MEASURED, About, Grade, Pair, Subject
from adjudge.selection.doubts.base import (
    NO_LENGTHS,
    Answers,
    Decision,
    Doubt,
    ScoredRows,
    StageCount,
    check_identities,
)
from adjudge.selection.doubts.evidence import (
    ORDER_GAP,
    Evidence,
    LearnedMargin,
    check_context,
    doubt_of,
    gap_between,
    with_context,
    with_learned,
)
from adjudge.selection.doubts.jury import MEMBER, OF_JUDGES, name_members
from adjudge.selection.labelled import NewRows
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.store import StorePlace
from adjudge.validation import BoolArray, FloatArray, IntArray

#: The value in the judge and protocol columns of a cascade's rows.
CASCADE = "cascade"
#: The column with the judge at which a row ended.
STAGE = "stage"
NOT_ASKED = "needs a judge that was not asked"
OTHER_JUDGE = "of a judge that is not a stage of the cascade"
#: A judge and its protocol.
Member = tuple[str, str | None]
_ROW = "__row"
IS_MEASURED = pl.col("status").is_in(list(MEASURED))
#: Columns of the judges' rows that a cascade reads, in addition to its context columns.
_READ: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("id", "judge", "protocol", "status", "verdict"), pl.String),
    **dict.fromkeys(("p_a", "p_fwd", "p_rev", "uncertainty", "answer_mass"), pl.Float64),
    "judge_fingerprint": pl.String,
}


@dataclass(frozen=True)
class StageRows:
    """One row per id; `stages` has the rows of each stage as frames in the same order."""

    frame: pl.DataFrame
    stages: tuple[pl.DataFrame, ...]
    asked: BoolArray
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class CascadeRows(ScoredRows):
    """The rows as a cascade decides them: `rows` are those that have reached a decision.

    `judged` has the same rows with the values of the judge at which each ended. `stage` is that
    judge's position, `failed` marks the judges that were asked and gave no score, `incomplete` are
    the rows that need a judge not yet asked.
    """

    judges: tuple[str, ...]
    judged: pl.DataFrame
    stage: IntArray
    failed: BoolArray
    incomplete: pl.DataFrame

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


def lay_out(frame: pl.DataFrame, stages: Sequence[Member]) -> StageRows:
    """One row per id, in the order of the frame, with the rows of each stage next to it."""
    judged = [
        frame.filter(of_stages([stage])).unique("id", maintain_order=True) for stage in stages
    ]
    several = pl.concat(judged, how="diagonal_relaxed")
    shared = [name for name in several.columns if name not in OF_JUDGES and name != "id"]
    table = several.group_by("id", maintain_order=True).agg(
        pl.col(name).drop_nulls().first() for name in shared
    )
    by_stage = tuple(
        table.select("id").join(
            judge_rows.select("id", *(name for name in judge_rows.columns if name in OF_JUDGES)),
            on="id",
            how="left",
            maintain_order="left",
        )
        for judge_rows in judged
    )
    p, forward, reverse = (
        _across(by_stage, pl.col(name).cast(pl.Float64).fill_null(np.nan))
        for name in ("p_a", "p_fwd", "p_rev")
    )
    p = np.where(_across(by_stage, IS_MEASURED), p, np.nan)
    gaps = gap_between(forward, reverse)
    complete = not (np.isnan(gaps) & ~np.isnan(p)).any()
    return StageRows(
        frame=table,
        stages=by_stage,
        asked=_across(by_stage, pl.col("status").is_not_null()),
        evidence=Evidence(
            judges=stage_names(stages),
            p=p,
            order_gaps=gaps if complete else None,
            ties=_across(by_stage, pl.col("verdict") == "tie"),
        ),
    )


def _across(stages: Sequence[pl.DataFrame], cell: pl.Expr) -> NDArray[Any]:
    """A column for each stage; what is unknown of a condition is false."""
    columns = [stage_rows.select(cell).to_series() for stage_rows in stages]
    return np.column_stack([c.fill_null(False) if c.dtype == pl.Boolean else c for c in columns])


def stage_doubts(
    doubts: Sequence[LearnedMargin], evidence: Evidence
) -> tuple[FloatArray, FloatArray]:
    """Margin and u of every row at every stage; 0 and infinity if a judge has no verdict."""
    so_far = (evidence.of(range(stage + 1)) for stage in range(len(doubts)))
    margins = [margin.margins(seen) for margin, seen in zip(doubts, so_far, strict=True)]
    return with_failures(np.column_stack(margins), evidence)


def with_failures(margins: FloatArray, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """The margins and their doubts; 0 and infinity if a judge failed or returned a tie."""
    mute = np.isnan(evidence.p)
    if evidence.ties is not None:
        mute |= evidence.ties
    return np.where(mute, 0.0, margins), np.where(mute, np.inf, doubt_of(margins))


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
    laid = lay_out(frame, rule.members)
    needs_gaps = any(ORDER_GAP in stage.columns for stage in rule.stages)
    if needs_gaps and laid.evidence.order_gaps is None:
        raise ArgumentError("judgments", "p_fwd, p_rev", "the cascade needs both orders")
    learned = [LearnedMargin.load(stage, rule.categories) for stage in rule.stages]
    evidence = with_context(laid.evidence, laid.frame, lengths=rule.lengths, category=rule.category)
    margins, doubts = stage_doubts(learned, evidence)
    stage = stop_at(doubts, rule.tau)
    way = np.arange(len(rule.stages)) <= stage[:, None]
    complete = (laid.asked | ~way).all(axis=1)
    judged = _at_stage(laid, stage).with_columns(
        pl.lit(CASCADE).alias("judge"),
        pl.lit(CASCADE).alias("protocol"),
        pl.lit(None, pl.String).alias("judge_fingerprint"),
        *_spent(laid, way),
    )
    here = np.arange(len(stage)), stage
    doubt = np.where(np.isinf(doubts[here]), INFINITE_DOUBT, doubts[here])
    rows = with_learned(judged, margins[here], doubt, about=about)
    if "label" in rows.columns:
        rows = rows.with_columns(IS_ERROR.alias(ERROR))
    decided = pl.Series(complete)
    ended, incomplete = judged.filter(decided), judged.filter(~decided)
    return CascadeRows(
        rows=rows.filter(decided),
        judge_verdicts=laid.stages[0]["verdict"].filter(decided),
        everything=pl.concat([ended, incomplete]),
        unscored={NOT_ASKED: incomplete.height},
        reason=pl.lit(NOT_ASKED),
        judges=stage_names(rule.members),
        judged=ended,
        stage=stage[complete],
        failed=(way & laid.asked & np.isnan(evidence.p))[complete],
        incomplete=incomplete,
    )


def _at_stage(laid: StageRows, stage: IntArray) -> pl.DataFrame:
    """The rows with the columns and the name of the judge at which each ended."""
    ends = [
        stage_rows.with_row_index(_ROW)
        .filter(pl.Series(stage == at))
        .with_columns(pl.col("judge").alias(STAGE))
        for at, stage_rows in enumerate(laid.stages)
    ]
    ended = pl.concat(ends, how="diagonal_relaxed").sort(_ROW).drop(_ROW, "id")
    frame = laid.frame.drop(STAGE, strict=False)
    return frame.hstack(ended.drop([c for c in ended.columns if c in frame.columns]))


def _spent(laid: StageRows, way: BoolArray) -> list[pl.Series]:
    """Tokens and cost of every row, summed over the judges that were asked; null if unknown."""
    spent = []
    for column in ("tokens", "cost"):
        if all(column in stage_rows.columns for stage_rows in laid.stages):
            amount = pl.col(column).cast(pl.Float64, strict=False).fill_null(np.nan)
            each = _across(laid.stages, amount)
            total = pl.Series(column, np.where(way, each, 0.0).sum(axis=1), nan_to_null=True)
            spent.append(total.cast(pl.Int64) if column == "tokens" else total)
    return spent


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

    def __post_init__(self) -> None:
        prints = {stage.judge_fingerprint for stage in self.rule.stages}
        vars(self).update(
            judges=stage_names(self.rule.members),
            fingerprints=tuple(sorted(name for name in prints if name is not None)),
            stages=self.rule.stages,
            not_servable=NO_LENGTHS if self.rule.lengths == "length" else None,
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
