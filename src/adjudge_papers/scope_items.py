"""The outcome of every table, figure and claim of the SCOPE paper and of a summary of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjudge.selection.evaluating import JudgeKey, MethodRisk, SignalQuality
from adjudge.statistics.entropy import preference_entropy
from adjudge.statistics.numbers import mean_known
from adjudge_papers import scope_published as published
from adjudge_papers.items import (
    ItemBook,
    ItemValue,
    PaperItem,
    ends_of,
    in_percent,
    mean_of,
    over,
    value_of,
)
from adjudge_papers.scope_result import (
    PublishedQuality,
    PublishedRisk,
    ReproducedSet,
    ScopeReproduction,
    contains,
    size_of,
)

_ALPHA = 0.10
_7B = published.JUDGES[0]
_NOT_ASKED = "the judgments have no rows by this protocol: give pairs and a judge"
_ONE_ORDER = "the judgments do not have both orders"
_NOT_HERE = "its judges or its data are not here"


def list_items(result: ScopeReproduction) -> tuple[PaperItem, ...]:
    """All items in the paper's order; an item that these rows do not allow has the reason."""
    book = ItemBook("scope", simulated=result.simulated)
    remark = "" if result.simulated else _completeness(result)
    _qualities(book, result, remark)
    _risks(book, result, remark)
    _curves(book, result, remark)
    _claims(book, result, remark)
    _without_numbers(book)
    _summary(book, result, remark)
    # A formula needs no data.
    exact = ItemBook("scope", simulated=False)
    half, sure = preference_entropy([0.5, 0.95]).tolist()
    exact.add(
        "Appendix B.1",
        "Entropy in nats",
        value_of("of 0.95", sure, 0.20, 2),
        value_of("of one half", half, 0.693, 3),
    )
    return (*book.items(), *exact.items())


def _completeness(result: ScopeReproduction) -> str:
    """The part of the paper's data in the result."""
    total = len(published.DATASETS) * len(published.JUDGES)
    theirs = sum(
        contains(one.dataset, dataset) and contains(key[0], judge)
        for one in result.datasets
        for key in one.keys
        for dataset in published.DATASETS
        for judge in published.JUDGES
    )
    if theirs == total:
        return ""
    if theirs == 0:
        return "other judges or data than the paper's"
    return f"{theirs} of the paper's {total} judges on data sets"


def _chosen(
    result: ScopeReproduction, dataset: str | None, judge: str | None
) -> list[tuple[ReproducedSet, JudgeKey]]:
    """The data set and judge that the paper names; all of them if none of these are here."""
    pairs = [(one, key) for one in result.datasets for key in one.keys]
    if dataset is not None and any(_known(one.dataset, published.DATASETS) for one, _ in pairs):
        pairs = [(one, key) for one, key in pairs if contains(one.dataset, dataset)]
    if judge is None:
        return pairs
    if result.simulated:
        return [(one, key) for one, key in pairs if size_of(key[0]) == size_of(judge)]
    if any(_known(key[0], published.JUDGES) for one in result.datasets for key in one.keys):
        return [(one, key) for one, key in pairs if contains(key[0], judge)]
    return pairs


def _known(name: str, names: Sequence[str]) -> bool:
    return any(contains(name, part) for part in names)


def _signals(
    result: ScopeReproduction, signal: str, judge: str | None = None
) -> Iterator[SignalQuality]:
    """One signal of the named judge, on every data set."""
    for one, key in _chosen(result, None, judge):
        yield from (s for s in one.qualities if (s.judge, s.signal) == (key[0], signal))


def _quality_values(result: ScopeReproduction, theirs: PublishedQuality) -> Iterator[ItemValue]:
    """The published numbers of a signal, with ours."""
    ours = list(_signals(result, theirs.signal, theirs.judge))
    for metric in ("ece", "auroc", "auprc"):
        known = getattr(theirs, metric)
        if known is not None:
            name = f"{metric.upper()}, {theirs.signal} {_short(theirs.judge)}"
            yield mean_of(name, (getattr(one, metric) for one in ours), known, 3)


