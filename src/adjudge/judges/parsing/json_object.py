"""The first complete JSON object of a reply, and nothing repaired."""

from __future__ import annotations

import json
from typing import Any

from adjudge.judges.parsing.letter import without_thinking

_LONGEST = 200_000
_MOST_STARTS = 500


class _NotStrictError(ValueError):
    """JSON that Python would read but the standard does not have, or that says a thing twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        # Python would keep the last value in silence; which one the judge meant is a guess.
        raise _NotStrictError("a key stands twice")
    return made


def _constant(name: str) -> Any:
    raise _NotStrictError(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def first_json_object(text: str | None) -> dict[str, Any] | None:
    """The first `{...}` in the text that is a complete JSON object; prose around it is skipped.

    Thoughts in a closed <think> block at the start are not searched; in an unclosed one the
    answer never came. Keys that stand twice, NaN and Infinity make the object unreadable, and
    then the search ends: a part of an object is not the object.

    >>> first_json_object('Here it is:\\n```json\\n{"a": 1}\\n```\\nor {"a": 2}')
    {'a': 1}
    >>> first_json_object('{"a": 1, "a": 2}') is None, first_json_object('{"a": 1,}') is None
    (True, True)
    """
    if not text or len(text) > _LONGEST:
        return None
    said = without_thinking(text)
    if said.lstrip()[:6].lower() in ("<think", "<reaso", "<thoug"):
        return None
    start = said.find("{")
    for _ in range(_MOST_STARTS):
        if start < 0:
            return None
        try:
            found, _ = _DECODER.raw_decode(said, start)
        except _NotStrictError:
            return None
        except (ValueError, RecursionError):
            start = said.find("{", start + 1)
            continue
        return found if isinstance(found, dict) else None
    return None
