"""Grades: a judge's verdict on every answer, a human label on some. Columns, checks, preparation.

`read_grades` is for guarantees: one checked row per id, judge and protocol. `prepare_grades` is for
rates and plans: verdicts and labels of any scale, as arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.columns import (
    FAILURES,
    TEXT_COLUMNS,
    UNNAMED,
    Column,
    Layout,
    each,
    missing_columns,
    rename_table,
    settle_status,
)
from adjudge.data.labels import join_values, note_model_labels, sampling_of
from adjudge.data.names import (
    AS_SAID,
    GRADE,
    LOG,
    PAIR,
    has_order_verdicts,
    plain_name,
    plain_word,
    read_grade_words,
    read_words,
    recognise,
    refuse_values,
    remark_names,
    shorten,
    usual_names,
)
from adjudge.data.outcomes import code_names
from adjudge.data.rows import (
    Rows,
    add_absent,
    cluster_column,
    code_clusters,
    code_column,
    distinct_rows,
    fill_status,
    fill_uncertainty,
    first_repeats,
    is_learned,
    measured,
    merge_dropped,
    once_per_judge,
    pass_by_share,
    pass_or_fail,
    tidy,
)
from adjudge.data.scores import scores_by_class
from adjudge.data.source import Needs, Reading, Source, open_table
from adjudge.data.tables import Table, TableLike, as_text, labels_as_of, source_name
from adjudge.errors import ArgumentError, DataError
from adjudge.records import STATUSES
from adjudge.validation import FloatArray, IntArray

#: The rows of `estimate`: any verdicts and labels. Ids are needed only to join labels.
BINARY_COLUMNS = Layout(
    "binary",
    Column(name="id", filled=True),
    *each("judge", "human", "judge_name", "prompt_id"),
    *TEXT_COLUMNS,
    one_of=("judge", "p_pass"),
    unlike=("judgments", "scores", "tournaments"),
)
GRADE_COLUMNS = Layout(
    "grades",
    Column(name="id", required=True, filled=True),
    *each("judge_name", "protocol"),
    Column(name="repeat", type="whole", low=0),
    Column(name="judge", answer=True),
    Column(name="human"),
    Column(name="status", choices=STATUSES),
    Column(name="p_pass", type="number", low=0, high=1, answer=True),
    Column(name="uncertainty", type="number", answer=True),
    Column(name="answer_mass", type="number", low=0, high=1),
    *each("judge_fingerprint", "server"),
    Column(name="tokens", type="whole", low=0),
    Column(name="cost", type="number", low=0),
    *each("detail", "prompt_id"),
    *TEXT_COLUMNS,
    apart=("judge_name", "protocol", "repeat"),
)


def are_grades(columns: Collection[str]) -> bool:
    """Whether a table with these columns has grades of single answers, not verdicts on pairs.

    >>> are_grades(["id", "p_pass"]), are_grades(["id", "judge", "human", "p_a"])
    (True, False)
    """
    here = list(columns)
    if recognise(here, "judgments", ["p_a", "p_fwd"]) or has_order_verdicts(here):
        return False
    known = recognise(here, "grades", ["p_pass", "judge", "human"])
    return "p_pass" in known or {"judge", "human"} <= known


def names_sides(table: Table) -> bool:
    """Whether the verdicts of a file without p_pass name one of two answers, as A and B do."""
    usual = {"verdict", *usual_names("judge", "grades")}
    here = [name for name in table.frame.columns if plain_name(name) in usual]
    if not here or "p_pass" in table.frame.columns:
        return False
    words = as_text(table.frame[here[0]]).drop_nulls().unique()
    sides = read_words(words, PAIR, table.labels_as).is_in(["A", "B", "tie"]).all()
    # 1 is the first answer, or a pass.
    return sides and not any(plain_word(word) in GRADE.words for word in words)


def verdicts_in_status(table: Table) -> Table:
    """The table with its column status as the judge's verdict, if it says pass and fail.

    A word for a failure can be among them. If the file has another verdict, status is not read.
    """
    if table.frame.schema.get("status") != pl.String:
        return table
    status = table.frame["status"]
    words = {plain_word(word) for word in status.drop_nulls().unique()} - FAILURES.keys()
    if not words or not words <= GRADE.words.keys():
        return table
    other = recognise(table.frame.columns, "grades", ["judge", "p_pass"])
    ours = "status_given" if other else "judge"
    if other:
        LOG.warning("%s: status says pass or fail, and is not read: %s is", table.name, min(other))
    else:
        remark_names(table.name, {"judge": "status"})
    return rename_table(table, {ours: "status"})


def read_grades(source: TableLike) -> pl.DataFrame:
    """Grades as a checked frame in the columns of judgments, one row per id, judge and protocol.

    `judge` is the judge's name here and `verdict` its verdict: pass above p_pass = 0.5, fail below;
    at exactly 0.5 there is none. `label` is the human label, from the column human (or label). A
    share of people other than 0 and 1 is refused: no verdict is right or wrong then. Without p_pass
    the verdict is the file's judge (0 or 1), and its doubt must be in the column uncertainty.
    Statuses are as in `read_judgments`.

    >>> rows = read_grades({"id": ["x"], "p_pass": [0.9], "human": [0]})
    >>> rows.select("judge", "p_pass", "verdict", "label").row(0)
    ('unnamed', 0.9, 'pass', 'fail')
    """
    name, labels_as = source_name(source), labels_as_of(source)
    frame = GRADE_COLUMNS.read(source)
    number = "p_pass" if "p_pass" in frame.columns else "uncertainty"
    if number not in frame.columns:
        remedy = "verdicts alone have no doubt: give p_pass, or judge and uncertainty"
        raise DataError(name, "is missing", column="p_pass", remedy=remedy)
    frame = _with_verdict(frame, name, labels_as)
    if "human" in frame.columns:
        frame = frame.rename({"label": "label_given"}, strict=False)
        people = pass_or_fail(frame["human"], name, labels_as)
        frame = frame.with_columns(people.alias("label"))
    frame = frame.drop("judge", strict=False).rename({"judge_name": "judge"}, strict=False)
    frame = add_absent(frame, ["judge", "protocol"], UNNAMED)
    frame = add_absent(frame, ["p_pass", "uncertainty"], dtype=pl.Float64)
    values, remedy = ["p_pass", "uncertainty", "verdict"], f"give {number}, or the status that fits"
    frame = fill_status(frame, name, number=number, values=values, remedy=remedy)
    if number == "p_pass":
        frame = fill_uncertainty(frame, name, probability=number)
    first = ["id", "judge", "protocol", "status", *values]
    return once_per_judge(frame, name).select(*first, pl.exclude(first))


def _with_verdict(frame: pl.DataFrame, source: str, labels_as: Mapping[str, str]) -> pl.DataFrame:
    """The verdict by p_pass if it is given, else by the file's judge; the two must agree."""
    said = pl.Series([None] * frame.height, dtype=pl.String)
    if "judge" in frame.columns:
        said = pass_or_fail(frame["judge"], source, labels_as)
    if "p_pass" not in frame.columns or is_learned(frame.columns):
        return frame.with_columns(said.alias("verdict"))
    derived = pass_by_share(frame["p_pass"])
    remedy = "1 needs p_pass above 0.5 and 0 below; at 0.5 there is none"
    bad = said.is_not_null() & said.ne_missing(derived)
    shown, problem = frame["p_pass"], "does not follow from p_pass = {}"
    refuse_values(shown, bad, problem, source=source, column="judge", remedy=remedy)
    return frame.with_columns(derived.alias("verdict"))


