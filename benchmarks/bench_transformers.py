"""Pairs per second of the transformers backend: prefix trees, padded batches, plain `generate`.

    python benchmarks/bench_transformers.py [--shape small|7b] [--minutes 6]

All read the same prompts with the same weights in one run (random: only their shape matters for
speed). `generate` is what a user would write: one prompt, one new token, its scores. It is measured
twice on the same prompts: on CUDA torch prepares its attention for every new length (about 70 ms),
and the second time all lengths are known. A third time it writes two tokens, the letter and the end
of the turn, as for a user who reads the reply as text.

Prompts are as long, and share as much, as those of the preference protocol: an instruction, a
question, two answers. On CUDA the matrix-multiplication ceiling is measured too: the flops of the
prompts' tokens without their padding, each alone and as one prefix tree, at the speed of large
products.

`--shape 7b` needs a CUDA machine. `small` runs on any machine, on one core, in CPU seconds, which
do not grow on a busy machine, without prefix trees. Needs torch, transformers and numpy. A part
that fails prints its error, and the others continue; no part starts after `--minutes`.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import transformers

from adjudge.judges.backends._causal import TreeModel, make_tree, plan_rows
from adjudge.judges.backends.transformers import TransformersBackend
from adjudge.judges.interface import Question
from random_judge import (
    LARGE,
    SMALL,
    Sizes,
    make_comparisons,
    make_grades,
    make_likelihoods,
    make_model,
    make_tokenizer,
)

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
CLOCK = time.perf_counter if CUDA else time.process_time
IN_FLIGHT = 512  # as in the runner
ORDERS, SEVEN = "pairs in both orders", "all pairs of 7 answers"
LIKELIHOODS = "likelihoods of 7 answers"
AGAIN, AS_TEXT = "generate, lengths known", "generate, two tokens"
FLOAT32 = "the same weights in float32"
#: Trees as a multiple of padded batches and of `generate`.
GOALS = {ORDERS: (1.4, 5.0), SEVEN: (2.5, 10.0)}


class ReadyBackend(TransformersBackend):
    """The backend with a model that is already in memory."""

    def __init__(self, tokenizer: Any, model: Any, **options: Any) -> None:
        super().__init__("random", device=DEVICE, **options)
        self.parts = tokenizer, model
        self.__dict__["_processor"] = None  # a model of text: nothing is looked up in the hub

    def _read(self) -> tuple[Any, Any]:
        return self.parts


@dataclass
class Bench:
    """Shared state of the parts, and their measurements: pairs per second and log odds by path."""

    shape: str
    sizes: Sizes
    ends: float
    began: float = field(default_factory=time.perf_counter)
    rates: dict[tuple[str, str], float] = field(default_factory=dict)
    odds: dict[tuple[str, str], np.ndarray] = field(default_factory=dict)
    backends: dict[str, ReadyBackend] = field(default_factory=dict)
    tokenizer: Any = None
    model: Any = None

    async def part(self, name: str, work: Callable[..., Any], *given: Any, **more: Any) -> None:
        """Run one part; an error is printed and does not end the others."""
        now = time.perf_counter() - self.began
        if now > self.ends:
            print(f"[{now:5.0f} s] {name}: left out, the time is over", flush=True)
            return
        print(f"[{now:5.0f} s] {name}", flush=True)
        if CUDA:
            torch.cuda.reset_peak_memory_stats()
        try:
            done = work(*given, **more)
            if inspect.isawaitable(done):
                await done
        except Exception as error:
            print(f"    FAILED {type(error).__name__}: {str(error)[:600]}", flush=True)
        if CUDA:
            print(
                f"    peak memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True
            )


async def ask_all(backend: TransformersBackend, questions: Sequence[Question]) -> list[Any]:
    """The replies, asked like the runner: a fixed number in flight."""
    replies: list[Any] = [None] * len(questions)
    numbers = iter(range(len(questions)))

    async def work() -> None:
        for at in numbers:
            replies[at] = await backend.ask(questions[at])

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    bad = next((reply.error for reply in replies if reply.status != "ok"), None)
    if bad is not None:
        raise RuntimeError(bad)
    return replies


def number_of(reply: Any) -> float:
    """The log odds of the first option, or the mean log probability."""
    if reply.mean_logprob is not None:
        return float(reply.mean_logprob)
    first, second = reply.logprobs.values()
    return float(first - second)


async def measure(
    bench: Bench, work: str, path: str, questions: list[Question], *, calls: int
) -> None:
    """The rate of one path over one workload; `calls` make one unit of it."""
    backend = bench.backends[path]
    await ask_all(backend, questions[:: max(1, len(questions) // 64)])
    began = CLOCK()
    replies = await ask_all(backend, questions)
    rate = len(questions) / calls / (CLOCK() - began)
    bench.rates[work, path] = rate
    bench.odds[work, path] = np.array([number_of(reply) for reply in replies])
    lengths = [reply.prompt_tokens for reply in replies]
    print(f"    {work}, {path}: {rate:.2f} a second ({len(questions)} calls, ", end="")
    print(f"{np.mean(lengths):.0f} tokens a prompt)", flush=True)


def measure_generate(
    bench: Bench, work: str, questions: list[Question], path: str = "generate"
) -> None:
    """Each prompt alone: the scores of the first generated token."""
    written = 2 if path == AS_TEXT else 1
    backend = bench.backends["padded"]
    letters = backend._tokens.options(("A", "B"))
    prompts = [backend.prompt_tokens(question) for question in questions]
    odds = []
    for number, prompt in enumerate([prompts[0], *prompts]):
        if number == 1:
            began = CLOCK()
        tokens = torch.tensor([prompt], device=bench.model.device)
        out = bench.model.generate(
            input_ids=tokens,
            attention_mask=torch.ones_like(tokens),
            min_new_tokens=written,
            max_new_tokens=written,
            do_sample=False,
            output_scores=True,
            return_dict_in_generate=True,
            pad_token_id=256,
        )
        a, b = (float(out.scores[0][0, letter]) for letter in letters)
        odds.append(a - b)
    rate = len(prompts) / 2 / (CLOCK() - began)
    bench.rates[work, path] = rate
    bench.odds[work, path] = np.array(odds[1:])
    print(f"    {work}, {path}: {rate:.2f} a second ({len(prompts)} calls)", flush=True)


def print_packing(bench: Bench, work: str, questions: list[Question]) -> None:
    """The number of tokens asked, the number as trees, and how full the rows are."""
    prompts = [bench.backends["padded"].prompt_tokens(question) for question in questions]
    trees = bench.backends.get("trees")
    length = bench.backends["padded"]._budget if trees is None else trees._trees.lengths[-1]
    began = time.perf_counter()
    rows = plan_rows(prompts, length=length, logits=[1] * len(prompts), most_logits=1 << 20)
    sizes = [make_tree([prompts[at] for at in row]).tokens.size for row in rows]
    spent = time.perf_counter() - began
    asked = sum(map(len, prompts))
    print(
        f"    {work}: {asked} tokens asked, {sum(sizes)} as trees ({asked / sum(sizes):.2f} times "
        f"fewer), {len(rows)} rows of {length}, {sum(sizes) / len(rows) / length:.0%} full; "
        f"planned in {1e3 * spent / len(rows):.1f} ms a row",
        flush=True,
    )


def print_agreement(bench: Bench) -> None:
    """The largest differences between paths, as P(A) (of likelihoods: mean log probability)."""
    paths = (FLOAT32, "generate", "padded", "padded again", "trees")
    for work in dict.fromkeys(work for work, _ in bench.odds):
        have = [path for path in paths if (work, path) in bench.odds]
        for at, one in enumerate(have):
            for other in have[at + 1 :]:
                left, right = bench.odds[work, one], bench.odds[work, other]
                size = min(len(left), len(right))
                if work != LIKELIHOODS:
                    left, right = (1 / (1 + np.exp(-odds)) for odds in (left, right))
                apart = np.abs(left[:size] - right[:size])
                print(f"    {work}: {one} and {other} differ by {apart.max():.1e} at most,", end="")
                print(f" {apart.mean():.1e} on average ({size} calls)", flush=True)


def print_table(bench: Bench) -> None:
    """Rates and ratios."""
    paths = ("trees", "padded", "generate", AGAIN, AS_TEXT)
    print(
        f"{'a second':24} {'trees':>8} {'padded':>8} {'generate':>8} {'known':>8} {'text':>8} "
        f"{'x padded':>9} {'x gen.':>7} {'x known':>8} {'x text':>7}"
    )
    for work in dict.fromkeys(work for work, _ in bench.rates):
        trees, *others = rates = [bench.rates.get((work, path), np.nan) for path in paths]
        shown = " ".join(f"{rate:8.2f}" for rate in rates)
        padded, alone, known, text = (trees / other for other in others)
        goal = GOALS.get(work)
        words = "" if goal is None else f"   goals {goal[0]:g} and {goal[1]:g}"
        print(f"{work:24} {shown} {padded:9.2f} {alone:7.1f} {known:8.1f} {text:7.1f}{words}")


def matmul_speed(products: int) -> float:
    """Flops a second of large bfloat16 products, one after the other."""
    n = 8192
    x = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
    for _ in range(3):
        x @ x
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(products):
        x @ x
    torch.cuda.synchronize()
    return products * 2 * n**3 / (time.perf_counter() - began)


def print_ceiling(bench: Bench, work: str, questions: list[Question]) -> None:
    """Pairs per second if only the layers' matrix products took time, without and with sharing."""
    prompts = [bench.backends["padded"].prompt_tokens(question) for question in questions]
    weights = sum(p.numel() for p in bench.model.model.layers.parameters())
    short, speed = matmul_speed(10), matmul_speed(1500)
    alone, known = (bench.rates.get((work, path), np.nan) for path in ("generate", AGAIN))
    print(
        f"    {work}: matmul {short / 1e12:.0f} TFLOP/s for 14 ms, {speed / 1e12:.0f} for 2 s "
        "(the device lowers its clock), so at most"
    )
    for path, tokens in (
        ("without sharing", sum(map(len, prompts))),
        ("as trees", make_tree(prompts).tokens.size),
    ):
        most = len(prompts) / 2 / (2 * weights * tokens / speed)
        print(f"      {path}: {most:.1f} pairs a second, {most / alone:.1f}x generate, ", end="")
        print(f"{most / known:.1f}x once lengths are known", flush=True)


