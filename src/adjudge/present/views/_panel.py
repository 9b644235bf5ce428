"""Rates from several judges: a line for each group, next to what one judge or people give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from adjudge.present.blocks import (
    Block,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    table_of,
    warnings_of,
)
from adjudge.present.figures.estimation import panel_figure
from adjudge.present.text import DASH, count, interval, left_out, level, number, percent, span
from adjudge.results.panel import PanelEstimate, PanelRate


def view_panel(result: PanelEstimate) -> list[Block]:
    """The rates, how much the judges together narrow them, and what is promised."""
    reasons = [f"{_name(one)}: {one.reason}" for one in result.groups if one.reason is not None]
    return [
        _headline(result),
        *warnings_of(result.all_warnings),
        _table(result),
        Note(
            [
                *reasons,
                f"Promise: {result.promise}",
                *left_out(result.dropped),
            ]
        ),
        *explain(result.assumptions, promises=_promises(result)),
        Figure(
            "rates",
            partial(panel_figure, result),
            f"{count(len(result.judges), 'judge')} together and ppi++ with {result.judges[0]} "
            f"alone, with {level(result.confidence_level)} intervals.",
        ),
    ]


def _promises(result: PanelEstimate) -> list[str]:
    return [] if result.share_promise is None else [f"shared interval: {result.share_promise}"]


def _headline(result: PanelEstimate) -> Headline:
    given = [one for one in result.groups if one.estimate is not None]
    judges = ", ".join(result.judges)
    what = f"{count(len(given), 'rate')} from {count(len(result.judges), 'judge')} ({judges})"
    if len(result.groups) > 1:
        what += f" by {result.by}"
    together = [one.narrowing for one in given if one.method == "several judges"]
    shares = sorted(share for share in together if share is not None)
    if shares:
        widths = span(percent(shares[0], 0), percent(shares[-1], 0))
        what += f": {widths} of the width of ppi++ with {result.judges[0]} alone"
        if len(shares) < len(given):
            what += f" in {len(shares)} of {count(len(given), 'group')}"
    refused = [_name(one) for one in result.groups if one.estimate is None]
    if refused:
        names = ", ".join(refused)
        return Headline(what, f"No estimate for {names}: the reasons are below.", tone="bad")
    return Headline(what, "Report them as approximate, with their intervals.")


def _name(one: PanelRate) -> str:
    return "all rows" if one.group is None else one.group


def _table(result: PanelEstimate) -> Table:
    said = level(result.confidence_level)
    shared, alone, people = "shared interval", f"ppi++, {result.judges[0]} alone", "people alone"
    columns: dict[str, Callable[[PanelRate], str]] = {
        "group": _name,
        "rate": lambda one: number(one.estimate),
        f"{said} interval": lambda one: interval(one.low, one.high) + " !" * bool(one.warnings),
        shared: lambda one: interval(one.shared_low, one.shared_high),
        alone: lambda one: interval(one.ppi_low, one.ppi_high),
        "width": lambda one: DASH if one.narrowing is None else percent(one.narrowing, 0),
        people: lambda one: interval(one.human_only_low, one.human_only_high),
        "method": lambda one: one.method,
        "labels": lambda one: number(one.n_labels),
        "test rows": lambda one: number(one.n_test),
    }
    if result.share_promise is None:
        del columns[shared]
    marks = " (!: read the warning)" if any(one.warnings for one in result.groups) else ""
    table = table_of(
        result.groups,
        columns,
        caption=f"width: as a share of that of ppi++ with {result.judges[0]} alone{marks}",
        optional=["test rows", "method", people, "labels", alone],
    )
    # `by` comes from data: as a key it could be the name of another column.
    return replace(table, columns=(result.by or "rows", *table.columns[1:]))
