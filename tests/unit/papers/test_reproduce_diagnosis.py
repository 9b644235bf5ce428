"""The diagnosis paper's protocol on small data whose answer is known, and asked of a judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from summeval_file import write_summeval

from adjudge.cli import run
from adjudge.data.scores import prepare_scores
from adjudge.data.tournaments import prepare_tournaments
from adjudge.errors import ArgumentError, DataError
from adjudge.statistics.agreement import spearman, spearman_interval, spearman_p
from adjudge_papers.diagnosis import reproduce_diagnosis
from adjudge_papers.diagnosis_study import CRITERIA, Answers, Size, ask_judges, simulate_study
from adjudge_papers.diagnosis_tables import (
    compare_by_scores,
    compare_rankings,
    cycles_and_widths,
    people_means,
    set_tables,
    variance_row,
)


def _study(
    judges: tuple[str, ...] = ("x",), criteria: Sequence[str] = ("c",), **options: Any
) -> Answers:
    cells = [
        {"judge": judge, "criterion": criterion, "mean": 3.2, "spread": 0.8, "skill": 0.6}
        for judge in judges
        for criterion in criteria
    ]
    return simulate_study(cells=cells, **options)


# --- sets ------------------------------------------------------------------------------------


def _scores(errors: list[int], judge: str = "x", score: int = 3) -> pl.DataFrame:
    """A judge that gives one score, wrong by these errors."""
    return pl.DataFrame(
        {
            "doc_id": [f"d{k // 2}" for k in range(len(errors))],
            "model": [f"m{k % 2}" for k in range(len(errors))],
            "criterion": "quality",
            "judge": judge,
            "judge_score": [float(score)] * len(errors),
            "human_score": [float(score - error) for error in errors],
        }
    )


def test_sets_follow_equations_2_and_3() -> None:
    """40 rows, one error of 1 in each half at most: the 19th smallest of 20 errors is 0."""
    tables = set_tables(prepare_scores(_scores([0] * 39 + [1])), splits=5)
    [signal] = tables["signals"]
    by_alpha = {row["alpha"]: row for row in tables["sets"]}
    assert signal["n"] == 20
    # ceil(0.9 x 21) = 19: error 0, sets of one score; the row that is off by 1 is missed when
    # tested.
    assert by_alpha[0.1]["mean_size"] == 1.0
    assert 0.95 <= by_alpha[0.1]["coverage"] <= 1.0
    # ceil(0.95 x 21) = 20: the largest error of the half that calibrates.
    assert by_alpha[0.05]["coverage"] in {0.95, 0.96, 0.97, 0.98, 0.99, 1.0}
    assert (signal["spearman"], signal["monotonic"]) == (None, None)


def test_too_few_rows_give_the_whole_scale() -> None:
    rows = set_tables(prepare_scores(_scores([0] * 10)), splits=2)["sets"]
    # Five rows calibrate, and alpha 0.1 takes nine.
    assert {row["alpha"]: row["mean_size"] for row in rows}[0.1] == 5.0
    assert {row["alpha"]: row["mean_size"] for row in rows}[0.2] == 1.0


def test_all_judges_have_the_same_rows_in_a_half() -> None:
    """Two judges that give the same scores have the same widths: the correlation is 1."""
    study = _study(("a",), documents=12, models=4, seed=3)
    both = pl.concat([study.scores, study.scores.with_columns(judge=pl.lit("b"))])
    tables = set_tables(prepare_scores(both), splits=3)
    [pair] = tables["agreement"]
    assert pair["n"] == 24
    assert pair["spearman"] == pytest.approx(1.0)
    everything, own = tables["pooled"]
    assert (everything["criterion"], everything["n"], own["n"]) == ("all", 48, 48)
    assert everything["spearman"] == own["spearman"]
    assert sum(row["n"] for row in tables["bins"] if row["criterion"] == "c") == own["n"]


def test_spearman_and_its_interval() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    value = spearman(x, y)
    low, high = spearman_interval(x, y, np.arange(60))
    assert value is not None
    assert low is not None
    assert high is not None
    assert -1 <= low < value < high <= 1
    # Rows twice, a document each time: as many documents, the same interval.
    twice = spearman_interval(np.tile(x, 2), np.tile(y, 2), np.tile(np.arange(60), 2))
    assert twice == pytest.approx((low, high), abs=0.01)
    assert spearman_interval(x, y, np.zeros(60, dtype=np.int64)) == (None, None)
    assert spearman_p(None, 60) is None


# --- rankings --------------------------------------------------------------------------------


def test_every_method_finds_the_order_of_a_consistent_judge() -> None:
    study = _study(documents=20, models=5, again=0.0, slip=0.0, seed=1)
    scores = prepare_scores(study.scores)
    rows = compare_rankings(
        prepare_tournaments(study.tournaments).tournaments, people_means(scores.frame)
    )
    assert [row["method"] for row in rows] == ["win-rate", "bt", "schulze", "copeland", "mfas"]
    for row in rows:
        assert (row["systems"], row["documents"]) == (5, 20)
        assert row["tau"] > 0.7
        if row["method"] == "mfas":
            assert row["tau_low"] is None
        else:
            assert row["tau_low"] <= row["tau"] <= row["tau_high"]


def test_tau_is_counted_by_hand() -> None:
    """People order m0 > m1 > m2; the judge swaps the last two: one pair of three is discordant."""
    scores = pl.DataFrame(
        {
            "doc_id": ["d"] * 3, "model": ["m0", "m1", "m2"], "criterion": ["c"] * 3,
            "judge": ["x"] * 3, "judge_score": [5.0, 1.0, 3.0], "human_score": [5.0, 4.0, 2.0],
        }
    )  # fmt: skip
    own = prepare_scores(scores).frame
    rows = compare_rankings(compare_by_scores(own), people_means(own))
    assert [row["tau"] for row in rows] == pytest.approx([1 / 3] * 5)
    # One document says nothing about others.
    assert all(row["tau_low"] is None for row in rows)


def test_people_of_other_documents_are_not_compared() -> None:
    study = _study(documents=4, models=3)
    people = people_means(prepare_scores(study.scores).frame)
    tournaments = prepare_tournaments(study.tournaments).tournaments
    elsewhere = people.with_columns(doc_id=pl.lit("other"))
    assert compare_rankings(tournaments, elsewhere) == []
    renamed = pl.concat([people, people]).with_columns(
        criterion=pl.Series(["a"] * people.height + ["b"] * people.height)
    )
    assert compare_rankings(tournaments, renamed) == []


# --- claims ----------------------------------------------------------------------------------


def test_shares_of_variance_are_those_of_a_two_way_table() -> None:
    grid: dict[tuple[str, str], float | None] = {
        (judge, criterion): j + 3 * c
        for j, judge in enumerate("xyz")
        for c, criterion in enumerate(("c", "d"))
    }
    [share] = variance_row("data", "size", grid)
    # Sums of squares: criteria 6 x 1.5^2, judges 2 x 2.
    assert share["criterion"] == pytest.approx(13.5 / 17.5)
    assert share["judge"] == pytest.approx(4 / 17.5)
    assert share["rest"] == pytest.approx(0.0)
    # A judge without a criterion is left out; no table without two judges.
    [fewer] = variance_row("data", "size", {**grid, ("z", "d"): None})
    assert fewer["cells"] == 4
    assert variance_row("data", "size", dict.fromkeys(grid, 1.0)) == []
    assert variance_row("data", "size", {("x", "c"): 1.0, ("x", "d"): 2.0}) == []


def test_cycles_and_widths_need_the_same_judge() -> None:
    study = _study(documents=10, models=5, slip=1.0, seed=5)
    tournaments = prepare_tournaments(study.tournaments).tournaments
    scores = prepare_scores(study.scores)
    [part] = cycles_and_widths(tournaments, scores)
    assert (part["judge"], part["sets"], part["documents"]) == ("x", "residual", 10)
    other = prepare_scores(study.scores.with_columns(judge=pl.lit("y")))
    assert cycles_and_widths(tournaments, other) == []


# --- asked judges and files ------------------------------------------------------------------


def test_a_judge_is_asked_by_both_protocols_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_summeval(tmp_path / "summeval.jsonl", documents=5, systems=4)
    store = tmp_path / "asked.db"
    command = [
        "reproduce", "diagnosis", "--summeval", str(path), "--documents", "4", "--systems", "3",
        "--judge", "simulated:accuracy=0.9,seed=1", "--judge", "simulated:accuracy=0.6,seed=2",
        "--splits", "1", "--store", str(store), "--json",
    ]  # fmt: skip
    assert run(command) == 0
    captured = capsys.readouterr()
    fields = json.loads(captured.out)
    tables = {table["name"]: table for table in fields["tables"]}
    # 4 documents x 3 pairs x 4 criteria x 3 repeats x 2 judges; 4 x 3 summaries x 4 x 2.
    assert [row["n"] for row in tables["answers"]["rows"]] == [288, 96]
    assert "12 pairs x 4 questions x 3 repeats x 2 judges = 288 calls" in captured.err
    assert {row["judge"] for row in tables["cycles"]["rows"]} == {
        "simulated:accuracy=0.9,position_bias=0,noise=0,seed=1",
        "simulated:accuracy=0.6,position_bias=0,noise=0,seed=2",
    }
    assert tables["rankings"]["data"] == tables["sets"]["data"]
    done = {item["name"]: item for item in fields["items"]}
    # Real summaries, invented answers.
    assert done["Table 1"]["status"] == done["Table 3"]["status"] == "simulated"
    assert done["Table 2"]["values"][0]["ours"] is not None


def test_repeats_of_one_order_are_one_edge(tmp_path: Path) -> None:
    path = write_summeval(tmp_path / "summeval.jsonl", documents=3, systems=3)
    answers = ask_judges(path, ["simulated:seed=4"], Size(documents=2, systems=3), store=None)
    assert set(answers.tournaments["order"]) == {"ab"}
    assert answers.tournaments.height == 2 * 3 * 4 * 3
    rows = prepare_tournaments(answers.tournaments)
    assert len(rows.tournaments) == 4
    assert all((one.asked == 3).all() for one in rows.tournaments)
    assert answers.scores["human_scores"].null_count() == 0


def test_a_judge_that_picks_the_first_slot_is_named(tmp_path: Path) -> None:
    """Asked in one order it has no cycle at all, and that says nothing."""
    path = write_summeval(tmp_path / "summeval.jsonl", documents=3, systems=4)
    done = reproduce_diagnosis(
        path, judge="simulated:position_bias=0.4999,accuracy=0.5", documents=3, systems=4,
        repeats=1, splits=1, store=None,
    )  # fmt: skip
    assert {row["rate"] for row in done.rows("cycles")} == {0.0}
    assert "the summary shown first wins 100 % of its answers" in done.warnings[0]


def test_your_own_files_take_the_place_of_the_simulator(tmp_path: Path) -> None:
    study = _study(("Qwen-2.5-72B", "mine"), CRITERIA, documents=30, models=8, seed=9)
    tournaments, scores = tmp_path / "tournaments.parquet", tmp_path / "scores.parquet"
    study.tournaments.write_parquet(tournaments)
    study.scores.write_parquet(scores)
    done = reproduce_diagnosis(tournaments=tournaments, scores=scores, splits=1)
    assert (done.data_of("cycles"), done.data_of("sets")) == (str(tournaments), str(scores))
    by_name = {item.name: item for item in done.items}
    # One of the four judges, on as many documents and systems as in the paper.
    assert (by_name["Table 1"].status, by_name["Table 1"].reason) == (
        "with differences", "1 of the paper's 4 rows",
    )  # fmt: skip
    rate = by_name["Table 1"].values[0]
    [row] = [r for r in done.rows("cycles", criterion="coherence") if r["judge"] != "mine"]
    assert (rate.ours, rate.published) == pytest.approx((100 * row["rate"], 2.2))
    assert by_name["Table 4"].status == "other judges or data"  # its pairs are not here
    answers = done.table("answers")
    assert answers is not None
    assert answers.data == f"pairs of {tournaments}, scores of {scores}"
    assert answers.source == "yours"
    alone = reproduce_diagnosis(scores=scores, splits=1)
    # How many answers were simulated is no number of the file.
    assert [row["protocol"] for row in alone.rows("answers")] == ["scores"]
    assert by_name["Figure 4"].status == "other judges or data"  # all four judges are not
    lines = [" ".join(line.split()) for line in str(done).splitlines()]
    assert any(line.startswith("paper 0.643") for line in lines)


def test_the_papers_judge_on_other_documents_is_other_data() -> None:
    study = _study(("Qwen-2.5-72B", "mine"), CRITERIA, documents=8, models=4, seed=9)
    done = reproduce_diagnosis(tournaments=study.tournaments, scores=study.scores, splits=1)
    states = {item.status for item in done.items}
    assert states == {"other judges or data", "not possible"}
    assert not any(line.strip().startswith("paper ") for line in str(done).splitlines())


def test_simulated_tournaments_are_not_compared_with_real_scores() -> None:
    """The scores have documents of the same names as the simulator's."""
    scores = _study(documents=6, models=3, seed=2).scores
    done = reproduce_diagnosis(scores=scores, splits=1)
    assert done.data_of("cycles") == "simulator"
    assert done.data_of("rankings").endswith(", by scores")
    assert done.rows("together") == []


