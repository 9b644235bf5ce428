"""A paper run again: our numbers beside those that it prints, and which of them are comparable.

A reproduction has our numbers in tables of the columns that the paper has (`printed`). A published
row is shown with ours only if judge and data are the paper's; else the published table is shown
whole, and ours with our own judges' names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from statistics import fmean, median, stdev
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl

from adjudge.errors import ArgumentError
from adjudge.judges.prompting import read_prompt
from adjudge.present.blocks import Block, Figure, Headline, Table, notes_of, warnings_of
from adjudge.present.figure import WARM, themed
from adjudge.present.result import Check, Count, Result, frozen
from adjudge.present.text import DASH, left_out
from adjudge.validation import one_of
from adjudge_papers.items import SECTION, ItemValue, PaperItem, Status, item_blocks, sort_items
from adjudge_papers.printed import (
    ROUNDING,
    Column,
    PaperTable,
    Row,
    item_entry,
    paper_tables,
    read_cell,
    read_published,
    same_level,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: The user's rows, a simulator, the paper's own simulation run again, or a formula.
Source = Literal["yours", "simulated", "again", "formula"]
#: The judge that is asked first: what is wrong with the data must not cost calls of another.
REHEARSAL = "simulated:"
#: Keys that are numbers.
_NUMERIC = ("alpha", "judges", "rate", "labels", "per_model", "p", "width")
#: What explains a difference, unless the data file says it.
_OTHER_ANSWERS = "the answers, rows or random draws are not the authors'"


def costs_calls(judge: object) -> bool:
    """Whether a rehearsal is needed before this judge is asked."""
    return judge is not None and not str(judge).startswith(REHEARSAL)


def read_prompts(prompts: Mapping[str, str | Path] | None, *protocols: str) -> dict[str, Any]:
    """The user's prompt files, each for one of these protocols."""
    files = (prompts or {}).items()
    return {one_of(name, protocols, "prompts"): read_prompt(path) for name, path in files}


def source_of(judges: Iterable[str]) -> Source:
    """Whether these judges are simulated; the answers of a simulated judge never count as real."""
    names = list(judges)
    simulated = bool(names) and all(name.lower().startswith("simulated") for name in names)
    return "simulated" if simulated else "yours"


def row_of(result: object, fields: str, **keys: Any) -> dict[str, Any]:
    """A row: the keys, then these fields of a result of adjudge."""
    return {**keys, **{name: getattr(result, name) for name in fields.split()}}


def ends_of(name: str, interval: Iterable[float | None] | None) -> dict[str, float | None]:
    """The two fields of an interval."""
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def parts_of(rows: Iterable[Row]) -> list[Any]:
    """Rows as objects, for functions that draw results of adjudge."""
    return [SimpleNamespace(**row) for row in rows]


# --- what was measured -----------------------------------------------------------------------


@dataclass(frozen=True)
class MeasuredTable:
    """Our numbers for a table of the paper, and where they come from.

    `same_data` is False if the rows are not about the paper's data, whatever their keys are.
    """

    name: str
    rows: tuple[Row, ...]
    data: str
    source: Source
    same_data: bool = True

    def matched(self, table: PaperTable) -> list[tuple[Row, Row]]:
        """Our rows with the published row of the same judge and data."""
        if self.source != "yours" or not self.same_data:
            return []
        return [
            (ours, theirs)
            for ours in self.rows
            for theirs in table.published
            if table.matches(ours, theirs)
        ]


def measured_tables(tables: Mapping[str, tuple[Any, ...]]) -> tuple[MeasuredTable, ...]:
    """Tables from their rows, data, source and, if it can be False, `same_data`, by name."""
    return tuple(
        MeasuredTable(name, tuple(rows), *about) for name, (rows, *about) in tables.items()
    )


def values_of(rows: Iterable[Row], field: str) -> list[float]:
    """A field of the rows that have it."""
    return [float(row[field]) for row in rows if row.get(field) is not None]


# --- items -----------------------------------------------------------------------------------

#: Numbers of all rows of an item, for what no expression of one row can say.
Picks = Mapping[str, Callable[[Sequence[Row]], Sequence[float]]]
_REDUCE: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "median": median,
    "min": min,
    "max": max,
    "sum": sum,
    "count": sum,
    "sd": lambda values: stdev(values) if len(values) > 1 else 0.0,
}


