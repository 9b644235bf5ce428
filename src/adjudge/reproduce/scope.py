"""SCOPE (arXiv 2602.13110): its protocol on data you have and on the simulator.

MT-Bench, RewardBench and Chatbot Arena are not shipped. Give judgments of them (or the pairs and
a judge), and the paper's figures are printed next to yours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from adjudge._validation import count
from adjudge.errors import ArgumentError
from adjudge.io import (
    FORMATS,
    kinds_of,
    open_judgments,
    read_judgments,
    read_pairs,
    read_public,
    sniff,
)
from adjudge.io.tables import Table, TableLike, source_name
from adjudge.judges import judge_pairs
from adjudge.results.evaluation import PublishedRisk, ReproducedSet, ScopeReproduction
from adjudge.selection import evaluate
from adjudge.simulate.selective import two_order_judge

SIMULATOR = "simulator"
_MT, _RB, _CA = "mt-bench", "rewardbench", "chatbot-arena"


#: Table 3 and Figure 2 (1,000 splits, N = 2,000), as far as the paper's text and a published
#: summary of it give them.
PUBLISHED = tuple(
    PublishedRisk(
        dataset=dataset, judge=judge, method=method, alpha=alpha, coverage=share, risk=risk
    )
    for dataset, judge, method, alpha, share, risk in (
        (_MT, "Qwen2.5-7B", "vanilla", 0.10, 1.000, 0.269),
        (_MT, "Qwen2.5-7B", "heuristic", 0.10, 0.907, 0.251),
        (_MT, "Qwen2.5-7B", "naive", 0.10, 0.102, 0.116),
        (_MT, "Qwen2.5-7B", "scope", 0.05, 0.018, None),
        (_MT, "Qwen2.5-7B", "scope", 0.10, 0.246, 0.097),
        (_MT, "Qwen2.5-7B", "scope", 0.15, 0.556, None),
        (_MT, "Qwen2.5-7B", "scope", 0.20, 0.802, None),
        (_MT, "Qwen2.5-7B", "scope", 0.25, 0.991, None),
        (_MT, "Qwen2.5-14B", "naive", 0.10, None, 0.124),
        (_MT, "Llama-3.1-70B", "scope", 0.05, 0.072, None),
        (_MT, "Llama-3.1-70B", "scope", 0.10, 0.543, None),
        (_MT, "Llama-3.1-70B", "scope", 0.15, 0.790, None),
        (_MT, "Llama-3.1-70B", "scope", 0.20, 0.950, None),
        (_MT, "Llama-3.1-70B", "scope", 0.25, 1.000, None),
        (_RB, "Qwen2.5-14B", "scope", 0.10, 0.89, None),
        (_RB, "Qwen2.5-32B", "vanilla", 0.10, 1.000, 0.120),
        (_RB, "Qwen2.5-32B", "scope", 0.10, 0.983, 0.098),
        (_CA, "Qwen2.5-7B", "scope", 0.05, 0.052, None),
        (_CA, "Qwen2.5-7B", "scope", 0.25, 0.998, None),
        (_CA, "Qwen2.5-14B", "naive", 0.10, None, 0.114),
        (_CA, "Llama-3.1-70B", "scope", 0.10, 0.583, 0.099),
    )
)
NOTES = (
    "as in the paper, vanilla, heuristic and naive use one random order, scope both",
    "published risk is the mean error share over splits; the paper's theorem speaks of the ratio, "
    "which has its own column here and can be above alpha",
    "published figures are those of the paper's text and of a summary of it, which alone has the "
    "vanilla and heuristic rows, Qwen2.5-32B's risks and Llama-3.1-70B on Chatbot Arena; for "
    "Qwen2.5-7B at alpha 0.05 the text has coverage 0.018 on MT-Bench, the summary 2.4 % without "
    "naming the data",
)


def reproduce_scope(
    data: Mapping[str, TableLike] | None = None,
    *,
    judge: str | None = None,
    n: int = 2000,
    splits: int = 1000,
    seed: int = 0,
    **asking: Any,
) -> ScopeReproduction:
    """Ties dropped, `n` items sampled, 1,000 splits in halves, alphas 0.05 to 0.25, all methods.

    `data` maps a name (mt-bench, rewardbench, chatbot-arena or your own) to judgments with
    labels, or to pairs with labels that `judge` is then asked about (`asking`: what `judge_pairs`
    takes, a store for example), in our format or as published. The simulator always runs, so that
    the protocol can be seen to work without any data: its figures are no paper's.

    >>> done = reproduce_scope(n=200, splits=20)
    >>> [(one.dataset, one.n_sampled) for one in done.datasets]
    [('simulator', 200)]
    """
    count(n, "n", least=20)
    simulated = read_judgments(two_order_judge(n, seed=seed))
    simulated = simulated.with_columns(judge=pl.lit("simulated"))
    sets = [_reproduce(SIMULATOR, SIMULATOR, simulated, n, n, splits, seed)]
    for name, source in (data or {}).items():
        frame, available = _judgments(name, source, judge, n, seed, asking)
        sets.append(_reproduce(name, source_name(source), frame, available, n, splits, seed))
    return ScopeReproduction(
        n_wanted=n,
        splits=splits,
        seed=seed,
        datasets=tuple(sets),
        published=PUBLISHED,
        notes=NOTES,
    )


def _judgments(
    name: str, source: TableLike, judge: str | None, n: int, seed: int, asking: Mapping[str, Any]
) -> tuple[pl.DataFrame, int]:
    """Decided rows, of a judge that was asked about a sample of them if need be; how many items."""
    format = sniff(source)
    if format == "judgments" or (judge is None and "judgments" in kinds_of(format)):
        decided = _decided(name, open_judgments(source).frame)
        return decided, decided.get_column("id").n_unique()
    if judge is None:
        raise ArgumentError(
            "data", name, "holds pairs, not judgments: also give a --judge to ask about them"
        )
    if format is None or format not in FORMATS:
        pairs = read_pairs(source)
    else:
        pairs = read_public(source, format, kind="pairs", seed=seed).frame
    decided = _decided(name, pairs)
    asked = judge_pairs(_sample(decided, n, seed), judge=judge, **asking)
    return read_judgments(asked.judgments), decided.height


def _decided(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    if "label" not in frame.columns:
        raise ArgumentError("data", name, "has no human labels in a column called label")
    return frame.filter(pl.col("label").is_in(["A", "B"]))


def _reproduce(
    name: str, source: str, frame: pl.DataFrame, available: int, n: int, splits: int, seed: int
) -> ReproducedSet:
    kept = _sample(frame.select("id").unique(maintain_order=True), n, seed)
    rows = frame.join(kept, on="id", how="semi", maintain_order="left")
    # The paper splits by item; repeated prompts are not held together.
    table = Table(frame=rows, name=source)
    evaluation = evaluate(table, splits=splits, cluster=None, seed=seed)
    return ReproducedSet(
        dataset=name, n_available=available, n_sampled=kept.height, evaluation=evaluation
    )


def _sample(rows: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    ordered = rows.sort("id")
    if ordered.height <= n:
        return ordered
    pick = np.random.default_rng(seed).permutation(ordered.height)[:n]
    return ordered[sorted(pick.tolist())]
