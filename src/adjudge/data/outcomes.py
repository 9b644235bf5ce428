"""Battles as numbers: names as codes, outcomes as targets, the judge as one score s.

Targets are about model_a: 1 it won, 0 it lost, one half a tie. What the judge gave becomes one
number per battle, s, positive if it favours model_a:

    scores           s = score_a - score_b
    probabilities    s = ln(p_a / (1 - p_a)), so that sigma(beta s) is temperature scaling
    verdicts         s = +1, 0, -1, so that sigma(beta s) is label smoothing
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from adjudge.data.names import PAIR, read_word, word_refusal
from adjudge.data.rows import Identity, without_numbers
from adjudge.data.tables import as_text
from adjudge.errors import ArgumentError
from adjudge.present.text import count
from adjudge.validation import BoolArray, FloatArray, IntArray

#: The target of each outcome, about model_a.
OUTCOMES: Mapping[str, float] = {"A": 1.0, "B": 0.0, "tie": 0.5}
#: Probabilities nearer to 0 or 1 than this are clipped: their log-odds would be infinite.
CLOSEST = 1e-6
#: The usual names of the judge's verdict.
VERDICT_COLUMNS = ("verdict", "judge_pref", "judge_winner", "judge_verdict")
_CODE_BITS = 20
_BOTH_ORDERS = frozenset({"verdict_fwd", "verdict_rev"})


def code_names(
    model_a: pl.Series, model_b: pl.Series
) -> tuple[tuple[str, ...], IntArray, IntArray]:
    """Sorted names and both columns as positions among them; -1 if a name is missing."""
    n = len(model_a)
    if n != len(model_b):
        raise ArgumentError("model_b", f"{len(model_b)} rows", f"give {n}, as model_a has")
    both = pl.concat([as_text(model_a), as_text(model_b).rename(model_a.name)])
    names, codes = code_sorted(both)
    return names, codes[:n], codes[n:]


def code_sorted(text: pl.Series) -> tuple[tuple[str, ...], IntArray]:
    """The distinct texts, sorted, and each row's position among them; -1 if it is missing."""
    words, at = _dictionary(text)
    order = sorted(range(len(words)), key=words.__getitem__)
    position = np.full(len(words) + 1, -1, dtype=np.int64)
    position[order] = np.arange(len(words))
    return tuple(words[k] for k in order), position[at]


def _dictionary(text: pl.Series) -> tuple[list[str], IntArray]:
    """The distinct texts, and for every row the position of its text; -1 if it is missing."""
    # A 64-bit hash distinguishes texts. Its first bits are codes, if no two of a few texts share
    # them.
    hashes = text.hash().to_numpy()
    codes = (hashes >> np.uint64(64 - _CODE_BITS)).astype(np.int64)
    last = np.full(2**_CODE_BITS, -1, dtype=np.int64)
    last[codes] = np.arange(len(text))
    if not (hashes.take(last.take(codes)) == hashes).all():
        _, first, codes = np.unique(hashes, return_index=True, return_inverse=True)
        last = first.astype(np.int64)
    if text.null_count():
        last[codes[text.is_null().arg_max()]] = -1
    seen = np.flatnonzero(last >= 0)
    position = np.full(len(last), -1, dtype=np.int64)
    position[seen] = np.arange(len(seen))
    return text.gather(last[seen]).to_list(), position.take(codes)


def outcome_targets(
    outcome: pl.Series, column: str, labels_as: Mapping[str, str] | None = None
) -> FloatArray:
    """Outcome words, or model_a's share as a number, as targets about model_a; NaN if empty.

    `labels_as` gives the meaning of unusual words; numbers in it count as words too.

    >>> outcome_targets(pl.Series(["A", "tie", None, "model_b"]), "winner").tolist()
    [1.0, 0.5, nan, 0.0]
    """
    if outcome.dtype.is_numeric() and not labels_as:
        shares = outcome.cast(pl.Float64).fill_null(np.nan).to_numpy()
        if not np.isin(shares[~np.isnan(shares)], (0.0, 0.5, 1.0)).all():
            remedy = "write A, B, tie or model_a's share: 1, 0.5, 0"
            raise ArgumentError(column, "other numbers", remedy)
        return np.asarray(shares)
    words, at = _dictionary(as_text(outcome))
    meaning = np.full(len(words) + 1, np.nan)
    for k, word in enumerate(words):
        label = read_word(word, PAIR, labels_as or {})
        if label is not None and label not in OUTCOMES:
            _, remedy = word_refusal(word, PAIR, 'write "A", "B", "tie" or leave it empty')
            raise ArgumentError(column, word, remedy)
        meaning[k] = np.nan if label is None else OUTCOMES[label]
    return np.asarray(meaning[at], dtype=np.float64)


