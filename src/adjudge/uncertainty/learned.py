"""Learned doubt: a verdict and how much to doubt it, from all that is known of a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from adjudge._stats import cluster_codes
from adjudge._validation import BoolArray, FloatArray, IntArray, Seed, generator, zero_one
from adjudge.errors import ArgumentError
from adjudge.uncertainty.ridge import RidgeFit, fit_ridge

#: Log odds are cut here (p of 0.9926): a judge that says more is over-confident, not surer.
MOST_ODDS = 4.9
#: What is beyond the cut counts so much: too little to outvote anyone, enough to keep the order.
TAIL = 0.01
#: The log odds of the largest p below 1.
_LARGEST = 37.0
#: With fewer labels the share that is learned from costs more than it brings.
WORTH_LEARNING = 150
ORDER_GAP = "sign x order gap"


def log_odds(p: FloatArray, most: float = MOST_ODDS, tail: float = TAIL) -> FloatArray:
    """log(p / (1 - p)), cut at +-`most`; a mirror image for p and 1 - p to the last bit.

    Beyond the cut the slope is `tail`, not 0: an over-confident judge has most of its pairs there,
    and tied they would lose the order of its doubt.

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
    """What is known of some pairs, one row each; None where the rows do not say.

    `p` has a column per judge, NaN where that judge failed: what it would have said counts
    nothing, and the mean is over the others. `order_gap` is how far a judge's log odds in the two
    orders are apart, lengths are in any unit, as long as it is the same for calibration and use.
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
        """The ridge's columns by name, the two of `ridge` first; each mirrors when A and B swap.

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
            # In favour of the mean's verdict: the judge that is least for it.
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
    """A fitted ridge: its margin's sign is the verdict, its doubt the fitted chance of an error.

        margin = sum_k w_k x_k / scale_k,    doubt = 1 / (1 + exp(|margin|)) in (0, 1/2]

    The doubt is a score to be calibrated on other labels, not a probability to be believed. A
    margin of 0 is no verdict.
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
        """Learn from labelled pairs, human ties left out; folds are of whole `clusters`.

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
        """How far each pair is on A's side; a row's margin does not depend on the other rows."""
        columns = evidence.columns(self.categories)
        for name in self.columns:
            if name not in columns:
                raise ArgumentError(
                    "evidence", name, "the learned doubt needs what this is made of"
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
    """1 / (1 + exp(|margin|)): falls with the margin's size, whichever its sign."""
    small = np.exp(-np.abs(margins))
    return np.asarray(small / (1 + small))


def sum_in_order(parts: Sequence[FloatArray]) -> FloatArray:
    """The sum, one by one: a matrix product rounds a row in a way that depends on the others."""
    total = np.zeros_like(parts[0])
    for part in parts:
        total = total + part
    return total
