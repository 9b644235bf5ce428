"""The interface of a store, for every database: replies of judges, labels of people.

There is one row per call, failures too. A row is never changed: a call that is asked again is a new
row, and the latest row of a call counts. Two guarantees hold across runs and parallel processes. A
call with a final answer is never asked again. A call that one process has claimed is not asked by
another while its owner lives. Two calls are the same if all parts of their key are the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from json.encoder import encode_basestring as _quote
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import parse_qsl, urlencode

import psutil

from adjudge.errors import ArgumentError, StoreLostError
from adjudge.records import Order, Reply, SampledBy, Status

#: The default store.
DEFAULT_STORE = "adjudge.db"
#: An owner on another machine, or one that cannot be checked, counts as dead after this time.
SILENCE_S = 60.0
#: The name of a state that is not a monitor's begins with this: a comparison that asks people.
STATE_OF_COMPARISON, STATE_OF_ALIGNMENT = "compare: ", "alignment: "
STATES_OF_OTHERS = (STATE_OF_COMPARISON, STATE_OF_ALIGNMENT)
#: Seconds between heartbeats of a living owner.
HEARTBEAT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One stored call: its question, its reply, its place in the history."""

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


#: The values of `REPLY_COLUMNS` (store/columns.py) of one call, as the database gave them.
CallRow = Sequence[Any]


class KnownJudge(NamedTuple):
    """A stored judge: its name, its protocol, the parts of its fingerprint."""

    judge: str
    protocol: str
    parts: Mapping[str, Any]


class KnownPrompt(NamedTuple):
    """The text of a prompt with its placeholders, and its declaration of the answer."""

    name: str
    text: str
    answer: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Claim:
    """The result of a claim: calls that are `done` (by status), `ours` to make, or `busy`."""

    done: Mapping[str, Status] = field(default_factory=dict)
    ours: frozenset[str] = frozenset()
    busy: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelEvent:
    """One click of a rater. The page gives each click an id (`nonce`).

    `undo` undoes the event `undoes`; `recount` changes only how that label counts as sampled. The
    store numbers events (`event`) and sets their time (`created_at`), unless it is given.
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
    """A service's decision on one subject under a policy of these rules; `audited` or not.

    `content` is the row as JSON values: the decision, and also the texts if people audit it. The
    store numbers them (`number`) and sets the time (`served_at`), unless it is given.
    """

    rules_id: str
    subject_id: str
    accepted: bool
    audited: bool
    content: Mapping[str, Any]
    number: int = 0
    served_at: float = 0.0


class Store(Protocol):
    """A store, opened by one owner. Threads can share it; each process opens its own."""

    #: Its name in messages, without user and password.
    name: str
    #: A unique id of this store; None for a temporary one.
    store_id: str | None
    #: How long to wait for its server, if it has one.
    patience: Patience

    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside is stored together or not at all."""

    def remember_judge(
        self, fingerprint: str, *, judge: str, protocol: str, parts: Mapping[str, Any]
    ) -> None:
        """Store the parts of a fingerprint, so that an error can name the parts that differ."""

    def judge_parts(self, fingerprint: str) -> dict[str, Any] | None:
        """The parts of a fingerprint, or None if this store does not have it."""

    def judges(self) -> dict[str, KnownJudge]:
        """All stored judges, by fingerprint."""

    def remember_prompt(self, sha256: str, prompt: KnownPrompt) -> None:
        """Store the text of a prompt once."""

    def prompts(self) -> dict[str, KnownPrompt]:
        """All stored prompts, by the SHA-256 in fingerprints."""

    def latest_call_id(self) -> int:
        """The highest call id so far: where this run's history begins.

        Calls committed later have a higher id. Do not use it inside a `transaction`.
        """

    def claim(
        self,
        keys: Sequence[str],
        *,
        retry: Collection[Status],
        since: int,
        again: Collection[str] = (),
    ) -> Claim:
        """Claim the calls that have no answer and that no living owner is making.

        A call in `again`, or whose latest row has a status in `retry`, counts as unanswered unless
        that row is newer than call id `since`: one run never asks the same question twice. A claim
        is its own transaction. Do not use it inside a `transaction`, where two claims could wait
        for each other.
        """

    def save(self, calls: Iterable[Call]) -> None:
        """Store calls and release their claims."""

    def release(self, keys: Collection[str]) -> None:
        """Release claims without an answer."""

    def lookup(self, keys: Sequence[str]) -> dict[str, Call]:
        """The latest row of each call that has one, without its raw reply."""

    def lookup_rows(self, keys: Sequence[str]) -> dict[str, CallRow]:
        """The reply in the latest row of each call that has one, not decoded.

        Most rows of a long run need only a few of its columns.
        """

    def calls(self, subject_ids: Collection[str] | None = None) -> Iterator[Call]:
        """The latest row of every call, or of those about some subjects, oldest first, with raw."""

    def histories(self, keys: Sequence[str]) -> dict[str, list[Call]]:
        """Every row of each call that has one, oldest first, raw replies included."""

    def add_label_event(self, event: LabelEvent) -> int:
        """Store one click and return its number. After the return it survives a power failure.

        A known nonce adds nothing.
        """

    def label_events(self, rater: str | None = None) -> list[LabelEvent]:
        """Every click, oldest first; of one rater or of all."""

    def add_served(self, rows: Iterable[Served]) -> frozenset[str]:
        """Store served rows in order; returns the new ids. An id counts once."""

    def audits(self, rules_id: str) -> list[Served]:
        """The audited rows under these rules, in the order of serving."""

    def served(
        self, rules_id: str | None = None, subject_ids: Collection[str] | None = None
    ) -> Iterator[Served]:
        """Served rows in order, audited or not: all, or some ids under some rules."""

    def count_served(self, rules_id: str) -> tuple[int, int]:
        """The number of ids served under these rules, and how many of them were accepted."""

    def served_rules(self) -> list[str]:
        """The rules with served rows, the latest last."""

    def keep_monitor(self, name: str, state: str) -> None:
        """Store the state of a monitor; it replaces the earlier one."""

    def replace_monitor(self, name: str, previous: str | None, state: str) -> bool:
        """Store the state of a monitor if the earlier one is still `previous`; whether it was."""

    def monitors(self) -> dict[str, str]:
        """The state of every monitor, by name."""

    def heartbeat(self) -> None:
        """Record that this owner lives."""

    def close(self) -> None:
        """Release all claims and close."""


