"""SCOPE (arXiv 2602.13110): its protocol on data you have, or on a simulator.

MT-Bench, RewardBench and Chatbot Arena are not included. If you give judgments of them (or the
pairs and a judge), the paper's figures are printed next to yours. Without data, simulated judgments
of the same shape are used. `scope_items` lists the outcome of every table and figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from adjudge.data import (
    FORMATS,
    Source,
    kinds_of,
    read_judgments,
    read_pairs,
    read_public,
    sniff,
)
from adjudge.data.tables import Table, TableLike, source_name
from adjudge.errors import ArgumentError, UnusableRepliesError
from adjudge.judges import judge_pairs
from adjudge.judges.options import OneJudge
from adjudge.present import blocks
from adjudge.present.blocks import Block, Headline, notes_of, table_of, warnings_of
from adjudge.present.result import (
    Check,
    Count,
    Level,
    Proportion,
    Repeats,
    frozen,
    not_empty,
    plain,
)
from adjudge.present.text import count as count_of
from adjudge.present.text import left_out, number, percent
from adjudge.selection import evaluate
from adjudge.selection.doubts.evidence import coin_vote, has_both_orders
from adjudge.selection.evaluating import (
    Evaluation,
    JudgeKey,
    MethodRisk,
    SignalQuality,
    measure_quality,
)
from adjudge.selection.labelled import read_labelled
from adjudge.validation import count
from adjudge_papers.items import read_published, read_rows
from adjudge_papers.reproduction import REHEARSAL, Reproduction, contains, costs_calls, size_of
from adjudge_papers.scope_figures import PICTURES, SIGNALS
from adjudge_papers.scope_items import list_items
from adjudge_papers.simulated_benchmarks import simulate_benchmarks

#: The paper's protocols; swap and vote uses the two orders of the first.
PROTOCOLS = ("preference", "verbalized", "annotators")
#: The paper's methods; `evaluate` has every guarantee.
METHODS = ("vanilla", "heuristic", "naive", "scope")
#: Demonstrations that personas are made from: at most as many as in the paper, at most a fifth.
_POOL, _POOL_SHARE, _PER_PERSONA = 50, 5, 5
#: The alpha of the paper's Table 3, and the method that its Figure 2 shows at every alpha.
_TABLE_3, _FIGURE_2 = 0.10, "scope"
_SIMULATED = (
    "Simulated judgments of the paper's shape: judges and numbers are invented. Compare the "
    "pattern with the paper's, not the numbers."
)


class _Published:
    dataset: str | None
    judge: str

    def is_of(self, dataset: str, judge: str) -> bool:
        """Whether these names contain its data set, if it has one, and its judge's name."""
        named = self.dataset is None or contains(dataset, self.dataset)
        return named and contains(judge, self.judge)


@dataclass(frozen=True, kw_only=True)
class PublishedRisk(_Published):
    """Coverage and error share in the paper; None if its text does not give the number."""

    dataset: str
    judge: str
    method: str
    alpha: Level
    coverage: Proportion | None
    risk: Proportion | None


@dataclass(frozen=True, kw_only=True)
class PublishedQuality(_Published):
    """The quality of a signal in the paper; without a data set if the text does not name it."""

    dataset: str | None
    judge: str
    signal: str
    ece: Proportion | None
    auroc: Proportion | None
    auprc: Proportion | None


@dataclass(frozen=True, kw_only=True)
class ReproducedSet:
    """The paper's protocol on one data set: its rows, the sample, the results.

    `coin_votes` are swap and vote with a random verdict if the two votes disagree, for use if every
    pair needs a verdict.
    """

    dataset: str
    n_available: Count
    n_sampled: Count
    evaluation: Evaluation
    coin_votes: tuple[SignalQuality, ...] = ()

    @property
    def keys(self) -> list[JudgeKey]:
        """Every judge once, by size, asked for preference, or by its first protocol."""
        best: dict[str, JudgeKey] = {}
        for key in self.evaluation.judges:
            entropy = self.evaluation.main_signal(key).signal == "preference_entropy"
            if entropy or key[0] not in best:
                best[key[0]] = key
        return sorted(best.values(), key=lambda key: (size_of(key[0]) or 0, key[0]))

    @property
    def qualities(self) -> list[SignalQuality]:
        """Every signal of every judge and protocol, with swap and vote by random verdicts."""
        return [*self.evaluation.signals, *self.coin_votes]

    def rows_of(self, method: str, key: JudgeKey) -> list[MethodRisk]:
        """One method at every alpha, on the signal that the paper uses for it."""
        return [row for row in self.evaluation.paper_rows(key) if row.method == method]


