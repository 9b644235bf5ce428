"""A policy for people: what each guarantee accepts, what it promises, and its picture."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.policy.result import Alternative, Policy, PolicyGroup
from adjudge.policy.rules import names_of
from adjudge.present.blocks import Block, Figure, Headline, Note, Table, explain, notes_of, table_of
from adjudge.present.text import DASH, clip_names, count, group_name, left_out, number, percent
from adjudge.present.theme import ACCENT, INK, LINES, SERIES, new_figure, themed
from adjudge.records import GIVEN, LABELLED
from adjudge.statistics.entropy import INFINITE_DOUBT

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_ASIDE = re.compile(r" \([^()]*\)$")
_ACCEPTS = {"all": "all", "none": "nothing", "batch": "per batch", "groups": "per group"}


def view_policy(policy: Policy) -> list[Block]:
    """What is accepted under each guarantee, then what the chosen one promises and assumes."""
    blocks: list[Block] = [_policy_headline(policy)]
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
                "error share": error_share,
            },
            caption=f"{policy.guarantee} by group, on the calibration labels",
            text_columns=2,
        )
        blocks.append(groups)
    for doubt in policy.doubts:
        blocks += doubt.blocks(policy)
    blocks.append(promise_note(policy.promise))
    others = [
        f"{other.guarantee} promises: {other.promise}; it does not promise: {other.not_promised}"
        for other in policy.alternatives
        if other.guarantee != policy.guarantee
    ]
    figure = Figure(
        "policy",
        partial(policy_figure, policy),
        "Error share among accepted verdicts as the threshold rises, on the calibration labels; a "
        "dot marks the calibrated threshold.",
    )
    explained = explain(
        policy.assumptions, promises=promises_of(policy.promise, policy.not_promised), others=others
    )
    return [*blocks, *explained, *notes_of(_policy_notes(policy)), figure]


def _policy_headline(policy: Policy) -> Headline:
    rule = f"{policy.guarantee} at alpha {policy.alpha:g}"
    for other in policy.alternatives:
        if other.guarantee == policy.guarantee and other.summary:
            rule += f" ({other.summary})"
    whose = count(len(policy.judges), "judge")
    if len(policy.judges) == 1:
        whose = group_name(policy.judges[0], none="the judge")
    for doubt in policy.doubts:
        whose = doubt.whose(whose)
    if not policy.feasible:
        return Headline(
            f"{rule} accepts no {GIVEN[policy.about]} of {whose}: no threshold passes",
            f"Label more {LABELLED[policy.about]}, allow a larger alpha, or use a better judge.",
            tone="bad",
        )
    about, where = "", "on the calibration labels"
    if policy.indicative:
        about, where = "about ", "in random halves of the calibration labels"
    verdicts = f"the {GIVEN[policy.about]}s of {whose}"
    if policy.cuts:
        verdicts = names_of(policy.cuts)
    if len(policy.cuts) == 1:
        verdicts += f" (about {percent(policy.coverage * policy.cuts[0].share)} of all)"
    return Headline(
        f"{rule} accepts {about}{percent(policy.coverage)} of {verdicts}; "
        f"{percent(policy.empirical_risk)} of them are wrong {where}",
        _policy_action(policy),
    )


def _policy_action(policy: Policy) -> str:
    verdict, rest = GIVEN[policy.about], "give the others to people"
    if policy.threshold is not None:
        score = "a learned doubt" if policy.learned else "an uncertainty"
        return f"Accept {verdict}s with {score} of at most {policy.threshold:.6g}; {rest}."
    if policy.accepts == "all":
        return f"Accept every {verdict}. Keep labelling a random sample to check the error rate."
    if policy.accepts == "batch":
        return f"adjudge select decides each batch; {rest}."
    return f"Each of {count(len(policy.groups), 'group')} has its own rule; {rest}."


def _accepts(rule: Alternative | PolicyGroup) -> str:
    if rule.threshold is None:
        return _ACCEPTS[rule.accepts]
    return f"doubt <= {rule.threshold:.5g}"


class Accepting(Protocol):
    """Anything that says how many labelled rows it accepts, and how many of them are wrong."""

    @property
    def n_accepted(self) -> int: ...

    @property
    def empirical_risk(self) -> float: ...


def error_share(rule: Accepting) -> str:
    """The error share among the accepted; a dash if nothing is accepted."""
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
            "coverage": lambda other: about(other, percent(other.coverage)),
            "error share": lambda other: about(other, error_share(other)),
        },
        caption=f"Each guarantee at alpha {policy.alpha:g}, on the "
        f"{count(policy.n_calibration, 'calibration label')} ({policy.n_errors:,} wrong)",
        text_columns=2,
    )


def promise_note(promise: str) -> Note:
    """The promise in one line; the remark in parentheses at its end is only in the folded note."""
    return Note([f"Promise: {_ASIDE.sub('', promise)}"])


def promises_of(promise: str, not_promised: str) -> list[str]:
    return [f"It promises: {promise}", f"It does not promise: {not_promised}"]


def _policy_notes(policy: Policy) -> list[str]:
    batch = [other.guarantee for other in policy.alternatives if other.indicative]
    lines = []
    if batch:
        lines.append(
            f"~ mean over random halves of the labels, because {', '.join(batch)} decides per batch"
        )
    lines += [f"note: {line}" for line in policy.warnings]
    lines += [f"{group.name}: {group.note}" for group in policy.groups if group.note]
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
    with themed():
        figure = new_figure(7.6, 4.6)
        axes = figure.subplots()
        names = clip_names(group.name for group in shown)
        for at, group in enumerate(shown):
            colour = SERIES[at % len(SERIES)] if len(shown) > 1 else ACCENT
            scores, errors = np.array(group.scores), np.cumsum(group.errors)
            ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
            ends = ends[scores[ends] < INFINITE_DOUBT]  # ties of the judge are never accepted
            coverage, risk = (ends + 1) / len(scores), errors[ends] / (ends + 1)
            name = names[at] if len(shown) > 1 else "error share as the threshold rises"
            line = LINES[at % len(LINES)]
            axes.step(coverage, risk, line, where="post", color=colour, label=name, linewidth=1.8)
            if group.accepts in ("below", "all"):
                (dot,) = axes.plot(group.coverage, group.empirical_risk, "o", color=colour, ms=9)
                dot.set_clip_on(False)
                if len(shown) == 1:
                    axes.axvspan(0, group.coverage, color=colour, alpha=0.07, linewidth=0)
        if policy.feasible:
            colour = INK if len(shown) > 1 else ACCENT
            axes.plot([], [], "o", color=colour, markersize=7, label="calibrated threshold")
        name = f"alpha = {policy.alpha:g}"
        axes.axhline(policy.alpha, color=INK, linestyle="--", linewidth=1.2, label=name)
        axes.set_title(_policy_title(policy))
        axes.set_xlabel("share of labelled verdicts accepted, least doubt first")
        axes.set_ylabel("error share among accepted")
        axes.set_xlim(0, 1.01)
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8.5, loc="best")
    return figure


def _policy_title(policy: Policy) -> str:
    if not policy.feasible:
        return f"{policy.guarantee} accepts nothing at alpha {policy.alpha:g}"
    about = "about " if policy.indicative else ""
    return (
        f"{policy.guarantee} accepts {about}{policy.n_accepted:,} of {policy.n_calibration:,} "
        f"calibration verdicts, {percent(policy.empirical_risk)} of them wrong"
    )
