"""The chapters of the demo. A chapter does not repeat questions of an earlier one: it uses `rows`.

Invented writers give the demo a win rate and a ranking to estimate. Two writers get the right and
the wrong answer of each pair. The better writer gets the right one more often. The writers'
strengths are set here, so the demo can show the truth next to estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from adjudge.auditing import check_audits
from adjudge.data import write_rows
from adjudge.demo.check import Way, check_judge, describe_share, halves, judge_check_figure
from adjudge.diagnosis import diagnose_bias
from adjudge.estimation import estimate
from adjudge.estimation.rate import Estimate
from adjudge.judges.interface import Likelihood
from adjudge.judges.judge import parse_judge
from adjudge.judges.judging import judge_pairs
from adjudge.monitoring import draw_audits
from adjudge.policy.audits import monitor_figure
from adjudge.present.blocks import Columns, Table, table_of
from adjudge.present.figure import panel
from adjudge.present.text import count, interval, level, number, percent, show_interval
from adjudge.ranking.evaluation_view import draw_intervals
from adjudge.ranking.rank import rank
from adjudge.records import MEASURED, Interval, Pair
from adjudge.report import write_report
from adjudge.selection import all_guarantees, calibrate, evaluate_doubt, select
from adjudge.selection.evaluation_view import risk_and_coverage
from adjudge.validation import Seed, generator

if TYPE_CHECKING:
    from adjudge.demo.run import DemoContext
    from adjudge.ranking.leaderboard import HeldOutRow
    from adjudge.selection.evaluating import MethodRisk

#: Asking in both orders costs about 400 tokens a pair, likelihood about 90.
_PREFERENCE_PAIRS = 12
_BANDS = 4
_ALPHA = 0.1
_SPLITS = 1000
#: The baseline to compare with, and the guarantee of the sentences below.
_EVERYTHING = "vanilla"
_GUARANTEE = "scope"
_LABELS = 80
#: Error level of the conformal intervals: eleven other writers are enough for 90 %.
_RANKING_ALPHA = 0.1
_RANKING_LEVEL = 0.95
NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gia", "Hugo", "Ines", "Jon", "Kira", "Liam"]
#: Writer i beats writer j with odds strength_i : strength_j; from 4 down to 1/4 in equal steps.
STRENGTHS = {name: 2.0 ** (2 - 4 * k / (len(NAMES) - 1)) for k, name in enumerate(NAMES)}
#: How often the writer whose win rate is estimated has the right answer, by construction.
CANDIDATE_RATE = 0.65
_AUDIT_ALPHA = 0.1
_AUDIT_RATE = 0.5
#: Requests before and after the bug; the bug swaps the two answers in one of this many.
_REQUESTS = 400
_SWAPPED = 3
_COLUMNS = ("id", "judge", "protocol", "judge_fingerprint", "p_a", "label")


def check_against_answers(context: DemoContext) -> None:
    """Ask, compare with the known answers, print."""
    backend = parse_judge(context.judge)
    context.main = "likelihood" if Likelihood in backend.wants else "preference"
    limit = _PREFERENCE_PAIRS if context.main == "likelihood" else None
    statuses = {"preference": _ask_protocol(context, "preference", limit=limit)}
    if context.main == "likelihood":
        statuses["likelihood"] = _ask_protocol(context, "likelihood", limit=None)
        context.say(
            "Asked by preference: both answers are shown, once in each order, and the judge says "
            "which is better. Asked by likelihood: each answer is scored by how probable it is as "
            "the model's own reply, and the more probable one wins; there is no order."
        )

    check = check_judge(context.judgments, judge=context.judge, by="kind", bands=_BANDS)
    context.keep(check, "judge_check")
    for block in check.view():
        context.show(block)
    for protocol, counts in statuses.items():
        if words := describe_missing(protocol, counts):
            context.say(words)
    ways = {way.protocol: way for way in check.ways}
    _say_position(context, ways["preference"])
    main = ways[context.main]
    if main.protocol == "likelihood":
        worst = min(main.groups, key=lambda group: group.share or 0.0, default=None)
        where = "" if worst is None else f"; worst on {worst.name}, {percent(worst.share, 0)}"
        context.say(f"By likelihood it is right on {describe_share(main.right)}{where}.")
    surer, other = halves(main.bands)
    if surer.pairs and other.pairs:
        context.say(
            f"In the half of the pairs with less doubt it is right on {percent(surer.share, 0)}, "
            f"in the other half on {percent(other.share, 0)}."
        )
    context.picture(judge_check_figure(check, context.judgments, doubt_of=context.main), "judging")


def describe_missing(protocol: str, statuses: Mapping[str, int]) -> str:
    """Which pairs have no score and are left out of the table; empty if all have one.

    >>> describe_missing("preference", {"ok": 23, "off_answer": 1})
    '1 of 24 pairs asked by preference has no score and is left out: 1 off_answer (...).'
    """
    missing = {status: n for status, n in statuses.items() if status not in MEASURED}
    if not missing:
        return ""
    n = sum(missing.values())
    pairs = count(sum(statuses.values()), "pair")
    has, is_ = ("has", "is") if n == 1 else ("have", "are")
    why = {"off_answer": " (the judge gave neither letter enough probability)"}
    named = ", ".join(f"{m} {status}{why.get(status, '')}" for status, m in missing.items())
    return f"{n} of {pairs} asked by {protocol} {has} no score and {is_} left out: {named}."


def _ask_protocol(context: DemoContext, protocol: str, *, limit: int | None) -> Mapping[str, int]:
    """Ask and keep the rows. Returns the number of rows of each status."""
    output = context.out / f"{protocol}.jsonl"
    with context.watch(f"asking by {protocol}") as watch:
        done = judge_pairs(
            context.pairs,
            judge=context.judge,
            protocol=protocol,
            store=context.out / "adjudge.db",  # a stopped demo resumes where it stopped
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
    elif way.right.ends[0] > 0.5:
        context.say(f"Asked in both orders it is right on {describe_share(way.right)}.")
    else:
        context.say("Asked in both orders, its verdict is not better than chance.")


def accept_verdicts(context: DemoContext) -> None:
    """A policy on all labels, then the results of calibrating on a thousand random halves."""
    rules = ", ".join(f"{rule.name} ({rule.summary})" for rule in all_guarantees())
    context.say(
        "A rule accepts the verdicts with the least doubt and gives the others to people. Alpha is "
        "the share of wrong verdicts that you allow among the accepted. The rules differ in what "
        f"they promise about it: {rules}."
    )
    policy = calibrate(context.rows, alpha=_ALPHA, guarantee=_GUARANTEE, seed=context.seed)
    context.keep(policy, "policy")
    asked = f"Calibrated on {policy.n_calibration} labels, with at most {percent(_ALPHA)} wrong"
    outcome = f"{asked}, no threshold passes: nothing is accepted."
    if policy.feasible:
        accepted = f"{policy.n_accepted} verdicts ({percent(policy.coverage, 0)})"
        outcome = (
            f"{asked} (alpha {_ALPHA:g}), {policy.guarantee} accepts {accepted}, "
            f"{policy.n_accepted_errors} of them wrong; the others go to people. {policy.value} "
            "Does that hold on held-out labels?"
        )
    context.say(outcome)
    evaluation = evaluate_doubt(context.rows, splits=_SPLITS, seed=context.seed)
    context.keep(evaluation, "evaluation")
    shown = evaluation.paper_rows(evaluation.judges[0])
    rows = {row.method: row for row in shown if row.alpha == _ALPHA}
    names = {_EVERYTHING: "accept everything"}
    names |= {rule.name: f"{rule.name}: {rule.summary}" for rule in all_guarantees()}
    columns: Columns[MethodRisk] = {
        "rule": lambda row: names[row.method],
        "accepted": lambda row: percent(row.coverage, 0),
        "wrong, mean": lambda row: percent(row.risk),
        "wrong, pooled": lambda row: percent(row.ratio),
        "halves above": lambda row: percent(row.share_above, 0),
    }
    caption = (
        f"{_SPLITS:,} times: calibrate on a random half at alpha {_ALPHA:g}, accept in the other"
    )
    context.show(table_of([rows[method] for method in names], columns, caption=caption))
    # scope promises the mean share, but not the pooled share or the share of one threshold.
    scope = rows[_GUARANTEE]
    finding = "and here it holds" if scope.risk <= _ALPHA else "and here it does not hold"
    wrong = percent(scope.risk, 0)
    pooled = percent(scope.ratio, 0)
    above = percent(scope.share_above, 0)
    context.say(
        f"If everything is accepted, {percent(rows[_EVERYTHING].risk, 0)} are wrong. scope accepts "
        f"{percent(scope.coverage, 0)}, with {wrong} wrong on average over the halves: that mean "
        f"is its promise, {finding}. Pooled over all halves, {pooled} of the accepted verdicts "
        f"were wrong. A single threshold was above alpha in {above} of the halves. If yours must "
        "not be, use pac and more labels."
    )
    context.picture(risk_and_coverage(evaluation), "selection")


def report_rate(context: DemoContext) -> None:
    """Hide most labels, estimate the candidate's win rate, compare with the truth."""
    rows, truth = candidate_rows(context.rows, labels=_LABELS, seed=context.seed)
    path = write_rows(rows, context.out / "candidate.csv")
    context.files.append(str(path))
    # The labelled rows were drawn at random, so labels_are_random is true.
    result = estimate(rows, labels_are_random=True, seed=context.seed)
    if not isinstance(result, Estimate):
        raise TypeError("one candidate gives one estimate")
    context.keep(result, "estimate")
    ends = f"{level(result.confidence_level)} interval"
    columns = ("win rate of an invented candidate", "value", ends)
    naive_interval = show_interval(result.naive_interval)
    lines = [
        ("the judge alone (naive)", number(result.naive), naive_interval),
        ("corrected", number(result.estimate), show_interval(result.interval)),
        ("the truth (known here)", number(truth), ""),
    ]
    context.show(Table(columns, lines))
    if result.estimate is None or result.naive is None:
        context.say(f"No valid estimate: {result.reason}")
        return
    off = number(abs(result.naive - truth))
    naive_holds = _holds(result.naive_interval, truth)
    corrected_holds = _holds(result.interval, truth)
    context.say(
        f"The judge alone is off by {off}; its naive interval {naive_holds} the truth. With "
        f"{_LABELS} labels the interval corrected by {result.method} {corrected_holds} it."
    )


