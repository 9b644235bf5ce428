"""Columns under other people's names: what is taken for what, what is refused, what is said."""

from __future__ import annotations

import logging
from pathlib import Path

import polars as pl
import pytest

from adjudge.data import (
    iter_pairs,
    open_items,
    open_pairs,
    open_table,
    read_battles,
    read_items,
    read_judgments,
    read_pairs,
    read_scores,
    sniff,
)
from adjudge.data.names import GRADE, USUAL, match_columns, read_word, read_words
from adjudge.data.source import ColumnNames
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import estimate

PAIR = {"question": ["2+2?"], "output_1": ["4"], "output_2": ["5"]}


def test_the_table_is_in_the_form_that_columns_are_compared_in() -> None:
    for ours, names in USUAL.items():
        listed = names.split()
        assert len(listed) == len(set(listed)), ours
        assert all(name == name.lower() and name.isidentifier() for name in listed), ours
        assert ours.rpartition(":")[2] not in listed


@pytest.mark.parametrize(
    "name", ["Response A", "response-a", "responseA", " RESPONSE_A ", "ResponseA"]
)
def test_our_own_name_in_another_spelling(name: str) -> None:
    assert match_columns([name], ["response_a"], kind="pairs", source="f") == {"response_a": name}


def test_usual_names_are_taken_and_said_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "adjudge.data"):
        frame = read_pairs({**PAIR, "winner": ["Left"], "uid": ["x"]})
    assert frame.row(0, named=True) == {
        "id": "x", "prompt": "2+2?", "response_a": "4", "response_b": "5", "label": "A",
    }  # fmt: skip
    assert caplog.messages == [
        "the dict of columns: read uid as id, question as prompt, output_1 as response_a, "
        "output_2 as response_b, winner as label"
    ]


def test_a_file_with_our_names_needs_no_remark(caplog: pytest.LogCaptureFixture) -> None:
    read_pairs({"id": [1], "prompt": ["q"], "response_a": ["a"], "response_b": ["b"]})
    assert caplog.messages == []


def test_a_stream_reads_as_a_frame_does(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    lines = ['{"Question": "q", "answer_a": "x", "answer_b": "y"}',
             '{"Question": "r", "answer_a": "x", "answer_b": "z", "winner": "right"}']  # fmt: skip
    path.write_text("\n".join(lines))
    frame = read_pairs(path)
    streamed = list(iter_pairs(path))
    assert [pair.label for pair in streamed] == frame["label"].to_list() == [None, "B"]
    assert [pair.id for pair in streamed] == frame["id"].to_list()


def test_two_columns_that_fit_are_refused_and_both_shown() -> None:
    text = "the dict of columns: question and instruction can each be prompt; choose one: "
    with pytest.raises(DataError, match=text) as caught:
        read_pairs({**PAIR, "instruction": ["add"]})
    assert "--column prompt=question (columns=)" in str(caught.value)
    named = read_pairs(
        open_table({**PAIR, "instruction": ["add"]}, columns={"prompt": "instruction"})
    )
    assert named["prompt"].to_list() == ["add"]
    # Where ours is there nothing is guessed, however many others there are.
    assert read_pairs({**PAIR, "prompt": ["p"], "instruction": ["i"]})["prompt"][0] == "p"


def test_the_number_of_a_row_is_no_id() -> None:
    assert read_pairs({**PAIR, "index": [7]})["id"][0] != "7"


@pytest.mark.parametrize(
    "read", [read_pairs, lambda rows: list(iter_pairs(rows)), lambda rows: list(open_pairs(rows))]
)
def test_all_missing_columns_are_named_at_once(read) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError) as caught:
        read({"text": ["q"], "left one": ["a"]})
    assert str(caught.value) == (
        "the dict of columns: has no columns prompt, response_a, response_b; name yours: "
        "--column prompt=NAME --column response_a=NAME --column response_b=NAME (columns=); "
        "columns here: text, left one"
    )


def test_what_a_file_is_instead_is_known_by_usual_names_too() -> None:
    items = {"question": ["q"], "answer": ["a"], "topic": ["t"]}
    assert sniff(items) == "items"
    with pytest.raises(DataError, match="looks like an items file of adjudge, not a pairs file"):
        read_pairs(items)
    assert [item.response for item in open_items(items)] == ["a"]
    assert read_items(items).columns == ["id", "prompt", "response", "topic"]


def test_a_column_of_the_kind_is_never_taken_for_another() -> None:
    """`winner` is the vote of a battle and the label of a pair."""
    battle = {"model_1": ["x"], "model_2": ["y"], "winner": ["2"]}
    assert read_battles(battle).row(0)[:3] == ("x", "y", "model_b")
    judged = read_judgments({"id": [1], "prob_a": [0.9], "human_pref": ["B"]})
    assert judged.select("p_a", "verdict", "label").row(0) == (0.9, "A", "B")


