"""Algorithm 1 against a plain implementation that loops over models and battles."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, log_expit

from adjudge.data.battles import Battles, code_battles
from adjudge.errors import ArgumentError
from adjudge.ranking.evaluation import hold_out_each, human_reference, residuals
from adjudge.ranking.targets import fixed_rule, smoothed_rule, soft_rule
from adjudge.simulate.battles import simulate_battles
from adjudge.statistics.bradley_terry import ELO_PER_UNIT, to_elo

L2 = 0.01


def plain_fold(battles: Battles, m: int, target: Any, rows: Any) -> float:
    """Lines 7 and 8 with scipy, one battle at a time."""
    a, b = battles.a[rows], battles.b[rows]
    y = target[rows]
    own = (a == m) | (b == m)
    n = battles.n_models

    def loss(theta: Any) -> float:
        d = theta[a[~own]] - theta[b[~own]]
        fit = y[~own] * log_expit(d) + (1 - y[~own]) * log_expit(-d)
        return float(-fit.sum() + L2 * theta @ theta)

    def gradient(theta: Any) -> Any:
        d = expit(theta[a[~own]] - theta[b[~own]]) - y[~own]
        g = 2 * L2 * theta
        np.add.at(g, a[~own], d)
        np.add.at(g, b[~own], -d)
        return g

    anchors = minimize(loss, np.zeros(n), jac=gradient, method="BFGS", options={"gtol": 1e-9}).x
    rival = np.where(a[own] == m, b[own], a[own])
    won = np.where(a[own] == m, y[own], 1 - y[own])

    def score(theta: float) -> float:
        return float(won.sum() - expit(theta - anchors[rival]).sum() - 2 * L2 * theta)

    return float(to_elo(np.asarray(brentq(score, -30, 30, xtol=1e-12))))


@pytest.fixture(scope="module")
def battles() -> Battles:
    frame = simulate_battles(models=6, battles=300, seed=4).frame
    # Some battles without a vote, some without a score.
    frame = frame.with_columns(
        human_pref=pl.when(pl.int_range(pl.len()) % 7 != 0).then("human_pref"),
        score_a=pl.when(pl.int_range(pl.len()) % 11 != 0).then("score_a"),
    )
    return code_battles(frame)


def test_soft_folds(battles: Battles) -> None:
    assert battles.score is not None
    assert battles.human is not None
    found = hold_out_each(soft_rule(battles), l2=L2, replicates=0)
    assert found.parameter is not None
    rows = np.flatnonzero(np.isfinite(battles.score))
    for m in range(6):
        use = (battles.a != m) & (battles.b != m) & np.isfinite(battles.score)
        use &= np.isin(battles.human, (0.0, 1.0))
        t = (battles.score * (2 * battles.human - 1))[use]
        beta = minimize_scalar(
            lambda beta, t=t: -log_expit(beta * t).sum(), bracket=(0.1, 1), tol=1e-14
        ).x
        assert found.parameter[m] == pytest.approx(beta, abs=1e-7)
        expected = plain_fold(battles, m, expit(found.parameter[m] * battles.score), rows)
        assert found.elo[m] == pytest.approx(expected, abs=1e-5)


def test_human_and_hard_folds(battles: Battles) -> None:
    for target, found in (
        (battles.human, human_reference(battles, l2=L2)),
        (
            battles.verdict,
            hold_out_each(fixed_rule("hard", battles, np.asarray(battles.verdict)), replicates=0),
        ),
    ):
        assert target is not None
        rows = np.flatnonzero(np.isfinite(target))
        for m in range(6):
            assert found.elo[m] == pytest.approx(plain_fold(battles, m, target, rows), abs=1e-5)


def test_chosen_smoothing_uses_no_vote_on_the_left_out_model(battles: Battles) -> None:
    assert battles.verdict is not None
    assert battles.human is not None
    rule = smoothed_rule(battles)
    assert rule.parameter is not None
    for m in range(6):
        use = (battles.a != m) & (battles.b != m)
        use &= np.isin(battles.human, (0.0, 1.0)) & np.isin(battles.verdict, (0.0, 1.0))
        share = (battles.human == battles.verdict)[use].mean()
        assert rule.parameter[m] == pytest.approx(share)
    found = hold_out_each(rule, l2=L2, replicates=0)
    rows = np.flatnonzero(np.isfinite(battles.verdict))
    target = 0.5 + (2 * rule.parameter[2] - 1) * (battles.verdict - 0.5)
    assert found.elo[2] == pytest.approx(plain_fold(battles, 2, target, rows), abs=1e-5)


def test_votes_on_a_model_do_not_touch_its_own_fold(battles: Battles) -> None:
    changed = np.array(battles.human)
    own = (battles.a == 3) | (battles.b == 3)
    changed[own] = 1 - changed[own]
    other = Battles(
        names=battles.names, a=battles.a, b=battles.b, human=changed, score=battles.score
    )
    before = hold_out_each(soft_rule(battles), replicates=0)
    after = hold_out_each(soft_rule(other), replicates=0)
    assert after.elo[3] == pytest.approx(before.elo[3], abs=1e-9)
    assert abs(after.elo[0] - before.elo[0]) > 1e-3


def test_the_resampled_error_is_the_analytic_one() -> None:
    battles = code_battles(simulate_battles(models=4, battles=4000, seed=2).frame)
    assert battles.verdict is not None
    found = hold_out_each(fixed_rule("hard", battles, battles.verdict), replicates=2000, seed=0)
    reference = hold_out_each(fixed_rule("hard", battles, battles.verdict), replicates=0)
    np.testing.assert_array_equal(found.elo, reference.elo)
    assert np.isnan(reference.se).all()
    # One-model sandwich: sqrt(sum (y - p)^2) / sum p(1-p), anchors as left-out fits give them.
    for m in range(4):
        own = (battles.a == m) | (battles.b == m)
        rest = battles.take(~own)
        assert rest.verdict is not None
        from adjudge.ranking.bradley_terry import wins_table
        from adjudge.statistics.bradley_terry import fit_strengths

        anchors = fit_strengths(wins_table(rest.a, rest.b, rest.verdict, 4))
        theta = (found.elo[m] - 1500) / ELO_PER_UNIT
        rival = np.where(battles.a == m, battles.b, battles.a)[own]
        y = np.where(battles.a == m, battles.verdict, 1 - battles.verdict)[own]
        p = expit(theta - anchors[rival])
        analytic = ELO_PER_UNIT * np.sqrt(((y - p) ** 2).sum()) / (p * (1 - p)).sum()
        assert found.se[m] == pytest.approx(analytic, rel=0.08)


def test_reasons_are_given_and_counted() -> None:
    # c joins {a, b} to {d, e}: without it they never met. f fought once.
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")] * 8 + [("f", "a")]
    frame = pl.DataFrame(
        {
            "model_a": [x for x, _ in pairs],
            "model_b": [y for _, y in pairs],
            "winner": (["model_a", "model_b", "tie"] * 20)[: len(pairs)],
            "score_a": [5.0 + (k % 5) for k in range(len(pairs))],
            "score_b": [6.0 + (k % 3) for k in range(len(pairs))],
        }
    )
    battles = code_battles(frame)
    human = human_reference(battles)
    judge = hold_out_each(soft_rule(battles), replicates=5)
    reasons = dict(zip(battles.names, human.reasons, strict=True))
    assert reasons["c"] == "its opponents are not connected without it"
    assert reasons["f"] == "fewer than two battles"
    found = residuals(judge, human)
    assert "c" not in found.names
    assert sum(found.left_out.values()) + len(found.names) == battles.n_models


def test_too_few_models() -> None:
    battles = code_battles(simulate_battles(models=2, battles=20).frame)
    with pytest.raises(ArgumentError, match="three models"):
        human_reference(battles)


def test_one_resample_has_no_standard_error(battles: Battles) -> None:
    with pytest.raises(ArgumentError, match="replicates = 1"):
        hold_out_each(soft_rule(battles), replicates=1)
