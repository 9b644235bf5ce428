"""`anthropic:MODEL`, the Messages API: no log probabilities, so judges there are sampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adjudge.errors import JudgeError
from adjudge.judges.backends._chat_server import (
    ChatServerBackend,
    as_chat,
    measure,
    shapeless_reply,
)
from adjudge.judges.backends._http import Exchange
from adjudge.judges.interface import Question, Text
from adjudge.records import Reply

API_VERSION = "2023-06-01"


class AnthropicBackend(ChatServerBackend):
    """Asks only for text: protocols that need letters need `--samples K`."""

    example = "anthropic:claude-haiku-4-5"
    options = ("base_url", "api_key_env", "concurrency", "timeout", "max_reply")
    maker_url = "https://api.anthropic.com/v1"
    key_variable = "ANTHROPIC_API_KEY"
    path = "/messages"
    wants: frozenset[type] = frozenset({Text})
    concurrency = 16

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": API_VERSION, **({"x-api-key": key} if key else {})}

    def identity(self) -> Mapping[str, Any]:
        return {
            "backend": "anthropic",
            "base_url": self.server.base_url,
            "model": self.model,
            "api_version": API_VERSION,
            **({"extra_body": self.extra_body} if self.extra_body else {}),
        }

    def request_body(self, question: Question) -> dict[str, Any]:
        want = question.want
        if not isinstance(want, Text):
            raise JudgeError(f"{self.name} gives no log probabilities; sample it: --samples K")
        system = [message.text for message in question.messages if message.role == "system"]
        turns = [message for message in question.messages if message.role != "system"]
        return {
            "model": self.model,
            "max_tokens": want.max_tokens,
            "temperature": want.temperature,
            "messages": as_chat(turns),
            **({"system": "\n\n".join(system)} if any(system) else {}),
            **self.extra_body,
        }

    def read(self, exchange: Exchange, question: Question) -> Reply:
        payload = exchange.payload
        try:
            blocks = payload["content"]
            text = "".join(block["text"] for block in blocks if block["type"] == "text")
            stop, usage = payload.get("stop_reason"), payload.get("usage")
        except (AttributeError, KeyError, TypeError):
            return shapeless_reply(exchange)
        measured = measure(exchange, text, usage, "input_tokens", "output_tokens")
        if stop == "refusal":
            return Reply(status="refused", error="the model declined to answer", **measured)
        return Reply(status="ok", cut_off=stop == "max_tokens", **measured)
