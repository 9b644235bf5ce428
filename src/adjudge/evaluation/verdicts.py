"""One judge's verdicts against people's labels: agreement, its two bars, the matrix, kappa.

Agreement is the share of labelled rows whose verdict is the label; a row without a verdict does not
agree. Its first bar is the best constant answer, its second how often two people agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from adjudge.diagnosis.agreement import agreement
from adjudge.evaluation.shares import LabelledRows, RowsByVerdict, clusters_of
from adjudge.evaluation.slices import SliceErrors
from adjudge.present.result import Check, Correlation, Count, NotNegative, Proportion, at_most
from adjudge.records import HasInterval, Interval
from adjudge.statistics.by_verdict import Measured
from adjudge.statistics.clusters import count_clusters
from adjudge.validation import BoolArray, FloatArray, IntArray

#: The column of the matrix for rows without a verdict.
NO_VERDICT = "no verdict"


@dataclass(frozen=True, kw_only=True)
class ClassAgreement(HasInterval):
    """How often the judge says a word where people do, and people where the judge does."""

    name: str
    people: Count
    judge: Count
    share_of_people: Proportion | None
    interval: Interval | None
    share_of_judge: Proportion | None
    judge_interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class PeopleAgreement(HasInterval):
    """How often two people agree, and one of them with the judge, on rows of several raters."""

    n: Count
    share: Proportion
    interval: Interval | None
    with_judge: Proportion
    gap_interval: Interval | None


def _matrix_of_names(judge: VerdictAgreement) -> str | None:
    """A row of the matrix for each name, with a column for each and one for no verdict."""
    size = len(judge.names)
    fits = len(judge.matrix) == size and all(len(row) == size + 1 for row in judge.matrix)
    return None if fits else "the matrix does not fit its names"


@dataclass(frozen=True, kw_only=True)
class VerdictAgreement(HasInterval):
    """The verdicts of one judge on `n` labelled rows of `n_rows`.

    `gain` is how much more often the judge agrees with people than the best constant answer.
    `matrix` has a row for each of people's `names` and a column for each verdict: the names, then
    none.
    """

    judge: str | None
    n: Count
    n_rows: Count
    clusters: Count
    agreement: Proportion | None
    interval: Interval | None
    constant: str
    gain: Correlation | None
    gain_interval: Interval | None
    kappa: Correlation | None
    kappa_interval: Interval | None
    names: tuple[str, ...]
    matrix: tuple[tuple[Count, ...], ...]
    classes: tuple[ClassAgreement, ...]
    people: PeopleAgreement | None
    slices: tuple[SliceErrors, ...] = ()
    cost: NotNegative | None = None

    checks: ClassVar[tuple[Check, ...]] = (at_most("n", "n_rows"), _matrix_of_names)

    @property
    def errors(self) -> int:
        """How many labelled rows have another verdict than the label, or none."""
        return self.n - sum(row[at] for at, row in enumerate(self.matrix))

    @property
    def n_no_verdict(self) -> int:
        """How many labelled rows have no verdict."""
        return sum(row[-1] for row in self.matrix)


@dataclass(frozen=True, kw_only=True)
class JudgedWords:
    """All rows of one judge: its verdict (null: none) and people's label (null: none) as words.

    `raters` has the labels of all people of a row. `by_verdict`: each verdict has its own share of
    labels; otherwise the labelled rows are a sample, with `weights` if a plan drew them.
    """

    judge: str | None = None
    verdicts: pl.Series
    labels: pl.Series
    clusters: IntArray | None = None
    weights: FloatArray | None = None
    by_verdict: bool = False
    raters: pl.Series | None = None
    cost: float | None = None
    seed: int = 0

    @cached_property
    def labelled(self) -> BoolArray:
        """Which rows have a label."""
        return self.labels.is_not_null().to_numpy()

    @cached_property
    def errors(self) -> BoolArray:
        """Which labelled rows have another verdict than the label, or none."""
        agree = (self.verdicts == self.labels).fill_null(False).to_numpy()
        return np.asarray(~agree[self.labelled])

    def codes(self, names: Sequence[str], level: float) -> LabelledRows | RowsByVerdict:
        """The rows as codes into the names."""
        verdicts = _codes(self.verdicts, names)
        labels = _codes(self.labels, names)
        labels[~self.labelled] = -1
        if self.by_verdict:
            return RowsByVerdict(
                verdicts=verdicts,
                labels=labels,
                size=len(names),
                clusters=self.clusters,
                level=level,
                seed=self.seed,
            )
        here = self.labelled
        return LabelledRows(
            verdicts=verdicts[here],
            labels=labels[here],
            size=len(names),
            clusters=self.labelled_clusters,
            weights=None if self.weights is None else self.weights[here],
            level=level,
            seed=self.seed,
        )

    @property
    def labelled_clusters(self) -> IntArray | None:
        """The clusters of the labelled rows; None if every row is by itself."""
        if self.clusters is None:
            return None
        clusters = self.clusters[self.labelled]
        return None if count_clusters(clusters) == len(clusters) else clusters


def measure_verdicts(
    rows: JudgedWords, confidence_level: float = 0.95, slices: Sequence[SliceErrors] = ()
) -> VerdictAgreement:
    """Agreement of a judge with people.

    The gain over the best constant answer is a paired difference. The best constant is chosen by
    the same labels, so both ends of its interval are the lowest over all constants: it is then
    about the constant that is best in truth.

    >>> verdicts, labels = ["pass"] * 70 + ["fail"] * 30, ["pass"] * 60 + ["fail"] * 40
    >>> words = JudgedWords(verdicts=pl.Series(verdicts), labels=pl.Series(labels))
    >>> done = measure_verdicts(words)
    >>> done.agreement, done.constant, round(done.gain, 2), done.matrix
    (0.9, 'pass', 0.3, ((60, 0, 0), (10, 30, 0)))
    """
    words = pl.concat([rows.labels.drop_nulls(), rows.verdicts.drop_nulls()])
    names = _in_order(words.unique().to_list())
    size = len(names)
    codes = rows.codes(names, confidence_level)
    labelled = codes.labels >= 0
    cells = codes.labels[labelled] * (size + 1) + codes.verdicts[labelled]
    matrix = np.bincount(cells, minlength=size * (size + 1)).reshape(size, size + 1)
    diagonal = np.eye(size + 1, size, dtype=np.bool_)
    agreement_with_people = codes.share(diagonal)
    gains = [codes.difference(diagonal - _column(size, at).astype(float)) for at in range(size)]
    constant, gain = _best_constant(gains, matrix, confidence_level)
    kappa = codes.kappa()
    return VerdictAgreement(
        judge=rows.judge,
        n=int(labelled.sum()),
        n_rows=len(rows.labels),
        clusters=clusters_of(rows.labelled_clusters, int(labelled.sum())),
        agreement=agreement_with_people.estimate,
        interval=agreement_with_people.interval,
        constant=names[constant],
        gain=gain.estimate,
        gain_interval=gain.interval,
        kappa=kappa.estimate,
        kappa_interval=kappa.interval,
        names=tuple(names),
        matrix=tuple(map(tuple, matrix.tolist())),
        classes=tuple(_of_class(name, at, codes, matrix) for at, name in enumerate(names)),
        people=_people(rows, confidence_level),
        slices=tuple(slices),
        cost=rows.cost,
    )


def _best_constant(
    gains: Sequence[Measured], matrix: IntArray, level: float
) -> tuple[int, Measured]:
    """The constant answer that agrees most, and the gain over it."""
    estimates = [gain.estimate for gain in gains]
    known = [at for at, estimate in enumerate(estimates) if estimate is not None]
    if not known:
        # A verdict without a label: which constant is best is not known.
        return int(matrix.sum(axis=1).argmax()), Measured(None, None)
    best = min(known, key=lambda at: estimates[at] or 0.0)
    ends = [gain.interval for gain in gains if gain.interval is not None]
    lows = [each.low for each in ends if each.low is not None]
    highs = [each.high for each in ends if each.high is not None]
    interval = Interval(min(lows), min(highs), level=level) if lows and highs else None
    return best, Measured(estimates[best], interval)


def _column(size: int, label: int) -> BoolArray:
    """The cells of rows with this label."""
    cells = np.zeros((size + 1, size), dtype=np.bool_)
    cells[:, label] = True
    return cells


def _row(size: int, verdict: int) -> BoolArray:
    """The cells of rows with this verdict."""
    cells = np.zeros((size + 1, size), dtype=np.bool_)
    cells[verdict] = True
    return cells


def _of_class(
    name: str, at: int, codes: LabelledRows | RowsByVerdict, matrix: IntArray
) -> ClassAgreement:
    size = codes.size
    people = codes.share(_row(size, at), among=_column(size, at))
    judge = codes.share(_column(size, at), among=_row(size, at))
    return ClassAgreement(
        name=name,
        people=int(matrix[at].sum()),
        judge=int(matrix[:, at].sum()),
        share_of_people=people.estimate,
        interval=people.interval,
        share_of_judge=judge.estimate,
        judge_interval=judge.interval,
    )


def _in_order(words: Sequence[str]) -> list[str]:
    """The words in order; pass before fail, as A is before B."""
    return sorted(words, key=lambda word: (word != "pass", word))


def _codes(words: pl.Series, names: Sequence[str]) -> IntArray:
    """Positions among the names; after the last for no word."""
    places = {name: at for at, name in enumerate(names)}
    codes = words.replace_strict(places, default=len(names), return_dtype=pl.Int64)
    return codes.fill_null(len(names)).to_numpy(writable=True)


def _people(rows: JudgedWords, level: float) -> PeopleAgreement | None:
    """How often two people agree, from rows that several labelled; None if there are none."""
    if rows.raters is None:
        return None
    labels = rows.raters.list.drop_nulls()
    several = (labels.list.len() > 1).fill_null(False)
    if not several.any():
        return None
    lists = labels.filter(several).to_list()
    width = max(map(len, lists))
    table = [(each + [None] * width)[:width] for each in lists]
    verdicts = rows.verdicts.filter(several).fill_null(NO_VERDICT).to_list()
    clusters = None if rows.clusters is None else rows.clusters[several.to_numpy()]
    both = agreement(verdicts, table, clusters=clusters, confidence_level=level)
    if (people := both.ceiling) is None:
        return None
    return PeopleAgreement(
        n=people.n,
        share=people.raw,
        interval=people.interval,
        with_judge=both.raw,
        gap_interval=people.gap_interval,
    )
