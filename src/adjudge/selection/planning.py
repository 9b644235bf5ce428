"""Plan: how much coverage more labels would give, and which rows to label.

The first from your labels or from stated accuracies, the second at random among all rows, or among
the rows where a judge is surest.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.columns import UNNAMED
from adjudge.data.grades import Grades, prepare_grades
from adjudge.data.judgments import Judgments, prepare_judgments
from adjudge.data.names import TEXTS, add_ids
from adjudge.data.rows import (
    Rows,
    cluster_column,
    identities,
    measured,
    merge_dropped,
    one_row_per_cluster,
)
from adjudge.data.source import Reading, Source
from adjudge.data.steps.labels import CHOSEN_BY, CUT_BY, take_labels
from adjudge.data.tables import TableLike, as_text
from adjudge.errors import ArgumentError, DataError
from adjudge.policy.result import Cut, Rule
from adjudge.present.blocks import Block, Fact, Facts, Figure, Headline, Note, explain, table_of
from adjudge.present.figure import ACCENT, GOOD, INK, new_figure, themed
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
)
from adjudge.present.text import count, group_name, left_out, level, number, percent
from adjudge.records import SampledBy
from adjudge.selection.guarantees import DEFAULT, Guarantee, Labels, all_guarantees, find_guarantee
from adjudge.selection.labelled import cuts_of, read_labelled, read_scored
from adjudge.selection.rules import LabelledGroup, group_rows
from adjudge.selection.thresholds import Levels
from adjudge.validation import FloatArray, IntArray, exact_level, finite, open_unit, unit
from adjudge.validation import count as check_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_SMALLEST = 25
_FEWEST_LABELS = 20
#: How far the plan extrapolates, as a multiple of the number of labels.
_BEYOND = 4
#: How many labels it goes to without labels.
_MOST_STATED = 3200
#: If more policies than this are above alpha, their number of labels is not called enough.
_OFTEN = 0.1
#: A sum of stated rates this close to alpha is not above it.
_CLOSE = 1e-9


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
    planned = plan.recommended in [point.n for point in plan.points]
    return None if planned else f"recommended {plan.recommended} is not among the points"


@frozen
class SelectionPlan(Result):
    """Expected coverage against the number of calibration labels.

    `accuracies` are those stated for the verdicts, from the surest to the least sure; empty if the
    plan is from labels. `n_rows` is the number of rows that it draws from.
    """

    kind: ClassVar[str] = "plan_selection"
    rows_in: ClassVar[str] = "points"
    checks: ClassVar[tuple[Check, ...]] = (_recommended_point,)

    guarantee: str
    alpha: Level
    delta: Level | None
    judge: str
    gain: float
    n_labelled: Count
    n_rows: Count = 0
    accuracies: tuple[Proportion, ...] = ()
    repeats: Repeats
    seed: Count | None
    recommended: Count | None
    points: tuple[PlanPoint, ...]
    assumptions: tuple[str, ...]
    dropped: Mapping[str, Count]

    def view(self) -> list[Block]:
        drawn = count(self.n_labelled, "label")
        if self.accuracies:
            stated = ", ".join(f"{accuracy:g}" for accuracy in self.accuracies)
            drawn = f"stated accuracies {stated} on {count(self.n_rows, 'scored row')}"
        caption = (
            f"{group_name(self.judge, none='the judge')}: {self.guarantee} at alpha "
            f"{self.alpha:g}, {drawn}, {count(self.repeats, 'draw')} each"
        )
        points = table_of(
            self.points,
            {
                "labels": lambda p: number(p.n) + (" *" if p.extrapolated else "  "),
                "coverage": lambda p: number(p.coverage),
                "sd": lambda p: number(p.coverage_sd),
                "error share": lambda p: number(p.risk),
                "above alpha": lambda p: percent(p.share_above, 0),
                "accepts any": lambda p: percent(p.share_feasible, 0),
            },
            caption=caption,
            text_columns=0,
        )
        columns = (
            "above alpha: share of draws with a larger error share; accepts any: share of draws "
            "that accept a verdict"
        )
        columns += "; * extrapolated" * any(point.extrapolated for point in self.points)
        figure = Figure(
            "plan",
            partial(plan_figure, self),
            "Stop labelling where the line flattens; the band is one standard deviation over the "
            "draws.",
        )
        notes = Note([columns, *left_out(self.dropped)])
        return [_headline(self), points, notes, *explain(self.assumptions), figure]


def plan_selection(
    judgments: TableLike | Judgments,
    *,
    alpha: float | Fraction = 0.1,
    labels: TableLike | None = None,
    guarantee: str = DEFAULT,
    delta: float | Fraction = 0.1,
    ties: str = "drop",
    judge: str | None = None,
    protocol: str | None = None,
    cluster: str | None = "auto",
    accuracies: Sequence[float] | None = None,
    gain: float = 0.02,
    repeats: int = 200,
    model_labels: bool = False,
    seed: int = 0,
    **reading: Unpack[Reading],
) -> SelectionPlan:
    """Expected coverage against the number of calibration labels, by subsampling your labels.

    For n = 25, 50, 100, ... : sample n labelled rows, calibrate, and measure what share of the
    other rows is accepted, `repeats` times. Above half of the labels, rows are sampled with
    replacement and tested on all of them; those points are marked `extrapolated` and are
    optimistic. `recommended` is the first n after which every further doubling adds less than
    `gain` coverage.

    Before there are labels, state the `accuracies` that you expect. The verdicts, sorted by doubt,
    are divided into as many groups of equal size. Calibration sets are drawn from all of them, with
    errors at these rates, so that the error rate of every threshold is known.

    Args:
        judgments: Judgments, some of them labelled. A file or a frame.
        alpha: Error level allowed among accepted verdicts.
        labels: Human labels by id, for rows without a label.
        guarantee: scope: average over calibration sets; fdr: expected share in a batch; pac: this
            threshold, with probability 1 - delta; or one that a package adds.
        delta: How often a guarantee with high probability can fail.
        ties: Human ties: drop, or error (count each as an error).
        judge: Only this judge's rows.
        protocol: Only this protocol's rows.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        accuracies: Accuracies that you expect, from the surest verdicts to the least sure, such as
            0.97,0.9,0.7, for rows without labels. Labels are then not used.
        gain: Smallest gain in coverage that is worth twice the labels.
        repeats: Random draws per point.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Without it they are refused.
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> from adjudge.simulate.pairs import two_order_judge
    >>> plan = plan_selection(two_order_judge(400, seed=1), alpha=0.2, repeats=20)
    >>> [point.n for point in plan.points]
    [25, 50, 100, 200, 400, 800, 1600]
    >>> rows = {"id": range(400), "p_a": [0.5 + i / 801 for i in range(400)]}
    >>> plan_selection(rows, accuracies=[0.97, 0.9, 0.7], repeats=20).points[-1].n
    3200
    """
    levels = Levels(exact_level(alpha), exact_level(delta, "delta"))
    chosen = find_guarantee(guarantee)
    least_gain = open_unit(gain, "gain")
    check_count(repeats, "repeats", least=2)
    source = Source(judgments, labels=labels, **reading)
    prepared = prepare_judgments(source, judge=judge, protocol=protocol)
    if accuracies is not None:
        table = read_scored(prepared, cluster=cluster)
    elif "label" not in prepared.frame.columns or prepared.frame["label"].is_null().all():
        raise ArgumentError(
            "accuracies",
            None,
            "no row has a label: draw rows to label (adjudge plan labels "
            f"{shlex.quote(prepared.name)} --write-ids to_label.csv), name the labels (--labels "
            "FILE, --column label=NAME), or state the accuracies that you expect, from the surest "
            "verdicts to the least sure: --accuracies 0.97,0.9,0.7",
        )
    else:
        table = read_labelled(prepared, ties=ties, cluster=cluster, model_labels=model_labels)
    of_judges = group_rows(table.frame, by=None, cluster=table.cluster, weights=None, seed=seed)
    if len(of_judges) > 1:
        names = sorted({f"{group.judge} ({group.protocol})" for group in of_judges})
        raise ArgumentError("--judge", None, "choose one of " + ", ".join(names))
    pool = _Pool.of(of_judges[0], accuracies)
    repeated = {f"same {table.cluster} as a row that is used": table.frame.height - len(pool)}
    if len(pool) < _FEWEST_LABELS:
        do = "label" if pool.labelled else "give"
        raise ArgumentError(
            "judgments", len(pool), f"{do} {_FEWEST_LABELS} rows or more to plan from"
        )
    rng = np.random.default_rng(seed)
    points = []
    n = _SMALLEST
    while n <= (_BEYOND * len(pool) if pool.labelled else _MOST_STATED):
        points.append(_point(pool, n, chosen, levels, repeats, rng))
        n *= 2
    about = (
        "the existing labels were sampled at random from the rows to be judged",
        "extrapolated points treat these labels as the entire population and are optimistic",
    )
    if not pool.labelled:
        about = (
            "the accuracies are stated, not measured: plan again when there are labels",
            "the rows to be judged are like these, and labels will be sampled from them at random",
        )
    return SelectionPlan(
        guarantee=chosen.name,
        alpha=float(levels.alpha),
        delta=float(levels.delta) if chosen.uses_delta else None,
        judge=of_judges[0].judge,
        gain=least_gain,
        n_labelled=len(pool) if pool.labelled else 0,
        n_rows=len(pool),
        accuracies=tuple(accuracies or ()),
        repeats=repeats,
        seed=seed,
        recommended=_recommended(points, least_gain),
        points=tuple(points),
        assumptions=(*about, *table.makers),
        dropped=merge_dropped(table.dropped, repeated),
    )


@dataclass(frozen=True)
class _Pool:
    """Rows that calibration sets are drawn from, and the error rate of each: 0 or 1 if labelled."""

    group: LabelledGroup
    rates: FloatArray
    labelled: bool

    def __len__(self) -> int:
        return len(self.rates)

    @classmethod
    def of(cls, group: LabelledGroup, accuracies: Sequence[float] | None) -> _Pool:
        """The group's rows with their errors, or with the stated rates in the order of doubt."""
        rates = group.labels.errors.astype(np.float64)
        if accuracies is not None:
            if not len(accuracies):
                raise ArgumentError("accuracies", accuracies, "give one or more, such as 0.97,0.7")
            stated = np.array([1 - unit(accuracy, "accuracies") for accuracy in accuracies])
            parts = np.arange(len(group)) * len(stated) // max(len(group), 1)
            rates[group.order.rows] = stated[parts]
            rates[~group.has_verdict] = 1.0
        return cls(group, rates, accuracies is None)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Labels, IntArray]:
        """The labels of a calibration set, and the rows that are new to it."""
        if self.labelled and n <= len(self) // 2:
            order = rng.permutation(len(self))
            return self.group.labels.take(order[:n]), order[n:]
        rows = rng.integers(0, len(self), n)
        labels = self.group.labels.take(rows)
        if not self.labelled:
            wrong = (rng.random(n) < self.rates[rows]).astype(np.int64)
            labels = replace(labels, errors=wrong)
        return labels, np.arange(len(self))


