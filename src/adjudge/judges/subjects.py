"""The input of a run, parsed once and kept on disk; and its calls, each with its key in the store.

A run needs its input three times: to check and count it before the first paid call, to ask, and to
write the rows in input order. The first reading copies it to a temporary file for the others.
"""

from __future__ import annotations

import pickle
import tempfile
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, compress, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from adjudge.data import Reading, Stream, Table, kinds_of, open_items, open_pairs, sniff
from adjudge.data.columns import MATERIAL
from adjudge.data.conversations import from_text
from adjudge.data.parts import READABLE, check_images, has_images, settle
from adjudge.data.rows import merge_dropped
from adjudge.data.tables import is_table
from adjudge.data.turns import Units
from adjudge.data.writing import Row
from adjudge.errors import ArgumentError, DataError
from adjudge.hashing import call_key, content_hash, frame
from adjudge.images import NotTextError, size_of
from adjudge.judges.interface import Backend, Judge, JudgeProtocol, Message, Question
from adjudge.judges.judge import question_hash, refuse_images, texts_of_truth
from adjudge.judges.prices import CHARACTERS_PER_TOKEN, Price
from adjudge.records import Image, Item, Pair, Subject

T = TypeVar("T")
#: A path, a polars or pandas frame, or an iterable of Pair (or Item).
SubjectSource = Any

_QUESTION_DIGITS = 20
#: Smaller inputs stay in memory.
_IN_MEMORY = 8 << 20
_GROUP = 64
_KEY_BYTES = 32


