"""The reporting paper's protocol of section 8.2: Table 2 and Figure 7."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from adjudge.data.tables import TableLike, source_name
from adjudge.errors import ArgumentError
from adjudge.estimation.misclassification import Bounds, corrected_interval, corrected_rate
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import BoolArray, FloatArray, count, open_unit
from adjudge_papers.reporting_result import ProtocolRow, ReportingReproduction
from adjudge_papers.reporting_rows import ask_judge, gather_rows, simulate_arena

#: Table 2: coverage and mean interval length.
TABLE_2 = {
    "alpaca-13b": (0.96, 0.193),
    "claude-v1": (0.95, 0.262),
    "fastchat-t5-3b": (0.97, 0.256),
    "gpt-4": (0.97, 0.210),
    "llama-13b": (0.99, 0.267),
    "vicuna-13b": (0.99, 0.178),
}
#: Used without data; the length of intervals is then near Table 2's.
SIMULATED_BATTLES = 4500
#: A model with fewer rows is left out.
_FEWEST = 20


def arena_protocol(
    data: TableLike | None = None,
    *,
    judge: str | None = None,
    judge_column: str | None = None,
    human_column: str | None = None,
    by: str = "model",
    splits: int = 100,
    calibration: float = 0.1,
    sample: int | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
    **asking: Any,
) -> ReportingReproduction:
    """Section 8.2 on labelled data: 100 random splits 90/10, per model bias, coverage and length.

    Rows are answers of a model (`by`) with the judge's 0/1 or probability (judge, p_pass), or pairs
    and battles (model_a, model_b) whose judge column names the winner or has P(A wins) (p_a). A
    battle counts once for each of its models; ties are left out and counted. Every row needs a
    human label: the truth of a split is the human rate on its test rows. With a `judge` the rows
    are pairs or items that it is asked about first (`sample` of them; `asking`: options of
    `judge_pairs`, for example a store). Without `data`, battles of six models are simulated.

    With probabilities, as in the paper, their means replace the shares in Eq. 5 to 8. The interval
    treats them as shares of 0/1 verdicts, whose spread is never smaller. `spread_length` is the
    length by the spread of the probabilities.
    """
    level = open_unit(confidence_level, "confidence_level")
    share = open_unit(calibration, "calibration")
    count(splits, "splits", least=1)
    if data is None:
        if judge is not None:
            raise ArgumentError("judge", judge, "give the pairs or items to ask it about")
        arena, source = simulate_arena(battles=sample or SIMULATED_BATTLES, seed=seed), None
    else:
        source = source_name(data)
        if judge is not None:
            data = ask_judge(data, judge, sample=sample, seed=seed, asking=asking)
        arena = gather_rows(data, judge_column=judge_column, human_column=human_column, by=by)
    rows = arena.rows.frame
    rng = np.random.default_rng(seed)
    models = [
        _protocol_row(str(model), part, splits, share, level, arena.probabilities, rng)
        for (model,), part in rows.group_by(["model"], maintain_order=True)
        if part.height >= _FEWEST
    ]
    small = rows["model"].n_unique() - len(models)
    note = f"{small} models with fewer than {_FEWEST} rows are left out"
    return ReportingReproduction(
        repeats=0,
        confidence_level=level,
        seed=seed,
        settings=(),
        shift=None,
        claims=(),
        protocol=tuple(sorted(models, key=lambda row: -row.rows)),
        protocol_source=source,
        protocol_judge=judge,
        probabilities=arena.probabilities,
        splits=splits,
        notes=(note,) if small else (),
        dropped=arena.rows.dropped,
    )


def _protocol_row(
    model: str,
    rows: pl.DataFrame,
    splits: int,
    share: float,
    level: float,
    probabilities: bool,
    rng: np.random.Generator,
) -> ProtocolRow:
    judge, human, size = rows["judge"].to_numpy(), rows["human"].to_numpy(), rows.height
    m = max(round(share * size), 2)
    order = np.argsort(rng.random((splits, size)), axis=1)
    known, rest = order[:, :m], order[:, m:]
    z, x = human[known], judge[known]
    m1 = z.sum(axis=1)
    m0 = m - m1
    p, truth = judge[rest].mean(axis=1), human[rest].mean(axis=1)
    n0, n1 = np.maximum(m0, 1), np.maximum(m1, 1)
    shares = (p, ((1 - z) * (1 - x)).sum(axis=1) / n0, (z * x).sum(axis=1) / n1)
    bounds = corrected_interval(*shares, size - m, n0, n1, confidence_level=level)
    usable = (m1 > 0) & (m0 > 0) & bounds.informative
    rate = corrected_rate(*shares, clipped=False).estimate
    by_spread = _by_spread(z, x, judge[rest], rate, level) if probabilities else None
    paper = TABLE_2.get(model.lower(), (None, None))

    def mean(values: FloatArray | BoolArray) -> float | None:
        return float(values[usable].mean()) if usable.any() else None

    return ProtocolRow(
        model=model,
        rows=size,
        rate=float(human.mean()),
        bias_naive=float((p - truth).mean()),
        bias_corrected=mean(np.clip(rate, 0, 1) - truth),
        coverage=mean(bounds.covers(truth)),
        length=mean(bounds.length),
        spread_coverage=None if by_spread is None else mean(by_spread.covers(truth)),
        spread_length=None if by_spread is None else mean(by_spread.length),
        refused=int((~usable).sum()),
        paper_coverage=paper[0],
        paper_length=paper[1],
    )


def _by_spread(
    z: FloatArray, x: FloatArray, test: FloatArray, rate: FloatArray, level: float
) -> Bounds:
    """Intervals around the corrected rates from the spread of the probabilities themselves.

    Eq. 9 with sample variances instead of q (1 - q), as in `estimate` for probabilities.
    """
    means, noises = [], []
    for weights in (1 - z, z):
        size = np.maximum(weights.sum(axis=1), 1)
        mean = (weights * x).sum(axis=1) / size
        squares = (weights * (x - mean[:, None]) ** 2).sum(axis=1)
        means.append(mean)
        noises.append(squares / np.maximum(size - 1, 1) / size)
    edge = means[1] - means[0]
    edge = np.where(edge > 0, edge, 1.0)
    variance = test.var(axis=1, ddof=1) / test.shape[1]
    variance = variance + (1 - rate) ** 2 * noises[0] + rate**2 * noises[1]
    half = normal_quantile(level) * np.sqrt(variance) / edge
    low, high = np.clip(rate - half, 0, 1), np.clip(rate + half, 0, 1)
    return Bounds(low, high, np.ones(len(rate), dtype=np.bool_))
