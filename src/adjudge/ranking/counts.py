"""Battles as arrays, and their totals per pair: all that Bradley-Terry needs to know.

Names become codes once, rows that cannot count are dropped by reason, and a table of wins is one
pass of `bincount`. Targets are about model_a: 1 it won, 0 it lost, one half a tie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from adjudge._validation import FloatArray, IntArray
from adjudge.errors import ArgumentError
from adjudge.io.tables import as_text

#: How outcomes are written in the wild, all about model_a.
OUTCOMES: Mapping[str, float] = {
    "a": 1.0,
    "model_a": 1.0,
    "b": 0.0,
    "model_b": 0.0,
    "tie": 0.5,
    "tie (bothbad)": 0.5,
    "both_bad": 0.5,
}


@dataclass(frozen=True, kw_only=True)
class Battles:
    """Battles of coded models. `names[a[k]]` met `names[b[k]]` in battle k.

    `human` and `verdict` are targets of people and of the judge, `score` the judge's score
    difference (positive favours model_a), `other` the targets of a second opinion to compare with;
    NaN where a battle has none. `prompts` are cluster codes, `groups` the values of a grouping
    column. `source` says which columns the score came from, `named` which verdict column the user
    named; `judges` and `fingerprints` are the values that the rows carry.
    """

    names: tuple[str, ...]
    a: IntArray
    b: IntArray
    human: FloatArray | None = None
    verdict: FloatArray | None = None
    score: FloatArray | None = None
    other: FloatArray | None = None
    prompts: IntArray | None = None
    groups: tuple[str, ...] | None = None
    group_codes: IntArray | None = None
    source: str | None = None
    named: str | None = None
    judges: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return len(self.names)

    def __len__(self) -> int:
        return len(self.a)

    def take(self, rows: Any) -> Battles:
        """The battles at `rows` (a mask or positions), among the same models."""

        def of(values: Any) -> Any:
            return None if values is None else values[rows]

        return replace(
            self,
            a=self.a[rows],
            b=self.b[rows],
            human=of(self.human),
            verdict=of(self.verdict),
            score=of(self.score),
            other=of(self.other),
            prompts=of(self.prompts),
            group_codes=of(self.group_codes),
        )


def count_wins(
    model_a: Iterable[Any], model_b: Iterable[Any], target: Iterable[Any]
) -> tuple[tuple[str, ...], FloatArray]:
    """Sorted names and the table of wins of battles given as columns.

    `target` is outcome words ("A", "model_a", "tie", ...) or probabilities that model_a won. A
    tie is half a win for both. Battles of a model with itself and those without an outcome do not
    count.

    >>> names, wins = count_wins(["x", "y", "x"], ["y", "x", "z"], ["A", "tie", "B"])
    >>> names, wins.tolist()
    (('x', 'y', 'z'), [[0.0, 1.5, 0.0], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]])
    """
    names, a, b = code_names(_series(model_a), _series(model_b))
    outcome = _series(target)
    if outcome.dtype.is_numeric():
        y = outcome.cast(pl.Float64).to_numpy()
        if np.any((y < 0) | (y > 1)):
            raise ArgumentError("target", "outside [0, 1]", "give probabilities that model_a won")
    else:
        y = outcome_targets(outcome, "target")
    usable = np.isfinite(y) & (a >= 0) & (b >= 0) & (a != b)
    if not usable.all():
        a, b, y = a[usable], b[usable], y[usable]
    return names, wins_table(a, b, y, len(names))


def code_names(
    model_a: pl.Series, model_b: pl.Series
) -> tuple[tuple[str, ...], IntArray, IntArray]:
    """Sorted names and both columns as positions among them; -1 where a name is missing."""
    n = len(model_a)
    if n != len(model_b):
        raise ArgumentError("model_b", f"{len(model_b)} rows", f"give {n}, as model_a has")
    both = pl.concat([_text(model_a), _text(model_b)])
    words, at = _dictionary(both)
    order = sorted(range(len(words)), key=words.__getitem__)
    position = np.empty(len(words) + 1, dtype=np.int64)
    position[order] = np.arange(len(words))
    position[-1] = -1
    coded = position[at]
    return tuple(words[k] for k in order), coded[:n], coded[n:]


def _dictionary(text: pl.Series) -> tuple[list[str], IntArray]:
    """The distinct texts, and for every row the position of its own; -1 where it is missing."""
    physical = text.cast(pl.Categorical).to_physical()
    missing = physical.null_count()
    if missing == len(physical):
        return [], np.full(len(physical), -1, dtype=np.int64)
    codes = physical.drop_nulls().to_numpy() if missing else physical.to_numpy()
    # Polars numbers categories across the process, so codes have gaps and may be large.
    last = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    last[codes] = np.flatnonzero(text.is_not_null().to_numpy()) if missing else np.arange(len(text))
    seen = np.flatnonzero(last >= 0)
    position = np.full(len(last), -1, dtype=np.int64)
    position[seen] = np.arange(len(seen))
    words: list[str] = text.gather(last[seen]).to_list()
    if not missing:
        return words, position[codes]
    at = np.full(len(text), -1, dtype=np.int64)
    at[text.is_not_null().to_numpy()] = position[codes]
    return words, at


def _series(values: Iterable[Any]) -> pl.Series:
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ndarray) and values.dtype != object:
        return pl.Series("values", values)
    # pandas marks a missing text by NaN, which is not equal to itself.
    return pl.Series("values", [None if v != v else v for v in values], strict=False)


def _text(names: pl.Series) -> pl.Series:
    return as_text(names).rename("name")


def outcome_targets(outcome: pl.Series, column: str) -> FloatArray:
    """Outcome words, or model_a's share as a number, as targets about model_a; NaN where empty.

    >>> outcome_targets(pl.Series(["A", "tie", None, "model_b"]), "winner").tolist()
    [1.0, 0.5, nan, 0.0]
    """
    if outcome.dtype.is_numeric():
        shares = outcome.cast(pl.Float64).fill_null(np.nan).to_numpy()
        if not np.isin(shares[~np.isnan(shares)], (0.0, 0.5, 1.0)).all():
            raise ArgumentError(
                column, "other numbers", "write A, B, tie or model_a's share: 1, 0.5, 0"
            )
        return np.asarray(shares)
    words, at = _dictionary(as_text(outcome))
    meaning = np.full(len(words) + 1, np.nan)
    for k, word in enumerate(words):
        key = word.strip().lower()
        if key and key not in OUTCOMES:
            raise ArgumentError(column, word, 'write "A", "B", "tie" or leave it empty')
        meaning[k] = OUTCOMES.get(key, np.nan)
    return np.asarray(meaning[at], dtype=np.float64)


def wins_table(
    a: IntArray, b: IntArray, target: FloatArray, n: int, weight: FloatArray | None = None
) -> FloatArray:
    """wins[i, j]: the total target with which i beat j."""
    w = target if weight is None else target * weight
    lost: FloatArray = 1.0 - target if weight is None else weight - w
    cell = a * n + b
    # The loser's share is counted in the same orientation, then turned: one key array serves both.
    won = np.bincount(cell, weights=w, minlength=n * n).reshape(n, n)
    gave = np.bincount(cell, weights=lost, minlength=n * n).reshape(n, n)
    return np.asarray(won + gave.T, dtype=np.float64)


def battles_per_model(a: IntArray, b: IntArray, n: int) -> IntArray:
    """How many battles each model fought."""
    return np.bincount(a, minlength=n) + np.bincount(b, minlength=n)


def target_battles(battles: Battles, target: FloatArray) -> tuple[Battles, FloatArray]:
    """The battles that have a target, and the targets."""
    known = np.isfinite(target)
    if known.all():
        return battles, target
    return battles.take(known), target[known]
