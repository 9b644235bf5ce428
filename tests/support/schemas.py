"""Files of results that a test wrote follow the schema of their kind."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from adjudge.errors import AdjudgeError
from adjudge.present.kinds import from_dict
from adjudge.present.result import Result
from adjudge.present.schema import schema

#: Larger files hold more rows of the same kind.
_LARGEST = 100_000


def check_written(folder: Path) -> int:
    """Validate every result below the folder that adjudge reads; their number."""
    checked = 0
    for path in folder.rglob("*.json"):
        values = _result_in(path)
        if values is not None:
            problems = [error.message for error in validator(values["kind"]).iter_errors(values)]
            assert problems == [], f"{path.name} does not follow its schema: {problems[0][:500]}"
            checked += 1
    return checked


@cache
def validator(kind: str) -> Any:
    """The validator of a kind."""
    described = schema(kind)
    Draft202012Validator.check_schema(described)
    return Draft202012Validator(described)


def _result_in(path: Path) -> dict[str, Any] | None:
    """The values of a result that can be read; None for any other file."""
    if not path.is_file() or path.is_symlink() or path.stat().st_size > _LARGEST:
        return None
    try:
        values: dict[str, Any] = json.loads(path.read_bytes())
        from_dict(values, Result, source=path)
    except (AdjudgeError, OSError, ValueError, RecursionError):
        return None
    return values
