"""Which commands answer what: for a file, by what it can be read as; without one, by what you have.

Every kind of rows is tried with its own reader, so that what is listed here works in the verbs.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl

from adjudge.cli.output import reader_remarks
from adjudge.data import (
    Reading,
    iter_items,
    iter_pairs,
    prepare_battles,
    prepare_grades,
    prepare_judgments,
    prepare_scores,
    prepare_tournaments,
)
from adjudge.data.names import columns_here, shorten
from adjudge.data.tables import TableLike, read_table
from adjudge.errors import AdjudgeError, DataError, FileError
from adjudge.present.blocks import Block, Commands, Headline, Note
from adjudge.present.result import Count, Result, frozen
from adjudge.present.text import count

_LABELS = ("labels", "labels_columns")
_LABEL_FIRST = {"Which rows do people label first?": "plan labels {} --write-ids to_label.csv"}


@dataclass(frozen=True, slots=True, eq=False)
class _Kind:
    """Rows of one kind: what they are called, how many rows and labels there are, what to run.

    `measure` reads a file and returns its number of rows and of labels (None: labels are not
    needed). `commands` answer questions; `unlabelled` replace them if there is no label.
    """

    name: str
    measure: Callable[..., tuple[int, int | None]]
    commands: Mapping[str, str]
    unlabelled: Mapping[str, str] = field(default_factory=lambda: _LABEL_FIRST)
    #: What its commands take in addition to names of columns and words.
    takes: tuple[str, ...] = _LABELS

    def taken(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of these options that it takes."""
        return {name: options.get(name) for name in ("columns", "labels_as", *self.takes)}


def _judgments(file: Path, about: str = "pairs", **reading: Any) -> tuple[int, int]:
    prepared = prepare_judgments(file, **reading)
    if prepared.about != about:
        raise DataError(str(file), f"holds {prepared.about}, not {about}")
    frame = prepared.frame.filter(pl.col("uncertainty").is_not_null() | (about == "pairs"))
    return frame.height, frame["label"].count() if "label" in frame.columns else 0


def _grades(
    file: Path, by: str | None = None, rows: str = "grades", **reading: Any
) -> tuple[int, int]:
    grades = prepare_grades(file, by=by, scores=True, needs_labels=False, **reading)
    labelled = (grades.labels >= 0) if grades.scale == "classes" else ~np.isnan(grades.human)
    several = len(grades.group_names) > 1
    # A plan needs rows without a label, and labels of both classes.
    both = grades.scale == "binary" and {*np.unique(grades.human[labelled])} == {0.0, 1.0}
    planned = both and not labelled.all()
    fits = {
        "verdicts to plan labels for": planned,
        "grades": grades.scale != "scores" and not planned,
        "scores": grades.scale == "scores" and "criterion" not in grades.frame.columns,
        "grades of two metrics": grades.scale != "scores" and several,
        "numbers of two systems": grades.scale != "classes" and several,
    }
    if not fits[rows]:
        raise DataError(str(file), f"has no {rows} in the columns of grades")
    return grades.frame.height, int(labelled.sum())


def _scores(file: Path, **reading: Any) -> tuple[int, int]:
    frame = prepare_scores(file, **reading).frame
    return frame.height, int((frame["human_scores"].list.len() > 0).sum())


def _battles(file: Path, **reading: Unpack[Reading]) -> tuple[int, int | None]:
    battles = prepare_battles(file, **reading)
    votes = None if battles.human is None else int((~np.isnan(battles.human)).sum())
    return len(battles), votes if battles.score is not None else None


def _tournaments(file: Path, **reading: Unpack[Reading]) -> tuple[int, None]:
    return prepare_tournaments(file, **reading).rows, None


def _texts(read: Callable[..., Iterable[Any]], file: Path, **reading: Any) -> tuple[int, None]:
    return sum(1 for _ in read(file, **reading)), None


