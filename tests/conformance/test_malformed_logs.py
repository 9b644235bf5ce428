"""Logs of other tools with anything in any place: rows or one line, never a traceback."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runner_logs import LOGS, READ_AS, load_log, write_log

from adjudge.data import convert_log
from adjudge.data.formats import load_format
from adjudge.errors import AdjudgeError

JUNK: tuple[Any, ...] = (
    *(None, 0, -1, 3.5, float("nan"), True, 10**30, "", "x", "NaN", "é\u2028", "\x00"),
    *([], {}, [1], [[]], [None], [{}], {"a": 1}, {"value": {}}),
)
TEXTS = [name for name in READ_AS if name.endswith((".json", ".jsonl"))]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every entry of a log."""
    inner = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else inner:
        yield (*path, key)
        yield from places(part, (*path, key))


def spoil(content: Any, rng: random.Random) -> None:
    """Put something else into one place, or take it away."""
    ways = list(places(content))
    if not ways:
        return
    *path, last = rng.choice(ways)
    for key in path:
        content = content[key]
    if rng.random() < 0.3:
        del content[last]
    else:
        content[last] = rng.choice(JUNK)


def convert(path: Path, format: str) -> None:
    """Into everything that the tool's logs can become; a refusal is one line."""
    for kind in (None, *load_format(format).gives):
        try:
            convert_log(path, kind=kind)
        except AdjudgeError as error:
            assert "\n" not in str(error)  # noqa: PT017


def spoil_and_convert(name: str, seed: int, folder: Path, times: int) -> None:
    rng = random.Random(seed)
    whole = json.dumps(load_log(name))
    for _ in range(times):
        content = json.loads(whole)
        for _ in range(rng.choice((1, 1, 2, 4))):
            spoil(content, rng)
        convert(write_log(content, folder / name), READ_AS[name][0])


@pytest.mark.parametrize("name", TEXTS)
def test_some_spoilt_logs(name: str, tmp_path: Path) -> None:
    spoil_and_convert(name, 1, tmp_path, times=3)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", TEXTS)
def test_many_spoilt_logs(name: str, tmp_path: Path) -> None:
    spoil_and_convert(name, 2026, tmp_path, times=150)


@pytest.mark.fuzz
def test_spoilt_archives(tmp_path: Path) -> None:
    whole, rng = (LOGS / "inspect.eval").read_bytes(), random.Random(5)
    path = tmp_path / "x.eval"
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 2, 8))):
            # The directory at the end is small, and most of what can be wrong is in it.
            last = rng.choice((len(data), 1800))
            data[len(data) - 1 - rng.randrange(last)] = rng.randrange(256)
        path.write_bytes(data)
        convert(path, "inspect")
