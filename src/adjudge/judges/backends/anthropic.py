"""`anthropic:MODEL`, the Messages API: no log probabilities, so judges there are sampled.

What is cached has to be marked. A mark stands at the end of a message, so it does not change what
the model reads: after the messages that are the same for every subject, and after the last one if
the question is asked several times. Writing costs more than reading, so a mark is set only if it
pays at the judge's price.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adjudge.errors import JudgeError
from adjudge.images import media_type
from adjudge.judges.backends._chat_server import (
    ChatServerBackend,
    as_chat,
    measure,
    shapeless_reply,
)
from adjudge.judges.backends._http import Exchange, field_of
from adjudge.judges.backends._image_tokens import claude_rule
from adjudge.judges.interface import Question, Text
from adjudge.records import Reply

if TYPE_CHECKING:
    from adjudge.judges.backends._batches import Batches

API_VERSION = "2023-06-01"
_MARK = {"cache_control": {"type": "ephemeral"}}


class AnthropicBackend(ChatServerBackend):
    """Asks only for text: protocols that need letters need `--samples K`."""

    example = "anthropic:claude-haiku-4-5"
    options = ("base_url", "api_key_env", "concurrency", "timeout", "max_reply")
    batches = True
    batch_price = 0.5
    batch_caches = True
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

    def image_tokens(self, width: int, height: int) -> int | None:
        rule = claude_rule(self.model) if self.at_maker else None
        return None if rule is None else rule(width, height)

    def open_batches(self, folder: Path) -> Batches:
        from adjudge.judges.backends.anthropic_batch import AnthropicBatches

        return AnthropicBatches(self, folder)

    def request_body(self, question: Question) -> dict[str, Any]:
        want = question.want
        if not isinstance(want, Text):
            raise JudgeError(f"{self.name} gives no log probabilities; sample it: --samples K")
        texts = [message.text for message in question.messages if message.role == "system"]
        turns = as_chat([turn for turn in question.messages if turn.role != "system"], _show)
        system: Any = "\n\n".join(texts)
        for end in self._marks(question):
            place = end - len(texts)
            if place > 0:
                turns[place - 1]["content"] = _marked(turns[place - 1]["content"])
            elif system:
                system = _marked(system)
        return {
            "model": self.model,
            "max_tokens": want.max_tokens,
            "temperature": want.temperature,
            "messages": turns,
            **({"system": system} if system else {}),
            **self.extra_body,
        }

    def _marks(self, question: Question) -> set[int]:
        """After how many messages what was read is worth caching."""
        fixed = question.fixed
        shared = fixed and self.cache_pays(question, fixed, self._calls, self._at_once)
        again = self.reads_again(question)
        return {*([fixed] if shared else []), *([len(question.messages)] if again else [])}

    def read(self, exchange: Exchange, question: Question) -> Reply:
        payload = exchange.payload
        try:
            blocks = payload["content"]
            text = "".join(block["text"] for block in blocks if block["type"] == "text")
            stop = payload.get("stop_reason")
            usage = payload.get("usage")
        except (AttributeError, KeyError, TypeError):
            return shapeless_reply(exchange)
        measured = measure(exchange, text, usage, "input_tokens", "output_tokens")
        # Tokens of the cache are counted apart.
        read = field_of(usage, "cache_read_input_tokens", int)
        written = field_of(usage, "cache_creation_input_tokens", int)
        measured |= {"cached_tokens": read or None, "cache_write_tokens": written or None}
        if read or written:
            measured["prompt_tokens"] = field_of(usage, "input_tokens", int) + read + written
        if stop == "refusal":
            return Reply(status="refused", error="the model declined to answer", **measured)
        return Reply(status="ok", cut_off=stop == "max_tokens", **measured)


def _show(content: bytes) -> dict[str, Any]:
    data = base64.b64encode(content).decode("ascii")
    source = {"type": "base64", "media_type": media_type(content), "data": data}
    return {"type": "image", "source": source}


def _marked(content: Any) -> list[dict[str, Any]]:
    """A message that the provider caches, with all before it."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [*blocks[:-1], {**blocks[-1], **_MARK}]
