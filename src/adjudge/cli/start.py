"""Which commands answer what: for a file, by what it can be read as; without one, by what you have.

Every kind of rows is tried with its own reader, so that what is listed here works in the verbs.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl

from adjudge.cli.guessing import guess_columns
from adjudge.cli.output import reader_remarks
from adjudge.data import (
    FORMATS,
    Reading,
    convert_log,
    iter_items,
    iter_pairs,
    open_items,
    prepare_battles,
    prepare_grades,
    prepare_judgments,
    prepare_scores,
    prepare_tournaments,
    sniff,
)
from adjudge.data.formats import UNMATCHED
from adjudge.data.names import columns_here, recognise, shorten
from adjudge.data.source import typed_again
from adjudge.data.tables import TableLike, read_table
from adjudge.errors import AdjudgeError, DataError, FileError
from adjudge.evaluation import evaluate, prepare_evaluation
from adjudge.evaluation.rows import LABEL
from adjudge.present.blocks import Block, Commands, Headline, Note
from adjudge.present.result import Count, Result, frozen
from adjudge.present.text import count

#: What every kind takes: names of columns, words and whose metrics are.
_READ = ("columns", "labels_as", "human_metrics")
_HOW_GOOD = "How good is the judge, and where is it wrong?"
_LABELS = ("labels", "labels_columns", "raters", "alike_ids")
#: Columns that are about no text.
_VERDICTS = ("judge", "judge_score", "human")
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
    #: Whether it is about texts alone, which no judge and no person has to have seen.
    texts: bool = False
    #: More options of its commands, by what the file holds.
    more: Callable[..., str] = lambda file, **reading: ""

    def taken(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of these options that it takes."""
        taken = {name: options[name] for name in (*_READ, *self.takes) if name in options}
        if self.texts and taken.get("columns"):
            columns = taken["columns"].items()
            taken["columns"] = {ours: theirs for ours, theirs in columns if ours not in _VERDICTS}
        return taken


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
    scored = grades.scale == "scores"
    fits = {
        "verdicts to plan labels for": planned,
        "grades": not scored and not planned,
        "scores": scored and by is not None,
        "scores of answers": scored and "criterion" not in grades.frame.columns,
        "grades of two metrics": not scored and several,
        "numbers of two systems": grades.scale != "classes" and several,
    }
    if not fits[rows]:
        raise DataError(str(file), f"has no {rows} in the columns of grades")
    return grades.frame.height, int(labelled.sum())


def _scores(file: Path, **reading: Any) -> tuple[int, int]:
    frame = prepare_scores(file, **reading).frame
    people = frame["human_scores"].list.explode().drop_nulls()
    of_two = len(people) > 0 and people.is_in([0.0, 1.0]).all()
    if of_two and frame["judge_score"].is_between(0, 1).all():
        raise DataError(str(file), "holds grades of 0 and 1, not scores")
    return frame.height, int((frame["human_scores"].list.len() > 0).sum())


#: Scales that people are asked to use; `diagnose scores` takes the first if none is named.
_SCALES = ((1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100))


def _scale_of(file: Path, **reading: Any) -> str:
    """The option that names the scale of scores; empty for 1 to 5."""
    frame = prepare_scores(file, **reading).frame
    scores = [frame["judge_score"], frame["human_scores"].list.explode()]
    lowest = min(float(each.min()) for each in scores if each.count())  # type: ignore[arg-type]
    highest = max(float(each.max()) for each in scores if each.count())  # type: ignore[arg-type]
    scale = (math.floor(lowest), math.ceil(highest))
    scale = next((s for s in _SCALES if s[0] <= lowest and highest <= s[1]), scale)
    return "" if scale == _SCALES[0] else f" --scale {scale[0]}-{scale[1]}"


def _battles(file: Path, **reading: Unpack[Reading]) -> tuple[int, int | None]:
    battles = prepare_battles(file, **reading)
    votes = None if battles.human is None else int((~np.isnan(battles.human)).sum())
    return len(battles), votes if battles.score is not None else None