def test_a_winner_next_to_probabilities_can_be_the_judges_own() -> None:
    judged = read_judgments({"id": [1], "p_a": [0.9], "winner": ["A"], "preference": ["A"]})
    assert "label" not in judged.columns


def test_a_column_that_is_taken_wrongly_gets_another_name() -> None:
    rows = {**PAIR, "choice": ["whatever it was"]}
    with pytest.raises(DataError, match="'whatever it was' is not known"):
        read_pairs(rows)
    assert read_pairs(open_table(rows, columns={"note": "choice"}))["note"].to_list() == [
        "whatever it was"
    ]
    assert [pair.label for pair in iter_pairs(rows, columns={"note": "choice"})] == [None]


def test_scores_without_documents(caplog: pytest.LogCaptureFixture) -> None:
    rows = {"question": ["q", "q", "r"], "grade": ["1", "2,5", "3,5"], "human_rating": [1, 2, 3]}
    frame = read_scores({**rows, "model": ["x", "y", "x"]})
    assert frame["judge_score"].to_list() == [1, 2.5, 3.5]
    assert frame["doc_id"].n_unique() == 2
    assert "rows with the same prompt are one document" in caplog.text
    alone = read_scores({"score": [1, 1], "human_score": [1, 2]})
    assert alone["doc_id"].n_unique() == 2


def test_rows_are_grouped_by_the_name_that_the_file_has() -> None:
    rows = {"judge": [1, 0] * 30, "human": [1, 0] * 15 + [None] * 30, "question": ["q", "r"] * 30}
    by = {group.group for group in estimate(rows, by="question").groups}
    assert by == {"q", "r"} == {group.group for group in estimate(rows, by="prompt").groups}


def test_names_are_for_all_files_of_a_call() -> None:
    with ColumnNames({"id": "qid", "label": "vote"}, {"7": "A"}) as name:
        rows, labels = name({"qid": [1], "p_a": [0.4]}), name({"qid": [1], "vote": [7]})
    assert rows.frame.columns == ["id", "p_a"]
    assert labels.frame.columns == ["id", "label"]
    assert labels.labels_as == {"7": "A"}
    with (
        pytest.raises(DataError, match="column vote: is not in the file; columns here: qid"),
        ColumnNames({"label": "vote"}) as name,
    ):
        name({"qid": [1]})
    with (
        pytest.raises(ArgumentError, match="give it to the call that prepared these rows"),
        ColumnNames({"label": "vote"}) as name,
    ):
        name(object())


def test_a_column_that_is_called_like_ours_keeps_its_values() -> None:
    table = open_table({"judge": ["gpt"], "verdict": [1]}, columns={"judge": "verdict"})
    assert table.frame.to_dict(as_series=False) == {"judge_given": ["gpt"], "judge": [1]}


def test_columns_that_the_caller_names_in_a_stream_must_be_there() -> None:
    with pytest.raises(DataError, match="column vote: is not in the file; columns here: question"):
        list(iter_pairs(PAIR, columns={"label": "vote"}))
    with pytest.raises(DataError, match="column ask: is not in the file"):
        list(iter_pairs(PAIR, columns={"prompt": "ask"}))


def test_a_fraction_is_a_word_only_if_it_has_a_meaning() -> None:
    """Fractions are not looked at one by one, unless the caller gives one a meaning."""
    values = pl.Series(["0.25", "0.5", "1.0", " Good", "n/a", None])
    plain = read_words(values, GRADE, {}).to_list()
    assert plain == [v if v is None else read_word(v, GRADE, {}) for v in values]
    assert plain[:2] == ["0.25", "0.5"]
    assert plain[4] is None
    meant = read_words(values, GRADE, {"0.5": "1"}).to_list()
    assert meant == ["0.25", read_word("0.5", GRADE, {"0.5": "1"}), *plain[2:]]
    assert meant[1] != "0.5"


def test_the_meaning_of_a_word_holds_for_its_other_spellings() -> None:
    values = pl.Series(["Good", "good", "GOOD ", "bad", "BAD"])
    ours = {"Good": "1", "Bad": "0"}
    assert read_words(values, GRADE, ours).to_list() == ["1", "1", "1", "0", "0"]
    # In Python two spellings can have two meanings.
    two = {"Good": "1", "good": "0", "bad": "0"}
    assert read_words(values, GRADE, two).to_list()[:2] == ["1", "0"]
