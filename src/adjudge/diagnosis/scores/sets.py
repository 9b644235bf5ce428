"""Conformal sets of scores on a Likert scale (diagnosis paper, Eq. 2-3, and extensions).

A rule turns a judge's answer on a row into a set of scores. It is calibrated on the labelled rows
of one group at several levels together. Residuals and the judge's own probabilities give the
nonconformity of a score without labels; `learned` and `cross-fitted` learn it from labels, and no
document calibrates what was learned from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.diagnosis.scores.nonconformity import (
    Target,
    document_quantiles,
    fewest_documents,
    human_target,
    learn_scale,
    ordinal_nonconformity,
    residuals,
)
from adjudge.errors import ArgumentError
from adjudge.statistics.numbers import cluster_codes, conformal_rank
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Seed,
    exact_level,
    finite,
    generator,
    one_of,
    same_length,
)

#: From answers of the judge to a value for each score of the scale, (rows, scores).
Nonconformity = Callable[[FloatArray], NDArray[Any]]
WEIGHS = ("documents", "rows")
#: The number of folds of documents; one per document if there are fewer.
_FOLDS = 10
#: One in this many documents is for learning the judge's scale.
_TEACHING = 3


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

    - "learned": P(human score | judge score) is learned on a random third of the documents, and the
      cumulative probability of a set is calibrated on the others. The judge's scores can be
      decimals, and on a different scale.
    - "cross-fitted": the same in ten folds. Smaller sets, a weaker promise: at least about
      1 - 2 alpha - sqrt(2/D) from D documents, usually near 1 - alpha.
    - "residual": C(x) = {y : |judge - y| <= q}, q the quantile of |judge - human| (Eq. 3).
    - "adaptive": from `score_probs`, the judge's own probability of each score.
    - "auto": learned if every group has about 3 * (1 - alpha)/alpha documents, else residual.

    Each document has weight 1/(D + 1) and the rest is at infinity. The promise is about a random
    row of a new document like these, an average over documents. With too few documents the set is
    the entire scale.

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
        names = self._groups(groups, n)
        of_entry = names[entries.row]
        by_group = {group: of_entry == group for group in dict.fromkeys(of_entry)}
        rule = self.method
        if rule == "auto":
            documents_of = (codes[entries.row[among]] for among in by_group.values())
            fewest = min((len(np.unique(documents)) for documents in documents_of), default=0)
            rule = default_rule(fewest, self.alpha, weigh=self.weigh)
        answers = answers_for(judge, rule, self.scale)
        random = generator(self.seed)
        rows = LabelledRows(answers, entries, codes, [self.alpha], self.scale, random)
        self.rule = rule
        self._rules = rows.calibrate(rule, by_group)
        return self

    def quantile(self, group: object = None) -> float | None:
        """The calibrated quantile of a group; None: the entire scale, or cross-fitted sets."""
        rule = self._rules.get(group)
        return None if rule is None else rule.quantile(0)

    def predict(
        self, judge: ArrayLike, *, groups: ArrayLike | Sequence[Any] | None = None
    ) -> PredictedSets:
        """The set of each row. A group that was not calibrated gets the entire scale.

        Args:
            judge: The judge's scores, or probabilities, as in `calibrate`.
            groups: The group of each row, as in `calibrate`.
        """
        if self.rule is None or not self._rules:
            raise ArgumentError("sets", "not calibrated", "call calibrate with labelled rows first")
        answers = answers_for(judge, self.rule, self.scale)
        names = self._groups(groups, len(answers))
        return PredictedSets(members_of(self._rules, answers, names, self.scale)[0], self.scale)

    @staticmethod
    def _groups(groups: ArrayLike | Sequence[Any] | None, n: int) -> NDArray[np.object_]:
        named = np.asarray([None] * n if groups is None else groups, dtype=object)
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
    numbers = np.asarray(sizes)
    whole = scale[1] - scale[0] + 1
    silent = (numbers >= whole) | (numbers == 0)
    return np.select([silent, numbers <= 2], ["human", "trust"], default="look")


def checked_scale(scale: tuple[int, int]) -> tuple[int, int]:
    """A scale of integer scores, lowest and highest."""
    low, high = scale
    if int(low) != low or int(high) != high or not low < high or high - low > 100:
        raise ArgumentError("scale", scale, "give the lowest and highest whole score, like (1, 5)")
    return int(low), int(high)


# --- rules -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelledRows:
    """What a rule is calibrated on: the judge's answers, entries of rows, each row's document.

    `answers` are those of `answers_for`; a rule is calibrated at all `alphas` together.
    """

    answers: FloatArray
    entries: Target
    documents: IntArray
    alphas: Sequence[Fraction]
    scale: tuple[int, int]
    random: np.random.Generator

    def only(self, selected: BoolArray) -> LabelledRows:
        """The same with some of the entries."""
        return replace(self, entries=self.entries.only(selected))

    def calibrate(self, rule: str, groups: Mapping[Any, BoolArray]) -> dict[Any, SetRule]:
        """The rule of each group of entries."""
        return {group: RULES[rule](self.only(among)) for group, among in groups.items()}

    def learn(self) -> Nonconformity:
        """Learn the judge's scale from the entries."""
        learned = learn_scale(self.answers, self.entries, self.documents, scale=self.scale)
        values = ordinal_nonconformity(learned.table)
        return lambda judge: values[learned.cells(judge)]

    def quantiles(self, values: FloatArray) -> tuple[float | None, ...]:
        """The quantile of these nonconformities, (rows, scores), at each level."""
        row = self.entries.row
        raters = self.entries.raters
        scores = values[row, self.entries.score - self.scale[0]]
        return document_quantiles(scores, self.documents[row], self.alphas, raters=raters)


