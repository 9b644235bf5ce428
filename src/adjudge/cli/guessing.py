"""What the columns of a file can be, by their values: for a file whose names are unknown.

Nothing is decided here: a guess becomes options of the commands that `adjudge start` lists, which
its reader has tried, and a line says what was taken for what.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import polars as pl

from adjudge.data.candidates import (
    holds_shares,
    in_words_of_sides,
    judge_candidates,
    same_classes,
)
from adjudge.data.columns import rename_columns
from adjudge.data.names import GRADE, columns_here, recognise, shorten
from adjudge.data.scales import MOST_CLASSES
from adjudge.data.steps.status import plain_words
from adjudge.data.tables import as_text, read_table, source_name

#: Parts of names that models have, and people do not.
_MODEL = re.compile(
    r"(?i)gpt|llm|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|command-r|judge|model"
    r"|auto|\bo[134]\b|(\b|_)(ai|ki|ia)(\b|_)"
)
#: Names of columns that people are asked to fill: a question, or their feedback.
_ASKED = re.compile(r"(?i)\?\s*$|feedback|human|expert|reviewer|annotat|rater|label")
#: Names, such as those of models: at most this many.
MOST_NAMES = 200
#: A text column is at least this long on average.
_LONG = 20
#: A scale has at most this many steps, and at least three.
_STEPS = 11
_TIES = {"tie", "draw", "both", "neither", "equal"}


@dataclass(frozen=True)
class Guess:
    """Options that a file can be read with, and what was taken for what."""

    columns: Mapping[str, str] = field(default_factory=dict)
    labels_columns: Mapping[str, str] = field(default_factory=dict)
    judges: Sequence[str] = ()
    raters: Sequence[str] = ()
    remarks: Sequence[str] = ()


def guess_columns(file: Any, options: Mapping[str, Any]) -> Guess | None:
    """What the columns of a file can be that no name tells; None if nothing is seen.

    >>> rows = {"ticket": ["a", "b"], "llm_check": ["pass", "fail"]}
    >>> dict(guess_columns(pl.DataFrame(rows), {}).columns)
    {'judge': 'llm_check'}
    """
    frame = read_table(file)
    frame = rename_columns(frame, options.get("columns") or {}, source_name(file))
    columns: dict[str, str] = {}
    remarks: list[str] = []
    labels_columns = _match_labels(frame, options, columns, remarks)
    raters: list[str] = []
    judges: list[str] = []
    kind, label = ("binary", "human")
    if recognise(frame.columns, "pairs", ["response_a", "response_b"]):
        kind, label = ("pairs", "label")
    here = columns_here(frame.columns)
    people = [column for column in here if recognise([column], kind, [label])]
    if kind == "pairs" and not people:
        people = _name_sides(frame, columns, remarks)
    taken = {*columns.values(), *people}
    if _are_battles(frame, columns, remarks):
        return Guess(columns, remarks=remarks)
    if "judge" not in columns and not recognise(frame.columns, "binary", ["judge", "p_pass"]):
        judges = judge_candidates(frame, people[0]) if len(people) == 1 else []
        verdicts = [column for column in _verdict_columns(frame) if column not in taken]
        verdicts = verdicts or [column for column in _class_columns(frame) if column not in taken]
        scores = [column for column in _score_columns(frame) if column not in taken]
        shares = [column for column in frame.columns if holds_shares(frame[column])]
        if judges:
            remarks.append(f"{shorten(judges)}: values on the scale of {people[0]}; judges?")
        elif len(shares) == len(verdicts) == 1 and not people:
            columns |= {"judge": shares[0], "human": verdicts[0]}
            remarks.append(f"{shares[0]}: probabilities of a judge? {verdicts[0]}: of people?")
        elif len(verdicts) > 1 and not people and (of_people := _of_people(frame, verdicts)):
            judges = [column for column in verdicts if column not in of_people]
            if len(of_people) == 1:
                columns["human"] = of_people[0]
            else:
                raters = of_people
            remarks.append(f"{shorten(of_people)}: of people? {shorten(judges)}: of a judge?")
        elif len(verdicts) == 2 and not (people or options.get("labels") or _of_models(verdicts)):
            columns |= dict(zip(("judge", "human"), verdicts, strict=True))
            remarks.append(f"{verdicts[0]}: of a judge? {verdicts[1]}: of people? or vice versa")
        elif len(verdicts) > 1:
            judges = verdicts
            remarks.append(f"{shorten(verdicts)}: hold the same values; judges?")
        elif verdicts:
            columns["judge"] = verdicts[0]
            remarks.append(f"{verdicts[0]}: holds pass and fail, or 1 and 0; the judge's?")
        elif len(scores) > 1:
            by_models = _of_models(scores)
            raters = [column for column in scores if column not in by_models]
            by_models, raters = _of_one_criterion(by_models, raters, remarks)
            if len(by_models) == 1 and raters:
                columns["judge_score"] = by_models[0]
                remarks.append(f"{by_models[0]}: scores of a model? {shorten(raters)}: of people?")
            else:
                raters = []
        elif scores and not people:
            columns["judge_score"] = scores[0]
            remarks.append(f"{scores[0]}: holds scores; the judge's?")
    if len(judges) == 1:
        columns["judge"] = judges[0]
        judges = []
    if not (people or judges or raters or "human" in columns) and options.get("labels") is None:
        _name_people(frame, columns, remarks)
    if not (columns.keys() - {"id"} or judges or raters):
        _name_texts(frame, columns, remarks)
    if not (columns or labels_columns or judges):
        return None
    return Guess(columns, labels_columns, judges, raters, remarks)


def _name_sides(frame: pl.DataFrame, columns: dict[str, str], remarks: list[str]) -> list[str]:
    """The one column of pairs in which people name the better answer, and that of a judge."""
    said = {column: plain_words(frame[column]) for column in columns_here(frame.columns)}
    sides = [column for column in said if len(said[column]) > 1 and in_words_of_sides(said[column])]
    known = [column for column in sides if recognise([column], "binary", ["judge"])]
    unknown = [column for column in sides if column not in known]
    judges = _of_models(unknown)
    people = [column for column in unknown if column not in judges]
    if len(people) != 1 or len(known) + len(judges) != 1:
        return []
    columns["label"] = people[0]
    remarks.append(f"{people[0]}: names the better answer; people's?")
    if judges:
        columns["judge"] = judges[0]
        remarks.append(f"{judges[0]}: names the better answer; the judge's?")
    return people


def _name_people(frame: pl.DataFrame, columns: dict[str, str], remarks: list[str]) -> None:
    """The one column that a form asked people, with the judge's words."""
    here = columns_here(frame.columns)
    judges = [column for column in here if recognise([column], "binary", ["judge"])]
    judges = [columns["judge"]] if "judge" in columns else judges
    if len(judges) != 1:
        return
    verdicts = plain_words(frame[judges[0]])
    asked = [
        column
        for column in here
        if column != judges[0] and _ASKED.search(column) and not _MODEL.search(column)
    ]
    said = {column: plain_words(frame[column]) for column in asked}
    people = [column for column in asked if 2 <= len(said[column]) <= MOST_CLASSES]
    people = [column for column in people if same_classes(verdicts, said[column])]
    if len(people) == 1 and verdicts:
        columns["human"] = people[0]
        remarks.append(f"{people[0]}: says what {judges[0]} says; people's?")


