"""The rate to report: corrected rates with their intervals, differences, plans for labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

from adjudge.present.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Heading,
    Headline,
    Note,
    Table,
    Tone,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figures.estimation import difference_figure, estimate_figure, group_figure
from adjudge.present.text import DASH, count, interval, left_out, level, number, signed, span
from adjudge.present.views._classes import (
    IN_A_SENTENCE,
    class_table,
    rate_text,
    sentence,
)
from adjudge.present.views._methods import assumptions_of_others, other_methods
from adjudge.results.estimation import (
    Alternative,
    ClassEstimate,
    Estimate,
    GroupedEstimate,
    LabelShift,
    RateDifference,
)

_DECLARE = "if the labels are a random sample of the test rows, declare it (--labels-are-random):"


def view_estimate(one: Estimate) -> list[Block]:
    """The rate first, then the judge alone, how good the judge is, and the other methods."""
    shift = [] if one.label_shift is None else [f"label shift: {one.label_shift.explanation}"]
    return [
        _estimate_headline(one),
        *warnings_of(one.warnings),
        _estimate_facts(one),
        Note(
            [
                f"method: {one.why}",
                *_offer([one], one.confidence_level),
                *_these_rows(one),
                *shift,
                *left_out(one.dropped),
            ]
        ),
        *other_methods(one),
        *explain(one.assumptions, others=assumptions_of_others(one)),
        Figure(
            "rates",
            partial(estimate_figure, one),
            f"All methods on the same rows, with {level(one.confidence_level)} intervals; this "
            f"result is by {one.method}.",
        ),
    ]


def _estimate_headline(one: Estimate) -> Headline:
    if one.estimate is None:
        known = "" if one.low is None else f"; {_range(one)}"
        text = f"no {one.method} estimate: {one.reason}{known}"
        return Headline(sentence(one.group, text), tone="bad")
    rate = f"{_name(one.method)} {number(one.estimate)}, {_range(one)}"
    text = sentence(one.group, f"{rate} ({one.method}, {one.interval})")
    if one.ruled_out:
        return Headline(text, "Do not report it: read the warning about label shift.", tone="bad")
    if one.method == "naive":
        return Headline(text, "Not corrected for judge errors: label some rows to correct it.")
    action = "Report it with its interval"
    if one.method != "human-only" and one.naive is not None:
        action += f". The naive judge rate, {number(one.naive)}, is not corrected for judge errors"
    alone = one.people_alone
    if alone is not None and one.people_are_narrower:
        ends = interval(alone.low, alone.high)
        action += f". People alone give a narrower interval{_if_random(one)}: {ends}"
    return Headline(text, f"{action}.")


def _if_random(one: Estimate) -> str:
    """The condition of the rate by people alone, if it is not known to hold."""
    return ", if the labels are a random sample" if one.labels_drawn == "unknown" else ""


def _offer(rates: Sequence[Estimate], confidence_level: float) -> list[str]:
    """The rate under the declaration that labels are a random sample, if that is not known."""
    offers = [(one, one.if_random) for one in rates]
    offered = [(one, other) for one, other in offers if other is not None and not other.ruled_out]
    if not offered:
        return []
    method = offered[0][1].method
    if len(rates) == 1:
        [(one, other)] = offered
        if other.estimate is None:
            return [f"{_DECLARE} {method} then gives no number: {other.reason}"]
        ends = f"{level(confidence_level)} interval {interval(other.low, other.high)}"
        given = f"{number(other.estimate)}, {ends}"
        return [f"{_DECLARE} {method} then gives {given}, {_widths([other.width], [one.width])}"]
    widths = _widths([other.width for _, other in offered], [one.width for one, _ in offered])
    return [f"{_DECLARE} {method} then gives intervals {widths}"]


def _these_rows(one: Estimate) -> list[str]:
    """The exact interval that a random sample of labels gives for the rows themselves."""
    if one.rows_low is None or one.rows_high is None:
        return []
    return [
        f"exact interval for the human rate of these {one.n_test + one.n_calibration:,} rows "
        f"alone: {interval(one.rows_low, one.rows_high)}; over random samples of labels it holds "
        f"with at least {level(one.confidence_level)}, for any rows and any judge"
    ]


def _widths(theirs: Sequence[float | None], ours: Sequence[float | None]) -> str:
    """How wide intervals would be, and how wide they are."""

    def spread(widths: Sequence[float | None]) -> str:
        known = [width for width in widths if width is not None]
        return span(number(min(known)), number(max(known))) if known else ""

    instead = f" instead of {spread(ours)}" if spread(ours) else ""
    return f"{spread(theirs) or DASH} wide{instead}"


def _name(method: str) -> str:
    return {"naive": "naive judge rate", "human-only": "human rate"}.get(method, "corrected rate")


def _range(one: Estimate | RateDifference) -> str:
    return f"{_said(one)} interval {interval(one.low, one.high)}"


def _said(one: Estimate | GroupedEstimate | RateDifference) -> str:
    """The level of its intervals, by name if they are the judge's own."""
    return ("naive " if one.method == "naive" else "") + level(one.confidence_level)


