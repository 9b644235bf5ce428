"""The SCOPE paper, reproduced: its figures next to ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from adjudge.present.blocks import Block, Figure, Headline, Note, Table, table_of, warnings_of
from adjudge.present.text import count, left_out, number, percent
from adjudge.selection.evaluating import JudgeKey, MethodRisk, SignalQuality
from adjudge_papers.items import item_blocks
from adjudge_papers.scope_figures import PICTURES, SIGNALS
from adjudge_papers.scope_result import ReproducedSet, ScopeReproduction, size_of

#: The alpha of the paper's Table 3, and the method that its Figure 2 shows at every alpha.
_TABLE_3, _FIGURE_2 = 0.10, "scope"
_SIMULATED = (
    "Simulated judgments of the paper's shape: judges and numbers are invented. Compare the "
    "pattern with the paper's, not the numbers."
)


def view_reproduction_scope(done: ScopeReproduction) -> list[Block]:
    """Per data set the quality of the signals and Table 3, the list of items, then the figures."""
    blocks: list[Block] = [_headline(done)]
    for one in done.datasets:
        blocks.append(_signals(done, one))
        blocks += [_risks(done, one, key) for key in one.keys]
        blocks += [Note(lines) for lines in [left_out(one.evaluation.dropped)] if lines]
    return [
        *blocks,
        *item_blocks(done.items, "Items of the paper"),
        *warnings_of(done.warnings),
        Note([f"note: {line}" for line in done.notes]),
        *(Figure(name, partial(draw, done), caption) for name, (draw, caption) in PICTURES.items()),
    ]


def _headline(done: ScopeReproduction) -> Headline:
    """Whether the paper's method kept its mean error share, over all data sets, judges, alphas."""
    rows = [row for one in done.datasets for key in one.keys for row in one.rows_of(_FIGURE_2, key)]
    within = sum(row.within_alpha for row in rows)
    worst = max(rows, key=lambda row: row.risk - row.alpha)
    text = (
        f"{_FIGURE_2}'s mean error share over {done.splits:,} splits is at most alpha in {within} "
        f"of {count(len(rows), 'row')} ({count(len(done.datasets), 'data set')})"
    )
    if within < len(rows):
        text += f"; the furthest above is {worst.risk:.3f} at alpha {worst.alpha:g}"
    return Headline(text, _SIMULATED if done.simulated else "")


def _signals(done: ScopeReproduction, one: ReproducedSet) -> Table:
    """Tables 1 and 2: each metric with the paper's, if it has the judge and the signal."""
    rows = sorted(one.qualities, key=_place)
    theirs = {
        (s.judge, s.signal): p
        for s in rows
        for p in done.published_qualities
        if p.signal == s.signal and p.is_of(one.dataset, s.judge)
    }

    def metric(name: str) -> dict[str, Callable[[SignalQuality], str]]:
        columns = {name.upper(): lambda s: number(getattr(s, name))}
        if theirs:
            columns[f"{name.upper()} paper"] = lambda s: number(
                getattr(theirs.get((s.judge, s.signal)), name, None)
            )
        return columns

    items = f"{one.n_sampled:,} of {count(one.n_available, 'item')} without ties"
    return table_of(
        rows,
        {
            "judge": lambda s: s.judge,
            "signal": lambda s: s.signal,
            "rows": lambda s: number(s.n),
            "no verdict": lambda s: number(s.n_no_verdict),
            "accuracy": lambda s: number(s.accuracy),
            **metric("ece"),
            **metric("auroc"),
            **metric("auprc"),
        },
        caption=f"{one.dataset}: {items} (Tables 1 and 2)",
        text_columns=2,
        optional=("accuracy", "rows"),
    )


def _place(quality: SignalQuality) -> tuple[float, str, int]:
    """Judges by size, signals in the order of the paper's tables."""
    names = list(SIGNALS)
    at = names.index(quality.signal) if quality.signal in names else len(names)
    return size_of(quality.judge) or 0.0, quality.judge, at


def _risks(done: ScopeReproduction, one: ReproducedSet, key: JudgeKey) -> Table:
    paper = {(p.method, p.alpha): p for p in done.published if p.is_of(one.dataset, key[0])}

    def theirs(m: MethodRisk, field: str) -> str:
        known = paper.get((m.method, m.alpha))
        return number(None if known is None else getattr(known, field))

    rows = [
        m for m in one.evaluation.paper_rows(key) if m.alpha == _TABLE_3 or m.method == _FIGURE_2
    ]
    cells = [
        (
            m.method,
            f"{m.alpha:g}",
            number(m.coverage),
            theirs(m, "coverage"),
            number(m.risk),
            theirs(m, "risk"),
            number(m.ratio),
            percent(m.share_above, 0),
        )
        for m in rows
    ]
    return Table(
        ("method", "alpha", "coverage", "paper", "error share", "paper", "ratio", "above alpha"),
        cells,
        caption=f"{one.dataset}, {one.evaluation.judge_name(key)} (Table 3; Figure 2 for scope)",
    )
