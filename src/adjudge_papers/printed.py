"""What a paper prints: its tables and items as data, the form of every column, names of judges.

`published/PAPER.toml` has its tables, with the form of every column, and its items, with what each
is about, its picture and its numbers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from adjudge.present.text import DASH, interval, number, percent, signed

Row = Mapping[str, Any]
#: Names that can be part of a longer name: a provider before a judge, a release after it.
_LONGER = ("judge", "judge_a", "judge_b", "dataset")
#: What numbers differ by when they are rounded.
ROUNDING = 1e-9


# --- names -----------------------------------------------------------------------------------


def contains(name: str, part: str) -> bool:
    """Whether a name contains another, compared by letters and digits only.

    >>> contains("vllm:Qwen2.5-7B-Instruct", "qwen 2.5 7b"), contains("gpt-4o", "gpt-4o-mini")
    (True, False)
    """
    return _squeeze(part) in _squeeze(name)


@lru_cache(4096)
def _squeeze(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def size_of(judge: str) -> float | None:
    """The billions of parameters that a judge's name states, if it does.

    >>> size_of("vllm:Qwen2.5-7B-Instruct"), size_of("gpt-4.1-mini")
    (7.0, None)
    """
    stated = re.findall(r"(\d+(?:\.\d+)?)\s?b(?![a-z0-9])", judge.lower())
    return float(stated[-1]) if stated else None


# --- what a paper prints ---------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column: its field, its form and its heading; a form that begins with a dot is not shown.

    t text, n a count, a digit for decimals, % a share, + a signed number, r a correlation, p a
    p-value, [2] the interval FIELD_low to FIELD_high, w a number with that interval; ! at the end
    marks a field that every row has.
    """

    field: str
    form: str
    heading: str = ""

    def write(self, row: Row) -> str:
        """The text of a cell; a dash if the row does not have the number."""
        value = row.get(self.field)
        form = self.form.strip(".!")
        digits = 0 if form == "n" else int("".join(filter(str.isdigit, form)) or "1")
        if form[0] in "[w":
            ends = interval(row.get(f"{self.field}_low"), row.get(f"{self.field}_high"), digits)
            if form[0] == "[":
                return ends
            return number(value, digits) + ("" if ends == DASH else f" {ends}")
        if value is None or form == "t":
            return DASH if value is None else str(value)
        if form == "p":
            return "< 0.0001" if value < 1e-4 else f"{value:.2g}"
        write = {"+": signed, "r": signed, "%": percent}.get(form[0], number)
        return write(value, digits)

    def problem(self, value: object) -> str | None:
        """What is wrong with the cell of a file; None if nothing is."""
        form = self.form.strip(".!")
        if value is None:
            return "is missing" if self.form.endswith("!") else None
        if form == "t":
            return None if isinstance(value, str) else "is not a text"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return "is not a number"
        least = {"%": 0, "p": 0, "n": 0, "r": -1}.get(form[0])
        most = {"%": 1, "p": 1, "r": 1}.get(form[0])
        if least is not None and value < least - ROUNDING:
            return f"is below {least}"
        return "is above 1" if most is not None and value > most + ROUNDING else None


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper: its keys and columns, and the rows that the paper's text gives.

    `across` is the key with a group of columns for each of its values. `absent` states what the
    text does not give. `of` names the table whose rows it shows.
    """

    name: str
    of: str
    columns: Sequence[Column]
    published: Sequence[Row]
    title: str = ""
    keys: Sequence[str] = ()
    across: str = ""
    optional: Sequence[str] = ()
    absent: str = ""

    def matches(self, ours: Row, theirs: Row) -> bool:
        """Whether two rows are of the same judge and data; a pair of judges in either order."""
        if all(same_level(key, ours.get(key), theirs.get(key)) for key in self.keys):
            return True
        swap = {"judge_a": "judge_b", "judge_b": "judge_a"}
        return "judge_a" in self.keys and all(
            same_level(key, ours.get(swap.get(key, key)), theirs.get(key)) for key in self.keys
        )


def same_level(key: str, ours: Any, theirs: Any) -> bool:
    if ours is None or theirs is None:
        return False
    if not isinstance(ours, str) or not isinstance(theirs, str):
        return bool(ours == theirs)
    return contains(ours, theirs) if key in _LONGER else _squeeze(ours) == _squeeze(theirs)


@cache
def read_published(paper: str) -> Mapping[str, Any]:
    """What a paper prints, from `published/PAPER.toml`."""
    path = files("adjudge_papers") / "published" / f"{paper}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def paper_tables(paper: str) -> dict[str, PaperTable]:
    """The tables of a paper, in its order."""
    specs: Mapping[str, Any] = read_published(paper)["tables"]
    tables = {}
    for name, spec in specs.items():
        source = specs[spec.get("of", name)]
        shared = {key: source[key] for key in ("keys", "published", "absent") if key in source}
        entry = {"of": name, "published": "", **shared, **spec}
        lines = entry.pop("columns").strip().splitlines()
        columns = [Column(*line.split(maxsplit=2)) for line in lines]
        published = read_rows(entry.pop("published"))
        tables[name] = PaperTable(name=name, columns=columns, published=published, **entry)
    return tables


def read_rows(text: str) -> list[dict[str, Any]]:
    """The rows of a table of a data file: names of columns in the first line, then words.

    >>> read_rows('''
    ... judge         rate  share
    ... Qwen-2.5-72B  0.022 -''')
    [{'judge': 'Qwen-2.5-72B', 'rate': 0.022, 'share': None}]
    """
    lines = [line.split() for line in text.strip().splitlines()]
    return [dict(zip(lines[0], map(read_cell, line), strict=True)) for line in lines[1:]]


def read_cell(word: str) -> str | float | None:
    if word == "-":
        return None
    if re.fullmatch(r"-?\d+", word):
        return int(word)
    return float(word) if re.fullmatch(r"-?\d+\.\d+", word) else word


def item_entry(paper: str, name: str) -> Mapping[str, Any]:
    """What the data file says of an item: defaults, the item that it is `like`, itself."""
    published = read_published(paper)
    item: Mapping[str, Any] = published["items"][name]
    like = published["items"].get(item.get("like", ""), {})
    return {**published.get("defaults", {}), **like, **item}
