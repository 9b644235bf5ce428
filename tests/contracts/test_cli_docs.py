"""docs/cli.md is what the commands say of themselves."""

from __future__ import annotations

import importlib.util
from pathlib import Path

MAKER = Path(__file__).parents[2] / "docs" / "make_cli.py"


def test_cli_page_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make_cli", MAKER)
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert MAKER.with_name("cli.md").read_text(encoding="utf-8") == maker.render(), "run: make docs"