def _holds(ends: Interval | None, truth: float) -> str:
    return "contains" if ends is not None and truth in ends else "misses"


def look_for_bias(context: DemoContext) -> None:
    """Position bias and reliability of each protocol."""
    for protocol, rows in context.judgments.items():
        report = diagnose_bias(rows, seed=context.seed)
        context.keep(report, f"bias_{protocol}")
        # The doubt is of no use if the verdicts are not: print it only for the main protocol.
        parts = (report.position, report.reliability if protocol == context.main else None)
        for bias in parts:
            if bias is not None:
                context.say(f"By {protocol}: {bias.describe()}.")
        if protocol == context.main:
            context.picture(report.plot(), "bias")


def rank_writers(context: DemoContext) -> None:
    """Soft Elo of each writer without its votes, next to its Elo by votes."""
    rows = writers_battles(context.pairs, context.rows, seed=context.seed)
    context.files.append(str(write_rows(rows, context.out / "battles.csv")))
    board = rank(
        rows,
        method="soft-elo",
        confidence_level=_RANKING_LEVEL,
        evaluate=True,
        alpha=_RANKING_ALPHA,
        seed=context.seed,
    )
    context.keep(board, "leaderboard")
    by_battles = {row.model: row for row in board.models}
    held_out = sorted(
        (row for row in board.held_out if row.method == "soft-elo"),
        key=lambda row: by_battles[row.model].rank or 0,
    )
    if not held_out:
        context.say(f"No leaderboard: {board.reason}.")
        return
    columns: Columns[HeldOutRow] = {
        "invented writer": lambda row: row.model,
        "Elo by votes": lambda row: number(row.human_elo, 0),
        "judge, votes withheld": lambda row: number(row.elo, 0),
        f"{level(1 - _RANKING_ALPHA)} conformal": lambda row: interval(
            row.interval.low, row.interval.high, 0, unbounded=row.unbounded
        ),
        f"{level(_RANKING_LEVEL)} of the battles alone": lambda row: interval(
            *by_battles[row.model].ends, 0
        ),
    }
    context.show(table_of(held_out, columns))
    alone = 0
    for row in held_out:
        usual = by_battles[row.model]
        if not usual.unbounded and usual.interval is not None and row.human_elo in usual.interval:
            alone += 1
    covered = sum(row.covered is True for row in held_out)
    context.say(
        f"{board.n_battles} battles, {len(NAMES) // 2} on each pair. Each writer in turn is a new "
        f"model without votes. The conformal interval contains its Elo by votes for {covered} of "
        f"{len(held_out)} writers, because it is made from the judge's errors on the other writers."
    )
    context.say(
        f"The usual intervals, from the noise of the battles alone, contain it for {alone}: they "
        "do not include the judge's errors."
    )
    by_judge = [row.elo for row in held_out]
    by_votes = [row.human_elo for row in held_out]
    span_by_judge = number(max(by_judge) - min(by_judge), 0)
    span_by_votes = number(max(by_votes) - min(by_votes), 0)
    context.say(
        f"The judge's Elos span {span_by_judge} points, those of the votes {span_by_votes}. A "
        "judge that is often wrong pulls models together, and this makes the conformal intervals "
        "wide."
    )
    best = max(held_out, key=lambda row: row.human_elo).model
    first = held_out[0].model
    by_both = " and by votes." if best == first else f", as in the report; by votes {best} has."
    context.say(f"{first} has the highest Elo by the judge{by_both}")
    context.picture(panel(draw_intervals, (7.2, 4.2), board), "leaderboard")


