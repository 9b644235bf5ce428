"""A skipped test fails in CI and is named elsewhere: conftest.py at the root sees to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIPS = """
import pytest

def test_fine():
    pass

def test_needs_a_program():
    pytest.skip("no such program here")
"""
SKIPS_AS_A_FILE = """
import pytest

pytest.importorskip("no_such_package", reason="no such package here")

def test_never_collected():
    pass
"""


def run(folder: Path, *, ci: str | None) -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--import-mode=importlib"],
        cwd=folder,
        env=environment | ({} if ci is None else {"CI": ci}),
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("source", "test", "reason"),
    [
        (SKIPS, "test_one.py::test_needs_a_program", "no such program here"),
        (SKIPS_AS_A_FILE, "test_one.py", "no such package here"),
    ],
    ids=["test", "file"],
)
def test_a_skip_fails_in_ci_and_is_named_elsewhere(
    tmp_path: Path, source: str, test: str, reason: str
) -> None:
    (tmp_path / "test_one.py").write_text(source)
    in_ci = run(tmp_path, ci="1")
    assert in_ci.returncode != 0
    assert f"{test} was skipped in CI: {reason}" in in_ci.stdout
    elsewhere = run(tmp_path, ci=None)
    assert "NOT TESTED on this machine" in elsewhere.stdout
    assert f"1 skipped: {reason}" in elsewhere.stdout
    assert "was skipped in CI" not in elsewhere.stdout
    # A file skipped whole leaves nothing collected, which is pytest's own exit status 5.
    assert elsewhere.returncode == (0 if source == SKIPS else 5)


def test_without_a_skip_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_fine():\n    pass\n")
    outcome = run(tmp_path, ci="true")
    assert outcome.returncode == 0
    assert "NOT TESTED" not in outcome.stdout
