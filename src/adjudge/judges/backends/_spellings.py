"""Which tokens name an option, and the probability of all options together.

A token counts for an option if it is that option without the blanks, quotes, brackets, emphasis and
stops around it: "A", " A", "(A", "A." and "**A" all count for A, and their probabilities are added.
Case matters: "a" is an English word, and a token that starts a word has no information about answer
A.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

_STRIPPED = " \t\r\n\u00a0\u0120\u2581\u010a*_\"'`“”‘’()[]{}<>.:,;"
#: Some servers write -9999 or minus infinity for values that they did not compute.
NEVER = -1000.0


@lru_cache(maxsize=8192)
def bare(token: str) -> str:
    """The token without the characters that can be around an option."""
    return token.strip(_STRIPPED)


def option_logprobs(
    pairs: Sequence[tuple[str, float]], options: tuple[str, ...]
) -> tuple[dict[str, float], frozenset[str]]:
    """Each option's log probability, summed over its spellings, and those with only a bound.

    >>> option_logprobs([("A", -0.5), (" A", -2.0), ("x", -4.0)], ("A", "B"))
    ({'A': -0.29..., 'B': -4.0}, frozenset({'B'}))
    """
    spellings: dict[str, list[float]] = {}
    bound = math.inf
    for token, value in pairs:
        if value > NEVER:
            bound = min(bound, value)
            stripped = bare(token)
            if stripped in options:
                spellings.setdefault(stripped, []).append(value)
    logprobs = {
        option: log_sum_exp(spellings[option]) if option in spellings else bound
        for option in options
    }
    return logprobs, frozenset(option for option in options if option not in spellings)


def option_mass(pairs: Iterable[tuple[str, float]], options: tuple[str, ...]) -> float:
    """The probability of all spellings of all options among these tokens.

    >>> round(option_mass([("A", -1.0), (" B", -2.0), ("<think>", -0.7)], ("A", "B")), 3)
    0.503
    """
    total = math.fsum(
        math.exp(value) for token, value in pairs if value > NEVER and bare(token) in options
    )
    return min(total, 1.0)


def log_sum_exp(values: Sequence[float]) -> float:
    """log sum exp(v), without overflow."""
    if len(values) == 1:
        return values[0]
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))
