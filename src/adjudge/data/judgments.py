"""Judgments: a judge's verdict on each pair. Columns, checks, preparation; wins of one model.

`prepare_judgments` also reads grades: selection uses doubt and errors, and in both cases the same
columns: id, judge, protocol, status, p_a (for a grade: p_pass), uncertainty, verdict, label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Unpack

import polars as pl

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
)
from adjudge.data.grades import (
    are_grades,
    name_the_judge,
    names_sides,
    read_grades,
    verdicts_in_status,
)
from adjudge.data.labels import with_labels
from adjudge.data.names import (
    LOG,
    ORDER_VERDICTS,
    PAIR,
    quote,
    read_words,
    recognise,
    refuse_where,
    shorten,
)
from adjudge.data.outcomes import OUTCOMES
from adjudge.data.pairs import join_pairs
from adjudge.data.rows import (
    FAIL,
    LABELS,
    PASS,
    Rows,
    add_absent,
    fill_status,
    fill_uncertainty,
    in_chunks_of,
    is_learned,
    tidy,
    verdict_by,
    without_numbers,
)
from adjudge.data.source import Reading, Source, open_table
from adjudge.data.steps.judges import check_judges
from adjudge.data.steps.repeats import first_repeats, leave_out_repeats, once_per_judge
from adjudge.data.tables import Table, TableLike, as_text, labels_as_of, source_name
from adjudge.errors import ArgumentError, DataError
from adjudge.records import MEASURED, About
from adjudge.statistics.entropy import INFINITE_DOUBT, entropy_of

#: p_a can be rounded in a file; a larger distance from the mean of both orders is an error.
_ROUNDING = 0.005
_ORDERS = ("p_fwd", "p_rev")
_NUMBERS = (*_ORDERS, "p_a", "uncertainty")
#: The protocol of rows that have a verdict in each order and no number: agreement is their doubt.
BY_ORDERS = "order_verdicts"
JUDGMENT_COLUMNS = Layout(
    "judgments",
    ID,
    *each("judge", "protocol"),
    REPEAT,
    STATUS,
    *each("p_fwd", "p_rev", "p_a", "p_tie", type="number", low=0, high=1, answer=True),
    Column(name="uncertainty", type="number", answer=True),
    *each("verdict", *ORDER_VERDICTS, choices=LABELS, words=PAIR, answer=True),
    *REPLY_COLUMNS,
    Column(name="label", choices=LABELS, words=PAIR),
    *CALL_COLUMNS,
    *each("length_a", "length_b", type="number", low=0),
    *TEXT_COLUMNS,
    one_of=("p_a", "p_fwd", "verdict_fwd"),
    apart=("judge", "protocol", "repeat"),
)


def read_judgments(
    source: TableLike,
    *,
    judge: str | None = None,
    protocol: str | None = None,
    doubt_needed: bool = True,
) -> pl.DataFrame:
    """Judgments as a checked frame, one row per id, judge, protocol and repeat.

    Always there: id, judge, protocol, status, p_fwd, p_rev, p_a, uncertainty, verdict,
    judge_fingerprint. Only rows with status ok or censored have numbers. A row with a verdict (A or
    B) and an uncertainty can lack p_a: a judge can name a side with less confidence than a guess.

    - p_a, if it is not given, is the mean of p_fwd and p_rev; p_a alone is enough;
    - without any of them, a verdict for response_a in `verdict_fwd` or `verdict_rev` is 1 in that
      order, one for response_b 0, a tie one half; two orders that contradict each other give no
      verdict. The protocol of such rows is `order_verdicts`, unless they have an uncertainty;
    - uncertainty, if a judge and protocol gives none at all, is the entropy of p_a in nats;
    - verdict is A above one half and B below; at exactly one half there is none. If a column
      `p_tie` makes a tie more likely than either answer, it is "tie" (half of p_tie is in p_a);
    - without a status column a row with p_a is ok, and a row without it is an `error` with the
      reason in `detail`: it is counted, never guessed;
    - a judge or protocol without a name in the file is `unnamed`; `judge` and `protocol` give a
      name;
    - a file with verdicts alone is refused, unless no doubt is needed: then p_a is 1, 0.5 or 0.

    >>> rows = read_judgments({"id": ["x"], "p_fwd": [0.9], "p_rev": [0.5]})
    >>> rows.select("p_a", "verdict").row(0)
    (0.7, 'A')
    """
    frame, name = JUDGMENT_COLUMNS.load(source), source_name(source)
    here = {*frame.columns}
    by_orders = "p_a" not in here and not here.issuperset(_ORDERS)
    certain = not doubt_needed and by_orders and "verdict" in here
    if certain and not here.issuperset(ORDER_VERDICTS):
        by_orders = False
    if by_orders and not here.issuperset(ORDER_VERDICTS):
        remedy = (
            "give p_a, or p_fwd and p_rev, or verdict_fwd and verdict_rev, all about response_a"
        )
        if "verdict" in frame.columns:
            remedy = f"verdicts alone have no doubt: {remedy}, or use adjudge estimate"
            raise DataError(name, "is missing", column="p_a", remedy=remedy)
        raise JUDGMENT_COLUMNS.missing(frame, "p_a", name, remedy)
    frame = JUDGMENT_COLUMNS.check(frame, name, labels_as=labels_as_of(source))
    if certain and not by_orders:
        tie = (pl.col("verdict") == "tie").cast(pl.Float64)
        frame = frame.with_columns(_worth("verdict").alias("p_a"), tie.alias("p_tie"))
    if by_orders:
        worth = zip(_ORDERS, ORDER_VERDICTS, strict=True)
        frame = frame.with_columns(_worth(verdict).alias(order) for order, verdict in worth)
        if "verdict" in here:
            # Many call a contradiction a tie: here it is no verdict.
            tie = (pl.col("verdict") == "tie") & (pl.col("p_fwd") + pl.col("p_rev") == 1)
            frame = frame.with_columns(pl.when(~tie.fill_null(False)).then("verdict"))
        if "uncertainty" not in here:
            frame, protocol = _name_by_orders(frame, protocol)
    frame = _with_names(frame, {"judge": judge, "protocol": protocol}, name)
    frame = _with_p_a(add_absent(frame, _ORDERS, dtype=pl.Float64), name)
    frame = fill_uncertainty(_with_status(frame, name), name, probability="p_a")
    return JUDGMENT_COLUMNS.sort(once_per_judge(_with_verdict(frame, name), name))


def _name_by_orders(frame: pl.DataFrame, protocol: str | None) -> tuple[pl.DataFrame, str | None]:
    """Mark the protocol, the file's or the caller's: without numbers the same one is another."""
    if "protocol" not in frame.columns:
        return frame, BY_ORDERS if protocol is None else f"{protocol} ({BY_ORDERS})"
    marked = pl.col("protocol").str.contains(BY_ORDERS, literal=True)
    named = pl.when(marked).then("protocol").otherwise(pl.format(f"{{}} ({BY_ORDERS})", "protocol"))
    return frame.with_columns(named.alias("protocol")), protocol


def fixed_doubts(protocol: str | None) -> tuple[float, ...]:
    """The doubts that a verdict can have by this protocol, ascending, if it allows only a few.

    >>> fixed_doubts("order_verdicts") == (0.0, entropy_of(0.75)), fixed_doubts("preference")
    (True, ())
    """
    by_orders = protocol is not None and BY_ORDERS in protocol
    return (0.0, entropy_of(0.75)) if by_orders else ()


def _with_names(frame: pl.DataFrame, given: Mapping[str, str | None], source: str) -> pl.DataFrame:
    for column, value in given.items():
        if column in frame.columns and value is not None:
            raise ArgumentError(column, value, f"leave it out: {source} has its own {column}")
        if value is not None:
            frame = frame.with_columns(pl.lit(value).alias(column))
        frame = add_absent(frame, [column], UNNAMED)
        remedy = f"give the {column} in every row, or drop the column"
        empty = pl.col(column).is_null()
        refuse_where(frame, empty, "is empty", source=source, column=column, remedy=remedy)
    return frame


#: Of a file of somebody else, so many rows show whether p_rev is about the other response.
_FIRST_ROWS = 10_000
_FEWEST_ROWS = 20
_CONTRADICTING = -0.5


def _remark_sides(frame: pl.DataFrame, source: str) -> None:
    """Name two orders that contradict each other: p_rev can be about the response shown first."""
    both = frame.head(_FIRST_ROWS).select(_ORDERS).drop_nulls()
    if "judge_fingerprint" in frame.columns or both.height < _FEWEST_ROWS:
        return
    correlation = both.select(pl.corr(*_ORDERS)).item()
    if correlation < _CONTRADICTING:
        LOG.warning(
            "%s: warning: p_rev is low where p_fwd is high (correlation %.2f): the judge goes by "
            "position, or p_rev is about the response shown first; then give 1 - p_rev",
            *(source, correlation),
        )


def _with_p_a(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    _remark_sides(frame, source)
    mean = (pl.col("p_fwd") + pl.col("p_rev")) / 2
    if "p_a" in frame.columns:
        far = (pl.col("p_a") - mean).abs() > _ROUNDING
        problem = "{} is not the mean of p_fwd and p_rev"
        remedy = "all three are about response_a: drop p_a, or the two orders"
        refuse_where(frame, far, problem, source=source, column="p_a", remedy=remedy)
        mean = pl.col("p_a").fill_null(mean)
    frame = frame.with_columns(p_a=mean)
    if "p_tie" in frame.columns:
        half = pl.col("p_tie") / 2 - _ROUNDING
        large = (pl.col("p_a") < half) | (pl.col("p_a") > 1 - half)
        problem = "{} is larger than p_a allows"
        remedy = "p_a is P(A) + p_tie / 2, and all three add up to 1"
        refuse_where(frame, large, problem, source=source, column="p_tie", remedy=remedy)
    return frame


def _with_status(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    remedy = "give p_a, or p_fwd and p_rev, or the status that fits"
    answers = (*_NUMBERS, "p_tie", "verdict", *ORDER_VERDICTS)
    values = [column for column in answers if column in frame.columns]
    # If only one order was measured, the row has no number.
    stated = None
    if {"verdict", "uncertainty"} <= {*frame.columns}:
        stated = pl.col("verdict").is_in(["A", "B"]) & pl.col("uncertainty").is_not_null()
    return fill_status(frame, source, number="p_a", values=values, remedy=remedy, unless=stated)


def _with_verdict(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    derived = verdict_by(frame.columns)
    if "verdict" in frame.columns:
        stated = pl.col("p_a").is_null() | is_learned(frame.columns)
        derived = pl.when(stated).then(pl.col("verdict")).otherwise(derived)
        wrong = pl.col("verdict").is_not_null() & ~pl.col("verdict").eq_missing(derived)
        problem = "does not follow from p_a = {}"
        remedy = "A needs p_a above 0.5 and B below; at 0.5 there is none; tie needs p_tie"
        refuse_where(
            frame, wrong, problem, source=source, column="verdict", remedy=remedy, value_of="p_a"
        )
    verdict = frame.select(verdict=derived).to_series()
    return frame.with_columns(in_chunks_of(frame.get_column("p_a"), verdict))


#: The verdict and label of a p_a above one half, and of one below.
WORDS: Mapping[About, tuple[str, str]] = {"pairs": ("A", "B"), "grades": (PASS, FAIL)}
#: The column of errors in labelled rows.
ERROR = "__error"
#: Whether a row can be accepted: it prefers one of the two answers.
HAS_VERDICT = (pl.col("verdict") != "tie").fill_null(False)
#: 1 if the verdict is not the label; a judge's tie is always an error.
IS_ERROR = (~(HAS_VERDICT & pl.col("verdict").eq_missing(pl.col("label")))).cast(pl.Int64)


@dataclass(frozen=True, kw_only=True)
class Judgments:
    """Checked judgments of every status, of one judge or protocol if requested, with labels."""

    frame: pl.DataFrame
    name: str
    dropped: Mapping[str, int]
    about: About = "pairs"


def prepare_judgments(
    judgments: TableLike | Source | Judgments,
    *,
    labels: TableLike | None = None,
    pairs: TableLike | None = None,
    judge: str | None = None,
    protocol: str | None = None,
    doubt_needed: bool = True,
    **reading: Unpack[Reading],
) -> Judgments:
    """Read judgments or grades once, native or published, of one judge or protocol if requested.

    `labels` join by id, and so do the responses of `pairs`, for judgments without texts. Only the
    first of several repeats is used; the others are left out. Prepared judgments are returned
    unchanged. `columns` maps our names to those of the files, `labels_as` words in label columns to
    ours. Verdicts alone are refused if doubt is needed.

    >>> rows = prepare_judgments({"id": [1], "p_a": [0.9]}, labels={"id": [1], "label": ["A"]})
    >>> rows.frame.select("id", "judge", "verdict", "label").row(0)
    ('1', 'unnamed', 'A', 'A')
    """
    source = Source.of(judgments, labels=labels, pairs=pairs, **reading)
    if (done := source.prepared(Judgments, prepare_judgments, locals())) is not None:
        return done
    with source:
        return _read_verdicts(source, judge, protocol, doubt_needed)


def _read_verdicts(
    source: Source, judge: str | None, protocol: str | None, doubt_needed: bool
) -> Judgments:
    table = open_table(source.rows)
    opened, about = open_verdicts(table, doubt_needed=doubt_needed)
    rows = Rows(opened.frame, opened.dropped)
    rows = first_repeats(leave_out_repeats(rows, table.name, apart=["judge"]))
    frame = rows.frame
    if about == "grades":
        frame = add_absent(frame.rename({"p_pass": "p_a"}), _ORDERS, dtype=pl.Float64)
    for column, value in (("judge", judge), ("protocol", protocol)):
        if value is None:
            continue
        known = frame.get_column(column).unique().sort().to_list()
        if value not in known:
            raise ArgumentError(column, value, "the judgments have " + ", ".join(known))
        frame = frame.filter(pl.col(column) == value)
    # Each judge and protocol is by itself, and so are the values of columns that options name.
    apart = ("judge", "protocol", *source.named)
    check_judges(frame, table.name, measure="policy or result", apart=apart)
    if source.pairs is not None:
        if about == "grades":
            place = source_name(source.pairs)
            raise ArgumentError("pairs", place, "leave it out: these are grades")
        # Before the labels, which are compared with the texts of their rows.
        frame = join_pairs(frame, source.pairs, ("prompt", "response_a", "response_b"))
    ids_made = not recognise(table.frame.columns, "judgments", ["id"])
    rows = Rows(frame, rows.dropped)
    if source.labels is not None:
        rows = with_labels(rows, source, about, ids_made=ids_made)
    return Judgments(frame=rows.frame, name=table.name, dropped=rows.dropped, about=about)


def own_verdicts(rows: Judgments) -> pl.DataFrame:
    """The rows with the verdict by p_a, also if an earlier policy learned another one."""
    if not is_learned(rows.frame.columns):
        return rows.frame
    derived = verdict_by(rows.frame.columns, WORDS[rows.about])
    return rows.frame.with_columns(verdict=derived)


def mark_off_answer(frame: pl.DataFrame, least: float | None) -> pl.DataFrame:
    """Mark rows with a known answer_mass below `least` as `off_answer`, without a score.

    >>> rows = {"status": ["ok", "ok"], "p_a": [0.6, 0.9], "answer_mass": [0.03, None]}
    >>> mark_off_answer(pl.DataFrame(rows), 0.1).rows()
    [('off_answer', None, 0.03), ('ok', 0.9, None)]
    """
    if least is None or "answer_mass" not in frame.columns:
        return frame
    low = pl.col("status").is_in(list(MEASURED)) & (pl.col("answer_mass") < least)
    on_answer = pl.when(~low.fill_null(False))
    numbers = {"p_fwd", "p_rev", "p_a", "p_tie", "uncertainty", "verdict"} & set(frame.columns)
    return frame.with_columns(
        on_answer.then("status").otherwise(pl.lit("off_answer")).alias("status"),
        *(on_answer.then(name).alias(name) for name in numbers),
    )


def doubt_ties(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows as rules rank them: a judge's tie has infinite doubt."""
    tie = (pl.col("verdict") == "tie").fill_null(False)
    doubt = pl.when(tie).then(pl.lit(INFINITE_DOUBT)).otherwise("uncertainty")
    return frame.with_columns(doubt.alias("uncertainty"))


