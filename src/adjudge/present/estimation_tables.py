"""Terminal views of estimates and plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console

from adjudge.present.tables import interval, number, safe, table
from adjudge.results.base import Result
from adjudge.results.estimation import (
    ClassEstimate,
    Estimate,
    GroupedEstimate,
    RatePlan,
)

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def estimate_view(result: Result) -> list[RenderableType]:
    """What `adjudge estimate` prints for a person."""
    if isinstance(result, GroupedEstimate):
        return _groups(result)
    if isinstance(result, Estimate):
        return _single(result)
    return [str(result)]


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None else interval(low, high)


def _single(one: Estimate) -> list[RenderableType]:
    told = [str(one)]
    if not one.alternatives:
        return list(told)
    rows = [
        (f"* {one.method}", number(one.estimate), _range(one.low, one.high), one.assumptions[0])
    ]
    rows += [
        (
            f"  {other.method}" + (" (ruled out)" if other.ruled_out else ""),
            number(other.estimate),
            _range(other.low, other.high),
            other.reason or other.assumption,
        )
        for other in one.alternatives
    ]
    made = table(("method", "rate", "interval", "assumes"), rows, title="the others beside it")
    made.columns[-1].justify = "left"
    return [*told, made]


#: Columns of the table by group that go first when the terminal is narrow.
_FIRST_TO_GO = ("rows", "sens/spec", "labels", "naive")


def _group_table(result: GroupedEstimate, groups: Sequence[Estimate], width: int) -> Table:
    """One line per group: whole names, whole intervals, and as many other columns as fit."""
    columns = {
        "group": [safe(one.group) for one in groups],
        "naive": [number(one.naive) for one in groups],
        "rate": [number(one.estimate) for one in groups],
        "interval": [_range(one.low, one.high) + (" !" * bool(one.warnings)) for one in groups],
        "sens/spec": [
            f"{number(one.sensitivity, 2)}/{number(one.specificity, 2)}" for one in groups
        ],
        "labels": [f"{one.n_calibration_positive}/{one.n_calibration_negative}" for one in groups],
        "rows": [number(one.n_test) for one in groups],
    }
    if all(one.sensitivity is None and one.specificity is None for one in groups):
        del columns["sens/spec"]
    left_out = []
    for name in _FIRST_TO_GO:
        if _wide(columns) <= width:
            break
        if columns.pop(name, None) is not None:
            left_out.append(name)
    notes = [] if "labels" in left_out else ["labels: positive/negative"]
    if any(one.warnings for one in groups):
        notes.append("!: read the warning")
    if left_out:
        notes.append(f"no room here for {', '.join(reversed(left_out))}: see --json")
    made = table(
        tuple(columns),
        zip(*columns.values(), strict=True),
        title=f"{result.method}, {result.interval}, {100 * result.confidence_level:g} % "
        f"by {result.by}"
        + (", one confusion matrix for all" if result.pooled else "")
        + f" ({'; '.join(notes)})",
    )
    for column in made.columns[1:]:
        column.no_wrap = True
        if str(column.header) == "interval":
            column.justify = "left"
    return made


def _wide(columns: Mapping[str, Sequence[str]]) -> int:
    """Width of the printed table: the widest cell of each column, and the box."""
    cells = (max(map(cell_len, (name, *values))) for name, values in columns.items())
    return sum(cells) + 3 * (len(columns) - 1) + 2


def _groups(result: GroupedEstimate) -> list[RenderableType]:
    parts: list[RenderableType] = []
    binary = [one for one in result.groups if isinstance(one, Estimate)]
    if binary:
        parts.append(_group_table(result, binary, Console().width))
    parts += ["\n".join(one.shares()) for one in result.groups if isinstance(one, ClassEstimate)]
    told = [f"{one.group}: {one.reason}" for one in binary if one.estimate is None]
    told += [f"warning: {text}" for text in result.all_warnings]
    shifted = [one.group for one in binary if one.label_shift and one.label_shift.rules_out]
    if shifted:
        told.append(
            f"label shift in {', '.join(map(str, shifted))}: human-only, difference, conditional "
            "and ppi++ are ruled out there"
        )
    told.append(f"method: {result.groups[0].why}")
    told += [f"assumes: {text}" for text in result.groups[0].assumptions]
    told += [f"set aside: {count} rows, {reason}" for reason, count in result.dropped.items()]
    return [*parts, *told]


def plan_view(plan: RatePlan) -> list[RenderableType]:
    """What `adjudge plan rate` prints for a person."""
    parts: list[RenderableType] = [plan.recommendation]
    if plan.reason is not None and plan.reason not in plan.recommendation:
        parts.append(plan.reason)
    if plan.m0 is not None:
        draws = "never" if plan.expected_draws is None else f"{plan.expected_draws:,} draws"
        parts.append(
            table(
                ("how the labels are drawn", "labels", "width", "then use"),
                [
                    (
                        f"by human class, Algorithm 1: {plan.m1} of 1, {plan.m0} of 0",
                        draws,
                        number(plan.expected_width),
                        "misclassification",
                    ),
                    (
                        f"by human class, least variance: {plan.optimal_m1} of 1, "
                        f"{plan.optimal_m0} of 0",
                        "",
                        number(plan.optimal_width),
                        "misclassification",
                    ),
                    (
                        "at random",
                        number(plan.random_m),
                        number(plan.random_width),
                        "misclassification",
                    ),
                    ("at random", number(plan.random_m), number(plan.ppi_width), "ppi++"),
                    (
                        "at random",
                        number(plan.random_m),
                        number(plan.human_only_width),
                        "human-only",
                    ),
                    (
                        f"by verdict: {plan.verdict_m1} of 1, {plan.verdict_m0} of 0",
                        number(plan.labels),
                        number(plan.verdict_width),
                        "conditional",
                    ),
                ],
                title=f"expected width of a {100 * plan.confidence_level:g} % interval with "
                f"{plan.labels} labels in all and {plan.n_test:,} test rows",
            )
        )
    if plan.next_labels:
        parts.append(
            table(
                ("next labels", "more", "positive", "negative", "width"),
                [
                    (s.how, number(s.extra), number(s.m1), number(s.m0), number(s.expected_width))
                    for s in plan.next_labels
                ],
                title="what more labels would buy (misclassification)",
            )
        )
    region = plan.proposition_61
    shown = "never helps" if region is None else f"helps for rates in {interval(*region)}"
    told = []
    if plan.variance_ratio is not None and plan.rate is not None:
        told.append(
            f"with random labels the corrected rate has {plan.variance_ratio:.2f} times the "
            f"variance of people alone at rate {plan.rate:.3f}: "
            + ("the judge helps" if plan.judge_helps else "people alone do better")
        )
        told.append(
            f"Proposition 6.1 (q0 = q1 = {(plan.sensitivity + plan.specificity) / 2:.3f}, endless "
            f"test rows): the judge {shown}"
        )
    told += [f"how to draw: {text}" for text in plan.how_to_draw]
    told += [f"assumes: {text}" for text in plan.assumptions]
    return [*parts, *told, *(f"warning: {text}" for text in plan.warnings)]
