"""SCOPE (arXiv 2602.13110): its protocol on data you have, or on a simulator.

MT-Bench, RewardBench and Chatbot Arena are not included. If you give judgments of them (or the
pairs and a judge), the paper's numbers are shown with yours where judge and data are the paper's.
Without data, simulated judgments of the same shape are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import files
from itertools import cycle
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import expit

from adjudge.data import (
    FORMATS,
    kinds_of,
    prepare_judgments,
    read_judgments,
    read_pairs,
    read_public,
    sniff,
)
from adjudge.data.rows import Rows, judge_names, measured, merge_dropped
from adjudge.data.steps.labels import take_labels
from adjudge.data.tables import Table, TableLike, source_name
from adjudge.errors import ArgumentError, UnusableRepliesError
from adjudge.judges import judge_pairs
from adjudge.judges.options import OneJudge
from adjudge.judges.prompting import make_prompt
from adjudge.judges.protocols.verbalized import Verbalized
from adjudge.present.blocks import Headline
from adjudge.present.figure import INK, MARKS, MUTED, SERIES, new_figure
from adjudge.present.result import frozen
from adjudge.present.text import clip, percent, span
from adjudge.present.text import count as count_of
from adjudge.selection import evaluate_doubt
from adjudge.selection.evaluating import Evaluation, JudgeKey
from adjudge.statistics.entropy import preference_entropy, random_orders
from adjudge.validation import FloatArray, Seed, count, generator
from adjudge_papers.paper import (
    REHEARSAL,
    Gallery,
    Picks,
    Reproduction,
    build_items,
    costs_calls,
    measured_tables,
    read_prompts,
    row_of,
    source_of,
    values_of,
)
from adjudge_papers.printed import Row, contains, paper_tables, read_published, read_rows, size_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


#: The paper's protocols; swap and vote uses the two orders of the first.
PROTOCOLS = ("preference", "verbalized", "annotators")
#: The paper's methods; `evaluate` has every guarantee.
METHODS = ("vanilla", "heuristic", "naive", "scope")
#: Demonstrations that personas are made from: at most as many as in the paper, at most a fifth.
_POOL = 50
_POOL_SHARE = 5
_PER_PERSONA = 5
#: The alpha of the paper's Table 3, and the method that its figures show at every alpha.
_TABLE_3 = 0.10
_DRAWN = "scope"
_ENTROPY = "preference_entropy"
PICTURES = Gallery()


@frozen
class ScopeReproduction(Reproduction):
    """The SCOPE paper's protocol on the given data, with its published numbers."""

    kind: ClassVar[str] = "reproduction_scope"
    paper: ClassVar[str] = "scope"
    drawings = PICTURES
    main_table: ClassVar[str] = "risks"

    def headline(self) -> Headline:
        """Whether scope kept its mean error share, over all data sets, judges and alphas."""
        rows = self.rows("curves")
        if not rows:
            return Headline("No judge was evaluated", tone="bad")
        within = sum(row["within"] for row in rows)
        worst = max(rows, key=lambda row: row["risk"] - row["alpha"])
        datasets = {row["dataset"] for row in rows}
        splits = self.settings.get("splits", 0)
        text = (
            f"{_DRAWN}'s mean error share over {splits:,.0f} splits is at most alpha in {within} "
            f"of {count_of(len(rows), 'row')} ({count_of(len(datasets), 'data set')})"
        )
        if within < len(rows):
            text += f"; the furthest above is {worst['risk']:.3f} at alpha {worst['alpha']:g}"
        return Headline(text, self.caution)


