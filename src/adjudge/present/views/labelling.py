"""What people said: who labelled, how rows were drawn, how far raters agree."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge._text import count, number, percent
from adjudge.present.blocks import Block, Headline, Note, Table
from adjudge.present.views import View
from adjudge.results.base import Result
from adjudge.results.labelling import LabellingSummary, RaterSummary

TITLE = "What people said"


def view_labelling(summary: LabellingSummary) -> list[Block]:
    """Labels by rater, and agreement for each two raters."""
    blocks: list[Block] = [
        Headline(
            f"{count(summary.n_labels, 'label')} on {summary.pairs_labelled:,} of "
            f"{count(summary.pairs, 'pair')}"
        )
    ]
    notes = []
    if summary.sampled_by:
        drawn = ", ".join(f"{n:,} by {how}" for how, n in summary.sampled_by.items())
        notes.append(f"drawn: {drawn}")
    if summary.sampled_by.get("doubt"):
        notes.append("labels drawn by doubt cannot calibrate; labels drawn at random can")
    if notes:
        blocks.append(Note(notes))
    if summary.raters:
        blocks.append(
            Table(
                ("rater", "labels", "ties", "skipped", "chose the left side", "95 % interval"),
                [_rater(rater) for rater in summary.raters],
            )
        )
    if summary.agreement:
        blocks.append(
            Table(
                ("rater", "and", "pairs", "agree", "kappa", "Krippendorff's alpha"),
                [
                    (
                        pair.rater_1,
                        pair.rater_2,
                        number(pair.pairs),
                        percent(pair.raw, 0),
                        number(pair.kappa, 2),
                        number(pair.alpha, 2),
                    )
                    for pair in summary.agreement
                ],
                caption="Agreement on pairs that both labelled",
                text_columns=2,
            )
        )
    return blocks


def _rater(rater: RaterSummary) -> tuple[str, ...]:
    interval = (
        "–"
        if rater.left_low is None or rater.left_high is None
        else f"{percent(rater.left_low, 0)} to {percent(rater.left_high, 0)}"
    )
    return (
        rater.rater,
        number(rater.labels),
        number(rater.ties),
        number(rater.skipped),
        percent(rater.left_share, 0),
        interval,
    )


VIEWS: Mapping[type[Result], View] = {LabellingSummary: view_labelling}
