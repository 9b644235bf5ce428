"""Ids for rows that have none: a hash of the row's texts.

Equal texts get equal ids in every file, so labels of the same texts can be joined. A hash of
anything else differs between two files and cannot be joined.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import polars as pl

from adjudge.io.names import LOG

#: The texts of a row.
TEXTS = ("prompt", "response_a", "response_b", "response")
#: The remedy if content does not distinguish rows.
GIVE_IDS = "give both files a column id (raters of one row: a column rater)"


class IdMaker:
    """Makes ids in the order of the rows; repeated content gets a number.

    >>> maker = IdMaker()
    >>> one = maker.make(["2+2?", "4", "5"])
    >>> maker.make(["2+2?", "4", "5"]) == one + "-2", maker.repeated
    (True, 1)
    """

    def __init__(self) -> None:
        self.repeated = 0
        self._seen: Counter[bytes] = Counter()

    def make(self, content: Sequence[str | None], apart: Sequence[str | None] = ()) -> str:
        """The id of a row with this content; `apart` separates its repeats from repeated rows."""
        made = content_hash(content)
        key = hashlib.blake2b(repr((made, *apart)).encode(), digest_size=8).digest()
        self._seen[key] += 1
        if self._seen[key] == 1:
            return made
        self.repeated += 1
        return f"{made}-{self._seen[key]}"

    def remark(self, source: str, columns: Sequence[str]) -> None:
        """Log in one line how the ids were made."""
        again = f"; {self.repeated:,} repeated rows are numbered" if self.repeated else ""
        LOG.warning(
            "%s: no column id: the id of a row is a hash of its %s%s",
            source,
            ", ".join(columns) if columns[0] in TEXTS else "columns",
            again,
        )


def content_hash(content: Sequence[str | None]) -> str:
    """A short hash of texts that is the same on every machine.

    >>> content_hash(["a", None]) == content_hash(["a", None]) != content_hash(["a", ""])
    True
    """
    text = "".join("\x00" if part is None else f"{len(part)}:{part}" for part in content)
    return "h" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def hashed_columns(columns: Sequence[str]) -> list[str]:
    """The columns that an id is made of: the texts, or all of them."""
    return [name for name in TEXTS if name in columns] or list(columns)


def add_ids(frame: pl.DataFrame, source: str, apart: Sequence[str] = ()) -> pl.DataFrame:
    """The frame with a column id first, unless it has one.

    `apart` are columns that distinguish rows about one thing: equal texts of two judges are one
    pair, and equal texts without a judge are two.
    """
    if "id" in frame.columns:
        return frame
    content = hashed_columns(frame.columns)
    apart = [name for name in apart if name in frame.columns and name not in content]
    maker = IdMaker()
    ids = [
        maker.make(row[: len(content)], row[len(content) :])
        for row in _texts(frame, [*content, *apart]).iter_rows()
    ]
    maker.remark(source, content)
    return frame.select(pl.Series("id", ids, dtype=pl.String), pl.all())


def first_of(ids: pl.Series) -> pl.Series:
    """For a made id with a number, the id of the first row with that content; else null.

    It cannot be known which of these rows another file means.

    >>> first_of(pl.Series(["x-2", "h0123456789abcdef-2"])).to_list()
    [None, 'h0123456789abcdef']
    """
    return ids.str.extract(r"^(h[0-9a-f]{16})-\d+$")


def add_documents(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """The frame with a column doc_id: its own, else the prompt, else one per row."""
    if "doc_id" in frame.columns:
        return frame
    if "prompt" in frame.columns:
        rows = "rows with the same prompt are one document"
        prompts = _texts(frame, ["prompt"]).to_series()
        documents = pl.Series([content_hash([prompt]) for prompt in prompts], dtype=pl.String)
    else:
        rows = "every row is a separate document"
        documents = add_ids(frame, source)["id"].cast(pl.String)
    LOG.warning("%s: no column doc_id: %s", source, rows)
    return frame.with_columns(documents.alias("doc_id"))


def _texts(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return frame.select(
        pl.struct(name).struct.json_encode().alias(name)
        if frame.schema[name].is_nested()
        else pl.col(name).cast(pl.String)
        for name in columns
    )
