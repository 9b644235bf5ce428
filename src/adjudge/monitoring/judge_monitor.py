"""Did the judge change? Anchors are asked again, by the same command, as often as you like.

The first call asks every anchor `passes` times, each pass by itself, and keeps the answers in the
state. Every later call is a round: it asks each anchor once more and compares (`retest`). Round j
has the error delta / (j (j + 1)): their sum is delta, however many rounds there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from adjudge.atomic import check_writable, locking_folder
from adjudge.data.tables import as_text
from adjudge.data.writing import read_result, write_result, write_rows
from adjudge.errors import ArgumentError, DataError, JudgeError, StoreMissingError
from adjudge.hashing import content_hash
from adjudge.judges.interface import Judge
from adjudge.judges.judge import differing_parts, kept_route
from adjudge.judges.judging import run_options, takes
from adjudge.judges.options import JudgingOptions
from adjudge.judges.subjects import SubjectSource, call_keys, prepare_calls
from adjudge.judges.summary import Judging
from adjudge.monitoring.retest import log_retest, moved_verdicts
from adjudge.policy.audits import Monitor, draw_evidence, load_monitor, mark_alarm
from adjudge.present import text
from adjudge.present.blocks import (
    Block,
    Figure,
    Headline,
    Note,
    Table,
    explain,
    notes_of,
    table_of,
    warnings_of,
)
from adjudge.present.figure import ACCENT, new_figure, set_suptitle, themed
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Repeats,
    ResultWithDigest,
    frozen,
    not_empty,
    same_length,
)
from adjudge.records import MEASURED, Subject
from adjudge.store import use_store
from adjudge.store.tables import CALL_ID
from adjudge.validation import count, open_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: Which of the two changed, by anchors and audits together.
Changed = Literal["none", "judge", "stream", "judge, perhaps the stream too"]
#: Options of judging that a check sets itself, or that have no meaning here.
_UNFIT = ("repeats", "first_repeat", "stop_rule", "retry")
#: Options that are used before a pass is asked, or after all of them.
_USED = ("limit", "format", "columns", "labels_as", "announce", "output")
#: The columns that can have a judge's number; the side of one half is a verdict in the first two.
_NUMBERS = ("p_a", "p_pass", "judge_score", "judge")
_VERDICTS = ("p_a", "p_pass")
_AGAIN = "replies are kept in the store; run the same command again to resume"
_UNUSABLE = "fewer than two usable answers"
#: The most points of the figure.
_POINTS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeMonitorOptions(JudgingOptions):
    """What `monitor_judge` takes: most options of judging, and these.

    Args:
        state: File of the anchors' answers at calibration and of all rounds. The first call makes
            it; every later call is a round.
        delta: Largest probability of a false alarm over all rounds together.
        passes: How often the first call asks each anchor. More passes notice a change sooner.
        audits: State of monitor check, to tell whether the judge changed or what it is asked.
    """

    state: str | Path | None = None
    delta: float = 0.025
    passes: int = 2
    audits: Monitor | str | Path | None = None

    def __post_init__(self) -> None:
        JudgingOptions.__post_init__(self)
        if self.state is None:
            raise ArgumentError("state", None, "name a file for the answers: --state judge.json")
        check_writable(Path(self.state))
        open_unit(self.delta, "delta")
        count(self.passes, "passes", least=2)


@dataclass(frozen=True, kw_only=True)
class Round:
    """All anchors asked once more. `repeat` is the number of these calls in the store.

    The alarm was raised after the first `alarm_after` anchors of the lot. `n_moved` of the
    `n_compared` have a verdict that they never had at calibration; None for scores.
    """

    repeat: Count
    asked_at: str
    delta: Level
    n_compared: Count
    n_moved: Count | None
    log10_e: float
    most_log10_e: float
    alarm_after: Count | None
    served_models: tuple[str, ...]
    cost: NotNegative | None
    anchors: tuple[Count, ...] = field(repr=False)
    path: tuple[float, ...] = field(repr=False)

    checks: ClassVar[tuple[Check, ...]] = (same_length("anchors", "path"),)


@frozen
class JudgeMonitor(ResultWithDigest):
    """Whether a judge answers as at calibration: the result of a check, and its state.

    `anchors` are in the order of a lot; `texts` has a hash of what each is asked, `answers` the
    judge's numbers of each pass at calibration. `asking` is the number of a round that is under
    way. `audit_alarm` is that of the audits' monitor, if one was given.
    """

    kind: ClassVar[str] = "judge_monitor"
    rows_in: ClassVar[str] = "rounds"
    checks: ClassVar[tuple[Check, ...]] = (
        not_empty("anchors"),
        same_length("anchors", "texts", "answers"),
    )

    schema_version: Count = 1
    judge: str
    protocol: str
    judge_fingerprint: str
    fingerprint_parts: Mapping[str, Any] = field(repr=False)
    verdicts: bool
    delta: Level
    passes: Repeats
    asked_at: str
    served_models: tuple[str, ...]
    rounds: tuple[Round, ...] = ()
    asking: Count | None = None
    audit_alarm: bool | None = None
    audit_delta: Level | None = None
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]
    anchors: tuple[str, ...] = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    answers: tuple[tuple[float | None, ...], ...] = field(repr=False)
    adjudge_version: str

    @property
    def alarm(self) -> bool:
        """Whether any round raised an alarm: it stays."""
        return any(each.alarm_after is not None for each in self.rounds)

    @property
    def changed(self) -> Changed | None:
        """What changed, by anchors and audits together; None without audits or without a round."""
        if self.audit_alarm is None or not self.rounds:
            return None
        if self.alarm:
            return "judge, perhaps the stream too" if self.audit_alarm else "judge"
        return "stream" if self.audit_alarm else "none"

    def view(self) -> list[Block]:
        blocks: list[Block] = [_headline(self)]
        if self.rounds:
            blocks.append(_rounds_table(self))
        blocks += notes_of(_who_changed(self))
        blocks.append(Note([f"Promise: {_promise(self)}"]))
        blocks += explain(_ASSUMED, promises=[f"It does not promise: {_NOT_PROMISED}"])
        blocks += warnings_of(self.warnings) + notes_of(text.left_out(self.dropped, "anchor"))
        if self.rounds:
            caption = "The evidence that the judge changed, over the anchors of the last round."
            blocks.append(Figure("judge monitor", partial(judge_monitor_figure, self), caption))
        return blocks


@takes(JudgeMonitorOptions)
def monitor_judge(rows: SubjectSource, options: JudgeMonitorOptions) -> JudgeMonitor:
    """Whether a judge still answers as at calibration, by asking the same rows again.

    The first call asks every anchor `passes` times and keeps the answers in the state; each later
    call asks once more and compares. No rate of self-contradiction is assumed or estimated: if the
    judge is unchanged, the new answer is any of its answers with equal probability.

    Args:
        rows: The anchors: pairs or items, best the labelled ones that calibrated the policy.
        options: The fields of `JudgeMonitorOptions`, by name.
    """
    usual = {each.name: each.default for each in fields(options)}
    for name in _UNFIT:
        if getattr(options, name) != usual[name]:
            raise ArgumentError(name, getattr(options, name), "a check does not take it")
    audited = None if options.audits is None else load_monitor(options.audits)
    judge = options.make_judge()
    with closing(options.subjects(rows, judge)) as subjects:
        subjects.survey()
        dropped = dict(subjects.dropped)
        # In the order of a hash of the ids: the evidence depends on the order, so it is not chosen.
        anchors = sorted(subjects, key=lambda subject: content_hash([subject.id]))
    if not anchors:
        raise ArgumentError("rows", "no rows", "give the rows that calibrated the policy")
    texts = {subject.id: prepare_calls(judge, subject)[0].content for subject in anchors}
    asking = _Asking(options, anchors)
    place = Path(str(options.state))
    previous = read_result(place, JudgeMonitor) if place.exists() else None
    if previous is None:
        check, frame = _first_answers(asking, texts, options, dropped)
    else:
        _check_same(previous, judge, texts, options)
        number = previous.asking if previous.asking is not None else asking.fresh(previous)
        started = replace(previous, asking=number)
        _save(started, place, previous)
        check, frame = _next_round(asking, previous, number)
        previous = started
    check = replace(
        check,
        audit_alarm=None if audited is None else audited.alarm,
        audit_delta=None if audited is None else audited.delta,
    )
    _save(check, place, previous)
    if options.output is not None:
        # `calibrate` uses first answers only: with its number this pass would be left out.
        write_rows(frame.drop("repeat", strict=False), options.output)
    return check


class _Asking:
    """Asks about all anchors, one pass at a time, within what is left of `max_cost`."""

    def __init__(self, options: JudgingOptions, anchors: Sequence[Subject]) -> None:
        used: dict[str, Any] = dict.fromkeys(_USED)
        self._options = replace(options, **used)
        self._anchors = list(anchors)
        self._spent = 0.0

    def fresh(self, check: JudgeMonitor) -> int:
        """The number of a round of which the store has no reply.

        A state that was restored from a copy does not know all rounds that were asked.
        """
        number = max((each.repeat for each in check.rounds), default=check.passes - 1) + 1
        while self._call_ids(number):
            number += 1
        return number

    def passes(self, n: int) -> list[int]:
        """The numbers of the first passes, each asked by itself.

        The first is that of `judge`, or the last round in the store: a new state after a renewal
        begins with the answers that calibrated. `judge --repeats` asks all answers about a row
        together: only one of them is used.
        """
        number = 0
        if self._call_ids(n):
            number = n
            while self._call_ids(number + 1):
                number += 1
        numbers = [number]
        earlier = self._call_ids(number)
        while len(numbers) < n:
            number += 1
            later = self._call_ids(number)
            # Single failed calls can have been asked again later.
            if earlier and later and np.median(later) < np.quantile(earlier, 0.9):
                continue
            numbers.append(number)
            earlier = later
        return numbers

    def _call_ids(self, number: int) -> list[int]:
        """The places in the store of the replies of a pass, in the order of asking."""
        judge = self._numbered(number).make_judge()
        try:
            with use_store(self._options.store, readonly=True) as store:
                judge = kept_route(judge, store) or judge
                keys = [key for anchor in self._anchors for key in call_keys(judge, anchor)]
                return [row[CALL_ID] for row in store.lookup_rows(keys).values()]
        except StoreMissingError:
            return []

    def ask(self, number: int) -> tuple[Judging, pl.DataFrame]:
        """One pass: its summary and rows. A run that was stopped is an error."""
        options = self._numbered(number)
        if options.max_cost is not None:
            left = options.max_cost - self._spent
            if left <= 0:
                raise JudgeError(f"stopped (max_cost) before there is a result: {_AGAIN}")
            options = replace(options, max_cost=left)
        run = run_options(self._anchors, options)
        self._spent += run.summary.cost_this_run or 0.0
        if run.summary.stopped is not None:
            reason = run.summary.stopped
            raise JudgeError(f"stopped ({reason}) before there is a result: {_AGAIN}")
        return run.summary, run.judgments

    def _numbered(self, number: int) -> JudgingOptions:
        return replace(self._options, first_repeat=number)


def _first_answers(
    asking: _Asking,
    texts: Mapping[str, str],
    options: JudgeMonitorOptions,
    dropped: Mapping[str, int],
) -> tuple[JudgeMonitor, pl.DataFrame]:
    """The state of a judge, after all passes at calibration; and the rows of the last pass."""
    numbered = asking.passes(options.passes)
    passes = [asking.ask(number) for number in numbered]
    summary, frame = passes[-1]
    column = _number_column(frame)
    numbers = [_numbers_of(rows, column) for _, rows in passes]
    names = [name for name in _anchor_names(frame) if name is not None]
    answers = {name: tuple(each.get(name) for each in numbers) for name in names}
    usable = {
        name: values
        for name, values in answers.items()
        if sum(value is not None for value in values) >= 2
    }
    if not usable:
        problem = f"the judge gave no anchor two usable answers in {options.passes} passes"
        raise DataError("the anchors", problem, remedy="repair the judge: adjudge replies")
    served = {name for judging, _ in passes for name in judging.served_models}
    last_round = "it begins with the last answers in the store, not with the first"
    without = {_UNUSABLE: len(answers) - len(usable)}
    check = JudgeMonitor(
        judge=summary.judge,
        protocol=summary.protocol,
        judge_fingerprint=summary.judge_fingerprint,
        fingerprint_parts=summary.fingerprint_parts,
        verdicts=column in _VERDICTS,
        delta=options.delta,
        passes=options.passes,
        asked_at=_now(),
        served_models=tuple(sorted(served)),
        warnings=(last_round,) if numbered[0] > 0 else (),
        dropped={reason: n for reason, n in {**dropped, **without}.items() if n},
        anchors=tuple(usable),
        texts=tuple(texts[_id_of(name)] for name in usable),
        answers=tuple(usable.values()),
        adjudge_version=version("adjudge"),
    )
    return check, frame


def _next_round(
    asking: _Asking, previous: JudgeMonitor, number: int
) -> tuple[JudgeMonitor, pl.DataFrame]:
    """The state after one more round, and the rows of that round."""
    summary, frame = asking.ask(number)
    new = _numbers_of(frame, _number_column(frame))
    before = np.array(previous.answers, dtype=float)
    now = np.array([new.get(name) for name in previous.anchors], dtype=float)
    asked = ~np.isnan(now)
    logs = log_retest(before, now, verdicts=previous.verdicts) / math.log(10)
    place = len(previous.rounds) + 1
    delta = previous.delta / (place * (place + 1))
    reached = np.flatnonzero(logs >= -math.log10(delta))
    shown = np.unique(np.linspace(1, len(logs), min(len(logs), _POINTS)).round().astype(int))
    moved = int(moved_verdicts(before, now).sum()) if previous.verdicts else None
    done = Round(
        repeat=number,
        asked_at=_now(),
        delta=delta,
        n_compared=int(asked.sum()),
        n_moved=moved,
        log10_e=float(logs[-1]),
        most_log10_e=float(logs.max()),
        alarm_after=int(reached[0]) + 1 if len(reached) else None,
        served_models=tuple(sorted(summary.served_models)),
        cost=summary.cost,
        anchors=tuple(shown.tolist()),
        path=tuple(logs[shown - 1].tolist()),
    )
    warnings = []
    others = sorted({*done.served_models} - {*previous.served_models})
    if others and previous.served_models:
        here = ", ".join(previous.served_models)
        warnings.append(f"{', '.join(others)} answered; at calibration {here}")
    if not asked.all():
        warnings.append(f"{text.count(int((~asked).sum()), 'anchor')} had no usable answer now")
    added = len(new.keys() - {*previous.anchors}) - previous.dropped.get(_UNUSABLE, 0)
    if added > 0:
        rows = text.count(added, "row")
        warnings.append(f"{rows} added since the first call: asked, but not compared")
    rounds = (*previous.rounds, done)
    return replace(previous, rounds=rounds, asking=None, warnings=tuple(warnings)), frame


def _check_same(
    previous: JudgeMonitor, judge: Judge, texts: Mapping[str, str], options: JudgeMonitorOptions
) -> None:
    """Refuse another judge by name, other anchors, and terms that changed since the first call."""
    other = "name another --state, and calibrate again"
    parts = differing_parts(previous.fingerprint_parts, judge.fingerprint_parts)
    if parts:
        remedy = f"its answers are of another judge, which differs in {', '.join(parts)}: {other}"
        raise ArgumentError("state", str(options.state), remedy)
    for name, content in zip(previous.anchors, previous.texts, strict=True):
        if texts.get(_id_of(name)) != content:
            problem = "is missing" if _id_of(name) not in texts else "has another text"
            remedy = f"anchor {name!r} {problem}: give the rows of the first call, or {other}"
            raise ArgumentError("rows", f"{len(texts)} rows", remedy)
    for name in ("delta", "passes"):
        if getattr(options, name) != getattr(previous, name):
            remedy = f"the state has {getattr(previous, name):g}: terms are chosen once"
            raise ArgumentError(name, getattr(options, name), remedy)


def _save(check: JudgeMonitor, place: Path, previous: JudgeMonitor | None) -> None:
    """Write the state, unless another check wrote it meanwhile."""
    with locking_folder(place.resolve().parent):
        now = read_result(place, JudgeMonitor) if place.exists() else None
        if now != previous:
            remedy = "another check wrote it meanwhile: run this one again"
            raise ArgumentError("state", str(place), remedy)
        write_result(check, place)


def _number_column(frame: pl.DataFrame) -> str:
    return next(name for name in _NUMBERS if name in frame.columns)


def _anchor_names(frame: pl.DataFrame) -> list[str | None]:
    """The name of each row: its id, with the criterion if each has its own score."""
    if "criterion" not in frame.columns:
        return frame["id"].to_list()
    criterion = as_text(frame["criterion"])
    named = pl.col("id") + (_CRITERION + criterion).fill_null("")
    return frame.select(named).to_series().to_list()


#: Between an id and its criterion.
_CRITERION = "\x1f"


def _id_of(name: str) -> str:
    return name.partition(_CRITERION)[0]


def _numbers_of(frame: pl.DataFrame, column: str) -> dict[str | None, float | None]:
    """The judge's number of each row that it answered."""
    measured = frame["status"].is_in([*MEASURED])
    numbers = frame[column].cast(pl.Float64)
    answered = frame.select(pl.when(measured).then(numbers)).to_series()
    return dict(zip(_anchor_names(frame), answered, strict=True))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# --- what it shows ---

