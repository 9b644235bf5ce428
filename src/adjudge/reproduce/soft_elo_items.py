"""What became of every table, figure and claim of the Soft-Elo paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from adjudge._stats import mean_known
from adjudge.reproduce import soft_elo_published as published
from adjudge.results.items import ItemValue, PaperItem, Status
from adjudge.results.ranking_reproduction import SoftEloReproduction, SoftEloRow
from adjudge.results.soft_elo_parts import BetaStability

PAPER = "soft-elo"
_Reduce = Callable[[Sequence[float]], float]
_ARENA, _NEWER, _FRENCH = published.CORPORA
_UNBOUNDED = "intervals are unbounded: too few models"
#: How many judges the paper has on each corpus.
_JUDGES = {_ARENA: 8, _NEWER: 7, _FRENCH: 7}


def list_items(result: SoftEloReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; one that these rows do not allow says why."""
    rows = {name: [row for row in result.rows if row.corpus == name] for name in _JUDGES}
    # Files that are not the release's are taken for its main corpus.
    main = rows[_ARENA] or list(result.rows)
    book = _Book(result.simulated)
    _ratings(book, main)
    _temperatures(book, main)
    for corpus, name in ((_NEWER, "LMArena 140K"), (_FRENCH, "ComparIA")):
        _replication(book, rows[corpus], corpus, name)
    _languages(book, result)
    _biases(book, main, rows[_NEWER])
    _calibration(book, main, rows)
    return tuple(sorted(book.items, key=lambda item: _place(item.name)))


class _Book:
    """The list as it is written."""

    def __init__(self, simulated: bool) -> None:
        self.items: list[PaperItem] = []
        self._simulated = simulated

    def add(
        self,
        name: str,
        about: str,
        *values: ItemValue,
        figure: str | None = None,
        rows: Sequence[SoftEloRow] | None = None,
        missing: str = "",
        unknown: str = "the rows do not have what it takes",
    ) -> None:
        """An item; not possible where something is `missing` or none of its numbers is known."""
        if not missing and values and all(value.ours is None for value in values):
            missing = unknown
        reason = missing
        if not missing and rows and not self._simulated:
            reason = _completeness(rows)
        done: Status = "simulated" if self._simulated else "reproduced"
        status: Status = "not possible" if missing else done
        self.items.append(
            PaperItem(
                paper=PAPER,
                name=name,
                about=about,
                status=status,
                values=() if missing else values,
                figure=None if missing else figure,
                reason=reason,
            )
        )


def _completeness(rows: Sequence[SoftEloRow]) -> str:
    """How much of the paper's data the rows are."""
    theirs = sum(row.published_hard_mae is not None for row in rows)
    total = _JUDGES.get(rows[0].corpus)
    if total is not None and theirs == total == len(rows):
        return ""
    if not theirs:
        return "other judges than the paper's"
    return f"{theirs} of the paper's {total} judges"


def _place(name: str) -> tuple[int, int, str]:
    """Tables, then figures, then the text, each in order."""
    numbered = re.match(r"(Table|Figure) (\d+)", name)
    if numbered is None:
        return 2, 0, name
    return int(numbered[1] == "Figure"), int(numbered[2]), name


def _over(values: Iterable[float | None], reduce: _Reduce) -> float | None:
    known = [value for value in values if value is not None]
    return reduce(known) if known else None


def _ends(
    name: str, values: Iterable[float | None], theirs: tuple[float, float], digits: int = 1
) -> tuple[ItemValue, ItemValue]:
    """The least and the most of a number over judges, as the paper states ranges."""
    known = list(values)
    least, most = _over(known, min), _over(known, max)
    return (
        ItemValue(name=f"{name}, least", ours=least, published=theirs[0], digits=digits),
        ItemValue(name=f"{name}, most", ours=most, published=theirs[1], digits=digits),
    )


def _mean(
    name: str, values: Iterable[float | None], theirs: float | None = None, digits: int = 1
) -> ItemValue:
    return ItemValue(name=name, ours=mean_known(values), published=theirs, digits=digits)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else factor * value


def _cut(hard: float | None, soft: float | None) -> float | None:
    """By how many per cent a number falls."""
    return None if not hard or soft is None else 100 * (1 - soft / hard)


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _judge(rows: Sequence[SoftEloRow], name: str) -> list[SoftEloRow]:
    """The judge that the paper shows, or all of them where it is not here."""
    return [row for row in rows if row.judge == name] or list(rows)


