"""What vLLM and SGLang offer in addition to the chat API: tokens by id, and likelihoods of a text.

The server renders and tokenises the chat (`POST /tokenize`), so that its own chat template is used.
It also tokenises the text being judged, so it can read chat-template tokens in it as special ones.

Both return exact log probabilities by token id. The ids are those of the options' usual spellings
("A", " A", "(A", "A." ...) that are one token in the server's tokenizer. Nothing is censored then,
and `answer_mass` is the probability of these spellings.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adjudge.judges.backends._chat_server import (
    as_chat,
    failed_reply,
    measure,
    named_in,
    read_choice,
    shapeless_reply,
)
from adjudge.judges.backends._http import Exchange
from adjudge.judges.backends._tokens import bare
from adjudge.judges.interface import Choice, Likelihood, Question
from adjudge.records import Reply

if TYPE_CHECKING:
    from adjudge.judges.backends.openai import OpenAIBackend

#: The maximum number of ids that vLLM takes.
MOST_IDS = 128
_BEFORE = ("", " ", "\n", "(", " (", "[", " [", "**", " **", '"', ' "', "'", "`", "_", ":", "<")
_AFTER = (".", ")", ":", ",", "]", "**", '"', "'", "`", "\n", ";", ">", "_")
#: No token of a sent text has less; in half precision a certain token can be above 0.
_LEAST_LOGPROB, _ROUNDING = -1e6, 0.01
#: Bytes of the largest answer: log probabilities of every token of a long text.
_LARGEST = 1 << 24
_UNTOKENISED = "the server does not tokenise this chat (POST /tokenize)"


class NativeApi:
    """The native calls of the two servers, for a backend whose server was recognised."""

    def __init__(self, backend: OpenAIBackend) -> None:
        self._backend = backend
        self._server = backend.server
        template = backend.extra_body.get("chat_template_kwargs")
        self._template = {} if template is None else {"chat_template_kwargs": template}

    async def letters(self, options: tuple[str, ...]) -> dict[int, str]:
        """id -> spelling, for the spellings that are one token; empty if an option has none."""
        spellings = spell(options)
        read = await asyncio.gather(*map(self._text, spellings))
        ids = {
            tokens[0]: spelling
            for spelling, tokens in zip(spellings, read, strict=True)
            if tokens is not None and len(tokens) == 1
        }
        line_end = await self._text("\n")
        for option in options if line_end else ():
            # Some tokenizers put a blank before a text: the letter alone only follows other text.
            after = await self._text("\n" + option)
            if after is not None and after[:-1] == line_end:
                ids.setdefault(after[-1], option)
        complete = {bare(spelling) for spelling in ids.values()} >= set(options)
        return ids if complete else {}

    async def choice(self, question: Question, want: Choice, ids: dict[int, str]) -> Reply | None:
        """Exact letters by SGLang's /generate; None if it does not give them."""
        prompt = await self._chat(question)
        if prompt is None:
            return None
        body = {**_generate(prompt, start=-1), "token_ids_logprob": list(ids)}
        answer = await self._post(self._server.at_root("/generate"), body, question)
        if isinstance(answer, Reply):
            return answer
        meta = answer.payload.get("meta_info")
        text = answer.payload.get("text")
        measured = measure(answer, text, meta, "prompt_tokens", "completion_tokens")
        measured["server"] = self._backend.server_name(answer.payload)
        try:
            first = meta["output_token_ids_logprobs"][0]
            pairs = [(ids[entry[1]], _logprob(entry[0], least=-math.inf)) for entry in first]
        except (IndexError, KeyError, OverflowError, TypeError, ValueError):
            return None
        return read_choice(pairs, want.options, measured, by_id=len(ids))

    async def likelihood(self, question: Question, want: Likelihood, *, at_vllm: bool) -> Reply:
        """The mean log probability of the tokens of a continuation."""
        prompt, tail = await self._chat(question), await self._text(want.continuation.text)
        if prompt is None or tail is None:
            return Reply(status="error", error=_UNTOKENISED)
        path = self._server.at_root("/generate")
        body = _generate([*prompt, *tail], start=len(prompt) - 1)
        if at_vllm:
            path = "/completions"
            body = {
                "model": self._backend.model,
                "prompt": [*prompt, *tail],
                "prompt_logprobs": 0,
                "max_tokens": 1,
                "temperature": 0,
            }
        answer = await self._post(path, body, question)
        if isinstance(answer, Reply):
            return answer
        try:
            logprobs = (_of_completion if at_vllm else _of_generation)(answer.payload, tail)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            error = "the answer has no log probabilities of the sent tokens"
            return failed_reply(answer, "error", error)
        return Reply(
            status="ok",
            mean_logprob=math.fsum(logprobs) / len(logprobs),
            scored_tokens=len(logprobs),
            prompt_tokens=len(prompt) + len(tail),
            completion_tokens=1,
            latency_s=answer.latency_s,
            server=self._backend.server_name(answer.payload),
            served_model=named_in(answer.payload, "model"),
            raw=answer.raw,
        )

    async def _post(self, path: str, body: dict[str, Any], question: Question) -> Exchange | Reply:
        """The server's successful answer; otherwise a reply with the reason."""
        answer = await self._server.post_json(path, body, largest=_LARGEST)
        if answer.http_status is None or answer.trouble is not None:
            return failed_reply(answer, "error", answer.trouble or "no answer")
        if answer.http_status >= 300:
            return self._backend.read_rejection(answer, question)
        return answer if _is_good(answer) else shapeless_reply(answer)

    async def _text(self, text: str) -> list[int] | None:
        """The ids of a text alone; None if the server does not give them."""
        return await self._tokens({"prompt": text, "add_special_tokens": False})

    async def _chat(self, question: Question) -> list[int] | None:
        """The ids of a chat as the model reads it, up to the assistant's first token."""
        messages = as_chat(question.messages)
        return await self._tokens(
            {"messages": messages, "add_generation_prompt": True, **self._template}
        )

    async def _tokens(self, asked: Mapping[str, Any]) -> list[int] | None:
        body = {"model": self._backend.model, **asked}
        answer = await self._server.post_json(
            self._server.at_root("/tokenize"), body, largest=_LARGEST
        )
        tokens = answer.payload.get("tokens") if _is_good(answer) else None
        whole = isinstance(tokens, list) and all(type(token) is int for token in tokens)
        return tokens if whole and tokens else None


