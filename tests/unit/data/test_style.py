"""Differences in style between two answers, from texts and from columns."""

from __future__ import annotations

import json

import polars as pl
import pytest

from adjudge.data import prepare_battles
from adjudge.data.answers import style_differences
from adjudge.errors import ArgumentError, DataError


def differences(rows: dict[str, list[object]], *control: str) -> list[float]:
    values, _ = style_differences(pl.DataFrame(rows), control, "rows")
    return [round(value, 3) for value in values[0].tolist()]


def texts(a: str, b: str) -> dict[str, list[object]]:
    return {"response_a": [a], "response_b": [b]}


def test_what_is_counted_in_a_text() -> None:
    every = ("length", "headers", "lists", "bold")
    assert differences(texts("", ""), *every) == [0.0] * 4
    assert differences(texts("abc", "a"), "length") == [0.5]
    assert differences(texts("# a\n## b\n#no", "### c"), "headers") == [0.333]
    assert differences(texts("- a\n  * b\n1. c\n2) d\n-no\n3.no", "+ e"), "lists") == [0.6]
    assert differences(texts("**a** __b__ **c", "nothing"), "bold") == [1.0]
    # A comment in code is no header, and what follows the code counts again.
    assert differences(texts("```\n# a\n- b\n```\n# c", "# d\n- e"), *every[1:3]) == [0.0, -1.0]
    assert differences(texts("# a\n```\n# never closed", "# b"), "headers") == [0.0]


def test_columns_stand_for_texts_and_for_features_of_ones_own() -> None:
    rows: dict[str, list[object]] = {
        "length_a": [300], "length_b": [100], "emoji_a": [0], "emoji_b": [0], "warmth": [-1.5],
    }  # fmt: skip
    assert differences(rows, "length", "emoji", "warmth") == [0.5, 0.0, -1.5]
    # Texts come first: columns can be of another unit.
    assert differences({**rows, **texts("a", "abc")}, "length") == [-0.5]


def test_features_that_are_not_there_or_no_numbers_are_named() -> None:
    with pytest.raises(ArgumentError, match="lists_a and lists_b, or choose a column of numbers"):
        differences({"warmth": [1.0]}, "lists")
    with pytest.raises(ArgumentError, match="give response_a and response_b, or length_a"):
        differences({"warmth": [1.0]}, "length")
    for bad in ("much", -1):
        with pytest.raises(DataError, match="emoji_b"):
            differences({"emoji_a": [1], "emoji_b": [bad]}, "emoji")


def test_battles_without_a_value_are_left_out_and_counted() -> None:
    rows = {
        "model_a": ["x"] * 3, "model_b": ["y"] * 3, "winner": ["model_a"] * 3,
        "length_a": [1, None, 3], "length_b": [1, 2, 3],
    }  # fmt: skip
    battles = prepare_battles(rows, control=["length"])
    assert (len(battles), dict(battles.dropped)) == (2, {"no length": 1})
    assert battles.style is not None
    assert battles.style.tolist() == [[0.0], [0.0]]
    assert prepare_battles(rows).style is None


def test_an_image_has_no_length() -> None:
    image = {"type": "image", "sha256": "a" * 64, "alt": "# a.png"}
    shown = json.dumps([{"type": "text", "text": "four"}, image])
    rows = pl.DataFrame({"response_a": [shown, "four"], "response_b": ["four", "fourfour"]})
    differences, _ = style_differences(rows, ["length", "headers"], "rows")
    assert differences.tolist() == [[0, 0], [-1 / 3, 0]]
