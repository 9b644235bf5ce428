"""The rows of a board: numbers with their uncertainty, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjudge.data.battles import Battles
from adjudge.present import text
from adjudge.ranking.bradley_terry import battles_per_model, float_at
from adjudge.ranking.differences import component_ranks
from adjudge.ranking.leaderboard import Leaderboard, ModelRow
from adjudge.ranking.targets import Target
from adjudge.records import Interval
from adjudge.validation import BoolArray, FloatArray, IntArray

#: With fewer prompts, intervals by prompt are rough.
_FEW_PROMPTS = 20
#: What a board of votes assumes.
VOTERS = "the voters are the people whom the leaderboard is for"


@dataclass(frozen=True)
class Request:
    """The checked options of `rank`."""

    method: str
    l2: float
    interval: str
    level: float
    replicates: int
    widest: float
    time_limit: float
    rng: np.random.Generator

    def empty_board(self, target: Target, l2: float | None) -> Leaderboard:
        """A leaderboard by this method, without models."""
        how = {name: value for name, value in vars(target).items() if name != "values"}
        nothing: dict[str, Any] = {"models": (), "components": (), "warnings": (), "dropped": {}}
        nothing |= {"interval": "none", "n_battles": 0}
        return Leaderboard(method=self.method, confidence_level=self.level, l2=l2, **how, **nothing)


@dataclass(frozen=True)
class Spread:
    """The uncertainty of each number: standard error, interval (NaN: no such end), rank range.

    The ends are on the scale of their number; with `references`, the positions of one model for
    each component, they are of the Elo difference to it. `level` is that of the intervals. Models
    with `few` battles have no rank; `needed` is how many would do.
    """

    se: FloatArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    references: tuple[int, ...] = ()
    rank_low: IntArray | None = None
    rank_high: IntArray | None = None
    level: float | None = None
    few: BoolArray | None = None
    needed: FloatArray | None = None

    def interval_of(self, k: int) -> Interval | None:
        """The interval of one model; None if there are none, or for the reference itself."""
        if self.low is None or self.high is None or self.level is None or k in self.references:
            return None
        return Interval(float_at(self.low, k), float_at(self.high, k), self.level)


def with_models(
    board: Leaderboard,
    used: Battles,
    strength: FloatArray,
    component: IntArray,
    *,
    elo: FloatArray | None = None,
    score: FloatArray | None = None,
    spread: Spread | None = None,
    votes: IntArray | None = None,
) -> Leaderboard:
    """The board with its rows: the largest component first, the strongest first within it.

    A row shows `elo`, or the method's own `score`, or neither if a method gives only an order;
    `spread` is on the same scale. A model without a battle, or without one of the `votes` that
    determine it, is not on the leaderboard.
    """
    spread = spread or Spread()
    names = used.names
    n_battles = battles_per_model(used.a, used.b, used.n_models)
    listed = (n_battles if votes is None else votes) > 0
    ranked = listed if spread.few is None else listed & ~spread.few
    rank = np.zeros(len(names), dtype=np.int64)
    rank[ranked] = component_ranks(strength[ranked], component[ranked])
    shown = np.flatnonzero(listed)

    def place(k: int) -> tuple[int, bool, float, str]:
        return int(component[k]), not ranked[k], -float(strength[k]), names[k]

    rows = []
    for k in sorted(shown.tolist(), key=place):
        ends = spread.interval_of(k)
        best = worst = needed = None
        if ranked[k] and spread.rank_low is not None and spread.rank_high is not None:
            best = int(spread.rank_low[k])
            worst = int(spread.rank_high[k])
        if not ranked[k] and spread.needed is not None and np.isfinite(spread.needed[k]):
            needed = int(spread.needed[k])
        row = ModelRow(
            model=names[k],
            elo=float_at(elo, k),
            interval=ends,
            se=float_at(spread.se, k),
            n_battles=int(n_battles[k]),
            votes_needed=needed,
            rank=int(rank[k]) if ranked[k] else None,
            rank_low=best,
            rank_high=worst,
            score=float_at(score, k),
            component=int(component[k]),
            unbounded=ends is not None and None in (ends.low, ends.high),
        )
        if spread.references:
            row = replace(row, interval=None, difference=ends)
        rows.append(row if votes is None else replace(row, votes=int(votes[k])))
    groups = (shown[component[shown] == number] for number in np.unique(component[shown]))
    components = tuple(tuple(names[k] for k in group) for group in groups)
    references = tuple(names[k] for k in spread.references)
    return replace(board, models=tuple(rows), components=components, references=references)


def describe_assumptions(board: Leaderboard, used: Battles, *others: str) -> tuple[str, ...]:
    """What the intervals of a board of these battles assume."""
    of = "battles" if used.prompts is None else "battles of different prompts"
    lines = [f"{of} are independent draws", *others]
    if board.beta:
        lines.append("the interval treats the temperature as fixed")
    return tuple(lines)


def count_prompts(used: Battles) -> int | None:
    """How many prompts there are, if battles share them."""
    return None if used.prompts is None else len(np.unique(used.prompts))


def warn_of_unseen(used: Battles) -> list[str]:
    """A warning about models without a battle that counts."""
    unseen = int((battles_per_model(used.a, used.b, used.n_models) == 0).sum())
    return [f"{unseen} models have no battle with an outcome and are not ranked"] if unseen else []


def warn_of_few_prompts(used: Battles) -> list[str]:
    """A warning about intervals over few prompts."""
    prompts = count_prompts(used)
    if prompts is None or prompts >= _FEW_PROMPTS:
        return []
    only = text.count(prompts, "prompt")
    return [f"only {only}: below about {_FEW_PROMPTS}, intervals are rough"]
