"""The same questions run several times: how often one run passes, one of k, all k; what flips.

For a question with R runs of which c pass, without order:

    pass@1 = c / R,    pass@k = 1 - C(R - c, k) / C(R, k),    pass^k = C(c, k) / C(R, k)

and the mean over questions, which are the independent units. (pass@1)^k is another number, because
questions differ. Judge errors about one question repeat, so pass@k and pass^k are corrected by
questions of which *all* runs are labelled, as one number each: PPI++ over questions. A product of
corrected runs covers a few percent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.special import comb, ndtr, stdtrit

from adjudge.data.grades import Grades, mixed_models, prepare_grades
from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.data.turns import JUDGED_AS
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.rate_view import SHOWN, Rate, RateResult, with_groups
from adjudge.estimation.sample import clamp
from adjudge.present.blocks import Block, Columns, Headline, table_of
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    Repeats,
    frozen,
    not_empty,
)
from adjudge.present.text import count, group_name, number, percent, percent_interval
from adjudge.records import Interval
from adjudge.statistics.clusters import codes_of
from adjudge.statistics.differences import FEWEST, labelled_mean
from adjudge.validation import BoolArray, FloatArray, IntArray, open_unit, unit
from adjudge.validation import count as check_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: With fewer runs of a question the rate of flips of a gate is rough.
_ROUGH = 10
#: With fewer questions whose runs differ, its interval covers .34 to .75.
_FEW_DIFFERENT = 5
_SCATTERED = (
    "labels are on single runs: errors about one question repeat, so all runs of a labelled "
    "question need a label"
)


@dataclass(frozen=True, kw_only=True)
class RunRate(Rate):
    """pass@1, pass@k or pass^k: people's if there are labels, else by the judge.

    `by_judge` is the judge's number about all questions, `n_labelled` the questions whose labels
    correct it. Without a number `reason` states why.
    """

    statistic: str
    estimate: Proportion | None
    interval: Interval | None
    by_judge: Proportion
    n_labelled: Count = 0
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A gate "pass@1 of the suite >= at": how often it ends differently on two runs of it."""

    at: Proportion
    passes: bool
    flips: Proportion
    interval: Interval


@dataclass(frozen=True, kw_only=True)
class GroupRuns:
    """The runs of one system, or of all rows.

    `flips` is how often two runs of one question have different verdicts, `suite_error` the
    standard deviation of pass@1 of one run of all questions, asked again. `questions_narrow` and
    `runs_narrow` are the width of the interval of pass@1 with twice as many of each, as a share.
    """

    group: str | None
    questions: Count
    fewest_runs: Count
    most_runs: Count
    rates: tuple[RunRate, ...]
    flips: Proportion
    flips_interval: Interval
    suite_error: NotNegative
    gate: Gate | None
    questions_narrow: Proportion
    runs_narrow: Proportion


