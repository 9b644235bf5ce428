"""The outcome of every table, figure and claim of the Soft-Elo paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

from adjudge.statistics.numbers import mean_known
from adjudge_papers.items import (
    ItemBook,
    Measured,
    PaperItem,
    cut_of,
    ends_of,
    in_percent,
    less,
    over,
    read_published,
)

if TYPE_CHECKING:
    from adjudge_papers.soft_elo import SoftEloReproduction, SoftEloRow

_PAPER = read_published("soft-elo")
_ARENA, _NEWER, _FRENCH = _PAPER["corpora"]
_TITLES: Mapping[str, str] = _PAPER["titles"]
_METHODS = ("hard", "soft")
_UNBOUNDED = "intervals are unbounded: too few models"


def list_items(result: SoftEloReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    rows = {name: [row for row in result.rows if row.corpus == name] for name in _TITLES}
    # Files that are not from the release count as its main corpus.
    main = rows[_ARENA] or list(result.rows)
    remark = "" if result.simulated else _completeness(main)
    book = ItemBook("soft-elo", simulated=result.simulated, remark=remark)
    _add_tables(book, main)
    _add_ratings(book, main)
    _add_temperatures(book, main)
    for corpus in (_NEWER, _FRENCH):
        part = "" if result.simulated else _completeness(rows[corpus])
        _add_replication(book, rows[corpus], corpus, part)
    _add_languages(book, result)
    _add_biases(book, main, rows[_NEWER])
    _add_calibration(book, main, rows)
    return book.items()


def _completeness(rows: Sequence[SoftEloRow]) -> str:
    """The part of the paper's data in the rows."""
    theirs = sum(row.published_hard_mae is not None for row in rows)
    total = _PAPER["judges_of"].get(rows[0].corpus) if rows else None
    if total is not None and theirs == total == len(rows):
        return ""
    return f"{theirs} of the paper's {total} judges" if theirs else "other judges than the paper's"


def _judge(rows: Sequence[SoftEloRow], name: str) -> list[SoftEloRow]:
    """The judge that the paper shows, or all judges if it is not here."""
    return [row for row in rows if row.judge == name] or list(rows)


def _add_tables(book: ItemBook, rows: Sequence[SoftEloRow]) -> None:
    """Tables 1, 2, 3 and 8, on the main corpus."""
    book.add(
        "Table 1",
        ends_of("mean |s|", (row.mean_score for row in rows))
        | ends_of("kappa", (row.kappa for row in rows))
        | ends_of("Spearman", (row.hard_spearman for row in rows))
        | ends_of("error", (row.hard_mae for row in rows)),
    )
    book.add(
        "Table 2",
        {
            "mean error, hard": mean_known(row.hard_mae for row in rows),
            "mean error, soft": mean_known(row.soft_mae for row in rows),
            **_error_cut(rows),
            **ends_of(
                "change of Spearman", (less(row.soft_spearman, row.hard_spearman) for row in rows)
            ),
        },
    )
    book.add(
        "Table 3",
        ends_of("coverage hard, %", (in_percent(row.hard_coverage) for row in rows))
        | ends_of("coverage soft, %", (in_percent(row.soft_coverage) for row in rows))
        | ends_of("width cut, %", _width_cuts(rows)),
        unknown=_UNBOUNDED,
    )
    constants = ("0.55", "0.65", "0.75", "0.85", "0.95")
    book.add(
        "Table 8",
        {f"c = {c}": mean_known(row.smoothed.get(c) for row in rows) for c in constants},
    )


def _error_cut(rows: Sequence[SoftEloRow]) -> Measured:
    return ends_of("error cut, %", (cut_of(row.hard_mae, row.soft_mae) for row in rows))


def _width_cuts(rows: Sequence[SoftEloRow]) -> list[float | None]:
    return [cut_of(row.hard_width, row.soft_width) for row in rows]


def _add_ratings(book: ItemBook, rows: Sequence[SoftEloRow]) -> None:
    """Figures of Elo, residuals and intervals, and section 4.2."""
    book.add("Figure 1", {"models": over((float(row.models) for row in rows), max)})
    parts = [row.strength for row in rows if row.strength is not None]
    book.add("Figure 2", ends_of("correlation", (part.hard_correlation for part in parts)))
    book.add("Figure 4", _budget_values(rows, "mean", fmean))
    quarters = {
        method: [ramp for row in rows if len(ramp := getattr(row, f"{method}_quarters")) == 4]
        for method in _METHODS
    }
    book.add(
        "Figure 14",
        {
            f"{method}, quarter {q + 1}": mean_known(ramp[q] for ramp in quarters[method])
            for method in _METHODS
            for q in range(4)
        }
        | {
            f"{method}, quarter 4, sd over judges": _spread([ramp[3] for ramp in quarters[method]])
            for method in _METHODS
        },
        unknown="needs eight models",
    )
    book.add(
        "Figure 17",
        {
            "judges whose quantile falls": _count_falls(
                less(row.soft_quantile, row.hard_quantile) for row in rows
            ),
            "judges whose width falls": _count_falls(
                less(row.soft_width, row.hard_width) for row in rows
            ),
        },
        unknown=_UNBOUNDED,
    )
    book.add(
        "Section 4.2",
        {
            "strongest among itself": mean_known(part.top_top for part in parts),
            "strongest against weakest": mean_known(part.top_bottom for part in parts),
        },
    )


