"""The Soft-Elo paper's protocol on the authors' released CSVs, one row per judge and corpus.

Expects the release's folder `data/`, or any folder of `annotations_*.csv`, or one such file:

    data/lmarena100k/annotations_qwen3_5_27b.csv, ...
    data/lmarena140k/..., data/comparia/...

or labelled pairs and a judge to ask about them. Without files it runs on simulated battles of the
same shape. The numbers are in `soft_elo_measures`, the pictures in `soft_elo_figures`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, ClassVar

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Headline
from adjudge.present.result import frozen
from adjudge.present.text import count as count_of
from adjudge.present.text import number, percent
from adjudge.statistics.bradley_terry import DEFAULT_L2
from adjudge.validation import count, exact_level, positive
from adjudge_papers.items import PaperItem
from adjudge_papers.paper import (
    Exhibits,
    MeasuredTable,
    Reproduction,
    Row,
    Stat,
    cut,
    ends,
    how_many,
    less,
    mean,
    middle,
    only,
    paper_tables,
    read_published,
    reduced,
    source_of,
    values_of,
)
from adjudge_papers.simulated_release import SimulatedRun
from adjudge_papers.soft_elo_bias_figures import PICTURES
from adjudge_papers.soft_elo_figures import FRENCH, MAIN, NEWER
from adjudge_papers.soft_elo_measures import (
    DRAWS,
    Tables,
    count_languages,
    family_points,
    language_rows,
    measure_run,
)
from adjudge_papers.soft_elo_runs import Run, ask_run, read_runs

_UNBOUNDED = "intervals are unbounded: too few models"
_ONE_ORDER = "the rows have the mean of both orders: the scores of each order are needed"
_TWO_CORPORA = "needs files of two corpora"
#: The judge of Figures 8 and 9, that of Figure 16, and those of Figures 3 and 6.
_ELSEWHERE, _REPRESENTATIVE, _BINS, _BUDGETS = (
    "Gemma4-26B-A4B", "GPT-OSS-120B", "Qwen3-32B", "Qwen3.5-27B",
)  # fmt: skip
_SIMULATED = (
    "Simulated battles of the release's shape: models, judges and numbers are invented. Compare "
    "the pattern with the paper's, not the numbers."
)


@frozen
class SoftEloReproduction(Reproduction):
    """The Soft-Elo paper's protocol on the released files, our numbers with the paper's."""

    kind: ClassVar[str] = "reproduction_soft_elo"
    paper: ClassVar[str] = "soft-elo"
    drawings = PICTURES
    main_table: ClassVar[str] = "judges"

    def headline(self) -> Headline:
        """By how much soft targets change the held-out error; the paper's on the same judges."""
        rows = [row for row in self.rows("judges") if row.get("soft_mae") is not None]
        table = self.table("judges")
        if not rows or table is None:
            return Headline("No judge could be compared with people", tone="bad")
        runs = count_of(len(rows), "run of a judge on a corpus", "runs of judges on corpora")
        text = f"{describe_change(rows)}, the mean over {runs}: {_write_means(rows)}"
        theirs = [row for _, row in table.matched(paper_tables(self.paper)["judges"])]
        paper = f"The paper has {_write_means(theirs)} for {len(theirs)} of them." if theirs else ""
        return Headline(text, _SIMULATED if self.is_simulated("judges") else paper)


def describe_change(rows: Sequence[Row]) -> str:
    """By how much soft targets change the held-out error, the mean over judges and corpora."""
    gains = values_of(rows, cut("hard_mae", "soft_mae"))
    if not gains:
        return "Held-out error"
    gain = fmean(gains) / 100
    verb = "cut" if gain >= 0 else "raise"
    return f"Soft targets {verb} the held-out error by {percent(abs(gain), 0)}"


def _write_means(rows: Sequence[Row]) -> str:
    hard, soft = (fmean(values_of(rows, field)) for field in ("hard_mae", "soft_mae"))
    return f"{number(hard, 1)} hard, {number(soft, 1)} soft"


