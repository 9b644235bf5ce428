"""The outcome of every table, figure and claim of the Soft-Elo paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean, median, stdev

from adjudge_papers import soft_elo_published as published
from adjudge_papers.items import (
    ItemBook,
    ItemValue,
    PaperItem,
    Reduce,
    cut_of,
    ends_of,
    in_percent,
    less,
    mean_of,
    over,
    value_of,
)
from adjudge_papers.soft_elo_parts import BetaStability
from adjudge_papers.soft_elo_result import SoftEloReproduction, SoftEloRow

_ARENA, _NEWER, _FRENCH = published.CORPORA
#: How many judges the paper has on each corpus.
_JUDGES = {_ARENA: 8, _NEWER: 7, _FRENCH: 7}
_TITLES = {_ARENA: "LMArena 100K", _NEWER: "LMArena 140K", _FRENCH: "ComparIA"}
_UNBOUNDED = "intervals are unbounded: too few models"


def list_items(result: SoftEloReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    rows = {name: [row for row in result.rows if row.corpus == name] for name in _JUDGES}
    # Files that are not from the release count as its main corpus.
    main = rows[_ARENA] or list(result.rows)
    book = ItemBook("soft-elo", simulated=result.simulated)
    remark = "" if result.simulated else _completeness(main)
    _tables(book, main, remark)
    _ratings(book, main, remark)
    _temperatures(book, main, remark)
    for corpus in (_NEWER, _FRENCH):
        partial_remark = "" if result.simulated else _completeness(rows[corpus])
        _replication(book, rows[corpus], corpus, partial_remark)
    _languages(book, result, remark)
    _biases(book, main, rows[_NEWER], remark)
    _calibration(book, main, rows, remark)
    return book.items()


def _completeness(rows: Sequence[SoftEloRow]) -> str:
    """The part of the paper's data in the rows."""
    theirs = sum(row.published_hard_mae is not None for row in rows)
    total = _JUDGES.get(rows[0].corpus) if rows else None
    if total is not None and theirs == total == len(rows):
        return ""
    return f"{theirs} of the paper's {total} judges" if theirs else "other judges than the paper's"


def _judge(rows: Sequence[SoftEloRow], name: str) -> list[SoftEloRow]:
    """The judge that the paper shows, or all judges if it is not here."""
    return [row for row in rows if row.judge == name] or list(rows)


def _tables(book: ItemBook, rows: list[SoftEloRow], remark: str) -> None:
    """Tables 1, 2, 3 and 8, on the main corpus."""
    add = partial(book.add, remark=remark)
    add(
        "Table 1", "Hard-Elo diagnostics across judges",
        *ends_of("mean |s|", (row.mean_score for row in rows), (1.34, 2.08), 2),
        *ends_of("kappa", (row.kappa for row in rows), (0.147, 0.231), 3),
        *ends_of("Spearman", (row.hard_spearman for row in rows), (0.868, 0.976), 3),
        *ends_of("error", (row.hard_mae for row in rows), (27.5, 63.4)),
    )  # fmt: skip
    changes = [less(row.soft_spearman, row.hard_spearman) for row in rows]
    add(
        "Table 2", "Held-out error, hard and soft",
        mean_of("mean error, hard", (row.hard_mae for row in rows), 45.9),
        mean_of("mean error, soft", (row.soft_mae for row in rows), 17.9),
        *ends_of("error cut, %", (cut_of(row.hard_mae, row.soft_mae) for row in rows), (39, 73), 0),
        *ends_of("change of Spearman", changes, (-0.011, 0.012), 3),
        figure="errors",
    )  # fmt: skip
    widths = [cut_of(row.hard_width, row.soft_width) for row in rows]
    hard, soft = (
        [in_percent(getattr(row, f"{method}_coverage")) for row in rows]
        for method in ("hard", "soft")
    )
    add(
        "Table 3", "Split-conformal widths and coverage",
        *ends_of("coverage hard, %", hard, (88.6, 97.9)),
        *ends_of("coverage soft, %", soft, (92.1, 96.4)),
        *ends_of("width cut, %", widths, (39, 70), 0),
        unknown=_UNBOUNDED,
    )  # fmt: skip
    constants = {"0.55": 41.1, "0.65": 29.7, "0.75": 26.9, "0.85": 38.8, "0.95": 57.6}
    add(
        "Table 8", "Label smoothing by constant, mean error",
        *(
            mean_of(f"c = {c}", (row.smoothed.get(c) for row in rows), theirs)
            for c, theirs in constants.items()
        ),
    )  # fmt: skip


