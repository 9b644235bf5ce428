"""The numbers of docs/measurements.md: a cascade, its cost, and Trust or Escalate.

Run it: python examples/cascade.py [repeats]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.stats import beta

from adjudge.selection import fdr_select, pac_threshold, scope_threshold
from adjudge.selection.cascade import stage_doubts, stop_at
from adjudge.selection.cascade_plan import Sheet, drop_stages
from adjudge.selection.doubts.evidence import Evidence
from adjudge.statistics.entropy import confidence, preference_entropy

ALPHA, DELTA, SHARE, NEW = 0.10, 0.10, 0.3, 2000
COSTS = np.array([1.0, 5.0, 30.0])


@dataclass(frozen=True)
class World:
    """Three judges of pairs: how well each sees the margin, its over-confidence, its failures.

    A share `confused` of the pairs looks clear to the first judges, but the wrong way round: they
    are sure and wrong there.
    """

    name: str
    skills: tuple[float, float, float]
    scales: tuple[float, float, float] = (2.0, 2.0, 2.0)
    fails: tuple[float, float, float] = (0.0, 0.0, 0.0)
    confused: float = 0.0

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """p of each judge, NaN if it failed, and whether people prefer A."""
        margin = 1.2 * rng.normal(size=n)
        people = (rng.random(n) < 1 / (1 + np.exp(-4 * margin))).astype(np.int64)
        looks = np.where(rng.random(n) < self.confused, -2.5 * np.sign(margin), margin)
        seen = np.column_stack([looks, looks, margin]) * self.skills
        p = 1 / (1 + np.exp(-np.asarray(self.scales) * (seen + 0.9 * rng.normal(size=(n, 3)))))
        return np.where(rng.random((n, 3)) < self.fails, np.nan, np.round(p, 6)), people


WORLDS = (
    World("three judges, each better than the one before", (0.8, 1.3, 2.5)),
    World("a cheap judge without information", (0.0, 1.3, 2.5)),
    World(
        "over-confident cheap judges, sometimes confused",
        (1.2, 1.3, 2.5),
        (8.0, 6.0, 2.0),
        confused=0.15,
    ),
    World("every judge fails on one row in ten", (0.8, 1.3, 2.5), fails=(0.1, 0.1, 0.1)),
)


def evidence(p: np.ndarray) -> Evidence:
    """The judges' answers in the form that a cascade reads."""
    names = tuple(f"judge {at + 1}" for at in range(p.shape[1]))
    return Evidence(judges=names, p=p)