@dataclass(frozen=True)
class Measure:
    """A value of an item: how it is computed from rows, and the paper's number.

    `rounding` is half a unit of the last digit of that number, `noise` how the noise of ours is
    computed from the same rows, and `why` what explains a larger difference.
    """

    name: str
    reduce: str
    expression: str
    where: Mapping[str, Any]
    paper: float | None
    digits: int
    rounding: float = 0.0
    noise: str = ""
    why: str = ""

    def noise_of(self, rows: Sequence[Row]) -> float:
        """The largest difference that random draws and rounded digits explain."""
        if not self.noise:
            return self.rounding
        reduce, _, expression = self.noise.partition(" ")
        drawn = replace(self, reduce=reduce, expression=expression).value(rows, {})
        return self.rounding + (drawn or 0.0)

    def value(self, rows: Sequence[Row], picks: Picks) -> float | None:
        """The value of these rows; over all judges if the chosen judge is not here."""
        chosen = _of_judge(rows, self.where)
        if self.expression.startswith("@"):
            numbers = picks[self.expression[1:]](chosen)
        elif re.fullmatch(r"[\w.]+", self.expression):
            numbers = [value for value in values_of(chosen, self.expression) if isfinite(value)]
        else:
            expression = pl.sql_expr(self.expression)
            names = expression.meta.root_names()
            columns = {name: [row.get(name) for row in chosen] for name in names}
            if any(set(column) <= {None} for column in columns.values()):
                return None
            frame = pl.DataFrame(columns, strict=False).select(expression.cast(pl.Float64))
            numbers = [value for value in frame.to_series().drop_nulls() if isfinite(value)]
        return float(_REDUCE[self.reduce](numbers)) if numbers else None


def read_measures(entry: Mapping[str, Any], rows: Sequence[Row] | None) -> Iterator[Measure]:
    """The values of an item, from lines `name; REDUCE EXPRESSION [KEY=LEVEL]; paper; digits`.

    After the digits can follow `; REDUCE EXPRESSION; why`: the noise of ours (95 %), computed from
    the same rows, and what explains a difference larger than that.

    The expression is SQL on the fields of a row, or @NAME for a function of all rows. `range` is
    the least and the most, as papers state ranges. [KEY=LEVEL] and [KEY!=LEVEL] choose rows, and
    {KEY} in the name makes a value for each level of that key in the rows, or of those that the
    paper states. `paper` has the paper's number, two for a range, LEVEL=NUMBER for levels.
    """
    for line in entry.get("values", "").strip().splitlines():
        words = [word.strip() for word in line.split(";")]
        name, how, paper, digits, noise, why = [*words, *[""] * 4][:6]
        computed, _, keys = how.partition("[")
        reduce, _, expression = computed.strip().partition(" ")
        conditions = (
            condition.split("=") for condition in keys.rstrip("]").split(",") if condition
        )
        where = {key.strip(): read_cell(level) for key, level in conditions}
        ways = {", least": "min", ", most": "max"} if reduce == "range" else {"": reduce}
        stated: dict[str, str] = {"": paper}
        levels: Iterable[Any] = [""]
        key = re.search(r"{(\w+)}", name)
        if key is not None:
            stated = dict(word.split("=") for word in paper.split())
            chosen = None if rows is None else (row[key[1]] for row in _where(rows, where))
            levels = stated if chosen is None else dict.fromkeys(chosen)
        for level in levels:
            title = name if key is None else name.replace(key[0], _plain(level))
            rows_of = where if key is None else {**where, key[1]: level}
            numbers = stated.get(_plain(level), "").split()
            for (suffix, way), word in zip_longest(ways.items(), numbers[: len(ways)]):
                printed = None if word is None else float(word)
                shown = int(digits or entry.get("digits", 1))
                decimals = max(shown, len((word or "").partition(".")[2]))
                yield Measure(
                    name=title + suffix,
                    reduce=way,
                    expression=expression.strip(),
                    where=rows_of,
                    paper=printed,
                    digits=shown,
                    rounding=0.5 * 10**-decimals + ROUNDING,
                    noise=noise,
                    why=why,
                )


