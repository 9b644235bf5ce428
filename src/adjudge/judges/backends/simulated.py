"""`simulated:accuracy=0.8,position_bias=0.1,noise=0.5,seed=1`: a judge with known errors.

It answers from the pair's label or the item's column truth (else human), or at random if there is
none, never from the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Self

from adjudge.data.rows import human_share
from adjudge.errors import ArgumentError
from adjudge.judges.interface import Backend, Choice, Data, Likelihood, Question, Reasoned, Text
from adjudge.judges.parsing import BRACKETS, write_option
from adjudge.records import LabelValue, Pair, Reply, Subject
from adjudge.simulate.pairs import SimulatedJudge

_NUMBERS = ("accuracy", "position_bias", "noise", "seed")


class SimulatedBackend(Backend):
    """A `SimulatedJudge` behind the interface of a real one."""

    example = "simulated:accuracy=0.8,seed=1"
    needs_model = False
    free = True
    knows_subject = True
    takes_images = True  # it does not look at them
    wants: frozenset[type] = frozenset({Choice, Reasoned, Text, Likelihood})
    #: It answers immediately: the more calls in flight, the fewer commits.
    concurrency = 256

    def __init__(
        self,
        *,
        accuracy: float = 0.8,
        position_bias: float = 0.0,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.judge = SimulatedJudge(
            accuracy=accuracy, position_bias=position_bias, noise=noise, seed=seed
        )
        settings = ",".join(f"{name}={getattr(self.judge, name):g}" for name in _NUMBERS)
        self.name = f"simulated:{settings}"

    @classmethod
    def parse(cls, model: str, **options: Any) -> Self:
        """From the text after "simulated:" on the command line.

        >>> SimulatedBackend.parse("accuracy=0.9,seed=3").name
        'simulated:accuracy=0.9,position_bias=0,noise=0,seed=3'
        """
        settings: dict[str, Any] = dict(options)
        for setting in filter(None, (setting.strip() for setting in model.split(","))):
            name, equals, value = setting.partition("=")
            try:
                if name not in _NUMBERS or not equals:
                    raise ValueError
                settings[name] = int(value) if name == "seed" else float(value)
            except ValueError:
                remedy = "write simulated:accuracy=0.8,position_bias=0.1,noise=0.5,seed=1"
                raise ArgumentError("judge", f"simulated:{model}", remedy) from None
        return cls(**settings)

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "simulated", **{name: getattr(self.judge, name) for name in _NUMBERS}}

    async def ask(self, question: Question) -> Reply:
        """An answer about a pair known only by its text; its truth is a coin from the text."""
        words = "\x1f".join(
            part.text
            for message in question.messages
            for part in message.parts
            if isinstance(part, Data)
        )
        return self._answer(words, None, question)

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        return self._answer(subject.id, subject, question)

    def _answer(self, name: str, subject: Subject | None, question: Question) -> Reply:
        label = _truth(subject)
        want = question.want
        # Calls with different slots (persona, criterion) are different calls of one judge.
        drawn = f"{name}\x1f{question.slot}" if not isinstance(want, Likelihood) else name
        tokens: dict[str, Any] = {
            "prompt_tokens": sum(len(message.text) for message in question.messages) // 4 + 1,
            "completion_tokens": 1,
        }
        if isinstance(want, Likelihood):
            margin = self.judge.margin(name, label)
            scored = max(1, len(want.continuation.text) // 4)
            mean = -2.0 + (0.5 if question.slot == "a" else -0.5) * margin
            return Reply(status="ok", mean_logprob=mean, scored_tokens=scored, **tokens)
        p_a = self._preference(name, drawn, label, question)
        if isinstance(want, Choice | Reasoned):
            weights = self._weights(want.options, drawn, p_a, question)
            text = max(weights, key=weights.__getitem__)
            if isinstance(want, Reasoned):
                text = f"A simulated reason.\n{write_option(text, want.format)}"
            return Reply(
                status="ok",
                text=text,
                logprobs={option: math.log(weight) for option, weight in weights.items()},
                answer_mass=1.0,
                exact_mass=True,
                **tokens,
            )
        text = self._write(want, drawn, p_a, question)
        return Reply(status="ok", text=text, **(tokens | {"completion_tokens": len(text) // 4 + 1}))

    def _preference(self, name: str, drawn: str, label: Any, question: Question) -> float:
        order = question.order
        base = self.judge.p_a(name, label, order, question.repeat)
        if not question.slot or self.judge.noise == 0:
            return base
        # The same margin, with separate noise for this slot.
        odds = math.log(base / (1 - base)) if 0 < base < 1 else math.copysign(14.0, base - 0.5)
        jitter = self.judge.uniform(drawn, "slot", order or "", str(question.repeat)) - 0.5
        return 1 / (1 + math.exp(-(odds + self.judge.noise * jitter)))

    def _weights(
        self, options: tuple[str, ...], drawn: str, p_a: float, question: Question
    ) -> dict[str, float]:
        p_a = min(max(p_a, 1e-12), 1 - 1e-12)
        if options[:2] == ("A", "B") or len(options) == 2:
            first = p_a if question.order != "ba" else 1 - p_a
            # A weaker preference makes a tie more likely, if the prompt has a letter for it.
            tie = 0.6 * (1 - abs(2 * p_a - 1)) if options[2:] else 0.0
            shares = dict(zip(options, ((1 - tie) * first, (1 - tie) * (1 - first)), strict=False))
            return shares | {option: tie / len(options[2:]) for option in options[2:]}
        centre = self._quality(drawn, question) * (len(options) - 1)
        weights = [math.exp(-((i - centre) ** 2)) for i in range(len(options))]
        total = sum(weights)
        return {option: w / total for option, w in zip(options, weights, strict=True)}

    def _quality(self, drawn: str, question: Question) -> float:
        """The quality of one response, in (0, 1): drawn for the item, plus noise."""
        shake = self.judge.uniform(drawn, "shake", str(question.repeat)) - 0.5
        return min(max(self.judge.uniform(drawn, "quality") + 0.1 * self.judge.noise * shake, 0), 1)

    def _write(self, want: Text, drawn: str, p_a: float, question: Question) -> str:
        """A reply in the requested shape, by its schema or by the text of the request."""
        p_first = p_a if question.order != "ba" else 1 - p_a
        letter = "A" if p_first >= 0.5 else "B"
        if want.temperature > 0:
            coin = self.judge.uniform(drawn, "sample", question.order or "", str(question.repeat))
            letter = "A" if coin < p_first else "B"
        if want.json_schema is not None:
            share = self._quality(drawn, question)
            return json.dumps(_fitting(want.json_schema, letter, max(p_first, 1 - p_first), share))
        if any("confidence" in message.text.lower() for message in question.messages):
            return f"Verdict: {letter}\nConfidence: {max(p_first, 1 - p_first):.2f}"
        if question.order is None and question.slot:
            low, high = _scale(question.messages[-1].text)
            return str(low + round((high - low) * self._quality(drawn, question)))
        marks = [write_option(option, BRACKETS) for option in ("A", "P")]
        if question.order is None:
            letter = {"A": "P", "B": "F"}[letter]
        if any(mark in message.text for message in question.messages for mark in marks):
            return f"A simulated reason.\n{write_option(letter, BRACKETS)}"
        return letter


def _truth(subject: Subject | None) -> LabelValue | None:
    """The better response of a pair; A and B for an item that should pass or fail."""
    if subject is None or isinstance(subject, Pair):
        return None if subject is None else subject.label
    try:
        share = human_share(subject.extra.get("truth", subject.extra.get("human")))
    except ValueError:  # a column of another kind, such as a score: use the coin
        return None
    return None if share is None else "A" if share > 0.5 else "B" if share < 0.5 else "tie"


def _scale(asked: str) -> tuple[int, int]:
    """The scale in a request."""
    named = re.search(r"from (\d+)\b.{0,20}? to (\d+)\b", asked)
    return (int(named[1]), int(named[2])) if named else (1, 5)


def _fitting(schema: Mapping[str, Any], letter: str, confidence: float, share: float) -> Any:
    """A value of the schema of two scored answers: the letter, or numbers inside their range."""
    if "enum" in schema:
        return letter if letter in schema["enum"] else schema["enum"][0]
    if schema.get("type") != "object":
        low = schema.get("minimum", 1)
        high = schema.get("maximum", 5)
        return round(low + (high - low) * share)
    inside = schema.get("properties", {})
    shares = dict[str, float]()
    if {"A", "B"} <= inside.keys():
        # The preferred answer gets a higher score; more certainty, more distance.
        shares = {side: confidence if side == letter else 1 - confidence for side in "AB"}
    return {
        name: _fitting(inner, letter, confidence, shares.get(name, share))
        for name, inner in inside.items()
    }
