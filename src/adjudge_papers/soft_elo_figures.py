"""Every picture of the Soft-Elo paper by name, with its caption; the errors as the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.errors import ArgumentError
from adjudge.present.text import clip
from adjudge.present.theme import ACCENT, INK, MUTED, WARM, new_figure, themed
from adjudge_papers import soft_elo_biases as biases
from adjudge_papers import soft_elo_calibration as calibration
from adjudge_papers import soft_elo_ratings as ratings
from adjudge_papers.reproduction import Pictures
from adjudge_papers.soft_elo_drawing import compared, describe_change, row_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction


def error_figure(result: SoftEloReproduction) -> Drawing:
    """Held-out error of each judge, hard to soft; the paper's as rings."""
    rows = compared(result)[::-1]
    if not rows:
        raise ArgumentError("plot", result.kind, "no judge could be compared with people")
    with themed():
        figure = new_figure(7.4, max(2.4, 0.34 * len(rows) + 1.5))
        axes = figure.add_subplot()
        for at, (row, hard, soft) in enumerate(rows):
            axes.plot([soft, hard], [at, at], color=MUTED, lw=1.2, zorder=1)
            axes.plot(hard, at, "s", color=WARM, ms=7, label="Hard-Elo" if at == 0 else None)
            axes.plot(soft, at, "o", color=ACCENT, ms=7, label="Soft-Elo" if at == 0 else None)
            for value, colour in ((row.published_hard_mae, WARM), (row.published_soft_mae, ACCENT)):
                if value is not None:
                    axes.plot(value, at, "o", mfc="none", mec=colour, ms=11, mew=1.5)
        if any(row.published_hard_mae is not None for row, *_ in rows):
            axes.plot([], [], "o", mfc="none", mec=INK, ms=11, mew=1, label="paper")
        names = [clip(name, 40) for name in row_names([row for row, *_ in rows])]
        axes.set_yticks(range(len(rows)), names)
        axes.grid(visible=False, axis="y")
        axes.set_xlim(left=0)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlabel("held-out error, Elo")
        axes.set_title(describe_change(result))
        figure.legend(loc="outside lower center", ncols=3)
    return figure


PICTURES: Pictures = {
    "errors": (
        error_figure,
        "Held-out error of each judge with hard and with soft targets; rings are the paper's.",
    ),
    "figure-01": (
        ratings.figure_1,
        "Hard and calibrated targets of one judge, the Elo they give, and each model's interval.",
    ),
    "figure-02": (
        ratings.figure_2,
        "Hard-Elo residuals grow with strength: models of one judge, then quarters of every judge.",
    ),
    "figure-03": (
        calibration.figure_3,
        "Agreement with people grows with |s|; σ(|s|) is too sure until β is fitted.",
    ),
    "figure-04": (
        ratings.figure_4,
        "Soft targets move Elo to the dashed line, flatten the residuals and need fewer battles; "
        "bands are standard deviations over judges.",
    ),
    "figure-05": (biases.figure_5, "Prompts of each language in each corpus."),
    "figure-06": (
        calibration.figure_6,
        "β from few battles against β from all, and the error of one judge by budget.",
    ),
    "figure-07": (
        calibration.figure_7,
        "Agreement by |s| for each judge and corpus; a flat line is a score that says little.",
    ),
    "figure-08": (ratings.figure_8, "Each model's interval on LMArena 140K."),
    "figure-09": (ratings.figure_9, "Each model's interval on ComparIA."),
    "figure-10": (biases.figure_10, "Mean |s| and agreement by language."),
    "figure-11": (
        biases.figure_11,
        "How often the first slot wins and verdicts flip; each model's error by either order.",
    ),
    "figure-12": (
        biases.figure_12,
        "The longer answer where scores are near-tied; mean length against the Elo residual.",
    ),
    "figure-13": (
        biases.figure_13,
        "A judge's own family against the others, in points and in Elo.",
    ),
    "figure-14": (
        ratings.figure_14,
        "Residual by quarter of strength; faint lines are judges, rings the paper's means.",
    ),
    "figure-15": (calibration.figure_15, "Reliability of every judge; the dashed line is right."),
    "figure-16": (calibration.figure_16, "Reliability of one judge on every corpus."),
    "figure-17": (
        ratings.figure_17,
        "The width of an interval is twice its quantile times its standard error.",
    ),
}
