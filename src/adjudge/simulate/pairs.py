"""Pairs with a known better answer, and a judge with known errors.

The judge is calibrated by construction: for each pair it has a confidence c in [1/2, 1] with mean
`accuracy`, and is right with probability c. With u uniform, a the accuracy, k = (2-2a)/(2a-1),

    c = 1/2 + u^k / 2,     margin = +-logit(c),

and for a pair shown in some order it prefers the first answer with log odds

    +-margin + logit(1/2 + position_bias) + noise * z,     z standard normal.

Averaged over both orders the bias cancels in sign. So without noise the verdict is right with
probability exactly `accuracy`, for any bias.

Several responses to each prompt, all pairs of them judged, with a known best response.

Response i of a prompt has a quality q_i. People's best is the response with the largest q_i plus
noise. Of two responses they prefer the one that is larger in the same draw. The judge sees `skill`
q_i plus an error for the response, which all of its comparisons share, and an error for the
comparison. Its log odds are multiplied by `sharpness`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

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
            remedy = "give a number between -0.5 and 0.5"
            raise ArgumentError("position_bias", self.position_bias, remedy)
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
        sure = self._confidence(self.uniform(name, "confidence"))
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

    def uniform(self, *names: str) -> float:
        """A number in (0, 1) that depends only on these names and this judge's seed."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        words = b"".join([b"%d:%b" % (len(name), name) for name in encoded])
        digest = hashlib.blake2b(words, digest_size=8, key=str(self.seed).encode()).digest()
        return ((int.from_bytes(digest, "big") >> 11) + 0.5) / 2.0**53

    def _confidence(self, u: float) -> float:
        if self.accuracy == 0.5:
            return 0.5
        power = 2 * (1 - self.accuracy) / (2 * self.accuracy - 1)
        return float(0.5 + np.power(u, power) / 2)


def simulate_pairs(n: int, *, seed: Seed = None) -> list[Pair]:
    """Short arithmetic pairs with one right answer, on a random side.

    >>> pair = simulate_pairs(1, seed=0)[0]
    >>> a, b = pair.prompt.removeprefix("What is ").removesuffix("?").split(" + ")
    >>> right = pair.response_a if pair.label == "A" else pair.response_b
    >>> int(right) == int(a) + int(b)
    True
    """
    source = generator(seed)
    size = count(n, "n", least=1)
    sums = draw_sums(size, source)
    a_is_right = source.random(size) < 0.5
    width = len(str(size - 1))
    pairs = []
    for i, (prompt, good, bad) in enumerate(sums):
        is_a = a_is_right[i]
        pair = Pair(
            id=f"pair-{i:0{width}d}",
            prompt=prompt,
            response_a=good if is_a else bad,
            response_b=bad if is_a else good,
            label="A" if is_a else "B",
        )
        pairs.append(pair)
    return pairs


def draw_sums(n: int, source: np.random.Generator) -> list[tuple[str, str, str]]:
    """Questions, each with its right answer and a wrong one."""
    first = source.integers(10, 1000, n)
    second = source.integers(10, 1000, n)
    slips = source.integers(1, 1000, n)
    sums = []
    for x, y, slip in zip(first, second, slips, strict=True):
        right = x + y
        sums.append((f"What is {x} + {y}?", str(right), str(right + slip)))
    return sums


