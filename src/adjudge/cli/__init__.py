"""The command line: a table of verbs. Options, types and help come from the verbs' functions."""

from adjudge.cli.app import all_verbs, build, main, run

__all__ = ["all_verbs", "build", "main", "run"]