def first_row(bench: Bench, questions: list[Question]) -> tuple[list[list[int]], list[list[int]]]:
    """The prompts of the first full row, and all prompts."""
    backend = bench.backends["trees"]
    prompts = [backend.prompt_tokens(question) for question in questions]
    length, kept = backend._trees.lengths[-1], [1] * len(prompts)
    row, *_ = plan_rows(prompts, length=length, logits=kept, most_logits=1 << 20)
    return [prompts[at] for at in row], prompts


def profile(bench: Bench, questions: list[Question]) -> None:
    """How the time of one row and of one padded batch is spent."""
    trees, padded = bench.backends["trees"]._trees, bench.backends["padded"]._model
    row, prompts = first_row(bench, questions)
    for path, model, rows in (
        ("trees", trees, row),
        ("padded", padded, sorted(prompts, key=len)[:11]),
    ):
        spent = seconds_of(lambda model=model, rows=rows: model.options(rows, [65, 66]))
        print(f"    {path}: {1e3 * spent:.1f} ms for {len(rows)} prompts")
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
            model.options(rows, [65, 66])
            torch.cuda.synchronize()
        kernels = sorted(seen.key_averages(), key=lambda one: -one.self_device_time_total)
        total = sum(one.self_device_time_total for one in kernels)
        print(f"    {path}: {total / 1e3:.1f} ms on the device, of which")
        for one in kernels[:12]:
            print(
                f"      {one.self_device_time_total / 1e3:8.2f} ms {one.count:5d} x {one.key[:70]}"
            )


