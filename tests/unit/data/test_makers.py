"""Labels that a model made, and labels that began from the judge's answer, in every analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge import (
    calibrate,
    diagnose_bias,
    diagnose_scores,
    estimate,
    plan_rate,
    plan_selection,
    rank,
)
from adjudge.cli import run
from adjudge.data.labels import join_labels
from adjudge.data.rows import FROM_JUDGE
from adjudge.errors import DataError
from adjudge.selection import evaluate_doubt

N = 60
PAIRS = {
    "id": [str(i) for i in range(N)],
    "p_a": [0.9, 0.3, 0.7] * (N // 3),
    "label": ["A", "B", "A", "A", "B", "B"] * (N // 6),
}
GRADES = {
    "id": [str(i) for i in range(N)],
    "judge": [1, 0, 1] * (N // 3),
    "other": [1, 0, 0] * (N // 3),
    "human": [1, 0, 1, 1, 0, None] * (N // 6),
}
SCORES = {
    "doc_id": [str(i) for i in range(N)],
    "judge_score": [3, 4, 5] * (N // 3),
    "human_score": [3, 4, 4] * (N // 3),
}
BATTLES = {
    "model_a": ["x", "y", "z"] * (N // 3),
    "model_b": ["y", "z", "x"] * (N // 3),
    "winner": ["model_a", "tie", "model_b"] * (N // 3),
}
#: Every analysis of labels, its rows, and the column of the labels.
ANALYSES: dict[str, tuple[Callable[..., Any], Mapping[str, list[Any]], str]] = {
    "calibrate": (lambda rows, **o: calibrate(rows, alpha=0.3, **o), PAIRS, "label"),
    "evaluate": (
        lambda rows, **o: evaluate_doubt(rows, splits=2, alphas=[0.2], **o),
        PAIRS,
        "label",
    ),
    "plan selection": (lambda rows, **o: plan_selection(rows, repeats=2, **o), PAIRS, "label"),
    "estimate": (estimate, GRADES, "human"),
    "estimate by several judges": (
        lambda rows, **o: estimate(rows, judges=["judge", "other"], labels_are_random=True, **o),
        GRADES,
        "human",
    ),
    "plan rate": (lambda rows, **o: plan_rate(rows, width=0.3, **o), GRADES, "human"),
    "diagnose scores": (
        lambda rows, **o: diagnose_scores(rows, splits=2, **o),
        SCORES,
        "human_score",
    ),
    "diagnose bias": (diagnose_bias, PAIRS, "label"),
    "rank": (lambda rows, **o: rank(rows, replicates=2, **o), BATTLES, "winner"),
}


def frame_of(rows: Mapping[str, list[Any]], **more: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({**rows, **more})


@pytest.mark.parametrize("name", ANALYSES)
def test_labels_of_a_model_are_refused_unless_said_and_then_stated(name: str) -> None:
    analyse, rows, _ = ANALYSES[name]
    made = frame_of(rows, labelled_by=["model"] * 3 + ["person"] * (N - 3))
    with pytest.raises(DataError, match=r"3 labels of \d+ were made by a model; .*--model-labels"):
        analyse(made)
    result = analyse(made, model_labels=True)
    said = (*result.assumptions, *getattr(result, "warnings", ()))
    assert any(text.startswith("3 labels were made by a model") for text in said)
    plain = analyse(frame_of(rows, labelled_by=["person"] * N))
    said = (*plain.assumptions, *getattr(plain, "warnings", ()))
    assert not any("made by a model" in text for text in said)


@pytest.mark.parametrize("name", [name for name in ANALYSES if name != "plan rate"])
def test_a_label_that_began_from_the_judges_answer_is_not_used_and_counted(name: str) -> None:
    analyse, rows, column = ANALYSES[name]
    from_judge = analyse(frame_of(rows, started_from=["judge"] * 5 + ["nothing"] * (N - 5)))
    unlabelled = [None] * 5 + list(rows[column])[5:]
    without = analyse(frame_of({**rows, column: unlabelled}))
    assert sum(n for why, n in from_judge.dropped.items() if why.startswith(FROM_JUDGE)) == 5
    for field in ("n_calibration", "n_test", "estimate", "threshold", "n_labelled", "documents"):
        assert getattr(from_judge, field, None) == getattr(without, field, None)


def test_a_model_that_nobody_asked_is_no_reason_to_refuse() -> None:
    """Only labels count: a row without one says nothing about who made it."""
    made = frame_of({**GRADES, "human": [None, *GRADES["human"][1:]]})
    estimate(made.with_columns(labelled_by=pl.Series(["model"] + ["person"] * (N - 1))))


@pytest.mark.parametrize("column", ["labelled_by", "started_from"])
def test_a_maker_that_is_not_known_is_refused(column: str) -> None:
    with pytest.raises(DataError, match=f"column {column}: 'robot' is not known; use"):
        estimate(frame_of(GRADES, **{column: ["robot"] * N}))
    with pytest.raises(DataError, match=f"column {column}: 'robot' is not known; use"):
        join_labels(pl.DataFrame({"id": ["x"]}), {"id": ["x"], "label": ["A"], column: ["robot"]})


@pytest.mark.parametrize("join", ["labels", "values"])
def test_of_several_labels_those_that_did_not_begin_from_the_judge_count(join: str) -> None:
    labels = {
        "id": ["x", "x", "x", "y"],
        "label": ["A", "A", "B", "A"],
        "rater": ["r", "s", "t", "r"],
        "started_from": ["judge", "judge", None, "judge"],
    }
    rows = pl.DataFrame({"id": ["x", "y"]})
    if join == "labels":
        done = join_labels(rows, labels)
    else:
        done = join_labels(rows, labels, about="values", column="label")
    assert done.frame.select("label", "started_from").rows() == [("B", None), ("A", "judge")]
    assert done.dropped == {FROM_JUDGE: 2}


def test_a_new_label_is_not_the_old_makers() -> None:
    rows = pl.DataFrame({"id": ["x"], "label": ["A"], "labelled_by": ["model"]})
    done = join_labels(rows, {"id": ["x"], "label": ["B"]})
    assert done.frame.select("label", "labelled_by").row(0) == ("B", None)


def test_one_label_of_a_model_among_several_makes_it_a_models() -> None:
    labels = {"id": ["x", "x"], "label": ["A", "A"], "rater": ["r", "gpt"],
              "labelled_by": ["person", "model"]}  # fmt: skip
    done = join_labels(pl.DataFrame({"id": ["x"]}), labels)
    assert done.frame["labelled_by"].to_list() == ["model"]


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (["calibrate"], PAIRS),
        (["evaluate", "--splits", "2"], PAIRS),
        (["plan", "selection", "--repeats", "2"], PAIRS),
        (["estimate"], GRADES),
        (["plan", "rate", "--width", "0.3"], GRADES),
        (["diagnose", "scores", "--splits", "2"], SCORES),
        (["diagnose", "bias"], PAIRS),
        (["rank", "--replicates", "2"], BATTLES),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_verb_has_the_option(
    words: list[str],
    rows: Mapping[str, list[Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "rows.parquet"
    frame_of(rows, labelled_by=["model"] * N).write_parquet(path)
    assert run([*words, str(path)]) == 1
    assert capsys.readouterr().err.count("made by a model") == 1
    assert run([*words, str(path), "--model-labels", "--json"]) in (0, 2)
    assert "made by a model: every figure" in capsys.readouterr().out
