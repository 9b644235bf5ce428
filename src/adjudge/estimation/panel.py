"""Several judges in one rate: ppi++ with a prediction from all of them instead of one verdict.

Per group theta = lambda mean_unlabelled(f) + mean_labelled(y - lambda f), with f the cross-fitted
prediction of `panel_statistics` and the standard error by question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np
import polars as pl

from adjudge.data.grades import BINARY_COLUMNS, Grades, against_the_rest, as_numbers, prepare_grades
from adjudge.data.labels import join_values
from adjudge.data.names import (
    AS_SAID,
    read_grade_words,
    read_words,
    refuse_duplicates,
    refuse_values,
)
from adjudge.data.rows import DEFAULT_CLUSTER, Rows, first_repeats, merge_dropped, tidy
from adjudge.data.source import Reading, Source, open_table
from adjudge.data.tables import Table as RowTable
from adjudge.data.tables import TableLike, as_text
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.estimators.alone import HUMAN_ONLY
from adjudge.estimation.estimators.base import Outcome
from adjudge.estimation.estimators.ppi import PPI
from adjudge.estimation.label_shift import label_shift
from adjudge.estimation.panel_statistics import (
    FEWEST_OTHERS,
    FOLDS,
    Prior,
    cross_fit,
    make_columns,
    prior_from,
    shared_interval,
)
from adjudge.estimation.rate import RateInterval, best_for_random_labels, how_drawn, independence
from adjudge.estimation.rate_view import IN_A_SENTENCE, Rate, RateResult, list_names, table_by_group
from adjudge.estimation.sample import Sample, active_clusters, clamp, refuse_shares, sample_of
from adjudge.present.blocks import Block, Headline, Table
from adjudge.present.result import Check, Count, Level, NotNegative, Proportion, frozen, not_empty
from adjudge.present.text import count, level, number, percent, show_interval, span
from adjudge.records import Interval
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, generator

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


METHOD = "several judges"
#: With fewer labels per group, several judges were not narrower than one, and covered less.
FEWEST_LABELS = 50
PROMISE = (
    "approximate: the coverage of these intervals is measured (examples/rates.py), not proven; it "
    f"needs about {FEWEST_LABELS} random labels per group"
)
SHARED = (
    "the shared interval uses the other groups' rates as a prior for this one (Yu and Hoff): it "
    "keeps the level of the plain one for any prior, and is narrower if the groups are alike"
)
_ASSUMES = (
    "within each group the labelled rows are a random sample of the same rows as the test rows"
)
#: Columns that can have the judges' names if each judge has its own row.
_NAME_COLUMNS = ("judge_name", "judge")


@dataclass(frozen=True, kw_only=True)
class JudgeAlone(Rate):
    """The same group's rate from one judge, by the method that `estimate` uses for it."""

    judge: str
    method: str
    estimate: float | None
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class PanelRate(Rate):
    """One group's rate from several judges, next to each judge and to people alone.

    `shared_interval` uses the other groups' rates.
    """

    group: str | None
    method: str
    estimate: float | None
    interval: Interval | None
    standard_error: NotNegative | None
    reason: str | None = None
    shared_interval: Interval | None = None
    alone: tuple[JudgeAlone, ...]
    human_only: Proportion | None
    human_only_interval: Interval | None
    naive: tuple[Proportion, ...]
    n_test: Count
    n_labels: Count
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The group's name."""
        return "all rows" if self.group is None else self.group

    @property
    def narrowest(self) -> JudgeAlone | None:
        """The judge whose interval is the narrowest; the first of them."""
        with_width = [judge for judge in self.alone if judge.width is not None]
        return min(with_width, key=lambda judge: judge.width or 0.0, default=None)

    @property
    def narrowing(self) -> float | None:
        """Width as a share of that of the narrowest judge alone."""
        if self.width is None or self.narrowest is None or self.method != METHOD:
            return None
        return self.width / max(self.narrowest.width or 0.0, 1e-12)


