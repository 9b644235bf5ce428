"""The calls of a run: every question is built and hashed once; its key is kept for the rows.

Every reply is checked before it is stored, in one place for all judges. A server controls every
field of its answers. A value that no store could keep, or that breaks a sum, is an error of that
one reply. The error names the field; other replies are not affected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from adjudge.data.writing import Row
from adjudge.judges.interface import Judge, Question
from adjudge.judges.judge import question_hash, texts_of_subject
from adjudge.judges.prices import Price
from adjudge.judges.subjects import OpenSubjects, Spool
from adjudge.present.text import count
from adjudge.records import STATUSES, Reply, Subject
from adjudge.store.interface import call_key, frame

T = TypeVar("T")
CHARACTERS_PER_TOKEN = 4.0
_KEY_BYTES = 32
#: A larger number is not a count of tokens, and the sum over a row would not fit into 63 bits.
_MOST_TOKENS = 1 << 48
_TOKENS = ("prompt_tokens", "completion_tokens", "scored_tokens")
_NUMBERS = ("mean_logprob", "latency_s")
_FLAGS = ("exact_mass", "cut_off")


@dataclass(frozen=True, slots=True)
class Work:
    """One call to make: its question, and its key in the store."""

    subject: Subject
    question: Question
    content: str
    key: str

    def describe(self, judge: Judge) -> dict[str, Any]:
        """What the store keeps of the call, except its key and its reply, as plain JSON."""
        return {
            "judge_fingerprint": judge.fingerprint,
            "subject_id": self.subject.id,
            "content_hash": self.content,
            "order": self.question.order,
            "repeat": self.question.repeat,
            "slot": self.question.slot,
        }

    @property
    def characters(self) -> int:
        """The number of characters that are sent."""
        return sum(len(message.text) for message in self.question.messages)

    @property
    def most_written(self) -> int:
        """The maximum number of tokens in the reply."""
        return int(getattr(self.question.want, "max_tokens", 1))

    def expected_cost(self, price: Price) -> float:
        """The expected cost of the call, from its length and the longest allowed reply."""
        return price.of(round(self.characters / CHARACTERS_PER_TOKEN), self.most_written)


def prepare_calls(judge: Judge, subject: Subject) -> list[Work]:
    """The calls of one subject, one repeat after the other.

    The `repeat` of a call continues from one repeat to the next, so more repeats ask only new
    calls.
    """
    known_subject = subject if judge.backend.knows_subject else None
    questions = judge.protocol.questions(subject)
    asked = [(question, question_hash(question, known_subject)) for question in questions]
    each = 1 + max((question.repeat for question, _ in asked), default=0)
    work = []
    for repeat in range(judge.repeats):
        for first, content in asked:
            question = replace(first, repeat=first.repeat + repeat * each) if repeat else first
            key = call_key(
                judge.fingerprint, content, question.order, question.repeat, question.slot
            )
            work.append(Work(subject, question, content, key))
    return work


def call_keys(judge: Judge, subject: Subject) -> list[str]:
    """The keys of `prepare_calls`."""
    plain = judge.protocol.plain_hashes(subject) if judge.repeats == 1 else None
    if plain is None:
        return [call.key for call in prepare_calls(judge, subject)]
    if judge.backend.knows_subject:
        subject_frame = frame(texts_of_subject(subject))
        for _, digest in plain:
            digest.update(subject_frame)
    fingerprint = judge.fingerprint
    return [call_key(fingerprint, digest.hexdigest(), order, 0, "") for order, digest in plain]


def by_beginning(work: Sequence[Work]) -> list[Work]:
    """Sort calls so that prompts with the same beginning follow each other, for prefix caches.

    First by the text up to and including the first judged text (the prompt), then by the answer
    that is shown first; otherwise in the given order. The order of calls changes neither rows nor
    keys.
    """
    first: dict[tuple[str, ...], int] = {}
    places = []
    for at, call in enumerate(work):
        beginnings = _beginnings(call.question)
        places.append((*(first.setdefault(beginning, at) for beginning in beginnings), at))
    return [work[place[-1]] for place in sorted(places)]


def _beginnings(question: Question) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A question up to the end of the first text that is judged, and of the second."""
    texts: list[str] = []
    ends: list[int] = []
    for message in question.messages:
        texts.append(message.role)
        for part in message.parts:
            if isinstance(part, str):
                texts.append(part)
            else:
                texts.append(part.text)
                ends.append(len(texts))
                if len(ends) == 2:
                    return tuple(texts[: ends[0]]), tuple(texts)
    return tuple(texts[: ends[0]] if ends else texts), tuple(texts)


def take(
    subjects: Iterator[Subject], least: int, calls_of: Callable[[Subject], list[T]]
) -> list[tuple[Subject, list[T]]]:
    """The next subjects with their calls, `least` or a few more; empty after the last subject.

    `calls_of` makes the calls of a subject, or only their keys if they are probably answered.
    """
    batch: list[tuple[Subject, list[T]]] = []
    count = 0
    while count < least and (subject := next(subjects, None)) is not None:
        calls = calls_of(subject)
        batch.append((subject, calls))
        count += len(calls)
    return batch


