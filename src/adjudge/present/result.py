"""The base of every result: write as JSON, table, figure or page; compare; print; check; digest."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    dataclass_transform,
    overload,
)

import numpy as np
from annotated_types import Ge, Gt, Lt
from annotated_types import Interval as Between

from adjudge.errors import ArgumentError, DataError
from adjudge.present.blocks import Block, Figure, Note

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Drawing


#: Sums of floats can exceed their bounds by rounding.
_ROUNDING = 1e-9
#: No count, score or cost is close to this; above it, arithmetic and figures overflow.
_LARGEST = 1e18
_DEEPEST = 32
_LONGEST_TEXT = 100_000
#: A list with more parts is written with a line for each.
_MANY = 1000

Count = Annotated[int, Ge(0)]
#: The number of repeats that a mean is over.
Repeats = Annotated[int, Ge(1)]
ZeroOne = Annotated[int, Between(ge=0, le=1)]
Proportion = Annotated[float, Between(ge=-_ROUNDING, le=1 + _ROUNDING)]
#: An error level, a failure probability, a confidence level.
Level = Annotated[float, Gt(0), Lt(1)]
Correlation = Annotated[float, Between(ge=-1 - _ROUNDING, le=1 + _ROUNDING)]
NotNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]

#: Returns what is wrong with a part of a result; None if nothing is.
Check = Callable[[Any], str | None]


def same_length(*names: str) -> Check:
    """These fields must be lists of one length; None counts as absent."""

    def check(part: Any) -> str | None:
        lists = {name: getattr(part, name) for name in names}
        lengths = {name: len(held) for name, held in lists.items() if held is not None}
        if len(set(lengths.values())) <= 1:
            return None
        return "lists differ in length: " + ", ".join(f"{k} has {n}" for k, n in lengths.items())

    return check


def not_empty(*names: str) -> Check:
    """Each of these fields must have an entry."""

    def check(part: Any) -> str | None:
        return next((f"{name} is empty" for name in names if not len(getattr(part, name))), None)

    return check


def at_most(small: str, large: str) -> Check:
    """One field must be at most another, if both are there."""

    def check(part: Any) -> str | None:
        low = getattr(part, small)
        high = getattr(part, large)
        numbers = isinstance(low, (int, float)) and isinstance(high, (int, float))
        if not numbers or low <= high + _ROUNDING * max(1, abs(high)):
            return None
        return f"{small} {low:.6g} is above {large} {high:.6g}"

    return check


def problem_in_tree(value: object) -> str | None:
    """Limits for any JSON tree that can be a result: nesting, size of numbers, length of texts.

    >>> problem_in_tree({"n": 1e300})
    'has a number above 1e+18'
    """
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        inner: list[object] = []
        for entry in level:
            if isinstance(entry, Mapping):
                inner += [*entry, *entry.values()]
            elif isinstance(entry, list):
                inner += entry
            elif isinstance(entry, str) and len(entry) > _LONGEST_TEXT:
                return f"has a text of {len(entry):,} characters"
            elif isinstance(entry, float) and not math.isfinite(entry):
                return "has NaN or infinity"
            elif isinstance(entry, (int, float)) and abs(entry) > _LARGEST:
                return f"has a number above {_LARGEST:g}"
        if not inner:
            return None
        level = inner
    return f"is nested more than {_DEEPEST} deep"


def problem_in_parts(part: Any, place: str = "") -> str | None:
    """The first rule that a result or one of its parts breaks, and where."""
    if is_dataclass(part):
        inner = {field.name: getattr(part, field.name) for field in fields(part)}
        lows = [name for name in inner if name.endswith("low")]
        ends = [(low, low.removesuffix("low") + "high") for low in lows]
        ordered = [at_most(low, high) for low, high in ends if high in inner]
        for check in (*ordered, *getattr(part, "checks", ())):
            if (problem := check(part)) is not None:
                return f"{place or 'the result'}: {problem}"
    elif isinstance(part, Mapping):
        inner = dict(part)
    elif isinstance(part, Sequence) and not isinstance(part, str):
        if not part or isinstance(part[0], (int, float, str)):
            return None
        inner = {str(at): entry for at, entry in enumerate(part)}
    else:
        return None
    for name, entry in inner.items():
        if problem := problem_in_parts(entry, f"{place}.{name}" if place else name):
            return problem
    return None


_T = TypeVar("_T")
#: A longer repr is shortened; the complete result is in `to_dict` and on the page.
_REPR = 200


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(made: type[_T]) -> type[_T]:
    """A frozen dataclass with keyword-only fields that keeps Result's equality and short repr."""
    return dataclass(frozen=True, kw_only=True, repr=False, eq=False)(made)


