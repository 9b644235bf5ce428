"""Result files: one JSON object each, known by its `kind`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar, overload

from adjudge._text import clip
from adjudge.errors import DataError
from adjudge.io._atomic import replacing
from adjudge.io.files import open_regular
from adjudge.results.base import Result
from adjudge.results.load import from_dict

R = TypeVar("R", bound=Result)


def write_result(result: Result, path: str | Path) -> Path:
    """Write a result as JSON, by atomic rename."""
    with replacing(path) as partial:
        partial.write_text(result.to_json() + "\n", encoding="utf-8")
    return Path(path)


@overload
def read_result(path: str | Path) -> Result: ...
@overload
def read_result(path: str | Path, made: type[R]) -> R: ...
def read_result(path: str | Path, made: type[Result] = Result) -> Result:
    """The result in a file, checked field by field; of class `made` where one is asked for."""
    loaded = read_json(path, remedy="give a file that adjudge wrote with -o")
    return from_dict(loaded, made, source=path)


def read_json(path: str | Path, *, remedy: str = "repair it or write it again") -> Any:
    """What a JSON file holds; `remedy` says what to give instead of a file that is none.

    A field that is there twice is refused: readers would differ on which of the two counts.
    """
    with open_regular(path) as file:
        content = file.read()
    try:
        return json.loads(content, object_pairs_hook=_fields_once)
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"not a JSON file ({error})", remedy=remedy) from None


def _fields_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"field {clip(twice)} is there twice")
    return fields
