"""What a person was shown: a label is about the texts that a person was shown, not about an id.

Files often number their rows, so that two of them have the same ids. Each text that was shown has a
short hash of its own. Labels and rows are compared in the texts that both have: a label of another
text is left out and counted, and one of a pair whose sides are exchanged is turned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from adjudge.data.parts import words_of
from adjudge.present.text import count
from adjudge.records import Pair, Subject

#: The column with the hashes of the texts that a person was shown.
SHOWN_TEXTS = "shown_texts"
#: The texts on which a label can depend, by their columns.
TEXTS_OF_ROWS = ("prompt", "context", "reference", "response", "response_a", "response_b")
_SIDES = ("response_a", "response_b")
#: The label of a pair, if its sides are exchanged.
OTHER_SIDE = {"A": "B", "B": "A"}
#: Why a label has no row.
OTHER_TEXT = "label of another text with the id of a row"


def hash_texts(texts: Mapping[str, Any]) -> str | None:
    """A hash of each text that is there; blanks, line ends and names of images do not count.

    >>> hash_texts({"prompt": "2 + 2?", "response": None})
    'prompt:485a0cd90586969e'
    >>> hash_texts({"prompt": "2 +\\r\\n 2? "}) == hash_texts({"prompt": "2 + 2?"})
    True
    """
    hashes = (
        f"{name}:{_hash(str(texts[name]))}" for name in TEXTS_OF_ROWS if texts.get(name) is not None
    )
    return " ".join(hashes) or None


def _hash(text: str) -> str:
    plain = " ".join(words_of(text).split()).encode("utf-8", "replace")
    return hashlib.blake2b(plain, digest_size=8).hexdigest()


def hashes_of(subject: Subject) -> str | None:
    """The hashes of what a person is shown of a pair or an answer."""
    if isinstance(subject, Pair):
        return hash_texts({name: getattr(subject, name) for name in ("prompt", *_SIDES)})
    own = {name: subject.extra.get(name) or None for name in ("context", "reference")}
    return hash_texts({**own, "prompt": subject.prompt, "response": subject.response})


def compare_texts(shown: str | None, here: str | None) -> Literal["same", "turned", "other"] | None:
    """How the texts of a label are those of a row; None if there is nothing to compare.

    >>> compare_texts("prompt:1 response_a:2 response_b:3", "response_a:3 response_b:2")
    'turned'
    """
    then = dict(text.split(":", 1) for text in (shown or "").split() if ":" in text)
    now = dict(text.split(":", 1) for text in (here or "").split() if ":" in text)
    shared = [name for name in then if name in now]
    if not shared:
        return None
    if all(then[name] == now[name] for name in shared):
        return "same"
    a, b = _SIDES
    exchanged = {**then, a: then.get(b), b: then.get(a)}
    turned = {*_SIDES} <= {*shared} and all(exchanged[name] == now[name] for name in shared)
    return "turned" if turned else "other"


def hashes_in(frame: pl.DataFrame) -> list[str | None]:
    """The hashes of each row: its column of them, or those of its texts."""
    if SHOWN_TEXTS in frame.columns:
        return frame[SHOWN_TEXTS].cast(pl.String).to_list()
    texts = frame.select(name for name in TEXTS_OF_ROWS if name in frame.columns)
    return [hash_texts(row) for row in texts.iter_rows(named=True)] or [None] * frame.height


def say_turned(number: int) -> str:
    """How many labels were turned.

    >>> say_turned(2)
    '2 labels turned: the sides of their pairs are exchanged'
    """
    return f"{count(number, 'label')} turned: the sides of their pairs are exchanged"
