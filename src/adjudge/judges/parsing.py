"""Strict readers of judges' replies: a value that is written there, or no value.

A reply that cannot be read has the status that `judges.refusals` gives it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeGuard

_LONGEST = 100_000  # a longer reply is not read

# --- one letter, and nothing that would have to be guessed ---------------------------------------

# What can be around a letter without changing its meaning: quotes, emphasis, brackets, stops.
_AROUND = r"[\s*_\"'`“”‘’()\[\]{}<>.:,;!#]*"
_LEAD = (
    r"(?:(?:so|thus|therefore),?\s+)?"
    r"(?:my\s+|the\s+)?(?:final\s+|better\s+|best\s+|preferred\s+)?"
    r"(?:answer|verdict|choice|response|option|winner|preference)"
    r"(?:\s+is)?(?:\s+(?:answer|response|option))?"
)


@lru_cache(maxsize=64)
def _spellings(options: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Ways to write one of the options and nothing else; each option is a letter or a word."""
    one = "(" + "|".join(map(re.escape, options)) + ")"
    return (
        re.compile(_AROUND + f"(?i:{one})" + _AROUND),
        # After other words only the capital counts: "The answer is a" can end before "tie".
        re.compile(rf"[\s*_\"'`#]*(?i:{_LEAD})[\s*_\"'`:=([{{<-]+{one}" + _AROUND),
        re.compile(
            rf"[\s*_\"'`#]*(?i:(?:answer|response|option|assistant)\s+)?[*_\"'`(\[]*{one}[*_\"'`)\]]*"
            r"(?i:\s+is\s+(?:the\s+)?(?:better|best|preferred|stronger)"
            r"(?:\s+(?:answer|response|option|one))?)" + _AROUND
        ),
        re.compile(rf"[\s$]*\\boxed\{{(?:\\text\{{)?\s*{one}\s*\}}?\}}[\s$.]*"),
    )


_THINKING = re.compile(
    r"\A\s*<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE
)
UNCLOSED = re.compile(r"\s*<(?:think|thought|reasoning)", re.IGNORECASE)


def without_thinking(text: str) -> str:
    """The reply without its thoughts: a closed block at the start, or all up to one closing tag.

    Some chat templates open the block themselves, so that only its end is in the reply. A block
    that is never closed is kept: there is no answer after it.

    >>> without_thinking("<think>B, perhaps?</think>A"), without_thinking("B, perhaps?</think>A")
    ('A', 'A')
    >>> without_thinking("<think>B, perhaps")
    '<think>B, perhaps'
    """
    rest, blocks = _THINKING.subn("", text, count=1)
    if not blocks and rest.count("</think>") == 1 and "<think>" not in rest:
        return rest.partition("</think>")[2]
    return rest


def parse_letter(text: str | None) -> str | None:
    """A or B if the reply is only that letter, otherwise None.

    The letter can be alone (in either case, quoted, emphasised, in brackets), after a naming
    phrase ("Answer: A", "The better response is B"), before one ("B is better") or boxed. A
    reply with anything more is not read: the first letter of a sentence is not a verdict.

    >>> [parse_letter(t) for t in ("A", "**B**", "[[A]]", "Verdict: B", "A is better.", "b")]
    ['A', 'B', 'A', 'B', 'A', 'B']
    >>> [parse_letter(t) for t in ("A or B", "A better answer would", "Both", "", None, "C")]
    [None, None, None, None, None, None]
    """
    if not text or len(text) > _LONGEST:
        return None
    match = match_option(without_thinking(text), ("A", "B"))
    return match[1].upper() if match else None


def match_option(text: str, options: tuple[str, ...]) -> re.Match[str] | None:
    if len(text) > 200:
        return None
    matches = (pattern.fullmatch(text) for pattern in _spellings(options))
    return next((match for match in matches if match), None)


def named_option(written: str, options: tuple[str, ...]) -> str:
    if written in options:
        return written
    return next(option for option in options if option.lower() == written.lower())


# --- the first complete JSON object, and nothing repaired ----------------------------------------

_LONGEST_JSON = 200_000
_MOST_STARTS = 500


