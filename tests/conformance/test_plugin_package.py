"""A backend, a protocol, a format and a store of an installed package, used like our own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from adjudge import judge_pairs
from adjudge.data import read_scores
from adjudge.errors import ArgumentError
from adjudge.simulate.pairs import simulate_pairs

Run = Callable[..., CompletedProcess[str]]

ROWS = [
    {"ticket": 7, "question": "Where is my order?", "answer": "On its way.", "bot": "b1"},
    {"ticket": 8, "question": "Can I return it?", "answer": "Yes.", "bot": "b2"},
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS))
    return path


def judge(run_python: Run, log: Path, *options: str) -> CompletedProcess[str]:
    """`adjudge judge` on a file of the package's format, by its backend and its protocol."""
    judge_and_protocol = ("--judge", "echo:4", "--protocol", "my-likert")
    return run_python("-m", "adjudge", "judge", str(log), *judge_and_protocol, *options)


def test_one_command_through_all_four_doors(run_python: Run, log: Path, tmp_path: Path) -> None:
    store, output = f"mystore://{tmp_path}/replies", tmp_path / "scores.jsonl"
    done = judge(run_python, log, "--store", store, "-o", str(output), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    scores = read_scores(output)
    assert scores["judge"].unique().to_list() == ["echo:4"]
    assert scores["protocol"].unique().to_list() == ["my-likert"]
    assert scores["id"].unique().sort().to_list() == ["7", "8"]
    assert scores["judge_score"].unique().to_list() == [4.0]
    assert (tmp_path / "replies" / "replies.db").is_file()
    assert summary["reused"] == 0
    again = judge(run_python, log, "--store", store, "-o", str(output), "--json")
    assert json.loads(again.stdout)["reused"] == scores.height


def test_the_same_from_python(run_python: Run, log: Path, tmp_path: Path) -> None:
    code = f"""
from adjudge import judge_pairs
done = judge_pairs({str(log)!r}, judge="echo:2", protocol="my-likert",
                   store="mystore://{tmp_path}/replies")
rows = done.judgments
print(sorted(set(rows["judge"])), sorted(set(rows["protocol"])), sorted(set(rows["judge_score"])))
"""
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['echo:2'] ['my-likert'] [2.0]"
    assert (tmp_path / "replies" / "replies.db").is_file()


def test_objects_of_the_package_are_taken_in_place_of_names(
    run_python: Run, log: Path, tmp_path: Path
) -> None:
    code = f"""
from adjudge import judge_pairs
from adjudge_example.echo import EchoBackend
from adjudge_example.my_likert import MyLikert
from adjudge_example.my_store import MyStore
store = MyStore("mystore://{tmp_path}/replies")
done = judge_pairs({str(log)!r}, judge=EchoBackend("5"), protocol=MyLikert(), store=store)
print(sorted(set(done.judgments["judge_score"])), store.latest_call_id() > 0)
store.close()
"""
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[5.0] True"


def test_without_the_package_every_name_is_refused_with_those_that_are_known(
    tmp_path: Path,
) -> None:
    pairs = simulate_pairs(2, seed=0)
    with pytest.raises(
        ArgumentError, match="judge = 'echo:4': write BACKEND:MODEL, .* backends: openai, "
    ):
        judge_pairs(pairs, judge="echo:4", store=None)
    with pytest.raises(ArgumentError, match="protocol = 'my-likert': choose one of preference, "):
        judge_pairs(pairs, judge="simulated:", protocol="my-likert", store=None)
    with pytest.raises(ArgumentError, match="store = 'mystore': choose one of sqlite"):
        judge_pairs(pairs, judge="simulated:", store=f"mystore://{tmp_path}")
