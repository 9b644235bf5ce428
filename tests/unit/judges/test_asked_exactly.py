"""`replies` shows what was asked, word for word, and reads replies by the run's own settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.judges import judge_pairs
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.interface import Question
from adjudge.judges.transcript import read_replies
from adjudge.records import Item, Pair, Reply, Subject
from adjudge.simulate.pairs import simulate_pairs

PAIRS = simulate_pairs(3, seed=1)
SHOWN = [Pair(id=f"d{n}", prompt=f"p{n}", response_a="a", response_b=f"b{n}", label="AB"[n % 2])
         for n in range(12)]  # fmt: skip
ITEMS = [Item(id=f"i{n}", prompt=f"q{n} {{low}}", response=f"r{n}") for n in range(3)]
CRITERIA = {"tone": {"definition": "Is it kind?", "anchors": {"10": "very", "0": "not"}}}


class Writer(SimulatedBackend):
    """A judge that keeps what it was sent, and writes one text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.sent: list[tuple[tuple[str, str], ...]] = []

    async def ask_about(self, subject: Subject, question: Question) -> Reply:
        self.sent.append(tuple((message.role, message.text) for message in question.messages))
        if self.text:
            return Reply(status="ok", text=self.text)
        return await super().ask_about(subject, question)


RUNS: list[tuple[str, dict[str, Any], str]] = [
    ("preference", {}, ""),
    ("preference", {"reason": True}, "A"),
    ("preference", {"samples": 3, "order": "ba"}, "A"),
    ("preference", {"order": "random", "seed": 7}, ""),
    ("criterion", {}, ""),
    ("verbalized", {"seed": 3}, "A 90"),
    ("rubric", {}, "x"),
    ("annotators", {"demonstrations": SHOWN}, ""),
    ("annotators", {"demonstrations": SHOWN, "samples": 1, "seed": 4}, "B"),
    ("grade", {}, ""),
    ("likert", {}, ""),
    ("likert", {"scale": "0-10", "samples": 1}, "0"),
]


@pytest.mark.parametrize(("protocol", "options", "text"), RUNS, ids=lambda value: str(value)[:24])
def test_every_question_is_shown_as_it_was_sent(
    protocol: str, options: dict[str, Any], text: str, tmp_path: Path
) -> None:
    judge, store = Writer(text), tmp_path / "s.db"
    subjects: list[Any] = list(ITEMS if protocol in ("grade", "likert") else PAIRS)
    if protocol in ("grade", "likert"):
        (tmp_path / "criteria.json").write_text(json.dumps(CRITERIA))
        options = {**options, "criteria": tmp_path / "criteria.json"}
        if protocol == "likert" and "scale" not in options:
            options["scale"] = "0-9"
            (tmp_path / "criteria.json").write_text(json.dumps({"tone": "Is it kind?"}))
    run = judge_pairs(
        subjects, judge=judge, protocol=protocol, store=store, keep_going=True, **options
    )
    shown = options.get("demonstrations")
    found = read_replies(store=store, pairs=subjects, demonstrations=shown, limit=None)
    asked = [tuple((m.role, m.text) for m in reply.asked or ()) for reply in found.replies]
    assert sorted(asked) == sorted(judge.sent)
    assert found.notes == ()
    assert found.statuses.keys() == run.summary.statuses.keys()
    changed: Any = [type(one)(**{**vars_of(one), "prompt": one.prompt + "!"}) for one in subjects]
    other = read_replies(store=store, pairs=changed, demonstrations=shown, limit=None)
    assert all(reply.asked is None for reply in other.replies)
    words = f"{len(asked)} questions are not shown: other texts than these were sent"
    assert other.notes == (words,)


def vars_of(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in type(one).__dataclass_fields__}


def test_demonstrations_that_are_not_there_are_said(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    how: dict[str, Any] = {"protocol": "annotators", "demonstrations": SHOWN, "store": store}
    judge_pairs(PAIRS, judge="simulated:", **how)
    found = read_replies(store=store, pairs=PAIRS)
    assert found.notes == (
        "demonstrations are not shown: add --demonstrations FILE, as in the run",
    )
    asked = found.replies[0].asked
    assert asked is not None
    assert PAIRS[0].prompt in asked[-1].text
    wrong = read_replies(store=store, pairs=PAIRS, demonstrations=SHOWN[:8])
    assert all(reply.asked is None for reply in wrong.replies) or wrong.notes == found.notes


def test_a_run_from_0_to_10_is_read_on_its_own_scale(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    judge_pairs(ITEMS, judge=Writer("0"), protocol="likert", scale="0-10", samples=1, store=store)
    assert read_replies(store=store).statuses == {"ok": 12}
    judge_pairs(
        ITEMS, judge=Writer("11"), protocol="likert", scale="0-10", samples=1, store=store,
        retry=["ok"], keep_going=True,
    )  # fmt: skip
    late = read_replies(store=store)
    assert late.statuses == {"unparsed": 12}
    assert late.replies[0].detail == "no whole number from 0 to 10"
