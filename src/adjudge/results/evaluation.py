"""Results of `evaluate` and `plan` for selection. Field names are JSON names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

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
from adjudge.records import SampledBy
from adjudge.results.rules import Cut

#: A judge and its protocol.
JudgeKey = tuple[str, str | None]


@dataclass(frozen=True, kw_only=True)
class SignalQuality:
    """The quality of a confidence on the labelled rows where the signal gives a verdict.

    `n_no_verdict` of the `n` rows have none (p at one half, a tie, votes that disagree). They are
    neither right nor wrong, so no other number counts them.
    """

    signal: str
    judge: str
    protocol: str | None
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
class MethodRisk:
    """One method on one signal at one alpha, over the splits; a baseline has no guarantee."""

    signal: str
    judge: str
    protocol: str | None
    method: str
    baseline: bool
    alpha: Level
    coverage: Proportion
    coverage_sd: NotNegative
    risk: Proportion
    risk_sd: NotNegative
    ratio: float | None
    share_above: Proportion

    @property
    def within_alpha(self) -> bool:
        """Whether its mean error share, as printed in tables, is at most alpha."""
        return round(self.risk, 3) <= self.alpha


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The data of a figure: reliability bins and the risk-coverage curve of one signal.

    Rows without a verdict are in no bin and never accepted; if there is no verdict, both are empty.
    """

    signal: str
    judge: str
    protocol: str | None
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
    known = {(one.judge, one.protocol, one.signal) for one in evaluation.signals}
    parts: list[MethodRisk | Curve] = [*evaluation.methods, *evaluation.curves]
    for part in parts:
        if (part.judge, part.protocol, part.signal) not in known:
            return f"signal {part.signal} of {part.judge} is not among the signals"
    methods = {one.method for one in evaluation.methods}
    for key in evaluation.judges:
        if missing := methods - {one.method for one in evaluation.paper_rows(key)}:
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
        return list(dict.fromkeys((s.judge, s.protocol) for s in self.signals))

    def judge_name(self, key: JudgeKey) -> str:
        """The judge, with its protocol if it was asked by several."""
        judge, protocol = key
        name = group_name(judge, none="the judge")
        same = [one for one in self.judges if one[0] == judge]
        return name if len(same) == 1 else f"{name} ({protocol})"

    def main_signal(self, key: JudgeKey) -> SignalQuality:
        """The signal that a judge is calibrated on: the entropy of both orders if there is one."""
        own = [s for s in self.signals if (s.judge, s.protocol) == key]
        return next((s for s in own if s.signal == "preference_entropy"), own[0])

    def paper_rows(self, key: JudgeKey) -> list[MethodRisk]:
        """Every method of one judge on the signal that the SCOPE paper uses for it.

        Baselines use one order, guarantees the main signal; methods and alphas in order.
        """
        own = [m for m in self.methods if (m.judge, m.protocol) == key]
        main, order = self.main_signal(key).signal, list(dict.fromkeys(m.method for m in own))
        single = "single_order" if any(m.signal == "single_order" for m in own) else main
        kept = [m for m in own if m.signal == (single if m.baseline else main)]
        return sorted(kept, key=lambda m: (order.index(m.method), m.alpha))

    def view(self) -> list[Block]:
        from adjudge.present.views._evaluation import view_evaluation

        return view_evaluation(self)


@dataclass(frozen=True, kw_only=True)
class PlanPoint:
    """What to expect from `n` calibration labels."""

    n: Count
    coverage: Proportion
    coverage_sd: NotNegative
    risk: Proportion
    share_above: Proportion
    share_feasible: Proportion
    extrapolated: bool


def _recommended_point(plan: SelectionPlan) -> str | None:
    if plan.recommended is None:
        return None if len(plan.points) > 1 else "nothing is recommended, and there is no doubling"
    known = plan.recommended in [point.n for point in plan.points]
    return None if known else f"recommended {plan.recommended} is not among the points"


@frozen
class SelectionPlan(Result):
    """Expected coverage against the number of calibration labels."""

    kind: ClassVar[str] = "plan_selection"
    rows_in: ClassVar[str] = "points"
    checks: ClassVar[tuple[Check, ...]] = (_recommended_point,)

    guarantee: str
    alpha: Level
    delta: Level | None
    judge: str
    gain: float
    n_labelled: Count
    repeats: Repeats
    seed: Count | None
    recommended: Count | None
    points: tuple[PlanPoint, ...]
    assumptions: tuple[str, ...]
    dropped: Mapping[str, Count]

    def view(self) -> list[Block]:
        from adjudge.present.views._evaluation import view_plan

        return view_plan(self)


@frozen
class LabelPlan(Result):
    """Pairs sampled for labelling, in random order: from all, or from a judge's surest below a cut.

    `n_pool` rows could be judged by the rule that these labels will give; `n_below` of them are not
    above the cut.
    """

    kind: ClassVar[str] = "plan_labels"
    checks: ClassVar[tuple[Check, ...]] = (at_most("n", "n_below"), at_most("n_below", "n_pool"))

    sampled_by: SampledBy
    surest: Level | None
    cut: Cut | None
    n: Count
    n_pool: Count
    n_below: Count
    seed: Count
    ids: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]

    def _parts(self) -> Sequence[Mapping[str, str | float | None]]:
        cut = {} if self.cut is None else self.cut.columns
        return [{"id": name, "sampled_by": self.sampled_by, **cut} for name in self.ids]

    def view(self) -> list[Block]:
        from adjudge.present.views._evaluation import view_label_plan

        return view_label_plan(self)
