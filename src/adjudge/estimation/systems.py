"""The answers of systems to the same questions, as a table (questions, systems), for `compare`.

Grades, probabilities, scores, judgments of pairs, one file or two: each becomes the judge's number
and, for some, people's number of every system on every question. Judges are systems too: their
number is 1 where they agree with people. What cannot be paired is counted.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import polars as pl

from adjudge.data.formats import kinds_of
from adjudge.data.grades import load_grades, prepare_grades
from adjudge.data.names import GIVE_IDS, recognise, shorten
from adjudge.data.rows import (
    DEFAULT_CLUSTERS,
    Rows,
    code_clusters,
    has_values,
    merge_dropped,
    tidy,
)
from adjudge.data.scores import scores_as_grades
from adjudge.data.source import Reading, Source, open_table, open_values
from adjudge.data.tables import Table, TableLike, as_text
from adjudge.errors import ArgumentError, DataError
from adjudge.statistics.clusters import freedom_of, pulls
from adjudge.validation import BoolArray, FloatArray, IntArray

#: What the numbers are: verdicts of 0 and 1, probabilities, scores, preferences between pairs, or
#: a judge's agreement with people.
Measure = Literal["verdicts", "probabilities", "scores", "preferences", "agreement"]
_SCALES: Mapping[str, Measure] = {"binary": "verdicts", "probability": "probabilities"}
#: Columns that can name a question; of those that systems share most values of, the first.
QUESTION = "__shared_id"
_QUESTIONS = (QUESTION, "prompt_id", "doc_id", "prompt")
#: What people see of an answer, or of a pair, when they label it.
_TEXTS = ("prompt", "response", "reference", "context", "response_a", "response_b")
_ALONE = "question that one system alone answered"
HALF_LABELLED = "question not labelled for all systems: its labels are not used"
#: How an id begins that does not name its system.
_BLIND = "answer-"
#: Between an id and a system, where an id alone names only the question.
_OF = " of "


class ReadingAnswers(Reading, total=False):
    """What every verb takes that compares systems.

    Args:
        by: Column of the systems. Default: model.
        judge: The judge whose verdicts count, if the rows have several.
        labels: Human labels by id. If ids name questions, with the systems' column too.
        judge_column: Column of the judge's verdicts. Default: judge.
        human_column: Column of the human labels. Default: human.
        positive: For verdicts that are words: the one that counts as 1.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
    """

    by: str
    judge: str | None
    labels: TableLike | None
    judge_column: str
    human_column: str
    positive: str | None
    model_labels: bool


class ReadingSystems(ReadingAnswers, total=False):
    """What every verb takes that compares systems, and whose questions can belong together.

    Args:
        cluster: Column of questions that belong together; none: all are independent. Default:
            prompt_id or doc_id, if rows are paired by another column.
    """

    cluster: str | None


@dataclass(frozen=True, kw_only=True)
class Systems:
    """The judge's and people's numbers (questions, systems), NaN if there is none.

    `zero_one`: every number is one verdict of 0 or 1 (of preferences: no probability), so that
    differences are -1, 0 or 1. `paired_by` is the column of questions, None if systems share none.
    `clusters` are codes of questions that belong together; `freedom` is the most degrees of freedom
    that they leave the judge's and people's differences. `drawn_at_random` is true if every label
    is recorded as drawn at random, `labels_given` if the rows have any, used or not, and
    `all_accepted` if a policy accepted every verdict.
    """

    #: The file, for messages.
    source: str
    names: tuple[str, ...]
    judge: FloatArray
    human: FloatArray
    questions: tuple[str, ...]
    clusters: IntArray | None
    paired_by: str | None
    clustered_by: str | None
    freedom: tuple[float, float] = (math.inf, math.inf)
    measure: Measure
    zero_one: bool
    people_zero_one: bool
    #: A row of each answer: question, system, id, and its texts if the rows have them (prompt,
    #: ...); the cell of the table that it is in, people's number, and a pair's side of the system.
    answers: pl.DataFrame
    drawn_at_random: bool = False
    labels_given: bool = False
    all_accepted: bool = False
    #: What a row of each judge costs, if these are judges.
    costs: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: What can make the judge's answers about two systems unlike, such as two scales.
    judge_notes: tuple[str, ...] = ()
    dropped: Mapping[str, int]

    def answer_ids(self, question: str) -> tuple[str, ...]:
        """The ids of the systems' answers to a question, in an order that names none; of a pair."""
        here = (pl.col("question") == question) & pl.col("system").is_in(list(self.names))
        ids = self.answers.filter(here)["id"].unique()
        return tuple(ids.gather(pl.Series(blind_ids(ids)).arg_sort()).to_list())

    def texts(self) -> pl.DataFrame | None:
        """The answers, or pairs, to label; None if the rows have no texts, or no ids."""
        here = [column for column in _TEXTS if column in self.answers.columns]
        rows = self.answers.unique("id", keep="first", maintain_order=True)
        asked = self.answers.n_unique(["question", "system"])
        shared = self.measure != "preferences" and len(rows) < asked
        if shared or "prompt" not in here or not {"response", "response_a"} & {*here}:
            return None
        return rows.select("id", *here)

    def with_labels(self, labels: Mapping[str, str]) -> Systems:
        """All systems with labels of answers by id, which replace the rows' own.

        They are those of the labelling page: A, B or tie of a pair, pass or fail, or a score.
        """
        if not labels:
            return self
        label = pl.col("id").replace_strict(labels, default=None, return_dtype=pl.String)
        preferred = (label == pl.col("side")).cast(pl.Float64)
        if self.measure == "preferences":
            number = pl.when(label == "tie").then(0.5).otherwise(preferred)
        else:
            number = (label if self.measure == "scores" else label == "pass").cast(pl.Float64)
        people = self.answers.select(pl.coalesce(number, pl.col("human"))).to_series().to_numpy()
        question, system = np.divmod(self.answers["cell"].to_numpy(), len(self.names))
        human, _ = _means(people, question, system, (len(self.questions), len(self.names)))
        return replace(self, human=human)

    def choose(self, a: str | None, b: str | None) -> tuple[str, str]:
        """The two systems: as named; of two, those that are not named in the order of the file."""
        names = self.names
        if len(names) < 2:
            raise ArgumentError("by", names[0], "the rows are of one system: give two")
        for option, name in (("a", a), ("b", b)):
            if name is not None and name not in names:
                raise ArgumentError(option, name, f"choose one of {shorten(sorted(names))}")
            if name is None and len(names) > 2:
                remedy = f"name both: --a and --b, of {shorten(sorted(names))}"
                raise ArgumentError(option, None, remedy)
        if a is not None and a == b:
            raise ArgumentError("b", b, "name two different systems")
        others = [name for name in names if name not in (a, b)]
        return a or others[0], b or others[-1]

    def among(self, names: Sequence[str]) -> Systems:
        """These systems, ready to compare: on questions that two of them or more answered.

        Labels of a question count if all of them are labelled. Questions of one cluster become one
        (see `of_clusters`). `dropped` has what these systems leave out.
        """
        columns = [self.names.index(name) for name in names]
        judge = self.judge[:, columns]
        human = self.human[:, columns]
        labelled = ~np.isnan(human)
        answered = ~np.isnan(judge)
        dropped = dict[str, int]()
        used = answered.any(axis=1)
        people = np.asarray(labelled.any(axis=1) & used)
        if self.paired_by is not None:
            used = answered.sum(axis=1) > 1
            some = people & used
            people = np.asarray((labelled & answered).all(axis=1))
            human = np.where(people[:, None], human, np.nan)
            alone = answered.any(axis=1) & ~used
            half = some & ~people
            dropped = {_ALONE: int(alone.sum()), HALF_LABELLED: int(half.sum())}
        codes = np.arange(len(judge))
        clustered_by = None
        if self.clusters is not None and len(np.unique(self.clusters[used])) < used.sum():
            codes = self.clusters
            clustered_by = self.clustered_by
            # A labelled cluster counts with its labelled questions: judge and people see the same.
            used &= people | ~np.isin(codes, codes[people])
        at = np.flatnonzero(used)
        _, first, rows = np.unique(codes[at], return_index=True, return_inverse=True)
        zero_one = self.zero_one and clustered_by is None
        judge = judge[at]
        human = human[at]
        freedom = self.freedom
        if clustered_by is not None:
            with_label = people[at[first]]
            freedom = freedom_of(rows), freedom_of(rows[with_label[rows]])
            judge = of_clusters(judge, rows, with_label)
            human = of_clusters(human, rows, with_label)
        return replace(
            self,
            names=tuple(names),
            judge=judge,
            human=human,
            questions=tuple(self.questions[place] for place in at[first]),
            clusters=None,
            clustered_by=clustered_by,
            freedom=freedom,
            zero_one=zero_one,
            people_zero_one=self.people_zero_one and clustered_by is None,
            dropped=merge_dropped(dropped),
        )


