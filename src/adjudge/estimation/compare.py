"""Is B better than A? By the judge alone, or by people from some labels; of two systems or many."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple, Unpack

import numpy as np

from adjudge.data.names import shorten
from adjudge.data.rows import merge_dropped
from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.comparison import (
    BestJudge,
    Comparison,
    Difference,
    PairDifference,
    SystemScore,
)
from adjudge.estimation.judge_agreement import read_judges
from adjudge.estimation.systems import (
    HALF_LABELLED,
    ReadingSystems,
    Systems,
    read_systems,
)
from adjudge.present.text import count
from adjudge.records import Interval
from adjudge.statistics.differences import (
    FEWEST,
    Gap,
    all_gaps,
    benjamini_hochberg,
    difference_of_means,
    holm,
    labelled_gap,
    labelled_mean,
    possibly_best,
    unpaired_gap,
)
from adjudge.statistics.numbers import bootstrap_weights, student_quantile
from adjudge.validation import BoolArray, FloatArray, Seed, generator, known_seed, open_unit

#: Probabilities of a sure judge are skewed: with fewer questions the interval covers too little.
_FEW_PROBABILITIES = 60
#: A screening list of fewer differences has no share to speak of.
_FEWEST_SCREENED = 20
_REPLICATES = 200


def compare(
    data: TableLike,
    other: TableLike | None = None,
    *,
    a: str | None = None,
    b: str | None = None,
    within: str | None = None,
    judges: bool = False,
    screen: bool = False,
    confidence_level: float = 0.95,
    seed: Seed = 0,
    **reading: Unpack[ReadingSystems],
) -> Comparison:
    """Whether system B is better than system A, on the same questions.

    Without `a` and `b`, all systems are compared. Differences are B - A.

    Args:
        data: Rows of the systems, as grades, probabilities, scores or judgments of pairs. A path, a
            frame or a log. A second file can have the other system.
        other: The second system's file, if each system has its own. Rows are paired by id, or by
            prompt; a run is named by its model, or by its file.
        a: The system to compare with.
        b: The system that is compared; differences are B - A.
        within: Compare the two systems within each value of this column.
        judges: Compare judges or prompts by people's labels, not systems. Rows are judgments or
            grades of several judges on the same rows.
        screen: A screening list of differences, of which a share of 1 - confidence_level is false.
            For 20 pairs or slices or more; otherwise the chance of one false one is bounded (Holm).
        confidence_level: Confidence level of the intervals.
        seed: Seed of everything random.
        **reading: Columns, labels and the words in them: see `ReadingSystems` and
            `adjudge.data.Reading`.

    >>> rows = {"id": [*range(60)] * 2, "model": ["old"] * 60 + ["new"] * 60,
    ...         "judge": [1, 0] * 30 + [1, 1, 1, 0] * 15}
    >>> result = compare(rows, a="old", b="new")
    >>> round(result.difference.judge.estimate, 2), result.better
    (0.25, True)
    """
    level = open_unit(confidence_level, "confidence_level")
    if judges:
        systems_only: dict[str, Any] = {"a": a, "b": b, "within": within, "screen": screen}
        systems_only |= reading
        words = {name: systems_only.pop(name) for name in _FOR_JUDGES if name in systems_only}
        _refuse(systems_only, "is for systems, not for judges")
        table = read_judges(data, other, **words)
        return _compare({None: table}, table.names, level, seed)
    slices = read_systems(data, other, a=a, b=b, within=within, **reading)
    table = next(iter(slices.values()))
    everyone = a is None and b is None and within is None and len(table.names) > 2
    names = table.names if everyone else table.choose(a, b)
    if screen and len(names) == 2 and within is None:
        raise ArgumentError("screen", screen, "is for many systems, or slices (--within)")
    return _compare(slices, names, level, seed, within, screen)


#: Options of reading that judges have too.
_FOR_JUDGES = ("labels", "cluster", "model_labels", *Reading.__annotations__)


def _refuse(options: Mapping[str, object], remedy: str) -> None:
    for option, value in options.items():
        if value:
            raise ArgumentError(option, value, remedy)


# --- the numbers ---


def _compare(
    slices: Mapping[str | None, Systems],
    names: Sequence[str],
    level: float,
    seed: Seed,
    within: str | None = None,
    screen: bool = False,
) -> Comparison:
    """The differences of all pairs of these systems, in each slice, adjusted together."""
    tables = {value: systems.among(names) for value, systems in slices.items()}
    table = next(iter(tables.values()))
    judges = table.measure == "agreement"
    many = len(names) > 2 or judges
    if many and table.paired_by is None:
        remedy = "give all systems the same prompt_id, or name two: --a NAME --b NAME (a=, b=)"
        problem = f"the systems share no question: {shorten(names, 5)}"
        raise DataError(table.source, problem, remedy=remedy)
    if judges and len(table.judge) < FEWEST:
        labelled = count(len(table.judge), f"labelled {table.clustered_by or 'row'}")
        remedy = f"label {FEWEST} of them or more that all judges answered"
        raise DataError(table.source, f"{labelled} of all judges", remedy=remedy)
    numbers = [_estimate(systems, value, level) for value, systems in tables.items()]
    pairs = _adjust([pair for each in numbers for pair in each.pairs], level, screen)
    n = sum(each.n for each in numbers)
    n_labelled = sum(each.n_labelled for each in numbers)
    rng = generator(seed)
    best = None
    per_slice = zip(tables.values(), numbers, strict=True)
    warnings = [line for each in per_slice for line in _warn(*each)]
    if many and n >= FEWEST:
        influence = _influence(table, by_people=n_labelled >= FEWEST)
        best = possibly_best(numbers[0].reported, influence, rng, confidence_level=level)
    if many and 0 < n_labelled < FEWEST:
        few = f"{count(n_labelled, 'question')} labelled for all systems"
        warnings.append(f"{few}: {FEWEST} or more are needed; the differences are by this judge")
    if many and best is None:
        warnings.append("too few questions that all systems answered: no set of possibly best")
    by_judge = [str(pair.within) for pair in pairs if pair.reported is pair.judge]
    if within is not None and by_judge and any(pair.people is not None for pair in pairs):
        few = f"too few labels in {count(len(by_judge), 'slice')}, which are by this judge"
        warnings.append(f"{few}: {shorten(by_judge)}")
    before = next(iter(slices.values())).dropped
    return Comparison(
        measure=table.measure,
        paired_by=table.paired_by,
        clustered_by=table.clustered_by,
        within=within,
        screened=screen,
        confidence_level=level,
        n=n,
        n_labelled=n_labelled,
        labels_given=table.labels_given,
        systems=() if within is not None else _scores(table, numbers[0].means, pairs, best),
        differences=tuple(pairs),
        best_judge=best_of(table.judge, names, rng, level, table.freedom[0]) if judges else None,
        judge_notes=table.judge_notes,
        assumptions=_assumptions(table, labelled=n_labelled > 0 or judges, best=best is not None),
        warnings=tuple(dict.fromkeys(warnings)),
        dropped=merge_dropped(before, *(systems.dropped for systems in tables.values())),
        seed=known_seed(seed) if many else None,
    )


class _Estimates(NamedTuple):
    """All pairs, their gaps by whom they are reported, and the means that people would give."""

    n: int
    n_labelled: int
    pairs: Sequence[PairDifference]
    reported: Sequence[Gap]
    means: Sequence[Gap]


def _estimate(table: Systems, within: str | None, level: float) -> _Estimates:
    """Every pair by the judge and, with enough labels, by people."""
    answered = ~np.isnan(table.judge)
    labelled = ~np.isnan(table.human)
    systems = [(table.human[rows, at], table.judge[rows, at]) for at, rows in enumerate(answered.T)]
    couples = list(combinations(range(len(systems)), 2))
    if table.paired_by is not None:
        unit = "question"
        n = int(answered.all(axis=1).sum())
        n_labelled = int(labelled.all(axis=1).sum())
        by_judge = all_gaps(table.judge, zero_one=table.zero_one)
    else:
        unit = "answer"
        n = int(answered.sum())
        n_labelled = int(labelled.sum(axis=0).min())
        by_judge = [unpaired_gap(*(scores for _, scores in systems), zero_one=table.zero_one)]
    means: list[Gap] = []
    people = [Gap(n=n_labelled)] * len(couples) if table.labels_given else []
    if n_labelled >= FEWEST:
        scores = np.concatenate([table.human, table.judge])
        ends = float(np.nanmin(scores)), float(np.nanmax(scores))
        means = [labelled_mean(*system, ends=ends) for system in systems]
        people = _gaps_by_people(table, couples, means)
    of_judge, of_people = table.freedom
    by_judge = [gap.limited(of_judge) for gap in by_judge]
    people = [gap.limited(of_people) for gap in people]
    shown = (level, math.inf if table.measure == "scores" else 1.0)
    same = "people gave both answers the same score everywhere"
    half = table.dropped.get(HALF_LABELLED, 0)
    discordant = None
    if len(systems) == 2:
        discordant = int((np.abs(np.diff(table.judge)) > 0).sum())
    pairs = []
    for at, (i, j) in enumerate(couples):
        judge = Difference.of(by_judge[at], *shown, unit, "the scores are identical")
        of_labels = Difference.of(people[at], *shown, f"labelled {unit}", same) if people else None
        if of_labels is not None and of_labels.n < FEWEST and half:
            reason = f"{of_labels.reason}; {half:,} more are labelled for one system alone"
            of_labels = replace(of_labels, reason=reason)
        pair = PairDifference(
            a=table.names[i],
            b=table.names[j],
            within=within,
            judge=judge,
            people=of_labels,
            discordant=discordant,
        )
        pairs.append(pair)
    reported = people if n_labelled >= FEWEST else by_judge
    return _Estimates(n, n_labelled, pairs, reported, means)


def _gaps_by_people(
    table: Systems, couples: Sequence[tuple[int, int]], means: Sequence[Gap]
) -> list[Gap]:
    """The difference of every couple of systems as people would give it."""
    if table.paired_by is None:
        return [difference_of_means(means[i], means[j]) for i, j in couples]
    complete = ~np.isnan(table.judge).any(axis=1)
    human = table.human[complete]
    judge = table.judge[complete]
    exact = table.people_zero_one
    if not np.isnan(human).any():
        # Of few differences the range of the systems' scores counts, not that of differences.
        return all_gaps(human, zero_one=exact)
    return [
        labelled_gap(human[:, j] - human[:, i], judge[:, j] - judge[:, i], zero_one=exact)
        for i, j in couples
    ]


def _influence(table: Systems, *, by_people: bool) -> FloatArray:
    """What each question adds to the error of each mean; people's are corrected by one slope."""
    complete = ~np.isnan(table.judge).any(axis=1)
    judge = table.judge[complete]
    human = table.human[complete]
    labelled = by_people & ~np.isnan(human).any(axis=1)
    people = human[labelled]
    judge_of_labelled = judge[labelled]
    judge_of_rest = judge[~labelled]
    slope = 0.0 if by_people else 1.0
    if by_people and len(judge_of_rest) and judge.var() > 0:
        # The weight of ppi++, one for all systems.
        products = (people - people.mean(axis=0)) * (
            judge_of_labelled - judge_of_labelled.mean(axis=0)
        )
        squares = (judge - judge.mean(axis=0)) ** 2
        spread = float(np.sum(squares)) * len(people) / len(judge)
        regression = float(np.sum(products)) / spread
        slope = min(max(regression / (1 + len(people) / len(judge_of_rest)), 0.0), 1.0)
    influence = np.zeros_like(judge)
    influence[labelled] = _centred(people - slope * judge_of_labelled)
    influence[~labelled] = slope * _centred(judge_of_rest)
    return influence


