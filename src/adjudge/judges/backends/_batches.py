"""Batch APIs: the same questions within a day, at half the price.

A batch continues after the process that sent it ends. Running batches are listed in a small folder,
one job per batch, without prompts. A job is written before the upload, after it, and once the batch
has its id; a killed run resumes where it stopped. If the creation of a batch was not confirmed, the
batch is searched in the server's list before another is made, so that nothing is paid twice.
What differs between services is in `openai_batch` and `anthropic_batch`.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, ClassVar, Self

from adjudge.errors import ArgumentError, JudgeError, JudgeRefusedError
from adjudge.images import ImageError
from adjudge.judges.backends._chat_server import ChatServerBackend
from adjudge.judges.backends._http import Exchange, field_of, shorten, too_large_words
from adjudge.judges.interface import Choice, Question, Reasoned, Text, Want
from adjudge.records import Reply
from adjudge.store.sqlite import make_private_folder, open_privately

#: A server's ids of files and batches, and the field of a line that names its call.
ID = re.compile(r"[\w.:-]{1,200}", re.ASCII)
_CUSTOM_ID = re.compile(r'"custom_id"\s*:\s*"([^"\\]{1,64})"')
#: The JSON around an answer in its line.
_ENVELOPE = 16 << 10
# The services take 50,000 calls and 200 MB or more; a chunk of calls must fit into memory.
_MOST_CALLS = 10_000
_MOST_BYTES = 64 << 20
_LARGEST_ANSWERS = 4 << 30
_LONGEST_ID = 64


@dataclass(slots=True)
class Job:
    """One batch: its name here, its ids at the server, and its progress.

    `newest` is the newest batch of the account before this one was made, where names are not kept.
    """

    name: str
    calls: int
    file_id: str | None = None
    batch_id: str | None = None
    answered: int = 0
    newest: str | None = None


@dataclass(frozen=True, slots=True)
class BatchCall:
    """One call: its key, what is wanted, and what the caller needs to recognise it."""

    key: str
    want: Want
    meta: Mapping[str, Any]


class Batches(ABC):
    """Submits questions, waits, returns the answers; `folder` lists running batches."""

    #: The path of batches, and the parameter of the next page of their list.
    path: ClassVar[str]
    next_page: ClassVar[str]

    def __init__(self, backend: ChatServerBackend, folder: str | Path) -> None:
        self._backend = backend
        self._server = backend.server
        self._folder = Path(folder)
        self._lock: IO[str] | None = None

    async def __aenter__(self) -> Self:
        self._lock = _locked(self._folder)
        try:
            await self._backend.start()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._backend.close()
        finally:  # also if the run is dropped at this moment
            if self._lock is not None:
                if not self.jobs():
                    # No batch is running: remove the empty folder.
                    (self._folder / "lock").unlink(missing_ok=True)
                    with suppress(OSError):
                        self._folder.rmdir()
                self._lock.close()
                self._lock = None

    async def submit(self, calls: Iterable[tuple[str, Question, Mapping[str, Any]]]) -> None:
        """Send the calls that are not in flight yet.

        A call is (key, question, meta); meta is returned with the reply and must be plain JSON.
        """
        await self._recover()
        for chunk in _chunks(self._lines(calls, self.pending())):
            job = Job(name=f"adjudge-{uuid.uuid4().hex}", calls=len(chunk))
            make_private_folder(self._folder)
            with self._write(job, ".calls") as out:
                for call, _ in chunk:
                    out.write(
                        json.dumps([call.key, _want_parts(call.want), dict(call.meta)]) + "\n"
                    )
            await self._start(job, [body for _, body in chunk])

    async def collect(
        self,
        *,
        poll_s: float = 30.0,
        on_poll: Callable[[int], None] = lambda _: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> AsyncIterator[tuple[BatchCall, Reply]]:
        """Every call in flight with its reply, including those of an earlier, killed run.

        A job is removed only after all its replies were taken: save each before the next. If
        `stopped` returns true, the waiting ends, and the batches continue.
        """
        await self._recover()
        while (jobs := self.jobs()) and not stopped():
            states = [await self._state(job) for job in jobs]
            ended = [self._has_ended(state) for state in states]
            on_poll(sum(job.calls - job.answered for job in jobs))
            for job, state, done in zip(jobs, states, ended, strict=True):
                if done:
                    async for call, reply in self._replies(job, state):
                        yield call, reply
                    self._forget(job)
            until = time.monotonic() + poll_s
            while not any(ended) and (left := until - time.monotonic()) > 0 and not stopped():  # noqa: ASYNC110  (the stop is a flag that signal handlers set)
                await asyncio.sleep(min(left, 0.5))

    def jobs(self) -> list[Job]:
        files = self._folder.glob("adjudge-*.json")
        by_age = sorted(files, key=lambda path: path.stat().st_mtime_ns)
        return [Job(**json.loads(file.read_text(encoding="utf-8"))) for file in by_age]

    def pending(self) -> set[str]:
        """The keys of all calls in flight."""
        return {call.key for job in self.jobs() for call in self._calls(job)}

    def _lines(
        self, calls: Iterable[tuple[str, Question, Mapping[str, Any]]], under_way: set[str]
    ) -> Iterator[tuple[BatchCall, bytes]]:
        for key, question, meta in calls:
            if key in under_way:
                continue
            if not 1 <= len(key) <= _LONGEST_ID:
                raise ArgumentError("key", key, f"the Batch API takes 1 to {_LONGEST_ID} letters")
            under_way.add(key)
            try:
                asked = self._backend.request_body(question)
            except ImageError as error:
                raise JudgeError(f"{self._backend.name}: {error}; {error.remedy}") from None
            line = {"custom_id": key, **self._line(asked)}
            body = json.dumps(line, separators=(",", ":")).encode() + b"\n"
            yield BatchCall(key, question.want, meta), body

    # --- what differs between services ---

    @abstractmethod
    def _line(self, body: dict[str, Any]) -> dict[str, Any]:
        """One call of a batch without its id, from the body that a single call has."""

    @abstractmethod
    async def _start(self, job: Job, lines: list[bytes]) -> None:
        """Save the job, and make its batch."""

    @abstractmethod
    async def _resume(self, job: Job) -> None:
        """Finish the start of a job that has no batch, or forget the job."""

    @abstractmethod
    def _is_of(self, job: Job, batch: Mapping[str, Any]) -> bool:
        """Whether a listed batch is this job's."""

    @abstractmethod
    def _has_ended(self, state: Mapping[str, Any]) -> bool:
        """Whether all that a batch answers can be read."""

    @abstractmethod
    def _answered(self, state: Mapping[str, Any]) -> int:
        """The number of calls that a running batch has answered, as far as it says so."""

    @abstractmethod
    def _answers(self, state: Mapping[str, Any]) -> list[str]:
        """The places of the files of answers."""

    @abstractmethod
    def _why(self, state: Mapping[str, Any]) -> str:
        """How a batch ended, for calls without an answer."""

    @abstractmethod
    def _read(self, answer: Mapping[str, Any], want: Want) -> Reply:
        """The reply in one line of the answers."""

    # --- what does not ---

    async def _make(self, job: Job, **body: Any) -> None:
        """Make the batch once: a request whose answer was lost can have made it."""
        trouble: str | None = None
        for _ in range(self._server.max_attempts):
            exchange = await self._server.exchange("POST", self.path, attempts=1, **body)
            trouble = exchange.trouble
            if trouble is None:
                job.batch_id = self._id(exchange, "the batch")
            if trouble is None or await self._find(job):
                return self._save(job)
            await asyncio.sleep(self._server.first_pause_s)
        raise JudgeRefusedError(f"the batch could not be created: {trouble}; run it again later")

    async def _list(self, limit: int, page: str = "") -> tuple[list[dict[str, Any]], bool]:
        """Batches of the account with an id, the newest first, and whether there are more."""
        exchange = await self._server.exchange("GET", f"{self.path}?limit={limit}{page}")
        listing = self._good(exchange, "the list of batches")
        batches = field_of(listing, "data", list)
        named = [batch for batch in batches if ID.fullmatch(field_of(batch, "id", str))]
        return named, bool(listing.get("has_more")) and bool(named)

    async def _find(self, job: Job) -> bool:
        """Whether the server has a batch of this job; the job then has its id."""
        page = ""
        for _ in range(20):
            batches, more = await self._list(100, page)
            for batch in batches:
                if batch["id"] == job.newest:
                    return False
                if self._is_of(job, batch):
                    job.batch_id = batch["id"]
                    return True
            if not more:
                return False
            page = f"&{self.next_page}={batches[-1]['id']}"
        return False

    async def _recover(self) -> None:
        """Finish the incomplete steps of a killed run."""
        for job in self.jobs():
            if job.batch_id is None:
                await self._resume(job)

    async def _state(self, job: Job) -> dict[str, Any]:
        exchange = await self._server.exchange("GET", f"{self.path}/{job.batch_id}")
        state = self._good(exchange, f"batch {job.batch_id}")
        job.answered = min(job.calls, self._answered(state))
        return state

    async def _replies(
        self, job: Job, state: dict[str, Any]
    ) -> AsyncIterator[tuple[BatchCall, Reply]]:
        waiting = {call.key: call for call in self._calls(job)}
        largest = max(self._backend.largest_reply(call.want) for call in waiting.values())
        for place in self._answers(state):
            # On the disk: a file of answers can be larger than memory.
            with tempfile.TemporaryFile(dir=self._folder) as answers:
                exchange = await self._server.exchange(
                    "GET", place, sink=answers, largest=_LARGEST_ANSWERS
                )
                self._good(exchange, "the answers", is_json=False)
                answers.seek(0)
                for line, whole in answer_lines(answers, largest):
                    key, answer = read_line(self._server.redact.exact(line), whole)
                    call = waiting.pop(key, None)
                    if call is not None and whole:
                        # How long one call took inside a batch is not known.
                        yield call, replace(self._read(answer, call.want), latency_s=None)
                    elif call is not None:
                        yield call, Reply(status="error", error=too_large_words(largest))
        why = shorten(self._server.redact(self._why(state)))
        for call in waiting.values():
            yield call, Reply(status="error", error=why)

    def _id(self, exchange: Exchange, step: str) -> str:
        named = field_of(self._good(exchange, step), "id", str)
        if not ID.fullmatch(named):
            raise JudgeRefusedError(f"{step}: the server's answer names no id; run it again later")
        return named

    def _good(self, exchange: Exchange, step: str, *, is_json: bool = True) -> dict[str, Any]:
        if exchange.trouble is not None:
            raise JudgeRefusedError(f"{step}: {exchange.trouble}; run it again to resume")
        status = exchange.http_status or 0
        if status >= 300 or (is_json and not isinstance(exchange.payload, dict)):
            words = self._server.words(exchange.payload, exchange.raw)
            raise JudgeRefusedError(f"{step}: HTTP {status}: {words}", http_status=status)
        return exchange.payload if is_json else {}

    def _path(self, job: Job, suffix: str) -> Path:
        return self._folder / f"{job.name}{suffix}"

    def _save(self, job: Job) -> None:
        with self._write(job, ".tmp") as out:
            json.dump(asdict(job), out)
        self._path(job, ".tmp").replace(self._path(job, ".json"))

    def _write(self, job: Job, suffix: str) -> IO[str]:
        return open(self._path(job, suffix), "w", encoding="utf-8", opener=open_privately)

    def _calls(self, job: Job) -> Iterator[BatchCall]:
        with self._path(job, ".calls").open(encoding="utf-8") as lines:
            for line in lines:
                key, want, meta = json.loads(line)
                yield BatchCall(key, _want(want), meta)

    def _forget(self, job: Job) -> None:
        self._path(job, ".json").unlink(missing_ok=True)
        self._path(job, ".calls").unlink(missing_ok=True)


