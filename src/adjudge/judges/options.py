"""The options of a run, checked when made, and what follows from them: judge, price, input."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import update_wrapper
from pathlib import Path
from typing import Any, Self

from adjudge.atomic import check_writable
from adjudge.data.turns import Units
from adjudge.data.writing import check_output
from adjudge.errors import ArgumentError
from adjudge.judges.criteria import parse_scale, read_criteria
from adjudge.judges.flow import ProgressCallback, ProgressLine, Stop
from adjudge.judges.interface import Backend, Judge, JudgeProtocol, Prompt
from adjudge.judges.judge import BACKENDS, PROTOCOLS, make_judge, parse_judge, parse_protocol
from adjudge.judges.prices import Price, price_for, read_prices
from adjudge.judges.prompting import read_prompt
from adjudge.judges.redact import check_secrets
from adjudge.judges.rows import StopRule
from adjudge.judges.subjects import Subjects, SubjectSource
from adjudge.records import STATUSES, Reply, Status
from adjudge.store import check_not_store
from adjudge.store.interface import DEFAULT_STORE, StorePlace
from adjudge.validation import count, one_of, positive

_OF_BACKENDS = ("base_url", "api_key_env", "extra_body", "timeout", "concurrency", "max_reply")
_OF_PROTOCOLS = (
    *("reason", "samples", "max_tokens", "min_answer_mass", "seed", "prompt", "criteria"),
    *("scale", "demonstrations", "order"),
)
#: Where calls are made: in this process, or in Ray workers.
ENGINES = ("local", "ray")
BATCH_STORE = "a batch continues after this process; give a store file"
#: One judge, as it is written on the command line or as an object.
OneJudge = str | Backend


def check_engine(engine: str, workers: int | None, ray_address: str | None) -> None:
    """Refuse an unknown engine, and workers with an engine that has none."""
    one_of(engine, ENGINES, "engine")
    if workers is not None:
        count(workers, "workers", least=1)
    for name, value in (("workers", workers), ("ray_address", ray_address)):
        if value is not None and engine == "local":
            raise ArgumentError(name, value, "it needs engine ray: add it")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions:
    """What `judge_pairs`, `judge_pairs_async`, `plan_judging` and `adjudge judge` take.

    This is the only list of them.

    Args:
        judge: openai:MODEL, anthropic:MODEL, azure:DEPLOYMENT, gemini:MODEL, mistral:MODEL,
            groq:MODEL, together:MODEL, deepseek:MODEL, openrouter:MODEL[?provider=NAME],
            vllm:MODEL, sglang:MODEL, ollama:MODEL, llamacpp:smollm2,
            llamacpp:FILE.gguf[?context=N], transformers:MODEL, replay:FILE,
            simulated:accuracy=0.8,position_bias=0.1,noise=0.5,seed=1 ...; several are asked one
            after the other. Each can be a `Backend` object instead. At least one is needed.
        protocol: How to ask: preference, likelihood, verbalized, annotators, rubric, criterion;
            grade (pass or fail) and likert (scores) for single responses. It can be an object.
        store: Store of all replies: a file or postgresql://... Stored replies are not asked again.
            It can be an open store; None is a temporary store.
        output: Write the rows here: .jsonl, .csv, .tsv, .parquet, or with .gz. They are written by
            atomic rename. Without it the rows are in `JudgingRun.judgments`.
        limit: Judge only the first N pairs.
        format: Name of a public format, if it cannot be detected from content.
        columns: Columns with other names, ours to yours, e.g. {"response_a": "left"}. Usual names
            need no entry.
        labels_as: Meaning of words in label and verdict columns, e.g. {"0": "A", "1": "B"}.
        unit: What one verdict is about: conversation (the whole response), turn (each message of
            the assistant, with what came before), run (of an agent, shortened) or step (a message
            and what its tools returned). Turns and steps have the id ID#NUMBER.
        step_limit: The longest message of a run that the judge sees, in characters. Its middle is
            cut, and counted in the column cut_characters. Default: 4000.
        run_limit: The longest run that the judge sees, in characters. Messages in its middle are
            left out. Default: 60000.
        reason: Let the judge write reasons before its verdict (preference, criterion, grade). Its
            probability is read at the verdict.
        samples: Answers to draw per order, for judges without logprobs.
        repeats: Ask every question this many times; the column repeat numbers them.
        first_repeat: Number of the first repeat. Another number asks everything again, with stored
            replies too. The default is 0.
        order: both, or one order: ab (response_a first), ba, random. "random" draws one order for
            each pair. Default: both; verbalized: random.
        max_tokens: Maximum tokens of a written answer; raise it if the judge reasons.
        min_answer_mass: Minimum probability of the answer letters; below it a row is off_answer.
            Such a row has no number. Default: 0.1.
        prompt: Your own prompt file.
        criteria: Your own criteria (JSON) or rubric (text): for grade, likert, rubric, criterion.
        scale: Scale of likert's scores, such as 1-10. Default: 1-5. From 10 on it needs samples.
        demonstrations: Labelled rows to show before every question (preference, grade,
            annotators); not from your test set.
        fetch_images: Fetch images that rows name by URL, once each, before the first call. Requests
            go to the addresses in the file.
        seed: Seed for what a protocol draws: orders, personas. It also decides on which side the
            chosen response of a public data set is shown.
        base_url: Any OpenAI-compatible server, e.g. http://localhost:8000/v1
        api_key_env: Environment variable with the key. Default: the backend's.
        extra_body: JSON added to every request, such as
            {"chat_template_kwargs": {"enable_thinking": false}}
        timeout: Seconds to wait for one answer from a server.
        max_reply: Largest answer that is read, in bytes after unpacking; a larger answer makes its
            row an error. Default: 1 MiB plus 2 KiB for every token asked for.
        concurrency: Maximum calls in flight. Default: the judge's.
        rpm: Maximum requests per minute, retries included.
        max_cost: Stop before spending more than this many dollars. Complete rows are written; the
            others are counted as not asked.
        prices: Your prices (JSON or CSV), in dollars per million tokens. A mapping of names to
            `Price` works too.
        retry: Ask rows of this status again. Errors are always asked again.
        keep_going: Continue even if the first ten replies have no usable score.
        keep_raw: Keep the server's raw answers in the store. False also leaves out what the judge
            wrote, unless rows are read from it. Statuses and numbers are kept, and a run resumes
            normally.
        stop_rule: With several judges, cheap to strong, which subjects the next judge is asked
            about. The rule gets subjects with their rows so far and returns "settled", "doubt" or
            "failure" for each (`judge_cascade` makes one from a policy).
        engine: Where calls are made: local (this process) or ray (workers on this machine or a
            cluster, which share the store). Ray places workers on CPUs or GPUs. `concurrency` is
            then per worker; `rpm` and `max_cost` are for all workers together.
        workers: Number of Ray workers. Default: one per GPU that the judge can use, or else per
            CPU.
        ray_address: HOST:PORT of a Ray cluster's head. Default: RAY_ADDRESS, or else a Ray on this
            machine that ends with the run.
        batch: Use the batch API of OpenAI or Anthropic: half the price, answers within a day. The
            same call continues with running batches.
        batch_folder: Folder for the list of running batches. Default: in your data folder.
        poll_s: Seconds between two checks of a batch.
        progress: Show one line that is updated in place, in a notebook or on a terminal. A function
            is called with a `Progress` several times a second.
        announce: Function that gets the number of calls as text before the first call, and a line
            when Ray is started.
        stop: Lets another thread stop the run.
        handle_signals: Let SIGINT and SIGTERM stop the run; calls in flight are finished.
    """

    judge: OneJudge | Sequence[OneJudge] = ()
    protocol: str | JudgeProtocol = "preference"
    store: StorePlace = field(default=DEFAULT_STORE, repr=False)  # a URL can contain a password
    output: str | Path | None = None
    limit: int | None = None
    format: str | None = None
    columns: Mapping[str, str] | None = None
    labels_as: Mapping[str, str] | None = None
    unit: str = "conversation"
    step_limit: int | None = None
    run_limit: int | None = None
    reason: bool | None = None
    samples: int | None = None
    repeats: int = 1
    first_repeat: int = 0
    order: str | None = None
    max_tokens: int | None = None
    min_answer_mass: float | None = None
    prompt: str | Path | Prompt | None = None
    criteria: str | Path | None = None
    scale: str | None = None
    demonstrations: SubjectSource | None = None
    fetch_images: bool = False
    seed: int | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    extra_body: Mapping[str, Any] | None = None
    timeout: float | None = None
    max_reply: int | None = None
    concurrency: int | None = None
    rpm: float | None = None
    max_cost: float | None = None
    prices: str | Path | Mapping[str, Price] | None = None
    retry: Collection[Status] = ()
    keep_going: bool = False
    keep_raw: bool = True
    stop_rule: StopRule | None = None
    engine: str = "local"
    workers: int | None = None
    ray_address: str | None = None
    batch: bool = False
    batch_folder: str | Path | None = None
    poll_s: float = 30.0
    progress: ProgressCallback | bool | None = None
    announce: Callable[[str], None] | None = None
    stop: Stop = field(default_factory=Stop)
    handle_signals: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.progress, bool):
            object.__setattr__(self, "progress", ProgressLine() if self.progress else None)
        check_secrets(api_key_env=self.api_key_env, extra_body=self.extra_body)
        if self.output is not None:
            check_writable(check_output(self.output))
            check_not_store(self.store, self.output)
        for name, least in (("limit", 1), ("concurrency", 1), ("seed", 0), ("max_reply", 1024)):
            if getattr(self, name) is not None:
                count(getattr(self, name), name, least=least)
        count(self.repeats, "repeats", least=1)
        count(self.first_repeat, "first_repeat", least=0)
        for name in ("rpm", "max_cost", "poll_s"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name)
        for status in self.retry:
            one_of(status, STATUSES, "retry")
        if self.batch and self.store is None:
            raise ArgumentError("store", None, BATCH_STORE)
        if self.batch and self.rpm is not None:
            raise ArgumentError("rpm", self.rpm, "a batch has no request rate; leave it out")
        self.make_units()
        check_engine(self.engine, self.workers, self.ray_address)
        if self.engine != "local" and self.batch:
            raise ArgumentError("engine", self.engine, "a batch needs no workers; leave it out")
        if self.batch_folder is not None and not self.batch:
            raise ArgumentError("batch_folder", self.batch_folder, "it needs batch: add it")

    @property
    def statuses_to_ask_again(self) -> frozenset[Status]:
        """Errors always, other statuses if requested."""
        return frozenset({"error", *self.retry})

    def asks_again(self, judge: Judge, reply: Reply) -> bool:
        """Whether a stored reply is asked again, by its stored or its read status."""
        worth = judge.protocol.status_of(reply)[0] if self.retry else reply.status
        return bool({reply.status, worth} & self.statuses_to_ask_again)

    @property
    def named_judges(self) -> Sequence[OneJudge]:
        """The judges as given."""
        return [self.judge] if isinstance(self.judge, (str, Backend)) else self.judge

    def for_worker(
        self, judge: OneJudge, protocol: JudgeProtocol, *, workers: int, spent: float = 0.0
    ) -> Self:
        """The options that one of several workers needs to ask one judge.

        Everything read from files is in the protocol. Requests per minute are divided, and so is
        the money that is not `spent` yet.
        """
        mine: dict[str, Any] = dict.fromkeys(
            (
                *_OF_PROTOCOLS,
                *("output", "limit", "format", "columns", "labels_as", "prices", "stop_rule"),
                *("workers", "ray_address", "progress", "announce"),
            )
        )
        mine |= {"unit": "conversation", "step_limit": None, "run_limit": None}  # done already
        mine |= {"judge": judge, "protocol": protocol, "engine": "local", "stop": Stop()}
        rpm = None if self.rpm is None else self.rpm / workers
        most = None if self.max_cost is None else max((self.max_cost - spent) / workers, 1e-12)
        return replace(self, **mine, rpm=rpm, max_cost=most, handle_signals=False)

    def make_judge(self) -> Judge:
        """The judge of backend and protocol, if the backend can answer the protocol's questions."""
        first, *others = self.make_judges()
        if others:
            names = ", ".join(judge.backend.name for judge in (first, *others))
            raise ArgumentError("judge", names, "give one judge at a time here")
        return first

    def make_judges(self) -> tuple[Judge, ...]:
        """All judges that were named, asked by one protocol."""
        named = self.named_judges
        if not isinstance(named, Sequence) or not named:
            remedy = "write openai:MODEL or the like, or give a Backend object, or a list of them"
            raise ArgumentError("judge", self.judge, remedy)
        protocol = self._make_protocol()
        judges: dict[str, Judge] = {}
        for named_judge in named:
            judge = make_judge(
                self._make_backend(named_judge),
                protocol,
                repeats=self.repeats,
                first_repeat=self.first_repeat,
            )
            if judge.fingerprint in judges:
                remedy = "name each judge once; to ask a judge several times, give repeats"
                raise ArgumentError("judge", judge.backend.name, remedy)
            judges[judge.fingerprint] = judge
        return tuple(judges.values())

    def price_of(self, judge: Judge, *, for_run: bool = False) -> Price | None:
        """The judge's price if it is known; a run whose cost is limited needs one."""
        prices = read_prices(self.prices) if isinstance(self.prices, (str, Path)) else self.prices
        backend = judge.backend
        base_url = judge.fingerprint_parts.get("base_url")
        if self.batch and not backend.batches:
            raise ArgumentError("batch", backend.name, "this judge has no batches; leave it out")
        price = price_for(backend.name, prices, base_url=base_url, free=backend.free)
        if price is None and for_run and self.max_cost is not None:
            remedy = f"no price for {backend.name}; give --prices"
            raise ArgumentError("max_cost", self.max_cost, remedy)
        if price is None or not self.batch:
            return price
        if not backend.batch_caches:
            price = replace(price, cached=None, cache_write=None)
        return price.times(backend.batch_price, "in a batch")

    def subjects(self, source: SubjectSource, judge: Judge) -> Subjects:
        """The pairs to be judged, or the items for a protocol about single responses."""
        options = self._options_set(("limit", "format", "columns", "labels_as", "seed"))
        options["fetch_images"] = self.fetch_images
        return Subjects(source, protocol=judge.protocol, units=self.make_units(), **options)

    def make_units(self) -> Units:
        """What one verdict is about, and how much of a run the judge sees."""
        return Units.for_judge(self.unit, self.step_limit, self.run_limit)

    def _make_backend(self, judge: OneJudge) -> Backend:
        options = self._options_set(_OF_BACKENDS)
        if isinstance(judge, str):
            # The runner limits how many calls are in flight; only a backend that pools connections
            # needs the number.
            name = judge.partition(":")[0]
            if name in BACKENDS and "concurrency" not in BACKENDS.load(name).options:
                options.pop("concurrency", None)
            return parse_judge(judge, **options)
        if not isinstance(judge, Backend):
            raise ArgumentError(
                "judge", judge, "write openai:MODEL or the like, or give a Backend object"
            )
        if "concurrency" not in judge.options:
            options.pop("concurrency", None)
        self._refuse(options, judge.name)
        return judge

    def _make_protocol(self) -> JudgeProtocol:
        options = self._options_set(_OF_PROTOCOLS)
        draws: Container[str] = ()
        if isinstance(self.protocol, JudgeProtocol):
            draws = self.protocol.settings()
        elif isinstance(self.protocol, str):
            draws = PROTOCOLS.load(self.protocol).options
        if "seed" not in draws:
            options.pop("seed", None)  # it still decides the side of a data set's chosen response
        if isinstance(self.protocol, JudgeProtocol):
            self._refuse(options, self.protocol.name)
            return self.protocol
        if not isinstance(self.protocol, str):
            raise ArgumentError(
                "protocol", self.protocol, "write preference or the like, or give an object of it"
            )
        if self.prompt is not None and not isinstance(self.prompt, Prompt):
            options["prompt"] = read_prompt(self.prompt)
        if self.criteria is not None:
            options["criteria"] = read_criteria(self.criteria)
        if self.scale is not None:
            options["scale"] = parse_scale(self.scale)
        if self.demonstrations is not None:
            kind = PROTOCOLS.load(self.protocol).subjects
            options["demonstrations"] = list(Subjects(self.demonstrations, kind=kind).read())
        return parse_protocol(self.protocol, **options)

    def _options_set(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _refuse(self, options: Mapping[str, Any], owner: str) -> None:
        for name, value in options.items():
            raise ArgumentError(name, value, f"set it on the {owner} object itself")


def spread_options(function: Callable[..., Any], make_options: Callable[..., Any]) -> Any:
    """`function` with the fields of its last argument, `options`, as keyword arguments."""

    def call(*args: Any, **keywords: Any) -> Any:
        bound = signature.bind(*args, **keywords).arguments
        leading = [bound.pop(parameter.name) for parameter in parameters]
        return function(*leading, make_options(**bound))

    declared = inspect.signature(function)
    *parameters, _ = declared.parameters.values()
    fields = inspect.signature(make_options).parameters.values()
    signature = declared.replace(parameters=[*parameters, *fields])
    update_wrapper(call, function).__signature__ = signature  # type: ignore[attr-defined]
    return call
