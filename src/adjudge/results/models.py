"""What `adjudge models` says: the weights adjudge knows, and which of them are here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from adjudge.results.base import Result, frozen


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """Weights that `adjudge models pull` can fetch."""

    name: str
    judge: str
    description: str
    licence: str
    size: int
    sha256: str
    cached: bool
    path: str


@frozen
class ModelList(Result):
    """All known weights."""

    kind: ClassVar[str] = "models"

    folder: str
    models: tuple[KnownModel, ...]

    def _parts(self) -> Sequence[Any]:
        """A row for each model."""
        return self.models
