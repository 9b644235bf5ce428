"""Ask the judges of a cascade in order, each only about rows that are still uncertain."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import polars as pl

from adjudge.data.derived import FAIL, PASS
from adjudge.data.judgments import mark_off_answer
from adjudge.data.rows import Identity
from adjudge.data.writing import Row
from adjudge.errors import ArgumentError, PolicyMismatchError
from adjudge.judges.identity import match_judge
from adjudge.judges.interface import Judge
from adjudge.judges.judge import PROTOCOLS, by_route
from adjudge.judges.judging import JudgingRun, run_options
from adjudge.judges.options import JudgingOptions, OneJudge
from adjudge.judges.prices import Price
from adjudge.judges.progress import ProgressCallback, choose_progress
from adjudge.judges.rows import Outcome, StopRule
from adjudge.judges.subjects import SubjectSource
from adjudge.policy.doubts import CascadeReport
from adjudge.policy.result import Policy
from adjudge.records import MEASURED, Grade, Judgment, Pair, Status, Subject
from adjudge.selection.cascade import CascadeRows, run_cascade
from adjudge.selection.verifying import read_policy
from adjudge.store.interface import DEFAULT_STORE, StorePlace

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


def judge_cascade(
    pairs: SubjectSource,
    policy: Policy | str | Path,
    *,
    judges: Sequence[OneJudge] = (),
    store: StorePlace = DEFAULT_STORE,
    output: str | Path | None = None,
    limit: int | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    reason: bool | None = None,
    samples: int | None = None,
    max_tokens: int | None = None,
    prompt: str | Path | None = None,
    criteria: str | Path | None = None,
    base_url: str | None = None,
    timeout: float | None = None,
    concurrency: int | None = None,
    rpm: float | None = None,
    max_cost: float | None = None,
    prices: str | Path | Mapping[str, Price] | None = None,
    retry: Collection[Status] = (),
    keep_going: bool = False,
    keep_raw: bool = True,
    engine: str = "local",
    workers: int | None = None,
    ray_address: str | None = None,
    progress: ProgressCallback | bool | None = None,
) -> JudgingRun:
    """Ask the judges of a cascade policy, each only about the pairs that are still undecided.

    The result has the rows of every judge that was asked, ready for `select`. Repeat the call to
    resume.

    Args:
        pairs: Pairs or items to judge. A path, a frame, or an iterable of Pair or Item.
        policy: The policy that calibrate --cascade wrote. A file, or the policy itself.
        judges: The stages as objects or specs, cheap to strong, if their names in the policy are
            not enough to reach them.
        store: Store of all replies: a file or postgresql://... Stored replies are not asked again.
        output: File for the rows (.jsonl, .csv, .tsv, .parquet, optionally .gz), written by atomic
            rename. Without it the rows are in `JudgingRun.judgments`.
        limit: Judge only the first N pairs.
        format: Name of a public format, if it cannot be detected from content.
        columns: Columns with other names. A mapping of our names to those of the files.
        labels_as: Meaning of words in label and verdict columns, such as {"0": "A", "1": "B"}.
        reason: Let the judge write reasons before its verdict.
        samples: Number of answers per order, for judges without log probabilities.
        max_tokens: Maximum tokens of a written answer; raise it if the judge reasons.
        prompt: Your own prompt file.
        criteria: Your own criteria: a JSON file, or the text of one criterion.
        base_url: Another server than the default one.
        timeout: Seconds to wait for one answer from a server.
        concurrency: Maximum calls in flight.
        rpm: Maximum requests per minute, retries included.
        max_cost: Stop before the next call would exceed this many dollars.
        prices: Your own prices, a file or a mapping.
        retry: Statuses to ask again; errors are always asked again.
        keep_going: Continue if the first ten replies have no usable score for one reason.
        keep_raw: False leaves the server's raw answers out of the store.
        engine: Where judges run: local or ray.
        workers: Number of Ray workers.
        ray_address: HOST:PORT of a Ray cluster's head.
        progress: A progress line on a terminal; or a function that is called with the progress.
    """
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    options = JudgingOptions(
        judge=list(judges),
        store=store,
        output=output,
        limit=limit,
        format=format,
        columns=columns,
        labels_as=labels_as,
        reason=reason,
        samples=samples,
        max_tokens=max_tokens,
        prompt=prompt,
        criteria=criteria,
        base_url=base_url,
        timeout=timeout,
        concurrency=concurrency,
        rpm=rpm,
        max_cost=max_cost,
        prices=prices,
        retry=retry,
        keep_going=keep_going,
        keep_raw=keep_raw,
        engine=engine,
        workers=workers,
        ray_address=ray_address,
        progress=choose_progress(progress),
    )
    return run_options(pairs, cascade_options(rules, options))


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
    own = protocols[0]
    if own not in PROTOCOLS:
        raise ArgumentError("policy", own, "its judges were not asked by adjudge judge")
    if protocol not in (None, own):
        raise ArgumentError("protocol", protocol, f"the policy's judges were asked by {own}")
    options = replace(options, protocol=own)
    if not options.judge:
        options = replace(options, judge=[stage.judge for stage in stages])
    if options.min_answer_mass is None and "min_answer_mass" in PROTOCOLS.load(own).options:
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
        routed = by_route(judge)
        for route, candidate in routed.items():
            if candidate.fingerprint == stage.judge_fingerprint:
                judge.backend.take_route(route)
                judge = candidate
                break
        known = Identity(
            stage.judge, stage.protocol, stage.judge_fingerprint, stage.fingerprint_parts
        )
        given = Identity(
            judge.backend.name, judge.protocol.name, judge.fingerprint, judge.fingerprint_parts
        )
        match_judge([known], given, made="this stage of the cascade", by_name=True)
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
            "settled" if one.id in settled else "failure" if one.id in failed else "doubt"
            for one in subjects
        ]

    return outcomes


def decide_one(policy: Policy, subject: Subject, rows: Sequence[Row]) -> CascadeRows:
    """The cascade's decision on the rows of one subject so far, as in `select`."""
    frame = _read(policy, [subject], [rows])
    return run_cascade(_cascade(policy).rule, frame, about=policy.about)


def row_of(record: Judgment | Grade, judge: Judge) -> Row:
    """A record as the row that a run writes."""
    row = {one.name: getattr(record, one.name) for one in fields(record) if one.name != "extra"}
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
    for subject, own in zip(subjects, rows, strict=True):
        for row in own:
            one = {name: row.get(name) for name in _READ} | {
                name: row[name] for name in context if name in row
            }
            if policy.about == "grades":
                word = None if row["judge"] is None else PASS if row["judge"] else FAIL
                one |= {"judge": row["judge_name"], "p_a": row["p_pass"], "verdict": word}
            if rule.lengths == "response" and isinstance(subject, Pair):
                one |= {"response_a": subject.response_a, "response_b": subject.response_b}
            read.append(one)
    frame = pl.DataFrame(read, schema_overrides=_READ, infer_schema_length=None)
    return mark_off_answer(frame, policy.min_answer_mass)
