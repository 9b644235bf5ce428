"""Chat servers over HTTP: which program answers, how it is asked, and how its answers are read.

A rejection is about one question and becomes a row's status, or about all questions and ends the
run. Rows name the program and its version. Neither is part of the fingerprint; the route, the way a
judge is asked, is.

If none of the returned tokens names an option, the option is at most as likely as the least likely
of them: its entry is that bound and the status is `censored`. Without any option the status is
`no_logprobs`. Neither can happen if the options' tokens were requested by id. Log probabilities are
those before the temperature: a server that reports them after sampling (one token at 1, the others
at 0) is detected, and the status is `no_logprobs`.
"""

from __future__ import annotations

import asyncio
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

import aiohttp

from adjudge.errors import JudgeError, JudgeRefusedError
from adjudge.images import ImageError, read_image
from adjudge.judges.backends._http import Exchange, Server, error_in, field_of, key_from, shorten
from adjudge.judges.backends._tokens import NEVER, bare, option_logprobs
from adjudge.judges.flow import Pace, ServerLoad
from adjudge.judges.interface import Backend, Choice, Message, Question, Reasoned, Text, Want
from adjudge.judges.parsing import locate_option
from adjudge.judges.prices import CHARACTERS_PER_TOKEN, Price
from adjudge.judges.redact import check_secrets
from adjudge.records import Image, Reply, Status
from adjudge.validation import count

#: Questions with images in flight: their bytes are in memory several times while they are sent.
_IMAGES_AT_ONCE = 16
#: `owned_by` in the list of models -> the name of the program here.
_OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "library": "ollama"}
#: The path and field of each program's version.
_VERSIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "vllm": (("/version", "version"),),
    "sglang": (("/server_info", "version"), ("/get_server_info", "version")),
    "llamacpp": (("/props", "build_info"),),
    "ollama": (("/api/version", "version"),),
}
_SHORT_NAMES = frozenset({"ollama"})
#: A server that does not answer within this time is treated as an unknown program.
_PATIENCE_S = 5.0
_LONGEST_NAME = 40
_LONGEST_MODEL = 200
#: HTTP statuses about one question, unless nothing was ever answered.
PER_QUESTION = frozenset({400, 413, 422})
#: After this many rejections in a row the server is taken as no longer answering.
_IN_A_ROW = 20
_REFUSAL_CODES = frozenset(
    {"content_filter", "content_policy_violation", "invalid_prompt", "ResponsibleAIPolicyViolation"}
)
#: Bytes for one answer without its tokens, and for each token of it.
_LEAST_ROOM = 1 << 20
_TOKEN_ROOM = 2 << 10
#: Equal questions are asked apart, but in a short run the second can start before the first ends.
_EQUAL_AT_ONCE = 2
#: Calls of a batch run side by side: the smallest share that reads the cache, by Anthropic's pages.
_HITS_IN_BATCH = 0.3
_TOO_LONG = ("context length", "context_length", "maximum context", "context size", "too long")


