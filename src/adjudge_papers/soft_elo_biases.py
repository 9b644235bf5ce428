"""Order, length and family in the Soft-Elo paper: appendix F.1, Figures 11, 12 and 13."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from adjudge.data.families import of_family
from adjudge.diagnosis import family_of, family_scores, position_bias
from adjudge.diagnosis.measures import ends_of as interval_ends
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Table
from adjudge.present.figure import ACCENT, GRID, INK, MUTED, WARM, new_figure
from adjudge.present.result import Correlation, Count, NotNegative, Proportion
from adjudge.present.text import DASH, percent, percent_interval, signed
from adjudge.ranking.evaluation import Residuals
from adjudge.ranking.targets import fixed_rule
from adjudge.records import Interval
from adjudge.statistics.numbers import binomial_interval, mean_known
from adjudge.validation import FloatArray
from adjudge_papers.items import ItemBook, count_where, ends_of, less
from adjudge_papers.reproduction import interval_of
from adjudge_papers.soft_elo_exhibits import (
    FRENCH,
    GALLERY,
    MAIN,
    NEWER,
    TITLES,
    Column,
    add_legend,
    combine,
    corpus_look,
    name_rows,
    percents_of,
    range_title,
    values_of,
)
from adjudge_papers.soft_elo_runs import Run, pearson

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction, SoftEloRow

_NEAR_TIE = 0.3
_ONE_ORDER = "the rows have the mean of both orders: the scores of each order are needed"
_BOTH_ORDERS = ("score_diff_ab", "score_diff_ba")


def tables(result: SoftEloReproduction) -> list[Table]:
    """Length, order and family, if the rows have numbers for them."""
    return [
        result.judge_table(
            "Length: near-tied verdicts, and the partial correlation with the Elo residual, "
            "Figure 12",
            Column("near-tied", "length.near_tied", 0),
            Column("longer wins", "length.longer_share", percent),
            Column(
                "95 % interval",
                "length.interval",
                lambda interval: percent_interval(*interval_ends(interval)),
            ),
            Column("residual and length", "length.partial", partial(signed, digits=2)),
            Column("p", "length.p_value", 3),
            needs="length",
        ),
        result.judge_table(
            "Order of presentation, Figure 11",
            Column("first slot wins", "position.first_share", percent),
            Column("verdict flips", "position.flip_share", percent),
            Column("points", "position.advantage", partial(signed, digits=2)),
            Column("first favoured", "position.first_favoured", percent),
            Column("error, A first", "position.first_mae", 1),
            Column("A second", "position.second_mae", 1),
            needs="position",
        ),
        result.judge_table(
            "Own family's models minus the others, in points and in Elo, Figure 13",
            Column("own models", "any_family", lambda part: f"{part.own_models} {part.family}"),
            Column("points", "family_points", partial(_write_excess, digits=2)),
            Column("Elo, hard", "hard_family", partial(_write_excess, digits=0)),
            Column("Elo, soft", "soft_family", partial(_write_excess, digits=0)),
            needs="any_family",
            text_columns=2,
        ),
    ]


def _write_excess(part: FamilyExcess | None, digits: int) -> str:
    if part is None:
        return DASH
    if part.interval is None:
        return signed(part.excess, digits)
    low, high = (signed(end, digits) for end in part.interval)
    return f"{signed(part.excess, digits)} [{low}, {high}]"


def add_items(book: ItemBook, rows: Sequence[SoftEloRow], newer: Sequence[SoftEloRow]) -> None:
    """Figures 11 to 13; `newer` are the judges of LMArena 140K."""
    gaps = combine(rows, less, "position.first_mae", "position.second_mae")
    book.add(
        "Figure 11",
        ends_of("first slot wins, %", percents_of(rows, "position.first_share"))
        | ends_of("verdict flips, %", percents_of(rows, "position.flip_share"))
        | {"first slot, points": mean_known(values_of(rows, "position.advantage"))}
        | ends_of("first slot favoured, %", percents_of(rows, "position.first_favoured"))
        | {
            "difference of errors by order": mean_known(abs(gap) for gap in gaps if gap is not None)
        },
        missing="" if any(values_of(rows, "position")) else _ONE_ORDER,
    )
    p_values = values_of(rows, "length.p_value")
    clear = sum(p is not None and p < 0.05 for p in p_values)
    book.add(
        "Figure 12",
        ends_of("longer wins, %", percents_of(rows, "length.longer_share"))
        | {"judges whose residual goes with length": float(clear)},
        missing="" if any(values_of(rows, "length")) else "the rows have no lengths (len_a, len_b)",
    )
    points = values_of((*rows, *newer), "family_points.excess")
    excess = {
        corpus: values_of(judges, "hard_family.excess")
        for corpus, judges in ((MAIN, rows), (NEWER, newer))
    }
    known = any(value is not None for value in (*points, *excess[MAIN]))
    book.add(
        "Figure 13",
        ends_of("excess in points", points)
        | {
            f"judges with an excess in Elo, {TITLES[corpus]}": count_where(
                values, lambda value: value > 0
            )
            for corpus, values in excess.items()
        },
        missing="" if known else "no judge's family is known, or none has models here",
    )


# --- order -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class OrderError:
    """|Residual| of one model if every verdict is that of one order."""

    model: str
    first: NotNegative
    second: NotNegative


@dataclass(frozen=True, kw_only=True)
class PositionEffect:
    """The effect of the order of presentation (F.1): on verdicts, on points, on Elo.

    `first_favoured` is the share of battles in which the first slot gains points; `first_mae` and
    `second_mae` are errors of Hard-Elo with A always shown first, and second.
    """

    pairs: Count
    first_share: Proportion
    interval: Interval | None
    flip_share: Proportion
    flip_interval: Interval | None
    advantage: float | None
    first_favoured: Proportion
    first_mae: NotNegative | None
    second_mae: NotNegative | None
    models: tuple[OrderError, ...] = ()


def position_effect(run: Run) -> PositionEffect | None:
    """Verdicts, points and Elo by order of presentation; None without the scores of both."""
    if not run.has(*_BOTH_ORDERS):
        return None
    forward, reverse = (run.numbers(column) for column in _BOTH_ORDERS)
    # The sign of a missing score is missing.
    sides = [np.sign(gap) / 2 + 0.5 for gap in (forward, reverse)]
    bias = position_bias(sides[0], sides[1], gap_fwd=forward, gap_rev=reverse)
    both = np.isfinite(forward) & np.isfinite(reverse)
    held = [run.leave_out(fixed_rule("hard-elo", run.battles, side)) for side in sides]
    first, second = (
        dict(zip(order.names, np.abs(order.values).tolist(), strict=True)) for order in held
    )
    return PositionEffect(
        pairs=bias.n,
        first_share=bias.first_share,
        interval=bias.interval,
        flip_share=bias.flip_share,
        flip_interval=bias.flip_interval,
        advantage=bias.first_advantage,
        first_favoured=float((forward > reverse)[both].mean()),
        first_mae=held[0].mae,
        second_mae=held[1].mae,
        models=tuple(
            OrderError(model=name, first=error, second=second[name])
            for name, error in first.items()
            if name in second
        ),
    )


@GALLERY.add(
    "figure-11",
    "How often the first slot wins and verdicts flip; each model's error by either order.",
)
def figure_11(result: SoftEloReproduction) -> Drawing:
    rows = [(row.judge, row.position) for row in result.main_rows() if row.position is not None]
    if not rows:
        raise ArgumentError("figure", "figure-11", "it takes score_diff_ab and score_diff_ba")
    figure = new_figure(12.0, max(4.2, 0.9 * len(rows) + 1.8))
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        name_rows(axes, [judge for judge, _ in rows])
    _draw_slots(left, [part for _, part in rows])
    _draw_orders(right, [part for _, part in rows])
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def _draw_slots(axes: Axes, parts: Sequence[PositionEffect]) -> None:
    for at, part in enumerate(parts):
        _draw_share(axes, at - 0.19, part.first_share, part.interval, 0.34, ACCENT)
        _draw_share(axes, at + 0.19, part.flip_share, part.flip_interval, 0.34, WARM)
    axes.axvline(50, color=MUTED, lw=1, ls="--")
    axes.plot([], [], color=ACCENT, lw=7, label="first slot wins")
    axes.plot([], [], color=WARM, lw=7, label="verdict flips with the order")
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of battles, with 95 % intervals")
    axes.set_title(range_title("First slot wins, %,", percents_of(parts, "first_share"), 0))


def _draw_share(
    axes: Axes, at: float, share: float, interval: Interval | None, height: float, colour: str
) -> None:
    """A bar of a share in percent, with its interval if there is one."""
    axes.barh(at, 100 * share, height=height, color=colour, alpha=0.85)
    low, high = interval_ends(interval)
    if low is not None and high is not None:
        reach = [[100 * max(0.0, share - low)], [100 * max(0.0, high - share)]]
        axes.errorbar(100 * share, at, xerr=reach, color=INK, capsize=3, lw=1.2)


def _draw_orders(axes: Axes, parts: Sequence[PositionEffect]) -> None:
    """Every model's error with A always first (upper lane) and always second (lower lane)."""
    gaps = []
    for at, part in enumerate(parts):
        for model in part.models:
            ends = [model.first, model.second]
            axes.plot(ends, [at - 0.2, at + 0.2], color=GRID, lw=0.8, zorder=1)
        for y, errors, colour, mean in (
            (at - 0.2, [model.first for model in part.models], ACCENT, part.first_mae),
            (at + 0.2, [model.second for model in part.models], WARM, part.second_mae),
        ):
            axes.plot(errors, [y] * len(errors), "o", color=colour, ms=3.5, alpha=0.6)
            if mean is not None:
                axes.plot([mean, mean], [y - 0.14, y + 0.14], color=colour, lw=3.5)
        if part.first_mae is not None and part.second_mae is not None:
            gaps.append(abs(part.first_mae - part.second_mae))
            beside = axes.get_yaxis_transform()
            axes.text(1.01, at, f"{gaps[-1]:.1f}", transform=beside, va="center", fontsize=8.5)
    axes.plot([], [], "o", color=ACCENT, label="A shown first")
    axes.plot([], [], "o", color=WARM, label="A shown second")
    axes.set_xlim(left=0)
    axes.set_xlabel("|Hard-Elo − people| of each model (bar: mean; right: difference of means)")
    largest = f" by at most {max(gaps):.1f}" if gaps else ""
    axes.set_title(f"Mean errors of the two orders differ{largest}")


