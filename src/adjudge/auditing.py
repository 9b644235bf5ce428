"""A policy under audit: compare what selection promised with what monitoring counts.

The analyses do not import each other. A check needs the policy's guarantee, for the rate above
which to raise an alarm, and the process of audits; after an alarm audits are what calibrates, or,
if the judge changed, its new answers about the labelled rows. All are combined here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from adjudge.data.judgments import Judgments, prepare_judgments
from adjudge.data.rows import CONVERSATION, Rows, measured
from adjudge.data.source import Reading, Source
from adjudge.data.steps.labels import take_labels
from adjudge.data.tables import TableLike
from adjudge.data.writing import read_result
from adjudge.errors import ArgumentError, DataError
from adjudge.monitoring import JudgeMonitor, MonitorTerms, check_terms, continue_monitor
from adjudge.monitoring.drawing import read_audit_labels, read_served_audits
from adjudge.policy.audits import (
    DRAWN,
    Monitor,
    load_monitor,
    order_audits,
    read_monitor,
    state_name,
    write_state,
)
from adjudge.policy.result import Cut, Policy
from adjudge.records import CUT_COLUMNS, About
from adjudge.selection import calibrate, find_guarantee, read_policy
from adjudge.selection.doubts.base import load_doubt
from adjudge.selection.verifying import check_about, remark_answers
from adjudge.store import StorePlace, is_store, store_name
from adjudge.validation import count, exact_level

#: The assumption of a calibration since the estimated change.
_WITHOUT_PROOF = (
    "that audits chosen because their labels looked like a change are as good as a random sample: "
    "this is not proven"
)


def check_audits(
    audits: TableLike,
    policy: Policy | str | Path,
    *,
    labels: TableLike | None = None,
    state: str | Path | None = None,
    limit: float | None = None,
    delta: float | None = None,
    horizon: float | None = None,
    wait: float = 14.0,
    by: str | None = None,
    model_labels: bool = False,
    now: float | None = None,
    **reading: Unpack[Reading],
) -> Monitor:
    """Whether the policy still keeps its error rate, from audits of what it accepted.

    Audits count in the order of drawing. An alarm is raised when the evidence that the error rate
    is above `limit` reaches 1 / `delta`, at any time. Repeating a check on the same audits is safe.
    Limit, delta, horizon and by are chosen once: a state refuses other values.

    Args:
        audits: All audits drawn so far (monitor draw -o), or the store that has them. In Python the
            rows of `draw_audits`, with labels in their column `label` or in `labels`; a store is
            one that `serve --audit-rate` and `label` used.
        policy: The policy whose accepted verdicts these are.
        labels: Human labels by id, for rows without a label.
        state: File or store of the counts; the next check continues from them. Without it every
            check counts from the first audit.
        limit: Alarm above this error rate. The default is the guarantee's own (`alarm_limit`):
            alpha if it promises a single threshold, else 1.5 alpha.
        delta: Largest probability of a false alarm over all checks. The default is 0.05.
        horizon: Number of audits within which a change is detected best (mean of the weights). The
            default is 1000.
        wait: Days until an audit without a label counts as missing.
        by: A monitor for each value of this column; delta is shared.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Without it they are refused.
        now: Time of the check (Unix).
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> from adjudge import calibrate, select, draw_audits
    >>> old = {"id": range(60), "p_a": [0.95] * 60, "label": ["A"] * 60}
    >>> policy = calibrate(old, alpha=0.1)
    >>> new = {"id": range(100, 180), "p_a": [0.95] * 80, "label": ["A", "B"] * 40}
    >>> drawn = draw_audits(select(new, policy).rows, audit_rate=1, secret="not a secret: a test")
    >>> monitor = check_audits(drawn.rows, policy)
    >>> monitor.limit, monitor.alarm, monitor.alarm_at
    (0.15, True, 14)
    """
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    rows, makers = _read_audits(
        audits, labels, rules.rules_id, rules.about, [rules.by, by], model_labels, **reading
    )
    check_about(rules, rows.about)
    doubt = load_doubt(rules)
    judged = doubt.check_judges(rows.frame)
    remarks = [*remark_answers(rules.calibrated_on, rows.frame), *makers, *judged]
    doubt.check_decided(rows.frame)
    options = {"limit": limit, "delta": delta, "horizon": horizon, "by": by}
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    while True:
        previous = None if state is None else read_monitor(state, state_name(rules.rules_id, by))
        if previous is not None:
            check_terms(previous, rules, chosen)
            terms = MonitorTerms.of(previous)
        else:
            default: dict[str, Any] = {"limit": _default_limit(rules)} if limit is None else {}
            terms = MonitorTerms(**default, **chosen)
        monitor = continue_monitor(
            previous,
            rows,
            rules,
            terms,
            remarks=remarks,
            wait_days=wait,
            now=time.time() if now is None else now,
        )
        # If another check wrote the state meanwhile, continue from what that one counted.
        if state is None or write_state(monitor, state, previous):
            return monitor


def _read_audits(
    audits: TableLike | Judgments,
    labels: TableLike | None,
    rules_id: str,
    about: About,
    apart: Sequence[str | None],
    model_labels: bool,
    **reading: Unpack[Reading],
) -> tuple[Judgments, tuple[str, ...]]:
    """The audits of these rules that the judge answered, with their labels; and who gave these.

    They come from a table or from the store of a service. Values of the columns `apart` are not
    mixed.
    """
    if isinstance(audits, (str, Path)) and is_store(audits):
        place = audits
        audits = read_served_audits(place, rules_id=rules_id).rows
        labels = read_audit_labels(place, about=about) if labels is None else labels
    source = Source(audits, labels=labels, **reading).keep_apart(*apart)
    return answered_audits(prepare_judgments(source), model_labels=model_labels)


def answered_audits(
    audits: Judgments, *, model_labels: bool = False
) -> tuple[Judgments, tuple[str, ...]]:
    """The audits that the judge answered, numbered in the order of drawing; and who labelled them.

    A row that the judge failed has no verdict that could be wrong: it is left out. The rows are
    known to be drawn at random, however their labels say that they were sampled.
    """
    rows = measured(Rows(order_audits(audits.frame, audits.name), audits.dropped))
    if CONVERSATION in rows.frame.columns:
        again = ~pl.col(CONVERSATION).is_first_distinct() & pl.col(CONVERSATION).is_not_null()
        rows = rows.without(again, "turn of a conversation that was audited before")
    numbers = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(DRAWN)
    rows = Rows(rows.frame.with_columns(numbers), rows.dropped)
    taken = take_labels(rows, "label", audits.name, without=(), model_labels=model_labels)
    rows = taken.rows
    return replace(audits, frame=rows.frame, dropped=rows.dropped), taken.makers


def _default_limit(policy: Policy) -> float:
    limit = find_guarantee(policy.guarantee).alarm_limit(exact_level(policy.alpha))
    if limit >= 1:
        raise ArgumentError("limit", float(limit), "is not below 1: name a --limit")
    return float(limit)


def recalibrate(
    audits: TableLike | Judgments,
    state: Monitor | str | Path,
    *,
    labels: TableLike | None = None,
    alpha: float | Fraction | None = None,
    guarantee: str | None = None,
    delta: float | Fraction | None = None,
    ties: str | None = None,
    since_change: bool = False,
    small_groups: str = "refuse",
    cluster: str | None = "auto",
    min_answer_mass: float | None = None,
    model_labels: bool = False,
    seed: int = 0,
    store: StorePlace = None,
    **reading: Unpack[Reading],
) -> Policy:
    """Calibrate again after an alarm, on audits drawn since, below the old threshold.

    They are a random sample of what the old rules accept, and were not used to raise the alarm, so
    every guarantee holds on them as on other labels. They have no information about rows above the
    old threshold: the new policy never accepts these. To accept more, label rows at random and
    `calibrate`. Groups are those of the old policy.

    Args:
        audits: All audits drawn so far (monitor draw -o), or the store that has them, as in
            `monitor check`.
        state: File or store of the counts, which `monitor check` wrote. In Python also the result
            of `check_audits`.
        labels: Human labels by id, for rows without a label.
        alpha: Error level allowed among accepted verdicts. By default that of the old policy.
        guarantee: scope, pac, or one that a package adds. By default that of the old policy.
        delta: How often a guarantee with high probability can fail. By default that of the old
            policy.
        ties: Human ties: drop, or error (count each as an error). By default as in the old policy.
        since_change: Use the audits since the estimated change: more of them, but without a proof.
        small_groups: Groups with too few labels: refuse or pool.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        min_answer_mass: Minimum probability of the answer letters. It can be raised, not lowered.
            By default that of the old policy.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Without it they are refused.
        seed: Seed of everything random.
        store: Store of the judge's replies, to name what differs between judges.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> from adjudge import calibrate, select, draw_audits
    >>> old = {"id": range(60), "p_a": [0.95] * 60, "label": ["A"] * 60}
    >>> policy = calibrate(old, alpha=0.1)
    >>> new = {"id": range(100, 200), "p_a": [0.95] * 100, "label": ["B"] * 30 + ["A"] * 70}
    >>> drawn = draw_audits(select(new, policy).rows, audit_rate=1, secret="not a secret: a test")
    >>> monitor = check_audits(drawn.rows, policy)
    >>> again = recalibrate(drawn.rows, monitor, alpha=0.3)
    >>> again.n_calibration == 100 - monitor.alarm_at, again.accepts
    (True, 'below')
    """
    name = "monitor" if isinstance(state, Monitor) else str(store_name(state))
    monitor = _alarm_of(state, name)
    least = monitor.min_answer_mass
    if min_answer_mass is not None and least is not None and min_answer_mass < least:
        remedy = f"the audited policy has {least:g}: it can only be raised"
        raise ArgumentError("min_answer_mass", min_answer_mass, remedy)
    apart = [monitor.policy_by]
    # `calibrate` states who labelled.
    read, _ = _read_audits(
        audits, labels, monitor.rules_id, monitor.about, apart, model_labels, **reading
    )
    usable, remark = _since_alarm(read, monitor, name, since_change=since_change)
    old = {
        "alpha": monitor.alpha,
        "guarantee": monitor.guarantee,
        "delta": monitor.policy_delta,
        "ties": monitor.ties,
        "min_answer_mass": least,
    }
    new = {
        "alpha": alpha,
        "guarantee": guarantee,
        "delta": delta,
        "ties": ties,
        "min_answer_mass": min_answer_mass,
    }
    chosen: dict[str, Any] = old | {key: value for key, value in new.items() if value is not None}
    if chosen["delta"] is None:  # the old guarantee has none
        del chosen["delta"]
    policy = calibrate(
        usable,
        by=monitor.policy_by,
        small_groups=small_groups,
        cluster=cluster,
        model_labels=model_labels,
        seed=seed,
        store=store,
        **chosen,
    )
    proof = (_WITHOUT_PROOF,) if since_change else ()
    return replace(
        policy,
        assumptions=(*policy.assumptions, *proof),
        warnings=(*policy.warnings, remark),
    )


def renew(
    answers: TableLike | Judgments,
    policy: Policy | str | Path,
    state: JudgeMonitor | str | Path,
    *,
    labels: TableLike | None = None,
    audits: Monitor | str | Path | None = None,
    times: int = 1,
    cluster: str | None = "auto",
    model_labels: bool = False,
    seed: int = 0,
    store: StorePlace = None,
    **reading: Unpack[Reading],
) -> Policy:
    """Calibrate again on the same labels, after the judge changed: no new label is needed.

    The labels are as good as before, because people did not change; the judge's new answers about
    their rows calibrate. This helps only if the judge changed. If what it is asked changed, old
    labels are of other rows: after an alarm of the audits alone it is refused.

    Args:
        answers: The judge's new answers about the anchors (monitor judge -o).
        policy: The policy of the judge before its change; its terms and groups are kept.
        state: State of monitor judge, which raised an alarm. In Python also the result of
            `monitor_judge`.
        labels: Human labels by id, for rows without a label.
        audits: State of monitor check, if verdicts are audited.
        times: How often the policy is renewed in its life. A guarantee with high probability gets
            the delta of the policy / times, so that its delta holds for all of them together.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Without it they are refused.
        seed: Seed of everything random.
        store: Store of the judge's replies, to name what differs between judges.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.
    """
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    monitor = state if isinstance(state, JudgeMonitor) else read_result(state, JudgeMonitor)
    name = "the state" if isinstance(state, JudgeMonitor) else str(state)
    audited = audits is not None and load_monitor(audits).alarm
    if not monitor.alarm:
        remedy = "it has no alarm of the anchors: keep the policy"
        if audited:
            remedy = (
                "only the audits raise an alarm: what the judge is asked changed, and these labels "
                "are of other rows; label new rows at random and calibrate on them"
            )
        raise ArgumentError("state", name, remedy)
    # Rows that users bring have no fingerprint: the name must do.
    same_judge = monitor.judge_fingerprint in rules.judge_fingerprints
    if not same_judge and (rules.judge_fingerprints or monitor.judge not in rules.judges):
        remedy = "it is of another judge than the policy's: give the policy of this judge"
        raise ArgumentError("policy", ", ".join(rules.judges), f"{name}: {remedy}")
    if rules.doubts or rules.weights_column is not None:
        kinds = ", ".join(type(doubt).__name__ for doubt in rules.doubts) or "weights"
        remedy = f"it learned from labels ({kinds}): repeat its calibrate command on the answers"
        raise ArgumentError("policy", rules.guarantee, remedy)
    count(times, "times", least=1)
    terms: dict[str, Any] = {}
    if rules.delta is not None:
        terms["delta"] = exact_level(rules.delta, "delta") / times
    has_pool = any(group.members for group in rules.groups)
    source = Source(answers, labels=labels, **reading).keep_apart(rules.by)
    renewed = calibrate(
        prepare_judgments(source),
        alpha=rules.alpha,
        guarantee=rules.guarantee,
        ties=rules.ties,
        by=rules.by,
        pooled=rules.pooled,
        small_groups="pool" if has_pool else "refuse",
        min_answer_mass=rules.min_answer_mass,
        cluster=cluster,
        model_labels=model_labels,
        seed=seed,
        store=store,
        **terms,
    )
    remark = (
        "made of the judge's new answers about rows that calibrated before: an alarm of the "
        "anchors says that the judge changed, not that what it is asked is the same"
    )
    return replace(renewed, warnings=(*renewed.warnings, remark))


def _alarm_of(state: Monitor | str | Path, name: str) -> Monitor:
    """A monitor that raised an alarm, and whose audits can calibrate."""
    monitor = state if isinstance(state, Monitor) else read_monitor(state)
    if monitor is None or monitor.alarm_at is None:
        remedy = "it has no alarm; to calibrate again, label rows at random"
        raise ArgumentError("state", name, remedy)
    if monitor.no_recalibration is not None:
        remedy = f"{monitor.no_recalibration}; calibrate on rows labelled at random"
        raise ArgumentError("state", name, remedy)
    return monitor


def _since_alarm(
    audits: Judgments, monitor: Monitor, state: str, *, since_change: bool
) -> tuple[Judgments, str]:
    """The audits drawn after the alarm, with the old thresholds as their cuts; and a note.

    As in a check, they count up to the first pending one, because the audits that come back first
    are not a random part.
    """
    frame = order_audits(audits.frame, audits.name)
    for at, (here, there) in enumerate(zip(frame["id"], monitor.ids, strict=False), 1):
        if here != there:
            problem = f"audit {at} is {here!r}, but {there!r} in {state}"
            raise DataError(audits.name, problem, column=DRAWN, remedy="give the monitor's audits")
    last = monitor.alarm_at or 0
    moment = "alarm"
    remark = f"made of audits drawn after the alarm at audit {last:,}"
    if since_change:
        first = min(group.change_at for group in monitor.groups if group.change_at)
        last = first - 1
        moment = "estimated change"
        remark = (
            f"made of audits since the estimated change at audit {first:,}, which were chosen "
            "by looking at them: without proof; the audits drawn after the alarm have a proof"
        )
    rows = Rows(_with_cuts(frame, monitor.cuts), audits.dropped)
    rows = rows.without(pl.col(DRAWN) <= last, f"audit drawn before the {moment}")
    rows = rows.without(_behind_pending(frame, monitor, last), "audit drawn after a pending one")
    unruled = rows.frame.filter(pl.col("cut").is_null()).select("judge", "protocol").unique()
    for judge, protocol in unruled.sort("judge", "protocol").iter_rows():
        of_judge = (pl.col("judge") == judge) & (pl.col("protocol") == protocol)
        reason = f"audit of {judge} ({protocol}) without a rule in the old policy"
        rows = rows.without(pl.col("cut").is_null() & of_judge, reason)
    remark += ". The old threshold is the cut: to accept more, label rows at random"
    return replace(audits, frame=rows.frame, dropped=rows.dropped), remark


def _behind_pending(frame: pl.DataFrame, monitor: Monitor, last: int) -> pl.Expr:
    """Whether an audit was drawn after one later than `last` that is still pending."""
    labels = frame["label"] if "label" in frame.columns else pl.Series([None] * frame.height)
    outcomes = (*monitor.outcomes, *["pending"] * frame.height)
    waits = [
        at
        for at, (label, outcome) in enumerate(zip(labels, outcomes, strict=False), 1)
        if at > last and label is None and outcome == "pending"
    ]
    return pl.col(DRAWN) > min(waits, default=frame.height)


def _with_cuts(frame: pl.DataFrame, cuts: tuple[Cut, ...]) -> pl.DataFrame:
    """The rows as labels drawn by an audit below the cut of their judge."""
    blank = [pl.lit(None, pl.Float64).alias(c) for c in CUT_COLUMNS[:2]]
    blank += [pl.lit(None, pl.String).alias(c) for c in CUT_COLUMNS[2:]]
    frame = frame.with_columns(*blank, sampled_by=pl.lit("audit"))
    for cut in cuts:
        of_judge = pl.when(cut.is_of("judge", "protocol", "judge_fingerprint"))
        frame = frame.with_columns(
            of_judge.then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
            for name, value in cut.columns.items()
        )
    return frame
