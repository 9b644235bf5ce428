"""The interface of a store, for every database: replies of judges, labels of people.

There is one row per call, failures too. A row is never changed: a call that is asked again is a new
row, and the latest row of a call counts. Two guarantees hold across runs and parallel processes. A
call with a final answer is never asked again. A call that one process has claimed is not asked by
another while its owner lives. Two calls are the same if all parts of their key are the same.
"""

# ruff: noqa: S608  (what is put into statements is names of our own tables and columns, and marks)
from __future__ import annotations

import json
import os
import re
import socket
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar
from urllib.parse import parse_qsl, urlencode

import psutil

from adjudge.errors import ArgumentError, StoreLostError
from adjudge.hashing import canonical_json
from adjudge.records import Status
from adjudge.store import tables
from adjudge.store.tables import Call, CallRow, Claim, KnownJudge, KnownPrompt, LabelEvent, Served

#: The default store.
DEFAULT_STORE = "adjudge.db"
#: An owner on another machine, or one that cannot be checked, counts as dead after this time.
SILENCE_S = 60.0
#: The name of a state that is not a monitor's begins with this: an A/B test, an alignment.
STATE_OF_COMPARISON = "compare: "
STATE_OF_ALIGNMENT = "alignment: "
STATES_OF_OTHERS = (STATE_OF_COMPARISON, STATE_OF_ALIGNMENT)
#: Seconds between heartbeats of a living owner.
HEARTBEAT_S = 10.0


T = TypeVar("T")
#: Seconds to wait for a lost server.
PATIENCE_S = 30.0
#: Seconds to wait for a lock after Ctrl-C.
HURRIED_S = 1.0
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

    @property
    def hurried(self) -> bool:
        """Whether waiting must end soon."""
        return self._hurried.is_set()

    def hurry(self, wanted: bool = True) -> None:
        """Stop waiting, for example after Ctrl-C; or wait again."""
        if wanted:
            self._hurried.set()
        else:
            self._hurried.clear()


