"""Evaluate: the quality of the doubt, and the results of every method over random splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl

from adjudge.data.judgments import ERROR, HAS_VERDICT, WORDS, Judgments, fixed_doubts
from adjudge.data.rows import partition
from adjudge.data.source import Needs
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    Repeats,
    Result,
    at_most,
    frozen,
    not_empty,
    same_length,
)
from adjudge.present.text import group_name
from adjudge.records import About
from adjudge.selection.choices import describe_choices
from adjudge.selection.doubts.base import (
    DoubtMethod,
    Labelled,
    ReadingJudgments,
    find_doubt,
    open_judgments,
)
from adjudge.selection.doubts.evidence import (
    FEWEST_LEARNING,
    SINGLE_ORDER,
    Evidence,
    Signal,
    advise_learning,
    doubt_of,
    judge_evidence,
    learn,
    lengths_in,
    signals_of,
    with_context,
)
from adjudge.selection.doubts.jury import Learned
from adjudge.selection.guarantees import Guarantee, Labels, all_guarantees
from adjudge.selection.labelled import LabelledRows, only_ids, read_labelled
from adjudge.selection.rules import finer_doubt
from adjudge.selection.splits import (
    ALPHAS,
    SharedHalves,
    SplitRisk,
    choose_methods,
    random_halves,
    split_risks,
)
from adjudge.selection.thresholds import Halves, Levels, SplitCounts, SplitOutcome, SplitTable
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.statistics.numbers import (
    auprc,
    auroc,
    cluster_codes,
    expected_calibration_error,
    reliability_bins,
    sort_values,
)
from adjudge.validation import BoolArray, FloatArray, IntArray, count, exact_level, open_unit

#: A judge and its protocol.
JudgeKey = tuple[str, str | None]
_CURVE_POINTS = 200
#: A learned doubt is fitted again in each split; with more splits the mean changes little.
_MOST_SPLITS = 200
CAVEATS = (
    "measured on the labelled rows alone: rows that were not labelled at random can do better or "
    "worse",
    "both halves of a split come from the same labels, so results vary less here than over new "
    "calibration sets",
    "if you choose a judge, signal or method with this table, calibrate on other labels",
)


@dataclass(frozen=True, kw_only=True)
class OfSignal:
    """Something about one signal of one judge."""

    signal: str
    judge: str
    protocol: str | None

    @property
    def key(self) -> JudgeKey:
        """The judge and its protocol."""
        return self.judge, self.protocol


@dataclass(frozen=True, kw_only=True)
class SignalQuality(OfSignal):
    """The quality of a confidence on the labelled rows where the signal gives a verdict.

    `n_no_verdict` of the `n` rows have none (p at one half, a tie, votes that disagree). They are
    neither right nor wrong, so no other number counts them.
    """

    n: Count
    n_no_verdict: Count
    accuracy: Proportion | None
    ece: Proportion | None
    auroc: Proportion | None
    auprc: Proportion | None

    checks: ClassVar[tuple[Check, ...]] = (at_most("n_no_verdict", "n"),)

    @property
    def n_verdicts(self) -> int:
        """The rows that the numbers are about."""
        return self.n - self.n_no_verdict


@dataclass(frozen=True, kw_only=True)
class MethodRisk(OfSignal):
    """One method on one signal at one alpha, over the splits; a baseline has no guarantee.

    `accuracy` is that of the accepted verdicts, over the splits that accept any.
    """

    method: str
    baseline: bool
    alpha: Level
    coverage: Proportion
    coverage_sd: NotNegative
    accuracy: Proportion | None = None
    risk: Proportion
    risk_sd: NotNegative
    ratio: float | None
    share_above: Proportion


@dataclass(frozen=True, kw_only=True)
class Curve(OfSignal):
    """The data of a figure: reliability bins and the risk-coverage curve of one signal.

    Rows without a verdict are in no bin and never accepted; if there is no verdict, both are empty.
    """

    bin_confidence: tuple[Proportion, ...]
    bin_accuracy: tuple[Proportion, ...]
    bin_count: tuple[Count, ...]
    coverage: tuple[Proportion, ...]
    risk: tuple[Proportion, ...]

    checks: ClassVar[tuple[Check, ...]] = (
        same_length("bin_confidence", "bin_accuracy", "bin_count"),
        same_length("coverage", "risk"),
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One doubt under one guarantee at one alpha: a judge's own, a jury's, or a learned one.

    All use the same splits; a learned one uses a share of each split's labels.
    """

    candidate: str
    learned: bool
    method: str
    alpha: Level
    coverage: Proportion
    coverage_sd: NotNegative
    risk: Proportion
    share_above: Proportion


