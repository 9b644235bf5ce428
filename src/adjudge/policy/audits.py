"""Audits of accepted verdicts: the state of their monitor.

`adjudge.monitoring` draws and counts them, `adjudge.auditing` checks them and calibrates on them
after an alarm. The monitor is read by every room that knows a policy: the check, the service.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from adjudge.atomic import locking_folder
from adjudge.data.names import refuse_values
from adjudge.data.rows import truth_column
from adjudge.data.tables import as_text
from adjudge.data.writing import read_result, write_result
from adjudge.errors import ArgumentError, DataError, StoreMissingError
from adjudge.policy.result import Cut
from adjudge.present import text
from adjudge.present.blocks import (
    Block,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figure import ACCENT, INK, MUTED, WARM, new_figure, set_suptitle, themed
from adjudge.present.kinds import from_dict
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Positive,
    Proportion,
    ResultWithDigest,
    at_most,
    frozen,
    not_empty,
    same_length,
)
from adjudge.records import About, Interval
from adjudge.store import is_store, store_name, use_store
from adjudge.store.interface import STATES_OF_OTHERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: The outcome of an audit. A human tie is neither right nor wrong if the policy drops ties. An
#: audit that is pending, or drawn after a pending one, is not counted yet.
Outcome = Literal["right", "wrong", "tie", "missing", "pending"]
MONITOR_SCHEMA = 1
#: The order of drawing: 1, 2, 3 and so on without a gap.
DRAWN = "drawn"
#: The start of an audit's deadline; without it, the check that first sees the audit.
DRAWN_AT = "drawn_at"
_DRAWN = "give the complete file that monitor draw wrote"


@dataclass(frozen=True, kw_only=True)
class AuditedRate:
    """Errors among audits, the interval of the running error rate, and the evidence.

    `log10_e` is the current evidence that the rate is above the limit, `most_log10_e` the largest
    so far: an alarm remains. `log10_e_alpha` is the same against alpha itself.
    """

    n: Count
    n_errors: Count
    error_rate: Proportion | None
    interval: Interval
    log10_e: float
    most_log10_e: float
    log10_e_alpha: float
    alarm: bool

    checks: ClassVar[tuple[Check, ...]] = (
        at_most("n_errors", "n"),
        lambda rate: (
            None
            if all(end is not None and 0 <= end <= 1 for end in rate.interval)
            else "interval is not within 0 and 1"
        ),
    )


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
        return any(group.rate.alarm for group in self.groups)

    @property
    def alarm_at(self) -> int | None:
        """The number, in the order of drawing, of the first alarm of any group.

        The audits drawn after it had no influence on it, so they are a random sample. After a later
        alarm of another group this would not hold.
        """
        return min((g.alarm_at for g in self.groups if g.alarm_at is not None), default=None)

    def view(self) -> list[Block]:
        changes = [
            f"{_prefix(group)}the error rate appears to rise at audit "
            f"{text.number(group.change_at)}: an estimate, without an interval"
            for group in self.groups
            if group.change_at is not None
        ]
        changes += [
            f"{_prefix(group)}with every missing audit counted as wrong there would be an alarm"
            for group in self.groups
            if group.worst.alarm and not group.rate.alarm
        ]
        promises = [f"It does not promise: {self.not_promised}"]
        if self.limit == self.alpha and self.policy_delta is not None:
            both = min(self.delta + self.policy_delta, 1.0)
            promises.insert(
                0,
                f"{self.guarantee} itself can fail with probability "
                f"{text.level(self.policy_delta)}: a false alarm about a policy as calibrated has "
                f"a probability of at most {text.percent(both)}",
            )
        figures = [
            Figure(
                "monitor" if group.group is None else f"monitor {group.group}",
                partial(monitor_figure, self, group),
                f"{_prefix(group)}the running error rate with its band, and the evidence that it "
                f"is above {text.plain_level(self.limit)}: an alarm is raised where it meets the "
                "line.",
            )
            for group in self.groups
        ]
        blocks: list[Block] = [_headline(self), _rates(self), _counts(self)]
        blocks += notes_of(changes)
        blocks.append(Note([f"Promise: {self.promise}"]))
        blocks += explain(self.assumptions, promises=promises)
        blocks += warnings_of(self.warnings) + notes_of(text.left_out(self.dropped))
        return [*blocks, *figures]


# --- audits and the state of their monitor ---


def order_audits(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Audits in the order of drawing; refused unless their numbers are 1, 2, 3 and so on.

    A list with gaps could have only the audits that came back first, and errors can come first.
    """
    for column in ("id", DRAWN):
        if column not in frame.columns:
            raise DataError(name, "is missing", column=column, remedy=_DRAWN)
    if "accepted" in frame.columns:
        accepted = truth_column(frame, "accepted", name, remedy=_DRAWN)
        problem = "this audit is of a verdict that was not accepted"
        refuse_values(accepted, ~accepted, problem, source=name, remedy=_DRAWN)
    numbers = as_text(frame[DRAWN]).cast(pl.Int64, strict=False).alias(DRAWN)
    frame = frame.with_columns(as_text(frame["id"]), numbers).sort(DRAWN, nulls_last=True)
    expected = pl.Series(range(1, frame.height + 1), dtype=pl.Int64)
    gaps = ~(frame[DRAWN] == expected).fill_null(False)
    if gaps.any():
        at = int(gaps.arg_true()[0]) + 1
        raise DataError(name, f"audit {at} is missing", column=DRAWN, remedy=_DRAWN)
    again = frame["id"].is_duplicated()
    if again.any():
        twice = frame["id"].filter(again)[0]
        raise DataError(name, f"{twice!r} was drawn twice", column="id", remedy=_DRAWN)
    return frame


