"""One sentence about each bias of a judge; a bias is claimed if it is shown, and matters."""

from __future__ import annotations

from functools import singledispatch

from adjudge.errors import ArgumentError
from adjudge.present.text import count, interval, number, percent, percent_interval, signed
from adjudge.results.bias import (
    Agreement,
    Contradictions,
    FamilyBias,
    FamilyScores,
    PositionBias,
    Reliability,
    Retest,
)
from adjudge.results.length import LengthBias, VerbosityBias
from adjudge.results.measures import BiasMeasures, BiasTest

_NO_INTERVAL = "; no interval: all rows are in one cluster"
_NO_LENGTH_INTERVAL = "; no interval: too few pairs or clusters for this number of models"
#: From this many rows on, agreement on every row deserves a check.
MANY_ROWS = 20
#: Over-confidence is known if its interval is this close to zero.
_CLOSE = 0.05
#: A judge that changes this share of verdicts with the order says little about the answers.
_ORDER_DECIDES = 0.9


@singledispatch
def describe(part: BiasMeasures) -> str:
    """One sentence about a judge, without its subject; a bias is claimed if it is shown."""
    raise ArgumentError("part", type(part).__name__, "give one of the diagnoses of a judge")


@describe.register
def _(p: PositionBias) -> str:
    text = f"picks the first answer in {percent(p.first_share)} of {2 * p.n:,} presentations"
    if p.low is None:
        return text + _NO_INTERVAL
    text += f" {percent_interval(p.low, p.high)}"
    text += f", changes its verdict with the order on {percent(p.flip_share)} of pairs"
    slot = "first" if p.first_share > 0.5 else "second"
    if p.negligible:
        text += f": {_small(p)}"
    elif not p.biased:
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
        return "has no near-tied pair of unequal length: no preference for length is measurable"
    text = f"prefers the longer answer in {percent(v.longer_share)} of "
    text += count(v.n, "near-tied pair")
    if v.low is None:
        return text + _NO_INTERVAL
    text += f" {percent_interval(v.low, v.high)}"
    low, high = v.excess_low, v.excess_high
    if v.excess is not None and low is not None:
        text += f" (people {percent(v.human_share)} of {v.human_n:,}, difference "
        text += f"{signed(100 * v.excess, 1)} points {percent_interval(low, high, sign=True)})"
    if v.negligible:
        return f"{text}: {_small(v)}"
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
def _(b: LengthBias) -> str:
    if b.effect is None:
        return "saw no two answers of unequal length: no preference for length is measurable"
    held = f", {count(b.models, 'model')} held fixed" if b.models else ""
    text = f"adds {signed(100 * b.effect, 1)} points to the win probability of the longer answer "
    text += f"over {count(b.n, 'pair')} of unequal length{held}"
    if b.effect_low is None:
        return text + _NO_LENGTH_INTERVAL
    text += f" {percent_interval(b.effect_low, b.effect_high, sign=True)}"
    text += f", odds times {number(b.odds_doubling, 2)} for twice the length"
    if b.excess is not None and b.human_effect is not None:
        text += f" (people {signed(100 * b.human_effect, 1)} points in {b.human_n:,}, difference "
        text += f"{signed(100 * b.excess, 1)}"
        if b.low is None:
            return text + ", without an interval)"
        text += f" {percent_interval(b.low, b.high, sign=True)})"
    if b.negligible:
        return f"{text}: {_small(b)}"
    if b.biased:
        text += f": it prefers the {'longer' if b.effect > 0 else 'shorter'} answer"
        return text + ("" if b.excess is None else ", more than people do")
    if b.excess is not None and b.low is not None and b.high is not None and b.high < 0:
        return (
            text
            + ": it prefers length less than people do, as a judge that agrees less with them does"
        )
    return f"{text}: no preference for length{_beyond(b)} shown"


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


def _beyond(bias: LengthBias) -> str:
    return "" if bias.excess is None else " stronger than people's"


def _small(part: BiasTest) -> str:
    """The sentence for a difference that is not chance, but too small to be called a bias."""
    return f"more than chance, but below the {100 * part.floor:g} points that are called a bias"


def _favour(part: FamilyBias | FamilyScores) -> str:
    if part.negligible:
        return _small(part)
    if not part.biased or part.excess is None:
        return "no family bias shown"
    return "it favours its own family" if part.excess > 0 else "it is harder on its own family"


@describe.register
def _(a: Agreement) -> str:
    text = f"agrees with people on {percent(a.raw)} of {count(a.n, 'row')}"
    values = [value for value, n in a.judge_values.items() if n]
    if len(values) == 1:
        text += f"; it says {values[0]} every time: this does not show that it can tell"
        return text + " answers apart"
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
    text = f"ECE {r.ece_equal_mass:.3f}, equal mass"
    if r.ece_if_calibrated is not None:
        text += f" (a calibrated judge would show {r.ece_if_calibrated:.3f})"
    if r.low is None or r.high is None:
        return text + _NO_INTERVAL
    points = f"by {100 * abs(r.over_confidence):.1f} points"
    if r.negligible and not r.miscalibrated:
        return f"{text}: over-confidence {signed(100 * r.over_confidence, 1)} points, {_small(r)}"
    if r.low > 0:
        return f"{text}: over-confident {points} {percent_interval(r.low, r.high)}"
    if r.high < 0:
        return f"{text}: under-confident {points} {percent_interval(-r.high, -r.low)}"
    if r.miscalibrated:
        text += (
            ": not over- or under-confident on average, but miscalibrated at some confidence levels"
        )
        return f"{text} (p = {number(r.p_value)})"
    if r.accuracy_low is None or r.accuracy_low <= 0.5:
        right = percent_interval(r.accuracy_low, r.accuracy_high)
        text += (
            ": whether its confidence can be trusted is not known, because its verdicts are not "
        )
        text += f"shown to beat chance ({percent(r.accuracy)} of {count(r.n, 'row')} right {right})"
        return text
    ends = f"{percent_interval(r.low, r.high, sign=True)} points"
    if max(-r.low, r.high) <= _CLOSE:
        return f"{text}: calibrated as far as {count(r.n, 'row')} show, over-confidence in {ends}"
    text += f": no miscalibration shown, but with {count(r.n, 'row')} its over-confidence can be"
    return f"{text} anywhere in {ends}"


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
