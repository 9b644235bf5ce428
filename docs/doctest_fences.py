"""For the site: doctests in docstrings become code blocks (an extension of griffe)."""

from __future__ import annotations

import re
from typing import Any

import griffe

#: An indented or plain run of lines that begins with a prompt and ends with an empty line.
DOCTEST = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class DoctestFences(griffe.Extension):  # type: ignore[misc]  # griffe is not installed where types are checked
    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = DOCTEST.sub(
                lambda doctest: f"```pycon\n{doctest.group()}\n```", obj.docstring.value
            )
