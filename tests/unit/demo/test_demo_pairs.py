"""The demo's pairs: enough, short, balanced, and each with one right answer."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from typing import Any

from adjudge.demo import demo_pairs


def read_table() -> list[dict[str, Any]]:
    lines = (files("adjudge.demo") / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_there_are_enough_of_every_kind_and_none_twice():
    pairs = demo_pairs()
    assert len(pairs) >= 160
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert len({pair.prompt for pair in pairs}) == len(pairs)
    kinds = Counter(pair.extra["kind"] for pair in pairs)
    assert set(kinds) == {"facts", "arithmetic", "formats", "relevance"}
    assert min(kinds.values()) >= 30


def test_the_right_answer_stands_at_each_letter_half_of_the_time_in_every_kind():
    for seed in (0, 1, 7):
        labels = Counter((pair.extra["kind"], pair.label) for pair in demo_pairs(seed))
        for kind in ("facts", "arithmetic", "formats", "relevance"):
            assert abs(labels[kind, "A"] - labels[kind, "B"]) <= 1


def test_the_same_seed_gives_the_same_pairs_and_another_seed_other_places():
    assert demo_pairs(3) == demo_pairs(3)
    assert demo_pairs(3) != demo_pairs(4)
    by_prompt = {pair.prompt: pair for pair in demo_pairs(3)}
    for pair in demo_pairs(4):
        other = by_prompt[pair.prompt]
        assert {pair.response_a, pair.response_b} == {other.response_a, other.response_b}
        right = pair.response_a if pair.label == "A" else pair.response_b
        assert right == (other.response_a if other.label == "A" else other.response_b)


def test_answers_differ_are_short_and_have_no_spaces_around_them():
    for entry in read_table():
        assert entry["right"] != entry["wrong"]
        for text in (entry["prompt"], entry["right"], entry["wrong"]):
            assert text == text.strip()
            assert text
            assert len(text) <= 80


def test_sums_are_right_where_they_should_be_and_wrong_where_not():
    signs = {"plus": "+", "minus": "-", "times": "*"}
    sums = [entry for entry in read_table() if entry["kind"] == "arithmetic"]
    assert len(sums) == 40
    for entry in sums:
        for answer, holds in ((entry["right"], True), (entry["wrong"], False)):
            x, sign, y, _, value = answer.removesuffix(".").split()
            assert entry["prompt"] == f"What is {x} {sign} {y}?"
            found = {"+": int(x) + int(y), "-": int(x) - int(y), "*": int(x) * int(y)}[signs[sign]]
            assert (found == int(value)) is holds
            assert int(value) >= 0
