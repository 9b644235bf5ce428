"""The data of the diagnosis paper: what it prints, SummEval, and a simulated study of its size.

Of SummEval: the paper's subset, its people, and judges asked now.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, TypeVar

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
from adjudge.present.blocks import Table
from adjudge.present.text import DASH
from adjudge.simulate.scores import simulate_scores
from adjudge.validation import Seed, count, generator, non_negative
from adjudge_papers.items import read_published, read_rows
from adjudge_papers.reproduction import contains

_DATA = read_published("diagnosis")
#: Spearman of width and error of all judges together, by criterion and of "all".
POOLED: Mapping[str, float] = _DATA["pooled"]
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
NOTES: tuple[str, ...] = tuple(_DATA["notes"])
#: The name of the paper's own rows, next to our data sets.
PAPER = "paper"
_Part = TypeVar("_Part")


def published_judge(name: str) -> str | None:
    """The paper's name of a judge, if it has the name of one of its four.

    >>> published_judge("openrouter:qwen/qwen-2.5-72b-instruct"), published_judge("gpt-4o")
    ('Qwen-2.5-72B', None)
    """
    return next((judge for judge in JUDGES if contains(name, judge)), None)


@cache
def published_rows(table: str) -> list[dict[str, Any]]:
    """The rows of a table: cycles, rankings, sets or agreement."""
    return read_rows(_DATA[table])


def published_row(table: str, judge: str, **key: str | float) -> dict[str, Any]:
    """The row of a judge, whatever the name is that it has here; empty if there is none.

    >>> published_row("sets", "gpt-4o-mini", criterion="coherence", alpha=0.1)["mean_size"]
    4.51
    """
    wanted = {"judge": published_judge(judge), **key}
    return next((row for row in published_rows(table) if wanted.items() <= row.items()), {})


def published_agreement(judge: str, other_judge: str, criterion: str) -> float | None:
    """Spearman of two judges' widths of Table 4."""
    pair = {published_judge(judge), published_judge(other_judge)}
    return next(
        (
            row["spearman"]
            for row in published_rows("agreement")
            if {row["judge_a"], row["judge_b"]} == pair and row["criterion"] == criterion
        ),
        None,
    )


def whose(judges: Iterable[str], simulated: bool) -> str:
    """The part of the paper's data in the rows; its judges' answers are not published."""
    if simulated:
        return ""
    theirs = {published_judge(name) for name in judges} - {None}
    if not theirs:
        return "other judges than the paper's"
    return f"{len(theirs)} of the paper's {len(JUDGES)} judges"


def compare(
    rows: Iterable[Any],
    columns: Mapping[str, tuple[str, Callable[[Any], str]]],
    caption: str,
    optional: Sequence[str] = (),
) -> Table:
    """A row for each judge and criterion, the paper's below if it prints a number.

    A column has the name of its field and how to write it; the paper's is published_FIELD.
    """
    lines = []
    for row in rows:
        ours, theirs = (
            [show(getattr(row, before + field, None)) for field, show in columns.values()]
            for before in ("", "published_")
        )
        lines.append((f"{row.judge}, {row.criterion}", *ours))
        if {*theirs} != {DASH}:
            lines.append(("  paper", *theirs))
    return Table(("judge, criterion", *columns), lines, caption, optional=optional)


