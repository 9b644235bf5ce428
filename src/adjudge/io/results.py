"""Result files: one JSON object each, identified by its `kind`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar, overload

from adjudge.atomic import replacing
from adjudge.errors import DataError
from adjudge.io.files import open_regular
from adjudge.present.load import from_dict
from adjudge.present.result import COMMAND, Result, as_text
from adjudge.present.text import clip

R = TypeVar("R", bound=Result)


def write_result(result: Result, path: str | Path, *, command: str | None = None) -> Path:
    """Write a result as JSON by atomic rename; `command` is the command that made it."""
    text = result.to_json() if command is None else as_text({**result.to_dict(), COMMAND: command})
    with replacing(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")
    return Path(path)


@overload
def read_result(path: str | Path) -> Result: ...
@overload
def read_result(path: str | Path, made: type[R]) -> R: ...
def read_result(path: str | Path, made: type[Result] = Result) -> Result:
    """The result in a file, checked field by field; it must be of class `made` if given."""
    return _load(path, made)[0]


def read_with_command(path: str | Path) -> tuple[Result, str | None]:
    """The result in a file, and the command that made it if the file names one."""
    return _load(path, Result)


def _load(path: str | Path, made: type[Result]) -> tuple[Result, str | None]:
    loaded = read_json(path, remedy="give a file that adjudge wrote with -o")
    return from_dict(loaded, made, source=path), loaded.get(COMMAND)


def read_json(path: str | Path, *, remedy: str = "repair it or write it again") -> Any:
    """The content of a JSON file; `remedy` is for a file that is not JSON.

    A repeated field is refused: readers would differ on which value counts.
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
        raise ValueError(f"field {clip(twice)} is repeated")
    return fields
