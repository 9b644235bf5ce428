"""Every exception adjudge raises on purpose.

::

    AdjudgeError
    ├── InputError (ValueError)        user input; the message names the place and the remedy
    │   ├── ArgumentError              an argument of a call or an option of a command
    │   ├── DataError                  a file: path, row and column
    │   │   ├── FileError              a file that no reader can read
    │   │   └── NotAResultError        JSON, but of a kind that this adjudge does not know
    │   └── PolicyMismatchError        a policy or anchors made for another judge or prompt
    ├── JudgeError                     a judge that cannot be asked
    │   ├── BackendMissingError        an extra or weights are not installed
    │   ├── JudgeRefusedError          the server refused permanently (key, model, request)
    │   └── UnusableRepliesError       the first replies are all unusable
    └── StoreError                     the store cannot be opened or written
        ├── StoreMissingError          opened for reading, but it does not exist
        ├── StoreLostError             the connection to its server broke
        └── StoreVersionError          written by a newer adjudge

A judge's bad answer is not an exception: it is a row with a status. Infeasible is a result. Every
error can be pickled, so that one raised in a process pool arrives unchanged.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any


class AdjudgeError(Exception):
    """Base of all errors raised on purpose; `str(error)` is one readable line."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is rebuilt from its message alone, which a constructor with other
        # arguments cannot take.
        fields = {name: _portable(value) for name, value in vars(self).items()}
        return _rebuild, (type(self), self.args, fields)


def _rebuild(kind: type[AdjudgeError], args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


def _portable(value: object) -> object:
    """The value itself, or its repr if it cannot be pickled (a lambda, a connection)."""
    try:
        pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return repr(value)
    return value


class InputError(AdjudgeError, ValueError):
    """Something in the user's input cannot be used."""


class ArgumentError(InputError):
    """An argument is out of range or has the wrong shape.

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
    """A file cannot be used; rows count from 1, without the header.

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


class FileError(DataError):
    """A file that no reader can read, whatever its rows are: missing, damaged or too large."""


class NotAResultError(DataError):
    """A file is JSON, but not a result of this adjudge."""


class PolicyMismatchError(InputError):
    """The policy was made for another judge or prompt; `differs` names the parts."""

    def __init__(self, message: str, *, differs: tuple[str, ...] = ()) -> None:
        self.differs = differs
        super().__init__(message)


class JudgeError(AdjudgeError):
    """The judge cannot be asked."""


def how_to_install(extra: str) -> str:
    """The remedy if the packages of an extra are missing. Unreleased, adjudge is on no index.

    >>> how_to_install("ray")
    "run: pip install '.[ray]' in a checkout of adjudge"
    """
    return f"run: pip install '.[{extra}]' in a checkout of adjudge"


class BackendMissingError(JudgeError):
    """A package, program or weights file that the backend needs is missing."""


class JudgeRefusedError(JudgeError):
    """The server refused for a reason that a retry will not change."""

    def __init__(self, message: str, *, http_status: int | None = None) -> None:
        self.http_status = http_status
        super().__init__(message)


class UnusableRepliesError(JudgeError):
    """The first replies of a run have no usable score, all for the same reason."""


class StoreError(AdjudgeError):
    """The store cannot be opened, read or written."""


class StoreMissingError(StoreError):
    """There is no store at this place; one opened only for reading is not created."""


class StoreLostError(StoreError):
    """The connection to the store's server broke; what was committed is kept."""


class StoreVersionError(StoreError):
    """The store was written by a newer adjudge than this one."""
