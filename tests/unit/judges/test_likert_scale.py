"""Scores on any scale, and the number of calls, said before they are made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.errors import ArgumentError
from adjudge.judges.criteria import Criterion, our_criteria, parse_scale
from adjudge.judges.interface import Choice
from adjudge.judges.judging import judge_pairs
from adjudge.judges.protocols.likert import Likert
from adjudge.records import Item, Reply
from simulators import simulate_items

SUMMARY = our_criteria("summary")

ITEM = Item(id="x", prompt="Q", response="R")


def test_digits_are_asked_for_by_log_probabilities() -> None:
    asks = Likert(scale=(0, 3), criteria=SUMMARY[:1])
    (question,) = asks.questions(ITEM)
    assert question.want == Choice(("0", "1", "2", "3"))
    assert "on a scale from 0 (the worst) to 3 (the best)" in question.messages[-1].text
    reply = Reply(status="ok", logprobs={"0": -3.0, "1": -2.0, "2": -0.3, "3": -2.0})
    (row,) = asks.judge(ITEM, [reply])
    assert row.judge_score == 2.0
    assert row.score_probs is not None
    assert len(row.score_probs) == 4


def test_the_papers_scale_is_asked_for_as_it_was() -> None:
    assert Likert().settings()["scale"] == [1, 5]
    assert "5 = excellent" in Likert().questions(ITEM)[0].messages[-1].text


def test_scores_of_two_digits_are_written() -> None:
    with pytest.raises(ArgumentError, match=r"scale = '1-10': 10 is not one token: add --samples"):
        Likert(scale=(1, 10))
    asks = Likert(scale=(0, 100), samples=1, criteria=SUMMARY[:1])
    rows = [asks.judge(ITEM, [Reply(status="ok", text=text)])[0] for text in ("85/100", "101")]
    assert [(row.status, row.judge_score) for row in rows] == [("ok", 85.0), ("unparsed", None)]


@pytest.mark.parametrize("text", ["5", "5-1", "1-101", "a-b", "1-", ""])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"write LOW-HIGH, from 0 to 100, such as 1-10"):
        parse_scale(text)


def test_what_chosen_scores_mean_is_shown_and_must_be_on_the_scale() -> None:
    good = Criterion("tone", "Is it kind?", {3: "always", 0: "never"})
    shown = Likert(scale=(0, 3), criteria=[good]).questions(ITEM)[0].messages[-1].text
    assert "Is it kind?\n  3 = always\n  0 = never" in shown
    with pytest.raises(ArgumentError, match="tone describes a score of 3, which is not on it"):
        Likert(scale=(0, 2), criteria=[good])


def test_calls_are_said_before_the_first_is_made(tmp_path: Path) -> None:
    said: list[str] = []
    criteria = tmp_path / "criteria.json"
    criteria.write_text(json.dumps({"short": "Ten words.", "true": "No errors."}))
    run = judge_pairs(
        simulate_items(4, seed=1),
        judge="simulated:",
        protocol="likert",
        scale="1-10",
        samples=3,
        criteria=criteria,
        store=None,
        announce=said.append,
        progress=lambda _: said.append("asked") if len(said) == 1 else None,
    )
    assert said[0] == "4 items x 6 questions = 24 calls"
    assert run.summary.calls_made == 24
    scores = run.judgments["judge_score"]
    assert scores.is_between(1, 10).all()
    assert scores.max() > 5  # type: ignore[operator]