def reproduce_soft_elo(
    source: str | Path | Sequence[SimulatedRun] | None = None,
    *,
    judge: str | None = None,
    prompts: Mapping[str, str | Path] | None = None,
    l2: float = DEFAULT_L2,
    alpha: float = 0.1,
    splits: int = 5,
    replicates: int = 20,
    draws: int = DRAWS,
    seed: int = 42,
    **asking: Any,
) -> SoftEloReproduction:
    """The tables and figures of the Soft-Elo paper.

    Leave-one-model-out Elo, conformal intervals, smoothing, temperature, languages, biases, with
    the paper's settings by default.

    Args:
        source: The release's data folder, a folder of annotations_*.csv, or one file; with `judge`,
            labelled pairs of models; without it, simulated battles of the same shape. The return
            value of `simulate_release` also works.
        judge: The judge to ask about the pairs: six criteria in both orders, 4,096 tokens.
        prompts: Your prompt file for the protocol rubric, for the paper's own wording.
        l2: Penalty l2 |theta|^2; 0.005 is the released code's.
        alpha: Error level of conformal intervals.
        splits: Random halves of the models.
        replicates: Resamples per model.
        draws: Random parts of the battles for each budget.
        seed: Seed of everything random.
        asking: Options of `judge_pairs`, for example a store.
    """
    l2 = positive(l2, "l2")
    exact_level(alpha)
    counts = {"splits": count(splits, "splits", least=1), "draws": count(draws, "draws", least=2)}
    counts["replicates"] = count(replicates, "replicates", least=2)
    if judge is None:
        runs = read_runs(source, l2=l2, seed=seed)
    elif isinstance(source, (str, Path)):
        runs = ask_run(source, judge, prompts=prompts or {}, l2=l2, asking=asking)
    else:
        raise ArgumentError("judge", judge, "give the pairs to ask it about")
    tables, warnings = _measure(runs, alpha=alpha, seed=seed, **counts)
    real = isinstance(source, (str, Path))
    measured = source_of(run.judge for run in runs) if real else "simulated"
    names = list(dict.fromkeys(run.corpus for run in runs))
    data = ", ".join(names) if real else "simulator"
    done = SoftEloReproduction(
        settings={"l2": l2, "alpha": alpha, **counts},
        seed=seed,
        tables=tuple(
            MeasuredTable(name=name, rows=tuple(rows), data=data, source=measured)
            for name, rows in tables.items()
        ),
        warnings=tuple(warnings),
    )
    return replace(done, items=_items(done))


def _measure(runs: Sequence[Run], **options: Any) -> tuple[Tables, list[str]]:
    """Every table of every run, corpora in the paper's order, the largest error first."""
    order = {name: k for k, name in enumerate((MAIN, NEWER, FRENCH))}
    corpora: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: order.get(run.corpus, 9)):
        corpora.setdefault(run.corpus, []).append(run)
    tables: Tables = {"judges": [], "languages": [], "prompts": []}
    warnings: list[str] = []
    main = MAIN if MAIN in corpora else next(iter(corpora), "")
    for corpus, judges in corpora.items():
        points = family_points(judges)
        # The paper shows budgets of its main corpus.
        drawn = options | {"draws": options["draws"] if corpus == main else 0}
        for run in judges:
            measured, lines = measure_run(run, **drawn)
            warnings += [f"{run.judge}, {corpus}: {line}" for line in lines]
            measured["judges"] = [{**row, **points[run.judge]} for row in measured["judges"]]
            for name, rows in measured.items():
                tables.setdefault(name, []).extend(rows)
        tables["languages"] += language_rows(judges)
        tables["prompts"] += count_languages(judges)
    tables["judges"].sort(
        key=lambda row: (order.get(row["corpus"], 9), -(row.get("hard_mae") or 0.0))
    )
    return tables, warnings


# --- items -----------------------------------------------------------------------------------


def _spread(field: str) -> Stat:
    return reduced(field, lambda known: stdev(known) if len(known) > 1 else 0.0)


def _ratio(one: str, other: str) -> Stat:
    return mean(lambda row: row[one] / row[other] if row.get(one) and row.get(other) else None)


def _size(one: str, other: str) -> Any:
    difference = less(one, other)

    def pick(row: Row) -> float | None:
        value = difference(row)
        return None if value is None else abs(value)

    return pick


