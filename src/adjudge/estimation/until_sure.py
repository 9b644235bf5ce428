"""Ask people until it is known which system is better: a look after every label.

The result is about these questions, drawn in random order without replacement. The error is at most
alpha over all looks together, for any judge: a poor judge costs labels, not validity. The order of
drawing, and what was counted, is kept in the store: a run that was killed continues, and counts no
label twice.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from scipy.special import ndtr, stdtrit

from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.comparison import amount, unit_of
from adjudge.estimation.systems import Differences, Systems
from adjudge.present.blocks import Block, Fact, Facts, Figure, Headline, Table, explain, notes_of
from adjudge.present.figure import ACCENT, LINES, WARM, new_figure, themed
from adjudge.present.kinds import from_dict
from adjudge.present.result import Check, Count, Level, Positive, Result, frozen, same_length
from adjudge.present.text import clip, count, percent, powers_of_ten
from adjudge.statistics.betting import (
    FAVOURED,
    LABELS_A_ROUND,
    POCOCK,
    ROUNDS,
    decide,
    log_capital,
    smallest_decided,
)
from adjudge.statistics.differences import labelled_gap
from adjudge.store import StorePlace, store_name, use_store
from adjudge.store.interface import STATE_OF_COMPARISON, sha256_json
from adjudge.store.labels import GRADE_LABELS, PAIR_LABELS, LabelBook, score_labels
from adjudge.validation import FloatArray, positive

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: How many of the questions that come next are listed.
NEXT = 10
#: Evidence is shown up to this power of e; certainty has no larger number.
_MOST = 100.0


# --- the result ---


@dataclass(frozen=True, kw_only=True)
class NextQuestion:
    """A question to label: the ids of its two answers, or of its pair."""

    question: str
    ids: tuple[str, ...]


@frozen
class SequentialComparison(Result):
    """What is known after these labels, and the questions to label next.

    `up` and `down` are log evidence (base e) after each label that B, or A, is the better one by
    people; `needs_up` and `needs_down` what decides. `counted` are the questions in the order of
    drawing, `people` people's B - A on each (scores: as a share of the scale).
    """

    kind: ClassVar[str] = "comparison_until_sure"
    checks: ClassVar[tuple[Check, ...]] = (same_length("counted", "people", "up", "down"),)

    a: str
    b: str
    measure: str
    method: Literal["bets", "rounds"]
    confidence_level: Level
    equal_within: Positive | None = None
    questions: Count
    favoured: str | None
    decision: Literal["better", "worse", "equal"] | None
    decided_at: Count | None
    finished: bool
    estimate: float | None
    out_of_reach: float
    reach_labels: Count
    n_waiting: Count
    next: tuple[NextQuestion, ...]
    counted: tuple[str, ...]
    people: tuple[float, ...]
    up: tuple[float, ...]
    down: tuple[float, ...]
    needs_up: float
    needs_down: float
    scale: tuple[float, float] | None = None
    order_key: str
    started_with: tuple[str, ...]
    pool_digest: str

    @property
    def better(self) -> bool:
        """Whether B is shown to be better."""
        return self.decision == "better"

    @property
    def worse(self) -> bool:
        """Whether B is shown to be worse."""
        return self.decision == "worse"

    @property
    def no_number(self) -> bool:
        """An undecided comparison asks for more labels: that is not a bad finding."""
        return False

    def rows_to_label(self) -> pl.DataFrame:
        """The answers to label next, for `adjudge label --plan`."""
        rows = [(name, item.question, "random") for item in self.next for name in item.ids]
        schema = dict.fromkeys(("id", "question", "sampled_by"), pl.String)
        return pl.DataFrame(rows, schema=schema, orient="row")

    def view(self) -> list[Block]:
        return view_until_sure(self)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is fixed before the first label; `equal_within` is a share of the scale."""

    confidence_level: float
    method: Literal["bets", "rounds"]
    equal_within: float | None
    scale: tuple[float, float] | None
    max_labels: int | None
    seed: int


def check_terms(*, rounds: bool, equal_within: float | None, **fixed: Any) -> Terms:
    """The terms of a sequential comparison, checked."""
    if equal_within is not None:
        positive(equal_within, "equal_within")
        if rounds:
            raise ArgumentError("equal_within", equal_within, "is not for rounds: leave one out")
        equal_within = equal_within / _width(fixed["scale"])
    return Terms(method="rounds" if rounds else "bets", equal_within=equal_within, **fixed)


