"""All papers from the command line at small sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjudge.cli import run
from adjudge.data import read_result
from adjudge_papers.everything import PAPERS
from adjudge_papers.items import ReproductionItems


@pytest.mark.montecarlo
def test_all_papers_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "all"
    assert run(["reproduce", "all", "--out", str(out), "--size", "0.02"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines[: len(PAPERS)]] == list(PAPERS)
    items = read_result(out / "items.json")
    assert isinstance(items, ReproductionItems)
    page = (out / "index.html").read_text(encoding="utf-8")
    headings = re.findall(r"<h4>(.*?): ", page)
    assert headings == [item.name for item in items.items]
    assert all(item.values or item.reason or item.figure for item in items.items)
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)
    for paper in PAPERS:
        assert (out / f"{paper}.json").is_file()
        names = {item.figure for item in items.items if item.paper == paper and item.figure}
        pictures = {path.stem for path in (out / "figures" / paper).glob("*.png")}
        assert names <= pictures
        assert pictures
