"""Evidence about rows, and the margin that is learned from it: a verdict and its doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.answers import lengths
from adjudge.data.columns import UNNAMED
from adjudge.data.judgments import BY_ORDERS, HAS_VERDICT, IS_ERROR, WORDS, doubt_ties, fixed_doubts
from adjudge.data.rows import stated_confidence, text_column
from adjudge.data.tables import as_text
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import DoubtReport, Lengths, Stage
from adjudge.records import About
from adjudge.statistics.entropy import (
    INFINITE_DOUBT,
    confidence,
    preference_entropy,
    random_orders,
    single_order_preference,
    swap_vote_preference,
)
from adjudge.statistics.numbers import cluster_codes
from adjudge.statistics.ridge import RidgeFit, fit_ridge
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, generator, zero_one

#: Log odds are clipped here (p of 0.9926): a judge with a larger p is overconfident, not surer.
MOST_ODDS = 4.9
#: Slope outside the clipping range: too small to outvote other judges, enough to keep the order.
TAIL = 0.01
#: The log odds of the largest p below 1.
_LARGEST = 37.0
ORDER_GAP = "sign x order gap"
SINGLE_ORDER = "single_order"
SWAP_VOTE = "swap_vote"


def log_odds(p: FloatArray, most: float = MOST_ODDS, tail: float = TAIL) -> FloatArray:
    """log(p / (1 - p)), clipped at +-`most`; p and 1 - p give exactly opposite values.

    Outside the range the slope is `tail`, not 0. An overconfident judge has most of its pairs
    there, and if they were tied, the order of its doubt would be lost.

    >>> log_odds(np.array([0.5, 0.9, 0.999, 1.0])).round(2).tolist()
    [-0.0, 2.2, 4.92, 5.22]
    """
    top = np.maximum(p, 1 - p)
    with np.errstate(divide="ignore"):
        size = np.minimum(np.log(top) - np.log(1 - top), _LARGEST)
    clipped = np.minimum(size, most) + tail * np.maximum(size - most, 0)
    return np.asarray(np.where(p > 0.5, 1.0, -1.0) * clipped)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence about some pairs, one row each; None if the rows do not have it.

    `p` has a column per judge, NaN if that judge failed or was not asked: it is then ignored, and
    the mean is over the others. `order_gaps` are the distances between each judge's log odds in the
    two orders, `ties` marks the judges that returned a tie. Lengths can have any unit, if it is the
    same in calibration and use.
    """

    judges: tuple[str, ...]
    p: FloatArray
    order_gaps: FloatArray | None = None
    ties: BoolArray | None = None
    length_a: FloatArray | None = None
    length_b: FloatArray | None = None
    category: Sequence[str | None] | None = None

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(sorted({name for name in self.category or () if name is not None}))

    @property
    def order_gap(self) -> FloatArray | None:
        """The mean gap over the judges that did not fail."""
        if self.order_gaps is None:
            return None
        spoke = ~np.isnan(self.p)
        total = sum_in_order(list(np.where(spoke, self.order_gaps, 0.0).T))
        return np.asarray(total / np.maximum(spoke.sum(axis=1), 1))

    def of(self, judges: Sequence[int]) -> Evidence:
        """What some of the judges said."""
        at = list(judges)
        some = {name: values[:, at] for name, values in self._arrays("p", "order_gaps", "ties")}
        return replace(self, judges=tuple(self.judges[j] for j in at), **some)

    def take(self, rows: IntArray | BoolArray) -> Evidence:
        names = ("p", "order_gaps", "ties", "length_a", "length_b")
        some = {name: values[rows] for name, values in self._arrays(*names)}
        if self.category is not None:
            some["category"] = np.array(self.category, dtype=object)[rows].tolist()
        return replace(self, **some)

    def _arrays(self, *names: str) -> list[tuple[str, Any]]:
        return [(n, values) for n in names if (values := getattr(self, n)) is not None]

    def columns(self, categories: Sequence[str]) -> Mapping[str, FloatArray]:
        """The ridge's columns by name, the two of `ridge` first; each changes sign under A/B swap.

        A category that is not among `categories` is 0 in all of their columns.
        """
        spoke = ~np.isnan(self.p)
        odds = np.where(spoke, log_odds(self.p), 0.0)
        voices = np.maximum(spoke.sum(axis=1), 1)
        each = list(zip(odds.T, spoke.T, strict=True))
        mean = sum_in_order([odds_here for odds_here, _ in each]) / voices
        sign = np.sign(mean)
        columns = {"mean odds": mean, "sign": sign}
        if len(each) > 1:
            columns |= {f"odds of {name}": odds[:, at] for at, name in enumerate(self.judges)}
            # Measured in favour of the mean's verdict: the judge that supports it least.
            worst = np.min(
                [np.where(here, sign * odds_here, np.inf) for odds_here, here in each], axis=0
            )
            columns["sign x worst judge"] = sign * np.where(np.isinf(worst), 0.0, worst)
            apart = [np.where(here, (odds_here - mean) ** 2, 0.0) for odds_here, here in each]
            columns["sign x spread"] = sign * np.sqrt(sum_in_order(apart) / voices)
        if (order_gap := self.order_gap) is not None:
            columns[ORDER_GAP] = sign * order_gap
        if self.length_a is not None and self.length_b is not None:
            long_a = np.log1p(self.length_a)
            long_b = np.log1p(self.length_b)
            columns["length ratio"] = long_a - long_b
            columns["sign x length gap"] = sign * np.abs(long_a - long_b)
            columns["sign x length"] = sign * ((long_a + long_b) / 2)
        if self.category is not None:
            names = np.array(self.category, dtype=object)
            columns |= {f"sign x category {name}": sign * (names == name) for name in categories}
        return columns


