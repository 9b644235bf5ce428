"""`adjudge judge`: ask a judge."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adjudge.cli.output import FAILED, Watch, remark, watch_run
from adjudge.cli.steps import Typed, command
from adjudge.cli.verb import Option, Values, Verb, share, store_option
from adjudge.errors import ArgumentError, JudgeError, StoreError
from adjudge.present.text import percent

if TYPE_CHECKING:
    from adjudge.judges.judging import JudgingRun
    from adjudge.judges.options import JudgingOptions
    from adjudge.judges.summary import Judging


def _run(arguments: Values, options: Values) -> Any:
    from adjudge.judges.flow import Stop
    from adjudge.judges.judging import make_plans
    from adjudge.judges.options import JudgingOptions

    pairs = arguments.pop("pairs")
    policy = options["policy"]
    if arguments.get("engine") == "ray":
        # Ray prints events of its workers to standard output, which is only for the result.
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    if (policy is None) == ("judge" not in arguments):
        remedy = "name a judge with --judge openai:MODEL or the like, or give the --policy of a "
        remedy += "cascade, not both"
        raise ArgumentError("judge", list(arguments.get("judge", ())) or None, remedy)
    asking = JudgingOptions(**{"judge": [], **arguments}, handle_signals=True)
    if policy is not None:
        from adjudge.selection import read_policy
        from adjudge.selection.cascade_judging import cascade_options

        asking = cascade_options(read_policy(policy), asking, protocol=arguments.get("protocol"))
    if options["dry_run"]:
        if policy is not None:
            remark("at most: every judge about every row; a cascade asks fewer")
        return make_plans(pairs, asking)
    if asking.output is None and not options["json"]:
        raise ArgumentError("output", None, "name a file for the rows: -o judgments.jsonl")

    with watch_run(str(asking.protocol)) as watch:
        stopping = "stopping: complete rows are written; press Ctrl-C again to exit without them"
        stop = Stop(on_interrupt=lambda: watch.end_with(stopping))
        run = _ask(pairs, replace(asking, progress=watch.show, stop=stop), watch)
    if run.summaries[0].stopped == "interrupted":
        # The run is ending: another Ctrl-C would only lose its last messages.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    remark(f"replies are kept in {run.summaries[0].store}")
    return run.result


def _ask(pairs: Any, options: JudgingOptions, watch: Watch) -> JudgingRun:
    from adjudge.judges.judging import run_options
    from adjudge.store import store_name

    try:
        return run_options(pairs, options)
    except (JudgeError, StoreError):
        replies = sum(watch.calls.values())
        if replies:
            watch.end_with(
                f"{replies:,} replies of this run are kept in {store_name(options.store)}; repair "
                "what the next line names and run the same command again to resume"
            )
        raise


def _is_bad(result: Any, options: Values) -> bool:
    if options["dry_run"]:
        return False
    judges: Sequence[Judging] = getattr(result, "judges", (result,))
    if judges[0].stopped == "interrupted":
        remark("stopped; run the same command again to resume")
        raise click.exceptions.Exit(FAILED)
    bad = judges[0].stopped == "max_cost"
    if bad:
        missing = sum(judging.not_asked or 0 for judging in judges)
        remark(
            f"stopped at --max-cost with {missing:,} subjects not asked; "
            "run the same command with a higher one to resume"
        )
    for judging in judges:
        who = f"{judging.judge}: " if len(judges) > 1 else ""
        bad |= _lacks_rows(judging, who=who, limit=options["max_failed"])
    return bad


def _lacks_rows(judging: Judging, *, who: str, limit: float | None) -> bool:
    """Print what one judge's rows lack. True if that is a bad finding."""
    failed = judging.statuses.get("error", 0)
    if failed:
        remark(f"{who}{failed:,} rows are errors; run the same command again to ask only those")
    if judging.measured == 0:
        remark(f"{who}no row has a usable score")
        return True
    missing = judging.rows - judging.measured
    if limit is not None and missing > limit * judging.rows:
        share = percent(missing / judging.rows)
        remark(
            f"{who}{missing:,} of {judging.rows:,} rows ({share}) have no usable "
            f"score, more than --max-failed {limit:g}"
        )
        return True
    return False


def _next(result: Any, typed: Typed) -> str | None:
    from adjudge.judges.judge import PROTOCOLS
    from adjudge.records import Score

    if typed["dry_run"]:
        words = () if typed["output"] else ("-o", "judgments.jsonl")
        return typed.again(*words, without="--dry-run")
    output = typed["output"]
    summaries = getattr(result, "judges", (result,))
    if output is None:
        return None
    if any(judging.statuses.get("error") or judging.not_asked for judging in summaries):
        return typed.again()
    if not any(judging.measured for judging in summaries):
        return command("replies", *typed.options("replies", ["store"]))
    protocol = PROTOCOLS.load(summaries[0].protocol)
    if issubclass(protocol.record, Score):
        return command("diagnose scores", output)
    if any(judging.agreement_rows for judging in summaries):
        return command("calibrate", output, "--alpha", "0.1", "-o", "policy.json")
    plan = command("plan labels", output, "--write-ids", "to_label.csv")
    rows = typed.rows or "ROWS"
    unit = typed.options("label", ["unit"])
    label = command("label", rows, *unit, "--plan", "to_label.csv", "-o", "labels.csv")
    return f"{plan} && adjudge {label}"


COMMAND = Verb(
    "judge",
    "adjudge.judges:judge_pairs",
    "Ask a judge about pairs or single answers; keep every reply.",
    "judge pairs.jsonl --judge openai:gpt-4.1-mini -o judgments.jsonl",
    "A stopped run resumes where it stopped: replies in the store are not asked again.",
    main="judge protocol output store prompt column max_cost dry_run reason samples json",
    without="poll_s progress handle_signals",
    added="summary explain json",
    options=[
        Option("judge", repeats=True),
        Option("protocol", words="preference; the policy's"),
        Option("output", written=True, short="-o"),
        store_option(
            "Store of all replies: a file or postgresql://... Stored replies are not asked again."
        ),
        Option(
            "policy",
            "The policy of a cascade, instead of --judge. Its judges are asked one after the "
            "other, each only if those before it are not sure enough.",
            Path,
        ),
        Option("dry_run", "Print calls, tokens and cost; ask no judge.", bool),
        Option(
            "max_failed",
            "Exit 2 if more than this share of the rows has no usable score, such as 0.05.",
            float,
            metavar="SHARE",
            words="off",
            read=share("max_failed"),
        ),
    ],
    run=_run,
    bad=_is_bad,
    step=_next,
    panels={"Judge": "batch batch_folder retry"},
    panel="Ask",
    place=1,
)