def _point(
    pool: _Pool, n: int, chosen: Guarantee, levels: Levels, repeats: int, rng: np.random.Generator
) -> PlanPoint:
    group = pool.group
    accepted = np.empty(repeats)
    wrong = np.empty(repeats)
    share = np.empty(repeats)
    for draw in range(repeats):
        labels, new = pool.draw(n, rng)
        rule = chosen.decide(labels, levels)
        chosen_rows = chosen.accept(rule, group.labels.scores[new], levels) & group.has_verdict[new]
        accepted[draw] = chosen_rows.sum()
        wrong[draw] = pool.rates[new][chosen_rows].sum()
        share[draw] = chosen_rows.mean()
    risks = wrong / np.maximum(accepted, 1)
    above = risks > float(levels.alpha) + _CLOSE
    feasible = accepted > 0
    return PlanPoint(
        n=n,
        coverage=float(share.mean()),
        coverage_sd=float(share.std(ddof=1)),
        risk=float(risks.mean()),
        share_above=float(above.mean()),
        share_feasible=float(feasible.mean()),
        extrapolated=pool.labelled and n > len(pool) // 2,
    )


def _recommended(points: list[PlanPoint], gain: float) -> int | None:
    """The first n after which no further doubling adds `gain`; None if the last one does.

    If even the last point accepts almost nothing, there is no recommendation.
    """
    best = None
    for now, later in zip(points[-2::-1], points[:0:-1], strict=True):
        if later.coverage - now.coverage >= gain:
            break
        best = now.n
    return best if points and points[-1].coverage >= gain else None