class CallNotes:
    """The calls of consecutive subjects: noted while asking, read again to make the rows.

    Building and hashing the prompts of a pair costs more than reading it, so the keys of its calls
    are kept, 32 bytes per call; or its rows, if all calls were answered before. They are written to
    a temporary file, so that a run of millions of pairs needs no more memory.
    """

    def __init__(self, subjects: Iterable[Subject], count: int) -> None:
        self.subjects = subjects
        self._left = count
        self._noted = Spool[bytes | list[Row]]()

    def note(self, keys: list[str], rows: list[Row] | None = None) -> None:
        """Keep the keys of the next subject, or its rows if they can be made already."""
        self._noted.append(bytes.fromhex("".join(keys)) if rows is None else rows)
        self._left -= 1

    def read(self, judge: Judge) -> Iterator[list[Row] | tuple[Subject, list[str]]]:
        """The rows of each subject, or the subject and the keys of its calls.

        If the run was stopped before noting all of them, the rest is prepared here.
        """
        subjects = iter(self.subjects)
        passed = 0
        for noted in self._noted:
            if isinstance(noted, bytes):
                ends = range(_KEY_BYTES, len(noted) + 1, _KEY_BYTES)
                keys = [noted[end - _KEY_BYTES : end].hex() for end in ends]
                yield next(islice(subjects, passed, None)), keys
                passed = 0
            else:
                passed += 1
                yield noted
        if self._left > 0:
            for subject in islice(subjects, passed, None):
                yield subject, call_keys(judge, subject)

    def close(self) -> None:
        """Remove the temporary file."""
        self._noted.close()


class CallList:
    """The calls of all subjects of a run, in one part, or in several that are asked side by side.

    `total` is the number of calls, estimated from `each`, that of the first subject; it can be off
    by a few.
    """

    def __init__(self, subjects: Iterable[Subject] = (), *, count: int = 0, each: int = 0) -> None:
        self.count = count
        self.total = count * each
        self.parts = [CallNotes(subjects, count)]

    def divide(self, parts: Iterable[OpenSubjects]) -> None:
        """Note the calls of these parts of the subjects separately. Do this before any is noted."""
        self.close()
        self.parts = [CallNotes(subjects, subjects.total) for subjects in parts]

    def read(self, judge: Judge) -> Iterator[list[Row] | tuple[Subject, list[str]]]:
        """What was noted of each subject, in input order."""
        for notes in self.parts:
            yield from notes.read(judge)

    def close(self) -> None:
        """Remove the temporary files."""
        for notes in self.parts:
            notes.close()


def check_reply(reply: Reply) -> Reply:
    """The reply if all of it can be stored; otherwise an error that names the field and why."""
    trouble = _trouble(reply)
    raw, error = _plain(reply.raw), _plain(reply.error)
    if trouble is not None:
        latency = reply.latency_s if _is_number(reply.latency_s) else None
        return Reply(status="error", error=trouble, latency_s=latency, raw=raw)
    if (raw, error) == (reply.raw, reply.error):
        return reply
    return replace(reply, raw=raw, error=error)


def without_raw(reply: Reply) -> Reply:
    """The reply with only its status and numbers, for runs that keep no answers (`--no-raw`).

    The text stays if there is nothing else: rows are read from what the judge wrote.
    """
    written = reply.status == "ok" and reply.logprobs is None and reply.mean_logprob is None
    return replace(reply, raw=None, text=reply.text if written else None)


def _trouble(reply: Reply) -> str | None:
    if reply.status not in STATUSES:
        return f"the reply has the status {_shown(reply.status)}, which does not exist"
    for name in ("text", "server"):
        trouble = _text_trouble(getattr(reply, name))
        if trouble is not None:
            return f"the reply's {name} {trouble}"
    for name in _FLAGS:
        if not isinstance(getattr(reply, name), bool):
            return f"the reply's {name} is {_shown(getattr(reply, name))}, not true or false"
    for name in _TOKENS:
        value = getattr(reply, name)
        if value is not None and not _is_count(value):
            return f"the reply's {name} is {_shown(value)}, not a count of tokens"
    for name in _NUMBERS:
        value = getattr(reply, name)
        if value is not None and not _is_number(value):
            return f"the reply's {name} is {_shown(value)}, not a finite number"
    mass = reply.answer_mass
    if mass is not None and not (_is_number(mass) and 0 <= mass <= 1):
        return f"the reply's answer_mass is {_shown(mass)}, not a probability"
    for name, fits in (("logprobs", _is_number), ("counts", _is_count)):
        numbers = getattr(reply, name)
        if numbers is None:
            continue
        if not isinstance(numbers, Mapping):
            return f"the reply's {name} are {_shown(numbers)}, not numbers by option"
        for option, value in numbers.items():
            if not isinstance(option, str) or not fits(value):
                return f"the reply's {name} hold {_shown(value)} for {_shown(option)}"
    return None


def _text_trouble(text: object) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        return f"is {_shown(text)}, not text"
    if "\0" in text:
        return "contains a NUL character, which no store can keep"
    if not text.isascii() and _plain(text) != text:
        return "contains half a character (a lone surrogate), which no store can keep"
    return None


def _plain(text: object) -> str | None:
    """Text that every store and file can hold, for fields that only people read."""
    if text is None:
        return None
    if not isinstance(text, str):
        return _shown(text)
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return value.bit_length() < 64
    return isinstance(value, float) and math.isfinite(value)


def _shown(value: object) -> str:
    """A short text for a value, which can be huge or contain secrets.

    >>> _shown(-3), _shown(1 << 70), _shown("7"), _shown({})
    ('-3', 'a number of 71 bits', 'a text of 1 character', 'an object')
    """
    if isinstance(value, bool | float) or value is None:
        return str(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() < 64 else f"a number of {value.bit_length()} bits"
    if isinstance(value, str):
        return f"a text of {count(len(value), 'character')}"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, Mapping) else type(value).__name__
