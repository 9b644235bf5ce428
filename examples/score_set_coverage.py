"""How much of the coverage above 1 - alpha of learned score sets can be spent, and what it buys.

Prints the mean size and the coverage on held-out documents of learned sets at alpha 0.1 for four
rules. All of them are proven to cover 1 - alpha:

- half: half of the calibration documents teach the judge's scale;
- third: a third of them, as adjudge does;
- lot: the same with exact p-values, in which ties are broken by a lot for every row;
- Mondrian: a third, and a quantile for every judge score.

Run it: python examples/score_set_coverage.py [scores.csv] [splits]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from adjudge.data.scores import prepare_scores, ratings_table, scored_by_both
from adjudge.diagnosis.scores.nonconformity import human_target, learn_scale, ordinal_nonconformity
from adjudge.diagnosis.scores.sets import random_part
from simulators import simulate_scores

ALPHA, SCALE = 0.1, (1, 5)


def p_values(calibrated: np.ndarray, documents: np.ndarray, values: np.ndarray, lot: np.ndarray):
    """Weight of the calibration rows above each value, ties times `lot`, and the new document."""
    _, code, rows = np.unique(documents, return_inverse=True, return_counts=True)
    weight = 1 / rows[code] / (len(rows) + 1)
    order = np.argsort(calibrated)
    below = np.append(0.0, np.cumsum(weight[order]))
    low, high = (
        below[np.searchsorted(calibrated[order], values, side)] for side in ("left", "right")
    )
    return below[-1] - high + lot * (high - low) + 1 / (len(rows) + 1)


def sets_of(rule: str, judge, human, document, half, rng) -> np.ndarray:
    """Which scores are in the set of each row that is not in `half`."""
    used = np.flatnonzero(half)
    teach = random_part(document[used], rng, 2 if rule == "half" else 3)
    taught, rest = used[teach], used[~teach]
    entries = human_target(human)
    learned = learn_scale(judge, entries.only(np.isin(entries.row, taught)), document, scale=SCALE)
    values = ordinal_nonconformity(learned.table)[learned.cells(judge)]
    own = values[np.arange(len(human)), human - SCALE[0]]
    lot = rng.random((len(human), 1)) if rule == "lot" else np.ones((len(human), 1))
    groups = judge if rule == "Mondrian" else np.zeros(len(judge))
    p = np.ones_like(values)
    for group in np.unique(groups[rest]):
        among, at = rest[groups[rest] == group], groups == group
        p[at] = p_values(own[among], document[among], values[at], lot[at])
    return (p > ALPHA + 1e-12)[~half]


def cells(path: str | None, repeats: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Judge score, human score and document: of each judge and criterion, or of simulations."""
    if path is None:
        frames = [
            simulate_scores(documents=100, models=6, judges={"judge": 0.6}, seed=seed).frame
            for seed in range(repeats)
        ]
    else:
        frame = scored_by_both(prepare_scores(path)).frame
        frames = frame.partition_by("judge", "criterion", maintain_order=True)
    for frame in frames:
        rows = scored_by_both(prepare_scores(frame)).frame
        people = np.floor(np.nanmean(ratings_table(rows), axis=1) + 0.5).astype(int)
        _, document = np.unique(rows["doc_id"].to_numpy(), return_inverse=True)
        yield rows["judge_score"].to_numpy().astype(float), people, document


def main(path: str | None, splits: int) -> None:
    rng = np.random.default_rng(0)
    found: dict[str, list[tuple[float, float]]] = {}
    for judge, human, document in cells(path, repeats=2 * splits):
        for _ in range(splits if path else 2):
            half = random_part(document, rng, 2)
            for rule in ("half", "third", "lot", "Mondrian"):
                members = sets_of(rule, judge, human, document, half, rng)
                covered = members[np.arange(len(members)), human[~half] - SCALE[0]]
                found.setdefault(rule, []).append((members.sum(axis=1).mean(), covered.mean()))
    print(
        f"{path or 'simulated judges, 100 documents'}, alpha {ALPHA}: half of the documents tested"
    )
    for rule, values in found.items():
        size, coverage = np.mean(values, axis=0)
        print(f"  {rule:9s} {size:.2f} scores, coverage {coverage:.3f}")


if __name__ == "__main__":
    named = [word for word in sys.argv[1:] if not word.isdigit()]
    count = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(named[0] if named else None, count[0] if count else 20)
