"""All biases of a judge from one file of judgments, each if its columns are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from adjudge.data.answers import SameAnswer, describe_same_answer, same_answers
from adjudge.data.rows import text_column
from adjudge.data.source import Needs, Reading, Source
from adjudge.data.tables import TableLike
from adjudge.data.verdicts import CLUSTER, prepare_verdicts
from adjudge.diagnosis import consistency
from adjudge.diagnosis.agreement import Agreement, measure_agreement
from adjudge.diagnosis.consistency import Contradictions, PositionBias, Retest
from adjudge.diagnosis.family import FamilyBias, FamilyScores, measure_family, measure_family_scores
from adjudge.diagnosis.length import LengthBias, VerbosityBias, measure_length, measure_verbosity
from adjudge.diagnosis.measures import (
    CLUSTERED,
    FLOOR,
    BiasMeasures,
    BiasRows,
    BiasTest,
    Measure,
    ends_of,
    left_out_together,
    lines_of,
    wins_of,
)
from adjudge.diagnosis.reliability import Reliability, measure_reliability, reliability_figure
from adjudge.present.blocks import (
    Block,
    Columns,
    Fact,
    Figure,
    Headline,
    Table,
    Tone,
    notes_of,
    table_of,
)
from adjudge.present.figure import ForestRow, axis_name, forest_figure
from adjudge.present.result import Count, Level, NotNegative, Result, frozen
from adjudge.present.text import (
    DASH,
    begin,
    count,
    group_name,
    level,
    number,
    percent,
    show_interval,
)
from adjudge.records import Interval
from adjudge.validation import Seed, known_seed, non_negative, open_unit, positive

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


#: How each diagnosis of the report is measured: a result, or the reason why there is none.
_MEASURES: dict[str, Callable[[BiasRows], BiasMeasures | str | None]] = {
    "position": consistency.measure_position,
    "length": measure_length,
    "verbosity": measure_verbosity,
    "family": measure_family,
    "family_scores": measure_family_scores,
    "agreement": measure_agreement,
    "reliability": measure_reliability,
    "contradictions": consistency.measure_contradictions,
    "retest": consistency.measure_retest,
}


@dataclass(frozen=True, kw_only=True)
class Diagnoses:
    """All that could be measured on some rows; `not_measured` lists the rest, with reasons."""

    rows: Count
    position: PositionBias | None
    length: LengthBias | None = None
    verbosity: VerbosityBias | None
    family: FamilyBias | None
    family_scores: FamilyScores | None
    agreement: Agreement | None
    reliability: Reliability | None
    contradictions: Contradictions | None
    retest: Retest | None = None
    not_measured: Mapping[str, str]

    def parts(self, *, without_weaker: bool = False) -> list[BiasMeasures]:
        """What was measured; near-tied pairs are weaker than `length` if that was measured."""
        left_out = "verbosity" if without_weaker and self.length is not None else None
        diagnoses = (getattr(self, name) for name in _MEASURES if name != left_out)
        return [diagnosis for diagnosis in diagnoses if diagnosis is not None]


@dataclass(frozen=True, kw_only=True)
class JudgeBias(Diagnoses):
    """All that could be measured about one judge."""

    judge: str | None

    @property
    def who(self) -> str:
        """The judge in a sentence."""
        return group_name(self.judge, none="the judge")


@frozen
class BiasReport(Result, Diagnoses):
    """The biases over all rows at the top level, and of each judge in `judges`.

    `same_answers` are models that win more than half with one answer to every prompt.
    """

    kind: ClassVar[str] = "bias_report"
    clusters: Count
    clustered_by: str
    judges: tuple[JudgeBias, ...]
    dropped: Mapping[str, Count]
    confidence_level: Level
    seed: Count | None
    assumptions: tuple[str, ...]
    floor: NotNegative = 0.0
    same_answers: tuple[SameAnswer, ...] = ()

    def measures(self) -> list[tuple[JudgeBias, Measure]]:
        """Every measure with its judge."""
        return [
            (judge, measure)
            for judge in self.judges
            for diagnosis in judge.parts()
            for measure in diagnosis.measures()
        ]

    def _parts(self) -> Sequence[Any]:
        return [{"judge": judge.judge, **vars(measure)} for judge, measure in self.measures()]

    def view(self) -> list[Block]:
        return view_bias(self)


#: The most measures of one judge that get a line each.
_MOST_MEASURES = 6


def diagnose_bias(
    source: TableLike,
    *,
    pairs: TableLike | None = None,
    labels: TableLike | None = None,
    judge: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    near_tie: float | None = None,
    floor: float = FLOOR,
    families: Mapping[str, str] | None = None,
    confidence_level: float = 0.95,
    model_labels: bool = False,
    seed: Seed = 0,
    **reading: Unpack[Reading],
) -> BiasReport:
    """Position, length, family, agreement, reliability, contradictions and retest, per judge.

    The columns decide what can be measured: label (agreement, reliability), response_a and
    response_b or length_a and length_b (near-tied pairs; with models or labels, the effect of
    length), model_a and model_b (family), score_a and score_b (contradictions; with several judges,
    family in points), score_diff_ab and score_diff_ba (position, also in points), preference_ab and
    preference_ba (contradictions of each reply), repeat (retest; everything else uses repeat 0).
    `not_measured` lists what could not be measured, with the reason.

    Args:
        source: id, judge, p_fwd and p_rev or p_a (or verdict_fwd and verdict_rev). All about
            response_a. Optional: label, response_a, response_b, model_a, model_b, score_a, score_b.
            Or battles, as `rank` takes them; then people's winner is the label. A path or a frame.
        pairs: Pairs with the texts and models, joined by id.
        labels: Human labels by id, for rows without a label.
        judge: Name of the judge, if the file has none.
        cluster: Column of rows that belong together. Default: prompt_id if it repeats, else id. A
            row without a value is a cluster of one.
        by: Also measure position bias for each value of this column.
        near_tie: Largest difference that is a near tie, for verbosity. Default: 0.1 in probability,
            or 0.3 in score if the judge gave only scores (a rubric's p_a is its score).
        floor: A smaller difference from an unbiased judge does not count as bias. However
            significant it is; scores in points have no floor.
        families: Families of models whose names do not show it. {"model name": "family"}.
        confidence_level: Level of all intervals.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Otherwise they are refused.
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> always_first = {"id": list("abcdefgh"), "p_fwd": [1.0] * 8, "p_rev": [0.0] * 8}
    >>> report = diagnose_bias(always_first)
    >>> report.position.first_share, report.position.flip_share
    (1.0, 1.0)
    """
    open_unit(confidence_level, "confidence_level")
    non_negative(floor, "floor")
    if near_tie is not None:
        positive(near_tie, "near_tie")
    opened = Source.of(source, labels=labels, pairs=pairs, **reading)
    named = (cluster, by, *opened.columns.values())
    rows = prepare_verdicts(
        opened.narrow(Needs(("judgments", "battles"), named, texts=True)),
        judge=judge,
        cluster="auto" if cluster is None else cluster,
        model_labels=model_labels,
    )
    frame = rows.frame
    if by is not None:
        text_column(frame, by, "by")
    of_all = BiasRows(
        verdicts=rows,
        with_pairs=pairs is not None,
        near_tie=near_tie,
        families=families,
        by=by,
        floor=floor,
        confidence_level=confidence_level,
        seed=seed,
    )
    names = frame["judge"].unique().sort()
    judges = [_diagnose_rows(replace(of_all, judge=str(name))) for name in names]
    pooled = judges[0] if len(judges) == 1 else _diagnose_rows(of_all)
    diagnoses = {entry.name: getattr(pooled, entry.name) for entry in fields(Diagnoses)}
    alike = same_answers(frame, wins_of(frame))
    return BiasReport(
        **diagnoses,
        clusters=frame[CLUSTER].n_unique(),
        clustered_by=rows.cluster,
        judges=tuple(judges),
        dropped=rows.dropped,
        confidence_level=confidence_level,
        seed=known_seed(seed),
        assumptions=(CLUSTERED, *rows.makers),
        floor=floor,
        same_answers=alike,
    )


def _diagnose_rows(rows: BiasRows) -> JudgeBias:
    """Every bias that can be measured on these rows, and the reasons for the others."""
    diagnoses: dict[str, Any] = {name: measured(rows) for name, measured in _MEASURES.items()}
    reasons = {name: result for name, result in diagnoses.items() if isinstance(result, str)}
    return JudgeBias(
        judge=rows.judge,
        rows=rows.frame.height,
        **{name: None if name in reasons else result for name, result in diagnoses.items()},
        not_measured=reasons,
    )


# --- view ------------------------------------------------------------------------------------


def view_bias(report: BiasReport) -> list[Block]:
    """Which biases are shown, a line for each; then every measure and a sentence about each."""
    several = len(report.judges) > 1
    diagnoses = [(judge.who, entry) for judge in report.judges for entry in judge.parts()]
    blocks: list[Block] = [_bias_headline(report)]
    if not several:
        shown = [d for judge in report.judges for d in judge.parts(without_weaker=True)]
        blocks += lines_of([_fact(entry.measures()[0]) for entry in shown], _MOST_MEASURES)
    for judge, diagnosis in diagnoses:
        if isinstance(diagnosis, PositionBias):
            blocks += diagnosis.group_table(judge if several else "")
    reasons = [judge.not_measured for judge in report.judges]
    missing = [name for name in _MEASURES if any(name in names for names in reasons)]
    blocks += notes_of(
        [
            *_won_without_being_good(report),
            *([f"not measured: {', '.join(missing)}"] if missing else []),
            *left_out_together(report.dropped),
        ]
    )
    if diagnoses:
        blocks.append(_measures_table(report))
    lines = [f"{who}: {d.describe()}" if several else str(d) for who, d in diagnoses]
    lines += _not_measured(report)
    if report.floor:
        points = f"{100 * report.floor:g}"
        lines.append(f"differences below {points} points of 100 are not called a bias (--floor)")
    if tests := len(_tests(report.judges)):
        alarms = f"{tests * (1 - report.confidence_level):.2g}"
        lines.append(
            f"with no bias at all, up to {alarms} of {count(tests, 'test')} would show one by "
            "chance"
        )
    details = notes_of([*lines, *report.assumptions], detail=True)
    return [*blocks, *details, *_bias_pictures(report)]


def _fact(measure: Measure) -> Fact:
    """A measure in one line; a bias is said to be one."""
    value = f"{number(measure.value)} {show_interval(measure.interval)}"
    note = count(measure.n, "row")
    if measure.unbiased is not None:
        note = f"unbiased: {round(measure.unbiased, 3):g}"
    tone: Tone = "bad" if measure.departs else "plain"
    return Fact(measure.name, value, f"{note}, a bias" if measure.departs else note, tone)


def _tests(judges: Sequence[JudgeBias]) -> list[BiasTest]:
    """The diagnoses that could show a bias: those with an interval."""
    shown = (entry for judge in judges for entry in judge.parts(without_weaker=True))
    return [entry for entry in shown if isinstance(entry, BiasTest) and entry.interval is not None]


def _bias_headline(report: BiasReport) -> Headline:
    judges = report.judges
    if not any(judge.parts() for judge in judges):
        return Headline("Nothing could be measured", tone="bad")
    tests = _tests(judges)
    if not tests:
        return Headline("No bias could be tested: no measure of one has an interval")
    tested = count(len(tests), "test")
    shown = {judge.who: [test.title for test in _tests([judge]) if test.biased] for judge in judges}
    biased = {judge: ", ".join(titles) for judge, titles in shown.items() if titles}
    if not biased:
        alone = len(judges) == 1
        decision = f"No bias shown by {judges[0].who if alone else count(len(judges), 'judge')} in "
        decision += tested
        return Headline(
            f"{decision}: {', '.join(test.title for test in tests)}" if alone else decision,
            "This does not prove that the judge is fair: the intervals show what is still "
            "possible.",
            decision=decision,
        )
    if len(judges) == 1:
        [(judge, titles)] = shown.items()
        finding = begin(f"{judge} shows a bias in {len(titles)} of {tested}: {biased[judge]}")
    else:
        listed = "; ".join(f"{judge} ({titles})" for judge, titles in biased.items())
        finding = f"{len(biased)} of {len(judges)} judges show a bias: {listed}"
    advice = "; ".join(dict.fromkeys(test.remedy for test in tests if test.biased))
    return Headline(finding, f"{advice}.".capitalize(), "bad", f"{finding}: {advice}")


def _measures_table(report: BiasReport) -> Table:
    """A row for each measure, with its judge if there are several."""

    def unbiased(entry: tuple[JudgeBias, Measure]) -> str:
        value = entry[1].unbiased
        return DASH if value is None else f"{round(value, 3):g}"

    columns: Columns[tuple[JudgeBias, Measure]] = {}
    if len(report.judges) > 1:
        columns["judge"] = lambda entry: entry[0].who
    columns |= {
        "measure": lambda entry: entry[1].name,
        "value": lambda entry: number(entry[1].value),
        f"{level(report.confidence_level)} interval": lambda e: show_interval(e[1].interval),
        "unbiased": unbiased,
        "rows": lambda entry: number(entry[1].n),
    }
    caption = f"Biases, intervals clustered by {report.clustered_by}"
    words = len(columns) - 4
    return table_of(report.measures(), columns, caption=caption, text_columns=words, detail=True)


def _won_without_being_good(report: BiasReport) -> list[str]:
    """Models that win with one answer to every prompt, or by length alone."""
    lines = list(map(describe_same_answer, report.same_answers))
    for judge in report.judges:
        for winner in () if judge.length is None else judge.length.winners:
            wins = f"{winner.model} wins {percent(winner.win_share)} of {count(winner.n, 'pair')}"
            alone = percent(winner.by_strength)
            lines.append(f"{wins} with {judge.who}, and would win {alone} at equal lengths")
    return lines


def _not_measured(report: BiasReport) -> list[str]:
    """What was not measured and why, a line for each reason; judges are named if only some."""
    lines: dict[str, list[str]] = {}
    for judge in report.judges:
        for reason in dict.fromkeys(judge.not_measured.values()):
            names = [name for name, why in judge.not_measured.items() if why == reason]
            line = f"not measured, {', '.join(names)}: {reason}"
            lines.setdefault(line, []).append(judge.who)
    every = len(report.judges)
    return [
        line if len(who) == every else f"{', '.join(who)}: {line}" for line, who in lines.items()
    ]


# --- figures ---------------------------------------------------------------------------------


def _bias_pictures(report: BiasReport) -> list[Block]:
    """The biases of all judges; of one judge also how often it is right at each confidence."""
    figures: list[Block] = []
    if any(map(_drawn_of, report.judges)):
        ends = level(report.confidence_level)
        caption = (
            f"Distance from an unbiased judge, with {ends} intervals (filled: a bias is shown)."
        )
        figures.append(Figure("bias", partial(bias_figure, report), caption))
    if len(report.judges) == 1 and report.reliability:
        draw = partial(reliability_figure, report.reliability)
        caption = "How often the judge is right at each confidence; the dashed line is calibrated."
        figures.append(Figure("reliability", draw, caption))
    return figures


#: What a measure that is drawn shows if it is below that of an unbiased judge.
_OPPOSITE = {
    "first slot": "second slot",
    "longer answer": "shorter answer",
    "own family": "other families",
    "over-confidence": "under-confidence",
}


def _drawn_of(judge: JudgeBias) -> dict[str, Measure]:
    """The measures that are drawn, by name."""
    tests = {
        "first slot": judge.position,
        "longer answer": judge.length or judge.verbosity,
        "own family": judge.family,
        "over-confidence": judge.reliability,
    }
    measures = {name: test.measures()[0] for name, test in tests.items() if test is not None}
    return {name: measure for name, measure in measures.items() if measure.value is not None}


def bias_figure(result: BiasReport) -> Drawing:
    """Every bias of every judge as its distance from an unbiased one."""
    measured = [(judge, measures) for judge in result.judges if (measures := _drawn_of(judge))]
    rows = []
    shown = []
    for judge, measures in measured:
        shown.append(list[str]())
        who = f"{axis_name(judge.judge)}, " if len(measured) > 1 else ""
        for name, measure in measures.items():
            unbiased = measure.unbiased or 0.0
            low, high = ends_of(measure.interval)
            ends = None
            if low is not None and high is not None:
                ends = Interval(low - unbiased, high - unbiased, level=result.confidence_level)
            value = (measure.value or 0.0) - unbiased
            rows.append(ForestRow(f"{who}{name}", value, ends, filled=measure.departs))
            if measure.departs:
                shown[-1].append(_OPPOSITE[name] if value < 0 else name)
    title = f"{sum(map(bool, shown))} of {len(measured)} judges show one of these biases"
    if len(measured) == 1:
        who = axis_name(measured[0][0].judge) or "The judge"
        biases = ", ".join(shown[0])
        title = f"{who} shows a bias:\n{biases}" if biases else f"{who}: none of these biases shown"
    axis = f"points from an unbiased judge, {level(result.confidence_level)} interval"
    return forest_figure(rows, title=title, axis=axis, around_zero=True)
