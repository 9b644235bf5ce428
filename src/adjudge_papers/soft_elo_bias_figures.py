"""Pictures of the Soft-Elo paper about languages, order, length and family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.present.figure import ACCENT, GRID, INK, MUTED, WARM, add_legend, new_figure
from adjudge_papers.paper import Gallery, Row, values_of
from adjudge_papers.soft_elo_figures import (
    FRENCH,
    MAIN,
    corpus_look,
    corpus_name,
    main_rows,
    name_judges,
    range_title,
    rows_of,
)
from adjudge_papers.soft_elo_figures import (
    GALLERY as OTHERS,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction

_MOST_LANGUAGES = 40
GALLERY = Gallery()


# --- languages -------------------------------------------------------------------------------


@GALLERY.add("figure-05", "Prompts of each language in each corpus.", "prompts")
def figure_5(result: SoftEloReproduction) -> Drawing:
    prompts = result.rows("prompts")
    if not prompts:
        raise ArgumentError("figure", "figure-05", "the rows do not name languages")
    corpora = list(dict.fromkeys(row["corpus"] for row in prompts))
    total: Counter[str] = Counter()
    for row in prompts:
        total[row["language"]] += row["prompts"]
    names = sorted(total, key=lambda name: (-total[name], name))[:_MOST_LANGUAGES]
    step = 0.8 / len(corpora)
    figure = new_figure(7.8, max(3.6, 0.3 * len(names) + 1.6))
    axes = figure.subplots()
    name_judges(axes, names)
    for k, corpus in enumerate(corpora):
        known = {row["language"]: row["prompts"] for row in prompts if row["corpus"] == corpus}
        places = np.arange(len(names)) + step * (k - (len(corpora) - 1) / 2)
        look = {"color": corpus_look(corpus)["color"], "label": corpus_name(corpus)}
        axes.barh(places, [known.get(name, 0) for name in names], height=0.92 * step, **look)
    axes.set_xscale("log")
    axes.set_xlim(left=1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("prompts")
    main = [row for row in prompts if row["corpus"] == (MAIN if MAIN in corpora else corpora[0])]
    largest = max(main, key=lambda row: row["prompts"])
    share = 100 * largest["prompts"] / sum(row["prompts"] for row in main)
    more = f", the {len(names)} largest" if len(total) > len(names) else ""
    axes.set_title(f"{len(total)} languages{more}; {share:.0f} % are {largest['language']}")
    add_legend(axes, "lower right")
    return figure


@GALLERY.add("figure-10", "Mean |s| and agreement by language.", "languages")
def figure_10(result: SoftEloReproduction) -> Drawing:
    languages = result.rows("languages")
    if not languages:
        raise ArgumentError("figure", "figure-10", "no language has 50 prompts of all judges")
    rows = result.rows("languages", corpus=languages[0]["corpus"])
    figure = new_figure(max(8.0, 0.7 * len(rows) + 4), 4.4)
    panels = figure.subplots(1, 2)
    for axes, scale, field in zip(panels, (1, 100), ("mean_score", "agreement"), strict=True):
        heights, spread = (
            [scale * (row[name] or 0.0) for row in rows] for name in (field, f"{field}_sd")
        )
        places = range(len(rows))
        axes.bar(places, heights, width=0.7, color=ACCENT, alpha=0.8)
        axes.errorbar(places, heights, yerr=spread, fmt="none", color=INK, capsize=3, lw=1.2)
        axes.set_xticks(places, [row["language"] for row in rows])
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("language, most prompts first\n(± one std. deviation over judges)")
    left, right = panels
    left.set_ylabel("mean |s|")
    left.set_title(range_title("Mean |s|", values_of(rows, "mean_score"), 2))
    right.axhline(50, color=MUTED, lw=1, ls="--")
    right.set_ylim(0, 100)
    right.set_ylabel("people take the judge's side, %")
    shares = [100 * value for value in values_of(rows, "agreement")]
    right.set_title(range_title("Agreement, %,", shares, 0))
    return figure


# --- order, length and family ----------------------------------------------------------------


def _two_panels(rows: Sequence[Row], height: float) -> tuple[Drawing, Axes, Axes]:
    """Two panels with the judges' names down the left side."""
    figure = new_figure(12.0, height)
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        name_judges(axes, list(dict.fromkeys(row["judge"] for row in rows)))
    return figure, left, right