def _width(scale: tuple[float, float] | None) -> float:
    return 1.0 if scale is None else float(scale[1] - scale[0])


# --- labels in the store ---


def stored_labels(
    place: StorePlace, systems: Systems, scale: tuple[float, float] | None
) -> pl.DataFrame | None:
    """The labels of these answers that the labelling page kept in the store; None without any."""
    labels = PAIR_LABELS if systems.measure == "preferences" else GRADE_LABELS
    if systems.measure == "scores":
        low, high = scale or (1, 5)
        labels = score_labels(int(low), int(high))
    with use_store(place) as store:
        answers = LabelBook(store, labels).answers()
    known = set(systems.answers["id"].to_list())
    rows = [
        {"id": answer.id, "label": answer.label, "rater": answer.rater}
        for answer in answers
        if answer.label is not None and answer.id in known
    ]
    return pl.DataFrame(rows) if rows else None


# --- the process ---


def look(systems: Systems, a: str, b: str, terms: Terms, place: StorePlace) -> SequentialComparison:
    """Count the labels that have come in the order of drawing, decide, and keep the state."""
    gaps = systems.differences(a, b)
    if systems.paired_by is None or len(gaps.judge) < 2:
        remedy = "give both systems the same questions: one label is people's word on both"
        raise DataError(systems.source, "the systems share too few questions", remedy=remedy)
    scores = systems.measure == "scores"
    if scores and terms.scale is None:
        remedy = "bets need the ends of the scale: --scale 1-5 (scale=)"
        raise ArgumentError("scale", None, remedy)
    width = _width(terms.scale) if scores else 1.0
    judge, human = gaps.judge / width, gaps.human / width
    for name, values in (("judge", judge), ("human", human)):
        if np.nanmax(np.abs(values), initial=0.0) > 1 + 1e-9:
            raise ArgumentError("scale", terms.scale, f"a {name} score lies outside of it")
    name = f"{STATE_OF_COMPARISON}{a} {b} {sha256_json(sorted(gaps.questions))[:16]}"
    digest = sha256_json([a, b, dict(zip(gaps.questions, judge.round(9).tolist(), strict=True))])
    while True:
        with use_store(place) as store:
            before = store.monitors().get(name)
            previous = None if before is None else _parse(before, f"{store_name(place)}, {name}")
            if previous is not None:
                _check_same(previous, terms, digest)
            result = _continue(previous, gaps, systems, judge, human, terms, digest)
            # If another process looked meanwhile, continue from what that one counted.
            if store.replace_monitor(name, before, result.to_json(indent=None)):
                return result


def _parse(text: str, source: str) -> SequentialComparison:
    try:
        loaded = json.loads(text)
    except ValueError as error:
        remedy = "restore the store from a backup"
        raise DataError(source, f"is not JSON ({error})", remedy=remedy) from None
    return from_dict(loaded, SequentialComparison, source=source)


def _check_same(previous: SequentialComparison, terms: Terms, digest: str) -> None:
    """Rules that change between looks would undo the guarantee."""
    if previous.pool_digest != digest:
        remedy = "give the same rows as before, or start again with another --store"
        problem = "the judge's numbers differ from those of the first look"
        raise DataError("the rows", problem, remedy=remedy)
    for option in ("confidence_level", "method", "equal_within", "scale"):
        before, now = getattr(previous, option), getattr(terms, option)
        if before != now and not (option == "scale" and now is not None and tuple(now) == before):
            remedy = f"it was {before} at the first look and cannot change; or use another --store"
            raise ArgumentError(option, now, remedy)


