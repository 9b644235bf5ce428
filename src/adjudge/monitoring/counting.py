"""Which audits count: in the order of drawing, each id once, no audit counted twice or lost.

Labels come back in any order, and wrong verdicts can come back sooner than right ones. So an audit
counts only when all audits drawn before it have returned or are missing. The process waits at the
first pending one until its label comes or its deadline passes. After the deadline it is missing
permanently. A label that changes after it was counted has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from adjudge.errors import DataError
from adjudge.io.tables import as_text
from adjudge.results.monitoring import Monitor, Outcome
from adjudge.results.selection import Policy
from adjudge.rows.audits import order_audits
from adjudge.rows.columns import text_column, tidy
from adjudge.rows.judgments import IS_ERROR, Judgments

#: The start of an audit's deadline; without it, the check that first sees the audit.
DRAWN_AT = "drawn_at"
#: The group of audits without a value in the grouping column.
NO_GROUP = "(none)"
#: The process shared by groups that were unknown at the first check.
NEW_GROUPS = "(new groups)"
_DAY_S = 86_400


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
        return [at for at, own in enumerate(self.group_of) if own == code]


def read_returns(given: Judgments, policy: Policy, *, by: str | None) -> Returns:
    """The drawn audits, with their labels and groups if they have any."""
    frame = order_audits(given.frame, given.name)
    if "learned_verdict" in frame.columns and policy.learned:
        # The learned verdict was accepted, not the judge's own.
        frame = frame.with_columns(verdict=as_text(frame["learned_verdict"]))
    if "label" not in frame.columns:
        frame = frame.with_columns(label=pl.lit(None, pl.String))
    outcome = pl.when(IS_ERROR == 1).then(pl.lit("wrong")).otherwise(pl.lit("right"))
    if policy.ties == "drop":
        outcome = pl.when(pl.col("label") == "tie").then(pl.lit("tie")).otherwise(outcome)
    known = frame.select(pl.when(pl.col("label").is_not_null()).then(outcome)).to_series()
    groups: list[str | None] = [None] * frame.height
    if by is not None:
        groups = text_column(frame, by, "by").fill_null(NO_GROUP).to_list()
    return Returns(
        name=given.name,
        ids=frame.get_column("id").to_list(),
        outcomes=known.to_list(),
        groups=groups,
        since=_since(frame, given.name),
        dropped=given.dropped,
        warnings=_warnings(frame),
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
    ids, outcomes, group_of = _continue(previous, returns, names)
    since = {} if previous is None else dict(previous.pending_since)
    for name, at in zip(returns.ids, returns.since, strict=True):
        since.setdefault(name, now if at is None else at)
    returned = dict(enumerate(returns.outcomes))
    changed, late = 0, 0
    blocked: set[int] = set()
    waiting: set[int] = set()
    for at, (own, code) in enumerate(zip(outcomes, group_of, strict=True)):
        new = returned.get(at)
        if own == "missing":
            late += new is not None
        elif own != "pending":
            changed += new not in (None, own)
        elif code in blocked:
            waiting.update({at} if new is not None else ())
        elif new is not None:
            outcomes[at] = new
        elif now >= since[ids[at]] + wait_days * _DAY_S:
            outcomes[at] = "missing"
        else:
            blocked.add(code)
    pending = [name for name, own in zip(ids, outcomes, strict=True) if own == "pending"]
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


def _continue(
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


def _since(frame: pl.DataFrame, name: str) -> list[float | None]:
    """The time of each draw, if the rows have it (ISO 8601; UTC if no zone is given)."""
    if DRAWN_AT not in frame.columns:
        return [None] * frame.height
    times = []
    for row, text in enumerate(tidy(frame[DRAWN_AT], name, DRAWN_AT), 1):
        try:
            moment = None if text is None else datetime.fromisoformat(text)
        except ValueError:
            raise DataError(
                name, f"{text!r} is not a time", row=row, column=DRAWN_AT, remedy="use ISO 8601"
            ) from None
        if moment is not None and moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        times.append(None if moment is None else moment.timestamp())
    return times


def _warnings(frame: pl.DataFrame) -> tuple[str, ...]:
    if "audit_rate" not in frame.columns or frame["audit_rate"].drop_nulls().n_unique() < 2:
        return ()
    return (
        "the audit rate was changed: the interval is about the audited rows, not about all "
        "accepted ones",
    )