#: In the order of trying. {} stands for the file.
_KINDS = (
    _Kind(
        "judgments of pairs",
        _judgments,
        {
            "Which verdicts can I trust?": "calibrate {} --alpha 0.1 -o policy.json",
            "Does the judge know when it is wrong?": "evaluate {}",
            "Is it biased?": "diagnose bias {}",
        },
        {**_LABEL_FIRST, "Is the judge biased?": "diagnose bias {}"},
    ),
    _Kind(
        "scores",
        _scores,
        {
            "How far are the scores from people's?": "diagnose scores {}",
            "What mean would people give?": "estimate {} --by criterion",
        },
        {},
        (*_LABELS, "raters"),
    ),
    _Kind(
        "grades",
        partial(_grades, rows="verdicts to plan labels for"),
        {
            "What rate can I report?": "estimate {}",
            "How many more labels do I need?": "plan rate {} --width 0.1",
        },
    ),
    _Kind("grades", _grades, {"What rate can I report?": "estimate {}"}),
    _Kind(
        "scores of answers",
        partial(_grades, rows="scores"),
        {"What mean would people give?": "estimate {}"},
    ),
    _Kind(
        "grades by several metrics",
        partial(_grades, by="metric", rows="grades of two metrics"),
        {"What rate can I report for each metric?": "estimate {} --by metric"},
    ),
    _Kind(
        "judgments of answers",
        partial(_judgments, about="grades"),
        {"Which grades can I trust?": "calibrate {} --alpha 0.1 -o policy.json"},
        {},
    ),
    _Kind(
        "several systems",
        partial(_grades, by="model", rows="numbers of two systems"),
        {"Is one system better than another?": "compare {}"},
        {"Is one system better than another, by the judge?": "compare {}"},
    ),
    _Kind("battles", _battles, {"How do the models rank?": "rank {}"}, {}, ()),
    _Kind(
        "tournaments",
        _tournaments,
        {"Is the judge consistent?": "diagnose transitivity {}"},
        {},
        (),
    ),
    _Kind(
        "pairs",
        partial(_texts, iter_pairs),
        {
            "Which answer is better, by a judge?": "judge {} --judge openai:MODEL -o judged.jsonl",
            "And by people?": "label {} -o labels.csv",
        },
        takes=(),
    ),
    _Kind(
        "single answers",
        partial(_texts, iter_items),
        {
            "Does each pass, by a judge?": "judge {} --judge openai:MODEL --protocol grade "
            "-o judged.jsonl",
            "And by people?": "label {} -o labels.csv",
        },
        takes=(),
    ),
)
_NOTHING = {
    "See all of it in seconds": "demo --judge simulated",
    "Pairs of answers, no verdicts": "judge pairs.jsonl --judge openai:MODEL -o judged.jsonl",
    "A judge's preferences, some labels": "calibrate judged.jsonl --alpha 0.1 -o policy.json",
    "Pass or fail by a judge, some labels": "estimate grades.csv",
    "Scores by a judge and by people": "diagnose scores scores.csv",
    "Battles of models": "rank battles.csv",
    "A log of another tool": "start run.json",
    "Something else, or not sure": "start your_file.csv",
}


