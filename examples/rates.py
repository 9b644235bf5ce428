"""The measured tables of docs/estimation.md: the width and coverage of the methods' intervals.

Run it: python examples/rates.py [repeats]; several judges are slower and run a quarter of them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from adjudge import estimate
from adjudge.estimation import panel_statistics as combine
from adjudge.estimation.estimators import find_estimator
from adjudge.estimation.exact_interval import interval_of
from adjudge.estimation.sample import Sample
from adjudge.simulate.grades import panel_rows

LEVEL = 0.95
TEST_ROWS = 1000
ONE_JUDGE = ("human-only", "misclassification", "conditional", "ppi++")
#: Specificity, sensitivity and rate of three judges: strict, ordinary, weak.
CASES = ((0.9, 0.9, 0.6), (0.75, 0.85, 0.6), (0.6, 0.7, 0.6), (0.9, 0.9, 0.1))
SKILLS = {"a": 0.9, "b": 0.8, "c": 0.7}
RATES = {f"m{i}": float(rate) for i, rate in enumerate(np.linspace(0.35, 0.85, 8).round(3))}


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


def several_judges(repeats: int) -> None:
    """Eight models, three judges: rates by one judge, by three, and with --share."""
    for labels in (50, 100):
        print(f"2. Eight models of 300 answers, {labels} random labels each, {repeats:,} draws")
        tallies = panel_tallies(repeats, labels, SKILLS, share=True)
        for name, tally in tallies.items():
            print(tally.line(name))
    print("3. The same, 50 labels, with other judges")
    for name, skills in (
        ("the others weak", {"a": 0.9, "b": 0.4, "c": 0.3}),
        ("six equal ones", dict.fromkeys("abcdef", 0.8)),
    ):
        print(f" {name}")
        for method, tally in panel_tallies(repeats, 50, skills).items():
            print(tally.line(method))


def panel_tallies(
    repeats: int, labels: int, skills: Mapping[str, float], *, share: bool = False
) -> dict[str, Tally]:
    """Intervals of every model by several judges and by every method to compare with."""
    names = ["people alone", "conditional, one judge", "ppi++, one judge", "several judges"]
    tallies = {name: Tally() for name in names + ["several judges, --share"] * share}
    rng = np.random.default_rng(2)
    for _ in range(repeats):
        rows = panel_rows(RATES, skills, questions=300, labels=labels, seed=rng)
        options = {"by": "model", "cluster": "prompt_id", "labels_are_random": True}
        got = estimate(rows, judges=list(skills), share=share, **options)
        first = estimate(rows, judge_column="a", **options)
        for one, single in zip(got.groups, first.groups, strict=True):
            ends = {
                "people alone": (*one.human_only_interval,),
                "conditional, one judge": (single.low, single.high),
                "ppi++, one judge": (*one.ppi_interval,),
                "several judges": (one.low, one.high),
                "several judges, --share": (*(one.shared_interval or (None, None)),),
            }
            for name, tally in tallies.items():
                tally.add(*ends[name], RATES[one.group], one.group)
    return tallies


def penalties(repeats: int) -> None:
    """The width for several judges at penalties other than the built-in one."""
    print("4. Several judges, 50 labels, by penalty")
    chosen = combine.PENALTY
    for penalty in (1.0, 3.0, 10.0, 30.0, 100.0):
        combine.PENALTY = penalty
        print(panel_tallies(repeats, 50, SKILLS)["several judges"].line(f"penalty {penalty:g}"))
    combine.PENALTY = chosen


def these_rows(repeats: int) -> None:
    """The exact interval for the human rate of these rows, and the coverage of other methods."""
    print(f"5. The human rate of the rows themselves, {repeats:,} draws")
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
            low, high = interval_of(sample, confidence_level=LEVEL) or (None, None)
            tallies["these rows, exact"].add(low, high, rate)
            for method in ("conditional", "human-only"):
                got = find_estimator(method).estimate(sample, confidence_level=LEVEL)
                tallies[method].add(got.low, got.high, rate)
        for name, tally in tallies.items():
            print(tally.line(name))


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1600
    one_judge(wanted)
    several_judges(wanted // 4)
    penalties(wanted // 15)
    these_rows(wanted // 4)
