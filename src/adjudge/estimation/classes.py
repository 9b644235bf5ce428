"""Results for class verdicts: the confusion matrix's inverse, or one class against the rest."""

from __future__ import annotations

import numpy as np

from adjudge._validation import BoolArray, IntArray, one_of
from adjudge.errors import ArgumentError
from adjudge.estimation.inputs import Rows
from adjudge.estimation.methods import INTERVALS, choose, independence, run
from adjudge.estimation.multiclass import ASSUMPTION, class_shares
from adjudge.estimation.outcome import clip
from adjudge.estimation.pooling import POOLING
from adjudge.estimation.sample import Sample
from adjudge.results.estimation import ClassEstimate, ClassRate, GroupedEstimate

Number = tuple[float | None, float | None, float | None]
_ONE_CLASS = (
    "report the profile interval of one class, which holds its level: --positive NAME "
    "--interval profile"
)


def check_classes(rows: Rows, method: str, interval: str, compare: object) -> None:
    """Refuse options that only 0/1 verdicts have."""
    one_of(interval, INTERVALS, "interval")
    for name, value, bad in (
        ("interval", interval, interval == "profile"),
        ("method", method, method == "conditional"),
        ("compare", compare, compare is not None),
        ("strata", f"{len(rows.strata_names)} strata", rows.strata is not None),
    ):
        if bad:
            raise ArgumentError(
                name,
                value,
                f"is for one class against the rest; these rows hold {', '.join(rows.names)}: name "
                "the one that counts as 1, --positive NAME (positive=)",
            )


def estimate_classes(
    rows: Rows,
    method: str,
    labels_are_random: bool,
    by: object,
    pool: bool,
    level: float,
) -> ClassEstimate | GroupedEstimate:
    """Corrected shares of all classes, for all rows or by group."""
    chosen, why = choose(method, labels_are_random=labels_are_random, planned=False)
    if by is None:
        everyone = np.ones(len(rows.verdicts), dtype=bool)
        return _class_estimate(rows, everyone, everyone, chosen, why, level, rows.dropped, None)
    groups = []
    for code, name in enumerate(rows.group_names):
        mine = np.asarray(rows.groups == code)
        calibrating = np.ones_like(mine) if pool else mine
        groups.append(_class_estimate(rows, mine, calibrating, chosen, why, level, {}, name))
    return GroupedEstimate(
        method=chosen,
        interval="wald",
        confidence_level=level,
        by=by if isinstance(by, str) else "by",
        pooled=pool,
        groups=tuple(groups),
        warnings=(POOLING,) if pool else (),
        dropped=rows.dropped,
    )


def _class_estimate(
    rows: Rows,
    mine: np.ndarray,
    calibrating: np.ndarray,
    method: str,
    why: str,
    level: float,
    dropped: dict[str, int],
    group: str | None,
) -> ClassEstimate:
    verdicts, names = rows.verdicts, rows.names
    labels = np.where(calibrating, rows.labels, -1)
    test = np.asarray(mine & (rows.labels < 0))
    n = int(test.sum())
    seen = np.bincount(verdicts[test], minlength=len(names)) / max(n, 1)
    known = labels >= 0
    per_class = np.bincount(labels[known], minlength=len(names))
    found = class_shares(
        verdicts, labels, test, names, clusters=rows.clusters, confidence_level=level
    )
    warnings, reason, assumption = found.warnings, found.reason, ASSUMPTION
    numbers: list[Number] = [(None, None, None)] * len(names)
    condition = found.condition_number
    if method != "misclassification" or (found.shares is not None and len(names) == 2):
        # Two classes are one class against the rest: the interval of Eq. 6 itself.
        numbers, warnings, reason, assumption = _one_by_one(rows, labels, test, method, level)
        condition = None
    elif found.shares is not None and found.low is not None and found.high is not None:
        ends = zip(found.shares, found.low, found.high, strict=True)
        numbers = [(clip(share), float(low), float(high)) for share, low, high in ends]
    recall = [None] * len(names) if found.confusion is None else np.diag(found.confusion).tolist()
    return ClassEstimate(
        method=method,
        interval="wald",
        confidence_level=level,
        classes=tuple(
            ClassRate(
                label=name,
                estimate=numbers[i][0],
                low=numbers[i][1],
                high=numbers[i][2],
                naive=float(seen[i]),
                n_calibration=int(per_class[i]),
                recall=recall[i],
            )
            for i, name in enumerate(names)
        ),
        confusion=None
        if found.confusion is None
        else tuple(tuple(row) for row in found.confusion.tolist()),
        condition_number=condition,
        reason=reason,
        n_test=n,
        n_calibration=int(known.sum()),
        group=group,
        assumptions=(assumption, independence(rows.clusters is not None)),
        why=why,
        warnings=warnings,
        dropped=dropped,
    )


def _one_by_one(
    rows: Rows, labels: IntArray, test: BoolArray, method: str, level: float
) -> tuple[list[Number], tuple[str, ...], str | None, str]:
    """Each class against the rest: numbers, warnings, the first reason for none, the assumption."""
    known = labels >= 0
    remedy = "label more rows" if rows.clusters is not None else _ONE_CLASS
    numbers: list[Number] = []
    warnings: dict[str, None] = {}
    reason, assumption = None, ""
    for code, name in enumerate(rows.names):
        human = np.where(known, labels == code, -1).astype(np.int64)
        judge = (rows.verdicts == code).astype(np.float64)
        one = Sample(judge, human, test, known, clusters=rows.clusters)
        got, _, assumption = run(one, method, confidence_level=level)
        if got.reason is not None:
            reason = reason or f"{name}: {got.reason}"
        warnings |= dict.fromkeys((*got.warnings, *(f"{text}; {remedy}" for text in got.doubts)))
        estimate = None if got.estimate is None else clip(got.estimate)
        numbers.append((estimate, got.low, got.high))
    return numbers, tuple(warnings), reason, assumption