def _each_judge_alone(result: PanelEstimate) -> str | None:
    """Every group has every judge alone, in the order of the judges."""
    for rate in result.groups:
        if tuple(alone.judge for alone in rate.alone) != result.judges:
            return f"group {rate.name} does not have each judge alone"
    return None


@frozen
class PanelEstimate(RateResult):
    """Rates from several judges together, one per group; the intervals are approximate."""

    kind: ClassVar[str] = "panel_estimate"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("judges", "groups"), _each_judge_alone)

    judges: tuple[str, ...]
    by: str | None
    question: str | None
    confidence_level: Level
    groups: tuple[PanelRate, ...]
    labels_drawn: str
    promise: str
    share_promise: str | None = None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)
    seed: Count | None = None

    def intervals(self) -> list[RateInterval]:
        """The rate of each group with its interval."""
        return [RateInterval.of(rate.group, rate, rate.reason) for rate in self.groups]

    def view(self) -> list[Block]:
        """The rates, next to each judge alone, and what is promised."""
        shared = self.share_promise
        return self.show(
            _panel_headline(self),
            _panel_table(self),
            notes=[f"{rate.name}: {rate.reason}" for rate in self.groups if rate.reason],
            tables=[_alone_table(self)],
            assumptions=self.assumptions,
            assumes="random labels in each group; approximate",
            promises=[self.promise, *([f"shared interval: {shared}"] if shared else [])],
            figure=(
                "rates",
                panel_figure,
                f"{count(len(self.judges), 'judge')} together and the narrowest judge alone, with "
                f"{level(self.confidence_level)} intervals.",
            ),
        )


