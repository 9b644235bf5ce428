"""Intervals of differences cover at their level, on simulated systems with known differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from adjudge.estimation.compare import _compare
from adjudge.estimation.difference_plan import (
    cautious_correlation,
    cautious_spread,
    labels_needed,
    questions_needed,
)
from adjudge.estimation.systems import of_clusters, read_systems
from adjudge.statistics.clusters import freedom_of
from adjudge.statistics.differences import (
    Gap,
    all_gaps,
    difference_of_means,
    labelled_gap,
    labelled_mean,
    paired_gap,
    unpaired_gap,
)

RUNS = [pytest.param(400, id="short"), pytest.param(6000, id="full", marks=pytest.mark.montecarlo)]
Draw = Callable[[np.random.Generator, int], np.ndarray]


def share_covered(hits: int, runs: int, expected: float) -> bool:
    """Whether this few hits are compatible with the expected share (1 in 20,000)."""
    return hits >= binom.ppf(1 / 20_000, runs, expected)


def covers(gap: Gap, truth: float, level: float = 0.95) -> bool:
    low, high = gap.interval(level)
    return low is not None and high is not None and low <= truth <= high


def verdicts(b_only: float, a_only: float) -> tuple[Draw, float]:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.choice([1.0, -1.0, 0.0], n, p=[b_only, a_only, 1 - b_only - a_only])

    return draw, b_only - a_only


def scores(rng: np.random.Generator, n: int) -> np.ndarray:
    """Differences of grades from 1 to 5 with a common difficulty; their mean is 0."""
    both = rng.normal(3.5, 1, n)
    a, b = (np.clip(np.round(both + rng.normal(0, 0.8, n)), 1, 5) for _ in range(2))
    return b - a


def probabilities(rng: np.random.Generator, n: int) -> np.ndarray:
    """Differences of a sure judge's probabilities: most near 0, some near 1; their mean is 0."""
    a, b = (rng.beta(0.3, 0.15, n) for _ in range(2))
    return np.where(rng.random(n) < 0.5, 0.02 * (b - a), b - a)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(
    ("kind", "n", "least"),
    [
        ("few discordant", 30, 0.95),
        ("few discordant", 100, 0.95),
        ("ordinary", 30, 0.95),
        ("ordinary", 100, 0.945),
        ("ordinary", 1000, 0.945),
        ("scores", 30, 0.93),
        ("scores", 100, 0.945),
        ("probabilities", 60, 0.93),
        ("probabilities", 300, 0.94),
    ],
)
def test_by_the_judge_alone(kind: str, n: int, least: float, runs: int) -> None:
    draw, truth = {
        "few discordant": verdicts(0.03, 0.01),
        "ordinary": verdicts(0.20, 0.12),
        "scores": (scores, 0.0),
        "probabilities": (probabilities, 0.0),
    }[kind]
    rng = np.random.default_rng(n)
    exact = kind in ("few discordant", "ordinary")
    hits = sum(covers(paired_gap(draw(rng, n), zero_one=exact), truth) for _ in range(runs))
    assert share_covered(hits, runs, least)
    if kind == "ordinary":
        assert hits <= binom.ppf(1 - 1 / 20_000, runs, 0.975)  # and it is not wide for nothing


