"""What the documentation shows is run, in order, and the output it shows is what is printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from examples import write_examples
from runner_logs import write_two_runs

from adjudge.cli import run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A program or a test of the repository, in a sentence or a command.
PROGRAM = re.compile(r"\b(?:examples|benchmarks|tests)/[a-z0-9_/]+\.py\b")
#: Exit code 2 is a finding about made-up data, not a broken page.
FINE = {0, 2, 3}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example files, and the judgments that the README begins with."""
    folder = write_examples(tmp_path_factory.mktemp("examples"))
    write_two_runs(folder)
    words = ["--judge", "simulated:accuracy=0.85,noise=0.3", "--store", ":memory:"]
    output = ["-o", str(folder / "judgments.jsonl")]
    assert run(["judge", str(folder / "pairs.jsonl"), *words, *output]) == 0
    return folder


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_runs(
    page: Path,
    examples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # A folder for each page: a report holds the results of its own page, not of all others.
    monkeypatch.chdir(shutil.copytree(examples, tmp_path / "examples"))
    names: dict[str, object] = {}
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)  # noqa: S102
        elif language == "sh":
            for line in text.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == ["export"]:
                    monkeypatch.setenv(words[1].partition("=")[0], "what the page makes at random")
                elif words[:1] == ["adjudge"] and "demo" not in words:
                    code = run(words[1:])
                    assert code in FINE, f"{line}\n{capsys.readouterr().err}"
        elif language == "console":
            for command, shown in shown_output(text):
                capsys.readouterr()
                assert run(shlex.split(command)[1:]) in FINE
                printed = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
                assert [line for line in shown if line not in printed] == [], command


def shown_output(text: str) -> list[tuple[str, list[str]]]:
    """Every command of a console block, with the lines shown below it; dots stand for others."""
    told: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            told.append((line.removeprefix("$ "), []))
        elif line.strip() != "...":
            told[-1][1].append(" ".join(line.split()))
    return told


def test_programs_that_a_page_names_exist() -> None:
    for page in PAGES:
        for name in set(PROGRAM.findall(page.read_text(encoding="utf-8"))):
            assert (ROOT / name).is_file(), f"{page.name} names {name}"


def test_every_section_of_measurements_names_what_makes_its_figures() -> None:
    """A program of the repository or a command; or it is stated that there is none."""
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    sections = re.split(r"^##+ (.*)$", page, flags=re.M)
    assert len(sections) > 40
    for title, text in zip(sections[1::2], sections[2::2], strict=True):
        if text.strip():
            made = PROGRAM.search(text) or "`adjudge " in text
            assert made, f"no program under {title!r}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:\s]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
