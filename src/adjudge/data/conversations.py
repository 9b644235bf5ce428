"""Conversations and runs of agents as text: turns, each under a heading with its role.

A list of messages as OpenAI, Anthropic, Gemini, LangChain (LangSmith), OpenTelemetry, Inspect and
ShareGPT write them becomes turns, and turns become text: `[assistant]`, `[tool search]`, and
`[tool search: error]` if the call failed. A call of a tool is a line "[calls NAME] ARGUMENTS". A
line of a message that looks like one of these gets a space before it, so that no text can pretend
to be a turn, and the text can be read as turns again. A single message is only its text.

Images stand in the text as `parts` writes them. A sound or a file is refused: a judge that does not
get it would judge something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from adjudge.data.parts import (
    READABLE,
    are_parts,
    clean,
    flatten,
    is_image,
    mark,
    read_part,
    read_parts,
    unflatten,
    write_json,
    write_parts,
)
from adjudge.images import ImageError, NotTextError
from adjudge.present.text import safe

#: The roles of the system that is judged.
ASSISTANTS = frozenset({"assistant", "ai", "model", "gpt", "bot", "agent", "chatbot"})
#: The roles of what a tool returned.
TOOLS = frozenset({"tool", "function"})
_ROLES = frozenset({"system", "developer", "user", "human", "customer", *TOOLS, *ASSISTANTS})
#: Roles as ShareGPT and LangChain write them; Anthropic and Gemini have results of tools in a turn
#: of the user.
_SPOKEN_BY = {
    **dict.fromkeys(("human", "HumanMessage", "HumanMessageChunk"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "bard", "bing", "ai", "AIMessage"), "assistant"),
    **dict.fromkeys(("AIMessageChunk", "function_call", "reasoning"), "assistant"),
    **dict.fromkeys(("observation", "ToolMessage", "FunctionMessage"), "tool"),
    "function_call_output": "tool",
    "SystemMessage": "system",
    **{role: role for role in ("system", "tool", "function", "user", "assistant")},
}
#: Columns of rows, whose `type` says nothing of who speaks.
_OF_ROWS = frozenset({"prompt", "response", "response_a", "judge"})
_TEXT_PARTS = ("text", "input_text", "output_text")
_CALLS = ("tool_use", "tool_call", "function_call", "functionCall")
_RESULTS = (
    *("tool_result", "tool_call_response", "function_call_output"),
    *("functionResponse", "function_response"),
)
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking")
#: Gemini's parts have their type as a key.
_AS_KEYS = ("functionCall", "function_call", "functionResponse", "function_response")
_LONGEST_NAME = 60
_NAMED = "|".join(sorted(_ROLES))
_HEADING = re.compile(
    rf"(?:\A|\n\n)\[({_NAMED})(?: ([^\[\]\n]{{1,{_LONGEST_NAME}}}?))?(: error)?\](?:\n|\Z)"
)
#: A line of a message that would be read as a heading, or as a call of a tool.
_MARK = re.compile(
    rf"^(?=\[(?:{_NAMED})(?: [^\[\]\n]*)?(?:: error)?\]$|\[calls [^\[\]\n]+\] )", re.M
)
#: A call of a tool in the text of a turn: its name and its arguments.
CALL = re.compile(r"^\[calls ([^\[\]\n]+)\] (.*(?:\n(?!\[calls ).*)*)", re.M)


class Turn(NamedTuple):
    """A turn of a conversation: who says what. `name` is the speaker's, or that of the tool.

    The text is flat: its images are marks in it (`flatten`).
    """

    role: str
    text: str
    name: str | None = None
    #: Whether it is the result of a call that failed.
    failed: bool = False

    @property
    def heading(self) -> str:
        """As in "tool search: error"."""
        named = f"{self.role} {self.name}" if self.name else self.role
        return f"{named}: error" if self.failed else named


def is_conversation(value: Any) -> bool:
    """Whether it is a list of messages: objects with a role, in one of the usual shapes.

    >>> is_conversation([{"role": "user", "content": "Hi"}]), is_conversation([{"a": 1}])
    (True, False)
    >>> is_conversation([{"from": "human", "value": "Hi"}])
    True
    """
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(turn, Mapping) and _role(turn) is not None for turn in value)
    )


def render_conversation(messages: Sequence[Mapping[str, Any]]) -> str:
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
    calls: dict[str, str] = {}
    turns: list[Turn] = []
    was_item = False
    for at, message in enumerate(messages, 1):
        # OpenAI's Responses have what one reply thinks, says and calls as items of their own.
        is_item = "role" not in message and message.get("type") in (*_CALLS, *_THOUGHTS)
        for turn in _turns(message, at, calls):
            last = turns[-1] if turns and (is_item or was_item) else None
            if last is not None and last.role == turn.role == "assistant":
                text = "\n".join(filter(None, (last.text, turn.text)))
                turns[-1] = last._replace(text=text)
            else:
                turns.append(turn)
        was_item = is_item
    if len(turns) == 1:
        return unflatten(turns[0].text)
    return write_turns(turns)


def from_value(value: Any) -> str | None:
    """A list of messages or parts (or one part) as text; None for any other value."""
    if is_conversation(value):
        return render_conversation(value)
    return write_parts(read_parts(value)) if are_parts(value) else None


def write_turns(turns: Iterable[Turn]) -> str:
    """Turns as text, each under its heading: what `turns_of` reads.

    >>> write_turns([Turn("user", "2+2?"), Turn("tool", "none", "search", failed=True)])
    '[user]\\n2+2?\\n\\n[tool search: error]\\nnone'
    """
    return unflatten("\n\n".join(f"[{turn.heading}]\n{turn.text}" for turn in turns))


def turns_of(text: str) -> list[Turn] | None:
    """The turns of a conversation that was written as text; None for any other text.

    >>> turns_of("[user]\\n2+2?\\n\\n[assistant]\\n4")
    [Turn(role='user', text='2+2?', name=None, failed=False), Turn(role='assistant', text='4', ...)]
    >>> turns_of("4") is None
    True
    """
    text = flatten(text)
    headings = list(_HEADING.finditer(text)) if text.startswith("[") else []
    if not headings or headings[0].start() > 0:
        return None
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return [
        Turn(heading[1], text[heading.end() : end], heading[2], heading[3] is not None)
        for heading, end in zip(headings, ends, strict=True)
    ]


def from_text(text: str) -> str:
    """A conversation or parts that are JSON in a text column, or an image that is a data URI, as
    text; any other text unchanged.

    >>> from_text('[{"role": "user", "content": "Hi"}]'), from_text('[{"a": 1}]')
    ('Hi', '[{"a": 1}]')
    """
    if not text.startswith(READABLE):
        return text
    try:
        if text.startswith("data:"):
            return write_parts(read_parts(text))
        value = json.loads(text, strict=False)  # a frame writes control codes as they are
        if is_conversation(value) and not all(_role(turn) in _ROLES for turn in value):
            return text
        read = from_value(value)
        return text if read is None else read
    except ImageError:
        raise
    except (NotTextError, ValueError, RecursionError):
        return text


def plain(text: str) -> str:
    """Text without lines that would be a heading or a call of a tool, or marks of images."""
    return _MARK.sub(" ", clean(text)) if "[" in text else clean(text)


def _role(message: Mapping[str, Any]) -> str | None:
    """Who says a message; None if it is no message."""
    if isinstance(role := message.get("role"), str):
        return role
    if isinstance(said_by := message.get("from"), str) and isinstance(message.get("value"), str):
        return _SPOKEN_BY.get(said_by.lower())
    kind = message.get("type")
    if kind == "constructor" and isinstance(message.get("id"), list) and message["id"]:
        kind = message["id"][-1]
    fields = ("content", "data", "kwargs", "call_id", "summary")
    is_row = not _OF_ROWS.isdisjoint(message)
    if is_row or not isinstance(kind, str) or all(message.get(name) is None for name in fields):
        return None
    return _SPOKEN_BY.get(kind)


def _turns(message: Mapping[str, Any], at: int, calls: dict[str, str]) -> Iterator[Turn]:
    """The turns of a message: its own, and one for each result of a tool within it.

    `calls` are the names of the tools that were called so far, by the ids of the calls.
    """
    role = str(_role(message))
    for within in ("kwargs", "data"):
        if isinstance(message.get(within), Mapping):
            message = message[within]
    if message.get("type") in (*_CALLS, *_RESULTS, *_THOUGHTS):
        message = {"content": [message]}
    if "value" in message and "from" in message:
        message = _of_sharegpt(message)
    named = message.get("tool_calls") or message.get("toolsCalled") or []
    if isinstance(called := message.get("function_call"), Mapping):
        named = [called]
    if not isinstance(named, list):
        raise NotTextError(f"message {at} has tool_calls that are not a list")
    content = message.get("content")
    for other in ("parts", "refusal"):
        content = message.get(other) if content is None else content
    if content is None and not named and not message.get("error"):
        raise NotTextError(f"message {at} has no content")
    parts = content if isinstance(content, list) else [] if content is None else [content]
    name = message.get("name") or message.get("function")
    if role in TOOLS and not name:
        name = calls.get(str(message.get("tool_call_id")))
    failed = role in TOOLS and (_failed(message) or message.get("status") == "error")
    said: list[str] = []
    results = 0
    for part in parts:
        kind = _kind(part)
        if kind not in _RESULTS:
            said.append(_part(part, at, calls))
            continue
        if any(said):
            yield _turn(role, name, said, failed)
        said = []
        results += 1
        yield _result(part, at, calls)
    # Some tools write each call twice: as a part of the content, and in the list of calls.
    here = {_kind(part) for part in parts} & {*_CALLS}
    said += [_call(call, at, calls) for call in named if not here]
    if failed and (why := _error(message.get("error"))) and why not in "\n".join(said):
        said.append(plain(why))
    if said or not results:
        yield _turn(role, name, said, failed)


def _of_sharegpt(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message of ShareGPT; a call of a tool is JSON in its text."""
    text = message["value"]
    if str(message["from"]).lower() == "function_call":
        with suppress(ValueError, RecursionError):
            called = json.loads(text)
            if isinstance(called, dict) and isinstance(called.get("name"), str):
                return {"function_call": called}
    return {"content": text}


