"""The gain of one prompt over another on rows that neither was chosen on, and what can be shown.

Numbers are over questions: a question is one text of the rows' prompt, and rows of it are alike.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from adjudge.records import Interval
from adjudge.statistics.clusters import share_interval
from adjudge.statistics.differences import POWER, Gap, paired_gap
from adjudge.statistics.numbers import normal_quantile
from adjudge.validation import FloatArray

#: Error of all looks together.
ERROR = 0.05
#: Share of rows on which two prompts differ, for planning: .07 to .17 in real comparisons.
DISCORDANT = 0.10


def measure_gain(d: FloatArray) -> Gap:
    """The mean of d, the gain on each of two or more questions.

    One +1 and one -1 are added (Bonett and Price 2012), with Student's t on n - 1 degrees of
    freedom. The estimate is the plain mean. Checked by simulation, not proven.

    >>> measure_gain(np.repeat([1.0, 0.0], [40, 60])).interval(0.95, 1)
    Interval(low=0.292..., high=0.491..., level=0.95)
    """
    return replace(paired_gap(d, zero_one=True), freedom=len(d) - 1)


def accuracy_interval(right: FloatArray, looks: int) -> Interval | None:
    """The interval of a mean over questions at 1 - 0.025/looks: both accuracies hold together."""
    return share_interval(right, np.arange(len(right)), 1 - ERROR / 2 / looks)


def standard_error(d: FloatArray) -> float:
    return float(d.std(ddof=1)) / math.sqrt(len(d))


def smallest_gain(questions: int, looks: int) -> float:
    """The smallest gain that this many certify questions show in four of five cases, at most 1.

    g = r sqrt(s/n), r = z + z_.8 at the level of one look. Prompts differ on a share s of the
    questions, s = max(0.10, g): on at least as many as they gain.

    >>> [round(smallest_gain(n, 1), 3) for n in (50, 100, 200, 500)]
    [0.157, 0.089, 0.063, 0.04]
    >>> round(smallest_gain(100, 3), 3)
    0.105
    """
    gain = _reach(looks) * math.sqrt(DISCORDANT / questions)
    return gain if gain <= DISCORDANT else min(1.0, _reach(looks) ** 2 / questions)


def questions_needed(gain: float, looks: int) -> int:
    """Certify questions for which `smallest_gain` is at most this gain.

    >>> questions_needed(0.05, 1)
    314
    """
    return math.ceil(_reach(looks) ** 2 * max(DISCORDANT, gain) / gain**2)


def _reach(looks: int) -> float:
    return normal_quantile(1 - ERROR / looks) + float(ndtri(POWER))
