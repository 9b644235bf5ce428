"""One whole number on a scale."""

from __future__ import annotations

import re
from collections.abc import Mapping

from adjudge.judges.parsing.letter import without_thinking

_MARKS = r"[\s*_\"'`#()\[\]<>]*"
_SCORE = re.compile(
    rf"{_MARKS}(?:(?:the\s+|my\s+|final\s+|overall\s+)?(?P<lead>[a-z]+(?:\s+(?:score|rating))?)"
    rf"{_MARKS}(?:[:=]|\bis\b){_MARKS})?"
    r"(?P<value>[0-9]{1,3})(?:\.0{1,6})?"
    r"(?:\s*(?:/|out\s+of)\s*(?P<whole>[0-9]{1,3}))?"
    rf"(?:{_MARKS}[:=(–—-]?{_MARKS}(?P<word>[a-z]+(?:\s[a-z]+)?))?"
    rf"{_MARKS}[.!]?{_MARKS}",
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
    """The whole number between low and high that the whole reply states, otherwise None.

    Allowed around it: emphasis, brackets, "Score:", "Rating:" or the criterion's own name before
    it, "/high" or "out of high" behind it, and the scale's own word for it ("4 = Good"). Another
    denominator, a half, a range or a second number make the reply unreadable.

    >>> [parse_score(t, low=1, high=5) for t in ("4", "**Score: 4/5**", "4 out of 5.", "4.0")]
    [4, 4, 4, 4]
    >>> [parse_score(t, low=1, high=5) for t in ("7", "4/10", "3-4", "4.5", "four", "4 or 5", "")]
    [None, None, None, None, None, None, None]
    """
    if not text or len(text) > 100_000:
        return None
    said = without_thinking(text).strip()
    found = _SCORE.fullmatch(said) if len(said) <= 120 else None
    if found is None:
        return None
    value = int(found["value"])
    if not low <= value <= high or (found["whole"] and int(found["whole"]) != high):
        return None
    lead = " ".join((found["lead"] or "").lower().split())
    named = {*_LEADS, *((criterion.lower(),) if criterion else ())}
    if (
        lead
        and lead not in named
        and lead.removesuffix(" score").removesuffix(" rating") not in (named)
    ):
        return None
    word = found["word"]
    if word and (words is None or words.get(value, "").lower() != word.lower()):
        return None
    return value
