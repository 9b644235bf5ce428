"""`adjudge convert`: another tool's log as rows, and verdicts as files that other tools take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from adjudge.cli.steps import Typed, command
from adjudge.cli.verb import SPELLED, Option, Values, Verb
from adjudge.errors import ArgumentError


def _run(arguments: Values, options: Values) -> Any:
    from adjudge.data import convert_log
    from adjudge.data.formats import Kind
    from adjudge.data.writing import check_output
    from adjudge.validation import one_of

    if options["to"] is not None:
        return _export(arguments, options)
    for name in ("trace", "column"):
        if options[name]:
            raise ArgumentError(name, options[name], "it is for files of other tools: add --to")
    if options["output"] is not None:
        check_output(options["output"])
    if "kind" in arguments:
        one_of(arguments["kind"], get_args(Kind), "rows")
    return convert_log(**arguments)


def _export(arguments: Values, options: Values) -> Any:
    from adjudge.data import export_scores

    for name in ("kind", "format", "seed"):
        if name in arguments:
            raise ArgumentError(name, arguments[name], "leave it out: --to reads verdicts")
    if (output := options["output"]) is None:
        raise ArgumentError("output", None, "--to writes a file: name it with -o")
    given = {"to": options["to"], "trace": options["trace"], "columns": options["column"]}
    return export_scores(**arguments, **given, output=output)


def _next(result: Any, typed: Typed) -> str | None:
    from adjudge.data.formats import kinds_of

    if typed["to"] is not None:
        return None
    rows = typed["output"] or typed.rows
    kind = result.rows_kind
    if rows is None:
        return None
    if kind in ("judgments", "grades") and not any(metric.labels for metric in result.metrics):
        if typed.rows is not None and {"items", "pairs"} & kinds_of(result.format):
            return command("label", typed.rows, "-o", "labels.csv")
        return command("plan labels", rows, "--write-ids", "to_label.csv")
    verbs = {"judgments": "calibrate", "grades": "estimate", "battles": "rank"}
    many = len({metric.metric for metric in result.metrics}) > 1
    groups = ("--by", "metric") if kind == "grades" and many else ()
    return command(verbs[kind], rows, *groups) if kind in verbs else None


COMMAND = Verb(
    "convert",
    "adjudge.data:convert_log",
    "Convert a log of another tool into adjudge's rows.",
    "convert promptfoo.json -o grades.csv",
    "Every verb that takes such rows also reads the log directly.\n\n"
    "The judge's first verdict is used, not a person's correction. A failed grader is a status, "
    "not a fail. Several metrics become groups (--by metric). Epochs and repeats share a "
    "prompt_id.",
    added="output summary json",
    options=[
        Option("log", argument="source"),
        Option("rows", argument="kind"),
        Option("output", "Write the rows here (.jsonl, .csv, .parquet), or the file of --to."),
        Option(
            "to",
            "Write verdicts, doubt and decisions, or the rates of an estimate, for other tools: "
            "otlp, langfuse or csv.",
            str,
        ),
        Option("trace", "With --to: column with the trace's id; ids are then of its spans.", str),
        Option("column", "With --to: columns with other names, OURS=YOURS; repeatable.").over(
            replace(SPELLED["columns"], argument=None)
        ),
    ],
    run=_run,
    step=_next,
    panel="Begin",
    place=3,
)
