"""The outcome of every table, figure and claim of the SCOPE paper and of a summary of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from adjudge.selection.evaluating import JudgeKey, MethodRisk, SignalQuality
from adjudge.statistics.entropy import preference_entropy
from adjudge.statistics.numbers import mean_known
from adjudge_papers.items import (
    ItemBook,
    Measured,
    PaperItem,
    ends_of,
    in_percent,
    over,
    read_published,
)
from adjudge_papers.reproduction import contains, size_of

if TYPE_CHECKING:
    from adjudge_papers.scope import (
        PublishedQuality,
        PublishedRisk,
        ReproducedSet,
        ScopeReproduction,
    )

_ALPHA = 0.10
_DATASETS: Sequence[str] = read_published("scope")["datasets"]
_JUDGES: Sequence[str] = read_published("scope")["judges"]
_7B, _MT_BENCH = _JUDGES[0], _DATASETS[0]
_METRICS = ("ece", "auroc", "auprc")
_NOT_ASKED = "the judgments have no rows by this protocol: give pairs and a judge"
_ONE_ORDER = "the judgments do not have both orders"
_NOT_HERE = "its judges or its data are not here"
#: Ours and the paper's, by the name of the value.
_Both = tuple[Measured, Measured]


def list_items(result: ScopeReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    remark = "" if result.simulated else _completeness(result)
    book = ItemBook("scope", simulated=result.simulated, remark=remark)
    _add_qualities(book, result)
    _add_risks(book, result)
    _add_curves_and_claims(book, result)
    return book.items()


def _completeness(result: ScopeReproduction) -> str:
    """The part of the paper's data in the result."""
    total = len(_DATASETS) * len(_JUDGES)
    theirs = sum(
        contains(reproduced.dataset, dataset) and contains(key[0], judge)
        for reproduced, key in result.cells
        for dataset in _DATASETS
        for judge in _JUDGES
    )
    if theirs == total:
        return ""
    if theirs == 0:
        return "other judges or data than the paper's"
    return f"{theirs} of the paper's {total} judges on data sets"


# --- the rows of the judges and data sets that the paper names -------------------------------


def _chosen(
    result: ScopeReproduction, dataset: str | None, judge: str | None
) -> list[tuple[ReproducedSet, JudgeKey]]:
    """The data set and judge that the paper names; all of them if none of these are here."""

    def any_of(names: Iterable[str], parts: Sequence[str]) -> bool:
        return any(contains(name, part) for name in names for part in parts)

    cells = result.cells
    known_data = any_of((reproduced.dataset for reproduced, _ in cells), _DATASETS)
    known_judge = any_of((key[0] for _, key in cells), _JUDGES)
    if dataset is not None and known_data:
        cells = [cell for cell in cells if contains(cell[0].dataset, dataset)]
    if judge is not None and result.simulated:
        return [cell for cell in cells if size_of(cell[1][0]) == size_of(judge)]
    if judge is not None and known_judge:
        return [cell for cell in cells if contains(cell[1][0], judge)]
    return cells


def _signals(
    result: ScopeReproduction, signal: str, judge: str | None = None
) -> list[SignalQuality]:
    """One signal of the named judge, on every data set."""
    return [
        quality
        for reproduced, key in _chosen(result, None, judge)
        for quality in reproduced.qualities
        if (quality.judge, quality.signal) == (key[0], signal)
    ]


def _method_rows(
    result: ScopeReproduction,
    method: str,
    *,
    dataset: str | None = None,
    judge: str | None = None,
    alpha: float | None = _ALPHA,
) -> list[MethodRisk]:
    """A method's rows for these judges and data sets."""
    return [
        row
        for reproduced, key in _chosen(result, dataset, judge)
        for row in reproduced.rows_of(method, key)
        if alpha is None or row.alpha == alpha
    ]


def _short(judge: str) -> str:
    """The short name of a judge of the paper: its size."""
    return judge.rpartition("-")[2]


def _compared(
    published: Iterable[Any],
    fields: Sequence[str],
    name: Callable[[Any, str], str],
    measured: Callable[[Any], Sequence[Any]],
) -> _Both:
    """Every number that the paper prints, with the mean of our rows."""
    ours: Measured = {}
    theirs: Measured = {}
    for row in published:
        for field in fields:
            if getattr(row, field) is not None:
                title = name(row, field)
                ours[title] = mean_known(getattr(part, field) for part in measured(row))
                theirs[title] = getattr(row, field)
    return ours, theirs


def _quality_values(result: ScopeReproduction, published: Iterable[PublishedQuality]) -> _Both:
    """The published metrics of signals, with ours."""
    return _compared(
        published,
        _METRICS,
        lambda row, metric: f"{metric.upper()}, {row.signal} {_short(row.judge)}",
        lambda row: _signals(result, row.signal, row.judge),
    )


