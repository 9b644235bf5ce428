"""The skill for coding agents and llms.txt are what the program says; every command in it runs."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from examples import write_examples

from adjudge.cli import all_verbs, run
from adjudge.present.schema import schema_kinds

ROOT = Path(__file__).parents[2]
MAKER = runpy.run_path(str(ROOT / "docs" / "make_skill.py"))
SKILL = MAKER["SKILL"].read_text(encoding="utf-8")
VERBS = "|".join(sorted({verb.split()[0] for verb in all_verbs()}))
#: Questions that `start` does not ask.
ONLY_HERE = ("How often do k runs of a question pass?",)
COMMAND = re.compile(rf"`(?:adjudge )?((?:{VERBS})(?: [^`]*)?)`")


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_examples(tmp_path_factory.mktemp("examples"))
    judge = ["--judge", "simulated:accuracy=0.85,noise=0.3", "--store", ":memory:"]
    assert run(["judge", f"{folder}/pairs.jsonl", *judge, "-o", f"{folder}/judgments.jsonl"]) == 0
    return folder


def test_skill_and_llms_are_up_to_date() -> None:
    assert MAKER["render_skill"]() == SKILL, "run: make docs"
    assert MAKER["render_llms"]() == MAKER["LLMS"].read_text(encoding="utf-8"), "run: make docs"


def test_the_skill_has_the_form_that_agents_read() -> None:
    _, front, body = SKILL.split("---\n", 2)
    assert re.search(r"^name: adjudge$", front, re.MULTILINE)
    assert MAKER["SKILL"].parent.name == "adjudge"
    described = front.partition("description: >-")[2].partition("license:")[0]
    assert 100 < len(" ".join(described.split())) <= 1024
    assert len(body.split()) < 1500
    assert max(map(len, body.split("## Verbs")[0].splitlines())) < 200


@pytest.mark.parametrize(("question", "command", "fields"), MAKER["QUESTIONS"])
def test_a_question_has_a_command_that_runs_and_fields_that_are_there(
    question: str,
    command: str,
    fields: str,
    examples: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(examples)
    capsys.readouterr()
    words = shlex.split(command)[1:]
    file = next(word for word in words if (examples / word).exists())
    assert run(["start", file, "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert question in [*(answer["question"] for answer in answers), *ONLY_HERE]
    assert run([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    named = re.findall(r"`([\w\[\].]+)`", fields)
    assert named
    inside = [field.split("[].")[0] for field in named if "[]." in field]
    places = [result, *(part for name in inside for part in result[name])]
    for field in named:
        last = field.rpartition(".")[2]
        assert any(last in _names(place) for place in places), field


def _names(value: Any) -> set[str]:
    return set(value) if isinstance(value, dict) else set()


def test_every_command_that_the_skill_names_exists() -> None:
    named = COMMAND.findall(SKILL)
    assert len(named) > 30
    for command in named:
        words = [word for word in shlex.split(command) if re.fullmatch(r"[a-z-]+", word)]
        verb = next((v for v in (" ".join(words[:2]), words[0]) if v in all_verbs()), None)
        group = any(v.startswith(f"{words[0]} ") for v in all_verbs())
        assert verb or group, command
        flags = re.findall(r"--[a-z-]+", command)
        taken = {option.flag for option in all_verbs()[verb].parameters.values()} if verb else set()
        assert {*flags} <= {*taken, "--json", "--help"}, command


def test_schemas_are_written_for_the_site(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "docs" / "make_schemas.py"), str(tmp_path / "schemas")]
    subprocess.run(program, check=True)
    assert {path.stem for path in (tmp_path / "schemas").iterdir()} == {*schema_kinds()}
