"""Chapter: the judge's biases, each with an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.diagnosis import diagnose_bias
from adjudge.present.diagnosis import bias_figure

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "Where does the judge break?"


def run(context: DemoContext) -> None:
    """Position and reliability of each way of asking."""
    for protocol, rows in context.judgments.items():
        report = diagnose_bias(rows, rng=context.seed)
        context.keep(report, f"bias_{protocol}")
        # How sure a judge is says nothing where its verdicts do not: told of the main one alone.
        parts = (report.position, report.reliability if protocol == context.main else None)
        for part in parts:
            if part is not None:
                context.say(f"By {protocol}: {part.finding}.")
        if protocol == context.main:
            context.picture(bias_figure(report), "bias")
