"""Placing models without votes on people's scale, by judged battles against anchors.

The steps are those of calibration: the target with the kept temperature, theta with fixed anchors,
a standard error from that model's battles, and the conformal quantile of the anchors' held-out
residuals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from adjudge.data.battles import Battles, prepare_battles
from adjudge.data.families import family_of
from adjudge.data.rows import merge_dropped, spelled_alike
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.ranking import evaluation
from adjudge.ranking.anchors import (
    AnchorRow,
    Anchors,
    AnchorSet,
    positions_among,
    read_anchors,
    read_as,
    targets_as,
)
from adjudge.ranking.differences import ranks
from adjudge.ranking.evaluation import models_needed
from adjudge.ranking.leaderboard import Leaderboard, ModelRow
from adjudge.ranking.rank import ReadingJudged
from adjudge.ranking.shift import spell_mix, weigh_battles
from adjudge.ranking.stale import compare_with, length_remarks
from adjudge.ranking.style import mean_lengths
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import fit_against_anchors, to_elo
from adjudge.validation import (
    FloatArray,
    IntArray,
    Seed,
    count,
    exact_level,
    generator,
    known_seed,
)

#: The anchors whose residuals give the quantile.
QUANTILES = ("pooled", "family", "strength")
#: Whose residuals they are, in a sentence.
_LIKE = {
    "family": "those of the anchors of the same maker",
    "strength": "those of the anchors about as strong by the judge",
}
#: Groups of strength, if each has enough anchors.
_MOST_GROUPS = 4
#: With fewer battles the resampled standard error is itself uncertain.
_FEW_BATTLES = 30


def place(
    battles: TableLike | Battles,
    anchors: str | Path | Anchors,
    *,
    alpha: float = 0.1,
    quantile: str = "pooled",
    families: Mapping[str, str] | None = None,
    replicates: int | None = None,
    seed: Seed = 0,
    **reading: Unpack[ReadingJudged],
) -> Leaderboard:
    """Place new models on people's scale, with conformal intervals (Eq. 4).

    Each new model is placed separately, by its battles against anchors; battles between new models
    or between anchors are dropped and counted. The interval covers the new model's Elo on the human
    leaderboard with probability at least 1 - `alpha` if the new model is exchangeable with the
    anchors. Battles of another judge than the anchors' are refused.

    The scale SE comes from the new model's battles, but counts no more of them than the median
    anchor had. Residuals include the judge's own preferences, which do not average out with more
    battles; Eq. 4 as published would still shrink the interval (anchors of 200 battles, new
    models of 1,000: 90 % intervals covered 57 %). A model that won or lost everything gets no
    interval: every resample has only wins, or only losses, too.

    Args:
        battles: Judged battles of new models against the anchors' models, as in `rank`.
        anchors: File that `anchors make` wrote, or the result of `make_anchors`.
        alpha: Error level of conformal intervals.
        quantile: pooled, family (only models of the same maker), strength (only anchors about as
            strong by the judge), or COLUMN=VALUE, such as language=de (only battles of that value,
            the anchors' and the new models'; anchors made with `by=COLUMN`). The promise is then
            about models of that maker, or of that strength, or about people's Elo on battles of
            that value, and with too few anchors there is no interval.
        families: Makers of models whose names do not show it.
        replicates: Bootstrap resamples of each standard error. By default as many as the anchors
            had.
        seed: Seed of everything random.
        **reading: How battles are read: see `ReadingJudged`. Clusters are the anchors'.
    """
    everything = read_anchors(anchors)
    of_value = quantile not in QUANTILES
    saved = _anchors_of_value(everything, quantile) if of_value else everything
    level = exact_level(alpha)
    rng = generator(seed)
    replicates = (
        saved.replicates if replicates is None else count(replicates, "replicates", least=2)
    )
    ready = prepare_battles(battles, **reading, **read_as(saved, battles, by=of_value))
    if of_value:
        ready = weigh_battles(ready, saved.mix)
    alike = spelled_alike([*(row.model for row in saved.models), *ready.names])
    comparison = compare_with(ready, saved)
    warnings = list(
        dict.fromkeys([*comparison.changed, *comparison.notes, *ready.warnings, *alike])
    )
    pooled, n = _anchor_quantile(saved.models, level)
    if pooled is None:
        least = math.ceil(1000 / (n + 1)) / 1000
        warnings.append(
            f"intervals are unbounded: {n} anchors with a residual, {models_needed(level)} needed "
            f"at alpha = {float(level):g}; {n} allow alpha from {least:g}"
        )
    theta = np.array([row.theta for row in saved.models])
    against = _against_anchors(ready, saved)
    counts = ((row.n_battles, row.effective_battles) for row in saved.models)
    typical = float(np.median([n if equal is None else equal for n, equal in counts]))
    lengths = mean_lengths(ready)
    rows: list[ModelRow] = []
    for new in np.unique(against.model):
        battles_of_new = against.model == new
        opponent = against.anchor[battles_of_new]
        y = against.target[battles_of_new]
        prompts = None if against.prompts is None else against.prompts[battles_of_new]
        met = np.bincount(opponent, minlength=len(theta)).astype(np.float64)
        estimate = float(to_elo(fit_against_anchors(met, np.asarray(y.sum()), theta, l2=saved.l2)))
        se = evaluation.anchored_standard_error(
            opponent, y, theta, l2=saved.l2, replicates=replicates, rng=rng, prompts=prompts
        )
        se *= math.sqrt(max(1.0, len(y) / typical))
        swept = bool(np.all(y == 1) or np.all(y == 0))
        chosen = pooled
        if quantile == "family":
            chosen, refusal = _family_quantile(ready.names[new], saved, level, families)
            warnings += refusal
        elif quantile == "strength":
            chosen = _strength_quantile(estimate, saved, level)
        low, high = evaluation.interval_around(estimate, None if swept else chosen, se)
        warnings += _placing_remarks(ready.names[new], estimate, y, to_elo(theta), typical)
        warnings += length_remarks(ready.names[new], lengths, int(new), saved)
        rows.append(
            ModelRow(
                model=ready.names[new],
                elo=estimate,
                interval=Interval(low, high, 1 - float(level)),
                se=se,
                n_battles=len(y),
                rank=0,
                unbounded=low is None,
                origin="new",
            )
        )
    names = [row.model for row in saved.models] + [row.model for row in rows]
    return Leaderboard(
        method=saved.method,
        beta=saved.beta,
        beta_se=saved.beta_se,
        l2=saved.l2,
        models=_placed(rows, saved),
        components=(tuple(names),),
        warnings=tuple(warnings),
        dropped=merge_dropped(ready.dropped, against.dropped),
        n_battles=len(against.target),
        outcome=f"judge, {saved.score_source}, on people's scale",
        covers_judge_error=True,
        interval="conformal",
        confidence_level=1 - float(level),
        replicates=replicates,
        seed=known_seed(seed),
        smoothing=saved.smoothing,
        judge_fingerprint=saved.judge_fingerprint,
        mix=saved.mix,
        assumptions=_assumptions(level, saved.mix, _LIKE.get(quantile, "the anchors'")),
    )


def _anchors_of_value(anchors: Anchors, quantile: str) -> AnchorSet:
    """The anchors of the battles with one value of the column that they were made by."""
    column, _, value = quantile.partition("=")
    if column == anchors.by and value in anchors.groups:
        return anchors.groups[value]
    choices = [*QUANTILES, *(f"{anchors.by}={value}" for value in anchors.groups)]
    remedy = f"choose one of {', '.join(choices)}"
    if not anchors.groups:
        remedy += "; for COLUMN=VALUE, make the anchors with --by COLUMN"
    raise ArgumentError("quantile", quantile, remedy)


def _assumptions(level: Fraction, mix: Mapping[str, float], like: str) -> tuple[str, ...]:
    same_mix = (f"the new battles have the mix {spell_mix(mix)}",) if mix else ()
    return (
        f"new models, their battles and prompts are like {like}: of such models "
        f"{100 * (1 - float(level)):g} % have people's Elo inside, which is not a promise "
        "about one of them or about a new kind of model",
        "people's Elo is the one that their votes on these same battles would give",
        *same_mix,
    )


class _AgainstAnchors(NamedTuple):
    """The judged battles of new models against anchors, seen from the new model."""

    model: IntArray
    anchor: IntArray
    target: FloatArray
    prompts: IntArray | None
    dropped: Mapping[str, int]


def _against_anchors(battles: Battles, anchors: AnchorSet) -> _AgainstAnchors:
    code = positions_among(battles, anchors)
    a_known = code[battles.a] >= 0
    b_known = code[battles.b] >= 0
    target = targets_as(battles, anchors)
    mixed = a_known != b_known
    usable = mixed & np.isfinite(target)
    dropped = {
        "both models are anchors": int((a_known & b_known).sum()),
        "neither model is an anchor": int((~a_known & ~b_known).sum()),
        **battles.count_lost(mixed & ~usable, "no judge score"),
    }
    if not usable.any():
        problem = "no judged battle of a new model against an anchor"
        remedy = "judge new models against the anchors' models, under the same names"
        raise DataError("battles", problem, remedy=remedy)
    new_is_a = b_known[usable]
    a = battles.a[usable]
    b = battles.b[usable]
    target = target[usable]
    prompts = None if anchors.cluster is None else battles.prompts
    return _AgainstAnchors(
        model=np.where(new_is_a, a, b),
        anchor=code[np.where(new_is_a, b, a)],
        target=np.where(new_is_a, target, 1 - target),
        prompts=None if prompts is None else prompts[usable],
        dropped=dropped,
    )


def _placed(rows: list[ModelRow], anchors: AnchorSet) -> tuple[ModelRow, ...]:
    """New models among the anchors' Elo by people, each ranked with its rank range."""
    empty: dict[str, Any] = {"interval": None, "se": None, "n_battles": 0, "rank": 0}
    voted = [
        ModelRow(model=row.model, elo=row.human_elo, origin="anchor", **empty)
        for row in anchors.models
        if row.human_elo is not None
    ]
    human = np.array([row.elo for row in voted], dtype=np.float64)
    elo = np.array([row.elo for row in (*voted, *rows)], dtype=np.float64)
    finished = []
    for row, rank in zip((*voted, *rows), ranks(elo), strict=True):
        best = worst = None
        low, high = row.ends
        if row.origin == "new" and low is not None and high is not None:
            # An unbounded rival can have any rank.
            rivals = [other.ends for other in rows if other is not row]
            surely = sum(lower is not None and lower > high for lower, _ in rivals)
            perhaps = sum(upper is None or upper >= low for _, upper in rivals)
            best = 1 + int((human > high).sum()) + surely
            worst = 1 + int((human >= low).sum()) + perhaps
        finished.append(replace(row, rank=int(rank), rank_low=best, rank_high=worst))
    return tuple(sorted(finished, key=lambda row: (row.rank, row.model)))


