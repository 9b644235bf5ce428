"""The calls of a run: every question is built and hashed once; its key is kept for the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from adjudge.data.writing import Row
from adjudge.judges.fingerprint import question_hash, texts_of_subject
from adjudge.judges.interface import Judge, Question
from adjudge.judges.prices import Price
from adjudge.judges.subjects import OpenSubjects, Spool
from adjudge.records import Subject
from adjudge.store.interface import call_key, frame

T = TypeVar("T")
CHARACTERS_PER_TOKEN = 4.0
_KEY_BYTES = 32


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
    known = subject if judge.backend.knows_subject else None
    asked = [(one, question_hash(one, known)) for one in judge.protocol.questions(subject)]
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
        return [one.key for one in prepare_calls(judge, subject)]
    if judge.backend.knows_subject:
        known = frame(texts_of_subject(subject))
        for _, asked in plain:
            asked.update(known)
    return [call_key(judge.fingerprint, one.hexdigest(), order, 0, "") for order, one in plain]


def by_beginning(work: Sequence[Work]) -> list[Work]:
    """Sort calls so that prompts with the same beginning follow each other, for prefix caches.

    First by the text up to and including the first judged text (the prompt), then by the answer
    that is shown first; otherwise in the given order. The order of calls changes neither rows nor
    keys.
    """
    first: dict[tuple[str, ...], int] = {}
    places = []
    for at, one in enumerate(work):
        beginnings = _beginnings(one.question)
        places.append((*(first.setdefault(beginning, at) for beginning in beginnings), at))
    return [work[place[-1]] for place in sorted(places)]


def _beginnings(question: Question) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A question up to the end of the first text that is judged, and of the second."""
    said: list[str] = []
    ends: list[int] = []
    for message in question.messages:
        said.append(message.role)
        for part in message.parts:
            if isinstance(part, str):
                said.append(part)
            else:
                said.append(part.text)
                ends.append(len(said))
                if len(ends) == 2:
                    return tuple(said[: ends[0]]), tuple(said)
    return tuple(said[: ends[0]] if ends else said), tuple(said)


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
        self.parts = [CallNotes(part, part.total) for part in parts]

    def read(self, judge: Judge) -> Iterator[list[Row] | tuple[Subject, list[str]]]:
        """What was noted of each subject, in input order."""
        for part in self.parts:
            yield from part.read(judge)

    def close(self) -> None:
        """Remove the temporary files."""
        for part in self.parts:
            part.close()