@frozen
class RunsEstimate(RateResult):
    """How often one run passes, one of k, and all k; and how often verdicts and gates flip."""

    kind: ClassVar[str] = "runs"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("groups"),)

    confidence_level: Level
    k: Repeats
    by: str | None
    labelled: bool
    groups: tuple[GroupRuns, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def all_warnings(self) -> tuple[str, ...]:
        return self.warnings

    def view(self) -> list[Block]:
        reasons = [
            (group.group, f"{rate.statistic}: {rate.reason}")
            for group in self.groups
            for rate in group.rates
            if rate.reason is not None
        ]
        caption = f"pass@1, pass@{self.k} and pass^{self.k}, with intervals over questions."
        return self.show(
            _headline(self),
            _table(self),
            notes=[*with_groups(reasons), *(line for g in self.groups for line in _flips(self, g))],
            assumptions=self.assumptions,
            figure=("runs", runs_figure, caption),
        )


def estimate_runs(
    answers: TableLike,
    *,
    k: int | None = None,
    gate: float | None = None,
    labels: TableLike | None = None,
    by: str | None = None,
    question: str | None = None,
    confidence_level: float = 0.95,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    model_labels: bool = False,
    **reading: Unpack[Reading],
) -> RunsEstimate:
    """How often one run of a question passes, at least one of k, and all k; and what flips.

    Rows are graded answers, several to a question. With people's labels on all runs of 30 or more
    questions, drawn at random, the numbers are what people would find; without, the judge's.

    Args:
        answers: Grades with several runs of each question: rows of one prompt_id, or of one id with
            a column `epoch`.
        k: How many runs pass@k and pass^k are about. Default: as many as every question has.
        gate: A limit on the suite's pass rate, such as 0.7: how often such a gate would end
            differently if everything was run again.
        labels: Human labels by id, for rows without a label.
        by: Numbers for each value of this column, such as model.
        question: Column of the question that a row is a run of. Default: prompt_id, or else id.
        confidence_level: Confidence level of the intervals.
        judge_column: Column of the judge's verdicts, as the user's file names it.
        human_column: Column of the human labels.
        positive: For labels that are words: the one that counts as a pass.
        model_labels: Use labels that a model made (labelled_by model); the result states it. They
            are refused otherwise.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> runs = {"prompt_id": [i // 3 for i in range(120)], "judge": [1, 1, 0] * 40}
    >>> result = estimate_runs(runs)
    >>> [round(rate.estimate, 2) for rate in result.groups[0].rates]
    [0.67, 1.0, 0.0]
    """
    level = open_unit(confidence_level, "confidence_level")
    if gate is not None:
        unit(gate, "gate")
    rows = prepare_grades(
        answers,
        labels=labels,
        by=by,
        cluster=question,
        judge_column=judge_column,
        human_column=human_column,
        positive=positive,
        needs_labels=False,
        model_labels=model_labels,
        **reading,
    )
    if rows.scale not in ("binary", "probability"):
        remedy = "name the word that counts as a pass: --positive NAME (positive=)"
        raise DataError(rows.name, f"has {rows.scale}, not passes and fails", remedy=remedy)
    units = {"turn", "step"}.intersection(rows.frame.get_column(JUDGED_AS, default=pl.Series([])))
    if question is None and units:
        problem = f"has {units.pop()}s of conversations: they are no runs of a question"
        remedy = "name the column of questions: --question NAME (question=)"
        raise DataError(rows.name, problem, column=JUDGED_AS, remedy=remedy)
    questions = _questions_of(rows)
    parts: list[tuple[str | None, BoolArray]] = [(None, np.ones(len(questions), dtype=np.bool_))]
    if rows.groups is not None:
        parts = [(name, rows.groups == code) for code, name in enumerate(rows.group_names)]
    tables = [(name, _Runs.of(rows, questions, members)) for name, members in parts]
    fewest = min(int(runs.n.min()) for _, runs in tables)
    k = check_count(fewest if k is None else k, "k", least=1)
    for _, runs in tables:
        short = int((runs.n < k).sum())
        if short:
            problem = f"{count(short, 'question')} of {len(runs.n):,} have fewer than {k} runs"
            raise ArgumentError("k", k, f"{problem}: give --k {fewest}, or run them again")
    if max(int(runs.n.max()) for _, runs in tables) < 2:
        remedy = "give the runs of one question the same prompt_id, or number them in `epoch`"
        raise DataError(rows.name, "no question was run twice", remedy=remedy)
    labelled = any(np.isfinite(runs.partly[0]).any() for _, runs in tables)
    warnings = mixed_models(rows)
    if gate is not None and fewest < _ROUGH:
        warnings.append(
            f"how often the gate flips is rough with fewer than {_ROUGH} runs of a question"
        )
    differing = min(int(((runs.passes > 0) & (runs.passes < runs.n)).sum()) for _, runs in tables)
    if gate is not None and differing < _FEW_DIFFERENT:
        few = f"only {count(differing, 'question')} with runs that differ"
        warnings.append(f"{few}: how often the gate flips can be larger than its interval")
    return RunsEstimate(
        confidence_level=level,
        k=k,
        by=rows.by,
        labelled=labelled,
        groups=tuple(
            _group_runs(name, runs, k, gate, level, labelled=labelled) for name, runs in tables
        ),
        assumptions=(
            "questions are independent, and a random sample of those it will be run on",
            "runs of one question differ only by chance",
            *(("labelled questions are a random sample of all questions",) if labelled else ()),
            *rows.judges,
            *rows.makers,
        ),
        warnings=tuple(warnings),
        dropped=rows.dropped,
    )


# --- the numbers ---


@dataclass(frozen=True)
class _Runs:
    """The runs of each question: how many, how many pass by the judge, and by people.

    `people` is NaN unless all runs are labelled. `partly` are people's share of the labelled runs,
    and the judge's of the same runs; if none is labelled, the judge's of all.
    """

    n: IntArray
    passes: IntArray
    people: FloatArray
    partly: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, rows: Grades, questions: IntArray, members: BoolArray) -> _Runs:
        codes = np.unique(questions[members], return_inverse=True)[1]
        verdicts = (rows.judge[members] > 0.5).astype(float)
        human = rows.human[members]
        has_label = np.isfinite(human)
        n = np.bincount(codes)
        labelled = np.bincount(codes, has_label, minlength=len(n))
        passed = np.bincount(codes, np.where(has_label, human, 0.0), minlength=len(n))
        passes = np.bincount(codes, verdicts, minlength=len(n))
        seen = np.bincount(codes, verdicts * has_label, minlength=len(n))
        any_label = labelled > 0
        share = np.divide(passed, labelled, out=np.full(len(n), np.nan), where=any_label)
        by_judge = np.where(any_label, seen / np.maximum(labelled, 1), passes / n)
        people = np.where(labelled == n, np.round(passed), np.nan)
        return cls(n, passes.astype(np.int64), people, (share, by_judge))


