"""Fixed results of selection for tests/shown; numbers differ, so that a swap of two shows."""

from __future__ import annotations

from dataclasses import replace

from adjudge.data.drift import Drift
from adjudge.policy.doubts import DoubtReport, JuryReport
from adjudge.policy.result import Alternative, Contradiction, Cut, Policy, PolicyGroup
from adjudge.selection.evaluating import Comparison, Curve, Evaluation, MethodRisk, SignalQuality
from adjudge.selection.planning import LabelPlan, PlanPoint, SelectionPlan
from adjudge.selection.selecting import GroupCount, Selection
from adjudge.selection.verifying import PolicyCheck
from adjudge_papers.items import ItemValue, PaperItem
from adjudge_papers.paper import MeasuredTable
from adjudge_papers.scope import ScopeReproduction

GROUP = PolicyGroup(
    judge="judge-x",
    protocol="preference",
    group="en",
    judge_fingerprint=None,
    accepts="below",
    threshold=0.21,
    feasible=True,
    n_calibration=120,
    n_errors=17,
    n_accepted=60,
    n_accepted_errors=3,
    empirical_risk=0.05,
    coverage=0.5,
    scores=(0.1, 0.1, 0.21, 0.4, 0.5),
    errors=(0, 0, 1, 0, 1),
)
SCOPE = Alternative(
    guarantee="scope",
    summary="an average over sets",
    accepts="below",
    threshold=0.2134567,
    n_accepted=142,
    coverage=0.4733,
    empirical_risk=0.0845,
    indicative=False,
    promise="THE PROMISE",
    not_promised="THE LIMIT",
)
FDR = Alternative(
    guarantee="fdr",
    summary="",
    accepts="batch",
    threshold=None,
    n_accepted=151,
    coverage=0.5033,
    empirical_risk=0.0912,
    indicative=True,
    promise="FDR PROMISE",
    not_promised="FDR LIMIT",
)
PAC = Alternative(
    guarantee="pac",
    summary="",
    accepts="none",
    threshold=None,
    n_accepted=0,
    coverage=0.0,
    empirical_risk=0.0,
    indicative=False,
    promise="PAC PROMISE",
    not_promised="PAC LIMIT",
    labels_needed=12_345,
)
POLICY = Policy(
    guarantee="scope",
    alpha=0.1,
    delta=None,
    ties="drop",
    accepts="below",
    threshold=0.2134567,
    feasible=True,
    indicative=False,
    n_calibration=300,
    n_errors=44,
    n_accepted=142,
    n_accepted_errors=12,
    empirical_risk=0.0845,
    coverage=0.4733,
    judges=("judge-x",),
    judge_fingerprints=(),
    promise="THE PROMISE",
    not_promised="THE LIMIT",
    worth="THE WORTH.",
    assumptions=("FIRST CONDITION", "SECOND CONDITION"),
    warnings=("A WARNING",),
    dropped={"no label": 7, "human tie": 1},
    groups=(replace(GROUP, group=None, threshold=0.2134567),),
    alternatives=(SCOPE, FDR, PAC),
    adjudge_version="1",
)
BY_GROUP = replace(
    POLICY,
    accepts="groups",
    threshold=None,
    by="language",
    groups=(
        GROUP,
        replace(
            GROUP,
            group="fr",
            accepts="none",
            threshold=None,
            feasible=False,
            n_calibration=9,
            n_errors=2,
            n_accepted=0,
            coverage=0.0,
            empirical_risk=0.0,
            note="TOO FEW",
            effective_size=6.54,
        ),
    ),
    alternatives=(replace(SCOPE, accepts="groups", threshold=None),),
)
VOTES = JuryReport(
    method="mean",
    judges=("a", "b"),
    weights=(0.625, 0.375),
    most_odds=4.9,
    tail=0.01,
    n_training=30,
    coverage=0.81,
    coverage_alone={"a": 0.72, "b": 0.63},
)
JURY = replace(
    POLICY,
    judges=("a", "b"),
    jury=VOTES,
)
LEARNED = replace(
    JURY,
    jury=replace(VOTES, method="learned", weights=(0.5, 0.5), most_odds=4.9),
    doubt=DoubtReport(
        columns=("mean odds", "sign", "odds of a", "odds of b"),
        scales=(1.1, 1.0, 1.2, 1.3),
        weights=(0.31, 0.0, 1.25, -0.75),
        penalty=10.0,
        at_largest_penalty=False,
        lengths=None,
        category=None,
        categories=(),
        n_learning=90,
        n_verdicts=303,
        n_overturned=33,
        coverage_without=0.21,
    ),
)
CHECK = PolicyCheck(
    path="policy.json",
    digest="differs",
    recomputed=True,
    contradictions=(
        Contradiction(field="groups.0.threshold", stated="0.99", expected="0.49"),
        Contradiction(field="coverage", stated="-1.0", expected="0.4733"),
    ),
)
SELECTION = Selection(
    guarantee="pac",
    alpha=0.15,
    delta=0.1,
    n=1200,
    n_accepted=804,
    accepted_share=0.67,
    drift=Drift(
        tested=True,
        flagged=False,
        statistic=0.0432,
        p_value=0.37,
        n_new=1200,
        n_calibration=300,
        where="judge-x / fr",
    ),
    groups=(
        GroupCount(judge="judge-x", group="en", n=700, n_accepted=600, accepted_share=0.857),
        GroupCount(judge="judge-x", group="fr", n=500, n_accepted=204, accepted_share=0.408),
    ),
    promise="THE PROMISE",
    not_promised="THE LIMIT",
    worth="THE WORTH.",
    others="THE OTHERS.",
    assumptions=("A CONDITION",),
    warnings=("A WARNING",),
    dropped={"too uncertain": 380, "no verdict": 16},
)


