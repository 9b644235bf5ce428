"""All papers in one call: every table and figure with the given data, on one page.

The page has a count for each paper, then every item with its numbers and its picture.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from adjudge.atomic import check_writable, replacing
from adjudge.data import write_result
from adjudge.data.tables import TableLike, source_name
from adjudge.errors import AdjudgeError
from adjudge.judges.flow import ProgressCallback
from adjudge.present.blocks import (
    Block,
    Document,
    Figure,
    Headline,
    Note,
    Part,
    Section,
    Table,
    notes_of,
)
from adjudge.present.figure import save_figure
from adjudge.present.render.html import render_html
from adjudge.present.render.markdown import render_markdown
from adjudge.present.text import DASH, count, number
from adjudge.store.interface import DEFAULT_STORE, StorePlace
from adjudge.validation import one_of, positive
from adjudge_papers.diagnosis import reproduce_diagnosis
from adjudge_papers.items import (
    SAME,
    PaperItem,
    ReproductionItems,
    count_items,
    describe_items,
    one_item,
    write_value,
)
from adjudge_papers.paper import (
    REHEARSAL,
    Reproduction,
    build_items,
    costs_calls,
    simulated_findings,
    stated_values,
)
from adjudge_papers.printed import read_published
from adjudge_papers.reporting import SIMULATED_BATTLES, reproduce_reporting
from adjudge_papers.scope import PROTOCOLS, reproduce_scope
from adjudge_papers.simulated_release import simulate_release
from adjudge_papers.soft_elo import reproduce_soft_elo

PAGE = "index.html"
SUMMARY = "papers.md"
#: Protocols that a judge is asked by, of all papers.
_ASKED = (*PROTOCOLS, "criterion", "likert")
HOW_TO_READ = (
    "reproduced: judge and data are the paper's, or its own simulation was run again, and every "
    "number is the paper's within noise, which is computed from the draws and the paper's digits",
    "with differences: the same, and the reason is next to each number that differs",
    "other judges or data: your rows, with your judges' names; where papers.md has what the paper "
    "states next to them, these are two studies: no difference is formed",
    "simulated: no data were given, or the judge is simulated: compare the pattern, not the "
    "numbers; every such picture carries the word",
    "not possible: the reason is given with the item",
)


@dataclass(frozen=True, kw_only=True)
class PaperRun:
    """The outcome of one paper; `data` describes its data, `failure` is why it did not run."""

    name: str
    title: str
    data: str
    items: tuple[PaperItem, ...]
    result: Reproduction | None = None
    failure: str = ""

    @classmethod
    def of(cls, result: Reproduction, data: str) -> PaperRun:
        """The run of a paper that has a result."""
        title = read_published(result.paper)["title"]
        return cls(name=result.paper, title=title, data=data, items=result.items, result=result)

    @classmethod
    def failed(cls, name: str, reason: str, alone: Sequence[PaperItem] = ()) -> PaperRun:
        """A paper whose data could not be read: only items that need none are possible.

        `alone` are the items of the paper without data.
        """
        published = read_published(name)
        data = f"did not run: {reason}"
        items = build_items(name, [], missing=dict.fromkeys(published["items"], reason))
        needs_none = {item.name: item for item in alone if item.status in SAME}
        items = tuple(needs_none.get(item.name, item) for item in items)
        return cls(name=name, title=published["title"], data=data, items=items, failure=reason)

    @property
    def about(self) -> str:
        """Its data, and which findings of the paper its simulated numbers do not show."""
        findings = simulated_findings(self.items)
        absent = [finding for finding, shown in findings.items() if not shown]
        if not absent:
            return self.data
        number_of = f"{len(absent)} of the paper's {count(len(findings), 'finding')}"
        return f"{self.data}; the simulated study does not show {number_of}: {'; '.join(absent)}"

    @cached_property
    def pictures(self) -> dict[str, Figure]:
        """Its pictures by name, each drawn once."""
        figures = {} if self.result is None else self.result.figures()
        return {name: replace(figure, draw=cache(figure.draw)) for name, figure in figures.items()}


def reproduce_all(
    out: str | Path,
    *,
    data: Mapping[str, TableLike] | None = None,
    grades: TableLike | None = None,
    summeval: TableLike | None = None,
    tournaments: TableLike | None = None,
    scores: TableLike | None = None,
    annotations: str | Path | None = None,
    judge: str | None = None,
    prompts: Mapping[str, str | Path] | None = None,
    store: StorePlace = DEFAULT_STORE,
    papers: Sequence[str] = (),
    size: float = 1.0,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    watch: ProgressCallback | None = None,
) -> ReproductionItems:
    """All four papers on one page, with the data you have.

    Each item is reproduced (ours, published, difference), of other judges or data, simulated, or
    listed with the reason why it is not possible. Writes OUT/index.html, which works without
    network, OUT/papers.md with what was claimed and what was measured, every result as JSON
    (`items.json` has what is returned) and every picture (`figures/PAPER/NAME.png`). A paper
    that cannot run is a section with the reason; if the run is stopped, the papers that are done
    have their page.

    Args:
        out: Folder for the page, results and pictures.
        data: scope: labelled judgments, or pairs to be judged, by name (mt-bench, rewardbench,
            chatbot-arena or your own).
        grades: reporting: labelled grades, judgments or battles; with `judge`, pairs or items.
        summeval: diagnosis: SummEval as published. With its articles if a judge is asked.
        tournaments: diagnosis: pairwise verdicts of your judges.
        scores: diagnosis: scores of your judges.
        annotations: soft-elo: the release's data folder, or one file of it.
        judge: The judge to ask if `data` or `grades` hold texts to be judged, and about `summeval`.
        prompts: Your prompt file for a protocol: preference, verbalized, annotators (scope),
            criterion, likert (diagnosis).
        store: Store of all replies.
        papers: Only this paper: scope, reporting, diagnosis, soft-elo. Several can be named.
        size: Share of each paper's splits, repeats and simulated rows; 0.1 for a first look.
        seed: Seed of everything random.
        progress: Called with a line when a paper is done.
        watch: Called with a `Progress` now and then while the judge is asked.

    Missing data is simulated.
    """
    chosen = [one_of(name, tuple(PAPERS), "papers") for name in papers or PAPERS]
    prompt_files = {one_of(name, _ASKED, "prompts"): path for name, path in (prompts or {}).items()}
    inputs = Inputs(
        data=data or {},
        grades=grades,
        summeval=summeval,
        tournaments=tournaments,
        scores=scores,
        annotations=annotations,
        judge=judge,
        prompts=prompt_files,
        store=store,
        watch=watch,
        size=positive(size, "size"),
        seed=seed,
    )
    folder = Path(out)
    runs = []
    check_writable(folder / PAGE)
    if costs_calls(judge):
        small = replace(inputs, judge=REHEARSAL, store=None, watch=None, size=min(size, 0.01))
        for name in chosen:
            PAPERS[name](small)
    try:
        for name in chosen:
            started = time.perf_counter()
            try:
                run = PAPERS[name](inputs)
            except AdjudgeError as error:
                run = PaperRun.failed(name, str(error), _without_data(name, inputs))
            if run.result is not None:
                write_result(run.result, folder / f"{run.name}.json")
            for picture, figure in run.pictures.items():
                save_figure(figure.draw(), folder / "figures" / run.name / f"{picture}.png")
            runs.append(run)
            subtitle = f"{count(len(runs), 'paper')}, seed {seed}"
            # The items and papers.md of the papers that are done.
            items = ReproductionItems(
                items=tuple(item for run in runs for item in run.items),
                failures={run.name: run.failure for run in runs if run.failure},
            )
            write_result(items, folder / "items.json")
            _write(render_markdown(summarize(runs, subtitle=subtitle)), folder / SUMMARY)
            if progress is not None:
                pictures = count(len(run.pictures), "picture")
                took = time.perf_counter() - started
                outcome = f"failed: {run.failure}" if run.failure else describe_items(run.items)
                progress(f"{name}: {outcome}, {pictures}, {took:.0f} s")
    finally:
        # Also if a later paper is stopped; only once, because it draws every picture again.
        if runs:
            write_papers(runs, folder / PAGE, subtitle=subtitle)
    return items


def _without_data(name: str, inputs: Inputs) -> Sequence[PaperItem]:
    """The items of a paper without data, if it has a simulation or formulas of its own."""
    if not read_published(name).get("own_numbers"):
        return ()
    return PAPERS[name](Inputs(store=None, size=inputs.size, seed=inputs.seed)).items


def _write(text: str, path: Path) -> None:
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


# --- the papers ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The data of the papers, by the names of their verbs' options; each can be absent.

    `size` is a share of each paper's splits, repeats and simulated rows.
    """

    data: Mapping[str, TableLike] = field(default_factory=dict)
    grades: TableLike | None = None
    summeval: TableLike | None = None
    tournaments: TableLike | None = None
    scores: TableLike | None = None
    annotations: str | Path | None = None
    judge: str | None = None
    prompts: Mapping[str, str | Path] = field(default_factory=dict)
    store: StorePlace = DEFAULT_STORE
    watch: ProgressCallback | None = None
    size: float = 1.0
    seed: int = 0

    def scaled(self, number: int, least: int) -> int:
        """That share of a number, but at least what the method needs."""
        return max(round(self.size * number), least)

    def words(self, here: str, option: str) -> str:
        """The data that a paper ran on, as text."""
        size = "" if self.size == 1 else f", at {self.size:g} of the paper's sizes"
        return f"on {here}{size}" if here else f"on simulated data (give {option}){size}"

    def asking(self, texts: object, *protocols: str) -> dict[str, Any]:
        """How a paper asks the judge about these texts; no judge without them."""
        prompts = {name: path for name, path in self.prompts.items() if name in protocols}
        options: dict[str, Any] = {"store": self.store, "progress": self.watch, "seed": self.seed}
        options |= {"prompts": prompts} if protocols else {}
        return options | {"judge": self.judge if texts else None}


