"""SummEval for the diagnosis paper: the paper's subset, its people, and judges asked now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from adjudge.validation import count
from adjudge_papers.diagnosis_published import DOCUMENTS, REPEATS, SYSTEMS


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
    """Judges' answers about SummEval: tournaments, and scores with human scores."""

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
    **asking: Any,
) -> Answers:
    """Both protocols with the paper's prompts: all pairs in one order, `repeats` times, and scores.

    `samples` is for judges without log probabilities; `min_answer_mass` as in `judge_pairs`;
    `asking` are its other options.
    """
    count(repeats, "repeats", least=1)
    items = size.cut(read_public(summeval, "summeval", kind="items").frame)
    pairwise = ByCriterion(
        prompt=builtin_prompt("diagnosis_pairwise"),
        order="ab",
        samples=samples,
        min_answer_mass=min_answer_mass,
    )
    scoring = Likert(
        prompt=builtin_prompt("diagnosis_likert"), samples=samples, min_answer_mass=min_answer_mass
    )
    judge = list(judges)
    compared = judge_pairs(
        _all_pairs(items, source_name(summeval)),
        judge=judge, protocol=pairwise, repeats=repeats, **asking,
    ).judgments  # fmt: skip
    scored = judge_pairs(items, judge=judge, protocol=scoring, **asking).judgments
    people = read_human_scores(read_public(summeval, "summeval", kind="human_scores").frame)
    kept = [c for c in ("verdict", "p_a", "order", "repeat") if c in compared.columns]
    joined, _ = join_human_scores(scored.drop("protocol"), people)
    return Answers(
        # The protocol contains the criterion, which has its own column.
        compared.select("doc_id", "model_a", "model_b", "judge", "criterion", *kept),
        joined,
    )


def _all_pairs(items: pl.DataFrame, name: str) -> pl.DataFrame:
    """Every pair of systems on every document, the earlier system first."""
    side = items.with_columns(
        place=pl.col("model").replace_strict(
            (order := items["model"].unique(maintain_order=True)), range(len(order))
        )
    )
    pairs = (
        side.join(side, on="doc_id", suffix="_b")
        .filter(pl.col("place") < pl.col("place_b"))
        .select(
            "doc_id",
            "prompt",
            id=pl.concat_str("doc_id", "model", "model_b", separator="|"),
            response_a="response",
            response_b="response_b",
            model_a="model",
            model_b="model_b",
            prompt_id="doc_id",
        )
    )
    if pairs.is_empty():
        raise DataError(name, "no document has two systems", remedy="give the complete release")
    return pairs
