"""Four people with files of their own: their commands as typed, wrong turns included.

Each starts from README, `adjudge start FILE` and the `next:` lines, edits no file, and has a result
that can be defended after four commands or fewer. A wrong turn ends in one line with its remedy.
"""

from __future__ import annotations

import csv
import json
import math
import random
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from all_verbs import MOST_LINES

from adjudge.cli.app import build, run


@dataclass(frozen=True)
class Screen:
    """What a command left on the screen."""

    code: int
    lines: list[str]
    remarks: list[str]

    @property
    def next(self) -> str:
        assert self.lines[-1].startswith("next: adjudge "), self.lines
        command = self.lines[-1].removeprefix("next: adjudge ").partition(" (")[0]
        for words in map(shlex.split, command.split(" && adjudge ")):
            _parse(build(), words)
        return command


def _parse(group: click.Command, words: list[str]) -> None:
    """Refuses an unknown verb or option, and a missing argument."""
    while isinstance(group, click.Group):
        command = group.get_command(click.Context(group), words[0])
        assert command is not None, words
        group = command
        words = words[1:]
    group.make_context(None, list(words)).close()


class User:
    """Types commands in a folder and reads the screen, 80 columns wide."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def types(self, line: str) -> Screen:
        self.capsys.readouterr()
        code = run(shlex.split(line))
        screen = self.capsys.readouterr()
        return Screen(code, screen.out.splitlines(), screen.err.splitlines())

    def goes_wrong(self, line: str, *remedy: str) -> None:
        """The command prints one line of error, with the place and the remedy."""
        screen = self.types(line)
        assert screen.code == 1, line
        assert screen.lines == []
        assert [text for text in screen.remarks if text.startswith("adjudge")] == [
            screen.remarks[-1]
        ]
        for words in remedy:
            assert words in screen.remarks[-1]

    def gets(self, line: str) -> Screen:
        """A result, in no more lines than its verb has."""
        screen = self.types(line)
        assert screen.code == 0, screen.remarks
        for verb, most in MOST_LINES.items():
            if line.startswith(verb):
                text = list(_outside_tables(screen.lines))
                assert len(text) <= most, "\n".join(text)
        return screen


def _outside_tables(lines: Sequence[str]) -> Iterable[str]:
    """The lines that are not a table: of a table all lines begin with a blank."""
    headings = {n - 1 for n, line in enumerate(lines) if line.strip() == "" and n}
    for number, line in enumerate(lines):
        if not line.startswith(" ") and not (number in headings and ": " in line):
            yield line


@pytest.fixture
def user(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> User:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-a-real-key")
    Path("empty.csv").touch()
    Path("folder").mkdir()
    return User(capsys)


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def read(name: str) -> Any:
    return json.loads(Path(name).read_text())


def without_a_file(user: User, command: Callable[[str], str]) -> None:
    """The wrong turns that every reading verb has."""
    user.goes_wrong(command("folder"), "folder: is a folder; name one file in it")
    user.goes_wrong(command("empty.csv"), "empty.csv: is empty; give a file with at least one row")
    user.goes_wrong(command("typo.csv"), "typo.csv: no such file; check the path")


def test_pass_or_fail_with_labels_in_a_second_file(user: User) -> None:
    draw = random.Random(7)
    truth = {f"T-{n:04}": draw.random() < 0.6 for n in range(600)}
    passed = {ticket: good if draw.random() < 0.8 else True for ticket, good in truth.items()}
    write(
        "results.csv",
        ["ticket", "bot", "answer", "llm_check"],
        [(ticket, "v2", "text", "pass" if ok else "fail") for ticket, ok in passed.items()],
    )
    reviewed = draw.sample(sorted(truth), 200)
    write(
        "reviewed.csv",
        ["Ticket", "Agent says"],
        [(ticket, "good" if truth[ticket] else "bad") for ticket in reviewed],
    )
    without_a_file(user, lambda file: f"start {file}")
    without_a_file(user, lambda file: f"estimate {file}")
    guide = user.gets("start results.csv")
    assert any("llm_check: holds pass and fail" in line for line in guide.lines)
    assert any("--column judge=llm_check" in line for line in guide.lines)
    user.goes_wrong("estimate results.csv", "--column judge=NAME --column human=NAME", "--labels")
    user.goes_wrong("estimate results.csv --column judge=llm_chek", "columns here:", "llm_check")
    named = "estimate results.csv --column judge=llm_check --column id=ticket"
    user.goes_wrong(
        named, "column human: is missing", "--labels FILE", "here: ticket (read as id), bot, answer"
    )
    user.goes_wrong("estimate results.csv --column judge=llm_check", "answer, llm_check")
    without_a_file(user, lambda file: f"{named} --labels {file}")
    user.goes_wrong(
        f"{named} --labels reviewed.csv",
        "reviewed.csv: has no columns id, label",
        "--labels-column id=NAME --labels-column label=NAME",
        "columns here: Ticket, Agent says",
    )
    both = f"{named} --labels reviewed.csv --labels-column id=Ticket"
    user.goes_wrong(both, "--labels-column label=NAME", "Agent says")
    both += " --labels-column 'label=Agent says'"
    user.goes_wrong(both, "people say bad, good", "--labels-as 'bad=...,good=...'")

    both_files = both.replace("estimate", "start") + " --labels-as good=1,bad=0"
    assert "600 rows, 200 labels" in user.gets(both_files).lines[0]
    guide = user.gets("start results.csv --column judge=llm_check --column id=ticket")
    assert guide.lines[0] == "results.csv can be read as grades (600 rows, no labels)"
    draw_rows = next(line for line in guide.lines if line.startswith("adjudge plan labels"))
    assert "Label these 200 of 600" in user.gets(draw_rows.removeprefix("adjudge ")).lines[0]
    shown = user.gets(f"{both} --labels-as good=1,bad=0 --labels-are-random")
    user.gets(shown.next)
    estimate = read("estimate.json")
    rate = sum(truth.values()) / len(truth)
    assert estimate["interval"]["low"] < rate < estimate["interval"]["high"]
    assert (
        not estimate["interval"]["low"] < sum(passed.values()) / 600 < estimate["interval"]["high"]
    )
    assert shown.lines[0].startswith(f"Corrected rate {estimate['estimate']:.3f}")
    user.gets(user.gets(shown.next).next)
    assert "Corrected rate" in Path("report.html").read_text()


def test_pairs_without_labels_and_a_server(user: User, judge_server: Any) -> None:
    draw = random.Random(3)
    with Path("arena.jsonl").open("w") as file:
        for n in range(160):
            row = {"key": f"k{n}", "question": f"{n} + 1?", "output_1": n + 1, "output_2": n}
            file.write(json.dumps({name: str(value) for name, value in row.items()}) + "\n")
    guide = user.gets("start arena.jsonl")
    assert "adjudge judge arena.jsonl --judge openai:MODEL -o judged.jsonl" in guide.lines
    asks = "judge arena.jsonl --judge openai:small -o judged.jsonl"
    without_a_file(user, lambda file: asks.replace("arena.jsonl", file))
    user.goes_wrong(f"{asks} --base-url http://127.0.0.1:1/v1", "check that the server is running")
    user.goes_wrong(f"{asks} --base-url {judge_server.root}", "HTTP 404", "ends in /v1")
    grades = f"{asks} --base-url {judge_server.base_url} --protocol grade"
    user.goes_wrong(grades, "looks like a pairs file", "adjudge judge with a protocol for pairs")

    judged = user.gets(f"{asks} --base-url {judge_server.base_url}")
    plan = "adjudge plan labels judged.jsonl --write-ids to_label.csv"
    user.goes_wrong("calibrate judged.jsonl", "160 no label", plan, "--labels FILE")
    unlabelled = user.types("evaluate judged.jsonl")
    assert (unlabelled.code, f"adjudge {unlabelled.next}") == (2, plan)
    user.goes_wrong("calibrate arena.jsonl", "looks like a pairs file", "adjudge judge")
    user.goes_wrong("select judged.jsonl --policy policy.json", "no such file", "adjudge calibrate")
    plan, label = judged.next.split(" && adjudge ")
    user.gets(plan)
    with Path("judged.jsonl").open() as file:
        verdicts = {row["id"]: row for row in map(json.loads, file)}
    with Path("to_label.csv").open() as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    assert sorted(ids) == sorted(verdicts)

    def vote(row: dict[str, Any]) -> str:
        right = draw.random() < (0.99 if abs(row["p_a"] - 0.5) > 0.1 else 0.75)
        return str(row["verdict"]) if right else {"A": "B", "B": "A"}[row["verdict"]]

    write("mine.csv", ["id", "label"], [(name, vote(verdicts[name])) for name in ids[:120]])
    user.goes_wrong(f"{label} --import typo.csv --export-only", "typo.csv: no such file")
    labelled = user.gets(f"{label} --import mine.csv --export-only")
    command = labelled.next.replace("JUDGMENTS", "judged.jsonl")
    without_a_file(user, lambda file: command.replace("labels.csv", file))
    user.goes_wrong(command.replace("0.1", "10"), "alpha = 10.0", "strictly between 0 and 1")
    user.goes_wrong(f"{command} --protocol grade", "the judgments have preference")
    user.goes_wrong(f"{command} --judge gpt", "the judgments have openai:small")
    calibrated = user.gets(command)
    assert any("not proven" in line for line in calibrated.lines)
    user.gets("evaluate judged.jsonl --labels labels.csv --splits 20")
    selected = user.gets(calibrated.next)
    with Path("selected.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 160
    accepted = sum(row["accepted"] == "true" for row in rows)
    assert f"{accepted} of 160 verdicts accepted" in selected.lines[0]
    assert 0 < accepted < 160
    assert selected.next == "view selected.csv --only abstained"


def test_likert_scores_by_a_judge_and_three_raters(user: User) -> None:
    draw = random.Random(5)

    def clip(score: float) -> int:
        return min(5, max(1, round(score)))

    rows = []
    for doc in range(60):
        for system, mean in (("alpha-1", 3.0), ("beta-2", 3.4)):
            for aspect in ("fluency", "relevance"):
                quality = clip(draw.gauss(mean, 1))
                people = [clip(quality + draw.choice([-1, 0, 0, 0, 1])) for _ in range(3)]
                rows.append(
                    [f"d{doc}", system, aspect, clip(quality + draw.randint(0, 1)), *people]
                )
    header = ["article", "system", "aspect", "gpt_rating", "anna", "ben", "carla"]
    write("ratings.csv", header, rows)
    without_a_file(user, lambda file: f"diagnose scores {file}")
    guide = user.gets("start ratings.csv")
    assert any("gpt_rating: scores of a model?" in line for line in guide.lines)
    user.goes_wrong("diagnose scores ratings.csv", "--column judge_score=NAME", "gpt_rating")
    named = "diagnose scores ratings.csv --column judge_score=gpt_rating --column doc_id=article"
    user.goes_wrong(named, "has no human scores", "--raters NAME,NAME")
    user.goes_wrong(f"{named} --raters anna,dora", "column dora: is not in the file", "carla")
    user.goes_wrong(f"{named} --raters anna ben carla", "ben carla", "--help")

    guide = user.gets(f"{named} --raters anna,ben,carla".replace("diagnose scores", "start"))
    assert f"adjudge {named} --raters anna,ben,carla" in guide.lines
    first = user.gets(f"{named} --raters anna,ben,carla")
    again = user.gets(f"{named} --raters anna --raters ben --raters carla")
    assert first.lines[:-1] == again.lines[:-1]
    judge = sum(row[3] for row in rows) / len(rows)
    people = sum(sum(row[4:]) / 3 for row in rows) / len(rows)
    assert first.lines[0].startswith(
        f"The judge scores {judge:.2f} on average and people {people:.2f}: +{judge - people:.2f}"
    )
    saved = user.gets(again.next)
    assert read("scores.json")["kind"] == "score_diagnosis"
    user.gets(saved.next)
    assert "people" in Path("report.html").read_text()


@pytest.mark.parametrize("column", ["winner", "judge_winner"])
def test_battles_with_names_of_models(user: User, column: str) -> None:
    draw = random.Random(5)
    strength = {"orca": 1.2, "lynx": 0.4, "ibis": 0.0, "newt": -0.6}
    rows = []
    for _ in range(600):
        a, b = draw.sample(sorted(strength), 2)
        best = a if draw.random() < 1 / (1 + math.exp(strength[b] - strength[a])) else b
        judge = best if draw.random() < 0.8 else draw.choice([a, b, "tie"])
        rows.append([a, b, judge, best if draw.random() < 0.3 else ""])
    write("battles.csv", ["left", "right", column], [row[:3] for row in rows])
    without_a_file(user, lambda file: f"rank {file}")
    guide = user.gets("start battles.csv")
    assert "adjudge rank battles.csv --column model_a=left --column model_b=right" in guide.lines
    user.goes_wrong(
        "rank battles.csv", "--column model_a=NAME --column model_b=NAME", "left, right"
    )
    named = "rank battles.csv --column model_a=left --column model_b=right"
    user.goes_wrong(f"{named} --verdict gpt", "choose a column", column)
    user.goes_wrong(f"{named} --method prediction-powered", "--verdict NAME", "--human NAME")
    write(
        "odd.csv", ["model_a", "model_b", column], [*(row[:3] for row in rows), ["a", "b", "zebra"]]
    )
    user.goes_wrong("rank odd.csv", "row 601", f"column {column}", "'zebra'", "--labels-as")

    board = user.gets(named)
    whose = {"winner": "people's votes in winner", "judge_winner": "the judge's verdicts in judge_"}
    assert board.lines[0].startswith("orca is first of 4 models")
    assert whose[column] in board.lines[0]
    if column == "winner":
        assert "(a judge's? --verdict winner)" in board.lines[0]
        board = user.gets(f"{named} --verdict winner")
        assert "the judge's verdicts in winner" in board.lines[0]
    assert "do not include judge errors" in board.lines[0]

    write("both.csv", ["model_a", "model_b", "judge_winner", "human_winner"], rows)
    judged = user.gets("rank both.csv")
    assert judged.next == "rank both.csv --method prediction-powered"
    board = user.gets(judged.next)
    assert "include judge errors" in board.lines[0]
    saved = user.gets(board.next)
    assert read("leaderboard.json")["models"][0]["model"] == "orca"
    user.gets(saved.next)
    assert "orca" in Path("report.html").read_text()
