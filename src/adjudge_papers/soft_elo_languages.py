"""Languages in the Soft-Elo paper: appendix E, Table 6, Figures 5 and 10.

Errors are measured on the prompts that all judges of a corpus scored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adjudge.data.battles import Battles
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Table
from adjudge.present.figure import ACCENT, INK, MUTED, new_figure
from adjudge.present.result import Correlation, Count, NotNegative, Proportion
from adjudge.present.text import percent
from adjudge.ranking import fit_temperature, rank_correlations, soft_targets
from adjudge.ranking.bradley_terry import target_battles, wins_table
from adjudge.ranking.targets import agreement_share
from adjudge.statistics.bradley_terry import fit_strengths, to_elo
from adjudge.statistics.numbers import mean_known
from adjudge.validation import FloatArray, IntArray
from adjudge_papers.items import (
    ItemBook,
    count_where,
    cut_of,
    ends_of,
    less,
    over,
    read_rows,
)
from adjudge_papers.soft_elo_exhibits import (
    GALLERY,
    MAIN,
    PAPER,
    Column,
    add_legend,
    combine,
    corpus_look,
    name_rows,
    percents_of,
    range_title,
    tabulate,
)
from adjudge_papers.soft_elo_runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from adjudge_papers.soft_elo import SoftEloReproduction

#: Languages with fewer shared prompts than this are left out of Table 6.
_FEWEST_PROMPTS = 50
_MOST_LANGUAGES = 40


@dataclass(frozen=True, kw_only=True)
class LanguageRow:
    """One language, averaged over the judges of the corpus (Table 6, Figure 10).

    `prompts` are those that every judge scored. `own_beta` is fitted on the language's own votes,
    `own_beta_mae` the error with it; `*_sd` is over judges.
    """

    corpus: str
    language: str
    prompts: Count
    judges: Count
    hard_mae: NotNegative
    soft_mae: NotNegative
    hard_spearman: Correlation | None
    soft_spearman: Correlation | None
    own_beta: float | None = None
    own_beta_sd: NotNegative | None = None
    own_beta_mae: NotNegative | None = None
    mean_score: float | None = None
    mean_score_sd: NotNegative | None = None
    agreement: Proportion | None = None
    agreement_sd: NotNegative | None = None
    published_prompts: Count | None = None
    published_hard_mae: float | None = None
    published_soft_mae: float | None = None
    published_hard_spearman: Correlation | None = None
    published_soft_spearman: Correlation | None = None


def tables(result: SoftEloReproduction) -> list[Table]:
    """Table 6, then a temperature for each language, and whether it helps; none without rows."""
    if not result.languages:
        return []
    several = len({row.corpus for row in result.languages}) > 1
    rows = [
        (f"{row.language} {row.corpus}" if several else row.language, [row])
        for row in result.languages
    ]
    by_language = tabulate(
        "By language, on prompts that every judge scored, means over judges, Table 6",
        "language",
        rows,
        Column("prompts", "prompts", 0),
        Column("judges", "judges", 0),
        Column("error hard", "hard_mae", 1),
        Column("error soft", "soft_mae", 1),
        Column("rho hard", "hard_spearman", 3),
        Column("rho soft", "soft_spearman", 3),
    )
    own_betas = tabulate(
        "A beta for each language, means over judges, appendix E",
        "language",
        rows,
        Column("|s|", "mean_score", 2),
        Column("agreement", "agreement", percent),
        Column("own beta", "own_beta", 2),
        Column("sd", "own_beta_sd", 2),
        Column("error, pooled", "soft_mae", 1),
        Column("error, own", "own_beta_mae", 1),
        compare=False,
    )
    return [by_language, own_betas]


def add_items(book: ItemBook, result: SoftEloReproduction) -> None:
    """Figure 5 and appendix E."""
    counts = result.language_counts
    main = counts.get(MAIN) or next(iter(counts.values()), {})
    missing = "" if main else "the rows do not name languages"
    english = 100 * main.get("en", 0) / sum(main.values()) if main else None
    book.add("Figure 5", {"languages": float(len(main)), "English, %": english}, missing=missing)
    rows = _main_languages(result) or list(result.languages)
    if not rows:
        missing = missing or "no language has 50 prompts that all judges scored"
    cuts = ends_of("error cut, %", combine(rows, cut_of, "hard_mae", "soft_mae"))
    book.add("Table 6", {"languages": float(len(rows)), **cuts}, missing=missing)
    agreement = ends_of("agreement, %", percents_of(rows, "agreement"))
    book.add("Figure 10", agreement, missing=missing)
    changes = combine(rows, less, "own_beta_mae", "soft_mae")
    book.add(
        "Appendix E",
        {
            "languages within 5 Elo of the pooled beta": count_where(
                changes, lambda change: abs(change) <= 5
            ),
            "largest rise of the error": over(changes, max),
        },
        missing=missing,
    )


def _main_languages(result: SoftEloReproduction) -> list[LanguageRow]:
    return [row for row in result.languages if row.corpus == MAIN]


# --- prompts ---------------------------------------------------------------------------------


def count_languages(runs: Sequence[Run]) -> dict[str, int]:
    """Distinct prompts of each language over all judges of a corpus, most first (Figure 5)."""
    spoken: dict[str, str] = {}
    for run in runs:
        if run.has("language"):
            pairs = zip(run.prompts, run.frame["language"], strict=True)
            spoken |= {prompt: language for prompt, language in pairs if language is not None}
    return dict(Counter(spoken.values()).most_common())


@GALLERY.add("figure-05", "Prompts of each language in each corpus.")
def figure_5(result: SoftEloReproduction) -> Drawing:
    counts = {name: prompts for name, prompts in result.language_counts.items() if prompts}
    if not counts:
        raise ArgumentError("figure", "figure-05", "the rows do not name languages")
    total = sum((Counter(prompts) for prompts in counts.values()), Counter[str]())
    names = sorted(total, key=lambda name: (-total[name], name))[:_MOST_LANGUAGES]
    step = 0.8 / len(counts)
    figure = new_figure(7.8, max(3.6, 0.3 * len(names) + 1.6))
    axes = figure.subplots()
    name_rows(axes, names)
    for k, (corpus, prompts) in enumerate(counts.items()):
        axes.barh(
            np.arange(len(names)) + step * (k - (len(counts) - 1) / 2),
            [prompts.get(name, 0) for name in names],
            height=0.92 * step,
            color=corpus_look(corpus)["color"],
            label=result.corpus_name(corpus),
        )
    axes.set_xscale("log")
    axes.set_xlim(left=1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("prompts")
    first = counts.get(MAIN) or next(iter(counts.values()))
    share = 100 * max(first.values()) / sum(first.values())
    more = f", the {len(names)} largest" if len(total) > len(names) else ""
    axes.set_title(f"{len(total)} languages{more}; {share:.0f} % are {next(iter(first))}")
    add_legend(axes, "lower right")
    return figure


# --- errors ----------------------------------------------------------------------------------


def language_rows(runs: Sequence[Run], *, compare: bool) -> tuple[LanguageRow, ...]:
    """Table 6 and Figure 10 for one corpus: means over its judges, the largest language first.

    With `compare`, rows of the paper's corpus have its numbers.
    """
    runs = [run for run in runs if run.has("language")]
    if not runs:
        return ()
    everyone = set.intersection(*({*run.prompts} for run in runs))
    judges: dict[str, list[dict[str, float | None]]] = {}
    prompts: Counter[str] = Counter()
    for run in runs:
        if run.beta is None:
            continue
        reference = _fit_elo(run.battles, run.human, run.l2)
        spoken = run.frame["language"].cast(pl.String)
        rows = pl.DataFrame({"prompt": run.prompts, "language": spoken}).with_row_index()
        rows = rows.filter(pl.col("prompt").is_in(list(everyone)))
        prompts = Counter(rows.unique("prompt")["language"].drop_nulls().to_list())
        for language, n in prompts.items():
            if n >= _FEWEST_PROMPTS:
                inside = rows.filter(pl.col("language") == language)["index"].to_numpy()
                measured = _measure_language(run, inside.astype(np.int64), run.beta, reference)
                judges.setdefault(language, []).append(measured)
    published = read_rows(PAPER["languages"]) if compare and runs[0].corpus == MAIN else []
    paper = {
        row.pop("language"): {f"published_{name}": value for name, value in row.items()}
        for row in published
    }
    averaged = [
        LanguageRow(
            corpus=runs[0].corpus,
            language=language,
            prompts=prompts[language],
            judges=len(measured),
            **_average(measured),
            **paper.get(language, {}),
        )
        for language, measured in judges.items()
        if all(judge["hard_mae"] is not None for judge in measured)
    ]
    return tuple(sorted(averaged, key=lambda row: (-row.prompts, row.language)))


def _measure_language(
    run: Run, rows: IntArray, beta: float, reference: FloatArray
) -> dict[str, float | None]:
    """One judge on one language: error and rank fidelity, its own beta, |s| and agreement."""
    battles = run.battles.take(rows)
    score, human, verdict = run.score[rows], run.human[rows], run.verdict[rows]

    def compare(target: FloatArray) -> tuple[float | None, float | None]:
        """Mean error and Spearman's rho of one fit compared with people's global Elo."""
        elo = _fit_elo(battles, target, run.l2)
        both = np.isfinite(elo) & np.isfinite(reference)
        if not both.any():
            return None, None
        error = float(np.abs(elo - reference)[both].mean())
        return error, rank_correlations(elo[both], reference[both])[1]

    hard_mae, hard_spearman = compare(verdict)
    soft_mae, soft_spearman = compare(soft_targets(score, beta))
    own = fit_temperature(score, human).beta
    sizes = np.abs(score[np.isfinite(score)])
    return {
        "hard_mae": hard_mae,
        "soft_mae": soft_mae,
        "hard_spearman": hard_spearman,
        "soft_spearman": soft_spearman,
        "own_beta": own,
        "own_beta_mae": compare(soft_targets(score, own))[0] if own and own > 0 else None,
        "mean_score": float(sizes.mean()) if len(sizes) else None,
        "agreement": agreement_share(verdict, human)[0],
    }


def _fit_elo(battles: Battles, target: FloatArray, l2: float) -> FloatArray:
    """Elo of every model by one fit; NaN for models without a battle."""
    used, y = target_battles(battles, target)
    wins = wins_table(used.a, used.b, y, used.n_models)
    seen = (wins.sum(axis=0) + wins.sum(axis=1)) > 0
    return np.where(seen, to_elo(fit_strengths(wins, l2=l2)), np.nan)


def _average(measured: Sequence[dict[str, float | None]]) -> dict[str, Any]:
    """Means over judges, with standard deviations if the paper shows them."""
    means: dict[str, Any] = {}
    for name in measured[0]:
        known = [value for judge in measured if (value := judge[name]) is not None]
        means[name] = mean_known(known)
        if name in ("own_beta", "mean_score", "agreement"):
            means[f"{name}_sd"] = float(np.std(known, ddof=1)) if len(known) > 1 else None
    return means


@GALLERY.add("figure-10", "Mean |s| and agreement by language.")
def figure_10(result: SoftEloReproduction) -> Drawing:
    if not result.languages:
        raise ArgumentError("figure", "figure-10", "no language has 50 prompts of all judges")
    corpus = result.languages[0].corpus
    rows = _main_languages(result) or [row for row in result.languages if row.corpus == corpus]
    figure = new_figure(max(8.0, 0.7 * len(rows) + 4), 4.4)
    left, right = figure.subplots(1, 2)
    for axes, scale, field in ((left, 1, "mean_score"), (right, 100, "agreement")):
        _draw_languages(axes, rows, field, scale)
    left.set_ylabel("mean |s|")
    left.set_title(range_title("Mean |s|", [row.mean_score for row in rows], 2))
    right.axhline(50, color=MUTED, lw=1, ls="--")
    right.set_ylim(0, 100)
    right.set_ylabel("people take the judge's side, %")
    right.set_title(range_title("Agreement, %,", percents_of(rows, "agreement"), 0))
    return figure


def _draw_languages(axes: Axes, rows: Sequence[LanguageRow], field: str, scale: float) -> None:
    heights, spread = (
        [scale * (getattr(row, name) or 0.0) for row in rows] for name in (field, f"{field}_sd")
    )
    places = range(len(rows))
    axes.bar(places, heights, width=0.7, color=ACCENT, alpha=0.8)
    axes.errorbar(places, heights, yerr=spread, fmt="none", color=INK, capsize=3, lw=1.2)
    axes.set_xticks(places, [row.language for row in rows])
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("language, most prompts first (± one std. deviation over judges)")