@dataclass(frozen=True, kw_only=True)
class Grades:
    """Columns of one length, rows without a verdict left out and counted.

    `scale` is the judge's scale: 0/1 (binary), probabilities, scores, or classes. For classes,
    `verdicts` and `labels` are codes into `names` (-1: no label). Otherwise `judge` and `human` are
    numbers (NaN: no label), and `sampling_probability` has those of labels drawn by a plan (None:
    there are none). `drawn_at_random` is true if every label is recorded as random (`sampled_by`).
    `by` names the column of the groups. Codes of `groups` and `strata` are into their names;
    `clusters` are codes.
    """

    frame: pl.DataFrame
    name: str
    scale: Scale
    judge: FloatArray
    human: FloatArray
    sampling_probability: FloatArray | None
    drawn_at_random: bool
    verdicts: IntArray
    labels: IntArray
    names: tuple[str, ...]
    by: str | None
    groups: IntArray | None
    group_names: tuple[str, ...]
    strata: IntArray | None
    strata_names: tuple[str, ...]
    clusters: IntArray | None
    dropped: Mapping[str, int]
    #: The note about labels that a model made, if they are allowed.
    makers: tuple[str, ...] = ()
    #: The model whose wins these are, if they were judgments of pairs.
    wins_of: str | None = None


