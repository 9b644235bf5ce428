"""What is judged, from wherever it comes, read as often as needed without being held in memory.

A run reads its input three times: to check and count it before a cent is spent, to ask, and to
write the rows in input order. Files and frames can be read again; what comes out of a generator
is put into a temporary file on the first reading.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from adjudge._validation import count
from adjudge.errors import ArgumentError, DataError
from adjudge.io import Stream, open_items, open_pairs
from adjudge.records import Item, Pair

Subject = Pair | Item
#: A path, a polars or pandas frame, or an iterable of Pair (or Item).
SubjectSource = Any


@dataclass(slots=True)
class Survey:
    """What a first reading finds: how many subjects there are, and which columns they carry."""

    subjects: int = 0
    columns: dict[str, None] = field(default_factory=dict)
    first: Subject | None = None


class Subjects:
    """The input of a run: iterate it as often as you like."""

    def __init__(
        self,
        source: SubjectSource,
        *,
        limit: int | None = None,
        items: bool = False,
        source_format: str | None = None,
        seed: int = 0,
    ) -> None:
        self._limit = None if limit is None else count(limit, "limit", least=1)
        self._source = source
        self._spool: Path | None = None
        self._stream: Stream[Pair] | Stream[Item] | None = None
        is_records = isinstance(source, Iterable) and not isinstance(source, (str, Path, Mapping))
        if isinstance(source, Sequence) and not isinstance(source, str):
            self._records = bool(source) and isinstance(source[0], (Pair, Item))
        else:
            self._records = is_records and not hasattr(source, "columns")
        self.name = "<pairs>"
        if not self._records:
            self._stream = (
                open_items(source, source_format)
                if items
                else open_pairs(source, source_format, seed=seed)
            )
            self.name = self._stream.name
        elif source_format is not None:
            raise ArgumentError("source_format", source_format, "it is for files; leave it out")

    def __iter__(self) -> Iterator[Subject]:
        return islice(self._all(), self._limit)

    @property
    def dropped(self) -> dict[str, int]:
        """Rows of a public data set that hold no pair, by reason, known after a full reading."""
        return {} if self._stream is None else dict(self._stream.dropped)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of a public data set."""
        return () if self._stream is None else tuple(self._stream.notes)

    def survey(self) -> Survey:
        """Read everything once; bad rows and ids that come twice are refused here."""
        found = Survey()
        hashes = array("q")
        for subject in self:
            found.subjects += 1
            found.first = found.first or subject
            for name in carried(subject):
                found.columns.setdefault(name)
            if self._records:
                hashes.append(hash(subject.id))
        if found.subjects == 0:
            raise DataError(self.name, "has no rows", remedy="give at least one pair")
        self._refuse_twins(hashes)
        return found

    def close(self) -> None:
        """Remove the temporary file, if there is one."""
        if self._spool is not None:
            self._spool.unlink(missing_ok=True)
            self._spool = None

    def _all(self) -> Iterator[Subject]:
        if self._stream is not None:
            return iter(self._stream)
        if isinstance(self._source, Sequence):
            return self._checked(iter(self._source))
        if self._spool is None:
            self._fill_spool()
        return self._from_spool()

    def _fill_spool(self) -> None:
        handle, path = tempfile.mkstemp(prefix="adjudge-", suffix=".pairs")
        self._spool = Path(path)
        with os.fdopen(handle, "wb") as out:
            for subject in islice(self._checked(iter(self._source)), self._limit):
                pickle.dump(subject, out, protocol=pickle.HIGHEST_PROTOCOL)

    def _from_spool(self) -> Iterator[Subject]:
        if self._spool is None:
            raise ArgumentError("pairs", self.name, "they were closed; give them again")
        with self._spool.open("rb") as handle:
            while True:
                try:
                    yield pickle.load(handle)  # noqa: S301  (we wrote the file ourselves, see above)
                except EOFError:
                    return

    def _checked(self, subjects: Iterator[Any]) -> Iterator[Subject]:
        for position, subject in enumerate(subjects):
            if not isinstance(subject, (Pair, Item)):
                raise ArgumentError(
                    f"pairs[{position}]", subject, "give Pair records, a path or a frame"
                )
            yield subject

    def _refuse_twins(self, hashes: array[int]) -> None:
        """Ids that come twice. Eight bytes a subject suffice to know whether to look closer."""
        values, times = np.unique(np.frombuffer(hashes, dtype=np.int64), return_counts=True)
        suspects = set(values[times > 1].tolist())
        seen: set[str] = set()
        for row, subject in enumerate(self if suspects else (), start=1):
            if hash(subject.id) not in suspects:
                continue
            if subject.id in seen:
                raise DataError(
                    self.name,
                    f"id {subject.id!r} comes twice",
                    row=row,
                    column="id",
                    remedy="give every pair its own id",
                )
            seen.add(subject.id)


def carried(subject: Subject) -> dict[str, Any]:
    """The columns of a subject that its judgments carry on: all but the texts and the id."""
    if isinstance(subject, Pair):
        known = {
            "prompt_id": subject.prompt_id,
            "model_a": subject.model_a,
            "model_b": subject.model_b,
        }
    else:
        known = {}
    return {name: value for name, value in known.items() if value is not None} | dict(subject.extra)