# --- length ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LengthEffect:
    """The effect of length on near-tied verdicts and on residuals (F.1).

    `longer_share` is how often the longer answer wins if |s| <= 0.3. `partial` correlates the
    Hard-Elo residual with a model's mean length at fixed people's Elo.
    """

    near_tied: Count
    longer_share: Proportion | None
    interval: Interval | None
    partial: Correlation | None
    p_value: Proportion | None


def length_effect(run: Run, hard: Residuals) -> LengthEffect | None:
    """Longer answers in near ties, and mean length against the residual; None without lengths."""
    if not run.has("length_a", "length_b"):
        return None
    a, b = run.numbers("length_a"), run.numbers("length_b")
    # The judge's stated side, not the sign of its scores, which is noise in near ties.
    decided = np.isin(run.verdict, (0.0, 1.0)) & (np.abs(run.score) <= _NEAR_TIE)
    unequal = np.isfinite(a) & np.isfinite(b) & (a != b)
    longer = ((run.verdict == 1) == (a > b))[decided & unequal]
    n, wins = len(longer), int(longer.sum())
    correlation, p_value = _length_correlation(run, hard)
    return LengthEffect(
        near_tied=n,
        longer_share=float(longer.mean()) if n else None,
        interval=interval_of(*binomial_interval(wins, n, 0.95)) if n else None,
        partial=correlation,
        p_value=p_value,
    )


