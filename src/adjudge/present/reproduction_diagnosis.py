"""The diagnosis paper's tables beside ours, and its figures on our data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.present.diagnosis import cycles_figure
from adjudge.present.diagnosis_scores import score_figure
from adjudge.present.tables import number, percent, table
from adjudge.present.theme import save_figure

if TYPE_CHECKING:
    from rich.console import RenderableType

    from adjudge.results.diagnosis_reproduction import (
        DiagnosisReproduction,
        DiagnosisRun,
        WidthSignal,
    )


def reproduction_view(done: DiagnosisReproduction) -> list[RenderableType]:
    """Tables 1 and 3 to 6, published beside ours, then what follows from them."""
    cycles = table(
        ["judge, criterion", "rate", "ours", "docs hit", "ours", "by chance", "max", "ours"],
        (
            (
                f"{c.judge}, {c.criterion}",
                percent(c.published_rate, 1),
                percent(c.rate, 1),
                percent(c.published_share),
                percent(c.share),
                percent(c.chance_share),
                percent(c.published_max, 1),
                percent(c.max, 1),
            )
            for c in done.cycles
        ),
        title="Tables 1 and 6: published, and a simulated judge tuned to the published rate",
    )
    published = _sets(
        "Table 5 as published: covered and mean size",
        [
            (f"{s.judge}, {s.criterion}", s.alpha, s.coverage, s.mean_size)
            for s in done.published_sets
        ],
    )
    parts: list[RenderableType] = [cycles, published]
    for data in dict.fromkeys(s.data for s in done.sets):
        for method in dict.fromkeys(s.method for s in done.sets if s.data == data):
            if method == "constant" or (method == "adaptive" and data.endswith("rows")):
                continue
            own = [s for s in done.sets if s.data == data and s.method == method]
            parts.append(
                _sets(
                    f"{data}: {method} sets, weighing {own[0].weigh}",
                    [(f"{s.judge}, {s.criterion}", s.alpha, s.coverage, s.mean_size) for s in own],
                )
            )
    error = {(s.data, s.method, s.criterion): s.error for s in _signals(done)}
    agreement = {(s.data, s.method, s.criterion): s.agreement for s in _signals(done)}
    parts.append(_by_criterion("Table 3, alpha 0.1: width against error, mean of judges", error))
    parts.append(_by_criterion("Table 4, alpha 0.1: two judges' widths, mean of pairs", agreement))
    return [*parts, "\n".join(done.lines())]


def _signals(done: DiagnosisReproduction) -> tuple[WidthSignal, ...]:
    return (*done.published_signals, *done.signals)


def _by_criterion(title: str, cells: dict[tuple[str, str, str], float | None]) -> RenderableType:
    """Spearman correlations: a line for the paper and each data set, a column per criterion."""
    criteria = list(dict.fromkeys(criterion for _, _, criterion in cells))
    lines = dict.fromkeys((data, method) for data, method, _ in cells)
    return table(
        ["Spearman", *criteria],
        (
            (
                data if data == "paper" else f"{data}, {method}",
                *(_signed(cells.get((data, method, criterion))) for criterion in criteria),
            )
            for data, method in lines
            if any(cells.get((data, method, criterion)) is not None for criterion in criteria)
        ),
        title=title,
    )


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"


def _sets(title: str, cells: list[tuple[str, float, float, float]]) -> RenderableType:
    levels = sorted({alpha for _, alpha, _, _ in cells})
    rows: dict[str, dict[float, str]] = {}
    for name, alpha, coverage, size in cells:
        rows.setdefault(name, {})[alpha] = f"{percent(coverage, 1)} {number(size, 2)}"
    return table(
        ["judge, criterion", *(f"alpha {level:g}" for level in levels)],
        ((name, *(own.get(level, "–") for level in levels)) for name, own in rows.items()),
        title=title,
    )


def reproduction_figures(run: DiagnosisRun, folder: str | Path) -> list[Path]:
    """Figures 2 to 6 of the paper on our data, as PNG files in `folder`."""
    folder = Path(folder)
    made = [save_figure(cycles_figure(run.cycles), folder / "cycles.png")]
    for data, found in run.scores.items():
        stem = data.replace(", ", "-").replace(" ", "-").lower()
        judges = {group.judge for group in found.groups}
        names = ["sizes", "width", "coverage", *(["agreement"] if len(judges) > 1 else [])]
        made += [save_figure(score_figure(found, n), folder / f"{stem}-{n}.png") for n in names]
    return made
