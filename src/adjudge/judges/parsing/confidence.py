"""A verdict with the confidence the judge claims for it, both or neither."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from adjudge.judges.parsing.json_object import first_json_object
from adjudge.judges.parsing.letter import parse_letter, without_thinking

_MARKS = r"[\s*_\"'`#>\-]*"
_NUMBER = r"(?:0?\.[0-9]{1,12}|[01](?:\.[0-9]{0,12})?)"
_VERDICT_LINE = re.compile(
    rf"{_MARKS}(?:final\s+)?(?:verdict|answer|choice|preference|winner){_MARKS}[:=](.*)",
    re.IGNORECASE,
)
_CONFIDENCE_LINE = re.compile(
    rf"{_MARKS}(?:confidence|certainty)(?:\s+(?:score|level))?{_MARKS}[:=](.*)",
    re.IGNORECASE,
)
# No hyphen before a number: it is a minus sign.
_CONFIDENCE = re.compile(rf"[\s*_\"'`]*({_NUMBER})[\s*_\"'`.]*")
_TERSE = re.compile(rf"{_MARKS}([AB])[\s*_\"'`]*[\s,;:|(/]\s*({_NUMBER})[\s*_\"'`.)]*")


class Claimed(NamedTuple):
    """What the judge wrote: its letter, and its confidence between 0 and 1."""

    letter: Literal["A", "B"]
    confidence: float


def parse_claim(text: str | None) -> Claimed | None:
    """Letter and confidence of a reply, or None when either is missing, doubled or out of range.

    Read are the two labelled lines that were asked for, a JSON object with `verdict` and
    `confidence`, or a letter and a number with nothing else. Percent signs, fractions ("8/10"),
    decimal commas and numbers outside [0, 1] are not converted: they are not read.

    >>> parse_claim("Verdict: A\\nConfidence: 0.85")
    Claimed(letter='A', confidence=0.85)
    >>> [parse_claim(t) for t in ("Verdict: A\\nConfidence: 85%", "A", "Verdict: A or B\\n0.5")]
    [None, None, None]
    """
    if not text or len(text) > 100_000:
        return None
    said = without_thinking(text)
    if said.lstrip().startswith("<think"):
        return None
    terse = _TERSE.fullmatch(said.strip()) if len(said) < 200 else None
    if terse:
        return _claim(terse[1], terse[2])
    lines = [line for line in said.splitlines() if len(line) <= 1000]
    verdicts = [found[1] for line in lines if (found := _VERDICT_LINE.fullmatch(line))]
    claims = [found[1] for line in lines if (found := _CONFIDENCE_LINE.fullmatch(line))]
    if len(verdicts) == 1 and len(claims) == 1:
        number = _CONFIDENCE.fullmatch(claims[0])
        return _claim(parse_letter(verdicts[0]), number[1]) if number else None
    if verdicts or claims:
        return None
    return _from_json(said)


def _claim(letter: str | None, number: str) -> Claimed | None:
    value = float(number)
    if letter not in ("A", "B") or not 0 <= value <= 1:
        return None
    return Claimed("A" if letter == "A" else "B", value)


def _from_json(said: str) -> Claimed | None:
    found = first_json_object(said)
    if found is None:
        return None
    lowered = {str(key).strip().lower(): value for key, value in found.items()}
    letter, confidence = lowered.get("verdict"), lowered.get("confidence")
    if len(lowered) != len(found) or not isinstance(letter, str):
        return None
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        return None
    if not 0 <= confidence <= 1:
        return None
    read = parse_letter(letter)
    return None if read is None else Claimed(read, float(confidence))
