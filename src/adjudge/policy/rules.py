"""Rules that accept scores: thresholds, and the cuts below which they hold.

Field names are JSON names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError
from adjudge.present.result import Count, NotNegative, Proportion
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


class JudgeRows(Protocol):
    """Anything about the rows of one judge and protocol."""

    @property
    def judge(self) -> str: ...

    @property
    def protocol(self) -> str | None: ...


def own_cuts(rows: JudgeRows, cuts: Sequence[Cut]) -> list[Cut]:
    """The cuts of the score that this rule uses: the uncertainty of its own judge.

    A jury's rule has no cut, because it has its own score.
    """
    return [
        cut for cut in cuts if cut.judge == rows.judge and cut.protocol in (None, rows.protocol)
    ]


def limit_rule(rule: Rule, scores: FloatArray, rows: JudgeRows, cuts: Sequence[Cut]) -> Rule:
    """The rule for these scores; if there is a cut, it never accepts everything.

    If everything passes, the rule accepts up to the cut, because no label distinguishes thresholds
    between the last labelled score and the cut. If the rule uses another score than the one that
    was cut (a jury's), it accepts up to the largest labelled score.
    """
    if not cuts or rule.accepts != "all":
        return rule
    limits = [cut.at for cut in own_cuts(rows, cuts)]
    return Rule(accepts="below", threshold=min(limits or [float(scores.max())]))


def names_of(cuts: Sequence[Cut]) -> str:
    """The names of the pairs below every cut."""
    return " and ".join(cut.name for cut in cuts)


def promise_below(promise: str, cuts: Sequence[Cut]) -> str:
    """A guarantee's promise, about the pairs below every cut."""
    return f"among {names_of(cuts)}: {promise}" if cuts else promise
