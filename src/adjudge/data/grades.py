"""Grades: a judge's verdict on every answer, a human label on some. Columns, checks, preparation.

`read_grades` is for guarantees: one checked row per id, judge and protocol. `prepare_grades` is for
rates and plans: verdicts and labels of any scale, as arrays.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.candidates import remark_people
from adjudge.data.columns import (
    CALL_COLUMNS,
    ID,
    REPEAT,
    REPLY_COLUMNS,
    STATUS,
    TEXT_COLUMNS,
    UNNAMED,
    Column,
    Layout,
    each,
    missing_columns,
    rename_table,
)
from adjudge.data.labels import with_labels
from adjudge.data.names import (
    AS_SAID,
    GRADE,
    LOG,
    PAIR,
    bare_name,
    has_order_verdicts,
    plain_word,
    read_words,
    recognise,
    refuse_values,
    remark_names,
    respelled,
    usual_names,
)
from adjudge.data.rows import (
    DEFAULT_CLUSTERS,
    PASS,
    Rows,
    add_absent,
    cluster_column,
    code_clusters,
    code_column,
    fill_status,
    fill_uncertainty,
    has_values,
    is_learned,
    measured,
    pass_by_share,
    pass_or_fail,
    tidy,
)
from adjudge.data.scales import (
    Answers,
    Coded,
    Scale,
    are_shares,
    as_numbers,
    code_answers,
    words_in,
)
from adjudge.data.scores import scores_by_class
from adjudge.data.source import Needs, Reading, Source, open_table
from adjudge.data.steps.judges import check_judges, check_scales
from adjudge.data.steps.labels import (
    BY_SCORE,
    BY_VERDICT,
    LABELS_OF,
    Labels,
    all_drawn_at_random,
    origin_of,
    sampling_probabilities,
    take_labels,
)
from adjudge.data.steps.repeats import first_repeats, leave_out_repeats, once_per_judge
from adjudge.data.steps.status import (
    mark_failures,
    plain_words,
    remark_odd_labels,
    remark_rare_words,
)
from adjudge.data.tables import Table, TableLike, as_text, labels_as_of, source_name
from adjudge.errors import ArgumentError, DataError
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
    ID,
    *each("judge_name", "protocol"),
    REPEAT,
    Column(name="judge", answer=True),
    Column(name="human"),
    STATUS,
    Column(name="p_pass", type="number", low=0, high=1, answer=True),
    Column(name="uncertainty", type="number", answer=True),
    *REPLY_COLUMNS,
    *CALL_COLUMNS,
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
    recognised = recognise(here, "grades", ["p_pass", "judge", "human"])
    return "p_pass" in recognised or {"judge", "human"} <= recognised


def names_sides(table: Table) -> bool:
    """Whether the verdicts of a file without p_pass name one of two answers, as A and B do."""
    usual = {*map(bare_name, ("verdict", *usual_names("judge", "grades")))}
    if "p_pass" in table.frame.columns:
        return False
    here = [name for name in table.frame.columns if bare_name(name) in usual]
    if len(here) > 1:
        here = [name for name in here if not _has_names(table, name)]
    if not here:
        return False
    words = as_text(table.frame[here[0]]).drop_nulls().unique()
    sides = read_words(words, PAIR, table.labels_as).is_in(["A", "B", "tie"]).all()
    # 1 is the first answer, or a pass.
    return sides and not any(plain_word(word) in GRADE.words for word in words)


def name_the_judge(table: Table) -> Table:
    """The table of grades with its column judge as the judge's name, if it is that.

    Next to a verdict under another name it is one if no word in it is a verdict, or a label of
    people; in a file without labels, if it has one word, or the other column has plain verdicts.
    """
    here = table.frame.columns
    verdicts = ["p_pass", "status", *usual_names("judge", "binary")]
    other = {*map(bare_name, here)} & {*map(bare_name, verdicts)}
    if not other or "judge_name" in here or not _has_names(table, "judge"):
        return table
    spelled, *_ = respelled(here).get("judge", ["judge"])
    remark_names(table.name, {"judge_name": spelled})
    return rename_table(table, {"judge_name": "judge"})


def _has_names(table: Table, column: str) -> bool:
    """Whether a column has words, and none is a verdict, a number or a label."""
    frame = table.frame
    if frame.schema.get(column) != pl.String:
        return False
    words = plain_words(frame[column])
    if not words or words & {*GRADE.words, *PAIR.words, *map(plain_word, table.labels_as)}:
        return False
    if pl.Series([*words]).cast(pl.Float64, strict=False).null_count() < len(words):
        return False
    people = [name for name in frame.columns if recognise([name], "binary", ["human"])]
    said = {word for name in people for word in plain_words(frame[name])}
    if said:
        return not words & said
    return len(words) == 1 or _has_plain_verdicts(table, column)


def _has_plain_verdicts(table: Table, without: str) -> bool:
    """Whether another column than this one is a probability of pass, or says pass, fail, A or B."""
    usual = {*map(bare_name, ("p_pass", *usual_names("judge", "binary")))}
    plain = {*GRADE.words, *PAIR.words}
    others = [c for c in table.frame.columns if c != without and bare_name(c) in usual]
    said = [plain_words(table.frame[column]) for column in others if column != "p_pass"]
    return "p_pass" in others or any(words and words <= plain for words in said)


def verdicts_in_status(table: Table) -> Table:
    """The table with its column status as the judge's verdict, if it says pass and fail.

    A word for a failure can be among them. If the file has another verdict, status is not read.
    """
    if table.frame.schema.get("status") != pl.String:
        return table
    words = plain_words(table.frame["status"])
    if not words or not words <= GRADE.words.keys():
        return table
    other = recognise(table.frame.columns, "grades", ["judge", "p_pass"])
    ours = "status_given" if other else "judge"
    if other:
        LOG.warning("%s: status says pass or fail, and is not read: %s is", table.name, min(other))
    else:
        remark_names(table.name, {"judge": "status"})
    return rename_table(table, {ours: "status"})


def read_grades(source: TableLike, *, doubt_needed: bool = True) -> pl.DataFrame:
    """Grades as a checked frame in the columns of judgments, one row per id, judge and protocol.

    `judge` is the judge's name here and `verdict` its verdict: pass above p_pass = 0.5, fail below;
    at exactly 0.5 there is none. `label` is the human label, from the column human (or label). A
    share of people other than 0 and 1 is refused: no verdict is right or wrong then. Without p_pass
    the verdict is the file's judge (0 or 1), and its doubt must be in the column uncertainty, or
    its p_pass is 1 and 0 if no doubt is needed. Statuses are as in `read_judgments`.

    >>> rows = read_grades({"id": ["x"], "p_pass": [0.9], "human": [0]})
    >>> rows.select("judge", "p_pass", "verdict", "label").row(0)
    ('unnamed', 0.9, 'pass', 'fail')
    """
    name, labels_as = source_name(source), labels_as_of(source)
    frame = GRADE_COLUMNS.read(source)
    number = "p_pass" if "p_pass" in frame.columns else "uncertainty"
    certain = number not in frame.columns
    if certain and doubt_needed:
        remedy = "verdicts alone have no doubt: give p_pass, or judge and uncertainty, or "
        remedy += "use adjudge evaluate, which compares judges by their verdicts, too"
        raise DataError(name, "is missing", column="p_pass", remedy=remedy)
    frame = _with_verdict(frame, name, labels_as)
    if certain:
        number = "p_pass"
        frame = frame.with_columns(p_pass=(pl.col("verdict") == PASS).cast(pl.Float64))
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
    verdicts = pl.Series([None] * frame.height, dtype=pl.String)
    if "judge" in frame.columns:
        verdicts = pass_or_fail(frame["judge"], source, labels_as)
    if "p_pass" not in frame.columns or is_learned(frame.columns):
        return frame.with_columns(verdicts.alias("verdict"))
    derived = pass_by_share(frame["p_pass"])
    remedy = "1 needs p_pass above 0.5 and 0 below; at 0.5 there is none"
    bad = verdicts.is_not_null() & verdicts.ne_missing(derived)
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
    #: Which judge each group has, if they differ.
    judges: tuple[str, ...] = ()
    #: The model whose wins these are, if they were judgments of pairs.
    wins_of: str | None = None
    #: The labels of all people of each row as they are written, if a labels file has several.
    raters: pl.Series | None = None


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
    compared: bool = False,
    slices: Sequence[str] | None = None,
    by_verdict: bool | None = None,
    without: Collection[str] | None = None,
    **reading: Unpack[Reading],
) -> Grades:
    """Grades from a table (path, polars, pandas, dict) or from the arrays `judge` and `human`.

    Options as in `estimate`, which accepts the result instead of a file. A row without a verdict,
    group or stratum is left out and counted; one without a cluster value is a cluster of one. A log
    of another tool is read as grades, or as pairs whose verdicts and labels are classes. With
    `needs_labels=False`, a table without the column of labels counts as unlabelled. With `scores`,
    numbers outside [0, 1] are scores, not classes. With `paired`,
    groups are compared: a prompt that two groups share is a cluster by default. With `compared`,
    groups must have the same judge. `slices` are columns whose values the caller keeps apart.
    Labels recorded as drawn `by_verdict` are used or, with False, refused (None: left out);
    `without` names the ways of drawing whose labels are left out, by default all by a score. With
    `model`, a table of judgments of pairs is read from the side of that model (see `read_wins`). In
    a table of grades, rows without a usable score are counted by their status; if there is p_pass
    and no judge, p_pass is read.

    >>> rows = prepare_grades({"judge": [1, 0, None], "human": [1, None, None]})
    >>> rows.scale, rows.judge.tolist(), rows.dropped
    ('binary', [1.0, 0.0], {'no judge verdict': 1})
    """
    source = Source.of(data, labels=labels, **reading)
    if (done := source.prepared(Grades, prepare_grades, locals())) is not None:
        return done
    renamed = {judge_column, human_column} - {"judge", "human"}
    # A column of labels that was named must be there, unless labels come from another file.
    needs_labels = needs_labels or (human_column != "human" and source.labels is None)
    # The column `opponent` is made from the model names.
    groups = None if model is not None and isinstance(by, str) and by == "opponent" else by
    named = (groups, cluster, strata, *renamed, *source.columns.values())
    kinds = ("binary", "grades") if model is None else ("judgments",)
    # Labels of another file can be matched by text.
    with source.narrow(Needs(kinds, named, texts=labels is not None)):
        if model is not None:
            table = _read_wins(source, model, judge_column, positive)
            judge_column = "judge"
            human_column = "human"
        else:
            table = _table(source, judge, human, judge_column, human_column, rounded=not scores)
        answers = _answer_columns(table, judge_column, human_column)
        rows = Rows(table.frame, table.dropped)
        if source.labels is None and not has_values(rows.frame, answers.human):
            remark_people(table, answers.judge)
        apart = [option for option in (by, strata) if isinstance(option, str)]
        if not {*apart} <= {*rows.frame.columns}:
            people = {"human": answers.human} if needs_labels and source.labels is None else {}
            needed = {"judge": answers.judge, **people, **{column: column for column in apart}}
            _require(rows.frame, table, needed, source.columns)
        rows = first_repeats(leave_out_repeats(rows, table.name, apart=apart))
        judges = _check_judges(rows.frame, table, apart, slices or (), compared=compared)
        frame = rows.frame if needs_labels else add_absent(rows.frame, [answers.human])
        # The words of a labels file are read with that file.
        rows = Rows(_in_words(frame, table, answers.human), rows.dropped)
        if source.labels is not None and model is None:
            rows = _join_labels(rows, source, table, answers)
    frame = _without_failures(rows.frame, table, answers)
    columns = frame.columns
    arrays = {"by": by, "cluster": _cluster(frame, cluster, by, paired=paired), "strata": strata}
    frame, roles = _with_arrays(frame, **arrays, sampling_probability=sampling_probability)
    _require(frame, table, {**answers._asdict(), **roles}, source.columns)
    chances = roles.pop("sampling_probability", "sampling_probability")
    labelled = tidy(frame[answers.human], table.name, answers.human).alias("__label")
    rows = Rows(frame.with_columns(labelled).with_row_index("__row"), rows.dropped)
    taken = _take_labels(rows, table.name, chances, by_verdict, without, model_labels=model_labels)
    rows = _complete(taken.rows, table.name, {"verdict": answers.judge, **roles}, table.labels_as)
    _check_by_verdict(rows.frame, table.name, positive, by_verdict)
    coded = code_answers(rows.frame, table, answers, positive, scores=scores)
    frame = rows.frame
    groups, group_names = code_column(frame["__by"]) if "by" in roles else (None, ())
    if "by" in roles:
        judges += _notes_of_scales(coded, frame["__by"], table.name, answers, compared=compared)
    layers, layer_names = code_column(frame["__strata"]) if "strata" in roles else (None, ())
    return Grades(
        frame=frame.select(column for column in columns if column != LABELS_OF),
        name=table.name,
        scale=coded.scale,
        judge=coded.judge,
        human=coded.human,
        sampling_probability=_planned(frame["__chance"]),
        drawn_at_random=all_drawn_at_random(frame, table.name),
        verdicts=coded.verdicts,
        labels=coded.labels,
        names=coded.names,
        by="by" if "by" in roles and not isinstance(by, str) else roles.get("by"),
        groups=groups,
        group_names=group_names,
        strata=layers,
        strata_names=layer_names,
        clusters=code_clusters(frame["__cluster"]) if "cluster" in roles else None,
        dropped=rows.dropped,
        makers=taken.makers,
        judges=judges,
        wins_of=model,
        raters=frame[LABELS_OF] if LABELS_OF in columns else None,
    )


def in_words(rows: Grades) -> tuple[pl.Series, pl.Series]:
    """What judge and people say of each row in words: a class, or pass and fail by one half.

    >>> verdicts, labels = in_words(prepare_grades({"judge": [0.7, 0.5], "human": [0, None]}))
    >>> verdicts.to_list(), labels.to_list()
    (['pass', None], ['fail', None])
    """
    if rows.scale != "classes":
        labels = pl.Series(rows.human).fill_nan(None)
        return pass_by_share(pl.Series(rows.judge)), pass_by_share(labels)
    names = pl.Series(rows.names, dtype=pl.String)
    codes = pl.Series(rows.labels)
    labelled = pl.select(pl.when(codes >= 0).then(codes)).to_series()
    return names.gather(rows.verdicts), names.gather(labelled)


def mixed_models(rows: Grades) -> list[str]:
    """The warning that one number is about the answers of several models, if it is."""
    if rows.by is not None or "model" not in rows.frame.columns:
        return []
    models = rows.frame["model"].n_unique()
    warning = f"the rows of {models} models are mixed; a rate per model: --by model (by=)"
    return [warning] if models > 1 else []


def _check_judges(
    frame: pl.DataFrame,
    table: Table,
    groups: Sequence[str],
    slices: Sequence[str],
    *,
    compared: bool,
) -> tuple[str, ...]:
    """Which judge each group has, if they differ; several where a number is of one are refused."""
    return check_judges(
        frame,
        table.name,
        measure="mean" if table.format == "scores" else "rate",
        judge="judge_name",
        apart=[*groups, *slices],
        groups=groups,
        compared=compared,
    )


def _notes_of_scales(
    coded: Coded, groups: pl.Series, name: str, answers: Answers, *, compared: bool
) -> tuple[str, ...]:
    """What is said about groups on two scales; classes have none."""
    if coded.scale == "classes":
        return ()
    return check_scales(pl.Series(answers.judge, coded.judge), groups, name, compared=compared)


def _cluster(
    frame: pl.DataFrame,
    cluster: str | ArrayLike | None,
    by: str | ArrayLike | None,
    *,
    paired: bool,
) -> str | ArrayLike | None:
    """The clusters as given; by default prompt_id, if it repeats within a group, or else the id.

    An answer is there again for each epoch, order or rater: such rows are alike.
    """
    if cluster is not None and not (isinstance(cluster, str) and cluster == "none"):
        return cluster
    within = [by] if isinstance(by, str) and by in frame.columns and not paired else []
    usual = (*DEFAULT_CLUSTERS, "id")
    return cluster_column(frame, "auto" if cluster is None else None, within=within, usual=usual)


def _join_labels(rows: Rows, source: Source, table: Table, answers: Answers) -> Rows:
    _require(rows.frame, table, {"judge": answers.judge}, source.columns)
    return with_labels(rows, source, "values", column=answers.human)


def _refuse_by_verdict(frame: pl.DataFrame, name: str, *, allowed: bool) -> None:
    """Refuse labels recorded as drawn by verdict if the caller has to state it."""
    if allowed or "sampled_by" not in frame.columns:
        return
    labelled = frame["__label"].is_not_null()
    drawn = origin_of(frame, labelled, name, "sampled_by") == BY_VERDICT
    problem = "labels were sampled by verdict"
    remedy = "state it, so that each verdict counts with its share: --labels-by-verdict "
    remedy += "(labels_by_verdict=True)"
    flags = (labelled & drawn).fill_null(False)
    ways = frame["sampled_by"]
    refuse_values(ways, flags, problem, source=name, column="sampled_by", remedy=remedy)


def _planned(chances: pl.Series) -> FloatArray | None:
    return as_numbers(chances) if chances.is_not_null().any() else None


def _take_labels(
    rows: Rows,
    name: str,
    chances: str,
    by_verdict: bool | None,
    without: Collection[str] | None,
    *,
    model_labels: bool,
) -> Labels:
    """The rows with the labels that are used, and how likely each was to be drawn."""
    if without is None:
        without = [way for way in BY_SCORE if way != BY_VERDICT or not by_verdict]
    _refuse_by_verdict(rows.frame, name, allowed=by_verdict is not False)
    labels = take_labels(rows, "__label", name, without=without, model_labels=model_labels)
    frame = labels.rows.frame
    drawn = sampling_probabilities(frame, frame["__label"], name, column=chances)
    frame = frame.with_columns(drawn.alias("__chance"))
    return replace(labels, rows=Rows(frame, labels.rows.dropped))


def _check_by_verdict(
    frame: pl.DataFrame, name: str, positive: str | None, by_verdict: bool | None
) -> None:
    """Refuse what contradicts labels drawn by verdict, at rates that are not known."""
    if not by_verdict:
        return
    if frame["__chance"].is_not_null().any():
        problem = "gives the probability of each label, which says more than its verdict"
        remedy = "leave out --labels-by-verdict (labels_by_verdict=)"
        raise DataError(name, problem, column="sampling_probability", remedy=remedy)
    words = words_in(frame["__verdict"])
    if positive is not None and len(words) > 2 and not are_shares(frame["__verdict"]):
        problem = f"{len(words)} verdicts can be drawn at {len(words)} rates"
        remedy = "leave out --positive (positive=): the share of every class is estimated"
        raise ArgumentError("positive", positive, f"{problem}: {remedy}")


def _answer_columns(table: Table, judge: str, human: str) -> Answers:
    if table.kind == "judgments":
        # Pairs from a log: the shares of A, B and tie are estimated.
        judge = "verdict" if judge == "judge" else judge
        human = "label" if human == "human" else human
    here = table.frame.columns
    if judge == "judge" and "judge" not in here and "p_pass" in here:
        judge = "p_pass"
    return Answers(judge, human)


def _read_wins(source: Source, model: str, judge_column: str, positive: str | None) -> Table:
    from adjudge.data.judgments import read_wins

    if source.rows is None or positive is not None:
        raise ArgumentError("model", model, "give a table of judgments, without positive")
    return read_wins(source, model, judge_column=judge_column)


def _in_words(frame: pl.DataFrame, table: Table, human: str) -> pl.DataFrame:
    """People's words with the caller's meaning."""
    if not table.labels_as or human not in frame.columns:
        return frame
    labels = tidy(frame[human], table.name, human)
    return frame.with_columns(read_words(labels, AS_SAID, table.labels_as))


def _without_failures(frame: pl.DataFrame, table: Table, answers: Answers) -> pl.DataFrame:
    """The rows, without an answer where the judge failed: a word that people use is an answer."""
    people: list[str] = []
    if answers.human in frame.columns and not frame.schema[answers.human].is_nested():
        people = as_text(frame[answers.human]).drop_nulls().unique().to_list()
    columns = [answers.judge, "p_pass"]
    frame = mark_failures(frame, table.name, columns, classes=people, labels_as=table.labels_as)
    if answers.judge in frame.columns:
        classes = [*people, *table.labels_as]
        remark_rare_words(frame[answers.judge], classes, table.name, answers.judge)
        if people:
            said = frame[answers.human]
            remark_odd_labels(said, frame[answers.judge], table.name, answers.human)
    return frame


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
        table = verdicts_in_status(name_the_judge(table))
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
    frame: pl.DataFrame, table: Table, columns: Mapping[str, str], theirs: Mapping[str, str]
) -> None:
    named = {name: f"{column} (read as {name})" for name, column in theirs.items()}
    here = [named.get(name, name) for name in table.frame.columns]
    absent = [column for column in columns.values() if column not in frame.columns]
    if absent:
        second = ", or give a second file with people's labels: --labels FILE (labels=)"
        instead = second * (columns.get("human") in absent)
        raise missing_columns(here, absent, table.name, instead=instead)