def people_and_judge(
    rng: np.random.Generator, n: int, m: int, *, discordant: float, agreement: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """People's verdicts on m of n questions, the judge's on all; people's true difference."""
    up, down = 0.6 * discordant, 0.4 * discordant
    h = rng.choice([1.0, -1.0, 0.0], n, p=[up, down, 1 - discordant])
    other = rng.choice([1.0, -1.0, 0.0], n, p=[0.1, 0.25, 0.65])
    j = np.where(rng.random(n) < agreement, h, other)
    return np.where(np.arange(n) < m, h, np.nan), j, up - down


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(
    ("m", "discordant", "agreement", "least"),
    [
        (30, 0.04, 0.9, 0.95),
        (50, 0.04, 0.9, 0.95),
        (100, 0.04, 0.9, 0.95),
        (50, 0.35, 0.9, 0.95),
        (50, 0.35, 0.3, 0.94),
        (200, 0.35, 0.9, 0.94),
        (200, 0.35, 0.0, 0.94),
    ],
)
def test_with_labels(m: int, discordant: float, agreement: float, least: float, runs: int) -> None:
    rng = np.random.default_rng(m)
    hits, narrower = 0, 0
    for _ in range(runs):
        h, j, truth = people_and_judge(rng, 800, m, discordant=discordant, agreement=agreement)
        gap = labelled_gap(h, j, zero_one=True)
        hits += covers(gap, truth)
        narrower += gap.standard_error < paired_gap(h[:m], zero_one=True).standard_error
    assert share_covered(hits, runs, least)
    if agreement == 0.9 and discordant == 0.35:
        assert narrower > 0.95 * runs  # a good judge is worth labels


def differ_rarely(rng: np.random.Generator, n: int, share: float, most: int) -> np.ndarray:
    """Differences of which this share is not 0, in one direction, from 1 to `most` in size."""
    sizes = np.minimum(rng.choice([1, 1, 1, 2, 2, 3, 4], n), most)
    return np.where(rng.random(n) < share, sizes, 0.0)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("share", [0.01, 0.02, 0.04])
@pytest.mark.parametrize("m", [100, 200, 400])
@pytest.mark.parametrize(
    ("judge", "most", "least"),
    [("none", 1, 0.945), ("noisy", 1, 0.945), ("graded", 1, 0.945), ("graded", 4, 0.935)],
)
def test_rare_differences_in_one_direction(
    judge: str, most: int, least: float, share: float, m: int, runs: int
) -> None:
    rng = np.random.default_rng(m)
    truth = share * float(np.minimum([1, 1, 1, 2, 2, 3, 4], most).mean())
    hits = tried = 0
    for _ in range(runs // 4):
        h = differ_rarely(rng, 4 * m, share, most)
        noise = rng.choice([-1.0, 0.0, 1.0], 4 * m, p=[0.1, 0.8, 0.1])
        j = {"none": 0 * h, "noisy": np.where(h == 0, noise, h * (rng.random(4 * m) < 0.5))}.get(
            judge, 0.5 * h + rng.normal(0, 0.2, 4 * m)
        )
        gap = labelled_gap(np.where(np.arange(4 * m) < m, h, np.nan), j, zero_one=most == 1)
        # If no score of people or judge differs, they are identical, without an interval.
        if gap.standard_error > 0:
            tried += 1
            hits += covers(gap, truth)
    print(f"{judge} judge, sizes 1 to {most}, {share:.0%}, {m} labels: {hits / tried:.3f}")
    assert share_covered(hits, tried, least)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("m", [100, 200])
def test_rare_falls_among_small_differences(m: int, runs: int) -> None:
    """1 % of the questions fall by 80 of 100, others differ a little; the judge sees which.

    Where no fall is labelled, 0.64 and 0.85 are covered by the variance of the others.
    """
    rng = np.random.default_rng(m)
    hits = 0
    for _ in range(runs):
        people = rng.normal(0, 2, 1000) - 80 * (rng.random(1000) < 0.01)
        labels = np.where(np.arange(1000) < m, people, np.nan)
        judge = people + rng.normal(0, 4, 1000)
        hits += covers(labelled_gap(labels, judge, zero_one=False), -0.8)
    assert share_covered(hits, runs, 0.965)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("m", [50, 150])
def test_with_labels_of_scores(m: int, runs: int) -> None:
    rng = np.random.default_rng(m)
    hits = 0
    for _ in range(runs):
        h = scores(rng, 500)
        j = 0.5 * h + 0.6 * scores(rng, 500) + 0.3
        known = np.where(np.arange(500) < m, h, np.nan)
        hits += covers(labelled_gap(known, j, zero_one=False), 0.0)
    assert share_covered(hits, runs, 0.94)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("top", [0.9, 0.97])
def test_unpaired_scores_that_are_nearly_all_equal(top: float, runs: int) -> None:
    """30 scores against 300, most of them 5: Welch's interval covers 0.86 and 0.62."""
    rng = np.random.default_rng(15)
    shares = [(1 - top) * share for share in (0.1, 0.15, 0.3, 0.45)]
    hits = 0
    for _ in range(runs):
        a, b = (rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], n, p=[*shares, top]) for n in (30, 300))
        hits += covers(unpaired_gap(a, b, zero_one=False), 0.0)
    assert share_covered(hits, runs, 0.95)


@pytest.mark.parametrize("runs", RUNS)
def test_unpaired_scores_of_a_wide_scale(runs: int) -> None:
    """30 scores against 1,000, near 90 of 100, of which 3 % are 0: 0.74 if few zeros are seen."""
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(runs):
        sides = [np.where(rng.random(n) < 0.03, 0, rng.normal(90, 3, n)) for n in (30, 1000)]
        hits += covers(unpaired_gap(*sides, zero_one=False), 0.0)
    assert share_covered(hits, runs, 0.965)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", ["verdicts", "scores"])
def test_unpaired(kind: str, runs: int) -> None:
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(runs):
        if kind == "verdicts":
            a, b = (rng.random(n) < p for n, p in ((60, 0.7), (90, 0.9)))
            gap = unpaired_gap(a.astype(float), b.astype(float), zero_one=True)
            hits += covers(gap, 0.2)
        else:
            gap = unpaired_gap(rng.normal(3, 1, 60), rng.normal(3.5, 2, 90), zero_one=False)
            hits += covers(gap, 0.5)
    assert share_covered(hits, runs, 0.945)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("m", "top"), [(50, 0.25), (50, 0.7), (150, 0.25)])
