"""A judge whose accuracy depends on what its prompt contains, and a proposer of such prompts."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from adjudge.judges.interface import Backend, Choice, Question, Text
from adjudge.records import Item, Pair, Reply


def labelled_pairs(n: int, *, seed: int = 0, wrong_labels: float = 0.0) -> list[Pair]:
    """Pairs whose better answer is known to `PromptedJudge`; some labels can be wrong."""
    pairs = []
    for at in range(n):
        truth: Literal["A", "B"] = "A" if _unit(f"truth {seed} {at}") < 0.5 else "B"
        other: Literal["A", "B"] = "B" if truth == "A" else "A"
        label = other if _unit(f"label {seed} {at}") < wrong_labels else truth
        pairs.append(
            Pair(
                id=f"p{at}",
                prompt=f"question {seed}-{at}",
                response_a=f"good {at}" if truth == "A" else f"bad {at}",
                response_b=f"good {at}" if truth == "B" else f"bad {at}",
                label=label,
            )
        )
    return pairs


def labelled_items(n: int, *, seed: int = 0) -> list[Item]:
    """Answers that pass or fail."""
    items = []
    for at in range(n):
        good = _unit(f"truth {seed} {at}") < 0.5
        response, human = (f"good {at}", 1) if good else (f"bad {at}", 0)
        items.append(
            Item(id=f"i{at}", prompt=f"q {seed}-{at}", response=response, extra={"human": human})
        )
    return items


class PromptedJudge(Backend):
    """Right with probability `base` plus what each word of `worth` in the prompt adds.

    Whether it is right depends on the question, so that all prompts agree where they can. `asked`
    lists the questions that reached it.
    """

    free = True
    wants = frozenset({Choice})

    def __init__(self, base: float, worth: Mapping[str, float], *, name: str = "prompted") -> None:
        self.name = f"test:{name}"
        self.base, self.worth = base, dict(worth)
        self.asked: list[str] = []
        self.concurrency = 4

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "test", "model": self.name, "base": self.base, "worth": self.worth}

    async def ask(self, question: Question) -> Reply:
        self.asked.append(question.messages[-1].text)
        options = question.want.options  # type: ignore[union-attr]
        everything = "\n".join(message.text for message in question.messages)
        shown = sum(message.role == "assistant" for message in question.messages)
        accuracy = self.base + sum(v for word, v in self.worth.items() if word in everything)
        accuracy += self.worth.get("demonstrations", 0.0) * bool(shown)
        last = question.messages[-1].text
        number = re.findall(r"(?:good|bad) (\d+)", last)[-1]
        right = _unit(f"row {number} {self.base}") < accuracy
        if options == ("A", "B"):
            better = "A" if last.index(f"good {number}") < last.index(f"bad {number}") else "B"
        else:
            better = options[0] if f"good {number}" in last else options[1]
        other = next(option for option in options if option != better)
        chosen = better if right else other
        sure = 0.55 + 0.44 * _unit(f"sure {number}")
        logprobs = {o: math.log(sure if o == chosen else 1 - sure) for o in options}
        return Reply(status="ok", logprobs=logprobs, prompt_tokens=100, completion_tokens=1)


class Breaking(PromptedJudge):
    """Writes something else if its prompt has the word BROKEN. `requests` counts all."""

    requests = 0

    async def ask(self, question: Question) -> Reply:
        self.requests += 1
        if any("BROKEN" in message.text for message in question.messages):
            return await self.answer(question)
        return await super().ask(question)

    async def answer(self, question: Question) -> Reply:
        return Reply(status="no_logprobs", error="no letters")


class Proposer(Backend):
    """Writes prompts: the n-th request gets the n-th rewriting of the prompt it was shown."""

    free = True
    wants = frozenset({Text})

    def __init__(self, rewrites: Sequence[str]) -> None:
        self.name = "test:proposer"
        self.rewrites = list(rewrites)
        self.asked = 0

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "test", "model": self.name, "rewrites": self.rewrites}

    async def ask(self, question: Question) -> Reply:
        self.asked += 1
        number = int(question.slot.rpartition(".")[2]) - 1
        text = question.messages[0].text
        current = text.split("[Prompt begins]\n")[1].split("\n[Prompt ends]")[0]
        added = self.rewrites[number % len(self.rewrites)]
        reply = added if added.startswith("!") else f"<prompt>{_insert(current, added)}</prompt>"
        return Reply(status="ok", text=reply.removeprefix("!"), completion_tokens=50)


def _insert(prompt: str, words: str) -> str:
    line, rest = prompt.split("\n", 1)
    return f"{line}\n{words} {rest}"


def _unit(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