def _ratings(book: _Book, rows: list[SoftEloRow]) -> None:
    """Sections 4 and 5: errors, intervals, residuals by strength."""
    book.add(
        "Table 1", "Hard-Elo diagnostics across judges",
        *_ends("mean |s|", (row.mean_score for row in rows), (1.34, 2.08), 2),
        *_ends("kappa", (row.kappa for row in rows), (0.147, 0.231), 3),
        *_ends("Spearman", (row.hard_spearman for row in rows), (0.868, 0.976), 3),
        *_ends("error", (row.hard_mae for row in rows), (27.5, 63.4)),
        rows=rows,
    )  # fmt: skip
    book.add(
        "Table 2", "Held-out error, hard and soft",
        _mean("mean error, hard", (row.hard_mae for row in rows), 45.9),
        _mean("mean error, soft", (row.soft_mae for row in rows), 17.9),
        *_ends("error cut, %", (_cut(row.hard_mae, row.soft_mae) for row in rows), (39, 73), 0),
        *_ends(
            "change of Spearman", (_less(row.soft_spearman, row.hard_spearman) for row in rows),
            (-0.011, 0.012), 3,
        ),
        figure="errors", rows=rows,
    )  # fmt: skip
    book.add(
        "Table 3", "Split-conformal widths and coverage",
        *_ends(
            "coverage hard, %", (_times(row.hard_coverage, 100) for row in rows), (88.6, 97.9)
        ),
        *_ends(
            "coverage soft, %", (_times(row.soft_coverage, 100) for row in rows), (92.1, 96.4)
        ),
        *_ends("width cut, %", (_cut(row.hard_width, row.soft_width) for row in rows), (39, 70), 0),
        rows=rows, unknown=_UNBOUNDED,
    )  # fmt: skip
    book.add(
        "Table 8", "Label smoothing by constant, mean error",
        *(
            _mean(f"c = {c}", (row.smoothed.get(c) for row in rows), theirs)
            for c, theirs in zip(
                ("0.55", "0.65", "0.75", "0.85", "0.95"), (41.1, 29.7, 26.9, 38.8, 57.6),
                strict=True,
            )
        ),
        rows=rows,
    )  # fmt: skip
    book.add(
        "Figure 1", "Targets, held-out Elo and intervals of one judge",
        ItemValue(name="models", ours=max((row.models for row in rows), default=None),
                  published=55, digits=0),
        figure="figure-01", rows=rows,
    )  # fmt: skip
    correlations = [row.strength.hard_correlation if row.strength else None for row in rows]
    book.add(
        "Figure 2", "Hard-Elo residuals against strength",
        *_ends("correlation", correlations, (0.49, 0.90), 2), figure="figure-02", rows=rows,
    )  # fmt: skip
    book.add(
        "Figure 4", "Held-out Elo, residuals by quarter, error by budget",
        *_budget_values(rows, "mean", None), figure="figure-04", rows=rows,
    )  # fmt: skip
    quarters = [
        _mean(f"{method}, quarter {q + 1}", (_at(getattr(row, f"{method}_quarters"), q)
              for row in rows), published.QUARTERS[method][q], 0)
        for method in ("hard", "soft")
        for q in range(4)
    ]  # fmt: skip
    book.add("Figure 14", "Residuals by quarter of strength", *quarters, figure="figure-14",
             rows=rows, unknown="it takes eight models")  # fmt: skip
    falls = [_less(row.soft_quantile, row.hard_quantile) for row in rows]
    narrower = [_less(row.soft_width, row.hard_width) for row in rows]
    book.add(
        "Figure 17", "Width as quantile times standard error",
        ItemValue(name="judges whose quantile falls", ours=_count(falls), published=5, digits=0),
        ItemValue(name="judges whose width falls", ours=_count(narrower), published=8, digits=0),
        figure="figure-17", rows=rows, unknown=_UNBOUNDED,
    )  # fmt: skip
    parts = [row.strength for row in rows if row.strength is not None]
    book.add(
        "Section 4.2", "Median |s| by strength of the two models",
        _mean("strongest quarter among itself", (part.top_top for part in parts), 0.61, 2),
        _mean("strongest against weakest", (part.top_bottom for part in parts), 1.54, 2),
        rows=rows,
    )  # fmt: skip


