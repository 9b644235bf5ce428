"""Strict readers of judges' replies: a value that is written there, or no value.

The declared format of a verdict is written as it looks with the first option in it:

    A               the complete reply is the option
    [[A]]           in double brackets, anywhere; all of them name one option
    {"winner": "A"} a field of a JSON object; all objects that have it name one option
    last line: A    the last line is the option and nothing else

Thoughts in a closed <think> block are skipped. If two verdicts in a reply differ, there is none:
which one the judge meant would be a guess. A reply that cannot be read is `refused` or `unparsed`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeGuard

from adjudge.errors import ArgumentError
from adjudge.records import Status

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


class Located(NamedTuple):
    """An option, and the index of its first character in the reply."""

    option: str
    start: int


@lru_cache(maxsize=64)
def _spellings(options: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Ways to write one of the options and nothing else; each option is a letter or a word."""
    any_option = "(" + "|".join(map(re.escape, options)) + ")"
    return (
        re.compile(_AROUND + f"(?i:{any_option})" + _AROUND),
        # After other words only the capital counts: "The answer is a" can end before "tie".
        re.compile(rf"[\s*_\"'`#]*(?i:{_LEAD})[\s*_\"'`:=([{{<-]+{any_option}" + _AROUND),
        re.compile(
            rf"[\s*_\"'`#]*(?i:(?:answer|response|option|assistant)\s+)?[*_\"'`(\[]*{any_option}[*_\"'`)\]]*"
            r"(?i:\s+is\s+(?:the\s+)?(?:better|best|preferred|stronger)"
            r"(?:\s+(?:answer|response|option|one))?)" + _AROUND
        ),
        re.compile(rf"[\s$]*\\boxed\{{(?:\\text\{{)?\s*{any_option}\s*\}}?\}}[\s$.]*"),
    )


_THINKING = re.compile(
    r"\A\s*<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE
)
_UNCLOSED = re.compile(r"\s*<(?:think|thought|reasoning)", re.IGNORECASE)


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


def _answer_in(text: str | None, *, longest: int = _LONGEST) -> str:
    """The reply without its thoughts; "" if it is too long to be read, or only thoughts."""
    if not text or len(text) > longest:
        return ""
    answer = without_thinking(text)
    return "" if _UNCLOSED.match(answer) else answer


def parse_letter(text: str | None) -> str | None:
    """A or B if the reply is only that letter, otherwise None.

    The letter can be alone (in either case, quoted, emphasised, in brackets), after a naming
    phrase, before one or boxed. A reply with anything more is not read.

    >>> [parse_letter(t) for t in ("A", "**B**", "[[A]]", "Verdict: B", "A is better.", "b")]
    ['A', 'B', 'A', 'B', 'A', 'B']
    >>> [parse_letter(t) for t in ("A or B", "A better answer would", "Both", "", None, "C")]
    [None, None, None, None, None, None]
    """
    place = _option_alone(_answer_in(text), ("A", "B"))
    return None if place is None else place.option


def _option_alone(text: str, options: tuple[str, ...]) -> Located | None:
    """The option, if the text is one of its spellings and nothing else."""
    if len(text) > 200:
        return None
    matches = (pattern.fullmatch(text) for pattern in _spellings(options))
    match = next((match for match in matches if match), None)
    if match is None:
        return None
    named = [option for option in options if option.lower() == match[1].lower()]
    return Located(match[1] if match[1] in options else named[0], match.start(1))


# --- the first complete JSON object, and nothing repaired ----------------------------------------

_LONGEST_JSON = 200_000
_MOST_STARTS = 500


