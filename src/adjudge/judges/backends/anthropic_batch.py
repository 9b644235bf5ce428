"""Anthropic's Message Batches: calls are in the request that makes the batch.

A batch has no name there. So before one is made, the newest batch of the account is noted: one that
is newer, with as many calls, and that no other job has, is taken for the one whose confirmation was
lost. Answers name their calls: if it was another program's, no answer fits, and the calls are asked
again by the next run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adjudge.judges.backends._batches import Batches, Job, as_exchange
from adjudge.judges.backends._chat_server import rejected_reply
from adjudge.judges.backends._http import field_of
from adjudge.judges.interface import Question, Want
from adjudge.records import Reply


class AnthropicBatches(Batches):
    """Batches of messages."""

    path = "/messages/batches"
    next_page = "after_id"

    def _line(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"params": body}

    async def _start(self, job: Job, lines: list[bytes]) -> None:
        batches, _ = await self._list(1)
        job.newest = batches[0]["id"] if batches else None
        self._save(job)
        await self._make(job, data=b'{"requests":[' + b",".join(lines) + b"]}")

    async def _resume(self, job: Job) -> None:
        if await self._find(job):
            self._save(job)
        else:
            self._forget(job)  # its calls are sent again

    def _is_of(self, job: Job, batch: Mapping[str, Any]) -> bool:
        counts = field_of(batch, "request_counts", dict)
        calls = sum(field_of(counts, name, int) for name in counts)
        return calls == job.calls and batch["id"] not in {other.batch_id for other in self.jobs()}

    def _has_ended(self, state: Mapping[str, Any]) -> bool:
        return state.get("processing_status") == "ended"

    def _answered(self, state: Mapping[str, Any]) -> int:
        counts = field_of(state, "request_counts", dict)
        return sum(field_of(counts, name, int) for name in counts if name != "processing")

    def _answers(self, state: Mapping[str, Any]) -> list[str]:
        place = field_of(state, "results_url", str)
        if not place:
            return []
        # The key is sent only to the server that was named.
        named = place.startswith(f"{self._server.base_url}/")
        return [place if named else f"{self.path}/{state['id']}/results"]

    def _why(self, state: Mapping[str, Any]) -> str:
        return "the batch ended without this answer"

    def _read(self, answer: Mapping[str, Any], want: Want) -> Reply:
        result = field_of(answer, "result", dict)
        kind = field_of(result, "type", str)
        succeeded = kind == "succeeded"
        exchange = as_exchange(200, result.get("message" if succeeded else "error"))
        if isinstance(exchange, Reply):
            return exchange
        if succeeded:
            return self._backend.read(exchange, Question((), want))
        if kind == "errored":
            words = self._server.words(exchange.payload, exchange.raw)
            return rejected_reply(exchange, words, words)
        return Reply(status="error", error=f"the batch ended before this call ({kind})")
