"""The example files of the docs, written by the script that users run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "examples"


def load_example(name: str) -> ModuleType:
    """A script of examples/ as a module, not run."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def write_examples(folder: Path) -> Path:
    """All example files in `folder`, which is returned."""
    load_example("example_data").write_examples(folder)
    return folder
