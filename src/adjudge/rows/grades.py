"""Grades: a judge's verdict on every row, a human label on some; prepared for rates and plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.errors import ArgumentError, DataError
from adjudge.io.binary import LAYOUT
from adjudge.io.columns import missing_columns
from adjudge.io.opening import name_columns, open_table
from adjudge.io.refusals import shorten
from adjudge.io.tables import Table, TableLike, labels_as_of
from adjudge.io.words import AS_SAID, read_grade_words, read_words
from adjudge.records import MEASURED, STATUSES
from adjudge.rows.clusters import cluster_column, code_clusters
from adjudge.rows.columns import code_column, refuse_options, tidy
from adjudge.rows.dropped import Rows, first_repeats, merge_dropped
from adjudge.rows.labels import join_values
from adjudge.rows.makers import count_model_labels, state_model_labels
from adjudge.rows.sampling import sampling_of
from adjudge.rows.scales import Classes, Scale, against_the_rest, as_classes, as_numbers, scale_of
from adjudge.rows.wins import read_wins
from adjudge.validation import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Grades:
    """Columns of one length, rows without a verdict left out and counted.

    `scale` is the judge's scale: 0/1 (binary), probabilities, or classes. For classes, `verdicts`
    and `labels` are codes into `names` (-1: no label). Otherwise `judge` and `human` are numbers
    (NaN: no label), and `sampling_probability` has those of labels drawn by a plan (None: there are
    none). `drawn_at_random` is true if every label is recorded as random (`sampled_by`). `by` names
    the column of the groups. Codes of `groups` and `strata` are into their names; `clusters` are
    codes.
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
    data: TableLike | Grades | None = None,
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
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    needs_labels: bool = True,
    model_labels: bool = False,
    paired: bool = False,
) -> Grades:
    """Grades from a table (path, polars, pandas, dict) or from the arrays `judge` and `human`.

    Options as in `estimate`, which accepts the result instead of a file. A row without a verdict,
    group or stratum is left out and counted; one without a cluster value is a cluster of one. A log
    of another tool is read as grades, or as pairs whose verdicts and labels are classes. With
    `needs_labels=False`, a table without the column of labels counts as unlabelled. With `paired`,
    groups are compared: a prompt that two groups share is a cluster by default. With `model`, a
    table of judgments of pairs is read from the side of that model (see `read_wins`). In a table of
    grades, rows without a usable score are counted by their status; if there is p_pass and no
    judge, p_pass is read.

    >>> rows = prepare_grades({"judge": [1, 0, None], "human": [1, None, None]})
    >>> rows.scale, rows.judge.tolist(), rows.dropped
    ('binary', [1.0, 0.0], {'no judge verdict': 1})
    """
    if isinstance(data, Grades):
        refuse_options(prepare_grades, locals())
        return data
    with name_columns(columns, labels_as) as named:
        data, labels = named(data), named(labels)
    if model is not None:
        if data is None or positive is not None:
            raise ArgumentError("model", model, "give a table of judgments, without positive")
        data = read_wins(data, model, labels=labels, judge_column=judge_column)
        judge_column, human_column, labels = "judge", "human", None
    words = dict(labels_as or {}) if data is None else labels_as_of(data)
    table = _table(data, judge, human, judge_column, human_column)
    frame, name = table.frame, table.name
    if table.kind == "judgments":
        # Pairs from a log: the shares of A, B and tie are estimated.
        judge_column = "verdict" if judge_column == "judge" else judge_column
        human_column = "label" if human_column == "human" else human_column
    if judge_column == "judge" and "judge" not in frame.columns and "p_pass" in frame.columns:
        judge_column = "p_pass"
    first = first_repeats(Rows(frame, table.dropped))
    frame = first.frame
    _refuse_several_metrics(frame, name, by)
    if not (isinstance(by, str) and by in ("judge_name", "metric")):
        _refuse_several_judges(frame, name)
    if not needs_labels and human_column not in frame.columns:
        frame = frame.with_columns(pl.lit(None, pl.String).alias(human_column))
    lost = first.dropped
    if words and human_column in frame.columns:
        own_labels = tidy(frame[human_column], name, human_column)
        frame = frame.with_columns(read_words(own_labels, AS_SAID, words))
    if labels is not None:
        joined = join_values(frame, labels, column=human_column, source=name)
        frame, lost = joined.frame, merge_dropped(lost, joined.dropped)
    own = frame.columns
    if cluster is None or (isinstance(cluster, str) and cluster == "none"):
        within = [by] if isinstance(by, str) and by in own and not paired else []
        cluster = cluster_column(frame, "auto" if cluster is None else None, within=within)
    frame, roles = _with_arrays(
        frame, by=by, cluster=cluster, strata=strata, sampling_probability=sampling_probability
    )
    _require(frame, name, {"judge": judge_column, "human": human_column, **roles})
    chance = roles.pop("sampling_probability", "sampling_probability")
    labelled = tidy(frame[human_column], name, human_column)
    by_model = count_model_labels(frame, labelled, name, allowed=model_labels)
    drawn = sampling_of(frame, labelled, name, probability=chance)
    frame = frame.with_columns(
        drawn.labels.alias("__label"), drawn.probability.alias("__chance")
    ).with_row_index("__row")
    rows = _complete(Rows(frame, lost), name, {"verdict": judge_column, **roles})
    kept = rows.frame
    verdict, label = read_words(kept["__verdict"], AS_SAID, words), kept["__label"]
    if positive is not None:
        verdict, label = against_the_rest(verdict, label, positive, name, judge_column)
    else:
        verdict, label = (read_grade_words(values) for values in (verdict, label))
    named_columns = (judge_column, human_column)
    scale = scale_of(verdict, label, name, named_columns, kept["__row"].to_numpy())
    chances = kept["__chance"]
    nothing = np.empty(0, dtype=np.int64)
    classes, said, known = Classes((), nothing, nothing), np.empty(0), np.empty(0)
    if scale == "classes":
        if (kept["__chance"].is_not_null() & label.is_not_null()).any():
            raise DataError(
                name,
                "labels picked by a plan are for verdicts of 0 and 1",
                column="sampling_probability",
                remedy="name the class that counts as 1: --positive NAME (positive=)",
            )
        classes = as_classes(verdict, label, name, judge_column)
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
        verdicts=classes.verdicts,
        labels=classes.labels,
        names=classes.names,
        by="by" if "by" in roles and not isinstance(by, str) else roles.get("by"),
        groups=groups,
        group_names=group_names,
        strata=layers,
        strata_names=layer_names,
        clusters=code_clusters(kept["__cluster"]) if "cluster" in roles else None,
        dropped=merge_dropped(rows.dropped, drawn.dropped),
        makers=state_model_labels(by_model),
        wins_of=model,
    )