class HasTable:
    """What has rows, or is one row."""

    def _table(self) -> pl.DataFrame:
        raise NotImplementedError

    @overload
    def to_frame(self, library: Literal["polars"] = "polars") -> pl.DataFrame: ...
    @overload
    def to_frame(self, library: Literal["pandas"]) -> Any: ...
    def to_frame(self, library: Literal["polars", "pandas"] = "polars") -> Any:
        """The result as a table: its rows if it has some, else one row of its single values.

        Args:
            library: polars, or pandas for a frame of that library, which must be installed.
        """
        if library == "polars":
            return self._table()
        if library != "pandas":
            raise ArgumentError("library", library, "choose polars or pandas")
        try:
            import pandas as pd
        except ImportError:
            raise ArgumentError("library", library, "install pandas, or use polars") from None
        return pd.DataFrame(self._table().to_dict(as_series=False))


@frozen
class Result(HasTable):
    """Base of all results: frozen; its field names are the JSON names.

    A subclass sets `kind`, which `adjudge report` uses to read its file (`present/kinds.py` lists
    all kinds), and `view`, what people see of it.
    """

    kind: ClassVar[str]
    #: The report's section, key and title, for the kinds that a package adds.
    section: ClassVar[tuple[str, str]] = ("others", "Also in this folder")
    #: The field with the rows of `to_frame`; None for a result that is one row.
    rows_in: ClassVar[str | None] = None
    #: Rules between its fields that `present.load` checks in a file; parts can also have rules.
    checks: ClassVar[tuple[Check, ...]] = ()
    #: How `present.load` reads files, as a pydantic config; parts of a result follow it.
    __pydantic_config__: ClassVar[Mapping[str, Any]] = {
        "extra": "forbid",
        "strict": True,
        "arbitrary_types_allowed": True,  # arrays, in results that are not made for files
    }

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON values, `kind` first.

        Raises ValueError on NaN or infinity: JSON has neither, and such a number in a result would
        hide a missing value.
        """
        return {name: plain(value) for name, value in self._values().items()}

    def _values(self) -> dict[str, Any]:
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {"kind": self.kind, **values}

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as text; with an indent, each part of a long list is one line."""
        return "".join(self.json_pieces(indent=indent))

    def json_pieces(self, *, indent: int | None = 2, **more: Any) -> Iterator[str]:
        """The text of `to_json` piece by piece, with more fields at its end."""
        values = {**self._values(), **more}
        if indent is None:
            yield json.dumps(plain(values), ensure_ascii=False, allow_nan=False)
            return
        pad = "\n" + " " * indent
        for at, (name, value) in enumerate(values.items()):
            yield f"{',' if at else '{'}{pad}{json.dumps(name)}: "
            if isinstance(value, (list, tuple)) and len(value) > _MANY:
                for number, part in enumerate(value):
                    text = json.dumps(plain(part), ensure_ascii=False, allow_nan=False)
                    yield f"{',' if number else '['}{pad}{' ' * indent}{text}"
                yield f"{pad}]"
            else:
                text = json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
                yield text.replace("\n", pad)
        yield "\n}"

    def _table(self) -> pl.DataFrame:
        return frame_of(self._parts())

    def _parts(self) -> Sequence[Any]:
        """The rows of `to_frame`: dataclasses or mappings."""
        return [self] if self.rows_in is None else getattr(self, self.rows_in)

    def view(self) -> list[Block]:
        """What people see of it: the same blocks in a terminal, on a page and in a notebook."""
        return [Note(tuple(f"{name}: {value}" for name, value in self.to_dict().items()))]

    def figures(self) -> dict[str, Figure]:
        """Its pictures by name, not drawn yet."""
        return {block.name: block for block in self.view() if isinstance(block, Figure)}

    def plot(self, path: str | Path | None = None, *, figure: str | None = None) -> Drawing:
        """Draw a figure of the result and save it to `path` (.png, .svg, .pdf), if given.

        `figure` names one of several; the first is the default.
        """
        from adjudge.present.figure import save_figure

        figures = self.figures()
        if not figures:
            raise ArgumentError("plot", self.kind, "this result has no picture")
        chosen = next(iter(figures)) if figure is None else figure
        if chosen not in figures:
            raise ArgumentError("figure", chosen, "choose one of " + ", ".join(figures))
        drawing = figures[chosen].draw()
        if path is not None:
            save_figure(drawing, path)
        return drawing

    def __str__(self) -> str:
        from adjudge.present.render.terminal import render_text

        return render_text(self.view())

    def explain(self) -> str:
        """What the result assumes and does not promise, a line each; empty if it states nothing."""
        from adjudge.present.render.terminal import render_explanation

        return render_explanation(self.view())

    def _repr_html_(self) -> str:
        from adjudge.present.render.html import render_cell

        return render_cell(self.view())

    def __repr__(self) -> str:
        parts = ", ".join(_short(entry.name, getattr(self, entry.name)) for entry in fields(self))
        text = f"{type(self).__name__}({parts})"
        return text if len(text) <= _REPR else text[: _REPR - 4] + "...)"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(getattr(self, entry.name), getattr(other, entry.name)) for entry in fields(self)
        )

    def __hash__(self) -> int:
        values = (getattr(self, entry.name) for entry in fields(self))
        simple = (value for value in values if isinstance(value, (str, int, float, bool)))
        return hash((type(self), *simple))


