"""The command that comes next: one line at the end of a verb, with the files that were typed.

A step looks at the result and at what was typed. It returns the next command without "adjudge", or
None if there is none. A word in capitals stands for a file that the command cannot know.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adjudge.cli.output import command_line

if TYPE_CHECKING:
    from adjudge.cli.verb import Option

#: Options that say how rows are read: the next command on the same rows needs them too.
_READING = (
    *("labels", "column", "labels_column", "labels_as", "human_metric", "format"),
    *(
        "judge",
        "protocol",
        "cluster",
        "pairs",
        "model_labels",
        "judge_column",
        "human_column",
        "positive",
        "raters",
        "scale",
    ),
)


@dataclass(frozen=True)
class Typed:
    """The command that ran: the names of its positional arguments, and all values as typed."""

    positional: Sequence[str]
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name)

    @property
    def rows(self) -> str | None:
        """The file it read; None if that was standard input or no file."""
        file = self[self.positional[0]] if self.positional else None
        return None if file is None or str(file) == "-" else str(file)

    def again(self, *more: str, without: str = "--explain") -> str | None:
        """The same command with more options, and without one."""
        if (line := command_line()) is None:
            return None
        line = line.removeprefix("adjudge ").replace(" --explain", "").replace(f" {without}", "")
        return " ".join([line, *more])

    def on_same_rows(self, verb: str, *words: object) -> str | None:
        """A verb on the file that this one read, read in the same way."""
        if self.rows is None:
            return None
        return command(verb, self.rows, *words, *self.options(verb, _READING))

    def options(self, verb: str, names: Sequence[str]) -> list[object]:
        """Those of these options that were typed and that another verb also takes."""
        from adjudge.cli.verbs import find_verb

        options = find_verb(verb).parameters
        typed = [name for name in names if name in options and self[name] is not None]
        return [word for name in typed for word in _words(options[name], self[name])]


def _words(option: Option, value: Any) -> Iterator[object]:
    for each in value if option.repeats and isinstance(value, (list, tuple)) else [value]:
        yield option.flag
        if option.type is not bool:
            yield from each if isinstance(each, (list, tuple)) else [each]


def command(verb: str, *words: object) -> str:
    """The verb and its words, quoted for a shell.

    >>> command("rank", "my battles.csv", "--evaluate")
    "rank 'my battles.csv' --evaluate"
    """
    return " ".join([verb, *(shlex.quote(str(word)) for word in words)])


#: Returns the command that comes after a result.
Step = Callable[..., str | None]


def no_step(_: Any, typed: Typed) -> str | None:
    return None


def save_as(name: str) -> Step:
    """First write the result to a file of this name, then make a report of its folder."""

    def step(_: Any, typed: Typed) -> str | None:
        output = typed["output"]
        if output is None:
            return typed.again("-o", name)
        # A report reads results from files of this ending alone.
        return command("report", Path(output).parent) if Path(output).suffix == ".json" else None

    return step