def quality(judge: str, signal: str, *, mute: int = 0, **numbers: float) -> SignalQuality:
    return SignalQuality(
        judge=judge, signal=signal, protocol="preference", n=240, n_no_verdict=mute, **numbers
    )


def risk(judge: str, signal: str, method: str, alpha: float, *numbers: float) -> MethodRisk:
    coverage, coverage_sd, mean, mean_sd, ratio, above = numbers
    return MethodRisk(
        judge=judge, signal=signal, protocol="preference", method=method,
        baseline=method == "vanilla", alpha=alpha, coverage=coverage, coverage_sd=coverage_sd,
        accuracy=1 - mean,
        risk=mean, risk_sd=mean_sd, ratio=ratio, share_above=above,
    )  # fmt: skip


def curve(judge: str, signal: str) -> Curve:
    return Curve(
        judge=judge, signal=signal, protocol="preference",
        bin_confidence=(0.55, 0.75, 0.95), bin_accuracy=(0.5, 0.7, 0.8), bin_count=(60, 60, 120),
        coverage=(0.05, 0.1, 0.5, 1.0), risk=(0.25, 0.2, 0.11, 0.18),
    )  # fmt: skip


ENTROPY, SINGLE = "preference_entropy", "single_order"
EVALUATION = Evaluation(
    splits=400,
    seed=0,
    ties="drop",
    delta=0.1,
    alphas=(0.05, 0.1),
    cluster=None,
    signals=(
        quality("x", ENTROPY, accuracy=0.82, ece=0.031, auroc=0.764, auprc=0.912),
        quality("x", SINGLE, mute=12, accuracy=0.79, ece=0.052, auroc=0.703, auprc=0.888),
    ),
    methods=(
        risk("x", ENTROPY, "vanilla", 0.05, 1.0, 0.0, 0.181, 0.011, 0.182, 0.99),
        risk("x", ENTROPY, "vanilla", 0.1, 1.0, 0.0, 0.183, 0.012, 0.184, 0.98),
        risk("x", ENTROPY, "scope", 0.05, 0.311, 0.071, 0.042, 0.021, 0.046, 0.31),
        risk("x", ENTROPY, "scope", 0.1, 0.522, 0.064, 0.093, 0.023, 0.097, 0.43),
        risk("x", ENTROPY, "pac", 0.05, 0.102, 0.083, 0.015, 0.024, 0.027, 0.06),
        risk("x", ENTROPY, "pac", 0.1, 0.333, 0.092, 0.058, 0.025, 0.066, 0.08),
        risk("x", SINGLE, "vanilla", 0.05, 1.0, 0.0, 0.211, 0.013, 0.212, 0.97),
        risk("x", SINGLE, "vanilla", 0.1, 1.0, 0.0, 0.213, 0.014, 0.214, 0.96),
        risk("x", SINGLE, "scope", 0.1, 0.411, 0.065, 0.094, 0.026, 0.098, 0.44),
    ),
    curves=(curve("x", ENTROPY), curve("x", SINGLE)),
    assumptions=("A CAVEAT",),
    warnings=("A WARNING",),
    dropped={"no label": 5},
)


def compared(name: str, method: str, *numbers: float, learned: bool = False) -> Comparison:
    alpha, coverage, sd, risk, above = numbers
    return Comparison(
        candidate=name, learned=learned, method=method, alpha=alpha, coverage=coverage,
        coverage_sd=sd, risk=risk, share_above=above,
    )  # fmt: skip