# --- the rows ---


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Rows that every judge has judged: `grades` with the first judge's verdicts, `verdicts` all.

    `verdicts` has one row per row and one column per judge in `judges`. `question` names the column
    of `grades.clusters`; None if there is none.
    """

    grades: Grades
    judges: tuple[str, ...]
    verdicts: FloatArray
    question: str | None


def prepare_panel(
    data: TableLike | None,
    judges: Sequence[str],
    *,
    labels: TableLike | None = None,
    by: str | None = None,
    cluster: str | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    model_labels: bool = False,
    **reading: Unpack[Reading],
) -> Panel:
    """The rows that all `judges` judged, from one column per judge or one row per judge.

    If every name is a column of the table, that column has the judge's verdicts. Otherwise
    `judge_name` (or `judge`, if another column is named for the verdicts) has the names and
    `judge_column` the verdicts, with one row per id and judge. Rows without a judge's verdict are
    left out and counted. Questions are `cluster`, or prompt_id if it exists and none is named.

    >>> wide = {"a": [1, 0, 1], "b": [1, 1, None], "human": [1, None, None]}
    >>> panel = prepare_panel(wide, ["a", "b"])
    >>> panel.verdicts.tolist(), panel.grades.dropped
    ([[1.0, 1.0], [0.0, 1.0]], {'no verdict of b': 1})
    """
    names = tuple(judges)
    if len(names) < 2 or len(set(names)) < len(names):
        remedy = "name two or more different judges; the column of one judge is --judge-column "
        remedy += "NAME (judge_column=), the same as --column judge=NAME"
        raise ArgumentError("judge", ", ".join(names), remedy)
    for other in (human_column, by, cluster):
        if other in names:
            raise ArgumentError("judge", other, "is used for something else: name verdicts")
    if data is None:
        raise ArgumentError("judge", names, "give a table with their verdicts")
    with Source.of(data, labels=labels, **reading) as source:
        table = open_table(source.rows)
        name, words, frame = table.name, table.labels_as, table.frame
        if table.kind is None:
            as_is = {"judge": names[0]} if judge_column == "judge" else {"judge": judge_column}
            as_is |= {"human": human_column} if human_column != "human" else {}
            frame = BINARY_COLUMNS.load(table, as_is=as_is)
        asked = first_repeats(Rows(frame, table.dropped))
        frame, lost = asked.frame, dict(asked.dropped)
        if not set(names) <= set(frame.columns):
            frame = _one_row_each(frame, names, name, judge_column, human_column)
        frame = frame.with_columns(
            read_words(tidy(frame[c], name, c), AS_SAID, words)
            for c in (*names, human_column)
            if c in frame.columns
        )
        if source.labels is not None:
            joined = join_values(frame, source.labels, column=human_column, source=name)
            frame, lost = joined.frame, merge_dropped(lost, joined.dropped)
    others = {judge: _verdicts(frame, judge, name, human_column, positive) for judge in names[1:]}
    first = tidy(frame[names[0]], name, names[0])
    missing = first.is_null()
    for judge, column in others.items():
        lost[f"no verdict of {judge}"] = int((column.is_null() & ~missing).sum())
        missing = missing | column.is_null()
    if missing.all():
        remedy = "name judges that judged the same rows"
        raise DataError(name, "no row has a verdict of every judge", column=names[0], remedy=remedy)
    first = pl.select(pl.when(~missing).then(first)).to_series().alias(names[0])
    frame = frame.with_columns(first, *others.values())
    cluster = DEFAULT_CLUSTER if cluster is None and DEFAULT_CLUSTER in frame.columns else cluster
    grades = prepare_grades(
        RowTable(frame=frame, name=name),
        by=by,
        cluster=cluster,
        judge_column=names[0],
        human_column=human_column,
        positive=positive,
        model_labels=model_labels,
    )
    if grades.scale == "classes":
        remedy = "name the class that counts as 1: --positive NAME (positive=)"
        raise ArgumentError("judge", names, remedy)
    dropped = dict(grades.dropped)
    lost[f"no verdict of {names[0]}"] = dropped.pop("no judge verdict", 0) - sum(
        lost[f"no verdict of {judge}"] for judge in others
    )
    further = [as_numbers(grades.frame[judge]) for judge in others]
    return Panel(
        grades=replace(grades, dropped=merge_dropped(lost, dropped)),
        judges=names,
        verdicts=np.stack([grades.judge, *further], axis=1),
        question=cluster,
    )


def _verdicts(
    frame: pl.DataFrame, judge: str, name: str, human_column: str, positive: str | None
) -> pl.Series:
    """One judge's verdicts as numbers in [0, 1], null if missing."""
    text = tidy(frame[judge], name, judge)
    if positive is not None and human_column in frame.columns:
        label = tidy(frame[human_column], name, human_column)
        text, _ = against_the_rest(text, label, positive, name, judge)
    else:
        text = read_grade_words(text)
    numbers = text.cast(pl.Float64, strict=False)
    bad = text.is_not_null() & ~numbers.is_between(0, 1).fill_null(False)
    remedy = "give 0, 1, a probability or nothing, or name the class that counts as 1: --positive"
    refuse_values(text, bad, "{} is not a verdict", source=name, remedy=remedy, column=judge)
    return numbers.alias(judge)


def _one_row_each(
    frame: pl.DataFrame, judges: tuple[str, ...], name: str, judge_column: str, human_column: str
) -> pl.DataFrame:
    """A table with one row per id and judge, turned into one with one column per judge."""
    named = next((c for c in _NAME_COLUMNS if c in frame.columns and c != judge_column), None)
    here = [] if named is None else tidy(frame[named], name, named).unique().to_list()
    absent = [judge for judge in judges if judge not in here]
    if named is None or absent or "id" not in frame.columns or judge_column not in frame.columns:
        raise DataError(
            name,
            f"{', '.join(absent or judges)} is neither a column nor a judge's name",
            column=named or "judge_name",
            remedy="name columns of verdicts, or keep one row per id and judge, with the name in "
            f"judge_name and the verdict in {judge_column} (--judge-column)",
        )
    rows = frame.with_columns(tidy(frame[named], name, named)).filter(pl.col(named).is_in(judges))
    refuse_duplicates(rows, ["id", named], source=name, remedy="keep one verdict per row and judge")
    others = [c for c in rows.columns if c not in ("id", named, judge_column)]
    if human_column in others:
        labels = rows.group_by("id").agg(pl.col(human_column).drop_nulls().n_unique())
        torn = labels.filter(pl.col(human_column) > 1)["id"]
        if len(torn):
            problem = f"id {torn[0]!r} has different labels for different judges"
            raise DataError(name, problem, column=human_column, remedy="keep one label per id")
    firsts = (pl.col(column).drop_nulls().first() for column in others)
    first = rows.group_by("id", maintain_order=True).agg(firsts)
    wide = rows.pivot(on=named, index="id", values=judge_column, maintain_order=True)
    return first.join(wide, on="id", how="left", maintain_order="left")


