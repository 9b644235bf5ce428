"""What pictures of several rooms share: a panel for each criterion, coloured cells, bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from adjudge.present.figures.diagnosis import axis_name
from adjudge.present.theme import INK, ON_TINT, new_figure
from adjudge.validation import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from matplotlib.image import AxesImage

SMALL_TO_LARGE = ("#9ab7d9", "#f7f3ea", "#eda383")
CENTRED: dict[str, Any] = {"ha": "center", "va": "center"}


def criterion_panels(criteria: Sequence[str | None]) -> tuple[Drawing, Sequence[Axes]]:
    """A figure with a panel for each criterion."""
    figure = new_figure(max(6.0, 2.6 * len(criteria)), 3.7)
    panels: Sequence[Axes] = figure.subplots(1, len(criteria), sharey=True, squeeze=False)[0]
    for axes, criterion in zip(panels, criteria, strict=True):
        axes.set_title(axis_name(criterion), fontsize=10)
    return figure, panels


def draw_cells(
    axes: Axes,
    grid: FloatArray,
    colours: Sequence[str],
    ends: tuple[float, float],
    aspect: Literal["equal", "auto"] = "equal",
) -> AxesImage:
    """Coloured cells, without the lines around and between them."""
    from matplotlib.colors import LinearSegmentedColormap

    colour_map = LinearSegmentedColormap.from_list("cells", list(colours))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    low, high = ends
    return axes.imshow(grid, cmap=colour_map, vmin=low, vmax=high, aspect=aspect)


def write_cell(axes: Axes, column: int, row: int, value: str, note: str, *, bold: bool) -> None:
    """A value in the middle of a coloured cell, a note below it; `bold` for a note that warns."""
    size = 11 if len(value) < 8 else 8.5
    weight = "bold" if bold else "normal"
    for text, up, style in (
        (value, 6, {"size": size}),
        (note, -9, {"size": 7.5, "weight": weight}),
    ):
        axes.annotate(text, (column, row), xytext=(0, up), textcoords="offset points",
                      color=ON_TINT, **style, **CENTRED)  # fmt: skip


def draw_promise(axes: Axes, levels: Sequence[float]) -> None:
    """The dashed line 1 - alpha, over the levels on the axis."""
    axes.plot(levels, [100 * (1 - level) for level in levels], color=INK, linestyle="--", lw=1.3)
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.set_xlabel("alpha")


def plot_band(
    axes: Axes, x: Sequence[float], each: FloatArray, colour: str, label: str, mark: str = "o"
) -> None:
    """The mean over judges (rows of `each`), a standard deviation to either side."""
    mean = np.nanmean(each, axis=0)
    spread = np.nanstd(each, axis=0, ddof=1) if len(each) > 1 else np.zeros(len(mean))
    axes.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.16, lw=0)
    axes.plot(x, mean, mark, linestyle="-", color=colour, label=label)