def _estimate_facts(one: Estimate) -> Facts:
    tone: Tone = "bad" if one.estimate is None or one.ruled_out else "good"
    note = "" if one.low is None else _range(one)
    facts = [Fact(_name(one.method), number(one.estimate), note, tone=tone)]
    if one.method != "naive":
        ends = interval(one.naive_low, one.naive_high)
        note = (
            f"naive {level(one.confidence_level)} interval {ends}, not corrected for judge errors"
        )
        facts.append(Fact(_name("naive"), number(one.naive), "" if one.naive is None else note))
    if one.people_alone is not None:
        facts.append(_people_fact(one, one.people_alone))
    for name, value, low, high in (
        ("sensitivity", one.sensitivity, one.sensitivity_low, one.sensitivity_high),
        ("specificity", one.specificity, one.specificity_low, one.specificity_high),
    ):
        if value is not None:
            facts.append(Fact(name, number(value), "" if low is None else interval(low, high)))
    classes = f"{one.n_calibration_positive:,} positive, {one.n_calibration_negative:,} negative"
    facts.append(Fact("human labels", number(one.n_calibration), classes))
    return Facts([*facts, Fact("test rows", number(one.n_test))])


def _people_fact(one: Estimate, alone: Alternative) -> Fact:
    if alone.estimate is None:
        return Fact("people alone", DASH, alone.reason or "")
    note = f"{level(one.confidence_level)} interval {interval(alone.low, alone.high)}"
    if one.people_are_narrower:
        note += f", narrower than with the judge{_if_random(one)}"
    return Fact("people alone", number(alone.estimate), note)


def view_groups(result: GroupedEstimate) -> list[Block]:
    """A row for each group, or a table of classes for each."""
    rates = [one for one in result.groups if isinstance(one, Estimate)]
    classes = [one for one in result.groups if isinstance(one, ClassEstimate)]
    blocks: list[Block] = [_group_headline(result, rates), *warnings_of(result.all_warnings)]
    if rates:
        blocks.append(_rate_table(rates, result.by, pooled=result.pooled))
    for one in classes:
        blocks += [Heading(str(one.group)), class_table(one)]
    first = result.groups[0]
    shifted = [str(one.group) for one in rates if one.label_shift and one.label_shift.rules_out]
    notes = [f"{one.group}: {one.reason}" for one in result.groups if one.reason is not None]
    if shifted:
        notes.append(
            f"label shift in {', '.join(shifted)}: human-only, difference, conditional and ppi++ "
            "are ruled out there"
        )
    narrower = [one for one in rates if one.people_are_narrower]
    if narrower:
        names = ", ".join(str(one.group) for one in narrower)
        text = f"people alone give a narrower interval for {names}{_if_random(narrower[0])}"
        notes.append(text)
    offer = _offer(rates, result.confidence_level)
    blocks.append(Note([*notes, f"method: {first.why}", *offer, *left_out(result.dropped)]))
    blocks += explain(first.assumptions)
    if rates:
        caption = (
            f"The {_name(result.method)} and the judge alone by {result.by}, with "
            f"{level(result.confidence_level)} intervals."
        )
        blocks.append(Figure("rates", partial(group_figure, result), caption))
    return blocks


def _group_headline(result: GroupedEstimate, rates: Sequence[Estimate]) -> Headline:
    what = f"{_name(result.method)}s" if rates else "class shares"
    estimated = [one for one in rates if one.estimated]
    given = len(result.groups) - len(result.refused)
    if estimated and len(estimated) == given <= IN_A_SENTENCE:
        shown = (f"{one.group} {rate_text(one.estimate, one.low, one.high)}" for one in estimated)
        text = f"{what} by {result.by}, {_said(result)} intervals: {', '.join(shown)}"
    else:
        text = f"{what} for {given} of {count(len(result.groups), 'value')} of {result.by}"
    text = sentence(None, text)
    if result.refused:
        without = ", ".join(result.refused)
        return Headline(text, f"No estimate for {without}: the reasons are below.", tone="bad")
    if any(_overlap(a, b) for a, b in combinations(estimated, 2)):
        return Headline(
            text,
            "Overlapping intervals do not show whether two groups differ: --compare A B (compare=) "
            "gives the interval of the difference, paired by --cluster.",
        )
    return Headline(text)


