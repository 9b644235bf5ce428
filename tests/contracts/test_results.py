"""Every result has a public name, a kind in one style, one view, and prints and compares itself."""

from __future__ import annotations

import pkgutil
import re
import runpy
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

import adjudge
import adjudge_papers
from adjudge.present.kinds import KINDS
from adjudge.present.result import Result

MAKER = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_api.py"))
#: Where the page of public Python names says that each is imported from.
HOMES = MAKER["HOMES"]
SKIPPED = ("adjudge.cli", "adjudge.integrations", "adjudge.__main__", "adjudge_papers.cli")
for package in (adjudge, adjudge_papers):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(SKIPPED):
            with suppress(ImportError):  # a module that needs an extra
                import_module(module.name)


def below(base: type[Result]) -> Iterator[type[Result]]:
    for child in base.__subclasses__():
        # A dataclass with slots is a second class; the first lives until it is collected.
        kept = getattr(sys.modules[child.__module__], child.__qualname__, child)
        if kept is child and child.__module__.startswith(("adjudge.", "adjudge_papers.")):
            yield child
            yield from below(child)


RESULTS = sorted({kind for kind in below(Result) if "kind" in kind.__dict__}, key=lambda c: c.kind)


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.kind)
def test_a_result_is_public_and_has_one_view(result: type[Result]) -> None:
    if not result.__module__.startswith(("adjudge_papers.", "adjudge.cli.")):
        home = import_module(HOMES[result.__name__])
        assert getattr(home, result.__name__) is result
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", result.kind)
    assert KINDS.load(result.kind) is result
    assert result.view is not Result.view
    # The base class's, so that none raises and none is thousands of characters long.
    assert (result.__eq__, result.__hash__, result.__repr__, result.__str__) == (
        Result.__eq__, Result.__hash__, Result.__repr__, Result.__str__,
    )  # fmt: skip


def test_kinds_are_unique_and_plans_and_reproductions_say_so_first() -> None:
    kinds = [result.kind for result in RESULTS]
    assert len(kinds) == len(set(kinds)) > 30
    for word in ("plan", "reproduction"):
        assert all(kind.startswith(f"{word}_") for kind in kinds if word in kind.split("_"))


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.kind)
def test_what_a_result_shows_is_held_by_a_test(result: type[Result]) -> None:
    tests = Path(__file__).parents[1]
    pages = [*(tests / "shown").glob("*.py"), *(tests / "support").glob("shown*.py")]
    made = re.compile(rf"\b{result.__name__}\(")
    assert any(made.search(page.read_text(encoding="utf-8")) for page in pages)
