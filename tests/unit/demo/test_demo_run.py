"""The demo from end to end with the simulated judge, through the real runner and store."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adjudge.cli import run
from adjudge.demo import run_demo
from adjudge.demo.chapters import CHAPTERS
from adjudge.errors import BackendMissingError


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    shown: list[object] = []
    return run_demo(folder, judge="simulated", show=shown.append), folder, shown


def test_every_chapter_finds_something_and_its_files_are_there(told):
    demo, folder, _ = told
    assert [chapter.name for chapter in demo.chapters] == list(CHAPTERS)
    for chapter in demo.chapters:
        assert chapter.findings
        assert chapter.files
        assert all(Path(name).is_file() for name in chapter.files)
    assert {"judging.png", "judging.svg"} <= {path.name for path in folder.iterdir()}
    assert (folder / "judging.png").read_bytes().startswith(b"\x89PNG")


def test_it_shows_what_it_says(told):
    demo, _, shown = told
    printed = "\n".join(str(part) for part in shown)
    for chapter in demo.chapters:
        assert chapter.title in printed
        for finding in chapter.findings:
            assert finding in printed


def test_the_simulated_judge_is_as_good_as_it_was_made(told):
    _, folder, _ = told
    check = json.loads((folder / "judge_check.json").read_text())
    preference, likelihood = check["asked"]
    assert likelihood["right"]["pairs"] == 163
    # Made right on 80 %; the band is 4.5 standard errors of 163 pairs.
    assert likelihood["right"]["share"] == pytest.approx(0.8, abs=0.14)
    assert preference["first_won"] > preference["orders"] / 2


def test_a_second_run_asks_nothing_and_says_the_same(told):
    demo, folder, _ = told
    again = run_demo(folder, judge="simulated")
    assert [chapter.findings for chapter in again.chapters] == [
        chapter.findings for chapter in demo.chapters
    ]
    for name in ("judging_preference", "judging_likelihood"):
        summary = json.loads((folder / f"{name}.json").read_text())
        assert summary["calls"] == {}
        assert summary["reused"] == summary["subjects"] * 2


def test_the_command_prints_one_object(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["demo", "--judge", "simulated", "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["kind"] == "demo"
    assert printed == json.loads((out / "demo.json").read_text())


def test_without_weights_and_network_it_offers_the_simulated_judge(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert run(["demo", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "could not download" in said
    assert "--judge simulated" in said
    assert not (tmp_path / "out").exists()
    with pytest.raises(BackendMissingError):
        run_demo(tmp_path / "out")
