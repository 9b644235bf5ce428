"""`progress=True`: one line per judge that is replaced, in a cell or on a terminal."""

from __future__ import annotations

import asyncio
import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from adjudge.judges import judge_pairs
from adjudge.simulate.pairs import simulate_pairs

JUDGES = ["simulated:accuracy=0.9", "simulated:accuracy=0.8"]


class Cell:
    """The outputs of a notebook's cell: each is shown once, and replaced from then on."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, str]] = []

    def display(self, shown: dict[str, str], *, raw: bool, display_id: bool) -> SimpleNamespace:
        assert raw
        assert display_id
        at = len(self.outputs)
        self.outputs.append(shown)
        return SimpleNamespace(update=lambda new, *, raw: self.outputs.__setitem__(at, new))


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """IPython is not installed here: this stands in for the two names of it that are used."""
    shown = Cell()
    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    ipython.display = ModuleType("IPython.display")
    ipython.display.display = shown.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    return shown


def test_a_cell_has_one_output_per_judge_while_a_loop_runs(
    cell: Cell, capsys: pytest.CaptureFixture[str]
) -> None:
    async def cell_code() -> None:
        judge_pairs(simulate_pairs(40, seed=1), judge=JUDGES, store=None, progress=True)

    asyncio.run(cell_code())
    assert [output["text/plain"].split(" rows")[0] for output in cell.outputs] == [
        "simulated:accuracy=0.9,position_bias=0,noise=0,seed=0: 40/40",
        "simulated:accuracy=0.8,position_bias=0,noise=0,seed=0: 40/40",
    ]
    assert cell.outputs[0]["text/html"].startswith(
        '<div><progress value="80" max="80"></progress> simulated:'
    )
    assert capsys.readouterr() == ("", "")


def test_a_terminal_has_one_line_and_a_log_none_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal in (True, False):
        stream = io.StringIO()
        stream.isatty = lambda terminal=terminal: terminal  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stderr", stream)
        judge_pairs(simulate_pairs(40, seed=1), judge=JUDGES[0], store=None, progress=True)
        *_, last = stream.getvalue().split("\r")
        assert (" 40/40 rows · " in last, last[-1:] == "\n") == (terminal, terminal)
        assert stream.getvalue().count("\n") == int(terminal)
