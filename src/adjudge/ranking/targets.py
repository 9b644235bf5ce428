"""The target of each battle: votes, hard verdicts, calibrated probabilities, smoothed verdicts.

`make_target` gives the targets of a complete board. A `Rule` gives every battle's target if model m
is left out: hard verdicts are the same in every fold; the temperature of soft targets and the
constant of chosen smoothing are refitted.

A jury is the mean of its judges' calibrated scores:

    s = mean over judges of beta_j s_j,    P(A preferred) = sigma(beta s)

beta_j is each judge's own temperature (Eq. 6), so that beta_j s_j are log-odds on one scale, for
any points that a judge gives. If judges make the same errors, their mean is overconfident; if their
errors are independent, it is underconfident. The jury's own beta corrects that. Both are refitted
in every fold without the left-out model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError
from adjudge.present.result import Count, NotNegative
from adjudge.ranking.bradley_terry import target_battles, wins_of
from adjudge.ranking.temperature import (
    Temperature,
    fit_logit,
    fit_temperature,
    fold_temperatures,
    newton_temperature,
    no_maximum,
    signed_differences,
)
from adjudge.validation import BoolArray, FloatArray, IntArray, positive

#: Methods that rank by the judge's answers, never by votes.
OF_JUDGE = ("soft-elo", "hard-elo", "smoothed", "prediction-powered")


@dataclass(frozen=True)
class Target:
    """A target per battle (None: infeasible, with a `reason`) and how it was made.

    The other fields are those of the leaderboard that is made from it.
    """

    values: FloatArray | None
    outcome: str
    whose: str = "the judge's verdicts"
    temperature: Temperature | None = None
    beta: float | None = None
    beta_se: float | None = None
    smoothing: float | None = None
    reason: str | None = None
    covers_judge_error: bool = False


def choose_method(battles: Battles) -> str:
    """soft-elo with scores and votes, else hard-elo with verdicts, else bt."""
    if battles.source is None:
        return "bt"
    graded = not battles.source.startswith("verdicts") and battles.named is None
    return "soft-elo" if graded and battles.human is not None else "hard-elo"


def make_target(
    battles: Battles, method: str, *, beta: float | None = None, smoothing: float | None = None
) -> Target:
    """The targets of `method`.

    Temperature and smoothing constant are fitted to votes unless given. If the votes contradict the
    judge there is no target, and `reason` explains why: that is a result, not an error.
    """
    judged = battles.verdict
    scored = battles.score
    votes = battles.human
    if method in OF_JUDGE and (judged is None or scored is None):
        remedy = "give judge scores, probabilities or verdicts (--verdict COLUMN)"
        raise ArgumentError("method", method, remedy)
    if method == "soft-elo" and scored is not None:
        return _soft(battles, scored, beta)
    if method == "smoothed" and judged is not None:
        return _smoothed(battles, judged, smoothing)
    use_judge = method in OF_JUDGE or battles.named is not None or votes is None
    chosen = judged if use_judge else votes
    if chosen is None:
        raise ArgumentError(
            "battles",
            "no outcome",
            "give winner, human_pref or a judge's column: --verdict COLUMN (verdict=)",
        )
    if use_judge:
        whose = battles.source or f"verdicts in {battles.named}"
        return Target(
            chosen,
            battles.named or f"judge, {battles.source}",
            whose if whose.startswith("jury") else f"the judge's {whose}",
        )
    return Target(chosen, "votes", battles.voters, covers_judge_error=battles.of_people)


def _soft(battles: Battles, score: FloatArray, beta: float | None) -> Target:
    outcome = f"sigma(beta s), s = {battles.source}"
    whose = "the judge's scores" if beta is not None else "the judge's scores, fitted to votes"
    if beta is not None:
        return Target(soft_targets(score, beta), outcome, whose, beta=beta)
    if battles.human is None:
        remedy = "give human votes to fit beta, or --beta from an earlier fit"
        raise ArgumentError("method", "soft-elo", remedy)
    fit = fit_temperature(score, battles.human, verdict=battles.verdict, clusters=battles.prompts)
    values = None if fit.beta is None or fit.beta <= 0 else soft_targets(score, fit.beta)
    return Target(values, outcome, whose, fit, fit.beta, fit.beta_se, reason=fit.reason)


def _smoothed(battles: Battles, judged: FloatArray, constant: float | None) -> Target:
    outcome = f"smoothed verdicts, {battles.source}"
    if constant is None:
        if battles.human is None:
            remedy = "give a constant between 0.5 and 1, or votes to choose it"
            raise ArgumentError("smoothing", None, remedy)
        constant, n = agreement_share(judged, battles.human)
        if constant is None or constant <= 0.5:
            share = "an unknown share" if constant is None else f"{constant:.2f}"
            reason = f"the judge's side wins {share} of {n} decided votes: nothing to smooth"
            return Target(None, outcome, smoothing=constant, reason=reason)
    return Target(smoothed_targets(judged, constant), outcome, smoothing=constant)


def soft_targets(score: ArrayLike, beta: float) -> FloatArray:
    """sigma(beta s): the calibrated probability that A wins (Eq. 5).

    >>> soft_targets([0.0, 2.0, -2.0], 0.5).round(3)
    array([0.5  , 0.731, 0.269])
    """
    s = np.asarray(score, dtype=np.float64)
    return np.asarray(expit(positive(beta, "beta") * s), dtype=np.float64)


def smoothed_targets(verdict: ArrayLike, constant: float) -> FloatArray:
    """Verdicts moved to `constant` and 1 - `constant`, ties left at one half (appendix H).

    >>> smoothed_targets([1, 0, 0.5], 0.75).tolist()
    [0.75, 0.25, 0.5]
    """
    if not 0.5 < constant <= 1:
        raise ArgumentError("smoothing", constant, "give a constant above 0.5, at most 1")
    v = np.asarray(verdict, dtype=np.float64)
    return 0.5 + (2 * constant - 1) * (v - 0.5)


def agreement_share(verdict: FloatArray, human: FloatArray) -> tuple[float | None, int]:
    """Share of votes for the judge's side if both chose a side, and how many there are.

    This is the maximum likelihood constant of label smoothing: the temperature of sign(s).
    """
    both = decided_by_both(verdict, human)
    n = int(both.sum())
    return (float((verdict[both] == human[both]).mean()), n) if n else (None, 0)


def decided_by_both(verdict: FloatArray, human: FloatArray) -> BoolArray:
    """Battles where the judge and people both chose a side."""
    sides = (0.0, 1.0)
    return np.asarray(np.isin(verdict, sides) & np.isin(human, sides))


# --- targets without a model, for each model ---


@dataclass(frozen=True)
class Rule:
    """Targets per fold of the `battles` that have one.

    `targets(m)` gives their targets if model m is left out, `tables(folds)` the totals as
    (folds, n, n) tables of wins, including model m's own battles. `parameter` was refitted in each
    fold (NaN if it could not be); without one all folds have the same targets. `usable` are the
    folds that have targets.
    """

    name: str
    battles: Battles
    targets: Callable[[int], FloatArray]
    parameter: FloatArray | None
    usable: BoolArray

    def tables(self, folds: IntArray) -> FloatArray:
        """The tables of wins of these folds."""
        same = self.parameter is None
        tables = [
            wins_of(self.battles, self.targets(int(m))) for m in (folds[:1] if same else folds)
        ]
        return np.tile(tables, (len(folds), 1, 1)) if same else np.stack(tables)


def fixed_rule(name: str, battles: Battles, target: FloatArray) -> Rule:
    """The same targets in every fold: people's votes, hard verdicts, a fixed smoothing."""
    used, y = target_battles(battles, target)
    return Rule(name, used, lambda m: y, None, np.ones(battles.n_models, dtype=bool))


