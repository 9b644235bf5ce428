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
