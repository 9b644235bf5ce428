"""Judges and people with known truth, for the scripts here and for tests.

Uncertainty scores and errors: a world gives P(error | score) as a step function of a uniform score.
The true error rate of a threshold has a closed form, so a guarantee can be compared with the truth.

Single answers that are known to be right or wrong, for judges that pass or fail them.

Likert scores: raters who differ, judges with larger errors on some documents. The quality of a
response is 3 plus a part of the document, a part of the model and a part of the response. Each
rater reports it with noise, rounded to the scale. A judge sees

    quality + shift + hardness_d * (sqrt(likeness) * E_d + sqrt(1 - likeness) * e_row) * noise,

E_d is one error per document. With likeness = 1 all rows of a document have the same error, and ten
rows are worth one. Its score_probs are a normal curve around the value it saw. The width of the
curve is its true error there times `candour` (1: honest; 0.3: over-confident). Its score is their
mode.

Tournaments with known truth: a ranking, noise around it, and documents with circular opinions.

For document d the judge prefers model i to j if

    theta_i - theta_j + u_di - u_dj + noise * L_dij + repeat_noise * L_ask + order  >  0,

u_d is its view of the document (`document_spread`). L is standard logistic, one draw per pair and
one per time it is asked. order is the bias to the first slot. With noise = 1 and nothing else this
is exactly a Bradley-Terry judge. In a circular document, rock, paper, scissors replaces gap and
noise: i is preferred to the next half of the models in the circle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from adjudge.errors import ArgumentError
from adjudge.records import Item
from adjudge.simulate.pairs import draw_sums
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Seed,
    count,
    generator,
    non_negative,
    positive,
    probabilities,
    unit,
)

# --- single answers ---


def simulate_items(
    n: int, *, seed: Seed = None, rate: float = 0.7, labels: int | None = None
) -> list[Item]:
    """Short sums with one answer each, right with probability `rate`; the right one is `reference`.

    `truth` is 1 if the answer is right, else 0. `human` is the same for `labels` of them, drawn at
    random (None: for all).

    >>> item = simulate_items(1, seed=0)[0]
    >>> item.extra["truth"] == item.extra["human"] == int(item.response == item.extra["reference"])
    True
    """
    source = generator(seed)
    size = count(n, "n", least=1)
    if labels is not None and count(labels, "labels") > size:
        raise ArgumentError("labels", labels, f"give at most {size}, the number of items")
    sums = draw_sums(size, source)
    truth = (source.random(size) < unit(rate, "rate")).astype(int).tolist()
    labelled = set(source.permutation(size)[:labels].tolist())
    width = len(str(size - 1))
    items = []
    for i, (prompt, good, bad) in enumerate(sums):
        human = truth[i] if i in labelled else None
        extra = {"reference": good, "truth": truth[i], "human": human}
        response = good if truth[i] else bad
        items.append(Item(id=f"item-{i:0{width}d}", prompt=prompt, response=response, extra=extra))
    return items


# --- scores and errors ---


@dataclass(frozen=True)
class ScoredWorld:
    """Scores uniform on [0, 1] in equal cells, each with its own error rate.

    With `tied`, every score in a cell is the cell's upper edge: there are as many distinct scores
    as cells.
    """

    name: str
    rates: tuple[float, ...]
    tied: bool = False

    def draw(self, shape: int | tuple[int, ...], seed: Seed) -> tuple[FloatArray, IntArray]:
        """Scores and 0/1 errors of the given shape.

        >>> s, e = informative().draw(3, 0)
        >>> s.shape, set(e) <= {0, 1}
        ((3,), True)
        """
        gen = generator(seed)
        scores = gen.random(shape)
        cell = np.minimum((scores * len(self.rates)).astype(np.int64), len(self.rates) - 1)
        errors = (gen.random(shape) < np.asarray(self.rates)[cell]).astype(np.int64)
        return ((cell + 1) / len(self.rates) if self.tied else scores), errors

    def coverage(self, threshold: FloatArray | float) -> FloatArray:
        """P(score <= threshold)."""
        at = np.clip(np.asarray(threshold, dtype=np.float64), 0, 1)
        if self.tied:
            return np.asarray(np.floor(at * len(self.rates) + 1e-9) / len(self.rates))
        return at

    def error_rate(self, threshold: FloatArray | float) -> FloatArray:
        """P(error | score <= threshold); 0 if nothing is accepted.

        >>> float(uninformative(0.12).error_rate(0.3).round(6))
        0.12
        """
        covered = self.coverage(threshold)
        edges = np.linspace(0, 1, len(self.rates) + 1)
        mass = np.concatenate(([0.0], np.cumsum(self.rates) / len(self.rates)))
        wrong = np.interp(covered, edges, mass)
        return np.asarray(np.divide(wrong, covered, out=np.zeros_like(wrong), where=covered > 0))


def informative(slope: float = 0.5, cells: int = 100) -> ScoredWorld:
    """The more doubt, the more errors: P(error | s) rises linearly from 0 to `slope`."""
    rates = slope * (np.arange(cells) + 0.5) / cells
    return ScoredWorld("informative", tuple(rates.tolist()))


def uninformative(rate: float) -> ScoredWorld:
    """The doubt is not informative: every row is wrong with the same probability."""
    return ScoredWorld(f"uninformative {rate:g}", (rate,))


def confidently_wrong(cells: int = 100) -> ScoredWorld:
    """Not monotone: the surest rows are often wrong, the middle is good, the end is bad."""
    mid = (np.arange(cells) + 0.5) / cells
    rates = np.where(mid < 0.04, 0.6, np.where(mid < 0.6, 0.02, 0.45))
    return ScoredWorld("confidently wrong", tuple(rates.tolist()))


def sawtooth(rate: float = 0.11, cells: int = 100) -> ScoredWorld:
    """Errors come in narrow bands, so that the error rate crosses any level many times."""
    rates = np.where(np.arange(cells) % 5 == 0, min(5 * rate, 1.0), 0.0)
    return ScoredWorld("sawtooth", tuple(rates.tolist()))


def heavily_tied(slope: float = 0.4, values: int = 5) -> ScoredWorld:
    """Only a few distinct scores, as with votes and verbalized confidence."""
    rates = slope * (np.arange(values) + 0.5) / values
    return ScoredWorld("heavily tied", tuple(rates.tolist()), tied=True)


def draw_clusters(
    world: ScoredWorld, *, prompts: int, rows: int, seed: Seed
) -> tuple[FloatArray, IntArray, IntArray]:
    """Scores, errors and prompt numbers when all rows of a prompt are the same.

    >>> s, e, prompt = draw_clusters(informative(), prompts=2, rows=3, seed=0)
    >>> prompt.tolist(), len(set(s.tolist()))
    ([0, 0, 0, 1, 1, 1], 2)
    """
    count(prompts, "prompts", least=1)
    s, e = world.draw(prompts, seed)
    times = count(rows, "rows", least=1)
    return np.repeat(s, times), np.repeat(e, times), np.repeat(np.arange(prompts), times)


# --- several judges of pairs ---


def several_judges(
    n: int,
    *,
    skills: Sequence[float] = (1.0, 0.9, 0.8, 0.6, 0.0),
    scales: Sequence[float] = (1.0, 6.0, 2.5, 6.0, 1.0),
    seed: Seed = 0,
) -> tuple[FloatArray, IntArray]:
    """p_a of several judges of the same pairs (a column each), and whether people prefer A.

    Judge j sees `skills[j]` times the true margin with noise, part of which all judges share. It
    multiplies its log odds by `scales[j]`, which makes it over-confident. Six decimals are kept.

    >>> p, prefers_a = several_judges(4, seed=0)
    >>> p.shape, set(prefers_a) <= {0, 1}
    ((4, 5), True)
    """
    gen = generator(seed)
    margin = 1.2 * gen.normal(size=count(n, "n", least=1))
    noise = 0.5 * gen.normal(size=(n, 1)) + 0.9 * gen.normal(size=(n, len(skills)))
    odds = np.multiply.outer(margin, np.asarray(skills)) + noise
    p = 1 / (1 + np.exp(-odds * np.asarray(scales)))
    people = gen.random(n) < 1 / (1 + np.exp(-2.5 * margin))
    return np.round(p, 6), people.astype(np.int64)


def misled_judges(
    n: int,
    *,
    misled: Sequence[float] = (0.6, 0.9, 1.1, 1.4),
    skills: Sequence[float] = (1.1, 0.4, 0.25, 0.1),
    hard: float = 0.7,
    seed: Seed = 0,
) -> tuple[FloatArray, IntArray]:
    """As `several_judges`, on pairs that are made to mislead, like LLMBar's adversarial pairs.

    One answer looks better; on a share `hard` of the pairs it is the worse one. Judge j sees
    `skills[j]` of the truth and `misled[j]` of the looks. All judges but the first are right less
    often than by chance, which is information too.

    >>> p, prefers_a = misled_judges(2000, seed=0)
    >>> ((p > 0.5) == prefers_a[:, None]).mean(axis=0).round(2).tolist()
    [0.78, 0.47, 0.4, 0.35]
    """
    gen = generator(seed)
    truth = np.where(gen.random(count(n, "n", least=1)) < 0.5, 1.0, -1.0)
    wrong_way = np.where(gen.random(n) < hard, -truth, truth)
    looks = wrong_way * np.abs(1 + 0.8 * gen.normal(size=n))
    noise = 0.8 * gen.normal(size=(n, len(skills)))
    odds = np.multiply.outer(truth, np.asarray(skills)) + np.multiply.outer(looks, misled) + noise
    return np.round(1 / (1 + np.exp(-2 * odds)), 6), (truth > 0).astype(np.int64)


# --- pass or fail ---


@dataclass(frozen=True, kw_only=True)
class BinaryModel:
    """One answering model: its true rate, and the judge's sensitivity and specificity."""

    rate: float
    specificity: float
    sensitivity: float


