"""Damage to the JSON of results and policies: what editors, half copies and other programs leave.

Every damage is drawn from a seed. Some leave a file that is still valid; whoever reads it must then
show the values it holds, and must refuse it otherwise.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Path = tuple[str | int, ...]

#: What a value becomes; numbers, texts and lists alike.
VALUES: Mapping[str, Any] = {
    "null": None, "true": True, "zero": 0, "one": 1, "minus one": -1, "seven": 7, "half": 0.5,
    "above one": 1.0000001, "below zero": -0.25, "1e300": 1e300, "-1e300": -1e300,
    "1e-300": 1e-300, "beyond 64 bits": 10**30, "NaN": float("nan"), "infinity": float("inf"),
    "no text": "", "a word": "none", "control codes": "\x1b[31m\u202e\x00", "markup": "<b>$x_$</b>",
    "a lone surrogate": "\ud800", "1 MB": "w" * 1_000_000, "number as text": "0.5",
    "no list": [], "a list of nothing": [None], "a list": [1, "x", {}], "no object": {},
    "an object": {"x": [1]},
}  # fmt: skip


@dataclass(frozen=True)
class Damage:
    """A damaged file and what was done to it."""

    name: str
    text: bytes


def damage(values: Mapping[str, Any], rng: np.random.Generator) -> Damage:
    """One damage to the file of a result, drawn at random: most within it, some to all of it."""
    if rng.random() < 0.15:
        name = str(rng.choice(list(WHOLE)))
        return Damage(name, WHOLE[name](values, rng))
    tree = copy.deepcopy(dict(values))
    return Damage(_damage_within(tree, rng), _encode(tree))


def damages(
    values: Mapping[str, Any], *, times: int, seed: int, digest: Callable[..., str] | None = None
) -> Iterator[Damage]:
    """Several; with `digest` the file gets one that fits its content, where it has one at all."""
    rng = np.random.default_rng(seed)
    for _ in range(times):
        one = damage(values, rng)
        yield one if digest is None else _with_digest(one, digest)


def _with_digest(one: Damage, digest: Callable[..., str]) -> Damage:
    try:
        tree = json.loads(one.text)
        if not isinstance(tree, dict):
            return one
        tree["digest"] = digest(tree)
    except (ValueError, RecursionError):
        return one
    return Damage(f"{one.name}, with a new digest", _encode(tree))


# --- damage to the whole file ----------------------------------------------------------------


def _cut(values: Mapping[str, Any], rng: np.random.Generator) -> bytes:
    text = _encode(values)
    return text[: rng.integers(len(text))]


def _repeat_a_key(values: Mapping[str, Any], rng: np.random.Generator) -> bytes:
    name = str(rng.choice([key for key in values if key != "kind"]))
    other = rng.choice(["0.5", "null", json.dumps(values[name])])
    return b"{" + f'"{name}": {other}, '.encode() + _encode(values)[1:]


def _flip_a_byte(values: Mapping[str, Any], rng: np.random.Generator) -> bytes:
    text = bytearray(_encode(values))
    text[rng.integers(len(text))] ^= 1 << rng.integers(8)
    return bytes(text)


WHOLE: Mapping[str, Callable[[Mapping[str, Any], np.random.Generator], bytes]] = {
    "cut short": _cut,
    "a key twice": _repeat_a_key,
    "a byte flipped": _flip_a_byte,
    "empty": lambda values, rng: b"",
    "a byte order mark": lambda values, rng: b"\xef\xbb\xbf" + _encode(values),
    "UTF-16": lambda values, rng: _encode(values).decode().encode("utf-16"),
    "a list": lambda values, rng: b"[" + _encode(values) + b"]",
    "a number": lambda values, rng: b"12",
    "null": lambda values, rng: b"null",
    "two objects": lambda values, rng: 2 * _encode(values),
    "brackets": lambda values, rng: b"[" * 100_000,
    "kind unknown": lambda values, rng: _encode({**values, "kind": "horoscope"}),
    "kind of another": lambda values, rng: _encode({**values, "kind": "estimate"}),
    "kind a list": lambda values, rng: _encode({**values, "kind": ["policy"]}),
    "schema from the future": lambda values, rng: _encode({**values, "schema_version": 99}),
    "schema a text": lambda values, rng: _encode({**values, "schema_version": "1"}),
    "unchanged": lambda values, rng: _encode(values),
}


# --- damage within it ------------------------------------------------------------------------


def _change(holder: Any, key: Any, rng: np.random.Generator) -> str:
    name = str(rng.choice(list(VALUES)))
    holder[key] = copy.deepcopy(VALUES[name])
    return f"becomes {name}"


def _scale(holder: Any, key: Any, rng: np.random.Generator) -> str:
    factor = float(rng.choice([-1, 0.001, 10, 1000]))
    whole = isinstance(holder[key], int)
    holder[key] = int(holder[key] * factor) if whole else holder[key] * factor
    return f"times {factor:g}"


def _remove(holder: Any, key: Any, rng: np.random.Generator) -> str:
    del holder[key]
    return "removed"


def _add(holder: Any, key: Any, rng: np.random.Generator) -> str:
    holder[key][str(rng.choice(["extra", "", "low", "__class__"]))] = VALUES["a list"]
    return "has a field more"


def _resize(holder: Any, key: Any, rng: np.random.Generator) -> str:
    name = str(rng.choice(["shorter", "longer", "first alone", "reversed", "twice", "empty"]))
    held = holder[key]
    holder[key] = {
        "shorter": held[:-1], "longer": [*held, held[-1]], "first alone": held[:1],
        "reversed": held[::-1], "twice": held * 2, "empty": [],
    }[name]  # fmt: skip
    return name


def _swap(holder: Any, key: Any, rng: np.random.Generator) -> str:
    """Two fields of one object change places: low and high where it has them."""
    held = holder[key]
    lows = [name for name in held if name.endswith("low") and f"{name[:-3]}high" in held]
    one, other = (str(name) for name in rng.choice(list(held), 2, replace=False))
    if lows:
        one = str(rng.choice(lows))
        other = f"{one[:-3]}high"
    held[one], held[other] = held[other], held[one]
    return f"{one} and {other} swapped"


def _nest(holder: Any, key: Any, rng: np.random.Generator) -> str:
    depth = int(rng.choice([3, 60, 300, 900]))
    for _ in range(depth):
        holder[key] = [holder[key]]
    return f"nested {depth} deep"


#: What is done to a place of the tree, and the values it can be done to.
WITHIN: Sequence[tuple[Callable[[Any], bool], Callable[[Any, Any, np.random.Generator], str]]] = [
    (lambda value: True, _change),
    (lambda value: True, _change),
    (lambda value: True, _change),
    (lambda value: type(value) in (int, float), _scale),
    (lambda value: True, _remove),
    (lambda value: isinstance(value, dict), _add),
    (lambda value: isinstance(value, list) and bool(value), _resize),
    (lambda value: isinstance(value, dict) and len(value) > 1, _swap),
    (lambda value: True, _nest),
]


def _damage_within(tree: dict[str, Any], rng: np.random.Generator) -> str:
    """Something done to one place of the tree, which is drawn by its names first: long lists are
    not to drown the other fields."""
    roots = {"file": tree}
    places: dict[tuple[str, ...], list[Path]] = {}
    fits, act = WITHIN[int(rng.integers(len(WITHIN)))]
    for path, value in _walk(roots, ()):
        if fits(value) and (len(path) > 1 or act in (_add, _swap)):
            names = tuple(part for part in path if isinstance(part, str))
            places.setdefault(names, []).append(path)
    if not places:
        return "left as it was"
    chosen = list(places.values())[rng.integers(len(places))]
    path = chosen[rng.integers(len(chosen))]
    holder: Any = roots
    for part in path[:-1]:
        holder = holder[part]
    return f"{'.'.join(map(str, path))} {act(holder, path[-1], rng)}"


def _walk(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _walk(inner, (*path, name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _walk(inner, (*path, at))


def _encode(tree: Mapping[str, Any]) -> bytes:
    return json.dumps(tree).encode()
