"""`estimate --by` with 100,000 groups: seconds of one processor, and memory that stays bounded."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tries import tried

GROUPS = 100_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten rows in each group, two of them labelled."""
    rng = random.Random(0)
    path = tmp_path_factory.mktemp("groups") / "rows.csv"
    with path.open("w") as file:
        file.write("id,judge,human,team\n")
        for number in range(10 * GROUPS):
            judge = rng.random() < 0.6
            human = "" if number % 10 > 1 else int(judge is (rng.random() < 0.9))
            file.write(f"{number},{int(judge)},{human},team {number // 10}\n")
    return path


@pytest.mark.attack("groups")
@pytest.mark.crash
@pytest.mark.parametrize("options", [[], ["--json"], ["-o", "rates.json"]], ids=" ".join)
def test_a_rate_for_each_of_very_many_groups(
    table: Path, options: list[str], tmp_path: Path
) -> None:
    tried(GROUPS)
    with (tmp_path / "shown.txt").open("w") as shown:
        run = subprocess.Popen(
            [sys.executable, "-m", "adjudge", "estimate", str(table), "--by", "team", *options],
            stdout=shown, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    assert run.returncode in (0, 2)
    assert used.ru_utime < 60, "processor seconds"
    assert used.ru_maxrss < 800_000, "kilobytes"
    if options:
        written = tmp_path / ("shown.txt" if options == ["--json"] else "rates.json")
        with written.open() as lines:
            groups = sum('"group": "team ' in line for line in lines)
        assert groups == GROUPS
