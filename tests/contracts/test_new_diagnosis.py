"""A new diagnosis with a table, a picture and a section of the report costs four files.

They are changed here in a copy of the package: its own file, a line of the room's names, a line of
the kinds of results, and an import and two lines of the report of biases. One that is only a part
of the report of biases costs two.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import adjudge

TIES = '''
"""Ties: how often does the judge not decide?"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from adjudge.diagnosis.measures import BiasMeasures, BiasRows, Measure, Sample
from adjudge.present.blocks import Block, Figure, Headline, Table, notes_of
from adjudge.present.figure import ForestRow, forest_figure
from adjudge.present.result import Count, Proportion, Result, frozen
from adjudge.present.text import left_out, percent, show_interval
from adjudge.records import Interval


@frozen
class Ties(Result, BiasMeasures):
    """How often the judge gives one half to each answer."""

    kind: ClassVar[str] = "ties"
    clusters: Count
    share: Proportion
    share_interval: Interval | None

    def measures(self) -> tuple[Measure, ...]:
        return (self.measure("tied verdicts", self.share, self.share_interval),)

    def describe(self) -> str:
        return f"does not decide {percent(self.share)} of pairs"

    def view(self) -> list[Block]:
        finding = BiasMeasures.__str__(self)
        row = ForestRow("ties", self.share, self.share_interval)
        draw = partial(forest_figure, [row], title=finding, axis="ties, %")
        cells = (percent(self.share), show_interval(self.share_interval))
        return [
            Headline(finding),
            Table(("ties", "interval"), [cells]),
            Figure("ties", draw, "Share of ties."),
            *notes_of(left_out(self.dropped)),
        ]


def ties(p_a: ArrayLike, **sampling) -> Ties:
    """How often the judge gives one half."""
    p = np.asarray(p_a, dtype=np.float64)
    rows = Sample.of(len(p), {"no answer": np.isnan(p)}, **sampling)
    tied = (p[rows.used] == 0.5).astype(np.float64)
    share = float(tied.mean())
    return Ties(**rows.facts, share=share, share_interval=rows.share_interval(tied))


def measure_ties(rows: BiasRows) -> Ties:
    return ties(rows.numbers("p_a"), **rows.sampling())
'''
#: What is written before a line of a file, by the beginning of that line.
LINES = {
    "diagnosis/bias.py": {
        "from adjudge.present.blocks": "from adjudge.diagnosis.ties import Ties, measure_ties\n",
        '    "retest": consistency': '    "ties": measure_ties,\n',
        "    not_measured: Mapping": "    ties: Ties | None = None\n",
    },
    "diagnosis/__init__.py": {
        "from adjudge.diagnosis.transitivity": "from adjudge.diagnosis.ties import Ties, ties\n",
    },
    "present/kinds.py": {
        '        "prompt_sensitivity":': '        "ties": "adjudge.diagnosis.ties:Ties",\n',
    },
}
USE = """
import sys
from adjudge.cli import run
from adjudge.data import write_result, write_rows
from adjudge.diagnosis import ties
write_rows([{"id": str(k), "p_a": (0.5, 0.9)[k % 2]} for k in range(40)], "rows.jsonl")
assert run(["diagnose", "bias", "rows.jsonl", "-o", "results/bias.json", "--explain"]) == 0
write_result(ties([0.5, 0.9, 0.1, None]), "results/ties.json")
ties([0.5, 0.9]).plot("ties.svg")
sys.exit(run(["report", "results", "-o", "report.html"]))
"""


def test_a_new_diagnosis_costs_four_files(tmp_path: Path) -> None:
    package = tmp_path / "src" / "adjudge"
    shutil.copytree(Path(adjudge.__file__).parent, package)
    (package / "diagnosis" / "ties.py").write_text(TIES.lstrip())
    for name, added in LINES.items():
        path = package / name
        source = path.read_text()
        for before, line in added.items():
            assert source.count(f"\n{before}") == 1, before
            source = source.replace(f"\n{before}", f"\n{line}{before}")
        path.write_text(source)
    assert len({"diagnosis/ties.py", *LINES}) == 4
    (tmp_path / "results").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": str(package.parent), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # The table, the sentence and the file of `diagnose bias`.
    assert "tied verdicts 0.500" in " ".join(done.stdout.split())
    assert "Does not decide 50 % of pairs" in done.stdout
    assert '"ties": {' in (tmp_path / "results" / "bias.json").read_text()
    # Its own result: a picture, and a part of the report's section with table and picture.
    assert (tmp_path / "ties.svg").stat().st_size > 1000
    page = (tmp_path / "report.html").read_text()
    assert "Does not decide 33.3 % of pairs" in page
    assert "Share of ties." in page
    assert "left out 1 row: no answer" in page


@pytest.mark.parametrize(
    "name",
    ["PositionBias", "LengthBias", "VerbosityBias", "FamilyBias", "Contradictions", "Retest"],
)
def test_the_diagnoses_that_are_there_cost_no_more(name: str) -> None:
    package = Path(adjudge.__file__).parent
    used = re.compile(rf"^(?!\"\"\"|    \"\"\").*(?<![\w.]){name}\b", re.MULTILINE)
    files = {str(path.relative_to(package)) for path in package.rglob("*.py")
             if used.search(path.read_text())}  # fmt: skip
    assert len(files) == 2, files
