"""The answers of systems to the same questions, as a table (questions, systems), for `compare`.

Grades, probabilities, scores, judgments of pairs, one file or two: each becomes the judge's number
and, for some, people's number of every system on every question. What cannot be paired is counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Unpack

import numpy as np
import polars as pl

from adjudge.data.formats import kinds_of
from adjudge.data.grades import Grades, load_grades, prepare_grades
from adjudge.data.names import GIVE_IDS, recognise, shorten
from adjudge.data.rows import code_clusters, code_column, has_values, merge_dropped, tidy
from adjudge.data.scores import prepare_scores, read_scores
from adjudge.data.source import Reading, Source, open_table, open_values
from adjudge.data.tables import Table, TableLike, as_text
from adjudge.errors import ArgumentError, DataError
from adjudge.validation import FloatArray, IntArray

#: What the numbers are: verdicts of 0 and 1, probabilities, scores, or preferences between pairs.
Measure = Literal["verdicts", "probabilities", "scores", "preferences"]
_MEASURES: Mapping[str, Measure] = {
    "binary": "verdicts",
    "probability": "probabilities",
    "scores": "scores",
}
#: Columns that can name a question; of those that systems share most values of, the first.
_QUESTION = "__question"
_QUESTIONS = (_QUESTION, "prompt_id", "doc_id", "prompt")
_ONE_SIDE = "question that one system alone answered"
_HALF_LABELLED = "question labelled for one system alone: its label is not used"
#: Between an id and a system, where an id alone names only the question.
_OF = " of "


@dataclass(frozen=True, kw_only=True)
class Systems:
    """The judge's and people's numbers (questions, systems), NaN if there is none.

    `zero_one`: every number is one verdict of 0 or 1 (of preferences: no probability), so that
    differences are -1, 0 or 1. `paired_by` is the column of questions, None if systems share none.
    `clusters` are codes of questions that belong together. `drawn_at_random` is true if every label
    is recorded as drawn at random.
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
    measure: Measure
    zero_one: bool
    people_zero_one: bool
    #: The id of each answer: question, system, id.
    answers: pl.DataFrame
    drawn_at_random: bool = False
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, int]

    @property
    def bound(self) -> float:
        """The largest difference that there can be."""
        return math.inf if self.measure == "scores" else 1.0

    def at(self, name: str, option: str) -> int:
        """The column of a system, by its name."""
        if name not in self.names:
            raise ArgumentError(option, name, f"choose one of {shorten(sorted(self.names))}")
        return self.names.index(name)

    def answer_ids(self, question: str, systems: Sequence[str]) -> tuple[str, ...]:
        """The ids of these systems' answers to a question; of its pair if pairs were judged."""
        here = (pl.col("question") == question) & pl.col("system").is_in(list(systems))
        return tuple(self.answers.filter(here)["id"].to_list())

    def collapse(self) -> Systems:
        """Questions of one cluster as one, with the means of their numbers."""
        if self.clusters is None or len(np.unique(self.clusters)) == len(self.clusters):
            return self
        size = int(self.clusters.max()) + 1, len(self.names)
        rows = np.repeat(self.clusters, size[1])
        columns = np.tile(np.arange(size[1]), len(self.judge))
        numbers = (self.judge, self.human)
        judge, human = (_means(values.ravel(), rows, columns, size)[0] for values in numbers)
        return replace(
            self, judge=judge, human=human, clusters=None, zero_one=False, people_zero_one=False
        )

    def differences(self, a: str, b: str) -> Differences:
        """B minus A on each question that both answered; on each cluster if there are clusters."""
        if a == b:
            raise ArgumentError("b", b, "name two different systems")
        columns = [self.at(a, "a"), self.at(b, "b")]
        judge, human = self.judge[:, columns], self.human[:, columns]
        here = ~np.isnan(judge)
        both = here.all(axis=1)
        half = both & (np.isnan(human).sum(axis=1) == 1)
        alone = int((here.any(axis=1) & ~both).sum()) if self.paired_by is not None else 0
        d, h = (numbers[both, 1] - numbers[both, 0] for numbers in (judge, human))
        rows, zero_one, at = len(d), self.zero_one, np.flatnonzero(both)
        codes = np.arange(rows) if self.clusters is None else self.clusters[both]
        if len(np.unique(codes)) < rows:
            # A labelled cluster counts with its labelled questions: judge and people see the same.
            used = ~np.isnan(h) | ~np.isin(codes, codes[~np.isnan(h)])
            _, first, codes = np.unique(codes[used], return_index=True, return_inverse=True)
            size = (len(first), 1)
            d, h = (_means(v[used], codes, 0 * codes, size)[0][:, 0] for v in (d, h))
            at, zero_one = at[used][first], False
        return Differences(
            a=a,
            b=b,
            judge=d,
            human=h,
            questions=tuple(self.questions[place] for place in at),
            rows=rows,
            zero_one=zero_one,
            people_zero_one=self.people_zero_one and zero_one,
            sides=(judge[here[:, 0], 0], judge[here[:, 1], 1]),
            dropped=merge_dropped(
                self.dropped, {_ONE_SIDE: alone, _HALF_LABELLED: int(half.sum())}
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Differences:
    """B minus A by the judge, and by people (NaN: no label), per question.

    `sides` are the judge's numbers of A and of B on all questions that each of them answered;
    `rows` the paired questions before those of one cluster were averaged.
    """

    a: str
    b: str
    judge: FloatArray
    human: FloatArray
    questions: tuple[str, ...]
    rows: int
    zero_one: bool
    people_zero_one: bool
    sides: tuple[FloatArray, FloatArray]
    dropped: Mapping[str, int]


# --- reading ---------------------------------------------------------------------------------


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
    with Source(data, labels=labels, others={"other": other}, **reading) as source:
        table, given = open_table(source.rows), source.labels
        if "battles" in (table.kind, table.format):
            remedy = "battles are ranked: adjudge rank; for two of them give judgments of pairs"
            raise DataError(table.name, "has battles", remedy=remedy)
        if _is_judged_pairs(table):
            if other is not None:
                remedy = "judgments of pairs hold both systems: give one file"
                raise ArgumentError("other", str(other), remedy)
            table = _of_judge(table, "judge", judge, by)
            rows, names = _preferences(table, given, a, b, judge_column, model_labels)
            return _by_slice(rows, within, cluster, names=names)
        tables = [table] if other is None else [table, open_table(source.other("other"))]
        tables = [_as_grades(t, given, (judge_column, human_column), within) for t in tables]
        table = tables[0] if other is None else _join_runs(tables, by)
        if by not in table.frame.columns:
            remedy = "name the systems' column: --by COLUMN (by=), or give two files"
            raise DataError(table.name, "is missing", column=by, remedy=remedy)
        table = _of_judge(table, "judge_name", judge, by)
        # Labels of scores are joined already, all raters.
        opened = None if given is None or table.format == "scores" else open_values(given)
        table, opened = _name_answers(table, opened, by, within)
        rows = prepare_grades(
            table,
            labels=opened,
            by=by,
            cluster="none",
            judge_column=judge_column,
            human_column=human_column,
            positive=positive,
            needs_labels=False,
            model_labels=model_labels,
            scores=True,
        )
    if rows.scale == "classes":
        remedy = "name the class that counts as 1: --positive NAME (positive=)"
        problem = f"has the classes {shorten(rows.names, 5)}"
        raise DataError(rows.name, problem, column=judge_column, remedy=remedy)
    return _by_slice(rows, within, cluster)


def _is_judged_pairs(table: Table) -> bool:
    here = table.frame.columns
    if table.kind is not None:
        return table.kind == "judgments"
    return "judgments" in kinds_of(table.format) or (
        "judge_score" not in here and bool(recognise(here, "judgments", ["p_a", "p_fwd"]))
    )


def _as_grades(
    table: Table, labels: TableLike | None, columns: tuple[str, str], within: str | None
) -> Table:
    """Rows under our names; scores in the columns of grades."""
    if table.kind != "scores" and "scores" not in kinds_of(table.format):
        return replace(load_grades(table, *columns), kind="grades")
    human_column = columns[1]
    frame, dropped = read_scores(table) if labels is None else None, table.dropped
    if frame is None or has_values(frame, "human_scores"):
        prepared = prepare_scores(table, labels=labels)
        frame, dropped = prepared.frame, prepared.dropped
    remedy = "compare in each of them: --within criterion (within=), or keep the rows of one"
    _refuse_several(frame, table.name, "criterion", "criteria", within, remedy)
    frame = frame.drop(human_column, "human_score", "judge_name", strict=False)
    frame = frame.rename({"judge": "judge_name", "judge_score": "judge"})
    if "human_scores" in frame.columns:
        mean = pl.col("human_scores").list.mean().alias(human_column)
        frame = frame.with_columns(mean).drop("human_scores")
    return Table(frame=frame, name=table.name, kind="grades", format="scores", dropped=dropped)


def _refuse_several(
    frame: pl.DataFrame, name: str, column: str, many: str, within: str | None, remedy: str
) -> None:
    """Several metrics or criteria are compared in each of them, not together."""
    values = tidy(frame[column], name, column).drop_nulls().unique().sort().to_list()
    if len(values) > 1 and within != column:
        problem = f"has {len(values)} {many}: {shorten(values, 5)}"
        raise DataError(name, problem, column=column, remedy=remedy)


def file_names(names: Sequence[str]) -> list[str]:
    """Two files by their last names, else by their paths, else by their order."""
    paths = [Path(name) for name in names]
    choices = ([path.name for path in paths], [str(path) for path in paths], ["first", "second"])
    return next(pair for pair in choices if pair[0] != pair[1])


def _join_runs(tables: Sequence[Table], by: str) -> Table:
    """Two runs as one table; a run is named by its one model, or by its file."""
    first, second = tables
    models = []
    for table in tables:
        named = tidy(table.frame[by], table.name, by) if by in table.frame.columns else None
        values = [] if named is None else named.drop_nulls().unique().to_list()
        models.append(values[0] if len(values) == 1 else None)
    by_file = None in models or models[0] == models[1]
    names = file_names([first.name, second.name]) if by_file else models
    if first.format != second.format and first.kind != second.kind:
        formats = " and ".join(str(table.format or "plain rows") for table in tables)
        remedy = "give two files of one kind"
        raise DataError(second.name, f"differs from {first.name}: {formats}", remedy=remedy)
    runs = zip(tables, names, strict=True)
    frames = [table.frame.with_columns(pl.lit(name).alias(by)) for table, name in runs]
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
    if column not in frame.columns:
        if judge is not None:
            raise ArgumentError("judge", judge, "the rows do not name their judge")
        return table
    names = tidy(frame[column], table.name, column)
    judges = names.drop_nulls().unique().sort().to_list()
    if judge is None:
        answer = [c for c in ("id", by, "metric", "criterion", "repeat") if c in frame.columns]
        several = len(judges) > 1 and "id" in answer
        if several and frame.select(*dict.fromkeys(answer)).is_duplicated().any():
            problem = f"has {len(judges)} judges: {shorten(judges, 5)}"
            remedy = "name one: --judge NAME (judge=); to compare them: --judges"
            raise DataError(table.name, problem, column="judge", remedy=remedy)
        return table
    if judge not in judges:
        raise ArgumentError("judge", judge, f"choose one of {shorten(judges)}")
    return replace(table, frame=frame.filter(names == judge), fields=None)


def _name_answers(
    table: Table, labels: Table | None, by: str, within: str | None
) -> tuple[Table, Table | None]:
    """Rows and labels with an id for each answer: an id that systems share names the question."""
    frame, name = table.frame, table.name
    if "id" not in frame.columns:
        if labels is not None:
            raise DataError(name, "is missing", column="id", remedy=GIVE_IDS)
        return table, None
    if not frame["id"].is_duplicated().any():
        return table, labels
    apart = [by]
    if "metric" in frame.columns:
        remedy = "compare in each of them: --within metric (within=), or keep one's rows"
        _refuse_several(frame, name, "metric", "metrics", within, remedy)
        apart.append("metric")
    if labels is not None and not {"id", by} <= set(labels.frame.columns):
        problem = "ids name questions that several systems answered"
        remedy = f"add the column {by} to the labels, or give each answer its own id"
        raise DataError(labels.name, problem, column="id", remedy=remedy)
    return _with_answer_ids(table, apart), labels and _with_answer_ids(labels, [by])


def _with_answer_ids(table: Table, apart: Sequence[str]) -> Table:
    frame, ids = table.frame, as_text(table.frame["id"])
    parts = [ids, *(tidy(frame[column], table.name, column) for column in apart)]
    answers = pl.select(pl.concat_str(parts, separator=_OF)).to_series()
    named = frame.with_columns(ids.alias(_QUESTION), answers.alias("id"))
    return replace(table, frame=named, fields=None)


def _preferences(
    table: Table,
    labels: TableLike | None,
    a: str | None,
    b: str | None,
    judge_column: str,
    model_labels: bool,
) -> tuple[Grades, tuple[str, str]]:
    """The share that prefers B, from judgments of pairs of the two; and the two names."""
    frame, name = table.frame, table.name
    if len(recognise(frame.columns, "judgments", ["model_a", "model_b"])) < 2:
        if a is not None or b is not None:
            remedy = "the pairs have no model_a and model_b: leave out a and b to compare the sides"
            raise ArgumentError("a" if a is not None else "b", a or b, remedy)
        frame = frame.with_columns(pl.lit("A").alias("model_a"), pl.lit("B").alias("model_b"))
        table = replace(table, frame=frame, fields=None)
        a, b = "A", "B"
    elif {"model_a", "model_b"} <= set(frame.columns):
        sides = [tidy(frame[column], name, column) for column in ("model_a", "model_b")]
        models = pl.concat([s.alias("model") for s in sides]).drop_nulls().unique().sort().to_list()
        if a is None and b is None and len(models) == 2:
            a, b = models
    if a is None or b is None:
        remedy = "name two systems: --a NAME --b NAME (a=, b=); for all of them: adjudge rank"
        raise DataError(name, "has pairs of several systems", column="model_a", remedy=remedy)
    rows = prepare_grades(
        table,
        labels=labels,
        model=b,
        judge_column=judge_column,
        cluster="none",
        model_labels=model_labels,
    )
    keep = (rows.frame["opponent"] == a).fill_null(False).to_numpy()
    if not keep.any():
        opponents = rows.frame["opponent"].drop_nulls().unique().sort().to_list()
        raise ArgumentError("a", a, f"{b} was compared with {shorten(opponents)}")
    lost = merge_dropped(rows.dropped, {"pair with another system": int((~keep).sum())})
    frame, said, people = rows.frame.filter(keep), rows.judge[keep], rows.human[keep]
    return replace(rows, frame=frame, judge=said, human=people, dropped=lost), (a, b)


def choose_two(systems: Systems, a: str | None, b: str | None) -> tuple[str, str]:
    """The two systems: as named; of two, those that are not named in the order of the file."""
    names = systems.names
    if len(names) < 2:
        raise ArgumentError("by", names[0], "the rows are of one system: give two")
    if (a is None or b is None) and len(names) > 2:
        option = "a" if a is None else "b"
        raise ArgumentError(option, None, f"name both: --a and --b, of {shorten(sorted(names))}")
    others = [name for name in names if name not in (a, b)]
    return a or others[0], b or others[-1]


# --- the table -------------------------------------------------------------------------------


def _by_slice(
    rows: Grades, within: str | None, cluster: str | None, names: tuple[str, str] | None = None
) -> dict[str | None, Systems]:
    if rows.sampling_probability is not None:
        column, problem = "sampling_probability", "labels were picked by a plan"
        remedy = "a difference needs labels of questions drawn at random"
        raise DataError(rows.name, problem, column=column, remedy=remedy)
    if within is None:
        return {None: _tabulate(rows, np.arange(len(rows.judge)), cluster, names)}
    if within not in rows.frame.columns:
        shown = shorten([column for column in rows.frame.columns if column != "id"])
        raise ArgumentError("within", within, f"choose a column: {shown}")
    codes, values = code_column(tidy(rows.frame[within], rows.name, within))
    return {
        value: _tabulate(rows, np.flatnonzero(codes == code), cluster, names)
        for code, value in enumerate(values)
        if value is not None
    }


def _tabulate(
    rows: Grades, at: IntArray, cluster: str | None, names: tuple[str, str] | None
) -> Systems:
    """One number for each question and system: the mean of its rows."""
    frame = rows.frame[at]
    if names is None:
        assert rows.groups is not None  # noqa: S101
        systems, names_of = rows.groups[at], rows.group_names
        key = _question_column(frame, systems)
    else:
        systems, names_of = np.ones(len(at), dtype=np.int64), names
        key = "id" if "id" in frame.columns else None
    texts = pl.Series([str(n + 1) for n in at.tolist()]) if key is None else as_text(frame[key])
    codes, keys = code_clusters(texts), texts.fill_null("")
    size = int(codes.max(initial=-1)) + 1, len(names_of)
    judge, most = _means(rows.judge[at], codes, systems, size)
    human, _ = _means(rows.human[at], codes, systems, size)
    if names is not None:
        # Column B is the share that prefers B, column A the rest: B - A is in [-1, 1].
        judge[:, 0], human[:, 0] = 1 - judge[:, 1], 1 - human[:, 1]
    first = np.unique(codes, return_index=True)[1].tolist()
    column = _cluster_name(frame, cluster, key)
    measure: Measure = "preferences" if names is not None else _MEASURES[rows.scale]
    whole = (0.0, 0.5, 1.0) if names is not None else (0.0, 1.0)
    single = most <= 1 and measure in ("verdicts", "preferences")
    labels = rows.human[at]
    return Systems(
        source=rows.name,
        names=tuple(names_of),
        judge=judge,
        human=human,
        questions=tuple(keys.gather(first).to_list()),
        clusters=None if column is None else code_clusters(frame[column][first]),
        paired_by="id" if key == _QUESTION else key,
        clustered_by=column,
        measure=measure,
        zero_one=single and bool(np.isin(rows.judge[at], whole).all()),
        people_zero_one=single and bool(np.isin(labels[~np.isnan(labels)], whole).all()),
        answers=pl.DataFrame(
            {
                "question": keys,
                "system": [names_of[code] for code in systems.tolist()],
                "id": as_text(frame["id"]) if "id" in frame.columns else keys,
            }
        ),
        drawn_at_random=rows.drawn_at_random,
        notes=rows.makers,
        dropped=rows.dropped,
    )


def _means(
    values: FloatArray, codes: IntArray, systems: IntArray, size: tuple[int, int]
) -> tuple[FloatArray, int]:
    """The mean of each question and system, NaN if it has no value; the most rows of one."""
    known = ~np.isnan(values)
    cells, total = codes[known] * size[1] + systems[known], size[0] * size[1]
    counts = np.bincount(cells, minlength=total)
    sums = np.bincount(cells, weights=values[known], minlength=total)
    means = np.divide(sums, counts, out=np.full(total, np.nan), where=counts > 0)
    return means.reshape(size), int(counts.max(initial=0))


def _question_column(frame: pl.DataFrame, systems: IntArray) -> str | None:
    """The column by which answers of different systems are paired; None if they share none."""
    best, most = None, 0
    for column in _QUESTIONS:
        if column not in frame.columns or frame.schema[column].is_nested():
            continue
        keys = pl.DataFrame({"key": as_text(frame[column]), "system": systems}).drop_nulls()
        answered = keys.group_by("key").agg(pl.col("system").n_unique())
        shared = int((answered["system"] > 1).sum())
        if shared > most:
            best, most = column, shared
    return best


def _cluster_name(frame: pl.DataFrame, cluster: str | None, key: str | None) -> str | None:
    """The column of questions that belong together: as named, else prompt_id or doc_id."""
    if cluster == "none":
        return None
    if cluster is not None:
        if cluster not in frame.columns:
            raise ArgumentError("cluster", cluster, f"choose a column: {shorten(frame.columns)}")
        return None if cluster == key else cluster
    usual = (c for c in ("prompt_id", "doc_id") if c in frame.columns and c != key)
    return next((c for c in usual if key is not None and has_values(frame, c)), None)
