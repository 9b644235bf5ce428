"""Inspect: a scorer that accepts a verdict or leaves the sample unscored, and its logs as grades.

Installed with adjudge under the entry point group `inspect_ai`, as `adjudge/policy_judge`::

    inspect score LOG --scorer adjudge/policy_judge -S policy=policy.json -S judge=openai:MODEL
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import polars as pl

from adjudge.data.logs.inspect import with_attached
from adjudge.errors import ArgumentError
from adjudge.images import NotTextError
from adjudge.integrations import missing_host
from adjudge.integrations.policy_judge import PolicyJudge
from adjudge.judges.prompting import write_value
from adjudge.records import ABSTAINED, MEASURED
from adjudge.server.service import JudgeOptions
from adjudge.server.webhook import PASSES, read_case

try:
    import anyio
    import anyio.to_thread
    from inspect_ai.log import EvalLog
    from inspect_ai.model import ChatMessage
    from inspect_ai.scorer import (
        CORRECT,
        INCORRECT,
        Score,
        Scorer,
        Target,
        accuracy,
        scorer,
        stderr,
    )
    from inspect_ai.solver import TaskState
except ModuleNotFoundError as error:
    raise missing_host(error, "inspect-ai") from None

#: Why an unscored sample has no value, by Inspect's reasons; an abstention is ours.
JUDGE_FAILED = "grader_failed"
NOT_ASKED = "scoring_failed"


@scorer(metrics=[accuracy(), stderr()])
def policy_judge(
    policy: str, judge: str | list[str] | None = None, **options: Unpack[JudgeOptions]
) -> Scorer:
    """Correct or incorrect if the policy accepts the judge's verdict, else unscored.

    The judge sees the input, the completion, the target as the reference and `context`, if the
    sample's metadata has it. With a policy about pairs the completion is compared with
    `response_b` of the metadata. The score's metadata has the judge's verdict on unscored samples.

    Args:
        policy: The file that `adjudge calibrate` wrote.
        judge: The judge, as for `adjudge judge`; a judge other than the policy's is refused. For
            the policy of a cascade, leave it out.
        options: protocol, base_url, prompt, criteria, reason, samples, max_tokens, concurrency.
    """
    # Inspect's command line makes a list of a value with commas.
    spec = ",".join(judge) if isinstance(judge, list) else judge
    hosted = PolicyJudge(policy, spec, **options)
    # Inspect can run on asyncio or trio, so a separate thread waits for each answer.
    waiting = anyio.CapacityLimiter(hosted.service.judge.backend.concurrency)

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        columns = {"reference": _reference(target), **state.metadata, "id": state.sample_id}
        try:
            case = read_case(
                hosted.policy, prompt=_messages(state.input), response=answer, columns=columns
            )
            outcome = await anyio.to_thread.run_sync(
                hosted.decide, case, abandon_on_cancel=True, limiter=waiting
            )
        except ArgumentError as trouble:
            return Score.unscored(reason=NOT_ASKED, answer=answer, explanation=str(trouble))
        details = dict(outcome.details)
        if outcome.passed is None:
            reason = ABSTAINED if details["status"] in MEASURED else JUDGE_FAILED
            return Score.unscored(
                reason=reason, answer=answer, explanation=outcome.explanation, metadata=details
            )
        value = CORRECT if outcome.passed else INCORRECT
        return Score(value=value, answer=answer, explanation=outcome.explanation, metadata=details)

    return score


def log_grades(log: EvalLog, *, scorer: str = "policy_judge") -> pl.DataFrame:
    """The judge's verdict on every sample of a log, accepted or not, with the texts.

    `accuracy` in the log is over the accepted samples, which are the easier ones. Label a random
    part of these rows (`adjudge label`); `estimate` then gives the rate over all of them. Scores
    that were edited in Inspect are used as they were before the edit: people edit scores they
    disagree with, so edits are not a random sample. Samples without a score have the status
    `error`. Epochs of one sample share a `prompt_id`.
    """
    several = (log.eval.config.epochs or 1) > 1
    names = {name for sample in log.samples or () for name in sample.scores or {}}
    if scorer not in names:
        listed = ", ".join(sorted(names)) or "none"
        raise ArgumentError("scorer", scorer, f"name one of the log's scorers ({listed})")
    rows = []
    for sample in log.samples or ():
        name = str(sample.id)
        row = {
            "id": f"{name}/{sample.epoch}" if several else name,
            "prompt_id": name,
            "prompt": _prompt(sample.input, sample.attachments),
            "response": sample.output.completion,
            "reference": _reference(Target(sample.target)),
        }
        rows.append(row | _grade((sample.scores or {}).get(scorer)))
    return pl.DataFrame(rows, infer_schema_length=None)


def _grade(score: Score | None) -> dict[str, Any]:
    """The scorer's first score. An edit replaces the metadata and keeps it in the history."""
    first = score.history[0] if score is not None and score.history else score
    details = {} if first is None or not isinstance(first.metadata, dict) else first.metadata
    verdict = details.get("verdict", "none")
    names = ("verdict", "judge_verdict", "learned_doubt")
    learned = {} if details.get("learned_doubt") is None else {n: details.get(n) for n in names}
    measure = "p_a" if "p_a" in details else "p_pass"
    return {
        "judge_name": details.get("judge"),
        "protocol": details.get("protocol"),
        "judge_fingerprint": details.get("judge_fingerprint"),
        "status": details.get("status", "error"),
        measure: details.get(measure),
        "judge": None if verdict not in PASSES else int(PASSES[verdict]),
        "uncertainty": details.get("uncertainty"),
        "accepted": details.get("accepted", False),
        **learned,
    }


def _prompt(content: str | list[ChatMessage], attachments: Mapping[str, str]) -> str | None:
    try:
        return write_value(with_attached(_messages(content), attachments))
    except NotTextError:
        return None


def _messages(content: str | list[ChatMessage]) -> str | list[dict[str, Any]]:
    """The input as text, or as the list of messages that `read_case` writes as a conversation."""
    if isinstance(content, str):
        return content
    return [
        {
            **message.model_dump(include={"role", "content"}),
            "tool_calls": [
                {"name": call.function, "arguments": call.arguments}
                for call in getattr(message, "tool_calls", None) or ()
            ],
        }
        for message in content
    ]


def _reference(target: Target) -> str | None:
    """The target as text. Several targets are alternatives, one per line."""
    return "\n".join(target) or None
