"""Anchors: the result of calibration on models with votes; placing models without votes.

`make_anchors` needs battles with judge scores and votes. It keeps the temperature, the anchors'
strengths on the judge's scale, their Elo by people's votes, and every anchor's held-out residual
and standard error.

`place` gives a new model's Elo on people's scale, only from judged battles against anchors. The
steps are those of calibration: the target with the kept temperature, theta with fixed anchors, a
standard error from that model's battles, and the conformal quantile of the anchors' held-out
residuals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np

from adjudge.data import read_result
from adjudge.data.battles import Battles, prepare_battles
from adjudge.data.drift import drift_from_quantiles
from adjudge.data.families import family_of
from adjudge.data.rows import Identity, merge_dropped
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError, PolicyMismatchError
from adjudge.judges.judge import match_judge
from adjudge.present import text
from adjudge.present.blocks import Block, Fact, Facts, Headline, notes_of, table_of, warnings_of
from adjudge.present.result import Count, NotNegative, ResultWithDigest, frozen
from adjudge.ranking import evaluation
from adjudge.ranking.bradley_terry import (
    battles_per_model,
    bradley_terry,
    float_at,
    target_battles,
    wins_table,
)
from adjudge.ranking.differences import ranks
from adjudge.ranking.evaluation import DEFAULT_REPLICATES, models_needed
from adjudge.ranking.leaderboard import Leaderboard, ModelRow, fitted_facts
from adjudge.ranking.rank import ReadingBattles
from adjudge.ranking.shift import effective_battles, spell_mix, weigh_battles
from adjudge.ranking.targets import choose_method, fixed_rule, make_target, smoothed_rule, soft_rule
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import DEFAULT_L2, fit_against_anchors, to_elo
from adjudge.validation import FloatArray, Seed, count, exact_level, generator, one_of, positive

METHODS = ("soft-elo", "hard-elo", "smoothed")
#: The anchors whose residuals give the quantile.
QUANTILES = ("pooled", "family")
#: With fewer battles the resampled standard error is itself uncertain.
_FEW_BATTLES = 30


@dataclass(frozen=True, kw_only=True)
class AnchorRow:
    """A known model: its judge-scale strength, people's Elo, and its held-out residual and SE."""

    model: str
    theta: float
    human_elo: float | None
    residual: float | None
    se: NotNegative | None
    n_battles: Count
    effective_battles: NotNegative | None = None


@frozen
class Anchors(ResultWithDigest):
    """What `rank --save-anchors` keeps: all that is needed to place a new model on people's scale.

    `method` is how targets are made (soft-elo with `beta`, hard-elo, smoothed with `smoothing`).
    `score_quantiles` of |s| are kept to detect a judge that has changed. `cluster` is the column
    that was resampled for standard errors; None: battle by battle. `mix` are the shares that the
    battles were weighted to.
    """

    kind: ClassVar[str] = "anchors"
    rows_in: ClassVar[str] = "models"

    schema_version: Count = 1
    method: str
    beta: float | None
    beta_se: NotNegative | None
    smoothing: float | None
    l2: NotNegative
    replicates: Count
    models: tuple[AnchorRow, ...]
    judge: str | None
    judge_fingerprint: str | None
    score_source: str
    score_quantiles: tuple[float, ...]
    n_battles: Count
    warnings: tuple[str, ...]
    dropped: Mapping[str, Count]
    adjudge_version: str
    cluster: str | None = None
    mix: Mapping[str, float] = field(default_factory=dict)

    def view(self) -> list[Block]:
        scales = [row.se for row in self.models if row.residual is not None and row.se is not None]
        # The quantile is the ceil((1 - alpha)(n + 1))-th score; one without a scale is infinite.
        least = math.ceil(1000 * (scales.count(0.0) + 1) / (len(scales) + 1)) / 1000
        finite = f"Intervals of new models are finite for alpha from {least:g}."
        headline = Headline(
            f"{self.method}: {text.count(len(self.models), 'anchor')}, {len(scales)} of them "
            "with a left-out residual",
            finite if any(scales) else "New models get no interval.",
            tone="plain" if any(scales) else "bad",
        )
        facts = [
            *fitted_facts(self),
            Fact("judge", self.judge or "not named", self.judge_fingerprint or ""),
            Fact("battles", text.number(self.n_battles), self.score_source),
        ]
        if self.cluster is not None:
            facts.append(Fact("errors resampled by", self.cluster))
        if self.mix:
            facts.append(Fact("battles weighted to", spell_mix(self.mix)))
        table = table_of(
            sorted(self.models, key=lambda row: -row.theta),
            {
                "anchor": lambda row: row.model,
                "strength": lambda row: text.number(row.theta),
                "people's Elo": lambda row: text.number(row.human_elo, 0),
                "residual, Elo": lambda row: text.signed(row.residual, 1),
                "se": lambda row: text.number(row.se, 1),
                "battles": lambda row: text.number(row.n_battles),
            },
        )
        notes = warnings_of(self.warnings) + notes_of(text.left_out(self.dropped, "battle"))
        return [headline, Facts(facts), table, *notes]


