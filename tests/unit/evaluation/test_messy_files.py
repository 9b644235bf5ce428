"""Files with names and words of their own: the right number, or a refusal whose remedy works."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge import evaluate
from adjudge.cli import run
from adjudge.cli.start import start
from adjudge.data import prepare_grades
from adjudge.errors import DataError
from adjudge.evaluation.slices import slice_columns

_DRAW = np.random.default_rng(3)
N = 120
HUMAN = (_DRAW.random(N) < 0.7).astype(int)
JUDGE = np.where(_DRAW.random(N) < 0.85, HUMAN, 1 - HUMAN)
AGREEMENT = float((HUMAN == JUDGE).mean())


def said(verdicts: Any, yes: str, no: str) -> list[str]:
    return [yes if verdict else no for verdict in verdicts]


def write(name: str, **columns: Any) -> str:
    pl.DataFrame({key: list(values) for key, values in columns.items()}).write_csv(name)
    return name


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def agreement(rows: Any, **options: Any) -> float:
    [judge] = evaluate(rows, **options).judges
    return float(judge.agreement)


def command_of(file: str, *more: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The evaluation that `adjudge start` proposes for a file."""
    capsys.readouterr()
    assert run(["start", file, *more]) == 0
    lines = capsys.readouterr().out.splitlines()
    line = next(line for line in lines if line.startswith("adjudge evaluate "))
    return shlex.split(line)[1:]


# --- words ---


@pytest.mark.parametrize("people", [("Factual", "Hallucination"), ("factual", "made up")])
def test_two_names_of_one_class_are_refused_and_both_remedies_work(people: tuple[str, str]) -> None:
    rows = {"judge": said(JUDGE, "factual", "hallucinated"), "human": said(HUMAN, *people)}
    with pytest.raises(DataError, match="the judge says hallucinated on") as error:
        evaluate(rows)
    assert error.value.remedy is not None
    for remedy in error.value.remedy.split("--labels-as ")[1:]:
        typed = next(word for word in shlex.split(remedy.replace(";", "")) if "=" in word)
        meaning = dict([typed.split("=")])
        expected = AGREEMENT if "hallucinated" in meaning.values() else None
        value = agreement(rows, labels_as=meaning)
        assert value == pytest.approx(expected if expected else (HUMAN & JUDGE).mean())


@pytest.mark.parametrize(
    ("judge", "human"),
    [
        (["billing", "login", "a"] * 10, ["billing", "login", "login"] * 10),
        (["A", "A", "B"] * 10, ["A", "A", "B"] * 10),
        (["x", "y", "z"] * 3, ["x", "y", "w"] * 3),
        (["x"] * 28 + ["z", "y"], ["x"] * 28 + ["w", "y"]),
        (["pass"] * 30, ["fail"] * 30),
        (["A"] * 30, ["B"] * 30),
    ],
    ids=["one side", "equal", "few rows", "rare", "pass and fail", "sides"],
)
def test_other_words_of_one_side_are_classes(judge: list[str], human: list[str]) -> None:
    right = np.mean([one == other for one, other in zip(judge, human, strict=True)])
    assert agreement({"judge": judge, "human": human}) == pytest.approx(right)


def test_numbers_of_a_scale_are_never_two_names_of_one_class() -> None:
    rows = prepare_grades({"judge": ["1", "2", "4"] * 10, "human": ["1", "2", "3"] * 10})
    assert rows.names == ("1", "2", "3", "4")


def test_percentages_are_probabilities() -> None:
    shares = ["87 %", "12,5%", None, "50%", *["99%"] * 20]
    rows = {"judge": shares, "human": ["yes", "no", "no", "no", *["yes"] * 20]}
    [judge] = evaluate(rows).judges
    assert judge.matrix == ((21, 0, 0), (0, 1, 1))


def test_scores_against_pass_and_fail_are_refused_in_plain_words() -> None:
    scores = np.where(JUDGE == 1, 8, 3)
    with pytest.raises(DataError, match=r"the judge gives scores \(3, 8\), people say fail, pass"):
        evaluate({"judge": scores, "human": said(HUMAN, "pass", "fail")})


def test_a_number_on_the_scale_of_people_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    people = ["1", "3", "5"] * 20
    evaluate({"judge": [*people[:-2], "2", "4"], "human": people})
    assert "no person uses" not in caplog.text
    evaluate({"judge": [*people[:-2], "2", "99"], "human": people})
    assert "rarely says: '99'" in caplog.text


# --- columns ---


@pytest.mark.parametrize("threshold", [0.5, 0.7])
def test_a_flag_that_follows_the_score_is_a_verdict_and_no_failure(
    threshold: float, caplog: pytest.LogCaptureFixture
) -> None:
    score = np.where(JUDGE == 1, 0.9, 0.2) - np.linspace(0, 0.15, N)
    success = [str(value >= threshold) for value in score]
    rows = {"id": [*range(N)], "score": score, "success": success, "human": HUMAN}
    evaluate(rows)
    assert "success is not read; if it says pass and fail: --column judge=success" in caplog.text
    assert "leave them out" not in caplog.text
    assert agreement(rows, columns={"judge": "success"}) == pytest.approx(AGREEMENT)


