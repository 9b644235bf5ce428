"""The plug-in package under tests/plugin, installed for real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import adjudge

PACKAGE = Path(__file__).parents[1] / "plugin"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def plugin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip put the package, without a network and without its dependency, which is here."""
    folder = tmp_path_factory.mktemp("plugin")
    source = shutil.copytree(PACKAGE, folder / "source")
    target = folder / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [*pip, "--target", str(target), str(source)], capture_output=True, text=True, env=offline
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def run_python(plugin_folder: Path) -> Run:
    """Python in a process of its own, where the package is installed next to adjudge."""
    paths = [str(plugin_folder), str(Path(adjudge.__file__).parents[1])]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )

    return run
