"""From a file or a frame of battles to arrays: who met whom, what people and the judge said.

The judge may have left rubric scores per side, a score difference, probabilities, or verdicts
alone. All become one number per battle, s, positive when it favours model_a:

    scores           s = score_a - score_b
    probabilities    s = ln(p_a / (1 - p_a)), so that sigma(beta s) is temperature scaling
    verdicts         s = +1, 0, -1, so that sigma(beta s) is label smoothing
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from adjudge._validation import FloatArray
from adjudge.errors import ArgumentError, DataError
from adjudge.io import open_battles
from adjudge.io.tables import as_text
from adjudge.ranking.counts import Battles, code_names, outcome_targets

#: Probabilities nearer to 0 or 1 than this are moved there: their log-odds would be infinite.
CLOSEST = 1e-6
_HUMAN = ("winner", "human_pref", "label")
_VERDICT = ("verdict", "judge_pref", "judge_winner", "judge_verdict")


def load_battles(
    source: Any, format: str | None = None, *, baseline: str | None = None
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Battles from a path or a frame, native or public, and what reading left out.

    People's votes may be missing; a `label` column (as judgments have) counts as votes.
    """
    table = open_battles(source, format, baseline=baseline, votes_required=False)
    return table.frame, dict(table.dropped)


def battles_from_frame(
    frame: pl.DataFrame,
    *,
    human: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    other: str | None = None,
    cluster: str | None = None,
    group: str | None = None,
) -> tuple[Battles, str | None]:
    """Coded battles, and which columns the score came from (None: the judge left nothing).

    `human`, `verdict` and `score` name columns; without them the usual names are looked for. Rows
    without both names and battles of a model with itself are dropped and counted.

    >>> columns = {"model_a": ["x", "y"], "model_b": ["y", "y"], "winner": ["tie", "tie"]}
    >>> battles, source = battles_from_frame(pl.DataFrame(columns))
    >>> len(battles), battles.dropped, source
    (1, {'model met itself': 1}, None)
    """
    for column in ("model_a", "model_b"):
        if column not in frame.columns:
            raise DataError("battles", "is missing", column=column, remedy="give model_a, model_b")
    named_columns = (("human", human), ("verdict", verdict), ("score", score), ("against", other))
    for option, named in named_columns:
        if named is not None and named not in frame.columns:
            raise ArgumentError(option, named, "columns here: " + ", ".join(frame.columns[:12]))
    names, a, b = code_names(frame["model_a"], frame["model_b"])
    nameless = (a < 0) | (b < 0)
    itself = (a == b) & ~nameless
    dropped = {}
    if nameless.any():
        dropped["a model's name is missing"] = int(nameless.sum())
    if itself.any():
        dropped["model met itself"] = int(itself.sum())
    votes = human or next((c for c in _HUMAN if c in frame.columns and c != verdict), None)
    y = outcome_targets(frame[votes], votes) if votes is not None else None
    if y is not None and not np.isfinite(y).any():
        y = None
    s, v, source, warnings = _judge(frame, verdict, score, exclude=votes)
    prompts = None
    if cluster is not None:
        prompts = _codes(frame, cluster, "cluster")
    groups, group_codes = None, None
    if group is not None:
        values = as_text(frame[group]) if group in frame.columns else None
        if values is None:
            raise ArgumentError("group", group, "columns here: " + ", ".join(frame.columns[:12]))
        levels = sorted(values.drop_nulls().unique().to_list())
        position = {level: k for k, level in enumerate(levels)}
        group_codes = np.array([position.get(value, -1) for value in values], dtype=np.int64)
        groups = tuple(levels)
    battles = Battles(
        names=names,
        a=a,
        b=b,
        human=y,
        verdict=v,
        score=s,
        other=None if other is None else outcome_targets(frame[other], other),
        prompts=prompts,
        groups=groups,
        group_codes=group_codes,
        dropped=dropped,
        warnings=tuple(warnings),
    )
    if dropped:
        battles = battles.take(~(nameless | itself))
    return battles, source


