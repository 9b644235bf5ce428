"""Plans for labels: what a width costs, every way to draw the labels, the effect of more labels."""

from __future__ import annotations

from functools import partial

from adjudge.present.blocks import (
    Block,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figures.estimation import plan_figure
from adjudge.present.text import count, interval, level, number
from adjudge.results.estimation import RatePlan


def view_plan(plan: RatePlan) -> list[Block]:
    """What the width costs, every way to draw the labels, the effect of more labels."""
    blocks: list[Block] = [
        Headline(plan.recommendation, tone="bad" if plan.m0 is None else "plain"),
        *warnings_of(plan.warnings),
    ]
    if plan.reason is not None and plan.reason not in plan.recommendation:
        blocks.append(Note([plan.reason], tone="bad"))
    if plan.m0 is not None:
        blocks.append(_ways(plan))
    if plan.next_labels:
        table = table_of(
            plan.next_labels,
            {
                "next labels": lambda step: step.how,
                "more": lambda step: number(step.extra),
                "positive": lambda step: number(step.m1),
                "negative": lambda step: number(step.m0),
                "width": lambda step: number(step.expected_width),
            },
            caption="What more labels would buy (misclassification)",
        )
        blocks.append(table)
    draw = (f"how to draw: {text}" for text in plan.how_to_draw)
    blocks += notes_of([*_worth(plan), *draw])
    blocks += explain(plan.assumptions)
    if plan.rate is not None:
        caption = (
            f"Expected width of the {level(plan.confidence_level)} interval by number of labels, "
            "for each way to use them."
        )
        blocks.append(Figure("widths", partial(plan_figure, plan), caption))
    return blocks


def _ways(plan: RatePlan) -> Table:
    """Every way to draw that many labels, and the width of the interval of each method."""
    optimal = _split(plan.optimal_m1, plan.optimal_m0)
    corrected, any_class = "misclassification", number(plan.random_m)
    rows = [
        ("by human class (Algorithm 1)", corrected, _split(plan.m1, plan.m0), plan.expected_width),
        ("by human class (least variance)", corrected, optimal, plan.optimal_width),
        ("at random", corrected, any_class, plan.random_width),
        ("at random", "conditional", *_random(plan)),
        ("at random", "ppi++", any_class, plan.ppi_width),
        ("at random", "human-only", any_class, plan.human_only_width),
        ("by verdict", "conditional", _split(plan.verdict_m1, plan.verdict_m0), plan.verdict_width),
    ]
    draws = "no number of" if plan.expected_draws is None else f"about {plan.expected_draws:,}"
    return Table(
        ("how the labels are drawn", "method", "labels", "width"),
        [(how, method, labels, number(width)) for how, method, labels, width in rows],
        caption=f"Expected width of a {level(plan.confidence_level)} interval with "
        f"{count(plan.labels or 0, 'label')} in all and {count(plan.n_test, 'test row')}; "
        f"{draws} random draws fill both classes of Algorithm 1",
        text_columns=3,
    )


def _random(plan: RatePlan) -> tuple[str, float | None]:
    """Random labels for conditional: as many as the width needs, if one was asked for."""
    return number(plan.conditional_labels or plan.random_m), plan.conditional_width


def _split(ones: int | None, zeros: int | None) -> str:
    return f"{number(ones)} positive, {number(zeros)} negative"


def _worth(plan: RatePlan) -> list[str]:
    """Whether the judge makes the interval shorter."""
    if plan.variance_ratio is None or plan.rate is None:
        return []
    region = plan.proposition_61
    quality = number((plan.sensitivity + plan.specificity) / 2)
    return [
        f"with random labels misclassification has {number(plan.variance_ratio, 2)} times the "
        f"variance of people alone at rate {number(plan.rate)}: "
        + ("it does better" if plan.judge_helps else "people alone do better than it"),
        f"Proposition 6.1 (misclassification, q0 = q1 = {quality}, infinitely many test rows): the "
        "judge " + ("never helps" if region is None else f"helps for rates in {interval(*region)}"),
        *_least_bias(plan.proposition_51, quality),
    ]


def _least_bias(labels: int | None, quality: str) -> list[str]:
    """The number of labels from which a correction lowers the bias, and its condition."""
    if labels is None:
        return []
    return [
        f"Proposition 5.1 (q0 = q1 = {quality}, as many labels of either class, a second-order "
        f"approximation): from {labels:,} labels on the corrected rate is less biased than the "
        "judge's rate, at every rate; its width is not compared"
    ]
