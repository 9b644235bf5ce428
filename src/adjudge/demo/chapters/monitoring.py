"""Chapter: audits of accepted verdicts detect a bug that the judge's scores do not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from adjudge.auditing import check_audits
from adjudge.monitoring import draw_audits
from adjudge.policy.audits import monitor_figure
from adjudge.present.text import number, percent
from adjudge.selection import calibrate, select
from adjudge.validation import generator

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "Is it still true after deployment?"

_ALPHA, _AUDIT_RATE = 0.1, 0.5
#: Requests before and after the bug; the bug swaps the two answers in one of this many.
_REQUESTS, _SWAPPED = 400, 3
_COLUMNS = ("id", "judge", "protocol", "judge_fingerprint", "p_a", "label")


def run(context: DemoContext) -> None:
    """Calibrate on half of the pairs, serve the other half, add a bug, and audit."""
    rng = generator(context.seed)
    rows = context.rows.select(_COLUMNS)
    order = rng.permutation(rows.height)
    half = rows.height // 2
    policy = calibrate(rows[order[:half].tolist()], alpha=_ALPHA, seed=context.seed)
    requests = rows[rng.choice(order[half:], size=2 * _REQUESTS).tolist()].with_columns(
        id=pl.format("request {}", pl.int_range(2 * _REQUESTS))
    )
    at = pl.int_range(pl.len())
    bug = (at >= _REQUESTS) & (at % _SWAPPED == 0)
    broken = requests.with_columns(
        pl.when(bug).then(1 - pl.col("p_a")).otherwise("p_a").alias("p_a")
    )
    served = select(broken, policy)
    if served.summary.n_accepted == 0:
        context.say("With half of the labels nothing is accepted, so there is nothing to audit.")
        context.keep(policy, "policy_of_half")
        return
    audits = draw_audits(
        served.rows, audit_rate=_AUDIT_RATE, secret=f"the demo, {context.seed:010}"
    )
    monitor = check_audits(audits.rows, policy)
    context.keep(monitor, "monitor")
    [group] = monitor.groups
    drift = "does not detect it" if not served.summary.drift.flagged else "detects drift"
    context.say(
        f"{2 * _REQUESTS} requests from the other half of the pairs. From request {_REQUESTS} on a "
        f"bug swaps the two answers in every third. The doubt stays the same, and a test of its "
        f"distribution {drift}. People audit {percent(_AUDIT_RATE)} of the accepted verdicts."
    )
    places = {name: at for at, name in enumerate(requests["id"])}
    before = sum(places[name] < _REQUESTS for name in audits.rows["id"])
    if group.alarm_at is None:
        context.say(
            f"No alarm in {number(group.rate.n)} audits, {percent(group.rate.error_rate)} of them "
            f"wrong: not enough evidence that the error rate is above {percent(monitor.limit)}."
        )
    elif group.alarm_at <= before:
        context.say(
            f"Alarm at audit {group.alarm_at}, before the bug: this threshold's error rate was "
            f"above {percent(monitor.limit)}. scope promises a mean over thresholds, not this one."
        )
    else:
        context.say(
            f"{number(before)} audits were drawn before the bug; the alarm came "
            f"{number(group.alarm_at - before)} audits after it. You can check after each audit: "
            f"over all checks, a false alarm has a probability of at most {percent(monitor.delta)}."
        )
    context.picture(monitor_figure(monitor, group), "monitor")