def _ratings(book: ItemBook, rows: list[SoftEloRow], remark: str) -> None:
    """Figures of Elo, residuals and intervals, and section 4.2."""
    add = partial(book.add, remark=remark)
    models = max((float(row.models) for row in rows), default=None)
    add("Figure 1", "Targets, held-out Elo and intervals of one judge",
        value_of("models", models, 55, 0), figure="figure-01")  # fmt: skip
    parts = [row.strength for row in rows if row.strength is not None]
    add("Figure 2", "Hard-Elo residuals against strength",
        *ends_of("correlation", (part.hard_correlation for part in parts), (0.49, 0.90), 2),
        figure="figure-02")  # fmt: skip
    add("Figure 4", "Held-out Elo, residuals by quarter, error by budget",
        *_budget_values(rows, "mean", fmean), figure="figure-04")  # fmt: skip
    quarters = {
        method: [getattr(row, f"{method}_quarters") for row in rows] for method in ("hard", "soft")
    }
    known = {method: [one for one in each if len(one) == 4] for method, each in quarters.items()}
    add(
        "Figure 14", "Residuals by quarter of strength",
        *(
            mean_of(f"{method}, quarter {q + 1}", (one[q] for one in each), theirs, 0)
            for method, each in known.items()
            for q, theirs in enumerate(published.QUARTERS[method])
        ),
        *(
            value_of(f"{method}, quarter 4, sd over judges", _spread([one[3] for one in each]),
                     theirs, 0)
            for (method, each), theirs in zip(known.items(), (17, 9), strict=True)
        ),
        figure="figure-14", unknown="needs eight models",
    )  # fmt: skip
    quantiles = [less(row.soft_quantile, row.hard_quantile) for row in rows]
    widths = [less(row.soft_width, row.hard_width) for row in rows]
    add("Figure 17", "Width as quantile times standard error",
        value_of("judges whose quantile falls", _falls(quantiles), 5, 0),
        value_of("judges whose width falls", _falls(widths), 8, 0),
        figure="figure-17", unknown=_UNBOUNDED)  # fmt: skip
    add("Section 4.2", "Median |s| by strength of the two models",
        mean_of("strongest among itself", (part.top_top for part in parts), 0.61, 2),
        mean_of("strongest against weakest", (part.top_bottom for part in parts), 1.54,
                2))  # fmt: skip


def _spread(values: Sequence[float]) -> float | None:
    return stdev(values) if len(values) > 1 else None


def _falls(changes: Sequence[float | None]) -> float | None:
    """The number of decreases."""
    return over(changes, lambda known: float(sum(change < 0 for change in known)))


def _budget_values(
    rows: Sequence[SoftEloRow], word: str, reduce: Reduce, theirs: Sequence[float] = ()
) -> list[ItemValue]:
    """Error at the smallest and largest budget that all judges have, hard and soft."""
    sizes = [{one.per_model for one in row.budgets} for row in rows]
    common = sorted(set.intersection(*sizes)) if sizes else []
    ends = [common[0], common[-1]] if common else []
    values = []
    for k, (method, size) in enumerate((m, b) for m in ("hard-elo", "soft-elo") for b in ends):
        errors = [
            one.mae
            for row in rows
            for one in row.budgets
            if one.method == method and one.per_model == size
        ]
        # The paper's ends are 5 and 200 battles per model.
        known = theirs[k] if theirs and size == (5.0, 200.0)[k % 2] else None
        name = f"{word} error, {method}, {size:g} battles per model"
        values.append(value_of(name, over(errors, reduce), known))
    return values


def _temperatures(book: ItemBook, rows: list[SoftEloRow], remark: str) -> None:
    """Section 5.1 and appendix C."""
    add = partial(book.add, remark=remark)
    first, last = (
        [in_percent(row.agreement[end].agreement) for row in rows if row.agreement]
        for end in (0, -1)
    )
    shown = _judge(rows, "Qwen3-32B")
    add("Figure 3", "Agreement by |s|, reliability before and after beta",
        mean_of("agreement at the smallest |s|, %", first, 53, 0),
        mean_of("agreement at the largest |s|, %", last, 85, 0),
        mean_of("ECE at beta = 1", (row.raw_ece for row in shown), 0.14, 2),
        mean_of("ECE at the fitted beta", (row.ece for row in shown), 0.03, 2),
        figure="figure-03")  # fmt: skip
    add("Figure 6", "beta and error by budget",
        *ends_of("beta", (row.beta for row in rows), (0.36, 0.60), 2),
        *_budget_values(_judge(rows, "Qwen3.5-27B"), "mean", fmean, (125, 48, 81, 17)),
        *_budget_values(rows, "median", median, (123, 47, 86, 19)),
        figure="figure-06")  # fmt: skip
    pairs = [(row, row.stability) for row in rows if row.stability is not None]
    changes = [less(part.pooled_mae, row.soft_mae) for row, part in pairs]
    sizes = [None if change is None else abs(change) for change in changes]
    with_ties = [less(part.with_ties_mae, row.soft_mae) for row, part in pairs]
    ranks = [less(part.with_ties_spearman, row.soft_spearman) for row, part in pairs]
    add("Appendix C", "Stability of beta, and beta with ties at one half",
        value_of("standard deviation over folds, most",
                 over((part.fold_sd for _, part in pairs), max), 0.005, 4),
        mean_of("deviation from the pooled fit, mean",
                (part.mean_deviation for _, part in pairs), 0.0026, 4),
        value_of("deviation from the pooled fit, most",
                 over((part.largest_deviation for _, part in pairs), max), 0.016, 4),
        mean_of("change of error by the pooled fit, mean", sizes, 0.09, 2),
        value_of("change of error by the pooled fit, most", over(sizes, max), 0.18, 2),
        mean_of("beta with ties / beta", (_ratio(part) for _, part in pairs), 0.56, 2),
        mean_of("change of error with ties", with_ties, 7),
        mean_of("change of Spearman with ties", ranks, -0.002, 3))  # fmt: skip