def binary_rows(
    models: Mapping[str, BinaryModel],
    *,
    prompts: int,
    labels: int,
    seed: Seed = 0,
    difficulty: float = 0.0,
) -> pl.DataFrame:
    """Verdicts on the answers of several models to the same prompts, some labelled.

    Columns: id, prompt_id, model, judge, human (empty unless labelled), truth. `labels` rows are
    labelled at random over all models. `difficulty` in [0, 1) is the share of a prompt-wide draw in
    each answer's truth and verdict. It correlates the rows of one prompt; rates stay exact.

    >>> one = BinaryModel(rate=0.6, specificity=0.8, sensitivity=0.9)
    >>> frame = binary_rows({"a": one}, prompts=50, labels=10)
    >>> frame.height, frame["human"].null_count()
    (50, 40)
    """
    stream = generator(seed)
    if not 0 <= difficulty < 1:
        raise ArgumentError("difficulty", difficulty, "give a number from 0 to below 1")
    size = len(models) * count(prompts, "prompts", least=1)
    if count(labels, "labels") > size:
        raise ArgumentError("labels", labels, f"give at most {size}, the number of rows")
    common_truth, common_error = stream.random(prompts), stream.random(prompts)
    frames = []
    for name, model in models.items():
        truth = _uniform(stream, common_truth, difficulty) < model.rate
        right = np.where(truth, model.sensitivity, model.specificity)
        agrees = _uniform(stream, common_error, difficulty) < right
        frames.append(
            pl.DataFrame(
                {
                    "id": [f"{name}-{i}" for i in range(prompts)],
                    "prompt_id": [f"p{i}" for i in range(prompts)],
                    "model": [name] * prompts,
                    "judge": np.where(agrees, truth, ~truth).astype(np.int64),
                    "truth": truth.astype(np.int64),
                }
            )
        )
    frame = pl.concat(frames)
    labelled = np.zeros(size, dtype=bool)
    labelled[stream.permutation(size)[:labels]] = True
    human = pl.when(pl.Series(labelled)).then("truth").alias("human")
    return frame.select("id", "prompt_id", "model", "judge", human, "truth")


