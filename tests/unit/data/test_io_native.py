"""The native formats: what is derived, what is refused, and in which words."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge.data import (
    iter_items,
    iter_pairs,
    join_human_scores,
    open_table,
    prepare_grades,
    read_battles,
    read_items,
    read_judgments,
    read_labels,
    read_pairs,
    read_scores,
    read_tournaments,
    write_rows,
)
from adjudge.errors import ArgumentError, DataError
from adjudge.statistics.entropy import preference_entropy

PAIRS = {
    "id": ["x", "y"],
    "prompt": ["2+2?", "Capital of France?"],
    "response_a": ["4", ""],
    "response_b": ["5", "Paris"],
}


def refusal(read: Callable[..., Any], rows: dict[str, Any], **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(rows, **options)
    return str(caught.value)


# --- pairs -----------------------------------------------------------------------------------


def test_pairs_keep_unknown_columns_and_empty_responses(tmp_path: Path) -> None:
    frame = read_pairs({**PAIRS, "label": ["A", None], "topic": ["maths", "world"]})
    assert frame.columns == ["id", "prompt", "response_a", "response_b", "label", "topic"]
    for suffix in (".jsonl", ".csv", ".parquet", ".csv.gz"):
        path = write_rows(frame, tmp_path / f"pairs{suffix}")
        assert read_pairs(path).equals(frame)
        streamed = list(iter_pairs(path))
        assert [pair.response_a for pair in streamed] == ["4", ""]
        assert [pair.label for pair in streamed] == ["A", None]
        assert streamed[0].extra == {"topic": "maths"}


def test_pair_ids_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("id,prompt,response_a,response_b\n007,q,1,2\n008,q,3,4\n")
    assert read_pairs(path)["id"].to_list() == ["007", "008"]
    assert read_pairs(path)["response_a"].to_list() == ["1", "3"]
    assert [pair.id for pair in iter_pairs(path)] == ["007", "008"]


@pytest.mark.parametrize(
    "read",
    [
        lambda rows, **k: read_pairs(open_table(rows, **k)),
        lambda *a, **k: list(iter_pairs(*a, **k)),
    ],
)
class TestPairsRefused:
    def test_duplicate_id(self, read: Callable[..., Any]) -> None:
        text = refusal(read, {**PAIRS, "id": ["x", "x"]})
        assert text.startswith("the dict of columns, row 2, column id: id 'x'")
        assert text.endswith("give every pair its own id")

    def test_missing_prompt(self, read: Callable[..., Any]) -> None:
        text = refusal(read, {**PAIRS, "prompt": ["5", None]})
        assert text.startswith("the dict of columns, row 2, column prompt: is ")

    def test_an_empty_answer_is_an_answer_and_counted(
        self, read: Callable[..., Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        read({**PAIRS, "response_b": ["5", None]})
        assert (
            "the dict of columns: 1 row has no response_b: read as an empty answer" in caplog.text
        )

    def test_missing_column(self, read: Callable[..., Any]) -> None:
        text = refusal(read, {k: v for k, v in PAIRS.items() if k != "response_b"})
        assert "column response_b: is missing" in text
        assert "columns here: " in text

    def test_a_number_that_is_none(self, read: Callable[..., Any]) -> None:
        text = refusal(read, {**PAIRS, "id": [1.0, float("nan")]})
        assert text.startswith("the dict of columns, row 2, column id: is empty; fill it in")

    def test_unknown_label(self, read: Callable[..., Any]) -> None:
        text = refusal(read, {**PAIRS, "label": ["A", "upper"]})
        assert text == (
            "the dict of columns, row 2, column label: 'upper' is not known; use A, B or tie, or "
            "give its meaning: --labels-as 'upper=...'"
        )

    def test_columns_are_mapped(self, read: Callable[..., Any]) -> None:
        rows = {**PAIRS, "output_1": ["one", "two"]}
        pairs = read(rows, columns={"response_a": "output_1"})
        first = pairs["response_a"][0] if isinstance(pairs, pl.DataFrame) else pairs[0].response_a
        assert first == "one"
        text = refusal(read, rows, columns={"response_a": "output_9"})
        assert "column output_9: is not in the file; columns here: id, prompt" in text


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_streaming_holds_little_in_memory(tmp_path: Path, suffix: str) -> None:
    """60 MB of pairs pass through a few megabytes (CSV goes by blocks of 1 MiB)."""
    count = 20_000
    rows = pl.DataFrame({"id": [f"pair-{i}" for i in range(count)]}).with_columns(
        prompt=pl.lit("q" * 1000), response_a=pl.lit("a" * 1000), response_b=pl.lit("b" * 1000)
    )
    path = write_rows(rows, tmp_path / f"pairs{suffix}")
    tracemalloc.start()
    assert sum(1 for _ in iter_pairs(path)) == count
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60e6


def test_pairs_from_pandas() -> None:
    frame = read_pairs(pd.DataFrame({**PAIRS, "id": [1.0, 2.0], "label": ["A", None]}))
    assert frame["id"].to_list() == ["1", "2"]
    assert frame["label"].to_list() == ["A", None]


def test_items_both_ways(tmp_path: Path) -> None:
    rows = {"id": ["x"], "prompt": ["p"], "response": ["r"], "doc_id": [3], "note": ["kept"]}
    assert read_items(rows)["doc_id"].to_list() == ["3"]
    item = next(iter_items(write_rows(rows, tmp_path / "items.jsonl")))
    assert (item.doc_id, item.model, item.extra) == ("3", None, {"note": "kept"})
    with pytest.raises(DataError, match="looks like a pairs file of adjudge, not an items file"):
        next(iter_items(PAIRS))


# --- judgments -------------------------------------------------------------------------------


def test_judgments_derive_only_what_was_measured() -> None:
    frame = read_judgments({"id": [1, 2, 3], "p_fwd": [0.9, 0.2, 0.6], "p_rev": [0.5, 0.2, 0.4]})
    assert frame["p_a"].to_list() == [0.7, 0.2, 0.5]
    assert frame["verdict"].to_list() == ["A", "B", None]
    assert frame["uncertainty"].to_list() == preference_entropy([0.7, 0.2, 0.5]).tolist()
    assert frame["status"].to_list() == ["ok"] * 3
    assert frame["judge"].to_list() == ["unnamed"] * 3


def test_p_a_alone_is_enough_and_names_can_be_given() -> None:
    frame = read_judgments({"id": ["x"], "p_a": [1.0]}, judge="gpt", protocol="mine")
    assert frame.select("judge", "protocol", "uncertainty", "p_fwd").row(0) == (
        "gpt", "mine", 0.0, None,
    )  # fmt: skip
    with pytest.raises(ArgumentError, match="has its own judge"):
        read_judgments({"id": ["x"], "p_a": [1.0], "judge": ["other"]}, judge="gpt")


def test_without_a_status_a_missing_number_is_counted_not_guessed() -> None:
    frame = read_judgments({"id": [1, 2, 3], "p_fwd": [0.9, 0.8, None], "p_rev": [0.7, None, None]})
    assert frame["status"].to_list() == ["ok", "error", "error"]
    assert frame["detail"].to_list() == [None, *["no probability in the file"] * 2]
    for column in ("p_fwd", "p_rev", "p_a", "uncertainty", "verdict"):
        assert frame[column].to_list()[1:] == [None, None]


def test_own_uncertainty_is_kept_per_judge_and_protocol() -> None:
    frame = read_judgments(
        {"id": [1, 1], "judge": ["a", "b"], "p_a": [0.9, 0.9], "uncertainty": [0.01, None]}
    )
    assert frame["uncertainty"].to_list() == [0.01, preference_entropy([0.9])[0]]


@pytest.mark.parametrize(
    ("rows", "start"),
    [
        ({"id": [1, 2], "p_a": [0.5, 1.2]}, "row 2, column p_a: 1.2 is out of range"),
        ({"id": [1, 2], "p_a": [0.5, float("inf")]}, "row 2, column p_a: inf is not a finite"),
        ({"id": [1, 2], "p_a": ["0.5", "high"]}, "row 2, column p_a: 'high' is not a number"),
        ({"id": [1, 1], "p_a": [0.5, 0.6]}, "row 2, column id: id '1', judge 'unnamed'"),
        ({"id": [1, None], "p_a": [0.5, 0.5]}, "row 2, column id: is empty"),
        ({"id": [1], "p_a": [0.5], "label": ["C"]}, "row 1, column label: 'C' is not known"),
        ({"id": [1], "p_a": [0.5], "status": ["fine"]}, "row 1, column status: 'fine' is not"),
        ({"id": [1], "p_a": [None], "status": ["ok"]}, "row 1, column p_a: is empty though"),
        (
            {"id": [1], "p_a": [0.9], "p_fwd": [0.9], "p_rev": [0.1]},
            "row 1, column p_a: 0.9 is not the mean of p_fwd and p_rev",
        ),
        (
            {"id": [1], "p_a": [0.3], "verdict": ["A"]},
            "row 1, column verdict: does not follow from p_a = 0.3",
        ),
        (
            {"id": [1, 2], "p_a": [0.3, 0.4], "uncertainty": [0.1, None]},
            "row 2, column uncertainty: is empty while other rows",
        ),
        ({"id": [1], "p_a": [0.5], "judge": [None]}, "row 1, column judge: is empty"),
        ({"id": [1], "p_a": [0.5], "tokens": [1.5]}, "row 1, column tokens: 1.5 is not a whole"),
        ({"id": [1], "verdict": ["A"]}, "column p_a: is missing; verdicts alone have no doubt"),
        ({"id": [1], "p_fwd": [0.5]}, "column p_a: is missing"),
        ({"id": [[1]], "p_a": [0.5]}, "row 1, column id: contains a list or an object"),
    ],
)
def test_judgments_refused(rows: dict[str, Any], start: str) -> None:
    assert refusal(read_judgments, rows).removeprefix("the dict of columns, ").startswith(start)


def test_judgments_in_chunks_are_not_copied_and_are_checked_across_them() -> None:
    chunks = [
        pl.DataFrame({"id": ids, "p_a": p_a})
        for ids, p_a in ([["a", "b"], [0.9, 0.5]], [["c"], [0.2]], [["d", "e"], [0.5, 0.7]])
    ]
    rows = read_judgments(pl.concat(chunks, rechunk=False))
    made = rows.select("id", "p_a", "uncertainty", "verdict")
    assert {column.n_chunks() for column in made} == {3}
    assert rows["verdict"].to_list() == ["A", None, "B", None, "A"]
    assert rows["uncertainty"].to_list() == preference_entropy(rows["p_a"]).tolist()
    other = chunks[1].with_columns(p_a=0.3)
    again = pl.concat([*chunks[:2], other, chunks[2]], rechunk=False)
    with pytest.raises(DataError, match="row 4, column id: id 'c', judge 'unnamed'"):
        read_judgments(again)


def test_judgments_come_back_as_they_were_written(tmp_path: Path) -> None:
    frame = read_judgments(
        {
            "id": ["x", "y"],
            "p_fwd": [0.9, None],
            "p_rev": [0.6, None],
            "status": ["censored", "refused"],
            "tokens": [12, 9],
            "label": ["A", "tie"],
            "domain": ["a", "b"],
        }
    )
    for suffix in (".jsonl", ".csv", ".parquet"):
        assert read_judgments(write_rows(frame, tmp_path / f"j{suffix}")).equals(frame)


# --- labels ----------------------------------------------------------------------------------


def test_one_rater_says_one_thing() -> None:
    twice = {"id": ["x", "x"], "label": ["A", "A"], "rater": ["1", "1"]}
    assert read_labels(twice).height == 1
    text = refusal(read_labels, {**twice, "label": ["A", "B"]})
    assert "row 2, column label: rater '1' labelled 'x' in two ways" in text
    skipped = read_labels({**twice, "label": [None, "A"]})
    assert skipped["label"].to_list() == [None, "A"]


def test_how_labels_were_drawn_is_one_of_three_words() -> None:
    assert "'guess' is not known" in refusal(
        read_labels, {"id": [1], "label": ["A"], "sampled_by": ["guess"]}
    )


# --- scores, battles, tournaments, binary ----------------------------------------------------

SCORES = {"doc_id": ["d", "e"], "model": ["m", "m"], "judge_score": [4, None]}


def test_scores_and_raters() -> None:
    frame = read_scores({**SCORES, "expert1": [5, 2], "expert2": [3, None]})
    assert frame["human_scores"].to_list() == [[5.0, 3.0], [2.0]]
    assert frame["status"].to_list() == ["ok", "error"]
    assert frame["id"].to_list() == ["d|m|unnamed", "e|m|unnamed"]
    named = read_scores({**SCORES, "anna": [1, 2]}, raters=["anna"])
    assert named["human_scores"].to_list() == [[1.0], [2.0]]
    assert read_scores({**SCORES, "human_score": [2.5, 1]})["human_scores"][0].to_list() == [2.5]
    assert "human_scores" not in read_scores(SCORES).columns


def test_score_probabilities(tmp_path: Path) -> None:
    rows = {**SCORES, "score_probs": [[0.25, 0.75], None]}
    path = write_rows(rows, tmp_path / "scores.csv")
    assert read_scores(path)["score_probs"].to_list() == [[0.25, 0.75], None]
    texts = {**SCORES, "score_probs": ["[0.25, 0.75]", " "]}
    assert read_scores(texts)["score_probs"].to_list() == [[0.25, 0.75], None]
    bad = {**SCORES, "score_probs": [[0.5, 0.1], None]}
    assert "row 1, column score_probs: [0.5, 0.1] does not add up" in _plain(
        refusal(read_scores, bad)
    )
    bad = {**SCORES, "score_probs": [[0.5, 0.5], [0.2, 0.2, 0.6]]}
    assert "lists of 2 and of 3 numbers" in refusal(read_scores, bad)
    bad = {**SCORES, "score_probs": [[1.5, -0.5], None]}
    assert "row 1, column score_probs" in refusal(read_scores, bad)
    bad = {**SCORES, "score_probs": ["[1, 0]", "many"]}
    assert "row 2, column score_probs: 'many' is not a list" in refusal(read_scores, bad)


def _plain(text: str) -> str:
    return " ".join(text.replace("\n", " ").replace("\t", " ").split())


def test_scores_refused() -> None:
    assert "row 2, column doc_id" in refusal(read_scores, {**SCORES, "doc_id": ["d", "d"]})
    assert "column judge_score: is missing" in refusal(
        read_scores, {"doc_id": [1], "model": ["m"], "criterion": ["c"]}
    )
    text = refusal(read_scores, {**SCORES, "status": ["ok", "ok"]})
    assert "row 2, column judge_score: is empty though the row is 'ok'" in text
    assert read_scores({**SCORES, "doc_id": ["d", "d"], "repeat": [1, 2]}).height == 2


def test_people_join_a_judges_scores() -> None:
    scores = read_scores({**SCORES, "criterion": ["c", "c"]})
    human = pl.DataFrame({"doc_id": ["d"], "model": ["m"], "criterion": ["c"], "expert1": [3.0]})
    human = human.with_columns(human_scores=pl.concat_list("expert1"))
    joined, without = join_human_scores(scores, human)
    assert joined["expert1"].to_list() == [3.0, None]
    assert without == 1


BATTLE = {"model_a": ["m", "n", "m"], "model_b": ["n", "o", "o"]}


@pytest.mark.parametrize(
    "given",
    [
        {"winner": ["model_a", "model_b", "tie"]},
        {"human_pref": ["A", "B", "tie"]},
        {"human_pref": [1, 0, 0.5]},
        {"human_pref": ["1", "0", "0.5"]},
    ],
)
def test_battle_winners_in_every_spelling(given: dict[str, Any]) -> None:
    assert read_battles({**BATTLE, **given})["winner"].to_list() == ["model_a", "model_b", "tie"]


@pytest.mark.parametrize(
    "scores",
    [
        [{"x": 2.0, "y": 4.0}, {"x": 1.0, "y": None}, None],
        ['{"x": 2, "y": 4}', '{"x": 1, "y": null}', None],
        ["{'x': 2.0, 'y': 4.0}", "{'x': 1.0, 'y': None}", None],
        ['{"it\'s": 2.0, "y": 4.0}', "{\"it's\": 1.0, 'y': None}", None],
    ],
)
def test_battle_scores_in_every_spelling(scores: list[Any]) -> None:
    rows = {**BATTLE, "winner": ["tie"] * 3, "scores_a": scores, "scores_b": scores}
    frame = read_battles(rows)
    assert frame["score_a"].to_list() == [3.0, 1.0, None]
    assert frame["score_b"].to_list() == [3.0, 1.0, None]


def test_a_criterion_counts_only_where_both_sides_have_it() -> None:
    rows = {
        "model_a": ["m"],
        "model_b": ["n"],
        "winner": ["tie"],
        "scores_a": [{"x": 2.0, "y": 10.0}],
        "scores_b": [{"x": 4.0, "y": None}],
    }
    frame = read_battles(rows)
    assert frame.select("score_a", "score_b").row(0) == (2.0, 4.0)


@pytest.mark.parametrize(
    ("rows", "start"),
    [
        ({"winner": ["A", "C", "tie"]}, "row 2, column winner: 'C' is not known"),
        ({"winner": [1, 0, 1]}, "row 2, column winner: '0' can mean either answer; choose one"),
        ({"human_pref": ["A", "C", "tie"]}, "row 2, column human_pref: 'C' is not known"),
        ({"human_pref": [1, 0.7, 0]}, "row 2, column human_pref: 0.7 is not known"),
        ({"human_pref": [1, 0, 0], "scores_a": ["{}"] * 3}, "column human_pref: numbers next to"),
        (
            {"model_b": ["n", "n", "o"], "winner": ["tie"] * 3},
            "row 2, column model_b: 'n' is compared",
        ),
        ({"winner": ["tie"] * 3, "score_a": [1, 2, 3]}, "column score_a: one side has a score"),
        ({"winner": ["tie"] * 3, "scores_a": [1, 2, 3]}, "row 1, column scores_a: has no obj"),
        ({"winner": ["tie"] * 3, "scores_a": [{}] * 3}, "row 1, column scores_a: has no obj"),
        (
            {"winner": ["tie"] * 3, "scores_a": ["{'x': 1}", "[1]", None]},
            "row 2, column scores_a: '[1]' is not an object",
        ),
        (
            {"winner": ["tie"] * 3, "scores_a": [{"x": 1}] * 3, "scores_b": [{"y": 1}] * 3},
            "column scores_a: shares no criterion",
        ),
        ({}, "column winner: is missing; give winner or human_pref"),
    ],
)
def test_battles_refused(rows: dict[str, Any], start: str) -> None:
    assert (
        refusal(read_battles, {**BATTLE, **rows})
        .removeprefix("the dict of columns, ")
        .startswith(start)
    )


EDGE = {"doc_id": [1, 1], "model_a": ["m", "m"], "model_b": ["n", "o"], "judge": ["j", "j"]}


def test_tournaments_in_every_shape() -> None:
    assert read_tournaments({**EDGE, "verdict": ["A", None]})["verdict"].to_list() == ["A", None]
    assert read_tournaments({**EDGE, "p_a": [0.9, 0.5]})["verdict"].to_list() == ["A", "tie"]
    both = read_tournaments({**EDGE, "p_fwd": [0.9, None], "p_rev": [0.2, 0.5]})
    assert both.select("order", "verdict").rows() == [
        ("ab", "A"), ("ba", "B"), ("ab", None), ("ba", "tie"),
    ]  # fmt: skip
    published = {
        "question_id": [1],
        "model_a": ["m"],
        "model_b": ["n"],
        "judge_label": ["A"],
        "judge_label_rev": ["tie"],
    }
    assert read_tournaments(published)["verdict"].to_list() == ["A", "tie"]


def test_tournaments_refused() -> None:
    again = {**EDGE, "model_a": ["m", "n"], "model_b": ["n", "m"], "verdict": ["A", "A"]}
    twice = refusal(read_tournaments, again)
    assert "row 2, column doc_id: doc_id '1', model_a 'm', model_b 'n'" in twice
    assert "is in the file twice" in twice
    assert "add a column `order`" in twice
    assert read_tournaments({**again, "repeat": [1, 2]}).height == 2
    assert read_tournaments({**again, "order": ["ab", "ab"]}).height == 2
    assert "row 1, column verdict: 'upper'" in refusal(
        read_tournaments, {**EDGE, "verdict": ["upper", "A"]}
    )
    assert "column verdict: is missing" in refusal(read_tournaments, EDGE)


@pytest.mark.parametrize("ones", [[1, 0], [True, False], ["1", "0"], [1.0, 0.0], ["True", "false"]])
def test_binary_in_every_spelling(ones: list[Any]) -> None:
    rows = {"gpt": ones, "human": [None, 1], "judge": ["x", "y"]}
    grades = prepare_grades(rows, judge_column="gpt")
    assert (grades.scale, grades.judge.tolist()) == ("binary", [1, 0])
    assert np.isnan(grades.human[0])
    assert grades.human[1] == 1


def test_binary_refused() -> None:
    assert "column judge: is missing; name yours: --column judge=NAME (columns=)" in refusal(
        prepare_grades, {"gpt": [1], "human": [1]}
    )
