"""Questions and the judge's replies, call by call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from adjudge.present.blocks import Block
from adjudge.present.result import Check, Count, Proportion, Result, at_most, frozen


@dataclass(frozen=True, kw_only=True)
class AskedMessage:
    """One message of a question as it was sent."""

    role: str
    text: str


@dataclass(frozen=True, kw_only=True)
class JudgeReply:
    """One call: the question and the reply.

    `status` is that of the reply alone, as in rows of judgments; `detail` explains it.
    `probabilities` are those of the options alone, which add up to 1; those in `bounded` are upper
    bounds. `answer_mass` is the probability of all options among everything the judge could have
    written; it is a lower bound unless `exact_mass`. `asked` needs the texts, which no store keeps.
    """

    id: str
    judge: str
    protocol: str
    order: str | None
    repeat: Count
    slot: str
    status: str
    detail: str | None = None
    text: str | None = None
    cut_off: bool = False
    probabilities: Mapping[str, Proportion] | None = None
    bounded: tuple[str, ...] = ()
    answer_mass: Proportion | None = None
    exact_mass: bool = False
    mean_logprob: float | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    server: str | None = None
    created_at: str | None = None
    prompt: str | None = None
    asked: tuple[AskedMessage, ...] | None = None
    raw: str | None = None


@frozen
class Replies(Result):
    """Replies in a store: the first `shown` of `matching`, oldest first.

    `statuses` counts all that match. A call that was repeated has its latest reply here.
    """

    kind: ClassVar[str] = "replies"
    rows_in: ClassVar[str] = "replies"
    checks: ClassVar[tuple[Check, ...]] = (at_most("shown", "matching"),)

    store: str
    matching: Count
    shown: Count
    statuses: Mapping[str, Count]
    replies: tuple[JudgeReply, ...]
    notes: tuple[str, ...] = ()

    def view(self) -> list[Block]:
        from adjudge.present.views.replies import view_replies

        return view_replies(self)
