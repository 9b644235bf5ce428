"""Several groups: a rate for each, with its own confusion matrix or one for all of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError
from adjudge.estimation.classes import ClassEstimate, class_table, estimate_classes
from adjudge.estimation.estimators import known_estimator
from adjudge.estimation.estimators.base import Outcome
from adjudge.estimation.rate import (
    Estimate,
    EstimateResult,
    RateInterval,
    Request,
    estimate_rate,
    exact_intervals,
)
from adjudge.estimation.rate_view import (
    IN_A_SENTENCE,
    SHOWN,
    assumes_of,
    condition_of_people,
    describe_outside,
    describe_rate,
    explain_simultaneous,
    level_text,
    list_names,
    offer_declaration,
    rate_table,
    sentence,
    with_groups,
)
from adjudge.estimation.sample import Sample, counts_of, freedom_of_clusters
from adjudge.estimation.sharing import shared_intervals
from adjudge.present.blocks import Block, Heading, Headline, Note, Tone
from adjudge.present.result import Count, frozen
from adjudge.present.text import count, level
from adjudge.validation import IntArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

POOLING = (
    "one confusion matrix for all groups is correct only if the judge has the same error rates on "
    "each of them; otherwise the interval misses the truth even with many rows (measured on "
    "trivia answers of eight models: a 95 % interval covered 40 % for one of them). Calibrate per "
    "group unless you have a reason not to"
)
SHARED = (
    "the shared interval uses the other groups' rates as a prior for this one (Yu and Hoff): it "
    "keeps the level of the plain one for any prior, and is narrower if the groups are alike"
)


@frozen
class GroupedEstimate(EstimateResult):
    """One estimate per group; `pooled` is true if they share one confusion matrix."""

    kind: ClassVar[str] = "grouped_estimate"

    method: str
    interval_method: str
    by: str
    pooled: bool
    groups: tuple[Estimate | ClassEstimate, ...]
    seed: Count | None = None

    @property
    def rates(self) -> tuple[Estimate, ...]:
        """The groups' rates; none if the groups have shares of classes."""
        return tuple(group for group in self.groups if isinstance(group, Estimate))

    @property
    def refused(self) -> tuple[str, ...]:
        """Groups without a number."""
        return tuple(str(group.group) for group in self.groups if not group.estimated)

    @property
    def n(self) -> int:
        """All rows of all groups, with and without a label."""
        return sum(group.n for group in self.groups)

    @property
    def n_labels(self) -> int:
        """The rows with a label, which calibrate."""
        return sum(group.n_labels for group in self.groups)

    def _parts(self) -> Sequence[Any]:
        return [part for group in self.groups for part in group._parts()]

    def intervals(self) -> list[RateInterval]:
        """The rate of each group with its interval."""
        return [rate for group in self.groups for rate in group.intervals()]

    def view(self) -> list[Block]:
        """A row for each group, or a table of classes for each."""
        rates = self.rates
        more = len(self.groups) - SHOWN
        table = partial(rate_table, rates[:SHOWN], self.by, pooled=self.pooled)
        tables: list[Block] = [table(), table(detail=True)] if rates else []
        for group in self.groups[:SHOWN]:
            if isinstance(group, ClassEstimate):
                tables += [Heading(str(group.group)), class_table(group)]
        if more > 0:
            tables.append(
                Note([f"{count(more, 'more group')} in the result: -o FILE.json keeps all"])
            )
        notes = with_groups((each.group, each.reason) for each in self.groups if each.reason)
        details = [f"method: {self.groups[0].why}"]
        shared = any(rate.shared_interval is not None for rate in rates)
        promises = explain_simultaneous(rates, self.confidence_level)
        promises += [SHARED] if shared else []
        narrower = [rate for rate in rates if rate.people_are_narrower]
        if narrower:
            names = list_names([rate.group for rate in narrower])
            condition = condition_of_people(narrower[0])
            details.append(f"people alone give a narrower interval for {names}{condition}")
        caption = (
            f"The {known_estimator(self.method).title} by {self.by}, with "
            f"{level(self.confidence_level)} intervals, and the judge alone."
        )
        return self.show(
            _group_headline(self),
            *tables,
            notes=[*notes, *offer_declaration(rates)],
            assumptions=self.groups[0].assumptions,
            assumes=assumes_of(self.method, rates[0].labels_drawn) if rates else "",
            promises=promises,
            others=details,
            figure=("rates", group_figure, caption) if rates else None,
        )


# --- the numbers ---


def estimate_groups(rows: Grades, sample: Sample | None, request: Request) -> GroupedEstimate:
    """One estimate for each group, or the shares of all classes if there is no sample."""
    names = rows.group_names
    groups: list[Estimate | ClassEstimate] = []
    if sample is None:
        for code, name in enumerate(names):
            members = np.asarray(rows.groups == code)
            calibrating = np.ones_like(members) if request.pool else members
            groups.append(estimate_classes(rows, request, members, calibrating, group=name))
    elif rows.groups is not None:
        groups += _rates_of(sample, rows.groups, names, request)
    return GroupedEstimate(
        method=request.estimator.name,
        interval_method=groups[0].interval_method,
        confidence_level=request.confidence_level,
        by=str(rows.by),
        pooled=request.pool,
        groups=tuple(groups),
        warnings=(POOLING,) if request.pool and len(names) > 1 else (),
        dropped=rows.dropped,
        seed=None if sample is None else request.known_seed,
    )


