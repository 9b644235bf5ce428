"""Two answers, two letters, both orders: what the protocols about pairs share.

With log probabilities one question per order is enough:

    p = exp(l_A) / (exp(l_A) + exp(l_B)),

the softmax over the two letters alone (SCOPE paper, B.3.2). Without them each order is asked k
times and p is the smoothed share (r + 1/2) / (k + 1) of the readable answers, r of which were for
response_a; the row says so, and unreadable answers are counted with it, never guessed.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjudge._validation import count, non_negative
from adjudge.errors import ArgumentError
from adjudge.judges.interface import Choice, Data, Prompt, Question, Text
from adjudge.judges.parsing import parse_letter, unread
from adjudge.judges.prompting import Value, fill
from adjudge.records import MEASURED, Judgment, Order, Pair, Reply, Status
from adjudge.uncertainty.entropy import preference_entropy, verdict

PLACEHOLDERS = ("prompt", "response_a", "response_b")
LETTERS = Choice(("A", "B"))
BOTH_ORDERS: tuple[Order, ...] = ("ab", "ba")
#: Enough for a letter with a few words around it, too few for an essay.
LETTER_TOKENS = 16
_SEVERITY: Mapping[Status, int] = {
    "ok": 0,
    "censored": 1,
    "off_answer": 2,
    "unparsed": 3,
    "no_logprobs": 4,
    "refused": 5,
    "error": 6,
}


def worst(statuses: Iterable[Status]) -> Status:
    """The status that decides a row: the one furthest from ok.

    >>> worst(["ok", "unparsed", "censored"])
    'unparsed'
    """
    return max(statuses, key=_SEVERITY.__getitem__)


def reason(replies: Iterable[Reply], status: Status) -> str | None:
    """What the first reply with this status says of itself."""
    return next((r.error for r in replies if r.status == status and r.error), None)


def seeded_order(pair_id: str, seed: int) -> Order:
    """One order per pair, as if drawn by a coin, and the same whenever it is asked for.

    >>> [seeded_order(str(i), 0) for i in range(6)]
    ['ba', 'ba', 'ba', 'ab', 'ba', 'ba']
    """
    drawn = hashlib.sha256(f"{seed}\0{pair_id}".encode("utf-8", "surrogatepass")).digest()
    return "ab" if drawn[0] & 1 else "ba"


def pair_values(pair: Pair, order: Order) -> dict[str, Value]:
    """The pair's text as the judge sees it: under "ba" response_b is where A is written."""
    first, second = pair.response_a, pair.response_b
    if order == "ba":
        first, second = second, first
    return {"prompt": Data(pair.prompt), "response_a": Data(first), "response_b": Data(second)}


def wanted(
    choice: Choice,
    samples: int | None,
    max_tokens: int | None,
    usual_tokens: int,
    temperature: float,
) -> Choice | Text:
    """What is wanted: the choice's probabilities or, where samples are drawn, a written answer.

    Judges that think in the open need more than the usual tokens.
    """
    drawn = 1 if samples is None else count(samples, "samples", least=1)
    if non_negative(temperature, "temperature") == 0 and drawn > 1:
        raise ArgumentError(
            "temperature", 0, "samples at temperature 0 are all alike; give one above 0"
        )
    if samples is not None:
        tokens = usual_tokens if max_tokens is None else count(max_tokens, "max_tokens", least=1)
        return Text(tokens, temperature)
    if max_tokens is not None:
        raise ArgumentError(
            "max_tokens", max_tokens, "only written answers have a length: give samples"
        )
    return choice


def sample_settings(samples: int | None, want: Choice | Text) -> dict[str, Any]:
    """How answers are drawn, if they are."""
    if not isinstance(want, Text):
        return {}
    return {"samples": samples, "temperature": want.temperature, "max_tokens": want.max_tokens}


def judgment(pair: Pair, protocol: str, status: Status, **fields: Any) -> Judgment:
    """A row about a pair; the runner fills in which judge it was."""
    return Judgment(
        id=pair.id, judge="", protocol=protocol, status=status, label=pair.label, **fields
    )


@dataclass(frozen=True, slots=True)
class OrderReading:
    """P(response_a preferred) in one order, or why there is none."""

    status: Status
    p: float | None = None
    detail: str | None = None
    drawn: Mapping[str, int] | None = None


