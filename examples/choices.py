"""Why a threshold for pairs has no guarantee for the best of several responses.

    python examples/choices.py

Prompts with 2, 3, 4 and 8 responses, all pairs judged; 500 labelled prompts, 1,000 new ones, alpha
0.10, 300 repeats. A threshold is calibrated on one pair of each prompt and used for choices: a
choice is accepted if each of its comparisons would be. Then a threshold is calibrated on prompts.
"""

from __future__ import annotations

import numpy as np

from adjudge.selection import scope_threshold
from adjudge.selection.choices import prepare_choices
from adjudge.simulate.pairs import simulate_choices
from adjudge.statistics.entropy import preference_entropy
from adjudge.validation import BoolArray, IntArray

POOL, LABELS, NEW, REPEATS, ALPHA = 20_000, 500, 1_000, 300, 0.10


def measure(responses: int) -> tuple[float, float, float]:
    """Mean error share of pairs and choices by the pair threshold, and of choices by their own."""
    rows = simulate_choices(POOL, responses=responses, seed=5)
    shape = (POOL, responses * (responses - 1) // 2)
    p = rows["p_a"].to_numpy().reshape(shape)
    wrong = ((p > 0.5) != (rows["label"] == "A").to_numpy().reshape(shape)).astype(np.int64)
    doubt = preference_entropy(p.ravel()).reshape(shape)
    choices = prepare_choices(rows).frame
    errors = (choices["verdict"] != choices["label"]).to_numpy().astype(np.int64)
    least = choices["uncertainty"].to_numpy()
    # A choice that lost a comparison is above every threshold for pairs.
    hardest = np.where(least < 0.5, preference_entropy(least), np.log(2) + 1)
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(REPEATS):
        drawn = rng.choice(POOL, LABELS + NEW, replace=False)
        own, new = drawn[:LABELS], drawn[LABELS:]
        one = rng.integers(shape[1], size=LABELS)
        pairs = scope_threshold(doubt[own, one], wrong[own, one], alpha=ALPHA).rule
        prompts = scope_threshold(least[own], errors[own], alpha=ALPHA)
        shares.append(
            (
                share(wrong[new].ravel(), pairs.accept(doubt[new].ravel())),
                share(errors[new], pairs.accept(hardest[new])),
                share(errors[new], prompts.accept(least[new])),
            )
        )
    first, second, third = np.mean(shares, axis=0).tolist()
    return first, second, third


def share(errors: IntArray, accepted: BoolArray) -> float:
    """The share of errors among the accepted; 0 if nothing is accepted."""
    return float(errors[accepted].mean()) if accepted.any() else 0.0


def main() -> None:
    """The table of docs/trust.md."""
    print("| responses | pairs, pair threshold | choices, pair threshold | choices, own |")
    print("|---|---|---|---|")
    for responses in (2, 3, 4, 8):
        print(f"| {responses} | " + " | ".join(f"{x:.3f}" for x in measure(responses)) + " |")


if __name__ == "__main__":
    main()
