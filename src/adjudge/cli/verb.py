"""A verb: a public function as a command. Its options are the function's arguments.

Names, types, defaults and help are read from the function's source. `SPELLED` has the arguments
that are written differently on the command line, in every verb; `DELIVERED` the options that say
where a result goes; a `Verb` what differs in it alone. A package adds verbs by an entry point of
the group "adjudge.verbs" that names a `Verb` or a `Group`::

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
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from typing import Any

from adjudge.atomic import check_writable
from adjudge.cli.output import BAD_FINDING, DONE, INCONCLUSIVE, deliver, remark
from adjudge.cli.signature import COMPUTED, REQUIRED, Argument, read_arguments
from adjudge.cli.steps import Step, Typed, no_step
from adjudge.errors import ArgumentError
from adjudge.records import Interval


@dataclass(frozen=True, slots=True)
class Option:
    """An option, or a positional argument. None: as the function's argument says.

    Args:
        name: Name in Python; the option is --name.
        help: Its line of help.
        type: str, int, float, Path, or bool for a flag.
        argument: Argument of the function that it sets. None for an option of the command line.
        field: Field of a class, as "package.module:Class.field", that says its type, default and
            help. For an object that the verb makes of several options.
        default: Default. The function has its own; of other options it is the value.
        words: Default as text, shown instead of it.
        values: Number of values.
        repeats: Whether it can be given several times.
        short: Short form, such as -o.
        metavar: What stands for the value in help.
        required: Whether it must be given.
        environment: Environment variable that gives its value.
        written: Whether the verb overwrites this file.
        can_be_output: Whether this input file can also be the output.
        read: Makes the function's value from what was typed; checks it before the work starts.
        least: Smallest number that it takes.
        most: Largest number that it takes.
        always: Whether the default is also passed to the function.
    """

    name: str
    help: str | None = None
    type: type | None = None
    argument: str | None = None
    field: str | None = None
    default: Any = None
    words: str | None = None
    values: int | None = None
    repeats: bool | None = None
    short: str | None = None
    metavar: str | None = None
    required: bool | None = None
    environment: str | None = None
    written: bool | None = None
    can_be_output: bool | None = None
    read: Callable[[Any], Any] | None = None
    least: float | None = None
    most: float | None = None
    always: bool | None = None

    @property
    def flag(self) -> str:
        return "--" + self.name.rstrip("_").replace("_", "-")

    def value(self, typed: Any) -> Any:
        """The function's value of what was typed, checked."""
        value = typed if self.read is None else self.read(typed)
        if self.least is not None and not self.least <= value <= (self.most or value):
            limits = f"{self.least:g} or more"
            if self.most is not None:
                limits = f"from {self.least:g} to {self.most:g}"
            raise ArgumentError(self.name, value, f"give a number, {limits}")
        return value

    def over(self, other: Option) -> Option:
        """This option, with the other's value wherever this one has none."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(other, **{k: value for k, value in values.items() if value is not None})


#: What a type of an argument is on the command line. The first of these that it takes counts.
_TYPES: Mapping[str, type] = {
    **dict.fromkeys(("TableLike", "SubjectSource", "Path"), Path),
    **dict.fromkeys(("str", "StorePlace", "OneJudge", "Status"), str),
    **dict.fromkeys(("int", "Seed"), int),
    "float": float,
    "bool": bool,
}
_SEVERAL = re.compile(r"(?:Sequence|Collection)\[(\w+)[^\]]*\]|tuple\[(\w+), \.\.\.\]")


def option_for(argument: Argument, stated: Option | None = None) -> Option | None:
    """The option for an argument; None if it can only be given in Python (an array, a callback).

    What a verb has `stated` about it comes first, then how it is spelled, then the function.
    """
    spelled = SPELLED.get(argument.name) or Option(argument.name)
    if stated is not None:
        spelled = stated.over(spelled)
    typed = _typed(argument)
    if not typed and spelled.type is None:
        return None
    constant = argument.default not in (REQUIRED, COMPUTED, (), None)
    declared = Option(
        argument.name,
        help=argument.help,
        argument=argument.name,
        default=argument.default if constant else None,
        words=argument.default_in_words,
        required=argument.default is REQUIRED,
        **typed,
    )
    return spelled.over(declared)


def _of_field(option: Option) -> Option:
    """The option, with the type, default and help of its field wherever it has none."""
    if option.field is None:
        return option
    target, _, name = option.field.rpartition(".")
    declared = option_for(read_arguments(target)[name], option)
    return option if declared is None else replace(declared, argument=None)


def _typed(argument: Argument) -> dict[str, Any]:
    """The type of the option and its number of values; empty if it has none."""
    for name, kind in _TYPES.items():
        if name in argument.types:
            return {"type": kind}
    for member in argument.types:
        if several := _SEVERAL.fullmatch(member):
            return {"type": _TYPES.get(several[1] or several[2], str), "repeats": True}
        if member.startswith("tuple["):
            return {"type": str, "values": member.count(",") + 1}
    return {"type": str} if argument.takes_literals else {}


def read_by(target: str, **options: Any) -> Callable[[Any], Any]:
    """Reads a value by a function, which is imported only then."""
    return lambda value: resolve_name(target)(value, **options)


def named(
    option: str, remedy: str, make: Callable[[str], Any] = str
) -> Callable[[Sequence[str]], dict[str, Any]]:
    """Reads a repeatable option NAME=VALUE."""

    def read(texts: Sequence[str]) -> dict[str, Any]:
        values = {}
        for text in texts:
            name, equals, value = map(str.strip, text.partition("="))
            if not (name and equals and value):
                raise ArgumentError(option, text, remedy)
            if name in values:
                raise ArgumentError(option, text, f"{name} is named twice: choose one")
            values[name] = make(value)
        return values

    return read


def parsed(option: str, remedy: str, parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Reads a text by `parse`, whose ValueError becomes the remedy."""

    def read(text: str) -> Any:
        try:
            return parse(text)
        except ValueError:
            raise ArgumentError(option, text, remedy) from None

    return read


