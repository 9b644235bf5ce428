"""The reporting paper's protocol of section 8.2, on a table of your own."""

from __future__ import annotations

import numpy as np
import polars as pl

from adjudge._validation import BoolArray, FloatArray, count, open_unit
from adjudge.errors import DataError
from adjudge.estimation.misclassification import corrected_interval, corrected_rate
from adjudge.io.tables import TableLike, read_table, source_name
from adjudge.results.reporting import ProtocolRow, ReportingReproduction
from adjudge.rows.columns import tidy
from adjudge.rows.dropped import Rows

#: Table 2: coverage and mean interval length.
TABLE_2 = {
    "alpaca-13b": (0.96, 0.193),
    "claude-v1": (0.95, 0.262),
    "fastchat-t5-3b": (0.97, 0.256),
    "gpt-4": (0.97, 0.210),
    "llama-13b": (0.99, 0.267),
    "vicuna-13b": (0.99, 0.178),
}
_NO_MODEL = "no model named"
_A_WINS = ("a", "model_a", "0", "0.0")
_B_WINS = ("b", "model_b", "1", "1.0")


def arena_protocol(
    data: TableLike,
    *,
    judge_column: str = "judge",
    human_column: str = "human",
    by: str = "model",
    splits: int = 100,
    calibration: float = 0.1,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> ReportingReproduction:
    """Section 8.2 on labelled data: 100 random splits 90/10, per model bias, coverage and length.

    Rows are 0/1 with a group column, or battles (model_a, model_b) whose judge and human columns
    name the winner; each battle then counts once for either model, ties are left out and counted.
    Every row needs a human label: the truth of a split is the human rate on its test rows.
    """
    level = open_unit(confidence_level, "confidence_level")
    share = open_unit(calibration, "calibration")
    count(splits, "splits", least=1)
    frame, name = read_table(data), source_name(data)
    if {"model_a", "model_b"} <= set(frame.columns):
        prepared = _battle_rows(frame, judge_column, human_column, name)
    else:
        prepared = _model_rows(frame, judge_column, human_column, by, name)
    rows = prepared.frame
    rng = np.random.default_rng(seed)
    models = [
        _protocol_row(model, part, splits, share, level, rng)
        for (model,), part in rows.group_by(["model"], maintain_order=True)
        if part.height >= 20
    ]
    small = rows["model"].n_unique() - len(models)
    return ReportingReproduction(
        repeats=0,
        confidence_level=level,
        seed=seed,
        settings=(),
        shift=None,
        claims=(),
        protocol=tuple(sorted(models, key=lambda row: -row.rows)),
        splits=splits,
        notes=(f"{small} models with fewer than 20 rows are left out",) if small else (),
        dropped=prepared.dropped,
    )


def _protocol_row(
    model: str,
    rows: pl.DataFrame,
    splits: int,
    share: float,
    level: float,
    rng: np.random.Generator,
) -> ProtocolRow:
    judge, human, size = rows["judge"].to_numpy(), rows["human"].to_numpy(), rows.height
    m = max(round(share * size), 2)
    order = np.argsort(rng.random((splits, size)), axis=1)
    known, rest = order[:, :m], order[:, m:]
    z, x = human[known], judge[known]
    m1 = z.sum(axis=1)
    m0 = m - m1
    c1, c0 = (z * x).sum(axis=1), ((1 - z) * (1 - x)).sum(axis=1)
    p, truth = judge[rest].mean(axis=1), human[rest].mean(axis=1)
    usable = (m1 > 0) & (m0 > 0) & (c0 * m1 + c1 * m0 > m0 * m1)
    n0, n1 = np.maximum(m0, 1), np.maximum(m1, 1)
    shares = (p, c0 / n0, c1 / n1)
    bounds = corrected_interval(*shares, size - m, n0, n1, confidence_level=level)
    usable &= bounds.informative
    some = bool(usable.any())
    paper = TABLE_2.get(model.lower(), (None, None))

    def mean(values: FloatArray | BoolArray) -> float | None:
        return float(values[usable].mean()) if some else None

    return ProtocolRow(
        model=model,
        rows=size,
        rate=float(human.mean()),
        bias_naive=float((p - truth).mean()),
        bias_corrected=mean(corrected_rate(*shares).estimate - truth),
        coverage=mean(bounds.covers(truth)),
        length=mean(bounds.length),
        refused=int((~usable).sum()),
        paper_coverage=paper[0],
        paper_length=paper[1],
    )


def _model_rows(frame: pl.DataFrame, judge: str, human: str, by: str, name: str) -> Rows:
    """Model, judge and human as 0 and 1."""
    _need(frame, (judge, human, by), name)
    columns = {"model": by, "judge": judge, "human": human}
    rows = pl.DataFrame([tidy(frame[own], name, own).alias(to) for to, own in columns.items()])
    rows = rows.with_columns(pl.col("judge", "human").cast(pl.Float64, strict=False))
    whole = pl.all_horizontal(pl.col("judge", "human").is_in([0.0, 1.0]).fill_null(False))
    kept = Rows(rows).without(~whole, "verdict or label is not 0 or 1")
    kept = kept.without(pl.col("model").is_null(), _NO_MODEL)
    return Rows(kept.frame.with_columns(pl.col("judge", "human").cast(pl.Int64)), kept.dropped)


def _battle_rows(frame: pl.DataFrame, judge: str, human: str, name: str) -> Rows:
    """The same from battles, each seen once from either model's side."""
    _need(frame, (judge, human), name)
    text = pl.DataFrame(
        [
            *(tidy(frame[c], name, c) for c in ("model_a", "model_b")),
            *(
                tidy(frame[c], name, c).str.to_lowercase().alias(a)
                for c, a in ((judge, "judge"), (human, "human"))
            ),
        ]
    )
    decided = [
        pl.when(pl.col(c).is_in(_A_WINS)).then(1).when(pl.col(c).is_in(_B_WINS)).then(0).alias(c)
        for c in ("judge", "human")
    ]
    undecided = pl.any_horizontal(pl.col("judge", "human").is_null())
    kept = Rows(text.with_columns(decided)).without(undecided, "tie, or no winner named")
    kept = kept.without(pl.any_horizontal(pl.col("model_a", "model_b").is_null()), _NO_MODEL)
    first = kept.frame.select(pl.col("model_a").alias("model"), "judge", "human")
    second = kept.frame.select(
        pl.col("model_b").alias("model"), judge=1 - pl.col("judge"), human=1 - pl.col("human")
    )
    both = pl.concat([first, second]).with_columns(pl.col("judge", "human").cast(pl.Int64))
    return Rows(both, kept.dropped)


def _need(frame: pl.DataFrame, columns: tuple[str, ...], name: str) -> None:
    for column in columns:
        if column not in frame.columns:
            raise DataError(
                name, "is missing", column=column, remedy=f"columns here: {frame.columns[:20]}"
            )
