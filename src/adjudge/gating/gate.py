"""Does a run pass? Decided on a bound of people's number, never on the judge's own.

The number is corrected by labels of this run; with `assume_same_errors`, if the run has none, by
those behind the card: a judge that errs on this system as it did on the labelled one has the same
sensitivity and specificity here. A run against a baseline is decided on the paired difference. By
the card alone, people's difference is the judge's divided by sensitivity + specificity - 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import numpy as np
import polars as pl

from adjudge.data.grades import Grades, prepare_grades
from adjudge.data.rows import pass_by_share
from adjudge.data.source import Source, open_table, open_values
from adjudge.data.tables import Table, TableLike
from adjudge.errors import (
    AdjudgeError,
    ArgumentError,
    DataError,
    PolicyMismatchError,
    StoreMissingError,
)
from adjudge.estimation import RateInterval, compare, estimate, plan_compare, plan_rate
from adjudge.estimation.comparison import Comparison, Difference, PairDifference
from adjudge.estimation.judges import prepare_judges
from adjudge.estimation.rate import Estimate, IntervalMethod
from adjudge.estimation.rate_view import offer_declaration
from adjudge.estimation.systems import ReadingSystems
from adjudge.gating.card import JudgeCard, judges_of, read_card
from adjudge.gating.decision import Outcome, decide
from adjudge.judges.judge import match_judge
from adjudge.present.blocks import (
    Block,
    Columns,
    Figure,
    Headline,
    Note,
    Tone,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figure import WARM, ForestRow, forest_figure
from adjudge.present.result import Check, Count, Level, Result, frozen, not_empty
from adjudge.present.text import clip, count, left_out, number, percent, show_interval
from adjudge.records import Interval
from adjudge.selection.verifying import remark_answers
from adjudge.statistics.clusters import codes_of, share_interval
from adjudge.store import StorePlace
from adjudge.validation import FloatArray, IntArray, finite_number, non_negative, open_unit, unit
from adjudge.validation import count as check_count

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: Whose labels the number stands on.
By = Literal["labels of this run", "labels of the card", "the judge alone"]
#: The most numbers in a headline.
_NAMED = 4
_NO_LABELS = "this run has no labels"
_WITH_CARD = "the judge errs on these rows as on the labelled rows of its card"
#: What only rates and means take.
_OF_RATES = ("model", "interval", "labels_are_random", "labels_by_verdict")


class ReadingRun(ReadingSystems, total=False):
    """What a gate reads: what every verb takes that compares systems, and these.

    Args:
        within: Against the baseline: a difference for each value of this column; all must pass.
        model: The win rate of this model, from judgments of pairs.
        interval: wald (Eq. 6), or profile for weak judges and few labels.
        labels_are_random: State that the labelled rows are a random sample of the rows.
        labels_by_verdict: State that rows were drawn for labelling by the judge's verdict.
    """

    within: str | None
    model: str | None
    interval: IntervalMethod
    labels_are_random: bool
    labels_by_verdict: bool


@frozen
class GateResult(Result):
    """Whether a run passes: `pass`, `fail`, or `inconclusive` for the `reasons`.

    `numbers` are the rates, means or the difference that was decided on (`decided_by`), or that
    would have been. `labels_needed` and `questions_needed` are about how many decide, in all, if
    the number is what it is now.
    """

    kind: ClassVar[str] = "gate"
    rows_in: ClassVar[str] = "numbers"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("numbers"),)

    outcome: Outcome
    at_least: float | None = None
    at_most: float | None = None
    margin: float | None = None
    confidence_level: Level
    decided_by: By
    numbers: tuple[RateInterval, ...]
    card: str | None = None
    reasons: tuple[str, ...] = ()
    labels_needed: Count | None = None
    questions_needed: Count | None = None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count] = field(default_factory=dict)

    @property
    def limits(self) -> str:
        """What is asked, as in "at least 0.8"."""
        if self.margin is not None:
            return f"at least {number(-self.margin)} against the baseline"
        ends = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{word} {number(end)}" for word, end in ends if end is not None)

    def view(self) -> list[Block]:
        blocks: list[Block] = [headline_of(self)]
        blocks += notes_of([*self.reasons, *_needed(self)])
        columns: Columns[RateInterval] = {
            "group": _name_of,
            "people's": lambda each: number(each.estimate),
            "interval": lambda each: show_interval(each.interval),
            "judge alone": lambda each: number(each.naive),
            "labels": lambda each: f"{each.n_labels:,}",
            "rows": lambda each: f"{each.n:,}",
        }
        [first, *others] = self.numbers
        if others:
            caption = f"People's numbers, by {self.decided_by}"
            blocks.append(table_of(self.numbers, columns, caption=caption))
        else:
            rows_of = "question" if self.margin is not None else "row"
            whose = " of the card" * (self.decided_by == "labels of the card")
            labels = count(first.n_labels, "label") + whose
            alone = f"the judge alone says {number(first.naive)}"
            blocks.append(Note([f"{labels}, {count(first.n, rows_of)}; {alone}"]))
        blocks += warnings_of(self.warnings) + notes_of(left_out(self.dropped))
        blocks += explain(self.assumptions, promises=[_statement(self)])
        if any(each.estimate is not None for each in self.numbers):
            caption = "The numbers that the gate decides on; a line at what was asked for."
            blocks.append(Figure("gate", partial(gate_figure, self), caption))
        return blocks


def headline_of(result: GateResult) -> Headline:
    """The outcome, the numbers and what was asked."""
    tones: Mapping[Outcome, Tone] = {"pass": "good", "fail": "bad", "inconclusive": "plain"}
    numbers = ", ".join(map(_in_words, result.numbers[:_NAMED]))
    if result.decided_by == "the judge alone":
        numbers = "people's number is not known"
    if len(result.numbers) > _NAMED:
        numbers += f" and {len(result.numbers) - _NAMED} more"
    text = f"{numbers}; asked for {result.limits}"
    return Headline(
        f"{result.outcome.upper()}: {text}",
        tone=tones[result.outcome],
        decision=f"{result.outcome.capitalize()}: {text}",
    )


def _in_words(each: RateInterval) -> str:
    name = "people's number" if each.name is None else _name_of(each)
    if each.estimate is None and each.interval is None:
        return f"{name} is not known"
    return f"{name} {number(each.estimate)} {show_interval(each.interval)}"


def _name_of(each: RateInterval) -> str:
    return "all rows" if each.name is None else clip(each.name, 60)


def gate_figure(result: GateResult) -> Drawing:
    rows = [
        ForestRow(_name_of(each), each.estimate, each.interval, each.naive)
        for each in result.numbers
        if each.estimate is not None
    ]
    figure = forest_figure(
        rows,
        title="\n".join(wrap(headline_of(result).text, 66)),
        axis=f"asked for {result.limits}",
        dot="people's number, with its interval",
        ring="the judge alone",
        scale=1,
    )
    [axes] = figure.axes
    limits = [result.at_least, result.at_most]
    if result.margin is not None:
        limits.append(-result.margin)
    for limit in limits:
        if limit is not None:
            axes.axvline(limit, color=WARM, linewidth=1.4)
    return figure


def _needed(result: GateResult) -> list[str]:
    ways = []
    if result.labels_needed is not None:
        ways.append(count(result.labels_needed, "label"))
    if result.questions_needed is not None:
        noun = "labelled question" if result.margin is not None else "labelled row"
        ways.append(count(result.questions_needed, noun))
    if not ways:
        return []
    return [f"about {' or '.join(ways)} in all decide, if the number stays as it is"]


def _statement(result: GateResult) -> str:
    """What the outcome is worth, by the level of the interval."""
    errors = percent((1 - result.confidence_level) / 2)
    measure = (
        "people's difference from the baseline" if result.margin is not None else "people's rate"
    )
    condition = f", if {_WITH_CARD}" if result.decided_by == "labels of the card" else ""
    return (
        f"Promise: if {measure} is {result.limits}, the gate fails in about {errors} of samples or "
        f"less; if it is not, it passes in about {errors} or less{condition}"
    )


def gate(
    data: TableLike,
    *,
    card: JudgeCard | str | Path | None = None,
    baseline: TableLike | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    margin: float | None = None,
    assume_same_errors: bool = False,
    judged: int | None = None,
    store: StorePlace = None,
    confidence_level: float = 0.95,
    today: date | None = None,
    **reading: Unpack[ReadingRun],
) -> GateResult:
    """Whether a run passes, fails, or is not known to do either.

    The number is people's: corrected by labels of this run. Without any the gate is inconclusive.
    If the card has expired or is of another judge, the gate only reports: it is inconclusive. With
    groups (`by`, or `within` against a baseline) all must pass, and their intervals hold together.

    Args:
        data: Rows of the run: grades, scores, or judgments of pairs with `model`. A file or a log.
        card: The card of the judge (card make -o).
        baseline: Rows of an earlier run on the same questions: decided on the paired difference.
        at_least: Pass if people's rate or mean is shown to be at least this, fail if it is below.
        at_most: Pass if it is shown to be at most this, fail if it is above.
        margin: Against the baseline: pass if the run is shown to lose at most this, such as 0.02;
            fail if it loses more. 0 asks for a run that is no worse.
        assume_same_errors: Without labels of this run, assume that the judge errs on it as on the
            labelled rows of its card, and correct by these. The result states it.
        judged: Rows that the judge has judged since the card was made, for a card that expires
            after a number of them. Default: counted in `store`; without one, the rows of this run.
        store: Store of the judge's replies, to count the rows that it has judged since the card
            was made.
        confidence_level: Level of the intervals; half of the rest is the error of an outcome.
        today: The day on which the card must hold.
        **reading: How rows are read: see `ReadingRun` and `adjudge.data.Reading`.

    >>> from adjudge.gating import make_card
    >>> rows = {"judge": [1] * 80 + [0] * 20, "human": [1] * 70 + [0] * 30,
    ...         "sampled_by": ["random"] * 100}
    >>> card = make_card(rows)
    >>> run = {"judge": [1] * 70 + [0] * 30, "human": [1] * 60 + [0] * 40}
    >>> [gate(run, card=card, at_least=limit).outcome for limit in (0.4, 0.6, 0.8)]
    ['pass', 'inconclusive', 'fail']
    """
    level = open_unit(confidence_level, "confidence_level")
    if isinstance(card, (str, Path)):
        card = read_card(card)
    if card is None and baseline is None:
        raise ArgumentError("card", None, "give a card (adjudge card make), or a --baseline")
    if assume_same_errors and card is None:
        raise ArgumentError("assume_same_errors", True, "give the --card of the judge too")
    if baseline is None and at_least is None and at_most is None:
        raise ArgumentError("at_least", None, "give a limit: --at-least or --at-most")
    if baseline is None and margin is not None:
        raise ArgumentError("margin", margin, "is for a --baseline: give --at-least")
    if baseline is not None and (margin is None or at_least is not None or at_most is not None):
        raise ArgumentError("margin", margin, "a --baseline takes --margin, such as 0.02, alone")
    if judged is not None:
        check_count(judged, "judged")
    limits = {"at_least": at_least, "at_most": at_most}
    for name, limit in limits.items():
        if limit is not None:
            finite_number(limit, name)
    if at_least is not None and at_most is not None and at_least > at_most:
        raise ArgumentError("at_least", at_least, f"no number reaches it and stays at {at_most}")
    asked = _Asked(
        card=card,
        assume=assume_same_errors,
        judged=judged,
        store=store,
        level=level,
        today=today or datetime.now(UTC).date(),
        reading=dict(reading),
    )
    if baseline is not None and margin is not None:
        return _gate_difference(baseline, data, asked, non_negative(margin, "margin"))
    return _gate_rates(data, asked, limits)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What holds for every gate."""

    card: JudgeCard | None
    assume: bool
    judged: int | None
    store: StorePlace
    level: float
    today: date
    reading: dict[str, Any]

    def objections(self, frames: Sequence[pl.DataFrame], n: int) -> tuple[list[str], list[str]]:
        """Why the card cannot speak for these rows: expired, or of another judge; and remarks."""
        reasons: list[str] = []
        remarks: list[str] = []
        if self.card is None:
            return reasons, remarks
        remarks += [f"on the card, {line}" for line in self.card.warnings]
        judged = n if self.judged is None else self.judged
        if (after := self.card.expires_after) is not None and self.judged is None:
            try:
                counted = None if self.store is None else self.card.count_judged(self.store)
            except StoreMissingError:
                counted = None
            if isinstance(counted, str):
                unknown = "whether the card still holds is not known"
                reasons.append(f"{unknown}: {counted}; give its --store, or --judged")
            elif counted is not None:
                judged = counted
            else:
                remarks.append(
                    f"the card holds for {count(after, 'row')}, and only the {n:,} of this run "
                    "are counted: give the --store of the judge, or --judged"
                )
        if (why := self.card.expired(self.today, judged)) is not None:
            reasons.append(why)
        for frame in frames:
            for judge in judges_of(frame):
                expected = [self.card.identity]
                try:
                    match = match_judge(
                        expected, judge, made="the card", remedy="make another card"
                    )
                except PolicyMismatchError as error:
                    reasons.append(str(error))
                else:
                    remarks += [] if match.remark is None else [match.remark]
            reasons += remark_answers(self.card.calibrated_on, frame, made="the card")
        return reasons, list(dict.fromkeys(remarks))

    @property
    def codes(self) -> _Codes | str:
        """The card's rows that have a verdict, as 1 and 0; or why they correct no run."""
        if self.card is None:
            return "there is no card whose labels could correct it"
        evaluation = self.card.evaluation
        if not evaluation.judges or {*evaluation.judges[0].names} != {"pass", "fail"}:
            return "the card is not of grades that pass or fail with labels of both"
        if evaluation.drawn not in ("random", None):
            drawn = self.card.lines()["labels"].rpartition(": ")[2]
            return f"the labels of the card were drawn {drawn}: they correct no other run"
        values = np.array([name == "pass" for name in evaluation.judges[0].names] + [False])
        verdicts = np.array(self.card.verdict_codes)
        answered = verdicts < len(values) - 1
        clusters = self.card.cluster_codes
        return _Codes(
            verdicts=values[verdicts][answered].astype(float),
            labels=values[np.array(self.card.label_codes)][answered].astype(float),
            clusters=None if clusters is None else np.array(clusters)[answered],
        )


