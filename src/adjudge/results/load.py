"""Results back from their JSON: the same frozen dataclasses, checked field by field."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from adjudge import results
from adjudge.errors import InputError
from adjudge.results.base import Result


def from_dict(loaded: Mapping[str, Any]) -> Result:
    """The result that `to_dict` made this of; `kind` says which class."""
    from pydantic import TypeAdapter, ValidationError

    kind = loaded.get("kind")
    made = _kinds().get(str(kind))
    if made is None:
        raise InputError(f"kind {kind!r} is not known; it may be of a newer adjudge")
    fields = {name: value for name, value in loaded.items() if name != "kind"}
    try:
        checked: Result = TypeAdapter(made).validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(f"{kind}: {place}: {first['msg']}") from None
    return checked


@cache
def _kinds() -> dict[str, type[Result]]:
    for module in pkgutil.iter_modules(results.__path__):
        import_module(f"adjudge.results.{module.name}")
    return {made.kind: made for made in _below(Result)}


def _below(base: type[Result]) -> list[type[Result]]:
    made = []
    for child in base.__subclasses__():
        if "kind" in child.__dict__:
            made.append(child)
        made += _below(child)
    return made
