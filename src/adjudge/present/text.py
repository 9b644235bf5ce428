"""Numbers and names as text: one format for percentages, intervals and counts in every view.

Text from data is made safe here: control and direction codes are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from adjudge.records import Interval

DASH = "–"
#: A path made from a URL has lost a slash; a password can have any character but a blank.
_CREDENTIALS = re.compile(r"(\bpostgres(?:ql)?:/{1,2})\S*@")
_PASSWORD = re.compile(
    r"(\w*password\s*=\s*|[?&;]\w*(?:key|token|secret)=)(?:'[^']*'|[^&;\s']+)", re.IGNORECASE
)
_SECRET = re.compile(r"\bpostgres(?:ql)?://(?:[^@\s]*:[^@\s]+@|\S*[?&](?:ssl)?password=)")
#: Terminal control codes, marks that change the direction of text, odd line ends, half characters.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
#: A word longer than this is shortened in the middle; what stays of it.
LONG_WORD = re.compile(r"([\w:=.,@+/\\-]{41,})")
_BEGINNING = 24
_END = 8
_PATH = re.compile(r"(?P<scheme>(?:\w+:)?)(?=[/.~]).*(?P<last>/[^/]{1,40})")


def safe(text: object) -> str:
    r"""Text from data, with control and direction codes escaped.

    >>> safe("\x1b[31mred")
    '\\x1b[31mred'
    """
    return _CONTROL.sub(lambda code: code.group().encode("unicode_escape").decode(), str(text))


def without_passwords(text: str) -> str:
    """Text with user and password removed from every database URL and connection string.

    >>> without_passwords("postgresql://me:hunter2@db/x?password=y no such file")
    'postgresql://db/x?password=*** no such file'
    """
    return _PASSWORD.sub(r"\1***", _CREDENTIALS.sub(r"\1", text))


def has_password(text: str) -> bool:
    """Whether a database URL in this text has a password.

    >>> has_password("--store=postgresql://me:secret@db/x"), has_password("postgresql://me@db/x")
    (True, False)
    """
    return bool(_SECRET.search(text))


def safe_json(text: str) -> str:
    r"""JSON with control and direction codes as escapes: the same values, safe to print.

    >>> safe_json('{"name": "\u202eevil"}')
    '{"name": "\\u202eevil"}'
    """
    return _CONTROL.sub(lambda code: f"\\u{ord(code.group()):04x}", text)


def clip(text: object, most: int = 28) -> str:
    """A name for an axis: escaped, on one line, and shortened in the middle if it is too long.

    >>> clip("openai:gpt-4.1-mini-2026-04-14")
    'openai:gpt-4.1…ni-2026-04-14'
    """
    name = safe(text).replace("\n", " ")
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[len(name) - tail :]}"


def clip_names(names: Iterable[object], most: int = 28) -> list[str]:
    """Names next to each other: if two would look the same, their common start is removed.

    >>> clip_names([f"openrouter:an-organisation/{size}b-instruct-preview" for size in (8, 70)])
    ['…8b-instruct-preview', '…70b-instruct-preview']
    """
    full = [safe(name) for name in names]
    shown = [clip(name, most) for name in full]
    places: dict[str, list[int]] = {}
    for at, text in enumerate(shown):
        places.setdefault(text, []).append(at)
    for alike in places.values():
        group = [full[at] for at in alike]
        letters = enumerate(zip(*group, strict=False))
        latest = min(map(len, group)) - most // 2  # some characters of the shortest are left
        start = min((at for at, here in letters if len({*here}) > 1), default=latest)
        start = min(start, latest)
        if len({*group}) > 1 and start > 1:
            rest = clip_names((f"…{name[start:]}" for name in group), most)
            for at, name in zip(alike, rest, strict=True):
                shown[at] = name
    return shown


def shorten(text: object) -> str:
    """Text in which a very long word, such as a judge's name or path, is shortened in the middle.

    >>> shorten("openai:an-organisation/a-model-with-a-very-long-name is right")
    'openai:an-organisation/a…ong-name is right'

    Of a path the last part is kept.

    >>> shorten("/home/ann/evaluations/november/second-round/policy.json is unchanged")
    '…/policy.json is unchanged'
    """
    return LONG_WORD.sub(lambda word: _shorten_word(word.group()), safe(text))


def _shorten_word(word: str) -> str:
    path = _PATH.fullmatch(word)
    if path is not None:
        return f"{path['scheme']}…{path['last']}"
    return f"{word[:_BEGINNING]}…{word[-_END:]}"


def number(value: float | int | None, digits: int = 3) -> str:
    """A number, or a dash if there is none.

    >>> number(0.12345), number(12000), number(None), number(-0.0001)
    ('0.123', '12,000', '–', '0.000')
    """
    if value is None:
        return DASH
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:z.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """A difference with its sign, or a dash if there is none.

    >>> signed(0.0312), signed(-0.2), signed(None), signed(-0.0001)
    ('+0.031', '-0.200', '–', '+0.000')
    """
    return DASH if value is None else f"{value:+z.{digits}f}"


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage, without unneeded zeros, or a dash if there is none.

    >>> percent(0.1), percent(0.1234), percent(0.1234, 0), percent(None)
    ('10 %', '12.3 %', '12 %', '–')
    """
    if value is None:
        return DASH
    shown = f"{100 * value:z.{digits}f}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown) + " %"