class Spool(Generic[T]):
    """Values written to a temporary file and read again in order, from any position.

    Several threads can read at the same time.

    >>> spool = Spool[int]()
    >>> for number in range(100):
    ...     spool.append(number)
    >>> sum(one * other for one, other in zip(spool, spool))
    328350
    >>> list(spool.starting(97))
    [97, 98, 99]
    >>> spool.close()
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="adjudge-")  # noqa: SIM115  (closed by `close`)
        self._group: list[T] = []
        #: Where each group begins in the file.
        self._begins = array("q")
        self._lock = threading.Lock()

    def append(self, value: T) -> None:
        """Append one value. All values must be appended before the first reading."""
        self._group.append(value)
        if len(self._group) == _GROUP:
            self._write()

    def __iter__(self) -> Iterator[T]:
        return self.starting(0)

    def starting(self, at: int) -> Iterator[T]:
        first, skipped = divmod(at, _GROUP)
        with self._lock:
            self._write()
        for begin in self._begins[first:]:
            with self._lock:
                self._file.seek(begin)
                group = pickle.load(self._file)  # noqa: S301  (we wrote the file ourselves)
            yield from islice(group, skipped, None)
            skipped = 0

    def close(self) -> None:
        self._file.close()

    def _write(self) -> None:
        if self._group:
            self._begins.append(self._file.tell())
            pickle.dump(self._group, self._file, pickle.HIGHEST_PROTOCOL)
            self._group = []


class Subjects:
    """The input of a run. `survey` it, then iterate as often as you like; or `read` it once.

    After the survey `total` counts the subjects, and `dropped` the rows of a public data set
    without a pair, by reason. `notes` are notes on that data set.
    """

    total: int = 0
    dropped: Mapping[str, int] = MappingProxyType({})
    notes: Sequence[str] = ()

    def __init__(
        self,
        source: SubjectSource,
        *,
        protocol: JudgeProtocol | None = None,
        kind: Literal["pairs", "items"] = "pairs",
        limit: int | None = None,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        labels_as: Mapping[str, str] | None = None,
        seed: int = 0,
        units: Units | None = None,
        fetch_images: bool = False,
    ) -> None:
        self._limit = limit
        self._fetch_images = fetch_images
        #: Whether the last row that was read has images.
        self._has_images = False
        self._units = units or Units()
        #: The row that is being read.
        self._row = 0
        self._protocol = protocol
        self._columns = None if protocol is None else protocol.prompt_columns
        self._stream: Stream[Pair] | Stream[Item] | None = None
        self._records: Iterable[Any] = ()
        self._kept: Spool[Subject] | list[Subject] | None = None
        self.name = "the pairs"
        if _holds_records(source):
            for option, value in (("format", format), ("columns", columns)):
                if value is not None:
                    raise ArgumentError(option, value, "it applies only to files; leave it out")
            self._records = source
            return
        names: Reading = {"columns": columns, "labels_as": labels_as}
        if protocol is not None and protocol.tournaments and _holds_items(source, format, columns):
            named = () if self._columns is None else self._columns.names
            items = open_items(source, format, **names)
            self._records = tournament_pairs(items, columns=named)
            return
        if (kind if protocol is None else protocol.subjects) == "items":
            self._stream = open_items(source, format, **names)
        else:
            self._stream = open_pairs(source, format, seed=seed, **names)
        self.name = self._stream.name

    def read(self) -> Iterator[Subject]:
        """Every subject, read from the source, with all columns that the prompt names."""
        source: Iterable[Any] = self._records if self._stream is None else self._stream
        columns = self._columns if self._columns is not None and self._columns.names else None
        for row, subject in enumerate(islice(source, self._limit), start=1):
            if not isinstance(subject, (Pair, Item)):
                remedy = "give Pair records, a path or a frame"
                raise ArgumentError(f"pairs[{row - 1}]", subject, remedy)
            named = {} if columns is None else columns.check(subject, source=self.name, row=row)
            self._row = row
            shown = self._with_images(subject, named, row)
            yield from self._units.split(shown, source=self.name, row=row)

    def _with_images(self, subject: Subject, named: Mapping[str, str], row: int) -> Subject:
        """The subject with its images `settled`, also those in the columns that a prompt names."""
        material = {name: subject.extra[name] for name in MATERIAL if name in subject.extra}
        texts = {**material, **named, **texts_of(subject)}
        changed = {}
        for name, text in texts.items():
            if not isinstance(text, str) or not text.startswith(READABLE):
                continue
            try:
                # A file's reader has read the texts of its rows.
                given = from_text(text) if self._stream is None else text
                if has_images(given):
                    settled = settle(given, self.name, fetching=self._fetch_images)
                    check_images(settled)
                    changed[name] = settled
            except NotTextError as error:
                raise DataError(
                    self.name, str(error), row=row, column=name, remedy=error.remedy
                ) from None
        self._has_images = bool(changed)
        if not changed:
            return subject
        fields: dict[str, Any] = {
            name: changed.pop(name) for name in texts_of(subject) if name in changed
        }
        return replace(subject, **fields, extra={**subject.extra, **changed})

    def _check_images(self, subject: Subject, judges: Sequence[Judge]) -> None:
        for judge in judges:
            try:
                refuse_images(judge.backend, judge.protocol.questions(subject))
            except ArgumentError as error:
                problem = f"has an image, and the {error.argument} is {error.value}"
                raise DataError(self.name, problem, row=self._row, remedy=error.remedy) from None

    def _check(self, subject: Subject) -> None:
        """Raise the protocol's refusal with the file and the row."""
        if self._protocol is None:
            return
        try:
            self._protocol.check(subject)
        except DataError as error:
            problem = f"{error.path}: {error.problem}"
            if self._units.numbered:
                problem = f"{subject.id}: {problem}"
            raise DataError(
                self.name, problem, row=self._row, column=error.column, remedy=error.remedy
            ) from None

    def survey(self, judges: Sequence[Judge] = ()) -> None:
        """Read everything once; bad rows and repeated ids are refused here, and images that one of
        the judges does not take."""
        hashes = array("q")
        # A list is already in memory; other sources are copied.
        in_memory = isinstance(self._records, list)
        records: Spool[Subject] | list[Subject] = [] if in_memory else Spool[Subject]()
        self._kept = records
        for subject in self.read():
            self.total += 1
            self._check(subject)
            if self._has_images:
                self._check_images(subject, judges)
            records.append(subject)
            # A file's reader checks ids itself, and has the row number.
            if self._stream is None or self._units.numbered:
                hashes.append(hash(subject.id))
        if not self.total:
            raise DataError(self.name, "has no rows", remedy="give at least one pair")
        self._refuse_twins(hashes)
        if self._stream is not None:
            self.dropped = dict(self._stream.dropped)
            self.notes = tuple(self._stream.notes)
        self.dropped = merge_dropped(self.dropped, self._units.dropped)
        self.notes = (*self.notes, *self._units.notes)

    def __iter__(self) -> Iterator[Subject]:
        return self.starting(0)

    def starting(self, at: int) -> Iterator[Subject]:
        if self._kept is None:
            raise ArgumentError("pairs", self.name, "they are closed; give them again")
        if isinstance(self._kept, Spool):
            return self._kept.starting(at)
        return islice(self._kept, at, None)

    @property
    def copied(self) -> bool:
        """Whether they are in a temporary file, not in the caller's list."""
        return isinstance(self._kept, Spool)

    def close(self) -> None:
        if isinstance(self._kept, Spool):
            self._kept.close()
        self._kept = None

    def _refuse_twins(self, hashes: array[int]) -> None:
        """Refuse repeated ids. Eight bytes per subject are enough to know where to look."""
        values, times = np.unique(np.frombuffer(hashes, dtype=np.int64), return_counts=True)
        suspects = set(values[times > 1].tolist())
        seen: set[str] = set()
        for row, subject in enumerate(self if suspects else (), start=1):
            if hash(subject.id) not in suspects:
                continue
            if subject.id in seen:
                problem = f"id {subject.id!r} is repeated"
                remedy = "give every pair its own id"
                raise DataError(self.name, problem, row=row, column="id", remedy=remedy)
            seen.add(subject.id)


