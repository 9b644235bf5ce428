"""When corrected rates are hard: weak judges, few labels, one confusion matrix for all models.

Run it: python examples/weak_judges.py [FILE JUDGE]. FILE has a row for each answer, with columns
model and human, all labelled, and a column of the judge's verdicts. That of docs/measurements.md is
UMass-Meta's trivia answers (llm_eval), judged by Llama-7B.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

from adjudge import estimate
from adjudge.estimation import corrected_interval
from adjudge.estimation.estimators.misclassification import adjust
from adjudge.estimation.profile import Tallies, p_values
from adjudge.statistics.numbers import normal_quantile
from simulators import draw_counts

RATES = np.linspace(0, 1, 21)
N = 1000
WAYS = {
    "pooled, Eq. 6": {"pool": True},
    "own, Eq. 6": {},
    "own, profile": {"interval": "profile"},
}


def few_labels(repeats: int) -> None:
    """The smallest coverage over rates by Eq. 6, and by the profile interval at that rate."""
    print("1. Smallest coverage over 21 rates of 95 % intervals: Eq. 6; profile at that rate")
    for q0, q1, m0, m1 in ((0.6, 0.6, 100, 10), (0.7, 0.7, 100, 100), (0.9, 0.9, 100, 100)):
        k, c0, c1 = draw_counts(RATES, q0, q1, n=N, m0=m0, m1=m1, replications=10_000, seed=1)
        bounds = corrected_interval(k / N, c0 / m0, c1 / m1, N, m0, m1)
        hit = (bounds.low <= RATES[:, None]) & (RATES[:, None] <= bounds.high)
        covered = np.mean(hit, axis=1, where=bounds.informative)
        worst = int(covered.argmin())
        k, c0, c1 = (array[worst, :repeats] for array in (k, c0, c1))
        data = Tallies(k, N, c0, m0, c1, m1)
        kept = p_values(RATES[worst], data, 199, np.random.default_rng(2)) > 0.05
        kept |= c0 * m1 + c1 * m0 <= m0 * m1  # a judge like a coin: every rate is inside
        print(
            f"   judge {q0}/{q1}, {m0} and {m1} labels: {covered[worst]:.3f};"
            f" {kept.mean():.3f} at rate {RATES[worst]:.2f}"
        )


def refused_by_chance() -> None:
    """How often the complete interval of Eq. 6 is outside [0, 1] although nothing is wrong."""
    print(
        "2. Refused because the interval lies outside [0, 1], largest share over judges and labels"
    )
    z = normal_quantile(0.95)
    for rate in (0.0, 0.02, 0.5, 1.0):
        shares = []
        for q in (0.7, 0.9):
            for m in (30, 100, 500):
                k, c0, c1 = draw_counts([rate], q, q, n=N, m0=m, m1=m, replications=50_000, seed=3)
                centre, se, _ = adjust(k / N, c0 / m, c1 / m, N, m, m, z)
                shares.append(np.mean((centre - z * se > 1) | (centre + z * se < 0)))
        print(f"   rate {rate:g}: {max(shares):.3f}")


def one_matrix_for_all(path: str, judge: str, draws: int) -> None:
    """Coverage of each model's rate with 200 random labels; the profile in half of the draws."""
    rows = pl.read_csv(path).select("model", judge=judge, human="human")
    truth = dict(rows.group_by("model").agg(pl.col("human").mean()).iter_rows())
    hits: dict[str, dict[str, list[bool]]] = {way: {name: [] for name in truth} for way in WAYS}
    nothing = dict.fromkeys(truth, 0)
    for seed in range(draws):
        known = np.zeros(rows.height, dtype=bool)
        known[np.random.default_rng(seed).choice(rows.height, 200, replace=False)] = True
        seen = rows.with_columns(human=pl.when(pl.Series(known)).then("human"))
        for way, options in WAYS.items():
            if "interval" in options and seed % 2:
                continue
            for one in estimate(seen, by="model", method="misclassification", **options).groups:
                if one.low is not None:
                    hits[way][one.group].append(one.low <= truth[one.group] <= one.high)
                elif way == "own, Eq. 6":
                    nothing[one.group] += 1
    print(f"3. {judge}: coverage of each model's rate, 200 random labels in all, {draws} draws")
    for name in sorted(truth, key=lambda name: np.mean(hits["pooled, Eq. 6"][name])):
        cells = ", ".join(f"{way} {np.mean(hits[way][name]):.2f}" for way in WAYS)
        print(f"   {name:20} {cells}, no estimate {nothing[name]} of {draws}")


if __name__ == "__main__":
    few_labels(2000)
    refused_by_chance()
    if len(sys.argv) > 2:
        one_matrix_for_all(sys.argv[1], sys.argv[2], 200)
