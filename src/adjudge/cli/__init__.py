"""The command line: one file per verb. The files only parse and print."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from adjudge.cli._command import running
from adjudge.cli._common import EXIT_FAILED, print_reader_remarks, read_no_further, remark
from adjudge.cli._examples import EXAMPLES
from adjudge.cli._options import OTHER, PANELS, panel_of
from adjudge.cli._standard_input import DASH, spool_standard_input
from adjudge.errors import AdjudgeError, ArgumentError
from adjudge.present.text import has_password

#: A verb is a function ("module:function"), or a group of verbs with its line of help.
VerbEntry = str | tuple[str, Mapping[str, str]]
#: The built-in verbs in the order of `adjudge --help`. Modules are relative to this package.
VERBS: Mapping[str, VerbEntry] = {
    "demo": "demo:demo",
    "judge": "judge:judge",
    "replies": "replies:replies",
    "convert": "convert:convert",
    "calibrate": "calibrate:calibrate",
    "select": "select:select",
    "policy": (
        "Show a policy, or check that it was not edited.",
        {"show": "policy:show_policy", "verify": "policy:verify"},
    ),
    "evaluate": "evaluate:evaluate",
    "estimate": "estimate:estimate",
    "plan": (
        "Plan labels, rows to label, battles to judge, cascades.",
        {
            "rate": "plan_rate:rate",
            "selection": "plan_selection:selection",
            "battles": "plan_battles:battles",
            "labels": "plan_labels:labels",
            "cascade": "plan_cascade:cascade",
        },
    ),
    "monitor": (
        "Audit accepted verdicts; raise an alarm on errors.",
        {"draw": "monitor_draw:draw", "check": "monitor_check:check"},
    ),
    "diagnose": (
        "Find where the judge fails: cycles, scores, biases, prompts.",
        {
            "transitivity": "diagnose_transitivity:transitivity",
            "scores": "diagnose_scores:scores",
            "bias": "diagnose_bias:bias",
            "prompts": "diagnose_prompts:prompts",
        },
    ),
    "rank": "rank:rank",
    "label": "label:label",
    "serve": "serve:serve",
    "report": "report:report",
    "store": (
        "Check or copy the store of replies and labels.",
        {"check": "store:check", "copy": "store:copy"},
    ),
    "models": (
        "List or fetch weights of the embedded judge.",
        {"list": "models:list_models", "pull": "models:pull_model"},
    ),
}

#: The options whose file a verb overwrites. Every other path of a verb is read or added to.
_WRITTEN = (
    "output",
    "plot",
    "summary",
    "write_ids",
    "write_rows",
    "write_sets",
    "save_anchors",
    "rescue",
)

#: What `adjudge --help` adds about all verbs.
_EPILOG = {
    "First steps": [
        ("adjudge demo --judge simulated", "all steps in seconds, on a judge with known errors"),
        ("adjudge VERB --help", "the options of a verb, with an example"),
    ],
    "Files": [("-", "as an input file: standard input")],
    "Exit codes": [
        ("0", "done"),
        ("1", "could not run; one line on standard error names the remedy"),
        ("2", "done, and the finding is bad: infeasible, drift, an alarm, no estimate"),
    ],
}
#: Typer's type names for repeatable options and options with limits. The help text has the rest.
_PLAIN_TYPE = re.compile(r"<(?:list\[)?(\w+)(?:\]| range)>")
#: typer has its own copy of click and exports only this leaf of the exception tree.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
_CLI_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
#: The exception that typer raises for Ctrl-C.
_INTERRUPTED = 130


class _Group(TyperGroup):
    """A group of verbs. Without a verb it prints its help and could not run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(EXIT_FAILED)
        return super().parse_args(ctx, args)


