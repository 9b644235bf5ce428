"""OpenAI's Batch API: the same questions within a day, at half the price.

A batch continues after the process that sent it ends. Running batches are listed in a small folder,
one job per batch, without prompts. A job is written before the upload, after it, and once the batch
has its id; a killed run resumes where it stopped. If the creation of a batch was not confirmed, the
batch is searched by the job's name before another is made, so that nothing is paid twice.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, Self

from adjudge.errors import ArgumentError, JudgeError, JudgeRefusedError
from adjudge.judges.backends._chat_server import failed_reply, is_content_refusal, read_reply
from adjudge.judges.backends._http import Exchange, field_of, shorten, too_large_words
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.interface import Choice, Question, Reasoned, Text, Want
from adjudge.records import Reply, Status
from adjudge.store.sqlite import make_private_folder, open_privately

#: A server's ids of files and batches, and the field of a line that names its call.
ID = re.compile(r"[\w.:-]{1,200}", re.ASCII)
_CUSTOM_ID = re.compile(r'"custom_id"\s*:\s*"([^"\\]{1,64})"')
#: The JSON around an answer in its line.
_ENVELOPE = 16 << 10
# The API takes 50,000 calls and 200 MB; a chunk of calls must fit into memory.
_MOST_CALLS = 10_000
_MOST_BYTES = 64 << 20
_LARGEST_ANSWERS = 4 << 30
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_LONGEST_ID = 64


@dataclass(slots=True)
class Job:
    """One batch: its name here, its ids at the server, and its progress."""

    name: str
    calls: int
    file_id: str | None = None
    batch_id: str | None = None
    answered: int = 0


@dataclass(frozen=True, slots=True)
class BatchCall:
    """One call: its key, what is wanted, and what the caller needs to recognise it."""

    key: str
    want: Want
    meta: Mapping[str, Any]


class OpenAIBatches:
    """Submits questions, waits, returns the answers; `folder` lists running batches."""

    def __init__(self, backend: OpenAIBackend, folder: str | Path) -> None:
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
                    out.write(json.dumps([call.key, _kept(call.want), dict(call.meta)]) + "\n")
            self._save(job)
            job.file_id = await self._upload(job, b"".join(body for _, body in chunk))
            self._save(job)
            await self._create(job)

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
            ended = [state.get("status") in _ENDED for state in states]
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
            line = {
                "custom_id": key,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": self._backend.request_body(question),
            }
            body = json.dumps(line, separators=(",", ":")).encode() + b"\n"
            yield BatchCall(key, question.want, meta), body

    async def _upload(self, job: Job, content: bytes) -> str:
        boundary = uuid.uuid4().hex
        body = b"".join(
            (
                f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
                f'--{boundary}\r\nContent-Disposition: form-data; name="file"; '
                f'filename="{job.name}.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'.encode(),
                content,
                f"\r\n--{boundary}--\r\n".encode(),
            )
        )
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        exchange = await self._server.exchange("POST", "/files", data=body, headers=headers)
        return self._id(exchange, "the upload")

    async def _create(self, job: Job) -> None:
        """Make the batch once: a request whose answer was lost can have made it."""
        body = {
            "input_file_id": job.file_id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"adjudge_job": job.name},
        }
        trouble: str | None = None
        for _ in range(self._server.max_attempts):
            exchange = await self._server.exchange("POST", "/batches", json=body, attempts=1)
            trouble = exchange.trouble
            if trouble is None:
                job.batch_id = self._id(exchange, "the batch")
            if trouble is None or await self._find(job):
                return self._save(job)
            await asyncio.sleep(self._server.first_pause_s)
        raise JudgeRefusedError(f"the batch could not be created: {trouble}; run it again later")

    async def _find(self, job: Job) -> bool:
        """Whether the server has a batch of this job; the job then has its id."""
        after = ""
        for _ in range(20):
            exchange = await self._server.exchange("GET", f"/batches?limit=100{after}")
            listing = self._good(exchange, "the list of batches")
            batches = {field_of(b, "id", str): b for b in field_of(listing, "data", list)}
            named = [batch_id for batch_id in batches if ID.fullmatch(batch_id)]
            for batch_id in named:
                if field_of(batches[batch_id], "metadata", dict).get("adjudge_job") == job.name:
                    job.batch_id = batch_id
                    return True
            if not listing.get("has_more") or not named:
                return False
            after = f"&after={named[-1]}"
        return False

    async def _recover(self) -> None:
        """Finish the incomplete steps of a killed run."""
        for job in self.jobs():
            if job.file_id is None:
                self._forget(job)  # nothing was requested yet
            elif job.batch_id is None and await self._find(job):
                self._save(job)
            elif job.batch_id is None:
                await self._create(job)

    async def _state(self, job: Job) -> dict[str, Any]:
        exchange = await self._server.exchange("GET", f"/batches/{job.batch_id}")
        state = self._good(exchange, f"batch {job.batch_id}")
        counts = field_of(state, "request_counts", dict)
        ended = sum(field_of(counts, name, int) for name in ("completed", "failed"))
        job.answered = min(job.calls, ended)
        return state

    async def _replies(
        self, job: Job, state: dict[str, Any]
    ) -> AsyncIterator[tuple[BatchCall, Reply]]:
        waiting = {call.key: call for call in self._calls(job)}
        largest = max(self._backend.largest_reply(call.want) for call in waiting.values())
        for field in ("output_file_id", "error_file_id"):
            file_id = state.get(field)
            if not isinstance(file_id, str) or not ID.fullmatch(file_id):
                continue
            # On the disk: a file of answers can be larger than memory.
            with tempfile.TemporaryFile(dir=self._folder) as answers:
                exchange = await self._server.exchange(
                    "GET", f"/files/{file_id}/content", sink=answers, largest=_LARGEST_ANSWERS
                )
                self._good(exchange, "the answers", is_json=False)
                answers.seek(0)
                for line, whole in answer_lines(answers, largest):
                    key, answer = read_line(self._server.redact.exact(line), whole)
                    call = waiting.pop(key, None)
                    if call is not None and whole:
                        yield call, self._read(answer, call.want)
                    elif call is not None:
                        yield call, Reply(status="error", error=too_large_words(largest))
        why = f"the batch ended ({state.get('status')}) without this answer"
        errors = field_of(field_of(state, "errors", dict), "data", list)
        words = next(filter(None, (field_of(error, "message", str) for error in errors)), "")
        why += f": {words}" if words else ""
        for call in waiting.values():
            yield call, Reply(status="error", error=shorten(self._server.redact(why)))

    def _read(self, answer: dict[str, Any], want: Want) -> Reply:
        response = answer.get("response")
        if not isinstance(response, dict):
            words = self._server.words({"error": answer.get("error")}, None)
            return Reply(status="error", error=words)
        body, code = response.get("body"), response.get("status_code")
        try:
            raw = json.dumps(body, ensure_ascii=False)
        except RecursionError:
            return Reply(status="error", error="the answer is nested too deep")
        exchange = Exchange(code, body, raw, 0.0)
        if code == 200:
            reply = read_reply(exchange, Question((), want))
        else:
            words = self._server.words(body, raw)
            status: Status = "refused" if is_content_refusal(body, words) else "error"
            reply = failed_reply(exchange, status, f"HTTP {code}: {words}")
        # How long one call took inside a batch is not known.
        return replace(reply, latency_s=None)

    def _id(self, exchange: Exchange, what: str) -> str:
        named = field_of(self._good(exchange, what), "id", str)
        if not ID.fullmatch(named):
            raise JudgeRefusedError(f"{what}: the server's answer names no id; run it again later")
        return named

    def _good(self, exchange: Exchange, what: str, *, is_json: bool = True) -> dict[str, Any]:
        if exchange.trouble is not None:
            raise JudgeRefusedError(f"{what}: {exchange.trouble}; run it again to resume")
        status = exchange.http_status or 0
        if status >= 300 or (is_json and not isinstance(exchange.payload, dict)):
            words = self._server.words(exchange.payload, exchange.raw)
            raise JudgeRefusedError(f"{what}: HTTP {status}: {words}", http_status=status)
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


def _kept(want: Want) -> Sequence[str] | Mapping[str, Any] | int:
    """The parts of a want that are needed to read its answer: options, format, maximum tokens."""
    if isinstance(want, Choice):
        return want.options
    if isinstance(want, Reasoned):
        return {"options": want.options, "format": want.format, "max_tokens": want.max_tokens}
    return want.max_tokens if isinstance(want, Text) else 0


def _want(parts: Any) -> Want:
    """The reverse of `_kept`."""
    if isinstance(parts, dict):
        return Reasoned(tuple(parts["options"]), parts["format"], parts["max_tokens"])
    return Choice(tuple(parts)) if isinstance(parts, list) else Text(parts)


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
            chunk, size = [], 0
        chunk.append(line)
        size += len(line[1])
    if chunk:
        yield chunk
