"""These tests run inside other tools, which `make hosts` installs."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration_page import write_page_files


@pytest.fixture
def page_files(tmp_path: Path) -> Path:
    """A folder, the current one, with the files that docs/integrations.md begins with."""
    write_page_files(tmp_path)
    return tmp_path