def prepare_grades(
    data: TableLike | Source | Grades | None = None,
    *,
    judge: ArrayLike | None = None,
    human: ArrayLike | None = None,
    labels: TableLike | None = None,
    by: str | ArrayLike | None = None,
    cluster: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    sampling_probability: ArrayLike | None = None,
    model: str | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    needs_labels: bool = True,
    model_labels: bool = False,
    scores: bool = False,
    paired: bool = False,
    **reading: Unpack[Reading],
) -> Grades:
    """Grades from a table (path, polars, pandas, dict) or from the arrays `judge` and `human`.

    Options as in `estimate`, which accepts the result instead of a file. A row without a verdict,
    group or stratum is left out and counted; one without a cluster value is a cluster of one. A log
    of another tool is read as grades, or as pairs whose verdicts and labels are classes. With
    `needs_labels=False`, a table without the column of labels counts as unlabelled. With `scores`,
    numbers outside [0, 1] are scores, not classes. With `paired`,
    groups are compared: a prompt that two groups share is a cluster by default. With `model`, a
    table of judgments of pairs is read from the side of that model (see `read_wins`). In a table of
    grades, rows without a usable score are counted by their status; if there is p_pass and no
    judge, p_pass is read.

    >>> rows = prepare_grades({"judge": [1, 0, None], "human": [1, None, None]})
    >>> rows.scale, rows.judge.tolist(), rows.dropped
    ('binary', [1.0, 0.0], {'no judge verdict': 1})
    """
    source = Source.of(data, labels=labels, **reading)
    if (done := source.prepared(Grades, prepare_grades, locals())) is not None:
        return done
    renamed = {judge_column, human_column} - {"judge", "human"}
    # The column `opponent` is made from the model names.
    groups = None if model is not None and isinstance(by, str) and by == "opponent" else by
    named = (groups, cluster, strata, *renamed, *source.columns.values())
    kinds = ("binary", "grades") if model is None else ("judgments",)
    # Labels of another file can be matched by text.
    with source.narrow(Needs(kinds, named, texts=labels is not None)):
        if model is not None:
            from adjudge.data.judgments import read_wins

            if source.rows is None or positive is not None:
                raise ArgumentError("model", model, "give a table of judgments, without positive")
            table = read_wins(source, model, judge_column=judge_column)
            judge_column, human_column = "judge", "human"
        else:
            table = _table(source, judge, human, judge_column, human_column, rounded=not scores)
        words = table.labels_as
        frame, name = table.frame, table.name
        if table.kind == "judgments":
            # Pairs from a log: the shares of A, B and tie are estimated.
            judge_column = "verdict" if judge_column == "judge" else judge_column
            human_column = "label" if human_column == "human" else human_column
        if judge_column == "judge" and "judge" not in frame.columns and "p_pass" in frame.columns:
            judge_column = "p_pass"
        apart = [option for option in (by, strata) if isinstance(option, str)]
        first = first_repeats(distinct_rows(Rows(frame, table.dropped), name, apart=apart))
        frame = first.frame
        grouped = by if isinstance(by, str) else None
        if grouped not in ("metric", "criterion"):
            scored = table.format == "scores"
            column, many = ("criterion", "criteria") if scored else ("metric", "metrics")
            what = "mean" if scored else "rate"
            remedy = f"estimate a {what} for each: --by {column} (by=), or keep the rows of one"
            _refuse_several(frame, name, column, f"{{}} {many}", remedy)
        if grouped not in ("judge_name", "metric", "criterion"):
            remedy = "name two or more of them (estimate --judge), or keep the rows of one"
            _refuse_several(frame, name, "judge_name", "verdicts of {} judges on one id", remedy)
        if not needs_labels:
            frame = add_absent(frame, [human_column])
        lost = first.dropped
        if words and human_column in frame.columns:
            own_labels = tidy(frame[human_column], name, human_column)
            frame = frame.with_columns(read_words(own_labels, AS_SAID, words))
        if source.labels is not None and model is None:
            _require(frame, name, {"judge": judge_column}, source.columns)
            joined = join_values(frame, source.labels, column=human_column, source=name)
            frame, lost = joined.frame, merge_dropped(lost, joined.dropped)
    people = frame[human_column] if human_column in frame.columns else pl.Series(dtype=pl.String)
    used = [] if people.dtype.is_nested() else as_text(people).drop_nulls().unique().to_list()
    answers = [judge_column, "p_pass"]
    frame = settle_status(frame, name, answers, classes=used, labels_as=words)
    own = frame.columns
    if cluster is None or (isinstance(cluster, str) and cluster == "none"):
        within = [by] if isinstance(by, str) and by in own and not paired else []
        cluster = cluster_column(frame, "auto" if cluster is None else None, within=within)
    frame, roles = _with_arrays(
        frame, by=by, cluster=cluster, strata=strata, sampling_probability=sampling_probability
    )
    needed = {"judge": judge_column, "human": human_column, **roles}
    _require(frame, name, needed, source.columns)
    chance = roles.pop("sampling_probability", "sampling_probability")
    labelled = tidy(frame[human_column], name, human_column)
    makers = note_model_labels(frame, labelled, name, allowed=model_labels)
    drawn = sampling_of(frame, labelled, name, probability=chance)
    frame = frame.with_columns(
        drawn.labels.alias("__label"), drawn.probability.alias("__chance")
    ).with_row_index("__row")
    rows = _complete(Rows(frame, lost), name, {"verdict": judge_column, **roles}, words)
    kept = rows.frame
    verdict, label = kept["__verdict"], kept["__label"]
    if positive is not None:
        verdict, label = against_the_rest(verdict, label, positive, name, judge_column)
    else:
        verdict, label = (read_grade_words(values) for values in (verdict, label))
    named_columns = (judge_column, human_column)
    lines = kept["__row"].to_numpy()
    native = scores and table.format == "scores"
    scale = scale_of(verdict, label, name, named_columns, lines, scores=scores, native=native)
    chances = kept["__chance"]
    names: tuple[str, ...] = ()
    verdicts = codes = np.empty(0, dtype=np.int64)
    said = known = np.empty(0)
    if scale == "classes":
        if (kept["__chance"].is_not_null() & label.is_not_null()).any():
            problem = "labels picked by a plan are for verdicts of 0 and 1"
            remedy = "name the class that counts as 1: --positive NAME (positive=)"
            raise DataError(name, problem, column="sampling_probability", remedy=remedy)
        names, verdicts, codes = as_classes(verdict, label, name, judge_column)
    else:
        said, known = as_numbers(verdict), as_numbers(label)
    groups, group_names = code_column(kept["__by"]) if "by" in roles else (None, ())
    layers, layer_names = code_column(kept["__strata"]) if "strata" in roles else (None, ())
    return Grades(
        frame=kept.select(own),
        name=name,
        scale=scale,
        judge=said,
        human=known,
        sampling_probability=None if chances.is_null().all() else as_numbers(chances),
        drawn_at_random=_drawn_at_random(kept, label, name),
        verdicts=verdicts,
        labels=codes,
        names=names,
        by="by" if "by" in roles and not isinstance(by, str) else roles.get("by"),
        groups=groups,
        group_names=group_names,
        strata=layers,
        strata_names=layer_names,
        clusters=code_clusters(kept["__cluster"]) if "cluster" in roles else None,
        dropped=merge_dropped(rows.dropped, drawn.dropped),
        makers=makers,
        wins_of=model,
    )


