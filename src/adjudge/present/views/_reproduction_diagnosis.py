"""The diagnosis paper's tables, published and ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from adjudge.present.blocks import Block, Headline, Note, Table, table_of
from adjudge.present.text import DASH, number, percent, signed, span
from adjudge.results.diagnosis_reproduction import (
    DiagnosisReproduction,
    PublishedSets,
    ReproducedCycles,
    ReproducedSets,
)


def view_diagnosis_reproduction(result: DiagnosisReproduction) -> list[Block]:
    """Tables 1 and 3 to 6, published and ours, and what follows from them."""
    blocks: list[Block] = [_headline(result), _cycles(result)]
    blocks.append(_sets("Table 5 as published: coverage and mean size", result.published_sets))
    for data, method in dict.fromkeys((one.data, one.method) for one in result.sets):
        if method == "constant" or (method == "adaptive" and data.endswith("rows")):
            continue
        own = [one for one in result.sets if (one.data, one.method) == (data, method)]
        blocks.append(_sets(f"{data}: {method} sets, weighing {own[0].weigh}", own))
    signals = (*result.published_signals, *result.signals)
    keys = [(one.data, one.method, one.criterion) for one in signals]
    for title, values in (
        ("Table 3, alpha 0.1: width against error, mean of judges", [s.error for s in signals]),
        ("Table 4, alpha 0.1: two judges' widths, mean of pairs", [s.agreement for s in signals]),
    ):
        blocks.append(_correlations(title, dict(zip(keys, values, strict=True))))
    lines = [
        f"{width.data}, {width.method}: width against error {signed(width.pooled, 2)} pooled over "
        f"{width.n:,} rows (published {signed(result.published_pooled_width, 3)}), "
        f"{signed(width.within, 2)} within one judge and criterion"
        for width in result.widths
    ]
    return [*blocks, Note([*lines, *result.notes])]


def _headline(result: DiagnosisReproduction) -> Headline:
    published = [one.published_share for one in result.cycles]
    chance = [one.chance_share for one in result.cycles]
    apart = [abs(a - b) for a, b in zip(published, chance, strict=True)]
    return Headline(
        f"Documents with a cycle: published {_range(published)}; a consistent judge with noise of "
        f"the same mean rate shows {_range(chance)} "
        f"({100 * sum(apart) / len(apart):.0f} points apart on average)"
    )


def _range(shares: list[float]) -> str:
    return span(percent(min(shares), 0), percent(max(shares), 0))


def _cycles(result: DiagnosisReproduction) -> Table:
    columns: dict[str, Callable[[ReproducedCycles], str]] = {
        "judge, criterion": lambda c: f"{c.judge}, {c.criterion}",
        "rate": lambda c: percent(c.published_rate),
        "rate, ours": lambda c: percent(c.rate),
        "with a cycle": lambda c: percent(c.published_share, 0),
        "cycle, ours": lambda c: percent(c.share, 0),
        "by chance": lambda c: percent(c.chance_share, 0),
        "max": lambda c: percent(c.published_max),
        "max, ours": lambda c: percent(c.max),
    }
    caption = "Tables 1 and 6: published, and a simulated judge tuned to the published rate"
    return table_of(result.cycles, columns, caption=caption)


def _sets(title: str, cells: Iterable[PublishedSets | ReproducedSets]) -> Table:
    rows: dict[str, dict[float, str]] = {}
    for one in cells:
        own = rows.setdefault(f"{one.judge}, {one.criterion}", {})
        own[one.alpha] = f"{percent(one.coverage)} {number(one.mean_size, 2)}"
    levels = sorted({alpha for own in rows.values() for alpha in own})
    return Table(
        ("judge, criterion", *(f"alpha {alpha:g}" for alpha in levels)),
        [(name, *(own.get(alpha, DASH) for alpha in levels)) for name, own in rows.items()],
        caption=title,
    )


def _correlations(title: str, cells: Mapping[tuple[str, str, str], float | None]) -> Table:
    """Spearman correlations: a row for the paper and each data set, a column per criterion."""
    criteria = list(dict.fromkeys(criterion for _, _, criterion in cells))
    rows = []
    for data, method in dict.fromkeys((data, method) for data, method, _ in cells):
        values = [cells.get((data, method, criterion)) for criterion in criteria]
        if any(value is not None for value in values):
            name = data if data == "paper" else f"{data}, {method}"
            rows.append((name, *(signed(value, 2) for value in values)))
    return Table(("Spearman", *criteria), rows, caption=title)