def _draw_share(axes: Axes, at: float, row: Row, field: str, height: float, colour: str) -> None:
    """A bar of a share in percent, with its interval if there is one."""
    share, low, high = (row.get(name) for name in (field, f"{field}_low", f"{field}_high"))
    axes.barh(at, 100 * (share or 0.0), height=height, color=colour, alpha=0.85)
    if share is not None and low is not None and high is not None:
        reach = [[100 * max(0.0, share - low)], [100 * max(0.0, high - share)]]
        axes.errorbar(100 * share, at, xerr=reach, color=INK, capsize=3, lw=1.2)


@GALLERY.add(
    "figure-11",
    "How often the first slot wins and verdicts flip; each model's error by either order.",
    "judges",
)
def figure_11(result: SoftEloReproduction) -> Drawing:
    rows = [row for row in main_rows(result) if row.get("first_share") is not None]
    if not rows:
        raise ArgumentError("figure", "figure-11", "it takes score_diff_ab and score_diff_ba")
    figure, left, right = _two_panels(rows, max(4.2, 0.9 * len(rows) + 1.8))
    gaps = []
    for at, row in enumerate(rows):
        _draw_share(left, at - 0.19, row, "first_share", 0.34, ACCENT)
        _draw_share(left, at + 0.19, row, "flip_share", 0.34, WARM)
        models = rows_of(result, "orders", row)
        for model in models:
            ends = [model["first"], model["second"]]
            right.plot(ends, [at - 0.2, at + 0.2], color=GRID, lw=0.8, zorder=1)
        for y, order, colour in ((at - 0.2, "first", ACCENT), (at + 0.2, "second", WARM)):
            errors, mean = values_of(models, order), row[f"{order}_mae"]
            right.plot(errors, [y] * len(errors), "o", color=colour, ms=3.5, alpha=0.6)
            if mean is not None:
                right.plot([mean, mean], [y - 0.14, y + 0.14], color=colour, lw=3.5)
        if row["first_mae"] is not None and row["second_mae"] is not None:
            gaps.append(abs(row["first_mae"] - row["second_mae"]))
            beside = right.get_yaxis_transform()
            right.text(1.01, at, f"{gaps[-1]:.1f}", transform=beside, va="center", fontsize=8.5)
    left.axvline(50, color=MUTED, lw=1, ls="--")
    left.plot([], [], color=ACCENT, lw=7, label="first slot wins")
    left.plot([], [], color=WARM, lw=7, label="verdict flips with the order")
    left.set_xlim(0, 100)
    left.set_xlabel("% of battles, with 95 % intervals")
    shares = [100 * value for value in values_of(rows, "first_share")]
    left.set_title(range_title("First slot wins, %,", shares, 0))
    right.plot([], [], "o", color=ACCENT, label="A shown first")
    right.plot([], [], "o", color=WARM, label="A shown second")
    right.set_xlim(left=0)
    right.set_xlabel("|Hard-Elo − people| of each model (bar: mean; right: difference of means)")
    largest = f" by at most {max(gaps):.1f}" if gaps else ""
    right.set_title(f"Mean errors of the two orders differ{largest}")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