@dataclass(frozen=True, kw_only=True)
class ReadAs:
    """One kind of rows that the file can be read as; `labels` is None if none are needed."""

    rows_kind: str
    rows: Count
    labels: Count | None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A question, or what you have, and the command for it."""

    question: str
    command: str


@frozen
class Guide(Result):
    """What a file can be read as, and the commands that answer questions about it."""

    kind: ClassVar[str] = "guide"
    rows_in: ClassVar[str] = "answers"

    file: str | None
    read_as: tuple[ReadAs, ...] = ()
    answers: tuple[Answer, ...]
    refused: Mapping[str, str]

    def view(self) -> list[Block]:
        if self.file is None:
            headline = Headline("What you have, and the command for it")
        else:
            kinds = "; ".join(map(_describe, self.read_as))
            headline = Headline(f"{self.file} can be read as {kinds}")
        lines = [
            line for answer in self.answers for line in (f"# {answer.question}", answer.command)
        ]
        remarks = dict.fromkeys(line for reading in self.read_as for line in reading.remarks)
        refused = [f"{kind}: {reason}" for kind, reason in self.refused.items()]
        return [
            headline,
            Commands(lines),
            *([Note(list(remarks))] if remarks else []),
            *([Note(refused, detail=True, title="What it is not, and why")] if refused else []),
        ]


def _describe(reading: ReadAs) -> str:
    n = reading.labels
    labels = "" if n is None else f", {count(n, 'label')}" if n else ", no labels"
    return f"{reading.rows_kind} ({count(reading.rows, 'row')}{labels})"


def start(
    file: Path | None = None,
    *,
    labels: TableLike | None = None,
    raters: Sequence[str] | None = None,
    **reading: Unpack[Reading],
) -> Guide:
    """Look at a file and list the commands that answer questions about it.

    Args:
        file: A file of pairs, verdicts, grades, scores or battles, or a log of another tool.
            Without it, the commands are listed by what you have.
        labels: Human labels by id, if they are in another file.
        raters: The raters' columns, for scores.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.
    """
    if file is None:
        listed = (Answer(question=q, command=f"adjudge {c}") for q, c in _NOTHING.items())
        return Guide(file=None, answers=tuple(listed), refused={})
    readable: dict[_Kind, ReadAs] = {}
    refused: dict[str, AdjudgeError] = {}
    options: dict[str, Any] = {**reading, "labels": labels, "raters": raters}
    for kind in _KINDS:
        remarks: list[str] = []
        with reader_remarks(remarks.append):  # a kind that is only tried must not print any
            try:
                rows, labelled = kind.measure(file, **kind.taken(options))
            except FileError:
                raise
            except AdjudgeError as error:
                refused[kind.name] = error
                continue
        if rows:
            readable[kind] = ReadAs(
                rows_kind=kind.name, rows=rows, labels=labelled, remarks=tuple(remarks)
            )
    # A column that happens to have a usual name: rows of that kind have no labels.
    labelled_kinds = {kind: read_as for kind, read_as in readable.items() if read_as.labels != 0}
    readable = labelled_kinds or readable
    if not readable:
        raise _unreadable(file, list(refused.values()))
    answers = []
    for kind, read_as in readable.items():
        commands = kind.unlabelled if read_as.labels == 0 else kind.commands
        again = _typed_again(kind.taken(options))
        for question, command in commands.items():
            typed = f"adjudge {command.format(shlex.quote(str(file)))}{again}"
            answers.append(Answer(question=question, command=typed))
    names = {kind.name for kind in readable}
    return Guide(
        file=str(file),
        read_as=tuple(readable.values()),
        answers=tuple(dict.fromkeys(answers)),
        refused={name: str(why) for name, why in refused.items() if name not in names},
    )


def _unreadable(file: Path, errors: list[AdjudgeError]) -> AdjudgeError:
    """What all readers say, or one that knew the columns; else how to name the columns."""
    for error in errors:
        if len({*map(str, errors)}) == 1 or getattr(error, "row", None) is not None:
            return error
    here = shorten(columns_here(read_table(file).columns))
    return DataError(
        str(file),
        f"cannot be read as rows of any kind; columns here: {here}",
        remedy="say what yours hold: --column judge=NAME (pass or fail), judge_score=NAME "
        "(scores), p_a=NAME (preferences), model_a=NAME, model_b=NAME and winner=NAME (battles)",
    )


def _typed_again(taken: Mapping[str, Any]) -> str:
    """What the commands of a kind take, as options."""
    words: list[str] = []
    for name, flag in (("columns", "--column"), ("labels_columns", "--labels-column")):
        for ours, theirs in (taken.get(name) or {}).items():
            words += [flag, f"{ours}={theirs}"]
    if meaning := taken["labels_as"]:
        words += ["--labels-as", ",".join(f"{theirs}={ours}" for theirs, ours in meaning.items())]
    if (labels := taken.get("labels")) is not None:
        words += ["--labels", str(labels)]
    if raters := taken.get("raters"):
        words += ["--raters", ",".join(raters)]
    return "".join(f" {shlex.quote(word)}" for word in words)
