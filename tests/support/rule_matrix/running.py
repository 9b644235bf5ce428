"""Run a command in this process, and compare what two runs of it returned."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import shlex
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from adjudge.cli import run
from rule_matrix.files import Files, Format, in_folder

#: Keys of --json that are no number or category of the result.
SOURCES = {"source", "file", "first", "second", "output", "store", "command", "read_as"}
TIMES = {"made_at", "asked_at", "elapsed_s", "calls_per_second", "pending_since"}
DIGESTS = {"digest", "pool_digest", "order_key", "rules_id", "adjudge_version"}
REMARKS = {"warnings", "notes", "dropped", "assumptions", "why"}
NOT_COMPARED = SOURCES | TIMES | DIGESTS | REMARKS
#: Keys of --json whose texts say what was left out.
TEXTS = {"warnings", "notes", "dropped", "refused", "statuses", "not_asked"}
#: Columns of the rows of -o that are compared, where they are written.
COLUMNS = (
    *("id", "status", "verdict", "p_a", "uncertainty", "judge_score", "accepted"),
    *("label", "labelled_by", "started_from", "sampled_by"),
)
#: Ids of rows that a fault adds and that are left out: a verb that writes every row keeps them.
ADDED = "bad"


@dataclass(frozen=True)
class Run:
    """What a command returned and printed.

    `texts` are the lines of standard error and the texts of the result that say what was left out.
    """

    exit_code: int
    result: Any
    rows: Sequence[dict[str, Any]]
    texts: Sequence[str]
    printed: str
    traceback: str | None = None

    @property
    def is_refused(self) -> bool:
        return self.exit_code == 1

    def texts_unlike(self, other: Run) -> list[str]:
        return [text for text in self.texts if text not in other.texts]

    def names_more(self, names: Sequence[str], other: Run) -> bool:
        """Whether one of the names is printed more often than in the other run."""
        return any(_mentions(name, self.printed) > _mentions(name, other.printed) for name in names)


def run_quietly(command: str) -> tuple[int, str, str]:
    """The exit code of a command, and what it wrote to standard output and standard error."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        exit_code = run(shlex.split(command))
    return exit_code, output.getvalue(), errors.getvalue()


def run_on(command: str, files: Files, format: Format = "jsonl") -> Run:
    """Run a command on files in a new folder; ` ; ` separates it from those that come before it."""
    with in_folder(files, format) as paths:
        commands = [f"{text} {files.options}" for text in command.format(**paths).split(" ; ")]
        *before, last = commands
        try:
            for earlier in before:
                exit_code, output, errors = run_quietly(earlier)
                if exit_code == 1:
                    return Run(exit_code, None, (), errors.splitlines(), errors)
            exit_code, output, errors = run_quietly(last)
        except Exception as error:  # no command may end so: a failure of its own
            return Run(-1, None, (), (), "", f"{type(error).__name__}: {error}")
        if exit_code == 1:
            return Run(exit_code, None, (), errors.splitlines(), output + errors)
        result = json.loads(output) if output.strip() else None
        texts = [line for line in errors.splitlines() if line]
        texts += _texts_in(result)
        return Run(exit_code, result, _written_rows(), texts, output + errors)


def _written_rows() -> list[dict[str, Any]]:
    if not Path("out.jsonl").exists():
        return []
    frame = pl.read_ndjson("out.jsonl", infer_schema_length=None)
    rows = frame.select(column for column in COLUMNS if column in frame.columns).to_dicts()
    return [row for row in rows if not str(row["id"]).strip().lower().startswith(ADDED)]


def _texts_in(value: Any, is_text: bool = False) -> Iterator[str]:
    """Texts and counts under the keys that say what was left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            if is_text and isinstance(item, int):
                yield f"{key}: {item}"
            yield from _texts_in(item, is_text or key in TEXTS)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item, is_text)
    elif is_text and isinstance(value, str):
        yield value


def _mentions(name: str, text: str) -> int:
    """How often a name is in a text as whole words; in any case if it is in lower case."""
    pattern = rf"(?<!\w){re.escape(name)}(?!\w)"
    return len(re.findall(pattern, text, re.IGNORECASE if name.islower() else 0))


def first_naming(names: Sequence[str], texts: Sequence[str]) -> str | None:
    """The first text that has one of the names."""
    naming = (text for text in texts if any(_mentions(name, text) for name in names))
    return next(naming, None)


def differences(reference: Run, other: Run, *, but: Set[str] = frozenset()) -> list[str]:
    """Where the results and the written rows of two runs differ, as paths with both values.

    The paths of `but` are not compared.
    """
    if (reference.result, reference.rows) == (other.result, other.rows):
        return []
    found = _differences(reference.result, other.result, "", but)
    return found + _differences(reference.rows, other.rows, "-o", frozenset())


def _differences(one: Any, other: Any, path: str, but: Set[str]) -> list[str]:
    if path.rpartition(".")[2] in NOT_COMPARED or path.lstrip(".") in but:
        return []
    if isinstance(one, dict) and isinstance(other, dict):
        keys = dict.fromkeys([*one, *other])
        return [
            text
            for key in keys
            for text in _differences(one.get(key), other.get(key), f"{path}.{key}", but)
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            text
            for one_item, other_item in zip(one, other, strict=True)
            for text in _differences(one_item, other_item, path, but)
        ]
    if _are_close(one, other):
        return []
    return [f"{path}: {json.dumps(one)[:60]} -> {json.dumps(other)[:60]}"]


def _are_close(one: Any, other: Any) -> bool:
    numbers = (int, float)
    if isinstance(one, numbers) and isinstance(other, numbers):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)
