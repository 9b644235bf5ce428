"""`llamacpp:` a GGUF model in this process, by llama.cpp (package xllamacpp).

One slot without prefix reuse, so that a question gives the same number whatever was asked before.
llama.cpp tokenises only over HTTP, so its server opens a port: on the loopback address, with a
random key that never leaves this object, without the slots endpoint (which shows prompts).
"""

from __future__ import annotations

import asyncio
import http.client
import json
import math
import os
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from adjudge.errors import ArgumentError, BackendMissingError, JudgeRefusedError, how_to_install
from adjudge.judges.backends._tokens import (
    HALF_CHARACTER,
    CannotAnswerError,
    ChatTokens,
    option_mass,
    score_reply,
)
from adjudge.judges.interface import Backend, Choice, Likelihood, Question, Reasoned, Text
from adjudge.judges.parsing import locate_option
from adjudge.judges.weights import resolve, weights_sha256
from adjudge.records import Reply

Answer = TypeVar("Answer")
#: The number of most likely tokens that are requested. The options and their spellings are among
#: them, or the model was about to write something else.
_LIKELIEST = 256
#: Added to every option's logit. It keeps their odds and lifts them above the rest of the
#: vocabulary. The smaller one is tried first: it loses fewer bits of float32.
_BIASES = (40.0, 100.0)
_FORCE = 10_000.0  # lifts one token above all others; reported log probabilities are without it
_SMALLEST = 1.4e-45  # of float32, in which llama.cpp keeps probabilities
_DEFAULT_CONTEXT = 8192


