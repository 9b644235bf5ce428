"""How people write the few values of a column: the first answer won, the answer passed, missing.

One table per question, in any case. Other words are refused, unless the caller gives their meaning
(`--labels-as 'x=A,y=B'`): a guessed label is worse than none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from adjudge.data.refusals import refuse_values
from adjudge.errors import ArgumentError

#: Words for a missing value. `none` is not here: it can be a class, or mean neither.
MISSING = ("nan", "n/a", "na", "null", "#n/a", "<na>")
_NOTHING = frozenset({"", *MISSING})
#: Every spelling that is searched in long columns, because lower case would cost time.
_SPELLINGS = ["", " ", *{form for w in MISSING for form in (w, w.upper(), w.title())}, "NaN"]
_LONGEST = max(map(len, _SPELLINGS))
#: The side is `{}`. Each is also read with a blank instead of the underscore.
_SIDES = "{} response_{} answer_{} output_{} model_{} assistant_{} option_{} candidate_{} [[{}]]"
#: As judges of MT-Bench and Arena-Hard write their verdicts.
_WINS = {"a": "a>b a>>b", "b": "b>a b>>a"}
_BOTH_BAD = ("tie (bothbad)", "bothbad", "both_bad", "both bad")
_WHOLE = re.compile(r"^(-?\d+)\.0+$")
_COMMA = r"^-?\d+(?:,\d+)?$"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The values of a column, common words for each, and ambiguous words."""

    #: By the word in lower case.
    words: Mapping[str, str]
    #: The value of a model's name, if the row names its two models.
    sides: tuple[str, str] | None = None
    #: Words with two common meanings, and the mapping that decides.
    unclear: Mapping[str, str] | None = None


def _side(*names: str) -> list[str]:
    words = [form.replace("{}", name) for name in names for form in _SIDES.split()]
    words += [verdict for name in names for verdict in _WINS.get(name, "").split()]
    return [*words, *(word.replace("_", " ") for word in words)]


def _pairs(first: str, second: str, tie: str, both_bad: str) -> Vocabulary:
    ties = (
        "tie",
        "tied",
        "draw",
        "equal",
        "same",
        "both",
        "both good",
        "both_good",
        "[[c]]",
        "a=b",
    )
    return Vocabulary(
        words={
            **dict.fromkeys([*_side("a", "1"), "left", "first"], first),
            **dict.fromkeys([*_side("b", "2"), "right", "second"], second),
            **dict.fromkeys(ties, tie),
            **dict.fromkeys(_BOTH_BAD, both_bad),
        },
        sides=(first, second),
        unclear={"0": f"--labels-as '0={first},1={second}' (or 0={second},1={first})"},
    )


#: Which answer of a pair is better.
PAIR = _pairs("A", "B", "tie", "tie")
#: Which model won a battle.
WINNER = _pairs("model_a", "model_b", "tie", "tie (bothbad)")
#: Whether an answer passed.
GRADE = Vocabulary(
    {
        **dict.fromkeys(["1", "true", "t", "pass", "passed", "yes", "y", "correct", "right"], "1"),
        **dict.fromkeys(
            ["0", "false", "f", "fail", "failed", "no", "n", "incorrect", "wrong"], "0"
        ),
    }
)
#: Only the caller's words.
AS_SAID = Vocabulary({})


def parse_labels_as(text: str) -> dict[str, str]:
    """The mapping of `--labels-as 'x=A,y=B'`; nothing after = means a missing label.

    >>> parse_labels_as("0=A, 1=B, skip=")
    {'0': 'A', '1': 'B', 'skip': ''}
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        theirs, equals, ours = part.rpartition("=")
        if not (equals and theirs.strip()):
            raise ArgumentError("labels_as", text, "write THEIRS=OURS,..., like '0=A,1=B'")
        mapping[theirs.strip()] = ours.strip()
    return mapping


def plain_word(value: object) -> str:
    """A word for the lookup: in lower case, without blanks around it, 1 for 1.0.

    >>> plain_word(" Model_A "), plain_word(1.0), plain_word("2.00")
    ('model_a', '1', '2')
    """
    text = str(value).strip().lower()
    whole = _WHOLE.match(text)
    return whole[1] if whole else text


def is_missing(value: object) -> bool:
    """Whether a value means that it is missing.

    >>> [is_missing(value) for value in (None, float("nan"), " ", "N/A", "none", 0)]
    [True, True, True, True, False, False]
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str) and value.strip().lower() in _NOTHING


def drop_missing(values: pl.Series) -> pl.Series:
    """A column of text with nulls for words that mean a missing value."""
    # Most columns have no value as short as these, which is faster to check.
    shortest = values.str.len_bytes().min()
    if not isinstance(shortest, int) or shortest > _LONGEST:
        return values
    gone = values.is_in(_SPELLINGS)
    if not gone.any():
        return values
    return pl.select(pl.when(~gone).then(values)).to_series().alias(values.name)


