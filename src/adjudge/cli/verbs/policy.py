"""`adjudge policy`: what a policy promises, and whether it was edited."""

from __future__ import annotations

from adjudge.cli.verb import Group, Option, Verb, bad_if

_SHOW = Verb(
    "policy show",
    "adjudge.selection:read_policy",
    "Show what a policy accepts, promises and assumes.",
    "policy show policy.json",
    "Refuses a policy that was edited.",
    added="plot explain json",
    options=[Option("policy", argument="path")],
)


_VERIFY = Verb(
    "policy verify",
    "adjudge.selection:verify_policy",
    "Check that a policy is as calibrate wrote it; exit 2 if not.",
    "policy verify policy.json",
    "Compares the digest with the content, and every count and threshold with the calibration "
    "scores in the file, but not the command in it. This detects mistakes, not attackers.",
    added="output json",
    options=[Option("policy", argument="path")],
    bad=bad_if("intact", False),
)


COMMAND = Group(
    "policy",
    "Show a policy, or check that it was not edited.",
    [_SHOW, _VERIFY],
    panel="Trust and deploy",
    place=5,
)