def answer_lines(file: IO[bytes], largest: int) -> Iterator[tuple[str, bool]]:
    """The lines of a file of answers, and whether each is complete; too large ones are cut."""
    most = largest + _ENVELOPE
    while line := file.readline(most):
        whole = line.endswith(b"\n") or len(line) < most
        yield (line if whole else line[:_ENVELOPE]).decode(errors="replace"), whole
        while not whole:
            rest = file.readline(most)
            whole = rest.endswith(b"\n") or not rest


def read_line(line: str, whole: bool) -> tuple[str, dict[str, Any]]:
    """A line of the answers and the key of its call; "" if it is not such a line."""
    if not whole:
        named = _CUSTOM_ID.search(line)
        return (named[1] if named else ""), {}
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return "", {}
    if not isinstance(answer, dict) or not isinstance(answer.get("custom_id"), str):
        return "", {}
    return answer["custom_id"], answer


def _want_parts(want: Want) -> Sequence[str] | Mapping[str, Any] | int:
    """The parts of a want that are needed to read its answer: options, format, maximum tokens."""
    if isinstance(want, Choice):
        return want.options
    if isinstance(want, Reasoned):
        return {"options": want.options, "format": want.format, "max_tokens": want.max_tokens}
    return want.max_tokens if isinstance(want, Text) else 0