def _turn(role: str, name: object, said: Sequence[str], failed: bool) -> Turn:
    """A turn of one role, whose heading is one short line."""
    text = "\n".join(filter(None, said))
    return Turn(_name(role), text, _within(name) if isinstance(name, str) else None, failed)


def _result(part: Mapping[str, Any], at: int, calls: Mapping[str, str]) -> Turn:
    """What a tool returned, as a part of a message."""
    part = _inner(part)
    key = str(part.get("tool_use_id") or part.get("call_id") or part.get("id"))
    names = ("content", "response", "result", "output")
    value = next((part[name] for name in names if part.get(name) is not None), "")
    if isinstance(value, list) and all(_kind(one) in _TEXT_PARTS or is_image(one) for one in value):
        written = "\n".join(_part(one, at, {}) for one in value)
    else:
        written = flatten(value if isinstance(value, str) else write_json(value), plain)
    name = part.get("name") or calls.get(key)
    return _turn("tool", name, [written], _failed(part))


def _failed(message: Mapping[str, Any]) -> bool:
    return bool(message.get("error")) or message.get("is_error") is True


def _error(error: Any) -> str:
    """The words of an error: a text, or an object with a message."""
    words = error.get("message") or error.get("type") if isinstance(error, Mapping) else error
    return words if isinstance(words, str) else ""


