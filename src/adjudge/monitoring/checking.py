"""A check: count the audits; compute the running error rate, its interval, evidence, alarm.

Labels come back in any order, and wrong verdicts can come back sooner than right ones. So an audit
counts only when all audits drawn before it have returned or are missing. The process waits at the
first pending one until its label comes or its deadline passes. After the deadline it is missing
permanently. A label that changes after it was counted has no effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np
import polars as pl

from adjudge.data.judgments import IS_ERROR, Judgments
from adjudge.data.rows import merge_dropped, text_column, tidy
from adjudge.data.tables import as_text
from adjudge.errors import ArgumentError, DataError
from adjudge.monitoring.evidence import (
    check_horizon,
    estimate_change,
    log_evidence,
    running_interval,
)
from adjudge.policy.audits import (
    DRAWN_AT,
    AuditedRate,
    AuditPath,
    Monitor,
    MonitorGroup,
    Outcome,
    order_audits,
)
from adjudge.policy.result import Cut, Policy
from adjudge.present import text
from adjudge.records import Interval
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.validation import FloatArray, IntArray, non_negative, open_unit

#: The most points of the figure.
_POINTS = 300
_OTHER_STATE = "give another --state: a choice made after looking at audits has no proof"
#: The group of audits without a value in the grouping column.
NO_GROUP = "(none)"
#: The process shared by groups that were unknown at the first check.
NEW_GROUPS = "(new groups)"
_DAY_S = 86_400


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
        check_horizon(self.horizon)


def check_terms(previous: Monitor, policy: Policy, chosen: Mapping[str, object]) -> None:
    """Refuse a state of another policy, or terms that changed since its first check."""
    if previous.rules_id != policy.rules_id:
        raise ArgumentError(
            "state", previous.rules_id, "is of another policy: give each policy its own --state"
        )
    for name, value in chosen.items():
        first = getattr(previous, name)
        if value is not None and value != first:
            raise ArgumentError(name, value, f"the state has {first!r}; {_OTHER_STATE}")


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
            _monitor_group(ledger, code, terms, alpha=policy.alpha, delta=share)
            for code in range(len(ledger.names))
        ),
        cuts=cuts,
        no_recalibration=obstacle,
        promise=(
            f"as long as the error rate of accepted verdicts, given the past, is never above "
            f"{text.level(terms.limit)}, the probability that an alarm is ever raised is at most "
            f"{text.level(terms.delta)}"
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


def _monitor_group(
    ledger: Ledger, code: int, terms: MonitorTerms, *, alpha: float, delta: float
) -> MonitorGroup:
    places = ledger.of_group(code)
    outcomes = [ledger.outcomes[at] for at in places]
    counted = [at for at in places if ledger.outcomes[at] in ("right", "wrong")]
    errors = np.array([ledger.outcomes[at] == "wrong" for at in counted], dtype=np.int64)
    missing = [
        outcome in ("wrong", "missing") for outcome in outcomes if outcome not in ("tie", "pending")
    ]
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
        rate=_audited_rate(errors, evidence, terms, alpha=alpha, delta=delta),
        worst=_audited_rate(
            np.array(missing, dtype=np.int64), None, terms, alpha=alpha, delta=delta
        ),
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


def _audited_rate(
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
        interval=Interval(float(low[0]), float(high[0]), level=1 - delta),
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
    return AuditPath(
        audits=tuple(at.tolist()),
        error_rate=tuple((wrong / at).tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        log10_e=tuple(evidence[at].tolist()),
    )


def _cuts(policy: Policy) -> tuple[tuple[Cut, ...], str | None]:
    """The policy's thresholds as cuts of its judges' scores, or why there are none.

    A rule that accepts everything was made from scores up to its largest: rows above it were not
    labelled. If several rules use one score, the lowest counts, as for labels below several cuts.
    """
    if policy.doubts:
        score = policy.doubts[0].score
        return (), f"the policy accepts by {score}, but a cut needs a judge's own uncertainty"
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


# --- which audits count ---


@dataclass(frozen=True)
class Returns:
    """All audits in the order of drawing, and the outcome of those that have a label."""

    name: str
    ids: list[str]
    outcomes: list[Outcome | None]
    groups: list[str | None]
    since: list[float | None]
    dropped: Mapping[str, int]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Ledger:
    """Every audit with its outcome, by process; `waiting` ones returned but do not count yet.

    `names` are the processes' groups. `changed` and `late` are labels that came too late to count.
    """

    names: list[str | None]
    ids: list[str]
    outcomes: list[Outcome]
    group_of: list[int]
    pending_since: dict[str, float]
    waiting: frozenset[int]
    changed: int
    late: int

    def of_group(self, code: int) -> list[int]:
        """The positions of a process's audits, in the order of drawing."""
        return [at for at, process in enumerate(self.group_of) if process == code]