def _uniform(stream: np.random.Generator, common: FloatArray, share: float) -> FloatArray:
    """Uniform draws. A share `share` of them is the common draw of the prompt."""
    separate = stream.random(len(common))
    return np.where(stream.random(len(common)) < share, common, separate)


def panel_rows(
    rates: Mapping[str, float],
    skills: Mapping[str, float],
    *,
    questions: int,
    labels: int,
    leniency: float = 0.3,
    hardness: float = 0.5,
    seed: Seed = 0,
) -> pl.DataFrame:
    """A table with a row for each model's answer to each question, and a 0/1 column per judge.

    Columns: id, prompt_id, model, one for each judge, human (empty unless labelled), truth.
    `rates` are the models' exact rates. An answer is right if
    ndtri(rate) - hardness * d + sqrt(1 - hardness^2) * e > 0, with d the question's difficulty and
    e the answer's error, both standard normal. A judge gives 1 if
    skill * (+1 if right, -1 if wrong) - 0.4 d + its leniency with the model + noise > 0. The
    leniencies are normal with standard deviation `leniency`, so judges are wrong together on hard
    questions and favour some models. `labels` rows of each model are labelled at random.

    >>> rows = panel_rows({"x": 0.6, "y": 0.4}, {"a": 1.0, "b": 0.5}, questions=40, labels=10)
    >>> rows.columns
    ['id', 'prompt_id', 'model', 'a', 'b', 'human', 'truth']
    >>> rows.height, rows["human"].null_count()
    (80, 60)
    """
    stream = generator(seed)
    if not 0 <= hardness < 1:
        raise ArgumentError("hardness", hardness, "give a number from 0 to below 1")
    if count(labels, "labels") > count(questions, "questions", least=1):
        raise ArgumentError(
            "labels", labels, f"give at most {questions}, the number of rows of each model"
        )
    difficulty = stream.normal(size=questions)
    frames = []
    favours = {name: dict(zip(rates, stream.normal(0, leniency, len(rates)), strict=True))
               for name in skills}  # fmt: skip
    for model, rate in rates.items():
        error = stream.normal(size=questions)
        right = ndtri(rate) - hardness * difficulty + np.sqrt(1 - hardness**2) * error > 0
        verdicts = {
            name: skill * np.where(right, 1, -1)
            - 0.4 * difficulty
            + favours[name][model]
            + stream.normal(size=questions)
            > 0
            for name, skill in skills.items()
        }
        labelled = np.isin(np.arange(questions), stream.permutation(questions)[:labels])
        frame = pl.DataFrame(
            {
                "id": [f"{model}-{i}" for i in range(questions)],
                "prompt_id": [f"q{i}" for i in range(questions)],
                "model": [model] * questions,
                **{name: passed.astype(np.int64) for name, passed in verdicts.items()},
                "truth": right.astype(np.int64),
            }
        )
        human = pl.when(pl.Series(labelled)).then("truth").alias("human")
        frames.append(frame.with_columns(human).select(pl.exclude("truth"), "truth"))
    return pl.concat(frames)