def count(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> count(1, "judge"), count(2000, "judge"), count(2, "half", "halves")
    ('1 judge', '2,000 judges', '2 halves')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def interval(
    low: float | None, high: float | None, digits: int = 3, *, unbounded: bool = False
) -> str:
    """An interval; an open end is infinite, and a dash means no interval.

    >>> interval(0.1, 0.25), interval(None, None, unbounded=True), interval(None, None)
    ('[0.100, 0.250]', 'unbounded', '–')
    >>> interval(1510.2, None, 0, unbounded=True), interval(None, 1490, 0, unbounded=True)
    ('[1510, ∞)', '(-∞, 1490]')
    """
    if (low is None or high is None) and not unbounded:
        return DASH
    if low is None and high is None:
        return "unbounded"
    left = "(-∞" if low is None else f"[{low:z.{digits}f}"
    right = "∞)" if high is None else f"{high:z.{digits}f}]"
    return f"{left}, {right}"


def show_interval(ends: Interval | None, digits: int = 3) -> str:
    """The interval of a result; a dash if there is none.

    >>> show_interval(Interval(0.1, 0.25, level=0.95)), show_interval(None)
    ('[0.100, 0.250]', '–')
    """
    return DASH if ends is None else interval(ends.low, ends.high, digits)


def percent_interval(ends: Interval | None, *, sign: bool = False) -> str:
    """An interval of shares, or of their differences, in percentage points, or a dash.

    >>> percent_interval(Interval(-0.1, 0.255, level=0.9), sign=True), percent_interval(None)
    ('[-10.0, +25.5]', '–')
    """
    if ends is None or ends.low is None or ends.high is None:
        return DASH
    form = "+z.1f" if sign else "z.1f"
    return f"[{100 * ends.low:{form}}, {100 * ends.high:{form}}]"


def span(low: str, high: str) -> str:
    """From the smallest to the largest, or one value if both have the same text.

    >>> span("1.9", "3.4"), span("2 %", "2 %"), span("2 %", "10 %")
    ('1.9 to 3.4', '2 %', '2 to 10 %')
    """
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def group_name(*names: str | None, none: str = "all rows") -> str:
    """The name of a group of rows: its judge and its criterion; `none` if it has no name.

    >>> group_name("gpt-4o", "fluency"), group_name(None, "unnamed")
    ('gpt-4o, fluency', 'all rows')
    """
    return ", ".join(name for name in names if name not in (None, "unnamed")) or none


def begin(sentence: str) -> str:
    """A sentence about a judge with a capital at its beginning; a name stays as it is written.

    >>> begin("the judge is right"), begin("gpt-4o is right")
    ('The judge is right', 'gpt-4o is right')
    """
    return f"T{sentence[1:]}" if sentence.startswith("the judge") else sentence


def level(confidence_level: float) -> str:
    """A confidence level as a percentage.

    >>> level(0.95)
    '95 %'
    """
    return f"{100 * confidence_level:g} %"


def plain_level(value: float) -> str:
    """An error level as a decimal, with at least two places.

    >>> plain_level(0.1), plain_level(0.15), plain_level(0.075)
    ('0.10', '0.15', '0.075')
    """
    return f"{value:.2f}" if round(value, 2) == value else f"{value:g}"


def powers_of_ten(*exponents: float) -> list[str]:
    """Ten to each power, for one axis: all as plain numbers if these are short, else as powers.

    >>> powers_of_ten(-2, 0, 1.3, 3), powers_of_ten(0, 3, 400.3)
    (['0.01', '1', '20', '1,000'], ['10^0', '10^3', '10^400'])
    """
    if not all(-4 < exponent < 4 for exponent in exponents):
        return [f"10^{exponent:.0f}" for exponent in exponents]
    values = (10**exponent for exponent in exponents)
    return [f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in values]


def left_out(dropped: Mapping[str, int], noun: str = "row") -> list[str]:
    """What was left out, a line for each reason.

    >>> left_out({"no label": 3, "human tie": 1})
    ['left out 3 rows: no label', 'left out 1 row: human tie']
    """
    return [f"left out {count(n, noun)}: {reason}" for reason, n in dropped.items() if n]
