"""A check: count the audits; compute the running error rate, its interval, evidence, alarm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from adjudge.errors import ArgumentError
from adjudge.monitoring.counting import NEW_GROUPS, Ledger, Returns, count_audits, read_returns
from adjudge.monitoring.evidence import estimate_change, log_evidence
from adjudge.monitoring.intervals import running_interval
from adjudge.present.text import level
from adjudge.results.monitoring import AuditedRate, AuditPath, Monitor, MonitorGroup
from adjudge.results.rules import Cut
from adjudge.results.selection import Policy
from adjudge.rows.dropped import merge_dropped
from adjudge.rows.judgments import Judgments
from adjudge.uncertainty import INFINITE_DOUBT
from adjudge.validation import FloatArray, IntArray, non_negative, open_unit, positive

#: The most points of the figure.
_POINTS = 300
_OTHER_STATE = "give another --state: a choice made after looking at audits has no proof"


@dataclass(frozen=True, kw_only=True)
class MonitorTerms:
    """The terms of a monitor, chosen before its first audit is looked at."""

    limit: float
    delta: float = 0.05
    horizon: float = 1000.0
    by: str | None = None

    def __post_init__(self) -> None:
        open_unit(self.limit, "limit")
        open_unit(self.delta, "delta")
        if positive(self.horizon, "horizon") <= 1:
            raise ArgumentError("horizon", self.horizon, "give a number of audits above 1")


def check_terms(previous: Monitor, policy: Policy, given: Mapping[str, object]) -> None:
    """Refuse a state of another policy, or terms that changed since its first check."""
    if previous.rules_id != policy.rules_id:
        raise ArgumentError(
            "state", previous.rules_id, "is of another policy: give each policy its own --state"
        )
    for name, value in given.items():
        kept = getattr(previous, name)
        if value is not None and value != kept:
            raise ArgumentError(name, value, f"the state has {kept!r}; {_OTHER_STATE}")


def continue_monitor(
    previous: Monitor | None,
    audits: Judgments,
    policy: Policy,
    terms: MonitorTerms,
    *,
    remarks: Sequence[str] = (),
    wait_days: float = 14.0,
    now: float,
) -> Monitor:
    """The monitor after these audits, with their labels; `previous` is that of the last check.

    Repeated on the same audits, it stays the same. Under `terms.by` each group has its own process
    and an equal share of delta. The groups are those of the policy if it was calibrated by the same
    column; else those of the first check, and one more share for all that appear later.
    """
    non_negative(wait_days, "wait")
    returns = read_returns(audits, policy, by=terms.by)
    names, open_ended = _processes(policy, returns, terms.by)
    ledger = count_audits(previous, returns, known_groups=names, now=now, wait_days=wait_days)
    share = terms.delta / len(ledger.names)
    cuts, obstacle = _cuts(policy)
    return Monitor(
        rules_id=policy.rules_id,
        about=policy.about,
        guarantee=policy.guarantee,
        alpha=policy.alpha,
        policy_delta=policy.delta,
        policy_by=policy.by,
        min_answer_mass=policy.min_answer_mass,
        ties=policy.ties,
        limit=terms.limit,
        delta=terms.delta,
        horizon=terms.horizon,
        wait_days=wait_days,
        by=terms.by,
        new_groups=open_ended,
        groups=tuple(
            _group(ledger, code, terms, alpha=policy.alpha, delta=share)
            for code in range(len(ledger.names))
        ),
        cuts=cuts,
        no_recalibration=obstacle,
        promise=(
            f"as long as the error rate of accepted verdicts, given the past, is never above "
            f"{level(terms.limit)}, the probability that an alarm is ever raised is at most "
            f"{level(terms.delta)}"
        ),
        not_promised=(
            "that an alarm means a lasting change: a short period of errors above the limit can "
            "raise one although the long-term mean is below it"
        ),
        assumptions=(
            "audits were drawn at random among the accepted verdicts, and their place in the order "
            "of drawing does not depend on the labels",
            "audits are missing for reasons unrelated to errors; otherwise use the numbers with "
            "every missing audit counted as wrong",
        ),
        warnings=(*remarks, *returns.warnings),
        dropped=merge_dropped(
            returns.dropped,
            {
                "label changed after it was counted": ledger.changed,
                "label after the deadline of its audit": ledger.late,
            },
        ),
        ids=tuple(ledger.ids),
        outcomes=tuple(ledger.outcomes),
        group_of=tuple(ledger.group_of),
        pending_since=ledger.pending_since,
        adjudge_version=version("adjudge"),
    )


def _processes(policy: Policy, returns: Returns, by: str | None) -> tuple[list[str | None], bool]:
    """The groups that have their own process, and whether later groups share another."""
    if by is None:
        return [None], False
    if by == policy.by:
        covered = {name for group in policy.groups for name in group.covers if name is not None}
        return [*sorted(covered)], False
    seen = {group for group in returns.groups if group is not None}
    return [*sorted(seen), NEW_GROUPS], True


def _group(
    ledger: Ledger, code: int, terms: MonitorTerms, *, alpha: float, delta: float
) -> MonitorGroup:
    places = ledger.of_group(code)
    outcomes = [ledger.outcomes[at] for at in places]
    counted = [at for at in places if ledger.outcomes[at] in ("right", "wrong")]
    errors = np.array([ledger.outcomes[at] == "wrong" for at in counted], dtype=np.int64)
    missing = [own in ("wrong", "missing") for own in outcomes if own not in ("tie", "pending")]
    evidence = _evidence(errors, terms.limit, terms.horizon)
    ring = _first_alarm(evidence, delta)
    waiting = len(ledger.waiting.intersection(places))
    n_pending = outcomes.count("pending") - waiting
    return MonitorGroup(
        group=ledger.names[code],
        delta=delta,
        n_drawn=len(places),
        n_returned=len(places) - n_pending - outcomes.count("missing"),
        n_pending=n_pending,
        n_missing=outcomes.count("missing"),
        n_waiting=waiting,
        n_ties=outcomes.count("tie"),
        rate=_rate(errors, evidence, terms, alpha=alpha, delta=delta),
        worst=_rate(np.array(missing, dtype=np.int64), None, terms, alpha=alpha, delta=delta),
        alarm_at=None if ring is None else counted[ring] + 1,
        alarm_after=None if ring is None else ring + 1,
        change_at=(
            None if ring is None else counted[estimate_change(errors, limit=terms.limit) - 1] + 1
        ),
        path=_path(errors, evidence, delta, ring),
    )


def _evidence(errors: IntArray, limit: float, horizon: float) -> FloatArray:
    """log10 e before the first audit and after each."""
    if len(errors) == 0:
        return np.zeros(1)
    logs = log_evidence(errors, limit=limit, horizon=horizon)
    return np.concatenate([[0.0], logs / math.log(10)])


def _first_alarm(evidence: FloatArray, delta: float) -> int | None:
    """Which counted audit raised the alarm, from 0."""
    rung = np.flatnonzero(evidence >= -math.log10(delta))
    return int(rung[0]) - 1 if len(rung) else None


def _rate(
    errors: IntArray,
    evidence: FloatArray | None,
    terms: MonitorTerms,
    *,
    alpha: float,
    delta: float,
) -> AuditedRate:
    n, wrong = len(errors), int(errors.sum())
    low, high = running_interval([wrong], [n], delta=delta)
    if evidence is None:
        evidence = _evidence(errors, terms.limit, terms.horizon)
    against_alpha = evidence
    if terms.limit != alpha:
        against_alpha = _evidence(errors, alpha, terms.horizon)
    return AuditedRate(
        n=n,
        n_errors=wrong,
        error_rate=wrong / n if n else None,
        low=float(low[0]),
        high=float(high[0]),
        log10_e=float(evidence[-1]),
        most_log10_e=float(evidence.max()),
        log10_e_alpha=float(against_alpha[-1]),
        alarm=_first_alarm(evidence, delta) is not None,
    )


def _path(errors: IntArray, evidence: FloatArray, delta: float, ring: int | None) -> AuditPath:
    n = len(errors)
    spaced = np.linspace(1, n, min(n, _POINTS)).round().astype(np.int64)
    marked = [] if ring is None else [ring + 1]
    at = np.unique(np.concatenate([spaced, np.array(marked, dtype=np.int64)]))
    wrong = np.cumsum(errors)[at - 1]
    low, high = running_interval(wrong, at, delta=delta)
    columns: Sequence[FloatArray | IntArray] = (at, wrong / at, low, high, evidence[at])
    return AuditPath(
        **{
            name: tuple(values.tolist())
            for name, values in zip(
                ("audits", "error_rate", "low", "high", "log10_e"), columns, strict=True
            )
        }
    )


def _cuts(policy: Policy) -> tuple[tuple[Cut, ...], str | None]:
    """The policy's thresholds as cuts of its judges' scores, or why there are none.

    A rule that accepts everything was made from scores up to its largest: rows above it were not
    labelled. If several rules use one score, the lowest counts, as for labels below several cuts.
    """
    if policy.jury is not None or policy.learned:
        what = "a jury's score" if policy.jury is not None else "a learned doubt"
        return (), f"the policy accepts by {what}, but a cut needs a judge's own uncertainty"
    lowest: dict[tuple[str, str | None, str | None], Cut] = {}
    for group in policy.groups:
        at = group.threshold
        if group.accepts == "none":
            continue
        if group.accepts == "all":
            at = max((s for s in group.scores if s < INFINITE_DOUBT), default=None)
        if at is None:
            return (), "the policy decides on batches, and has no threshold to use as a cut"
        key = (group.judge, group.protocol, group.judge_fingerprint)
        cut = Cut(
            judge=group.judge,
            protocol=group.protocol,
            judge_fingerprint=group.judge_fingerprint,
            at=at,
            share=group.coverage,
        )
        if key not in lowest or at < lowest[key].at:
            lowest[key] = cut
    return tuple(lowest.values()), None if lowest else "the policy accepts nothing"
