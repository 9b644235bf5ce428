"""Ties under pac: a finer doubt orders them; where a lot decides, the policy says how much."""

from __future__ import annotations

import numpy as np
import polars as pl

from adjudge.policy.result import Policy
from adjudge.selection import calibrate, evaluate_doubt
from adjudge.selection.rules import finer_doubt
from adjudge.selection.thresholds import order_by_lot
from adjudge.selection.verifying import contradictions


def tied_rows(seed: int, n: int = 160) -> pl.DataFrame:
    """Verdicts whose doubt has two values; the scores behind it have many."""
    rng = np.random.default_rng(seed)
    gap = rng.uniform(0, 10, n)
    wrong = rng.random(n) < 0.2 * np.exp(-gap / 4)
    return pl.DataFrame(
        {
            "id": range(n),
            "p_a": np.where(gap > 2, 0.99, 0.9),
            "uncertainty": np.where(gap > 2, 0.0, 1.0),
            "score_a": gap + 1,
            "score_b": 1.0,
            "label": np.where(wrong, "B", "A"),
        }
    )


def by_seed(rows: pl.DataFrame) -> list[Policy]:
    return [calibrate(rows, alpha=0.1, guarantee="pac", seed=seed) for seed in range(12)]


def lots(policy: Policy) -> list[str]:
    return [line for line in policy.warnings if "rows with equal doubt are in random order" in line]


def test_a_finer_doubt_leaves_nothing_to_the_lot() -> None:
    for seed in range(6):
        policies = by_seed(tied_rows(seed))
        assert len({(policy.accepts, policy.threshold) for policy in policies}) == 1
        assert not any(map(lots, policies))
        assert not list(contradictions(policies[0], source="policy"))


def test_without_one_the_policy_says_how_much_the_lot_decides() -> None:
    rows = tied_rows(1).drop("score_a", "score_b").with_columns(p_a=pl.lit(0.9))
    policies = by_seed(rows)
    coverages = {policy.coverage for policy in policies}
    assert len(coverages) > 1
    [line] = lots(policies[0])
    assert line == (
        "labelled rows with equal doubt are in random order (seed 0), which decides what pac "
        "accepts: over 20 other orders 0 % to 82.5 % of the labels, 4.1 % on average; do not "
        "choose the seed by it, use a finer doubt"
    )
    assert not lots(calibrate(rows, alpha=0.1))  # scope does not depend on it


def test_the_finer_doubt_is_the_score_gap_then_the_less_sure_order_then_p_a() -> None:
    rows = pl.DataFrame({"p_a": [0.9, 0.9], "p_fwd": [0.9, 1.0], "p_rev": [0.9, 0.8]})
    scored = rows.with_columns(score_a=pl.Series([1, 5]), score_b=pl.Series([2, 2]))
    assert finer_doubt(scored).tolist() == [-1.0, -3.0]
    sure, torn = finer_doubt(rows).tolist()
    assert sure < torn
    assert len(set(finer_doubt(rows.select("p_a")).tolist())) == 1
    assert finer_doubt(pl.DataFrame({"p_a": [0.9, None]})) is None


def test_ties_are_ordered_by_the_finer_doubt_and_the_rest_by_lot() -> None:
    scores, finer = np.array([1.0, 0.0, 1.0, 1.0]), np.array([2.0, 9.0, 1.0, 2.0])
    seen = {tuple(order_by_lot(scores, seed, finer).rows.tolist()) for seed in range(20)}
    assert seen == {(1, 2, 0, 3), (1, 2, 3, 0)}


def test_evaluate_orders_ties_by_the_finer_doubt_too() -> None:
    rows = tied_rows(1, n=400)
    known, by_lot = (
        evaluate_doubt(frame, splits=100, alphas=[0.1], methods=["pac", "scope"]).methods
        for frame in (rows, rows.drop("score_a", "score_b").with_columns(p_a=pl.lit(0.9)))
    )
    assert [m.coverage for m in known if m.method == "scope"] == [
        m.coverage for m in by_lot if m.method == "scope"
    ]
    assert known[0].method == by_lot[0].method == "pac"
    assert known[0].coverage != by_lot[0].coverage
