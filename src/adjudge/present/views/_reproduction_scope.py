"""The SCOPE paper, reproduced: its figures next to ours."""

from __future__ import annotations

from functools import partial

from adjudge.present.blocks import Block, Figure, Headline, Note, Table
from adjudge.present.figures.selection import scope_figure
from adjudge.present.text import count, number, percent
from adjudge.present.views._evaluation import signals_table
from adjudge.results.evaluation import JudgeKey, MethodRisk, ReproducedSet, ScopeReproduction

#: The alpha of the paper's Table 3, and the method that its Figure 2 shows at every alpha.
_TABLE_3, _FIGURE_2 = 0.10, "scope"


def view_reproduction_scope(done: ScopeReproduction) -> list[Block]:
    """Per data set the quality of the signals and Table 3, then what the paper's text gives."""
    blocks: list[Block] = [_headline(done)]
    for one in done.datasets:
        caption = (
            f"{one.dataset}: {one.n_sampled:,} of {count(one.n_available, 'item')} without ties"
        )
        blocks.append(signals_table(one.evaluation, caption))
        blocks += [_risks(done, one, key) for key in one.evaluation.judges]
    named = {one.dataset for one in done.datasets} & {p.dataset for p in done.published}
    blocks += [
        Table(
            ("data set", "judge", "method", "alpha", "coverage", "error share"),
            [
                (p.dataset, p.judge, p.method, f"{p.alpha:g}", number(p.coverage), number(p.risk))
                for p in done.published
                if not named or p.dataset in named
            ],
            caption="What the paper's text and a summary of it give",
            text_columns=3,
        ),
        Note([f"note: {line}" for line in done.notes]),
        Figure(
            "scope",
            partial(scope_figure, done),
            "Figures 2 and 3 of the paper for these data: error share and coverage against alpha.",
        ),
    ]
    return blocks


def _headline(done: ScopeReproduction) -> Headline:
    """Whether the paper's method kept its mean error share, over all data sets, judges, alphas."""
    rows = [
        row
        for one in done.datasets
        for key in one.evaluation.judges
        for row in one.evaluation.paper_rows(key)
        if row.method == _FIGURE_2
    ]
    within = sum(row.risk <= row.alpha for row in rows)
    worst = max(rows, key=lambda row: row.risk - row.alpha)
    text = (
        f"{_FIGURE_2}'s mean error share over {done.splits:,} splits is at most alpha in {within} "
        f"of {count(len(rows), 'row')} ({count(len(done.datasets), 'data set')})"
    )
    if within < len(rows):
        text += f"; the furthest above is {worst.risk:.3f} at alpha {worst.alpha:g}"
    return Headline(text)


def _risks(done: ScopeReproduction, one: ReproducedSet, key: JudgeKey) -> Table:
    paper = {(p.method, p.alpha): p for p in done.published if p.is_of(one.dataset, key[0])}

    def row(m: MethodRisk) -> tuple[str, ...]:
        theirs = paper.get((m.method, m.alpha))
        return (
            m.method,
            f"{m.alpha:g}",
            number(m.coverage),
            number(None if theirs is None else theirs.coverage),
            number(m.risk),
            number(None if theirs is None else theirs.risk),
            number(m.ratio),
            percent(m.share_above, 0),
        )

    return Table(
        ("method", "alpha", "coverage", "paper", "error share", "paper", "ratio", "above alpha"),
        [
            row(m)
            for m in one.evaluation.paper_rows(key)
            if m.alpha == _TABLE_3 or m.method == _FIGURE_2
        ],
        caption=f"{one.dataset}, {one.evaluation.judge_name(key)} (Table 3; Figure 2 for scope)",
    )
