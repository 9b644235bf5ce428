"""The reporting paper, reproduced: its statements and ours, its settings, its protocol."""

from __future__ import annotations

from functools import partial
from statistics import mean, median

from adjudge.present.blocks import Block, Figure, Headline, Note, Table
from adjudge.present.figures.reproduction_reporting import (
    describe_protocol,
    length_figure,
    main_figure,
    protocol_figure,
    region_figure,
    setting_figure,
    shift_figure,
)
from adjudge.present.text import count, left_out, level, number, percent, signed
from adjudge.results.reporting import ReportingReproduction, Simulation

#: Figure 6 of the paper is the setting of its Figure 10.
_MAIN = "10"


def view_reporting(result: ReportingReproduction) -> list[Block]:
    """What agrees with the paper, then the numbers behind it."""
    blocks: list[Block] = [_headline(result)]
    if result.claims:
        blocks.append(
            Table(
                ("where", "statement", "paper", "ours", "agrees"),
                [
                    (c.where, c.claim, c.paper, c.ours, "yes" if c.agrees else "no")
                    for c in result.claims
                ],
                caption=f"The paper's text and ours, {count(result.repeats, 'repeat')}",
                text_columns=4,
            )
        )
    if result.settings:
        blocks.append(_settings(result))
    if result.protocol:
        blocks.append(_protocol(result))
    notes = [*(f"note: {text}" for text in result.notes), *left_out(result.dropped)]
    if notes:
        blocks.append(Note(notes))
    return [*blocks, *_figures(result)]


def _headline(result: ReportingReproduction) -> Headline:
    if result.protocol:
        return Headline(describe_protocol(result.protocol).replace("\n", "; "))
    differing = [claim.where for claim in result.claims if not claim.agrees]
    agreeing = len(result.claims) - len(differing)
    text = f"{agreeing} of {count(len(result.claims), 'statement')} of the paper agree with ours"
    return Headline(f"{text}; these differ: {'; '.join(differing)}" if differing else text)


def _settings(result: ReportingReproduction) -> Table:
    def row(one: Simulation) -> tuple[str, ...]:
        return (
            one.figure,
            number(one.m),
            number(one.specificity, 1),
            number(one.sensitivity, 1),
            f"{number(min(one.coverage))} to {number(max(one.coverage))}",
            f"{number(min(one.coverage_adaptive))} to {number(max(one.coverage_adaptive))}",
            number(median(one.coverage_naive)),
            number(mean(one.length_equal)),
            number(mean(one.length_adaptive)),
        )

    rates = count(len(result.settings[0].rates), "true rate")
    return Table(
        (
            "figure",
            "labels",
            "q0",
            "q1",
            "coverage",
            "adaptive coverage",
            "naive coverage",
            "length",
            "adaptive length",
        ),
        [row(one) for one in result.settings],
        caption=f"{level(result.confidence_level)} intervals over {rates}: coverage from least to "
        "most (naive: median), mean length; labels split equally, adaptive: by Algorithm 1",
        optional=("naive coverage", "adaptive coverage"),
    )


def _protocol(result: ReportingReproduction) -> Table:
    """Section 8.2 on the user's rows; the paper's figures only where it has these models."""
    columns = ["model", "rows", "rate", "naive bias", "bias", "coverage", "length", "no estimate"]
    rows = [
        [
            row.model,
            number(row.rows),
            number(row.rate),
            signed(row.bias_naive),
            signed(row.bias_corrected),
            percent(row.coverage, 0),
            number(row.length),
            number(row.refused),
        ]
        for row in result.protocol
    ]
    if any(row.paper_coverage is not None for row in result.protocol):
        columns += ["paper's coverage", "paper's length"]
        for cells, row in zip(rows, result.protocol, strict=True):
            cells += [percent(row.paper_coverage, 0), number(row.paper_length)]
    return Table(
        columns,
        rows,
        caption=f"Section 8.2, {count(result.splits or 0, 'split')}: mean error of the judge's own "
        "rate and of the corrected one; no estimate: splits without one",
    )


def _figures(result: ReportingReproduction) -> list[Block]:
    confidence_level, shift, run = result.confidence_level, result.shift, result.single_run
    figures: list[Block] = []
    if result.lengths:
        figures.append(
            Figure(
                "figure3",
                partial(length_figure, result.lengths, confidence_level),
                "Figure 3: interval length by number of labels, q0 = 0.7, q1 = 0.9.",
            )
        )
    if result.settings:
        caption = "Figure 4: rates for which the judge beats people alone (Proposition 6.1)."
        figures.append(Figure("figure4", region_figure, caption))
    if shift is not None:
        caption = "Figure 5: bias of every estimator when labelled rows have another rate."
        figures.append(Figure("figure5", partial(shift_figure, shift), caption))
    main = next((one for one in result.settings if one.figure == _MAIN), None)
    if main is not None and run is not None:
        figures.append(
            Figure(
                "figure6",
                partial(main_figure, main, run, confidence_level),
                "Figure 6: one run, coverage, and length by allocation.",
            )
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