@dataclass(frozen=True)
class SetRule:
    """C(x) = {y : nonconformity(x, y) <= limit} at several levels; without a limit the scale.

    The limits are quantiles of the nonconformity over documents, or with `ranked` numbers of
    documents. There is none if too few documents are labelled.
    """

    limits: tuple[float | None, ...]
    nonconformity: Nonconformity
    ranked: bool = False

    def quantile(self, at: int) -> float | None:
        """The quantile at one of the levels, if there is one."""
        return None if self.ranked else self.limits[at]

    def members(self, answers: FloatArray) -> BoolArray:
        """Which scores are in the set of each row: (levels, rows, scores)."""
        limits = np.array([np.inf if limit is None else limit for limit in self.limits])
        return np.asarray(self.nonconformity(answers)[None] <= limits[:, None, None])


def members_of(
    rules: Mapping[Any, SetRule],
    answers: FloatArray,
    groups: NDArray[Any],
    scale: tuple[int, int],
) -> BoolArray:
    """Which scores are in each row's set by the rule of its group, (levels, rows, scores)."""
    levels = len(next(iter(rules.values())).limits)
    members = np.ones((levels, len(answers), scale[1] - scale[0] + 1), dtype=bool)
    for group, rule in rules.items():
        among = groups == group
        members[:, among] = rule.members(answers[among])
    return members


def calibrate_known(rows: LabelledRows) -> SetRule:
    """The answers are themselves the nonconformity of each score, (rows, scores)."""
    return SetRule(rows.quantiles(rows.answers), nonconformity=np.asarray)


def calibrate_learned(rows: LabelledRows) -> SetRule:
    """Learn the judge's scale on a random third of the documents, calibrate it on the others.

    Given that third, the nonconformity is a fixed function of a row, so the others and a new
    document are exchangeable. Half of the documents for learning gives larger sets.
    """
    teaches = random_part(rows.documents[rows.entries.row], rows.random, _TEACHING)
    nonconformity = rows.only(teaches).learn()
    return SetRule(rows.only(~teaches).quantiles(nonconformity(rows.answers)), nonconformity)


