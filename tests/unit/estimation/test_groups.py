"""Many groups at once: the same results as one group at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.estimation_rows import METHODS

from adjudge.estimation import estimate
from adjudge.estimation.estimators import find_estimator
from adjudge.estimation.exact_interval import (
    VerdictCounts,
    intervals_of,
    rows_interval,
)
from adjudge.estimation.rate import Request, estimate_rate, exact_intervals
from adjudge.estimation.sample import Sample, make_sample
from adjudge.statistics.numbers import fisher_exact

GROUPS = 24


def draw(scale: str, seed: int) -> tuple[Sample, np.ndarray]:
    """Rows in 24 groups: some without labels, test rows, rows, variation or one of the classes."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(GROUPS), rng.integers(1, 60, GROUPS)))
    groups[groups == 5] = 6
    truth = (rng.random(len(groups)) < 0.6).astype(float)
    judge = np.where(rng.random(len(groups)) < 0.85, truth, 1 - truth)
    if scale != "verdicts":
        judge = np.clip(judge * 0.7 + rng.random(len(groups)) * 0.3, 0, 1)
        judge[groups == 7] = 0.3
        judge[groups == 8] = rng.integers(0, 2, (groups == 8).sum())
    if scale == "shares":
        truth = np.round(truth * 0.8 + rng.random(len(groups)) * 0.2, 1)
    labelled = rng.random(len(groups)) < np.where(groups % 2, 0.2, 0.6)
    labelled[groups == 1], labelled[groups == 2] = False, True
    human = np.where(labelled, truth, np.nan)
    human[(groups == 3) & (truth < 1)] = np.nan
    human[(groups == 4) & (truth > 0)] = np.nan
    return make_sample(judge, human), groups


def same(left: Any, right: Any) -> None:
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for name in left:
            same(left[name], right[name])
    elif isinstance(left, list):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            same(one, other)
    elif isinstance(left, float):
        assert left == pytest.approx(right, rel=1e-9, abs=1e-12)
    else:
        assert left == right


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("drawn", ["unknown", "declared"])
@pytest.mark.parametrize("scale", ["verdicts", "probabilities", "shares"])
@pytest.mark.parametrize("method", METHODS)
def test_all_groups_at_once_give_what_each_gives_alone(
    method: str, scale: str, drawn: Any, pool: bool
) -> None:
    estimator = find_estimator(method)
    if scale == "shares" and not estimator.takes_shares:
        return
    sample, groups = draw(scale, seed=len(method))
    request = Request(
        estimator=estimator,
        why="",
        labels_drawn=drawn,
        interval="wald",
        confidence_level=0.95,
        pool=pool,
    )
    sample = replace(sample, random=request.random_labels)
    together = [part for block in sample.split(groups, GROUPS, pool=pool) for part in block]
    exact = exact_intervals(together, request)
    apart = [part for block in sample.split(groups, GROUPS) for part in block]
    assert len(together) == GROUPS
    for code, part in enumerate(together):
        members = groups == code
        rows = sample.restrict(members, calibration=np.ones_like(members) if pool else None)
        got = estimate_rate(
            part,
            request,
            checks=GROUPS,
            unpooled=apart[code] if pool else None,
            exact=exact[code],
        )
        alone = estimate_rate(
            rows,
            request,
            checks=GROUPS,
            unpooled=sample.restrict(members) if pool else None,
            exact=exact_intervals([rows], request)[0],
        )
        same(got.to_dict(), alone.to_dict())


@pytest.mark.parametrize("method", METHODS)
def test_a_group_of_a_table_has_the_numbers_of_its_rows_alone(method: str) -> None:
    sample, groups = draw("verdicts", seed=3)
    human = np.where(sample.labelled, sample.human, np.nan)
    options: Any = {"method": method, "labels_are_random": True}
    together = estimate(judge=sample.judge, human=human, by=groups.astype(str), **options)
    for got in together.groups:
        rows = groups.astype(str) == got.group
        if np.isnan(human[rows]).all():
            continue
        alone = estimate(judge=sample.judge[rows], human=human[rows], **options)
        assert got.reason == alone.reason
        same([got.estimate, *(got.interval or ())], [alone.estimate, *(alone.interval or ())])
        same(*([[a.estimate, a.reason] for a in r.alternatives] for r in (got, alone)))


@pytest.mark.parametrize("option", ["clusters", "strata", "weights"])
def test_dependent_rows_are_cut_into_groups(option: str) -> None:
    sample, groups = draw("probabilities", seed=4)
    codes = np.arange(len(groups)) // 3
    values: dict[str, Any] = {
        "clusters": {"clusters": codes},
        "strata": {"strata": codes % 2, "strata_names": ("a", "b")},
        "weights": {"weights": np.where(sample.labelled, 2.0, np.nan)},
    }
    sample = replace(sample, **values[option])
    estimator = find_estimator("misclassification")
    for code, (part,) in enumerate(sample.split(groups, GROUPS)):
        rows = sample.restrict(groups == code)
        got, alone = (estimator.estimate(s, confidence_level=0.95) for s in (part, rows))
        assert (part.scale, part.n, part.m) == ("probability", rows.n, rows.m)
        assert (got.reason, got.warnings) == (alone.reason, alone.warnings)
        same([got.estimate, got.low, got.high], [alone.estimate, alone.low, alone.high])


