"""All papers in one call: every table and figure with the given data, on one page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from adjudge.data import write_result
from adjudge.data.tables import TableLike
from adjudge.judges.progress import ProgressCallback
from adjudge.present.text import count
from adjudge.store.interface import DEFAULT_STORE, StorePlace
from adjudge.validation import one_of, positive
from adjudge_papers.items import ReproductionItems, describe_items
from adjudge_papers.page import PaperRun, save_pictures, write_papers
from adjudge_papers.papers import PAPERS, Given

PAGE = "index.html"


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
    store: StorePlace = DEFAULT_STORE,
    papers: Sequence[str] = (),
    size: float = 1.0,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    watch: ProgressCallback | None = None,
) -> ReproductionItems:
    """Every table, figure and claim of the papers, written into the folder `out`.

    `index.html` lists each item as reproduced (ours, published, difference), simulated, or not
    possible with the reason, with its picture. It works without network. The results are there too
    (a .json each), `items.json` with what is returned, and `figures/PAPER/NAME.png`.

    Args:
        data: scope: a name (mt-bench, rewardbench, chatbot-arena or your own) to judgments or pairs
            with labels.
        grades: reporting: labelled grades, judgments or battles; with a judge, pairs or items.
        summeval: diagnosis: SummEval as published, with its articles if a judge is asked.
        tournaments: diagnosis: pairwise verdicts of your judges.
        scores: diagnosis: scores of your judges.
        annotations: soft-elo: the release's folder, or a file of it.
        judge: the judge to ask if `data` or `grades` hold texts without judgments, and about
            `summeval`.
        store: the store of its replies.
        papers: only these; all of them by default.
        size: a share of each paper's splits, repeats and simulated rows, for a first look.
        seed: the seed of everything random.
        progress: called with a line when a paper is done.
        watch: called with a `Progress` now and then while the judge is asked.

    Missing data is simulated.
    """
    chosen = [one_of(name, tuple(PAPERS), "papers") for name in papers or PAPERS]
    given = Given(
        data=data or {},
        grades=grades,
        summeval=summeval,
        tournaments=tournaments,
        scores=scores,
        annotations=annotations,
        judge=judge,
        store=store,
        watch=watch,
        size=positive(size, "size"),
        seed=seed,
    )
    folder, runs = Path(out), []
    for name in chosen:
        started = time.perf_counter()
        run = PAPERS[name](given)
        written = _write(run, folder)
        runs.append(run)
        if progress is not None:
            took = f"{time.perf_counter() - started:.0f} s"
            progress(f"{name}: {_outcome(run)}, {count(written, 'picture')}, {took}")
    items = ReproductionItems(items=tuple(item for run in runs for item in run.items))
    write_result(items, folder / "items.json")
    write_papers(runs, folder / PAGE, subtitle=f"{count(len(runs), 'paper')}, seed {seed}")
    return items


def _outcome(run: PaperRun) -> str:
    return describe_items(run.items) if run.items else count(len(run.results), "result")


def _write(run: PaperRun, folder: Path) -> int:
    """Write the results and pictures of one paper; returns the number of pictures."""
    for name, result in run.results.items():
        write_result(result, folder / f"{name}.json")
    return len(save_pictures(run, folder / "figures" / run.name))
