"""Label Studio: the queue goes out as tasks that bring everything back that a label needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.integrations.label_studio import once_each
from adjudge.server.labelling import Draw
from adjudge.server.rounds import doubt_queue

FIXTURES = Path(__file__).parent / "fixtures"
PAIRS = [
    {"id": f"p{i}", "prompt": f"q{i}", "response_a": f"a{i}", "response_b": f"b{i}", "model_a": "m"}
    for i in range(40)
]


@pytest.fixture(autouse=True)
def _files() -> None:
    Path("pairs.jsonl").write_text("\n".join(json.dumps(pair) for pair in PAIRS))


def tasks(*options: str, rows: str = "pairs.jsonl") -> list[dict[str, Any]]:
    """The data of the tasks that a call writes."""
    assert run(["label", rows, "--label-studio", "tasks.json", *options]) == 0
    written = json.loads(Path("tasks.json").read_text())
    assert all(set(task) == {"data"} for task in written)  # no predictions
    return [task["data"] for task in written]


def config() -> ElementTree.Element:
    return ElementTree.parse("tasks.xml").getroot()  # noqa: S314 (we wrote it)


def test_a_random_draw_is_a_task_each_with_its_sides_shuffled() -> None:
    drawn = tasks("--limit", "20")
    assert len({data["id"] for data in drawn}) == 20
    assert [data["id"] for data in drawn] != [f"p{i}" for i in range(20)]
    for data in drawn:
        n = data["id"].removeprefix("p")
        assert (data["sampled_by"], data["prompt"]) == ("random", f"q{n}")
        assert (data["response_a"], data["response_b"]) == (f"a{n}", f"b{n}")
        left, right = ("response_a", "response_b")[:: 1 if data["shown_order"] == "ab" else -1]
        assert (data["left"], data["right"]) == (data[left], data[right])
        assert data["choices"] == [
            {"value": "Left is better", "alias": left},
            {"value": "Tie", "alias": "tie"},
            {"value": "Right is better", "alias": right},
        ]
        assert not {"model_a", "label"} & set(data)
    assert {data["shown_order"] for data in drawn} == {"ab", "ba"}
    assert drawn == tasks("--limit", "20")
    assert drawn != tasks("--limit", "20", "--seed", "1")
    assert len(tasks()) == len(PAIRS)


def test_the_config_names_only_what_every_task_has() -> None:
    for rows in ("pairs.jsonl", "items.jsonl"):
        items = [{"id": "1", "prompt": "q", "response": "r"}]
        items.append({"id": "2", "prompt": "q", "response": "r", "reference": "s", "context": " "})
        Path("items.jsonl").write_text("\n".join(json.dumps(item) for item in items))
        drawn = tasks("--store", f"{rows}.db", rows=rows)
        named = {text.get("value", "").removeprefix("$") for text in config().iter("Text")}
        assert all(named <= set(data) for data in drawn)
        assert [area.get("name") for area in config().iter("TextArea")] == ["comment"]
        values = [choice.get("alias") for choice in config().iter("Choice")]
        if rows == "pairs.jsonl":
            assert (named, values) == ({"prompt", "left", "right"}, [])
            assert [one.get("value") for one in config().iter("Choices")] == ["$choices"]
        else:
            assert (named, values) == ({"prompt", "reference", "response"}, ["pass", "fail"])
            assert {data["id"]: data["reference"] for data in drawn} == {"1": "", "2": "s"}


def test_abstentions_come_in_order_of_doubt_between_random_ones() -> None:
    rows = [{"id": f"p{i}", "accepted": i >= 10, "uncertainty": i / 100} for i in range(40)]
    Path("selected.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    drawn = tasks("--abstentions", "selected.jsonl", "--limit", "14")
    doubtful = [data["id"] for data in drawn if data["sampled_by"] == "doubt"]
    order = [f"p{i}" for i in range(9, -1, -1)]
    assert doubtful == [name for name in order if name in doubtful]
    assert {data["sampled_by"] for data in drawn} == {"doubt", "random"}


def test_a_row_of_both_streams_waits_for_its_random_turn() -> None:
    """Whenever people stop, the random labels are the first of the random stream."""
    ids = [f"p{i}" for i in range(40)]
    draws = doubt_queue(ids, ids[:15], seed=3)[:30]
    stream = [draw.id for draw in draws if draw.sampled_by == "random"]
    both = {draw.id for draw in draws if draw.sampled_by == "doubt"} & set(stream)
    assert both
    kept = once_each(draws)
    assert len({draw.id for draw in kept}) == len(kept)
    for stop in range(len(kept) + 1):
        labelled = [draw.id for draw in kept[:stop] if draw.sampled_by == "random"]
        assert labelled == stream[: len(labelled)]


def test_a_row_that_a_stream_draws_twice_is_one_task() -> None:
    twice = (Draw("a", "plan"), Draw("b", "surest"), Draw("a", "plan"), Draw("b", "doubt"))
    assert once_each(twice) == [Draw("a", "plan"), Draw("b", "surest")]


def test_a_plans_cut_and_probability_go_with_its_rows() -> None:
    plan = pl.DataFrame(
        {"id": ["p3", "p1"], "sampled_by": ["surest", "plan"], "sampling_probability": [None, 0.25],
         "cut": [0.4, None], "cut_judge": ["x", None]}
    )  # fmt: skip
    plan.write_csv("plan.csv")
    first, second = tasks("--plan", "plan.csv")
    assert (first["id"], first["sampled_by"], first["cut"], first["cut_judge"]) == (
        *("p3", "surest", 0.4, "x"),
    )
    assert (second["id"], second["sampled_by"], second["sampling_probability"]) == (
        *("p1", "plan", 0.25),
    )


def test_rows_that_somebody_labelled_are_left_out_where_each_goes_to_one_rater() -> None:
    Path("labels.csv").write_text("id,label,rater,sampled_by\np0,A,ann,random\np1,B,ann,random\n")
    drawn = tasks("--import", "labels.csv", "--share-out")
    assert {data["id"] for data in drawn} == {f"p{i}" for i in range(2, 40)}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--limit", "3"], "limit = 3: use it with --label-studio"),
        (["--label-studio", "t.json", "--instructions", "pairs.jsonl"], "paste them into the"),
        (["--label-studio", "adjudge.db"], "adjudge.db"),
    ],
)
def test_what_cannot_be_written_is_refused(
    options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["label", "pairs.jsonl", "--export-only", *options]) == 1
    assert problem in capsys.readouterr().err


def test_scores_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("items.jsonl").write_text(json.dumps({"id": "1", "prompt": "q", "response": "r"}))
    assert run(["label", "items.jsonl", "--scale", "1-5", "--label-studio", "t.json"]) == 1
    assert "Label Studio takes pairs, or answers to pass or fail" in capsys.readouterr().err


def test_labels_come_back_from_a_real_export_with_how_their_rows_were_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Label Studio 1.23.2, tasks of this module, labelled in its page: two were shown swapped."""
    pairs = [
        {**{name: task["data"][name] for name in ("id", "prompt", "response_a", "response_b")}}
        for task in json.loads((FIXTURES / "label_studio_pairs.json").read_text())
    ]
    Path("pairs.jsonl").write_text("\n".join(json.dumps(pair) for pair in pairs))
    export = str(FIXTURES / "label_studio_pairs.json")
    assert run(["label", "pairs.jsonl", "--import", export, "--export-only", "-o", "l.csv"]) == 0
    assert "left out 1 label: a cancelled annotation" in capsys.readouterr().err
    assert pl.read_csv("l.csv").select("id", "label", "sampled_by", "shown_order").rows() == [
        ("pair-221", "A", "random", "ab"),
        ("pair-434", "B", "random", "ab"),
        ("pair-109", "tie", "random", "ba"),
        ("pair-334", "B", "random", "ba"),  # left
        ("pair-375", "A", "random", "ba"),  # right
        ("pair-378", "A", "random", "ab"),
    ]


def test_grades_come_back_too() -> None:
    export = str(FIXTURES / "label_studio_grades.json")
    tasks = [task["data"] for task in json.loads(Path(export).read_text())]
    items = [{name: task[name] for name in ("id", "prompt", "response")} for task in tasks]
    Path("items.jsonl").write_text("\n".join(json.dumps(item) for item in items))
    assert run(["label", "items.jsonl", "--import", export, "--export-only", "-o", "l.csv"]) == 0
    assert pl.read_csv("l.csv").select("id", "label", "human").rows() == [
        ("item-036", "pass", 1),
        ("item-291", "fail", 0),
        ("item-128", "pass", 1),
    ]
