"""Labels drawn by verdict in `estimate`: stated, detected, refused; a verdict without a label."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge import calibrate, estimate
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import ClassEstimate, Estimate, GroupedEstimate
from adjudge.statistics.by_verdict import VerdictCounts, measure_by_verdict
from adjudge.statistics.clusters import share_interval
from adjudge.statistics.numbers import binomial_interval

#: All 60 fails and 80 of 340 passes have a label; people pass 12 of the fails, 76 of these passes.
VERDICTS = [0] * 60 + [1] * 340
HUMAN = [1] * 12 + [0] * 48 + [1] * 76 + [0] * 4 + [None] * 260
ROWS: dict[str, Any] = {"judge": VERDICTS, "human": HUMAN}
RATE = 0.15 * 12 / 60 + 0.85 * 76 / 80


def stated(rows: dict[str, Any] = ROWS, **options: Any) -> Estimate:
    result = estimate(rows, labels_by_verdict=True, **options)
    assert isinstance(result, Estimate)
    return result


def test_every_number_is_about_all_rows() -> None:
    got = stated()
    measured = measure_by_verdict(VerdictCounts(60, 60, 12), VerdictCounts(340, 80, 76))
    assert (got.method, got.interval_method) == ("conditional", "jeffreys")
    assert got.estimate == pytest.approx(RATE)
    assert got.interval == measured["rate"].interval
    assert got.naive == 0.85
    assert got.sensitivity == pytest.approx(measured["sensitivity"].estimate)
    assert got.specificity_interval == measured["specificity"].interval
    assert (got.n, got.n_labels, got.n_test) == (400, 140, 400)
    assert got.rows_about == "all 400 rows"
    assert got.label_shift is None
    # The exact interval for these rows needs random labels within a verdict only.
    random = estimate(ROWS, labels_are_random=True)
    assert got.rows_interval == random.rows_interval
    assert random.estimate == pytest.approx(RATE)
    assert random.naive == 0.85


def test_the_other_methods_are_refused_by_name() -> None:
    got = stated()
    reasons = {other.method: other.reason for other in got.alternatives}
    usable = {name for name, reason in reasons.items() if reason is None}
    assert usable == {"naive"}
    assert {reasons[name] for name in reasons.keys() - usable} == {"labels were drawn by verdict"}
    for method in ("misclassification", "ppi++", "difference", "human-only"):
        with pytest.raises(ArgumentError, match=f"{method}.*drawn by verdict: only conditional"):
            stated(method=method)
    assert stated(method="naive").estimate == 0.85
    with pytest.raises(ArgumentError, match="leave out --interval profile"):
        stated(interval="profile")
    with pytest.raises(ArgumentError, match="leave out --strata"):
        stated(strata=["s"] * 400)
    with pytest.raises(ArgumentError, match="at random or by verdict: give one of the two"):
        stated(labels_are_random=True)
    scores = {"judge": [1, 2, 3, 4, 5] * 80, "human": [1, 2, 3, 4, None] * 80}
    with pytest.raises(ArgumentError, match="labels_by_verdict = True: is for rates"):
        estimate(scores, labels_by_verdict=True)


def test_such_labels_are_detected() -> None:
    """All fails are labelled: only passes are left to test, and no method can use the labels."""
    cause = "labelled: 60 of 60 rows of verdict 0, 80 of 340 of verdict 1"
    for method in ("auto", "ppi++", "conditional", "human-only"):
        got = estimate(ROWS, method=method)
        assert got.estimate is got.interval is None
        assert str(got.reason).startswith(cause)
        assert "--labels-by-verdict" in str(got.reason)
    assert estimate(ROWS, method="naive").estimate == 1


def test_twice_as_many_fails_give_a_warning_with_the_other_number() -> None:
    """By human class they could look like this: misclassification stays."""
    human = [None if row % 5 < 2 else label for row, label in enumerate(HUMAN[:60])] + HUMAN[60:]
    rows = {"judge": VERDICTS, "human": human}
    got = estimate(rows)
    assert got.method == "misclassification"
    assert got.estimate is not None
    warning = got.warnings[0]
    assert warning.startswith("labelled: 36 of 60 rows of verdict 0, 80 of 340 of verdict 1")
    assert f"gives {stated(rows).text}" in warning
    even = {"judge": VERDICTS, "human": HUMAN[:24] + [None] * 36 + HUMAN[60:]}
    assert not any("labelled:" in text for text in estimate(even).warnings)


def test_recorded_labels_must_be_stated() -> None:
    drawn = [None if label is None else "verdict" for label in HUMAN]
    rows = {**ROWS, "sampled_by": drawn}
    with pytest.raises(DataError, match="were sampled by verdict; state it.*--labels-by-verdict"):
        estimate(rows)
    assert stated(rows).estimate == pytest.approx(RATE)
    mixed = {**ROWS, "sampled_by": ["random" if d and i % 2 else d for i, d in enumerate(drawn)]}
    assert stated(mixed).n_labels == 140
    chances = [0.5 if label is not None else None for label in HUMAN]
    with pytest.raises(DataError, match="probability of each label, which says more"):
        stated({**ROWS, "sampling_probability": chances})


def test_calibrate_refuses_them_or_counts_them() -> None:
    rows = pl.DataFrame(
        {"id": range(200), "p_a": [0.9, 0.2] * 100, "label": ["A", "B"] * 100}
    ).with_columns(sampled_by=pl.lit("verdict"))
    with pytest.raises(DataError, match="200 labels were sampled by verdict"):
        calibrate(rows, alpha=0.1)
    half = rows.with_columns(
        sampled_by=pl.when(pl.col("id") < 100).then(pl.lit("random")).otherwise("sampled_by")
    )
    policy = calibrate(half, alpha=0.1)
    assert policy.n_calibration == 100
    assert policy.dropped["label sampled by verdict: not used, its row is unlabelled"] == 100


def test_doubtful_rows_within_a_verdict_are_refused() -> None:
    surer = np.linspace(0.51, 0.99, 340)
    doubtful = {**ROWS, "p_pass": [0.2] * 60 + surer.tolist()}
    with pytest.raises(DataError, match="other scores of the judge.*sampling_probability"):
        stated(doubtful)
    rng = np.random.default_rng(0)
    at_random = {**ROWS, "p_pass": [0.2] * 60 + rng.permutation(surer).tolist()}
    assert stated(at_random).estimate == pytest.approx(RATE)
    probabilities = {"judge": at_random["p_pass"], "human": HUMAN}
    assert stated(probabilities).interval == stated().interval
    probabilities["judge"] = [0.5, *at_random["p_pass"][1:]]
    with pytest.raises(DataError, match="1 row has the probability 0.5: neither 0 nor 1"):
        stated(probabilities)


def test_clusters_have_the_sandwich() -> None:
    twice = {name: [value for value in values for _ in "ab"] for name, values in ROWS.items()}
    one = stated()
    pairs = stated({**twice, "prompt": [i // 2 for i in range(800)]}, cluster="prompt")
    assert pairs.interval_method == "wald"
    assert pairs.estimate == pytest.approx(RATE)
    assert pairs.width == pytest.approx(one.width, rel=0.1)
    assert pairs.sensitivity_interval is not None


def test_groups_have_their_own_verdicts() -> None:
    rows = {name: [*values, *values] for name, values in ROWS.items()}
    rows["human"] = [*HUMAN, *[None] * 60, *HUMAN[60:]]
    got = estimate(rows, by=["a"] * 400 + ["b"] * 400, labels_by_verdict=True)
    assert isinstance(got, GroupedEstimate)
    a, b = got.rates
    assert (a.estimate, a.interval, a.n) == (pytest.approx(RATE), stated().interval, 400)
    assert (b.estimate, b.naive) == (None, 0.85)
    low, high = binomial_interval(76, 80, 0.95)
    assert tuple(b.interval or ()) == pytest.approx((0.85 * low, 0.85 * high + 0.15))


def test_classes_count_with_their_share() -> None:
    judge = ["A"] * 100 + ["B"] * 60 + ["tie"] * 40
    human = ["A"] * 20 + ["B"] * 5 + [None] * 75 + ["B"] * 30 + [None] * 30
    human += ["tie"] * 30 + ["A"] * 10
    got = estimate({"judge": judge, "human": human}, labels_by_verdict=True)
    assert isinstance(got, ClassEstimate)
    shares = {rate.label: rate for rate in got.classes}
    assert shares["A"].estimate == pytest.approx(0.5 * 0.8 + 0.2 * 0.25)
    assert shares["B"].estimate == pytest.approx(0.5 * 0.2 + 0.3)
    assert shares["B"].recall == pytest.approx(0.3 / 0.4)
    assert shares["tie"].naive == 0.2
    assert all(rate.estimate in rate.interval for rate in got.classes)
    assert (got.n, got.n_labels) == (200, 95)
    with pytest.raises(ArgumentError, match="3 verdicts can be drawn at 3 rates"):
        estimate({"judge": judge, "human": human}, labels_by_verdict=True, positive="tie")
    without = [*human[:100], *[None] * 60, *human[160:]]
    bounds = estimate({"judge": judge, "human": without}, labels_by_verdict=True)
    assert bounds.estimated
    assert all(rate.estimate is None and rate.interval is not None for rate in bounds.classes)


# --- a verdict without a label ---


def test_a_unbalanced_judge_has_an_interval_without_an_estimate() -> None:
    """3 % of the verdicts are 0, and none has a label: h_0 in [0, 1], h_1 exact."""
    judge = [1] * 291 + [0] * 9
    human = [1] * 17 + [0] * 3 + [None] * 280
    got = estimate(judge=judge, human=human, labels_are_random=True)
    low, high = binomial_interval(17, 20, 0.95)
    assert (got.method, got.estimate) == ("conditional", None)
    assert tuple(got.interval or ()) == pytest.approx((0.97 * low, 0.97 * high + 0.03))
    assert got.estimated
    [rate] = got.intervals()
    assert rate.interval == got.interval
    text = str(got)
    assert text.startswith(f"People's rate: 95 % interval {got.text}, without a point estimate")
    assert (
        "The judge says 0 on 3 % of the rows, but no row of that verdict has a human label" in text
    )
    clusters = [i // 2 for i in range(300)]
    by_prompt = estimate(judge=judge, human=human, labels_are_random=True, cluster=clusters)
    people = np.array(human[:20], dtype=float)
    ends = share_interval(people, np.array(clusters[:20]), 0.95)
    assert ends is not None
    assert by_prompt.low == pytest.approx(0.97 * (ends.low or 0))


def test_groups_show_it_in_the_table_and_the_picture() -> None:
    judge = [1] * 291 + [0] * 9 + [1, 0] * 150
    human = [1] * 17 + [0] * 3 + [None] * 280 + [1, 0] * 20 + [None] * 260
    got = estimate(
        judge=judge, human=human, by=["unbalanced"] * 300 + ["fair"] * 300, labels_are_random=True
    )
    assert isinstance(got, GroupedEstimate)
    assert got.refused == ()
    shown = got.rates[0].text
    assert shown.startswith("[")
    assert f"unbalanced {shown}" in str(got)
    row = next(line for line in str(got).splitlines() if line.split()[:1] == ["unbalanced"])
    assert row.split()[1] == "–"
    assert shown in row
    figure = got.plot()
    lines = [line.get_xdata() for line in figure.axes[0].lines]
    assert any(list(ends) == pytest.approx(list(got.rates[0].interval or ())) for ends in lines)


def test_no_label_at_all_is_still_no_number() -> None:
    got = estimate(judge=[1, 0] * 20, human=[None] * 40, method="conditional")
    assert got.interval is None
    all_ones = estimate(judge=[1] * 20 + [0] * 20, human=[None] * 20 + [1, 0] * 10)
    assert all_ones.estimate is None


# --- the rows that are meant ---


def test_nearly_every_row_has_a_label() -> None:
    """35 of 40 outputs have a thumb up: people's rate, and how far the other five could move it."""
    got = estimate(judge=[1] * 40, human=[1] * 35 + [None] * 5)
    assert (got.method, got.estimate) == ("human-only", 1)
    assert tuple(got.interval or ()) == binomial_interval(35, 35, 0.95)
    assert "35 of 40 rows have a label" in got.why
    least = "the rate of all 40 rows is from 0.875 to 1.000"
    assert f"5 rows have no label: whatever people say there, {least}" in str(got)
    assert estimate(judge=[1] * 45, human=[1] * 35 + [None] * 10).method == "misclassification"
    random = estimate(judge=[1] * 40, human=[1] * 35 + [None] * 5, labels_are_random=True)
    assert random.method == "conditional"


def test_the_judges_own_rate_is_of_the_rows_that_the_rate_is_about() -> None:
    judge = [1] * 30 + [0] * 20 + [1] * 80 + [0] * 70
    human = [1] * 25 + [0] * 20 + [1] * 5 + [None] * 150
    unknown = estimate(judge=judge, human=human)
    random = estimate(judge=judge, human=human, labels_are_random=True)
    assert (unknown.naive, unknown.rows_about) == (80 / 150, "the 150 unlabelled rows")
    assert (random.naive, random.rows_about) == (0.55, "all 200 rows")
    for result in (unknown, random):
        assert f"of {result.rows_about}, not corrected" in result.explain()
        [naive] = [other for other in result.alternatives if other.method == "naive"]
        assert naive.estimate == result.naive
    labelled = estimate(judge=judge[:50], human=human[:50])
    assert (labelled.naive, labelled.rows_about) == (0.6, "all 50 rows")
