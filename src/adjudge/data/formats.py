"""Formats: which file is this, and what can it be read as?

A native file has one of adjudge's kinds of rows. Any other format is a `Format` object: the columns
by which it is detected, what it can be read as, and how a row is converted. Ours are in
`data/public/` and `data/logs/`; an installed package adds its own by an entry point of the group
`adjudge.formats`. If a reader gets a file of another format, the error names that format.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from adjudge.data.files import Archive
from adjudge.data.json_files import Envelope, Record
from adjudge.data.names import columns_here, quote, recognise, shorten
from adjudge.errors import ArgumentError, DataError
from adjudge.plugins import Builtin, Registry

#: Why a score is not used that has no known author.
UNSAID = "the log does not say whether a judge or a person gave it"
#: Why a score of another scale is not used, and what to do about it.
OUTSIDE = "a score outside 0 to 1"
GIVE_SCORES = "give scores of another scale as a table with judge_score, and human_score of people"
#: Why people's labels are not used whose metric no judge has.
UNMATCHED = "a human label of a metric that no judge has"
#: What to do about both.
ASK_WHO = (
    "say which metric is people's label of which: --human-metric NAME=METRIC; or that none is: "
    "--human-metric none (human_metrics=)"
)


class UnusableRow(Exception):  # noqa: N818 - not an error: it is counted and the next row read
    """A public row that cannot be used; its text is the reason under which it is counted.

    A converter raises it for a complete row, and yields it for a part of a row.
    """


@dataclass(frozen=True, slots=True)
class Context:
    """The settings of a conversion: the file, the seed, and what the file omits."""

    source: str
    seed: int = 0
    baseline: str | None = None
    #: Which metrics of a log are people's labels, of which metric; None: the user did not say.
    human_metrics: Mapping[str, str] | None = None
    #: The metrics that the log has, as far as it was read.
    metrics: set[str] = field(default_factory=set)

    def coin(self, key: str) -> bool:
        """A fair coin that depends only on the seed and the key, not on the order of rows."""
        return hashlib.blake2b(f"{self.seed}:{key}".encode(), digest_size=1).digest()[0] % 2 == 1


@dataclass(slots=True)
class Row:
    """One public row: its values, and errors that name file, row and column."""

    record: Mapping[str, Any]
    number: int
    context: Context

    def error(self, problem: str, column: str, remedy: str | None = None) -> DataError:
        """An error that names file, row and column."""
        place = self.context.source
        return DataError(place, problem, row=self.number, column=column, remedy=remedy)

    def get(self, column: str) -> Any:
        """The value, or None if it is missing or empty."""
        value = self.record.get(column)
        return None if value == "" else value

    def cell(self, column: str) -> Any:
        """The value of a column that must be there and filled."""
        value = self.record.get(column)
        if value is None:
            problem = "is missing" if column not in self.record else "is empty"
            raise self.error(problem, column, f"columns here: {shorten(list(self.record))}")
        return value

    def text(self, column: str) -> str:
        """The text of a column that must be there."""
        value = self.cell(column)
        if isinstance(value, str):
            return value
        if isinstance(value, (dict, list)):
            raise self.error("has no text", column)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value)

    def texts(self, *columns: str) -> dict[str, str]:
        """The texts of several columns that must be there."""
        return {column: self.text(column) for column in columns}

    def any_of(self, *columns: str) -> Any:
        """The value of the first of these columns that has one; None if none has."""
        return next((self.get(column) for column in columns if self.get(column) is not None), None)

    def choice(self, column: str, choices: Mapping[str, str], remedy: str | None = None) -> str:
        """The meaning of the text of a column, from a few known choices."""
        value = self.text(column)
        if value not in choices:
            raise self.error(f"{quote(value)} is not known", column, remedy)
        return choices[value]

    def nested(self, column: str) -> Any:
        """A list or object; in CSV it is JSON or Python text."""
        value = self.cell(column)
        if not isinstance(value, str):
            return value
        for read in (json.loads, ast.literal_eval):
            try:
                return _without_halves(read(value)) if "\\u" in value else read(value)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue
        raise self.error(f"{quote(value)} is neither a list nor an object", column)

    def list_in(self, column: str, what: str, *, size: int | None = None) -> list[Any]:
        """A list that is not empty, or of exactly that size; `what` names its elements."""
        values = self.nested(column)
        if not isinstance(values, list) or (not values if size is None else len(values) != size):
            raise self.error(f"has no list of {what}", column)
        return values

    def number_in(self, column: str, value: Any) -> float:
        """The value from that column as a finite number."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not abs(number) < float("inf"):
            raise self.error(f"{quote(value)} is not a number", column)
        return number

    def number_choice(
        self, column: str, value: Any, choices: Mapping[float, str], remedy: str
    ) -> str | None:
        """The meaning of a number from that column, from a few known choices; None if missing."""
        if value is None:
            return None
        number = self.number_in(column, value)
        if number not in choices:
            raise self.error(f"{quote(value)} is not known", column, remedy)
        return choices[number]


