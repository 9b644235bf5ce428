"""The rows of an estimator, checked once; how clusters widen an interval; counts of the 0/1 case.

Rows without a label are the test set and give the judge's rate; rows with one calibrate. Rows that
a plan picked for labelling from the test rows (`sampled_by` = plan) do both: without them, the
plan would bias the verdicts of the test set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError, DataError
from adjudge.statistics.by_verdict import VerdictCounts
from adjudge.statistics.clusters import count_clusters, freedom_of, pulls
from adjudge.statistics.numbers import normal_quantile, slices, student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray, count

Scale = Literal["binary", "probability"]

#: The value in `human` for a row without a label; never used as a number.
UNLABELLED = -1
#: Mean squared deviations below this are rounding: the values are equal.
_EQUAL = 1e-28
#: With fewer clusters an interval is approximate.
_FEW_CLUSTERS = 20
#: Groups whose sums are in memory together.
_BLOCK = 16_384


class Moments(NamedTuple):
    """Size, mean and sum of squared deviations of some values; `ones` are those above one half."""

    size: int
    mean: float
    squares: float
    ones: int

    @property
    def variance_of_mean(self) -> float:
        """The squared standard error of the mean of two values or more."""
        return self.squares / (self.size - 1) / self.size

    def merge(self, other: Moments) -> Moments:
        """The moments of both together."""
        size = self.size + other.size
        share = other.size / max(size, 1)
        gap = other.mean - self.mean
        squares = self.squares + other.squares + gap**2 * self.size * share
        return Moments(size, self.mean + gap * share, squares, self.ones + other.ones)


class Sums(NamedTuple):
    """All that estimators need to know of independent rows.

    The judge's values on four kinds of rows; on labelled rows also the labels, labels minus judge,
    and the sum of products of deviations of labels and judge. `halves`: labels of one half or more.
    """

    test: Moments
    labelled: Moments
    negative: Moments
    positive: Moments
    human: Moments
    gap: Moments
    products: float
    halves: int


@dataclass(frozen=True)
class Sample:
    """Checked arrays of one length. `weights` are 1 / sampling probability of labelled rows.

    `random` is true if labels are known to be a random sample of the test rows, `drawn_by_verdict`
    if they are one within each verdict only: then all rows are test rows, labelled ones too.
    """

    judge: FloatArray
    human: FloatArray
    test: BoolArray
    labelled: BoolArray
    weights: FloatArray | None = None
    clusters: IntArray | None = None
    strata: IntArray | None = None
    strata_names: tuple[str, ...] = ()
    random: bool = False
    drawn_by_verdict: bool = False
    #: The scale of the table, if these are some of its rows: they could all be 0 and 1.
    table_scale: Scale | None = None

    @cached_property
    def scale(self) -> Scale:
        """Whether the judge says 0/1 or gives probabilities."""
        if self.table_scale is not None:
            return self.table_scale
        whole = (self.judge == 0) | (self.judge == 1)
        return "binary" if bool(whole.all()) else "probability"

    @cached_property
    def sums(self) -> Sums:
        return next(_sums(self.judge, self.human, self.test, self.labelled))

    @cached_property
    def everyone(self) -> Moments:
        """The judge's values on all rows, if no labelled row is a test row."""
        return self.sums.test.merge(self.sums.labelled)

    @property
    def independent(self) -> bool:
        """Whether its sums say all about its rows."""
        return self.clusters is None and self.strata is None and self.weights is None

    @property
    def graded(self) -> bool:
        """Whether some labels are shares of people, between 0 and 1."""
        return self.m > self.sums.negative.size + self.sums.positive.size

    @property
    def n(self) -> int:
        """Test rows."""
        return self.sums.test.size

    @property
    def m(self) -> int:
        """Labelled rows."""
        return self.sums.labelled.size

    @property
    def about_everyone(self) -> bool:
        """Whether the rate is about labelled rows too, though they are not test rows."""
        return self.random or self.n == 0

    @property
    def about(self) -> Moments:
        """The judge's values on the rows that the rate is about.

        All rows if labels are a random sample of them or every row has one; else the test rows.
        """
        return self.everyone if self.about_everyone else self.sums.test

    @property
    def about_rows(self) -> BoolArray:
        """The rows that the rate is about."""
        return self.test | self.labelled if self.about_everyone else self.test

    @property
    def by_verdict(self) -> tuple[VerdictCounts, VerdictCounts]:
        """All rows, the labelled ones and labels of 1 of the verdicts 0 and 1 (above one half)."""
        rows = self.sums.test if self.drawn_by_verdict else self.everyone
        labelled = self.sums.labelled
        ones = self.sums.positive
        positive = VerdictCounts(rows.ones, labelled.ones, ones.ones)
        of_all = VerdictCounts(rows.size, labelled.size, ones.size)
        negative = (whole - part for whole, part in zip(of_all, positive, strict=True))
        return VerdictCounts(*negative), positive

    @property
    def positive(self) -> BoolArray:
        """Labelled rows that all people call 1."""
        return np.asarray(self.labelled & (self.human == 1))

    @property
    def negative(self) -> BoolArray:
        """Labelled rows that all people call 0."""
        return np.asarray(self.labelled & (self.human == 0))

    @property
    def fewest_labels(self) -> int:
        """Labels of the class that has fewer."""
        return min(self.sums.positive.size, self.sums.negative.size)

    @property
    def planned(self) -> bool:
        """Whether labels were picked with unequal, known probabilities."""
        return self.weights is not None

    @property
    def weighted(self) -> bool:
        """Whether every labelled row has its sampling probability."""
        return self.weights is not None and not np.isnan(self.weights[self.labelled]).any()

    def restrict(self, rows: BoolArray, *, calibration: BoolArray | None = None) -> Sample:
        """Use only these rows as test rows; they also calibrate unless `calibration` names others.

        The arrays keep their length, so that influence values of several restrictions add up.
        """
        calibrating = rows if calibration is None else calibration
        return replace(self, test=self.test & rows, labelled=self.labelled & calibrating)

    def spread(self, rows: BoolArray, centre: float, factor: float, n: int) -> FloatArray:
        """factor * (judge - centre) / n in these rows and 0 in the others, as influence values."""
        values = self.judge - centre
        values *= factor  # in place: with many rows, every copy counts
        values /= n
        values[~rows] = 0.0
        return values

    @cached_property
    def flat(self) -> Sample:
        """Without strata, and a random sample unless labels were picked by a plan."""
        return self.drawn(random=not (self.planned or self.drawn_by_verdict))

    def drawn(self, *, random: bool) -> Sample:
        """The same rows without strata, as a random sample or not."""
        return replace(self, strata=None, random=random)

    def whole(self) -> Sample:
        """The same rows, with labels that were drawn by verdict from all of them."""
        everyone = self.test | self.labelled
        return replace(self, test=everyone, random=False, strata=None, drawn_by_verdict=True)

    def take(self, rows: IntArray) -> Sample:
        """Only these rows, with codes of clusters from 0 on."""
        arrays = ((name, v) for name, v in vars(self).items() if isinstance(v, np.ndarray))
        taken: dict[str, Any] = {name: values[rows] for name, values in arrays}
        if self.clusters is not None:
            taken["clusters"] = np.unique(taken["clusters"], return_inverse=True)[1]
        return replace(self, table_scale=self.scale, **taken)

    def split(self, groups: IntArray, size: int, *, pool: bool = False) -> Iterator[list[Sample]]:
        """The sample of each group, in blocks; with `pool` it has the labels of all groups.

        Of independent rows it has the sums, which are computed for a block together.
        """
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], np.arange(size + 1))
        labels = np.flatnonzero(self.labelled)

        def cut(code: int) -> Sample:
            rows = order[starts[code] : starts[code + 1]]
            used = np.union1d(rows, labels) if pool else rows
            members = groups[used] == code
            return self.take(used).restrict(members, calibration=np.ones_like(members))

        for block in slices(size, _BLOCK if self.independent else 1):
            if not self.independent:
                yield [cut(block.start)]
                continue
            rows = order[starts[block.start] : starts[block.stop]]
            codes = groups[rows] - block.start
            number = block.stop - block.start
            judged = self.judge[rows]
            tested = self.test[rows]
            sums = _sums(judged, self.human[rows], tested, self.labelled[rows], codes, number)
            if pool:
                sums = (self.sums._replace(test=group.test) for group in sums)
            yield [
                _Group(group, self, self.random, partial(cut, code))
                for code, group in enumerate(sums, block.start)
            ]


