"""Estimators are objects: one more needs its file and a line of the registry, nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.estimation_rows import METHODS, paper

from adjudge.errors import ArgumentError
from adjudge.estimation import estimate, register_estimator
from adjudge.estimation.estimators import (
    all_estimators,
    find_estimator,
    known_estimator,
    unregister_estimator,
)
from adjudge.estimation.estimators.base import Estimator, Outcome, with_interval
from adjudge.estimation.rate import Estimate
from adjudge.estimation.sample import Sample, make_sample


class _Median(Estimator):
    """The middle of judge and people: no good estimator, but one that no file knows."""

    name = "middle"
    title = "middle rate"
    assumption = "errors of judge and people cancel"
    takes_shares = False

    def compute(self, sample: Sample, *, confidence_level: float) -> Outcome:
        people = float(sample.human[sample.labelled].mean())
        middle = (float(sample.judge[sample.test].mean()) + people) / 2
        return with_interval(middle, middle, 0.1, 0.05)


@pytest.fixture
def middle() -> Iterator[str]:
    register_estimator(_Median())
    yield "middle"
    unregister_estimator("middle")


def test_a_new_estimator_is_used_shown_and_compared(middle: str) -> None:
    result = paper(method=middle, labels_are_random=True)
    assert result.estimate == pytest.approx((0.55 + 0.5) / 2)
    assert result.assumptions[0] == "errors of judge and people cancel"
    assert "Middle rate 0.525, 95 % interval [0.425, 0.625] (middle, wald)" in str(result)
    others = paper()
    assert [a.method for a in others.alternatives][-1] == middle
    assert "errors of judge and people cancel" in others.explain()
    assert "middle" in others.figures()["rates"].draw().axes[0].get_yticklabels()[-2].get_text()


def test_its_properties_decide_what_it_is_refused_for(middle: str) -> None:
    with pytest.raises(ArgumentError, match="labels were picked by a plan"):
        estimate(
            {
                "judge": [1, 0] * 20,
                "human": [1, 0, None, None] * 10,
                "sampled_by": ["plan", "plan", None, None] * 10,
                "sampling_probability": [0.5, 0.5, None, None] * 10,
            },
            method=middle,
        )
    with pytest.raises(ArgumentError, match="is for method misclassification"):
        paper(method=middle, interval="profile")
    with pytest.raises(ArgumentError, match="profile"):
        find_estimator(middle).estimate_profile(
            make_sample([1], [1]), confidence_level=0.95, seed=0
        )
    rows = {"judge": [1] * 200 + [0] * 80, "human": [None] * 200 + [1] * 40 + [0] * 40}
    shifted = estimate(rows, method=middle, labels_are_random=True)
    assert isinstance(shifted, Estimate)
    assert any(text.startswith("label shift: ") for text in shifted.warnings)


def test_a_name_is_used_once(middle: str) -> None:
    with pytest.raises(ArgumentError, match="is in use"):
        register_estimator(_Median())


def test_a_result_of_an_estimator_that_is_not_installed_is_shown(middle: str) -> None:
    unregister_estimator(middle)
    assert known_estimator(middle) is Estimator
    assert known_estimator(middle).title == "corrected rate"
    register_estimator(_Median())


def test_every_estimator_says_what_it_assumes() -> None:
    assert tuple(estimator.name for estimator in all_estimators()) == METHODS
    for estimator in all_estimators():
        assert estimator.assumption
        assert estimator.assumes
        assert find_estimator(estimator.name) is estimator
