"""The guarantees hold where the judge often says tie: its ties count as errors that come last."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from adjudge.selection import calibrate, select

ALPHA, DELTA, REPEATS = 0.2, 0.1, 150


def rows(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Right with probability p; three in ten rows are ties, which lean to one side all the same."""
    confidence = rng.uniform(0.5, 0.99, n)
    right = rng.random(n) < confidence
    tie = rng.random(n) < 0.3
    label = rng.choice(["A", "B"], n)
    p = np.where((label == "A") == right, confidence, 1 - confidence)
    p_tie = np.where(tie, 0.6, 0.01)
    p = np.clip(p, p_tie / 2, 1 - p_tie / 2)
    return pl.DataFrame({"id": range(n), "p_a": p, "p_tie": p_tie, "label": label.tolist()})


@pytest.mark.montecarlo
@pytest.mark.parametrize("guarantee", ["scope", "fdr", "pac"])
def test_error_share_among_the_accepted(guarantee: str) -> None:
    rng = np.random.default_rng(11)
    shares, accepted = [], 0
    for _ in range(REPEATS):
        policy = calibrate(rows(rng, 200), alpha=ALPHA, delta=DELTA, guarantee=guarantee)
        new = select(rows(rng, 20_000 if guarantee == "pac" else 400), policy).rows.filter(
            "accepted"
        )
        assert "tie" not in new["verdict"].to_list()
        wrong = (new["verdict"] != new["label"]).mean() if new.height else 0.0
        shares.append(float(wrong or 0.0))
        accepted += new.height
    assert accepted > 0
    if guarantee == "pac":
        # A batch of this size shows the threshold's own rate to within a hundredth.
        above = np.mean([share > ALPHA + 0.01 for share in shares])
        assert above <= DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / REPEATS)
    else:
        assert np.mean(shares) <= ALPHA + 3 * np.std(shares) / math.sqrt(REPEATS)
