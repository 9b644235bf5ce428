"""Rows of any kind for an evaluation: what each judge said, what people said, how rows were drawn.

Every kind goes through its own reader in `adjudge.data`. What comes out is one frame with a row for
each answer and judge: a word or a number of the judge, and of people if they labelled the row.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Literal

import numpy as np
import polars as pl

from adjudge.data.candidates import in_words_of_sides, judge_candidates
from adjudge.data.formats import NATIVE, kinds_of
from adjudge.data.grades import (
    Grades,
    are_grades,
    in_words,
    load_grades,
    names_sides,
    prepare_grades,
)
from adjudge.data.judgments import Judgments, own_verdicts
from adjudge.data.names import (
    LOG,
    PAIR,
    columns_here,
    has_order_verdicts,
    read_grade_words,
    read_words,
    recognise,
    remark_names,
    shorten,
)
from adjudge.data.outcomes import VERDICT_COLUMNS
from adjudge.data.rows import (
    Rows,
    add_absent,
    cluster_column,
    code_clusters,
    has_values,
    judge_names,
    measured,
    merge_dropped,
    pass_by_share,
    tidy,
)
from adjudge.data.scores import RATER_COLUMN, Scores, prepare_scores
from adjudge.data.source import Source, open_table
from adjudge.data.steps.labels import (
    BY_SCORE,
    BY_VERDICT,
    LABELS_OF,
    sampling_probabilities,
    take_labels,
)
from adjudge.data.steps.status import plain_words
from adjudge.data.tables import Table, as_text
from adjudge.errors import ArgumentError, DataError
from adjudge.selection.doubts.base import DoubtMethod
from adjudge.selection.labelled import read_ids
from adjudge.validation import FloatArray, IntArray

#: The columns that every kind of rows gets here.
JUDGE, VERDICT, LABEL = "__judge_name", "__verdict", "__label"
RATERS, CHANCE = "__raters", "__chance"
OURS = (JUDGE, VERDICT, LABEL, RATERS, CHANCE)
Unit = Literal["answer", "pair", "prompt"]
#: How the labelled rows were drawn; None if nothing states it.
Drawing = Literal["random", "plan", "verdict", "chosen"]
_UNITS: Mapping[str, Unit] = {"pairs": "pair", "grades": "answer", "choices": "prompt"}
#: Labels that say nothing about other rows; those drawn by verdict are weighted.
_NOT_USED = tuple(way for way in BY_SCORE if way != BY_VERDICT)
#: Columns of battles in which people name the winner.
_VOTES = ("human_pref", "winner", "human_winner", "human_preference")
#: Between a judge and what it was asked for.
_ON = ", "


@dataclass(frozen=True, kw_only=True)
class ReadRows:
    """Every row that a judge answered, with the columns `OURS`, and why others are left out.

    `scored`: verdicts and labels are numbers, not words. `cluster` is the column of rows that
    belong together. `judgments` are the rows with doubt, if these have any.
    """

    frame: pl.DataFrame
    name: str
    unit: Unit
    cluster: str | None
    drawn: Drawing | None
    dropped: Mapping[str, int]
    scored: bool = False
    #: What a result says about the rows: who made the labels, what the verdicts are.
    makers: tuple[str, ...] = ()
    judgments: Judgments | None = None
    #: Columns of the file that other judges or raters filled, which are no kinds of rows.
    raters: Collection[str] = ()

    @property
    def judges(self) -> list[str | None]:
        """Every judge, in the order of the file; None without a name."""
        return self.frame[JUDGE].unique(maintain_order=True).to_list()

    def of_judge(self, judge: str | None) -> pl.DataFrame:
        """The rows of one judge."""
        return self.frame.filter(pl.col(JUDGE).eq_missing(pl.lit(judge, pl.String)))

    def clusters(self, frame: pl.DataFrame) -> IntArray | None:
        """Codes of rows that belong together; None if all are independent."""
        return None if self.cluster is None else code_clusters(frame[self.cluster])


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the caller asks of the rows; see `evaluate`."""

    judges: Sequence[str] = ()
    protocol: str | None = None
    judge_column: str = "judge"
    human_column: str = "human"
    positive: str | None = None
    ties: str = "drop"
    cluster: str | None = "auto"
    choose_on: Any = None
    model_labels: bool = False