def _qualities(book: ItemBook, result: ScopeReproduction, remark: str) -> None:
    theirs = {(one.judge, one.signal): one for one in published.QUALITIES}
    best = [
        max(own, key=lambda s: s.auroc or 0.0).signal == "preference_entropy"
        for one, key in _chosen(result, None, None)
        if (own := [s for s in one.qualities if s.judge == key[0] and s.auroc])
    ]
    verbalized = list(_signals(result, "verbalized", _7B))
    book.add(
        "Table 1",
        "Uncertainty quality: BPE and its baselines",
        *_quality_values(result, theirs[_7B, "single_order"]),
        *(
            mean_of(f"{metric.upper()}, verbalized {_short(_7B)}", values, digits=3)
            for metric in ("ece", "auroc", "auprc")
            if (values := [getattr(one, metric) for one in verbalized])
        ),
        *_quality_values(result, theirs[_7B, "preference_entropy"]),
        value_of("highest AUROC: preference_entropy, %", _share(best), digits=0),
        figure="quality",
        remark=remark,
        unknown=_ONE_ORDER,
    )
    asked = any(True for _ in _signals(result, "annotators"))
    book.add(
        "Table 2",
        "BPE against simulated annotators",
        *(
            mean_of(
                f"AUROC, {signal} {_short(judge)}",
                (one.auroc for one in _signals(result, signal, judge)),
                auroc,
                2,
            )
            for judge, signal, auroc in published.TABLE_2
        ),
        figure="quality",
        remark=remark,
        missing="" if asked else _NOT_ASKED,
    )


def _short(judge: str) -> str:
    """The short name of a judge of the paper: its size."""
    return judge.rpartition("-")[2]


def _share(flags: Sequence[bool]) -> float | None:
    return in_percent(mean_known(float(flag) for flag in flags))


def _at(
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
        for one, key in _chosen(result, dataset, judge)
        for row in one.rows_of(method, key)
        if alpha is None or row.alpha == alpha
    ]


def _risk_values(result: ScopeReproduction, theirs: PublishedRisk) -> Iterator[ItemValue]:
    """Published coverage and error share, with ours."""
    rows = _at(
        result, theirs.method, dataset=theirs.dataset, judge=theirs.judge, alpha=theirs.alpha
    )
    name = f"{theirs.dataset} {_short(theirs.judge)} {theirs.method}"
    for field, said in (("coverage", "coverage"), ("risk", "error share")):
        known = getattr(theirs, field)
        if known is not None:
            at = "" if theirs.alpha == _ALPHA else f" at {theirs.alpha:g}"
            ours = (getattr(row, field) for row in rows)
            yield mean_of(f"{said}, {name}{at}", ours, known, 3)


def _risks(book: ItemBook, result: ScopeReproduction, remark: str) -> None:
    mt_bench = published.DATASETS[0]
    vanilla, heuristic = (_at(result, name, dataset=mt_bench) for name in ("vanilla", "heuristic"))
    heuristics = _at(result, "heuristic")
    book.add(
        "Table 3",
        "Coverage and error share at alpha 0.10",
        *(
            value
            for one in published.RISKS
            if one.alpha == _ALPHA
            for value in _risk_values(result, one)
        ),
        *ends_of(
            "error share, vanilla, mt-bench",
            (row.risk for row in vanilla),
            published.VANILLA_RISK,
            3,
        ),
        *ends_of(
            "error share, heuristic, mt-bench",
            (row.risk for row in heuristic),
            published.HEURISTIC_RISK,
            3,
        ),
        *ends_of(
            "coverage, heuristic",
            (row.coverage for row in heuristics),
            published.HEURISTIC_COVERAGE,
            3,
        ),
        *ends_of(
            "error share, scope",
            (row.risk for row in _at(result, "scope")),
            published.SCOPE_RISK,
            3,
        ),
        figure="table-03",
        remark=remark,
    )


