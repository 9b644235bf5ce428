"""POLICY: what calibration leaves behind, which every room that accepts verdicts reads.

`result` has the policy and its rules, `view` how it is shown, `doubts` what it saves of its doubt,
`audits` its audits and their monitor.
"""

from adjudge.policy.audits import Monitor
from adjudge.policy.result import Policy

__all__ = ["Monitor", "Policy"]
