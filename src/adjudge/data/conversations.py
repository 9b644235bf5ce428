"""Conversations as text: a list of chat messages, each with its role.

A single message is only its text. `content` is text, a list of text parts, or empty if the message
calls tools: a call is written "[calls NAME] ARGUMENTS". An image, a sound or a file is refused: a
judge that does not get it would judge something else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from adjudge.present.text import safe

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_TEXT_PARTS = ("text", "input_text", "output_text")


class NotTextError(ValueError):
    """A message that cannot be shown as text; the error has the reason."""


def is_conversation(value: Any) -> bool:
    """Whether it is a list of messages: objects with a role.

    >>> is_conversation([{"role": "user", "content": "Hi"}]), is_conversation([{"a": 1}])
    (True, False)
    """
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(turn, Mapping) and isinstance(turn.get("role"), str) for turn in value)
    )


def render_conversation(messages: list[Mapping[str, Any]]) -> str:
    """The conversation as text.

    >>> print(render_conversation([
    ...     {"role": "user", "content": [{"type": "text", "text": "2+2?"}]},
    ...     {"role": "assistant", "content": "4"},
    ... ]))
    [user]
    2+2?
    <BLANKLINE>
    [assistant]
    4
    """
    spoken = [(str(message["role"]), _said(message, at)) for at, message in enumerate(messages, 1)]
    if len(spoken) == 1:
        return spoken[0][1]
    return "\n\n".join(f"[{_name(role)}]\n{said}" for role, said in spoken)


def from_text(text: str) -> str:
    """A conversation that is JSON in a text column, as text; any other text unchanged.

    >>> from_text('[{"role": "user", "content": "Hi"}]'), from_text('[{"a": 1}]')
    ('Hi', '[{"a": 1}]')
    """
    if not text.startswith("[{"):
        return text
    try:
        messages = json.loads(text)
        known = is_conversation(messages) and all(turn["role"] in _ROLES for turn in messages)
        return render_conversation(messages) if known else text
    except (NotTextError, ValueError, RecursionError):
        return text


def _name(role: str) -> str:
    """A role in one short line."""
    return safe(" ".join(role.split()))[:40]


def _said(message: Mapping[str, Any], at: int) -> str:
    content, calls = message.get("content"), message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise NotTextError(f"message {at} has tool_calls that are not a list")
    if content is None and not calls:
        raise NotTextError(f"message {at} has no content")
    parts = content if isinstance(content, list) else [] if content is None else [content]
    lines = ["\n".join(_part(part, at) for part in parts)] if content is not None else []
    return "\n".join([*lines, *(_call(call, at) for call in calls)])


def _part(part: Any, at: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise NotTextError(f"message {at} contains {type(part).__name__}, not text")
    kind, text = part.get("type", "text"), part.get("text")
    if kind not in _TEXT_PARTS or not isinstance(text, str):
        raise NotTextError(f"message {at} contains a part of type {_name(str(kind))!r}, not text")
    return text


def _call(call: Any, at: int) -> str:
    called = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(called, Mapping) or not isinstance(called.get("name"), str):
        raise NotTextError(f"message {at} calls a tool without a name")
    arguments = called.get("arguments")
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"[calls {called['name']}] {written}"
