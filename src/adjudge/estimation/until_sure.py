"""Ask people until it is known which system is better: a look after every label.

The result is about these N questions, drawn in random order without replacement: theta is the mean
of h, people's difference on a question, in [-1, 1], and j is the judge's. A bettor who stakes on
theta > theta_0 can multiply a capital by more than 1/alpha with probability at most alpha if
theta <= theta_0, at any time and for any judge (Ville; Waudby-Smith and Ramdas 2024 for bets
without replacement): a poor judge costs labels, not validity. The order of drawing, and what was
counted, is in the store: a run that was killed continues, and counts no label twice.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl
from scipy.special import ndtr, stdtrit

from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.comparison import amount
from adjudge.estimation.systems import Systems
from adjudge.present.blocks import Block, Fact, Facts, Headline, Table, Tone, explain, notes_of
from adjudge.present.kinds import from_dict
from adjudge.present.result import Check, Count, Level, Positive, Result, frozen, same_length
from adjudge.present.text import clip, count, percent, powers_of_ten
from adjudge.statistics.differences import FEWEST, labelled_gap
from adjudge.store import StorePlace, store_name, use_store
from adjudge.store.interface import STATE_OF_COMPARISON, sha256_json
from adjudge.store.labels import GRADE_LABELS, PAIR_LABELS, LabelBook, score_labels
from adjudge.validation import BoolArray, FloatArray, IntArray, positive

#: The shares of the capital that are staked; the capital is the mean over them.
BETS = (0.03, 0.06, 0.12, 0.25, 0.5, 0.75, 0.9)
#: No bet loses more than this share.
_MOST_LOST = 0.95
#: Of the error level: to the direction that the judge favours, and to the other.
FAVOURED = 0.8
#: Rounds of labels with a look after each (Pocock): how many, of how many labels, and the constant.
ROUNDS, LABELS_A_ROUND, POCOCK = 8, 50, 2.512
#: How many of the questions that come next are listed.
NEXT = 10
#: Evidence is shown up to this power of e; certainty has no larger number.
_MOST = 100.0
#: With fewer labels the estimate is their mean, not moved by the judge's.
_FEWEST_CORRECTED = 4


@dataclass(frozen=True, kw_only=True)
class NextQuestion:
    """A question to label: the ids of its two answers, or of its pair."""

    question: str
    ids: tuple[str, ...]


@frozen
class SequentialComparison(Result):
    """What is known after these labels, and the questions to label next.

    `evidence` is the log evidence (base e) that B, and that A, is the better one by people, in
    rounds the statistic; `needs` what of each decides. `counted` are the questions in the order of
    drawing, `people` people's B - A on each (scores: as a share of the scale).
    """

    kind: ClassVar[str] = "comparison_until_sure"
    checks: ClassVar[tuple[Check, ...]] = (same_length("counted", "people"),)

    a: str
    b: str
    measure: str
    method: Literal["bets", "rounds"]
    confidence_level: Level
    equal_within: Positive | None = None
    questions: Count
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
    evidence: tuple[float, float]
    needs: tuple[float, float]
    scale: tuple[float, float] | None = None
    order_key: str = ""
    started_with: tuple[str, ...] = ()
    pool_digest: str = ""

    @property
    def better(self) -> bool:
        """Whether B is shown to be better."""
        return self.decision == "better"

    @property
    def worse(self) -> bool:
        """Whether B is shown to be worse."""
        return self.decision == "worse"

    def size(self, share: float | None) -> str:
        """A share of the scale as a difference with its unit."""
        low, high = self.scale or (0.0, 1.0)
        return amount((share or 0.0) * (high - low), self.measure, unit=True)

    @property
    def reach(self) -> str:
        """What is out of reach, as a sentence."""
        labels = f"{count(self.reach_labels, 'label')} of {self.questions:,} questions"
        size = self.size(self.out_of_reach)
        return f"with {labels}, a difference below about {size} is out of reach"

    def rows_to_label(self) -> pl.DataFrame:
        """The answers to label next, for `adjudge label --plan`."""
        rows = [(name, item.question, "random") for item in self.next for name in item.ids]
        schema = dict.fromkeys(("id", "question", "sampled_by"), pl.String)
        return pl.DataFrame(rows, schema=schema, orient="row")

    def view(self) -> list[Block]:
        """What is decided, the evidence so far, and the questions to label next."""
        t, a, b = len(self.counted), self.a, self.b
        facts = [Fact("labelled", f"{t:,} of {count(self.questions, 'question')}")]
        if self.estimate is not None:
            facts.append(Fact("people so far", self.size(self.estimate), "B - A"))
        if t and self.method == "bets":
            for name, evidence, needs in zip((b, a), self.evidence, self.needs, strict=True):
                now, need = powers_of_ten(evidence / math.log(10), needs / math.log(10))
                facts.append(Fact(f"evidence for {clip(name)}", now, f"{need} decides"))
        notes = [] if self.finished else [self.reach]
        if self.n_waiting:
            labels = count(self.n_waiting, "label")
            notes.append(f"{labels} wait until the questions drawn before them are labelled")
        rows = [(item.question, ", ".join(item.ids)) for item in self.next]
        alpha = percent(1 - self.confidence_level)
        chance = f"{alpha} or less over all looks, for any judge"
        if self.method == "rounds":
            chance = f"about {alpha} over all rounds: measured"
        assumed = (
            "it is about these questions, drawn at random without replacement",
            f"the chance of a wrong decision is {chance}",
            "labels count in the order of drawing; one that is missing blocks those after it",
        )
        return [
            _headline(self),
            Facts(facts),
            *notes_of(notes),
            *([Table(("question", "ids"), rows, "Label next, in this order", 2)] if rows else []),
            *explain(assumed),
        ]


def stored_labels(
    place: StorePlace, systems: Systems, scale: tuple[int, int] | None, positive: str | None
) -> list[dict[str, Any]]:
    """The labels of these answers in the store; of words, a pass is the `positive` one."""
    scores = score_labels(*(scale or (1, 5)))
    labels = {"preferences": PAIR_LABELS, "scores": scores}.get(systems.measure, GRADE_LABELS)
    with use_store(place) as store:
        answers = LabelBook(store, labels).answers()
    ids, words = {*systems.answers["id"].to_list()}, {"pass": positive or "pass"}
    return [
        {"id": a.subject_id, "label": words.get(a.label, a.label), "rater": a.rater}
        for a in answers
        if a.label is not None and a.subject_id in ids
    ]


# --- the process ---


def look(
    table: Systems,
    place: StorePlace,
    *,
    level: float,
    scale: tuple[int, int] | None,
    seed: int,
    rounds: bool,
    equal_within: float | None,
) -> SequentialComparison:
    """Count the labels that have come in the order of drawing, decide, and keep the state."""
    if table.paired_by is None or len(table.judge) < 2:
        remedy = "give both systems the same questions: one label is people's word on both"
        raise DataError(table.source, "the systems share too few questions", remedy=remedy)
    if (table.measure == "scores") is (scale is None):
        remedy = "bets need the ends of the scale: --scale 1-5 (scale=)"
        raise ArgumentError("scale", scale, remedy if scale is None else "is for scores alone")
    low, high = scale or (0, 1)
    for whose, values in (("judge", table.judge), ("human", table.human)):
        if not (np.isnan(values) | (values >= low) & (values <= high)).all():
            raise ArgumentError("scale", scale, f"a {whose} score lies outside of it")
    if equal_within is not None:
        positive(equal_within, "equal_within")
        if rounds:
            raise ArgumentError("equal_within", equal_within, "is not for rounds: leave one out")
        equal_within = equal_within / (high - low)
    judge, human = ((x[:, 1] - x[:, 0]) / (high - low) for x in (table.judge, table.human))
    rules = {
        "confidence_level": level,
        "method": "rounds" if rounds else "bets",
        "equal_within": equal_within,
        "scale": scale,
    }
    numbers = dict(zip(table.questions, judge.round(9).tolist(), strict=True))
    name = f"{STATE_OF_COMPARISON}{' '.join(table.names)} {sha256_json(sorted(numbers))[:16]}"
    known = table.drawn_at_random & ~np.isnan(human)
    state = {
        "order_key": sha256_json(["compare", seed])[:32],
        "started_with": tuple(q for q, has in zip(table.questions, known, strict=True) if has),
        "pool_digest": sha256_json([*table.names, numbers]),
    }
    while True:
        with use_store(place) as store:
            people = tuple[float, ...]()
            if (stored := store.monitors().get(name)) is not None:
                before = _read_state(stored, f"{store_name(place)}, {name}", rules, state)
                state, people = {field: getattr(before, field) for field in state}, before.people
            result = _count(table, judge, human, people, {**rules, **state})
            # If another process looked meanwhile, continue from what that one counted.
            if store.replace_monitor(name, stored, result.to_json(indent=None)):
                return result


def _read_state(
    text: str, source: str, rules: Mapping[str, Any], state: Mapping[str, Any]
) -> SequentialComparison:
    """The last look. Rules that change between looks would undo the guarantee."""
    try:
        before = from_dict(json.loads(text), SequentialComparison, source=source)
    except ValueError as error:
        remedy = "restore the store from a backup"
        raise DataError(source, f"is not JSON ({error})", remedy=remedy) from None
    if before.pool_digest != state["pool_digest"]:
        remedy = "give the same rows as before, or start again with another --store"
        problem = "the judge's numbers differ from those of the first look"
        raise DataError("the rows", problem, remedy=remedy)
    for option, now in rules.items():
        if (then := getattr(before, option)) != now:
            remedy = f"it was {then} at the first look and cannot change; or use another --store"
            raise ArgumentError(option, now, remedy)
    return before


def _draw(questions: Sequence[str], rules: Mapping[str, Any]) -> list[int]:
    """A random order fixed by the key; labels drawn at random before the first look come first."""
    first = {*rules["started_with"]}

    def place(at: int) -> tuple[bool, bytes]:
        text = f"{rules['order_key']}\x1f{questions[at]}".encode("utf-8", "surrogatepass")
        return questions[at] not in first, hashlib.sha256(text).digest()

    return sorted(range(len(questions)), key=place)


def _count(
    table: Systems,
    judge: FloatArray,
    human: FloatArray,
    people: tuple[float, ...],
    rules: Mapping[str, Any],
) -> SequentialComparison:
    """Count the labels up to the first that is missing, in the order of drawing, and decide."""
    order = _draw(table.questions, rules)
    judge, human, questions = judge[order], human[order], [table.questions[at] for at in order]
    n, counted, alpha = len(judge), len(people), 1 - rules["confidence_level"]
    missing = np.flatnonzero(np.isnan(human[counted:]))
    t = counted + int(missing[0]) if len(missing) else n
    drawn = np.concatenate([people, human[counted:t]])
    labels = np.concatenate([drawn, np.full(n - t, np.nan)])
    if rules["method"] == "rounds":
        last = min(n, ROUNDS * LABELS_A_ROUND)
        sign, at, now = _decide_in_rounds(labels, judge, min(t, last), exact=table.people_zero_one)
        evidence, needs = (now, -now), (POCOCK, POCOCK)
    else:
        done = decide(drawn[None], judge[None], alpha=alpha, delta=rules["equal_within"])
        sign, at, last = int(done.sign[0]), int(done.label[0]), n
        up, down = (np.clip([0.0, *path[0]], -_MOST, _MOST).tolist() for path in done.capitals)
        evidence = up[-1], down[-1]
        needs = float(done.needs[0][0]), float(done.needs[1][0])
    estimate = float(drawn.mean()) if t else None
    if _FEWEST_CORRECTED <= t < n:
        estimate = labelled_gap(labels, judge, zero_one=False).estimate
    decisions: Mapping[int, Any] = {1: "better", -1: "worse", 0: "equal"}
    finished, reach_labels = at > 0 or t >= last, max(n // 2, 1)
    spread = float(np.std(drawn if t >= FEWEST else judge))
    following = [] if finished else questions[t : t + NEXT]
    return SequentialComparison(
        a=table.names[0],
        b=table.names[1],
        measure=table.measure,
        questions=n,
        decision=decisions[sign] if at else None,
        decided_at=at or None,
        finished=finished,
        estimate=estimate,
        out_of_reach=smallest_decided(spread, n, reach_labels, alpha),
        reach_labels=reach_labels,
        n_waiting=int((~np.isnan(human[t:])).sum()),
        next=tuple(NextQuestion(question=q, ids=table.answer_ids(q)) for q in following),
        counted=tuple(questions[:t]),
        people=tuple(drawn.tolist()),
        evidence=evidence,
        needs=needs,
        **rules,
    )


def _decide_in_rounds(
    labels: FloatArray, judge: FloatArray, last: int, *, exact: bool
) -> tuple[int, int, float]:
    """Eight looks of 50 labels by PPI++ with Pocock's constant, mapped to Student's t.

    The sign, the label that decided (0: none) and the last statistic.
    """
    statistic = 0.0
    for end in range(LABELS_A_ROUND, last + 1, LABELS_A_ROUND):
        looked = np.where(np.arange(len(judge)) < end, labels, np.nan)
        gap = labelled_gap(looked, judge, zero_one=exact)
        statistic = gap.statistic
        freedom = gap.freedom if math.isfinite(gap.freedom) else end - 2
        if abs(statistic) > float(stdtrit(freedom, float(ndtr(POCOCK)))):
            return 1 if statistic > 0 else -1, end, statistic
    return 0, 0, statistic


# --- the bets ---


def log_capital(people: FloatArray, judge: FloatArray, null: float = 0.0) -> FloatArray:
    """Log capital of the bets on theta > `null` after each label, for rows of draws (runs, N).

    `judge` has all N questions in the order of drawing, `people` the first t of them. J_t is the
    mean of j over what remains before draw t, S the sum of past h,
    m_t = (N theta_0 - S)/(N - t + 1), lambda_t = clip((sum h (j - J) + 5 v)/(sum (j - J)^2 + 10 v))
    to [0, 1] from past draws (v = var j), x_t = h - lambda_t (j - J_t) - m_t. Each bet b multiplies
    its capital by 1 + min(b, .95/(m_t + 1 + lambda_t (1 - J_t))) x_t. If m_t < -1, theta > theta_0
    is certain: the capital is infinite. If m_t > 1, theta < theta_0 is certain: nothing is staked.

    >>> sure = log_capital(np.ones((1, 20)), np.zeros((1, 40)))[0]
    >>> bool((np.diff(sure[:20]) > 0).all()), math.exp(sure[-1]) > 1000
    (True, True)
    """
    t, n = people.shape[1], judge.shape[1]
    left = n - np.arange(t)
    drawn = judge[:, :t]
    remaining = (judge.sum(axis=1, keepdims=True) - _before(drawn)) / left
    needed = (n * null - _before(people)) / left
    spread = judge.var(axis=1, keepdims=True)
    off = drawn - remaining
    below = _before(off**2) + 10 * spread
    together = _before(people * off) + 5 * spread
    slope = np.divide(together, below, out=np.zeros_like(off), where=below > 0)
    slope = np.clip(slope, 0.0, 1.0)
    gain = people - slope * off - needed
    worst = needed + 1 + slope * (1 - remaining)
    most = np.divide(_MOST_LOST, worst, out=np.full_like(worst, np.inf), where=worst > 1e-12)
    playing = (needed >= -1) & (needed <= 1)
    capitals = np.empty((len(BETS), *gain.shape))
    for at, bet in enumerate(BETS):
        stake = np.where(playing, np.minimum(bet, most), 0.0)
        capitals[at] = np.cumsum(np.log1p(np.maximum(stake * gain, -1 + 1e-12)), axis=1)
    top = capitals.max(axis=0)
    mixed = top + np.log(np.exp(capitals - top).mean(axis=0))
    # m_t is known before label t, but only after the sums that make it certain.
    certain = np.maximum.accumulate(needed < -1 - 1e-12, axis=1)
    finished = np.zeros_like(certain)
    if t == n:
        finished[:, -1] = people.mean(axis=1) > null + 1e-12
    return np.where(certain | finished, np.inf, mixed)


def _before(values: FloatArray) -> FloatArray:
    """Sums over all earlier draws."""
    return np.pad(np.cumsum(values, axis=1)[:, :-1], ((0, 0), (int(values.shape[1] > 0), 0)))


class Decisions(NamedTuple):
    """For each run the first label at which it was decided (0: not), and what was decided.

    `sign`: 1 if theta > 0, -1 if theta < 0, 0 if equal within delta; undecided runs have 0 too.
    `capitals` are the log capitals up and down after each label, `needs` what of each decides.
    """

    label: IntArray
    sign: IntArray
    equal: BoolArray
    capitals: Sequence[FloatArray]
    needs: Sequence[FloatArray]


def decide(
    people: FloatArray, judge: FloatArray, *, alpha: float = 0.05, delta: float | None = None
) -> Decisions:
    """When the bets decide: above 0, below 0, or within [-delta, delta].

    Above 0 needs a capital of 1/(.8 alpha) if the judge's mean is above 0, else 1/(.2 alpha); below
    0 is its mirror (.5 and .5 if the judge's mean is 0). Equal within delta needs 1/alpha of both
    bets: above -delta and below +delta. The error is at most alpha for any judge.
    """
    means = judge.mean(axis=1)
    weight = np.where(means > 1e-12, FAVOURED, np.where(means < -1e-12, 1 - FAVOURED, 0.5))
    needs = -np.log(weight * alpha), -np.log((1 - weight) * alpha)
    sides = (people, judge), (-people, -judge)
    capitals = [log_capital(*side) for side in sides]
    # A column before the first label, in which nothing is decided.
    before = ((0, 0), (1, 0))
    up, down = (np.pad(c >= need[:, None], before) for c, need in zip(capitals, needs, strict=True))
    equal = np.zeros_like(up)
    if delta is not None:
        bets = [log_capital(*side, -delta) >= -math.log(alpha) for side in sides]
        above, below = (np.maximum.accumulate(bet, axis=1) for bet in bets)
        equal = np.pad(above & below, before)
    label = (up | down | equal).argmax(axis=1)
    first = np.arange(len(label)), label
    sign = np.where(up[first], 1, np.where(down[first], -1, 0))
    return Decisions(label, sign, equal[first] & (sign == 0), capitals, needs)


def smallest_decided(spread: float, questions: int, labels: int, alpha: float = 0.05) -> float:
    """About the smallest mean difference that this many labels of N decide in half of runs.

    The capital grows by g^2/(2 s^2) per label, drawn without replacement:
    t0 = 2 s^2 log(7/(.8 alpha))/g^2, labels = t0/(1 + t0/N).

    >>> round(smallest_decided(0.45, 1000, 600), 3), smallest_decided(0.45, 600, 600)
    (0.037, 0.0)
    """
    if labels >= questions:
        return 0.0
    effective = labels / (1 - labels / questions)
    return spread * math.sqrt(2 * math.log(len(BETS) / (FAVOURED * alpha)) / effective)


# --- the view ---


def _headline(result: SequentialComparison) -> Headline:
    t, a, b = len(result.counted), result.a, result.b
    if result.decision is None:
        if result.finished:
            text = f"Not decided: {b} and {a} are not separated by {t:,} labels"
            return Headline(text, decision=text)
        text = f"Which of {b} and {a} is better by people is not known yet"
        questions = count(len(result.next), "question")
        labels = f"Label the next {questions}, then run this command again"
        shown = f"Not decided after {t:,} labels" if t else text
        return Headline(shown, f"{labels}.", decision=f"{text}: {t:,} labels")
    first, second = (a, b) if result.worse else (b, a)
    text = f"People rate {first} higher than {second}"
    if result.measure == "preferences":
        text = f"People prefer {first} over {second}"
    if result.decision == "equal":
        text = f"{b} and {a} are equal within {result.size(result.equal_within)} by people"
    after = f"decided after {count(result.decided_at or 0, 'labelled question')}"
    tone: Tone = "good" if result.better else "bad" if result.worse else "plain"
    return Headline(f"{text}, {after}", "No more labels are needed.", tone, text)
