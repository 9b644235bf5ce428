"""The calls of a run: every question built and hashed once, its key kept for the rows to come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adjudge.judges.fingerprint import question_hash, words_hash
from adjudge.judges.interface import Judge, Question
from adjudge.judges.prices import Price
from adjudge.judges.subjects import Spool
from adjudge.records import Subject
from adjudge.store.keys import call_key

CHARACTERS_PER_TOKEN = 4.0
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Work:
    """One call to make: its question, and the key it is kept under."""

    subject: Subject
    question: Question
    content: str
    key: str

    def describe(self, judge: Judge) -> dict[str, Any]:
        """All that the store keeps of the call but its key and its reply; plain JSON."""
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
        """The length of what is sent."""
        return sum(len(message.text) for message in self.question.messages)

    @property
    def most_written(self) -> int:
        """The most tokens that may come back."""
        return int(getattr(self.question.want, "max_tokens", 1))

    def expected_cost(self, price: Price) -> float:
        """What the call will cost, by its length; what is written may be as long as allowed."""
        return price.of(round(self.characters / CHARACTERS_PER_TOKEN), self.most_written)


def prepare_calls(judge: Judge, subject: Subject) -> list[Work]:
    """The calls of one subject, one repeat after the other.

    A call's own `repeat` goes on counting from one repeat to the next, so that more repeats ask
    only what is new.
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
    plain = judge.protocol.plain_words(subject) if judge.repeats == 1 else None
    if plain is None:
        return [one.key for one in prepare_calls(judge, subject)]
    want, asked = plain
    known = subject if judge.backend.knows_subject else None
    return [
        call_key(judge.fingerprint, words_hash(said, want, known), order, 0, "")
        for order, said in asked
    ]


def by_beginning(work: Sequence[Work]) -> list[Work]:
    """Calls whose prompts begin alike one after the other, so that a server's prefix cache works.

    First those with the same text before and in the first place that is judged (the prompt), among
    them those that show the same answer first; otherwise as they came. The order in which calls are
    made changes neither rows nor keys.
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


class CallList:
    """The calls of all subjects, prepared in input order while asking, and looked up afterwards.

    Building and hashing the prompts of a pair costs more than reading it. Their keys, 32 bytes a
    call, go into a temporary file, so that a run of millions of pairs needs no more memory.
    """

    def __init__(self, judge: Judge, *, subjects: int) -> None:
        self.judge = judge
        self.subjects = subjects
        self._keys = Spool[bytes]()
        #: All calls of the run, known from the first subject: it may be off by a few.
        self.total = 0

    def prepare(self, subjects: Iterator[Subject], least: int) -> list[Work]:
        """The calls of the next subjects, `least` or a few more; none when all are prepared."""
        batch: list[Work] = []
        while len(batch) < least and (subject := next(subjects, None)) is not None:
            work = prepare_calls(self.judge, subject)
            self._note([one.key for one in work])
            batch += work
        return batch

    def look(self, subjects: Iterator[Subject], least: int) -> list[tuple[Subject, list[str]]]:
        """`prepare` for calls that are probably answered: the next subjects with their keys."""
        batch: list[tuple[Subject, list[str]]] = []
        count = 0
        while count < least and (subject := next(subjects, None)) is not None:
            keys = call_keys(self.judge, subject)
            self._note(keys)
            batch.append((subject, keys))
            count += len(keys)
        return batch

    def _note(self, keys: list[str]) -> None:
        self.total = self.total or self.subjects * len(keys)
        self._keys.append(bytes.fromhex("".join(keys)))

    def with_keys(self, subjects: Iterator[Subject]) -> Iterator[tuple[Subject, list[str]]]:
        """Each subject with the keys of its calls.

        A run that was stopped has not prepared all of them; the rest is prepared here.
        """
        prepared = iter(self._keys)
        for subject in subjects:
            keys = next(prepared, None)
            if keys is None:
                yield subject, call_keys(self.judge, subject)
                continue
            ends = range(_KEY_BYTES, len(keys) + 1, _KEY_BYTES)
            yield subject, [keys[end - _KEY_BYTES : end].hex() for end in ends]

    def close(self) -> None:
        """Remove the temporary file."""
        self._keys.close()
