"""Best of several responses: why pairs are not enough, and what a jury and the product doubt buy.

    python examples/choices.py

Prompts with several responses, all pairs judged; 500 labelled prompts, 1,000 new ones, alpha 0.10.

First table, 300 repeats: a threshold is calibrated on one pair of each prompt and used for
choices: a choice is accepted if each of its comparisons would be. Then a threshold is calibrated
on prompts.

Second table, 100 repeats: one of three equally good judges and the jury of all three; the doubt of
a choice by its least sure comparison, 1 - min p, and by all of them, 1 - product p (`--best`).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from adjudge.selection import pac_threshold, scope_threshold
from adjudge.selection.choices import prepare_choices
from adjudge.selection.doubts.jury import jury_preference
from adjudge.simulate.pairs import simulate_choices
from adjudge.statistics.entropy import preference_entropy
from adjudge.validation import BoolArray, FloatArray, IntArray

POOL, LABELS, NEW, REPEATS, ALPHA = 20_000, 500, 1_000, 300, 0.10


def measure(responses: int) -> tuple[float, float, float]:
    """Mean error share of pairs and choices by the pair threshold, and of choices by their own."""
    rows = simulate_choices(POOL, responses=responses, seed=5)
    p = by_prompt(rows, responses)
    prefers_a = by_prompt(rows.select(p_a=pl.col("label") == "A"), responses) == 1
    wrong = ((p > 0.5) != prefers_a).astype(np.int64)
    doubt = preference_entropy(p.ravel()).reshape(p.shape)
    choices = prepare_choices(rows).frame
    errors = (choices["verdict"] != choices["label"]).to_numpy().astype(np.int64)
    own_doubt, least = choices["uncertainty"].to_numpy(), least_sure(p, responses)
    # A choice that lost a comparison is above every threshold for pairs.
    hardest = np.where(least < 0.5, preference_entropy(least), np.log(2) + 1)
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(REPEATS):
        drawn = rng.choice(POOL, LABELS + NEW, replace=False)
        own, new = drawn[:LABELS], drawn[LABELS:]
        one = rng.integers(p.shape[1], size=LABELS)
        pairs = scope_threshold(doubt[own, one], wrong[own, one], alpha=ALPHA).rule
        prompts = scope_threshold(own_doubt[own], errors[own], alpha=ALPHA)
        shares.append(
            (
                share(wrong[new].ravel(), pairs.accept(doubt[new].ravel())),
                share(errors[new], pairs.accept(hardest[new])),
                share(errors[new], prompts.accept(own_doubt[new])),
            )
        )
    first, second, third = np.mean(shares, axis=0).tolist()
    return first, second, third


def compare(responses: int) -> dict[str, tuple[float, list[float]]]:
    """Accuracy, and the share accepted by scope and pac under both doubts, of judge and jury."""
    rows = simulate_choices(POOL, responses=responses, skill=1.5, noise=0.8, judges=3, seed=5)
    choices = prepare_choices(rows, jury=()).frame
    judged = {"one judge": rows.filter(pl.col("judge") == "simulated-1")}
    columns = [frame["p_a"].to_numpy() for frame in rows.partition_by("judge")]
    together = jury_preference(np.column_stack(columns))
    judged["jury of three"] = pl.DataFrame({"p_a": together})
    seen = {}
    for name, judge in (("one judge", "simulated-1"), ("jury of three", "jury")):
        frame = choices.filter(pl.col("judge") == judge).sort("id")
        errors = (frame["verdict"] != frame["label"]).fill_null(True).to_numpy().astype(np.int64)
        least = least_sure(by_prompt(judged[name], responses), responses)
        accepted = []
        for doubt in (least, frame["uncertainty"].to_numpy()):
            rng, shares = np.random.default_rng(0), []
            for _ in range(100):
                own = rng.choice(POOL, LABELS, replace=False)
                given = doubt[own], errors[own]
                rules = (
                    scope_threshold(*given, alpha=ALPHA),
                    pac_threshold(*given, alpha=ALPHA, delta=0.1),
                )
                shares.append([rule.accept(doubt).mean() for rule in rules])
            accepted += np.mean(shares, axis=0).tolist()
        seen[name] = (1 - float(errors.mean()), accepted)
    return seen


def by_prompt(rows: pl.DataFrame, responses: int) -> FloatArray:
    """p_a of all comparisons of each prompt."""
    p = rows["p_a"].cast(pl.Float64).to_numpy()
    return np.asarray(p.reshape(-1, responses * (responses - 1) // 2))


def least_sure(p: FloatArray, responses: int) -> FloatArray:
    """1 - min p over the comparisons of each prompt's choice."""
    first, second = map(np.array, zip(*combinations(range(responses), 2), strict=True))
    wins = np.ones((len(p), responses, responses))
    wins[:, first, second], wins[:, second, first] = p, 1 - p
    chosen = wins[np.arange(len(p)), wins.sum(axis=2).argmax(axis=1)]
    return np.asarray(1 - chosen.min(axis=1))


def share(errors: IntArray, accepted: BoolArray) -> float:
    """The share of errors among the accepted; 0 if nothing is accepted."""
    return float(errors[accepted].mean()) if accepted.any() else 0.0


def main() -> None:
    """The tables of docs/trust.md."""
    print("| responses | pairs, pair threshold | choices, pair threshold | choices, own |")
    print("|---|---|---|---|")
    for responses in (2, 3, 4, 8):
        print(f"| {responses} | " + " | ".join(f"{x:.3f}" for x in measure(responses)) + " |")
    print()
    print("| responses | by | accuracy | scope, min | pac, min | scope, product | pac, product |")
    print("|---|---|---|---|---|---|---|")
    for responses in (3, 4, 8):
        for name, (accuracy, accepted) in compare(responses).items():
            shares = " | ".join(f"{x:.2f}" for x in accepted)
            print(f"| {responses} | {name} | {accuracy:.2f} | {shares} |")


if __name__ == "__main__":
    main()
