"""Two answers, two letters, both orders: what the protocols about pairs share.

Each order gives P(response_a preferred) as `answers` reads it; a prompt that declares a letter for
ties gives half of their probability to each response.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjudge.judges.answers import Asking, worst
from adjudge.judges.columns import PromptColumns
from adjudge.judges.interface import Data, Prompt, Question
from adjudge.judges.prompting import Value, fill
from adjudge.records import MEASURED, STATUSES, Judgment, Order, Pair, Reply, Status
from adjudge.uncertainty.entropy import preference_entropy, verdict

PLACEHOLDERS = ("prompt", "response_a", "response_b")
LETTERS = ("A", "B")
BOTH_ORDERS: tuple[Order, ...] = ("ab", "ba")


def seeded_order(pair_id: str, seed: int) -> Order:
    """One order per pair, as if drawn by a coin, and the same whenever it is asked for.

    >>> [seeded_order(str(i), 0) for i in range(6)]
    ['ba', 'ba', 'ba', 'ab', 'ba', 'ba']
    """
    drawn = hashlib.sha256(f"{seed}\0{pair_id}".encode("utf-8", "surrogatepass")).digest()
    return "ab" if drawn[0] & 1 else "ba"


def pair_values(
    pair: Pair, order: Order, columns: PromptColumns | None = None
) -> dict[str, Value]:
    """The pair's text as the judge sees it: under "ba" response_b is where A is written.

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
    """A row about a pair; the runner fills in which judge it was."""
    return Judgment(
        id=pair.id, judge="", protocol=protocol, status=status, label=pair.label, **fields
    )


@dataclass(frozen=True, slots=True)
class OrderReading:
    """P(response_a preferred) and P(tie) in one order, or why there is none.

    Half of a tie is in `p`; `p_tie` is None where the prompt allows none.
    """

    status: Status
    p: float | None = None
    p_tie: float | None = None
    answer_mass: float | None = None
    detail: str | None = None
    drawn: Mapping[str, int] | None = None


class LetterQuestions:
    """How a pairwise letter is asked for in both orders, and how the replies are read."""

    def __init__(self, prompt: Prompt, **how: Any) -> None:
        self.prompt = prompt
        self.asking = Asking(letters_of(prompt), prompt=prompt, **how)
        self.want = self.asking.want
        self.per_order = self.asking.repeats

    def settings(self) -> dict[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            "orders": list(BOTH_ORDERS),
            **self.asking.settings(),
        }

    def questions(
        self, pair: Pair, *, values: Mapping[str, Value] | None = None, slot: str = ""
    ) -> list[Question]:
        """`per_order` questions for each order."""
        asked = []
        for order in BOTH_ORDERS:
            messages = fill(self.prompt, {**pair_values(pair, order), **(values or {})})
            asked += [
                Question(messages, self.want, order=order, repeat=repeat, slot=slot)
                for repeat in range(self.per_order)
            ]
        return asked

    def read(self, replies: Sequence[Reply]) -> tuple[OrderReading, OrderReading]:
        """The replies to `questions`: response_a shown first, response_a shown second."""
        return (
            self._read_order(replies[: self.per_order], "ab"),
            self._read_order(replies[self.per_order :], "ba"),
        )

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


def judgment_of(
    pair: Pair,
    protocol: str,
    forward: OrderReading,
    reverse: OrderReading,
    extra: Mapping[str, Any] | None = None,
) -> Judgment:
    """The row that two orders give: ok only when both are."""
    kept = dict(extra or {})
    if forward.drawn is not None or reverse.drawn is not None:
        kept["samples"] = {"ab": dict(forward.drawn or {}), "ba": dict(reverse.drawn or {})}
    status = worst([forward.status, reverse.status])
    masses = [one.answer_mass for one in (forward, reverse) if one.answer_mass is not None]
    mass = min(masses, default=None)
    if status not in MEASURED or forward.p is None or reverse.p is None:
        detail = next((o.detail for o in (forward, reverse) if o.status == status), None)
        return judgment(pair, protocol, status, answer_mass=mass, detail=detail, extra=kept)
    p_a = (forward.p + reverse.p) / 2
    p_tie = None
    if forward.p_tie is not None and reverse.p_tie is not None:
        p_tie = (forward.p_tie + reverse.p_tie) / 2
    return judgment(
        pair,
        protocol,
        status,
        p_fwd=forward.p,
        p_rev=reverse.p,
        p_a=p_a,
        p_tie=p_tie,
        uncertainty=float(preference_entropy([p_a])[0]),
        verdict=verdict(p_a, p_tie),
        answer_mass=mass,
        detail=_detail(forward, reverse),
        extra=kept,
    )


def _detail(forward: OrderReading, reverse: OrderReading) -> str | None:
    if forward.drawn is None and reverse.drawn is None:
        censored = [o for o, r in (("ab", forward), ("ba", reverse)) if r.status == "censored"]
        return f"bounded by the k-th log probability: {', '.join(censored)}" if censored else None
    parts = []
    for order, result in (("ab", forward), ("ba", reverse)):
        drawn = dict(result.drawn or {})
        unread = sum(drawn.get(status, 0) for status in STATUSES)
        parts.append(f"{order} {sum(drawn.values()) - unread} of {sum(drawn.values())} readable")
    return "sampled: " + ", ".join(parts)