class ChatServerBackend(Backend):
    """A model behind a chat server, over one pool of keep-alive connections."""

    #: The maker's server, the variable that holds its key, and the path of questions.
    maker_url: ClassVar[str]
    key_variable: ClassVar[str]
    path: str
    #: Whether the maker's server needs a key.
    needs_key: ClassVar[bool] = True
    takes_images = True
    #: What `plan_cache` said.
    _price: Price | None = None
    _calls = 0
    _at_once = 0
    _with_images: asyncio.Semaphore

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
        check_secrets(api_key_env=api_key_env, extra_body=extra_body)
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

    @property
    def at_maker(self) -> bool:
        """Whether the maker's own server is asked, whose key is in `key_variable`."""
        return self.server.base_url == self.maker_url

    def secrets(self) -> list[str]:
        return [key_from(self._key_variable)]

    def largest_reply(self, want: Want) -> int:
        """Bytes of the largest answer: `max_reply`, or 2 KB for each token and its alternatives."""
        tokens = want.max_tokens if isinstance(want, Text | Reasoned) else 1
        return self._max_reply or _LEAST_ROOM + tokens * _TOKEN_ROOM

    def check(self) -> None:
        if self.needs_key and not self._has_key and self.at_maker:
            raise JudgeError(
                f"{self._key_variable} is not set; export it, or give your own --base-url"
            )

    def reach(self) -> None:
        if (trouble := self.server.reach()) is not None:
            raise JudgeError(f"{self.name}: {trouble}; start the server, or correct its address")

    async def start(self) -> None:
        self.check()
        self._with_images = asyncio.Semaphore(_IMAGES_AT_ONCE)
        await self.server.open()

    async def close(self) -> None:
        await self.server.close()

    def plan_cache(self, price: Price, *, calls: int, at_once: int) -> None:
        self._price = price
        self._calls = calls
        self._at_once = at_once

    def reads_again(self, question: Question) -> bool:
        end = len(question.messages)
        return question.asked > 1 and self.cache_pays(question, end, question.asked, _EQUAL_AT_ONCE)

    def cache_pays(self, question: Question, end: int, calls: int, at_once: int) -> bool:
        """Whether it pays to cache the first `end` messages of a question, which `calls` begin with
        and `at_once` of them before one was read."""
        length = sum(len(message.text) for message in question.messages[:end])
        if self._price is None or length < self._price.cache_least * CHARACTERS_PER_TOKEN:
            return False
        if self._at_once:
            writes: float = min(calls, at_once)
        else:
            writes = calls - _HITS_IN_BATCH * (calls - 1)
        return self._price.cache_pays(calls, writes)

    def keep_pace(self, pace: Pace | None) -> bool:
        self.server.pace = pace
        return True

    def load(self) -> ServerLoad:
        return ServerLoad(self.server.rate_limited, self.server.limiter.closed_s)

    async def ask(self, question: Question) -> Reply:
        if not question.images:
            return await self._ask(question)
        async with self._with_images:
            return await self._ask(question)

    async def _ask(self, question: Question) -> Reply:
        while True:
            try:
                body = self.request_body(question)
            except ImageError as error:
                return Reply(status="error", error=f"{error}; {error.remedy}")
            largest = self.largest_reply(question.want)
            exchange = await self.server.post_json(self.path, body, largest=largest)
            if exchange.not_as_stated and not self.server.answered:
                later = "nothing was answered yet: check the server, and run the same command again"
                raise JudgeRefusedError(f"{self.name}: {exchange.trouble}; {later}")
            if exchange.http_status is None or exchange.trouble is not None:
                return failed_reply(exchange, "error", exchange.trouble or "no answer")
            if exchange.http_status < 300:
                self.server.answered = True
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
        if self.server.answered and self._rejected_in_a_row < _IN_A_ROW:
            # Questions were answered before: one rejection does not end the run.
            return failed_reply(exchange, "error", f"HTTP {status}: {words}")
        raise self.refusal(status, words, question)

    def refusal(self, status: int, words: str, question: Question) -> JudgeRefusedError:
        """The error that ends the run: the server rejects all questions."""
        return JudgeRefusedError(f"{self.name}: HTTP {status}: {words}", http_status=status)


def failed_reply(exchange: Exchange, status: Status, error: str) -> Reply:
    """A reply with the reason why there is no answer."""
    return Reply(status=status, error=error, raw=exchange.raw, latency_s=exchange.latency_s)


def rejected_reply(exchange: Exchange, words: str, shown: str) -> Reply:
    """A reply for a rejection of one question, by the server's `words`, as they are `shown`."""
    refused = is_content_refusal(exchange.payload, words)
    return failed_reply(exchange, "refused" if refused else "error", shown)


def shapeless_reply(exchange: Exchange) -> Reply:
    """The reply for an answer that is JSON, but not a message."""
    shown = shorten(exchange.raw or "")[:120]
    return failed_reply(exchange, "error", f"the answer has no message: {shown}")


def measure(
    exchange: Exchange, text: object, usage: object, prompt_tokens: str, completion_tokens: str
) -> dict[str, Any]:
    """The fields of every successful answer, as the server gave them: `check_reply` comes later."""
    counts = usage if isinstance(usage, dict) else {}
    return {
        "text": text,
        "prompt_tokens": counts.get(prompt_tokens),
        "completion_tokens": counts.get(completion_tokens),
        "latency_s": exchange.latency_s,
        "served_model": named_in(exchange.payload, "model"),
        "raw": exchange.raw,
    }


