"""action.yml: its script run by bash, with the inputs in the environment as a runner gives them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

#: A process each, so they run with the long tests.
pytestmark = pytest.mark.crash
ACTION: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "action.yml").read_text(encoding="utf-8")
)
[STEP] = ACTION["runs"]["steps"]
ROWS = "judge,human\n" + "1,1\n" * 40 + "0,0\n" * 20 + "1,\n" * 60 + "0,\n" * 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    # The runner's python3 is this one; adjudge is installed in it.
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    (tmp_path / "grades.csv").write_text(ROWS)
    return tmp_path


def run(
    folder: Path, command: str, *, fail: str = "true"
) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """The script's end, and what it left for later steps and for people."""
    inputs = {"command": command, "package": "", "fail-on-finding": fail}
    given = {
        name: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in STEP["env"].items()
    }
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    environment = os.environ | given | {name: str(path) for name, path in files.items()}
    environment |= {"RUNNER_TEMP": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEP["run"]],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    return done, {name: path.read_text() for name, path in files.items() if path.exists()}


@pytest.mark.parametrize(
    ("limit", "fail", "code", "reported", "annotation"),
    [
        ("0.4", "true", 0, 0, None),
        ("0.9", "true", 2, 2, "::error title=adjudge::the finding is bad"),
        ("0.9", "false", 0, 2, "::warning title=adjudge::the finding is bad"),
        ("high", "false", 1, 1, "::error title=adjudge::the command could not run"),
    ],
)
def test_a_bad_finding_fails_the_job(
    folder: Path, limit: str, fail: str, code: int, reported: int, annotation: str | None
) -> None:
    done, left = run(folder, f"estimate grades.csv --fail-below {limit}", fail=fail)
    assert done.returncode == code, done.stdout + done.stderr
    assert left["GITHUB_OUTPUT"] == f"exit-code={reported}\n"
    assert left["GITHUB_STEP_SUMMARY"].startswith(f"### adjudge estimate: exit code {reported}\n\n")
    last = done.stdout.splitlines()[-1]
    assert annotation is None or last.startswith(annotation)


@pytest.mark.parametrize(
    ("asked", "fail", "code", "reported", "annotation"),
    [
        ("--at-least 0.4 --labels labels.csv", "true", 0, 0, None),
        ("--at-least 0.9 --labels labels.csv", "true", 2, 2, "::error title=adjudge::the finding"),
        ("--at-least 0.4", "true", 3, 3, "::error title=adjudge::inconclusive; see the summary"),
        ("--at-least 0.4", "false", 0, 3, "::warning title=adjudge::inconclusive; see the summary"),
        ("--at-least 0.4 --assume-same-errors", "true", 0, 0, None),
    ],
)
def test_a_card_is_verified_and_a_run_passes_the_gate(
    folder: Path, asked: str, fail: str, code: int, reported: int, annotation: str | None
) -> None:
    """The steps of a job: the card is in the repository, the run was just judged."""
    done, _ = run(folder, "card make grades.csv --labels-are-random -o card.json")
    assert done.returncode == 0, done.stdout + done.stderr
    done, _ = run(folder, "card verify card.json grades.csv --labels-are-random")
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = [1] * 70 + [0] * 30
    rows = "\n".join(f"{at},{verdict}" for at, verdict in enumerate(verdicts))
    (folder / "run.csv").write_text(f"id,judge\n{rows}\n")
    labels = "\n".join(f"{at},{verdicts[at]},random" for at in range(0, 100, 2))
    (folder / "labels.csv").write_text(f"id,label,sampled_by\n{labels}\n")
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        (folder / name).unlink()
    done, left = run(folder, f"gate run.csv --card card.json {asked}", fail=fail)
    assert done.returncode == code, done.stdout + done.stderr
    assert left["GITHUB_OUTPUT"] == f"exit-code={reported}\n"
    outcome = {0: "PASS", 2: "FAIL", 3: "INCONCLUSIVE"}[reported]
    assert f"    {outcome}: people's number" in left["GITHUB_STEP_SUMMARY"]
    last = done.stdout.splitlines()[-1]
    assert annotation is None or last.startswith(annotation)


def test_an_edited_card_fails_the_job(folder: Path) -> None:
    run(folder, "card make grades.csv -o card.json")
    card = folder / "card.json"
    card.write_text(card.read_text().replace('"agreement": 1.0', '"agreement": 0.9'))
    done, left = run(folder, "card verify card.json")
    assert done.returncode == 2
    assert "was changed: its digest differs" in left["GITHUB_STEP_SUMMARY"]


def test_words_are_grouped_by_quotes_and_never_run_by_the_shell(folder: Path) -> None:
    (folder / "my grades.csv").write_text(ROWS)
    done, _ = run(folder, "estimate 'my grades.csv' --json")
    assert done.returncode == 0, done.stdout
    done, _ = run(folder, "estimate grades.csv; touch made $(touch made) `touch made`")
    assert done.returncode == 1
    assert not (folder / "made").exists()
    (folder / "GITHUB_OUTPUT").unlink()
    done, left = run(folder, "estimate 'grades.csv")
    assert done.returncode == 1
    assert "GITHUB_OUTPUT" not in left
    assert done.stdout == "::error::the input command is empty or its quotes do not match\n"


def test_text_from_data_is_no_command_to_the_runner(folder: Path) -> None:
    (folder / "grades.csv").write_text(ROWS.replace("judge", "::error::pwned\njudge", 1))
    done, left = run(folder, "estimate grades.csv")
    lines = done.stdout.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("::stop-commands::"))
    token = lines[begin].removeprefix("::stop-commands::")
    end = lines.index(f"::{token}::")
    commands = [at for at, line in enumerate(lines) if line.startswith("::")]
    assert all(at in (begin, end) or begin < at < end or at > end for at in commands)
    shown = left["GITHUB_STEP_SUMMARY"].splitlines()[2:]
    assert shown
    assert all(line.startswith("    ") for line in shown)
