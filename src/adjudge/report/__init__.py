"""REPORT a folder of results as one self-contained page: HTML, Markdown or JSON."""

from adjudge.report.folder import read_folder
from adjudge.report.page import (
    FORMATS,
    build_document,
    format_named_by,
    render_report,
    write_report,
)

__all__ = [
    "FORMATS",
    "build_document",
    "format_named_by",
    "read_folder",
    "render_report",
    "write_report",
]