def _short(name: str, value: object) -> str:
    if isinstance(value, str) and len(value) > 40:
        return f"{name}={value[:37] + '...'!r}"
    if value is None or isinstance(value, (str, bool, int, float)):
        return f"{name}={value!r}"
    if isinstance(value, (np.ndarray, Sequence, Mapping, set, frozenset)):
        return f"{name}=<{len(value)}>"
    return f"{name}=<{type(value).__name__}>"


def _same(value: object, other: object) -> bool:
    """Equality that includes arrays; an array with NaN equals itself."""
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        a = np.asarray(value)
        b = np.asarray(other)
        floats = a.dtype.kind == b.dtype.kind == "f"
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=floats)
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(_same, value, other))
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_same(value[k], other[k]) for k in value)
    return bool(value == other)


def frame_of(parts: Sequence[Any]) -> pl.DataFrame:
    """A row for each dataclass or mapping: its single values, without lists and nested parts.

    An interval is two columns: `interval` gives low and high, `gap_interval` gap_low and gap_high.
    """
    import polars as pl

    rows = [_with_ends(plain(part)) for part in parts]
    names = dict.fromkeys(name for row in rows for name in row)
    nested = {k for row in rows for k, value in row.items() if isinstance(value, (list, dict))}
    columns = [name for name in names if name not in nested]
    values = [{name: row.get(name) for name in columns} for row in rows]
    return pl.DataFrame(values, infer_schema_length=None)


@dataclass(frozen=True, repr=False)
class ResultWithRows(HasTable):
    """A result as the `summary` of rows, and the rows."""

    summary: Result
    rows: pl.DataFrame

    def _table(self) -> pl.DataFrame:
        return self.rows

    def __str__(self) -> str:
        return str(self.summary)

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()


