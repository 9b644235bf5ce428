"""Which verdicts can be trusted: policies, what select did, single rules."""

from __future__ import annotations

from adjudge.present.blocks import (
    Block,
    Fact,
    Facts,
    Headline,
    Note,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.text import count, number, percent
from adjudge.present.views._cascade import stage_table
from adjudge.present.views._policy import (
    error_share,
    promise_note,
    promises_of,
)
from adjudge.records import GIVEN, LABELLED
from adjudge.results.rules import BatchSelection, Threshold
from adjudge.results.selection import Selection
from adjudge.selection.guarantees import all_guarantees


def view_selection(selection: Selection) -> list[Block]:
    """What was accepted, whether the new scores look like the old ones, and the promise."""
    blocks: list[Block] = [_selection_headline(selection)]
    if len(selection.groups) > 1:
        groups = table_of(
            selection.groups,
            {
                "judge": lambda g: g.judge,
                "group": lambda g: g.group or "",
                "rows": lambda g: number(g.n),
                "accepted": lambda g: number(g.n_accepted),
                "share": lambda g: percent(g.accepted_share),
            },
            text_columns=2,
        )
        blocks.append(groups)
    blocks += stage_table(selection)
    blocks.append(Note([_drift(selection)], tone="bad" if selection.drift.flagged else "plain"))
    blocks += warnings_of(selection.warnings)
    blocks += [
        promise_note(selection),
        *explain(selection.assumptions, promises=promises_of(selection)),
    ]
    lines = []
    if selection.n_overturned is not None:
        lines.append(
            f"accepted is about learned_verdict, which differs from the judge's verdict in "
            f"{selection.n_overturned:,} of {count(selection.n_accepted, 'accepted row')}"
        )
    lines += [
        f"not accepted, {count(rows, 'row')}: {reason}"
        for reason, rows in selection.dropped.items()
        if rows
    ]
    return blocks + notes_of(lines)


def _selection_headline(selection: Selection) -> Headline:
    text = (
        f"{selection.n_accepted:,} of {count(selection.n, GIVEN[selection.about])} accepted "
        f"({percent(selection.accepted_share)}), {selection.guarantee} at alpha "
        f"{selection.alpha:g}"
    )
    known = {one.name: one.summary for one in all_guarantees()}
    if selection.guarantee in known:
        text += f" ({known[selection.guarantee]})"
    if selection.drift.flagged:
        some = f"label some of the new {LABELLED[selection.about]} and calibrate again"
        action = f"The promise might not hold: {some}."
    elif not selection.n_accepted:
        action = "Give all of them to people."
    elif selection.n_accepted == selection.n:
        action = ""
    else:
        action = f"Give the other {selection.n - selection.n_accepted:,} to people."
    bad = selection.drift.flagged or not selection.n_accepted
    return Headline(text, action, tone="bad" if bad else "plain")


def _drift(selection: Selection) -> str:
    drift = selection.drift
    if drift.statistic is None or drift.p_value is None:
        return f"drift not tested: {drift.note}"
    where = f" in {drift.where}" if drift.where and len(selection.groups) > 1 else ""
    note = "" if drift.note is None else f"; {drift.note}"
    return (
        f"{'DRIFT' if drift.flagged else 'no drift detected'}: the distributions of new and "
        f"calibration scores differ by at most {drift.statistic:.3f}{where} "
        f"(Kolmogorov-Smirnov, p = {drift.p_value:.2g}){note}"
    )


# --- single rules ----------------------------------------------------------------------------


def view_threshold(rule: Threshold) -> list[Block]:
    """One rule and what it does to its own calibration rows."""
    text = {"all": "every verdict", "none": "nothing: no threshold passes"}.get(
        rule.accepts, f"verdicts with an uncertainty of at most {rule.threshold}"
    )
    accepted = f"{rule.n_accepted:,} of {rule.n_calibration:,}"
    wrong = (
        f"{rule.n_accepted_errors:,} of {rule.n_accepted:,}; of all "
        f"{rule.n_calibration:,} rows {rule.n_errors:,} are wrong"
    )
    return [
        Headline(
            f"{rule.method} at alpha {rule.alpha:g} accepts {text}",
            tone="plain" if rule.feasible else "bad",
        ),
        Facts(
            [
                Fact("coverage on the calibration labels", percent(rule.coverage), accepted),
                Fact("error share", error_share(rule), wrong),
            ]
        ),
    ]


def view_batch(batch: BatchSelection) -> list[Block]:
    """What was accepted of one batch."""
    facts = [
        Fact("calibration rows", number(batch.n_calibration), f"{batch.n_errors:,} of them wrong")
    ]
    if batch.effective_size is not None:
        facts.append(Fact("effective size under the weights", number(batch.effective_size, 1)))
    return [
        Headline(
            f"{batch.method} at alpha {batch.alpha:g}: {batch.n_accepted:,} of "
            f"{count(batch.n, 'row')} accepted",
            tone="plain" if batch.n_accepted else "bad",
        ),
        Facts(facts),
    ]
