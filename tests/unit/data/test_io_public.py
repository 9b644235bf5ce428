"""Public data sets as published: fixtures of ours in their shape, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from io_files import FILES, READERS, open_battles, open_judgments, open_labels, open_scores

from adjudge.data import (
    FORMATS,
    open_items,
    open_pairs,
    read_public,
    read_table,
    sniff,
    write_rows,
)
from adjudge.data.formats import NATIVE, Format, load_format
from adjudge.data.turns import Units, split_all
from adjudge.errors import AdjudgeError, ArgumentError, DataError
from adjudge.records import Pair

#: Second shapes of a format that has a fixture of its own name too.
VARIANTS = {"arena-hard-v2": "arena-hard", "softelo-full": "softelo"}


#: Logs of other tools have fixtures of their own: see test_runner_logs.
PUBLIC = [name for name in FORMATS if not load_format(name).log]


def test_every_format_has_a_fixture() -> None:
    assert {VARIANTS.get(stem, stem) for stem in FILES} == {*PUBLIC, *READERS}


@pytest.mark.parametrize("stem", FILES)
def test_every_file_is_recognised(stem: str) -> None:
    assert sniff(FILES[stem]) == VARIANTS.get(stem, stem)


@pytest.mark.parametrize("stem", FILES)
@pytest.mark.parametrize("reader", [*READERS, *PUBLIC])
def test_every_reader_rejects_every_other_format(reader: str, stem: str) -> None:
    """The whole matrix: a reader takes its own, and says of any other what it looks like."""
    own = VARIANTS.get(stem, stem)
    path = FILES[stem]

    def read() -> Any:
        return READERS[reader](path) if reader in READERS else read_public(path, reader).frame

    if own == reader:
        assert read().height > 0
        return
    if reader == "chosen-rejected" and own.startswith("rewardbench"):
        return  # two special cases of that general layout
    if reader == "labels" and own in ("pairs", "judgments"):
        assert read()["label"].to_list() == ["A"]  # pairs with labels are labels, by id
        return
    with pytest.raises(DataError) as caught:
        read()
    text = str(caught.value)
    known = NATIVE[own] if own in NATIVE else load_format(own)
    assert f"looks like {known.title}, not a" in text
    remedy = known.remedy
    if isinstance(known, Format) and reader in NATIVE and reader not in known.gives:
        # The verbs that read such rows do not all have --format, and it would not help.
        remedy = f"it holds {next(iter(known.gives))}: use such a file with adjudge"
    assert remedy in text


@pytest.mark.parametrize("stem", [stem for stem in FILES if VARIANTS.get(stem, stem) in FORMATS])
def test_documented_columns_are_checked(stem: str, tmp_path: Path) -> None:
    """Take away any column the format needs: it is refused, and never with a traceback."""
    name = VARIANTS.get(stem, stem)
    rows = read_table(FILES[stem], text=None).to_dicts()
    for column in load_format(name).signature.needs:
        fewer = [{key: value for key, value in row.items() if key != column} for row in rows]
        path = tmp_path / f"{column}.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in fewer))
        with pytest.raises(DataError):
            read_public(path, name)


@pytest.mark.parametrize("stem", [stem for stem in FILES if VARIANTS.get(stem, stem) in FORMATS])
def test_parquet_and_frames_read_like_the_file(stem: str, tmp_path: Path) -> None:
    name = VARIANTS.get(stem, stem)
    frame = read_table(FILES[stem], text=None)
    path = write_rows(frame, tmp_path / "published.parquet")
    for kind in load_format(name).gives:
        expected = read_public(FILES[stem], name, kind=kind).frame
        for source in (path, frame):
            frame_again = read_public(source, kind=kind).frame
            assert frame_again.select(sorted(_core(expected))).equals(
                expected.select(sorted(_core(expected)))
            )


def _core(frame: pl.DataFrame) -> list[str]:
    kept = ("id", "label", "winner", "p_a", "prompt", "response", "response_a", "response_b")
    more = ("score_a", "score_b", "model_a", "model_b", "prompt_id", "human_scores", "rater")
    return [column for column in frame.columns if column in {*kept, *more}]


# --- one by one ------------------------------------------------------------------------------


def test_lmarena_33k() -> None:
    battles = open_battles(FILES["lmarena-33k"])
    assert battles.frame["winner"].to_list() == ["model_a", "model_b", "tie", "tie (bothbad)"]
    assert battles.format == "lmarena-33k"
    assert "conversation_a" not in battles.frame.columns
    pairs = list(open_pairs(FILES["lmarena-33k"]))
    assert [pair.label for pair in pairs] == ["A", "B", "tie", "tie"]
    assert (pairs[0].prompt, pairs[0].response_a, pairs[0].response_b) == (
        "Name a prime.",
        "7",
        "9",
    )
    assert pairs[0].prompt_id == pairs[3].prompt_id != pairs[1].prompt_id
    assert [pair.extra["exchanges"] for pair in pairs] == [1, 1, 2, 1]
    assert pairs[2].response_a == "[assistant]\n1 2\n\n[user]\nAnd 3?\n\n[assistant]\n3"


def test_lmarena_100k_and_140k() -> None:
    assert open_battles(FILES["lmarena-100k"]).frame["winner"].to_list() == [
        "model_b", "tie (bothbad)",
    ]  # fmt: skip
    frame = open_battles(FILES["lmarena-140k"]).frame
    assert frame["winner"].to_list() == ["model_a", "tie (bothbad)", "model_b", "tie"]
    stream = open_pairs(FILES["lmarena-140k"])
    pairs = list(stream)
    assert [pair.id for pair in pairs] == ["v1", "v2", "v3"]
    assert pairs[0].response_a == "Hund"
    assert stream.dropped == {"contains an image": 1}
    assert [pair.extra["evaluation_order"] for pair in pairs] == [1, 1, 2]


def test_turns_of_an_arena_are_compared_one_by_one() -> None:
    turns = list(split_all(open_pairs(FILES["lmarena-33k"]), Units("turn"), "arena"))
    assert [turn.id.partition("#")[2] for turn in turns] == ["1", "1", "1", "2", "1"]
    (second,) = [turn for turn in turns if turn.id.endswith("#2")]
    assert isinstance(second, Pair)
    assert "And 3?" in second.response_a
    assert second.response_a.endswith("[assistant]\n3")


def test_lmarena_55k() -> None:
    one, two = open_pairs(FILES["lmarena-55k"])
    assert (one.label, one.response_a, one.response_b) == ("A", "7", "")
    assert (two.label, two.extra["exchanges"]) == ("tie", 2)
    assert two.response_b == "[assistant]\nHey\n\n[user]\nMore?\n\n[assistant]\nNo"
    frame = open_battles(FILES["lmarena-55k"]).frame
    assert frame["winner"].to_list() == ["model_a", "tie"]


def test_comparia_no_vote_is_not_a_tie() -> None:
    battles = open_battles(FILES["comparia"]).frame
    assert battles["winner"].to_list() == ["model_a", "model_b", "tie", None]
    pairs = list(open_pairs(FILES["comparia"]))
    assert [pair.label for pair in pairs] == ["A", "B", "tie", None]
    assert pairs[0].prompt == "Quelle heure ?"


def test_mt_bench_votes_pairs_and_labels() -> None:
    battles = open_battles(FILES["mt-bench"]).frame
    assert battles.height == 5
    assert battles["prompt_id"].unique().to_list() == ["81"]
    one, two = open_pairs(FILES["mt-bench"])
    # The first by name stands at A; a vote on turn 1 speaks of the first answer alone.
    assert (one.model_a, one.response_a, one.label) == ("blue-13b", "Snow", "B")
    assert (one.prompt, one.extra["exchanges"]) == ("Write a haiku.", 1)
    assert one.extra["raters"] == 3  # two for red; one, with the sides swapped, for blue
    assert two.label is None  # a tie and a vote for blue: no majority
    assert two.response_a == "[assistant]\nSnow\n\n[user]\nShorter.\n\n[assistant]\nSno"
    labels = open_labels(FILES["mt-bench"]).frame
    assert labels["label"].to_list() == ["B", "B", "A", "tie", "A"]
    assert labels["id"].unique().sort().to_list() == sorted([one.id, two.id])


def test_mt_bench_labels_fit_the_pairs_whatever_row_comes_first() -> None:
    rows = read_table(FILES["mt-bench"])
    there, back = open_pairs(rows), open_pairs(rows.reverse())
    seen = {pair.id: (pair.model_a, pair.response_a, pair.label) for pair in there}
    assert seen == {pair.id: (pair.model_a, pair.response_a, pair.label) for pair in back}


def test_rewardbench_is_laid_out_by_a_seeded_coin() -> None:
    def sides(seed: int) -> str:
        return "".join(str(pair.label) for pair in open_pairs(FILES["rewardbench"], seed=seed))

    assert sides(0) == sides(0)
    assert sides(0) != sides(1)
    assert 8 <= sides(0).count("A") <= 32
    for pair in open_pairs(FILES["rewardbench"], seed=3):
        right = str(2 * int(pair.prompt.split()[2].split("+")[0]))
        assert (pair.response_a if pair.label == "A" else pair.response_b) == right
        assert (pair.model_a if pair.label == "A" else pair.model_b) == "red-7b"
        assert pair.extra["chosen_at"] == pair.label
        assert pair.extra["placement_seed"] == 3
    # The coin belongs to the pair, not to its place in the file.
    rows = read_table(FILES["rewardbench"])
    backwards = {pair.id: pair.label for pair in open_pairs(rows.reverse(), seed=0)}
    assert backwards == {pair.id: pair.label for pair in open_pairs(rows, seed=0)}


def test_rewardbench_2_every_right_answer_meets_every_wrong_one() -> None:
    pairs = list(open_pairs(FILES["rewardbench-2"]))
    assert [pair.prompt_id for pair in pairs] == ["17"] * 3 + ["tied:1"] * 2
    good = {pair.response_a if pair.label == "A" else pair.response_b for pair in pairs}
    assert good == {"Paris", "Red", "Blue"}


def test_alpaca_eval() -> None:
    judged = open_judgments(FILES["alpaca-eval"]).frame
    assert judged["p_a"].to_list() == pytest.approx([1.0, 0.0002, 0.5, 0.5, None, 0.75])
    assert judged["status"].to_list() == ["ok"] * 4 + ["unparsed", "ok"]
    battles = open_battles(FILES["alpaca-eval"])
    assert battles.frame["verdict"].to_list() == ["A", "B", "tie", "tie", "A"]
    assert battles.frame["winner"].null_count() == 5  # a model's preference is not a vote
    assert battles.dropped == {"no preference": 1}
    known = {"length_a", "length_b", "answer_hash_a", "answer_hash_b"}
    assert known <= set(judged.columns) & set(battles.frame.columns)
    assert "output_1" not in battles.frame.columns
    pairs = list(open_pairs(FILES["alpaca-eval"]))
    assert [pair.label for pair in pairs] == [None] * 6  # a model's preference is no label
    assert pairs[0].prompt_id == pairs[1].prompt_id != pairs[5].prompt_id


def test_alpaca_eval_by_people() -> None:
    row = {"instruction": "Say", "input": "hi", "output_1": "hi", "output_2": "ho"}
    rows = [{**row, "preference": p, "annotator_index": 3} for p in (1, 2)]
    one, two = open_pairs(rows)
    assert (one.label, two.label, one.prompt) == ("A", "B", "Say\n\nhi")
    frame = read_public(rows, kind="pairs").frame
    assert frame.select("label", "annotator_index").rows() == [("A", 3), ("B", 3)]
    rows = [{**row, "generator_1": "x", "generator_2": "y"} for row in rows]
    battles = open_battles(rows).frame
    assert battles["winner"].to_list() == ["model_a", "model_b"]
    assert not {"verdict", "p_a", "judge"} & set(battles.columns)


def test_arena_hard_first_game_shows_the_baseline_first() -> None:
    battles = open_battles(FILES["arena-hard"])
    rows = battles.frame.select("prompt_id", "verdict", "order", "decisive").rows()
    assert rows == [
        ("u1", "B", "ba", True),
        ("u1", "B", "ab", False),
        ("u2", "A", "ba", False),
        ("u2", "tie", "ab", False),
        ("u3", "tie", "ba", False),
    ]
    assert battles.frame["winner"].null_count() == 5  # nobody voted
    assert battles.frame["model_b"].unique().to_list() == ["baseline"]
    assert battles.dropped == {"no verdict": 1}
    named = open_battles(FILES["arena-hard"], baseline="gpt-4-0314").frame
    assert named["model_b"].unique().to_list() == ["gpt-4-0314"]


def test_arena_hard_v2_names_its_baseline() -> None:
    battles = open_battles(FILES["arena-hard-v2"], "arena-hard")
    assert battles.frame.select("model_b", "verdict", "decisive").rows() == [
        ("o3-mini-2025-01-31", "A", False),
        ("o3-mini-2025-01-31", "A", True),
        ("gemini-2.0-flash-001", "B", True),
    ]
    assert battles.dropped == {"no verdict": 1}


def test_summeval() -> None:
    items = list(open_items(FILES["summeval"]))
    assert [(item.doc_id, item.model) for item in items] == [
        ("dm-test-8764fb95", "M0"), ("dm-test-8764fb95", "M17"),
    ]  # fmt: skip
    human = read_public(FILES["summeval"], kind="human_scores").frame
    assert human.height == 8
    first = human.row(0, named=True)
    assert (first["criterion"], first["human_scores"], first["turker_mean"]) == (
        "coherence", [1.0, 1.0, 3.0], 3.0,
    )  # fmt: skip
    with pytest.raises(DataError, match="summeval has no scores; it gives items or human_scores"):
        open_scores(FILES["summeval"])


def test_summeval_without_articles_says_how_to_get_them() -> None:
    bare = read_table(FILES["summeval"]).drop("text")
    with pytest.raises(DataError, match=r"column text: has no articles; add them first"):
        list(open_items(bare))
    assert read_public(bare, kind="human_scores").frame.height == 8


def test_llmbar() -> None:
    assert [(p.id, p.label) for p in open_pairs(FILES["llmbar"])] == [
        ("llmbar-1", "A"), ("llmbar-2", "B"),
    ]  # fmt: skip


def test_softelo_zero_means_that_a_won() -> None:
    battles = open_battles(FILES["softelo"]).frame
    assert battles["winner"].to_list() == ["model_a", "model_b", "tie"]
    assert battles["judge_winner"].to_list() == ["model_a", "tie", "model_b"]
    assert battles.select("score_a", "score_b", "language").row(0) == (8.75, 6.5, "en")
    full = open_battles(FILES["softelo-full"]).frame
    assert full["winner"].to_list() == ["model_a", "model_b"]
    assert full["judge_winner"].to_list() == ["model_a", None]
    assert full["score_a"].to_list() == [8.75, None]  # an unparsed reply has no score
    assert full["prompt_id"].to_list() == ["aa11", "aa11"]
    assert full.select("length_a", "length_b").row(0) == (10, 12)


def test_trust_or_escalate() -> None:
    judged = open_judgments(FILES["trust-or-escalate"]).frame
    assert judged["p_a"].to_list() == pytest.approx([0.75, 0.1])
    assert judged["label"].to_list() == ["A", "B"]
    assert [pair.label for pair in open_pairs(FILES["trust-or-escalate"])] == ["A", "B"]


# --- the doors -------------------------------------------------------------------------------


def test_native_files_pass_through_the_doors() -> None:
    assert [pair.id for pair in open_pairs(FILES["pairs"])] == ["x"]
    assert [item.id for item in open_items(FILES["items"], "items")] == ["x"]
    assert open_judgments(FILES["judgments"]).frame["p_a"].to_list() == [0.8]
    assert open_scores(FILES["scores"]).frame.height == 1
    assert open_labels(FILES["pairs"]).frame["label"].to_list() == ["A"]


def test_a_stream_can_be_read_again() -> None:
    stream = open_pairs(FILES["lmarena-140k"])
    assert list(stream) == list(stream)
    assert stream.notes


def test_doors_say_what_they_cannot_do() -> None:
    with pytest.raises(DataError, match="llmbar has no battles; it gives pairs"):
        open_battles(FILES["llmbar"])
    with pytest.raises(ArgumentError, match=r"format = 'excel': choose one of pairs, alpaca-eval"):
        open_pairs(FILES["pairs"], "excel")
    with pytest.raises(DataError, match="looks like LLMBar, not a softelo file"):
        open_battles(FILES["llmbar"], "softelo")
    with pytest.raises(
        DataError, match="no known log or data set; adjudge start .* shows what its rows can be"
    ):
        read_public({"colour": ["red"]})
    with pytest.raises(ArgumentError, match="llmbar can be read as pairs"):
        read_public(FILES["llmbar"], kind="battles")
    with pytest.raises(ArgumentError, match="seed = -1"):
        list(open_pairs(FILES["rewardbench"], seed=-1))


@pytest.mark.parametrize(
    ("stem", "change", "refusal"),
    [
        ("lmarena-33k", {"winner": "left"}, "row 1, column winner: 'left' is not known"),
        (
            "lmarena-33k",
            {"conversation_a": "hm"},
            "row 1, column conversation_a: 'hm' is neither a list",
        ),
        ("lmarena-33k", {"conversation_a": [1]}, "row 1, column conversation_a: has no list of"),
        ("alpaca-eval", {"preference": 7}, "row 1, column preference: 7 is out of range"),
        ("llmbar", {"label": 3}, "row 1, column label: '3' is not known"),
        ("softelo", {"human_pref": 0.7}, "row 1, column human_pref: 0.7 is not known"),
        ("softelo", {"scores_a": "[1]"}, "row 1, column scores_a: '[1]' is not an object"),
        ("arena-hard", {"games": [{}] * 3}, "row 1, column games: has no list of two games"),
        ("mt-bench", {"turn": 3}, "row 1, column turn: '3' is not known"),
        ("trust-or-escalate", {"probs": [0, 0]}, "row 1, column probs: does not have two"),
        ("mt-bench", {"winner": None}, "row 1, column winner: is empty"),
        ("rewardbench-2", {"chosen": []}, "row 1, column chosen: has no list"),
    ],
)
def test_a_bad_value_is_named(
    stem: str, change: dict[str, Any], refusal: str, tmp_path: Path
) -> None:
    rows = read_table(FILES[stem], text=None).to_dicts()
    path = tmp_path / "changed.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in [{**rows[0], **change}, *rows[1:]]))
    name = VARIANTS.get(stem, stem)
    kind = "judgments" if stem == "trust-or-escalate" else None
    with pytest.raises(AdjudgeError) as caught:
        read_public(path, name, kind=kind)
    assert str(caught.value).removeprefix(f"{path}, ").startswith(refusal)


@pytest.mark.parametrize(
    ("stem", "change", "reason"),
    [
        ("lmarena-33k", {"conversation_a": []}, "a conversation has no question with an answer"),
        ("lmarena-33k", {"model_b": "red-7b"}, "a model was compared with itself"),
        ("comparia", {"chosen_model_name": "x"}, "the chosen model is not one of the two"),
        ("comparia", {"model_a_name": None}, "a model has no name"),
        ("comparia", {"model_b_name": "rouge-7b"}, "the chosen model is not one of the two"),
        ("alpaca-eval", {"preference": -1}, "no preference"),
        ("arena-hard", {"games": [{"score": "A>A"}]}, "a verdict that is not known"),
    ],
)
def test_a_row_that_was_published_and_says_nothing_is_left_out_and_counted(
    stem: str, change: dict[str, Any], reason: str
) -> None:
    rows = read_table(FILES[stem], text=None).to_dicts()
    kind = "pairs" if reason.startswith("a conversation") else "battles"
    whole = read_public(rows, stem, kind=kind).dropped.get(reason, 0)
    table = read_public([{**rows[0], **change}, *rows[1:]], stem, kind=kind)
    assert table.dropped[reason] == whole + 1


def test_columns_that_are_not_used_stay_beside_their_row() -> None:
    rows = read_table(FILES["comparia"], text=None).to_dicts()
    rows[0]["model_a_name"] = None  # left out: what follows must not move up
    for kind in ("battles", "pairs"):
        frame = read_public(rows, kind=kind).frame
        assert frame["conversation_pair_id"].to_list() == ["p2", "p3", "p4"]
    assert [pair.extra["conversation_pair_id"] for pair in open_pairs(rows)] == ["p2", "p3", "p4"]


def test_half_a_character_in_a_csv_of_json_becomes_the_mark_of_a_lost_one(tmp_path: Path) -> None:
    path = tmp_path / "train.csv"
    head = FILES["lmarena-55k"].read_text().splitlines()[0]
    texts = ',"[""whole \\ud83d\\ude00""]","[""half \\ud83d.""]","[""two""]",'
    path.write_text(f"{head}\n1,red,blue{texts}1,0,0\n")
    (pair,) = open_pairs(path)
    assert (pair.prompt, pair.response_a) == ("whole \U0001f600", "half \ufffd.")


def test_texts_of_a_nested_column_come_through_unchanged(tmp_path: Path) -> None:
    odd = 'quote " slash \\ line\n tab\t nul\x01 \u2028 \U0001f600 </end> {response_b}'
    rows = read_table(FILES["lmarena-140k"]).to_dicts()[:2]
    rows[0]["conversation_a"][1]["content"][0]["text"] = odd
    path = write_rows(pl.DataFrame(rows, infer_schema_length=None), tmp_path / "odd.parquet")
    assert read_public(path, kind="pairs").frame["response_a"][0] == odd