class _Group(Sample):
    """A group of independent rows by its sums; the rows are cut out if an estimator reads them."""

    def __init__(self, sums: Sums, file: Sample, random: bool, cut: Callable[[], Sample]) -> None:
        drawn = file.drawn_by_verdict
        vars(self).update(sums=sums, scale=file.scale, random=random, drawn_by_verdict=drawn)
        vars(self).update(cut=cut)

    def __getattr__(self, name: str) -> Any:
        cut = vars(self)["cut"]()
        vars(self).update(vars(cut) | {"random": self.random})
        return getattr(cut, name)

    def drawn(self, *, random: bool) -> Sample:
        if random == self.random:
            return self
        return _Group(self.sums, self, random, vars(self)["cut"])

    def whole(self) -> Sample:
        cut: Sample = vars(self)["cut"]()
        return cut.whole()


def _sums(
    judge: FloatArray,
    human: FloatArray,
    test: BoolArray,
    labelled: BoolArray,
    groups: IntArray | None = None,
    size: int = 1,
) -> Iterator[Sums]:
    """The sums of each group, whose rows follow each other; without groups, of all rows."""

    def sizes_of(rows: BoolArray) -> IntArray:
        if groups is None:
            return np.array([np.count_nonzero(rows)])
        return np.bincount(groups[rows], minlength=size)

    def add(values: FloatArray | BoolArray, sizes: IntArray) -> FloatArray:
        total = np.zeros(size)
        filled = sizes > 0
        if values.size:
            starts = (np.cumsum(sizes) - sizes)[filled]
            total[filled] = np.add.reduceat(values, starts, dtype=float)
        return total

    def moments(values: FloatArray, sizes: IntArray) -> Iterator[Moments]:
        mean = add(values, sizes) / np.maximum(sizes, 1)
        squares = add((values - np.repeat(mean, sizes)) ** 2, sizes)
        equal = (squares <= _EQUAL * sizes) & (sizes > 0)
        squares[equal] = 0
        mean[equal] = values[(np.cumsum(sizes) - sizes)[equal]]
        columns = (sizes, mean, squares, add(values > 0.5, sizes).astype(np.int64))
        return map(Moments, *(column.tolist() for column in columns))

    sizes = sizes_of(labelled)
    x = judge[labelled]
    z = human[labelled].astype(np.float64)
    centred = [v - np.repeat(add(v, sizes) / np.maximum(sizes, 1), sizes) for v in (x, z)]
    products = add(np.multiply(*centred), sizes)
    halves = add(z >= 0.5, sizes).astype(np.int64)
    negative = labelled & (human == 0)
    positive = labelled & (human == 1)
    return map(
        Sums,
        moments(judge[test], sizes_of(test)),
        moments(x, sizes),
        moments(judge[negative], sizes_of(negative)),
        moments(judge[positive], sizes_of(positive)),
        moments(z, sizes),
        moments(z - x, sizes),
        products.tolist(),
        halves.tolist(),
    )


