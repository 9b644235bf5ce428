"""The split kernel says exactly what calling each method on each split would say."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain

import numpy as np
import pytest

from adjudge.errors import ArgumentError
from adjudge.policy.result import Rule
from adjudge.selection import Guarantee, Levels, all_guarantees, fdr_select, scope_threshold
from adjudge.selection.guarantees import Labels
from adjudge.selection.guarantees.pac import PAC
from adjudge.selection.splits import (
    SharedHalves,
    _upper_median,
    choose_methods,
    random_halves,
    split_risks,
)
from adjudge.selection.thresholds import SplitCounts, SplitTable, order_by_lot


def naive_rule(s, e, *, alpha):
    """The largest score whose error share among the rows at or below it is at most alpha."""
    passing = [t for t in np.unique(s) if e[s <= t].sum() <= Fraction(str(alpha)) * (s <= t).sum()]
    if not passing:
        return Rule(accepts="none")
    return (
        Rule(accepts="all")
        if passing[-1] == s.max()
        else Rule(accepts="below", threshold=passing[-1])
    )


RULES = {"scope": scope_threshold, "naive": naive_rule}


def one_by_one(s, e, sure, verdict, clusters, alphas, splits, seed):
    """The same splits, each method called on each of them."""
    halves = list(random_halves(len(s), splits, seed, clusters=clusters))
    own = np.concatenate([half.calibrates for half in halves])
    new = np.concatenate([half.tested for half in halves])
    # pac steps down along the table's own random order of ties.
    order = order_by_lot(s, 0).rows
    s, e, sure, verdict = s[order], e[order], sure[order], verdict[order]
    own, new = own[:, order], new[:, order]
    result = {}
    for method in (method.name for method in choose_methods()):
        for alpha in alphas:
            accepted, wrong = [], []
            for a, b in zip(own, new, strict=True):
                if method == "vanilla":
                    chosen = np.ones(b.sum(), dtype=bool)
                elif method == "heuristic":
                    chosen = sure[b] >= float(1 - Fraction(str(alpha)))
                elif method == "pac":
                    levels = Levels(Fraction(str(alpha)), Fraction(1, 10))
                    chosen = PAC.decide(Labels(s[a], e[a]), levels).accept(s[b])
                elif method == "fdr":
                    chosen = fdr_select(s[a], e[a], s[b], alpha=alpha).accepted
                else:
                    chosen = RULES[method](s[a], e[a], alpha=alpha).accept(s[b])
                chosen &= verdict[b]
                accepted.append(int(chosen.sum()))
                wrong.append(int(e[b][chosen].sum()))
            result[method, alpha] = (accepted, wrong)
    return result


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("grid", [3, 12, 10_000])
@pytest.mark.parametrize("clustered", [False, True])
def test_every_method_on_every_split(seed, grid, clustered):
    rng = np.random.default_rng([seed, grid])
    # The last is large enough for pac to step down.
    n = int(rng.integers(40, 160)) if seed < 5 else 900
    s = rng.integers(0, grid, n) / grid
    e = (rng.random(n) < 0.05 + 0.3 * s).astype(int)
    verdict = rng.random(n) < 0.95
    e[~verdict] = 1
    clusters = rng.integers(0, n // 3, n).tolist() if clustered else None
    alphas = (0.1, 0.2, 0.35)
    table = split_risks(
        s,
        e,
        alphas=alphas,
        confidence=1 - s / 2,
        has_verdict=verdict,
        clusters=clusters,
        splits=12,
        seed=seed,
    )
    expected = one_by_one(s, e, 1 - s / 2, verdict, clusters, alphas, 12, seed)
    for row in table:
        accepted, wrong = expected[row.method, float(row.alpha)]
        assert row.accepted.tolist() == accepted, row.method
        assert row.wrong.tolist() == wrong, row.method


@pytest.mark.parametrize("chosen", all_guarantees(), ids=lambda one: one.name)
@pytest.mark.parametrize("grid", [4, 30, 10_000])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_counts_of_a_guarantee_are_those_of_its_own_decide_and_accept(chosen, grid, clustered):
    rng = np.random.default_rng([grid, clustered])
    for n in (30, 63, 64, 65, 128, 300, 700):
        s = rng.integers(0, grid, n) / grid
        e = (rng.random(n) < 0.02 + 0.3 * s).astype(int)
        verdict = rng.random(n) < 0.95
        table = SplitTable.build(s, np.where(verdict, e, 1), verdict, None)
        clusters = rng.integers(0, n // 2, n).tolist() if clustered else None
        for halves in random_halves(n, 15, 1, clusters=clusters):
            counts = SplitCounts.build(table, halves)
            for alpha in (Fraction(1, 20), Fraction(1, 10), Fraction(3, 10)):
                levels = Levels(alpha, Fraction(1, 10))
                at_once = chosen.counts_over_splits(counts, levels)
                one_by_one = Guarantee.counts_over_splits(chosen, counts, levels)
                for fast, slow in zip(at_once, one_by_one, strict=True):
                    assert fast.tolist() == slow.tolist()


@pytest.mark.parametrize("clusters", [None, [i // 3 for i in range(51)]])
def test_the_table_does_not_depend_on_how_many_splits_are_held_at_once(monkeypatch, clusters):
    s = np.random.default_rng(1).random(51)
    e = (s > 0.8).astype(int)

    def run():
        return split_risks(
            s, e, alphas=[0.2], methods=["scope"], clusters=clusters, splits=30, seed=5
        )[0]

    whole = run()
    monkeypatch.setattr("adjudge.selection.splits._CELLS", 51)
    one_at_a_time = run()
    assert len(one_at_a_time.accepted) == 30
    assert one_at_a_time.accepted.tolist() == whole.accepted.tolist()
    assert one_at_a_time.tested.tolist() == whole.tested.tolist()


def test_halves_are_halves_and_every_row_is_as_likely():
    marked = np.concatenate([half.calibrates for half in random_halves(11, 4000, 3)])
    assert (marked.sum(axis=1) == 5).all()
    share = marked.mean(axis=0)
    assert np.abs(share - 5 / 11).max() < 5 * np.sqrt(0.25 / 4000)


def test_pairs_of_rows_are_as_likely_as_without_replacement():
    marked = np.concatenate([half.calibrates for half in random_halves(6, 6000, 4)])
    together = (marked.T.astype(float) @ marked) / len(marked)
    off = together[~np.eye(6, dtype=bool)]
    assert np.abs(off - 3 / 6 * 2 / 5).max() < 5 * np.sqrt(0.2 * 0.8 / 6000)


def test_a_cluster_is_never_in_both_halves_and_gives_one_row():
    clusters = np.repeat(np.arange(10), 4)
    for half in random_halves(40, 50, 5, clusters=clusters.tolist()):
        for own, new in zip(half.calibrates, half.tested, strict=True):
            assert not set(clusters[own]) & set(clusters[new])
            assert sorted(clusters[own]) == sorted(set(clusters[own]))
            assert own.sum() == 5
            assert new.sum() == 20


def test_no_row_of_a_large_file_calibrates_in_every_split():
    # The last rows did where a few of them are left over from blocks of 65,536.
    halves = [next(random_halves(66_000, 1, seed)).calibrates[0] for seed in range(20)]
    last = np.mean(halves, axis=0)[-464:].mean()
    assert last == pytest.approx(0.5, abs=5 * np.sqrt(0.25 / (20 * 464)))


def test_keys_that_tie_at_the_cut_are_drawn_again():
    # 16-bit keys of 4,096 rows tie at the median in a few splits of a hundred.
    marked = list(chain.from_iterable(h.calibrates for h in random_halves(4096, 300, 6)))
    assert {int(row.sum()) for row in marked} == {2048}


@pytest.mark.parametrize("n", [4097, 50_000, 50_001])
def test_the_cut_is_the_upper_median_of_any_keys(n):
    uniform = np.random.default_rng(n).integers(0, 2**32, n, dtype=np.uint32)
    for keys in (uniform, uniform // 4, 2**32 - 1 - uniform // 4, np.zeros_like(uniform)):
        assert _upper_median(keys) == np.sort(keys)[n // 2]


def test_shares_and_ratio():
    row = split_risks([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 1], alphas=[0.3], methods=["vanilla"])[0]
    assert row.coverages.tolist() == [1.0] * 1000
    assert row.ratio == pytest.approx(0.25, abs=0.05)
    assert row.share_above == pytest.approx(np.mean(row.wrong > 0))


def test_the_heuristic_needs_a_confidence():
    names = [row.method for row in split_risks([0.1, 0.2], [0, 1], alphas=[0.3], splits=3)]
    assert names == ["vanilla", "naive", "scope", "fdr", "pac"]
    with pytest.raises(ArgumentError, match="confidence = None"):
        split_risks([0.1, 0.2], [0, 1], methods=["heuristic"], splits=3)


def test_nothing_to_split_is_said():
    with pytest.raises(ArgumentError, match="at least two rows"):
        split_risks([0.1], [0])
    with pytest.raises(ArgumentError, match=r"methods = 'conformal': choose one of vanilla, .*pac"):
        split_risks([0.1, 0.2], [0, 1], methods=["conformal"])


def test_many_rows_do_not_wrap_around():
    # 45,000 tested rows make products of counts beyond 32 bits.
    rng = np.random.default_rng(7)
    s = rng.integers(0, 500, 90_000) / 500
    e = (rng.random(len(s)) < 0.02 + 0.3 * s**3).astype(int)
    for half in random_halves(len(s), 1, 3):
        own = half.calibrates[0]
    for method, alpha in (("fdr", 0.05), ("scope", 0.0512347), ("naive", 1e-12)):
        result = split_risks(s, e, alphas=[alpha], methods=[method], splits=1, seed=3)[0]
        if method == "fdr":
            accepted = fdr_select(s[own], e[own], s[~own], alpha=alpha).accepted
        else:
            accepted = RULES[method](s[own], e[own], alpha=alpha).accept(s[~own])
        assert result.accepted.tolist() == [accepted.sum()]


@pytest.mark.parametrize("clusters", [None, np.arange(41) // 3])
@pytest.mark.parametrize("kept", [2**27, 10])
def test_shared_halves_are_the_random_ones_each_time(monkeypatch, clusters, kept):
    """Whether they are kept as bits or drawn again."""
    monkeypatch.setattr("adjudge.selection.splits._KEPT", kept)
    alone = list(random_halves(41, 30, 5, clusters=clusters))
    shared = SharedHalves(41, 30, 5, clusters)
    for _ in range(2):
        for mine, theirs in zip(shared, alone, strict=True):
            np.testing.assert_array_equal(mine.calibrates, theirs.calibrates)
            np.testing.assert_array_equal(mine.tested, theirs.tested)
    assert bool(shared._kept) is (kept == 2**27)
