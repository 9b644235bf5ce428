"""What a command advises works when typed, on the file that caused the advice.

An error names a command or options; a result ends in `next: adjudge ...`. Both are typed here, with
what the user typed before. A placeholder in capitals is for what only the user knows.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.cli import steps
from adjudge.cli.app import run
from adjudge.cli.output import PLACEHOLDERS
from adjudge.data import write_result
from adjudge.gating import make_card
from adjudge.simulate.pairs import two_order_judge

#: The words of a command that comes next, in the source of a verb.
STEP = re.compile(r"\bcommand\(([^()]*)\)")
PLACEHOLDER = re.compile(r"\b[A-Z][A-Z_]{2,}\b|\.\.\.")
_WORDS = {"judge": ["Bad", "GOOD", "Good", "Bad"] * 20, "human": ["no", "yes", "Yes", "no"] * 20}
_WIDE = {
    "id": [*range(80)],
    "GPT-4": [1, 0, 1, 1] * 20,
    "Llama 7B": [0, 0, 1, 1] * 20,
    "human": [1, 0, 0, 1] * 20,
}
_GRADES = {
    "id": [*range(80)],
    "judge": [1, 0, 1, 1] * 20,
    "human": [1, 0, 0, 1] * 10 + [None] * 40,
    "model": ["old", "new"] * 40,
    "prompt_id": [n // 2 for n in range(80)],
}
_SCORES = {
    "doc_id": [*range(60)],
    "judge_score": [1, 2, 3, 4, 5] * 12,
    "human_score": [1, 3, 3, 4, 4] * 12,
}
_PAIRS = {
    "id": [*range(12)],
    "question": ["q"] * 12,
    "output_1": ["a", *["x"] * 10, ""],
    "output_2": ["b"] * 12,
}
_BY_VERDICT = {
    "id": [*range(200)],
    "one": [0] * 40 + [1] * 160,
    "two": [0, 1] * 100,
    "human": [0] * 30 + [1] * 40 + [None] * 130,
}
#: Files by name. The second one of a name is its labels.
FILES: Mapping[str, Mapping[str, Any]] = {
    "grades.csv": _GRADES,
    "wide.csv": _WIDE,
    "scores.csv": _SCORES,
    "pairs.csv": _PAIRS,
    "drawn.csv": _BY_VERDICT,
    "named.csv": {"ticket": _GRADES["id"], "check": _GRADES["judge"], "vote": _GRADES["human"]},
    "battles.csv": {
        "model_a": ["m", "n"] * 30,
        "model_b": ["n", "o"] * 30,
        "winner": ["A", "B"] * 30,
    },
}
#: Commands that end in `next:`; the next one is typed, up to three times.
RESULTS = (
    "evaluate grades.csv",
    "evaluate wide.csv --judge GPT-4",
    "evaluate wide.csv --judge GPT-4 --judge 'Llama 7B'",
    "evaluate scores.csv",
    "evaluate named.csv --column judge=check --column human=vote",
    "evaluate judged.csv --splits 5",
    "evaluate unlabelled.csv",
    "estimate grades.csv",
    "estimate grades.csv --labels-are-random",
    "estimate scores.csv",
    "plan rate grades.csv --width 0.2",
    "card make grades.csv",
    "gate graded.csv --card card.json --at-least 0.6",
    "gate drawn.csv --card card.json --judge-column two --at-least 0.6",
    "plan labels unlabelled.csv",
    "compare grades.csv --a old --b new",
    "diagnose bias judged.csv",
    "diagnose scores scores.csv",
    "calibrate judged.csv --alpha 0.3",
    "rank battles.csv --replicates 5",
    "judge pairs.csv --judge simulated -o out.csv",
)
#: Commands that are refused, and what the remedy is when it is typed in addition.
ERRORS = (
    "evaluate wide.csv",
    "evaluate drawn.csv --judge one --judge two",
)


@pytest.fixture(autouse=True)
def files() -> None:
    for name, rows in FILES.items():
        pl.DataFrame(rows).write_csv(name)
    judged = pl.DataFrame(two_order_judge(120, seed=1))
    judged.write_csv("judged.csv")
    judged.drop("label").write_csv("unlabelled.csv")
    grades = pl.DataFrame(_GRADES)
    grades.drop("human").write_csv("graded.csv")
    write_result(make_card(grades), "card.json")


def types(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(shlex.split(line))
    return code, *capsys.readouterr()


def is_for_the_user(line: str) -> bool:
    """Whether it opens a page, or has a word that only the user can fill in."""
    return line.startswith(("label ", "abtest ", "view ")) or bool(PLACEHOLDER.search(line))


@pytest.mark.parametrize("line", RESULTS)
def test_the_next_command_works(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        code, out, err = types(line, capsys)
        assert code in (0, 2, 3), f"{line}\n{err}"
        last = (out.splitlines() or [""])[-1]
        if not last.startswith("next: adjudge "):
            return
        for line in last.removeprefix("next: adjudge ").split(" && adjudge "):
            if is_for_the_user(line):
                return
            code, out, err = types(line, capsys)
            assert code in (0, 2, 3), f"{line}\n{err}"


@pytest.mark.parametrize("line", ERRORS)
def test_the_remedy_of_an_error_works(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = types(line, capsys)
    assert code == 1
    advice = re.search(r"((?: ?--judge (?:'[^']*'|[^ ',]+))+)", err)
    assert advice is not None, err
    again = f"{line.split(' --judge')[0]} {advice[1].strip()}"
    code, _, err = types(again, capsys)
    assert code == 0, f"{again}\n{err}"


@pytest.mark.parametrize("file", [*FILES, "judged.csv", "unlabelled.csv"])
def test_every_command_of_start_works(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = types(f"start {file}", capsys)
    assert code == 0, err
    commands = [line for line in out.splitlines() if line.startswith("adjudge ")]
    assert commands
    for command in commands:
        line = command.removeprefix("adjudge ")
        if is_for_the_user(line):
            continue
        code, _, err = types(line, capsys)
        assert code in (0, 2, 3), f"{line}\n{err}"


def test_labels_as_is_advised_in_a_form_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    pl.DataFrame(_WORDS).write_csv("words.csv")
    code, _, err = types("evaluate words.csv", capsys)
    assert code == 1
    advice = re.search(r"--labels-as '([^']*)'", err)
    assert advice is not None
    meaning = {"no": "Bad", "yes": "Good", "Yes": "Good"}
    filled = ",".join(f"{word}={meaning[word]}" for word in re.findall(r"(\w+)=\.\.\.", advice[1]))
    assert types(f"evaluate words.csv --labels-as '{filled}'", capsys)[0] == 0


def test_every_placeholder_of_a_next_line_is_explained() -> None:
    used: set[str] = set()
    for path in Path(steps.__file__).parent.glob("verbs/*.py"):
        for words in STEP.findall(path.read_text(encoding="utf-8")):
            used |= {*re.findall(r'"([A-Z][A-Z_]+)"', words)}
    assert {"ROWS", "NEW"} <= used <= PLACEHOLDERS.keys()
