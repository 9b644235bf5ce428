"""Prompt files, and how they are filled.

A line ``--- system ---``, ``--- user ---`` or ``--- assistant ---`` starts a message; without such
lines a file is one user message. A last section ``--- answer ---`` declares how the reply is
written, in lines ``key: value``: `format` (see `parsing`), `tie` (the letter for a tie),
`confidence` (its scale). ``{name}`` is a placeholder, ``{{name}}`` the literal text {name}, every
other brace is text. A name that the protocol does not fill itself is a column of the row.

Filling is one pass over the template; inserted text is never scanned. A response that contains
``{response_b}`` or a role line stays text. Text of the prompt is `str`, judged text is `Data`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from adjudge.data.conversations import from_text, from_value
from adjudge.data.files import open_regular
from adjudge.data.names import shorten
from adjudge.data.parts import has_images, parts_of, write_json
from adjudge.errors import DataError
from adjudge.hashing import frame
from adjudge.images import NotTextError
from adjudge.judges.interface import Data, Message, Prompt, Role
from adjudge.records import Image, Item, Order, Pair, Subject

Part = str | Data | Image
Value = Part | list[Part]

_ROLE_LINE = re.compile(r"^--- *(system|user|assistant) *---[ \t]*$", re.MULTILINE)
_ANSWER_LINE = re.compile(r"^--- *answer *---[ \t]*$", re.MULTILINE)
#: What a prompt can declare about its reply.
ANSWER_KEYS = ("format", "tie", "confidence")
#: Scales of a stated confidence: the number for a guess, and the number for certainty.
CONFIDENCE_SCALES = {
    "0.5 to 1": (0.5, 1.0),
    "0 to 1": (0.0, 1.0),
    "50 to 100": (50.0, 100.0),
    "0 to 100": (0.0, 100.0),
}
# A single capital in braces is a letter of the answer (\boxed{A}), not a column.
_NAME = r"[a-z]|[A-Za-z_][A-Za-z0-9_]+"
_PLACEHOLDER = re.compile(rf"\{{\{{({_NAME})\}}\}}|\{{({_NAME})\}}")
#: Columns of people's answers, which are never shown to a judge.
_PEOPLE = frozenset({"label", "human", "human_score"})
_MAX_PROMPT_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a template for a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Section:
    """One message of a template: fixed text and slots."""

    role: Role
    parts: tuple[str | Slot, ...]


def make_prompt(name: str, text: str) -> Prompt:
    """A prompt from its text. Line ends are unified, so the hash is the same on every machine.

    >>> make_prompt("p", "a\\r\\nb").sha256 == make_prompt("p", "a\\nb").sha256
    True
    """
    unified = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    sent, *declared = _ANSWER_LINE.split(unified, maxsplit=1)
    return Prompt(
        name=name,
        text=sent,
        sha256=hashlib.sha256(unified.encode()).hexdigest(),
        answer=_declarations(name, declared[0]) if declared else {},
    )


def _declarations(name: str, section: str) -> dict[str, str]:
    declared: dict[str, str] = {}
    for line in filter(None, map(str.strip, section.split("\n"))):
        key, value = map(str.strip, line.partition(":")[::2])
        if not value or key not in ANSWER_KEYS or key in declared:
            problem = f"the answer section has the line {line[:60]!r}"
            remedy = f"write lines 'key: value', each of {', '.join(ANSWER_KEYS)} once at most"
            raise DataError(name, problem, remedy=remedy)
        declared[key] = value
    tie = declared.get("tie")
    if tie is not None and (not tie.isalnum() or tie in ("A", "B") or len(tie) > 12):
        remedy = "give a letter or word other than A and B, such as C"
        raise DataError(name, f"tie: {tie[:40]!r} cannot be the answer for a tie", remedy=remedy)
    scale = declared.get("confidence")
    if scale is not None and scale not in CONFIDENCE_SCALES:
        remedy = f"give one of: {', '.join(CONFIDENCE_SCALES)}; the first number is a guess"
        raise DataError(name, f"confidence: {scale[:40]!r} is not a known scale", remedy=remedy)
    return declared


@lru_cache(maxsize=64)
def builtin_prompt(name: str) -> Prompt:
    """A prompt that comes with adjudge: a file in judges/prompts/."""
    source = files("adjudge.judges") / "prompts" / f"{name}.txt"
    return make_prompt(f"{name}.txt", source.read_text(encoding="utf-8"))


def read_prompt(path: str | Path) -> Prompt:
    """A user's own prompt file."""
    with open_regular(Path(path)) as handle:
        content = handle.read(_MAX_PROMPT_BYTES + 1)
    if len(content) > _MAX_PROMPT_BYTES:
        raise DataError(path, "is larger than 1 MB", remedy="give a prompt file")
    try:
        return make_prompt(Path(path).name, content.decode())
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 at byte {error.start}"
        raise DataError(path, problem, remedy="save it as UTF-8") from None