def read_monitor(place: str | Path, name: str | None = None) -> Monitor | None:
    """The monitor in a file, or of this name in a store; None if there is none yet.

    Without a name, the only monitor in the store; of several, the only one that raised an alarm.
    """
    if not is_store(place):
        return read_result(place, Monitor) if Path(place).exists() else None
    try:
        with use_store(place, readonly=True) as store:
            texts = store.monitors()
    except StoreMissingError:
        return None
    monitors = {
        key: _parse_monitor(text, f"{store_name(place)}, monitor {key}")
        for key, text in texts.items()
        if name == key or (name is None and not key.startswith(STATES_OF_OTHERS))
    }
    if name is not None:
        return monitors.get(name)
    rung = [monitor for monitor in monitors.values() if monitor.alarm]
    matches = rung or [*monitors.values()]
    if len(matches) > 1:
        problem = "several monitors raised an alarm" if rung else "it has several monitors"
        raise ArgumentError("state", store_name(place), f"{problem}: write one to a file")
    return matches[0] if matches else None


def load_monitor(audits: Monitor | str | Path) -> Monitor:
    """The monitor of these audits, which must have been checked."""
    monitor = audits if isinstance(audits, Monitor) else read_monitor(audits)
    if monitor is None:
        raise ArgumentError("audits", str(audits), "it has no state of monitor check")
    return monitor


def _parse_monitor(text: str, source: str) -> Monitor:
    try:
        loaded = json.loads(text)
    except ValueError as error:
        remedy = "restore the store from a backup"
        raise DataError(source, f"is not JSON ({error})", remedy=remedy) from None
    return from_dict(loaded, Monitor, source=source)


def write_state(monitor: Monitor, place: str | Path, previous: Monitor | None) -> bool:
    """Save the monitor atomically, unless the state is no longer `previous`; whether it was saved.

    Two checks at once would otherwise undo each other, and an audit that was counted would count
    again by a label that was changed since.
    """
    if not is_store(place):
        with locking_folder(Path(place).resolve().parent):
            unchanged = read_monitor(place) == previous
            if unchanged:
                write_result(monitor, place)
        return unchanged
    name = state_name(monitor.rules_id, monitor.by)
    with use_store(place) as store:
        text = store.monitors().get(name)
        now = None if text is None else _parse_monitor(text, f"{store_name(place)}, monitor {name}")
        return now == previous and store.replace_monitor(name, text, monitor.to_json(indent=None))


