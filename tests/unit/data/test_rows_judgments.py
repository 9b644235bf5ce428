"""Judgments prepared once: judges picked, labels joined, what was left out counted in order."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from adjudge.data.judgments import prepare_judgments
from adjudge.diagnosis import diagnose_bias
from adjudge.errors import ArgumentError, DataError
from adjudge.selection import evaluate_doubt, plan_labels, plan_selection
from adjudge.selection.labelled import read_labelled, read_new
from adjudge.simulate.pairs import two_order_judge

ROWS = pl.DataFrame(
    {
        "id": ["1", "2", "3", "4", "1"],
        "judge": ["x", "x", "x", "x", "y"],
        "p_a": [0.9, 0.3, None, 0.8, 0.6],
        "label": ["A", None, "A", "tie", "A"],
        "lang": ["en", "en", "en", None, "de"],
    }
)


def test_a_judge_is_picked_and_labels_join_what_is_left() -> None:
    labels = {"id": ["2", "1", "9"], "label": ["B", "B", "A"]}
    rows = prepare_judgments(ROWS, labels=labels, judge="x")
    assert rows.frame["id"].to_list() == ["1", "2", "3", "4"]
    assert rows.frame["label"].to_list() == ["B", "B", "A", "tie"]
    assert rows.dropped == {
        "label of an id without a row": 1,
        "label of the row, replaced by the one in the labels file": 1,
    }
    with pytest.raises(ArgumentError, match="judge = 'z': the judgments have x, y"):
        prepare_judgments(ROWS, judge="z")


def test_prepared_judgments_are_taken_as_they_are() -> None:
    rows = prepare_judgments(ROWS, judge="x")
    assert prepare_judgments(rows) is rows
    assert read_new(rows).everything.height == 4
    for option in ("labels", "judge", "protocol"):
        with pytest.raises(ArgumentError, match=f"{option} = 'x': give it to prepare_judgments"):
            prepare_judgments(rows, **{option: "x"})


def test_what_was_left_out_is_returned_in_the_order_of_the_steps() -> None:
    labelled = read_labelled(ROWS, ties="error", by="lang")
    assert list(labelled.dropped.items()) == [("no label", 1), ("status error", 1), ("no lang", 1)]
    assert labelled.frame["__error"].to_list() == [0, 0]
    assert list(read_labelled(ROWS).dropped) == ["no label", "status error", "human tie"]
    new = read_new(ROWS)
    assert (new.everything.height, new.measured.height) == (5, 4)
    assert new.unmeasured == {"status error": 1}


def test_rows_in_chunks_and_in_another_order_are_the_same_labelled_rows() -> None:
    labelled = read_labelled(ROWS, ties="error").frame
    assert labelled["id"].to_list() == ["1", "4", "1"]
    turned = pl.concat([ROWS[3:], ROWS[:3]], rechunk=False)
    assert read_labelled(turned, ties="error").frame.equals(labelled)
    kept = read_labelled(turned, ties="error", keep=["uncertainty"]).frame
    assert kept.equals(labelled.select("id", "judge", "protocol", "uncertainty"))
    assert {column.n_chunks() for column in read_new(turned).everything} == {1}


def test_rows_that_cannot_calibrate_are_refused_with_their_counts() -> None:
    with pytest.raises(DataError, match="no labelled verdict is left .4 no label, 1 status error"):
        read_labelled(ROWS.with_columns(label=pl.Series([None, None, "A", None, None])))
    with pytest.raises(DataError, match="is left .5 human tie.; .* errors: --ties error .ties=.$"):
        read_labelled(ROWS.with_columns(label=pl.lit("tie"), p_a=pl.lit(0.9)))
    with pytest.raises(
        DataError,
        match="no human labels; .*label=NAME.*here: lang.; to draw rows to label: adjudge",
    ):
        read_labelled(ROWS.drop("label"))
    with pytest.raises(ArgumentError, match="by = 'nowhere': choose a column: id, judge"):
        read_labelled(ROWS, by="nowhere")
    with pytest.raises(ArgumentError, match="lang of id '1' = 'en': give a weight above 0"):
        read_labelled(ROWS, weights="lang")


def test_a_pair_without_a_prompt_can_be_drawn_for_labelling() -> None:
    frame = pl.DataFrame(
        {
            "id": ["1", "2", "3", "4", "5"],
            "p_a": [0.9] * 5,
            "label": ["A", None, None, None, None],
            "prompt_id": ["p", "p", None, None, "q"],
        }
    )
    drawn = plan_labels(frame, n=3).to_frame()
    assert sorted(drawn["id"]) == ["3", "4", "5"]


def test_a_plan_and_its_ids_come_from_one_preparation() -> None:
    frame = pl.DataFrame(two_order_judge(200, seed=1)).with_columns(
        label=pl.when(pl.int_range(200) < 120).then("label")
    )
    rows = prepare_judgments(frame)
    assert plan_selection(rows, repeats=5) == plan_selection(frame, repeats=5)
    assert plan_labels(rows, n=20).ids == plan_labels(frame, n=20).ids


def test_rows_without_a_prompt_split_one_by_one() -> None:
    frame = pl.DataFrame(two_order_judge(60, seed=2))
    gaps = frame.with_columns(
        prompt_id=pl.when(pl.int_range(60) < 4).then(pl.lit("p")).otherwise(pl.lit(None))
    )
    alone = frame.with_columns(
        prompt_id=pl.when(pl.int_range(60) < 4).then(pl.lit("p")).otherwise("id")
    )
    assert evaluate_doubt(gaps, splits=20) == evaluate_doubt(alone, splits=20)


def test_the_texts_of_judged_pairs_can_come_from_a_public_data_set() -> None:
    texts = [{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 1}]  # LLMBar
    judged = {"id": ["llmbar-1"], "p_a": [0.9]}
    assert prepare_judgments(judged, pairs=texts).frame["response_b"].to_list() == ["no"]


def test_a_column_without_a_name_does_not_disturb_the_order() -> None:
    rows = {"id": ["b", "a"], "p_a": [0.9, 0.2], "label": ["A", "B"], "": [[1], [2]]}
    assert read_labelled(pl.DataFrame(rows)).frame[""].to_list() == [[2], [1]]


@pytest.mark.parametrize("prepare", [prepare_judgments, diagnose_bias])
def test_pairs_of_other_rows_are_refused(prepare: Callable[..., object]) -> None:
    """Before, their texts were left out without a word, and nothing about length was measured."""
    rows = {"id": ["1", "2"], "p_fwd": [0.9, 0.4], "p_rev": [0.8, 0.3]}
    texts = {"prompt": ["q"], "response_a": ["x"], "response_b": ["y"]}
    with pytest.raises(DataError, match=r"no row has one of its ids, 'q-1'; give pairs of these"):
        prepare(rows, pairs={"id": ["q-1"], **texts})
    prepare(rows, pairs={"id": ["2"], **texts})


def test_labels_are_compared_with_the_texts_of_the_pairs() -> None:
    judged = {"id": ["1", "2", "3"], "p_a": [0.9, 0.9, 0.9]}
    shown = {
        "id": ["1", "2", "3"],
        "prompt": ["p", "p", "p"],
        "response_a": ["x", "x", "x"],
        "response_b": ["y", "y", "y"],
    }
    labels = pl.DataFrame({**shown, "label": ["A", "A", "A"]})
    pairs = {
        **shown,
        "prompt": ["p", "p", "another question"],
        "response_a": ["x", "y", "x"],
        "response_b": ["y", "x", "y"],
    }
    rows = prepare_judgments(judged, labels=labels, pairs=pairs)
    assert rows.frame["label"].to_list() == ["A", "B", None]
    assert rows.dropped == {"label of another text with the id of a row": 1}