def _headline(plan: SelectionPlan) -> Headline:
    """How much is accepted with how many labels, and how often that is above alpha."""
    last = plan.points[-1]
    rule = f"{plan.guarantee} at alpha {plan.alpha:g}"
    if last.coverage < plan.gain:
        return Headline(
            f"{rule} accepts {percent(last.coverage)} of the verdicts even with "
            f"{count(last.n, 'label')}",
            "Allow a larger alpha, or use a better judge.",
            tone="bad",
        )
    at = next((p for p in plan.points if p.n == plan.recommended), last)
    text = (
        f"{rule} accepts {percent(at.coverage)} of the verdicts with {count(at.n, 'label')}, and "
        f"{percent(at.share_above, 0)} of such policies are above {level(plan.alpha)}"
    )
    if plan.delta is None and at.share_above > _OFTEN:
        sure = next(guarantee.name for guarantee in all_guarantees() if guarantee.uses_delta)
        action = f"More labels do not change that: --guarantee {sure} keeps it below delta."
    elif plan.recommended is None:
        gain = 100 * (last.coverage - plan.points[-2].coverage)
        action = f"Label {last.n:,} or more: the last doubling added {gain:.1f} points of coverage."
    else:
        action = f"Twice the labels add less than {100 * plan.gain:g} points of coverage."
    return Headline(text, action)