def run_scope(inputs: Inputs) -> PaperRun:
    """SCOPE on judgments or pairs by data set, and on the simulator."""
    result = reproduce_scope(
        inputs.data,
        sample=inputs.scaled(2000, 60),
        splits=inputs.scaled(1000, 5),
        **inputs.asking(inputs.data, *PROTOCOLS),
    )
    return PaperRun.of(result, inputs.words(", ".join(inputs.data), "--data NAME=FILE"))


def run_reporting(inputs: Inputs) -> PaperRun:
    """The paper's simulation, and its protocol on grades, judgments or battles."""
    here = "" if inputs.grades is None else source_name(inputs.grades)
    result = reproduce_reporting(
        inputs.grades,
        repeats=inputs.scaled(10_000, 50),
        splits=inputs.scaled(100, 5),
        sample=None if here else inputs.scaled(SIMULATED_BATTLES, 300),
        **inputs.asking(here),
    )
    rows = inputs.words(here, "--grades FILE")
    return PaperRun.of(result, f"the paper's own simulation; section 8.2 {rows}")


def run_diagnosis(inputs: Inputs) -> PaperRun:
    """Cycles, rankings and score sets on SummEval, on files of other judges, or simulated."""
    result = reproduce_diagnosis(
        inputs.summeval,
        tournaments=inputs.tournaments,
        scores=inputs.scores,
        splits=inputs.scaled(20, 1),
        **inputs.asking(inputs.summeval is not None, "criterion", "likert"),
    )
    files = {
        "SummEval": inputs.summeval,
        "tournaments": inputs.tournaments,
        "scores": inputs.scores,
    }
    here = ", ".join(name for name, file in files.items() if file is not None)
    return PaperRun.of(result, inputs.words(here, "--summeval, --tournaments or --scores FILE"))


