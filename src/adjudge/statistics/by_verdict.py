"""Labels drawn by verdict: what they say about all rows, and the test that detects such a draw.

People often label all fails and some of the passes. Their labels are then no random sample, and a
plain mean of them is biased. Within a verdict they are one, so every number follows from the share
P(v) of each verdict among *all* rows, labelled ones too, and from h(c | v), how often people say c
where the judge says v:

    table[v, c] = P(v) h(c | v)

The rate of class c is the sum of its column, accuracy the sum of the diagonal, and so on. That is
right in expectation however differently the verdicts are drawn, if the rows that are labelled
within a verdict are a random (or complete) draw from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from adjudge.records import Interval
from adjudge.statistics.clusters import count_clusters, freedom_of, jackknife_error
from adjudge.statistics.numbers import (
    binomial_interval,
    fisher_exact,
    normal_quantile,
    student_quantile,
)
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, generator

#: Below this p-value labels count as drawn by verdict, or by doubt within a verdict.
LEVEL = 0.01
DRAWS = 10_000
#: Cells of all drawn tables, of many classes, and the fewest draws.
_CELLS = 4_000_000
_FEWEST_DRAWS = 1_000
_PERMUTATIONS = 1_999
#: Added to the rows of each verdict, as in the prior of Jeffreys.
_PRIOR = 0.5
#: With more verdicts without a label there is no interval.
_MOST_UNLABELLED = 2

#: A number of each table of a stack (..., verdicts, classes).
Statistic = Callable[[FloatArray], FloatArray]


class VerdictCounts(NamedTuple):
    """Rows of one verdict, how many of them are labelled, and how many labels are 1."""

    rows: int
    labelled: int
    ones: int


class Measured(NamedTuple):
    """A number about all rows; no estimate if a verdict has no label, no interval if several."""

    estimate: float | None
    interval: Interval | None


# --- the numbers of a table of two verdicts ---


def column_share(label: int, tables: FloatArray) -> FloatArray:
    """Share of rows that people call this class."""
    return np.asarray(tables[..., label].sum(axis=-1))


#: Share of rows that people call 1.
rate = partial(column_share, 1)


def accuracy(tables: FloatArray) -> FloatArray:
    """Share of rows that judge and people call the same; of any number of classes."""
    return np.asarray(np.trace(tables, axis1=-2, axis2=-1))


def _of_verdict(verdict: int, tables: FloatArray) -> FloatArray:
    """Share of the rows of a verdict that people call the same."""
    return np.asarray(tables[..., verdict, verdict] / tables[..., verdict, :].sum(axis=-1))


def _of_class(label: int, tables: FloatArray) -> FloatArray:
    """Share of the rows of a human class that the judge calls the same."""
    return np.asarray(tables[..., label, label] / tables[..., :, label].sum(axis=-1))


#: PPV: people agree with a 1; NPV: with a 0; sensitivity and specificity: the judge with people's.
MEASURES: Mapping[str, Statistic] = {
    "rate": rate,
    "accuracy": accuracy,
    "ppv": partial(_of_verdict, 1),
    "npv": partial(_of_verdict, 0),
    "sensitivity": partial(_of_class, 1),
    "specificity": partial(_of_class, 0),
}


def measure_by_verdict(
    negative: VerdictCounts,
    positive: VerdictCounts,
    *,
    confidence_level: float = 0.95,
    seed: Seed = 0,
) -> dict[str, Measured]:
    """Each of `MEASURES`, about all rows, from the counts of the verdicts 0 and 1.

    Intervals are of the draws of `draw_tables`; those of PPV and NPV, which are shares of one
    verdict's labels, are exact (Clopper and Pearson).

    >>> measured = measure_by_verdict(VerdictCounts(68, 68, 11), VerdictCounts(432, 93, 89))
    >>> round(measured["rate"].estimate, 3), round(measured["accuracy"].estimate, 3)
    (0.849, 0.941)
    >>> low, high = measured["rate"].interval
    >>> round(low, 2), round(high, 2)
    (0.79, 0.89)
    """
    verdicts = (negative, positive)
    rows = np.array([verdict.rows for verdict in verdicts])
    labels = np.array([[v.labelled - v.ones, v.ones] for v in verdicts])
    tables = draw_tables(rows, labels, seed=seed)
    measured = {name: tables.measure(value, confidence_level) for name, value in MEASURES.items()}
    for name, verdict in (("ppv", 1), ("npv", 0)):
        right = int(labels[verdict, verdict])
        ends = binomial_interval(right, int(labels[verdict].sum()), confidence_level)
        exact = Interval(*ends, level=confidence_level)
        measured[name] = measured[name]._replace(interval=exact)
    return measured


def measure_rows(
    verdicts: IntArray,
    labels: IntArray,
    clusters: IntArray | None = None,
    *,
    confidence_level: float = 0.95,
    seed: Seed = 0,
) -> dict[str, Measured]:
    """As `measure_by_verdict`, from rows: verdicts of 0 and 1, and labels (-1: no label).

    With `clusters` (codes) every interval is wider by `inflation`; below two clusters with labels
    there is none.

    >>> rows = measure_rows(np.array([0, 0, 1, 1, 1, 1]), np.array([0, 1, 1, 1, -1, -1]))
    >>> round(rows["rate"].estimate, 3), rows["rate"].interval.low > 0.3
    (0.833, True)
    """
    if clusters is None:
        counts = np.zeros((2, 3), dtype=np.int64)
        np.add.at(counts, (verdicts, labels + 1), 1)
        of_verdict = [VerdictCounts(int(n.sum()), int(n[1:].sum()), int(n[2])) for n in counts]
        return measure_by_verdict(*of_verdict, confidence_level=confidence_level, seed=seed)
    tables = tables_of_rows(verdicts, labels, 2, seed=seed)
    rows = (verdicts, labels, clusters)
    return {
        name: measure_clustered(tables, statistic, *rows, confidence_level=confidence_level)
        for name, statistic in MEASURES.items()
    }


# --- any number of verdicts ---


@dataclass(frozen=True)
class Tables:
    """Shares of all rows by verdict and human class, with draws of what they can be.

    `estimate` has NaN for a verdict without a label. Such a verdict's rows can be of any class:
    `draws` has a stack of tables for each way to give them one.
    """

    estimate: FloatArray
    draws: FloatArray | None

    def measure(
        self,
        statistic: Statistic,
        confidence_level: float = 0.95,
        *,
        wider: float = 1.0,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> Measured:
        """A number of the table; quantiles of the draws, `wider` times as far from the median.

        Where all labels are alike every draw is below, or above, the estimate: it is an end.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(statistic(self.estimate))
            drawn = None if self.draws is None else statistic(self.draws)
        estimate = value if math.isfinite(value) else None
        if drawn is None or not np.isfinite(drawn).all():
            return Measured(estimate, None)
        tail = (1 - confidence_level) / 2
        low, middle, high = np.quantile(drawn, [tail, 0.5, 1 - tail], axis=-1)
        low = middle - wider * (middle - low)
        high = middle + wider * (high - middle)
        ends = [float(low.min()), float(high.max())] + ([] if estimate is None else [estimate])
        within = max(min(ends), bounds[0]), min(max(ends), bounds[1])
        return Measured(estimate, Interval(*within, level=confidence_level))


