"""OpenAI's Batch API: calls are uploaded as a file, and a batch keeps the name of its job."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from adjudge.judges.backends._batches import ID, Batches, Job, as_exchange
from adjudge.judges.backends._chat_server import read_reply, rejected_reply
from adjudge.judges.backends._http import field_of
from adjudge.judges.interface import Question, Want
from adjudge.records import Reply

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


class OpenAIBatches(Batches):
    """Batches of chat completions."""

    path = "/batches"
    next_page = "after"

    def _line(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"method": "POST", "url": "/v1/chat/completions", "body": body}

    async def _start(self, job: Job, lines: list[bytes]) -> None:
        self._save(job)
        job.file_id = await self._upload(job, b"".join(lines))
        self._save(job)
        await self._create(job)

    async def _resume(self, job: Job) -> None:
        if job.file_id is None:
            self._forget(job)  # nothing was requested yet
        elif await self._find(job):
            self._save(job)
        else:
            await self._create(job)

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
        body = {
            "input_file_id": job.file_id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"adjudge_job": job.name},
        }
        await self._make(job, json=body)

    def _is_of(self, job: Job, batch: Mapping[str, Any]) -> bool:
        return bool(field_of(batch, "metadata", dict).get("adjudge_job") == job.name)

    def _has_ended(self, state: Mapping[str, Any]) -> bool:
        return state.get("status") in _ENDED

    def _answered(self, state: Mapping[str, Any]) -> int:
        counts = field_of(state, "request_counts", dict)
        return sum(field_of(counts, name, int) for name in ("completed", "failed"))

    def _answers(self, state: Mapping[str, Any]) -> list[str]:
        named = [field_of(state, field, str) for field in ("output_file_id", "error_file_id")]
        return [f"/files/{file_id}/content" for file_id in named if ID.fullmatch(file_id)]

    def _why(self, state: Mapping[str, Any]) -> str:
        why = f"the batch ended ({state.get('status')}) without this answer"
        errors = field_of(field_of(state, "errors", dict), "data", list)
        words = next(filter(None, (field_of(error, "message", str) for error in errors)), "")
        return why + (f": {words}" if words else "")

    def _read(self, answer: Mapping[str, Any], want: Want) -> Reply:
        response = answer.get("response")
        if not isinstance(response, dict):
            words = self._server.words({"error": answer.get("error")}, None)
            return Reply(status="error", error=words)
        body = response.get("body")
        code = field_of(response, "status_code", int)
        exchange = as_exchange(code, body)
        if isinstance(exchange, Reply):
            return exchange
        if code == 200:
            return read_reply(exchange, Question((), want))
        words = self._server.words(body, exchange.raw)
        return rejected_reply(exchange, words, f"HTTP {code}: {words}")