def _rates_of(
    sample: Sample, groups: IntArray, names: Sequence[str], request: Request
) -> list[Estimate]:
    """The rate of each group, by its code."""
    with _no_garbage():
        return _each_rate(sample, groups, names, request)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Without garbage collection: results have no cycles, and the more there are, the longer it
    takes to look at all of them again and again (two fifths of the time with 100,000 groups).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _each_rate(
    sample: Sample, groups: IntArray, names: Sequence[str], request: Request
) -> list[Estimate]:
    size = len(names)
    unpooled: Iterator[Sample | None] = repeat(None)
    if request.pool:
        unpooled = chain.from_iterable(sample.split(groups, size))
    estimate = partial(estimate_rate, request=request, checks=size)
    # Many small groups have the same counts, and so the same rate.
    by_counts = sample.independent and sample.scale == "binary" and not sample.graded
    by_counts &= request.known_seed is not None
    rates: list[Estimate] = []
    outcomes: list[Outcome] = []
    freedoms: list[float] = []
    for samples in sample.split(groups, size, pool=request.pool):
        rate_by_counts: dict[object, Estimate] = {}
        for group, exact in zip(samples, exact_intervals(samples, request), strict=True):
            alone = next(unpooled)
            name = names[len(rates)]
            if not by_counts:
                rates.append(estimate(group, group=name, unpooled=alone, exact=exact))
            else:
                key = (counts_of(group), None if alone is None else counts_of(alone))
                if key not in rate_by_counts:
                    rate_by_counts[key] = estimate(group, unpooled=alone, exact=exact)
                rates.append(replace(rate_by_counts[key], group=name))
            if request.share:
                level = request.confidence_level
                outcomes.append(request.estimator.estimate(group, confidence_level=level))
                freedoms.append(freedom_of_clusters(group) or group.m - 1)
    if not request.share:
        return rates
    shared = shared_intervals(outcomes, freedoms, confidence_level=request.confidence_level)
    return [replace(rate, shared_interval=ends) for rate, ends in zip(rates, shared, strict=True)]


# --- the view ---


def _group_headline(result: GroupedEstimate) -> Headline:
    rates = result.rates
    quantity = f"{known_estimator(result.method).title}s" if rates else "class shares"
    estimated = [rate for rate in rates if rate.estimated]
    groups = len(result.groups) - len(result.refused)
    text = f"{quantity} for {groups} of {count(len(result.groups), 'value')} of {result.by}"
    decision = ""
    if estimated and len(estimated) == groups <= IN_A_SENTENCE:
        shown = ", ".join(f"{rate.group} {rate.text}" for rate in estimated)
        text = f"{quantity} by {result.by}, {level_text(result)} intervals: {shown}"
        decision = "; ".join(f"{rate.group} {describe_rate(rate)}" for rate in estimated)
    ends = [(a.low, a.high) for a in estimated if a.low is not None and a.high is not None]
    action = ""
    tone: Tone = "bad" if result.refused else "plain"
    if result.refused:
        few = len(result.refused) <= IN_A_SENTENCE
        without = list_names(result.refused) if few else count(len(result.refused), "group")
        action = f"No estimate for {without}: the reasons are below."
    # If two intervals overlap, then two that follow each other in this order.
    elif any(low <= high for (_, high), (low, _) in pairwise(sorted(ends))):
        action = "Overlapping intervals do not show whether two groups differ: see adjudge compare."
    return Headline(sentence(None, text), action, tone, decision)


def group_figure(result: GroupedEstimate) -> Drawing:
    """A line for each group, the judge alone and the rate to report, by that rate."""
    if not result.rates:
        raise ArgumentError("result", "classes by group", "draw one group's result at a time")
    rates = sorted(result.rates[:SHOWN], key=lambda rate: -(rate.estimate or rate.naive or 0))
    rates.sort(key=lambda rate: rate.estimate is None)
    estimated = [rate for rate in rates if rate.estimated]
    title = "No estimate for any group from these labels"
    if estimated:
        title = describe_outside("rate", estimated, "groups")
    if 0 < len(estimated) < len(rates):
        title = f"Estimates for {len(estimated)} of {len(rates)} groups.\n{title}"
    if len(result.rates) > SHOWN:
        title += f"\nthe first {SHOWN} of {count(len(result.rates), 'group')}"
    if result.pooled:
        title += "\nlabels of all groups pooled"
    rows = [rate.row(rate.group, rate.naive) for rate in rates]
    return result.draw(rows, title, dot=known_estimator(result.method).title)
