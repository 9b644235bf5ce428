"""Wrong labels are at the top of the viewer's first order."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from adjudge.server.view_reading import read_viewing
from adjudge.server.viewing import Viewing
from adjudge.simulate.pairs import SimulatedJudge, simulate_pairs

N = 240
PLANTED = 8
#: The best judge is right on 85 % of the rows.
ACCURACIES = (0.85, 0.75, 0.65)


def ranks(seed: int, order: str) -> list[int]:
    """The ranks of labels that were turned over, in an order of the viewer."""
    pairs = simulate_pairs(N, seed=seed)
    rng = np.random.default_rng(seed)
    wrong = set(rng.choice(N, PLANTED, replace=False).tolist())
    labels = [_other(pair.label) if i in wrong else pair.label for i, pair in enumerate(pairs)]
    frames = []
    for number, accuracy in enumerate(ACCURACIES):
        judge = SimulatedJudge(
            accuracy=accuracy, position_bias=0.05, noise=0.3, seed=10 * seed + number
        )
        frames.append(
            pl.DataFrame(
                {
                    "id": [pair.id for pair in pairs],
                    "judge": f"judge {accuracy}",
                    "p_fwd": [judge.p_a(pair.id, pair.label, "ab") for pair in pairs],
                    "p_rev": [judge.p_a(pair.id, pair.label, "ba") for pair in pairs],
                    "label": labels,
                }
            )
        )
    viewing = read_viewing([pl.concat(frames)])
    listed = _listed(viewing, order)
    return [listed.index(pairs[i].id) + 1 for i in wrong]


def _other(label: str | None) -> str:
    return {"A": "B", "B": "A"}[str(label)]


def _listed(viewing: Viewing, order: str) -> list[str]:
    choice = viewing.usual
    assert choice.order == "jury"
    assert choice.judge == "judge 0.85"
    rows = viewing.judges[choice.judge]
    everything = np.ones(viewing.items.height, bool)
    at = viewing.listed(choice, everything) if order == "jury" else rows.order(order)
    return viewing.items["id"][at].to_list()


@pytest.mark.parametrize(
    ("order", "at_most", "at_least"), [("jury", 10, 1), ("disagreement", 25, 11)]
)
def test_planted_label_errors_are_at_the_top(order: str, at_most: int, at_least: int) -> None:
    # One judge of .85 that knows its own doubt is wrong on 36 of 240 rows: no order by it alone
    # can put errors of labels before all of its own.
    medians = [float(np.median(ranks(seed, order))) for seed in range(20)]
    assert at_least <= np.median(medians) <= at_most
