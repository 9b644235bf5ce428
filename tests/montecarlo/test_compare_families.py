"""Many systems, best of K judges, labels until it is known: errors over all of them together."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr, stdtrit
from scipy.stats import binom

from adjudge import abtest
from adjudge.estimation.abtest import LABELS_A_ROUND, POCOCK, ROUNDS
from adjudge.estimation.bets import decide
from adjudge.estimation.compare import best_of
from adjudge.statistics.differences import all_gaps, holm, labelled_gap, possibly_best

FULL = pytest.mark.montecarlo


def at_most(hits: int, runs: int, share: float) -> bool:
    """Whether so many hits are compatible with this share or less (1 in 20,000)."""
    return hits <= binom.ppf(1 - 1 / 20_000, runs, share)


def at_least(hits: int, runs: int, share: float) -> bool:
    return hits >= binom.ppf(1 / 20_000, runs, share)


def equal_systems(rng: np.random.Generator, n: int, systems: int, kind: str) -> np.ndarray:
    """Systems with the same mean on questions of different difficulty."""
    easy = rng.random((n, 1))
    if kind == "verdicts":
        return (0.5 * rng.random((n, systems)) + 0.5 * easy < 0.6).astype(float)
    return np.round(np.clip(3 + easy + rng.normal(0, 1, (n, systems)), 1, 5))


@pytest.mark.parametrize("runs", [60, pytest.param(1500, marks=FULL)])
@pytest.mark.parametrize(("kind", "n"), [("verdicts", 100), ("verdicts", 400), ("scores", 150)])
def test_equal_systems_are_rarely_called_different(kind: str, n: int, runs: int) -> None:
    rng = np.random.default_rng(n)
    false, dropped = 0, 0
    for _ in range(runs):
        scores = equal_systems(rng, n, 8, kind)
        gaps = all_gaps(scores, zero_one=kind == "verdicts")
        false += bool((holm(np.array([gap.p_value for gap in gaps])) <= 0.05).any())
        influence = (scores - scores.mean(axis=0)) / n
        dropped += not possibly_best(gaps, influence, rng, draws=300)[0]
    assert at_most(false, runs, 0.055)
    assert at_least(runs - dropped, runs, 0.92)  # the first of equals is one of the best
    if runs > 1000:
        assert false > 0.01 * runs  # and the rule is not empty


@pytest.mark.parametrize("runs", [150, pytest.param(3000, marks=FULL)])
@pytest.mark.parametrize(("n", "spread"), [(50, 0.0), (100, 0.0), (100, 0.05), (200, 0.1)])
def test_the_best_of_fifteen_judges_is_covered(n: int, spread: float, runs: int) -> None:
    rng = np.random.default_rng(n)
    covered, naive, biased = 0, 0.0, 0.0
    for _ in range(runs):
        skill = 0.75 + spread * rng.uniform(-1, 1, 15)
        hard = rng.normal(0, 1, (n, 1))
        right = ndtr(0.7 * hard + 0.7 * rng.normal(0, 1, (n, 15))) < skill
        scores = right.astype(float)
        # What the share would be on infinitely many rows.
        truth = ndtr(np.sqrt(1 / 0.98) * np.asarray(_normal_quantile(skill)))
        best = best_of(scores, range(15), rng)
        winner = best.judge
        covered += bool(best.interval.low <= truth[winner] <= best.interval.high)
        naive += scores[:, winner].mean() - truth[winner]
        biased += best.reported - truth[winner]
    assert at_least(covered, runs, 0.94)
    if spread == 0.0:
        assert abs(biased) < 0.5 * naive  # the winner's curse, and what is left of it


def _normal_quantile(p: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri(p)


AGREEMENT = {"good": 0.8, "weak": 0.35, "no": 0.0, "reversed": 0.8}


def population(n: int, gap: float, judge: str, rng: np.random.Generator) -> np.ndarray:
    """People's and the judge's differences on n questions, with this mean of people's."""
    differ = round(0.25 * n)
    up = round((differ + gap * n) / 2)
    h = np.repeat([1.0, -1.0, 0.0], [up, differ - up, n - differ])
    other = rng.choice([1.0, -1.0, 0.0], n, p=[0.125, 0.125, 0.75])
    j = np.where(rng.random(n) < AGREEMENT[judge], h, other)
    return np.stack([h, {"reversed": -j, "no": 0 * j}.get(judge, j)])


