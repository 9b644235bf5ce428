"""Any OpenAI-compatible chat server: OpenAI, vLLM, SGLang, llama.cpp, Ollama, OpenRouter.

A Choice is one token with its most likely alternatives (20, or as many as the server gives). vLLM
and SGLang give the log probabilities of tokens by id, so that nothing is censored there. The way of
asking is the *route*, known from the first question of a run. Reasoned is written text with the
most likely alternatives at each token, read at the verdict. Likelihood needs vLLM or SGLang, which
render and tokenise the chat themselves (`POST /tokenize`).

At temperature 0 the sampled token is the most likely one. So a list that always includes the
sampled token is still the top of the distribution, and the bound on missing tokens holds. Whether
a server's tokenizer reads chat-template tokens in judged text as text depends on the server.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from adjudge.errors import JudgeRefusedError
from adjudge.images import data_uri
from adjudge.judges.backends._chat_server import (
    PER_QUESTION,
    ChatServerBackend,
    ServerKind,
    as_chat,
    failed_reply,
    measure,
    named_in,
    read_choice,
    read_reply,
    recognise,
    shapeless_reply,
)
from adjudge.judges.backends._http import Exchange, error_in
from adjudge.judges.backends._image_tokens import openai_rule
from adjudge.judges.backends._tokens import bare
from adjudge.judges.interface import Choice, Likelihood, Question, Reasoned, Text, Want
from adjudge.records import MEASURED, Reply

if TYPE_CHECKING:
    from adjudge.judges.backends._batches import Batches

TOP_LOGPROBS = 20
#: Servers that give no number allow at least as many as OpenAI's older API.
_FEW_LOGPROBS = 5
#: The routes of letters and likelihoods that are exact, by the server that has them.
_LETTERS = {"vllm": "logprob_token_ids", "sglang": "generate token_ids_logprob"}
_LIKELIHOODS = {"vllm": "completions prompt_logprobs", "sglang": "generate logprob_start_len"}
#: The maximum number of ids that vLLM takes.
MOST_IDS = 128
_BEFORE = ("", " ", "\n", "(", " (", "[", " [", "**", " **", '"', ' "', "'", "`", "_", ":", "<")
_AFTER = (".", ")", ":", ",", "]", "**", '"', "'", "`", "\n", ";", ">", "_")
#: No token of a sent text has less; in half precision a certain token can be above 0.
_LEAST_LOGPROB = -1e6
_ROUNDING = 0.01
#: Bytes of the largest answer: log probabilities of every token of a long text.
_LARGEST = 1 << 24
_UNTOKENISED = "the server does not tokenise this chat (POST /tokenize)"
_NO_IMAGES = (
    "SGLang gives letters of texts by a call that takes no images; ask about them with --samples 10"
)
_REASONING = (
    "an OpenAI reasoning model gives them, and takes a temperature, only with "
    """--extra-body '{"reasoning_effort": "none"}'"""
)


class OpenAIBackend(ChatServerBackend):
    """`openai:MODEL`, at OpenAI or any server with its API."""

    example = "openai:gpt-4.1-mini"
    options = ("base_url", "api_key_env", "extra_body", "concurrency", "timeout", "max_reply")
    batches = True
    batch_price = 0.5
    maker_url = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"
    path = "/chat/completions"
    wants: frozenset[type] = frozenset({Choice, Reasoned, Text, Likelihood})
    concurrency = 32
    #: Whether the service answers at `maker_url`, not a program that has to be recognised.
    hosted: ClassVar[bool] = True

    # What the server needs; learnt once, from its error messages.
    _length_field = "max_tokens"
    _top_logprobs = TOP_LOGPROBS
    _takes_schema = True
    _takes_temperature = True
    _kind: ServerKind | None = None
    _route: str | None = None
    _route_is_fixed = False

    @cached_property
    def _by_id(self) -> dict[tuple[str, ...], dict[int, str]]:
        """Options -> the ids and spellings of their tokens."""
        return {}

    @cached_property
    def _asked_before(self) -> list[tuple[Question, Reply]]:
        """Questions that were asked to see the route, and not yet by the run."""
        return []

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

    def image_tokens(self, width: int, height: int) -> int | None:
        rule = openai_rule(self.model) if self.hosted and self.at_maker else None
        return None if rule is None else rule(width, height)

    def reads_again(self, question: Question) -> bool:
        return self.hosted and self.at_maker and super().reads_again(question)

    def open_batches(self, folder: Path) -> Batches:
        from adjudge.judges.backends.openai_batch import OpenAIBatches

        return OpenAIBatches(self, folder)

    def routes(self, wants: frozenset[type]) -> tuple[str, ...]:
        if Likelihood in wants:
            return tuple(_LIKELIHOODS.values())
        likeliest = tuple(_likeliest(few) for few in range(TOP_LOGPROBS, 1, -1))
        if Choice in wants:
            return (*likeliest, *_LETTERS.values())
        return likeliest if Reasoned in wants else ()

    def take_route(self, route: str) -> None:
        self._route_is_fixed = True
        if route in (*_LETTERS.values(), *_LIKELIHOODS.values()):
            self._route = route
        else:
            self._top_logprobs = int(route.rpartition(" ")[2])
            self._route = None

    async def find_route(self, question: Question) -> str | None:
        kind = await self._recognise()
        table = _LIKELIHOODS if isinstance(question.want, Likelihood) else _LETTERS
        if not isinstance(question.want, Reasoned):
            self._route = table.get(kind.name)
        if self._route == _LETTERS["sglang"] and question.images:
            self._route = None  # it takes tokens, and no image
        reply = await self.ask(question)
        self._asked_before.append((question, reply))
        if isinstance(question.want, Likelihood):
            return self._route
        if reply.status == "error":
            self._route = None
            return None
        if self._route in _LETTERS.values() and not reply.exact_mass:
            self._route = None  # an older version without token ids
        self._route_is_fixed = True
        return self._route or _likeliest(self._top_logprobs)

    async def start(self) -> None:
        self._recognising = asyncio.Lock()  # of this event loop
        await super().start()

    async def ask(self, question: Question) -> Reply:
        for at, (asked, reply) in enumerate(self._asked_before):
            if asked == question:
                del self._asked_before[at]
                return reply
        kind = self._kind or await self._recognise()
        want = question.want
        if isinstance(want, Likelihood):
            route = self._route or _LIKELIHOODS.get(kind.name)
            if route is None:
                raise JudgeRefusedError(
                    f"{self.name} cannot be asked for likelihoods: that needs a vLLM or SGLang "
                    f"server, and this one is {str(kind) or 'not recognised'}; or use a local judge"
                )
            return await self._score(question, want, at_vllm="prompt" in route)
        if isinstance(want, Choice) and self._route is not None:
            if want.options not in self._by_id:
                self._by_id[want.options] = await self._find_ids(want.options)
            if self._route == _LETTERS["sglang"] and self._by_id[want.options]:
                exact = await self._choose(question, want, self._by_id[want.options])
                if exact is not None:
                    return exact
        reply = await super().ask(question)
        by_id = self._route is not None and isinstance(want, Choice) and self._route_is_fixed
        if by_id and reply.status in MEASURED and not reply.exact_mass:
            # Routes are not mixed.
            error = "the server no longer gives log probabilities by token id; use another --store"
            return Reply(status="error", error=error, raw=reply.raw, latency_s=reply.latency_s)
        return reply

    async def _recognise(self) -> ServerKind:
        """The program that answers. It is asked once; parallel callers wait."""
        async with self._recognising:
            if self._kind is None:
                if self.hosted and self.at_maker:
                    self._kind = ServerKind(self.name.partition(":")[0])
                else:
                    self._kind = await recognise(self.server, self.model)
            return self._kind

    def request_body(self, question: Question) -> dict[str, Any]:
        want = question.want
        body: dict[str, Any] = {"model": self.model, "messages": as_chat(question.messages, _show)}
        if isinstance(want, Choice):
            body |= {self._length_field: 1, "temperature": 0}
        elif isinstance(want, Text | Reasoned):
            body[self._length_field] = want.max_tokens
            if self._takes_temperature:
                body["temperature"] = want.temperature
        if isinstance(want, Choice | Reasoned):
            body |= {"logprobs": True, "top_logprobs": self._top_logprobs}
        if ids := self._ids_sent(want):
            body["logprob_token_ids"] = list(ids)
        if isinstance(want, Text) and want.json_schema is not None and self._takes_schema:
            schema = {"name": "judgment", "strict": True, "schema": dict(want.json_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body | self.extra_body

    def _ids_sent(self, want: Want) -> Mapping[int, str]:
        """The tokens that a question to vLLM names by id."""
        if self._route == _LETTERS["vllm"] and isinstance(want, Choice):
            return self._by_id.get(want.options, {})
        return {}

    def read(self, exchange: Exchange, question: Question) -> Reply:
        by_id = len(self._ids_sent(question.want))
        server = self.server_name(exchange.payload)
        return read_reply(exchange, question, server=server, by_id=by_id)

    def server_name(self, payload: Any) -> str | None:
        """The program that gave this answer, its version and configuration, as written in rows."""
        name = str(self._kind)
        fingerprint = named_in(payload, "system_fingerprint") or ""
        return (name if fingerprint in name else f"{name} {fingerprint}".strip()) or None

    def adapt(self, exchange: Exchange, body: Mapping[str, Any]) -> bool:
        if exchange.http_status not in PER_QUESTION:
            return False
        words = self.server.words(exchange.payload, exchange.raw)
        field = str(error_in(exchange.payload).get("param"))  # named separately from the message
        if "max_tokens" in body and not (self._kind and self._kind.short_names):
            unnamed = field == "max_tokens" and not re.search(r"\d", words)
            if unnamed or "max_completion_tokens" in words:
                self._length_field = "max_completion_tokens"
                return True
        if "logprob_token_ids" in body and "logprob_token_ids" in (field, *words.split()):
            self._route = None
            return True
        if "top_logprobs" in body and ("logprobs" in words or field == "top_logprobs"):
            return self._take_fewer(words, field, int(body["top_logprobs"]))
        schema_words = ("response_format", "json_schema", "structured output", "guided")
        if "response_format" in body and (
            field == "response_format" or any(word in words.lower() for word in schema_words)
        ):
            self._takes_schema = False
            return True
        if body.get("temperature") == 1 and ("temperature" in words or field == "temperature"):
            # Models that take no temperature sample at 1, which was requested.
            self._takes_temperature = False
            return True
        return False

    def _take_fewer(self, words: str, field: str, asked: int) -> bool:
        named = [int(number) for number in re.findall(r"\d+", words)]
        fewer = max((n for n in named if 2 <= n < asked), default=0)
        if not named and field == "top_logprobs" and asked > _FEW_LOGPROBS:
            fewer = _FEW_LOGPROBS
        if fewer and self._route_is_fixed:
            raise JudgeRefusedError(
                f"{self.name} now gives only {fewer} log probabilities, but the replies so far were"
                f" asked with {asked}; use another --store",
                http_status=400,
            )
        self._top_logprobs = fewer or self._top_logprobs
        return bool(fewer)

    def refusal(self, status: int, words: str, question: Question) -> JudgeRefusedError:
        asked = isinstance(question.want, Choice | Reasoned)
        if asked and status in (400, 403, 422) and re.search("logprob|temperature", words):
            hint = "" if self._kind and self._kind.own_models else f"{_REASONING}; or "
            lacks = "log probabilities" if "logprob" in words else "answers at temperature 0"
            return JudgeRefusedError(
                f"{self.name} gives no {lacks} (HTTP {status}: {words}); {hint}"
                "sample its verdicts instead: --samples 10",
                http_status=status,
            )
        if status == 404:
            words += "; check the model's name, and --base-url: for most servers it ends in /v1"
        return super().refusal(status, words, question)

    # --- native calls of vLLM and SGLang: letters by token id, where nothing is censored and
    # answer_mass is the probability of these tokens, and likelihoods ---------------------------

    async def _find_ids(self, options: tuple[str, ...]) -> dict[int, str]:
        """id -> spelling, for the options' usual spellings ("A", " A", "(A", "A." ...) that are one
        token in the server's tokenizer; empty if an option has none."""
        spellings = spell(options)
        read = await asyncio.gather(*map(self._tokens_of_text, spellings))
        ids = {
            tokens[0]: spelling
            for spelling, tokens in zip(spellings, read, strict=True)
            if tokens is not None and len(tokens) == 1
        }
        line_end = await self._tokens_of_text("\n")
        for option in options if line_end else ():
            # Some tokenizers put a blank before a text: the letter alone only follows other text.
            after = await self._tokens_of_text("\n" + option)
            if after is not None and after[:-1] == line_end:
                ids.setdefault(after[-1], option)
        complete = {bare(spelling) for spelling in ids.values()} >= set(options)
        return ids if complete else {}

    async def _choose(self, question: Question, want: Choice, ids: dict[int, str]) -> Reply | None:
        """Exact letters by SGLang's /generate; None if it does not give them."""
        if question.images:
            return Reply(status="error", error=_NO_IMAGES)
        prompt = await self._tokens_of_chat(question)
        if prompt is None:
            return None
        body = {**_generate(prompt, start=-1), "token_ids_logprob": list(ids)}
        answer = await self._post(self.server.at_root("/generate"), body, question)
        if isinstance(answer, Reply):
            return answer
        meta = answer.payload.get("meta_info")
        text = answer.payload.get("text")
        measured = measure(answer, text, meta, "prompt_tokens", "completion_tokens")
        measured["server"] = self.server_name(answer.payload)
        try:
            first = meta["output_token_ids_logprobs"][0]
            pairs = [(ids[entry[1]], _logprob(entry[0], least=-math.inf)) for entry in first]
        except (IndexError, KeyError, OverflowError, TypeError, ValueError):
            return None
        return read_choice(pairs, want.options, measured, by_id=len(ids))

    async def _score(self, question: Question, want: Likelihood, *, at_vllm: bool) -> Reply:
        """The mean log probability of the tokens of a continuation."""
        prompt = await self._tokens_of_chat(question)
        tail = await self._tokens_of_text(want.continuation.text)
        if prompt is None or tail is None:
            return Reply(status="error", error=_UNTOKENISED)
        path = self.server.at_root("/generate")
        body = _generate([*prompt, *tail], start=len(prompt) - 1)
        if at_vllm:
            path = "/completions"
            body = {
                "model": self.model,
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
            server=self.server_name(answer.payload),
            served_model=named_in(answer.payload, "model"),
            raw=answer.raw,
        )

    async def _post(self, path: str, body: dict[str, Any], question: Question) -> Exchange | Reply:
        """The server's successful answer; otherwise a reply with the reason."""
        answer = await self.server.post_json(path, body, largest=_LARGEST)
        if answer.http_status is None or answer.trouble is not None:
            return failed_reply(answer, "error", answer.trouble or "no answer")
        if answer.http_status >= 300:
            return self.read_rejection(answer, question)
        return answer if _is_good(answer) else shapeless_reply(answer)

    async def _tokens_of_text(self, text: str) -> list[int] | None:
        """The ids of a text alone; None if the server does not give them."""
        return await self._tokens({"prompt": text, "add_special_tokens": False})

    async def _tokens_of_chat(self, question: Question) -> list[int] | None:
        """The ids of a chat as the model reads it, up to the assistant's first token."""
        chat = {"messages": as_chat(question.messages), "add_generation_prompt": True}
        if (template := self.extra_body.get("chat_template_kwargs")) is not None:
            chat["chat_template_kwargs"] = template
        return await self._tokens(chat)

    async def _tokens(self, asked: Mapping[str, Any]) -> list[int] | None:
        path = self.server.at_root("/tokenize")
        body = {"model": self.model, **asked}
        answer = await self.server.post_json(path, body, largest=_LARGEST)
        tokens = answer.payload.get("tokens") if _is_good(answer) else None
        whole = isinstance(tokens, list) and all(type(token) is int for token in tokens)
        return tokens if whole and tokens else None


def _show(content: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": data_uri(content)}}


def _likeliest(number: int) -> str:
    return f"top_logprobs {number}"


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