def spell(options: Sequence[str]) -> list[str]:
    """The spellings of all options, the most usual first, at most as many as allowed.

    >>> spell(["A", "B"])[:6]
    ['A', 'B', ' A', ' B', '\\nA', '\\nB']
    """
    forms = [(before, "") for before in _BEFORE] + [("", after) for after in _AFTER]
    every = [f"{before}{option}{after}" for before, after in forms for option in options]
    return every[: MOST_IDS - len(options)]


def _is_good(answer: Exchange) -> bool:
    """Whether an answer is an object that can be read."""
    return answer.http_status == 200 and answer.trouble is None and isinstance(answer.payload, dict)


def _generate(ids: list[int], *, start: int) -> dict[str, Any]:
    """One token from SGLang, with log probabilities of the prompt from `start` on (-1: none)."""
    return {
        "input_ids": ids,
        "sampling_params": {"max_new_tokens": 1, "temperature": 0},
        "return_logprob": True,
        "logprob_start_len": start,
    }


def _of_completion(payload: Any, tail: list[int]) -> list[float]:
    """vLLM: an object of token ids for each place of the prompt."""
    places = payload["choices"][0]["prompt_logprobs"][-len(tail) :]
    pairs = zip(places, tail, strict=True)
    return [_logprob(place[str(token)]["logprob"]) for place, token in pairs]


def _of_generation(payload: Any, tail: list[int]) -> list[float]:
    """SGLang: [log probability, id, text] for each place from logprob_start_len on."""
    places = payload["meta_info"]["input_token_logprobs"][-len(tail) :]
    if [place[1] for place in places] != tail:
        raise ValueError("other tokens")
    return [_logprob(place[0]) for place in places]


def _logprob(value: Any, *, least: float = _LEAST_LOGPROB) -> float:
    """A log probability as a server sends it; ValueError for other values."""
    if type(value) not in (int, float) or not least <= value <= _ROUNDING:
        raise ValueError(f"{value!r:.40} is not a log probability")
    return float(value)