def test_means_of_scores(m: int, top: float, runs: int) -> None:
    """People's mean of scores from 1 to 5, of which `top` are 5; the judge is too kind."""
    rng = np.random.default_rng(m)
    others = (1 - top) / 4
    steps, weights = np.arange(1.0, 6.0), [others] * 4 + [top]
    truth, hits = float(steps @ weights), 0
    for _ in range(runs):
        people = rng.choice(steps, 400, p=weights)
        judge = np.clip(people + rng.choice([0, 1, -1], 400, p=[0.5, 0.4, 0.1]), 1, 5)
        labels = np.where(np.arange(400) < m, people, np.nan)
        hits += covers(labelled_mean(labels, judge, ends=(1, 5)), truth)
    assert share_covered(hits, runs, 0.93)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("m", [100, 150, 300])
def test_means_of_scores_near_one_end_of_a_wide_scale(m: int, runs: int) -> None:
    """Scores near 90 of 100, of which 1 % are 0: without pseudo labels 0.84 to 0.88."""
    rng = np.random.default_rng(m)
    hits = 0
    for _ in range(runs):
        people = np.where(rng.random(1000) < 0.01, 0, 5 * np.rint(rng.normal(18, 0.8, 1000)))
        judge = np.clip(people + rng.normal(0, 4, 1000), 0, 100)
        labels = np.where(np.arange(1000) < m, people, np.nan)
        hits += covers(labelled_mean(labels, judge, ends=(0, 100)), 0.99 * 90)
    assert share_covered(hits, runs, 0.965)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(
    ("share", "clusters", "least"), [(0.03, 100, 0.87), (0.06, 100, 0.91), (0.06, 200, 0.94)]
)
def test_rare_differences_of_unequal_clusters(
    share: float, clusters: int, least: float, runs: int
) -> None:
    """B is right on all questions of a few clusters, A on none; elsewhere they are alike.

    If every cluster counted that differs from the mean, 0.77, 0.86 and 0.91.
    """
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(runs):
        differ = rng.random(clusters) < share
        if not differ.any():
            runs -= 1  # two systems that are identical have no interval
            continue
        rows = np.repeat(np.arange(clusters), rng.geometric(0.2, clusters))
        answers = np.stack([np.zeros(len(rows)), differ[rows]], axis=1)
        numbers = of_clusters(answers, rows, np.ones(clusters, dtype=bool))
        gap = all_gaps(numbers, zero_one=False)[0].limited(freedom_of(rows))
        hits += covers(gap, share)
    assert share_covered(hits, runs, least)


@pytest.mark.parametrize("runs", RUNS)
def test_means_from_labels_on_other_questions_for_each_system(runs: int) -> None:
    rng = np.random.default_rng(9)
    hits = 0
    for _ in range(runs):
        sides = []
        for rate in (0.6, 0.75):
            people = (rng.random(300) < rate).astype(float)
            judge = np.where(rng.random(300) < 0.8, people, 1 - people)
            labels = np.where(np.arange(300) < 60, people, np.nan)
            sides.append(labelled_mean(labels, judge, ends=(0, 1)))
        hits += covers(difference_of_means(*sides), 0.15)
    assert share_covered(hits, runs, 0.945)


@pytest.mark.parametrize("runs", [pytest.param(400, id="short"), RUNS[1]])
@pytest.mark.parametrize("labelled", [True, False])
def test_a_few_large_clusters(labelled: bool, runs: int) -> None:
    """40 documents of 1 to 3 questions, two of them with 60: differences depend on the document.

    With t of 39 degrees of freedom, and without the pull of the large ones, 0.88 and 0.85.
    """
    rng = np.random.default_rng(12)
    sizes = np.repeat([60, 1, 2, 3], [2, 13, 13, 12])
    documents = np.repeat(np.arange(40), sizes).tolist()
    n = len(documents)
    columns = {"id": [*range(n)] * 2, "model": ["a"] * n + ["b"] * n, "judge": [1.0, 2.5] * n}
    systems = read_systems({**columns, "document": documents * 2}, cluster="document")[None]
    hits = 0
    for _ in range(runs):
        gain = np.repeat(rng.normal(0.1, 0.5, 40), sizes)
        judge = rng.normal(3, 1, (n, 2)) + np.stack([-gain / 2, gain / 2], axis=1)
        human = judge + rng.normal(0, 0.5, (n, 2)) if labelled else np.full_like(judge, np.nan)
        table = replace(systems, judge=judge, human=human, labels_given=labelled)
        [pair] = _compare({None: table}, ("a", "b"), 0.95, 0).differences
        assert pair.reported.estimate == pytest.approx(np.diff(human if labelled else judge).mean())
        hits += 0.1 in pair.reported.interval
    assert share_covered(hits, runs, 0.95)


