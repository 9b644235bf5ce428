"""What every result can do: turn into JSON that another program can read, and back into words."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Result:
    """Base of all results: a frozen dataclass whose field names are the JSON names.

    A subclass sets `kind`, by which `adjudge report` knows its file, and overrides `lines` to
    print itself for a person.
    """

    kind: ClassVar[str]
    #: How `results.load` reads files, in pydantic's words; parts of a result follow it.
    __pydantic_config__: ClassVar[Mapping[str, Any]] = {
        "extra": "forbid",
        "strict": True,
        "arbitrary_types_allowed": True,  # arrays, in results that are not made for files
    }

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON values, `kind` first.

        Raises ValueError on NaN or infinity: JSON has neither, and a result that holds one has
        hidden a refusal in a number.
        """
        return {"kind": self.kind, **plain(self)}

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    def lines(self) -> list[str]:
        """The result in words, one finding a line."""
        return [f"{key}: {value}" for key, value in self.to_dict().items()]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def plain(value: Any) -> Any:
    """`value` as JSON-ready Python: numpy unwrapped, dataclasses as dicts, no NaN, no infinity.

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
            raise ValueError(f"{value} has no place in a result: use None and say why")
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