class _NotStrictError(ValueError):
    """JSON that Python reads but the standard does not allow, or with a repeated key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        # Python would silently keep the last value; which one the judge meant is a guess.
        raise _NotStrictError("a key is repeated")
    return made


def _constant(name: str) -> Any:
    raise _NotStrictError(name)


DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def first_json_object(text: str | None) -> dict[str, Any] | None:
    """The first `{...}` in the text that is a complete JSON object; prose around it is skipped.

    Thoughts in a closed <think> block at the start are skipped; after an unclosed one there is no
    answer. Repeated keys, NaN and Infinity make the object unreadable, and then the search ends: a
    part of an object is not the object.

    >>> first_json_object('Here it is:\\n```json\\n{"a": 1}\\n```\\nor {"a": 2}')
    {'a': 1}
    >>> first_json_object('{"a": 1, "a": 2}') is None, first_json_object('{"a": 1,}') is None
    (True, True)
    """
    if not text or len(text) > _LONGEST_JSON:
        return None
    answer = without_thinking(text)
    if UNCLOSED.match(answer):
        return None
    start = answer.find("{")
    for _ in range(_MOST_STARTS):
        if start < 0:
            return None
        try:
            value, _ = DECODER.raw_decode(answer, start)
        except _NotStrictError:
            return None
        except (ValueError, RecursionError):
            start = answer.find("{", start + 1)
            continue
        return value if isinstance(value, dict) else None
    return None


# --- a verdict with the confidence the judge claims for it, both or neither ----------------------

_CLAIM_MARKS = r"[\s*_\"'`#>\-]*"
_NUMBER = r"(?:0?\.[0-9]{1,12}|[01](?:\.[0-9]{0,12})?)"
_VERDICT_LINE = re.compile(
    rf"{_CLAIM_MARKS}(?:final\s+)?(?:verdict|answer|choice|preference|winner){_CLAIM_MARKS}[:=](.*)",
    re.IGNORECASE,
)
_CONFIDENCE_LINE = re.compile(
    rf"{_CLAIM_MARKS}(?:confidence|certainty)(?:\s+(?:score|level))?{_CLAIM_MARKS}[:=](.*)",
    re.IGNORECASE,
)
_PERCENT = r"(?:[0-9]{1,3}(?:\.[0-9]{0,12})?)(?=\s*%?[\s*_\"'`.)]*$)"


@lru_cache(maxsize=2)
def _claim_patterns(percent: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for a number alone and a letter with a number, on a scale up to 1 or 100."""
    number, sign = (_PERCENT, r"\s*%?") if percent else (_NUMBER, "")
    # No hyphen before a number: it is a minus sign.
    return (
        re.compile(rf"[\s*_\"'`]*({number}){sign}[\s*_\"'`.]*"),
        re.compile(rf"{_CLAIM_MARKS}([AB])[\s*_\"'`]*[\s,;:|(/]\s*({number}){sign}[\s*_\"'`.)]*"),
    )


class Claim(NamedTuple):
    """The judge's letter, and its confidence as a share of the scale's maximum."""

    letter: str
    confidence: float


def parse_claim(text: str | None, *, top: float = 1) -> Claim | None:
    """Letter and confidence of a reply, or None if either is missing, repeated or out of range.

    These are read: the two labelled lines that were asked for, a JSON object with `verdict` and
    `confidence`, or a letter and a number with nothing else. Fractions ("8/10"), decimal commas and
    numbers outside [0, top] are not converted and not read. A percent sign is read only if the
    scale goes to 100.

    >>> parse_claim("Verdict: A\\nConfidence: 0.85"), parse_claim("B 85%", top=100)
    (Claim(letter='A', confidence=0.85), Claim(letter='B', confidence=0.85))
    >>> [parse_claim(t) for t in ("Verdict: A\\nConfidence: 85%", "A", "Verdict: A or B\\n0.5")]
    [None, None, None]
    """
    if not text or len(text) > _LONGEST:
        return None
    answer = without_thinking(text)
    if UNCLOSED.match(answer):
        return None
    alone, with_letter = _claim_patterns(top > 1)
    terse = with_letter.fullmatch(answer.strip()) if len(answer) < 200 else None
    if terse:
        return _claim(parse_letter(terse[1]), float(terse[2]), top)
    lines = [line for line in answer.splitlines() if len(line) <= 1000]
    verdicts = [match[1] for line in lines if (match := _VERDICT_LINE.fullmatch(line))]
    claims = [match[1] for line in lines if (match := _CONFIDENCE_LINE.fullmatch(line))]
    if len(verdicts) == 1 and len(claims) == 1:
        number = alone.fullmatch(claims[0])
        return _claim(parse_letter(verdicts[0]), float(number[1]), top) if number else None
    if verdicts or claims:
        return None
    return _claim_from_json(answer, top)


def _claim(letter: str | None, confidence: float, top: float) -> Claim | None:
    return Claim(letter, float(confidence) / top) if letter and 0 <= confidence <= top else None


def _claim_from_json(answer: str, top: float) -> Claim | None:
    lowered = _lowered(first_json_object(answer) or {}) or {}
    letter, confidence = lowered.get("verdict"), lowered.get("confidence")
    if not isinstance(letter, str) or not _is_number(confidence):
        return None
    return _claim(parse_letter(letter), confidence, top)


# --- two sides scored on every criterion, as one JSON object -------------------------------------

Scores = dict[str, float]