def run_soft_elo(inputs: Inputs) -> PaperRun:
    """Soft-Elo on the released annotations, or on a simulated release."""
    source: Any = inputs.annotations
    if source is None:
        sizes = {"models": inputs.scaled(28, 12), "battles": inputs.scaled(6000, 300)}
        source = simulate_release(**sizes, seed=inputs.seed)
    replicates = inputs.scaled(20, 2)
    draws = inputs.scaled(50, 2)
    result = reproduce_soft_elo(source, replicates=replicates, draws=draws, seed=inputs.seed)
    return PaperRun.of(result, inputs.words(str(inputs.annotations or ""), "--annotations DIR"))


#: The papers in the order of the page. To add one, write a function above and a line here.
PAPERS: Mapping[str, Callable[[Inputs], PaperRun]] = {
    "scope": run_scope,
    "reporting": run_reporting,
    "diagnosis": run_diagnosis,
    "soft-elo": run_soft_elo,
}


# --- the page --------------------------------------------------------------------------------


def write_papers(runs: Sequence[PaperRun], path: str | Path, *, subtitle: str) -> Path:
    """Write the page by atomic rename; returns its path."""
    _write(render_html(papers_document(runs, subtitle=subtitle)), Path(path))
    return Path(path)


def papers_document(runs: Sequence[PaperRun], *, subtitle: str) -> Document:
    """The page: the status of the items, then a section for each paper."""
    items = [item for run in runs for item in run.items]
    size, colon, states = describe_items(items).partition(":")
    data = [f"{run.name}: {run.about}" for run in runs]
    blocks: list[Block] = [
        Headline(f"{size} of {count(len(runs), 'paper')}{colon}{states}"),
        count_items(items),
        Note(data),
        Note(HOW_TO_READ),
    ]
    summary = Section(
        key="summary", title="In short", parts=[Part(name="All items", blocks=blocks)]
    )
    return Document(
        title="The papers, reproduced",
        subtitle=subtitle,
        sections=[summary, *(_section(run) for run in runs)],
    )