def placeholders(prompt: Prompt) -> frozenset[str]:
    """The names of the placeholders in the prompt.

    >>> sorted(placeholders(make_prompt("p", '{prompt} {{literal}} {"json": 1} {response_a}')))
    ['prompt', 'response_a']
    """
    parts = (part for section in template(prompt) for part in section.parts)
    return frozenset(part.name for part in parts if isinstance(part, Slot))


def check_prompt(
    prompt: Prompt, *, required: Iterable[str], optional: Iterable[str] = ()
) -> Prompt:
    """The prompt, if it has all placeholders that the protocol must fill.

    Names other than `required` and `optional` are columns of the rows. Columns of people's answers
    are refused.

    >>> check_prompt(make_prompt("mine.txt", "{prompt} {label}"), required=["prompt"])
    Traceback (most recent call last):
    adjudge.errors.DataError: mine.txt: {label} would show the judge what people answered; leave it
    out, or write {{label}} for the word itself
    """
    needed = frozenset(required)
    wanted = placeholders(prompt)
    usable_names = needed | frozenset(optional)
    usable = ", ".join(f"{{{name}}}" for name in sorted(usable_names))
    for name in sorted((wanted - usable_names) & _PEOPLE):
        problem = f"{{{name}}} would show the judge what people answered"
        remedy = f"leave it out, or write {{{{{name}}}}} for the word itself"
        raise DataError(prompt.name, problem, remedy=remedy)
    for name in sorted(needed - wanted):
        remedy = f"it must contain {usable}"
        if f"{{{{{name}}}}}" in prompt.text:
            remedy = f"write {{{name}}} with single braces"
        raise DataError(prompt.name, f"the placeholder {{{name}}} is missing", remedy=remedy)
    return prompt


@lru_cache(maxsize=256)
def template(prompt: Prompt) -> tuple[Section, ...]:
    """The prompt split into messages, and each message into text and slots."""
    marks = list(_ROLE_LINE.finditer(prompt.text))
    if not marks:
        return (_section("user", prompt.text.strip("\n")),)
    before = prompt.text[: marks[0].start()].strip()
    if before:
        problem = f"there is text before the first role line: {before[:40]!r}"
        remedy = "start the file with --- system --- or --- user ---"
        raise DataError(prompt.name, problem, remedy=remedy)
    ends = [mark.start() for mark in marks[1:]] + [len(prompt.text)]
    sections = []
    for mark, end in zip(marks, ends, strict=True):
        body = prompt.text[mark.end() : end].strip("\n")
        if not body:
            raise DataError(prompt.name, f"the {mark[1]} message is empty", remedy="fill it")
        sections.append(_section(cast("Role", mark[1]), body))
    return tuple(sections)


def fill(prompt: Prompt, values: Mapping[str, Value]) -> tuple[Message, ...]:
    """The prompt's messages with every placeholder filled, in one pass.

    >>> fill(make_prompt("p", "Q: {prompt} A: {response_a}"),
    ...      {"prompt": Data("2+2?"), "response_a": Data("see {prompt}")})[0].parts
    ('Q: ', Data(text='2+2?'), ' A: ', Data(text='see {prompt}'))
    """
    messages = []
    for section in template(prompt):
        parts: list[Part] = []
        for part in section.parts:
            value = part if isinstance(part, str) else values[part.name]
            if isinstance(value, list):
                parts.extend(value)
            else:
                parts.append(value)
        messages.append(Message(section.role, tuple(parts)))
    return tuple(messages)


class PromptHash:
    """`content_hash` of a prompt's messages as `fill` gives them, and of the texts in `end`.

    >>> from adjudge.hashing import content_hash
    >>> asked = PromptHash(make_prompt("p", "Q: {prompt}"), end=["choice"])
    >>> asked.fill({"prompt": "2+2?"}).hexdigest() == content_hash(["user", "Q: 2+2?", "choice"])
    True
    """

    def __init__(self, prompt: Prompt, end: Sequence[str] = ()) -> None:
        #: Frames, and texts with slots.
        self._parts: list[bytes | str] = []
        for section in template(prompt):
            texts = [
                f"%({part.name})s" if isinstance(part, Slot) else part.replace("%", "%%")
                for part in section.parts
            ]
            fixed = not any(isinstance(part, Slot) for part in section.parts)
            text = "".join(texts)
            self._parts += [frame([section.role]), frame([text % {}]) if fixed else text]
        self._parts.append(frame(end))

    def fill(self, values: Mapping[str, str]) -> hashlib._Hash:
        """The hash with every slot filled; it can be updated with more frames."""
        digest = hashlib.sha256()
        for part in self._parts:
            if isinstance(part, str):
                filled = (part % values).encode("utf-8", "surrogatepass")
                digest.update(b"%d:%b" % (len(filled), filled))
            else:
                digest.update(part)
        return digest