# --- reading systems -------------------------------------------------------------------------


def read_systems(
    data: TableLike,
    other: TableLike | None = None,
    *,
    a: str | None = None,
    b: str | None = None,
    by: str = "model",
    within: str | None = None,
    judge: str | None = None,
    labels: TableLike | None = None,
    cluster: str | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    model_labels: bool = False,
    **reading: Unpack[Reading],
) -> dict[str | None, Systems]:
    """The systems of one table, or of two files with a run each; one entry for each slice.

    Options as in `compare`.

    >>> rows = {"id": [1, 1, 2, 2], "model": ["x", "y"] * 2, "judge": [0, 1, 1, 1]}
    >>> read_systems(rows)[None].judge.tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    options: dict[str, Any] = {"judge_column": judge_column, "model_labels": model_labels}
    with Source(data, labels=labels, others={"other": other}, **reading) as source:
        table = open_table(source.rows)
        label_table = source.labels
        sides = None
        if "battles" in (table.kind, table.format):
            remedy = "battles are ranked: adjudge rank; for two of them give judgments of pairs"
            raise DataError(table.name, "has battles", remedy=remedy)
        if is_judged_pairs(table):
            if other is not None:
                remedy = "judgments of pairs hold both systems: give one file"
                raise ArgumentError("other", str(other), remedy)
            if human_column != "human":
                remedy = "is for grades; of pairs name it by --column label=NAME (columns=)"
                raise ArgumentError("human_column", human_column, remedy)
            table, sides = _name_sides(_of_judge(table, "judge", judge, by), a, b)
            options["model"] = sides[1]
        else:
            tables = [table] if other is None else [table, open_table(source.other("other"))]
            tables = [as_grades(t, label_table, (judge_column, human_column)) for t in tables]
            if human_column != "human":
                for each in tables:
                    _named(each.frame, "human_column", human_column)
            table = tables[0] if other is None else _join_runs(tables, by)
            if by not in table.frame.columns:
                remedy = "name the systems' column: --by COLUMN (by=), or give two files"
                raise DataError(table.name, "is missing", column=by, remedy=remedy)
            table = _of_judge(table, "judge_name", judge, by)
            # Labels of scores are joined already, all raters.
            label_table = (
                None
                if label_table is None or table.format == "scores"
                else open_values(label_table)
            )
            table, label_table = _name_answers(table, label_table, by)
            words = {"by": by, "human_column": human_column, "positive": positive}
            options |= {**words, "needs_labels": False, "scores": True}
            options["slices"] = [] if within is None else [within]
            options["alike_ids"] = source.alike_ids
        rows = prepare_grades(table, labels=label_table, cluster="none", compared=True, **options)
    if rows.scale == "classes":
        remedy = "name the class that counts as 1: --positive NAME (positive=)"
        problem = f"has the classes {shorten(rows.names, 5)}"
        raise DataError(rows.name, problem, column=judge_column, remedy=remedy)
    if rows.sampling_probability is not None:
        column = "sampling_probability"
        problem = "labels were picked by a plan"
        remedy = "a difference needs labels of questions drawn at random"
        raise DataError(rows.name, problem, column=column, remedy=remedy)
    columns = {"__judge": rows.judge, "__human": rows.human, "__system": rows.groups}
    series = [pl.Series(name, x) for name, x in columns.items() if x is not None]
    answers = Rows(rows.frame.with_columns(series), rows.dropped)
    names = rows.group_names
    measure = _SCALES.get(rows.scale, "scores")
    if sides is not None:
        names = sides
        measure = "preferences"
        answers = _of_sides(answers, sides)
    frame = answers.frame
    source_of = {"source": rows.name, "dropped": answers.dropped}
    notes = {"notes": rows.makers, "judge_notes": rows.judges}
    how = {"drawn_at_random": rows.drawn_at_random, **notes, **source_of}
    people = "human" if sides is not None else human_column
    labels = tidy(frame[people], rows.name, people) if people in frame.columns else pl.Series()
    how["labels_given"] = labels.is_not_null().any()
    slices: dict[str | None, pl.DataFrame] = {None: frame}
    if within is not None:
        values = tidy(frame[_named(frame, "within", within)], rows.name, within)
        distinct = values.drop_nulls().unique(maintain_order=True).to_list()
        if not distinct:
            raise ArgumentError("within", within, "the column is empty: name another")
        slices = {value: frame.filter(values == value) for value in distinct}
    return {at: tabulate(each, names, cluster, measure, **how) for at, each in slices.items()}


def _named(frame: pl.DataFrame, option: str, column: str) -> str:
    """A column that the user named; it must be there."""
    if column not in frame.columns:
        theirs = [name for name in frame.columns if name != "id" and not name.startswith("__")]
        raise ArgumentError(option, column, f"choose a column: {shorten(theirs)}")
    return column


def is_judged_pairs(table: Table) -> bool:
    here = table.frame.columns
    if table.kind is not None:
        return table.kind == "judgments"
    by_verdict = len(recognise(here, "judgments", ["model_a", "model_b", "verdict"])) == 3
    return "judgments" in kinds_of(table.format) or (
        "judge_score" not in here
        and (by_verdict or bool(recognise(here, "judgments", ["p_a", "p_fwd"])))
    )


def as_grades(table: Table, labels: TableLike | None, columns: tuple[str, str]) -> Table:
    """Rows under our names; scores in the columns of grades."""
    if not table.has_scores:
        return replace(load_grades(table, *columns), kind="grades")
    return scores_as_grades(table, labels, human_column=columns[1])


def _values(table: Table, *columns: str) -> list[str]:
    """The distinct values of these columns together, of those that the table has."""
    here = [column for column in columns if column in table.frame.columns]
    series = [tidy(table.frame[column], table.name, column).alias("value") for column in here]
    return pl.concat(series).drop_nulls().unique().sort().to_list() if series else []


def file_names(names: Sequence[str]) -> list[str]:
    """Two files by their last names, else by their paths, else by their order.

    Names that differ in a time alone do not name a run: then by their folders, if these differ.

    >>> file_names(["old/run_2026-11-15T09.jsonl", "new/run_2026-11-16T10.jsonl"])
    ['old', 'new']
    """
    paths = [Path(name) for name in names]
    without_time = {re.sub(r"\d", "", path.name) for path in paths}
    folders = [path.parent.name for path in paths] if len(without_time) == 1 else ["", ""]
    files = [path.name for path in paths]
    choices = (folders, files, [str(path) for path in paths], ["first", "second"])
    return next(pair for pair in choices if pair[0] != pair[1])


def _join_runs(tables: Sequence[Table], by: str) -> Table:
    """Two runs as one table; a run is named by its one model, or by its file.

    The models of a file with several are systems of their own, named with their file if the other
    file has one of them too.
    """
    first, second = tables
    models = [_values(table, by) for table in tables]
    if first.format != second.format and first.kind != second.kind:
        formats = " and ".join(str(table.format or "plain rows") for table in tables)
        remedy = "give two files of one kind"
        raise DataError(second.name, f"differs from {first.name}: {formats}", remedy=remedy)
    frames = [table.frame for table in tables]
    if not (models[0] and models[1]) or {*models[0]} & {*models[1]}:
        for at, file in enumerate(file_names([first.name, second.name])):
            of_file = (
                pl.format("{} of {}", by, pl.lit(file)) if len(models[at]) > 1 else pl.lit(file)
            )
            frames[at] = frames[at].with_columns(of_file.alias(by))
    return replace(
        first,
        frame=pl.concat(frames, how="diagonal_relaxed"),
        name=f"{first.name} and {second.name}",
        fields=None,
        dropped=merge_dropped(first.dropped, second.dropped),
    )


def _of_judge(table: Table, column: str, judge: str | None, by: str) -> Table:
    """The rows of one judge; several on the same rows are refused if none is named."""
    frame = table.frame
    judges = _values(table, column)
    if judge is None:
        answer = [c for c in {"id", by, "metric", "criterion", "repeat"} if c in frame.columns]
        several = len(judges) > 1 and "id" in answer
        if several and frame.select(answer).is_duplicated().any():
            problem = f"has {len(judges)} judges: {shorten(judges, 5)}"
            remedy = "name one: --judge NAME (judge=); to compare them: --judges"
            raise DataError(table.name, problem, column="judge", remedy=remedy)
        return table
    if judge not in judges:
        choice = (
            f"choose one of {shorten(judges)}" if judges else "the rows do not name their judge"
        )
        raise ArgumentError("judge", judge, choice)
    rows = tidy(frame[column], table.name, column) == judge
    return replace(table, frame=frame.filter(rows), fields=None)


def _name_answers(table: Table, labels: Table | None, by: str) -> tuple[Table, Table | None]:
    """Rows and labels with an id for each answer: an id that systems share names the question."""
    frame = table.frame
    if "id" not in frame.columns and labels is not None:
        raise DataError(table.name, "is missing", column="id", remedy=GIVE_IDS)
    apart = [by]
    if by != "metric" and "metric" in frame.columns and frame["metric"].n_unique() > 1:
        apart.append("metric")
    # A row that is there again is one answer: it is counted where rows are read.
    shared = (
        "id" in frame.columns and not frame.select("id", *apart).unique()["id"].is_unique().all()
    )
    named = _with_answer_ids(table, apart) if shared else table
    if labels is None:
        return named, None
    # What --write-ids wrote has the ids of answers.
    if "id" in labels.frame.columns:
        answers = as_text(named.frame["id"])
        ids = as_text(labels.frame["id"])
        if ids.str.starts_with(_BLIND).any():
            ids = ids.replace(dict(zip(blind_ids(answers), answers, strict=True)))
            labels = replace(labels, frame=labels.frame.with_columns(ids), fields=None)
        if ids.is_in(answers.implode()).any():
            return named, labels
    absent = [name for name in ("id", *apart) if name not in labels.frame.columns]
    if shared and absent:
        problem = "ids name questions that several systems answered"
        needed = " and ".join(absent)
        remedy = f"add the column {needed} to the labels, or give each answer its own id"
        raise DataError(labels.name, problem, column="id", remedy=remedy)
    return named, _with_answer_ids(labels, apart) if shared else labels


def blind_ids(ids: pl.Series) -> list[str]:
    """Ids of answers that do not name their system, for people who label; always the same.

    >>> blind_ids(pl.Series(["q1 of base"]))
    ['answer-a28c158fec75']
    """
    digests = (hashlib.sha256(text.encode()).hexdigest() for text in ids.fill_null(""))
    return [f"{_BLIND}{digest[:12]}" for digest in digests]


def _with_answer_ids(table: Table, apart: Sequence[str]) -> Table:
    frame = table.frame
    ids = as_text(table.frame["id"])
    parts = [ids, *(tidy(frame[column], table.name, column) for column in apart)]
    answers = pl.select(pl.concat_str(parts, separator=_OF)).to_series()
    named = frame.with_columns(ids.alias(QUESTION), answers.alias("id"))
    return replace(table, frame=named, fields=None)


def _name_sides(table: Table, a: str | None, b: str | None) -> tuple[Table, tuple[str, str]]:
    """Judgments of pairs, and the two systems; without names of models the sides A and B."""
    frame = table.frame
    if len(recognise(frame.columns, "judgments", ["model_a", "model_b"])) < 2:
        if a is not None or b is not None:
            remedy = "the pairs have no model_a and model_b: leave out a and b to compare the sides"
            raise ArgumentError("a" if a is not None else "b", a or b, remedy)
        frame = frame.with_columns(pl.lit("A").alias("model_a"), pl.lit("B").alias("model_b"))
        return replace(table, frame=frame, fields=None), ("A", "B")
    if a is None and b is None and {"model_a", "model_b"} <= set(frame.columns):
        models = _values(table, "model_a", "model_b")
        a, b = models if len(models) == 2 else (None, None)
    if a is None or b is None:
        remedy = "name two systems: --a NAME --b NAME (a=, b=); for all of them: adjudge rank"
        raise DataError(table.name, "has pairs of several systems", column="model_a", remedy=remedy)
    return table, (a, b)


def _of_sides(rows: Rows, sides: tuple[str, str]) -> Rows:
    """A row of each side: B has the share that prefers B, A the rest; B - A is in [-1, 1]."""
    opponents = rows.frame["opponent"].drop_nulls().unique().sort().to_list()
    if sides[0] not in opponents:
        raise ArgumentError("a", sides[0], f"{sides[1]} was compared with {shorten(opponents)}")
    ids = pl.col("id") if "id" in rows.frame.columns else pl.int_range(pl.len())
    pairs = Rows(rows.frame.with_columns(ids.cast(pl.String).alias(QUESTION)), rows.dropped)
    pairs = pairs.without(pl.col("opponent").ne_missing(sides[0]), "pair with another system")
    rest = [(1 - pl.col(column)).alias(column) for column in ("__judge", "__human")]
    other_side = pl.col("__side").replace({"A": "B", "B": "A"})
    first = pairs.frame.with_columns(*rest, other_side, pl.lit(0).alias("__system"))
    second = pairs.frame.with_columns(pl.lit(1).alias("__system"))
    return Rows(pl.concat([first, second]), pairs.dropped)


# --- the table -------------------------------------------------------------------------------


def tabulate(
    frame: pl.DataFrame, names: Sequence[str], cluster: str | None, measure: Measure, **rest: Any
) -> Systems:
    """One number for each question and system: the mean of its rows (columns with __)."""
    systems = frame["__system"].to_numpy()
    values = frame["__judge"].to_numpy()
    labels = frame["__human"].to_numpy()
    key = _question_column(frame, systems)
    numbers = pl.int_range(1, frame.height + 1, eager=True)
    keys = as_text(numbers if key is None else frame[key])
    codes = code_clusters(keys)
    size = int(codes.max(initial=-1)) + 1, len(names)
    judge, most = _means(values, codes, systems, size)
    first = np.unique(codes, return_index=True)[1].tolist()
    column = _cluster_name(frame, cluster, key)
    whole = (0.0, 0.5, 1.0) if measure == "preferences" else (0.0, 1.0)
    single = most <= 1 and measure in ("verdicts", "preferences", "agreement")
    keys = keys.fill_null("")
    here = set(frame.columns)
    columns = {
        "question": keys,
        "system": pl.Series(names, dtype=pl.String).gather(systems),
        "id": as_text(frame["id"]) if "id" in here else keys,
        "cell": codes * len(names) + systems,
        "human": labels,
        "side": frame["__side"] if "__side" in here else None,
    }
    texts = {column: frame[column] for column in _TEXTS if column in here}
    accepted = as_text(frame["accepted"]) if "accepted" in here else pl.Series([""])
    people = labels[~np.isnan(labels)]
    return Systems(
        names=tuple(names),
        judge=judge,
        human=_means(labels, codes, systems, size)[0],
        questions=tuple(keys.gather(first).to_list()),
        clusters=None if column is None else code_clusters(frame[column][first]),
        paired_by="id" if key == QUESTION else key,
        clustered_by=column,
        measure=measure,
        zero_one=single and bool(np.isin(values, whole).all()),
        people_zero_one=most <= 1 and measure != "scores" and bool(np.isin(people, whole).all()),
        answers=pl.DataFrame({**columns, **texts}),
        all_accepted=accepted.str.to_lowercase().is_in(["true", "1"]).all(),
        **rest,
    )


def _means(
    values: FloatArray, codes: IntArray, systems: IntArray, size: tuple[int, int]
) -> tuple[FloatArray, int]:
    """The mean of each question and system, NaN if it has no value; the most rows of one."""
    filled = ~np.isnan(values)
    cells = codes[filled] * size[1] + systems[filled]
    total = size[0] * size[1]
    counts = np.bincount(cells, minlength=total)
    sums = np.bincount(cells, weights=values[filled], minlength=total)
    means = np.divide(sums, counts, out=np.full(total, np.nan), where=counts > 0)
    return means.reshape(size), int(counts.max(initial=0))


def of_clusters(values: FloatArray, rows: IntArray, kind: BoolArray) -> FloatArray:
    """A number of each cluster and system, of which the mean is that of the clusters' questions.

    t + w (S - t n)/k, with S the sum of its n questions, t the mean of all questions, k the
    questions per cluster and w its pull (`pulls`), less the mean of these: a mean of cluster means
    would be one of other questions where longer clusters differ. Clusters with and without labels
    (`kind`) have a t, a k and a w each. `values` has a line for each question, `rows` its cluster.
    """
    filled = ~np.isnan(values)
    sums = np.zeros((len(kind), values.shape[1]))
    counts = np.zeros_like(sums)
    np.add.at(sums, rows, np.where(filled, values, 0.0))
    np.add.at(counts, rows, filled)
    numbers = np.full_like(sums, np.nan)
    for clusters in (kind, ~kind):
        n = counts[clusters]
        total = n.sum(axis=0)
        per_cluster = total / np.maximum((n > 0).sum(axis=0), 1)
        mean = sums[clusters].sum(axis=0) / np.maximum(total, 1)
        pull = pulls(rows, clusters[rows])[clusters]
        apart = pull[:, None] * (sums[clusters] - mean * n) / np.maximum(per_cluster, 1)
        centre = apart.sum(axis=0) / np.maximum((n > 0).sum(axis=0), 1)
        numbers[clusters] = np.where(n > 0, mean + apart - centre, np.nan)
    return numbers


def _question_column(frame: pl.DataFrame, systems: IntArray) -> str | None:
    """The column by which answers of different systems are paired; None if they share none."""
    best = None
    most = 0
    for column in _QUESTIONS:
        if column not in frame.columns or frame.schema[column].is_nested():
            continue
        keys = pl.DataFrame({"key": as_text(frame[column]), "system": systems}).drop_nulls()
        answered = keys.group_by("key").agg(pl.col("system").n_unique())
        shared = int((answered["system"] > 1).sum())
        if shared > most:
            best = column
            most = shared
    return best


def _cluster_name(frame: pl.DataFrame, cluster: str | None, key: str | None) -> str | None:
    """The column of questions that belong together: as named, else prompt_id or doc_id."""
    if cluster is not None:
        return None if cluster in ("none", key) else _named(frame, "cluster", cluster)
    usual = (c for c in (*DEFAULT_CLUSTERS, "doc_id") if c in frame.columns and c != key)
    return next((c for c in usual if key is not None and has_values(frame, c)), None)