def read_rows(source: Source, asked: Asked, method: DoubtMethod) -> ReadRows:
    """The rows of a file of any kind.

    >>> from adjudge.selection.doubts.base import find_doubt
    >>> rows = {"id": [1, 2], "judge": [1, 0], "human": [1, 1]}
    >>> read_rows(Source(rows), Asked(), find_doubt(None)).frame.select(VERDICT, LABEL).rows()
    [('pass', 'pass'), ('fail', 'pass')]
    """
    with source:
        if isinstance(source.data, Judgments):
            return _of_judgments(source.data, asked)
        table = open_table(source.rows)
        wide = bool(asked.judges) and {*asked.judges} <= {*table.frame.columns}
        battles = "battles" in (table.kind, table.format) or _are_judged_battles(table, asked)
        if battles:
            table = _with_words_of_battles(table, asked)
        if wide:
            table = in_rows(table, asked.judges)
        if asked.judge_column == "judge" and _has_scores(table, source.raters):
            return _of_scores(source, table, asked)
        native = (asked.judge_column, asked.human_column) == ("judge", "human")
        plain = native and not (wide or battles) and asked.positive is None
        if plain and _has_doubt(table, method):
            judge = asked.judges[0] if len(asked.judges) == 1 else None
            judged = _opened(source, table)
            return _of_judgments(method.prepare(judged, judge, asked.protocol, None), asked)
        read = _of_grades(source, table, asked)
        names = {apart: ours for ours, apart in _APART.items()}
        return replace(read, frame=read.frame.rename(names, strict=False))


def _opened(source: Source, table: Table) -> Source:
    """A source of the rows as they were opened: a file is parsed once."""
    return Source(table, labels=source.labels, pairs=source.pairs, alike_ids=source.alike_ids)


def _has_doubt(table: Table, method: DoubtMethod) -> bool:
    """Whether the rows are judgments of pairs, or grades with a number of the judge's doubt."""
    here = table.frame.columns
    pairs = recognise(here, "judgments", ["p_a", "p_fwd"]) or has_order_verdicts(here)
    if table.format not in NATIVE and "judgments" in kinds_of(table.format):
        return True
    if pairs or (table.kind == "judgments" and "uncertainty" in here) or method.reads_failed:
        return True
    if any(_varies(table, column) for column in ("metric", "criterion")):
        return False
    numbers = recognise(here, "grades", ["p_pass", "uncertainty"])
    return bool(numbers) and are_grades(here) and not names_sides(table)


def _has_scores(table: Table, raters: Sequence[str]) -> bool:
    here = table.frame.columns
    by_raters = bool(raters) or any(map(RATER_COLUMN.match, here))
    return table.has_scores or (by_raters and bool(recognise(here, "scores", ["judge_score"])))


# --- judges in columns ---

#: Next to these names a table looks like battles or judgments, not like verdicts: other names.
_APART = {"model_a": "__model_a", "model_b": "__model_b", "p_a": "__p_a"}


def _are_judged_battles(table: Table, asked: Asked) -> bool:
    """Pairs of models' answers whose winner by people and by a judge is named by its model."""
    here = table.frame.columns
    names = ("model_a", "model_b")
    if table.kind is not None or asked.judge_column in here or not {*names} <= {*here}:
        return False
    return bool({*VERDICT_COLUMNS} & {*here}) and bool({*_VOTES, asked.human_column} & {*here})


