"""Who changed, the judge or what it is asked? How soon it is noticed, and what a renewal is worth.

The first table: anchors asked k times at calibration and once now, by a judge that changed its mind
for good on a share of them; some anchors are answered differently each time anyway. The second:
anchors and audits together. The third: policies of `pac` renewed on the same labels, when the judge
changed and when the stream did.

Run it: python examples/who_changed.py [repeats]
"""

from __future__ import annotations

import math
import sys

import numpy as np

from adjudge.monitoring import log_evidence, log_retest
from adjudge.selection import pac_threshold

DELTA = 0.025
ANCHORS = 400
FLIPS = (0.0, 0.05, 0.1, 0.15, 0.3)
ALPHA = 0.1


def answers(
    passes: int, noisy: float, flips: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Verdicts of the passes at calibration, and now."""
    likely = rng.integers(0, 2, ANCHORS).astype(float)
    is_noisy = rng.random(ANCHORS) < noisy
    likely[is_noisy] = rng.uniform(0.2, 0.8, is_noisy.sum())
    before = rng.random((ANCHORS, passes)) < likely[:, None]
    changed = rng.random(ANCHORS) < flips
    now = rng.random(ANCHORS) < np.where(changed, 1 - likely, likely)
    return before.astype(float), now.astype(float)


def calls_to_alarm(before: np.ndarray, now: np.ndarray, delta: float) -> float:
    reached = np.flatnonzero(log_retest(before, now, verdicts=True) >= -math.log(delta))
    return float(reached[0] + 1) if len(reached) else math.inf


def print_delays(repeats: int) -> None:
    print("| answered differently anyway | passes | false alarms | " + " | ".join(
        f"{flips:.0%} flip" for flips in FLIPS[1:]
    ) + " |")  # fmt: skip
    print("|---|---|---|" + "---|" * (len(FLIPS) - 1))
    rng = np.random.default_rng(1)
    for noisy in (0.03, 0.10, 0.25):
        for passes in (2, 3):
            delays = {
                flips: [
                    calls_to_alarm(*answers(passes, noisy, flips, rng), DELTA)
                    for _ in range(repeats)
                ]
                for flips in FLIPS
            }
            false = np.isfinite(delays[0.0]).mean()
            medians = [float(np.median(delays[flips])) for flips in FLIPS[1:]]
            shown = " | ".join(f"{m:.0f}" if m < math.inf else f"> {ANCHORS}" for m in medians)
            print(f"| {noisy:.0%} of the anchors | {passes} | {false:.3f} | {shown} |")


def print_who(repeats: int) -> None:
    """Anchors at DELTA, 1,500 audits of accepted verdicts at DELTA; limit 0.1, error rate 0.05."""
    worlds = {
        "nothing": (0.0, 0.05),
        "the judge, as accurate as before": (0.15, 0.05),
        "the judge, less accurate": (0.15, 0.25),
        "the stream": (0.0, 0.25),
        "both": (0.15, 0.35),
    }
    print("\n| changed | no alarm | judge | stream | judge, perhaps the stream too |")
    print("|---|---|---|---|---|")
    rng = np.random.default_rng(2)
    for name, (flips, rate) in worlds.items():
        told = np.zeros((2, 2))
        for _ in range(repeats):
            by_anchors = calls_to_alarm(*answers(2, 0.10, flips, rng), DELTA) < math.inf
            errors = rng.random(1500) < rate
            by_audits = log_evidence(errors, limit=ALPHA).max() >= -math.log(DELTA)
            told[int(by_anchors), int(by_audits)] += 1 / repeats
        shown = (told[0, 0], told[1, 0], told[0, 1], told[1, 1])
        print(f"| {name} | " + " | ".join(f"{share:.3f}" for share in shown) + " |")


def error_rate(doubt: np.ndarray, moved: float) -> np.ndarray:
    """Of a judge that is wrong more often where it doubts; `moved` of the doubtful ones flip."""
    wrong = 0.02 + 0.3 * doubt**2
    return np.where(doubt > 0.3, wrong + moved * (1 - 2 * wrong), wrong)


def true_rate(threshold: float | None, moved: float) -> float:
    """The error rate of what is accepted up to a threshold."""
    if threshold is None:
        return 0.0
    grid = np.linspace(0, threshold, 2001)
    return float(error_rate(grid, moved).mean())


def print_renewals(repeats: int) -> None:
    print("\n| labels | the old threshold | renewed, the judge changed | renewed, the stream did |")
    print("|---|---|---|---|")
    rng = np.random.default_rng(3)
    for labels in (200, 400):
        above = np.zeros(3)
        for _ in range(repeats):
            doubt = rng.random(labels)
            luck = rng.random(labels)
            old = threshold_of(doubt, luck < error_rate(doubt, 0.0))
            renewed = threshold_of(doubt, luck < error_rate(doubt, 0.2))
            # If the stream changed, the judge answers the old rows as before.
            rates = true_rate(old, 0.2), true_rate(renewed, 0.2), true_rate(old, 0.2)
            above += np.array(rates) > ALPHA
        shown = " | ".join(f"{share:.3f}" for share in above / repeats)
        print(f"| {labels} | {shown} |")


def threshold_of(doubt: np.ndarray, errors: np.ndarray) -> float | None:
    found = pac_threshold(doubt, errors.astype(int), alpha=ALPHA, delta=0.1)
    return 1.0 if found.accepts == "all" else found.threshold


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print_delays(times)
    print_who(times)
    print_renewals(times)
