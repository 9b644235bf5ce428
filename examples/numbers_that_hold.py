"""One table: what was promised and held by the rule that was used before, and by the one now used.

Every line has its own seeds and the worst of its cells. Former rules are written out here; the
worlds are those of `estimates_hold.py` and of tests/montecarlo.
Run it: python examples/numbers_that_hold.py [part ...]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

import estimates_hold
from adjudge import abtest, calibrate, compare, estimate, rank, select
from adjudge.diagnosis import score_set_rows
from adjudge.errors import DataError
from adjudge.policy.doubts import DoubtReport
from adjudge.ranking import fit_pooled
from adjudge.selection import Jury, Labels, Learned
from adjudge.selection.guarantees import SCOPE
from adjudge.selection.rules import resample_labels
from adjudge.simulate.pairs import cascade_judges
from adjudge.statistics.differences import labelled_gap
from simulators import confidently_wrong, informative, simulate_scores, uninformative

sys.path.append(str(Path(__file__).parents[1] / "tests" / "montecarlo"))
from test_compare_covers import differ_rarely
from test_ranking_few_votes import SPREAD, by_prompt, covered, false_pairs, few_votes
from test_ranking_lengths import summary as placed_models
from test_selection_worth import LEVELS, draw_sets, true_share

NORMAL = float(ndtri(0.975))
#: What is measured, its worst cell before, before, now.
Line = tuple[str, str, str, str]
Cells = dict[str, tuple[float, float]]


def worst(what: str, cells: Cells, *, most: bool = False, digits: int = 3) -> Line:
    """The worst of the cells by each rule; `most` if a large number is bad."""
    choose: Callable[..., Any] = max if most else min
    cell = choose(cells, key=lambda name: cells[name][0])
    now = choose(after for _, after in cells.values())
    return what, cell, f"{cells[cell][0]:.{digits}f}", f"{now:.{digits}f}"


def measured(part: Callable[..., None], repeats: int, before: str, after: str) -> Cells:
    """The cells of a part of estimates_hold.py by two of its rules."""
    estimates_hold.CELLS.clear()
    part(repeats)
    return {
        cell: (rules[before], rules[after])
        for cell, rules in estimates_hold.CELLS
        if before in rules and after in rules
    }


def means() -> list[Line]:
    """1: nearly constant scores, pseudo labels at the ends of the labels alone."""
    cells = measured(estimates_hold.scores, 300, "labels alone", "labels and judge")
    return [worst("1 means of scores: coverage", cells)]


def clusters() -> list[Line]:
    """2: a mean of the clusters' means next to a mean of rows."""
    means_of = "mean of cluster means"
    rows = measured(estimates_hold.clusters, 300, means_of, "rows")
    pairs = measured(estimates_hold.compared, 150, "mean of topic means", "people")
    return [
        worst("2 means of clustered scores: coverage", rows),
        worst("2 compare of clustered scores: coverage", pairs),
    ]


def pool() -> list[Line]:
    """3: questions added to an A/B test on which the other system is better; 20 tests."""
    wrong = refused = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        better = np.where(np.arange(400) < 100, 0.9, 0.35)
        people = {"old": rng.random(400) < 0.5, "new": rng.random(400) < better}
        rows = {
            "id": [f"{system}-{q}" for system in people for q in range(400)],
            "prompt_id": [*range(400)] * 2,
            "model": ["old"] * 400 + ["new"] * 400,
            "judge": rng.integers(0, 2, 800).tolist(),
        }
        table = pl.DataFrame(rows)
        words = np.concatenate([people["old"], people["new"]]).astype(int)
        labels = table.select("id", "prompt_id").with_columns(label=words)
        few = pl.col("prompt_id") < 100
        systems: dict[str, Any] = {"a": "old", "b": "new"}
        with TemporaryDirectory() as folder:
            kept = f"{folder}/kept.db"
            first = labels.filter(few).drop("prompt_id")
            abtest(table.filter(few), labels=first, store=kept, **systems)
            # Before: the labels of the old pool counted as random labels of the new one.
            other = f"{folder}/other.db"
            again = abtest(table, labels=first, store=other, labels_are_random=True, **systems)
            truth = people["new"].mean() - people["old"].mean()
            wrong += again.decision == ("better" if truth < 0 else "worse")
            try:
                abtest(table, labels=first, store=kept, **systems)
            except DataError:
                refused += 1
    cell = "100 questions, then 300 others on which the difference is reversed"
    return [("3 A/B test with added questions", cell, f"{wrong} of 20 wrong", f"{refused} refused")]


