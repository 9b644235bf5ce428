"""Published examples: Bradley-Terry of the 1987 baseball season, Schulze's own example."""

from __future__ import annotations

import numpy as np

from adjudge.ranking import bradley_terry, schulze

#: Wins of the row team over the column team, American League East 1987 (Agresti, Categorical Data
#: Analysis, table 10.10): Milwaukee, Detroit, Toronto, New York, Boston, Cleveland, Baltimore.
BASEBALL = [
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
]
#: Abilities relative to Baltimore, as published there and in the BradleyTerry2 vignette.
ABILITIES = [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]


def test_bradley_terry_of_the_baseball_season() -> None:
    theta = bradley_terry(BASEBALL, l2=0).theta
    np.testing.assert_allclose(theta - theta[-1], ABILITIES, atol=0.006)


def test_schulze_example_with_45_voters() -> None:
    # Pairwise preferences of Schulze's introductory example; the outcome is E > A > C > B > D.
    wins = [
        [0, 20, 26, 30, 22],
        [25, 0, 16, 33, 18],
        [19, 29, 0, 17, 24],
        [15, 12, 28, 0, 14],
        [23, 27, 21, 31, 0],
    ]
    assert schulze(wins).tolist() == [3.0, 1.0, 2.0, 0.0, 4.0]
