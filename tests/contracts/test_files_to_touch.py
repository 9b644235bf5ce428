"""The files of the package that a change costs: made in a copy of it, and run there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from adjudge.cli import all_verbs

SRC = Path(__file__).parents[2] / "src"


class Copy:
    """A copy of the package, with its compiled files; `touched` are those changed or added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.touched: set[str] = set()
        shutil.copytree(SRC, folder / "src")

    def add(self, name: str, text: str) -> None:
        path = self.folder / "src/adjudge" / name
        assert not path.exists()
        path.write_text(text)
        self.touched.add(name)

    def insert(self, name: str, after: str, line: str) -> None:
        """Insert a line after the only one that is `after`."""
        path = self.folder / "src/adjudge" / name
        lines = path.read_text().splitlines(keepends=True)
        [place] = [number for number, text in enumerate(lines, 1) if text.strip() == after]
        indent = lines[place - 1][: -len(lines[place - 1].lstrip())]
        lines.insert(place, f"{indent}{line}\n")
        path.write_text("".join(lines))
        self.touched.add(name)

    def run(self, *arguments: str, code: int = 0) -> str:
        return self._python("-m", "adjudge", *arguments, code=code)

    def help_of(self, verbs: Sequence[str]) -> Sequence[str]:
        """What `--help-all` of each verb prints, from one process."""
        program = """if True:
            import contextlib, io, json, sys
            from adjudge.cli import run

            pages = []
            for verb in sys.argv[1:]:
                with contextlib.redirect_stdout(io.StringIO()) as page:
                    assert run([*verb.split(), "--help-all"]) == 0
                pages.append(page.getvalue())
            print(json.dumps(pages))
        """
        pages: list[str] = json.loads(self._python("-c", program, *verbs))
        return pages

    def _python(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src"), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == code, done.stderr
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_an_estimator_costs_two(copy: Copy) -> None:
    copy.add(
        "estimation/estimators/midway.py",
        """from adjudge.estimation.estimators.alone import HUMAN_ONLY, NAIVE
from adjudge.estimation.estimators.base import Estimator, with_interval


class _Midway(Estimator):
    name = "midway"
    title = "midway rate"
    assumption = "the judge is as far off as people"

    def compute(self, sample, *, confidence_level):
        alone = (NAIVE, HUMAN_ONLY)
        both = [one.compute(sample, confidence_level=confidence_level) for one in alone]
        mean = sum(outcome.estimate for outcome in both) / 2
        return with_interval(mean, mean, 0.1, 0.05)


MIDWAY = _Midway()
""",
    )
    copy.insert(
        "estimation/estimators/__init__.py",
        '"naive": Builtin(f"{_HOME}.alone:NAIVE"),',
        '"midway": Builtin(f"{_HOME}.midway:MIDWAY"),',
    )
    rows = [
        "id,judge,human",
        *(f"{i},{int(i % 5 > 0)},{i % 2 if i < 40 else ''}" for i in range(80)),
    ]
    (copy.folder / "grades.csv").write_text("\n".join(rows))
    shown = copy.run("estimate", "grades.csv", "--labels-are-random", "--method", "midway")
    assert "midway rate 0.650" in " ".join(shown.lower().split())
    assert len(copy.touched) == 2


def test_a_protocol_on_an_existing_record_costs_two(copy: Copy) -> None:
    copy.add(
        "judges/protocols/strict.py",
        """from adjudge.judges.protocols.grade import GradeProtocol


class Strict(GradeProtocol):
    name = "strict"
""",
    )
    copy.insert(
        "judges/judge.py",
        '"grade": Builtin(_PROTOCOLS + "grade:GradeProtocol"),',
        '"strict": Builtin(_PROTOCOLS + "strict:Strict"),',
    )
    (copy.folder / "items.csv").write_text("id,prompt,response\n1,2+2?,4\n2,3+3?,7\n")
    copy.run("judge", "items.csv", "--judge", "simulated:", "--protocol", "strict", "-o", "g.jsonl")
    rows = [json.loads(line) for line in (copy.folder / "g.jsonl").read_text().splitlines()]
    assert [row["protocol"] for row in rows] == ["strict", "strict"]
    assert len(copy.touched) == 2


def test_a_log_format_costs_two(copy: Copy) -> None:
    copy.add(
        "data/logs/desk.py",
        """from adjudge.data.formats import Format, signature


def grades(row):
    yield {"id": row.text("ticket"), "judge": row.get("robot_ok"), "human": row.get("boss_ok")}


DESK = Format(
    name="desk",
    title="a help desk log",
    signature=signature("ticket robot_ok boss_ok"),
    gives={"grades": grades},
    log=True,
)
""",
    )
    copy.insert(
        "data/formats.py",
        '("logs.inspect", "inspect"),',
        '("logs.desk", "desk"),',
    )
    tickets = [
        {
            "ticket": f"t{i}",
            "robot_ok": int(i % 4 > 0),
            "boss_ok": int(i % 3 > 0) if i < 60 else None,
        }
        for i in range(90)
    ]
    (copy.folder / "log.jsonl").write_text("\n".join(map(json.dumps, tickets)))
    shown = json.loads(copy.run("estimate", "log.jsonl", "--labels-are-random", "--json"))
    assert (shown["n_test"], shown["n_calibration_positive"]) == (30, 40)
    assert len(copy.touched) == 2


def test_a_verb_costs_one(copy: Copy) -> None:
    copy.add(
        "cli/verbs/spread.py",
        """'''`adjudge spread`: how much the judge's marks differ.'''

from dataclasses import dataclass
from pathlib import Path

from adjudge.cli.steps import save_as
from adjudge.cli.verb import Option, Verb, bad_if
from adjudge.present.blocks import Headline
from adjudge.present.result import Result


@dataclass(frozen=True, kw_only=True)
class Spread(Result):
    kind = "spread"

    range: float
    wide: bool

    def view(self):
        return [Headline(f"the marks differ by {self.range:g}")]


def measure_spread(rows: Path, *, widest: float = 1.0) -> Spread:
    '''Measure the spread of a judge's marks.

    Args:
        rows: A file with a column `mark`.
        widest: A wider spread is a bad finding.
    '''
    from adjudge.data.tables import read_table

    marks = read_table(rows)["mark"].cast(float)
    width = marks.max() - marks.min()
    return Spread(range=width, wide=width > widest)


COMMAND = Verb(
    "spread",
    "adjudge.cli.verbs.spread:measure_spread",
    "Measure how much the judge's marks differ.",
    "spread marks.csv",
    options=[Option("widest", short="-w")],
    bad=bad_if("wide"),
    step=save_as("spread.json"),
    panel="Is the judge good",
    place=0,
)
""",
    )
    (copy.folder / "marks.csv").write_text("mark\n1\n3\n2.5\n")
    titled = copy.run("--help").partition("Is the judge good:\n")[2]
    assert titled.split()[:2] == ["spread", "Measure"]
    assert "-w, --widest <float>" in copy.run("spread", "--help")
    shown = copy.run("spread", "marks.csv", "-w", "3").splitlines()
    assert shown == ["the marks differ by 2", "next: adjudge spread marks.csv -w 3 -o spread.json"]
    assert json.loads(copy.run("spread", "marks.csv", "--json", code=2))["range"] == 2.0
    assert copy.touched == {"cli/verbs/spread.py"}


def test_an_option_of_all_reading_verbs_costs_two(copy: Copy) -> None:
    # `judge` asks about its rows and has its options in one list, which is the second file.
    copy.insert("data/source.py", "labels_as: Mapping[str, str] | None", "skip_rows: int | None")
    copy.insert(
        "judges/options.py",
        "labels_as: Mapping[str, str] | None = None",
        "skip_rows: int | None = None",
    )
    reading = [
        name
        for name, verb in all_verbs().items()
        if {"column", "labels_as"} <= verb.parameters.keys() and not name.startswith("reproduce")
    ]
    assert len(reading) >= 14
    for name, page in zip(reading, copy.help_of(reading), strict=True):
        assert "--skip-rows" in page, name
    assert len(copy.touched) == 2
