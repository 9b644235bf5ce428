"""What policies, selections, evaluations, plans, thresholds and the SCOPE reproduction show.

Fixed results in, exact text out: in the terminal, in HTML and in Markdown.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from shown_selection import (
    BY_GROUP,
    CHECK,
    COMPARED,
    CUT,
    ENTROPY,
    EVALUATION,
    JURY,
    LABEL_PLAN,
    LEARNED,
    PLAN,
    POLICY,
    REPRODUCTION,
    SELECTION,
    TWO,
    point,
    quality,
    risk,
)

from adjudge.policy.result import Resampling
from adjudge.present.result import Result
from shown import assert_shown, html_lines, panel, terminal_lines, title

# --- policies --------------------------------------------------------------------------------

POLICY_LINES = [
    "scope at alpha 0.1 accepts doubt <= 0.21346: 47.3 % of 300 labels, 8.5 % wrong",
    "THE WORTH. fdr ~50 %, pac 0 % (47 % needs ~12,000 labels).",
    "detail: Each guarantee at alpha 0.1 for judge-x, on the 300 calibration labels (44 wrong)",
    "detail: guarantee | accepts | accepted | coverage | error share",
    "detail: * scope | doubt <= 0.21346 | 142 | 47.3 % | 8.5 %",
    "detail: fdr | per batch | ~151 | ~50.3 % | ~9.1 %",
    "detail: pac | nothing | 0 | 0 % | –",
    "detail: What this assumes and does not promise",
    "detail: It promises: THE PROMISE",
    "detail: It does not promise: THE LIMIT",
    "detail: It assumes: FIRST CONDITION",
    "detail: It assumes: SECOND CONDITION",
    "detail: fdr promises: FDR PROMISE; it does not promise: FDR LIMIT",
    "detail: pac promises: PAC PROMISE; it does not promise: PAC LIMIT",
    "detail: labels needed: if as many are accepted and as many of them wrong as on these labels "
    "(approximate)",
    "detail: ~ mean over random halves of the labels, because fdr decides per batch",
    "detail: To notice later that the judge itself changed, let it answer the labelled rows again "
    "now: adjudge monitor judge ROWS --judge JUDGE --state judge.json; the same command compares "
    "later",
    "note: A WARNING",
    "left out 7 rows: no label",
    "left out 1 row: human tie",
    "figure: Error share among accepted verdicts as the threshold rises, on the calibration "
    "labels; a dot marks the calibrated threshold.",
]


def test_a_policy() -> None:
    assert_shown(POLICY, POLICY_LINES)


def test_a_policy_without_its_worth_shows_its_promise() -> None:
    old = replace(POLICY, worth="", alternatives=())
    assert html_lines(old)[1] == "Promise: THE PROMISE."
    assert html_lines(replace(SELECTION, worth=""))[1] == "Promise: THE PROMISE."


def test_how_often_a_threshold_is_above_is_explained() -> None:
    above = Resampling(resamples=500, n=300, share_above=0.41)
    policy = replace(POLICY, groups=(replace(POLICY.groups[0], resampling=above),))
    assert (
        "detail: above alpha: as many labels are drawn with replacement; the threshold from a "
        "resample counts if its error share on all labels, corrected for having been chosen by "
        "them, exceeds alpha (approximate: far too low if doubt does not rank errors)"
        in html_lines(policy)
    )


def test_a_policy_below_a_cut_says_of_what_it_accepts() -> None:
    first = (
        "scope at alpha 0.1 accepts doubt <= 0.21346: 47.3 % of 300 labels among the surest "
        "61.5 % of the verdicts of judge-x (preference) (about 29.1 % of all), 8.5 % wrong"
    )
    assert_shown(replace(POLICY, cuts=(CUT,)), [first, *POLICY_LINES[1:]])


def test_a_policy_by_group() -> None:
    lines = html_lines(BY_GROUP)
    assert_shown(BY_GROUP, lines)
    assert lines[:9] == [
        "scope at alpha 0.1 accepts 47.3 % of 300 labels in 2 groups, 8.5 % wrong",
        "THE WORTH.",
        "detail: Each guarantee at alpha 0.1 for judge-x, on the 300 calibration labels (44 wrong)",
        "detail: guarantee | accepts | accepted | coverage | error share",
        "detail: * scope | per group | 142 | 47.3 % | 8.5 %",
        "detail: scope by group, on the calibration labels",
        "detail: group | accepts | labels | wrong | coverage | error share",
        "detail: judge-x / en | doubt <= 0.21 | 120 | 17 | 50 % | 5 %",
        "detail: judge-x / fr | nothing | 9 | 2 | 0 % | –",
    ]
    assert lines[-7:-3] == [
        "0 % (judge-x / fr) to 50 % (judge-x / en) by group; 1 accepts nothing",
        "note: A WARNING",
        "judge-x / fr: TOO FEW",
        "judge-x / fr: effective sample size under the weights 6.5 of 9 labels",
    ]
    frame = BY_GROUP.to_frame()
    assert frame.select("group", "accepts", "n_calibration").rows() == [
        ("en", "below", 120),
        ("fr", "none", 9),
    ]


def test_a_policy_of_a_jury() -> None:
    lines = html_lines(JURY)
    assert_shown(JURY, lines)
    assert lines[2].startswith("detail: Each guarantee at alpha 0.1 for a jury of 2 judges, on ")
    assert lines[7:12] == [
        "Each judge alone and the jury, on the calibration labels",
        "judge | coverage",
        "a | 72 %",
        "b | 63 %",
        "jury (mean) | 81 %",
    ]


def test_a_policy_with_a_learned_doubt() -> None:
    lines = terminal_lines(LEARNED)
    assert lines[0].startswith("scope at alpha 0.1 accepts learned doubt <= 0.21346: ")
    assert lines[2:9] == [
        "Each judge alone and the jury, on the calibration labels",
        "judge | coverage",
        "a | 72 %",
        "b | 63 %",
        "jury (learned) | 81 %",
        "learned from 90 labels that are not used to calibrate; penalty 10",
        "on the calibration labels 21 % accepted by the doubt of the mean of the judges, 47.3 % "
        "by the learned doubt",
    ]
    assert lines[9] == (
        "verdict differs from judge_verdict, that of a, in 33 of 303 rows: the promise is about "
        "the learned verdict"
    )
    home = replace(
        LEARNED, jury=None, doubt=replace(LEARNED.doubt, at_largest_penalty=True, penalty=1e4)
    )
    text = str(home)
    assert "penalty 10000 (the largest: the learned doubt stays close" in text
    assert "accepted by the doubt of the judge, 47.3 %" in text


def test_a_selection_by_a_learned_doubt() -> None:
    assert not any("judge_verdict" in line for line in html_lines(SELECTION))
    learned = replace(SELECTION, n_overturned=2)
    line = f"verdict differs from judge_verdict in 2 of {SELECTION.n_accepted} accepted rows"
    assert line in html_lines(learned)


def test_an_evaluation_that_compares_doubts() -> None:
    lines = terminal_lines(COMPARED)
    start = lines.index(
        "Does learning pay? Each doubt at alpha 0.1, on the first 200 splits; learning uses part "
        "of each calibration half"
    )
    assert lines[start + 1 : start + 8] == [
        "guarantee | doubt of | coverage | sd | error share | above alpha",
        "scope | x | 0.512 | 0.063 | 0.094 | 44 %",
        "scope | learned doubt | 0.617 | 0.074 | 0.095 | 46 %",
        "pac | x | 0.343 | 0.091 | 0.057 | 9 %",
        "pac | learned doubt | 0.331 | 0.095 | 0.058 | 7 %",
        "scope: learned doubt accepts 61.7 %, 10.5 points more than x",
        "pac: learned doubt accepts 33.1 %, 1.2 points less than x",
    ]


def test_what_a_policy_says_to_do() -> None:
    batch = replace(
        POLICY, guarantee="fdr", accepts="batch", threshold=None, indicative=True,
        coverage=0.5033, empirical_risk=0.0912, promise="FDR PROMISE", not_promised="FDR LIMIT",
    )  # fmt: skip
    assert html_lines(batch)[:2] == [
        "fdr at alpha 0.1 accepts ~50.3 % of a batch (halves of 300 labels), ~9.1 % wrong",
        "THE WORTH. scope 47 % (an average over sets), pac 0 % (50 % needs ~12,000 labels).",
    ]
    assert "detail: * fdr | per batch | ~151 | ~50.3 % | ~9.1 %" in html_lines(batch)
    assert "detail: scope promises: THE PROMISE; it does not promise: THE LIMIT" in html_lines(
        batch
    )
    everything = replace(POLICY, accepts="all", threshold=None)
    assert html_lines(replace(everything, n_accepted=300))[:2] == [
        "bad: scope at alpha 0.1 passes all 300 labels (8.5 % wrong), but pac accepts nothing",
        "Label more pairs before you rely on it.",
    ]
    assert html_lines(replace(everything, n_accepted=299))[0] == (
        "bad: scope at alpha 0.1 passes 299 of 300 labels (8.5 % wrong), but pac accepts nothing"
    )
    strict = replace(POLICY.alternatives[2], accepts="below", threshold=0.1)
    proven = replace(everything, alternatives=(*POLICY.alternatives[:2], strict))
    assert html_lines(proven)[0] == (
        "scope at alpha 0.1 accepts every verdict: 47.3 % of 300 labels, 8.5 % wrong"
    )
    nothing = replace(POLICY, accepts="none", threshold=None, feasible=False, judges=("x", "y"))
    assert html_lines(nothing)[:3] == [
        "bad: scope at alpha 0.1 accepts no verdict of 2 judges: no threshold passes",
        "Label more pairs, allow a larger alpha, or use a better judge.",
        "fdr ~50 %, pac 0 % (47 % needs ~12,000 labels).",
    ]


NOT_ATTACKERS = (
    "The digest detects mistakes, not attacks: anyone who changes a policy on purpose can also "
    "write a new digest."
)


def test_a_check_of_a_policy() -> None:
    assert_shown(
        CHECK,
        [
            "bad: policy.json was changed: its digest differs, and 2 fields contradict the rest",
            "Do not use it: calibrate again, or take an earlier copy.",
            "field | in the file | should be",
            "groups.0.threshold | 0.99 | 0.49",
            "coverage | -1.0 | 0.4733",
            NOT_ATTACKERS,
        ],
    )
    assert CHECK.to_frame()["field"].to_list() == ["groups.0.threshold", "coverage"]
    intact = replace(CHECK, digest="matches", contradictions=())
    assert html_lines(intact) == [
        "policy.json is unchanged: its digest matches, and its numbers agree with its "
        "calibration scores",
        NOT_ATTACKERS,
    ]
    without = html_lines(replace(intact, digest="missing"))
    assert without[0] == (
        "bad: policy.json was changed: its digest is missing, and its numbers agree with its "
        "calibration scores"
    )
    old = html_lines(replace(intact, recomputed=False))
    assert old[2] == (
        "Thresholds were compared with the counts in the file and not computed again, because "
        "the policy has an older version of its guarantee or keeps only some of its scores."
    )
    broken = replace(intact, recomputed=False, unreadable="field alpha: THE REASON")
    assert html_lines(broken) == [
        "bad: policy.json was changed: its digest matches, and it cannot be read: field alpha: THE "
        "REASON",
        "Do not use it: calibrate again, or take an earlier copy.",
        NOT_ATTACKERS,
    ]


# --- what select did -------------------------------------------------------------------------


def test_a_selection() -> None:
    assert_shown(
        SELECTION,
        [
            "pac at alpha 0.15: 804 of 1,200 verdicts accepted, 396 to people; no drift",
            "THE WORTH.",
            "detail: By judge and group",
            "detail: judge | group | rows | accepted | share",
            "detail: judge-x | en | 700 | 600 | 85.7 %",
            "detail: judge-x | fr | 500 | 204 | 40.8 %",
            "warning: A WARNING",
            "detail: What this assumes and does not promise",
            "detail: It promises: THE PROMISE",
            "detail: It does not promise: THE LIMIT",
            "detail: It assumes: A CONDITION",
            "detail: no drift detected: the distributions of new and calibration scores differ by "
            "at most 0.043 in judge-x / fr (Kolmogorov-Smirnov, p = 0.37)",
            "detail: On the calibration labels: THE OTHERS.",
            "detail: Not accepted: 380 too uncertain, 16 no verdict",
        ],
    )
    assert SELECTION.to_frame()["n_accepted"].to_list() == [600, 204]


def test_words_for_choices() -> None:
    policy = replace(POLICY, about="choices")
    alone = replace(policy, accepts="all", threshold=None, alternatives=())
    assert html_lines(alone)[0].startswith("scope at alpha 0.1 accepts every choice: ")
    nothing = replace(policy, accepts="none", threshold=None, feasible=False)
    assert html_lines(nothing)[1].startswith("Label more prompts, ")
    selection = replace(SELECTION, about="choices")
    assert terminal_lines(selection)[0].startswith("pac at alpha 0.15: 804 of 1,200 choices ")


def test_words_for_grades() -> None:
    nothing = replace(POLICY, about="grades", accepts="none", threshold=None, feasible=False)
    assert html_lines(nothing)[1] == (
        "Label more answers, allow a larger alpha, or use a better judge."
    )
    moved = replace(SELECTION, about="grades", drift=replace(SELECTION.drift, flagged=True))
    assert html_lines(moved)[1] == (
        "The promise might not hold: label some of the new answers and calibrate again."
    )


def test_a_selection_with_drift_or_nothing_accepted() -> None:
    drift = replace(SELECTION.drift, flagged=True, statistic=0.3121, p_value=0.00041)
    moved = replace(SELECTION, drift=drift, groups=SELECTION.groups[:1])
    assert html_lines(moved)[:4] == [
        "bad: pac at alpha 0.15: 804 of 1,200 verdicts accepted, 396 to people; DRIFT",
        "The promise might not hold: label some of the new pairs and calibrate again.",
        "THE WORTH.",
        "DRIFT: the distributions of new and calibration scores differ by at most 0.312 "
        "(Kolmogorov-Smirnov, p = 0.00041)",
    ]
    few = replace(
        SELECTION, n_accepted=0, accepted_share=0.0,
        drift=replace(drift, flagged=False, statistic=None, p_value=None, note="TOO FEW ROWS"),
    )  # fmt: skip
    assert html_lines(few)[0] == (
        "bad: pac at alpha 0.15: 0 of 1,200 verdicts accepted, 1,200 to people; drift not tested"
    )
    assert "THE WORTH." not in html_lines(few)
    reasons = "380 too uncertain, 16 no verdict, 804 others left to people"
    assert f"detail: Not accepted: {reasons}" in html_lines(few)
    assert "detail: drift not tested: TOO FEW ROWS" in html_lines(few)


# --- evaluations and plans -------------------------------------------------------------------

EVALUATION_LINES = [
    "x is right on 82 % of 240 labelled verdicts (AUROC 0.764, ECE 0.031)",
    "scope | 52.2 % | accepted, 9.3 % wrong; above 10 % in 43 % of 400 splits",
    "pac | 33.3 % | accepted, 5.8 % wrong; above 10 % in 8 % of 400 splits",
    "detail: Quality of each doubt signal, on labelled rows with a verdict (positives: right "
    "verdicts)",
    "detail: signal | rows | no verdict | accuracy | ECE | AUROC | AUPRC",
    "detail: preference_entropy | 240 | 0 | 0.820 | 0.031 | 0.764 | 0.912",
    "detail: single_order | 240 | 12 | 0.790 | 0.052 | 0.703 | 0.888",
    "detail: x: alpha 0.1, 400 random splits",
    "detail: method | coverage | sd | accuracy | error share | sd | ratio | above alpha",
    "detail: vanilla | 1.000 | 0.000 | 0.787 | 0.213 | 0.014 | 0.214 | 96 %",
    "detail: scope | 0.522 | 0.064 | 0.907 | 0.093 | 0.023 | 0.097 | 43 %",
    "detail: pac | 0.333 | 0.092 | 0.942 | 0.058 | 0.025 | 0.066 | 8 %",
    "note: A WARNING",
    "left out 5 rows: no label",
    "detail: What this assumes",
    "detail: A CAVEAT",
    "detail: signals, as in the SCOPE paper: vanilla on single_order; scope, pac on "
    "preference_entropy",
    "detail: above alpha: share of splits with a larger error share in the test half; ratio: all "
    "errors divided by all accepted verdicts, over all splits; accuracy: of the accepted",
]
EVERY_METHOD = [
    "Every method on every signal at every alpha",
    "judge | signal | method | alpha | coverage | sd | accuracy | error share | sd | ratio | above "
    "alpha",
    "x | preference_entropy | vanilla | 0.05 | 1.000 | 0.000 | 0.819 | 0.181 | 0.011 | 0.182 | "
    "99 %",
    "x | preference_entropy | vanilla | 0.1 | 1.000 | 0.000 | 0.817 | 0.183 | 0.012 | 0.184 | 98 %",
    "x | preference_entropy | scope | 0.05 | 0.311 | 0.071 | 0.958 | 0.042 | 0.021 | 0.046 | 31 %",
    "x | preference_entropy | scope | 0.1 | 0.522 | 0.064 | 0.907 | 0.093 | 0.023 | 0.097 | 43 %",
    "x | preference_entropy | pac | 0.05 | 0.102 | 0.083 | 0.985 | 0.015 | 0.024 | 0.027 | 6 %",
    "x | preference_entropy | pac | 0.1 | 0.333 | 0.092 | 0.942 | 0.058 | 0.025 | 0.066 | 8 %",
    "x | single_order | vanilla | 0.05 | 1.000 | 0.000 | 0.789 | 0.211 | 0.013 | 0.212 | 97 %",
    "x | single_order | vanilla | 0.1 | 1.000 | 0.000 | 0.787 | 0.213 | 0.014 | 0.214 | 96 %",
    "x | single_order | scope | 0.1 | 0.411 | 0.065 | 0.906 | 0.094 | 0.026 | 0.098 | 44 %",
]


def test_an_evaluation() -> None:
    assert_shown(
        EVALUATION,
        [
            *EVALUATION_LINES,
            *(f"detail: {line}" for line in EVERY_METHOD),
            "figure: Below the dashed line a method's mean error share over splits is within "
            "alpha.",
            "figure: Choose the smallest alpha at which enough verdicts are accepted.",
            "figure: Below the diagonal the judge is right less often than its confidence.",
            "figure: Error share if only the verdicts with the least doubt are accepted. "
            "Calibrate before you rely on it.",
        ],
    )
    assert EVALUATION.to_frame().select("signal", "method", "alpha").row(3) == (
        ENTROPY, "scope", 0.1,
    )  # fmt: skip


def test_an_evaluation_of_two_judges_or_of_one_asked_in_two_ways() -> None:
    assert html_lines(TWO)[:12] == [
        "2 judges: right on 64 % (y) to 82 % (x) of their labelled verdicts",
        "scope | 20.8 % to 31.1 % | accepted, by judge; above 5 % in up to 62 % of splits",
        "detail: Quality of each doubt signal, on labelled rows with a verdict (positives: right "
        "verdicts)",
        "detail: judge | signal | rows | no verdict | accuracy | ECE | AUROC | AUPRC",
        "detail: x | preference_entropy | 240 | 0 | 0.820 | 0.031 | 0.764 | 0.912",
        "detail: y | preference_entropy | 240 | 0 | 0.640 | 0.123 | 0.555 | 0.777",
        "detail: x: alpha 0.05, 400 random splits",
        "detail: method | coverage | sd | accuracy | error share | sd | ratio | above alpha",
        "detail: scope | 0.311 | 0.071 | 0.958 | 0.042 | 0.021 | 0.046 | 31 %",
        "detail: y: alpha 0.05, 400 random splits",
        "detail: method | coverage | sd | accuracy | error share | sd | ratio | above alpha",
        "detail: scope | 0.208 | 0.061 | 0.921 | 0.079 | 0.031 | 0.085 | 62 %",
    ]
    numbers = {"accuracy": 0.64, "ece": 0.123, "auroc": 0.555, "auprc": 0.777}
    again = replace(quality("x", "verbalized", **numbers), protocol="verbalized")
    row = replace(risk("x", "verbalized", "scope", 0.05, 0, 0, 0, 0, 0, 0), protocol="verbalized")
    ways = replace(
        TWO, signals=(TWO.signals[0], again), methods=(TWO.methods[0], row), curves=TWO.curves[:1]
    )
    assert terminal_lines(ways)[0] == (
        "2 judges: right on 64 % (x (verbalized)) to 82 % (x (preference)) of their labelled "
        "verdicts"
    )


def test_an_evaluation_without_wrong_verdicts_claims_no_ranking() -> None:
    alike = replace(EVALUATION.signals[0], accuracy=1.0, auroc=None)
    only = replace(EVALUATION, signals=(alike,), methods=EVALUATION.methods[:6])
    assert terminal_lines(only)[0] == (
        "x is right on 100 % of 240 labelled verdicts (no AUROC: all are right, or all are wrong, "
        "ECE 0.031)"
    )
    assert not any("as in the paper" in line for line in terminal_lines(only))


def test_an_evaluation_without_verdicts_has_no_accuracy() -> None:
    nothing = dict.fromkeys(("accuracy", "ece", "auroc", "auprc"))
    mute = replace(EVALUATION.signals[0], n_no_verdict=240, **nothing)
    curve = replace(
        EVALUATION.curves[0], bin_confidence=(), bin_accuracy=(), bin_count=(), coverage=(), risk=()
    )
    only = replace(EVALUATION, signals=(mute,), methods=EVALUATION.methods[:6], curves=(curve,))
    lines = html_lines(only)
    assert lines[0] == "bad: x gives no verdict on any of 240 labelled rows"
    assert "detail: preference_entropy | 240 | 240 | – | – | – | –" in lines
    for name in ("reliability", "risk-coverage"):
        assert title(panel(only, name)) == "No row has a verdict"


def test_a_plan() -> None:
    assert_shown(
        PLAN,
        [
            "fdr at alpha 0.2 accepts 53.4 % of the verdicts with 50 labels, and 32 % of such "
            "policies are above 20 %",
            "More labels do not change that: --guarantee pac keeps it below delta.",
            "judge-x: fdr at alpha 0.2, 110 labels, 40 draws each",
            "labels | coverage | sd | error share | above alpha | accepts any",
            "25 | 0.412 | 0.201 | 0.123 | 21 % | 87 %",
            "50 | 0.534 | 0.152 | 0.145 | 32 % | 98 %",
            "100 * | 0.551 | 0.091 | 0.167 | 43 % | 100 %",
            "above alpha: share of draws with a larger error share; accepts any: share of draws "
            "that accept a verdict; * extrapolated",
            "left out 4 rows: human tie",
            "detail: What this assumes",
            "detail: A CONDITION",
            "figure: Stop labelling where the line flattens; the band is one standard deviation "
            "over the draws.",
        ],
    )
    assert PLAN.to_frame()["coverage"].to_list() == [0.412, 0.534, 0.551]


def test_a_plan_says_more_labels_help_only_where_they_do() -> None:
    sure = replace(PLAN, guarantee="pac", delta=0.1)
    assert terminal_lines(sure)[1] == "Twice the labels add less than 3 points of coverage."
    rising = replace(sure, recommended=None, points=PLAN.points[:2])
    assert terminal_lines(rising)[:2] == [
        "pac at alpha 0.2 accepts 53.4 % of the verdicts with 50 labels, and 32 % of such policies "
        "are above 20 %",
        "Label 50 or more: the last doubling added 12.2 points of coverage.",
    ]
    stated = replace(sure, n_labelled=0, n_rows=400, accuracies=(0.97, 0.9), points=PLAN.points[:2])
    lines = terminal_lines(stated)
    assert lines[2] == (
        "judge-x: pac at alpha 0.2, stated accuracies 0.97, 0.9 on 400 scored rows, 40 draws each"
    )
    assert not any("extrapolated" in line for line in lines)
    hopeless = replace(
        PLAN, recommended=None, points=(point(25, 0, 0, 0, 0, 0), point(50, 0.011, 0, 0, 0, 0.1))
    )
    assert html_lines(hopeless)[:2] == [
        "bad: fdr at alpha 0.2 accepts 1.1 % of the verdicts even with 50 labels",
        "Allow a larger alpha, or use a better judge.",
    ]


def test_which_rows_to_label() -> None:
    assert_shown(
        LABEL_PLAN,
        [
            "Label these 2 pairs, drawn at random among the surest 61.5 % of the verdicts of "
            "judge-x (preference)",
            "A policy from these labels accepts at most 61.5 % of the verdicts.",
            "scored verdicts | 1,300",
            "below the cut | 800 | an uncertainty of at most 0.312346; tied rows are included",
            "Use them with pac if random labels would let it accept clearly less than this share: "
            "it then has more labels near its threshold. If not, it accepts less. scope gains "
            "nothing from them.",
            "calibrate, select and serve never accept above the cut: the other 500 verdicts go "
            "to people.",
            "Do not choose the share from these labels: to try another share, draw new labels.",
            "They cannot estimate a rate; labels drawn at random can.",
            "note: A WARNING",
            "left out 4 rows: status error",
        ],
    )
    assert LABEL_PLAN.to_frame().row(1, named=True) == {
        "id": "p3", "sampled_by": "surest", "cut": 0.3123456, "cut_share": 0.615,
        "cut_judge": "judge-x", "cut_protocol": "preference", "cut_fingerprint": None,
    }  # fmt: skip
    assert_shown(
        replace(LABEL_PLAN, sampled_by="random", cut=None, n_below=1300, dropped={}),
        [
            "Label these 2 of 1,300 rows, drawn at random",
            "They can calibrate a policy and estimate a rate.",
            "note: A WARNING",
        ],
    )


# --- single rules and the paper --------------------------------------------------------------


def test_a_judge_without_a_name_is_the_judge() -> None:
    assert "for the judge, on the 300" in replace(POLICY, judges=("unnamed",)).explain()
    assert "the judge: fdr at alpha 0.2, 110 labels" in str(replace(PLAN, judge="unnamed"))
    signals = tuple(replace(one, judge="unnamed") for one in EVALUATION.signals)
    methods = tuple(replace(one, judge="unnamed") for one in EVALUATION.methods)
    text = str(replace(EVALUATION, signals=signals, methods=methods))
    assert text.startswith("The judge is right on 82 % of 240 labelled verdicts")
    assert "unnamed" not in text


@pytest.mark.parametrize("result", [POLICY, SELECTION, EVALUATION, PLAN, REPRODUCTION])
def test_the_repr_is_short(result: Result) -> None:
    assert len(repr(result)) <= 200
