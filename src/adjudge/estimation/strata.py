"""A confusion matrix per stratum, combined: for a judge whose error rates differ between rows.

theta = sum over strata of share_s * theta_s, share_s the stratum's share of the test rows.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from adjudge.estimation.means import soft
from adjudge.estimation.misclassification import misclassification
from adjudge.estimation.outcome import Outcome, explain_outside, outside, refusal, widen
from adjudge.estimation.sample import Sample
from adjudge.statistics.numbers import normal_quantile

#: The reasons of this many strata are given; a column of ids would give thousands.
_MOST_SHOWN = 3


def stratify(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """Corrected rate with one confusion matrix per stratum (the paper's section 9, item 1).

    Variance: sum share_s^2 V_s + sum share_s (theta_s - theta)^2 / n; the second term is the noise
    of the shares themselves. V_s and the centres are those of Eq. 6 per stratum before clipping;
    only the final number is clipped. With one stratum this is Eq. 5 to 8. Every stratum with test
    rows needs labels of both classes. Eq. 7 moves each stratum's sensitivity towards one half, so
    strata with fewer than about 20 labels per class bias the rate.

    Refused if the entire interval of one stratum lies outside [0, 1] at the level shared among the
    strata. A stratum that lies outside only at the plain level gives a warning, because among many
    strata some do by chance.
    """
    if sample.strata is None or sample.n == 0:
        return refusal("no test rows to stratify")
    estimator = soft if sample.scale == "probability" else misclassification
    names = sample.strata_names
    theta = centre = variance = 0.0
    rates, shares = [], []
    influence = np.zeros_like(sample.judge)
    refused, warnings, doubts, unused = [], [], [], []
    z = normal_quantile(confidence_level)
    wider = normal_quantile(1 - (1 - confidence_level) / max(len(names), 1)) / z
    flat = replace(sample, clusters=None)
    for code, name in enumerate(names):
        part = flat.restrict(np.asarray(sample.strata == code))
        if part.n == 0:
            unused.append(name)
            continue
        got = estimator(part, confidence_level=confidence_level)
        if got.estimate is None or got.centre is None or got.half is None:
            refused.append(f"{name}: {got.reason}")
            continue
        if outside(got.centre, wider * got.half):
            refused.append(f"{name}: {explain_outside(got.estimate, got.centre, got.half)}")
            continue
        if outside(got.centre, got.half):
            warnings.append(
                f"stratum {name}: its rate before clipping, {got.estimate:.3f}, has its entire "
                "interval outside [0, 1]: by chance, or the judge's errors differ on its test rows"
            )
        share = part.n / sample.n
        rates.append(got.estimate)
        shares.append(share)
        theta += share * got.estimate
        centre += share * got.centre
        variance += (share * got.half / z) ** 2
        if got.influence is not None:
            influence += share * got.influence
        influence[part.test] += got.estimate / sample.n
        warnings += [f"stratum {name}: {text}" for text in got.warnings]
        doubts += [f"stratum {name}: {text}" for text in got.doubts]
    if refused:
        shown = "; ".join(refused[:_MOST_SHOWN])
        more = f"; and {len(refused) - _MOST_SHOWN:,} more" if len(refused) > _MOST_SHOWN else ""
        return refusal(
            f"{len(refused)} of {len(names)} strata have no estimate ({shown}{more}); merge "
            "strata or label more rows in them"
        )
    influence[sample.test] -= theta / sample.n
    between = sum(s * (r - theta) ** 2 for s, r in zip(shares, rates, strict=True)) / sample.n
    if unused:
        warnings.append(f"strata without test rows, their labels unused: {', '.join(unused)}")
    return widen(
        sample,
        theta,
        influence,
        confidence_level,
        se=math.sqrt(float(influence @ influence)),
        around=(centre, math.sqrt(variance + between)),
        warnings=tuple(warnings),
        doubts=tuple(doubts),
    )