def make_anchors(
    battles: TableLike | Battles,
    *,
    method: str = "auto",
    mix: Mapping[str, float] | None = None,
    smoothing: float | None = None,
    l2: float = DEFAULT_L2,
    replicates: int = DEFAULT_REPLICATES,
    seed: Seed = 0,
    **reading: Unpack[ReadingBattles],
) -> Anchors:
    """Calibrate on models with votes, for placing models without votes. See the module.

    Anchors that were never compared, even through other models, are refused: there is no common
    scale.

    Args:
        battles: Battles with judge scores and votes, as in `rank`.
        method: soft-elo, hard-elo or smoothed; auto picks one of the first two.
        mix: Share of each value of `by` in the battles of new models. Battles are weighted to it.
        smoothing: Constant of smoothed, instead of choosing it.
        l2: Penalty l2 |theta|^2.
        replicates: Bootstrap resamples of each standard error, of clusters if there are any.
        seed: Seed of everything random.
        **reading: How battles are read: see `ReadingBattles`.
    """
    from adjudge import __version__

    l2 = positive(l2, "l2")
    replicates = count(replicates, "replicates", least=2)
    rng = generator(seed)
    ready = weigh_battles(prepare_battles(battles, **reading), mix)
    if ready.human is None:
        remedy = "anchors need battles that people voted on"
        raise ArgumentError("battles", "no human votes", remedy)
    if method == "auto":
        method = choose_method(ready)
    one_of(method, METHODS, "method")
    target = make_target(ready, method, smoothing=smoothing)
    if target.values is None:
        raise ArgumentError("method", method, str(target.reason))
    used, y = target_battles(ready, target.values)
    lost = ready.count_lost(~np.isfinite(target.values), "no judge score")
    fit = bradley_terry(_wins(used, y), names=used.names, l2=l2)
    apart = np.flatnonzero(fit.structure.component)
    if len(apart):
        groups = int(fit.structure.component.max()) + 1
        remedy = f"judge battles between them, or drop those of {used.names[apart[0]]}"
        raise DataError("battles", f"{groups} groups of models never met", remedy=remedy)
    rule = fixed_rule(method, ready, target.values)
    if method == "soft-elo":
        rule = soft_rule(ready)
    elif method == "smoothed" and smoothing is None:
        rule = smoothed_rule(ready)
    held = evaluation.residuals(
        evaluation.hold_out_each(rule, l2=l2, replicates=replicates, seed=rng),
        evaluation.human_reference(ready, l2=l2),
    )
    voted, votes = target_battles(ready, ready.human)
    people = bradley_terry(_wins(voted, votes), names=voted.names, l2=l2)
    # People's leaderboard has no Elo outside its largest component.
    human_elo = np.where(people.structure.component == 0, people.elo, np.nan)
    seen = {name: k for k, name in enumerate(held.names)}
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    effective = effective_battles(used)
    warnings = list(ready.warnings)
    if target.temperature is not None:
        warnings += target.temperature.warnings
    for reason, times in held.left_out.items():
        warnings.append(f"{times} anchors have no residual: {reason}")
    # Verdicts can exist without scores.
    scores = np.abs(np.asarray(used.score))
    scores = scores[np.isfinite(scores)]
    percents = np.linspace(0, 1, 101)
    return Anchors(
        method=method,
        beta=target.beta,
        beta_se=target.beta_se,
        smoothing=target.smoothing,
        l2=l2,
        replicates=replicates,
        models=tuple(
            AnchorRow(
                model=name,
                theta=float(fit.theta[k]),
                human_elo=float_at(human_elo, k),
                residual=float_at(held.values, seen.get(name)),
                se=float_at(held.se, seen.get(name)),
                n_battles=int(n_battles[k]),
                effective_battles=float_at(effective, k),
            )
            for k, name in enumerate(used.names)
        ),
        judge=_only(ready.judges, "judge"),
        judge_fingerprint=_only(ready.fingerprints, "judge_fingerprint"),
        score_source=ready.source or "",
        score_quantiles=tuple(np.quantile(scores, percents).tolist()) if len(scores) else (),
        n_battles=len(used),
        warnings=tuple(warnings),
        dropped=merge_dropped(ready.dropped, lost),
        adjudge_version=__version__,
        cluster=ready.cluster,
        mix=dict(mix or {}),
    )


