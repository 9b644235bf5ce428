"""Who labelled, how the pairs were drawn, how far people agree."""

from __future__ import annotations

from adjudge.present.report.collect import Collected
from adjudge.present.report.document import Section, Words
from adjudge.results.labelling import LabellingSummary


def labelling_section(found: Collected) -> Section | None:
    """The last labelling summary of the folder."""
    rounds = found.of(LabellingSummary)
    if not rounds:
        return None
    last = rounds[-1]
    told = last.lines()
    return Section(
        key="labelling",
        title="What people said",
        finding=told[0] + ".",
        action="Labels drawn at random may calibrate; labels drawn by doubt may not.",
        blocks=(Words(lines=tuple(told[1:])),) if told[1:] else (),
    )