def plan_figure(plan: SelectionPlan) -> Drawing:
    with themed():
        figure = new_figure(7.2, 4.4)
        axes = figure.subplots()
        n, mean, spread = np.array([(p.n, p.coverage, p.coverage_sd) for p in plan.points]).T
        ends = np.clip(mean - spread, 0, 1), np.clip(mean + spread, 0, 1)
        band = "± one std. deviation over draws"
        axes.fill_between(n, *ends, color=ACCENT, alpha=0.14, linewidth=0, label=band)
        measured = sum(not p.extrapolated for p in plan.points)
        if measured < len(n):
            first = max(measured - 1, 0)  # the dotted line starts where the other ends
            axes.plot(n[first:], mean[first:], color=ACCENT, linestyle=":", label="extrapolated")
        if measured:
            points = n[:measured], mean[:measured]
            source = "from stated accuracies" if plan.accuracies else "from your labels"
            axes.plot(*points, color=ACCENT, marker="o", label=source)
        if plan.recommended is not None:
            axes.axvline(plan.recommended, color=GOOD, linewidth=1.3, zorder=1)
            at = (plan.recommended, 0.03)
            shift = (5, 0)
            axes.annotate(f"{at[0]:,} labels", at, xytext=shift, textcoords="offset points")
        axes.set_xscale("log", base=2)
        axes.set_xticks(n, [f"{point.n:,}" for point in plan.points])
        axes.minorticks_off()
        axes.set(xlabel="human labels for calibration", ylim=(0, 1.03))
        axes.set_ylabel("share of verdicts accepted")
        axes.set_title("\n".join(wrap(_headline(plan).text, 76)), color=INK)
        axes.legend(fontsize=8.5, loc="lower right")
    return figure


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
        remarks = [*(f"note: {line}" for line in self.warnings), *left_out(self.dropped)]
        if self.cut is None:
            rows = count(self.n_pool, "row")
            return [
                Headline(f"Label these {self.n:,} of {rows}, drawn at random"),
                Note(["They can calibrate a policy and estimate a rate.", *remarks]),
            ]
        most = percent(self.cut.share)
        at = f"an uncertainty of at most {self.cut.at:.6g}"
        below = Fact("below the cut", number(self.n_below), f"{at}; tied rows are included")
        headline = Headline(
            f"Label these {self.n:,} pairs, drawn at random among {self.cut.name}",
            f"A policy from these labels accepts at most {most} of the verdicts.",
        )
        notes = [
            "Use them with pac if random labels would let it accept clearly less than this "
            "share: it then has more labels near its threshold. If not, it accepts less. "
            "scope gains nothing from them.",
            f"calibrate, select and serve never accept above the cut: the other "
            f"{count(self.n_pool - self.n_below, 'verdict')} go to people.",
            "Do not choose the share from these labels: to try another share, draw new labels.",
            "They cannot estimate a rate; labels drawn at random can.",
        ]
        facts = Facts([Fact("scored verdicts", number(self.n_pool)), below])
        return [headline, facts, Note([*notes, *remarks])]


#: What judgments need, and a random draw of rows does not.
_NOT_NEEDED = (None, "p_a", "p_pass", "criterion", "metric")


