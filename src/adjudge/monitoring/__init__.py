"""WATCH: whether a policy still keeps its promise, from random audits of accepted verdicts."""

from adjudge.monitoring.checking import MonitorTerms, check_terms, continue_monitor
from adjudge.monitoring.drawing import AuditCoin, AuditDraw, AuditRun, draw_audits, number_audits
from adjudge.monitoring.evidence import estimate_change, log_evidence, running_interval

__all__ = [
    "AuditCoin",
    "AuditDraw",
    "AuditRun",
    "MonitorTerms",
    "check_terms",
    "continue_monitor",
    "draw_audits",
    "estimate_change",
    "log_evidence",
    "number_audits",
    "running_interval",
]
