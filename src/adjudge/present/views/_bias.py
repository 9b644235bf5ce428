"""Biases of a judge: a sentence about each, its numbers in a table, and the report of them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from adjudge.data.battles import describe_same_answer
from adjudge.present.blocks import Block, Figure, Headline, Table, explain, notes_of, table_of
from adjudge.present.figures.bias import bias_figure, reliability_figure
from adjudge.present.text import (
    DASH,
    begin,
    count,
    group_name,
    interval,
    left_out,
    level,
    number,
    percent,
)
from adjudge.present.views._bias_sentences import describe
from adjudge.results.bias import (
    BiasReport,
    FamilyBias,
    FamilyScores,
    JudgeBias,
    PositionBias,
    Reliability,
)
from adjudge.results.length import LengthBias, VerbosityBias
from adjudge.results.measures import BiasMeasures, BiasTest, Measure

#: The tests as a headline names them.
_NAMES: dict[type[BiasMeasures], str] = {
    PositionBias: "position",
    LengthBias: "length",
    VerbosityBias: "length where near-tied",
    FamilyBias: "own family",
    FamilyScores: "own family in points",
    Reliability: "confidence",
}

#: What helps against each bias, in the order of use.
_REMEDIES: dict[type[BiasMeasures], str] = {
    PositionBias: "ask in both orders",
    Reliability: "calibrate before you trust",
    **dict.fromkeys(
        (LengthBias, VerbosityBias, FamilyBias, FamilyScores), "correct before you report"
    ),
}


def view_diagnosis(part: BiasMeasures) -> list[Block]:
    """One diagnosis of one judge: the sentence, its numbers, and what they leave out."""
    shown = isinstance(part, BiasTest) and part.biased
    blocks: list[Block] = [
        Headline(_sentence(part), tone="bad" if shown else "plain"),
        table_of(part.measures(), _columns(part.confidence_level)),
    ]
    if isinstance(part, PositionBias):
        blocks += _groups(part)
    if isinstance(part, Reliability):
        caption = "How often the judge is right at each confidence; the dashed line is calibrated."
        blocks += [_curve(part), Figure("reliability", partial(reliability_figure, part), caption)]
    return blocks + notes_of(left_out(part.dropped))


def view_report(report: BiasReport) -> list[Block]:
    """Which biases are shown, every measure with its interval, and a sentence about each."""
    blocks: list[Block] = [_headline(report)]
    several = len(report.judges) > 1
    parts = [(_who(judge), part) for judge in report.judges for part in judge.parts()]
    if parts:
        blocks.append(_measures(report))
    for judge, part in parts:
        if isinstance(part, PositionBias):
            blocks += _groups(part, judge if several else "")
    blocks += notes_of([f"{w}: {describe(p)}" if several else _sentence(p) for w, p in parts])
    blocks += notes_of(_won_without_being_good(report))
    notes = _not_measured(report)
    notes += left_out(report.dropped)
    notes += [
        f"differences below {100 * report.floor:g} points of 100 are not called a bias (--floor)"
    ] * bool(report.floor)
    if tests := len(_tests(report.judges)):
        alarms = f"{tests * (1 - report.confidence_level):.2g}"
        notes.append(
            f"with no bias at all, up to {alarms} of {count(tests, 'test')} would show one by "
            "chance"
        )
    return [*blocks, *notes_of(notes), *explain(report.assumptions), *_picture(report)]


def _not_measured(report: BiasReport) -> list[str]:
    """What was not measured and why, a line for each reason; judges are named if only some."""
    judges: dict[str, dict[str, list[str]]] = {}
    for judge in report.judges:
        for name, reason in judge.not_measured.items():
            judges.setdefault(reason, {}).setdefault(_who(judge), []).append(name)
    lines = []
    for reason, names in judges.items():
        same = {tuple(parts) for parts in names.values()}
        if len(same) == 1 and len(names) == len(report.judges):
            names = {"": list(*same)}
        lines += [
            f"{f'{who}: ' if who else ''}not measured, {', '.join(parts)}: {reason}"
            for who, parts in names.items()
        ]
    return lines


def _headline(report: BiasReport) -> Headline:
    judges = report.judges
    if not any(judge.parts() for judge in judges):
        return Headline("Nothing could be measured", "The reasons are below.", tone="bad")
    tests = len(_tests(judges))
    if not tests:
        return Headline("No bias could be tested: no measure of one has an interval")
    shown = {
        _who(judge): [_NAMES[type(part)] for part in _tests([judge]) if part.biased]
        for judge in judges
    }
    biased = {judge: ", ".join(names) for judge, names in shown.items() if names}
    if not biased:
        what = count(tests, "test")
        if len(judges) == 1:
            what += f": {', '.join(_NAMES[type(part)] for part in _tests(judges))}"
        whom = _who(judges[0]) if len(judges) == 1 else count(len(judges), "judge")
        return Headline(
            f"No bias shown by {whom} in {what}",
            "This does not prove that the judge is fair: the intervals show what is still "
            "possible.",
        )
    if len(judges) == 1:
        [(judge, names)] = shown.items()
        text = f"{judge} shows a bias in {len(names)} of {count(tests, 'test')}: {biased[judge]}"
        text = begin(text)
    else:
        listed = "; ".join(f"{judge} ({names})" for judge, names in biased.items())
        text = f"{len(biased)} of {len(judges)} judges show a bias: {listed}"
    kinds = {type(part) for part in _tests(judges) if part.biased}
    advice = dict.fromkeys(remedy for kind, remedy in _REMEDIES.items() if kind in kinds)
    return Headline(text, f"{', '.join(advice)}.".capitalize(), "bad")


def _picture(report: BiasReport) -> list[Block]:
    captions = []
    shown = (j.position or j.length or j.verbosity or j.family for j in report.judges)
    if any(shown):
        ends = level(report.confidence_level)
        captions.append(f"Distance from an unbiased judge, with {ends} intervals.")
    if any(judge.reliability for judge in report.judges):
        captions.append("Mean confidence of a judge, and how often it is right.")
    figure = Figure("bias", partial(bias_figure, report), " ".join(captions))
    return [figure] if captions else []


def _tests(judges: Sequence[JudgeBias]) -> list[BiasTest]:
    """The diagnoses that could show a bias: those with an interval.

    Near-tied pairs test the liking for length only where nothing better does.
    """
    parts = [
        part
        for judge in judges
        for part in judge.parts()
        if not (isinstance(part, VerbosityBias) and judge.length is not None)
    ]
    return [part for part in parts if isinstance(part, BiasTest) and part.low is not None]


def _won_without_being_good(report: BiasReport) -> list[str]:
    """Models that win with one answer to every prompt, or by length alone."""
    by_length = [
        f"{winner.model} wins {percent(winner.win_share)} of {count(winner.n, 'pair')} with "
        f"{_who(judge)}, and would win {percent(winner.by_strength)} at equal lengths"
        for judge in report.judges
        if judge.length is not None
        for winner in judge.length.winners
    ]
    return [*map(describe_same_answer, report.same_answers), *by_length]


def _who(judge: JudgeBias) -> str:
    return group_name(judge.judge, none="the judge")


def _sentence(part: BiasMeasures) -> str:
    text = describe(part)
    return text[0].upper() + text[1:]


def _columns(confidence_level: float) -> dict[str, Callable[[Measure], str]]:
    return {
        "measure": lambda m: m.name,
        "value": lambda m: number(m.value),
        f"{level(confidence_level)} interval": lambda m: interval(m.low, m.high),
        "unbiased": lambda m: DASH if m.unbiased is None else f"{round(m.unbiased, 3):g}",
        "rows": lambda m: number(m.n),
    }


def _measures(report: BiasReport) -> Table:
    """A row for each measure, with its judge if there are several."""
    columns = _columns(report.confidence_level)
    rows = [
        (_who(judge), *(cell(measure) for cell in columns.values()))
        for judge in report.judges
        for part in judge.parts()
        for measure in part.measures()
    ]
    caption = f"Biases, intervals clustered by {report.clustered_by}"
    if len(report.judges) > 1:
        return Table(("judge", *columns), rows, caption, text_columns=2)
    return Table(tuple(columns), [row[1:] for row in rows], caption)


def _groups(position: PositionBias, judge: str = "") -> list[Block]:
    table = table_of(
        position.by_group,
        {
            "group": lambda g: g.group,
            "pairs": lambda g: number(g.n),
            "first slot": lambda g: number(g.first_share),
            f"{level(position.confidence_level)} interval": lambda g: interval(g.low, g.high),
            "order flips": lambda g: number(g.flip_share),
        },
        caption="Position by group" + (f": {judge}" if judge else ""),
    )
    return [table] if position.by_group else []


def _curve(result: Reliability) -> Table:
    ends = f"{level(result.confidence_level)} interval"
    return table_of(
        result.curve,
        {
            "confidence": lambda b: f"{b.low:.3f} to {b.high:.3f}",
            "rows": lambda b: number(b.n),
            "mean confidence": lambda b: number(b.confidence),
            "right": lambda b: number(b.accuracy),
            ends: lambda b: interval(b.accuracy_low, b.accuracy_high),
        },
        caption="Right at each confidence",
        detail=True,
    )
