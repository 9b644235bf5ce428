"""The split protocol: many random halves, every method, one global sort (paper, section 3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.errors import ArgumentError
from adjudge.selection.guarantees import all_guarantees
from adjudge.selection.thresholds import (
    Halves,
    Levels,
    Method,
    SplitCounts,
    SplitOutcome,
    SplitTable,
    order_by_lot,
)
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Seed,
    count,
    exact_level,
    generator,
    one_of,
    paired,
    probabilities,
    same_length,
)

ALPHAS = (0.05, 0.10, 0.15, 0.20, 0.25)
#: Cells of the table (splits x rows) that are in memory together.
_CELLS = 500_000
#: Bytes of halves that are kept for the next signal, a bit for each row.
_KEPT = 2**27
Clusters = NDArray[np.generic] | Sequence[object]


@dataclass(frozen=True)
class SplitRisk:
    """One method at one alpha: what it accepted in the test half of each split."""

    method: str
    alpha: Fraction
    accepted: IntArray
    wrong: IntArray
    tested: IntArray

    @classmethod
    def over(cls, method: Method, levels: Levels, batches: Iterable[SplitOutcome]) -> SplitRisk:
        counts = map(np.concatenate, zip(*batches, strict=True))
        return cls(method.name, levels.alpha, *counts)

    @property
    def means(self) -> dict[str, Any]:
        """The means over splits, as fields of a result."""
        return {
            "method": self.method,
            "alpha": float(self.alpha),
            "coverage": float(self.coverages.mean()),
            "coverage_sd": self.spread(self.coverages),
            "risk": float(self.risks.mean()),
            "share_above": self.share_above,
        }

    def spread(self, values: FloatArray) -> float:
        """The standard deviation over splits."""
        return float(values.std(ddof=1 if len(values) > 1 else 0))

    @property
    def coverages(self) -> FloatArray:
        """Share of the test half accepted, per split."""
        return np.asarray(self.accepted / self.tested)

    @property
    def risks(self) -> FloatArray:
        """Share of errors among the accepted, per split; 0 if nothing was accepted."""
        return np.asarray(self.wrong / np.maximum(self.accepted, 1))

    @property
    def accuracy(self) -> float | None:
        """Share of right verdicts among the accepted, over the splits that accept any."""
        risks = self.risks[self.accepted > 0]
        return 1 - float(risks.mean()) if len(risks) else None

    @property
    def ratio(self) -> float | None:
        """All errors over all accepted, across splits: the ratio in the paper's theorem."""
        total = int(self.accepted.sum())
        return int(self.wrong.sum()) / total if total else None

    @property
    def share_above(self) -> float:
        """Share of splits with an error share above alpha in the test half."""
        over = self.wrong * self.alpha.denominator > self.accepted * self.alpha.numerator
        return float(over.mean())


def split_risks(
    scores: ArrayLike,
    errors: ArrayLike,
    *,
    alphas: Sequence[float | Fraction] = ALPHAS,
    methods: Sequence[str] | None = None,
    confidence: ArrayLike | None = None,
    has_verdict: ArrayLike | None = None,
    clusters: Clusters | None = None,
    delta: float | Fraction = 0.1,
    splits: int = 1000,
    seed: Seed = 0,
    values: Sequence[float] = (),
    finer: FloatArray | None = None,
    halves: Iterable[Halves] | None = None,
) -> list[SplitRisk]:
    """Calibrate on one random half and select from the other, `splits` times.

    All splits are computed from running counts over one sort of all rows, at the few places where a
    threshold can lie (see `thresholds`). `methods` are names; the default is all known methods.
    `heuristic` needs `confidence`. Rows without a verdict (`has_verdict` False) are never accepted.
    With `clusters`, clusters are split into halves: one random row of each calibrates, and all rows
    of the others are tested. `values` are the scores of a verdict, if the protocol allows only a
    few (never from the data). A `finer` doubt orders tied scores; the rest is random.
    `halves` are used instead of new ones if several signals of the same rows share them.

    Both halves come from the same labelled rows, so the spread over splits is narrower than over
    new calibration sets. The rows are as random as the labels were.

    >>> s = np.arange(200) / 200
    >>> e = (np.arange(200) % 7 == 0) & (s > 0.5)
    >>> scope = split_risks(s, e.astype(int), alphas=[0.1], methods=["scope"], splits=50)[0]
    >>> bool(scope.risks.mean() <= 0.1)
    True
    """
    s, e = paired(scores, errors)
    failure = exact_level(delta, "delta")
    levels = [Levels(exact_level(alpha), failure) for alpha in alphas]
    sure = None if confidence is None else probabilities(confidence, "confidence")
    chosen = choose_methods(methods)
    if methods is None and sure is None:
        chosen = [method for method in chosen if not method.needs_confidence]
    same_length(scores=s, confidence=sure, has_verdict=has_verdict, clusters=clusters)
    verdict = None if has_verdict is None else np.asarray(has_verdict, dtype=np.bool_)
    table = SplitTable.build(s, e, verdict, sure, order_by_lot(s, 0, finer), tuple(values))
    grid = [(method, level) for method in chosen for level in levels]
    batches: list[list[SplitOutcome]] = []
    count(splits, "splits", least=1)
    drawn = random_halves(len(s), splits, seed, clusters=clusters) if halves is None else halves
    for some in drawn:
        counts = SplitCounts.build(table, some)
        batches.append([method.counts_over_splits(counts, level) for method, level in grid])
    return [
        SplitRisk.over(method, level, cells)
        for (method, level), cells in zip(grid, zip(*batches, strict=True), strict=True)
    ]


