"""Languages and biases in the Soft-Elo paper: Figures 5, 10, 11, 12 and 13."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.figure import ACCENT, GRID, INK, MUTED, WARM, new_figure, themed
from adjudge_papers.reproduction import Pictures
from adjudge_papers.soft_elo_drawing import (
    MAIN,
    add_legend,
    corpus_colour,
    corpus_name,
    draw_share,
    main_rows,
    name_rows,
    range_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction, SoftEloRow
    from adjudge_papers.soft_elo_measures import (
        FamilyExcess,
        LanguageRow,
        LengthEffect,
        PositionEffect,
    )


_MOST_LANGUAGES = 40


def figure_5(result: SoftEloReproduction) -> Drawing:
    """Prompts by language and corpus, on a logarithmic axis."""
    counts = {name: of for name, of in result.language_counts.items() if of}
    if not counts:
        raise ArgumentError("figure", "figure-05", "the rows do not name languages")
    total: dict[str, int] = {}
    for of in counts.values():
        for language, n in of.items():
            total[language] = total.get(language, 0) + n
    names = sorted(total, key=lambda name: (-total[name], name))[:_MOST_LANGUAGES]
    step = 0.8 / len(counts)
    with themed():
        figure = new_figure(7.8, max(3.6, 0.3 * len(names) + 1.6))
        axes = figure.subplots()
        name_rows(axes, names)
        for k, (corpus, of) in enumerate(counts.items()):
            at = np.arange(len(names)) + step * (k - (len(counts) - 1) / 2)
            axes.barh(
                at,
                [of.get(name, 0) for name in names],
                height=0.92 * step,
                color=corpus_colour(corpus),
                label=corpus_name(result, corpus),
            )
        axes.set_xscale("log")
        axes.set_xlim(left=1)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_xlabel("prompts")
        first = counts.get(MAIN) or next(iter(counts.values()))
        share = 100 * max(first.values()) / sum(first.values())
        more = f", the {len(names)} largest" if len(total) > len(names) else ""
        axes.set_title(f"{len(total)} languages{more}; {share:.0f} % are {next(iter(first))}")
        add_legend(axes, loc="lower right")
    return figure


def figure_10(result: SoftEloReproduction) -> Drawing:
    """Score difference and agreement by language, standard deviations over judges."""
    corpora = [row.corpus for row in result.languages]
    if not corpora:
        raise ArgumentError("figure", "figure-10", "no language has 50 prompts of all judges")
    corpus = MAIN if MAIN in corpora else corpora[0]
    rows = [row for row in result.languages if row.corpus == corpus]
    with themed():
        figure = new_figure(max(8.0, 0.7 * len(rows) + 4), 4.4)
        left, right = figure.subplots(1, 2)
        _draw_languages(
            left, rows, [row.mean_score for row in rows], [row.mean_score_sd for row in rows]
        )
        left.set_ylabel("mean |s|")
        left.set_title(range_title("Mean |s|", [row.mean_score for row in rows], 2))
        shares = [None if row.agreement is None else 100 * row.agreement for row in rows]
        spread = [None if row.agreement_sd is None else 100 * row.agreement_sd for row in rows]
        _draw_languages(right, rows, shares, spread)
        right.axhline(50, color=MUTED, lw=1, ls="--")
        right.set_ylim(0, 100)
        right.set_ylabel("people take the judge's side, %")
        right.set_title(range_title("Agreement, %,", shares, 0))
    return figure


def _draw_languages(
    axes: Axes,
    rows: Sequence[LanguageRow],
    values: Sequence[float | None],
    spread: Sequence[float | None],
) -> None:
    heights = [value or 0.0 for value in values]
    axes.bar(range(len(rows)), heights, width=0.7, color=ACCENT, alpha=0.8)
    axes.errorbar(
        range(len(rows)),
        heights,
        yerr=[sd or 0.0 for sd in spread],
        fmt="none",
        color=INK,
        capsize=3,
        lw=1.2,
    )
    axes.set_xticks(range(len(rows)), [row.language for row in rows])
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("language, most prompts first (± one std. deviation over judges)")


def figure_11(result: SoftEloReproduction) -> Drawing:
    """What the order of presentation does to verdicts, and to every model's error."""
    rows = [(row, row.position) for row in main_rows(result) if row.position is not None]
    if not rows:
        raise ArgumentError("figure", "figure-11", "it takes score_diff_ab and score_diff_ba")
    with themed():
        figure = new_figure(12.0, max(4.2, 0.9 * len(rows) + 1.8))
        left, right = figure.subplots(1, 2)
        _draw_slots(left, rows)
        _draw_orders(right, rows)
        figure.legend(loc="outside lower center", ncols=4)
    return figure