class LetterQuestions:
    """How a pairwise letter is asked for: by log probabilities, or `samples` times per order."""

    def __init__(
        self, prompt: Prompt, *, samples: int | None, max_tokens: int | None, temperature: float
    ) -> None:
        self.prompt = prompt
        self.samples = samples
        self.want = wanted(LETTERS, samples, max_tokens, LETTER_TOKENS, temperature)
        self.per_order = samples or 1

    def settings(self) -> dict[str, Any]:
        return {
            "prompt_sha256": self.prompt.sha256,
            "orders": list(BOTH_ORDERS),
            **sample_settings(self.samples, self.want),
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
        read_one = _from_logprobs if self.samples is None else _from_samples
        return read_one(replies[: self.per_order], "ab"), read_one(replies[self.per_order :], "ba")


def softmax_of_two(chosen: float, other: float) -> float:
    """exp(chosen) / (exp(chosen) + exp(other)), without overflow.

    >>> softmax_of_two(-0.1, -0.1), softmax_of_two(0.0, -9999.0)
    (0.5, 1.0)
    """
    gap = other - chosen
    if gap > 0:
        small = math.exp(-gap)
        return small / (1 + small)
    return 1 / (1 + math.exp(gap))


def smoothed_share(wins: int, drawn: int) -> float:
    """(r + 1/2) / (k + 1): never 0 or 1, because k answers cannot show certainty.

    >>> smoothed_share(5, 5), smoothed_share(0, 5)
    (0.9166666666666666, 0.08333333333333333)
    """
    return (wins + 0.5) / (drawn + 1)


def _letter_of_a(order: Order) -> tuple[str, str]:
    return ("A", "B") if order == "ab" else ("B", "A")


def _from_logprobs(replies: Sequence[Reply], order: Order) -> OrderReading:
    reply = replies[0]
    if reply.status not in MEASURED:
        return OrderReading(reply.status, detail=reply.error)
    own, other = _letter_of_a(order)
    if reply.counts is not None:
        drawn = {letter: int(reply.counts.get(letter, 0)) for letter in ("A", "B")}
        return _share(drawn, own)
    logprobs = reply.logprobs
    if logprobs is None or own not in logprobs or other not in logprobs:
        return OrderReading("no_logprobs", detail="the reply holds no log probability of A and B")
    p = softmax_of_two(logprobs[own], logprobs[other])
    if not math.isfinite(p):
        return OrderReading("error", detail="the log probabilities of A and B are not numbers")
    # A bound on either letter makes p a bound too, whatever status the backend gave.
    status: Status = "censored" if reply.censored else reply.status
    return OrderReading(status, p)


def _from_samples(replies: Sequence[Reply], order: Order) -> OrderReading:
    if any(reply.status == "error" for reply in replies):
        # An answer that never came can still be asked for; a share without it would differ later.
        return OrderReading("error", detail=reason(replies, "error"))
    tally: Counter[str] = Counter()
    for reply in replies:
        if reply.status in MEASURED:
            tally[parse_letter(reply.text) or unread(reply.text)] += 1
        else:
            tally[reply.status] += 1
    drawn = dict(sorted(tally.items()))
    if tally["A"] + tally["B"] == 0:
        status = worst(unread(r.text) if r.status in MEASURED else r.status for r in replies)
        detail = reason(replies, status) or "no sample is A or B"
        return OrderReading(status, detail=detail, drawn=drawn)
    own, _ = _letter_of_a(order)
    return _share(drawn, own)


def _share(drawn: Mapping[str, int], own: str) -> OrderReading:
    readable = drawn.get("A", 0) + drawn.get("B", 0)
    if readable == 0:
        return OrderReading("unparsed", detail="no sample is A or B", drawn=drawn)
    return OrderReading("ok", smoothed_share(drawn.get(own, 0), readable), drawn=drawn)


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
    if status not in MEASURED or forward.p is None or reverse.p is None:
        detail = next((o.detail for o in (forward, reverse) if o.status == status), None)
        return judgment(pair, protocol, status, detail=detail, extra=kept)
    p_a = (forward.p + reverse.p) / 2
    return judgment(
        pair,
        protocol,
        status,
        p_fwd=forward.p,
        p_rev=reverse.p,
        p_a=p_a,
        uncertainty=float(preference_entropy([p_a])[0]),
        verdict=verdict(p_a),
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
        readable = drawn.get("A", 0) + drawn.get("B", 0)
        parts.append(f"{order} {readable} of {sum(drawn.values())} readable")
    return "sampled: " + ", ".join(parts)
