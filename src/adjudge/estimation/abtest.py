"""An A/B test: ask people until it is known which system is better, with a look after every label.

The result is about these questions, drawn in random order without replacement; bets on people's
difference decide (`bets`). The order of drawing, and what was counted, is in the store: a run that
was killed continues, and counts no label twice.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
import polars as pl
from scipy.special import ndtr, stdtrit

from adjudge.data.rows import merge_dropped
from adjudge.data.shown import OTHER_TEXT, hashes_in
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.bets import decide, smallest_decided
from adjudge.estimation.comparison import amount
from adjudge.estimation.systems import (
    HALF_LABELLED,
    ReadingAnswers,
    Systems,
    blind_ids,
    read_systems,
)
from adjudge.hashing import sha256_json
from adjudge.present.blocks import Block, Fact, Facts, Headline, Tone, explain, notes_of
from adjudge.present.kinds import from_dict
from adjudge.present.result import Check, Count, Level, Positive, Result, frozen, same_length
from adjudge.present.text import clip, count, left_out, percent, powers_of_ten
from adjudge.statistics.differences import FEWEST, labelled_gap
from adjudge.store import StorePlace, store_name, use_store
from adjudge.store.interface import STATE_OF_COMPARISON
from adjudge.store.labels import GRADE_LABELS, PAIR_LABELS, LabelBook, score_labels
from adjudge.validation import FloatArray, open_unit, positive

#: Rounds of labels with a look after each (Pocock): how many, of how many labels, and the constant.
ROUNDS, LABELS_A_ROUND, POCOCK = 8, 50, 2.512
#: How many of the questions that come next are listed.
NEXT = 10
#: Evidence is shown up to this power of e; certainty has no larger number.
_MOST = 100.0
#: The kind of the state when `compare` asked people; such a test continues.
_FORMER_KIND = "comparison_until_sure"
_CHANGED = "question whose labels changed after they were counted: the first ones count"
#: With fewer labels the estimate is their mean, not moved by the judge's.
_FEWEST_CORRECTED = 4


@dataclass(frozen=True, kw_only=True)
class NextQuestion:
    """A question to label: the ids of its two answers, or of its pair."""

    question: str
    ids: tuple[str, ...]


@frozen
class ABTest(Result):
    """What is known after these labels, and the questions to label next.

    `evidence` is the log evidence (base e) that B, and that A, is the better one by people, in
    rounds the statistic; `needs` what of each decides. `counted` are the questions in the order of
    drawing, `people` people's B - A on each (scores: as a share of the scale).
    """

    kind: ClassVar[str] = "abtest"
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
    dropped: Mapping[str, Count] = field(default_factory=dict)

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
        if self.next:
            questions = ", ".join(clip(item.question) for item in self.next)
            notes.append(f"label next, in this order: {questions}")
        notes += left_out(self.dropped)
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
            *explain(assumed),
        ]


# --- the test ---


def abtest(
    data: TableLike,
    other: TableLike | None = None,
    *,
    a: str | None = None,
    b: str | None = None,
    rounds: bool = False,
    equal_within: float | None = None,
    scale: tuple[int, int] | None = None,
    labels_are_random: bool = False,
    store: StorePlace = "adjudge.db",
    confidence_level: float = 0.95,
    seed: int = 0,
    ask: Callable[[Experiment], object] | None = None,
    **reading: Unpack[ReadingAnswers],
) -> ABTest:
    """Ask people until it is known whether system B is better than system A.

    Questions are drawn in random order, with a look after every label; each call is a look. The
    chance of a wrong decision is bounded over all looks together, for any judge. Labels are those
    of the store, which `adjudge label` and its page write, or those of `labels`. The state is in
    the store too: the same call continues.

    Args:
        data: Rows of the systems, as grades, probabilities, scores or judgments of pairs. A path, a
            frame or a log. A second file can have the other system.
        other: The second system's file, if each system has its own. Rows are paired by id, or by
            prompt; a run is named by its model, or by its file.
        a: The system to compare with.
        b: The system that is compared; differences are B - A.
        rounds: A look after every 50 labels only, at most 8 times; approximate.
        equal_within: Also stop if the systems are equal within this difference.
        scale: Lowest and highest score, if there are scores.
        labels_are_random: Labels at hand are a random sample of these questions, and count first;
            without it a label counts when its question is drawn. It matters at the first look.
        store: Store of the state and of labels, a file or postgresql://...
        confidence_level: 1 minus the chance of a wrong decision.
        seed: Seed of the order in which questions are drawn.
        ask: Asks people, if it is not known yet: called with the open experiment, before the last
            look.
        **reading: Columns, labels and the words in them: see `ReadingAnswers` and
            `adjudge.data.Reading`.

    >>> from tempfile import mkdtemp
    >>> rows = {"id": [f"{system}-{q}" for system in ("old", "new") for q in range(60)],
    ...         "prompt_id": [*range(60)] * 2, "model": ["old"] * 60 + ["new"] * 60,
    ...         "judge": [1, 0] * 30 + [1, 1, 1, 0] * 15}
    >>> place = f"{mkdtemp()}/people.db"
    >>> result = abtest(rows, a="old", b="new", store=place)
    >>> result.decision, len(result.next)
    (None, 10)
    >>> people = {"id": rows["id"], "label": [0] * 60 + [1] * 60}
    >>> abtest(rows, a="old", b="new", store=place, labels=people).decision
    'better'
    """
    level = open_unit(confidence_level, "confidence_level")
    if not isinstance(seed, int):
        raise ArgumentError("seed", seed, "give a whole number: a later look repeats the draw")
    systems = read_systems(data, other, a=a, b=b, cluster="none", **reading)[None]
    names = systems.choose(a, b)
    table = systems.among(names)
    if table.paired_by is None or len(table.judge) < 2:
        remedy = "give both systems the same questions: one label is people's word on both"
        raise DataError(table.source, "the systems share too few questions", remedy=remedy)
    rules = Rules.of(table, level, rounds=rounds, equal_within=equal_within, scale=scale)
    experiment = Experiment(
        systems=systems,
        names=names,
        rules=rules,
        start=Start.of(table, rules, seed, labels_first=labels_are_random),
        store=store,
        state=f"{STATE_OF_COMPARISON}{' '.join(names)} {sha256_json(sorted(table.questions))[:16]}",
        by_file=reading.get("labels") is not None,
    )
    result = experiment.look()
    if ask is None or result.finished:
        return result
    ask(experiment)
    return experiment.look()


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What is chosen once: another choice at a later look would undo the guarantee."""

    confidence_level: float
    method: Literal["bets", "rounds"]
    #: As a share of the scale.
    equal_within: float | None
    scale: tuple[int, int] | None

    @classmethod
    def of(
        cls,
        systems: Systems,
        level: float,
        *,
        rounds: bool,
        equal_within: float | None,
        scale: tuple[int, int] | None,
    ) -> Rules:
        """The rules, checked on the rows: bets need the ends of the scale."""
        if (systems.measure == "scores") is (scale is None):
            remedy = "bets need the ends of the scale: --scale 1-5 (scale=)"
            raise ArgumentError("scale", scale, remedy if scale is None else "is for scores alone")
        low, high = scale or (0, 1)
        for whose, values in (("judge", systems.judge), ("human", systems.human)):
            if not (np.isnan(values) | (values >= low) & (values <= high)).all():
                raise ArgumentError("scale", scale, f"a {whose} score lies outside of it")
        if equal_within is not None:
            positive(equal_within, "equal_within")
            if rounds:
                remedy = "is not for rounds: leave one out"
                raise ArgumentError("equal_within", equal_within, remedy)
            equal_within = equal_within / (high - low)
        return cls(
            confidence_level=level,
            method="rounds" if rounds else "bets",
            equal_within=equal_within,
            scale=scale,
        )


