"""Result files: one JSON object each, known by its `kind`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudge.errors import DataError
from adjudge.io._atomic import replacing
from adjudge.results.base import Result


def write_result(result: Result, path: str | Path) -> Path:
    """Write a result as JSON, by atomic rename."""
    with replacing(path) as partial:
        partial.write_text(result.to_json() + "\n", encoding="utf-8")
    return Path(path)


def read_result(path: str | Path, *, kind: str | None = None) -> dict[str, Any]:
    """The JSON object of a result file, checked to be of `kind` where one is asked for."""
    try:
        loaded = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(path, "no such file", remedy="check the path") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(
            path, f"not a JSON file ({error})", remedy="give a file that adjudge wrote with -o"
        ) from None
    found = loaded.get("kind") if isinstance(loaded, dict) else None
    if found is None:
        raise DataError(path, "has no kind", remedy="give a file that adjudge wrote with -o")
    if kind is not None and found != kind:
        raise DataError(path, f"is of kind {found!r}", remedy=f"give a file of kind {kind!r}")
    return dict(loaded)
