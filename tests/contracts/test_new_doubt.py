"""A doubt from one file and one line goes through calibrate, its file, verify and select."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data.judgments import ERROR, IS_ERROR, doubt_ties
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import DoubtReport
from adjudge.policy.result import Policy
from adjudge.selection import calibrate, evaluate_doubt, read_policy, select, verify_policy
from adjudge.selection.doubts.base import (
    DOUBTS,
    Coverage,
    Doubt,
    DoubtMethod,
    FittedDoubt,
    Labelled,
    OwnDoubt,
    ScoredRows,
)
from adjudge.selection.labelled import NewRows
from adjudge.simulate.pairs import two_order_judge
from adjudge.store import StorePlace


class GapDoubt(Doubt):
    """The judge's verdict; the doubt is how far the two orders are apart."""

    @classmethod
    def load(cls, policy: Policy) -> GapDoubt | None:
        saved = policy.doubt
        return cls() if saved is not None and saved.columns == ("order gap",) else None

    def apply(self, rows: pl.DataFrame) -> pl.DataFrame:
        gap = (pl.col("p_fwd") - pl.col("p_rev")).abs()
        return doubt_ties(rows.with_columns(uncertainty=gap))

    def score(self, new: NewRows) -> ScoredRows:
        scored = OwnDoubt().score(new)
        return ScoredRows(
            self.apply(scored.rows),
            scored.judge_verdicts,
            scored.everything,
            scored.unscored,
            scored.reason,
        )

    def check_judges(self, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
        return ["the gap between orders decides"]


def report_gaps(rows: pl.DataFrame, coverage: Coverage, total: float) -> dict[str, Any]:
    report = DoubtReport(
        columns=("order gap",),
        scales=(1.0,),
        weights=(1.0,),
        penalty=1.0,
        at_largest_penalty=False,
        lengths=None,
        category=None,
        categories=(),
        n_learning=0,
        n_verdicts=rows.height,
        n_overturned=0,
        coverage_without=coverage(rows),
    )
    return {"doubt": report}


@dataclass(frozen=True)
class Gap(DoubtMethod):
    doubt = GapDoubt

    def learn(self, labelled: Labelled) -> FittedDoubt:
        rows = GapDoubt().apply(labelled.frame).with_columns(IS_ERROR.alias(ERROR))
        return FittedDoubt(GapDoubt(), rows, policy_fields=partial(report_gaps, rows))


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    DOUBTS.add("gap", Gap)
    yield
    DOUBTS.remove("gap")


def test_its_doubt_is_calibrated_saved_and_selects(tmp_path: Path) -> None:
    labelled = pl.DataFrame(two_order_judge(600, seed=1))
    gaps = (labelled["p_fwd"] - labelled["p_rev"]).abs()
    prefers_a = (labelled["p_fwd"] + labelled["p_rev"] > 1) ^ (gaps > gaps.median())
    people = pl.select(label=pl.when(prefers_a).then(pl.lit("A")).otherwise(pl.lit("B")))
    policy = calibrate(labelled.with_columns(people["label"]), alpha=0.1, doubt="gap")
    [group] = policy.groups
    assert np.allclose(sorted(gaps), group.scores)
    path = tmp_path / "policy.json"
    path.write_text(policy.to_json())
    assert verify_policy(path).intact
    new = pl.DataFrame(two_order_judge(300, seed=2)).drop("label")
    run = select(new, read_policy(path))
    assert "the gap between orders decides" in run.summary.warnings
    rows = run.rows.join(new.select("id", gap=(pl.col("p_fwd") - pl.col("p_rev")).abs()), on="id")
    assert policy.threshold is not None
    assert rows["accepted"].any()
    assert rows.filter("accepted")["gap"].max() <= policy.threshold  # type: ignore[operator]
    assert run.rows.columns[:3] == ["id", "judge", "verdict"]  # it learned no verdict


def test_it_is_an_object_or_a_name() -> None:
    labelled = two_order_judge(60, seed=1)
    assert calibrate(labelled, doubt=Gap()) == calibrate(labelled, doubt="gap")
    with pytest.raises(ArgumentError, match="choose one of own, jury, learned, .*, gap"):
        evaluate_doubt(labelled, doubt="hope")


def test_the_command_line_finds_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.csv"
    two_order_judge(600, seed=1).write_csv(rows)
    policy = tmp_path / "policy.json"
    command = ["calibrate", str(rows), "--alpha", "0.3", "--doubt", "gap"]
    run([*command, "-o", str(policy)])
    saved = read_policy(policy).doubt
    assert saved is not None
    assert saved.columns == ("order gap",)
    assert run([*command, "--costs", "1,2"]) == 1
    assert "costs = (1.0, 2.0): leave it out: the doubt" in capsys.readouterr().err