@dataclass(frozen=True)
class LearnedMargin:
    """A fitted ridge: the sign of its margin is the verdict, its doubt a fitted error probability.

        margin = sum_k w_k x_k / scale_k,    doubt = 1 / (1 + exp(|margin|)) in (0, 1/2]

    The doubt is a score that must be calibrated on other labels, not a calibrated probability. A
    margin of 0 is not a verdict.
    """

    columns: tuple[str, ...]
    categories: tuple[str, ...]
    scales: FloatArray
    weights: FloatArray
    penalty: float

    @classmethod
    def fit(
        cls,
        evidence: Evidence,
        prefers_a: ArrayLike,
        *,
        clusters: Sequence[object] | None = None,
        seed: Seed = 0,
    ) -> LearnedMargin:
        """Learn from labelled pairs without human ties; folds consist of complete `clusters`.

        >>> p = np.array([[0.9, 0.2], [0.3, 0.8], [0.8, 0.3], [0.2, 0.6]] * 5)
        >>> pairs = Evidence(judges=("x", "y"), p=p)
        >>> learned = LearnedMargin.fit(pairs, [1, 0, 1, 0] * 5)
        >>> learned.weights[2:4].round(1).tolist()  # y is wrong, and that is information
        [0.7, -0.9]
        """
        y = zero_one(prefers_a, "prefers_a")
        rows = len(evidence.p)
        if len(y) != rows:
            raise ArgumentError("prefers_a", len(y), f"give one for each of {rows} pairs")
        units = np.arange(rows) if clusters is None else cluster_codes(clusters)[0]
        everything = np.ones((1, rows), dtype=np.bool_)
        names, ridge = learn(evidence, y, everything, units=units, seed=seed)
        penalty = float(ridge.penalty[0])
        return cls(names, evidence.categories, ridge.scales[0], ridge.weights[0], penalty)

    @classmethod
    def load(cls, saved: DoubtReport | Stage, categories: tuple[str, ...]) -> LearnedMargin:
        scales = np.asarray(saved.scales)
        weights = np.asarray(saved.weights)
        return cls(saved.columns, categories, scales, weights, saved.penalty)

    @property
    def saved_fields(self) -> dict[str, Any]:
        return {
            "columns": self.columns,
            "scales": tuple(self.scales.tolist()),
            "weights": tuple(self.weights.tolist()),
            "penalty": self.penalty,
        }

    def margins(self, evidence: Evidence) -> FloatArray:
        """How strongly each pair favours A; a row's margin does not depend on the other rows."""
        columns = evidence.columns(self.categories)
        if missing := [name for name in self.columns if name not in columns]:
            remedy = "the learned doubt needs the columns it is computed from"
            raise ArgumentError("evidence", missing[0], remedy)
        terms = zip(self.columns, self.scales, self.weights, strict=True)
        return sum_in_order([columns[name] / scale * weight for name, scale, weight in terms])

    def predict(self, evidence: Evidence) -> tuple[FloatArray, FloatArray]:
        margins = self.margins(evidence)
        return margins, doubt_of(margins)


def learn(
    evidence: Evidence, prefers_a: IntArray, learns: BoolArray, *, units: IntArray, seed: Seed
) -> tuple[tuple[str, ...], RidgeFit]:
    """The names of the columns, and a ridge for each sample of rows that `learns` marks."""
    columns = evidence.columns(evidence.categories)
    table = np.column_stack(list(columns.values()))
    signed = table * (2 * prefers_a - 1)[:, None]
    return tuple(columns), fit_ridge(signed, learns, units=units, rng=generator(seed))


def doubt_of(margins: FloatArray) -> FloatArray:
    """1 / (1 + exp(|margin|)): decreases with the margin's size, for either sign."""
    small = np.exp(-np.abs(margins))
    return np.asarray(small / (1 + small))