def stated_values(paper: str, name: str) -> dict[str, float]:
    """The numbers that a paper states for an item, by the name of the value."""
    measures = read_measures(item_entry(paper, name), None)
    return {measure.name: measure.paper for measure in measures if measure.paper is not None}


def build_items(
    paper: str,
    measured: Iterable[MeasuredTable],
    *,
    names: Mapping[str, str] | None = None,
    picks: Picks | None = None,
    missing: Mapping[str, str] | None = None,
) -> tuple[PaperItem, ...]:
    """Every item of a paper: our numbers with those of its data file.

    If rows match published ones, both sides are those rows alone. A judge in an item's `where` is
    for them: on other rows the numbers are over all judges. `names` are put into `where`; a key
    with an empty name is dropped. `missing` has why items are not possible with these data.

    >>> build_items("scope", [])[3].reason
    'a drawing without numbers'
    """
    here = {table.name: table for table in measured}
    items = []
    for name in read_published(paper)["items"]:
        entry = item_entry(paper, name)
        item = PaperItem(paper=paper, name=name, about=entry["about"], status="not possible")
        reason = (missing or {}).get(name) or entry.get("missing", "")
        if reason:
            items.append(replace(item, reason=reason))
        else:
            items.append(_measure_item(item, entry, here, names or {}, picks or {}))
    return sort_items(items)


def simulated_findings(items: Sequence[PaperItem]) -> dict[str, bool]:
    """Which findings of a paper its simulated items show; only those that could show them."""
    simulated = {
        item.name: {value.name: value.ours for value in item.values}
        for item in items
        if item.status == "simulated"
    }
    lines = read_published(items[0].paper).get("findings", "") if simulated else ""
    findings = {}
    for line in lines.strip().splitlines():
        finding, name, text = (word.strip() for word in line.split(";"))
        condition = pl.sql_expr(text)
        values = {of: simulated.get(name, {}).get(of) for of in condition.meta.root_names()}
        if None not in values.values():
            findings[finding] = bool(pl.DataFrame([values]).select(condition).item())
    return findings


def _measure_item(
    item: PaperItem,
    entry: Mapping[str, Any],
    here: Mapping[str, MeasuredTable],
    names: Mapping[str, str],
    picks: Picks,
) -> PaperItem:
    """The item with its values on these tables, or with the reason why it has none."""
    filled = {key: level.format(**names) for key, level in entry.get("where", {}).items()}
    where = {key: level for key, level in filled.items() if level}
    unknown = entry.get("unknown", "the rows do not have the needed data")
    table = paper_tables(item.paper)[entry["table"]]
    measured = here.get(entry["table"])
    if measured is None or not _of_judge(measured.rows, where):
        return replace(item, reason=entry.get("absent", unknown))
    theirs = _where(table.published, where)
    pairs = [pair for pair in measured.matched(table) if _where([pair[1]], where)]
    whole = len({id(row) for _, row in pairs}) == len(theirs)
    status: Status = "reproduced"
    reason = ""
    if measured.source in ("again", "formula"):
        ours = _where(measured.rows, where)
        whole = True
    elif pairs:
        reason = "" if whole else f"{len(pairs)} of the paper's {len(theirs)} rows"
        ours = [row for row, _ in pairs]
        theirs = [row for _, row in pairs]
    else:
        simulated = measured.source == "simulated"
        status = "simulated" if simulated else "other judges or data"
        reason = "" if simulated else measured.data
        ours = _where(measured.rows, _without_judge(where))
    values = []
    for measure in read_measures(entry, ours):
        value = measure.value(ours, picks)
        stated = measure.paper
        if stated is None or (status == "reproduced" and not whole):
            # A range over excerpts of a table is not the paper's range.
            stated = measure.value(theirs, picks) if pairs or not table.absent else None
        if value is not None or stated is not None:
            shown = ItemValue(
                name=measure.name, ours=value, published=stated, digits=measure.digits
            )
            if status == "reproduced" and stated is not None:
                noise = measure.noise_of(ours)
                shown = replace(shown, noise=noise, why=measure.why or _OTHER_ANSWERS)
            values.append(shown)
    if all(value.ours is None for value in values):
        return replace(item, reason=unknown)
    if any(value.differs for value in values):
        status = "with differences"
    figure = entry.get("figure")
    return replace(item, status=status, reason=reason, values=tuple(values), figure=figure)


