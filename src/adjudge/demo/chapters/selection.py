"""Chapter: accept verdicts at an error level, and check it on held-out labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjudge.present.blocks import Table
from adjudge.present.text import percent
from adjudge.selection import all_guarantees, calibrate, evaluate
from adjudge.selection.evaluation_view import risk_and_coverage

if TYPE_CHECKING:
    from adjudge.demo.context import DemoContext
    from adjudge.policy.result import Policy
    from adjudge.selection.evaluating import MethodRisk

TITLE = "Which verdicts can be trusted?"

_ALPHA = 0.1
_SPLITS = 1000
#: The baseline to compare with, and the guarantee of the sentences below.
_EVERYTHING, _GUARANTEE = "vanilla", "scope"


def run(context: DemoContext) -> None:
    """A policy on all labels, then the results of calibrating on a thousand random halves."""
    policy = calibrate(context.rows, alpha=_ALPHA, guarantee=_GUARANTEE, seed=context.seed)
    context.keep(policy, "policy")
    _say_policy(context, policy)
    evaluation = evaluate(context.rows, splits=_SPLITS, seed=context.seed)
    context.keep(evaluation, "evaluation")
    shown = evaluation.paper_rows(evaluation.judges[0])
    rows = {row.method: row for row in shown if row.alpha == _ALPHA}
    names = {_EVERYTHING: "accept everything"}
    names |= {one.name: f"{one.name}: {one.summary}" for one in all_guarantees()}
    context.show(
        Table(
            ("rule", "accepted", "wrong, mean", "wrong, pooled", "halves above"),
            [
                (
                    name,
                    percent(rows[method].coverage, 0),
                    percent(rows[method].risk),
                    percent(rows[method].ratio),
                    percent(rows[method].share_above, 0),
                )
                for method, name in names.items()
            ],
            caption=f"{_SPLITS:,} times: calibrate on a random half at alpha {_ALPHA:g}, accept "
            "in the other",
        )
    )
    _say_average(context, rows[_EVERYTHING], rows[_GUARANTEE])
    context.picture(risk_and_coverage(evaluation), "selection")


def _say_policy(context: DemoContext, policy: Policy) -> None:
    asked = f"Calibrated on {policy.n_calibration} labels, with at most {percent(_ALPHA)} wrong"
    if not policy.feasible:
        context.say(f"{asked}, no threshold passes: nothing is accepted.")
        return
    context.say(
        f"{asked} (alpha {_ALPHA:g}), {policy.guarantee} accepts {policy.n_accepted} verdicts "
        f"({percent(policy.coverage, 0)}), {policy.n_accepted_errors} of them wrong; the others go "
        "to people. Does that hold on held-out labels?"
    )


def _say_average(context: DemoContext, everything: MethodRisk, scope: MethodRisk) -> None:
    """scope promises the mean share, but not the pooled share or the share of one threshold."""
    kept = "and here it holds" if scope.risk <= _ALPHA else "and here it does not hold"
    context.say(
        f"If everything is accepted, {percent(everything.risk, 0)} are wrong. scope accepts "
        f"{percent(scope.coverage, 0)}, with {percent(scope.risk, 0)} wrong on average over the "
        f"halves: that mean is its promise, {kept}. Pooled over all halves, "
        f"{percent(scope.ratio, 0)} of the accepted verdicts were wrong. A single threshold was "
        f"above alpha in {percent(scope.share_above, 0)} of the halves. If yours must not be, use "
        "pac and more labels."
    )
