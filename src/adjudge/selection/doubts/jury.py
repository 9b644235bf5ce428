"""Juries: the judges of a pair as one, by the mean of their log odds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.judgments import ERROR, IS_ERROR, WORDS, doubt_ties
from adjudge.data.rows import Identity, identities, verdict_by
from adjudge.errors import ArgumentError
from adjudge.judges.judge import match_judge
from adjudge.policy.doubts import JuryReport
from adjudge.policy.result import Policy
from adjudge.records import About
from adjudge.selection.doubts.base import (
    NO_COSTS,
    NOT_LEARNED,
    Coverage,
    Doubt,
    DoubtFit,
    DoubtRequest,
    Labelled,
    ScoredRows,
)
from adjudge.selection.doubts.evidence import (
    MOST_ODDS,
    TAIL,
    Evidence,
    log_odds,
    order_gap,
    sum_in_order,
)
from adjudge.selection.labelled import NewRows
from adjudge.statistics.entropy import preference_entropy
from adjudge.store import StorePlace
from adjudge.validation import FloatArray, one_of, probabilities

JURIES = ("mean", "learned")
#: The value in the judge column of a jury's rows.
JURY = "jury"
#: The column with the names of a jury's members.
MEMBER = "__member"
INCOMPLETE = "not scored by every judge of the jury"
_GAP = "__gap"
#: Columns about one judge's row; all others are about the pair.
OF_JUDGES = frozenset({
    "judge", "protocol", "status", "p_fwd", "p_rev", "p_a", "p_tie", "uncertainty", "verdict",
    "answer_mass", "judge_fingerprint", "server", "tokens", "cost", "detail", MEMBER, ERROR,
})  # fmt: skip


@dataclass(frozen=True)
class Jury:
    """Several judges as one. `predict` needs the judges' p in the order of the weights.

        p = sigma(sum_j w_j x_j),    x_j = log(p_j / (1 - p_j)), clipped at +-most_odds

    with equal weights that sum to 1 and a slope of `tail` outside the clipping range. There is no
    intercept, so that swapping A and B turns p into 1 - p. Log odds are averaged, not
    probabilities, because judges are overconfident: if p is 0.99 for most pairs, a mean of p only
    counts votes and no longer separates the surer pairs. The odds are clipped because one judge
    with p = 0.9999 would outvote all others.
    """

    method: str
    weights: FloatArray
    most_odds: float = MOST_ODDS
    tail: float = TAIL

    def predict(self, p: ArrayLike) -> FloatArray:
        """The jury's p for response_a; one row per pair, one column per judge."""
        table = _table(p)
        if table.shape[1] != len(self.weights):
            raise ArgumentError(
                "p", table.shape, f"give one column for each of {len(self.weights)} judges"
            )
        return _sigmoid(log_odds(table, self.most_odds, self.tail) @ self.weights)


def mean_jury(judges: int, *, method: str = "mean") -> Jury:
    """Every judge has the same weight; nothing is learned.

    Args:
        judges: Number of judges.
        method: Name of the method in the policy.

    >>> mean_jury(2).predict([[0.9, 0.5]]).round(3)
    array([0.75])
    """
    return Jury(method, np.full(judges, 1 / judges))


