"""`adjudge judge` as Python calls: sync, async, and a plan without any call."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial, update_wrapper
from typing import Any, ParamSpec, Protocol, TypeVar

from adjudge.judges.options import JudgingOptions
from adjudge.judges.planning import make_plan
from adjudge.judges.run import JudgingRun, run_judging, run_to_end
from adjudge.judges.subjects import SubjectSource
from adjudge.results.judging import JudgingPlan

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class _Call(Protocol[P, R_co]):
    """A function of pairs and options by name."""

    def __call__(self, pairs: SubjectSource, *args: P.args, **options: P.kwargs) -> R_co: ...


def spread_options(function: Callable[..., Any], make_options: Callable[..., Any]) -> Any:
    """`function` with the fields of its last argument, `options`, as keyword arguments."""

    def call(*args: Any, **keywords: Any) -> Any:
        bound = signature.bind(*args, **keywords).arguments
        leading = [bound.pop(name) for name in names]
        return function(*leading, make_options(**bound))

    declared = inspect.signature(function)
    *leading_parameters, _ = declared.parameters.values()
    names = [parameter.name for parameter in leading_parameters]
    fields = inspect.signature(make_options).parameters.values()
    signature = declared.replace(parameters=[*leading_parameters, *fields])
    update_wrapper(call, function).__signature__ = signature  # type: ignore[attr-defined]
    return call


def _takes(
    make_options: Callable[P, JudgingOptions],
) -> Callable[[Callable[[SubjectSource, JudgingOptions], R_co]], _Call[P, R_co]]:
    """The function with the options as keyword arguments: they are declared there, once."""
    return partial(spread_options, make_options=make_options)


@_takes(JudgingOptions)
def judge_pairs(pairs: SubjectSource, options: JudgingOptions) -> JudgingRun:
    """Ask a judge about pairs or items, keep every reply, and return the rows in input order.

    Also works if an event loop is running (notebooks). Every field of `JudgingOptions` is a keyword
    argument, and is explained there.

    Args:
        pairs: Pairs: id, prompt, response_a, response_b; grade, likert: id, prompt, response. A
            path, a polars or pandas frame, or an iterable of `Pair` (or `Item`).
        options: The fields of `JudgingOptions`, by name.

    An interrupted run writes its complete rows; a refused run writes nothing. Both keep their
    replies in the store: make the same call again to resume.

    >>> from adjudge.simulate.pairs import simulate_pairs
    >>> run = judge_pairs(simulate_pairs(50, seed=1), judge="simulated:accuracy=0.9", store=None)
    >>> run.summary.statuses, run.judgments.height
    ({'ok': 50}, 50)
    """
    return run_options(pairs, options)


@_takes(JudgingOptions)
def judge_pairs_async(pairs: SubjectSource, options: JudgingOptions) -> Awaitable[JudgingRun]:
    """`judge_pairs` for programs with their own event loop; the arguments are the same.

    Args:
        pairs: Pairs: id, prompt, response_a, response_b; grade, likert: id, prompt, response.
        options: The fields of `JudgingOptions`, by name.
    """
    return run_judging(pairs, options)


@_takes(JudgingOptions)
def plan_judging(pairs: SubjectSource, options: JudgingOptions) -> JudgingPlan:
    """What `judge_pairs` would do with the same arguments: calls, tokens, cost. Makes no calls.

    Args:
        pairs: Pairs: id, prompt, response_a, response_b; grade, likert: id, prompt, response.
        options: The fields of `JudgingOptions`, by name, with one judge.

    >>> from adjudge.simulate.pairs import simulate_pairs
    >>> plan = plan_judging(simulate_pairs(50, seed=1), judge="simulated:", store=None)
    >>> plan.calls, plan.to_ask, plan.cost_estimate
    (100, 100, 0.0)
    """
    return make_plan(pairs, options)


def run_options(pairs: SubjectSource, options: JudgingOptions) -> JudgingRun:
    """Run with the given options until the end."""
    return run_to_end(run_judging(pairs, options), options.stop)