def _with_words_of_battles(table: Table, asked: Asked) -> Table:
    """Battles with what people and judge prefer as A, B and tie; a judge can have scored them."""
    frame = table.frame
    votes = (asked.human_column, *_VOTES)
    human = next((column for column in votes if column in frame.columns), None)
    verdicts = [c for c in (*asked.judges, *VERDICT_COLUMNS) if c in frame.columns]
    frame = frame.rename({"judge": "judge_name"} if "judge" in frame.columns else {})
    columns = {column: column for column in verdicts}
    if human is not None:
        columns[asked.human_column] = human
    words = [
        read_words(as_text(_as_sides(frame, theirs)), PAIR, table.labels_as).alias(ours)
        for ours, theirs in columns.items()
    ]
    frame = frame.with_columns(words)
    here = {*frame.columns}
    numbers = {"p_a"} & here or {"score_a", "score_b"}
    if not verdicts and numbers <= here:
        ahead = pl.col("p_a").cast(pl.Float64) - 0.5
        if "p_a" not in here:
            ahead = pl.col("score_a").cast(pl.Float64) - pl.col("score_b").cast(pl.Float64)
        by_score = pl.when(ahead > 0).then(pl.lit("A")).when(ahead < 0).then(pl.lit("B"))
        tie = pl.when(ahead == 0).then(pl.lit("tie"))
        frame = frame.with_columns(pl.coalesce(by_score, tie).alias("judge"))
    elif verdicts and not asked.judges:
        frame = frame.rename({verdicts[0]: "judge"})
    frame = frame.drop("p_fwd", "p_rev", strict=False).rename(_APART, strict=False)
    return replace(table, frame=frame, fields=None, kind=None, format="binary")


def _as_sides(frame: pl.DataFrame, column: str) -> pl.Series:
    """The column with a model's name as the side on which the model is."""
    if not {"model_a", "model_b"} <= {*frame.columns}:
        return frame[column]
    value = as_text(frame[column])
    of_a = pl.when(value == as_text(frame["model_a"])).then(pl.lit("A"))
    side = of_a.when(value == as_text(frame["model_b"])).then(pl.lit("B")).otherwise(value)
    return frame.select(side.alias(column)).to_series()


def _with_words_of_sides(table: Table, asked: Asked) -> Table:
    """Pairs of answers whose judge and people name the better one in different words."""
    frame = table.frame
    human = asked.human_column
    texts = ("response_a", "response_b")
    of_pairs = recognise(frame.columns, "pairs", texts) == {*texts}
    if of_pairs and human not in frame.columns:
        here = columns_here(frame.columns)
        people = [column for column in here if recognise([column], "pairs", ["label"])]
        if len(people) == 1:
            remark_names(table.name, {human: people[0]})
            frame = frame.with_columns(frame[people[0]].alias(human))
    columns = [column for column in (asked.judge_column, human) if column in frame.columns]
    words = [plain_words(frame[column]) for column in columns]
    sides = bool(words) and in_words_of_sides({*chain(*words)})
    if sides and (of_pairs or (len(words) == 2 and not words[0] & words[1])):
        read = [read_words(as_text(frame[c]), PAIR, {}).alias(c) for c in columns]
        frame = frame.with_columns(read)
    return replace(table, frame=frame, fields=None)


def in_rows(table: Table, judges: Sequence[str]) -> Table:
    """A table with a column for each judge as one with a row for each answer and judge."""
    frame = table.frame
    if not recognise(frame.columns, "binary", ["id"]):
        frame = frame.with_columns(id=pl.int_range(1, pl.len() + 1).cast(pl.String))
    others = frame.drop(*judges, *({"judge", "judge_name"} & {*frame.columns}), strict=False)
    same_type = len({frame.schema[judge] for judge in judges}) == 1
    of_judges = [
        others.with_columns(
            judge_name=pl.lit(judge),
            judge=frame[judge] if same_type else as_text(frame[judge]),
        )
        for judge in judges
    ]
    return replace(table, frame=pl.concat(of_judges), fields=None, format="binary")


# --- kinds of rows ---


def _of_judgments(prepared: Judgments, asked: Asked) -> ReadRows:
    """Judgments of pairs, or grades with a doubt."""
    frame = _only(judge_names(own_verdicts(prepared)), asked.judges)
    rows = _only_chosen(Rows(add_absent(frame, ["label"]), prepared.dropped), asked)
    taken = take_labels(
        rows, "label", prepared.name, without=_NOT_USED, model_labels=asked.model_labels
    )
    drawn = _drawing(taken.rows.frame, "label", prepared.name)
    if drawn is None and rows.frame["label"].count() and not taken.rows.frame["label"].count():
        taken = take_labels(
            rows, "label", prepared.name, without=(), model_labels=asked.model_labels
        )
        drawn = "chosen"
    rows = taken.rows
    if LABELS_OF in rows.frame.columns:
        rows = Rows(rows.frame.rename({LABELS_OF: RATERS}), rows.dropped)
    answered = measured(rows)
    if asked.ties == "drop":
        answered = answered.without(pl.col("label") == "tie", "human tie")
    chances = sampling_probabilities(answered.frame, answered.frame["label"], prepared.name)
    # People's ties are no answer of a judge either: it has no verdict then.
    verdict = pl.when(pl.col("verdict") != "tie").then("verdict")
    judge = pl.when(pl.col("judge") != "unnamed").then("judge")
    frame = answered.frame.with_columns(
        judge.alias(JUDGE),
        verdict.alias(VERDICT),
        pl.col("label").alias(LABEL),
        chances.cast(pl.Float64).alias(CHANCE),
    )
    cluster = cluster_column(frame, asked.cluster, within=["judge", "protocol"])
    return ReadRows(
        frame=_with_raters_column(frame),
        name=prepared.name,
        unit=_UNITS[prepared.about],
        cluster=cluster,
        drawn=drawn,
        dropped=answered.dropped,
        makers=taken.makers,
        judgments=prepared,
    )