def unbalanced() -> list[Line]:
    """4: a judge that nearly always says the same: no number without labels of a verdict."""
    estimates_hold.CELLS.clear()
    estimates_hold.one_sided(1000)
    covers = min(rules["bounds"] for _, rules in estimates_hold.CELLS)
    share, cell = max((int(name.split()[-1].rstrip("%")), name) for name, _ in estimates_hold.CELLS)
    return [("4 unbalanced judge", cell, f"no number in {share} %", f"covers {covers:.3f}")]


def prompts() -> list[Line]:
    """5: the normal quantile without G / (G - 1) next to Student's with it."""
    cells: Cells = {}
    for many in (8, 20, 50):
        hits = np.zeros(2)
        for seed in range(100):
            truth, battles, human, _ = by_prompt(many, seed)
            rows = _board_of(battles, human, battles.prompts)
            board = rank(rows, method="bt", interval="bootstrap", replicates=100, seed=seed)
            for row in board.models:
                if row.interval is not None and row.se is not None and row.elo is not None:
                    true = truth[battles.names.index(row.model)]
                    reach = NORMAL * row.se * math.sqrt((many - 1) / many)
                    hits += abs(row.elo - true) <= reach, true in row.interval
        cells[f"{many} prompts"] = tuple((hits / 500).tolist())
    return [worst("5 Elo with few prompts: coverage", cells)]


def _board_of(battles: Any, human: Any, prompts: Any = None) -> pl.DataFrame:
    words = np.select([human == 1, human == 0, human == 0.5], ["A", "B", "tie"], default="")
    columns = {side: [battles.names[k] for k in getattr(battles, side)] for side in ("a", "b")}
    rows = pl.DataFrame({f"model_{side}": names for side, names in columns.items()})
    rows = rows.with_columns(human_pref=pl.Series(words)).filter(pl.Series(words) != "")
    return rows if prompts is None else rows.with_columns(prompt_id=pl.Series(prompts))


def votes() -> list[Line]:
    """6: a sandwich with a normal quantile next to one dispersion; and a wrong first model."""
    cells: Cells = {}
    first = [0, 0]
    boards = 0
    for many in (3, 5, 10):
        hits, models, false = np.zeros(2), 0, 0
        for seed in range(60):
            truth, battles, human, _ = few_votes(SPREAD, many, seed)
            fit = fit_pooled(battles, human, None)
            if (fit.votes == 0).any() or fit.component.any():
                continue
            rows = _board_of(battles, human)
            former = rank(rows, method="bt", interval="sandwich", seed=seed)
            if former.references:
                continue
            boards += 1
            models += len(truth)
            for row in former.models:
                true = truth[battles.names.index(row.model)]
                hits[0] += abs((row.elo or 0) - true) <= NORMAL * (row.se or 0)
            hits[1] += covered(fit, truth).sum()
            false += false_pairs(fit, truth)
            best = battles.names[int(np.argmax(truth))]
            first[0] += former.models[0].model != best
            now = rank(rows, method="bt", seed=seed)
            says_first = "is first" in str(now).partition("\n")[0]
            first[1] += says_first and now.models[0].model != best
        if models:
            cells[f"{many} votes a model"] = tuple((hits / models).tolist())
    shares = (f"{100 * n / boards:.0f} % of {boards} boards" for n in first)
    return [
        worst("6 boards with few votes: coverage", cells),
        ("6 a wrong model is called first", "3 to 10 votes a model", *shares),
    ]


