"""Tables keep foreign text harmless; pictures are saved whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl
import pytest
from rich.console import Console

from adjudge._text import safe
from adjudge.errors import ArgumentError
from adjudge.present.render.terminal import rich_table
from adjudge.present.theme import new_figure, save_figure, themed

HOSTILE = "\x1b[31mred\x1b[0m [bold]not bold[/bold] \x07\r\u202eabc"


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=200, force_terminal=True, color_system=None)
    console.print(rich_table(["id", "n"], [(HOSTILE, 1)], title=HOSTILE))
    shown = screen.getvalue()
    assert "[bold]not bold[/bold]" in shown
    assert "\\x1b[31mred" in shown
    for code in ("\x1b[31m", "\x07", "\r", "\u202e"):
        assert code not in shown


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