def pivot(
    parts: Sequence[_Part],
    name: Callable[[_Part], str],
    column: Callable[[_Part], Hashable],
    ours: Callable[[_Part], str],
    paper: Callable[[_Part], str],
    label: str = "  paper",
) -> list[tuple[str, ...]]:
    """A row for each name and a text for each column, the paper's below if it prints a number."""
    rows: dict[str, dict[Hashable, _Part]] = {}
    for part in parts:
        rows.setdefault(name(part), {})[column(part)] = part
    lines = []
    for title, cells in rows.items():
        texts, theirs = (
            [show(cells[at]) if at in cells else DASH for at in dict.fromkeys(map(column, parts))]
            for show in (ours, paper)
        )
        lines.append((title, *texts))
        if {*theirs} != {DASH}:
            lines.append((label.format(name=title), *theirs))
    return lines


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
    **asking: Any,
) -> Answers:
    """Both protocols with the paper's prompts: all pairs in one order, `repeats` times, and scores.

    `samples` is for judges without log probabilities; `min_answer_mass` as in `judge_pairs`;
    `asking` are its other options.
    """
    count(repeats, "repeats", least=1)
    items = size.cut(read_public(summeval, "summeval", kind="items").frame)
    options: dict[str, Any] = {"samples": samples, "min_answer_mass": min_answer_mass}
    compared = judge_pairs(
        _all_pairs(items, source_name(summeval)),
        judge=[*judges],
        protocol=ByCriterion(prompt=builtin_prompt("diagnosis_pairwise"), order="ab", **options),
        repeats=repeats,
        **asking,
    ).judgments
    scoring = Likert(prompt=builtin_prompt("diagnosis_likert"), **options)
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


# --- a simulated study -----------------------------------------------------------------------

STUDY_CRITERIA = {"coherence": 0.9, "consistency": 1.6, "fluency": 1.8, "relevance": 0.6}
STUDY_JUDGES = {f"simulated {at + 1}": noise for at, noise in enumerate((0.6, 0.7, 0.9, 0.8))}


def simulate_study(
    *,
    documents: int = 30,
    models: int = 8,
    criteria: Mapping[str, float] = STUDY_CRITERIA,
    judges: Mapping[str, float] = STUDY_JUDGES,
    repeats: int = 3,
    slip: float = 0.25,
    again: float = 0.05,
    seed: Seed = 0,
) -> Answers:
    """The same judges compare summaries and score them; by default with the paper's size.

    Scores are those of `simulate_scores`. On document d a judge prefers model i to j if

        quality_di - quality_dj + slip * width_d * L_dij + again * L_ask  >  0,

    L is standard logistic, one draw per pair and one for each time it is asked; width_d is the
    error of its scores on the document: the noise of the judge, of the criterion, and the
    document's hardness. So a hard document has cycles and large errors, and an easy one has
    neither.

    >>> study = simulate_study(documents=2, models=3, repeats=1, seed=1)
    >>> study.scores.height, study.tournaments.height  # 16 judges and criteria, 6 or 2 x 3 rows
    (96, 96)
    """
    count(models, "models", least=2)
    count(repeats, "repeats", least=1)
    non_negative(slip, "slip")
    non_negative(again, "again")
    draw = generator(seed)
    drawn = simulate_scores(
        documents=documents, models=models, criteria=criteria, judges=judges, seed=draw
    )
    i, j = np.array(list(combinations(range(models), 2))).T
    doc_names = [f"doc-{d}" for d in range(documents)]
    names = np.array([f"system-{s}" for s in range(models)])
    parts = []
    for judge, judge_noise in judges.items():
        for criterion, criterion_noise in criteria.items():
            quality = drawn.quality[criterion]
            width = judge_noise * criterion_noise * drawn.hardness
            noise = slip * width[:, None] * draw.logistic(size=(documents, len(i)))
            lean = quality[:, i] - quality[:, j] + noise
            for repeat in range(repeats):
                asked = lean + again * draw.logistic(size=lean.shape)
                parts.append(
                    pl.DataFrame(
                        {
                            "doc_id": np.repeat(doc_names, len(i)),
                            "model_a": np.tile(names[i], documents),
                            "model_b": np.tile(names[j], documents),
                            "judge": [judge] * lean.size,
                            "criterion": [criterion] * lean.size,
                            "order": ["ab"] * lean.size,
                            "repeat": [str(repeat)] * lean.size,
                            "verdict": np.where(asked > 0, "A", "B").ravel(),
                        }
                    )
                )
    return Answers(pl.concat(parts), drawn.frame)