#: A file, a URL such as sqlite:///FILE, an open store, or None for a temporary store.
StorePlace = str | Path | Store | None


T = TypeVar("T")
#: Seconds to wait for a lost server.
PATIENCE_S = 30.0
_AGAIN_S = 0.2


class Patience:
    """Repeats work on one store while its connection is lost."""

    def __init__(self) -> None:
        self._seconds = PATIENCE_S
        self._hurried = threading.Event()

    def run(self, work: Callable[[], T]) -> T:
        """Do `work`, which must be safe to repeat; StoreLostError after the time limit."""
        until = time.monotonic() + self._seconds
        while True:
            try:
                done = work()
            except StoreLostError:
                if time.monotonic() > until or self._hurried.wait(_AGAIN_S):
                    self._seconds = 0.0
                    raise
            else:
                self._seconds = PATIENCE_S
                return done

    def hurry(self, wanted: bool = True) -> None:
        """Stop waiting, for example after Ctrl-C; or wait again."""
        if wanted:
            self._hurried.set()
        else:
            self._hurried.clear()


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical_json(value: Any) -> str:
    """JSON with one spelling per value: sorted keys, no spaces, no NaN, text unchanged.

    >>> canonical_json({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return _ENCODER.encode(value)


def sha256_json(value: Any) -> str:
    """SHA-256 over the canonical JSON of `value`, as 64 hex digits."""
    # A lone surrogate is valid in a Python string and in JSON, but not in UTF-8.
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def frame(texts: Iterable[str]) -> bytes:
    """A sequence of texts as bytes, each after its length, so that their boundaries count.

    The frame of two sequences one after the other is the two frames one after the other.

    >>> frame(["ab", "\u00fc"])
    b'2:ab2:\\xc3\\xbc'
    """
    given = list(texts)
    joined = "".join([f"{len(text)}:{text}" for text in given])
    if joined.isascii():  # a letter is a byte: the usual case, and the quick one
        return joined.encode()
    encoded = [text.encode("utf-8", "surrogatepass") for text in given]
    return b"".join([b"%d:%b" % (len(one), one) for one in encoded])


def content_hash(texts: Iterable[str]) -> str:
    """SHA-256 over a sequence of texts; their boundaries count.

    >>> content_hash(["ab", "c"]) == content_hash(["a", "bc"])
    False
    """
    return hashlib.sha256(frame(texts)).hexdigest()


def call_key(fingerprint: str, content: str, order: str | None, repeat: int, slot: str) -> str:
    """The key of one call: judge fingerprint, content hash, order, repeat and slot.

    It is `sha256_json` of the list of these, written out because every call passes here.

    >>> call_key("f", "c", None, 0, "s") == sha256_json(["f", "c", None, 0, "s"])
    True
    """
    shown = "null" if order is None else _quote(order)
    text = f"[{_quote(fingerprint)},{_quote(content)},{shown},{repeat},{_quote(slot)}]"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


#: If the clock is set, two readings of a process' start time differ by this much.
_CLOCK_S = 5.0
#: The active owners in this process.
_HERE: set[str] = set()


@dataclass(frozen=True, slots=True)
class Owner:
    """One run in one process. `started` distinguishes it from a later process with the same pid."""

    owner: str
    host: str
    pid: int
    started: str

    @classmethod
    def here(cls) -> Owner:
        """A new owner in this process."""
        pid = os.getpid()
        owner = cls(uuid.uuid4().hex, this_host(), pid, _start_of(pid))
        _HERE.add(owner.owner)
        return owner

    def end(self) -> None:
        """Make no more calls. Its claims are free, even if the store could not record that."""
        _HERE.discard(self.owner)


@cache
def this_host() -> str:
    """The host name, and the namespace that its process numbers belong to.

    Containers can share a store and even a host name, but each numbers its own processes. So a
    process number has no meaning outside its namespace. (psutil does not support namespaces.)
    """
    name = socket.gethostname()
    try:
        return f"{name}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return name


def state_of(owner: Owner) -> Literal["alive", "dead", "unknown"]:
    """Whether the owner's process still runs, if this process can see it."""
    if owner.host != this_host():
        return "unknown"
    try:
        process = psutil.Process(owner.pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return "dead"  # A zombie makes no more calls.
        same = _same_start(owner.started, owner.pid)
    except psutil.NoSuchProcess:
        return "dead"
    except (psutil.AccessDenied, ValueError):
        return "unknown"
    if same and owner.pid == os.getpid():
        return "alive" if owner.owner in _HERE else "dead"
    return "alive" if same else "dead"


def _start_of(pid: int) -> str:
    """The start of a process: on Linux in ticks since boot, which do not depend on the clock."""
    boot = _boot_id()
    if boot is None:
        return repr(psutil.Process(pid).create_time())
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    # The name, second and in brackets, can contain blanks and brackets; the start is field 22.
    return f"{boot}:{stat.rpartition(')')[2].split()[19]}"


def _same_start(started: str, pid: int) -> bool:
    now = _start_of(pid)
    if ":" in now and ":" in started:
        return now == started
    began: float = psutil.Process(pid).create_time()
    return abs(began - float(started)) <= _CLOCK_S


@cache
def _boot_id() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


#: One letter and a colon is a drive of Windows, not a scheme.
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
#: Other parts of a URL can be secret and are not shown.
_SHOWN = ("host", "port", "dbname", "schema")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_LATE_AT = re.compile(r"://[^@]*[/?].*@")
DEFAULT_SCHEMA = "adjudge"
#: The remedy for a URL that cannot be read.
ENCODE = (
    "write postgresql://USER@HOST/DATABASE, and in names and passwords %40 for @, %2F for /,"
    " %3A for :, %3F for ? and %25 for %"
)


#: What libpq or another tool takes as a connection, and we would take for the name of a file.
_CONNECTION = re.compile(
    r"(?i)(?:^|\s)(?:host|hostaddr|dbname|user|password|service|passfile)\s*="
    r"|^[a-z][a-z0-9+.-]+:/?[^/\\][^/]*@|^(?:postgres(?:ql)?|mysql|mariadb|mongodb|redis)(?::|//)"
    r"|[^/\\\s:@]:[^/\\\s@]+@[\w.-]"
)


def check_place(place: str | Path | None) -> None:
    """Refuse a connection string that is not a URL: as a file it would show its password."""
    text = str(place)
    if SCHEME.match(text) is None and _CONNECTION.search(text):
        raise ArgumentError("store", "a connection string that is not a URL", ENCODE)


def scheme_of(place: object) -> str | None:
    """The scheme of a URL; None for a file.

    >>> scheme_of("postgresql://db/x"), scheme_of("C:/runs/s.db")
    ('postgresql', None)
    """
    match = SCHEME.match(place) if isinstance(place, str) else None
    return match[1] if match else None


def without_secrets(place: str) -> str:
    """A place as shown in messages: never with user, password or options of the connection.

    A password can contain any character, also those that should be written as %40 or %2F.

    >>> without_secrets("postgresql://me:se/cr@t@db.example/judgments?schema=a&password=x")
    'postgresql://db.example/judgments?schema=a'
    >>> without_secrets("sqlite:///me@home.db")
    'sqlite:///me@home.db'
    """
    scheme = scheme_of(place)
    if scheme is None and _CONNECTION.search(place):
        return "a connection string"
    if scheme is None or scheme == "sqlite":
        return place
    address, _, query = place[len(scheme) + 3 :].rpartition("@")[2].partition("?")
    options = [(name, value) for name, value in parse_qsl(query) if name in _SHOWN]
    return f"{scheme}://{address}" + (f"?{urlencode(options, safe='/')}" if options else "")


@dataclass(frozen=True)
class DatabaseURL:
    """The URL of a database: libpq's part (never shown), our schema, and its name."""

    name: str
    schema: str
    address: str = field(repr=False)

    @classmethod
    def parse(cls, place: str) -> DatabaseURL:
        """Take `schema=NAME`, which is ours, out of the URL.

        A password with @, / or ? in it would be read partly as the host, and shown in errors.
        """
        if "@" in place.partition("://")[2].partition("@")[2] or _LATE_AT.search(place):
            raise ArgumentError("store", without_secrets(place), ENCODE)
        address, _, query = place.partition("?")
        options = [option.partition("=") for option in query.split("&") if option]
        schema = next((value for key, _, value in options if key == "schema"), DEFAULT_SCHEMA)
        name = without_secrets(place)
        if not _SCHEMA.fullmatch(schema):
            raise ArgumentError(
                "store", name, "schema: use small letters, digits and _, a letter first"
            )
        rest = "&".join("".join(option) for option in options if option[0] != "schema")
        return cls(name, schema, f"{address}?{rest}" if rest else address)
