"""A table opened once: the files of a call, the names of their columns, what is needed of them.

A verb makes a `Source` of its files and of what every reading verb takes (`Reading`). A `Table`
that was read before is not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import Parameter, signature
from pkgutil import resolve_name
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast

import polars as pl

from adjudge.data.columns import refuse_absent, rename_table
from adjudge.data.conversion import read_public
from adjudge.data.files import Handle, is_saved, local_file
from adjudge.data.formats import NATIVE, Format, Kind, looks_like
from adjudge.data.names import LOG, OURS, TEXTS, USUAL, bare_name, recognise
from adjudge.data.steps.labels import labels_of_raters, with_ids
from adjudge.data.tables import (
    Table,
    TableLike,
    by_handle,
    choose_format,
    first_row,
    in_use,
    is_json,
    is_table,
    parse_table,
    source_name,
)
from adjudge.errors import ArgumentError, DataError
from adjudge.present.text import count

T = TypeVar("T")
#: What checks the rows of each kind. The kinds read their files through this module.
_CHECKS = {
    "battles": "adjudge.data.battles:read_battles",
    "judgments": "adjudge.data.judgments:read_judgments",
    "labels": "adjudge.data.labels:read_every_label",
    "scores": "adjudge.data.scores:read_scores",
}


class Reading(TypedDict, total=False):
    """What every verb takes that reads a table.

    Args:
        columns: Column names of your files, by ours. A mapping such as {"label": "vote"}; the usual
            names need none. Each must be in one of the files.
        labels_columns: Column names of the labels file, by ours. Such as {"id": "ticket"}; they
            come before those for all files.
        labels_as: Meaning of words in label columns that are not known, such as {"yes": "A"}.
        human_metrics: Metrics of a log that are people's labels, and of which metric. Such as
            {"human": "correctness"}; an empty name is the only metric of an answer, and {} says
            that no metric is people's.
        raters: Columns of one rater each, in place of one column of labels. In the labels file, or
            in the rows if there is none; most raters decide, and each is kept.
        alike_ids: Join labels also by ids that are alike. Equal up to blanks, case, Unicode or
            number form; without it such labels are counted.
    """

    columns: Mapping[str, str] | None
    labels_columns: Mapping[str, str] | None
    labels_as: Mapping[str, str] | None
    human_metrics: Mapping[str, str] | None
    raters: Sequence[str] | None
    alike_ids: bool


def typed_again(reading: Mapping[str, Any]) -> list[str]:
    """The options of the command line that read a table in this way.

    >>> typed_again({"columns": {"label": "vote"}, "labels_as": {"yes": "A", "no": "B"}})
    ['--column', 'label=vote', '--labels-as', 'yes=A,no=B']
    """
    words: list[str] = []
    for option, flag in (("columns", "--column"), ("labels_columns", "--labels-column")):
        for ours, theirs in (reading.get(option) or {}).items():
            words += [flag, f"{ours}={theirs}"]
    if (metrics := reading.get("human_metrics")) is not None:
        for name, metric in metrics.items() or [("none", "")]:
            words += ["--human-metric", f"{name}={metric}" if metric else name]
    if meaning := reading.get("labels_as"):
        words += ["--labels-as", ",".join(f"{theirs}={ours}" for theirs, ours in meaning.items())]
    return words


#: Values of options that are not columns.
_NO_COLUMN = {"auto", "none", "votes"}
#: By whether they include texts.
_KNOWN = {
    texts: frozenset(
        bare_name(word)
        for ours, names in {**dict.fromkeys(OURS, ""), **USUAL}.items()
        if texts or ours not in TEXTS
        for word in (ours.partition(":")[2] or ours, *names.split())
    )
    for texts in (False, True)
}


@dataclass(frozen=True, slots=True)
class Needs:
    """What an analysis of rows of these `kinds` needs: our columns, and those that are `named`.

    `named` are the values of its options that can name a column. `texts` is true if it also uses
    prompts and responses.
    """

    kinds: tuple[str, ...]
    named: Iterable[object] = ()
    texts: bool = False

    def unneeded(self, schema: Mapping[str, pl.DataType]) -> list[str]:
        """The columns to leave out; none if the file could be refused: the error lists all.

        >>> columns = dict.fromkeys(["id", "response_a", "why", "language"], pl.String())
        >>> Needs(("judgments",)).unneeded({**columns, "p_a": pl.Float64()})
        ['response_a', 'why']
        """
        here = list(schema)
        named = {name for name in self.named if isinstance(name, str)} - _NO_COLUMN
        native = any(NATIVE[kind].signature.fits(here) for kind in self.kinds)
        one_order = "p_a" not in here and len({"p_fwd", "p_rev"}.intersection(here)) == 1
        if not native or one_order or named - {*here} or isinstance(looks_like(here), Format):
            return []
        # The ids of rows without an id are made from their texts.
        kept = _KNOWN[self.texts or "id" not in here]
        return [
            name
            for name, dtype in schema.items()
            if dtype == pl.String and name not in named and bare_name(name) not in kept
        ]


class Source:
    """The files of one call, with what they are read with: a table, its labels, its pairs, others.

    Each is a path, a frame or an object with a table. While the source is in use (`with`), a file
    is opened once and parsed once. The caller's names of columns are for all files together: each
    must be in one of them. `data` can also be rows that were prepared before.

    >>> with Source({"vote": [0]}, columns={"label": "vote"}, labels_as={"0": "A"}) as source:
    ...     table = source.rows
    >>> table.frame.columns, table.labels_as
    (['label'], {'0': 'A'})
    """

    def __init__(
        self,
        data: Any,
        *,
        labels: TableLike | None = None,
        pairs: TableLike | None = None,
        others: Mapping[str, TableLike | None] | None = None,
        **reading: Unpack[Reading],
    ) -> None:
        # Every misspelled option of a verb that takes `**reading` arrives here.
        unknown = sorted(reading.keys() - Reading.__annotations__.keys())
        if unknown:
            raise TypeError(f"unexpected keyword argument {', '.join(map(repr, unknown))}")
        self.options: dict[str, object] = {"labels": labels, "pairs": pairs, **reading}
        self.columns = dict(reading.get("columns") or {})
        self._labels_columns = dict(reading.get("labels_columns") or {})
        if self._labels_columns and labels is None:
            remedy = "give the labels file too: --labels FILE (labels=)"
            raise ArgumentError("labels_columns", self._labels_columns, remedy)
        words = reading.get("labels_as") or {}
        self.labels_as = {str(word): ours for word, ours in words.items()}
        self.alike_ids = bool(reading.get("alike_ids"))
        self._human_metrics = reading.get("human_metrics")
        raters = reading.get("raters") or ()
        self.raters = (raters,) if isinstance(raters, str) else tuple(raters)
        self._raters_used = False
        files: dict[str, Any] = {"rows": data, "labels": labels, "pairs": pairs, **(others or {})}
        self._files = {place: by_handle(file) for place, file in files.items()}
        self._needs: Needs | None = None
        self._apart: list[str] = []
        self._in_use = ExitStack()
        self._users = 0

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        labels: TableLike | None = None,
        pairs: TableLike | None = None,
        **reading: Unpack[Reading],
    ) -> Source:
        """The source itself, which has its options already; else a source of the table."""
        if not isinstance(data, Source):
            return cls(data, labels=labels, pairs=pairs, **reading)
        for option, value in {"labels": labels, "pairs": pairs, **reading}.items():
            if value is not None:
                raise ArgumentError(option, value, "give it to the Source")
        return data

    def __enter__(self) -> Source:
        self._users += 1
        if self._users == 1:
            for file in self._files.values():
                if isinstance(file, Handle):
                    self._in_use.enter_context(file)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._users -= 1
        if self._users == 0:
            try:
                if isinstance(error, DataError) and error.path == self.name:
                    self._name_both(error)
                if error is None and self.raters and not self._raters_used:
                    remedy = "leave it out: nothing here reads labels of people"
                    raise ArgumentError("raters", ", ".join(self.raters), remedy)
            finally:
                self._in_use.close()
                # A large file is in memory once: its rows are in what was made of them.
                self.__dict__.pop("_named", None)

    def _name_both(self, error: DataError) -> None:
        """Add the columns that the labels lack to the error for those that the rows lack.

        Columns that the caller named are listed by the caller's names.
        """
        by_labels = "--labels-column" in str(error.remedy)
        absent = error.problem == "is missing" or error.problem.startswith("has no columns")
        if by_labels or not absent:
            return
        before, here, listed = str(error.remedy).partition("columns here: ")
        theirs = ", ".join(self.columns.get(name, name) for name in listed.split(", "))
        remedy, lacking = before + here + theirs, resolve_name("adjudge.data.labels:lacking")
        if self.labels is not None and (more := lacking(open_values(self.labels))):
            remedy = f"{remedy}; and {more}"
        if remedy != error.remedy:
            raise DataError(error.path, error.problem, column=error.column, remedy=remedy) from None

    @property
    def data(self) -> Any:
        """The table as it was given, a path as the handle of its file."""
        return self._files["rows"]

    @property
    def name(self) -> str:
        """The path as given, or the name of an object, for errors."""
        return source_name(self.data)

    @property
    def rows(self) -> Any:
        """The table with its columns under our names; unchanged if the caller names none."""
        return self._named["rows"]

    @property
    def labels(self) -> Any:
        """The labels, as `rows`; None if there are none. Raters in columns are labels."""
        self._raters_used = True
        return self._named["labels"]

    @property
    def pairs(self) -> Any:
        """The pairs, as `rows`; None if there are none."""
        return self._named["pairs"]

    def other(self, name: str) -> Any:
        """Another file of the call, as `rows`; None if it was not given."""
        return self._named[name]

    def open(
        self,
        kind: Literal["battles", "judgments", "labels", "scores"],
        format: str | None = None,
        *,
        baseline: str | None = None,
        **options: Any,
    ) -> Table:
        """The rows of a kind, checked; a public data set or the log of another tool is converted.

        `format` names it if it is not to be detected, `baseline` the baseline of Arena-Hard.
        `options` are those of the check, such as `about` of `read_labels`. Rows that were opened as
        this kind before are returned unchanged.

        >>> Source([{"id": "x", "p_a": 0.9}]).open("judgments").frame["verdict"].to_list()
        ['A']
        """
        check = partial(resolve_name(_CHECKS[kind]), **options)
        with self:
            rows = in_memory(self.rows)
            if isinstance(rows, Table) and rows.kind == kind:
                return rows
            chosen = choose_format(rows, format, kind)
            if chosen is None:
                return Table(frame=check(rows), name=source_name(rows), kind=kind, format=kind)
            return _convert(rows, chosen, kind=cast(Kind, kind), baseline=baseline, reader=check)

    def prepared(
        self, kind: type[T], prepare: Callable[..., T], given: Mapping[str, object]
    ) -> T | None:
        """The data, if these are rows of that kind already; None if they have to be read.

        Options are refused that only the call of `prepare` that made the rows could use. `given`
        has its arguments by name, as `locals()`. None and switches do not refer to columns.
        """
        if not isinstance(self.data, kind):
            return None
        for option, parameter in signature(prepare).parameters.items():
            value = given[option]
            switch = parameter.kind is not Parameter.KEYWORD_ONLY or isinstance(value, bool)
            if not switch and not (isinstance(value, str) and value == parameter.default):
                self.options.setdefault(option, value)
        for option, value in self.options.items():
            if value is not None:
                raise ArgumentError(option, value, f"give it to {prepare.__name__}")
        return self.data

    def narrow(self, needs: Needs) -> Source:
        """Read only the needed columns, if the table is a Parquet file."""
        self._needs = needs
        return self

    def keep_apart(self, *columns: str | None) -> Source:
        """Each value of these columns has a result of its own: a policy by groups, for example."""
        self._apart = [column for column in columns if column is not None]
        return self

    @property
    def named(self) -> list[str]:
        """The columns that are kept apart, and the values of options that can name a column."""
        named = () if self._needs is None else self._needs.named
        return [*self._apart, *(name for name in named if isinstance(name, str))]

    @cached_property
    def _named(self) -> dict[str, Any]:
        """All files under our names; a name that none of them has is refused."""
        files = {**self._files, "rows": self._needed_rows()}
        with ColumnNames(self.columns, self.labels_as) as name:
            named = {
                place: name(file, self._labels_columns if place == "labels" else {})
                for place, file in files.items()
            }
        if self.raters:
            self._read_raters(named)
        return named

    def _read_raters(self, named: dict[str, Any]) -> None:
        """Raters in columns become labels; scores keep them, next to the judge's."""
        given = named["labels"]
        if given is None:
            rows = open_table(named["rows"])
            if recognise(rows.frame.columns, "scores", ["judge_score"]):
                named["rows"] = replace(rows, raters=self.raters, format="scores")
                self._raters_used = True
                return
            given = named["rows"] = with_ids(rows)
        named["labels"] = labels_of_raters(open_table(given), self.raters)

    def _needed_rows(self) -> Any:
        """A Parquet file without its unneeded columns, as a Table; else the data unchanged.

        A log is converted here if the caller says whose its metrics are.
        """
        if self._human_metrics is not None:
            return _log_of_people(self.data, self._human_metrics)
        if self._needs is None or not isinstance(self.data, Handle) or is_saved(self.data.path):
            return self.data
        with self.data.open() as file:
            if file.container != "parquet" or file.packed:
                return self.data
        try:
            unneeded = self._needs.unneeded(pl.read_parquet_schema(local_file(self.data.path)))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return self.data  # a damaged file, which its reader refuses
        return parse_table(self.data, without=unneeded) if unneeded else self.data


