"""What people see of a policy: what each guarantee accepts and promises, and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.policy.result import Alternative, Policy, PolicyGroup, names_of
from adjudge.present.blocks import (
    Block,
    Figure,
    Headline,
    Table,
    explain,
    notes_of,
    remarks_of,
    table_of,
)
from adjudge.present.figure import ACCENT, INK, LINES, SERIES, new_figure, themed
from adjudge.present.text import DASH, clip_names, count, group_name, left_out, number, percent
from adjudge.records import GIVEN, LABELLED
from adjudge.statistics.entropy import INFINITE_DOUBT

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_LATER = (
    "To notice later that the judge itself changed, let it answer the labelled rows again now: "
    "adjudge monitor judge ROWS --judge JUDGE --state judge.json; the same command compares later"
)


def view_policy(policy: Policy) -> list[Block]:
    """The headline, what each guarantee accepts, groups, doubts, promises, and the picture."""
    blocks: list[Block] = [
        policy_headline(policy),
        *notes_of([policy.value] if policy.value else []),
    ]
    if policy.alternatives:
        blocks.append(_alternatives(policy))
    if len(policy.groups) > 1:
        groups = table_of(
            policy.groups,
            {
                "group": lambda g: g.name,
                "accepts": _accepts,
                "labels": lambda g: number(g.n_calibration),
                "wrong": lambda g: number(g.n_errors),
                "coverage": lambda g: percent(g.coverage),
                "error share": _error_share,
            },
            caption=f"{policy.guarantee} by group, on the calibration labels",
            text_columns=2,
            detail=True,
        )
        blocks.append(groups)
    for doubt in policy.doubts:
        blocks += doubt.blocks(policy)
    promised = [
        f"{other.guarantee} promises: {other.promise}; it does not promise: {other.not_promised}"
        for other in policy.alternatives
        if other.guarantee != policy.guarantee
    ]
    figure = Figure(
        "policy",
        partial(policy_figure, policy),
        "Error share among accepted verdicts as the threshold rises, on the calibration "
        "labels; a dot marks the calibrated threshold.",
    )
    explained = explain(
        policy.assumptions,
        promises=promises_of(policy.promise, policy.not_promised),
        others=[*promised, *_describe_numbers(policy), _LATER],
        brief=False,
    )
    return [*blocks, *explained, *remarks_of(_policy_notes(policy)), figure]


_ACCEPTS = {"all": "all", "none": "nothing", "batch": "per batch", "groups": "per group"}


def policy_headline(policy: Policy) -> Headline:
    rule = f"{policy.guarantee} at alpha {policy.alpha:g}"
    verdict = GIVEN[policy.about]
    if not policy.feasible:
        whose = f" of {_whose(policy)}" * (len(policy.judges) > 1)
        return Headline(
            f"{rule} accepts no {verdict}{whose}: no threshold passes",
            f"Label more {LABELLED[policy.about]}, allow a larger alpha, or use a better judge.",
            tone="bad",
        )
    labels = count(policy.n_calibration, "label")
    if policy.cuts:
        labels += f" among {names_of(policy.cuts)}"
    if len(policy.cuts) == 1:
        labels += f" (about {percent(policy.coverage * policy.cuts[0].share)} of all)"
    wrong = f"{percent(policy.empirical_risk)} wrong"
    if policy.indicative:
        return Headline(
            f"{rule} accepts ~{percent(policy.coverage)} of a batch (halves of {labels}), ~{wrong}",
            decision=f"About {percent(policy.coverage)} of a batch accepted, the rest to people",
        )
    others = [other for other in policy.alternatives if other.guarantee != policy.guarantee]
    strict = [other.guarantee for other in others if other.accepts == "none"]
    if policy.accepts == "all" and strict:
        # A row without a verdict is never accepted.
        passed = "all" if policy.n_accepted == policy.n_calibration else f"{policy.n_accepted:,} of"
        return Headline(
            f"{rule} passes {passed} {labels} ({wrong}), but {strict[0]} accepts nothing",
            f"Label more {LABELLED[policy.about]} before you rely on it.",
            tone="bad",
        )
    score = "learned doubt" if policy.learned else "doubt"
    which = f"every {verdict}: "
    if policy.threshold is not None:
        which = f"{score} <= {policy.threshold:.5g}: "
    elif policy.accepts == "groups":
        which = ""
        labels = f"{labels} in {count(len(policy.groups), 'group')}"
    left = policy.n_calibration - policy.n_accepted
    accepted = f"{policy.n_accepted:,} of {policy.n_calibration:,} labelled {verdict}s accepted"
    return Headline(
        f"{rule} accepts {which}{percent(policy.coverage)} of {labels}, {wrong}",
        decision=f"{accepted}, {left:,} to people; of the accepted, {wrong}",
    )


def _whose(policy: Policy) -> str:
    whose = count(len(policy.judges), "judge")
    if len(policy.judges) == 1:
        whose = group_name(policy.judges[0], none="the judge")
    for doubt in policy.doubts:
        whose = doubt.whose(whose)
    return whose


def _range_of_groups(groups: Sequence[PolicyGroup]) -> str:
    """The groups with the least and the most coverage, and how many accept nothing."""
    least = min(groups, key=lambda group: group.coverage)
    most = max(groups, key=lambda group: group.coverage)
    nothing = sum(not group.feasible for group in groups)
    names = clip_names((least.name, most.name), 20)
    ends = " to ".join(
        f"{percent(group.coverage)} ({name})"
        for group, name in zip((least, most), names, strict=True)
    )
    return f"{ends} by group" + f"; {nothing} accept{'s' * (nothing == 1)} nothing" * (nothing > 0)


def _describe_numbers(policy: Policy) -> list[str]:
    lines = []
    if any(group.resampling is not None for group in policy.groups):
        lines.append(
            "above alpha: as many labels are drawn with replacement; the threshold from a resample "
            "counts if its error share on all labels, corrected for having been chosen by them, "
            "exceeds alpha (approximate: far too low if doubt does not rank errors)"
        )
    if any(other.labels_needed is not None for other in policy.alternatives):
        lines.append(
            "labels needed: if as many are accepted and as many of them wrong as on these labels "
            "(approximate)"
        )
    batch = [other.guarantee for other in policy.alternatives if other.indicative]
    if batch:
        lines.append(
            f"~ mean over random halves of the labels, because {', '.join(batch)} decides per batch"
        )
    return lines


def _accepts(rule: Alternative | PolicyGroup) -> str:
    if rule.threshold is None:
        return _ACCEPTS[rule.accepts]
    return f"doubt <= {rule.threshold:.5g}"


def _error_share(rule: Alternative | PolicyGroup) -> str:
    return percent(rule.empirical_risk if rule.n_accepted else None)


def _alternatives(policy: Policy) -> Table:
    """What each guarantee accepts; ~ marks a mean over halves of the labels."""

    def about(other: Alternative, text: str) -> str:
        return f"~{text}" if other.indicative and text != DASH else text

    def name(other: Alternative) -> str:
        return ("* " if other.guarantee == policy.guarantee else "  ") + other.guarantee

    return table_of(
        policy.alternatives,
        {
            "guarantee": name,
            "accepts": _accepts,
            "accepted": lambda other: about(other, number(other.n_accepted)),
            "coverage": lambda other: other.share(),
            "error share": lambda other: about(other, _error_share(other)),
        },
        caption=f"Each guarantee at alpha {policy.alpha:g} for {_whose(policy)}, on the "
        f"{count(policy.n_calibration, 'calibration label')} ({policy.n_errors:,} wrong)",
        text_columns=2,
        detail=True,
    )


def promises_of(promise: str, not_promised: str) -> list[str]:
    return [f"It promises: {promise}", f"It does not promise: {not_promised}"]


def _policy_notes(policy: Policy) -> list[str]:
    lines = [_range_of_groups(policy.groups)] if len(policy.groups) > 1 else []
    lines += [f"note: {line}" for line in policy.warnings]
    lines += [f"{g.name}: {g.note}" if lines else g.note for g in policy.groups if g.note]
    lines += [
        f"{group.name}: effective sample size under the weights {group.effective_size:.1f} of "
        f"{count(group.n_calibration, 'label')}"
        for group in policy.groups
        if group.effective_size is not None
    ]
    return lines + left_out(policy.dropped)


def policy_figure(policy: Policy) -> Drawing:
    """Errors among the accepted as the threshold loosens, and where each group's rule stops."""
    shown = [group for group in policy.groups if len(group.scores) > 1][: len(SERIES)]
    if not shown:
        raise ArgumentError("plot", policy.n_calibration, "there is nothing to draw")
    alone = len(shown) == 1
    names = ["error share as the threshold rises"] if alone else clip_names(g.name for g in shown)
    with themed():
        figure = new_figure(7.6, 4.6)
        axes = figure.subplots()
        for at, (group, name) in enumerate(zip(shown, names, strict=True)):
            colour = ACCENT if alone else SERIES[at]
            scores = np.array(group.scores)
            errors = np.cumsum(group.errors)
            ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
            ends = ends[scores[ends] < INFINITE_DOUBT]  # ties of the judge are never accepted
            coverage = (ends + 1) / len(scores)
            risk = errors[ends] / (ends + 1)
            line = LINES[at % len(LINES)]
            axes.step(coverage, risk, line, where="post", color=colour, label=name, linewidth=1.8)
            if group.accepts in ("below", "all"):
                end = (group.coverage, group.empirical_risk)
                axes.plot(*end, "o", color=colour, markersize=9, clip_on=False)
        if policy.feasible:
            colour = ACCENT if alone else INK
            axes.plot([], [], "o", color=colour, markersize=7, label="calibrated threshold")
        name = f"alpha = {policy.alpha:g}"
        axes.axhline(policy.alpha, color=INK, linestyle="--", linewidth=1.2, label=name)
        axes.set_title("\n".join(wrap(policy_headline(policy).text, 84)))
        axes.set(xlim=(0, 1.01), ylim=(0, None), ylabel="error share among accepted")
        axes.set_xlabel("share of labelled verdicts accepted, least doubt first")
        axes.legend(fontsize=8.5, loc="best")
    return figure