@frozen
class ScopeReproduction(Reproduction):
    """The SCOPE paper's protocol on the given data, with its published figures.

    `simulated`: no data was given, and the truth of these rows is known.
    """

    kind: ClassVar[str] = "reproduction_scope"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("datasets"),)
    drawings = PICTURES
    listed = "Items of the paper"

    n_wanted: Count
    splits: Repeats
    datasets: tuple[ReproducedSet, ...]
    published: tuple[PublishedRisk, ...]
    published_qualities: tuple[PublishedQuality, ...] = ()
    simulated: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def cells(self) -> list[tuple[ReproducedSet, JudgeKey]]:
        """Every judge of every data set."""
        return [(reproduced, key) for reproduced in self.datasets for key in reproduced.keys]

    def _parts(self) -> Sequence[Mapping[str, Any]]:
        return [
            {"dataset": reproduced.dataset, **plain(row)}
            for reproduced in self.datasets
            for row in reproduced.evaluation.methods
        ]

    def headline(self) -> Headline:
        """Whether scope kept its mean error share, over all data sets, judges and alphas."""
        rows = [row for reproduced, key in self.cells for row in reproduced.rows_of(_FIGURE_2, key)]
        within = sum(row.within_alpha for row in rows)
        worst = max(rows, key=lambda row: row.risk - row.alpha)
        text = (
            f"{_FIGURE_2}'s mean error share over {self.splits:,} splits is at most alpha in "
            f"{within} of {count_of(len(rows), 'row')} "
            f"({count_of(len(self.datasets), 'data set')})"
        )
        if within < len(rows):
            text += f"; the furthest above is {worst.risk:.3f} at alpha {worst.alpha:g}"
        return Headline(text, _SIMULATED if self.simulated else "")

    def tables(self) -> list[Block]:
        """Per data set the quality of the signals, and Table 3 of every judge."""
        shown: list[Block] = []
        for reproduced in self.datasets:
            shown.append(_quality_table(self, reproduced))
            shown += [_risk_table(self, reproduced, key) for key in reproduced.keys]
            shown += notes_of(left_out(reproduced.evaluation.dropped))
        return shown

    def remarks(self) -> list[Block]:
        """Protocols that a judge could not answer, then notes about the paper."""
        return [*warnings_of(self.warnings), *super().remarks()]

    def can_draw(self, name: str) -> bool:
        """Every picture: a data set has all of its numbers."""
        return True