def candidate_rows(
    judgments: pl.DataFrame, *, labels: int, seed: Seed
) -> tuple[pl.DataFrame, float]:
    """One row per judged pair: did the judge (judge) and the truth (human) prefer the candidate?

    `human` is given for `labels` random rows only, as if people had labelled only those. Returns
    the rows and the candidate's true win rate.
    """
    draw = generator(seed)
    has_both = pl.col("verdict").is_not_null() & pl.col("label").is_in(["A", "B"])
    decided = judgments.filter(has_both).select("id", "verdict", "label")
    n = decided.height
    wins = np.zeros(n, dtype=np.int64)
    wins[draw.permutation(n)[: round(CANDIDATE_RATE * n)]] = 1
    right = (decided["verdict"] == decided["label"]).to_numpy()
    judged = np.where(right, wins, 1 - wins)
    shown = np.zeros(n, dtype=bool)
    shown[draw.permutation(n)[:labels]] = True
    human = pl.when(pl.Series(shown)).then("human")
    frame = pl.DataFrame({"id": decided["id"], "judge": judged, "human": wins})
    return frame.with_columns(human), float(wins.mean())


def writers_battles(pairs: Sequence[Pair], judgments: pl.DataFrame, *, seed: Seed) -> pl.DataFrame:
    """The judged pairs as battles, with the truth as people's vote.

    On each pair all writers meet in pairs drawn at random, and the judge's one answer is used for
    all of these battles. They share a prompt, and the intervals treat them as one cluster.
    """
    draw = generator(seed)
    prompts = {pair.id: pair.prompt_id or pair.id for pair in pairs}
    rows = []
    for row in judgments.iter_rows(named=True):
        if row["p_a"] is None or row["label"] not in ("A", "B"):
            continue
        seats = draw.permutation(len(NAMES)).reshape(-1, 2)
        for writer, opponent in ((NAMES[i], NAMES[j]) for i, j in seats):
            favoured = STRENGTHS[writer] / (STRENGTHS[writer] + STRENGTHS[opponent])
            winner, loser = (writer, opponent) if draw.random() < favoured else (opponent, writer)
            first, second = (winner, loser) if row["label"] == "A" else (loser, winner)
            battle = {
                "id": f"{row['id']}-{first}-{second}",
                "prompt_id": prompts.get(row["id"], row["id"]),
                "model_a": first,
                "model_b": second,
                "human_pref": row["label"],
                "p_a": row["p_a"],
            }
            rows.append(battle)
    return pl.DataFrame(rows)


