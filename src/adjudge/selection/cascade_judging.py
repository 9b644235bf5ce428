"""Ask the judges of a cascade in order, each only about rows that are still uncertain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec

from adjudge.data.writing import Row
from adjudge.errors import ArgumentError
from adjudge.judges.judge import PROTOCOLS
from adjudge.judges.judging import JudgingRun, run_options
from adjudge.judges.options import JudgingOptions, spread_options
from adjudge.judges.rows import Outcome, StopRule
from adjudge.judges.subjects import SubjectSource
from adjudge.policy.doubts import CascadeRule
from adjudge.policy.result import Policy
from adjudge.records import Subject
from adjudge.selection.cascade import CascadeDoubt, read_answers, run_cascade
from adjudge.selection.doubts.jury import IS_MEASURED
from adjudge.selection.verifying import read_policy

P = ParamSpec("P")


def _takes(
    make_options: Callable[P, JudgingOptions],
) -> Callable[
    [Callable[[SubjectSource, Policy | str | Path, JudgingOptions], JudgingRun]],
    Callable[Concatenate[SubjectSource, Policy | str | Path, P], JudgingRun],
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
        frame = read_answers(policy, rule, subjects, rows)
        decided = run_cascade(rule, frame, about=policy.about).rows
        settled = set(decided.filter(IS_MEASURED)["id"].to_list())
        latest = frame.unique("id", keep="last", maintain_order=True)
        failed = set(latest.filter(~IS_MEASURED)["id"].to_list())
        return [
            "settled" if subject.id in settled else "failure" if subject.id in failed else "doubt"
            for subject in subjects
        ]

    return outcomes
