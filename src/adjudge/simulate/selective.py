"""Uncertainty scores and errors whose true error rate below any threshold is known.

A world gives P(error | score) as a step function of a uniform score. The true error rate of a
threshold has a closed form, so a guarantee can be compared with the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjudge.validation import FloatArray, IntArray, Seed, count, generator


@dataclass(frozen=True)
class ScoredWorld:
    """Scores uniform on [0, 1] in equal cells, each with its own error rate.

    With `tied`, every score in a cell is the cell's upper edge: there are as many distinct scores
    as cells.
    """

    name: str
    rates: tuple[float, ...]
    tied: bool = False

    def draw(self, shape: int | tuple[int, ...], seed: Seed) -> tuple[FloatArray, IntArray]:
        """Scores and 0/1 errors of the given shape.

        >>> s, e = informative().draw(3, 0)
        >>> s.shape, set(e) <= {0, 1}
        ((3,), True)
        """
        gen = generator(seed)
        scores = gen.random(shape)
        cell = np.minimum((scores * len(self.rates)).astype(np.int64), len(self.rates) - 1)
        errors = (gen.random(shape) < np.asarray(self.rates)[cell]).astype(np.int64)
        return ((cell + 1) / len(self.rates) if self.tied else scores), errors

    def coverage(self, threshold: FloatArray | float) -> FloatArray:
        """P(score <= threshold)."""
        at = np.clip(np.asarray(threshold, dtype=np.float64), 0, 1)
        if self.tied:
            return np.asarray(np.floor(at * len(self.rates) + 1e-9) / len(self.rates))
        return at

    def error_rate(self, threshold: FloatArray | float) -> FloatArray:
        """P(error | score <= threshold); 0 if nothing is accepted.

        >>> float(uninformative(0.12).error_rate(0.3).round(6))
        0.12
        """
        covered = self.coverage(threshold)
        edges = np.linspace(0, 1, len(self.rates) + 1)
        mass = np.concatenate(([0.0], np.cumsum(self.rates) / len(self.rates)))
        wrong = np.interp(covered, edges, mass)
        return np.asarray(np.divide(wrong, covered, out=np.zeros_like(wrong), where=covered > 0))


def informative(slope: float = 0.5, cells: int = 100) -> ScoredWorld:
    """The more doubt, the more errors: P(error | s) rises linearly from 0 to `slope`."""
    rates = slope * (np.arange(cells) + 0.5) / cells
    return ScoredWorld("informative", tuple(rates.tolist()))


def uninformative(rate: float) -> ScoredWorld:
    """The doubt is not informative: every row is wrong with the same probability."""
    return ScoredWorld(f"uninformative {rate:g}", (rate,))


def confidently_wrong(cells: int = 100) -> ScoredWorld:
    """Not monotone: the surest rows are often wrong, the middle is good, the end is bad."""
    mid = (np.arange(cells) + 0.5) / cells
    rates = np.where(mid < 0.04, 0.6, np.where(mid < 0.6, 0.02, 0.45))
    return ScoredWorld("confidently wrong", tuple(rates.tolist()))


def sawtooth(rate: float = 0.11, cells: int = 100) -> ScoredWorld:
    """Errors come in narrow bands, so that the error rate crosses any level many times."""
    rates = np.where(np.arange(cells) % 5 == 0, min(5 * rate, 1.0), 0.0)
    return ScoredWorld("sawtooth", tuple(rates.tolist()))


def heavily_tied(slope: float = 0.4, values: int = 5) -> ScoredWorld:
    """Only a few distinct scores, as with votes and verbalized confidence."""
    rates = slope * (np.arange(values) + 0.5) / values
    return ScoredWorld("heavily tied", tuple(rates.tolist()), tied=True)


def draw_clusters(
    world: ScoredWorld, *, prompts: int, rows: int, seed: Seed
) -> tuple[FloatArray, IntArray, IntArray]:
    """Scores, errors and prompt numbers when all rows of a prompt are the same.

    >>> s, e, prompt = draw_clusters(informative(), prompts=2, rows=3, seed=0)
    >>> prompt.tolist(), len(set(s.tolist()))
    ([0, 0, 0, 1, 1, 1], 2)
    """
    count(prompts, "prompts", least=1)
    s, e = world.draw(prompts, seed)
    times = count(rows, "rows", least=1)
    return np.repeat(s, times), np.repeat(e, times), np.repeat(np.arange(prompts), times)


def two_order_judge(
    n: int, *, skill: float = 1.2, position_bias: float = 0.8, noise: float = 0.7, seed: Seed = 0
) -> dict[str, list[float] | list[str]]:
    """Rows of a judge asked in both orders: id, label, p_fwd and p_rev, both about response_a.

    Each pair has a true margin; people prefer A with probability sigma(2 margin). The judge sees
    `skill` times the margin, has a `position_bias` towards the answer shown first, and is
    over-confident: its log odds have `noise` that differs between the two orders.

    >>> rows = two_order_judge(4, seed=0)
    >>> sorted(rows), len(rows["id"])
    (['id', 'label', 'p_fwd', 'p_rev'], 4)
    """
    gen = generator(seed)
    margin = gen.normal(size=count(n, "n", least=1))
    people = gen.random(n) < 1 / (1 + np.exp(-2 * margin))
    lean = position_bias * (1 + 0.5 * gen.normal(size=n))
    shared = gen.normal(size=n)
    odds = 2.5 * (skill * margin + noise * shared)
    forward = 1 / (1 + np.exp(-(odds + 2.5 * lean + noise * gen.normal(size=n))))
    reverse = 1 / (1 + np.exp(-(odds - 2.5 * lean + noise * gen.normal(size=n))))
    return {
        "id": [f"pair-{i:05d}" for i in range(n)],
        "label": np.where(people, "A", "B").tolist(),
        "p_fwd": forward.tolist(),
        "p_rev": reverse.tolist(),
    }


def several_judges(
    n: int,
    *,
    skills: Sequence[float] = (1.0, 0.9, 0.8, 0.6, 0.0),
    scales: Sequence[float] = (1.0, 6.0, 2.5, 6.0, 1.0),
    seed: Seed = 0,
) -> tuple[FloatArray, IntArray]:
    """p_a of several judges of the same pairs (a column each), and whether people prefer A.

    Judge j sees `skills[j]` times the true margin with noise, part of which all judges share. It
    multiplies its log odds by `scales[j]`, which makes it over-confident. Six decimals are kept.

    >>> p, prefers_a = several_judges(4, seed=0)
    >>> p.shape, set(prefers_a) <= {0, 1}
    ((4, 5), True)
    """
    gen = generator(seed)
    margin = 1.2 * gen.normal(size=count(n, "n", least=1))
    noise = 0.5 * gen.normal(size=(n, 1)) + 0.9 * gen.normal(size=(n, len(skills)))
    odds = np.multiply.outer(margin, np.asarray(skills)) + noise
    p = 1 / (1 + np.exp(-odds * np.asarray(scales)))
    people = gen.random(n) < 1 / (1 + np.exp(-2.5 * margin))
    return np.round(p, 6), people.astype(np.int64)


def cascade_judges(
    n: int,
    *,
    skills: Mapping[str, float] | None = None,
    failures: Mapping[str, float] | None = None,
    seed: Seed = 0,
) -> dict[str, list[str] | list[str | None] | list[float | None]]:
    """Rows of several judges on the same pairs, to plan a cascade from.

    Judge j sees `skills[j]` times the true margin with independent noise. A share `failures[j]` of
    its rows has the status error and no number.

    >>> rows = cascade_judges(2, seed=0)
    >>> rows["judge"], rows["id"] == ["pair-00000", "pair-00001"] * 2
    (['cheap', 'cheap', 'strong', 'strong'], True)
    """
    named = {"cheap": 0.8, "strong": 2.0} if skills is None else skills
    gen = generator(seed)
    margin = 1.2 * gen.normal(size=count(n, "n", least=1))
    people = gen.random(n) < 1 / (1 + np.exp(-4 * margin))
    ids, labels = [f"pair-{i:05d}" for i in range(n)], np.where(people, "A", "B").tolist()
    rows: dict[str, list[Any]] = {
        name: [] for name in ("id", "judge", "protocol", "status", "p_a", "label")
    }
    for name, skill in named.items():
        odds = 2 * (skill * margin + 0.9 * gen.normal(size=n))
        failed = gen.random(n) < (failures or {}).get(name, 0.0)
        p = np.round(1 / (1 + np.exp(-odds)), 6)
        rows["id"] += ids
        rows["judge"] += [name] * n
        rows["protocol"] += ["preference"] * n
        rows["status"] += np.where(failed, "error", "ok").tolist()
        rows["p_a"] += [None if lost else p_a for p_a, lost in zip(p.tolist(), failed, strict=True)]
        rows["label"] += labels
    return rows


def misled_judges(
    n: int,
    *,
    misled: Sequence[float] = (0.6, 0.9, 1.1, 1.4),
    skills: Sequence[float] = (1.1, 0.4, 0.25, 0.1),
    hard: float = 0.7,
    seed: Seed = 0,
) -> tuple[FloatArray, IntArray]:
    """As `several_judges`, on pairs that are made to mislead, like LLMBar's adversarial pairs.

    One answer looks better; on a share `hard` of the pairs it is the worse one. Judge j sees
    `skills[j]` of the truth and `misled[j]` of the looks. All judges but the first are right less
    often than by chance, which is information too.

    >>> p, prefers_a = misled_judges(2000, seed=0)
    >>> ((p > 0.5) == prefers_a[:, None]).mean(axis=0).round(2).tolist()
    [0.78, 0.47, 0.4, 0.35]
    """
    gen = generator(seed)
    truth = np.where(gen.random(count(n, "n", least=1)) < 0.5, 1.0, -1.0)
    wrong_way = np.where(gen.random(n) < hard, -truth, truth)
    looks = wrong_way * np.abs(1 + 0.8 * gen.normal(size=n))
    noise = 0.8 * gen.normal(size=(n, len(skills)))
    odds = np.multiply.outer(truth, np.asarray(skills)) + np.multiply.outer(looks, misled) + noise
    return np.round(1 / (1 + np.exp(-2 * odds)), 6), (truth > 0).astype(np.int64)
