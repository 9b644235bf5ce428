"""What people see of comparisons: fixed results in, exact text out."""

from __future__ import annotations

from pathlib import Path

import pytest
from shown_compare import (
    ALL,
    BY_JUDGE,
    BY_PEOPLE,
    DECIDED,
    FEW_LABELS,
    HIGHER,
    IDENTICAL,
    JUDGES,
    MANY,
    MIXED,
    NOT_SHOWN,
    PREFERENCES,
    SCORES,
    SLICES,
    TOO_FEW,
    WAITING,
    WORSE,
    gap,
    two,
)

from adjudge.data import read_result, write_result
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Headline, Table


def test_the_judges_difference_says_that_it_is_the_judges() -> None:
    assert str(BY_JUDGE).splitlines() == [
        "new scores 4.1 points higher than old by this judge, 1.2 to 7.0",
        "People can differ: label 50 questions to know (adjudge abtest).",
        "judge alone    +4.1 points, 1.2 to 7.0  B - A, paired by prompt_id",
        "judge's means  old 61.3, new 65.4       97 of 412 differ",
        "question that one system alone answered: 3",
        "Assumes: the questions are independent of each other",
    ]
    lines = str(WORSE).splitlines()
    assert lines[0] == "old scores 4.1 points higher than new by this judge, 1.2 to 7.0"
    assert lines[2].startswith("judge alone    -4.1 points, -7.0 to -1.2")


def test_peoples_difference_has_the_judges_next_to_it() -> None:
    assert str(BY_PEOPLE).splitlines() == [
        "People score new 9.3 points higher than old, 2.1 to 16.5",
        "By the judge alone: +4.1 points, 1.2 to 7.0.",
        "warning: few labels",
        "judge alone     +4.1 points, 1.2 to 7.0   B - A, paired by prompt_id",
        "people          +9.3 points, 2.1 to 16.5  80 labelled questions, corrected by the judge",
        "judge's means   old 61.3, new 65.4        97 of 412 differ",
        "people's means  old 58.1, new 67.4        each corrected by itself",
        "question that one system alone answered: 3",
        "Assumes: the questions are independent of each other",
    ]
    worse = two(HIGHER, gap(-0.093, -0.165, -0.021, n=80, detectable=0.1), n_labelled=80)
    assert str(worse).splitlines()[:2] == [
        "People score old 9.3 points higher than new, 2.1 to 16.5",
        "By the judge alone, B - A: +4.1 points, 1.2 to 7.0.",
    ]
    assert str(PREFERENCES).splitlines()[0] == (
        "People prefer new 20.0 points more often than old, 10.0 to 30.0"
    )


@pytest.mark.parametrize(
    ("result", "headline", "action"),
    [
        (
            NOT_SHOWN,
            "No difference between new and old is shown by this judge: +0.6 points, -2.2 to 3.4",
            "The smallest difference that 412 questions show in four of five samples is 4.0 "
            "points.",
        ),
        (
            FEW_LABELS,
            "new scores 4.1 points higher than old by this judge, 1.2 to 7.0",
            "People can differ: 12 labelled questions: 30 or more are needed.",
        ),
        (
            SCORES,
            "new scores 0.412 higher than old by this judge, 0.121 to 0.703",
            "People can differ: label 50 questions to know (adjudge abtest).",
        ),
    ],
)
def test_what_is_shown_and_what_is_not(result, headline: str, action: str) -> None:
    assert str(result).splitlines()[:2] == [headline, action]


