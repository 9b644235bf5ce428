"""The Soft-Elo paper's tables, our numbers with the paper's below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

from adjudge.present.blocks import Block, Figure, Headline, Table, notes_of
from adjudge.present.text import DASH, count, interval, level, number, percent
from adjudge.ranking.evaluation_view import quarters
from adjudge.statistics.numbers import mean_known
from adjudge_papers.items import item_blocks
from adjudge_papers.soft_elo_appendices import appendix_blocks, own_beta_table
from adjudge_papers.soft_elo_figures import compared, describe_change, row_names
from adjudge_papers.soft_elo_pictures import PICTURES
from adjudge_papers.soft_elo_result import SoftEloReproduction, SoftEloRow

_SIMULATED = (
    "Simulated battles of the release's shape: models, judges and numbers are invented. Compare "
    "the pattern with the paper's, not the numbers."
)


@dataclass(frozen=True)
class _Column:
    """A field and how it is written; the paper's is `published_` and the same name."""

    heading: str
    field: str
    write: Callable[[float | None], str]
    #: A field of two numbers that is written after it.
    between: str | None = None

    def cell(self, row: Any, prefix: str = "") -> str:
        value = getattr(row, prefix + self.field, None)
        if prefix and value is None:
            return DASH
        ends = None if self.between is None else getattr(row, prefix + self.between, None)
        if ends is None:
            return self.write(value)
        return f"{self.write(value)} {interval(ends[0], ends[1], 0)}"


def view_soft_elo(result: SoftEloReproduction) -> list[Block]:
    """The paper's tables in its order, the appendices, the list of items, then its figures."""
    names = row_names(list(result.rows))
    blocks: list[Block] = [
        _headline(result),
        _errors(result, names),
        _intervals(result, names),
        _smoothing(result, names),
        _quarters(result, names),
        *appendix_blocks(result, names),
    ]
    if result.languages:
        blocks += _languages(result)
    blocks += item_blocks(result.items, "Tables, figures and claims of the paper")
    blocks += _figures(result)
    warnings = [
        f"warning, {row.judge}, {row.corpus}: {text}"
        for row in result.rows
        for text in row.warnings
    ]
    blocks += notes_of(warnings, tone="bad")
    return blocks + notes_of([f"note: {text}" for text in result.notes])


def _headline(result: SoftEloReproduction) -> Headline:
    rows = compared(result)
    if not rows:
        return Headline("No judge could be compared with people", tone="bad")
    runs = count(len(rows), "run of a judge on a corpus", "runs of judges on corpora")
    published = [
        (row.published_hard_mae, row.published_soft_mae)
        for row, *_ in rows
        if row.published_hard_mae is not None and row.published_soft_mae is not None
    ]
    mean = _means([(hard, soft) for _, hard, soft in rows])
    text = f"{describe_change(result)}, the mean over {runs}: {mean}"
    paper = f"The paper has {_means(published)} for {len(published)} of them." if published else ""
    return Headline(text, _SIMULATED if result.simulated else paper)


def _means(errors: Sequence[tuple[float, float]]) -> str:
    hard, soft = (sum(values) / len(errors) for values in zip(*errors, strict=True))
    return f"{number(hard, 1)} hard, {number(soft, 1)} soft"


def _digits(digits: int) -> Callable[[float | None], str]:
    return lambda value: number(value, digits)


def _width(value: float | None) -> str:
    return "unbounded" if value is None else number(value, 0)


def _errors(result: SoftEloReproduction, names: Sequence[str]) -> Table:
    columns = [
        _Column("|s|", "mean_score", _digits(2)),
        _Column("kappa", "kappa", _digits(3)),
        _Column("beta", "beta", _digits(2)),
        _Column("hard", "hard_mae", _digits(1)),
        _Column("soft", "soft_mae", _digits(1)),
        _Column("rho hard", "hard_spearman", _digits(3)),
        _Column("rho soft", "soft_spearman", _digits(3)),
    ]
    caption = (
        f"Held-out error in Elo, Tables 1, 2 and 4 (l2 {result.l2:g}, {result.splits} splits, "
        f"{result.replicates} resamples, seed {result.seed})"
    )
    return _judges(caption, result, names, columns)


def _intervals(result: SoftEloReproduction, names: Sequence[str]) -> Table:
    columns = [
        _Column("width hard", "hard_width", _width, "hard_width_range"),
        _Column("coverage hard", "hard_coverage", percent),
        _Column("width soft", "soft_width", _width, "soft_width_range"),
        _Column("coverage soft", "soft_coverage", percent),
        _Column("ECE", "ece", _digits(3)),
    ]
    caption = (
        f"{level(1 - result.alpha)} conformal intervals, their range over splits, and calibration "
        "error, Tables 3, 5 and 7"
    )
    return _judges(caption, result, names, columns)


