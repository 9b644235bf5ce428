"""`transformers:` a model of the Hugging Face hub or a local folder, its logits read directly.

Questions wait until the model is free. On CUDA, questions with the same beginning are computed as
prefix trees, with the shared part once. Elsewhere they are sorted by length and padded (`_causal`).
Needs torch, transformers and numpy, but nothing of adjudge's runner. Code in a model's repository
is never run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from adjudge.errors import BackendMissingError, JudgeRefusedError, how_to_install
from adjudge.judges.backends._tokens import CannotAnswerError, HubTokens, score_reply
from adjudge.judges.interface import Backend, Choice, Likelihood, Question, Reasoned, Text
from adjudge.judges.parsing import locate_option
from adjudge.records import Reply

_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*.jinja", "*.model", "*.txt")
T = TypeVar("T")
#: Tokens in one batch, padding counted. A 7B model is busy at 8,192; more only adds padding.
_CELLS = {"cuda": 8_192, "cpu": 2_048}
_LOGITS = {"cuda": 1 << 30, "cpu": 1 << 26}  # numbers of logits in one batch
#: The two ways of batching questions, which change numbers in bfloat16.
_TREES = "prefix trees"
_PADDED = "padded batches"
_NEED_CUDA = "prefix trees need CUDA"
#: One question with images is computed while the next are prepared: up to 25 MB of numbers each.
_PREPARED_AT_ONCE = 8


@dataclass(slots=True)
class _Job:
    """A question in flight: its tokens, and the future of its reply."""

    question: Question
    prompt: list[int]
    tail: list[int]
    reply: asyncio.Future[Reply]
    #: What the model's processor makes of the images, if there are any.
    seen: Any = None
    asked: float = field(default_factory=time.perf_counter)

    @property
    def length(self) -> int:
        return len(self.prompt) + len(self.tail)


class TransformersBackend(Backend):
    """A causal model with a chat template: option probabilities, likelihoods, text.

    In float32 a question's numbers are the same alone and in any batch or tree, to about 1e-6. In
    bfloat16, the default type on CUDA, the batch of a question changes its log odds: by up to 0.2
    on a 7B shape with random weights. `dtype` is part of the identity. Prefix trees or padded
    batches is the route, which the first run on a store decides; without one batches are padded.
    """

    example = "transformers:Qwen/Qwen2.5-7B-Instruct"
    free = True
    uses_gpu = True
    wants: frozenset[type] = frozenset({Choice, Likelihood, Reasoned, Text})
    concurrency = 512  # questions waiting, so that there is something to sort

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
        token_budget: int | None = None,
    ) -> None:
        self.name = f"transformers:{model}"
        self._torch, self._hub, self._causal = _libraries()
        self._source = model
        self._asked_revision = revision
        self._device = device or ("cuda" if self._torch.cuda.is_available() else "cpu")
        kind = self._device.partition(":")[0]
        self._dtype = dtype or ("auto" if kind == "cuda" else "float32")
        self._budget = token_budget or _CELLS.get(kind, _CELLS["cpu"])
        self._logits = _LOGITS.get(kind, _LOGITS["cpu"])
        self._waiting: list[_Job] = []
        self._arrived = asyncio.Event()
        self._route: str | None = None
        self._why_padded: str | None = None
        self._model: Any = None
        self._trees: Any = None
        self._tokens: Any = None
        self._seeing: Any = None
        self._context: int | None = None
        self._vocabulary = 1
        self._pump: asyncio.Task[None] | None = None
        self._worker: ThreadPoolExecutor | None = None
        self._reader: ThreadPoolExecutor | None = None

    def identity(self) -> Mapping[str, Any]:
        return {
            "backend": "transformers",
            "model": self._source,
            **self._version,
            "engine": f"transformers {self._hub.__version__}, torch {self._torch.__version__}",
            "dtype": self._dtype,
            "device": self._device.partition(":")[0],
        }

    def routes(self, wants: frozenset[type]) -> tuple[str, ...]:
        if wants.isdisjoint({Choice, Likelihood}):
            return ()
        return (_TREES, _PADDED) if self._on_cuda else (_PADDED,)

    def take_route(self, route: str) -> None:
        self._route = route
        if route != _TREES:
            reason = "as the replies in the store were asked"
            self._why_padded = reason if self._on_cuda else _NEED_CUDA

    async def find_route(self, question: Question) -> str | None:
        """Prefix trees, if a trial of them agrees with padded batches and is not slow."""
        try:
            await self._in_worker(self._plant)
        except self._causal.UnusableTreesError as error:
            self._route = _PADDED
            self._why_padded = str(error)
        else:
            self._route = _TREES
        return self._route

    def remarks(self) -> Sequence[str]:
        return () if self._why_padded is None else (f"{_PADDED}: {self._why_padded}",)

    @property
    def _on_cuda(self) -> bool:
        return self._device.partition(":")[0] == "cuda"

    @cached_property
    def _version(self) -> Mapping[str, str]:
        return model_version(self._source, self._asked_revision, name=self.name)

    async def start(self) -> None:
        if self._pump is not None:
            return
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="transformers")
        await self._in_worker(self._load)
        if self._route == _TREES:
            try:
                await self._in_worker(self._plant)
            except self._causal.UnusableTreesError as error:
                raise JudgeRefusedError(
                    f"{self.name}: its stored replies are by prefix trees, which cannot be used "
                    f"now ({error}); give another --store, or run on a machine that can use them"
                ) from error
        self._arrived = asyncio.Event()  # of this event loop
        self._prepared = asyncio.Semaphore(_PREPARED_AT_ONCE)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="images")
        self._pump = asyncio.create_task(self._answer_all())

    async def ask(self, question: Question) -> Reply:
        if self._pump is None:
            raise RuntimeError("ask before start: await backend.start() first")
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[Reply] = loop.create_future()
        try:
            if not question.images:
                return await self._queue(self._job(question, reply))
            async with self._prepared:
                job = await loop.run_in_executor(self._reader, self._job, question, reply)
                return await self._queue(job)
        except CannotAnswerError as error:
            return Reply(status="error", error=str(error))

    async def _queue(self, job: _Job) -> Reply:
        self._waiting.append(job)
        self._arrived.set()
        return await job.reply

    async def close(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)
            self._pump = None
        for job in self._waiting:
            job.reply.cancel()
        self._waiting = []
        for thread in (self._worker, self._reader):
            if thread is not None:
                thread.shutdown()
        self._worker = self._reader = None
        self._model = self._trees = self._tokens = self._seeing = None

    async def _in_worker(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, *arguments)

    @cached_property
    def _processor(self) -> Any:
        """What reads images for this model; None if it takes none."""
        from adjudge.judges.backends._seeing import read_processor

        revision = self._version.get("revision")
        return read_processor(self._hub, self._source, revision, name=self.name)

    @property
    def takes_images(self) -> bool:  # type: ignore[override]  # it depends on the model
        return self._processor is not None

    def _load(self) -> None:
        tokenizer, loaded = self._read()
        if self._processor is None:
            self._tokens = HubTokens(tokenizer, model=self.name)
        else:
            from adjudge.judges.backends._seeing import SeeingModel, SeeingTokens

            self._tokens = SeeingTokens(self._processor, model=self.name)
            self._seeing = SeeingModel(loaded)
        text = loaded.config.get_text_config()
        self._context = getattr(text, "max_position_embeddings", None)
        self._vocabulary = int(text.vocab_size)
        self._model = self._causal.CausalModel(loaded, pad=self._tokens.pad or 0)

    def _read(self) -> tuple[Any, Any]:
        source = self._source
        revision = self._version.get("revision")
        kind = self._hub.AutoModelForCausalLM
        if self._processor is not None:
            kind = self._hub.AutoModelForImageTextToText
        try:
            tokenizer = self._hub.AutoTokenizer.from_pretrained(source, revision=revision)
            model = kind.from_pretrained(source, revision=revision, dtype=self._dtype)
            return tokenizer, model.to(self._device)
        except (OSError, ValueError) as error:
            raise _missing(self.name, error) from error

    def _plant(self) -> None:
        """Prepare prefix trees. Raises UnusableTreesError if they cannot be used."""
        if not self._on_cuda:
            raise self._causal.UnusableTreesError(_NEED_CUDA)
        self._trees = self._causal.plant_trees(
            self._model, length=self._budget, context=self._context
        )

    def _job(self, question: Question, reply: asyncio.Future[Reply]) -> _Job:
        want = question.want
        seen = self._tokens.see(question.images) if question.images else None
        prompt = self.prompt_tokens(question)
        tail: list[int] = []
        written = 1
        if isinstance(want, Choice):
            self._tokens.options(want.options)
        elif isinstance(want, Likelihood):
            tail = self._tokens.response(want.continuation.text)
            written = 0
        else:
            written = want.max_tokens
        needed = len(prompt) + len(tail) + written
        if self._context is not None and needed > self._context:
            raise CannotAnswerError(
                f"{needed} tokens do not fit into the context of {self._context}; shorten the text"
            )
        return _Job(question, prompt, tail, reply, seen)

    def prompt_tokens(self, question: Question) -> list[int]:
        return list(self._tokens.prompt(question))

    async def _answer_all(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await asyncio.sleep(0.002)  # questions that come together should be sorted together
            jobs = self._waiting
            self._waiting = []
            batches = self._batches(jobs)
            for batch in batches:
                if self._waiting and len(batches) > 1 and batch is batches[-1]:
                    # What does not fill a row or batch waits for questions that came meanwhile.
                    self._waiting = [*batch, *self._waiting]
                    break
                replies = await self._in_worker(self._answer, batch)
                for job, reply in zip(batch, replies, strict=True):
                    if not job.reply.done():
                        job.reply.set_result(reply)

    def _batches(self, jobs: Sequence[_Job]) -> list[list[_Job]]:
        groups: dict[Any, list[_Job]] = {}
        for job in jobs:
            want = job.question.want
            alike: Any = want.options if isinstance(want, Choice) else type(want)
            if job.question.images:
                alike = id(job)
            elif isinstance(want, Text | Reasoned):
                # Sampled text depends on the generator's state, so each draw is made alone.
                alone = id(job) if want.temperature > 0 else 0
                form = getattr(want, "format", None)
                alike = (type(want), form, want.max_tokens, want.temperature, alone)
            groups.setdefault(alike, []).append(job)
        most_logits = max(1, self._logits // self._vocabulary)
        row_length = 0 if self._trees is None else min(self._budget, self._trees.lengths[-1])
        planned_batches = []
        for group in groups.values():
            fit = [job for job in group if self._fits_tree(job)]
            rest = [job for job in group if not self._fits_tree(job)]
            rows = self._causal.plan_rows(
                [job.prompt + job.tail for job in fit],
                length=row_length,
                logits=[len(job.tail) or 1 for job in fit],
                most_logits=most_logits,
            )
            planned_batches += [[fit[at] for at in row] for row in rows]
            batches = self._causal.fill_batches(
                [job.length for job in rest],
                tokens=self._budget,
                logits=[len(job.tail) + 1 for job in rest],
                most_logits=most_logits,
            )
            planned_batches += [[rest[at] for at in batch] for batch in batches]
        return planned_batches

    def _fits_tree(self, job: _Job) -> bool:
        scored = isinstance(job.question.want, Choice | Likelihood)
        fits = scored and self._trees is not None and job.length <= self._trees.longest
        return fits and not job.question.images

    def _answer(self, batch: Sequence[_Job]) -> list[Reply]:
        try:
            parts = self._run(batch)
        except self._torch.cuda.OutOfMemoryError:
            self._torch.cuda.empty_cache()
            if len(batch) == 1:
                length = batch[0].length
                return [Reply(status="error", error=f"out of memory at {length} tokens")]
            self._budget = max(1, self._budget // 2)
            half = len(batch) // 2
            return self._answer(batch[:half]) + self._answer(batch[half:])
        except Exception as error:  # one bad batch must not leave the others waiting without end
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            return [Reply(status="error", error=words) for _ in batch]
        now = time.perf_counter()
        return [
            Reply(prompt_tokens=len(job.prompt), latency_s=now - job.asked, **fields)
            for job, fields in zip(batch, parts, strict=True)
        ]

    def _run(self, batch: Sequence[_Job]) -> list[dict[str, Any]]:
        prompts = [job.prompt for job in batch]
        want = batch[0].question.want
        if batch[0].seen is not None:
            return [self._look(batch[0])]
        if isinstance(want, Text | Reasoned):
            seed = batch[0].question.repeat
            texts = self._model.write(
                prompts, max_tokens=want.max_tokens, temperature=want.temperature, seed=seed
            )
            written = [self._written(tokens, want.max_tokens) for tokens in texts]
            if isinstance(want, Text):
                return written
            return [
                self._decided(prompt, fields, want)
                for prompt, fields in zip(prompts, written, strict=True)
            ]
        model = self._trees if self._fits_tree(batch[0]) else self._model
        if isinstance(want, Choice):
            logs = model.options(prompts, self._option_ids(want.options))
            parts = [_chosen(want.options, row) for row in logs]
        else:
            logs = model.continuations(prompts, [job.tail for job in batch])
            parts = [score_reply(job.tail, row) for job, row in zip(batch, logs, strict=True)]
        bad = {"status": "error", "error": "the model's logits are not numbers"}
        return [
            fields if all(map(math.isfinite, row)) else bad
            for fields, row in zip(parts, logs, strict=True)
        ]

    def _look(self, job: _Job) -> dict[str, Any]:
        """The reply to one question with images."""
        want = job.question.want
        if isinstance(want, Choice):
            logs = self._seeing.options(job.prompt, job.seen, self._option_ids(want.options))
            return _chosen(want.options, logs)
        if isinstance(want, Likelihood):
            return {"status": "error", "error": "likelihoods are of texts, not of images"}
        how = {"max_new_tokens": want.max_tokens, "pad_token_id": self._tokens.pad or 0}
        how |= self._causal.how_drawn(want.temperature)
        written = self._seeing.write(job.prompt, job.seen, seed=job.question.repeat, **how)
        reply = self._written(written, want.max_tokens)
        if isinstance(want, Text):
            return reply
        place = locate_option(reply["text"], want.options, want.format)
        if place is None:
            return reply
        before = [*job.prompt, *self._tokens.data(reply["text"][: place.start])]
        logs = self._seeing.options(before, job.seen, self._option_ids(want.options))
        return _with_options(reply, want.options, logs)

    def _option_ids(self, options: tuple[str, ...]) -> list[int]:
        """The one token of each option, then all tokens that spell any of them."""
        spelled = self._tokens.spellings(options)
        return [*self._tokens.options(options), *(t for ids in spelled.values() for t in ids)]

    def _decided(self, prompt: list[int], reply: dict[str, Any], want: Reasoned) -> dict[str, Any]:
        """The written reply, with the options' log probabilities at its verdict."""
        place = locate_option(reply["text"], want.options, want.format)
        if place is None:
            return reply
        before = self._tokens.data(reply["text"][: place.start])
        (logs,) = self._model.options([prompt + before], self._option_ids(want.options))
        return _with_options(reply, want.options, logs)

    def _written(self, tokens: list[int], most: int) -> dict[str, Any]:
        text = self._tokens.text(tokens)
        count = len(tokens)
        while count and tokens[count - 1] == self._tokens.pad:
            count -= 1
        return {
            "status": "ok",
            "text": text,
            "raw": text,
            "completion_tokens": count,
            "cut_off": count == most and tokens[-1] not in self._tokens.ends,
        }


