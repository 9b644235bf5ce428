"""The verbs: a file of this package for each verb or group, and those of other packages.

A file has the name of its verb and holds it as COMMAND. It is imported when the verb is called, or
when all verbs are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from adjudge.cli.output import remark
from adjudge.cli.verb import Group, Verb

#: The panels of `adjudge --help`, in order. Others, which only packages have, come after them.
PANELS = (
    "Begin",
    "Ask",
    "Is the judge good",
    "Numbers",
    "Trust and deploy",
    "Leaderboards",
    "Housekeeping",
)


def find_entry(name: str) -> Verb | Group | None:
    """The verb or group of this name; None if there is none."""
    if name in _built_in():
        return _load(name)
    return next((entry for entry in of_packages() if entry.name == name), None)


def find_verb(name: str) -> Verb:
    """The verb of this whole name, such as "plan rate"."""
    entry = find_entry(name.partition(" ")[0])
    verbs = () if entry is None else _verbs(entry)
    return next(verb for verb in verbs if verb.name == name)


def entries() -> Sequence[Verb | Group]:
    """All verbs and groups, in the order of `adjudge --help`."""
    return sorted((*map(_load, _built_in()), *of_packages()), key=_order)


def all_verbs() -> dict[str, Verb]:
    """Every verb by its whole name."""
    return {verb.name: verb for entry in entries() for verb in _verbs(entry)}


def _verbs(entry: Verb | Group) -> Sequence[Verb]:
    return entry.verbs if isinstance(entry, Group) else (entry,)


def _order(entry: Verb | Group) -> tuple[int, str, int, str]:
    panel = PANELS.index(entry.panel) if entry.panel in PANELS else len(PANELS)
    return panel, entry.panel, entry.place, entry.name


@cache
def _built_in() -> frozenset[str]:
    return frozenset(module.name for module in iter_modules(__path__))


def _load(name: str) -> Verb | Group:
    command: Verb | Group = import_module(f"{__name__}.{name}").COMMAND
    return command


@cache
def of_packages() -> Sequence[Verb | Group]:
    """The verbs and groups of other packages."""
    # It is slow to import, and most commands do not need it.
    from importlib.metadata import entry_points

    added = []
    for entry in sorted(entry_points(group="adjudge.verbs"), key=lambda entry: entry.name):
        if entry.name in _built_in():
            continue
        try:
            added.append(entry.load())
        except (ImportError, AttributeError) as error:
            package = entry.dist.name if entry.dist else entry.value
            remark(f"{entry.name}: {error}; repair or remove the package {package}")
    return added
