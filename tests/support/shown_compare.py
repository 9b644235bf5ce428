"""Fixed comparisons, for what people see of them."""

from __future__ import annotations

from dataclasses import replace

from adjudge.estimation.comparison import Comparison, Difference
from adjudge.records import Interval


def gap(estimate: float, low: float, high: float, *, n: int, detectable: float) -> Difference:
    return Difference(
        estimate=estimate,
        interval=Interval(low, high, level=0.95),
        standard_error=(high - low) / 3.92,
        p_value=0.004,
        detectable=detectable,
        n=n,
    )


BY_JUDGE = Comparison(
    a="old",
    b="new",
    measure="verdicts",
    paired_by="prompt_id",
    clustered_by=None,
    confidence_level=0.95,
    n=412,
    discordant=97,
    mean_a=0.613,
    mean_b=0.654,
    judge=gap(0.041, 0.012, 0.070, n=412, detectable=0.0415),
    n_labelled=0,
    assumptions=("the questions are independent of each other",),
    dropped={"question that one system alone answered": 3},
)
WORSE = replace(BY_JUDGE, judge=gap(-0.041, -0.070, -0.012, n=412, detectable=0.0415))
NOT_SHOWN = replace(BY_JUDGE, judge=gap(0.006, -0.022, 0.034, n=412, detectable=0.0401))
BY_PEOPLE = replace(
    BY_JUDGE,
    n_labelled=80,
    people=gap(0.093, 0.021, 0.165, n=80, detectable=0.103),
    people_alone=gap(0.088, -0.010, 0.186, n=80, detectable=0.14),
    warnings=("few labels",),
)
FEW_LABELS = replace(
    BY_JUDGE,
    n_labelled=12,
    people=Difference(n=12, reason="12 labelled questions: 30 or more are needed"),
)
SCORES = replace(
    BY_JUDGE,
    measure="scores",
    mean_a=3.21,
    mean_b=3.62,
    judge=gap(0.412, 0.121, 0.703, n=412, detectable=0.415),
    clustered_by="document",
)
PREFERENCES = replace(
    BY_JUDGE,
    measure="preferences",
    people=gap(0.2, 0.1, 0.3, n=80, detectable=0.14),
    n_labelled=80,
)
TOO_FEW = replace(
    BY_JUDGE, n=12, judge=Difference(n=12, reason="12 questions: 30 or more are needed")
)