def _tournaments(file: Path, **reading: Unpack[Reading]) -> tuple[int, None]:
    return prepare_tournaments(file, **reading).rows, None


def _texts(read: Callable[..., Iterable[Any]], file: Path, **reading: Any) -> tuple[int, None]:
    return sum(1 for _ in read(file, **reading)), None


def _answers(file: Path, **reading: Any) -> tuple[int, None]:
    """Single answers; a data set of them is converted, a log has more than that."""
    format = sniff(file) or ""
    known = format is not None and format in FORMATS
    published = known and next(iter(FORMATS.load(str(format)).gives)) == "items"
    return _texts(open_items if published else iter_items, file, **reading)


#: In the order of trying. {} stands for the file.
_KINDS = (
    _Kind(
        "judgments of pairs",
        _judgments,
        {
            "Which verdicts can I trust?": "calibrate {} --alpha 0.1 -o policy.json",
            "Is it biased?": "diagnose bias {}",
        },
        {**_LABEL_FIRST, "Is the judge biased?": "diagnose bias {}"},
    ),
    _Kind(
        "scores",
        _scores,
        {"How far are the scores from people's?": "diagnose scores {}"},
        {},
        more=_scale_of,
    ),
    _Kind(
        "scores",
        partial(_grades, by="criterion", rows="scores"),
        {"What mean would people give?": "estimate {} --by criterion"},
        {},
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
        partial(_grades, rows="scores of answers"),
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
        texts=True,
    ),
    _Kind(
        "single answers",
        _answers,
        {
            "Does each pass, by a judge?": "judge {} --judge openai:MODEL --protocol grade "
            "-o judged.jsonl",
            "And by people?": "label {} -o labels.csv",
        },
        takes=(),
        texts=True,
    ),
)
_TEXTS = {kind.name for kind in _KINDS if kind.texts}
_NOTHING = {
    "See all of it in seconds": "demo --judge simulated",
    "Pairs of answers, no verdicts": "judge pairs.jsonl --judge openai:MODEL -o judged.jsonl",
    "A judge's preferences, some labels": "calibrate judged.jsonl --alpha 0.1 -o policy.json",
    "Any verdicts of a judge, some labels": "evaluate answers.csv",
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
        elif not self.read_as:
            headline = Headline(
                f"{self.file} does not say whether judges or people gave its scores"
            )
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
    **reading: Unpack[Reading],
) -> Guide:
    """Look at a file and list the commands that answer questions about it.

    Args:
        file: A file of pairs, verdicts, grades, scores or battles, or a log of another tool.
            Without it, the commands are listed by what you have.
        labels: Human labels by id, if they are in another file.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.
    """
    if file is None:
        listed = (Answer(question=q, command=f"adjudge {c}") for q, c in _NOTHING.items())
        return Guide(file=None, answers=tuple(listed), refused={})
    options: dict[str, Any] = {**reading, "labels": labels}
    guide, errors = _read(file, options)
    if labels is not None and not (guide.read_as or options.get("alike_ids")):
        alike, _ = _read(file, {**options, "alike_ids": True})
        guide = alike if alike.read_as else guide
    labelled = any(each.rows_kind not in _TEXTS and each.labels != 0 for each in guide.read_as)
    if labelled or (guide.answers and not guide.read_as):
        return guide
    unlike = None if guide.read_as else _refused_answers(file, options)
    if not guide.read_as and (known := _known(errors, unlike)) is not None:
        raise known
    try:
        guess = guess_columns(file, options)
    except AdjudgeError:
        guess = None
    if guess is not None:
        options["columns"] = {**(options.get("columns") or {}), **guess.columns}
        of_labels = {**(options.get("labels_columns") or {}), **guess.labels_columns}
        options["labels_columns"] = of_labels or None
        options["raters"] = guess.raters or options.get("raters")
        guessed, _ = _read(file, options, guess.judges)
        if guess.judges and not guessed.answers:
            # Without labels, one judge's rows show which to label.
            options["columns"]["judge"] = guess.judges[0]
            guessed, _ = _read(file, options)
        # Among texts, a column is a judge's only if people labelled what it says.
        labelled = any(answer.question == _HOW_GOOD for answer in guessed.answers)
        if labelled or (guessed.answers and not guide.read_as):
            first = guessed.read_as[0]
            first = replace(first, remarks=(*guess.remarks, *first.remarks))
            return replace(guessed, read_as=(first, *guessed.read_as[1:]))
    if not guide.read_as:
        raise unlike or _unreadable(file)
    return guide