def _draw_slots(axes: Axes, rows: Sequence[tuple[SoftEloRow, PositionEffect]]) -> None:
    name_rows(axes, [row.judge for row, _ in rows])
    for at, (_, part) in enumerate(rows):
        draw_share(axes, at - 0.19, part.first_share, part.interval, 0.34, ACCENT)
        draw_share(axes, at + 0.19, part.flip_share, part.flip_interval, 0.34, WARM)
    axes.axvline(50, color=MUTED, lw=1, ls="--")
    axes.plot([], [], color=ACCENT, lw=7, label="first slot wins")
    axes.plot([], [], color=WARM, lw=7, label="verdict flips with the order")
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of battles, with 95 % intervals")
    shares = [100 * part.first_share for _, part in rows]
    axes.set_title(range_title("First slot wins, %,", shares, 0))


def _draw_orders(axes: Axes, rows: Sequence[tuple[SoftEloRow, PositionEffect]]) -> None:
    """Every model's error with A always first (upper lane) and always second (lower lane)."""
    name_rows(axes, [row.judge for row, _ in rows])
    gaps = []
    for at, (_, part) in enumerate(rows):
        for model in part.models:
            axes.plot(
                [model.first, model.second], [at - 0.2, at + 0.2], color=GRID, lw=0.8, zorder=1
            )
        for y, errors, colour, mean in (
            (at - 0.2, [model.first for model in part.models], ACCENT, part.first_mae),
            (at + 0.2, [model.second for model in part.models], WARM, part.second_mae),
        ):
            axes.plot(errors, [y] * len(errors), "o", color=colour, ms=3.5, alpha=0.6)
            if mean is not None:
                axes.plot([mean, mean], [y - 0.14, y + 0.14], color=colour, lw=3.5)
        if part.first_mae is not None and part.second_mae is not None:
            gaps.append(abs(part.first_mae - part.second_mae))
            axes.text(
                1.01,
                at,
                f"{gaps[-1]:.1f}",
                transform=axes.get_yaxis_transform(),
                va="center",
                fontsize=8.5,
            )
    axes.plot([], [], "o", color=ACCENT, label="A shown first")
    axes.plot([], [], "o", color=WARM, label="A shown second")
    axes.set_xlim(left=0)
    axes.set_xlabel("|Hard-Elo − people| of each model (bar: mean; right: difference of means)")
    largest = f" by at most {max(gaps):.1f}" if gaps else ""
    axes.set_title(f"Mean errors of the two orders differ{largest}")


def figure_12(result: SoftEloReproduction) -> Drawing:
    """How often the longer answer wins where the judge's scores are near-tied."""
    rows = [
        (row, row.length, row.length.longer_share or 0.0)
        for row in main_rows(result)
        if row.length is not None
    ]
    if not rows:
        raise ArgumentError("figure", "figure-12", "it takes lengths (len_a, len_b)")
    rows.sort(key=lambda entry: -entry[2])
    with themed():
        figure = new_figure(11.6, max(3.6, 0.46 * len(rows) + 1.8))
        left, right = figure.subplots(1, 2)
        name_rows(left, [row.judge for row, *_ in rows])
        left.axvline(50, color=MUTED, lw=1, ls="--")
        for at, (_, part, share) in enumerate(rows):
            draw_share(left, at, share, part.interval, 0.62, ACCENT)
            left.text(2, at, f"n = {part.near_tied:,}", va="center", color="white", fontsize=8)
        left.set_xlim(0, 100)
        left.set_xlabel("longer answer wins where |s| ≤ 0.3, %, with 95 % intervals")
        left.set_title(range_title("Longer wins, %,", [100 * share for *_, share in rows], 0))
        _draw_partials(right, [(row, part) for row, part, _ in rows])
    return figure


