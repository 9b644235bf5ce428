"""Chapter: the judge's biases, each with an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.diagnosis import diagnose_bias
from adjudge.present.views._bias_sentences import describe

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "Where does the judge break?"


def run(context: DemoContext) -> None:
    """Position and reliability of each way of asking."""
    for protocol, rows in context.judgments.items():
        report = diagnose_bias(rows, seed=context.seed)
        context.keep(report, f"bias_{protocol}")
        # How sure a judge is says nothing where its verdicts do not: only of the main protocol.
        parts = (report.position, report.reliability if protocol == context.main else None)
        for part in parts:
            if part is not None:
                context.say(f"By {protocol}: {describe(part)}.")
        if protocol == context.main:
            context.picture(report.plot(), "bias")