@dataclass(frozen=True)
class JuryDoubt(Doubt):
    """Several judges as one. Its rows are those that every judge scored.

    A `learned` jury has the rows of the mean jury: a learned doubt over it keeps the verdict
    without labels.
    """

    jury: Jury
    members: tuple[str, ...]
    prints: tuple[str, ...]

    @property
    def judges(self) -> tuple[str, ...]:
        return self.members

    @property
    def fingerprints(self) -> tuple[str, ...]:
        return self.prints

    @property
    def not_servable(self) -> str | None:
        return "the policy of a jury needs several judges; serve takes one"

    @property
    def cautions(self) -> tuple[str, ...]:
        return (
            "the coverage of each judge alone is for comparison: if you choose the best judge with "
            "these labels, you need other labels to calibrate",
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        method = self.jury.method
        return (f"the jury's weights ({method}) were not learned from the calibration labels",)

    @classmethod
    def load(cls, policy: Policy) -> JuryDoubt | None:
        if (saved := policy.jury) is None:
            return None
        jury = Jury(saved.method, np.asarray(saved.weights), saved.most_odds, saved.tail)
        return cls(jury, saved.judges, policy.judge_fingerprints)

    def score(self, new: NewRows) -> ScoredRows:
        frame = name_members(new.measured)
        there = set(frame.get_column(MEMBER).unique().to_list())
        missing = [name for name in self.judges if name not in there]
        if missing:
            raise ArgumentError(
                "judgments", ", ".join(sorted(there)), "also needs " + ", ".join(missing)
            )
        frame = frame.filter(pl.col(MEMBER).is_in(list(self.judges)))
        rows, evidence, _ = self.assemble(frame, new.about)
        everything = _with_incomplete(new.everything, rows)
        return ScoredRows(
            rows=doubt_ties(rows),
            judge_verdicts=self.first_verdicts(rows, frame),
            everything=everything,
            unscored={INCOMPLETE: everything.height - rows.height},
            reason=pl.lit(INCOMPLETE),
            evidence=evidence,
        )

    def first_verdicts(self, rows: pl.DataFrame, frame: pl.DataFrame) -> pl.Series:
        """The verdicts of the first judge on these rows, from the rows of all judges."""
        first = frame.filter(pl.col(MEMBER) == self.judges[0]).select("id", "verdict")
        return rows.select("id").join(first, on="id", how="left", maintain_order="left")["verdict"]

    def check_judges(self, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
        members = [Identity(fingerprint=name) for name in self.fingerprints]
        for judge in identities(frame):
            if judge.fingerprint is not None and members:
                match_judge(members, Identity(fingerprint=judge.fingerprint), made="the jury")
        return []

    def assemble(self, frame: pl.DataFrame, about: About) -> tuple[pl.DataFrame, Evidence, int]:
        """The jury's rows, the evidence of its members in the same order, and the number of pairs
        that some member did not score.

        The jury's p_tie is the mean over its judges, with 0 for a judge without ties.
        """
        table, incomplete = _side_by_side(frame, list(self.judges))
        members = table.select(self.judges).to_numpy()
        p = self.jury.predict(members)
        rows = (
            table.drop(self.judges)
            .with_columns(
                judge=pl.lit(JURY),
                protocol=pl.lit(self.jury.method),
                status=pl.lit("ok"),
                p_a=pl.Series(p, dtype=pl.Float64),
                uncertainty=pl.Series(preference_entropy(p) if len(p) else [], dtype=pl.Float64),
                judge_fingerprint=pl.lit(None, pl.String),
            )
            .with_columns(verdict=verdict_by(table.columns, WORDS[about]))
        )
        gaps = order_gap(frame)
        if gaps is not None:
            gap = frame.with_columns(pl.Series(_GAP, gaps))
            wide = gap.pivot(on=MEMBER, index="id", values=_GAP)
            wide = table.select("id").join(wide, on="id", how="left", maintain_order="left")
            columns = [wide[name].to_numpy() for name in self.judges]
            gaps = sum_in_order(columns) / len(columns)
        return rows, Evidence(judges=self.judges, p=members, order_gap=gaps), incomplete


@dataclass(frozen=True)
class JuryFit(DoubtFit):
    """A jury and its labelled rows."""

    doubt: JuryDoubt

    def entries(self, coverage: Coverage, total: float) -> dict[str, Any]:
        jury = self.doubt.jury
        return {
            "jury": JuryReport(
                method=jury.method,
                judges=self.doubt.judges,
                weights=tuple(jury.weights.tolist()),
                most_odds=jury.most_odds,
                tail=jury.tail,
                n_training=0,
                coverage=total,
                coverage_alone={name: coverage(rows) for name, rows in self.alone.items()},
            )
        }


class JuryRequest(DoubtRequest):
    """All judges of the rows as one."""

    doubt = JuryDoubt
    asked_by = dict.fromkeys(("jury",))
    refuses = {"doubt": "leave it out: --jury learned includes it"} | NOT_LEARNED | NO_COSTS
    name = "jury (mean)"
    learned_name = "jury (learned)"

    def check(self) -> None:
        if self.options.weights is not None:
            remedy = "leave out --weights: a jury cannot use weights"
            raise ArgumentError("jury", self.options.jury, remedy)
        super().check()

    def learn(self, labelled: Labelled) -> JuryFit:
        """A jury of every judge in the labelled rows; errors are the jury's own."""
        method = one_of(str(self.options.jury), JURIES, "jury")
        frame = name_members(labelled.frame)
        doubt = make_jury(frame, method)
        judges = doubt.judges
        rows, evidence, incomplete = doubt.assemble(frame, labelled.about)
        return JuryFit(
            doubt=doubt,
            rows=doubt_ties(rows).with_columns(IS_ERROR.alias(ERROR)),
            evidence=evidence,
            dropped={INCOMPLETE: incomplete},
            alone={name: frame.filter(pl.col(MEMBER) == name) for name in judges},
        )


def make_jury(frame: pl.DataFrame, method: str, *, judges: Sequence[str] = ()) -> JuryDoubt:
    """A jury with equal weights of these judges, or of every judge in the rows."""
    frame = name_members(frame)
    members = tuple(judges) or tuple(frame.get_column(MEMBER).unique().sort().to_list())
    if len(members) < 2:
        remedy = f"needs two judges or more; there is only {', '.join(members) or 'none'}"
        raise ArgumentError("jury", method, remedy)
    prints = frame["judge_fingerprint"].drop_nulls().unique().sort().to_list()
    return JuryDoubt(mean_jury(len(members), method=method), members, tuple(prints))


def name_members(frame: pl.DataFrame) -> pl.DataFrame:
    """`MEMBER`: the judge's name, with its protocol if the file has several protocols."""
    several = frame.get_column("protocol").n_unique() > 1
    name = pl.format("{} ({})", "judge", "protocol") if several else pl.col("judge")
    return frame.with_columns(name.alias(MEMBER))


def _side_by_side(frame: pl.DataFrame, judges: list[str]) -> tuple[pl.DataFrame, int]:
    """One row per pair with a column of p_a per judge and the pair's other columns; and the number
    of pairs that some judge did not score."""
    shared = [column for column in frame.columns if column not in OF_JUDGES]
    ties = [pl.col("p_tie").fill_null(0.0).mean()] if "p_tie" in frame.columns else []
    pairs = frame.group_by("id", maintain_order=True).agg(
        *(pl.col(column).first() for column in shared if column != "id"), *ties
    )
    wide = frame.pivot(on=MEMBER, index="id", values="p_a").select("id", *judges)
    clash = set(judges) & set(pairs.columns)
    if clash:
        raise ArgumentError("jury", sorted(clash)[0], "a judge has the name of a column: rename it")
    table = pairs.join(wide, on="id", how="left", maintain_order="left")
    complete = table.drop_nulls(judges)
    if complete.height == 0:
        raise ArgumentError("jury", ", ".join(judges), "no pair was scored by all of them")
    return complete.sort("id"), table.height - complete.height


def _with_incomplete(everything: pl.DataFrame, usable: pl.DataFrame) -> pl.DataFrame:
    """The jury's rows, and a row without a score for every pair that some judge lacks."""
    left_out = everything.unique("id", keep="first", maintain_order=True).join(
        usable, on="id", how="anti", maintain_order="left"
    )
    shared = [name for name in left_out.columns if name in usable.columns]
    blank = ("p_a", "p_fwd", "p_rev", "p_tie", "uncertainty", "verdict", "judge_fingerprint")
    left_out = left_out.select(shared).with_columns(
        *(pl.lit(None, usable.schema[name]).alias(name) for name in blank if name in shared),
        judge=pl.lit(usable["judge"][0], pl.String),
        protocol=pl.lit(usable["protocol"][0], pl.String),
        status=pl.lit("error"),
    )
    return pl.concat([usable, left_out], how="diagonal_relaxed")


def _table(p: ArrayLike) -> FloatArray:
    table = np.asarray(p, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ArgumentError("p", table.shape, "give a table: rows are pairs, columns are judges")
    probabilities(table.ravel(), "p", allow_empty=True)
    return table


def _sigmoid(x: FloatArray) -> FloatArray:
    # sigma(-x) is computed as 1 - sigma(x), so that a swapped pair mirrors exactly.
    top = 1 / (1 + np.exp(-np.abs(x)))
    return np.where(x >= 0, top, 1 - top)
