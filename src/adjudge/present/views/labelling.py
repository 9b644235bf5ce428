"""Human labels: who labelled, how rows were drawn, how far raters agree."""

from __future__ import annotations

from collections.abc import Callable

from adjudge.present.blocks import Block, Headline, Table, notes_of, table_of
from adjudge.present.text import DASH, clip, count, number, percent
from adjudge.results.labelling import LabellingSummary, RaterSummary

_MOST_COMMENTS = 20
_LONGEST = 200


def view_labelling(summary: LabellingSummary) -> list[Block]:
    """Labels by rater, and agreement for each two raters."""
    blocks: list[Block] = [
        Headline(
            f"{count(summary.n_labels, 'label')} on {summary.pairs_labelled:,} of "
            f"{count(summary.pairs, _noun(summary))}"
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
        blocks.append(table_of(summary.raters, _rater_columns(summary)))
    if summary.agreement:
        agreement = table_of(
            summary.agreement,
            {
                "rater": lambda pair: pair.rater_1,
                "and": lambda pair: pair.rater_2,
                f"{_noun(summary)}s": lambda pair: number(pair.pairs),
                "agree": lambda pair: percent(pair.raw, 0),
                "kappa": lambda pair: number(pair.kappa, 2),
                "Krippendorff's alpha": lambda pair: number(pair.alpha, 2),
            },
            caption=f"Agreement on {_noun(summary)}s that both labelled",
            text_columns=2,
        )
        blocks.append(agreement)
    if summary.comments:
        blocks.append(_comments(summary))
    return blocks


def _comments(summary: LabellingSummary) -> Table:
    """The first comments, each on one line; the file of the summary has all of them."""
    n = len(summary.comments)
    shown = summary.comments[:_MOST_COMMENTS]
    return table_of(
        shown,
        {
            _noun(summary): lambda one: one.id,
            "rater": lambda one: one.rater,
            "label": lambda one: one.label or "skipped",
            "comment": lambda one: clip(" ".join(one.comment.split()), _LONGEST),
        },
        caption="Comments" if len(shown) == n else f"The first {len(shown)} of {n:,} comments",
        text_columns=4,
    )


def _noun(summary: LabellingSummary) -> str:
    return "pair" if summary.about == "pairs" else "answer"


def _rater_columns(summary: LabellingSummary) -> dict[str, Callable[[RaterSummary], str]]:
    columns: dict[str, Callable[[RaterSummary], str]] = {
        "rater": lambda rater: rater.rater,
        "labels": lambda rater: number(rater.labels),
    }
    if summary.about == "pairs":
        columns["ties"] = lambda rater: number(rater.ties)
    columns["skipped"] = lambda rater: number(rater.skipped)
    if summary.about == "grades":
        columns["passed"] = lambda rater: percent(rater.mean, 0)
    elif summary.about == "scores":
        columns["mean score"] = lambda rater: number(rater.mean, 2)
    else:
        columns["chose the left side"] = lambda rater: percent(rater.left_share, 0)
        columns["95 % interval"] = _interval
    return columns


def _interval(rater: RaterSummary) -> str:
    if rater.left_low is None or rater.left_high is None:
        return DASH
    return f"{percent(rater.left_low, 0)} to {percent(rater.left_high, 0)}"
