"""Anchors: the result of calibration on models with votes, for placing models without votes.

`make_anchors` needs battles with judge scores and votes. It keeps the temperature, the anchors'
strengths on the judge's scale, their Elo by people's votes, and every anchor's held-out residual
and standard error. `placing.place` uses them, `stale.check_anchors` tests whether they still hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np

from adjudge.data import read_result
from adjudge.data.battles import DIFFICULTIES, Battles, prepare_battles
from adjudge.data.rows import merge_dropped
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.present import text
from adjudge.present.blocks import (
    Block,
    Columns,
    Fact,
    Facts,
    Headline,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.result import Count, NotNegative, ResultWithDigest, frozen
from adjudge.ranking import evaluation
from adjudge.ranking.bradley_terry import (
    battles_per_model,
    bradley_terry,
    elo_standard_errors,
    float_at,
    sandwich,
    target_battles,
    wins_of,
)
from adjudge.ranking.evaluation import DEFAULT_REPLICATES
from adjudge.ranking.leaderboard_view import fitted_facts
from adjudge.ranking.rank import ReadingVotes
from adjudge.ranking.shift import effective_battles, spell_mix, weigh_battles
from adjudge.ranking.style import mean_lengths
from adjudge.ranking.targets import (
    Target,
    choose_method,
    fit_styled,
    fixed_rule,
    make_target,
    smoothed_rule,
    soft_rule,
    soft_targets,
    styled_rule,
    styled_scores,
)
from adjudge.ranking.temperature import fit_temperature
from adjudge.statistics.bradley_terry import DEFAULT_L2
from adjudge.validation import (
    FloatArray,
    IntArray,
    Seed,
    count,
    generator,
    one_of,
    positive,
)

METHODS = ("soft-elo", "hard-elo", "smoothed")


@dataclass(frozen=True, kw_only=True)
class AnchorRow:
    """A known model: its judge-scale strength, people's Elo, and its held-out residual and SE."""

    model: str
    theta: float
    human_elo: float | None
    human_se: NotNegative | None = None
    residual: float | None
    se: NotNegative | None
    n_battles: Count
    effective_battles: NotNegative | None = None


@dataclass(frozen=True, kw_only=True)
class AnchorSet:
    """Anchors of some battles, and how the judge's answers became their targets.

    `method` is how targets are made (soft-elo with `beta`, hard-elo, smoothed with `smoothing`).
    `score_quantiles` of |s| are kept to detect a judge that has changed. `cluster` is the column
    that was resampled for standard errors; None: battle by battle. `mix` are the shares of the
    values of `by` that the battles were weighted to.
    """

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
    by: str | None = None
    mix: Mapping[str, float] = field(default_factory=dict)
    control: tuple[str, ...] = ()
    gamma: tuple[float, ...] = ()
    lengths: tuple[float, float] | None = None
    made: str = ""

    @property
    def residuals(self) -> int:
        """How many anchors have a left-out residual."""
        return sum(row.residual is not None and row.se is not None for row in self.models)

    @property
    def least_alpha(self) -> float | None:
        """The smallest error level with a finite quantile; None without one."""
        scales = [row.se for row in self.models if row.residual is not None and row.se is not None]
        # The quantile is the ceil((1 - alpha)(n + 1))-th score; one without a scale is infinite.
        least = math.ceil(1000 * (scales.count(0.0) + 1) / (len(scales) + 1)) / 1000
        return least if any(scales) else None


