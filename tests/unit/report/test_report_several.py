"""A folder with several results of a kind: none is left out, each says whose it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge.data import write_result
from adjudge.diagnosis import diagnose_bias
from adjudge.estimation import estimate
from adjudge.report import render_report, write_report
from adjudge.selection import calibrate, evaluate_doubt, plan_selection, select


def _judgments(*, right: float, name: str, n: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    label = np.where(rng.random(n) < 0.5, "A", "B")
    sure = np.where(rng.random(n) < right, 0.97, 0.03)
    p = np.where(label == "A", sure, 1 - sure)
    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "judge": [name] * n,
            "protocol": ["preference"] * n,
            "status": ["ok"] * n,
            "p_fwd": p,
            "p_rev": p,
            "label": label,
        }
    )


def _answers() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    human = rng.random(600) < 0.6
    judge = np.where(rng.random(600) < 0.9, human, ~human)
    shown = [int(h) if i % 3 == 0 else None for i, h in enumerate(human)]
    return pl.DataFrame(
        {"judge": judge.astype(int), "human": shown, "model": ["m1", "m2"] * 300},
        schema_overrides={"human": pl.Int64},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    good, coin = _judgments(right=1.0, name="good"), _judgments(right=0.5, name="coin")
    policy = calibrate(good, alpha=0.1)
    write_result(calibrate(coin, alpha=0.1), folder / "a-coin.json")
    write_result(policy, folder / "b-good.json")
    write_result(select(good, policy=policy).summary, folder / "selected.json")
    write_result(plan_selection(good, alpha=0.1), folder / "plan.json")
    write_result(diagnose_bias(pl.concat([good, coin])), folder / "bias.json")
    write_result(estimate(_answers(), by="model"), folder / "each.json")
    write_result(estimate(_answers(), by="model", pool=True), folder / "pooled.json")
    return folder


def test_every_policy_is_shown_with_its_judge(folder: Path) -> None:
    page = render_report(folder, format="md")
    assert "### a-coin.json" in page
    assert "### b-good.json" in page


def test_a_table_per_group_is_shown_next_to_the_pooled_one(folder: Path) -> None:
    page = render_report(folder, format="md")
    assert "each with its own labels" in page
    assert "labels of all groups pooled" in page


def test_findings_about_bias_name_their_judge(folder: Path) -> None:
    page = render_report(folder, format="md")
    assert "- good: agrees with people on 100 %" in page
    assert "- coin: agrees with people on" in page


def test_a_plan_is_shown_with_the_policies(folder: Path) -> None:
    assert "### plan.json" in render_report(folder, format="md")


def test_policy_and_selection_each_show_what_they_are_worth(folder: Path, tmp_path: Path) -> None:
    good = _judgments(right=1.0, name="good")
    policy = calibrate(good, alpha=0.1)
    write_result(policy, tmp_path / "policy.json")
    write_result(select(good, policy=policy).summary, tmp_path / "selected.json")
    page = render_report(tmp_path, format="md")
    assert page.count(f"- {policy.worth.replace('*', chr(92) + '*')}") == 2
    assert "not proven); about " in policy.worth
    page = render_report(tmp_path)
    folded = "<details><summary>What this assumes and does not promise</summary>"
    assert page.count(f'{folded}<ul class="plain"><li>It promises: {policy.promise}</li>') == 2


def test_the_names_are_headings_of_the_page(folder: Path, tmp_path: Path) -> None:
    page = write_report(folder, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h3>a-coin.json</h3>" in page


def test_signals_of_one_judge_asked_in_two_ways_are_told_apart(tmp_path: Path) -> None:
    rows = _judgments(right=0.8, name="one")
    both = pl.concat([rows, rows.with_columns(protocol=pl.lit("verbalized"))])
    write_result(evaluate_doubt(both, splits=5), tmp_path / "evaluation.json")
    page = render_report(tmp_path, format="md")
    assert "one (preference)" in page
    assert "one (verbalized)" in page