def draws(
    n: int, gap: float, judge: str, runs: int, labels: int, seed: int = 7
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    h, j = population(n, gap, judge, rng)
    order = np.argsort(rng.random((runs, n)), axis=1)
    return h[order][:, :labels], j[order]


@pytest.mark.parametrize("runs", [150, pytest.param(2500, marks=FULL)])
@pytest.mark.parametrize("judge", [*AGREEMENT])
def test_no_difference_is_rarely_decided_over_all_looks(judge: str, runs: int) -> None:
    people, said = draws(1000, 0.0, judge, runs, 600)
    assert at_most(int(np.count_nonzero(decide(people, said).sign)), runs, 0.05)


GAPS = (0.05, 0.10)


@pytest.mark.parametrize(("populations", "runs"), [(4, 15), pytest.param(20, 100, marks=FULL)])
def test_labels_to_decide_against_the_fixed_design(populations: int, runs: int) -> None:
    """A good judge saves labels, a reversed one costs labels, and none of them decides wrongly.

    The full run prints the table of docs/measurements.md (-s) and compares the page with it.
    """
    medians = {}
    for judge in AGREEMENT:
        for gap in GAPS:
            labels, wrong = [], 0
            for seed in range(populations):
                done = decide(*draws(1000, gap, judge, runs, 1000, seed))
                assert (done.label > 0).all()  # all labelled: the sign decides
                labels.append(done.label)
                wrong += int((done.sign < 0).sum())
            assert at_most(wrong, populations * runs, 0.05)
            medians[f"{judge} judge", gap] = float(np.median(labels))
    for gap in GAPS:
        good, weak, none, turned = (medians[f"{judge} judge", gap] for judge in AGREEMENT)
        # People alone with a fixed number of labels, 80 % power: m0 = 7.85 s^2/gap^2 of many
        # questions, m0/(1 + m0/N) of these N.
        many = 7.85 * (0.25 - gap**2) / gap**2
        fixed = medians["people alone, number of labels fixed before (80 % power)", gap] = many / (
            1 + many / 1000
        )
        assert good < weak < turned
        assert good < min(0.7 * none, 0.7 * fixed)
    if populations > 10:
        page = (Path(__file__).parents[2] / "docs" / "measurements.md").read_text(encoding="utf-8")
        for name in dict.fromkeys(name for name, _ in medians):
            shown = [medians[name, gap] for gap in GAPS]
            print(name, *(f"{number:.0f}" for number in shown))
            [row] = re.findall(rf"^\| {re.escape(name)} \| (\d+) \| (\d+) \|$", page, re.M)
            assert [int(number) for number in row] == pytest.approx(shown, rel=0.03)


@pytest.mark.parametrize("runs", [100, pytest.param(1500, marks=FULL)])
def test_equal_within_is_rarely_decided_of_unequal_systems(runs: int) -> None:
    people, said = draws(600, 0.10, "good", runs, 500)
    wrong = decide(people, said, delta=0.10).equal
    assert at_most(int(wrong.sum()), runs, 0.05)
    equal_people, equal_said = draws(600, 0.0, "good", runs, 500)
    assert decide(equal_people, equal_said, delta=0.15).equal.mean() > 0.9


@pytest.mark.parametrize("runs", [60, pytest.param(1500, marks=FULL)])
def test_rounds_keep_about_their_level(runs: int) -> None:
    people, said = draws(5000, 0.0, "good", runs, ROUNDS * LABELS_A_ROUND)
    wrong = 0
    for h, j in zip(people, said, strict=True):
        for end in range(LABELS_A_ROUND, ROUNDS * LABELS_A_ROUND + 1, LABELS_A_ROUND):
            known = np.concatenate([h[:end], np.full(len(j) - end, np.nan)])
            gap = labelled_gap(known, j, zero_one=True)
            if abs(gap.statistic) > stdtrit(gap.freedom, float(ndtr(POCOCK))):
                wrong += 1
                break
    assert at_most(wrong, runs, 0.06)


@pytest.mark.parametrize(
    "runs", [pytest.param(8, id="short"), pytest.param(60, id="full", marks=pytest.mark.montecarlo)]
)
def test_labels_of_an_old_pool_decide_nothing_wrongly(runs: int, tmp_path: Path) -> None:
    """B is better on 200 labelled questions, and worse with the 800 that were added."""

    def rows(rng: np.random.Generator, n: int, gap: float, tag: str) -> tuple[pl.DataFrame, dict]:
        frames, people = [], dict[str, int]()
        for model, rate in (("old", 0.4 - gap / 2), ("new", 0.4 + gap / 2)):
            truth = (rng.random(n) < rate).astype(int)
            judge = np.where(rng.random(n) < 0.85, truth, 1 - truth)
            ids = [f"{model}-{tag}{q}" for q in range(n)]
            people |= dict(zip(ids, truth.tolist(), strict=True))
            questions = [f"{tag}{q}" for q in range(n)]
            columns = {"id": ids, "prompt_id": questions, "judge": judge}
            frames.append(pl.DataFrame(columns).with_columns(model=pl.lit(model)))
        return pl.concat(frames), people

    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        before, people = rows(rng, 200, 0.4, "a")
        added, _ = rows(rng, 800, -0.2, "b")
        labels = {"id": [*people], "label": [*people.values()]}
        marked = {**labels, "sampled_by": ["random"] * len(people)}
        result = abtest(
            pl.concat([before, added]), a="old", b="new", store=tmp_path / f"{seed}.db",
            labels=marked,
        )  # fmt: skip
        wrong += result.better
    assert at_most(wrong, runs, 0.05)
