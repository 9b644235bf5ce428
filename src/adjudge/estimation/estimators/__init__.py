"""The estimators by name: a new one needs its file and a line here.

A package adds its own by an entry point `adjudge.estimators`, a program by `register_estimator`.
"""

from __future__ import annotations

from typing import Literal

from adjudge.estimation.estimators.base import Estimator
from adjudge.plugins import Builtin, Registry
from adjudge.validation import one_of

#: The methods that `estimate` takes; an installed package can add more.
Method = Literal[
    "auto", "misclassification", "ppi++", "conditional", "difference", "human-only", "naive"
]
_HOME = "adjudge.estimation.estimators"
_REGISTRY: Registry[Estimator] = Registry(
    "method",
    "adjudge.estimators",
    {
        "misclassification": Builtin(f"{_HOME}.misclassification:MISCLASSIFICATION"),
        "ppi++": Builtin(f"{_HOME}.ppi:PPI"),
        "conditional": Builtin(f"{_HOME}.conditional:CONDITIONAL"),
        "difference": Builtin(f"{_HOME}.ppi:DIFFERENCE"),
        "human-only": Builtin(f"{_HOME}.alone:HUMAN_ONLY"),
        "naive": Builtin(f"{_HOME}.alone:NAIVE"),
    },
)


def find_estimator(name: str) -> Estimator:
    """The estimator of that name; the error for an unknown name lists all known names.

    >>> find_estimator("naive").uses_labels
    False
    >>> find_estimator("hope")
    Traceback (most recent call last):
    adjudge.errors.ArgumentError: method = 'hope': choose one of auto, misclassification, ppi++, \
conditional, difference, human-only, naive
    """
    one_of(name, ("auto", *_REGISTRY), "method")
    return _REGISTRY.load(name)


def known_estimator(name: str) -> Estimator | type[Estimator]:
    """The estimator of that name; the general properties if no installed package has it."""
    return _REGISTRY.load(name) if name in _REGISTRY else Estimator


def all_estimators() -> list[Estimator]:
    """All estimators, the built-in ones first."""
    return [_REGISTRY.load(name) for name in _REGISTRY]


def register_estimator(estimator: Estimator) -> None:
    """Register an estimator for this process; a name that is in use is refused."""
    _REGISTRY.add(estimator.name, estimator)


def unregister_estimator(name: str) -> None:
    """Remove one that `register_estimator` added."""
    _REGISTRY.remove(name)