def _questions_of(rows: Grades) -> IntArray:
    """The question of each row: its cluster, or its id if ids repeat."""
    names = rows.frame["id"].to_list() if "id" in rows.frame.columns else None
    return codes_of(names if rows.clusters is None else rows.clusters, len(rows.judge))


def pass_any(passes: FloatArray, n: IntArray, k: int) -> FloatArray:
    """pass@k of each question: whether one of k of its runs passes, over all choices of k.

    >>> pass_any(np.array([1.0, 0.0]), np.array([3, 3]), 2).round(3).tolist()
    [0.667, 0.0]
    """
    return _where_known(passes, 1 - comb(n - passes, k) / comb(n, k))


def pass_all(passes: FloatArray, n: IntArray, k: int) -> FloatArray:
    """pass^k of each question: whether k of its runs all pass.

    >>> pass_all(np.array([2.0, 3.0]), np.array([3, 3]), 2).round(3).tolist()
    [0.333, 1.0]
    """
    return _where_known(passes, comb(passes, k) / comb(n, k))


def _where_known(passes: FloatArray, shares: ArrayLike) -> FloatArray:
    """The shares, and NaN for questions that are not labelled: comb(NaN) is 0."""
    return np.asarray(np.where(np.isnan(passes), np.nan, shares), dtype=float)