def _ratio(part: BetaStability) -> float | None:
    return None if part.with_ties is None else part.with_ties / part.pooled


def _replication(book: ItemBook, rows: list[SoftEloRow], corpus: str, remark: str) -> None:
    """Appendix D on one of the two other corpora."""
    newer, title = corpus == _NEWER, _TITLES[corpus]
    missing = "" if rows else f"no files of {corpus}"
    add = partial(book.add, remark=remark, missing=missing)
    errors = [cut_of(row.hard_mae, row.soft_mae) for row in rows]
    add(f"Table 4, {title}", "Held-out error on another corpus",
        *ends_of("error cut, %", errors, (45, 79) if newer else (20, 81), 0))  # fmt: skip
    cuts = [cut_of(row.hard_width, row.soft_width) for row in rows]
    add(f"Table 5, {title}", "Conformal widths on another corpus",
        *ends_of("width cut, %", cuts, (30, 73) if newer else (19, 78), 0),
        mean_of("width cut, %, mean", cuts, 56, 0), unknown=_UNBOUNDED)  # fmt: skip
    shown = _judge(rows, "Gemma4-26B-A4B")[:1]
    soft = [one.covered for row in shown for one in row.held_out if one.method == "soft-elo"]
    share = over((None if one is None else 100.0 * one for one in soft), fmean)
    add(f"Figure {8 if newer else 9}", f"Intervals of each model on {title}",
        value_of("median width, hard", _width(shown, "hard-elo"), 328 if newer else 580, 0),
        value_of("median width, soft", _width(shown, "soft-elo"), 87 if newer else 117, 0),
        value_of("contain people's Elo, soft, %", share, 94 if newer else 92, 0),
        figure="figure-08" if newer else "figure-09", unknown=_UNBOUNDED)  # fmt: skip


def _width(rows: Sequence[SoftEloRow], method: str) -> float | None:
    """The median width of the intervals of one judge's models."""
    widths = [
        less(one.high, one.low) for row in rows for one in row.held_out if one.method == method
    ]
    return over(widths, median)


def _languages(book: ItemBook, result: SoftEloReproduction, remark: str) -> None:
    """Figure 5 and appendix E."""
    counts = result.language_counts
    main = counts.get(_ARENA) or next(iter(counts.values()), {})
    none = "" if main else "the rows do not name languages"
    english = 100 * main.get("en", 0) / sum(main.values()) if main else None
    book.add("Figure 5", "Prompts by language and corpus",
             value_of("languages", float(len(main)), 80, 0), value_of("English, %", english, 58, 0),
             figure="figure-05", remark=remark, missing=none)  # fmt: skip
    arena = [row for row in result.languages if row.corpus == _ARENA]
    rows = arena or list(result.languages)
    few = none or ("" if rows else "no language has 50 prompts that all judges scored")
    add = partial(book.add, remark=remark, missing=few)
    cuts = [cut_of(row.hard_mae, row.soft_mae) for row in rows]
    add("Table 6", "Error by language, means over judges",
        value_of("languages", float(len(rows)), 13, 0),
        *ends_of("error cut, %", cuts, (74, 85), 0))  # fmt: skip
    add("Figure 10", "|s| and agreement by language",
        *ends_of("agreement, %", (in_percent(row.agreement) for row in rows), (61, 84), 0),
        figure="figure-10")  # fmt: skip
    changes = [less(row.own_beta_mae, row.soft_mae) for row in rows]
    near = over(changes, lambda known: float(sum(abs(change) <= 5 for change in known)))
    add("Appendix E", "A beta for each language",
        value_of("languages within 5 Elo of the pooled beta", near, 10, 0),
        value_of("largest rise of the error", over(changes, max), 21.8))  # fmt: skip