def _refuse_several_metrics(frame: pl.DataFrame, name: str, by: object) -> None:
    """Rows of one id with several metrics measure different things, so one rate has no meaning."""
    by_metric = isinstance(by, str) and by == "metric"
    if by_metric or not {"id", "metric"} <= set(frame.columns):
        return
    metrics = tidy(frame["metric"], name, "metric").drop_nulls().unique().sort().to_list()
    if len(metrics) > 1 and not frame["id"].is_unique().all():
        raise DataError(
            name,
            f"has {len(metrics)} metrics: {shorten(metrics, 5)}",
            column="metric",
            remedy="estimate a rate for each: --by metric (by=), or keep the rows of one",
        )


def _refuse_several_judges(frame: pl.DataFrame, name: str) -> None:
    """Rows of one id by several judges are not separate rows: each label would count again."""
    if not {"id", "judge_name"} <= set(frame.columns) or frame["id"].is_unique().all():
        return
    judges = tidy(frame["judge_name"], name, "judge_name").drop_nulls().unique().sort().to_list()
    if len(judges) > 1:
        raise DataError(
            name,
            f"has verdicts of {len(judges)} judges on one id",
            column="judge_name",
            remedy="name two or more of them (estimate --judge), or keep the rows of one",
        )


def _drawn_at_random(frame: pl.DataFrame, labels: pl.Series, name: str) -> bool:
    """Whether there are labels and each is recorded as drawn at random."""
    if "sampled_by" not in frame.columns or labels.null_count() == len(labels):
        return False
    how = tidy(frame["sampled_by"], name, "sampled_by").filter(labels.is_not_null())
    return bool((how == "random").fill_null(False).all())


def _table(
    data: TableLike | None,
    judge: ArrayLike | None,
    human: ArrayLike | None,
    judge_column: str,
    human_column: str,
) -> Table:
    if data is not None:
        if judge is not None or human is not None:
            raise ArgumentError("judge", "an array", "give a table or arrays, not both")
        return load_grades(data, judge_column, human_column)
    if judge is None or human is None:
        raise ArgumentError("judge, human", None, "give both arrays, or a table")
    frame = _add_array(
        pl.DataFrame([_series(judge_column, judge)]), human_column, human, human_column
    )
    return Table(frame=frame, name="the arrays judge and human")


def load_grades(data: TableLike, judge_column: str, human_column: str) -> Table:
    """The rows of a table, with our names for verdicts and labels unless their columns are named.

    Rows of a log already have our names.
    """
    table = open_table(data)
    if table.kind is not None:
        return table
    here = {"judge": judge_column, "human": human_column}
    as_is = {ours: their for ours, their in here.items() if ours != their}
    return replace(table, frame=LAYOUT.load(table, as_is=as_is), fields=None)


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


def _complete(rows: Rows, name: str, columns: Mapping[str, str]) -> Rows:
    """Rows with a verdict, a group and a stratum; each of `columns` cleaned, as `__` + its role."""
    frame = rows.frame.with_columns(
        tidy(rows.frame[column], name, column).alias(f"__{role}")
        for role, column in columns.items()
    )
    rows = Rows(frame, rows.dropped)
    for role in ("by", "strata"):
        if role in columns:
            out = pl.col("__verdict").is_not_null() & pl.col(f"__{role}").is_null()
            rows = rows.without(out, f"no {role} value")
    if not frame.schema.get("status", pl.List(pl.String)).is_nested():
        for status in sorted(set(STATUSES) - MEASURED):
            without = pl.col("__verdict").is_null() & (pl.col("status").cast(pl.String) == status)
            rows = rows.without(without, f"status {status}")
    rows = rows.without(pl.col("__verdict").is_null(), "no judge verdict")
    if rows.frame.height == 0:
        remedy = "give rows that the judge has answered"
        raise DataError(
            name, "no row has a judge verdict", column=columns["verdict"], remedy=remedy
        )
    return rows


def _series(name: str, values: ArrayLike) -> pl.Series:
    return pl.Series(name, np.asarray(values, dtype=object).tolist(), strict=False)


def _require(frame: pl.DataFrame, name: str, columns: Mapping[str, str]) -> None:
    here = [column for column in frame.columns if not column.startswith("__")]
    absent = [column for column in columns.values() if column not in frame.columns]
    if absent:
        raise missing_columns(here, absent, name)
