"""`... | head -1`: whoever has read enough loses no file and no exit code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_commands import write_valid
from fuzzing import arguments_of
from tries import tried

from adjudge.cli import all_verbs

SUPPORT = Path(__file__).parents[1] / "support"
#: Every option that writes a file, of every verb that has it.
COMMANDS = (
    "judge {pairs} --judge JUDGE --store {out}.db -o {out}.csv --summary {out}.json",
    "convert {log} -o {out}.csv --summary {out}.json",
    "calibrate {judgments} -o {out}.json --plot {out}.svg",
    "select {judgments} --policy {policy} -o {out}.csv --summary {out}.json",
    "policy verify {policy} -o {out}.json",
    "card make {answers} -o {out}.json --plot {out}.svg",
    "card verify {card} {answers} -o {out}.json",
    "card diff {card} {card} -o {out}.json",
    "gate {answers} --card {card} --at-least 0.1 -o {out}.json --plot {out}.svg",
    "store check {store} -o {out}.json --rescue {out}.db",
    "store copy {store} {out}.db -o {out}.json",
    "replies --store {store} -o {out}.json",
    "evaluate {judgments} --splits 2 -o {out}.json --plot {out}.svg --errors {out}.csv --json",
    "estimate {answers} -o {out}.json --plot {out}.svg --fail-below 1",
    "plan rate {answers} --width 0.2 -o {out}.json --plot {out}.svg --write-ids {out}.csv",
    "plan selection {half} --cluster none --repeats 2 -o {out}.json --plot {out}.svg"
    " --write-ids {out}.csv --json",
    "plan battles {battles} --budget 3 -o {out}.json --write-rows {out}.csv",
    "plan labels {half} --surest 0.6 --n 2 --cluster none -o {out}.json --write-ids {out}.csv",
    "plan cascade {staged} --cascade CASCADE --costs 1,9 --learning-share 0.5 --alpha 0.3"
    " -o {out}.json --plot {out}.svg",
    "monitor draw {decided} --audit-rate 0.5 --secret-env PATH -o {out}.csv --summary {out}.json",
    "monitor recalibrate {audits} --labels {labels} --state {monitor} --alpha 0.3 -o {out}.json"
    " --plot {out}.svg",
    "monitor check {audits} --policy {policy} --state {out}.state -o {out}.json --plot {out}.svg",
    "runs {answers} -o {out}.json --plot {out}.svg",
    "monitor judge {pairs} --judge JUDGE --store {out}.db --state {out}.json -o {out}.csv",
    "monitor renew {judgments} --policy {policy} --state {judge_state} -o {out}.json",
    "diagnose transitivity {tournaments} --replicates 2 -o {out}.json --plot {out}.svg",
    "diagnose scores {scores} --splits 1 -o {out}.json --plot {out}.svg --write-sets {out}.csv",
    "diagnose bias {judgments} -o {out}.json --plot {out}.svg",
    "diagnose prompts {judgments} {judgments} -o {out}.json --plot {out}.svg",
    "rank {battles} --replicates 2 -o {out}.json --plot {out}.svg --table {out}.md --json",
    "anchors make {battles} --replicates 2 -o {out}.json",
    "anchors check {battles} --anchors {anchors} -o {out}.json",
    "anchors place {newcomers} --anchors {anchors} --alpha 0.4 -o {out}.json --plot {out}.svg",
    "view {judgments} --store {store} -o {out}.html",
    "label {pairs} --export-only --store {out}.db --import {labels} -o {out}.csv"
    " --summary {out}.json --json",
    "compare {answers} -o {out}.json --plot {out}.svg",
    "abtest {answers} --a m --b n --store {out}.db --write-ids {out}.csv",
    "plan compare {answers} --difference 0.9 -o {out}.json",
    "report {results} -o {out}.html",
    "report {results} --json",
)
#: Verbs without such an option, or whose result is all they write, made by `deliver` like these.
OTHERS = ("demo", "serve", "start", "align", "reproduce", "models", "policy show", "schema")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_valid(tmp_path_factory.mktemp("valid"))


def test_every_verb_that_writes_a_file_is_tried() -> None:
    verbs = all_verbs()
    left = {verb for verb in verbs if not any(c.startswith(f"{verb} ") for c in COMMANDS)}
    assert left == {verb for verb in verbs if verb.startswith(OTHERS)}
    options = [option for verb in verbs.values() for option in verb.parameters.values()]
    for option in options:
        if option.written:
            assert any(f" {option.short or option.flag} " in command for command in COMMANDS)


@pytest.mark.attack("pipes")
@pytest.mark.crash
def test_files_and_exit_codes_are_those_of_a_patient_reader(
    files: dict[str, Path], tmp_path: Path
) -> None:
    folders = [tmp_path / str(number) for number in range(len(COMMANDS))]
    for folder in folders:
        folder.mkdir()
    given = zip(COMMANDS, folders, strict=True)
    commands = [arguments_of(command, files, folder) for command, folder in given]
    (tmp_path / "commands.json").write_text(json.dumps(commands))
    program = [sys.executable, str(SUPPORT / "closed_output.py"), "commands.json", "codes.json"]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tried(len(COMMANDS))
    codes = json.loads((tmp_path / "codes.json").read_text())
    expected = {"--fail-below": 2, "runs ": 2, "abtest ": 3, "anchors check": 3}
    assert codes == [
        next((code for word, code in expected.items() if word in command), 0)
        for command in COMMANDS
    ]
    assert "Traceback" not in done.stderr
    assert "roken" not in done.stderr
    for command, folder in zip(COMMANDS, folders, strict=True):
        made = {path.name for path in folder.iterdir() if path.stat().st_size}
        assert made == {f"out{suffix}" for suffix in re.findall(r"{out}(\.\w+)", command)}


def test_head_takes_a_line_and_the_file_is_there(files: dict[str, Path], tmp_path: Path) -> None:
    command = "plan rate {answers} --width 0.2 --write-ids {out}.csv"
    words = [sys.executable, "-m", "adjudge", *arguments_of(command, files, tmp_path)]
    line = " ".join(f"'{word}'" for word in words) + " | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert (tmp_path / "out.csv").stat().st_size > 0


def test_a_full_disk_behind_standard_output_is_one_line(files: dict[str, Path]) -> None:
    words = [sys.executable, "-m", "adjudge", "estimate", str(files["answers"]), "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if line.startswith("adjudge")]
    assert said == [
        "adjudge: No space left on device; free space on the disk and run the same command again"
    ]
    assert "Traceback" not in done.stderr