def _with_raters_column(frame: pl.DataFrame) -> pl.DataFrame:
    if RATERS in frame.columns:
        return frame
    return frame.with_columns(pl.lit(None, pl.List(pl.String)).alias(RATERS))


def _only(
    frame: pl.DataFrame, names: Sequence[str], *, column: str = "judge", option: str = "judge"
) -> pl.DataFrame:
    """The rows with one of these names in a column; all rows if none is asked for."""
    if not names:
        return frame
    theirs = tidy(add_absent(frame, [column])[column], "the rows", column)
    here = theirs.drop_nulls().unique().sort().to_list()
    for name in names:
        if name not in here:
            raise ArgumentError(option, name, f"the rows have {shorten(here) or 'none'}")
    return frame.filter(theirs.is_in(list(names)))


def _only_chosen(rows: Rows, asked: Asked) -> Rows:
    """The rows whose ids the caller chooses on."""
    if asked.choose_on is None:
        return rows
    chosen = pl.col("id").is_in(read_ids(asked.choose_on).implode())
    return rows.without(~chosen, "not among the ids to choose on")


def _drawing(frame: pl.DataFrame, column: str, name: str) -> Drawing | None:
    """How the labels were drawn, by what the rows say of them; None if they do not say."""
    labelled = frame[column].is_not_null()
    ways: set[str | None] = {None}
    if "sampled_by" in frame.columns and labelled.any():
        ways = {*tidy(frame["sampled_by"], name, "sampled_by").filter(labelled)}
    if BY_VERDICT in ways:
        return "verdict"
    if ways <= {*BY_SCORE}:
        return "chosen"
    if "sampling_probability" in frame.columns and (
        "plan" in ways or has_values(frame.filter(labelled), "sampling_probability")
    ):
        return "plan"
    return "random" if ways == {"random"} else None


