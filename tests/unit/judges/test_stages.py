"""Judges in stages: who is asked about what, counted at the judges. Real store, real loop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.data.writing import Row
from adjudge.errors import ArgumentError
from adjudge.judges import judge_pairs, runner
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.flow import Stop
from adjudge.judges.interface import Question
from adjudge.judges.prices import Price
from adjudge.judges.rows import Outcome
from adjudge.judges.summary import JudgingCascade
from adjudge.records import MEASURED, Item, Reply, Subject
from adjudge.simulate.pairs import simulate_pairs

PAIRS = simulate_pairs(300, seed=3)
SURE = 0.4


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that every stage is long enough to be resumed where it stopped."""
    monkeypatch.setattr(runner, "_CALLS_AHEAD", 16)


class Counted(SimulatedBackend):
    """A simulated judge that lists what it is asked about, and fails on some of it."""

    concurrency = 4

    def __init__(self, name: str, *, seed: int, fails: Sequence[str] = ()) -> None:
        super().__init__(seed=seed)
        self.name, self.fails = name, frozenset(fails)
        self.asked: list[str] = []
        self.started = 0

    async def start(self) -> None:
        self.started += 1

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        self.asked.append(subject.id)
        if subject.id in self.fails:
            return Reply(status="refused", error="it would rather not")
        return await super().ask_about(subject, question)


def rule(subjects: Sequence[Subject], rows: Sequence[Sequence[Row]]) -> list[Outcome]:
    """Settled where the latest judge is sure; what it is given is checked too."""
    outcomes: list[Outcome] = []
    for subject, own in zip(subjects, rows, strict=True):
        assert {row["id"] for row in own} == {subject.id}
        assert [row["judge"] for row in own] == ["cheap", "middle", "strong"][: len(own)]
        last = own[-1]
        if last["status"] not in MEASURED:
            outcomes.append("failure")
        else:
            settled = len(own) == 3 or last["uncertainty"] < SURE
            outcomes.append("settled" if settled else "doubt")
    return outcomes


def judges(**fails: Sequence[str]) -> list[Counted]:
    names = ("cheap", "middle", "strong")
    return [Counted(name, seed=at, fails=fails.get(name, ())) for at, name in enumerate(names)]


def ids(rows: pl.DataFrame, judge: str, *, sure: bool | None = None) -> set[str]:
    own = rows.filter(pl.col("judge") == judge)
    if sure is not None:
        own = own.filter((pl.col("uncertainty") < SURE).fill_null(False) == sure)
    return set(own["id"])


def test_a_judge_is_asked_only_about_what_is_open() -> None:
    asked = judges()
    run = judge_pairs(PAIRS, judge=asked, store=None, stop_rule=rule)
    rows = run.judgments
    cheap, middle, strong = asked
    assert len(cheap.asked) == 600  # both orders
    assert ids(rows, "middle") == ids(rows, "cheap", sure=False) == set(middle.asked)
    assert ids(rows, "strong") == ids(rows, "middle", sure=False) == set(strong.asked)
    assert 0 < len(strong.asked) < len(middle.asked) < 600
    result = run.result
    assert isinstance(result, JudgingCascade)
    assert [one.subjects for one in result.judges] == [
        300,
        len(middle.asked) // 2,
        len(strong.asked) // 2,
    ]
    assert result.settled[0] + result.doubtful[0] == 300
    assert result.failed == (0, 0, 0)
    assert sum(result.settled) == 300


def test_failures_go_on_and_are_counted() -> None:
    first, last = [pair.id for pair in PAIRS[:9]], [pair.id for pair in PAIRS[4:9]]
    asked = judges(cheap=first, strong=last)
    run = judge_pairs(PAIRS, judge=asked, store=None, stop_rule=rule)
    result = run.result
    assert isinstance(result, JudgingCascade)
    assert result.failed[:2] == (9, 0)
    assert set(first) <= set(asked[1].asked)
    assert result.failed[2] == len(set(last) & set(asked[2].asked))
    assert sum(result.settled) + result.failed[2] == 300


def test_the_same_call_resumes(tmp_path: Path) -> None:
    store, out = tmp_path / "s.db", tmp_path / "rows.jsonl"
    judge_pairs(PAIRS, judge=judges(), store=store, stop_rule=rule, output=out)
    again, first = judges(), out.read_bytes()
    judge_pairs(PAIRS, judge=again, store=store, stop_rule=rule, output=out)
    assert [one.asked for one in again] == [[], [], []]
    assert out.read_bytes() == first


def test_a_run_that_is_stopped_writes_what_is_complete_and_resumes(tmp_path: Path) -> None:
    class Stopping(Counted):
        async def ask_about(self, subject: Subject, question: Question) -> Reply:
            if len(self.asked) == 40:
                stop.interrupt()
            return await super().ask_about(subject, question)

    stop = Stop()
    store, out = tmp_path / "s.db", tmp_path / "rows.jsonl"
    cheap, middle, strong = judges()
    stopping = Stopping("middle", seed=1)
    first = judge_pairs(
        PAIRS, judge=[cheap, stopping, strong], store=store, stop_rule=rule, output=out, stop=stop
    )
    result = first.result
    assert isinstance(result, JudgingCascade)
    assert (result.judges[0].stopped, len(result.judges), strong.asked) == ("interrupted", 2, [])
    assert "stopped (interrupted) at middle" in str(result)
    rows = pl.read_ndjson(out)
    assert ids(rows, "cheap") == {pair.id for pair in PAIRS}
    assert 0 < len(ids(rows, "middle")) < len(ids(rows, "cheap", sure=False))
    rest = judges()
    whole = judge_pairs(PAIRS, judge=rest, store=store, stop_rule=rule)
    straight = judge_pairs(PAIRS, judge=judges(), store=None, stop_rule=rule)
    assert whole.judgments.equals(straight.judgments)
    assert rest[0].asked == []
    assert len(rest[1].asked) < len(middle.asked) + 2 * len(ids(whole.judgments, "middle"))


def test_a_budget_stops_before_the_next_stage() -> None:
    asked = judges()
    price = {one.name: Price(10.0, 0.0, "a test") for one in asked}
    free = judge_pairs(PAIRS, judge=judges(), store=None, stop_rule=rule, prices=price)
    total = free.summaries[0].cost_this_run
    assert total is not None
    run = judge_pairs(
        PAIRS, judge=asked, store=None, stop_rule=rule, prices=price, max_cost=total + 1e-4
    )
    assert run.summaries[0].stopped == "max_cost"
    assert asked[2].asked == []


def test_a_judge_that_is_not_needed_is_not_started() -> None:
    asked = judges()
    run = judge_pairs(
        PAIRS[:5],
        judge=asked,
        store=None,
        stop_rule=lambda subjects, _: ["settled"] * len(subjects),
    )
    assert [one.started for one in asked] == [1, 0, 0]
    assert run.judgments.height == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [({"repeats": 2}, "asks only once"), ({"protocol": "likert"}, "verdicts on pairs, or grades")],
)
def test_what_gives_no_single_verdict_is_refused(options: dict[str, Any], message: str) -> None:
    subjects: list[Any] = PAIRS
    if "protocol" in options:
        subjects = [Item(id="1", prompt="p", response="r")]
    with pytest.raises(ArgumentError, match=message):
        judge_pairs(subjects, judge=judges(), store=None, stop_rule=rule, **options)
