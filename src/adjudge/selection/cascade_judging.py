"""Ask the judges of a cascade in order, each only about rows that are still uncertain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import ParamSpec, Protocol

import polars as pl

from adjudge.data.judgments import mark_off_answer
from adjudge.data.rows import FAIL, PASS
from adjudge.data.writing import Row
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.judges.interface import Judge
from adjudge.judges.judge import PROTOCOLS, identity_of, match_judge, take_known_route
from adjudge.judges.judging import JudgingRun, run_options
from adjudge.judges.options import JudgingOptions, spread_options
from adjudge.judges.rows import Outcome, StopRule
from adjudge.judges.subjects import SubjectSource
from adjudge.policy.doubts import CascadeReport
from adjudge.policy.result import Policy
from adjudge.records import MEASURED, Grade, Judgment, Pair, Subject
from adjudge.selection.cascade import CascadeRows, run_cascade
from adjudge.selection.verifying import read_policy

P = ParamSpec("P")
#: Columns of the judges' rows that a cascade reads, in addition to its context columns.
_READ = {
    "id": pl.String,
    "judge": pl.String,
    "protocol": pl.String,
    "status": pl.String,
    "p_a": pl.Float64,
    "p_fwd": pl.Float64,
    "p_rev": pl.Float64,
    "uncertainty": pl.Float64,
    "answer_mass": pl.Float64,
    "verdict": pl.String,
    "judge_fingerprint": pl.String,
}
_MEASURED = pl.col("status").is_in(list(MEASURED))


class _Call(Protocol[P]):
    """A function of pairs, a policy and, by name, of options."""

    def __call__(
        self,
        pairs: SubjectSource,
        policy: Policy | str | Path,
        *args: P.args,
        **options: P.kwargs,
    ) -> JudgingRun: ...


def _takes(
    make_options: Callable[P, JudgingOptions],
) -> Callable[
    [Callable[[SubjectSource, Policy | str | Path, JudgingOptions], JudgingRun]], _Call[P]
]:
    """A function whose keyword arguments are the options, which are declared once."""
    return partial(spread_options, make_options=make_options)


@_takes(JudgingOptions)
def judge_cascade(
    pairs: SubjectSource, policy: Policy | str | Path, options: JudgingOptions
) -> JudgingRun:
    """Ask the judges of a cascade policy, each only about the pairs that are still undecided.

    The result has the rows of every judge that was asked, ready for `select`. Repeat the call to
    resume. Every field of `JudgingOptions` is a keyword argument, and is explained there.

    Args:
        pairs: Pairs or items to judge. A path, a frame, or an iterable of Pair or Item.
        policy: The policy that calibrate --cascade wrote. A file, or the policy itself.
        options: The fields of `JudgingOptions`, by name. `judge` has the stages as objects or
            specs, cheap to strong, if their names in the policy are not enough to reach them. The
            protocol and the stop rule are those of the policy.
    """
    if options.stop_rule is not None:
        raise ArgumentError("stop_rule", options.stop_rule, "the policy has one: leave it out")
    asked_by = None if options.protocol == "preference" else str(options.protocol)
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    return run_options(pairs, cascade_options(rules, options, protocol=asked_by))


def cascade_options(
    policy: Policy, options: JudgingOptions, *, protocol: str | None = None
) -> JudgingOptions:
    """The options of a run that asks the policy's judges stage by stage.

    `options.judge` can hold the stages as objects, cheap to strong. If it is empty, the judges
    named in the policy are asked. They are asked by the policy's protocol. Another `protocol`, or
    a judge that is not in the policy, is refused before anything is asked.
    """
    stages = _cascade(policy).rule.stages
    protocols = sorted({stage.protocol or "" for stage in stages})
    if len(protocols) > 1:
        raise ArgumentError(
            "policy",
            ", ".join(protocols),
            "its judges use several protocols, but a run uses one: ask each judge with "
            "adjudge judge, and give all rows to adjudge select",
        )
    stage_protocol = protocols[0]
    if stage_protocol not in PROTOCOLS:
        raise ArgumentError("policy", stage_protocol, "its judges were not asked by adjudge judge")
    if protocol not in (None, stage_protocol):
        raise ArgumentError(
            "protocol", protocol, f"the policy's judges were asked by {stage_protocol}"
        )
    options = replace(options, protocol=stage_protocol)
    if not options.judge:
        options = replace(options, judge=[stage.judge for stage in stages])
    if (
        options.min_answer_mass is None
        and "min_answer_mass" in PROTOCOLS.load(stage_protocol).options
    ):
        # Same limit as in calibration; old policies have none.
        options = replace(options, min_answer_mass=policy.min_answer_mass or 0.0)
    check_judges(policy, options.make_judges())
    return replace(options, stop_rule=stop_rule(policy))


def check_judges(policy: Policy, judges: Sequence[Judge]) -> list[Judge]:
    """The judges by the routes of the policy; PolicyMismatchError if one is a different judge."""
    stages = _cascade(policy).rule.stages
    if len(judges) != len(stages):
        names = ", ".join(stage.judge for stage in stages)
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
    return checked


def stop_rule(policy: Policy) -> StopRule:
    """What a runner needs from a policy: which subjects are decided after a stage."""

    def outcomes(subjects: Sequence[Subject], rows: Sequence[Sequence[Row]]) -> list[Outcome]:
        frame = _read(policy, subjects, rows)
        decided = run_cascade(_cascade(policy).rule, frame, about=policy.about).rows
        settled = set(decided.filter(_MEASURED)["id"].to_list())
        latest = frame.unique("id", keep="last", maintain_order=True)
        failed = set(latest.filter(~_MEASURED)["id"].to_list())
        return [
            "settled" if subject.id in settled else "failure" if subject.id in failed else "doubt"
            for subject in subjects
        ]

    return outcomes


def decide_one(policy: Policy, subject: Subject, rows: Sequence[Row]) -> CascadeRows:
    """The cascade's decision on the rows of one subject so far, as in `select`."""
    frame = _read(policy, [subject], [rows])
    return run_cascade(_cascade(policy).rule, frame, about=policy.about)


def row_of(record: Judgment | Grade, judge: Judge) -> Row:
    """A record as the row that a run writes."""
    row = {
        field.name: getattr(record, field.name) for field in fields(record) if field.name != "extra"
    }
    named = "judge_name" if isinstance(record, Grade) else "judge"
    return row | {named: judge.backend.name, "judge_fingerprint": judge.fingerprint}


def _cascade(policy: Policy) -> CascadeReport:
    if policy.cascade is None:
        raise ArgumentError(
            "policy", ", ".join(policy.judges), "it has no cascade: name its judge with --judge"
        )
    return policy.cascade


def _read(
    policy: Policy, subjects: Sequence[Subject], rows: Sequence[Sequence[Row]]
) -> pl.DataFrame:
    """The rows in the form that selection reads: grades in the columns of pairs, with context."""
    rule = _cascade(policy).rule
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