# --- the numbers ---


@dataclass(frozen=True, kw_only=True)
class _Fit:
    """A panel as arrays: the columns of the prediction and the data that it is fitted to."""

    panel: Panel
    sample: Sample
    columns: FloatArray
    groups: IntArray
    folds: IntArray
    level: float
    recorded: bool

    def predict(self, labelled: BoolArray) -> Sample:
        """The sample with P(human label 1) of every row as its verdict, fitted to these labels."""
        predicted = cross_fit(self.columns, self.sample.human, labelled, self.folds)
        return replace(self.sample, judge=predicted)

    def rate(self, code: int, name: str | None, predicted: Sample, *, share: bool) -> PanelRate:
        """One group's rate; with `share` also the interval that uses the other groups' rates."""
        level, names, groups = self.level, self.panel.judges, self.panel.grades.group_names
        members = np.asarray(self.groups == code)
        first, combined = (sample.restrict(members) for sample in (self.sample, predicted))
        single = [replace(first, judge=column) for column in self.panel.verdicts.T]
        methods = [best_for_random_labels(sample.scale) for sample in single]
        outcomes = [
            estimator.estimate(sample, confidence_level=level)
            for estimator, sample in zip(methods, single, strict=True)
        ]
        method, warnings = METHOD, list[str]()
        if enough := first.m >= FEWEST_LABELS:
            outcome = PPI.estimate(combined, confidence_level=level)
        else:
            outcome, method = outcomes[0], methods[0].name
            few = f"fewer than {FEWEST_LABELS} labels: {method} with {names[0]} alone"
            warnings.append(f"{few}, since they are too few to weight several judges")
        warnings += [*outcome.warnings, *outcome.doubts]
        checks = max(len(groups), 1)
        shift = label_shift(first, recorded=self.recorded, checks=checks, confidence_level=level)
        if shift is not None and shift.doubtful:
            warnings.append(f"label shift: {shift.explanation}")
        prior = self.prior(code, len(groups)) if share and enough else None
        people = HUMAN_ONLY.estimate(first, confidence_level=level)
        return PanelRate(
            group=name,
            method=method,
            estimate=outcome.rate,
            interval=outcome.interval(level),
            standard_error=outcome.standard_error,
            reason=outcome.reason,
            shared_interval=None if prior is None else _share(combined, outcome, prior, level),
            alone=tuple(
                JudgeAlone(
                    judge=judge,
                    method=way.name,
                    estimate=alone.rate,
                    interval=alone.interval(level),
                )
                for judge, way, alone in zip(names, methods, outcomes, strict=True)
            ),
            human_only=people.rate,
            human_only_interval=people.interval(level),
            naive=tuple(self.panel.verdicts[first.test].mean(axis=0).tolist()) if first.n else (),
            n_test=first.n,
            n_labels=first.m,
            warnings=tuple(warnings),
        )

    def prior(self, code: int, groups: int) -> Prior | None:
        """The distribution of the other groups' rates, predicted without this group's labels."""
        predicted, rates = self.predict(self.sample.labelled & (self.groups != code)), []
        for other in set(range(groups)) - {code}:
            sample = predicted.restrict(np.asarray(self.groups == other))
            outcome = PPI.compute(sample, confidence_level=self.level)
            if outcome.estimate is not None and outcome.standard_error:
                rates.append((outcome.estimate, outcome.standard_error))
        return prior_from(*zip(*rates, strict=True)) if len(rates) >= FEWEST_OTHERS else None


