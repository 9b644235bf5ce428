"""Results that have no section of their own: plans, anchors, reproductions, in their own words."""

from __future__ import annotations

from adjudge.present.report.collect import Collected
from adjudge.present.report.document import Block, Heading, Section, Words
from adjudge.present.tables import counted
from adjudge.results.base import Result
from adjudge.results.bias import BiasReport
from adjudge.results.diagnosis import ScoreDiagnosis, Transitivity
from adjudge.results.estimation import (
    ClassEstimate,
    Estimate,
    GroupedEstimate,
    RateDifference,
    RatePlan,
)
from adjudge.results.evaluation import Evaluation
from adjudge.results.judging import Judging
from adjudge.results.labelling import LabellingSummary
from adjudge.results.ranking import Leaderboard
from adjudge.results.selection import Policy, Selection

_SHOWN_ELSEWHERE: tuple[type[Result], ...] = (
    BiasReport, ClassEstimate, Estimate, Evaluation, GroupedEstimate, Judging, LabellingSummary,
    Leaderboard, Policy, RateDifference, RatePlan, ScoreDiagnosis, Selection, Transitivity,
)  # fmt: skip


def others_section(found: Collected) -> Section | None:
    """What the other sections do not show, so that no result of the folder is left out."""
    rest = [entry for entry in found.results if not isinstance(entry.result, _SHOWN_ELSEWHERE)]
    if not rest:
        return None
    blocks: list[Block] = []
    for entry in rest:
        blocks.append(Heading(text=f"{entry.path.name} ({entry.result.kind})"))
        blocks.append(Words(lines=tuple(entry.result.lines())))
    return Section(
        key="others",
        title="Also in this folder",
        finding=f"{counted(len(rest), 'more result', 'more results')}.",
        blocks=tuple(blocks),
    )