def _continue(
    previous: SequentialComparison | None,
    gaps: Differences,
    systems: Systems,
    judge: FloatArray,
    human: FloatArray,
    terms: Terms,
    digest: str,
) -> SequentialComparison:
    questions, n = gaps.questions, len(judge)
    key = previous.order_key if previous else sha256_json(["compare", terms.seed])[:32]
    started: tuple[str, ...] = previous.started_with if previous else ()
    if previous is None and systems.drawn_at_random:
        started = tuple(q for q, h in zip(questions, human, strict=True) if not math.isnan(h))
    first = set(started)

    def draw(at: int) -> tuple[bool, bytes]:
        """Random and fixed by the key; labels drawn at random before the first look come first."""
        text = f"{key}\x1f{questions[at]}".encode("utf-8", "surrogatepass")
        return questions[at] not in first, hashlib.sha256(text).digest()

    order = sorted(range(n), key=draw)
    values = list(previous.people) if previous else []
    for at in order[len(values) :]:
        if math.isnan(human[at]):
            break
        values.append(float(human[at]))
    t = len(values)
    waiting = sum(not math.isnan(human[at]) for at in order[t:])
    people, drawn = np.array(values), judge[order]
    side = int(np.sign(judge.mean())) if abs(judge.mean()) > 1e-12 else 0
    state = _decide(people, drawn, side, terms, exact=systems.people_zero_one)
    labels = min(terms.max_labels or max(n // 2, 1), n)
    spread = float(np.std(people if t >= 30 else judge))
    to_label = [questions[at] for at in order[t : t + NEXT] if not state.finished]
    return SequentialComparison(
        a=gaps.a,
        b=gaps.b,
        measure=systems.measure,
        method=terms.method,
        confidence_level=terms.confidence_level,
        equal_within=terms.equal_within,
        questions=n,
        favoured={1: gaps.b, -1: gaps.a, 0: None}[side],
        decision=state.decision,
        decided_at=state.at,
        finished=state.finished,
        estimate=_estimate(people, drawn) if t else None,
        out_of_reach=smallest_decided(spread, n, labels, 1 - terms.confidence_level),
        reach_labels=labels,
        n_waiting=waiting,
        next=tuple(
            NextQuestion(question=question, ids=systems.answer_ids(question, (gaps.a, gaps.b)))
            for question in to_label
        ),
        counted=tuple(questions[at] for at in order[:t]),
        people=tuple(values),
        up=tuple(state.up.tolist()),
        down=tuple(state.down.tolist()),
        needs_up=state.needs[0],
        needs_down=state.needs[1],
        scale=terms.scale,
        order_key=key,
        started_with=started,
        pool_digest=digest,
    )


@dataclass(frozen=True)
class _State:
    decision: Literal["better", "worse", "equal"] | None
    at: int | None
    finished: bool
    up: FloatArray
    down: FloatArray
    needs: tuple[float, float]


def _decide(
    people: FloatArray, drawn: FloatArray, side: int, terms: Terms, *, exact: bool
) -> _State:
    """The first look at which it is decided; nothing is read after it."""
    alpha, t, n = 1 - terms.confidence_level, len(people), len(drawn)
    weight = {1: FAVOURED, -1: 1 - FAVOURED, 0: 0.5}[side]
    needs = (-math.log(weight * alpha), -math.log((1 - weight) * alpha))
    if t == 0:
        return _State(None, None, False, np.empty(0), np.empty(0), needs)
    if terms.method == "rounds":
        return _decide_in_rounds(people, drawn, exact=exact)
    h, j = people[None], drawn[None]
    done = decide(h, j, alpha=alpha, delta=terms.equal_within, favoured=side)
    at = int(done.label[0]) or None
    decision: Any = {1: "better", -1: "worse", 0: "equal"}[int(done.sign[0])] if at else None
    up, down = (np.clip(log_capital(sign * h, sign * j)[0], -_MOST, _MOST) for sign in (1, -1))
    return _State(decision, at, at is not None or t == n, up, down, needs)


def _decide_in_rounds(people: FloatArray, drawn: FloatArray, *, exact: bool) -> _State:
    """Eight looks of 50 labels by PPI++ with Pocock's constant, mapped to Student's t."""
    t, n = len(people), len(drawn)
    paths = np.zeros((2, t))
    for end in range(LABELS_A_ROUND, min(t, n, ROUNDS * LABELS_A_ROUND) + 1, LABELS_A_ROUND):
        known = np.concatenate([people[:end], np.full(n - end, np.nan)])
        gap = labelled_gap(known, drawn, zero_one=exact)
        paths[0, end - 1 :], paths[1, end - 1 :] = gap.statistic, -gap.statistic
        freedom = gap.freedom if math.isfinite(gap.freedom) else end - 2
        if abs(gap.statistic) > float(stdtrit(freedom, float(ndtr(POCOCK)))):
            decision: Any = "better" if gap.statistic > 0 else "worse"
            return _State(decision, end, True, paths[0], paths[1], (POCOCK, POCOCK))
    done = t >= min(n, ROUNDS * LABELS_A_ROUND)
    return _State(None, None, done, paths[0], paths[1], (POCOCK, POCOCK))


def _estimate(people: FloatArray, drawn: FloatArray) -> float:
    """People's mean so far, moved by the judge's on the rest."""
    known = np.concatenate([people, np.full(len(drawn) - len(people), np.nan)])
    if len(people) < 4 or len(people) == len(drawn):
        return float(people.mean())
    return labelled_gap(known, drawn, zero_one=False).estimate


# --- the view ---


def view_until_sure(result: SequentialComparison) -> list[Block]:
    """What is decided, the evidence so far, and the questions to label next."""
    write, unit = amount(result.measure), unit_of(result.measure)
    width = _width(result.scale)
    t = len(result.counted)
    facts = [Fact("labelled", f"{t:,} of {count(result.questions, 'question')}")]
    if result.estimate is not None:
        facts.append(Fact("people so far", f"{write(result.estimate * width)}{unit}", "B - A"))
    if t and result.method == "bets":
        for name, path, needs in (
            (result.b, result.up, result.needs_up),
            (result.a, result.down, result.needs_down),
        ):
            now, need = powers_of_ten(path[-1] / math.log(10), needs / math.log(10))
            facts.append(Fact(f"evidence for {clip(name)}", now, f"{need} decides"))
    notes = []
    if not result.finished:
        reach = f"{write(result.out_of_reach * width)}{unit}"
        labels = f"{count(result.reach_labels, 'label')} of {result.questions:,} questions"
        notes.append(f"with {labels}, a difference below about {reach} is out of reach")
    if result.n_waiting:
        labels = count(result.n_waiting, "label")
        notes.append(f"{labels} wait until the questions drawn before them are labelled")
    rows = [(item.question, ", ".join(item.ids)) for item in result.next]
    alpha = percent(1 - result.confidence_level)
    level_of = f"the chance of a wrong decision is {alpha} or less over all looks, for any judge"
    if result.method == "rounds":
        level_of = f"the chance of a wrong decision is about {alpha} over all rounds: measured"
    assumed = (
        "it is about these questions, drawn at random without replacement",
        level_of,
        "labels count in the order of drawing; one that is missing blocks those after it",
    )
    return [
        _headline(result),
        Facts(facts),
        *notes_of(notes),
        *([Table(("question", "ids"), rows, "Label next, in this order", 2)] if rows else []),
        *explain(assumed),
        Figure("evidence", partial(evidence_figure, result), "Evidence after each label."),
    ]


def _headline(result: SequentialComparison) -> Headline:
    t, a, b = len(result.counted), result.a, result.b
    after = f"decided after {count(result.decided_at or 0, 'labelled question')}"
    if result.decision == "equal":
        size = (result.equal_within or 0.0) * _width(result.scale)
        within = amount(result.measure)(size) + unit_of(result.measure)
        return Headline(f"{b} and {a} are equal within {within} by people, {after}")
    if result.decision is not None:
        first, second = (b, a) if result.better else (a, b)
        verb, than = ("rate", "higher than")
        if result.measure == "preferences":
            verb, than = ("prefer", "over")
        text = f"People {verb} {first} {than} {second}, {after}"
        return Headline(text, "No more labels are needed.", "good" if result.better else "bad")
    if result.finished:
        return Headline(f"Not decided: {b} and {a} are not separated by {t:,} labels")
    text = f"Which of {b} and {a} is better by people is not known yet"
    labels = f"Label the next {count(len(result.next), 'question')}, then run this command again."
    return Headline(f"Not decided after {t:,} labels" if t else text, labels)


def evidence_figure(result: SequentialComparison) -> Drawing:
    """The evidence for each system after each label, and what decides."""
    if not result.counted:
        raise ArgumentError("plot", "no label", "label some questions first")
    looks = np.arange(1, len(result.up) + 1)
    with themed():
        figure = new_figure(7.2, 4.0)
        axes = figure.subplots()
        for path, needs, name, colour, style in (
            (result.up, result.needs_up, result.b, ACCENT, LINES[0]),
            (result.down, result.needs_down, result.a, WARM, LINES[1]),
        ):
            axes.plot(looks, path, color=colour, linestyle=style, label=f"{clip(name)} is better")
            axes.axhline(needs, color=colour, linestyle=":", linewidth=1.2)
        axes.set_xlabel("labelled questions")
        what = "log evidence" if result.method == "bets" else "statistic"
        axes.set_ylabel(f"{what}; dotted: decides")
        axes.legend(fontsize=8.5)
        axes.set_title(_headline(result).text)
    return figure
