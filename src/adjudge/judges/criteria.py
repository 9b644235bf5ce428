"""Criteria for judging: names, definitions in our own words, anchors.

The four criteria of summary evaluation (diagnosis paper, section 4) and the six of the rubric
(Soft-Elo paper, appendix A). Users give their own in a JSON file: {"name": "definition"} or
{"name": {"definition": "...", "anchors": {"10": "...", "1": "..."}}}. Any other file (.txt, .md) is
the text of one criterion or rubric, with the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adjudge.data.files import read_text
from adjudge.data.writing import read_json
from adjudge.errors import ArgumentError, DataError

#: The highest score of any scale.
_HIGHEST = 100
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_ -]{0,39}")


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion: its name, its definition, and what chosen scores mean."""

    name: str
    definition: str
    anchors: Mapping[int, str] = field(default_factory=dict)

    def describe(self) -> str:
        """The criterion as a prompt shows it."""
        return f"{self.name}: {self.in_full}"

    @property
    def in_full(self) -> str:
        """The definition, and what chosen scores mean."""
        anchors = sorted(self.anchors.items(), reverse=True)
        return "\n".join([self.definition, *(f"  {score} = {text}" for score, text in anchors)])

    def settings(self) -> dict[str, Any]:
        """The parts that change the question."""
        return {
            "definition": self.definition,
            "anchors": {str(k): v for k, v in self.anchors.items()},
        }


#: What an answer must be to pass, unless the user gives other criteria.
CORRECT = Criterion(
    "correct and complete",
    "The answer is correct in everything it states, it answers all that was asked, and it follows "
    "every instruction in the question. If a reference answer is shown, an answer that contradicts "
    "it is not correct; other words for the same thing are fine. If a context is shown, what "
    "contradicts it is not correct.",
)

SUMMARY: tuple[Criterion, ...] = (
    Criterion(
        "coherence",
        "How well the sentences hang together as a whole: the text has an order, each sentence "
        "builds on the ones before, and it reads as one account and not as a heap of statements.",
    ),
    Criterion(
        "consistency",
        "Whether the facts agree with the source: everything the text states can be found in the "
        "source or follows from it, and nothing is invented or turned around.",
    ),
    Criterion(
        "fluency",
        "How well each sentence is written: grammar, spelling, punctuation and choice of words, "
        "without fragments or repetitions that make it hard to read.",
    ),
    Criterion(
        "relevance",
        "Whether the text picks what matters in the source: the important points are there, and "
        "side matters and repetitions are not.",
    ),
)

RUBRIC: tuple[Criterion, ...] = (
    Criterion(
        "adherence",
        "Does the answer do what the instruction asks, in the form, scope and style it asks for?",
        {
            10: "every request and constraint is met, form and scope included",
            7: "the request is met but for details, or with a little that was not asked for",
            4: "only a part is followed; important constraints are missed",
            1: "the instruction is not followed in any sense that matters",
        },
    ),
    Criterion(
        "helpfulness",
        "Does the answer bring the person closer to the goal, with content they can use?",
        {
            10: "solves the problem with content that is to the point and ready to use",
            7: "useful and to the point, though some useful detail is missing",
            4: "of some use, but vague, general or without the steps that count",
            1: "of no use for the goal",
        },
    ),
    Criterion(
        "factuality",
        "Is what the answer says true, and is doubt shown where there is doubt?",
        {
            10: "correct throughout, with due reservations and nothing made up",
            7: "correct in the main; a few statements are loose or lack a reservation",
            4: "several errors, overstatements or details that look made up",
            1: "mostly wrong, made up or misleading",
        },
    ),
    Criterion(
        "completeness",
        "Does the answer cover all parts of the request that matter?",
        {
            10: "all main parts are covered, nothing of weight is left out",
            7: "the main request is covered; some lesser parts are missing",
            4: "covered in part; several parts of weight are missing",
            1: "the task is not dealt with in a usable way",
        },
    ),
    Criterion(
        "clarity",
        "Is the answer well ordered, easy to follow and free of ambiguity?",
        {
            10: "clear and well ordered from start to end, nothing ambiguous",
            7: "mostly clear, with a few rough passages or ambiguities",
            4: "hard to follow in places, because of its order or its wording",
            1: "confused or without order",
        },
    ),
    Criterion(
        "fluency",
        "Is the language natural, readable, concise enough and right in tone and layout?",
        {
            10: "natural and polished, a pleasure to read, in the right tone",
            7: "reads well, with some clumsy phrases",
            4: "often clumsy, or laid out so that reading is work",
            1: "so badly worded or laid out that it is hard to understand",
        },
    ),
)


def check_criteria(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """The criteria, if there is at least one and no two share a name."""
    names = [criterion.name.lower() for criterion in criteria]
    if not names:
        raise ArgumentError("criteria", criteria, "give at least one criterion")
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError("criteria", name, "name each criterion once")
    return tuple(criteria)


def read_criteria(path: str | Path) -> tuple[Criterion, ...]:
    """Criteria from a user's file: JSON, or the text of one."""
    remedy = 'write {"name": "definition", ...}'
    if Path(path).suffix.lower() != ".json":
        text = read_text(path).strip()
        if not text:
            raise DataError(path, "is empty", remedy=remedy)
        if not text.startswith("{"):
            stem = Path(path).name.partition(".")[0].replace("_", " ")
            return (Criterion(stem if _NAME.fullmatch(stem) else "rubric", text),)
    entries = read_json(path, remedy=remedy)
    if not isinstance(entries, dict) or not entries:
        raise DataError(path, "has no criteria", remedy=remedy)
    return check_criteria([_criterion(path, name, value) for name, value in entries.items()])


def _criterion(path: str | Path, name: str, value: Any) -> Criterion:
    if not _NAME.fullmatch(name):
        problem = f"{name[:40]!r} cannot be the name of a criterion"
        raise DataError(path, problem, remedy="use up to 40 plain letters")
    if isinstance(value, str):
        value = {"definition": value}
    definition = value.get("definition") if isinstance(value, dict) else None
    if not isinstance(definition, str) or not definition.strip():
        raise DataError(path, f"{name} has no definition", remedy="write what it means")
    anchors = value.get("anchors", {})
    entries = anchors.items() if isinstance(anchors, dict) else [("", None)]
    if not all(str(score).isdecimal() and isinstance(text, str) for score, text in entries):
        problem = f"the anchors of {name} are not scores and texts"
        raise DataError(path, problem, remedy='write {"10": "..."}')
    return Criterion(name, definition.strip(), {int(s): text for s, text in anchors.items()})


def check_scale(scale: tuple[int, int]) -> tuple[int, int]:
    """The lowest and highest score, if they are a valid scale."""
    low, high = scale
    if not 0 <= low < high <= _HIGHEST:
        remedy = f"write LOW-HIGH, from 0 to {_HIGHEST}, such as 1-10"
        raise ArgumentError("scale", write_scale(scale), remedy)
    return low, high


def parse_scale(text: str) -> tuple[int, int]:
    """Read a scale as users write it.

    >>> parse_scale("1-10")
    (1, 10)
    """
    low, dash, high = text.partition("-")
    if not (dash and low.strip().isdecimal() and high.strip().isdecimal()):
        raise ArgumentError("scale", text, f"write LOW-HIGH, from 0 to {_HIGHEST}, such as 1-10")
    return check_scale((int(low), int(high)))


def write_scale(scale: tuple[int, int]) -> str:
    """The scale as users write it."""
    return f"{scale[0]}-{scale[1]}"