def _at(values: Sequence[float], k: int) -> float | None:
    return values[k] if len(values) == 4 else None


def _count(changes: Sequence[float | None]) -> float | None:
    """How many fall; None where none is known."""
    return _over(changes, lambda known: float(sum(change < 0 for change in known)))


def _budget_values(
    rows: Sequence[SoftEloRow], word: str, theirs: Sequence[float] | None
) -> list[ItemValue]:
    """Error at the smallest and the largest budget that all judges have, hard and soft."""
    reduce: _Reduce = median if word == "median" else (lambda known: sum(known) / len(known))
    sizes = [{one.per_model for one in row.budgets} for row in rows]
    common = sorted(set.intersection(*sizes)) if sizes else []
    values = []
    ends = [common[0], common[-1]] if common else []
    for k, (method, size) in enumerate((m, b) for m in ("hard-elo", "soft-elo") for b in ends):
        errors = [
            one.mae
            for row in rows
            for one in row.budgets
            if one.method == method and one.per_model == size
        ]
        # The paper's ends are 5 and 200 battles per model.
        known = theirs[k] if theirs is not None and size in (5.0, 200.0) else None
        name = f"{word} error, {method}, {size:g} battles per model"
        values.append(ItemValue(name=name, ours=_over(errors, reduce), published=known))
    return values


def _temperatures(book: _Book, rows: list[SoftEloRow]) -> None:
    """Section 5.1 and appendix C."""
    first = [row.agreement[0].agreement for row in rows if row.agreement]
    last = [row.agreement[-1].agreement for row in rows if row.agreement]
    shown = _judge(rows, "Qwen3-32B")
    book.add(
        "Figure 3", "Agreement by |s|, reliability before and after beta",
        _mean("agreement at the smallest |s|, %", (100 * v for v in first), 53, 0),
        _mean("agreement at the largest |s|, %", (100 * v for v in last), 85, 0),
        _mean("ECE at beta = 1", (row.raw_ece for row in shown), 0.14, 2),
        _mean("ECE at the fitted beta", (row.ece for row in shown), 0.03, 2),
        figure="figure-03", rows=rows,
    )  # fmt: skip
    one = _judge(rows, "Qwen3.5-27B")
    book.add(
        "Figure 6", "beta and error by budget",
        *_ends("beta", (row.beta for row in rows), (0.36, 0.60), 2),
        *_budget_values(one, "mean", (125, 48, 81, 17)),
        *_budget_values(rows, "median", (123, 47, 86, 19)),
        figure="figure-06", rows=rows,
    )  # fmt: skip
    pairs = [(row, row.stability) for row in rows if row.stability is not None]
    changes = [
        None if part.pooled_mae is None or row.soft_mae is None
        else abs(part.pooled_mae - row.soft_mae)
        for row, part in pairs
    ]  # fmt: skip

    def over(field: str) -> list[float | None]:
        return [getattr(part, field) for _, part in pairs]

    book.add(
        "Appendix C", "Stability of beta, and beta with ties at one half",
        ItemValue(name="standard deviation over folds, most", ours=_over(over("fold_sd"), max),
                  published=0.005, digits=4),
        _mean("deviation from the pooled fit, mean", over("mean_deviation"), 0.0026, 4),
        ItemValue(name="deviation from the pooled fit, most",
                  ours=_over(over("largest_deviation"), max), published=0.016, digits=4),
        _mean("change of error by the pooled fit, mean", changes, 0.09, 2),
        ItemValue(name="change of error by the pooled fit, most", ours=_over(changes, max),
                  published=0.18, digits=2),
        _mean("beta with ties / beta", (_ratio(part) for _, part in pairs), 0.56, 2),
        _mean("change of error with ties",
              (_less(part.with_ties_mae, row.soft_mae) for row, part in pairs), 7),
        _mean("change of Spearman with ties",
              (_less(part.with_ties_spearman, row.soft_spearman) for row, part in pairs), -0.002,
              3),
        rows=rows,
    )  # fmt: skip


def _ratio(part: BetaStability) -> float | None:
    return None if part.with_ties is None else part.with_ties / part.pooled


