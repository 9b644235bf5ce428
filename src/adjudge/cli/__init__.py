"""The command line: a file for each verb. Options, types and help come from the functions."""

from adjudge.cli.app import build, main, run
from adjudge.cli.verbs import all_verbs

__all__ = ["all_verbs", "build", "main", "run"]
