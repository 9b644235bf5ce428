"""schemathesis against the running service: whatever it makes up, the answers fit the schema."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serving import served, write_policy


@pytest.mark.parametrize("about", ["pairs", "grades"])
def test_schemathesis_finds_nothing(tmp_path: Path, about: str) -> None:
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("schemathesis is not installed: pip install 'adjudge[dev]'")
    # Half of the examples for each kind of policy: most of what they try is the same.
    with served(write_policy(tmp_path, about=about)) as port:
        done = subprocess.run(
            [program, "run", f"http://127.0.0.1:{port}/openapi.json", "--max-examples", "10",
             "--seed", "1", "--no-color", "--phases", "examples,coverage,fuzzing"],
            capture_output=True, text=True, timeout=240, cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
