"""Conformal sets of scores on a Likert scale (diagnosis paper, Eq. 2-3, and extensions)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.diagnosis.set_rules import RULES, SetRule, default_rule, given_by_judge
from adjudge.diagnosis.targets import human_target
from adjudge.errors import ArgumentError
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import (
    BoolArray,
    IntArray,
    Seed,
    exact_level,
    generator,
    one_of,
    same_length,
)

WEIGHS = ("documents", "rows")
#: The choices; "auto" decides by the number of documents.
SETS = ("auto", *RULES)


@dataclass(frozen=True)
class PredictedSets:
    """Sets of scores: `members[i, k]` is true if score `scale[0] + k` is in the set of row i.

    A set can be empty (residual: the judge's score is between two integers and close to neither).
    Its size is 0, and its `low` and `high` are the ends of the scale.
    """

    members: BoolArray
    scale: tuple[int, int]

    @property
    def sizes(self) -> IntArray:
        return np.asarray(self.members.sum(axis=1), dtype=np.int64)

    @property
    def low(self) -> IntArray:
        return np.asarray(self.scale[0] + self.members.argmax(axis=1), dtype=np.int64)

    @property
    def high(self) -> IntArray:
        return np.asarray(self.scale[1] - self.members[:, ::-1].argmax(axis=1), dtype=np.int64)

    @property
    def advice(self) -> NDArray[np.str_]:
        return advise(self.sizes, scale=self.scale)


class ScoreSets:
    """Sets that contain the human score with probability at least 1 - alpha.

    `method`, all of them intervals:

    - "learned": P(human score | judge score) is learned on a random half of the documents, and the
      cumulative probability of a set is calibrated on the other half. The judge's scores can be
      decimals, and on a different scale.
    - "cross-fitted": the same in ten folds. Smaller sets, a weaker promise: at least about
      1 - 2 alpha - sqrt(2/D) from D documents, usually near 1 - alpha.
    - "residual": C(x) = {y : |judge - y| <= q}, q the quantile of |judge - human| (Eq. 3).
    - "adaptive": from `score_probs`, the judge's own probability of each score.
    - "auto": learned if every group has 4 * (1 - alpha)/alpha documents, else residual.

    Documents are exchangeable, rows are not: each document has weight 1/(D + 1) and the rest is at
    infinity, so that similar rows of a document do not count as more evidence. The promise is about
    a random row of a new document like these. It is an average over documents, not a promise for
    each. With too few documents the set is the entire scale.

    Args:
        alpha: Error level. The sets contain the human score at the rate 1 - alpha.
        scale: Lowest and highest score.
        method: One of the methods above.
        weigh: documents, or rows as in the paper's Eq. 2 (valid only for one row per document).
        target: mean: the rounded mean of the raters; rater: one at random.
        seed: Seed of everything random.

    >>> sets = ScoreSets(alpha=0.2).calibrate([3, 4, 2, 5], [3, 4, 3, 4], documents=list("abcd"))
    >>> sets.rule, sets.quantile(), sets.predict([4, 1]).members.sum(axis=1)
    ('residual', 1.0, array([3, 2]))
    """

    def __init__(
        self,
        *,
        alpha: float | str | Fraction,
        scale: tuple[int, int] = (1, 5),
        method: str = "auto",
        weigh: str = "documents",
        target: str = "mean",
        seed: Seed = 0,
    ) -> None:
        self.alpha = exact_level(alpha)
        self.scale = checked_scale(scale)
        self.method = one_of(method, SETS, "method")
        self.weigh = one_of(weigh, WEIGHS, "weigh")
        self.target = target
        self.seed = seed
        self.rule = None if method == "auto" else method
        self._rules: dict[object, SetRule] = {}

    def calibrate(
        self,
        judge: ArrayLike,
        human: ArrayLike,
        *,
        documents: ArrayLike | Sequence[Any] | None = None,
        groups: ArrayLike | Sequence[Any] | None = None,
    ) -> ScoreSets:
        """Learn the sets; afterwards `rule` is the method that was used.

        Args:
            judge: The judge's scores; for "adaptive" its probability of each score (rows, scores).
            human: The human score of each row, or a table (rows, raters); NaN without one.
            documents: The document of each row.
            groups: Each of these groups is calibrated separately, such as a criterion.
        """
        n = same_length(judge=judge, human=human, documents=documents)
        entries = human_target(human, target=self.target, scale=self.scale)
        if documents is None and self.weigh == "documents":
            raise ArgumentError("documents", None, "name each row's document, or weigh='rows'")
        rowwise = documents is None or self.weigh == "rows"
        codes = np.arange(n) if rowwise else cluster_codes(np.asarray(documents))[0]
        kinds = self._groups(groups, n)
        parts = {
            kind: entries.only(kinds[entries.row] == kind)
            for kind in dict.fromkeys(kinds[entries.row])
        }
        if self.method == "auto":
            fewest = min((len(np.unique(codes[own.row])) for own in parts.values()), default=0)
            self.rule = default_rule(fewest, self.alpha, weigh=self.weigh)
        given, random = given_by_judge(judge, self._used(), self.scale), generator(self.seed)
        self._rules = {
            kind: RULES[self._used()](
                given, own, codes, [self.alpha], scale=self.scale, random=random
            )
            for kind, own in parts.items()
        }
        return self

    def quantile(self, group: object = None) -> float | None:
        """The calibrated quantile of a group; None: the entire scale, or cross-fitted sets."""
        rule = self._rules.get(group)
        return None if rule is None else rule.quantiles[0]

    def predict(
        self, judge: ArrayLike, *, groups: ArrayLike | Sequence[Any] | None = None
    ) -> PredictedSets:
        """The set of each row. A group that was not calibrated gets the entire scale.

        Args:
            judge: The judge's scores, or probabilities, as in `calibrate`.
            groups: The group of each row, as in `calibrate`.
        """
        if not self._rules:
            raise ArgumentError("sets", "not calibrated", "call calibrate with labelled rows first")
        given = given_by_judge(judge, self._used(), self.scale)
        kinds = self._groups(groups, len(given))
        members = np.ones((len(given), self.scale[1] - self.scale[0] + 1), dtype=bool)
        for kind, rule in self._rules.items():
            own = kinds == kind
            members[own] = rule.members(given[own])[0]
        return PredictedSets(members, self.scale)

    def _used(self) -> str:
        if self.rule is None:
            raise ArgumentError("sets", "not calibrated", "call calibrate with labelled rows first")
        return self.rule

    @staticmethod
    def _groups(groups: ArrayLike | Sequence[Any] | None, n: int) -> NDArray[np.object_]:
        if groups is None:
            return np.full(n, None, dtype=object)
        named = np.asarray(groups, dtype=object)
        if named.shape != (n,):
            raise ArgumentError("groups", f"shape {named.shape}", f"give one name for {n} rows")
        return named


def advise(sizes: ArrayLike, *, scale: tuple[int, int] = (1, 5)) -> NDArray[np.str_]:
    """What to do with a row, by the size of its set (diagnosis paper, section 6).

    One or two scores: "trust". The entire scale or an empty set, which have no information:
    "human", give it to a person. Between: "look".

    >>> advise([0, 1, 2, 3, 5]).tolist()
    ['human', 'trust', 'trust', 'look', 'human']
    """
    given = np.asarray(sizes)
    whole = scale[1] - scale[0] + 1
    silent = (given >= whole) | (given == 0)
    return np.select([silent, given <= 2], ["human", "trust"], default="look")


def checked_scale(scale: tuple[int, int]) -> tuple[int, int]:
    """A scale of integer scores, lowest and highest."""
    low, high = scale
    if int(low) != low or int(high) != high or not low < high or high - low > 100:
        raise ArgumentError("scale", scale, "give the lowest and highest whole score, like (1, 5)")
    return int(low), int(high)
