"""`adjudge judge`: ask a judge about pairs or single answers and keep every reply."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from adjudge.cli._common import EXIT_FAILED, bad_finding, deliver, remark
from adjudge.cli._options import (
    ColumnOption,
    FormatOption,
    FormerFormatOption,
    JsonFlag,
    LabelsAsOption,
    MaxTokensOption,
    MinAnswerMassOption,
    RayAddressOption,
    ReasonOption,
    StoreOption,
    SummaryOption,
    WorkersOption,
    column_map,
    label_map,
)
from adjudge.errors import ArgumentError, JudgeError, StoreError
from adjudge.present.text import percent

if TYPE_CHECKING:
    from adjudge.cli._progress import Watch
    from adjudge.judges.judging import JudgingRun
    from adjudge.judges.options import JudgingOptions
    from adjudge.judges.summary import Judging
    from adjudge.records import Status


def judge(
    pairs: Annotated[
        Path,
        typer.Argument(
            help="Pairs: id, prompt, response_a, response_b. grade, likert: id, prompt, response.",
            show_default=False,
        ),
    ],
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="openai:MODEL, anthropic:MODEL, azure:DEPLOYMENT, gemini:MODEL, mistral:MODEL, "
            "groq:MODEL, together:MODEL, deepseek:MODEL, openrouter:MODEL[?provider=NAME], "
            "vllm:MODEL, sglang:MODEL, ollama:MODEL, llamacpp:smollm2, "
            "llamacpp:FILE.gguf[?context=N], transformers:MODEL, replay:FILE, "
            "simulated:accuracy=0.8,position_bias=0.1,noise=0.5,seed=1 ...; repeatable: several "
            "are asked one after the other.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="The policy of a cascade, instead of --judge. Its judges are asked one after the "
            "other, each only if those before it are not sure enough."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the rows here: .jsonl, .csv, .tsv, .parquet, or with .gz."
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="How to ask: preference, likelihood, verbalized, annotators, rubric, criterion; "
            "grade (pass or fail) and likert (scores) for single responses.",
            show_default="preference; the policy's",
        ),
    ] = None,
    store: StoreOption = "adjudge.db",
    limit: Annotated[int | None, typer.Option(min=1, help="Judge only the first N pairs.")] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Maximum calls in flight.", show_default="the judge's")
    ] = None,
    rpm: Annotated[
        float | None, typer.Option(help="Maximum requests per minute, retries included.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds to wait for one answer from a server.")
    ] = None,
    reason: ReasonOption = False,
    max_reply: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Largest answer that is read, such as 8M; a larger answer makes its row an error.",
            show_default="1M plus 2K per token asked for",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Answers to draw per order, for judges without logprobs."),
    ] = None,
    repeats: Annotated[
        int,
        typer.Option(
            min=1, help="Ask every question this many times; the column repeat numbers them."
        ),
    ] = 1,
    order: Annotated[
        str | None,
        typer.Option(
            help="both, or one order: ab (response_a first), ba, random.",
            show_default="both; verbalized: random",
        ),
    ] = None,
    max_tokens: MaxTokensOption = None,
    min_answer_mass: MinAnswerMassOption = None,
    prompt: Annotated[Path | None, typer.Option(help="Your own prompt file.")] = None,
    criteria: Annotated[
        Path | None,
        typer.Option(
            help="Your own criteria (JSON) or rubric (text): for grade, likert, rubric, criterion."
        ),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(help="Scale of likert's scores, such as 1-10.", show_default="1-5")
    ] = None,
    demonstrations: Annotated[
        Path | None,
        typer.Option(help="Labelled pairs to show, for annotators; not from your test set."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Any OpenAI-compatible server, e.g. http://localhost:8000/v1")
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the key.", show_default="the backend's"),
    ] = None,
    extra_body: Annotated[
        str | None,
        typer.Option(
            help="JSON added to every request, such as "
            '\'{"chat_template_kwargs": {"enable_thinking": false}}\''
        ),
    ] = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    format: FormatOption = None,
    from_: FormerFormatOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls, tokens and cost; ask no judge.")
    ] = False,
    max_cost: Annotated[
        float | None, typer.Option(help="Stop before spending more than this many dollars.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="Your prices (JSON or CSV), in dollars per million tokens.")
    ] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option(
            help="Ask rows of this status again; repeatable. Errors are always asked again."
        ),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option(
            "--keep-going", help="Continue even if the first ten replies have no usable score."
        ),
    ] = False,
    no_raw: Annotated[
        bool, typer.Option("--no-raw", help="Leave the server's raw answers out of the store.")
    ] = False,
    engine: Annotated[
        str,
        typer.Option(
            help="Where calls are made: local (this process) or ray (workers on this machine or a "
            "cluster, which share the store)."
        ),
    ] = "local",
    workers: WorkersOption = None,
    ray_address: RayAddressOption = None,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch", help="Use OpenAI's Batch API: half the price, answers within a day."
        ),
    ] = False,
    batch_folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the list of running batches.", show_default="your data folder"
        ),
    ] = None,
    summary: SummaryOption = None,
    fail_above: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="SHARE",
            help="Exit 2 if more than this share of the rows has no usable score, such as 0.05.",
            show_default="off",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed for what a protocol draws: orders, personas.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask a judge about pairs or single answers; keep every reply.

    A stopped run resumes where it stopped: replies in the store are not asked again.
    """
    from dataclasses import replace

    from adjudge.judges.judging import make_plans
    from adjudge.judges.options import JudgingOptions

    if engine == "ray":
        # Ray prints events of its workers to standard output, which is only for the result.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    if (policy is None) == (not judges):
        remedy = (
            "name a judge with --judge openai:MODEL or the like, or give the --policy of a cascade"
        )
        raise ArgumentError("judge", judges or None, f"{remedy}, not both")
    options = JudgingOptions(
        judge=judges or [],
        protocol=protocol or "preference",
        store=store,
        output=output,
        limit=limit,
        format=format or from_,
        columns=column_map(column),
        labels_as=label_map(labels_as),
        reason=reason or None,
        samples=samples,
        repeats=repeats,
        order=order,
        max_tokens=max_tokens,
        min_answer_mass=min_answer_mass,
        keep_going=keep_going,
        prompt=prompt,
        criteria=criteria,
        scale=scale,
        demonstrations=demonstrations,
        seed=seed,
        base_url=base_url,
        api_key_env=api_key_env,
        extra_body=_object(extra_body),
        timeout=timeout,
        max_reply=_bytes(max_reply),
        concurrency=concurrency,
        rpm=rpm,
        max_cost=max_cost,
        prices=prices,
        retry=cast("tuple[Status, ...]", tuple(retry or ())),  # checked by the options
        keep_raw=not no_raw,
        engine=engine,
        workers=workers,
        ray_address=ray_address,
        batch=batch,
        batch_folder=batch_folder,
        announce=remark,
        handle_signals=True,
    )
    if policy is not None:
        from adjudge.selection import read_policy
        from adjudge.selection.cascade_judging import cascade_options

        options = cascade_options(read_policy(policy), options, protocol=protocol)
    if dry_run:
        if policy is not None:
            remark("at most: every judge about every row; a cascade asks fewer")
        deliver(make_plans(pairs, options), as_json=as_json, output=summary)
        return
    if output is None and not as_json:
        raise ArgumentError("output", None, "name a file for the rows: -o judgments.jsonl")
    from adjudge.cli._progress import watch_run
    from adjudge.judges.flow import Stop

    with watch_run(str(options.protocol)) as watch:
        stop = Stop(on_interrupt=lambda: _acknowledge(watch))
        run = _run(pairs, replace(options, progress=watch.show, stop=stop), watch)
    if run.summaries[0].stopped == "interrupted":
        # The run is ending: another Ctrl-C would only lose its last messages.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    remark(f"replies are kept in {run.summaries[0].store}")
    _finish(run, as_json=as_json, summary=summary, fail_above=fail_above)