def parse_rubric(
    text: str | None, *, criteria: Sequence[str], low: float, high: float
) -> tuple[Scores, Scores] | str:
    """The scores of A and of B, or a text with the reason why they cannot be read.

    The first complete JSON object of the reply is used. It must have an object for A and one for B,
    each with a JSON number between low and high for every criterion; more keys are allowed. With a
    number in quotes, "7/10", 11, true, or a criterion on one side only, nothing is read.

    >>> parse_rubric('{"A": {"clarity": 7}, "B": {"clarity": 4}}', criteria=["clarity"],
    ...              low=1, high=10)
    ({'clarity': 7.0}, {'clarity': 4.0})
    >>> parse_rubric('{"A": {"clarity": 11}, "B": {"clarity": 4}}', criteria=["clarity"],
    ...              low=1, high=10)
    'A, clarity: 11 is not between 1 and 10'
    """
    whole = first_json_object(text)
    if whole is None:
        return "no complete JSON object"
    sides = _lowered(whole)
    if sides is None:
        return "a side is repeated"
    read: list[Scores] = []
    for side in ("A", "B"):
        given = sides.get(side.lower())
        if not isinstance(given, dict):
            return f"no scores for {side}"
        scores = _side(given, side, criteria, low, high)
        if isinstance(scores, str):
            return scores
        read.append(scores)
    return read[0], read[1]


def parse_preference(text: str | None) -> Literal["A", "B", "tie"] | None:
    """The overall preference next to the scores: `preference` in the same object, A, B or tie.

    >>> parse_preference('{"A": {"clarity": 7}, "B": {"clarity": 4}, "preference": "A"}')
    'A'
    >>> parse_preference('{"preference": "A, clearly"}') is None
    True
    """
    said = (_lowered(first_json_object(text) or {}) or {}).get("preference")
    bare = said.strip().lower() if isinstance(said, str) else None
    return "A" if bare == "a" else "B" if bare == "b" else "tie" if bare == "tie" else None


def _side(
    given: dict[str, Any], side: str, criteria: Sequence[str], low: float, high: float
) -> Scores | str:
    named = _lowered(given)
    if named is None:
        return f"{side}: a criterion is repeated"
    scores: Scores = {}
    for criterion in criteria:
        value = named.get(criterion.lower())
        if value is None:
            return f"{side}, {criterion}: missing"
        if not _is_number(value):
            return f"{side}, {criterion}: {str(value)[:20]!r} is not a number"
        if not low <= value <= high:
            return f"{side}, {criterion}: {str(value)[:20]} is not between {low:g} and {high:g}"
        scores[criterion] = float(value)
    return scores


def _is_number(value: Any) -> TypeGuard[float]:
    """Whether it is a JSON number; true is not a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lowered(value: dict[str, Any]) -> dict[str, Any] | None:
    """Keys in lower case without blanks; None if two keys become the same."""
    lowered = {key.strip().lower(): inner for key, inner in value.items()}
    return lowered if len(lowered) == len(value) else None


# --- one whole number on a scale -----------------------------------------------------------------

_SCORE_MARKS = r"[\s*_\"'`#()\[\]<>]*"
_SCORE = re.compile(
    rf"{_SCORE_MARKS}(?:(?:the\s+|my\s+|final\s+|overall\s+)?(?P<lead>[a-z]+(?:\s+(?:score|rating))?)"
    rf"{_SCORE_MARKS}(?:[:=]|\bis\b){_SCORE_MARKS})?"
    r"(?P<value>[0-9]{1,3})(?:\.0{1,6})?"
    r"(?:\s*(?:/|out\s+of)\s*(?P<whole>[0-9]{1,3}))?"
    rf"(?:{_SCORE_MARKS}[:=(–—-]?{_SCORE_MARKS}(?P<word>[a-z]+(?:\s[a-z]+)?))?"
    rf"{_SCORE_MARKS}[.!]?{_SCORE_MARKS}",
    re.IGNORECASE,
)
_LEADS = frozenset({"score", "rating", "grade", "answer", "overall"})


def parse_score(
    text: str | None,
    *,
    low: int,
    high: int,
    criterion: str | None = None,
    words: Mapping[int, str] | None = None,
) -> int | None:
    """The whole number between low and high that the reply states, otherwise None.

    Allowed around it: emphasis, brackets, "Score:", "Rating:" or the name of the criterion before
    it, "/high" or "out of high" after it, and the scale's word for it ("4 = Good"). Another
    denominator, a half, a range or a second number make the reply unreadable.

    >>> [parse_score(t, low=1, high=5) for t in ("4", "**Score: 4/5**", "4 out of 5.", "4.0")]
    [4, 4, 4, 4]
    >>> [parse_score(t, low=1, high=5) for t in ("7", "4/10", "3-4", "4.5", "four", "4 or 5", "")]
    [None, None, None, None, None, None, None]
    """
    if not text or len(text) > _LONGEST:
        return None
    answer = without_thinking(text).strip()
    match = _SCORE.fullmatch(answer) if len(answer) <= 120 else None
    if match is None:
        return None
    value = int(match["value"])
    if not low <= value <= high or (match["whole"] and int(match["whole"]) != high):
        return None
    lead = " ".join((match["lead"] or "").lower().split())
    named = {*_LEADS, *((criterion.lower(),) if criterion else ())}
    bare = lead.removesuffix(" score").removesuffix(" rating")
    if lead and lead not in named and bare not in named:
        return None
    word = match["word"]
    if word and (words is None or words.get(value, "").lower() != word.lower()):
        return None
    return value
