"""The life of a policy: label, calibrate, serve, drift, alarm, recalibrate (docs/monitor.md).

    python examples/life_of_a_policy.py [FOLDER]      all steps and two pictures
    python examples/life_of_a_policy.py --delays      how long alarms take, by error rate

One day is 300 new pairs. `select` and `draw_audits` do here what `adjudge serve --audit-rate` does
automatically. After day 8 the provider puts a smaller model behind the judge's name: it is right
less often, and surer of everything. A changed prompt would be refused, because the fingerprint of
the rows would not be the policy's; here name, prompt and fingerprint stay the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from adjudge import calibrate, check_audits, draw_audits, judge_pairs, recalibrate, select
from adjudge.monitoring import log_evidence
from adjudge.policy.audits import Monitor
from adjudge.policy.result import Policy
from adjudge.simulate.pairs import simulate_pairs

JUDGE = "simulated:accuracy=0.78,noise=0.2,seed=3"
SMALLER = "simulated:accuracy=0.7,noise=0.2,seed=3"
LABELS, PAIRS_A_DAY, CHANGE_AFTER, AUDIT_RATE = 500, 300, 8, 0.2
SECRET = "not a secret: this is an example"  # noqa: S105


def judge_day(day: int, *, changed: bool) -> pl.DataFrame:
    """The day's pairs with the judge's answers and the labels that people would give."""
    pairs = simulate_pairs(PAIRS_A_DAY if day else LABELS, seed=100 + day)
    run = judge_pairs(pairs, judge=SMALLER if changed else JUDGE, store=None)
    rows = run.judgments.with_columns(
        id=pl.format("day {}, {}", pl.lit(day), pl.col("id")),
        judge=pl.lit("provider:judge-1"),
        judge_fingerprint=pl.lit("the same name, prompt and settings"),
    )
    if not changed:
        return rows

    def surer(column: str) -> pl.Expr:
        odds = pl.col(column) / (1 - pl.col(column))
        return (odds**8 / (1 + odds**8)).alias(column)

    return rows.with_columns(surer("p_fwd"), surer("p_rev")).drop("p_a", "uncertainty", "verdict")


class Service:
    """Days of serving with one policy. People label every audit; each day ends with a check."""

    def __init__(self, policy: Policy, state: Path) -> None:
        self.policy = policy
        self.state = state
        self.audits: pl.DataFrame | None = None
        self.accepted: list[pl.DataFrame] = []

    def serve(self, day: int, *, changed: bool) -> Monitor:
        """One more day."""
        served = select(judge_day(day, changed=changed), self.policy).rows
        drawn = draw_audits(served, audit_rate=AUDIT_RATE, secret=SECRET, earlier=self.audits)
        self.audits = drawn.rows
        self.accepted.append(served.filter("accepted"))
        return check_audits(self.audits, self.policy, state=self.state)

    def wrong(self, days: slice) -> str:
        """The true error rate of accepted verdicts on some days, which is unknown in practice."""
        rows = pl.concat(self.accepted[days], how="diagonal_relaxed")
        share = (rows["verdict"] != rows["label"]).mean()
        return f"{rows.height:,} accepted, {100 * share:.1f} % of them wrong"


def tell_story(folder: Path) -> list[str]:
    """Run everything, write policies, states and pictures, and return what happened."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*_state.json"):
        old.unlink()
    policy = calibrate(judge_day(0, changed=False), alpha=0.1)
    lines = [
        f"day 0    calibrated on {policy.n_calibration} labels: accept a doubt of at most "
        f"{policy.threshold:.3f}, {100 * policy.coverage:.0f} % of the verdicts"
    ]
    first, day = Service(policy, folder / "first_state.json"), 0
    while True:
        day += 1
        monitor = first.serve(day, changed=day > CHANGE_AFTER)
        if day == CHANGE_AFTER:
            lines.append(f"day {day}    {_say(monitor)}")
        if monitor.alarm:
            break
    lines += [
        f"day {day}   {_say(monitor)}",
        f"         the truth: until day {CHANGE_AFTER} {first.wrong(slice(CHANGE_AFTER))};",
        f"         since then {first.wrong(slice(CHANGE_AFTER, None))}",
    ]
    monitor.plot(folder / "monitor_alarm.png")
    alarm = day
    for day in range(alarm + 1, alarm + 5):  # nothing is accepted now; audits continue
        monitor = first.serve(day, changed=True)
    again = recalibrate(first.audits, first.state)
    lines.append(
        f"day {day}   recalibrated on {again.n_calibration} audits drawn after the alarm: a doubt "
        f"of at most {again.threshold:.3g}"
    )
    second = Service(again, folder / "second_state.json")
    for day in range(alarm + 5, alarm + 13):
        monitor = second.serve(day, changed=True)
    lines += [
        f"day {day}   {_say(monitor)}",
        f"         the truth: {second.wrong(slice(None))}",
    ]
    monitor.plot(folder / "monitor_again.png")
    return lines


def _say(monitor: Monitor) -> str:
    [group] = monitor.groups
    rate, e = group.rate, 10**group.rate.most_log10_e
    state = f"ALARM at audit {group.alarm_at}" if rate.alarm else "no alarm"
    change = f"; the rate seems to have risen at audit {group.change_at}" if group.change_at else ""
    return f"{state}: {rate.n_errors} of {rate.n} audits wrong, e at most {e:.3g}{change}"


def measure_delays(repeats: int = 1000) -> list[str]:
    """Median audits until the alarm, for error rates from the start and after a change."""
    rng = np.random.default_rng(0)
    lines = ["| limit | error rate | alarm within 3,000 audits | median audits |"]
    lines.append("|---|---|---|---|")
    for limit, before, start, after in (
        (0.10, 0.10, 0, 0.10),
        (0.10, 0.20, 0, 0.20),
        (0.10, 0.05, 500, 0.20),
        (0.15, 0.10, 0, 0.10),
        (0.15, 0.20, 0, 0.20),
        (0.15, 0.30, 0, 0.30),
        (0.15, 0.08, 500, 0.30),
    ):
        rates = np.where(np.arange(3000 + start) < start, before, after)
        delays = []
        for _ in range(repeats):
            path = log_evidence((rng.random(len(rates)) < rates).astype(int), limit=limit)
            rung = np.flatnonzero(path >= np.log(20))
            delays.append(rung[0] + 1 - start if len(rung) else np.inf)
        name = f"{after:.2f} from the start"
        if start:
            name = f"{before:.2f}, from audit {start} on {after:.2f}"
        median = np.median(delays)
        shown = f"{median:.0f}" if np.isfinite(median) else "–"
        lines.append(f"| {limit:.2f} | {name} | {np.mean(np.isfinite(delays)):.3f} | {shown} |")
    return lines


if __name__ == "__main__":
    if sys.argv[1:] == ["--delays"]:
        print("\n".join(measure_delays()))
    else:
        print("\n".join(tell_story(Path(sys.argv[1] if sys.argv[1:] else "life-out"))))
