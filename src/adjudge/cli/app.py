"""The command line as click commands: running, parsing, help, completion in bash, zsh, fish."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem, get_completion_class

from adjudge.cli.output import (
    FAILED,
    read_no_further,
    reader_remarks,
    remark,
    running,
)
from adjudge.cli.verb import OPTION_PANELS, OTHER, Group, Option, Verb
from adjudge.cli.verbs import entries, find_entry
from adjudge.errors import AdjudgeError, ArgumentError
from adjudge.present.text import has_password

EXIT_CODES = (
    ("0", "done"),
    ("1", "could not run; one line on standard error names the remedy"),
    ("2", "done, and the finding is bad: infeasible, drift, an alarm, no estimate"),
    ("3", "done, and not known yet: a gate or abtest needs more rows or labels"),
)
#: What `adjudge --help` adds about all verbs.
_EPILOG = {
    "First steps": [
        ("adjudge demo --judge simulated", "all steps in seconds, on a judge with known errors"),
        ("adjudge VERB --help", "the options of a verb that people need, with an example"),
        ("adjudge VERB --help-all", "all options of a verb"),
    ],
    "Files": [("-", "as an input file: standard input")],
    "Exit codes": EXIT_CODES,
}
_ALL = "adjudge.all_options"
#: The environment variable by which a shell asks for completions.
COMPLETION = "_ADJUDGE_COMPLETE"


class _Place(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A file, or the URL of a store unchanged: a path would lose one of its slashes."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if "://" in value else Path(value)

    def shell_complete(self, *_: Any) -> list[Any]:
        return [CompletionItem("", type="file")]


_CLICK_TYPES: Mapping[type, click.ParamType[Any]] = {
    str: click.STRING,
    int: click.INT,
    float: click.FLOAT,
    Path: _Place(),
    bool: click.BOOL,
}


class VerbCommand(click.Command):
    """A verb as a command. The source of its function is read when it is needed."""

    def __init__(self, verb: Verb) -> None:
        text = verb.summary if not verb.text else f"{verb.summary}\n\n{verb.text}"
        super().__init__(verb.name.rpartition(" ")[2], help=text, short_help=verb.summary)
        self.verb = verb

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        help_option = self.get_help_option(ctx)
        help_all = _eager("--help-all", "Show all options.", _print_all)
        return [*self._parameters, help_all, *([help_option] if help_option else [])]

    @cached_property
    def _parameters(self) -> list[click.Parameter]:
        return [
            _argument(option) if name in self.verb.positional else _option(option)
            for name, option in self.verb.parameters.items()
        ]

    def invoke(self, ctx: click.Context) -> int:
        defaults = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
        values = {
            name: value
            for name, value in ctx.params.items()
            if ctx.get_parameter_source(name) not in defaults
        }
        return self.verb(values)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        main = self.verb.main.split()
        arguments = [self.verb.parameters[name] for name in self.verb.positional]
        panels: dict[str, list[tuple[str, str]]] = {panel: [] for panel in (OTHER, *OPTION_PANELS)}
        for parameter in self._parameters:
            name = parameter.name or ""
            if isinstance(parameter, click.Option) and (
                not main or ctx.meta.get(_ALL) or name in main
            ):
                record = parameter.get_help_record(ctx)
                panels[self.verb.panel_of(name)] += [record] if record else []
        panels["Output"] += [
            ("--help", "Show the main options." if main else "Show this message."),
            *([("--help-all", "Show all options.")] if main else []),
        ]
        texts = [(_metavar(option), option.help or "") for option in arguments]
        for title, records in (("Arguments", texts), *panels.items()):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example"):
            formatter.write(f"{'':{formatter.current_indent}}adjudge {self.verb.example}\n")


def _argument(option: Option) -> click.Argument:
    return click.Argument(
        [option.name],
        type=_CLICK_TYPES[option.type or str],
        required=bool(option.required),
        nargs=-1 if option.repeats else 1,
        metavar=_metavar(option),
    )


def _metavar(option: Option) -> str:
    name = option.metavar or option.name.upper() + " ..." * bool(option.repeats)
    return name if option.required else f"[{name}]"


class _ShownOption(click.Option):
    """An option whose default is shown as it is, without the parentheses of click."""

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        return extra


def _option(option: Option) -> click.Option:
    kind = option.type or str
    names = [option.flag, option.name, *([option.short] if option.short else [])]
    if kind is bool:
        if option.default:  # it is on: there must be a way to turn it off
            names[0] += f"/--no-{names[0].removeprefix('--')}"
        return _ShownOption(
            names,
            is_flag=True,
            default=bool(option.default),
            show_default=option.name if option.default else False,
            help=option.help,
        )
    values = option.values or 1
    default = option.default if option.words is None else option.words
    if isinstance(default, tuple):
        default = " ".join(map(str, default))
    metavar = option.metavar or " ".join([f"<{kind.__name__.lower()}>"] * values)
    return _ShownOption(
        names,
        type=_CLICK_TYPES[kind],
        nargs=values,
        multiple=bool(option.repeats),
        required=bool(option.required),
        show_default=False if default is None else str(default),
        envvar=option.environment,
        show_envvar=option.environment is not None,
        metavar=metavar,
        help=option.help,
    )


class VerbGroup(click.Group):
    """A group of verbs. Without a verb it prints its help and could not run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(FAILED)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class _Root(VerbGroup):
    """All verbs. The file of a verb is imported when it is called or listed."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and (entry := find_entry(cmd_name)) is not None:
            self.add_command(_command(entry))
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [entry.name for entry in entries()]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(entry.name) for entry in entries())
        for panel, listed in groupby(entries(), lambda entry: entry.panel):
            with formatter.section(panel):
                formatter.write_dl([(entry.name.ljust(width), entry.summary) for entry in listed])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, records in _EPILOG.items():
            with formatter.section(title):
                formatter.write_dl(records)


@cache
def build() -> click.Group:
    """The complete command line. It is built once, for programs that call `run` many times."""
    return _Root(
        "adjudge",
        help="Trustworthy LLM-as-a-judge evaluation.",
        context_settings={"max_content_width": 100},
        params=[
            _eager("--version", "Print the version and exit.", _print_version),
            _eager("--show-completion", "Print completion for this shell.", _show_completion),
        ],
    )


def _command(entry: Verb | Group) -> click.Command:
    if isinstance(entry, Verb):
        return VerbCommand(entry)
    group = VerbGroup(entry.name, help=entry.summary)
    for verb in entry.verbs:
        group.add_command(VerbCommand(verb))
    return group


def _eager(flag: str, text: str, action: Callable[[click.Context], None]) -> click.Option:
    def act(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            action(ctx)
            ctx.exit()

    return click.Option(
        [flag], is_flag=True, is_eager=True, expose_value=False, callback=act, help=text
    )


def _print_all(ctx: click.Context) -> None:
    ctx.meta[_ALL] = True
    click.echo(ctx.get_help())


def _print_version(_: click.Context) -> None:
    from adjudge import __version__

    click.echo(__version__)


def _show_completion(_: click.Context) -> None:
    shell = Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell)
    if kind is None:
        raise ArgumentError("SHELL", shell, "completion is made for bash, zsh and fish")
    click.echo(kind(build(), {}, "adjudge", COMPLETION).source())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its exit code."""
    # As Ctrl-C: temporary files are removed, and a child process is ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
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
    """Run the command line and return its exit code, as `cli.output` lists them."""
    if any(map(has_password, arguments)):
        remark(
            "a password in a command is visible to everybody on this machine in the list of"
            " processes: put it into PGPASSWORD or ~/.pgpass, or put the URL into ADJUDGE_STORE"
        )
    try:
        with reader_remarks(remark), running(arguments):
            return _execute(build(), arguments)
    except AdjudgeError as error:
        remark(f"adjudge: {_readable(str(error))}")
    except click.UsageError as error:
        path = "adjudge" if error.ctx is None else error.ctx.command_path
        message = _readable(error.format_message().strip().rstrip(".?"))
        remark(f"{path}: {message}; see {path} --help")
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
    """A message without keys; if it quotes a very long value, its beginning and the remedy."""
    from adjudge.judges.redact import Redactor, environment_secrets

    message = Redactor(environment_secrets())(message)
    return message if len(message) <= 1000 else f"{message[:600]} ... {message[-300:]}"


def _refuse(error: OSError) -> int:
    place = f"{error.filename}: " if error.filename else ""
    remedy = "check the path and its permissions"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        remedy = "free space on the disk and run the same command again"
    remark(f"adjudge: {place}{error.strerror or error}; {remedy}")
    return FAILED
