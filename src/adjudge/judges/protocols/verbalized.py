"""Verbalized confidence: the judge says which answer is better and how likely it is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.data.shown import OTHER_SIDE
from adjudge.errors import DataError
from adjudge.judges.interface import Prompt, Question, Text
from adjudge.judges.parsing import Claim, parse_claim, unread
from adjudge.judges.prompting import CONFIDENCE_SCALES, builtin_prompt, fill
from adjudge.judges.protocols._choices import (
    CUT_OFF,
    PLACEHOLDERS,
    Orders,
    PromptProtocol,
    judgment,
)
from adjudge.records import MEASURED, Judgment, Reply, Status, Subject
from adjudge.validation import count, one_of


class Verbalized(PromptProtocol):
    """One reply with a verdict and a confidence c (SCOPE paper, B.3.3): uncertainty = 1 - c.

    The built-in prompt asks for the probability of being right: 0.5 is a guess, 1 is certain. So
    p_a = c if the verdict is response_a, else 1 - c. Your own prompt declares its scale as
    ``confidence: GUESS to CERTAIN`` (see `CONFIDENCE_SCALES`). With g a guess and t certain, c is
    the number over t, and the probability of being right is
    1/2 + (number - g) / (t - g) / 2.

    The letter that the judge states is its verdict, whatever the number. At a guess or below, p_a
    would name no side or the other side, so it stays empty and `detail` has the reason. As in the
    paper one order is asked; `seed` draws it per pair and it is recorded; `order` fixes it. The
    number is a claim of the judge: judges almost always claim 0.8 to 1.0.

    >>> from adjudge.records import Pair
    >>> pair = Pair(id="1", prompt="2+2?", response_a="4", response_b="5")
    >>> reply = Reply(status="ok", text="Verdict: A\\nConfidence: 0.8")
    >>> row = Verbalized(order="ab").judge(pair, [reply])[0]
    >>> row.verdict, row.p_a, round(row.uncertainty, 9)
    ('A', 0.8, 0.2)
    """

    name = "verbalized"
    options = ("prompt", "max_tokens", "order", "seed")
    columns = ("order", "confidence")
    wants: frozenset[type] = frozenset({Text})

    def __init__(
        self,
        *,
        prompt: Prompt | None = None,
        order: str = "random",
        seed: int = 0,
        max_tokens: int = 64,
    ) -> None:
        self.use_prompt(prompt or builtin_prompt("verbalized"), required=PLACEHOLDERS)
        declared = self.prompt.answer.get("confidence")
        if declared is None:
            remedy = (
                "end the file with the lines '--- answer ---' and 'confidence: 0.5 to 1' "
                f"(or {', '.join(list(CONFIDENCE_SCALES)[1:])}; the first number is a guess)"
            )
            problem = "does not declare the scale of the confidence"
            raise DataError(self.prompt.name, problem, remedy=remedy)
        self.guess, self.certain = CONFIDENCE_SCALES[declared]
        self.orders = Orders(one_of(order, ("random", "ab", "ba"), "order"), seed=seed)
        self.max_tokens = count(max_tokens, "max_tokens", least=1)

    def settings(self) -> Mapping[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            "order": self.orders.choice,
            "seed": self.orders.seed,
            "max_tokens": self.max_tokens,
        }

    def questions(self, subject: Subject) -> Sequence[Question]:
        pair = self.pair(subject)
        (order,) = self.orders.of(pair)
        messages = fill(self.prompt, self.shown(pair, order))
        return [Question(messages, Text(self.max_tokens), order=order)]

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair = self.pair(subject)
        reply = replies[0]
        (order,) = self.orders.of(pair)
        extra: dict[str, Any] = {"order": order}
        claim = self._claim(reply)
        if claim is None:
            status, detail = self.status_of(reply)
            return [judgment(pair, self.name, status, detail=detail, extra=extra)]
        named = claim.letter if order == "ab" else OTHER_SIDE[claim.letter]
        stated = claim.confidence * self.certain
        right = 0.5 + (stated - self.guess) / (self.certain - self.guess) / 2
        p_a = detail = None
        if right > 0.5:
            p_a = right if named == "A" else 1 - right
        else:
            detail = f"the stated confidence, {stated:g}, is not more than a guess: no p_a"
        extra["confidence"] = claim.confidence
        doubt = {"p_a": p_a, "uncertainty": 1 - claim.confidence, "verdict": named}
        return [judgment(pair, self.name, "ok", **doubt, detail=detail, extra=extra)]

    def status_of(self, reply: Reply) -> tuple[Status, str | None]:
        if reply.status not in MEASURED or self._claim(reply) is not None:
            return reply.status, reply.error
        words = f"no verdict with a confidence between 0 and {self.certain:g}"
        return unread(reply.text), CUT_OFF if reply.cut_off else words

    def _claim(self, reply: Reply) -> Claim | None:
        """The claim; None if the reply was truncated, because its number can be incomplete."""
        readable = reply.status in MEASURED and not reply.cut_off
        return parse_claim(reply.text, top=self.certain) if readable else None