def _every_method_for_every_judge(evaluation: Evaluation) -> str | None:
    """Tables and figures have a line for each judge and method, on a signal that was measured."""
    measured = {(entry.key, entry.signal) for entry in evaluation.signals}
    rows: list[OfSignal] = [*evaluation.methods, *evaluation.curves]
    for row in rows:
        if (row.key, row.signal) not in measured:
            return f"signal {row.signal} of {row.judge} is not among the signals"
    methods = {entry.method for entry in evaluation.methods}
    for key in evaluation.judges:
        if missing := methods - {entry.method for entry in evaluation.paper_rows(key)}:
            return f"method {min(missing)} is missing for {key[0]}"
    return None


@frozen
class Evaluation(Result):
    """Uncertainty quality and selection over random splits, for every signal and method.

    `comparisons` of doubts and juries, if requested, over `comparison_splits`.
    """

    kind: ClassVar[str] = "evaluation"
    rows_in: ClassVar[str] = "methods"
    checks: ClassVar[tuple[Check, ...]] = (
        not_empty("signals", "methods", "curves"),
        _every_method_for_every_judge,
    )

    splits: Repeats
    seed: Count | None
    ties: str
    delta: Level
    alphas: tuple[Level, ...]
    cluster: str | None
    signals: tuple[SignalQuality, ...]
    methods: tuple[MethodRisk, ...]
    curves: tuple[Curve, ...]
    comparisons: tuple[Comparison, ...] = ()
    comparison_splits: Count = 0
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]

    @property
    def judges(self) -> list[JudgeKey]:
        """Every judge and protocol, in the order of the file."""
        return list(dict.fromkeys(s.key for s in self.signals))

    def judge_name(self, key: JudgeKey) -> str:
        """The judge, with its protocol if it was asked by several."""
        judge, protocol = key
        name = group_name(judge, none="the judge")
        same = [other for other in self.judges if other[0] == judge]
        return name if len(same) == 1 else f"{name} ({protocol})"

    def main_signal(self, key: JudgeKey) -> SignalQuality:
        """The signal that a judge is calibrated on: the entropy of both orders if there is one."""
        signals = [s for s in self.signals if s.key == key]
        return next((s for s in signals if s.signal == "preference_entropy"), signals[0])

    def paper_rows(self, key: JudgeKey) -> list[MethodRisk]:
        """Every method of one judge on the signal that the SCOPE paper uses for it.

        Baselines use one order, guarantees the main signal; methods and alphas in order.
        """
        rows = [m for m in self.methods if m.key == key]
        main = self.main_signal(key).signal
        order = list(dict.fromkeys(m.method for m in rows))
        single = SINGLE_ORDER if any(m.signal == SINGLE_ORDER for m in rows) else main
        shown = [m for m in rows if m.signal == (single if m.baseline else main)]
        return sorted(shown, key=lambda m: (order.index(m.method), m.alpha))

    def view(self) -> list[Block]:
        from adjudge.selection.evaluation_view import view_evaluation

        return view_evaluation(self)


