"""Shared code of several logs: grades, texts, and why a grader failed."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from adjudge.io.columns import input_name
from adjudge.io.conversations import NotTextError, is_conversation, render_conversation
from adjudge.io.json_files import Record
from adjudge.io.published import UnusableRow
from adjudge.records import Status

#: Words of tools and people for passed, partly passed and failed.
_WORDS = {
    **dict.fromkeys(("c", "correct", "pass", "passed", "yes", "y", "true", "good"), 1.0),
    **dict.fromkeys(("p", "partial", "partially correct"), 0.5),
    **dict.fromkeys(("i", "incorrect", "fail", "failed", "no", "n", "false", "bad"), 0.0),
}
_NOTHING = ("", "nan", "none", "null", "n/a", "na")
_UNREADABLE = re.compile(r"\bpars|json|not found in model output|invalid .*verdict", re.IGNORECASE)
_LONGEST_DETAIL = 500
#: Why a person's answer is not a label.
NO_MAJORITY = "raters without a majority"
FROM_JUDGE = "label started from the judge's answer"


def read_share(value: Any) -> float:
    """A grade as a share in [0, 1]: a number, true or false, or one of the usual words.

    >>> [read_share(value) for value in (True, 0.9, "I", "yes", "0.5")]
    [1.0, 0.9, 0.0, 1.0, 0.5]
    """
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        try:
            value = float(word)
        except ValueError:
            raise UnusableRow("a grade other than pass and fail") from None
    if not isinstance(value, (bool, int, float)):
        raise UnusableRow("a grade that is neither a number nor a word")
    if not 0 <= value <= 1:
        raise UnusableRow("a score outside 0 to 1")
    return float(value)


def is_missing(value: Any) -> bool:
    """Whether there is no value: nothing, NaN, or a word for it.

    >>> [is_missing(value) for value in (None, float("nan"), " NaN", 0, False)]
    [True, True, True, False, False]
    """
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    return value is None or (isinstance(value, float) and math.isnan(value))


def failure(reason: object) -> Record:
    """The status of a failed grader, and its reason.

    >>> failure("reply could not be parsed")["status"], failure("timeout")["status"]
    ('unparsed', 'error')
    """
    text = str(reason)
    status: Status = "unparsed" if _UNREADABLE.search(text) else "error"
    return {"status": status, "detail": text[:_LONGEST_DETAIL]}


def agree(values: Iterable[Any]) -> Any:
    """The most frequent value; None if no value is more frequent than all others.

    >>> agree([1, 1, 0]), agree([1, 0])
    (1, None)
    """
    top = Counter(values).most_common(2)
    return None if not top or (len(top) == 2 and top[0][1] == top[1][1]) else top[0][0]


def as_written(value: Any) -> str | None:
    """A prompt or an answer as text: messages as a conversation, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    try:
        if is_conversation(value):
            return render_conversation(value)
    except NotTextError:
        pass
    return json.dumps(value, ensure_ascii=False)


def hash_of(value: Any) -> str:
    """A stable short hash of any JSON value, to see which rows are about the same."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def name_in(value: Any) -> str | None:
    """A name, or a number as a name; None if there is none."""
    return None if is_missing(value) else as_written(value)


def object_in(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def list_in(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def plain_columns(*sources: Any, taken: Collection[str]) -> Record:
    """The plain values of these objects as columns; one whose name is taken becomes input_NAME.

    >>> plain_columns({"topic": "maths", "human": 1, "_own": 2, "deep": {}}, taken=["human"])
    {'topic': 'maths', 'input_human': 1}
    """
    columns: Record = {}
    for source in sources:
        for key, value in object_in(source).items():
            if str(key).startswith("_") or not isinstance(value, (str, bool, int, float)):
                continue
            name = str(key)
            columns[input_name(name, taken) if name in taken else name] = value
    return columns