@frozen
class Anchors(ResultWithDigest, AnchorSet):
    """What `anchors make` keeps: all that is needed to place a new model on people's scale.

    `groups` has the anchors of the battles of each value of `by` alone.
    """

    kind: ClassVar[str] = "anchors"
    rows_in: ClassVar[str] = "models"

    schema_version: Count = 1
    groups: Mapping[str, AnchorSet] = field(default_factory=dict)

    def view(self) -> list[Block]:
        least = self.least_alpha
        title = f"{self.method}: {text.count(len(self.models), 'anchor')}, {self.residuals} of them"
        headline = Headline(
            f"{title} with a left-out residual",
            "New models get no interval."
            if least is None
            else f"Intervals of new models are finite for alpha from {least:g}.",
            tone="bad" if least is None else "plain",
        )
        facts = [
            *fitted_facts(self),
            Fact("judge", self.judge or "not named", self.judge_fingerprint or ""),
            Fact("battles", text.number(self.n_battles), self.score_source),
        ]
        if self.made:
            facts.append(Fact("made on", self.made))
        if self.cluster is not None:
            facts.append(Fact("errors resampled by", self.cluster))
        if self.mix:
            facts.append(Fact("battles weighted to", spell_mix(self.mix)))
        for name, gamma in zip(self.control, self.gamma, strict=True):
            facts.append(
                Fact(f"gamma of {name}", text.signed(gamma), "people's, on top of the score")
            )
        if self.lengths is not None:
            low, high = self.lengths
            facts.append(Fact("answers longer than their rivals'", spell_lengths(low, high)))
        columns: Columns[AnchorRow] = {
            "anchor": lambda row: row.model,
            "strength": lambda row: text.number(row.theta),
            "people's Elo": lambda row: text.number(row.human_elo, 0),
            "residual, Elo": lambda row: text.signed(row.residual, 1),
            "se": lambda row: text.number(row.se, 1),
            "battles": lambda row: text.number(row.n_battles),
        }
        table = table_of(sorted(self.models, key=lambda row: -row.theta), columns)
        notes = warnings_of(self.warnings) + notes_of(text.left_out(self.dropped, "battle"))
        return [headline, Facts(facts), table, *self._table_of_groups(), *notes]

    def _table_of_groups(self) -> list[Block]:
        columns: Columns[tuple[str, AnchorSet]] = {
            str(self.by): lambda group: group[0],
            "anchors": lambda group: text.number(len(group[1].models)),
            "with a residual": lambda group: text.number(group[1].residuals),
            "finite for alpha from": lambda group: text.number(group[1].least_alpha),
            "battles": lambda group: text.number(group[1].n_battles),
        }
        caption = f"Anchors of one value alone: anchors place --quantile {self.by}=VALUE"
        return [table_of([*self.groups.items()], columns, caption=caption)] if self.groups else []


def make_anchors(
    battles: TableLike | Battles,
    *,
    method: str = "auto",
    mix: Mapping[str, float] | None = None,
    control: Sequence[str] | None = None,
    smoothing: float | None = None,
    l2: float = DEFAULT_L2,
    replicates: int = DEFAULT_REPLICATES,
    seed: Seed = 0,
    **reading: Unpack[ReadingVotes],
) -> Anchors:
    """Calibrate on models with votes, for placing models without votes. See the module.

    Anchors that were never compared, even through other models, are refused: there is no common
    scale.

    Args:
        battles: Battles with judge scores and votes, as in `rank`.
        method: soft-elo, hard-elo or smoothed; auto picks one of the first two.
        mix: Share of each value of `by` in the battles of new models. Battles are weighted to it.
            With `by` alone, the anchors of each value are kept too, for `place(quantile=)`.
        control: Fit what people's votes say about style on top of the judge's scores: length,
            headers, lists, bold, or a column of numbers. Models that write more than the anchors
            are then placed right.
        smoothing: Constant of smoothed, instead of choosing it.
        l2: Penalty l2 |theta|^2.
        replicates: Bootstrap resamples of each standard error, of clusters if there are any.
        seed: Seed of everything random.
        **reading: How battles are read: see `ReadingVotes`.
    """
    how = _Calibration(
        method,
        smoothing,
        positive(l2, "l2"),
        count(replicates, "replicates", least=2),
        generator(seed),
    )
    styled: dict[str, Any] = {} if control is None else {"control": control}
    ready = prepare_battles(battles, **reading, **styled)
    if ready.human is None:
        remedy = "anchors need battles that people voted on"
        raise ArgumentError("battles", "no human votes", remedy)
    if mix is not None:
        return Anchors(**vars(_calibrate(weigh_battles(ready, mix), how, mix)))
    if ready.groups == DIFFICULTIES:
        remedy = "give a column of it, or add --mix: thirds by scores are those of one file"
        raise ArgumentError("by", ready.by, remedy)
    whole = _calibrate(ready, how)
    groups = {}
    warnings = list(whole.warnings)
    for value in ready.groups or ():
        try:
            group = _calibrate(weigh_battles(ready, {value: 1.0}), how, {value: 1.0})
        except (ArgumentError, DataError) as error:
            warnings.append(f"no anchors of {ready.by} {value} alone: {error}")
        else:
            groups[value] = group
    return Anchors(**{**vars(whole), "groups": groups, "warnings": tuple(warnings)})


