"""What people see of rates: the blocks around the numbers, the picture, and all of one rate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from adjudge.estimation.estimators import known_estimator
from adjudge.estimation.estimators.alone import NAIVE
from adjudge.present.blocks import (
    Block,
    Columns,
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
from adjudge.present.figure import ForestRow, forest_figure
from adjudge.present.result import Result
from adjudge.present.text import clip, left_out, level, number, show_interval, span
from adjudge.records import HasInterval

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge.estimation.rate import Alternative, Estimate

#: At most this many rates fit into a sentence; more are counted, and are in the table.
IN_A_SENTENCE = 4
#: At most this many groups are shown; the file of the result has all.
SHOWN = 60
#: The column of intervals that hold together.
SIMULTANEOUS = "simultaneous"
_Part = TypeVar("_Part")


class Rate(HasInterval):
    """A rate with its interval, as results and their parts have it."""

    estimate: float | None

    @property
    def width(self) -> float | None:
        """The width of the interval; None without an estimate."""
        if self.estimate is None or self.low is None or self.high is None:
            return None
        return self.high - self.low

    @property
    def text(self) -> str:
        """The rate with its interval, or the interval alone."""
        rate = "" if self.estimate is None and self.interval else f"{number(self.estimate)} "
        return rate + show_interval(self.interval)

    @property
    def interval_cell(self) -> str:
        """The interval in a table, with a mark if there is a warning about it."""
        return show_interval(self.interval) + " !" * bool(getattr(self, "warnings", ()))

    def row(self, name: str | None, naive: float | None = None) -> ForestRow:
        """Its line in a picture."""
        return ForestRow(clip(name), self.estimate, self.interval, naive)


class RateResult(Result):
    """A result about rates: the order of its blocks, and its picture."""

    confidence_level: float
    warnings: tuple[str, ...]
    dropped: Mapping[str, int]

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """General warnings, then those of single groups, each once with the groups named."""
        groups: Sequence[Any] = getattr(self, "groups", ())
        texts = ((group.group, text) for group in groups for text in group.warnings)
        return (*self.warnings, *with_groups(texts))

    def show(
        self,
        headline: Headline,
        *numbers: Block,
        notes: Sequence[str] = (),
        tables: Sequence[Block] = (),
        assumptions: Sequence[str],
        assumes: str = "",
        promises: Sequence[str] = (),
        others: Sequence[str] = (),
        figure: tuple[str, Callable[[Any], Drawing], str] | None,
    ) -> list[Block]:
        """The blocks of a result, in the order in which all kinds of estimates have them.

        `assumes` is the first assumption in a few words, for the line that is always visible.
        `figure` is the name of its picture, the function that draws it, and the caption.
        """
        folded = explain(assumptions, promises=promises, others=others)
        if assumes:
            brief = f"Assumes: {assumes}"
            folded = [replace(note, brief=brief) for note in folded if isinstance(note, Note)]
        blocks = [
            headline,
            *warnings_of(self.all_warnings),
            *numbers,
            *notes_of([*notes, *left_out(self.dropped)]),
            *tables,
            *folded,
        ]
        if figure is not None:
            name, draw, caption = figure
            blocks.append(Figure(name, partial(draw, self), caption))
        return blocks

    def draw(
        self,
        rows: Sequence[ForestRow],
        title: str,
        *,
        dot: str = "",
        quantity: str = "rate",
    ) -> Drawing:
        """A line for each rate with its interval; a ring is the judge's own rate."""
        axis = f"{quantity}, with {level(self.confidence_level)} intervals"
        naive = "judge alone (naive)"
        return forest_figure(rows, title=title, axis=axis, dot=dot, ring=naive, scale=1)


# --- sentences and blocks ---


def explain_simultaneous(parts: Sequence[Any], confidence_level: float) -> list[str]:
    """What the intervals of a table promise, each alone and all together."""
    together = sum(part.simultaneous_interval is not None for part in parts)
    if together < 2:
        return []
    confidence = level(confidence_level)
    return [
        f"{SIMULTANEOUS}: all {together:,} intervals hold together with {confidence} (Šidák); the "
        f"{confidence} intervals hold one by one"
    ]


def list_names(names: Sequence[str | None]) -> str:
    """The names, and how many more there are than can be shown."""
    listed = ", ".join(map(str, names[:SHOWN]))
    more = len(names) - SHOWN
    return f"{listed} and {more:,} more" if more > 0 else listed


def with_groups(texts: Iterable[tuple[str | None, str]]) -> list[str]:
    """Each text once, after the names of the groups that it is about."""
    named: dict[str, list[str | None]] = {}
    for group, text in texts:
        named.setdefault(text, []).append(group or "all rows")
    return [f"{list_names(names)} – {text}" for text, names in named.items()]