class OpenSubjects:
    """Subjects that a judge is asked about, in their order: all of them, or those left open.

    `marks` has a byte for each subject from position `start` on, 1 if it is open.
    """

    def __init__(self, subjects: Subjects, marks: bytearray, *, start: int = 0) -> None:
        self._subjects = subjects
        self._marks = marks
        self._start = start
        self.total = marks.count(1)
        #: The number of positions, open or not.
        self.positions = len(marks)

    def __iter__(self) -> Iterator[Subject]:
        return compress(self._subjects.starting(self._start), self._marks)

    def cut(self, at: int) -> tuple[OpenSubjects, OpenSubjects]:
        """Those before a position, and those from there on."""
        before = OpenSubjects(self._subjects, self._marks[:at], start=self._start)
        return before, OpenSubjects(self._subjects, self._marks[at:], start=self._start + at)

    def keep(self, ids: set[str]) -> OpenSubjects:
        """Those of them with these ids."""
        pairs = zip(self._subjects.starting(self._start), self._marks, strict=False)
        marks = bytearray(here and subject.id in ids for subject, here in pairs)
        return OpenSubjects(self._subjects, marks, start=self._start)


def _holds_records(source: SubjectSource) -> bool:
    """Whether the source has Pair or Item records, not rows of a file or frame."""
    if isinstance(source, Sequence) and not isinstance(source, str):
        return bool(source) and isinstance(source[0], (Pair, Item))
    if isinstance(source, (str, Path, Table)) or is_table(source):
        return False
    return isinstance(source, Iterable)


def _holds_items(
    source: SubjectSource, format: str | None, columns: Mapping[str, str] | None
) -> bool:
    """Whether a file or frame has single responses and no pairs."""
    if not isinstance(source, (str, Path, Table)) and not is_table(source):
        return False
    kinds = kinds_of(format or sniff(source, columns))
    return "items" in kinds and "pairs" not in kinds


def texts_of(subject: Subject) -> dict[str, str]:
    """The prompt, then the response or both, by column."""
    names = ("response_a", "response_b") if isinstance(subject, Pair) else ("response",)
    return {name: getattr(subject, name) for name in ("prompt", *names)}


def question_of(subject: Subject) -> str:
    """The hash of the prompt (else of the responses, in any order), by which an alignment remembers
    the part of a row."""
    prompt, *responses = texts_of(subject).values()
    texts = [prompt] if prompt.strip() else [prompt, *sorted(responses)]
    return content_hash(texts)[:_QUESTION_DIGITS]


def tournament_pairs(items: Iterable[Item], *, columns: Iterable[str] = ()) -> Iterator[Pair]:
    """All pairs of models per document, in the order of the input.

    A pair keeps those `columns` that are equal in its two items, such as the document's text.

    >>> items = [Item(id=m, prompt="p", response=m, doc_id="d", model=m) for m in "xyz"]
    >>> [pair.id for pair in tournament_pairs(items)]
    ['d/x/y', 'd/x/z', 'd/y/z']
    """
    documents: dict[str, list[Item]] = {}
    for row, item in enumerate(items, start=1):
        entered = documents.setdefault(item.doc_id or "", [])
        refusal = None
        if item.doc_id is None or item.model is None:
            column = "doc_id" if item.doc_id is None else "model"
            needs = "a tournament needs the document and the model"
            refusal = column, needs, "give both in every row"
        elif any(second.model == item.model for second in entered):
            twice = f"{item.model!r} answers {item.doc_id!r} twice"
            refusal = "model", twice, "keep one response per document and model"
        elif entered and entered[0].prompt != item.prompt:
            other = f"the prompt of {item.doc_id!r} differs from its first row"
            refusal = "prompt", other, "give one prompt per document"
        if refusal:
            column, problem, remedy = refusal
            raise DataError("items", problem, row=row, column=column, remedy=remedy)
        entered.append(item)
    for doc_id, entered in documents.items():
        for first, second in combinations(entered, 2):
            named = {name: first.extra[name] for name in columns if name in first.extra}
            alike = {n: value for n, value in named.items() if value == second.extra.get(n)}
            yield Pair(
                id=f"{doc_id}/{first.model}/{second.model}",
                prompt=first.prompt,
                response_a=first.response,
                response_b=second.response,
                model_a=first.model,
                model_b=second.model,
                prompt_id=doc_id,
                extra={"doc_id": doc_id, **alike},
            )


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

    def most_cached(self, least: int, backend: Backend) -> int:
        """The prompt tokens that a provider can have read before, in another call of the run."""
        question = self.question
        shared = None if question.repeat else question.fixed
        tokens = expected_tokens(question.messages[:shared], backend)
        return tokens if tokens >= least else 0

    @property
    def most_written(self) -> int:
        """The maximum number of tokens in the reply."""
        return int(getattr(self.question.want, "max_tokens", 1))

    def expected_cost(self, price: Price, backend: Backend) -> float:
        """The expected cost of the call, from its length and the longest allowed reply."""
        return price.of(expected_tokens(self.question.messages, backend), self.most_written)


