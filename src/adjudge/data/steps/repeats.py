"""The step of repeats: a row that is in the file again counts once, and is never another row."""

from __future__ import annotations

import sqlite3
import tempfile
import weakref
from collections.abc import Collection, Sequence
from contextlib import ExitStack

import numpy as np
import polars as pl

from adjudge.data.names import LOG, ORDER_VERDICTS, OURS, columns_as_text, columns_here, quote
from adjudge.data.rows import ANSWERED_AGAIN, Rows, add_absent, are_distinct, find_varying
from adjudge.data.tables import as_text
from adjudge.errors import DataError
from adjudge.present.text import count

#: Columns that tell rows of one id apart, in every kind of rows.
APART = (
    *("judge_name", "protocol", "metric", "repeat", "epoch", "model", "model_a", "model_b"),
    *("criterion", "order", "rater", "doc_id"),
)
_AGAIN = "the same row again"
_REMEDY = "keep one of them, or number repeated answers in a column `repeat`"


def leave_out_repeats(
    rows: Rows,
    source: str,
    *,
    apart: Collection[str] = (),
    usual: Collection[str] = APART,
    question: str = "id",
) -> Rows:
    """Every row once: equal rows are left out and counted; one id with other content is refused.

    Rows of one id differ by the columns that tell rows apart: the `usual` ones (none, if an
    analysis needs one row per id) and those `apart`, such as the one that groups are made by. Only
    for ids that the file brings: a made id is always another. Without a column `order`, a battle
    with its sides swapped is the same battle. Ids that are merely alike are named, and stay.
    `question` is another column of ids, such as the document's.

    >>> twice = pl.DataFrame({"id": ["x", "y", "x"], "judge": [1, 0, 1]})
    >>> leave_out_repeats(Rows(twice), "grades").dropped
    {'the same row again': 1}
    """
    if question not in rows.frame.columns:
        return rows
    ids = rows.frame[question]
    remark_alike(ids if question == "id" else ids.unique(), source)
    columns = dict.fromkeys((question, *usual, *apart))
    key = [name for name in columns if name in rows.frame.columns]
    # Only compared so: the rows that stay are as in the file.
    plain = rows.frame
    if any(plain.schema[name].is_nested() for name in key):
        plain = plain.with_columns(columns_as_text(plain, key))
    frame = in_one_direction(plain, question)
    swapped = frame is not plain
    has_id = pl.col(question).is_not_null()
    with_id = frame.filter(has_id) if ids.null_count() else frame
    if _repeated_keys(with_id, key) is None:
        return rows
    remedy = "keep one of them, or add a column `order`: ab and ba" if swapped else _REMEDY
    if not swapped and "judge_name" not in key and (names := _names_of_judges(frame, key)):
        remedy = (
            f"if {names[0]} names judges: --column judge_name={names[0]} (columns=); or {remedy}"
        )
    refuse_duplicates(with_id, key, source=source, remedy=remedy, but_equal=True)
    return rows.without(pl.lit(_equal_rows(frame, key)) & has_id, _AGAIN)


#: More different words in a column are no names of judges.
_MOST_JUDGES = 20


def _names_of_judges(frame: pl.DataFrame, key: Sequence[str]) -> list[str]:
    """Columns of a few words of which each row of an id has another one."""
    free = [
        name
        for name in columns_here(frame.columns)
        if name not in key
        and name not in OURS
        and frame.schema[name] == pl.String
        and frame[name].n_unique() <= _MOST_JUDGES
    ]
    return [name for name in free if _repeated_keys(frame, [*key, name]) is None]


def first_repeats(rows: Rows) -> Rows:
    """Rows of the first repeat: an analysis of one answer per question uses only these.

    Only rows that a judge answered several times: a column `repeat` from elsewhere, next to ids
    that do not repeat, is ignored.

    >>> asked = {"id": ["x", "x"], "repeat": [0, 1], "judge_fingerprint": ["f", "f"]}
    >>> first_repeats(Rows(pl.DataFrame(asked))).dropped
    {'repeat of another row': 1}
    """
    if rows.frame.schema.get("repeat", pl.List(pl.String)).is_nested():
        return rows
    repeat = pl.col("repeat").cast(pl.Int64, strict=False)
    again = repeat > repeat.min()  # we count from 0, and others from 1
    if "judge_fingerprint" not in rows.frame.columns:
        if "id" not in rows.frame.columns:
            return rows
        key = ["id", *(name for name in APART if name in rows.frame.columns and name != "repeat")]
        keys = columns_as_text(rows.frame, key)
        again &= pl.lit(keys.is_duplicated()) & pl.col("id").is_not_null()
    return rows.without(again, ANSWERED_AGAIN)


