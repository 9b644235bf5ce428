"""Learned doubt: a verdict and its doubt, from all available evidence about a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.statistics.numbers import cluster_codes
from adjudge.uncertainty.ridge import RidgeFit, fit_ridge
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, generator, zero_one

#: Log odds are clipped here (p of 0.9926): a judge with a larger p is overconfident, not surer.
MOST_ODDS = 4.9
#: Slope outside the clipping range: too small to outvote other judges, enough to keep the order.
TAIL = 0.01
#: The log odds of the largest p below 1.
_LARGEST = 37.0
#: With fewer labels, the share for learning costs more than it gains.
WORTH_LEARNING = 150
ORDER_GAP = "sign x order gap"


def log_odds(p: FloatArray, most: float = MOST_ODDS, tail: float = TAIL) -> FloatArray:
    """log(p / (1 - p)), clipped at +-`most`; p and 1 - p give exactly opposite values.

    Outside the range the slope is `tail`, not 0. An overconfident judge has most of its pairs
    there, and if they were tied, the order of its doubt would be lost.

    >>> log_odds(np.array([0.5, 0.9, 0.999, 1.0])).round(2).tolist()
    [-0.0, 2.2, 4.92, 5.22]
    """
    top = np.maximum(p, 1 - p)
    with np.errstate(divide="ignore"):
        size = np.minimum(np.log(top) - np.log(1 - top), _LARGEST)
    kept = np.minimum(size, most) + tail * np.maximum(size - most, 0)
    return np.asarray(np.where(p > 0.5, 1.0, -1.0) * kept)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence about some pairs, one row each; None if the rows do not have it.

    `p` has a column per judge, NaN if that judge failed: it is then ignored, and the mean is over
    the others. `order_gap` is the distance between a judge's log odds in the two orders. Lengths
    can have any unit, if it is the same in calibration and use.
    """

    judges: tuple[str, ...]
    p: FloatArray
    order_gap: FloatArray | None = None
    length_a: FloatArray | None = None
    length_b: FloatArray | None = None
    category: Sequence[str | None] | None = None

    @property
    def categories(self) -> tuple[str, ...]:
        """Every category that occurs, sorted."""
        return tuple(sorted({name for name in self.category or () if name is not None}))

    def columns(self, categories: Sequence[str]) -> Mapping[str, FloatArray]:
        """The ridge's columns by name, the two of `ridge` first; each changes sign under A/B swap.

        A category that is not among `categories` is 0 in all of their columns.
        """
        spoke = ~np.isnan(self.p)
        odds = np.where(spoke, log_odds(self.p), 0.0)
        voices = np.maximum(spoke.sum(axis=1), 1)
        each = list(zip(odds.T, spoke.T, strict=True))
        mean = sum_in_order([own for own, _ in each]) / voices
        sign = np.sign(mean)
        columns = {"mean odds": mean, "sign": sign}
        if len(each) > 1:
            columns |= {f"odds of {name}": odds[:, at] for at, name in enumerate(self.judges)}
            # Measured in favour of the mean's verdict: the judge that supports it least.
            worst = np.min([np.where(here, sign * own, np.inf) for own, here in each], axis=0)
            columns["sign x worst judge"] = sign * np.where(np.isinf(worst), 0.0, worst)
            apart = [np.where(here, (own - mean) ** 2, 0.0) for own, here in each]
            columns["sign x spread"] = sign * np.sqrt(sum_in_order(apart) / voices)
        if self.order_gap is not None:
            columns[ORDER_GAP] = sign * self.order_gap
        if self.length_a is not None and self.length_b is not None:
            long_a, long_b = np.log1p(self.length_a), np.log1p(self.length_b)
            columns["length ratio"] = long_a - long_b
            columns["sign x length gap"] = sign * np.abs(long_a - long_b)
            columns["sign x length"] = sign * ((long_a + long_b) / 2)
        if self.category is not None:
            given = np.array(self.category, dtype=object)
            columns |= {f"sign x category {name}": sign * (given == name) for name in categories}
        return columns


@dataclass(frozen=True)
class LearnedDoubt:
    """A fitted ridge: the sign of its margin is the verdict, its doubt a fitted error probability.

        margin = sum_k w_k x_k / scale_k,    doubt = 1 / (1 + exp(|margin|)) in (0, 1/2]

    The doubt is a score that must be calibrated on other labels, not a calibrated probability. A
    margin of 0 is not a verdict.
    """

    columns: tuple[str, ...]
    categories: tuple[str, ...]
    scales: FloatArray
    weights: FloatArray
    penalty: float

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        prefers_a: ArrayLike,
        *,
        clusters: Sequence[object] | None = None,
        seed: Seed = 0,
    ) -> LearnedDoubt:
        """Learn from labelled pairs without human ties; folds consist of complete `clusters`.

        >>> p = np.array([[0.9, 0.2], [0.3, 0.8], [0.8, 0.3], [0.2, 0.6]] * 5)
        >>> pairs = Evidence(judges=("x", "y"), p=p)
        >>> learned = LearnedDoubt.fit(pairs, [1, 0, 1, 0] * 5)
        >>> learned.weights[2:4].round(1).tolist()  # y is wrong, and that is information
        [0.7, -0.9]
        """
        y, rows = zero_one(prefers_a, "prefers_a"), len(evidence.p)
        if len(y) != rows:
            raise ArgumentError("prefers_a", len(y), f"give one for each of {rows} pairs")
        units = np.arange(rows) if clusters is None else cluster_codes(clusters)[0]
        everything = np.ones((1, rows), dtype=np.bool_)
        names, fit = learn(evidence, y, everything, units=units, seed=seed)
        return cls(names, evidence.categories, fit.scales[0], fit.weights[0], float(fit.penalty[0]))

    def margins(self, evidence: Evidence) -> FloatArray:
        """How strongly each pair favours A; a row's margin does not depend on the other rows."""
        columns = evidence.columns(self.categories)
        for name in self.columns:
            if name not in columns:
                raise ArgumentError(
                    "evidence", name, "the learned doubt needs the columns it is computed from"
                )
        parts = zip(self.columns, self.scales, self.weights, strict=True)
        return sum_in_order([columns[name] / scale * weight for name, scale, weight in parts])

    def predict(self, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
        """Margins and doubts."""
        margins = self.margins(evidence)
        return margins, doubt_of(margins)


def learn(
    evidence: Evidence, prefers_a: IntArray, learns: BoolArray, *, units: IntArray, seed: Seed
) -> tuple[tuple[str, ...], RidgeFit]:
    """The names of the columns, and a ridge for each sample of rows that `learns` marks."""
    columns = evidence.columns(evidence.categories)
    table = np.column_stack(list(columns.values()))
    signed = table * (2 * prefers_a - 1)[:, None]
    return tuple(columns), fit_ridge(signed, learns, units=units, rng=generator(seed))


def doubt_of(margins: FloatArray) -> FloatArray:
    """1 / (1 + exp(|margin|)): decreases with the margin's size, for either sign."""
    small = np.exp(-np.abs(margins))
    return np.asarray(small / (1 + small))


def sum_in_order(parts: Sequence[FloatArray]) -> FloatArray:
    """The sum, term by term: the rounding of a matrix product depends on the other rows."""
    total = np.zeros_like(parts[0])
    for part in parts:
        total = total + part
    return total
