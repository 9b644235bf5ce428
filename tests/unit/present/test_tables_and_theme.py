"""Tables keep foreign text harmless; pictures are saved whole or not at all."""

from __future__ import annotations

import io
from importlib import resources
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from rich.console import Console

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Table
from adjudge.present.figure import SERIES, new_figure, save_figure, themed
from adjudge.present.render.terminal import TerminalTable
from adjudge.present.text import clip_names, safe
from adjudge.validation import FloatArray

HOSTILE = "\x1b[31mred\x1b[0m [bold]not bold[/bold] \x07\r\u202eabc"

_SEES = {
    "all colours": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=200, force_terminal=True, color_system=None)
    console.print(TerminalTable(Table(["id", "n"], [(HOSTILE, "1")], HOSTILE)))
    shown = screen.getvalue()
    assert "[bold]not bold[/bold]" in shown
    assert "\\x1b[31mred" in shown
    for code in ("\x1b[31m", "\x07", "\r", "\u202e"):
        assert code not in shown


def printed(table: Table, width: int) -> str:
    screen = io.StringIO()
    Console(file=screen, width=width).print(TerminalTable(table))
    return screen.getvalue()


def test_a_name_too_wide_for_its_column_is_shortened_in_the_middle() -> None:
    names = [f"router:an-organisation/{size}b-instruct-2026-07-18-preview" for size in (8, 70)]
    rows = [(f"{name}, English", "first slot", *("[0.1, 0.2]",) * 2) for name in names]
    table = Table(["judge", "measure", "low", "high"], rows, text_columns=2)
    shown = printed(table, 60)
    assert "…8b-" in shown
    assert "…70b-" in shown
    assert shown.count("-preview, ") == shown.count("English") == 2  # no word is broken
    assert shown.count("[0.1, 0.2]") == 4
    assert all(name in printed(table, 200) for name in names)


ENDS = "[-0.009, 0.175]"
WIDE = Table(
    ("judge", "95 % interval", "interval of people alone", "test rows"),
    [("a judge with a long name", ENDS, ENDS, "1,200")],
    caption="A caption that is wider than the table below it can be",
    optional=("test rows", "interval of people alone"),
)


@pytest.mark.parametrize("width", [24, 34, 40, 50, 60, 80, 120])
def test_a_number_is_never_broken(width: int) -> None:
    lines = printed(WIDE, width).splitlines()
    assert max(map(len, lines)) <= width
    assert any(ENDS in line for line in lines)


def test_a_narrow_table_leaves_out_columns_and_then_becomes_a_list() -> None:
    assert "left out at this width" not in printed(WIDE, 80)
    assert "left out at this width: test rows (see --json" in printed(WIDE, 50)
    assert [line.rstrip() for line in printed(WIDE, 24).splitlines()[4:]] == [
        "judge:",
        "  a judge with a long",
        "  name",
        "95 % interval:",
        f"  {ENDS}",
        "interval of people",
        "alone:",
        f"  {ENDS}",
        "test rows: 1,200",
    ]


def test_names_that_would_look_alike_lose_what_they_share() -> None:
    start = "router:an-organisation/"
    long = [f"{start}{name}-instruct-2026-07-18-preview" for name in ("gemma", "llama-8b", "llama")]
    assert clip_names(["gpt", *long], 16) == [
        *("gpt", "…gemma-i…preview", "…llama-8…preview", "…llama-i…preview"),
    ]
    assert clip_names(["a" * 40, "a" * 60], 20) == ["…" + "a" * 10, "…aaaaaaaaa…aaaaaaaaa"]
    assert clip_names([]) == []


@pytest.mark.parametrize("sees", list(_SEES))
def test_series_are_distinct_for_colour_blind_readers(sees: str) -> None:
    """Machado, Oliveira and Fernandes (2009): what a dichromat sees; distances in CIELAB."""
    shades = [_lab(np.array(_SEES[sees]) @ _linear(colour)) for colour in SERIES]
    least = min(float(np.linalg.norm(a - b)) for a, b in combinations(shades, 2))
    assert least > 14  # 2 is just seen


def _linear(colour: str) -> FloatArray:
    value = np.array(to_rgb(colour))
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def _lab(linear: FloatArray) -> FloatArray:
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ np.clip(linear, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_the_page_has_the_colours_of_the_pictures() -> None:
    style = (resources.files("adjudge.present.render") / "report.css").read_text()
    light = style.split("@media")[0]
    for at, colour in enumerate(SERIES):
        assert f"--series-{at}: {colour};" in light


def test_ordinary_text_stays_as_it_is() -> None:
    assert safe("naïve – 日本語\ttab\nline") == "naïve – 日本語\ttab\nline"


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_a_picture_is_saved_and_repeats(tmp_path: Path, suffix: str) -> None:
    before = dict(mpl.rcParams)
    paths = []
    for name in ("one", "two"):
        with themed():
            figure = new_figure()
            figure.subplots().plot([0, 1], [0, 1])
        paths.append(save_figure(figure, tmp_path / "pictures" / f"{name}{suffix}"))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(p.name for p in paths[0].parent.iterdir()) == [f"one{suffix}", f"two{suffix}"]
    assert dict(mpl.rcParams) == before


def test_an_unknown_picture_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"\.png, \.svg or \.pdf"):
        save_figure(new_figure(), tmp_path / "picture.bmp")


def test_a_name_in_another_script_draws_without_a_warning(tmp_path: Path) -> None:
    figure = new_figure()
    figure.add_subplot().set_title("日本語 😀")
    assert save_figure(figure, tmp_path / "x.png").is_file()


def test_dollars_in_a_name_are_not_read_as_a_formula(tmp_path: Path) -> None:
    with themed():
        figure = new_figure()
        axes = figure.add_subplot()
        axes.set_title("$5 to $10")
        axes.set_yticks([0], ["$_$"])
        axes.plot([0], [0], label="$^$")
        axes.legend()
    assert save_figure(figure, tmp_path / "x.svg").is_file()
    assert "$5 to $10" in (tmp_path / "x.svg").read_text()
