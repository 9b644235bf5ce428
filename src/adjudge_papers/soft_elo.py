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
from statistics import fmean
from typing import Any, ClassVar

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Headline
from adjudge.present.result import frozen
from adjudge.present.text import count as count_of
from adjudge.present.text import number, percent
from adjudge.statistics.bradley_terry import DEFAULT_L2
from adjudge.validation import count, exact_level, positive
from adjudge_papers import soft_elo_measures as measures
from adjudge_papers.items import PaperItem
from adjudge_papers.paper import Reproduction, build_items, measured_tables, source_of, values_of
from adjudge_papers.printed import Row, paper_tables
from adjudge_papers.simulated_release import SimulatedRun
from adjudge_papers.soft_elo_figures import FRENCH, MAIN, NEWER, PICTURES
from adjudge_papers.soft_elo_measures import DRAWS

_TWO_CORPORA = "needs files of two corpora"


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
        gains = [1 - row["soft_mae"] / row["hard_mae"] for row in rows if row["hard_mae"]]
        gain = fmean(gains or [0.0])
        change = f"{'cut' if gain >= 0 else 'raise'} the held-out error by {percent(abs(gain), 0)}"
        text = f"Soft targets {change}, the mean over {runs}: {_write_means(rows)}"
        theirs = [row for _, row in table.matched(paper_tables(self.paper)["judges"])]
        paper = f"The paper has {_write_means(theirs)} for {len(theirs)} of them." if theirs else ""
        return Headline(text, self.caution or paper)


def _write_means(rows: Sequence[Row]) -> str:
    hard = fmean(values_of(rows, "hard_mae"))
    soft = fmean(values_of(rows, "soft_mae"))
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
        runs = measures.read_runs(source, l2=l2, seed=seed)
    elif isinstance(source, (str, Path)):
        runs = measures.ask_run(source, judge, prompts=prompts or {}, l2=l2, asking=asking)
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
        tables=measured_tables({t: (rows, data, measured) for t, rows in tables.items()}),
        warnings=tuple(warnings),
    )
    return replace(done, items=_items(done))


def _measure(runs: Sequence[measures.Run], **options: Any) -> tuple[measures.Tables, list[str]]:
    """Every table of every run, corpora in the paper's order, the largest error first."""
    order = {name: k for k, name in enumerate((MAIN, NEWER, FRENCH))}
    corpora: dict[str, list[measures.Run]] = {}
    for run in sorted(runs, key=lambda run: order.get(run.corpus, 9)):
        corpora.setdefault(run.corpus, []).append(run)
    tables: measures.Tables = {"judges": [], "languages": [], "prompts": []}
    warnings: list[str] = []
    main = MAIN if MAIN in corpora else next(iter(corpora), "")
    for corpus, judges in corpora.items():
        points = measures.family_points(judges)
        # The paper shows budgets of its main corpus.
        drawn = options | {"draws": options["draws"] if corpus == main else 0}
        for run in judges:
            measured, lines = measures.measure_run(run, **drawn)
            warnings += [f"{run.judge}, {corpus}: {line}" for line in lines]
            measured["judges"] = [{**row, **points[run.judge]} for row in measured["judges"]]
            for name, rows in measured.items():
                tables.setdefault(name, []).extend(rows)
        tables["languages"] += measures.language_rows(judges)
        tables["prompts"] += measures.count_languages(judges)
    tables["judges"].sort(
        key=lambda row: (order.get(row["corpus"], 9), -(row.get("hard_mae") or 0.0))
    )
    return tables, warnings


# --- items -----------------------------------------------------------------------------------


def _items(result: SoftEloReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; files that are not released count as its main corpus."""
    corpora = list(dict.fromkeys(row["corpus"] for row in result.rows("judges")))
    main = MAIN if MAIN in corpora or not corpora else corpora[0]
    missing = {} if len(corpora) > 1 else dict.fromkeys(("Figure 7", "Figure 16"), _TWO_CORPORA)
    picks = {"english": _english}
    names = {"main": main}
    return build_items("soft-elo", result.tables, names=names, picks=picks, missing=missing)


def _english(prompts: Sequence[Row]) -> list[float]:
    total = sum(row["prompts"] for row in prompts)
    return [100 * row["prompts"] / total for row in prompts if row["language"] == "en"] or [0.0]
