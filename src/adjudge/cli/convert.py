"""`adjudge convert`: convert a log of another tool into adjudge's rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from adjudge.cli._common import deliver, remark
from adjudge.cli._options import FormatOption, JsonFlag, SeedOption, SummaryOption

if TYPE_CHECKING:
    from adjudge.data.formats import Kind


def convert(
    log: Annotated[
        Path,
        typer.Argument(
            help="A log of Inspect, promptfoo, DeepEval, lm-eval, MLflow, Langfuse, Phoenix, Label "
            "Studio, Argilla, Ragas or JudgeArena, or a published data set.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the rows here (.jsonl, .csv, .parquet)."),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            help="What to convert if the log holds several things: grades, judgments, labels, "
            "items, pairs or battles.",
            show_default="the log's main content",
        ),
    ] = None,
    format: FormatOption = None,
    summary: SummaryOption = None,
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """Convert a log of another tool into adjudge's rows.

    Every verb that takes such rows also reads the log directly.

    The judge's first verdict is used, not a person's correction. A failed grader is a status, not a
    fail. Several metrics become groups (--by metric). Epochs and repeats share a prompt_id.
    """
    from adjudge.data import convert_log, write_rows
    from adjudge.data.formats import Kind
    from adjudge.data.writing import check_output
    from adjudge.validation import one_of

    if output is not None:
        check_output(output)
    kind = None if rows is None else cast("Kind", one_of(rows, get_args(Kind), "rows"))
    made = convert_log(log, kind=kind, format=format, seed=seed)
    if output is not None:
        write_rows(made.rows, output)
        remark(f"wrote {output}")
    deliver(made.summary, as_json=as_json, output=summary)
