"""Temperature and calibration in the Soft-Elo paper: section 5.1, appendices C and G.

Table 7, Figures 3, 6, 7, 15 and 16.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Table
from adjudge.present.figure import ACCENT, GRID, INK, MUTED, WARM, new_figure, set_suptitle
from adjudge.present.result import Correlation, NotNegative
from adjudge.present.text import number, percent, signed
from adjudge.ranking import rank_correlations, soft_targets
from adjudge.ranking.evaluation import Residuals
from adjudge.ranking.evaluation_view import COLOUR, MARK, NAME, change_title
from adjudge.ranking.targets import Rule, decided_by_both, fixed_rule
from adjudge.ranking.temperature import AgreementBin, ReliabilityBin, temperature_with_ties
from adjudge.records import Interval
from adjudge.statistics.numbers import (
    binomial_interval,
    expected_calibration_error,
    mean_known,
    reliability_bins,
)
from adjudge.validation import FloatArray, IntArray
from adjudge_papers.items import ItemBook, ends_of, in_percent, less, over
from adjudge_papers.soft_elo_exhibits import (
    GALLERY,
    MAIN,
    METHODS,
    TITLES,
    Column,
    add_legend,
    combine,
    corpus_look,
    judges_named,
    name_rows,
    percents_of,
    range_title,
    short,
    shown_judge,
    values_of,
)
from adjudge_papers.soft_elo_ratings import budget_axes, budget_ticks, budget_values
from adjudge_papers.soft_elo_runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction, SoftEloRow

#: Figure 3a's bins of |s|; the last is open.
_AGREEMENT_EDGES = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
#: The judge that the paper shows across corpora.
_REPRESENTATIVE = "GPT-OSS-120B"
#: Bins with fewer battles are left out of Figure 7.
_FEWEST = 30
_STABLE = 0.05


def tables(result: SoftEloReproduction) -> list[Table]:
    """beta over folds, and what |s| says, if the rows have numbers for them."""
    two_signed = partial(signed, digits=2)
    return [
        result.judge_table(
            "beta over folds, pooled over all votes, and with ties at one half, appendix C",
            Column("beta", "stability.pooled", 3),
            Column("sd of folds", "stability.fold_sd", 4),
            Column("mean away", "stability.mean_deviation", 4),
            Column("farthest", "stability.largest_deviation", 4),
            Column("error", "soft_mae", 2),
            Column("error, pooled", "stability.pooled_mae", 2),
            Column("beta, ties half", "stability.with_ties", 3),
            Column("error, ties half", "stability.with_ties_mae", 2),
            Column("rho, ties half", "stability.with_ties_spearman", 3),
            needs="stability",
            optional=("mean away", "rho, ties half"),
        ),
        result.judge_table(
            "What |s| says, residuals against strength, |s| by quarter: sections 4.2 and 4.3, "
            "appendix G",
            Column("agreement", "agreement_rate", percent),
            Column("r with |s|", "agreement_correlation", 3),
            Column("ECE, beta 1", "raw_ece", 3),
            Column("against own scores", "contradictions", percent),
            Column("r of residual, hard", "strength.hard_correlation", two_signed),
            Column("soft", "strength.soft_correlation", two_signed),
            Column("|s| top-top", "strength.top_top", 2),
            Column("top-bottom", "strength.top_bottom", 2),
            needs="strength",
            optional=("ECE, beta 1", "against own scores"),
        ),
    ]


def add_items(
    book: ItemBook, main: Sequence[SoftEloRow], rows: Mapping[str, Sequence[SoftEloRow]]
) -> None:
    """Section 5.1, appendices C and G, and Figure 7; `rows` are the judges of each corpus."""
    first, last = (
        [in_percent(row.agreement[end].agreement) for row in main if row.agreement]
        for end in (0, -1)
    )
    shown = judges_named("Qwen3-32B", main)
    book.add(
        "Figure 3",
        {
            "agreement at the smallest |s|, %": mean_known(first),
            "agreement at the largest |s|, %": mean_known(last),
            "ECE at beta = 1": mean_known(row.raw_ece for row in shown),
            "ECE at the fitted beta": mean_known(row.ece for row in shown),
        },
    )
    book.add(
        "Figure 6",
        ends_of("beta", (row.beta for row in main))
        | budget_values(judges_named("Qwen3.5-27B", main), "mean", fmean)
        | budget_values(main, "median", median),
    )
    pooled = combine(main, less, "stability.pooled_mae", "soft_mae")
    sizes = [abs(change) for change in pooled if change is not None]
    parts = [row.stability for row in main if row.stability is not None]
    farthest = values_of(parts, "largest_deviation")
    ratios = [part.with_ties / part.pooled for part in parts if part.with_ties is not None]
    with_ties = combine(main, less, "stability.with_ties_mae", "soft_mae")
    spearman = combine(main, less, "stability.with_ties_spearman", "soft_spearman")
    book.add(
        "Appendix C",
        {
            "standard deviation over folds, most": over(values_of(parts, "fold_sd"), max),
            "deviation from the pooled fit, mean": mean_known(values_of(parts, "mean_deviation")),
            "deviation from the pooled fit, most": over(farthest, max),
            "change of error by the pooled fit, mean": mean_known(sizes),
            "change of error by the pooled fit, most": over(sizes, max),
            "beta with ties / beta": mean_known(ratios),
            "change of error with ties": mean_known(with_ties),
            "change of Spearman with ties": mean_known(spearman),
        },
    )
    errors = [row.ece for row in main]
    book.add(
        "Figure 15",
        {
            "ECE, mean": mean_known(errors),
            "ECE, median": over(errors, median),
            "agreement, least, %": over(percents_of(main, "agreement_rate"), min),
        },
    )
    book.add(
        "Table 7",
        {
            f"mean ECE, {TITLES[corpus]}": mean_known(row.ece for row in judges)
            for corpus, judges in {**rows, MAIN: main}.items()
        },
    )
    several = sum(bool(judges) for judges in rows.values()) > 1
    missing = "" if several else "needs files of two corpora"
    shown = [row for judges in rows.values() for row in judges_named(_REPRESENTATIVE, judges)[:1]]
    book.add("Figure 16", {f"ECE, {row.corpus}": row.ece for row in shown}, missing=missing)
    book.add(
        "Figure 7",
        {
            f"correlation of |s| and agreement, mean, {corpus}": mean_known(
                row.agreement_correlation for row in judges
            )
            for corpus, judges in rows.items()
            if judges
        },
        missing=missing,
    )
    book.add("Appendix G", {"share, %": mean_known(percents_of(main, "contradictions"))})


# --- the fit of beta -------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BetaStability:
    """How beta depends on which models are left out, and on the value of a tie (appendix C).

    `pooled` is fitted on all votes, `pooled_mae` the held-out error with it in every fold;
    `with_ties` is beta with people's ties as one half, then its error and Spearman's rho.
    """

    pooled: float
    fold_sd: NotNegative
    mean_deviation: NotNegative
    largest_deviation: NotNegative
    pooled_mae: NotNegative | None
    with_ties: float | None
    with_ties_mae: NotNegative | None
    with_ties_spearman: Correlation | None


def beta_stability(run: Run, rule: Rule | None) -> BetaStability | None:
    """beta over folds, pooled, and with ties at one half; None without a positive beta."""
    if rule is None or rule.parameter is None or run.beta is None:
        return None
    folds = rule.parameter[np.isfinite(rule.parameter)]
    if len(folds) < 2:
        return None
    away = np.abs(folds - run.beta)
    with_ties = temperature_with_ties(run.score, run.human)
    half = _fix_beta(run, with_ties) if with_ties is not None and with_ties > 0 else None
    return BetaStability(
        pooled=run.beta,
        fold_sd=float(folds.std(ddof=1)),
        mean_deviation=float(away.mean()),
        largest_deviation=float(away.max()),
        pooled_mae=_fix_beta(run, run.beta).mae,
        with_ties=with_ties,
        with_ties_mae=None if half is None else half.mae,
        with_ties_spearman=None if half is None else rank_correlations(half.judge, half.human)[1],
    )


def _fix_beta(run: Run, beta: float) -> Residuals:
    """Residuals with the same beta in every fold."""
    return run.leave_out(fixed_rule("soft-elo", run.battles, soft_targets(run.score, beta)))


@GALLERY.add(
    "figure-06", "β from few battles against β from all, and the error of one judge by budget."
)
def figure_6(result: SoftEloReproduction) -> Drawing:
    rows = result.main_rows()
    row = shown_judge(rows, "Qwen3.5-27B")
    figure = new_figure(11.4, 4.8)
    left, right = figure.subplots(1, 2)
    _draw_settling(left, rows, result)
    ticks = sorted({budget.per_model for budget in row.budgets})
    lines = {}
    for method in METHODS:
        budgets = [budget for budget in row.budgets if budget.method == method]
        line = lines[method] = {budget.per_model: budget.mae for budget in budgets}
        mark, colour = MARK[method], COLOUR[method]
        right.plot(line.keys(), line.values(), marker=mark, color=colour, label=NAME[method])
    both = [tick for tick in ticks if all(tick in line for line in lines.values())]
    ends = [[line[tick] for tick in both] for line in lines.values()]
    right.fill_between(both, *ends, color=GRID, lw=0, zorder=0)
    if ticks:
        budget_axes(right, ticks)
    last = {method: line[both[-1]] for method, line in lines.items() if both}
    title = change_title(f"error at {both[-1]:g} battles each", last) if both else "error"
    right.set_title(f"{short(row.judge)}: {title}")
    return figure


def _draw_settling(axes: Axes, rows: Sequence[SoftEloRow], result: SoftEloReproduction) -> None:
    """beta of random parts of the battles minus that of all of them."""
    axes.axhspan(-_STABLE, _STABLE, color=GRID, lw=0, zorder=0)
    looks = result.judge_looks()
    ticks: set[float] = set()
    late: list[float] = []
    for row in rows:
        budgets = [budget for budget in row.budgets if budget.betas]
        if row.beta is None or not budgets:
            continue
        x = [budget.per_model for budget in budgets]
        means = [float(np.mean(budget.betas)) - row.beta for budget in budgets]
        look = looks[row.judge]
        for budget in budgets:
            away = [beta - row.beta for beta in budget.betas]
            axes.plot([budget.per_model] * len(away), away, ls="", ms=3, alpha=0.5, **look)
        axes.plot(x, means, ms=5, lw=1.6, label=short(row.judge), **look)
        ticks.update(x)
        late += [abs(mean) for tick, mean in zip(x, means, strict=True) if tick >= 50]
    budget_ticks(axes, sorted(ticks))
    axes.set_xlabel("judged battles per model (dots: random parts of the battles)")
    axes.set_ylabel("β − β of all battles (grey: ± 0.05)")
    add_legend(axes, fontsize=8)
    farthest = f"; at most {max(late):.3f} away from 50 battles on" if late else ""
    axes.set_title(f"β by budget{farthest}")


# --- agreement by |s| ------------------------------------------------------------------------


def _decided_battles(run: Run) -> tuple[FloatArray, IntArray]:
    """|s|, and 1 if people agree with the judge, of the battles in which both chose a side."""
    both = decided_by_both(run.verdict, run.human) & np.isfinite(run.score)
    return np.abs(run.score[both]), (run.verdict[both] == run.human[both]).astype(np.int64)


def agreement_by_size(run: Run) -> tuple[AgreementBin, ...]:
    """How often people agree with the judge by |s|, if both chose a side (Figure 3a)."""
    size, agree = _decided_battles(run)
    # (low, high], and a difference of 0 in the first bin.
    which = np.maximum(np.searchsorted(_AGREEMENT_EDGES, size, side="left") - 1, 0)
    bins = []
    for k in np.unique(which):
        sizes, agreed = size[which == k], agree[which == k]
        ends = binomial_interval(int(agreed.sum()), len(agreed), 0.95)
        bins.append(
            AgreementBin(
                low=_AGREEMENT_EDGES[k],
                high=float(sizes.max()),
                n=len(sizes),
                agreement=float(agreed.mean()),
                agreement_interval=Interval(*ends, level=0.95),
                predicted=float(expit((run.temperature.beta or 0.0) * sizes).mean()),
            )
        )
    return tuple(bins)


def contradictions(run: Run) -> float | None:
    """Share of decided verdicts for the side that the judge scored lower (appendix G)."""
    decided = np.isin(run.verdict, (0.0, 1.0)) & np.isfinite(run.score)
    if not decided.any():
        return None
    return float((np.sign(run.score[decided]) == 1 - 2 * run.verdict[decided]).mean())


@GALLERY.add(
    "figure-03", "Agreement with people grows with |s|; σ(|s|) is too sure until β is fitted."
)
def figure_3(result: SoftEloReproduction) -> Drawing:
    rows = result.main_rows()
    row = shown_judge(rows, "Qwen3-32B")
    figure = new_figure(11.4, 4.8)
    left, right = figure.subplots(1, 2)
    _draw_agreement(left, rows)
    _draw_diagonal(right)
    for bins, beta, ece, look in (
        (row.raw_reliability, 1.0, row.raw_ece, {"color": WARM, "marker": "s"}),
        (row.reliability, row.beta, row.ece, {"color": ACCENT, "marker": "o"}),
    ):
        label = f"β = {number(beta, 2)}, error {number(ece, 3)}"
        _plot_reliability(right, bins, label=label, **look)
    add_legend(right, "upper left")
    right.set_title(f"{short(row.judge)}: before and after fitting β")
    return figure


def _draw_agreement(axes: Axes, rows: Sequence[SoftEloRow]) -> None:
    starts = sorted({bin_.low for row in rows for bin_ in row.agreement})
    if not starts:
        raise ArgumentError("figure", "figure-03", "it takes battles that people and judge decided")
    heights = []
    for at, low in enumerate(starts):
        bins = [bin_ for row in rows for bin_ in row.agreement if bin_.low == low]
        shares = np.array([bin_.agreement for bin_ in bins])
        spread = float(shares.std(ddof=1)) if len(shares) > 1 else 0.0
        heights.append(float(shares.mean()))
        axes.bar(at, 100 * heights[-1], width=0.72, color=ACCENT, alpha=0.8)
        axes.errorbar(at, 100 * heights[-1], yerr=100 * spread, color=INK, capsize=3, lw=1.2)
        n = round(sum(bin_.n for bin_ in bins) / len(bins))
        axes.text(at, 3, f"n = {n:,}", ha="center", color="white", fontsize=8)
    axes.axhline(50, color=MUTED, lw=1, ls="--")
    edges = [f"{low:g} to {high:g}" for low, high in pairwise(starts)]
    axes.set_xticks(range(len(starts)), [*edges, f"over {starts[-1]:g}"])
    axes.set_ylim(0, 100)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("|s| (n: battles per judge; whiskers: standard deviation over judges)")
    axes.set_ylabel("people take the judge's side, %")
    first, last = percent(heights[0], 0), percent(heights[-1], 0)
    axes.set_title(f"Agreement goes from {first} at small |s| to {last} at large")


@GALLERY.add(
    "figure-07",
    "Agreement by |s| for each judge and corpus; a flat line is a score that says little.",
)
def figure_7(result: SoftEloReproduction) -> Drawing:
    judges = sorted({row.judge for row in result.rows})
    corpora = list(dict.fromkeys(row.corpus for row in result.rows))
    columns = min(4, len(judges))
    lines = -(-len(judges) // columns)
    figure = new_figure(2.7 * columns + 4.6, max(4.4, 2.6 * lines + 1.2))
    left, right = figure.subfigures(1, 2, width_ratios=[2.7 * columns, 4.4], squeeze=False)[0]
    panels = left.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).flat
    for axes, judge in zip(panels, judges, strict=False):
        axes.axhline(50, color=MUTED, lw=1, ls="--")
        for row in (row for row in result.rows if row.judge == judge):
            _plot_agreement(axes, row.agreement, row.corpus)
        axes.set_title(short(judge), fontsize=9)
    for axes in list(panels)[len(judges) :]:
        axes.set_axis_off()
    for corpus in corpora:
        panels[0].plot([], [], ms=4, label=result.corpus_name(corpus), **corpus_look(corpus))
    left.supxlabel("|s|, middle of the bin", fontsize=10)
    left.supylabel("people take the judge's side, %, ± SE", fontsize=10)
    left.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    _draw_correlations(right.subplots(), result.rows, judges, corpora)
    return figure


def _plot_agreement(axes: Axes, bins: Sequence[AgreementBin], corpus: str) -> None:
    shown = [bin_ for bin_ in bins if bin_.n >= _FEWEST]
    x = [(bin_.low + bin_.high) / 2 for bin_ in shown]
    y = np.array([bin_.agreement for bin_ in shown])
    error = 100 * np.sqrt(y * (1 - y) / np.array([bin_.n for bin_ in shown]))
    axes.errorbar(x, 100 * y, yerr=error, ms=3.5, lw=1.4, capsize=2, **corpus_look(corpus))


def _draw_correlations(
    axes: Axes, rows: Sequence[SoftEloRow], judges: Sequence[str], corpora: Sequence[str]
) -> None:
    name_rows(axes, judges)
    axes.axvline(0, color=MUTED, lw=1)
    known = {(row.corpus, row.judge): row for row in rows}
    step = 0.24
    for (k, corpus), (at, judge) in product(enumerate(corpora), enumerate(judges)):
        row = known.get((corpus, judge))
        if row is None or row.agreement_correlation is None:
            continue
        y = at + step * (k - (len(corpora) - 1) / 2)
        axes.barh(
            y, row.agreement_correlation, height=step * 0.9, color=corpus_look(corpus)["color"]
        )
        end = max(0.0, row.agreement_correlation)
        axes.text(end, y, f" β {number(row.beta, 2)}", va="center", fontsize=7.5)
    axes.set_xlim(right=1.18 * axes.get_xlim()[1])
    axes.set_xlabel("correlation of |s| with agreement")
    values = [row.agreement_correlation for row in rows]
    axes.set_title(range_title("Correlation", values, 2), fontsize=10)


# --- reliability -----------------------------------------------------------------------------


def raw_reliability(run: Run) -> tuple[tuple[ReliabilityBin, ...], float | None]:
    """The reliability of sigma(|s|), as if beta were 1 (Figure 3b), and its calibration error."""
    size, agree = _decided_battles(run)
    if not len(size):
        return (), None
    confidence = np.asarray(expit(size))
    bins = reliability_bins(confidence, agree, equal_mass=True)
    rows = tuple(
        ReliabilityBin(predicted=float(p), observed=float(o), n=int(n))
        for p, o, n in zip(bins.confidence, bins.accuracy, bins.count, strict=True)
    )
    return rows, expected_calibration_error(confidence, agree, equal_mass=True)


@GALLERY.add("figure-15", "Reliability of every judge; the dashed line is right.")
def figure_15(result: SoftEloReproduction) -> Drawing:
    errors = [(row.ece, row) for row in result.main_rows() if row.ece is not None]
    if not errors:
        raise ArgumentError("figure", "figure-15", "no judge has a positive beta")
    errors.sort(key=lambda entry: entry[0])
    columns = min(4, len(errors))
    lines = -(-len(errors) // columns)
    figure = new_figure(3.1 * columns + 0.6, 2.9 * lines + 1.0)
    panels = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).flat
    for axes, (_, row) in zip(panels, errors, strict=False):
        _draw_diagonal(axes)
        _plot_reliability(axes, row.reliability, color=ACCENT, marker="o")
        axes.set_xlabel("")
        axes.set_ylabel("")
        axes.set_title(f"{short(row.judge)}\n{_write_error(row)}", fontsize=9)
    for axes in list(panels)[len(errors) :]:
        axes.set_axis_off()
    figure.supxlabel("predicted: σ(β|s|) (dashed: equal)", fontsize=10)
    figure.supylabel("people take the judge's side, ± SE", fontsize=10)
    mean = sum(ece for ece, _ in errors) / len(errors)
    set_suptitle(figure, f"Calibration error {number(mean, 3)} on average over judges")
    return figure


@GALLERY.add("figure-16", "Reliability of one judge on every corpus.")
def figure_16(result: SoftEloReproduction) -> Drawing:
    drawn = [row for row in result.rows if row.reliability]
    if not drawn:
        raise ArgumentError("figure", "figure-16", "no judge has a positive beta")
    widest = Counter(row.judge for row in drawn).most_common(1)[0][0]
    judge = _REPRESENTATIVE if any(row.judge == _REPRESENTATIVE for row in drawn) else widest
    rows = [row for row in drawn if row.judge == judge]
    figure = new_figure(6.6, 5.2)
    axes = figure.subplots()
    _draw_diagonal(axes)
    for row in rows:
        name = result.corpus_name(row.corpus)
        label = f"{name}: β {number(row.beta, 2)}, {_write_error(row)}"
        _plot_reliability(axes, row.reliability, label=label, **corpus_look(row.corpus))
    add_legend(axes, "upper left", fontsize=8.5)
    worst = max(row.ece or 0.0 for row in rows)
    axes.set_title(f"{short(judge)}: calibration error at most {number(worst, 3)}")
    return figure


def _write_error(row: SoftEloRow) -> str:
    paper = row.published_ece
    theirs = "" if paper is None else f" (paper {number(paper, 3)})"
    return f"error {number(row.ece, 3)}{theirs}"


def _draw_diagonal(axes: Axes) -> None:
    axes.plot([0.5, 1], [0.5, 1], color=MUTED, lw=1, ls="--")
    axes.set_xlim(0.48, 1.02)
    axes.set_xlabel("predicted: σ(β|s|) (dashed: equal)")
    axes.set_ylabel("people take the judge's side, ± SE")


def _plot_reliability(axes: Axes, bins: Sequence[ReliabilityBin], **look: Any) -> None:
    """Shares with a standard error to either side."""
    x = np.array([bin_.predicted for bin_ in bins])
    y = np.array([bin_.observed for bin_ in bins])
    error = np.sqrt(y * (1 - y) / np.array([max(1, bin_.n) for bin_ in bins]))
    axes.errorbar(x, y, yerr=error, ms=4.5, lw=1.5, capsize=2, **look)
