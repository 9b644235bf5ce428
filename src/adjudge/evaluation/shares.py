"""Shares of rows by verdict and label with their intervals, however the labels were drawn.

Every number of a judge is about cells of the table of verdicts by labels: agreement is the share of
its diagonal. `LabelledRows` has the labelled rows, which are a random sample, or have weights.
`RowsByVerdict` has labels of which each verdict has its own share, and all rows of the judge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from adjudge.records import Interval
from adjudge.statistics.agreement import kappa_of_tables
from adjudge.statistics.by_verdict import (
    Measured,
    Statistic,
    Tables,
    measure_clustered,
    tables_of_rows,
)
from adjudge.statistics.clusters import (
    cluster_means_se,
    count_clusters,
    freedom_of,
    jackknife_interval,
    mean_interval,
    recode,
    share_interval,
)
from adjudge.statistics.differences import paired_gap
from adjudge.statistics.numbers import binomial_interval, student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray

#: Every measure is a number in [-1, 1].
_BOUNDS = (-1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """Labelled rows as codes of verdict and label, into `size` classes; a verdict `size` is none.

    `clusters` are codes of rows that belong together (None: all are independent). `weights` of rows
    that a plan drew are one over their probability (None: all count the same).
    """

    verdicts: IntArray
    labels: IntArray
    size: int
    clusters: IntArray | None = None
    weights: FloatArray | None = None
    level: float = 0.95
    seed: int = 0

    def share(self, cells: BoolArray, among: BoolArray | None = None) -> Measured:
        """The share of rows in these cells, among all rows or those in other cells.

        Clopper and Pearson's interval; with clusters or weights at the effective number of rows
        (Korn and Graubard 1998).

        >>> rows = LabelledRows(verdicts=np.repeat([0, 1], [203, 37]), labels=np.zeros(240, int),
        ...                     size=2)
        >>> low, high = rows.share(np.eye(3, 2, dtype=bool)).interval
        >>> round(low, 4), round(high, 4)
        (0.7938, 0.8891)
        """
        rows = self if among is None else self._only(among[self.verdicts, self.labels])
        n = len(rows.labels)
        if n == 0:
            return Measured(None, None)
        values = cells[rows.verdicts, rows.labels].astype(np.float64)
        if rows.weights is not None:
            return rows._weighted(values, rows.weights, share=True)
        mean = float(values.mean())
        if rows.clusters is None:
            ends = binomial_interval(float(values.sum()), n, self.level)
            return Measured(mean, Interval(*ends, level=self.level))
        return Measured(mean, share_interval(values, rows.clusters, self.level))

    def difference(self, cells: FloatArray) -> Measured:
        """The mean of the values -1, 0 and 1 of the cells of the rows."""
        values = cells[self.verdicts, self.labels]
        if self.weights is not None:
            return self._weighted(values, self.weights, share=False)
        if self.clusters is None:
            ends = paired_gap(values, zero_one=True).interval(self.level, 1.0)
            return Measured(float(values.mean()), ends)
        ends_of_clusters = mean_interval(values, self.clusters, self.level, bounds=_BOUNDS)
        return Measured(float(values.mean()), ends_of_clusters)

    def kappa(self) -> Measured:
        """Cohen's kappa. With weights its interval is of a jackknife over clusters.

        Without, it is that of rows of which all are labelled: of few rows, or where nearly all are
        of one class, a jackknife covers .70 to .90 (tests/montecarlo/test_evaluate.py).
        """
        if self.weights is None:
            return RowsByVerdict(
                verdicts=self.verdicts,
                labels=self.labels,
                size=self.size,
                clusters=self.clusters,
                level=self.level,
                seed=self.seed,
            ).kappa()
        n = len(self.labels)
        codes = np.arange(n) if self.clusters is None else recode(self.clusters)[0]
        groups = int(codes.max()) + 1
        cells = self.labels * (self.size + 1) + self.verdicts
        width = self.size * (self.size + 1)
        counts = np.bincount(codes * width + cells, self.weights, minlength=groups * width)
        tables: FloatArray = counts.reshape(groups, width).astype(np.float64)

        def kappa(stack: FloatArray) -> FloatArray:
            return kappa_of_cells(stack.reshape(-1, self.size, self.size + 1))

        value = float(kappa(tables.sum(axis=0)[None])[0])
        ends = jackknife_interval(kappa, tables, self.level, bounds=_BOUNDS)
        return Measured(value if math.isfinite(value) else None, ends)

    def _only(self, rows: BoolArray) -> LabelledRows:
        clusters = None if self.clusters is None else self.clusters[rows]
        weights = None if self.weights is None else self.weights[rows]
        verdicts = self.verdicts[rows]
        labels = self.labels[rows]
        return replace(self, verdicts=verdicts, labels=labels, clusters=clusters, weights=weights)

    def _weighted(self, values: FloatArray, weights: FloatArray, *, share: bool) -> Measured:
        """The weighted mean; its error is that of the linearised ratio, by cluster."""
        n = len(values)
        total = float(weights.sum())
        mean = float(weights @ values) / total
        codes, groups = (np.arange(n), n) if self.clusters is None else recode(self.clusters)
        if groups < 2:
            return Measured(mean, None)
        parts = weights * (values - mean) * n / total
        error = cluster_means_se(parts, codes, groups)[1]
        quantile = student_quantile(self.level, freedom_of(codes))
        if not share:
            low = max(-1.0, mean - quantile * error)
            high = min(1.0, mean + quantile * error)
            return Measured(mean, Interval(low, high, level=self.level))
        effective = total**2 / float(weights @ weights)
        if error > 0:
            shrink = (student_quantile(self.level, n - 1) / quantile) ** 2
            effective = min(float(n), mean * (1 - mean) / error**2 * shrink)
        ends = binomial_interval(mean * effective, effective, self.level)
        return Measured(mean, Interval(*ends, level=self.level))


@dataclass(frozen=True, kw_only=True)
class RowsByVerdict:
    """All rows of a judge, of which each verdict has its own share of labels (-1: no label)."""

    verdicts: IntArray
    labels: IntArray
    size: int
    clusters: IntArray | None = None
    level: float = 0.95
    seed: int = 0

    @cached_property
    def tables(self) -> Tables:
        """Shares of all rows by verdict and label, and draws of what they can be."""
        return tables_of_rows(self.verdicts, self.labels, self.size, seed=self.seed)

    def share(self, cells: BoolArray, among: BoolArray | None = None) -> Measured:
        """The share of all rows in these cells, among all or those in other cells."""
        if among is not None and among.any(axis=1).sum() == 1:
            # Labels of one verdict are a random sample of its rows.
            return self._labelled().share(cells, among)

        both = cells if among is None else cells & among

        def statistic(tables: FloatArray) -> FloatArray:
            here = (tables * both).sum(axis=(-2, -1))
            whole = 1.0 if among is None else (tables * among).sum(axis=(-2, -1))
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.asarray(here / whole)

        return self._measure(statistic, (0.0, 1.0))

    def difference(self, cells: FloatArray) -> Measured:
        """The mean of the values of the cells over all rows."""
        return self._measure(lambda tables: (tables * cells).sum(axis=(-2, -1)), _BOUNDS)

    def kappa(self) -> Measured:
        """Cohen's kappa of all rows."""

        def statistic(tables: FloatArray) -> FloatArray:
            turned = np.swapaxes(tables, -2, -1)
            flat = turned.reshape(-1, self.size, self.size + 1)
            return kappa_of_cells(flat).reshape(tables.shape[:-2])

        return self._measure(statistic, _BOUNDS)

    def _measure(self, statistic: Statistic, bounds: tuple[float, float]) -> Measured:
        return measure_clustered(
            self.tables,
            statistic,
            self.verdicts,
            self.labels,
            self.clusters,
            confidence_level=self.level,
            bounds=bounds,
        )

    def _labelled(self) -> LabelledRows:
        labelled = self.labels >= 0
        return LabelledRows(
            verdicts=self.verdicts[labelled],
            labels=self.labels[labelled],
            size=self.size,
            clusters=None if self.clusters is None else self.clusters[labelled],
            level=self.level,
        )


def kappa_of_cells(tables: FloatArray) -> FloatArray:
    """Cohen's kappa of tables (labels, verdicts and none): no verdict agrees with no label.

    >>> kappa_of_cells(np.array([[[2.0, 0.0, 0.0], [1.0, 1.0, 0.0]]])).tolist()
    [0.5]
    """
    square = np.zeros((len(tables), tables.shape[2], tables.shape[2]))
    square[:, : tables.shape[1]] = tables
    return kappa_of_tables(square)


def clusters_of(clusters: IntArray | None, n: int) -> int:
    """The number of independent groups of n rows."""
    return n if clusters is None else count_clusters(clusters)