def _read(
    file: Path, options: Mapping[str, Any], judges: Sequence[str] = ()
) -> tuple[Guide, list[AdjudgeError]]:
    """What the file can be read as with these options, and what the readers said otherwise."""
    readable: dict[_Kind, ReadAs] = {}
    refused: dict[str, AdjudgeError] = {}
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
    how_good = _how_good(file, options, judges)
    # A column that happens to have a usual name: rows of that kind have no labels.
    labelled_kinds = {kind: read_as for kind, read_as in readable.items() if read_as.labels != 0}
    if how_good is not None or not all(kind.texts for kind in labelled_kinds):
        readable = labelled_kinds
    answers = _questions(file) if options.get("human_metrics") is None else []
    by_name: dict[str, ReadAs] = {}
    for each in readable.values():
        by_name.setdefault(each.rows_kind, each)
    read_as = list(by_name.values())
    if how_good is not None:
        answers.append(how_good[1])
        if all(kind.texts for kind in readable):
            read_as = [how_good[0], *read_as]
    for kind, each in readable.items():
        commands = kind.unlabelled if each.labels == 0 else kind.commands
        taken = kind.taken(options)
        with reader_remarks(lambda _: None):
            again = kind.more(file, **taken) + _typed_again(taken)
        for question, command in commands.items():
            typed = f"adjudge {command.format(shlex.quote(str(file)))}{again}"
            if question not in {answer.question for answer in answers}:
                answers.append(Answer(question=question, command=typed))
    names = {kind.name for kind in readable}
    guide = Guide(
        file=str(file),
        read_as=tuple(read_as),
        answers=tuple(answers),
        refused={name: str(why) for name, why in refused.items() if name not in names},
    )
    return guide, list(refused.values())


def _how_good(
    file: Path, options: Mapping[str, Any], judges: Sequence[str]
) -> tuple[ReadAs, Answer] | None:
    """The command that evaluates the judge, if there is one and some rows have labels."""
    taken = _reading_of_labels(options)
    remarks: list[str] = []
    with reader_remarks(remarks.append):
        try:
            rows = prepare_evaluation(file, judges=judges, **taken)
            if len(judges) > 1 and rows.frame[LABEL].count():
                evaluate(rows, splits=1)
        except AdjudgeError:
            # Labels that were drawn by one judge's verdict can be about that judge alone.
            return _how_good(file, options, judges[:1]) if len(judges) > 1 else None
    first = rows.of_judge(rows.judges[0])
    labelled = first[LABEL].count()
    if not labelled:
        return None
    words = [word for judge in judges for word in ("--judge", judge)]
    named = "".join(f" {shlex.quote(word)}" for word in words)
    again = _typed_again(taken)
    command = f"adjudge evaluate {shlex.quote(str(file))}{named}{again}"
    several = len(rows.judges)
    kind = count(several, "judge") if several > 1 else "a judge"
    read_as = ReadAs(
        rows_kind=f"{rows.unit}s with {kind}",
        rows=first.height,
        labels=labelled,
        remarks=tuple(remarks),
    )
    return read_as, Answer(question=_HOW_GOOD, command=command)


def _reading_of_labels(options: Mapping[str, Any]) -> dict[str, Any]:
    """How rows with labels are read; an empty `human_metrics` says that people gave none."""
    taken = {name: options[name] for name in (*_READ, *_LABELS) if options.get(name)}
    if options.get("human_metrics") is not None:
        taken["human_metrics"] = options["human_metrics"]
    return taken