def _replication(book: _Book, rows: list[SoftEloRow], corpus: str, name: str) -> None:
    """Appendix D on one of the two other corpora."""
    newer = corpus == _NEWER
    missing = "" if rows else f"no files of {corpus}"
    book.add(
        f"Table 4, {name}", "Held-out error on another corpus",
        *_ends("error cut, %", (_cut(row.hard_mae, row.soft_mae) for row in rows),
               (45, 79) if newer else (20, 81), 0),
        rows=rows, missing=missing,
    )  # fmt: skip
    cuts = [_cut(row.hard_width, row.soft_width) for row in rows]
    book.add(
        f"Table 5, {name}", "Conformal widths on another corpus",
        *_ends("width cut, %", cuts, (30, 73) if newer else (19, 78), 0),
        _mean("width cut, %, mean", cuts, 56, 0), rows=rows, missing=missing, unknown=_UNBOUNDED,
    )  # fmt: skip
    shown = _judge(rows, "Gemma4-26B-A4B")[:1]
    figure = "figure-08" if newer else "figure-09"
    soft = [one for row in shown for one in row.held_out if one.method == "soft-elo"]
    inside = [one.covered for one in soft if one.covered is not None]
    share = 100 * sum(inside) / len(inside) if inside else None
    book.add(
        f"Figure {8 if newer else 9}", f"Intervals of each model on {name}",
        ItemValue(name="median width, hard", ours=_median_width(shown, "hard-elo"),
                  published=328 if newer else 580, digits=0),
        ItemValue(name="median width, soft", ours=_median_width(shown, "soft-elo"),
                  published=87 if newer else 117, digits=0),
        ItemValue(name="contain people's Elo, soft, %", ours=share,
                  published=94 if newer else 92, digits=0),
        figure=figure, rows=rows, missing=missing, unknown=_UNBOUNDED,
    )  # fmt: skip


def _median_width(rows: Sequence[SoftEloRow], method: str) -> float | None:
    widths = [
        _less(one.high, one.low) for row in rows for one in row.held_out if one.method == method
    ]
    return _over(widths, median)


def _languages(book: _Book, result: SoftEloReproduction) -> None:
    """Figure 5 and appendix E."""
    counts = result.language_counts
    main = counts.get(_ARENA) or next(iter(counts.values()), {})
    none = "" if main else "the rows do not name languages"
    english = 100 * main.get("en", 0) / sum(main.values()) if main else None
    book.add(
        "Figure 5", "Prompts by language and corpus",
        ItemValue(name="languages", ours=float(len(main)) or None, published=80, digits=0),
        ItemValue(name="English, %", ours=english, published=58, digits=0),
        figure="figure-05", missing=none,
    )  # fmt: skip
    corpus = _ARENA if any(row.corpus == _ARENA for row in result.languages) else None
    rows = [row for row in result.languages if corpus is None or row.corpus == corpus]
    few = none or ("" if rows else "no language has 50 prompts that all judges scored")
    book.add(
        "Table 6", "Error by language, means over judges",
        ItemValue(name="languages", ours=float(len(rows)), published=13, digits=0),
        *_ends("error cut, %", (_cut(row.hard_mae, row.soft_mae) for row in rows), (74, 85), 0),
        missing=few,
    )  # fmt: skip
    book.add(
        "Figure 10", "|s| and agreement by language",
        *_ends("agreement, %", (_times(row.agreement, 100) for row in rows), (61, 84), 0),
        figure="figure-10", missing=few,
    )  # fmt: skip
    changes = [_less(row.own_beta_mae, row.soft_mae) for row in rows]
    near = _over(changes, lambda known: float(sum(abs(change) <= 5 for change in known)))
    book.add(
        "Appendix E", "A beta for each language",
        ItemValue(name="languages within 5 Elo of the pooled beta", ours=near, published=10,
                  digits=0),
        ItemValue(name="largest rise of the error", ours=_over(changes, max), published=21.8),
        missing=few,
    )  # fmt: skip