def gate() -> list[Line]:
    """7: a judge that likes B, people who do not, 11 questions labelled for both systems."""
    green = [0, 0, 0]
    for seed in range(100):
        rng = np.random.default_rng(seed)
        people = rng.random(240) < np.repeat([0.6, 0.5], 120)
        judge = rng.random(240) < np.repeat([0.5, 0.8], 120)
        question = np.tile(np.arange(120), 2)
        labelled = np.where(np.arange(240) < 120, question < 65, question >= 54)
        rows = {
            "id": [*range(240)],
            "prompt_id": question,
            "model": ["old"] * 120 + ["new"] * 120,
            "judge": judge.astype(int),
            "human": [int(h) if has else None for h, has in zip(people, labelled, strict=True)],
        }
        result = compare(rows, a="old", b="new")
        green[0] += result.difference.judge.interval.low > 0
        green[1] += result.better
        green[2] += result.inconclusive
    cell = "11 of 120 questions labelled for both"
    now = f"{green[1]} of 100, {green[2]} inconclusive"
    return [("7 gate turns green although people prefer A", cell, f"{green[0]} of 100", now)]


def advice() -> list[Line]:
    """8: rows with one or two scores in their set, whether or not the judge's own is in it."""
    outside = 0
    small = trusted = wrong = 0
    for seed in range(10):
        scores = simulate_scores(
            documents=100, models=6, judges={"judge": 0.4}, shift=1.2, seed=seed
        ).frame
        rows = score_set_rows(scores, sets="learned", seed=seed)
        few = rows.filter(pl.col("set_size").is_in([1, 2]))
        inside = pl.col("judge_score").is_between("set_low", "set_high")
        trust = rows.filter(pl.col("advice") == "trust")
        small += few.height
        outside += few.filter(~inside).height
        trusted += trust.height
        wrong += trust.filter(~inside).height
    before = f"{100 * outside / max(small, 1):.0f} % of {small:,}"
    now = f"{wrong} of {trusted:,}"
    cell = "a judge 1.2 points too kind"
    return [("8 trusted rows with the judge's score outside its set", cell, before, now)]


def lengths() -> list[Line]:
    """9: placing a model that writes 4 standard deviations more than the anchors."""
    plain = placed_models(40, 4, None)
    control = placed_models(40, 4, ["length"])
    cell = "4 standard deviations longer"
    before = f"{plain[0]:.2f}, no warning"
    now = f"warned {plain[2]:.2f}; --control length {control[0]:.2f}"
    return [("9 placing a longer model: coverage of 90 % intervals", cell, before, now)]


def above() -> list[Line]:
    """10: the share of thresholds above alpha, by resamples on labels that were not drawn."""
    cells: Cells = {}
    worlds = informative(0.5), informative(0.3), informative(0.15), uninformative(0.05)
    for world in (*worlds, confidently_wrong()):
        for n in (75, 300):
            truth = true_share(world, draw_sets(world, n, 400, seed=1))
            found = np.array([_shares(labels) for labels in draw_sets(world, n, 200, seed=2)])
            off = np.abs(np.nanmean(found, axis=0) - truth)
            cells[f"{world.name}, {n} labels"] = tuple(off.tolist())
    return [worst("10 printed share above alpha: error", cells, most=True)]


def _shares(labels: Labels) -> tuple[float, float]:
    n = len(labels)
    drawn = np.random.default_rng(0).integers(0, n, (500, n))
    times = np.stack([np.bincount(row, minlength=n) for row in drawn])
    unseen = SCOPE.accept_over_resamples(labels, times, LEVELS) & (times == 0)
    wrong = np.count_nonzero(unseen & (labels.errors == 1), axis=1)
    former = float((wrong > 0.1 * np.count_nonzero(unseen, axis=1) + 1e-9).mean())
    everyone = np.ones(n, dtype=bool)
    return former, resample_labels(SCOPE, labels, everyone, LEVELS, 0).share_above


def rare() -> list[Line]:
    """11: people differ on 1 to 4 % of the questions, a judge with probabilities or scores."""
    lines = []
    for name, most in (("0 and 1", 1), ("scores", 4)):
        cells: Cells = {}
        for share in (0.01, 0.02, 0.04):
            for m in (100, 200, 400):
                rng = np.random.default_rng(m)
                truth = share * float(np.minimum([1, 1, 1, 2, 2, 3, 4], most).mean())
                hits, tried = np.zeros(2), 0
                for _ in range(1000):
                    h = differ_rarely(rng, 4 * m, share, most)
                    j = 0.5 * h + rng.normal(0, 0.2, 4 * m)
                    people = np.where(np.arange(4 * m) < m, h, np.nan)
                    if not h[:m].any():
                        continue
                    tried += 1
                    now = labelled_gap(people, j, zero_one=most == 1).interval(0.95)
                    hits += _formerly(h[:m], j, truth), now.low <= truth <= now.high
                cells[f"{share:.0%}, {m} labels"] = tuple((hits / tried).tolist())
        lines.append(worst(f"11 rare one-sided differences, {name}: coverage", cells))
    return lines


