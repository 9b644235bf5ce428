"""`adjudge judge`: ask a judge about pairs and keep every reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli._common import (
    EXIT_FAILED,
    JsonFlag,
    bad_finding,
    deliver,
    remark,
)
from adjudge.errors import ArgumentError, JudgeError, StoreError

if TYPE_CHECKING:
    from adjudge.results.judging import Judging


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("judge")(judge)


def judge(
    pairs: Annotated[
        Path,
        typer.Argument(
            help="Pairs: id, prompt, response_a, response_b (likert: id, prompt, response).",
            show_default=False,
        ),
    ],
    judge_spec: Annotated[
        str,
        typer.Option(
            "--judge",
            help="openai:MODEL, anthropic:MODEL, llamacpp:smollm2, llamacpp:FILE.gguf[?context=N], "
            "replay:FILE, simulated:accuracy=0.8,position_bias=0.1,noise=0.5,seed=1 ...",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the rows here: .jsonl, .csv, .tsv, .parquet, or with .gz."
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            help="How to ask: preference, likelihood, verbalized, annotators, rubric, criterion; "
            "likert for single responses."
        ),
    ] = "preference",
    store: Annotated[
        Path, typer.Option(help="Where every reply is kept; what it holds is not asked again.")
    ] = Path("adjudge.db"),
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many pairs.")] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Calls under way at once.", show_default="the judge's")
    ] = None,
    rpm: Annotated[
        float | None, typer.Option(help="At most so many requests a minute, retries too.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds to wait for one answer of a server.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="Draw so many answers per order: for judges without logprobs."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Longest written answer; raise it for judges that think first."),
    ] = None,
    prompt: Annotated[Path | None, typer.Option(help="Your own prompt file.")] = None,
    criteria: Annotated[
        Path | None, typer.Option(help="Your own criteria, for rubric, criterion and likert.")
    ] = None,
    demonstrations: Annotated[
        Path | None, typer.Option(help="Labelled pairs to show, for annotators; none you test on.")
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
            help="JSON for every request, e.g. "
            '\'{"chat_template_kwargs": {"enable_thinking": false}}\''
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", help="Name of a public format, where it cannot be told.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print calls, tokens and cost; ask nobody.")
    ] = False,
    max_cost: Annotated[
        float | None, typer.Option(help="Stop before more than so many dollars are spent.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(help="Your prices, JSON or CSV, dollars per million tokens.")
    ] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option(help="Ask rows of this status again (errors always are); repeatable."),
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="By OpenAI's Batch API: half the price, within a day.")
    ] = False,
    summary: Annotated[
        Path | None, typer.Option(help="Write the summary here as JSON, for `adjudge report`.")
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="SHARE",
            help="Exit 2 when more than this share of the rows carries no number, e.g. 0.05.",
            show_default="off",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of what a protocol draws: orders, personas.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask a judge about pairs, in both orders, and keep every reply; resumes where it stopped."""
    from adjudge.judges import judge_pairs, plan_judging

    asked: dict[str, Any] = {
        "judge": judge_spec,
        "protocol": protocol,
        "store": store,
        "limit": limit,
        "samples": samples,
        "max_tokens": max_tokens,
        "prompt": prompt,
        "criteria": criteria,
        "demonstrations": demonstrations,
        "seed": seed,
        "source_format": source,
        "base_url": base_url,
        "api_key_env": api_key_env,
        "extra_body": _object(extra_body),
        "prices": prices,
        "retry": tuple(retry or ()),
    }
    if dry_run:
        deliver(plan_judging(pairs, **asked), as_json=as_json, output=summary)
        return
    if output is None and not as_json:
        raise ArgumentError("output", None, "name a file for the rows: -o judgments.jsonl")
    from adjudge.cli._progress import watching

    with watching(f"{judge_spec.partition(':')[0]}, {protocol}") as watch:
        try:
            done = judge_pairs(
                pairs,
                output=output,
                concurrency=concurrency,
                rpm=rpm,
                timeout=timeout,
                max_cost=max_cost,
                batch=batch,
                progress=watch.show,
                handle_signals=True,
                **asked,
            )
        except (JudgeError, StoreError):
            made = watch.last.made if watch.last is not None else 0
            if made:
                watch.close()
                remark(
                    f"{made:,} replies of this run are kept in {store}; repair what the next "
                    "line names and run the same command again: it goes on from there"
                )
            raise
    remark(f"replies are kept in {store}")
    _finish(done.summary, as_json=as_json, summary=summary, fail_above=fail_above)


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ArgumentError("extra_body", text, "give a JSON object")
    return found


def _finish(
    found: Judging, *, as_json: bool, summary: Path | None, fail_above: float | None
) -> None:
    deliver(found, as_json=as_json, output=summary)
    if found.stopped == "interrupted":
        remark("stopped; run the same command again to go on from here")
        raise typer.Exit(EXIT_FAILED)
    if found.stopped == "max_cost":
        remark(
            f"stopped at --max-cost with {found.not_asked:,} subjects not asked; "
            "run the same command with a higher one to go on from here"
        )
        bad_finding()
    failed = found.statuses.get("error", 0)
    if failed:
        remark(f"{failed:,} rows are errors; run the same command again to ask only those")
    if found.measured == 0:
        remark("not a single row carries a number")
        bad_finding()
    missing = found.rows - found.measured
    if fail_above is not None and missing > fail_above * found.rows:
        remark(
            f"{missing:,} of {found.rows:,} rows ({100 * missing / found.rows:.1f} %) carry no "
            f"number, more than --fail-above {fail_above:g}"
        )
        bad_finding()
