"""The command line: a table of verbs. Options, types and help come from the verbs' functions."""

from __future__ import annotations

import errno
import os
import signal
import sys

import click

from adjudge.cli.app import COMPLETION, all_verbs, build
from adjudge.cli.output import FAILED, print_reader_remarks, read_no_further, remark, running
from adjudge.errors import AdjudgeError
from adjudge.present.text import has_password

__all__ = ["all_verbs", "build", "main", "run"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its exit code."""
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # a second one, while the first is handled
        code = _stopped()
    try:
        if sys.stdout is not None:  # a caller can have closed it
            sys.stdout.flush()
    except BrokenPipeError:
        read_no_further(sys.stdout)
    except OSError as error:
        read_no_further(sys.stdout)
        code = _refuse(error)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code: 0 done, 2 bad finding, 1 could not run."""
    if any(map(has_password, arguments)):
        remark(
            "a password in a command is visible to everybody on this machine in the list of"
            " processes: put it into PGPASSWORD or ~/.pgpass, or put the URL into ADJUDGE_STORE"
        )
    try:
        with print_reader_remarks(), running(arguments):
            return _execute(build(), arguments)
    except AdjudgeError as error:
        remark(f"adjudge: {_readable(str(error))}")
    except click.UsageError as error:
        path = "adjudge" if error.ctx is None else error.ctx.command_path
        remark(f"{path}: {error.format_message().strip().rstrip('.?')}; see {path} --help")
    except click.ClickException as error:
        remark(f"adjudge: {error.format_message().strip().rstrip('.?')}")
    except BrokenPipeError:
        read_no_further(sys.stdout)
    except OSError as error:
        return _refuse(error)
    except (KeyboardInterrupt, click.Abort):
        return _stopped()
    return FAILED


def _execute(command: click.Group, arguments: list[str]) -> int:
    if COMPLETION in os.environ:  # a shell asks for completions
        command.main(prog_name="adjudge")
    try:
        with command.make_context("adjudge", list(arguments)) as context:
            return int(command.invoke(context))
    except click.exceptions.Exit as left:
        return left.exit_code


def _stopped() -> int:
    # The process is ending: another Ctrl-C could only change its exit code to that of a killed one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    remark("adjudge: stopped")
    return FAILED


def _readable(message: str) -> str:
    """Shorten a message that quotes a very long value: keep its beginning and the remedy."""
    return message if len(message) <= 1000 else f"{message[:600]} ... {message[-300:]}"


def _refuse(error: OSError) -> int:
    place = f"{error.filename}: " if error.filename else ""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = (
        "free space on the disk and run the same command again"
        if full
        else "check the path and its permissions"
    )
    remark(f"adjudge: {place}{error.strerror or error}; {remedy}")
    return FAILED