def test_pairs_of_models_whose_winners_are_named_by_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    models = np.where(np.arange(N)[:, None] % 2 == 0, ["gpt", "llama"], ["llama", "gpt"])
    rows = np.arange(N)
    texts = {"prompt": [f"question {n}" for n in rows], "response_a": ["a"] * N}
    write(
        "battles.csv",
        id=rows,
        **texts,
        response_b=["b"] * N,
        model_a=models[:, 0],
        model_b=models[:, 1],
        judge_winner=models[rows, 1 - JUDGE],
        human_winner=models[rows, 1 - HUMAN],
    )
    assert command_of("battles.csv", capsys=capsys) == ["evaluate", "battles.csv"]
    result = evaluate("battles.csv")
    assert (result.unit, result.slices_by) == ("pair", ("model_a", "model_b"))
    assert result.judges[0].agreement == pytest.approx(AGREEMENT)
    assert run(["evaluate", "battles.csv", "--errors", "wrong.csv"]) == 0
    assert {"model_a", "model_b"} <= {*pl.read_csv("wrong.csv").columns}


def test_what_judge_and_people_say_is_no_kind_of_rows() -> None:
    rows = pl.DataFrame(
        {"judge_label": ["a", "b"], "human_winner": ["a", "b"], "topic": ["x", "y"]}
    )
    assert slice_columns(rows, None) == ["topic"]


def test_columns_that_can_be_labels_are_named(caplog: pytest.LogCaptureFixture) -> None:
    rows = {"check": said(JUDGE, "ok", "not ok"), "QA": said(HUMAN, "ok", "not ok")}
    result = evaluate(rows, columns={"judge": "check"})
    assert result.unlabelled
    assert "no column is read as people's labels; if one of these is: --column human=QA" in (
        caplog.text
    )
    assert agreement(rows, columns={"judge": "check", "human": "QA"}) == pytest.approx(AGREEMENT)


def test_names_of_judges_under_another_name_are_asked_for() -> None:
    twice = {"id": [*range(N)] * 2, "engine": ["m"] * N + ["n"] * N}
    rows = {**twice, "judge": [*JUDGE, *HUMAN], "human": [*HUMAN] * 2}
    with pytest.raises(DataError, match="--column judge_name=engine"):
        evaluate(rows)
    result = evaluate(rows, columns={"judge_name": "engine"})
    assert [judge.agreement for judge in result.ranked] == [1.0, pytest.approx(AGREEMENT)]


def test_all_reasons_for_rows_left_out_are_in_one_line() -> None:
    rows = {
        "id": [*range(N), 0],
        "judge": [*JUDGE[:-1], None, JUDGE[0]],
        "human": [*HUMAN, HUMAN[0]],
    }
    assert "left out 2 rows: 1 the same row again, 1 no judge verdict" in str(evaluate(rows))


# --- start ---


def test_start_matches_ids_that_are_alike(capsys: pytest.CaptureFixture[str]) -> None:
    write("rows.csv", id=range(N), judge=JUDGE)
    write("labels.csv", id=[f"{n:04}" for n in range(N)], label=HUMAN)
    command = command_of("rows.csv", "--labels", "labels.csv", capsys=capsys)
    assert command[-1] == "--alike-ids"
    assert run(command) == 0
    assert f"agrees with people on {100 * AGREEMENT:.3g} %" in capsys.readouterr().out


def test_start_takes_all_columns_beside_one_models_for_raters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gaps = [verdict if n % 3 else None for n, verdict in enumerate(HUMAN)]
    write("raters.csv", id=range(N), llm=JUDGE, ann=HUMAN, bob=HUMAN, carl=gaps)
    command = command_of("raters.csv", capsys=capsys)
    assert command[2:] == ["--column", "judge=llm", "--raters", "ann,bob,carl"]
    assert run(command) == 0


def test_start_takes_one_criterion_of_several(capsys: pytest.CaptureFixture[str]) -> None:
    scores = {
        f"{who}_{what}": 1 + (2 * verdicts + np.arange(N) % 3)
        for who, verdicts in (("llm", JUDGE), ("human", HUMAN))
        for what in ("tone", "facts")
    }
    write("criteria.csv", id=range(N), **scores)
    command = command_of("criteria.csv", capsys=capsys)
    assert command[2:] == ["--column", "judge_score=llm_tone", "--raters", "human_tone"]
    assert run(command) == 0


