"""Which columns an analysis needs: only those of a Parquet file are read.

Long texts are the largest part of many files, and an analysis that writes no rows does not use
them. Text columns are left out if they are not one of ours under any name and no option names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import polars as pl

from adjudge.io.files import open_file
from adjudge.io.folders import is_saved
from adjudge.io.formats import NATIVE, Format, looks_like
from adjudge.io.made_ids import TEXTS
from adjudge.io.names import USUAL, plain_name
from adjudge.io.tables import Table, parse_table

S = TypeVar("S")

#: Our columns without another usual name.
_OTHERS = (
    "status protocol judge_fingerprint repeat metric labelled_by started_from sampled_by "
    "sampling_probability cut cut_share cut_judge cut_protocol cut_fingerprint "
    "answer_hash_a answer_hash_b scores_a scores_b"
)
#: Values of options that are not columns.
_NO_COLUMN = {"auto", "none", "votes"}
#: By whether they include texts.
_KNOWN = {
    texts: frozenset(
        word
        for ours, names in USUAL.items()
        if texts or ours not in TEXTS
        for word in (ours.partition(":")[2] or ours, *names.split(), *_OTHERS.split())
    )
    for texts in (False, True)
}


@dataclass(frozen=True, slots=True)
class Needs:
    """What an analysis of rows of these `kinds` needs: our columns, and those that are `named`.

    `named` are the values of its options that can name a column. `texts` is true if it also uses
    prompts and responses.
    """

    kinds: tuple[str, ...]
    named: Iterable[object] = ()
    texts: bool = False

    def unneeded(self, schema: Mapping[str, pl.DataType]) -> list[str]:
        """The columns to leave out; none if the file could be refused: the error lists all.

        >>> columns = dict.fromkeys(["id", "response_a", "why", "language"], pl.String())
        >>> Needs(("judgments",)).unneeded({**columns, "p_a": pl.Float64()})
        ['response_a', 'why']
        """
        here = list(schema)
        named = {name for name in self.named if isinstance(name, str)} - _NO_COLUMN
        native = any(NATIVE[kind].signature.fits(here) for kind in self.kinds)
        one_order = "p_a" not in here and len({"p_fwd", "p_rev"}.intersection(here)) == 1
        if not native or one_order or named - {*here} or isinstance(looks_like(here), Format):
            return []
        # The ids of rows without an id are made from their texts.
        kept = _KNOWN[self.texts or "id" not in here]
        return [
            name
            for name, dtype in schema.items()
            if dtype == pl.String and name not in named and plain_name(name) not in kept
        ]


def narrow(source: S, needs: Needs) -> S | Table:
    """A Parquet file without its unneeded columns, as a Table; else the source unchanged."""
    if not isinstance(source, (str, Path)) or is_saved(source):
        return source
    with open_file(source) as file:
        if file.container != "parquet" or file.packed:
            return source
    try:
        unneeded = needs.unneeded(pl.read_parquet_schema(source))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return source  # a damaged file, which its reader refuses
    return parse_table(source, without=unneeded) if unneeded else source
