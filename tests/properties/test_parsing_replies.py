"""Whatever a judge writes: no exception, and no number or letter that is not in the reply."""

from __future__ import annotations

import json
import re

from hypothesis import example, given
from hypothesis import strategies as st

from adjudge.judges.criteria import our_criteria
from adjudge.judges.parsing import (
    first_json_object,
    parse_claim,
    parse_letter,
    parse_rubric,
    parse_score,
    unread,
    without_thinking,
)

RUBRIC = our_criteria("rubric")

NAMES = [criterion.name for criterion in RUBRIC]
#: What replies are made of, so that random ones come close to readable ones.
PIECES = st.sampled_from(
    [
        "A", "B", "a", "b", " ", "\n", "**", "Verdict", "Confidence", ": ", "=", "is", "better",
        "the ", "answer ", "Score", "0", "1", "4", "5", "0.5", ".9", "-", "/", "10", "7", "85%",
        "1e999", "NaN", "Infinity", "٣", "４", "²", "{", "}", '"', '"A"', '"B"', ",", "[", "]",
        "null", "true", "```json\n", "```", "<think>", "</think>", "\\boxed{", "I'm sorry", "\x00",
        "\x1b[0m", "\ud800", "not ", "or ", *(f'"{name}": ' for name in NAMES),
    ]
)  # fmt: skip
REPLIES = st.one_of(
    st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join), st.from_regex(r"[AB01./ ]*")
)
NUMBER = re.compile(r"(?<![\d.])-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
SCORES = st.integers(1, 10) | st.floats(1, 10, allow_nan=False).map(lambda x: round(x, 3))
SIDES = st.fixed_dictionaries(dict.fromkeys(NAMES, SCORES))
PROSE = st.text(st.characters(exclude_characters="{}<>", exclude_categories=["Cs"]), max_size=60)


def numbers_in(text: str) -> set[float]:
    return {float(found) for found in NUMBER.findall(text)}


@given(REPLIES)
@example("Verdict: A\nConfidence: -0.2")
@example("A -0.5")
@example('{"A": ' * 3000)
@example("<think>" * 1000)
@example("\n" * 50_000)
def test_no_reply_breaks_a_parser_and_no_number_is_made_up(reply: str) -> None:
    assert unread(reply) in ("unparsed", "refused")
    present = numbers_in(reply)
    score = parse_score(reply, low=1, high=5, criterion="clarity")
    if score is not None:
        assert float(score) in present
        assert 1 <= score <= 5
    claim = parse_claim(reply)
    if claim is not None:
        assert claim.confidence in present
        assert 0 <= claim.confidence <= 1
        assert claim.letter in reply.upper()
    letter = parse_letter(reply)
    if letter is not None:
        assert letter in without_thinking(reply).upper()
    scores = parse_rubric(reply, criteria=NAMES, low=1, high=10)
    if not isinstance(scores, str):
        assert {value for side in scores for value in side.values()} <= present
    else:
        assert "\n" not in scores or "\n" in reply


@given(REPLIES)
def test_a_letter_is_read_only_where_the_other_one_does_not_stand_alone(reply: str) -> None:
    letter = parse_letter(reply)
    if letter is not None:
        other = "B" if letter == "A" else "A"
        assert not re.search(rf"\b{other}\b", without_thinking(reply))


@given(a=SIDES, b=SIDES, before=PROSE, after=st.text(max_size=60), fence=st.booleans())
def test_a_complete_rubric_is_read_wherever_it_stands(
    a: dict[str, float], b: dict[str, float], before: str, after: str, fence: bool
) -> None:
    body = json.dumps({"A": a, "B": b})
    reply = before + (f"```json\n{body}\n```" if fence else body) + after
    assert parse_rubric(reply, criteria=NAMES, low=1, high=10) == (a, b)


@given(a=SIDES, b=SIDES, missing=st.sampled_from(NAMES), side=st.sampled_from("AB"))
def test_one_missing_criterion_leaves_nothing(
    a: dict[str, float], b: dict[str, float], missing: str, side: str
) -> None:
    del (a if side == "A" else b)[missing]
    told = parse_rubric(json.dumps({"A": a, "B": b}), criteria=NAMES, low=1, high=10)
    assert told == f"{side}, {missing}: missing"


@given(a=SIDES, b=SIDES, cut=st.integers(1, 400))
def test_a_cut_reply_is_never_completed(a: dict[str, float], b: dict[str, float], cut: int) -> None:
    body = json.dumps({"A": a, "B": b})
    reply = body[: max(0, len(body) - cut)]
    assert isinstance(parse_rubric(reply, criteria=NAMES, low=1, high=10), str)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), JSON, max_size=5), PROSE)
def test_the_first_object_is_found_as_json_reads_it(found: dict[str, object], before: str) -> None:
    text = json.dumps(found, allow_nan=True)
    expected = None if re.search(r"Infinity", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)) else found
    assert first_json_object(before + text + ' {"other": 1}') == expected


@given(st.sampled_from("AB"), st.floats(0, 1).map(lambda x: round(x, 6)), PROSE)
def test_a_claim_as_it_was_asked_for_is_read(letter: str, confidence: float, prose: str) -> None:
    words = re.sub(r"(?i)verdict|answer|choice|preference|winner|confidence|certainty", "", prose)
    reply = f"Verdict: {letter}\nConfidence: {confidence:.6f}\n\n{words}"
    claim = parse_claim(reply)
    assert claim is not None
    assert claim == (letter, confidence)