_ASSUMED = (
    "while the judge is unchanged, its answers at calibration and now are exchangeable: each pass "
    "was asked by itself, with the same settings, and none was answered from a cache",
    "answers about different anchors are independent",
    "the anchors were not used to write the prompt or to learn from",
)
_NOT_PROMISED = (
    "that a judge without an alarm is unchanged: a change in few answers needs more anchors, more "
    "passes or more rounds to be noticed"
)


def _promise(check: JudgeMonitor) -> str:
    return (
        "while the judge is unchanged, the probability that any round ever raises an alarm is at "
        f"most {text.level(check.delta)}"
    )


def _headline(check: JudgeMonitor) -> Headline:
    anchors = text.count(len(check.anchors), "anchor")
    if not check.rounds:
        first = (
            f"{anchors} asked {check.passes} times: this is how {text.safe(check.judge)} answers"
        )
        return Headline(first, "Run the same command again, as often as you like, to check it.")
    last = check.rounds[-1]
    where = f"round {len(check.rounds)}"
    if check.alarm:
        at = next(n for n, each in enumerate(check.rounds, 1) if each.alarm_after is not None)
        rung = check.rounds[at - 1]
        alarm = f"ALARM: the judge changed (round {at}, after {rung.alarm_after:,} of {anchors})"
        action = (
            "Calibrate again on the same labels with its new answers (-o): adjudge monitor renew "
            "ANSWERS --policy POLICY --state STATE."
        )
        return Headline(alarm, action, tone="bad", decision=f"Stop accepting: {alarm}")
    compared = f"{last.n_compared:,} of {anchors} compared"
    if last.n_moved is not None:
        compared += f", {last.n_moved:,} with a new verdict"
    quiet = f"No sign that the judge changed: no alarm in {where}, {compared}"
    if check.changed == "stream":
        only = f"Only the audits raise an alarm, the anchors do not: {compared} in {where}"
        action = "Label new rows at random and calibrate on these; the old labels cannot help."
        return Headline(only, action, tone="bad", decision=f"Stop accepting: {only}")
    return Headline(quiet, decision=quiet)


