"""The Soft-Elo paper's tables, published beside reproduced."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import RenderableType

from adjudge.present.tables import number, percent, table
from adjudge.present.theme import ACCENT, INK, MUTED, WARM, new_figure, save_figure, themed
from adjudge.results.ranking_reproduction import (
    FamilyResiduals,
    SoftEloReproduction,
    SoftEloRow,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reproduction_view(result: SoftEloReproduction) -> list[RenderableType]:
    """Tables for the terminal, the paper's figures below ours."""
    settings = (
        f"l2 {result.l2:g}, {result.splits} splits, {result.replicates} resamples, "
        f"seed {result.seed}"
    )
    parts: list[RenderableType] = [
        _errors(result, settings),
        _intervals(result),
        _smoothing(result),
        _quarters(result),
    ]
    if any(row.hard_family is not None for row in result.rows):
        parts.append(_families(result))
    if result.languages:
        parts.append(_languages(result))
    for row in result.rows:
        parts += [f"warning, {row.judge}, {row.corpus}: {text}" for text in row.warnings]
    return [*parts, *(f"note: {text}" for text in result.notes)]


def _table(
    title: str, columns: tuple[str, ...], rows: list[tuple[str, list[str], list[str]]]
) -> RenderableType:
    """Two lines a row, ours and the paper's; the second only where the paper has a figure."""
    lines = []
    for name, ours, theirs in rows:
        lines.append((name, *ours))
        if any(cell != "–" for cell in theirs):
            lines.append(("  paper", *theirs))
    return table(columns, lines, title=title)


def _corpus_rows(result: SoftEloReproduction) -> list[tuple[str, SoftEloRow]]:
    several = len({row.corpus for row in result.rows}) > 1
    return [
        (f"{row.judge}, {row.corpus.removeprefix('lmarena')}" if several else row.judge, row)
        for row in result.rows
    ]


def _errors(result: SoftEloReproduction, settings: str) -> RenderableType:
    rows = [
        (
            name,
            [
                number(row.mean_score, 2),
                number(row.kappa),
                number(row.beta, 2),
                number(row.hard_mae, 1),
                number(row.soft_mae, 1),
                number(row.hard_spearman),
                number(row.soft_spearman),
            ],
            [
                number(row.published_mean_score, 2),
                number(row.published_kappa),
                number(row.published_beta, 2),
                number(row.published_hard_mae, 1),
                number(row.published_soft_mae, 1),
                number(row.published_hard_spearman),
                number(row.published_soft_spearman),
            ],
        )
        for name, row in _corpus_rows(result)
    ]
    columns = ("judge", "|s|", "kappa", "beta", "hard", "soft", "rho hard", "soft")
    return _table(f"Held-out error in Elo, Tables 1, 2 and 4 ({settings})", columns, rows)


def _intervals(result: SoftEloReproduction) -> RenderableType:
    rows = [
        (
            name,
            [
                _width(row.hard_width),
                percent(row.hard_coverage, 1),
                _width(row.soft_width),
                percent(row.soft_coverage, 1),
                number(row.ece),
            ],
            [
                number(row.published_hard_width, 0),
                percent(row.published_hard_coverage, 1),
                number(row.published_soft_width, 0),
                percent(row.published_soft_coverage, 1),
                number(row.published_ece),
            ],
        )
        for name, row in _corpus_rows(result)
    ]
    columns = ("judge", "width hard", "coverage", "width soft", "coverage", "ECE")
    level = f"{100 * (1 - result.alpha):g} %"
    return _table(f"{level} conformal intervals and ECE, Tables 3, 5 and 7", columns, rows)


def _width(value: float | None) -> str:
    return "unbounded" if value is None else number(value, 0)


def _smoothing(result: SoftEloReproduction) -> RenderableType:
    constants = list(result.rows[0].smoothed) if result.rows else []
    rows = [
        (
            name,
            [
                *(number(row.smoothed.get(c), 1) for c in constants),
                number(row.chosen_smoothing_mae, 1),
            ],
            [*(number(row.published_smoothed.get(c), 1) for c in constants), "–"],
        )
        for name, row in _corpus_rows(result)
    ]
    title = "Held-out error of label smoothing, Table 8"
    return _table(title, ("judge", *constants, "chosen"), rows)