def sum_in_order(parts: Sequence[FloatArray]) -> FloatArray:
    """The sum, term by term: the rounding of a matrix product depends on the other rows."""
    total = np.zeros_like(parts[0])
    for term in parts:
        total = total + term
    return total


def gap_between(forward: FloatArray, reverse: FloatArray) -> FloatArray:
    """The distance between the log odds of p in the two orders; NaN if one is missing."""
    return np.asarray(np.abs(log_odds(forward) - log_odds(reverse)))


#: With fewer labels, the share for learning costs more than it gains.
WORTH_LEARNING = 150
#: The fewest labels to learn from.
FEWEST_LEARNING = 10


def judge_evidence(frame: pl.DataFrame) -> Evidence:
    """The evidence of one judge; several judges of a pair need a jury."""
    names = frame.select("judge", "protocol").unique()
    if names.height > 1:
        raise ArgumentError(
            "doubt", "learned", f"{names.height} judges or protocols: select one with --judge or "
            "--protocol, or use --jury learned"
        )  # fmt: skip
    p = frame["p_a"].to_numpy().astype(np.float64)[:, None]
    gaps = gap_between(*_orders(frame))[:, None] if has_both_orders(frame) else None
    return Evidence(judges=tuple(names["judge"]), p=p, order_gaps=gaps)


def with_context(
    evidence: Evidence, frame: pl.DataFrame, *, lengths: Lengths | None, category: str | None
) -> Evidence:
    """The evidence with lengths and categories from the same rows."""
    if lengths is not None:
        evidence = replace(
            evidence,
            length_a=_length(frame, f"{lengths}_a"),
            length_b=_length(frame, f"{lengths}_b"),
        )
    if category is not None:
        names = text_column(frame, category, "category").to_list()
        evidence = replace(evidence, category=names)
    return evidence


def check_context(
    frame: pl.DataFrame, *, lengths: Lengths | None, category: str | None, who: str
) -> None:
    """Refuse rows without a column that was used for learning."""
    needed = {} if lengths is None else dict.fromkeys((f"{lengths}_a", f"{lengths}_b"), "lengths")
    if category is not None:
        needed[category] = "category"
    for column, use in needed.items():
        if column not in frame.columns:
            raise ArgumentError("judgments", column, f"{who} needs this column ({use})")


def lengths_in(frame: pl.DataFrame) -> Lengths | None:
    """The source of lengths: length_a and length_b, else the texts; None if rows have neither."""
    kinds: tuple[Lengths, ...] = ("length", "response")
    for kind in kinds:
        here = [name for name in (f"{kind}_a", f"{kind}_b") if name in frame.columns]
        if len(here) == 2:
            return kind
        if here:
            [missing] = {f"{kind}_a", f"{kind}_b"} - set(here)
            raise ArgumentError("doubt", "learned", f"{here[0]} is there, but {missing} is missing")
    return None


def advise_learning(rows: int) -> list[str]:
    """A warning if there are too few labels to learn from; a cluster counts as one row."""
    if rows >= WORTH_LEARNING:
        return []
    return [
        f"{rows} labelled rows: below about {WORTH_LEARNING}, learning costs more labels than it "
        "saves; use the doubt that is not learned"
    ]


def with_learned(
    frame: pl.DataFrame, margins: FloatArray, doubts: FloatArray, *, about: About = "pairs"
) -> pl.DataFrame:
    """The rows with the learned verdict and doubt instead of the judge's; ties remain ties."""
    margin = pl.Series("margin", margins)
    first, second = WORDS[about]
    side = pl.when(margin > 0).then(pl.lit(first)).when(margin < 0).then(pl.lit(second))
    is_tie = pl.col("verdict") == "tie"
    verdict = pl.when(is_tie).then(pl.lit("tie")).otherwise(side)
    return doubt_ties(frame.with_columns(verdict=verdict, uncertainty=pl.Series(doubts)))


def count_overturned(
    judged: pl.Series, learned: pl.Series, *, among: BoolArray | None = None
) -> int:
    other = (judged != learned).fill_null(False).to_numpy()
    return int((other if among is None else other & among).sum())


def _length(frame: pl.DataFrame, column: str) -> FloatArray:
    values = frame[column]
    if column.startswith("response"):
        values = lengths(as_text(values))
    numbers = as_text(values).cast(pl.Float64, strict=False)
    bad = (~(numbers.is_finite() & (numbers >= 0))).fill_null(True)
    if bad.any():
        at = int(bad.arg_true()[0])
        raise ArgumentError(
            f"{column} of id {frame['id'][at]!r}", values[at], "the learned doubt needs a length "
            "in every row: fill it, or drop both columns before calibrating"
        )  # fmt: skip
    return numbers.to_numpy()