def _want(parts: Any) -> Want:
    """The reverse of `_want_parts`."""
    if isinstance(parts, dict):
        return Reasoned(tuple(parts["options"]), parts["format"], parts["max_tokens"])
    return Choice(tuple(parts)) if isinstance(parts, list) else Text(parts)


def as_exchange(code: int, body: Any) -> Exchange | Reply:
    """One answer of a batch as if it had come alone; an error if it cannot be written."""
    try:
        return Exchange(code, body, json.dumps(body, ensure_ascii=False), 0.0)
    except RecursionError:
        return Reply(status="error", error="the answer is nested too deep")


def _locked(folder: Path) -> IO[str] | None:
    """Lock the folder for this process, until the handle is closed or the process ends."""
    try:
        import fcntl
    except ImportError:  # no advisory locks on this system
        return None
    make_private_folder(folder)
    handle = open(folder / "lock", "w", opener=open_privately)  # noqa: SIM115  (held until closed)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise JudgeError(
            f"another process uses the batches in {folder}; wait until it ends"
        ) from None
    return handle


def _chunks(lines: Iterator[tuple[BatchCall, bytes]]) -> Iterator[list[tuple[BatchCall, bytes]]]:
    chunk: list[tuple[BatchCall, bytes]] = []
    size = 0
    for line in lines:
        if chunk and (len(chunk) >= _MOST_CALLS or size + len(line[1]) > _MOST_BYTES):
            yield chunk
            chunk = []
            size = 0
        chunk.append(line)
        size += len(line[1])
    if chunk:
        yield chunk