def _group_runs(
    group: str | None,
    runs: _Runs,
    k: int,
    gate: float | None,
    level: float,
    *,
    labelled: bool,
) -> GroupRuns:
    n = runs.n
    passes = runs.passes.astype(float)
    rates = [_rate("pass@1", *runs.partly, passes / n, level, labelled=labelled)]
    for name, of in ((f"pass@{k}", pass_any), (f"pass^{k}", pass_all)):
        if k > 1:
            by_judge = of(passes, n, k)
            people = of(runs.people, n, k)
            rates.append(_rate(name, people, by_judge, by_judge, level, labelled=labelled))
    several = n > 1
    differ = passes[several] * (n - passes)[several] / (n * (n - 1))[several]
    flips = 2 * differ
    flips_interval = _mean_interval(flips, level)
    variance = float(differ.sum()) / len(n) ** 2
    most = (flips_interval.high or 1.0) / (2 * len(n))
    within = float(differ.mean()) if len(differ) else 0.0
    r = float(n.mean())
    between = max(float((passes / n).var(ddof=1)) - within / r, 0.0) if len(n) > 1 else 0.0
    now = between + within / r
    return GroupRuns(
        group=group,
        questions=len(n),
        fewest_runs=int(n.min()),
        most_runs=int(n.max()),
        rates=tuple(rates),
        flips=float(flips.mean()) if len(flips) else 0.0,
        flips_interval=flips_interval,
        suite_error=math.sqrt(variance),
        gate=None if gate is None else _gate(gate, float((passes / n).mean()), variance, most, r),
        questions_narrow=math.sqrt(0.5),
        runs_narrow=math.sqrt((between + within / (2 * r)) / now) if now > 0 else 1.0,
    )


def _rate(
    statistic: str,
    people: FloatArray,
    same: FloatArray,
    by_judge: FloatArray,
    level: float,
    *,
    labelled: bool,
) -> RunRate:
    """The mean over questions; `same` is the judge's number about the runs that have labels."""
    naive = float(by_judge.mean())
    m = int(np.isfinite(people).sum())
    rate = RunRate(statistic=statistic, estimate=None, interval=None, by_judge=naive, n_labelled=m)
    if not labelled:
        return replace(rate, estimate=naive, interval=_mean_interval(by_judge, level))
    if m < FEWEST:
        why = f"{count(m, 'question')} with labels on all runs: {FEWEST} or more are needed"
        return replace(rate, reason=why if m else _SCATTERED)
    if m == len(people):
        return replace(rate, estimate=float(people.mean()), interval=_mean_interval(people, level))
    gap = labelled_mean(people, same, ends=(0.0, 1.0))
    low, high = (clamp(end or 0.0) for end in gap.interval(level))
    return replace(rate, estimate=clamp(gap.estimate), interval=Interval(low, high, level=level))


def _mean_interval(values: FloatArray, level: float) -> Interval:
    """Of a mean over questions, with two pseudo questions 0 and 1: Student's t with N - 1.

    A plain t interval has no width if all questions agree, and covers too rarely at 30 questions.
    """
    n = len(values)
    if n < 2:
        return Interval(0.0, 1.0, level=level)
    centre = (float(values.sum()) + 1) / (n + 2)
    square = (float(values @ values) + 1) / (n + 2) - centre**2
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * math.sqrt(max(square, 0.0) / (n + 1))
    return Interval(max(centre - reach, 0.0), min(centre + reach, 1.0), level=level)


def _gate(at: float, rate: float, variance: float, most: float, runs: float) -> Gate:
    """How often two runs of the suite end on different sides of a gate.

    One run of it has this variance, so it passes with pi = Phi((rate - at) / sd), and two runs
    differ with 2 pi (1 - pi). The distance itself is known up to 1 / sqrt(runs) of the sd. If no
    two runs differed, the variance can still be up to `most`.
    """
    gap = abs(rate - at)
    distance = gap / math.sqrt(variance) if variance > 0 else math.inf
    nearest = distance if variance > 0 else gap / math.sqrt(most)
    reach = 1.96 / math.sqrt(runs)
    low = _flip_rate(distance + reach)
    high = _flip_rate(max(nearest - reach, 0.0))
    flips = _flip_rate(distance)
    return Gate(at=at, passes=rate >= at, flips=flips, interval=Interval(low, high, level=0.95))