def as_chat(
    messages: Sequence[Message], show: Callable[[bytes], dict[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """Messages as chat servers take them: one role, one string each; or with images a list of
    parts, each image as `show` makes it of its bytes, which are read here."""
    return [{"role": message.role, "content": _content(message, show)} for message in messages]


def _content(
    message: Message, show: Callable[[bytes], dict[str, Any]] | None
) -> str | list[dict[str, Any]]:
    if show is None or not message.images:
        return message.text
    content: list[dict[str, Any]] = []
    for is_image, run in groupby(message.parts, lambda part: isinstance(part, Image)):
        if is_image:
            images = [part for part in run if isinstance(part, Image)]
            content += [show(read_image(image.sha256 or "", image.name)) for image in images]
        elif words := "".join(part if isinstance(part, str) else part.text for part in run):
            content.append({"type": "text", "text": words})
    return content


def is_content_refusal(payload: Any, words: str) -> bool:
    """Whether a rejection is about the content of the messages, by its codes or words."""
    error = error_in(payload)
    levels = (error, field_of(error, "innererror", dict))
    codes = {str(level.get(field)) for level in levels for field in ("code", "type")}
    return bool(codes & _REFUSAL_CODES) or "flagged" in words.lower()


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A program and its version, "" if unknown.

    `own_models`: it runs the user's models, not those of a maker. `short_names`: it accepts only
    `max_tokens` and silently ignores `max_completion_tokens`.

    >>> str(ServerKind("vllm", "0.30.0")), str(ServerKind())
    ('vllm 0.30.0', '')
    """

    name: str = ""
    version: str = ""

    @property
    def own_models(self) -> bool:
        return self.name in _VERSIONS

    @property
    def short_names(self) -> bool:
        return self.name in _SHORT_NAMES

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


async def recognise(server: Server, model: str) -> ServerKind:
    """The program that answers, by its list of models, and its version if it has one."""
    listed = field_of(await look(server, "/models"), "data", list)
    entries = [entry for entry in listed if isinstance(entry, dict)]
    named = [entry for entry in entries if entry.get("id") == model] or entries
    owner = _word(named[0].get("owned_by")) if named else ""
    name = _OWNERS.get(owner.lower(), "")
    # An older Ollama lists its models with the name of their maker.
    program = name or ("" if owner in ("openai", "system") else "ollama")
    for path, field in _VERSIONS.get(program, ()):
        version = _word((await look(server, server.at_root(path))).get(field))
        if version:
            return ServerKind(program, version)
    return ServerKind(name or owner)


async def look(server: Server, path: str) -> Mapping[str, Any]:
    """The object that a GET returns; empty if there is none."""
    patience = aiohttp.ClientTimeout(total=_PATIENCE_S)
    try:
        answer = await server.exchange("GET", path, attempts=1, timeout=patience)
    except JudgeRefusedError:
        return {}  # the first question reports the reason
    good = answer.http_status == 200 and isinstance(answer.payload, dict)
    return answer.payload if good else {}


def _word(value: object, most: int = _LONGEST_NAME) -> str:
    """A name from a server, if it is valid."""
    return value[:most] if isinstance(value, str) and value.isprintable() else ""


def named_in(payload: object, field: str) -> str | None:
    """The name that an answer has in a field: `model`, `system_fingerprint`."""
    return _word(field_of(payload, field, str), _LONGEST_MODEL).strip() or None


def read_reply(
    exchange: Exchange, question: Question, *, server: str | None = None, by_id: int = 0
) -> Reply:
    """A reply from a chat completion of `server`; `by_id` tokens were requested by id."""
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
    of_prompt = field_of(usage, "prompt_tokens_details", dict)
    measured["cached_tokens"] = of_prompt.get("cached_tokens") or None
    measured["server"] = server
    if refusal or finish == "content_filter":
        words = refusal if isinstance(refusal, str) else "stopped by the server's content filter"
        return Reply(status="refused", error=" ".join(words.split())[:300], **measured)
    want = question.want
    if isinstance(want, Choice):
        return read_choice(_alternatives(choice, 0), want.options, measured, by_id=by_id)
    measured["cut_off"] = finish == "length"
    if isinstance(want, Reasoned) and isinstance(text, str):
        place = locate_option(text, want.options, want.format)
        at = -1 if place is None else _token_at(choice, text, place.start)
        if pairs := _alternatives(choice, at):
            return read_choice(pairs, want.options, measured)
    return Reply(status="ok", **measured)


def _token_at(choice: Mapping[str, Any], text: str, start: int) -> int:
    """The index of the token that holds the text's character `start`; -1 if there is none.

    Tokens are joined as bytes, because one can end inside a character. Tokens that the server
    counts but does not show in the text (thoughts, an end mark) are before or after it. If a server
    gives no bytes and such a token is unreadable, the text is searched from the letter to its end.
    """
    try:
        logprobs = choice["logprobs"]
        if "content" in logprobs:
            pieces = [
                bytes(entry.get("bytes") or ())
                or str(entry["token"]).encode("utf-8", "surrogatepass")
                for entry in logprobs["content"]
            ]
        else:
            pieces = [token.encode("utf-8", "surrogatepass") for token in logprobs["tokens"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        return -1
    joined = b"".join(pieces)
    written = text.encode("utf-8", "surrogatepass")
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


def _alternatives(choice: Mapping[str, Any], index: int) -> list[tuple[str, float]] | None:
    """The most likely tokens at one place of a reply; empty without any, None if malformed."""
    if index < 0:
        return []
    try:
        logprobs = choice["logprobs"]
        if "content" in logprobs:
            return _token_pairs(logprobs["content"][index]["top_logprobs"])
        # The older shape, of text completions: an object of tokens for each place.
        top = logprobs["top_logprobs"][index]
        return _token_pairs([{"token": name, "logprob": value} for name, value in top.items()])
    except (AttributeError, IndexError, KeyError, TypeError):
        return []


def read_choice(
    pairs: Sequence[tuple[str, float]] | None,
    options: tuple[str, ...],
    measured: dict[str, Any],
    *,
    by_id: int = 0,
) -> Reply:
    """The options' log probabilities among tokens; exact if `by_id` of them were given by id."""
    if pairs is None:
        error = "the server's top_logprobs are not token texts with a number each"
        return Reply(status="error", error=error, **measured)
    if not pairs:
        empty = not measured["text"]
        problem = "the reply is empty" if empty else "the server returned no log probabilities"
        return Reply(status="no_logprobs", error=f"{problem}; use --samples K", **measured)
    values = [value for _, value in pairs]
    mass = sum(map(math.exp, values)) if max(values) < 1 else math.nan
    if not mass <= 1.01:
        error = "the server's log probabilities are not valid for tokens"
        return Reply(status="error", error=error, **measured)
    if len([value for value in values if value > NEVER]) < 2:
        # One token at 1 and the rest at 0 is the outcome of greedy sampling, not a measurement.
        error = "the server gives a probability only to the sampled token; use --samples K"
        return Reply(status="no_logprobs", error=error, **measured)
    logprobs, censored = option_logprobs(pairs, options)
    mass = math.fsum(math.exp(logprobs[option]) for option in options if option not in censored)
    # Requested tokens plus the sampled one: more means a server that ignores ids.
    exact = by_id > 0 and len(pairs) <= by_id + 1
    if len(censored) == len(options):
        first = max(pairs, key=lambda pair: pair[1])[0]
        error = (
            f"none of {', '.join(options)} is among the {len(pairs)} most likely first tokens "
            f"(most likely: {first[:40]!r}); ask with --reason, or --samples 10"
        )
        return Reply(status="no_logprobs", error=error, **measured)
    return Reply(
        status="censored" if censored else "ok",
        logprobs=logprobs,
        censored=censored,
        answer_mass=min(mass, 1.0),
        exact_mass=exact and by_id <= sum(bare(token) in options for token, _ in pairs),
        **measured,
    )


def _token_pairs(top: Any) -> list[tuple[str, float]] | None:
    """Tokens with their log probabilities; empty if there are none, None if malformed."""
    if not top:
        return []
    try:
        tokens = [entry["token"] for entry in top]
        values = [entry["logprob"] for entry in top]
        if {*map(type, tokens)} == {str} and {*map(type, values)} <= {int, float}:
            return list(zip(tokens, map(float, values), strict=True))
    except (KeyError, TypeError, OverflowError):  # a whole number can be too large for a float
        pass
    return None
