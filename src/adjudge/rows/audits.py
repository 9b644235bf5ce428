"""Audits of accepted verdicts: their order, their monitor, and which of them calibrate again.

The audits drawn after an alarm are a random sample of what the old rules accept, and they were not
used to raise it. Below the old thresholds they are valid labels; above, they have no information.
So the old threshold is their cut (`rows/cuts.py`).
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from adjudge.errors import ArgumentError, DataError, StoreMissingError
from adjudge.io.results import read_result
from adjudge.io.tables import as_text
from adjudge.present.load import from_dict
from adjudge.results.monitoring import Monitor
from adjudge.results.rules import CUT_COLUMNS, Cut
from adjudge.rows.dropped import Rows
from adjudge.rows.judgments import Judgments
from adjudge.store import is_store, store_name, use_store

#: The order of drawing: 1, 2, 3 and so on without a gap.
DRAWN = "drawn"
#: The assumption of a calibration since the estimated change.
WITHOUT_PROOF = (
    "that audits chosen because their labels looked like a change are as good as a random sample: "
    "this is not proven"
)
_DRAWN = "give the complete file that monitor draw wrote"


def order_audits(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Audits in the order of drawing; refused unless their numbers are 1, 2, 3 and so on.

    A list with gaps could have only the audits that came back first, and errors can come first.
    """
    for column in ("id", DRAWN):
        if column not in frame.columns:
            raise DataError(name, "is missing", column=column, remedy=_DRAWN)
    numbers = as_text(frame[DRAWN]).cast(pl.Int64, strict=False).alias(DRAWN)
    frame = frame.with_columns(as_text(frame["id"]), numbers).sort(DRAWN, nulls_last=True)
    expected = pl.Series(range(1, frame.height + 1), dtype=pl.Int64)
    gaps = ~(frame[DRAWN] == expected).fill_null(False)
    if gaps.any():
        at = int(gaps.arg_true()[0]) + 1
        raise DataError(name, f"audit {at} is missing", column=DRAWN, remedy=_DRAWN)
    again = frame["id"].is_duplicated()
    if again.any():
        twice = frame["id"].filter(again)[0]
        raise DataError(name, f"{twice!r} was drawn twice", column="id", remedy=_DRAWN)
    return frame


def read_monitor(place: str | Path, name: str | None = None) -> Monitor | None:
    """The monitor in a file, or of this name in a store; None if there is none yet.

    Without a name, the only monitor in the store that has raised an alarm.
    """
    if not is_store(place):
        return read_result(place, Monitor) if Path(place).exists() else None
    try:
        with use_store(place, readonly=True) as store:
            texts = store.monitors()
    except StoreMissingError:
        return None
    kept = {
        own: _parse(text, f"{store_name(place)}, monitor {own}")
        for own, text in texts.items()
        if name in (None, own)
    }
    if name is not None:
        return kept.get(name)
    rung = [monitor for monitor in kept.values() if monitor.alarm]
    if len(rung) > 1:
        raise ArgumentError(
            "state", store_name(place), "several monitors raised an alarm: write one to a file"
        )
    return rung[0] if rung else None