def _flip_rate(distance: float) -> float:
    side = float(ndtr(distance))
    return 2 * side * (1 - side)


# --- what it shows ---


def _headline(result: RunsEstimate) -> Headline:
    whose = "People would find" if result.labelled else "By this judge"
    if len(result.groups) > 1:
        return Headline(f"{whose}: {len(result.groups)} groups of runs, with k = {result.k}")
    [group] = result.groups
    estimates = [rate for rate in group.rates if rate.estimate is not None]
    if not estimates:
        text = f"By this judge {percent(group.rates[0].by_judge)} of the runs pass"
        return Headline(f"{text}; people's rate is not known", "The reasons are below.", tone="bad")
    words = {"pass@1": "of the runs pass", f"pass@{result.k}": f"of the questions pass in one of "
             f"{result.k} runs", f"pass^{result.k}": f"in all {result.k}"}  # fmt: skip
    shown = [
        f"{percent(rate.estimate)} {percent_interval(rate.interval)} {words[rate.statistic]}"
        for rate in estimates
    ]
    text = f"{whose}: {', '.join(shown)}"
    return Headline(text, _narrower(group), decision=text)


def _narrower(group: GroupRuns) -> str:
    """Whether questions or runs would narrow the interval of pass@1 more."""
    questions = percent(1 - group.questions_narrow, 0)
    runs = percent(1 - group.runs_narrow, 0)
    return (
        f"Twice as many questions would narrow pass@1 by {questions}, twice as many runs of these "
        f"by {runs}."
    )


def _flips(result: RunsEstimate, group: GroupRuns) -> list[str]:
    prefix = "" if group.group is None else f"{group_name(group.group)}: "
    shown = f"{percent(group.flips)} {percent_interval(group.flips_interval)}"
    lines = [f"{prefix}two runs of one question have different verdicts in {shown} of the cases"]
    if group.gate is not None:
        side = "passes" if group.gate.passes else "fails"
        flips = f"{percent(group.gate.flips)} {percent_interval(group.gate.interval)}"
        lines.append(
            f"{prefix}by the judge a gate at {percent(group.gate.at)} {side} now; two runs of the "
            f"suite would end differently in {flips} of the cases, with nothing changed"
        )
    return lines


def _table(result: RunsEstimate) -> Block:
    rows = [(group, rate) for group in result.groups[:SHOWN] for rate in group.rates]
    grouped = result.by is not None
    columns: Columns[tuple[GroupRuns, RunRate]] = {}
    if grouped:
        columns[str(result.by)] = lambda row: group_name(row[0].group)
    columns |= {
        "statistic": lambda row: row[1].statistic,
        "rate": lambda row: percent(row[1].estimate),
        "interval (%)": lambda row: percent_interval(row[1].interval),
    }
    if result.labelled:
        columns["judge"] = lambda row: percent(row[1].by_judge)
        columns["labelled"] = lambda row: number(row[1].n_labelled)
    columns["questions"] = lambda row: number(row[0].questions)
    columns["runs"] = lambda row: _span(row[0])
    caption = "Rates over questions" + (", corrected by labels" if result.labelled else "")
    return table_of(rows, columns, caption=caption, text_columns=1 + grouped)


def _span(group: GroupRuns) -> str:
    if group.fewest_runs == group.most_runs:
        return number(group.fewest_runs)
    return f"{group.fewest_runs} to {group.most_runs}"


def runs_figure(result: RunsEstimate) -> Drawing:
    rows = [
        rate.row(" ".join(filter(None, (group.group, rate.statistic))), rate.by_judge)
        for group in result.groups[:SHOWN]
        for rate in group.rates
        if rate.estimate is not None
    ]
    if not rows:
        raise ArgumentError("plot", "no rate", "the result has no number to draw")
    title = "How often runs pass" if result.labelled else "How often runs pass, by this judge"
    return result.draw(rows, title, dot="people, corrected" if result.labelled else "judge")
