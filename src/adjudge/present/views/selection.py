"""Which verdicts can be trusted: policies, what select did, single rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from adjudge._text import DASH, count, group_name, left_out, number, percent, signed
from adjudge.present.blocks import (
    PROMISED,
    Block,
    Fact,
    Facts,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figures.selection import policy_figure
from adjudge.present.views import View
from adjudge.present.views._cascade import cascade_blocks, stage_table, view_cascade_plan
from adjudge.present.views._evaluation import view_evaluation, view_label_plan, view_plan
from adjudge.records import GIVEN, LABELLED
from adjudge.results.base import Result
from adjudge.results.cascade import CascadePlan
from adjudge.results.evaluation import Evaluation, LabelPlan, SelectionPlan
from adjudge.results.rules import BatchSelection, Threshold
from adjudge.results.selection import (
    Alternative,
    DoubtReport,
    JuryReport,
    Policy,
    PolicyCheck,
    PolicyGroup,
    Selection,
)
from adjudge.selection.guarantees import all_guarantees

TITLE = "Which verdicts can be trusted"
_ASIDE = re.compile(r" \([^()]*\)$")
_ACCEPTS = {"all": "all", "none": "nothing", "batch": "per batch", "groups": "per group"}


# --- policies --------------------------------------------------------------------------------


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
                "wrong among accepted": _wrong,
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
    blocks.append(_promise(policy))
    others = [
        f"{other.guarantee} would promise: {other.promise}; but not: {other.not_promised}"
        for other in policy.alternatives
        if other.guarantee != policy.guarantee
    ]
    figure = Figure(
        "policy",
        partial(policy_figure, policy),
        "The error share among the surest verdicts, on the labels that the rule was made from; a "
        "dot marks where the rule stops.",
    )
    explained = explain([*_explain(policy), *others], title=PROMISED)
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
            f"{rule} accepts nothing of {whose}: no threshold passes",
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
        f"{rule} accepts {about}{percent(policy.coverage)} of {verdicts}; {where} "
        f"{percent(policy.empirical_risk)} of those were wrong",
        _policy_action(policy),
    )


def _policy_action(policy: Policy) -> str:
    rest = "give the others to people"
    if policy.threshold is not None:
        score = "a learned doubt" if policy.learned else "an uncertainty"
        return f"Accept {score} of at most {policy.threshold:.6g}; {rest}."
    if policy.accepts == "all":
        every = f"Every {GIVEN[policy.about]} passes"
        return f"{every}; keep labelling a random sample to see that it stays so."
    if policy.accepts == "batch":
        return f"Each batch is decided by adjudge select; {rest}."
    return f"Each of {count(len(policy.groups), 'group')} has its own rule; {rest}."


def _accepts(rule: Alternative | PolicyGroup) -> str:
    if rule.threshold is None:
        return _ACCEPTS[rule.accepts]
    return f"doubt <= {rule.threshold:.5g}"


def _wrong(rule: Alternative | PolicyGroup | Threshold) -> str:
    """The share of errors among the accepted; a dash where nothing is."""
    return percent(rule.empirical_risk if rule.n_accepted else None)


def _alternatives(policy: Policy) -> Table:
    """What each guarantee accepts; ~ where it is a mean over halves of the labels."""

    def about(other: Alternative, text: str) -> str:
        return f"~{text}" if other.indicative and text != DASH else text

    def name(other: Alternative) -> str:
        return ("* " if other.guarantee == policy.guarantee else "  ") + other.guarantee

    return table_of(
        policy.alternatives,
        {
            "guarantee": name,
            "accepts": _accepts,
            "rows": lambda other: about(other, number(other.n_accepted)),
            "coverage": lambda other: about(other, percent(other.coverage)),
            "wrong among them": lambda other: about(other, _wrong(other)),
        },
        caption=f"On the {count(policy.n_calibration, 'calibration label')} "
        f"({policy.n_errors:,} wrong), under each guarantee at alpha {policy.alpha:g}",
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
        ("judge", "weight of its log odds", "coverage"),
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
        f"learned from {count(doubt.n_learning, 'label')}, which calibrate nothing; penalty "
        f"{doubt.penalty:g} on what was learned"
        + (" (it stays with the doubt that learns nothing)" if doubt.stays_home else ""),
        f"on the calibration labels {percent(doubt.coverage_without)} accepted by the doubt of "
        f"{judge}, {percent(policy.coverage)} by the learned one",
        f"{doubt.n_overturned:,} of {count(doubt.n_verdicts, 'verdict')} overturned: "
        "the promise is about the learned verdict",
    ]
    table = Table(
        ("column", "weight"),
        rows,
        caption="What the learned doubt weighs (columns scaled to a root mean square of 1)",
    )
    return [table, Note(notes)]


def _promise(result: Policy | Selection) -> Note:
    """The promise in one line; what it rests on, in parentheses at its end, is explained."""
    return Note([f"Promise: {_ASIDE.sub('', result.promise)}"])


def _explain(result: Policy | Selection) -> list[str]:
    return [
        f"It promises: {result.promise}",
        f"It does not promise: {result.not_promised}",
        *(f"It assumes: {line}" for line in result.assumptions),
    ]


def _policy_notes(policy: Policy) -> list[str]:
    batch = [other.guarantee for other in policy.alternatives if other.indicative]
    lines = []
    if batch:
        lines.append(
            f"~ {', '.join(batch)} decides on each batch: here a mean over random halves of the "
            "labels"
        )
    lines += [f"note: {line}" for line in policy.warnings]
    lines += [f"{group.name}: {group.note}" for group in policy.groups if group.note]
    lines += [
        f"{group.name}: the weights leave an effective {group.effective_size:.1f} of "
        f"{count(group.n_calibration, 'label')}"
        for group in policy.groups
        if group.effective_size is not None
    ]
    return lines + left_out(policy.dropped)


_DIGESTS = {
    "matches": "its digest matches",
    "differs": "its digest differs",
    "missing": "its digest is missing",
    "none": "it is of a schema without a digest",
}


def view_check(check: PolicyCheck) -> list[Block]:
    """Whether a policy file is as calibrate wrote it, and every field that is not."""
    wrong = check.contradictions
    numbers = "its numbers agree with its calibration scores"
    if wrong:
        numbers = (
            f"{count(len(wrong), 'field')} contradict{'s' if len(wrong) == 1 else ''} the rest"
        )
    if check.unreadable is not None:
        numbers = f"it cannot be read: {check.unreadable}"
    state = "shows no change" if check.digest == "none" else "is as calibrate wrote it"
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
        "The digest is against mistakes, not attackers: whoever changes a policy on purpose can "
        "write a new digest into it too."
    ]
    if check.unreadable is None and not check.recomputed:
        notes.append(
            "Thresholds were compared with the counts in the file and not computed again: the "
            "policy is of an older version of its guarantee, or keeps only some of its scores."
        )
    return [*blocks, Note(notes)]


# --- what select did -------------------------------------------------------------------------


def view_selection(selection: Selection) -> list[Block]:
    """What was accepted, whether the new scores look like the old ones, and the promise."""
    blocks: list[Block] = [_selection_headline(selection)]
    if len(selection.groups) > 1:
        groups = table_of(
            selection.groups,
            {
                "judge": lambda g: g.judge,
                "group": lambda g: g.group or "",
                "rows": lambda g: number(g.n),
                "accepted": lambda g: number(g.n_accepted),
                "share": lambda g: percent(g.accepted_share),
            },
            text_columns=2,
        )
        blocks.append(groups)
    blocks += stage_table(selection)
    blocks.append(Note([_drift(selection)], tone="bad" if selection.drift.flagged else "plain"))
    blocks += warnings_of(selection.warnings)
    blocks += [_promise(selection), *explain(_explain(selection), title=PROMISED)]
    lines = []
    if selection.n_overturned is not None:
        lines.append(
            f"accepted is about learned_verdict: it is not the judge's verdict in "
            f"{selection.n_overturned:,} of {count(selection.n_accepted, 'accepted row')}"
        )
    lines += [
        f"not accepted, {count(rows, 'row')}: {reason}"
        for reason, rows in selection.dropped.items()
        if rows
    ]
    return blocks + notes_of(lines)


def _selection_headline(selection: Selection) -> Headline:
    text = (
        f"{selection.n_accepted:,} of {count(selection.n, GIVEN[selection.about])} accepted "
        f"({percent(selection.accepted_share)}), {selection.guarantee} at alpha "
        f"{selection.alpha:g}"
    )
    known = {one.name: one.summary for one in all_guarantees()}
    if selection.guarantee in known:
        text += f" ({known[selection.guarantee]})"
    if selection.drift.flagged:
        some = f"label some of the new {LABELLED[selection.about]} and calibrate again"
        action = f"The promise may not hold: {some}."
    elif not selection.n_accepted:
        action = "Give all of them to people."
    elif selection.n_accepted == selection.n:
        action = ""
    else:
        action = f"Give the other {selection.n - selection.n_accepted:,} to people."
    bad = selection.drift.flagged or not selection.n_accepted
    return Headline(text, action, tone="bad" if bad else "plain")


def _drift(selection: Selection) -> str:
    drift = selection.drift
    if drift.statistic is None or drift.p_value is None:
        return f"drift not tested: {drift.note}"
    where = f" in {drift.where}" if drift.where and len(selection.groups) > 1 else ""
    note = "" if drift.note is None else f"; {drift.note}"
    return (
        f"{'DRIFT' if drift.flagged else 'no drift seen'}: the distribution of the new scores is "
        f"up to {drift.statistic:.3f} away from that of the calibration scores{where} "
        f"(Kolmogorov-Smirnov, p = {drift.p_value:.2g}){note}"
    )


# --- single rules ----------------------------------------------------------------------------


def view_threshold(rule: Threshold) -> list[Block]:
    """One rule and what it does to its own calibration rows."""
    text = {"all": "every verdict", "none": "nothing: no threshold passes"}.get(
        rule.accepts, f"an uncertainty of at most {rule.threshold}"
    )
    accepted = f"{rule.n_accepted:,} of {rule.n_calibration:,}"
    wrong = (
        f"{rule.n_accepted_errors:,} of {rule.n_accepted:,}; of all "
        f"{rule.n_calibration:,} rows {rule.n_errors:,} are wrong"
    )
    return [
        Headline(
            f"{rule.method} at alpha {rule.alpha:g} accepts {text}",
            tone="plain" if rule.feasible else "bad",
        ),
        Facts(
            [
                Fact("accepted, on the calibration labels", percent(rule.coverage), accepted),
                Fact("wrong among them", _wrong(rule), wrong),
            ]
        ),
    ]


def view_batch(batch: BatchSelection) -> list[Block]:
    """What was accepted of one batch."""
    facts = [
        Fact("calibration rows", number(batch.n_calibration), f"{batch.n_errors:,} of them wrong")
    ]
    if batch.effective_size is not None:
        facts.append(Fact("effective size under the weights", number(batch.effective_size, 1)))
    return [
        Headline(
            f"{batch.method} at alpha {batch.alpha:g}: {batch.n_accepted:,} of "
            f"{count(batch.n, 'row')} accepted",
            tone="plain" if batch.n_accepted else "bad",
        ),
        Facts(facts),
    ]


VIEWS: Mapping[type[Result], View] = {
    Policy: view_policy,
    PolicyCheck: view_check,
    Selection: view_selection,
    Evaluation: view_evaluation,
    SelectionPlan: view_plan,
    LabelPlan: view_label_plan,
    CascadePlan: view_cascade_plan,
    Threshold: view_threshold,
    BatchSelection: view_batch,
}