def once_per_judge(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """Rows of judges, with a fingerprint; two of one id, judge, protocol and repeat are refused."""
    key, remedy = ["id", "judge", "protocol"], "keep one row per id, judge and protocol"
    if "repeat" in frame.columns:
        key, remedy = [*key, "repeat"], f"{remedy}, or number them in repeat"
    refuse_duplicates(frame, key, source=source, remedy=remedy, but_equal=True)
    return add_absent(frame, ["judge_fingerprint"])


def refuse_duplicates(
    frame: pl.DataFrame, key: Sequence[str], *, source: str, remedy: str, but_equal: bool = False
) -> None:
    """Refuse the second row of any key; `but_equal`: not if it is an earlier row again."""
    again = _repeated_keys(frame, key)
    if again is not None and but_equal:
        again &= ~_equal_rows(frame, key)
    if again is None or not again.any():
        return
    at = int(again.arg_true()[0])
    values = ", ".join(f"{column} {frame[column][at]!r}" for column in key)
    problem = f"{values} is in the file twice"
    raise DataError(source, problem, row=at + 1, column=key[0], remedy=remedy)


def _repeated_keys(frame: pl.DataFrame, key: Sequence[str]) -> pl.Series | None:
    """Which rows have the key of an earlier row; None if none has."""
    # In most files one column is unique, which is ten times faster to check.
    if are_distinct(frame.get_column(key[0])):
        return None
    # A struct is compared column by column, and often only one or two of them vary.
    varying = find_varying(frame, key) or key
    again = ~frame.select(pl.struct(varying).is_first_distinct()).to_series()
    return again if again.any() else None


def _equal_rows(frame: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """Which rows are equal to an earlier row in every column, of rows that share a key.

    `__row` is the row's number in the file, and not compared.
    """
    shared = frame.with_row_index("__at").filter(pl.struct(key).is_duplicated())
    texts = columns_as_text(shared, [name for name in frame.columns if name != "__row"])
    first = texts.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    equal = shared["__at"].filter(~first)
    return pl.int_range(frame.height, eager=True).is_in(equal.cast(pl.Int64).implode())


#: The value of the other direction, for words about sides.
_FLIPPED = {"A": "B", "B": "A", "model_a": "model_b", "model_b": "model_a"}
_OF_SIDES = (
    *("winner", "human_pref", "label", "verdict"),
    *("judge_pref", "judge_winner", "judge_verdict"),
)
#: 1 - 0.8 is not 0.2: without rounding the same battle would have other content.
_DIGITS = 12


def in_one_direction(frame: pl.DataFrame, question: str = "id") -> pl.DataFrame:
    """Battles of one id with the same two models in one direction; the frame itself if all are.

    >>> battles = {"id": ["x", "x"], "model_a": ["m", "n"], "model_b": ["n", "m"]}
    >>> in_one_direction(pl.DataFrame({**battles, "winner": ["A", "B"]})).unique().height
    1
    """
    here = {*frame.columns}
    if not {"model_a", "model_b", question} <= here or "order" in here:
        return frame
    if are_distinct(frame[question]):
        return frame
    again = frame[question].is_duplicated()
    backward = again & (as_text(frame["model_a"]) > as_text(frame["model_b"]))
    if not backward.any():
        return frame
    turned = []
    for first in sorted(name for name in here if name.endswith("_a") and f"{name[:-1]}b" in here):
        second = f"{first[:-1]}b"
        turned += [(first, pl.col(second)), (second, pl.col(first))]
    for column in here.intersection(_OF_SIDES):
        if frame.schema[column] == pl.String:
            turned.append((column, pl.col(column).replace(_FLIPPED)))
        elif frame.schema[column].is_numeric():
            turned.append((column, _other_share(column)))
    if "p_a" in here and "p_b" not in here:
        turned.append(("p_a", _other_share("p_a")))
    if {"p_fwd", "p_rev"} <= here:
        turned += [("p_fwd", _other_share("p_rev")), ("p_rev", _other_share("p_fwd"))]
    if {*ORDER_VERDICTS} <= here:
        # Shown the other way round, the first order is the second one.
        forward, reverse = ORDER_VERDICTS
        turned.append((forward, pl.col(reverse).replace(_FLIPPED)))
        turned.append((reverse, pl.col(forward).replace(_FLIPPED)))
    if "score_difference" in here:
        turned.append(("score_difference", -pl.col("score_difference")))
    return frame.with_columns(
        pl.when(backward).then(other).otherwise(column).alias(column) for column, other in turned
    )


def _other_share(column: str) -> pl.Expr:
    return (1 - pl.col(column)).round(_DIGITS)


def remark_alike(ids: pl.Series, source: str) -> None:
    """Name ids that are equal up to blanks, case, Unicode or number form; they stay apart."""
    if ids.dtype != pl.String:
        return
    forms = plain_forms(ids)
    if forms is ids or forms.hash().n_unique() == len(ids):
        return
    say_alike(ids.n_unique() - forms.n_unique(), source)


def say_alike(number: int, source: str) -> None:
    """Log in one line how many ids are nearly equal to another, if there are any."""
    if number:
        LOG.warning(
            "%s: warning: %s nearly equal to another (blanks, case, Unicode or number form): each "
            "stays a row of its own",
            *(source, count(number, "id is", "ids are")),
        )


def plain_forms(ids: pl.Series) -> pl.Series:
    """As `plain_ids`, for a column of text; the column itself if every id is plain.

    >>> plain_forms(pl.Series(["r6", "R7"])).to_list(), plain_forms(pl.Series([" 007"])).to_list()
    (['r6', 'r7'], ['7'])
    """
    # To look through one long text is faster than to look at every id.
    text = ids.str.join("\n").item()
    if _is_unusual(text, ids):
        return plain_ids(ids)
    return ids if text == text.lower() else ids.str.to_lowercase()


def _is_unusual(text: str, ids: pl.Series) -> bool:
    """Whether the plain form of an id can differ from it by more than lower case."""
    if not text.isascii() or "\t" in text or ids.str.starts_with("0").any():
        return True
    if " " in text and (ids.str.starts_with(" ") | ids.str.ends_with(" ")).any():
        return True
    return "." in text and bool(ids.str.ends_with(".0").any())


#: Letters without a width: they come along when text is copied from a page, and nobody sees them.
_INVISIBLE = "[\u200b-\u200d\u2060\ufeff]"


def plain_ids(ids: pl.Series) -> pl.Series:
    """Ids without what people do not see as a difference.

    >>> plain_ids(pl.Series([" Row-7 ", "007", "7.0", "7\N{ZERO WIDTH SPACE}"])).to_list()
    ['row-7', '7', '7', '7']
    """
    text = as_text(ids).str.normalize("NFKC").str.replace_all(_INVISIBLE, "")
    text = text.str.strip_chars().str.to_lowercase()
    return text.str.replace(r"^0+(\d)", "$1").str.replace(r"^(\d+)\.0+$", "$1")


#: Ids whose plain forms are made together.
_BATCH = 16_384
#: Hashes that are in memory together, and bytes of them before a file is made.
_HASHES = 4_194_304
_IN_MEMORY = 8 << 20


class SeenIds:
    """Refuses a repeated id, even a hundred million rows later, and counts those nearly equal.

    The ids are in a private temporary database on disk, which SQLite deletes when it is closed, and
    hashes of their plain forms in memory, above a million ids in a temporary file.
    """

    def __init__(self, name: str, thing: str) -> None:
        self._name = name
        self._thing = thing
        # "" is that private database. A reader can run in another thread.
        self._ids = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._ids.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID")
        self._ids.execute("BEGIN")
        #: Ids whose plain form is not in the file yet.
        self._new: list[str] = []
        self._hashes = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="adjudge-")  # noqa: SIM115  (closed below)
        self._are_plain = True
        self._files = ExitStack()
        self._files.callback(self._ids.close)
        self._files.callback(self._hashes.close)
        # Also closed if an iteration that began is never finished.
        self._close = weakref.finalize(self, self._files.close)

    def __enter__(self) -> SeenIds:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def add(self, key: str, row: int) -> None:
        """Store one id; refuse it if it was seen before."""
        try:
            self._ids.execute("INSERT INTO seen VALUES (?, ?)", (key, row))
        except sqlite3.IntegrityError:
            before = self._ids.execute("SELECT at FROM seen WHERE id = ?", (key,)).fetchone()[0]
            problem = f"id {quote(key)} is also the id of row {before}"
            remedy = f"give every {self._thing} its own id"
            raise DataError(self._name, problem, row=row, column="id", remedy=remedy) from None
        self._new.append(key)
        if len(self._new) == _BATCH:
            self._store_plain_forms()

    def count_alike(self) -> int:
        """How many ids are equal to another up to blanks, case, Unicode or number form."""
        self._store_plain_forms()
        if self._are_plain:
            return 0
        number = self._hashes.tell() // np.dtype(np.uint64).itemsize
        parts = number // _HASHES + 1
        return number - sum(self._distinct(part, parts) for part in range(parts))

    def _store_plain_forms(self) -> None:
        ids = pl.Series(self._new, dtype=pl.String)
        self._new = []
        forms = plain_forms(ids)
        self._are_plain = self._are_plain and forms is ids
        self._hashes.write(forms.hash().to_numpy().tobytes())

    def _distinct(self, part: int, parts: int) -> int:
        """How many different hashes there are, of those in one of the parts."""
        self._hashes.seek(0)
        blocks = []
        while block := self._hashes.read(1 << 20):
            hashes = np.frombuffer(block, dtype=np.uint64)
            blocks.append(hashes[hashes % parts == part])
        return pl.Series(np.concatenate(blocks)).n_unique()
