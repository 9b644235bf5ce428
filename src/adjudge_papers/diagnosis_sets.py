"""Score sets by the diagnosis paper's protocol: rows split at random, and what widths show.

Eq. 2 and 3 per judge and criterion, calibrated on a random half of the rows and tested on the other
half, 20 times. The same rows are in the same half for every judge, so that two judges' widths can
be compared (Table 4). Pooling over judges (Figure 4) uses the first split, as in the paper, whose
1,918 rows are one half of 16 x 240. `diagnose_scores` splits and weights documents instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from adjudge.data.scores import Scores, scored_by_both
from adjudge.diagnosis.scores.evaluation import ScoreRows, error_by_width, split_by_judge
from adjudge.diagnosis.scores.result import WidthBin
from adjudge.present.result import Correlation, Count, Level, NotNegative, Proportion
from adjudge.records import Interval
from adjudge.statistics.agreement import spearman, spearman_interval, spearman_p
from adjudge.statistics.numbers import conformal_quantile, mean_known
from adjudge.validation import BoolArray, FloatArray, IntArray, exact_level, generator
from adjudge_papers.diagnosis_data import (
    ALPHAS,
    MAIN_ALPHA,
    published_agreement,
    published_pooled,
    published_row,
)
from adjudge_papers.reproduction import interval_of

SCALE = (1, 5)
#: For every row of a cell: the size of its set, and whether the human score is inside.
_Sets = tuple[IntArray, BoolArray]


@dataclass(frozen=True, kw_only=True)
class SetCell:
    """Tables 3 and 5: one judge, criterion and level by the paper's protocol, means over splits.

    `n` is the size of a test half. `spearman` is of set width and error; `p_value` treats its rows
    as independent, as the paper does. `monotonic`: the mean error never decreases as the width
    grows, at the first split; None if all sets have one width, and in the paper's rows.
    """

    data: str
    judge: str
    criterion: str
    alpha: Level
    n: Count
    coverage: Proportion
    coverage_sd: NotNegative | None
    mean_size: NotNegative
    spearman: Correlation | None
    p_value: Proportion | None
    monotonic: bool | None
    published_coverage: Proportion | None = None
    published_size: NotNegative | None = None
    published_spearman: Correlation | None = None


@dataclass(frozen=True, kw_only=True)
class WidthPair:
    """Table 4: Spearman of two judges' set widths on the rows of a test half, mean over splits."""

    data: str
    judge_a: str
    judge_b: str
    criterion: str
    n: Count
    spearman: Correlation | None
    p_value: Proportion | None
    published: Correlation | None = None


@dataclass(frozen=True, kw_only=True)
class PooledErrors:
    """A panel of Figure 4: all judges' sets of a criterion (None: of all) at the first split.

    The interval leaves out one document at a time, also in the bins; `p_value` treats rows as
    independent, as the paper does.
    """

    data: str
    criterion: str | None
    n: Count
    spearman: Correlation | None
    p_value: Proportion | None
    interval: Interval | None
    bins: tuple[WidthBin, ...]
    published: Correlation | None = None


@dataclass(frozen=True)
class SetTables:
    """Tables 3 to 5 and Figure 4 of one set of scores."""

    cells: tuple[SetCell, ...]
    pairs: tuple[WidthPair, ...]
    pooled: tuple[PooledErrors, ...]


@dataclass(frozen=True)
class _Cell:
    """The rows of one judge and criterion: judge's score, people's, document, key."""

    number: int
    judge: str
    criterion: str
    score: FloatArray
    human: FloatArray
    document: IntArray
    key: IntArray

    @property
    def error(self) -> FloatArray:
        return np.abs(self.score - self.human)


def tabulate_sets(data: str, scores: Scores, *, splits: int = 20, seed: int = 0) -> SetTables:
    """The paper's tables of sets; `scores` comes from `prepare_scores`."""
    cells = _cells(
        split_by_judge(
            scored_by_both(scores).frame, scale=SCALE, target="mean", by=None, sets="residual"
        )
    )
    keys = 1 + max(int(cell.key.max()) for cell in cells)
    rng = generator(seed)
    # One permutation of the rows per split; a cell uses the first half of its rows in it.
    orders = [rng.permutation(keys) for _ in range(splits)]
    tests = [[_test_half(cell, order) for cell in cells] for order in orders]
    widths = {
        alpha: [[_widths(cell, test[cell.number], alpha) for cell in cells] for test in tests]
        for alpha in ALPHAS
    }
    main = widths[MAIN_ALPHA]
    return SetTables(
        tuple(
            _table_cell(data, cell, alpha, tests, [split[cell.number] for split in widths[alpha]])
            for cell in cells
            for alpha in ALPHAS
        ),
        tuple(_pairs(data, cells, tests, main)),
        tuple(_pooled(data, cells, tests[0], main[0])),
    )