def _of_grades(source: Source, table: Table, asked: Asked) -> ReadRows:
    """Grades of 0 and 1, probabilities, classes, scores without a criterion; logs of them."""
    human = asked.human_column
    if (asked.judge_column, asked.human_column) == ("judge", "human"):
        refuse_without_judge(table)
    table = load_grades(table, asked.judge_column, human, rounded=False)
    if table.kind is None and asked.positive is None:
        table = _with_words_of_sides(table, asked)
    named = _only(
        table.frame,
        () if asked.protocol is None else [asked.protocol],
        column="protocol",
        option="protocol",
    )
    if "judge_name" in named.columns:
        named = _only(named, asked.judges, column="judge_name")
    table = replace(table, frame=named, fields=None)
    who = [c for c in ("judge_name", "metric", "criterion") if _varies(table, c)]
    options: dict[str, Any] = {
        "judge_column": asked.judge_column,
        "human_column": human,
        "positive": asked.positive,
        "model_labels": asked.model_labels,
        "cluster": None if asked.cluster == "auto" else asked.cluster or "none",
        "needs_labels": False,
        "without": _NOT_USED,
        "scores": True,
    }
    if who:
        # Each judge, and each thing that it was asked for, has its own result.
        column = "__judge_and_metric"
        parts = [tidy(table.frame[c], table.name, c) for c in who]
        # A metric that is its own judge is named once.
        again = parts[:1] + [
            pl.select(pl.when(part != parts[0]).then(part)).to_series() for part in parts[1:]
        ]
        names = pl.select(pl.concat_str(again, separator=_ON, ignore_nulls=True)).to_series()
        frame = table.frame.with_columns(names.alias(column))
        table = replace(table, frame=frame, fields=None)
        options |= {"by": column, "slices": who}
    labels = source.labels
    options |= {"labels": labels, "alike_ids": source.alike_ids}
    grades = prepare_grades(table, **options)
    drawn: Drawing | None = None
    if not _labelled(grades).any() and "sampled_by" in grades.frame.columns:
        of_chosen = prepare_grades(table, **{**options, "without": ()})
        if _labelled(of_chosen).any():
            grades = of_chosen
            drawn = "chosen"
    frame = _in_our_columns(grades, asked.positive)
    if who:
        frame = frame.drop(column)
    drawn = drawn or _drawing(frame, LABEL, grades.name)
    if grades.scale != "scores":
        frame = _with_raters_of_rows(frame, grades.name)
    rows = Rows(frame, grades.dropped)
    if {"A", "B"} <= {*grades.names} <= {"A", "B", "tie"}:
        # A judge's tie names no side; people's are left out, or errors.
        verdict = pl.when(pl.col(VERDICT) != "tie").then(VERDICT)
        rows = Rows(rows.frame.with_columns(verdict.alias(VERDICT)), rows.dropped)
        if asked.ties == "drop":
            rows = rows.without(pl.col(LABEL) == "tie", "human tie")
    rows = _only_chosen(rows, asked)
    frame = rows.frame
    if grades.clusters is not None:
        kept = grades.clusters if frame.height == len(grades.clusters) else None
        cluster = _CLUSTER if kept is not None else "prompt_id"
        frame = frame if kept is None else frame.with_columns(pl.Series(_CLUSTER, kept))
    probabilities = [_PROBABILITIES] if grades.scale == "probability" else []
    return ReadRows(
        frame=frame,
        name=grades.name,
        unit="pair" if {"A", "B"} & {*grades.names} else "answer",
        cluster=None if grades.clusters is None else cluster,
        drawn=drawn,
        dropped=rows.dropped,
        scored=grades.scale == "scores",
        makers=(*grades.makers, *grades.judges, *probabilities),
        raters=[*source.raters, *judge_candidates(grades.frame, human)],
    )