def make_sample(
    judge: ArrayLike,
    human: ArrayLike,
    *,
    sampling_probability: ArrayLike | None = None,
    clusters: IntArray | None = None,
    strata: IntArray | None = None,
    strata_names: tuple[str, ...] = (),
) -> Sample:
    """A sample from arrays that `prepare_grades` checked; NaN in `human` marks a test row.

    `sampling_probability` (NaN if a row was not picked by a plan) marks rows that were picked
    from the test rows with that probability. A label can be the share of people who say 1.

    >>> rows = make_sample([1, 0, 1], [1, 0, None])
    >>> rows.n, rows.m, rows.scale
    (1, 2, 'binary')
    """
    x = np.asarray(judge, dtype=np.float64)
    z = np.asarray(human, dtype=np.float64)
    labelled = ~np.isnan(z)
    labels = np.where(labelled, z, UNLABELLED)
    test = ~labelled
    weights = None
    if sampling_probability is not None:
        chance = np.asarray(sampling_probability, dtype=np.float64)
        picked = ~np.isnan(chance)
        if (picked & labelled).any():
            weights = np.where(picked, 1 / np.where(picked, chance, 1.0), np.nan)
            test = ~labelled | picked
    return Sample(x, labels, test, labelled, weights, clusters, strata, strata_names)