def _formerly(h: Any, j: Any, truth: float) -> bool:
    """PPI++ with Student's t; its guard counts residuals, which a graded judge always has."""
    m = len(h)
    rest = j[m:]
    slope = np.cov(h, j[:m])[0, 1] / ((1 + m / len(rest)) * j.var(ddof=1))
    r = h - max(slope, 0.0) * j[:m]
    centre = r.mean() + max(slope, 0.0) * rest.mean()
    squares = float(((r - r.mean()) ** 2).sum())
    variance = squares / (m * (m - 2)) + max(slope, 0.0) ** 2 * j.var(ddof=1) / len(rest)
    return bool(abs(centre - truth) <= 1.97 * math.sqrt(variance))


def groups() -> list[Line]:
    """12: pointwise intervals of eight models all cover; simultaneous ones."""
    cells = measured(estimates_hold.groups, 600, "pointwise", "simultaneous")
    return [worst("12 eight models, all covered", cells)]


def verdict() -> list[Line]:
    """13 and 14: labels of all fails and some passes; the judge's own rate beside it."""
    cells = measured(estimates_hold.by_verdict, 1000, "bias", "by verdict")
    cell = max(cells, key=lambda name: cells[name][0])
    covers = min(after for _, after in cells.values())
    bias = f"bias up to {cells[cell][0]:.2f}"
    rng = np.random.default_rng(5)
    off = np.zeros(2)
    for _ in range(200):
        judge = (rng.random(500) < 0.83).astype(int)
        labelled = (judge == 0) | (rng.random(500) < 0.2)
        human = [int(rng.random() < 0.9) if has else None for has in labelled]
        got = estimate(judge=judge, human=human, labels_by_verdict=True)
        off += judge[~labelled].mean() - judge.mean(), got.naive - judge.mean()
    shown = (f"{value:+.3f}" for value in off / 200)
    return [
        ("13 naive rate minus the judge's rate of all rows", "all fails labelled", *shown),
        ("14 labels drawn by verdict", cell, bias, f"covers {covers:.3f}"),
    ]


def jury() -> list[Line]:
    """19: verdicts of a learned jury that are not its first judge's, next to the mean jury's."""
    former, said, of, differ, rows = 0, 0, 0, 0, 0
    skills = {"weak": 0.3, "fair": 0.8, "good": 2.0}
    for seed in range(10):
        judged = cascade_judges(300, skills=skills, seed=seed)
        policy = calibrate(judged, doubt=Learned(jury=Jury()), alpha=0.2, seed=seed)
        assert isinstance(policy.doubt, DoubtReport)
        said += policy.doubt.n_overturned
        of += policy.doubt.n_verdicts
        new = judged.drop("label")
        chosen = select(new, policy).rows
        mean = select(new, calibrate(judged, doubt=Jury(), alpha=0.2, seed=seed)).rows
        former += int((chosen["verdict"] != mean["verdict"]).sum())
        differ += int((chosen["verdict"] != chosen["judge_verdict"]).sum())
        rows += chosen.height
    cell = f"select: {differ / rows:.0%} of {rows:,} rows"
    line = "19 verdicts of a learned jury that calibrate says are not its first judge's"
    return [(line, cell, f"{former / rows:.0%}", f"{said / of:.0%}")]


PARTS = (
    means, clusters, pool, unbalanced, prompts, votes, gate, advice, lengths, above, rare, groups,
    verdict, jury,
)  # fmt: skip

if __name__ == "__main__":
    found = [
        line for part in PARTS if not sys.argv[1:] or part.__name__ in sys.argv for line in part()
    ]
    print("\n| what | worst cell before | before | now |\n|---|---|---|---|")
    for line in found:
        print(f"| {' | '.join(line)} |")
