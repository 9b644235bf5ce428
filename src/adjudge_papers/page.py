"""The papers on one page: a count for each, then every item with its numbers and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from adjudge.atomic import replacing
from adjudge.present.blocks import Block, Document, Figure, Headline, Note, Part, Section
from adjudge.present.render.html import render_html
from adjudge.present.result import Result
from adjudge.present.text import count
from adjudge.present.theme import save_figure
from adjudge_papers.items import PaperItem, count_items, describe_items, one_item

HOW_TO_READ = (
    "reproduced: on the paper's data, on yours, or the paper's own simulation run again; the "
    "difference is ours minus the paper's",
    "simulated: no data were given, so the numbers come from a simulator whose truth is known: "
    "compare the pattern, not the numbers",
    "not possible: the reason is given with the item",
)


@dataclass(frozen=True, kw_only=True)
class PaperRun:
    """The outcome of one paper: its results by name, and its items.

    `given` describes the data.
    """

    name: str
    title: str
    given: str
    results: Mapping[str, Result]
    items: tuple[PaperItem, ...]


def papers_document(runs: Sequence[PaperRun], *, subtitle: str) -> Document:
    """The page: the status of the items, then a section for each paper."""
    items = [item for run in runs for item in run.items]
    blocks: list[Block] = [
        Headline(_describe(items, len(runs))),
        count_items(items),
        Note([f"{run.name}: {run.given}" for run in runs]),
        Note(HOW_TO_READ),
    ]
    without = [run.name for run in runs if not run.items]
    if without:
        blocks.append(
            Note([f"without a list of items, by its results alone: {', '.join(without)}"])
        )
    summary = Section(
        key="summary", title="In short", parts=[Part(name="All items", blocks=blocks)]
    )
    return Document(
        title="The papers, reproduced",
        subtitle=subtitle,
        sections=[summary, *(_section(run) for run in runs)],
    )


def _describe(items: Sequence[PaperItem], papers: int) -> str:
    size, _, states = describe_items(items).partition(":")
    return f"{size} of {count(papers, 'paper')}" + (f":{states}" if states else "")


def write_papers(runs: Sequence[PaperRun], path: str | Path, *, subtitle: str) -> Path:
    """Write the page by atomic rename; returns its path."""
    text = render_html(papers_document(runs, subtitle=subtitle))
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return Path(path)


def save_pictures(run: PaperRun, folder: Path) -> list[Path]:
    """Every picture of a paper as a PNG of its name."""
    pictures = _pictures(run)
    return [save_figure(one.draw(), folder / f"{name}.png") for name, one in pictures.items()]


def _section(run: PaperRun) -> Section:
    """The items in the paper's order, pictures in place; then the tables they come from."""
    pictures = _pictures(run)
    drawn: dict[str, str] = {}
    blocks: list[Block] = [Headline(describe_items(run.items), run.given)]
    for item in run.items:
        blocks += one_item(item)
        if item.figure is not None and item.figure in pictures:
            if item.figure in drawn:
                blocks.append(Note([f"The picture is at {drawn[item.figure]}."]))
            else:
                drawn[item.figure] = item.name
                blocks.append(pictures[item.figure])
    parts = [Part(name="Tables, figures and claims", blocks=blocks)] if run.items else []
    parts += [
        Part(name=f"{name}.json", blocks=[
            block for block in _without_items(result).view()
            if not (isinstance(block, Figure) and block.name in drawn)
        ])
        for name, result in run.results.items()
    ]  # fmt: skip
    return Section(key=run.name, title=run.title, parts=parts)


def _pictures(run: PaperRun) -> dict[str, Figure]:
    return {name: one for result in run.results.values() for name, one in result.figures().items()}


def _without_items(result: Result) -> Result:
    """The result for its own tables: the list of its items is on the page already."""
    changes: dict[str, Any] = {"items": ()}
    return replace(result, **changes) if "items" in {f.name for f in fields(result)} else result
