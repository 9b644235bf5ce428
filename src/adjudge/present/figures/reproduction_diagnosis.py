"""The diagnosis paper's figures on our data."""

from __future__ import annotations

from pathlib import Path

from adjudge.present.theme import save_figure
from adjudge.present.views import draw, figures_of
from adjudge.results.diagnosis_reproduction import DiagnosisRun


def save_figures(run: DiagnosisRun, folder: str | Path) -> list[Path]:
    """Figures 2 to 6 of the paper on our data, as PNG files in `folder`."""
    folder = Path(folder)
    paths = [save_figure(draw(run.cycles), folder / "cycles.png")]
    for data, result in run.scores.items():
        stem = data.replace(", ", "-").replace(" ", "-").lower()
        paths += [
            save_figure(draw(result, name), folder / f"{stem}-{name}.png")
            for name in figures_of(result)
        ]
    return paths
