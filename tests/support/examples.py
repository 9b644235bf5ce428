"""The example files of the docs, written by the script that users run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "examples" / "example_data.py"


def write_examples(folder: Path) -> Path:
    """All example files in `folder`, which is returned."""
    spec = importlib.util.spec_from_file_location("example_data", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write_examples(folder)
    return folder
