"""The base of every result: write as JSON, table, figure or page; compare; print."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from adjudge.results.checks import Check

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


_T = TypeVar("_T")
#: A longer repr is shortened; the complete result is in `to_dict` and on the page.
_REPR = 200


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(made: type[_T]) -> type[_T]:
    """A frozen dataclass with keyword-only fields that keeps Result's equality and short repr."""
    return dataclass(frozen=True, kw_only=True, repr=False, eq=False)(made)


@frozen
class Result:
    """Base of all results: frozen; its field names are the JSON names.

    A subclass sets `kind`, which `adjudge report` uses to read its file. What people see of it is
    a list of blocks in `adjudge.present.views`, one view for terminal, page and notebook. Only
    there does a result import a room below its own, and only when it is shown.
    """

    kind: ClassVar[str]
    #: The field with the rows of `to_frame`; None for a result that is one row.
    rows_in: ClassVar[str | None] = None
    #: Rules between its fields that `results.load` checks in a file; parts can also have rules.
    checks: ClassVar[tuple[Check, ...]] = ()
    #: How `results.load` reads files, as a pydantic config; parts of a result follow it.
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
        return {"kind": self.kind, **plain(self)}

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as text."""
        return as_text(self.to_dict(), indent=indent)

    def to_frame(self) -> pl.DataFrame:
        """The result as a table: its rows if it has some, else one row of its single values."""
        return frame_of(self._parts())

    def _parts(self) -> Sequence[Any]:
        """The rows of `to_frame`: dataclasses or mappings."""
        return [self] if self.rows_in is None else getattr(self, self.rows_in)

    def plot(self, path: str | Path | None = None, *, figure: str | None = None) -> Figure:
        """Draw a figure of the result and save it to `path` (.png, .svg, .pdf), if given.

        `figure` names one of several; the first is the default.
        """
        from adjudge.present.theme import save_figure
        from adjudge.present.views import draw

        drawing = draw(self, figure)
        if path is not None:
            save_figure(drawing, path)
        return drawing

    def __str__(self) -> str:
        from adjudge.present.render.terminal import render_text
        from adjudge.present.views import blocks_of

        return render_text(blocks_of(self))

    def explain(self) -> str:
        """What the result assumes and does not promise, a line each; empty if it states nothing."""
        from adjudge.present.render.terminal import render_explanation
        from adjudge.present.views import blocks_of

        return render_explanation(blocks_of(self))

    def _repr_html_(self) -> str:
        from adjudge.present.render.html import render_cell
        from adjudge.present.views import blocks_of

        return render_cell(blocks_of(self))

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


def _same(one: object, other: object) -> bool:
    """Equality that includes arrays; an array with NaN equals itself."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        a, b = np.asarray(one), np.asarray(other)
        floats = a.dtype.kind == b.dtype.kind == "f"
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=floats)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def as_text(values: Mapping[str, Any], *, indent: int | None = 2) -> str:
    """The JSON text of a result's values."""
    return json.dumps(values, indent=indent, ensure_ascii=False, allow_nan=False)


def frame_of(parts: Sequence[Any]) -> pl.DataFrame:
    """A row for each dataclass or mapping: its single values, without lists and nested parts."""
    import polars as pl

    rows = [plain(part) for part in parts]
    names = dict.fromkeys(name for row in rows for name in row)
    nested = {k for row in rows for k, value in row.items() if isinstance(value, (list, dict))}
    kept = [name for name in names if name not in nested]
    return pl.DataFrame(
        [{name: row.get(name) for name in kept} for row in rows], infer_schema_length=None
    )


def plain(value: Any) -> Any:
    """`value` as JSON-ready Python: numpy converted, dataclasses as dicts, no NaN or infinity.

    >>> plain({"a": np.float64(0.5), "b": np.arange(2)})
    {'a': 0.5, 'b': [0, 1]}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} cannot be in a result: use None and give a reason")
        return value
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Result) or dataclasses.is_dataclass(value):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (Sequence, set, frozenset)):
        inner = sorted(value) if isinstance(value, (set, frozenset)) else value
        return [plain(entry) for entry in inner]
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
