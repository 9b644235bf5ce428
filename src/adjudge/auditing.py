"""A policy under audit: compare what selection promised with what monitoring counts.

The analyses do not import each other. A check needs the policy's guarantee, for the rate above
which to raise an alarm, and the process of audits. It combines them here.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from adjudge.data.judgments import prepare_judgments
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.monitoring import MonitorTerms, check_terms, continue_monitor
from adjudge.monitoring.drawing import read_audit_labels, read_served_audits
from adjudge.policy.audits import Monitor, read_monitor, state_name, write_state
from adjudge.policy.result import Policy
from adjudge.selection import find_guarantee, read_policy
from adjudge.selection.doubts.base import load_doubt
from adjudge.selection.verifying import check_about
from adjudge.store import is_store
from adjudge.validation import exact_level


def check_audits(
    audits: TableLike,
    policy: Policy | str | Path,
    *,
    labels: TableLike | None = None,
    state: str | Path | None = None,
    limit: float | None = None,
    delta: float | None = None,
    horizon: float | None = None,
    wait: float = 14.0,
    by: str | None = None,
    now: float | None = None,
) -> Monitor:
    """Whether the policy still keeps its error rate, from audits of what it accepted.

    Audits count in the order of drawing. An alarm is raised when the evidence that the error rate
    is above `limit` reaches 1 / `delta`, at any time. Repeating a check on the same audits is safe.
    Limit, delta, horizon and by are chosen once: a state refuses other values.

    Args:
        audits: All audits drawn so far (monitor draw -o), or the store that has them. In Python the
            rows of `draw_audits`, with labels in their column `label` or in `labels`; a store is
            one that `serve --audit-rate` and `label` used.
        policy: The policy whose accepted verdicts these are.
        labels: Human labels by id, for rows without a label.
        state: File or store of the counts; the next check continues from them. Without it every
            check counts from the first audit.
        limit: Alarm above this error rate. The default is the guarantee's own (`alarm_limit`):
            alpha if it promises a single threshold, else 1.5 alpha.
        delta: Largest probability of a false alarm over all checks. The default is 0.05.
        horizon: Number of audits within which a change is detected best (mean of the weights). The
            default is 1000.
        wait: Days until an audit without a label counts as missing.
        by: A monitor for each value of this column; delta is shared.
        now: Time of the check (Unix).

    >>> from adjudge import calibrate, select, draw_audits
    >>> old = {"id": range(60), "p_a": [0.95] * 60, "label": ["A"] * 60}
    >>> policy = calibrate(old, alpha=0.1)
    >>> new = {"id": range(100, 180), "p_a": [0.95] * 80, "label": ["A", "B"] * 40}
    >>> drawn = draw_audits(select(new, policy).rows, audit_rate=1, secret="not a secret: a test")
    >>> monitor = check_audits(drawn.rows, policy)
    >>> monitor.limit, monitor.alarm, monitor.alarm_at
    (0.15, True, 14)
    """
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    if isinstance(audits, (str, Path)) and is_store(audits):
        place = audits
        audits = read_served_audits(place, rules_id=rules.rules_id).rows
        labels = read_audit_labels(place, about=rules.about) if labels is None else labels
    rows = prepare_judgments(audits, labels=labels)
    check_about(rules, rows.about)
    doubt = load_doubt(rules)
    remarks = doubt.check_judges(rows.frame)
    doubt.check_decided(rows.frame)
    options = {"limit": limit, "delta": delta, "horizon": horizon, "by": by}
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    while True:
        previous = None if state is None else read_monitor(state, state_name(rules.rules_id, by))
        if previous is not None:
            check_terms(previous, rules, chosen)
            terms = MonitorTerms.of(previous)
        else:
            default: dict[str, Any] = {"limit": _default_limit(rules)} if limit is None else {}
            terms = MonitorTerms(**default, **chosen)
        monitor = continue_monitor(
            previous,
            rows,
            rules,
            terms,
            remarks=remarks,
            wait_days=wait,
            now=time.time() if now is None else now,
        )
        # If another check wrote the state meanwhile, continue from what that one counted.
        if state is None or write_state(monitor, state, previous):
            return monitor


def _default_limit(policy: Policy) -> float:
    limit = find_guarantee(policy.guarantee).alarm_limit(exact_level(policy.alpha))
    if limit >= 1:
        raise ArgumentError("limit", float(limit), "is not below 1: name a --limit")
    return float(limit)
