"""Five tasks as a coding agent gets them: a messy file, a question, and an answer sheet.

The agent has no judgment of its own here. It follows the skill by rule: `start` with the files as
they are, the command of the question that was asked, the remedy of an error, the fields of the
skill's table. The sheet is computed from what made the file.
"""

from __future__ import annotations

import csv
import json
import random
import re
import runpy
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adjudge.cli import run

MAKER = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_skill.py"))
FIELDS = {question: fields for question, _, fields in MAKER["QUESTIONS"]}
HOW_GOOD = "How good is the judge, and where is it wrong?"


@dataclass
class Answer:
    """What the agent ends with."""

    commands: list[str]
    exit_code: int
    result: dict[str, Any]


def follow_the_skill(
    question: str, file: str, capsys: pytest.CaptureFixture[str], *options: str
) -> Answer:
    """Steps 1 to 4 of the skill; an option that the program names as the remedy is added once."""
    words = ["start", file, *options, "--json"]
    capsys.readouterr()
    assert run(words) == 0, capsys.readouterr().err
    answers = json.loads(capsys.readouterr().out)["answers"]
    command = next(answer["command"] for answer in answers if answer["question"] == question)
    commands = [shlex.join(["adjudge", *words]), command]
    exit_code, screen = _run(command, capsys)
    result = json.loads(screen.out) if screen.out else {}
    reason = result.get("reason") or screen.err
    if exit_code in (1, 2) and (remedy := re.search(r"(--[a-z-]+(?: \w+=\w+)?)", reason)):
        commands.append(f"{command} {remedy[1]}")
        exit_code, screen = _run(commands[-1], capsys)
        result = json.loads(screen.out) if screen.out else {}
    return Answer(commands, exit_code, result)


