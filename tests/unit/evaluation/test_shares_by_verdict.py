"""Shares among the rows of one label, from labels drawn by verdict: by hand and by the formulas."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.evaluation.shares import RowsByVerdict
from adjudge.statistics.by_verdict import VerdictCounts, measure_by_verdict


def test_what_the_judge_passes_of_what_people_pass() -> None:
    """All 80 fails are labelled, 60 of 320 passes; 20 and 51 of these pass by people."""
    verdicts = np.repeat([1, 0], [320, 80])
    labels = np.full(400, -1)
    labels[:60] = np.repeat([1, 0], [51, 9])
    labels[320:] = np.repeat([1, 0], [20, 60])
    rows = RowsByVerdict(verdicts=verdicts, labels=labels, size=2)
    cells = np.zeros((3, 2), dtype=np.bool_)
    passed_by_judge, passed_by_people = cells.copy(), cells.copy()
    passed_by_judge[1] = True
    passed_by_people[:, 1] = True
    measured = rows.share(passed_by_judge, among=passed_by_people)
    by_hand = (320 / 400 * 51 / 60) / (320 / 400 * 51 / 60 + 80 / 400 * 20 / 80)
    assert measured.estimate == pytest.approx(by_hand)
    exact = measure_by_verdict(
        VerdictCounts(rows=80, labelled=80, ones=20),
        VerdictCounts(rows=320, labelled=60, ones=51),
    )["sensitivity"]
    assert measured.estimate == pytest.approx(exact.estimate)
    assert measured.interval is not None
    assert exact.interval is not None
    assert measured.interval.low == pytest.approx(exact.interval.low, abs=0.01)
    assert measured.interval.high == pytest.approx(exact.interval.high, abs=0.01)
