"""What a check of a store says, and what a copy of one came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from adjudge.results.base import Result, frozen


@dataclass(frozen=True, kw_only=True)
class StoredTable:
    """Rows of one table: those that can be read, and those that cannot.

    `damaged` is None where not even the number of rows can be read. `example` says what is wrong
    with the first of them.
    """

    table: str
    rows: int
    damaged: int | None
    example: str | None = None


@dataclass(frozen=True, kw_only=True)
class StoredCalls:
    """How many calls of one judge, asked by one protocol, ended in one status; retries count."""

    judge: str
    protocol: str
    status: str
    calls: int


@frozen
class StoreCheck(Result):
    """The state of a store. `problems` is what SQLite says of the file, a line each.

    A claim is alive while the process that made it is; `claims_unknown` are of another machine.
    """

    kind: ClassVar[str] = "store_check"

    store: str
    schema: str
    up_to_date: bool
    problems: tuple[str, ...]
    tables: tuple[StoredTable, ...]
    calls: tuple[StoredCalls, ...]
    labels: int
    raters: int
    claims_alive: int
    claims_dead: int
    claims_unknown: int
    rescued: str | None = None
    rescued_rows: int | None = None

    @property
    def damaged(self) -> bool:
        """Whether anything in the file is not as adjudge wrote it, as far as can be seen."""
        return bool(self.problems) or any(table.damaged != 0 for table in self.tables)

    def _parts(self) -> Sequence[Any]:
        return self.tables


@dataclass(frozen=True, kw_only=True)
class CopiedTable:
    """Rows of one table: copied, there already, and those that differ from the target's, which
    stays. Of calls, a conflict is one question with two histories."""

    table: str
    added: int
    same: int
    conflicts: int


@frozen
class StoreCopy(Result):
    """Everything of one store in another; doing it again changes nothing."""

    kind: ClassVar[str] = "store_copy"

    source: str
    target: str
    tables: tuple[CopiedTable, ...]

    @property
    def added(self) -> int:
        """Rows that the target did not have."""
        return sum(table.added for table in self.tables)

    @property
    def conflicts(self) -> int:
        """Rows that differ, and were not copied."""
        return sum(table.conflicts for table in self.tables)

    def _parts(self) -> Sequence[Any]:
        return self.tables
