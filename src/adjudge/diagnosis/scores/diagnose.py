"""The distance of human scores from the judge's, and whether the width of a set predicts it.

Sets are calibrated on random halves of the documents and tested on the others. Each judge's scores
are arrays here, with the calibration data of every available method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.data.columns import make_room
from adjudge.data.scores import Scores, prepare_scores, ratings_table, scored_by_both
from adjudge.data.source import Reading
from adjudge.data.tables import TableLike, as_text
from adjudge.diagnosis.agreement import agreement
from adjudge.diagnosis.measures import mean_or_none
from adjudge.diagnosis.scores.judges import (
    KEY,
    ScoreRows,
    between_judges,
    family_points,
    judge_errors,
    mean_scores,
    split_by_judge,
    with_people,
)
from adjudge.diagnosis.scores.nonconformity import TARGETS
from adjudge.diagnosis.scores.result import (
    ScoreCoverage,
    ScoreDiagnosis,
    ScoreSetGroup,
    SizeErrors,
    WidthBin,
)
from adjudge.diagnosis.scores.sets import (
    SETS,
    WEIGHS,
    LabelledRows,
    PredictedSets,
    ScoreSets,
    SetRule,
    advise,
    answers_for,
    checked_scale,
    default_rule,
    fewest_to_learn,
    members_of,
    random_part,
)
from adjudge.errors import ArgumentError, DataError
from adjudge.statistics.agreement import spearman
from adjudge.statistics.clusters import jackknife_interval, mean_interval, recode
from adjudge.statistics.numbers import cluster_codes
from adjudge.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Seed,
    count,
    exact_level,
    generator,
    known_seed,
    one_of,
    open_unit,
)

ALPHAS = (0.05, 0.10, 0.15, 0.20)
#: The level at which judges' widths are compared, as in the paper.
_MAIN = Fraction(1, 10)
#: The columns that `score_set_rows` adds to a row.
_SET_COLUMNS = ("set_low", "set_high", "set_size", "advice", "calibrated", "sets")
#: The coverage that cross-fitted sets promise.
_WEAKER = "about 1 - 2 alpha - sqrt(2/D) from D documents, usually near 1 - alpha,"
#: What kind of set the numbers are about, and its limits.
_ABOUT = {
    "learned": "learned sets: the distribution of human scores given the judge's score is learned "
    "on a third of the calibration documents, and calibrated on the others",
    "cross-fitted": "cross-fitted sets use every document to learn and to calibrate, and have a "
    "weaker promise than learned sets",
    "residual": "residual sets have one quantile, so their width is a function of the judge's "
    "score: it changes where an end of the scale cuts the set",
    "adaptive": "adaptive sets are as wide as the judge's own probabilities are spread, calibrated "
    "on human scores",
}


def diagnose_scores(
    source: TableLike | Scores,
    *,
    alphas: Sequence[float | str] = ALPHAS,
    sets: str = "auto",
    scale: tuple[int, int] = (1, 5),
    target: str = "mean",
    labels: TableLike | None = None,
    by: str | None = None,
    splits: int = 20,
    families: Mapping[str, str] | None = None,
    confidence_level: float = 0.95,
    model_labels: bool = False,
    seed: Seed = 0,
    **reading: Unpack[Reading],
) -> ScoreDiagnosis:
    """Coverage and size of conformal sets per judge and criterion, and what their width indicates.

    Sets are calibrated per criterion. These are always added for comparison: "constant", one
    quantile of |judge - human| per judge; "per-criterion" and, with `by`, "per-group", one per
    criterion (and group); "adaptive", per criterion, if there are score_probs. Each is calibrated
    on a random half of the documents and tested on the other half, `splits` times. Coverage and
    size are means over documents of the means over their rows. Widths, advice and the error at each
    width are those of sets calibrated on all labelled documents. If models of the judge's own
    family are among those scored (known by name, or by `families`), `family` measures whether it
    favours them.

    Args:
        source: doc_id, judge_score and human_score or one column per rater. Optional: model,
            criterion, judge, score_probs. A path, a frame or prepared scores.
        alphas: Error level; repeatable. The sets contain the human score at the rate 1 - alpha.
        sets: learned (human scores given the judge's score), cross-fitted (smaller sets, a weaker
            guarantee), residual (|judge - human|) or adaptive (score_probs). As `method` of
            `ScoreSets`. Default: learned if there are enough labelled documents, else residual.
            Each judge needs enough of them for each criterion at the main level.
        scale: Lowest and highest score.
        target: mean: the rounded mean of the raters; rater: one at random.
        labels: Human scores by id, as `adjudge label --scale` writes them.
        by: Also calibrate each value of this column separately.
        splits: Random halves of the documents.
        families: Families of models whose names do not show it. {"model name": "family"}.
        confidence_level: Level of all intervals.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Otherwise they are refused.
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> rows = {"doc_id": [str(d) for d in range(40)], "judge_score": [3, 4] * 20,
    ...         "human_score": [3, 4] * 20}
    >>> group = diagnose_scores(rows, alphas=[0.1]).groups[0]
    >>> group.coverage, group.mean_size
    (1.0, 1.0)

    The coverage promise is the average over documents (see `ScoreSets`). With a quantile shared by
    all criteria ("constant"), a single criterion has no promise.
    """
    levels = [exact_level(alpha, "alphas") for alpha in alphas]
    if not levels:
        raise ArgumentError("alphas", [], "give at least one error level")
    limits = checked_scale(scale)
    one_of(sets, SETS, "sets")
    one_of(target, TARGETS, "target")
    count(splits, "splits", least=1)
    open_unit(confidence_level, "confidence_level")
    scores = prepare_scores(source, labels=labels, model_labels=model_labels, **reading)
    if by is not None and by not in scores.frame.columns:
        raise DataError(scores.name, "is missing", column=by, remedy="name a column to group by")
    labelled = scored_by_both(scores)
    frame = labelled.frame
    documents = frame["doc_id"].n_unique()
    if documents < 2:
        raise DataError(scores.name, "has one labelled document", remedy="label at least two")
    main = _MAIN if _MAIN in levels else levels[0]
    fewest = fewest_of_cells(frame)
    used = default_rule(fewest, main) if sets == "auto" else sets
    judges = split_by_judge(frame, scale=limits, target=target)
    several = frame["criterion"].n_unique() > 1
    plans = [
        (rows, plan) for rows in judges for plan in _plans(rows, by, several=several, sets=used)
    ]
    if used == "adaptive" and all(plan.method != used for _, plan in plans):
        raise DataError(scores.name, "is missing", column="score_probs", remedy="choose other sets")
    random = generator(seed)
    halves = [random_part(np.arange(documents), random, 2) for _ in range(splits)]
    groups: list[ScoreSetGroup] = []
    widths: list[tuple[str, str, pl.DataFrame]] = []
    for rows, plan in plans:
        tested, sizes = evaluate_plan(rows, plan, levels, halves, confidence_level, random)
        if plan.method == used and default_rule(fewest, main) == "learned":
            tested = _beside_shuffled(tested, rows, levels, halves, random.spawn(1)[0])
        groups += tested
        width = pl.Series(sizes[levels.index(main)])
        widths.append((rows.judge, plan.method, rows.frame.select("criterion", KEY, width=width)))
    not_learned = []
    if sets == "auto" and used != "learned":
        not_learned = [
            f"sets that learn the judge's scale need {fewest_to_learn(main)} labelled documents "
            f"for each judge and criterion at alpha {float(main):g}; the fewest here is {fewest}"
        ]
    means = [mean for rows in judges for mean in mean_scores(rows, confidence_level)]
    assumptions = [*_promise_and_limits(frame, used, target), *not_learned]
    assumptions += [*_without_adaptive(frame), *scores.makers]
    return ScoreDiagnosis(
        groups=tuple(groups),
        agreement=tuple(between_judges(widths, float(main))),
        human_agreement=tuple(with_people(judges, confidence_level)),
        family=tuple(family_points(judges, families, confidence_level)),
        means=tuple(means),
        documents=documents,
        scale=limits,
        sets=used,
        target=target,
        splits=splits,
        confidence_level=confidence_level,
        seed=known_seed(seed),
        dropped=labelled.dropped,
        assumptions=tuple(assumptions),
    )


def score_set_rows(
    source: TableLike | Scores,
    *,
    alpha: float | str = 0.1,
    sets: str = "auto",
    scale: tuple[int, int] = (1, 5),
    target: str = "mean",
    labels: TableLike | None = None,
    weigh: str = "documents",
    seed: Seed = 0,
    **reading: Unpack[Reading],
) -> pl.DataFrame:
    """The rows with set_low, set_high, set_size, advice, and whether they calibrated the set.

    Each judge is calibrated on its labelled rows, per criterion. The sets are for rows without a
    human score. A row without a judge score gets no set; an empty set has no set_low and set_high.
    The advice is the paper's: one or two scores "trust", the entire scale (or an empty set)
    "human", between "look". It is "look" instead of "trust" if the judge's score, rounded, is not
    in the set, or if labelled rows of the judge and criterion do not show (at 95 %) agreement above
    chance, and smaller errors where sets are small.

    Args:
        source: doc_id, judge_score and human_score or one column per rater. Optional: model,
            criterion, judge, score_probs. A path, a frame or prepared scores.
        alpha: Error level. The sets contain the human score at the rate 1 - alpha.
        sets: learned, cross-fitted, residual or adaptive, as `method` of `ScoreSets`. Default,
            "auto": learned if there are enough labelled documents, else residual. The column `sets`
            has the one that was used.
        scale: Lowest and highest score.
        target: mean: the rounded mean of the raters; rater: one at random.
        labels: Human scores by id, as `adjudge label --scale` writes them.
        weigh: documents, or rows as in the paper (valid only for one row per document).
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> rows = {"doc_id": [str(d) for d in range(21)], "judge_score": [3, 4] * 10 + [3],
    ...         "human_score": [3, 4] * 10 + [None]}
    >>> score_set_rows(rows).select("set_size", "advice", "calibrated", "sets").row(20)
    (1, 'trust', False, 'residual')
    """
    one_of(sets, SETS, "sets")
    one_of(weigh, WEIGHS, "weigh")
    scores = prepare_scores(source, labels=labels, **reading)
    name = scores.name
    frame = make_room(scores.frame, _SET_COLUMNS).with_row_index("__row")
    if sets == "adaptive" and "score_probs" not in frame.columns:
        raise DataError(name, "is missing", column="score_probs", remedy="choose other sets")
    column = "score_probs" if sets == "adaptive" else "judge_score"
    answered = frame.filter(pl.col("judge_score").is_not_null(), pl.col(column).is_not_null())
    if sets == "auto":
        labelled = answered.filter(pl.col("human_scores").is_not_null())
        sets = default_rule(fewest_of_cells(labelled), exact_level(alpha), weigh=weigh)
    set_rows = []
    for judge_rows in answered.partition_by("judge", maintain_order=True):
        labelled_rows = judge_rows["human_scores"].is_not_null().to_numpy()
        if not labelled_rows.any():
            continue
        judge = np.array(judge_rows[column].to_list(), dtype=np.float64)
        groups = np.array(judge_rows["criterion"].fill_null("unnamed").to_list(), dtype=object)
        people = judge_rows.filter(pl.Series(labelled_rows))
        learned = ScoreSets(
            alpha=alpha, scale=scale, method=sets, weigh=weigh, target=target, seed=seed
        ).calibrate(
            judge[labelled_rows],
            ratings_table(people),
            documents=people["doc_id"].to_list(),
            groups=groups[labelled_rows],
        )
        predicted = learned.predict(judge, groups=groups)
        advice = predicted.advice
        every_score = judge_rows["judge_score"].to_numpy().astype(np.float64)
        ratings = ratings_table(people)
        error = judge_errors(every_score[labelled_rows], ratings, target)
        document = cluster_codes(people["doc_id"].to_list())[0]
        doubtful = ~_is_inside(every_score, predicted.low, predicted.high)
        for group in set(groups):
            among = groups[labelled_rows] == group
            sizes = predicted.sizes[labelled_rows][among]
            tells = size_errors(sizes, error[among], document[among], 0.95).tells
            agreed = agreement(
                every_score[labelled_rows][among].tolist(),
                ratings[among].tolist(),
                level="interval",
                clusters=document[among],
            ).kappa_interval
            above_chance = agreed is not None and (agreed.low or 0.0) > 0
            if tells is False or not above_chance:
                doubtful |= groups == group
        advice[doubtful & (advice == "trust")] = "look"
        columns = {
            "set_low": predicted.low,
            "set_high": predicted.high,
            "set_size": predicted.sizes,
            "advice": advice.tolist(),
            "calibrated": labelled_rows,
        }
        added = [pl.Series(name, values) for name, values in columns.items()]
        set_rows.append(judge_rows.select("__row").with_columns(*added, sets=pl.lit(sets)))
    if not set_rows:
        remedy = "give people's scores of rows that the judge scored, or --labels FILE (labels=)"
        raise DataError(name, "no row has both a judge score and a human score", remedy=remedy)
    # An empty set has no ends.
    ends = pl.when(pl.col("set_size") > 0).then(pl.col("set_low", "set_high"))
    sets_of = pl.concat(set_rows).with_columns(ends)
    return frame.join(sets_of, on="__row", how="left", maintain_order="left").drop("__row")


def fewest_of_cells(frame: pl.DataFrame) -> int:
    """The fewest labelled documents that a judge has for a criterion."""
    counts = frame.group_by("judge", "criterion").agg(pl.col("doc_id").n_unique())["doc_id"]
    return min(counts.to_list(), default=0)


# --- one judge, one method -------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """A method: its rule, its calibration data, and which rows are calibrated together."""

    method: str
    rule: str
    answers: FloatArray
    group: IntArray


def _plans(rows: ScoreRows, by: str | None, *, several: bool, sets: str) -> Iterator[Plan]:
    """`sets` and the methods to compare; `several` criteria need not share a quantile."""
    frame = rows.frame
    scale = rows.scale
    criterion, _ = cluster_codes(frame["criterion"].to_list())
    values = answers_for(rows.score, "residual", scale)
    yield Plan("constant", "residual", values, np.zeros(len(values), dtype=np.int64))
    if several:
        yield Plan("per-criterion", "residual", values, criterion)
    if by is not None:
        pairs: list[object] = list(zip(frame["criterion"], as_text(frame[by]), strict=True))
        yield Plan("per-group", "residual", values, cluster_codes(pairs)[0])
    if "score_probs" in frame.columns and frame["score_probs"].null_count() == 0:
        size = int(frame["score_probs"].list.len()[0])
        if size != scale[1] - scale[0] + 1:
            remedy = f"score_probs lists {size} scores: give their scale"
            raise ArgumentError("scale", scale, remedy)
        probs = answers_for(frame["score_probs"].to_list(), "adaptive", scale)
        yield Plan("adaptive", "adaptive", probs, criterion)
    if sets not in ("residual", "adaptive"):
        yield Plan(sets, sets, rows.score, criterion)


def _is_inside(score: FloatArray, low: IntArray, high: IntArray) -> BoolArray:
    """Whether the whole number next to each score is in the set; of a half, one of the two."""
    return np.asarray((low - 0.5 <= score) & (score <= high + 0.5))


def _beside_shuffled(
    groups: Sequence[ScoreSetGroup],
    rows: ScoreRows,
    levels: Sequence[Fraction],
    halves: Sequence[BoolArray],
    random: np.random.Generator,
) -> list[ScoreSetGroup]:
    """The groups with the mean size of learned sets of the same scores in random order."""
    criterion, _ = cluster_codes(rows.frame["criterion"].to_list())
    shuffled = rows.score.copy()
    for among in rows.by_criterion.values():
        shuffled[among] = random.permutation(shuffled[among])
    plan = Plan("shuffled", "learned", shuffled, criterion)
    without, _ = evaluate_plan(rows, plan, levels, halves, 0.95, random)
    sizes = {(group.criterion, group.alpha): group.mean_size for group in without}
    return [replace(g, shuffled_size=sizes.get((g.criterion, g.alpha))) for g in groups]


def evaluate_plan(
    rows: ScoreRows,
    plan: Plan,
    levels: Sequence[Fraction],
    halves: Sequence[BoolArray],
    confidence_level: float,
    random: np.random.Generator,
) -> tuple[list[ScoreSetGroup], IntArray]:
    """Calibrate on each half, test on the other: a group per criterion and level, and set sizes.

    The sizes, (levels, rows), are those at the quantile of all documents: one number for many rows,
    which a row's own label cannot change by more than its document's weight. Two halves would have
    two quantiles, and the agreement of judges would depend on the half of a document.
    """
    among = rows.by_criterion
    entries = rows.target
    scale = rows.scale
    coverage, size, rank = np.full((3, len(among), len(levels), len(halves)), np.nan)
    # Rows tested with each human score, and those of them whose set contains it.
    reached = np.zeros((2, len(among), len(levels), scale[1] - scale[0] + 1))
    labelled = LabelledRows(plan.answers, entries, rows.document, levels, scale, random)

    def calibrate(half: BoolArray) -> dict[int, SetRule]:
        used = half[rows.document][entries.row]
        group = plan.group[entries.row]
        every = np.unique(plan.group).tolist()
        return labelled.calibrate(plan.rule, {name: used & (group == name) for name in every})

    for s, half in enumerate(halves):
        members = members_of(calibrate(half), plan.answers, plan.group, scale)
        for a, inside in enumerate(members):
            hit = inside[entries.row, entries.score - scale[0]] / entries.raters
            covered = np.bincount(entries.row, weights=hit, minlength=len(rows.document))
            width = inside.sum(axis=1)
            for c, in_criterion in enumerate(among.values()):
                tested = in_criterion & ~half[rows.document]
                of_people = tested[entries.row]
                for at, weight in enumerate((1 / entries.raters, hit)):
                    places = entries.score[of_people] - scale[0]
                    counts = np.bincount(places, weight[of_people], reached.shape[-1])
                    reached[at, c, a] += counts
                if tested.any():
                    coverage[c, a, s] = document_mean(covered[tested], rows.document[tested])
                    size[c, a, s] = document_mean(width[tested], rows.document[tested])
                    value = spearman(width[tested], rows.error[tested])
                    rank[c, a, s] = np.nan if value is None else value
    rules = calibrate(np.ones(len(halves[0]), dtype=bool))
    every = members_of(rules, plan.answers, plan.group, scale)
    final = every.sum(axis=2, dtype=np.int64)
    groups = []
    for c, (criterion, in_criterion) in enumerate(among.items()):
        used = [rules[int(group)] for group in np.unique(plan.group[in_criterion])]
        documents = rows.document[in_criterion]
        for a, level in enumerate(levels):
            if np.isnan(coverage[c, a]).all():
                continue
            widths = final[a][in_criterion]
            advice = advise(widths, scale=scale)
            shares = {word: float((advice == word).mean()) for word in ("trust", "look", "human")}
            error = rows.error[in_criterion]
            ranks = rank[c, a]
            quantiles = {rule.quantile(a) for rule in used}
            small = (widths == 1) | (widths == 2)
            ends = PredictedSets(every[a], scale)
            inside = _is_inside(rows.score, ends.low, ends.high)[in_criterion]
            group = ScoreSetGroup(
                judge=rows.judge,
                criterion=criterion,
                method=plan.method,
                alpha=float(level),
                n=len(documents),
                documents=len(np.unique(documents)),
                coverage=float(np.nanmean(coverage[c, a])),
                coverage_sd=float(np.nanstd(coverage[c, a])),
                mean_size=float(np.nanmean(size[c, a])),
                spearman=mean_or_none(ranks[~np.isnan(ranks)]),
                quantile=quantiles.pop() if len(quantiles) == 1 else None,
                whole_scale=all(rule.limits[a] is None for rule in used),
                **shares,
                by_width=error_by_width(widths, error, documents, scale, confidence_level),
                errors=size_errors(widths, error, documents, confidence_level),
                by_score=_by_score(
                    reached[:, c, a], entries.score[in_criterion[entries.row]], scale
                ),
                inside=mean_or_none(inside[small]),
            )
            groups.append(group)
    return groups, final


def _by_score(
    reached: FloatArray, people: IntArray, scale: tuple[int, int]
) -> tuple[ScoreCoverage, ...]:
    """The coverage of each human score, from the tested rows and those that were covered."""
    tested, covered = reached
    cells = []
    for at in np.flatnonzero(tested).tolist():
        score = scale[0] + at
        n = int(np.count_nonzero(people == score))
        coverage = float(covered[at] / tested[at])
        cells.append(ScoreCoverage(score=score, n=n, coverage=coverage))
    return tuple(cells)


def size_errors(
    widths: IntArray, error: FloatArray, documents: IntArray, confidence_level: float
) -> SizeErrors:
    """The mean error of rows with one or two scores in their set, and of the others."""
    small = (widths == 1) | (widths == 2)
    codes, groups = recode(documents)
    # Rows and errors of the small sets, then of the others, summed over each document.
    sums = [
        np.bincount(codes, weights=values, minlength=groups)
        for values in (small, small * error, ~small, ~small * error)
    ]

    def gap(totals: FloatArray) -> FloatArray:
        n_small, errors_small, n_large, errors_large = totals.T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(errors_large / n_large - errors_small / n_small)

    most = float(error.max(initial=0.0))
    ends = jackknife_interval(gap, np.stack(sums, axis=1), confidence_level, bounds=(-most, most))
    return SizeErrors(
        small=mean_or_none(error[small]), large=mean_or_none(error[~small]), interval=ends
    )


def document_mean(values: NDArray[np.number], documents: IntArray) -> float:
    """Mean over documents of the mean over a document's rows."""
    codes, groups = recode(documents)
    totals = np.bincount(codes, weights=values, minlength=groups)
    return float((totals / np.bincount(codes, minlength=groups)).mean())


