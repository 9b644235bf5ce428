"""What `adjudge models` says: the weights adjudge knows, and which of them are here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adjudge.results.base import Result


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


@dataclass(frozen=True, kw_only=True)
class ModelList(Result):
    """All known weights."""

    kind: ClassVar[str] = "models"

    folder: str
    models: tuple[KnownModel, ...]

    def lines(self) -> list[str]:
        """One line per model."""
        return [
            f"{model.name}: {model.description}, {model.size / 1e6:.0f} MB, {model.licence}, "
            + (f"here: {model.path}" if model.cached else f"adjudge models pull {model.name}")
            for model in self.models
        ]
