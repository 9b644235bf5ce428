"""Every exception adjudge raises on purpose.

::

    AdjudgeError
    ├── InputError (ValueError)        what the user gave; the text says where and the remedy
    │   ├── ArgumentError              an argument of a call or an option of a command
    │   ├── DataError                  a file: path, row and column
    │   │   └── NotAResultError        JSON, but of no kind that this adjudge knows
    │   └── PolicyMismatchError        a policy or anchors made for another judge or prompt
    ├── JudgeError                     a judge that cannot be asked
    │   ├── BackendMissingError        an extra or weights are not installed
    │   └── JudgeRefusedError          the server said no for good (key, model, request)
    └── StoreError                     the store cannot be opened or written
        ├── StoreMissingError          opened to be read, and there is none
        ├── StoreLostError             the connection to its server broke off
        └── StoreVersionError          written by a newer adjudge

A judge's bad answer is not an exception: it is a row with a status. Infeasible is a result. Every
error survives pickling, so that one raised in a process pool arrives as itself.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any


class AdjudgeError(Exception):
    """Base of all errors raised on purpose; `str(error)` is one line fit for a person."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is made again from its message alone, which no constructor with
        # arguments of its own can take.
        fields = {name: _portable(value) for name, value in vars(self).items()}
        return _rebuild, (type(self), self.args, fields)


def _rebuild(kind: type[AdjudgeError], args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def _portable(value: object) -> object:
    """The value itself, or its repr where it cannot travel (a lambda, a connection)."""
    try:
        pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return repr(value)
    return value


class InputError(AdjudgeError, ValueError):
    """Something the user gave cannot be used."""


class ArgumentError(InputError):
    """An argument is out of its range or of the wrong shape.

    >>> str(ArgumentError("alpha", 1.2, "give a number strictly between 0 and 1"))
    'alpha = 1.2: give a number strictly between 0 and 1'
    """

    def __init__(self, argument: str, value: object, remedy: str) -> None:
        self.argument = argument
        self.value = value
        self.remedy = remedy
        shown = repr(value)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        super().__init__(f"{argument} = {shown}: {remedy}")


class DataError(InputError):
    """A file cannot be used as it is; rows count from 1, the header not counted.

    >>> str(DataError("labels.csv", "label 'C' is not known", row=3, column="label",
    ...               remedy="use A, B or tie"))
    "labels.csv, row 3, column label: label 'C' is not known; use A, B or tie"
    """

    def __init__(
        self,
        path: str | Path,
        problem: str,
        *,
        row: int | None = None,
        column: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.path = str(path)
        self.problem = problem
        self.row = row
        self.column = column
        self.remedy = remedy
        place = self.path
        if row is not None:
            place += f", row {row}"
        if column is not None:
            place += f", column {column}"
        super().__init__(f"{place}: {problem}" + (f"; {remedy}" if remedy else ""))


class NotAResultError(DataError):
    """A file holds JSON, but no result of this adjudge."""


class PolicyMismatchError(InputError):
    """The policy was made for another judge or prompt; `differs` names the parts."""

    def __init__(self, message: str, *, differs: tuple[str, ...] = ()) -> None:
        self.differs = differs
        super().__init__(message)


class JudgeError(AdjudgeError):
    """The judge cannot be asked."""


def how_to_install(extra: str) -> str:
    """The remedy if the packages of an extra are missing. No index has adjudge before its release.

    >>> how_to_install("ray")
    "run: pip install '.[ray]' in a checkout of adjudge"
    """
    return f"run: pip install '.[{extra}]' in a checkout of adjudge"


class BackendMissingError(JudgeError):
    """A package, program or weights file that the backend needs is not there."""


class JudgeRefusedError(JudgeError):
    """The server refused for a reason that asking again will not change."""

    def __init__(self, message: str, *, http_status: int | None = None) -> None:
        self.http_status = http_status
        super().__init__(message)


class UnusableRepliesError(JudgeError):
    """The first replies of a run have no usable number, all for one reason."""


class StoreError(AdjudgeError):
    """The store cannot be opened, read or written."""


class StoreMissingError(StoreError):
    """There is no store at this place, and one opened only to be read is not made."""


class StoreLostError(StoreError):
    """The connection to the store's server broke off; what was committed is kept."""


class StoreVersionError(StoreError):
    """The store was written by a newer adjudge than this one."""