class Store(ABC):
    """A store, opened by one owner. Threads can share it; each process opens its own.

    What is written here are the statements that SQLite and PostgreSQL share. Each of them adds the
    abstract methods; a database without SQL can replace all of them.
    """

    #: Its name in messages, without user and password.
    name: str
    #: A unique id of this store; None for a temporary one.
    store_id: str | None
    #: How long to wait for its server, if it has one.
    patience: Patience
    #: What a statement has in the place of a value.
    _mark: ClassVar[str]

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside is stored together or not at all; nested blocks join the outer one."""

    @abstractmethod
    def save(self, calls: Iterable[Call]) -> None:
        """Store calls and release their claims."""

    @abstractmethod
    def release(self, keys: Collection[str]) -> None:
        """Release claims without an answer."""

    @abstractmethod
    def heartbeat(self) -> None:
        """Record that this owner lives."""

    @abstractmethod
    def close(self) -> None:
        """Release all claims and close."""

    @abstractmethod
    def _execute(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement; returns its rows."""

    @abstractmethod
    def _locking(self, table: str, work: Callable[[], T]) -> T:
        """Do `work`, which is safe to repeat, in a transaction of the only writer of a table."""

    @abstractmethod
    def _among(self, values: list[str]) -> tuple[str, list[Any]]:
        """What follows a column that has one of these values, and what to put into its marks."""

    @abstractmethod
    def _latest(self, columns: Sequence[str], keys: Sequence[str]) -> dict[str, CallRow]:
        """The latest row of each key; the second column is the key."""

    @abstractmethod
    def _claim(self, keys: list[str], answers: Callable[[list[str]], dict[str, Status]]) -> Claim:
        """Claim calls that no living owner makes; `answers` looks up those with an answer."""

    # --- judges and their calls ---

    def remember_judge(
        self, fingerprint: str, *, judge: str, protocol: str, parts: Mapping[str, Any]
    ) -> None:
        """Store the parts of a fingerprint, so that an error can name the parts that differ."""
        # In their order: that of the criteria is a part of a rubric's question.
        text = json.dumps(parts, ensure_ascii=False, allow_nan=False)
        columns = "judge_fingerprint, judge, protocol, parts, first_seen"
        row = (fingerprint, judge, protocol, text, tables.now())
        self._insert("judges", columns, [row], "(judge_fingerprint) DO NOTHING")

    def judge_parts(self, fingerprint: str) -> dict[str, Any] | None:
        """The parts of a fingerprint, or None if this store does not have it."""
        query = f"SELECT parts FROM judges WHERE judge_fingerprint = {self._mark}"
        rows = self._execute(query, (fingerprint,))
        return tables.decode_object(rows[0], "judges", self.name)[-1] if rows else None

    def judges(self) -> dict[str, KnownJudge]:
        """All stored judges, by fingerprint."""
        rows = self._execute("SELECT judge_fingerprint, judge, protocol, parts FROM judges")
        decoded = (tables.decode_object(row, "judges", self.name) for row in rows)
        return {fingerprint: KnownJudge(*judge) for fingerprint, *judge in decoded}

    def remember_prompt(self, sha256: str, prompt: KnownPrompt) -> None:
        """Store the text of a prompt once."""
        name, text = map(tables.storable, (prompt.name, prompt.text))
        row = (sha256, name, text, canonical_json(prompt.answer))
        self._insert("prompts", "sha256, name, text, answer", [row], "(sha256) DO NOTHING")

    def prompts(self) -> dict[str, KnownPrompt]:
        """All stored prompts, by the SHA-256 in fingerprints."""
        rows = self._execute("SELECT sha256, name, text, answer FROM prompts")
        decoded = (tables.decode_object(row, "prompts", self.name) for row in rows)
        return {sha256: KnownPrompt(*prompt) for sha256, *prompt in decoded}

    def latest_call_id(self) -> int:
        """The highest call id so far: where this run's history begins.

        Calls committed later have a higher id. Do not use it inside a `transaction`.
        """
        return self._highest("call_id", "calls")

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

        def answers(wanted: list[str]) -> dict[str, Status]:
            latest = self._latest(tables.STATUS_COLUMNS, wanted)
            return tables.answered(latest, retry=retry, since=since, again=again)

        return self._claim(list(dict.fromkeys(keys)), answers)

    def lookup_rows(self, keys: Sequence[str]) -> dict[str, CallRow]:
        """The reply in the latest row of each call that has one, not decoded.

        Most rows of a long run need only a few of its columns.
        """
        return self._latest(tables.REPLY_COLUMNS, keys)

    def calls(self, subject_ids: Collection[str] | None = None) -> Iterator[Call]:
        """The latest row of every call, or of those about some subjects, oldest first, with raw."""
        later = "SELECT 1 FROM calls l WHERE l.call_key = c.call_key AND l.call_id > c.call_id"
        # Earlier rows are read and dropped here: as a condition of the query, PostgreSQL's planner
        # would join the complete table for every page.
        columns = f"{tables.READ}, EXISTS ({later})"
        for row in self._paged(columns, "calls c", "call_id", subject_id=subject_ids):
            if not row[-1]:
                yield tables.decode_call(row, self.name)

    def count_judged(self, fingerprint: str, since: str) -> int:
        """Rows that a judge answered for the first time after a moment (`tables.now`).

        Rows that are asked again, and calls that failed, are no new rows.
        """
        query = (
            "SELECT COUNT(*) FROM (SELECT 1 FROM calls"
            f" WHERE judge_fingerprint = {self._mark} AND status <> 'error'"
            " GROUP BY subject_id, content_hash"
            f" HAVING MIN(created_at) > {self._mark}) AS judged"
        )
        return int(self._execute(query, (fingerprint, since))[0][0])

    def histories(self, keys: Sequence[str]) -> dict[str, list[Call]]:
        """Every row of each call that has one, oldest first, raw replies included."""
        histories: dict[str, list[Call]] = {}
        for page in tables.pages(keys):
            for row in self._paged(tables.READ, "calls", "call_id", call_key=page):
                histories.setdefault(row[1], []).append(tables.decode_call(row, self.name))
        return histories

    # --- labels, served rows, monitors ---

    def add_label_event(self, event: LabelEvent) -> int:
        """Store one click and return its number. After the return it survives a power failure.

        A known nonce adds nothing.
        """
        row = tables.event_of(event)
        by_nonce = f"SELECT event FROM label_events WHERE nonce = {self._mark}"

        def add() -> int:
            self._insert("label_events", tables.EVENT, [row], "(nonce) DO NOTHING")
            return int(self._execute(by_nonce, row[:1])[0][0])

        return self._locking("label_events", add)

    def label_events(self, rater: str | None = None) -> list[LabelEvent]:
        """Every click, oldest first; of one rater or of all."""
        raters = None if rater is None else [rater]
        rows = self._paged(f"event, {tables.EVENT}", "label_events", "event", rater=raters)
        names = ("event", *tables.EVENT.split(", "))
        return [LabelEvent(**dict(zip(names, row, strict=True))) for row in rows]

    def add_served(self, rows: Iterable[Served]) -> frozenset[str]:
        """Store served rows in order; returns the new ids. An id counts once."""
        values = [tables.served_of(row) for row in rows]

        def add() -> frozenset[str]:
            last = self._highest("served", "served")
            for page in tables.pages(values):
                self._insert("served", tables.SERVED, page, "(rules_id, subject_id) DO NOTHING")
            query = f"SELECT subject_id FROM served WHERE served > {self._mark}"
            return frozenset(name for (name,) in self._execute(query, (last,)))

        return self._locking("served", add) if values else frozenset()

    def audits(self, rules_id: str) -> list[Served]:
        """The audited rows under these rules, in the order of serving."""
        audited = f"rules_id = {self._mark} AND audited = 1 ORDER BY served"
        query = f"SELECT {tables.SERVED_COLUMNS} FROM served WHERE {audited}"
        return [tables.decode_served(row, self.name) for row in self._execute(query, (rules_id,))]

    def served(
        self, rules_id: str | None = None, subject_ids: Collection[str] | None = None
    ) -> Iterator[Served]:
        """Served rows in order, audited or not: all, or some ids under some rules."""
        rules = None if rules_id is None else [rules_id]
        rows = self._paged(
            tables.SERVED_COLUMNS, "served", "served", rules_id=rules, subject_id=subject_ids
        )
        return (tables.decode_served(row, self.name) for row in rows)

    def count_served(self, rules_id: str) -> tuple[int, int]:
        """The number of ids served under these rules, and how many of them were accepted."""
        query = (
            f"SELECT COUNT(*), COALESCE(SUM(accepted), 0) FROM served WHERE rules_id = {self._mark}"
        )
        [(served, accepted)] = self._execute(query, (rules_id,))
        return int(served), int(accepted)

    def served_rules(self) -> list[str]:
        """The rules with served rows, the latest last."""
        rows = self._execute("SELECT rules_id FROM served GROUP BY rules_id ORDER BY MAX(served)")
        return [name for (name,) in rows]

    def keep_monitor(self, name: str, state: str) -> None:
        """Store the state of a monitor; it replaces the earlier one."""
        row = (name, state, tables.now())
        latest = "(name) DO UPDATE SET state = excluded.state, saved_at = excluded.saved_at"
        self._locking(
            "monitors",
            lambda: self._insert("monitors", "name, state, saved_at", [row], latest),
        )

    def replace_monitor(self, name: str, previous: str | None, state: str) -> bool:
        """Store the state of a monitor if the earlier one is still `previous`; whether it was."""

        def replace() -> bool:
            if self.monitors().get(name) not in (previous, state):
                return False
            self.keep_monitor(name, state)
            return True

        return self._locking("monitors", replace)

    def monitors(self) -> dict[str, str]:
        """The state of every monitor, by name."""
        return dict(sorted(self._execute("SELECT name, state FROM monitors")))

    # --- statements ---

    def _marks(self, values: Sequence[Any]) -> str:
        return "(" + ", ".join([self._mark] * len(values)) + ")"

    def _insert(
        self, table: str, columns: str, rows: Sequence[Sequence[Any]], if_there: str
    ) -> None:
        """Add rows in their order; those that are there are treated as `if_there` says."""
        marks = ", ".join([self._marks(rows[0])] * len(rows))
        self._execute(
            f"INSERT INTO {table} ({columns}) VALUES {marks} ON CONFLICT {if_there}",
            [value for row in rows for value in row],
        )

    def _forget(self, owner: str) -> None:
        for table in ("claims", "owners"):
            self._execute(f"DELETE FROM {table} WHERE owner = {self._mark}", (owner,))

    def _highest(self, number: str, table: str) -> int:
        return int(self._execute(f"SELECT COALESCE(MAX({number}), 0) FROM {table}")[0][0])

    def _paged(
        self, columns: str, table: str, number: str, **among: Collection[str] | None
    ) -> Iterator[Any]:
        """Rows by their numbers, whose columns have one of these values (None: any).

        In pages, so that a writer does not wait for a reader.
        """
        conditions = ""
        wanted = []
        for name, values in among.items():
            if values is not None:
                condition, put = self._among(list(values))
                conditions += f" AND {name} {condition}"
                wanted += put
        query = (
            f"SELECT {columns} FROM {table} WHERE {number} > {self._mark}{conditions}"
            f" ORDER BY {number} LIMIT {tables.PAGE}"
        )
        after = 0
        while rows := self._execute(query, (after, *wanted)):
            yield from rows
            after = rows[-1][0]


