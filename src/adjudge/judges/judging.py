"""`adjudge judge` as Python calls: sync, async, and a plan without any call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from adjudge.judges.flow import Stop
from adjudge.judges.interface import Backend, JudgeProtocol
from adjudge.judges.options import JudgingOptions, OneJudge
from adjudge.judges.planning import make_plan
from adjudge.judges.prices import Price
from adjudge.judges.progress import ProgressCallback
from adjudge.judges.progress_line import choose_progress
from adjudge.judges.run import JudgingRun, run_judging, run_to_end
from adjudge.judges.stages import StopRule
from adjudge.judges.subjects import SubjectSource
from adjudge.records import Status
from adjudge.results.judging import JudgingPlan
from adjudge.store.interface import DEFAULT_STORE, StorePlace


def judge_pairs(
    pairs: SubjectSource,
    *,
    judge: OneJudge | Sequence[OneJudge],
    protocol: str | JudgeProtocol = "preference",
    store: StorePlace = DEFAULT_STORE,
    output: str | Path | None = None,
    limit: int | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    reason: bool | None = None,
    samples: int | None = None,
    repeats: int = 1,
    order: str | None = None,
    max_tokens: int | None = None,
    min_answer_mass: float | None = None,
    prompt: str | Path | None = None,
    criteria: str | Path | None = None,
    scale: str | None = None,
    demonstrations: SubjectSource | None = None,
    seed: int | None = None,
    base_url: str | None = None,
    api_key_env: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    max_reply: int | None = None,
    concurrency: int | None = None,
    rpm: float | None = None,
    max_cost: float | None = None,
    prices: str | Path | Mapping[str, Price] | None = None,
    retry: Collection[Status] = (),
    keep_going: bool = False,
    keep_raw: bool = True,
    stop_rule: StopRule | None = None,
    engine: str = "local",
    workers: int | None = None,
    ray_address: str | None = None,
    batch: bool = False,
    batch_folder: str | Path | None = None,
    poll_s: float = 30.0,
    progress: ProgressCallback | bool | None = None,
    announce: Callable[[str], None] | None = None,
    stop: Stop | None = None,
    handle_signals: bool = False,
) -> JudgingRun:
    """Ask a judge about pairs or items, keep every reply, and return the rows in input order.

    Also works if an event loop is running (notebooks).

    Args:
        pairs: a path, a polars or pandas frame, or an iterable of Pair (or Item).
        judge: a spec such as "openai:gpt-4.1-mini", or a backend object; or a list of them, which
            are asked one after the other about the same rows.
        protocol: how to ask, by name or as an object.
        store: a file or URL that several runs can share, an open store, or None for a temporary
            store. Stored replies are not asked again.
        output: a file for the rows (.jsonl, .csv, .tsv, .parquet, optionally .gz), written by
            atomic rename. Without it the rows are in `JudgingRun.judgments`.
        limit: judge only the first N pairs.
        format: the name of a public format, if it cannot be detected from content.
        columns: our column names to the file's, e.g. {"response_a": "left"}. Usual names need no
            entry.
        labels_as: the meaning of words in label columns, e.g. {"0": "A", "1": "B"}.
        reason: let the judge write its reasons before its verdict. Its probability is read at the
            verdict.
        samples: number of answers per order, for judges without log probabilities.
        repeats: how often everything is asked; rows are numbered in `repeat`, from 0.
        order: "both" (the default), or one order: "ab" shows response_a first, "ba" second,
            "random" draws one for each pair.
        max_tokens: the maximum length of a written answer.
        min_answer_mass: a reply in which the options have less probability than this is
            `off_answer` and has no number (default 0.1).
        prompt: your own prompt file.
        criteria: your own criteria: a JSON file, or the text of one criterion.
        scale: the scale of likert's scores, such as "1-10" (default "1-5"); from 10 on it needs
            samples.
        demonstrations: your own labelled pairs, for annotators.
        seed: the seed of what the protocol draws. It also decides on which side the chosen response
            of a public data set is shown.
        base_url: another server than the default one.
        api_key_env: the environment variable that holds the key.
        extra_body: JSON that is added to every request.
        timeout: seconds to wait for one answer from a server.
        max_reply: bytes of the largest answer that is read, unpacked. A larger answer makes its row
            an error. Default: 1 MiB plus 2 KiB for every token asked for.
        concurrency: maximum calls in flight.
        rpm: maximum requests per minute, retries included.
        max_cost: stop before the next call would exceed this many dollars. Complete rows are
            written; the others are counted as not asked.
        prices: your own prices, a file or a mapping.
        retry: statuses to ask again; errors are always asked again.
        keep_going: continue if the first ten replies have no usable score for one reason.
        keep_raw: False leaves the server's raw answers out of the store, and also what the judge
            wrote unless rows are read from it. Statuses and numbers are kept, and a run resumes
            normally.
        stop_rule: with several judges, cheap to strong, each is asked only about the subjects that
            those before it left open. The rule gets subjects with their rows so far and returns
            "settled", "doubt" or "failure" for each (`judge_cascade` makes one from a policy).
        engine: "local": this process asks. "ray": workers ask, which Ray places on the CPUs or GPUs
            of this machine or of a cluster. `concurrency` is then per worker; `rpm` and `max_cost`
            are for all workers together.
        workers: number of workers. Default: one per GPU that the judge can use, or else per CPU.
        ray_address: HOST:PORT of a cluster's head, or "auto". Default: RAY_ADDRESS, or else a Ray
            on this machine that ends with the run.
        batch: send the calls as a batch (half the price, within a day). The same call continues
            with running batches.
        batch_folder: folder for the list of running batches. Default: in your data folder.
        poll_s: seconds between two checks of a batch.
        progress: True shows one line that is updated in place, in a notebook or on a terminal; a
            function is called with a `Progress` several times a second.
        announce: called before the first call, with the number of calls as text, and when Ray is
            started.
        stop: lets another thread stop the run.
        handle_signals: SIGINT and SIGTERM stop the run and let calls in flight finish.

    An interrupted run writes its complete rows; a refused run writes nothing. Both keep their
    replies in the store: make the same call again to resume.

    >>> from adjudge.simulate.pairs import simulate_pairs
    >>> run = judge_pairs(simulate_pairs(50, seed=1), judge="simulated:accuracy=0.9", store=None)
    >>> run.summary.statuses, run.judgments.height
    ({'ok': 50}, 50)
    """
    return run_options(pairs, _options(locals()))


async def judge_pairs_async(
    pairs: SubjectSource,
    *,
    judge: OneJudge | Sequence[OneJudge],
    protocol: str | JudgeProtocol = "preference",
    store: StorePlace = DEFAULT_STORE,
    output: str | Path | None = None,
    limit: int | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    reason: bool | None = None,
    samples: int | None = None,
    repeats: int = 1,
    order: str | None = None,
    max_tokens: int | None = None,
    min_answer_mass: float | None = None,
    prompt: str | Path | None = None,
    criteria: str | Path | None = None,
    scale: str | None = None,
    demonstrations: SubjectSource | None = None,
    seed: int | None = None,
    base_url: str | None = None,
    api_key_env: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    timeout: float | None = None,  # noqa: ASYNC109  (of each request, handed to the backend)
    max_reply: int | None = None,
    concurrency: int | None = None,
    rpm: float | None = None,
    max_cost: float | None = None,
    prices: str | Path | Mapping[str, Price] | None = None,
    retry: Collection[Status] = (),
    keep_going: bool = False,
    keep_raw: bool = True,
    stop_rule: StopRule | None = None,
    engine: str = "local",
    workers: int | None = None,
    ray_address: str | None = None,
    batch: bool = False,
    batch_folder: str | Path | None = None,
    poll_s: float = 30.0,
    progress: ProgressCallback | bool | None = None,
    announce: Callable[[str], None] | None = None,
    stop: Stop | None = None,
    handle_signals: bool = False,
) -> JudgingRun:
    """`judge_pairs` for programs with their own event loop; the arguments are the same."""
    return await run_judging(pairs, _options(locals()))


def plan_judging(
    pairs: SubjectSource,
    *,
    judge: str | Backend,
    protocol: str | JudgeProtocol = "preference",
    store: StorePlace = DEFAULT_STORE,
    limit: int | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    reason: bool | None = None,
    samples: int | None = None,
    repeats: int = 1,
    order: str | None = None,
    max_tokens: int | None = None,
    min_answer_mass: float | None = None,
    prompt: str | Path | None = None,
    criteria: str | Path | None = None,
    scale: str | None = None,
    demonstrations: SubjectSource | None = None,
    seed: int | None = None,
    base_url: str | None = None,
    api_key_env: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    prices: str | Path | Mapping[str, Price] | None = None,
    retry: Collection[Status] = (),
    batch: bool = False,
) -> JudgingPlan:
    """What `judge_pairs` would do with the same arguments: calls, tokens, cost. Makes no calls.

    >>> from adjudge.simulate.pairs import simulate_pairs
    >>> plan = plan_judging(simulate_pairs(50, seed=1), judge="simulated:", store=None)
    >>> plan.calls, plan.to_ask, plan.cost_estimate
    (100, 100, 0.0)
    """
    return make_plan(pairs, _options(locals()))


def run_options(pairs: SubjectSource, options: JudgingOptions) -> JudgingRun:
    """Run with the given options until the end."""
    return run_to_end(run_judging(pairs, options), options.stop)


def _options(arguments: Mapping[str, Any]) -> JudgingOptions:
    """The options of a public call: all its arguments except the pairs."""
    given = {name: value for name, value in arguments.items() if name != "pairs"}
    given["progress"] = choose_progress(given.get("progress"))
    if given.get("stop") is None:
        given.pop("stop", None)
    return JudgingOptions(**given)
