"""`estimate --by` with 100,000 groups: seconds of one processor, and memory that stays bounded."""

from __future__ import annotations

import random
import resource
from pathlib import Path

import pytest
from peak import run_for_peak
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
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with (tmp_path / "shown.txt").open("w") as shown:
        done, peak = run_for_peak(["estimate", str(table), "--by", "team", *options], stdout=shown)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert done.returncode in (0, 2)
    assert seconds < 60, "of one processor"
    assert peak < 800, "MB"
    if options:
        written = tmp_path / ("shown.txt" if options == ["--json"] else "rates.json")
        with written.open() as lines:
            groups = sum('"group": "team ' in line for line in lines)
        assert groups == GROUPS