def _centred(scores: FloatArray) -> FloatArray:
    return np.asarray((scores - scores.mean(axis=0)) / len(scores)) if len(scores) else scores


def _adjust(pairs: Sequence[PairDifference], level: float, screen: bool) -> list[PairDifference]:
    """The differences that are shown by p-values of the family; those without one are not in it."""
    values = np.array([pair.reported.p_value for pair in pairs], dtype=np.float64)
    defined = ~np.isnan(values)
    if screen and defined.sum() < _FEWEST_SCREENED:
        remedy = f"needs {_FEWEST_SCREENED} differences or more; leave it out: Holm's rule is used"
        raise ArgumentError("screen", f"{defined.sum()} differences", remedy)
    values[defined] = (benjamini_hochberg if screen else holm)(values[defined])
    return [
        replace(pair, adjusted=value, shown=value <= 1 - level) if value == value else pair
        for pair, value in zip(pairs, values.tolist(), strict=True)
    ]


def _scores(
    table: Systems, means: Sequence[Gap], pairs: Sequence[PairDifference], best: BoolArray | None
) -> tuple[SystemScore, ...]:
    """The systems; of many, from the best mean down."""
    signs = [(pair, pair.reported.sign) for pair in pairs if pair.shown]
    winners = Counter(pair.b if sign > 0 else pair.a for pair, sign in signs)
    losers = Counter(pair.a if sign > 0 else pair.b for pair, sign in signs)
    scores = []
    for at, name in enumerate(table.names):
        values = table.judge[:, at]
        values = values[~np.isnan(values)]
        score = SystemScore(
            name=name,
            n=len(values),
            mean=float(values.mean()) if len(values) else None,
            people_mean=means[at].estimate if means else None,
            beats=winners[name],
            loses_to=losers[name],
            can_be_best=None if best is None else bool(best[at]),
            cost=table.costs.get(name),
        )
        scores.append(score)
    if len(scores) > 2 or table.measure == "agreement":
        scores.sort(key=lambda s: -(s.mean or 0.0) if s.people_mean is None else -s.people_mean)
    return tuple(scores)