def read_returns(audits: Judgments, policy: Policy, *, by: str | None) -> Returns:
    """The drawn audits, with their labels and groups if they have any."""
    frame = order_audits(audits.frame, audits.name)
    if "learned_verdict" in frame.columns and policy.learned:
        # The learned verdict was accepted, not the judge's own.
        frame = frame.with_columns(verdict=as_text(frame["learned_verdict"]))
    if "label" not in frame.columns:
        frame = frame.with_columns(label=pl.lit(None, pl.String))
    outcome = pl.when(IS_ERROR == 1).then(pl.lit("wrong")).otherwise(pl.lit("right"))
    if policy.ties == "drop":
        outcome = pl.when(pl.col("label") == "tie").then(pl.lit("tie")).otherwise(outcome)
    outcomes = frame.select(pl.when(pl.col("label").is_not_null()).then(outcome)).to_series()
    groups: list[str | None] = [None] * frame.height
    if by is not None:
        groups = text_column(frame, by, "by").fill_null(NO_GROUP).to_list()
    return Returns(
        name=audits.name,
        ids=frame.get_column("id").to_list(),
        outcomes=outcomes.to_list(),
        groups=groups,
        since=_draw_times(frame, audits.name),
        dropped=audits.dropped,
        warnings=_changed_rate(frame),
    )


def _draw_times(frame: pl.DataFrame, name: str) -> list[float | None]:
    """The time of each draw, if the rows have it (ISO 8601; UTC if no zone is given)."""
    if DRAWN_AT not in frame.columns:
        return [None] * frame.height
    times = []
    for row, drawn_at in enumerate(tidy(frame[DRAWN_AT], name, DRAWN_AT), 1):
        try:
            moment = None if drawn_at is None else datetime.fromisoformat(drawn_at)
        except ValueError:
            raise DataError(
                name, f"{drawn_at!r} is not a time", row=row, column=DRAWN_AT, remedy="use ISO 8601"
            ) from None
        if moment is not None and moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        times.append(None if moment is None else moment.timestamp())
    return times


def _changed_rate(frame: pl.DataFrame) -> tuple[str, ...]:
    if "audit_rate" not in frame.columns or frame["audit_rate"].drop_nulls().n_unique() < 2:
        return ()
    return (
        "the audit rate was changed: the interval is about the audited rows, not about all "
        "accepted ones",
    )


def count_audits(
    previous: Monitor | None,
    returns: Returns,
    *,
    known_groups: Sequence[str | None],
    now: float,
    wait_days: float,
) -> Ledger:
    """The outcome of every audit: earlier counts are kept, then labels are counted in order.

    `known_groups` are the processes of the first check; groups that appear later share one more.
    """
    names = list(known_groups) if previous is None else [g.group for g in previous.groups]
    ids, outcomes, group_of = _known_audits(previous, returns, names)
    since = {} if previous is None else dict(previous.pending_since)
    for name, at in zip(returns.ids, returns.since, strict=True):
        since.setdefault(name, now if at is None else at)
    returned = dict(enumerate(returns.outcomes))
    changed, late = 0, 0
    blocked: set[int] = set()
    waiting: set[int] = set()
    for at, (outcome, code) in enumerate(zip(outcomes, group_of, strict=True)):
        new = returned.get(at)
        if outcome == "missing":
            late += new is not None
        elif outcome != "pending":
            changed += new not in (None, outcome)
        elif code in blocked:
            waiting.update({at} if new is not None else ())
        elif new is not None:
            outcomes[at] = new
        elif now >= since[ids[at]] + wait_days * _DAY_S:
            outcomes[at] = "missing"
        else:
            blocked.add(code)
    pending = [name for name, outcome in zip(ids, outcomes, strict=True) if outcome == "pending"]
    return Ledger(
        names=names,
        ids=ids,
        outcomes=outcomes,
        group_of=group_of,
        pending_since={name: since[name] for name in pending},
        waiting=frozenset(waiting),
        changed=changed,
        late=late,
    )


def _known_audits(
    previous: Monitor | None, returns: Returns, names: Sequence[str | None]
) -> tuple[list[str], list[Outcome], list[int]]:
    """The audits known so far and the new ones after them, in the order of drawing."""
    ids: list[str] = [] if previous is None else list(previous.ids)
    outcomes: list[Outcome] = [] if previous is None else list(previous.outcomes)
    group_of = [] if previous is None else list(previous.group_of)
    for at, (old, new) in enumerate(zip(ids, returns.ids, strict=False)):
        if old != new:
            raise DataError(
                returns.name,
                f"audit {at + 1} is {new!r}, but {old!r} in the state",
                column="drawn",
                remedy="give the audits that the state was made from, or another state",
            )
    codes = {name: code for code, name in enumerate(names)}
    fresh = slice(len(ids), None)
    for name, group in zip(returns.ids[fresh], returns.groups[fresh], strict=True):
        code = codes.get(group, codes.get(NEW_GROUPS))
        if code is None:
            problem = f"audit {name!r} is of group {group!r}, which has no rule in the policy"
            raise DataError(returns.name, problem, remedy="give the policy that accepted it")
        group_of.append(code)
    ids += returns.ids[fresh]
    outcomes += ["pending"] * (len(ids) - len(outcomes))
    return ids, outcomes, group_of
