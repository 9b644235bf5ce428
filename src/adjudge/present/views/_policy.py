"""A policy: what each guarantee accepts, and whether its file is unchanged."""

from __future__ import annotations

import re
from functools import partial

from adjudge.present.blocks import Block, Figure, Headline, Note, Table, explain, notes_of, table_of
from adjudge.present.figures.selection import policy_figure
from adjudge.present.text import DASH, count, group_name, left_out, number, percent, signed
from adjudge.present.views._cascade import cascade_blocks
from adjudge.records import GIVEN, LABELLED
from adjudge.results.rules import Threshold
from adjudge.results.selection import (
    Alternative,
    DoubtReport,
    JuryReport,
    Policy,
    PolicyCheck,
    PolicyGroup,
    Selection,
)

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
    if policy.jury is not None:
        blocks.append(_jury(policy.jury))
    if policy.doubt is not None:
        blocks += _doubt(policy.doubt, policy)
    if policy.cascade is not None:
        blocks += cascade_blocks(policy.cascade, policy)
    blocks.append(promise_note(policy))
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
    explained = explain(policy.assumptions, promises=promises_of(policy), others=others)
    return [*blocks, *explained, *notes_of(_policy_notes(policy)), figure]


def _policy_headline(policy: Policy) -> Headline:
    own = next((o for o in policy.alternatives if o.guarantee == policy.guarantee), None)
    rule = f"{policy.guarantee} at alpha {policy.alpha:g}"
    if own is not None and own.summary:
        rule += f" ({own.summary})"
    whose = count(len(policy.judges), "judge")
    if len(policy.judges) == 1:
        whose = group_name(policy.judges[0], none="the judge")
    if policy.jury is not None:
        whose = f"a jury of {whose}"
    if policy.cascade is not None:
        whose = f"a cascade of {count(len(policy.judges), 'judge')}"
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
        verdicts = " and ".join(cut.name for cut in policy.cuts)
    if len(policy.cuts) == 1:
        verdicts += f" (about {percent(policy.coverage * policy.cuts[0].share)} of all)"
    return Headline(
        f"{rule} accepts {about}{percent(policy.coverage)} of {verdicts}; "
        f"{percent(policy.empirical_risk)} of them are wrong {where}",
        _policy_action(policy),
    )


def _policy_action(policy: Policy) -> str:
    given, rest = GIVEN[policy.about], "give the others to people"
    if policy.threshold is not None:
        score = "a learned doubt" if policy.learned else "an uncertainty"
        return f"Accept {given}s with {score} of at most {policy.threshold:.6g}; {rest}."
    if policy.accepts == "all":
        return f"Accept every {given}. Keep labelling a random sample to check the error rate."
    if policy.accepts == "batch":
        return f"adjudge select decides each batch; {rest}."
    return f"Each of {count(len(policy.groups), 'group')} has its own rule; {rest}."


def _accepts(rule: Alternative | PolicyGroup) -> str:
    if rule.threshold is None:
        return _ACCEPTS[rule.accepts]
    return f"doubt <= {rule.threshold:.5g}"


def error_share(rule: Alternative | PolicyGroup | Threshold) -> str:
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


def _jury(jury: JuryReport) -> Table:
    caption = "Each judge alone and the jury, on the calibration labels"
    weights = dict(zip(jury.judges, jury.weights, strict=True))
    if jury.method == "learned":
        own = [(name, percent(coverage)) for name, coverage in jury.coverage_alone.items()]
        together = ("jury (learned)", percent(jury.coverage))
        return Table(("judge", "coverage"), [*own, together], caption=caption)
    rows = [
        (name, number(weights[name]), percent(coverage))
        for name, coverage in jury.coverage_alone.items()
    ]
    return Table(
        ("judge", "weight (log odds)", "coverage"),
        [*rows, (f"jury ({jury.method})", "", percent(jury.coverage))],
        caption=caption,
    )


def _doubt(doubt: DoubtReport, policy: Policy) -> list[Block]:
    """What was learned: the weight of each column, and what it changed."""
    rows = [
        (name, signed(weight))
        for name, weight in sorted(
            zip(doubt.columns, doubt.weights, strict=True), key=lambda one: -abs(one[1])
        )
    ]
    judge = "the mean of the judges" if policy.jury is not None else "the judge"
    notes = [
        f"learned from {count(doubt.n_learning, 'label')} that are not used to calibrate; penalty "
        f"{doubt.penalty:g}"
        + (" (the largest: the learned doubt stays close to that of the judge)")
        * doubt.stays_home,
        f"on the calibration labels {percent(doubt.coverage_without)} accepted by the doubt of "
        f"{judge}, {percent(policy.coverage)} by the learned doubt",
        f"{doubt.n_overturned:,} of {count(doubt.n_verdicts, 'verdict')} overturned: "
        "the promise is about the learned verdict",
    ]
    table = Table(
        ("column", "weight"),
        rows,
        caption="Weights of the learned doubt (columns scaled to a root mean square of 1)",
    )
    return [table, Note(notes)]


def promise_note(result: Policy | Selection) -> Note:
    """The promise in one line; the remark in parentheses at its end is only in the folded note."""
    return Note([f"Promise: {_ASIDE.sub('', result.promise)}"])


def promises_of(result: Policy | Selection) -> list[str]:
    return [f"It promises: {result.promise}", f"It does not promise: {result.not_promised}"]


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


_DIGESTS = {
    "matches": "its digest matches",
    "differs": "its digest differs",
    "missing": "its digest is missing",
    "none": "its schema has no digest",
}


def view_check(check: PolicyCheck) -> list[Block]:
    """Whether a policy file is unchanged since calibrate wrote it, and every field that is not."""
    wrong = check.contradictions
    numbers = "its numbers agree with its calibration scores"
    if wrong:
        numbers = (
            f"{count(len(wrong), 'field')} contradict{'s' if len(wrong) == 1 else ''} the rest"
        )
    if check.unreadable is not None:
        numbers = f"it cannot be read: {check.unreadable}"
    state = "shows no change" if check.digest == "none" else "is unchanged"
    blocks: list[Block] = [
        Headline(
            f"{check.path} {state if check.intact else 'was changed'}: {_DIGESTS[check.digest]}, "
            f"and {numbers}",
            "" if check.intact else "Do not use it: calibrate again, or take an earlier copy.",
            tone="plain" if check.intact else "bad",
        )
    ]
    if wrong:
        columns = {
            "field": lambda one: one.field,
            "in the file": lambda one: one.stated,
            "should be": lambda one: one.expected,
        }
        blocks.append(table_of(wrong, columns, text_columns=3))
    notes = [
        "The digest detects mistakes, not attacks: anyone who changes a policy on purpose can also "
        "write a new digest."
    ]
    if check.unreadable is None and not check.recomputed:
        notes.append(
            "Thresholds were compared with the counts in the file and not computed again, because "
            "the policy has an older version of its guarantee or keeps only some of its scores."
        )
    return [*blocks, Note(notes)]
