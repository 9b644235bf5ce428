"""Whether a policy's promise is still kept: audits that were drawn, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

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
from adjudge.present.figures.monitoring import monitor_figure
from adjudge.present.text import (
    count,
    left_out,
    level,
    number,
    percent,
    percent_interval,
    plain_level,
    powers_of_ten,
)
from adjudge.results.monitoring import AuditDraw, AuditedRate, Monitor, MonitorGroup


def view_monitor(monitor: Monitor) -> list[Block]:
    """The alarm or its absence, the error rate with its interval, the evidence, the audits."""
    blocks: list[Block] = [_headline(monitor), _rates(monitor), _counts(monitor)]
    changes = [
        f"{_where(group)}the error rate appears to rise at audit {number(group.change_at)}: an "
        "estimate, without an interval"
        for group in monitor.groups
        if group.change_at is not None
    ]
    changes += [
        f"{_where(group)}with every missing audit counted as wrong there would be an alarm"
        for group in monitor.groups
        if group.worst.alarm and not group.rate.alarm
    ]
    blocks += notes_of(changes)
    blocks.append(Note([f"Promise: {monitor.promise}"]))
    blocks += explain(monitor.assumptions, promises=_promises(monitor))
    blocks += warnings_of(monitor.warnings)
    blocks += notes_of(left_out(monitor.dropped))
    return [*blocks, *_figures(monitor)]


def _headline(monitor: Monitor) -> Headline:
    above = f"the alarm limit is {plain_level(monitor.limit)}, not your alpha "
    if monitor.limit == monitor.alpha:
        above = "the alarm limit is your alpha "
    above += plain_level(monitor.alpha)
    rung = [group for group in monitor.groups if group.rate.alarm]
    if not rung:
        n = sum(group.rate.n for group in monitor.groups)
        wrong = sum(group.rate.n_errors for group in monitor.groups)
        if not n:
            return Headline(f"No audit is counted yet: nothing is known; {above}", _wait(monitor))
        share = f" ({percent(wrong / n)})"
        return Headline(
            f"No alarm in {count(n, 'audit')}, {wrong:,} of them wrong{share}; {above}",
            _wait(monitor),
        )
    where = " and ".join(
        f"{'' if group.group is None else f'in {group.group} '}at audit {number(group.alarm_at)}"
        + (f" ({number(group.alarm_after)} counted)" if group.alarm_after != group.alarm_at else "")
        for group in rung
    )
    return Headline(f"ALARM {where}; {above}", _what_to_do(monitor), tone="bad")


def _what_to_do(monitor: Monitor) -> str:
    if monitor.no_recalibration is not None:
        return (
            f"Stop accepting, and calibrate on rows labelled at random: {monitor.no_recalibration}."
        )
    groups = "" if monitor.policy_by is None else f" --by {monitor.policy_by}"
    return (
        "Stop accepting, or recalibrate on audits drawn after the alarm: adjudge calibrate AUDITS "
        f"--from-audits STATE{groups}. Continue to draw audits for it, whether or not the verdicts "
        "are used. To accept more than before, label rows at random."
    )


def _wait(monitor: Monitor) -> str:
    pending = sum(group.n_pending for group in monitor.groups)
    waiting = sum(group.n_waiting for group in monitor.groups)
    if not waiting:
        return f"{count(pending, 'audit')} pending: label them." if pending else ""
    return (
        f"Not counted yet: {count(waiting, 'returned audit')}, drawn after "
        f"{count(pending, 'pending one')} (for at most {monitor.wait_days:g} days)."
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
            "counted": lambda row: number(row[1].n),
            "wrong": lambda row: number(row[1].n_errors),
            "error rate": lambda row: percent(row[1].error_rate),
            "interval (%)": lambda row: percent_interval(row[1].low, row[1].high),
            "e, limit": lambda row: powers_of_ten(row[1].log10_e)[0],
            "e, alpha": lambda row: powers_of_ten(row[1].log10_e_alpha)[0],
            "alarm": lambda row: "yes" if row[1].alarm else "no",
        },
        caption=f"Running error rate, with an interval that holds at all times "
        f"({level(1 - share)}); evidence e that it is above the limit "
        f"{plain_level(monitor.limit)} (alarm at {number(round(1 / share))}), and above alpha "
        f"{plain_level(monitor.alpha)}",
    )


def _counts(monitor: Monitor) -> Table:
    return table_of(
        monitor.groups,
        {
            "audits": lambda group: group.group or "all",
            "drawn": lambda group: number(group.n_drawn),
            "returned": lambda group: number(group.n_returned),
            "pending": lambda group: number(group.n_pending),
            "missing": lambda group: number(group.n_missing),
            "not counted yet": lambda group: number(group.n_waiting),
            "human ties": lambda group: number(group.n_ties),
        },
        caption="Status of the audits; they count in the order of drawing",
        optional=("human ties", "not counted yet"),
    )


def _promises(monitor: Monitor) -> list[str]:
    lines = []
    if monitor.limit == monitor.alpha and monitor.policy_delta is not None:
        both = monitor.delta + monitor.policy_delta
        lines.append(
            f"{monitor.guarantee} itself can fail with probability {level(monitor.policy_delta)}: "
            f"a false alarm about a policy as calibrated has a probability of at most "
            f"{percent(min(both, 1.0))}"
        )
    return [*lines, f"It does not promise: {monitor.not_promised}"]


def _figures(monitor: Monitor) -> Iterator[Figure]:
    for group in monitor.groups:
        name = "monitor" if group.group is None else f"monitor {group.group}"
        yield Figure(
            name,
            partial(monitor_figure, monitor, group),
            f"{_where(group)}the running error rate with its band, and the evidence that it is "
            f"above {plain_level(monitor.limit)}: an alarm is raised where it meets the line.",
        )


def _where(group: MonitorGroup) -> str:
    return "" if group.group is None else f"{group.group}: "


def view_draw(draw: AuditDraw) -> list[Block]:
    """How many audits were drawn, and what to do with them."""
    rate = "" if draw.audit_rate is None else f" at a rate of {percent(draw.audit_rate)}"
    new = "" if draw.n_new == draw.n_drawn else f", {number(draw.n_new)} of them new"
    return [
        Headline(
            f"{count(draw.n_drawn, 'audit')} drawn{rate}{new}; {number(draw.n_accepted)} of "
            f"{count(draw.n_served, 'row')} served are accepted",
            "Label them: adjudge label ROWS --plan AUDITS -o labels.csv (ROWS: the judged texts), "
            "then adjudge monitor check AUDITS --labels labels.csv.",
        ),
        *notes_of(left_out(draw.dropped)),
    ]
