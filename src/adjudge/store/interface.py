"""What a store of replies must do, whichever database keeps them.

One row per call, failures too, never changed once written: a call asked again is a new row, and
the latest row speaks for the call. Two promises hold across runs and across processes at once:
a call with a final answer is never asked again, and a call that one process has claimed is not
asked by another while its owner lives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from adjudge.records import Order, Status

#: Where replies are kept unless the user names another place.
DEFAULT_STORE = "adjudge.db"
#: An owner on another machine, or one that cannot be examined, is given up after this silence.
SILENCE_S = 60.0
#: How often a living owner says so.
HEARTBEAT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as it is kept: which question it was, and all that came back.

    `logprobs`, `counts` and `censored` are as in the judge's reply. `call_id` orders the history.
    """

    call_key: str
    judge_fingerprint: str
    subject_id: str
    content_hash: str
    order: Order | None
    repeat: int
    slot: str
    status: Status
    text: str | None = None
    logprobs: Mapping[str, float] | None = None
    censored: frozenset[str] = frozenset()
    counts: Mapping[str, int] | None = None
    mean_logprob: float | None = None
    scored_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float | None = None
    error: str | None = None
    raw: str | None = None
    created_at: str | None = None
    call_id: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is already kept of a call: enough to count it without loading the reply."""

    status: Status
    prompt_tokens: int | None
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class Claimed:
    """The answer to a claim: calls that are `done`, now `ours` to make, or `busy` with another."""

    done: Mapping[str, Known] = field(default_factory=dict)
    ours: frozenset[str] = frozenset()
    busy: frozenset[str] = frozenset()


class Store(Protocol):
    """A store, opened by one owner (one run) and used from one thread."""

    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside is kept together or not at all; other processes wait meanwhile."""
        ...

    def remember_judge(
        self, fingerprint: str, *, judge: str, protocol: str, parts: Mapping[str, Any]
    ) -> None:
        """Keep the parts behind a fingerprint, so that a mismatch can be named part by part."""
        ...

    def judge_parts(self, fingerprint: str) -> dict[str, Any] | None:
        """The parts behind a fingerprint, or None if this store has never seen it."""
        ...

    def latest_call_id(self) -> int:
        """The highest call id so far: where this run's history begins."""
        ...

    def claim(self, keys: Sequence[str], *, retry: Collection[Status], since: int) -> Claimed:
        """Take the calls that nobody has answered and nobody alive is making.

        A call whose latest row has a status in `retry` counts as unanswered unless that row is
        newer than call id `since`: one run never asks the same question twice.
        """
        ...

    def save(self, calls: Iterable[Call]) -> None:
        """Keep calls and give their claims back."""
        ...

    def release(self, keys: Collection[str]) -> None:
        """Give claims back without an answer."""
        ...

    def lookup(self, keys: Sequence[str]) -> dict[str, Call]:
        """The latest row of each call that has one, without its raw reply."""
        ...

    def history(self, key: str) -> list[Call]:
        """Every row of one call, oldest first, raw replies included."""
        ...

    def heartbeat(self) -> None:
        """Say that this owner lives."""
        ...

    def close(self) -> None:
        """Give all claims back and close."""
        ...
