"""A verb: a public function as a command. Its options are the function's arguments.

Names, types, defaults and help are read from the function's source; a `Verb` says what differs. A
package adds verbs by an entry point of the group "adjudge.verbs" that names a `Verb` or a `Group`::

    [project.entry-points."adjudge.verbs"]
    reproduce = "my_package.verbs:REPRODUCE"
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adjudge.cli.options import DELIVERED, SPELLED, Option, option_for
from adjudge.cli.output import deliver, remark
from adjudge.cli.signature import read_arguments
from adjudge.errors import ArgumentError

Values = dict[str, Any]
#: Prints a result and says whether the finding is bad. It gets the options of the command line.
Finish = Callable[[Any, Values], bool]
#: Does the work instead of the plain call, from the function's arguments and the other options.
Run = Callable[[Values, Values], bool]
_STANDARD_INPUT = Path("-")


def finish_plainly(result: Any, options: Values) -> bool:
    """Deliver the result; no finding is bad."""
    deliver(result, options)
    return False


@dataclass(frozen=True)
class Verb:
    """A command that calls a public function.

    Args:
        name: Its name, and that of its group: "plan rate".
        target: The function, or the class of options, as "package.module:name".
        summary: What it does, in a line of `adjudge --help`.
        example: An example without "adjudge".
        text: More about it, for its own help.
        rows: Positional arguments by name. The first argument of the function if None.
        main: Options of --help, separated by blanks; --help-all lists all. All if empty.
        added: Options of the command line that it has, of `DELIVERED`.
        options: Options of its own, and what differs from an argument or from `SPELLED`.
        without: Arguments of the function that are no options.
        finish: Delivers the result.
        run: Replaces the plain call.
    """

    name: str
    target: str
    summary: str
    example: str
    text: str = ""
    rows: Sequence[str] | None = None
    main: str = ""
    added: str = "output plot explain json"
    options: Sequence[Option] = ()
    without: str = ""
    finish: Finish = finish_plainly
    run: Run | None = None

    @cached_property
    def parameters(self) -> Mapping[str, Option]:
        """All options by name, the positional ones too."""
        own = {option.argument or option.name: option for option in self.options}
        made = []
        for argument in read_arguments(self.target).values():
            if argument.name in self.without.split():
                continue
            spelled = SPELLED.get(argument.name)
            if (differs := own.pop(argument.name, None)) is not None:
                spelled = differs if spelled is None else differs.over(spelled)
            if (option := option_for(argument, spelled)) is not None:
                made.append(option)
        made += [own.pop(name, Option(name)).over(DELIVERED[name]) for name in self.added.split()]
        made += own.values()
        flags = {option.argument: option.flag for option in made if option.argument}
        return {option.name: _with_flags(option, flags) for option in made}

    @cached_property
    def positional(self) -> Sequence[str]:
        """The names of positional arguments."""
        return [next(iter(self.parameters))] if self.rows is None else self.rows

    def __call__(self, values: Values) -> bool:
        """Run the verb with the values that were given. True if the finding is bad."""
        files = {name: path for name, path in values.items() if isinstance(path, Path)}
        with _spool_standard_input(self._inputs(files)) as spooled:
            typed = {**values, **spooled}
            arguments: Values = {}
            options: Values = {}
            for name, option in self.parameters.items():
                value = typed.get(name)
                if value is not None and option.read is not None:
                    value = option.read(value)
                if value is None and (option.always or option.argument is None):
                    value = option.default
                if option.argument is None:
                    options[name] = bool(value) if option.type is bool else value
                elif value is not None:
                    arguments[option.argument] = value
            if self.run is not None:
                return self.run(arguments, options)
            if "announce" in read_arguments(self.target):
                arguments["announce"] = remark
            return self.finish(self.function(**arguments), options)

    @property
    def function(self) -> Callable[..., Any]:
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)  # type: ignore[no-any-return]

    def _inputs(self, files: Mapping[str, Path]) -> dict[str, Path]:
        """The input files. An output that is one of them, or another output, is refused."""
        inputs = {n: path for n, path in files.items() if not self.parameters[n].can_be_output}
        for name in [name for name in inputs if self.parameters[name].written]:
            written = inputs.pop(name)
            if written == _STANDARD_INPUT:
                raise ArgumentError(name, "-", "name a file; --json prints the result")
            for other, path in inputs.items():
                if os.path.realpath(path) == os.path.realpath(written) != os.devnull:
                    remedy = f"give another file: this one is already {other}"
                    raise ArgumentError(name, str(written), remedy)
        return inputs


@dataclass(frozen=True)
class Group:
    """Verbs under one name, with their line of help."""

    name: str
    summary: str
    verbs: Sequence[Verb]


def _with_flags(option: Option, flags: Mapping[str, str]) -> Option:
    """Names of arguments as options: "With `by`: ..." is "With --by: ..." on the command line."""
    text = re.sub(r"`(\w+)`", lambda name: flags.get(name[1], name[0]), option.help or "")
    if option.repeats and "repeatable" not in text:
        text = f"{text.rstrip('.')}; repeatable."
    return replace(option, help=text)


@contextmanager
def _spool_standard_input(inputs: Mapping[str, Path]) -> Iterator[dict[str, Path]]:
    """The inputs that are `-`, with a private file that holds standard input instead.

    A pipe can be read only once, and readers look at the beginning of a file before they parse it.
    """
    names = [name for name, path in inputs.items() if path == _STANDARD_INPUT]
    if not names:
        yield {}
        return
    if len(names) > 1:
        raise ArgumentError(", ".join(names), "-", "standard input can be only one of these files")
    if sys.stdin is None or sys.stdin.isatty():
        raise ArgumentError(names[0], "-", "nothing is piped into the command: name a file")
    with TemporaryDirectory(prefix="adjudge-") as folder:
        copy = Path(folder) / "standard-input"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield {names[0]: copy}