def reproduce_scope(
    data: Mapping[str, TableLike] | None = None,
    *,
    judge: OneJudge | None = None,
    sample: int = 2000,
    splits: int = 1000,
    prompts: Mapping[str, str | Path] | None = None,
    seed: int = 0,
    **asking: Any,
) -> ScopeReproduction:
    """The tables and figures of the SCOPE paper.

    Ties dropped, `sample` items drawn, random halves, alphas 0.05 to 0.25, all methods. A judge is
    asked by every protocol of the paper: preference in both orders, verbalized confidence from 0 to
    1, and simulated annotators, whose demonstrations (50 pairs, or a fifth if there are few) are in
    neither calibration nor test, also not with their sides swapped.

    Args:
        data: Labelled judgments, or pairs to be judged, by name. Names with published figures:
            mt-bench, rewardbench, chatbot-arena. Pairs are in our format or as published. Without
            data, judgments of the paper's shape are simulated; their figures are not the paper's.
        judge: The judge to ask if a file holds pairs: in both orders, for its confidence, and as
            five annotators.
        sample: Items sampled from each data set.
        splits: Random 50/50 splits.
        prompts: Your prompt file for a protocol (preference, verbalized, annotators), for the
            paper's own wording.
        seed: Seed of everything random.
        asking: Options of `judge_pairs`, for example a store.

    >>> done = reproduce_scope(sample=100, splits=20)
    >>> done.is_simulated(), [row["dataset"] for row in done.rows("sets")]
    (True, ['mt-bench', 'rewardbench', 'chatbot-arena'])
    """
    count(sample, "sample", least=10)
    count(splits, "splits", least=1)
    asking["protocols"] = _protocols(prompts or {})
    if data and costs_calls(judge):
        rehearsal = {"store": None, "protocols": asking["protocols"]}
        for name, table in data.items():
            _reproduce(_open(name, table, REHEARSAL, sample, seed, rehearsal), sample, 1, seed)
    if judge is not None and not data:
        raise ArgumentError("judge", str(judge), "give the pairs to ask it about: --data NAME=FILE")
    sets: Mapping[str, TableLike] = data or simulate_benchmarks(sample, seed=seed)
    sources = [_open(name, table, judge, sample, seed, asking) for name, table in sets.items()]
    tables: dict[str, list[Row]] = {"sets": [], "qualities": [], "risks": [], "curves": []}
    dropped: dict[str, int] = {}
    for source in sources:
        measured, lost = _reproduce(source, sample, splits, seed)
        for name, rows in measured.items():
            tables[name] += rows
        dropped = merge_dropped(dropped, source.dropped, lost)
    measured_by = "simulator" if not data else ", ".join(data)
    where = source_of(row["judge"] for row in tables["qualities"])
    entropies = [{"p": p, "entropy": float(preference_entropy([p])[0])} for p in (0.5, 0.95)]
    done = measured_tables(
        {name: (rows, measured_by, where) for name, rows in tables.items()}
        # Appendix B.1: a formula, which needs no data.
        | {"entropy": (entropies, "", "formula")}
    )
    return ScopeReproduction(
        settings={"sample": sample, "splits": splits},
        seed=seed,
        tables=done,
        items=build_items("scope", done, picks=PICKS),
        warnings=tuple(line for source in sources for line in source.warnings),
        dropped=dropped,
    )


def _protocols(prompts: Mapping[str, str | Path]) -> dict[str, Any]:
    """How each protocol is asked: confidence on the paper's scale, and with the given prompts."""
    texts = read_prompts(prompts, *PROTOCOLS)
    stated = files("adjudge_papers") / "prompts" / "verbalized.txt"
    paper = make_prompt("verbalized.txt", stated.read_text(encoding="utf-8"))
    others = {name: {"protocol": name} for name in PROTOCOLS}
    for name in texts:
        others[name]["prompt"] = str(prompts[name])
    return others | {"verbalized": {"protocol": Verbalized(prompt=texts.get("verbalized", paper))}}


@dataclass(frozen=True)
class _Source:
    """Labelled judgments of one data set, its number of items, and warnings.

    `dropped` are the rows that were left out before items were sampled.
    """

    name: str
    frame: pl.DataFrame
    available: int
    file: str
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


def _open(
    name: str,
    table: TableLike,
    judge: OneJudge | None,
    n: int,
    seed: int,
    asking: Mapping[str, Any],
) -> _Source:
    """Decided rows; a judge is asked about a sample of them if needed."""
    format = sniff(table)
    file = source_name(table)
    judged = format == "judgments" or (judge is None and "judgments" in kinds_of(format))
    if judged:
        prepared = prepare_judgments(table)
        if _answered_other_items(prepared.frame):
            prepared = replace(prepared, frame=judge_names(prepared.frame))
        # Items are sampled among those that a judge answered and people decided.
        rows = measured(_decided(name, Rows(prepared.frame, prepared.dropped), file))
        return _Source(name, rows.frame, rows.frame["id"].n_unique(), file, dropped=rows.dropped)
    if judge is None:
        raise ArgumentError(
            "data", name, "has pairs, not judgments: also give a --judge to ask about them"
        )
    if format is None or format not in FORMATS:
        pairs = read_pairs(table)
    else:
        pairs = read_public(table, format, kind="pairs", seed=seed).frame
    labelled = _decided(name, Rows(pairs), file)
    frame, warnings = _ask(name, labelled.frame, judge, n, seed, asking)
    return _Source(name, frame, labelled.frame.height, file, warnings, labelled.dropped)


