"""Battles like those of the Soft-Elo release: corpora of votes, scored by several judges.

Every corpus has models of known strength and one battle per prompt. Answers differ in quality by
u = 1.2 (theta_a - theta_b) + noise. People prefer A with probability sigma(0.6 u), and every judge
sees the same u. It adds what appendix F measures: noise, a bias for each model, points for the
answer shown first, for the longer answer, and for models of its own maker. It scores both orders.
The release keeps their mean; these rows keep both (`score_diff_ab`, `score_diff_ba`). On the French
corpus the size of one judge's differences has no information (appendix D.2).

Models and judges have invented names: no number can be mistaken for one about a real model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import expit

from adjudge.validation import IntArray, Seed, count, generator
from adjudge_papers.printed import Row, read_published, read_rows

#: Makers of models, and how many of every ten models each has.
MAKERS = {"openai": 3, "google": 3, "meta": 2, "alibaba": 1, "mistral": 1}
#: Languages of the two large corpora, with the share of prompts of each.
LANGUAGES = {
    "en": 0.52, "ru": 0.10, "zh": 0.09, "de": 0.07, "ja": 0.06, "vi": 0.05, "ko": 0.04, "es": 0.03,
    "fr": 0.025, "pt": 0.015,
}  # fmt: skip
CORPORA: tuple[str, ...] = tuple(read_published("soft-elo")["corpora"])
JUDGES = read_rows(read_published("soft-elo")["simulator"])
_FRENCH = CORPORA[-1]
_STRETCH = 1.2
_BETA = 0.6
_NOISE = 1.4
#: Share of the prompts that a judge has scored.
_SCORED = 0.96


@dataclass(frozen=True)
class SimulatedRun:
    """One judge on one corpus: a frame in the battles format."""

    corpus: str
    judge: str
    frame: pl.DataFrame


def simulate_release(
    *, models: int = 28, battles: int = 6000, seed: Seed = 0
) -> tuple[SimulatedRun, ...]:
    """Four judges on three corpora of `battles` battles each; the French one has half as many.

    >>> runs = simulate_release(models=6, battles=200)
    >>> len(runs), runs[0].corpus, runs[0].judge
    (12, 'lmarena100k', 'openai-judge')
    """
    rng = generator(seed)
    count(models, "models", least=4)
    count(battles, "battles", least=20)
    runs = []
    for corpus in CORPORA:
        size = battles // 2 if corpus == _FRENCH else battles
        world = _World(corpus, models, size, rng)
        runs += [SimulatedRun(corpus, judge["judge"], world.judged(judge, rng)) for judge in JUDGES]
    return tuple(runs)


class _World:
    """The battles of one corpus, before scoring."""

    def __init__(self, corpus: str, models: int, battles: int, rng: np.random.Generator) -> None:
        self.corpus = corpus
        pattern = [maker for maker, times in MAKERS.items() for _ in range(times)]
        makers = [pattern[k * 7 % len(pattern)] for k in range(models)]
        numbers = [makers[: k + 1].count(maker) for k, maker in enumerate(makers)]
        numbered = zip(makers, numbers, strict=True)
        self.names = [f"{maker}-model-{number:02d}" for maker, number in numbered]
        self.makers = np.array(makers)
        theta = rng.normal(0, 0.8, models)
        self.a = rng.integers(0, models, battles)
        self.b = (self.a + rng.integers(1, models, battles)) % models
        # Better models write a little more, as they do in the release.
        habit = np.exp(6.2 + 0.15 * theta + rng.normal(0, 0.25, models))

        def lengths(side: IntArray) -> IntArray:
            return np.round(habit[side] * np.exp(rng.normal(0, 0.4, battles))).astype(np.int64)

        self.length_a = lengths(self.a)
        self.length_b = lengths(self.b)
        self.u = _STRETCH * (theta[self.a] - theta[self.b]) + rng.normal(0, _NOISE, battles)
        ties = rng.random(battles) < 0.4 * np.exp(-0.3 * np.abs(self.u))
        prefers_a = rng.random(battles) < expit(_BETA * self.u)
        self.winner = np.where(ties, "tie", np.where(prefers_a, "model_a", "model_b"))
        shares = np.array(list(LANGUAGES.values()))
        drawn = rng.choice(list(LANGUAGES), battles, p=shares / shares.sum())
        self.language = np.full(battles, "fr") if corpus == _FRENCH else drawn

    def judged(self, judge: Row, rng: np.random.Generator) -> pl.DataFrame:
        """One judge's scores of them, without the prompts that it could not score."""
        liking = rng.normal(0, judge["liking"], len(self.names))
        liking += judge["own_maker"] * (self.makers == judge["judge"].partition("-")[0])
        doubled = np.log2(self.length_a / self.length_b)
        s = judge["scale"] * (self.u + rng.normal(0, judge["noise"], len(self.u)))
        s += liking[self.a] - liking[self.b] + judge["longer"] * np.clip(doubled, -2, 2)
        if self.corpus == _FRENCH and not judge["reads_french"]:
            s = np.sign(s) * rng.permutation(np.abs(s))
        # A score is a mean of six criteria in points.
        wobble = rng.normal(0, 0.8, (2, len(s)))
        forward = np.round((s + judge["first_slot"] + wobble[0]) * 6) / 6
        reverse = np.round((s - judge["first_slot"] + wobble[1]) * 6) / 6
        mean = (forward + reverse) / 2
        # The stated preference depends on its scores, and on the length a second time.
        stated = mean + 2 * judge["longer"] * doubled + rng.normal(0, 0.4, len(s))
        flips = np.sign(forward) == -np.sign(reverse)
        verdict = np.where(flips, "tie", np.where(stated > 0, "model_a", "model_b"))
        level = np.clip(7 + 0.5 * rng.normal(0, 1, len(s)), 4, 9).round(1)
        table = np.array(self.names)
        frame = pl.DataFrame(
            {
                "id": [f"{self.corpus}-{k}" for k in range(len(s))],
                "prompt_id": [f"prompt-{k}" for k in range(len(s))],
                "model_a": table[self.a],
                "model_b": table[self.b],
                "winner": self.winner,
                "judge_winner": verdict,
                "score_a": level + mean / 2,
                "score_b": level - mean / 2,
                "score_diff_ab": forward,
                "score_diff_ba": reverse,
                "length_a": self.length_a,
                "length_b": self.length_b,
                "language": self.language,
                "judge": [judge["judge"]] * len(s),
            }
        )
        return frame.filter(pl.Series(rng.random(len(s)) < _SCORED))
