"""The answers that the diagnosis paper's tables are about: of judges on SummEval, or simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge.data import join_human_scores, read_public
from adjudge.data.scores import read_human_scores
from adjudge.data.tables import TableLike, source_name
from adjudge.errors import DataError
from adjudge.judges import judge_pairs
from adjudge.judges.prompting import builtin_prompt
from adjudge.judges.protocols.criterion import ByCriterion
from adjudge.judges.protocols.likert import Likert
from adjudge.validation import Seed, count, generator, non_negative
from adjudge_papers.paper import read_prompts
from adjudge_papers.printed import Row, read_published, read_rows

_DATA = read_published("diagnosis")
JUDGES: Sequence[str] = _DATA["judges"]
CRITERIA: Sequence[str] = _DATA["criteria"]
ALPHAS: tuple[float, ...] = tuple(_DATA["alphas"])
#: The level of everything except Table 5 and Figure 6.
MAIN_ALPHA = 0.10
#: The criterion of Tables 1 and 2.
MAIN_CRITERION = "coherence"
DOCUMENTS: int = _DATA["design"]["documents"]
SYSTEMS: int = _DATA["design"]["systems"]
REPEATS: int = _DATA["design"]["repeats"]


# --- SummEval --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Size:
    """The part of SummEval that is used: the first documents, and evenly spaced systems.

    The paper's 8 of 16 systems are 0, 2, 4, 6, 9, 11, 13 and 15, in the release's order.
    """

    documents: int | None = DOCUMENTS
    systems: int | None = SYSTEMS

    def cut(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of those documents and systems."""
        documents = rows["doc_id"].unique(maintain_order=True)
        systems = rows["model"].unique(maintain_order=True)
        if self.documents is not None:
            documents = documents.head(count(self.documents, "documents", least=2))
        if self.systems is not None and count(self.systems, "systems", least=2) < len(systems):
            places = np.rint(np.linspace(0, len(systems) - 1, self.systems)).astype(int)
            systems = systems[places.tolist()]
        return rows.filter(
            pl.col("doc_id").is_in(documents.implode()), pl.col("model").is_in(systems.implode())
        )


@dataclass(frozen=True)
class Answers:
    """Judges' answers by both protocols: tournaments, and scores with human scores."""

    tournaments: pl.DataFrame
    scores: pl.DataFrame


def crowd_as_judge(summeval: TableLike, size: Size) -> pl.DataFrame:
    """SummEval's crowd mean as a judge's score, compared with the experts as people."""
    rows = size.cut(read_public(summeval, "summeval", kind="human_scores").frame)
    return rows.rename({"turker_mean": "judge_score"}).with_columns(
        pl.lit("crowd workers").alias("judge")
    )


def ask_judges(
    summeval: TableLike,
    judges: Sequence[str],
    size: Size,
    *,
    repeats: int = REPEATS,
    samples: int | None = None,
    min_answer_mass: float | None = None,
    prompts: Mapping[str, str | Path] | None = None,
    **asking: Any,
) -> Answers:
    """Both protocols with the paper's prompts: all pairs in one order, `repeats` times, and scores.

    `samples` is for judges without log probabilities; `min_answer_mass` as in `judge_pairs`;
    `prompts` are the user's by protocol; `asking` are its other options.
    """
    count(repeats, "repeats", least=1)
    texts = read_prompts(prompts, "criterion", "likert")
    items = size.cut(read_public(summeval, "summeval", kind="items").frame)
    options: dict[str, Any] = {"samples": samples, "min_answer_mass": min_answer_mass}
    compared = judge_pairs(
        _all_pairs(items, source_name(summeval)),
        judge=[*judges],
        protocol=ByCriterion(
            prompt=texts.get("criterion") or builtin_prompt("diagnosis_pairwise"),
            order="ab",
            **options,
        ),
        repeats=repeats,
        **asking,
    ).judgments
    scoring = Likert(prompt=texts.get("likert") or builtin_prompt("diagnosis_likert"), **options)
    scored = judge_pairs(items, judge=[*judges], protocol=scoring, **asking).judgments
    people = read_human_scores(read_public(summeval, "summeval", kind="human_scores").frame)
    columns = [c for c in ("verdict", "p_a", "order", "repeat") if c in compared.columns]
    joined, _ = join_human_scores(scored.drop("protocol"), people)
    return Answers(
        # The protocol contains the criterion, which has its own column.
        compared.select("doc_id", "model_a", "model_b", "judge", "criterion", *columns),
        joined,
    )


def _all_pairs(items: pl.DataFrame, name: str) -> pl.DataFrame:
    """Every pair of systems on every document, the earlier system first."""
    order = items["model"].unique(maintain_order=True)
    place = pl.col("model").replace_strict(order, range(len(order)))
    side = items.with_columns(place=place)
    both = side.join(side, on="doc_id", suffix="_b").filter(pl.col("place") < pl.col("place_b"))
    pairs = both.select(
        "doc_id",
        "prompt",
        id=pl.concat_str("doc_id", "model", "model_b", separator="|"),
        response_a="response",
        response_b="response_b",
        model_a="model",
        model_b="model_b",
        prompt_id="doc_id",
    )
    if pairs.is_empty():
        raise DataError(name, "no document has two systems", remedy="give the complete release")
    return pairs