def _run(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    capsys.readouterr()
    exit_code = run([*shlex.split(command)[1:], "--json"])
    return exit_code, capsys.readouterr()


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def test_is_my_judge_any_good(capsys: pytest.CaptureFixture[str]) -> None:
    """Headers in capitals, words for grades, a failed call, labels on some rows."""
    draw = random.Random(1)
    rows = []
    agreed = labelled = 0
    for at in range(240):
        human = draw.random() < 0.6
        judge = human if draw.random() < 0.8 else not human
        failed = at % 40 == 7
        labels = at < 160
        rows.append(
            [
                f"case {at}",
                "ERROR" if failed else ("Pass" if judge else "fail"),
                ("pass" if human else "FAIL") if labels else "n/a",
                "billing" if at % 3 else "login",
            ]
        )
        labelled += labels and not failed
        agreed += labels and not failed and judge == human
    write("Export (final).csv", ["Case", "LLM Verdict", "Human", "Topic"], rows)
    answer = follow_the_skill(HOW_GOOD, "Export (final).csv", capsys)
    (judge_row,) = answer.result["judges"]
    assert answer.exit_code == 0
    assert judge_row["n"] == labelled
    assert judge_row["agreement"] == pytest.approx(agreed / labelled)
    assert "`judges[].agreement`" in FIELDS[HOW_GOOD]


def test_the_rate_where_all_fails_were_labelled(capsys: pytest.CaptureFixture[str]) -> None:
    """People labelled each fail and some passes: the first command is refused with the remedy."""
    draw = random.Random(2)
    rows = []
    people = {0: [0, 0], 1: [0, 0]}
    passed = 0
    for at in range(600):
        human = int(draw.random() < 0.8)
        judge = human if draw.random() < 0.9 else 1 - human
        labels = judge == 0 or draw.random() < 0.25
        passed += judge
        rows.append([at, judge, human if labels else ""])
        if labels:
            people[judge][0] += human
            people[judge][1] += 1
    write("graded.csv", ["id", "judge", "human"], rows)
    answer = follow_the_skill("What rate can I report?", "graded.csv", capsys)
    share = passed / 600
    expected = share * people[1][0] / people[1][1] + (1 - share) * people[0][0] / people[0][1]
    assert "--labels-by-verdict" in answer.commands[-1]
    assert answer.exit_code == 0
    assert answer.result["estimate"] == pytest.approx(expected)
    assert answer.result["interval"]["low"] < expected < answer.result["interval"]["high"]
    assert abs(answer.result["estimate"] - answer.result["naive"]) > 0.001


def test_is_the_new_prompt_better(capsys: pytest.CaptureFixture[str]) -> None:
    """Two systems in one file, nobody labelled anything: the judge's difference, said to be so."""
    draw = random.Random(3)
    rows = []
    differences = []
    for at in range(300):
        old = int(draw.random() < 0.55)
        new = int(draw.random() < 0.70)
        differences.append(new - old)
        rows += [[f"q{at}", "prompt v1", old], [f"q{at}", "prompt v2", new]]
    draw.shuffle(rows)
    write("runs.tsv.csv", ["question_id", "System", "score"], rows)
    question = "Is one system better than another, by the judge?"
    answer = follow_the_skill(
        question, "runs.tsv.csv", capsys, "--column", "model=System", "--column", "judge=score",
        "--column", "prompt_id=question_id",
    )  # fmt: skip
    (difference,) = answer.result["differences"]
    assert answer.exit_code == 0
    assert answer.result["labels_given"] is False
    sign = 1 if difference["b"] == "prompt v2" else -1
    mean = sum(differences) / len(differences)
    assert difference["judge"]["estimate"] == pytest.approx(sign * mean)
    assert difference["people"] is None


def test_which_verdicts_can_i_trust(capsys: pytest.CaptureFixture[str]) -> None:
    """Preferences in one file, labels of people in another, both with ids of their own spelling."""
    draw = random.Random(4)
    verdicts, labels = [], []
    for at in range(400):
        p_a = round(draw.random(), 3)
        truth = "A" if draw.random() < p_a else "B"
        verdicts.append([f"Pair-{at}", "gpt", p_a])
        labels.append([f"Pair-{at}", truth, "ann"])
    write("prefs.csv", ["ID", "Judge", "P_A"], verdicts)
    write("people.csv", ["id", "Label", "Rater"], labels)
    answer = follow_the_skill(
        "Which verdicts can I trust?", "prefs.csv", capsys, "--labels", "people.csv"
    )
    accepted = [
        (p, truth)
        for (_, _, p), (_, truth, _) in zip(verdicts, labels, strict=True)
        if answer.result["threshold"] is not None
        and _entropy(p) <= answer.result["threshold"] + 1e-12
    ]
    wrong = sum((p > 0.5) != (truth == "A") for p, truth in accepted)
    assert answer.exit_code == 0
    assert answer.result["n_accepted"] == len(accepted) > 0
    assert answer.result["n_accepted_errors"] == wrong
    assert wrong + 1 <= 0.1 * len(accepted)
    assert answer.result["promise"]
    assert "`promise`" in FIELDS["Which verdicts can I trust?"]


def _entropy(p: float) -> float:
    from math import log

    return -(p * log(p) + (1 - p) * log(1 - p)) if 0 < p < 1 else 0.0


def test_a_leaderboard_with_too_few_votes(capsys: pytest.CaptureFixture[str]) -> None:
    """Two votes a pair cannot order the models: exit code 2, and no rank is reported."""
    models = [f"model {name}" for name in "abcd"]
    rows = [
        [x, y, winner] for x in models for y in models if x < y for winner in ("model_a", "model_b")
    ]
    write("votes.csv", ["Model A", "Model B", "Winner"], rows)
    answer = follow_the_skill("How do the models rank?", "votes.csv", capsys)
    assert answer.exit_code == 2
    assert "no number that is null" in MAKER["THEN"]["2"]
    assert [row["rank"] for row in answer.result["models"]] == [None] * 4
