"""The whole of `adjudge judge` as Python calls: sync, async, and a plan that asks nobody."""

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
    progress: ProgressCallback | None = None,
    announce: Callable[[str], None] | None = None,
    stop: Stop | None = None,
    handle_signals: bool = False,
) -> JudgingRun:
    """Ask a judge about pairs or items, keep every reply, and return the rows in input order.

    Works where an event loop is running too (notebooks).

    Args:
        pairs: a path, a polars or pandas frame, or an iterable of Pair (or Item).
        judge: a spec such as "openai:gpt-4.1-mini", or a backend object; or a list of them, which
            are asked one after the other about the same rows.
        protocol: how to ask, by name or as an object.
        store: a file or URL that any number of runs may share, an open store, or None for one
            that is forgotten. What it already holds is not asked again.
        output: a file for the rows (.jsonl, .csv, .tsv, .parquet, with .gz if you like), written
            by atomic rename; without it they are in `JudgingRun.judgments`.
        limit: only the first so many pairs.
        format: the name of a public data set's format, where content does not tell it.
        columns: our names of columns to the file's, e.g. {"response_a": "left"}; the usual names
            are known without.
        labels_as: what words in columns of labels mean, e.g. {"0": "A", "1": "B"}.
        reason: let the judge write its reasons before its verdict; its probability is read where
            the verdict is written.
        samples: draw so many answers per order, for judges without log probabilities.
        repeats: ask everything so often; rows are numbered in `repeat`, from 0.
        order: "both" (the default), or one order alone: "ab" shows response_a first, "ba" second,
            "random" draws one for each pair.
        max_tokens: the longest written answer.
        min_answer_mass: a reply in which the options asked for hold less of the probability
            is `off_answer` and has no number (default 0.1).
        prompt: a prompt file of your own.
        criteria: a file of criteria of your own: JSON, or the text of one.
        scale: of likert's scores, such as "1-10" (default "1-5"); from 10 on it needs samples.
        demonstrations: labelled pairs of your own, for annotators.
        seed: of what the protocol draws; it also decides on which side a public data set's chosen
            response is.
        base_url: another server than the maker's.
        api_key_env: the environment variable that holds the key.
        extra_body: goes into every request as it is.
        timeout: seconds to wait for one answer of a server.
        max_reply: bytes of the largest answer that is read, unpacked; a larger one is an error of
            its row. Unless given: 1 MiB, and 2 KiB for every token asked for.
        concurrency: calls under way at once.
        rpm: at most so many requests a minute, retries too.
        max_cost: stop before the next call would go beyond that many dollars: the rows that are
            complete are written, the others counted as not asked.
        prices: your own prices, a file or a mapping.
        retry: statuses to ask again; errors always are.
        keep_going: continue if the first ten replies have no usable number for one reason.
        keep_raw: False leaves the server's raw answers out of the store, and what the judge wrote
            unless rows are read from it; statuses and numbers are kept, and a run resumes normally.
        stop_rule: of several judges, cheap to strong, each is asked only about what those before
            it left open: the rule is given subjects with their rows so far, and says of each
            "settled", "doubt" or "failure" (`judge_cascade` makes one from a policy).
        engine: "local": this process asks. "ray": workers ask, which Ray places on the CPUs or GPUs
            of this machine or of a cluster; `concurrency` is then that of each, `rpm` and
            `max_cost` those of all.
        workers: how many, unless one for every GPU that the judge can use, or else for every CPU.
        ray_address: HOST:PORT of a cluster's head, or "auto"; unless given, that in RAY_ADDRESS, or
            else a Ray on this machine that ends with the run.
        batch: send the calls as a batch (half the price, within a day); the same call goes on with
            batches under way.
        batch_folder: where the list of batches under way is kept, unless in your data folder.
        poll_s: seconds between two looks at a batch.
        progress: called with a `Progress` now and then.
        announce: called before the first call, with the number of calls in words, and where Ray is
            started.
        stop: lets another thread stop the run.
        handle_signals: SIGINT and SIGTERM stop the run politely.

    A run that is interrupted writes the rows that are complete; one that is refused writes nothing.
    Both leave their replies in the store: make the same call again to resume.

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
    progress: ProgressCallback | None = None,
    announce: Callable[[str], None] | None = None,
    stop: Stop | None = None,
    handle_signals: bool = False,
) -> JudgingRun:
    """`judge_pairs` for programs with an event loop of their own; the arguments are the same."""
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
    """What `judge_pairs` would do with the same arguments: calls, tokens, cost. Asks nobody.

    >>> from adjudge.simulate.pairs import simulate_pairs
    >>> plan = plan_judging(simulate_pairs(50, seed=1), judge="simulated:", store=None)
    >>> plan.calls, plan.to_ask, plan.cost_estimate
    (100, 100, 0.0)
    """
    return make_plan(pairs, _options(locals()))


def run_options(pairs: SubjectSource, options: JudgingOptions) -> JudgingRun:
    """A run by options that are made already, to its end."""
    return run_to_end(run_judging(pairs, options), options.stop)


def _options(arguments: Mapping[str, Any]) -> JudgingOptions:
    """The options in the arguments of a public call: all that were given but the pairs."""
    given = {name: value for name, value in arguments.items() if name != "pairs"}
    if given.get("stop") is None:
        given.pop("stop", None)
    return JudgingOptions(**given)