def _risk_values(
    result: ScopeReproduction,
    published: Iterable[PublishedRisk],
    fields: Sequence[str] = ("coverage", "risk"),
) -> _Both:
    """Published coverage and error share, with ours."""

    def name(row: PublishedRisk, field: str) -> str:
        title = "error share" if field == "risk" else field
        at = "" if row.alpha == _ALPHA else f" at {row.alpha:g}"
        return f"{title}, {row.dataset} {_short(row.judge)} {row.method}{at}"

    def rows(row: PublishedRisk) -> list[MethodRisk]:
        cell = {"dataset": row.dataset, "judge": row.judge}
        return _method_rows(result, row.method, **cell, alpha=row.alpha)

    return _compared(published, fields, name, rows)


# --- items -----------------------------------------------------------------------------------


def _add_qualities(book: ItemBook, result: ScopeReproduction) -> None:
    published = result.published_qualities
    (single, single_paper), (entropy, entropy_paper) = (
        _quality_values(
            result, [row for row in published if (row.judge, row.signal) == (_7B, name)]
        )
        for name in ("single_order", "preference_entropy")
    )
    verbalized = _signals(result, "verbalized", _7B)
    unprinted = {
        f"{metric.upper()}, verbalized {_short(_7B)}": mean_known(
            getattr(quality, metric) for quality in verbalized
        )
        for metric in _METRICS
        if verbalized
    }
    best = [
        max(rated, key=lambda quality: quality.auroc or 0.0).signal == "preference_entropy"
        for reproduced, key in result.cells
        if (rated := [q for q in reproduced.qualities if q.judge == key[0] and q.auroc])
    ]
    highest = {"highest AUROC: preference_entropy, %": in_percent(mean_known(map(float, best)))}
    book.add(
        "Table 1",
        single | unprinted | entropy | highest,
        published=single_paper | entropy_paper,
        unknown=_ONE_ORDER,
    )
    book.add(
        "Table 2",
        {
            f"AUROC, {signal} {_short(judge)}": mean_known(
                quality.auroc for quality in _signals(result, signal, judge)
            )
            for judge in _JUDGES[:2]
            for signal in ("annotators", "preference_entropy")
        },
        missing="" if _signals(result, "annotators") else _NOT_ASKED,
    )
    ours, theirs = _quality_values(result, [row for row in published if row.ece is not None])
    book.add("Summary, uncertainty quality", ours, published=theirs, unknown=_ONE_ORDER)


def _add_risks(book: ItemBook, result: ScopeReproduction) -> None:
    published = [row for row in result.published if row.alpha == _ALPHA]
    ours, theirs = _risk_values(result, published)
    for title, field, method, dataset in (
        ("error share, vanilla, mt-bench", "risk", "vanilla", _MT_BENCH),
        ("error share, heuristic, mt-bench", "risk", "heuristic", _MT_BENCH),
        ("coverage, heuristic", "coverage", "heuristic", None),
        ("error share, scope", "risk", "scope", None),
    ):
        rows = _method_rows(result, method, dataset=dataset)
        ours |= ends_of(title, (getattr(row, field) for row in rows))
    book.add("Table 3", ours, published=theirs)
    complete = [row for row in published if None not in (row.coverage, row.risk)]
    ours, theirs = _risk_values(result, complete)
    book.add("Summary, risk control", ours, published=theirs)


def _add_curves_and_claims(book: ItemBook, result: ScopeReproduction) -> None:
    for dataset, panel in zip(_DATASETS, ("2a", "2b", "2c"), strict=True):
        drawn = [row for row in result.published if (row.dataset, row.method) == (dataset, "scope")]
        ours, theirs = _risk_values(result, drawn, ["coverage"])
        book.add(f"Figure {panel}", ours, published=theirs, unknown=_NOT_HERE)
    rows = _method_rows(result, "scope", alpha=None)
    loosest = _method_rows(result, "scope", alpha=max(read_published("scope")["alphas"]))
    book.add(
        "Figure 3",
        {
            "mean error shares above alpha": float(sum(not row.within_alpha for row in rows)),
            "mean error share minus alpha, most": over((r.risk - r.alpha for r in rows), max),
            **ends_of("standard deviation at alpha 0.25", (row.risk_sd for row in loosest)),
        },
    )
    ratio = over((row.ratio - row.alpha for row in rows if row.ratio is not None), max)
    book.add("Theorem 2.1", {"ratio minus alpha, most": ratio})
    scope, naive = (
        mean_known(row.coverage for row in _method_rows(result, name, dataset=_MT_BENCH, judge=_7B))
        for name in ("scope", "naive")
    )
    times = None if not naive or scope is None else scope / naive
    book.add(
        "Abstract and section 4.2",
        {f"times the coverage of naive, mt-bench {_short(_7B)}": times},
        unknown=_NOT_HERE,
    )
    spread = {
        key[0]: mean_known(row.risk_sd for row in reproduced.rows_of("scope", key))
        for reproduced, key in _chosen(result, _MT_BENCH, None)
    }
    ends = [spread[name] for name in sorted(spread, key=lambda name: size_of(name) or 0)] or [None]
    book.add(
        "Section 4.2, stability",
        {
            "standard deviation, smallest judge": ends[0],
            "standard deviation, largest judge": ends[-1],
        },
        unknown=_NOT_HERE,
    )
    # A formula needs no data.
    half, sure = preference_entropy([0.5, 0.95]).tolist()
    book.add("Appendix B.1", {"of 0.95": sure, "of one half": half}, remark="", simulated=False)