def _without_halves(value: Any) -> Any:
    """Replace half of a surrogate pair, which cannot be written, with a replacement character."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


Converter = Callable[[Row], Iterable[Record | UnusableRow]]


Kind = Literal["pairs", "battles", "judgments", "grades", "items", "labels", "human_scores"]
#: Makes one row from several records about one thing.
Merger = Callable[[Iterable[Record]], Iterator[Record | UnusableRow]]
#: The rows of a log in a zip archive; None if the archive is from another tool.
ArchiveReader = Callable[[Archive], Iterator[Record] | None]


@dataclass(frozen=True, slots=True)
class Signature:
    """The columns of a format: all of `needs`, one of each set in `one_of`, none of `without`."""

    needs: frozenset[str]
    one_of: tuple[frozenset[str], ...] = ()
    without: frozenset[str] = frozenset()
    #: If given: it has no other columns.
    within: frozenset[str] = frozenset()

    def fits(self, columns: Collection[str]) -> bool:
        """Whether a table with these columns can have this format."""
        here = set(columns)
        if self.within and not here <= self.within:
            return False
        one_of_each = all(options & here for options in self.one_of)
        return self.needs <= here and not self.without & here and one_of_each

    @property
    def strength(self) -> int:
        """The number of columns it requires."""
        return len(self.needs) + len(self.one_of)


def columns(names: str) -> frozenset[str]:
    """Column names from one line."""
    return frozenset(names.split())


def signature(needs: str, *one_of: str, without: str = "") -> Signature:
    """A signature from names in one line each.

    >>> signature("id text", "score grade").fits(["id", "text", "grade"])
    True
    """
    return Signature(columns(needs), tuple(map(columns, one_of)), columns(without))


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A public data set or another tool's log: its signature and its conversions."""

    name: str
    #: As in "looks like the MT-Bench human judgments".
    title: str
    signature: Signature
    #: What it can be read as, the default first, and the function that converts one row.
    gives: Mapping[Kind, Converter]
    #: Columns that are converted; columns that are not here or in `texts` are kept.
    used: frozenset[str] = frozenset()
    #: Long columns that only the converters to pairs and items use.
    texts: frozenset[str] = frozenset()
    #: If several rows are about one thing: makes one row from them, for these kinds.
    merge: Mapping[Kind, Merger] = field(default_factory=dict)
    #: Notes about the converted rows.
    notes: tuple[str, ...] = ()
    #: Whether it is a log: its rows are nested, and only the converter's columns are kept.
    log: bool = False
    #: For a log: the JSON objects and the archive that can contain its rows.
    envelopes: tuple[Envelope, ...] = ()
    archive: ArchiveReader | None = None
    #: For a log: the keys of a row that can name what it is about.
    ids: tuple[str, ...] = ("id",)
    #: For a log that names its version: the newest that was tried, and how to find it in a row.
    version: tuple[str, Callable[[Mapping[str, Any]], object]] | None = None
    #: For a log that can be of several kinds: the kind, by its first row.
    kind_of: Callable[[Mapping[str, Any]], Kind] | None = None

    @property
    def remedy(self) -> str:
        """What to do with such a file if another was expected."""
        return f"read it with --format {self.name}"

    def has_id(self, record: Mapping[str, Any]) -> bool:
        """Whether a row of the log names what it is about: only then can it be there twice."""
        return any(record.get(name) is not None for name in self.ids)

    def newer(self, first: Mapping[str, Any]) -> str | None:
        """What to know of a log, by its first row, that a newer version of its tool wrote."""
        if self.version is None:
            return None
        tried, find = self.version
        here = str(find(first) or "")
        if _numbers(here) <= _numbers(tried):
            return None
        title = self.title[0].upper() + self.title[1:]
        return f"{title} of version {here}: the newest that was tried is {tried}. Check the counts."

    def kind_by(self, first: Mapping[str, Any]) -> Kind:
        """What a file with this first row is read as by default."""
        return next(iter(self.gives)) if self.kind_of is None else self.kind_of(first)