class ColumnNames:
    """The caller's column names, for all files of a call (`with`); each must be in one of them."""

    def __init__(
        self, columns: Mapping[str, str] | None, labels_as: Mapping[str, str] | None = None
    ) -> None:
        self._columns = dict(columns or {})
        self._labels_as = {str(word): ours for word, ours in (labels_as or {}).items()}
        self._unused = dict(self._columns)
        self._absent: list[tuple[list[str], Table]] = []
        self._seen: list[Table] = []
        self._logs: list[DataError] = []

    def __enter__(self) -> ColumnNames:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Refuse column names that no file has, all at once, and names if all files are logs."""
        if kind is not None:
            return
        if self._logs and not self._seen:
            raise self._logs[0]
        absent = list(self._absent)
        if unused := list(self._unused.values()):
            if not self._seen:
                raise ArgumentError("columns", unused[0], "give a table that has it")
            absent.insert(0, (unused, self._seen[0]))
        refuse_absent([(names, table.frame.columns, table.name) for names, table in absent])

    def __call__(self, source: Any, own: Mapping[str, str] | None = None) -> Any:
        """The file with its columns under our names; without names, the source unchanged.

        `own` are names for this file alone. A JSON log is also unchanged: its kind is not known
        here, and its rows get our names later.
        """
        own = own or {}
        if source is None or not (self._columns or self._labels_as or own):
            return source
        with in_use(source) as source:
            log = _log_format(first_row(source) or ()) if is_json(source) else None
            if log is not None:
                self._logs.append(self._not_for_logs(str(source), log, own))
                if own:
                    raise self._logs[-1]
                return source
            if not (isinstance(source, (Handle, Table, list, tuple)) or is_table(source)):
                what = "columns" if self._columns else "labels_as"
                given = self._columns or self._labels_as
                raise ArgumentError(what, given, "give it to the call that prepared these rows")
            table = parse_table(source)
        names = {**self._columns, **own}
        here = {ours: their for ours, their in names.items() if their in table.frame}
        for ours in here.keys() - own.keys():
            self._unused.pop(ours, None)
        if absent := [their for their in own.values() if their not in table.frame]:
            self._absent.append((absent, table))
        self._seen.append(table)
        return replace(rename_table(table, here), labels_as={**table.labels_as, **self._labels_as})

    def _not_for_logs(self, source: str, log: Format, own: Mapping[str, str]) -> DataError:
        names: dict[str, Mapping[str, str]] = {
            "--column (columns=)": self._columns,
            "--labels-column (labels_columns=)": own,
            "--labels-as (labels_as=)": self._labels_as,
        }
        remedy = "leave out " + " and ".join(option for option, given in names.items() if given)
        problem = f"is read as {log.title}, whose rows already have our names and words"
        return DataError(source, problem, remedy=remedy)


def open_table(
    source: TableLike,
    *,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> Table:
    """The rows of a file of any kind, unchecked; `format` is what they look like.

    A log of another tool is converted to its main kind of rows, which `kind` names. This is for
    callers that must see the columns before they choose a kind: the Table then goes to the reader
    of that kind, and the file is parsed once. `columns` maps our names to the file's, `labels_as`
    words in its label columns to ours.

    >>> table = open_table({"id": ["x"], "p_a": [0.9]})
    >>> table.format, Source(table).open("judgments").frame["verdict"].to_list()
    ('judgments', ['A'])
    """
    with in_use(source) as source:
        with ColumnNames(columns, labels_as) as name:
            source = name(source)
        # Rows of a JSON log are nested: they are converted one by one, never as columns.
        if is_json(source) and (log := _log(source)) is not None:
            return log
        table = parse_table(source)
    if table.format is not None:
        return table
    if (log := _log(table)) is not None:
        return log
    format = looks_like(table.frame.columns)
    return replace(table, format=None if format is None else format.name)


def _log_of_people(source: TableLike, human_metrics: Mapping[str, str]) -> Table:
    """A log as its main kind of rows; anything else has no metrics of people."""
    with in_use(source) as source:
        first = first_row(source) or {}
        format = _log_format(first)
        if format is None:
            remedy = "it is for logs of other tools; name the column of labels: --column human=NAME"
            raise ArgumentError("human_metrics", human_metrics or "none", remedy)
        return _convert(source, format, kind=format.kind_by(first), human_metrics=human_metrics)


def _log(source: TableLike) -> Table | None:
    """A log of another tool as its main kind of rows; None if it is not a log."""
    first = first_row(source) or {}
    format = _log_format(first)
    return None if format is None else _convert(source, format, kind=format.kind_by(first))


def _log_format(columns: Collection[str]) -> Format | None:
    """The tool whose log has these columns."""
    format = looks_like(columns)
    return format if isinstance(format, Format) and format.log else None


def _convert(
    source: TableLike,
    format: Format,
    *,
    kind: Kind,
    baseline: str | None = None,
    human_metrics: Mapping[str, str] | None = None,
    reader: Callable[[Table], pl.DataFrame] | None = None,
) -> Table:
    options: dict[str, Any] = {"baseline": baseline, "human_metrics": human_metrics}
    table = read_public(source, format.name, kind=kind, reader=reader, **options)
    nouns = kind.replace("_", " ")
    rows = count(table.frame.height, nouns.removesuffix("s"), nouns)
    remark_format(format, rows, table.name, table.notes)
    return table


def remark_format(format: Format, rows: str, source: str, notes: Sequence[str]) -> None:
    """Log which format was detected, and notes about its rows."""
    if format.log:
        LOG.warning("%s: %s, read as %s", source, format.title, rows)
        for note in notes:
            LOG.warning("note: %s", note)


def open_values(source: TableLike) -> Table:
    """Labels of any kind by id, unchecked: the labels of a log, any other file unchanged."""
    with in_use(source) as source:
        format = _log_format(first_row(source) or ())
        if format is not None and "labels" in format.gives:
            return _convert(source, format, kind="labels", reader=lambda table: table.frame)
        return open_table(source)


def in_memory(source: TableLike) -> TableLike:
    """The file of a path, or the rows of an object, which are converted once."""
    source = by_handle(source)
    return source if isinstance(source, Handle) else parse_table(source)
