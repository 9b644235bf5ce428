"""Served decisions in a store, and the random audits among accepted verdicts."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from adjudge.errors import AdjudgeError
from adjudge.hashing import content_hash
from adjudge.monitoring import AuditCoin
from adjudge.policy.audits import Monitor, MonitorGroup, read_monitor, state_name
from adjudge.policy.result import Policy
from adjudge.records import Grade, Judgment, Pair, Subject
from adjudge.server.service import Case, JudgeService, Ruling
from adjudge.server.webhook import PASSES
from adjudge.store import Served, Store, StorePlace, store_name
from adjudge.store.thread import StoreThread

_log = logging.getLogger("adjudge.server")
_LARGEST = 300.0


#: The hash of the texts in a stored row: the same id can come with other texts.
_TEXTS = "texts_hash"


class Kept(NamedTuple):
    """How many new audits there are, and how many ids came again with other texts."""

    audits: int
    reused_ids: int


class AuditTrail:
    """Stores every ruling before it is sent; audited ones are stored with their texts."""

    def __init__(self, coin: AuditCoin, service: JudgeService, store: StorePlace) -> None:
        self._coin = coin
        self._judges = service.judges
        self._policy = service.policy
        self._rules_id = service.policy.rules_id
        self._place = store
        self._thread: StoreThread | None = None

    async def start(self) -> None:
        """Open the store in its own thread."""
        self._thread = StoreThread(self._place)
        await self._thread.open()

    async def close(self) -> None:
        """Finish waiting jobs and close the store."""
        if self._thread is not None:
            await self._thread.close()

    async def keep(self, cases: Sequence[Case], rulings: Sequence[Ruling]) -> Kept:
        """Store these rulings: one row for each id with its texts.

        If an id was used before with other texts, a hash of the texts is added to it.
        """
        rulings_of = list(zip(cases, rulings, strict=True))
        if self._thread is None:
            raise RuntimeError("the audit trail is not started")
        return await self._thread.do(lambda store: self._store(store, rulings_of))

    def _store(self, store: Store, rulings_of: Sequence[tuple[Case, Ruling]]) -> Kept:
        rows = [self._row(case, ruling) for case, ruling in rulings_of]
        first: dict[str, Served] = {}
        for row in rows:
            first.setdefault(row.subject_id, row)
        new = store.add_served(first.values())
        added = [row for row in first.values() if row.subject_id in new]
        used = [name for name in first if name not in new]
        hashes = {row.subject_id: row.content[_TEXTS] for row in first.values()}
        for row in store.served(self._rules_id, used) if used else ():
            hashes[row.subject_id] = row.content.get(_TEXTS)
        reused = [
            self._row(case, ruling, used_before=True)
            for (case, ruling), row in zip(rulings_of, rows, strict=True)
            if row.content[_TEXTS] != hashes[row.subject_id]
        ]
        new = store.add_served(reused)
        added += {row.subject_id: row for row in reused if row.subject_id in new}.values()
        return Kept(audits=sum(row.audited for row in added), reused_ids=len(new))

    def _row(self, case: Case, ruling: Ruling, *, used_before: bool = False) -> Served:
        texts = _texts(case.subject)
        digest = content_hash(text or "" for text in texts.values())
        name = case.subject.id.encode("utf-8", "replace").decode()
        if used_before:
            name = f"{name}#{digest[:12]}"
        audited = ruling.accepted and self._coin.draws(name)
        content: dict[str, Any] = asdict(ruling.judgment)
        content |= dict.fromkeys(("extra", "label", "human"))  # labels come from people alone
        whose = "judge" if isinstance(ruling.judgment, Judgment) else "judge_name"
        judge = self._judges[ruling.asked - 1]  # for a cascade, the judge at which it ended
        fingerprint = ruling.judgment.judge_fingerprint or judge.fingerprint
        content |= {
            "id": name,
            whose: judge.backend.name,
            "protocol": judge.protocol.name,
            "judge_fingerprint": fingerprint,
            "served_model": ruling.judgment.extra.get("served_model"),
            **ruling.describe(),
            "audit_rate": self._coin.rate,
            _TEXTS: digest,
        }
        if isinstance(ruling.judgment, Grade):
            content["judge"] = None if ruling.verdict is None else int(PASSES[ruling.verdict])
        if self._policy.by is not None:
            content[self._policy.by] = case.group
        if self._policy.category is not None:
            content[self._policy.category] = case.category
        if audited:
            content |= texts
        return Served(
            rules_id=self._rules_id,
            subject_id=name,
            accepted=ruling.accepted,
            audited=audited,
            content={key: value for key, value in content.items() if value is not None},
        )


def _texts(subject: Subject) -> dict[str, str | None]:
    if isinstance(subject, Pair):
        return {name: getattr(subject, name) for name in ("prompt", "response_a", "response_b")}
    shown = {name: subject.extra.get(name) for name in ("reference", "context")}
    return {"prompt": subject.prompt, "response": subject.response, **shown}


class MonitorMetrics(Collector):
    """The result of the last `monitor check`, for Prometheus; empty without a state."""

    def __init__(self, state: str | Path, policy: Policy) -> None:
        self._state = state
        self._policy = policy

    def collect(self) -> Iterator[Metric]:
        """The gauges of the state as it is now."""
        monitor = None
        readable = True
        try:
            monitor = self._read()
        except (AdjudgeError, OSError) as error:
            _log.warning("the monitor's state cannot be read: %s", error)
            readable = False
        yield _gauge("readable", "Whether the state of the monitor can be read.", float(readable))
        if monitor is None:
            return
        yield _gauge("limit", "Error rate above which an alarm is raised.", monitor.limit)
        for name, (words, value_of) in _BY_GROUP.items():
            family = GaugeMetricFamily(f"adjudge_monitor_{name}", words, labels=["group"])
            for group in monitor.groups:
                value = value_of(group)
                if value is not None:
                    family.add_metric([group.group or ""], value)
            yield family
        audits = GaugeMetricFamily(
            "adjudge_monitor_audits", "Audits by outcome.", labels=["group", "outcome"]
        )
        for group in monitor.groups:
            for outcome in ("drawn", "returned", "pending", "missing"):
                audits.add_metric([group.group or "", outcome], getattr(group, f"n_{outcome}"))
        yield audits

    def _read(self) -> Monitor | None:
        rules_id = self._policy.rules_id
        names = [
            state_name(rules_id, by) for by in (None, self._policy.by)
        ]  # a store can have both
        monitor = read_monitor(self._state, names[0]) or read_monitor(self._state, names[1])
        if monitor is not None and monitor.rules_id != rules_id:
            _log.warning("the monitor's state is of another policy: %s", store_name(self._state))
            return None
        return monitor


#: The gauges of every group: help text and the function that reads the value.
_BY_GROUP: Mapping[str, tuple[str, Callable[[MonitorGroup], float | None]]] = {
    "e_value": (
        "Evidence that the error rate is above the limit.",
        lambda group: _power(group.rate.log10_e),
    ),
    "error_rate": ("Running error rate of accepted verdicts.", lambda group: group.rate.error_rate),
    "error_rate_low": ("Lower end of its interval.", lambda group: group.rate.interval.low),
    "error_rate_high": ("Upper end of its interval.", lambda group: group.rate.interval.high),
    "alarm": ("Whether an alarm was raised.", lambda group: float(group.rate.alarm)),
}


def _gauge(name: str, words: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"adjudge_monitor_{name}", words, value=value)


def _power(log10: float) -> float:
    return 10**log10 if log10 < _LARGEST else math.inf
