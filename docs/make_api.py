"""Write docs/api.md: the public Python names with their docstrings. A test keeps it current."""

from __future__ import annotations

import inspect
from pathlib import Path

import adjudge

#: Headings of the page and the rooms whose names stand under each.
SECTIONS = {
    "Ask": ("adjudge.judges", "adjudge.judges.transcript", "adjudge.store"),
    "Read and write": ("adjudge.data", "adjudge.records"),
    "Trust": ("adjudge.selection", "adjudge.policy", "adjudge.statistics"),
    "Report": ("adjudge.estimation", "adjudge.report"),
    "Diagnose": ("adjudge.diagnosis",),
    "Rank": ("adjudge.ranking",),
    "Monitor": ("adjudge.monitoring", "adjudge.auditing"),
    "Errors": ("adjudge.errors",),
}


def render() -> str:
    """The whole page: a table of the public names, and a directive of mkdocstrings for each.

    The tables are for those who read the page without the site, where directives stay as they are.
    """
    homes = adjudge._HOME
    results = {*homes.values()} - {room for rooms in SECTIONS.values() for room in rooms}
    parts = [
        "# Python",
        "Every name here is imported from `adjudge` itself: `from adjudge import estimate`. The\n"
        "site (`make site`) adds signatures and docstrings; so does `help(adjudge.estimate)`.",
    ]
    for heading, rooms in (SECTIONS | {"Results": tuple(results)}).items():
        names = sorted((name, room) for name, room in homes.items() if room in rooms)
        table = [f"| `{name}` | {summary(getattr(adjudge, name))} |" for name, _ in names]
        parts += [f"## {heading}", "\n".join(["| name | what it is |", "|---|---|", *table])]
        parts += [f"::: {room}.{name}" for name, room in names]
    return "\n\n".join(parts) + "\n"


def summary(named: object) -> str:
    """The first sentence of a docstring, as a cell of a table."""
    first = (inspect.getdoc(named) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("|", "\\|")


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text(render(), encoding="utf-8")
