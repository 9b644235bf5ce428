"""Pairwise preference, in both orders by default (SCOPE paper, section 2.2 and B.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.judges.interface import JudgeProtocol, PlainHashes, Prompt, Question
from adjudge.judges.prompting import builtin_prompt, check_prompt
from adjudge.judges.protocols._choices import PLACEHOLDERS, LetterQuestions, judgment_of
from adjudge.records import Judgment, Reply, Status, Subject
from adjudge.store.tables import PlainReply


class Preference(JudgeProtocol):
    """Asks for one letter with response_a shown first, then with response_a shown second.

    p_fwd and p_rev are softmaxes over the two letters alone, both about response_a;
    p_a = (p_fwd + p_rev) / 2, and doubt is its entropy. At exactly p_a = 0.5, which a judge that
    only looks at the position reaches, there is no verdict. With `samples` the letters are sampled
    that often per order instead, for judges without log probabilities. p is then
    (r + 1/2) / (k + 1), and the row's `extra` has the samples. With `reason` the judge writes its
    reasons first, and the letters' probabilities are read at its verdict.

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
    options = ("prompt", "reason", "samples", "max_tokens", "min_answer_mass", "order", "seed")
    columns = ("samples", "order")

    def __init__(
        self,
        *,
        prompt: Prompt | None = None,
        reason: bool = False,
        samples: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        min_answer_mass: float | None = None,
        order: str = "both",
        seed: int = 0,
    ) -> None:
        chosen = prompt or builtin_prompt("preference_reason" if reason else "preference")
        self.letters = LetterQuestions(
            check_prompt(chosen, required=PLACEHOLDERS),
            reason=reason,
            samples=samples,
            temperature=temperature,
            max_tokens=max_tokens,
            min_answer_mass=min_answer_mass,
            order=order,
            seed=seed,
        )
        self.prompt_columns = self.letters.prompt_columns
        self.wants = frozenset({type(self.letters.want)})
        self.min_answer_mass = self.letters.asking.min_answer_mass
        self.prompt = self.letters.prompt

    def settings(self) -> Mapping[str, Any]:
        return self.letters.settings()

    def status_of(self, reply: Reply) -> tuple[Status, str | None]:
        return self.letters.asking.status_of(reply)

    def questions(self, subject: Subject) -> Sequence[Question]:
        return self.letters.questions(self.pair(subject))

    def plain_hashes(self, subject: Subject) -> PlainHashes | None:
        return self.letters.plain_hashes(self.pair(subject))

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair = self.pair(subject)
        return [judgment_of(pair, self.name, self.letters.read(pair, replies))]

    def judge_plain(self, replies: Sequence[PlainReply]) -> dict[str, Any] | None:
        return self.letters.read_plain(replies)