def soft_rule(battles: Battles) -> Rule:
    """sigma(beta_m s), beta_m fitted without model m's battles; these have scores and votes."""
    scores = np.asarray(battles.score)
    human = np.asarray(battles.human)
    beta = fold_temperatures(scores, human, battles.a, battles.b, battles.n_models)
    used, score = target_battles(battles, scores)
    # Rubric scores have few values: each is transformed once.
    levels, level = np.unique(score, return_inverse=True)
    return Rule("soft-elo", used, lambda m: expit(beta[m] * levels)[level], beta, beta > 0)


def smoothed_rule(battles: Battles) -> Rule:
    """Smoothing whose constant is the agreement share without model m's battles."""
    verdict = np.asarray(battles.verdict)
    human = np.asarray(battles.human)
    n = battles.n_models
    both = decided_by_both(verdict, human)
    agree = (verdict == human)[both]
    a = battles.a[both]
    b = battles.b[both]

    def without(values: FloatArray) -> FloatArray:
        battles_of = np.bincount(a, weights=values, minlength=n)
        battles_of += np.bincount(b, weights=values, minlength=n)
        return np.asarray(values.sum() - battles_of)

    hits = without(agree.astype(np.float64))
    seen = without(np.ones(len(agree)))
    constant = np.full(n, np.nan)
    np.divide(hits, seen, out=constant, where=seen > 0)
    used, sides = target_battles(battles, verdict)
    usable = constant > 0.5
    return Rule("smoothed", used, lambda m: smoothed_targets(sides, constant[m]), constant, usable)


