"""Pairs with a known better answer, and a judge with known errors.

The judge is calibrated by construction: for each pair it has a confidence c in [1/2, 1] with mean
`accuracy`, and is right with probability c. With u uniform, a the accuracy, k = (2-2a)/(2a-1),

    c = 1/2 + u^k / 2,     margin = +-logit(c),

and for a pair shown in some order it prefers the first answer with log odds

    +-margin + logit(1/2 + position_bias) + noise * z,     z standard normal.

Averaged over both orders the bias cancels in sign. So without noise the verdict is right with
probability exactly `accuracy`, for any bias.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from adjudge.errors import ArgumentError
from adjudge.records import LabelValue, Order, Pair, Verdict
from adjudge.validation import Seed, count, generator

_MOST_SURE = 1 - 1e-6
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedJudge:
    """A judge with known accuracy, position bias and noise. Same seed and pair: same answer.

    >>> judge = SimulatedJudge(accuracy=0.8, position_bias=0.2, seed=1)
    >>> forward = judge.p_a("pair 7", "A", "ab")
    >>> reverse = judge.p_a("pair 7", "A", "ba")
    >>> forward > reverse, forward == judge.p_a("pair 7", "A", "ab")
    (True, True)
    """

    accuracy: float = 0.8
    position_bias: float = 0.0
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.5 <= self.accuracy <= 1:
            raise ArgumentError("accuracy", self.accuracy, "give a number from 0.5 to 1")
        if not -0.5 < self.position_bias < 0.5:
            raise ArgumentError(
                "position_bias", self.position_bias, "give a number between -0.5 and 0.5"
            )
        if not (math.isfinite(self.noise) and self.noise >= 0):
            raise ArgumentError("noise", self.noise, "give a number that is not negative")

    def truth(self, name: str, label: LabelValue | None) -> Verdict | None:
        """The better answer: the label; without one, a coin drawn for the pair; None for a tie."""
        if label == "tie":
            return None
        return label or ("A" if self.uniform(name, "truth") < 0.5 else "B")

    def margin(self, name: str, label: LabelValue | None) -> float:
        """Log odds that response_a is better, for this judge without bias or noise."""
        truth = self.truth(name, label)
        if truth is None:
            return 0.0
        sure = float(self._confidence(np.asarray(self.uniform(name, "confidence"))))
        right = self.uniform(name, "right") < sure
        size = _logit(min(sure, _MOST_SURE))
        return size if (truth == "A") == right else -size

    def p_a(
        self, name: str, label: LabelValue | None, order: Order | None, repeat: int = 0
    ) -> float:
        """P(response_a preferred) in one order. Without an order there is no position bias."""
        bias = 0.0 if order is None else _logit(0.5 + self.position_bias)
        bias = -bias if order == "ba" else bias
        z = _NORMAL.inv_cdf(self.uniform(name, "noise", order or "", str(repeat)))
        return _sigmoid(self.margin(name, label) + bias + self.noise * z)

    def draw(
        self, labels: Sequence[str], seed: Seed = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """p_fwd and p_rev for many pairs, from `seed` instead of the pairs' names."""
        source = generator(seed)
        n = len(labels)
        sure = np.minimum(self._confidence(source.random(n)), _MOST_SURE)
        right = source.random(n) < sure
        given = np.asarray(labels, dtype=object)
        sign = np.where((given == "A") == right, 1.0, -1.0) * (given != "tie")
        margin = sign * np.log(sure / (1 - sure))
        bias = _logit(0.5 + self.position_bias)
        noise = self.noise * source.standard_normal((2, n))
        forward, reverse = margin + bias + noise[0], margin - bias + noise[1]
        return 1 / (1 + np.exp(-forward)), 1 / (1 + np.exp(-reverse))

    def uniform(self, *names: str) -> float:
        """A number in (0, 1) that depends only on these names and this judge's seed."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        words = b"".join([b"%d:%b" % (len(one), one) for one in encoded])
        digest = hashlib.blake2b(words, digest_size=8, key=str(self.seed).encode()).digest()
        return ((int.from_bytes(digest, "big") >> 11) + 0.5) / 2.0**53

    def _confidence(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.accuracy == 0.5:
            return np.full_like(u, 0.5)
        power = 2 * (1 - self.accuracy) / (2 * self.accuracy - 1)
        return np.asarray(0.5 + u**power / 2)


def simulate_pairs(n: int, *, seed: Seed = None, labelled: bool = True) -> list[Pair]:
    """Short arithmetic pairs with one right answer, on a random side.

    >>> pair = simulate_pairs(1, seed=0)[0]
    >>> a, b = pair.prompt.removeprefix("What is ").removesuffix("?").split(" + ")
    >>> right = pair.response_a if pair.label == "A" else pair.response_b
    >>> int(right) == int(a) + int(b)
    True
    """
    source = generator(seed)
    size = count(n, "n", least=1)
    left, right, slip = (source.integers(low, 1000, size) for low in (10, 10, 1))
    a_is_right = source.random(size) < 0.5
    width = len(str(size - 1))
    pairs = []
    for i in range(size):
        good = str(left[i] + right[i])
        bad = str(left[i] + right[i] + slip[i])
        pairs.append(
            Pair(
                id=f"pair-{i:0{width}d}",
                prompt=f"What is {left[i]} + {right[i]}?",
                response_a=good if a_is_right[i] else bad,
                response_b=bad if a_is_right[i] else good,
                label=("A" if a_is_right[i] else "B") if labelled else None,
            )
        )
    return pairs


def _logit(p: float) -> float:
    return math.log(p / (1 - p))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