def _names(texts: Sequence[str]) -> list[str]:
    """Names that were given in one option, with commas, or in several."""
    return [name.strip() for text in texts for name in text.split(",")]


def numbers(name: str, example: str) -> Callable[[str], Any]:
    """Reads numbers separated by commas."""
    remedy = f"give numbers, such as {example}"
    return parsed(name, remedy, lambda text: tuple(float(number) for number in text.split(",")))


def _families(path: Path) -> dict[str, str]:
    from adjudge.data.writing import read_json

    families = read_json(path)
    if not isinstance(families, dict) or not all(isinstance(v, str) for v in families.values()):
        raise ArgumentError("--families", str(path), 'write {"model name": "family"}')
    return families


def _folder(path: Path) -> Path:
    """A folder that files can be written to; it need not exist."""
    check_writable(path / "picture.png")
    return path


def _json_object(text: str) -> dict[str, Any]:
    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ArgumentError("extra_body", "...", "give a JSON object")
    return value


def _bytes(size: str) -> int:
    """The number of bytes in a size such as 512K, 8M or 1G."""
    written = re.fullmatch(r"([0-9]{1,9})([KMG]?)(?:i?B)?", size.strip(), re.IGNORECASE)
    if written is None:
        raise ArgumentError("max_reply", size, "give a size such as 512K or 8M")
    return int(written[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[written[2].upper()]


def required_secret(secret: str | None) -> str:
    """The secret for drawing audits, which must be given."""
    if secret is None:
        raise ArgumentError("secret_env", None, "name a variable with a secret: --secret-env NAME")
    return secret


def _secret(name: str) -> str:
    """The secret for drawing audits, from the environment: process lists show options."""
    secret = os.environ.get(name, "")
    if not secret:
        remedy = "no environment variable has this name (not shown, it can be a secret): "
        remedy += "export NAME=$(openssl rand -hex 32) and give --secret-env NAME"
        raise ArgumentError("secret_env", "...", remedy)
    return secret


def files_by_name(option: str) -> Callable[[Sequence[str]], dict[str, Path]]:
    """Reads a repeatable option NAME=FILE."""
    return named(option, "write it as NAME=FILE", Path)


def written(name: str, text: str) -> Option:
    """A file that the verb writes."""
    return Option(name, text, Path, written=True)


def share(name: str) -> Callable[[float], float]:
    """Refuses a number that is not a share."""
    return read_by("adjudge.validation:unit", name=name)


def _scale(text: str) -> tuple[int, int]:
    low, _, high = text.partition(":" if ":" in text else "-")
    return int(low), int(high)


def scale_option(text: str) -> Option:
    """--scale as two numbers."""
    remedy = "write the lowest and highest score, such as 1-5"
    read = parsed("--scale", remedy, _scale)
    return Option("scale", text, str, values=1, words="1-5", read=read)


def _mix(text: str) -> dict[str, float]:
    pairs = [part.rpartition("=") for part in text.split(",")]
    return {name.strip(): float(share) for name, _, share in pairs}


#: --mix as shares by value.
MIX = Option(
    "mix",
    type=str,
    metavar="VALUE=SHARE,...",
    read=parsed("--mix", "write VALUE=SHARE,..., such as en=0.3,de=0.7", _mix),
)
#: A URL in the environment is not in the list of processes.
_STORE = Option("store", type=str, default="adjudge.db", always=True, environment="ADJUDGE_STORE")


def store_option(text: str, argument: str | None = None) -> Option:
    """--store, with its line of help."""
    return replace(_STORE, help=text, argument=argument)


def _renaming(name: str, text: str) -> Option:
    """OURS=YOURS for columns with other names."""
    read = named("--" + name.replace("_", "-"), "write OURS=YOURS, like prompt=question")
    return Option(name, text, str, metavar="OURS=YOURS", repeats=True, read=read)


def _human_metrics(texts: Sequence[str]) -> dict[str, str]:
    """NAME=METRIC, or NAME alone; the word none alone says that people gave none."""
    if [*texts] == ["none"]:
        return {}
    pairs = [text.partition("=") for text in texts]
    return {name.strip(): metric.strip() for name, _, metric in pairs}


#: Arguments that are written differently on the command line than in Python, in every verb.
SPELLED: Mapping[str, Option] = {
    "columns": _renaming(
        "column", "Columns with other names: OURS=YOURS; repeatable, for all files of the command."
    ),
    "labels_columns": _renaming(
        "labels_column", "Columns of the labels file with other names: OURS=YOURS; repeatable."
    ),
    "human_metrics": Option(
        "human_metric",
        "A metric of a log that is people's label of another; repeatable. none: people gave none.",
        str,
        metavar="NAME[=METRIC]",
        repeats=True,
        read=_human_metrics,
    ),
    "labels_as": Option(
        "labels_as",
        "Meaning of words in label and verdict columns, such as '0=A,1=B'.",
        str,
        metavar="YOURS=OURS,...",
        read=read_by("adjudge.data.names:parse_labels_as"),
    ),
    "families": Option(
        "families",
        'JSON object {"model name": "family"} for names that do not show it.',
        Path,
        read=_families,
    ),
    "alphas": Option("alpha"),
    "costs": Option("costs", type=str, repeats=False, read=numbers("costs", "1,5,30")),
    "raters": Option("raters", read=_names),
    "control": Option("control", read=_names),
    "slices": Option("slices", read=_names),
    "seed": Option("seed", least=0),
    "store": _STORE,
    "secret": Option(
        "secret_env",
        "Environment variable with the secret for drawing audits (16 characters or more).",
        str,
        read=_secret,
        required=False,
    ),
    "extra_body": Option("extra_body", type=str, read=_json_object),
    "max_reply": Option(
        "max_reply",
        "Largest answer that is read, such as 8M; a larger answer makes its row an error.",
        str,
        metavar="SIZE",
        read=_bytes,
    ),
    "keep_raw": Option(
        "no_raw",
        "Leave the server's raw answers out of the store.",
        bool,
        read=lambda leave_out: not leave_out,
        default=False,
    ),
}

_check_picture = read_by("adjudge.present.figure:check_picture")
_DELIVERED = (
    Option(
        "output", "Write the result: .json, or to read .md, .html.", Path, short="-o", written=True
    ),
    Option("summary", "Write the summary here as JSON, for `adjudge report`.", Path, written=True),
    Option("plot", "Save a picture (.png, .svg or .pdf).", Path, written=True, read=_check_picture),
    Option("figures", "Save all pictures into this folder.", Path, read=_folder),
    Option("explain", "Also print the details, and what is assumed and promised.", bool),
    Option("json", "Print one JSON object to standard output, nothing else.", bool),
)
#: Options that the command line adds, by name.
DELIVERED: Mapping[str, Option] = {option.name: option for option in _DELIVERED}


#: The panels of a verb's help, and the options in each that several verbs have.
OPTION_PANELS: Mapping[str, str] = {
    "Rows": "labels model_labels best format column labels_column labels_as judge_column "
    "human_column human_metric raters positive pairs limit families cluster by scale plan",
    "Judge": "judge protocol prompt criteria demonstrations samples reason min_answer_mass "
    "keep_going max_tokens base_url api_key_env extra_body concurrency rpm timeout max_reply "
    "store no_raw",
    "Cost": "dry_run max_cost prices costs",
    "Workers": "engine workers ray_address",
    "Server": "host port browser",
    "Output": "output summary plot figure figures explain json write_ids fail_above max_failed out",
}
#: The panel of all other options: those of the verb's method.
OTHER = "Method"
Values = dict[str, Any]
_STANDARD_INPUT = Path("-")


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
        bad: Says whether the finding is bad, from the result and the options of the command line.
        unknown: Says, from the same, whether what was asked is not known yet.
        step: Returns the command that comes next.
        run: Replaces the plain call. It gets the function's arguments and the other options, and
            returns the result, or whether the finding is bad if there is nothing more to show.
        panel: Its panel in `adjudge --help`, if it is in no group.
        place: Its place in the panel; verbs at the same place are sorted by name.
        panels: Panels of its own help with those of its options that no other verb has.
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
    bad: Callable[[Any, Values], bool] = lambda *_: False
    unknown: Callable[[Any, Values], bool] = lambda *_: False
    step: Step = no_step
    run: Callable[[Values, Values], Any] | None = None
    panel: str = "More"
    place: int = 99
    panels: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def parameters(self) -> Mapping[str, Option]:
        """All options by name, the positional ones too."""
        stated = {option.argument or option.name: option for option in self.options}
        arguments = read_arguments(self.target)
        without = self.without.split()
        if "labels" not in arguments or "TableLike" not in arguments["labels"].types:
            # Without labels there is no question whose they are.
            without += [
                "labels_columns",
                "raters",
                *(["human_metrics"] if "columns" in arguments else []),
            ]
        taken = [argument for name, argument in arguments.items() if name not in without]
        declared = [option_for(argument, stated.pop(argument.name, None)) for argument in taken]
        added = [
            stated.pop(name, Option(name)).over(DELIVERED[name]) for name in self.added.split()
        ]
        others = [_of_field(option) for option in stated.values()]
        every = (*declared, *added, *others)
        options = [option for option in every if option is not None]
        flags = {option.argument: option.flag for option in options if option.argument}
        return {option.name: _with_flags(option, flags) for option in options}

    @cached_property
    def positional(self) -> Sequence[str]:
        """The names of positional arguments."""
        return [next(iter(self.parameters))] if self.rows is None else self.rows

    def panel_of(self, option: str) -> str:
        """The panel of its help that lists this option."""
        for panel, options in (*self.panels.items(), *OPTION_PANELS.items()):
            if option in options.split():
                return panel
        return OTHER

    def __call__(self, values: Values) -> int:
        """Run the verb with the values that were given, and return its exit code."""
        if "plot" in self.parameters and "figure" in values and "plot" not in values:
            raise ArgumentError("figure", values["figure"], "names a picture: give --plot FILE too")
        with _spool_standard_input(self._inputs(values)) as spooled:
            typed = {**values, **spooled}
            arguments: Values = {}
            next_step = partial(self.step, typed=Typed(self.positional, values))
            options: Values = {"next_step": next_step}
            for name, option in self.parameters.items():
                value = typed.get(name)
                if value is not None:
                    value = option.value(value)
                elif option.always or option.argument is None:
                    value = option.default
                    if option.type is Path and value is not None:
                        value = Path(value)
                if option.argument is None:
                    options[name] = bool(value) if option.type is bool else value
                elif value is not None:
                    arguments[option.argument] = value
            if "announce" in read_arguments(self.target):
                arguments["announce"] = remark
            if self.run is None:
                result = resolve_name(self.target)(**arguments)
            else:
                result = self.run(arguments, options)
            if isinstance(result, bool):
                return BAD_FINDING if result else DONE
            deliver(result, options)
            if self.unknown(result, options):
                return INCONCLUSIVE
            return BAD_FINDING if self.bad(result, options) else DONE

    def _inputs(self, values: Values) -> dict[str, Path]:
        """The input files. An output that is one of them, or another output, is refused."""
        # A place that is a file or a store is a text.
        places = {
            name: value
            for name, value in values.items()
            if isinstance(value, (str, Path)) and not self.parameters[name].can_be_output
        }
        for name in [name for name in places if self.parameters[name].written]:
            written = places.pop(name)
            if written == _STANDARD_INPUT:
                raise ArgumentError(name, "-", "name a file; --json prints the result")
            for other, place in places.items():
                if os.path.realpath(place) == os.path.realpath(written) != os.devnull:
                    remedy = f"give another file: this one is the {other}"
                    raise ArgumentError(name, str(written), remedy)
            check_writable(written)
        return {name: place for name, place in places.items() if isinstance(place, Path)}


@dataclass(frozen=True)
class Group:
    """Verbs under one name, with their line, panel and place in `adjudge --help`."""

    name: str
    summary: str
    verbs: Sequence[Verb]
    panel: str = "More"
    place: int = 99


def bad_if(field: str, state: bool = True) -> Callable[[Any, Values], bool]:
    """The finding is bad if this field of the result is in this state."""
    return lambda result, _: bool(getattr(result, field)) is state


#: For CI: a number that must be shown to reach a limit.
FAIL_BELOW = Option(
    "fail_below",
    "Exit 2 if people's number is shown to be below this, 3 if unknown.",
    float,
    read=read_by("adjudge.validation:finite_number", name="--fail-below"),
)


def below(options: Values, numbers: Sequence[Any], outcome: str) -> bool:
    """Whether --fail-below ends in this outcome, decided as by a gate; a remark names it."""
    if (limit := options["fail_below"]) is None:
        return False
    from adjudge.gating import decide

    if decide([each.interval for each in numbers], at_least=limit) != outcome:
        return False
    known = "people's number is shown to be" if outcome == "fail" else "not known whether it is"
    remark(f"--fail-below: {known} below {limit:g}")
    return True


#: The intervals of each group's numbers, by name; None if there is none.
Intervals = Mapping[str, Mapping[str, Interval | None]]


def above(options: Values, groups: Intervals, outcome: str) -> bool:
    """Whether --fail-above ends in this outcome, decided as by a gate; remarks name the numbers."""
    from adjudge.gating import decide

    limits = options["fail_above"] or {}
    outcomes = {
        f"{name} of {group} is {{}}above {limit:g}": decide([numbers.get(name)], at_most=limit)
        for group, numbers in groups.items()
        for name, limit in limits.items()
    }
    failed = "fail" in outcomes.values()
    if outcome not in outcomes.values() or failed != (outcome == "fail"):
        return False
    for line, each in outcomes.items():
        if each == outcome:
            words = (
                line.format("shown to be ") if failed else f"not known whether {line.format('')}"
            )
            remark(f"--fail-above: {words}")
    return True


def picked(values: Values, *names: str) -> Values:
    """Those of these values that were given."""
    return {name: values[name] for name in names if name in values}


def prepare_rows(reader: str, arguments: Values) -> Any:
    """The rows that a reader makes of those arguments that it takes; the others stay."""
    names = [name for name in read_arguments(reader) if name in arguments]
    return resolve_name(reader)(**{name: arguments.pop(name) for name in names})


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