def _acknowledge(watch: Watch) -> None:
    watch.close()
    remark("stopping: complete rows are written; press Ctrl-C again to exit without them")


def _run(pairs: Path, options: JudgingOptions, watch: Watch) -> JudgingRun:
    from adjudge.judges.judging import run_options
    from adjudge.store import store_name

    try:
        return run_options(pairs, options)
    except (JudgeError, StoreError):
        made = sum(watch.made.values())
        if made:
            watch.close()
            remark(
                f"{made:,} replies of this run are kept in {store_name(options.store)}; repair "
                "what the next line names and run the same command again to resume"
            )
        raise


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ArgumentError("extra_body", text, "give a JSON object")
    return value


def _bytes(size: str | None) -> int | None:
    """The number of bytes in a size such as 512K, 8M or 1G."""
    if size is None:
        return None
    written = re.fullmatch(r"([0-9]{1,9})([KMG]?)(?:i?B)?", size.strip(), re.IGNORECASE)
    if written is None:
        raise ArgumentError("max_reply", size, "give a size such as 512K or 8M")
    return int(written[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[written[2].upper()]


def _finish(
    run: JudgingRun, *, as_json: bool, summary: Path | None, fail_above: float | None
) -> None:
    deliver(run.result, as_json=as_json, output=summary)
    judged = run.summaries
    if judged[0].stopped == "interrupted":
        remark("stopped; run the same command again to resume")
        raise typer.Exit(EXIT_FAILED)
    bad = False
    if judged[0].stopped == "max_cost":
        missing = sum(one.not_asked or 0 for one in judged)
        remark(
            f"stopped at --max-cost with {missing:,} subjects not asked; "
            "run the same command with a higher one to resume"
        )
        bad = True
    for one in judged:
        bad |= _remark_on(one, who=f"{one.judge}: " if len(judged) > 1 else "", limit=fail_above)
    if bad:
        bad_finding()


def _remark_on(run: Judging, *, who: str, limit: float | None) -> bool:
    """Print what one judge's rows lack. True if that is a bad finding."""
    failed = run.statuses.get("error", 0)
    if failed:
        remark(f"{who}{failed:,} rows are errors; run the same command again to ask only those")
    if run.measured == 0:
        remark(f"{who}no row has a usable score")
        return True
    missing = run.rows - run.measured
    if limit is not None and missing > limit * run.rows:
        remark(
            f"{who}{missing:,} of {run.rows:,} rows ({percent(missing / run.rows)}) have no usable "
            f"score, more than --fail-above {limit:g}"
        )
        return True
    return False