def audits_to_calibrate(
    given: Judgments,
    state: Monitor | str | Path,
    *,
    by: str | None = None,
    min_answer_mass: float | None = None,
    since_change: bool = False,
) -> tuple[Judgments, str]:
    """The audits drawn after the alarm, with the old thresholds as their cuts; and a note.

    As in a check, they count up to the first pending one, because the audits that come back first
    are not a random part. Rows that the old policy refused for any score (groups, answers off the
    question) were not audited, so the new policy must refuse them too. `since_change` uses the
    audits since the estimated change: more of them, but without a proof, because they were chosen
    by looking at their labels.
    """
    monitor = state if isinstance(state, Monitor) else read_monitor(state)
    source = "monitor" if isinstance(state, Monitor) else store_name(state)
    if monitor is None or monitor.alarm_at is None:
        remedy = "it has no alarm; to calibrate again, label rows at random"
        raise ArgumentError("from_audits", source, remedy)
    if monitor.no_recalibration is not None:
        remedy = f"{monitor.no_recalibration}; calibrate on rows labelled at random"
        raise ArgumentError("from_audits", source, remedy)
    _check_refusals(monitor, by, min_answer_mass)
    frame = order_audits(given.frame, given.name)
    for at, (here, there) in enumerate(zip(frame["id"], monitor.ids, strict=False), 1):
        if here != there:
            problem = f"audit {at} is {here!r}, but {there!r} in {source}"
            raise DataError(given.name, problem, column=DRAWN, remedy="give the monitor's audits")
    changes = [group.change_at for group in monitor.groups if group.change_at is not None]
    last = min(changes) - 1 if since_change else monitor.alarm_at
    moment = "estimated change" if since_change else "alarm"
    rows = Rows(_with_cuts(frame, monitor.cuts), given.dropped)
    rows = rows.without(pl.col(DRAWN) <= last, f"audit drawn before the {moment}")
    rows = rows.without(_behind_pending(frame, monitor, last), "audit drawn after a pending one")
    rows = rows.without(
        pl.col("cut").is_null(), "audit of a judge without a rule in the old policy"
    )
    remark = f"made of audits drawn after the alarm at audit {monitor.alarm_at:,}"
    if since_change:
        remark = (
            f"made of audits since the estimated change at audit {last + 1:,}, which were chosen "
            "by looking at them: without proof; the audits drawn after the alarm have a proof"
        )
    old = Judgments(frame=rows.frame, name=given.name, dropped=rows.dropped, about=given.about)
    return old, f"{remark}. The old threshold is the cut: to accept more, label rows at random"


def _check_refusals(monitor: Monitor, by: str | None, least: float | None) -> None:
    """Refuse a policy that could accept rows that the old one never accepted."""
    if by != monitor.policy_by:
        kept = "leave it out" if monitor.policy_by is None else f"give --by {monitor.policy_by}"
        raise ArgumentError("by", by, f"{kept}: as in the audited policy")
    if monitor.min_answer_mass is not None and (least is None or least < monitor.min_answer_mass):
        raise ArgumentError(
            "min_answer_mass", least, f"the audited policy has {monitor.min_answer_mass:g}: use it"
        )


def _behind_pending(frame: pl.DataFrame, monitor: Monitor, last: int) -> pl.Expr:
    """Whether an audit was drawn after one later than `last` that is still pending."""
    label = frame["label"] if "label" in frame.columns else pl.Series([None] * frame.height)
    known = (*monitor.outcomes, *["pending"] * frame.height)
    waits = [
        at
        for at, (own, outcome) in enumerate(zip(label, known, strict=False), 1)
        if at > last and own is None and outcome == "pending"
    ]
    return pl.col(DRAWN) > min(waits, default=frame.height)


def _parse(text: str, source: str) -> Monitor:
    try:
        loaded = json.loads(text)
    except ValueError as error:
        remedy = "restore the store from a backup"
        raise DataError(source, f"is not JSON ({error})", remedy=remedy) from None
    return from_dict(loaded, Monitor, source=source)


def _with_cuts(frame: pl.DataFrame, cuts: tuple[Cut, ...]) -> pl.DataFrame:
    """The rows as labels drawn by an audit below the cut of their judge."""
    blank = [pl.lit(None, pl.Float64).alias(c) for c in CUT_COLUMNS[:2]]
    blank += [pl.lit(None, pl.String).alias(c) for c in CUT_COLUMNS[2:]]
    frame = frame.with_columns(*blank, sampled_by=pl.lit("audit"))
    for cut in cuts:
        own = pl.lit(True)
        for column in ("judge", "protocol", "judge_fingerprint"):
            value = getattr(cut, column)
            if value is not None:
                own &= (pl.col(column) == value) | pl.col(column).is_null()
        frame = frame.with_columns(
            pl.when(own).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
            for name, value in cut.columns.items()
        )
    return frame
