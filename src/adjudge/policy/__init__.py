"""POLICY: what calibration leaves behind, which every room that accepts verdicts reads.

`result` has the policy and its groups, `doubts` what it saves of its doubt, `rules` how a score is
accepted, `audits` its audits and their monitor, `view` how it is shown.
"""

from adjudge.policy.audits import Monitor
from adjudge.policy.result import Policy

__all__ = ["Monitor", "Policy"]
