"""Labels that are shares of people: enough for a mean, too little for right and wrong."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.estimation_rows import METHODS

from adjudge import estimate, plan_rate
from adjudge.errors import DataError
from adjudge.estimation.estimators.ppi import PPI
from adjudge.estimation.sample import make_sample
from adjudge.present.text import percent

JUDGE = [1, 0, 1, 1, 0, 1] * 20
HUMAN = [0.7, 0.2, 1, 0.9, 0, None] * 20
ROWS = {"judge": JUDGE, "human": HUMAN}


@pytest.mark.parametrize("method", ["ppi++", "difference", "human-only", "naive"])
def test_means_take_shares(method: str) -> None:
    got = estimate(ROWS, method=method, labels_are_random=True)
    labelled = [(j, h) for j, h in zip(JUDGE, HUMAN, strict=True) if h is not None]
    x, z = (np.array(side, dtype=float) for side in zip(*labelled, strict=True))
    expected = {"difference": 1 + (z - x).mean(), "human-only": z.mean(), "naive": 2 / 3}
    if method in expected:
        assert got.estimate == pytest.approx(expected[method])
    assert got.low < got.high
    assert got.interval_method == ("exact" if method == "naive" else "wald")
    assert got.sensitivity is None
    assert got.n_calibration == 100
    assert any("shares of people" in text for text in got.warnings)


def test_shares_of_zero_and_one_are_labels() -> None:
    whole = {"judge": JUDGE, "human": [None if h is None else round(h) for h in HUMAN]}
    graded = {"judge": JUDGE, "human": [None if h is None else str(float(round(h))) for h in HUMAN]}
    assert estimate(graded).to_dict() == estimate(whole).to_dict()


def test_auto_takes_a_mean_where_labels_are_random() -> None:
    got = estimate(ROWS, labels_are_random=True)
    assert got.method == "ppi++"
    assert "are shares of people, which have only means" in got.why
    refused = {one.method: one.reason for one in got.alternatives}
    assert refused["misclassification"] == refused["conditional"] == "labels are shares of people"


@pytest.mark.parametrize("method", ["auto", "misclassification", "conditional"])
def test_the_refusal_names_the_column_of_people(method: str) -> None:
    with pytest.raises(DataError) as caught:
        estimate(ROWS, method=method)
    text = str(caught.value)
    assert text.startswith("the dict of columns, column human: 0.7 is a share of people, but ")
    assert text.endswith("their means are enough: --method ppi++ (method=)")


def test_plans_refuse_them_and_several_judges_take_them() -> None:
    with pytest.raises(DataError, match="column human: 0.7 is a share of people, but a plan needs"):
        plan_rate(ROWS, width=0.2)
    two = {**ROWS, "other": JUDGE}
    both = estimate(two, judges=["judge", "other"], labels_are_random=True)
    assert both.estimate == estimate(ROWS, method="ppi++", labels_are_random=True).estimate


def test_numbers_beyond_one_are_blamed_on_their_own_column() -> None:
    with pytest.raises(DataError, match=r"row 2, column human: 3.5 is neither 0/1"):
        estimate({"judge": [1, 0], "human": [1, 3.5]})
    with pytest.raises(DataError, match=r"row 2, column judge: inf is neither 0/1.* nor a class"):
        estimate({"judge": ["1", "Infinity", "0"], "human": ["1", "0", None]})
    with pytest.raises(DataError, match=r"row 1, column judge: 3.5 is neither 0/1"):
        estimate({"judge": [3.5, 0], "human": [1, 0]})


def test_the_interval_of_shares_covers() -> None:
    """300 samples, 60 labels of three raters each: within four standard errors of 95 %."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        quality = rng.random(260)
        judge = (quality + rng.normal(0, 0.3, 260) > 0.5).astype(float)
        people = rng.binomial(3, quality) / 3
        human = [share if i < 60 else None for i, share in enumerate(people)]
        got = PPI.compute(make_sample(judge, human))
        held += got.low <= 0.5 <= got.high
    assert held / 300 > 0.95 - 4 * (0.95 * 0.05 / 300) ** 0.5, percent(held / 300)


def test_every_method_is_one_or_the_other() -> None:
    means = {"ppi++", "difference", "human-only", "naive"}
    assert set(METHODS) - means == {"misclassification", "conditional"}
