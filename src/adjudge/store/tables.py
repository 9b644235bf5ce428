"""The tables of a store, their rows as records, and the statements that both databases share.

The tables are the same in every database, as an ordered list of named steps. An older store is
migrated when it is opened to write. A store with a step that this version does not have was
written by a newer adjudge. It is refused and not changed. Until the first release the one step is
edited in place; a released step is never edited.

Text is TEXT, and JSON is text too, so that values are returned byte for byte.
"""

# ruff: noqa: S608  (what is put into statements is names of our own tables and columns, and marks)
from __future__ import annotations

import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from adjudge.errors import StoreError, StoreMissingError, StoreVersionError
from adjudge.records import STATUSES, Reply, Status
from adjudge.store.interface import (
    Call,
    CallRow,
    Claim,
    KnownJudge,
    KnownPrompt,
    LabelEvent,
    Served,
    canonical_json,
)

LEDGER = "adjudge_migrations"


def now() -> str:
    """The current time, as it is written into a store."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


#: What differs between databases: the serial key, and how an owner shows that it lives.
Dialect = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Migration:
    """One step, with places for the parts of a `Dialect` and for a new random id."""

    name: str
    statements: tuple[str, ...]

    def fill(self, dialect: Dialect, position: int) -> list[str]:
        """Its statements for one database, between those that make the ledger and write in it."""
        ledger = (
            f"CREATE TABLE IF NOT EXISTS {LEDGER} ("
            "position INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"
        )
        written = (
            f"INSERT INTO {LEDGER} (position, name, applied_at)"
            f" VALUES ({position}, '{self.name}', '{now()}')"
        )
        values = {**dialect, "store_id": uuid.uuid4().hex}
        return [statement.format(**values) for statement in (ledger, *self.statements, written)]


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "0001_store",
        (
            """CREATE TABLE judges (
                judge_fingerprint TEXT PRIMARY KEY,
                judge TEXT NOT NULL,
                protocol TEXT NOT NULL,
                parts TEXT NOT NULL,
                first_seen TEXT NOT NULL
            )""",
            """CREATE TABLE prompts (
                sha256 TEXT PRIMARY KEY,
                name TEXT NOT NULL,
                text TEXT NOT NULL,
                answer TEXT NOT NULL
            )""",
            """CREATE TABLE calls (
                call_id {serial},
                call_key TEXT NOT NULL,
                judge_fingerprint TEXT NOT NULL,
                subject_id TEXT NOT NULL,
                content_hash TEXT NOT NULL,
                shown_order TEXT,
                repeat_index BIGINT NOT NULL,
                slot TEXT NOT NULL,
                status TEXT NOT NULL,
                reply_text TEXT,
                logprobs TEXT,
                censored TEXT,
                counts TEXT,
                mean_logprob DOUBLE PRECISION,
                scored_tokens BIGINT,
                prompt_tokens BIGINT,
                completion_tokens BIGINT,
                latency_s DOUBLE PRECISION,
                error TEXT,
                answer_mass DOUBLE PRECISION,
                exact_mass INTEGER NOT NULL DEFAULT 0,
                cut_off INTEGER NOT NULL DEFAULT 0,
                server TEXT,
                served_model TEXT,
                created_at TEXT NOT NULL,
                raw TEXT
            )""",
            "CREATE INDEX calls_by_key ON calls (call_key, call_id)",
            """CREATE TABLE owners (
                owner TEXT PRIMARY KEY,
                host TEXT NOT NULL,
                pid BIGINT NOT NULL,
                {signs_of_life}
            )""",
            "CREATE TABLE claims (call_key TEXT PRIMARY KEY, owner TEXT NOT NULL)",
            """CREATE TABLE label_events (
                event {serial},
                nonce TEXT NOT NULL UNIQUE,
                rater TEXT NOT NULL,
                subject_id TEXT NOT NULL,
                action TEXT NOT NULL CHECK (action IN ('label', 'skip', 'undo', 'recount')),
                label TEXT,
                shown_order TEXT CHECK (shown_order IN ('ab', 'ba')),
                sampled_by TEXT,
                comment TEXT,
                undoes BIGINT,
                created_at DOUBLE PRECISION NOT NULL
            )""",
            "CREATE INDEX label_events_by_rater ON label_events (rater, event)",
            """CREATE TABLE served (
                served {serial},
                rules_id TEXT NOT NULL,
                subject_id TEXT NOT NULL,
                accepted INTEGER NOT NULL,
                audited INTEGER NOT NULL,
                content TEXT NOT NULL,
                served_at DOUBLE PRECISION NOT NULL,
                UNIQUE (rules_id, subject_id)
            )""",
            "CREATE INDEX audits_by_rules ON served (rules_id, audited, served)",
            """CREATE TABLE monitors (
                name TEXT PRIMARY KEY,
                state TEXT NOT NULL,
                saved_at TEXT NOT NULL
            )""",
            "CREATE TABLE store_identity (store_id TEXT PRIMARY KEY)",
            "INSERT INTO store_identity (store_id) VALUES ('{store_id}')",
        ),
    ),
)


def pending(
    applied: Sequence[str], place: str | Path, *, readonly: bool = False
) -> tuple[Migration, ...]:
    """The missing steps, given the steps of a store; a store that is only read must have all.

    A new store has no step yet.

    >>> [step.name for step in pending([], "new.db")]
    ['0001_store']
    """
    if readonly and not applied:
        raise StoreMissingError(f"{place}: no such store; check --store")
    names = [step.name for step in MIGRATIONS]
    unknown = [name for name in applied if name not in names]
    if unknown:
        raise StoreVersionError(
            f"{place}: written by a newer adjudge (it has {unknown[-1]}); "
            "upgrade adjudge or choose another store"
        )
    if list(applied) != names[: len(applied)]:
        raise StoreError(f"{place}: its migrations are out of order; restore it from a backup")
    missing = MIGRATIONS[len(applied) :]
    if readonly and missing:
        raise StoreVersionError(
            f"{place}: written by an older adjudge; a command that writes to it, such as judge, "
            "brings it up to date"
        )
    return missing


# --- rows ---

#: Words in the messages of a database, and what to do about it.
Remedies = Sequence[tuple[tuple[str, ...], str]]
#: The remedy for a damaged row, given the store's name.
DAMAGED = "`adjudge store check {}` shows what can be read and rescued"
#: What was asked, by the fields of `Call`, and what came back, by those of `Reply`.
_QUESTION = ("judge_fingerprint", "subject_id", "content_hash", "order", "repeat", "created_at")
_REPLY = (
    *("status", "text", "logprobs", "censored", "counts", "mean_logprob", "scored_tokens"),
    *("prompt_tokens", "completion_tokens", "latency_s", "error", "answer_mass", "exact_mass"),
    *("cut_off", "server", "served_model"),
)
#: Fields whose columns have another name: theirs is a word of SQL, or says too little.
_COLUMN = {"order": "shown_order", "repeat": "repeat_index", "text": "reply_text"}
#: What rows of a run are made from; the other columns describe the question.
REPLY_COLUMNS = ("call_id", "call_key", "slot", *(_COLUMN.get(name, name) for name in _REPLY))
READ_COLUMNS = (*REPLY_COLUMNS, *(_COLUMN.get(name, name) for name in _QUESTION))
WRITTEN = ", ".join(
    (*REPLY_COLUMNS[3:], "raw", "call_key", "slot", *READ_COLUMNS[len(REPLY_COLUMNS) :])
)
EVENT = (
    "nonce, rater, subject_id, action, label, shown_order, sampled_by, comment, undoes, created_at"
)
EVENT_COLUMNS = ("event", *EVENT.split(", "))
SERVED = "rules_id, subject_id, accepted, audited, content, served_at"
SERVED_COLUMNS = f"served, {SERVED}"

#: Their first columns are enough to decide whether a call is answered.
STATUS_COLUMNS = REPLY_COLUMNS[:4]
#: Where these are in all of them.
CALL_ID, _, SLOT, STATUS = range(4)
SERVED_MODEL = REPLY_COLUMNS.index("served_model")

_READ = ", ".join(READ_COLUMNS)
_DECODER = json.JSONDecoder()
T = TypeVar("T")


def remedy_for(reason: str, remedies: Remedies, otherwise: str) -> str:
    """The remedy of the first entry with one of its words in a database's message."""
    fitting = (remedy for words, remedy in remedies if any(word in reason for word in words))
    return next(fitting, otherwise)


