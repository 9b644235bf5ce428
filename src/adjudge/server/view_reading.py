"""Judged rows of files as the viewer needs them: of one or several files, judges and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import polars as pl

from adjudge.data.columns import UNNAMED
from adjudge.data.conversion import read_public
from adjudge.data.formats import NATIVE, kinds_of
from adjudge.data.grades import names_sides
from adjudge.data.judgments import Judgments, prepare_judgments
from adjudge.data.labels import open_labels, with_labels
from adjudge.data.names import has_order_verdicts, recognise, shorten
from adjudge.data.pairs import join_pairs, read_items, read_pairs
from adjudge.data.rows import (
    FAIL,
    PASS,
    Rows,
    add_absent,
    judge_names,
    merge_dropped,
    pass_or_fail,
)
from adjudge.data.source import Reading, Source, open_table
from adjudge.data.tables import Table, TableLike, as_text, sniff
from adjudge.errors import ArgumentError, DataError
from adjudge.evaluation.rows import in_rows, refuse_without_judge
from adjudge.policy.result import Policy
from adjudge.records import About
from adjudge.selection import read_policy, select
from adjudge.server.viewing import ALPHA, METRIC, SHOWN, TEXTS, Viewing, read_judge

#: Columns about one judge's answer; all others are about the row.
_OF_JUDGE = (
    *("judge", "protocol", "status", "detail", "p_fwd", "p_rev", "p_a", "p_tie", "uncertainty"),
    *("verdict", "verdict_fwd", "verdict_rev", "judge_verdict", "judge_fingerprint", "answer_mass"),
    *("accepted", "reason", "repeat", "served_model", "tokens", "cost", "confidence"),
)


def read_viewing(
    rows: Sequence[TableLike],
    *,
    labels: TableLike | None = None,
    policy: Policy | str | Path | None = None,
    pairs: TableLike | None = None,
    judges: Sequence[str] = (),
    alpha: float = ALPHA,
    **reading: Unpack[Reading],
) -> Viewing:
    """Read judgments or grades of one or several files, with labels, texts and a policy.

    >>> rows = {"id": [1, 2], "p_a": [0.9, 0.8], "label": ["A", "B"]}
    >>> viewing = read_viewing([rows])
    >>> viewing.judges["the judge"].marks["wrong"].tolist()
    [False, True]
    """
    prepared: list[Judgments] = []
    raters = None
    for table in rows:
        with Source(table, labels=labels, others={"texts": pairs}, **reading) as source:
            texts = source.other("texts")
            opened = open_table(source.rows)
            ids_made = not recognise(opened.frame.columns, "judgments", ["id"])
            for judged in _read_file(opened, judges):
                frame = judged.frame
                if texts is not None:
                    read = read_items if judged.about == "grades" else read_pairs
                    frame = join_pairs(frame, texts, TEXTS, read)
                # After the texts: a label of another text with the id of a row is not of that row.
                labelled = Rows(frame, judged.dropped)
                if source.labels is not None:
                    labelled = with_labels(labelled, source, judged.about, ids_made=ids_made)
                prepared.append(replace(judged, frame=labelled.frame, dropped=labelled.dropped))
            if source.labels is not None:
                raters = open_labels(source.labels, prepared[-1].about).frame
    everything = _join_files(prepared)
    if judges:
        everything = _of_judges(everything, judges)
    frame = everything.frame
    rules = None if policy is None else _rules(policy)
    if rules is not None:
        decided = select(replace(everything, frame=frame.with_row_index(_ROW)), rules).rows
        taken = decided.sort(_ROW)["accepted"]
        everything = replace(everything, frame=frame.with_columns(taken))
    items = frame.select(pl.exclude(*_OF_JUDGE, *_METRICS, SHOWN, METRIC))
    # Texts are in memory once, whatever the number of judges.
    by_judge = [everything.frame.drop(TEXTS, strict=False)]
    if frame[SHOWN].n_unique() > 1:
        by_judge = by_judge[0].partition_by(SHOWN, maintain_order=True)
        label = pl.col("label").drop_nulls().first().over("id")
        items = items.with_columns(label).unique("id", keep="first", maintain_order=True)
    judge_rows = [
        read_judge(replace(everything, frame=part), items, rules, alpha) for part in by_judge
    ]
    return Viewing(
        items,
        judge_rows,
        about=everything.about,
        name=everything.name,
        raters=raters,
        dropped=everything.dropped,
    )


def _read_file(table: Table, judges: Sequence[str]) -> list[Judgments]:
    """The rows of a file; those of each metric or criterion by themselves.

    `judges` are the judges to read: names in the rows, or columns of their verdicts. A metric whose
    answers are no verdicts, such as a score, is left out and counted.
    """
    if judges and {*judges} <= {*table.frame.columns}:
        table = in_rows(table, judges)
    unjudged = _unjudged(table)
    if unjudged is not None:
        return [unjudged]
    for column in _METRICS:
        if column not in table.frame.columns:
            continue
        metrics = as_text(table.frame[column])
        names = metrics.drop_nulls().unique(maintain_order=True).to_list()
        if len(names) > 1:
            parts = {name: table.frame.filter(metrics == name) for name in names}
            return _read_metrics(table, parts)
    if _has_grades(table):
        frame = table.frame
        if "judge" in frame.columns:  # the names of several judges, which a column of the file has
            frame = frame.drop("judge_name", strict=False)
        frame = frame.rename({own: our for our, own in _GRADES.items() if own in frame.columns})
        table = replace(table, frame=frame, fields=None, kind=None, format="binary")
    elif _has_bare_grades(table):
        table = replace(table, frame=add_absent(table.frame, ["human"]), fields=None)
    return [prepare_judgments(table, doubt_needed=False)]


#: Grades in the columns of judgments, as `evaluate --errors` writes them.
_GRADES = {"judge": "verdict", "p_pass": "p_a", "judge_name": "judge", "human": "label"}


def _has_grades(table: Table) -> bool:
    if not {"verdict", "label"} <= {*table.frame.columns} or "human" in table.frame.columns:
        return False
    verdicts = set(as_text(table.frame["verdict"]).drop_nulls().unique())
    return bool(verdicts) and verdicts <= {PASS, FAIL}


def _has_bare_grades(table: Table) -> bool:
    """Whether the judge's verdicts on single answers are here, and people's in another file."""
    here = table.frame.columns
    if recognise(here, "judgments", [*_VERDICTS, "uncertainty"]) or has_order_verdicts(here):
        return False
    return recognise(here, "grades", ["judge", "human"]) == {"judge"} and not names_sides(table)


_VERDICTS = ("p_a", "p_fwd", "verdict", "verdict_fwd")
_METRICS = ("metric", "criterion")


def _read_metrics(table: Table, parts: Mapping[str, pl.DataFrame]) -> list[Judgments]:
    prepared: list[Judgments] = []
    left_out: dict[str, int] = {}
    errors = []
    for name, frame in parts.items():
        # What the table left out is counted once.
        part = replace(table, frame=frame, fields=None, dropped={} if prepared else table.dropped)
        try:
            judged = prepare_judgments(part, doubt_needed=False)
        except DataError as error:
            errors.append(error)
            left_out[f"metric {name}: {error.problem}"] = frame.height
            continue
        both = pl.format("{} · {}", "judge", pl.lit(name))
        shown = pl.when(pl.col("judge") == name).then(pl.lit(name)).otherwise(both).alias(SHOWN)
        frame = judged.frame.with_columns(shown, pl.lit(name).alias(METRIC))
        prepared.append(replace(judged, frame=frame))
    if not prepared:
        raise errors[0]
    dropped = merge_dropped(prepared[0].dropped, left_out)
    return [replace(prepared[0], dropped=dropped), *prepared[1:]]


def _unjudged(table: Table) -> Judgments | None:
    """Pairs or items that no judge has judged yet, as rows without a verdict; None for others."""
    here = table.frame.columns
    verdicts = recognise(here, "judgments", _VERDICTS)
    if verdicts or recognise(here, "grades", ["p_pass", "judge"]):
        return None
    kinds = kinds_of(sniff(table))
    judged = kinds & {"judgments", "grades", "binary"}
    if not judged and not has_order_verdicts(here):
        refuse_without_judge(table)
    if not kinds & {"pairs", "items"} or judged:
        return None
    about: About = "pairs" if "pairs" in kinds else "grades"
    if sniff(table) not in NATIVE:
        frame = read_public(table, kind="pairs" if about == "pairs" else "items").frame
    else:
        frame = read_pairs(table) if about == "pairs" else read_items(table)
    if "human" in frame.columns:
        people = pass_or_fail(frame["human"], table.name, table.labels_as)
        frame = frame.drop("human").with_columns(people.alias("label"))
    frame = add_absent(frame, ["verdict", "status", "label", "judge_fingerprint"])
    frame = add_absent(frame, ["p_fwd", "p_rev", "p_a", "uncertainty"], dtype=pl.Float64)
    frame = frame.with_columns(judge=pl.lit(NO_JUDGE), protocol=pl.lit(UNNAMED))
    return Judgments(frame=frame, name=table.name, dropped={}, about=about)


#: The name of the judge of rows that none has judged.
NO_JUDGE = "no judge"


_ROW = "__row"


def _rules(policy: Policy | str | Path) -> Policy:
    return policy if isinstance(policy, Policy) else read_policy(policy)


def _join_files(prepared: Sequence[Judgments]) -> Judgments:
    """The rows of all files; a judge that two files have is a judge of each of them."""
    first = prepared[0]
    frames = []
    taken: set[str] = set()
    for judged in prepared:
        if judged.about != first.about:
            problem = f"has {judged.about}, {first.name} has {first.about}"
            raise DataError(judged.name, problem, remedy="view one of them")
        named = judge_names(judged.frame)["judge"].replace(UNNAMED, "the judge").alias(SHOWN)
        if SHOWN in judged.frame.columns:
            named = judged.frame[SHOWN].str.replace(UNNAMED, "the judge", literal=True)
        names = set(named.unique())
        if names & taken:
            named = pl.select(pl.format(f"{{}} ({Path(judged.name).stem})", named)).to_series()
        taken |= names
        frames.append(judged.frame.with_columns(named.alias(SHOWN)))
    frame = pl.concat(frames, how="diagonal_relaxed")
    if not frame.height:
        raise DataError(first.name, "has no judged rows", remedy="give rows with verdicts")
    return Judgments(
        frame=add_absent(frame, ["label"]),
        name=" and ".join(dict.fromkeys(Path(judged.name).name for judged in prepared)),
        dropped=merge_dropped(*(judged.dropped for judged in prepared)),
        about=first.about,
    )


def _of_judges(rows: Judgments, judges: Sequence[str]) -> Judgments:
    names = rows.frame["judge"].unique(maintain_order=True).to_list()
    for judge in judges:
        if judge not in names:
            raise ArgumentError("judges", judge, f"choose of the judges: {shorten(names)}")
    return replace(rows, frame=rows.frame.filter(pl.col("judge").is_in([*judges])))