def _with_ends(row: dict[str, Any]) -> dict[str, Any]:
    """The row with the ends of each interval in its place."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("interval") and isinstance(value, dict | None):
            stem = name.removesuffix("interval")
            ends = value or {}
            flat |= {f"{stem}low": ends.get("low"), f"{stem}high": ends.get("high")}
        else:
            flat[name] = value
    return flat


def plain(value: Any) -> Any:
    """`value` as JSON-ready Python: numpy converted, dataclasses as dicts, no NaN or infinity.

    >>> plain({"a": np.float64(0.5), "b": np.arange(2)})
    {'a': 0.5, 'b': [0, 1]}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} cannot be in a result: use None and give a reason")
        return value
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if is_dataclass(value):
        return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (Sequence, set, frozenset)):
        inner = sorted(value) if isinstance(value, (set, frozenset)) else value
        return [plain(entry) for entry in inner]
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


DigestState = Literal["matches", "differs", "missing"]
#: The field of a file that names the command that made it. It is not part of the result: results
#: are compared without it, no digest covers it, and editing it has no effect.
COMMAND = "command"
DIGEST = "digest"
_NOT_CONTENT = (DIGEST, COMMAND)
#: Integers up to here are equal as floats and as integers.
_EXACT = 2**53


@frozen
class ResultWithDigest(Result):
    """A result that needs the `digest` in its file, because later commands use it.

    The files of other results have one too, but are also read without it.
    """

    schema_version: int

    @property
    def digest(self) -> str:
        """The `digest` in its file."""
        return str(self.to_dict()["digest"])

    def _values(self) -> dict[str, Any]:
        values = plain(super()._values())
        return {**values, "digest": digest_of(values)}


def digest_of(values: Mapping[str, Any]) -> str:
    """SHA-256 of all fields but `digest` and `command`.

    They are written as canonical JSON: sorted keys, no blanks, ASCII. The order of keys,
    indentation and 1 for 1.0 are not content, because other programs change them.

    >>> digest_of({"alpha": 1.0, "digest": "x"}) == digest_of({"alpha": 1})
    True
    """
    digest = hashlib.sha256()
    for piece in _canonical_pieces(values):
        digest.update(piece.encode("ascii"))
    return "sha256:" + digest.hexdigest()


def digest_for_file(result: Result) -> str | None:
    """The digest that the file of a result needs; None if the result has one itself."""
    values = result._values()
    return None if DIGEST in values else digest_of(values)


def check_digest(values: Mapping[str, Any], source: str | Path) -> None:
    """Refuse a file whose digest is missing or is not that of its content."""
    state = digest_state(values)
    if state != "matches":
        problem = "has no digest" if state == "missing" else "was changed: its digest differs"
        raise DataError(source, problem, remedy="write it again: do not edit it")


def digest_state(values: Mapping[str, Any]) -> DigestState:
    """Whether the digest matches the content."""
    if "digest" not in values:
        return "missing"
    return "matches" if values["digest"] == digest_of(values) else "differs"


def _canonical_pieces(values: Mapping[str, Any]) -> Iterator[str]:
    """The canonical text of a result; of a long list one part at a time is in memory."""
    names = sorted(name for name in values if name not in _NOT_CONTENT)
    for at, name in enumerate(names):
        yield f"{',' if at else '{'}{json.dumps(name)}:"
        value = values[name]
        if isinstance(value, (list, tuple)) and value:
            for number, part in enumerate(value):
                yield f"{',' if number else '['}{_canonical_text(part)}"
            yield "]"
        else:
            yield _canonical_text(value)
    yield "}" if names else "{}"


def _canonical_text(value: Any) -> str:
    content = _canonical(plain(value))
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    if isinstance(value, Mapping):
        return {name: _canonical(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_canonical(inner) for inner in value]
    return value
