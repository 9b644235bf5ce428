"""The Soft-Elo paper's tables: our numbers with the paper's below them, then the appendices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from adjudge.diagnosis.measures import ends_of
from adjudge.present.blocks import Block, Headline, Table, table_of
from adjudge.present.text import (
    DASH,
    count,
    interval,
    level,
    number,
    percent,
    percent_interval,
    signed,
)
from adjudge.ranking.evaluation_view import quarters
from adjudge.statistics.numbers import mean_known
from adjudge_papers.soft_elo_drawing import compared, describe_change, row_names

if TYPE_CHECKING:
    from adjudge_papers.soft_elo import SoftEloReproduction, SoftEloRow
    from adjudge_papers.soft_elo_measures import FamilyExcess, LanguageRow

_Named = tuple[str, "SoftEloRow"]
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


def soft_elo_tables(result: SoftEloReproduction) -> list[Block]:
    """The paper's tables in its order, then the appendices that the rows have numbers for."""
    names = row_names(list(result.rows))
    rows = list(zip(names, result.rows, strict=True))
    appendices = [
        _stability(rows),
        _signal(rows),
        _biases(rows),
        _position(rows),
        _families(rows),
        _juries(result),
    ]
    return [
        _errors(result, names),
        _intervals(result, names),
        _smoothing(result, names),
        _quarters(result, names),
        *(table for table in appendices if table.rows),
        *(_languages(result) if result.languages else ()),
    ]


def describe_errors(result: SoftEloReproduction) -> Headline:
    """By how much soft targets change the held-out error, ours and the paper's."""
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
    fields = [f"{prefix}{column.field}" for prefix in ("", "published_") for column in columns]
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
    return [_both(caption, "language", rows, columns), _own_betas(result.languages, names)]


# --- appendices ------------------------------------------------------------------------------


def _stability(rows: Sequence[_Named]) -> Table:
    known = [(name, row, row.stability) for name, row in rows if row.stability is not None]
    return table_of(
        known,
        {
            "judge": lambda named: named[0],
            "beta": lambda named: number(named[2].pooled, 3),
            "sd of folds": lambda named: number(named[2].fold_sd, 4),
            "mean away": lambda named: number(named[2].mean_deviation, 4),
            "farthest": lambda named: number(named[2].largest_deviation, 4),
            "error": lambda named: number(named[1].soft_mae, 2),
            "error, pooled": lambda named: number(named[2].pooled_mae, 2),
            "beta, ties half": lambda named: number(named[2].with_ties, 3),
            "error, ties half": lambda named: number(named[2].with_ties_mae, 2),
            "rho, ties half": lambda named: number(named[2].with_ties_spearman),
        },
        caption="beta over folds, pooled over all votes, and with ties at one half, appendix C",
        optional=("mean away", "rho, ties half"),
    )


def _signal(rows: Sequence[_Named]) -> Table:
    known = [(name, row, row.strength) for name, row in rows if row.strength is not None]
    return table_of(
        known,
        {
            "judge": lambda named: named[0],
            "agreement": lambda named: percent(named[1].agreement_rate),
            "r with |s|": lambda named: number(named[1].agreement_correlation),
            "ECE, beta 1": lambda named: number(named[1].raw_ece),
            "against own scores": lambda named: percent(named[1].contradictions),
            "r of residual, hard": lambda named: signed(named[2].hard_correlation, 2),
            "soft": lambda named: signed(named[2].soft_correlation, 2),
            "|s| top-top": lambda named: number(named[2].top_top, 2),
            "top-bottom": lambda named: number(named[2].top_bottom, 2),
        },
        caption="What |s| says, residuals against strength, |s| by quarter: sections 4.2 and 4.3, "
        "appendix G",
        optional=("ECE, beta 1", "against own scores"),
    )


def _biases(rows: Sequence[_Named]) -> Table:
    known = [(name, row.length) for name, row in rows if row.length is not None]
    return table_of(
        known,
        {
            "judge": lambda named: named[0],
            "near-tied": lambda named: number(named[1].near_tied),
            "longer wins": lambda named: percent(named[1].longer_share),
            "95 % interval": lambda named: percent_interval(*ends_of(named[1].interval)),
            "residual and length": lambda named: signed(named[1].partial, 2),
            "p": lambda named: number(named[1].p_value),
        },
        caption="Length: near-tied verdicts, and the partial correlation with the Elo residual, "
        "Figure 12",
    )


def _position(rows: Sequence[_Named]) -> Table:
    known = [(name, row.position) for name, row in rows if row.position is not None]
    return table_of(
        known,
        {
            "judge": lambda named: named[0],
            "first slot wins": lambda named: percent(named[1].first_share),
            "verdict flips": lambda named: percent(named[1].flip_share),
            "points": lambda named: signed(named[1].advantage, 2),
            "first favoured": lambda named: percent(named[1].first_favoured),
            "error, A first": lambda named: number(named[1].first_mae, 1),
            "A second": lambda named: number(named[1].second_mae, 1),
        },
        caption="Order of presentation, Figure 11",
    )


def _families(rows: Sequence[_Named]) -> Table:
    known = [(name, row) for name, row in rows if row.hard_family or row.family_points]
    cells: dict[str, Callable[[_Named], str]] = {
        "judge": lambda named: named[0],
        "own models": lambda named: _own(named[1].hard_family or named[1].family_points),
        "points": lambda named: _excess(named[1].family_points, 2),
        "Elo, hard": lambda named: _excess(named[1].hard_family, 0),
        "Elo, soft": lambda named: _excess(named[1].soft_family, 0),
    }
    caption = "Own family's models minus the others, in points and in Elo, Figure 13"
    return table_of(known, cells, caption=caption, text_columns=2)


def _own(part: FamilyExcess | None) -> str:
    return DASH if part is None else f"{part.own_models} {part.family}"


def _excess(part: FamilyExcess | None, digits: int) -> str:
    if part is None:
        return DASH
    if part.interval is None:
        return signed(part.excess, digits)
    low, high = (signed(end, digits) for end in part.interval)
    return f"{signed(part.excess, digits)} [{low}, {high}]"


def _juries(result: SoftEloReproduction) -> Table:
    return table_of(
        result.juries,
        {
            "corpus": lambda row: row.corpus,
            "best alone": lambda row: row.best,
            "its error": lambda row: number(row.best_mae, 1),
            "judges": lambda row: number(row.judges),
            "battles of all": lambda row: number(row.battles),
            "jury's error": lambda row: number(row.mae, 1),
            "rho": lambda row: number(row.spearman),
        },
        caption="All judges as one, the mean of calibrated scores (not in the paper), and the best "
        "of them on the same battles",
        text_columns=2,
    )


def _own_betas(rows: Sequence[LanguageRow], names: Sequence[str]) -> Table:
    """A temperature for each language, and whether it helps (appendix E)."""
    return table_of(
        list(zip(names, rows, strict=True)),
        {
            "language": lambda named: named[0],
            "|s|": lambda named: number(named[1].mean_score, 2),
            "agreement": lambda named: percent(named[1].agreement),
            "own beta": lambda named: number(named[1].own_beta, 2),
            "sd": lambda named: number(named[1].own_beta_sd, 2),
            "error, pooled": lambda named: number(named[1].soft_mae, 1),
            "error, own": lambda named: number(named[1].own_beta_mae, 1),
        },
        caption="A beta for each language, means over judges, appendix E",
    )