def _warn(table: Systems, numbers: _Estimates) -> Iterator[str]:
    n = numbers.n
    probabilities = table.measure == "probabilities"
    if table.all_accepted:
        slice_ = numbers.pairs[0].within
        where = "" if slice_ is None else f"slice {slice_}: "
        yield f"{where}a policy accepted each of these verdicts: they are the easy ones, not all"
    if table.paired_by is None:
        wider = "the systems share no question: the difference is not paired, and wider"
        yield f"{wider}; give both the same prompt_id, or the same prompts"
    elif probabilities and FEWEST <= n < _FEW_PROBABILITIES:
        below = f"a little below its level under {_FEW_PROBABILITIES} questions"
        yield f"{n} questions with probabilities: coverage of the interval is {below}"
    if FEWEST <= numbers.n_labelled < n and not table.drawn_at_random:
        sample = "the labels must be a random sample of the questions"
        yield f"{sample}; the file does not record how they were drawn (sampled_by)"


def _assumptions(table: Systems, *, labelled: bool, best: bool) -> tuple[str, ...]:
    judges = table.measure == "agreement"
    unit = "" if table.clustered_by is None else f" of different {table.clustered_by}"
    lines = (
        (True, f"questions{unit} are independent, and like those the difference is to hold for"),
        (judges, "the interval of the best judge is measured by simulation, not proven"),
        (not judges, "the judge's difference is about the judge: people's can have another sign"),
        (labelled, "labelled questions are a random sample of all, labelled for all systems"),
        (best, "the set of systems that can be best is approximate: measured, not proven"),
    )
    return (*(line for applies, line in lines if applies), *table.notes)


