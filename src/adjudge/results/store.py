"""Results of a check of a store, and of a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adjudge.present.blocks import Block
from adjudge.present.result import Result, frozen


@dataclass(frozen=True, kw_only=True)
class StoredTable:
    """Rows of one table: readable ones and damaged ones.

    `damaged` is None if not even the number of rows can be read. `example` describes the first
    damaged one.
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
    """The state of a store. `problems` are SQLite's messages about the file, a line each.

    A claim is alive while its process is running; `claims_unknown` are of another machine.
    """

    kind: ClassVar[str] = "store_check"
    rows_in: ClassVar[str] = "tables"

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
        """Whether anything in the file differs from what adjudge wrote, if it can be checked."""
        return bool(self.problems) or any(table.damaged != 0 for table in self.tables)

    def view(self) -> list[Block]:
        from adjudge.present.views.store import view_store_check

        return view_store_check(self)


@dataclass(frozen=True, kw_only=True)
class CopiedTable:
    """Rows of one table: copied, already there, and those that differ from the target's, which
    is kept. For calls, a conflict is one question with two histories."""

    table: str
    added: int
    same: int
    conflicts: int


@frozen
class StoreCopy(Result):
    """All content of one store copied to another; repeating it changes nothing."""

    kind: ClassVar[str] = "store_copy"
    rows_in: ClassVar[str] = "tables"

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

    def view(self) -> list[Block]:
        from adjudge.present.views.store import view_store_copy

        return view_store_copy(self)
