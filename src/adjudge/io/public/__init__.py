"""Public data sets, read as they are published and turned into adjudge's own rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import polars as pl

from adjudge._validation import count
from adjudge.errors import ArgumentError, DataError
from adjudge.io._formats import SIGNATURES, looks_like, other_format
from adjudge.io._json import Record, records_frame
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
from adjudge.io.public._convert import Context, Format, Kind, Opened
from adjudge.io.scores import check_human_scores
from adjudge.io.tables import TableLike, iter_rows, source_name

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
    first = next(iter_rows(source), None)
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
    dropped: Counter[str] = Counter()
    rows = list(
        iter_public(source, found.name, kind=wanted, seed=seed, baseline=baseline, dropped=dropped)
    )
    if not rows:
        reasons = ", ".join(f"{n} {reason}" for reason, n in dropped.items())
        raise DataError(source_name(source), f"no row can be used ({reasons or 'it has none'})")
    where = source_name(source)
    return Opened(
        frame=_CHECKS[wanted](records_frame(rows, where), where),
        format=found.name,
        kind=wanted,
        dropped=dict(dropped),
        notes=found.notes,
    )


def iter_public(
    source: TableLike,
    name: str,
    *,
    kind: Kind,
    seed: int = 0,
    baseline: str | None = None,
    dropped: Counter[str] | None = None,
) -> Iterator[Record]:
    """The converted rows one by one; `dropped` is counted up while they pass."""
    found = _format(source, name)
    if kind not in found.gives:
        raise ArgumentError(
            "kind", kind, f"{found.name} can be read as " + " or ".join(found.gives)
        )
    where = source_name(source)
    context = Context(where=where, seed=count(seed, "seed"), baseline=baseline)
    if dropped is not None:
        context.dropped = dropped
    yield from found.gives[kind](_numbered(source, found.name, where), context)


def _numbered(source: TableLike, name: str, where: str) -> Iterator[tuple[int, Record]]:
    signature = _SIGNATURE[name]
    for row, record in enumerate(iter_rows(source), start=1):
        if row == 1 and not signature.fits(record):
            other = looks_like(record)
            if other is not None:
                raise other_format(other, name, where)
            absent = sorted(signature.needs - set(record))
            raise DataError(
                where,
                f"is not {signature.title}",
                column=absent[0] if absent else None,
                remedy="its columns are " + ", ".join(sorted(signature.needs)),
            )
        yield row, record


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
    return PUBLIC_FORMATS[name]