def _spread(values: Sequence[float]) -> float | None:
    return stdev(values) if len(values) > 1 else None


def _count_falls(changes: Iterable[float | None]) -> float | None:
    return over(changes, lambda known: float(sum(change < 0 for change in known)))


def _count_rises(changes: Iterable[float | None]) -> float | None:
    return over(changes, lambda known: float(sum(change > 0 for change in known)))


def _budget_values(
    rows: Sequence[SoftEloRow], word: str, reduce: Callable[[Sequence[float]], float]
) -> Measured:
    """Error at the smallest and largest budget that all judges have, hard and soft."""
    sizes = [{budget.per_model for budget in row.budgets} for row in rows]
    common = sorted(set.intersection(*sizes)) if sizes else []
    return {
        f"{word} error, {method}, {size:g} battles per model": over(
            (
                budget.mae
                for row in rows
                for budget in row.budgets
                if (budget.method, budget.per_model) == (method, size)
            ),
            reduce,
        )
        for method in ("hard-elo", "soft-elo")
        for size in (common[:1] + common[-1:])
    }


def _add_temperatures(book: ItemBook, rows: Sequence[SoftEloRow]) -> None:
    """Section 5.1 and appendix C."""
    first, last = (
        [in_percent(row.agreement[end].agreement) for row in rows if row.agreement]
        for end in (0, -1)
    )
    shown = _judge(rows, "Qwen3-32B")
    book.add(
        "Figure 3",
        {
            "agreement at the smallest |s|, %": mean_known(first),
            "agreement at the largest |s|, %": mean_known(last),
            "ECE at beta = 1": mean_known(row.raw_ece for row in shown),
            "ECE at the fitted beta": mean_known(row.ece for row in shown),
        },
    )
    book.add(
        "Figure 6",
        ends_of("beta", (row.beta for row in rows))
        | _budget_values(_judge(rows, "Qwen3.5-27B"), "mean", fmean)
        | _budget_values(rows, "median", median),
    )
    pairs = [(row, row.stability) for row in rows if row.stability is not None]
    parts = [part for _, part in pairs]
    pooled = [less(part.pooled_mae, row.soft_mae) for row, part in pairs]
    sizes = [None if change is None else abs(change) for change in pooled]
    book.add(
        "Appendix C",
        {
            "standard deviation over folds, most": over((part.fold_sd for part in parts), max),
            "deviation from the pooled fit, mean": mean_known(
                part.mean_deviation for part in parts
            ),
            "deviation from the pooled fit, most": over(
                (part.largest_deviation for part in parts), max
            ),
            "change of error by the pooled fit, mean": mean_known(sizes),
            "change of error by the pooled fit, most": over(sizes, max),
            "beta with ties / beta": mean_known(
                None if part.with_ties is None else part.with_ties / part.pooled for part in parts
            ),
            "change of error with ties": mean_known(
                less(part.with_ties_mae, row.soft_mae) for row, part in pairs
            ),
            "change of Spearman with ties": mean_known(
                less(part.with_ties_spearman, row.soft_spearman) for row, part in pairs
            ),
        },
    )


def _add_replication(book: ItemBook, rows: Sequence[SoftEloRow], corpus: str, remark: str) -> None:
    """Appendix D on one of the two other corpora."""
    title, missing = _TITLES[corpus], "" if rows else f"no files of {corpus}"
    book.add(f"Table 4, {title}", _error_cut(rows), remark=remark, missing=missing)
    cuts = _width_cuts(rows)
    book.add(
        f"Table 5, {title}",
        ends_of("width cut, %", cuts) | {"width cut, %, mean": mean_known(cuts)},
        remark=remark,
        missing=missing,
        unknown=_UNBOUNDED,
    )
    held = [model for row in _judge(rows, "Gemma4-26B-A4B")[:1] for model in row.held_out]
    hard, soft = ([model for model in held if model.method == f"{m}-elo"] for m in _METHODS)
    covered = [None if model.covered is None else 100.0 * model.covered for model in soft]
    book.add(
        "Figure 8" if corpus == _NEWER else "Figure 9",
        {
            "median width, hard": over((model.width for model in hard), median),
            "median width, soft": over((model.width for model in soft), median),
            "contain people's Elo, soft, %": over(covered, fmean),
        },
        remark=remark,
        missing=missing,
        unknown=_UNBOUNDED,
    )