#: Columns about response_a, which a row about the model does not keep.
_ABOUT_A = ("p_fwd", "p_rev", "p_a", "p_tie", "verdict", "label", "model_a", "model_b")


def read_wins(data: TableLike | Source, model: str, *, judge_column: str = "judge") -> Table:
    """A row for each pair in which the model takes part, and whether it won.

    `judge` is the judge's probability that it won (`judge_column` verdict: its verdict) and `human`
    what people said; a tie is half a win. `opponent` names the other model. A file with a column
    `verdict` and without probabilities is read too.

    >>> pairs = {"id": [1, 2], "p_a": [0.9, 0.8], "label": ["A", None]}
    >>> rows = {**pairs, "model_a": ["new", "old"], "model_b": ["old", "new"]}
    >>> read_wins(rows, "new").frame.select("judge", "human", "opponent").rows()
    [(0.9, 1.0, 'old'), (0.19999999999999996, None, 'old')]
    """
    with Source.of(data) as source:
        table = _with_certainty(open_table(source.rows))
        prepared = prepare_judgments(table, labels=source.labels)
    frame = prepared.frame
    if prepared.about == "grades":
        remedy = "is for judgments of pairs; for grades: --by model (by=)"
        raise ArgumentError("model", model, remedy)
    for column in ("model_a", "model_b"):
        if column not in frame.columns:
            remedy = f"name the column of each side's model: --column {column}=NAME (columns=)"
            raise DataError(prepared.name, "is missing", column=column, remedy=remedy)
    names = (tidy(frame[column], prepared.name, column) for column in ("model_a", "model_b"))
    frame = add_absent(frame.with_columns(names), ["label"])
    first, second = pl.col("model_a") == model, pl.col("model_b") == model
    rows = Rows(frame, prepared.dropped)
    rows = rows.without(~(first | second).fill_null(False), f"a pair without {model}")
    rows = rows.without(first & second, "a pair of the model with itself")
    if rows.frame.height == 0:
        names_here = pl.concat([frame["model_a"], frame["model_b"].alias("model_a")])
        models = names_here.drop_nulls().unique().sort().to_list()
        raise ArgumentError("model", model, f"the pairs have {shorten(models)}")
    shares_of_a = {"judge": pl.col("p_a"), "p_a": pl.col("p_a"), "verdict": _worth("verdict")}
    if judge_column not in shares_of_a:
        raise ArgumentError("judge_column", judge_column, "with a model, use p_a or verdict")
    of_judge = shares_of_a[judge_column]
    of_people = _worth("label")
    is_a = pl.when(first)
    wins = rows.frame.with_columns(
        judge_name="judge",
        opponent=is_a.then("model_b").otherwise("model_a"),
        __side=is_a.then(pl.lit("A")).otherwise(pl.lit("B")),
        judge=is_a.then(of_judge).otherwise(1 - of_judge),
        human=is_a.then(of_people).otherwise(1 - of_people),
    )
    return Table(
        frame=wins.drop(_ABOUT_A, strict=False),
        name=prepared.name,
        kind="grades",
        dropped=rows.dropped,
    )