@dataclass(frozen=True, kw_only=True)
class _Codes:
    """Labelled rows behind a card: 1 is a pass."""

    verdicts: FloatArray
    labels: FloatArray
    clusters: IntArray | None

    def quality(self, label: float, level: float) -> Interval | None:
        """How often the judge agrees where people say this: sensitivity or specificity."""
        here = self.labels == label
        codes = codes_of(None if self.clusters is None else self.clusters[here], int(here.sum()))
        agrees = (self.verdicts[here] == label).astype(float)
        return share_interval(agrees, codes, level)


# --- a rate, or a mean ---


def _gate_rates(data: TableLike, asked: _Asked, limits: Mapping[str, float | None]) -> GateResult:
    words = dict(asked.reading)
    if (within := words.pop("within", None)) is not None:
        raise ArgumentError("within", within, "is for a --baseline: use --by")
    declared = {name: words.pop(name) for name in _OF_RATES[1:] if name in words}
    judge = words.pop("judge", None)
    options = {"needs_labels": False, "scores": words.get("positive") is None, **words}
    options["by_verdict"] = declared.get("labels_by_verdict", False)
    if judge is None:
        rows = prepare_grades(data, **options)
    else:
        files = {k: options.pop(k) for k in _FILES if k in options}
        rows = prepare_judges(Source(data, **files), [judge], **options)
    if rows.scale == "classes":
        remedy = "name the word that counts as a pass: --positive NAME (positive=)"
        raise DataError(rows.name, "has classes, not passes and fails", remedy=remedy)
    if rows.scale != "scores":
        for name, limit in limits.items():
            unit(limit or 0.0, name)
    reasons, remarks = asked.objections([rows.frame], len(rows.judge))
    labelled = bool(np.isfinite(rows.human).any())
    result: Any = None
    by: By = "labels of this run"
    may_decide = not reasons
    groups = max(len(rows.group_names), 1)
    if labelled:
        result = estimate(rows, confidence_level=1 - (1 - asked.level) / groups, **declared)
    else:
        by = "labels of the card"
        corrected = _corrected_by_card(rows, asked)
        reasons += [corrected] if isinstance(corrected, str) else []
        result = None if isinstance(corrected, str) else corrected
        if not asked.assume:
            remedy = "label some at random, or state --assume-same-errors"
            reasons.insert(0, f"{_NO_LABELS}: {remedy}")
            may_decide = False
    if result is None:
        by = "the judge alone"
        numbers = [_judge_alone(rows)]
    else:
        numbers = result.intervals()
        if not labelled:  # the rows of the card are none of this run
            numbers = [
                replace(each, n=len(rows.judge), naive=_judge_alone(rows).naive) for each in numbers
            ]
        reasons += [f"no number: {each.reason}" for each in numbers if each.reason is not None]
    outcome: Outcome = "inconclusive"
    if may_decide and result is not None:
        outcome = decide([each.interval for each in numbers], **limits)
    estimates = () if result is None else getattr(result, "groups", None) or (result,)
    offers: list[str] = []
    if labelled and outcome == "inconclusive":
        offers = offer_declaration([each for each in estimates if isinstance(each, Estimate)])
    assumed = [line for each in estimates for line in each.assumptions]
    if by == "labels of the card":
        assumed.insert(0, _WITH_CARD)
    return GateResult(
        outcome=outcome,
        at_least=limits["at_least"],
        at_most=limits["at_most"],
        confidence_level=asked.level,
        decided_by=by,
        numbers=tuple(numbers),
        card=None if asked.card is None else asked.card.digest,
        reasons=(*_why(outcome, reasons), *offers),
        **(_for_rate(rows, numbers, asked, limits) if outcome == "inconclusive" else {}),
        assumptions=tuple(dict.fromkeys(assumed)),
        warnings=(*remarks, *(() if result is None else result.all_warnings)),
        dropped=rows.dropped,
    )


