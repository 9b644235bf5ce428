"""Fixed results of monitoring, for what they show."""

from __future__ import annotations

from dataclasses import replace

from adjudge.monitoring.drawing import AuditDraw
from adjudge.monitoring.judge_monitor import JudgeMonitor, Round
from adjudge.policy.audits import AuditedRate, AuditPath, Monitor, MonitorGroup
from adjudge.policy.result import Cut
from adjudge.records import Interval

DRAW = AuditDraw(
    audit_rate=0.05,
    n_served=2000,
    n_accepted=1200,
    n_drawn=64,
    n_new=64,
    dropped={"not accepted": 795, "id served before": 5},
)
_RATE = AuditedRate(
    n=5,
    n_errors=1,
    error_rate=0.2,
    interval=Interval(0.004, 0.871, level=0.95),
    log10_e=-0.12,
    most_log10_e=0.1,
    log10_e_alpha=0.05,
    alarm=False,
)
CALM_GROUP = MonitorGroup(
    group=None,
    delta=0.05,
    n_drawn=9,
    n_returned=7,
    n_pending=1,
    n_missing=1,
    n_waiting=1,
    n_ties=1,
    rate=_RATE,
    worst=replace(
        _RATE,
        n=6,
        n_errors=2,
        error_rate=1 / 3,
        interval=Interval(0.03, 0.9, level=0.95),
        log10_e=0.3,
    ),
    alarm_at=None,
    alarm_after=None,
    change_at=None,
    path=AuditPath(
        audits=(1, 3, 5),
        error_rate=(0.0, 1 / 3, 0.2),
        low=(0.0, 0.01, 0.004),
        high=(0.99, 0.95, 0.871),
        log10_e=(-0.05, 0.1, -0.12),
    ),
)
CALM = Monitor(
    rules_id="0123456789abcdef",
    about="pairs",
    guarantee="scope",
    alpha=0.1,
    policy_delta=None,
    policy_by=None,
    min_answer_mass=0.5,
    ties="drop",
    limit=0.15,
    delta=0.05,
    horizon=1000.0,
    wait_days=14.0,
    by=None,
    new_groups=False,
    groups=(CALM_GROUP,),
    cuts=(Cut(judge="gpt", protocol="preference", at=0.3, share=0.6),),
    no_recalibration=None,
    promise="as promised",
    not_promised="as not promised",
    assumptions=("as assumed",),
    warnings=("the audit rate was changed",),
    dropped={"label changed after it was counted": 2},
    ids=tuple("abcdefghi"),
    outcomes=("right", "wrong", "right", "tie", "missing", "right", "right", "pending", "pending"),
    group_of=(0,) * 9,
    pending_since={"h": 1.8e9, "i": 1.8e9},
    adjudge_version="0.1.0",
)
ALARM_GROUP = replace(
    CALM_GROUP,
    n_drawn=1300,
    n_returned=1300,
    n_pending=0,
    n_missing=0,
    n_waiting=0,
    n_ties=0,
    rate=replace(
        _RATE,
        n=1300,
        n_errors=390,
        error_rate=0.3,
        interval=Interval(0.26, 0.34, level=0.95),
        log10_e=31.4,
        most_log10_e=31.4,
        log10_e_alpha=54.2,
        alarm=True,
    ),
    alarm_at=1212,
    alarm_after=1200,
    change_at=1100,
    path=AuditPath(
        audits=(600, 1200, 1300),
        error_rate=(0.1, 0.16, 0.3),
        low=(0.08, 0.13, 0.26),
        high=(0.13, 0.2, 0.34),
        log10_e=(-1.0, 1.31, 31.4),
    ),
)
ALARM = replace(
    CALM,
    limit=0.1,
    policy_delta=0.1,
    policy_by=None,
    min_answer_mass=0.5,
    guarantee="pac",
    groups=(ALARM_GROUP,),
    warnings=(),
    dropped={},
    ids=(),
    outcomes=(),
    group_of=(),
    pending_since={},
)
BY_GROUP = replace(
    CALM,
    by="topic",
    no_recalibration="the policy decides on batches",
    groups=(
        replace(CALM_GROUP, group="code", delta=0.025, n_missing=0, n_waiting=0),
        replace(ALARM_GROUP, group="prose", delta=0.025, alarm_after=1212),
    ),
)

_CALM_ROUND = Round(
    repeat=2,
    asked_at="2026-11-02T06:00:00+00:00",
    delta=0.0125,
    n_compared=4,
    n_moved=1,
    log10_e=-0.2,
    most_log10_e=0.4,
    alarm_after=None,
    served_models=("m-1",),
    cost=0.1,
    anchors=(1, 2, 4),
    path=(0.0, 0.4, -0.2),
)
ANSWERED = JudgeMonitor(
    judge="openai:m",
    protocol="preference",
    judge_fingerprint="0" * 64,
    fingerprint_parts={"model": "m"},
    verdicts=True,
    delta=0.025,
    passes=2,
    asked_at="2026-11-01T06:00:00+00:00",
    served_models=("m-1",),
    dropped={"fewer than two usable answers": 1},
    anchors=("p1", "p2", "p3", "p4"),
    texts=("a", "b", "c", "d"),
    answers=((0.9, 0.9), (0.8, 0.7), (0.2, None), (0.1, 0.1)),
    adjudge_version="0.1",
)
SAME_JUDGE = replace(ANSWERED, rounds=(_CALM_ROUND,))
OTHER_JUDGE = replace(
    SAME_JUDGE,
    rounds=(
        _CALM_ROUND,
        replace(
            _CALM_ROUND, delta=0.025 / 6, n_moved=3, log10_e=5.2, most_log10_e=5.2, alarm_after=3,
            path=(0.5, 1.0, 5.2),
        ),
    ),
    audit_alarm=False,
    audit_delta=0.05,
    warnings=("m-2 answered; at calibration m-1",),
)  # fmt: skip
