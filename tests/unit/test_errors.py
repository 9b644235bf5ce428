"""Errors travel: pickled, copied, and out of a process pool as what they are."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from adjudge import errors
from adjudge.data import read_labels
from adjudge.errors import (
    AdjudgeError,
    ArgumentError,
    DataError,
    FileError,
    JudgeRefusedError,
    NotAResultError,
    PolicyMismatchError,
)
from adjudge.selection import scope_threshold


def kinds(kind: type[AdjudgeError]) -> list[type[AdjudgeError]]:
    return [kind, *(inner for sub in kind.__subclasses__() for inner in kinds(sub))]


def test_the_tree_names_every_error() -> None:
    tree = set(re.findall(r"(\w+Error)\b", errors.__doc__ or ""))
    ours = [kind for kind in kinds(AdjudgeError) if kind.__module__ == errors.__name__]
    assert tree == {kind.__name__ for kind in ours} | {"ValueError"}


def travelled(error: AdjudgeError, protocol: int | None = None) -> Any:
    return pickle.loads(pickle.dumps(error, protocol))  # noqa: S301  (our own bytes)


ERRORS = [
    ArgumentError("alpha", 1.2, "give a number strictly between 0 and 1"),
    DataError("labels.csv", "label 'C' is not known", row=3, column="label", remedy="use A, B"),
    FileError("rows.jsonl", "no such file", remedy="check the path"),
    NotAResultError("notes.json", "has no kind"),
    PolicyMismatchError("made for another judge", differs=("model", "prompt_sha256")),
    JudgeRefusedError("HTTP 402: no credit", http_status=402),
    *(
        kind("in words")
        for kind in kinds(AdjudgeError)
        if not issubclass(kind, DataError)
        and (kind.__init__ is Exception.__init__ or "__init__" not in vars(kind))
    ),
]


def test_every_kind_of_error_is_tried() -> None:
    assert {type(error) for error in ERRORS} >= set(kinds(AdjudgeError))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_pickling(error: AdjudgeError, protocol: int) -> None:
    error.add_note("seen in shard 7")
    for back in (travelled(error, protocol), copy.copy(error)):
        assert type(back) is type(error)
        assert str(back) == str(error)
        assert back.args == error.args
        assert vars(back) == vars(error)


def test_a_value_that_cannot_travel_becomes_its_repr() -> None:
    error = ArgumentError("judge", lambda: None, "give a spec")
    back = travelled(error)
    assert str(back) == str(error)
    assert back.value.startswith("<function")


def test_an_error_in_a_process_pool_arrives_as_itself() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(ArgumentError, match=r"alpha = 1.2: give a number strictly") as argument:
            pool.submit(scope_threshold, [0.1, 0.2], [0, 1], alpha=1.2).result(60)
        assert (argument.value.argument, argument.value.value) == ("alpha", 1.2)
        with pytest.raises(DataError, match=r"nowhere.csv: no such file") as data:
            pool.submit(read_labels, "nowhere.csv").result(60)
        assert data.value.path == "nowhere.csv"