class LlamaCppBackend(Backend):
    """A GGUF model: exact option probabilities, likelihoods and greedy or sampled text.

    *Choice.* The log probabilities of the most likely tokens, before any sampling. If an option is
    not among them, every option's logit gets the same bias, temperature is 1 and no other sampler
    runs. So the probabilities after sampling are the softmax over the options alone.
    *Reasoned.* The text is written, then the options are asked for at the place of the verdict.
    *Likelihood.* The response's tokens are written one after another, each forced by a bias; the
    reported log probability is without it. (llama.cpp's grammars refuse tokens with part of a
    character.)
    """

    example = "llamacpp:smollm2"
    free = True
    wants: frozenset[type] = frozenset({Choice, Likelihood, Reasoned, Text})
    concurrency = 1

    def __init__(
        self, model: str, *, context: int = _DEFAULT_CONTEXT, threads: int | None = None
    ) -> None:
        self.name = f"llamacpp:{model}"
        self._model = model
        self._path = resolve(model)
        self._context = context
        self._server = LlamaServer(self.name, self._path, context=context, threads=threads)
        # One thread: one slot, and the engine frees the GIL while it works.
        self._worker: ThreadPoolExecutor | None = None

    @classmethod
    def parse(cls, model: str, **options: Any) -> Self:
        """From the text after "llamacpp:" on the command line: a name or FILE[?context=N]."""
        path, asked, context = model.partition("?context=")
        if not asked:
            return cls(model, **options)
        if not context.isdecimal() or int(context) == 0:
            remedy = "write a number of tokens, such as llamacpp:FILE.gguf?context=32768"
            raise ArgumentError("judge", f"llamacpp:{model}", remedy)
        return cls(path, context=int(context), **options)

    def identity(self) -> Mapping[str, Any]:
        return {
            "backend": "llamacpp",
            "model": Path(self._path).name,
            "weights_sha256": self._sha256,
            "engine": f"xllamacpp {llama_package().__version__}",
            "context": self._context,
            "reuse_prefix": False,
            "slots": 1,
        }

    @cached_property
    def _sha256(self) -> str:
        return weights_sha256(self._model, self._path)

    async def start(self) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="llamacpp")
        await self._in_thread(self._server.load)

    async def ask(self, question: Question) -> Reply:
        return await self._in_thread(lambda: self._answer(question))

    async def close(self) -> None:
        if self._worker is None:
            return
        await self._in_thread(self._server.unload)
        self._worker.shutdown(wait=False)
        self._worker = None

    async def _in_thread(self, work: Callable[[], Answer]) -> Answer:
        if self._worker is None:
            raise RuntimeError("ask before start: await backend.start() first")
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    # --- everything below runs in one thread ---------------------------------------------------

    def _answer(self, question: Question) -> Reply:
        started = time.perf_counter()
        want = question.want
        try:
            prompt = self.prompt_tokens(question)
            if isinstance(want, Choice):
                reply = self._choose(prompt, want.options)
            elif isinstance(want, Likelihood):
                reply = self._score(prompt, want)
            else:
                reply = self._write(prompt, want, seed=question.repeat)
                if isinstance(want, Reasoned):
                    reply |= self._decided(prompt, want, str(reply["text"]))
        except CannotAnswerError as error:
            reply = {"status": "error", "error": str(error)}
        return Reply(**{"latency_s": time.perf_counter() - started, **reply})

    def _choose(self, prompt: list[int], options: tuple[str, ...]) -> dict[str, Any]:
        ids = self._server.options(options)
        self._server.must_fit(len(prompt) + 1)
        done = self._server.complete(prompt, n_predict=1, n_probs=_LIKELIEST)
        shown = done["choices"][0]["logprobs"]
        top = shown["content"][0]["top_logprobs"] if shown else []
        likeliest = [(str(entry["token"]), float(entry["logprob"])) for entry in top]
        seen = {entry["id"]: float(entry["logprob"]) for entry in top}
        first = max(likeliest, key=lambda pair: pair[1], default=("", 0.0))[0]
        reply = {
            "status": "ok",
            "text": first,
            "answer_mass": option_mass(likeliest, options),
            **_usage(done),
        }
        if all(token in seen for token in ids):
            named = {option: seen[token] for option, token in zip(options, ids, strict=True)}
            return {**reply, "logprobs": named, "raw": json.dumps({"logprobs": named})}
        return {**reply, **self._lifted(prompt, options, ids)}

    def _lifted(
        self, prompt: list[int], options: tuple[str, ...], ids: tuple[int, ...]
    ) -> dict[str, Any]:
        """The options' odds if they are too unlikely to be listed."""
        for bias in _BIASES:
            done = self._server.complete(
                prompt,
                n_predict=1,
                n_probs=len(ids),
                post_sampling_probs=True,
                logit_bias=[[token, bias] for token in ids],
            )
            seen = {
                entry["id"]: float(entry["prob"])
                for entry in done["choices"][0]["logprobs"]["content"][0]["top_probs"]
            }
            if set(seen) == set(ids):
                shares = [seen[token] for token in ids]
                # 0 is below float32's smallest number: only a bound is known.
                hidden = [name for name, p in zip(options, shares, strict=True) if p == 0]
                logprobs = dict(zip(options, _log_shares(shares), strict=True))
                return {
                    "status": "censored" if hidden else "ok",
                    "censored": frozenset(hidden),
                    "logprobs": logprobs,
                    "raw": json.dumps({"option_ids": ids, "bias": bias, "probs": shares}),
                }
        raise CannotAnswerError(
            f"options {', '.join(options)} are more than {_BIASES[-1]:g} nats below the "
            "model's most likely token; use another protocol"
        )

    def _decided(self, prompt: list[int], want: Reasoned, text: str) -> dict[str, Any]:
        """The options' log probabilities at the verdict of a written text, if it has one."""
        place = locate_option(text, want.options, want.format)
        if place is None:
            return {}
        options = self._choose(prompt + self._server.data(text[: place.start]), want.options)
        fields = ("status", "censored", "logprobs", "answer_mass")
        return {name: options[name] for name in fields if name in options}

    def _score(self, prompt: list[int], want: Likelihood) -> dict[str, Any]:
        ids = self._server.response(want.continuation.text)
        self._server.must_fit(len(prompt) + len(ids))
        logprobs: list[float] = []
        for position, token in enumerate(ids):
            read = prompt + ids[:position]
            logprob = self._forced(read, token, fresh=position == 0)
            if logprob is None:
                logprob = self._withheld(read, token)
            if logprob is None or not math.isfinite(logprob):
                raise CannotAnswerError(
                    f"llama.cpp gave no probability for token {position + 1} of {len(ids)} of the "
                    "response; its likelihood was not measured"
                )
            logprobs.append(logprob)
        return {**score_reply(ids, logprobs), "prompt_tokens": len(prompt)}

    def _forced(self, read: list[int], token: int, *, fresh: bool) -> float | None:
        """log P(token | read): the token is forced, and the softmax before that is reported."""
        done = self._server.complete(
            read,
            n_predict=1,
            n_probs=1,
            temperature=0.0,
            logit_bias=[[token, _FORCE]],
            # After the first token the prefix is that of this question: the engine adds one token
            # to it, as when writing. Only the first step could reuse another question's prefix.
            cache_prompt=not fresh,
        )
        shown = done["choices"][0]["logprobs"]
        if not shown or shown["content"][0]["id"] != token:
            return None
        return float(shown["content"][0]["logprob"])

    def _withheld(self, read: list[int], token: int) -> float | None:
        """log P(token | read) for a token that ends inside a character.

        llama.cpp does not report such a token and its probability. So a letter is written instead:
        log P(token) = log P(letter) + log(odds of the token against the letter). The odds are read
        from one draw in which both are above the vocabulary, with the letter far higher.
        """
        (letter,) = self._server.options(("A",))
        anchor = self._forced(read, letter, fresh=False)
        if anchor is None or letter == token:
            return None
        done = self._server.complete(
            read,
            n_predict=1,
            n_probs=2,
            post_sampling_probs=True,
            logit_bias=[[letter, 2 * _BIASES[0]], [token, _BIASES[0]]],
            cache_prompt=True,
        )
        shown = done["choices"][0]["logprobs"]
        steps = shown["content"][0]["top_probs"] if shown else []
        seen = {entry["id"]: entry["prob"] for entry in steps}
        if not seen.get(token) or not seen.get(letter):
            return None
        return anchor + math.log(seen[token] / seen[letter]) + _BIASES[0]

    def _write(self, prompt: list[int], want: Text | Reasoned, *, seed: int) -> dict[str, Any]:
        self._server.must_fit(len(prompt) + want.max_tokens)
        options: dict[str, Any] = {"temperature": want.temperature, "n_predict": want.max_tokens}
        if isinstance(want, Text) and want.json_schema is not None:
            options["json_schema"] = dict(want.json_schema)
        # Repeats differ by their seed; the same repeat gives the same text in every run.
        done = self._server.complete(prompt, seed=seed, **options)
        choice = done["choices"][0]
        return {
            "status": "ok",
            "text": choice["text"],
            "cut_off": choice["finish_reason"] == "length",
            "raw": json.dumps({"text": choice["text"], "finish_reason": choice["finish_reason"]}),
            **_usage(done),
        }

    def prompt_tokens(self, question: Question) -> list[int]:
        return self._server.prompt(question)


