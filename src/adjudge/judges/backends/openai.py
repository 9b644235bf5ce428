"""Any OpenAI-compatible chat server: OpenAI, vLLM, SGLang, llama.cpp, Ollama, OpenRouter.

A Choice is one token with its 20 most likely alternatives, counted for the options as
`_spellings` says; Reasoned is written text with the same alternatives at each token, read where
the verdict is written.

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
from adjudge.judges.backends._spellings import NEVER, option_logprobs, option_mass
from adjudge.judges.interface import Batches, Choice, Question, Reasoned, Text
from adjudge.judges.verdicts import locate_option
from adjudge.records import Reply

TOP_LOGPROBS = 20


class OpenAIBackend(ChatServerBackend):
    """`openai:MODEL`, at OpenAI or any server that speaks its language."""

    example = "openai:gpt-4.1-mini"
    options = ("base_url", "api_key_env", "extra_body", "concurrency", "timeout", "max_reply")
    batches = True
    batch_price = 0.5
    maker_url = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"
    path = "/chat/completions"
    wants: frozenset[type] = frozenset({Choice, Reasoned, Text})
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
        elif isinstance(want, Text | Reasoned):
            body[self._length_field] = want.max_tokens
            if self._takes_temperature:
                body["temperature"] = want.temperature
            if isinstance(want, Reasoned):
                body["logprobs"] = True
                body["top_logprobs"] = self._top_logprobs
            elif want.json_schema is not None and self._takes_schema:
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
        asked = isinstance(question.want, Choice | Reasoned) and "logprob" in words
        if asked and status in (400, 403, 422):
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
    want = question.want
    if isinstance(want, Choice):
        return _read_choice(_alternatives(choice, 0), want.options, measured)
    measured["cut_off"] = finish == "length"
    if isinstance(want, Reasoned):
        return _read_reasoned(choice, want, measured)
    return Reply(status="ok", **measured)


def _read_reasoned(choice: Mapping[str, Any], want: Reasoned, measured: dict[str, Any]) -> Reply:
    """The written reply, with the options' log probabilities where its verdict is written."""
    text = measured["text"]
    place = locate_option(text, want.options, want.format) if isinstance(text, str) else None
    if place is None:
        return Reply(status="ok", **measured)
    pairs = _alternatives(choice, _token_at(choice, text, place.start))
    if not pairs:
        return Reply(status="ok", **measured)
    return _read_choice(pairs, want.options, measured)


def _token_at(choice: Mapping[str, Any], text: str, start: int) -> int:
    """The index of the token that holds the text's character `start`; -1 where none does.

    Tokens are joined as bytes, because one may end inside a character. What the server counts but
    does not show in the text (thoughts, an end mark) is before or behind it. Where a server gives
    no bytes and such a token is unreadable, the text is looked for from the letter to its end.
    """
    try:
        pieces = [_token_bytes(entry) for entry in choice["logprobs"]["content"]]
    except (KeyError, TypeError, ValueError):
        return -1
    joined, written = b"".join(pieces), text.encode("utf-8", "surrogatepass")
    before = len(text[:start].encode("utf-8", "surrogatepass"))
    begin = joined.rfind(written)
    if begin < 0 and not joined.endswith(written[before:]):
        return -1
    wanted = len(joined) - len(written) + before if begin < 0 else begin + before
    passed = 0
    for index, piece in enumerate(pieces):
        passed += len(piece)
        if passed > wanted:
            return index
    return -1


def _token_bytes(entry: Mapping[str, Any]) -> bytes:
    given = entry.get("bytes")
    return bytes(given) if given else str(entry["token"]).encode("utf-8", "surrogatepass")


def _alternatives(choice: Mapping[str, Any], index: int) -> list[tuple[str, float]] | None:
    """The likeliest tokens at one place of the reply; none where the server gives none.

    None where they are not tokens with numbers.
    """
    if index < 0:
        return []
    try:
        top = choice["logprobs"]["content"][index]["top_logprobs"]
    except (IndexError, KeyError, TypeError):
        return []
    return _token_pairs(top)


def _read_choice(
    pairs: Sequence[tuple[str, float]] | None, options: tuple[str, ...], measured: dict[str, Any]
) -> Reply:
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
    if len([value for value in values if value > NEVER]) < 2:
        # One token at 1 and the rest at 0 is the outcome of greedy sampling, not a measurement.
        error = "the server gives the drawn token alone a probability"
        return _unmeasured(f"{error}; --samples K asks for verdicts alone", measured)
    logprobs, censored = option_logprobs(pairs, options)
    if len(censored) == len(options):
        first = max(pairs, key=lambda pair: pair[1])[0]
        error = f"none of {', '.join(options)} is among the {len(pairs)} likeliest first tokens"
        advice = "ask with --reason, or --samples 10"
        return _unmeasured(f"{error} (likeliest: {first[:40]!r}); {advice}", measured)
    return Reply(
        status="censored" if censored else "ok",
        logprobs=logprobs,
        censored=censored,
        answer_mass=option_mass(pairs, options),
        **measured,
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
