"""Verdicts per turn, run and step: what a judge is sent, what its rows have, what comes after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data.conversations import Turn, turns_of, write_turns
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import estimate, estimate_runs
from adjudge.evaluation import evaluate
from adjudge.judges import judge_pairs
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Question
from adjudge.records import Item, Reply, Subject
from adjudge.server.rounds import open_round
from adjudge.server.view_reading import read_viewing


class Recorder(SimulatedBackend):
    """A judge that keeps what it was sent, and has no answer about one row."""

    def __init__(self, without: str = "") -> None:
        super().__init__()
        self.without = without
        self.sent: dict[str, str] = {}

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        self.sent[subject.id] = question.messages[-1].text
        if subject.id == self.without:
            return Reply(status="unparsed", text="hm")
        return await super().ask_about(subject, question)


def talk(name: str, turns: int = 3) -> dict[str, Any]:
    said = []
    for turn in range(turns):
        said += [{"role": "user", "content": f"{name} asks {turn}"}]
        said += [{"role": "assistant", "content": f"{name} answers {turn}"}]
    return {"id": name, "prompt": "A chat.", "response": said, "topic": "maths"}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_each_turn_is_asked_with_what_came_before_and_nothing_after(tmp_path: Path) -> None:
    path = write(tmp_path / "talks.jsonl", [talk("c"), talk("d", 1)])
    judge = Recorder("c#2")
    done = judge_pairs(path, judge=judge, protocol="grade", unit="turn", store=None)
    rows = done.judgments
    assert rows["id"].to_list() == ["c#1", "c#2", "c#3", "d#1"]
    assert rows["turn"].to_list() == [1, 2, 3, 1]
    assert rows["prompt_id"].to_list() == ["c", "c", "c", "d"]
    assert "c answers 0" in judge.sent["c#2"]
    assert "c answers 1" in judge.sent["c#2"]
    assert "c asks 2" not in judge.sent["c#2"]
    # A turn without a verdict is unknown, and no number stands in its place.
    unknown = rows.row(1, named=True)
    assert (unknown["status"], unknown["judge"], unknown["p_pass"]) == ("unparsed", None, None)


def test_a_turn_that_stands_alone_is_the_call_it_was_before(tmp_path: Path) -> None:
    path = write(tmp_path / "items.jsonl", [{"id": "x", "prompt": "2+2?", "response": "4"}])
    judge = Recorder()
    judge_pairs(path, judge=judge, protocol="grade", store=None)
    judge_pairs(path, judge=judge, protocol="grade", unit="turn", store=None)
    assert judge.sent["x"] == judge.sent["x#1"]


def test_a_shortened_run_says_so_in_its_row_and_in_the_summary(tmp_path: Path) -> None:
    steps = [{"role": "user", "content": "Go."}]
    for step in range(6):
        call = {"id": str(step), "function": {"name": "find", "arguments": "{}"}}
        steps.append({"role": "assistant", "content": f"step {step}", "tool_calls": [call]})
        steps.append({"role": "tool", "tool_call_id": str(step), "content": "x" * 1_000})
    path = write(tmp_path / "runs.jsonl", [{"id": "r", "messages": steps}])
    judge = Recorder()
    how: dict[str, Any] = {"protocol": "grade", "store": None, "step_limit": 300}
    done = judge_pairs(path, judge=judge, unit="run", **how, run_limit=1_000)
    (row,) = done.judgments.to_dicts()
    assert row["judged_as"] == "run"
    assert row["cut_characters"] > 5_000
    assert "step 5" in judge.sent["r"]
    assert "characters cut]" in judge.sent["r"]
    assert any(f"{row['cut_characters']:,} characters" in note for note in done.summary.notes)
    by_step = judge_pairs(path, judge=Recorder(), unit="step", **how).judgments
    assert by_step["tool"].to_list() == ["find"] * 6
    assert by_step["cut_characters"].to_list() == [700 * n for n in range(1, 7)]


def test_turns_of_pairs_are_compared_in_both_orders(tmp_path: Path) -> None:
    a, b = talk("x", 2)["response"], talk("y", 3)["response"]
    pair = {"id": "p", "prompt": "A chat.", "response_a": a, "response_b": b, "label": "A"}
    done = judge_pairs(
        write(tmp_path / "p.jsonl", [pair]), judge="simulated:", unit="turn", store=None
    )
    assert done.judgments["id"].to_list() == ["p#1", "p#2"]
    assert done.judgments["label"].to_list() == [None, None]
    assert done.judgments["prompt_id"].to_list() == ["p", "p"]
    assert done.summary.dropped == {"turn that only one response has": 1}


def test_refusals_name_the_row_and_the_turn(tmp_path: Path) -> None:
    path = write(tmp_path / "talks.jsonl", [talk("c"), {**talk("d"), "response": [
        {"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}])  # fmt: skip
    how: dict[str, Any] = {"judge": "simulated:", "protocol": "grade", "store": None}
    with pytest.raises(DataError, match="talks.jsonl, row 2, column response: has no turn of an"):
        judge_pairs(path, unit="turn", **how)
    with pytest.raises(ArgumentError, match="unit"):
        judge_pairs(path, unit="sentence", **how)
    with pytest.raises(ArgumentError, match="it needs --unit run or step"):
        judge_pairs(path, unit="turn", step_limit=500, **how)


def test_ids_of_turns_that_another_row_has_are_refused(tmp_path: Path) -> None:
    rows = [Item(id="c", prompt="q", response="r"), Item(id="c", prompt="q", response="s")]
    with pytest.raises(DataError, match="id 'c#1' is repeated"):
        judge_pairs(rows, judge="simulated:", protocol="grade", unit="turn", store=None)


def judged_and_labelled(n: int = 30) -> pl.DataFrame:
    """Three turns of each conversation; the judge is wrong about whole conversations."""
    talks = [Item(id=f"c{k}", prompt="q", response=write_turns(
        [Turn("assistant", f"{k} {turn}") for turn in range(3)])) for k in range(n)]  # fmt: skip
    how: dict[str, Any] = {"judge": "simulated:accuracy=1", "protocol": "grade", "unit": "turn"}
    rows = judge_pairs(talks, **how, store=None).judgments
    number = pl.col("conversation_id").str.slice(1).cast(pl.Int64)
    passes = number % 2
    human = pl.when(number % 5 == 0).then(1 - passes).otherwise(passes).cast(pl.Float64)
    return rows.with_columns(passes.alias("judge"), human.alias("human")).drop("p_pass")


def test_no_option_is_needed_to_know_that_turns_are_alike() -> None:
    rows = judged_and_labelled()
    found = evaluate(rows)
    assert found.clustered_by == "prompt_id"
    assert found.judges[0].clusters == 30
    alone = evaluate(rows, cluster="none")
    assert found.judges[0].interval is not None
    assert alone.judges[0].interval is not None
    assert found.judges[0].interval.low < alone.judges[0].interval.low  # type: ignore[operator]
    assert {slice_.column for slice_ in found.judges[0].slices} >= {"turn"}
    wide, narrow = estimate(rows), estimate(rows, cluster="none")
    assert wide.interval.high > narrow.interval.high


def test_turns_are_no_runs_of_a_question(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has turns of conversations: they are no runs"):
        estimate_runs(judged_and_labelled())
    assert estimate_runs(judged_and_labelled(), question="conversation_id").groups
    path = tmp_path / "rows.parquet"
    judged_and_labelled().write_parquet(path)
    with pytest.raises(DataError, match="has turns of conversations: they are no runs"):
        estimate_runs(path)
    assert evaluate(path).clustered_by == "prompt_id"


def test_turns_are_labelled_in_reading_order(tmp_path: Path) -> None:
    path = write(tmp_path / "talks.jsonl", [talk(name) for name in "cdefgh"])
    with open_round(path, store=tmp_path / "s.db", unit="turn") as round_:
        order = [draw.id for draw in round_.queue]
        task = round_.next("ann")
        assert task is not None
        assert task.texts["response"] == f"{order[0][0]} answers 0"
        assert (turns_of(task.texts["prompt"] or "") or [])[-1].text == f"{order[0][0]} asks 0"
    conversations = [name[0] for name in order[::3]]
    assert order == [f"{name}#{turn}" for name in conversations for turn in (1, 2, 3)]
    assert conversations != sorted(conversations)
    plan = tmp_path / "plan.csv"
    plan.write_text("id,sampled_by\nc#3,plan\nd#1,plan\nc#1,plan\nd#3,plan\n")
    with open_round(path, store=tmp_path / "s.db", unit="turn", plan=plan) as round_:
        planned = [draw.id for draw in round_.queue]
    assert planned in (["c#1", "c#3", "d#1", "d#3"], ["d#1", "d#3", "c#1", "c#3"])
    with (
        pytest.raises(ArgumentError, match="4 planned ids are not .* add --unit turn or step"),
        open_round(path, store=tmp_path / "s.db", plan=plan),
    ):
        pass


def test_the_viewer_joins_the_texts_of_turns(tmp_path: Path) -> None:
    path = write(tmp_path / "talks.jsonl", [talk("c")])
    rows = judge_pairs(
        path, judge="simulated:", protocol="grade", unit="turn", store=None
    ).judgments
    viewing = read_viewing([rows], pairs=path)
    assert viewing.items["response"].to_list() == [f"c answers {turn}" for turn in range(3)]
    assert "c asks 2" in viewing.items["prompt"][2]


def test_conversations_without_a_judge_are_viewed_too(tmp_path: Path) -> None:
    said = talk("c")["response"]
    viewing = read_viewing([write(tmp_path / "talks.jsonl", [{"id": "c", "messages": said}])])
    assert viewing.items["prompt"].to_list() == ["c asks 0"]


def test_the_steps_that_follow_run_as_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("talks.jsonl"), [talk(name) for name in "cdef"])
    words = "judge talks.jsonl --judge simulated: --protocol grade --unit turn -o judged.jsonl"
    assert run(words.split()) == 0
    (step,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("next:")]
    plan, label = step.removeprefix("next: adjudge ").split(" && adjudge ")
    assert "label talks.jsonl --unit turn --plan to_label.csv" in label
    assert run(plan.split()) == 0
    assert run([*label.split(), "--export-only"]) == 0
