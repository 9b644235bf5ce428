"""schemathesis against the running service: whatever it makes up, the answers fit the schema."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serving import served, write_policy


@pytest.mark.crash
@pytest.mark.parametrize(
    ("about", "phases", "examples"),
    [("pairs", "examples,coverage,fuzzing", "20"), ("grades", "fuzzing", "10")],
)
def test_schemathesis_finds_nothing(tmp_path: Path, about: str, phases: str, examples: str) -> None:
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("schemathesis is not installed: pip install '.[dev]'")
    # What breaks the schema by being too long can be too large for the server too: 413 refuses it.
    refused = "negative_data_rejection.expected-statuses = [400, 413, 415, 422]"
    (tmp_path / "schemathesis.toml").write_text(f"[checks]\n{refused}\n")
    with served(write_policy(tmp_path, about=about)) as port:
        done = subprocess.run(
            [program, "run", f"http://127.0.0.1:{port}/openapi.json", "--max-examples", examples,
             "--seed", "1", "--no-color", "--phases", phases],
            capture_output=True, text=True, timeout=240, cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]