#: Options that name files and columns: a `Source` takes them.
_FILES = ("labels", "columns", "labels_columns", "labels_as", "human_metrics", "alike_ids")


def _judge_alone(rows: Grades) -> RateInterval:
    naive = float(rows.judge.mean()) if len(rows.judge) else None
    return RateInterval(
        name=None,
        estimate=None,
        interval=None,
        naive=naive,
        n=len(rows.judge),
        n_labels=0,
        reason=None,
    )


def _corrected_by_card(rows: Grades, asked: _Asked) -> Estimate | str:
    """The rate of this run, corrected by the labels behind the card; or why there is none."""
    codes = asked.codes
    if isinstance(codes, str):
        return codes
    if rows.by is not None or rows.wins_of is not None or rows.scale == "scores":
        return "labels of the card correct one rate of grades: no groups, win rates or scores"
    words = pass_by_share(pl.Series(rows.judge))
    here = [None if word is None else int(word == "pass") for word in words]
    options: dict[str, Any] = {}
    if "interval" in asked.reading:
        options["interval"] = asked.reading["interval"]
    if codes.clusters is not None or rows.clusters is not None:
        mine = codes_of(rows.clusters, len(here))
        theirs = codes_of(codes.clusters, len(codes.labels))
        options["cluster"] = [*(f"run {c}" for c in mine), *(f"card {c}" for c in theirs)]
    result: Estimate = estimate(
        judge=[*here, *codes.verdicts],
        human=[*[None] * len(here), *codes.labels],
        method="misclassification",
        confidence_level=asked.level,
        **options,
    )
    return result


