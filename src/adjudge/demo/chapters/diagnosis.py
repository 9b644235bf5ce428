"""Chapter: the judge's biases, each with an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.diagnosis import diagnose_bias

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "Where does the judge fail?"


def run(context: DemoContext) -> None:
    """Position bias and reliability of each protocol."""
    for protocol, rows in context.judgments.items():
        report = diagnose_bias(rows, seed=context.seed)
        context.keep(report, f"bias_{protocol}")
        # The doubt is of no use if the verdicts are not: print it only for the main protocol.
        parts = (report.position, report.reliability if protocol == context.main else None)
        for part in parts:
            if part is not None:
                context.say(f"By {protocol}: {part.describe()}.")
        if protocol == context.main:
            context.picture(report.plot(), "bias")
