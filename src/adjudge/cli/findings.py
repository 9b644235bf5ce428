"""How verbs deliver their results, what they print about them, and which findings are bad."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from adjudge.cli.output import FAILED, deliver, deliver_rows, remark
from adjudge.present.text import group_name, percent

if TYPE_CHECKING:
    from adjudge.diagnosis.bias import JudgeBias
    from adjudge.judges.judging import JudgingRun
    from adjudge.judges.summary import Judging
    from adjudge.ranking.leaderboard import Leaderboard

Options = Mapping[str, Any]
#: What --fail-above can name, with the default first. For biases: a diagnosis, and one of its
#: measures; if an unbiased judge has one half, the threshold is on the distance from one half.
CYCLES = ("mean_rate", "median_rate", "max_rate", "share_with_cycle")
SCORE_SETS = ("mean_size", "miss_rate")
PROMPTS = ("changed", "excess", "shift")
BIASES = {
    "position": ("position", 0),
    "flip_share": ("position", -1),
    "length": ("length", 0),
    "verbosity": ("verbosity", 0),
    "family": ("family", 0),
    "ece": ("reliability", -1),
    "over_confidence": ("reliability", 0),
    "contradictions": ("contradictions", 0),
    "retest": ("retest", 0),
}


def bad_if(field: str, state: bool = True) -> Callable[[Any, Options], bool]:
    """Deliver the result; the finding is bad if this field of the result is in this state."""

    def finish(result: Any, options: Options) -> bool:
        deliver(result, options)
        return bool(getattr(result, field)) is state

    return finish


def finish_policy(policy: Any, options: Options) -> bool:
    deliver(policy, options)
    if not policy.feasible:
        remark(f"nothing can be accepted at alpha {policy.alpha:g} under {policy.guarantee}")
    return not policy.feasible


def finish_shown_policy(policy: Any, options: Options) -> bool:
    deliver(policy, options)
    return False


def finish_selection(run: Any, options: Options) -> bool:
    from adjudge.records import LABELLED

    deliver_rows(run.rows, run.summary, options)
    drifted = bool(run.summary.drift.flagged)
    if drifted:
        remark(
            "the new scores do not look like the calibration scores: the guarantee might not hold; "
            f"label some of the new {LABELLED[run.summary.about]} and calibrate again"
        )
    if run.summary.n_accepted == 0:
        remark("nothing was accepted")
    return drifted or run.summary.n_accepted == 0


def finish_evaluation(evaluation: Any, options: Options) -> bool:
    deliver(evaluation, options)
    if (limit := options["fail_above"]) is None:
        return False
    main = map(evaluation.main_signal, evaluation.judges)
    bad = [quality for quality in main if quality.ece is None or quality.ece > limit]
    for quality in bad:
        ece = None if quality.ece is None else f"ECE {quality.ece:.3f} is above {limit:g}"
        remark(f"{quality.judge}: {ece or 'no verdict, so no ECE'}")
    return bool(bad)


def finish_estimate(result: Any, options: Options) -> bool:
    if options["json"]:
        for text in getattr(result, "all_warnings", result.warnings):
            remark(f"warning: {text}")
    deliver(result, options)
    lows = [rate.low for rate in result.intervals()]
    if any(low is None for low in lows):
        return True
    limit = options["fail_below"]
    if limit is not None and any(low is not None and low < limit for low in lows):
        remark(f"adjudge estimate: an interval reaches below {limit:g}")
        return True
    return False


def finish_cascade_plan(plan: Any, options: Options) -> bool:
    deliver(plan, options)
    if not plan.feasible:
        remark(f"no tau passes at alpha {plan.alpha:g}: every row would go to the last judge")
    return not plan.feasible


def finish_transitivity(result: Any, options: Options) -> bool:
    deliver(result, options)
    amounts = [
        (group_name(group.judge, group.criterion), {name: getattr(group, name) for name in CYCLES})
        for group in result.groups
    ]
    return any_above(options, amounts) or all(group.mean_rate is None for group in result.groups)


def finish_prompts(result: Any, options: Options) -> bool:
    deliver(result, options)
    amounts = [
        (
            group_name(group.judge, group.criterion),
            {
                "changed": group.changed,
                "excess": group.excess,
                "shift": None if group.shift is None else abs(group.shift),
            },
        )
        for group in result.groups
    ]
    return any_above(options, amounts)


def finish_bias(result: Any, options: Options) -> bool:
    deliver(result, options)
    limits = options["fail_above"] or {}
    amounts = [_bias_amounts(judge, limits) for judge in result.judges]
    return any_above(options, amounts) or not any(judge.parts() for judge in result.judges)


def _bias_amounts(
    judge: JudgeBias, limits: Mapping[str, float]
) -> tuple[str, dict[str, float | None]]:
    """How large each measure is; None if it does not count as a bias."""
    from adjudge.diagnosis.measures import BiasTest

    who = group_name(judge.judge, none="the judge")
    amounts: dict[str, float | None] = dict.fromkeys(BIASES)
    for name, (field, at) in BIASES.items():
        diagnosis = getattr(judge, field)
        measure = None if diagnosis is None else diagnosis.measures()[at]
        if measure is None or measure.value is None:
            continue
        value = abs(measure.value - 0.5) if measure.unbiased == 0.5 else measure.value
        if measure.departs:
            amounts[name] = value
        elif name in limits and value > limits[name]:
            small = isinstance(diagnosis, BiasTest) and diagnosis.floor > abs(value)
            but = "below --floor" if small else "these rows do not exclude an unbiased judge"
            remark(f"{who}: {name} {value:.4g} is above {limits[name]:g}, but {but}: not counted")
    return who, amounts


def any_above(options: Options, groups: Sequence[tuple[str, Mapping[str, float | None]]]) -> bool:
    """Print each group above a threshold of --fail-above. True if there is one."""
    above = [
        f"{who}: {name} {value:.4g} is above {limit:g}"
        for who, amounts in groups
        for name, limit in (options["fail_above"] or {}).items()
        if (value := amounts[name]) is not None and value > limit
    ]
    for sentence in above:
        remark(sentence)
    return bool(above)


def finish_board(board: Leaderboard, options: Options) -> bool:
    figure = options["figure"] or ("evaluation" if board.held_out else None)
    plot = options["plot"] if board.feasible else None
    deliver(board, {**options, "figure": figure, "plot": plot})
    placed = [row for row in board.models if row.origin == "new"]
    if not board.feasible or (placed and all(row.unbounded for row in placed)):
        return True
    if (limit := options["fail_above"]) is None:
        return False
    row = next((row for row in board.loo if row.method == board.method), None)
    if row is None:
        remark(f"--fail-above: {board.method} is not among the evaluated methods")
        return True
    if row.mae is None or row.mae > limit:
        error = "unknown" if row.mae is None else f"{row.mae:.1f} Elo, above {limit:g}"
        remark(f"{row.method}: mean held-out error {error}")
        return True
    return False


def finish_judging(run: JudgingRun, options: Options) -> bool:
    deliver(run.result, {**options, "output": options["summary"]})
    judges = run.summaries
    if judges[0].stopped == "interrupted":
        remark("stopped; run the same command again to resume")
        raise click.exceptions.Exit(FAILED)
    bad = judges[0].stopped == "max_cost"
    if bad:
        missing = sum(judging.not_asked or 0 for judging in judges)
        remark(
            f"stopped at --max-cost with {missing:,} subjects not asked; "
            "run the same command with a higher one to resume"
        )
    for judging in judges:
        who = f"{judging.judge}: " if len(judges) > 1 else ""
        bad |= _lacks_rows(judging, who=who, limit=options["fail_above"])
    return bad


def _lacks_rows(judging: Judging, *, who: str, limit: float | None) -> bool:
    """Print what one judge's rows lack. True if that is a bad finding."""
    failed = judging.statuses.get("error", 0)
    if failed:
        remark(f"{who}{failed:,} rows are errors; run the same command again to ask only those")
    if judging.measured == 0:
        remark(f"{who}no row has a usable score")
        return True
    missing = judging.rows - judging.measured
    if limit is not None and missing > limit * judging.rows:
        share = percent(missing / judging.rows)
        remark(
            f"{who}{missing:,} of {judging.rows:,} rows ({share}) have no usable "
            f"score, more than --fail-above {limit:g}"
        )
        return True
    return False