def _with_raters_of_rows(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows with all people's labels of an answer on its first row, if each rater has a row."""
    rater = next((c for c in frame.columns if recognise([c], "labels", ["rater"])), None)
    if rater is None or frame[RATERS].count() or frame[rater].n_unique() < 2:
        return frame
    if "id" not in frame.columns:
        LOG.warning(
            "%s: warning: column %s and no id: each rater's row counts as an answer of its own; "
            "name the answer's: --column id=NAME (columns=)",
            *(name, rater),
        )
        return frame
    answer = [JUDGE, "id"]
    first = pl.int_range(pl.len()).over(answer) == 0
    labels = pl.col(LABEL).over(answer, mapping_strategy="join")
    return frame.with_columns(pl.when(first).then(labels).alias(RATERS))


_CLUSTER = "__cluster"
_PROBABILITIES = "the scale is probabilities: pass above 0.5, fail below, none at exactly 0.5"


def _varies(table: Table, column: str) -> bool:
    frame = table.frame
    return column in frame.columns and as_text(frame[column]).drop_nulls().n_unique() > 1


def refuse_without_judge(table: Table) -> None:
    """Name the columns that can be judges, if no column is known to be one."""
    here = table.frame.columns
    if table.kind is not None or recognise(here, "binary", ["judge", "p_pass"]):
        return
    names = columns_here(here)
    people = [column for column in names if recognise([column], "binary", ["human"])]
    judges = judge_candidates(table.frame, people[0]) if len(people) == 1 else []
    if judges:
        typed = " ".join(shlex.join(["--judge", name]) for name in judges)
        verb = "hold" if len(judges) > 1 else "holds"
        raise DataError(
            table.name,
            f"is missing; {shorten(judges)} {verb} values on the scale of {people[0]}",
            column="judge",
            remedy=f"if these are judges: {typed} (judges=)",
        )


def _labelled(grades: Grades) -> FloatArray:
    if grades.scale == "classes":
        return np.asarray(grades.labels >= 0)
    return np.asarray(~np.isnan(grades.human))


def _in_our_columns(grades: Grades, positive: str | None) -> pl.DataFrame:
    """The rows of grades with what judge and people say as words, or as numbers of a scale."""
    raters = grades.raters
    if grades.scale == "classes":
        verdicts, labels = in_words(grades)
        spelling = {name.lower(): name for name in grades.names}
        others = _each_label(raters, lambda words: words.str.to_lowercase().replace(spelling))
    elif grades.scale == "scores":
        verdicts = pl.Series(grades.judge)
        labels = pl.Series(grades.human).fill_nan(None)
        others = _each_label(raters, lambda words: words.cast(pl.Float64))
    else:
        verdicts, labels = in_words(grades)
        others = _each_label(raters, partial(_as_pass_or_fail, positive=positive))
    chances = grades.sampling_probability
    names = pl.Series(grades.group_names, dtype=pl.String)
    judge: pl.Series | pl.Expr = pl.lit(None, pl.String)
    if grades.groups is not None:
        judge = names.gather(grades.groups)
    elif "judge_name" in grades.frame.columns:
        judge = as_text(grades.frame["judge_name"])
    inner = pl.Float64 if grades.scale == "scores" else pl.String
    no_raters = pl.lit(None, pl.List(inner))
    no_chance = pl.lit(None, pl.Float64)
    given = no_chance if chances is None else pl.Series(CHANCE, chances).fill_nan(None)
    return grades.frame.with_columns(
        judge.alias(JUDGE),
        verdicts.alias(VERDICT),
        labels.alias(LABEL),
        (no_raters if others is None else others).alias(RATERS),
        given.alias(CHANCE),
    )


def _as_pass_or_fail(words: pl.Series, positive: str | None) -> pl.Series:
    """What one rater says of an answer; with a `positive` word, all others fail."""
    if positive is None:
        return pass_by_share(read_grade_words(words).cast(pl.Float64))
    return pass_by_share((words.str.to_lowercase() == positive.lower()).cast(pl.Float64))


def _each_label(raters: pl.Series | None, read: Any) -> pl.Series | None:
    """The labels of all raters, each read in the same way."""
    if raters is None:
        return None
    # A row without labels stays, as a null: an empty list has no row once it is exploded.
    lists = pl.select(pl.when(raters.list.len() > 0).then(raters).alias("words"))
    flat = lists.with_row_index("__row").explode("words")
    flat = flat.with_columns(as_text(flat["words"]).alias("words"))
    words = read(flat["words"]).alias("words")
    grouped = flat.with_columns(words).group_by("__row", maintain_order=True).agg("words")
    return grouped["words"]


def _of_scores(source: Source, table: Table, asked: Asked) -> ReadRows:
    """Scores by criterion; a row of a judge for each criterion is a result of its own."""
    scores: Scores = prepare_scores(_opened(source, table), model_labels=asked.model_labels)
    rows = measured(Rows(_only(scores.frame, asked.judges), scores.dropped))
    frame = rows.frame
    who = [c for c in ("judge", "criterion") if frame[c].n_unique() > 1]
    named = [pl.when(pl.col(c) != "unnamed").then(c) for c in who or ["judge"]]
    frame = frame.with_columns(
        pl.concat_str(named, separator=_ON, ignore_nulls=True).alias(JUDGE),
        pl.col("judge_score").cast(pl.Float64).alias(VERDICT),
        pl.col("human_scores").list.mean().alias(LABEL),
        pl.col("human_scores").alias(RATERS),
        pl.lit(None, pl.Float64).alias(CHANCE),
    )
    frame = frame.with_columns(pl.col(JUDGE).replace("", None))
    cluster = cluster_column(frame, asked.cluster)
    if asked.cluster == "auto" and frame.select(JUDGE, "doc_id").is_duplicated().any():
        cluster = "doc_id"
    return ReadRows(
        frame=frame,
        name=scores.name,
        unit="answer",
        cluster=cluster,
        drawn=_drawing(frame, LABEL, scores.name),
        dropped=merge_dropped(rows.dropped),
        scored=True,
        makers=scores.makers,
        raters=[c for c in frame.columns if RATER_COLUMN.match(c)],
    )
