"""The distance of human scores from the judge's, and whether the width of a set predicts it.

Sets are calibrated on random halves of the documents and tested on the others. Each judge's scores
are arrays here, with the calibration data of every available method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.data.columns import make_room
from adjudge.data.families import family_of, of_family
from adjudge.data.scores import Scores, prepare_scores, ratings_table, scored_by_both
from adjudge.data.source import Reading
from adjudge.data.tables import TableLike, as_text
from adjudge.diagnosis.agreement import agreement
from adjudge.diagnosis.family import FamilyScores, family_scores
from adjudge.diagnosis.measures import mean_or_none
from adjudge.diagnosis.scores.nonconformity import TARGETS, Target, human_target, round_half_up
from adjudge.diagnosis.scores.result import (
    HumanAgreement,
    MeanScore,
    ScoreDiagnosis,
    ScoreSetGroup,
    SizeErrors,
    WidthAgreement,
    WidthBin,
)
from adjudge.diagnosis.scores.sets import (
    SETS,
    WEIGHS,
    LabelledRows,
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
    one_of,
    open_unit,
)

ALPHAS = (0.05, 0.10, 0.15, 0.20)
#: The level at which judges' widths are compared, as in the paper.
_MAIN = Fraction(1, 10)
#: The answer that a row is about: its document and its model.
KEY = "__key"
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
    raters: Sequence[str] | None = None,
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
        raters: The raters' columns.
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
    scores = prepare_scores(
        source, raters=raters, labels=labels, model_labels=model_labels, **reading
    )
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
        groups += tested
        width = pl.Series(sizes[levels.index(main)])
        widths.append((rows.judge, plan.method, rows.frame.select("criterion", KEY, width=width)))
    not_learned = []
    if sets == "auto" and used != "learned":
        not_learned = [
            f"sets that learn the judge's scale need {fewest_to_learn(main)} labelled documents "
            f"for each judge and criterion at alpha {float(main):g}; the fewest here is {fewest}"
        ]
    return ScoreDiagnosis(
        groups=tuple(groups),
        agreement=tuple(_between_judges(widths, float(main))),
        human_agreement=tuple(
            HumanAgreement(
                judge=rows.judge,
                criterion=criterion,
                agreement=agreement(
                    rows.score[among].tolist(),
                    rows.ratings[among].tolist(),
                    level="interval",
                    clusters=rows.document[among],
                    confidence_level=confidence_level,
                ),
            )
            for rows in judges
            for criterion, among in rows.by_criterion.items()
        ),
        family=tuple(_family_points(judges, families, confidence_level)),
        means=tuple(mean for rows in judges for mean in _mean_scores(rows, confidence_level)),
        documents=documents,
        scale=limits,
        sets=used,
        target=target,
        splits=splits,
        confidence_level=confidence_level,
        seed=seed if isinstance(seed, int) else None,
        dropped=labelled.dropped,
        assumptions=(
            *_promise_and_limits(frame, used, target),
            *not_learned,
            *_without_adaptive(frame),
            *scores.makers,
        ),
    )


def score_set_rows(
    source: TableLike | Scores,
    *,
    alpha: float | str = 0.1,
    sets: str = "auto",
    scale: tuple[int, int] = (1, 5),
    target: str = "mean",
    raters: Sequence[str] | None = None,
    labels: TableLike | None = None,
    weigh: str = "documents",
    seed: Seed = 0,
    **reading: Unpack[Reading],
) -> pl.DataFrame:
    """The rows with set_low, set_high, set_size, advice, and whether they calibrated the set.

    Each judge is calibrated on its labelled rows, per criterion. The sets are for rows without a
    human score. A row without a judge score gets no set; an empty set has no set_low and set_high.
    The advice is the paper's: one or two scores "trust", the entire scale (or an empty set)
    "human", between "look". It is "look" instead of "trust" if labelled rows of the judge and
    criterion do not show smaller errors (at 95 %) where sets are small.

    Args:
        source: doc_id, judge_score and human_score or one column per rater. Optional: model,
            criterion, judge, score_probs. A path, a frame or prepared scores.
        alpha: Error level. The sets contain the human score at the rate 1 - alpha.
        sets: learned, cross-fitted, residual or adaptive, as `method` of `ScoreSets`. Default,
            "auto": learned if there are enough labelled documents, else residual. The column `sets`
            has the one that was used.
        scale: Lowest and highest score.
        target: mean: the rounded mean of the raters; rater: one at random.
        raters: The raters' columns.
        labels: Human scores by id, as `adjudge label --scale` writes them.
        weigh: documents, or rows as in the paper (valid only for one row per document).
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> rows = {"doc_id": [str(d) for d in range(21)], "judge_score": [3] * 21,
    ...         "human_score": [3] * 20 + [None]}
    >>> score_set_rows(rows).select("set_size", "advice", "calibrated", "sets").row(20)
    (1, 'trust', False, 'residual')
    """
    one_of(sets, SETS, "sets")
    one_of(weigh, WEIGHS, "weigh")
    scores = prepare_scores(source, raters=raters, labels=labels, **reading)
    name, frame = scores.name, make_room(scores.frame, _SET_COLUMNS).with_row_index("__row")
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
        score = people["judge_score"].to_numpy().astype(np.float64)
        error = judge_errors(score, ratings_table(people), target)
        document = cluster_codes(people["doc_id"].to_list())[0]
        for group in set(groups):
            among = groups[labelled_rows] == group
            sizes = predicted.sizes[labelled_rows][among]
            if size_errors(sizes, error[among], document[among], 0.95).tells is False:
                advice[(groups == group) & (advice == "trust")] = "look"
        set_rows.append(
            judge_rows.select("__row").with_columns(
                pl.Series("set_low", predicted.low),
                pl.Series("set_high", predicted.high),
                pl.Series("set_size", predicted.sizes),
                pl.Series("advice", advice.tolist()),
                pl.Series("calibrated", labelled_rows),
                pl.lit(sets).alias("sets"),
            )
        )
    if not set_rows:
        raise DataError(name, "no row has both a judge score and a human score")
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
class ScoreRows:
    """The labelled rows of one judge. Documents are numbered over the entire file."""

    judge: str
    frame: pl.DataFrame
    scale: tuple[int, int]
    document: IntArray
    score: FloatArray
    ratings: FloatArray
    target: Target
    error: FloatArray

    @cached_property
    def by_criterion(self) -> dict[str, BoolArray]:
        """Which rows each criterion has, criteria in the order of the file."""
        names = self.frame["criterion"]
        return {name: (names == name).to_numpy() for name in names.unique(maintain_order=True)}


def split_by_judge(frame: pl.DataFrame, *, scale: tuple[int, int], target: str) -> list[ScoreRows]:
    """One `ScoreRows` per judge in alphabetical order; `KEY` names the answer of a row."""
    documents, _ = cluster_codes(frame["doc_id"].to_list())
    table = ratings_table(frame)
    keyed = frame.with_columns(
        pl.concat_str("doc_id", pl.coalesce("model", "id"), separator="\x1f").alias(KEY),
        pl.col("judge", "criterion").fill_null("unnamed"),
    ).with_row_index("__row")
    judges = []
    for (judge,), judge_rows in sorted(keyed.partition_by("judge", as_dict=True).items()):
        places = judge_rows["__row"].to_numpy()
        score, ratings = judge_rows["judge_score"].to_numpy().astype(np.float64), table[places]
        rows = ScoreRows(
            judge=str(judge),
            frame=judge_rows,
            scale=scale,
            document=documents[places],
            score=score,
            ratings=ratings,
            target=human_target(ratings, target=target, scale=scale),
            error=judge_errors(score, ratings, target),
        )
        judges.append(rows)
    return judges


@dataclass(frozen=True)
class Plan:
    """A method: its rule, its calibration data, and which rows are calibrated together."""

    method: str
    rule: str
    answers: FloatArray
    group: IntArray


def _plans(rows: ScoreRows, by: str | None, *, several: bool, sets: str) -> Iterator[Plan]:
    """`sets` and the methods to compare; `several` criteria need not share a quantile."""
    frame, scale = rows.frame, rows.scale
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
    among, entries, scale = rows.by_criterion, rows.target, rows.scale
    coverage, size, rank = np.full((3, len(among), len(levels), len(halves)), np.nan)
    labelled = LabelledRows(plan.answers, entries, rows.document, levels, scale, random)

    def calibrate(half: BoolArray) -> dict[int, SetRule]:
        used, group = half[rows.document][entries.row], plan.group[entries.row]
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
                if tested.any():
                    coverage[c, a, s] = document_mean(covered[tested], rows.document[tested])
                    size[c, a, s] = document_mean(width[tested], rows.document[tested])
                    value = spearman(width[tested], rows.error[tested])
                    rank[c, a, s] = np.nan if value is None else value
    rules = calibrate(np.ones(len(halves[0]), dtype=bool))
    final = members_of(rules, plan.answers, plan.group, scale).sum(axis=2, dtype=np.int64)
    groups = []
    for c, (criterion, in_criterion) in enumerate(among.items()):
        used = [rules[int(group)] for group in np.unique(plan.group[in_criterion])]
        documents = rows.document[in_criterion]
        for a, level in enumerate(levels):
            if np.isnan(coverage[c, a]).all():
                continue
            widths = final[a][in_criterion]
            advice = advise(widths, scale=scale)
            reached = {rule.quantile(a) for rule in used}
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
                spearman=mean_or_none(rank[c, a][~np.isnan(rank[c, a])]),
                quantile=reached.pop() if len(reached) == 1 else None,
                whole_scale=all(rule.limits[a] is None for rule in used),
                **{word: float((advice == word).mean()) for word in ("trust", "look", "human")},
                by_width=error_by_width(
                    widths, rows.error[in_criterion], documents, scale, confidence_level
                ),
                errors=size_errors(widths, rows.error[in_criterion], documents, confidence_level),
            )
            groups.append(group)
    return groups, final


def judge_errors(score: FloatArray, ratings: FloatArray, target: str) -> FloatArray:
    """|judge - human| of each row: of the raters' rounded mean, or the mean over raters."""
    people = ratings
    if target == "mean":
        people = round_half_up(np.nanmean(ratings, axis=1, keepdims=True))
    return np.asarray(np.nanmean(np.abs(people - score[:, None]), axis=1))