def _log_shares(shares: list[float]) -> list[float]:
    """Logs of shares that sum to one; a large share is computed from the rest, for precision.

    >>> [round(value, 4) for value in _log_shares([0.75, 0.25])]
    [-0.2877, -1.3863]
    """
    logs = []
    for i, share in enumerate(shares):
        if share > 0.5:
            rest = math.fsum(shares[:i] + shares[i + 1 :])
            logs.append(math.log1p(-rest))
        else:
            logs.append(math.log(max(share, _SMALLEST)))
    return logs


def _usage(done: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(done["usage"][name]) for name in ("prompt_tokens", "completion_tokens")}


class LlamaServer(ChatTokens):
    """A GGUF file, loaded by `load` and freed by `unload`; `model` is its name in errors."""

    def __init__(self, model: str, path: Path, *, context: int, threads: int | None) -> None:
        super().__init__(model)
        self.key = secrets.token_urlsafe(32)
        #: The context size once it is loaded, and the size the model was trained for.
        self.context = self.trained = context
        self.engine: Any = None
        self._path = path
        self._asked_context = context
        self._threads = threads
        self._port: int | None = None

    def load(self) -> None:
        """Read the weights and open the port, unless that is done."""
        if self.engine is not None:
            return
        package = llama_package()
        params = package.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self._asked_context
        params.n_parallel = 1
        params.offline = True
        params.hostnames = ["127.0.0.1"]
        params.api_keys = [self.key]
        params.endpoint_slots = False
        params.endpoint_metrics = False
        params.ui = False
        params.ctx_shift = False  # the start of a long text would be dropped silently
        params.cache_ram_mib = 0  # finished prompts would stay in memory
        params.verbosity = -1
        if self._threads is not None:
            params.cpuparams.n_threads = self._threads
            params.cpuparams_batch.n_threads = self._threads
        try:
            self.engine = package.Server(params)
        except RuntimeError as error:
            raise BackendMissingError(
                f"{self.model}: llama.cpp {package.__version__} cannot load {self._path.name}; "
                "check that the GGUF file is complete and fits into memory"
            ) from error
        # If it is stopped before its loop runs, the engine starts nevertheless, and waiting for
        # its end never returns. One answer shows that the loop runs.
        self.engine.handle_completions({"prompt": [0], "n_predict": 1, "cache_prompt": False})
        self._port = urlsplit(self.engine.listening_address).port
        size = self._fetch("/props", None)["default_generation_settings"]["n_ctx"]
        # llama.cpp accepts more tokens than the model was trained for; the numbers would be noise.
        trained = self._fetch("/v1/models", None)["data"][0]["meta"]["n_ctx_train"]
        self.trained = int(trained)
        self.context = min(int(size), self.trained)

    def unload(self) -> None:
        self.engine = None  # the last reference: the engine joins its threads

    def complete(self, prompt: list[int], **options: Any) -> dict[str, Any]:
        """llama.cpp's answer after `prompt`, at temperature 1 and without other samplers."""
        request = {
            "prompt": prompt,
            "temperature": 1.0,
            "samplers": ["temperature"],
            "seed": 0,
            "cache_prompt": False,
            **options,
        }
        done: dict[str, Any] = self.engine.handle_completions(request)
        if "error" in done:
            raise CannotAnswerError(f"llama.cpp: {done['error'].get('message', done['error'])}")
        return done

    def must_fit(self, tokens: int) -> None:
        """Refuse a question that does not fit into the context."""
        if tokens > self.context:
            remedy = "the model was not trained for more; leave the row out or use another model"
            if self.context < self.trained:
                remedy = f"use --judge '{self.model}?context=N', with N at most {self.trained}"
            problem = f"{tokens} tokens do not fit into the context of {self.context}"
            raise CannotAnswerError(f"{problem}; {remedy}")

    def encode(self, text: str, *, special: bool, begin: bool = False) -> list[int]:
        body = {"content": text, "parse_special": special, "add_special": begin}
        return list(self._fetch("/tokenize", body)["tokens"])

    def render(self, turns: list[dict[str, str]]) -> str:
        return str(self._fetch("/apply-template", {"messages": turns})["prompt"])

    def _fetch(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        try:
            payload = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise CannotAnswerError(HALF_CHARACTER) from None
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        # A new connection each time: the engine drops idle ones after seconds.
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        try:
            connection.request("GET" if body is None else "POST", path, payload, headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            words = answer.get("error", {}).get("message", f"status {response.status}")
            raise JudgeRefusedError(f"{self.model}: {path.strip('/')}: {words}")
        return dict(answer)


def llama_package() -> Any:
    """The package xllamacpp, or an error with the install command."""
    # OpenMP threads that spin while they wait make answers thirty times slower on busy cores;
    # threads that sleep immediately halve the speed on idle ones. A short spin is nearly the best
    # of both.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    try:
        import xllamacpp
    except ImportError as error:
        raise BackendMissingError(
            f"the package xllamacpp is not installed; {how_to_install('embedded')}"
        ) from error
    return xllamacpp