def _numbers(version: str) -> list[int]:
    """The numbers of a version, which compare as versions do.

    >>> _numbers("0.3.285") < _numbers("0.10.2.dev3")
    True
    """
    return [int(number) for number in re.findall(r"\d+", version)]


@dataclass(frozen=True, slots=True)
class NativeFormat:
    """One of adjudge's kinds of rows, and the commands that read it."""

    name: str
    used_by: str
    signature: Signature

    @property
    def title(self) -> str:
        """As in "looks like a pairs file of adjudge"."""
        return f"{_file_of(self.name)} of adjudge"

    @property
    def remedy(self) -> str:
        """What to do with such a file if another was expected."""
        return f"use such a file with {self.used_by}"


#: Our formats by module, where `lm-eval` is LM_EVAL. A file looks like the first one whose
#: signature fits: public data sets, then logs, of which some can have a column of messages.
_MODULES = (
    ("public.battles", "lmarena-55k lmarena-140k lmarena-100k lmarena-33k mt-bench comparia"),
    ("public.pairs", "rewardbench-2 rewardbench alpaca-eval llmbar"),
    ("public.battles", "arena-hard"),
    ("public.pairs", "summeval"),
    ("public.battles", "softelo"),
    ("public.pairs", "trust-or-escalate chosen-rejected"),
    ("logs.inspect", "inspect"),
    ("logs.metrics", "promptfoo deepeval lm-eval"),
    ("logs.traces", "mlflow langfuse langfuse-traces opik opik-table"),
    ("logs.experiments", "langsmith-feedback langsmith langsmith-table openevals autoevals"),
    ("logs.experiments", "pydantic-evals opik-results braintrust weave"),
    ("logs.telemetry", "otlp"),
    ("logs.traces", "phoenix"),
    ("logs.labelling", "label-studio label-studio-min argilla"),
    ("logs.metrics", "ragas"),
    ("public.battles", "judgearena"),
    ("public.pairs", "messages"),
)
_OURS = {
    name: Builtin(f"adjudge.data.{module}:{name.upper().replace('-', '_')}")
    for module, names in _MODULES
    for name in names.split()
}
#: Every format that is not native, by the name that --format takes.
FORMATS: Registry[Format] = Registry("format", "adjudge.formats", _OURS)

#: Our kinds of rows, those with more specific columns first.
NATIVE: dict[str, NativeFormat] = {
    name: NativeFormat(name, used_by, columns_of)
    for name, used_by, columns_of in (
        (
            "pairs",
            "adjudge judge with a protocol for pairs",
            signature("prompt response_a response_b"),
        ),
        ("items", "adjudge judge with a scoring protocol", signature("id prompt response")),
        ("scores", "adjudge diagnose scores", signature("doc_id judge_score")),
        (
            "tournaments",
            "adjudge diagnose transitivity",
            signature(
                "model_a model_b",
                "doc_id question_id",
                "verdict p_a verdict_fwd p_fwd judge_label",
                without="winner human_pref",
            ),
        ),
        ("battles", "adjudge rank", signature("model_a model_b", "winner human_pref")),
        (
            "judgments",
            "adjudge calibrate, select and evaluate",
            signature("id", "p_a p_fwd verdict_fwd", without="doc_id"),
        ),
        ("grades", "adjudge estimate, calibrate and select", signature("id p_pass")),
        ("binary", "adjudge estimate", signature("judge human")),
        ("labels", "--labels", signature("id label")),
    )
}


def load_format(name: str) -> Format:
    """The format of that name, ours or an installed package's."""
    format = FORMATS.load(name)
    if not isinstance(format, Format) or format.name != name:
        remedy = f"its package must have an adjudge.data.formats.Format with the name {name}"
        raise ArgumentError("format", name, remedy)
    return format


