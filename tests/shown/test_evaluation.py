"""What people see of an evaluation, of fixed numbers; and what its picture draws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from shown_selection import EVALUATION

from adjudge.estimation.comparison import BestJudge
from adjudge.evaluation.evaluate import JudgeEvaluation, UnlabelledJudge
from adjudge.evaluation.scores import PeopleScores, ScoreAgreement
from adjudge.evaluation.slices import SliceErrors
from adjudge.evaluation.verdicts import ClassAgreement, PeopleAgreement, VerdictAgreement
from adjudge.present.render.terminal import render_text
from shown import ends

BILLING = SliceErrors(
    column="topic",
    value="billing",
    n=52,
    errors=14,
    share=0.2692,
    share_of_rest=0.1223,
    p_value=0.002,
    adjusted=0.012,
)
OTHER = replace(BILLING, value="other", n=188, errors=23, share=0.1223, share_of_rest=0.2692)
JUDGE = VerdictAgreement(
    judge=None,
    n=240,
    n_rows=800,
    clusters=240,
    agreement=0.8458,
    interval=ends(0.795, 0.886),
    constant="pass",
    gain=0.217,
    gain_interval=ends(0.149, 0.283),
    kappa=0.66,
    kappa_interval=ends(0.56, 0.76),
    names=("pass", "fail"),
    matrix=((138, 13, 0), (24, 65, 0)),
    classes=(
        ClassAgreement(
            name="pass",
            people=151,
            judge=162,
            share_of_people=0.914,
            interval=ends(0.86, 0.95),
            share_of_judge=0.852,
            judge_interval=ends(0.79, 0.9),
        ),
        ClassAgreement(
            name="fail",
            people=89,
            judge=78,
            share_of_people=0.73,
            interval=ends(0.63, 0.81),
            share_of_judge=0.833,
            judge_interval=ends(0.73, 0.91),
        ),
    ),
    people=PeopleAgreement(
        n=80,
        share=0.91,
        interval=ends(0.83, 0.96),
        with_judge=0.84,
        gap_interval=ends(0.01, 0.13),
    ),
    slices=(BILLING, OTHER),
)
RESULT = JudgeEvaluation(
    unit="answer",
    drawn="random",
    clustered_by=None,
    confidence_level=0.95,
    judges=(JUDGE,),
    slices_by=("topic",),
    assumptions=("labelled rows are a random sample",),
    dropped={},
    seed=0,
)


def shown(result: JudgeEvaluation = RESULT, **changes: Any) -> list[str]:
    return str(replace(result, **changes)).splitlines()


def of_judge(**changes: Any) -> list[str]:
    return shown(judges=(replace(JUDGE, **changes),))


def test_the_sentences() -> None:
    assert shown() == [
        "The judge agrees with people on 84.6 % of 240 labelled answers, 95 % interval "
        "[79.5, 88.6]",
        'that is 21.7 points more than always saying "pass" [14.9, 28.3]; two people agree on '
        "91 % of 80 rows, one of them with the judge on 84 %",
        "it passes 91.4 % [86, 95] of what people pass and fails 73 % [63, 81] of what people "
        "fail; kappa 0.66",
        "37 disagreements: 24 passes that people fail, 13 fails that people pass; most in "
        "topic = billing (14 of 52)",
    ]


def test_what_is_not_shown_is_not_claimed() -> None:
    same = of_judge(gain=0.02, gain_interval=ends(-0.03, 0.07), people=None)[1]
    assert same == ('not shown to be better than always saying "pass": 2.0 points more [-3.0, 7.0]')
    worse = of_judge(gain=-0.05, gain_interval=ends(-0.08, -0.02), people=None)[1]
    assert worse == 'that is 5.0 points less than always saying "pass" [-8.0, -2.0]'
    chance = of_judge(slices=(replace(BILLING, adjusted=0.2),))[3]
    assert chance.endswith("13 fails that people pass; none of 1 slice stands out")
    fewer = replace(BILLING, errors=2, share=0.04, share_of_rest=0.2)
    assert "most in" not in of_judge(slices=(fewer,))[3]
    assert of_judge(matrix=((151, 0, 0), (0, 89, 0)))[3] == (
        "no disagreement: check that the judge did not see the labels"
    )


def test_how_labels_were_drawn_is_in_the_headline() -> None:
    assert shown(drawn="verdict")[0] == (
        "The judge agrees with people on 84.6 % of all 800 answers (240 labelled), 95 % interval "
        "[79.5, 88.6]"
    )
    assert "of these 240 labelled answers, which were chosen" in shown(drawn="chosen")[0]
    unknown = shown(judges=(replace(JUDGE, agreement=None, gain=None, gain_interval=None),))
    assert unknown[0] == (
        "No number for the judge: a verdict has no label; agreement is in [79.5, 88.6]"
    )


def test_pairs_and_classes_have_their_words() -> None:
    first, second = JUDGE.classes
    pairs = of_judge(
        names=("A", "B"),
        classes=(replace(first, name="A"), replace(second, name="B")),
        matrix=((130, 13, 8), (24, 65, 0)),
        slices=(),
    )
    assert pairs[2] == (
        "it finds 91.4 % [86, 95] of people's A, 73 % [63, 81] of their B; kappa 0.66"
    )
    assert pairs[3] == (
        "45 disagreements: 24 A where people say B, 13 B where people say A, 8 without a verdict"
    )
    classes = of_judge(
        names=("calm", "cross", "glad"),
        matrix=((50, 3, 2, 0), (9, 60, 4, 0), (1, 5, 106, 0)),
        classes=tuple(
            replace(first, name=name, share_of_people=share)
            for name, share in (("calm", 0.9), ("cross", 0.82), ("glad", 0.95))
        ),
        slices=(),
    )
    assert classes[2] == (
        "it agrees with people on 82 % (cross) to 95 % (glad) of what they call so; kappa 0.66"
    )
    assert classes[3] == (
        "24 disagreements: 9 calm where people say cross, 5 cross where people say glad, 10 others"
    )


def test_its_doubt_is_a_line_and_all_of_it_is_folded() -> None:
    lines = shown(doubt=EVALUATION)
    assert any(line.startswith("its doubt: ") or "doubt separates" in line for line in lines)
    every = render_text(replace(RESULT, doubt=EVALUATION).view(), explain=True)
    assert "Quality of each doubt signal" in every
    assert {"matrix", "risk", "coverage"} <= {*replace(RESULT, doubt=EVALUATION).figures()}


SEVERAL = replace(
    RESULT,
    judges=(
        replace(JUDGE, judge="small", agreement=0.7, interval=ends(0.64, 0.76), gain=0.071),
        replace(JUDGE, judge="large"),
    ),
    best=BestJudge(
        judge="large",
        accuracy=0.8458,
        reported=0.84,
        interval=ends(0.79, 0.88),
        correlation=0.3,
        effective=1.5,
    ),
    can_be_best=("large",),
)


def test_several_judges_are_lines_of_one_table() -> None:
    assert shown(SEVERAL) == [
        "large agrees with people most often of 2 judges: 84.6 % of 240 labelled answers, 84 % "
        "[79.0, 88.0] without the luck of the pick",
        'large  84.6 % [79.5, 88.6]  +21.7 over "pass"; 91 % of pass, 73 % of fail',
        'small  70 % [64.0, 76.0]    +7.1 over "pass"; 91 % of pass, 73 % of fail',
        "1 of 2 judges can be best: large",
        "two people agree on 91 % of 80 rows, one of them with the best on 84 %",
    ]


SCORE = ScoreAgreement(
    judge=None,
    n=300,
    n_rows=320,
    clusters=50,
    judge_mean=3.9,
    people_mean=3.6,
    difference=0.3,
    interval=ends(0.2, 0.4),
    error=0.62,
    error_interval=ends(0.55, 0.69),
    constant=4.0,
    gain=0.2,
    gain_interval=ends(0.1, 0.3),
    correlation=0.45,
    correlation_interval=ends(0.35, 0.55),
    items=50,
    kappa=0.5,
    kappa_interval=ends(0.4, 0.6),
    people=PeopleScores(
        n=200,
        error=0.5,
        interval=ends(0.45, 0.55),
        with_judge=0.7,
        gap_interval=ends(0.1, 0.3),
        kappa=0.6,
    ),
)
SCORES = replace(RESULT, judges=(), scores=(SCORE,), slices_by=())


def test_the_sentences_about_scores() -> None:
    assert shown(SCORES) == [
        "The judge is 0.62 from people's score on average [0.55, 0.69], over 300 answers that "
        "people scored",
        "its mean 3.90 is 0.30 higher than people's [0.20, 0.40]; 0.20 closer than always scoring "
        "4 [0.10, 0.30]",
        "rank correlation within 50 items 0.45 [0.35, 0.55]; agreement above chance (kappa, "
        "quadratic) 0.50 [0.40, 0.60]",
        "two people are 0.50 apart, the judge from one of them 0.70: farther than a second person "
        "(200 rows)",
    ]
    people = replace(SCORE.people, gap_interval=ends(-0.1, 0.1))  # type: ignore[type-var]
    close = replace(SCORE, gain_interval=ends(-0.1, 0.3), people=people)
    lines = shown(SCORES, scores=(close,))
    assert "not shown to be closer than always scoring 4" in lines[1]
    assert "not shown to differ from a second person" in lines[3]


def test_without_labels_nobody_can_say() -> None:
    judge = UnlabelledJudge(
        judge="j",
        n_rows=500,
        verdicts={"A": 280, "B": 200, "no verdict": 20},
        asked_twice=500,
        flips=0.23,
        interval=ends(0.19, 0.27),
    )
    result = replace(
        RESULT, unit="pair", judges=(), unlabelled=(judge,), dropped={"status error": 3}
    )
    assert shown(result, assumptions=()) == [
        "No human labels in 500 judged pairs: nobody can say how good the judge is",
        "j: A 280, B 200, no verdict 20; the order of the answers flips 23 % [19.0, 27.0] of 500 "
        "verdicts",
        "the judge failed on 3 rows",
        "left out 3 rows: status error",
    ]


def test_the_picture_has_the_matrix_and_the_slices() -> None:
    figure = RESULT.plot(figure="matrix")
    matrix, slices = figure.axes[:2]
    written = [text.get_text() for text in matrix.texts]
    assert written == [
        *("138", "91 % of row", "13", "9 % of row"),
        *("24", "27 % of row", "65", "73 % of row"),
    ]
    assert [bar.get_width() for bar in slices.patches] == pytest.approx([26.92, 12.23])
    assert [text.get_text() for text in slices.texts] == ["14 of 52", "23 of 188"]
    assert figure.get_suptitle() == "The judge agrees with people on 84.6 %"


def test_the_picture_of_several_judges_and_of_scores() -> None:
    axes = SEVERAL.plot(figure="judges").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["large", "small"]
    axes = SCORES.plot(figure="scores").axes[0]
    assert "mean absolute error" in axes.get_xlabel()
