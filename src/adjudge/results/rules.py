"""Rules that accept scores: thresholds, cuts and batches. Field names are JSON names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    at_most,
    frozen,
)
from adjudge.present.text import group_name, percent
from adjudge.records import CUT_COLUMNS
from adjudge.validation import BoolArray, FloatArray, IntArray, finite

Accepts = Literal["all", "none", "below", "batch", "groups"]


def share(part: int, whole: int) -> float:
    """part / whole, and 0 if nothing was accepted: an empty selection has no errors."""
    return part / whole if whole else 0.0


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A guarantee's decision on labelled rows: all that is needed to accept new ones.

    `scores`, `errors` and `weights` are the calibration rows, if a batch is decided with them.
    """

    accepts: Accepts
    threshold: float | None = None
    scores: Sequence[float] | FloatArray = field(default=(), repr=False)
    errors: Sequence[Count] | IntArray = field(default=(), repr=False)
    weights: Sequence[NotNegative] | FloatArray | None = field(default=None, repr=False)

    def accept(self, scores: ArrayLike) -> BoolArray:
        """Which scores are at most the threshold. All comparisons with a threshold are here.

        >>> Rule(accepts="below", threshold=0.2).accept([0.1, 0.2, 0.3])
        array([ True,  True, False])
        """
        s = finite(scores, "scores", allow_empty=True)
        if self.threshold is not None:
            return np.asarray(s <= self.threshold)
        if self.accepts in ("all", "none"):
            return np.full(len(s), self.accepts == "all")
        raise ArgumentError("accepts", self.accepts, "use the guarantee: one score is not enough")


@frozen
class Threshold(Result):
    """One deployable rule: accept every verdict whose uncertainty is at most `threshold`.

    `accepts` is "all" or "none" if no finite threshold expresses it; `threshold` is then None.
    `n_accepted`, `n_accepted_errors` and `empirical_risk` count the calibration rows that the
    rule accepts.
    """

    kind: ClassVar[str] = "threshold"
    checks: ClassVar[tuple[Check, ...]] = (
        at_most("n_errors", "n_calibration"),
        at_most("n_accepted", "n_calibration"),
        at_most("n_accepted_errors", "n_accepted"),
    )

    method: str
    alpha: Level
    delta: Level | None = None
    accepts: Accepts
    threshold: float | None
    feasible: bool
    n_calibration: Count
    n_errors: Count
    n_accepted: Count
    n_accepted_errors: Count
    empirical_risk: Proportion
    coverage: Proportion

    def accept(self, scores: ArrayLike) -> BoolArray:
        """Which of the new `scores` the rule accepts."""
        return self.rule.accept(scores)

    @property
    def rule(self) -> Rule:
        """The rule without its counts."""
        return Rule(accepts=self.accepts, threshold=self.threshold)

    def view(self) -> list[Block]:
        from adjudge.present.views.selection import view_threshold

        return view_threshold(self)


@frozen
class BatchSelection(Result):
    """Which rows of one batch are accepted together, and the p-value of each."""

    kind: ClassVar[str] = "batch_selection"

    method: str
    alpha: Level
    n_calibration: Count
    n_errors: Count
    n: Count
    n_accepted: Count
    effective_size: NotNegative | None = None
    p_values: FloatArray
    accepted: BoolArray

    def _parts(self) -> Sequence[Mapping[str, float | bool]]:
        return [
            {"p_value": float(p), "accepted": bool(kept)}
            for p, kept in zip(self.p_values, self.accepted, strict=True)
        ]

    def view(self) -> list[Block]:
        from adjudge.present.views.selection import view_batch

        return view_batch(self)


@dataclass(frozen=True, kw_only=True)
class Cut:
    """Labels drawn only among the surest rows: no row above `at` calibrates or is accepted.

    The score is the uncertainty of this judge and protocol, whatever score a policy uses. `share`
    of the rows that it was drawn from are at or below the cut.
    """

    judge: str
    protocol: str | None
    judge_fingerprint: str | None = None
    at: float
    share: Proportion

    @property
    def rule(self) -> Rule:
        """The rule that accepts scores at or below the cut."""
        return Rule(accepts="below", threshold=self.at)

    @property
    def columns(self) -> dict[str, str | float | None]:
        """The columns of the cut for a row that was drawn below it."""
        values = (self.at, self.share, self.judge, self.protocol, self.judge_fingerprint)
        return dict(zip(CUT_COLUMNS, values, strict=True))

    @property
    def name(self) -> str:
        """As in "the surest 60 % of the verdicts of gpt (preference)"."""
        judge = group_name(self.judge, none="the judge")
        protocol = group_name(self.protocol, none="")
        whose = f"{judge} ({protocol})" if protocol else judge
        return f"the surest {percent(self.share)} of the verdicts of {whose}"
