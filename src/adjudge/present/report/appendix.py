"""Every setting, seed, version and fingerprint: what a reader needs to run it again."""

from __future__ import annotations

import json
import platform
import shlex
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from adjudge.present.blocks import Block, Commands, Headline, Part, Section, Table, notes_of
from adjudge.present.report.folder import Folder
from adjudge.present.text import count

_LIBRARIES = ("adjudge", "numpy", "scipy", "polars", "pydantic", "aiohttp", "matplotlib")
#: Longer values (rows, curves, calibration scores) are in the files themselves.
_LONGEST = 300


def appendix_section(folder: Folder) -> Section:
    """The commands, the files, then a folded table per result file, and the versions."""
    blocks: list[Block] = [
        Headline(
            f"{count(len(folder.files), 'result file')}, with every setting, seed and fingerprint.",
            "The same inputs, settings and versions give the same numbers.",
        ),
        *_commands(folder),
        Table(
            ("file", "content"),
            [
                *((file.path.name, file.result.kind.replace("_", " ")) for file in folder.files),
                *((name, "rows") for name in folder.tables),
            ],
            caption="Files",
            text_columns=2,
        ),
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


def _commands(folder: Folder) -> list[Block]:
    """The commands in the order in which their files were written, and the files without one."""
    written = sorted(folder.files, key=lambda file: (file.path.stat().st_mtime_ns, file.path.name))
    lines = {file.path.name: _to_copy(file.command) for file in written}
    named = list(dict.fromkeys(line for line in lines.values() if line is not None))
    blocks: list[Block] = [Commands(named)] if named else []
    unnamed = [name for name, line in lines.items() if line is None]
    return blocks + notes_of([f"without a command: {', '.join(unnamed)}"] if unnamed else [])


def _to_copy(command: str | None) -> str | None:
    """A command of ours as plain words: that field is not checked, so no operator of a shell that
    was written into it takes effect when it is pasted.

    >>> _to_copy("adjudge report . ; echo pasted"), _to_copy("echo pasted")
    ("adjudge report . ';' echo pasted", None)
    """
    try:
        words = shlex.split(command or "")
    except ValueError:
        return None
    return shlex.join(words) if words[:1] == ["adjudge"] else None


def _settings(values: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for name, value in values.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) > _LONGEST:
            kind = f"{len(value):,} entries" if isinstance(value, (list, dict)) else "long text"
            text = f"({kind}; see the file)"
        rows.append((name, text))
    return rows