def error_by_width(
    widths: IntArray,
    error: FloatArray,
    documents: IntArray,
    scale: tuple[int, int],
    confidence_level: float,
) -> tuple[WidthBin, ...]:
    """The mean error of the rows at each width, with an interval over documents."""
    bins = []
    reach = (0.0, float(scale[1] - scale[0]))
    for width in np.unique(widths):
        among = widths == width
        ends = mean_interval(error[among], documents[among], confidence_level, bounds=reach)
        n = int(among.sum())
        mean = float(error[among].mean())
        bins.append(WidthBin(width=int(width), n=n, mean_error=mean, interval=ends))
    return tuple(bins)


# --- words -----------------------------------------------------------------------------------


def _promise_and_limits(frame: pl.DataFrame, sets: str, target: str) -> tuple[str, ...]:
    """The promise and its conditions, one sentence each."""
    mean = "the rounded mean of the raters (halves up)"
    whom = mean if target == "mean" else "a random rater's score"
    chance = "1 - alpha" if sets != "cross-fitted" else _WEAKER
    alone = frame.select("judge", "criterion", "doc_id").is_unique().all()
    about = "for a new row like these, on average over rows; not for each row"
    if not alone:
        about = (
            "for a random row of a new document like these, on average over documents; not for "
            "each document"
        )
    if frame["criterion"].n_unique() > 1:
        about += ", and not for one criterion if all share a quantile (constant)"
    promise = f"a set contains {whom} with probability at least {chance} {about}"
    return promise, _ABOUT[sets]


def _without_adaptive(frame: pl.DataFrame) -> list[str]:
    """Adaptive sets need the probabilities of all rows of a judge: name judges without them."""
    if "score_probs" not in frame.columns:
        return []
    has_probs = pl.col("score_probs").is_not_null()
    partly = frame.filter(has_probs.any().over("judge") & ~has_probs.all().over("judge"))
    return [
        f"no adaptive sets for {judge or 'unnamed'}: some of its rows have no score_probs"
        for judge in partly["judge"].unique(maintain_order=True)
    ]
