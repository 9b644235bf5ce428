"""Evaluation: coverage of agreement and of the gain, and false alarms among slices.

Figures of the full runs are in docs/measurements.md.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from adjudge.evaluation.shares import LabelledRows, kappa_of_cells
from adjudge.evaluation.slices import find_slices
from adjudge.evaluation.verdicts import JudgedWords, measure_verdicts
from adjudge.validation import IntArray

RUNS = [pytest.param(150, id="short"), pytest.param(1500, id="full", marks=pytest.mark.montecarlo)]
#: Rows, shares of the classes, accuracy of the judge, rows of a cluster.
CELLS = [
    (240, (0.63, 0.37), 0.85, 1),
    (100, (0.5, 0.5), 0.8, 1),
    (60, (0.9, 0.1), 0.9, 1),
    (200, (0.25, 0.25, 0.25, 0.25), 0.7, 1),
    (240, (0.5, 0.5), 0.8, 4),
    (300, (0.8, 0.2), 0.85, 5),
]


def draw(
    cell: tuple[int, tuple[float, ...], float, int], rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Verdicts, labels and clusters; rows of a cluster share labels and errors in part."""
    n, shares, accuracy, size = cell
    clusters = np.repeat(np.arange(n // size), size)
    groups = clusters[-1] + 1
    of_group = rng.choice(len(shares), groups, p=shares)[clusters]
    labels = np.where(rng.random(n) < 0.6, of_group, rng.choice(len(shares), n, p=shares))
    right_group = (rng.random(groups) < accuracy)[clusters]
    right = np.where(rng.random(n) < 0.6, right_group, rng.random(n) < accuracy)
    other = (labels + rng.integers(1, len(shares), n)) % len(shares)
    return np.where(right, labels, other), labels, clusters


def count_misses(cell: tuple[int, tuple[float, ...], float, int], runs: int) -> dict[str, int]:
    """How often the interval of agreement misses, and each end of that of the gain."""
    _, shares, accuracy, size = cell
    rng = np.random.default_rng(23)
    names = np.array(["a", "b", "c", "d"])
    gain = accuracy - max(shares)
    missed = {"agreement": 0, "below": 0, "above": 0}
    for _ in range(runs):
        verdicts, labels, clusters = draw(cell, rng)
        rows = JudgedWords(
            verdicts=pl.Series(names[verdicts]),
            labels=pl.Series(names[labels]),
            clusters=clusters if size > 1 else None,
        )
        judge = measure_verdicts(rows)
        assert judge.interval is not None
        assert judge.gain_interval is not None
        missed["agreement"] += accuracy not in judge.interval
        low, high = judge.gain_interval
        assert low is not None
        assert high is not None
        missed["below"] += gain < low
        missed["above"] += gain > high
    return missed


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_agreement_and_gain_cover(
    cell: tuple[int, tuple[float, ...], float, int], runs: int
) -> None:
    """The gain is over the constant that is best in truth, though labels choose it."""
    missed = count_misses(cell, runs)
    # The end that matters: that the judge exceeds the constant by at least this much.
    assert missed["below"] <= binom.ppf(0.999, runs, 0.03)
    assert missed["agreement"] <= binom.ppf(0.999, runs, 0.06)
    assert missed["below"] + missed["above"] <= binom.ppf(0.999, runs, 0.09)


#: Rows, share of people's passes, the judge's sensitivity and specificity.
KAPPAS = [(30, 0.5, 0.85, 0.8), (30, 0.9, 0.97, 0.4), (100, 0.95, 0.99, 0.5), (60, 0.8, 0.8, 0.2)]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("cell", KAPPAS, ids=str)
def test_kappa_covers(cell: tuple[int, float, float, float], runs: int) -> None:
    """A jackknife covered .69 to .91 here; an interval is always there if two classes are."""
    n, passes, sensitivity, specificity = cell
    rng = np.random.default_rng(31)
    table = np.array(
        [
            [passes * sensitivity, passes * (1 - sensitivity), 0.0],
            [(1 - passes) * (1 - specificity), (1 - passes) * specificity, 0.0],
        ]
    )
    truth = float(kappa_of_cells(table[None])[0])
    missed = 0
    files = 0
    for run in range(runs):
        cells = rng.choice(6, n, p=table.ravel())
        labels = cells // 3
        if len({*labels, *(cells % 3)}) < 2:
            continue
        files += 1
        rows = LabelledRows(verdicts=cells % 3, labels=labels, size=2, seed=run)
        interval = rows.kappa().interval
        assert interval is not None
        missed += truth not in interval
    assert missed <= binom.ppf(0.999, files, 0.07), missed / files


#: Rows, values of the first column, rows of a cluster, whether labels were drawn by verdict.
SLICES = [(200, 6, 1, False), (400, 6, 2, False), (600, 10, 5, False), (400, 6, 1, True)]


def count_named(cell: tuple[int, int, int, bool], runs: int) -> int:
    """How many files without a difference have a slice that is shown."""
    n, values, size, by_verdict = cell
    rng = np.random.default_rng(31)
    named = 0
    for _ in range(runs):
        clusters = np.repeat(np.arange(n // size), size)
        topic = rng.integers(0, values, n // size)[clusters]
        strata = (rng.random(n) < 0.3).astype(np.int64) if by_verdict else None
        shift = 0.0 if strata is None else 0.8 * strata
        of_cluster = rng.normal(size=n // size)[clusters]
        errors = 1.5 * of_cluster + rng.normal(size=n) + shift > 1.8
        rows = pl.DataFrame({"topic": topic, "language": rng.integers(0, 3, n)})
        slices = find_slices(
            rows,
            ["topic", "language"],
            errors,
            clusters=clusters if size > 1 else None,
            strata=strata,
        )
        named += any(each.shown for each in slices)
    return named


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("cell", SLICES, ids=str)
def test_slices_are_rarely_named_by_chance(cell: tuple[int, int, int, bool], runs: int) -> None:
    """At most 5 % of files without a difference have a slice that is shown."""
    assert count_named(cell, runs) <= binom.ppf(0.999, runs, 0.05)


@pytest.mark.parametrize("size", [1, 4])
def test_a_slice_with_twice_the_errors_is_named(size: int) -> None:
    rng = np.random.default_rng(5)
    named = 0
    for _ in range(60):
        clusters = np.repeat(np.arange(600 // size), size)
        topic = rng.integers(0, 4, 600 // size)[clusters]
        errors = rng.random(600) < np.where(topic == 0, 0.36, 0.14)
        rows = pl.DataFrame({"topic": topic})
        slices = find_slices(rows, ["topic"], errors, clusters=clusters if size > 1 else None)
        named += slices[0].shown and slices[0].name == "topic = 0"
    assert named >= 54


if __name__ == "__main__":
    runs = 1000
    for gain_cell in CELLS:
        shares = {name: n / runs for name, n in count_misses(gain_cell, runs).items()}
        print(gain_cell, shares)
    for slice_cell in SLICES:
        print(slice_cell, count_named(slice_cell, runs) / runs)
