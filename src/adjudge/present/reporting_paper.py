"""The reporting paper's figures, from a reproduction's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adjudge.present.estimation import coverage_panels
from adjudge.present.tables import number, percent, table
from adjudge.present.theme import (
    ACCENT,
    GOOD,
    INK,
    MUTED,
    SERIES,
    WARM,
    new_figure,
    save_figure,
    themed,
)
from adjudge.results.reporting import ReportingReproduction, Simulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType
    from rich.table import Table


_SETTING_COLUMNS = (
    *("figure", "m", "q0", "q1", "coverage", "Algorithm 1", "naive"),
    *("length, equal", "Algorithm 1"),
)


#: Figure 7 shows as many models, those with most rows.
_MOST_BARS = 24


def save_figures(found: ReportingReproduction, folder: Path) -> list[Path]:
    """Figures 3 to 6 and 9 to 16 as PNG, and the protocol's where it was run."""
    drawn: dict[str, Figure] = {}
    with themed():
        if found.settings:
            drawn["figure3"] = length_figure(found)
            drawn["figure4"] = region_figure()
            drawn["figure5"] = shift_figure(found)
            main = next(s for s in found.settings if s.figure == "10")
            drawn["figure6"] = main_figure(main, found)
            for one in found.settings:
                drawn[f"figure{one.figure}"] = setting_figure(one, found.confidence_level)
        if found.protocol:
            drawn["figure7"] = protocol_figure(found)
        return [save_figure(made, folder / f"{name}.png") for name, made in drawn.items()]


