"""Numbers about all rows from labels drawn by verdict, and the tests that detect such a draw."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from adjudge.statistics.by_verdict import (
    MEASURES,
    VerdictCounts,
    accuracy,
    detect_draw,
    draw_tables,
    inflation,
    measure_by_verdict,
    measure_rows,
    p_within_verdicts,
    rate,
)
from adjudge.statistics.numbers import binomial_interval

FAILS = VerdictCounts(rows=80, labelled=80, ones=20)
PASSES = VerdictCounts(rows=320, labelled=64, ones=60)


def test_estimates_by_hand() -> None:
    measured = measure_by_verdict(FAILS, PASSES)
    ones = 0.2 * 20 / 80
    expected = {
        "rate": ones + 0.8 * 60 / 64,
        "accuracy": 0.2 * 60 / 80 + 0.8 * 60 / 64,
        "ppv": 60 / 64,
        "npv": 60 / 80,
        "sensitivity": 0.75 / (0.75 + ones),
        "specificity": 0.15 / (0.15 + 0.05),
    }
    assert {name: each.estimate for name, each in measured.items()} == pytest.approx(expected)
    assert all(each.estimate in each.interval for each in measured.values() if each.interval)


def test_the_interval_is_that_of_the_draws() -> None:
    """Against quantiles of the closed form, drawn with another generator."""
    rng = np.random.default_rng(5)
    share = rng.beta(320.5, 80.5, 400_000)
    low, high = np.quantile(
        share * rng.beta(60.5, 4.5, 400_000) + (1 - share) * rng.beta(20.5, 60.5, 400_000),
        [0.05, 0.95],
    )
    interval = measure_by_verdict(FAILS, PASSES, confidence_level=0.9)["rate"].interval
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.002)


def test_shares_of_one_verdict_are_exact() -> None:
    measured = measure_by_verdict(FAILS, PASSES)
    assert tuple(measured["ppv"].interval or ()) == binomial_interval(60, 64, 0.95)
    assert tuple(measured["npv"].interval or ()) == binomial_interval(60, 80, 0.95)


def test_a_verdict_without_labels_can_be_anything() -> None:
    measured = measure_by_verdict(FAILS, VerdictCounts(320, 0, 0))
    of_all = measured["rate"]
    assert of_all.estimate is None
    assert of_all.interval is not None
    least, most = of_all.interval
    fails = binomial_interval(20, 80, 0.95)
    assert least == pytest.approx(0.2 * fails[0], abs=0.02)
    assert most == pytest.approx(0.8 + 0.2 * fails[1], abs=0.05)
    assert measured["ppv"].estimate is None
    assert tuple(measured["ppv"].interval or ()) == (0, 1)
    assert measured["npv"].estimate == pytest.approx(0.75)


def test_a_verdict_that_is_never_given_needs_no_label() -> None:
    measured = measure_by_verdict(VerdictCounts(0, 0, 0), PASSES)
    assert measured["rate"].estimate == measured["accuracy"].estimate == 60 / 64
    assert measured["npv"].estimate is None


def test_three_verdicts() -> None:
    rows = np.array([50, 30, 20])
    labels = np.array([[20, 5, 0], [0, 10, 0], [2, 0, 8]])
    tables = draw_tables(rows, labels)
    of_all = tables.measure(accuracy)
    assert of_all.estimate == pytest.approx(0.5 * 0.8 + 0.3 + 0.2 * 0.8)
    assert tables.measure(lambda t: t[..., 2].sum(axis=-1)).estimate == pytest.approx(0.16)
    labels[1:] = 0
    assert tables.measure(accuracy).interval is not None
    labels[0] = 0
    assert draw_tables(rows, labels).measure(accuracy).interval is None


def test_clusters_widen_by_the_design_effect() -> None:
    """Ten equal rows in each cluster count as one."""
    rng = np.random.default_rng(0)
    verdicts = rng.integers(0, 2, 800)
    labels = np.where(rng.random(800) < 0.8, verdicts, 1 - verdicts)
    labels[480:] = -1
    codes = np.repeat(np.arange(800), 10)
    ten = np.repeat(verdicts, 10), np.repeat(labels, 10)
    for statistic in (rate, accuracy, MEASURES["sensitivity"]):
        wider = inflation(statistic, *ten, codes)
        one = inflation(statistic, verdicts, labels, np.arange(800))
        assert wider == pytest.approx(np.sqrt(10) * (one or 0), rel=0.005)
        assert one == pytest.approx(stats.t.ppf(0.975, 479) / stats.norm.ppf(0.975))
    assert inflation(rate, verdicts, labels, np.where(labels < 0, 0, 1)) is None


def test_clusters_without_variance_count_as_labels() -> None:
    ones = np.ones(40, dtype=np.int64)
    labels = np.where(np.arange(40) < 20, 1, -1)
    wider = inflation(rate, ones, labels, np.arange(40) // 5)
    assert wider == pytest.approx(np.sqrt(5) * stats.t.ppf(0.975, 3) / stats.norm.ppf(0.975))


def test_rows_are_counted() -> None:
    """The same from rows as from counts; clusters of one row change little, pairs widen."""
    verdicts = np.repeat([0, 1], [80, 320])
    labels = np.concatenate([np.repeat([1, 0], [20, 60]), np.repeat([1, 0, -1], [60, 4, 256])])
    of_rows = measure_rows(verdicts, labels)
    assert of_rows == measure_by_verdict(FAILS, PASSES)
    apart = measure_rows(verdicts, labels, np.arange(400))
    assert tuple(apart["rate"].interval or ()) == pytest.approx(
        tuple(of_rows["rate"].interval or ()), abs=0.002
    )
    twice = [np.repeat(values, 2) for values in (verdicts, labels, np.arange(400))]
    low, high = apart["accuracy"].interval or ()
    in_pairs = measure_rows(*twice)["accuracy"].interval
    assert in_pairs is not None
    assert in_pairs.high - in_pairs.low == pytest.approx(high - low, rel=0.05)
    one = measure_rows(verdicts, labels, np.zeros(400, dtype=np.int64))["rate"]
    assert (one.estimate, one.interval) == (of_rows["rate"].estimate, None)


def test_detects_all_fails_labelled() -> None:
    verdicts = np.repeat([0, 1], [68, 432])
    draw = detect_draw(verdicts, np.arange(500) < 68 + 93)
    assert draw.by_verdict
    assert draw.labelled == (68, 93)
    assert draw.rows == (68, 432)
    table = [[68, 0], [93, 339]]
    assert draw.p_value == pytest.approx(stats.fisher_exact(table).pvalue)
    even = detect_draw(verdicts, np.arange(500) % 4 == 0)
    assert not even.by_verdict


def test_one_of_three_verdicts_is_drawn_more_often() -> None:
    verdicts = np.repeat([0, 1, 2], 100)
    labelled = (np.arange(300) % 5 == 0) | (verdicts == 2)
    assert detect_draw(verdicts, labelled).by_verdict
    assert not detect_draw(verdicts, np.arange(300) % 5 == 0).by_verdict
    assert detect_draw(np.zeros(9, dtype=np.int64), np.arange(9) < 3).p_value == 1


def test_prompts_that_are_labelled_whole_are_no_draw_by_verdict() -> None:
    """Rows of a prompt are alike: by rows the test rejects, by clusters it does not."""
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(40), 20)
    verdicts = (rng.random(40) < 0.5).astype(np.int64)[codes]
    marked = np.zeros(40, dtype=bool)
    marked[np.flatnonzero(verdicts[::20] == 0)[:10]] = True
    marked[np.flatnonzero(verdicts[::20] == 1)[:6]] = True
    assert detect_draw(verdicts, marked[codes]).p_value < 1e-4
    assert detect_draw(verdicts, marked[codes], codes).p_value > 0.1


def test_a_draw_by_verdict_within_prompts_is_detected() -> None:
    codes = np.repeat(np.arange(50), 6)
    verdicts = np.tile([0, 0, 1, 1, 1, 1], 50)
    labelled = (verdicts == 0) & (codes < 25)
    assert detect_draw(verdicts, labelled, codes).by_verdict


def test_doubtful_rows_of_a_verdict() -> None:
    rng = np.random.default_rng(1)
    verdicts = np.repeat([0, 1], [100, 300])
    scores = rng.random(400)
    at_random = rng.random(400) < 0.3
    doubtful = rng.random(400) < np.where(scores < 0.5, 0.45, 0.05)
    assert p_within_verdicts(verdicts, at_random, scores) > 0.01
    assert p_within_verdicts(verdicts, doubtful, scores) < 0.01
    assert p_within_verdicts(verdicts, doubtful, scores, np.arange(400) // 2) < 0.01
    all_of_them = verdicts == 0
    assert p_within_verdicts(verdicts, all_of_them, scores) == 1