def _with_certainty(table: Table) -> Table:
    """Verdicts without probabilities as probabilities of 0, 0.5 and 1."""
    table = replace(table, frame=without_numbers(table.frame))
    here = table.frame.columns
    if "verdict" not in here or recognise(here, "judgments", ["p_a", "p_fwd"]):
        return table
    verdicts = read_words(as_text(table.frame["verdict"]), PAIR, table.labels_as)
    strange = verdicts.filter(verdicts.is_not_null() & ~verdicts.is_in([*OUTCOMES]))
    if len(strange):
        problem = f"{quote(strange[0])} is not A, B or tie"
        remedy = "say what it means: --labels-as WORD=A (labels_as=)"
        raise DataError(table.name, problem, column="verdict", remedy=remedy)
    sure = verdicts.replace_strict(OUTCOMES, return_dtype=pl.Float64).alias("p_a")
    frame = table.frame.drop("verdict", "judge_verdict", strict=False).with_columns(sure)
    return replace(table, frame=frame, fields=None)


def _worth(column: str) -> pl.Expr:
    return pl.col(column).replace_strict(OUTCOMES, default=None, return_dtype=pl.Float64)


def open_verdicts(source: TableLike, *, doubt_needed: bool = True) -> tuple[Table, About]:
    """Judgments of pairs or grades of single answers, and which of them the file has."""
    table = verdicts_in_status(open_table(source))
    if table.kind != "judgments" and are_grades(table.frame.columns) and not names_sides(table):
        frame = read_grades(name_the_judge(table), doubt_needed=doubt_needed)
        return replace(table, frame=frame, kind="grades", fields=None), "grades"
    return Source(table).open("judgments", doubt_needed=doubt_needed), "pairs"