def _quarters(result: SoftEloReproduction) -> RenderableType:
    rows = [
        (name, _steps(row.hard_quarters), _steps(row.soft_quarters))
        for name, row in _corpus_rows(result)
    ]
    if result.published_quarters:
        hard, soft = (_steps(result.published_quarters[method]) for method in ("hard", "soft"))
        rows.append(("paper, mean of judges", hard, soft))
    title = "Judge minus people in Elo, weakest quarter of models to strongest, Figure 14"
    return table(("judge", "hard", "soft"), rows, title=title)


def _families(result: SoftEloReproduction) -> RenderableType:
    rows = [
        (
            name,
            f"{row.hard_family.own_models} {row.hard_family.family}",
            _family(row.hard_family),
            _family(row.soft_family),
        )
        for name, row in _corpus_rows(result)
        if row.hard_family is not None
    ]
    title = "Judge minus people in Elo, own family's models minus the others, Figure 13b"
    return table(("judge", "own models", "hard", "soft"), rows, title=title)


def _steps(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:+.0f}" for value in values) or "–"


def _family(found: FamilyResiduals | None) -> str:
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.excess:+.0f}"
    return f"{found.excess:+.0f} [{found.low:+.0f}, {found.high:+.0f}]"


def _languages(result: SoftEloReproduction) -> RenderableType:
    several = len({row.corpus for row in result.languages}) > 1
    rows = [
        (
            f"{row.language} {row.corpus}" if several else row.language,
            [
                number(row.battles),
                number(row.hard_mae, 1),
                number(row.soft_mae, 1),
                number(row.hard_spearman),
                number(row.soft_spearman),
            ],
            [
                "–",
                number(row.published_hard_mae, 1),
                number(row.published_soft_mae, 1),
                number(row.published_hard_spearman),
                number(row.published_soft_spearman),
            ],
        )
        for row in result.languages
    ]
    columns = ("language", "battles", "error hard", "soft", "rho hard", "soft")
    return _table("By language, means over judges, Table 6", columns, rows)


def error_figure(result: SoftEloReproduction) -> Figure:
    """Held-out error of each judge, hard to soft; the paper's as rings."""
    rows = [row for row in result.rows if row.hard_mae is not None and row.soft_mae is not None]
    rows = rows[::-1]
    with themed():
        figure = new_figure(7.4, max(2.4, 0.34 * len(rows) + 1.5))
        axes = figure.add_subplot()
        for at, row in enumerate(rows):
            hard, soft = row.hard_mae or 0.0, row.soft_mae or 0.0
            axes.plot([soft, hard], [at, at], color=MUTED, lw=1.2, zorder=1)
            axes.plot(hard, at, "o", color=WARM, ms=7, label="Hard-Elo" if at == 0 else None)
            axes.plot(soft, at, "o", color=ACCENT, ms=7, label="Soft-Elo" if at == 0 else None)
            for value, colour in ((row.published_hard_mae, WARM), (row.published_soft_mae, ACCENT)):
                if value is not None:
                    axes.plot(value, at, "o", mfc="none", mec=colour, ms=11, mew=1.5)
        if any(row.published_hard_mae is not None for row in rows):
            axes.plot([], [], "o", mfc="none", mec=INK, ms=11, mew=1, label="paper")
        several = len({row.corpus for row in rows}) > 1
        names = [f"{row.judge}, {row.corpus}" if several else row.judge for row in rows]
        axes.set_yticks(range(len(rows)), names)
        axes.grid(visible=False, axis="y")
        axes.set_xlim(left=0)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlabel("held-out error, Elo")
        gains = [1 - (row.soft_mae or 0.0) / row.hard_mae for row in rows if row.hard_mae]
        gain = 100 * float(np.mean(gains)) if gains else 0.0
        told = f"Soft targets {'cut' if gain >= 0 else 'raise'} the held-out error by"
        axes.set_title(f"{told} {abs(gain):.0f} %" if gains else "Held-out error")
        figure.legend(loc="outside lower center", ncols=3)
    return figure


def save_reproduction_figure(result: SoftEloReproduction, path: Path) -> Path:
    """Draw and save."""
    return save_figure(error_figure(result), path)
