"""Pairwise preference in both orders, always (SCOPE paper, section 2.2 and B.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.errors import ArgumentError
from adjudge.judges.interface import Prompt, Question
from adjudge.judges.prompting import builtin_prompt, check_prompt
from adjudge.judges.protocols._pairwise import Asking, Preferred, worst
from adjudge.records import MEASURED, Item, Judgment, Pair, Reply
from adjudge.uncertainty import preference_entropy
from adjudge.uncertainty.entropy import verdict

PLACEHOLDERS = ("prompt", "response_a", "response_b")


def as_pair(subject: Pair | Item, protocol: str) -> Pair:
    """The subject, which must be a pair."""
    if not isinstance(subject, Pair):
        raise ArgumentError("subject", subject, f"{protocol} compares pairs; give Pair rows")
    return subject


class Preference:
    """Asks for one letter with response_a shown first, then with response_a shown second.

    p_fwd and p_rev are softmaxes over the two letters alone, both about response_a;
    p_a = (p_fwd + p_rev) / 2, and doubt is its entropy. At exactly p_a = 0.5, which a judge that
    only looks at the position reaches, there is no verdict. With `samples` the letters are drawn
    that often per order instead, for judges that give no log probabilities: p is then
    (r + 1/2) / (k + 1), and the row's `extra` holds what was drawn.

    >>> from adjudge.records import Reply
    >>> pair = Pair(id="1", prompt="2+2?", response_a="4", response_b="5")
    >>> first = Reply(status="ok", logprobs={"A": -0.1, "B": -2.4})
    >>> second = Reply(status="ok", logprobs={"A": -2.4, "B": -0.1})
    >>> row = Preference().judge(pair, [first, second])[0]
    >>> row.verdict, round(row.p_a, 4), round(row.uncertainty, 4)
    ('A', 0.9089, 0.3051)
    """

    name = "preference"

    def __init__(
        self,
        *,
        prompt: Prompt | None = None,
        samples: int | None = None,
        temperature: float = 1.0,
        max_tokens: int | None = None,
    ) -> None:
        chosen = prompt or builtin_prompt("preference")
        self.asking = Asking(
            check_prompt(chosen, required=PLACEHOLDERS),
            samples=samples,
            temperature=temperature,
            max_tokens=max_tokens,
        )

    @property
    def wants(self) -> frozenset[type]:
        """Choice, or Text when the letters are sampled."""
        return self.asking.wants

    def settings(self) -> Mapping[str, Any]:
        return self.asking.settings()

    def questions(self, subject: Pair | Item) -> Sequence[Question]:
        return self.asking.questions(as_pair(subject, self.name))

    def judge(self, subject: Pair | Item, replies: Sequence[Reply]) -> Sequence[Judgment]:
        pair = as_pair(subject, self.name)
        orders = self.asking.read(replies)
        return [judgment_of(pair, self.name, orders["ab"], orders["ba"])]


def judgment_of(
    pair: Pair,
    protocol: str,
    forward: Preferred,
    reverse: Preferred,
    extra: Mapping[str, Any] | None = None,
) -> Judgment:
    """The row that two orders give: ok only when both are."""
    kept = dict(extra or {})
    if forward.drawn is not None or reverse.drawn is not None:
        kept["samples"] = {"ab": dict(forward.drawn or {}), "ba": dict(reverse.drawn or {})}
    status = worst([forward.status, reverse.status])
    if status not in MEASURED or forward.p is None or reverse.p is None:
        detail = next((o.detail for o in (forward, reverse) if o.status == status), None)
        return Judgment(
            id=pair.id,
            judge="",
            protocol=protocol,
            status=status,
            detail=detail,
            label=pair.label,
            extra=kept,
        )
    p_a = (forward.p + reverse.p) / 2
    return Judgment(
        id=pair.id,
        judge="",
        protocol=protocol,
        status=status,
        p_fwd=forward.p,
        p_rev=reverse.p,
        p_a=p_a,
        uncertainty=float(preference_entropy([p_a])[0]),
        verdict=verdict(p_a),
        detail=_detail(forward, reverse),
        label=pair.label,
        extra=kept,
    )


def _detail(forward: Preferred, reverse: Preferred) -> str | None:
    if forward.drawn is None and reverse.drawn is None:
        censored = [o for o, r in (("ab", forward), ("ba", reverse)) if r.status == "censored"]
        return f"bounded by the k-th log probability: {', '.join(censored)}" if censored else None
    told = []
    for order, result in (("ab", forward), ("ba", reverse)):
        drawn = dict(result.drawn or {})
        readable = drawn.get("A", 0) + drawn.get("B", 0)
        told.append(f"{order} {readable} of {sum(drawn.values())} readable")
    return "sampled: " + ", ".join(told)
