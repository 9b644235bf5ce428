"""Biases of a judge: a sentence about each, its numbers in a table, and the report of them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, singledispatch

from adjudge._text import (
    DASH,
    count,
    group_name,
    interval,
    left_out,
    level,
    number,
    percent,
    percent_interval,
    signed,
)
from adjudge.errors import ArgumentError
from adjudge.present.blocks import Block, Figure, Headline, Note, Table, notes_of, table_of
from adjudge.present.figures.bias import bias_figure, reliability_figure
from adjudge.results.bias import (
    Agreement,
    BiasMeasures,
    BiasReport,
    BiasTest,
    Contradictions,
    FamilyBias,
    FamilyScores,
    JudgeBias,
    Measure,
    PositionBias,
    Reliability,
    Retest,
    VerbosityBias,
)

#: The tests as a headline names them.
_NAMES: dict[type[BiasMeasures], str] = {
    PositionBias: "position",
    VerbosityBias: "length",
    FamilyBias: "own family",
    FamilyScores: "own family in points",
    Reliability: "confidence",
}
_NO_INTERVAL = "; no interval: all rows are in one cluster"
#: From so many rows on, agreement on every one of them deserves a check.
MANY_ROWS = 20
#: Over-confidence is known where its interval stays this close to zero.
_CLOSE = 0.05
#: A judge that changes this share of verdicts with the order says little about the answers.
_ORDER_DECIDES = 0.9


@singledispatch
def describe(part: BiasMeasures) -> str:
    """One sentence about a judge, without its subject; a bias is claimed where it is shown."""
    raise ArgumentError("part", type(part).__name__, "give one of the diagnoses of a judge")


@describe.register
def _(p: PositionBias) -> str:
    text = f"picks the first answer in {percent(p.first_share)} of {2 * p.n:,} presentations"
    if p.low is None:
        return text + _NO_INTERVAL
    text += f" {percent_interval(p.low, p.high)}"
    text += f", changes its verdict with the order on {percent(p.flip_share)} of pairs"
    slot = "first" if p.first_share > 0.5 else "second"
    if not p.biased:
        text += ": no preference for a slot shown"
    elif p.flip_share >= _ORDER_DECIDES:
        text += f": it prefers the {slot} slot so much that its verdicts say little about answers"
    else:
        text += f": it prefers the {slot} slot"
    if p.first_advantage is not None and p.advantage_low is not None:
        text += f"; being shown first is worth {signed(p.first_advantage, 2)} points of score"
        text += f" {interval(p.advantage_low, p.advantage_high, 2)}"
    return text


@describe.register
def _(v: VerbosityBias) -> str:
    if v.longer_share is None:
        return "is near-tied on no pair of unequal length: no preference for length is measurable"
    text = f"prefers the longer answer in {percent(v.longer_share)} of "
    text += count(v.n, "near-tied pair")
    if v.low is None:
        return text + _NO_INTERVAL
    text += f" {percent_interval(v.low, v.high)}"
    low, high = v.excess_low, v.excess_high
    if v.excess is not None and low is not None:
        text += f" (people {percent(v.human_share)} of {v.human_n:,}, difference "
        text += f"{signed(100 * v.excess, 1)} points {percent_interval(low, high, sign=True)})"
    if not v.biased:
        return text + ": no preference for length shown"
    longer = v.longer_share > 0.5
    text += f": it prefers the {'longer' if longer else 'shorter'} answer"
    if low is None or high is None:
        return text
    if low <= 0 <= high:
        return text + ", and no difference from people is shown"
    return text + (", more than people do" if (low > 0) == longer else ", less than people do")


@describe.register
def _(f: FamilyBias) -> str:
    name = f.family or "its own family"
    if f.excess is None:
        return f"no pair compares {name} with another family: no family bias is measurable"
    text = f"prefers {name} in {percent(f.judge_share)} of {count(f.n, 'mixed pair')}, "
    text += f"{signed(100 * f.excess, 1)} points compared with {f.reference}"
    if f.low is None:
        return text + _NO_INTERVAL
    return f"{text} {percent_interval(f.low, f.high, sign=True)}: {_favour(f)}"


@describe.register
def _(s: FamilyScores) -> str:
    name = s.family or "its own family"
    if s.excess is None:
        return f"no scores of {name} and of other families too: nothing to compare"
    text = (
        f"gives {count(s.own_models, f'{name} model')} {signed(s.excess, 2)} points compared with "
    )
    text += f"{count(s.other_models, 'other')}, measured against {s.reference}"
    if s.low is None:
        return text + "; no interval: one model alone on a side, or no spread"
    return f"{text} [{signed(s.low, 2)}, {signed(s.high, 2)}]: {_favour(s)}"


def _favour(part: FamilyBias | FamilyScores) -> str:
    if not part.biased or part.excess is None:
        return "no family bias shown"
    return "it favours its own family" if part.excess > 0 else "it is harder on its own family"


@describe.register
def _(a: Agreement) -> str:
    text = f"agrees with people on {percent(a.raw)} of {count(a.n, 'row')}"
    values = [value for value, n in a.judge_values.items() if n]
    if len(values) == 1:
        text += f"; it says {values[0]} every time: that does not show that it can tell answers"
        return text + " apart"
    if a.raw == 1 and a.n >= MANY_ROWS:
        text += ": the same answer on every row; check that the judge did not see the labels, or "
        return text + "that the labels were not made by it"
    if a.kappa is not None:
        text += f", kappa {a.kappa:.2f}"
    if a.kappa_low is not None and a.kappa_high is not None:
        text += f" {interval(a.kappa_low, a.kappa_high, 2)}"
        if a.kappa_high < 0:
            text += ": less than chance would give"
        elif a.kappa_low <= 0:
            text += ": not shown to be more than chance"
    if (people := a.ceiling) is not None:
        text += f"; two people agree on {percent(people.raw)} of {count(people.n, 'row')}"
        if (people.gap_low or 0) > 0:
            text += ", more often than a person agrees with the judge there"
        elif (people.gap_high or 0) < 0:
            text += ", less often than a person agrees with the judge there"
    return text


@describe.register
def _(r: Reliability) -> str:
    text = f"ECE {r.ece_equal_mass:.3f}"
    if r.ece_if_calibrated is not None:
        text += f" where a calibrated judge would show {r.ece_if_calibrated:.3f}"
    if r.low is None or r.high is None:
        return text + _NO_INTERVAL
    points = f"by {100 * abs(r.over_confidence):.1f} points"
    if r.low > 0:
        return f"{text}: over-confident {points} {percent_interval(r.low, r.high)}"
    if r.high < 0:
        return f"{text}: under-confident {points} {percent_interval(-r.high, -r.low)}"
    if r.miscalibrated:
        text += ": not over- or under-confident on average, but off at some confidence"
        return f"{text} (p = {number(r.p_value)})"
    if r.accuracy_low is None or r.accuracy_low <= 0.5:
        right = percent_interval(r.accuracy_low, r.accuracy_high)
        text += ": whether its confidence can be trusted is not known, since its verdicts are not "
        text += f"shown to beat chance ({percent(r.accuracy)} of {count(r.n, 'row')} right {right})"
        return text
    ends = f"{percent_interval(r.low, r.high, sign=True)} points"
    if max(-r.low, r.high) <= _CLOSE:
        return f"{text}: calibrated as far as {count(r.n, 'row')} show, over-confidence in {ends}"
    text += f": no miscalibration shown, but {count(r.n, 'row')} leave its over-confidence anywhere"
    return f"{text} in {ends}"


@describe.register
def _(c: Contradictions) -> str:
    if c.share is None:
        return "no pair has both a verdict and two different scores: no contradiction is measurable"
    text = f"names the answer it scored lower in {percent(c.share)} of "
    text += count(c.n, f"decisive {c.unit}", "decisive replies" if c.unit == "reply" else None)
    return text + (_NO_INTERVAL if c.low is None else f" {percent_interval(c.low, c.high)}")


@describe.register
def _(r: Retest) -> str:
    text = f"gives another answer when asked again in {percent(r.flip_share)} of repeats"
    if r.low is None:
        return text + _NO_INTERVAL
    text += f" {percent_interval(r.low, r.high)}: of {count(r.n, 'question')} asked up to "
    text += f"{count(r.most_repeats, 'time')}, {percent(r.changed_share)} "
    return text + f"{percent_interval(r.changed_low, r.changed_high)} got answers that differ"


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
    notes = [
        (f"{_who(judge)}: " if several else "") + f"{name} not measured: {reason}"
        for judge in report.judges
        for name, reason in judge.not_measured.items()
    ]
    notes += [*left_out(report.dropped), *report.assumptions]
    if tests := len(_tests(report.judges)):
        alarms = f"{tests * (1 - report.confidence_level):.2g}"
        notes.append(
            f"without any bias up to {alarms} of {count(tests, 'test')} would show one by chance"
        )
    return [*blocks, Note(notes), *_picture(report)]


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
        whom = _who(judges[0]) if len(judges) == 1 else count(len(judges), "judge")
        return Headline(
            f"No bias shown by {whom} in {count(tests, 'test')}",
            "That does not prove a fair judge: the intervals say what is still possible.",
        )
    if len(judges) == 1:
        [(judge, names)] = shown.items()
        text = f"{judge} shows a bias in {len(names)} of {count(tests, 'test')}: {biased[judge]}"
    else:
        listed = "; ".join(f"{judge} ({names})" for judge, names in biased.items())
        text = f"{len(biased)} of {len(judges)} judges show a bias: {listed}"
    return Headline(
        text, "Ask in both orders, calibrate before you trust, correct before you report.", "bad"
    )


def _picture(report: BiasReport) -> list[Block]:
    captions = []
    if any(judge.position or judge.verbosity or judge.family for judge in report.judges):
        ends = level(report.confidence_level)
        captions.append(f"Distance from an unbiased judge, with {ends} intervals.")
    if any(judge.reliability for judge in report.judges):
        captions.append("How sure a judge is, and how often it is right.")
    figure = Figure("bias", partial(bias_figure, report), " ".join(captions))
    return [figure] if captions else []


def _tests(judges: Sequence[JudgeBias]) -> list[BiasTest]:
    """The diagnoses that could show a bias: those with an interval."""
    parts = [part for judge in judges for part in judge.parts()]
    return [part for part in parts if isinstance(part, BiasTest) and part.low is not None]


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
    """A row for each measure, with its judge where there are several."""
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
