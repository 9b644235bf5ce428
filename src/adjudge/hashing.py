"""Hashes that name a text, a call or a judge: the same on every machine. Standard library only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from json.encoder import encode_basestring as _quote
from typing import Any

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical_json(value: Any) -> str:
    """JSON with one spelling per value: sorted keys, no spaces, no NaN, text unchanged.

    >>> canonical_json({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return _ENCODER.encode(value)


def sha256_json(value: Any) -> str:
    """SHA-256 over the canonical JSON of `value`, as 64 hex digits."""
    # A lone surrogate is valid in a Python string and in JSON, but not in UTF-8.
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def frame(texts: Iterable[str]) -> bytes:
    """A sequence of texts as bytes, each after its length, so that their boundaries count.

    The frame of two sequences one after the other is the two frames one after the other.

    >>> frame(["ab", "\u00fc"])
    b'2:ab2:\\xc3\\xbc'
    """
    texts = list(texts)
    joined = "".join([f"{len(text)}:{text}" for text in texts])
    if joined.isascii():  # a letter is a byte: the usual case, and the quick one
        return joined.encode()
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return b"".join([b"%d:%b" % (len(text), text) for text in encoded])


def content_hash(texts: Iterable[str]) -> str:
    """SHA-256 over a sequence of texts; their boundaries count.

    >>> content_hash(["ab", "c"]) == content_hash(["a", "bc"])
    False
    """
    return hashlib.sha256(frame(texts)).hexdigest()


def call_key(fingerprint: str, content: str, order: str | None, repeat: int, slot: str) -> str:
    """The key of one call: judge fingerprint, content hash, order, repeat and slot.

    It is `sha256_json` of the list of these, written out because every call passes here.

    >>> call_key("f", "c", None, 0, "s") == sha256_json(["f", "c", None, 0, "s"])
    True
    """
    shown = "null" if order is None else _quote(order)
    text = f"[{_quote(fingerprint)},{_quote(content)},{shown},{repeat},{_quote(slot)}]"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
