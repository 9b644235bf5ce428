"""Judges' replies as they come, each with the status it must have: tests/unit/judges/replies/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.judges.criteria import our_criteria
from adjudge.judges.parsing import (
    parse_claim,
    parse_letter,
    parse_preference,
    parse_rubric,
    parse_score,
    unread,
)
from adjudge.judges.protocols.likert import WORDS

RUBRIC = our_criteria("rubric")

FOLDER = Path(__file__).parent / "replies"
NAMES = [criterion.name for criterion in RUBRIC]


def read(parser: str, reply: str) -> Any:
    """What the parser makes of a reply, as JSON would hold it."""
    if parser == "letter":
        return parse_letter(reply)
    if parser == "preference":
        return parse_preference(reply)
    if parser in ("claim", "claim_percent"):
        claim = parse_claim(reply, top=1 if parser == "claim" else 100)
        return None if claim is None else list(claim)
    if parser == "score":
        return parse_score(reply, low=1, high=5, criterion="coherence", words=WORDS)
    scores = parse_rubric(reply, criteria=NAMES, low=1, high=10)
    return None if isinstance(scores, str) else list(scores)


def corpus() -> list[Any]:
    cases = []
    for path in sorted(FOLDER.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            cases.append(pytest.param(path.stem, case, id=f"{path.stem}-{case['note']}"))
    return cases


CASES = corpus()


def test_the_corpus_is_large_and_of_many_kinds() -> None:
    assert len(CASES) >= 200
    statuses = {case.values[1]["status"] for case in CASES}
    assert statuses == {"ok", "unparsed", "refused"}


@pytest.mark.parametrize(("parser", "case"), CASES)
def test_each_reply_has_its_status(parser: str, case: dict[str, Any]) -> None:
    value = read(parser, case["reply"])
    status = "ok" if value is not None else unread(case["reply"])
    assert (status, value) == (case["status"], case["value"])