def kinds_of(format: str | None) -> frozenset[str]:
    """What a file of that format, native or not, can be read as.

    >>> sorted(kinds_of("trust-or-escalate")), sorted(kinds_of("items")), sorted(kinds_of(None))
    (['judgments', 'pairs'], ['items'], [])
    """
    if format is None:
        return frozenset()
    return frozenset({format} if format in NATIVE else load_format(format).gives)


def looks_like(columns: Collection[str]) -> Format | NativeFormat | None:
    """The known format that a table with these columns looks like, if any.

    Our formats come before those of packages. A package's format comes before a native one only if
    it requires more columns, so that a package cannot take every pairs file.

    >>> looks_like(["input", "output_1", "output_2", "label"]).name
    'llmbar'
    >>> looks_like(["colour", "weight"]) is None
    True
    """
    for name in _OURS:
        if load_format(name).signature.fits(columns):
            return load_format(name)
    native = next((known for known in NATIVE.values() if known.signature.fits(columns)), None)
    plugins = [load_format(name) for name in FORMATS if name not in {*_OURS, *NATIVE}]
    fitting = [format for format in plugins if format.signature.fits(columns)]
    best = max(fitting, key=lambda format: format.signature.strength, default=None)
    if best is None or (native and native.signature.strength >= best.signature.strength):
        return native
    return best


def looks_usual(columns: Collection[str]) -> Format | NativeFormat | None:
    """As `looks_like`, or the native kind whose columns are here under their usual names.

    >>> looks_usual(["question", "answer"]).name
    'items'
    """
    exact = looks_like(columns)
    if exact is not None:
        return exact
    for native in NATIVE.values():
        wanted = sorted(native.signature.needs.union(*native.signature.one_of))
        here = {*columns, "id", *recognise(list(columns), native.name, wanted)}
        if native.name != "labels" and native.signature.fits(here):
            return native
    return None


def refuse_public(columns: Collection[str], expected: str, source: str) -> None:
    """Refuse a public data set if a native file, or another data set, is expected."""
    format = looks_like(columns)
    if isinstance(format, Format) and format.name != expected:
        raise wrong_format(format, expected, source)


def refuse_log(columns: Collection[str], source: str) -> None:
    """Refuse a log of another tool if a table is expected: its rows must be converted first."""
    format = looks_like(columns)
    if isinstance(format, Format) and format.log:
        kind = next(iter(format.gives))
        remedy = NATIVE[kind].remedy if kind in NATIVE else f"convert it to {kind}: adjudge convert"
        raise DataError(source, f"looks like {format.title}, which holds {kind}", remedy=remedy)


def other_format(
    here: Collection[str], expected: str, required: Collection[str], known: Collection[str]
) -> Format | NativeFormat | None:
    """The format of a file that lacks a required column; None if the column has another name.

    The file is of another format if it has columns that only that format has, or hardly any of
    ours. A pairs file whose response_b has another name must not be taken for a labels file.
    """
    format = looks_usual(here)
    if format is None or format.name == expected:
        return None
    needed = format.signature.needs.union(*format.signature.one_of)
    telling = ({*here} & needed | recognise(list(here), format.name, sorted(needed))) - {*known}
    few = 2 * len({*here} & {*required}) <= len(required)
    return format if telling or few else None


def wrong_format(
    format: Format | NativeFormat,
    expected: str,
    source: str,
    absent: Sequence[str] = (),
    here: Sequence[str] = (),
) -> DataError:
    """The error for a file of another format: how to read it, or which columns are `absent`."""
    problem = f"looks like {format.title}, not {_file_of(expected)}"
    remedy = format.remedy
    if isinstance(format, Format) and expected in NATIVE and expected not in format.gives:
        # --format would not help, and not every command has it: name a command for the file.
        kind = next(iter(format.gives))
        remedy = f"it holds {kind}: {NATIVE[kind].remedy}" if kind in NATIVE else remedy
    if expected == "binary" and "judgments" in kinds_of(format.name):
        remedy = "for the win rate of a model: adjudge estimate --model NAME (model=); or " + remedy
    if absent and isinstance(format, NativeFormat):
        remedy += f"; or name your {', '.join(absent)}: --column {absent[0]}=NAME (columns=)"
        remedy += f"; columns here: {shorten(columns_here(here))}"
    return DataError(source, problem, remedy=remedy)


def _file_of(kind: str) -> str:
    if kind == "binary":
        return "a table of judge and human"
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} file"
