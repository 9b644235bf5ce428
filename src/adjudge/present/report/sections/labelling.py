"""Who labelled, how the pairs were drawn, how far people agree."""

from __future__ import annotations

from adjudge.present.report.collect import Collected
from adjudge.present.report.document import Block, Section, Words
from adjudge.present.report.sections.several import together, under_names
from adjudge.results.labelling import LabellingSummary


def labelling_section(found: Collected) -> Section | None:
    """Every labelling summary of the folder."""
    rounds = found.named(LabellingSummary)
    if not rounds:
        return None
    finding = rounds[0][1].lines()[0] + "."
    if len(rounds) > 1:
        finding = together(rounds, lambda done: done.lines()[0], "rounds of labels")
    return Section(
        key="labelling",
        title="What people said",
        finding=finding,
        action="Labels drawn at random may calibrate; labels drawn by doubt may not.",
        blocks=tuple(under_names(rounds, _rest, named=len(rounds) > 1)),
    )


def _rest(done: LabellingSummary) -> list[Block]:
    told = done.lines()[1:]
    return [Words(lines=tuple(told))] if told else []