def read_anchors(source: str | Path | Anchors) -> Anchors:
    """Read anchors from a file that `rank --save-anchors` wrote."""
    if isinstance(source, Anchors):
        name, anchors = "anchors", source
    else:
        name, anchors = str(source), read_result(source, Anchors)
    constant = {"soft-elo": anchors.beta, "hard-elo": 1.0, "smoothed": anchors.smoothing}
    if constant.get(anchors.method) is None or not anchors.models:
        raise DataError(name, "is not a complete anchors file", remedy="make it again")
    return anchors


def _wins(battles: Battles, target: FloatArray) -> FloatArray:
    return wins_table(battles.a, battles.b, target, battles.n_models, battles.weights)


def _only(values: tuple[str, ...], column: str) -> str | None:
    if len(values) > 1:
        problem, remedy = f"{len(values)} different values", "make anchors for one judge at a time"
        raise DataError("battles", problem, column=column, remedy=remedy)
    return values[0] if values else None


# --- placing new models ---


def place(
    battles: TableLike | Battles,
    anchors: str | Path | Anchors,
    *,
    alpha: float = 0.1,
    quantile: str = "pooled",
    families: Mapping[str, str] | None = None,
    replicates: int | None = None,
    seed: Seed = 0,
    **reading: Unpack[ReadingBattles],
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
        anchors: File that `rank --save-anchors` wrote, or the result of `make_anchors`.
        alpha: Error level of conformal intervals.
        quantile: pooled, or family (only models of the same maker). The promise of family is about
            models of that maker, and with too few of them there is no interval.
        families: Makers of models whose names do not show it.
        replicates: Bootstrap resamples of each standard error. By default as many as the anchors
            had.
        seed: Seed of everything random.
        **reading: How battles are read: see `ReadingBattles`. Clusters are the anchors'.
    """
    saved = read_anchors(anchors)
    level = exact_level(alpha)
    rng = generator(seed)
    replicates = (
        saved.replicates if replicates is None else count(replicates, "replicates", least=2)
    )
    one_of(quantile, QUANTILES, "quantile")
    if not isinstance(battles, Battles):
        reading["cluster"] = saved.cluster
    ready = prepare_battles(battles, **reading)
    warnings = [*ready.warnings, *_same_judge(ready, saved)]
    if saved.cluster is not None and ready.prompts is None:
        warnings.append(f"errors of the anchors are by {saved.cluster}, which does not repeat here")
    if ready.source != saved.score_source:
        raise PolicyMismatchError(
            f"scores here are {ready.source or 'missing'}, but the anchors were made from "
            f"{saved.score_source}; give the same columns",
            differs=("score_source",),
        )
    warnings += _score_drift(ready, saved)
    pooled, n = _anchor_quantile(saved.models, level)
    if pooled is None:
        least = math.ceil(1000 / (n + 1)) / 1000
        warnings.append(
            f"intervals are unbounded: {n} anchors with a residual, {models_needed(level)} needed "
            f"at alpha = {float(level):g}; {n} allow alpha from {least:g}"
        )
    theta = np.array([row.theta for row in saved.models])
    position = {row.model: k for k, row in enumerate(saved.models)}
    code = np.array([position.get(name, -1) for name in ready.names], dtype=np.int64)
    a_known, b_known = code[ready.a] >= 0, code[ready.b] >= 0
    fitted = {"beta": saved.beta, "smoothing": saved.smoothing}
    target = np.asarray(make_target(ready, saved.method, **fitted).values)
    mixed = a_known != b_known
    usable = mixed & np.isfinite(target)
    lost = {
        "both models are anchors": int((a_known & b_known).sum()),
        "neither model is an anchor": int((~a_known & ~b_known).sum()),
        **ready.count_lost(mixed & ~usable, "no judge score"),
    }
    if not usable.any():
        problem = "no judged battle of a new model against an anchor"
        remedy = "judge new models against the anchors' models, under the same names"
        raise DataError("battles", problem, remedy=remedy)
    prompts = None if saved.cluster is None else ready.prompts
    counts = ((row.n_battles, row.effective_battles) for row in saved.models)
    typical = float(np.median([n if equal is None else equal for n, equal in counts]))
    rows: list[ModelRow] = []
    for new in np.unique(np.where(a_known, ready.b, ready.a)[usable]):
        mine = usable & ((ready.a == new) | (ready.b == new))
        as_a = ready.a[mine] == new
        opponent = code[np.where(as_a, ready.b[mine], ready.a[mine])]
        y = np.where(as_a, target[mine], 1 - target[mine])
        met = np.bincount(opponent, minlength=len(theta)).astype(np.float64)
        estimate = float(to_elo(fit_against_anchors(met, np.asarray(y.sum()), theta, l2=saved.l2)))
        se = evaluation.anchored_standard_error(
            opponent,
            y,
            theta,
            l2=saved.l2,
            replicates=replicates,
            rng=rng,
            prompts=None if prompts is None else prompts[mine],
        ) * math.sqrt(max(1.0, len(y) / typical))
        swept = bool(np.all(y == 1) or np.all(y == 0))
        chosen = pooled
        if quantile == "family":
            chosen, refusal = _family_quantile(ready.names[new], saved, level, families)
            warnings += refusal
        low, high = evaluation.interval_around(estimate, None if swept else chosen, se)
        warnings += _placing_remarks(ready.names[new], estimate, y, to_elo(theta), typical)
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
    return Leaderboard(
        method=saved.method,
        beta=saved.beta,
        beta_se=saved.beta_se,
        l2=saved.l2,
        models=_placed(rows, saved),
        components=((*position, *(row.model for row in rows)),),
        warnings=tuple(warnings),
        dropped=merge_dropped(ready.dropped, lost),
        n_battles=int(usable.sum()),
        outcome=f"judge, {saved.score_source}, on people's scale",
        covers_judge_error=True,
        interval="conformal",
        confidence_level=1 - float(level),
        replicates=replicates,
        seed=seed if isinstance(seed, int) else None,
        smoothing=saved.smoothing,
        judge_fingerprint=saved.judge_fingerprint,
        assumptions=(
            "new models, their battles and prompts are like the anchors': of such models "
            f"{100 * (1 - float(level)):g} % have people's Elo inside, which is not a promise "
            "about one of them or about a new kind of model",
            "people's Elo is the one that their votes on these same battles would give",
            *([f"the new battles have the mix {spell_mix(saved.mix)}"] if saved.mix else []),
        ),
    )


def _placed(rows: list[ModelRow], anchors: Anchors) -> tuple[ModelRow, ...]:
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
    model: str, anchors: Anchors, level: Fraction, families: Mapping[str, str] | None
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


def _anchor_quantile(rows: Sequence[AnchorRow], level: Fraction) -> tuple[float | None, int]:
    """The quantile of the anchors that have a residual, and their number."""
    scored = [(row.residual, row.se) for row in rows if None not in (row.residual, row.se)]
    residual, se = np.array(scored, dtype=np.float64).reshape(-1, 2).T
    return evaluation.elo_quantile(residual, se, alpha=level), len(scored)


def _same_judge(battles: Battles, anchors: Anchors) -> list[str]:
    """Refuse another judge; note if only names, or nothing, could be compared."""
    judge = [Identity(judge=anchors.judge, fingerprint=anchors.judge_fingerprint)]
    matches = [
        match_judge(judge, identity, made="the anchors file", remedy="make anchors for this judge")
        for identity in battles.identities
    ]
    return list(dict.fromkeys(match.remark for match in matches if match.remark is not None))


def _score_drift(battles: Battles, anchors: Anchors) -> list[str]:
    if battles.score is None or not anchors.score_quantiles:
        return []
    here = np.abs(battles.score[np.isfinite(battles.score)])
    if not drift_from_quantiles(anchors.score_quantiles, here).flagged:
        return []
    median = anchors.score_quantiles[len(anchors.score_quantiles) // 2]
    return [
        f"score differences here differ from the anchors' (median |s| {np.median(here):.2f}, was "
        f"{median:.2f}): check judge and prompts"
    ]


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