def sentence(group: str | None, text: str) -> str:
    """A headline: with the group's name before it, or with a capital letter."""
    return text[:1].upper() + text[1:] if group is None else f"{group}: {text}"


def level_text(result: Any) -> str:
    """The level of its intervals, by name if they are the judge's own."""
    naive = "" if known_estimator(result.method).uses_labels else "naive "
    return naive + level(result.confidence_level)


def table_by_group(
    parts: Sequence[_Part],
    by: str,
    columns: Mapping[str, Callable[[_Part], str]],
    *,
    caption: str = "",
    optional: Sequence[str] = (),
    detail: bool = False,
) -> Table:
    """A line for each group; marks in its cells are explained if a group has warnings.

    `by` comes from data: as a key it could be the name of another column.
    """
    marked = any(getattr(part, "warnings", ()) for part in parts)
    table = table_of(
        parts,
        columns,
        caption=" ".join(filter(None, (caption, "(!: read the warning)" * marked))),
        optional=[name for name in optional if name in columns],
        detail=detail,
    )
    return replace(table, columns=(by, *table.columns[1:]))


def describe_outside(what: str, rates: Sequence[Any], noun: str) -> str:
    """How many of the judge's rates are outside the interval that is reported."""
    compared = [rate for rate in rates if rate.naive is not None and rate.interval is not None]
    outside = sum(rate.naive not in rate.interval for rate in compared)
    if not compared:
        return f"People's {what}s"
    if len(compared) == 1:
        return f"The judge's {what} lies {'outside' if outside else 'inside'} the interval"
    if not outside:
        every = "both" if len(compared) == 2 else f"all {len(compared)}"
        return f"The judge's {what} lies inside {every} intervals"
    return f"The judge's {what} lies outside the interval for {outside} of {len(compared)} {noun}"


# --- one rate ---


def assumes_of(method: str, labels_drawn: str) -> str:
    """What a method assumes, in a few words."""
    estimator = known_estimator(method)
    by_verdict = labels_drawn in ("plan", "verdict")
    return (estimator.assumes_with_plan if by_verdict else "") or estimator.assumes


def rate_headline(result: Estimate) -> Headline:
    estimator = result.estimator
    within = f"{level_text(result)} interval {show_interval(result.interval)}"
    if result.estimate is None and result.interval is None:
        text = f"no {result.method} estimate: {result.reason}"
        return Headline(sentence(result.group, text), tone="bad")
    if result.estimate is None:
        how = f"({result.method}, {result.interval_method})"
        text = sentence(result.group, f"people's rate: {within}, without a point estimate {how}")
        return Headline(text, f"{sentence(None, result.reason or '')}.", decision=text)
    rate = f"{estimator.title} {number(result.estimate)}, {within}"
    text = sentence(result.group, f"{rate} ({result.method}, {result.interval_method})")
    if not estimator.uses_labels:
        remedy = "leave out --method" if result.n_calibration else "label some rows"
        return Headline(text, f"Not corrected for judge errors: {remedy} to correct it.")
    action = "Report it with its interval"
    if estimator.uses_judge and result.naive is not None:
        action += f", not the naive judge rate, {number(result.naive)}"
    alone = result.people_alone
    if alone is not None and result.people_are_narrower:
        ends = show_interval(alone.interval)
        action += f". People alone are narrower{condition_of_people(result)}: {ends}"
    return Headline(text, f"{action}.", decision=sentence(result.group, describe_rate(result)))


def describe_rate(result: Estimate) -> str:
    """The rate to report with its interval, and the judge's own where it differs as printed."""
    naive = number(result.naive)
    if not result.estimator.uses_judge or result.naive is None or naive == number(result.estimate):
        return result.text
    return f"{result.text}, not {naive}"


def condition_of_people(result: Estimate) -> str:
    """The condition of the rate by people alone, if it is not known to hold."""
    return ", if the labels are a random sample" if result.labels_drawn == "unknown" else ""


def offer_declaration(rates: Sequence[Estimate]) -> list[str]:
    """The rate under the declaration that labels are a random sample, if that is not known."""
    offers = [
        (rate, rate.if_random)
        for rate in rates
        if rate.if_random is not None and not (rate.label_shift and rate.label_shift.doubtful)
    ]
    if not offers:
        return []
    text = "Random labels? --labels-are-random"
    if len(rates) == 1:
        [(_, offered)] = offers
        gives = f"{text} gives {offered.text} ({offered.method})"
        return [] if offered.estimate is None else [gives]
    reported = _widths([rate for rate, _ in offers])
    widths = _widths([offered for _, offered in offers])
    return [f"{text}: width {widths}" + f", not {reported}" * bool(reported)] if widths else []


def _widths(rates: Sequence[Rate]) -> str:
    """From the narrowest interval to the widest; empty if there is none."""
    widths = [rate.width for rate in rates if rate.width is not None]
    return span(number(min(widths)), number(max(widths))) if widths else ""


