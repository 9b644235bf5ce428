"""What the caller says words mean holds once for every label and verdict, wherever it stands."""

from __future__ import annotations

from adjudge.data.battles import prepare_battles
from adjudge.data.grades import prepare_grades
from adjudge.data.source import Source
from adjudge.data.verdicts import prepare_verdicts
from adjudge.estimation.judges import prepare_judges

SIDES = {"A": "B", "B": "A"}
GRADES = {"0": "1", "1": "0"}


def test_sides_are_exchanged_once_next_to_verdicts() -> None:
    rows = {"id": ["x"], "verdict_fwd": ["A"], "verdict_rev": ["A"], "label": ["A"]}
    frame = prepare_verdicts(rows, labels_as=SIDES).frame
    assert frame.select("p_fwd", "label").row(0) == (0.0, "B")


def test_grades_are_exchanged_once_in_a_file_of_labels() -> None:
    rows = {"id": ["x", "y"], "judge": [1, 0], "human": [None, 0]}
    grades = prepare_grades(rows, labels={"id": ["x"], "human": [1]}, labels_as=GRADES)
    assert (grades.judge.tolist(), grades.human.tolist()) == ([0.0, 1.0], [0.0, 1.0])


def test_a_label_that_says_the_same_in_both_files_replaces_nothing() -> None:
    rows = {"id": ["x"], "judge": ["good"], "human": ["good"]}
    words = {"good": "1", "bad": "0"}
    grades = prepare_grades(rows, labels={"id": ["x"], "human": ["good"]}, labels_as=words)
    assert grades.dropped == {}


def test_grades_are_exchanged_once_for_several_judges() -> None:
    rows = {"id": ["x", "y"], "a": [1, 0], "b": [1, 0]}
    labels = {"id": ["x"], "human": [1]}
    source = Source(rows, labels=labels, labels_as=GRADES)
    both = prepare_judges(source, ["a", "b"])
    assert both.judge.tolist() == [0.0, 1.0]
    assert both.human[0] == 0.0


def test_words_hold_for_the_verdicts_of_a_jury() -> None:
    rows = {
        "id": ["m", "m"],
        "judge": ["one", "two"],
        "model_a": ["x", "x"],
        "model_b": ["y", "y"],
        "winner": ["tie", "tie"],
        "said": ["up", "up"],
    }
    words = {"up": "A", "down": "B"}
    battles = prepare_battles(rows, jury=True, verdict="said", labels_as=words)
    assert battles.verdict is not None
    assert battles.verdict.tolist() == [1.0]