def _length_correlation(run: Run, hard: Residuals) -> tuple[float | None, float | None]:
    """Partial correlation of residual and mean length given people's Elo, with its p-value."""
    length = run.model_means("length")[[run.battles.names.index(name) for name in hard.names]]
    if len(length) < 5 or not np.ptp(length) > 0:
        return None, None
    r = pearson(*(_without_trend(values, hard.human) for values in (length, hard.values)))
    if r is None:
        return None, None
    freedom = len(length) - 3
    t = r * np.sqrt(freedom / max(1e-12, 1 - r**2))
    return r, float(2 * stats.t.sf(abs(t), freedom))


def _without_trend(values: FloatArray, of: FloatArray) -> FloatArray:
    line = np.polyfit(of - of.mean(), values, 1)
    return np.asarray(values - np.polyval(line, of - of.mean()), dtype=np.float64)


@GALLERY.add(
    "figure-12",
    "The longer answer where scores are near-tied; mean length against the Elo residual.",
)
def figure_12(result: SoftEloReproduction) -> Drawing:
    rows = [
        (row.judge, row.length, row.length.longer_share or 0.0)
        for row in result.main_rows()
        if row.length is not None
    ]
    if not rows:
        raise ArgumentError("figure", "figure-12", "it takes lengths (len_a, len_b)")
    rows.sort(key=lambda entry: -entry[2])
    figure = new_figure(11.6, max(3.6, 0.46 * len(rows) + 1.8))
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        name_rows(axes, [judge for judge, *_ in rows])
    left.axvline(50, color=MUTED, lw=1, ls="--")
    right.axvline(0, color=MUTED, lw=1)
    clear = 0
    for at, (_, part, share) in enumerate(rows):
        _draw_share(left, at, share, part.interval, 0.62, ACCENT)
        left.text(2, at, f"n = {part.near_tied:,}", va="center", color="white", fontsize=8)
        if part.partial is not None and part.p_value is not None:
            sure = part.p_value < 0.05
            clear += sure
            right.barh(at, part.partial, height=0.62, color=ACCENT if sure else GRID, ec=ACCENT)
    left.set_xlim(0, 100)
    left.set_xlabel("longer answer wins where |s| ≤ 0.3, %, with 95 % intervals")
    left.set_title(range_title("Longer wins, %,", [100 * share for *_, share in rows], 0))
    right.set_xlim(-1, 1)
    right.set_xlabel("length against the residual, people's Elo held fixed (filled: p < 0.05)")
    right.set_title(f"Residual goes with length for {clear} of {len(rows)} judges")
    return figure


