"""The tables of docs/measurements.md on rates: the width and coverage of the methods' intervals.

Run it: python examples/rates.py [repeats]; the last table, which is slower, has a quarter of them.
"""

from __future__ import annotations

import sys

import numpy as np

from adjudge.estimation.estimators import find_estimator
from adjudge.estimation.estimators.conditional import adjust
from adjudge.estimation.exact_interval import intervals_of
from adjudge.estimation.sample import Sample
from adjudge.statistics.numbers import fisher_exact, normal_quantile

LEVEL = 0.95
TEST_ROWS = 1000
ONE_JUDGE = ("human-only", "misclassification", "conditional", "ppi++")
#: Specificity, sensitivity and rate of three judges: strict, ordinary, weak.
CASES = ((0.9, 0.9, 0.6), (0.75, 0.85, 0.6), (0.6, 0.7, 0.6), (0.9, 0.9, 0.1))


class Tally:
    """Widths and hits of one method's intervals."""

    def __init__(self) -> None:
        self.widths: list[float] = []
        self.hits: dict[str, list[bool]] = {}
        self.refused = 0

    def add(self, low: float | None, high: float | None, rate: float, model: str = "") -> None:
        if low is None or high is None:
            self.refused += 1
            return
        self.widths.append(high - low)
        self.hits.setdefault(model, []).append(low - 1e-12 <= rate <= high + 1e-12)

    def line(self, name: str) -> str:
        covers = [float(np.mean(hits)) for hits in self.hits.values()]
        worst = f", worst model {min(covers):.3f}" if len(covers) > 1 else ""
        none = f", no number {self.refused}" if self.refused else ""
        width = float(np.mean(self.widths))
        return f"  {name:28} width {width:.3f}, covers {np.mean(covers):.3f}{worst}{none}"


def one_judge(repeats: int) -> None:
    """Random labels, one judge: the result of each method."""
    print(f"1. One judge, {TEST_ROWS:,} test rows, labels drawn at random, {repeats:,} draws")
    for q0, q1, theta in CASES:
        for labels in (60, 200):
            print(f" specificity {q0}, sensitivity {q1}, rate {theta}, {labels} labels")
            tallies = {method: Tally() for method in ONE_JUDGE}
            rng = np.random.default_rng(1)
            for _ in range(repeats):
                sample, _ = draw_sample(rng, q0, q1, theta, labels)
                for method, tally in tallies.items():
                    got = find_estimator(method).estimate(sample, confidence_level=LEVEL)
                    tally.add(got.low, got.high, theta)
            for method, tally in tallies.items():
                print(tally.line(method))


def probabilities(repeats: int) -> None:
    """A judge that gives probabilities: ppi++, and the normal interval of its standard error."""
    print(f"2. Probabilities, {TEST_ROWS:,} test rows, labels drawn at random, {repeats:,} draws")
    for kind in ("spread out", "near 0 and 1"):
        for theta in (0.5, 0.9, 0.95):
            for labels in (30, 60, 200):
                print(f" {kind}, rate {theta}, {labels} labels")
                tallies = {name: Tally() for name in ("ppi++", "normal interval", "difference")}
                rng = np.random.default_rng(1)
                for _ in range(repeats):
                    truth = rng.random(labels + TEST_ROWS) < theta
                    judge = rng.beta(np.where(truth, 8, 2), np.where(truth, 2, 8))
                    if kind != "spread out":
                        right = rng.random(len(truth)) < 0.9
                        judge = np.where(right, truth, ~truth) * 0.94 + 0.06 * rng.random(
                            len(truth)
                        )
                    known = np.arange(len(truth)) < labels
                    human = np.where(known, truth, -1).astype(np.int64)
                    sample = Sample(judge, human, ~known, known, random=True)
                    for method in ("ppi++", "difference"):
                        got = find_estimator(method).estimate(sample, confidence_level=LEVEL)
                        tallies[method].add(got.low, got.high, theta)
                        if method == "ppi++":
                            half = normal_quantile(LEVEL) * got.standard_error
                            ends = np.clip([got.estimate - half, got.estimate + half], 0, 1)
                            tallies["normal interval"].add(*ends.tolist(), theta)
                for name, tally in tallies.items():
                    print(tally.line(name))