def evaluate_doubt(
    judgments: TableLike | Judgments,
    *,
    labels: TableLike | None = None,
    ties: str = "drop",
    alphas: Sequence[float | Fraction] = ALPHAS,
    methods: Sequence[str] | None = None,
    delta: float | Fraction = 0.1,
    splits: int = 1000,
    doubt: DoubtMethod | str | None = None,
    choose_on: TableLike | None = None,
    cluster: str | None = "auto",
    model_labels: bool = False,
    seed: int = 0,
    **reading: Unpack[ReadingJudgments],
) -> Evaluation:
    """The tables of the SCOPE paper for your own judgments.

    For every judge, protocol and signal it reports accuracy, ECE (10 bins of equal width), AUROC
    and AUPRC of the confidence (max(p_a, 1 - p_a), or the stated one), with right verdicts as
    positives, over the rows where the signal gives a verdict. Then it reports coverage and error
    share of each method over random 50/50 splits by item. All signals of a judge use the same
    splits. In the paper, baselines use the signal single_order and guarantees use
    preference_entropy; the table has every combination.

    With another `doubt` than the judge's own, it also reports over up to 200 of the splits what
    both would accept (`comparisons`). What is learned is learned again in each split.

    Args:
        judgments: Judgments with p_a, or p_fwd and p_rev, or verdict_fwd and verdict_rev. A file or
            a frame, of judgments or grades.
        labels: Human labels by id, for rows without a label.
        ties: Human ties: drop, or error (count each as an error).
        alphas: Error level; repeatable.
        methods: Names of methods: the baselines vanilla, heuristic and naive, and every guarantee.
            By default all of them.
        delta: How often a guarantee with high probability can fail.
        splits: Random 50/50 splits by item.
        doubt: learned: verdict and doubt of one judge, from a share of the labels. Or an object
            that has its options: `Learned`, `Jury`, `Choices`. None: the doubt of each judge.
        choose_on: Evaluate only these ids; calibrate --leave-out takes the same file. What you
            choose here can then be calibrated on all other rows.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Without it they are refused.
        seed: Seed of everything random.
        **reading: Which rows and columns are read: see `ReadingJudgments`.

    >>> from adjudge.simulate.pairs import two_order_judge
    >>> evaluation = evaluate_doubt(two_order_judge(300, seed=1), splits=50, alphas=[0.2])
    >>> [s.signal for s in evaluation.signals]
    ['preference_entropy', 'single_order', 'swap_vote', 'swap_vote_by_coin']
    """
    failure = exact_level(delta, "delta")
    levels = [Levels(exact_level(alpha), failure) for alpha in alphas]
    split_plan = _SplitPlan(
        levels=levels,
        delta=failure,
        methods=[method.name for method in choose_methods(methods)],
        splits=count(splits, "splits", least=1),
        seed=seed,
    )
    method = find_doubt(doubt)
    if method.reads_failed:
        raise ArgumentError("doubt", doubt, "a cascade is evaluated by plan_cascade")
    learns = isinstance(method, Learned)
    source = open_judgments(judgments, reading, labels=labels, choose_on=choose_on)
    named = (cluster, *method.columns, *source.columns.values())
    with source.narrow(Needs(("judgments", "grades", "binary"), named, texts=learns)):
        choose_on = source.other("choose_on")
        judge = reading.get("judge")
        protocol = reading.get("protocol")
        # A large file is in memory once: nothing else holds the rows as they were read.
        table = read_labelled(
            method.prepare(source, judge, protocol, None),
            ties=ties,
            cluster=cluster,
            model_labels=model_labels,
        )
    if choose_on is not None:
        table = only_ids(table, choose_on)
    about_choices = table.about == "choices"
    of_signals = [
        measured
        for rows in partition(table.frame, ["judge", "protocol"])
        for measured in _measure_signals(rows, table.cluster, split_plan, choices=about_choices)
    ]
    remarks = [f"split by {table.cluster}: one row of each calibrates"] if table.cluster else []
    remarks += table.looks
    comparisons: list[Comparison] = []
    most_splits = min(splits, _MOST_SPLITS)
    if about_choices:
        remarks += describe_choices(table.frame)
    elif not method.doubt.of_protocol:
        comparisons = _compare_doubts(table, method, levels, most_splits, seed)
        remarks += _advice(table, learned=learns, chosen=choose_on is not None)
    return Evaluation(
        splits=splits,
        seed=seed,
        ties=ties,
        delta=float(delta),
        alphas=tuple(float(level.alpha) for level in levels),
        cluster=table.cluster,
        signals=tuple(signal.quality for signal in of_signals),
        methods=tuple(risk for signal in of_signals for risk in signal.risks),
        curves=tuple(signal.curve for signal in of_signals),
        comparisons=tuple(comparisons),
        comparison_splits=most_splits if comparisons else 0,
        assumptions=(*CAVEATS, *table.makers),
        warnings=tuple(remarks),
        dropped=dict(table.dropped),
    )