def test_an_estimator_of_a_package_can_read_the_rows_of_a_group() -> None:
    sample, groups = draw("verdicts", seed=5)
    for pool in (False, True):
        parts = [part for block in sample.split(groups, GROUPS, pool=pool) for part in block]
        for code, part in enumerate(parts):
            mine = groups == code
            assert sorted(part.judge[part.test]) == sorted(sample.judge[sample.test & mine])
            labelled = sample.labelled if pool else sample.labelled & mine
            assert sorted(part.human[part.labelled]) == sorted(sample.human[labelled])


def test_exact_intervals_of_many_samples_are_those_of_each() -> None:
    sample, groups = draw("verdicts", seed=6)
    parts = [part for block in sample.split(groups, GROUPS) for part in block]
    for part, ends in zip(parts, intervals_of(parts, confidence_level=0.9), strict=True):
        assert [ends] == intervals_of([part], confidence_level=0.9)
    sizes = [(VerdictCounts(0, 0, 0), VerdictCounts(9, 3, 1)), (VerdictCounts(9, 9, 2),) * 2]
    assert [rows_interval(*counts) for counts in sizes] == [(1 / 9, 7 / 9), (2 / 9, 2 / 9)]


def test_equal_probabilities_are_not_certainty() -> None:
    """Ten times 0.3 sums to 2.9999999999999996: rounding is no variance."""
    got = estimate(judge=[0.3] * 10 + [0.3, 0.9], human=[None] * 10 + [0, 1], method="naive")
    assert got.naive == 0.3
    assert got.naive_interval.high - got.naive_interval.low > 0.4
    shift = estimate(judge=[0.3] * 16 + [0.7], human=[None] * 10 + [0, 1] * 3 + [None])
    assert shift.label_shift.p_value is not None


@pytest.mark.parametrize("seed", range(40))
def test_fishers_p_value_is_that_of_scipy(seed: int) -> None:
    from scipy import stats

    rng = np.random.default_rng(seed)
    size, other = (int(n) for n in rng.integers(1, 10 ** rng.integers(1, 5), 2))
    ones, other_ones = int(rng.integers(0, size + 1)), int(rng.integers(0, other + 1))
    table = [[ones, size - ones], [other_ones, other - other_ones]]
    expected = stats.fisher_exact(table).pvalue
    assert fisher_exact(ones, size, other_ones, other) == pytest.approx(expected, abs=1e-9)


def test_many_groups_are_counted_not_listed() -> None:
    rng = np.random.default_rng(0)
    names = np.repeat([f"g{code:03d}" for code in range(200)], 20)
    human = np.where(np.arange(4000) % 20 < 8, rng.integers(0, 2, 4000), np.nan)
    got = estimate(judge=rng.integers(0, 2, 4000), human=human, by=names, method="human-only")
    shown = " ".join(str(got).split())
    assert "g059" in shown
    assert "g060" not in shown
    assert "140 more groups in the result: -o FILE.json keeps all" in shown
    assert len(got.to_dict()["groups"]) == len(got.to_frame()) == 200
    assert "the first 60 of 200 groups" in got.plot().axes[0].get_title(loc="left")
    none = estimate(
        judge=rng.integers(0, 2, 4000), human=human, by=names, method="misclassification"
    )
    without = len(none.refused)
    assert without > 60
    assert f"No estimate for {without} groups: the reasons are below" in " ".join(str(none).split())


def test_simultaneous_intervals_are_those_at_the_root_of_the_level() -> None:
    """Of rates and of means; named in --explain, in no table of one group."""
    rng = np.random.default_rng(5)
    judge = rng.integers(0, 2, 900)
    human = np.where(np.arange(900) % 3 == 0, np.where(rng.random(900) < 0.8, judge, 1 - judge), -1)
    labels = [None if label < 0 else int(label) for label in human]
    by = np.repeat(["a", "b", "c"], 300)
    got = estimate(judge=judge, human=labels, by=by, labels_are_random=True)
    wider = estimate(
        judge=judge, human=labels, by=by, labels_are_random=True, confidence_level=0.95 ** (1 / 3)
    )
    for one, joint in zip(got.rates, wider.rates, strict=True):
        ends = one.simultaneous_interval
        assert ends is not None
        assert (ends.low, ends.high, ends.level) == (joint.low, joint.high, 0.95)
    assert "all 3 intervals hold together with 95 % (Šidák)" in got.explain()
    scores = {"judge": judge * 4 + 1, "human": [None if x is None else 4 * x + 1 for x in labels]}
    means = estimate(scores, by=by, labels_are_random=True)
    joint_means = estimate(scores, by=by, labels_are_random=True, confidence_level=0.95 ** (1 / 3))
    for one, joint in zip(means.means, joint_means.means, strict=True):
        assert one.simultaneous_interval is not None
        assert one.simultaneous_interval.low == pytest.approx(joint.low)
    assert "simultaneous" in str(means)
    alone = estimate(judge=judge, human=labels, by=["a"] * 900, labels_are_random=True)
    assert alone.rates[0].simultaneous_interval is None
    assert "simultaneous" not in alone.explain()
