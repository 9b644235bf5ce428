"""Labels as people write them, and how files say that there is nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.data import (
    iter_pairs,
    open_pairs,
    open_table,
    prepare_grades,
    read_battles,
    read_grades,
    read_judgments,
    read_labels,
    read_pairs,
    read_tournaments,
)
from adjudge.data.names import parse_labels_as, point_decimals
from adjudge.data.rows import tidy
from adjudge.errors import ArgumentError, DataError

ROW = {"prompt": "q", "response_a": "x", "response_b": "y", "model_a": "gpt-4o", "model_b": "o3"}


def rows(labels: list[Any]) -> list[dict[str, Any]]:
    return [{"id": str(i), **ROW, "label": label} for i, label in enumerate(labels)]


def both(given: list[dict[str, Any]], **options: Any) -> list[str | None]:
    """The labels as a frame and as a stream have them, which must be the same."""
    frame = read_pairs(open_table(given, **options))["label"].to_list()
    assert [pair.label for pair in open_pairs(given, **options)] == frame
    return frame


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (["A", "a", " A ", "1", 1, 1.0, "left", "LEFT", "first", "model_a", "gpt-4o"], "A"),
        (["Response A", "assistant_a", "Assistant A", "option 1", "[[A]]", "A>B", "A>>B"], "A"),
        (["B", "b", "2", 2, "right", "Second", "response_b", "output_2", "o3"], "B"),
        (["Model B", "Candidate 2", "[[B]]", "B>A", "B>>A"], "B"),
        (["tie", "Tie", "draw", "equal", "both_bad", "tie (bothbad)", "[[C]]", "both good"], "tie"),
        ([None, "", "  ", "NaN", "n/a", "N/A", "null", "NULL", "NA", "#N/A"], None),
    ],
)
def test_labels_of_pairs(words: list[Any], label: str | None) -> None:
    for word in words:
        assert both(rows([word, "A"])) == [label, "A"], word


def test_zero_and_one_in_pairs_are_refused_until_somebody_says_which() -> None:
    given = rows([1, 0])
    text = r"row 2, column label: '0' can mean either answer; choose one: --labels-as '0=A,1=B'"
    with pytest.raises(DataError, match=text):
        read_pairs(given)
    with pytest.raises(DataError, match=text):
        list(iter_pairs(given))
    assert both(given, labels_as={"0": "A", "1": "B"}) == ["B", "A"]
    assert both(given, labels_as={0: "B", 1: "A"}) == ["A", "B"]


def test_other_words_by_a_mapping() -> None:
    given = rows(["up", "down", "skip"])
    with pytest.raises(DataError, match=r"'up' is not known; use A, B or tie, or give its mea"):
        read_pairs(given)
    assert both(given, labels_as={"up": "a", "down": "right", "skip": ""}) == ["A", "B", None]


def test_words_for_the_labels_of_a_public_set_are_refused() -> None:
    """They would do nothing: its labels are A and B before anybody could say what they mean."""
    given = [{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 2}]
    text = r"LLMBar, whose labels get our words; leave out --labels-as \(labels_as=\)$"
    with pytest.raises(DataError, match=text):
        open_pairs(given, labels_as={"2": "A"})
    assert [pair.label for pair in open_pairs(given)] == ["B"]


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        ("0=A,1=B", {"0": "A", "1": "B"}),
        (" x = A , y=", {"x": "A", "y": ""}),
        ("a=b=A", {"a=b": "A"}),
    ],
)
def test_the_option(text: str, mapping: dict[str, str]) -> None:
    assert parse_labels_as(text) == mapping


@pytest.mark.attack("options")
@pytest.mark.parametrize("text", ["1=1,1=0", "x=1,X=0", "1=A,1.0=B", "x=A,X=A,x =B"])
def test_a_word_with_two_meanings_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"labels_as = .*: give \S+ one meaning"):
        parse_labels_as(text)


def test_spellings_of_one_word_with_one_meaning_are_fine() -> None:
    assert parse_labels_as("Bad=0,GOOD=1,Good=1") == {"Bad": "0", "GOOD": "1", "Good": "1"}


@pytest.mark.attack("options")
@pytest.mark.parametrize("text", ["", "x", "=A", "x=A,,", "1=1=1", "x=y=A"])
def test_an_option_that_says_nothing(text: str) -> None:
    with pytest.raises(ArgumentError, match="write THEIRS=OURS"):
        parse_labels_as(text)


def test_a_name_that_both_models_have_is_no_winner() -> None:
    given = [{"id": "1", **ROW, "model_b": "gpt-4o", "label": "gpt-4o"}]
    for read in (read_pairs, lambda one: list(iter_pairs(one))):
        with pytest.raises(DataError, match="'gpt-4o' is not known"):
            read(given)


def test_winners_verdicts_and_labels_are_read_alike() -> None:
    models = {"model_a": ["x", "x", "y"], "model_b": ["y", "y", "x"]}
    assert read_battles({**models, "winner": ["x", "Y", "y"]} | {"winner": ["x", "y", "y"]})[
        "winner"
    ].to_list() == ["model_a", "model_b", "model_a"]
    verdicts = {"doc_id": [1, 2, 3], **models, "verdict": ["x", "2", "Left"]}
    assert read_tournaments(verdicts)["verdict"].to_list() == ["A", "B", "A"]
    labels = read_labels({"id": [1, 2], "label": ["left", "2"]})
    assert labels["label"].to_list() == ["A", "B"]
    judged = read_judgments({"id": [1], "p_a": [0.9], "verdict": ["left"], "label": ["RIGHT"]})
    assert judged.select("verdict", "label").row(0) == ("A", "B")


@pytest.mark.parametrize(
    ("one", "zero"), [(1, 0), (True, False), ("Pass", "FAIL"), ("yes", "No"), ("1.0", "0.0")]
)
def test_grades(one: Any, zero: Any) -> None:
    given = {"id": [1, 2, 3], "judge": [one, zero, one], "human": [zero, one, None]}
    assert prepare_grades(given).judge.tolist() == [1, 0, 1]
    graded = read_grades({**given, "uncertainty": [0.1, 0.2, 0.3]})
    assert graded["label"].to_list() == ["fail", "pass", None]


def test_the_first_of_many_unknown_grades_is_refused() -> None:
    given = {"p_pass": [0.9] * 50, "human": [f"word {i}" for i in range(50)]}
    with pytest.raises(DataError, match="row 1, column human: 'word 0' is neither pass nor fail"):
        read_grades(given)


def test_a_text_that_is_judged_can_say_null(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("id,prompt,response_a,response_b,label\nNA,null,N/A,NaN,N/A\n")
    frame = read_pairs(path)
    assert frame.row(0) == ("NA", "null", "N/A", "NaN", None)
    pair = next(iter_pairs(path))
    assert (pair.id, pair.prompt, pair.response_a, pair.label) == ("NA", "null", "N/A", None)


@pytest.mark.parametrize("gap", ["NaN", "N/A", "null", " ", ""])
def test_gaps_among_numbers_and_groups(gap: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"id,p_a,prompt_id\n1,0.7,p\n2,{gap},{gap}\n")
    frame = read_judgments(path)
    assert frame["status"].to_list() == ["ok", "error"]
    assert frame["prompt_id"].to_list() == ["p", None]
    assert tidy(pl.Series(["x", gap]), "rows", "by").to_list() == ["x", None]


def test_none_is_a_word_like_others() -> None:
    assert tidy(pl.Series(["none", "mild"]), "rows", "human").to_list() == ["none", "mild"]


def test_decimal_commas() -> None:
    assert point_decimals(pl.Series(["3,5", "4", ""])).to_list() == ["3.5", "4", ""]
    for as_they_are in (["1,234", "5"], ["a,b"], ["1,5", "x"], ["1,2,3"]):
        assert point_decimals(pl.Series(as_they_are)).to_list() == as_they_are