def _for_rate(
    rows: Grades, numbers: Sequence[RateInterval], asked: _Asked, limits: Mapping[str, float | None]
) -> dict[str, int | None]:
    """Labels of these rows that bring the interval to one side of the limit; else how many rows."""
    [first, *others] = numbers
    if others or first.estimate is None or first.low is None or first.high is None:
        return {}
    distance = min(abs(first.estimate - end) for end in limits.values() if end is not None)
    guess: dict[str, Any] = {}
    have = int(np.isfinite(rows.human).sum())
    corrected = None if have else _corrected_by_card(rows, asked)
    if isinstance(corrected, Estimate):
        guess = {"sensitivity": corrected.sensitivity, "specificity": corrected.specificity}
    try:
        width = 2 * distance
        needed = plan_rate(rows, width=width, confidence_level=asked.level, **guess)
        labels = needed.needed("random")
    except AdjudgeError:
        labels = None  # at the limit itself, or with every row labelled
    if labels is not None and have < labels <= len(rows.judge):
        return {"labels_needed": labels}
    if not have or not distance:
        return {}
    # The width of an interval falls with the root of the number of labels.
    more = math.ceil(have * ((first.high - first.low) / (2 * distance)) ** 2)
    return {"questions_needed": more if more > len(rows.judge) else None}


