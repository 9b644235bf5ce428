"""Cycles of one tournament."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.diagnosis import count_cycles, cyclic_triples
from adjudge.errors import ArgumentError


def test_a_transitive_order_has_no_cycle() -> None:
    found = count_cycles(np.triu(np.ones((8, 8)), 1))
    assert (found.cycles, found.triples, found.complete, found.rate) == (0, 56, True, 0.0)


def test_the_regular_tournament_has_the_most_cycles_there_can_be() -> None:
    # Each of 7 models beats the next three in the circle: (n^3 - n) / 24 cycles.
    wins = np.array([[(j - i) % 7 in (1, 2, 3) for j in range(7)] for i in range(7)])
    assert count_cycles(wins).cycles == (7**3 - 7) // 24


def test_a_tied_or_missing_edge_takes_its_triples_out() -> None:
    wins = np.array([[0, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 0, 0, 0]])
    assert count_cycles(wins).triples == 4
    wins[0, 1] = 0
    found = count_cycles(wins)
    assert (found.cycles, found.triples, found.complete) == (0, 2, False)


def test_without_a_decisive_triple_there_is_no_rate() -> None:
    assert count_cycles(np.zeros((3, 3))).rate is None
    assert count_cycles(np.zeros((0, 0))).triples == 0


def test_closed_form_and_matrix_form_agree_on_a_large_tournament() -> None:
    rng = np.random.default_rng(5)
    upper = np.triu(rng.random((150, 150)) < 0.5, 1)
    wins = upper | np.tril(~upper.T, -1)
    whole = count_cycles(wins)
    # Taking one model's edges out one by one must end at the tournament of the others.
    gone = wins.copy()
    gone[0, :] = gone[:, 0] = False
    assert count_cycles(gone).cycles == count_cycles(wins[1:, 1:]).cycles
    assert count_cycles(gone).triples == count_cycles(wins[1:, 1:]).triples
    assert whole.complete
    assert not count_cycles(gone).complete


def test_cycles_are_named_the_surest_first() -> None:
    wins = np.zeros((4, 4), dtype=bool)
    for i, j in ((0, 1), (1, 2), (2, 0), (1, 3), (3, 0), (2, 3)):
        wins[i, j] = True
    sure = np.full((4, 4), 0.6)
    sure[0, 1] = sure[1, 3] = sure[3, 0] = 0.9
    assert cyclic_triples(wins, sure) == [(0, 1, 3), (0, 1, 2)]
    assert len(cyclic_triples(wins, limit=1)) == 1


@pytest.mark.parametrize(
    ("wins", "says"),
    [
        (np.zeros((2, 3)), "square"),
        ([[0, 2], [0, 0]], "0 or 1"),
        ([[1, 0], [0, 0]], "cannot beat itself"),
        ([[0, 1], [1, 0]], "combine the verdicts"),
    ],
)
def test_what_is_no_tournament_is_refused(wins: object, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        count_cycles(wins)  # type: ignore[arg-type]  # the check at the door is what is tested