def estimate_panel(
    panel: Panel, *, labels_are_random: bool, share: bool, confidence_level: float, seed: Seed
) -> PanelEstimate:
    """One rate for each group, from all judges of the panel."""
    rows = panel.grades
    sample = sample_of(rows)
    labels_drawn = how_drawn(rows, sample, declared=labels_are_random)
    refuse_shares(sample, "a panel of judges", rows.name, "human")
    remedies = {
        "plan": "labels were picked by a plan: use one judge and method conditional",
        "unknown": "several judges in one rate need labels that are a random sample of each "
        "group's rows: declare it with --labels-are-random (labels_are_random=True)",
    }
    if sample is None or labels_drawn in remedies:
        raise ArgumentError("judge", ", ".join(panel.judges), remedies[labels_drawn])
    names = rows.group_names or (None,)
    groups = np.zeros(len(rows.judge), dtype=np.int64) if rows.groups is None else rows.groups
    if share and len(names) <= FEWEST_OTHERS:
        remedy = f"needs {FEWEST_OTHERS + 1} groups or more (--by), to learn from others"
        raise ArgumentError("share", share, remedy)
    fit = _Fit(
        panel=panel,
        sample=replace(sample, random=True),
        columns=make_columns(panel.verdicts, groups, len(names), rows.clusters),
        groups=groups,
        folds=_fold(rows, generator(seed)),
        level=confidence_level,
        recorded=labels_drawn == "recorded",
    )
    predicted = fit.predict(sample.labelled)
    warnings: tuple[str, ...] = ()
    if len(names) > 1 and rows.clusters is None:
        unused = "rows are treated as independent, and the verdicts on other answers to a question"
        remedy = "name it: --cluster prompt_id (cluster=)"
        warnings = (f"no column of questions: {unused} are not used; {remedy}",)
    return PanelEstimate(
        judges=panel.judges,
        by=rows.by,
        question=panel.question,
        confidence_level=confidence_level,
        groups=tuple(fit.rate(*group, predicted, share=share) for group in enumerate(names)),
        labels_drawn=labels_drawn,
        promise=PROMISE,
        share_promise=SHARED if share else None,
        assumptions=(_ASSUMES, independence(rows.clusters is not None), *rows.makers),
        warnings=warnings,
        dropped=rows.dropped,
        seed=seed if isinstance(seed, int) else None,
    )


def _fold(rows: Grades, rng: np.random.Generator) -> IntArray:
    """The fold of every row: rows of one question are in one fold, for any order of the rows."""
    codes = np.arange(len(rows.judge)) if rows.clusters is None else rows.clusters
    by_id = np.arange(len(codes))
    if "id" in rows.frame.columns:
        by_id = as_text(rows.frame["id"]).arg_sort().to_numpy()
    _, first = np.unique(codes[by_id], return_index=True)  # the place of its smallest id
    drawn = np.empty(len(first), dtype=np.int64)
    drawn[np.argsort(first)] = rng.permutation(len(first)) % FOLDS
    return np.asarray(drawn[codes])


def _share(sample: Sample, outcome: Outcome, prior: Prior, level: float) -> Interval | None:
    """The shared interval around the plain one's centre, with its standard error."""
    if outcome.centre is None or not outcome.half:
        return None
    freedom = (active_clusters(sample) or sample.m) - 1
    error = outcome.half / student_quantile(level, freedom)
    low, high = shared_interval(outcome.centre, error, freedom, prior, confidence_level=level)
    return Interval(clamp(low), clamp(high), level)


# --- the view ---