@dataclass(frozen=True)
class Cascade:
    """A planned cascade: its judges, its learned doubt, and tau."""

    judges: tuple[int, ...]
    doubts: tuple
    tau: float
    tau_without_margin: float = 0.0

    @classmethod
    def plan(cls, p: np.ndarray, people: np.ndarray) -> Cascade:
        """Plan from the learning share only, like `plan cascade`."""
        units = np.arange(len(people))

        @cache
        def sheet(kept: tuple[int, ...]) -> Sheet:
            costs = COSTS[list(kept)].tolist()
            seen = evidence(p[:, kept])
            return Sheet.fit(seen, people, units=units, seed=0, costs=costs, alpha=ALPHA)

        kept, _ = drop_stages((0, 1, 2), sheet, ("1", "2", "3"))
        plain = sheet(kept).largest_tau(margin=0.0)
        return cls(kept, sheet(kept).fitted, sheet(kept).largest_tau() or 0.0, plain or 0.0)

    @classmethod
    def candidates(cls, p: np.ndarray, people: np.ndarray) -> dict[str, Cascade]:
        """What learns nothing: the label-free cascade, and the jury of the two cheap judges."""
        sheets = [
            Sheet.plain(evidence(p[:, :n]), people, costs=COSTS[:n], alpha=ALPHA) for n in (3, 2)
        ]
        free, jury = sheets
        return {
            "label-free": cls((0, 1, 2), free.fitted, free.largest_tau() or 0.0),
            "jury of the cheap two": cls((0, 1), jury.fitted, 0.0),
        }

    def at(self, tau: float) -> Cascade:
        """The same with another tau."""
        return replace(self, tau=tau)

    def decide(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Margin, doubt and cost of each row."""
        margins, doubts = stage_doubts(self.doubts, evidence(p[:, self.judges]))
        stage = stop_at(doubts, self.tau)
        here = np.arange(len(stage)), stage
        costs = np.cumsum(COSTS[list(self.judges)])[stage]
        return margins[here], np.minimum(doubts[here], 1e18), costs


def strong_alone(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The last judge about every row, by its own entropy."""
    last = np.where(np.isnan(p[:, 2]), 0.5, p[:, 2])
    doubt = np.where(np.isnan(p[:, 2]), 1e18, preference_entropy(last))
    return last - 0.5, doubt, np.full(len(p), COSTS[2])


def accept(guarantee: str, scores: np.ndarray, errors: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Which new scores a guarantee accepts."""
    if guarantee == "fdr":
        return fdr_select(scores, errors, new, alpha=ALPHA).accepted
    if guarantee == "pac":
        return pac_threshold(scores, errors, alpha=ALPHA, delta=DELTA).accept(new)
    return scope_threshold(scores, errors, alpha=ALPHA).accept(new)


# --- Trust or Escalate ------------------------------------------------------------------------


def highest_risk(wrong: np.ndarray, delta: float) -> float:
    """The exact binomial upper bound of the error rate (Clopper and Pearson, one-sided)."""
    n, errors = len(wrong), int(wrong.sum())
    return 1.0 if errors == n else float(beta.ppf(1 - delta, errors + 1, n - errors))


def paper_threshold(sure: np.ndarray, wrong: np.ndarray, delta: float) -> float:
    """Fixed-sequence testing as in the paper: from the surest down, until one test fails.

    Candidates are 0.999, 0.998, ... with 30 rows or more. If the first fails, nothing is accepted.
    """
    best = np.inf
    for level in np.arange(0.999, -1e-9, -0.001):
        chosen = sure >= level
        if chosen.sum() < 30:
            continue
        if highest_risk(wrong[chosen], delta) > ALPHA:
            break
        best = level
    return best


def code_threshold(sure: np.ndarray, wrong: np.ndarray, delta: float) -> float | None:
    """The same as in the released code (util.py, `lambda_hat`).

    5,000 levels in [0, 1], those with 30 rows or more. If even the top one fails its test, it is
    returned nevertheless; the next level is the current one minus 1/(their number). None if no
    level has 30 rows: the code then uses the level of the judge before.
    """
    levels = np.linspace(0, 1, 5000)
    counts = len(sure) - np.searchsorted(np.sort(sure), levels)
    levels = levels[counts >= 30]
    if not len(levels):
        return None

    def risk(level: float) -> float:
        return highest_risk(wrong[sure >= level], delta)

    if risk(levels[-1]) > ALPHA:
        return float(levels[-1])
    for level in levels[::-1]:
        if risk(level - 1 / len(levels)) > ALPHA:
            return float(level)
    return float(levels[0])


def trust_or_escalate(
    p: np.ndarray, people: np.ndarray, new: np.ndarray, *, as_released: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which new rows are accepted, with which verdict, and their costs; thresholds by judge.

    Each judge is calibrated on the rows that those before it left. Paper: delta / judges for each.
    """
    sure = np.column_stack([confidence(np.nan_to_num(own, nan=0.5)) for own in p.T])
    sure = np.where(np.isnan(p), -1.0, sure)
    wrong = (p > 0.5) != (people[:, None] > 0)
    thresholds: list[float] = []
    left = np.ones(len(p), dtype=np.bool_)
    for judge in range(3):
        own = left & (sure[:, judge] >= 0)
        if as_released:
            level = code_threshold(sure[own, judge], wrong[own, judge], DELTA)
            level = (thresholds[-1] if thresholds else np.inf) if level is None else level
        else:
            level = paper_threshold(sure[own, judge], wrong[own, judge], DELTA / 3)
        thresholds.append(level)
        left &= sure[:, judge] < level
    accepted, side = np.zeros(len(new), dtype=np.bool_), np.zeros(len(new))
    cost = np.zeros(len(new))
    for judge in range(3):
        own = new[:, judge]
        level = np.where(np.isnan(own), -1.0, confidence(np.nan_to_num(own, nan=0.5)))
        cost += np.where(accepted, 0.0, COSTS[judge])
        here = ~accepted & (level >= thresholds[judge])
        side[here] = own[here] - 0.5
        accepted |= here
    return accepted, side, cost


# --- tables -----------------------------------------------------------------------------------


def one_repeat(world: World, labels: int, seed: int) -> dict[str, tuple[float, float, float]]:
    """Share accepted, error share among them, and cost of a row, for every method."""
    rng = np.random.default_rng([seed, labels, len(world.name)])
    p, people = world.draw(labels, rng)
    new, truth = world.draw(NEW, rng)
    learning = rng.random(labels) < SHARE
    cascade = Cascade.plan(p[learning], people[learning])
    others = Cascade.candidates(p[learning], people[learning])
    results = {}

    def note(name: str, accepted: np.ndarray, side: np.ndarray, cost: np.ndarray) -> None:
        wrong = (side > 0) != (truth > 0)
        risk = float(wrong[accepted].mean()) if accepted.any() else 0.0
        results[name] = (float(accepted.mean()), risk, float(cost.mean() / COSTS[2]))

    for guarantee in ("scope", "fdr", "pac"):
        ways: dict[str, tuple[Callable, np.ndarray]] = {
            "strong alone": (strong_alone, np.ones(labels, dtype=np.bool_)),
            "cascade": (cascade.decide, ~learning),
            "cascade, tau/2": (cascade.at(cascade.tau / 2).decide, ~learning),
        }
        for name, other in others.items():
            ways[name] = (other.decide, ~learning)
        if len(cascade.judges) == 1:
            for name in ("strong alone", "cascade"):
                ways[f"{name}, where only it is left"] = ways[name]
        if guarantee == "scope":
            plain = cascade.at(cascade.tau_without_margin)
            ways["cascade, tau without margin"] = (plain.decide, ~learning)
            ways["cascade, tau/4"] = (cascade.at(cascade.tau / 4).decide, ~learning)
        for name, (decide, own) in ways.items():
            margin, doubt, _ = decide(p[own])
            errors = ((margin > 0) != (people[own] > 0)) | (doubt >= 1e18)
            side, score, cost = decide(new)
            chosen = accept(guarantee, doubt, errors.astype(int), score) & (score < 1e18)
            note(f"{guarantee}: {name}", chosen, side, cost)
    for name, released in (("paper", False), ("released code", True)):
        done = trust_or_escalate(p, people, new, as_released=released)
        note(f"Trust or Escalate, {name}", *done)
    return results


def table(world: World, labels: int, repeats: int) -> None:
    """Means over calibration sets, and how often the error share is above alpha."""
    cells = [one_repeat(world, labels, seed) for seed in range(repeats)]
    print(f"\n{world.name}, {labels} labels, alpha {ALPHA:g}, {repeats} calibration sets")
    print("   accepted   cost   error share   above alpha   method")
    for name in dict.fromkeys(name for cell in cells for name in cell):
        seen = [one[name] for one in cells if name in one]
        share, risk, cost = np.mean(seen, axis=0)
        above = np.mean([one[1] > ALPHA for one in seen])
        sets = f" ({len(seen)} sets)" if len(seen) < len(cells) else ""
        print(f"   {share:8.3f}   {cost:4.2f}   {risk:11.3f}   {above:11.2f}   {name}{sets}")
    equal_coverage(cells)


def equal_coverage(cells: Sequence[dict[str, tuple[float, float, float]]]) -> None:
    """The cost of the cascade if it accepts as much as the strong judge alone (scope)."""
    everywhere = [name for name in cells[0] if all(name in one for one in cells)]
    means = {name: np.mean([one[name] for one in cells], axis=0) for name in everywhere}
    goal = means["scope: strong alone"][0]
    points = [means[name][[0, 2]] for name in means if name.startswith("scope: cascade")]
    # Keep the points that accept more at a lower cost.
    best = [
        (share, cost)
        for share, cost in points
        if not any(other[0] > share and other[1] < cost for other in points)
    ]
    shares, costs = np.array(sorted(best)).T
    if goal > shares[-1]:
        print(f"   at equal coverage: the cascade reaches {shares[-1]:.3f} of {goal:.3f}")
    else:
        cost = np.interp(goal, shares, costs)
        print(
            f"   at equal coverage ({goal:.3f}): {cost:.2f} of the cost of the strong judge alone"
        )


def dropping(repeats: int) -> None:
    """How often the plan leaves each judge out."""
    print(f"\nJudges that the plan drops, {repeats} learning shares of 90 rows")
    print("   first   second   third   world")
    for world in WORLDS:
        out = np.zeros(3)
        for seed in range(repeats):
            cascade = Cascade.plan(*world.draw(90, np.random.default_rng(seed)))
            out += [judge not in cascade.judges for judge in range(3)]
        first, second, third = out / repeats
        print(f"   {first:5.2f}   {second:6.2f}   {third:5.2f}   {world.name}")


def main(arguments: Sequence[str]) -> None:
    """Print everything."""
    repeats = int(arguments[0]) if arguments else 200
    for world in WORLDS:
        table(world, 300, repeats)
    table(WORLDS[0], 1000, repeats)
    dropping(repeats)


if __name__ == "__main__":
    main(sys.argv[1:])
