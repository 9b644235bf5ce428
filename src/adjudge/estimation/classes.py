"""More than two classes (a tie is a class): the inverse of the judge-by-human confusion matrix.

Other methods than misclassification, and two classes, compare each class with the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError
from adjudge.estimation.estimators import known_estimator
from adjudge.estimation.estimators.alone import HUMAN_ONLY
from adjudge.estimation.estimators.base import Outcome, refusal, refuse_everything
from adjudge.estimation.estimators.conditional import OF_ALL_ROWS
from adjudge.estimation.rate import (
    INTERVALS,
    EstimateResult,
    RateInterval,
    Request,
    independence,
)
from adjudge.estimation.rate_view import (
    IN_A_SENTENCE,
    Rate,
    assumes_of,
    describe_outside,
    sentence,
)
from adjudge.estimation.sample import TOO_FEW, UNLABELLED, Sample, clamp, few_clusters, spread
from adjudge.present.blocks import Block, Columns, Headline, Table, table_of
from adjudge.present.result import Count, Proportion, frozen
from adjudge.present.text import count, level, number, show_interval
from adjudge.records import Interval
from adjudge.statistics.by_verdict import column_share, measure_clustered, tables_of_rows
from adjudge.statistics.clusters import count_clusters, freedom_of
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray, one_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_ONE_CLASS = (
    "report the profile interval of one class, which keeps its level: --positive NAME "
    "--interval profile"
)


#: What the inverse of the matrix assumes.
_ASSUMPTION = (
    "within each human class, the judge has the same error rates on labelled and on test rows "
    "(same column of the confusion matrix); the shares of the classes can differ"
)


@dataclass(frozen=True, kw_only=True)
class ClassRate(Rate):
    """The corrected share of one class."""

    label: str
    estimate: float | None
    interval: Interval | None
    naive: float | None
    n_calibration: Count
    recall: Proportion | None
    human_only: Proportion | None = None
    human_only_interval: Interval | None = None


@frozen
class ClassEstimate(EstimateResult):
    """Corrected shares of more than two classes, from the inverse of the confusion matrix."""

    kind: ClassVar[str] = "class_estimate"

    method: str
    interval_method: str
    classes: tuple[ClassRate, ...]
    confusion: tuple[tuple[float, ...], ...] | None
    condition_number: float | None
    reason: str | None = None
    n_test: Count
    n_calibration: Count
    #: Rows that test and calibrate, if labels were drawn by verdict.
    n_both: Count = 0
    group: str | None = None
    assumptions: tuple[str, ...]
    why: str

    @property
    def estimated(self) -> bool:
        """Whether every class has a number: a share, or an interval alone."""
        return all(rate.interval is not None for rate in self.classes)

    @property
    def n(self) -> int:
        """All rows, with and without a label."""
        return self.n_test + self.n_calibration - self.n_both

    @property
    def n_labels(self) -> int:
        """The rows with a label, which calibrate."""
        return self.n_calibration

    def _parts(self) -> Sequence[Any]:
        return [{"group": self.group, **vars(rate)} for rate in self.classes]

    def intervals(self) -> list[RateInterval]:
        """The share of each class with its interval."""
        group = f"{self.group}, " if self.group else ""
        return [RateInterval.of(rate, f"{group}{rate.label}", self) for rate in self.classes]

    def view(self) -> list[Block]:
        return self.show(
            _class_headline(self),
            class_table(self, detail=self.reason is None and len(self.classes) <= IN_A_SENTENCE),
            assumptions=self.assumptions,
            assumes=assumes_of(self.method, ""),
            others=[f"method: {self.why}"],
            figure=(
                "shares",
                class_figure,
                f"Corrected and naive share of each class, with {level(self.confidence_level)} "
                "intervals of the corrected ones.",
            ),
        )


# --- the numbers ---


def check_classes(rows: Grades, method: str, interval: str) -> None:
    """Refuse options that exist only for 0/1 verdicts."""
    one_of(interval, INTERVALS, "interval")
    for name, value, bad in (
        ("interval", interval, interval == "profile"),
        ("method", method, known_estimator(method).needs_verdicts),
        ("strata", f"{len(rows.strata_names)} strata", rows.strata is not None),
    ):
        if bad:
            remedy = "name the class that counts as 1, --positive NAME (positive=)"
            rest = f"is for one class against the rest, but these rows have {', '.join(rows.names)}"
            raise ArgumentError(name, value, f"{rest}: {remedy}")


def estimate_classes(
    rows: Grades,
    request: Request,
    members: BoolArray,
    calibrating: BoolArray,
    *,
    group: str | None = None,
    dropped: Mapping[str, int] | None = None,
) -> ClassEstimate:
    """Corrected shares of all classes in these rows, with the labels of the calibrating ones."""
    verdicts = rows.verdicts
    names = rows.names
    estimator = request.estimator
    confidence = request.confidence_level
    labels = np.where(calibrating, rows.labels, -1)
    by_verdict = request.labels_drawn == "verdict"
    test = np.asarray(members & (by_verdict | (rows.labels < 0)))
    n = int(test.sum())
    # The judge's own share is of the rows that the corrected one is about.
    about = members if request.random_labels or n == 0 else test
    seen = np.bincount(verdicts[about], minlength=len(names)) / max(int(about.sum()), 1)
    labelled = labels >= 0
    per_class = np.bincount(labels[labelled], minlength=len(names))
    matrix = class_shares(
        verdicts, labels, test, names, clusters=rows.clusters, confidence_level=confidence
    )
    samples = []
    for code in range(len(names)):  # one class as 1 and all others as 0
        human = np.where(labelled, labels == code, UNLABELLED).astype(np.float64)
        judge = (verdicts == code).astype(np.float64)
        samples.append(Sample(judge, human, test, labelled, clusters=rows.clusters))
    warnings = matrix.warnings
    reason = matrix.reason
    assumption = _ASSUMPTION
    interval = "wald"
    condition = matrix.condition_number
    outcomes = [Outcome()] * len(names)
    if by_verdict:
        outcomes, matrix = _by_verdict(rows, labels, members, confidence)
        interval = "jeffreys"
        assumption = OF_ALL_ROWS
        reason = None
        condition = None
        warnings = matrix.warnings
    elif not estimator.has_matrix or (matrix.shares is not None and len(names) == 2):
        # Two classes are one class against the rest: the interval of Eq. 6 itself.
        outcomes = [estimator.estimate(sample, confidence_level=confidence) for sample in samples]
        interval = estimator.interval(samples[0])
        assumption = estimator.assumption_for(samples[0])
        reason = None
        condition = None
        remedy = "label more rows" if rows.clusters is not None else _ONE_CLASS
        texts = [(*o.warnings, *(f"{text}; {remedy}" for text in o.doubts)) for o in outcomes]
        warnings = tuple(dict.fromkeys(chain(*texts)))
    elif matrix.shares is not None and matrix.low is not None and matrix.high is not None:
        outcomes = [
            refuse_everything(Outcome(clamp(share), float(low), float(high)))
            for share, low, high in zip(matrix.shares, matrix.low, matrix.high, strict=True)
        ]
    reasons = zip(names, (outcome.reason for outcome in outcomes), strict=True)
    reason = next((f"{name}: {text}" for name, text in reasons if text is not None), reason)
    confusion = None if matrix.confusion is None else matrix.confusion.tolist()
    classes = []
    for i, name in enumerate(names):
        people = Outcome()
        if not by_verdict:
            people = HUMAN_ONLY.estimate(samples[i], confidence_level=confidence)
        rate = ClassRate(
            label=name,
            estimate=outcomes[i].rate,
            interval=outcomes[i].interval(confidence),
            naive=float(seen[i]) if about.any() else None,
            n_calibration=int(per_class[i]),
            recall=None if confusion is None else confusion[i][i],
            human_only=people.rate,
            human_only_interval=people.interval(confidence),
        )
        classes.append(rate)
    return ClassEstimate(
        method=estimator.name,
        interval_method=interval,
        confidence_level=confidence,
        classes=tuple(classes),
        confusion=None if confusion is None else tuple(map(tuple, confusion)),
        condition_number=condition,
        reason=reason,
        n_test=n,
        n_calibration=int(labelled.sum()),
        n_both=int(labelled.sum()) if by_verdict else 0,
        group=group,
        assumptions=(assumption, independence(rows.clusters is not None), *request.notes),
        why=request.why,
        warnings=warnings,
        dropped=dropped or {},
    )


def _by_verdict(
    rows: Grades, labels: IntArray, members: BoolArray, level: float
) -> tuple[list[Outcome], ClassShares]:
    """The share of each class from labels drawn by verdict, and how often the judge is right."""
    verdicts = rows.verdicts[members]
    labels = labels[members]
    size = len(rows.names)
    tables = tables_of_rows(verdicts, labels, size)
    codes = None if rows.clusters is None else rows.clusters[members]
    refused = "too few verdicts have a label"
    warnings: tuple[str, ...] = ()
    if codes is not None:
        of_labels = codes[labels >= 0]
        active = count_clusters(of_labels)
        warnings = few_clusters(active, freedom_of(of_labels))
        refused = TOO_FEW if active < 2 else refused
    outcomes = []
    for code, name in enumerate(rows.names):
        value = measure_clustered(
            tables, partial(column_share, code), verdicts, labels, codes, confidence_level=level
        )
        if value.interval is None:
            outcomes.append(refusal(refused))
            continue
        alone = f"a verdict has no label, so {name} has an interval alone"
        reason = alone if value.estimate is None else None
        low, high = value.interval
        outcomes.append(Outcome(value.estimate, low, high, reason=reason))
    shares = tables.estimate[:size]  # without the rows that have no verdict
    total = shares.sum(axis=0)
    with np.errstate(invalid="ignore"):
        confusion = shares / np.where(total > 0, total, np.nan)
    if not np.isfinite(confusion).all():
        return outcomes, ClassShares(warnings=warnings)
    return outcomes, ClassShares(confusion=confusion, warnings=warnings)


class ClassShares(NamedTuple):
    """Raw corrected shares, clipped intervals and the matrix; or the `reason`, if no inverse."""

    shares: FloatArray | None = None
    covariance: FloatArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    confusion: FloatArray | None = None
    condition_number: float | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def class_shares(
    verdicts: IntArray,
    labels: IntArray,
    test: BoolArray,
    names: tuple[str, ...],
    *,
    clusters: IntArray | None = None,
    confidence_level: float = 0.95,
) -> ClassShares:
    """theta = M^-1 p, M[a, b] = P(verdict a | human class b), p the verdicts' shares on test rows.

    Covariance: M^-1 [S(p)/n + sum_b theta_b^2 S(M_b)/m_b] M^-T with S(v) = diag(v) - v v'. For two
    classes these are Eq. 5 and Eq. 9. Intervals are like Eq. 6 without its shift: normal, around
    the estimate from counts with 2/K added to each cell of a column and z^2/K to each verdict.
    Clusters widen them by the design effect of each class's influence values. The matrix must have
    full rank and a positive determinant (for two classes: q0 + q1 > 1). Codes start at 0; -1 in
    `labels` marks an unlabelled row. No result if a class's entire interval is outside [0, 1].

    Measured coverage at 95 %, three classes, 60 to 500 random labels, 1,500 samples: 0.927 or
    more. It is below 0.945 only for a class of which the judge detects less than half.

    >>> v = np.array([0] * 9 + [1] * 9 + [2] * 9 + [0, 1, 2])
    >>> z = np.array([0] * 9 + [1] * 9 + [2] * 9 + [-1] * 3)
    >>> class_shares(v, z, z < 0, ("A", "B", "tie")).shares.round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    size = len(names)
    labelled = labels >= 0
    table = np.zeros((size, size))
    np.add.at(table, (verdicts[labelled], labels[labelled]), 1)
    per_class = table.sum(axis=0)
    seen = np.bincount(verdicts[test], minlength=size).astype(np.float64)
    n = float(seen.sum())
    absent = [names[b] for b in np.flatnonzero(per_class == 0)]
    if n == 0:
        return _refuse("every row has a human label, so no row is left for the judge alone")
    if absent:
        return _refuse(
            f"no row with human label {', '.join(absent)}, so the judge's errors there are "
            "unknown; label more rows, or recode the classes"
        )
    never = [names[a] for a in np.flatnonzero((table.sum(axis=1) == 0) & (seen == 0))]
    if never:
        return _refuse(
            f"the judge never says {', '.join(never)}, but people do: its verdicts cannot show "
            "how often; ask the judge for it, or merge or drop that class"
        )
    active = None
    freedom = None
    if clusters is not None:
        freedom = freedom_of(clusters[labelled])
        active = min(count_clusters(clusters[rows]) for rows in (labelled, test))
        if active < 2:
            return _refuse(TOO_FEW)
    confusion = table / per_class
    singular = np.linalg.svd(confusion, compute_uv=False)
    if singular[-1] < 1e-9 or np.linalg.det(confusion) <= 0:
        return _refuse(
            "the judge's confusion matrix has no usable inverse (determinant not above zero): its "
            "verdicts do not separate the human classes; merge classes, label more rows, or use "
            "another judge",
            confusion,
        )
    shares, covariance = _solve(confusion, seen / n, n, per_class)
    z = normal_quantile(confidence_level)
    smooth = (table + 2 / size) / (per_class + 2)
    warnings = few_clusters(active, freedom)
    if np.linalg.det(smooth) <= 0:
        return _refuse(
            "after the adjustment for small samples the confusion matrix has no usable inverse; "
            "label more rows",
            confusion,
        )
    padded = n + z**2
    centre, adjusted = _solve(smooth, (seen + z**2 / size) / padded, padded, per_class + 2)
    half = np.sqrt(np.diag(adjusted))
    for b, influence in enumerate(_influences(confusion, shares, verdicts, labels, test)):
        widened = spread(influence, clusters, active, labelled, confidence_level, freedom)
        half[b] *= widened.critical * widened.inflation
    variances = ((1 - v @ v) / m for v, m in zip(confusion.T, per_class, strict=True))
    noise = float(np.sqrt(sum(variances)))
    condition = float(singular[0] / singular[-1])
    if singular[-1] < 2 * noise:
        warnings += (
            f"the smallest singular value of the confusion matrix, {singular[-1]:.2f}, is less "
            f"than twice its noise ({noise:.2f}): the shares depend on few labels; label more "
            "rows, merge classes, or estimate one class: --positive NAME (positive=)",
        )
    if per_class.min() < 20:
        scarce = np.flatnonzero(per_class < 20)
        few = ", ".join(f"{names[b]} {int(per_class[b])}" for b in scarce)
        warnings += (
            f"few labels in some classes ({few}): the normal interval is approximate; label more "
            "rows of them",
        )
    out = np.flatnonzero((centre - half >= 1) | (centre + half <= 0))
    if out.size:
        shown = ", ".join(f"{names[b]} {shares[b]:.3f}" for b in out)
        return _refuse(
            f"before clipping, some shares ({shown}) had their entire interval outside [0, 1]: the "
            "judge's errors on these test rows differ from those on the labelled ones, so these "
            "labels cannot correct them; label some of these test rows",
            confusion,
        )
    low = np.clip(centre - half, 0, 1)
    high = np.clip(centre + half, 0, 1)
    return ClassShares(shares, covariance, low, high, confusion, condition, None, warnings)