@pytest.mark.parametrize(
    ("result", "decision"),
    [
        (BY_JUDGE, "new scores 4.1 points higher than old by this judge"),
        (BY_PEOPLE, "People score new 9.3 points higher than old"),
        (NOT_SHOWN, "No difference between new and old is shown by this judge"),
        (IDENTICAL, "new and old have identical scores on all 412 questions"),
        (TOO_FEW, ""),
        (MANY, "2 of 3 systems can be best by this judge: large, mid"),
        (SLICES, "new and old differ in 1 of 2 slices by this judge"),
        (
            MIXED,
            "new and old differ in 1 of 2 slices: 1 of 1 by people's labels, 0 of 1 by this judge",
        ),
        (JUDGES, "gpt is right on 77.9 % of rows; 1 of 2 judges can be best"),
        (DECIDED, "People rate new higher than old"),
        (WAITING, "Which of new and old is better by people is not known yet: 2 labels"),
    ],
)
def test_the_summary_of_a_report_begins_with_the_decision(result, decision: str) -> None:
    headline = result.view()[0]
    assert isinstance(headline, Headline)
    assert headline.decision == decision


def test_no_number_without_enough_questions() -> None:
    first = str(TOO_FEW).splitlines()[0]
    assert first == "No difference of new and old: 12 questions: 30 or more are needed"
    with pytest.raises(ArgumentError, match="no number to draw"):
        TOO_FEW.plot()


def test_the_table_of_public_comparisons_is_behind_explain() -> None:
    assert "3,334 public comparisons" not in str(BY_JUDGE)
    folded = [block for block in BY_JUDGE.view() if isinstance(block, Table)]
    assert [(table.detail, table.rows[0]) for table in folded] == [(True, ("2 to 3", "21 %"))]
    assert "3,334 public comparisons" in folded[0].caption
    assert not [block for block in BY_PEOPLE.view() if isinstance(block, Table)]


def test_the_picture_has_a_line_for_each_number_and_zero() -> None:
    axes = BY_PEOPLE.plot().axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["judge alone", "people"]
    assert [list(line.get_xdata()) for line in axes.lines] == [
        pytest.approx([1.2, 7.0]),
        pytest.approx([2.1, 16.5]),
        [0, 0],
    ]
    assert axes.get_xlabel() == "new minus old, points, with 95 % intervals"
    assert axes.get_title(loc="left") == "People score new 9.3 points higher than old, 2.1 to 16.5"


@pytest.mark.parametrize("name", ALL)
def test_the_whole_text_is_as_in_its_file(name: str, tmp_path: Path) -> None:
    text = (Path(__file__).parent / "compare" / f"{name}.txt").read_text(encoding="utf-8")
    assert f"{ALL[name]}\n" == text
    write_result(ALL[name], tmp_path / "result.json")
    assert read_result(tmp_path / "result.json") == ALL[name]


def test_the_picture_of_many_has_intervals_and_a_matrix() -> None:
    left, matrix = MANY.plot().axes[0], MANY.plot(figure="matrix").axes[0]
    assert [list(line.get_xdata()) for line in left.lines] == [
        pytest.approx([-7.0, 3.0]),
        pytest.approx([-17.0, -7.0]),
        [0, 0],
    ]
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["mid", "small"]
    assert left.get_xlabel() == "minus large, points, with 95 % intervals; hollow: not shown"
    assert matrix.get_xlabel() == "row minus column, points; bold: shown"
    cells = {text.get_text(): text.get_fontweight() for text in matrix.texts}
    assert cells == {
        "+2.0": "normal",
        "-2.0": "normal",
        "+12.0": "bold",
        "-12.0": "bold",
        "+10.0": "bold",
        "-10.0": "bold",
    }


def test_pictures_of_slices_and_judges() -> None:
    slices = SLICES.plot().axes[0]
    assert [tick.get_text() for tick in slices.get_yticklabels()] == ["code", "essay"]
    names = [tick.get_text() for tick in MIXED.plot().axes[0].get_yticklabels()]
    assert names == ["code, by people", "essay, by judge"]
    left, matrix = JUDGES.plot().axes[0], JUDGES.plot(figure="matrix").axes[0]
    assert list(left.lines[0].get_xdata()) == pytest.approx([-20.0, -2.0])
    assert {text.get_text() for text in matrix.texts} == {"+11.0", "-11.0"}


def test_what_to_label_next_has_the_ids_of_both_answers() -> None:
    assert WAITING.rows_to_label().rows() == [
        ("old-7", "q7", "random"),
        ("new-7", "q7", "random"),
    ]
