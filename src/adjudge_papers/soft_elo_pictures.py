"""Every picture of the Soft-Elo paper by name, with its caption."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adjudge_papers import soft_elo_biases as biases
from adjudge_papers import soft_elo_calibration as calibration
from adjudge_papers import soft_elo_ratings as ratings
from adjudge_papers.soft_elo_figures import error_figure
from adjudge_papers.soft_elo_result import SoftEloReproduction

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


if TYPE_CHECKING:
    Picture = Callable[[SoftEloReproduction], Drawing]

PICTURES: dict[str, tuple[Picture, str]] = {
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
