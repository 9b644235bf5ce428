"""A cascade over arrays: who is asked, what a failed judge leaves, fits that do not see the row."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.selection.cascade import stage_doubts, stop_at, with_failures
from adjudge.selection.cascade_plan import fit_stages
from adjudge.selection.doubts.evidence import Evidence


def seen(p, *, ties=None, gaps=None):
    p = np.asarray(p, dtype=float)
    return Evidence(judges=tuple("xyz"[: p.shape[1]]), p=p, ties=ties, order_gaps=gaps)


def world(n, rng, skills=(0.6, 2.0)):
    people = rng.integers(0, 2, n)
    odds = (2 * people - 1)[:, None] * skills + rng.normal(size=(n, len(skills)))
    return 1 / (1 + np.exp(-odds)), people


def test_a_row_ends_at_the_first_judge_that_is_sure_and_else_at_the_last():
    doubts = np.array([[0.1, 0.4, 0.4], [0.11, 0.1, 0.4], [0.2, 0.3, 0.4], [np.inf, np.inf, 0.4]])
    assert stop_at(doubts, 0.1).tolist() == [0, 1, 2, 2]
    assert stop_at(doubts, 0.0).tolist() == [2, 2, 2, 2]


def test_a_judge_that_failed_counts_nothing():
    """What is known of a row without y is what is known where y does not exist."""
    whole = Evidence(judges=("x", "y", "z"), p=np.array([[0.8, np.nan, 0.3]]))
    without = Evidence(judges=("x", "z"), p=np.array([[0.8, 0.3]]))
    one, other = whole.columns(()), without.columns(())
    assert one["odds of y"].tolist() == [0.0]
    for name in other:
        assert one[name].tolist() == other[name].tolist(), name


def test_columns_mirror_when_the_answers_swap_with_a_failure_too():
    p = np.array([[0.8, np.nan, 0.35], [np.nan, np.nan, 0.9], [0.2, 0.7, np.nan]])
    one = Evidence(judges=("x", "y", "z"), p=p).columns(())
    other = Evidence(judges=("x", "y", "z"), p=1 - p).columns(())
    for name in one:
        assert np.allclose(one[name], -other[name], atol=1e-12), name


def test_order_gaps_are_the_mean_of_the_judges_that_spoke():
    evidence = seen([[0.9, 0.8], [np.nan, 0.8]], gaps=np.array([[1.0, 3.0], [np.nan, 3.0]]))
    assert evidence.of([0]).order_gap.tolist() == [1.0, 0.0]
    assert evidence.order_gap.tolist() == [2.0, 3.0]


def test_failures_and_ties_have_no_verdict_and_infinite_doubt():
    ties = np.array([[False, True], [False, False]])
    margins, doubts = with_failures(
        np.array([[2.0, 3.0], [4.0, 5.0]]), seen([[0.9, 0.9], [np.nan, 0.9]], ties=ties)
    )
    assert margins.tolist() == [[2.0, 0.0], [0.0, 5.0]]
    assert np.isinf(doubts).tolist() == [[False, True], [True, False]]


def test_a_row_is_decided_alone():
    """Margins do not depend, to the last bit, on the rows next to it nor on later judges."""
    p, people = world(200, np.random.default_rng(1), (0.6, 1.0, 2.0))
    p[::7, 0] = np.nan
    fitted, _ = fit_stages(seen(p), people, units=np.arange(200), seed=0)
    margins, _ = stage_doubts(fitted, seen(p))
    for row in (0, 7, 33):
        alone, _ = stage_doubts(fitted, seen(p[row : row + 1]))
        assert alone[0].tolist() == margins[row].tolist()
    later = p.copy()
    later[:, 2] = np.nan
    early, _ = stage_doubts(fitted, seen(later))
    assert early[:, :2].tolist() == margins[:, :2].tolist()


def test_held_out_margins_do_not_see_the_row():
    """Where nothing can be learned they are worthless, and the fitted ones seem to be worth it."""
    rng = np.random.default_rng(3)
    p, people = rng.random((60, 3)), rng.integers(0, 2, 60)
    fitted, held_out = fit_stages(seen(p), people, units=np.arange(60), seed=0)
    own, _ = stage_doubts(fitted, seen(p))
    right = lambda margins: ((margins[:, 2] > 0) == people).mean()  # noqa: E731
    assert right(own) > right(held_out) + 0.05


def test_rows_of_one_cluster_share_a_fold():
    p, people = world(40, np.random.default_rng(5))
    twice = np.repeat(np.arange(20), 2)
    _, held_out = fit_stages(seen(p), people, units=twice, seed=0)
    changed = p.copy()
    changed[1] = 1 - p[1]  # only what is learned without rows 0 and 1 stays as it is
    _, held_out_again = fit_stages(seen(changed), people, units=twice, seed=0)
    assert held_out_again[0].tolist() == held_out[0].tolist()
    assert np.abs(held_out_again[2:] - held_out[2:]).max() > 0


@pytest.mark.parametrize("stage", [0, 1])
def test_a_stage_learns_from_the_rows_that_its_judge_measured(stage):
    p, people = world(150, np.random.default_rng(7))
    p[:50, stage] = np.nan
    fitted, _ = fit_stages(seen(p), people, units=np.arange(150), seed=0)
    changed = people.copy()
    changed[:50] = 1 - changed[:50]
    again, _ = fit_stages(seen(p), changed, units=np.arange(150), seed=0)
    assert again[stage].weights.tolist() == fitted[stage].weights.tolist()