def _family_quantile(
    model: str, anchors: AnchorSet, level: Fraction, families: Mapping[str, str] | None
) -> tuple[float | None, list[str]]:
    """The quantile of the anchors of this model's maker; None, with a note, if too few."""
    maker = family_of(model, families)
    if maker is None:
        return None, [f"{model}: its family is unknown, no interval; name it in --families"]
    relatives = [row for row in anchors.models if family_of(row.model, families) == maker]
    quantile, n = _anchor_quantile(relatives, level)
    if quantile is not None:
        return quantile, []
    return None, [
        f"{model}: {n} anchors of {maker}, but a separate quantile needs {models_needed(level)}: "
        "no interval; use --quantile pooled"
    ]


def _strength_quantile(elo: float, anchors: AnchorSet, level: Fraction) -> float | None:
    """The quantile of the anchors about as strong by the judge: quarters, thirds or halves.

    Groups are as many as have enough anchors each, up to four. Without enough for one, None.
    """
    scored = [row for row in anchors.models if None not in (row.residual, row.se)]
    scored.sort(key=lambda row: row.theta)
    groups = min(_MOST_GROUPS, max(1, len(scored) // models_needed(level)))
    edges = np.arange(groups + 1) * len(scored) // groups
    strength = to_elo(np.array([row.theta for row in scored]))
    # Between two groups the middle decides.
    cuts = [(strength[edge - 1] + strength[edge]) / 2 for edge in edges[1:-1]]
    group = int(np.searchsorted(cuts, elo))
    return _anchor_quantile(scored[edges[group] : edges[group + 1]], level)[0]


def _anchor_quantile(rows: Sequence[AnchorRow], level: Fraction) -> tuple[float | None, int]:
    """The quantile of the anchors that have a residual, and their number."""
    scored = [(row.residual, row.se) for row in rows if None not in (row.residual, row.se)]
    residual, se = np.array(scored, dtype=np.float64).reshape(-1, 2).T
    return evaluation.elo_quantile(residual, se, alpha=level), len(scored)


def _placing_remarks(
    name: str, elo: float, target: FloatArray, anchors: FloatArray, typical: float
) -> list[str]:
    """Warnings about the interval of one placed model."""
    remarks = []
    n = len(target)
    if np.all(target == 1) or np.all(target == 0):
        result = "won" if target[0] else "lost"
        remarks.append(
            f"{name} {result} all {n:,} battles: the penalty determines its Elo, no interval; "
            f"judge it against {'stronger' if target[0] else 'weaker'} models"
        )
    elif not anchors.min() <= elo <= anchors.max():
        side = "above" if elo > anchors.max() else "below"
        remarks.append(
            f"{name} is {side} every anchor ({anchors.min():.0f} to {anchors.max():.0f}): no "
            "residual was measured there, so the interval is extrapolated"
        )
    if n < _FEW_BATTLES:
        remarks.append(f"{name}: only {n} battles, so the width of its interval is rough")
    if n > 2 * typical:
        remarks.append(
            f"{name}: {n:,} battles, but the anchors had {typical:,.0f}: its interval is as wide "
            f"as with {typical:,.0f}, because the anchors do not show how close the judge comes "
            "to people with more"
        )
    return remarks
