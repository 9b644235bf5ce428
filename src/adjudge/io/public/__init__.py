"""Public data sets, read as they are published and turned into adjudge's own rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import polars as pl

from adjudge._validation import count
from adjudge.errors import ArgumentError, DataError
from adjudge.io._formats import SIGNATURES, looks_like, other_format
from adjudge.io._json import Record, column_series, records_frame
from adjudge.io.battles import check_battles
from adjudge.io.items import check_items
from adjudge.io.judgments import check_judgments
from adjudge.io.labels import check_labels
from adjudge.io.pairs import check_pairs
from adjudge.io.public import (
    alpaca_eval,
    arena_hard,
    comparia,
    llmbar,
    lmarena,
    mt_bench,
    rewardbench,
    softelo,
    summeval,
    trust_or_escalate,
)
from adjudge.io.public._convert import Context, Format, Kind, LeftOut, Opened, Row
from adjudge.io.scores import check_human_scores
from adjudge.io.tables import (
    TableLike,
    first_row,
    is_json,
    iter_rows,
    quick_rows,
    read_table,
    source_name,
)

_MODULES = (
    alpaca_eval,
    arena_hard,
    comparia,
    llmbar,
    lmarena,
    mt_bench,
    rewardbench,
    softelo,
    summeval,
    trust_or_escalate,
)
#: Every public format by the name that --from takes.
PUBLIC_FORMATS: Mapping[str, Format] = MappingProxyType(
    {found.name: found for module in _MODULES for found in module.FORMATS}
)
_SIGNATURE = {known.name: known for known in SIGNATURES}

__all__ = ["PUBLIC_FORMATS", "Opened", "iter_public", "read_public", "sniff"]


_CHECKS: dict[Kind, Callable[[pl.DataFrame, str], pl.DataFrame]] = {
    "pairs": check_pairs,
    "battles": check_battles,
    "judgments": check_judgments,
    "items": check_items,
    "labels": check_labels,
    "human_scores": check_human_scores,
}


def sniff(source: TableLike) -> str | None:
    """The name of the format that the first row looks like, native or public, or None.

    >>> sniff([{"input": "Say hi.", "output_1": "hi", "output_2": "bye", "label": 1}])
    'llmbar'
    """
    first = first_row(source)
    found = looks_like(first) if first is not None else None
    return None if found is None else found.name


def read_public(
    source: TableLike,
    name: str | None = None,
    *,
    kind: Kind | None = None,
    seed: int = 0,
    baseline: str | None = None,
) -> Opened:
    """A public data set as adjudge's own rows; `name` is found by looking where it is not given.

    `kind` chooses what it becomes where it can become several things (pairs before battles).
    `seed` decides where RewardBench's chosen response stands; `baseline` names Arena-Hard's.
    Columns that are not used are kept.

    >>> rows = read_public([{"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 1}])
    >>> rows.format, rows.kind, rows.frame["label"].to_list()
    ('llmbar', 'pairs', ['A'])
    """
    found = _format(source, name)
    wanted: Kind = kind if kind is not None else next(iter(found.gives))
    where = source_name(source)
    context = Context(where=where, seed=count(seed, "seed"), baseline=baseline)
    kept, rows = _columns(source, found, wanted)
    made = list(_converted(rows, found, wanted, context))
    if not made:
        reasons = ", ".join(f"{n} {reason}" for reason, n in context.dropped.items())
        raise DataError(where, f"no row can be used ({reasons or 'it has none'})")
    frame = records_frame([record for _, record in made], where)
    if not _merges(found, wanted):
        at = [number - 1 for number, _ in made]
        frame = frame.hstack(
            [column.gather(at) for column in kept if column.name not in frame.columns]
        )
    return Opened(
        frame=_CHECKS[wanted](frame, where),
        format=found.name,
        kind=wanted,
        dropped=dict(context.dropped),
        notes=found.notes,
    )


def iter_public(
    source: TableLike, name: str, *, kind: Kind, seed: int = 0, dropped: Counter[str]
) -> Iterator[Record]:
    """The converted rows one by one; `dropped` is counted up while they pass."""
    found = _format(source, name)
    gone = found.used | found.texts
    context = Context(where=source_name(source), seed=count(seed, "seed"), dropped=dropped)
    kept: Record = {}

    def passing() -> Iterator[Record]:
        nonlocal kept
        for record in iter_rows(source):
            kept = {key: value for key, value in record.items() if key not in gone}
            yield record

    merged = _merges(found, kind)
    for _, record in _converted(passing(), found, kind, context):
        yield record if merged else {**kept, **record}


def _columns(
    source: TableLike, found: Format, kind: Kind
) -> tuple[list[pl.Series], Iterable[Record]]:
    """The columns that stay as they are, and the rows of those that are turned into others."""
    gone = found.used | found.texts
    if isinstance(source, (str, Path)) and is_json(source):
        # Nested JSON is read into rows in a third of the time it takes to read it into columns.
        rows = list(iter_rows(source))
        names = dict.fromkeys(name for row in rows for name in row if name not in gone)
        where = source_name(source)
        return [column_series(n, [row.get(n) for row in rows], where) for n in names], rows
    unread = frozenset() if kind in ("pairs", "items") else found.texts
    frame = read_table(source, text=gone, without=unread)
    chosen = frame.select(name for name in frame.columns if name in gone - unread)
    return [frame[name] for name in frame.columns if name not in gone], quick_rows(chosen)


def _converted(
    rows: Iterable[Record], found: Format, kind: Kind, context: Context
) -> Iterator[tuple[int, Record]]:
    """What the rows become, each with the number of the row it was made of."""
    if kind not in found.gives:
        raise ArgumentError(
            "kind", kind, f"{found.name} can be read as " + " or ".join(found.gives)
        )
    made = _each(rows, found, kind, context)
    merge = _merges(found, kind)
    if merge is not None:
        return enumerate(merge(record for _, record in made), start=1)
    return made


def _each(
    rows: Iterable[Record], found: Format, kind: Kind, context: Context
) -> Iterator[tuple[int, Record]]:
    convert = found.gives[kind]
    for number, record in enumerate(rows, start=1):
        try:
            for made in convert(Row(record, number, context)):
                if kind == "battles" and made["model_a"] == made["model_b"]:
                    raise LeftOut("a model met itself")
                yield number, made
        except LeftOut as reason:
            context.dropped[str(reason)] += 1


def _merges(found: Format, kind: Kind) -> Callable[..., Iterator[Record]] | None:
    return found.merge if kind == "pairs" else None


def _refuse_other(source: TableLike, name: str) -> None:
    """Refuse a file whose first row is not of the format that was named."""
    signature = _SIGNATURE[name]
    first = first_row(source)
    if first is None or signature.fits(first):
        return
    where = source_name(source)
    other = looks_like(first)
    if other is not None:
        raise other_format(other, name, where)
    absent = sorted(signature.needs - set(first))
    raise DataError(
        where,
        f"is not {signature.title}",
        column=absent[0] if absent else None,
        remedy="its columns are " + ", ".join(sorted(signature.needs)),
    )


def _format(source: TableLike, name: str | None) -> Format:
    if name is None:
        found = sniff(source)
        if found is None or found not in PUBLIC_FORMATS:
            raise DataError(
                source_name(source),
                "looks like no public data set" if found is None else f"looks like native {found}",
                remedy="name it with --from: " + ", ".join(PUBLIC_FORMATS),
            )
        name = found
    if name not in PUBLIC_FORMATS:
        raise ArgumentError("name", name, "choose one of " + ", ".join(PUBLIC_FORMATS))
    _refuse_other(source, name)
    return PUBLIC_FORMATS[name]