def _who_changed(check: JudgeMonitor) -> list[str]:
    """One sentence about anchors and audits together."""
    if check.audit_delta is None or check.changed is None:
        return []
    sentences: Mapping[Changed, str] = {
        "none": "Neither the anchors nor the audits raise an alarm",
        "judge": "The judge changed; the audits of its accepted verdicts raise no alarm",
        "stream": "What the judge is asked changed, or the judge on rows unlike the anchors",
        "judge, perhaps the stream too": "Anchors and audits raise an alarm: the judge changed, "
        "and whether the stream changed too is not known. Calibrate again, start the audits "
        "again, and see whether they raise an alarm again",
    }
    both = min(check.delta + check.audit_delta, 1.0)
    sentence = sentences[check.changed]
    return [f"{sentence}. Either alarm is false with a probability of at most {text.level(both)}"]


def _rounds_table(check: JudgeMonitor) -> Table:
    return table_of(
        list(enumerate(check.rounds, 1)),
        {
            "round": lambda row: text.number(row[0]),
            "asked": lambda row: row[1].asked_at[:16].replace("T", " "),
            "compared": lambda row: text.number(row[1].n_compared),
            "new verdict": lambda row: text.number(row[1].n_moved),
            "e": lambda row: text.powers_of_ten(row[1].log10_e)[0],
            "largest e": lambda row: text.powers_of_ten(row[1].most_log10_e)[0],
            "alarm at e": lambda row: text.number(round(1 / row[1].delta)),
            "alarm": lambda row: "no" if row[1].alarm_after is None else "yes",
        },
        caption="Evidence e that the judge changed, by round (UTC)",
    )


def judge_monitor_figure(check: JudgeMonitor) -> Drawing:
    last = check.rounds[-1]
    with themed():
        figure = new_figure(7.6, 3.6)
        axes = figure.subplots()
        draw_evidence(axes, last.anchors, last.path, delta=last.delta, color=ACCENT)
        axes.set_xlabel("anchors compared, in the order of the lot")
        mark_alarm(axes, last.alarm_after)
        title = (
            "no sign that the judge changed" if last.alarm_after is None else "the judge changed"
        )
        set_suptitle(figure, f"Round {len(check.rounds)}: {title}")
    return figure
