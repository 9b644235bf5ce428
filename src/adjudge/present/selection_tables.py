"""Terminal views of selection: the three guarantees side by side, split tables, plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from adjudge.present.selection import judge_name, paper_rows
from adjudge.present.tables import counted, number, percent, table
from adjudge.results.evaluation import Evaluation, SelectionPlan
from adjudge.results.selection import Policy, Selection

if TYPE_CHECKING:
    from rich.console import RenderableType

#: The alpha of the paper's Table 3; shown in the terminal where it was run.
_SHOWN_ALPHA = 0.10


def policy_view(policy: Policy) -> list[RenderableType]:
    """The three guarantees side by side, then what the chosen one promises and assumes."""
    rows = []
    for other in policy.alternatives:
        chosen = "*" if other.guarantee == policy.guarantee else " "
        mean = "~" if other.indicative else ""
        rows.append(
            (
                f"{chosen} {other.guarantee}",
                _rule(other.accepts, other.threshold),
                f"{mean}{other.n_accepted:,}",
                mean + percent(other.coverage, 1),
                mean + percent(other.empirical_risk, 1) if other.n_accepted else number(None),
            )
        )
    title = (
        f"alpha {policy.alpha:g}, {counted(policy.n_calibration, 'label', 'labels')}, "
        f"{policy.n_errors:,} wrong"
    )
    parts: list[RenderableType] = [
        table(
            ("guarantee", "accepts", "rows", "coverage", "wrong among them"),
            rows,
            title=title,
            text_columns=2,
        )
    ]
    if len(policy.groups) > 1:
        parts.append(
            table(
                ("group", "accepts", "labels", "wrong", "accepted", "wrong among them"),
                [
                    (
                        group.name,
                        _rule(group.accepts, group.threshold),
                        number(group.n_calibration),
                        number(group.n_errors),
                        percent(group.coverage, 1),
                        percent(group.empirical_risk if group.n_accepted else None, 1),
                    )
                    for group in policy.groups
                ],
                title=f"{policy.guarantee} by group",
                text_columns=2,
            )
        )
    if policy.jury is not None:
        weights = dict(zip(policy.jury.judges, policy.jury.weights, strict=True))
        alone = [
            (name, f"{weights[name]:.3f}", percent(value, 1))
            for name, value in policy.jury.coverage_alone.items()
        ]
        jury = (f"jury ({policy.jury.method})", "", percent(policy.jury.coverage, 1))
        parts.append(
            table(
                ("judge", "weight of its log odds", "coverage"),
                [*alone, jury],
                title="each judge alone, and the jury",
            )
        )
    parts += [
        f"{other.guarantee} promises: {other.promise}\n"
        f"{' ' * len(other.guarantee)} but not: {other.not_promised}"
        for other in policy.alternatives
    ]
    told = [f"assumes: {line}" for line in policy.assumptions]
    if any(other.indicative for other in policy.alternatives):
        told.append("~ fdr decides on each batch: here a mean over 20 random halves of the labels")
    told += [f"note: {line}" for line in policy.warnings]
    told += [f"{group.name}: {group.note}" for group in policy.groups if group.note]
    told += [
        f"{group.name}: the weights leave an effective {group.effective_size:.1f} of "
        f"{counted(group.n_calibration, 'label', 'labels')}"
        for group in policy.groups
        if group.effective_size is not None
    ]
    told += _left_out(policy.dropped)
    return [*parts, "\n".join(told)]


def selection_view(selection: Selection) -> list[RenderableType]:
    """Counts per group where there are several, then the words."""
    parts: list[RenderableType] = []
    if len(selection.groups) > 1:
        parts.append(
            table(
                ("judge", "group", "rows", "accepted", "share"),
                [
                    (
                        group["judge"],
                        group["group"] or "",
                        number(group["n"]),
                        number(group["n_accepted"]),
                        percent(group["accepted_share"], 1),
                    )
                    for group in selection.groups
                ],
                text_columns=2,
            )
        )
    return [*parts, str(selection)]


SIGNAL_COLUMNS = ("judge", "signal", "rows", "accuracy", "ECE", "AUROC", "AUPRC")


def signal_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """The cells under SIGNAL_COLUMNS: how good each judge's signals of doubt are."""
    return [
        (
            judge_name(evaluation, (s.judge, s.protocol)),
            s.signal,
            number(s.n),
            number(s.accuracy),
            number(s.ece),
            number(s.auroc),
            number(s.auprc),
        )
        for s in evaluation.signals
    ]


def evaluation_view(evaluation: Evaluation) -> list[RenderableType]:
    """The paper's Table 1 and Table 3 for these judgments."""
    quality = table(
        SIGNAL_COLUMNS,
        signal_rows(evaluation),
        title="how good each signal of doubt is (right verdicts are positives)",
        text_columns=2,
    )
    shown = _SHOWN_ALPHA if _SHOWN_ALPHA in evaluation.alphas else evaluation.alphas[0]
    judges = dict.fromkeys((s.judge, s.protocol) for s in evaluation.signals)
    methods = [
        table(
            ("method", "coverage", "sd", "error share", "sd", "ratio", "above alpha"),
            [
                (
                    m.method,
                    number(m.coverage),
                    number(m.coverage_sd),
                    number(m.risk),
                    number(m.risk_sd),
                    number(m.ratio),
                    percent(m.share_above),
                )
                for m in paper_rows(evaluation, *one)
                if m.alpha == shown
            ],
            title=f"{judge_name(evaluation, one)}: alpha {shown:g}, "
            f"{counted(evaluation.splits, 'random half', 'random halves')}",
        )
        for one in judges
    ]
    told = [
        "above alpha: share of splits; ratio: all errors over all accepted. Every alpha, signal "
        "and method is in --json and -o."
    ]
    if any(s.signal == "single_order" for s in evaluation.signals):
        told.insert(
            0,
            "vanilla, heuristic and naive run on single_order, scope, fdr and pac on "
            "preference_entropy, as in the paper.",
        )
    told += [f"note: {line}" for line in (*evaluation.assumptions, *evaluation.warnings)]
    told += _left_out(evaluation.dropped)
    return [quality, *methods, "\n".join(told)]


def plan_view(plan: SelectionPlan) -> list[RenderableType]:
    """Coverage against labels, then the recommendation."""
    points = table(
        ("labels", "coverage", "sd", "error share", "above alpha", "accepting"),
        [
            (
                number(p.n) + (" *" if p.extrapolated else "  "),
                number(p.coverage),
                number(p.coverage_sd),
                number(p.risk),
                percent(p.share_above),
                percent(p.share_feasible),
            )
            for p in plan.points
        ],
        title=f"{plan.judge}: {plan.guarantee} at alpha {plan.alpha:g}, "
        f"{counted(plan.n_labelled, 'label', 'labels')}, {plan.repeats} draws each",
        text_columns=0,
    )
    words = plan.lines()[len(plan.points) :]
    words.append("above alpha, accepting: share of the draws; * extrapolated")
    return [points, "\n".join(words)]


def _left_out(dropped: Mapping[str, int]) -> list[str]:
    return [
        f"left out {counted(count, 'row', 'rows')}: {why}"
        for why, count in dropped.items()
        if count
    ]


def _rule(accepts: str, threshold: float | None) -> str:
    if accepts == "below":
        return f"doubt <= {threshold:.5g}"
    names = {"all": "all", "none": "nothing", "batch": "per batch", "groups": "per group"}
    return names[accepts]
