"""One row of a published data set or of another tool's log, as a converter gets it."""

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
    """A published row that cannot be used; its text is the reason it is counted under.

    A converter raises it for a whole row, and yields it for a part of one.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a conversion was asked for: the file, the seed, and the baseline the file omits."""

    source: str
    seed: int = 0
    baseline: str | None = None

    def coin(self, key: str) -> bool:
        """A fair coin that depends on the seed and the key alone, not on the order of rows."""
        return hashlib.blake2b(f"{self.seed}:{key}".encode(), digest_size=1).digest()[0] % 2 == 1


@dataclass(slots=True)
class Row:
    """One published row: its values, and refusals that name file, row and column."""

    record: Mapping[str, Any]
    number: int
    context: Context

    def error(self, problem: str, column: str, remedy: str | None = None) -> DataError:
        """A refusal that names file, row and column."""
        return DataError(
            self.context.source, problem, row=self.number, column=column, remedy=remedy
        )

    def get(self, column: str) -> Any:
        """The value, or None where there is none; an empty field is none."""
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
            raise self.error("holds no text", column)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value)

    def choice(self, column: str, choices: Mapping[str, str], remedy: str | None = None) -> str:
        """What the text of a column means, of the few that are known."""
        value = self.text(column)
        if value not in choices:
            raise self.error(f"{quote(value)} is not known", column, remedy)
        return choices[value]

    def nested(self, column: str) -> Any:
        """A list or object, which CSV carries as JSON or as Python writes it."""
        value = self.cell(column)
        if not isinstance(value, str):
            return value
        for read in (json.loads, ast.literal_eval):
            try:
                return _without_halves(read(value)) if "\\u" in value else read(value)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue
        raise self.error(f"{quote(value)} is no list and no object", column)

    def list_in(self, column: str, what: str, *, size: int | None = None) -> list[Any]:
        """A list that is not empty, or of just that size; `what` says of what."""
        values = self.nested(column)
        if not isinstance(values, list) or (not values if size is None else len(values) != size):
            raise self.error(f"holds no list of {what}", column)
        return values

    def number_in(self, column: str, value: Any) -> float:
        """The value, out of that column, as a finite number."""
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
        """What a number out of that column means, of the few that are known; None without one."""
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
    """A pair whose better response, and its model, is at A or B by the coin of `key`."""
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
    """Half of a surrogate pair, which no file takes, becomes the mark of a lost character."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


Converter = Callable[[Row], Iterable[Record | UnusableRow]]
