"""A check: count the audits; compute the running error rate, its interval, evidence, alarm.

Labels come back in any order, and wrong verdicts can come back sooner than right ones. So an audit
counts only when all audits drawn before it have returned or are missing. The process waits at the
first pending one until its label comes or its deadline passes. After the deadline it is missing
permanently. A label that changes after it was counted has no effect.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np
import polars as pl

from adjudge.data.judgments import IS_ERROR, Judgments
from adjudge.data.rows import merge_dropped, text_column, tidy
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
    order_audits,
)
from adjudge.policy.result import Cut, Policy, lowest_cuts
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
#: The columns of the audits of the last check.
_EARLIER = {"earlier": pl.String, "outcome": pl.String, "process": pl.Int64}
_OUTCOME = pl.col("outcome")
_HAS_RETURNED = pl.col("returned").is_not_null()
_CHANGED_RATE = (
    "the audit rate was changed: the interval is about the audited rows, not about all accepted "
    "ones"
)


@dataclass(frozen=True, kw_only=True)
class MonitorTerms:
    """The terms of a monitor, chosen before its first audit is looked at."""

    limit: float
    delta: float = 0.05
    horizon: float = 1000.0
    by: str | None = None

    @classmethod
    def of(cls, monitor: Monitor) -> MonitorTerms:
        """The terms that a monitor was made with."""
        return cls(**{field.name: getattr(monitor, field.name) for field in fields(cls)})

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
    returns = _read_returns(audits, policy, terms.by)
    open_ended = terms.by is not None and terms.by != policy.by
    names: list[str | None] = [None]
    if previous is not None:
        names = [group.group for group in previous.groups]
    elif open_ended:
        names = [*returns["group"].unique().sort(), NEW_GROUPS]
    elif terms.by is not None:
        covered = {name for group in policy.groups for name in group.covers if name is not None}
        names = [*sorted(covered)]
    ledger = _join_returns(previous, returns, names, source=audits.name, now=now)
    ledger = _count_audits(ledger, now, wait_days * _DAY_S)
    share = terms.delta / len(names)
    cuts, obstacle = _cuts(policy)
    rates = returns["audit_rate"].drop_nulls().n_unique() if "audit_rate" in returns.columns else 1
    groups = [
        _monitor_group(name, ledger.filter(pl.col("process") == at), terms, policy.alpha, share)
        for at, name in enumerate(names)
    ]
    counted = ~_OUTCOME.is_in(["pending", "missing"])
    changed = ledger.filter(counted, pl.col("returned") != _OUTCOME)
    late = ledger.filter(_OUTCOME == "missing", _HAS_RETURNED)
    not_used = {
        "label changed after it was counted": changed.height,
        "label after the deadline of its audit": late.height,
    }
    pending = ledger.filter(_OUTCOME == "pending").select("id", "since")
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
        horizon=float(terms.horizon),
        wait_days=wait_days,
        by=terms.by,
        new_groups=open_ended,
        groups=tuple(groups),
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
        warnings=(*remarks, *((_CHANGED_RATE,) if rates > 1 else ())),
        dropped=merge_dropped(audits.dropped, not_used),
        ids=tuple(ledger["id"]),
        outcomes=tuple(ledger["outcome"]),
        group_of=tuple(ledger["process"]),
        pending_since=dict(pending.iter_rows()),
        adjudge_version=version("adjudge"),
    )


def _monitor_group(
    name: str | None, audits: pl.DataFrame, terms: MonitorTerms, alpha: float, delta: float
) -> MonitorGroup:
    tally = Counter(audits["outcome"])
    counted = audits.filter(_OUTCOME.is_in(["right", "wrong"]))
    errors = (counted["outcome"] == "wrong").to_numpy().astype(np.int64)
    settled = audits.filter(~_OUTCOME.is_in(["tie", "pending"]))
    worst = (settled["outcome"] != "right").to_numpy().astype(np.int64)
    evidence = _evidence(errors, terms.limit, terms.horizon)
    alarm = _first_alarm(evidence, delta)
    change = None if alarm is None else estimate_change(errors, limit=terms.limit) - 1
    waiting = audits.filter(_OUTCOME == "pending", _HAS_RETURNED).height
    pending = tally["pending"] - waiting
    return MonitorGroup(
        group=name,
        delta=delta,
        n_drawn=audits.height,
        n_returned=audits.height - pending - tally["missing"],
        n_pending=pending,
        n_missing=tally["missing"],
        n_waiting=waiting,
        n_ties=tally["tie"],
        rate=_audited_rate(errors, terms, alpha, delta),
        worst=_audited_rate(worst, terms, alpha, delta),
        alarm_at=None if alarm is None else counted["number"][alarm],
        alarm_after=None if alarm is None else alarm + 1,
        change_at=None if change is None else counted["number"][change],
        path=_path(errors, evidence, delta, alarm),
    )


def _evidence(errors: IntArray, limit: float, horizon: float) -> FloatArray:
    """log10 e before the first audit and after each."""
    if len(errors) == 0:
        return np.zeros(1)
    logs = log_evidence(errors, limit=limit, horizon=horizon)
    return np.concatenate([[0.0], logs / math.log(10)])


def _first_alarm(evidence: FloatArray, delta: float) -> int | None:
    """Which counted audit raised the alarm, from 0."""
    reached = np.flatnonzero(evidence >= -math.log10(delta))
    return int(reached[0]) - 1 if len(reached) else None


def _audited_rate(errors: IntArray, terms: MonitorTerms, alpha: float, delta: float) -> AuditedRate:
    n = len(errors)
    wrong = int(errors.sum())
    low, high = running_interval([wrong], [n], delta=delta)
    interval = Interval(float(low[0]), float(high[0]), level=1 - delta)
    evidence = _evidence(errors, terms.limit, terms.horizon)
    against_alpha = _evidence(errors, alpha, terms.horizon)
    return AuditedRate(
        n=n,
        n_errors=wrong,
        error_rate=wrong / n if n else None,
        interval=interval,
        log10_e=float(evidence[-1]),
        most_log10_e=float(evidence.max()),
        log10_e_alpha=float(against_alpha[-1]),
        alarm=_first_alarm(evidence, delta) is not None,
    )


def _path(errors: IntArray, evidence: FloatArray, delta: float, alarm: int | None) -> AuditPath:
    n = len(errors)
    spaced = np.linspace(1, n, min(n, _POINTS)).round().astype(np.int64)
    at = spaced if alarm is None else np.union1d(spaced, [alarm + 1])
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
    cuts = []
    for group in policy.groups:
        at = group.threshold
        if group.accepts == "none":
            continue
        if group.accepts == "all":
            at = max((s for s in group.scores if s < INFINITE_DOUBT), default=None)
        if at is None:
            return (), "the policy decides on batches, and has no threshold to use as a cut"
        cut = Cut(
            judge=group.judge,
            protocol=group.protocol,
            judge_fingerprint=group.judge_fingerprint,
            at=at,
            share=group.coverage,
        )
        cuts.append(cut)
    return lowest_cuts(cuts), None if cuts else "the policy accepts nothing"


# --- which audits count ---


def _read_returns(audits: Judgments, policy: Policy, by: str | None) -> pl.DataFrame:
    """The audits in the order of drawing, with `group`, `since` and, if labelled, `returned`."""
    frame = order_audits(audits.frame, audits.name)
    if "label" not in frame.columns:
        frame = frame.with_columns(label=pl.lit(None, pl.String))
    outcome = pl.when(IS_ERROR == 1).then(pl.lit("wrong")).otherwise(pl.lit("right"))
    if policy.ties == "drop":
        outcome = pl.when(pl.col("label") == "tie").then(pl.lit("tie")).otherwise(outcome)
    group: pl.Expr | pl.Series = pl.lit(None, pl.String)
    if by is not None:
        group = text_column(frame, by, "by").fill_null(NO_GROUP)
    return frame.with_columns(
        group=group,
        since=pl.Series(_draw_times(frame, audits.name), dtype=pl.Float64),
        returned=pl.when(pl.col("label").is_not_null()).then(outcome),
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


def _join_returns(
    previous: Monitor | None,
    returns: pl.DataFrame,
    names: Sequence[str | None],
    *,
    source: str,
    now: float,
) -> pl.DataFrame:
    """The audits of the last check, then the new ones, with their `number` and `process`.

    `returned` is the outcome by its label, if it has one now; `since` is the start of its deadline.
    """
    earlier = pl.DataFrame(schema=_EARLIER)
    since = dict[str, float]()
    if previous is not None:
        columns = previous.ids, previous.outcomes, previous.group_of
        earlier = pl.DataFrame(dict(zip(_EARLIER, columns, strict=True)), schema=_EARLIER)
        since = dict(previous.pending_since)
    new = returns.select("id", "group", "returned", "since").with_row_index("number", 1)
    earlier = earlier.with_row_index("number", 1)
    ledger = earlier.join(new, on="number", how="full", coalesce=True).sort("number")
    differs = ledger.filter(pl.col("id") != pl.col("earlier"))
    if not differs.is_empty():
        number, name, other = differs.select("number", "earlier", "id").row(0)
        raise DataError(
            source,
            f"audit {number} is {other!r}, but {name!r} in the state",
            column="drawn",
            remedy="give the audits that the state was made from, or another state",
        )
    codes = {name: code for code, name in enumerate(names)}
    process = [codes.get(group, codes.get(NEW_GROUPS)) for group in ledger["group"]]
    ids = ledger["earlier"].fill_null(ledger["id"])
    started = pl.Series([since.get(name) for name in ids], dtype=pl.Float64)
    # A start in the future is of a clock that was set back: the audit would wait for years.
    start = pl.min_horizontal(pl.coalesce(started, "since", now), now)
    ledger = ledger.with_columns(
        id=ids,
        process=pl.col("process").fill_null(pl.Series(process, dtype=pl.Int64)),
        outcome=_OUTCOME.fill_null("pending"),
        since=start,
    )
    unruled = ledger.filter(pl.col("process").is_null())
    if not unruled.is_empty():
        name, group = unruled.select("id", "group").row(0)
        problem = f"audit {name!r} is of group {group!r}, which has no rule in the policy"
        raise DataError(source, problem, remedy="give the policy that accepted it")
    return ledger


def _count_audits(ledger: pl.DataFrame, now: float, wait: float) -> pl.DataFrame:
    """Count what returned, in the order of drawing, up to the first pending one of each process."""
    pending = _OUTCOME == "pending"
    blocks = pending & ~_HAS_RETURNED & (now < pl.col("since") + wait)
    counts = pending & (blocks.cast(pl.Int8).cum_max().over("process") == 0)
    outcome = pl.coalesce("returned", pl.lit("missing"))
    return ledger.with_columns(outcome=pl.when(counts).then(outcome).otherwise(_OUTCOME))
