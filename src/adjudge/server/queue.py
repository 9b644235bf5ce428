"""Which pair a rater sees next, and how this choice affects the use of the label.

Labels drawn at random can calibrate. Labels chosen because the judge was in doubt cannot: among
these the judge is wrong more often. So when people label the judge's abstentions, a random share of
all pairs is mixed in. If the random stream reaches a pair that was labelled for doubt, the pair is
not shown again, and its label then counts as random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast, get_args

import numpy as np
import polars as pl

from adjudge.data import read_table
from adjudge.data.columns import Column, check_columns
from adjudge.data.rows import truth_column
from adjudge.data.tables import TableLike, as_text, source_name
from adjudge.errors import ArgumentError, DataError
from adjudge.records import SampledBy
from adjudge.validation import count, generator

_SELECTED = "give the rows that adjudge select wrote with -o"


@dataclass(frozen=True, slots=True)
class Draw:
    """One step of the queue: a pair, and the stream that drew it."""

    id: str
    sampled_by: SampledBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The complete order of draws, fixed by the seed, the same for every rater."""

    draws: tuple[Draw, ...]


def planned_rows(source: TableLike) -> list[tuple[str, SampledBy]]:
    """The ids of a plan file and how each was drawn ("plan" if the file does not have it)."""
    frame = read_table(source)
    if "id" not in frame.columns:
        raise DataError(source_name(source), "is missing", column="id", remedy="give a plan file")
    if "sampled_by" not in frame.columns:
        frame = frame.with_columns(sampled_by=pl.lit("plan"))
    rows = frame.select(as_text(frame["id"]), as_text(frame["sampled_by"]).fill_null("plan"))
    return [(name, _sampled(how)) for name, how in rows.iter_rows()]


def abstained_ids(source: TableLike) -> list[str]:
    """The ids that `adjudge select` did not accept, highest doubt first."""
    frame, name = read_table(source), source_name(source)
    for column in ("id", "accepted", "uncertainty"):
        if column not in frame.columns:
            raise DataError(name, "is missing", column=column, remedy=_SELECTED)
    accepted = truth_column(frame, "accepted", name, remedy=_SELECTED)
    frame = check_columns(frame, [Column(name="uncertainty", type="number")], name)
    order = frame.filter(~accepted).sort(
        "uncertainty", descending=True, nulls_last=False, maintain_order=True
    )
    return list(dict.fromkeys(as_text(order["id"]).to_list()))


def _sampled(how: str) -> SampledBy:
    if how not in get_args(SampledBy):
        raise ArgumentError("sampled_by", how, "use " + ", ".join(get_args(SampledBy)))
    return cast(SampledBy, how)


def random_queue(ids: Sequence[str], *, seed: int) -> Queue:
    """Every pair once, in a random order."""
    order = generator(seed).permutation(len(ids))
    return _queue([Draw(ids[i], "random") for i in order])


def planned_queue(planned: Sequence[tuple[str, SampledBy]], *, known: Sequence[str]) -> Queue:
    """The rows of `adjudge plan --write-ids`, in their order, drawn by the plan."""
    there = set(known)
    missing = [name for name, _ in planned if name not in there]
    if missing:
        raise ArgumentError(
            "plan", missing[0], f"{len(missing)} planned ids are not among the rows"
        )
    return _queue([Draw(name, sampled) for name, sampled in planned])


def doubt_queue(
    ids: Sequence[str], doubtful: Sequence[str], *, seed: int, random_share: float = 0.3
) -> Queue:
    """The judge's abstentions, highest doubt first, mixed with a random share of all pairs.

    >>> queue = doubt_queue(list("abcdef"), ["c", "a"], seed=0, random_share=0.5)
    >>> sorted({draw.id for draw in queue.draws if draw.sampled_by == "random"})
    ['a', 'b', 'c', 'd', 'e', 'f']
    """
    if not 0 < random_share < 1:
        raise ArgumentError("random_share", random_share, "give a number strictly between 0 and 1")
    unknown = set(doubtful) - set(ids)
    if unknown:
        raise ArgumentError(
            "abstentions", min(unknown), f"{len(unknown)} of these ids are not among the rows"
        )
    rng = generator(seed)
    doubt = iter([Draw(name, "doubt") for name in doubtful])
    chance = iter([Draw(ids[i], "random") for i in rng.permutation(len(ids))])
    return _queue(list(_interleave(doubt, chance, rng, random_share)))


def _interleave(
    doubt: Iterator[Draw], chance: Iterator[Draw], rng: np.random.Generator, share: float
) -> Iterator[Draw]:
    # The coin does not depend on the pairs, so the random stream stays a random sample.
    while True:
        first, second = (chance, doubt) if rng.random() < share else (doubt, chance)
        draw = next(first, None) or next(second, None)
        if draw is None:
            return
        yield draw


def _queue(draws: list[Draw]) -> Queue:
    count(len(draws), "pairs", least=1)
    return Queue(draws=tuple(draws))
