"""Two answers, two letters, both orders: shared code of the protocols about pairs.

Each order gives P(response_a preferred) as read by `answers`. If a prompt declares a letter for
ties, half of their probability goes to each response.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjudge.judges.answers import Asking, worst
from adjudge.judges.interface import Choice, Data, PlainHashes, Prompt, Question
from adjudge.judges.judge import texts_of_want
from adjudge.judges.prompting import PromptColumns, PromptHash, Value, fill
from adjudge.records import MEASURED, STATUSES, Judgment, Order, Pair, Reply, Status
from adjudge.statistics.entropy import entropy_of, verdict
from adjudge.store.tables import PlainReply
from adjudge.validation import count, one_of

PLACEHOLDERS = ("prompt", "response_a", "response_b")
LETTERS = ("A", "B")
BOTH_ORDERS: tuple[Order, ...] = ("ab", "ba")


def seeded_order(pair_id: str, seed: int) -> Order:
    """One order per pair, like a coin flip, and always the same for the same seed.

    >>> [seeded_order(str(i), 0) for i in range(6)]
    ['ba', 'ba', 'ba', 'ab', 'ba', 'ba']
    """
    drawn = hashlib.sha256(f"{seed}\0{pair_id}".encode("utf-8", "surrogatepass")).digest()
    return "ab" if drawn[0] & 1 else "ba"


def pair_values(pair: Pair, order: Order, columns: PromptColumns | None = None) -> dict[str, Value]:
    """The pair's text as shown to the judge: with "ba" response_b is shown as A.

    `columns` adds those that the prompt names.
    """
    first, second = pair.response_a, pair.response_b
    if order == "ba":
        first, second = second, first
    named = {} if columns is None else columns.values(pair, order)
    return {
        **named,
        "prompt": Data(pair.prompt),
        "response_a": Data(first),
        "response_b": Data(second),
    }


def letters_of(prompt: Prompt) -> tuple[str, ...]:
    """The letters a prompt asks for: A, B, and the one it declares for a tie."""
    tie = prompt.answer.get("tie")
    return LETTERS if tie is None else (*LETTERS, tie)


def judgment(pair: Pair, protocol: str, status: Status, **fields: Any) -> Judgment:
    """A row about a pair; the runner fills in the judge."""
    return Judgment(
        id=pair.id, judge="", protocol=protocol, status=status, label=pair.label, **fields
    )


@dataclass(frozen=True, slots=True)
class OrderReading:
    """P(response_a preferred) and P(tie) in one order, or the reason why they are missing.

    Half of P(tie) is in `p`. `p_tie` is None if the prompt does not allow ties.
    """

    status: Status
    p: float | None = None
    p_tie: float | None = None
    answer_mass: float | None = None
    detail: str | None = None
    drawn: Mapping[str, int] | None = None


#: The reading of each order that was asked.
Readings = Mapping[Order, OrderReading]


class Orders:
    """The orders in which a pair is asked: both, a fixed one, or one drawn for each pair.

    >>> Orders("ba").settings(), Orders("random", seed=1).settings()
    ({'orders': ['ba']}, {'orders': 'random', 'seed': 1})
    """

    CHOICES = ("both", "ab", "ba", "random")

    def __init__(self, choice: str = "both", *, seed: int = 0) -> None:
        self.choice = one_of(choice, self.CHOICES, "order")
        self.seed = count(seed, "seed")
        self._fixed = tuple(fixed for fixed in BOTH_ORDERS if choice in ("both", fixed))

    def of(self, pair: Pair) -> tuple[Order, ...]:
        """The orders to ask for this pair."""
        if self.choice == "random":
            return (seeded_order(pair.id, self.seed),)
        return self._fixed

    def settings(self) -> dict[str, Any]:
        if self.choice == "random":
            return {"orders": "random", "seed": self.seed}
        return {"orders": list(self._fixed)}


class LetterQuestions:
    """How a pairwise letter is asked for in each order, and how the replies are read.

    `filled` are the placeholders that the protocol fills; others are columns of the row.
    """

    def __init__(
        self,
        prompt: Prompt,
        *,
        filled: Sequence[str] = PLACEHOLDERS,
        order: str = "both",
        seed: int = 0,
        **how: Any,
    ) -> None:
        self.prompt = prompt
        self.prompt_columns = PromptColumns(prompt, filled)
        self.orders = Orders(order, seed=seed)
        self.asking = Asking(letters_of(prompt), prompt=prompt, **how)
        self.want = self.asking.want
        self.per_order = self.asking.repeats
        self._hash = PromptHash(prompt, end=texts_of_want(self.want))
        self._plain = (
            isinstance(self.want, Choice)
            and self.asking.options == LETTERS
            and self.orders.choice == "both"
        )

    def settings(self) -> dict[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            **self.orders.settings(),
            **self.asking.settings(),
        }

    def questions(
        self, pair: Pair, *, values: Mapping[str, Value] | None = None, slot: str = ""
    ) -> list[Question]:
        """`per_order` questions for each order."""
        asked = []
        for order in self.orders.of(pair):
            shown = pair_values(pair, order, self.prompt_columns)
            messages = fill(self.prompt, {**shown, **(values or {})})
            asked += [
                Question(messages, self.want, order=order, repeat=repeat, slot=slot)
                for repeat in range(self.per_order)
            ]
        return asked

    def plain_hashes(self, pair: Pair) -> PlainHashes | None:
        """The hashes of `questions` if each order has one and the pair's texts fill the prompt."""
        if self.per_order > 1 or self.prompt_columns.names:
            return None
        a, b = pair.response_a, pair.response_b
        ab = {"prompt": pair.prompt, "response_a": a, "response_b": b}
        ba = {"prompt": pair.prompt, "response_a": b, "response_b": a}
        fill = self._hash.fill
        return [(order, fill(ab if order == "ab" else ba)) for order in self.orders.of(pair)]

    def read(self, pair: Pair, replies: Sequence[Reply]) -> Readings:
        """The replies to `questions`, by the order in which the responses were shown."""
        k = self.per_order
        return {
            order: self._read_order(replies[at * k : (at + 1) * k], order)
            for at, order in enumerate(self.orders.of(pair))
        }

    def read_plain(self, replies: Sequence[PlainReply]) -> dict[str, Any] | None:
        """What `judgment_of` makes of the letters' log probabilities in both orders; None where
        anything is out of the ordinary: another number of replies or letters, a mass that is small.
        """
        if not self._plain or len(replies) != 2:
            return None
        first, second = replies
        mass, other = first.answer_mass, second.answer_mass
        p_fwd = _share(first.logprobs.get("A"), first.logprobs.get("B"))
        p_rev = _share(second.logprobs.get("B"), second.logprobs.get("A"))
        least = self.asking.min_answer_mass
        if p_fwd is None or p_rev is None:
            return None
        if (mass is not None and not mass >= least) or (other is not None and not other >= least):
            return None
        p_a = (p_fwd + p_rev) / 2
        return {
            "status": "ok",
            "p_fwd": p_fwd,
            "p_rev": p_rev,
            "p_a": p_a,
            "uncertainty": entropy_of(p_a),
            "verdict": verdict(p_a),
            "answer_mass": other if mass is None else mass if other is None else min(mass, other),
        }

    def _read_order(self, replies: Sequence[Reply], order: Order) -> OrderReading:
        answer = self.asking.read(replies)
        shares = answer.shares
        p = p_tie = None
        if shares is not None:
            tie = self.asking.options[2:]
            p_tie = shares[tie[0]] if tie else None
            p = shares["A" if order == "ab" else "B"] + (p_tie or 0.0) / 2
        return OrderReading(
            answer.status, p, p_tie, answer.answer_mass, answer.detail, answer.drawn
        )


