"""Pairwise preference, in both orders by default (SCOPE paper, section 2.2 and B.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from adjudge.data.parts import has_images
from adjudge.judges.interface import Choice, PlainHashes, Prompt, Question
from adjudge.judges.judge import texts_of_want
from adjudge.judges.prompting import PromptHash, builtin_prompt
from adjudge.judges.protocols._choices import LETTERS, LetterProtocol
from adjudge.records import Judgment, Reply, Subject
from adjudge.statistics.entropy import entropy_of, mean_of_orders, verdict
from adjudge.store.tables import PlainReply


class Preference(LetterProtocol):
    """Asks for one letter with response_a shown first, then with response_a shown second.

    p_fwd and p_rev are softmaxes over the two letters alone, both about response_a;
    p_a = (p_fwd + p_rev) / 2, and doubt is its entropy. At exactly p_a = 0.5, which a judge that
    only looks at the position reaches, there is no verdict. With `samples` the letters are sampled
    that often per order instead, for judges without log probabilities. p is then
    (r + 1/2) / (k + 1), and the row's `extra` has the samples. With `reason` the judge writes its
    reasons first, and the letters' probabilities are read at its verdict.

    `demonstrations` are labelled pairs of the user. They are shown before every question, as turns
    of a conversation; a judged pair must not be among them.

    `order` "ab" or "ba" asks only in that order, "random" in one that `seed` draws for each pair.
    This halves the calls, but the position bias stays in p_a.

    >>> from adjudge.records import Pair, Reply
    >>> pair = Pair(id="1", prompt="2+2?", response_a="4", response_b="5")
    >>> first = Reply(status="ok", logprobs={"A": -0.1, "B": -2.4})
    >>> second = Reply(status="ok", logprobs={"A": -2.4, "B": -0.1})
    >>> row = Preference().judge(pair, [first, second])[0]
    >>> row.verdict, round(row.p_a, 4), round(row.uncertainty, 4)
    ('A', 0.9089, 0.3051)
    """

    name = "preference"
    options = (
        *("prompt", "reason", "samples", "max_tokens", "min_answer_mass", "order", "seed"),
        "demonstrations",
    )
    columns = ("samples", "order")

    def __init__(self, *, prompt: Prompt | None = None, reason: bool = False, **how: Any) -> None:
        builtin = "preference_reason" if reason else "preference"
        super().__init__(prompt or builtin_prompt(builtin), reason=reason, **how)
        self._hash = PromptHash(self.prompt, end=texts_of_want(self.asking.want))
        self._plain = (
            isinstance(self.asking.want, Choice)
            and self.asking.options == LETTERS
            and self.orders.choice == "both"
        )

    def questions(self, subject: Subject) -> Sequence[Question]:
        return self.letter_questions(self.pair(subject))

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Judgment]:
        return [self.read_letters(self.pair(subject), replies, self.name)]

    def plain_hashes(self, subject: Subject) -> PlainHashes | None:
        pair = self.pair(subject)
        if self.asking.repeats > 1 or self.prompt_columns.names or self.opening:
            return None
        a = pair.response_a
        b = pair.response_b
        if any(map(has_images, (pair.prompt, a, b))):
            return None
        ab = {"prompt": pair.prompt, "response_a": a, "response_b": b}
        ba = {"prompt": pair.prompt, "response_a": b, "response_b": a}
        fill = self._hash.fill
        return [(order, fill(ab if order == "ab" else ba)) for order in self.orders.of(pair)]

    def judge_plain(self, replies: Sequence[PlainReply]) -> dict[str, Any] | None:
        # None where anything is out of the ordinary: another number of replies or letters, a mass
        # that is small.
        if not self._plain or len(replies) != 2:
            return None
        first, second = replies
        mass = first.answer_mass
        other = second.answer_mass
        p_fwd = _share(first.logprobs.get("A"), first.logprobs.get("B"))
        p_rev = _share(second.logprobs.get("B"), second.logprobs.get("A"))
        if p_fwd is None or p_rev is None:
            return None
        least = self.asking.min_answer_mass
        if (mass is not None and not mass >= least) or (other is not None and not other >= least):
            return None
        if mass is None or other is None:
            smallest = other if mass is None else mass
        else:
            smallest = min(mass, other)
        p_a = mean_of_orders(p_fwd, p_rev)
        return {
            "status": "ok",
            "p_fwd": p_fwd,
            "p_rev": p_rev,
            "p_a": p_a,
            "uncertainty": entropy_of(p_a),
            "verdict": verdict(p_a),
            "answer_mass": smallest,
        }


def _share(chosen: Any, other: Any) -> float | None:
    """`softmax` of two log probabilities, the share of the first; None if one is not a number."""
    if type(chosen) is not float or type(other) is not float:
        return None
    top = chosen if chosen >= other else other
    weight = math.exp(chosen - top)
    total = weight + math.exp(other - top)
    return weight / total if total >= 1.0 else None