def _verdict_columns(frame: pl.DataFrame) -> list[str]:
    """Columns of two words that mean pass and fail, such as 1 and 0."""
    columns = []
    for column in frame.columns:
        words = plain_words(frame[column], MOST_NAMES)
        if words and words <= GRADE.words.keys() and len({GRADE.words[w] for w in words}) == 2:
            columns.append(column)
    return columns


def _class_columns(frame: pl.DataFrame) -> list[str]:
    """Two columns or more of the same few words, such as refund, complaint and praise."""
    words = {
        column: plain_words(frame[column])
        for column in columns_here(frame.columns)
        if frame.schema[column] == pl.String
    }
    classes = {column: said for column, said in words.items() if 2 <= len(said) <= MOST_CLASSES}
    for said in classes.values():
        if len(alike := [column for column in classes if classes[column] == said]) > 1:
            return alike
    return []


def _of_people(frame: pl.DataFrame, verdicts: Sequence[str]) -> list[str]:
    """Those of these columns that people filled: one has gaps, or no model's name; none if unsure.

    Next to one model's column all others are people's. Judges answer every row; people label some.
    """
    sparse = [column for column in verdicts if frame[column].null_count()]
    unnamed = [column for column in verdicts if not _MODEL.search(column)]
    one_judge = len(unnamed) == len(verdicts) - 1 and {*sparse} <= {*unnamed}
    of_people = sparse if len(sparse) == 1 and not one_judge else unnamed
    return of_people if len(of_people) < len(verdicts) else []


def _of_models(columns: Sequence[str]) -> list[str]:
    """The columns with names as models have."""
    return [column for column in columns if _MODEL.search(column)]


def _of_one_criterion(
    judges: list[str], raters: list[str], remarks: list[str]
) -> tuple[list[str], list[str]]:
    """A judge's and people's scores for the first of several criteria, by the ends of their names.

    >>> _of_one_criterion(["llm_tone", "llm_facts"], ["human_tone", "human_facts"], [])
    (['llm_tone'], ['human_tone'])
    """
    ends = [re.split(r"[\W_]+", judge)[-1].lower() for judge in judges]
    same = [[c for c in raters if c.lower().endswith(end)] for end in ends]
    if len(judges) < 2 or len({*ends}) < len(ends) or not all(same):
        return judges, raters
    remarks.append(f"{shorten(judges)}: a criterion each? one at a time, here {judges[0]}")
    return judges[:1], same[0]


