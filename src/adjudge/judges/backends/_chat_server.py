"""Chat servers over HTTP: how they are reached, and what a missing answer means.

A rejection is about one question and becomes a row's status, or about all questions and ends the
run.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from adjudge.errors import JudgeError, JudgeRefusedError
from adjudge.judges.backends._body import too_large_words
from adjudge.judges.backends._http import Exchange, Server, key_from, shorten
from adjudge.judges.flow import Pace, ServerLoad
from adjudge.judges.interface import Backend, Message, Question, Reasoned, Text, Want
from adjudge.records import Reply, Status
from adjudge.validation import count

#: HTTP statuses about one question, unless nothing was ever answered.
PER_QUESTION = frozenset({400, 413, 422})
#: After this many rejections in a row the server is taken as no longer answering.
_IN_A_ROW = 20
_REFUSAL_CODES = frozenset(
    {"content_filter", "content_policy_violation", "invalid_prompt", "ResponsibleAIPolicyViolation"}
)
#: Bytes for one answer without its tokens, and for each token of it.
_LEAST_ROOM, _TOKEN_ROOM = 1 << 20, 2 << 10
_TOO_LONG = ("context length", "context_length", "maximum context", "context size", "too long")


class ChatServerBackend(Backend):
    """A model behind a chat server, over one pool of keep-alive connections."""

    #: The maker's server, the variable that holds its key, and the path of questions.
    maker_url: ClassVar[str]
    key_variable: ClassVar[str]
    path: str
    #: Whether the maker's server needs a key.
    needs_key: ClassVar[bool] = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = None,
        extra_body: Mapping[str, Any] | None = None,
        concurrency: int | None = None,
        timeout: float = 60.0,
        max_reply: int | None = None,
        max_attempts: int = 6,
        first_pause_s: float = 0.5,
    ) -> None:
        self._key_variable = api_key_env or self.key_variable
        key = key_from(self._key_variable)
        self.name = f"{self.example.partition(':')[0]}:{model}"
        self.model = model
        self.extra_body = dict(extra_body or {})
        self.concurrency = type(self).concurrency if concurrency is None else concurrency
        self.server = Server(
            base_url or self.maker_url,
            headers=self.headers(key),
            secrets=[key],
            concurrency=self.concurrency,
            timeout_s=timeout,
            max_attempts=max_attempts,
            first_pause_s=first_pause_s,
        )
        self._max_reply = None if max_reply is None else count(max_reply, "max_reply", least=1024)
        self._has_key = bool(key)
        self._answered = False
        self._rejected_in_a_row = 0

    @abstractmethod
    def headers(self, key: str) -> dict[str, str]:
        """The headers of every request; `key` is "" if there is none."""

    @abstractmethod
    def request_body(self, question: Question) -> dict[str, Any]:
        """The JSON of one question; judged text is only inside message contents."""

    @abstractmethod
    def read(self, exchange: Exchange, question: Question) -> Reply:
        """The reply in a server's successful answer."""

    def adapt(self, exchange: Exchange, body: Mapping[str, Any]) -> bool:
        """Whether the server's error names a parameter that can be given in another way."""
        return False

    def secrets(self) -> list[str]:
        return [key_from(self._key_variable)]

    def largest_reply(self, want: Want) -> int:
        """Bytes of the largest answer that is read: `max_reply`, or what such an answer can need.

        A verdict needs kilobytes. A token with its 20 most likely alternatives takes about 1.8 KB,
        so the limit grows with the number of tokens asked for.
        """
        tokens = want.max_tokens if isinstance(want, Text | Reasoned) else 1
        return self._max_reply or _LEAST_ROOM + tokens * _TOKEN_ROOM

    async def start(self) -> None:
        if self.needs_key and not self._has_key and self.server.base_url == self.maker_url:
            raise JudgeError(
                f"{self._key_variable} is not set; export it, or give your own --base-url"
            )
        await self.server.open()

    async def close(self) -> None:
        await self.server.close()

    def keep_pace(self, pace: Pace | None) -> bool:
        self.server.pace = pace
        return True

    def load(self) -> ServerLoad:
        return ServerLoad(self.server.rate_limited, self.server.limiter.closed_s)

    async def ask(self, question: Question) -> Reply:
        while True:
            body = self.request_body(question)
            largest = self.largest_reply(question.want)
            exchange = await self.server.post_json(self.path, body, largest=largest)
            if exchange.http_status is None or exchange.trouble is not None:
                return failed_reply(exchange, "error", exchange.trouble or "no answer")
            if exchange.http_status < 300:
                self._answered = True
                self._rejected_in_a_row = 0
                return self.read(exchange, question)
            # Values from extra_body cannot be adapted: the same body is not sent again.
            if not self.adapt(exchange, body) or self.request_body(question) == body:
                return self.read_rejection(exchange, question)

    def read_rejection(self, exchange: Exchange, question: Question) -> Reply:
        """The reply, when the rejection is about this question; otherwise JudgeRefusedError."""
        words = self.server.words(exchange.payload, exchange.raw)
        status = exchange.http_status or 0
        if status in PER_QUESTION or status == 403:
            if is_content_refusal(exchange.payload, words):
                return failed_reply(exchange, "refused", f"HTTP {status}: {words}")
            if any(phrase in words.lower() for phrase in _TOO_LONG) or status == 413:
                return failed_reply(exchange, "error", f"HTTP {status}: {words}")
        self._rejected_in_a_row += 1
        if self._answered and self._rejected_in_a_row < _IN_A_ROW:
            # Questions were answered before: one rejection does not end the run.
            return failed_reply(exchange, "error", f"HTTP {status}: {words}")
        raise self.refusal(status, words, question)

    def refusal(self, status: int, words: str, question: Question) -> JudgeRefusedError:
        """The error that ends the run: the server rejects all questions."""
        return JudgeRefusedError(f"{self.name}: HTTP {status}: {words}", http_status=status)


def failed_reply(exchange: Exchange, status: Status, error: str) -> Reply:
    """A reply with the reason why there is no answer."""
    return Reply(status=status, error=error, raw=exchange.raw, latency_s=exchange.latency_s)


def too_large(largest: int) -> Reply:
    """The reply for an answer that is too large to read."""
    return Reply(status="error", error=too_large_words(largest))


def shapeless_reply(exchange: Exchange) -> Reply:
    """The reply for an answer that is JSON, but not a message."""
    shown = shorten(exchange.raw or "")[:120]
    return failed_reply(exchange, "error", f"the answer has no message: {shown}")


def measure(exchange: Exchange, text: object, usage: object, *counts: str) -> dict[str, Any]:
    """The fields of every successful answer: its text, and the token counts in `usage`.

    Both are as the server gave them; `check_reply` checks every reply.
    """
    prompt, completion = (usage.get(name) if isinstance(usage, dict) else None for name in counts)
    return {
        "text": text,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "latency_s": exchange.latency_s,
        "raw": exchange.raw,
    }


def as_chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as chat servers take them: one role, one string each."""
    return [{"role": message.role, "content": message.text} for message in messages]


def is_content_refusal(payload: Any, words: str) -> bool:
    """Whether a rejection is about the content of the messages, by its codes or words."""
    error = payload.get("error") if isinstance(payload, dict) else None
    inner = error.get("innererror") if isinstance(error, dict) else None
    codes = {
        str(part.get(field))
        for part in (error, inner)
        if isinstance(part, dict)
        for field in ("code", "type")
    }
    return bool(codes & _REFUSAL_CODES) or "flagged" in words.lower()