def plan_labels(
    judgments: TableLike | Judgments,
    *,
    surest: float | Fraction | None = None,
    n: int | None = None,
    labels: TableLike | None = None,
    judge: str | None = None,
    protocol: str | None = None,
    cluster: str | None = "auto",
    seed: int = 0,
    **reading: Unpack[Reading],
) -> LabelPlan:
    """Sample unlabelled pairs: from all, or (`surest`) from that share of a judge's verdicts.

    Rows without a usable score are left out and counted by their status.

    With `surest`, the cut is the smallest observed uncertainty with at least that share of the
    usable rows at or below it. All rows count, labelled or not, and tied rows stay together. Pairs
    are sampled uniformly below the cut. A threshold below the cut then has the same distribution as
    among rows sampled at random from there, so every guarantee holds without weights for rows below
    the cut. The policy accepts nothing above it.

    One row is sampled per cluster. Rows are sampled by id, so their order in the file does not
    matter. A pair whose label was sampled by its score can be sampled again, because a random
    sample would include it too. So can a pair whose label is not used: it was chosen by the judge's
    doubt, or by a person, or it started from the judge's answer.

    Args:
        judgments: Judgments with p_a, or p_fwd and p_rev. A file or a frame, of judgments or
            grades.
        surest: Draw among this share of the judge's surest verdicts, for a policy by pac. Do not
            choose it with these labels. The policy accepts nothing outside this share. Without it,
            draw among all pairs: for any policy or rate.
        n: How many pairs to label. Default: 200, or all if there are fewer.
        labels: Human labels by id, for rows without a label.
        judge: Only this judge's rows. For verdicts without doubt also the column of its verdicts.
        protocol: Only this protocol's rows.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> rows = {"id": range(10), "p_a": [0.99 - 0.04 * i for i in range(10)]}
    >>> plan = plan_labels(rows, surest=0.5, n=2)
    >>> plan.cut.share, plan.n_below, plan.to_frame()["sampled_by"].to_list()
    (0.5, 5, ['surest', 'surest'])
    """
    if n is not None:
        check_count(n, "n", least=1)
    check_count(seed, "seed")
    try:
        prepared: Judgments | Grades = prepare_judgments(
            judgments, labels=labels, judge=judge, protocol=protocol, **reading
        )
        frame = prepared.frame
    except DataError as error:
        named = any(option is not None for option in (surest, protocol))
        other_kind = error.column in _NOT_NEEDED and error.row is None
        if named or not other_kind or isinstance(judgments, Judgments):
            raise
        prepared = _verdicts_alone(judgments, judge, error, labels=labels, **reading)
        frame = _grades_without_doubt(prepared, judge)
    if "label" not in frame.columns:
        frame = frame.with_columns(label=pl.lit(None, pl.String))
    rows = Rows(frame, prepared.dropped)
    taken = take_labels(rows, "label", prepared.name, without=CHOSEN_BY, model_labels=True)
    # A row that the judge did not answer can neither calibrate nor estimate.
    rows = measured(taken.rows)
    column = cluster_column(rows.frame, cluster, within=["judge", "protocol"])
    pool = below = rows.frame.unique("id")
    share = None
    cut = None
    warnings = []
    if taken.by_model:
        labels_made = count(taken.by_model, "label was", "labels were")
        warnings.append(
            f"{labels_made} made by a model: their rows are not drawn (see --model-labels)"
        )
    again: tuple[str, ...] = CUT_BY
    if surest is not None:
        share = exact_level(surest, "surest")
        again = ("audit",)
        pool = rows.frame
        cut = _cut(rows.frame, share)
        below = pool.filter(pl.Series(cut.rule.accept(pool["uncertainty"].to_numpy())))
        if below.height == pool.height:
            remedy = "all rows are tied at the cut: give a smaller share, or sample at random"
            raise ArgumentError("surest", surest, remedy)
        earlier = cuts_of(pool.filter(pl.col("label").is_not_null()), prepared.name)
        warnings += [
            f"earlier labels were sampled among {old.name}: together with these they calibrate "
            "only below that cut"
            for old in earlier
            if old.at < cut.at
        ]
    ids = _sample_ids(
        rows.frame, n, column, seed, again=again, among=None if cut is None else below
    )
    return LabelPlan(
        sampled_by="random" if cut is None else "surest",
        surest=None if share is None else float(share),
        cut=cut,
        n=len(ids),
        n_pool=pool.height,
        n_below=below.height,
        seed=seed,
        ids=tuple(ids),
        warnings=tuple(warnings),
        dropped=merge_dropped(rows.dropped),
    )