def _refuse_several(frame: pl.DataFrame, name: str, column: str, what: str, remedy: str) -> None:
    """Rows of one id by several judges or metrics: one rate of them has no meaning."""
    if not {"id", column} <= set(frame.columns) or frame["id"].is_unique().all():
        return
    values = tidy(frame[column], name, column).drop_nulls().unique().sort().to_list()
    if len(values) > 1:
        problem = f"has {what.format(len(values))}: {shorten(values, 5)}"
        raise DataError(name, problem, column=column, remedy=remedy)


def _drawn_at_random(frame: pl.DataFrame, labels: pl.Series, name: str) -> bool:
    """Whether there are labels and each is recorded as drawn at random."""
    if "sampled_by" not in frame.columns or labels.null_count() == len(labels):
        return False
    how = tidy(frame["sampled_by"], name, "sampled_by").filter(labels.is_not_null())
    return bool((how == "random").fill_null(False).all())


def _table(
    source: Source,
    judge: ArrayLike | None,
    human: ArrayLike | None,
    judge_column: str,
    human_column: str,
    *,
    rounded: bool,
) -> Table:
    if source.rows is not None:
        if judge is not None or human is not None:
            raise ArgumentError("judge", "an array", "give a table or arrays, not both")
        return load_grades(source.rows, judge_column, human_column, rounded=rounded)
    if judge is None or human is None:
        raise ArgumentError("judge, human", None, "give both arrays, or a table")
    frame = pl.DataFrame([_series(judge_column, judge)])
    frame = _add_array(frame, human_column, human, human_column)
    return Table(frame=frame, name="the arrays judge and human", labels_as=source.labels_as)