# --- Likert scores ---

SCALE = (1, 5)


@dataclass(frozen=True)
class SimulatedScores:
    """A frame in the scores format (raters rater1, rater2, ...), and the true values.

    `hardness` has a value per document, `quality` per document and model by criterion.
    """

    frame: pl.DataFrame
    hardness: FloatArray
    quality: Mapping[str, FloatArray]


def simulate_scores(
    *,
    documents: int = 30,
    models: int = 8,
    criteria: Mapping[str, float] | None = None,
    judges: Mapping[str, float] | None = None,
    raters: int = 3,
    rater_noise: float = 0.5,
    likeness: float = 0.5,
    hardness_spread: float = 0.5,
    candour: float = 1.0,
    shift: float = 0.0,
    seed: Seed = 0,
) -> SimulatedScores:
    """Draw every model on every document, scored by every judge on every criterion.

    `criteria` and `judges` map names to noise; a judge's error on a criterion is scaled by both.

    >>> simulate_scores(documents=2, models=3, seed=1).frame.height
    6
    """
    count(documents, "documents", least=1)
    count(models, "models", least=1)
    count(raters, "raters", least=1)
    non_negative(hardness_spread, "hardness_spread")
    positive(candour, "candour")
    if not 0 <= likeness <= 1:
        raise ArgumentError("likeness", likeness, "give a number in [0, 1]")
    by_criterion = dict(criteria) if criteria is not None else {"quality": 1.0}
    by_judge = dict(judges) if judges is not None else {"simulated": 0.8}
    draw = generator(seed)
    hardness = np.exp(draw.normal(0, hardness_spread, documents))
    doc = np.repeat(np.arange(documents), models)
    system = np.tile(np.arange(models), documents)
    steps = np.arange(SCALE[0], SCALE[1] + 1)
    edges = np.concatenate([[-np.inf], steps[:-1] + 0.5, [np.inf]])
    parts = []
    qualities: dict[str, FloatArray] = {}
    for criterion, criterion_noise in by_criterion.items():
        quality = (
            3.2
            + draw.normal(0, 0.4, documents)[doc]
            + draw.normal(0, 0.7, models)[system]
            + draw.normal(0, 0.4, len(doc))
        )
        qualities[criterion] = quality.reshape(documents, models)
        rated = quality[:, None] + draw.normal(0, rater_noise, (len(doc), raters))
        ratings = np.clip(np.floor(rated + 0.5), *SCALE)
        for judge, judge_noise in by_judge.items():
            width = non_negative(judge_noise, "judges") * criterion_noise * hardness[doc]
            together = np.sqrt(likeness) * draw.normal(size=documents)[doc]
            seen = quality + shift
            seen = seen + width * (together + np.sqrt(1 - likeness) * draw.normal(size=len(doc)))
            doubt = np.maximum(candour * np.hypot(width, 0.3), 0.15)
            curve = ndtr((edges[None, :] - seen[:, None]) / doubt[:, None])
            probs = np.diff(curve, axis=1)
            columns = {
                "id": [f"doc-{d}|system-{s}|{criterion}" for d, s in zip(doc, system, strict=True)],
                "doc_id": [f"doc-{d}" for d in doc],
                "model": [f"system-{s}" for s in system],
                "criterion": [criterion] * len(doc),
                "judge": [judge] * len(doc),
                "judge_score": steps[probs.argmax(axis=1)].astype(np.float64),
                "score_probs": probs.tolist(),
            }
            columns |= {f"rater{r + 1}": ratings[:, r] for r in range(raters)}
            parts.append(pl.DataFrame(columns))
    return SimulatedScores(frame=pl.concat(parts), hardness=hardness, quality=qualities)


