"""Assertions for pytest, or any test runner, on a corrected bound instead of a raw score.

::

    def test_answers_are_good_enough():
        assert_rate("grades.jsonl", at_least=0.8)
        assert_gate("grades.jsonl", card="card.json", at_least=0.8)

Each returns its result, and the message of a failure has the numbers. The lower end of a 95 %
interval is above the truth in about 2.5 % of samples, so a rate below `at_least` passes that often;
the level is an option of `estimate`. If there is no estimate, the assertion fails. Warnings of the
result become Python warnings, which pytest lists.
"""

from __future__ import annotations

import warnings
from typing import Any

from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.estimation import AnyEstimate, compare, estimate
from adjudge.estimation.classes import ClassEstimate
from adjudge.estimation.comparison import Comparison, headline_of, with_ends
from adjudge.estimation.groups import GroupedEstimate
from adjudge.estimation.means import MeanEstimate
from adjudge.estimation.rate import Estimate, RateInterval
from adjudge.gating import GateResult, decide, gate
from adjudge.gating.gate import headline_of as headline_of_gate
from adjudge.present.text import interval, left_out, level, number, percent
from adjudge.selection import SelectionRun
from adjudge.selection.selecting import Selection
from adjudge.validation import finite_number, non_negative, unit

_RATES = (Estimate, GroupedEstimate, ClassEstimate, MeanEstimate)


def assert_rate(
    data: AnyEstimate | TableLike, *, at_least: float | None = None, at_most: float | None = None
) -> AnyEstimate:
    """Assert that the corrected rate, of every group, lies above or below a limit.

    `data` is the result of `estimate`, or rows for `estimate` with its defaults. `at_least` holds
    if the lower end of each interval is at least that, `at_most` if the upper end is at most that.

    >>> assert_rate({"judge": [1] * 90 + [0] * 10, "human": [None] * 100}, at_least=0.8)
    Traceback (most recent call last):
    AssertionError: no rate of at least 0.8 is shown:
      no estimate: ...
    """
    __tracebackhide__ = True
    if at_least is None and at_most is None:
        raise ArgumentError("at_least", None, "give at_least, at_most or both")
    if isinstance(data, Comparison):
        raise ArgumentError("data", "a comparison", "use assert_not_worse")
    result = data if isinstance(data, _RATES) else estimate(data)
    rates = result.intervals()
    limit = finite_number if isinstance(result, MeanEstimate) else unit
    failures = []
    for name, end in (("at_least", at_least), ("at_most", at_most)):
        if end is not None:
            bound = limit(end, name)
            wrong = [rate for rate in rates if decide([rate.interval], **{name: bound}) != "pass"]
            claim = f"no rate of {name.replace('_', ' ')} {bound:g} is shown"
            failures += _failure(claim, wrong, result)
    _conclude(failures, getattr(result, "all_warnings", result.warnings))
    return result


def assert_not_worse(
    a: Comparison | TableLike, b: TableLike | None = None, *, margin: float | None = None
) -> Comparison:
    """Assert that system B is not worse than system A.

    `a` and `b` are the rows of the two systems (the old run and the new one), or `a` is the result
    of `compare`. It fails if B is shown to be worse: its interval is below 0. With `margin` it
    fails unless the entire interval is above -margin: with 0.02, B loses at most 2 points. People's
    difference counts, and only without any label the judge's. If there is no difference to give,
    or too few labels for people's, it fails.
    """
    __tracebackhide__ = True
    if isinstance(a, Comparison):
        if b is not None:
            raise ArgumentError("b", "given", "leave it out: the comparison has both systems")
        result = a
    else:
        if b is None:
            raise ArgumentError("b", None, "give the rows of the second system")
        compared = compare(a, b)
        assert isinstance(compared, Comparison)  # noqa: S101
        result = compared
    if len(result.differences) > 1:
        raise ArgumentError("a", "several systems or slices", "give the rows of one in each")
    pair = result.difference
    measure = result.measure
    gap = pair.reported
    failures = []
    if gap.estimate is None:
        failures.append(headline_of(result).text)
    elif result.inconclusive and pair.people is not None:
        failures.append(f"inconclusive by people: {pair.people.reason}")
    elif margin is None:
        worse = decide([gap.interval], at_least=0) == "fail"
        failures += [headline_of(result).text] * worse
    elif (
        gap.interval and decide([gap.interval], at_least=-non_negative(margin, "margin")) != "pass"
    ):
        failures.append(
            f"{pair.b} is not shown to lose at most {margin:g} against {pair.a}: "
            f"{with_ends(gap, measure)}"
        )
    _conclude(failures, result.warnings)
    return result


def assert_gate(data: TableLike, **options: Any) -> GateResult:
    """Assert that a run passes the gate: of a card with `at_least`, or of a `baseline`.

    Options are those of `adjudge.gate`. It fails if the gate fails, and if it is inconclusive; the
    message has the number and the reasons.

    >>> assert_gate({"judge": [1, 0] * 50}, baseline={"judge": [1, 0] * 50}, margin=0.1)
    Traceback (most recent call last):
    AssertionError: INCONCLUSIVE: ...
    """
    __tracebackhide__ = True
    result = gate(data, **options)
    failures = [] if result.outcome == "pass" else [headline_of_gate(result).text, *result.reasons]
    _conclude(failures, result.warnings)
    return result


def assert_accepted(selection: Selection | SelectionRun, *, at_least: float) -> Selection:
    """Assert that a policy accepts this share of the new rows, and their scores show no drift.

    `selection` is the result of `select`. A policy's promise holds for rows like those it was
    calibrated on; a test of the share alone would pass after a shift towards easy rows.
    """
    __tracebackhide__ = True
    result = selection.summary if isinstance(selection, SelectionRun) else selection
    failures = []
    if result.accepted_share < unit(at_least, "at_least"):
        share = percent(result.accepted_share)
        promise = f"{result.guarantee} at error level {result.alpha:g}"
        failures.append(
            f"{share} of the rows are accepted ({result.n_accepted:,} of {result.n:,}), not "
            f"{percent(at_least)}; {promise}"
        )
        failures += [f"  {text}" for text in left_out(result.dropped)]
    if result.drift.flagged:
        gap = number(result.drift.statistic)
        p_value = number(result.drift.p_value)
        failures.append(
            f"the new scores do not look like the calibration scores (gap {gap}, p = {p_value}): "
            "label some of the new rows and calibrate again"
        )
    _conclude(failures, result.warnings)
    return result


def _failure(claim: str, wrong: list[RateInterval], result: AnyEstimate) -> list[str]:
    """The failed claim and the rates for which it failed, one per line."""
    if not wrong:
        return []
    at_level = level(result.confidence_level)
    lines = [f"{claim}:"]
    for rate in wrong:
        finding = f"no estimate: {rate.reason}"
        if rate.estimate is not None and rate.low is not None:
            ends = interval(rate.low, rate.high)
            alone = "" if rate.naive is None else f"; the judge alone says {number(rate.naive)}"
            finding = f"{number(rate.estimate)}, {at_level} interval {ends}{alone}"
        lines.append(f"  {finding}" if rate.name is None else f"  {rate.name}: {finding}")
    return lines


def _conclude(failures: list[str], remarks: tuple[str, ...]) -> None:
    __tracebackhide__ = True
    if failures:
        raise AssertionError("\n".join([*failures, *(f"warning: {text}" for text in remarks)]))
    for text in remarks:
        warnings.warn(text, stacklevel=3)
