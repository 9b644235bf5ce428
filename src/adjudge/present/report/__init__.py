"""One self-contained report from a folder of results: HTML, Markdown or JSON."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adjudge.atomic import replacing
from adjudge.present.blocks import Block, Document, Headline, Part, Section, Table
from adjudge.present.kinds import SECTIONS
from adjudge.present.render.html import render_html
from adjudge.present.render.markdown import render_markdown
from adjudge.present.report.appendix import appendix_section
from adjudge.present.report.doubtful import doubtful_part
from adjudge.present.report.folder import Folder, ResultFile, read_folder
from adjudge.present.text import count
from adjudge.validation import one_of

FORMATS = ("html", "md", "json")

__all__ = ["FORMATS", "build_document", "read_folder", "render_report", "write_report"]


def build_document(folder: str | Path | Folder, *, title: str | None = None) -> Document:
    """The report of a folder, before it has a format: a section for each room with results."""
    held = _read(folder)
    sections = [_damaged_section(held)] if held.damaged else []
    for key, (heading, kinds) in SECTIONS.items():
        order = list(kinds)
        files = [file for file in held.files if file.result.kind in kinds]
        files.sort(key=lambda file: (order.index(file.result.kind), file.path.name))
        parts = [_part(file) for file in files]
        if key == "selection":
            parts += doubtful_part(held)
        if parts:
            sections.append(Section(key=key, title=heading, parts=parts))
    built_in = {kind for _, kinds in SECTIONS.values() for kind in kinds}
    added: dict[tuple[str, str], list[Part]] = {}
    for file in held.files:
        if file.result.kind not in built_in:
            added.setdefault(file.result.section, []).append(_part(file))
    sections += [
        Section(key=key, title=heading, parts=parts) for (key, heading), parts in added.items()
    ]
    sections.append(appendix_section(held))
    return Document(title=title or "Judge report", subtitle=_subtitle(held), sections=sections)


def render_report(
    folder: str | Path | Folder, *, format: str = "html", title: str | None = None
) -> str:
    """The report as text in one of the formats: html, md or json."""
    one_of(format, FORMATS, "format")
    held = _read(folder)
    if format == "json":
        return _as_json(held)
    document = build_document(held, title=title)
    return render_html(document) if format == "html" else render_markdown(document)


def write_report(
    folder: str | Path | Folder, path: str | Path, *, format: str = "html", title: str | None = None
) -> Path:
    """Write the report by atomic rename; returns its path."""
    text = render_report(folder, format=format, title=title)
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return Path(path)


def _read(folder: str | Path | Folder) -> Folder:
    return folder if isinstance(folder, Folder) else read_folder(folder)


def _part(file: ResultFile) -> Part:
    return Part(name=file.path.name, blocks=file.result.view())


def _damaged_section(held: Folder) -> Section:
    """Files that could not be read come first: without a note, they would not be missed."""
    names = ", ".join(held.damaged)
    blocks: list[Block] = [
        Headline(
            f"{count(len(held.damaged), 'damaged file is', 'damaged files are')} not in this "
            f"report: {names}",
            "Write them again; nothing of them is shown below.",
            tone="bad",
        ),
        Table(("file", "reason"), list(held.damaged.items()), text_columns=2),
    ]
    part = Part(name="Damaged files", blocks=blocks)
    return Section(key="damaged", title="Damaged files", parts=[part])


def _subtitle(held: Folder) -> str:
    # SOURCE_DATE_EPOCH is the usual way to ask for the same bytes again.
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    at = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)
    made = at.strftime("%Y-%m-%d %H:%M UTC")
    return f"{held.path.resolve().name}, {count(len(held.files), 'result')}, made {made}"


def _as_json(held: Folder) -> str:
    whole: dict[str, Any] = {
        "kind": "report",
        "results": {file.path.name: file.result.to_dict() for file in held.files},
        "commands": {f.path.name: f.command for f in held.files if f.command is not None},
        "damaged": held.damaged,
        "skipped": held.skipped,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