class _NotStrictError(ValueError):
    """JSON that Python reads but the standard does not allow, or with a repeated key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        # Python would silently keep the last value; which one the judge meant is a guess.
        raise _NotStrictError("a key is repeated")
    return members


def _constant(name: str) -> Any:
    raise _NotStrictError(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def first_json_object(text: str | None) -> dict[str, Any] | None:
    """The first `{...}` in the text that is a complete JSON object; prose around it is skipped.

    Repeated keys, NaN and Infinity make the object unreadable, and then the search ends: a part of
    an object is not the object.

    >>> first_json_object('Here it is:\\n```json\\n{"a": 1}\\n```\\nor {"a": 2}')
    {'a': 1}
    >>> first_json_object('{"a": 1, "a": 2}') is None, first_json_object('{"a": 1,}') is None
    (True, True)
    """
    answer = _answer_in(text, longest=_LONGEST_JSON)
    return next((value for value, _, _ in _json_objects(answer)), None)


def _json_objects(answer: str) -> Iterator[tuple[dict[str, Any] | None, int, int]]:
    """Every complete JSON object, its start and end; None for one with a repeated key and such."""
    start = answer.find("{")
    for _ in range(_MOST_STARTS):
        if start < 0:
            return
        end = start + 1
        try:
            value, end = _DECODER.raw_decode(answer, start)
            yield value, start, end
        except _NotStrictError:
            yield None, start, end
        except (ValueError, RecursionError):
            pass
        start = answer.find("{", end)


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
    numbers outside [0, top] are not read, a percent sign only if the scale goes to 100.

    >>> parse_claim("Verdict: A\\nConfidence: 0.85"), parse_claim("B 85%", top=100)
    (Claim(letter='A', confidence=0.85), Claim(letter='B', confidence=0.85))
    >>> [parse_claim(t) for t in ("Verdict: A\\nConfidence: 85%", "A", "Verdict: A or B\\n0.5")]
    [None, None, None]
    """
    answer = _answer_in(text)
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
    lowered = _lowered(first_json_object(answer) or {}) or {}
    letter = lowered.get("verdict")
    confidence = lowered.get("confidence")
    if not isinstance(letter, str) or not _is_number(confidence):
        return None
    return _claim(parse_letter(letter), confidence, top)


def _claim(letter: str | None, confidence: float, top: float) -> Claim | None:
    return Claim(letter, float(confidence) / top) if letter and 0 <= confidence <= top else None


# --- two sides scored on every criterion, as one JSON object -------------------------------------

Scores = dict[str, float]
_PREFERENCES: dict[str, Literal["A", "B", "tie"]] = {"a": "A", "b": "B", "tie": "tie"}


def parse_rubric(
    text: str | None, *, criteria: Sequence[str], low: float, high: float
) -> tuple[Scores, Scores] | str:
    """The scores of A and of B, or a text with the reason why they cannot be read.

    The first complete JSON object must have an object for A and one for B, each with a JSON number
    between low and high for every criterion; more keys are allowed.

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
    scores: dict[str, Scores] = {"A": {}, "B": {}}
    for side, side_scores in scores.items():
        written = sides.get(side.lower())
        if not isinstance(written, dict):
            return f"no scores for {side}"
        named = _lowered(written)
        if named is None:
            return f"{side}: a criterion is repeated"
        for criterion in criteria:
            value = named.get(criterion.lower())
            if value is None:
                return f"{side}, {criterion}: missing"
            if not _is_number(value):
                return f"{side}, {criterion}: {str(value)[:20]!r} is not a number"
            if not low <= value <= high:
                return f"{side}, {criterion}: {str(value)[:20]} is not between {low:g} and {high:g}"
            side_scores[criterion] = float(value)
    return scores["A"], scores["B"]


def parse_preference(text: str | None) -> Literal["A", "B", "tie"] | None:
    """The overall preference next to the scores: `preference` in the same object, A, B or tie.

    >>> parse_preference('{"A": {"clarity": 7}, "B": {"clarity": 4}, "preference": "A"}')
    'A'
    >>> parse_preference('{"preference": "A, clearly"}') is None
    True
    """
    preference = (_lowered(first_json_object(text) or {}) or {}).get("preference")
    bare = preference.strip().lower() if isinstance(preference, str) else ""
    return _PREFERENCES.get(bare)


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
    it, "/high" or "out of high" after it, and the scale's word for it ("4 = Good").

    >>> [parse_score(t, low=1, high=5) for t in ("4", "**Score: 4/5**", "4 out of 5.", "4.0")]
    [4, 4, 4, 4]
    >>> [parse_score(t, low=1, high=5) for t in ("7", "4/10", "3-4", "4.5", "four", "4 or 5", "")]
    [None, None, None, None, None, None, None]
    """
    answer = _answer_in(text).strip()
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


