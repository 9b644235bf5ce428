"""Argument checks and their messages.

Every public function checks its arguments here, so that an error always names the argument, the
value and the remedy. Arrays can be lists, numpy, pandas or polars.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adjudge.errors import ArgumentError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Seed = int | np.random.Generator | None


def exact_level(value: float | str | Fraction, name: str = "alpha") -> Fraction:
    """The level as the decimal that the user typed, so that boundaries compare exactly.

    >>> exact_level(0.1)
    Fraction(1, 10)
    """
    try:
        level = value if isinstance(value, Fraction) else Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ArgumentError(name, value, "give a number strictly between 0 and 1") from None
    if not 0 < level < 1:
        raise ArgumentError(name, value, "give a number strictly between 0 and 1")
    return level


def open_unit(value: float, name: str) -> float:
    """A number strictly between 0 and 1."""
    return float(exact_level(value, name))


def finite_number(value: float, name: str) -> float:
    """A number that is not infinite, and not NaN."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(name, value, "give a number") from None
    if not np.isfinite(number):
        raise ArgumentError(name, value, "give a finite number")
    return number


def is_number(text: str) -> bool:
    """Whether a text is a number.

    >>> is_number("7.5"), is_number("seven")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def unit(value: float, name: str) -> float:
    """A number from 0 to 1, both included."""
    number = finite_number(value, name)
    if not 0 <= number <= 1:
        raise ArgumentError(name, value, "give a number from 0 to 1")
    return number


def non_negative(value: float, name: str) -> float:
    """A finite number >= 0."""
    number = finite_number(value, name)
    if number < 0:
        raise ArgumentError(name, value, "give a number that is not negative")
    return number


def positive(value: float, name: str) -> float:
    """A finite number > 0."""
    number = finite_number(value, name)
    if number <= 0:
        raise ArgumentError(name, value, "give a number above 0")
    return number


def count(value: int, name: str, *, least: int = 0) -> int:
    """An integer, `least` or more."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise ArgumentError(name, value, f"give a whole number, {least} or more")
    return int(value)


def one_of(value: str, choices: Sequence[str], name: str) -> str:
    """One of the named choices."""
    if value not in choices:
        raise ArgumentError(name, value, "choose one of " + ", ".join(choices))
    return value


def known_seed(seed: Seed) -> int | None:
    """The seed as a result states it: a Generator's state is not known."""
    return seed if isinstance(seed, int) else None


def generator(seed: Seed) -> np.random.Generator:
    """A numpy Generator from a seed, a Generator (used unchanged) or None (fresh entropy)."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer))):
        raise ArgumentError("seed", seed, "give a whole number or a numpy Generator")
    if seed is not None and seed < 0:
        raise ArgumentError("seed", seed, "give a seed that is not negative")
    return np.random.default_rng(seed)


def finite(values: ArrayLike, name: str, *, allow_empty: bool = False) -> FloatArray:
    """A one-dimensional array of finite floats."""
    array = _as_1d(values, name)
    try:
        # Object arrays have None for a missing value (polars, pandas); float() makes it NaN.
        floats = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(name, _first(array), "give numbers only") from None
    if floats.size == 0 and not allow_empty:
        raise ArgumentError(name, [], "give at least one value")
    refuse(~np.isfinite(floats), floats, name, "drop or repair missing values")
    return floats


def optional_numbers(values: ArrayLike, name: str) -> FloatArray:
    """A one-dimensional array of floats, NaN (or None) if one is missing."""
    try:
        return _as_1d(values, name).astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ArgumentError(name, "text", "give numbers; NaN if one is missing") from None


def probabilities(values: ArrayLike, name: str) -> FloatArray:
    """A one-dimensional array of numbers in [0, 1]."""
    floats = finite(values, name)
    refuse((floats < 0) | (floats > 1), floats, name, "give probabilities in [0, 1]")
    return floats


def zero_one(values: ArrayLike, name: str) -> IntArray:
    """A one-dimensional array of 0 and 1 (or False and True); integers are not copied."""
    given = np.asarray(values)
    if _already(given, "i8", -1, 2):
        return given
    floats = finite(values, name)
    refuse((floats != 0) & (floats != 1), floats, name, "give 0 or 1")
    return floats.astype(np.int64)


def refuse(bad: BoolArray, floats: FloatArray, name: str, remedy: str) -> None:
    """Refuse the first bad value."""
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ArgumentError(f"{name}[{at}]", float(floats[at]), remedy)


def same_length(**arrays: Any) -> int:
    """The common length of the named arrays."""
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ArgumentError(
            "lengths", tuple(lengths.values()), f"give arrays of one length ({sizes})"
        )
    return next(iter(lengths.values()), 0)


def paired(scores: ArrayLike, errors: ArrayLike) -> tuple[FloatArray, IntArray]:
    """Uncertainty scores and 0/1 errors of one length.

    Ten million rows should cost little more than a sort, so valid arrays are returned unchanged and
    not copied: read them, do not write into them.
    """
    s, e = np.asarray(scores), np.asarray(errors)
    s = s if _already(s, "f8", -np.inf, np.inf) else finite(scores, "scores")
    e = zero_one(e, "errors")
    same_length(scores=s, errors=e)
    return s, e


def _already(array: NDArray[Any], dtype: str, above: float, below: float) -> bool:
    """Whether this is a non-empty vector of `dtype` strictly between two bounds (NaN is not)."""
    if array.dtype != np.dtype(dtype) or array.ndim != 1 or array.size == 0:
        return False
    return bool(array.min() > above and array.max() < below)


def _as_1d(values: ArrayLike, name: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ArgumentError(name, f"shape {array.shape}", "give a one-dimensional array")
    return array


def _first(array: NDArray[Any]) -> object:
    for value in array:
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return array.dtype
