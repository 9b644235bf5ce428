"""docs/files.md names every format and what it becomes."""

from __future__ import annotations

import re
from pathlib import Path

from adjudge.io import PUBLIC_FORMATS

PAGE = (Path(__file__).parents[3] / "docs" / "files.md").read_text(encoding="utf-8")


def test_the_page_lists_every_public_format_and_what_it_gives() -> None:
    rows = re.findall(r"^\| ([a-z0-9-]+) \| .+ \| (.+) \|$", PAGE.split("## Public")[1], re.M)
    told = {name: set(gives.split(", ")) for name, gives in rows if name in PUBLIC_FORMATS}
    gives = {
        name: {kind.replace("_", " ") for kind in known.gives}
        for name, known in PUBLIC_FORMATS.items()
    }
    assert told == gives
