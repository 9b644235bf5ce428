"""Conformal errors by prompt, and quantiles by family and by group of battles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.data import prepare_battles
from adjudge.errors import ArgumentError
from adjudge.ranking import make_anchors, place, rank
from adjudge.ranking.evaluation import (
    anchored_standard_error,
    elo_quantile,
    family_quantiles,
    hold_out_each,
    human_reference,
    residuals,
)
from adjudge.ranking.targets import soft_rule
from adjudge.simulate.battles import simulate_battles
from adjudge.statistics.bradley_terry import ELO_PER_UNIT, fit_against_anchors


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return simulate_battles(models=24, battles=2500, new_models=2, seed=4).frame


@pytest.fixture(scope="module")
def families() -> dict[str, str]:
    return {f"model-{k:02d}": "large" if k % 2 else f"small-{k % 8}" for k in range(24)}


def test_errors_by_prompt_are_those_of_the_prompts() -> None:
    """Answers to one prompt win or lose together: only blocks see how unsure the estimate is."""
    rng = np.random.default_rng(0)
    prompts, each, anchors = 60, 5, np.linspace(-0.8, 0.8, 6)
    code = np.repeat(np.arange(prompts), each)
    drawn, by_prompt, by_battle = [], [], []
    for _ in range(120):
        opponent = rng.integers(0, 6, prompts * each)
        chance = 1 / (1 + np.exp(anchors[opponent] - 2.0 * rng.normal(0, 1, prompts)[code]))
        y = (rng.random(prompts * each) < chance).astype(np.float64)
        met = np.bincount(opponent, minlength=6).astype(np.float64)
        drawn.append(float(fit_against_anchors(met, np.asarray(y.sum()), anchors, l2=0.01)))
        options: dict[str, Any] = {"l2": 0.01, "replicates": 40, "rng": rng}
        by_prompt.append(anchored_standard_error(opponent, y, anchors, prompts=code, **options))
        by_battle.append(anchored_standard_error(opponent, y, anchors, **options))
    truth = ELO_PER_UNIT * float(np.std(drawn, ddof=1))
    # Known to about 6 % from 120 worlds.
    assert np.mean(by_prompt) == pytest.approx(truth, rel=0.2)
    assert np.mean(by_battle) < 0.75 * truth


def test_prompts_that_do_not_repeat_change_nothing(frame: pl.DataFrame) -> None:
    battles = prepare_battles(frame.filter(pl.col("human_pref").is_not_null()))
    alone = replace(battles, prompts=np.arange(len(battles)))
    plain = hold_out_each(soft_rule(battles), replicates=200, seed=3)
    blocks = hold_out_each(soft_rule(alone), replicates=200, seed=3)
    # Each is known to about 5 %, their mean over 22 models to 1 %.
    assert np.nanmean(blocks.se / plain.se) == pytest.approx(1, abs=0.05)


def test_anchors_and_placed_models_resample_alike(frame: pl.DataFrame) -> None:
    clustered = frame.with_columns(prompt_id=(pl.int_range(pl.len()) // 4).cast(pl.String))
    voted = pl.col("human_pref").is_not_null()
    anchors = make_anchors(clustered.filter(voted), seed=0)
    assert anchors.cluster == "prompt_id"
    assert "errors resampled by" in str(anchors)
    new = clustered.filter(~voted).drop("human_pref")
    placed = place(new, anchors, seed=1)
    one_by_one = place(new, replace(anchors, cluster=None), seed=1)
    assert [row.elo for row in placed.models] == [row.elo for row in one_by_one.models]
    errors = [[row.se for row in board.models if row.origin == "new"] for board in
              (placed, one_by_one)]  # fmt: skip
    assert errors[0] != errors[1]
    with pytest.raises(ArgumentError, match="cluster = 'prompt_id'"):
        place(new.drop("prompt_id"), anchors)


def test_quantiles_by_family(frame: pl.DataFrame, families: dict[str, str]) -> None:
    battles = prepare_battles(frame.filter(pl.col("human_pref").is_not_null()))
    held = residuals(hold_out_each(soft_rule(battles), seed=0), human_reference(battles))
    large, *others = family_quantiles(held, alpha=0.1, families=families)
    own = np.array([families[name] == "large" for name in held.names])
    expected = elo_quantile(held.values[own], held.se[own], alpha=0.1)
    assert (large.group, large.n_models, large.quantile) == ("large", 11, expected)
    assert large.coverage is not None
    assert 0.8 <= large.coverage <= 1
    # A family with too few models is refused, not given the pooled quantile.
    assert {row.reason for row in others} == {"3 models, 10 needed", "2 models, 10 needed"}
    assert all(row.quantile is None for row in others)


def test_evaluate_gives_quantiles_by_family_and_group(
    frame: pl.DataFrame, families: dict[str, str]
) -> None:
    voted = frame.filter(pl.col("human_pref").is_not_null()).with_columns(
        language=pl.when(pl.int_range(pl.len()) < 8).then(pl.lit("eo")).otherwise("language")
    )
    board = rank(
        voted, by="language", evaluate=True, families=families, interval="none", replicates=2
    )
    by = {(row.by, row.group): row for row in board.quantiles}
    assert by["family", "large"].quantile is not None
    german = by["language", "de"]
    # Everything is refitted on the group's own battles.
    alone = rank(voted.filter(pl.col("language") == "de"), evaluate=True, interval="none")
    soft = [row for row in alone.held_out if row.method == "soft-elo"]
    assert german.n_models == len(soft)
    assert german.quantile is not None
    assert by["language", "eo"].reason is not None
    assert "10 needed" in by["language", "eo"].reason
    assert "no intervals by language for eo" in board.explain()


def test_a_new_model_with_its_familys_quantile(
    frame: pl.DataFrame, families: dict[str, str]
) -> None:
    voted = pl.col("human_pref").is_not_null()
    anchors = make_anchors(frame.filter(voted), seed=0)
    new = frame.filter(~voted).drop("human_pref")
    board = place(new, anchors, quantile="family", families=families, seed=1)
    placed = {row.model: row for row in board.models if row.origin == "new"}
    large = [row for row in anchors.models if families[row.model] == "large"]
    own = elo_quantile([row.residual for row in large], [row.se for row in large], alpha=0.1)
    odd = placed["model-23"]
    assert own is not None
    assert odd.se is not None
    assert odd.elo is not None
    assert odd.ends[0] == pytest.approx(odd.elo - own * odd.se)
    # The other one's maker has too few anchors: no interval, and the reason.
    assert placed["model-22"].unbounded
    refusal = "model-22: 2 anchors of small-6, but a separate quantile needs 9"
    assert any(refusal in text for text in board.warnings)
    with pytest.raises(ArgumentError, match="quantile"):
        place(new, anchors, quantile="maker")
    unknown = place(new, anchors, quantile="family", seed=1)
    assert any("its family is unknown" in text for text in unknown.warnings)
