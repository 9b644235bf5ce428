"""Results of the estimation room made by hand, for what people see of them.

No two of their numbers are equal, so that any number in another's place is seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adjudge.estimation.classes import ClassEstimate, ClassRate
from adjudge.estimation.groups import GroupedEstimate
from adjudge.estimation.label_shift import LabelShift
from adjudge.estimation.mean_plan import MeanPlan
from adjudge.estimation.means import MeanEstimate, MeanScore
from adjudge.estimation.plan import NextLabels, RatePlan
from adjudge.estimation.rate import Alternative, Estimate
from adjudge.present.result import Result
from adjudge.records import Interval
from adjudge_papers.items import ItemValue, PaperItem
from adjudge_papers.paper import MeasuredTable
from adjudge_papers.reporting import ReportingReproduction

SHIFT = LabelShift(
    judge_rate_calibration=0.371,
    judge_rate_test=0.531,
    difference=-0.158,
    p_value=0.0043,
    doubtful=False,
    explanation="the judge says 1 on 37.1 % of labelled and 53.1 % of test rows (p = 0.0043)",
)
ESTIMATE = Estimate(
    method="misclassification",
    interval_method="wald",
    estimate=0.412,
    interval=Interval(0.311, 0.523, level=0.95),
    confidence_level=0.95,
    standard_error=0.0541,
    naive=0.528,
    naive_interval=Interval(0.487, 0.566, level=0.95),
    sensitivity=0.871,
    sensitivity_interval=Interval(0.792, 0.934, level=0.95),
    specificity=0.718,
    specificity_interval=Interval(0.633, 0.805, level=0.95),
    n_test=1234,
    n_calibration_positive=83,
    n_calibration_negative=112,
    judge_scale="binary",
    why="misclassification, as asked",
    assumptions=("errors are alike", "rows are independent"),
    label_shift=SHIFT,
    alternatives=(
        Alternative(
            method="ppi++",
            estimate=0.437,
            interval=Interval(0.342, 0.541, level=0.95),
            assumption="a random sample",
        ),
        Alternative(
            method="conditional",
            estimate=0.423,
            interval=Interval(0.353, 0.498, level=0.95),
            assumption="random within a verdict",
        ),
        Alternative(
            method="human-only",
            estimate=None,
            interval=None,
            assumption="unused",
            reason="labels were picked by plan",
        ),
        Alternative(
            method="naive",
            estimate=0.529,
            interval=Interval(0.488, 0.567, level=0.95),
            assumption="no errors at all",
        ),
    ),
    warnings=("few labels in one class",),
    dropped={"no judge verdict": 7},
    seed=0,
)
REFUSED = replace(
    ESTIMATE,
    interval_method="profile",
    estimate=None,
    interval=Interval(0.013, 0.987, level=0.95),
    standard_error=None,
    reason="the judge is no better than a coin",
    warnings=(),
    alternatives=(),
    label_shift=None,
)
DOUBTFUL = replace(
    SHIFT,
    p_value=0.00042,
    doubtful=True,
    explanation="the judge says 1 on 37.1 % of labelled and 53.1 % of test rows (p = 0.00042): one "
    "random sample in 2,400 looks like this",
)
NAIVE = replace(
    ESTIMATE,
    method="naive",
    interval_method="exact",
    estimate=0.527,
    interval=Interval(0.486, 0.565, level=0.95),
    label_shift=None,
    alternatives=ESTIMATE.alternatives[:3],
    warnings=(),
)
PEOPLE = Alternative(
    method="human-only",
    estimate=0.405,
    interval=Interval(0.336, 0.478, level=0.95),
    assumption="a random sample",
)
DECLARED = replace(
    ESTIMATE,
    method="conditional",
    why="conditional, because the labels are declared a random sample of the test rows",
    labels_drawn="declared",
    estimate=0.424,
    interval=Interval(0.351, 0.503, level=0.95),
    rows_interval=Interval(0.362, 0.488, level=0.95),
    label_shift=None,
    alternatives=(PEOPLE,),
    warnings=(),
)


def group(name: str, **numbers: Any) -> Estimate:
    return replace(
        ESTIMATE,
        group=name,
        label_shift=None,
        dropped={},
        **{"warnings": (), "alternatives": (), **numbers},
    )


SMALL = group("small")
LARGE = group(
    "large",
    estimate=0.634,
    interval=Interval(0.519, 0.742, level=0.95),
    naive=0.587,
    naive_interval=Interval(0.549, 0.621, level=0.95),
    sensitivity=0.911,
    specificity=0.657,
    n_calibration_positive=91,
    n_calibration_negative=64,
    n_test=1357,
    warnings=("few labels in one class",),
    alternatives=(
        replace(PEOPLE, estimate=0.588, interval=Interval(0.507, 0.664, level=0.95)),
        Alternative(
            method="conditional",
            estimate=0.611,
            interval=Interval(0.542, 0.677, level=0.95),
            assumption="random",
        ),
    ),
)
BARE = group(
    "<bare>",
    estimate=None,
    interval=None,
    reason="no row with human label 0",
    naive=0.493,
    naive_interval=Interval(0.459, 0.529, level=0.95),
    sensitivity=0.845,
    specificity=None,
    n_calibration_positive=29,
    n_calibration_negative=0,
    n_test=1468,
)
GROUPED = GroupedEstimate(
    method="misclassification",
    interval_method="wald",
    confidence_level=0.95,
    by="model",
    pooled=False,
    groups=(SMALL, LARGE, BARE),
    dropped={"no model value": 3},
)
TOGETHER = (
    replace(SMALL, simultaneous_interval=Interval(0.296, 0.541, level=0.95)),
    replace(LARGE, simultaneous_interval=Interval(0.503, 0.758, level=0.95)),
)
OVERLAPPING = replace(GROUPED, groups=TOGETHER, pooled=True, warnings=("pooled",), dropped={})
CLASSES = ClassEstimate(
    method="misclassification",
    interval_method="wald",
    confidence_level=0.9,
    classes=(
        ClassRate(
            label="A",
            estimate=0.451,
            interval=Interval(0.352, 0.549, level=0.9),
            naive=0.483,
            n_calibration=71,
            recall=0.817,
            human_only=0.549,
            human_only_interval=Interval(0.461, 0.639, level=0.9),
        ),
        ClassRate(
            label="tie",
            estimate=0.548,
            interval=Interval(0.447, 0.649, level=0.9),
            naive=0.417,
            n_calibration=58,
            recall=0.736,
        ),
    ),
    confusion=((0.817, 0.264), (0.183, 0.736)),
    condition_number=2.345,
    n_test=431,
    n_calibration=129,
    assumptions=("errors are alike", "rows are independent"),
    why="misclassification, as asked",
    dropped={"no judge verdict": 1},
)
MEAN = MeanEstimate(
    confidence_level=0.9,
    means=(
        MeanScore(
            estimate=3.418,
            interval=Interval(3.281, 3.573, level=0.9),
            naive=3.707,
            people=3.402,
            judge=3.688,
            difference_interval=Interval(0.193, 0.384, level=0.9),
            scale=(1, 5),
            simultaneous_interval=Interval(3.243, 3.611, level=0.9),
            n=600,
            n_labels=150,
        ),
    ),
    labels_drawn="unknown",
    assumptions=("no score outside 1 to 5", "a random sample", "rows are independent"),
    warnings=("the labels must be a random sample",),
    dropped={"no judge verdict": 2},
)
FEW_SCORES = MeanScore(naive=2.917, n=40, n_labels=9, reason="9 labelled rows: 30 are needed")
MEANS = replace(
    MEAN,
    by="model",
    means=(replace(MEAN.means[0], group="old"), replace(FEW_SCORES, group="new")),
    warnings=(),
)
NO_CLASSES = replace(
    CLASSES,
    classes=tuple(replace(c, estimate=None, interval=None) for c in CLASSES.classes),
    condition_number=None,
    reason="the judge never says tie",
    group="y",
)
CLASS_GROUPS = replace(GROUPED, groups=(replace(CLASSES, group="x"), NO_CLASSES), dropped={})
PLAN = RatePlan(
    m0=117,
    m1=83,
    expected_width=0.216,
    human_only_width=0.139,
    recommendation="width 0.2 needs 261 random labels (100 exist, 161 more) with conditional, 391 "
    "with people alone, 412 split by class with misclassification",
    target_width=0.2,
    confidence_level=0.95,
    rate=0.417,
    judge_rate=0.55,
    sensitivity=0.9,
    specificity=0.7,
    n_test=1000,
    labels=200,
    expected_draws=201,
    random_width=0.219,
    human_only_labels=391,
    conditional_labels=261,
    conditional_width=0.198,
    simulated_coverage=0.954,
    verdict_m0=67,
    verdict_m1=133,
    verdict_width=0.109,
    judge_helps=True,
    variance_ratio=2.561,
    proposition_51=6,
    proposition_61=(0.223, 0.777),
    next_labels=(
        NextLabels(extra=0, how="none yet", m0=41, m1=59, expected_width=0.287),
        NextLabels(extra=50, how="drawn at random", m0=73, m1=77, expected_width=0.246),
    ),
    how_to_draw=("draw at random",),
    assumptions=("the judge says 1 on 55.0 % of test rows",),
    warnings=("fewer than 20 labels in a class",),
)
MEAN_PLAN = MeanPlan(
    target_width=0.3,
    confidence_level=0.95,
    labels=121,
    labels_without_judge=406,
    expected_width=0.299,
    human_only_width=0.551,
    width_of_all=0.268,
    spread=1.53,
    correlation=0.91,
    n=500,
    labelled=60,
    dropped={"no judge verdict": 3},
)
NO_PLAN = RatePlan(
    recommendation="these labels do not show that the judge is better than chance; 104 random "
    "labels give a width of 0.199 with people alone",
    human_only_width=0.199,
    confidence_level=0.95,
    judge_rate=0.51,
    sensitivity=0.49,
    specificity=0.5,
    n_test=90,
    labels=104,
    judge_helps=False,
    reason="sensitivity 0.490 + specificity 0.500 is not above 1",
    assumptions=("a human rate near 0.50",),
)


def table(name: str, source: Any, *rows: dict[str, Any], data: str = "") -> MeasuredTable:
    return MeasuredTable(name=name, rows=rows, data=data, source=source)


def simulation(figure: str, step: float) -> list[dict[str, Any]]:
    """Made-up curves over three rates; `step` sets two settings apart."""
    labels = 200 if figure == "10" else 500
    return [
        {
            "figure": figure, "m": labels, "q0": 0.7, "q1": 0.9, "rate": rate, "naive": naive,
            "corrected": corrected, "coverage_naive": coverage_naive, "coverage": coverage,
            "coverage_adaptive": adaptive, "length_equal": length, "length_adaptive": shorter,
        }
        for rate, naive, corrected, coverage_naive, coverage, adaptive, length, shorter in (
            (0.0, 0.31, 0.01, 0.02, 0.941, 0.943, 0.12, 0.11),
            (0.5, 0.61 + step, 0.51 + step, 0.04 + step, 0.952, 0.954, 0.24, 0.25),
            (1.0, 0.91, 0.99, 0.11, 0.963 + step, 0.965 + step, 0.15 + step, 0.13 + step),
        )
    ]  # fmt: skip


BIAS = {
    "(i) naive": (0.101, 0.102),
    "(ii) human-only": (-0.251, 0.252),
    "(iii) difference": (-0.153, 0.154),
    "(iv) conditional": (-0.125, 0.126),
    "(v) misclassification": (-0.007, 0.008),
    "ppi++": (-0.167, 0.168),
}
PAPER = ReportingReproduction(
    seed=0,
    settings={"repeats": 1000, "splits": 5, "confidence_level": 0.95},
    tables=(
        table(
            "figures", "again",
            {"figure": "10", "labels": 200, "q0": 0.7, "q1": 0.9, "coverage_low": 0.941,
             "coverage_high": 0.963, "coverage_adaptive_low": 0.943,
             "coverage_adaptive_high": 0.965, "coverage_naive": 0.04, "length_equal": 0.17,
             "length_adaptive": 0.163},
            data="95 % intervals, 1,000 repeats",
        ),
        table(
            "protocol", "simulated",
            {"model": "model-1", "judge": "simulated", "rows": 120, "rate": 0.583,
             "bias_naive": 0.052, "bias": -0.009, "coverage": 0.97, "length": 0.233,
             "refused": 0},
            data="simulated battles",
        ),
        table("settings", "again", *simulation("10", 0.0), *simulation("11", 0.003)),
        table(
            "run", "again",
            *(
                {"rate": rate, "naive": naive, "naive_low": naive - 0.03,
                 "naive_high": naive + 0.03, "corrected": corrected, "low": low, "high": high}
                for rate, naive, corrected, low, high in (
                    (0.0, 0.32, 0.02, 0.0, 0.12),
                    (0.5, 0.62, 0.53, 0.43, 0.63),
                    (1.0, 0.92, 0.98, 0.88, 1.0),
                )
            ),
        ),
        table(
            "shift", "again",
            *(
                {"estimator": name, "rate": rate, "bias": bias}
                for name, biases in BIAS.items()
                for rate, bias in zip((0.25, 0.75), biases, strict=True)
            ),
        ),
        table(
            "lengths", "formula",
            {"p": 0.3, "labels": 20, "equal": 0.41, "adaptive": 0.42},
            {"p": 0.3, "labels": 500, "equal": 0.087, "adaptive": 0.079},
            {"p": 0.9, "labels": 20, "equal": 0.31, "adaptive": 0.29},
            {"p": 0.9, "labels": 500, "equal": 0.071, "adaptive": 0.061},
        ),
    ),
    items=(
        PaperItem(
            paper="reporting", name="Table 2", about="Coverage and length", status="simulated",
            values=(ItemValue(name="coverage, %, least", ours=97.0, published=95, digits=0),),
        ),
        PaperItem(
            paper="reporting", name="Figure 1", about="Two error rates", status="not possible",
            reason="a drawing",
        ),
        PaperItem(
            paper="reporting", name="Figure 3", about="Labels for a length", status="reproduced",
            values=(ItemValue(name="equal split", ours=362.0, published=200, digits=0),),
            figure="figure3",
        ),
    ),
)  # fmt: skip
PROTOCOL = ReportingReproduction(
    seed=0,
    settings={"splits": 20},
    tables=(
        table(
            "protocol", "yours",
            {"model": "gpt-4", "judge": "openai:gpt-4.1-mini", "rows": 901, "rate": 0.683,
             "bias_naive": 0.087, "bias": -0.012, "coverage": 0.96, "length": 0.217, "refused": 3},
            {"model": "other", "judge": "openai:gpt-4.1-mini", "rows": 802, "rate": 0.394,
             "bias_naive": -0.031, "bias": 0.045, "coverage": 0.93, "length": 0.198, "refused": 0},
            {"model": "coin", "judge": "openai:gpt-4.1-mini", "rows": 703, "rate": 0.501,
             "bias_naive": 0.022, "bias": None, "coverage": None, "length": None, "refused": 20},
            data="battles.csv",
        ),
    ),
    items=(
        PaperItem(
            paper="reporting", name="Figure 7", about="Bias of rates", status="reproduced",
            values=(ItemValue(name="models brought closer, %", ours=50.0, published=100),),
            figure="figure7", reason="1 of the paper's 6 rows",
        ),
    ),
    dropped={"tie, or no winner named": 60},
)  # fmt: skip
GROUPED_DECLARED = replace(
    GROUPED,
    method="conditional",
    groups=(
        replace(SMALL, labels_drawn="declared", rows_interval=Interval(0.384, 0.512, level=0.95)),
        replace(LARGE, labels_drawn="declared"),
    ),
)
GROUPED_SHARED = replace(
    GROUPED_DECLARED,
    groups=tuple(
        replace(rate, shared_interval=Interval(low, high, level=0.95))
        for rate, low, high in zip(
            GROUPED_DECLARED.rates, (0.331, 0.541), (0.517, 0.725), strict=True
        )
    ),
)
BY_VERDICT = replace(
    DECLARED,
    interval_method="jeffreys",
    labels_drawn="verdict",
    why="conditional, because labels were drawn by verdict",
    n_test=1429,
    n_both=195,
    label_shift=None,
    alternatives=(),
    warnings=(),
)
INTERVAL_ALONE = replace(
    SMALL,
    method="conditional",
    estimate=None,
    interval=Interval(0.602, 0.969, level=0.95),
    reason="the judge says 0 on 3 % of the rows, but no row of that verdict has a human label",
)
RESULTS: dict[str, Result] = {
    "estimate": ESTIMATE,
    "estimate_refused": REFUSED,
    "estimate_doubtful": replace(
        DECLARED, label_shift=DOUBTFUL, warnings=(f"label shift: {DOUBTFUL.explanation}",)
    ),
    "estimate_naive": NAIVE,
    "estimate_declared": DECLARED,
    "grouped_estimate": GROUPED,
    "grouped_estimate_overlapping": OVERLAPPING,
    "grouped_estimate_declared": GROUPED_DECLARED,
    "grouped_estimate_classes": CLASS_GROUPS,
    "class_estimate": CLASSES,
    "mean_estimate": MEAN,
    "mean_estimate_refused": replace(MEAN, means=(FEW_SCORES,)),
    "mean_estimate_groups": MEANS,
    "mean_estimate_all_groups": replace(MEANS, means=MEANS.means[:1] * 2),
    "grouped_estimate_shared": GROUPED_SHARED,
    "plan_rate": PLAN,
    "plan_rate_infeasible": NO_PLAN,
    "plan_mean": MEAN_PLAN,
    "plan_mean_infeasible": replace(
        MEAN_PLAN,
        target_width=0.05,
        labels=None,
        labels_without_judge=None,
        expected_width=None,
        human_only_width=None,
        reason="all 500 rows labelled give 0.27; judge more rows",
    ),
    "estimate_by_verdict": BY_VERDICT,
    "grouped_estimate_interval_alone": replace(GROUPED, groups=(INTERVAL_ALONE, LARGE), dropped={}),
    "reproduction_reporting": PAPER,
    "reproduction_reporting_protocol": PROTOCOL,
}
