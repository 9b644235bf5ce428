"""Scores, verdicts and tournaments prepared once for the diagnoses."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from adjudge.data.grades import prepare_grades
from adjudge.data.scores import prepare_scores, scored_by_both
from adjudge.data.tournaments import prepare_tournaments
from adjudge.data.verdicts import CLUSTER, prepare_verdicts
from adjudge.diagnosis import diagnose_scores, score_set_rows
from adjudge.errors import ArgumentError, DataError


def test_scores_are_prepared_once_for_the_diagnosis_and_for_the_sets() -> None:
    table = {
        "doc_id": [str(d) for d in range(30)],
        "judge_score": [3, 4, None] * 10,
        "human_score": [3, None, 4] * 10,
    }
    rows = prepare_scores(table)
    assert prepare_scores(rows) is rows
    kept = scored_by_both(rows)
    assert (kept.frame.height, kept.dropped) == (10, {"status error": 10, "no human score": 10})
    assert diagnose_scores(rows, splits=2) == diagnose_scores(table, splits=2)
    assert score_set_rows(rows).equals(score_set_rows(table))
    with pytest.raises(ArgumentError, match="give it to prepare_scores"):
        diagnose_scores(rows, raters=["ann"])
    with pytest.raises(DataError, match="has no human scores"):
        prepare_scores({"doc_id": ["d"], "judge_score": [3]})


def test_a_pair_is_one_cluster_whichever_judges_saw_it() -> None:
    rows = prepare_verdicts(
        {
            "id": ["1", "2", "3", "1"],
            "judge": ["x", "x", "x", "y"],
            "p_a": [0.9, 0.8, 0.7, 0.6],
            "prompt_id": [None, "p", "p", None],
        }
    )
    assert rows.cluster == "prompt_id"
    assert rows.frame[CLUSTER].to_list() == [0, 1, 1, 0]
    assert prepare_verdicts({"id": ["1", "2"], "p_a": [0.9, 0.8]}).cluster == "id"


def test_labels_of_no_pair_are_counted_and_raters_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text("id,p_fwd,p_rev\n1,0.9,0.8\n2,0.2,0.4\n")
    labels = {"id": ["1", "1", "9"], "label": ["A", "B", "A"], "rater": ["ann", "bob", "ann"]}
    rows = prepare_verdicts(path, labels=labels)
    assert rows.name == str(path)
    assert rows.dropped == {"raters without a majority": 1, "label of an id without a row": 1}
    assert rows.frame["__labels"].to_list() == [["A", "B"], None]


def test_ids_of_a_csv_stay_as_they_are_written(tmp_path: Path) -> None:
    path, labels = tmp_path / "verdicts.csv", tmp_path / "labels.csv"
    path.write_text("id,verdict,judge,human\n1.10,A,1,\n2,B,0,\n")
    labels.write_text("id,label\n2,B\n1.10,A\n")
    rows = prepare_verdicts(path, labels=labels)
    assert rows.frame.select("id", "label").rows() == [("1.10", "A"), ("2", "B")]
    labels.write_text("id,label\n2,0\n")
    assert prepare_grades(path, labels=labels).human.tolist() == pytest.approx(
        [float("nan"), 0.0], nan_ok=True
    )


def test_scores_decide_where_one_order_has_no_verdict() -> None:
    table = {"id": ["x"], "verdict_fwd": ["A"], "score_a": [1], "score_b": [2]}
    rows = prepare_verdicts(table)
    assert (rows.by_score, rows.frame["p_a"].to_list()) == (True, [0.0])
    with pytest.raises(DataError, match="row 1, column score_a: 'good' is not a number"):
        prepare_verdicts({**table, "score_a": ["good"]})


def test_an_edge_that_nobody_decided_is_counted() -> None:
    rows = prepare_tournaments(
        pl.DataFrame(
            {
                "doc_id": ["d"] * 3,
                "model_a": ["x", "y", "z"],
                "model_b": ["y", "z", "x"],
                "verdict": ["A", None, "tie"],
                "judge": ["j"] * 3,
                "protocol": ["p", "p", "p"],
            }
        )
    )
    (tournament,) = rows.tournaments
    assert rows.rows == 3
    assert rows.dropped == {"no verdict (the edge is missing unless it was asked again)": 1}
    assert tournament.winner.tolist() == [1, 0]
