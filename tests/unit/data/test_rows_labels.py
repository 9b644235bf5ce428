"""One label join: majorities, replaced and unused labels, and how labels were drawn."""

from __future__ import annotations

import polars as pl
import pytest
from runner_logs import LOGS

from adjudge.data.grades import prepare_grades
from adjudge.data.labels import join_labels
from adjudge.data.rows import Rows
from adjudge.data.steps.labels import CUT_BY, sampling_probabilities, take_labels
from adjudge.errors import DataError

ROWS = pl.DataFrame({"id": ["x", "x", "y", "z"], "judge": ["a", "b", "a", "a"]})


def test_labels_join_by_id_with_all_counts() -> None:
    done = join_labels(ROWS, {"id": ["x", "y", "w"], "label": ["A", None, "B"]})
    assert done.frame["label"].to_list() == ["A", "A", None, None]
    assert done.dropped == {"label of an id without a row": 1}


def test_several_raters_majority_or_nothing() -> None:
    given = {
        "id": ["x", "x", "x", "y", "y", "z", "z"],
        "label": ["A", "B", "A", "A", "B", "tie", "tie"],
        "rater": ["1", "2", "3", "1", "2", "1", "2"],
    }
    done = join_labels(ROWS, given)
    assert done.frame["label"].to_list() == ["A", "A", None, "tie"]
    assert done.frame["__labels"][0].to_list() == ["A", "B", "A"]
    assert done.dropped == {"raters without a majority": 1}
    del given["rater"]
    with pytest.raises(DataError, match="row 2, column id: 'x' has more than one label"):
        join_labels(ROWS, given, about="values", column="human")


def test_the_row_of_a_second_label_is_the_row_of_the_file() -> None:
    given = {"id": ["y", "x", "x"], "label": [None, "A", "B"]}
    with pytest.raises(DataError, match="row 3, column id: 'x'"):
        join_labels(ROWS, given, about="values", column="human")


def test_a_rows_own_label_is_replaced_and_counted() -> None:
    rows = ROWS.with_columns(label=pl.Series(["B", "A", "tie", None], dtype=pl.String))
    done = join_labels(rows, {"id": ["x"], "label": ["A"]})
    assert done.frame["label"].to_list() == ["A", "A", "tie", None]
    assert done.dropped == {"label of the row, replaced by the one in the labels file": 1}


def test_how_a_label_was_drawn_is_remembered() -> None:
    given = {
        "id": ["x", "x", "y"],
        "label": ["A", "A", "B"],
        "rater": ["1", "2", "1"],
        "sampled_by": ["random", "doubt", "plan"],
    }
    done = join_labels(ROWS, given)
    assert done.frame["sampled_by"].to_list() == ["random", "random", "plan", None]
    assert done.dropped == {"label sampled by doubt of an id with another label": 1}


@pytest.mark.parametrize("way", ["doubt", "browsed", "surest", "audit"])
def test_a_label_of_a_chosen_row_never_replaces_another(way: str) -> None:
    """Random labels would vanish where the judge doubts: a rate of the others is no rate of all."""
    rows = ROWS.with_columns(label=pl.Series(["A", "A", "B", None], dtype=pl.String))
    chosen = {"id": ["x", "z"], "label": ["B", "B"], "sampled_by": [way] * 2}
    done = join_labels(rows, chosen)
    assert done.frame["label"].to_list() == ["A", "A", "B", "B"]
    assert done.frame["sampled_by"].to_list() == [None, None, None, way]
    assert done.dropped == {"label sampled by the judge's score of a row with another label": 2}
    random = {"id": ["x"] * 2, "label": ["B", "A"], "sampled_by": ["random", way]}
    assert join_labels(ROWS, random).frame["label"].to_list()[0] == "B"


def test_a_row_that_keeps_its_own_label_keeps_how_it_was_drawn() -> None:
    rows = ROWS.with_columns(
        label=pl.Series(["A", "A", "B", "B"]), sampled_by=pl.Series(["doubt"] * 4)
    )
    given = {"id": ["x"], "label": ["A"], "sampled_by": ["random"]}
    assert join_labels(rows, given).frame["sampled_by"].to_list() == [
        "random", "random", "doubt", "doubt",
    ]  # fmt: skip
    unsaid = {"id": ["x"], "label": ["A"]}
    assert join_labels(rows, unsaid).frame["sampled_by"].to_list() == ["doubt"] * 4


@pytest.mark.parametrize(
    "join", [join_labels, lambda f, g: join_labels(f, g, about="values", column="human")]
)
def test_labels_of_other_rows_altogether_are_refused(join) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(
        DataError,
        match="no row has one of its ids, 'w', 'v'; give labels of these rows, such as 'x'",
    ):
        join(ROWS, {"id": ["w", "v"], "label": ["A", "B"]})
    with pytest.raises(DataError, match="has no label"):
        join(ROWS, {"id": ["w"], "label": [None]})
    with pytest.raises(DataError, match="column id: is missing; labels join by id"):
        join(ROWS.drop("id"), {"id": ["x"], "label": ["A"]})