def expected_tokens(messages: Sequence[Message], backend: Backend) -> int:
    """The tokens of messages before they are sent; without those of images that are not known."""
    images = tokens_of_images(messages, backend)
    return round(tokens_of_texts(messages)) + sum(filter(None, images))


def tokens_of_texts(messages: Iterable[Message]) -> float:
    """The tokens of all text, estimated from its length; images have tokens of their own."""
    parts = [part for message in messages for part in message.parts]
    texts = [part for part in parts if not isinstance(part, Image)]
    words = [text if isinstance(text, str) else text.text for text in texts]
    return sum(map(len, words)) / CHARACTERS_PER_TOKEN


def tokens_of_images(messages: Iterable[Message], backend: Backend) -> list[int | None]:
    """The tokens of each image; None if they are known only from replies."""
    sizes = [size_of(image) for message in messages for image in message.images]
    return [None if size is None else backend.image_tokens(*size) for size in sizes]


def prepare_calls(judge: Judge, subject: Subject) -> list[Work]:
    """The calls of one subject; `repeat` counts on from one repeat to the next."""
    known_subject = subject if judge.backend.knows_subject else None
    questions = judge.protocol.questions(subject)
    refuse_images(judge.backend, questions)
    asked = [(question, question_hash(question, known_subject)) for question in questions]
    each = 1 + max((question.repeat for question, _ in asked), default=0)
    work = []
    for repeat in judge.repeat_numbers:
        for first, content in asked:
            question = first
            if judge.is_repeated:
                asked_in_all = first.asked * judge.repeats
                place_of = first.repeat + repeat * each
                question = replace(first, repeat=place_of, asked=asked_in_all)
            place = question.order, question.repeat, question.slot
            key = call_key(judge.fingerprint, content, *place)
            work.append(Work(subject, question, content, key))
    return work


def call_keys(judge: Judge, subject: Subject) -> list[str]:
    """The keys of `prepare_calls`."""
    plain = None if judge.is_repeated else judge.protocol.plain_hashes(subject)
    if plain is None:
        return [call.key for call in prepare_calls(judge, subject)]
    if judge.backend.knows_subject:
        subject_frame = frame(texts_of_truth(subject))
        for _, digest in plain:
            digest.update(subject_frame)
    fingerprint = judge.fingerprint
    return [call_key(fingerprint, digest.hexdigest(), order, 0, "") for order, digest in plain]


def by_beginning(
    work: Sequence[Work], *, apart: Callable[[Question], bool] = lambda _: False
) -> list[Work]:
    """Sort calls so that prompts with the same beginning follow each other, for prefix caches.

    First by the text up to the end of the first judged text (the prompt), then of the second;
    otherwise in the given order. Equal questions are put far from each other if they are to be
    `apart`, for caches that have a text only once it was answered. This changes neither rows nor
    keys.
    """
    first: dict[tuple[str, ...], int] = {}
    places = []
    for at, call in enumerate(work):
        beginnings = _beginnings(call.question)
        turn = call.question.repeat if apart(call.question) else 0
        places.append((turn, *(first.setdefault(beginning, at) for beginning in beginnings), at))
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
    """The next subjects with their calls (or keys), `least` or a few more; empty at the end."""
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
    are kept in a temporary file, 32 bytes per call; or its rows, if all calls were answered before.
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
        """The rows of each subject, or it and the keys of its calls, also where none were noted."""
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
        self._noted.close()