def draw_tables(rows: IntArray, labels: IntArray, *, seed: Seed = 0, draws: int = DRAWS) -> Tables:
    """Tables from `rows` of each verdict and `labels[v, c]`, labels c among rows of verdict v.

    P ~ Dirichlet(rows + 1/2) and h(. | v) ~ Dirichlet(labels[v] + prior[v]), of two classes a Beta
    with 1/2 and 1/2 (Jeffreys). Of K classes the prior of a verdict is 1/K for the same class and
    1/K for all others together: one half of each cell would add K/2 rows to each verdict, nearly
    all of them wrong. Rows are independent; for clusters see `inflation`. Coverage is measured
    (tests/montecarlo), not proven.

    >>> tables = draw_tables(np.array([90, 10]), np.array([[40, 5], [0, 0]]))
    >>> tables.measure(rate).estimate, tables.measure(accuracy).interval.high > 0.8
    (None, True)
    """
    rng = generator(seed)
    draws = min(draws, max(_FEWEST_DRAWS, _CELLS // labels.size))
    sizes = labels.sum(axis=1)
    with np.errstate(invalid="ignore"):
        within = labels / sizes[:, None]
    # A verdict that was never given needs no label.
    estimate = np.where(rows[:, None] > 0, rows[:, None] / max(rows.sum(), 1) * within, 0.0)
    unlabelled = np.flatnonzero((sizes == 0) & (rows > 0))
    if len(unlabelled) > _MOST_UNLABELLED or rows.sum() == 0:
        return Tables(estimate, None)
    classes = labels.shape[1]
    used = (rows > 0) | (np.arange(len(rows)) < classes)
    shares = np.zeros((draws, len(rows)))
    shares[:, used] = rng.dirichlet(rows[used] + _PRIOR, draws)
    prior = np.full(labels.shape, 2 / classes**2)  # of rows without a verdict, which is no class
    prior[:classes] = 1 / (classes * max(classes - 1, 1))
    np.fill_diagonal(prior, 1 / classes)
    within_draws = np.stack([rng.dirichlet(each, draws) for each in labels + prior], axis=1)
    ways = []
    for only_classes in product(np.eye(classes), repeat=len(unlabelled)):
        way = within_draws.copy()
        for verdict, only in zip(unlabelled, only_classes, strict=True):
            way[:, verdict] = only
        ways.append(shares[:, :, None] * way)
    return Tables(estimate, np.stack(ways))


def inflation(
    statistic: Statistic,
    verdicts: IntArray,
    labels: IntArray,
    clusters: IntArray,
    *,
    classes: int = 2,
    confidence_level: float = 0.95,
) -> float | None:
    """How much wider clusters make the interval of `Tables.measure`; None below two with labels.

    The ratio of the jackknife's standard errors, one cluster and one row left out at a time, times
    Student's quantile of the clusters with labels (`freedom_of`) over the normal one. `labels` are
    codes, -1 for a row without one. If the labels of each verdict are all alike no variance is
    seen: then every cluster counts as one label.
    """
    labelled = labels >= 0
    active = count_clusters(clusters[labelled])
    if active < 2:
        return None
    kinds = labels + 1 + verdicts * (classes + 1)
    size = classes * (classes + 1)
    shape = (-1, classes, classes + 1)
    pairs = np.bincount(clusters * size + kinds, minlength=(int(clusters.max()) + 1) * size)
    by_cluster = pairs.reshape(shape).astype(np.float64)
    by_cluster = by_cluster[by_cluster.any(axis=(1, 2))]
    by_row = np.eye(size).reshape(shape)
    repeats = np.bincount(kinds, minlength=size)

    def of_counts(counts: FloatArray) -> FloatArray:
        rows = counts.sum(axis=-1, keepdims=True)
        people = counts[..., 1:]
        sizes = people.sum(axis=-1, keepdims=True)
        within = people / np.where(sizes > 0, sizes, 1)
        return statistic(rows / rows.sum(axis=-2, keepdims=True) * within)

    alone = jackknife_error(of_counts, by_row[repeats > 0], repeats[repeats > 0])
    together = jackknife_error(of_counts, by_cluster, None)
    freedom = freedom_of(clusters[labelled])
    wider = student_quantile(confidence_level, freedom) / normal_quantile(confidence_level)
    if not alone or together is None:
        return wider * math.sqrt(int(labelled.sum()) / active)
    return wider * together / alone


def tables_of_rows(verdicts: IntArray, labels: IntArray, size: int, *, seed: Seed = 0) -> Tables:
    """`draw_tables` of rows with codes of `size` classes; verdict `size` is none, label -1 too."""
    rows = np.bincount(verdicts, minlength=size + 1)
    labelled = labels >= 0
    counts = np.zeros((size + 1, size), dtype=np.int64)
    np.add.at(counts, (verdicts[labelled], labels[labelled]), 1)
    return draw_tables(rows, counts, seed=seed)


def measure_clustered(
    tables: Tables,
    statistic: Statistic,
    verdicts: IntArray,
    labels: IntArray,
    clusters: IntArray | None,
    *,
    confidence_level: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Measured:
    """A number of the `tables_of_rows` of these rows, as much wider as their clusters make it."""
    if clusters is None:
        return tables.measure(statistic, confidence_level, bounds=bounds)
    size = tables.estimate.shape[1]
    # "No verdict" is a verdict, and a class that nobody uses.
    wider = inflation(
        lambda wide: statistic(wide[..., :size]),
        verdicts,
        labels,
        clusters,
        classes=size + 1,
        confidence_level=confidence_level,
    )
    measured = tables.measure(statistic, confidence_level, wider=wider or 1.0, bounds=bounds)
    return measured if wider is not None else measured._replace(interval=None)


# --- how the labels were drawn ---


class Draw(NamedTuple):
    """Whether labels look as if drawn by verdict: p-value, labelled rows and rows by verdict."""

    p_value: float
    labelled: tuple[int, ...]
    rows: tuple[int, ...]

    @property
    def by_verdict(self) -> bool:
        """Whether random labels would rarely look like this."""
        return self.p_value < LEVEL


def detect_draw(
    verdicts: IntArray, labelled: BoolArray, clusters: IntArray | None = None, *, seed: Seed = 0
) -> Draw:
    """Test whether labels were drawn at different rates from the verdicts (codes from 0 on).

    Fisher's exact test of verdict by labelled; with more than two verdicts each against the rest,
    times their number. With `clusters` see `_p_of_clusters`: by rows the test would be rejected too
    often, because all rows of a prompt are labelled together. A large p-value proves nothing.

    >>> fails = np.repeat([0, 1], [68, 432])
    >>> detect_draw(fails, np.arange(500) < 68 + 93).by_verdict
    True
    """
    size = int(verdicts.max(initial=0)) + 1
    rows = np.bincount(verdicts, minlength=size)
    marked = np.bincount(verdicts[labelled], minlength=size)
    tested = [code for code in range(size) if 0 < rows[code] < len(verdicts)]
    tested = tested[1:] if len(tested) == 2 else tested
    p_value = 1.0
    for code in tested:
        if clusters is None:
            others = marked.sum() - marked[code]
            tested_rows = len(verdicts) - rows[code]
            p = fisher_exact(*map(int, (marked[code], rows[code], others, tested_rows)))
        else:
            p = _p_of_clusters((verdicts == code).astype(float), labelled, clusters, seed)
        p_value = min(p_value, p * len(tested))
    return Draw(p_value, tuple(marked.tolist()), tuple(rows.tolist()))


def p_within_verdicts(
    verdicts: IntArray,
    labelled: BoolArray,
    scores: FloatArray,
    clusters: IntArray | None = None,
    *,
    seed: Seed = 0,
) -> float:
    """p-value of a random draw within each verdict, by the ranks of the judge's scores.

    Labels can be of the doubtful rows of a verdict; then no weight by verdict corrects them. The
    rank-sum test of labelled against unlabelled rows of each verdict, times the number of tests.

    >>> scores = np.linspace(0, 1, 200)
    >>> p_within_verdicts(np.zeros(200, dtype=int), scores > 0.8, scores) < 0.01
    True
    """
    from scipy.stats import mannwhitneyu, rankdata

    p_values = []
    for verdict in np.unique(verdicts):
        rows = (verdicts == verdict) & np.isfinite(scores)
        marks = labelled[rows]
        if marks.all() or not marks.any() or np.ptp(scores[rows]) == 0:
            continue
        if clusters is not None:
            p_values.append(_p_of_clusters(rankdata(scores[rows]), marks, clusters[rows], seed))
            continue
        test = mannwhitneyu(scores[rows][marks], scores[rows][~marks])
        p_values.append(float(test.pvalue))
    return min(1.0, min(p_values, default=1.0) * max(len(p_values), 1))


def _p_of_clusters(
    values: FloatArray, labelled: BoolArray, clusters: IntArray, seed: Seed
) -> float:
    """p-value of equal means of `values` on labelled and other rows, if clusters were drawn.

    The labelled share of each cluster is permuted over the clusters: do labelled clusters differ?
    Within clusters that are partly labelled, the sum over labelled rows is compared with its mean
    and variance over random choices. The smaller p-value, times the number of tests made.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    size = np.bincount(codes)
    marked = np.bincount(codes, labelled)
    centred = values - values.mean()
    total = np.bincount(codes, centred)
    share = marked / size
    p_values = []
    if np.ptp(share) > 0 and len(size) > 1:
        rng = generator(seed)
        observed = abs(share @ total - share.mean() * total.sum())
        drawn = rng.permuted(np.tile(share, (_PERMUTATIONS, 1)), axis=1) @ total
        extreme = np.abs(drawn) >= observed * (1 - 1e-9)
        p_values.append((1 + int(extreme.sum())) / (_PERMUTATIONS + 1))
    mean = total / size
    squares = np.bincount(codes, (centred - mean[codes]) ** 2)
    partly = (marked > 0) & (marked < size)
    chosen = np.bincount(codes, centred * labelled) - marked * mean
    variance = (marked * (size - marked) * squares)[partly] / (size * (size - 1))[partly]
    if variance.sum() > 0:
        z = float(chosen[partly].sum()) / math.sqrt(variance.sum())
        p_values.append(2 * float(ndtr(-abs(z))))
    return min(1.0, min(p_values, default=1.0) * max(len(p_values), 1))
