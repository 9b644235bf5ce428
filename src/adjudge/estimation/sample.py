"""The rows of an estimator, checked once: judge numbers, human labels, test and calibration rows.

Rows without a label are the test set and give the judge's rate; rows with one calibrate. Rows that
a plan picked for labelling from the test rows (`sampled_by` = plan) do both: without them, the
plan would bias the verdicts of the test set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from adjudge.data.grades import Grades
from adjudge.errors import ArgumentError
from adjudge.validation import BoolArray, FloatArray, IntArray, probabilities, same_length

Scale = Literal["binary", "probability"]

#: The value in `human` for a row without a label; never used as a number.
UNLABELLED = -1


@dataclass(frozen=True)
class Sample:
    """Checked arrays of one length. `weights` are 1 / sampling probability of labelled rows.

    `random` is true if labels are known to be a random sample of the test rows.
    """

    judge: FloatArray
    human: FloatArray
    test: BoolArray
    labelled: BoolArray
    weights: FloatArray | None = None
    clusters: IntArray | None = None
    strata: IntArray | None = None
    strata_names: tuple[str, ...] = ()
    random: bool = False

    @property
    def scale(self) -> Scale:
        """Whether the judge says 0/1 or gives probabilities."""
        whole = (self.judge == 0) | (self.judge == 1)
        return "binary" if bool(whole.all()) else "probability"

    @property
    def graded(self) -> bool:
        """Whether some labels are shares of people, between 0 and 1."""
        known = self.human[self.labelled]
        return bool(((known > 0) & (known < 1)).any())

    @property
    def n(self) -> int:
        """Test rows."""
        return int(self.test.sum())

    @property
    def m(self) -> int:
        """Labelled rows."""
        return int(self.labelled.sum())

    @property
    def positive(self) -> BoolArray:
        """Labelled rows that all people call 1."""
        return np.asarray(self.labelled & (self.human == 1))

    @property
    def negative(self) -> BoolArray:
        """Labelled rows that all people call 0."""
        return np.asarray(self.labelled & (self.human == 0))

    @property
    def planned(self) -> bool:
        """Whether labels were picked with unequal, known probabilities."""
        return self.weights is not None

    @property
    def weighted(self) -> bool:
        """Whether every labelled row has its sampling probability."""
        return self.weights is not None and not np.isnan(self.weights[self.labelled]).any()

    def restrict(self, rows: BoolArray, *, calibration: BoolArray | None = None) -> Sample:
        """Use only these rows as test rows; they also calibrate unless `calibration` names others.

        The arrays keep their length, so that influence values of several restrictions add up.
        """
        calibrating = rows if calibration is None else calibration
        return replace(self, test=self.test & rows, labelled=self.labelled & calibrating)

    def spread(self, rows: BoolArray, centre: float, factor: float, n: int) -> FloatArray:
        """factor * (judge - centre) / n in these rows and 0 in the others, as influence values.

        In place: with many rows, every copy counts.
        """
        values = self.judge - centre
        values *= factor
        values /= n
        values[~rows] = 0.0
        return values

    def compact(self) -> Sample:
        """Remove the rows that neither test nor calibrate; probabilities are left unchanged.

        The probabilities of one group could all be 0 and 1, and would then look like verdicts.
        """
        if self.scale == "probability":
            return self
        used = self.test | self.labelled
        return replace(
            self,
            judge=self.judge[used],
            human=self.human[used],
            test=self.test[used],
            labelled=self.labelled[used],
            weights=None if self.weights is None else self.weights[used],
            clusters=None if self.clusters is None else self.clusters[used],
            strata=None if self.strata is None else self.strata[used],
        )


def make_sample(
    judge: ArrayLike,
    human: ArrayLike,
    *,
    sampling_probability: ArrayLike | None = None,
    clusters: IntArray | None = None,
    strata: IntArray | None = None,
    strata_names: tuple[str, ...] = (),
) -> Sample:
    """A sample from arrays; NaN or None in `human` marks a test row.

    `sampling_probability` (NaN if a row was not picked by a plan) marks rows that were picked
    from the test rows with that probability. A label can be the share of people who say 1, because
    some methods only use the mean of labels.

    >>> rows = make_sample([1, 0, 1], [1, 0, None])
    >>> rows.n, rows.m, rows.scale
    (1, 2, 'binary')
    """
    x = probabilities(judge, "judge")
    z = _with_gaps(human, "human")
    same_length(judge=x, human=z)
    labelled = ~np.isnan(z)
    wrong = labelled & ((z < 0) | (z > 1))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ArgumentError(f"human[{at}]", float(z[at]), "give 0, 1, a share between, or nothing")
    labels = np.where(labelled, z, UNLABELLED)
    test, weights = ~labelled, None
    if sampling_probability is not None:
        chance = _chances(sampling_probability, labelled)
        picked = ~np.isnan(chance)
        if (picked & labelled).any():
            weights = np.where(picked, 1 / np.where(picked, chance, 1.0), np.nan)
            test = ~labelled | picked
    return Sample(x, labels, test, labelled, weights, clusters, strata, strata_names)


def sample_of(grades: Grades) -> Sample | None:
    """The sample of prepared grades; None if they are classes."""
    if grades.scale == "classes":
        return None
    return make_sample(
        grades.judge,
        grades.human,
        sampling_probability=grades.sampling_probability,
        clusters=grades.clusters,
        strata=grades.strata,
        strata_names=grades.strata_names,
    )


def _with_gaps(values: ArrayLike, name: str) -> FloatArray:
    """The numbers, NaN if missing."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1:
        return values
    raw = np.asarray(values, dtype=object)
    if raw.ndim != 1:
        raise ArgumentError(name, f"shape {raw.shape}", "give a one-dimensional array")
    try:
        return np.array([np.nan if v is None else float(v) for v in raw], dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(name, "text", "give a number or nothing for each row") from None


def _chances(values: ArrayLike, labelled: BoolArray) -> FloatArray:
    chance = _with_gaps(values, "sampling_probability")
    same_length(sampling_probability=chance, human=labelled)
    bad = ~np.isnan(chance) & ((chance <= 0) | (chance > 1))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ArgumentError(
            f"sampling_probability[{at}]", float(chance[at]), "give a number above 0, at most 1"
        )
    return chance