class _Calibration(NamedTuple):
    """The checked options of `make_anchors`."""

    method: str
    smoothing: float | None
    l2: float
    replicates: int
    rng: np.random.Generator


def _calibrate(
    ready: Battles, how: _Calibration, mix: Mapping[str, float] | None = None
) -> AnchorSet:
    """The anchors of these battles, which were weighted to the mix."""
    from adjudge import __version__

    method, smoothing, l2, replicates, rng = how
    if method == "auto":
        method = choose_method(ready)
    one_of(method, METHODS, "method")
    target = make_target(ready, method, smoothing=smoothing)
    if target.values is None:
        raise ArgumentError("method", method, str(target.reason))
    gamma: tuple[float, ...] = ()
    if ready.style is not None:
        target, gamma = _with_style(ready, target, method)
    values = np.asarray(target.values)
    used, y = target_battles(ready, values)
    lost = ready.count_lost(~np.isfinite(values), "no judge score")
    fit = bradley_terry(wins_of(used, y), names=used.names, l2=l2)
    apart = np.flatnonzero(fit.structure.component)
    if len(apart):
        groups = int(fit.structure.component.max()) + 1
        remedy = f"judge battles between them, or drop those of {used.names[apart[0]]}"
        raise DataError("battles", f"{groups} groups of models never met", remedy=remedy)
    rule = fixed_rule(method, ready, values)
    if ready.style is not None:
        rule = styled_rule(ready)
    elif method == "soft-elo":
        rule = soft_rule(ready)
    elif method == "smoothed" and smoothing is None:
        rule = smoothed_rule(ready)
    held = evaluation.residuals(
        evaluation.hold_out_each(rule, l2=l2, replicates=replicates, seed=rng),
        evaluation.human_reference(ready, l2=l2),
    )
    voted, votes = target_battles(ready, np.asarray(ready.human))
    people = bradley_terry(wins_of(voted, votes), names=voted.names, l2=l2)
    # People's leaderboard has no Elo outside its largest component.
    human_elo = np.where(people.structure.component == 0, people.elo, np.nan)
    human_se = None
    if voted.weights is None:
        covariance = sandwich(people, voted.a, voted.b, votes, clusters=voted.prompts)
        human_se = elo_standard_errors(covariance)
    seen = {name: k for k, name in enumerate(held.names)}
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    effective = effective_battles(used)
    warnings = list(ready.warnings)
    if target.temperature is not None:
        warnings += target.temperature.warnings
    for reason, times in held.left_out.items():
        warnings.append(f"{times} anchors have no residual: {reason}")
    return AnchorSet(
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
                human_se=float_at(human_se, k),
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
        score_quantiles=_score_quantiles(used),
        n_battles=len(used),
        warnings=tuple(warnings),
        dropped=merge_dropped(ready.dropped, lost),
        adjudge_version=__version__,
        cluster=ready.cluster,
        by=ready.by,
        mix=dict(mix or {}),
        control=ready.control,
        gamma=gamma,
        lengths=_range_of_lengths(used),
        made=date.today().isoformat(),
    )


