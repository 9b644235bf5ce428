"""Simulated annotators: personas made of demonstrations, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.judges.interface import Prompt, Question, Text
from adjudge.judges.parsing import WHOLE
from adjudge.judges.prompting import builtin_prompt
from adjudge.judges.protocols._choices import (
    LETTERS,
    PLACEHOLDERS,
    Answer,
    ChoiceProtocol,
    Demonstrations,
    digest_of,
    judgment,
    letter_shown,
    seeded_order,
    smallest_mass,
    worst,
)
from adjudge.records import MEASURED, Judgment, Order, Pair, Reply, Status, Subject
from adjudge.statistics.entropy import verdict
from adjudge.validation import count, generator

Demonstration = tuple[Pair, Order]


class Annotators(ChoiceProtocol):
    """N personas, each of K labelled demonstrations, vote; the majority's share is the confidence.

    `demonstrations` are labelled pairs of the user, none of them judged. A pool of `pool_size` is
    drawn from them by `seed`. Each persona gets K (`per_persona`) of the pool, the same for every
    pair, and each demonstration is swapped at random (SCOPE paper, B.3.3: N = 5, K = 5, 50 in the
    pool). p_a is the share of personas for response_a; uncertainty is 1 minus the majority's share.
    One order per pair is drawn by `seed` and recorded. If a persona has no readable vote, the row
    has no number.
    """

    name = "annotators"
    options = ("demonstrations", "prompt", "samples", "max_tokens", "min_answer_mass", "seed")
    columns = ("order", "votes")

    def __init__(
        self,
        *,
        demonstrations: Iterable[Pair] = (),
        personas: int = 5,
        per_persona: int = 5,
        pool_size: int = 50,
        seed: int = 0,
        samples: int | None = None,
        prompt: Prompt | None = None,
        **how: Any,
    ) -> None:
        self.use_prompt(prompt or builtin_prompt("annotators"), required=PLACEHOLDERS)
        self.seed = count(seed, "seed")
        if samples not in (None, 1):
            remedy = "every persona votes once: give 1, or leave it out"
            raise ArgumentError("samples", samples, remedy)
        self.ask_for(LETTERS, samples=samples, temperature=0.0, **how)
        pairs = (pair for pair in demonstrations if isinstance(pair, Pair))
        labelled = [pair for pair in pairs if pair.label in ("A", "B")]
        k = count(per_persona, "per_persona", least=1)
        n = count(personas, "personas", least=1)
        if len(labelled) < k:
            needs = f"annotators need your own labelled pairs, at least {k} with label A or B"
            remedy = f"{needs}: --demonstrations FILE"
            raise ArgumentError("demonstrations", f"{len(labelled)} labelled pairs", remedy)
        for row, pair in enumerate(labelled, start=1):
            self.prompt_columns.check(pair, source="demonstrations", row=row)
        rng = generator(self.seed)
        drawn = rng.permutation(len(labelled))[: count(pool_size, "pool_size", least=k)]
        self._pool = [labelled[i] for i in np.sort(drawn)]
        self.demonstrations = Demonstrations(labelled)
        self.personas: list[list[Demonstration]] = []
        for _ in range(n):
            chosen = rng.choice(len(self._pool), size=k, replace=False)
            persona = [(self._pool[i], _random_order(rng)) for i in chosen]
            self.personas.append(persona)
        # The system message and the persona's comparisons, in the form of the question.
        self._openings = [
            self.turns((self.shown(*shown), letter_shown(*shown)) for shown in persona)
            for persona in self.personas
        ]

    def settings(self) -> Mapping[str, Any]:
        written: dict[str, Any] = {}
        if isinstance(self.asking.want, Text):
            written = {"max_tokens": self.asking.want.max_tokens}
        if self.asking.format != WHOLE:
            written = self.asking.settings()
        return {
            "prompt_sha256": self.prompt.sha256,
            "personas": len(self.personas),
            "demonstrations": len(self.personas[0]),
            "pool": len(self._pool),
            "personas_sha256": digest_of(chain.from_iterable(self._openings)),
            "seed": self.seed,
            "votes": "text" if isinstance(self.asking.want, Text) else "logprobs",
            **written,
        }

    def questions(self, subject: Subject) -> Sequence[Question]:
        pair = self.pair(subject)
        self.demonstrations.refuse(pair)
        order = seeded_order(pair.id, self.seed)
        asked: list[Question] = []
        for number, opening in enumerate(self._openings, start=1):
            slot = f"persona {number}"
            shown = self.shown(pair, order)
            asked += self.choice_questions(shown, opening=opening, order=order, slot=slot)
        return asked

    def judge(self, subject: Subject, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair = self.pair(subject)
        order = seeded_order(pair.id, self.seed)
        answers = [self.asking.read([reply]) for reply in replies]
        votes = [_vote(answer) for answer in answers]
        first_letter = "A" if order == "ab" else "B"
        tally = Counter("A" if vote == first_letter else "B" for vote in votes if vote is not None)
        extra = {"order": order, "votes": {"A": tally["A"], "B": tally["B"]}}
        bad: list[Status] = [
            "unparsed" if answer.status in MEASURED else answer.status
            for answer, vote in zip(answers, votes, strict=True)
            if vote is None
        ]
        if bad:
            status = worst(bad)
            silent = f"{len(bad)} of {len(votes)} personas have no vote"
            words = next((a.detail for a in answers if a.status == status and a.detail), None)
            detail = f"{silent}: {words}" if words else silent
            return [judgment(pair, self.name, status, detail=detail, extra=extra)]
        p_a = tally["A"] / len(votes)
        mass = smallest_mass(answers)
        doubt = 1 - max(tally.values()) / len(votes)
        numbers = {"p_a": p_a, "uncertainty": doubt, "verdict": verdict(p_a), "answer_mass": mass}
        return [judgment(pair, self.name, "ok", **numbers, extra=extra)]


def _random_order(rng: np.random.Generator) -> Order:
    return "ba" if rng.random() < 0.5 else "ab"


def _vote(answer: Answer) -> str | None:
    """The more likely letter; certain even if the other one has only a bound."""
    shares = answer.shares
    if shares is None or shares["A"] == shares["B"]:
        return None
    return max(shares, key=shares.__getitem__)