def _section(run: PaperRun) -> Section:
    """The items in the paper's order, pictures in place; then the tables they come from."""
    drawn: dict[str, str] = {}
    blocks: list[Block] = [Headline(describe_items(run.items), run.about)]
    for item in run.items:
        blocks += one_item(item)
        if item.figure is not None and item.figure in run.pictures:
            if item.figure in drawn:
                blocks.append(Note([f"The picture is at {drawn[item.figure]}."]))
            else:
                drawn[item.figure] = item.name
                blocks.append(run.pictures[item.figure])
    parts = [Part(name="Tables, figures and claims", blocks=blocks)]
    if run.result is not None:
        # Its items, and with them its pictures, are on the page already.
        tables = replace(run.result, items=()).view()
        parts.append(Part(name=f"{run.name}.json", blocks=tables))
    return Section(key=run.name, title=run.title, parts=parts)


# --- the summary -----------------------------------------------------------------------------


def summarize(runs: Sequence[PaperRun], *, subtitle: str) -> Document:
    """For each paper: what it claims, what was measured and on what, and what cannot be checked."""
    sections = []
    for run in runs:
        rows = [line for item in run.items for line in _claims(item)]
        columns = ("item", "value", "the paper", "measured", "on")
        open_ends = [f"{item.name}: {item.reason}" for item in run.items if not item.values]
        unchecked = [f"cannot be checked: {text}" for text in read_published(run.name)["unchecked"]]
        blocks: list[Block] = [
            Headline(describe_items(run.items), run.about),
            Table(columns, rows, "What the paper claims, and what was measured", text_columns=2),
            *notes_of(open_ends),
            *notes_of(unchecked),
        ]
        part = Part(name=run.name, blocks=blocks)
        sections.append(Section(key=run.name, title=run.title, parts=[part]))
    return Document(title="The papers: claimed and measured", subtitle=subtitle, sections=sections)


def _claims(item: PaperItem) -> list[tuple[str, ...]]:
    """A line for each number of an item; for an item that is not possible, what the paper has."""
    where: str = item.status
    if item.status in SAME:
        where = "the paper's data, or its own simulation"
    if item.reason and item.status != "not possible":
        where += f" ({item.reason})"
    if item.values:
        lines: list[tuple[str, ...]] = []
        for value in item.values:
            theirs = number(value.published, value.digits)
            _, ours, _, difference = write_value(item, value)
            on = where if difference == DASH else f"{where}: {difference}"
            lines.append((item.name, value.name, theirs, ours, on))
        return lines
    stated = stated_values(item.paper, item.name).items()
    return [(item.name, name, f"{value:g}", DASH, where) for name, value in stated]