class _InOurOrder(_Group):
    """Lists verbs in the order of `all_verbs`; typer lists groups of verbs last."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [verb for verb in all_verbs() if verb in self.commands]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        for title, records in _EPILOG.items():
            with formatter.section(title):
                formatter.write_dl(records)


class _Verb(TyperCommand):
    """A verb with grouped options and an example. It never overwrites one of its input files."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        groups: dict[str, list[tuple[str, str]]] = {panel: [] for panel in (OTHER, *PANELS)}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is None:
                continue
            record = (_PLAIN_TYPE.sub(r"<\1>", record[0]), record[1])
            if parameter.param_type_name == "argument":
                arguments.append(record)
            else:
                groups[panel_of(parameter.name)].append(record)
        for title, records in (("Arguments", arguments), *groups.items()):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        examples = {**EXAMPLES, **getattr(import_module(self.callback.__module__), "EXAMPLES", {})}
        if example := examples.get(ctx.command_path.partition(" ")[2]):
            with formatter.section("Example"):
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")

    def invoke(self, ctx: Any) -> Any:
        given = {name: path for name, path in ctx.params.items() if isinstance(path, Path)}
        for name in ("import_labels", "earlier"):  # the output can be this input file
            given.pop(name, None)
        for name in [name for name in _WRITTEN if name in given]:
            written = given.pop(name)
            if written == DASH:
                raise ArgumentError(name, "-", "name a file; --json prints the result")
            for other, path in given.items():
                if os.path.realpath(path) == os.path.realpath(written) != os.devnull:
                    raise ArgumentError(
                        name, str(written), f"give another file: this one is already {other}"
                    )
        with spool_standard_input(given) as spooled:
            ctx.params.update(spooled)
            return super().invoke(ctx)


@cache
def all_verbs() -> Mapping[str, VerbEntry]:
    """The built-in verbs, then those that packages add by the entry point group `adjudge.verbs`.

    The object of such an entry point is a `VerbEntry` with absolute names of modules. A module of
    verbs can have a mapping EXAMPLES, from the words after "adjudge" to an example command.
    """
    added: dict[str, VerbEntry] = {}
    for entry in sorted(entry_points(group="adjudge.verbs"), key=lambda entry: entry.name):
        if entry.name not in VERBS:
            try:
                added[entry.name] = entry.load()
            except (ImportError, AttributeError) as error:
                package = entry.dist.name if entry.dist else entry.value
                remark(f"{entry.name}: {error}; repair or remove the package {package}")
    return {**VERBS, **added}


def _print_version(wanted: bool) -> None:
    if wanted:
        from adjudge import __version__

        typer.echo(__version__)
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Options before the verb. Each acts in its own callback."""


def build() -> typer.Typer:
    """The complete command line as one Typer application."""
    app = typer.Typer(
        name="adjudge",
        cls=_InOurOrder,
        context_settings={"max_content_width": 100},
        help="Trustworthy LLM-as-a-judge evaluation.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=True,
    )

    app.callback(help=app.info.help)(_root)
    for name, verb in all_verbs().items():
        if isinstance(verb, str):
            _add(app, name, verb)
            continue
        text, verbs = verb
        group = typer.Typer(cls=_Group, help=text)
        for inner, target in verbs.items():
            _add(group, inner, target)
        app.add_typer(group, name=name)
    return app


@cache
def _command() -> Any:
    """The command line. It is built once, for programs that call `run` many times."""
    return typer.main.get_command(build())


def _add(app: typer.Typer, name: str, target: str) -> None:
    module, _, function = target.partition(":")
    home = module if "." in module else f"adjudge.cli.{module}"
    app.command(name, cls=_Verb)(getattr(import_module(home), function))


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
    command = _command()
    if any(map(has_password, arguments)):
        remark(
            "a password in a command is visible to everybody on this machine in the list of"
            " processes: put it into PGPASSWORD or ~/.pgpass, or put the URL into ADJUDGE_STORE"
        )
    try:
        with print_reader_remarks(), running(arguments):
            code = command.main(args=arguments, prog_name="adjudge", standalone_mode=False)
    except AdjudgeError as error:
        remark(f"adjudge: {_readable(str(error))}")
        return EXIT_FAILED
    except _USAGE_ERROR as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "adjudge"
        remark(f"{path}: {_message(error)}; see {path} --help")
        return EXIT_FAILED
    except _CLI_ERROR as error:
        remark(f"adjudge: {_message(error)}")
        return EXIT_FAILED
    except BrokenPipeError:
        read_no_further(sys.stdout)
        return EXIT_FAILED
    except OSError as error:
        return _refuse(error)
    except (KeyboardInterrupt, typer.Abort):
        return _stopped()
    if code == _INTERRUPTED:
        return _stopped()
    return code if isinstance(code, int) else 0


def _stopped() -> int:
    # The process is ending: another Ctrl-C could only change its exit code to that of a killed one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    remark("adjudge: stopped")
    return EXIT_FAILED


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
    return EXIT_FAILED


def _message(error: Exception) -> str:
    message: str = error.format_message()  # type: ignore[attr-defined]  # every click error has it
    return message.strip().rstrip(".?")