def _panel_headline(result: PanelEstimate) -> Headline:
    estimated = [rate for rate in result.groups if rate.estimate is not None]
    judges = ", ".join(result.judges)
    text = f"{count(len(estimated), 'rate')} from {count(len(result.judges), 'judge')} ({judges})"
    if len(result.groups) > 1:
        text += f" by {result.by}"
    shares = sorted(rate.narrowing for rate in estimated if rate.narrowing is not None)
    if shares:
        widths = span(percent(shares[0], 0), percent(shares[-1], 0))
        text += f": {widths} of the width of the narrowest judge alone"
        if len(shares) < len(estimated):
            text += f" in {len(shares)} of {count(len(estimated), 'group')}"
    rates = [f"{rate.name} {rate.text}" for rate in estimated]
    decision = "; ".join(rates) if len(rates) <= IN_A_SENTENCE else text
    refused = list_names([rate.name for rate in result.groups if rate.estimate is None])
    wider = [rate for rate in estimated if rate.narrowing is not None and rate.narrowing >= 1]
    judges = ", ".join(dict.fromkeys(rate.narrowest.judge for rate in wider if rate.narrowest))
    if refused:
        why = f"No estimate for {refused}: the reasons are below."
        return Headline(text, why, tone="bad", decision=decision if rates else "")
    action = "Report them as approximate"
    if not wider:
        action += ", with their intervals."
    elif len(wider) == len(estimated):
        remedy = f"report one judge, --judge-column {judges}"
        action = f"Several judges do not help here: {remedy}."
        decision = f"Several judges do not help: {remedy}"
    else:
        names = list_names([rate.name for rate in wider])
        action += f", except for {names}: {judges} alone is narrower there."
    return Headline(text, action, decision=decision)


def _panel_table(result: PanelEstimate) -> Table:
    confidence = level(result.confidence_level)
    columns: dict[str, Callable[[PanelRate], str]] = {
        "group": lambda rate: rate.name,
        "rate": lambda rate: number(rate.estimate),
        f"{confidence} interval": lambda rate: rate.interval_cell,
        "shared interval": lambda rate: show_interval(rate.shared_interval),
        "width": lambda rate: number(rate.width),
    }
    if result.share_promise is None:
        del columns["shared interval"]
    alone = {
        f"{judge} alone": partial(lambda at, rate: number(rate.alone[at].width), at)
        for at, judge in enumerate(result.judges)
    }
    return table_by_group(
        result.groups,
        result.by or "rows",
        columns | alone,
        caption="width: of the interval by all judges, and by each alone",
        optional=[*reversed(alone)],
    )


def _alone_table(result: PanelEstimate) -> Table:
    """All judges, each judge alone, and people alone: method, rate and interval."""
    rows = [
        (rate.name, name, method, number(value), show_interval(ends), *map(number, sizes))
        for rate in result.groups
        for sizes in [(rate.n_labels, rate.n_test)]
        for name, method, value, ends in (
            ("all judges", rate.method, rate.estimate, rate.interval),
            *((a.judge, a.method, a.estimate, a.interval) for a in rate.alone),
            ("people alone", HUMAN_ONLY.name, rate.human_only, rate.human_only_interval),
        )
    ]
    interval = f"{level(result.confidence_level)} interval"
    return Table(
        (result.by or "rows", "judge", "method", "rate", interval, "labels", "test rows"),
        rows,
        caption="All judges, each judge alone, and people alone, on the same rows",
        text_columns=3,
        detail=True,
        optional=["test rows", "labels"],
    )


def panel_figure(result: PanelEstimate) -> Drawing:
    """Two lines for each group: all judges, and below them the narrowest judge alone."""
    rates = sorted(result.groups, key=lambda rate: (rate.estimate is None, -(rate.estimate or 0)))
    narrower = sum(rate.narrowing is not None and rate.narrowing < 1 for rate in rates)
    few, of_groups = "a" if narrower else "no", ""
    if len(rates) > 1:
        few, of_groups = "a", f" for {narrower} of {len(rates)} groups"
    title = f"All judges give {few} narrower interval than one judge{of_groups}"
    rows = []
    for rate in rates:
        rows.append(rate.row(f"{rate.name}, {len(result.judges)} judges"))
        if (best := rate.narrowest) is not None:
            rows.append(best.row(f"{rate.name}, {best.judge} alone"))
    return result.draw(rows, title)
