"""All comparisons of a prompt as one row: the choice, its doubt, the best of people."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from adjudge.errors import ArgumentError, DataError
from adjudge.selection.choices import describe_choices, prepare_choices
from adjudge.simulate.pairs import simulate_choices


def rows(*comparisons: tuple[str, str, str, float | None], **columns: object) -> pl.DataFrame:
    """Comparisons as (prompt, response, other response, p of the first)."""
    prompt, one, other, p = zip(*comparisons, strict=True)
    made = {"id": range(len(p)), "prompt_id": prompt, "model_a": one, "model_b": other, "p_a": p}
    return pl.DataFrame(made).with_columns(
        *(pl.Series(name, values) for name, values in columns.items())
    )


THREE = (("q", "x", "y", 0.9), ("q", "x", "z", 0.7), ("q", "y", "z", 0.4))


def one_row(frame: pl.DataFrame, *columns: str) -> tuple[object, ...]:
    [row] = prepare_choices(frame).frame.select(columns).rows()
    return row


def test_the_choice_has_the_highest_mean_and_doubts_that_it_wins_all_comparisons():
    frame = rows(*THREE, best=["x"] * 3)
    row = one_row(frame, "id", "verdict", "responses", "label", "no_choice", "status")
    assert row == ("q", "x", 3, "x", None, "ok")
    mean, doubt = one_row(frame, "mean_p", "uncertainty")
    assert (mean, doubt) == pytest.approx(((0.9 + 0.7) / 2, 1 - 0.9 * 0.7))


def test_a_choice_that_lost_a_comparison_is_doubted_by_more_than_one_half():
    """z loses to y, but by less than it wins elsewhere."""
    frame = rows(("q", "x", "y", 0.6), ("q", "z", "x", 0.98), ("q", "z", "y", 0.45))
    choice, doubt = one_row(frame, "verdict", "uncertainty")
    assert choice == "z"
    assert doubt == pytest.approx(1 - 0.98 * 0.45)


@pytest.mark.parametrize("shuffle", range(3))
def test_order_of_rows_and_of_the_two_responses_changes_nothing(shuffle):
    frame = simulate_choices(30, responses=4, missing=0.05, seed=3)
    rng = np.random.default_rng(shuffle)
    turn = pl.Series(rng.random(frame.height) < 0.5)
    turned = frame.with_columns(
        model_a=pl.when(turn).then("model_b").otherwise("model_a"),
        model_b=pl.when(turn).then("model_a").otherwise("model_b"),
        p_a=pl.when(turn).then(1 - pl.col("p_a")).otherwise("p_a"),
        label=pl.when(turn).then(pl.col("label").replace({"A": "B", "B": "A"})).otherwise("label"),
    ).sample(fraction=1, shuffle=True, seed=shuffle)
    shown = ("prompt_id", "verdict", "label", "no_choice", "responses")
    for given, again in ((frame, turned), (frame.drop("best"), turned.drop("best"))):
        ours, theirs = (prepare_choices(one).frame.sort("prompt_id") for one in (given, again))
        assert ours.select(shown).equals(theirs.select(shown))
        assert np.allclose(ours["uncertainty"], theirs["uncertainty"])
    again = frame.sample(fraction=1, shuffle=True, seed=shuffle)
    assert (
        prepare_choices(again)
        .frame.sort("id")["uncertainty"]
        .equals(prepare_choices(frame).frame.sort("id")["uncertainty"])
    )


def test_a_pair_that_was_compared_twice_counts_once():
    frame = rows(*THREE, ("q", "z", "x", 0.5))  # x against z: 0.7 and 0.5
    assert one_row(frame, "uncertainty")[0] == pytest.approx(1 - 0.9 * 0.6)


@pytest.mark.parametrize(
    ("comparisons", "reason"),
    [
        (THREE[:2], "missing comparison"),
        ((*THREE[:2], ("q", "y", "z", None)), "failed comparison"),
        ((("q", "x", "y", 0.5),), "tie at the top"),
        ((("q", "x", "y", 0.8), ("q", "y", "z", 0.8), ("q", "z", "x", 0.8)), "tie at the top"),
    ],
)
def test_without_a_choice_there_is_no_verdict_and_the_largest_doubt(comparisons, reason):
    row = one_row(rows(*comparisons, best=["x"] * len(comparisons)),
                    "verdict", "uncertainty", "mean_p", "no_choice", "label")  # fmt: skip
    assert row == (None, 1.0, None, reason, "x")


def test_a_judge_about_to_write_something_else_has_failed():
    frame = rows(*THREE, answer_mass=[1.0, 0.02, 1.0])
    [row] = prepare_choices(frame, min_answer_mass=0.1).frame.rows(named=True)
    assert row["no_choice"] == "failed comparison"
    assert prepare_choices(frame).frame["verdict"].to_list() == ["x"]


def test_people_are_read_from_all_pairs_or_by_name():
    """With all pairs labelled the best has the highest mean share."""
    labels = {"label": ["A", "A", "B"]}
    assert one_row(rows(*THREE, **labels), "label") == ("x",)
    assert one_row(rows(*THREE, label=["A", "B", "A"]), "label") == ("tie",)  # a circle
    assert one_row(rows(*THREE, label=["A", "tie", "B"]), "label") == ("tie",)  # x and z
    assert one_row(rows(*THREE, label=["A", "A", None]), "label") == (None,)
    assert one_row(rows(*THREE[:2], label=["A", "A"]), "label") == (None,)  # y and z: not compared
    assert one_row(rows(*THREE, **labels, best=["y"] * 3), "label") == ("y",)
    assert one_row(rows(*THREE, **labels, best=["tie"] * 3), "label") == ("tie",)
    assert "label" not in prepare_choices(rows(*THREE)).frame.columns


def test_a_file_of_the_best_of_each_prompt():
    frame = rows(*THREE, ("r", "x", "y", 0.2))
    for key in ("prompt_id", "id"):
        done = prepare_choices(frame, labels=pl.DataFrame({key: ["q"], "best": ["z"]}))
        assert done.frame.select("id", "label").rows() == [("q", "z"), ("r", None)]
    votes = {"id": ["q"] * 3, "best": ["x", "z", "z"], "rater": ["a", "b", "c"]}
    assert prepare_choices(frame, labels=pl.DataFrame(votes)).frame["label"].to_list()[0] == "z"
    pairs = pl.DataFrame({"id": [0, 1, 2], "label": ["B", "A", "A"]})
    assert prepare_choices(frame, labels=pairs).frame["label"].to_list() == ["y", None]


def test_a_best_that_is_no_response_is_refused_by_name():
    with pytest.raises(DataError, match="'w' is not a response to prompt 'q'; name one of x, y, z"):
        prepare_choices(rows(*THREE, best=["w"] * 3))


def test_what_cannot_be_compared_is_counted():
    frame = rows(*THREE, ("q", "x", "x", 0.5), ("q", None, "x", 0.5))
    done = prepare_choices(frame)
    assert done.frame["verdict"].to_list() == ["x"]
    assert dict(done.dropped) == {
        "no prompt_id or model_a or model_b": 1,
        "a response compared with itself": 1,
    }


def test_rows_that_name_no_responses_are_refused_in_one_line():
    with pytest.raises(DataError, match="has no prompt_id, model_a, model_b; a choice among"):
        prepare_choices(pl.DataFrame({"id": [1], "p_a": [0.9]}))
    with pytest.raises(DataError, match="has grades"):
        prepare_choices(
            {"id": [1], "p_pass": [0.9], "prompt_id": ["q"], "model_a": ["x"], "model_b": ["y"]}
        )
    with pytest.raises(ArgumentError, match="give this response another name"):
        prepare_choices(rows(("q", "x", "tie", 0.9)))


def test_a_column_of_the_prompt_stays_and_one_of_the_pair_goes():
    frame = rows(*THREE, topic=["code"] * 3, seconds=[1, 2, 3])
    done = prepare_choices(frame).frame
    assert done["topic"].to_list() == ["code"]
    assert done["seconds"].to_list() == [None]


def test_what_speaks_against_one_label_speaks_against_the_prompt():
    frame = rows(*THREE, label=["A", "A", "B"], sampled_by=["random", "doubt", "random"],
                 labelled_by=["person", "person", "model"])  # fmt: skip
    assert one_row(frame, "sampled_by", "labelled_by") == ("doubt", "model")


def test_what_a_reader_should_know_of_the_prompts():
    frame = prepare_choices(rows(("q", "x", "y", 0.5), ("r", "x", "y", 0.7), *[
        ("s", one, other, p) for _, one, other, p in THREE[:2]])).frame  # fmt: skip
    assert describe_choices(frame) == [
        "1 labelled prompt without a choice (missing comparison): counted as errors, "
        "never accepted",
        "1 labelled prompt without a choice (tie at the top): counted as errors, never accepted",
        "2 labelled prompts with two responses: one comparison decides",
    ]
