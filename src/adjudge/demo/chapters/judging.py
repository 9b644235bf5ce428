"""Chapter: ask the judge with two protocols, and compare it with known answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from adjudge.demo.check import check_judge
from adjudge.judges.interface import Likelihood
from adjudge.judges.judging import judge_pairs
from adjudge.judges.spec import parse_judge
from adjudge.present.figures.judging import judge_check_figure
from adjudge.present.text import count, percent
from adjudge.present.views.demo import describe_share
from adjudge.records import MEASURED
from adjudge.results.demo import Way, halves

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext

TITLE = "Is the judge better than chance?"

#: Asking in both orders costs about 400 tokens a pair, likelihood about 90.
_PREFERENCE_PAIRS = 12
_BANDS = 4


def run(context: DemoContext) -> None:
    """Ask, compare with the known answers, print."""
    backend = parse_judge(context.judge)
    context.main = "likelihood" if Likelihood in backend.wants else "preference"
    part = _PREFERENCE_PAIRS if context.main == "likelihood" else None
    statuses = {"preference": _ask(context, "preference", limit=part)}
    if context.main == "likelihood":
        statuses["likelihood"] = _ask(context, "likelihood", limit=None)

    check = check_judge(context.judgments, judge=context.judge, by="kind", bands=_BANDS)
    context.keep(check, "judge_check")
    for block in check.view():
        context.show(block)
    for protocol, counts in statuses.items():
        if words := describe_missing(protocol, counts):
            context.say(words)
    ways = {way.protocol: way for way in check.ways}
    _say_position(context, ways["preference"])
    if context.main == "likelihood":
        _say_likelihood(context, ways["likelihood"])
    _say_doubt(context, ways[context.main])
    context.picture(judge_check_figure(check, context.judgments, doubt_of=context.main), "judging")


def describe_missing(protocol: str, statuses: Mapping[str, int]) -> str:
    """Which pairs have no score and are left out of the table; empty if all have one.

    >>> describe_missing("preference", {"ok": 23, "off_answer": 1})
    '1 of 24 pairs asked by preference has no score and is left out: 1 off_answer (...).'
    """
    missing = {status: n for status, n in statuses.items() if status not in MEASURED}
    if not missing:
        return ""
    n, pairs = sum(missing.values()), count(sum(statuses.values()), "pair")
    has, is_ = ("has", "is") if n == 1 else ("have", "are")
    why = {"off_answer": " (the judge gave neither letter enough probability)"}
    named = ", ".join(f"{m} {status}{why.get(status, '')}" for status, m in missing.items())
    return f"{n} of {pairs} asked by {protocol} {has} no score and {is_} left out: {named}."


def _ask(context: DemoContext, protocol: str, *, limit: int | None) -> Mapping[str, int]:
    """Ask and keep the rows. Returns the number of rows of each status."""
    output = context.out / f"{protocol}.jsonl"
    with context.watch(f"asking by {protocol}") as watch:
        done = judge_pairs(
            context.pairs,
            judge=context.judge,
            protocol=protocol,
            store=context.store,
            output=output,
            limit=limit,
            progress=watch.show,
            handle_signals=True,
        )
    if done.summary.stopped is not None:
        raise KeyboardInterrupt
    context.judgments[protocol] = done.judgments
    context.files.append(str(output))
    context.keep(done.summary, f"judging_{protocol}")
    return done.summary.statuses


def _say_position(context: DemoContext, way: Way) -> None:
    if way.first_won is None or not way.orders:
        return
    share = way.first_won / way.orders
    if share >= 0.9:
        context.say(
            f"Asked which of two answers is better, it picks the one shown first "
            f"{way.first_won} of {way.orders} times."
        )
    elif way.right.low > 0.5:
        context.say(f"Asked in both orders it is right on {describe_share(way.right)}.")
    else:
        context.say("Asked in both orders, its verdict is not better than chance.")


def _say_likelihood(context: DemoContext, way: Way) -> None:
    worst = min(way.groups, key=lambda group: group.share or 0.0, default=None)
    line = (
        f"By likelihood (which answer would it write?) it is right on {describe_share(way.right)}"
    )
    if worst is not None:
        line += f"; worst on {worst.name}, {percent(worst.share, 0)}"
    context.say(line + ".")


def _say_doubt(context: DemoContext, way: Way) -> None:
    (right, pairs), (other_right, other_pairs) = halves(way.bands)
    if not pairs or not other_pairs:
        return
    context.say(
        f"In the half of the pairs with less doubt it is right on {percent(right / pairs, 0)}, "
        f"in the other half on {percent(other_right / other_pairs, 0)}."
    )