def test_ties_lower_the_papers_rate_and_not_the_decisive_one() -> None:
    circle = [("a", "b", "A"), ("b", "c", "A"), ("a", "c", "B"), ("a", "d", "tie")]
    names = ("doc_id", "model_a", "model_b", "verdict")
    rows = pl.DataFrame([dict(zip(names, ("d1", *row), strict=True)) for row in circle])
    rows = pl.concat([rows, rows.with_columns(doc_id=pl.lit("d2"))])
    scores = _study(documents=8, models=3).scores
    [cycles] = reproduce_diagnosis(tournaments=rows, scores=scores, splits=1).rows("cycles")
    # One cycle: of one decisive triple, and of the four triples of four models.
    assert (cycles["decisive_rate"], cycles["rate"], cycles["share"]) == (1.0, 0.25, 1.0)


def test_what_cannot_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="also give SummEval"):
        reproduce_diagnosis(judge="simulated:")
    bare = write_summeval(tmp_path / "bare.jsonl", documents=3, systems=3, articles=False)
    with pytest.raises(DataError, match="has no articles"):
        reproduce_diagnosis(bare, judge="simulated:", store=None)
    single = write_summeval(tmp_path / "one.jsonl", documents=3, systems=1)
    with pytest.raises(DataError, match="no document has two systems"):
        reproduce_diagnosis(single, judge="simulated:", store=None)
    with pytest.raises(ArgumentError, match="documents"):
        reproduce_diagnosis(bare, documents=1)