@dataclass(frozen=True)
class _SplitPlan:
    """What is measured over random splits: the methods, at these levels."""

    levels: Sequence[Levels]
    delta: Fraction
    methods: Sequence[str]
    splits: int
    seed: int


@dataclass(frozen=True)
class _MeasuredSignal:
    """A signal's quality, its curves, and the risk of each method by it."""

    quality: SignalQuality
    curve: Curve
    risks: Sequence[MethodRisk]


def _measure_signals(
    rows: pl.DataFrame, cluster: str | None, plan: _SplitPlan, *, choices: bool
) -> Iterator[_MeasuredSignal]:
    """Every signal of one judge and protocol."""
    clusters = None
    units = rows.height
    if cluster is not None:
        clusters, units = cluster_codes(rows[cluster].to_list())
    if units < 2:
        raise ArgumentError("judgments", rows["judge"][0], "needs two labelled rows to split")
    finer = finer_doubt(rows)
    halves = SharedHalves(rows.height, plan.splits, plan.seed, clusters)
    baselines = {method.name for method in choose_methods() if method.baseline}
    for signal in signals_of(rows, seed=plan.seed):
        if choices:
            signal = replace(signal, name="product")
        over_splits = split_risks(
            signal.scores,
            signal.errors,
            alphas=[level.alpha for level in plan.levels],
            methods=plan.methods,
            confidence=signal.confidence,
            has_verdict=signal.has_verdict,
            clusters=clusters,
            delta=plan.delta,
            splits=plan.splits,
            halves=halves,
            values=() if choices else signal.values,
            finer=None if signal.name == SINGLE_ORDER else finer,
        )
        risks = [
            MethodRisk(
                **_names(signal),
                **risk.means,
                baseline=risk.method in baselines,
                accuracy=risk.accuracy,
                risk_sd=risk.spread(risk.risks),
                ratio=risk.ratio,
            )
            for risk in over_splits
        ]
        yield _MeasuredSignal(measure_quality(signal), _curve(signal), risks)


def _advice(table: LabelledRows, *, learned: bool, chosen: bool) -> list[str]:
    """What a reader of the comparison should know before choosing by it."""
    pairs = table.frame.unique("id")
    keys = pairs.get_column("id" if table.cluster is None else table.cluster).to_list()
    lines = advise_learning(cluster_codes(keys)[1]) if learned else []
    if learned:
        lines.append(
            "the learned doubt chooses its penalty within its own share of the labels: that choice "
            "does not weaken the promise"
        )
    lines.append(
        "this choice uses these rows: calibrate with --leave-out and the same ids"
        if chosen
        else "if you choose one of these and calibrate on the same labels, the promise does not "
        "hold: choose on a random part (--choose-on IDS, then calibrate --leave-out IDS), or "
        "calibrate two of them under pac at delta / 2 each"
    )
    return lines


def _names(signal: Signal) -> dict[str, Any]:
    return {"signal": signal.name, "judge": signal.judge, "protocol": signal.protocol}


def measure_quality(signal: Signal) -> SignalQuality:
    """Accuracy, ECE, AUROC and AUPRC over the rows with a verdict.

    A vote that disagrees does not count as an error. Counted as one at confidence 0.5, it would
    make any confidence seem to separate right from wrong.
    """
    has_verdict = signal.has_verdict
    correct = 1 - signal.errors[has_verdict]
    sure = signal.confidence[has_verdict]
    return SignalQuality(
        **_names(signal),
        n=len(has_verdict),
        n_no_verdict=int((~has_verdict).sum()),
        accuracy=float(correct.mean()) if len(correct) else None,
        ece=expected_calibration_error(sure, correct) if len(correct) else None,
        auroc=auroc(sure, correct),
        auprc=auprc(sure, correct),
    )


