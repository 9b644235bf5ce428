"""Verbalized confidence: the judge says which answer is better and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from adjudge._validation import count, one_of
from adjudge.judges.interface import Prompt, Question, Text
from adjudge.judges.parsing.confidence import parse_claim
from adjudge.judges.parsing.refusal import unread
from adjudge.judges.prompting import builtin_prompt, check_prompt, fill
from adjudge.judges.protocols._pairwise import seeded_order, shown
from adjudge.judges.protocols.preference import PLACEHOLDERS, as_pair
from adjudge.records import MEASURED, Item, Judgment, Order, Pair, Reply
from adjudge.uncertainty.entropy import verdict


class Verbalized:
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

    def questions(self, subject: Pair | Item) -> Sequence[Question]:
        pair = as_pair(subject, self.name)
        order = self._order(pair)
        messages = fill(self.prompt, shown(pair, order))
        return [Question(messages, Text(self.max_tokens), order=order)]

    def judge(self, subject: Pair | Item, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair, reply = as_pair(subject, self.name), replies[0]
        order = self._order(pair)
        known: dict[str, Any] = {
            "id": pair.id,
            "judge": "",
            "protocol": self.name,
            "label": pair.label,
        }
        if reply.status not in MEASURED:
            row = Judgment(status=reply.status, detail=reply.error, extra={"order": order}, **known)
            return [row]
        claim = parse_claim(reply.text)
        if claim is None:
            told = "no verdict with a confidence between 0.0 and 1.0"
            row = Judgment(status=unread(reply.text), detail=told, extra={"order": order}, **known)
            return [row]
        for_a = claim.letter == ("A" if order == "ab" else "B")
        p_a = (1 + claim.confidence) / 2 if for_a else (1 - claim.confidence) / 2
        row = Judgment(
            status="ok",
            p_a=p_a,
            uncertainty=1 - claim.confidence,
            verdict=verdict(p_a),
            extra={"order": order, "confidence": claim.confidence},
            **known,
        )
        return [row]

    def _order(self, pair: Pair) -> Order:
        if self.order == "random":
            return seeded_order(pair.id, self.seed)
        return "ab" if self.order == "ab" else "ba"