def seconds_of(work: Callable[[], Any], repeats: int = 3) -> float:
    """The mean time of work that ends with numbers on the host, after one warm-up."""
    work()
    began = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - began) / repeats


async def start(bench: Bench, path: str, **options: Any) -> None:
    """Start a backend; that of trees compiles them and compares them with padded batches."""
    backend = ReadyBackend(bench.tokenizer, bench.model, **options)
    began = time.perf_counter()
    await backend.start()
    if path == "trees":
        route = await backend.find_route(make_grades(bench.sizes, documents=1, answers=1)[0])
        spent = time.perf_counter() - began
        print(f"    route: {route}, after {spent:.1f} s; {' '.join(backend.remarks())}", flush=True)
        if backend._trees is None and not CUDA:
            return
        if backend._trees is None:
            print("    measured nevertheless")
            backend._trees = TreeModel(backend._model, lengths=(2048, 8192))
    bench.backends[path] = backend


async def run_all(bench: Bench, dtype: torch.dtype, scale: int, row: int | None) -> None:
    """Both workloads by all paths, then grades and likelihoods, then a profile."""
    sizes, part = bench.sizes, bench.part
    orders = make_comparisons(sizes, documents=32 * scale, answers=2)
    seven = make_comparisons(sizes, documents=scale, answers=7)
    grades = make_grades(sizes, documents=8 * scale, answers=7)
    likelihoods = make_likelihoods(sizes, documents=8 * scale, answers=7)

    def load() -> None:
        bench.tokenizer, bench.model = make_tokenizer(), make_model(bench.shape, dtype, DEVICE)

    await part(f"model of shape {bench.shape}, {dtype}", load)
    await part("padded batches start", start, bench, "padded")
    await part("prefix trees start: compile, compare", start, bench, "trees", token_budget=row)
    paths = [path for path in ("trees", "padded") if path in bench.backends]
    for work, questions in ((ORDERS, orders), (SEVEN, seven)):
        await part(work, print_packing, bench, work, questions)
        for path in paths:
            await part(work, measure, bench, work, path, questions, calls=2)
        for path in ("generate", AGAIN, AS_TEXT):
            few = questions[: 24 * min(scale, 8)]
            await part(work, measure_generate, bench, work, few, path)
    # The same path with other batches: the effect of batching on the numbers.
    await part("smaller batches", start, bench, "padded again", token_budget=3072)
    for work, questions in ((ORDERS, orders[: 32 * scale]), (SEVEN, seven[:84])):
        await part(work, measure, bench, work, "padded again", questions, calls=2)
    for work, questions in (("grades of 7 answers", grades), (LIKELIHOODS, likelihoods)):
        for path in paths:
            await part(work, measure, bench, work, path, questions, calls=1)
    print_table(bench)
    if CUDA:
        for work, questions in ((ORDERS, orders), (SEVEN, seven)):
            await part("ceiling", print_ceiling, bench, work, questions)
        await part("profile", profile, bench, seven)
        # The effect of bfloat16 on the numbers: last, because the model stays in float32.
        await part("weights to float32", bench.model.float)
        for work, questions in ((ORDERS, orders), (SEVEN, seven)):
            await part(work, measure_generate, bench, work, questions[: 8 * scale], FLOAT32)
    await part("agreement", print_agreement, bench)
    for backend in bench.backends.values():
        await backend.close()


