"""One self-contained report from a folder of results: HTML, Markdown or JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adjudge._validation import one_of
from adjudge.io._atomic import replacing
from adjudge.present.report.collect import Collected, collect
from adjudge.present.report.document import Document
from adjudge.present.report.html import render_html
from adjudge.present.report.markdown import render_markdown
from adjudge.present.report.sections.appendix import appendix_section
from adjudge.present.report.sections.diagnosis import diagnosis_section
from adjudge.present.report.sections.estimation import estimation_section
from adjudge.present.report.sections.judging import judging_section
from adjudge.present.report.sections.labelling import labelling_section
from adjudge.present.report.sections.others import others_section
from adjudge.present.report.sections.ranking import ranking_section
from adjudge.present.report.sections.selection import selection_section
from adjudge.present.tables import counted

FORMATS = ("html", "md", "json")
_SECTIONS = (
    judging_section,
    selection_section,
    estimation_section,
    diagnosis_section,
    ranking_section,
    labelling_section,
    others_section,
    appendix_section,
)

__all__ = ["FORMATS", "build_document", "collect", "render_report", "write_report"]


def build_document(folder: str | Path | Collected, *, title: str | None = None) -> Document:
    """The report of a folder, before it has a format."""
    found = _collected(folder)
    sections = tuple(made for section in _SECTIONS if (made := section(found)) is not None)
    return Document(title=title or "Judge report", subtitle=_subtitle(found), sections=sections)


def render_report(
    folder: str | Path | Collected, *, fmt: str = "html", title: str | None = None
) -> str:
    """The report as text in one of the formats: html, md or json."""
    one_of(fmt, FORMATS, "format")
    if fmt == "json":
        return _as_json(_collected(folder))
    document = build_document(folder, title=title)
    return render_html(document) if fmt == "html" else render_markdown(document)


def write_report(
    folder: str | Path | Collected,
    path: str | Path,
    *,
    fmt: str = "html",
    title: str | None = None,
) -> Path:
    """Write the report by atomic rename; returns its path."""
    text = render_report(folder, fmt=fmt, title=title)
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return Path(path)


def _collected(folder: str | Path | Collected) -> Collected:
    return folder if isinstance(folder, Collected) else collect(folder)


def _subtitle(found: Collected) -> str:
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    held = counted(len(found.results), "result", "results")
    return f"{found.folder.resolve().name}, {held}, made {made}"


def _as_json(found: Collected) -> str:
    whole: dict[str, Any] = {
        "kind": "report",
        "results": {entry.path.name: entry.result.to_dict() for entry in found.results},
        "passed_over": found.passed_over,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