def _curve(signal: Signal) -> Curve:
    has_verdict = signal.has_verdict
    bins = reliability_bins(signal.confidence[has_verdict], 1 - signal.errors[has_verdict])
    coverage, risk = risk_coverage(
        signal.scores[has_verdict], signal.errors[has_verdict], n=len(has_verdict)
    )
    return Curve(
        **_names(signal),
        bin_confidence=tuple(bins.confidence.tolist()),
        bin_accuracy=tuple(bins.accuracy.tolist()),
        bin_count=tuple(bins.count.tolist()),
        coverage=tuple(coverage.tolist()),
        risk=tuple(risk.tolist()),
    )


def risk_coverage(scores: FloatArray, errors: IntArray, *, n: int) -> tuple[FloatArray, FloatArray]:
    """Share accepted of `n` rows and error share at each score, thinned for a figure.

    `scores` and `errors` are those of the rows that can be accepted.
    """
    if not len(scores):
        return np.empty(0), np.empty(0)
    s = sort_values(scores)
    wrong = sort_values(scores[errors == 1])
    ends = np.append(np.flatnonzero(s[1:] != s[:-1]), len(s) - 1)
    if len(ends) > _CURVE_POINTS:
        ends = ends[np.unique(np.linspace(0, len(ends) - 1, _CURVE_POINTS).astype(np.int64))]
    return (ends + 1) / n, np.searchsorted(wrong, s[ends], side="right") / (ends + 1)


@dataclass(frozen=True)
class _Learner:
    """What is learned from in every split: the pairs' evidence and their human labels."""

    name: str
    evidence: Evidence
    label: FloatArray  # 1 for A or pass, -1 for B or fail, 0 for a tie
    tied: BoolArray  # by the judge: remains a tie, whatever is learned
    units: IntArray
    share: float

    def outcomes(
        self, halves: Halves, grid: Sequence[tuple[Guarantee, Levels]], rng: np.random.Generator
    ) -> list[SplitOutcome]:
        """What each guarantee accepts of the tested rows after learning again in each split."""
        learning = _random_units(~halves.tested, self.units, self.share, rng)
        prefers_a = (self.label > 0).astype(np.int64)
        learns = learning & (self.label != 0)
        _, ridges = learn(self.evidence, prefers_a, learns, units=self.units, seed=rng)
        columns = self.evidence.columns(self.evidence.categories)
        margins = (ridges.weights / ridges.scales) @ np.column_stack(list(columns.values())).T
        cells = np.zeros((len(grid), 3, len(margins)), dtype=np.int64)
        for at, margin in enumerate(margins):
            no_verdict = (margin == 0) | self.tied
            errors = (np.sign(margin) != self.label) | no_verdict
            scores = np.where(self.tied, INFINITE_DOUBT, doubt_of(margin))
            calibrates = halves.calibrates[at] & ~learning[at]
            new = halves.tested[at]
            labels = Labels(scores[calibrates], errors[calibrates].astype(np.int64))
            cells[:, 2, at] = np.count_nonzero(new)
            for cell, (guarantee, level) in enumerate(grid):
                rule = guarantee.decide(labels, level)
                accepted = guarantee.accept(rule, scores[new], level) & ~no_verdict[new]
                cells[cell, :2, at] = accepted.sum(), (accepted & errors[new]).sum()
        return [SplitOutcome(*cell) for cell in cells]


def _random_units(
    inside: BoolArray, units: IntArray, share: float, rng: np.random.Generator
) -> BoolArray:
    """Marks a random share of the units that are inside, in each split."""
    keys = rng.random((len(inside), int(units.max()) + 1))
    there = np.zeros(keys.shape, dtype=np.bool_)
    split, row = np.nonzero(inside)
    there[split, units[row]] = True
    ranks = np.argsort(np.argsort(keys + ~there, axis=1), axis=1)
    chosen = ranks < np.round(share * there.sum(axis=1))[:, None]
    return np.asarray(chosen[:, units])