def test_start_takes_no_model_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    write("models.csv", id=range(N), **{"gpt-4o": JUDGE, "claude-3": HUMAN})
    assert run(["start", "models.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    [command] = [line for line in lines if line.startswith("adjudge ")]
    assert command.startswith("adjudge plan labels models.csv ")
    assert run(shlex.split(command)[1:]) == 0


def test_start_takes_shares_for_a_judge_beside_pass_and_fail(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shares = np.where(JUDGE == 1, 0.8, 0.3) + np.linspace(0, 0.1, N)
    write("shares.csv", row=range(N), confidence=shares, checked=said(HUMAN, "yes", "no"))
    command = command_of("shares.csv", capsys=capsys)
    assert command[2:] == ["--column", "judge=confidence", "--column", "human=checked"]
    assert run(command) == 0


def test_start_asks_each_question_once_and_calls_grades_no_scores() -> None:
    shares = np.where(JUDGE == 1, 0.8, 0.3)
    guide = start(Path(write("grades.csv", id=range(N), score=shares, label=HUMAN)))
    assert [read_as.rows_kind for read_as in guide.read_as] == ["grades"]
    questions = [answer.question for answer in guide.answers]
    assert len(questions) == len({*questions})


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"judge_score": 3 + 5 * JUDGE, "human": said(HUMAN, "pass", "fail")}, "gives scores"),
        ({"id": [n // 2 for n in range(N)], "judge": JUDGE, "human": HUMAN}, "file twice"),
    ],
)
def test_start_says_why_verdicts_and_labels_cannot_be_used(columns: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        start(Path(write("refused.csv", **columns)))


@pytest.mark.parametrize("highest", [5, 100])
def test_every_command_for_scores_works(highest: int, capsys: pytest.CaptureFixture[str]) -> None:
    people = np.linspace(1, highest, N).round().astype(int)
    of_judge = np.clip(people + np.tile([-1, 0, 1], N // 3), 1, highest)
    write("scores.csv", id=range(N), judge_score=of_judge, human_score=people)
    assert run(["start", "scores.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("adjudge ")]
    assert [command[0] for command in commands] == ["evaluate", "diagnose", "estimate"]
    assert (commands[1][-2:] == ["--scale", "0-100"]) == (highest == 100)
    assert [run(command) for command in commands] == [0, 0, 0]


def test_a_scale_that_is_too_short_names_one_that_fits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scores = np.tile([1, 4, 9], N // 3)
    write("scores.csv", doc_id=range(N), judge_score=scores, human_score=scores)
    assert run(["diagnose", "scores", "scores.csv"]) == 1
    assert "give another, such as --scale 1-9" in capsys.readouterr().err
    assert run(["diagnose", "scores", "scores.csv", "--scale", "1-9"]) in (0, 2)


def test_the_words_below_scores_are_about_these_judges() -> None:
    rows = {"id": [*range(N)] * 2, "judge_name": ["m"] * N + ["n"] * N}
    people = np.tile([1, 2, 3, 4, 5], N // 5)
    rows |= {"judge_score": [*people, *people[::-1]], "human_score": [*people] * 2}
    shown = str(evaluate(rows))
    assert "mean: judge minus people; rank: correlation over all rows" in shown
    assert "how far two are apart" not in shown


# --- few labels ---


def test_of_one_label_more_are_drawn(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    write("one.csv", id=range(N), judge=JUDGE, human=[JUDGE[0], *[None] * (N - 1)])
    assert run(["evaluate", "one.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any("did not see the labels" in line for line in lines)
    assert lines[-1] == "next: adjudge plan labels one.csv --write-ids to_label.csv"
    assert run(shlex.split(lines[-1])[2:]) == 0


# --- raters ---


def test_a_row_of_each_rater_is_the_bar_of_two_people(caplog: pytest.LogCaptureFixture) -> None:
    ids = np.repeat(np.arange(N), 2)
    other = np.where(np.arange(N) % 4 == 0, 1 - HUMAN, HUMAN)
    rows = {
        "ticket": ids,
        "rater": ["ann", "bob"] * N,
        "judge": JUDGE[ids],
        "human": np.column_stack([HUMAN, other]).ravel(),
    }
    [judge] = evaluate(rows, columns={"id": "ticket"}).judges
    assert (judge.people.n, judge.people.share) == (N, 0.75)
    assert judge.people.with_judge == pytest.approx(judge.agreement)
    assert judge.clusters == N
    assert "no id" not in caplog.text
    [without_ids] = evaluate(rows).judges
    assert without_ids.people is None
    assert "column rater and no id: each rater's row counts as an answer" in caplog.text


def test_start_asks_which_of_two_unknown_columns_is_peoples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("two.csv", 编号=range(N), 评委=said(JUDGE, "通过", "不"), 人工=said(HUMAN, "通过", "不"))
    command = command_of("two.csv", capsys=capsys)
    assert command[2:] == ["--column", "judge=评委", "--column", "human=人工"]
    assert run(command) == 0