def test_values_come_as_one_kind_of_text_and_bring_their_sampling() -> None:
    rows = pl.DataFrame({"id": ["x", "y", "z"], "human": [1.0, float("nan"), 0.0]})
    given = {
        "id": ["y", "z"],
        "label": ["1", "0"],
        "sampled_by": ["plan", "random"],
        "sampling_probability": [0.25, None],
    }
    done = join_labels(rows, given, about="values", column="human")
    assert done.frame["human"].to_list() == ["1", "1", "0"]
    assert done.frame["sampled_by"].to_list() == [None, "plan", "random"]
    assert not done.dropped
    drawn = sampling_probabilities(done.frame, done.frame["human"], "rows")
    assert drawn.to_list() == [None, 0.25, None]


def test_the_column_of_values_is_named_or_usual() -> None:
    rows = pl.DataFrame({"id": ["x"]})
    for column in ("grade", "human", "label"):
        given = {"id": ["x"], column: ["yes"]}
        assert join_labels(rows, given, about="values", column="grade").frame[
            "grade"
        ].to_list() == ["yes"]
    with pytest.raises(DataError, match="column label: is missing; .* columns here: id, other"):
        join_labels(rows, {"id": ["x"], "other": ["yes"]}, about="values", column="grade")


def test_labels_of_chosen_rows_are_not_used_and_counted() -> None:
    rows = pl.DataFrame({"id": ["x", "y"], "label": ["A", "B"], "sampled_by": ["doubt", "random"]})
    taken = take_labels(Rows(rows), "label", "file").rows
    assert taken.frame["label"].to_list() == [None, "B"]
    assert taken.dropped == {"label sampled by doubt: not used, its row is unlabelled": 1}
    unstated = rows.with_columns(sampled_by=pl.Series(["doubt", None]))
    assert take_labels(Rows(unstated), "label", "file").rows.frame["label"].to_list() == [None, "B"]


@pytest.mark.parametrize("way", CUT_BY)
def test_labels_below_a_cut_are_refused_if_others_do_not_state_how_they_were_drawn(
    way: str,
) -> None:
    rows = pl.DataFrame({"id": ["x", "y"], "label": ["A", "B"], "sampled_by": [way, None]})
    with pytest.raises(DataError, match=f"file, column sampled_by: 1 label was sampled by {way}"):
        take_labels(Rows(rows), "label", "file")
    stated = rows.with_columns(sampled_by=pl.Series([way, "random"]))
    assert take_labels(Rows(stated), "label", "file").rows.frame["label"].to_list() == [None, "B"]
    kept = take_labels(Rows(rows), "label", "file", without=("doubt",)).rows
    assert kept.frame["label"].to_list() == ["A", "B"]


def test_estimates_use_no_label_of_doubt_and_need_the_probability_of_a_plan() -> None:
    rows = pl.DataFrame(
        {
            "human": ["1", "1", "0", "0"],
            "sampled_by": ["doubt", "plan", "random", None],
            "sampling_probability": ["0.5", "0.5", "0.5", None],
        }
    )
    taken = take_labels(Rows(rows), "human", "file").rows
    assert taken.frame["human"].to_list() == [None, "1", "0", "0"]
    assert list(taken.dropped.values()) == [1]
    labels = taken.frame["human"]
    drawn = sampling_probabilities(taken.frame, labels, "file")
    assert drawn.to_list() == [None, 0.5, None, None]
    with pytest.raises(DataError, match="row 2, column sampling_probability: is empty"):
        sampling_probabilities(rows.drop("sampling_probability"), labels, "file")
    named = rows.drop("sampled_by").rename({"sampling_probability": "share"})
    shares = named.with_columns(share=pl.Series(["0.5", None, "1.5", None]))
    with pytest.raises(DataError, match="row 3, column share: '1.5' is not a probability"):
        sampling_probabilities(shares, labels, "file", column="share")
    guessed = rows.with_columns(sampled_by=pl.Series([None, None, "guess", None]))
    with pytest.raises(DataError, match="row 3, column sampled_by: 'guess' is not known"):
        take_labels(Rows(guessed), "human", "file")


def test_people_who_graded_in_a_log_label_the_rows_of_another_file() -> None:
    log = LOGS / "mlflow.json"
    people = prepare_grades(log).frame.filter(pl.col("human").is_not_null())
    assert people.height > 0
    rows = people.select("id", judge=pl.lit(1))
    assert join_labels(rows, log, about="values", column="human").frame["human"].to_list() == [
        f"{value:g}" for value in people["human"].cast(pl.Float64)
    ]
    battles = LOGS / "judgearena.jsonl"
    with pytest.raises(DataError, match="column human: is not in the file; columns here: "):
        join_labels(rows, battles, about="values", column="human")