def _section(role: Role, body: str) -> Section:
    parts: list[str | Slot] = []
    words = ""
    position = 0
    for match in _PLACEHOLDER.finditer(body):
        words += body[position : match.start()]
        position = match.end()
        if match[1] is not None:
            words += f"{{{match[1]}}}"
            continue
        parts += [words, Slot(match[2])]
        words = ""
    return Section(role, tuple(part for part in (*parts, words + body[position:]) if part))


_OWN = {Pair: ("id", "model_a", "model_b", "prompt_id"), Item: ("id", "doc_id", "model")}
_OTHER_SIDE = {"a": "b", "b": "a"}


class PromptColumns:
    """The columns that a prompt names, in addition to those its protocol fills in.

    >>> from adjudge.judges.prompting import make_prompt
    >>> named = PromptColumns(make_prompt("p", "{prompt} {context}"), ["prompt"])
    >>> row = Item(id="1", prompt="q", response="r", extra={"context": ["x", 1]})
    >>> named.names, named.values(row)
    (('context',), {'context': Data(text='["x", 1]')})
    """

    def __init__(self, prompt: Prompt, filled: Iterable[str]) -> None:
        self.prompt = prompt
        self.names = tuple(sorted(placeholders(prompt) - frozenset(filled)))

    def values(self, subject: Subject, order: Order = "ab") -> dict[str, Value]:
        """Their text in this row, for the order in which the responses are shown."""
        texts = {name: self._text(subject, _seen(subject, name, order)) for name in self.names}
        return {name: as_value(text) for name, text in texts.items()}

    def check(self, subject: Subject, *, source: str, row: int) -> dict[str, str]:
        """The columns of a row that have images, as text. Refuses a row in which a column is
        missing or cannot be written as text."""
        columns = dict.fromkeys(
            column for name in self.names for column in (name, _seen(subject, name, "ba"))
        )
        texts = {column: self._text(subject, column, source, row) for column in columns}
        return {column: text for column, text in texts.items() if has_images(text)}

    def _text(
        self, subject: Subject, column: str, source: str = "rows", row: int | None = None
    ) -> str:
        value = _columns(subject).get(column)
        if value is None:
            here = shorten([*_columns(subject)])
            problem = f"is missing, and the prompt {self.prompt.name} names it"
            remedy = (
                f"fill it in every row, or write {{{{{column}}}}} for the words themselves"
                f" (columns here: {here})"
            )
        else:
            try:
                return write_value(value)
            except NotTextError as error:
                problem = str(error)
                remedy = error.remedy
        raise DataError(source, problem, row=row, column=column, remedy=remedy)


def write_value(value: Any) -> str:
    """Text unchanged, messages as a conversation, parts as text, everything else as JSON.

    >>> write_value("x"), write_value(0.5), write_value({"a": [1, None]})
    ('x', '0.5', '{"a": [1, null]}')
    """
    if isinstance(value, str):
        read = from_text(value)
        return read if has_images(read) else value
    written = from_value(value)
    return write_json(value) if written is None else written


def as_parts(text: str) -> list[Part]:
    """A text that is judged as the parts of a message."""
    return [part if isinstance(part, Image) else Data(part) for part in parts_of(text)]


def as_value(text: str) -> Value:
    """A text that is judged as the value of a placeholder."""
    parts = as_parts(text)
    return parts if len(parts) > 1 else parts[0]


def _columns(subject: Subject) -> dict[str, Any]:
    fields = {name: getattr(subject, name) for name in _OWN[type(subject)]}
    return {**subject.extra, **{name: value for name, value in fields.items() if value is not None}}


def _seen(subject: Subject, name: str, order: Order) -> str:
    """The column that is shown under this name: the other side's if the responses are swapped."""
    stem, _, side = name.rpartition("_")
    other = f"{stem}_{_OTHER_SIDE.get(side, '')}"
    if order == "ab" or side not in _OTHER_SIDE or isinstance(subject, Item):
        return name
    return other if other in subject.extra or hasattr(subject, other) else name
