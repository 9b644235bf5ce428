"""Orders that need no fitted strengths: win rate, Copeland, Schulze, online Elo, the exact order.

Most use a table of wins, `wins[i, j]` = how often i beat j, ties as one half to each (diagnosis
paper, section 3.1); a higher score is better. Online Elo updates after each battle, in the order of
the file:

    R_a += K (y - 1 / (1 + 10^((R_b - R_a) / 400)))

Its result depends on the order of the battles, which has no information about the models.
Bradley-Terry does not depend on the order.

The exact order contradicts the fewest wins: minimum feedback arc set. A linear program over the
pairs (x_ij = 1 if i is above j) with the triangle inequalities 0 <= x_ij + x_jk - x_ik <= 1; only
violated ones are added. Its optimum is a lower bound for the cost of every order; an order that
meets the bound is proven optimal. If the solution stays fractional, HiGHS branches on it. Groups of
models that no majority cycle joins are solved separately.

Two rankings of the same models are compared by rank correlations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from adjudge.data.battles import Battles
from adjudge.present import text
from adjudge.present.blocks import Fact
from adjudge.present.result import Correlation, Count, Level
from adjudge.ranking.bradley_terry import (
    battles_per_model,
    cluster_weights,
    square,
    target_battles,
    wins_table,
)
from adjudge.records import Interval
from adjudge.statistics.bradley_terry import DEFAULT_L2, ELO_BASE, dominance_groups, fit_strengths
from adjudge.validation import (
    FloatArray,
    IntArray,
    Seed,
    count,
    finite,
    generator,
    open_unit,
    positive,
    same_length,
)

_TOLERANCE = 1e-6
#: How many violated triangles are added per step, the most violated first.
_CUTS_PER_ROUND = 4000


def win_rate(wins: ArrayLike) -> FloatArray:
    """Share of its battles that each model won; NaN without a battle.

    It depends on the opponents. Compare models only if their opponents were drawn in the same way.

    >>> win_rate([[0, 3], [1, 0]]).tolist()
    [0.75, 0.25]
    """
    table = square(wins)
    won = table.sum(axis=1)
    lost = table.sum(axis=0)
    rate = np.full(len(table), np.nan)
    np.divide(won, won + lost, out=rate, where=(won + lost) > 0)
    return rate


def copeland(wins: ArrayLike) -> FloatArray:
    """Rivals beaten more often than not, minus rivals lost to. A pair without a battle counts 0.

    >>> copeland([[0, 3, 1], [1, 0, 2], [0, 0, 0]]).tolist()
    [2.0, 0.0, -2.0]
    """
    margin = np.sign(square(wins) - square(wins).T)
    return np.asarray(margin.sum(axis=1), dtype=np.float64)


def schulze(wins: ArrayLike) -> FloatArray:
    """How many rivals each model beats by its strongest path (Schulze 2011, winning votes).

    A path is as strong as its weakest step; a step i to j is as strong as the wins of i over j, if
    i won the pair. Ties in the Schulze order get equal scores.

    >>> schulze([[0, 3, 1], [1, 0, 2], [2, 0, 0]]).tolist()
    [1.0, 0.0, 0.0]
    """
    table = square(wins)
    path = np.where(table > table.T, table, 0.0)
    for via in range(len(path)):
        # A path is as strong as its weakest pair.
        through = np.minimum(path[:, via : via + 1], path[via : via + 1, :])
        np.maximum(path, through, out=path)
    beats = path > path.T
    return np.asarray(beats.sum(axis=1), dtype=np.float64)


#: Orders from one table of wins.
BY_TABLE: dict[str, Callable[[FloatArray], FloatArray]] = {
    "win-rate": win_rate,
    "copeland": copeland,
    "schulze": schulze,
}


def online_elo(
    a: IntArray, b: IntArray, target: FloatArray, n: int, *, k: float = 16.0
) -> FloatArray:
    """The ratings after the last battle, in the order of the file.

    >>> online_elo(np.array([0]), np.array([1]), np.array([1.0]), 2, k=32)
    array([1516., 1484.])
    """
    k = positive(k, "k")
    ratings = [ELO_BASE] * n
    for i, j, y in zip(a.tolist(), b.tolist(), target.tolist(), strict=True):
        expected = 1 / (1 + 10 ** ((ratings[j] - ratings[i]) / 400))
        change = k * (y - expected)
        ratings[i] += change
        ratings[j] -= change
    return np.array(ratings)


# --- the exact order ---


@dataclass(frozen=True)
class LeastReversals:
    """The order that contradicts the fewest wins (minimum feedback arc set), best row first.

    `cost` is the weight of wins against the order, `bound` a lower bound for any order; `gap` is
    their difference as a share of all weight, 0 if `proven`.
    """

    order: tuple[int, ...]
    cost: float
    bound: float
    gap: float
    proven: bool

    @property
    def strengths(self) -> FloatArray:
        """A number per model that decreases along the order."""
        return np.asarray(-1.0 - np.argsort(self.order), dtype=np.float64)


def least_reversals(wins: ArrayLike, *, time_limit: float = 10.0) -> LeastReversals:
    """The order of models with the least weight of wins against it.

    Pairs count by their net wins; a tied pair costs nothing in either order.

    Args:
        wins: Square table of wins: [i, j] counts how often i beat j.
        time_limit: Time limit, in seconds. After it the best order so far is returned, with
            `proven` False and the gap to the bound.

    >>> best = least_reversals([[0, 2, 1], [0, 0, 2], [2, 0, 0]])
    >>> best.order, best.cost, best.proven
    ((0, 1, 2), 2.0, True)
    """
    table = square(wins)
    seconds = positive(time_limit, "time_limit")
    began = time.monotonic()
    net = np.maximum(table - table.T, 0.0)
    # The smaller number of wins of a pair contradicts any order.
    unavoidable = float(np.minimum(table, table.T).sum() / 2)
    _, group = dominance_groups(net)
    order: list[int] = []
    cost = bound = 0.0
    proven = True
    for members in _from_top(net, group):
        left = seconds - (time.monotonic() - began)
        ranked, *costs, optimal = _solve_group(net[np.ix_(members, members)], left)
        order.extend(members[ranked].tolist())
        cost = cost + costs[0]
        bound = bound + costs[1]
        proven = proven and optimal
    total = float(table.sum())
    gap = 0.0 if proven or total == 0 else (cost - bound) / total
    return LeastReversals(tuple(order), cost + unavoidable, bound + unavoidable, gap, proven)


def _from_top(net: FloatArray, group: IntArray) -> list[IntArray]:
    """Groups joined by majority cycles, each before the groups it beats."""
    count = int(group.max()) + 1 if len(group) else 0
    beats = np.zeros((count, count), dtype=bool)
    i, j = np.nonzero(net)
    beats[group[i], group[j]] = True
    np.fill_diagonal(beats, False)
    waiting = beats.sum(axis=0)
    # Among groups that can come next, the one with more net wins per model is higher.
    won = np.bincount(group, weights=(net - net.T).sum(axis=1), minlength=count)
    strength = won / np.maximum(np.bincount(group, minlength=count), 1)
    left = set(range(count))
    ordered = []
    while left:
        top = max((g for g in left if waiting[g] == 0), key=lambda g: (strength[g], -g))
        left.remove(top)
        waiting = waiting - beats[top]
        ordered.append(np.flatnonzero(group == top))
    return ordered


def _solve_group(net: FloatArray, seconds: float) -> tuple[IntArray, float, float, bool]:
    """Order, cost, lower bound on the cost, and whether it is proven to be the lowest."""
    if len(net) == 1:
        return np.zeros(1, dtype=np.int64), 0.0, 0.0, True
    order = _local_search(net, np.argsort(-np.sign(net - net.T).sum(axis=1), kind="stable"))
    cost = _reversed_weight(net, order)
    deadline = time.monotonic() + seconds
    program = _Program(net)
    # The smallest difference between costs: 1 for whole weights, 1/2 with ties, else 0.
    exact = (
        step for step in (1.0, 0.5) if np.allclose(net / step, np.round(net / step), atol=1e-9)
    )
    grain = next(exact, 0.0)
    bound = 0.0
    # First the linear program; if it stays fractional, the branching one.
    for whole in (False, True):
        while time.monotonic() < deadline:
            x, value, finished = program.solve(deadline - time.monotonic(), whole=whole)
            # A truncated linear program gives no bound; a truncated branching one does.
            if not whole and not finished:
                break
            bound = max(bound, value)
            if x is None:
                break
            candidate = np.argsort(-program.above(x).sum(axis=1), kind="stable")
            if not whole:
                candidate = _local_search(net, candidate)
            if _reversed_weight(net, candidate) < cost - _TOLERANCE:
                order = candidate
                cost = _reversed_weight(net, candidate)
            slack = _TOLERANCE * max(1.0, cost)
            if cost - bound < (grain - slack if grain else slack):
                return order, cost, cost, True
            if not finished or not program.cut(x):
                break
    return order, cost, min(bound, cost), False


class _Program:
    """The linear program over pairs i < j, and the triangles added so far."""

    def __init__(self, net: FloatArray) -> None:
        self.n = len(net)
        self.i, self.j = np.triu_indices(self.n, 1)
        self.at = np.zeros((self.n, self.n), dtype=np.int64)
        self.at[self.i, self.j] = np.arange(len(self.i))
        # If i is above j, j's net wins are reversed; otherwise i's.
        self.weight = net[self.j, self.i] - net[self.i, self.j]
        self.constant = float(net[self.i, self.j].sum())
        #: (i, j, k, whether the upper side is cut), in the order of adding.
        self.cuts: dict[tuple[int, int, int, bool], None] = {}

    def above(self, x: FloatArray) -> FloatArray:
        """x as a full table: how far i is above j."""
        table = np.zeros((self.n, self.n))
        table[self.i, self.j] = x
        table[self.j, self.i] = 1 - x
        return table

    def _constraints(self) -> list[LinearConstraint]:
        """Rows sign * (x_ij + x_jk - x_ik) <= (1 for +, 0 for -)."""
        if not self.cuts:
            return []
        i, j, k, upper = np.array(list(self.cuts), dtype=np.int64).T
        columns = np.stack([self.at[i, j], self.at[j, k], self.at[i, k]], axis=1)
        signs = 2.0 * upper - 1
        rows = np.repeat(np.arange(len(columns)), 3)
        values = (signs[:, None] * np.array([1.0, 1.0, -1.0])).ravel()
        matrix = csr_array((values, (rows, columns.ravel())), shape=(len(columns), len(self.i)))
        return [LinearConstraint(matrix, -np.inf, np.maximum(signs, 0.0))]

    def solve(self, seconds: float, *, whole: bool) -> tuple[FloatArray | None, float, bool]:
        """Best x in [0, 1] (in {0, 1} if `whole`), a lower bound on the cost, whether finished."""
        integrality = np.full(len(self.weight), int(whole), dtype=np.int64)
        solution = milp(
            self.weight,
            constraints=self._constraints(),
            integrality=integrality,
            bounds=Bounds(0, 1),
            options={"time_limit": max(0.01, seconds), "mip_rel_gap": 0.0},
        )
        x = None if solution.x is None else np.asarray(solution.x, dtype=np.float64)
        if x is not None and whole:
            x = np.round(x)
        least = solution.mip_dual_bound if whole else solution.fun
        bound = float(least) + self.constant if least is not None and np.isfinite(least) else 0.0
        return x, bound, solution.status == 0

    def cut(self, x: FloatArray) -> bool:
        """Add violated triangles; False if there are none."""
        full = self.above(x)
        violated: list[tuple[float, tuple[int, int, int, bool]]] = []
        for middle in range(1, self.n - 1):
            # i < middle < k: value of x_i,middle + x_middle,k - x_ik.
            to_middle = full[:middle, middle]
            from_middle = full[middle, middle + 1 :]
            value = to_middle[:, None] + from_middle - full[:middle, middle + 1 :]
            excess = np.maximum(value - 1, -value)
            for i, k in np.argwhere(excess > _TOLERANCE).tolist():
                cut = (i, middle, k + middle + 1, bool(value[i, k] > 0.5))
                violated.append((excess[i, k], cut))
        violated.sort(reverse=True)
        fresh = [cut for _, cut in violated if cut not in self.cuts][:_CUTS_PER_ROUND]
        self.cuts.update(dict.fromkeys(fresh))
        return bool(fresh)


def _reversed_weight(net: FloatArray, order: IntArray) -> float:
    ordered = net[np.ix_(order, order)]
    return float(np.tril(ordered, -1).sum())


def _local_search(net: FloatArray, order: IntArray) -> IntArray:
    """Move one model at a time to the place with the fewest reversed wins, until no move helps."""
    order = order.copy()
    improved = True
    while improved:
        improved = False
        for model in order.copy():
            rest = order[order != model]
            # Cost of position p: reversed wins of those above it and of its own below.
            above = np.cumsum(net[model, rest])
            below = np.cumsum(net[rest, model][::-1])[::-1]
            cost = np.append(0.0, above) + np.append(below, 0.0)
            here = int(np.flatnonzero(order == model)[0])
            best = int(np.argmin(cost))
            if cost[best] < cost[here] - _TOLERANCE:
                order = np.insert(rest, best, model)
                improved = True
    return order


# --- agreement of two rankings ---


@dataclass(frozen=True, kw_only=True)
class RankAgreement:
    """Kendall's tau and Spearman's rho between two rankings of the same models."""

    n_models: Count
    kendall: Correlation | None
    kendall_interval: Interval | None
    spearman: Correlation | None
    spearman_interval: Interval | None
    confidence_level: Level
    replicates: Count
    failed: Count = 0


def rank_correlations(first: ArrayLike, second: ArrayLike) -> tuple[float | None, float | None]:
    """Kendall's tau-b and Spearman's rho; None with fewer than two models or all tied.

    >>> rank_correlations([3, 2, 1], [30, 10, 20])
    (0.333..., 0.5)
    """
    x = finite(first, "first", allow_empty=True)
    y = finite(second, "second", allow_empty=True)
    same_length(first=x, second=y)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None
    from scipy import stats

    return float(stats.kendalltau(x, y).statistic), float(stats.spearmanr(x, y).statistic)


def ranking_agreement(
    battles: Battles,
    outcomes: FloatArray,
    reference: FloatArray,
    *,
    method: str = "bt",
    l2: float = DEFAULT_L2,
    confidence_level: float = 0.95,
    replicates: int = 200,
    time_limit: float = 10.0,
    seed: Seed = 0,
) -> RankAgreement:
    """Agreement of `outcomes`, ranked by `method`, with the Bradley-Terry order of `reference`.

    The reference is the same for every method, so that methods can be compared. The exact order
    (`mfas`) and `online-elo` are too slow to repeat, and get no interval.

    Battles (or prompts, if there are prompt codes) are resampled once for both rankings, so that
    their correlation is kept. Noise in either ranking lowers the correlation, and resampling lowers
    it again. So percentiles are too low and their reflection (on Fisher's scale) too high; the
    interval is the hull of both. It is rough: for the correlation with unlimited battles, 95 %
    intervals covered in 80 to 93 % of simulated worlds (15 to 40 models, 50 to 400 battles each),
    percentiles alone in as few as 25 %.
    """
    level = open_unit(confidence_level, "confidence_level")
    rng = generator(seed)
    replicates = count(replicates, "replicates")
    n = battles.n_models
    met = np.ones(n, dtype=bool)
    for target in (outcomes, reference):
        has_target = np.isfinite(target)
        met &= battles_per_model(battles.a[has_target], battles.b[has_target], n) > 0
    if method in ("mfas", "online-elo"):
        replicates = 0
    codes = np.arange(len(battles)) if battles.prompts is None else battles.prompts
    present, code = np.unique(codes, return_inverse=True)
    weights = cluster_weights(len(present), replicates, rng).T

    def orders(target: FloatArray, method: str) -> FloatArray:
        """(1 + replicates, models): the order of these battles, then of each resample of them."""
        used, y = target_battles(battles, target)
        if method == "online-elo":
            return online_elo(used.a, used.b, y, n)[None]
        at = code[np.isfinite(target)]
        resamples = (wins_table(used.a, used.b, y, n, drawn[at]) for drawn in weights)
        tables = np.stack([wins_table(used.a, used.b, y, n), *resamples])
        if method == "mfas":
            return least_reversals(tables[0], time_limit=time_limit).strengths[None]
        if (order := BY_TABLE.get(method)) is not None:
            return np.nan_to_num(np.stack([order(table) for table in tables]), nan=0.5)
        fit = fit_strengths(tables[0], l2=l2)
        refits = fit_strengths(tables[1:], l2=l2, start=fit, tolerance=1e-5)
        return np.vstack([fit[None], refits])

    both = zip(orders(outcomes, method), orders(reference, "bt"), strict=True)
    correlations = [rank_correlations(x[met], y[met]) for x, y in both]
    tau, rho = correlations[0]
    drawn = [(t, r) for t, r in correlations[1:] if t is not None and r is not None]
    tau_interval = rho_interval = None
    if drawn and tau is not None and rho is not None:
        low, high = _interval_hull(np.array([tau, rho]), np.array(drawn), level).tolist()
        tau_interval = Interval(low[0], high[0], level)
        rho_interval = Interval(low[1], high[1], level)
    return RankAgreement(
        n_models=int(met.sum()),
        kendall=tau,
        kendall_interval=tau_interval,
        spearman=rho,
        spearman_interval=rho_interval,
        confidence_level=level,
        replicates=replicates,
        failed=replicates - len(drawn) if tau is not None else 0,
    )


def _interval_hull(estimate: FloatArray, drawn: FloatArray, level: float) -> FloatArray:
    """Lower and upper ends over percentiles and their reflection about the estimate."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    direct = np.quantile(drawn, tails, axis=0)
    most = np.nextafter(1.0, 0.0)
    z = np.arctanh(np.clip(np.vstack([estimate, direct]), -most, most))
    reflected = np.tanh(2 * z[0] - z[[2, 1]])
    low = np.minimum(direct[0], reflected[0])
    high = np.maximum(direct[1], reflected[1])
    return np.stack([low, high])


def agreement_facts(agreement: RankAgreement) -> list[Fact]:
    """Kendall and Spearman with their intervals."""
    models = text.count(agreement.n_models, "model")
    if agreement.kendall is None:
        return [Fact("rank correlation", text.DASH, f"{models}, too few or all tied")]
    rough = f"rough {text.level(agreement.confidence_level)} interval"

    def fact(name: str, value: float | None, ends: Interval | None) -> Fact:
        note = models if ends is None else f"{rough} {text.interval(*ends)}, {models}"
        return Fact(f"{name} with the other ranking", text.number(value), note)

    return [
        fact("Kendall's tau", agreement.kendall, agreement.kendall_interval),
        fact("Spearman's rho", agreement.spearman, agreement.spearman_interval),
    ]
