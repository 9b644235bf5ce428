"""Leave one model out: its Elo if it had no votes (Algorithm 1).

For each model m: the temperature and the anchors' strengths come from battles without m, then
theta_m from m's battles with the anchors fixed. People's Elo of m is made by the same two steps
from people's votes. All folds are fitted together on tables of wins.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from scipy.sparse import csr_array

from adjudge.errors import ArgumentError
from adjudge.ranking.bootstrap import cluster_weights
from adjudge.ranking.targets import Rule, fixed_rule
from adjudge.rows.battles import Battles
from adjudge.statistics.bradley_terry import (
    DEFAULT_L2,
    ELO_PER_UNIT,
    fit_against_anchors,
    fit_strengths,
    to_elo,
)
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, count, generator, positive

#: The paper resamples 20 times (section 5.3); more cost little here and make the scale more stable.
DEFAULT_REPLICATES = 100
_CHUNK_BYTES = 1 << 25


@dataclass(frozen=True)
class HeldOut:
    """Every model's Elo as if it were new; NaN if it has none.

    `reasons[k]` explains why model k has none. `se` is the standard error of `elo` from resampling
    only that model's battles, with fixed anchors and temperature.
    """

    method: str
    names: tuple[str, ...]
    elo: FloatArray
    se: FloatArray
    parameter: FloatArray | None
    reasons: tuple[str | None, ...]


def hold_out_each(
    battles: Battles,
    rule: Rule,
    *,
    l2: float = DEFAULT_L2,
    replicates: int = DEFAULT_REPLICATES,
    seed: Seed = 0,
) -> HeldOut:
    """Algorithm 1, lines 2 to 8, for every model under one rule of targets.

    The penalty is also in line 8, as in the authors' release, which keeps models that won or lost
    everything finite. Standard errors resample a model's battles by prompt if the battles have
    prompt codes; `replicates = 0` skips them.
    """
    l2 = positive(l2, "l2")
    if count(replicates, "replicates") == 1:
        raise ArgumentError("replicates", 1, "give 2 or more, or 0 for no standard errors")
    rng = generator(seed)
    n = battles.n_models
    if n < 3:
        raise ArgumentError("battles", f"{n} models", "give at least three models to leave one out")
    theta, anchors, opponents = _all_folds(rule, n, l2)
    reasons = _reasons(rule, opponents, n)
    valid = np.array([reason is None for reason in reasons])
    se = np.full(n, np.nan)
    if replicates:
        a, b = battles.a[rule.rows], battles.b[rule.rows]
        prompts = None if battles.prompts is None else battles.prompts[rule.rows]
        both = np.concatenate([a, b])
        order = np.argsort(both, kind="stable")
        edge = np.searchsorted(both[order], np.arange(n + 1))
        for m in np.flatnonzero(valid):
            rows = order[edge[m] : edge[m + 1]]
            as_a = rows < len(a)
            rows = np.where(as_a, rows, rows - len(a))
            y = rule.targets(int(m))[rows]
            se[m] = anchored_standard_error(
                np.where(as_a, b[rows], a[rows]),
                np.where(as_a, y, 1 - y),
                anchors[m],
                l2=l2,
                replicates=replicates,
                rng=rng,
                prompts=None if prompts is None else prompts[rows],
            )
    return HeldOut(
        method=rule.name,
        names=battles.names,
        elo=np.where(valid, to_elo(theta), np.nan),
        se=np.where(valid, se, np.nan),
        parameter=rule.parameter,
        reasons=tuple(reasons),
    )


def _all_folds(rule: Rule, n: int, l2: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """theta_m, the anchors' strengths and m's battles per opponent, for every fold."""
    theta, anchors, opponents = np.zeros(n), np.zeros((n, n)), np.zeros((n, n))
    start = None
    chunk = max(1, _CHUNK_BYTES // (8 * n * n))
    for first in range(0, n, chunk):
        folds = np.arange(first, min(n, first + chunk))
        folds_used = folds[rule.usable[folds]]
        if not len(folds_used):
            continue
        tables = rule.tables(folds_used)
        at = np.arange(len(folds_used))
        won = tables[at, folds_used].sum(axis=1)
        opponents[folds_used] = tables[at, folds_used] + tables[at, :, folds_used]
        tables[at, folds_used, :] = 0.0
        tables[at, :, folds_used] = 0.0
        if start is None:
            start = fit_strengths(tables[0], l2=l2)
        anchors[folds_used] = fit_strengths(tables, l2=l2, start=start)
        theta[folds_used] = fit_against_anchors(
            opponents[folds_used], won, anchors[folds_used], l2=l2
        )
    return theta, anchors, opponents


def _reasons(rule: Rule, opponents: FloatArray, n: int) -> list[str | None]:
    """Why a model has no held-out Elo; None if it has one."""
    reasons: list[str | None] = []
    linked = (opponents > 0) | (opponents.T > 0)
    neighbours = [_bits(row) for row in linked]
    for m in range(n):
        if not rule.usable[m]:
            reasons.append("no temperature without its battles")
        elif opponents[m].sum() < 2:
            reasons.append("fewer than two battles")
        else:
            together = _together(neighbours, _bits(opponents[m] > 0), m)
            reasons.append(None if together else "its opponents are not connected without it")
    return reasons


def _bits(models: BoolArray) -> int:
    """A set of models as the bits of one integer: a search over them is then a few operations."""
    return int.from_bytes(np.packbits(models, bitorder="little").tobytes(), "little")


def _together(neighbours: list[int], some: int, without: int) -> bool:
    """Whether paths that avoid one model connect these models."""
    reached = edge = some & -some
    while edge and some & ~reached:
        step = 0
        while edge:
            one = edge & -edge
            step |= neighbours[one.bit_length() - 1]
            edge ^= one
        edge = step & ~reached & ~(1 << without)
        reached |= edge
    return not some & ~reached


def anchored_standard_error(
    opponent: IntArray,
    target: FloatArray,
    anchors: FloatArray,
    *,
    l2: float,
    replicates: int,
    rng: np.random.Generator,
    prompts: IntArray | None = None,
) -> float:
    """Standard error in Elo of one model's anchored fit, its battles drawn with replacement.

    With `prompts`, prompts are drawn, each with all the model's battles (appendix J): answers to
    one prompt are correlated. With a single prompt no error can be measured: 0.
    """
    code = np.arange(len(target))
    if prompts is not None:
        code = np.unique(prompts, return_inverse=True)[1]
    weights = cluster_weights(int(code.max()) + 1, replicates, rng)[code]
    shape = len(anchors), len(code)
    fought = csr_array((np.ones(len(code)), (opponent, np.arange(len(code)))), shape=shape)
    met = np.asarray(fought @ weights, dtype=np.float64).T
    theta = fit_against_anchors(met, target @ weights, anchors, l2=l2)
    return float(ELO_PER_UNIT * theta.std(ddof=1))


def human_reference(battles: Battles, *, l2: float = DEFAULT_L2) -> HeldOut:
    """People's Elo of each model by the same two steps, from their votes (Algorithm 1, line 9)."""
    if battles.human is None:
        raise ArgumentError("battles", "no human votes", "give a column of votes to compare with")
    return hold_out_each(battles, fixed_rule("human", battles, battles.human), l2=l2, replicates=0)