def state_name(rules_id: str, by: str | None) -> str:
    """The name in a store of the monitor of these rules; one by groups has another name."""
    return rules_id if by is None else f"{rules_id} by {by}"


# --- what it shows ---


def _prefix(group: MonitorGroup) -> str:
    return "" if group.group is None else f"{group.group}: "


def _headline(monitor: Monitor) -> Headline:
    above = f"the alarm limit is {text.plain_level(monitor.limit)}, not your alpha "
    if monitor.limit == monitor.alpha:
        above = "the alarm limit is your alpha "
    above += text.plain_level(monitor.alpha)
    rung = [group for group in monitor.groups if group.rate.alarm]
    if rung:
        places = []
        for group in rung:
            place = "" if group.group is None else f"in {group.group} "
            place += f"at audit {text.number(group.alarm_at)}"
            if group.alarm_after != group.alarm_at:
                place += f" ({text.number(group.alarm_after)} counted)"
            places.append(place)
        alarm = f"ALARM {' and '.join(places)}"
        decision = f"Stop accepting: {alarm}"
        return Headline(f"{alarm}; {above}", _what_to_do(monitor), tone="bad", decision=decision)
    counts = [(g.rate.n, g.rate.n_errors, g.n_pending, g.n_waiting) for g in monitor.groups]
    n, wrong, pending, waiting = map(sum, zip(*counts, strict=True))
    action = f"{text.count(pending, 'audit')} pending: label them." if pending else ""
    if waiting:
        action = (
            f"Not counted yet: {text.count(waiting, 'returned audit')}, drawn after "
            f"{text.count(pending, 'pending one')} (for at most {monitor.wait_days:g} days)."
        )
    if not n:
        return Headline(f"No audit is counted yet: nothing is known; {above}", action)
    quiet = f"No alarm in {text.count(n, 'audit')}, {wrong:,} of them wrong"
    quiet += f" ({text.percent(wrong / n)})"
    return Headline(f"{quiet}; {above}", action, decision=quiet)


def _what_to_do(monitor: Monitor) -> str:
    if monitor.no_recalibration is not None:
        return (
            f"Stop accepting, and calibrate on rows labelled at random: {monitor.no_recalibration}."
        )
    return (
        "Stop accepting, or recalibrate on audits drawn after the alarm: adjudge monitor "
        "recalibrate AUDITS --state STATE. Continue to draw audits for it, whether or not the "
        "verdicts are used. To accept more than before, label rows at random."
    )


def _rates(monitor: Monitor) -> Table:
    rows: list[tuple[str, AuditedRate]] = []
    for group in monitor.groups:
        name = group.group or "all"
        rows.append((name, group.rate))
        if group.n_missing:
            rows.append((f"{name}, missing = wrong", group.worst))
    share = monitor.groups[0].delta
    return table_of(
        rows,
        {
            "audits": lambda row: row[0],
            "counted": lambda row: text.number(row[1].n),
            "wrong": lambda row: text.number(row[1].n_errors),
            "error rate": lambda row: text.percent(row[1].error_rate),
            "interval (%)": lambda row: text.percent_interval(row[1].interval),
            "e, limit": lambda row: text.powers_of_ten(row[1].log10_e)[0],
            "e, alpha": lambda row: text.powers_of_ten(row[1].log10_e_alpha)[0],
            "alarm": lambda row: "yes" if row[1].alarm else "no",
        },
        caption=f"Running error rate, with an interval that holds at all times "
        f"({text.level(1 - share)}); evidence e that it is above the limit "
        f"{text.plain_level(monitor.limit)} (alarm at {text.number(round(1 / share))}), and above "
        f"alpha {text.plain_level(monitor.alpha)}",
    )