# --- a difference from the baseline ---


def _gate_difference(
    baseline: TableLike, data: TableLike, asked: _Asked, margin: float
) -> GateResult:
    words = dict(asked.reading)
    for name in _OF_RATES:
        if value := words.pop(name, None):
            raise ArgumentError(name, value, "is for a limit, not for a --baseline")
    tables: list[Any] = [baseline, data]
    if not words.get("human_metrics"):  # whose metrics are people's is read with the log itself
        tables = [open_table(each) for each in tables]
        if words.get("labels") is not None:
            words["labels"] = open_values(words["labels"])
    level = asked.level
    result = compare(*tables, confidence_level=level, **words)
    if result.of_many:
        raise ArgumentError("baseline", "several systems", "give the rows of one run in each file")
    if (slices := len(result.differences)) > 1:
        level = 1 - (1 - level) / slices
        result = compare(*tables, confidence_level=level, **words)
    frames = [each.frame for each in tables if isinstance(each, Table)]
    reasons, remarks = asked.objections(frames, result.n)
    may_decide = not reasons
    by: By = "labels of this run" if result.labels_given else "the judge alone"
    numbers = [_difference_of(pair, result) for pair in result.differences]
    reasons += [f"no number: {each.reason}" for each in numbers if each.reason is not None]
    if not result.labels_given:
        corrected = _difference_by_card(tables, words, asked)
        if not isinstance(corrected, str):
            by = "labels of the card"
            estimated, interval, labels = corrected
            numbers = [replace(numbers[0], estimate=estimated, interval=interval, n_labels=labels)]
        elif asked.card is not None:
            reasons.append(corrected)
        if not asked.assume:
            remedy = "label some questions of both runs, or state --assume-same-errors with a card"
            reasons.insert(0, f"{_NO_LABELS}: {remedy}")
            may_decide = False
    outcome: Outcome = "inconclusive"
    if may_decide:
        outcome = decide([each.interval for each in numbers], at_least=-margin)
    more: dict[str, int | None] = {}
    if outcome == "inconclusive" and len(numbers) == 1:
        more = _for_difference(tables, numbers[0], margin, words, level)
    return GateResult(
        outcome=outcome,
        margin=margin,
        confidence_level=asked.level,
        decided_by=by,
        numbers=tuple(numbers),
        card=None if asked.card is None else asked.card.digest,
        reasons=_why(outcome, reasons),
        **more,
        assumptions=((_WITH_CARD,) if by == "labels of the card" else ()) + result.assumptions,
        warnings=(*remarks, *result.warnings),
        dropped=result.dropped,
    )


