"""The number that may be reported, with the naive one beside it."""

from __future__ import annotations

from adjudge.present.estimation import estimate_figure
from adjudge.present.report.collect import Collected
from adjudge.present.report.document import (
    Block,
    Number,
    Numbers,
    Section,
    TableBlock,
    Tone,
    Words,
)
from adjudge.present.report.sections.pictures import drawn
from adjudge.present.report.sections.several import more_than_one, together, under_names
from adjudge.present.tables import interval, number
from adjudge.results.estimation import (
    ClassEstimate,
    Estimate,
    GroupedEstimate,
    RateDifference,
    RatePlan,
)

#: So many rates fit into a sentence; more are counted, and stand in the table.
_TOLD_GROUPS = 4


def estimation_section(found: Collected) -> Section | None:
    """Corrected rates, differences and the plan for the next labels."""
    singles, grouped = found.named(Estimate), found.named(GroupedEstimate)
    others = [*found.named(ClassEstimate), *found.named(RateDifference), *found.named(RatePlan)]
    if not (singles or grouped or others):
        return None
    blocks: list[Block] = []
    finding, action, tone = "Rates corrected for the judge's errors.", "", "plain"
    headline: list[tuple[str, str, Tone]] = [_said(one) for _, one in singles] or [
        _said_groups(one) for _, one in grouped
    ]
    if headline:
        finding, action, _ = headline[0]
        tone = "bad" if any(said[2] == "bad" for said in headline) else "plain"
    if len(singles) > 1:
        finding = together(singles, _short, "corrected rates")
    elif len(grouped) > 1 and not singles:
        finding = together(grouped, lambda one: _said_groups(one)[0].rstrip("."), "tables of rates")
    named = more_than_one(singles, grouped, others)
    blocks += under_names(singles, _single, named=named)
    blocks += under_names(grouped, _groups, named=named)
    blocks += under_names(others, lambda result: [Words(lines=tuple(result.lines()))], named=named)
    return Section(
        key="estimate",
        title="The number to report",
        finding=finding,
        action=action,
        blocks=tuple(blocks),
        tone="bad" if tone == "bad" else "plain",
    )


def _said(one: Estimate) -> tuple[str, str, Tone]:
    if one.estimate is None:
        return f"No honest number: {one.reason}", "Label more rows, or use a better judge.", "bad"
    level = f"{100 * one.confidence_level:g} %"
    naive = "" if one.naive is None else f" The judge alone says {one.naive:.3f}."
    return (
        f"The corrected rate is {one.estimate:.3f}, {level} interval "
        f"{interval(one.low, one.high)}.{naive}",
        "Report the corrected rate with its interval; the naive one carries the judge's errors.",
        "plain",
    )


def _short(one: Estimate) -> str:
    if one.estimate is None:
        return "no honest number"
    return f"{one.estimate:.3f} {interval(one.low, one.high)}"


def _single(one: Estimate) -> list[Block]:
    numbers = [
        Number(
            label="corrected",
            value=number(one.estimate),
            note=interval(one.low, one.high) if one.low is not None else "no interval",
            tone="bad" if one.estimate is None else "good",
        ),
        Number(
            label="judge alone (naive)",
            value=number(one.naive),
            note=interval(one.naive_low, one.naive_high) if one.naive is not None else "",
        ),
        Number(
            label="sensitivity",
            value=number(one.sensitivity),
            note=_range(one.sensitivity_low, one.sensitivity_high),
        ),
        Number(
            label="specificity",
            value=number(one.specificity),
            note=_range(one.specificity_low, one.specificity_high),
        ),
        Number(label="human labels", value=number(one.n_calibration)),
        Number(label="rows without one", value=number(one.n_test)),
    ]
    words = (
        f"Method: {one.why}",
        *(f"It assumes: {line}" for line in one.assumptions),
        *one.warnings,
        *(f"{n:,} rows set aside: {why}" for why, n in one.dropped.items() if n),
    )
    picture = drawn(
        lambda: estimate_figure(one), "Report the corrected interval; the naive one is beside it."
    )
    return [Numbers(numbers=tuple(numbers)), Words(lines=words), *picture]


def _said_groups(result: GroupedEstimate) -> tuple[str, str, Tone]:
    told = [
        f"{one.group} {number(one.estimate)} {_range(one.low, one.high)}"
        for one in result.groups
        if isinstance(one, Estimate) and one.estimated
    ]
    got = len(result.groups) - len(result.refused)
    if got == len(told) and 0 < got <= _TOLD_GROUPS:
        finding = f"Corrected rates by {result.by}: {', '.join(told)}."
    else:
        finding = f"Corrected rates for {got} of {len(result.groups)} values of {result.by}."
    if result.refused:
        return finding, "Label more rows of: " + ", ".join(result.refused) + ".", "bad"
    return finding, "Compare intervals, not points.", "plain"


def _groups(result: GroupedEstimate) -> list[Block]:
    rows = tuple(
        (
            str(one.group),
            number(one.estimate),
            _range(one.low, one.high),
            number(one.naive),
            number(one.sensitivity),
            number(one.specificity),
            number(one.n_calibration),
            number(one.n_test),
        )
        for one in result.groups
        if isinstance(one, Estimate)
    )
    by_class = [
        Words(lines=tuple(one.lines())) for one in result.groups if isinstance(one, ClassEstimate)
    ]
    table = TableBlock(
        columns=(
            result.by,
            "corrected",
            f"{100 * result.confidence_level:g} % interval",
            "naive",
            "sensitivity",
            "specificity",
            "labels",
            "rows",
        ),
        rows=rows,
        caption="One confusion matrix for all" if result.pooled else "A confusion matrix for each",
    )
    refused = (f"{one.group}: {one.reason}" for one in result.groups if one.reason)
    told = (*result.all_warnings, *refused)
    warned = [Words(lines=told, tone="bad")] if told else []
    picture = drawn(
        lambda: estimate_figure(result), "Compare intervals; a difference inside them is not one."
    )
    return [*([table] if rows else []), *by_class, *warned, *picture]


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else interval(low, high)
