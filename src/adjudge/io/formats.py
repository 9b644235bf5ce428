"""Formats: which file is this, and what can it be read as?

A native file has one of adjudge's kinds of rows. Any other format is a `Format` object. It has the
columns by which it is detected, what it can be read as, and how a row is converted. Ours are in
`io/public/`, one line each in the table below. An installed package adds its own::

    [project.entry-points."adjudge.formats"]
    my-log = "my_package:MY_LOG"

If a reader gets a file of another format, the error names that format and how to read it, instead
of the first missing column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from adjudge.errors import ArgumentError, DataError
from adjudge.io.archives import Archive
from adjudge.io.json_files import Record
from adjudge.io.json_windows import Envelope
from adjudge.io.names import recognise
from adjudge.io.published import Converter, UnusableRow
from adjudge.io.refusals import shorten
from adjudge.plugins import Builtin, Registry

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

    def fits(self, columns: Collection[str]) -> bool:
        """Whether a table with these columns can have this format."""
        here = set(columns)
        return (
            self.needs <= here
            and not self.without & here
            and all(options & here for options in self.one_of)
        )

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
    #: The page that publishes it.
    source: str
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
    #: For a log that can be of several kinds: the kind, by its first row.
    kind_of: Callable[[Mapping[str, Any]], Kind] | None = None

    @property
    def remedy(self) -> str:
        """What to do with such a file if another was expected."""
        return f"read it with --format {self.name}"

    def kind_by(self, first: Mapping[str, Any]) -> Kind:
        """What a file with this first row is read as by default."""
        return next(iter(self.gives)) if self.kind_of is None else self.kind_of(first)


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


#: Public data sets. A file looks like the first one whose signature fits.
_PUBLIC = {
    "lmarena-55k": Builtin("adjudge.io.public.lmarena:PREFERENCES_55K"),
    "lmarena-140k": Builtin("adjudge.io.public.lmarena:PREFERENCES_140K"),
    "lmarena-100k": Builtin("adjudge.io.public.lmarena:PREFERENCES_100K"),
    "lmarena-33k": Builtin("adjudge.io.public.lmarena:CONVERSATIONS_33K"),
    "mt-bench": Builtin("adjudge.io.public.mt_bench:MT_BENCH"),
    "comparia": Builtin("adjudge.io.public.comparia:COMPARIA"),
    "rewardbench-2": Builtin("adjudge.io.public.rewardbench:REWARDBENCH_2"),
    "rewardbench": Builtin("adjudge.io.public.rewardbench:REWARDBENCH"),
    "alpaca-eval": Builtin("adjudge.io.public.alpaca_eval:ALPACA_EVAL"),
    "llmbar": Builtin("adjudge.io.public.llmbar:LLMBAR"),
    "arena-hard": Builtin("adjudge.io.public.arena_hard:ARENA_HARD"),
    "summeval": Builtin("adjudge.io.public.summeval:SUMMEVAL"),
    "softelo": Builtin("adjudge.io.public.softelo:SOFTELO"),
    "trust-or-escalate": Builtin("adjudge.io.public.trust_or_escalate:TRUST_OR_ESCALATE"),
    "chosen-rejected": Builtin("adjudge.io.public.chosen_rejected:CHOSEN_REJECTED"),
}
#: Logs of other tools.
_RUNNERS = {
    "inspect": Builtin("adjudge.io.runners.inspect:INSPECT"),
    "promptfoo": Builtin("adjudge.io.runners.promptfoo:PROMPTFOO"),
    "deepeval": Builtin("adjudge.io.runners.deepeval:DEEPEVAL"),
    "lm-eval": Builtin("adjudge.io.runners.lm_eval:LM_EVAL"),
    "mlflow": Builtin("adjudge.io.runners.mlflow:MLFLOW"),
    "langfuse": Builtin("adjudge.io.runners.langfuse:LANGFUSE"),
    "phoenix": Builtin("adjudge.io.runners.phoenix:PHOENIX"),
    "label-studio": Builtin("adjudge.io.runners.label_studio:LABEL_STUDIO"),
    "label-studio-min": Builtin("adjudge.io.runners.label_studio:LABEL_STUDIO_MIN"),
    "argilla": Builtin("adjudge.io.runners.argilla:ARGILLA"),
    "ragas": Builtin("adjudge.io.runners.ragas:RAGAS"),
    "judgearena": Builtin("adjudge.io.runners.judgearena:JUDGEARENA"),
}
_OURS = {**_PUBLIC, **_RUNNERS}
#: Every format that is not native, by the name that --format takes.
FORMATS: Registry[Format] = Registry("format", "adjudge.formats", _OURS)

#: Our kinds of rows, those with more specific columns first.
NATIVE: dict[str, NativeFormat] = {
    known.name: known
    for known in (
        NativeFormat(
            "pairs",
            "adjudge judge with a protocol for pairs",
            signature("prompt response_a response_b"),
        ),
        NativeFormat(
            "items", "adjudge judge with a scoring protocol", signature("id prompt response")
        ),
        NativeFormat("scores", "adjudge diagnose scores", signature("doc_id judge_score")),
        NativeFormat(
            "tournaments",
            "adjudge diagnose transitivity",
            signature(
                "model_a model_b",
                "doc_id question_id",
                "verdict p_a verdict_fwd p_fwd judge_label",
                without="winner human_pref",
            ),
        ),
        NativeFormat("battles", "adjudge rank", signature("model_a model_b", "winner human_pref")),
        NativeFormat(
            "judgments",
            "adjudge calibrate, select and evaluate",
            signature("id", "p_a p_fwd", without="doc_id"),
        ),
        NativeFormat("grades", "adjudge estimate, calibrate and select", signature("id p_pass")),
        NativeFormat("binary", "adjudge estimate", signature("judge human")),
        NativeFormat("labels", "--labels", signature("id label")),
    )
}


def load_format(name: str) -> Format:
    """The format of that name, ours or an installed package's."""
    format = FORMATS.load(name)
    if not isinstance(format, Format) or format.name != name:
        raise ArgumentError(
            "format",
            name,
            f"its package must have an adjudge.io.formats.Format with the name {name}",
        )
    return format


def known_envelopes() -> list[Envelope]:
    """The JSON objects that contain the rows of a log."""
    return [envelope for name in FORMATS for envelope in load_format(name).envelopes]


def known_archives() -> list[ArchiveReader]:
    """The readers of archives that are logs."""
    readers = (load_format(name).archive for name in FORMATS)
    return [reader for reader in readers if reader is not None]


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
    own = format.signature.needs.union(*format.signature.one_of)
    telling = ({*here} & own | recognise(list(here), format.name, sorted(own))) - {*known}
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
    if expected == "binary" and (format.name == "judgments" or _gives_judgments(format)):
        remedy = "for the win rate of a model: adjudge estimate --model NAME (model=); or " + remedy
    if absent and isinstance(format, NativeFormat):
        remedy += f"; or name your {', '.join(absent)}: --column {absent[0]}=NAME (columns=)"
        remedy += f"; columns here: {shorten(here)}"
    return DataError(source, problem, remedy=remedy)


def _gives_judgments(format: Format | NativeFormat) -> bool:
    return isinstance(format, Format) and "judgments" in format.gives


def _file_of(kind: str) -> str:
    if kind == "binary":
        return "a table of judge and human"
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind} file"
