"""A store cut short, with flipped bits or pages of noise: refused or rescued, never written.

What can be read is copied; a run with the rescued store asks the rest again.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from stores import CALLS, damage, fill_store, rows_of
from tries import tried

from adjudge.cli import run
from adjudge.errors import StoreError
from adjudge.store import check_store


@pytest.mark.attack("damaged stores")
@pytest.mark.parametrize(
    ("seed", "each"), [(0, 3), pytest.param(1, 40, marks=pytest.mark.crash, id="all")]
)
def test_a_damaged_store_is_never_written_and_what_is_rescued_is_sound(
    seed: int, each: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = fill_store(tmp_path / "whole.db").read_bytes()
    kept = set(rows_of(tmp_path / "whole.db", "calls"))
    place, new = tmp_path / "bad.db", tmp_path / "new.db"
    rescued = damaged = 0
    for bad in damage(whole, seed=seed, each=each):
        damaged += 1
        tried()
        place.write_bytes(bad)
        try:
            check = check_store(place, rescue=new)
        except StoreError:
            assert run(["store", "check", str(place)]) == 1
            assert len(capsys.readouterr().err.splitlines()) == 1
            assert not new.exists()
        else:
            assert run(["store", "check", str(place)]) == (2 if check.damaged else 0)
            rows = rows_of(new, "calls")
            assert {table.table: table.rows for table in check.tables}["calls"] == len(rows)
            assert sum(table.rows for table in check.tables) == check.rescued_rows
            assert not check_store(new).damaged
            # A bit inside the text of a reply cannot be seen, a row lost or under a wrong key can.
            assert len(set(rows) - kept) <= 50
            assert check.damaged or len(rows) == CALLS + 1
            rescued += len(rows)
            new.unlink()
        assert place.read_bytes() == bad
    assert rescued > damaged * CALLS / 2, "hardly anything was rescued"