def storable(value: str | None) -> str | None:
    """Text a database can hold: a lone surrogate, legal in JSON, is not legal UTF-8."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode("utf-8")


def answered(
    latest: Mapping[str, CallRow],
    *,
    retry: Collection[Status],
    since: int,
    again: Collection[str] = (),
) -> dict[str, Status]:
    """The calls that are not asked (again), from the latest row of each (or STATUS_COLUMNS of it).

    `retry`, `since` and `again` are those of `Store.claim`.
    """
    return {
        key: row[STATUS]
        for key, row in latest.items()
        if row[CALL_ID] > since or (row[STATUS] not in retry and key not in again)
    }


_OF_REPLY = attrgetter(*_REPLY, "raw")
_OF_CALL = attrgetter("call_key", "slot", *_QUESTION)
_LOGPROBS, _CENSORED, _COUNTS = map(_REPLY.index, ("logprobs", "censored", "counts"))


def row_of(call: Call, now: str) -> list[Any]:
    """The values of the columns in `WRITTEN`."""
    row: list[Any] = [
        value if type(value) is not str or value.isascii() else storable(value)
        for value in (*_OF_REPLY(call.reply), *_OF_CALL(call))
    ]
    row[-1] = row[-1] or now
    for at in (_LOGPROBS, _COUNTS):
        row[at] = None if row[at] is None else json.dumps(dict(row[at]))
    row[_CENSORED] = json.dumps(sorted(row[_CENSORED])) if row[_CENSORED] else None
    return row


def event_of(event: LabelEvent) -> list[Any]:
    """The values of EVENT; the time is now, unless the event has one."""
    given = [getattr(event, name) for name in EVENT_COLUMNS[1:-1]]
    texts = [storable(value) if isinstance(value, str) else value for value in given]
    return [*texts, event.created_at or time.time()]


def served_of(row: Served) -> tuple[Any, ...]:
    """The values of SERVED; the time is now, unless the row has one."""
    content = json.dumps(row.content, allow_nan=False)
    served_at = row.served_at or time.time()
    return row.rules_id, row.subject_id, int(row.accepted), int(row.audited), content, served_at


def call_of(row: Sequence[Any], raw: str | None) -> Call:
    """The call in a row of READ_COLUMNS. ValueError if the row is damaged."""
    call_id, key, slot = row[:3]
    asked = dict(zip(_QUESTION, row[len(REPLY_COLUMNS) :], strict=False))
    return Call(call_id=call_id, call_key=key, slot=slot, reply=_reply_of(row, raw), **asked)


def _reply_of(row: Sequence[Any], raw: str | None) -> Reply:
    reply = dict(zip(_REPLY, row[3:], strict=False))
    if reply["status"] not in STATUSES:
        raise ValueError(f"status is {reply['status']!r}")
    for name in ("logprobs", "counts"):
        if reply[name] is not None:
            reply[name] = dict(json.loads(reply[name]))
    reply["censored"] = frozenset(json.loads(reply["censored"] or "[]"))
    for name in ("exact_mass", "cut_off"):
        reply[name] = bool(reply[name])
    return Reply(**reply, raw=raw)


class PlainReply(NamedTuple):
    """A reply that is ok and is log probabilities, with nothing special to it."""

    logprobs: Mapping[str, Any]
    answer_mass: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    server: str | None
    served_model: str | None


def plain_reply(row: CallRow) -> PlainReply | None:
    """The reply in a row of REPLY_COLUMNS if it is plain; None if `decode_reply` must look."""
    status, _, text, censored, counts = row[3:8]
    if status != "ok" or text is None or censored or counts is not None:
        return None
    try:
        logprobs, end = _DECODER.raw_decode(text)
    except (ValueError, TypeError):
        return None
    plain = end == len(text) and type(logprobs) is dict and isinstance(row[14], float | None)
    return PlainReply(logprobs, row[14], row[10], row[11], row[17], row[18]) if plain else None


def decode_reply(row: CallRow, store: str) -> Reply:
    """The reply in a row of REPLY_COLUMNS, without raw; StoreError if the row is damaged."""
    return _decode(_reply_of, row, None, store)


def decode_call(row: CallRow, raw: str | None, store: str) -> Call:
    """The call in a row of READ_COLUMNS; StoreError if the row is damaged."""
    return _decode(call_of, row, raw, store)


def _decode(read: Callable[..., T], row: CallRow, raw: str | None, store: str) -> T:
    try:
        return read(row, raw)
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{store}: call {row[0]} is damaged ({error}); {DAMAGED.format(store)}"
        ) from None


def decode_object(row: Sequence[Any], table: str, store: str) -> list[Any]:
    """A row of texts; the last one is a JSON object and is parsed."""
    *texts, last = row
    try:
        value = json.loads(last)
    except (ValueError, TypeError):
        value = None
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in texts):
        raise StoreError(f"{store}: a row of {table} is damaged; {DAMAGED.format(store)}")
    return [*texts, value]


def decode_served(row: Sequence[Any], store: str) -> Served:
    """A served row, from a row of SERVED_COLUMNS."""
    fields = dict(zip(("number", *SERVED.split(", ")), row, strict=True))
    try:
        fields["content"] = dict(json.loads(fields["content"]))
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{store}: served row {row[0]} is damaged ({error}); {DAMAGED.format(store)}"
        ) from None
    for name in ("accepted", "audited"):
        fields[name] = bool(fields[name])
    return Served(**fields)


#: Rows per page: limits memory and the time for which others wait.
PAGE = 500


def pages(rows: Iterable[T], size: int = PAGE) -> Iterator[list[T]]:
    """The rows in lists of this size."""
    remaining = iter(rows)
    while page := list(islice(remaining, size)):
        yield page


class SharedTables(ABC):
    """What both databases do with the same statements. `Store` documents each method."""

    name: str
    #: What a statement has in the place of a value.
    _mark: ClassVar[str]

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside is stored together or not at all."""

    @abstractmethod
    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of a statement."""

    @abstractmethod
    def _among(self, values: list[str]) -> tuple[str, list[Any]]:
        """What follows a column that has one of these values, and what to put into its marks."""

    @abstractmethod
    def _latest(self, columns: Sequence[str], keys: Sequence[str]) -> dict[str, CallRow]:
        """The latest row of each key; the second column is the key."""

    @abstractmethod
    def _write(self, query: str, values: Sequence[Any]) -> None:
        """Run a statement that writes."""

    @abstractmethod
    def _claim(self, keys: list[str], answers: Callable[[list[str]], dict[str, Status]]) -> Claim:
        """Claim calls that no living owner makes; `answers` looks up those with an answer."""

    def claim(
        self,
        keys: Sequence[str],
        *,
        retry: Collection[Status],
        since: int,
        again: Collection[str] = (),
    ) -> Claim:
        def answers(wanted: list[str]) -> dict[str, Status]:
            latest = self._latest(STATUS_COLUMNS, wanted)
            return answered(latest, retry=retry, since=since, again=again)

        return self._claim(list(dict.fromkeys(keys)), answers)

    def _marks(self, values: Sequence[Any]) -> str:
        return "(" + ", ".join([self._mark] * len(values)) + ")"

    def _insert(self, table: str, columns: str, values: Sequence[Any], if_there: str) -> None:
        self._write(
            f"INSERT INTO {table} ({columns}) VALUES {self._marks(values)} ON CONFLICT {if_there}",
            values,
        )

    def _forget(self, owner: str) -> None:
        for table in ("claims", "owners"):
            self._write(f"DELETE FROM {table} WHERE owner = {self._mark}", (owner,))

    def latest_call_id(self) -> int:
        return int(self._all("SELECT COALESCE(MAX(call_id), 0) FROM calls")[0][0])

    def remember_judge(
        self, fingerprint: str, *, judge: str, protocol: str, parts: Mapping[str, Any]
    ) -> None:
        # In their order: that of the criteria is a part of a rubric's question.
        known = json.dumps(parts, ensure_ascii=False, allow_nan=False)
        values = (fingerprint, judge, protocol, known, now())
        columns = "judge_fingerprint, judge, protocol, parts, first_seen"
        self._insert("judges", columns, values, "(judge_fingerprint) DO NOTHING")

    def judge_parts(self, fingerprint: str) -> dict[str, Any] | None:
        rows = self._all(
            f"SELECT parts FROM judges WHERE judge_fingerprint = {self._mark}", (fingerprint,)
        )
        return decode_object(rows[0], "judges", self.name)[-1] if rows else None

    def judges(self) -> dict[str, KnownJudge]:
        rows = self._all("SELECT judge_fingerprint, judge, protocol, parts FROM judges")
        read = (decode_object(row, "judges", self.name) for row in rows)
        return {key: KnownJudge(*kept) for key, *kept in read}

    def remember_prompt(self, sha256: str, prompt: KnownPrompt) -> None:
        name, text = storable(prompt.name), storable(prompt.text)
        values = (sha256, name, text, canonical_json(prompt.answer))
        self._insert("prompts", "sha256, name, text, answer", values, "(sha256) DO NOTHING")

    def prompts(self) -> dict[str, KnownPrompt]:
        rows = self._all("SELECT sha256, name, text, answer FROM prompts")
        read = (decode_object(row, "prompts", self.name) for row in rows)
        return {key: KnownPrompt(*kept) for key, *kept in read}

    def lookup(self, keys: Sequence[str]) -> dict[str, Call]:
        rows = self._latest(READ_COLUMNS, keys)
        return {key: decode_call(row, None, self.name) for key, row in rows.items()}

    def lookup_rows(self, keys: Sequence[str]) -> dict[str, CallRow]:
        return self._latest(REPLY_COLUMNS, keys)

    def calls(self, subject_ids: Collection[str] | None = None) -> Iterator[Call]:
        later = "SELECT 1 FROM calls l WHERE l.call_key = c.call_key AND l.call_id > c.call_id"
        # Earlier rows are read and dropped here: as a condition of the query, PostgreSQL's planner
        # would join the complete table for every page.
        columns = f"{_READ}, raw, EXISTS ({later})"
        for row in self._paged(columns, "calls c", "call_id", subject_id=subject_ids):
            if not row[-1]:
                yield decode_call(row, row[-2], self.name)

    def histories(self, keys: Sequence[str]) -> dict[str, list[Call]]:
        histories: dict[str, list[Call]] = {}
        for page in pages(keys):
            for row in self._paged(f"{_READ}, raw", "calls", "call_id", call_key=page):
                histories.setdefault(row[1], []).append(decode_call(row, row[-1], self.name))
        return histories

    def _paged(
        self, columns: str, table: str, number: str, **among: Collection[str] | None
    ) -> Iterator[Any]:
        """Rows by their numbers, whose columns have one of these values (None: any).

        In pages, so that a writer does not wait for a reader.
        """
        conditions, wanted = "", []
        for name, values in among.items():
            if values is not None:
                condition, put = self._among(list(values))
                conditions += f" AND {name} {condition}"
                wanted += put
        after = 0
        while rows := self._all(
            f"SELECT {columns} FROM {table} WHERE {number} > {self._mark}{conditions}"
            f" ORDER BY {number} LIMIT {PAGE}",
            (after, *wanted),
        ):
            yield from rows
            after = rows[-1][0]

    def _insert_event(self, event: LabelEvent) -> int:
        values = event_of(event)
        self._insert("label_events", EVENT, values, "(nonce) DO NOTHING")
        by_nonce = f"SELECT event FROM label_events WHERE nonce = {self._mark}"
        return int(self._all(by_nonce, values[:1])[0][0])

    def label_events(self, rater: str | None = None) -> list[LabelEvent]:
        raters = None if rater is None else [rater]
        rows = self._paged(", ".join(EVENT_COLUMNS), "label_events", "event", rater=raters)
        return [LabelEvent(**dict(zip(EVENT_COLUMNS, row, strict=True))) for row in rows]

    def served(
        self, rules_id: str | None = None, subject_ids: Collection[str] | None = None
    ) -> Iterator[Served]:
        rules = None if rules_id is None else [rules_id]
        rows = self._paged(
            SERVED_COLUMNS, "served", "served", rules_id=rules, subject_id=subject_ids
        )
        return (decode_served(row, self.name) for row in rows)

    def audits(self, rules_id: str) -> list[Served]:
        rows = self._all(
            f"SELECT {SERVED_COLUMNS} FROM served WHERE rules_id = {self._mark} AND audited = 1"
            " ORDER BY served",
            (rules_id,),
        )
        return [decode_served(row, self.name) for row in rows]

    def count_served(self, rules_id: str) -> tuple[int, int]:
        [(served, accepted)] = self._all(
            "SELECT COUNT(*), COALESCE(SUM(accepted), 0) FROM served"
            f" WHERE rules_id = {self._mark}",
            (rules_id,),
        )
        return int(served), int(accepted)

    def served_rules(self) -> list[str]:
        rows = self._all("SELECT rules_id FROM served GROUP BY rules_id ORDER BY MAX(served)")
        return [name for (name,) in rows]

    def keep_monitor(self, name: str, state: str) -> None:
        values = (name, state, now())
        latest = "(name) DO UPDATE SET state = excluded.state, saved_at = excluded.saved_at"
        self._insert("monitors", "name, state, saved_at", values, latest)

    def replace_monitor(self, name: str, previous: str | None, state: str) -> bool:
        with self.transaction():
            if self.monitors().get(name) not in (previous, state):
                return False
            self.keep_monitor(name, state)
            return True

    def monitors(self) -> dict[str, str]:
        return dict(sorted(self._all("SELECT name, state FROM monitors")))