def honest_users(repeats: int) -> None:
    """Labels that are random: the check for label shift, and conditional where it looks worst."""
    print(f"3. The check for label shift, labels that are a random sample, {25 * repeats:,} draws")
    for labels, theta, q0, q1 in ((60, 0.6, 0.9, 0.8), (200, 0.8, 0.7, 0.9)):
        rng = np.random.default_rng(12)
        cells = [theta * q1, theta * (1 - q1), (1 - theta) * (1 - q0), (1 - theta) * q0]
        right, missed, alarm, rejection = rng.multinomial(labels, cells, 25 * repeats).T
        ones, zeros = right + alarm, missed + rejection
        others = rng.binomial(TEST_ROWS, cells[0] + cells[2], len(ones))
        p = np.array(
            [
                fisher_exact(k, labels, j, TEST_ROWS)
                for k, j in zip(ones.tolist(), others.tolist(), strict=True)
            ]
        )
        print(f" rate {theta}, specificity {q0}, sensitivity {q1}, {labels} labels")
        print(f"  p below 0.05: {(p < 0.05).mean():.4f}, below 0.001: {(p < 0.001).mean():.5f}")
        z = normal_quantile(LEVEL)
        rates = right / np.maximum(ones, 1), missed / np.maximum(zeros, 1)
        size = TEST_ROWS + labels
        for name, share, n in (
            ("all rows", (ones + others) / size, size),
            ("unlabelled rows alone", others / TEST_ROWS, TEST_ROWS),
        ):
            centre, se = adjust(share, *rates, n, ones, zeros, z)
            hit = np.abs(centre - theta) <= z * se
            print(
                f"  conditional, {name}: covers {hit.mean():.3f}, {hit[p < 0.05].mean():.3f} "
                f"where p is below 0.05, width {2 * z * se.mean():.3f}"
            )


def draw_sample(
    rng: np.random.Generator,
    q0: float,
    q1: float,
    theta: float,
    labels: int,
    test_rows: int = TEST_ROWS,
) -> tuple[Sample, float]:
    """Rows of one judge, the first `labels` of them labelled, and the human rate of all of them."""
    truth = rng.random(labels + test_rows) < theta
    right = rng.random(len(truth)) < np.where(truth, q1, q0)
    known = np.arange(len(truth)) < labels
    judge = np.where(right, truth, ~truth).astype(np.float64)
    human = np.where(known, truth, -1).astype(np.int64)
    return Sample(judge, human, ~known, known, random=True), float(truth.mean())


def these_rows(repeats: int) -> None:
    """The exact interval for the human rate of these rows, and the coverage of other methods."""
    print(f"4. The human rate of the rows themselves, {repeats:,} draws")
    for q0, q1, theta, labels, test_rows in (
        (0.9, 0.9, 0.6, 60, 1000),
        (0.9, 0.9, 0.6, 200, 1000),
        (0.9, 0.9, 0.6, 150, 150),
        (0.75, 0.85, 0.6, 60, 1000),
        (0.75, 0.85, 0.6, 200, 1000),
        (0.9, 0.9, 0.1, 60, 1000),
    ):
        print(
            f" specificity {q0}, sensitivity {q1}, rate {theta}, {labels} of {labels + test_rows}"
        )
        tallies = {name: Tally() for name in ("these rows, exact", "conditional", "human-only")}
        rng = np.random.default_rng(3)
        for _ in range(repeats):
            sample, rate = draw_sample(rng, q0, q1, theta, labels, test_rows)
            [ends] = intervals_of([sample], confidence_level=LEVEL)
            low, high = ends or (None, None)
            tallies["these rows, exact"].add(low, high, rate)
            for method in ("conditional", "human-only"):
                got = find_estimator(method).estimate(sample, confidence_level=LEVEL)
                tallies[method].add(got.low, got.high, rate)
        for name, tally in tallies.items():
            print(tally.line(name))


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1600
    one_judge(wanted)
    probabilities(wanted)
    honest_users(wanted)
    these_rows(wanted // 4)