class JudgeScores(NamedTuple):
    """The judge's score s and side per battle, the columns of s, and warnings.

    `panel` and `identities` are those of the members, if the judge is a jury.
    """

    score: FloatArray | None
    verdict: FloatArray | None
    source: str | None
    warnings: tuple[str, ...]
    panel: FloatArray | None = None
    identities: tuple[Identity, ...] = ()


def judge_scores(
    frame: pl.DataFrame,
    *,
    verdict: str | None,
    score: str | None,
    exclude: str | None,
    labels_as: Mapping[str, str] | None = None,
) -> JudgeScores:
    """The judge's answer to each battle; `verdict` and `score` name columns, else usual ones.

    `exclude` is the column of people's votes, which is not a verdict of the judge.
    """
    frame = without_numbers(frame)
    columns = set(frame.columns)
    warnings: tuple[str, ...] = ()
    s: FloatArray | None = None
    side = verdict or next((c for c in VERDICT_COLUMNS if c in columns and c != exclude), None)
    v = outcome_targets(frame[side], side, labels_as) if side is not None else None
    if v is None and columns >= _BOTH_ORDERS:
        forward, reverse = (outcome_targets(frame[c], c, labels_as) for c in sorted(_BOTH_ORDERS))
        # As with probabilities: an order flip is not a preference, and one order is not enough.
        s = forward + reverse - 1
        v = np.where(np.isfinite(s), np.sign(s) / 2 + 0.5, np.nan)
        side = "verdict_fwd and verdict_rev"
    source: str | None = None
    if score is not None:
        s, source = _numbers(frame, score), score
    elif verdict is not None and verdict not in VERDICT_COLUMNS:
        # A column with another name belongs to another judge: the file's scores are not its own.
        pass
    elif "score_difference" in columns:
        s, source = _numbers(frame, "score_difference"), "score_difference"
    elif {"score_a", "score_b"} <= columns:
        s, source = _numbers(frame, "score_a") - _numbers(frame, "score_b"), "score_a - score_b"
    elif "p_a" in columns or {"p_fwd", "p_rev"} <= columns:
        s, flipped, clipped = _log_odds(frame)
        source = "log-odds of p_a"
        if clipped:
            many = count(clipped, "probability", "probabilities")
            warnings = (f"{many} closer than 1e-6 to 0 or 1, clipped to that distance",)
        if v is None:
            # An order flip is not a preference (appendix A).
            v = np.where(np.isfinite(s), np.where(flipped, 0.5, np.sign(s) / 2 + 0.5), np.nan)
    if source is None and v is not None:
        s, source = 2 * v - 1 if s is None else s, f"verdicts in {side}"
    if v is None and s is not None:
        v = np.where(np.isfinite(s), np.sign(s) / 2 + 0.5, np.nan)
    return JudgeScores(s, v, source, warnings)


def _numbers(frame: pl.DataFrame, column: str) -> FloatArray:
    values = frame.get_column(column)
    try:
        floats = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    except pl.exceptions.PolarsError:
        remedy = "give numbers; leave missing ones empty"
        raise ArgumentError(column, str(values.dtype), remedy) from None
    if np.isinf(floats).any():
        raise ArgumentError(column, "infinity", "give finite numbers; leave missing ones empty")
    return np.asarray(floats, dtype=np.float64)


def _log_odds(frame: pl.DataFrame) -> tuple[FloatArray, BoolArray, int]:
    """ln(p / (1 - p)), which battles flipped with the order, and how many p were clipped."""
    empty = np.full(frame.height, np.nan)
    forward, reverse, given = (
        _numbers(frame, column) if column in frame.columns else empty
        for column in ("p_fwd", "p_rev", "p_a")
    )
    mean = (forward + reverse) / 2
    # A protocol without orders gives only p_a, possibly next to empty columns for the orders.
    p = np.where(np.isfinite(mean), mean, given)
    flipped = (forward - 0.5) * (reverse - 0.5) < 0
    known = p[np.isfinite(p)]
    if np.any((known < 0) | (known > 1)):
        raise ArgumentError("p_a", "outside [0, 1]", "give probabilities")
    clipped = int(((known < CLOSEST) | (known > 1 - CLOSEST)).sum())
    p = np.clip(p, CLOSEST, 1 - CLOSEST)
    return np.log(p) - np.log1p(-p), flipped, clipped