def _add_languages(book: ItemBook, result: SoftEloReproduction) -> None:
    """Figure 5 and appendix E."""
    counts = result.language_counts
    main = counts.get(_ARENA) or next(iter(counts.values()), {})
    missing = "" if main else "the rows do not name languages"
    english = 100 * main.get("en", 0) / sum(main.values()) if main else None
    book.add("Figure 5", {"languages": float(len(main)), "English, %": english}, missing=missing)
    arena = [row for row in result.languages if row.corpus == _ARENA]
    rows = arena or list(result.languages)
    if not rows:
        missing = missing or "no language has 50 prompts that all judges scored"
    cuts = (cut_of(row.hard_mae, row.soft_mae) for row in rows)
    book.add(
        "Table 6",
        {"languages": float(len(rows)), **ends_of("error cut, %", cuts)},
        missing=missing,
    )
    agreement = (in_percent(row.agreement) for row in rows)
    book.add("Figure 10", ends_of("agreement, %", agreement), missing=missing)
    changes = [less(row.own_beta_mae, row.soft_mae) for row in rows]
    near = over(changes, lambda known: float(sum(abs(change) <= 5 for change in known)))
    book.add(
        "Appendix E",
        {
            "languages within 5 Elo of the pooled beta": near,
            "largest rise of the error": over(changes, max),
        },
        missing=missing,
    )


def _add_biases(book: ItemBook, rows: Sequence[SoftEloRow], newer: Sequence[SoftEloRow]) -> None:
    """Appendix F.1: order, length, family."""
    slots = [row.position for row in rows if row.position is not None]
    gaps = [less(part.first_mae, part.second_mae) for part in slots]
    book.add(
        "Figure 11",
        ends_of("first slot wins, %", (in_percent(part.first_share) for part in slots))
        | ends_of("verdict flips, %", (in_percent(part.flip_share) for part in slots))
        | {"first slot, points": mean_known(part.advantage for part in slots)}
        | ends_of("first slot favoured, %", (in_percent(part.first_favoured) for part in slots))
        | {
            "difference of errors by order": mean_known(
                None if gap is None else abs(gap) for gap in gaps
            )
        },
        missing=""
        if slots
        else "the rows have the mean of both orders: the scores of each order are needed",
    )
    lengths = [row.length for row in rows if row.length is not None]
    clear = sum(part.p_value is not None and part.p_value < 0.05 for part in lengths)
    book.add(
        "Figure 12",
        ends_of("longer wins, %", (in_percent(part.longer_share) for part in lengths))
        | {"judges whose residual goes with length": float(clear)},
        missing="" if lengths else "the rows have no lengths (len_a, len_b)",
    )
    points = [row.family_points for row in (*rows, *newer) if row.family_points is not None]
    excess = {
        corpus: [row.hard_family.excess for row in same if row.hard_family is not None]
        for corpus, same in ((_ARENA, rows), (_NEWER, newer))
    }
    book.add(
        "Figure 13",
        ends_of("excess in points", (part.excess for part in points))
        | {
            f"judges with an excess in Elo, {_TITLES[corpus]}": _count_rises(values)
            for corpus, values in excess.items()
        },
        missing=""
        if points or excess[_ARENA]
        else "no judge's family is known, or none has models here",
    )


def _add_calibration(
    book: ItemBook, main: Sequence[SoftEloRow], rows: Mapping[str, Sequence[SoftEloRow]]
) -> None:
    """Appendix G, and Figure 7, which is about the same signal."""
    errors = [row.ece for row in main]
    rates = (in_percent(row.agreement_rate) for row in main)
    book.add(
        "Figure 15",
        {
            "ECE, mean": mean_known(errors),
            "ECE, median": over(errors, median),
            "agreement, least, %": over(rates, min),
        },
    )
    book.add(
        "Table 7",
        {
            f"mean ECE, {_TITLES[corpus]}": mean_known(row.ece for row in same)
            for corpus, same in {**rows, _ARENA: main}.items()
        },
    )
    several = sum(bool(same) for same in rows.values()) > 1
    missing = "" if several else "needs files of two corpora"
    shown = [row for same in rows.values() for row in _judge(same, "GPT-OSS-120B")[:1]]
    book.add("Figure 16", {f"ECE, {row.corpus}": row.ece for row in shown}, missing=missing)
    book.add(
        "Figure 7",
        {
            f"correlation of |s| and agreement, mean, {corpus}": mean_known(
                row.agreement_correlation for row in same
            )
            for corpus, same in rows.items()
            if same
        },
        missing=missing,
    )
    contradictions = (in_percent(row.contradictions) for row in main)
    book.add("Appendix G", {"share, %": mean_known(contradictions)})
