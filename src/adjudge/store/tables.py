"""The tables that both databases read and write with the same statements."""

# ruff: noqa: S608  (what is put into statements here is column names and marks, no values)
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from adjudge.store.columns import SERVED_COLUMNS, decode_object, decode_served, now, storable
from adjudge.store.interface import KnownJudge, KnownPrompt, Served
from adjudge.store.keys import canonical_json

#: Rows per page: limits memory and the time for which others wait.
PAGE = 500


class SharedTables(ABC):
    """Judges, prompts, audits and monitors. `Store` documents each method."""

    name: str
    #: What a statement has in the place of a value.
    _mark: ClassVar[str]

    @abstractmethod
    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows of a statement."""

    @abstractmethod
    def _write(self, query: str, values: Sequence[Any]) -> None:
        """Run a statement that writes."""

    def _has(self, table: str) -> bool:
        """Whether the table is there: an older file that is only read can lack it."""
        return True

    def _marks(self, values: Sequence[Any]) -> str:
        return "(" + ", ".join([self._mark] * len(values)) + ")"

    def remember_judge(
        self, fingerprint: str, *, judge: str, protocol: str, parts: Mapping[str, Any]
    ) -> None:
        values = (fingerprint, judge, protocol, canonical_json(parts), now())
        self._write(
            "INSERT INTO judges (judge_fingerprint, judge, protocol, parts, first_seen)"
            f" VALUES {self._marks(values)} ON CONFLICT (judge_fingerprint) DO NOTHING",
            values,
        )

    def judge_parts(self, fingerprint: str) -> dict[str, Any] | None:
        rows = self._all(
            f"SELECT parts FROM judges WHERE judge_fingerprint = {self._mark}", (fingerprint,)
        )
        return decode_object(rows[0], "judges", self.name)[-1] if rows else None

    def judges(self) -> dict[str, KnownJudge]:
        rows = self._all("SELECT judge_fingerprint, judge, protocol, parts FROM judges")
        read = (decode_object(row, "judges", self.name) for row in rows)
        return {key: KnownJudge(*kept) for key, *kept in read}

    def remember_prompt(self, sha256: str, prompt: KnownPrompt) -> None:
        name, text = storable(prompt.name), storable(prompt.text)
        values = (sha256, name, text, canonical_json(prompt.answer))
        self._write(
            f"INSERT INTO prompts (sha256, name, text, answer) VALUES {self._marks(values)}"
            " ON CONFLICT (sha256) DO NOTHING",
            values,
        )

    def prompts(self) -> dict[str, KnownPrompt]:
        if not self._has("prompts"):
            return {}
        rows = self._all("SELECT sha256, name, text, answer FROM prompts")
        read = (decode_object(row, "prompts", self.name) for row in rows)
        return {key: KnownPrompt(*kept) for key, *kept in read}

    def audits(self, rules_id: str) -> list[Served]:
        if not self._has("served"):
            return []
        rows = self._all(
            f"SELECT {SERVED_COLUMNS} FROM served WHERE rules_id = {self._mark} AND audited = 1"
            " ORDER BY served",
            (rules_id,),
        )
        return [decode_served(row, self.name) for row in rows]

    def count_served(self, rules_id: str) -> tuple[int, int]:
        [(served, accepted)] = self._all(
            "SELECT COUNT(*), COALESCE(SUM(accepted), 0) FROM served"
            f" WHERE rules_id = {self._mark}",
            (rules_id,),
        )
        return int(served), int(accepted)

    def served_rules(self) -> list[str]:
        if not self._has("served"):
            return []
        rows = self._all("SELECT rules_id FROM served GROUP BY rules_id ORDER BY MAX(served)")
        return [name for (name,) in rows]

    def keep_monitor(self, name: str, state: str) -> None:
        values = (name, state, now())
        self._write(
            f"INSERT INTO monitors (name, state, saved_at) VALUES {self._marks(values)}"
            " ON CONFLICT (name)"
            " DO UPDATE SET state = excluded.state, saved_at = excluded.saved_at",
            values,
        )

    def monitors(self) -> dict[str, str]:
        if not self._has("monitors"):
            return {}
        return dict(sorted(self._all("SELECT name, state FROM monitors")))
