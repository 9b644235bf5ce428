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
from adjudge.errors import ArgumentError
from adjudge.judges.judge import PROTOCOLS
from adjudge.judges.judging import JudgingRun, run_options
from adjudge.judges.options import JudgingOptions, spread_options
from adjudge.judges.rows import Outcome, StopRule
from adjudge.judges.subjects import SubjectSource
from adjudge.policy.doubts import CascadeRule
from adjudge.policy.result import Policy
from adjudge.records import MEASURED, Grade, Pair, Subject
from adjudge.selection.cascade import CascadeDoubt, run_cascade
from adjudge.selection.doubts.base import Answers, Decision
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
    if policy.cascade is None:
        raise ArgumentError(
            "policy", ", ".join(policy.judges), "it has no cascade: name its judge with --judge"
        )
    rule = policy.cascade.rule
    protocols = sorted({stage.protocol or "" for stage in rule.stages})
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
    limit = options.min_answer_mass
    if limit is None and "min_answer_mass" in PROTOCOLS.load(stage_protocol).options:
        # Same limit as in calibration; old policies have none.
        limit = policy.min_answer_mass or 0.0
    judges = options.judge or list(rule.judges)
    options = replace(options, protocol=stage_protocol, judge=judges, min_answer_mass=limit)
    CascadeDoubt(rule).take_judges(policy, options.make_judges())
    return replace(options, stop_rule=stop_rule(policy, rule))


def stop_rule(policy: Policy, rule: CascadeRule) -> StopRule:
    """What a runner needs from a policy: which subjects are decided after a stage."""

    def outcomes(subjects: Sequence[Subject], rows: Sequence[Sequence[Row]]) -> list[Outcome]:
        frame = _read(policy, rule, subjects, rows)
        decided = run_cascade(rule, frame, about=policy.about).rows
        settled = set(decided.filter(_MEASURED)["id"].to_list())
        latest = frame.unique("id", keep="last", maintain_order=True)
        failed = set(latest.filter(~_MEASURED)["id"].to_list())
        return [
            "settled" if subject.id in settled else "failure" if subject.id in failed else "doubt"
            for subject in subjects
        ]

    return outcomes


def decide_one(
    policy: Policy, rule: CascadeRule, subject: Subject, category: str | None, answers: Answers
) -> Decision | None:
    """The decision on what the judges of a service said so far, on rows as a run writes them."""
    context = {} if rule.category is None else {rule.category: category}
    rows = []
    for judge, record in answers:
        names = [field.name for field in fields(record) if field.name != "extra"]
        named = "judge_name" if isinstance(record, Grade) else "judge"
        identity = {named: judge.backend.name, "judge_fingerprint": judge.fingerprint}
        rows.append({name: getattr(record, name) for name in names} | identity | context)
    frame = _read(policy, rule, [subject], [rows])
    for end in run_cascade(rule, frame, about=policy.about).rows.to_dicts():
        return Decision(end["status"], end["verdict"], end["uncertainty"])
    return None


def _read(
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
