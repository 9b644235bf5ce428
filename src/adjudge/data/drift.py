"""Drift: do the new scores look like the scores that a policy or anchors were made from?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from adjudge.present.result import Count, Proportion
from adjudge.validation import finite

#: A difference is reported as drift if chance explains it this rarely ...
DRIFT_LEVEL = 0.01
#: ... and it changes the share below some threshold by at least this much: in a large sample even
#: differences without practical importance are significant.
DRIFT_LEAST = 0.05
#: With fewer rows than this on either side, drift cannot be detected.
_FEWEST = 10

#: With quantiles only: the smallest distance, after subtracting chance, that is drift. New models
#: are weaker or stronger than the old ones, so their score differences always differ a little.
_QUANTILES_LEAST = 0.2
#: Chance stays below this over sqrt(n) in 95 of 100 samples (Kolmogorov's distribution).
_CHANCE = 1.36
_QUANTILES_FEWEST = 30


@dataclass(frozen=True, kw_only=True)
class Drift:
    """New scores against calibration scores: the largest gap between their distributions."""

    tested: bool
    flagged: bool = False
    statistic: Proportion | None = None
    p_value: Proportion | None = None
    n_new: Count
    n_calibration: Count
    where: str | None = None
    note: str | None = None


def drift_of(parts: Sequence[tuple[str, ArrayLike, ArrayLike]]) -> Drift:
    """Two-sample Kolmogorov-Smirnov test of each named part: calibration scores, new scores.

    Returns the worst, with p-values corrected for the number of parts. The largest gap D between
    two distributions is also the most by which the share below any threshold, and so the coverage,
    can differ. If no drift is detected, that is not a proof: people's preferences can change while
    the judge's scores stay the same, and no test without labels can detect that.

    >>> import numpy as np
    >>> drift_of([("", np.linspace(0, 1, 200), np.linspace(0, 1, 150))]).flagged
    False
    >>> drift_of([("", np.linspace(0, 1, 200), np.linspace(0.5, 1, 150))]).flagged
    True
    """
    from scipy.stats import ks_2samp

    tests, n_old, n_new = [], 0, 0
    for name, calibration, new in parts:
        old = finite(calibration, "calibration", allow_empty=True)
        fresh = finite(new, "new", allow_empty=True)
        n_old, n_new = n_old + len(old), n_new + len(fresh)
        if min(len(old), len(fresh)) >= _FEWEST:
            # The exact p-value is slow for thousands of rows, where the asymptotic one is as good.
            small = max(len(old), len(fresh)) <= 1000
            method: Literal["exact", "asymp"] = "exact" if small else "asymp"
            test = ks_2samp(old, fresh, method=method)
            tests.append((float(test.pvalue), float(test.statistic), name))
    if not tests:
        return _untested(n_old, n_new, _FEWEST)
    p_value, statistic, where = min(tests, key=lambda test: (test[0], -test[1]))
    p_value = min(1.0, p_value * len(tests))
    return Drift(
        tested=True,
        flagged=bool(p_value < DRIFT_LEVEL and statistic >= DRIFT_LEAST),
        statistic=statistic,
        p_value=p_value,
        n_new=n_new,
        n_calibration=n_old,
        where=where or None,
    )


def drift_from_quantiles(quantiles: ArrayLike, new: ArrayLike) -> Drift:
    """The same distance D, if only quantiles of the old scores were kept.

    How many scores they summarise is unknown, so there is no p-value: drift is a distance above
    0.2 + 1.36 / sqrt(n), which is large and more than chance explains in n rows.

    >>> import numpy as np
    >>> drift_from_quantiles(np.linspace(0, 1, 101), np.linspace(0, 3, 200)).flagged
    True
    """
    old = finite(quantiles, "quantiles", allow_empty=True)
    fresh = finite(new, "new", allow_empty=True)
    if len(old) < 2 or len(fresh) < _QUANTILES_FEWEST:
        return _untested(len(old), len(fresh), _QUANTILES_FEWEST)
    from scipy.stats import ks_2samp

    statistic = float(ks_2samp(fresh, old).statistic)
    return Drift(
        tested=True,
        flagged=statistic > _QUANTILES_LEAST + _CHANCE / math.sqrt(len(fresh)),
        statistic=statistic,
        n_new=len(fresh),
        n_calibration=len(old),
    )


def _untested(n_old: int, n_new: int, fewest: int) -> Drift:
    note = f"fewer than {fewest} rows to compare"
    return Drift(tested=False, n_new=n_new, n_calibration=n_old, note=note)