COMPARED = replace(
    EVALUATION,
    comparisons=(
        compared("x", "scope", 0.05, 0.301, 0.062, 0.043, 0.33),
        compared("x", "scope", 0.1, 0.512, 0.063, 0.094, 0.44),
        compared("x", "pac", 0.1, 0.343, 0.091, 0.057, 0.09),
        compared("learned doubt", "scope", 0.05, 0.322, 0.071, 0.045, 0.35, learned=True),
        compared("learned doubt", "scope", 0.1, 0.617, 0.074, 0.095, 0.46, learned=True),
        compared("learned doubt", "pac", 0.1, 0.331, 0.095, 0.058, 0.07, learned=True),
    ),
    comparison_splits=200,
)
TWO = replace(
    EVALUATION,
    signals=(
        quality("x", ENTROPY, accuracy=0.82, ece=0.031, auroc=0.764, auprc=0.912),
        quality("y", ENTROPY, accuracy=0.64, ece=0.123, auroc=0.555, auprc=0.777),
    ),
    methods=(
        risk("x", ENTROPY, "scope", 0.05, 0.311, 0.071, 0.042, 0.021, 0.046, 0.31),
        risk("y", ENTROPY, "scope", 0.05, 0.208, 0.061, 0.079, 0.031, 0.085, 0.62),
    ),
    alphas=(0.05,),
    curves=(curve("x", ENTROPY), curve("y", ENTROPY)),
)


def point(n: int, *numbers: float, extrapolated: bool = False) -> PlanPoint:
    coverage, sd, error, above, feasible = numbers
    return PlanPoint(
        n=n, coverage=coverage, coverage_sd=sd, risk=error, share_above=above,
        share_feasible=feasible, extrapolated=extrapolated,
    )  # fmt: skip


PLAN = SelectionPlan(
    guarantee="fdr",
    alpha=0.2,
    delta=None,
    judge="judge-x",
    gain=0.03,
    n_labelled=110,
    n_rows=110,
    repeats=40,
    seed=0,
    recommended=50,
    points=(
        point(25, 0.412, 0.201, 0.123, 0.21, 0.87),
        point(50, 0.534, 0.152, 0.145, 0.32, 0.98),
        point(100, 0.551, 0.091, 0.167, 0.43, 1.0, extrapolated=True),
    ),
    assumptions=("A CONDITION",),
    dropped={"human tie": 4},
)
CUT = Cut(judge="judge-x", protocol="preference", at=0.3123456, share=0.615)
LABEL_PLAN = LabelPlan(
    sampled_by="surest",
    surest=0.6,
    cut=CUT,
    n=2,
    n_pool=1300,
    n_below=800,
    seed=0,
    ids=("p7", "p3"),
    warnings=("A WARNING",),
    dropped={"status error": 4},
)
SIGNALS = [
    {"dataset": "mt-bench", "judge": "Qwen2.5-7B-Instruct", "signal": signal, "n": 240,
     "no_verdict": silent, "accuracy": accuracy, "ece": ece, "auroc": auroc, "auprc": auprc}
    for signal, silent, accuracy, ece, auroc, auprc in (
        (SINGLE, 12, 0.79, 0.052, 0.703, 0.888),
        ("swap_vote_by_coin", 0, 0.77, 0.112, 0.651, 0.834),
        (ENTROPY, 0, 0.82, 0.031, 0.764, 0.912),
    )
]  # fmt: skip
RISKS = [
    {"dataset": "mt-bench", "judge": "Qwen2.5-7B-Instruct", "method": method, "alpha": alpha,
     "coverage": coverage, "risk": risk, "risk_sd": sd, "ratio": ratio, "share_above": above,
     "within": within}
    for method, alpha, coverage, risk, sd, ratio, above, within in (
        ("vanilla", 0.1, 1.0, 0.213, 0.02, 0.214, 0.96, 0),
        ("scope", 0.05, 0.311, 0.042, 0.021, 0.046, 0.31, 1),
        ("scope", 0.1, 0.522, 0.093, 0.022, 0.097, 0.43, 1),
    )
]  # fmt: skip
REPRODUCTION = ScopeReproduction(
    settings={"splits": 400, "sample": 2000},
    seed=0,
    tables=tuple(
        MeasuredTable(name=name, rows=tuple(rows), data="mt-bench", source="yours")
        for name, rows in (
            ("sets", [{"dataset": "mt-bench", "available": 2600, "sampled": 2000}]),
            ("qualities", SIGNALS),
            ("risks", [row for row in RISKS if row["alpha"] == 0.1]),
            ("curves", RISKS[1:]),
        )
    ),
    items=(
        PaperItem(
            paper="scope", name="Table 3", about="Risk", status="reproduced",
            values=(ItemValue(name="coverage, scope", ours=0.522, published=0.246, digits=3),),
            reason="2 of the paper's 12 rows",
        ),
        PaperItem(
            paper="scope", name="Figure 1", about="Overview", status="not possible",
            reason="a drawing without numbers",
        ),
        *(
            PaperItem(paper="scope", name=name, about="A picture", status="reproduced",
                      figure=figure)
            for name, figure in (("Figure 2a", "figure-02"), ("Figure 3", "figure-03"))
        ),
    ),
    dropped={"no label": 5},
    warnings=("own, verbalized: no number",),
)  # fmt: skip
