"""`anthropic:MODEL`, the Messages API: no log probabilities, so judges there are sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.errors import JudgeError
from adjudge.judges.backends._http import Exchange, Server, key_from
from adjudge.judges.backends._replies import Rejections, as_chat, failed, shapeless, whole
from adjudge.judges.flow import Pace
from adjudge.judges.interface import Backend, Message, Question, Text
from adjudge.records import Reply

DEFAULT_BASE_URL = "https://api.anthropic.com/v1"
API_VERSION = "2023-06-01"


class AnthropicBackend(Backend):
    """Asks for text alone: give protocols that want letters `--samples K`."""

    example = "anthropic:claude-haiku-4-5"
    options = ("base_url", "api_key_env", "concurrency", "timeout")
    wants: frozenset[type] = frozenset({Text})

    def __init__(
        self,
        model: str,
        *,
        base_url: str = DEFAULT_BASE_URL,
        api_key_env: str = "ANTHROPIC_API_KEY",
        concurrency: int = 16,
        timeout: float = 60.0,
        max_attempts: int = 6,
        first_pause_s: float = 0.5,
    ) -> None:
        key = key_from(api_key_env)
        self.name = f"anthropic:{model}"
        self.model = model
        self.concurrency = concurrency
        self.server = Server(
            base_url,
            headers={"anthropic-version": API_VERSION, **({"x-api-key": key} if key else {})},
            secrets=[key],
            concurrency=concurrency,
            timeout_s=timeout,
            max_attempts=max_attempts,
            first_pause_s=first_pause_s,
        )
        self._api_key_env = api_key_env
        self._has_key = bool(key)
        self._rejections = Rejections(self.name, self.server)

    def identity(self) -> Mapping[str, Any]:
        return {
            "backend": "anthropic",
            "base_url": self.server.base_url,
            "model": self.model,
            "api_version": API_VERSION,
        }

    async def start(self) -> None:
        if not self._has_key and self.server.base_url == DEFAULT_BASE_URL:
            raise JudgeError(f"{self._api_key_env} is not set; export it")
        await self.server.open()

    async def close(self) -> None:
        await self.server.close()

    def keep_pace(self, pace: Pace | None) -> bool:
        self.server.pace = pace
        return True

    async def ask(self, question: Question) -> Reply:
        exchange = await self.server.post_json("/messages", self.request_body(question))
        if exchange.http_status is None or exchange.trouble is not None:
            return failed(exchange)
        if exchange.http_status < 300:
            self._rejections.answered()
            return read_reply(exchange)
        return self._rejections.read(exchange)

    def request_body(self, question: Question) -> dict[str, Any]:
        """The JSON of one question; what is judged is inside message contents only."""
        want = question.want
        if not isinstance(want, Text):
            raise JudgeError(f"{self.name} gives no log probabilities; sample it: --samples K")
        system, turns = split_system(question.messages)
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": want.max_tokens,
            "temperature": want.temperature,
            "messages": as_chat(turns),
        }
        if system:
            body["system"] = system
        return body


def split_system(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """The system messages as one text, and the turns."""
    system = "\n\n".join(message.text for message in messages if message.role == "system")
    return system, [message for message in messages if message.role != "system"]


def read_reply(exchange: Exchange) -> Reply:
    """A reply from a message."""
    payload = exchange.payload
    try:
        blocks = payload["content"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        stop, usage = payload.get("stop_reason"), payload.get("usage")
    except (AttributeError, KeyError, TypeError):
        return shapeless(exchange)
    usage = usage if isinstance(usage, dict) else {}
    measured: dict[str, Any] = {
        "text": text,
        "prompt_tokens": whole(usage.get("input_tokens")),
        "completion_tokens": whole(usage.get("output_tokens")),
        "latency_s": exchange.latency_s,
        "raw": exchange.raw,
    }
    if stop == "refusal":
        return Reply(status="refused", error="the model declined to answer", **measured)
    return Reply(status="ok", **measured)
