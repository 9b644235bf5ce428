"""Two prompts of one judge: how often its answers change."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adjudge.present.blocks import Block, Figure, Headline, Note, explain, table_of
from adjudge.present.figures.prompts import prompts_figure
from adjudge.present.text import (
    group_name,
    interval,
    left_out,
    level,
    number,
    percent,
    percent_interval,
    signed,
    span,
)
from adjudge.results.prompts import PromptChange, PromptSensitivity

_Columns = dict[str, Callable[[PromptChange], str]]


def view_prompts(result: PromptSensitivity) -> list[Block]:
    """How often answers change, what asking again explains, and in which direction."""
    ends = f"{level(result.confidence_level)} interval"
    columns: _Columns = {
        "judge, criterion": _name,
        "rows": lambda g: number(g.n),
        result.clustered_by: lambda g: number(g.clusters),
        "changed": lambda g: percent(g.changed),
        ends: lambda g: percent_interval(g.low, g.high),
    }
    what = "scores" if result.answers == "scores" else "P(A)"
    if any(g.distance is not None for g in result.groups):
        columns[f"|difference| of {what}"] = lambda g: number(g.distance, 2)
    blocks: list[Block] = [
        _headline(result),
        table_of(
            result.groups, columns,
            caption=f"{result.answers.capitalize()} that differ between the two prompts",
        ),
    ]  # fmt: skip
    if any(g.again is not None for g in result.groups):
        repeats: _Columns = {
            "judge, criterion": _name,
            "asked twice": lambda g: number(g.repeated),
            "same prompt, asked again": lambda g: percent(g.again),
            "prompt adds": lambda g: percent(g.excess),
            ends: lambda g: percent_interval(g.excess_low, g.excess_high),
        }
        caption = "What asking again with the same prompt changes, and what the new prompt adds"
        blocks.append(table_of(result.groups, repeats, caption=caption))
    if any(g.shift is not None for g in result.groups):
        shifts: _Columns = {
            "judge, criterion": _name,
            "second minus first": lambda g: signed(g.shift, 2),
            ends: lambda g: interval(g.shift_low, g.shift_high, 2),
        }
        blocks.append(table_of(result.groups, shifts, caption="Mean score"))
    lines = [f"first: {result.first}; second: {result.second}"]
    lines += [f"{_name(group)}: {describe_change(group)}" for group in result.groups]
    if not any(g.repeated for g in result.groups):
        lines.append(
            "each prompt was asked once: part of the change can be the judge's randomness; ask "
            "with --repeats 3 to measure it"
        )
    blocks += [Note([*lines, *left_out(result.dropped)]), *explain(result.assumptions)]
    caption = "Answers that change with the prompt"
    if any(g.again is not None for g in result.groups):
        caption += ", and (rings) when the same prompt is asked again"
    return [*blocks, Figure("changes", partial(prompts_figure, result), f"{caption}.")]


def _name(group: PromptChange) -> str:
    return group_name(group.judge, group.criterion)


def _headline(result: PromptSensitivity) -> Headline:
    shares = [group.changed for group in result.groups]
    text = (
        f"{span(percent(min(shares)), percent(max(shares)))} of {result.answers} change with the "
        "prompt"
    )
    tested = [g for g in result.groups if g.excess is not None or g.shift is not None]
    matter = sum(group.more_than_again or group.shifted for group in tested)
    if not tested:
        text += "; asked once, so part of it can be the judge's randomness"
    elif len(tested) == 1:
        text += ": the prompt matters" if matter else ": the prompt is not shown to matter"
    else:
        text += f": it is shown to matter for {matter} of {len(tested)} judges and criteria"
    return Headline(text, tone="bad" if matter else "plain")


def describe_change(group: PromptChange) -> str:
    """What the test shows about one judge and criterion."""
    parts = [f"{percent(group.changed)} change"]
    if group.excess is not None:
        beyond = f"{percent(group.excess)} more than asking again changes"
        if group.more_than_again:
            parts.append(f"{beyond}: the prompt matters")
        else:
            parts.append(f"{beyond}, a difference that can be chance")
    if group.shift is not None:
        higher = "higher" if group.shift > 0 else "lower"
        if group.shifted:
            parts.append(
                f"scores are {number(abs(group.shift), 2)} points {higher} with the second"
            )
        else:
            parts.append("the mean score is not shown to move")
    return "; ".join(parts)