def _counts(monitor: Monitor) -> Table:
    fields = {
        "drawn": "n_drawn",
        "returned": "n_returned",
        "pending": "n_pending",
        "missing": "n_missing",
        "not counted yet": "n_waiting",
        "human ties": "n_ties",
    }
    rows = [
        (group.group or "all", *(text.number(getattr(group, name)) for name in fields.values()))
        for group in monitor.groups
    ]
    return Table(
        ("audits", *fields),
        rows,
        caption="Status of the audits; they count in the order of drawing",
        optional=("human ties", "not counted yet"),
    )


def monitor_figure(monitor: Monitor, group: MonitorGroup) -> Drawing:
    path = group.path
    if not path.audits:
        raise ArgumentError("plot", "no audits", "label some audits first")
    limit = text.plain_level(monitor.limit)
    alpha = text.plain_level(monitor.alpha)
    with themed():
        figure = new_figure(7.6, 5.6)
        top, bottom = figure.subplots(2, 1, sharex=True)
        band = f"{text.percent(1 - group.delta)} band, valid at all times"
        ends = path.low, path.high
        top.fill_between(path.audits, *ends, color=ACCENT, alpha=0.15, linewidth=0, label=band)
        top.plot(path.audits, path.error_rate, color=ACCENT, label="running error rate")
        top.axhline(monitor.limit, color=WARM, linewidth=1.4, label=f"limit {limit}")
        if monitor.limit != monitor.alpha:
            name = f"alpha {alpha}"
            top.axhline(monitor.alpha, color=MUTED, linewidth=1.2, linestyle="--", label=name)
        # The beginning of the band is so wide that it would flatten the rest.
        settled = path.high[len(path.high) // 8 :]
        top.set_ylim(0, min(1.0, 1.3 * max(*settled, *path.error_rate, monitor.limit)))
        top.set_ylabel("error rate of accepted")
        draw_evidence(bottom, path.audits, path.log10_e, delta=group.delta, color=INK)
        bottom.set_xlabel("audits counted, in the order of drawing")
        mark_alarm(top, group.alarm_after, label=None)
        mark_alarm(bottom, group.alarm_after)
        rate = text.percent(group.rate.error_rate)
        title = f"no alarm in {text.number(group.rate.n)} audits, {rate} of them wrong"
        if group.alarm_after is not None:
            title = f"alarm after {text.number(group.alarm_after)} audits: error rate above {limit}"
        whose = "" if group.group is None else f"{text.clip(group.group)}: "
        set_suptitle(figure, whose + title if whose else title[0].upper() + title[1:])
    return figure


def draw_evidence(
    axes: Axes, places: Sequence[int], log10_e: Sequence[float], *, delta: float, color: str
) -> None:
    """The evidence after each of these answers, with the line at which an alarm is raised."""
    from matplotlib.ticker import MaxNLocator

    axes.plot((0, *places), (0.0, *log10_e), color=color, label="evidence e")
    alarm = -math.log10(delta)
    name = f"alarm at {text.number(round(1 / delta))}"
    axes.axhline(alarm, color=WARM, linewidth=1.4, label=name)
    most = max(*log10_e, alarm)
    low = min(-1.0, *log10_e) - 0.2
    high = most + 0.25 * (most + 1)
    axes.set_ylim(low, high)
    # Logarithms on a plain axis: e itself can be too large for a float.
    ticks = MaxNLocator(integer=True, nbins=6).tick_values(low, high)
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(shown, text.powers_of_ten(*shown))
    axes.set_ylabel("evidence (log scale)")


def mark_alarm(axes: Axes, after: int | None, label: str | None = "the alarm") -> None:
    """A line where the alarm was raised, and the legend."""
    if after is not None:
        axes.axvline(after, color=WARM, linewidth=1.2, linestyle=":", label=label)
    # Above the panel: the line of the alarm can be anywhere in it.
    axes.legend(ncols=4, fontsize=8.5, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
