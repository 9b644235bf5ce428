"""Labels of people, kept beside the judgments: every click, in order, never overwritten.

A label is an event; so is taking it back. What a rater now says of a pair is read from the events,
so that a reload, a kill or a second tab can lose nothing and count nothing twice: the page names
each click once (`nonce`), and a click that arrives again is the same click.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from adjudge.errors import ArgumentError, StoreError
from adjudge.records import Label, LabelValue, Order, SampledBy
from adjudge.store.sqlite import SQLiteStore

Action = Literal["label", "skip", "undo", "recount"]

#: The last event of each rater about each pair that was not taken back; `recount` changes only how
#: the label counts as sampled.
_STANDING = """
SELECT e.event, e.rater, e.subject_id, e.action, e.label, e.shown_order,
       COALESCE((SELECT r.sampled_by FROM label_events r
                 WHERE r.action = 'recount' AND r.undoes = e.event
                 ORDER BY r.event DESC LIMIT 1), e.sampled_by) AS sampled_by,
       e.created_at
FROM label_events e
WHERE e.action IN ('label', 'skip')
  AND NOT EXISTS (SELECT 1 FROM label_events u WHERE u.action = 'undo' AND u.undoes = e.event)
  AND NOT EXISTS (SELECT 1 FROM label_events later
                  WHERE later.rater = e.rater AND later.subject_id = e.subject_id
                    AND later.action IN ('label', 'skip') AND later.event > e.event
                    AND NOT EXISTS (SELECT 1 FROM label_events u
                                    WHERE u.action = 'undo' AND u.undoes = later.event))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What one rater now says of one pair; `label` is None for a skip."""

    event: int
    rater: str
    id: str
    label: LabelValue | None
    shown_order: Order | None
    sampled_by: SampledBy | None
    created_at: float


class LabelBook:
    """The labels of one store file. Safe to share between threads; processes share the file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        SQLiteStore(self.path).close()  # makes the file, or brings an older one up to date
        self._db = sqlite3.connect(
            self.path, timeout=30, isolation_level=None, check_same_thread=False
        )
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            # A label that was confirmed on the screen survives a power cut.
            self._db.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            self._db.close()
            raise StoreError(f"{path}: cannot keep labels here ({error})") from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def add(
        self,
        *,
        nonce: str,
        rater: str,
        subject_id: str,
        label: LabelValue | None,
        shown_order: Order | None,
        sampled_by: SampledBy | None,
    ) -> None:
        """Keep one click: a label, or a skip where `label` is None. The same nonce counts once."""
        action: Action = "skip" if label is None else "label"
        self._insert(nonce, rater, subject_id, action, label, shown_order, sampled_by, None)

    def undo(self, *, nonce: str, rater: str) -> str | None:
        """Take back the rater's last standing click; its pair's id, or None if there is none."""
        with self._lock:
            told = self._db.execute(
                "SELECT subject_id FROM label_events WHERE nonce = ? AND rater = ?", (nonce, rater)
            ).fetchone()
        if told is not None:
            return str(told[0])
        last = max(self.standing(rater), key=lambda click: click.event, default=None)
        if last is None:
            return None
        self._insert(nonce, rater, last.id, "undo", None, None, None, last.event)
        return last.id

    def recount(self, *, click: Standing, sampled_by: SampledBy) -> None:
        """Let a standing label count as sampled otherwise: a random draw met it too."""
        nonce = f"recount-{click.event}-{sampled_by}"
        self._insert(nonce, click.rater, click.id, "recount", None, None, sampled_by, click.event)

    def standing(self, rater: str | None = None) -> list[Standing]:
        """What stands now, oldest first; of one rater or of all."""
        with self._lock:
            rows = self._db.execute(
                _STANDING + " AND (:rater IS NULL OR e.rater = :rater) ORDER BY e.event",
                {"rater": rater},
            ).fetchall()
        return [
            Standing(
                event=event,
                rater=who,
                id=subject,
                label=label if action == "label" else None,
                shown_order=order,
                sampled_by=sampled,
                created_at=created,
            )
            for event, who, subject, action, label, order, sampled, created in rows
        ]

    def labels(self) -> list[Label]:
        """Every standing label, skips left out: the rows of a labels file."""
        return [
            Label(
                id=click.id,
                label=click.label,
                rater=click.rater,
                sampled_by=click.sampled_by,
                shown_order=click.shown_order,
            )
            for click in self.standing()
            if click.label is not None
        ]

    def import_labels(self, labels: Iterable[Label]) -> tuple[int, int]:
        """Add labels from elsewhere; (added, already there). Importing twice changes nothing."""
        there = {(click.rater, click.id): click.label for click in self.standing()}
        added = same = 0
        for label in labels:
            rater = label.rater or "imported"
            if there.get((rater, label.id)) == label.label:
                same += 1
                continue
            self.add(
                nonce=f"import-{time.time_ns()}-{added}",
                rater=rater,
                subject_id=label.id,
                label=label.label,
                shown_order=label.shown_order,
                sampled_by=label.sampled_by,
            )
            there[(rater, label.id)] = label.label
            added += 1
        return added, same

    def raters(self) -> Sequence[str]:
        """Everyone who has clicked here, in alphabetical order."""
        with self._lock:
            rows = self._db.execute("SELECT DISTINCT rater FROM label_events ORDER BY rater")
            return [str(row[0]) for row in rows.fetchall()]

    def _insert(
        self,
        nonce: str,
        rater: str,
        subject_id: str,
        action: Action,
        label: LabelValue | None,
        shown_order: Order | None,
        sampled_by: SampledBy | None,
        undoes: int | None,
    ) -> None:
        if label is not None and label not in get_args(LabelValue):
            raise ArgumentError("label", label, "use A, B or tie")
        if not rater.strip():
            raise ArgumentError("rater", rater, "give a name")
        try:
            with self._lock:
                self._db.execute(
                    "INSERT INTO label_events (nonce, rater, subject_id, action, label, "
                    "shown_order, sampled_by, undoes, created_at) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (nonce) DO NOTHING",
                    (nonce, rater, subject_id, action, label, shown_order, sampled_by, undoes,
                     time.time()),
                )  # fmt: skip
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: the label was not kept ({error})") from None