def drop_gaps(values: pl.Series) -> pl.Series:
    """Texts of numbers without blanks around them; null if they mean a missing value.

    >>> drop_gaps(pl.Series([" 0.5", "N/A"])).to_list()
    ['0.5', None]
    """
    trimmed = values.str.strip_chars()
    gaps = trimmed.str.to_lowercase().is_in(["", *MISSING])
    return pl.select(pl.when(~gaps).then(trimmed)).to_series().alias(values.name)


def read_word(
    value: str,
    vocabulary: Vocabulary,
    labels_as: Mapping[str, str],
    models: Sequence[str | None] = (None, None),
) -> str | None:
    """The meaning of one word: the caller's, the usual one, or a model's name.

    None if it means a missing value; an unknown word is returned unchanged.
    """
    word = plain_word(value)
    for key in (value.strip(), word):
        if key in labels_as:
            word = labels_as[key]
            return vocabulary.words.get(word.lower(), word) or None
    if is_missing(word):
        return None
    if word in vocabulary.words:
        return vocabulary.words[word]
    if vocabulary.sides and value.strip() in models and models[0] != models[1]:
        return vocabulary.sides[list(models).index(value.strip())]
    return value


def read_words(
    values: pl.Series,
    vocabulary: Vocabulary,
    labels_as: Mapping[str, str],
    models: tuple[pl.Series, pl.Series] | None = None,
) -> pl.Series:
    """A column of text as `read_word` reads each value; `models` are the names next to it."""
    known = {word: read_word(word, vocabulary, labels_as) for word in values.unique().drop_nulls()}
    if all(word == ours for word, ours in known.items()):
        result = values
    else:
        result = values.replace_strict(known, return_dtype=pl.String)
    if vocabulary.sides and models is not None:
        trimmed, (one, other) = values.str.strip_chars(), models
        names = {word for word, ours in known.items() if word == ours}
        free = values.is_in(list(names)) & (one != other)
        first, second = vocabulary.sides
        named = (
            pl.when(free & (trimmed == one))
            .then(pl.lit(first))
            .when(free & (trimmed == other))
            .then(pl.lit(second))
            .otherwise(result)
        )
        result = pl.select(named).to_series()
    return result.alias(values.name)


def word_refusal(word: str, vocabulary: Vocabulary, remedy: str) -> tuple[str, str]:
    """Why a word is refused, and the remedy."""
    unclear = vocabulary.unclear or {}
    if plain_word(word) in unclear:
        return "{} can mean either answer", f"choose one: {unclear[plain_word(word)]}"
    return "{} is not known", f"{remedy}, or give its meaning: --labels-as '{word}=...'"


def refuse_words(
    values: pl.Series, vocabulary: Vocabulary, choices: Sequence[str], *, source: str, remedy: str
) -> None:
    """Refuse the first value outside the choices; a word with two meanings comes first."""
    unknown = ~values.is_in(list(choices)).fill_null(True)
    if not unknown.any():
        return
    words = values.filter(unknown)
    unclear = [w for w in words.unique() if plain_word(w) in (vocabulary.unclear or {})]
    word = unclear[0] if unclear else words[0]
    problem, remedy = word_refusal(word, vocabulary, remedy)
    refuse_values(values, unknown & (values == word), problem, source=source, remedy=remedy)


def read_grade_words(values: pl.Series) -> pl.Series:
    """A column of text as 1 and 0 if every value is a word for pass or fail; else unchanged.

    >>> read_grade_words(pl.Series(["Yes", "no", None])).to_list()
    ['1', '0', None]
    >>> read_grade_words(pl.Series(["yes", "0.7"])).to_list()
    ['yes', '0.7']
    """
    passed = read_words(values, GRADE, {})
    return passed if passed.drop_nulls().is_in(["0", "1"]).all() else values


def point_decimals(texts: pl.Series) -> pl.Series:
    """Numbers with a decimal comma, as in many countries, with a point.

    Only if every value is such a number, and not all could be thousands: 1,234 stays.

    >>> point_decimals(pl.Series(["0,85", "1", None])).to_list()
    ['0.85', '1', None]
    >>> point_decimals(pl.Series(["1,234"])).to_list()
    ['1,234']
    """
    first = next((t for t in texts.head(1000) if t and "," in t), None)
    if first is None:
        return texts
    given = texts.drop_nulls().str.strip_chars()
    commas = given.filter(given.str.contains(",", literal=True))
    thousands = commas.str.contains(r"^-?[1-9]\d{0,2},\d{3}$").all()
    if thousands or not given.filter(given != "").str.contains(_COMMA).all():
        return texts
    return texts.str.replace(",", ".", literal=True)
