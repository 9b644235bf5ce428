"""Folders of Hugging Face's `save_to_disk`: Arrow files and a list of them."""

from __future__ import annotations

import json
from pathlib import Path

from adjudge.errors import DataError

_STATE, _SPLITS = "state.json", "dataset_dict.json"


def is_saved(path: str | Path) -> bool:
    """Whether a path is a folder with a saved data set, or with its splits."""
    return any((Path(path) / name).is_file() for name in (_STATE, _SPLITS))


def saved_files(path: str | Path) -> list[Path]:
    """The Arrow files of a saved data set, in the order of its rows; splits are refused."""
    folder = Path(path)
    if (folder / _SPLITS).is_file():
        splits = _names(folder / _SPLITS, "splits")
        if len(splits) == 1:
            return saved_files(folder / splits[0])
        remedy = f"name one of them: {folder / splits[0]}" if splits else "save it again"
        raise DataError(folder, f"has the splits {', '.join(splits) or '(none)'}", remedy=remedy)
    files = _names(folder / _STATE, "_data_files")
    if not files:
        raise DataError(folder, "has no rows", remedy="save a data set with at least one row")
    return [folder / name for name in files]


def _names(path: Path, field: str) -> list[str]:
    """The file or folder names in a list of one of the two JSON files; other paths are refused."""
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))[field]
        names = [entry["filename"] if isinstance(entry, dict) else entry for entry in listed]
    except (OSError, ValueError, KeyError, TypeError):
        names = None
    if names is None or not all(
        isinstance(name, str) and Path(name).name == name for name in names
    ):
        raise DataError(path, f"has no list of names in {field}", remedy="save the data set again")
    return names
