"""Results for class verdicts: the confusion matrix's inverse, or one class against the rest."""

from __future__ import annotations

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.estimation.inputs import Rows
from adjudge.estimation.methods import choose, run
from adjudge.estimation.multiclass import ASSUMPTION, class_shares
from adjudge.estimation.outcome import clip
from adjudge.estimation.pooling import POOLING
from adjudge.estimation.sample import Sample
from adjudge.results.estimation import ClassEstimate, ClassRate, GroupedEstimate


def check_classes(
    method: str, interval: str, compare: object, cluster: object, strata: object
) -> None:
    """Refuse options that only 0/1 verdicts have."""
    remedy = "is for 0/1 verdicts; name the class that counts as 1: --positive NAME (positive=)"
    for name, value, bad in (
        ("interval", interval, interval == "profile"),
        ("method", method, method == "conditional"),
        ("compare", compare, compare is not None),
        ("cluster", "given", cluster is not None),
        ("strata", "given", strata is not None),
    ):
        if bad:
            raise ArgumentError(name, value, remedy)


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
    found = class_shares(verdicts, labels, test, names, confidence_level=level)
    numbers: list[tuple[float | None, float | None, float | None]]
    warnings, reason, assumption = found.warnings, found.reason, ASSUMPTION
    if method == "misclassification":
        if found.shares is None or found.low is None or found.high is None:
            numbers = [(None, None, None)] * len(names)
        else:
            numbers = [
                (clip(s), float(lo), float(hi))
                for s, lo, hi in zip(found.shares, found.low, found.high, strict=True)
            ]
    else:
        numbers, warnings, reason = [], (), None
        for code in range(len(names)):
            human = np.where(known, labels == code, -1).astype(np.int64)
            one = Sample((verdicts == code).astype(np.float64), human, test, known)
            got, _, assumption = run(one, method, confidence_level=level)
            reason = reason or got.reason
            numbers.append(
                (None if got.estimate is None else clip(got.estimate), got.low, got.high)
            )
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
        condition_number=found.condition_number,
        reason=reason,
        n_test=n,
        n_calibration=int(known.sum()),
        group=group,
        assumptions=(assumption, "rows are independent of each other"),
        why=why,
        warnings=warnings,
        dropped=dropped,
    )
