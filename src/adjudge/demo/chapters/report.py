"""Chapter: all results in one file that can be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from adjudge.data import write_rows
from adjudge.present.report import write_report

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "One file to send"


def run(context: DemoContext) -> None:
    """Write the report and print its path."""
    texts = ("id", "prompt", "response_a", "response_b", "label")
    rows = [{name: getattr(pair, name) for name in texts} for pair in context.pairs]
    write_rows(pl.DataFrame(rows), context.out / "pairs.jsonl")
    path = write_report(
        context.out, context.out / "report.html", title="How far the demo's judge can be trusted"
    )
    context.files.append(str(path))
    context.say(f"Report: {path.resolve()}")