def calibrate_cross_fitted(rows: LabelledRows) -> SetRule:
    """CV+ (Barber et al. 2021; Romano, Sesia and Candes 2020) with one random entry per document.

    C(x) = {y : #{documents i : E_i < V_i(x, y)} < (1 - alpha)(D + 1)}, with gaps filled: V_i is
    learned without the fold of document i, E_i is its value at the document's own row and human
    score. Coverage is at least about 1 - 2 alpha - sqrt(2/D), usually near 1 - alpha.
    """
    entries = rows.entries
    if len(entries.row) == 0:
        return calibrate_learned(rows)
    documents = rows.documents[entries.row]
    # A random row of each document, with a random rater.
    lot = rows.random.random(int(entries.row.max()) + 1)[entries.row]
    order = np.lexsort((rows.random.random(len(documents)), lot, documents))
    drawn = order[np.flatnonzero(np.diff(documents[order], prepend=-1))]
    folds = []
    for fold in np.array_split(rows.random.permutation(drawn), min(_FOLDS, len(drawn))):
        nonconformity = rows.only(~np.isin(documents, documents[fold])).learn()
        values = nonconformity(rows.answers[entries.row[fold]])
        calibrated = values[np.arange(len(fold)), entries.score[fold] - rows.scale[0]]
        folds.append((nonconformity, np.sort(calibrated)))

    def documents_below(judge: FloatArray) -> IntArray:
        counts = [np.searchsorted(values, learned(judge)) for learned, values in folds]
        below = np.sum(counts, axis=0)
        # A score between two scores of the set is in it too: an interval for every limit.
        from_low = np.minimum.accumulate(below, axis=1)
        from_high = np.minimum.accumulate(below[:, ::-1], axis=1)[:, ::-1]
        return np.maximum(from_low, from_high)

    ranks = (conformal_rank(len(drawn), alpha) for alpha in rows.alphas)
    limits = tuple(None if rank > len(drawn) else rank - 1 for rank in ranks)
    return SetRule(limits, documents_below, ranked=True)


def random_part(documents: IntArray, random: np.random.Generator, parts: int) -> BoolArray:
    """Whether each row is in a random one of `parts` equal parts of the documents, rounded down."""
    names, index = np.unique(documents, return_inverse=True)
    chosen = np.zeros(len(names), dtype=bool)
    chosen[random.permutation(len(names))[: len(names) // parts]] = True
    return np.asarray(chosen[index])


#: How each kind of sets is calibrated.
RULES: dict[str, Callable[[LabelledRows], SetRule]] = {
    "learned": calibrate_learned,
    "cross-fitted": calibrate_cross_fitted,
    "residual": calibrate_known,
    "adaptive": calibrate_known,
}
#: The choices; "auto" decides by the number of documents.
SETS = ("auto", *RULES)


def answers_for(judge: ArrayLike, rule: str, scale: tuple[int, int]) -> FloatArray:
    """The input of a rule's calibration: scores, or the nonconformity of each score."""
    if rule == "residual":
        return residuals(judge, scale)
    if rule != "adaptive":
        return finite(judge, "judge")
    values = ordinal_nonconformity(judge)
    if values.shape[1] != scale[1] - scale[0] + 1:
        raise ArgumentError(
            "judge", f"{values.shape[1]} probabilities", f"give one per score of {scale}"
        )
    return values


def default_rule(documents: int, alpha: Fraction, *, weigh: str = "documents") -> str:
    """ "learned" if there are enough documents to test learned sets, else "residual".

    No score decides, so the promise is not weaker. Row by row, it is the paper's.

    >>> default_rule(26, Fraction(1, 10)), default_rule(25, Fraction(1, 10))
    ('learned', 'residual')
    """
    enough = weigh == "documents" and documents >= fewest_to_learn(alpha)
    return "learned" if enough else "residual"


def fewest_to_learn(alpha: Fraction) -> int:
    """Documents of which two thirds of a half have a finite quantile: D/2 are tested.

    >>> fewest_to_learn(Fraction(1, 10)), fewest_to_learn(Fraction(1, 20))
    (26, 56)
    """
    fewest = fewest_documents(alpha)
    return 2 * (fewest + (fewest - 1) // (_TEACHING - 1))
