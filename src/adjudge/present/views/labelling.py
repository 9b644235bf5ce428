"""What people said: who labelled, how rows were drawn, how far raters agree."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge._text import DASH, count, number, percent
from adjudge.present.blocks import Block, Headline, notes_of, table_of
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
    if summary.sampled_by.get("surest"):
        notes.append(
            "labels drawn among the surest calibrate below their cut, and cannot estimate a rate"
        )
    blocks += notes_of(notes)
    if summary.raters:
        raters = table_of(
            summary.raters,
            {
                "rater": lambda rater: rater.rater,
                "labels": lambda rater: number(rater.labels),
                "ties": lambda rater: number(rater.ties),
                "skipped": lambda rater: number(rater.skipped),
                "chose the left side": lambda rater: percent(rater.left_share, 0),
                "95 % interval": _interval,
            },
        )
        blocks.append(raters)
    if summary.agreement:
        agreement = table_of(
            summary.agreement,
            {
                "rater": lambda pair: pair.rater_1,
                "and": lambda pair: pair.rater_2,
                "pairs": lambda pair: number(pair.pairs),
                "agree": lambda pair: percent(pair.raw, 0),
                "kappa": lambda pair: number(pair.kappa, 2),
                "Krippendorff's alpha": lambda pair: number(pair.alpha, 2),
            },
            caption="Agreement on pairs that both labelled",
            text_columns=2,
        )
        blocks.append(agreement)
    return blocks


def _interval(rater: RaterSummary) -> str:
    if rater.left_low is None or rater.left_high is None:
        return DASH
    return f"{percent(rater.left_low, 0)} to {percent(rater.left_high, 0)}"


VIEWS: Mapping[type[Result], View] = {LabellingSummary: view_labelling}