@pytest.mark.parametrize("runs", [pytest.param(300, id="short"), RUNS[1]])
@pytest.mark.parametrize("share", [0.15, 0.5])
def test_with_labels_and_clusters(share: float, runs: int) -> None:
    """120 documents of 4 questions that are alike; random questions are labelled."""
    rng = np.random.default_rng(11)
    columns = {"id": [*range(480)] * 2, "model": ["a"] * 480 + ["b"] * 480, "judge": [0, 1] * 480}
    rows = {**columns, "document": [n // 4 for n in range(480)] * 2}
    systems = read_systems(rows, cluster="document")[None]
    hits, rows_alone = 0, 0
    for _ in range(runs):
        alike = np.repeat(rng.normal(0, 1, (120, 2)), 4, axis=0)
        people = (alike + rng.normal(0, 0.5, (480, 2)) < [0.0, 0.3]).astype(float)
        judge = np.where(rng.random((480, 2)) < 0.85, people, 1 - people)
        human = np.where(rng.random((480, 1)) < share, people, np.nan)
        table = replace(systems, judge=judge, human=human).among(("a", "b"))
        h, j = (x[:, 1] - x[:, 0] for x in (table.human, table.judge))
        truth = float(ndtr(0.3 / np.sqrt(1.25)) - 0.5)
        hits += covers(labelled_gap(h, j, zero_one=False), truth)
        flat, said = (x[:, 1] - x[:, 0] for x in (human, judge))
        rows_alone += covers(labelled_gap(flat, said, zero_one=True), truth)
    assert share_covered(hits, runs, 0.94)
    if share == 0.5:
        assert rows_alone < hits  # questions of a document are not independent


@pytest.mark.parametrize(
    "runs",
    [pytest.param(200, id="short"), pytest.param(3000, id="full", marks=pytest.mark.montecarlo)],
)
def test_planned_questions_show_the_difference_in_four_of_five_samples(runs: int) -> None:
    rng = np.random.default_rng(12)
    draw, difference = verdicts(0.2, 0.1)
    shown = 0
    for _ in range(runs):
        n = questions_needed(cautious_spread(draw(rng, 100), zero_one=True), difference)
        gap = paired_gap(draw(rng, n), zero_one=True)
        shown += gap.centre > 0 and gap.p_value < 0.05
    assert share_covered(shown, runs, 0.80)
    assert shown <= binom.ppf(1 - 1 / 20_000, runs, 0.95)  # and labels are not wasted


@pytest.mark.parametrize(
    "runs",
    [pytest.param(200, id="short"), pytest.param(3000, id="full", marks=pytest.mark.montecarlo)],
)
def test_planned_labels_show_peoples_difference_in_four_of_five_samples(runs: int) -> None:
    rng = np.random.default_rng(13)
    shown, n, difference, labels = 0, 1500, 0.12, list[int]()
    for _ in range(runs):
        h, j, _ = people_and_judge(rng, n, 80, discordant=0.6, agreement=0.8)
        known = ~np.isnan(h)
        correlation = cautious_correlation(float(np.corrcoef(h[known], j[known])[0, 1]), 80)
        spread = cautious_spread(h[known], zero_one=True)
        m = labels_needed(spread, correlation, difference, n)
        labels.append(n if m is None else m)
        h, j, truth = people_and_judge(rng, n, labels[-1], discordant=0.6, agreement=0.8)
        gap = labelled_gap(h, j, zero_one=True)
        shown += gap.centre > 0 and gap.p_value < 0.05
    assert truth == pytest.approx(difference)
    assert share_covered(shown, runs, 0.80)
    assert np.median(labels) < n / 2


def rare_probabilities(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    """A sure judge's probabilities; B's are higher on a few questions."""
    before = rng.beta(0.2, 0.2, n)
    change = np.where(rng.random(n) < share, rng.normal(0.4, 0.3, n), 0.0)
    return np.stack([before, np.clip(before + change, 0, 1)], axis=1)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(
    ("share", "n"), [(0.03, 60), (0.03, 100), (0.03, 300), (0.1, 30), (0.1, 60)]
)
def test_rare_changes_of_probabilities_by_the_judge(share: float, n: int, runs: int) -> None:
    """With pseudo scores as large as those seen, 0.80, 0.83, 0.92, 0.82 and 0.92 are covered."""
    rng = np.random.default_rng(37)
    table = rare_probabilities(rng, 1_000_000, share)
    truth = float((table[:, 1] - table[:, 0]).mean())
    gaps = [all_gaps(rare_probabilities(rng, n, share), zero_one=False)[0] for _ in range(runs)]
    shown = [gap for gap in gaps if gap.standard_error > 0]
    assert share_covered(sum(covers(gap, truth) for gap in shown), len(shown), 0.965)
