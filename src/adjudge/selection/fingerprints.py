"""The parts behind a fingerprint, where a store remembers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from adjudge.store import open_store

Parts = Mapping[str, Mapping[str, Any]]


def parts_in_store(fingerprints: Iterable[str], store: str | Path | None) -> dict[str, Any]:
    """Fingerprint -> its parts (model, prompt hash, settings), for those the store has seen.

    A store that does not exist knows nothing; it is not made.

    >>> parts_in_store(["f"], "no-such-store.db")
    {}
    """
    wanted = list(fingerprints)
    if store is None or not wanted or not Path(store).exists():
        return {}
    opened = open_store(store)
    try:
        found = {name: opened.judge_parts(name) for name in wanted}
    finally:
        opened.close()
    return {name: parts for name, parts in found.items() if parts is not None}
