"""Tables of the Soft-Elo paper's appendices: temperature, strength, biases, languages, juries."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjudge.present.blocks import Block, Table, table_of
from adjudge.present.text import DASH, number, percent, percent_interval, signed
from adjudge_papers.soft_elo_parts import FamilyExcess
from adjudge_papers.soft_elo_result import LanguageRow, SoftEloReproduction, SoftEloRow

_Named = tuple[str, SoftEloRow]
_Cell = Callable[[_Named], str]


def appendix_blocks(result: SoftEloReproduction, names: Sequence[str]) -> list[Block]:
    """Appendices C, F and G, each if a row has its numbers; then juries."""
    rows = list(zip(names, result.rows, strict=True))
    blocks: list[Block] = [
        _stability(rows),
        _signal(rows),
        _biases(rows),
        _position(rows),
        _families(rows),
    ]
    if result.juries:
        blocks.append(_juries(result))
    return [block for block in blocks if not isinstance(block, Table) or block.rows]


def _judge(named: _Named) -> str:
    return named[0]


def _stability(rows: Sequence[_Named]) -> Table:
    known = [(name, row, row.stability) for name, row in rows if row.stability is not None]
    return table_of(
        known,
        {
            "judge": lambda one: one[0],
            "beta": lambda one: number(one[2].pooled, 3),
            "sd of folds": lambda one: number(one[2].fold_sd, 4),
            "mean away": lambda one: number(one[2].mean_deviation, 4),
            "farthest": lambda one: number(one[2].largest_deviation, 4),
            "error": lambda one: number(one[1].soft_mae, 2),
            "error, pooled": lambda one: number(one[2].pooled_mae, 2),
            "beta, ties half": lambda one: number(one[2].with_ties, 3),
            "error, ties half": lambda one: number(one[2].with_ties_mae, 2),
            "rho, ties half": lambda one: number(one[2].with_ties_spearman),
        },
        caption="beta over folds, pooled over all votes, and with ties at one half, appendix C",
        optional=("mean away", "rho, ties half"),
    )


def _signal(rows: Sequence[_Named]) -> Table:
    known = [(name, row, row.strength) for name, row in rows if row.strength is not None]
    return table_of(
        known,
        {
            "judge": lambda one: one[0],
            "agreement": lambda one: percent(one[1].agreement_rate),
            "r with |s|": lambda one: number(one[1].agreement_correlation),
            "ECE, beta 1": lambda one: number(one[1].raw_ece),
            "against own scores": lambda one: percent(one[1].contradictions),
            "r of residual, hard": lambda one: signed(one[2].hard_correlation, 2),
            "soft": lambda one: signed(one[2].soft_correlation, 2),
            "|s| top-top": lambda one: number(one[2].top_top, 2),
            "top-bottom": lambda one: number(one[2].top_bottom, 2),
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
            "judge": lambda one: one[0],
            "near-tied": lambda one: number(one[1].near_tied),
            "longer wins": lambda one: percent(one[1].longer_share),
            "95 % interval": lambda one: percent_interval(one[1].low, one[1].high),
            "residual and length": lambda one: signed(one[1].partial, 2),
            "p": lambda one: number(one[1].p_value),
        },
        caption="Length: near-tied verdicts, and the partial correlation with the Elo residual, "
        "Figure 12",
    )


def _position(rows: Sequence[_Named]) -> Table:
    known = [(name, row.position) for name, row in rows if row.position is not None]
    return table_of(
        known,
        {
            "judge": lambda one: one[0],
            "first slot wins": lambda one: percent(one[1].first_share),
            "verdict flips": lambda one: percent(one[1].flip_share),
            "points": lambda one: signed(one[1].advantage, 2),
            "first favoured": lambda one: percent(one[1].first_favoured),
            "error, A first": lambda one: number(one[1].first_mae, 1),
            "A second": lambda one: number(one[1].second_mae, 1),
        },
        caption="Order of presentation, Figure 11",
    )


def _families(rows: Sequence[_Named]) -> Table:
    known = [(name, row) for name, row in rows if row.hard_family or row.family_points]
    cells: dict[str, _Cell] = {
        "judge": _judge,
        "own models": lambda one: _own(one[1].hard_family or one[1].family_points),
        "points": lambda one: _excess(one[1].family_points, 2),
        "Elo, hard": lambda one: _excess(one[1].hard_family, 0),
        "Elo, soft": lambda one: _excess(one[1].soft_family, 0),
    }
    caption = "Own family's models minus the others, in points and in Elo, Figure 13"
    return table_of(known, cells, caption=caption, text_columns=2)


def _own(part: FamilyExcess | None) -> str:
    return DASH if part is None else f"{part.own_models} {part.family}"


def _excess(part: FamilyExcess | None, digits: int) -> str:
    if part is None:
        return DASH
    if part.low is None or part.high is None:
        return signed(part.excess, digits)
    low, high = signed(part.low, digits), signed(part.high, digits)
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


def own_beta_table(rows: Sequence[LanguageRow], names: Sequence[str]) -> Table:
    """A temperature for each language, and whether it helps (appendix E)."""
    return table_of(
        list(zip(names, rows, strict=True)),
        {
            "language": lambda one: one[0],
            "|s|": lambda one: number(one[1].mean_score, 2),
            "agreement": lambda one: percent(one[1].agreement),
            "own beta": lambda one: number(one[1].own_beta, 2),
            "sd": lambda one: number(one[1].own_beta_sd, 2),
            "error, pooled": lambda one: number(one[1].soft_mae, 1),
            "error, own": lambda one: number(one[1].own_beta_mae, 1),
        },
        caption="A beta for each language, means over judges, appendix E",
    )
