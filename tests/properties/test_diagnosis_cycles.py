"""Cycle counts equal brute force over all triples, with ties and gaps; from rows too."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.diagnosis import count_cycles, cyclic_triples, diagnose_transitivity


def _brute(wins: np.ndarray) -> tuple[int, int]:
    decisive = wins | wins.T
    cycles = triples = 0
    for i, j, k in combinations(range(len(wins)), 3):
        if decisive[i, j] and decisive[j, k] and decisive[i, k]:
            triples += 1
            cycles += any(
                wins[a, b] and wins[b, c] and wins[c, a] for a, b, c in permutations((i, j, k))
            )
    return cycles, triples


@st.composite
def tournaments(draw: st.DrawFn, most: int = 9) -> np.ndarray:
    n = draw(st.integers(0, most))
    pairs = list(combinations(range(n), 2))
    gaps = draw(st.booleans())
    values = st.sampled_from([-1, 1, 0] if gaps else [-1, 1])
    edges = draw(st.lists(values, min_size=len(pairs), max_size=len(pairs)))
    wins = np.zeros((n, n), dtype=bool)
    for (i, j), edge in zip(pairs, edges, strict=True):
        wins[i, j], wins[j, i] = edge > 0, edge < 0
    return wins


@given(tournaments())
@settings(max_examples=300)
def test_counts_equal_brute_force(wins: np.ndarray) -> None:
    result = count_cycles(wins)
    assert (result.cycles, result.triples) == _brute(wins)


@given(tournaments())
@settings(max_examples=100)
def test_the_cycles_named_are_the_cycles_there_are(wins: np.ndarray) -> None:
    named = cyclic_triples(wins)
    assert len(named) == len({frozenset(triple) for triple in named}) == count_cycles(wins).cycles
    assert all(wins[i, j] and wins[j, k] and wins[k, i] for i, j, k in named)


@given(tournaments(6), tournaments(6), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_rows_in_any_order_and_orientation_give_the_same_counts(
    one: np.ndarray, two: np.ndarray, random: object
) -> None:
    rows = []
    for doc, wins in (("one", one), ("two", two)):
        for i, j in combinations(range(len(wins)), 2):
            verdict = "A" if wins[i, j] else "B" if wins[j, i] else None
            if random.random() < 0.5:  # type: ignore[attr-defined]
                i, j, verdict = j, i, {"A": "B", "B": "A", None: None}[verdict]
            rows.append((doc, f"m{i}", f"m{j}", verdict))
    random.shuffle(rows)  # type: ignore[attr-defined]
    if not rows:
        return
    schema = {"doc_id": pl.String, "model_a": pl.String, "model_b": pl.String, "verdict": pl.String}
    [group] = diagnose_transitivity(
        pl.DataFrame(rows, schema=schema, orient="row"), replicates=2
    ).groups
    counts = [_brute(one), _brute(two)]
    assert group.cycles == sum(cycles for cycles, _ in counts)
    assert group.triples == sum(triples for _, triples in counts)
    rates = [cycles / triples for cycles, triples in counts if triples]
    assert sorted(group.rates) == sorted(rates)
    # A document without any answer does not count.
    answered = [wins for wins in (one, two) if wins.any()]
    assert group.decisive_edges + group.tied_edges + group.missing_edges == sum(
        len(wins) * (len(wins) - 1) // 2 for wins in answered
    )