def best_of(
    scores: FloatArray,
    names: Sequence[str],
    rng: np.random.Generator,
    level: float = 0.95,
    freedom: float = math.inf,
) -> BestJudge:
    """The best column of a table (questions, judges), ties by lot, without the winner's curse.

    Each of 200 bootstraps by question picks its own winner; E is the mean accuracy of these winners
    on the questions outside of their bootstrap. The interval is [E - t s, Y_w + t s]: Y_w is the
    winner's accuracy on all labels, s its standard error with two 1s and two 0s added, t with n - 1
    degrees of freedom, or `freedom` if fewer. K judges are worth K/(1 + (K - 1) r) independent
    ones, r the mean correlation of their errors.

    >>> rng = np.random.default_rng(0)
    >>> best = best_of((rng.random((100, 15)) < 0.7).astype(float), "abcdefghijklmno", rng)
    >>> 0.65 < best.reported < 0.75
    True
    """
    n, judges = scores.shape
    means = scores.mean(axis=0)
    winner = int(np.argmax(means + 1e-9 * rng.random(judges)))
    weights = bootstrap_weights(n, _REPLICATES, rng)
    picked = np.argmax(weights @ scores / n + 1e-9 * rng.random((_REPLICATES, judges)), axis=1)
    outside = (weights == 0).astype(np.float64)
    sizes = outside.sum(axis=1)
    tested = (outside @ scores)[np.arange(_REPLICATES), picked]
    reported = float((tested[sizes > 0] / sizes[sizes > 0]).mean())
    padded = np.concatenate([scores[:, winner], [0.0, 0.0, 1.0, 1.0]])
    reach = (
        student_quantile(level, min(n - 1, freedom))
        * float(padded.std(ddof=1))
        / math.sqrt(len(padded))
    )
    top = max(float(means[winner]), reported) + reach
    varying = scores[:, scores.std(axis=0) > 0]
    size = varying.shape[1]
    r = None
    effective = None
    if size > 1:
        r = float((np.corrcoef(varying.T).sum() - size) / (size * (size - 1)))
        effective = judges / (1 + (judges - 1) * max(r, 0.0))
    return BestJudge(
        judge=names[winner],
        accuracy=float(means[winner]),
        reported=reported,
        interval=Interval(max(reported - reach, 0.0), min(top, 1.0), level=level),
        correlation=r,
        effective=effective,
    )