# --- family ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FamilyExcess:
    """Mean of the judge's own family minus that of the others (F.1), in Elo or in points.

    The interval is over models; None if a side has one model.
    """

    family: str
    own_models: Count
    other_models: Count
    excess: float
    interval: Interval | None


def family_excess(judge: str, values: FloatArray, names: Sequence[str]) -> FamilyExcess | None:
    """Of residuals (13b) or points; None if the judge's family is unknown or has no model here."""
    family = family_of(judge)
    if family is None:
        return None
    bias = family_scores(values, names, of_family(names, family), family=family)
    if bias.excess is None:
        return None
    return FamilyExcess(
        family=family,
        own_models=bias.own_models,
        other_models=bias.other_models,
        excess=bias.excess,
        interval=bias.interval,
    )


def family_points(runs: Sequence[Run]) -> dict[str, FamilyExcess | None]:
    """Figure 13a: each judge's mean score of a model minus the other judges' median of it.

    Needs several judges of one corpus to compare.
    """
    names = sorted({name for run in runs for name in run.battles.names})
    means = np.full((len(runs), len(names)), np.nan)
    for k, run in enumerate(runs):
        if run.has("score_a", "score_b"):
            means[k, np.searchsorted(names, run.battles.names)] = run.model_means("score")
    excess: dict[str, FamilyExcess | None] = {}
    for k, run in enumerate(runs):
        others = np.delete(means, k, axis=0)
        shared = np.isfinite(others).any(axis=0)
        excess[run.judge] = None
        if shared.any():
            gap = means[k, shared] - np.nanmedian(others[:, shared], axis=0)
            excess[run.judge] = family_excess(run.judge, gap, tuple(np.array(names)[shared]))
    return excess


@GALLERY.add("figure-13", "A judge's own family against the others, in points and in Elo.")
def figure_13(result: SoftEloReproduction) -> Drawing:
    corpora = [
        name for name in dict.fromkeys(row.corpus for row in result.rows) if name != FRENCH
    ] or [result.rows[0].corpus]
    rows = [row for row in result.rows if row.corpus in corpora and row.any_family]
    judges = sorted({row.judge for row in rows})
    if not judges:
        raise ArgumentError("figure", "figure-13", "no judge's family is known and has models here")
    figure = new_figure(12.0, max(4.0, 0.62 * len(judges) + 2.0))
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        name_rows(axes, judges)
        axes.axvline(0, color=MUTED, lw=1)
    for k, corpus in enumerate(corpora):
        shift, colour = 0.36 * (k - (len(corpora) - 1) / 2), corpus_look(corpus)["color"]
        for row in (row for row in rows if row.corpus == corpus):
            at = judges.index(row.judge) + shift
            _plot_excess(left, row.family_points, at, colour, filled=True)
            _plot_excess(right, row.hard_family, at - 0.07, colour, filled=False)
            _plot_excess(right, row.soft_family, at + 0.07, colour, filled=True)
        left.plot([], [], "o", color=colour, label=result.corpus_name(corpus))
    right.plot([], [], "o", mfc="white", mec=INK, label="Hard-Elo")
    right.plot([], [], "o", color=INK, label="Soft-Elo")
    left.set_xlabel("own family − others, points, minus the other judges' median")
    right.set_xlabel("own family − others, judge − people in Elo")
    for axes, start, field in (
        (left, "In points:", "family_points.excess"),
        (right, "In Elo: Hard-Elo", "hard_family.excess"),
    ):
        add_legend(axes, fontsize=8.5)
        excess = [value for value in values_of(rows, field) if value is not None]
        above = sum(value > 0 for value in excess)
        axes.set_title(f"{start} above 0 for {above} of {len(excess)}")
    return figure


def _plot_excess(
    axes: Axes, part: FamilyExcess | None, at: float, colour: str, *, filled: bool
) -> None:
    """One excess with its interval, if there is one."""
    if part is None:
        return
    if part.interval is not None:
        axes.plot([*part.interval], [at, at], color=colour, lw=2, alpha=0.5)
    face = colour if filled else "white"
    axes.plot(part.excess, at, "o", mfc=face, mec=colour, mew=1.6, ms=6.5)