def length_figure(found: ReportingReproduction) -> Figure:
    """Figure 3: interval length against labels."""
    level = found.confidence_level
    figure = new_figure()
    axes = figure.subplots()
    for curve, colour in zip(found.lengths, SERIES, strict=False):
        axes.plot(curve.labels, curve.equal, "--", color=colour, linewidth=1.4)
        axes.plot(curve.labels, curve.adaptive, color=colour, label=f"p = {curve.judge_rate}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("labels in all")
    axes.set_ylabel(f"length of the {100 * level:g} % interval")
    axes.legend(title="Algorithm 1 (dashed: equal split)", fontsize=8.5, title_fontsize=8.5)
    axes.set_title("Labels placed by Algorithm 1 buy a shorter interval (q0 = 0.7, q1 = 0.9)")
    return figure


def region_figure() -> Figure:
    """Figure 4: where a corrected judge beats as many human labels alone."""
    from adjudge.estimation import proposition_61

    q = np.linspace(0.8, 1, 401)
    ends = [proposition_61(float(value)) for value in q]
    low = np.array([np.nan if e is None else e[0] for e in ends])
    high = np.array([np.nan if e is None else e[1] for e in ends])
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    axes.fill_between(q, low, high, color=ACCENT, alpha=0.25, linewidth=0)
    axes.plot(q, low, color=ACCENT)
    axes.plot(q, high, color=ACCENT)
    axes.text(0.95, 0.5, "judge with correction\nhas less variance", ha="center", va="center")
    axes.text(0.815, 0.5, "people alone\nhave less", ha="left", va="center", color=WARM)
    least = 0.5 + 1 / (2 * np.sqrt(2))
    axes.axvline(least, color=MUTED, linewidth=1, linestyle=":")
    axes.text(least, 0.02, f" {least:.3f}", fontsize=8.5, va="bottom")
    axes.set_xlim(0.8, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("sensitivity = specificity")
    axes.set_ylabel("true rate")
    axes.set_title("A judge below 0.854 never beats its own calibration labels")
    return figure


def shift_figure(found: ReportingReproduction) -> Figure:
    """Figure 5: bias under label shift."""
    figure = new_figure()
    axes = figure.subplots()
    if found.shift is None:
        raise ValueError("this reproduction has no label shift")
    ratio = np.array(found.shift.calibration_rates) / found.shift.test_rate
    axes.axhline(0, color=INK, linewidth=1)
    for (name, bias), colour in zip(
        found.shift.bias.items(), (MUTED, WARM, SERIES[2], SERIES[4], ACCENT, GOOD), strict=True
    ):
        wide = 3.0 if name.startswith("(v)") else 1.8
        style = "--" if name == "ppi++" else "-"
        axes.plot(ratio, bias, style, color=colour, linewidth=wide, label=name)
    axes.set_xlabel("rate among labelled rows / rate among test rows")
    axes.set_ylabel("bias")
    axes.legend(fontsize=8.5)
    axes.set_title("Only the misclassification correction survives label shift")
    return figure


def main_figure(one: Simulated, found: ReportingReproduction) -> Figure:
    """Figure 6: a single run, coverage, and length by allocation."""
    figure = new_figure(11, 3.8)
    axes = figure.subplots(1, 3)
    _panels(axes, one, found.confidence_level)
    run = found.single_run
    if run is None:
        raise ValueError("this reproduction has no single run")
    left = axes[0]
    left.clear()
    rates = np.array(one.rates)
    left.plot([0, 1], [0, 1], color=INK, linewidth=1)
    for value, low, high, colour, marker, name in (
        (run.naive, run.naive_low, run.naive_high, WARM, "o", "judge alone"),
        (run.corrected, run.low, run.high, ACCENT, "s", "corrected"),
    ):
        left.fill_between(rates, low, high, color=colour, alpha=0.2, linewidth=0)
        left.plot(rates, value, marker, color=colour, markersize=4, label=name)
    left.legend(fontsize=8)
    left.set_xlabel("true rate")
    left.set_ylabel("estimate, one run")
    figure.suptitle(
        "The judge's own rate misses almost everywhere; the corrected one holds its level",
        x=0.01,
        ha="left",
        fontsize=11,
        fontweight="bold",
    )
    return figure


def setting_figure(one: Simulated, level: float) -> Figure:
    """Figures 9 to 16: one setting each."""
    figure = new_figure(11, 3.8)
    axes = figure.subplots(1, 3)
    _panels(axes, one, level)
    figure.suptitle(
        f"Figure {one.figure}: n = {one.n}, m = {one.m}, specificity {one.specificity}, "
        f"sensitivity {one.sensitivity}: coverage {min(one.coverage):.3f} to "
        f"{max(one.coverage):.3f}",
        x=0.01,
        ha="left",
        fontsize=11,
        fontweight="bold",
    )
    return figure


def _panels(axes: np.ndarray, one: Simulated, level: float) -> None:
    coverage_panels(
        list(axes),
        np.array(one.rates),
        naive=np.array(one.naive),
        corrected=np.array(one.corrected),
        coverage_naive=np.array(one.coverage_naive),
        coverage=np.array(one.coverage),
        equal=np.array(one.length_equal),
        adaptive=np.array(one.length_adaptive),
        confidence_level=level,
    )
    for panel in axes:
        panel.set_xlabel("true rate")


def protocol_figure(found: ReportingReproduction) -> Figure:
    """Figure 7: bias per model, judge alone and corrected."""
    estimated = [row for row in found.protocol if row.bias_corrected is not None]
    rows, splits = estimated[:_MOST_BARS], found.splits or 0
    figure = new_figure(7.6, 1.6 + 0.36 * len(rows))
    axes = figure.subplots()
    at = np.arange(len(rows))[::-1]
    axes.axvline(0, color=INK, linewidth=1)
    axes.barh(at + 0.18, [row.bias_naive for row in rows], 0.34, color=WARM, label="judge alone")
    axes.barh(
        at - 0.18, [row.bias_corrected or 0 for row in rows], 0.34, color=ACCENT, label="corrected"
    )
    # A mean over the few splits that gave an estimate is not one over all of them.
    axes.set_yticks(
        at,
        [
            f"{row.model} ({splits - row.refused} splits)" if row.refused else row.model
            for row in rows
        ],
    )
    axes.grid(visible=False, axis="y")
    axes.set_ylim(-0.7, len(rows) - 0.3)
    refused = ", or as many as gave an estimate" if any(row.refused for row in rows) else ""
    few = f"\nthe {len(rows)} models with most rows" if len(rows) < len(estimated) else ""
    axes.set_xlabel(f"mean bias of the rate over {splits} splits{refused}{few}")
    figure.legend(loc="outside lower right", ncols=2, fontsize=8.5)
    better = sum(abs(row.bias_corrected or 0) < abs(row.bias_naive) for row in estimated)
    none = len(found.protocol) - len(estimated)
    axes.set_title(
        f"Correction brings {better} of {len(estimated)} models closer to the human rate"
        + (f"\n{none} more without an estimate" if none else "")
    )
    return figure


def reporting_view(found: ReportingReproduction) -> list[RenderableType]:
    """Terminal tables: the text's claims beside ours, the settings, the protocol."""
    parts: list[RenderableType] = []
    if found.claims:
        parts.append(
            table(
                ("where", "statement", "paper", "ours", ""),
                [
                    (c.where, c.claim, c.paper, c.ours, "" if c.agrees else "differs")
                    for c in found.claims
                ],
                title=f"the paper's text beside ours, {found.replications:,} replications",
                text_columns=2,
            )
        )
    if found.settings:
        parts.append(
            table(
                _SETTING_COLUMNS,
                [
                    (
                        one.figure,
                        number(one.m),
                        number(one.specificity, 1),
                        number(one.sensitivity, 1),
                        f"{min(one.coverage):.3f} to {max(one.coverage):.3f}",
                        f"{min(one.coverage_adaptive):.3f} to {max(one.coverage_adaptive):.3f}",
                        f"{float(np.median(one.coverage_naive)):.2f}",
                        number(float(np.mean(one.length_equal))),
                        number(float(np.mean(one.length_adaptive))),
                    )
                    for one in found.settings
                ],
                title="21 rates each: coverage (least to most; naive: median), mean length",
            )
        )
    if found.protocol:
        parts.append(_protocol(found))
    parts += [f"note: {text}" for text in found.notes]
    parts += [f"set aside: {size:,} rows, {why}" for why, size in found.dropped.items()]
    return parts


def _protocol(found: ReportingReproduction) -> Table:
    """Section 8.2 on the user's rows; the paper's figures only where it has these models."""
    columns = ["model", "rows", "rate", "naive", "bias", "covers", "length", "refused"]
    known = any(row.paper_coverage is not None for row in found.protocol)
    made = table(
        (*columns, "paper") if known else columns,
        [
            (
                row.model,
                number(row.rows),
                number(row.rate),
                f"{row.bias_naive:+.3f}",
                "–" if row.bias_corrected is None else f"{row.bias_corrected:+.3f}",
                percent(row.coverage),
                number(row.length),
                number(row.refused),
                *(
                    (f"{percent(row.paper_coverage)}, {number(row.paper_length)}",)
                    if row.paper_coverage is not None
                    else ("",) * known
                ),
            )
            for row in found.protocol
        ],
        title=f"section 8.2, {found.splits} splits (naive, bias: mean error of the judge's own and "
        "of the corrected rate; refused: splits without an estimate)",
    )
    for column in made.columns[1:]:
        column.no_wrap = True
    return made