# --- tournaments ---

_PULL = 20.0  # log odds that logistic noise of scale one never reverses


@dataclass(frozen=True)
class SimulatedTournaments:
    """A frame in the tournaments format, with its true strengths and circular documents."""

    frame: pl.DataFrame
    models: tuple[str, ...]
    theta: FloatArray
    circular: BoolArray


def simulate_tournaments(
    *,
    documents: int = 30,
    models: int = 8,
    spread: float = 1.0,
    document_spread: float = 0.0,
    noise: float = 1.0,
    repeat_noise: float = 0.0,
    order_pull: float = 0.0,
    circular: float = 0.0,
    ties: float = 0.0,
    missing: float = 0.0,
    repeats: int = 1,
    both_orders: bool = False,
    judge: str = "simulated",
    criterion: str = "quality",
    theta: Sequence[float] | None = None,
    seed: Seed = 0,
) -> SimulatedTournaments:
    """Draw every pair of models on every document.

    `circular` is a share of documents; `ties` and `missing` are shares of asks. `order_pull` is in
    units of strength. Missing rows are kept, with an empty verdict.

    >>> drawn = simulate_tournaments(documents=2, models=3, seed=1)
    >>> drawn.frame.height, drawn.frame.columns[:4]
    (6, ['doc_id', 'model_a', 'model_b', 'judge'])
    """
    count(documents, "documents", least=1)
    count(models, "models", least=2)
    count(repeats, "repeats", least=1)
    for value, name in (
        (spread, "spread"),
        (document_spread, "document_spread"),
        (noise, "noise"),
        (repeat_noise, "repeat_noise"),
    ):
        non_negative(value, name)
    probabilities([circular, ties, missing], "shares")
    draw = generator(seed)
    strengths = draw.normal(0, spread, models) if theta is None else np.asarray(theta, dtype=float)
    models = len(strengths)
    pairs = np.array(list(combinations(range(models), 2)))
    i, j = pairs[:, 0], pairs[:, 1]
    view = strengths + draw.normal(0, document_spread, (documents, models))
    lean = view[:, i] - view[:, j] + noise * draw.logistic(size=(documents, len(pairs)))
    goes_round = draw.random(documents) < circular
    ahead = np.where((j - i) % models <= (models - 1) / 2, _PULL, -_PULL)
    lean[goes_round] = ahead
    orders = ("ab", "ba") if both_orders else ("ab",)
    width = len(str(max(documents, models) - 1))
    doc_names = np.array([f"doc-{k:0{width}d}" for k in range(documents)])
    names = tuple(f"system-{k:0{width}d}" for k in range(models))
    table, parts = np.array(names), []
    for repeat in range(repeats):
        for order in orders:
            pull = order_pull if order == "ab" else -order_pull
            asked = lean + pull + repeat_noise * draw.logistic(size=lean.shape)
            verdict = np.where(asked > 0, "A", "B").astype(object)
            verdict[draw.random(lean.shape) < ties] = "tie"
            verdict[draw.random(lean.shape) < missing] = None
            parts.append(
                pl.DataFrame(
                    {
                        "doc_id": np.repeat(doc_names, len(pairs)),
                        "model_a": np.tile(table[i], documents),
                        "model_b": np.tile(table[j], documents),
                        "judge": [judge] * lean.size,
                        "criterion": [criterion] * lean.size,
                        "order": [order] * lean.size,
                        "repeat": [str(repeat)] * lean.size,
                        "verdict": pl.Series(verdict.ravel().tolist(), dtype=pl.String),
                    }
                )
            )
    return SimulatedTournaments(
        frame=pl.concat(parts), models=names, theta=strengths, circular=goes_round
    )


# --- counts of verdicts ---


def draw_counts(
    theta: ArrayLike,
    q0: float,
    q1: float,
    *,
    n: int,
    m0: ArrayLike,
    m1: ArrayLike,
    replications: int,
    seed: Seed = 0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Verdicts of 1 among n test rows, and right verdicts in each human class.

    Replications of the paper's simulation, one row per rate: arrays (rates, replications).

    >>> draw_counts([0.2, 0.8], 0.7, 0.9, n=100, m0=10, m1=10, replications=5)[0].shape
    (2, 5)
    """
    stream = generator(seed)
    rate = np.atleast_1d(np.asarray(theta, dtype=np.float64))[:, None]
    shape = (rate.shape[0], count(replications, "replications", least=1))
    p = rate * q1 + (1 - rate) * (1 - q0)
    sizes0, sizes1 = (np.broadcast_to(np.asarray(m, dtype=np.int64), shape) for m in (m0, m1))
    return (
        stream.binomial(n, p, shape).astype(np.float64),
        stream.binomial(sizes0, q0).astype(np.float64),
        stream.binomial(sizes1, q1).astype(np.float64),
    )
