"""The reporting paper, reproduced: its statements and ours, its settings, its protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import mean, median

from adjudge.present.blocks import Block, Figure, Headline, Table, notes_of, table_of
from adjudge.present.text import count, left_out, level, number, percent, signed
from adjudge_papers.items import item_blocks
from adjudge_papers.reporting_figures import (
    bias_figure,
    describe_protocol,
    length_figure,
    main_figure,
    protocol_figure,
    region_figure,
    setting_figure,
    shift_figure,
)
from adjudge_papers.reporting_result import ProtocolRow, ReportingReproduction

#: Figure 6 of the paper is the setting of its Figure 10.
_MAIN = "10"


def view_reporting(result: ReportingReproduction) -> list[Block]:
    """What agrees with the paper, then the numbers behind it."""
    blocks: list[Block] = [_headline(result)]
    if result.claims:
        claims = table_of(
            result.claims,
            {
                "where": lambda c: c.where,
                "statement": lambda c: c.claim,
                "paper": lambda c: c.paper,
                "ours": lambda c: c.ours,
                "agrees": lambda c: "yes" if c.agrees else "no",
            },
            caption=f"The paper's text and ours, {count(result.repeats, 'repeat')}",
            text_columns=4,
        )
        blocks.append(claims)
    if result.settings:
        blocks.append(_settings(result))
    if result.protocol:
        blocks.append(_protocol(result))
    notes = [*(f"note: {text}" for text in result.notes), *left_out(result.dropped)]
    blocks += notes_of(notes)
    listed = item_blocks(result.items, "Tables, figures and propositions of the paper")
    return [*blocks, *listed, *_figures(result)]


def _headline(result: ReportingReproduction) -> Headline:
    arena = describe_protocol(result.protocol).replace("\n", "; ") if result.protocol else ""
    if not result.claims:
        return Headline(arena)
    differing = [claim.where for claim in result.claims if not claim.agrees]
    agreeing = len(result.claims) - len(differing)
    text = f"{agreeing} of {count(len(result.claims), 'statement')} of the paper agree with ours"
    if differing:
        text += f"; these differ: {'; '.join(differing)}"
    return Headline(text, f"Section 8.2 on {_rows_of(result)}: {arena}." if arena else "")


def _rows_of(result: ReportingReproduction) -> str:
    """Whose rows section 8.2 ran on."""
    if result.protocol_source is None:
        return "simulated battles"
    asked = f", judged by {result.protocol_judge}" if result.protocol_judge else ""
    return f"{result.protocol_source}{asked}"


def _settings(result: ReportingReproduction) -> Table:
    def ends(values: Sequence[float]) -> str:
        return f"{number(min(values))} to {number(max(values))}"

    rates = count(len(result.settings[0].rates), "true rate")
    return table_of(
        result.settings,
        {
            "figure": lambda one: one.figure,
            "labels": lambda one: number(one.m),
            "q0": lambda one: number(one.specificity, 1),
            "q1": lambda one: number(one.sensitivity, 1),
            "coverage": lambda one: ends(one.coverage),
            "adaptive coverage": lambda one: ends(one.coverage_adaptive),
            "naive coverage": lambda one: number(median(one.coverage_naive)),
            "length": lambda one: number(mean(one.length_equal)),
            "adaptive length": lambda one: number(mean(one.length_adaptive)),
        },
        caption=f"{level(result.confidence_level)} intervals over {rates}: coverage from least to "
        "most (naive: median), mean length; labels split equally, adaptive: by Algorithm 1",
        optional=("naive coverage", "adaptive coverage"),
    )


def _protocol(result: ReportingReproduction) -> Table:
    """Section 8.2 on the user's rows; the paper's figures only if it has these models."""
    columns: dict[str, Callable[[ProtocolRow], str]] = {
        "model": lambda row: row.model,
        "rows": lambda row: number(row.rows),
        "rate": lambda row: number(row.rate),
        "naive bias": lambda row: signed(row.bias_naive),
        "bias": lambda row: signed(row.bias_corrected),
        "coverage": lambda row: percent(row.coverage, 0),
        "length": lambda row: number(row.length),
        "no estimate": lambda row: number(row.refused),
    }
    said = "0/1 verdicts"
    if result.probabilities:
        said = "probabilities; own: by their own spread, where Eq. 6 takes them for shares"
        columns["own coverage"] = lambda row: percent(row.spread_coverage, 0)
        columns["own length"] = lambda row: number(row.spread_length)
    if any(row.paper_coverage is not None for row in result.protocol):
        columns["paper's coverage"] = lambda row: percent(row.paper_coverage, 0)
        columns["paper's length"] = lambda row: number(row.paper_length)
    return table_of(
        result.protocol,
        columns,
        caption=f"Table 2 and Figure 7: section 8.2 on {_rows_of(result)}, "
        f"{count(result.splits or 0, 'split')}: mean error of the judge's own rate and of the "
        f"corrected one; no estimate: splits without one; {said}",
        optional=("no estimate", "rows"),
    )


def _figures(result: ReportingReproduction) -> list[Block]:
    confidence_level, shift, run = result.confidence_level, result.shift, result.single_run
    main = next((one for one in result.settings if one.figure == _MAIN), None)
    figures: list[Block] = []
    if main is not None and run is not None:
        caption = "Figure 2: bias of the judge's own rate, one sample corrected, what bias is left."
        figures.append(Figure("figure2", partial(bias_figure, main, run), caption))
    if result.lengths:
        caption = "Figure 3: interval length by number of labels, q0 = 0.7, q1 = 0.9."
        lengths = partial(length_figure, result.lengths, confidence_level)
        figures.append(Figure("figure3", lengths, caption))
    if result.settings:
        caption = "Figure 4: rates for which the judge beats people alone (Proposition 6.1)."
        figures.append(Figure("figure4", region_figure, caption))
    if shift is not None:
        caption = "Figure 5: bias of every estimator when labelled rows have another rate."
        figures.append(Figure("figure5", partial(shift_figure, shift), caption))
    if main is not None and run is not None:
        caption = "Figure 6: one run, coverage, and length by allocation."
        figures.append(
            Figure("figure6", partial(main_figure, main, run, confidence_level), caption)
        )
    if any(row.bias_corrected is not None for row in result.protocol):
        caption = "Figure 7: bias of each model's rate, judge alone and corrected."
        figures.append(Figure("figure7", partial(protocol_figure, result), caption))
    figures += [
        Figure(
            f"figure{one.figure}",
            partial(setting_figure, one, confidence_level),
            f"Figure {one.figure}: mean estimate, coverage and length.",
        )
        for one in result.settings
    ]
    return figures