def _with_style(battles: Battles, target: Target, method: str) -> tuple[Target, tuple[float, ...]]:
    """The soft targets with style, and the coefficients of style."""
    control = ",".join(battles.control)
    if method != "soft-elo" or battles.panel is not None:
        raise ArgumentError(
            "control", control, "leave it out, or use --method soft-elo of one judge"
        )
    coefficients = fit_styled(battles)
    if coefficients is None or coefficients[0] <= 0:
        remedy = "leave it out: with it, votes do not follow the judge's scores"
        raise ArgumentError("control", control, remedy)
    beta, *gamma = coefficients.tolist()
    moved = styled_scores(battles, beta, gamma)
    values = soft_targets(np.asarray(moved.score), beta)
    # beta is the temperature of the moved scores, so its error is theirs.
    fit = fit_temperature(np.asarray(moved.score), np.asarray(moved.human), clusters=moved.prompts)
    return replace(target, values=values, beta=beta, beta_se=fit.beta_se), tuple(gamma)


def _score_quantiles(battles: Battles) -> tuple[float, ...]:
    """Percentiles of |s|; none without scores, because verdicts can exist without them."""
    scores = np.abs(np.asarray(battles.score))
    scores = scores[np.isfinite(scores)]
    return tuple(np.quantile(scores, np.linspace(0, 1, 101)).tolist()) if len(scores) else ()


def _range_of_lengths(battles: Battles) -> tuple[float, float] | None:
    lengths = mean_lengths(battles)
    if lengths is None or np.isnan(lengths).all():
        return None
    return float(np.nanmin(lengths)), float(np.nanmax(lengths))


def spell_lengths(low: float, high: float) -> str:
    """Differences x of length as factors: 1/3 is twice as long.

    >>> spell_lengths(-1 / 3, 0.0)
    '0.50 to 1.00 times as long'
    """
    factors = [text.number((1 + x) / (1 - x) if x < 1 else math.inf, 2) for x in (low, high)]
    return f"{factors[0]} to {factors[1]} times as long"


def read_anchors(source: str | Path | Anchors) -> Anchors:
    """Read anchors from a file that `anchors make` wrote."""
    if isinstance(source, Anchors):
        name, anchors = "anchors", source
    else:
        name, anchors = str(source), read_result(source, Anchors)
    constant = {"soft-elo": anchors.beta, "hard-elo": 1.0, "smoothed": anchors.smoothing}
    if constant.get(anchors.method) is None or not anchors.models:
        raise DataError(name, "is not a complete anchors file", remedy="make it again")
    return anchors


def _only(values: tuple[str, ...], column: str) -> str | None:
    if len(values) > 1:
        problem, remedy = f"{len(values)} different values", "make anchors for one judge at a time"
        raise DataError("battles", problem, column=column, remedy=remedy)
    return values[0] if values else None


def on_anchors_scale(battles: Battles, anchors: AnchorSet) -> Battles:
    """The battles with scores that people's preference for style was added to, as the anchors'."""
    if not anchors.gamma or anchors.beta is None:
        return battles
    if battles.control != anchors.control:
        remedy = f"prepare the battles with control={list(anchors.control)}, as the anchors"
        raise ArgumentError("battles", "no style", remedy)
    return styled_scores(battles, anchors.beta, anchors.gamma)


def targets_as(battles: Battles, anchors: AnchorSet) -> FloatArray:
    """The targets of new battles, made as the anchors' were."""
    battles = on_anchors_scale(battles, anchors)
    fitted = {"beta": anchors.beta, "smoothing": anchors.smoothing}
    return np.asarray(make_target(battles, anchors.method, **fitted).values)


def positions_among(battles: Battles, anchors: AnchorSet) -> IntArray:
    """Where each model of the battles is among the anchors; -1 if it is not one of them."""
    position = {row.model: k for k, row in enumerate(anchors.models)}
    return np.array([position.get(name, -1) for name in battles.names], dtype=np.int64)


def read_as(anchors: AnchorSet, battles: object, *, by: bool = False) -> dict[str, Any]:
    """How new battles are read: with the anchors' columns. Prepared ones keep theirs."""
    if isinstance(battles, Battles):
        return {}
    columns = {"cluster": anchors.cluster, "control": anchors.control or None}
    return {**columns, "by": anchors.by} if by else columns
