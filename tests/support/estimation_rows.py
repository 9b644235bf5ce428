"""The reporting paper's case as rows, for tests of the estimation room."""

from __future__ import annotations

from typing import Any

from adjudge.estimation import estimate
from adjudge.estimation.estimators import all_estimators
from adjudge.estimation.rate import Estimate

#: 1000 test rows with 550 verdicts of 1; 100 labels a class, q0 = 0.7, q1 = 0.9: the paper's case.
JUDGE = [1] * 550 + [0] * 450 + [0] * 70 + [1] * 30 + [1] * 90 + [0] * 10
HUMAN = [None] * 1000 + [0] * 100 + [1] * 100

METHODS = tuple(estimator.name for estimator in all_estimators())


def paper(**options: Any) -> Estimate:
    result: Estimate = estimate(judge=JUDGE, human=HUMAN, **options)
    assert isinstance(result, Estimate)
    return result