def _name(role: str, longest: int = 40) -> str:
    """A role or a name in one short line."""
    return safe(" ".join(role.split()))[:longest]


def _within(name: str) -> str | None:
    """A name that can be in a heading or a call; None without one."""
    return _name(name.replace("[", "").replace("]", ""), _LONGEST_NAME) or None


def _kind(part: Any) -> str:
    """The type of a part, in the words of `_CALLS`, `_RESULTS`, `_THOUGHTS` and `_TEXT_PARTS`."""
    if not isinstance(part, Mapping):
        return "text"
    for kind in _AS_KEYS:
        if isinstance(part.get(kind), Mapping):
            return kind
    if part.get("thought") is True:
        return "thinking"
    kind = str(part.get("type") or "text")
    # Anthropic names the tools of its own servers, as in web_search_tool_result.
    return next((usual for usual in ("tool_use", "tool_result") if kind.endswith(usual)), kind)


def _inner(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call or a result without Gemini's key around it."""
    return next((part[kind] for kind in _AS_KEYS if isinstance(part.get(kind), Mapping)), part)


def _part(part: Any, at: int, calls: dict[str, str]) -> str:
    if is_image(part):
        try:
            return mark(read_part(part))
        except NotTextError as error:
            raise type(error)(f"message {at} {error}", error.remedy) from None
    if isinstance(part, str):
        return plain(part)
    if not isinstance(part, Mapping):
        raise NotTextError(f"message {at} contains {type(part).__name__}, not text")
    kind = _kind(part)
    if kind in _CALLS:
        return _call(_inner(part), at, calls)
    if kind in _THOUGHTS:
        return _thought(part, kind)
    names = ("refusal",) if kind == "refusal" else ("text", "content")
    text = next((part[name] for name in names if isinstance(part.get(name), str)), None)
    if kind not in (*_TEXT_PARTS, "refusal") or text is None:
        raise NotTextError(f"message {at} contains a part of type {_name(kind)!r}, not text")
    return plain(text)


def _thought(part: Mapping[str, Any], kind: str) -> str:
    """What a model thought, as far as its provider shows it."""
    for name in (kind, "content", "text", "summary"):
        words = part.get(name)
        if isinstance(words, list):
            texts = (one.get("text") for one in words if isinstance(one, Mapping))
            words = "\n".join(text for text in texts if isinstance(text, str))
        if isinstance(words, str) and words:
            return f"[thinks] {plain(words)}"
    return ""


def _call(call: Any, at: int, calls: dict[str, str]) -> str:
    called = call.get("function", call) if isinstance(call, Mapping) else None
    if isinstance(called, str):  # Inspect has the tool's name there
        called = {**call, "name": called}
    if not isinstance(called, Mapping) or not isinstance(called.get("name"), str):
        raise NotTextError(f"message {at} calls a tool without a name")
    name = _within(called["name"]) or "unnamed"
    for key in (call.get("id"), call.get("call_id")):
        calls[str(key)] = name
    names = ("arguments", "args", "input", "inputParameters")
    arguments = next((called[one] for one in names if called.get(one) is not None), None)
    written = arguments if isinstance(arguments, str) else write_json(arguments)
    return f"[calls {name}] {flatten(written, plain)}"
