"""Results of monitoring: which accepted verdicts people should audit, and what audits show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Positive,
    Proportion,
    Result,
    ResultWithDigest,
    at_most,
    frozen,
    not_empty,
    same_length,
)
from adjudge.records import About
from adjudge.results.rules import Cut

#: The outcome of an audit. A human tie is neither right nor wrong if the policy drops ties. An
#: audit that is pending, or drawn after a pending one, is not counted yet.
Outcome = Literal["right", "wrong", "tie", "missing", "pending"]
MONITOR_SCHEMA = 1


@frozen
class AuditDraw(Result):
    """Which accepted verdicts were drawn for an audit; the rows are returned with it.

    `n_new` of the `n_drawn` audits were not drawn before. `audit_rate` is None if a service drew
    them; the rate is then that of the service.
    """

    kind: ClassVar[str] = "audit_draw"
    checks: ClassVar[tuple[Check, ...]] = (
        at_most("n_accepted", "n_served"),
        at_most("n_new", "n_drawn"),
    )

    audit_rate: Proportion | None
    n_served: Count
    n_accepted: Count
    n_drawn: Count
    n_new: Count
    dropped: Mapping[str, Count]

    def view(self) -> list[Block]:
        from adjudge.present.views.monitoring import view_draw

        return view_draw(self)


@dataclass(frozen=True, kw_only=True)
class AuditedRate:
    """Errors among audits, the interval of the running error rate, and the evidence.

    `log10_e` is the current evidence that the rate is above the limit, `most_log10_e` the largest
    so far: an alarm remains. `log10_e_alpha` is the same against alpha itself.
    """

    n: Count
    n_errors: Count
    error_rate: Proportion | None
    low: Proportion
    high: Proportion
    log10_e: float
    most_log10_e: float
    log10_e_alpha: float
    alarm: bool

    checks: ClassVar[tuple[Check, ...]] = (at_most("n_errors", "n"),)


@dataclass(frozen=True, kw_only=True)
class AuditPath:
    """The rate, its band and the evidence over time, at some of the audits, for a figure."""

    audits: tuple[Count, ...]
    error_rate: tuple[Proportion, ...]
    low: tuple[Proportion, ...]
    high: tuple[Proportion, ...]
    log10_e: tuple[float, ...]

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("audits", "error_rate", "low", "high", "log10_e"),
    )


@dataclass(frozen=True, kw_only=True)
class MonitorGroup:
    """One process of audits: all of them, or those of one group, with its share of delta.

    Of `n_drawn` audits, `n_returned` have a label, `n_ties` of them a tie that does not count.
    `n_waiting` returned ones are not counted yet because one drawn before them is pending. `worst`
    counts every missing audit as an error. `alarm_at` and `change_at` are numbers in the order of
    drawing: where the alarm was raised, and where the rate seems to have risen. `alarm_after` is
    the number of audits that were counted at that time.
    """

    group: str | None
    delta: Level
    n_drawn: Count
    n_returned: Count
    n_pending: Count
    n_missing: Count
    n_waiting: Count
    n_ties: Count
    rate: AuditedRate
    worst: AuditedRate
    alarm_at: Count | None
    alarm_after: Count | None
    change_at: Count | None
    path: AuditPath = field(repr=False)

    checks: ClassVar[tuple[Check, ...]] = (
        at_most("n_returned", "n_drawn"),
        at_most("n_missing", "n_drawn"),
        at_most("n_pending", "n_drawn"),
        at_most("n_waiting", "n_returned"),
        at_most("n_ties", "n_returned"),
    )


@frozen
class Monitor(ResultWithDigest):
    """What the audits of a policy's accepted verdicts show: the result of a check, and its state.

    The next check reads it and continues. `ids`, `outcomes` and `group_of` (an index into `groups`)
    are all audits in the order of drawing; `pending_since` has the start time (Unix) of the
    deadline of each pending one. `cuts` are the policy's thresholds: labels of these audits have no
    information about rows above them. If they cannot calibrate, `no_recalibration` explains why.
    `rules_id` names the policy's rules; `policy_by` and `min_answer_mass` are those of the policy.
    """

    kind: ClassVar[str] = "monitor"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (
        not_empty("groups"),
        same_length("ids", "outcomes", "group_of"),
        lambda monitor: (
            "group_of names a group that does not exist"
            if any(code >= len(monitor.groups) for code in monitor.group_of)
            else None
        ),
    )
    digest_since: ClassVar[int] = 1

    schema_version: Count = MONITOR_SCHEMA
    rules_id: str
    about: About
    guarantee: str
    alpha: Level
    policy_delta: Level | None
    policy_by: str | None
    min_answer_mass: Proportion | None
    ties: str
    limit: Level
    delta: Level
    horizon: Positive
    wait_days: NotNegative
    by: str | None
    new_groups: bool
    groups: tuple[MonitorGroup, ...]
    cuts: tuple[Cut, ...]
    no_recalibration: str | None
    promise: str
    not_promised: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]
    ids: tuple[str, ...] = field(repr=False)
    outcomes: tuple[Outcome, ...] = field(repr=False)
    group_of: tuple[Count, ...] = field(repr=False)
    pending_since: Mapping[str, float] = field(repr=False)
    adjudge_version: str

    @property
    def alarm(self) -> bool:
        """Whether any group has raised an alarm."""
        return any(group.rate.alarm for group in self.groups)

    @property
    def alarm_at(self) -> int | None:
        """The number, in the order of drawing, of the first alarm of any group.

        The audits drawn after it had no influence on it, so they are a random sample. After a later
        alarm of another group this would not hold.
        """
        return min((g.alarm_at for g in self.groups if g.alarm_at is not None), default=None)

    def view(self) -> list[Block]:
        from adjudge.present.views.monitoring import view_monitor

        return view_monitor(self)
