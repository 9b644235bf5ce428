"""Registries: objects by name, the built-in ones and those of installed packages.

A package adds a backend, protocol, format, store, guarantee, doubt, verb or kind of result by an
entry point in the group of that name, such as `adjudge.backends`. Built-in objects are listed in a
`Registry`, one line each, and imported when they are used. They take precedence: a package cannot
replace `openai` by its own object of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Generic, TypeVar, cast

from adjudge.errors import ArgumentError, BackendMissingError, how_to_install

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Builtin:
    """The location of a built-in object ("module:attribute"), and the extra it needs."""

    target: str
    extra: str | None = None


class Registry(Generic[T]):
    """Objects of one kind by name.

    `noun` is the argument that users type ("protocol"); `group` the entry point group.

    >>> numbers = {"fraction": Builtin("fractions:Fraction")}
    >>> shapes = Registry[type]("shape", "example.shapes", numbers)
    >>> shapes.load("fraction").__name__
    'Fraction'
    >>> "circle" in shapes
    False
    """

    def __init__(self, noun: str, group: str, builtins: Mapping[str, Builtin]) -> None:
        self.noun = noun
        self.group = group
        self._builtins = dict(builtins)
        self._loaded: dict[str, T] = {}
        self._added: dict[str, T] = {}

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.group)}

    def __contains__(self, name: str) -> bool:
        return name in self._builtins or name in self._plugins or name in self._added

    def __iter__(self) -> Iterator[str]:
        yield from self._builtins
        yield from (name for name in sorted(self._plugins) if name not in self._builtins)
        yield from self._added

    def add(self, name: str, thing: T) -> None:
        """Register an object in this process; a name that is in use is refused."""
        if name in self:
            raise ArgumentError(self.noun, name, "is in use; choose another name")
        self._added[name] = thing

    def remove(self, name: str) -> None:
        """Remove an object that `add` registered."""
        if name not in self._added:
            raise ArgumentError(self.noun, name, "was not added here")
        del self._added[name]

    def load(self, name: str) -> T:
        """The object of that name; the error for an unknown name lists all known names."""
        if name in self._added:
            return self._added[name]
        if name not in self._loaded:
            if name not in self:
                raise ArgumentError(self.noun, name, "choose one of " + ", ".join(self))
            self._loaded[name] = self._import(name)
        return self._loaded[name]

    def _import(self, name: str) -> T:
        builtin = self._builtins.get(name)
        try:
            if builtin is None:
                return cast(T, self._plugins[name].load())
            return cast(T, resolve_name(builtin.target))
        except (ImportError, AttributeError) as error:
            if builtin is None:
                owner = self._plugins[name].dist
                remedy = f"repair or remove the package {owner.name if owner else name}"
            elif builtin.extra:
                remedy = how_to_install(builtin.extra)
            else:
                remedy = "reinstall adjudge"
            raise BackendMissingError(f"{self.noun} {name}: {error}; {remedy}") from error