@GALLERY.add(
    "figure-12",
    "The longer answer where scores are near-tied; mean length against the Elo residual.",
    "judges",
)
def figure_12(result: SoftEloReproduction) -> Drawing:
    rows = [row for row in main_rows(result) if row.get("near_tied") is not None]
    if not rows:
        raise ArgumentError("figure", "figure-12", "it takes lengths (len_a, len_b)")
    rows.sort(key=lambda row: -(row["longer_share"] or 0.0))
    figure, left, right = _two_panels(rows, max(3.6, 0.46 * len(rows) + 1.8))
    left.axvline(50, color=MUTED, lw=1, ls="--")
    right.axvline(0, color=MUTED, lw=1)
    for at, row in enumerate(rows):
        _draw_share(left, at, row, "longer_share", 0.62, ACCENT)
        left.text(2, at, f"n = {row['near_tied']:,}", va="center", color="white", fontsize=8)
        if row["length_partial"] is not None:
            face = ACCENT if (row["length_p"] or 1.0) < 0.05 else GRID
            right.barh(at, row["length_partial"], height=0.62, color=face, ec=ACCENT)
    left.set_xlim(0, 100)
    left.set_xlabel("longer answer wins where |s| ≤ 0.3, %, with 95 % intervals")
    shares = [100 * value for value in values_of(rows, "longer_share")]
    left.set_title(range_title("Longer wins, %,", shares, 0))
    right.set_xlim(-1, 1)
    right.set_xlabel("length against the residual, people's Elo held fixed (filled: p < 0.05)")
    known = values_of(rows, "length_p")
    clear = sum(p < 0.05 for p in known)
    right.set_title(f"Residual goes with length for {clear} of {len(known)} judges")
    return figure


@GALLERY.add(
    "figure-13", "A judge's own family against the others, in points and in Elo.", "judges"
)
def figure_13(result: SoftEloReproduction) -> Drawing:
    fields = ("points_family", "hard_family", "soft_family")
    rows = [
        row
        for row in result.rows("judges")
        if row["corpus"] != FRENCH and any(row.get(field) is not None for field in fields)
    ]
    if not rows:
        raise ArgumentError("figure", "figure-13", "no judge's family is known and has models here")
    rows.sort(key=lambda row: row["judge"])
    judges = list(dict.fromkeys(row["judge"] for row in rows))
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    figure, left, right = _two_panels(rows, max(4.0, 0.62 * len(judges) + 2.0))
    for row in rows:
        shift = 0.36 * (corpora.index(row["corpus"]) - (len(corpora) - 1) / 2)
        at, colour = judges.index(row["judge"]) + shift, corpus_look(row["corpus"])["color"]
        for axes, field, place, face in (
            (left, "points_family", at, colour),
            (right, "hard_family", at - 0.07, "white"),
            (right, "soft_family", at + 0.07, colour),
        ):
            if row.get(field) is not None:
                ends = [row[f"{field}_low"], row[f"{field}_high"]]
                if None not in ends:
                    axes.plot(ends, [place, place], color=colour, lw=2, alpha=0.5)
                axes.plot(row[field], place, "o", mfc=face, mec=colour, mew=1.6, ms=6.5)
    for corpus in corpora:
        look = {"color": corpus_look(corpus)["color"], "label": corpus_name(corpus)}
        left.plot([], [], "o", **look)
    right.plot([], [], "o", mfc="white", mec=INK, label="Hard-Elo")
    right.plot([], [], "o", color=INK, label="Soft-Elo")
    left.set_xlabel("own family − others, points, minus the other judges' median")
    right.set_xlabel("own family − others, judge − people in Elo")
    for axes, start, field in (
        (left, "In points:", "points_family"),
        (right, "In Elo: Hard-Elo", "hard_family"),
    ):
        axes.axvline(0, color=MUTED, lw=1)
        add_legend(axes, fontsize=8.5)
        excess = values_of(rows, field)
        above = sum(value > 0 for value in excess)
        axes.set_title(f"{start} above 0 for {above} of {len(excess)}")
    return figure


#: All pictures in the paper's order.
PICTURES = Gallery(sorted((OTHERS | GALLERY).items()))