def sample_of(grades: Grades) -> Sample | None:
    """The sample of prepared grades; None if they are classes."""
    if grades.scale == "classes":
        return None
    return make_sample(
        grades.judge,
        grades.human,
        sampling_probability=grades.sampling_probability,
        clusters=grades.clusters,
        strata=grades.strata,
        strata_names=grades.strata_names,
    )


TOO_FEW = (
    "fewer than two clusters have labels, or test rows: the variance between clusters is unknown; "
    "label rows from more clusters"
)


class Spread(NamedTuple):
    """How clusters widen an interval: `inflation` of the standard error, `critical` value."""

    inflation: float
    critical: float


def spread(
    influence: FloatArray | None,
    clusters: IntArray | None,
    active: int | None,
    labelled: BoolArray | None,
    confidence_level: float,
    freedom: float | None = None,
) -> Spread:
    """Inflation of the standard error by clusters, and the matching critical value.

    With influence values f_i and cluster sums S_c, test and calibration rows together, the
    clustered variance is G/(G-1) sum (a_c S_c)^2 and the independent one is sum f_i^2; a_c is the
    pull of a cluster with more than its share of the `labelled` rows (`pulls`). The square root of
    their ratio inflates the standard error (or deflates it: rows of one cluster can err in opposite
    directions). The critical value is Student's with `freedom`, by default G-1 degrees. G =
    `active` counts the clusters with the scarcer kind of rows. With fewer than about 20 clusters
    this is approximate. Without clusters: inflation 1, the normal quantile, or Student's.

    >>> f = np.array([1.0, 1.0, -1.0, -1.0])
    >>> spread(f, np.array([0, 0, 1, 1]), 2, np.ones(4, dtype=bool), 0.95).inflation
    2.0
    """
    if clusters is None or active is None or labelled is None or influence is None:
        if freedom is not None:
            return Spread(1.0, student_quantile(confidence_level, freedom))
        return Spread(1.0, normal_quantile(confidence_level))
    critical = student_quantile(confidence_level, active - 1 if freedom is None else freedom)
    alone = float(influence @ influence)
    together = clustered_variance(influence, clusters, active, labelled)
    return Spread(math.sqrt(together / alone) if alone > 0 else 1.0, critical)


def clustered_variance(
    influence: FloatArray, clusters: IntArray, active: int, labelled: BoolArray
) -> float:
    """Variance of an estimate with these influence values, as in `spread`."""
    sums = pulls(clusters, labelled) * np.bincount(clusters, weights=influence)
    return active / (active - 1) * float(sums @ sums)


def active_clusters(sample: Sample) -> int | None:
    """Clusters with labelled rows, or with test rows if those are fewer; None without clusters."""
    if sample.clusters is None:
        return None
    return min(count_clusters(sample.clusters[rows]) for rows in (sample.labelled, sample.test))


def freedom_of_clusters(sample: Sample) -> float | None:
    """Degrees of freedom of the labelled clusters (`freedom_of`); None without clusters."""
    return None if sample.clusters is None else freedom_of(sample.clusters[sample.labelled])


def clamp(value: float) -> float:
    value = float(value)
    return 0.0 if value < 0 else 1.0 if value > 1 else value


def variance_floor(mean: float, n: int) -> float:
    """Standard error of a share after adding two successes and two failures.

    Used if all values are equal: no finite sample shows that a rate is exactly 0 or 1.
    """
    share = (n * clamp(mean) + 2) / (n + 4)
    return math.sqrt(share * (1 - share) / (n + 4))


