"""Other spellings of a column's name and of an id: a few fixed ones, and as many more by seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Respell = Callable[[str], str]


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


def pascal_case(name: str) -> str:
    return "".join(map(str.title, name.split("_")))


def in_blanks(name: str) -> str:
    return f" {name.replace('_', ' ')} "


def with_dashes(name: str) -> str:
    return name.replace("_", "-")


def with_no_break_space(id_: str) -> str:
    return f"{id_}\u00a0"


def in_full_width(id_: str) -> str:
    """The id with the wide letter r of East Asian texts, which looks the same."""
    return id_.replace("r", "\uff52")


def with_decimals(id_: str) -> str:
    """A whole number as a spreadsheet writes it."""
    return f"{id_}.0"


@dataclass(frozen=True)
class Spellings:
    """How names of columns, words and ids are spelled, by the name of the spelling."""

    headers: Mapping[str, Respell]
    ids: Mapping[str, Respell]
    words: Mapping[str, Respell]
    failures: Sequence[str]
    other_failures: Sequence[str]

    def names_like(self, column: str) -> list[str]:
        """The column's other spellings, each once."""
        names = dict.fromkeys(respell(column) for respell in self.headers.values())
        return [name for name in names if name != column]


FEW = Spellings(
    headers={
        "Title_Case": str.title,
        "UPPER_CASE": str.upper,
        "camelCase": camel_case,
        "PascalCase": pascal_case,
        "with blanks": in_blanks,
        "with-dashes": with_dashes,
    },
    ids={
        "blanks": in_blanks,
        "case": str.upper,
        "no-break space": with_no_break_space,
        "full width": in_full_width,
        "number form": with_decimals,
    },
    words={"lower": str.lower, "upper": str.upper, "blanks": in_blanks},
    failures=("error", "TIMEOUT", " Exception "),
    other_failures=("parse_error", "None", "ERROR: 500", "judge", "N/A (rate limit)"),
)


def many(seed: int, n: int = 8) -> Spellings:
    """Spellings by seed: letters in any case, any separator, blanks of any kind around."""
    rng = random.Random(seed)
    headers = [RandomHeader(rng.randrange(10**6)) for _ in range(n)]
    ids = [RandomBlanks(rng.randrange(10**6)) for _ in range(n)]
    failures = ["error", "timeout", "exception", "unparsed"]
    return Spellings(
        headers={respell("column_name"): respell for respell in headers},
        ids={**FEW.ids, **{repr(respell("r1")): respell for respell in ids}},
        words={**FEW.words, "title": str.title},
        failures=[RandomHeader(rng.randrange(10**6))(word) for word in failures],
        other_failures=[*FEW.other_failures, "HTTP 429", "<no answer>", "nan%", "I cannot judge"],
    )


@dataclass(frozen=True)
class RandomHeader:
    """A name with other separators, and every letter in either case."""

    seed: int

    def __call__(self, name: str) -> str:
        rng = random.Random(f"{self.seed} {name}")
        separator = rng.choice(["_", "-", " ", ""])
        letters = [rng.choice([letter.upper(), letter]) for letter in name.replace("_", separator)]
        blanks = rng.choice(["", " ", "  "])
        return blanks + "".join(letters) + blanks


@dataclass(frozen=True)
class RandomBlanks:
    """An id with blanks around it that nobody sees."""

    seed: int

    def __call__(self, id_: str) -> str:
        rng = random.Random(self.seed)
        blanks = [" ", "\t", "\u00a0", "\u2009", "\u3000", "\ufeff", "\u200b"]
        before, after = rng.sample(blanks, 2)
        return rng.choice([f"{before}{id_}", f"{id_}{after}", f"{before}{id_}{after}"])
