"""What chat servers share when they do not answer: a row's status, or the end of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjudge.errors import JudgeRefusedError
from adjudge.judges.backends._http import Exchange, Server
from adjudge.judges.interface import Message
from adjudge.records import Reply, Status

#: Answers that can be about one question alone; 401, 402, 403, 404 are about all of them.
PER_QUESTION = frozenset({400, 413, 422})
#: Rejections in a row, after the server has answered before, that mean it answers no more.
_IN_A_ROW = 20
_REFUSAL_CODES = frozenset(
    {"content_filter", "content_policy_violation", "invalid_prompt", "ResponsibleAIPolicyViolation"}
)
_TOO_LONG = ("context length", "context_length", "maximum context", "context size", "too long")


class Rejections:
    """Reads the answers by which a server rejects a question."""

    def __init__(self, judge: str, server: Server) -> None:
        self._judge = judge
        self._server = server
        self._answered = False
        self._in_a_row = 0

    def answered(self) -> None:
        """The server took a question."""
        self._answered = True
        self._in_a_row = 0

    def read(self, exchange: Exchange) -> Reply:
        """The reply, when the rejection is about this question; otherwise JudgeRefusedError."""
        words = self._server.words(exchange.payload, exchange.raw)
        status = exchange.http_status or 0
        if status in PER_QUESTION or status == 403:
            if _is_content_refusal(exchange.payload, words):
                return failed_reply(exchange, "refused", f"HTTP {status}: {words}")
            if any(phrase in words.lower() for phrase in _TOO_LONG) or status == 413:
                return failed_reply(exchange, "error", f"HTTP {status}: {words}")
        self._in_a_row += 1
        if status in PER_QUESTION and self._answered and self._in_a_row < _IN_A_ROW:
            # Questions of this shape were accepted before: it is this one the server cannot take.
            return failed_reply(exchange, "error", f"HTTP {status}: {words}")
        raise JudgeRefusedError(f"{self._judge}: HTTP {status}: {words}", http_status=status)


def failed_reply(exchange: Exchange, status: Status, error: str) -> Reply:
    """A reply that says why there is none."""
    return Reply(status=status, error=error, raw=exchange.raw, latency_s=exchange.latency_s)


def failed(exchange: Exchange) -> Reply:
    """The reply of a question that could not be carried to the server and back."""
    return failed_reply(exchange, "error", exchange.trouble or "no answer")


def shapeless(exchange: Exchange) -> Reply:
    """The reply of an answer that is JSON, but no message."""
    shown = " ".join((exchange.raw or "").split())[:120]
    return failed_reply(exchange, "error", f"the answer holds no message: {shown}")


def as_chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as chat servers take them: one role, one string each."""
    return [{"role": message.role, "content": message.text} for message in messages]


def whole(value: object) -> int | None:
    """A count of tokens, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _is_content_refusal(payload: Any, words: str) -> bool:
    error = payload.get("error") if isinstance(payload, dict) else None
    inner = error.get("innererror") if isinstance(error, dict) else None
    codes = {
        str(part.get(field))
        for part in (error, inner)
        if isinstance(part, dict)
        for field in ("code", "type")
    }
    return bool(codes & _REFUSAL_CODES) or "flagged" in words.lower()