def _score_columns(frame: pl.DataFrame) -> list[str]:
    """Columns of numbers with few steps, three or more: a scale."""
    columns = []
    for column in frame.columns:
        numbers = pl.Series(sorted(plain_words(frame[column], MOST_NAMES)), dtype=pl.String)
        numbers = numbers.cast(pl.Float64, strict=False)
        if 3 <= len(numbers) <= _STEPS and not numbers.null_count():
            columns.append(column)
    return columns


def _are_battles(frame: pl.DataFrame, columns: dict[str, str], remarks: list[str]) -> bool:
    """Two columns of one set of names, and one that names the winner of the two."""
    if recognise(frame.columns, "battles", ["model_a", "model_b"]):
        return False
    names = {column: plain_words(frame[column], MOST_NAMES) for column in frame.columns}
    few = {column: words for column, words in names.items() if 2 <= len(words) <= 100}
    for winner in few:
        others = [column for column in few if column != winner]
        for first, second in combinations(others, 2):
            if len(few[first] & few[second]) < 2 or few[first] <= GRADE.words.keys():
                continue
            if not _names_a_side(frame, winner, first, second):
                continue
            columns.update({"model_a": first, "model_b": second})
            if not recognise([winner], "battles", ["winner", "verdict"]):
                columns["winner"] = winner
            remarks.append(f"{winner}: names one of {first} and {second}; battles?")
            return True
    return False


def _names_a_side(frame: pl.DataFrame, winner: str, first: str, second: str) -> bool:
    """Whether every value of a column is one of the two names in its row, or a tie."""
    text = {column: as_text(frame[column]) for column in (winner, first, second)}
    rows = pl.DataFrame(text).drop_nulls()
    named = (pl.col(winner) == pl.col(first)) | (pl.col(winner) == pl.col(second))
    apart = pl.col(first) != pl.col(second)
    tie = pl.col(winner).str.to_lowercase().is_in(list(_TIES))
    shares = rows.select(good=(named | tie).mean(), named=named.mean(), apart=apart.mean())
    good, by_name, differ = (value or 0.0 for value in shares.row(0))
    return good == 1 and by_name > 0.2 and differ > 0.8


def _match_labels(
    frame: pl.DataFrame,
    options: Mapping[str, Any],
    columns: dict[str, str],
    remarks: list[str],
) -> dict[str, str]:
    """The columns by which a file of labels joins, by their values, and that of its labels."""
    if (labels := options.get("labels")) is None:
        return {}
    theirs = read_table(labels)
    named = dict(options.get("labels_columns") or {})
    best = ("", "", 0)
    for ours in frame.columns:
        values = as_text(frame[ours]).drop_nulls() if not frame[ours].dtype.is_nested() else None
        if values is None or not len(values) or values.n_unique() < len(values):
            continue
        for column in theirs.columns:
            shared = int(as_text(theirs[column]).is_in(values.implode()).sum())
            if shared > best[2]:
                best = (ours, column, shared)
    if not best[2]:
        return {}
    guessed = {}
    if not recognise([best[0]], "labels", ["id"]) and best[0] != "id":
        columns["id"] = best[0]
    if "id" not in named and not recognise([best[1]], "labels", ["id"]):
        guessed["id"] = best[1]
    remarks.append(f"{best[0]} and {best[1]}: {best[2]:,} values in common; ids?")
    rest = [column for column in theirs.columns if column not in (best[1], *named.values())]
    known = [column for column in rest if recognise([column], "grade_labels", ["label"])]
    few = [column for column in rest if 2 <= len(plain_words(theirs[column], MOST_NAMES)) <= _STEPS]
    if "label" not in named and not known and len(few) == 1:
        guessed["label"] = few[0]
        remarks.append(f"{few[0]}: people's labels?")
    return guessed


def _name_texts(frame: pl.DataFrame, columns: dict[str, str], remarks: list[str]) -> None:
    """Two columns of texts are a prompt and its response, three a prompt and two responses."""
    texts = [
        column
        for column in frame.columns
        if frame.schema[column] == pl.String
        and (frame[column].str.len_chars().mean() or 0) >= _LONG  # type: ignore[operator]
    ]
    names = {2: ("prompt", "response"), 3: ("prompt", "response_a", "response_b")}
    for ours, theirs in zip(names.get(len(texts), ()), texts, strict=False):
        if ours != theirs and not recognise([theirs], "items", [ours]):
            columns[ours] = theirs
            remarks.append(f"{theirs}: read as {ours}")
