"""llama.cpp's own server in this process: weights, tokens, completions.

It tokenises only over HTTP, so it opens a port: on the loopback address, with a random key that
never leaves this object, without the slots endpoint (which shows prompts). It has one slot, so only
one thread can ask at a time.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from adjudge.errors import BackendMissingError, JudgeRefusedError, how_to_install
from adjudge.judges.backends._chat import CannotAnswerError, ChatTokens


class LlamaServer(ChatTokens):
    """A GGUF file, loaded by `load` and freed by `unload`; `model` is its name in errors."""

    def __init__(
        self, model: str, path: Path, *, context: int, threads: int | None, reuse_prefix: bool
    ) -> None:
        super().__init__(model)
        self.key = secrets.token_urlsafe(32)
        #: The context size once it is loaded, and the size the model was trained for.
        self.context = self.trained = context
        self.engine: Any = None
        self._path = path
        self._asked_context = context
        self._threads = threads
        self._reuse_prefix = reuse_prefix
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
        given = self._fetch("/props", None)["default_generation_settings"]["n_ctx"]
        # llama.cpp accepts more tokens than the model was trained for; the numbers would be noise.
        trained = self._fetch("/v1/models", None)["data"][0]["meta"]["n_ctx_train"]
        self.trained = int(trained)
        self.context = min(int(given), self.trained)

    def unload(self) -> None:
        """Free the weights and close the port."""
        self.engine = None  # the last reference: the engine joins its threads

    def complete(self, prompt: list[int], **options: Any) -> dict[str, Any]:
        """llama.cpp's answer after `prompt`, at temperature 1 and without other samplers."""
        request = {
            "prompt": prompt,
            "temperature": 1.0,
            "samplers": ["temperature"],
            "seed": 0,
            "cache_prompt": self._reuse_prefix,
            **options,
        }
        done: dict[str, Any] = self.engine.handle_completions(request)
        if "error" in done:
            raise CannotAnswerError(f"llama.cpp: {done['error'].get('message', done['error'])}")
        return done

    def must_fit(self, tokens: int) -> None:
        """Refuse a question that does not fit into the context."""
        if tokens > self.context:
            remedy = (
                f"use --judge '{self.model}?context=N', with N at most {self.trained}"
                if self.context < self.trained
                else "the model was not trained for more; leave the row out or use another model"
            )
            raise CannotAnswerError(
                f"{tokens} tokens do not fit into the context of {self.context}; {remedy}"
            )

    def encode(self, text: str, *, special: bool, begin: bool = False) -> list[int]:
        body = {"content": text, "parse_special": special, "add_special": begin}
        return list(self._fetch("/tokenize", body)["tokens"])

    def render(self, turns: list[dict[str, str]]) -> str:
        return str(self._fetch("/apply-template", {"messages": turns})["prompt"])

    def _fetch(self, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        try:
            payload = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise CannotAnswerError(
                "the text contains half a character (a lone surrogate)"
            ) from None
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