def _items(result: SoftEloReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    rows = result.rows("judges")
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    # Files that are not from the release count as its main corpus.
    main = MAIN if MAIN in corpora or not corpora else corpora[0]
    book = Exhibits("soft-elo", result.tables)
    titles = read_published("soft-elo")["titles"]

    def add(name: str, stats: Mapping[str, Stat], corpus: str = main, **options: Any) -> None:
        book.add(name, "judges", stats, corpus=corpus, **options)

    def needs(field: str, reason: str, corpus: str = main) -> str:
        here = (row.get(field) is not None for row in rows if row["corpus"] == corpus)
        return "" if any(here) else reason

    add(
        "Table 1",
        ends("mean |s|", "mean_score")
        | ends("kappa", "kappa")
        | ends("Spearman", "hard_spearman")
        | ends("error", "hard_mae"),
    )
    errors = ends("error cut, %", cut("hard_mae", "soft_mae"))
    widths = ends("width cut, %", cut("hard_width", "soft_width"))
    add(
        "Table 2",
        {"mean error, hard": mean("hard_mae"), "mean error, soft": mean("soft_mae"), **errors}
        | ends("change of Spearman", less("soft_spearman", "hard_spearman")),
    )
    add(
        "Table 3",
        ends("coverage hard, %", "hard_coverage", 100)
        | ends("coverage soft, %", "soft_coverage", 100)
        | widths,
        unknown=_UNBOUNDED,
    )
    for corpus, figure in ((NEWER, "Figure 8"), (FRENCH, "Figure 9")):
        missing = "" if corpus in corpora else f"no files of {corpus}"
        add(f"Table 4, {titles[corpus]}", errors, corpus, missing=missing)
        cuts = widths | {"width cut, %, mean": mean(cut("hard_width", "soft_width"))}
        add(f"Table 5, {titles[corpus]}", cuts, corpus, missing=missing, unknown=_UNBOUNDED)
        add(
            figure,
            {
                "median width, hard": mean("hard_model_width"),
                "median width, soft": mean("soft_model_width"),
                "contain people's Elo, soft, %": mean("soft_contained", 100),
            },
            corpus,
            judge=_ELSEWHERE,
            missing=missing,
            unknown=_UNBOUNDED,
        )
    book.add(
        "Table 7",
        "judges",
        {f"mean ECE, {title}": mean(only("ece", corpus=name)) for name, title in titles.items()},
        unknown="no file is of one of the paper's corpora",
    )
    constants = ("0.55", "0.65", "0.75", "0.85", "0.95")
    add("Table 8", {f"c = {c}": mean(f"smoothed_{c}") for c in constants})
    add("Figure 1", {"models": reduced("models", max)})
    add("Figure 2", ends("correlation", "hard_correlation"))
    add(
        "Figure 3",
        {
            "agreement at the smallest |s|, %": mean("agreement_first", 100),
            "agreement at the largest |s|, %": mean("agreement_last", 100),
            "ECE at beta = 1": mean(only("raw_ece", judge=_BINS))
            if any(row["judge"] == _BINS for row in rows)
            else mean("raw_ece"),
            "ECE at the fitted beta": mean(only("ece", judge=_BINS))
            if any(row["judge"] == _BINS for row in rows)
            else mean("ece"),
        },
    )
    budgets = {
        f"{method}-elo, {n} battles per model": f"{method}_{name}"
        for method in ("hard", "soft")
        for name, n in (("few", 5), ("many", 200))
    }
    add("Figure 4", {f"mean error, {name}": mean(field) for name, field in budgets.items()})
    add(
        "Figure 6",
        ends("beta", "beta")
        | {f"median error, {name}": middle(field) for name, field in budgets.items()},
    )
    add("Figure 6b", {name: mean(field) for name, field in budgets.items()}, judge=_BUDGETS)
    missing = "" if len(corpora) > 1 else _TWO_CORPORA
    book.add(
        "Figure 7",
        "judges",
        {
            f"correlation of |s| and agreement, mean, {corpus}": mean(
                only("agreement_correlation", corpus=corpus)
            )
            for corpus in corpora
        },
        missing=missing,
    )
    add(
        "Figure 11",
        ends("first slot wins, %", "first_share", 100)
        | ends("verdict flips, %", "flip_share", 100)
        | {"first slot, points": mean("advantage")}
        | ends("first slot favoured, %", "first_favoured", 100)
        | {"difference of errors by order": mean(_size("first_mae", "second_mae"))},
        missing=needs("first_share", _ONE_ORDER),
    )
    add(
        "Figure 12",
        ends("longer wins, %", "longer_share", 100)
        | {"judges whose residual goes with length": how_many("length_p", lambda p: p < 0.05)},
        missing=needs("near_tied", "the rows have no lengths (len_a, len_b)"),
    )
    book.add(
        "Figure 13",
        "judges",
        ends("excess in points", "points_family")
        | {
            f"judges with an excess in Elo, {titles[corpus]}": how_many(
                only("hard_family", corpus=corpus), lambda excess: excess > 0
            )
            for corpus in (MAIN, NEWER)
        },
        unknown="no judge's family is known, or none has models here",
    )
    add(
        "Figure 14",
        {
            f"{method}, quarter {q}": mean(f"{method}_q{q}")
            for method in ("hard", "soft")
            for q in range(1, 5)
        }
        | {
            f"{method}, quarter 4, sd over judges": _spread(f"{method}_q4")
            for method in ("hard", "soft")
        },
        unknown="needs eight models",
    )
    add(
        "Figure 15",
        {
            "ECE, mean": mean("ece"),
            "ECE, median": middle("ece"),
            "agreement, least, %": reduced("agreement", min, 100),
        },
    )
    book.add(
        "Figure 16",
        "judges",
        {f"ECE, {corpus}": mean(only("ece", corpus=corpus)) for corpus in corpora},
        judge=_REPRESENTATIVE,
        missing=missing,
    )
    add(
        "Figure 17",
        {
            f"judges whose {field} falls": how_many(
                less(f"soft_{field}", f"hard_{field}"), lambda change: change < 0
            )
            for field in ("quantile", "width")
        },
        unknown=_UNBOUNDED,
    )
    add(
        "Appendix C",
        {
            "standard deviation over folds, most": reduced("fold_sd", max),
            "deviation from the pooled fit, mean": mean("mean_deviation"),
            "deviation from the pooled fit, most": reduced("largest_deviation", max),
            "change of error by the pooled fit, mean": mean(_size("pooled_mae", "soft_mae")),
            "change of error by the pooled fit, most": reduced(
                _size("pooled_mae", "soft_mae"), max
            ),
            "beta with ties / beta": _ratio("ties_beta", "pooled_beta"),
            "change of error with ties": mean(less("ties_mae", "soft_mae")),
            "change of Spearman with ties": mean(less("ties_spearman", "soft_spearman")),
        },
    )
    add("Appendix G", {"share, %": mean("contradictions", 100)})
    add(
        "Section 4.2",
        {
            "strongest among itself": mean("top_top"),
            "strongest against weakest": mean("top_bottom"),
        },
    )
    _add_languages(book, result, main)
    return book.items()


def _add_languages(book: Exhibits, result: SoftEloReproduction, main: str) -> None:
    """Figures 5 and 10, Table 6 and appendix E."""
    prompts = result.rows("prompts", corpus=main)
    missing = "" if prompts else "the rows do not name languages"
    english = sum(row["prompts"] for row in prompts if row["language"] == "en")
    total = sum(row["prompts"] for row in prompts)
    book.add(
        "Figure 5",
        "prompts",
        {
            "languages": lambda rows: float(len(rows)),
            "English, %": lambda rows: 100 * english / total,
        },
        corpus=main,
        missing=missing,
    )
    if not missing and not result.rows("languages", corpus=main):
        missing = "no language has 50 prompts that all judges scored"
    own = less("own_beta_mae", "soft_mae")
    for name, stats in (
        (
            "Table 6",
            {"languages": lambda rows: float(len(rows))}
            | ends("error cut, %", cut("hard_mae", "soft_mae")),
        ),
        ("Figure 10", ends("agreement, %", "agreement", 100)),
        (
            "Appendix E",
            {
                "languages within 5 Elo of the pooled beta": how_many(own, lambda c: abs(c) <= 5),
                "largest rise of the error": reduced(own, max),
            },
        ),
    ):
        book.add(name, "languages", stats, corpus=main, missing=missing)