def _compare_doubts(
    labelled: LabelledRows,
    method: DoubtMethod,
    levels: Sequence[Levels],
    splits: int,
    seed: int,
) -> list[Comparison]:
    """Coverage and error share of each judge alone, of the jury, and of the learned doubt.

    Every split gives half of the labels to calibration. A learned doubt uses its share of that half
    for learning and calibrates on the rest. All doubts use the same splits.
    """
    inner = method.inner if isinstance(method, Learned) else method
    fitted = inner.learn(Labelled(labelled.frame, labelled.about))
    rows = fitted.rows
    evidence = judge_evidence(rows) if fitted.evidence is None else fitted.evidence
    tables = {
        name: _split_table(
            rows.select("id").join(judge_rows, on="id", how="left", maintain_order="left")
        )
        for name, judge_rows in fitted.alone.items()
    }
    tables[inner.title or evidence.judges[0]] = _split_table(rows)
    clusters = None if labelled.cluster is None else rows[labelled.cluster].to_list()
    learner = None
    if isinstance(method, Learned):
        learner = _make_learner(method, rows, evidence, clusters, labelled.about)
    grid = [(guarantee, level) for guarantee in all_guarantees() for level in levels]
    outcomes: dict[str, list[list[SplitOutcome]]] = {name: [] for name in tables}
    rng = np.random.default_rng([seed, 1])  # separate from the splits, which `evaluate` shares
    for halves in random_halves(rows.height, splits, seed, clusters=clusters):
        for name, table in tables.items():
            counts = SplitCounts.build(table, halves)
            outcomes[name].append([g.counts_over_splits(counts, level) for g, level in grid])
        if learner is not None:
            outcomes.setdefault(learner.name, []).append(learner.outcomes(halves, grid, rng))
    comparisons = []
    for name, batches in outcomes.items():
        learned = learner is not None and name == learner.name
        for (guarantee, level), cells in zip(grid, zip(*batches, strict=True), strict=True):
            means = SplitRisk.over(guarantee, level, cells).means
            comparisons.append(Comparison(candidate=name, learned=learned, **means))
    return comparisons


def _make_learner(
    method: Learned,
    rows: pl.DataFrame,
    evidence: Evidence,
    clusters: Sequence[object] | None,
    about: About,
) -> _Learner:
    """What is learned from in every split; ArgumentError if a half has too few labels."""
    outcomes = dict(zip(WORDS[about], (1.0, -1.0), strict=True))
    evidence = with_context(evidence, rows, lengths=lengths_in(rows), category=method.category)
    labels = [outcomes.get(label, 0.0) for label in rows["label"]]
    tied = (rows["verdict"] == "tie").fill_null(False)
    learner = _Learner(
        name=method.title,
        evidence=evidence,
        label=np.array(labels),
        tied=tied.to_numpy(),
        units=np.arange(rows.height) if clusters is None else cluster_codes(clusters)[0],
        share=open_unit(method.share, "learning_share"),
    )
    least = round(learner.share * ((int(learner.units.max()) + 1) // 2))
    if least < FEWEST_LEARNING:
        raise ArgumentError(
            "learning_share",
            method.share,
            f"leaves {least} labels to learn from in each half; {FEWEST_LEARNING} or more are "
            "needed: evaluate without learning, or label more",
        )
    return learner


def _split_table(rows: pl.DataFrame) -> SplitTable:
    """The scores and errors of a doubt that needs no labels."""
    scores = rows["uncertainty"].to_numpy().astype(np.float64)
    errors = rows[ERROR].to_numpy().astype(np.int64)
    has_verdict = rows.select(HAS_VERDICT).to_series().to_numpy()
    values = fixed_doubts(rows["protocol"][0])
    return SplitTable.build(scores, errors, has_verdict, None, values=values)