def audit_verdicts(context: DemoContext) -> None:
    """Calibrate on half of the pairs, serve the other half, add a bug, and audit."""
    rng = generator(context.seed)
    rows = context.rows.select(_COLUMNS)
    order = rng.permutation(rows.height)
    half = rows.height // 2
    policy = calibrate(rows[order[:half].tolist()], alpha=_AUDIT_ALPHA, seed=context.seed)
    requests = rows[rng.choice(order[half:], size=2 * _REQUESTS).tolist()].with_columns(
        id=pl.format("request {}", pl.int_range(2 * _REQUESTS))
    )
    at = pl.int_range(pl.len())
    bug = (at >= _REQUESTS) & (at % _SWAPPED == 0)
    broken = requests.with_columns(
        pl.when(bug).then(1 - pl.col("p_a")).otherwise("p_a").alias("p_a")
    )
    served = select(broken, policy)
    if served.summary.n_accepted == 0:
        context.say("With half of the labels nothing is accepted, so there is nothing to audit.")
        context.keep(policy, "policy_of_half")
        return
    audits = draw_audits(
        served.rows, audit_rate=_AUDIT_RATE, secret=f"the demo, {context.seed:010}"
    )
    monitor = check_audits(audits.rows, policy)
    context.keep(monitor, "monitor")
    [group] = monitor.groups
    drift = "does not detect it" if not served.summary.drift.flagged else "detects drift"
    context.say(
        f"{2 * _REQUESTS} requests from the other half of the pairs. From request {_REQUESTS} on a "
        f"bug swaps the two answers in every third. The doubt stays the same, and a test of its "
        f"distribution {drift}. People audit {percent(_AUDIT_RATE)} of the accepted verdicts."
    )
    places = {name: at for at, name in enumerate(requests["id"])}
    before = sum(places[name] < _REQUESTS for name in audits.rows["id"])
    if group.alarm_at is None:
        context.say(
            f"No alarm in {number(group.rate.n)} audits, {percent(group.rate.error_rate)} of them "
            f"wrong: not enough evidence that the error rate is above {percent(monitor.limit)}."
        )
    elif group.alarm_at <= before:
        context.say(
            f"Alarm at audit {group.alarm_at}, before the bug: this threshold's error rate was "
            f"above {percent(monitor.limit)}. scope promises a mean over thresholds, not this one."
        )
    else:
        context.say(
            f"{number(before)} audits were drawn before the bug; the alarm came "
            f"{number(group.alarm_at - before)} audits after it. You can check after each audit: "
            f"over all checks, a false alarm has a probability of at most {percent(monitor.delta)}."
        )
    context.picture(monitor_figure(monitor, group), "monitor")


def write_page(context: DemoContext) -> None:
    """Write the report and print its path."""
    texts = ("id", "prompt", "response_a", "response_b", "label")
    rows = [{name: getattr(pair, name) for name in texts} for pair in context.pairs]
    write_rows(pl.DataFrame(rows), context.out / "pairs.jsonl")
    path = write_report(
        context.out, context.out / "report.html", title="How far the demo's judge can be trusted"
    )
    context.files.append(str(path))
    context.say(f"Report: {path.resolve()}")


#: The chapters in order, with their titles. To add one, add its function.
CHAPTERS: Mapping[str, tuple[str, Callable[[DemoContext], None]]] = {
    "judging": ("Is the judge better than chance?", check_against_answers),
    "selection": ("Which verdicts can be trusted?", accept_verdicts),
    "estimation": ("What number can be reported?", report_rate),
    "diagnosis": ("Where does the judge fail?", look_for_bias),
    "ranking": ("How do the models rank?", rank_writers),
    "monitoring": ("Is it still true after deployment?", audit_verdicts),
    "report": ("One file to send", write_page),
}
