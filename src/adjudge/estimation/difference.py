"""(iii) The judge's rate plus the mean gap between people and judge on the labelled rows."""

from __future__ import annotations

from adjudge.estimation.outcome import Outcome
from adjudge.estimation.ppi import ppi
from adjudge.estimation.sample import Sample

ASSUMPTION = (
    "people and judge differ by the same mean amount on labelled and on test rows, "
    "as they do when the labelled rows are a random sample of them"
)


def difference(sample: Sample, *, confidence_level: float = 0.95) -> Outcome:
    """mean_test(x) + mean_labelled(z - x), a normal interval (Table 1, row iii).

    This is prediction-powered inference without tuning (lambda = 1): with a poor judge it is wider
    than people alone, which `ppi` avoids. Biased under label shift.

    >>> from adjudge.estimation.sample import make_sample
    >>> rows = make_sample([1, 0, 1, 0, 1, 1, 0, 0], [1, 0, 1, 1] + [None] * 4)
    >>> difference(rows).estimate
    0.75
    """
    return ppi(sample, confidence_level=confidence_level, weight=1.0)
