"""Any OpenAI-compatible chat server: OpenAI, vLLM, SGLang, llama.cpp, Ollama, OpenRouter.

A Choice is one token with its 20 most likely alternatives. A token counts for an option when it
is that option after the blanks, quotes, brackets, emphasis and stops around it are taken off:
"A", " A", "(A", "A." and "**A" all count for A, and their probabilities are added. Case matters:
"a" is an English word, and a token that begins one says nothing about answer A.

An option that none of the returned tokens names is at most as likely as the least likely of them:
its entry is that bound and the status `censored`. No option at all: `no_logprobs`.

Temperature 0 makes the drawn token the likeliest, so that a list which always includes the drawn
token is still the top of the distribution, and the bound holds. Log probabilities are those before
the temperature; a server that reports them after sampling shows one token at 1 and the rest at 0,
is recognised by that, and has none (`no_logprobs`).

What is judged travels inside the content strings of the messages. Whether a server's tokenizer
reads chat-template tokens there as text is the server's own affair; the local backends see to it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from adjudge.errors import JudgeError, JudgeRefusedError
from adjudge.judges.backends._chat_server import (
    PER_QUESTION,
    ChatServerBackend,
    as_chat,
    measure,
    shapeless_reply,
)
from adjudge.judges.backends._http import Exchange
from adjudge.judges.interface import Batches, Choice, Question, Text
from adjudge.records import Reply

TOP_LOGPROBS = 20
_STRIPPED = " \t\r\n\u00a0\u0120\u2581\u010a*_\"'`“”‘’()[]{}<>.:,;"
#: Some servers write -9999 or minus infinity for what they did not compute.
_NEVER = -1000.0


class OpenAIBackend(ChatServerBackend):
    """`openai:MODEL`, at OpenAI or any server that speaks its language."""

    example = "openai:gpt-4.1-mini"
    options = ("base_url", "api_key_env", "extra_body", "concurrency", "timeout", "max_reply")
    batches = True
    batch_price = 0.5
    maker_url = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"
    path = "/chat/completions"
    wants: frozenset[type] = frozenset({Choice, Text})
    concurrency = 32

    # What the server turned out to want; learnt from its own words, once.
    _length_field = "max_tokens"
    _top_logprobs = TOP_LOGPROBS
    _takes_schema = True
    _takes_temperature = True

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def identity(self) -> Mapping[str, Any]:
        return {
            "backend": "openai",
            "base_url": self.server.base_url,
            "model": self.model,
            "top_logprobs": TOP_LOGPROBS,
            "choice_temperature": 0,
            **({"extra_body": self.extra_body} if self.extra_body else {}),
        }

    def open_batches(self, folder: Path) -> Batches:
        from adjudge.judges.backends.openai_batch import OpenAIBatches

        return OpenAIBatches(self, folder)

    def request_body(self, question: Question) -> dict[str, Any]:
        want = question.want
        body: dict[str, Any] = {
            "model": self.model,
            "messages": as_chat(question.messages),
        }
        if isinstance(want, Choice):
            body[self._length_field] = 1
            body["temperature"] = 0
            body["logprobs"] = True
            body["top_logprobs"] = self._top_logprobs
        elif isinstance(want, Text):
            body[self._length_field] = want.max_tokens
            if self._takes_temperature:
                body["temperature"] = want.temperature
            if want.json_schema is not None and self._takes_schema:
                body["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {
                        "name": "judgment",
                        "strict": True,
                        "schema": dict(want.json_schema),
                    },
                }
        else:
            raise JudgeError(f"{self.name} cannot be asked for likelihoods; use a local judge")
        body.update(self.extra_body)
        return body

    def read(self, exchange: Exchange, question: Question) -> Reply:
        return read_reply(exchange, question)

    def adapt(self, exchange: Exchange, body: Mapping[str, Any]) -> bool:
        if exchange.http_status not in PER_QUESTION:
            return False
        words = self.server.words(exchange.payload, exchange.raw)
        if "max_tokens" in body and "max_completion_tokens" in words:
            self._length_field = "max_completion_tokens"
            return True
        if "top_logprobs" in body and "top_logprobs" in words:
            fewer = [
                int(n) for n in re.findall(r"\d+", words) if 2 <= int(n) < body["top_logprobs"]
            ]
            self._top_logprobs = max(fewer, default=self._top_logprobs)
            return bool(fewer)
        schema_words = ("response_format", "json_schema", "structured output", "guided")
        if "response_format" in body and any(word in words.lower() for word in schema_words):
            self._takes_schema = False
            return True
        if "temperature" in words and body.get("temperature") == 1:
            # Models that take no temperature sample at 1, which is what was asked for.
            self._takes_temperature = False
            return True
        return False

    def refusal(self, status: int, words: str, question: Question) -> JudgeRefusedError:
        if isinstance(question.want, Choice) and "logprob" in words and status in (400, 403, 422):
            return JudgeRefusedError(
                f"{self.name} gives no log probabilities (HTTP {status}: {words}); "
                "sample its verdicts instead: --samples 10",
                http_status=status,
            )
        return super().refusal(status, words, question)


def read_reply(exchange: Exchange, question: Question) -> Reply:
    """A reply from a chat completion."""
    payload = exchange.payload
    try:
        choice = payload["choices"][0]
        message = choice["message"]
        text = message.get("content")
        refusal = message.get("refusal")
        finish = choice.get("finish_reason")
    except (AttributeError, IndexError, KeyError, TypeError):
        return shapeless_reply(exchange)
    usage = payload.get("usage")
    measured = measure(exchange, text, usage, "prompt_tokens", "completion_tokens")
    if refusal or finish == "content_filter":
        words = refusal if isinstance(refusal, str) else "stopped by the server's content filter"
        return Reply(status="refused", error=" ".join(words.split())[:300], **measured)
    if isinstance(question.want, Choice):
        return _read_choice(choice, question.want.options, measured)
    return Reply(status="ok", **measured)


def _read_choice(
    choice: Mapping[str, Any], options: tuple[str, ...], measured: dict[str, Any]
) -> Reply:
    try:
        top = choice["logprobs"]["content"][0]["top_logprobs"]
    except (IndexError, KeyError, TypeError):
        top = None
    pairs = _token_pairs(top)
    if pairs is None:
        error = "the server's top_logprobs are not texts of tokens with a number each"
        return Reply(status="error", error=error, **measured)
    if not pairs:
        empty = not measured["text"]
        what = "the reply is empty" if empty else "the server returned no log probabilities"
        return _unmeasured(f"{what}; --samples K asks for verdicts alone", measured)
    values = [value for _, value in pairs]
    mass = sum(map(math.exp, values)) if max(values) < 1 else math.nan
    if not mass <= 1.01:
        error = "the server's log probabilities are not those of tokens"
        return Reply(status="error", error=error, **measured)
    if len([value for value in values if value > _NEVER]) < 2:
        # One token at 1 and the rest at 0 is the outcome of greedy sampling, not a measurement.
        error = "the server gives the drawn token alone a probability"
        return _unmeasured(f"{error}; --samples K asks for verdicts alone", measured)
    logprobs, censored = option_logprobs(pairs, options)
    if len(censored) == len(options):
        first = max(pairs, key=lambda pair: pair[1])[0]
        error = f"none of {', '.join(options)} is among the {len(pairs)} likeliest first tokens"
        return _unmeasured(f"{error} (likeliest: {first[:40]!r})", measured)
    return Reply(
        status="censored" if censored else "ok", logprobs=logprobs, censored=censored, **measured
    )


def _token_pairs(top: Any) -> list[tuple[str, float]] | None:
    """Tokens with their log probabilities; none where there are none, None where they are odd."""
    if not top:
        return []
    try:
        pairs = [(entry["token"], entry["logprob"]) for entry in top]
    except (KeyError, TypeError):
        return None
    try:
        if all(isinstance(token, str) and type(value) in (int, float) for token, value in pairs):
            return [(token, float(value)) for token, value in pairs]
    except OverflowError:  # a whole number beyond all floats
        pass
    return None


def _unmeasured(error: str, measured: dict[str, Any]) -> Reply:
    return Reply(status="no_logprobs", error=error, **measured)


def option_logprobs(
    pairs: Sequence[tuple[str, float]], options: tuple[str, ...]
) -> tuple[dict[str, float], frozenset[str]]:
    """Each option's log probability, summed over its spellings, and those that are only bounded.

    >>> option_logprobs([("A", -0.5), (" A", -2.0), ("x", -4.0)], ("A", "B"))
    ({'A': -0.29..., 'B': -4.0}, frozenset({'B'}))
    """
    spellings: dict[str, list[float]] = {}
    bound = math.inf
    for token, value in pairs:
        if value > _NEVER:
            bound = min(bound, value)
            stripped = _bare(token)
            if stripped in options:
                spellings.setdefault(stripped, []).append(value)
    logprobs = {
        option: _log_sum_exp(spellings[option]) if option in spellings else bound
        for option in options
    }
    return logprobs, frozenset(option for option in options if option not in spellings)


@lru_cache(maxsize=8192)
def _bare(token: str) -> str:
    return token.strip(_STRIPPED)


def _log_sum_exp(values: list[float]) -> float:
    if len(values) == 1:
        return values[0]
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))
