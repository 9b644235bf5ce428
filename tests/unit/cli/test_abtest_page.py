"""`abtest` at a terminal: a page in a real process, a look after every label."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from serving import ask

from adjudge import abtest
from adjudge.cli import run
from adjudge.errors import DataError
from adjudge.estimation.systems import blind_ids
from adjudge.store import use_store
from adjudge.store.labels import GRADE_LABELS, LabelBook

ABTEST = ("abtest", "rows.csv", "--a", "old", "--b", "new", "--store", "s.db")


@pytest.fixture
def people() -> dict[str, int]:
    """What people say of each answer; rows.csv has the judge's grades and the answers."""
    rng, n = np.random.default_rng(0), 80
    frames, people = [], dict[str, int]()
    for model, rate in (("old", 0.3), ("new", 0.75)):
        truth = (rng.random(n) < rate).astype(int)
        judge = np.where(rng.random(n) < 0.85, truth, 1 - truth)
        names = [f"q{q}" for q in range(n)]
        people.update({f"q{q} of {model}": int(truth[q]) for q in range(n)})
        columns = {"id": names, "model": [model] * n, "judge": judge}
        texts = {"question": names, "output": [f"{model}'s answer"] * n}
        frames.append(pl.DataFrame({**columns, **texts}))
    pl.concat(frames).write_csv("rows.csv")
    return people


class Page:
    """A command at a terminal, whose standard error is `shown`, and the page that it opened."""

    def __init__(self, process: subprocess.Popen[str], terminal: int) -> None:
        self.process, self.terminal, self.shown = process, terminal, ""
        while (address := re.search(r"http://127.0.0.1:(\d+)/", self.shown)) is None:
            self.shown += os.read(terminal, 4096).decode()
        self.port = int(address[1])

    def next(self, rater: str = "ann") -> Any:
        return ask(self.port, f"/api/next?rater={rater}")[1]

    def click(self, name: str, side: str, rater: str = "ann") -> None:
        click = {"rater": rater, "id": name, "side": side, "nonce": os.urandom(8).hex()}
        assert ask(self.port, "/api/label", click) == (200, {"kept": name})

    def answer(self, people: dict[str, int], most: int = 1000) -> list[str]:
        """Label what the page asks for; the ids in this order."""
        asked = list[str]()
        while len(asked) < most and (item := self.next()["item"]) is not None:
            self.click(item["id"], "pass" if people[item["id"]] else "fail")
            asked.append(item["id"])
        return asked

    def end(self, number: int | None = None) -> tuple[int, str]:
        """The exit code and standard output; None: it ends by itself."""
        if number is not None:
            self.process.send_signal(number)
        shown, _ = self.process.communicate(timeout=30)
        return self.process.returncode, shown


@contextmanager
def page(*options: str) -> Iterator[Page]:
    ours, theirs = pty.openpty()
    words = [*ABTEST, "--port", "0", "--no-browser", *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "adjudge", *words], stdin=theirs, stderr=theirs,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Page(process, ours)
    finally:
        process.kill()
        process.communicate()
        os.close(ours)


def test_the_page_asks_until_it_is_known(people: dict[str, int]) -> None:
    with page("--fail-if-worse") as opened:
        assert re.search(r"with 40 labels of 80 questions, .* is out of reach", opened.shown)
        first = opened.next()
        shown = [
            name for name in ("old", "new") if f"<p>{name}'s answer</p>" in first["item"]["texts"]
        ]
        assert len(shown) == 1
        asked = opened.answer(people)
        assert opened.next()["progress"]["labels"] == len(asked)  # before it ends
        code, shown = opened.end()
    assert code == 0
    labels = {"id": list(people), "label": list(people.values())}
    by_file = abtest("rows.csv", a="old", b="new", store="t.db", labels=labels)
    decided = f"decided after {by_file.decided_at} labelled questions"
    assert shown.startswith(f"People rate new higher than old, {decided}")
    assert shown.rstrip().endswith("--fail-if-worse -o abtest.json")
    counted = by_file.counted[: by_file.decided_at]  # no label more than was needed
    pairs = [[f"{question} of {model}" for model in ("old", "new")] for question in counted]
    assert asked == [name for pair in pairs for name in sorted(pair, key=_blind)]
    assert {name.split()[-1] for name in asked[::2]} == {"old", "new"}  # either can be first


