"""What each battle counts for under a method: votes, verdicts, calibrated or smoothed."""

from __future__ import annotations

from dataclasses import dataclass

from adjudge._validation import FloatArray
from adjudge.errors import ArgumentError
from adjudge.ranking.soft_elo import agreement_share, smoothed_targets, soft_targets
from adjudge.ranking.temperature import fit_temperature
from adjudge.results.ranking import Temperature
from adjudge.rows.battles import Battles

#: Methods that rank by what the judge said, never by votes.
OF_JUDGE = ("soft-elo", "hard-elo", "smoothed", "prediction-powered")


@dataclass(frozen=True)
class Target:
    """A target per battle (None: infeasible, `reason` says why) and how it was made."""

    values: FloatArray | None
    outcome: str
    temperature: Temperature | None = None
    beta: float | None = None
    beta_se: float | None = None
    smoothing: float | None = None
    reason: str | None = None


def choose_method(battles: Battles, source: str | None, named: str | None) -> str:
    """soft-elo with scores and votes, else hard-elo with verdicts, else bt."""
    if source is None:
        return "bt"
    graded = not source.startswith("verdicts")
    return "soft-elo" if graded and named is None and battles.human is not None else "hard-elo"


def make_target(
    battles: Battles,
    method: str,
    *,
    source: str | None,
    named: str | None = None,
    beta: float | None = None,
    smoothing: float | None = None,
) -> Target:
    """The targets of `method`. `source` says where the judge's score came from.

    Temperature and smoothing constant are fitted to votes unless given. When the votes speak
    against the judge there is no target, and `reason` says why: that is a finding, not an error.
    """
    judged, scored, votes = battles.verdict, battles.score, battles.human
    if method in OF_JUDGE and (judged is None or scored is None):
        raise ArgumentError(
            "method", method, "give judge scores, probabilities or verdicts (--verdict COLUMN)"
        )
    if method == "soft-elo" and scored is not None:
        told = f"sigma(beta s), s = {source}"
        if beta is not None:
            return Target(soft_targets(scored, beta), told, beta=beta)
        if votes is None:
            raise ArgumentError(
                "method", method, "give human votes to fit beta, or --beta from an earlier fit"
            )
        found = fit_temperature(scored, votes, verdict=judged, clusters=battles.prompts)
        if found.beta is None or found.beta <= 0:
            return Target(None, told, found, found.beta, found.beta_se, reason=found.reason)
        values = soft_targets(scored, found.beta)
        return Target(values, told, found, found.beta, found.beta_se)
    if method == "smoothed" and judged is not None:
        return _smoothed(judged, votes, smoothing, f"smoothed verdicts, {source}")
    use_judge = method in OF_JUDGE or named is not None or votes is None
    chosen = judged if use_judge else votes
    if chosen is None:
        raise ArgumentError("battles", "no outcome", "give winner, human_pref or --verdict COLUMN")
    return Target(chosen, (named or f"judge, {source}") if use_judge else "votes")


def _smoothed(
    judged: FloatArray, votes: FloatArray | None, constant: float | None, told: str
) -> Target:
    if constant is None:
        if votes is None:
            raise ArgumentError(
                "smoothing", None, "give a constant between 0.5 and 1, or votes to choose it"
            )
        constant, n = agreement_share(judged, votes)
        if constant is None or constant <= 0.5:
            share = "an unknown share" if constant is None else f"{constant:.2f}"
            why = f"the judge's side wins {share} of {n} decided votes: nothing to smooth"
            return Target(None, told, reason=why, smoothing=constant)
    return Target(smoothed_targets(judged, constant), told, smoothing=constant)