def _draw_partials(axes: Axes, rows: Sequence[tuple[SoftEloRow, LengthEffect]]) -> None:
    name_rows(axes, [row.judge for row, _ in rows])
    axes.axvline(0, color=MUTED, lw=1)
    clear = 0
    for at, (_, part) in enumerate(rows):
        if part.partial is None or part.p_value is None:
            continue
        sure = part.p_value < 0.05
        clear += sure
        axes.barh(at, part.partial, height=0.62, color=ACCENT if sure else GRID, ec=ACCENT)
    axes.set_xlim(-1, 1)
    axes.set_xlabel("length against the residual, people's Elo held fixed (filled: p < 0.05)")
    axes.set_title(f"Residual goes with length for {clear} of {len(rows)} judges")


def figure_13(result: SoftEloReproduction) -> Drawing:
    """Own family minus other families, in points and in Elo, on both Arena corpora."""
    corpora = [
        name for name in dict.fromkeys(row.corpus for row in result.rows) if name != "comparia"
    ] or [result.rows[0].corpus]
    rows = [row for row in result.rows if row.corpus in corpora]
    judges = sorted({row.judge for row in rows if row.hard_family or row.family_points})
    if not judges:
        raise ArgumentError("figure", "figure-13", "no judge's family is known and has models here")
    with themed():
        figure = new_figure(12.0, max(4.0, 0.62 * len(judges) + 2.0))
        left, right = figure.subplots(1, 2)
        name_rows(left, judges)
        name_rows(right, judges)
        for axes in (left, right):
            axes.axvline(0, color=MUTED, lw=1)
        points, elo = [], []
        for k, corpus in enumerate(corpora):
            shift = 0.36 * (k - (len(corpora) - 1) / 2)
            for row in (row for row in rows if row.corpus == corpus and row.judge in judges):
                at, colour = judges.index(row.judge) + shift, corpus_colour(corpus)
                points += _plot_excess(left, row.family_points, at, colour, filled=True)
                elo += _plot_excess(right, row.hard_family, at - 0.07, colour, filled=False)
                _plot_excess(right, row.soft_family, at + 0.07, colour, filled=True)
            left.plot([], [], "o", color=corpus_colour(corpus), label=corpus_name(result, corpus))
        right.plot([], [], "o", mfc="white", mec=INK, label="Hard-Elo")
        right.plot([], [], "o", color=INK, label="Soft-Elo")
        add_legend(left, loc="best", fontsize=8.5)
        add_legend(right, loc="best", fontsize=8.5)
        left.set_xlabel("own family − others, points, minus the other judges' median")
        right.set_xlabel("own family − others, judge − people in Elo")
        above = [sum(value > 0 for value in values) for values in (points, elo)]
        left.set_title(f"In points: above 0 for {above[0]} of {len(points)}")
        right.set_title(f"In Elo: Hard-Elo above 0 for {above[1]} of {len(elo)}")
    return figure


def _plot_excess(
    axes: Axes, part: FamilyExcess | None, at: float, colour: str, *, filled: bool
) -> list[float]:
    """One excess with its interval; returned if there is one."""
    if part is None:
        return []
    if part.interval is not None:
        axes.plot([*part.interval], [at, at], color=colour, lw=2, alpha=0.5)
    axes.plot(part.excess, at, "o", mfc=colour if filled else "white", mec=colour, mew=1.6, ms=6.5)
    return [part.excess]


PICTURES: Pictures = {
    "figure-05": (figure_5, "Prompts of each language in each corpus."),
    "figure-10": (figure_10, "Mean |s| and agreement by language."),
    "figure-11": (
        figure_11,
        "How often the first slot wins and verdicts flip; each model's error by either order.",
    ),
    "figure-12": (
        figure_12,
        "The longer answer where scores are near-tied; mean length against the Elo residual.",
    ),
    "figure-13": (
        figure_13,
        "A judge's own family against the others, in points and in Elo.",
    ),
}