def load_grades(
    data: TableLike, judge_column: str, human_column: str, *, rounded: bool = True
) -> Table:
    """The rows of a table, with our names for verdicts and labels unless their columns are named.

    Rows of a log already have our names. People's mean scores can be `rounded` to classes.
    """
    table = open_table(data)
    if table.kind is not None:
        return table
    native = (judge_column, human_column) == ("judge", "human")
    if native and table.format == "scores" and "human" not in table.frame.columns:
        return scores_by_class(table, rounded=rounded)
    if judge_column == "judge":
        table = verdicts_in_status(table)
    here = {"judge": judge_column, "human": human_column}
    as_is = {ours: their for ours, their in here.items() if ours != their}
    return replace(table, frame=BINARY_COLUMNS.load(table, as_is=as_is), fields=None)


def _with_arrays(
    frame: pl.DataFrame, **given: str | ArrayLike | None
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The column of each given option; an array becomes a column of the table."""
    columns: dict[str, str] = {}
    for option, value in given.items():
        if isinstance(value, str):
            columns[option] = value
        elif value is not None:
            columns[option] = f"__{option}"
            frame = _add_array(frame, columns[option], value, option)
    return frame, columns


def _add_array(frame: pl.DataFrame, column: str, values: ArrayLike, option: str) -> pl.DataFrame:
    series = _series(column, values)
    if len(series) != frame.height:
        remedy = f"give one value for each of the {frame.height} rows"
        raise ArgumentError(option, len(series), remedy)
    return frame.with_columns(series)


def _complete(
    rows: Rows, name: str, columns: Mapping[str, str], labels_as: Mapping[str, str]
) -> Rows:
    """Rows with a verdict, a group and a stratum; each of `columns` cleaned, as `__` + its role."""
    frame = rows.frame.with_columns(
        tidy(rows.frame[column], name, column).alias(f"__{role}")
        for role, column in columns.items()
    )
    frame = frame.with_columns(read_words(frame["__verdict"], AS_SAID, labels_as))
    rows = Rows(frame, rows.dropped)
    for role in ("by", "strata"):
        if role in columns:
            out = pl.col("__verdict").is_not_null() & pl.col(f"__{role}").is_null()
            rows = rows.without(out, f"no {role} value")
    empty = pl.col("__verdict").is_null()
    rows = measured(rows, without=empty).without(empty, "no judge verdict")
    if rows.frame.height == 0:
        problem, remedy = "no row has a judge verdict", "give rows that the judge has answered"
        raise DataError(name, problem, column=columns["verdict"], remedy=remedy)
    return rows


def _series(name: str, values: ArrayLike) -> pl.Series:
    return pl.Series(name, np.asarray(values, dtype=object).tolist(), strict=False)


def _require(
    frame: pl.DataFrame, name: str, columns: Mapping[str, str], theirs: Mapping[str, str]
) -> None:
    named = {name: f"{column} (read as {name})" for name, column in theirs.items()}
    here = [named.get(name, name) for name in frame.columns if not name.startswith("__")]
    absent = [column for column in columns.values() if column not in frame.columns]
    if absent:
        second = ", or give a second file with people's labels: --labels FILE (labels=)"
        raise missing_columns(here, absent, name, instead=second * (columns.get("human") in absent))


Scale = Literal["binary", "probability", "scores", "classes"]
MOST_CLASSES = 12
#: Sums of the squares of larger numbers lose their digits, and overflow.
_LARGEST_SCORE = 1e12


def scale_of(
    verdict: pl.Series,
    label: pl.Series,
    name: str,
    columns: tuple[str, str],
    rows: IntArray,
    *,
    scores: bool = False,
    native: bool = False,
) -> Scale:
    """The scale of the columns of text; `rows` are their rows in the file, for the error.

    Labels of 0 and 1 can also be shares of people between them; the method decides if it can use
    them. Numbers outside [0, 1] are `scores` if these are wanted, else classes if they are whole.
    One such number among verdicts of 0 and 1 is a mistake, and not a score, unless the file is
    `native`, of the format of scores.
    """
    numbers = [s.cast(pl.Float64, strict=False) for s in (verdict, label)]
    if any(n.null_count() > s.null_count() for n, s in zip(numbers, (verdict, label), strict=True)):
        return "classes"
    numbers = [n.fill_nan(None) for n in numbers]
    if all(n.is_between(0, 1).all() for n in numbers):
        return "binary" if numbers[0].is_in([0.0, 1.0]).all() else "probability"
    if scores and all(n.is_between(-_LARGEST_SCORE, _LARGEST_SCORE).all() for n in numbers):
        above = [n.filter(~n.is_between(0, 1)) for n in numbers]
        several = above[0].n_unique() > 1 or not (numbers[0] == 0).any()
        often = several and 10 * len(above[0]) >= len(verdict)
        if native or (often and (len(above[1]) or label.null_count() == len(label))):
            return "scores"
    if all((n.is_finite() & (n == n.round())).all() for n in numbers):
        return "classes"
    outside = [~n.is_between(0, 1).fill_null(True) for n in numbers]
    side = 0 if outside[0].any() else 1
    at = int(outside[side].arg_true()[0])
    problem = f"{numbers[side][at]:g} is neither 0/1, a probability nor a class"
    remedy = "give 0 and 1, numbers in [0, 1], or class names (scores: adjudge diagnose scores)"
    raise DataError(name, problem, row=int(rows[at]) + 1, column=columns[side], remedy=remedy)


def as_numbers(values: pl.Series) -> FloatArray:
    """A column of text as numbers; NaN if empty."""
    return values.cast(pl.Float64).fill_null(np.nan).to_numpy()


def as_classes(
    verdict: pl.Series, label: pl.Series, name: str, column: str
) -> tuple[tuple[str, ...], IntArray, IntArray]:
    """The sorted values of both columns, and both as codes into them; -1: no label."""
    _refuse_other_words(verdict, label, name, column)
    names, verdicts, labels = code_names(verdict, label)
    if len(names) > MOST_CLASSES:
        remedy = f"give at most {MOST_CLASSES} classes; is this the right column?"
        raise DataError(name, f"has {len(names)} different values", column=column, remedy=remedy)
    return names, verdicts, labels


def against_the_rest(
    verdict: pl.Series, label: pl.Series, positive: str, name: str, column: str
) -> tuple[pl.Series, pl.Series]:
    """Both as 1 for `positive` and 0 for all others; numbers in [0, 1] with word labels are kept.

    They are the probability of `positive`, as p_a is that of label A.
    """
    said, known = ({*values.drop_nulls().unique()} for values in (verdict, label))
    if positive not in said | known:
        choices = shorten(sorted(said | known), 5)
        raise ArgumentError("positive", positive, f"choose one of {choices}")
    ones = [(s == positive).cast(pl.Int64).cast(pl.String).alias(s.name) for s in (verdict, label)]
    if positive in known and not said & known and _are_shares(verdict):
        return verdict, ones[1]
    _refuse_other_words(verdict, label, name, column)
    return ones[0], ones[1]


def _are_shares(values: pl.Series) -> bool:
    """Whether all are numbers in [0, 1]."""
    numbers = values.cast(pl.Float64, strict=False)
    return numbers.null_count() == values.null_count() and bool(numbers.is_between(0, 1).all())


def _refuse_other_words(verdict: pl.Series, label: pl.Series, name: str, column: str) -> None:
    """Refuse verdicts and labels without a common value, such as yes and no against 1 and 0."""
    said, known = ({*values.drop_nulls().unique()} for values in (verdict, label))
    if min(len(said), len(known)) > 1 and not said & known:
        meaning = ",".join(f"{word}=..." for word in sorted(known)[:3])
        remedy = f"give the meaning of each label in the judge's words: --labels-as '{meaning}'"
        if _are_shares(verdict):
            remedy += ", or name the label that a verdict of 1 means: --positive NAME (positive=)"
        words, theirs = (shorten(sorted(values), 5) for values in (said, known))
        problem = f"the judge says {words}, people say {theirs}: no value in common"
        raise DataError(name, problem, column=column, remedy=remedy)