def choose_methods(names: Sequence[str] | None = None) -> list[Method]:
    """The methods of these names; by default the baselines, then every guarantee."""
    by_name: dict[str, Method] = {method.name: method for method in (*BASELINES, *all_guarantees())}
    if names is None:
        return list(by_name.values())
    return [by_name[one_of(name, list(by_name), "methods")] for name in names]


def random_halves(
    n: int, splits: int, seed: Seed, *, clusters: Clusters | None = None
) -> Iterator[Halves]:
    """Random halves of n rows, a few hundred splits at a time, or one if n is large.

    Row i is column i.
    """
    gen = generator(seed)
    codes, units = (None, n) if clusters is None else cluster_codes(clusters)
    by_code = None if codes is None else np.argsort(codes, kind="stable")
    if units < 2:
        raise ArgumentError("scores", n, "give at least two rows (or clusters) to split")
    # One stream for each purpose, so that splits do not depend on how many are in memory together.
    again, picks = gen.spawn(2)
    at_once = max(1, _CELLS // n)
    for start in range(0, splits, at_once):
        chosen = _half_of(units, min(at_once, splits - start), gen, again)
        if codes is None or by_code is None:
            yield Halves(chosen)
        else:
            yield _by_cluster(chosen, codes, by_code, picks)


class SharedHalves:
    """The halves of `random_halves`, drawn once for several signals of the same rows.

    They are kept as bits if these are few; otherwise every signal draws the same ones again.
    """

    def __init__(self, n: int, splits: int, seed: int, clusters: Clusters | None) -> None:
        self._draw = partial(random_halves, n, splits, seed, clusters=clusters)
        self._unpack = partial(_unpack, n=n)
        self._few = splits * n <= 8 * _KEPT
        self._kept: list[Halves] = []

    def __iter__(self) -> Iterator[Halves]:
        if self._kept:
            yield from (packed.each(self._unpack) for packed in self._kept)
            return
        packed = []
        for halves in self._draw():
            if self._few:
                packed.append(halves.each(partial(np.packbits, axis=1)))
            yield halves
        self._kept = packed


def _unpack(bits: NDArray[np.uint8], n: int) -> BoolArray:
    return np.unpackbits(bits, axis=1, count=n).view(np.bool_)


def _half_of(
    units: int, splits: int, gen: np.random.Generator, again: np.random.Generator
) -> BoolArray:
    """A table in which each row marks a uniformly random half of the units."""
    half = units // 2
    marked = _draw_halves(units, splits, gen)
    # Equal keys at the cut would make a half too small: draw those splits again.
    for split in marked:
        while np.count_nonzero(split) != half:
            split[:] = _draw_halves(units, 1, again)[0]
    return marked


def _draw_halves(units: int, splits: int, gen: np.random.Generator) -> BoolArray:
    """The units of each split whose random key is below the median key.

    Keys have 16 bits if they rarely tie at the cut, else 32.
    """
    few = units <= 4096
    width: type[np.unsignedinteger] = np.uint16 if few else np.uint32
    words = -(-units * np.dtype(width).itemsize // 8)
    raw = np.asarray(gen.bit_generator.random_raw(splits * words)).reshape(splits, words)
    keys = raw.view(width)[:, :units]
    if few:
        cut = np.partition(keys, units // 2, axis=1)[:, units // 2]
    else:
        cut = np.array([_upper_median(split) for split in keys])
    return np.asarray(keys < cut[:, None])


def _upper_median(keys: NDArray[np.unsignedinteger]) -> int:
    """Element n // 2 of the sorted keys: of uniform ones, among those near the middle."""
    half = len(keys) // 2
    reach = int(2**34 / math.sqrt(len(keys)))  # 8 standard deviations
    low = 2**31 - reach
    high = 2**31 + reach
    near = keys[(keys >= low) & (keys < high)]
    at = half - int(np.count_nonzero(keys < low))
    if not 0 <= at < len(near):
        near = keys
        at = half
    return int(np.partition(near, at)[at])


def _by_cluster(
    chosen: BoolArray, codes: IntArray, by_code: IntArray, gen: np.random.Generator
) -> Halves:
    """One random row of every chosen cluster calibrates; all rows of the others are tested."""
    splits, groups = chosen.shape
    sizes = np.bincount(codes, minlength=groups)
    first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    pick = first + (gen.random((splits, groups)) * sizes).astype(np.int64)
    calibrates = np.zeros((splits, len(codes)), dtype=np.bool_)
    where, cluster = np.nonzero(chosen)
    calibrates[where, by_code[pick[where, cluster]]] = True
    return Halves(calibrates, ~chosen[:, codes])


class Vanilla(Method):
    """Accept every verdict."""

    name = "vanilla"
    baseline = True

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        return splits.before_cut(np.full(len(splits), len(splits.table.order)))


class Heuristic(Method):
    """Accept every verdict whose stated confidence, max(p, 1 - p), is at least 1 - alpha.

    It needs no labels, and is only as good as the judge's own calibration: judges are
    overconfident. The SCOPE paper runs it on the single-order probability.
    """

    name = "heuristic"
    baseline = True
    needs_confidence = True

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        sure = splits.table.surer(float(1 - levels.alpha))
        tested, tested_wrong = splits.acceptable
        accepted = (tested & sure).total
        wrong = (tested_wrong & sure).total
        return SplitOutcome(accepted, wrong, splits.n_tested)


class Naive(Method):
    """The largest observed score with E <= alpha k, without a correction for having looked.

    It is the luckiest threshold of the calibration set, so the error share of new rows is higher.
    """

    name = "naive"
    baseline = True

    def counts_over_splits(self, splits: SplitCounts, levels: Levels) -> SplitOutcome:
        return splits.below_threshold(splits.last_cut(levels.alpha))


BASELINES: tuple[Method, ...] = (Vanilla(), Heuristic(), Naive())
