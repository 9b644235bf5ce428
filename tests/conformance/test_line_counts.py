"""How many lines a terminal of 80 columns prints by default: wrapped lines and `next:` count.

Files of one judge and of five, as people have them: labels in part, several models, failed rows.
"""

from __future__ import annotations

import random
import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from all_verbs import MOST_LINES
from examples import write_examples

from adjudge.cli.app import run

#: A leaderboard also has a line above its table.
MOST = MOST_LINES | {"rank": 5}
JUDGES = ("gemma-2b", "glm-4-9b-chat", "llama-3-8b-instruct", "qwen-1.5-32b", "qwen-2.5-72b")
ASKED = " ".join(f"--judge simulated:accuracy={share},noise=0.3" for share in (0.9, 0.8, 0.7))


def _judgments(judges: tuple[str, ...], rows: int, seed: int) -> pl.DataFrame:
    draw, table = random.Random(seed), []
    for at, judge in enumerate(judges):
        for row in range(rows):
            p_fwd, p_rev = draw.random(), draw.random()
            sure = abs(p_fwd + p_rev - 1) * (0.3 + 0.2 * at)
            right = draw.random() < 0.5 + sure
            verdict = "A" if p_fwd + p_rev > 1 else "B"
            label = verdict if right else "BA"["AB".index(verdict)]
            status = "ok" if row % 97 else "error"
            table.append((f"q{row}", judge, "base", p_fwd, p_rev, status, label, f"p{row // 2}"))
    names = ["id", "judge", "protocol", "p_fwd", "p_rev", "status", "label", "prompt_id"]
    frame = pl.DataFrame(table, names, orient="row")
    measured = pl.col("status") == "ok"
    return frame.with_columns(pl.when(measured).then(name).alias(name) for name in names[3:5])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_examples(folder)
    _judgments(JUDGES[4:], 300, 1).write_csv(folder / "judgments.csv")
    _judgments(JUDGES, 200, 2).write_csv(folder / "five_judges.csv")
    _judgments(JUDGES[4:], 25, 3).write_csv(folder / "few.csv")
    _judgments(JUDGES[4:], 300, 4).drop("label").write_csv(folder / "new.csv")
    _judgments(JUDGES, 200, 5).drop("label").write_csv(folder / "new_five.csv")
    answers = pl.read_csv(folder / "answers.csv")
    answers.filter(pl.col("human").is_not_null()).write_csv(folder / "labelled.csv")
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "judge pairs.jsonl --judge simulated:accuracy=0.85,noise=0.3 -o judged.jsonl",
        f"judge pairs.jsonl {ASKED} --judge simulated --judge simulated:seed=1 -o judged.jsonl",
        "judge new_pairs.jsonl --judge simulated -o judged.jsonl",
        "judge pairs.jsonl --judge simulated --dry-run",
        "calibrate judgments.csv --alpha 0.2",
        "calibrate judgments.csv --alpha 0.2 --guarantee pac",
        "calibrate judgments.csv --alpha 0.2 --guarantee fdr",
        "calibrate five_judges.csv --alpha 0.2 -o policy.json",
        "calibrate few.csv --alpha 0.2",
        "calibrate few.csv --alpha 0.01",
        "evaluate judgments.csv --splits 20",
        "evaluate five_judges.csv --splits 20",
        "evaluate few.csv --splits 20",
        "estimate answers.csv",
        "estimate answers.csv --labels-are-random",
        "estimate answers.csv --by model --labels-are-random",
        "estimate labelled.csv",
        "estimate panel.csv --judge gpt --judge claude --judge gemini --labels-are-random",
        "plan rate answers.csv --width 0.1",
        "plan rate answers.csv --budget 300",
        "diagnose bias judgments.csv",
        "diagnose bias five_judges.csv",
        "diagnose scores scores.jsonl",
        "diagnose transitivity tournaments.csv",
        "rank battles.csv",
        "rank battles.csv --method bt",
    ],
)
def test_the_default_output_is_short(
    line: str, files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    _assert_short(line, monkeypatch, capsys)


@pytest.mark.parametrize(("labelled", "new"), [("judgments", "new"), ("five_judges", "new_five")])
def test_what_select_prints_is_short(
    labelled: str,
    new: str,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    run(["calibrate", f"{labelled}.csv", "--alpha", "0.2", "-o", "policy.json"])
    for rows in (new, labelled):
        _assert_short(f"select {rows}.csv --policy policy.json", monkeypatch, capsys)


def _assert_short(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("COLUMNS", "80"), ("FORCE_COLOR", "1"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    capsys.readouterr()
    code = run(shlex.split(line))
    screen = capsys.readouterr()
    assert code in (0, 2), screen.err
    lines = re.sub(r"\x1b\[[\d;]*m", "", screen.out).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    text = [line for line in lines if line.strip() and not re.match(r" \S", line)]  # no table
    assert any(line.startswith("next: adjudge ") for line in text)
    most = next(most for verb, most in MOST.items() if line.startswith(verb))
    assert len(text) <= most, "\n".join(lines)