def reproduce_scope(
    data: Mapping[str, TableLike] | None = None,
    *,
    judge: OneJudge | None = None,
    sample: int = 2000,
    splits: int = 1000,
    seed: int = 0,
    **asking: Any,
) -> ScopeReproduction:
    """The tables and figures of the SCOPE paper.

    Ties dropped, `sample` items drawn, random halves, alphas 0.05 to 0.25, all methods. A judge is
    asked by every protocol of the paper: preference in both orders, verbalized confidence, and
    simulated annotators, whose demonstrations (50 pairs, or a fifth if there are few) are in
    neither calibration nor test.

    Args:
        data: Labelled judgments, or pairs to be judged, by name. Names with published figures:
            mt-bench, rewardbench, chatbot-arena. Pairs are in our format or as published. Without
            data, judgments of the paper's shape are simulated; their figures are not the paper's.
        judge: The judge to ask if a file holds pairs: in both orders, for its confidence, and as
            five annotators.
        sample: Items sampled from each data set.
        splits: Random 50/50 splits.
        seed: Seed of everything random.
        asking: Options of `judge_pairs`, for example a store.

    >>> done = reproduce_scope(sample=100, splits=20)
    >>> done.simulated, [reproduced.dataset for reproduced in done.datasets]
    (True, ['mt-bench', 'rewardbench', 'chatbot-arena'])
    """
    count(sample, "sample", least=10)
    count(splits, "splits", least=1)
    if data and costs_calls(judge):
        for name, table in data.items():
            source = _open(name, table, REHEARSAL, sample, seed, {"store": None})
            _reproduce(source, sample, 1, seed)
    if data:
        sources = [_open(name, table, judge, sample, seed, asking) for name, table in data.items()]
    elif judge is not None:
        raise ArgumentError("judge", str(judge), "give the pairs to ask it about: --data NAME=FILE")
    else:
        sources = [
            _Source(name, read_judgments(frame), sample, "simulator")
            for name, frame in simulate_benchmarks(sample, seed=seed).items()
        ]
    paper = read_published("scope")
    done = ScopeReproduction(
        n_wanted=sample,
        splits=splits,
        seed=seed,
        datasets=tuple(_reproduce(source, sample, splits, seed) for source in sources),
        published=tuple(PublishedRisk(**row) for row in read_rows(paper["risks"])),
        published_qualities=tuple(
            PublishedQuality(dataset=None, **row) for row in read_rows(paper["qualities"])
        ),
        simulated=not data,
        notes=tuple(paper["notes"]),
        warnings=tuple(line for source in sources for line in source.warnings),
    )
    return replace(done, items=list_items(done))


@dataclass(frozen=True)
class _Source:
    """Labelled judgments of one data set, its number of items, and warnings."""

    name: str
    frame: pl.DataFrame
    available: int
    file: str
    warnings: tuple[str, ...] = ()


def _open(
    name: str,
    table: TableLike,
    judge: OneJudge | None,
    n: int,
    seed: int,
    asking: Mapping[str, Any],
) -> _Source:
    """Decided rows; a judge is asked about a sample of them if needed."""
    format, file = sniff(table), source_name(table)
    judged = format == "judgments" or (judge is None and "judgments" in kinds_of(format))
    if judged:
        rows = Source(table).open("judgments").frame
    elif judge is None:
        raise ArgumentError(
            "data", name, "has pairs, not judgments: also give a --judge to ask about them"
        )
    elif format is None or format not in FORMATS:
        rows = read_pairs(table)
    else:
        rows = read_public(table, format, kind="pairs", seed=seed).frame
    if "label" not in rows.columns:
        raise ArgumentError("data", name, "has no human labels in the column label")
    decided = rows.filter(pl.col("label").is_in(["A", "B"]))
    if judged or judge is None:
        return _Source(name, decided, decided["id"].n_unique(), file)
    frame, warnings = _ask(name, decided, judge, n, seed, asking)
    return _Source(name, frame, decided.height, file, warnings)


