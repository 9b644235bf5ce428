"""Chapter: accept verdicts at an error level, on labels from one half, checked on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from adjudge._validation import generator
from adjudge.present.selection import draw_coverage, draw_risk
from adjudge.present.tables import percent, table
from adjudge.present.theme import new_figure, themed
from adjudge.selection import calibrate, evaluate, select

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from adjudge.demo.context import DemoContext
    from adjudge.results.evaluation import Evaluation, MethodRisk

TITLE = "Which verdicts may be trusted?"

_ALPHA = 0.1
_SPLITS = 1000
_NAMES = {
    "vanilla": "accept everything",
    "scope": "scope: mean share",
    "fdr": "fdr: each batch",
    "pac": "pac: this threshold",
}


def run(context: DemoContext) -> None:
    """One policy on one half of the labels, then what a thousand such halves come to."""
    _one_half(context)
    seen = evaluate(context.rows, n_splits=_SPLITS, seed=context.seed)
    context.keep(seen, "evaluation")
    rows = {row.method: row for row in seen.methods if row.alpha == _ALPHA}
    context.show(
        table(
            (f"alpha {_ALPHA:g}", "accepted", "wrong, mean", "wrong, pooled", "halves above"),
            [
                (
                    name,
                    percent(rows[method].coverage),
                    percent(rows[method].risk, 1),
                    percent(rows[method].ratio, 1),
                    percent(rows[method].share_above),
                )
                for method, name in _NAMES.items()
            ],
        )
    )
    _say_average(context, rows["vanilla"], rows["scope"])
    context.picture(_figure(seen), "selection")


def _one_half(context: DemoContext) -> None:
    """Calibrate on one half, hide the labels of the other, count what was accepted wrongly."""
    order = generator(context.seed).permutation(context.rows.height).tolist()
    cut = (len(order) + 1) // 2
    known, new = context.rows[order[:cut]], context.rows[order[cut:]]
    policy = calibrate(known, alpha=_ALPHA, seed=context.seed)
    context.keep(policy, "policy")
    done = select(new.drop("label"), policy)
    context.keep(done.summary, "selection")
    accepted = done.rows.filter(pl.col("accepted")).join(new.select("id", "label"), on="id")
    wrong = int((accepted["verdict"] != accepted["label"]).sum())
    if policy.feasible:
        context.say(
            f"At alpha {_ALPHA:g}, on {policy.n_calibration} labels: {accepted.height} of "
            f"{new.height} new verdicts accepted, {wrong} of them wrong; on the others it abstains."
        )
    else:
        context.say(
            f"At alpha {_ALPHA:g}, on these {policy.n_calibration} labels, no threshold passes: "
            "nothing is accepted, and that is the answer."
        )


def _say_average(context: DemoContext, everything: MethodRisk, scope: MethodRisk) -> None:
    """The mean share is what scope keeps; the pooled share and one threshold it does not."""
    context.say(
        f"Over {_SPLITS:,} random halves: accepting everything is wrong on "
        f"{percent(everything.risk)}. scope accepts {percent(scope.coverage)}, and its mean share "
        f"of wrong ones is {percent(scope.risk)}; of all it ever accepted {percent(scope.ratio)} "
        f"were wrong, and a single threshold ended above alpha in {percent(scope.share_above)}."
    )


def _figure(seen: Evaluation) -> Figure:
    with themed():
        figure = new_figure(12.0, 4.4)
        left, right = figure.subplots(1, 2, gridspec_kw={"wspace": 0.06})
        draw_risk(left, seen)
        draw_coverage(right, seen)
    return figure