def _share(one: Any, other: Any) -> float | None:
    """`softmax` of two log probabilities, the share of the first; None if one is not a number."""
    if type(one) is not float or type(other) is not float:
        return None
    top = one if one >= other else other
    weight = math.exp(one - top)
    total = weight + math.exp(other - top)
    return weight / total if total >= 1.0 else None


def judgment_of(
    pair: Pair, protocol: str, readings: Readings, extra: Mapping[str, Any] | None = None
) -> Judgment:
    """The row from the readings of the orders: ok only if each of them is ok.

    p_a is the mean of both orders. With one order it is that order's probability, including the
    position bias; `order` then names it, and p_fwd and p_rev stay empty.
    """
    columns = dict(extra or {})
    read = list(readings.values())
    sampled = [reading.drawn for reading in read if reading.drawn is not None]
    if sampled:
        columns["samples"] = {
            order: dict(reading.drawn or {}) for order, reading in readings.items()
        }
    if len(read) == 1:
        columns["order"] = next(iter(readings))
    status = worst([reading.status for reading in read])
    mass = min(
        [reading.answer_mass for reading in read if reading.answer_mass is not None], default=None
    )
    shares = [reading.p for reading in read if reading.p is not None]
    if status not in MEASURED or len(shares) < len(read):
        detail = next((reading.detail for reading in read if reading.status == status), None)
        return judgment(pair, protocol, status, answer_mass=mass, detail=detail, extra=columns)
    p_a = sum(shares) / len(shares)
    ties = [reading.p_tie for reading in read if reading.p_tie is not None]
    p_tie = sum(ties) / len(ties) if len(ties) == len(read) else None
    both = {"p_fwd": shares[0], "p_rev": shares[1]} if len(shares) == 2 else {}
    return judgment(
        pair,
        protocol,
        status,
        **both,
        p_a=p_a,
        p_tie=p_tie,
        uncertainty=entropy_of(p_a),
        verdict=verdict(p_a, p_tie),
        answer_mass=mass,
        detail=_drawn_words(readings) if sampled else _bound_words(readings),
        extra=columns,
    )


def _bound_words(readings: Readings) -> str | None:
    censored = [order for order, reading in readings.items() if reading.status == "censored"]
    return f"bounded by the k-th log probability: {', '.join(censored)}" if censored else None


def _drawn_words(readings: Readings) -> str:
    parts = []
    for order, reading in readings.items():
        drawn = dict(reading.drawn or {})
        unread = sum(drawn.get(status, 0) for status in STATUSES)
        parts.append(f"{order} {sum(drawn.values()) - unread} of {sum(drawn.values())} readable")
    return "sampled: " + ", ".join(parts)