def _ask(
    name: str, pairs: pl.DataFrame, judge: OneJudge, n: int, seed: int, asking: Mapping[str, Any]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The judge's rows by every protocol, and the protocols that it cannot answer."""
    pool = _sample(pairs, min(_POOL, pairs.height // _POOL_SHARE), seed)
    sample = _sample(pairs.join(pool, on="id", how="anti"), n, seed)
    rows, warnings = [], []
    for protocol in PROTOCOLS:
        personas: dict[str, Any] = {}
        if protocol == "annotators":
            if pool.height < _PER_PERSONA:
                need = _PER_PERSONA * _POOL_SHARE
                warnings.append(f"{name}: annotators were not asked: they need {need} pairs")
                continue
            personas["demonstrations"] = pool
        try:
            run = judge_pairs(sample, judge=judge, protocol=protocol, **asking, **personas)
        except UnusableRepliesError as error:
            if protocol == PROTOCOLS[0]:
                raise
            warnings.append(f"{name}, {protocol}: {error}")
            continue
        rows.append(read_judgments(run.judgments))
    return pl.concat(rows, how="diagonal_relaxed"), tuple(warnings)


def _reproduce(source: _Source, n: int, splits: int, seed: int) -> ReproducedSet:
    sample = _sample(source.frame.select("id").unique(maintain_order=True), n, seed)
    rows = source.frame.join(sample, on="id", how="semi", maintain_order="left")
    # The paper splits by item; repeated prompts are not kept together.
    table = Table(frame=rows, name=source.file)
    judges = read_labelled(table, cluster=None).frame.partition_by(
        ["judge", "protocol"], maintain_order=True
    )
    return ReproducedSet(
        dataset=source.name,
        n_available=source.available,
        n_sampled=sample.height,
        evaluation=evaluate(table, methods=METHODS, splits=splits, cluster=None, seed=seed),
        coin_votes=tuple(
            measure_quality(coin_vote(judge_rows, seed=seed))
            for judge_rows in judges
            if has_both_orders(judge_rows)
        ),
    )


def _sample(rows: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    ordered = rows.sort("id")
    if ordered.height <= n:
        return ordered
    pick = np.random.default_rng(seed).permutation(ordered.height)[:n]
    return ordered[sorted(pick.tolist())]


# --- tables ----------------------------------------------------------------------------------


def _quality_table(result: ScopeReproduction, reproduced: ReproducedSet) -> blocks.Table:
    """Tables 1 and 2: each metric with the paper's, if it has the judge and the signal."""
    order = list(SIGNALS)

    def place(quality: SignalQuality) -> tuple[float, str, int]:
        """Judges by size, signals in the order of the paper's tables."""
        at = order.index(quality.signal) if quality.signal in SIGNALS else len(order)
        return size_of(quality.judge) or 0.0, quality.judge, at

    rows = sorted(reproduced.qualities, key=place)
    theirs = {
        (s.judge, s.signal): p
        for s in rows
        for p in result.published_qualities
        if p.signal == s.signal and p.is_of(reproduced.dataset, s.judge)
    }

    def metric(name: str) -> dict[str, Callable[[SignalQuality], str]]:
        columns = {name.upper(): lambda s: number(getattr(s, name))}
        if theirs:
            columns[f"{name.upper()} paper"] = lambda s: number(
                getattr(theirs.get((s.judge, s.signal)), name, None)
            )
        return columns

    items = f"{reproduced.n_sampled:,} of {count_of(reproduced.n_available, 'item')} without ties"
    return table_of(
        rows,
        {
            "judge": lambda s: s.judge,
            "signal": lambda s: s.signal,
            "rows": lambda s: number(s.n),
            "no verdict": lambda s: number(s.n_no_verdict),
            "accuracy": lambda s: number(s.accuracy),
            **metric("ece"),
            **metric("auroc"),
            **metric("auprc"),
        },
        caption=f"{reproduced.dataset}: {items} (Tables 1 and 2)",
        text_columns=2,
        optional=("accuracy", "rows"),
    )


def _risk_table(
    result: ScopeReproduction, reproduced: ReproducedSet, key: JudgeKey
) -> blocks.Table:
    paper = {
        (p.method, p.alpha): p for p in result.published if p.is_of(reproduced.dataset, key[0])
    }
    cells = []
    for row in reproduced.evaluation.paper_rows(key):
        if row.alpha == _TABLE_3 or row.method == _FIGURE_2:
            theirs = paper.get((row.method, row.alpha))
            shares = [
                number(getattr(source, field, None))
                for field in ("coverage", "risk")
                for source in (row, theirs)
            ]
            above = percent(row.share_above, 0)
            cells.append((row.method, f"{row.alpha:g}", *shares, number(row.ratio), above))
    return blocks.Table(
        ("method", "alpha", "coverage", "paper", "error share", "paper", "ratio", "above alpha"),
        cells,
        caption=f"{reproduced.dataset}, {reproduced.evaluation.judge_name(key)} (Table 3; Figure 2 "
        "for scope)",
    )
