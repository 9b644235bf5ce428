"""Logs of other tools with anything in any place: rows or one line, never a traceback."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from runner_logs import LOGS, READ_AS, load_log, write_log
from tries import tried

from adjudge.data import convert_log
from adjudge.data.formats import load_format
from adjudge.errors import AdjudgeError

JUNK: tuple[Any, ...] = (
    *(None, 0, -1, 3.5, float("nan"), True, 10**30, "", "x", "NaN", "é\u2028", "\x00", "\ud83d"),
    *([], {}, [1], [[]], [None], [{}], {"a": 1}, {"value": {}}),
)
#: Where each log has the entries that a tool can leave undone, and how it marks such an entry.
UNDONE: dict[str, tuple[Callable[[Any], list[Any]], list[dict[str, Any]]]] = {
    "inspect.json": (lambda log: log["samples"], [{"invalidation": {"author": "ann"}},
                                                  {"error": {"message": "out of memory"}}]),
    "promptfoo.json": (lambda log: log["results"]["results"],
                       [{"failureReason": 2}, {"response": {"error": "rate limit"}}]),
    "promptfoo.jsonl": (lambda log: log, [{"failureReason": 2}]),
    "deepeval.json": (lambda log: [case["metricsData"] for case in log["testCases"]],
                      [{"skipped": True}]),
    "mlflow.json": (lambda log: log, [{"state": "ERROR"}, {"state": "IN_PROGRESS"},
                                      {"state": "TraceState.ERROR"}]),
    "langfuse.json": (lambda log: log["data"], [{"source": "API"}]),
    "phoenix.json": (lambda log: log["data"], [{"annotator_kind": "CODE"}]),
    "judgearena.jsonl": (lambda log: log, [{"source": "llm-judge", "pref": None}]),
    "label_studio.json": (lambda log: [task["annotations"] for task in log],
                          [{"was_cancelled": True}]),
    "argilla.json": (lambda log: [r for record in log for r in record["responses"].values()],
                     [{"status": "discarded"}, {"status": "draft"}]),
}  # fmt: skip
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
        tried()
        convert(write_log(content, folder / name), READ_AS[name][0])


@pytest.mark.attack("logs")
@pytest.mark.parametrize("name", TEXTS)
def test_some_spoilt_logs(name: str, tmp_path: Path) -> None:
    spoil_and_convert(name, 1, tmp_path, times=3)


@pytest.mark.attack("logs")
@pytest.mark.fuzz
@pytest.mark.parametrize("name", TEXTS)
def test_many_spoilt_logs(name: str, tmp_path: Path) -> None:
    spoil_and_convert(name, 2026, tmp_path, times=150)


@pytest.mark.attack("logs")
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
        tried()
        convert(path, "inspect")


@pytest.mark.attack("headers")
@pytest.mark.parametrize("times", [3, pytest.param(60, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("name", TEXTS)
def test_half_a_character_anywhere(name: str, times: int, tmp_path: Path) -> None:
    """Lone surrogates in a header, a text or the name of a field; read or refused in one line."""
    rng = random.Random(times)
    for _ in range(times):
        content = load_log(name)
        *path, last = rng.choice(list(places(content)))
        place = content
        for key in path:
            place = place[key]
        if isinstance(last, str) and rng.random() < 0.3:
            place[f"{last}\udc80"] = place.pop(last)
        else:
            place[last] = rng.choice(("gpt \ud83d", "\udfff", "a\ud800b"))
        tried()
        convert(write_log(content, tmp_path / name), READ_AS[name][0])


def leave_undone(name: str, folder: Path, times: int) -> None:
    """A log with entries that did not end well gives the rows of the log without them."""
    entries, ways = UNDONE[name]
    rng = random.Random(times)
    for _ in range(times):
        marked, without = load_log(name), load_log(name)
        lists = entries(marked), entries(without)
        nested = all(isinstance(entry, list) for entry in lists[0])
        pairs = list(zip(*lists, strict=True)) if nested else [lists]
        places = [(i, j) for i, (entry, _) in enumerate(pairs) for j in range(len(entry))]
        chosen = rng.sample(places, rng.randint(1, max(1, len(places) // 2)))
        for i, j in sorted(chosen, reverse=True):
            pairs[i][0][j].update(rng.choice(ways))
            if name == "label_studio.json":  # the judge's prediction stays in the annotation
                pairs[i][1][j]["result"] = []
            else:
                del pairs[i][1][j]
        tried()
        done, expected = (
            convert_log(write_log(content, folder / name), kind=READ_AS[name][1])
            for content in (marked, without)
        )
        columns = [c for c in expected.rows.columns if c != "id" or name != "judgearena.jsonl"]
        assert done.rows.select(columns).equals(expected.rows.select(columns))
        assert sum(done.summary.dropped.values()) >= len(chosen)


@pytest.mark.attack("log status")
@pytest.mark.parametrize("times", [2, pytest.param(100, marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("name", UNDONE)
def test_entries_that_did_not_end_well_are_left_out_and_counted(
    name: str, times: int, tmp_path: Path
) -> None:
    leave_undone(name, tmp_path, times)