def _answered_other_items(frame: pl.DataFrame) -> bool:
    """Whether a judge's protocols answered different items: then they are no signals of one."""
    if not {"judge", "protocol"} <= set(frame.columns):
        return False
    items = pl.col("id").n_unique()
    by_protocol = frame.select("judge", items.over("judge", "protocol").alias("items"), "id")
    return bool(by_protocol.select((pl.col("items") < items.over("judge")).any()).item())


def _decided(name: str, rows: Rows, file: str) -> Rows:
    """The rows that people labelled A or B."""
    if "label" not in rows.frame.columns:
        raise ArgumentError("data", name, "has no human labels in the column label")
    rows = rows.without(pl.col("label").is_null(), "no label")
    rows = take_labels(rows, "label", file).rows
    # Labels that are not used were counted by their reason.
    used = Rows(rows.frame.filter(pl.col("label").is_not_null()), rows.dropped)
    return used.without(pl.col("label") == "tie", "human tie")


def _ask(
    name: str, pairs: pl.DataFrame, judge: OneJudge, n: int, seed: int, asking: Mapping[str, Any]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The judge's rows by every protocol, and the protocols that it cannot answer.

    A pair that has the texts of a demonstration, in either order, is not judged.
    """
    options = dict(asking)
    protocols: Mapping[str, Any] = options.pop("protocols")
    texts = [
        f"{prompt}\0{min(a, b)}\0{max(a, b)}"
        for prompt, a, b in pairs.select("prompt", "response_a", "response_b").iter_rows()
    ]
    numbered = pairs.with_columns(pl.Series("_text", texts))
    distinct = numbered.unique("_text", keep="first", maintain_order=True)
    pool = _sample(distinct, min(_POOL, distinct.height // _POOL_SHARE), seed)
    sample = _sample(numbered.join(pool, on="_text", how="anti"), n, seed).drop("_text")
    rows = []
    warnings = []
    for protocol, how in protocols.items():
        personas: dict[str, Any] = {}
        if protocol == "annotators":
            if pool.height < _PER_PERSONA:
                need = _PER_PERSONA * _POOL_SHARE
                warnings.append(f"{name}: annotators were not asked: they need {need} pairs")
                continue
            personas["demonstrations"] = pool.drop("_text")
        try:
            run = judge_pairs(sample, judge=judge, **how, **options, **personas)
        except UnusableRepliesError as error:
            if protocol == PROTOCOLS[0]:
                raise
            warnings.append(f"{name}, {protocol}: {error}")
            continue
        rows.append(read_judgments(run.judgments))
    return pl.concat(rows, how="diagonal_relaxed"), tuple(warnings)


def _reproduce(
    source: _Source, n: int, splits: int, seed: int
) -> tuple[dict[str, list[Row]], Mapping[str, int]]:
    """The rows of every table for one data set, and the rows that were left out."""
    sample = _sample(source.frame.select("id").unique(maintain_order=True), n, seed)
    rows = source.frame.join(sample, on="id", how="semi", maintain_order="left")
    # The paper splits by item; repeated prompts are not kept together.
    table = Table(frame=rows, name=source.file)
    evaluation = evaluate_doubt(table, methods=METHODS, splits=splits, cluster=None, seed=seed)
    signal = "judge signal n accuracy ece auroc auprc"
    risk = "method alpha coverage risk risk_sd ratio share_above"
    qualities = [
        row_of(quality, signal, dataset=source.name, no_verdict=quality.n_no_verdict)
        for quality in evaluation.signals
    ]
    risks = []
    for key in _judges(evaluation):
        for row in evaluation.paper_rows(key):
            # As printed in the paper's tables.
            within = int(round(row.risk, 3) <= row.alpha)
            risks.append(row_of(row, risk, dataset=source.name, judge=key[0]) | {"within": within})
    sizes = {"dataset": source.name, "available": source.available, "sampled": sample.height}
    measured: dict[str, list[Row]] = {
        "sets": [sizes],
        "qualities": sorted(qualities, key=lambda row: _by_size(row["judge"])),
        "risks": [row for row in risks if row["alpha"] == _TABLE_3],
        "curves": [row for row in risks if row["method"] == _DRAWN],
    }
    return measured, evaluation.dropped


def _judges(evaluation: Evaluation) -> list[JudgeKey]:
    """Every judge once, by size, asked for preference, or by its first protocol."""
    best: dict[str, JudgeKey] = {}
    for key in evaluation.judges:
        if evaluation.main_signal(key).signal == _ENTROPY or key[0] not in best:
            best[key[0]] = key
    return sorted(best.values(), key=lambda key: _by_size(key[0]))


def _by_size(judge: str) -> tuple[float, str]:
    """The place of a judge's name, smaller ones first."""
    return size_of(judge) or 0, judge


def _sample(rows: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    ordered = rows.sort("id")
    if ordered.height <= n:
        return ordered
    pick = np.random.default_rng(seed).permutation(ordered.height)[:n]
    return ordered[sorted(pick.tolist())]


# --- items -----------------------------------------------------------------------------------


def _by_judge(rows: Sequence[Row]) -> list[dict[str, float]]:
    """The AUROC of the signals of each judge and data set, by name."""
    groups: dict[tuple[Any, Any], dict[str, float]] = {}
    for row in rows:
        if row["auroc"] is not None:
            key = (row.get("dataset"), row["judge"])
            groups.setdefault(key, {})[row["signal"]] = row["auroc"]
    return list(groups.values())


def _best(rows: Sequence[Row]) -> list[float]:
    """100 for each judge whose entropy has the highest AUROC of its signals, else 0."""
    ours = _by_judge([row for row in rows if "accuracy" in row])
    several = [signals for signals in ours if _ENTROPY in signals and len(signals) > 1]
    return [100.0 * (max(signals, key=signals.__getitem__) == _ENTROPY) for signals in several]


def _gains(rows: Sequence[Row]) -> list[float]:
    """AUROC of the entropy minus that of the annotators, of the judges with both."""
    pairs = [(signals.get(_ENTROPY), signals.get("annotators")) for signals in _by_judge(rows)]
    return [a - b for a, b in pairs if a and b]


def _times_naive(rows: Sequence[Row]) -> list[float]:

    def coverage(method: str) -> list[float]:
        return values_of((row for row in rows if row["method"] == method), "coverage")

    scope = coverage(_DRAWN)
    naive = coverage("naive")
    return [fmean(scope) / fmean(naive)] if scope and naive and fmean(naive) else []


def _spreads(rows: Sequence[Row], place: int) -> list[float]:
    """Standard deviations at every alpha of the smallest (0) or largest (-1) judge."""
    judge = sorted({row["judge"] for row in rows}, key=_by_size)[place]
    return values_of((row for row in rows if row["judge"] == judge), "risk_sd")


#: Numbers of items that need several rows.
PICKS: Picks = {
    "best": _best,
    "gains": _gains,
    "times_naive": _times_naive,
    "smallest": partial(_spreads, place=0),
    "largest": partial(_spreads, place=-1),
}

# --- pictures ---------------------------------------------------------------------------------

#: The paper's four sizes; every judge of that size has the colour and mark in every picture.
_SIZES = dict(zip((7.0, 14.0, 32.0, 70.0), zip(SERIES, MARKS, strict=True), strict=False))
_OTHERS = (SERIES[4], SERIES[5], SERIES[7], SERIES[6])
_ALPHA = 0.10
_PAPER = ", paper"


@PICTURES.add("figure-02")
def figure_2(result: ScopeReproduction) -> Drawing:
    def draw(axes: Axes, dataset: str) -> str:
        at_main = []
        for name, colour, mark, rows in _lines(result, dataset):
            alphas = [row["alpha"] for row in rows]
            coverage = [row["coverage"] for row in rows]
            axes.plot(alphas, coverage, color=colour, marker=mark, markersize=5, label=name)
            at_main += [row["coverage"] for row in rows if row["alpha"] == _ALPHA]
        for row in paper_tables("scope")["curves"].published:
            if contains(dataset, row["dataset"]) and row["coverage"] is not None:
                colour, mark = _SIZES.get(size_of(row["judge"]) or 0.0, (INK, "o"))
                ring: dict[str, Any] = {"mfc": "none", "mec": colour, "ms": 10, "mew": 1.7}
                ring |= {"ls": "none", "zorder": 5, "label": row["judge"] + _PAPER}
                axes.plot(row["alpha"], row["coverage"], mark, **ring)
        axes.set_ylim(-0.02, 1.04)
        axes.set_xticks(sorted({row["alpha"] for row in result.rows("curves")}))
        if not at_main:
            return "coverage"
        low = percent(min(at_main), 0)
        high = percent(max(at_main), 0)
        return f"{span(low, high)} accepted at alpha 0.1"

    return _panels(result, draw, "share of verdicts accepted")


@PICTURES.add("figure-03")
def figure_3(result: ScopeReproduction) -> Drawing:
    def draw(axes: Axes, dataset: str) -> str:
        diagonal = [0, max(row["alpha"] for row in result.rows("curves")) * 1.08]
        axes.plot(diagonal, diagonal, "--", color=MUTED, lw=1.2, label="error share = alpha")
        within = []
        for name, colour, mark, rows in _lines(result, dataset):
            alphas = [row["alpha"] for row in rows]
            risk = np.array([row["risk"] for row in rows])
            spread = np.array([row["risk_sd"] for row in rows])
            low = np.maximum(risk - spread, 0)
            high = risk + spread
            axes.fill_between(alphas, low, high, color=colour, alpha=0.09, linewidth=0)
            axes.plot(alphas, risk, color=colour, marker=mark, markersize=5, label=name)
            within += [row["within"] for row in rows]
        axes.fill_between([], [], color=MUTED, alpha=0.3, lw=0, label="± one standard deviation")
        axes.set_ylim(bottom=0)
        return f"{sum(within)} of {len(within)} means at or below alpha"

    return _panels(result, draw, "error share among accepted")


# --- what the pictures share -----------------------------------------------------------------


def _panels(result: ScopeReproduction, draw: Callable[[Axes, str], str], y_label: str) -> Drawing:
    """A panel for each data set, three in a row; `draw` returns what its title says."""
    datasets = [row["dataset"] for row in result.rows("sets")]
    across = min(3, len(datasets))
    down = -(-len(datasets) // across)
    figure = new_figure(max(7.2, 4.9 * across), 4.3 * down + 0.5)
    axes = figure.subplots(down, across, squeeze=False, sharey=True)
    for panel, dataset in zip(axes.flat, datasets, strict=False):
        panel.set(
            title=f"{clip(dataset)}\n{draw(panel, dataset)}", xlabel="alpha: error level allowed"
        )
    for panel in axes.flat[len(datasets) :]:
        panel.set_visible(False)
    for row in axes:
        row[0].set_ylabel(y_label)
    handles = {
        label: handle
        for panel in figure.axes
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    order = sorted(handles, key=lambda label: label.endswith(_PAPER))
    legend = [handles[label] for label in order]
    figure.legend(legend, order, loc="outside lower center", ncols=4, fontsize=9.5)
    return figure


def _lines(result: ScopeReproduction, dataset: str) -> list[tuple[str, str, str, list[Row]]]:
    """Name, colour, mark and rows of every judge of a data set: one look in every panel."""
    looks: dict[str, tuple[str, str]] = {}
    others = cycle(zip(_OTHERS, "vP*X", strict=True))
    for judge in dict.fromkeys(row["judge"] for row in result.rows("curves")):
        look = _SIZES.get(size_of(judge) or 0.0)
        if look is None or look in looks.values():
            look = next(others)
        looks[judge] = look
    by_judge = {judge: result.rows("curves", dataset=dataset, judge=judge) for judge in looks}
    return [(clip(judge), *looks[judge], rows) for judge, rows in by_judge.items() if rows]


# --- a simulated benchmark --------------------------------------------------------------------

#: The quality difference between the two answers of a pair.
BENCHMARKS = {"mt-bench": 1.0, "rewardbench": 2.1, "chatbot-arena": 1.1}
JUDGES = read_rows(read_published("scope")["simulator"])
_SHARPNESS = 2.9
_STRETCH = 9.0
_PERSONAS = 5
_Columns = dict[str, np.ndarray[Any, Any]]


def simulate_benchmarks(n: int = 2000, *, seed: Seed = 0) -> dict[str, pl.DataFrame]:
    """`n` labelled pairs of each benchmark, by all judges and protocols of the paper.

    Each pair has a true margin m; people prefer A with probability sigma(2.9 m). A judge's log odds
    are 9 (m + noise), plus a bias towards the answer shown first. Half of the noise is shared by
    all judges of the pair. The spread of m, the noise and the bias were fitted by hand to the error
    shares, coverages and AUROC that the paper prints, so that its pattern shows: entropy above one
    order, larger judges above smaller ones, scope above naive. They show that the method runs as
    described and replicate nothing. Judges have invented names with the sizes of the paper's.

        preference    p_fwd and p_rev, both about response_a
        verbalized    one random order; the stated confidence rises a little with its log odds
        annotators    one random order; five personas vote, each with independent noise

    >>> frame = simulate_benchmarks(4)["mt-bench"]
    >>> frame.height, sorted(frame["protocol"].unique())
    (48, ['annotators', 'preference', 'verbalized'])
    """
    count(n, "n", least=1)
    rng = generator(seed)
    return {name: _simulate(name, n, spread, rng) for name, spread in BENCHMARKS.items()}


def _simulate(name: str, n: int, spread: float, rng: np.random.Generator) -> pl.DataFrame:
    margin = spread * rng.normal(size=n)
    shared = rng.normal(size=n)
    ids = [f"{name}-{i:05d}" for i in range(n)]
    prefers_a = rng.random(n) < expit(_SHARPNESS * margin)
    pairs = pl.DataFrame({"id": ids, "label": np.where(prefers_a, "A", "B")})
    judgments = []
    for judge in JUDGES:
        mixed = np.sqrt(0.5) * (shared + rng.normal(size=n))
        odds = _STRETCH * (margin + judge["noise"] * mixed)
        first = _STRETCH * (judge["lean"] + 0.15 * rng.normal(size=n))
        # One order, which is random for each pair.
        seen = odds + np.where(random_orders(ids) == "ab", first, -first)
        jitter = 0.9 * rng.normal(size=(2, n))
        forward = odds + first + jitter[0]
        reverse = odds - first + jitter[1]
        asked = {
            "preference": {"p_fwd": expit(forward), "p_rev": expit(reverse)},
            "verbalized": _verbalized(seen, rng),
            "annotators": _annotators(seen, rng),
        }
        for protocol, columns in asked.items():
            names = {"judge": pl.lit(judge["judge"]), "protocol": pl.lit(protocol)}
            answers = {column: pl.Series(values) for column, values in columns.items()}
            judgments.append(pairs.with_columns(**names, **answers))
    return pl.concat(judgments, how="diagonal")


def _verbalized(seen: FloatArray, rng: np.random.Generator) -> _Columns:
    # Judges state round numbers near the top, whatever their true confidence.
    stated = np.clip(0.86 + 0.004 * np.abs(seen) + 0.05 * rng.normal(size=len(seen)), 0.5, 1)
    sure = np.round(stated * 20) / 20
    return {
        "verdict": np.where(seen > 0, "A", "B"),
        "p_a": np.where(seen > 0, sure, 1 - sure),
        "confidence": sure,
        "uncertainty": 1 - sure,
    }


def _annotators(seen: FloatArray, rng: np.random.Generator) -> _Columns:
    votes = (seen + 6.0 * rng.normal(size=(_PERSONAS, len(seen))) > 0).sum(axis=0)
    p_a = votes / _PERSONAS
    return {
        "p_a": p_a,
        "uncertainty": 1 - np.maximum(p_a, 1 - p_a),
        "verdict": np.where(p_a > 0.5, "A", "B"),
    }
