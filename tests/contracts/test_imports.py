"""Data flows one way: a room imports only from rooms above it, and never sideways."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjudge

SOURCE = Path(adjudge.__file__).parent
ANALYSES = frozenset({"selection", "estimation", "diagnosis", "ranking", "monitoring"})

#: Floors of the house, top first. A room may import from its own room and from floors above.
FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"errors"}),
    frozenset({"records", "validation", "plugins", "atomic", "hashing"}),
    frozenset({"statistics"}),
    frozenset({"present"}),
    frozenset({"images"}),
    frozenset({"simulate", "data"}),
    frozenset({"rendering"}),
    frozenset({"store"}),
    frozenset({"judges"}),
    frozenset({"policy"}),
    ANALYSES,
    frozenset({"auditing", "alignment", "evaluation"}),
    frozenset({"gating"}),
    frozenset({"report"}),
    frozenset({"demo"}),
    frozenset({"server"}),
    frozenset({"integrations"}),
    frozenset({"cli"}),
)
FLOOR_OF = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
DOORS = {"__init__", "__main__"}


def imported_rooms(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every room that is imported, at the top or in a function, and the line."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import on line {node.lineno}"
            if node.module == "adjudge":
                names = [f"adjudge.{alias.name}" for alias in node.names]
            else:
                names = [node.module or ""]
        for name in names:
            parts = name.split(".")
            if parts[0] == "adjudge" and len(parts) > 1 and parts[1] != "__version__":
                yield parts[1], node.lineno


def wrong_imports(name: str, source: str) -> list[str]:
    """What is wrong with the imports of a file, given its path under src/adjudge."""
    room = name.removesuffix(".py").split("/")[0]
    wrong = []
    for other, line in imported_rooms(ast.parse(source)):
        if room in DOORS or other == room:
            continue
        if FLOOR_OF[other] > FLOOR_OF[room]:
            wrong.append(f"{name}:{line} imports {other} from a floor below")
        elif room in ANALYSES and other in ANALYSES:
            wrong.append(f"{name}:{line} imports {other}, another analysis")
    return wrong


MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def test_every_room_has_a_floor() -> None:
    rooms = {name.removesuffix(".py").split("/")[0] for name in MODULES} - DOORS
    assert rooms - FLOOR_OF.keys() == set()


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_upwards(name: str) -> None:
    assert wrong_imports(name, (SOURCE / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", MODULES)
def test_adjudge_does_not_know_the_papers(name: str) -> None:
    assert "adjudge_papers" not in (SOURCE / name).read_text(encoding="utf-8")


LAZY = "def show():\n    from adjudge.report import write_report\n"


@pytest.mark.parametrize(
    ("name", "source", "wrong"),
    [
        ("data/labels.py", "import adjudge.statistics", []),
        ("data/labels.py", "from adjudge.selection import policy", ["from a floor below"]),
        ("data/pairs.py", "from adjudge import judges", ["from a floor below"]),
        ("ranking/rank.py", "from adjudge.data.labels import join", []),
        ("ranking/rank.py", "from adjudge.estimation import estimate", ["another analysis"]),
        ("ranking/rank.py", LAZY, ["from a floor below"]),
        ("monitoring/checking.py", "from adjudge.selection import policy", ["another analysis"]),
        ("auditing.py", "from adjudge.selection import policy", []),
        ("evaluation/rows.py", "from adjudge.diagnosis import agreement", []),
        ("evaluation/rows.py", "from adjudge.report import write_report", ["from a floor below"]),
        ("gating/gate.py", "from adjudge.evaluation import evaluate", []),
        ("evaluation/rows.py", "from adjudge.gating import gate", ["from a floor below"]),
        ("present/result.py", LAZY, ["from a floor below"]),
        ("ranking/rank.py", "from adjudge.present.blocks import Block", []),
    ],
)
def test_the_rule_itself(name: str, source: str, wrong: list[str]) -> None:
    messages = wrong_imports(name, source)
    assert len(messages) == len(wrong)
    assert all(words in message for words, message in zip(wrong, messages, strict=True))


def test_judges_know_nothing_of_what_is_learned() -> None:
    """A stop rule comes to the runner as a function: judges/ asks, and others doubt."""
    learned = re.compile(r"adjudge\.(selection|policy|statistics\.ridge)|Learned|\bCascade\b")
    for name in MODULES:
        if name.startswith("judges/"):
            source = (SOURCE / name).read_text(encoding="utf-8")
            imports = [line for line in source.splitlines() if re.match(r"\s*(from|import) ", line)]
            assert [line for line in imports if learned.search(line)] == [], name


def test_a_judge_of_transformers_needs_torch_transformers_and_numpy_alone() -> None:
    """A machine that runs only a model has no other library; images also need Pillow."""
    light = {"torch", "transformers", "numpy", "tokenizers", "safetensors", "huggingface_hub"}
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[^\w-]", line, maxsplit=1)[0] for line in project["dependencies"]}
    missing = sorted({name.replace("-", "_") for name in names} - light)
    assert {"polars", "pydantic", "scipy"} <= set(missing)
    program = (
        "import sys\n"
        f"sys.modules |= dict.fromkeys({missing!r} + ['annotated_types', 'pydantic_core'])\n"
        "import adjudge.judges.backends.transformers, adjudge.images\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
