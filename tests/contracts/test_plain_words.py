"""Plain words: names and phrases that were dropped do not come back.

Readers are ML engineers, many not native. What is listed here was once written in adjudge; the
field has a plainer word for each. Add what is dropped next, with the word to use instead.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import adjudge

SOURCE = Path(adjudge.__file__).parent
ROOT = Path(__file__).parents[2]
PAPERS = SOURCE.with_name("adjudge_papers")
MODULES = sorted([*SOURCE.rglob("*.py"), *PAPERS.rglob("*.py")])
ROOMS = sorted(
    {"../adjudge_papers", *(path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py"))}
)
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
]

#: Not bound anywhere in src: as a variable, argument, field, function, class or import.
BANNED_NAMES = {
    "told": "lines, message, reason, text",
    "found": "matches, path, result, or what it is",
}

#: Nowhere: pages, messages, docstrings.
BANNED_PHRASES = {
    r"told": "printed, reported, given",
    r"untold": "not reported",
    r"mends?": "fixes, solves",
    r"strewn": "spread at random",
    r"thrown together": "pooled",
    r"carr(?:y|ies) (?:a|no) numbers?": "has a usable score, has no usable score",
    r"a file that is no file": "cannot be read",
    r"goes? on where it was": "resumes where it stopped",
    r"as ever|of old": "as before, normally",
    r"aloud": "leave it out",
    r"for ever": "at any time, without end",
    r"all the while": "all the time",
    r"signs? of life": "heartbeat",
    r"comes? home": "arrives, returns",
    r"to the last byte": "byte for byte",
    r"as it stands": "unchanged",
    r"dearer": "more expensive, costs more",
    r"likelier|commonest": "more likely, most common",
    r"rightly": "correctly",
    r"lopsided": "unbalanced",
    r"right way round": "in the right direction",
    r"hopeful side": "optimistic",
    r"pass(?:es|ed)? for": "is treated as, looks like",
    r"taken? as independent": "treated as independent",
    r"next to nothing": "almost nothing",
    r"speaks? against": "contradicts",
    r"rang|rung": "raised an alarm",
    r"besides": "in addition to",
    r"in vain": "without success",
    r"made-up": "invented, simulated",
    r"befalls?": "happens to",
    r"not a single": "no",
    r"make room on": "free space on",
    r"comes? twice": "is repeated",
    r"outlives?": "continues after",
    r"one's own": "the user's",
    r"calibrates? nothing": "is not used to calibrate",
    r"give or take chance": "up to chance",
    r"no room here for": "left out at this width",
}

#: Ordinary words that took the place of a precise one; not on pages and not in messages.
OVERUSED_WORDS = {
    r"found": "detected, measured, the number itself",
    r"beside": "next to, in addition to, compared with",
    r"stands?|stood": "is",
    r"under way": "in flight, running",
    r"goes? on": "continues, resumes",
    r"asks? on": "continues",
    r"stays? away": "does not come back",
    r"passed over": "skipped, the row continues with the next one",
    r"cut short": "truncated",
    r"called like": "with the name of",
    r"beg[au]n from": "started from",
    r"struck out|strikes? out": "redacted",
    r"knows? nothing": "is not informative, has no information",
    r"lends?|drips?": "gives, sends slowly",
    r"(?:judge|person)'s word": "verdict, label",
    r"held against": "compared with",
    r"lives? on": "continues",
    r"turned away": "refused",
    r"gives? back": "releases, returns",
    r"endless test rows": "infinitely many test rows",
}

COMMENT = re.compile(r"(?:^|\s)#:? (.*)")
#: In addition, in the rooms of which every string and comment was rewritten.
DIALECT = {
    r"anew": "again",
    r"nobody|somebody|whoever": "people, the user, or the passive",
    r"beyond": "above, more than, after, outside",
    r"(?:a|an|no) (?:\w+ )?of (?:its|their) own": "its own, separate",
    r"so many (?:rows|labels|pairs|times|battles|points|errors)": "at most N, this many",
    r"where (?:it|they|there|one|none) (?:is|are|was|has|have|does|can)": "if",
    r"whole (?:of|interval|scale|file|set|list)|honest number": "all of, entire, valid",
    r"in words|at once|at the door|front door": "as text, together, at the entry point",
    r"says? (?:so|nothing|itself|why)": "states it, has no information, explains",
    r"(?:than|from) a coin": "not better than chance",
    r"errs? (?:alike|otherwise)": "has the same error rate, has other errors",
    r"(?:a|its own) liking": "preference",
    r"what became of": "status, outcome",
    r"tells? (?:\w+ ){0,4}apart": "separates, distinguishes",
    r"may": "can",
    r"is no (?!longer|less|more|larger|smaller|higher|wider|narrower)\w+": "is not a",
}
REWRITTEN = (
    *("selection", "estimation", "uncertainty", "rows", "results", "monitoring", "diagnosis"),
    *("ranking", "errors.py", "plugins.py", "records.py", "auditing.py", "testing.py"),
    *("_text.py", "_stats.py", "_validation.py", "_bradley_terry.py", "present", "cli", "io"),
    *("store", "server", "integrations", "simulate", "../adjudge_papers"),
)
PLAIN_ENGLISH = re.compile(
    r"\b(?:(?:be|not) found|stands? for|stands? out|standing|there(?: always)? is no)\b",
    re.IGNORECASE,
)


def bound_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Every name that is bound, and the line."""
    for node in nodes:
        names: list[str | None] = []
        match node:
            case ast.Name(id=name, ctx=ast.Store()):  # assignment, for, with, comprehension, :=
                names = [name]
            case ast.Attribute(attr=name, ctx=ast.Store()):
                names = [name]
            case ast.arg(arg=name):
                names = [name]
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names = [node.name]
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                names = [node.name]
            case ast.MatchMapping(rest=name):
                names = [name]
            case ast.alias():
                names = [node.asname or node.name]
        for bound in names:
            if bound is not None:
                yield bound, getattr(node, "lineno", 0)


