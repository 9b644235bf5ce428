"""Columns of a row in a prompt: ``{reference}``, ``{context}``, ``{model_a}``, any name it has.

The content of a column is judged text, so it is inserted as `Data`. Numbers, lists and objects are
written as JSON, a list of chat messages as a conversation. Two columns about the two responses
(`NAME_a` and `NAME_b`, both in the row) are swapped together with them, so that ``{model_a}`` is
always the model of the answer shown as A.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from adjudge.data.conversations import NotTextError, is_conversation, render_conversation
from adjudge.data.refusals import shorten
from adjudge.errors import DataError
from adjudge.judges.interface import Data, Prompt
from adjudge.judges.prompting import placeholders
from adjudge.records import Item, Order, Pair, Subject

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

    def values(self, subject: Subject, order: Order = "ab") -> dict[str, Data]:
        """Their text in this row, for the order in which the responses are shown."""
        return {name: Data(self._text(subject, _seen(subject, name, order))) for name in self.names}

    def check(self, subject: Subject, *, source: str, row: int) -> None:
        """Refuse a row in which a column is missing or cannot be written as text."""
        for name in self.names:
            for column in {name: 0, _seen(subject, name, "ba"): 0}:
                self._text(subject, column, source, row)

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
                problem, remedy = str(error), "give text: a judge can only be shown text"
        raise DataError(source, problem, row=row, column=column, remedy=remedy)


def write_value(value: Any) -> str:
    """Text unchanged, messages as a conversation, everything else as JSON.

    >>> write_value("x"), write_value(0.5), write_value({"a": [1, None]})
    ('x', '0.5', '{"a": [1, null]}')
    """
    if isinstance(value, str):
        return value
    if is_conversation(value):
        return render_conversation(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _columns(subject: Subject) -> dict[str, Any]:
    own = {name: getattr(subject, name) for name in _OWN[type(subject)]}
    return {**subject.extra, **{name: value for name, value in own.items() if value is not None}}


def _seen(subject: Subject, name: str, order: Order) -> str:
    """The column that is shown under this name: the other side's if the responses are swapped."""
    stem, _, side = name.rpartition("_")
    other = f"{stem}_{_OTHER_SIDE.get(side, '')}"
    if order == "ab" or side not in _OTHER_SIDE or isinstance(subject, Item):
        return name
    return other if other in subject.extra or hasattr(subject, other) else name