def _difference_of(pair: PairDifference, result: Comparison) -> RateInterval:
    """People's difference of two runs, if labels give one."""
    people = pair.people or Difference()
    has_interval = people.interval is not None
    return RateInterval(
        name=f"{pair.b} - {pair.a}" if pair.within is None else f"{result.within} {pair.within}",
        estimate=people.estimate if has_interval else None,
        interval=people.interval,
        naive=pair.judge.estimate,
        n=pair.judge.n,
        n_labels=people.n,
        reason=None if has_interval else people.reason,
    )


def _why(outcome: Outcome, reasons: Sequence[str]) -> tuple[str, ...]:
    """The reasons of an inconclusive outcome, each once."""
    if outcome != "inconclusive":
        return ()
    return tuple(dict.fromkeys(reasons)) or ("the interval is on both sides of the limit",)


def _difference_by_card(
    tables: Sequence[Table], words: Mapping[str, Any], asked: _Asked
) -> tuple[float, Interval, int] | str:
    """People's difference and its labels, if the judge errs here as on the card; or why not.

    The judge's difference is people's times J = sensitivity + specificity - 1. Three intervals
    hold together (Bonferroni), and the ends are the lowest and highest ratio.
    """
    codes = asked.codes
    if isinstance(codes, str):
        return codes
    if words.get("within") is not None:
        return "labels of the card correct one difference, not slices"
    each = 1 - (1 - asked.level) / 3
    result = compare(*tables, confidence_level=each, **words)
    if result.measure != "verdicts":
        return f"labels of the card correct verdicts of pass and fail, not {result.measure}"
    judge = result.difference.judge
    gap = judge.interval
    if gap is None or gap.low is None or gap.high is None:
        return judge.reason or "the judge has no difference"
    quality = [codes.quality(label, each) for label in (0.0, 1.0)]
    lows = [0.0 if ends is None else ends.low or 0.0 for ends in quality]
    highs = [1.0 if ends is None or ends.high is None else ends.high for ends in quality]
    least = sum(lows) - 1
    most = sum(highs) - 1
    if least <= 0:
        return "by the labels of its card the judge is not shown to be better than chance"
    low = min(gap.low / least, gap.low / most)
    high = max(gap.high / least, gap.high / most)
    shares = [float((codes.verdicts == label)[codes.labels == label].mean()) for label in (0, 1)]
    ends = Interval(max(low, -1.0), min(high, 1.0), level=asked.level)
    return (judge.estimate or 0.0) / (sum(shares) - 1), ends, len(codes.labels)


def _for_difference(
    tables: Sequence[Any],
    number: RateInterval,
    margin: float,
    words: Mapping[str, Any],
    level: float,
) -> dict[str, int | None]:
    """Labels, or questions, that show on which side of the limit the difference is."""
    seen = number.naive if number.estimate is None else number.estimate
    if seen is None or seen == -margin:
        return {}
    try:
        plan = plan_compare(*tables, difference=abs(seen + margin), confidence_level=level, **words)
    except AdjudgeError:
        return {}  # fewer questions than a pilot needs
    if plan.labels is not None:
        return {"labels_needed": plan.labels}
    # More than these questions, or no pilot of labels: people are taken to vary as the judge does.
    return {"questions_needed": plan.labels_without_judge or plan.questions}
