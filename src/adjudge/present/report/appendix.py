"""Every setting, seed, version and fingerprint: what a reader needs to run it again."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from adjudge._text import count
from adjudge.present.blocks import Block, Headline, Part, Section, Table
from adjudge.present.report.folder import Folder

_LIBRARIES = ("adjudge", "numpy", "scipy", "polars", "pydantic", "aiohttp", "matplotlib")
#: Longer values (rows, curves, calibration scores) are in the files themselves.
_LONGEST = 300


def appendix_section(folder: Folder) -> Section:
    """One folded table per result file, then the versions."""
    blocks: list[Block] = [
        Headline(
            f"{count(len(folder.files), 'result file')}, with every setting, seed and fingerprint.",
            "The same inputs, settings and versions give the same numbers.",
        )
    ]
    blocks += [
        Table(
            ("setting", "value"),
            _settings(file.result.to_dict()),
            caption=f"{file.path.name} ({file.result.kind})",
            text_columns=2,
            detail=True,
        )
        for file in folder.files
    ]
    versions = [("Python", platform.python_version())]
    for library in _LIBRARIES:
        try:
            versions.append((library, version(library)))
        except PackageNotFoundError:
            continue
    blocks.append(
        Table(
            ("software", "version"),
            versions,
            caption="Versions that made this report",
            text_columns=2,
            detail=True,
        )
    )
    if folder.skipped:
        blocks.append(
            Table(
                ("file", "reason"),
                list(folder.skipped.items()),
                caption=f"{count(len(folder.skipped), 'file')} skipped",
                text_columns=2,
            )
        )
    return Section(
        key="appendix", title="To run it again", parts=[Part(name="Settings", blocks=blocks)]
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
