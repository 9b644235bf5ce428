"""What the diagnoses of biases show, and that a bias is claimed only where the numbers show it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudge.data.answers import SameAnswer
from adjudge.diagnosis.agreement import Agreement, Ceiling
from adjudge.diagnosis.bias import BiasReport, JudgeBias
from adjudge.diagnosis.consistency import Contradictions, PositionBias, PositionGroup, Retest
from adjudge.diagnosis.family import FamilyBias, FamilyScores
from adjudge.diagnosis.length import LengthBias, LengthWinner, VerbosityBias
from adjudge.diagnosis.reliability import Reliability, ReliabilityBin
from shown import assert_shown, decision, drawn, ends, html_lines, legend, terminal_lines

POSITION = PositionBias(
    n=210, clusters=70, first_share=0.613, interval=ends(0.552, 0.671), biased=True,
    flip_share=0.234, flip_interval=ends(0.187, 0.291), dropped={"one order only": 6},
    confidence_level=0.95,
    by_group=(
        PositionGroup(group="de", n=90, first_share=0.644, interval=ends(0.561, 0.727),
                      flip_share=0.211),
        PositionGroup(group="en", n=120, first_share=0.59, interval=ends(0.513, 0.667),
                      flip_share=0.251),
    ),
    first_advantage=0.37, advantage_interval=ends(0.21, 0.53),
)  # fmt: skip
VERBOSITY = VerbosityBias(
    n=64, clusters=40, near_tie=0.1, longer_share=0.703, interval=ends(0.576, 0.811), biased=True,
    dropped={"not near-tied": 116, "equal length": 1}, confidence_level=0.95,
)  # fmt: skip
LENGTH = LengthBias(
    n=181, clusters=66, models=6, effect=0.124, effect_interval=ends(0.085, 0.163),
    odds_doubling=1.624, human_n=96, human_effect=0.053,
    excess=0.071, interval=ends(0.022, 0.12), biased=True, floor=0.03,
    winners=(LengthWinner(model="wordy", n=60, win_share=0.58, by_strength=0.44),),
    dropped={"equal length": 1}, confidence_level=0.95,
)  # fmt: skip
FAMILY = FamilyBias(
    family="OpenAI", reference="people", n=88, clusters=44, judge_share=0.72, reference_share=0.55,
    excess=0.17, interval=ends(0.049, 0.293), biased=True,
    dropped={"not exactly one own answer": 122},
    confidence_level=0.95,
)  # fmt: skip
POINTS = FamilyScores(
    judge="gpt-x", family="OpenAI", reference="the other judges", n=420, own_models=3,
    other_models=9, own_deviation=0.41, other_deviation=-0.07, excess=0.48,
    interval=ends(0.12, 0.84),
    biased=True, dropped={"no model named": 4}, confidence_level=0.95,
)  # fmt: skip
AGREEMENT = Agreement(
    level="nominal", n=175, clusters=62, raw=0.771, raw_interval=ends(0.695, 0.836),
    kappa=0.54, kappa_interval=ends(0.41, 0.66), alpha=0.53, alpha_interval=ends(0.4, 0.65),
    ceiling=Ceiling(
        n=80, raw=0.85, interval=ends(0.753, 0.92), kappa=0.69, alpha=0.68,
        gap=0.09, gap_interval=ends(0.01, 0.17),
    ),
    judge_values={"A": 101, "B": 74},
    dropped={"no human label": 35}, confidence_level=0.95,
)  # fmt: skip
RELIABILITY = Reliability(
    n=173, clusters=61, accuracy=0.775, accuracy_interval=ends(0.698, 0.84),
    mean_confidence=0.874, ece_uniform=0.101, ece_equal_mass=0.114, ece_interval=ends(0.032, 0.196),
    ece_if_calibrated=0.057, p_value=0.004, over_confidence=0.099, interval=ends(0.036, 0.162),
    biased=True,
    curve=(
        ReliabilityBin(low=0.5, high=0.79, n=86, confidence=0.681, accuracy=0.64,
                       accuracy_interval=ends(0.53, 0.742)),
        ReliabilityBin(low=0.79, high=0.999, n=87, confidence=0.931, accuracy=0.908,
                       accuracy_interval=ends(0.827, 0.959)),
    ),
    dropped={}, confidence_level=0.95,
)  # fmt: skip
CONTRADICTIONS = Contradictions(
    n=142, clusters=58, share=0.127, interval=ends(0.077, 0.193), dropped={"equal scores": 68},
    confidence_level=0.95,
)  # fmt: skip
RETEST = Retest(
    n=200, clusters=58, most_repeats=3, flip_share=0.042, interval=ends(0.021, 0.074),
    dropped={"answered once": 7},
    confidence_level=0.95,
)  # fmt: skip
GPT = JudgeBias(
    judge="gpt-x", rows=216, position=POSITION, length=LENGTH, verbosity=VERBOSITY, family=FAMILY,
    family_scores=POINTS, agreement=AGREEMENT, reliability=RELIABILITY,
    contradictions=CONTRADICTIONS, not_measured={},
)  # fmt: skip
#: No bias shown, and most could not be measured.
FAIR = JudgeBias(
    judge="fair-7b", rows=48,
    position=replace(
        POSITION, n=47, clusters=47, first_share=0.521, interval=ends(0.443, 0.599), biased=False,
        flip_share=0.064, flip_interval=ends(0.013, 0.175), by_group=(), first_advantage=None,
        advantage_interval=None,
    ),
    verbosity=None, family=None, family_scores=None, agreement=None,
    reliability=replace(
        RELIABILITY, n=45, accuracy=0.822, accuracy_interval=ends(0.679, 0.92),
        mean_confidence=0.835, ece_equal_mass=0.083, ece_interval=ends(0.0, 0.216),
        ece_if_calibrated=0.091, p_value=0.61, over_confidence=0.013, interval=ends(-0.104, 0.13),
        biased=False,
    ),
    contradictions=None,
    not_measured={"verbosity": "no response text", "contradictions": "needs verdicts"},
)  # fmt: skip


def report(*judges: JudgeBias) -> BiasReport:
    one = judges[0]
    return BiasReport(
        rows=264, clusters=77, clustered_by="prompt_id", judges=judges,
        position=one.position, length=one.length, verbosity=one.verbosity, family=one.family,
        family_scores=one.family_scores, agreement=one.agreement, reliability=one.reliability,
        contradictions=one.contradictions, not_measured=one.not_measured,
        dropped={"votes on turn 2": 12}, confidence_level=0.95, seed=0,
        assumptions=("clusters are independent",), floor=0.03,
        same_answers=(
            SameAnswer(model="null-model", known_by="text", same=40, prompts=41, win_share=0.863),
        ),
    )  # fmt: skip


REPORT = report(GPT)
COLUMNS = "measure | value | 95 % interval | unbiased | rows"
POSITION_ROWS = [
    "first slot | 0.613 | [0.552, 0.671] | 0.5 | 210",
    "first slot, points | 0.370 | [0.210, 0.530] | 0 | 210",
    "order flips | 0.234 | [0.187, 0.291] | 0 | 210",
]
VERBOSITY_ROWS = [
    "longer, near-tied | 0.703 | [0.576, 0.811] | 0.5 | 64",
]
LENGTH_ROWS = [
    "length, minus people | 0.071 | [0.022, 0.120] | 0 | 96",
    "length, effect | 0.124 | [0.085, 0.163] | 0 | 181",
]
FAMILY_ROW = "own family, excess | 0.170 | [0.049, 0.293] | 0 | 88"
POINTS_ROW = "own family, points | 0.480 | [0.120, 0.840] | 0 | 420"
AGREEMENT_ROWS = [
    "agrees with people | 0.771 | [0.695, 0.836] | – | 175",
    "kappa | 0.540 | [0.410, 0.660] | – | 175",
    "Krippendorff's alpha | 0.530 | [0.400, 0.650] | – | 175",
    "two people agree | 0.850 | [0.753, 0.920] | – | 80",
]
RELIABILITY_ROWS = [
    "over-confidence | 0.099 | [0.036, 0.162] | 0 | 173",
    "ECE, equal mass | 0.114 | [0.032, 0.196] | 0.057 | 173",
]
CONTRADICTIONS_ROW = "against own scores | 0.127 | [0.077, 0.193] | 0 | 142"
GROUPS = [
    "group | pairs | first slot | 95 % interval | order flips",
    "de | 90 | 0.644 | [0.561, 0.727] | 0.211",
    "en | 120 | 0.590 | [0.513, 0.667] | 0.251",
]
SENTENCES = {
    "position": (
        "picks the first answer in 61.3 % of 420 presentations [55.2, 67.1], changes its verdict "
        "with the order on 23.4 % of pairs: it prefers the first slot; being shown first is worth "
        "+0.37 points of score [0.21, 0.53]"
    ),
    "length": (
        "adds +12.4 points to the win probability of the longer answer over 181 pairs of unequal "
        "length, 6 models held fixed [+8.5, +16.3], odds times 1.62 for twice the length (people "
        "+5.3 points in 96, difference +7.1 [+2.2, +12.0]): it prefers the longer answer, more "
        "than people do"
    ),
    "verbosity": (
        "prefers the longer answer in 70.3 % of 64 near-tied pairs [57.6, 81.1]: it prefers the "
        "longer answer"
    ),
    "family": (
        "prefers OpenAI in 72 % of 88 mixed pairs, +17.0 points compared with people "
        "[+4.9, +29.3]: it favours its own family"
    ),
    "family_scores": (
        "gives 3 OpenAI models +0.48 points compared with 9 others, measured against the other "
        "judges [+0.12, +0.84]: it favours its own family"
    ),
    "agreement": (
        "agrees with people on 77.1 % of 175 rows, kappa 0.54 [0.41, 0.66]; two people agree on "
        "85 % of 80 rows, more often than a person agrees with the judge there"
    ),
    "reliability": (
        "ECE 0.114, equal mass (a calibrated judge would show 0.057): over-confident by 9.9 points "
        "[3.6, 16.2]"
    ),
    "contradictions": (
        "names the answer it scored lower in 12.7 % of 142 decisive pairs [7.7, 19.3]"
    ),
}


WINNERS = [
    "null-model wins 86.3 % with the same text for 40 of 41 prompts: read its answers before you "
    "trust its rank",
    "wordy wins 58 % of 60 pairs with gpt-x, and would win 44 % at equal lengths",
]
FLOOR = "differences below 3 points of 100 are not called a bias (--floor)"


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentence_of_a_diagnosis(name: str) -> None:
    assert getattr(GPT, name).describe() == SENTENCES[name]
    assert str(getattr(GPT, name)) == capital(SENTENCES[name])


ALONE = replace(
    LENGTH,
    excess=None,
    human_effect=None,
    human_n=0,
    interval=ends(0.085, 0.163),
    winners=(),
)
FOUND = (
    "adds +12.4 points to the win probability of the longer answer over 181 pairs of unequal length"
)


@pytest.mark.parametrize(
    ("bias", "says"),
    [
        (
            ALONE,
            f"{FOUND}, 6 models held fixed [+8.5, +16.3], odds times 1.62 for twice the length: it "
            "prefers the longer answer",
        ),
        (
            replace(
                ALONE,
                effect=-0.124,
                effect_interval=ends(-0.163, -0.085),
                odds_doubling=0.6,
            ),
            f"{FOUND.replace('+', '-')}, 6 models held fixed [-16.3, -8.5], odds times 0.60 for "
            "twice the length: it prefers the shorter answer",
        ),
        # 51.9 % [51.1, 52.7] is sure, and no finding.
        (
            replace(
                ALONE,
                effect=0.019,
                effect_interval=ends(0.011, 0.027),
                biased=False,
            ),
            f"{FOUND.replace('12.4', '1.9')}, 6 models held fixed [+1.1, +2.7], odds times 1.62 "
            "for twice the length: more than chance, but below the 3 points that are called a bias",
        ),
        (
            replace(ALONE, effect_interval=ends(-0.01, 0.26), biased=False, models=0),
            f"{FOUND} [-1.0, +26.0], odds times 1.62 for twice the length: no preference for "
            "length shown",
        ),
        (
            replace(LENGTH, interval=ends(-0.05, 0.12), biased=False),
            f"{FOUND}, 6 models held fixed [+8.5, +16.3], odds times 1.62 for twice the length "
            "(people +5.3 points in 96, difference +7.1 [-5.0, +12.0]): no preference for length "
            "stronger than people's shown",
        ),
        (
            replace(
                LENGTH,
                human_effect=0.2,
                excess=-0.076,
                interval=ends(-0.12, -0.03),
                biased=False,
            ),
            f"{FOUND}, 6 models held fixed [+8.5, +16.3], odds times 1.62 for twice the length "
            "(people +20.0 points in 96, difference -7.6 [-12.0, -3.0]): it prefers length "
            "less than people do, as a judge that agrees less with them does",
        ),
        (
            replace(LENGTH, interval=None, biased=False),
            f"{FOUND}, 6 models held fixed [+8.5, +16.3], odds times 1.62 for twice the length "
            "(people +5.3 points in 96, difference +7.1, without an interval)",
        ),
        (
            replace(ALONE, effect_interval=None, interval=None, biased=False),
            f"{FOUND}, 6 models held fixed; no interval: too few pairs or clusters for this "
            "number of models",
        ),
        (
            replace(ALONE, n=0, effect=None, effect_interval=None, biased=False),
            "saw no two answers of unequal length: no preference for length is measurable",
        ),
    ],
)
def test_what_is_said_of_length(bias: LengthBias, says: str) -> None:
    assert str(bias) == capital(says)


def test_a_sure_but_small_difference_is_no_bias() -> None:
    small = "more than chance, but below the 3 points that are called a bias"
    position = replace(
        POSITION,
        first_share=0.519,
        interval=ends(0.511, 0.527),
        biased=False,
        floor=0.03,
    )
    verbosity = replace(
        VERBOSITY,
        longer_share=0.519,
        interval=ends(0.511, 0.527),
        biased=False,
        floor=0.03,
    )
    family = replace(FAMILY, excess=0.019, interval=ends(0.011, 0.027), biased=False, floor=0.03)
    sure = replace(
        RELIABILITY, over_confidence=0.019, interval=ends(0.011, 0.027), biased=False, floor=0.03,
        p_value=0.2,
    )  # fmt: skip
    for part in (position, verbosity, family, sure):
        assert small in str(part)
        assert not part.measures()[0].departs
    off = replace(sure, p_value=0.01)
    assert "over-confident by 1.9 points" in str(off)


def test_a_reply_that_prefers_what_it_scored_lower() -> None:
    assert str(replace(CONTRADICTIONS, unit="reply")).splitlines()[0] == (
        "Names the answer it scored lower in 12.7 % of 142 decisive replies [7.7, 19.3]"
    )


def test_answers_to_the_same_question() -> None:
    assert str(RETEST) == (
        "Gives another answer when asked again in 4.2 % of repeats [2.1, 7.4], of 200 questions "
        "asked up to 3 times"
    )
    rows = html_lines(report(replace(FAIR, retest=RETEST)))
    assert "detail: asked again, differs | 0.042 | [0.021, 0.074] | 0 | 200" in rows
    assert str(replace(RETEST, interval=None)).splitlines()[0] == (
        "Gives another answer when asked again in 4.2 % of repeats; no interval: all rows are in "
        "one cluster, of 200 questions asked up to 3 times"
    )


def detail(*lines: str) -> list[str]:
    return [f"detail: {line}" for line in lines]


def test_a_report_of_one_judge() -> None:
    assert_shown(
        REPORT,
        [
            "bad: gpt-x shows a bias in 5 of 5 tests: position, length, own family, own family in "
            "points, confidence",
            "Use the mean of both orders (p_a), not one order; correct before you report; "
            "calibrate before you trust.",
            "Position by group",
            *GROUPS,
            *WINNERS,
            "left out 12 rows: votes on turn 2",
            *detail(
                "Biases, intervals clustered by prompt_id",
                COLUMNS,
                *POSITION_ROWS,
                *LENGTH_ROWS,
                *VERBOSITY_ROWS,
                FAMILY_ROW,
                POINTS_ROW,
                *AGREEMENT_ROWS,
                *RELIABILITY_ROWS,
                CONTRADICTIONS_ROW,
                "Details",
                *map(capital, SENTENCES.values()),
                FLOOR,
                "with no bias at all, up to 0.25 of 5 tests would show one by chance",
                "clusters are independent",
            ),
            "figure: Distance from an unbiased judge, with 95 % intervals (filled: a bias is "
            "shown).",
            "figure: How often the judge is right at each confidence; the dashed line is "
            "calibrated.",
        ],
    )


def test_up_to_six_measures_of_one_judge_have_a_line_each() -> None:
    few = replace(GPT, family=None, family_scores=None, contradictions=None)
    assert terminal_lines(report(few))[2:6] == [
        "first slot | 0.613 [0.552, 0.671] | unbiased: 0.5, a bias",
        "length, minus people | 0.071 [0.022, 0.120] | unbiased: 0, a bias",
        "agrees with people | 0.771 [0.695, 0.836] | 175 rows",
        "over-confidence | 0.099 [0.036, 0.162] | unbiased: 0, a bias",
    ]
    # Near-tied pairs test a preference for length if nothing better does.
    no_length = terminal_lines(report(replace(few, length=None)))
    assert any(line.startswith("longer, near-tied |") for line in no_length)


def test_a_report_of_two_judges_names_whose_each_number_is() -> None:
    assert_shown(
        report(replace(FAIR, judge="a-fair"), replace(GPT, family=None, family_scores=None)),
        [
            "bad: 1 of 2 judges show a bias: gpt-x (position, length, confidence)",
            "Use the mean of both orders (p_a), not one order; correct before you report; "
            "calibrate before you trust.",
            "Position by group: gpt-x",
            *GROUPS,
            *WINNERS,
            "not measured: verbosity, contradictions",
            "left out 12 rows: votes on turn 2",
            *detail(
                "Biases, intervals clustered by prompt_id",
                "judge | " + COLUMNS,
                "a-fair | first slot | 0.521 | [0.443, 0.599] | 0.5 | 47",
                "a-fair | order flips | 0.064 | [0.013, 0.175] | 0 | 47",
                "a-fair | over-confidence | 0.013 | [-0.104, 0.130] | 0 | 45",
                "a-fair | ECE, equal mass | 0.083 | [0.000, 0.216] | 0.091 | 45",
                *(
                    f"gpt-x | {row}"
                    for row in (
                        *POSITION_ROWS,
                        *LENGTH_ROWS,
                        *VERBOSITY_ROWS,
                        *AGREEMENT_ROWS,
                        *RELIABILITY_ROWS,
                        CONTRADICTIONS_ROW,
                    )
                ),
                "Details",
                "a-fair: picks the first answer in 52.1 % of 94 presentations [44.3, 59.9], "
                "changes its verdict with the order on 6.4 % of pairs: no preference for a slot "
                "shown",
                "a-fair: ECE 0.083, equal mass (a calibrated judge would show 0.091): no "
                "miscalibration shown, but with 45 rows its over-confidence can be anywhere in "
                "[-10.4, +13.0] points",
                *(
                    f"gpt-x: {text}"
                    for name, text in SENTENCES.items()
                    if name not in ("family", "family_scores")
                ),
                "a-fair: not measured, verbosity: no response text",
                "a-fair: not measured, contradictions: needs verdicts",
                FLOOR,
                "with no bias at all, up to 0.25 of 5 tests would show one by chance",
                "clusters are independent",
            ),
            "figure: Distance from an unbiased judge, with 95 % intervals (filled: a bias is "
            "shown).",
        ],
    )


@pytest.mark.parametrize(
    ("judges", "headline"),
    [
        ((FAIR,), "No bias shown by fair-7b in 2 tests: position, confidence"),
        ((FAIR, replace(FAIR, judge="other")), "No bias shown by 2 judges in 4 tests"),
        (
            (replace(FAIR, position=None, reliability=None, agreement=AGREEMENT),),
            "No bias could be tested: no measure of one has an interval",
        ),
        ((replace(FAIR, position=None, reliability=None),), "Nothing could be measured"),
    ],
)
def test_a_headline_claims_no_more_than_was_tested(
    judges: tuple[JudgeBias, ...], headline: str
) -> None:
    assert str(report(*judges)).splitlines()[0] == headline


def test_the_advice_is_about_the_biases_that_are_shown() -> None:
    one = replace(FAIR, judge="unnamed", reliability=GPT.reliability)
    assert str(report(one)).splitlines()[:2] == [
        "The judge shows a bias in 1 of 2 tests: confidence",
        "Calibrate before you trust.",
    ]
    # Both orders were asked, or there would be no test of position: that is not the advice.
    slot = replace(FAIR, position=POSITION)
    assert str(report(slot)).splitlines()[1] == "Use the mean of both orders (p_a), not one order."
    order = replace(FAIR, position=replace(POSITION, flip_share=0.95))
    assert str(report(order)).splitlines()[1] == "Use another judge or prompt."


def conclusion(text: str) -> str:
    """What the first line of a result says after its numbers."""
    return text.splitlines()[0].rpartition(": ")[2]


def test_a_slot_is_preferred_only_where_the_interval_excludes_one_half() -> None:
    quiet = replace(POSITION, first_advantage=None)
    assert conclusion(str(quiet)) == "it prefers the first slot"
    second = replace(quiet, first_share=0.31, interval=ends(0.25, 0.38))
    assert conclusion(str(second)) == "it prefers the second slot"
    strong = replace(quiet, first_share=0.981, interval=ends(0.95, 0.995), flip_share=0.962)
    assert conclusion(str(strong)) == (
        "it prefers the first slot so much that its verdicts say little about answers"
    )
    few = replace(strong, interval=ends(0.4, 1.0), biased=False)
    assert conclusion(str(few)) == "no preference for a slot shown"
    alone = replace(quiet, clusters=1, interval=None, biased=False)
    assert str(alone).splitlines()[0] == (
        "Picks the first answer in 61.3 % of 420 presentations; no interval: all rows are in one "
        "cluster"
    )


def test_six_pairs_do_not_show_a_preference_for_length() -> None:
    six = replace(
        VERBOSITY, n=6, longer_share=0.667, interval=ends(0.187, 0.969), biased=False,
    )  # fmt: skip
    assert str(six).splitlines()[0] == (
        "Prefers the longer answer in 66.7 % of 6 near-tied pairs [18.7, 96.9]: no preference for "
        "length shown"
    )
    assert not six.measures()[0].departs


def test_near_tied_pairs_can_favour_the_shorter_answer() -> None:
    shorter = replace(VERBOSITY, longer_share=0.3, interval=ends(0.2, 0.4))
    assert conclusion(str(shorter)) == "it prefers the shorter answer"


def test_what_cannot_be_measured_is_said_so() -> None:
    none = replace(VERBOSITY, n=0, longer_share=None, interval=None, dropped={})
    assert str(none).splitlines()[0] == (
        "Has no near-tied pair of unequal length: no preference for length is measurable"
    )
    assert str(replace(FAMILY, excess=None)).splitlines()[0] == (
        "No pair compares OpenAI with another family: no family bias is measurable"
    )
    assert str(replace(POINTS, excess=None)).splitlines()[0] == (
        "No scores of OpenAI and of other families too: nothing to compare"
    )
    assert str(replace(CONTRADICTIONS, share=None)).splitlines()[0] == (
        "No pair has both a verdict and two different scores: no contradiction is measurable"
    )
    for part in (VERBOSITY, FAMILY, CONTRADICTIONS, RELIABILITY):
        alone = replace(part, interval=None)
        assert "; no interval: all rows are in one cluster" in str(alone).splitlines()[0]
    assert "; no interval: one model alone on a side, or no spread" in str(
        replace(POINTS, interval=None)
    )


def test_a_family_is_favoured_only_where_the_interval_excludes_zero() -> None:
    for bias in (FAMILY, POINTS):
        assert conclusion(str(bias)) == "it favours its own family"
        harder = replace(bias, excess=-0.2, interval=ends(-0.3, -0.1))
        assert conclusion(str(harder)) == "it is harder on its own family"
        wide = replace(bias, interval=ends(-0.01, bias.high), biased=False)
        assert conclusion(str(wide)) == "no family bias shown"


@pytest.mark.parametrize(
    ("change", "ends"),
    [
        (
            {"kappa_interval": ends(-0.02, 0.66)},
            "kappa 0.54 [-0.02, 0.66]: not shown to be more than chance",
        ),
        (
            {"kappa": -0.3, "kappa_interval": ends(-0.5, -0.1)},
            "kappa -0.30 [-0.50, -0.10]: less than chance would give",
        ),
        (
            {"judge_values": {"A": 175, "B": 0}},
            "77.1 % of 175 rows; it says A every time: this does not show that it can tell "
            "answers apart",
        ),
        (
            {"raw": 1.0},
            "100 % of 175 rows: the same answer on every row; check that the judge did not see the "
            "labels, or that the labels were not made by it",
        ),
        ({"raw": 1.0, "n": 5}, "100 % of 5 rows, kappa 0.54 [0.41, 0.66]"),
    ],
)
def test_agreement_says_what_the_numbers_allow(change: dict[str, object], ends: str) -> None:
    agreement = replace(AGREEMENT, ceiling=None, **change)  # type: ignore[arg-type]
    assert str(agreement).splitlines()[0].endswith(ends)


@pytest.mark.parametrize(
    ("gap", "says"),
    [
        ((-0.1, -0.02), "on 85 % of 80 rows, less often than a person agrees with the judge there"),
        ((-0.1, 0.2), "two people agree on 85 % of 80 rows"),
    ],
)
def test_the_human_ceiling(gap: tuple[float, float], says: str) -> None:
    assert AGREEMENT.ceiling is not None
    ceiling = replace(AGREEMENT.ceiling, gap_interval=ends(gap[0], gap[1]))
    assert str(replace(AGREEMENT, ceiling=ceiling)).splitlines()[0].endswith(says)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"interval": ends(-0.162, -0.036), "over_confidence": -0.099},
            "under-confident by 9.9 points [3.6, 16.2]",
        ),
        (
            {"interval": ends(-0.02, 0.03)},
            "not over- or under-confident on average, but miscalibrated at some confidence "
            "levels (p = 0.004)",
        ),
        # 24 rows whose verdicts say nothing: nothing is known of their confidence either.
        (
            {"interval": ends(-0.2, 0.2), "p_value": 0.7, "n": 24, "accuracy": 0.542,
             "accuracy_interval": ends(0.328, 0.744)},
            "whether its confidence can be trusted is not known, because its verdicts are not "
            "shown to beat chance (54.2 % of 24 rows right [32.8, 74.4])",
        ),
        (
            {"interval": ends(-0.08, 0.03), "p_value": 0.7},
            "no miscalibration shown, but with 173 rows its over-confidence can be anywhere in "
            "[-8.0, +3.0] points",
        ),
        (
            {"interval": ends(-0.02, 0.03), "p_value": 0.7, "n": 4000},
            "calibrated as far as 4,000 rows show, over-confidence in [-2.0, +3.0] points",
        ),
    ],
)  # fmt: skip
def test_confidence_is_called_calibrated_only_on_evidence(
    change: dict[str, object], says: str
) -> None:
    biased = "over_confidence" in change
    judge = replace(RELIABILITY, **{"biased": biased, **change})  # type: ignore[arg-type]
    assert conclusion(str(judge)) == says


# --- pictures --------------------------------------------------------------------------------


def test_a_bias_below_zero_is_named_by_its_direction() -> None:
    [judge] = REPORT.judges
    below = {"over_confidence": -0.1, "interval": ends(-0.162, -0.036)}
    reliability = replace(RELIABILITY, **below)  # type: ignore[arg-type]
    only = replace(judge, position=None, length=None, verbosity=None, family=None)
    figure = replace(REPORT, judges=(replace(only, reliability=reliability),)).plot()
    assert drawn(figure.axes[0])["title"] == "gpt-x shows a bias:\nunder-confidence"


def test_the_pictures_of_one_judge() -> None:
    figure = REPORT.plot()
    [panel] = map(drawn, figure.axes)
    assert panel == {
        "title": "gpt-x shows a bias:\nfirst slot, longer answer, own family, over-confidence",
        "x": "points from an unbiased judge, 95 % interval",
        "y": "",
        "x ticks": panel["x ticks"],
        "y ticks": ["first slot", "longer answer", "own family", "over-confidence"],
        "lines": [
            [(5.2, 0), (17.1, 0)],
            [(2.2, 1), (12.0, 1)],
            [(4.9, 2), (29.3, 2)],
            [(3.6, 3), (16.2, 3)],
            [(0, 0), (0, 1)],
        ],
        "dots": [(11.3, 0), (7.1, 1), (17.0, 2), (9.9, 3)],
        "texts": [],
    }
    low, high = figure.axes[0].get_xlim()
    assert low == -high < -29.3
    assert legend(figure) == []
    panel = REPORT.plot(figure="reliability").axes[0]
    curve = drawn(panel)
    assert (curve["title"], curve["x"], curve["y"]) == (
        "Over-confident (ECE 0.11)",
        "confidence (dashed: equal)",
        "share of verdicts right, 95 % interval",
    )
    assert curve["lines"] == [[(0.5, 0.5), (1, 1)], [(0.681, 0.64), (0.931, 0.908)]]
    bars = [bar.tolist() for bar in panel.collections[0].get_segments()]
    assert bars == [[[0.681, 0.53], [0.681, 0.742]], [[0.931, 0.827], [0.931, 0.959]]]


def test_the_picture_of_two_judges() -> None:
    both = report(FAIR, GPT)
    assert list(both.figures()) == ["bias"]
    figure = both.plot()
    [panel] = map(drawn, figure.axes)
    assert panel["title"] == "1 of 2 judges show one of these biases"
    names = ("first slot", "longer answer", "own family", "over-confidence")
    assert panel["y ticks"] == [
        *("fair-7b, first slot", "fair-7b, over-confidence"),
        *(f"gpt-x, {name}" for name in names),
    ]
    assert panel["dots"] == [(2.1, 0), (1.3, 1), (11.3, 2), (7.1, 3), (17.0, 4), (9.9, 5)]
    assert panel["lines"][:2] == [[(-5.7, 0), (9.9, 0)], [(-10.4, 1), (13.0, 1)]]
    filled = [tuple(dot.get_facecolor()[0]) != (1, 1, 1, 1) for dot in figure.axes[0].collections]
    assert filled == [False, False, True, True, True, True]


def test_titles_follow_the_intervals() -> None:
    fair = report(FAIR)
    assert drawn(fair.plot().axes[0])["title"] == "fair-7b: none of these biases shown"
    long = report(replace(GPT, judge="a judge with a name that has no end"))
    assert drawn(long.plot().axes[0])["title"] == (
        "a judge with a…at has no end shows a bias:\nfirst slot, longer answer, own family, "
        "over-confidence"
    )
    assert drawn(fair.plot(figure="reliability").axes[0])["title"] == (
        "No over- or under-confidence shown (ECE 0.08)"
    )


def test_a_row_for_each_measure() -> None:
    frame = report(FAIR, GPT).to_frame()
    assert frame.columns == ["judge", "name", "value", "low", "high", "unbiased", "n", "departs"]
    assert frame.row(2) == ("fair-7b", "over-confidence", 0.013, -0.104, 0.13, 0.0, 45, False)
    assert frame.height == 4 + 15


def test_what_follows_from_biases() -> None:
    assert decision(REPORT) == (
        "gpt-x shows a bias in 5 of 5 tests: position, length, own family, own family in points, "
        "confidence: use the mean of both orders (p_a), not one order; correct before you report; "
        "calibrate before you trust"
    )
    assert decision(report(FAIR)) == "No bias shown by fair-7b in 2 tests"
