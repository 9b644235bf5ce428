"""The demo from end to end with the simulated judge, through the real runner and store."""

from __future__ import annotations

import json
import os
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from adjudge.cli import run
from adjudge.demo import run_demo
from adjudge.demo.chapters import CHAPTERS, describe_missing
from adjudge.demo.run import Demo


@dataclass
class Outcome:
    """A first run by the command, a second by the Python call, in one folder."""

    folder: Path
    first: dict[str, Any]
    second: Demo
    shown: list[object]
    first_summary: dict[str, Any]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """In a folder of its own, as README has it: the files go into demo-out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("demo"))
        folder = Path("demo-out")
        with redirect_stdout(StringIO()) as printed:
            assert run(["demo", "--judge", "simulated", "--json"]) == 0
        summary = json.loads((folder / "judging_likelihood.json").read_text())
        shown: list[object] = []
        again = run_demo(folder, judge="simulated", show=shown.append)
        first = json.loads(printed.getvalue())
        return Outcome(folder.resolve(), first, again, shown, summary)


def test_the_command_prints_one_object_and_keeps_it(demo):
    assert demo.first["kind"] == "demo"
    written = json.loads((demo.folder / "demo.json").read_text())
    assert written.pop("command").startswith("adjudge demo --judge simulated ")
    assert written.pop("digest").startswith("sha256:")
    assert demo.first == written


def test_every_chapter_finds_something_and_its_files_are_there(demo):
    assert [chapter["name"] for chapter in demo.first["chapters"]] == list(CHAPTERS)
    for chapter in demo.first["chapters"]:
        assert chapter["findings"]
        assert chapter["files"]
        assert all((demo.folder.parent / name).is_file() for name in chapter["files"])
    names = {path.name for path in demo.folder.iterdir()}
    assert {"judging.png", "judging.svg", "selection.png", "selection.svg"} <= names
    assert (demo.folder / "judging.png").read_bytes().startswith(b"\x89PNG")


def test_pairs_without_a_number_are_named():
    assert describe_missing("likelihood", {"ok": 20, "censored": 3}) == ""
    assert describe_missing("preference", {"ok": 21, "off_answer": 2, "error": 1}) == (
        "3 of 24 pairs asked by preference have no score and are left out: "
        "2 off_answer (the judge gave neither letter enough probability), 1 error."
    )


def test_it_shows_what_it_says(demo):
    printed = " ".join(" ".join(str(part) for part in demo.shown).split())  # lines are wrapped
    for chapter in demo.second.chapters:
        assert chapter.title in printed
        for finding in chapter.findings:
            assert " ".join(finding.split()) in printed


def test_the_simulated_judge_is_as_good_as_it_was_made(demo):
    check = json.loads((demo.folder / "judge_check.json").read_text())
    preference, likelihood = check["ways"]
    assert likelihood["right"]["pairs"] == 163
    # Made right on 80 %; the band is 4.5 standard errors of 163 pairs.
    assert likelihood["right"]["share"] == pytest.approx(0.8, abs=0.14)
    assert preference["first_won"] > preference["orders"] / 2


def test_a_second_run_asks_nothing_and_says_the_same(demo):
    assert demo.first_summary["calls"] == {"ok": 326}
    findings = [tuple(chapter["findings"]) for chapter in demo.first["chapters"]]
    assert [chapter.findings for chapter in demo.second.chapters] == findings
    for name in ("judging_preference", "judging_likelihood"):
        summary = json.loads((demo.folder / f"{name}.json").read_text())
        assert summary["calls"] == {}
        assert summary["reused"] == summary["subjects"] * 2


def test_the_policy_uses_all_labels_and_is_checked_on_halves_it_never_saw(demo):
    policy = json.loads((demo.folder / "policy.json").read_text())
    evaluation = json.loads((demo.folder / "evaluation.json").read_text())
    assert policy["n_calibration"] == 163
    assert evaluation["splits"] == 1000
    printed = " ".join(" ".join(str(part) for part in demo.shown).split())
    assert f"scope accepts {policy['n_accepted']} verdicts" in printed


def test_without_weights_and_network_it_offers_the_simulated_judge(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert run(["demo", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "could not download" in said
    assert "--judge simulated" in said
    assert not (tmp_path / "out").exists()


def test_without_llama_cpp_it_says_how_to_get_a_demo_and_prints_nothing_else(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(import_module("adjudge.cli.verbs.demo"), "find_spec", lambda name: None)
    assert run(["demo", "--out", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "pip install '.[embedded]'" in printed.err
    assert "adjudge demo --judge simulated" in printed.err
    assert not (tmp_path / "out").exists()


def test_the_leaderboard_counts_its_own_intervals(demo):
    board = json.loads((demo.folder / "leaderboard.json").read_text())
    held_out = [row for row in board["held_out"] if row["method"] == "soft-elo"]
    covered = sum(row["covered"] for row in held_out)
    alone = {row["model"]: row["interval"] for row in board["models"]}
    held = sum(
        alone[row["model"]]["low"] <= row["human_elo"] <= alone[row["model"]]["high"]
        for row in held_out
    )
    (chapter,) = (part for part in demo.first["chapters"] if part["name"] == "ranking")
    assert f"for {covered} of {len(held_out)} writers" in chapter["findings"][0]
    assert f"contain it for {held}:" in chapter["findings"][1]
    assert covered >= 10


def test_terms_are_explained_before_they_are_used(demo):
    printed = " ".join(" ".join(str(part) for part in demo.shown).split())
    assert printed.index("Asked by likelihood: each answer is scored") < printed.index(
        "is right on"
    )
    assert printed.index(
        "scope (on average, not proven), fdr (proven on average), pac (proven for one threshold)"
    ) < printed.index("scope accepts")


def test_terminal_and_report_name_the_same_winner(demo):
    board = json.loads((demo.folder / "leaderboard.json").read_text())
    first = board["models"][0]["model"]
    held_out = [row for row in board["held_out"] if row["method"] == "soft-elo"]
    best = max(held_out, key=lambda row: row["human_elo"])["model"]
    assert first != best  # else the sentence below is not tested
    (chapter,) = (part for part in demo.first["chapters"] if part["name"] == "ranking")
    assert (
        f"{first} has the highest Elo by the judge, as in the report; by votes {best} has."
        in (chapter["findings"])
    )
    assert f"<b>{first} has the highest Elo of 12 models by soft-elo" in (
        demo.folder / "report.html"
    ).read_text(encoding="utf-8")