def _judges(
    caption: str, result: SoftEloReproduction, names: Sequence[str], columns: Sequence[_Column]
) -> Table:
    rows: list[tuple[str, Any]] = list(zip(names, result.rows, strict=True))
    return _both(caption, "judge", rows + _mean_rows(result, columns), columns)


def _mean_rows(result: SoftEloReproduction, columns: Sequence[_Column]) -> list[tuple[str, Any]]:
    """The mean over the judges of each corpus that has several, the paper's over the same ones."""
    fields = [f"{prefix}{one.field}" for prefix in ("", "published_") for one in columns]
    return [
        (
            name,
            SimpleNamespace(
                **{field: mean_known(getattr(row, field) for row in rows) for field in fields}
            ),
        )
        for name, rows in _several(result)
    ]


def _several(result: SoftEloReproduction) -> list[tuple[str, list[SoftEloRow]]]:
    """The rows of each corpus that has several judges, and what their mean is called."""
    corpora = dict.fromkeys(row.corpus for row in result.rows)
    grouped = {name: [row for row in result.rows if row.corpus == name] for name in corpora}
    return [
        ("mean" if len(corpora) == 1 else f"mean, {corpus}", rows)
        for corpus, rows in grouped.items()
        if len(rows) > 1
    ]


def _both(
    caption: str, first: str, rows: Sequence[tuple[str, Any]], columns: Sequence[_Column]
) -> Table:
    """Two lines a row, ours and the paper's; the second only if the paper has a number."""
    lines = []
    for name, row in rows:
        lines.append((name, *(column.cell(row) for column in columns)))
        theirs = [column.cell(row, "published_") for column in columns]
        if {*theirs} != {DASH}:
            lines.append(("  paper", *theirs))
    return Table((first, *(column.heading for column in columns)), lines, caption)


def _smoothing(result: SoftEloReproduction, names: Sequence[str]) -> Table:
    constants = list(result.rows[0].smoothed) if result.rows else []
    lines = []
    for name, row in zip(names, result.rows, strict=True):
        ours = [number(row.smoothed.get(c), 1) for c in constants]
        lines.append((name, *ours, number(row.chosen_smoothing_mae, 1)))
        if row.published_smoothed:
            theirs = [number(row.published_smoothed.get(c), 1) for c in constants]
            lines.append(("  paper", *theirs, DASH))
    for name, rows in _several(result):
        ours = [number(mean_known(row.smoothed.get(c) for row in rows), 1) for c in constants]
        chosen = mean_known(row.chosen_smoothing_mae for row in rows)
        lines.append((name, *ours, number(chosen, 1)))
        means = [mean_known(row.published_smoothed.get(c) for row in rows) for c in constants]
        if any(mean is not None for mean in means):
            lines.append(("  paper", *(number(mean, 1) for mean in means), DASH))
    caption = "Held-out error of label smoothing by constant, Table 8"
    return Table(("judge", *constants, "chosen"), lines, caption)


def _quarters(result: SoftEloReproduction, names: Sequence[str]) -> Table:
    rows = [
        (name, quarters(row.hard_quarters), quarters(row.soft_quarters))
        for name, row in zip(names, result.rows, strict=True)
    ]
    if result.published_quarters:
        hard, soft = (quarters(result.published_quarters[method]) for method in ("hard", "soft"))
        rows.append(("paper, mean of judges", hard, soft))
    caption = "Judge minus people in Elo, weakest quarter of models to strongest, Figure 14"
    return Table(("judge", "hard", "soft"), rows, caption)


def _languages(result: SoftEloReproduction) -> list[Block]:
    several = len({row.corpus for row in result.languages}) > 1
    names = [
        f"{row.language} {row.corpus}" if several else row.language for row in result.languages
    ]
    columns = [
        _Column("prompts", "prompts", _digits(0)),
        _Column("judges", "judges", _digits(0)),
        _Column("error hard", "hard_mae", _digits(1)),
        _Column("error soft", "soft_mae", _digits(1)),
        _Column("rho hard", "hard_spearman", _digits(3)),
        _Column("rho soft", "soft_spearman", _digits(3)),
    ]
    caption = "By language, on prompts that every judge scored, means over judges, Table 6"
    rows: list[tuple[str, Any]] = list(zip(names, result.languages, strict=True))
    return [_both(caption, "language", rows, columns), own_beta_table(result.languages, names)]


def _figures(result: SoftEloReproduction) -> list[Block]:
    """The paper's pictures that these rows allow; the list of items explains the others."""
    drawable = {"errors", *(item.figure for item in result.items)} if result.rows else set()
    return [
        Figure(name, partial(draw, result), caption)
        for name, (draw, caption) in PICTURES.items()
        if name in drawable
    ]
