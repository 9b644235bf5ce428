"""`adjudge report`: one self-contained file from a folder of results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import bad_finding, echo, remark
from adjudge.cli._options import OutputOption
from adjudge.present.text import safe, safe_json


def report(
    folder: Annotated[
        Path, typer.Argument(help="The folder the results were written into.", show_default=False)
    ],
    output: OutputOption = None,
    format: Annotated[str, typer.Option(help="html, md or json.")] = "html",
    title: Annotated[str | None, typer.Option(help="The report's title.")] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Store of the judge's replies, shown for doubtful and failed rows.",
            show_default="adjudge.db in the folder",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Write one HTML report of all results in a folder.

    The report names damaged files and shows the others. Exit 2 if a file is damaged.
    """
    from adjudge.report import FORMATS, read_folder, render_report, write_report
    from adjudge.validation import one_of

    chosen = one_of("json" if as_json else format, FORMATS, "format")
    held = read_folder(folder, store=store)
    for name, reason in held.skipped.items():
        remark(f"not in the report: {name} ({reason})")
    for name, reason in held.damaged.items():
        remark(f"damaged, not in the report: {name} ({reason})")
    if output is None and chosen == "html":
        output = folder / "report.html"
    if output is None:
        text = render_report(held, format=chosen, title=title)
        echo(safe_json(text) if chosen == "json" else safe(text), end="")
    else:
        remark(f"wrote {write_report(held, output, format=chosen, title=title)}")
    if held.damaged:
        bad_finding()