def default_cluster(frame: pl.DataFrame) -> str | None:
    """prompt_id, where there is one that repeats."""
    if "prompt_id" not in frame.columns or frame["prompt_id"].null_count():
        return None
    return "prompt_id" if frame["prompt_id"].n_unique() < frame.height else None


def _codes(frame: pl.DataFrame, column: str, name: str) -> Any:
    if column not in frame.columns:
        raise ArgumentError(name, column, "columns here: " + ", ".join(frame.columns[:12]))
    values = as_text(frame[column])
    if values.null_count():
        raise ArgumentError(name, column, "fill its empty rows, or leave clusters out")
    levels = values.unique(maintain_order=True)
    codes = pl.DataFrame({"v": values}).join(
        pl.DataFrame({"v": levels, "code": np.arange(len(levels))}), on="v", how="left"
    )
    return codes["code"].to_numpy().astype(np.int64)


def _judge(
    frame: pl.DataFrame, verdict: str | None, score: str | None, *, exclude: str | None
) -> tuple[FloatArray | None, FloatArray | None, str | None, list[str]]:
    """s, the judge's side, where s came from, and what to warn of."""
    columns = set(frame.columns)
    warnings: list[str] = []
    side = verdict or next((c for c in _VERDICT if c in columns and c != exclude), None)
    v = outcome_targets(frame[side], side) if side is not None else None
    s: FloatArray | None = None
    source: str | None = None
    if score is not None:
        s, source = _numbers(frame[score], score), score
    elif verdict is not None and verdict not in _VERDICT:
        # A column of another name is another judge's: the file's scores are not its own.
        pass
    elif "score_difference" in columns:
        s, source = _numbers(frame["score_difference"], "score_difference"), "score_difference"
    elif {"score_a", "score_b"} <= columns:
        s = _numbers(frame["score_a"], "score_a") - _numbers(frame["score_b"], "score_b")
        source = "score_a - score_b"
    elif "p_a" in columns or {"p_fwd", "p_rev"} <= columns:
        s, flipped, clipped = _log_odds(frame)
        source = "log-odds of p_a"
        if clipped:
            warnings.append(
                f"{clipped:,} probabilities nearer than 1e-6 to 0 or 1 were moved there"
            )
        if v is None and flipped is not None:
            # An order flip is no preference (appendix A).
            v = np.where(np.isfinite(s), np.where(flipped, 0.5, np.sign(s) / 2 + 0.5), np.nan)
    if s is None and v is not None:
        s, source = 2 * v - 1, f"verdicts in {side}"
    if v is None and s is not None:
        v = np.where(np.isfinite(s), np.sign(s) / 2 + 0.5, np.nan)
    return s, v, source, warnings


def _numbers(values: pl.Series, column: str) -> FloatArray:
    try:
        floats = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    except pl.exceptions.PolarsError:
        raise ArgumentError(
            column, str(values.dtype), "give numbers; empty where missing"
        ) from None
    if np.isinf(floats).any():
        raise ArgumentError(column, "infinity", "give finite numbers; empty where missing")
    return np.asarray(floats, dtype=np.float64)


def _log_odds(frame: pl.DataFrame) -> tuple[FloatArray, Any, int]:
    flipped = None
    if {"p_fwd", "p_rev"} <= set(frame.columns):
        forward, reverse = _numbers(frame["p_fwd"], "p_fwd"), _numbers(frame["p_rev"], "p_rev")
        flipped = (forward - 0.5) * (reverse - 0.5) < 0
        p = (forward + reverse) / 2
    else:
        p = _numbers(frame["p_a"], "p_a")
    known = p[np.isfinite(p)]
    if np.any((known < 0) | (known > 1)):
        raise ArgumentError("p_a", "outside [0, 1]", "give probabilities")
    clipped = int(((known < CLOSEST) | (known > 1 - CLOSEST)).sum())
    p = np.clip(p, CLOSEST, 1 - CLOSEST)
    return np.log(p) - np.log1p(-p), flipped, clipped