def _overlap(a: Estimate, b: Estimate) -> bool:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return False
    return a.low <= b.high and b.low <= a.high


def _rate_table(rates: Sequence[Estimate], by: str, *, pooled: bool) -> Table:
    """A line for each estimate; a narrow terminal keeps names, rates and their intervals."""
    said = level(rates[0].confidence_level)
    naive_ends, people = f"naive {said} interval", f"people alone, {said}"
    exact = f"these rows, {said}, exact"
    columns: dict[str, Callable[[Estimate], str]] = {
        "group": lambda one: str(one.group),
        "rate": lambda one: number(one.estimate),
        f"{said} interval": lambda one: interval(one.low, one.high) + " !" * bool(one.warnings),
        "naive rate": lambda one: number(one.naive),
        naive_ends: lambda one: interval(one.naive_low, one.naive_high),
        people: lambda one: _ends(one.people_alone),
        exact: lambda one: interval(one.rows_low, one.rows_high),
        "sensitivity": lambda one: number(one.sensitivity),
        "specificity": lambda one: number(one.specificity),
        "labels +/-": lambda o: f"{o.n_calibration_positive:,}/{o.n_calibration_negative:,}",
        "test rows": lambda one: number(one.n_test),
    }
    optional = [exact, naive_ends, "test rows", people, "labels +/-", "naive rate"]
    if all(one.rows_low is None for one in rates):
        del columns[exact]
        optional.remove(exact)
    if all(one.people_alone is None for one in rates):
        del columns[people]
        optional.remove(people)
    if all(one.sensitivity is None and one.specificity is None for one in rates):
        del columns["sensitivity"], columns["specificity"]
    else:
        place = optional.index("test rows") + 1
        optional[place:place] = ["specificity", "sensitivity"]
    marks = " (!: read the warning)" if any(one.warnings for one in rates) else ""
    labels = "labels of all groups pooled" if pooled else "each with its own labels"
    caption = f"{rates[0].method}, {rates[0].interval}, {labels}{marks}"
    table = table_of(rates, columns, caption=caption, optional=optional)
    # `by` comes from data: as a key it could be the name of another column.
    return replace(table, columns=(by, *table.columns[1:]))


def _ends(alone: Alternative | None) -> str:
    return DASH if alone is None else interval(alone.low, alone.high)


def view_difference(result: RateDifference) -> list[Block]:
    """The difference and whether its interval excludes zero, then the two rates."""
    errors = "" if result.naive is None else "not corrected for judge errors"
    facts = [Fact("naive difference", signed(result.naive), errors)]
    if result.human_only is not None:
        ends = interval(result.human_only_low, result.human_only_high)
        note = f"{level(result.confidence_level)} interval {ends}"
        facts.append(Fact("people alone", signed(result.human_only), note))
    if result.standard_error is not None and result.unpaired_standard_error is not None:
        paired = (
            f"{number(result.unpaired_standard_error, 4)} without pairing "
            f"({result.shared_clusters:,} of {count(result.clusters, 'cluster')} have rows of both)"
        )
        note = paired if result.clusters else ""
        facts.append(Fact("standard error", number(result.standard_error, 4), note))
    return [
        _difference_headline(result),
        *warnings_of(result.warnings),
        Facts(facts),
        _rate_table((result.estimate_a, result.estimate_b), "group", pooled=result.pooled),
        *notes_of(left_out(result.dropped)),
        *explain(result.assumptions),
        Figure(
            "difference",
            partial(difference_figure, result),
            "The two rates above, their difference below, with "
            f"{level(result.confidence_level)} intervals.",
        ),
    ]


def _difference_headline(result: RateDifference) -> Headline:
    if result.estimate is None:
        return Headline(f"No estimate of {result.a} minus {result.b}: {result.reason}", tone="bad")
    text = f"{result.a} minus {result.b}: {signed(result.estimate)}, {_range(result)}"
    if result.excludes_zero:
        return Headline(f"{text}, excludes zero", "The rates differ at this confidence level.")
    return Headline(f"{text}, includes zero", "These labels do not show a difference.")


def view_shift(shift: LabelShift) -> list[Block]:
    """The judge's mean verdict on labelled and on test rows, and what their difference excludes."""
    return [
        Headline(sentence(None, shift.explanation), tone="bad" if shift.rules_out else "plain"),
        Facts(
            [
                Fact("judge's mean, labelled rows", number(shift.judge_rate_calibration)),
                Fact("judge's mean, test rows", number(shift.judge_rate_test)),
                Fact("difference", signed(shift.difference)),
                Fact("p-value", DASH if shift.p_value is None else f"{shift.p_value:.2g}"),
                Fact("ruled out", ", ".join(shift.rules_out) or "nothing"),
            ]
        ),
    ]