def _curves(book: ItemBook, result: ScopeReproduction, remark: str) -> None:
    panels = dict(zip(published.DATASETS, ("2a", "2b", "2c"), strict=True))
    for dataset, panel in panels.items():
        book.add(
            f"Figure {panel}",
            f"Coverage of scope against alpha, {dataset}",
            *(
                value
                for one in published.RISKS
                if (one.dataset, one.method) == (dataset, "scope")
                for value in _risk_values(result, one)
                if value.name.startswith("coverage")
            ),
            figure="figure-02",
            remark=remark,
            unknown=_NOT_HERE,
        )
    rows = _at(result, "scope", alpha=None)
    spread = _at(result, "scope", alpha=max(published.ALPHAS))
    above = sum(not row.within_alpha for row in rows)
    book.add(
        "Figure 3",
        "Error share of scope against alpha, one standard deviation around it",
        value_of("mean error shares above alpha", float(above), 0.0, 0),
        value_of("mean error share minus alpha, most", over((r.risk - r.alpha for r in rows), max),
                 digits=4),
        *ends_of("standard deviation at alpha 0.25", (row.risk_sd for row in spread), digits=3),
        figure="figure-03",
        remark=remark,
    )  # fmt: skip


def _claims(book: ItemBook, result: ScopeReproduction, remark: str) -> None:
    rows = _at(result, "scope", alpha=None)
    ratio = over((row.ratio - row.alpha for row in rows if row.ratio is not None), max)
    book.add(
        "Theorem 2.1",
        "The ratio of errors to accepted; see docs/guarantees.md",
        value_of("ratio minus alpha, most", ratio, 0.0, 3),
        remark=remark,
    )
    mine, naive = (
        mean_known(row.coverage for row in _at(result, name, dataset="mt-bench", judge=_7B))
        for name in ("scope", "naive")
    )
    book.add(
        "Abstract and section 4.2",
        "Scope accepts more than naive at alpha 0.10",
        value_of(
            f"times the coverage of naive, mt-bench {_short(_7B)}",
            None if not naive or mine is None else mine / naive,
            published.MORE_THAN_NAIVE,
        ),
        remark=remark,
        unknown=_NOT_HERE,
    )
    spread = {
        key[0]: mean_known(row.risk_sd for row in one.rows_of("scope", key))
        for one, key in _chosen(result, "mt-bench", None)
    }
    ends = [spread[name] for name in sorted(spread, key=lambda name: size_of(name) or 0)] or [None]
    book.add(
        "Section 4.2, stability",
        "Error shares scatter over splits, mt-bench, mean over alphas",
        value_of("standard deviation, smallest judge", ends[0], digits=4),
        value_of("standard deviation, largest judge", ends[-1], digits=4),
        remark=remark,
        unknown=_NOT_HERE,
    )


def _without_numbers(book: ItemBook) -> None:
    book.add("Figure 1", "Overview of the framework", missing="a drawing without numbers")
    for number, about, name in (
        (4, "Pairwise prompt", "preference"),
        (5, "Verbalized confidence prompt", "verbalized"),
        (6, "Simulated annotator prompt", "annotators"),
    ):
        book.add(
            f"Figure {number}",
            about,
            missing=f"a prompt without numbers; ours is that of --protocol {name}",
        )


def _summary(book: ItemBook, result: ScopeReproduction, remark: str) -> None:
    excerpt = [one for one in published.QUALITIES if one.ece is not None]
    book.add(
        "Summary, uncertainty quality",
        "BPE, predictive probability and swap and vote",
        *(value for one in excerpt for value in _quality_values(result, one)),
        figure="quality",
        remark=remark,
        unknown=_ONE_ORDER,
    )
    book.add(
        "Summary, risk control",
        "Coverage and error share at alpha 0.10",
        *(
            value
            for one in published.RISKS
            if one.alpha == _ALPHA and one.coverage is not None and one.risk is not None
            for value in _risk_values(result, one)
        ),
        figure="table-03",
        remark=remark,
    )
