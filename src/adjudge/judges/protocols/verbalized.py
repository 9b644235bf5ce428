"""Verbalized confidence: the judge says which answer is better and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from adjudge._validation import count, one_of
from adjudge.judges.answers import CUT_OFF
from adjudge.judges.interface import JudgeProtocol, Prompt, Question, Text
from adjudge.judges.parsing import Claim, parse_claim, unread
from adjudge.judges.prompting import builtin_prompt, check_prompt, fill
from adjudge.judges.protocols._pairwise import PLACEHOLDERS, judgment, pair_values, seeded_order
from adjudge.records import MEASURED, Judgment, Order, Pair, Reply, Status, Subject
from adjudge.uncertainty.entropy import verdict


class Verbalized(JudgeProtocol):
    """One reply with a verdict and a confidence c in [0, 1] (SCOPE paper, B.3.3).

    uncertainty = 1 - c. The scale given to the judge runs from a pure guess (0) to certainty (1),
    so p_a = (1 + c)/2 when the verdict is for response_a and (1 - c)/2 when it is not; at c = 0
    there is no verdict. As in the paper one order is asked: which one is drawn per pair from
    `seed` and recorded; `order` fixes it. The number is what the judge claims, not what it earns:
    judges claim 0.8 to 1.0 almost always.

    >>> from adjudge.records import Reply
    >>> pair = Pair(id="1", prompt="2+2?", response_a="4", response_b="5")
    >>> reply = Reply(status="ok", text="Verdict: A\\nConfidence: 0.8")
    >>> row = Verbalized(order="ab").judge(pair, [reply])[0]
    >>> row.verdict, row.p_a, round(row.uncertainty, 9)
    ('A', 0.9, 0.2)
    """

    name = "verbalized"
    prompt: Prompt
    options = ("prompt", "max_tokens", "seed")
    columns = ("order", "confidence")
    wants: frozenset[type] = frozenset({Text})

    def __init__(
        self,
        *,
        prompt: Prompt | None = None,
        order: Literal["random", "ab", "ba"] = "random",
        seed: int = 0,
        max_tokens: int = 64,
    ) -> None:
        self.prompt = check_prompt(prompt or builtin_prompt("verbalized"), required=PLACEHOLDERS)
        self.order = one_of(order, ("random", "ab", "ba"), "order")
        self.seed = count(seed, "seed")
        self.max_tokens = count(max_tokens, "max_tokens", least=1)

    def settings(self) -> Mapping[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            "order": self.order,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
        }

    def questions(self, subject: Subject) -> Sequence[Question]:
        pair = self.pair(subject)
        order = self._order(pair)
        messages = fill(self.prompt, pair_values(pair, order))
        return [Question(messages, Text(self.max_tokens), order=order)]

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair, reply = self.pair(subject), replies[0]
        order = self._order(pair)
        extra: dict[str, Any] = {"order": order}
        claim = self._claim(reply)
        if claim is None:
            status, detail = self.status_of(reply)
            return [judgment(pair, self.name, status, detail=detail, extra=extra)]
        for_a = claim.letter == ("A" if order == "ab" else "B")
        p_a = (1 + claim.confidence) / 2 if for_a else (1 - claim.confidence) / 2
        row = judgment(
            pair,
            self.name,
            "ok",
            p_a=p_a,
            uncertainty=1 - claim.confidence,
            verdict=verdict(p_a),
            extra={**extra, "confidence": claim.confidence},
        )
        return [row]

    def status_of(self, reply: Reply) -> tuple[Status, str | None]:
        if reply.status not in MEASURED or self._claim(reply) is not None:
            return reply.status, reply.error
        words = CUT_OFF if reply.cut_off else "no verdict with a confidence between 0.0 and 1.0"
        return unread(reply.text), words

    def _claim(self, reply: Reply) -> Claim | None:
        """What was claimed; not of a reply that was cut off, whose number may lack its end."""
        readable = reply.status in MEASURED and not reply.cut_off
        return parse_claim(reply.text) if readable else None

    def _order(self, pair: Pair) -> Order:
        if self.order == "random":
            return seeded_order(pair.id, self.seed)
        return "ab" if self.order == "ab" else "ba"
