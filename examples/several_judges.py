"""The mean of several judges' verdicts next to the best of them alone, and --share with groups.

Run it: python examples/several_judges.py [FILE JUDGE ...]. FILE has a row for each answer, with
columns model and human, all labelled, and a column of verdicts for each judge. In every draw other
rows of each model are labelled at random, and the others are taken as unlabelled.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from adjudge import estimate
from simulators import panel_rows

MODELS = {f"m{at}": float(rate) for at, rate in enumerate(np.linspace(0.35, 0.85, 8).round(3))}
ALIKE = {f"m{at}": rate for at, rate in enumerate((0.5, 0.5, 0.52, 0.48, 0.5))}
ONE_UNLIKE = {f"m{at}": rate for at, rate in enumerate((0.3, 0.32, 0.31, 0.9, 0.3))}
SKILLS: dict[str, dict[str, float]] = {
    "3 of similar skill": {"a": 0.9, "b": 0.8, "c": 0.7},
    "3 good ones": {"a": 1.6, "b": 1.5, "c": 1.4},
    "6 of similar skill": dict.fromkeys("abcdef", 0.8),
    "1 good, 2 ordinary": {"a": 1.6, "b": 0.8, "c": 0.7},
    "1 very good, 2 ordinary": {"a": 2.5, "b": 0.8, "c": 0.7},
    "1 ordinary, 2 weak": {"a": 0.9, "b": 0.4, "c": 0.3},
}


@dataclass
class Tally:
    """Widths of intervals, and how many contain the rate of their model."""

    widths: list[float] = field(default_factory=list)
    hits: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, low: float, high: float, rate: float, model: str) -> None:
        self.widths.append(high - low)
        self.hits.setdefault(model, []).append(low - 1e-12 <= rate <= high + 1e-12)

    @property
    def width(self) -> float:
        return float(np.mean(self.widths))

    def __str__(self) -> str:
        covered = [float(np.mean(hits)) for hits in self.hits.values()]
        worst = f", worst model {min(covered):.3f}" if len(covered) > 1 else ""
        return f"width {self.width:.3f}, covers {np.mean(covered):.3f}{worst}"


def measure(
    name: str,
    draw: Callable[[], pl.DataFrame],
    judges: Sequence[str],
    rates: Mapping[str, float],
    repeats: int,
) -> None:
    """Each judge alone, and the mean of all, each also with the shared interval."""
    plain = {way: Tally() for way in (*judges, "mean")}
    shared = {way: Tally() for way in plain}
    for _ in range(repeats):
        rows = draw()
        for way in plain:
            result = estimate(
                rows,
                judges=judges if way == "mean" else [way],
                by="model",
                share=len(rates) > 3,
                labels_are_random=True,
            )
            for group in result.rates:
                model = str(group.group)
                if group.low is None or group.high is None:
                    continue
                plain[way].add(group.low, group.high, rates[model], model)
                if group.shared_interval is not None:
                    low, high = group.shared_interval
                    shared[way].add(low, high, rates[model], model)
    best = min(judges, key=lambda judge: plain[judge].width)
    print(f"{name}: the best judge alone ({best}): {plain[best]}")
    if len(judges) > 1:
        ratio = plain["mean"].width / plain[best].width
        print(f"  mean of {len(judges)}, {ratio:.2f} of that: {plain['mean']}")
    ways = [best, "mean"] if len(judges) > 1 else [best]
    for way in ways if shared[best].widths else ():
        ratio = shared[way].width / plain[way].width
        print(f"  {way} with --share, {ratio:.2f} of that without: {shared[way]}")


def label_at_random(rows: pl.DataFrame, labels: int, rng: np.random.Generator) -> pl.DataFrame:
    """The rows with this many labels of each model."""
    drawn = rows.with_columns(place=pl.Series(rng.permutation(rows.height)))
    picked = pl.col("place").rank().over("model") <= labels
    return drawn.with_columns(human=pl.when(picked).then("human")).drop("place")


def simulated(repeats: int) -> None:
    rng = np.random.default_rng(2)
    for name, skills in SKILLS.items():
        for models in (MODELS, {"m": 0.6}):
            measure(
                f"{name}, {len(models)} models, 50 labels each",
                lambda: panel_rows(models, skills, questions=300, labels=50, seed=rng),  # noqa: B023
                list(skills),
                models,
                repeats if len(models) > 1 else 4 * repeats,
            )
    for name, models in (("alike", ALIKE), ("one unlike the others", ONE_UNLIKE)):
        measure(
            f"5 models, {name}, 60 labels each",
            lambda: panel_rows(models, {"a": 0.9}, questions=300, labels=60, seed=rng),  # noqa: B023
            ["a"],
            models,
            4 * repeats,
        )


def of_file(path: str, judges: Sequence[str], repeats: int) -> None:
    rows = pl.read_csv(path, infer_schema_length=None)
    rows = rows.rename({"question_id": "prompt_id"}, strict=False)  # instead of a remark each
    rates = dict(rows.group_by("model").agg(pl.col("human").mean()).iter_rows())
    rng = np.random.default_rng(3)
    fewest = rows.group_by("model").len()["len"].min()
    for labels in (size for size in (30, 60, 100) if size < fewest):
        measure(
            f"{labels} labels each",
            lambda: label_at_random(rows, labels, rng),  # noqa: B023
            judges,
            rates,
            repeats,
        )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        of_file(sys.argv[1], sys.argv[2:], 100)
    else:
        simulated(50)
