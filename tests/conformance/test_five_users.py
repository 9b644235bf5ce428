"""Five people who ask how good their judge is: files of their own, names of their own.

Each knows `adjudge start FILE` and copies what it prints. Three commands or fewer lead to a number
with its interval; no file is edited. Every command that is printed on the way works when typed.
"""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from adjudge.cli.app import run


class User:
    """Types commands, counts them, and reads the screen."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.typed = 0

    def types(self, line: str, code: int = 0) -> list[str]:
        self.typed += 1
        self.capsys.readouterr()
        ended = run(shlex.split(line.removeprefix("adjudge ")))
        screen = self.capsys.readouterr()
        assert ended == code, screen.err
        return screen.out.splitlines() if code != 1 else screen.err.splitlines()

    def has_a_number(self, lines: Sequence[str], agreement: float) -> None:
        """The first line is the agreement with its interval, after three commands or fewer."""
        assert self.typed <= 3
        shown = re.search(r"(\d+(?:\.\d)?) % of [\d,]+ labelled .*\[([\d.]+), ([\d.]+)\]", lines[0])
        assert shown is not None, lines[0]
        value, low, high = map(float, shown.groups())
        assert value == pytest.approx(100 * agreement, abs=0.06)
        assert low < value < high
        assert len(lines) <= 9


@pytest.fixture
def user(capsys: pytest.CaptureFixture[str]) -> User:
    return User(capsys)


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def command_in(lines: Sequence[str], verb: str) -> str:
    return next(line for line in lines if line.startswith(f"adjudge {verb} "))


def test_a_spreadsheet_with_a_column_for_each_judge(user: User) -> None:
    draw = random.Random(1)
    rows = []
    for n in range(300):
        truth = int(draw.random() < 0.6)
        small, large = (truth if draw.random() < p else 1 - truth for p in (0.7, 0.9))
        rows.append([n, f"question {n % 60}", draw.choice(["de", "en"]), small, large, truth])
    write("sheet.csv", ["row", "question", "lang", "Llama-7B", "GPT-4", "human"], rows)
    guide = user.types("start sheet.csv")
    result = user.types(command_in(guide, "evaluate"))
    user.has_a_number(result, sum(row[4] == row[5] for row in rows) / 300)
    assert result[0].startswith("GPT-4 agrees with people most often of 2 judges")


def test_tickets_and_a_second_file_of_reviews(user: User) -> None:
    draw = random.Random(2)
    truth = {f"T-{n:04}": draw.random() < 0.7 for n in range(500)}
    judged = {t: good if draw.random() < 0.85 else not good for t, good in truth.items()}
    write(
        "results.csv",
        ["ticket", "queue", "llm_check"],
        [
            (t, draw.choice(["billing", "other"]), "pass" if ok else "fail")
            for t, ok in judged.items()
        ],
    )
    reviewed = draw.sample(sorted(truth), 180)
    write("reviewed.csv", ["Ticket", "OK?"], [(t, "yes" if truth[t] else "no") for t in reviewed])
    alone = user.types("start results.csv")
    assert any("llm_check" in line for line in alone)
    guide = user.types("start results.csv --labels reviewed.csv")
    result = user.types(command_in(guide, "evaluate"))
    user.has_a_number(result, sum(judged[t] == truth[t] for t in reviewed) / 180)


def test_scores_of_a_model_and_of_three_people(user: User) -> None:
    draw = random.Random(3)

    def clip(score: float) -> int:
        return min(5, max(1, round(score)))

    rows = []
    for n in range(150):
        quality = clip(draw.gauss(3.2, 1.1))
        people = [clip(quality + draw.choice([-1, 0, 0, 1])) for _ in range(3)]
        rows.append([f"essay {n}", clip(quality + draw.randint(0, 1)), *people])
    write("ratings.csv", ["essay", "gpt_rating", "anna", "ben", "carla"], rows)
    guide = user.types("start ratings.csv")
    result = user.types(command_in(guide, "evaluate"))
    assert user.typed <= 3
    error = sum(abs(row[1] - sum(row[2:]) / 3) for row in rows) / 150
    assert f"is {error:.2f} from people's score on average [" in result[0]
    assert any(line.startswith("two people are ") for line in result)


def test_preferences_with_votes_and_a_wrong_turn(user: User) -> None:
    draw = random.Random(4)
    rows = []
    for n in range(240):
        best = draw.choice("AB")
        judge = best if draw.random() < 0.8 else draw.choice("AB")
        rows.append([f"p{n}", judge, best if n < 160 else ""])
    write("prefs.csv", ["pair_id", "judge_verdict", "human_vote"], rows)
    error = user.types("evaluate prefs.csv --column human=vote", code=1)
    assert "human_vote" in error[-1]
    result = user.types("evaluate prefs.csv --column human=human_vote")
    labelled = rows[:160]
    user.has_a_number(result, sum(row[1] == row[2] for row in labelled) / 160)
    assert result[0].count("labelled pairs") == 1


def test_a_log_with_all_fails_and_some_passes_labelled(user: User) -> None:
    """The plain share would be far too low: 139 of 161 labelled rows are right, 94 % of all."""
    draw = random.Random(5)
    rows = []
    for n in range(500):
        verdict = n >= 68
        human = verdict if draw.random() < (0.95 if verdict else 0.84) else not verdict
        label = int(human) if not verdict or draw.random() < 0.2 else None
        rows.append({"id": n, "judge": int(verdict), "human": label, "task": f"t{n % 3}"})
    Path("run.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = user.types(command_in(user.types("start run.jsonl"), "evaluate"))
    assert user.typed <= 3
    assert "of all 500 answers" in result[0]
    assert any("labels look drawn by verdict: 68 of 68 fail" in line for line in result)
    following = next(line for line in result if line.startswith("next: "))
    user.types(following.removeprefix("next: "))
    assert Path("disagreements.csv").exists()
