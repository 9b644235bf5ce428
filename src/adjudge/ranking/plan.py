"""Which battles of a pool to judge next, from files or frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from adjudge._validation import Seed, count, generator
from adjudge.errors import ArgumentError, DataError
from adjudge.io import open_battles, read_table
from adjudge.io.tables import as_text
from adjudge.ranking.counts import battles_per_model, target_battles, wins_table
from adjudge.ranking.sampling import next_battles
from adjudge.ranking.targets import choose_method, make_target
from adjudge.results.ranking import BattlePlan
from adjudge.rows.battles import code_battles
from adjudge.rows.outcomes import code_names


def plan_battles(
    pool: Any,
    *,
    budget: int,
    rule: str = "coverage",
    judged: Any = None,
    verdict: str | None = None,
    rng: Seed = 0,
) -> BattlePlan:
    """Choose up to `budget` rows of `pool` (pairs or battles with model_a and model_b).

    `judged` are battles that exist already; rows of the pool whose id is among them are left out.
    See `next_battles` for the rules. `rows` of the result are positions in the pool.

    >>> plan_battles({"model_a": ["x", "x", "y"], "model_b": ["y", "y", "z"]}, budget=2).appearances
    {'x': 1, 'y': 2, 'z': 1}
    """
    frame = read_table(pool, text=("id", "model_a", "model_b"))
    for column in ("model_a", "model_b"):
        if column not in frame.columns:
            raise DataError("pool", "is missing", column=column, remedy="name both models")
    count(budget, "budget", least=1)
    draw = generator(rng)
    done: pl.DataFrame | None = None
    if judged is not None:
        done = open_battles(judged, votes_required=False).frame
    extra_a = done["model_a"] if done is not None else pl.Series("model_a", [], dtype=pl.String)
    extra_b = done["model_b"] if done is not None else pl.Series("model_b", [], dtype=pl.String)
    names, a, b = code_names(
        pl.concat([as_text(frame["model_a"]), as_text(extra_a)]),
        pl.concat([as_text(frame["model_b"]), as_text(extra_b)]),
    )
    n, size = len(names), frame.height
    wins = None
    dropped: dict[str, int] = {}
    usable = (a[:size] >= 0) & (b[:size] >= 0) & (a[:size] != b[:size])
    if not usable.all():
        dropped["no two different models"] = int((~usable).sum())
    if done is not None:
        wins = _judged_wins(done, names, verdict)
        if "id" in done.columns and "id" in frame.columns:
            again = frame["id"].is_in(done["id"].implode()).to_numpy() & usable
            if again.any():
                dropped["judged already"] = int(again.sum())
            usable &= ~again
    rows = np.flatnonzero(usable)
    if not len(rows):
        raise ArgumentError("pool", "no battle left", "give battles that are not judged yet")
    chosen = rows[next_battles(a[rows], b[rows], n, budget=budget, rule=rule, wins=wins, rng=draw)]
    seen = battles_per_model(a[chosen], b[chosen], n)
    if wins is not None:
        seen = seen + np.round((wins + wins.T).sum(axis=1)).astype(np.int64)
    warnings = []
    if len(chosen) < budget:
        warnings.append(f"the pool holds only {len(chosen):,} battles")
    never = [names[k] for k in np.flatnonzero(seen == 0)]
    if never:
        shown = ", ".join(never[:5])
        warnings.append(f"{len(never)} models get no battle with this budget, such as {shown}")
    return BattlePlan(
        rule=rule,
        budget=budget,
        chosen=len(chosen),
        rows=tuple(int(row) for row in chosen),
        appearances={names[k]: int(seen[k]) for k in range(n)},
        least=int(seen.min()),
        most=int(seen.max()),
        seed=rng if isinstance(rng, int) else None,
        dropped=dropped,
        warnings=tuple(warnings),
    )


def _judged_wins(done: pl.DataFrame, names: tuple[str, ...], verdict: str | None) -> Any:
    """Wins of the judged battles, by the best target they offer, in the pool's numbering."""
    battles = code_battles(done, verdict=verdict)
    target = make_target(
        battles,
        choose_method(battles, battles.source, verdict),
        source=battles.source,
        named=verdict,
    )
    values = target.values
    if values is None:
        # Who met whom still counts, even where the votes speak against the judge.
        values = np.full(len(battles), 0.5)
    used, y = target_battles(battles, values)
    position = {name: k for k, name in enumerate(names)}
    code = np.array([position[name] for name in used.names], dtype=np.int64)
    return wins_table(code[used.a], code[used.b], y, len(names))
