"""Who changed, the judge or what it is asked? How soon it is noticed, and what a renewal is worth.

The first table: anchors asked k times at calibration and once now, by a judge that changed its mind
for good on a share of them; some anchors are answered differently each time anyway. The second:
anchors and audits together. The third: policies of `pac` renewed on the same labels, when the judge
changed and when the stream did.

With a folder of data, real judges are swapped for one another: five that give the probability of a
letter in both orders (mtbench_judgments.csv.gz: judge, id, label, p_fwd, p_rev), each answer a draw
from it; and three that pass or fail answers of weak and strong models with people's labels
(trivia_binary.csv.gz), each of which always repeats its answer.

Run it: python examples/who_changed.py [repeats] [folder of data]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import polars as pl

from adjudge.monitoring import log_evidence, log_retest
from adjudge.selection import pac_threshold

DELTA = 0.025
#: Answering models of the real stream before and after, the limit of its errors, how many audits.
STRONG = ("gpt-4t", "llama2-70b-base")
WEAK = ("llama2-7b-chat", "mistral-7b-chat")
LIMIT = 0.15
AUDITS = 600
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


# --- real judges, swapped for one another ---


def draw_answers(chances: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """The mean of one letter in each order, sampled at temperature 1."""
    ab, ba = (rng.random(len(p)) < p for p in chances)
    return (ab.astype(float) + ba) / 2


def delays_of_swap(
    old: tuple[np.ndarray, np.ndarray],
    new: tuple[np.ndarray, np.ndarray],
    repeats: int,
    rng: np.random.Generator,
) -> np.ndarray:
    delays = []
    for _ in range(repeats):
        order = rng.permutation(len(old[0]))
        before = np.stack([draw_answers(old, rng), draw_answers(old, rng)], axis=1)
        now = draw_answers(new, rng)
        delays.append(calls_to_alarm(before[order], now[order], DELTA))
    return np.array(delays)


def print_swapped(rows: pl.DataFrame, repeats: int) -> None:
    """False alarms of each judge, and how soon it is noticed that another one takes its place."""
    chances = {}
    print("\n| at calibration | right | false alarms | now | noticed | median anchors |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(4)
    accuracy = {}
    failed = rows.filter(pl.col("p_fwd").is_null() | pl.col("p_rev").is_null())["id"]
    rows = rows.filter(~pl.col("id").is_in(failed.to_list()))
    for judge in sorted(rows["judge"].unique()):
        own = rows.filter(pl.col("judge") == judge).sort("id")
        chances[judge] = own["p_fwd"].to_numpy(), own["p_rev"].to_numpy()
        says_a = own["p_fwd"] + own["p_rev"] > 1
        accuracy[judge] = (says_a == (own["label"] == "A")).mean()
    for old, before in chances.items():
        false = np.isfinite(delays_of_swap(before, before, repeats, rng)).mean()
        for new, now in chances.items():
            if new == old:
                continue
            delays = delays_of_swap(before, now, repeats, rng)
            noticed = np.isfinite(delays).mean()
            median = np.median(delays)
            soon = f"{median:.0f}" if median < math.inf else f"> {len(now[0])}"
            cells = (f"{accuracy[old]:.2f}", f"{false:.3f}", new, f"{noticed:.3f}", soon)
            print(f"| {old} | " + " | ".join(cells) + " |")


def print_who_of_real(rows: pl.DataFrame, repeats: int) -> None:
    """Anchors on half of the questions, audits drawn from the other half; the limit is LIMIT."""
    questions = rows["question_id"].unique().sort().to_numpy()
    worlds = {
        "nothing": ("Llama-7B", STRONG),
        "the judge, a little more accurate": ("Mistral-7B", STRONG),
        "the judge, less accurate": ("Gemma-2B", STRONG),
        "the stream": ("Llama-7B", WEAK),
        "both": ("Gemma-2B", WEAK),
    }
    print("\n| changed | errors now | no alarm | judge | stream | judge, perhaps the stream too |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(5)
    for name, (judge, models) in worlds.items():
        told = np.zeros((2, 2))
        stream = rows.filter(pl.col("model").is_in(models))
        rate = (stream[judge] != stream["human"]).mean()
        for _ in range(repeats):
            half = rng.permutation(questions)[: len(questions) // 2]
            is_anchor = pl.col("question_id").is_in(half.tolist())
            anchors = rows.filter(is_anchor & (pl.col("model") == STRONG[0]))
            order = rng.permutation(anchors.height)
            before = np.repeat(anchors["Llama-7B"].to_numpy()[:, None], 2, axis=1).astype(float)
            now = anchors[judge].to_numpy().astype(float)
            by_anchors = calls_to_alarm(before[order], now[order], DELTA) < math.inf
            audited = stream.filter(~is_anchor)
            wrong = (audited[judge] != audited["human"]).to_numpy()
            errors = rng.choice(wrong, AUDITS)
            by_audits = log_evidence(errors, limit=LIMIT).max() >= -math.log(DELTA)
            told[int(by_anchors), int(by_audits)] += 1 / repeats
        shown = (told[0, 0], told[1, 0], told[0, 1], told[1, 1])
        cells = " | ".join(f"{share:.3f}" for share in shown)
        print(f"| {name} | {rate:.3f} | {cells} |")


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print_delays(times)
    print_who(times)
    print_renewals(times)
    if len(sys.argv) > 2:
        folder = Path(sys.argv[2])
        print_swapped(pl.read_csv(folder / "mtbench_judgments.csv.gz"), times)
        print_who_of_real(pl.read_csv(folder / "trivia_binary.csv.gz"), times)