async def run_float32(bench: Bench) -> None:
    """A smaller model in float32, where all paths must agree to 1e-4."""
    work = "float32, all pairs of 4 answers"
    questions = make_comparisons(bench.sizes, documents=3, answers=4)

    def load() -> None:
        bench.tokenizer, bench.model = (
            make_tokenizer(),
            make_model(bench.shape, torch.float32, DEVICE),
        )

    await bench.part(f"model of shape {bench.shape}, float32", load)
    for path in ("padded", "trees"):
        await bench.part(f"{path} start", start, bench, path)
        await bench.part(work, measure, bench, work, path, questions, calls=2)
    await bench.part(work, measure_generate, bench, work, questions)
    await bench.part("agreement in float32", print_agreement, bench)
    for backend in bench.backends.values():
        await backend.close()


async def main(shape: str, minutes: float, scale: int, row: int | None) -> None:
    if shape == "7b" and not CUDA:
        raise SystemExit("--shape 7b needs a CUDA machine")
    torch.set_num_threads(4 if CUDA else 1)
    where = torch.cuda.get_device_name() if CUDA else "one core"
    print(f"{shape} on {where}; torch {torch.__version__}, transformers {transformers.__version__}")
    bench = Bench(shape, LARGE if CUDA else SMALL, 60 * minutes)
    await run_all(bench, torch.bfloat16 if CUDA else torch.float32, scale, row)
    if CUDA:
        await run_float32(Bench("1b", LARGE, bench.ends, bench.began))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=("small", "7b"), default="small")
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument(
        "--scale", type=int, default=12 if CUDA else 1, help="size of the workloads"
    )
    parser.add_argument("--row", type=int, help="tokens of a row of trees")
    given = parser.parse_args()
    asyncio.run(main(given.shape, given.minutes, given.scale, given.row))
