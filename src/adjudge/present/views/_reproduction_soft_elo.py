"""The Soft-Elo paper's tables, our numbers with the paper's below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from adjudge._text import DASH, count, level, number, percent, signed
from adjudge.present.blocks import Block, Figure, Headline, Table, notes_of
from adjudge.present.figures.reproduction_soft_elo import (
    compared,
    describe_change,
    error_figure,
    row_names,
)
from adjudge.present.views._ranking_evaluation import quarters
from adjudge.results.ranking_reproduction import (
    FamilyResiduals,
    LanguageRow,
    SoftEloReproduction,
    SoftEloRow,
)

#: A column: its heading, its field (the paper's is `published_` and the same), how it is written.
_Column = tuple[str, str, Callable[[float | None], str]]


def view_soft_elo(result: SoftEloReproduction) -> list[Block]:
    """The paper's tables in its order, then its figure."""
    names = row_names(list(result.rows))
    blocks: list[Block] = [
        _headline(result),
        _both(
            f"Held-out error in Elo, Tables 1, 2 and 4 (l2 {result.l2:g}, {result.splits} splits, "
            f"{result.replicates} resamples, seed {result.seed})",
            "judge",
            names,
            result.rows,
            [
                ("|s|", "mean_score", _digits(2)),
                ("kappa", "kappa", _digits(3)),
                ("beta", "beta", _digits(2)),
                ("hard", "hard_mae", _digits(1)),
                ("soft", "soft_mae", _digits(1)),
                ("rho hard", "hard_spearman", _digits(3)),
                ("rho soft", "soft_spearman", _digits(3)),
            ],
        ),
        _both(
            f"{level(1 - result.alpha)} conformal intervals and calibration error, "
            "Tables 3, 5 and 7",
            "judge",
            names,
            result.rows,
            [
                ("width hard", "hard_width", _width),
                ("coverage hard", "hard_coverage", percent),
                ("width soft", "soft_width", _width),
                ("coverage soft", "soft_coverage", percent),
                ("ECE", "ece", _digits(3)),
            ],
        ),
        _smoothing(result, names),
        _quarters(result, names),
    ]
    if any(row.hard_family is not None for row in result.rows):
        blocks.append(_families(result, names))
    if result.languages:
        blocks.append(_languages(result))
    caption = "Held-out error of each judge with hard and with soft targets; rings are the paper's."
    blocks.append(Figure("errors", partial(error_figure, result), caption))
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
    return Headline(text, paper)


def _means(errors: Sequence[tuple[float, float]]) -> str:
    hard, soft = (sum(values) / len(errors) for values in zip(*errors, strict=True))
    return f"{number(hard, 1)} hard, {number(soft, 1)} soft"


def _digits(digits: int) -> Callable[[float | None], str]:
    return lambda value: number(value, digits)


def _width(value: float | None) -> str:
    return "unbounded" if value is None else number(value, 0)


def _both(
    caption: str,
    first: str,
    names: Sequence[str],
    rows: Sequence[SoftEloRow] | Sequence[LanguageRow],
    columns: Sequence[_Column],
) -> Table:
    """Two lines a row, ours and the paper's; the second only where the paper has a number."""
    lines = []
    for name, row in zip(names, rows, strict=True):
        lines.append((name, *(write(getattr(row, field)) for _, field, write in columns)))
        published = [getattr(row, f"published_{field}", None) for _, field, _ in columns]
        if any(value is not None for value in published):
            cells = [
                DASH if value is None else write(value)
                for value, (*_, write) in zip(published, columns, strict=True)
            ]
            lines.append(("  paper", *cells))
    return Table((first, *(name for name, *_ in columns)), lines, caption)


def _smoothing(result: SoftEloReproduction, names: Sequence[str]) -> Table:
    constants = list(result.rows[0].smoothed) if result.rows else []
    lines = []
    for name, row in zip(names, result.rows, strict=True):
        ours = [number(row.smoothed.get(c), 1) for c in constants]
        lines.append((name, *ours, number(row.chosen_smoothing_mae, 1)))
        if row.published_smoothed:
            theirs = [number(row.published_smoothed.get(c), 1) for c in constants]
            lines.append(("  paper", *theirs, DASH))
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


def _families(result: SoftEloReproduction, names: Sequence[str]) -> Table:
    rows = [
        (
            name,
            f"{row.hard_family.own_models} {row.hard_family.family}",
            _excess(row.hard_family),
            _excess(row.soft_family),
        )
        for name, row in zip(names, result.rows, strict=True)
        if row.hard_family is not None
    ]
    caption = "Judge minus people in Elo, own family's models minus the others, Figure 13b"
    return Table(("judge", "own models", "hard", "soft"), rows, caption, text_columns=2)


def _excess(family: FamilyResiduals | None) -> str:
    if family is None:
        return DASH
    if family.low is None or family.high is None:
        return signed(family.excess, 0)
    return f"{signed(family.excess, 0)} [{signed(family.low, 0)}, {signed(family.high, 0)}]"


def _languages(result: SoftEloReproduction) -> Table:
    several = len({row.corpus for row in result.languages}) > 1
    return _both(
        "By language, means over judges, Table 6",
        "language",
        [f"{row.language} {row.corpus}" if several else row.language for row in result.languages],
        result.languages,
        [
            ("battles", "battles", _digits(0)),
            ("judges", "judges", _digits(0)),
            ("error hard", "hard_mae", _digits(1)),
            ("error soft", "soft_mae", _digits(1)),
            ("rho hard", "hard_spearman", _digits(3)),
            ("rho soft", "soft_spearman", _digits(3)),
        ],
    )
