"""A jury of judges for ranking: the mean of their calibrated scores.

    s = mean over judges of beta_j s_j,    P(A preferred) = sigma(beta s)

beta_j is each judge's own temperature (Eq. 6), so that beta_j s_j are log-odds on one scale, for
any points that a judge gives. If judges make the same errors, their mean is overconfident; if their
errors are independent, it is underconfident. The jury's own beta corrects that. Both are refitted
in every fold without the left-out model.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit

from adjudge.errors import ArgumentError
from adjudge.ranking.counts import wins_table
from adjudge.ranking.targets import Rule
from adjudge.ranking.temperature import (
    fit_temperature,
    fold_temperatures,
    newton_temperature,
    no_maximum,
    signed_differences,
)
from adjudge.results.ranking import JurorRow
from adjudge.rows.battles import Battles
from adjudge.validation import FloatArray, IntArray


def calibrate_jury(battles: Battles) -> tuple[Battles, tuple[JurorRow, ...]]:
    """The battles with the jury's mean of calibrated scores as `score`, and each judge's beta."""
    panel, human = _panel(battles)
    fits = [
        fit_temperature(panel[:, j], human, clusters=battles.prompts) for j in range(panel.shape[1])
    ]
    jurors = tuple(
        JurorRow(judge=name, beta=fit.beta, beta_se=fit.beta_se, n_votes=fit.n_battles)
        for name, fit in zip(battles.judges, fits, strict=True)
    )
    for row, fit in zip(jurors, fits, strict=True):
        if row.beta is None:
            raise ArgumentError("jury", row.judge, f"leave this judge out: {fit.reason}")
    weights = np.array([row.beta for row in jurors], dtype=np.float64) / len(jurors)
    return replace(battles, score=panel @ weights), jurors


def jury_rule(battles: Battles) -> Rule:
    """sigma(beta s) of the jury, every temperature fitted without model m's battles."""
    panel, human = _panel(battles)
    n, judges = battles.n_models, panel.shape[1]
    columns = [
        fold_temperatures(panel[:, j], human, battles.a, battles.b, n) for j in range(judges)
    ]
    weights = np.stack(columns, axis=1) / judges
    scores = [panel @ weights[m] for m in range(n)]
    beta = np.array([_without(battles, human, m, score) for m, score in enumerate(scores)])
    usable = np.isfinite(beta) & (np.nan_to_num(beta) > 0)

    def targets(m: int) -> FloatArray:
        return np.asarray(expit(beta[m] * scores[m]), dtype=np.float64)

    def tables(folds: IntArray) -> FloatArray:
        return np.stack([wins_table(battles.a, battles.b, targets(int(m)), n) for m in folds])

    rows = np.arange(len(battles))
    return Rule("soft-elo", rows, targets, tables, parameter=beta, usable=usable)


def _without(battles: Battles, human: FloatArray, m: int, score: FloatArray) -> float:
    """beta of these scores without model m's battles; NaN if there is none."""
    others = (battles.a != m) & (battles.b != m) & ((human == 0) | (human == 1))
    t = signed_differences(score[others], human[others])
    if not np.isfinite(t).all() or no_maximum(t) is not None:
        return np.nan
    return float(newton_temperature(t, np.ones((1, len(t))))[0])


def juror_battles(battles: Battles) -> dict[str, Battles]:
    """The same battles as scored by each judge of the jury alone."""
    panel, _ = _panel(battles)
    return {
        name: replace(battles, score=panel[:, j], panel=None)
        for j, name in enumerate(battles.judges)
    }


def _panel(battles: Battles) -> tuple[FloatArray, FloatArray]:
    if battles.panel is None or battles.human is None:
        raise ArgumentError("jury", True, "give scores of several judges, and human votes")
    return battles.panel, battles.human
