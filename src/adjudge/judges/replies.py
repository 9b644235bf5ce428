"""Checks of a reply's fields, in one place for all judges, before it is stored.

A server controls every field of its answers. A value that no store could keep, or that breaks a
sum, is an error of that one reply. The error names the field; other replies are not affected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adjudge.present.text import count
from adjudge.records import STATUSES, Reply

#: A larger number is not a count of tokens, and the sum over a row would not fit into 63 bits.
_MOST_TOKENS = 1 << 48
_TOKENS = ("prompt_tokens", "completion_tokens", "scored_tokens")
_NUMBERS = ("mean_logprob", "latency_s")
_FLAGS = ("exact_mass", "cut_off")


def check_reply(reply: Reply) -> Reply:
    """The reply if all of it can be stored; otherwise an error that names the field and why."""
    trouble = _trouble(reply)
    raw, error = _plain(reply.raw), _plain(reply.error)
    if trouble is not None:
        latency = reply.latency_s if _is_number(reply.latency_s) else None
        return Reply(status="error", error=trouble, latency_s=latency, raw=raw)
    if (raw, error) == (reply.raw, reply.error):
        return reply
    return replace(reply, raw=raw, error=error)


def without_raw(reply: Reply) -> Reply:
    """The reply with only its status and numbers, for runs that keep no answers (`--no-raw`).

    The text stays if there is nothing else: rows are read from what the judge wrote.
    """
    written = reply.status == "ok" and reply.logprobs is None and reply.mean_logprob is None
    return replace(reply, raw=None, text=reply.text if written else None)


def _trouble(reply: Reply) -> str | None:
    if reply.status not in STATUSES:
        return f"the reply has the status {_shown(reply.status)}, which does not exist"
    for name in ("text", "server"):
        trouble = _text_trouble(getattr(reply, name))
        if trouble is not None:
            return f"the reply's {name} {trouble}"
    for name in _FLAGS:
        if not isinstance(getattr(reply, name), bool):
            return f"the reply's {name} is {_shown(getattr(reply, name))}, not true or false"
    for name in _TOKENS:
        value = getattr(reply, name)
        if value is not None and not _is_count(value):
            return f"the reply's {name} is {_shown(value)}, not a count of tokens"
    for name in _NUMBERS:
        value = getattr(reply, name)
        if value is not None and not _is_number(value):
            return f"the reply's {name} is {_shown(value)}, not a finite number"
    mass = reply.answer_mass
    if mass is not None and not (_is_number(mass) and 0 <= mass <= 1):
        return f"the reply's answer_mass is {_shown(mass)}, not a probability"
    for name, fits in (("logprobs", _is_number), ("counts", _is_count)):
        numbers = getattr(reply, name)
        if numbers is None:
            continue
        if not isinstance(numbers, Mapping):
            return f"the reply's {name} are {_shown(numbers)}, not numbers by option"
        for option, value in numbers.items():
            if not isinstance(option, str) or not fits(value):
                return f"the reply's {name} hold {_shown(value)} for {_shown(option)}"
    return None


def _text_trouble(text: object) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        return f"is {_shown(text)}, not text"
    if "\0" in text:
        return "contains a NUL character, which no store can keep"
    if not text.isascii() and _plain(text) != text:
        return "contains half a character (a lone surrogate), which no store can keep"
    return None


def _plain(text: object) -> str | None:
    """Text that every store and file can hold, for fields that only people read."""
    if text is None:
        return None
    if not isinstance(text, str):
        return _shown(text)
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return value.bit_length() < 64
    return isinstance(value, float) and math.isfinite(value)


def _shown(value: object) -> str:
    """A short text for a value, which can be huge or contain secrets.

    >>> _shown(-3), _shown(1 << 70), _shown("7"), _shown({})
    ('-3', 'a number of 71 bits', 'a text of 1 character', 'an object')
    """
    if isinstance(value, bool | float) or value is None:
        return str(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() < 64 else f"a number of {value.bit_length()} bits"
    if isinstance(value, str):
        return f"a text of {count(len(value), 'character')}"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, Mapping) else type(value).__name__
