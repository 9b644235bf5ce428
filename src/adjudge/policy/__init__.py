"""POLICY: what calibration leaves behind, which every room that accepts verdicts reads.

`audits` has the audits of accepted verdicts and the state of their monitor.
"""
