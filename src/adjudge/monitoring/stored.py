"""Audits that a service drew and stored, their labels, and monitor states in a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io.results import write_result
from adjudge.io.tables import TableLike
from adjudge.monitoring.counting import DRAWN_AT
from adjudge.monitoring.drawing import AuditRun, number_audits
from adjudge.records import About
from adjudge.results.monitoring import AuditDraw, Monitor
from adjudge.store import Served, Store, StorePlace, is_store, store_name, use_store
from adjudge.store.labels import GRADE_LABELS, PAIR_LABELS, LabelBook


def read_served_audits(place: StorePlace, *, rules_id: str | None = None) -> AuditRun:
    """The audits that `serve --audit-rate` drew under these rules, or under the only ones."""
    with use_store(place, readonly=True) as store:
        known = store.served_rules()
        if rules_id is None and len(known) > 1:
            raise ArgumentError("policy", None, "several policies were served: name one")
        rules = rules_id or next(iter(known), "")
        audits = store.audits(rules)
        served, accepted = store.count_served(rules) if rules in known else (0, 0)
    if not audits:
        raise DataError(
            store_name(place) or "the store",
            "has no audits" if rules_id is None else "has no audits of this policy",
            remedy="run serve with --audit-rate and this store",
        )
    return AuditRun(
        summary=AuditDraw(
            audit_rate=None,
            n_served=served,
            n_accepted=accepted,
            n_drawn=len(audits),
            n_new=len(audits),
            dropped={"not accepted": served - accepted},
        ),
        rows=_frame(audits),
    )


def read_audit_labels(place: StorePlace, *, about: About) -> TableLike | None:
    """The labels in the store, as a table; None if there are none."""
    with use_store(place, readonly=True) as store:
        book = LabelBook(store, PAIR_LABELS if about == "pairs" else GRADE_LABELS)
        answers = [answer for answer in book.answers() if answer.label is not None]
    if not answers:
        return None
    return pl.DataFrame(
        {
            "id": [answer.id for answer in answers],
            "label": [answer.label for answer in answers],
            "rater": [answer.rater for answer in answers],
        }
    )


def all_audits(store: Store) -> list[Served]:
    """All audits, under any rules, in the order of serving; each id once."""
    audits = [audit for rules in store.served_rules() for audit in store.audits(rules)]
    first: dict[str, Served] = {}
    for audit in sorted(audits, key=lambda audit: audit.number):
        first.setdefault(audit.subject_id, audit)
    return list(first.values())


def write_state(monitor: Monitor, place: str | Path) -> None:
    """Save the monitor atomically: by a rename, or in one transaction of a store."""
    if not is_store(place):
        write_result(monitor, place)
        return
    with use_store(place) as store:
        store.keep_monitor(state_name(monitor.rules_id, monitor.by), monitor.to_json(indent=None))


def state_name(rules_id: str, by: str | None) -> str:
    """The name in a store of the monitor of these rules; one by groups has another name."""
    return rules_id if by is None else f"{rules_id} by {by}"


def _frame(audits: Sequence[Served]) -> pl.DataFrame:
    rows = [
        {
            **audit.content,
            "id": audit.subject_id,
            DRAWN_AT: datetime.fromtimestamp(audit.served_at, UTC).isoformat(),
        }
        for audit in audits
    ]
    rates = [audit.content.get("audit_rate") for audit in audits]
    frame = number_audits(pl.DataFrame(rows, infer_schema_length=None).drop("audit_rate"))
    return frame.with_columns(audit_rate=pl.Series(rates, dtype=pl.Float64))
