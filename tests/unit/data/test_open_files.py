"""A file is closed with its last use, also after an error, while a reader of it is suspended."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from adjudge.data.conversion import read_public
from adjudge.data.files import Handle
from adjudge.data.tables import first_row, iter_rows
from adjudge.errors import DataError

LINES = [{"id": str(at), "judge": 1} for at in range(3)]


def open_paths() -> set[str]:
    """The files of the working folder that this process has open."""
    here = str(Path.cwd())
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    targets = {os.readlink(link) for link in links if os.path.islink(link)}
    return {Path(target).name for target in targets if target.startswith(here)}


def write(name: str) -> Path:
    path = Path(name)
    text = "".join(json.dumps(row) + "\n" for row in LINES)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_a_suspended_reader_does_not_keep_a_file_open(name: str) -> None:
    handle = Handle(write(name))
    with handle:
        reader = iter_rows(handle)
        assert next(reader)["id"] == "0"
        assert open_paths() == {name}
    assert open_paths() == set()
    # It cannot go on, and says so: rows are never left out in silence.
    with pytest.raises(ValueError, match="closed file"):
        list(reader)
    assert [row["id"] for row in iter_rows(handle)] == ["0", "1", "2"]
    assert open_paths() == set()


def test_two_readers_without_a_user_share_the_file_until_the_last_ends() -> None:
    handle = Handle(write("rows.jsonl"))
    first, second = iter_rows(handle), iter_rows(handle)
    assert next(first) == next(second) == first_row(handle)
    assert len(list(first)) == 2
    assert open_paths() == {"rows.jsonl"}
    assert len(list(second)) == 2
    assert open_paths() == set()


def inspect_archive(path: Path) -> Path:
    header = {"eval": {"model": "m", "task": "t"}, "status": "success", "version": 2}
    sample = {"id": 1, "epoch": 1, "input": "q", "target": "a", "scores": {"s": {"value": []}}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
        archive.writestr("samples/2_epoch_1.json", "{")
    return path


def test_a_log_is_closed_after_an_error_in_its_rows() -> None:
    kept: list[Any] = []
    path = inspect_archive(Path("log.eval"))
    with pytest.raises(DataError) as error:
        read_public(path)
    kept.append(error)  # the error keeps every frame, and every suspended reader
    assert open_paths() == set()