# --- a simulated study -----------------------------------------------------------------------

#: Mean and spread of people's scores, and the share of a judge's noise that all judges have: where
#: it is small, widths of two judges agree little. It was fitted to the paper's Table 4.
_PEOPLE = {
    "coherence": (3.4, 1.1, 0.0), "consistency": (5.3, 1.0, 0.9), "fluency": (5.2, 0.8, 0.9),
    "relevance": (3.8, 0.85, 0.6),
}  # fmt: skip
STUDY: tuple[Row, ...] = tuple(read_rows(_DATA["simulator"]))
#: The spread of the logarithm of a document's hardness.
_HARDNESS = 0.4
#: The lowest score that judges give.
_LOWEST = 2


def simulate_study(
    *,
    documents: int = 30,
    models: int = 8,
    cells: Sequence[Row] = STUDY,
    repeats: int = 3,
    slip: float = 0.3,
    again: float = 0.05,
    seed: Seed = 0,
) -> Answers:
    """The same judges compare summaries and score them; by default with the paper's size.

    A summary has a quality z ~ N(0, 1) on each criterion. People's score is their mean plus spread
    times z, a judge's is

        mean + spread (skill z + sqrt(1 - skill^2) noise) / hardness_d,

    rounded and clipped to 1 to 5; judges do not give a 1. Means, spreads and skills are those of
    the data file, fitted to the paper's Table 3, so that the pattern of its tables shows: judges
    rarely give a 5 where people nearly always do, and that makes wide sets and large errors. They
    show that the method runs as described, and replicate nothing. On document d a judge prefers
    model i to j if

        z_i - z_j + slip spread hardness_d L_ij + again L_ask  >  0,

    L is standard logistic, one draw per pair and one for each time it is asked. So on a hard
    document a judge gives scores in the middle, which have wide sets and large errors, and has
    cycles; on an easy one neither.

    >>> study = simulate_study(documents=2, models=3, repeats=1, seed=1)
    >>> study.scores.height, study.tournaments.height  # 16 judges and criteria, 6 or 2 x 3 rows
    (96, 96)
    """
    count(documents, "documents", least=1)
    count(models, "models", least=2)
    count(repeats, "repeats", least=1)
    non_negative(slip, "slip")
    non_negative(again, "again")
    rng = generator(seed)
    shape = (documents, models)
    criteria = dict.fromkeys(str(cell["criterion"]) for cell in cells)
    quality = {name: rng.normal(size=shape) for name in criteria}
    shared = {name: rng.normal(size=shape) for name in criteria}
    hardness = np.exp(_HARDNESS * rng.normal(size=(documents, 1)))
    i, j = np.array(list(combinations(range(models), 2))).T
    doc_names = np.array([f"doc-{d}" for d in range(documents)])
    names = np.array([f"system-{s}" for s in range(models)])
    scores = []
    tournaments = []
    for cell in cells:
        judge = cell["judge"]
        criterion = cell["criterion"]
        skill = cell["skill"]
        z = quality[criterion]
        mean, spread, share = _PEOPLE.get(criterion, _PEOPLE[MAIN_CRITERION])
        # The variance of the noise is 1, whatever share of it judges have in common.
        unshared = np.sqrt(1 - share**2) * rng.normal(size=shape)
        noise = share * shared[criterion] + unshared
        lean = (skill * z + np.sqrt(1 - skill**2) * noise) / hardness
        stated = cell["mean"] + cell["spread"] * lean
        labels = {"judge": judge, "criterion": criterion}
        columns = {
            "doc_id": np.repeat(doc_names, models),
            "model": np.tile(names, documents),
            "judge_score": np.clip(np.rint(stated), _LOWEST, 5).ravel(),
            "human_score": np.clip(np.rint(mean + spread * z), 1, 5).ravel(),
        }
        scores.append(pl.DataFrame(columns | labels))
        doubt = slip * cell["spread"] * hardness * rng.logistic(size=(documents, len(i)))
        edge = z[:, i] - z[:, j] + doubt
        asked = edge + again * rng.logistic(size=(repeats, *edge.shape))
        columns = {
            "doc_id": np.tile(np.repeat(doc_names, len(i)), repeats),
            "model_a": np.tile(names[i], documents * repeats),
            "model_b": np.tile(names[j], documents * repeats),
            "repeat": np.repeat([str(k) for k in range(repeats)], edge.size),
            "verdict": np.where(asked > 0, "A", "B").ravel(),
        }
        tournaments.append(pl.DataFrame(columns | {"order": "ab"} | labels))
    return Answers(pl.concat(tournaments), pl.concat(scores))
