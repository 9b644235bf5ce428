"""What pac accepts if the protocol allows only a few doubts: by the band, by fixed thresholds.

A judge without probabilities is asked in both orders. With verdicts A and B there is one doubt that
can be accepted (the orders agree); with ties two; more orders or prompts give more. The number of
doubts is known before any label, so each threshold is tested at delta, from strict to loose
(docs/measurements.md). Each line is a mean over seven judges, from good to barely good enough.

Run it: python examples/few_doubts.py [repeats]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from adjudge.selection import pac_threshold

ALPHA, DELTA = 0.1, 0.1
SIZES = (100, 200, 400)
#: How many doubts, and how common each is compared with the one before.
KINDS = ((1, 1.0), (2, 0.25), (2, 1.0), (3, 0.25), (3, 1.0), (4, 0.25), (4, 1.0), (5, 1.0))
COMMON = {0.25: "each a quarter of the last", 1.0: "equally common"}
#: Error rates of seven judges, over all verdicts.
RATES = np.linspace(0.025, 0.08, 7)


@dataclass(frozen=True)
class OrdersJudge:
    """The share and the error rate of each doubt; the other rows have no verdict."""

    shares: tuple[float, ...]
    rates: tuple[float, ...]

    @property
    def doubts(self) -> np.ndarray:
        """The possible doubts: 0, 1, ..."""
        return np.arange(len(self.shares))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Doubts and errors of n labelled rows; a row without a verdict is an error."""
        mute = 1 - sum(self.shares)
        scores = rng.choice(len(self.shares) + 1, size=n, p=[*self.shares, mute])
        return scores, rng.random(n) < np.append(self.rates, 1.0)[scores]

    def coverage(self, threshold: float) -> float:
        """The share of new rows that the threshold accepts."""
        return float(np.sum(np.asarray(self.shares)[self.doubts <= threshold]))

    @property
    def error_rates(self) -> np.ndarray:
        """The true error rate below each doubt."""
        shares = np.cumsum(self.shares)
        return np.asarray(np.cumsum(np.multiply(self.shares, self.rates)) / shares)


def judges(doubts: int, ratio: float) -> list[OrdersJudge]:
    """Judges with a verdict on 78 of 100 pairs; each doubt is `ratio` times as common as the last.

    The error rate rises with the doubt, to three times that of the surest verdicts.
    """
    rise = np.linspace(0.5, 1.5, doubts) if doubts > 1 else np.ones(1)
    weights = ratio ** np.arange(doubts)
    shares = weights / weights.sum()
    scale = 1 / float(shares @ rise)
    return [
        OrdersJudge(tuple(0.78 * shares), tuple(rate * scale * rise)) for rate in RATES.tolist()
    ]


def accepted(judge: OrdersJudge, n: int, repeats: int, seed: int) -> np.ndarray:
    """The coverage by the band and by fixed thresholds, for each calibration set."""
    rng, coverages = np.random.default_rng([seed, n]), np.zeros((repeats, 2))
    for coverage in coverages:
        scores, errors = judge.draw(n, rng)
        for at, values in enumerate([(), judge.doubts]):
            lot = int(rng.integers(2**32))
            rule = pac_threshold(scores, errors, alpha=ALPHA, delta=DELTA, seed=lot, values=values)
            if rule.feasible:
                coverage[at] = judge.coverage(np.inf if rule.threshold is None else rule.threshold)
    return coverages


def main(repeats: int = 200) -> None:
    """Print the table."""
    sizes = " | ".join(f"{n}: band | fixed" for n in SIZES)
    print(f"| doubts | {sizes} | at best |")
    print("|---" * (2 * len(SIZES) + 2) + "|")
    for doubts, ratio in KINDS:
        row = []
        crowd = judges(doubts, ratio)
        for n in SIZES:
            drawn = [accepted(judge, n, repeats, seed) for seed, judge in enumerate(crowd)]
            row += np.mean(drawn, axis=(0, 1)).tolist()
        good = [judge.doubts[judge.error_rates <= ALPHA].max(initial=-1) for judge in crowd]
        row.append(np.mean([judge.coverage(d) for judge, d in zip(crowd, good, strict=True)]))
        name = f"{doubts}" if doubts == 1 else f"{doubts}, {COMMON[ratio]}"
        print(f"| {name} | " + " | ".join(f"{x:.3f}" for x in row) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