# --- style in the target of soft Elo ---


def fit_styled(battles: Battles) -> FloatArray | None:
    """beta and gamma of  P(A preferred) = sigma(beta s + gamma' x),  x the differences in style.

    gamma is what people's votes say on top of the score: a judge that likes length more than
    people do has a negative one. Fitted like beta, to votes that are not ties; None without a
    maximum.
    """
    x, y, _ = _styled_votes(battles)
    return fit_logit(x, y, np.zeros(x.shape[1]))


def styled_rule(battles: Battles) -> Rule:
    """sigma(beta_m s + gamma_m' x), fitted without model m's battles."""
    x, y, decided = _styled_votes(battles)
    whole = fit_logit(x, y, np.zeros(x.shape[1]))
    coefficients = np.full((battles.n_models, x.shape[1]), np.nan)
    a = battles.a[decided]
    b = battles.b[decided]
    for m in range(battles.n_models if whole is not None else 0):
        others = (a != m) & (b != m)
        fit = fit_logit(x[others], y[others], np.asarray(whole))
        if fit is not None:
            coefficients[m] = fit
    used, score = target_battles(battles, np.asarray(battles.score))
    inputs = np.column_stack([score, np.asarray(used.style)])
    beta = coefficients[:, 0]
    return Rule("soft-elo", used, lambda m: expit(inputs @ coefficients[m]), beta, beta > 0)


def styled_scores(battles: Battles, beta: float, gamma: Sequence[float]) -> Battles:
    """The battles with scores s + gamma' x / beta, whose soft targets with beta have the style."""
    moved = np.asarray(battles.style) @ np.asarray(gamma) / beta
    return replace(battles, score=np.asarray(battles.score) + moved)


def _styled_votes(battles: Battles) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Scores with style, and votes, of the battles with both that are not ties; which they are."""
    if battles.score is None or battles.human is None or battles.style is None:
        raise ArgumentError("control", ",".join(battles.control), "give judge scores and votes")
    human = battles.human
    decided = np.isfinite(battles.score) & ((human == 0) | (human == 1))
    x = np.column_stack([battles.score, battles.style])[decided]
    return x, human[decided], decided


# --- a jury ---


@dataclass(frozen=True, kw_only=True)
class JurorRow:
    """A judge of a jury, with its own temperature."""

    judge: str
    beta: float | None
    beta_se: NotNegative | None
    n_votes: Count


def calibrate_jury(battles: Battles) -> tuple[Battles, tuple[JurorRow, ...]]:
    """The battles with the jury's mean of calibrated scores as `score`, and each judge's beta."""
    panel, human = _panel(battles)
    jurors = []
    for judge, scores in zip(battles.judges, panel.T, strict=True):
        fit = fit_temperature(scores, human, clusters=battles.prompts)
        if fit.beta is None:
            raise ArgumentError("jury", judge, f"leave this judge out: {fit.reason}")
        row = JurorRow(judge=judge, beta=fit.beta, beta_se=fit.beta_se, n_votes=fit.n_battles)
        jurors.append(row)
    weights = np.array([row.beta for row in jurors], dtype=np.float64) / len(jurors)
    return replace(battles, score=panel @ weights), tuple(jurors)


def jury_rule(battles: Battles) -> Rule:
    """sigma(beta s) of the jury, every temperature fitted without model m's battles."""
    panel, human = _panel(battles)
    n = battles.n_models
    betas = [fold_temperatures(scores, human, battles.a, battles.b, n) for scores in panel.T]
    weights = np.stack(betas, axis=1) / len(betas)
    scores = [panel @ weights[m] for m in range(n)]
    beta = np.full(n, np.nan)
    for m, score in enumerate(scores):
        others = (battles.a != m) & (battles.b != m) & ((human == 0) | (human == 1))
        t = signed_differences(score[others], human[others])
        if np.isfinite(t).all() and no_maximum(t) is None:
            beta[m] = newton_temperature(t, np.ones((1, len(t))))[0]

    return Rule("soft-elo", battles, lambda m: expit(beta[m] * scores[m]), beta, beta > 0)


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
