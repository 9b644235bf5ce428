"""Checks at the door: every refusal names the argument, the value and the remedy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge import validation as check
from adjudge.errors import ArgumentError


@pytest.mark.parametrize("typed", [0.1, "0.1", Fraction(1, 10)])
def test_a_level_is_the_decimal_that_was_typed(typed: Any) -> None:
    assert check.exact_level(typed) == Fraction(1, 10)


@pytest.mark.parametrize("wrong", [0, 1, -0.1, 1.5, float("nan"), float("inf"), "x", "1/0"])
def test_a_level_outside_the_open_unit_interval_is_refused(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="alpha = .*between 0 and 1"):
        check.exact_level(wrong)


@pytest.mark.parametrize(
    "values", [[0.1, 0.2], (0.1, 0.2), np.array([0.1, 0.2]), pd.Series([0.1, 0.2]),
               pl.Series([0.1, 0.2])],
)  # fmt: skip
def test_arrays_may_come_from_anywhere(values: Any) -> None:
    np.testing.assert_array_equal(check.finite(values, "scores"), [0.1, 0.2])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0.1, float("nan")], r"scores\[1\] = nan"),
        ([0.1, None], r"scores\[1\] = nan"),
        ([0.1, float("inf")], r"scores\[1\] = inf"),
        ([[0.1]], "one-dimensional"),
        (["a"], "scores = .*'a'.*numbers only"),
        ([], "at least one value"),
    ],
)
def test_a_bad_array_is_refused_with_its_place(values: Any, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        check.finite(values, "scores")


def test_probabilities_and_zero_one_name_the_first_offender() -> None:
    with pytest.raises(ArgumentError, match=r"p_a\[2\] = 1.01"):
        check.probabilities([0, 1, 1.01], "p_a")
    with pytest.raises(ArgumentError, match=r"errors\[1\] = 0.5: give 0 or 1"):
        check.zero_one([0, 0.5], "errors")
    assert check.zero_one([True, False], "errors").tolist() == [1, 0]


def test_lengths_must_agree() -> None:
    with pytest.raises(ArgumentError, match="scores has 2, errors has 1"):
        check.paired([0.1, 0.2], [1])


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "3"])
def test_a_count_is_a_whole_number(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="whole number"):
        check.count(wrong, "n")


def test_choices_are_listed() -> None:
    with pytest.raises(ArgumentError, match="choose one of scope, fdr, pac"):
        check.one_of("bogus", ("scope", "fdr", "pac"), "guarantee")


def test_a_generator_is_used_as_it_is_and_a_seed_repeats() -> None:
    rng = np.random.default_rng(3)
    assert check.generator(rng) is rng
    assert check.generator(3).random() == np.random.default_rng(3).random()
    for wrong in (-1, 1.5, True):
        with pytest.raises(ArgumentError, match="seed"):
            check.generator(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), "x"])
def test_positive_and_finite(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="width"):
        check.positive(wrong, "width")