def texts(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int, bool]]:
    """Every string, its line, and whether it is a docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = set()
    for node in nodes:  # a body comes before its strings
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr):
            docstrings.add(id(node.body[0].value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno, id(node) in docstrings


def banned_names(source: str) -> list[tuple[str, int]]:
    """The dropped names that a file binds, its doctests included."""
    return read_names_and_texts(source)[0]


def read_names_and_texts(
    source: str,
) -> tuple[list[tuple[str, int]], list[tuple[str, int, bool]]]:
    nodes = list(ast.walk(ast.parse(source)))
    bound, strings = list(bound_names(nodes)), list(texts(nodes))
    for text, line, is_docstring in strings:
        if is_docstring and ">>>" in text:
            for example in doctest.DocTestParser().get_examples(text):
                inside = bound_names(ast.walk(ast.parse(example.source)))
                bound += [(name, line + example.lineno) for name, _ in inside]
    return [(name, line) for name, line in bound if name in BANNED_NAMES], strings


@cache
def contents(path: Path) -> tuple[list[tuple[str, int]], list[tuple[str, int, bool]]]:
    """The dropped names and all strings of a file, parsed once; the tree is too large to keep."""
    return read_names_and_texts(path.read_text(encoding="utf-8"))


def any_of(*phrases: dict[str, str]) -> re.Pattern[str]:
    """Any of the phrases as whole words, also where a line ends inside one."""
    every = "|".join(phrase.replace(" ", r"\s+") for part in phrases for phrase in part)
    return re.compile(rf"(?<![\w`])(?:{every})(?!\w)", re.IGNORECASE)


IN_DOCSTRINGS = any_of(BANNED_PHRASES)
IN_MESSAGES = any_of(BANNED_PHRASES, OVERUSED_WORDS)
IN_REWRITTEN = any_of(DIALECT)


def banned_words(text: str, banned: re.Pattern[str]) -> list[tuple[str, int]]:
    """The dropped words and phrases in a text, and how many lines down each is."""
    plain = PLAIN_ENGLISH.sub(lambda match: "-" * len(match.group()), text)
    return [
        (" ".join(match.group().split()), plain.count("\n", 0, match.start()))
        for match in banned.finditer(plain)
    ]


def remedy(word: str) -> str:
    """What to say instead."""
    for phrase, instead in (BANNED_PHRASES | OVERUSED_WORDS | DIALECT).items():
        if re.fullmatch(phrase, word, re.IGNORECASE):
            return instead
    raise AssertionError(word)


def modules_of(room: str) -> list[Path]:
    place = (SOURCE / room).resolve()
    return [path for path in MODULES if path == place or place in path.parents]


@pytest.mark.parametrize("room", ROOMS)
def test_no_dropped_name_is_bound(room: str) -> None:
    wrong = [
        f"{path.relative_to(SOURCE.parent)}:{line} {name} (say {BANNED_NAMES[name]})"
        for path in modules_of(room)
        for name, line in contents(path)[0]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", ROOMS)
def test_strings_are_in_plain_words(room: str) -> None:
    wrong = [
        f"{path.relative_to(SOURCE.parent)}:{line + down} {word!r} (say {remedy(word)})"
        for path in modules_of(room)
        for text, line, docstring in contents(path)[1]
        for word, down in banned_words(text, IN_DOCSTRINGS if docstring else IN_MESSAGES)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", REWRITTEN)
def test_rewritten_rooms_have_no_dialect(room: str) -> None:
    wrong = []
    for path in modules_of(room):
        lines = path.read_text(encoding="utf-8").splitlines()
        comments = [
            (text, at) for at, line in enumerate(lines, 1) for text in COMMENT.findall(line)
        ]
        strings = [(text, at) for text, at, _ in contents(path)[1]]
        wrong += [
            f"{path.relative_to(SOURCE.parent)}:{at + down} {word!r} (say {remedy(word)})"
            for text, at in strings + comments
            for word, down in banned_words(text, IN_REWRITTEN)
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages_are_in_plain_words(page: Path) -> None:
    wrong = [
        f"{page.name}:{1 + down} {word!r} (say {remedy(word)})"
        for word, down in banned_words(page.read_text(encoding="utf-8"), IN_MESSAGES)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "found: int = 1",
        "a, (*found, b) = c",
        "self.found = 1",
        "def f(found): pass",
        "def f(*, found=1): pass",
        "def f(**found): pass",
        "lambda found: 1",
        "def found(): pass",
        "class found: pass",
        "for found in x: pass",
        "[1 for found in x]",
        "if (found := f()): pass",
        "with f() as found: pass",
        "try: pass\nexcept E as found: pass",
        "import x as found",
        "from x import found",
        "match x:\n    case [found, *rest]: pass",
        'def f():\n    """Doc.\n\n    >>> found = 1\n    """',
    ],
)
def test_every_way_to_bind_a_name_is_seen(source: str) -> None:
    assert [name for name, _ in banned_names(source)] == ["found"]


def test_using_a_foreign_name_is_fine() -> None:
    assert banned_names("print(other.found, f(found=1), 'found')") == []


@pytest.mark.parametrize(
    ("text", "banned", "words"),
    [
        ("A killed run goes on where it was.", IN_DOCSTRINGS, ["goes on where it was"]),
        ("thrown\n    together as small groups", IN_MESSAGES, ["thrown together"]),
        ("Told by its columns", IN_DOCSTRINGS, ["Told"]),
        ("the judge's rate stands beside it", IN_MESSAGES, ["stands", "beside"]),
        ("the judge's rate stands beside it", IN_DOCSTRINGS, []),
        ("the file was not found; the letter stands for the answer", IN_MESSAGES, []),
        ("the run goes on; a smaller tau is dearer", IN_MESSAGES, ["goes on", "dearer"]),
        ("the row is passed over, as ever", IN_DOCSTRINGS, ["as ever"]),
        ("besides, it is outstanding and foundational", IN_MESSAGES, ["besides"]),
        (
            "a row of its own: where it is empty, nobody says so",
            IN_REWRITTEN,
            ["a row of its own", "where it is", "nobody", "says so"],
        ),
        (
            "there is no verdict; a tie is no verdict and is no longer used",
            IN_REWRITTEN,
            ["is no verdict"],
        ),
    ],
)
def test_the_rule_itself(text: str, banned: re.Pattern[str], words: list[str]) -> None:
    assert [word for word, _ in banned_words(text, banned)] == words
