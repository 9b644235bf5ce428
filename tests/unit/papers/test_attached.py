"""How the papers are attached to adjudge: a verb, kinds of results, a section of the report."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from adjudge.cli import all_verbs, verbs
from adjudge.data.writing import write_result
from adjudge.present.kinds import KINDS, SECTIONS
from adjudge.report import build_document
from adjudge_papers.items import PaperItem, ReproductionItems

ITEMS = ReproductionItems(
    items=(PaperItem(paper="scope", name="Table 1", about="Errors", status="not possible"),)
)


def test_the_verb_and_the_kinds_come_from_entry_points() -> None:
    assert verbs.entries()[-1].name == "reproduce"
    assert [name for name in all_verbs() if name.startswith("reproduce")] == [
        f"reproduce {paper}" for paper in ("scope", "reporting", "diagnosis", "soft-elo", "all")
    ]
    assert KINDS.load("reproduction_items") is ReproductionItems
    assert not any(kind.startswith("reproduction") for kinds in SECTIONS.values() for kind in kinds)


def test_a_report_shows_the_papers_after_its_own_sections(tmp_path: Path) -> None:
    write_result(ITEMS, tmp_path / "items.json")
    document = build_document(tmp_path)
    [section, _] = document.sections
    assert (section.key, section.title) == ("reproduction", "The papers, reproduced")
    assert [part.name for part in section.parts] == ["items.json"]


def test_a_damaged_package_does_not_stop_the_other_verbs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = EntryPoint(name="fail", value="no_such_package:VERB", group="adjudge.verbs")
    shadow = EntryPoint(name="judge", value="no_such_package:VERB", group="adjudge.verbs")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [broken, shadow])
    names = [entry.name for entry in verbs.entries() if entry.name != "reproduce"]
    verbs.of_packages.cache_clear()
    try:
        assert [entry.name for entry in verbs.entries()] == names
        assert capsys.readouterr().err == (
            "fail: No module named 'no_such_package'; repair or remove the package"
            " no_such_package:VERB\n"
        )
    finally:
        verbs.of_packages.cache_clear()