@dataclass(frozen=True, kw_only=True)
class Start:
    """What the first look fixes: the order of drawing, and the judge's numbers."""

    order_key: str
    #: Questions whose labels are a random sample of the pool, as the user says; they come first.
    started_with: tuple[str, ...]
    pool_digest: str

    @classmethod
    def of(cls, table: Systems, rules: Rules, seed: int, *, labels_first: bool) -> Start:
        """The start of a test of two systems."""
        judge = _differences(table.judge, rules)
        numbers = dict(zip(table.questions, judge.round(9).tolist(), strict=True))
        labelled = labels_first & ~np.isnan(_differences(table.human, rules))
        rows = table.texts()
        shown = [] if rows is None else [_words_of(hashes) for hashes in hashes_in(rows.sort("id"))]
        return cls(
            order_key=sha256_json(["compare", seed])[:32],
            started_with=tuple(table.questions[at] for at in np.flatnonzero(labelled)),
            pool_digest=sha256_json([*table.names, numbers, *shown]),
        )

    @classmethod
    def stored(cls, before: ABTest) -> Start:
        """The start that an earlier look kept."""
        return cls(
            order_key=before.order_key,
            started_with=before.started_with,
            pool_digest=before.pool_digest,
        )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Two systems whose rows were read once. Each look counts the labels that came since."""

    systems: Systems
    names: tuple[str, str]
    rules: Rules
    start: Start
    #: The store of the state and of the labels of the page, and the name of the state there.
    store: StorePlace
    state: str
    #: Labels came with a file: those of the store do not count.
    by_file: bool

    def texts(self) -> pl.DataFrame | None:
        """The answers, or pairs, to label; None if the rows have no texts, or no ids."""
        return self.systems.texts()

    def rows_to_label(self) -> pl.DataFrame:
        """What to label next, with its texts; neither an id nor the order names a system."""
        rows = self.look().rows_to_label()
        if (texts := self.texts()) is not None:
            rows = rows.join(texts, "id", maintain_order="left")
        if self.systems.measure == "preferences":
            return rows
        return rows.with_columns(id=pl.Series(blind_ids(rows["id"]), dtype=pl.String))

    def look(self) -> ABTest:
        """Count the labels that have come, in the order of drawing; decide; keep the state."""
        systems = self.systems
        if not self.by_file:
            labels, dropped = self._labels_of_the_page()
            systems = systems.with_labels(labels)
            systems = replace(systems, dropped=merge_dropped(systems.dropped, dropped))
        table = systems.among(self.names)
        # Of a question whose answers are labelled one after the other, one is labelled first.
        alone = {why: n for why, n in table.dropped.items() if why != HALF_LABELLED}
        table = replace(table, dropped=merge_dropped(systems.dropped, alone))
        judge = _differences(table.judge, self.rules)
        human = _differences(table.human, self.rules)
        while True:
            with use_store(self.store) as store:
                states = store.monitors()
                stored = states.get(self.state)
                if stored is None:
                    self._refuse_another_pool(states, table.questions)
                before = None if stored is None else self._read(stored)
                start = self.start if before is None else Start.stored(before)
                people = () if before is None else before.people
                result = _count(table, judge, human, people, self.rules, start)
                # If another process looked meanwhile, continue from what that one counted.
                if store.replace_monitor(self.state, stored, result.to_json(indent=None)):
                    return result

    def _labels_of_the_page(self) -> tuple[dict[str, str], dict[str, int]]:
        """The label of each answer in the store by most raters; none if two are as frequent.

        And the labels that are of other texts with these ids, by reason.
        """
        kinds = {"preferences": PAIR_LABELS, "scores": score_labels(*(self.rules.scale or (0, 1)))}
        labels = kinds.get(self.systems.measure, GRADE_LABELS)
        votes = defaultdict[str, Counter[str]](Counter)
        ids = self.systems.answers["id"]
        real = dict(zip(blind_ids(ids), ids, strict=True))
        rows = self.texts()
        texts = {} if rows is None else dict(zip(rows["id"], hashes_in(rows), strict=True))
        texts |= {blind: texts[name] for blind, name in real.items() if name in texts}
        with use_store(self.store) as store:
            book = LabelBook(store, labels, texts)
            dropped = {OTHER_TEXT: book.compare()["other"]}
            for answer in book.answers():
                if answer.label is not None:
                    name = real.get(answer.subject_id, answer.subject_id)
                    votes[name][answer.label] += 1
        ranked = {name: counts.most_common(2) for name, counts in votes.items()}
        winners = {
            name: first[0]
            for name, (first, *second) in ranked.items()
            if not second or second[0][1] < first[1]
        }
        return winners, dropped

    def _refuse_another_pool(self, states: Mapping[str, str], questions: Sequence[str]) -> None:
        """Refuse questions of which a test of these systems, on another pool, counted some."""
        systems = self.state.rpartition(" ")[0]
        for name, text in states.items():
            if name.rpartition(" ")[0] != systems:
                continue
            before = self._parse(text)
            if shared := {*before["counted"]} & {*questions}:
                pools = f"{len(questions):,} questions, not {before['questions']:,}"
                problem = f"are of {pools} as at the first look, and {len(shared):,} were counted"
                remedy = "a test has one fixed pool: give the rows of the first look"
                raise DataError(
                    "the rows", problem, remedy=f"{remedy}, or start again with another --store"
                )

    @property
    def _place(self) -> str:
        return f"{store_name(self.store)}, {self.state}"

    def _parse(self, text: str) -> dict[str, Any]:
        try:
            loaded: dict[str, Any] = json.loads(text.replace(_FORMER_KIND, ABTest.kind, 1))
        except ValueError as error:
            remedy = "restore the store from a backup"
            raise DataError(self._place, f"is not JSON ({error})", remedy=remedy) from None
        return loaded

    def _read(self, text: str) -> ABTest:
        """The last look, if it had these rows and these rules."""
        before = from_dict(self._parse(text), ABTest, source=self._place)
        if before.pool_digest != self.start.pool_digest:
            remedy = "give the same rows as before, or start again with another --store"
            problem = "the judge's numbers or the texts differ from those of the first look"
            raise DataError("the rows", problem, remedy=remedy)
        for option, now in vars(self.rules).items():
            if (then := getattr(before, option)) != now:
                remedy = f"it was {then} at the first look and cannot change; or use another"
                raise ArgumentError(option, now, f"{remedy} --store")
        return before


def _words_of(hashes: str | None) -> list[str]:
    """The hashes of the texts of a row, the same if the sides of a pair are exchanged."""
    return sorted(text.partition(":")[2] for text in (hashes or "").split())


def _differences(numbers: FloatArray, rules: Rules) -> FloatArray:
    """B - A on each question, as a share of the scale."""
    low, high = rules.scale or (0, 1)
    return (numbers[:, 1] - numbers[:, 0]) / (high - low)


def _draw(questions: Sequence[str], start: Start) -> list[int]:
    """A random order fixed by the key; labels drawn at random before the first look come first."""
    first = {*start.started_with}

    def place(at: int) -> tuple[bool, bytes]:
        text = f"{start.order_key}\x1f{questions[at]}".encode("utf-8", "surrogatepass")
        return questions[at] not in first, hashlib.sha256(text).digest()

    return sorted(range(len(questions)), key=place)


def _count(
    table: Systems,
    judge: FloatArray,
    human: FloatArray,
    people: tuple[float, ...],
    rules: Rules,
    start: Start,
) -> ABTest:
    """Count the labels up to the first that is missing, in the order of drawing, and decide."""
    order = _draw(table.questions, start)
    questions = [table.questions[at] for at in order]
    judge = judge[order]
    human = human[order]
    n = len(judge)
    counted = len(people)
    alpha = 1 - rules.confidence_level
    again = human[:counted]
    changed = ~np.isnan(again) & (again != np.array(people))
    missing = np.flatnonzero(np.isnan(human[counted:]))
    t = counted + int(missing[0]) if len(missing) else n
    drawn = np.concatenate([people, human[counted:t]])
    labels = np.concatenate([drawn, np.full(n - t, np.nan)])
    if rules.method == "rounds":
        last = min(n, ROUNDS * LABELS_A_ROUND)
        sign, at, now = _decide_in_rounds(labels, judge, min(t, last), exact=table.people_zero_one)
        evidence, needs = (now, -now), (POCOCK, POCOCK)
    else:
        done = decide(drawn[None], judge[None], alpha=alpha, delta=rules.equal_within)
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
    # A question that is not answered holds up those after it: people do not choose the sample.
    unlabelled = [questions[at] for at in range(t, min(t + NEXT, n)) if np.isnan(human[at])]
    following = [] if finished else unlabelled
    return ABTest(
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
        dropped=merge_dropped(table.dropped, {_CHANGED: int(changed.sum())}),
        **vars(rules),
        **vars(start),
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


# --- the view ---


def _headline(result: ABTest) -> Headline:
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