def few_clusters(active: int | None, freedom: float | None) -> tuple[str, ...]:
    """A warning if there are too few clusters for Student's approximation, or a few large ones."""
    if active is None or freedom is None:
        return ()
    equal = min(active, round(freedom) + 1)
    if equal >= _FEW_CLUSTERS:
        return ()
    few = f"fewer than {_FEW_CLUSTERS} clusters have labels, or test rows"
    if active >= _FEW_CLUSTERS:
        few = f"a few large clusters have most of the labels, which count like {equal} equal ones"
    return (f"{few}: the interval is approximate; label rows of more clusters",)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """All counts of the 0/1 case: p = k/n, q1 = c1/m1 (sensitivity), q0 = c0/m0 (specificity).

    >>> c = Counts(k=550, n=1000, c0=70, m0=100, c1=90, m1=100)
    >>> c.p, c.q0, c.q1, c.informative
    (0.55, 0.7, 0.9, True)
    """

    k: int
    n: int
    c0: int
    m0: int
    c1: int
    m1: int

    def __post_init__(self) -> None:
        for part, whole in (("k", "n"), ("c0", "m0"), ("c1", "m1")):
            size = count(getattr(self, whole), whole)
            if count(getattr(self, part), part) > size:
                raise ArgumentError(part, getattr(self, part), f"give at most {whole} = {size}")

    @property
    def p(self) -> float:
        """Share of test rows that the judge calls 1 (Eq. 2)."""
        return self.k / self.n

    @property
    def q0(self) -> float:
        """Specificity (Eq. 3)."""
        return self.c0 / self.m0

    @property
    def q1(self) -> float:
        """Sensitivity (Eq. 3)."""
        return self.c1 / self.m1

    @property
    def informative(self) -> bool:
        """q0 + q1 > 1, compared in integers so that rounding cannot decide it."""
        return self.c0 * self.m1 + self.c1 * self.m0 > self.m0 * self.m1

    @property
    def informative_adjusted(self) -> bool:
        """The same for the adjusted shares of Eq. 7, (c + 1)/(m + 2)."""
        m0 = self.m0 + 2
        m1 = self.m1 + 2
        return (self.c0 + 1) * m1 + (self.c1 + 1) * m0 > m0 * m1


def counts_of(sample: Sample) -> Counts:
    """The counts of a 0/1 sample."""
    test = sample.sums.test
    negative = sample.sums.negative
    positive = sample.sums.positive
    return Counts(
        k=test.ones,
        n=test.size,
        c0=negative.size - negative.ones,
        m0=negative.size,
        c1=positive.ones,
        m1=positive.size,
    )


def missing(sample: Sample) -> str | None:
    """What is missing for a correction: test rows, or labels of one class."""
    if sample.n == 0:
        remedy = "use the human rate (method human-only)"
        return f"every row has a human label, so nothing is left to correct; {remedy}"
    sums = sample.sums
    absent = [str(z) for z, rows in ((1, sums.positive), (0, sums.negative)) if rows.size == 0]
    if len(absent) == 2:
        return "no row has a human label; label some rows at random first"
    if absent:
        [label] = absent
        unknown = "sensitivity" if label == "1" else "specificity"
        remedy = "label more rows at random until both classes appear"
        return f"no row with human label {label}, so the judge's {unknown} is unknown; {remedy}"
    return None


def refuse_shares(sample: Sample | None, method: str, source: str, column: str) -> None:
    """Refuse labels that are shares of people if right and wrong verdicts are counted."""
    if sample is None or not sample.graded:
        return
    shares = sample.human[sample.labelled]
    first = float(shares[(shares > 0) & (shares < 1)][0])
    what = "a tie or a share" if first == 0.5 else "a share"
    problem = f"{first:g} is {what} of people, but {method} needs labels of 0 and 1"
    remedy = "if the labels are a random sample, their means are enough: --method ppi++ (method=)"
    raise DataError(source, problem, column=column, remedy=remedy)
