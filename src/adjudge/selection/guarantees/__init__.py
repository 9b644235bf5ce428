"""The guarantees by name: a new one needs its file and a line here.

A package adds its own with an entry point in the group `adjudge.guarantees`, a program with
`register_guarantee`.
"""

from __future__ import annotations

from adjudge.plugins import Builtin, Registry
from adjudge.selection.guarantees.base import Guarantee

DEFAULT = "scope"
_REGISTRY: Registry[Guarantee] = Registry(
    "guarantee",
    "adjudge.guarantees",
    {
        "scope": Builtin("adjudge.selection.guarantees.scope:SCOPE"),
        "fdr": Builtin("adjudge.selection.guarantees.fdr:FDR"),
        "pac": Builtin("adjudge.selection.guarantees.pac:PAC"),
    },
)


def find_guarantee(name: str) -> Guarantee:
    """The guarantee of that name; the error for an unknown name lists all known names.

    >>> find_guarantee("pac").uses_delta
    True
    >>> find_guarantee("hope")
    Traceback (most recent call last):
    adjudge.errors.ArgumentError: guarantee = 'hope': choose one of scope, fdr, pac
    """
    return _REGISTRY.load(name)


def all_guarantees() -> list[Guarantee]:
    """All guarantees, the built-in ones first."""
    return [find_guarantee(name) for name in _REGISTRY]


def register_guarantee(guarantee: Guarantee) -> None:
    """Register a guarantee for every command of this process; a name that is in use is refused."""
    _REGISTRY.add(guarantee.name, guarantee)


def unregister_guarantee(name: str) -> None:
    """Remove one that `register_guarantee` added."""
    _REGISTRY.remove(name)