def _biases(book: ItemBook, rows: list[SoftEloRow], newer: list[SoftEloRow], remark: str) -> None:
    """Appendix F.1: order, length, family."""
    add = partial(book.add, remark=remark)
    slots = [row.position for row in rows if row.position is not None]
    gaps = [less(part.first_mae, part.second_mae) for part in slots]
    favoured = [in_percent(part.first_favoured) for part in slots]
    add("Figure 11", "Order of presentation: verdicts and Elo",
        *ends_of("first slot wins, %", (in_percent(part.first_share) for part in slots), (61, 66),
                 0),
        *ends_of("verdict flips, %", (in_percent(part.flip_share) for part in slots), (30, 36), 0),
        mean_of("first slot, points", (part.advantage for part in slots), 0.5),
        *ends_of("first slot favoured, %", favoured, (69, 78), 0),
        mean_of("difference of errors by order",
                (None if gap is None else abs(gap) for gap in gaps), 3),
        figure="figure-11",
        missing="" if slots else
        "the rows have the mean of both orders: the scores of each order are needed")  # fmt: skip
    lengths = [row.length for row in rows if row.length is not None]
    clear = [part for part in lengths if part.p_value is not None and part.p_value < 0.05]
    add("Figure 12", "Longer answers where the judge is near-tied",
        *ends_of("longer wins, %", (in_percent(part.longer_share) for part in lengths), (55, 81),
                 0),
        value_of("judges whose residual goes with length", float(len(clear)), 3, 0),
        figure="figure-12",
        missing="" if lengths else "the rows have no lengths (len_a, len_b)")  # fmt: skip
    points = [row.family_points for row in (*rows, *newer) if row.family_points is not None]
    first, second = (
        [row.hard_family.excess for row in same if row.hard_family is not None]
        for same in (rows, newer)
    )
    add("Figure 13", "Own family, in points and in Elo",
        *ends_of("excess in points", (part.excess for part in points), (-0.07, 0.29), 2),
        value_of(f"judges with an excess in Elo, {_TITLES[_ARENA]}", _rises(first), 8, 0),
        value_of(f"judges with an excess in Elo, {_TITLES[_NEWER]}", _rises(second), 5, 0),
        figure="figure-13",
        missing="" if points or first else
        "no judge's family is known, or none has models here")  # fmt: skip


def _rises(values: Sequence[float]) -> float | None:
    """The number of values above 0."""
    return over(values, lambda known: float(sum(value > 0 for value in known)))


def _calibration(
    book: ItemBook, main: list[SoftEloRow], rows: dict[str, list[SoftEloRow]], remark: str
) -> None:
    """Appendix G, and Figure 7, which is about the same signal."""
    add = partial(book.add, remark=remark)
    errors = [row.ece for row in main]
    rates = [in_percent(row.agreement_rate) for row in main]
    add("Figure 15", "Reliability of each judge",
        mean_of("ECE, mean", errors, 0.050, 3),
        value_of("ECE, median", over(errors, median), 0.045, 3),
        value_of("agreement, least, %", over(rates, min), 60.8), figure="figure-15")  # fmt: skip
    means = {_ARENA: 0.050, _NEWER: 0.054, _FRENCH: 0.058}
    add("Table 7", "Calibration error by corpus",
        *(
            mean_of(f"mean ECE, {_TITLES[corpus]}", (row.ece for row in same), means[corpus], 3)
            for corpus, same in {**rows, _ARENA: main}.items()
        ))  # fmt: skip
    several = sum(bool(same) for same in rows.values()) > 1
    missing = "" if several else "needs files of two corpora"
    shown = [row for same in rows.values() for row in _judge(same, "GPT-OSS-120B")[:1]]
    paper = {_ARENA: 0.036, _NEWER: 0.046, _FRENCH: 0.034}
    add("Figure 16", "Reliability of one judge across corpora",
        *(mean_of(f"ECE, {row.corpus}", [row.ece], paper[row.corpus], 3) for row in shown),
        figure="figure-16", missing=missing)  # fmt: skip
    add("Figure 7", "Agreement by |s| on each corpus",
        *(
            mean_of(f"correlation of |s| and agreement, mean, {corpus}",
                    (row.agreement_correlation for row in same), None, 3)
            for corpus, same in rows.items()
            if same
        ),
        figure="figure-07", missing=missing)  # fmt: skip
    add("Appendix G", "Verdicts against the judge's own scores",
        mean_of("share, %", (in_percent(row.contradictions) for row in main), 11.6))  # fmt: skip
