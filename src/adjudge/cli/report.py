"""`adjudge report`: one self-contained file from a folder of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import OutputOption, remark


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("report")(report)


def report(
    folder: Annotated[
        Path, typer.Argument(help="The folder the results were written into.", show_default=False)
    ],
    output: OutputOption = None,
    fmt: Annotated[str, typer.Option("--format", help="html, md or json.")] = "html",
    title: Annotated[str | None, typer.Option(help="The report's title.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Make one report of everything in a folder: numbers first, then pictures, then settings."""
    from adjudge._validation import one_of
    from adjudge.present.report import FORMATS, collect, render_report, write_report

    chosen = one_of("json" if as_json else fmt, FORMATS, "format")
    found = collect(folder)
    for name, why in found.passed_over.items():
        remark(f"not in the report: {name} ({why})")
    if output is None and chosen == "html":
        output = folder / "report.html"
    if output is None:
        typer.echo(render_report(found, fmt=chosen, title=title), nl=False)
        return
    written = write_report(found, output, fmt=chosen, title=title)
    remark(f"wrote {written}")