# --- a verdict in a declared format --------------------------------------------------------------

WHOLE = "A"
BRACKETS = "[[A]]"
LAST_LINE = "last line: A"
_FIELD = re.compile(r'\{\s*"([^"\\]{1,60})"\s*:\s*"A"\s*\}')


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
    answer = _answer_in(text, longest=_LONGEST_JSON)
    begin = len(text or "") - len(answer)
    if format in (WHOLE, LAST_LINE):
        if format == LAST_LINE:
            answer = answer.rstrip()
            line = answer.rfind("\n") + 1
            begin += line
            answer = answer[line:]
        place = _option_alone(answer, options)
        located = [] if place is None else [place]
    elif format == BRACKETS:
        located = list(_brackets(answer, options))
    else:
        field = _FIELD.fullmatch(format)
        located = list(_fields(answer, options, field[1] if field else ""))
    named = {place.option for place in located}
    if len(named) != 1 or not named <= set(options):
        return None
    return Located(located[-1].option, begin + located[-1].start)


def _brackets(answer: str, options: tuple[str, ...]) -> Iterator[Located]:
    # Blanks are stripped afterwards: a pattern for them would backtrack too much.
    for match in re.finditer(r"\[\[([^\[\]]{1,60})\]\]", answer):
        inside = match[1]
        # Brackets around another word are not a verdict; around another option they contradict it.
        if inside.strip() in options:
            yield Located(inside.strip(), match.start(1) + len(inside) - len(inside.lstrip()))


def _fields(answer: str, options: tuple[str, ...], field: str) -> Iterator[Located]:
    """Every complete JSON object that has the field; a value that is not an option contradicts."""
    for value, start, end in _json_objects(answer):
        if value is not None and field in value:
            named = value[field]
            place = re.search(
                re.escape(json.dumps(field)) + r'\s*:\s*"' + re.escape(str(named)) + '"',
                answer[start:end],
            )
            valid = isinstance(named, str) and named in options and place is not None
            at = start + place.end() - 1 - len(named) if valid and place else start
            yield Located(named if valid else "", at)


# --- refusals, in many languages -----------------------------------------------------------------

# Only the beginning of a reply is checked, and only if it could not be read: a verdict that begins
# with an apology is a verdict.
_APOLOGY = (
    r"(?:(?:i['’]?m|i am|we['’]?re|we are)\s+(?:very\s+|really\s+|so\s+)?sorry|sorry|apologies"
    r"|i apologi[sz]e)"
)
_ENGLISH = (
    rf"(?:{_APOLOGY}[,.!]?\s+(?:but\s+)?)?"
    r"(?:(?:i|we)\s*(?:can['’]?t|can\s*not|cannot|won['’]?t|will not|am unable to|['’]m unable to"
    r"|am not able to|['’]m not able to|must decline|have to decline|decline to|refuse to"
    r"|do not feel comfortable|don['’]t feel comfortable|am not comfortable|['’]m not comfortable"
    r"|are unable to)\b"
    r"|(?:as|being) an ai\b.{0,60}?\b(?:can['’]?t|cannot|unable|not able|do not|don['’]t)\b"
    r"|(?:this|your|the) (?:request|content|conversation) (?:violates|was flagged|is against)"
    r"|(?:it|this) (?:would be|is) (?:inappropriate|against my (?:guidelines|policy|policies)))"
)
_OTHERS = (files("adjudge.judges") / "refusals.txt").read_text(encoding="utf-8").splitlines()
_REFUSAL = re.compile(
    r"[\s\W]*(?:" + "|".join((_ENGLISH, *(line for line in _OTHERS if line[0] != "#"))) + ")",
    re.IGNORECASE | re.DOTALL,
)


def unread(text: str | None) -> Status:
    """The status of a reply that could not be read: refused or unparsed.

    >>> unread("抱歉,我无法比较这两个回答。"), unread("Both are fine."), unread(None)
    ('refused', 'unparsed', 'unparsed')
    >>> unread("I'm sorry, but I can't help with that."), unread("Sorry, A.")
    ('refused', 'unparsed')
    """
    beginning = without_thinking((text or "")[:20_000])[:400]
    return "refused" if _REFUSAL.match(beginning) else "unparsed"
