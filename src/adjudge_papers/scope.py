"""SCOPE (arXiv 2602.13110): its protocol on data you have, or on a simulator.

MT-Bench, RewardBench and Chatbot Arena are not included. If you give judgments of them (or the
pairs and a judge), the paper's figures are printed next to yours. Without data, simulated judgments
of the same shape are used. `scope_items` lists the outcome of every table and figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from adjudge.data import (
    FORMATS,
    kinds_of,
    open_judgments,
    read_judgments,
    read_pairs,
    read_public,
    sniff,
)
from adjudge.data.tables import Table, TableLike, source_name
from adjudge.errors import ArgumentError, UnusableRepliesError
from adjudge.judges import judge_pairs
from adjudge.judges.options import OneJudge
from adjudge.selection import evaluate
from adjudge.selection.doubts.signals import coin_vote, has_both_orders
from adjudge.selection.evaluating import measure_quality
from adjudge.selection.labelled import read_labelled
from adjudge.validation import count
from adjudge_papers import scope_published as published
from adjudge_papers.scope_items import list_items
from adjudge_papers.scope_result import ReproducedSet, ScopeReproduction
from adjudge_papers.simulated_benchmarks import simulate_benchmarks

#: The paper's protocols; swap and vote uses the two orders of the first.
PROTOCOLS = ("preference", "verbalized", "annotators")
#: The paper's methods; `evaluate` has every guarantee.
METHODS = ("vanilla", "heuristic", "naive", "scope")
#: Demonstrations that personas are made from: at most as many as in the paper, at most a fifth.
_POOL, _POOL_SHARE, _PER_PERSONA = 50, 5, 5


@dataclass(frozen=True)
class _Source:
    """Labelled judgments of one data set, its number of items, and warnings."""

    name: str
    frame: pl.DataFrame
    available: int
    file: str
    warnings: tuple[str, ...] = ()


def reproduce_scope(
    data: Mapping[str, TableLike] | None = None,
    *,
    judge: OneJudge | None = None,
    n: int = 2000,
    splits: int = 1000,
    seed: int = 0,
    **asking: Any,
) -> ScopeReproduction:
    """Ties dropped, `n` items sampled, 1,000 splits in halves, alphas 0.05 to 0.25, all methods.

    `data` maps a name (mt-bench, rewardbench, chatbot-arena or your own) to judgments with labels,
    or to pairs with labels that `judge` is then asked about, in our format or as published. The
    judge is asked by every protocol of the paper: preference in both orders, verbalized confidence,
    and simulated annotators, whose demonstrations (50 pairs, or a fifth if there are few) are in
    neither calibration nor test. `asking` are options of `judge_pairs`, for example a store.
    Without data, judgments of the paper's shape are simulated; their figures are not the paper's.

    >>> done = reproduce_scope(n=100, splits=20)
    >>> done.simulated, [one.dataset for one in done.datasets]
    (True, ['mt-bench', 'rewardbench', 'chatbot-arena'])
    """
    count(n, "n", least=10)
    if data:
        sources = [_open(name, table, judge, n, seed, asking) for name, table in data.items()]
    elif judge is not None:
        raise ArgumentError("judge", str(judge), "give the pairs to ask it about: --data NAME=FILE")
    else:
        sources = [
            _Source(one.name, read_judgments(one.frame), n, "simulator")
            for one in simulate_benchmarks(n, seed=seed)
        ]
    done = ScopeReproduction(
        n_wanted=n,
        splits=splits,
        seed=seed,
        datasets=tuple(_reproduce(source, n, splits, seed) for source in sources),
        published=published.RISKS,
        published_qualities=published.QUALITIES,
        simulated=not data,
        notes=published.NOTES,
        warnings=tuple(line for source in sources for line in source.warnings),
    )
    return replace(done, items=list_items(done))


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
    if format == "judgments" or (judge is None and "judgments" in kinds_of(format)):
        decided = _decided(name, open_judgments(table).frame)
        return _Source(name, decided, decided.get_column("id").n_unique(), file)
    if judge is None:
        raise ArgumentError(
            "data", name, "has pairs, not judgments: also give a --judge to ask about them"
        )
    if format is None or format not in FORMATS:
        pairs = read_pairs(table)
    else:
        pairs = read_public(table, format, kind="pairs", seed=seed).frame
    decided = _decided(name, pairs)
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
        own: dict[str, Any] = {}
        if protocol == "annotators":
            if pool.height < _PER_PERSONA:
                need = _PER_PERSONA * _POOL_SHARE
                warnings.append(f"{name}: annotators were not asked: they need {need} pairs")
                continue
            own["demonstrations"] = pool
        try:
            run = judge_pairs(sample, judge=judge, protocol=protocol, **asking, **own)
        except UnusableRepliesError as error:
            if protocol == PROTOCOLS[0]:
                raise
            warnings.append(f"{name}, {protocol}: {error}")
            continue
        rows.append(read_judgments(run.judgments))
    return pl.concat(rows, how="diagonal_relaxed"), tuple(warnings)


def _decided(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    if "label" not in frame.columns:
        raise ArgumentError("data", name, "has no human labels in the column label")
    return frame.filter(pl.col("label").is_in(["A", "B"]))


def _reproduce(source: _Source, n: int, splits: int, seed: int) -> ReproducedSet:
    kept = _sample(source.frame.select("id").unique(maintain_order=True), n, seed)
    rows = source.frame.join(kept, on="id", how="semi", maintain_order="left")
    # The paper splits by item; repeated prompts are not kept together.
    table = Table(frame=rows, name=source.file)
    judges = read_labelled(table, cluster=None).frame.partition_by(
        ["judge", "protocol"], maintain_order=True
    )
    return ReproducedSet(
        dataset=source.name,
        n_available=source.available,
        n_sampled=kept.height,
        evaluation=evaluate(table, methods=METHODS, splits=splits, cluster=None, seed=seed),
        coin_votes=tuple(
            measure_quality(coin_vote(own, seed=seed)) for own in judges if has_both_orders(own)
        ),
    )


def _sample(rows: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    ordered = rows.sort("id")
    if ordered.height <= n:
        return ordered
    pick = np.random.default_rng(seed).permutation(ordered.height)[:n]
    return ordered[sorted(pick.tolist())]