def test_a_killed_page_loses_no_label_and_repeats_none(people: dict[str, int]) -> None:
    asked = list[str]()
    for number, most in ((signal.SIGKILL, 5), (signal.SIGINT, 6)):
        with page() as opened:
            asked += opened.answer(people, most)
            code, shown = opened.end(number)
    assert code == 3
    assert shown.startswith("Not decided after 5 labels")  # the sixth question has one of two
    assert f"next: adjudge {' '.join(ABTEST)} --port 0 --no-browser" in shown
    with page() as opened:
        asked += opened.answer(people)
        _, shown = opened.end(signal.SIGINT)  # by itself it would end only after two seconds
    assert "People rate new higher than old" in shown
    assert set(Counter(asked).values()) == {1}
    with use_store("s.db") as store:
        kept = LabelBook(store, GRADE_LABELS).answers()
    assert [answer.subject_id for answer in kept] == asked


def test_a_pending_question_blocks_those_after_it(people: dict[str, int]) -> None:
    with page() as opened:
        skipped = opened.next()["item"]["id"]
        opened.click(skipped, "skip")
        asked = opened.answer(people)
        assert len(asked) == 19  # the other answers of the ten questions that were drawn
        assert opened.next("bob")["item"]["id"] == skipped  # each answer is asked of one person
        opened.click(skipped, "fail", "bob")
        assert opened.next("bob")["item"]["id"] not in asked
        _, shown = opened.end(signal.SIGINT)
    assert "10 of 80 questions" in shown


def _blind(name: str) -> str:
    return blind_ids(pl.Series([name]))[0]


def _changed() -> None:
    frame = pl.read_csv("rows.csv")
    frame.with_columns(judge=1 - pl.col("judge")).write_csv("rows.csv")


def _without(*columns: str) -> Callable[[], None]:
    return lambda: pl.read_csv("rows.csv").drop(columns).write_csv("rows.csv")


def test_rows_are_read_once_and_those_that_changed_are_refused_at_the_next_start(
    people: dict[str, int],
) -> None:
    with page() as opened:
        _changed()
        opened.answer(people, 20)
        code, shown = opened.end(signal.SIGINT)
    assert (code, shown.splitlines()[0]) == (3, "Not decided after 10 labels")
    with pytest.raises(DataError, match="differ from those of the first look"):
        abtest("rows.csv", a="old", b="new", store="s.db")


def test_a_look_that_fails_ends_the_page_with_one_line_and_keeps_the_label(
    people: dict[str, int],
) -> None:
    with page() as opened:
        with use_store("s.db") as store:
            [(name, state)] = store.monitors().items()
            assert store.replace_monitor(name, state, "not JSON")
        assert len(opened.answer(people)) == 1
        assert opened.end()[0] == 1
        time.sleep(0.1)
        told = os.read(opened.terminal, 4096).decode().strip().splitlines()[-1]
    assert "is not JSON" in told
    with use_store("s.db") as store:
        assert len(LabelBook(store, GRADE_LABELS).answers()) == 1


def test_what_comes_next_can_be_labelled_by_files(
    people: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    """The file that was written does not name the systems, and its labels find their answers."""
    assert run([*ABTEST, "--write-ids", "next.csv"]) == 3
    [step] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("next: ")]
    label = shlex.split(step)[2:]
    ids = pl.read_csv("next.csv")["id"].to_list()
    assert not re.search("old|new", " ".join(ids))
    answers = {_blind(name): passed for name, passed in people.items()}
    words = ["pass" if answers[name] else "fail" for name in ids]
    pl.DataFrame({"id": ids, "label": words}).write_csv("labels.csv")
    assert run([*label, "--export-only", "--import", "labels.csv"]) == 0
    assert run([*label, "--label-studio", "tasks.json"]) == 0
    tasks = json.loads(Path("tasks.json").read_text())
    assert {task["data"]["id"] for task in tasks} <= set(ids)
    assert len(abtest("rows.csv", a="old", b="new", store="s.db").counted) == 10


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("words", "prepare", "code", "told"),
    [
        (["--write-ids", "next.csv"], None, 3, "wrote next.csv"),
        (["--json"], None, 3, ""),
        ([], _without("output"), 3, "no page: the rows have no id, or no texts to label"),
        ([], _without("id"), 3, "no page: the rows have no id, or no texts to label"),
    ],
)
def test_without_a_page(
    words: list[str],
    prepare: Callable[[], None] | None,
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if prepare is not None:
        prepare()
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert run([*ABTEST, *words]) == code
    shown = capsys.readouterr()
    assert told in shown.err
    assert ("http" in shown.out + shown.err, Path("s.db").exists()) == (False, True)