def _chosen(options: tuple[str, ...], logs: list[float]) -> dict[str, Any]:
    """A reply from the log probabilities of each option's token, then of all their spellings."""
    named = dict(zip(options, logs, strict=False))
    mass = math.fsum(map(math.exp, logs[len(options) :]))
    return {
        "status": "ok",
        "logprobs": named,
        "answer_mass": min(mass, 1.0),
        "exact_mass": True,
        "raw": json.dumps(named),
        "completion_tokens": 1,
    }


def _with_options(
    reply: dict[str, Any], options: tuple[str, ...], logs: list[float]
) -> dict[str, Any]:
    chosen = _chosen(options, logs)
    fields = ("logprobs", "answer_mass", "exact_mass")
    return {**reply, **{name: chosen[name] for name in fields}}


def model_version(source: str, revision: str | None, *, name: str) -> Mapping[str, str]:
    """The commit of a model on the hub, or the SHA-256 of a folder's files."""
    folder = Path(source)
    if folder.is_dir():
        digest = hashlib.sha256()
        for path in sorted({file for kind in _WEIGHTS for file in folder.glob(kind)}):
            digest.update(path.name.encode() + b"\0")
            with path.open("rb") as handle:
                hashlib.file_digest(handle, lambda: digest)
        return {"weights_sha256": digest.hexdigest()}
    from transformers.utils.hub import cached_file, extract_commit_hash

    try:
        config = cached_file(source, "config.json", revision=revision)
    except OSError as error:
        raise _missing(name, error) from error
    commit = extract_commit_hash(config, None)
    if commit is None:
        raise BackendMissingError(f"{name}: the hub gives no commit; give a local folder")
    return {"revision": commit}


def _missing(name: str, error: Exception) -> BackendMissingError:
    why = textwrap.shorten(str(error), 160, placeholder=" ...")
    return BackendMissingError(
        f"{name}: cannot be loaded ({why}); check the name, the network, or give a folder"
    )


def _libraries() -> tuple[Any, Any, Any]:
    try:
        import torch
        import transformers

        from adjudge.judges.backends import _causal
    except ImportError as error:
        raise BackendMissingError(
            f"torch and transformers are not installed; {how_to_install('transformers')}"
        ) from error
    return torch, transformers, _causal