#: An uncertainty column that differs from the entropy of p_a by more than rounding is a signal.
_ROUNDING = 1e-4


@dataclass(frozen=True)
class Signal:
    """One measure of doubt: `scores` rise with doubt, `confidence` is the judge's, in [0, 1]."""

    name: str
    judge: str
    protocol: str | None
    confidence: FloatArray
    has_verdict: BoolArray
    scores: FloatArray
    errors: IntArray

    @property
    def values(self) -> tuple[float, ...]:
        """The scores of a verdict, if its protocol allows only a few; two votes always do."""
        return fixed_doubts(BY_ORDERS if self.name == SWAP_VOTE else self.protocol)


def signals_of(rows: pl.DataFrame, *, seed: int = 0) -> Iterator[Signal]:
    """The signals of one judge and protocol, from its labelled rows.

    With both orders there are four: the preference entropy of their mean, the probability of one
    random order alone, the vote of both, and that vote with a verdict on every row. Other protocols
    (verbalized, annotators, likelihood) have one, which they wrote themselves. An uncertainty
    column that is not the entropy of p_a is one more. A tie of the judge, or p = 0.5 exactly, is
    not a verdict in any signal.

    Confidence is max(p_a, 1 - p_a). If the judge stated a confidence (uncertainty = 1 -
    confidence), that one is used, since p_a can be empty then.
    """
    shown = _protocol(rows)
    uncertainty = rows["uncertainty"].to_numpy().astype(np.float64)
    stated = stated_confidence(rows)
    if stated is not None:
        has_verdict = rows.select(HAS_VERDICT).to_series().to_numpy()
        errors = rows.select(IS_ERROR).to_series().to_numpy()
        name = shown or "uncertainty"
        judge = str(rows["judge"][0])
        yield Signal(name, judge, shown, stated, has_verdict, uncertainty, errors)
        return
    if rows["p_a"].null_count():
        judge = rows["judge"][0]
        raise ArgumentError("judgments", judge, "has no probabilities, so nothing can be compared")

    p_a = rows["p_a"].to_numpy().astype(np.float64)
    decided = (rows["verdict"] != "tie").fill_null(True).to_numpy()
    is_entropy = _close(uncertainty[decided], preference_entropy(p_a[decided]))
    if not has_both_orders(rows):
        from_p = is_entropy or _close(uncertainty[decided], 1 - confidence(p_a[decided]))
        yield _signal(rows, shown or "p_a" if from_p else "uncertainty", p_a, scores=uncertainty)
        return
    orders = _orders(rows)
    votes = swap_vote_preference(*orders)
    single = single_order_preference(*orders, random_orders(rows["id"].to_list(), seed=seed))
    yield _signal(rows, "preference_entropy", p_a)
    yield _signal(rows, SINGLE_ORDER, single)
    yield _signal(rows, SWAP_VOTE, votes)
    # A verdict on every row: if the votes disagree, that of a random order, with confidence 0.5.
    p = np.where(votes == 0.5, single, votes)
    doubts = preference_entropy(votes)
    by_coin = _signal(rows, "swap_vote_by_coin", p, scores=doubts)
    yield replace(by_coin, confidence=confidence(votes))
    if not is_entropy:
        yield _signal(rows, "uncertainty", p_a, scores=uncertainty)


def has_both_orders(rows: pl.DataFrame) -> bool:
    return rows["p_fwd"].null_count() == 0 == rows["p_rev"].null_count()


def _signal(
    rows: pl.DataFrame, name: str, p: FloatArray, *, scores: FloatArray | None = None
) -> Signal:
    """The signal of a probability for the first answer: its verdict, its doubt, its errors."""
    first_words, second_words = zip(*WORDS.values(), strict=True)
    says_first = rows["label"].is_in(first_words).fill_null(False).to_numpy()
    says_second = rows["label"].is_in(second_words).fill_null(False).to_numpy()
    tie = (rows["verdict"] == "tie").fill_null(False).to_numpy()
    decided = (p != 0.5) & ~tie
    right = ((p > 0.5) & says_first) | ((p < 0.5) & says_second)
    doubt = np.where(tie, INFINITE_DOUBT, preference_entropy(p) if scores is None else scores)
    errors = (~(decided & right)).astype(np.int64)
    judge = str(rows["judge"][0])
    return Signal(name, judge, _protocol(rows), confidence(p), decided, doubt, errors)


def _protocol(rows: pl.DataFrame) -> str | None:
    protocol = str(rows["protocol"][0])
    return None if protocol == UNNAMED else protocol


def _orders(rows: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
    return rows["p_fwd"].to_numpy(), rows["p_rev"].to_numpy()


def _close(scores: FloatArray, expected: FloatArray) -> bool:
    """Whether a doubt is another one after rounding."""
    return bool((np.abs(scores - expected) <= _ROUNDING).all())
