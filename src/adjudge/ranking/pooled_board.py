"""Boards with one pooled dispersion: who is ranked, who has too few votes, who differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from adjudge.data.battles import Battles
from adjudge.data.rows import merge_dropped
from adjudge.errors import ArgumentError
from adjudge.ranking.bradley_terry import battles_per_model, structure, target_battles, wins_of
from adjudge.ranking.differences import component_ranks, ranges_by_component, ranges_of
from adjudge.ranking.leaderboard import Leaderboard, PlainRow
from adjudge.ranking.pooled import PooledFit, fit_pooled
from adjudge.ranking.spread import (
    VOTERS,
    Request,
    Spread,
    count_prompts,
    describe_assumptions,
    warn_of_few_prompts,
    warn_of_unseen,
    with_models,
)
from adjudge.ranking.style import LEAST_LIKE, Equal, fit_equal
from adjudge.ranking.targets import Target
from adjudge.statistics.bradley_terry import ELO_PER_UNIT, to_elo
from adjudge.statistics.numbers import normal_quantile, student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray

#: One dispersion instead of one for each model: what intervals assume.
_ALIKE = "votes scatter around the fit alike for all models"


def board_of_targets(
    board: Leaderboard, used: Battles, target: FloatArray, request: Request
) -> Leaderboard:
    """A board of the battles that have this target."""
    fit, equal = _fit(used, target, None, request)
    shape = structure(wins_of(used, target), used.names)
    assumptions = describe_assumptions(board, used, _ALIKE)
    if board.covers_judge_error:
        assumptions = (*assumptions, VOTERS)
    board = replace(
        board,
        interval="pooled",
        warnings=(*warn_of_few_prompts(used), *shape.warnings, *warn_of_unseen(used)),
        assumptions=assumptions,
    )
    votes = fit.votes if board.outcome == "votes" else None
    return _with_rows(board, used, fit, equal, shape.component, request, votes)


def board_with_judge(battles: Battles, request: Request) -> Leaderboard:
    """Votes on a random sample of the battles, the judge on all: prediction-powered."""
    if battles.verdict is None or battles.human is None:
        raise ArgumentError(
            "method",
            "prediction-powered",
            "give verdicts on all battles (--verdict NAME) and people's votes on a random part of "
            "them, empty elsewhere (--human NAME)",
        )
    fit, equal = _fit(battles, battles.human, battles.verdict, request)
    judged, _ = target_battles(battles, battles.verdict)
    voted, y = target_battles(judged, np.asarray(judged.human))
    n_battles = battles_per_model(judged.a, judged.b, judged.n_models)
    shape = structure(wins_of(voted, y), battles.names)
    warnings = [*warn_of_few_prompts(voted), *shape.warnings]
    # With ten expected votes, zero votes happen by chance less than once in 20,000 models.
    expected = n_battles * (len(voted) / len(judged))
    without = [battles.names[k] for k in np.flatnonzero((fit.votes == 0) & (expected >= 10))]
    if without:
        warnings.append(
            f"votes are not a random sample of the battles: {len(without)} models have none "
            f"although ten or more are expected ({', '.join(without[:3])}); the intervals need a "
            "random sample"
        )
    unseen = (fit.votes == 0) & (n_battles > 0)
    if unseen.any():
        warnings.append(f"{int(unseen.sum())} models have no vote and are not ranked")
    outcome = f"{len(voted):,} votes, judge used with weight {fit.weight:.2f}"
    both = Target(None, outcome, "votes and a judge", covers_judge_error=True)
    sampled = "the battles with votes are a random sample of all battles"
    lost = merge_dropped({"no verdict": len(battles) - len(judged)})
    prompts = count_prompts(judged)
    board = request.empty_board(both, request.l2)
    board = replace(
        board,
        interval=request.interval,
        n_battles=len(judged),
        clusters=prompts,
        dropped=lost,
        warnings=tuple(warnings),
        assumptions=(sampled, *describe_assumptions(board, voted, _ALIKE)),
    )
    return _with_rows(board, judged, fit, equal, shape.component, request, fit.votes)


def _fit(
    battles: Battles, target: FloatArray, judge: FloatArray | None, request: Request
) -> tuple[PooledFit, Equal | None]:
    """The fit of the board; at equal style also the plain one, and what style is worth."""
    if battles.style is None:
        return fit_pooled(battles, target, judge, l2=request.l2), None
    equal = fit_equal(battles, target, judge, l2=request.l2, level=request.level)
    return equal.fit, equal


def _with_rows(
    board: Leaderboard,
    used: Battles,
    fit: PooledFit,
    equal: Equal | None,
    component: IntArray,
    request: Request,
    votes: IntArray | None,
) -> Leaderboard:
    elo = to_elo(fit.theta)
    spread = None
    if request.interval != "none":
        board = replace(board, widest=request.widest)
        apart = None if equal is None else equal.like < LEAST_LIKE
        spread = pooled_spread(fit, component, request, extrapolated=apart)
    board = with_models(board, used, elo, component, elo=elo, spread=spread, votes=votes)
    if equal is None or spread is None or spread.few is None:
        return board
    return _beside_plain(board, used.names, equal, ~spread.few, component, request.level)


def _beside_plain(
    board: Leaderboard,
    names: Sequence[str],
    equal: Equal,
    ranked: BoolArray,
    component: IntArray,
    level: float,
) -> Leaderboard:
    """The board at equal style, with the plain Elo, rank and rank range of the same models."""
    ranked = ranked & (equal.fit.votes > 0)
    elo = to_elo(equal.plain.theta)
    rank = np.zeros(len(elo), dtype=np.int64)
    rank[ranked] = component_ranks(elo[ranked], component[ranked])
    best, worst = _ranges(equal.plain, component, ranked, level)
    at = {name: k for k, name in enumerate(names)}
    rows = []
    for row in board.models:
        k = at[row.model]
        plain = PlainRow(elo=float(elo[k]))
        if ranked[k]:
            plain = replace(
                plain, rank=int(rank[k]), rank_low=int(best[k]), rank_high=int(worst[k])
            )
        bend = None if equal.bend is None else float(equal.bend[k])
        rows.append(replace(row, plain=plain, like_style=float(equal.like[k]), bend=bend))
    return replace(board, models=tuple(rows), style=equal.rows)


def pooled_spread(
    fit: PooledFit,
    component: IntArray,
    request: Request,
    *,
    extrapolated: BoolArray | None = None,
) -> Spread:
    """Intervals, and rank ranges of the models whose interval is not wider than is ranked.

    A model that won or lost everything has an open end. It is ranked with as many votes as models
    of equal strength need. Models that are `extrapolated` have no rank either.
    """
    elo = to_elo(fit.theta)
    half = fit.half_widths(request.level)
    up = fit.swept & (fit.theta > 0)
    down = fit.swept & ~up
    low = np.where(down, np.nan, elo - half)
    high = np.where(up, np.nan, elo + half)
    # The half-width between models of equal strength is this over the root of their votes.
    quantile = normal_quantile(request.level)
    if fit.freedom > 0:
        quantile = student_quantile(request.level, fit.freedom)
    reach = 2 * ELO_PER_UNIT * quantile
    equal = fit.scale * (reach / request.widest) ** 2
    by_width = fit.votes * (half / request.widest) ** 2
    needed = np.ceil(np.where(fit.swept, equal, np.fmax(equal, by_width)))
    few = np.where(fit.swept, fit.votes < equal, ~(half <= request.widest))
    if fit.freedom <= 0:
        few = np.ones(len(elo), dtype=bool)
        low = high = np.full(len(elo), np.nan)
    # Where votes are not what is lacking, but prompts, no number of votes helps.
    needed[~few | (needed <= fit.votes)] = np.nan
    if extrapolated is not None:
        few |= extrapolated
    best, worst = _ranges(fit, component, ~few & (fit.votes > 0), request.level)
    return Spread(
        se=np.where(fit.swept, np.nan, ELO_PER_UNIT * np.sqrt(np.diag(fit.covariance))),
        low=low,
        high=high,
        rank_low=best,
        rank_high=worst,
        level=request.level,
        few=few,
        needed=needed,
    )


def _ranges(
    fit: PooledFit, component: IntArray, ranked: BoolArray, level: float
) -> tuple[IntArray, IntArray]:
    """Rank ranges among the ranked models of each component."""

    def ranges(members: IntArray) -> tuple[IntArray, IntArray]:
        i, j = np.triu_indices(len(members), 1)
        different = np.zeros(0, dtype=bool)
        if len(i):
            different = fit.differ(members[i], members[j], alpha=1 - level)
        return ranges_of(fit.theta[members], i, j, different)

    return ranges_by_component(np.where(ranked, component, -1), ranges)
