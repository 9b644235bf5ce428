"""One row of a public data set or of another tool's log, as converters get it."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from adjudge.errors import DataError
from adjudge.io.json_files import Record
from adjudge.io.refusals import quote, shorten


class UnusableRow(Exception):  # noqa: N818 - not an error: it is counted and the next row read
    """A public row that cannot be used; its text is the reason under which it is counted.

    A converter raises it for a complete row, and yields it for a part of a row.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The settings of a conversion: the file, the seed, and a baseline that the file omits."""

    source: str
    seed: int = 0
    baseline: str | None = None

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
        return DataError(
            self.context.source, problem, row=self.number, column=column, remedy=remedy
        )

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


def place_chosen(
    row: Row,
    key: str,
    prompt: str,
    chosen: tuple[str, str | None],
    rejected: tuple[str, str | None],
) -> Record:
    """A pair whose better response and its model are A or B by the coin of `key`."""
    at_a = row.context.coin(key)
    first, second = (chosen, rejected) if at_a else (rejected, chosen)
    return {
        "id": key,
        "prompt": prompt,
        "response_a": first[0],
        "response_b": second[0],
        "model_a": first[1],
        "model_b": second[1],
        "label": "A" if at_a else "B",
        "chosen_at": "A" if at_a else "B",
        "placement_seed": row.context.seed,
    }


def _without_halves(value: Any) -> Any:
    """Replace half of a surrogate pair, which cannot be written, with a replacement character."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


Converter = Callable[[Row], Iterable[Record | UnusableRow]]