def _questions(file: Path) -> list[Answer]:
    """What only the user knows of a log: whose the scores are of which it does not say it."""
    every, _ = _metrics_of(file, {})
    known, unmatched = _metrics_of(file, None)
    unknown = [name for name in every if name not in known]
    again = f"adjudge start {shlex.quote(str(file))} --human-metric "
    if not unknown:
        # People's labels have another name than the judge's metric.
        return [
            Answer(
                question=f"Are people's labels of {name} about {known[0]}?",
                command=again + shlex.quote(f"{name}={known[0]}"),
            )
            for name in unmatched
        ]
    # An example of an answer: names that say it first.
    named = sorted(unknown, key=lambda name: "human" not in name.lower())
    others = [name for name in (*known, *unknown) if name != named[0]]
    questions = [Answer(question=f"No person gave {', '.join(unknown)}?", command=f"{again}none")]
    if others:
        answer = shlex.quote(f"{named[0]}={others[0]}")
        question = f"Or are they people's labels, such as {named[0]} of {others[0]}?"
        questions.append(Answer(question=question, command=again + answer))
    return questions


def _metrics_of(file: Path, human_metrics: Mapping[str, str] | None) -> tuple[list[str], list[str]]:
    """The metrics of a log's judges; and those of people if no label is about one of these."""
    with reader_remarks(lambda _: None):
        try:
            made = convert_log(file, human_metrics=human_metrics).summary
        except AdjudgeError:
            return [], []
    metrics = [row.metric for row in made.metrics if row.metric is not None]
    reasons = () if any(row.labels for row in made.metrics) else made.dropped
    names = [reason.removesuffix(f": {UNMATCHED}") for reason in reasons if UNMATCHED in reason]
    return list(dict.fromkeys(metrics)), names


def _known(errors: list[AdjudgeError], unlike: DataError | None) -> AdjudgeError | None:
    """What all readers say, or one that knew the file and says what it lacks."""
    for error in errors:
        if getattr(error, "argument", None) == "human_metrics":
            return error
    if unlike is not None:
        return next((error for error in errors if str(error) == str(unlike)), None)
    for error in errors:
        if len({*map(str, errors)}) == 1 or getattr(error, "row", None) is not None:
            return error
    return None


def _unreadable(file: Path) -> AdjudgeError:
    """What a log of a known tool lacks; for any other file, how to name its columns."""
    if (sniff(file) or "") in FORMATS:
        try:
            convert_log(file)
        except AdjudgeError as error:
            return error
    here = shorten(columns_here(read_table(file).columns))
    return DataError(
        str(file),
        f"cannot be read as rows of any kind; columns here: {here}",
        remedy="say what yours hold: --column judge=NAME (pass or fail), judge_score=NAME "
        "(scores), p_a=NAME (preferences), model_a=NAME, model_b=NAME and winner=NAME (battles)",
    )


def _refused_answers(file: Path, options: Mapping[str, Any]) -> DataError | None:
    """Why the verdicts and labels of a file cannot be used, if it has columns of both."""
    with reader_remarks(lambda _: None):
        try:
            prepare_evaluation(file, **_reading_of_labels(options))
        except DataError as error:
            labelled = options.get("labels") is not None or recognise(
                columns_here(read_table(file).columns), "binary", ["human"]
            )
            about_columns = error.problem.startswith(("is missing", "looks like"))
            return error if labelled and not about_columns else None
        except AdjudgeError:
            pass
    return None


def _typed_again(taken: Mapping[str, Any]) -> str:
    """What the commands of a kind take, as options."""
    words = typed_again(taken)
    if (labels := taken.get("labels")) is not None:
        words += ["--labels", str(labels)]
    if raters := taken.get("raters"):
        words += ["--raters", ",".join(raters)]
    if taken.get("alike_ids"):
        words.append("--alike-ids")
    return "".join(f" {shlex.quote(word)}" for word in words)
