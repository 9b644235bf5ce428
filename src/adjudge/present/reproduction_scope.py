"""The SCOPE reproduction: the paper's figures beside ours, as tables and a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adjudge.present.selection import draw_coverage, draw_risk, judge_name, paper_rows
from adjudge.present.tables import number, percent, table
from adjudge.present.theme import new_figure, themed
from adjudge.results.evaluation import PublishedRisk, ReproducedSet, ScopeReproduction

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

_TABLE_3 = 0.10


def scope_view(
    done: ScopeReproduction, published: Callable[[str, str], list[PublishedRisk]]
) -> list[RenderableType]:
    """Per data set the quality of the signals and Table 3, then what the paper's text gives."""
    parts: list[RenderableType] = []
    for one in done.datasets:
        parts += [_quality(one), *_risks(one, published)]
    named = {one.dataset for one in done.datasets} & {p.dataset for p in done.published}
    parts.append(
        table(
            ("data set", "judge", "method", "alpha", "coverage", "error share"),
            [
                (p.dataset, p.judge, p.method, f"{p.alpha:g}", number(p.coverage), number(p.risk))
                for p in done.published
                if not named or p.dataset in named
            ],
            title="what the paper's text and a summary of it give",
            text_columns=3,
        )
    )
    return [*parts, "\n".join(f"note: {line}" for line in done.notes)]


def scope_figure(done: ScopeReproduction) -> Figure:
    """Figures 2 and 3: risk and coverage against alpha, one row of panels per data set."""
    with themed():
        figure = new_figure(14.0, 4.6 * len(done.datasets))
        axes = figure.subplots(len(done.datasets), 2, squeeze=False)
        for row, one in enumerate(done.datasets):
            risk, coverage = axes[row]
            draw_risk(risk, one.evaluation)
            draw_coverage(coverage, one.evaluation)
            risk.set_title(f"{one.dataset}, {one.n_sampled:,} items\n{risk.get_title(loc='left')}")
            # Both panels have the same lines; beside them a legend hides none.
            for panel in (risk, coverage):
                panel.get_legend().remove()
            coverage.legend(
                *risk.get_legend_handles_labels(), loc="center left", bbox_to_anchor=(1.0, 0.5)
            )
    return figure


def _quality(one: ReproducedSet) -> RenderableType:
    return table(
        ("judge", "signal", "accuracy", "ECE", "AUROC", "AUPRC"),
        [
            (s.judge, s.signal, *(number(v) for v in (s.accuracy, s.ece, s.auroc, s.auprc)))
            for s in one.evaluation.signals
        ],
        title=f"{one.dataset}: {one.n_sampled:,} of {one.n_available:,} items without ties",
        text_columns=2,
    )


def _risks(
    one: ReproducedSet, published: Callable[[str, str], list[PublishedRisk]]
) -> list[RenderableType]:
    tables: list[RenderableType] = []
    for judge, protocol in dict.fromkeys((s.judge, s.protocol) for s in one.evaluation.signals):
        paper = {(p.method, p.alpha): p for p in published(one.dataset, judge)}
        rows = []
        for m in paper_rows(one.evaluation, judge, protocol):
            theirs = paper.get((m.method, m.alpha))
            if m.alpha == _TABLE_3 or m.method == "scope":
                rows.append(
                    (
                        m.method,
                        f"{m.alpha:g}",
                        number(m.coverage),
                        number(None if theirs is None else theirs.coverage),
                        number(m.risk),
                        number(None if theirs is None else theirs.risk),
                        number(m.ratio),
                        percent(m.share_above),
                    )
                )
        tables.append(
            table(
                ("method", "alpha", "coverage", "paper", "error share", "paper", "ratio", "above"),
                rows,
                title=f"{one.dataset}, {judge_name(one.evaluation, (judge, protocol))} "
                "(Table 3; Figure 2 for scope)",
            )
        )
    return tables