@dataclass(frozen=True)
class Residuals:
    """Judge's Elo minus people's (Eq. 2) over the models that have both."""

    method: str
    names: tuple[str, ...]
    human: FloatArray
    judge: FloatArray
    se: FloatArray
    mean_parameter: float | None
    left_out: dict[str, int]

    @property
    def values(self) -> FloatArray:
        """epsilon = judge - human."""
        return self.judge - self.human

    def take(self, models: BoolArray) -> Residuals:
        """The residuals of some of the models."""
        return replace(
            self,
            names=tuple(compress(self.names, models)),
            human=self.human[models],
            judge=self.judge[models],
            se=self.se[models],
        )

    @property
    def mae(self) -> float | None:
        """Mean absolute residual, in Elo."""
        return float(np.abs(self.values).mean()) if len(self.names) else None


def residuals(judge: HeldOut, human: HeldOut) -> Residuals:
    """A method's held-out Elo minus people's; models without either are counted by reason."""
    reasons = [
        why or (None if why_human is None else f"votes: {why_human}")
        for why, why_human in zip(judge.reasons, human.reasons, strict=True)
    ]
    at = np.flatnonzero([reason is None for reason in reasons])
    mean = None
    if judge.parameter is not None and len(at):
        mean = float(judge.parameter[at].mean())
    return Residuals(
        method=judge.method,
        names=tuple(judge.names[k] for k in at),
        human=human.elo[at],
        judge=judge.elo[at],
        se=judge.se[at],
        mean_parameter=mean,
        left_out=dict(Counter(reason for reason in reasons if reason is not None)),
    )


def strongest_quarters(human: FloatArray) -> IntArray:
    """Quarter of each model by people's Elo, 0 the weakest, with sizes as equal as possible."""
    order = np.argsort(human, kind="stable")
    quarter = np.empty(len(human), dtype=np.int64)
    quarter[order] = np.arange(len(human)) * 4 // max(1, len(human))
    return quarter
