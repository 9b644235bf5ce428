"""Answers of a batch service: ids, states, files with a line per call. Any can be malformed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

#: A server's ids of files and batches, and the field of a line that names its call.
ID = re.compile(r"[\w.:-]{1,200}", re.ASCII)
_CUSTOM_ID = re.compile(r'"custom_id"\s*:\s*"([^"\\]{1,64})"')
#: The JSON around an answer in its line.
_ENVELOPE = 16 << 10


def id_of(answer: object) -> str:
    named = answer.get("id") if isinstance(answer, dict) else None
    return named if isinstance(named, str) else ""


def object_in(answer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = answer.get(name)
    return part if isinstance(part, dict) else {}


def list_in(answer: Mapping[str, Any], name: str) -> list[Any]:
    part = answer.get(name)
    return part if isinstance(part, list) else []


def why_unanswered(state: dict[str, Any]) -> str:
    """Why a batch ended without an answer, in the server's words if it gives a reason."""
    errors = [e for e in list_in(object_in(state, "errors"), "data") if isinstance(e, dict)]
    words = [e["message"] for e in errors if e.get("message") and isinstance(e["message"], str)]
    ended = f"the batch ended ({state.get('status')}) without this answer"
    return f"{ended}: {words[0]}" if words else ended


def answer_lines(file: IO[bytes], largest: int) -> Iterator[tuple[str, bool]]:
    """The lines of a file of answers, and whether each is complete; too large ones are cut."""
    most = largest + _ENVELOPE
    while line := file.readline(most):
        whole = line.endswith(b"\n") or len(line) < most
        yield (line if whole else line[:_ENVELOPE]).decode(errors="replace"), whole
        while not whole:
            rest = file.readline(most)
            whole = rest.endswith(b"\n") or not rest


def read_line(line: str, whole: bool) -> tuple[str, dict[str, Any]]:
    """A line of the answers and the key of its call; "" if it is not such a line."""
    if not whole:
        named = _CUSTOM_ID.search(line)
        return (named[1] if named else ""), {}
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return "", {}
    if not isinstance(answer, dict) or not isinstance(answer.get("custom_id"), str):
        return "", {}
    return answer["custom_id"], answer
