"""WATCH: whether a policy still keeps its promise, from audits, and whether its judge changed."""

from adjudge.monitoring.checking import MonitorTerms, check_terms, continue_monitor
from adjudge.monitoring.drawing import AuditCoin, AuditDraw, AuditRun, draw_audits, number_audits
from adjudge.monitoring.evidence import estimate_change, log_evidence, running_interval
from adjudge.monitoring.judge_monitor import JudgeMonitor, monitor_judge
from adjudge.monitoring.retest import log_retest

__all__ = [
    "AuditCoin",
    "AuditDraw",
    "AuditRun",
    "JudgeMonitor",
    "MonitorTerms",
    "check_terms",
    "continue_monitor",
    "draw_audits",
    "estimate_change",
    "log_evidence",
    "log_retest",
    "monitor_judge",
    "number_audits",
    "running_interval",
]