def _cells(judges: Sequence[ScoreRows]) -> list[_Cell]:
    names = dict.fromkeys(key for rows in judges for key in rows.key.tolist())
    number = {name: at for at, name in enumerate(names)}
    parts = [
        (rows, criterion, own) for rows in judges for criterion, own in rows.by_criterion.items()
    ]
    return [
        _Cell(
            number=at,
            judge=rows.judge,
            criterion=criterion,
            score=rows.score[own],
            human=rows.target.score[own].astype(np.float64),
            document=rows.document[own],
            key=np.array([number[key] for key in rows.key[own].tolist()]),
        )
        for at, (rows, criterion, own) in enumerate(parts)
    ]


def _test_half(cell: _Cell, order: IntArray) -> BoolArray:
    """The half of a cell's rows that comes last in a random order of all rows."""
    place = np.argsort(np.argsort(order[cell.key]))
    return np.asarray(place >= len(place) // 2)


def _widths(cell: _Cell, test: BoolArray, alpha: float) -> _Sets:
    """Set sizes, and whether people's score is inside, of every row (Eq. 2 and 3)."""
    quantile = conformal_quantile(cell.error[~test], exact_level(alpha))
    reach = np.inf if quantile is None else quantile
    steps = np.arange(SCALE[0], SCALE[1] + 1)
    inside = np.abs(cell.score[:, None] - steps) <= reach + 1e-9
    return inside.sum(axis=1), np.asarray(cell.error <= reach + 1e-9)


def _table_cell(
    data: str,
    cell: _Cell,
    alpha: float,
    tests: Sequence[Sequence[BoolArray]],
    sets: Sequence[_Sets],
) -> SetCell:
    halves = [test[cell.number] for test in tests]
    coverage = [float(held[test].mean()) for test, (_, held) in zip(halves, sets, strict=True)]
    ranks = [
        spearman(width[test], cell.error[test])
        for test, (width, _) in zip(halves, sets, strict=True)
    ]
    rank, n = mean_known(ranks), int(halves[0].sum())
    paper = published_row("sets", cell.judge, criterion=cell.criterion, alpha=alpha)
    return SetCell(
        data=data,
        judge=cell.judge,
        criterion=cell.criterion,
        alpha=alpha,
        n=n,
        coverage=float(np.mean(coverage)),
        coverage_sd=float(np.std(coverage)),
        mean_size=float(
            np.mean([width[test].mean() for test, (width, _) in zip(halves, sets, strict=True)])
        ),
        spearman=rank,
        p_value=spearman_p(rank, n),
        monotonic=_monotonic(sets[0][0][halves[0]], cell.error[halves[0]]),
        published_coverage=paper.get("coverage"),
        published_size=paper.get("size"),
        published_spearman=paper.get("spearman"),
    )


def _monotonic(widths: IntArray, errors: FloatArray) -> bool | None:
    """Whether the mean error never falls as the width grows; None at one width."""
    means = [float(errors[widths == width].mean()) for width in np.unique(widths)]
    if len(means) < 2:
        return None
    return all(low <= high + 1e-12 for low, high in pairwise(means))


def _pairs(
    data: str,
    cells: Sequence[_Cell],
    tests: Sequence[Sequence[BoolArray]],
    sets: Sequence[Sequence[_Sets]],
) -> list[WidthPair]:
    parts = []
    for first, second in combinations(cells, 2):
        if first.criterion != second.criterion or first.judge == second.judge:
            continue
        _, mine, theirs = np.intersect1d(first.key, second.key, return_indices=True)
        values, rows = [], 0
        for test, widths in zip(tests, sets, strict=True):
            both = test[first.number][mine] & test[second.number][theirs]
            rows = max(rows, int(both.sum()))
            values.append(
                spearman(
                    widths[first.number][0][mine][both], widths[second.number][0][theirs][both]
                )
            )
        value = mean_known(values)
        parts.append(
            WidthPair(
                data=data,
                judge_a=first.judge,
                judge_b=second.judge,
                criterion=first.criterion,
                n=rows,
                spearman=value,
                p_value=spearman_p(value, rows),
                published=published_agreement(first.judge, second.judge, first.criterion),
            )
        )
    return parts


def _pooled(
    data: str, cells: Sequence[_Cell], test: Sequence[BoolArray], sets: Sequence[_Sets]
) -> list[PooledErrors]:
    """All criteria, then each of them, on the test rows of one split."""
    groups: dict[str | None, list[_Cell]] = {None: list(cells)}
    for cell in cells:
        groups.setdefault(cell.criterion, []).append(cell)
    parts = []
    for criterion, own in groups.items():
        width = np.concatenate([sets[cell.number][0][test[cell.number]] for cell in own])
        error = np.concatenate([cell.error[test[cell.number]] for cell in own])
        document = np.concatenate([cell.document[test[cell.number]] for cell in own])
        value = spearman(width, error)
        parts.append(
            PooledErrors(
                data=data,
                criterion=criterion,
                n=len(width),
                spearman=value,
                p_value=spearman_p(value, len(width)),
                interval=interval_of(*spearman_interval(width, error, document)),
                bins=error_by_width(width, error, document, SCALE, 0.95),
                published=published_pooled(criterion),
            )
        )
    return parts
