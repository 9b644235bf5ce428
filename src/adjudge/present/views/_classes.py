"""Shares of several classes, and how a rate is written in a headline."""

from __future__ import annotations

from collections.abc import Callable
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
from adjudge.present.figures.estimation import class_figure
from adjudge.present.text import count, interval, left_out, level, number
from adjudge.results.estimation import ClassEstimate, ClassRate

#: At most this many rates fit into a sentence; more are counted, and are in the table.
IN_A_SENTENCE = 4


def sentence(group: str | None, text: str) -> str:
    """A headline: with the group's name before it, or with a capital letter."""
    return text[:1].upper() + text[1:] if group is None else f"{group}: {text}"


def rate_text(value: float | None, low: float | None, high: float | None) -> str:
    """A rate with its interval."""
    return f"{number(value)} {interval(low, high)}"


def view_classes(one: ClassEstimate) -> list[Block]:
    """A row for each class."""
    return [
        _class_headline(one),
        *warnings_of(one.warnings),
        class_table(one),
        Note([f"method: {one.why}", *left_out(one.dropped)]),
        *explain(one.assumptions),
        Figure(
            "shares",
            partial(class_figure, one),
            f"Corrected and naive share of each class, with {level(one.confidence_level)} "
            "intervals of the corrected ones.",
        ),
    ]


def _class_headline(one: ClassEstimate) -> Headline:
    if one.reason is not None:
        text = f"no {one.method} estimate: {one.reason}"
        return Headline(sentence(one.group, text), tone="bad")
    text = f"class shares by {one.method}, {level(one.confidence_level)} intervals"
    if len(one.classes) <= IN_A_SENTENCE:
        shown = (f"{c.label} {rate_text(c.estimate, c.low, c.high)}" for c in one.classes)
        text += f": {', '.join(shown)}"
    return Headline(sentence(one.group, text))


def class_table(one: ClassEstimate) -> Table:
    """A line for each class."""
    columns: dict[str, Callable[[ClassRate], str]] = {
        "class": lambda c: c.label,
        "share": lambda c: number(c.estimate),
        f"{level(one.confidence_level)} interval": lambda c: interval(c.low, c.high),
        "naive share": lambda c: number(c.naive),
        "people alone": lambda c: interval(c.human_only_low, c.human_only_high),
        "recall": lambda c: number(c.recall),
        "labels": lambda c: number(c.n_calibration),
    }
    caption = f"{count(one.n_calibration, 'human label')}, {count(one.n_test, 'test row')}"
    if one.condition_number is not None:
        caption += f"; condition number of the confusion matrix {number(one.condition_number, 2)}"
    return table_of(one.classes, columns, caption=caption)