#: A file, a URL such as sqlite:///FILE, an open store, or None for a temporary store.
StorePlace = str | Path | Store | None

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
    r"|[^/\\\s:@]:[^/\\\s@]+@[\w.-]|(?<!^[a-z])://"
)
#: What no name of a file or a server has: it would be shown.
_SECRET = re.compile(r"(?i)(?:password|passwd|passphrase|pwd|key|token|secret)\s*=")
#: What is shown in the place of a store that could hold a password.
HIDDEN = "a connection string"


def check_place(place: str | Path | None) -> None:
    """Refuse a connection string that is not a URL: as a file it would show its password."""
    if without_secrets(str(place)) == HIDDEN:
        raise ArgumentError("store", f"{HIDDEN} that is not a URL", ENCODE)


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
    >>> without_secrets("jdbc:postgresql://db.example/judgments?password=x")
    'a connection string'
    """
    scheme = scheme_of(place)
    if scheme is None or scheme == "sqlite":
        secret = _SECRET.search(place) or (scheme is None and _CONNECTION.search(place))
        return HIDDEN if secret else place
    address, _, query = place[len(scheme) + 3 :].rpartition("@")[2].partition("?")
    options = [(name, value) for name, value in parse_qsl(query) if name in _SHOWN]
    shown = f"{scheme}://{address}" + (f"?{urlencode(options, safe='/')}" if options else "")
    return HIDDEN if _SECRET.search(shown) else shown


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