def _where(rows: Iterable[Row], keys: Mapping[str, Any]) -> list[Row]:
    """The rows with these keys; KEY! is for rows with any other level."""
    chosen = list(rows)
    for key, level in keys.items():
        name = key.rstrip("!")
        wanted = name == key
        chosen = [row for row in chosen if same_level(name, row.get(name), level) == wanted]
    return chosen


def _without_judge(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {key: level for key, level in keys.items() if not key.startswith("judge")}


def _of_judge(rows: Sequence[Row], keys: Mapping[str, Any]) -> list[Row]:
    """The rows with these keys, of any judge if the judge among them is not here."""
    return _where(rows, keys) or _where(rows, _without_judge(keys))


# --- tables ----------------------------------------------------------------------------------


def show_tables(table: PaperTable, measured: MeasuredTable | None) -> Iterator[Table]:
    """Ours, the paper's row below each that matches; the published table whole if some do not."""
    pairs = [] if measured is None else measured.matched(table)
    if measured is not None and measured.rows:
        theirs = {id(ours): row for ours, row in pairs}
        title = f"{table.title}: {measured.data}" if measured.data else table.title
        ours = _table(table, measured.rows, title, theirs)
        if len(ours.columns) > 1:
            yield ours
    if len({id(row) for _, row in pairs}) < len(table.published):
        absent = f" ({table.absent})" if table.absent else ""
        whole = _table(table, table.published, f"{table.title}: as published{absent}", {})
        if len(whole.columns) > 1:
            yield whole


def _table(table: PaperTable, rows: Sequence[Row], caption: str, paper: Mapping[int, Row]) -> Table:
    keys = [key for key in table.keys if key != table.across] or ["row"]
    levels: list[Any] = list(dict.fromkeys(row.get(table.across) for row in rows))
    visible = [column for column in table.columns if not column.form.startswith(".")]
    shown = [column for column in visible if any(column.write(row) != DASH for row in rows)]
    groups: dict[tuple[Any, ...], dict[Any, Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), {})[row.get(table.across)] = row
    lines = []
    for key, cells in groups.items():
        name = ", ".join(_plain(level) for level in key if level is not None)
        below = {level: paper[id(row)] for level, row in cells.items() if id(row) in paper}
        for title, by_level in ((name, cells), ("  paper", below)):
            texts = [
                column.write(by_level[level]) if level in by_level else DASH
                for level in levels
                for column in shown
            ]
            if set(texts) - {DASH}:
                lines.append((title, *texts))
    headings = []
    for level in levels:
        of_level = "" if level is None else f" {_plain(level)}"
        headings += [f"{column.heading or column.field}{of_level}" for column in shown]
    words = 1 + sum(column.form.startswith("t") for column in shown)
    columns = (", ".join(keys), *headings)
    return Table(columns, lines, caption, text_columns=words, optional=table.optional)


def _plain(level: Any) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


# --- the result ------------------------------------------------------------------------------


class Gallery(dict[str, "Callable[[Any], Drawing]"]):
    """The pictures of a paper by name; `@gallery.add(name)` declares a function that draws one."""

    def add(self, name: str) -> Callable[[Callable[..., Drawing]], Callable[..., Drawing]]:
        """A decorator: the function draws, in the common look, the picture of that name."""
        return lambda draw: self.setdefault(name, themed()(draw))


def _items_of(paper: str, figure: str) -> list[Mapping[str, Any]]:
    """The entries of the items that a picture shows."""
    entries = (item_entry(paper, name) for name in read_published(paper)["items"])
    return [entry for entry in entries if entry.get("figure") == figure]


def _known_tables(result: Reproduction) -> str | None:
    """Every picture and table is one of the paper, and cells are what their columns say."""
    for name in {item.figure for item in result.items if item.figure is not None}:
        if not _items_of(result.paper, name):
            return f"picture {name!r} is not known"
    tables = paper_tables(result.paper)
    for measured in result.tables:
        if measured.name not in tables:
            return f"table {measured.name} is not known"
        for at, row in enumerate(measured.rows):
            if (problem := _problem_in(row, tables[measured.name])) is not None:
                return f"table {measured.name}, row {at + 1}: {problem}"
    return None


def _problem_in(row: Row, table: PaperTable) -> str | None:
    columns = {column.field: column for column in table.columns}
    for key in table.keys:
        if not isinstance(row.get(key), (int, float) if key in _NUMERIC else str):
            return f"{key} is missing or is of another type"
    for name in columns.keys() | row.keys() - {*table.keys}:
        column = columns.get(name)
        if column is None and name.removesuffix("_low").removesuffix("_high") in columns:
            column = Column(name, "1", "")
        problem = "is not known" if column is None else column.problem(row.get(name))
        if problem is not None:
            return f"{name} {problem}"
    return None


@frozen
class Reproduction(Result):
    """A paper's protocol on the given data: our tables, items with the paper's numbers, figures.

    `items` lists the status of every table, figure and claim of the paper.
    """

    section: ClassVar[tuple[str, str]] = SECTION
    checks: ClassVar[tuple[Check, ...]] = (_known_tables,)
    #: The name of the paper's data file, its pictures, and the table that `to_frame` returns.
    paper: ClassVar[str]
    drawings: ClassVar[Gallery]
    main_table: ClassVar[str]

    seed: Count
    tables: tuple[MeasuredTable, ...]
    items: tuple[PaperItem, ...] = ()
    #: Splits, repeats and other settings of the run.
    settings: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    def headline(self) -> Headline:
        """What the numbers say, in a sentence."""
        raise NotImplementedError

    def table(self, name: str) -> MeasuredTable | None:
        """Our numbers for one of the paper's tables."""
        return next((table for table in self.tables if table.name == name), None)

    def rows(self, name: str, **keys: Any) -> list[Row]:
        """The rows of a table with these keys."""
        table = self.table(name)
        return [] if table is None else _where(table.rows, keys)

    def is_simulated(self, *names: str) -> bool:
        """Whether one of these tables, by default of all, comes from a simulator."""
        return any(
            table.source == "simulated" for table in self.tables if not names or table.name in names
        )

    @property
    def caution(self) -> str:
        """What a headline adds if numbers are simulated."""
        return str(read_published(self.paper)["simulated"]) if self.is_simulated() else ""

    def _parts(self) -> Sequence[Row]:
        return self.rows(self.main_table)

    def draw(self, name: str) -> Drawing:
        """A picture of the paper; one that shows simulated judges carries the word."""
        entries = _items_of(self.paper, name)
        shown = {entry["table"] for entry in entries}
        if not any(self.rows(table) for table in shown):
            absent = (entry["absent"] for entry in entries if "absent" in entry)
            raise ArgumentError("figure", name, next(absent, "the tables have no rows for it"))
        try:
            figure = self.drawings[name](self)
        except (LookupError, ValueError) as error:  # an incomplete table, in an edited file
            raise ArgumentError("figure", name, f"the tables lack rows ({error})") from None
        sources = {table.source for table in self.tables if table.name in shown}
        words = {"simulated": "simulated", "again": "simulated, as in the paper"}
        stamp = next((text for source, text in words.items() if source in sources), None)
        if stamp is not None:
            # On the left: a saved picture grows by the stamp, and legends on the right move along.
            style: dict[str, Any] = {"ha": "left", "va": "bottom", "fontsize": 10}
            figure.text(0.01, 1.01, stamp, color=WARM, fontweight="bold", **style)
        return figure

    def view(self) -> list[Block]:
        """Headline, tables, items, pictures, what was left out."""
        pictures = []
        for name in dict.fromkeys(item.figure for item in self.items if item.figure is not None):
            entry = _items_of(self.paper, name)[0]
            numeral = int(re.sub(r"\D", "", name))
            caption = f"Figure {numeral}: {entry.get('caption', entry['about'])}"
            pictures.append(Figure(name, partial(self.draw, name), caption))
        tables: list[Block] = []
        for table in paper_tables(self.paper).values():
            if table.title:
                tables += show_tables(table, self.table(table.of))
        notes = [f"note: {text}" for text in read_published(self.paper)["notes"]]
        return [
            self.headline(),
            *tables,
            *item_blocks(self.items, "Tables, figures and claims of the paper"),
            *pictures,
            *warnings_of(self.warnings),
            *notes_of(left_out(self.dropped)),
            *notes_of(notes),
        ]
