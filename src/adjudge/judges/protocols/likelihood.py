"""`likelihood`: which response would the model more likely write?

A small model that cannot answer "which is better, A or B" can still give the right answer a higher
probability than the wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.data.parts import has_images
from adjudge.errors import DataError
from adjudge.judges.interface import Data, JudgeProtocol, Likelihood, Message, Question
from adjudge.judges.protocols._choices import judgment, worst
from adjudge.judges.subjects import texts_of
from adjudge.records import MEASURED, Judgment, Reply, Subject
from adjudge.statistics.entropy import entropy_of, verdict


class LikelihoodProtocol(JudgeProtocol):
    """p_a = sigma(l_a - l_b), where l = mean over the response's tokens of log P(token | before).

    The mean over the response's canonical tokens, not their sum: a sum prefers shorter responses.
    The user's turn is the prompt alone, without any text of ours, and the response is scored as the
    assistant's turn. Writes only p_a, because there is no order to swap.

    It is not calibrated. A model prefers its own phrasing, so p_a is a score to calibrate against
    people, and fluent wrong answers can win.

    >>> from adjudge.records import Pair
    >>> pair = Pair(id="1", prompt="2+2?", response_a="4", response_b="5")
    >>> replies = [Reply(status="ok", mean_logprob=-0.5), Reply(status="ok", mean_logprob=-2.5)]
    >>> row = LikelihoodProtocol().judge(pair, replies)[0]
    >>> row.verdict, round(row.p_a, 4), row.p_fwd
    ('A', 0.8808, None)
    """

    name = "likelihood"
    wants: frozenset[type] = frozenset({Likelihood})

    def settings(self) -> Mapping[str, Any]:
        return {"normalised": "mean over response tokens"}

    def check(self, subject: Subject) -> None:
        if any(map(has_images, texts_of(subject).values())):
            problem = f"{self.name} scores the words of an answer, and here is an image"
            raise DataError("protocol", problem, remedy="choose another --protocol")

    def questions(self, subject: Subject) -> Sequence[Question]:
        pair = self.pair(subject)
        asked = (Message("user", (Data(pair.prompt),)),)
        return (
            Question(asked, Likelihood(Data(pair.response_a)), slot="a"),
            Question(asked, Likelihood(Data(pair.response_b)), slot="b"),
        )

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair = self.pair(subject)
        reply_a, reply_b = replies
        status = worst([reply_a.status, reply_b.status])
        l_a = reply_a.mean_logprob
        l_b = reply_b.mean_logprob
        if status not in MEASURED or l_a is None or l_b is None:
            missing = status if status not in MEASURED else "no_logprobs"
            unmeasured = [
                f"response_{side}: {reply.error or reply.status}"
                for side, reply in zip("ab", replies, strict=True)
                if reply.status not in MEASURED or reply.mean_logprob is None
            ]
            return [judgment(pair, self.name, missing, detail="; ".join(unmeasured) or None)]
        p_a = _sigmoid(l_a - l_b)
        doubt = entropy_of(p_a)
        return [judgment(pair, self.name, status, p_a=p_a, uncertainty=doubt, verdict=verdict(p_a))]


def _sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)); sigma(-x) is exactly 1 - sigma(x), so that swapped pairs tie."""
    above = 1.0 / (1.0 + math.exp(-abs(x)))
    return above if x >= 0 else 1.0 - above
