"""`adjudge diagnose` and `adjudge reproduce diagnosis` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data import read_result, read_table, write_rows
from simulators import simulate_scores, simulate_tournaments


@pytest.fixture
def tournaments(tmp_path: Path) -> Path:
    drawn = simulate_tournaments(documents=12, models=5, seed=1).frame.rename({"doc_id": "article"})
    return write_rows(drawn, tmp_path / "tournaments.csv")


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    drawn = simulate_scores(documents=24, models=3, judges={"one": 0.5, "two": 0.7}, seed=2).frame
    return write_rows(drawn.rename({"model": "bot"}), tmp_path / "scores.jsonl")


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {
            "id": [str(k) for k in range(30)],
            "p_fwd": [0.9] * 30,
            "p_rev": [0.1, 0.8, 0.2] * 10,
            "label": ["A", "B", "A"] * 10,
        }
    )
    return write_rows(frame, tmp_path / "judgments.jsonl")


def test_transitivity_prints_writes_and_draws(
    tournaments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "cycles.json", tmp_path / "cycles.png"
    code = run(
        [
            "diagnose",
            "transitivity",
            str(tournaments),
            "--column",
            "doc_id=article",
            "-o",
            str(out),
            "--plot",
            str(plot),
            "--replicates",
            "20",
            "--json",
        ]
    )
    printed = capsys.readouterr()
    assert code == 0
    fields = json.loads(printed.out)
    assert fields == read_result(out).to_dict()
    assert set(fields["groups"][0]) >= {
        "judge",
        "criterion",
        "documents",
        "complete",
        "cycles",
        "triples",
        "mean_rate",
        "median_rate",
        "max_rate",
        "share_with_cycle",
        "expected_rate",
        "expected_share",
    }
    assert set(fields["worst"][0]) >= {"doc_id", "rate"}
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert str(plot) in printed.err


def test_thresholds_leave_with_two_and_say_why(
    tournaments: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["diagnose", "transitivity", str(tournaments), "--column", "doc_id=article"]
    assert run([*base, "--fail-above", "0.99", "--explain"]) == 0
    assert "Documents with a cycle" in capsys.readouterr().out
    assert run([*base, "--fail-above", "share_with_cycle=0.01"]) == 2
    assert "share_with_cycle of" in capsys.readouterr().err
    assert run([*base, "--fail-above", "share_with_cycle=0.5"]) == 3
    assert "not known whether share_with_cycle of" in capsys.readouterr().err
    assert run([*base, "--fail-above", "speed=1"]) == 1
    assert "name one of" in capsys.readouterr().err
    for limit in ("much", "nan", "share_with_cycle=inf"):
        assert run([*base, "--fail-above", limit]) == 1
        assert "number" in capsys.readouterr().err
    assert run([*base, "--column", "doc_id"]) == 1
    assert "OURS=YOURS" in capsys.readouterr().err


def test_nothing_to_count_is_a_bad_finding(tmp_path: Path) -> None:
    rows = {"doc_id": ["d"], "model_a": ["x"], "model_b": ["y"], "verdict": ["A"]}
    assert run(["diagnose", "transitivity", str(write_rows(rows, tmp_path / "t.csv"))]) == 2


@pytest.mark.parametrize("figure", ["sizes", "width", "agreement", "coverage"])
def test_scores_draws_each_figure(scores: Path, tmp_path: Path, figure: str) -> None:
    plot = tmp_path / f"{figure}.svg"
    arguments = ["diagnose", "scores", str(scores), "--column", "model=bot", "--splits", "2"]
    assert run([*arguments, "--plot", str(plot), "--figure", figure]) == 0
    assert plot.read_text(encoding="utf-8").startswith("<?xml")


def test_scores_writes_sets(
    scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["diagnose", "scores", str(scores), "--alpha", "0.2", "--splits", "3"]
    base += ["--raters", "rater1, rater2"]
    sets = tmp_path / "sets.csv"
    assert run([*base, "--write-sets", str(sets), "--sets", "adaptive", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert set(fields["groups"][0]) >= {
        "judge",
        "criterion",
        "method",
        "alpha",
        "n",
        "documents",
        "coverage",
        "mean_size",
        "spearman",
        "quantile",
    }
    assert fields["agreement"]
    assert set(read_table(sets)["advice"]) <= {"trust", "look", "human"}
    assert run([*base, "--scale", "five"]) == 1
    assert run([*base, "--figure", "pie"]) == 1


def test_scores_with_too_few_documents_is_a_bad_finding(tmp_path: Path) -> None:
    drawn = simulate_scores(documents=6, models=3, seed=2).frame
    path = write_rows(drawn, tmp_path / "few.jsonl")
    assert run(["diagnose", "scores", str(path), "--alpha", "0.05", "--splits", "2"]) == 2


def test_bias(judgments: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "bias.png"
    assert run(["diagnose", "bias", str(judgments), "--plot", str(plot), "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["position"]["flip_share"] == pytest.approx(2 / 3)
    assert plot.exists()
    assert run(["diagnose", "bias", str(judgments), "--fail-above", "0.1"]) == 2
    assert "position" in capsys.readouterr().err
    assert run(["diagnose", "bias", str(judgments), "--fail-above", "flip_share=0.9"]) == 0


def test_the_pictures_of_biases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": str(k), "judge": judge, "p_fwd": 0.9, "p_rev": 0.2 + k / 100, "label": "AB"[k % 2]}
        for judge in ("one", "two")
        for k in range(20)
    ]
    one, both = (
        write_rows(some, tmp_path / f"{n}.jsonl") for n, some in enumerate((rows[:20], rows))
    )
    for figure in ("bias", "reliability"):
        plot = tmp_path / f"{figure}.svg"
        given = ["--plot", str(plot), "--figure", figure]
        assert run(["diagnose", "bias", str(one), *given]) == 0
        assert plot.stat().st_size > 1000
    assert run(["diagnose", "bias", str(both), *given]) == 1
    assert "choose one of bias" in capsys.readouterr().err


def test_a_sure_but_small_bias_is_no_finding_and_obeys_a_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 38 of 1,000 pairs flip, all to the first slot: 51.9 % of presentations, without doubt.
    frame = pl.DataFrame(
        {
            "id": [str(k) for k in range(1000)],
            "p_fwd": [0.9] * 1000,
            "p_rev": [0.1] * 38 + [0.9] * 962,
        }
    )
    base = ["diagnose", "bias", str(write_rows(frame, tmp_path / "small.jsonl"))]
    assert run([*base, "--fail-above", "position=0.03", "--explain"]) == 0
    printed = capsys.readouterr()
    assert "No bias shown by the judge in 1 test" in printed.out
    assert "below the 3 points that are called a bias" in printed.out
    assert run([*base, "--fail-above", "position=0.019"]) == 3
    assert run([*base, "--fail-above", "position=0.01", "--floor", "0.01"]) == 2
    assert "The judge shows a bias in 1 of 1 test: position" in capsys.readouterr().out


def test_a_threshold_counts_only_what_the_rows_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Six near-tied pairs, five for the longer answer: above 0.1, and what a coin may do."""
    frame = pl.DataFrame(
        {
            "id": [str(k) for k in range(6)],
            "p_fwd": [0.55] * 5 + [0.45],
            "p_rev": [0.55] * 4 + [0.45] * 2,
            "label": ["B"] * 6,
            "response_a": ["long answer"] * 6,
            "response_b": ["short"] * 6,
        }
    )
    path = str(write_rows(frame, tmp_path / "six.jsonl"))
    limits = ["position=0.01", "verbosity=0.1", "ece=0.01", "family=0.1"]
    given = [word for limit in limits for word in ("--fail-above", limit)]
    assert run(["diagnose", "bias", path, *given, "--explain"]) == 3
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        f"--fail-above: not known whether {limit.replace('=', ' of the judge is above ')}"
        for limit in limits
    ]
    assert "no preference for length shown" in printed.out
    assert "No bias shown by the judge" in printed.out


