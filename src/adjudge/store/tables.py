"""The tables of a store, and their rows as records.

The tables are the same in every database, as an ordered list of named steps. An older store is
migrated when it is opened to write. A store with a step that this version does not have was
written by a newer adjudge. It is refused and not changed. Until the first release the one step is
edited in place; a released step is never edited.

Text is TEXT, and JSON is text too, so that values are returned byte for byte.
"""

from __future__ import annotations

import json
import time
import uuid
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from adjudge.errors import StoreError, StoreMissingError, StoreVersionError
from adjudge.records import STATUSES, Order, Reply, SampledBy, Status

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
        written = f"INSERT INTO {LEDGER} VALUES ({position}, '{self.name}', '{now()}')"  # noqa: S608
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
    Migration("0002_shown_texts", ("ALTER TABLE label_events ADD COLUMN shown_texts TEXT",)),
    Migration("0003_digests", ("ALTER TABLE calls ADD COLUMN digest TEXT",)),
    Migration(
        "0004_cached_tokens",
        (
            "ALTER TABLE calls ADD COLUMN cached_tokens BIGINT",
            "ALTER TABLE calls ADD COLUMN cache_write_tokens BIGINT",
        ),
    ),
)


def pending(
    applied: Sequence[str], place: str | Path, *, readonly: bool = False
) -> tuple[Migration, ...]:
    """The missing steps, given the steps of a store; a store that is only read must have all.

    A new store has no step yet.

    >>> [step.name for step in pending([], "new.db")]
    ['0001_store', '0002_shown_texts', '0003_digests', '0004_cached_tokens']
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


#: The values of `REPLY_COLUMNS` of one call, as the database gave them.
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

    `shown_texts` has a hash of each text that was shown (`adjudge.data.shown`), None if
    unknown: labels of another text with the same id are not of this row.
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
    shown_texts: str | None = None
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


#: Words in the messages of a database, and what to do about it.
Remedies = Sequence[tuple[tuple[str, ...], str]]
#: The remedy for a damaged row, given the store's name.
DAMAGED = "`adjudge store check {}` shows what can be read and rescued"
#: What came back, by the fields of `Reply`, and what was asked, by those of `Call`.
_REPLY = (
    *("status", "text", "logprobs", "censored", "counts", "mean_logprob", "scored_tokens"),
    *("prompt_tokens", "completion_tokens", "latency_s", "error", "answer_mass", "exact_mass"),
    *("cut_off", "server", "served_model", "cached_tokens", "cache_write_tokens", "raw"),
)
_QUESTION = ("judge_fingerprint", "subject_id", "content_hash", "order", "repeat", "created_at")
#: Fields whose columns have another name: theirs is a word of SQL, or says too little.
_COLUMN = {"order": "shown_order", "repeat": "repeat_index", "text": "reply_text"}
READ_COLUMNS = (
    *("call_id", "call_key", "slot"),
    *(_COLUMN.get(name, name) for name in (*_REPLY, *_QUESTION)),
)
READ = ", ".join(READ_COLUMNS)
WRITTEN = ", ".join((*READ_COLUMNS[1:], "digest"))
#: What rows of a run are made from: without the raw reply and the question.
REPLY_COLUMNS = READ_COLUMNS[: READ_COLUMNS.index("raw")]
EVENT = (
    "nonce, rater, subject_id, action, label, shown_order, sampled_by, comment, shown_texts, "
    "undoes, created_at"
)
SERVED = "rules_id, subject_id, accepted, audited, content, served_at"
SERVED_COLUMNS = f"served, {SERVED}"

#: Their first columns are enough to decide whether a call is answered.
STATUS_COLUMNS = REPLY_COLUMNS[:4]
#: Where these are in all of them.
CALL_ID, _, SLOT, STATUS = range(4)
SERVED_MODEL = REPLY_COLUMNS.index("served_model")

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


_OF_REPLY = attrgetter(*_REPLY)
_OF_QUESTION = attrgetter(*_QUESTION)
_LOGPROBS, _CENSORED, _COUNTS = map(READ_COLUMNS[1:].index, ("logprobs", "censored", "counts"))
#: Values that older rows do not have: the digest leaves them out if they are empty.
_LATER = frozenset(map(READ_COLUMNS[1:].index, ("cached_tokens", "cache_write_tokens")))


def row_of(call: Call, now: str) -> list[Any]:
    """The values of the columns in `WRITTEN`."""
    values = (call.call_key, call.slot, *_OF_REPLY(call.reply), *_OF_QUESTION(call))
    row: list[Any] = [
        value if type(value) is not str or value.isascii() else storable(value) for value in values
    ]
    row[-1] = row[-1] or now
    for at in (_LOGPROBS, _COUNTS):
        row[at] = None if row[at] is None else json.dumps(dict(row[at]))
    row[_CENSORED] = json.dumps(sorted(row[_CENSORED])) if row[_CENSORED] else None
    return [*row, digest_of(row)]


def digest_of(values: Sequence[Any]) -> str:
    """A checksum of a call's values, in the order of READ_COLUMNS without the number.

    It shows that a row is not as it was written, by accident or by an edit. It is not a signature:
    an edit can also change the checksum.

    >>> digest_of(["k", None, True]) == digest_of(["k", float("nan"), 1])
    True
    """
    texts = [
        value if type(value) is str else _number(value)
        for at, value in enumerate(values)
        if value is not None or at not in _LATER
    ]
    checksum = zlib.crc32("\x1f".join(texts).encode())
    return f"{checksum:08x}"


def _number(value: float | None) -> str:
    """A number as every database returns it: NaN as nothing, an integer as a float."""
    return "" if value is None or value != value else repr(float(value))


def event_of(event: LabelEvent) -> list[Any]:
    """The values of EVENT; the time is now, unless the event has one."""
    values = [getattr(event, name) for name in EVENT.split(", ")]
    row = [storable(value) if isinstance(value, str) else value for value in values]
    row[-1] = row[-1] or time.time()
    return row


def served_of(row: Served) -> tuple[Any, ...]:
    """The values of SERVED; the time is now, unless the row has one."""
    content = json.dumps(row.content, allow_nan=False)
    served_at = row.served_at or time.time()
    return row.rules_id, row.subject_id, int(row.accepted), int(row.audited), content, served_at


def call_of(row: CallRow) -> Call:
    """The call in a row of READ_COLUMNS. ValueError if the row is damaged."""
    call_id, key, slot = row[:3]
    asked = dict(zip(_QUESTION, row[3 + len(_REPLY) :], strict=False))
    return Call(call_id=call_id, call_key=key, slot=slot, reply=_reply_of(row), **asked)


def _reply_of(row: CallRow) -> Reply:
    """The reply in a row of READ_COLUMNS, or, without raw, in one of REPLY_COLUMNS."""
    reply = dict(zip(_REPLY, row[3:], strict=False))
    if reply["status"] not in STATUSES:
        raise ValueError(f"status is {reply['status']!r}")
    for name in ("logprobs", "counts"):
        if reply[name] is not None:
            reply[name] = dict(json.loads(reply[name]))
    reply["censored"] = frozenset(json.loads(reply["censored"] or "[]"))
    for name in ("exact_mass", "cut_off"):
        reply[name] = bool(reply[name])
    return Reply(**reply)


def _read_served(row: Sequence[Any]) -> Served:
    fields = dict(zip(("number", *SERVED.split(", ")), row, strict=True))
    fields["content"] = dict(json.loads(fields["content"]))
    for name in ("accepted", "audited"):
        fields[name] = bool(fields[name])
    return Served(**fields)


class PlainReply(NamedTuple):
    """A reply that is ok and is log probabilities, with nothing special to it."""

    logprobs: Mapping[str, Any]
    answer_mass: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    server: str | None
    served_model: str | None


_PLAIN = itemgetter(*map(REPLY_COLUMNS.index, PlainReply._fields[1:]))


def plain_reply(row: CallRow) -> PlainReply | None:
    """The reply in a row of REPLY_COLUMNS if it is plain; None if `decode_reply` must look."""
    status, _, text, censored, counts = row[3:8]
    if status != "ok" or text is None or censored or counts is not None:
        return None
    try:
        logprobs, end = _DECODER.raw_decode(text)
    except (ValueError, TypeError):
        return None
    reply = PlainReply(logprobs, *_PLAIN(row))
    plain = end == len(text) and type(logprobs) is dict
    return reply if plain and isinstance(reply.answer_mass, float | None) else None


def decode_reply(row: CallRow, store: str) -> Reply:
    """The reply in a row of REPLY_COLUMNS, without raw; StoreError if the row is damaged."""
    return _decode(_reply_of, row, "call", store)


def decode_call(row: CallRow, store: str) -> Call:
    """The call in a row of READ_COLUMNS; StoreError if the row is damaged."""
    return _decode(call_of, row, "call", store)


def decode_served(row: Sequence[Any], store: str) -> Served:
    """A served row, from a row of SERVED_COLUMNS; StoreError if it is damaged."""
    return _decode(_read_served, row, "served row", store)


def _decode(read: Callable[[Sequence[Any]], T], row: Sequence[Any], name: str, store: str) -> T:
    try:
        return read(row)
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{store}: {name} {row[0]} is damaged ({error}); {DAMAGED.format(store)}"
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


#: Rows per page: limits memory and the time for which others wait.
PAGE = 500


def pages(rows: Iterable[T], size: int = PAGE) -> Iterator[list[T]]:
    """The rows in lists of this size."""
    remaining = iter(rows)
    while page := list(islice(remaining, size)):
        yield page