def _solve(
    confusion: FloatArray, seen: FloatArray, n: float, per_class: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Shares and their covariance."""
    inverse = np.linalg.inv(confusion)
    shares = inverse @ seen
    inner = (np.diag(seen) - np.outer(seen, seen)) / n
    for b, weight in enumerate(shares):
        column = confusion[:, b]
        inner += weight**2 * (np.diag(column) - np.outer(column, column)) / per_class[b]
    return shares, inverse @ inner @ inverse.T


def _influences(
    confusion: FloatArray, shares: FloatArray, verdicts: IntArray, labels: IntArray, test: BoolArray
) -> FloatArray:
    """Each row's contribution to the error of each class's share, one line per class.

    M^-1 (e_x - p)/n on test rows and -theta_b M^-1 (e_x - M_b)/m_b on labelled rows of class b,
    with e_x the verdict's unit vector; M^-1 p = theta and M^-1 M_b = e_b.
    """
    columns = np.linalg.inv(confusion)[:, verdicts]
    labelled = labels >= 0
    classes = labels[labelled]
    weight = (shares / np.bincount(classes, minlength=len(shares)))[classes]
    values = np.where(test, (columns - shares[:, None]) / test.sum(), 0.0)
    values[:, labelled] -= weight * (columns[:, labelled] - np.eye(len(shares))[:, classes])
    return values


def _refuse(reason: str, confusion: FloatArray | None = None) -> ClassShares:
    return ClassShares(confusion=confusion, reason=reason)


# --- the view ---


def _class_headline(result: ClassEstimate) -> Headline:
    if not result.estimated:
        text = f"no {result.method} estimate: {result.reason}"
        return Headline(sentence(result.group, text), tone="bad")
    text = f"class shares by {result.method}, {level(result.confidence_level)} intervals"
    if len(result.classes) <= IN_A_SENTENCE:
        shares = ", ".join(f"{rate.label} {rate.text}" for rate in result.classes)
        decision = sentence(result.group, shares)
        text = f"{text}: {shares}"
        return Headline(sentence(result.group, text), result.reason or "", decision=decision)
    return Headline(sentence(result.group, text), result.reason or "")


def class_table(result: ClassEstimate, *, detail: bool = False) -> Table:
    """A line for each class; folded if the headline has them all."""
    columns: Columns[ClassRate] = {
        "class": lambda c: c.label,
        "share": lambda c: number(c.estimate),
        f"{level(result.confidence_level)} interval": lambda c: show_interval(c.interval),
        "naive share": lambda c: number(c.naive),
        "people alone": lambda c: show_interval(c.human_only_interval),
        "recall": lambda c: number(c.recall),
        "labels": lambda c: number(c.n_calibration),
    }
    caption = f"{count(result.n_calibration, 'human label')}, {count(result.n_test, 'test row')}"
    if result.condition_number is not None:
        condition = number(result.condition_number, 2)
        caption += f"; condition number of the confusion matrix {condition}"
    return table_of(result.classes, columns, caption=caption, detail=detail)


def class_figure(result: ClassEstimate) -> Drawing:
    """The share of each class, the judge's own and the one to report."""
    classes = result.classes
    title = f"No {result.method} estimate from these labels"
    if result.estimated:
        title = describe_outside("share", classes, "classes")
    rows = [rate.row(rate.label, rate.naive) for rate in classes]
    dot = known_estimator(result.method).title.replace("rate", "share")
    return result.draw(rows, title, dot=dot, quantity="share of the class")