def size_errors(
    widths: IntArray, error: FloatArray, documents: IntArray, confidence_level: float
) -> SizeErrors:
    """The mean error of rows with one or two scores in their set, and of the others."""
    small = (widths == 1) | (widths == 2)
    codes, groups = recode(documents)
    sums = [
        np.bincount(codes, weights=values, minlength=groups)
        for values in (small, small * error, ~small, ~small * error)
    ]

    def gap(totals: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(totals[:, 3] / totals[:, 2] - totals[:, 1] / totals[:, 0])

    bounds = -float(error.max(initial=0.0)), float(error.max(initial=0.0))
    ends = jackknife_interval(gap, np.stack(sums, axis=1), confidence_level, bounds=bounds)
    sides = mean_or_none(error[small]), mean_or_none(error[~small])
    return SizeErrors(small=sides[0], large=sides[1], interval=ends)


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
        n, mean = int(among.sum()), float(error[among].mean())
        bins.append(WidthBin(width=int(width), n=n, mean_error=mean, interval=ends))
    return tuple(bins)


# --- all judges ------------------------------------------------------------------------------


def _mean_scores(rows: ScoreRows, confidence_level: float) -> Iterator[MeanScore]:
    """The judge's mean and people's: over all rows, per criterion and per model if several."""
    people = np.nanmean(rows.ratings, axis=1)
    reach = float(rows.scale[1] - rows.scale[0])
    criteria = rows.by_criterion if len(rows.by_criterion) > 1 else {}
    model_of = rows.frame["model"]
    models = model_of.drop_nulls().unique(maintain_order=True)
    parts: list[tuple[str | None, str | None, BoolArray]] = [
        (None, None, np.ones(len(people), dtype=bool)),
        *((criterion, None, among) for criterion, among in criteria.items()),
        *((None, name, model_of.eq_missing(name).to_numpy()) for name in models if len(models) > 1),
    ]
    for criterion, model, among in parts:
        gap = (rows.score - people)[among]
        yield MeanScore(
            judge=rows.judge,
            criterion=criterion,
            model=model,
            n=len(gap),
            judge_mean=float(rows.score[among].mean()),
            human_mean=float(people[among].mean()),
            difference=float(gap.mean()),
            interval=mean_interval(
                gap, rows.document[among], confidence_level, bounds=(-reach, reach)
            ),
        )


def _family_points(
    judges: Sequence[ScoreRows], families: Mapping[str, str] | None, confidence_level: float
) -> Iterator[FamilyScores]:
    """Each judge's scores of its own family compared with people's, if it scored any."""
    for rows in judges:
        maker = family_of(rows.judge, families)
        of_judge = [] if maker is None else of_family(rows.frame["model"], maker, families)
        if any(of_judge):
            yield family_scores(
                rows.score - np.nanmean(rows.ratings, axis=1),
                rows.frame["model"].to_list(),
                of_judge,
                judge=rows.judge,
                family=maker,
                reference_name="people",
                confidence_level=confidence_level,
            )


def _between_judges(
    widths: Sequence[tuple[str, str, pl.DataFrame]], alpha: float
) -> Iterator[WidthAgreement]:
    """Rows that two judges both scored, matched by document, model and criterion."""
    for (first, method, sizes), (second, other, other_sizes) in combinations(widths, 2):
        if method != other:
            continue
        on = ["criterion", KEY]
        both = sizes.join(other_sizes.unique(on, keep="last"), on=on, maintain_order="left")
        for criterion in sizes["criterion"].unique(maintain_order=True):
            matched = both.filter(pl.col("criterion") == criterion)
            if not matched.is_empty():
                yield WidthAgreement(
                    judge_a=first,
                    judge_b=second,
                    criterion=criterion,
                    method=method,
                    alpha=alpha,
                    n=matched.height,
                    spearman=spearman(*matched.select("width", "width_right").to_numpy().T),
                )


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