def test_families_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame(
        {
            "id": ["a", "b", "c"],
            "judge": ["guru"] * 3,
            "p_a": [0.9, 0.8, 0.3],
            "label": ["A", "B", "B"],
            "model_a": ["guru-mini", "guru-mini", "other"],
            "model_b": ["other", "other", "guru-mini"],
        }
    )
    path = write_rows(frame, tmp_path / "j.jsonl")
    families = tmp_path / "families.json"
    families.write_text('{"guru": "Guru", "guru-mini": "Guru"}', encoding="utf-8")
    assert run(["diagnose", "bias", str(path), "--families", str(families), "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["family"]["family"] == "Guru"
    assert fields["family"]["n"] == 3
    families.write_text("[1]", encoding="utf-8")
    assert run(["diagnose", "bias", str(path), "--families", str(families)]) == 1
    assert run(["diagnose", "bias", str(path), "--families", str(tmp_path / "no.json")]) == 1


def test_a_name_full_of_markup_is_printed_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = simulate_tournaments(documents=3, models=4, judge="[red]\x1b[31mx$y$", seed=1).frame
    path = write_rows(drawn, tmp_path / "odd.jsonl")
    plot = tmp_path / "odd.png"
    assert run(["diagnose", "transitivity", str(path), "--plot", str(plot)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b[31m" not in printed
    assert "[red]" in printed
    assert plot.exists()
