"""Locates the verdict of a judge that reasons first, strictly, by a declared format.

A format is written as it looks with the first option in it:

    A               the complete reply is the option
    [[A]]           in double brackets, anywhere; all of them name one option
    {"winner": "A"} a field of a JSON object; all objects that have it name one option
    last line: A    the last line is the option and nothing else

Thoughts in a closed <think> block come before the reply and are skipped. If two verdicts in a reply
differ, there is no verdict: which one the judge meant would be a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from adjudge.errors import ArgumentError
from adjudge.judges.parsing import DECODER, UNCLOSED, match_option, named_option, without_thinking

WHOLE, BRACKETS, LAST_LINE = "A", "[[A]]", "last line: A"
_FIELD = re.compile(r'\{\s*"([^"\\]{1,60})"\s*:\s*"A"\s*\}')
_LONGEST = 200_000
_MOST_STARTS = 500


class Located(NamedTuple):
    """An option, and the index of its first character in the reply."""

    option: str
    start: int


def check_format(text: str, first: str = "A") -> str:
    """The format in one spelling, with A for the `first` option, if it is valid.

    >>> check_format('{ "winner" : "A" }'), check_format("[[P]]", "P")
    ('{"winner": "A"}', '[[A]]')
    """
    bare = " ".join(text.split())
    bare = re.sub(rf"(?<![\w]){re.escape(first)}(?=\]\]|\" ?\}}|$)", "A", bare)
    if match := _FIELD.fullmatch(bare):
        return f'{{"{match[1]}": "A"}}'
    if bare in (WHOLE, BRACKETS, LAST_LINE):
        return bare
    ways = f'{first}, [[{first}]], {{"winner": "{first}"}} (any field), last line: {first}'
    remedy = f"write one of {ways}"
    raise ArgumentError("answer format", text, remedy)


def write_option(option: str, format: str) -> str:
    """The option as a judge should write it.

    >>> write_option("B", "[[A]]"), write_option("B", '{"A": "A"}'), write_option("B", LAST_LINE)
    ('[[B]]', '{"A": "B"}', 'B')
    """
    if match := _FIELD.fullmatch(format):
        return json.dumps({match[1]: option})
    return f"[[{option}]]" if format == BRACKETS else option


def locate_option(text: str | None, options: tuple[str, ...], format: str) -> Located | None:
    """The option that the reply gives in this format, or None.

    >>> locate_option("Both are fine, but [[B]]", ("A", "B"), "[[A]]")
    Located(option='B', start=21)
    >>> locate_option('{"why": "x", "winner": "A"}', ("A", "B"), '{"winner": "A"}').start
    24
    >>> locate_option("[[A]] or [[B]]", ("A", "B"), "[[A]]") is None
    True
    """
    if not text or len(text) > _LONGEST:
        return None
    answer = without_thinking(text)
    if UNCLOSED.match(answer):
        return None
    begin = len(text) - len(answer)
    if format == WHOLE:
        places = _whole(answer, options)
    elif format == BRACKETS:
        places = _brackets(answer, options)
    elif format == LAST_LINE:
        places = _last_line(answer, options)
    else:
        field = _FIELD.fullmatch(format)
        places = _fields(answer, options, field[1] if field else "")
    located = list(places)
    named = {place.option for place in located}
    if len(named) != 1 or not named <= set(options):
        return None
    return Located(located[-1].option, begin + located[-1].start)


def _whole(answer: str, options: tuple[str, ...]) -> Iterator[Located]:
    if match := match_option(answer, options):
        yield Located(named_option(match[1], options), match.start(1))


def _brackets(answer: str, options: tuple[str, ...]) -> Iterator[Located]:
    # Blanks are stripped afterwards: a pattern for them would backtrack too much.
    for match in re.finditer(r"\[\[([^\[\]]{1,60})\]\]", answer):
        inside = match[1]
        # Brackets around another word are not a verdict; around another option they contradict it.
        if inside.strip() in options:
            yield Located(inside.strip(), match.start(1) + len(inside) - len(inside.lstrip()))


def _last_line(answer: str, options: tuple[str, ...]) -> Iterator[Located]:
    ended = answer.rstrip()
    begin = ended.rfind("\n") + 1
    for place in _whole(ended[begin:], options):
        yield Located(place.option, begin + place.start)


def _fields(answer: str, options: tuple[str, ...], field: str) -> Iterator[Located]:
    """Every complete JSON object that has the field; a value that is not an option contradicts."""
    start = answer.find("{")
    for _ in range(_MOST_STARTS):
        if start < 0:
            return
        try:
            value, end = DECODER.raw_decode(answer, start)
        except (ValueError, RecursionError):
            start = answer.find("{", start + 1)
            continue
        if field in value:
            named = value[field]
            place = re.search(
                re.escape(json.dumps(field)) + r'\s*:\s*"' + re.escape(str(named)) + '"',
                answer[start:end],
            )
            known = isinstance(named, str) and named in options and place is not None
            at = start + place.end() - 1 - len(named) if known and place else start
            yield Located(named if known else "", at)
        start = answer.find("{", end)
