"""The paper's protocol on files in the release's own format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_expit

from adjudge.cli import run
from adjudge.errors import ArgumentError, DataError
from adjudge.ranking import fit_temperature, rank
from adjudge.simulate.battles import simulate_battles
from adjudge_papers.paper import MeasuredTable, build_items
from adjudge_papers.printed import paper_tables
from adjudge_papers.soft_elo import reproduce_soft_elo
from adjudge_papers.soft_elo_measures import TOKENS


def write_release(
    path: Path, seed: int, *, models: int = 22, battles: int = 500, shift: int = 0
) -> pl.DataFrame:
    """A simulated judge, written as the release writes: 0 = A wins, dicts as Python text.

    Prompts begin at `shift`, so that another file can share some of them.
    """
    frame = simulate_battles(models=models, battles=battles, seed=seed).frame
    prompts = [f"hash-{k}" for k in range(shift, shift + frame.height)]
    difference = frame["score_a"] - frame["score_b"]
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(
        {
            "battle_id": frame["id"],
            "model_a": frame["model_a"],
            "model_b": frame["model_b"],
            "human_pref": frame["human_pref"].replace_strict({"A": 0.0, "B": 1.0, "tie": 0.5}),
            "judge_pref": [0.0 if d > 0 else 1.0 if d < 0 else 0.5 for d in difference],
            "scores_a": [str({"clarity": v, "fluency": v}) for v in frame["score_a"]],
            "scores_b": [str({"clarity": v, "fluency": v}) for v in frame["score_b"]],
            "language": frame["language"],
            "instruction_id_hash": prompts,
            "len_a": [40 + 7 * (k % 13) for k in range(frame.height)],
            "len_b": [40 + 9 * (k % 11) for k in range(frame.height)],
        }
    ).write_csv(path)
    return frame


def test_rows_carry_the_papers_figures(tmp_path: Path) -> None:
    frame = write_release(tmp_path / "lmarena100k" / "annotations_qwen3_32b.csv", 0)
    write_release(tmp_path / "comparia" / "annotations_qwen3_32b.csv", 1, models=8)
    write_release(tmp_path / "comparia" / "annotations_own_judge.csv", 2, models=8, shift=100)
    result = reproduce_soft_elo(tmp_path, draws=2)
    first = result.rows("judges")[0]
    assert (first["corpus"], first["judge"]) == ("lmarena100k", "Qwen3-32B")
    table = result.table("judges")
    assert table is not None
    paper = {
        (theirs["corpus"], theirs["judge"]): theirs
        for _, theirs in table.matched(paper_tables("soft-elo")["judges"])
    }
    assert list(paper) == [("lmarena100k", "Qwen3-32B"), ("comparia", "Qwen3-32B")]
    theirs = paper["lmarena100k", "Qwen3-32B"]
    assert (theirs["hard_mae"], theirs["soft_mae"], theirs["smoothed_0.75"]) == (27.5, 16.7, 24.8)
    assert (theirs["soft_width"], theirs["soft_width_low"]) == (78, 61)
    assert paper["comparia", "Qwen3-32B"]["beta"] == 0.13
    lines = [" ".join(line.split()) for line in str(result).splitlines()]
    at = next(k for k, line in enumerate(lines) if line.startswith("lmarena100k, Qwen3-32B"))
    assert lines[at + 1].startswith("paper 1.51 0.162 0.50 27.5 16.7")
    at = next(k for k, line in enumerate(lines) if line.startswith("comparia, own_judge"))
    assert not lines[at + 1].startswith("paper")
    # The same numbers as the front door gives on the same battles.
    board = rank(frame, evaluate=True, interval="none")
    by_method = {row.method: row for row in board.loo}
    assert first["hard_mae"] == pytest.approx(by_method["hard-elo"].mae, abs=1e-6)
    assert first["soft_mae"] == pytest.approx(by_method["soft-elo"].mae, abs=1e-6)
    assert first["smoothed_0.75"] == pytest.approx(by_method["smoothed 0.75"].mae, abs=1e-6)
    languages = {(row["corpus"], row["language"]): row for row in result.rows("languages")}
    assert languages["comparia", "en"]["judges"] == 2
    # Table 6 counts prompts that every judge scored: 400 of the 500 of either file.
    shared = [row["prompts"] for row in result.rows("languages", corpus="comparia")]
    assert sum(shared) == 400
    # Its means are over eight judges: one judge's are not compared with them.
    items = {item.name: item for item in result.items}
    assert items["Table 6"].status == "other judges or data"
    assert "The paper has 45.0 hard, 33.2 soft for 2 of them." in str(result)


def test_residuals_by_strength_and_family(tmp_path: Path) -> None:
    """Appendix F: what `rank` says of the quarters, and own family minus others."""
    path = tmp_path / "lmarena100k" / "annotations_gemma4_e4b.csv"
    frame = write_release(path, 0)
    names = {name: f"gemma-{name}" for name in sorted(set(frame["model_a"]))[:6]}
    release = pl.read_csv(path)
    release.with_columns(pl.col("model_a", "model_b").replace(names)).write_csv(path)
    result = reproduce_soft_elo(tmp_path, draws=2)
    [row] = result.rows("judges")
    board = rank(frame, evaluate=True, interval="none")
    by_method = {one.method: one for one in board.loo}
    for method in ("hard", "soft"):
        quarters = [row[f"{method}_q{q}"] for q in range(1, 5)]
        expected = by_method[f"{method}-elo"].residual_by_quarter
        assert quarters == pytest.approx(expected, abs=1e-6)
    own: dict[bool, list[float]] = {True: [], False: []}
    for held in board.held_out:
        if held.method == "soft-elo":
            own[held.model in names].append(held.residual)
    assert row.get("points_family") is None  # nobody to be compared with
    assert row["soft_family_models"] == "6 Google"
    expected = sum(own[True]) / 6 - sum(own[False]) / 16
    assert row["soft_family"] == pytest.approx(expected, abs=1e-6)
    assert row["soft_family_low"] < row["soft_family"]
    assert "6 Google" in str(result)


def test_the_headline_says_what_happened(tmp_path: Path) -> None:
    write_release(tmp_path / "lmarena100k" / "annotations_qwen3_32b.csv", 0, models=6)
    result = reproduce_soft_elo(tmp_path, draws=2)
    [row] = result.rows("judges")
    worse = replace(result.tables[0], rows=({**row, "hard_mae": 10.0, "soft_mae": 15.0},))
    assert str(replace(result, tables=(worse,))).startswith(
        "Soft targets raise the held-out error by 50 %, the mean over 1 run of a judge on a corpus"
    )


def test_an_unbounded_interval_says_why(tmp_path: Path) -> None:
    write_release(tmp_path / "annotations_mine.csv", 0)
    result = reproduce_soft_elo(tmp_path, alpha=0.05, draws=2)
    assert result.rows("judges")[0]["hard_width"] is None
    assert result.warnings[-1].endswith("11 models calibrate, and 19 are needed")


def test_published_tables_agree_with_themselves() -> None:
    """Means and percentages that the paper prints from its own cells."""
    main = [
        row for row in paper_tables("soft-elo")["judges"].published
        if row["corpus"] == "lmarena100k"
    ]  # fmt: skip
    means = {name: sum(row[name] for row in main) / 8 for name in main[0] if "_" in name}
    assert means["hard_mae"] == pytest.approx(45.9, abs=0.06)
    assert means["soft_mae"] == pytest.approx(17.9, abs=0.06)
    # Not the 17.0 of appendix H.2.
    assert means["smoothed_0.75"] == pytest.approx(26.9, abs=0.06)
    assert sum(row["ece"] for row in main) / 8 == pytest.approx(0.050, abs=0.0006)


def test_items_say_what_became_of_the_paper(tmp_path: Path) -> None:
    """On one judge of the release: what it allows, of how much, and why not more."""
    write_release(tmp_path / "lmarena100k" / "annotations_qwen3_32b.csv", 0, models=8)
    result = reproduce_soft_elo(tmp_path, draws=2)
    [row] = result.rows("judges")
    items = {item.name: item for item in result.items}
    table = items["Table 2"]
    assert (table.status, table.reason) == ("with differences", "1 of the paper's 8 rows")
    hard, soft, *_ = table.values
    # Both sides are this judge alone, not the paper's mean over eight.
    assert (hard.ours, hard.published) == (row["hard_mae"], 27.5)
    assert (soft.ours, soft.published) == (row["soft_mae"], 16.7)
    impossible = {name: item.reason for name, item in items.items() if not item.values}
    assert impossible == {
        "Table 3": "intervals are unbounded: too few models",
        "Table 4, ComparIA": "no files of comparia",
        "Table 4, LMArena 140K": "no files of lmarena140k",
        "Table 5, ComparIA": "no files of comparia",
        "Table 5, LMArena 140K": "no files of lmarena140k",
        "Figure 7": "needs files of two corpora",
        "Figure 8": "no files of lmarena140k",
        "Figure 9": "no files of comparia",
        "Figure 11": "the rows have the mean of both orders: the scores of each order are needed",
        "Figure 13": "no judge's family is known, or none has models here",
        "Figure 16": "needs files of two corpora",
        "Figure 17": "intervals are unbounded: too few models",
    }
    assert {items[name].status for name in impossible} == {"not possible"}
    drawn = {item.figure for item in result.items if item.figure is not None}
    assert drawn == set(result.figures())
    assert items["Figure 12"].values[0].ours is not None  # from len_a and len_b


def test_beta_over_folds_and_with_ties(tmp_path: Path) -> None:
    """Appendix C against one fit after another."""
    frame = write_release(tmp_path / "annotations_mine.csv", 3, models=8)
    [row] = reproduce_soft_elo(tmp_path, draws=2).rows("judges")
    s = (frame["score_a"] - frame["score_b"]).to_numpy()
    human = frame["human_pref"].replace_strict({"A": 1.0, "B": 0.0, "tie": 0.5}).to_numpy()
    folds = []
    for name in sorted(set(frame["model_a"])):
        out = ((frame["model_a"] == name) | (frame["model_b"] == name)).to_numpy()
        folds.append(fit_temperature(s[~out], human[~out]).beta)
    pooled = fit_temperature(s, human).beta
    assert row["pooled_beta"] == pytest.approx(pooled)
    assert row["fold_sd"] == pytest.approx(np.std(folds, ddof=1))
    assert row["largest_deviation"] == pytest.approx(max(abs(np.array(folds) - pooled)))
    assert row["beta"] == pytest.approx(np.mean(folds))
    # Ties as one half are the same as each tie once for either side, at half the weight.
    loss = minimize_scalar(
        lambda beta: -np.sum(human * log_expit(beta * s) + (1 - human) * log_expit(-beta * s))
    )
    assert row["ties_beta"] == pytest.approx(loss.x, rel=1e-4)
    assert row["ties_beta"] < pooled


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_release(tmp_path / "annotations_mine.csv", 0, models=6)
    picture, folder = tmp_path / "one.png", tmp_path / "all"
    options = ["--plot", str(picture), "--figure", "figure-05", "--figures", str(folder)]
    assert run(["reproduce", "soft-elo", str(tmp_path), "--draws", "2", *options]) == 0
    shown = capsys.readouterr().out
    assert "mine" in shown
    assert "Table 8" in shown
    assert "other judges or data" in shown
    assert picture.stat().st_size > 5_000
    saved = {path.stem for path in folder.glob("*.png")}
    assert {"figure-01", "figure-05", "figure-12"} <= saved
    assert "figure-11" not in saved
    assert run(["reproduce", "soft-elo", str(tmp_path / "nothing")]) == 1


def test_a_judge_is_asked_as_in_the_paper(tmp_path: Path) -> None:
    """Six criteria, both orders, replies of up to 4,096 tokens; a simulated judge is simulated."""
    pairs = [
        {"id": str(k), "prompt": f"q{k}", "response_a": f"a{k}", "response_b": f"b{k}",
         "model_a": f"m{k % 4}", "model_b": f"m{(k + 1 + k // 4 % 3) % 4}", "label": "AB"[k % 2]}
        for k in range(80)
    ]  # fmt: skip
    path = tmp_path / "pairs.jsonl"
    pl.DataFrame(pairs).write_ndjson(path)
    spec = "simulated:accuracy=0.8,noise=0.5"
    result = reproduce_soft_elo(path, judge=spec, draws=2, store=None)
    [row] = result.rows("judges")
    assert (row["corpus"], row["battles"]) == ("pairs", 80)
    assert row["first_share"] is not None
    assert {item.status for item in result.items} == {"simulated", "not possible"}
    assert TOKENS == 4096
    with pytest.raises(ArgumentError, match="give the pairs"):
        reproduce_soft_elo(judge=spec)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="annotations"):
        reproduce_soft_elo(tmp_path, draws=2)


def test_a_family_is_compared_on_the_corpora_that_the_paper_names() -> None:
    rows = tuple(
        {"judge": "Qwen3-32B", "corpus": corpus, "points_family": points, "hard_family": 1.0}
        for corpus, points in (("lmarena100k", 0.1), ("lmarena140k", 0.2), ("comparia", 9.0))
    )
    measured = MeasuredTable("judges", rows, "mine", "yours", same_data=False)
    names = {"main": "lmarena100k"}
    items = {item.name: item for item in build_items("soft-elo", [measured], names=names)}
    excess = {value.name: value.ours for value in items["Figure 13"].values}
    assert excess["excess in points, least"] == 0.1
    assert excess["excess in points, most"] == 0.2