def judge_facts(result: Estimate) -> list[Block]:
    """What the judge says, and how good it is."""
    measured = (
        ("sensitivity", result.sensitivity, result.sensitivity_interval),
        ("specificity", result.specificity, result.specificity_interval),
    )
    facts = [
        Fact(name, number(value), "" if interval is None else show_interval(interval))
        for name, value, interval in measured
        if value is not None
    ]
    if result.estimator.uses_labels and result.naive is not None:
        ends = f"{level(result.confidence_level)} interval {show_interval(result.naive_interval)}"
        note = f"naive {ends}, of {result.rows_about}, not corrected for judge errors"
        facts.insert(0, Fact(NAIVE.title, number(result.naive), note))
    return [Facts(facts, detail=True)] if facts else []


def other_methods(result: Estimate) -> list[Block]:
    """Their rates and intervals, and what each assumes in a few words."""
    if not result.alternatives:
        return []

    def assumes(other: Alternative) -> str:
        short = assumes_of(other.method, result.labels_drawn)
        return other.reason or short or other.assumption

    columns: Columns[Alternative] = {
        "method": lambda other: other.method,
        "assumes": assumes,
        "rate": lambda other: number(other.estimate),
        f"{level(result.confidence_level)} interval": lambda a: show_interval(a.interval),
    }
    caption = "The other methods on the same rows, for comparison only"
    return [table_of(result.alternatives, columns, caption=caption, text_columns=2, detail=True)]


def rate_table(rates: Sequence[Estimate], by: str, *, pooled: bool, detail: bool = False) -> Table:
    """A line for each estimate, short or, folded, complete; the rate and interval are in both."""
    confidence = level(rates[0].confidence_level)
    naive_ends = f"naive {confidence} interval"
    people = f"people alone, {confidence}"
    exact = f"these rows, {confidence}, exact"
    columns: Columns[Estimate] = {
        "group": lambda r: str(r.group),
        "rate": lambda r: number(r.estimate),
        f"{confidence} interval": lambda r: r.interval_cell,
        SIMULTANEOUS: lambda r: show_interval(r.simultaneous_interval),
        "shared interval": lambda r: show_interval(r.shared_interval),
        "naive rate": lambda r: number(r.naive),
        naive_ends: lambda r: show_interval(r.naive_interval),
        people: lambda r: show_interval(None if (a := r.people_alone) is None else a.interval),
        exact: lambda r: show_interval(r.rows_interval),
        "sensitivity": lambda r: number(r.sensitivity),
        "specificity": lambda r: number(r.specificity),
        "labels +/-": lambda r: f"{r.n_calibration_positive:,}/{r.n_calibration_negative:,}",
        "test rows": lambda r: number(r.n_test),
    }
    measured = any(r.sensitivity is not None or r.specificity is not None for r in rates)
    visible = {
        exact: any(rate.rows_interval is not None for rate in rates),
        people: any(rate.people_alone is not None for rate in rates),
        "sensitivity": measured,
        "specificity": measured,
    }
    if not detail:
        visible |= dict.fromkeys((*visible, naive_ends, "test rows"), False)
    shared = any(rate.shared_interval is not None for rate in rates)
    together = any(rate.simultaneous_interval is not None for rate in rates)
    # A terminal has no space for both.
    visible |= {"shared interval": shared, SIMULTANEOUS: together and (detail or not shared)}
    columns = {name: cell for name, cell in columns.items() if visible.get(name, True)}
    optional = [exact, naive_ends, "test rows", "specificity", "sensitivity", people]
    optional += ["labels +/-", SIMULTANEOUS, "naive rate"]
    labels = "labels of all groups pooled" if pooled else "each with its own labels"
    about = "all rows" if rates[0].rows_about.startswith("all") else "the unlabelled rows"
    return table_by_group(
        rates,
        by,
        columns,
        caption=f"{rates[0].method}, {rates[0].interval_method}, {labels}; naive: of {about}"
        if detail
        else "",
        optional=optional,
        detail=detail,
    )


def estimate_figure(result: Estimate) -> Drawing:
    """All methods on the same rows: this result first, the judge alone last."""
    rows = [ForestRow(f"{result.method} (this result)", result.estimate, result.interval)]
    rows += [
        ForestRow(other.method, other.estimate, other.interval)
        for other in result.alternatives
        if known_estimator(other.method).uses_labels
    ]
    title = f"Judge alone: {number(result.estimate)}, not corrected for judge errors"
    if result.estimator.uses_labels:
        rows.append(ForestRow("judge alone (naive)", result.naive, result.naive_interval))
        rate = f"{result.estimator.title.capitalize()} {number(result.estimate)}"
        title = f"{rate}, judge alone {number(result.naive)}"
    if result.estimate is None:
        title = f"No {result.method} estimate from these labels"
    return result.draw(rows, title, quantity=clip(result.group or "rate", 48))
