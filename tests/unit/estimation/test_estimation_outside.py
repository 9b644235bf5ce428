"""An interval wholly outside [0, 1] is a refusal, never the point 0 or 1."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.estimation import corrected_interval, estimate
from adjudge.estimation.estimators.base import Outcome, refuse_outside, with_interval
from adjudge.estimation.rate import Estimate

#: Sensitivity 0.8, specificity 0.7 on 200 labels; the judge calls 999 of 1000 test rows 1.
LABELLED = [1] * 80 + [0] * 20 + [1] * 30 + [0] * 70
PEOPLE = [1] * 100 + [0] * 100
JUDGE = LABELLED + [1] * 999 + [0]
HUMAN = PEOPLE + [None] * 1000
PAIRS = [f"p{i // 2}" for i in range(1200)]


def refused(**options: object) -> Estimate:
    options = {"judge": JUDGE, "human": HUMAN} | options
    result = estimate(**options)  # type: ignore[arg-type]
    assert isinstance(result, Estimate)
    assert result.estimate is result.low is result.high is result.standard_error is None
    assert "outside [0, 1]" in str(result.reason)
    assert "errors on these test rows differ from those on the labelled ones" in str(result.reason)
    return result


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"interval": "profile"},
        {"cluster": PAIRS},
        {"strata": ["one"] * 1200},
        {"sampling_probability": [0.2] * 200 + [None] * 1000, "method": "misclassification"},
        {"judge": [0.9 * v + 0.05 for v in JUDGE]},
        {"judge": [0.9 * v + 0.05 for v in JUDGE], "strata": ["one"] * 1200},
        # People say 1 on 60 % of the labels, the judge on 40 %: 1 + 0.2 on rows it all calls 1.
        {
            "judge": [1, 1, 0, 0, 0] * 40 + [1] * 999 + [0],
            "human": [1, 1, 1, 0, 0] * 40 + [None] * 1000,
        }
        | {"method": "difference"},
        {
            "judge": [1, 1, 0, 0, 0] * 40 + [1] * 999 + [0],
            "human": [1, 1, 1, 0, 0] * 40 + [None] * 1000,
        }
        | {"method": "ppi++"},
    ],
)
def test_every_path_refuses(options: dict[str, object]) -> None:
    refused(**options)


def test_the_other_estimators_still_show() -> None:
    others = {one.method: one for one in refused().alternatives}
    p = (999 + 110) / 1200
    assert others["conditional"].estimate == pytest.approx(p * 80 / 110 + (1 - p) * 20 / 90)
    assert others["naive"].estimate == refused().naive == 0.999


def test_one_impossible_stratum_refuses_the_whole_and_is_named() -> None:
    # The second stratum has an ordinary rate; half and half the mixture would look possible.
    second = LABELLED + [1, 0] * 500
    result = refused(
        judge=JUDGE + second,
        human=HUMAN + HUMAN,
        strata=["odd"] * 1200 + ["fine"] * 1200,
    )
    assert "1 of 2 strata have no estimate (odd: before clipping" in str(result.reason)


def test_classes_are_refused_together() -> None:
    names = np.array(["bad", "good"])
    human = [None if h is None else str(names[h]) for h in HUMAN]
    got = estimate(judge=names[JUDGE].tolist(), human=human)
    assert not got.estimated
    assert all(one.low is None and one.high is None for one in got.classes)
    assert "good 1.398" in got.reason


def test_part_of_the_interval_inside_is_clipped_not_refused() -> None:
    got = estimate(judge=LABELLED + [1] * 81 + [0] * 19, human=PEOPLE + [None] * 100)
    assert got.estimate == 1
    assert 0.5 < got.low < got.high == 1

    def settle(centre: float) -> Outcome:
        return refuse_outside(with_interval(centre, centre, 0.03, 0.015))

    assert settle(1.02).low == pytest.approx(0.99)
    assert settle(1.04).low is None
    assert settle(-0.04).high is None


def test_a_faultless_weighted_judge_is_not_certainty() -> None:
    got = estimate(
        judge=[1] * 40,
        human=[1] * 20 + [None] * 20,
        sampling_probability=[0.5] * 20 + [None] * 20,
        method="misclassification",
    )
    assert "human label 0" in got.reason
    sure = estimate(
        judge=[1] * 20 + [0] * 20,
        human=[1] * 20 + [0] * 20,
        sampling_probability=[1.0] * 40,
        method="misclassification",
    )
    assert sure.estimate == 0.5
    assert sure.low < 0.5 < sure.high


def test_the_array_function_clips_as_published() -> None:
    low, high, informative = corrected_interval(1.0, 0.7, 0.8, 1000, 100, 100)
    assert (float(low), float(high), bool(informative)) == (1.0, 1.0, True)
