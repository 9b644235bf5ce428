"""A row that is in a file twice counts once; one id with other content is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.data import (
    open_table,
    prepare_battles,
    prepare_grades,
    prepare_judgments,
    prepare_scores,
    prepare_tournaments,
)
from adjudge.data.verdicts import prepare_verdicts
from adjudge.errors import DataError
from adjudge.estimation import estimate

LOGS = Path(__file__).parents[2] / "fixtures/runner_logs"
AGAIN = {"the same row again": 2}
SIDES: dict[str, Any] = {"model_a": ["x", "x"], "model_b": ["y", "z"]}
KINDS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "grades": (prepare_grades, {"id": [1, 2], "judge": [1, 0], "human": [1, None]}, "judge"),
    "judgments": (prepare_judgments, {"id": [1, 2], "p_a": [0.9, 0.2]}, "p_a"),
    "verdicts": (prepare_verdicts, {"id": [1, 2], "p_a": [0.9, 0.2]}, "p_a"),
    "battles": (prepare_battles, {"id": [1, 2], **SIDES, "winner": ["model_a", "tie"]}, "winner"),
    "scores": (
        prepare_scores,
        {"id": [1, 2], "doc_id": [1, 2], "judge_score": [4, 5], "human_score": [4, 3]},
        "judge_score",
    ),
}


@pytest.mark.attack("repeats")
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_concatenated_twice_is_the_file(kind: str) -> None:
    prepare, rows, _ = KINDS[kind]
    twice = prepare({name: values * 2 for name, values in rows.items()})
    assert twice.dropped == AGAIN
    assert len(getattr(twice, "frame", twice)) == 2


@pytest.mark.attack("repeats")
@pytest.mark.parametrize("kind", KINDS)
def test_one_id_with_other_content_is_refused_by_name(kind: str) -> None:
    prepare, rows, answer = KINDS[kind]
    changed = {**rows, answer: rows[answer][::-1]}
    if kind == "battles":
        changed["model_b"] = SIDES["model_b"]
    with pytest.raises(DataError, match=r"row 3, column \w+: .*'?1'?.* is in the file twice"):
        prepare({name: rows[name] + changed[name] for name in rows})


@pytest.mark.parametrize("kind", ["grades", "judgments", "battles"])
def test_rows_without_ids_are_never_merged(kind: str) -> None:
    prepare, rows, _ = KINDS[kind]
    given = {name: values * 2 for name, values in rows.items() if name != "id"}
    prepared = prepare(given)
    assert prepared.dropped == {}
    assert len(getattr(prepared, "frame", prepared)) == 4


@pytest.mark.parametrize(
    "apart", ["model", "criterion", "rater", "protocol", "judge_name", "system"]
)
def test_rows_of_one_id_that_differ_by_who_they_are_about_stay(apart: str) -> None:
    rows = {"id": [1, 1], "judge": [1, 0], "human": [1, 0], apart: ["x", "y"]}
    by = apart if apart in ("judge_name", "system", "criterion", "metric", "protocol") else None
    assert len(prepare_grades(rows, by=by).judge) == 2


def test_repeats_count_once_without_a_fingerprint() -> None:
    rows = {"id": [1, 1, 2], "judge": [1, 0, 1], "human": [1, 1, 0], "repeat": [0, 1, 0]}
    prepared = prepare_grades(rows)
    assert prepared.judge.tolist() == [1, 1]
    assert prepared.dropped == {"repeat of another row": 1}
    elsewhere = {"id": [1, 2], "judge": [1, 0], "human": [1, 1], "repeat": [1, 2]}
    assert prepare_grades(elsewhere).dropped == {}


def test_an_estimate_from_grades_concatenated_twice() -> None:
    once = pl.DataFrame(
        {
            "id": range(120),
            "judge": [int(i % 3 > 0) for i in range(120)],
            "human": [int(i % 4 > 0) if i < 60 else None for i in range(120)],
        }
    )
    first = estimate(once, labels_are_random=True)
    twice = estimate(pl.concat([once, once]), labels_are_random=True)
    assert twice.interval == first.interval
    assert twice.dropped == {"the same row again": 120}


@pytest.mark.attack("repeats")
@pytest.mark.parametrize("log", ["promptfoo.jsonl", "lm_eval.jsonl"])
def test_a_log_row_that_is_there_twice_is_converted_once(log: str, tmp_path: Path) -> None:
    path = LOGS / log
    text = path.read_text().rstrip("\n") + "\n"
    twice = tmp_path / log
    twice.write_text(text * 2)
    once = open_table(path)
    again = open_table(twice)
    assert again.frame.height == once.frame.height
    rows = len([line for line in text.splitlines() if line.strip()])
    assert again.dropped["the same row again"] == rows
    assert json.dumps(again.frame["id"].to_list()) == json.dumps(once.frame["id"].to_list())


@pytest.mark.parametrize("column", ["id", "repeat", "model"])
def test_objects_in_a_column_of_the_key_are_compared_as_text(column: str) -> None:
    rows: dict[str, Any] = {"id": ["x", "x", "y"], "judge": [1, 1, 0], "human": [1, 1, None]}
    rows[column] = [{"k": 1}, {"k": 1}, {"k": 2}]
    kept = {"id": 2, "repeat": 2, "model": 2}[column]
    assert len(prepare_grades(pl.DataFrame(rows)).judge) == kept


EDGES: dict[str, Any] = {"doc_id": ["d", "d"], "model_a": ["x", "x"], "model_b": ["y", "z"]}


@pytest.mark.attack("repeats")
@pytest.mark.parametrize(
    ("answers", "swapped"),
    [
        ({"verdict": ["A", "tie"]}, {"verdict": ["B", "tie"]}),
        ({"p_a": [0.8, 0.3]}, {"p_a": [0.2, 0.7]}),
        (
            {"verdict_fwd": ["A", "A"], "verdict_rev": ["A", "tie"]},
            {"verdict_fwd": ["B", "tie"], "verdict_rev": ["B", "B"]},
        ),
    ],
)
def test_edges_that_are_in_a_file_twice_count_once(
    answers: dict[str, Any], swapped: dict[str, Any]
) -> None:
    rows = {**EDGES, **answers}
    once = prepare_tournaments(rows)
    again = {"doc_id": EDGES["doc_id"], "model_a": EDGES["model_b"], "model_b": EDGES["model_a"]}
    for second in (rows, {**again, **swapped}):
        twice = prepare_tournaments({name: values + second[name] for name, values in rows.items()})
        assert twice.dropped == AGAIN
        assert twice.rows == once.rows
        assert twice.tournaments[0].asked.tolist() == once.tournaments[0].asked.tolist()


@pytest.mark.attack("repeats")
def test_another_answer_about_an_edge_is_refused_by_name() -> None:
    rows = {**EDGES, "verdict": ["A", "B"]}
    other = {**rows, "verdict": ["B", "A"]}
    with pytest.raises(
        DataError, match="row 3, column doc_id: .*'x'.* in the file twice; .*repeat"
    ):
        prepare_tournaments({name: values + other[name] for name, values in rows.items()})
