"""Terminal views of estimates and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.present.tables import interval, number, table
from adjudge.results.base import Result
from adjudge.results.estimation import (
    ClassEstimate,
    Estimate,
    GroupedEstimate,
    RatePlan,
)

if TYPE_CHECKING:
    from rich.console import RenderableType


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


def _groups(result: GroupedEstimate) -> list[RenderableType]:
    parts: list[RenderableType] = []
    binary = [one for one in result.groups if isinstance(one, Estimate)]
    if binary:
        parts.append(
            table(
                ("group", "naive", "rate", "interval", "sens.", "spec.", "labels", "rows"),
                [
                    (
                        one.group,
                        number(one.naive),
                        number(one.estimate),
                        _range(one.low, one.high),
                        number(one.sensitivity, 2),
                        number(one.specificity, 2),
                        f"{one.n_calibration_positive}/{one.n_calibration_negative}",
                        number(one.n_test),
                    )
                    for one in binary
                ],
                title=f"{result.method}, {result.interval}, "
                f"{100 * result.confidence_level:g} % by {result.by}"
                + (", one confusion matrix for all" if result.pooled else "")
                + " (labels: positive/negative)",
            )
        )
    parts += [
        "\n".join((f"{one.group}:", *one.lines()))
        for one in result.groups
        if isinstance(one, ClassEstimate)
    ]
    told = [f"{one.group}: {one.reason}" for one in binary if one.estimate is None]
    told += [f"warning: {text}" for text in result.warnings]
    flagged: dict[str, list[str]] = {}
    for one in binary:
        for text in one.warnings:
            flagged.setdefault(text, []).append(str(one.group))
    told += [f"warning ({', '.join(names)}): {text}" for text, names in flagged.items()]
    shifted = [one.group for one in binary if one.label_shift and one.label_shift.rules_out]
    if shifted:
        told.append(
            f"label shift in {', '.join(map(str, shifted))}: human-only, difference, conditional "
            "and ppi++ are ruled out there"
        )
    if binary:
        told.append(f"method: {binary[0].why}")
        told += [f"assumes: {text}" for text in binary[0].assumptions]
    told += [f"set aside: {count} rows, {reason}" for reason, count in result.dropped.items()]
    return [*parts, *told]


def plan_view(plan: RatePlan) -> list[RenderableType]:
    """What `adjudge plan rate` prints for a person."""
    parts: list[RenderableType] = [plan.recommendation]
    if plan.reason is not None:
        parts.append(plan.reason)
    if plan.m0 is not None:
        draws = "never" if plan.expected_draws is None else f"about {plan.expected_draws:,}"
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
                f"{plan.labels} labels of {plan.n_test:,} rows",
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
    shown = "never" if region is None else f"for rates in {interval(*region)}"
    told = []
    if plan.variance_ratio is not None and plan.rate is not None:
        told.append(
            f"with random labels the corrected rate has {plan.variance_ratio:.2f} times the "
            f"variance of people alone at rate {plan.rate:.3f}: "
            + ("the judge helps" if plan.judge_helps else "people alone do better")
        )
        told.append(
            f"Proposition 6.1 (q0 = q1 = {(plan.sensitivity + plan.specificity) / 2:.3f}, endless "
            f"test rows): the judge helps {shown}"
        )
    if plan.human_only_labels is not None:
        told.append(f"people alone need {plan.human_only_labels:,} labels for the width asked for")
    if plan.ppi_labels is not None:
        told.append(f"ppi++ needs {plan.ppi_labels:,} random labels for it")
    told += [f"how to draw: {text}" for text in plan.how_to_draw]
    told += [f"assumes: {text}" for text in plan.assumptions]
    return [*parts, *told, *(f"warning: {text}" for text in plan.warnings)]
