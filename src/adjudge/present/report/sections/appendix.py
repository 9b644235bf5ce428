"""Every setting, seed, version and fingerprint: what a reader needs to run it again."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from adjudge.present.report.collect import Collected
from adjudge.present.report.document import Block, Section, TableBlock
from adjudge.present.tables import counted

_LIBRARIES = ("adjudge", "numpy", "scipy", "polars", "pydantic", "aiohttp", "matplotlib")
#: Longer values (rows, curves, calibration scores) are in the files themselves.
_LONGEST = 300


def appendix_section(found: Collected) -> Section:
    """One folded table per result file, then the versions."""
    blocks: list[Block] = [
        TableBlock(
            columns=("setting", "value"),
            rows=tuple(_settings(entry.result.to_dict())),
            caption=f"{entry.path.name} ({entry.result.kind})",
            text_columns=2,
            folded=True,
        )
        for entry in found.results
    ]
    versions = [("Python", platform.python_version())]
    for library in _LIBRARIES:
        try:
            versions.append((library, version(library)))
        except PackageNotFoundError:
            continue
    blocks.append(
        TableBlock(
            columns=("software", "version"),
            rows=tuple(versions),
            caption="versions that made this report",
            text_columns=2,
            folded=True,
        )
    )
    if found.passed_over:
        blocks.append(
            TableBlock(
                columns=("file", "why it is not here"),
                rows=tuple(found.passed_over.items()),
                caption=counted(len(found.passed_over), "file", "files") + " passed over",
                text_columns=2,
            )
        )
    held = counted(len(found.results), "result file", "result files")
    return Section(
        key="appendix",
        title="To run it again",
        finding=f"{held}, with every setting, seed and fingerprint.",
        action="Give the same inputs and these settings to the same version for the same numbers.",
        blocks=tuple(blocks),
    )


def _settings(values: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) > _LONGEST:
            kind = f"{len(value):,} entries" if isinstance(value, (list, dict)) else "long text"
            text = f"({kind}; see the file)"
        rows.append((name, text))
    return rows