def _logit(p: float) -> float:
    return math.log(p / (1 - p))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def simulate_choices(
    prompts: int,
    *,
    responses: int = 4,
    skill: float = 1.0,
    noise: float = 0.5,
    sharpness: float = 4.0,
    missing: float = 0.0,
    judges: int = 1,
    seed: Seed = 0,
) -> pl.DataFrame:
    """Judgments of all pairs: id, prompt_id, model_a, model_b, p_a, label, best.

    A share `missing` of the comparisons is left out. Several `judges` are equally good, and err
    independently.

    >>> rows = simulate_choices(2, responses=3)
    >>> rows.height, sorted(rows["model_a"].unique())
    (6, ['response-1', 'response-2'])
    """
    count(prompts, "prompts", least=1)
    size = count(responses, "responses", least=2)
    gen = generator(seed)
    quality = gen.normal(size=(prompts, size))
    liked = quality + 0.3 * gen.gumbel(size=quality.shape)
    first, second = map(np.array, zip(*combinations(range(size), 2), strict=True))
    p_a = []
    for _ in range(count(judges, "judges", least=1)):
        seen = skill * quality + noise * gen.normal(size=quality.shape)
        jitter = 0.3 * noise * gen.normal(size=(prompts, len(first)))
        edge = seen[:, first] - seen[:, second] + jitter
        p_a.append(expit(sharpness * edge).ravel().round(6))
    label = np.where(liked[:, first] > liked[:, second], "A", "B")
    prompt = np.repeat(np.arange(prompts), len(first))
    columns: dict[str, Any] = {
        "id": [f"prompt-{q:05d}/{i + 1}-{j + 1}" for q in range(prompts)
               for i, j in zip(first, second, strict=True)],
        "prompt_id": [f"prompt-{q:05d}" for q in prompt],
        "model_a": [f"response-{i + 1}" for i in np.tile(first, prompts)],
        "model_b": [f"response-{j + 1}" for j in np.tile(second, prompts)],
        "judge": "simulated",
        "p_a": None,
        "label": label.ravel(),
        "best": [f"response-{i + 1}" for i in liked.argmax(axis=1)[prompt]],
    }  # fmt: skip
    names = ["simulated"] if judges == 1 else [f"simulated-{judge + 1}" for judge in range(judges)]
    judged = zip(names, p_a, strict=True)
    rows = pl.concat(pl.DataFrame(columns | {"judge": name, "p_a": p}) for name, p in judged)
    return rows.filter(pl.Series(gen.random(rows.height) >= missing))


def two_order_judge(n: int, *, skill: float = 1.2, seed: Seed = 0) -> pl.DataFrame:
    """Rows of a judge asked in both orders: id, label, p_fwd and p_rev, both about response_a.

    Each pair has a true margin; people prefer A with probability sigma(2 margin). The judge sees
    `skill` times the margin, leans towards the answer shown first, and is over-confident: its log
    odds have noise that differs between the two orders.

    >>> two_order_judge(4, seed=0).columns
    ['id', 'label', 'p_fwd', 'p_rev']
    """
    gen = generator(seed)
    margin = gen.normal(size=count(n, "n", least=1))
    people = gen.random(n) < 1 / (1 + np.exp(-2 * margin))
    lean = 0.8 * (1 + 0.5 * gen.normal(size=n))
    odds = 2.5 * (skill * margin + 0.7 * gen.normal(size=n))
    forward = odds + 2.5 * lean + 0.7 * gen.normal(size=n)
    reverse = odds - 2.5 * lean + 0.7 * gen.normal(size=n)
    ids = [f"pair-{i:05d}" for i in range(n)]
    labels = np.where(people, "A", "B")
    p_fwd = 1 / (1 + np.exp(-forward))
    p_rev = 1 / (1 + np.exp(-reverse))
    return pl.DataFrame({"id": ids, "label": labels, "p_fwd": p_fwd, "p_rev": p_rev})


def cascade_judges(
    n: int,
    *,
    skills: Mapping[str, float] | None = None,
    failures: Mapping[str, float] | None = None,
    seed: Seed = 0,
) -> pl.DataFrame:
    """Rows of several judges on the same pairs, to plan a cascade from.

    Judge j sees `skills[j]` times the true margin with independent noise. A share `failures[j]` of
    its rows has the status error and no number.

    >>> rows = cascade_judges(2, seed=0)
    >>> rows["judge"].to_list(), rows["id"].to_list() == ["pair-00000", "pair-00001"] * 2
    (['cheap', 'cheap', 'strong', 'strong'], True)
    """
    gen = generator(seed)
    margin = 1.2 * gen.normal(size=count(n, "n", least=1))
    people = gen.random(n) < 1 / (1 + np.exp(-4 * margin))
    ids = [f"pair-{i:05d}" for i in range(n)]
    labels = np.where(people, "A", "B")
    rows = []
    for name, skill in (skills or {"cheap": 0.8, "strong": 2.0}).items():
        odds = 2 * (skill * margin + 0.9 * gen.normal(size=n))
        failed = gen.random(n) < (failures or {}).get(name, 0.0)
        p_a = np.round(1 / (1 + np.exp(-odds)), 6)
        columns = {
            "id": ids,
            "judge": [name] * n,
            "protocol": ["preference"] * n,
            "status": np.where(failed, "error", "ok"),
            "p_a": np.where(failed, np.nan, p_a),
            "label": labels,
        }
        rows.append(pl.DataFrame(columns, nan_to_null=True))
    return pl.concat(rows)
