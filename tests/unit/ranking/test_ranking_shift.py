"""Battles weighted to a mix of prompts, and prompts by difficulty."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from adjudge.data.battles import code_battles, prepare_battles
from adjudge.data.writing import write_result
from adjudge.errors import ArgumentError
from adjudge.ranking import make_anchors, place, rank, read_anchors
from adjudge.ranking.evaluation import (
    hold_out_each,
    human_reference,
    judge_rules,
    residuals,
)
from adjudge.ranking.shift import effective_battles, weigh_battles
from adjudge.ranking.targets import fixed_rule, smoothed_rule, soft_rule
from adjudge.simulate.battles import simulate_battles

FRAME = simulate_battles(models=8, battles=600, seed=4).frame


def test_a_weight_of_three_is_three_battles() -> None:
    battles = code_battles(FRAME, by="language")
    assert battles.groups == ("de", "en")
    counts = np.bincount(np.asarray(battles.group_codes))
    mix = {"de": 3.0 * counts[0], "en": 1.0 * counts[1]}
    weighed = weigh_battles(battles, mix)
    copies = np.repeat(np.arange(len(battles)), np.where(battles.group_codes == 0, 3, 1))
    repeated = battles.take(copies)
    assert weighed.weights is not None
    ratio = len(battles) / len(copies)
    rules = (
        lambda some: fixed_rule("hard-elo", some, some.verdict),
        lambda some: fixed_rule("human", some, some.human),
        lambda some: soft_rule(some),
        lambda some: smoothed_rule(some),
    )
    folds = np.arange(8)
    for rule in rules[:2]:
        np.testing.assert_allclose(
            rule(weighed).tables(folds), ratio * rule(repeated).tables(folds)
        )
    for rule in rules[2:]:
        # Temperature and constant are those of all battles once.
        total = rule(weighed).tables(folds).sum(axis=(1, 2))
        np.testing.assert_allclose(total, ratio * rule(repeated).tables(folds).sum(axis=(1, 2)))
    plain = hold_out_each(fixed_rule("h", battles, battles.verdict), seed=1)
    same = weigh_battles(battles, {"de": float(counts[0]), "en": float(counts[1])})
    again = hold_out_each(fixed_rule("h", same, same.verdict), seed=1)
    np.testing.assert_allclose(again.elo, plain.elo)
    np.testing.assert_allclose(again.se, plain.se)
    assert not np.allclose(human_reference(weighed).elo, human_reference(battles).elo)


def test_effective_battles_and_groups_outside_the_mix() -> None:
    battles = code_battles(FRAME, by="language")
    assert effective_battles(battles) is None
    counts = np.bincount(np.asarray(battles.group_codes))
    one = weigh_battles(battles, {"de": 1.0})
    assert len(one) == counts[0]
    assert one.dropped == {"language outside the mix": counts[1]}
    np.testing.assert_allclose(
        np.asarray(effective_battles(one)),
        np.bincount(one.a, minlength=8) + np.bincount(one.b, minlength=8),
    )


@pytest.mark.parametrize(
    ("mix", "by", "match"),
    [
        ({"de": 1.0}, None, "--by"),
        ({"fr": 1.0}, "language", "choose among de, en"),
        ({"de": -1.0, "en": 2.0}, "language", "not negative"),
        ({"de": 0.0}, "language", "not all 0"),
    ],
)
def test_a_mix_that_cannot_be_used(mix: dict[str, float], by: str | None, match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        rank(FRAME, by=by, mix=mix, evaluate=True, interval="none")


def test_the_mix_is_in_the_result_and_in_the_anchors() -> None:
    mix = {"de": 0.75, "en": 0.25}
    board = rank(FRAME, by="language", mix=mix, evaluate=True, interval="none", alpha=0.3)
    assert board.mix == mix
    assert "battles weighted to de 75 %, en 25 %" in str(board)
    anchors = make_anchors(FRAME, by="language", mix=mix)
    assert anchors.mix == mix
    assert all((row.effective_battles or 0) < row.n_battles for row in anchors.models)
    with pytest.raises(ArgumentError, match="--evaluate"):
        rank(FRAME, by="language", mix=mix)


def test_the_quantile_of_one_value_is_that_of_its_battles() -> None:
    german = FRAME.filter(language="de")
    one = make_anchors(FRAME, by="language", mix={"de": 1})
    alone = make_anchors(german)
    assert [row.model for row in one.models] == [row.model for row in alone.models]
    for field in ("theta", "human_elo", "residual", "se"):
        np.testing.assert_allclose(
            [getattr(row, field) for row in one.models],
            [getattr(row, field) for row in alone.models],
            rtol=1e-6,
        )
    # As `rank --evaluate --by` measures them.
    battles = code_battles(german)
    held = residuals(hold_out_each(judge_rules(battles)[-1]), human_reference(battles))
    np.testing.assert_allclose([row.residual for row in one.models], held.values, rtol=1e-6)
    # Eight models are enough for 20 %, too few for 10 %: no ends then, and the reason.
    known = one.models[0].model
    new = german.filter((pl.col("model_a") == known) | (pl.col("model_b") == known))
    swap = pl.col("model_a", "model_b").replace(known, "newcomer")
    enough, few = (place(new.with_columns(swap), one, alpha=alpha) for alpha in (0.2, 0.1))
    assert not next(row for row in enough.models if row.origin == "new").unbounded
    assert next(row for row in few.models if row.origin == "new").unbounded
    assert "8 anchors with a residual, 9 needed at alpha = 0.1" in str(few)
    assert any("the new battles have the mix de 100 %" in line for line in few.assumptions)
    # As a quantile, a column names what makes such anchors.
    with pytest.raises(ArgumentError, match="COLUMN=VALUE, make the anchors with --by COLUMN"):
        place(new, one, quantile="language=de")


def test_anchors_of_each_value_place_by_its_battles_alone() -> None:
    both = make_anchors(FRAME, by="language")
    assert list(both.groups) == ["de", "en"]
    german = make_anchors(FRAME, by="language", mix={"de": 1})
    # The residuals do not depend on the seed, their standard errors a little.
    for field in ("theta", "human_elo", "residual"):
        assert [getattr(row, field) for row in both.groups["de"].models] == [
            getattr(row, field) for row in german.models
        ]
    assert [row.theta for row in both.models] == [row.theta for row in make_anchors(FRAME).models]
    write_result(both, "anchors.json")
    again = read_anchors("anchors.json")
    assert again == both
    known = both.models[0].model
    new = FRAME.filter((pl.col("model_a") == known) | (pl.col("model_b") == known))
    new = new.with_columns(pl.col("model_a", "model_b").replace(known, "newcomer"))
    board = place(new, "anchors.json", quantile="language=de", alpha=0.2)
    alone = place(new.filter(pl.col("language") == "de"), german, alpha=0.2)
    rows = [next(row for row in b.models if row.origin == "new") for b in (board, alone)]
    assert rows[0].elo == pytest.approx(rows[1].elo)
    assert rows[0].n_battles == rows[1].n_battles == alone.n_battles
    assert board.dropped["language outside the mix"] > 0
    assert board.mix == {"de": 1.0}
    prepared = prepare_battles(new, by="language")
    again_board = place(prepared, both, quantile="language=de", alpha=0.2)
    assert [row.elo for row in again_board.models] == [row.elo for row in board.models]
    with pytest.raises(ArgumentError, match="family, strength, language=de, language=en"):
        place(new, both, quantile="language=fr")
    with pytest.raises(ArgumentError, match="by = 'language'"):
        place(new.drop("language"), both, quantile="language=de")


def test_a_value_without_anchors_of_its_own_is_named() -> None:
    few = FRAME.with_columns(language=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("fr"))
                             .otherwise("language"))  # fmt: skip
    anchors = make_anchors(few, by="language")
    assert list(anchors.groups) == ["de", "en"]
    assert any("no anchors of language fr alone: " in line for line in anchors.warnings)
    # Thirds by the judge's scores are those of one file.
    with pytest.raises(ArgumentError, match="thirds by scores are those of one file"):
        make_anchors(FRAME, by="difficulty")


def test_prompts_by_difficulty() -> None:
    battles = prepare_battles(FRAME, by="difficulty")
    assert battles.groups == ("easy", "medium", "hard")
    sizes = [
        np.abs(np.asarray(battles.score)[battles.group_codes == third]).mean() for third in range(3)
    ]
    assert sizes == sorted(sizes, reverse=True)
    own = FRAME.with_columns(difficulty=pl.lit("all"))
    assert prepare_battles(own, by="difficulty").groups == ("all",)
    with pytest.raises(ArgumentError, match="give judge scores"):
        prepare_battles(FRAME.select("model_a", "model_b", "human_pref"), by="difficulty")
