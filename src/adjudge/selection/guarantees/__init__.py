"""The guarantees by name: a new one costs its file and a line here.

A package brings its own by an entry point in the group `adjudge.guarantees`, a program by
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
    """The guarantee of that name; an unknown name is refused with all that are known.

    >>> find_guarantee("pac").uses_delta
    True
    >>> find_guarantee("hope")
    Traceback (most recent call last):
    adjudge.errors.ArgumentError: guarantee = 'hope': choose one of scope, fdr, pac
    """
    return _REGISTRY.load(name)


def all_guarantees() -> list[Guarantee]:
    """All of them, ours first."""
    return [find_guarantee(name) for name in _REGISTRY]


def register_guarantee(guarantee: Guarantee) -> None:
    """Make a guarantee known to every verb of this process; a name that is taken is refused."""
    _REGISTRY.add(guarantee.name, guarantee)


def unregister_guarantee(name: str) -> None:
    """Forget one that `register_guarantee` added."""
    _REGISTRY.remove(name)