def _biases(book: _Book, rows: list[SoftEloRow], newer: list[SoftEloRow]) -> None:
    """Appendix F.1: order, length, family."""
    slots = [row.position for row in rows if row.position is not None]
    gaps = [
        None if part.first_mae is None or part.second_mae is None
        else abs(part.first_mae - part.second_mae)
        for part in slots
    ]  # fmt: skip
    orders = "" if slots else "the rows hold the mean of both orders: it takes each order's scores"
    book.add(
        "Figure 11", "Order of presentation: verdicts and Elo",
        *_ends("first slot wins, %", (100 * part.first_share for part in slots), (61, 66), 0),
        *_ends("verdict flips, %", (100 * part.flip_share for part in slots), (30, 36), 0),
        _mean("first slot, points", (part.advantage for part in slots), 0.5),
        *_ends("first slot favoured, %", (100 * part.first_favoured for part in slots), (69, 78),
               0),
        _mean("difference of errors by order", gaps, 3), figure="figure-11", missing=orders,
    )  # fmt: skip
    lengths = [row.length for row in rows if row.length is not None]
    short = "" if lengths else "the rows have no lengths (len_a, len_b)"
    clear = [part for part in lengths if part.p_value is not None and part.p_value < 0.05]
    book.add(
        "Figure 12", "Longer answers where the judge is near-tied",
        *_ends("longer wins, %", (_times(part.longer_share, 100) for part in lengths), (55, 81),
               0),
        ItemValue(name="judges whose residual goes with length", ours=float(len(clear)),
                  published=3, digits=0),
        figure="figure-12", missing=short,
    )  # fmt: skip
    points = [row.family_points for row in (*rows, *newer) if row.family_points is not None]
    elo = [row.hard_family for row in rows if row.hard_family is not None]
    elo_newer = [row.hard_family for row in newer if row.hard_family is not None]
    unknown = "" if points or elo else "no judge's family is known, or none has models here"
    book.add(
        "Figure 13", "Own family, in points and in Elo",
        *_ends("excess in points", (part.excess for part in points), (-0.07, 0.29), 2),
        ItemValue(name="judges with an excess in Elo, LMArena 100K",
                  ours=float(sum(part.excess > 0 for part in elo)) if elo else None, published=8,
                  digits=0),
        ItemValue(name="judges with an excess in Elo, LMArena 140K",
                  ours=float(sum(part.excess > 0 for part in elo_newer)) if elo_newer else None,
                  published=5, digits=0),
        figure="figure-13", missing=unknown,
    )  # fmt: skip


def _calibration(book: _Book, main: list[SoftEloRow], rows: dict[str, list[SoftEloRow]]) -> None:
    """Appendix G, and Figure 7, which is about the same signal."""
    errors = [row.ece for row in main]
    book.add(
        "Figure 15", "Reliability of each judge",
        _mean("ECE, mean", errors, 0.050, 3),
        ItemValue(name="ECE, median", ours=_over(errors, median), published=0.045, digits=3),
        figure="figure-15", rows=main,
    )  # fmt: skip
    means = zip(_JUDGES, ("LMArena 100K", "LMArena 140K", "ComparIA"), (0.050, 0.054, 0.058),
                strict=True)  # fmt: skip
    book.add(
        "Table 7", "Calibration error by corpus",
        *(
            _mean(f"mean ECE, {name}", (row.ece for row in rows[corpus] or
                  (main if corpus == _ARENA else [])), theirs, 3)
            for corpus, name, theirs in means
        ),
    )  # fmt: skip
    several = sum(bool(same) for same in rows.values()) > 1
    missing = "" if several else "it takes files of two corpora"
    shown = [row for same in rows.values() for row in _judge(same, "GPT-OSS-120B")[:1]]
    theirs = {_ARENA: 0.036, _NEWER: 0.046, _FRENCH: 0.034}
    book.add(
        "Figure 16", "Reliability of one judge across corpora",
        *(_mean(f"ECE, {row.corpus}", [row.ece], theirs[row.corpus], 3) for row in shown),
        figure="figure-16", missing=missing,
    )  # fmt: skip
    book.add(
        "Figure 7", "Agreement by |s| on each corpus",
        *(
            _mean(f"correlation of |s| and agreement, mean, {corpus}",
                  (row.agreement_correlation for row in same), None, 3)
            for corpus, same in rows.items()
            if same
        ),
        figure="figure-07", missing=missing,
    )  # fmt: skip
    book.add(
        "Appendix G", "Verdicts against the judge's own scores",
        _mean("share, %", (_times(row.contradictions, 100) for row in main), 11.6), rows=main,
    )  # fmt: skip
