"""Both answers scored on six criteria from 1 to 10, in both orders (Soft-Elo paper, appendix A)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.data.shown import OTHER_SIDE
from adjudge.judges.criteria import Criterion, check_criteria, criteria_settings, our_criteria
from adjudge.judges.interface import Prompt, Question, Text
from adjudge.judges.parsing import Scores, parse_preference, parse_rubric, unread
from adjudge.judges.prompting import builtin_prompt, fill
from adjudge.judges.protocols._choices import (
    BOTH_ORDERS,
    CUT_OFF,
    PLACEHOLDERS,
    PromptProtocol,
    judgment,
    reason,
    worst,
)
from adjudge.records import MEASURED, Judgment, Pair, Reply, Status, Subject
from adjudge.statistics.entropy import verdict
from adjudge.validation import count

LOW = 1
HIGH = 10
#: Several times the size of the object; text after it is not read. (The paper allows 4096.)
_TOKENS = 1024
_WINNERS = {"A": "model_a", "B": "model_b", None: "tie"}


class Rubric(PromptProtocol):
    """s = mean over criteria and both orders of score(response_a) - score(response_b).

    If s changes sign when the answers are swapped, the row is a tie: no verdict. p_a here is s on a
    linear scale to [0, 1], p_a = 1/2 + s/18, and uncertainty is 1 - |s|/9. It orders rows by doubt
    and is not a probability; `rank` turns score differences into calibrated probabilities. The
    scores, averaged over the orders, are in `extra` as scores_a and scores_b, so that the file of
    judgments is also a file of battles. `winner` there is the human label, `judge_winner` is the
    judge's. If a criterion is missing, the row has no number. The overall preference that the judge
    states is kept for each order in `preference_ab` and `preference_ba` (A, B or tie, about the
    responses; None if it states none). `diagnose bias` compares it with the scores.
    """

    name = "rubric"
    options = ("criteria", "prompt", "max_tokens")
    columns = (
        *("judge_winner", "score_diff", "score_diff_ab", "score_diff_ba"),
        *("score_a", "score_b", "scores_a", "scores_b"),
        *("preference_ab", "preference_ba"),
    )
    wants: frozenset[type] = frozenset({Text})

    def __init__(
        self,
        *,
        criteria: Sequence[Criterion] | None = None,
        max_tokens: int = _TOKENS,
        prompt: Prompt | None = None,
    ) -> None:
        self.criteria = check_criteria(our_criteria("rubric") if criteria is None else criteria)
        self.max_tokens = count(max_tokens, "max_tokens", least=1)
        self.use_prompt(
            prompt or builtin_prompt("rubric"),
            required=PLACEHOLDERS,
            optional=("criteria", "format"),
        )
        names = [criterion.name for criterion in self.criteria]
        # Not valid JSON on purpose: a judge that repeats the prompt has not given a score.
        side = "{" + ", ".join(f'"{name}": <score>' for name in names) + "}"
        self._words = {
            "criteria": "\n\n".join(criterion.describe() for criterion in self.criteria),
            "format": f'{{"A": {side}, "B": {side}, "preference": <preference>}}',
        }
        self._want = Text(self.max_tokens, json_schema=_schema(names))

    def settings(self) -> Mapping[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            "criteria": criteria_settings(self.criteria),
            "scale": [LOW, HIGH],
            "max_tokens": self.max_tokens,
        }

    def questions(self, subject: Subject) -> Sequence[Question]:
        pair = self.pair(subject)
        shown = [{**self.shown(pair, order), **self._words} for order in BOTH_ORDERS]
        asked = zip(shown, BOTH_ORDERS, strict=True)
        return [Question(fill(self.prompt, values), self._want, order) for values, order in asked]

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair = self.pair(subject)
        read = [self._read(reply) for reply in replies]
        status = worst(status for status, _ in read)
        if status not in MEASURED:
            words = next((str(scores) for state, scores in read if state == status), None)
            detail = reason(replies, status) or words
            return [judgment(pair, self.name, status, detail=detail, extra=_votes(pair))]
        (_, forward), (_, reverse) = read
        forward_a, forward_b = forward
        reverse_b, reverse_a = reverse
        scores_a = _mean_of(forward_a, reverse_a)
        scores_b = _mean_of(forward_b, reverse_b)
        ahead = _difference(forward_a, forward_b)
        behind = _difference(reverse_a, reverse_b)
        tie = ahead * behind < 0
        s = (ahead + behind) / 2
        p_a = 0.5 if tie else 0.5 + s / (2 * (HIGH - LOW))
        named = verdict(p_a)
        first, second = (parse_preference(reply.text) for reply in replies)
        extra = {
            **_votes(pair),
            "judge_winner": _WINNERS[named],
            "score_diff": s,
            "score_diff_ab": ahead,
            "score_diff_ba": behind,
            "score_a": math.fsum(scores_a.values()) / len(scores_a),
            "score_b": math.fsum(scores_b.values()) / len(scores_b),
            "scores_a": scores_a,
            "scores_b": scores_b,
            "preference_ab": first,
            "preference_ba": OTHER_SIDE.get(second or "", second),
        }
        detail = "the difference changes sign with the order: a tie" if tie else None
        doubt = {"p_a": p_a, "uncertainty": 1 - abs(2 * p_a - 1), "verdict": named}
        return [judgment(pair, self.name, "ok", **doubt, detail=detail, extra=extra)]

    def status_of(self, reply: Reply) -> tuple[Status, str | None]:
        status, scores = self._read(reply)
        return status, None if status in MEASURED else scores

    def _read(self, reply: Reply) -> tuple[Status, Any]:
        if reply.status not in MEASURED:
            return reply.status, reply.error
        names = [criterion.name for criterion in self.criteria]
        scores = parse_rubric(reply.text, criteria=names, low=LOW, high=HIGH)
        if isinstance(scores, str):
            return unread(reply.text), CUT_OFF if reply.cut_off else scores
        return "ok", scores


def _votes(pair: Pair) -> dict[str, Any]:
    """The human label under its name in battles, unless the input already has it."""
    if {"winner", "human_pref"} & set(pair.extra):
        return {}
    winner = None if pair.label is None else _WINNERS.get(pair.label, "tie")
    return {"winner": winner}


def _mean_of(first: Scores, second: Scores) -> Scores:
    return {name: (value + second[name]) / 2 for name, value in first.items()}


def _difference(a: Scores, b: Scores) -> float:
    return math.fsum(a[name] - b[name] for name in a) / len(a)


def _schema(names: Sequence[str]) -> dict[str, Any]:
    side = _object({n: {"type": "integer", "minimum": LOW, "maximum": HIGH} for n in names})
    preference = {"type": "string", "enum": ["A", "B", "tie"]}
    return _object({"A": side, "B": side, "preference": preference})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
