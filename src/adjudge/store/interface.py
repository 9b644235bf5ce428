"""What a store must do, whichever database keeps it: replies of judges, labels of people.

One row per call, failures too, never changed once written: a call asked again is a new row, and
the latest row speaks for the call. Two promises hold across runs and across processes at once:
a call with a final answer is never asked again, and a call that one process has claimed is not
asked by another while its owner lives. Labels are events, and are never changed either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from adjudge.records import Order, Reply, SampledBy, Status
from adjudge.results.store import StoreCheck
from adjudge.store.patience import Patience

#: Where replies are kept unless the user names another place.
DEFAULT_STORE = "adjudge.db"
#: An owner on another machine, or one that cannot be examined, is given up after this silence.
SILENCE_S = 60.0
#: How often a living owner says so.
HEARTBEAT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as it is kept: which question it was, its reply, its place in the history."""

    call_key: str
    judge_fingerprint: str
    subject_id: str
    content_hash: str
    order: Order | None
    repeat: int
    slot: str
    reply: Reply
    created_at: str | None = None
    call_id: int | None = None


#: The values of `READ_COLUMNS` (store/columns.py) of one call, as the database gave them.
CallRow = Sequence[Any]


class KnownJudge(NamedTuple):
    """A judge as it was remembered: its name, how it was asked, the parts of its fingerprint."""

    judge: str
    protocol: str
    parts: Mapping[str, Any]


class KnownPrompt(NamedTuple):
    """The words of a prompt with its placeholders, and what it declares of the answer."""

    name: str
    text: str
    answer: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to a claim: calls that are `done` (by status), `ours` to make, or `busy`."""

    done: Mapping[str, Status] = field(default_factory=dict)
    ours: frozenset[str] = frozenset()
    busy: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEvent:
    """One click of a rater. The page names each click once (`nonce`).

    `undo` takes the event `undoes` back; `recount` changes only how that label counts as sampled.
    The store counts events (`event`) and says when each came (`created_at`), unless it is known.
    """

    nonce: str
    rater: str
    subject_id: str
    action: Literal["label", "skip", "undo", "recount"]
    label: str | None = None
    shown_order: Order | None = None
    sampled_by: SampledBy | None = None
    comment: str | None = None
    undoes: int | None = None
    event: int = 0
    created_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a service said of one subject under a policy of these rules; `audited` by people or not.

    `content` is the row as JSON values: the decision, and the texts too where people audit it. The
    store counts them (`number`), and says when each was served (`served_at`), unless it is known.
    """

    rules_id: str
    subject_id: str
    accepted: bool
    audited: bool
    content: Mapping[str, Any]
    number: int = 0
    served_at: float = 0.0


class Store(Protocol):
    """A store, opened by one owner. Threads may share it; processes open it each for themselves."""

    #: What messages call it, without user and password.
    name: str
    #: Tells this store from every other; None for one that is forgotten when it is closed.
    store_id: str | None
    #: How its server is waited for, where it has one.
    patience: Patience

    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside is kept together or not at all."""

    def remember_judge(
        self, fingerprint: str, *, judge: str, protocol: str, parts: Mapping[str, Any]
    ) -> None:
        """Keep the parts behind a fingerprint, so that a mismatch can be named part by part."""

    def judge_parts(self, fingerprint: str) -> dict[str, Any] | None:
        """The parts behind a fingerprint, or None if this store has never seen it."""

    def judges(self) -> dict[str, KnownJudge]:
        """Every judge that was remembered, by fingerprint."""

    def remember_prompt(self, sha256: str, prompt: KnownPrompt) -> None:
        """Keep the words of a prompt, once."""

    def prompts(self) -> dict[str, KnownPrompt]:
        """Every prompt that was remembered, by the SHA-256 that fingerprints name."""

    def latest_call_id(self) -> int:
        """The highest call id so far: where this run's history begins.

        Whatever is committed after this has a higher one. Not inside a `transaction`.
        """

    def claim(
        self,
        keys: Sequence[str],
        *,
        retry: Collection[Status],
        since: int,
        again: Collection[str] = (),
    ) -> Claim:
        """Take the calls that nobody has answered and nobody alive is making.

        A call in `again`, or whose latest row has a status in `retry`, counts as unanswered unless
        that row is newer than call id `since`: one run never asks the same question twice. A
        claim is a transaction of its own: not inside a `transaction`, where two could wait for
        each other.
        """

    def answered(
        self,
        keys: Sequence[str],
        *,
        retry: Collection[Status],
        since: int,
        again: Collection[str] = (),
    ) -> dict[str, Status]:
        """What `claim` would call done, by status; nothing is claimed."""

    def save(self, calls: Iterable[Call]) -> None:
        """Keep calls and give their claims back."""

    def release(self, keys: Collection[str]) -> None:
        """Give claims back without an answer."""

    def lookup(self, keys: Sequence[str]) -> dict[str, Call]:
        """The latest row of each call that has one, without its raw reply."""

    def lookup_rows(self, keys: Sequence[str]) -> dict[str, CallRow]:
        """`lookup` without decoding: most rows of a long run are read by a few of their columns."""

    def calls(self, subject_ids: Collection[str] | None = None) -> Iterator[Call]:
        """The latest row of every call, or of those about some subjects, oldest first, with raw."""

    def histories(self, keys: Sequence[str]) -> dict[str, list[Call]]:
        """Every row of each call that has one, oldest first, raw replies included."""

    def add_label_event(self, event: LabelEvent) -> int:
        """Keep one click, and return its number: safe from a power cut once this returns.

        A known nonce adds nothing.
        """

    def label_events(self, rater: str | None = None) -> list[LabelEvent]:
        """Every click, oldest first; of one rater or of all."""

    def add_served(self, rows: Iterable[Served]) -> frozenset[str]:
        """Keep what was served, in its order; the ids that were new. An id counts once."""

    def audits(self, rules_id: str) -> list[Served]:
        """What was served under these rules and is audited, in the order of serving."""

    def served(
        self, rules_id: str | None = None, subject_ids: Collection[str] | None = None
    ) -> Iterator[Served]:
        """All that was served, audited or not, in its order: all, or some ids under some rules."""

    def count_served(self, rules_id: str) -> tuple[int, int]:
        """How many ids were served under these rules, and how many of them accepted."""

    def served_rules(self) -> list[str]:
        """The rules under which something was served, the latest last."""

    def keep_monitor(self, name: str, state: str) -> None:
        """Keep the state of a monitor in place of its earlier one."""

    def monitors(self) -> dict[str, str]:
        """The state of every monitor, by name."""

    def heartbeat(self) -> None:
        """Say that this owner lives."""

    def close(self) -> None:
        """Give all claims back and close."""


@runtime_checkable
class CheckableStore(Protocol):
    """A store that can read itself through, as `adjudge store check` asks it to."""

    def check(self) -> StoreCheck:
        """What it holds, and what of it no longer decodes."""


#: A file, a URL such as sqlite:///FILE, an open store, or None for one that is forgotten.
StorePlace = str | Path | Store | None