def _verdicts_alone(rows: TableLike, judge: str | None, error: DataError, **reading: Any) -> Grades:
    """Rows with verdicts and no doubt; `judge` can be the column of its verdicts."""
    for column in dict.fromkeys((judge or "judge", "judge")):
        try:
            return prepare_grades(
                rows,
                judge_column=column,
                needs_labels=False,
                model_labels=True,
                scores=True,
                slices=("judge_name", "protocol", "metric", "criterion"),
                without=CHOSEN_BY,
                **reading,
            )
        except DataError as of_grades:
            if of_grades.row is not None:  # the file has verdicts, and one of its rows is wrong
                raise
    raise error from None


def _grades_without_doubt(grades: Grades, judge: str | None) -> pl.DataFrame:
    """Rows of 0 and 1 in the columns of judgments: a random draw needs no doubt."""
    # Labels that are not used were counted where the grades were read.
    used = grades.labels >= 0 if grades.scale == "classes" else np.isfinite(grades.human)
    labels = pl.when(pl.Series(used)).then(pl.col("human").cast(pl.String))
    frame = grades.frame.with_columns(labels.alias("label"))
    if judge is not None and "judge_name" in frame.columns:
        frame = frame.filter(as_text(frame["judge_name"]) == judge)
    if "id" not in frame.columns and {*TEXTS} & {*frame.columns}:
        frame = add_ids(frame, grades.name, ("judge_name", "metric", "criterion"))
    if "id" not in frame.columns:
        remedy = "name yours: --column id=NAME (columns=): people's labels are joined by it"
        raise DataError(grades.name, "is missing", column="id", remedy=remedy)
    names = (pl.lit(UNNAMED).alias(name) for name in ("judge", "protocol"))
    return frame.with_columns(*names, pl.col("id").cast(pl.String))


def cut_at(scores: ArrayLike, share: float | Fraction) -> float:
    """The smallest score with at least this share of all scores at or below it.

    >>> cut_at([0.4, 0.1, 0.2, 0.3, 0.2], 0.5)
    0.2
    """
    ordered = np.sort(finite(scores, "scores"))
    return float(ordered[math.ceil(exact_level(share, "surest") * len(ordered)) - 1])


def _cut(rows: pl.DataFrame, share: Fraction) -> Cut:
    """The cut of one judge's scores with this share of the rows at or below it."""
    judges_here = identities(rows)
    judges = sorted({str(judge) for judge in judges_here})
    if len(judges) != 1:
        remedy = f"choose one of {', '.join(judges)}" if judges else "no row has a usable score"
        raise ArgumentError("judge", None, remedy)
    scores = rows["uncertainty"].to_numpy()
    at = cut_at(scores, share)
    prints = {judge.fingerprint for judge in judges_here}
    return Cut(
        judge=judges_here[0].judge or UNNAMED,
        protocol=judges_here[0].protocol,
        judge_fingerprint=prints.pop() if len(prints) == 1 else None,
        at=at,
        share=float(Rule(accepts="below", threshold=at).accept(scores).mean()),
    )


def _sample_ids(
    frame: pl.DataFrame,
    n: int | None,
    cluster: str | None,
    seed: int,
    *,
    again: tuple[str, ...],
    among: pl.DataFrame | None = None,
) -> list[str]:
    """`n` ids of rows without a label in random order, one per cluster; None: 200, or all.

    A row can be sampled again if its label was sampled in one of the ways in `again`. One row
    represents a cluster. It is chosen before checking whether it is `among` the wanted rows;
    otherwise clusters with more such rows would get more weight than in a sample of all rows.
    """
    done = frame.filter(pl.col("label").is_not_null())
    if "sampled_by" in frame.columns:
        done = done.filter(~pl.col("sampled_by").is_in(again).fill_null(False))
    left = frame.unique("id").join(done, on="id", how="anti").sort("id")
    if cluster is not None:
        met = pl.col(cluster).is_in(done[cluster].drop_nulls().to_list())
        left = left.filter(~met.fill_null(False))
        left = left[one_row_per_cluster(left[cluster].to_list(), seed=seed).tolist()]
    if among is not None:
        left = left.join(among, on="id", how="semi", maintain_order="left")
    n = min(200, max(left.height, 1)) if n is None else n
    if left.height < n:
        where = "" if among is None else " below the cut"
        raise ArgumentError(
            "n", n, f"only {left.height} unlabelled rows{where} are left to sample from"
        )
    pick = np.random.default_rng(seed).permutation(left.height)[:n]
    return [left["id"][row] for row in pick.tolist()]
