"""How far people's scores lie from the judge's, and whether the width of the set says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from adjudge._validation import Seed, count, exact_level, generator, one_of, open_unit
from adjudge.diagnosis._score_evaluation import Widths, evaluate_method, random_half
from adjudge.diagnosis._score_rows import ScoreRows, split_by_judge
from adjudge.diagnosis._widths import spearman, width_agreement
from adjudge.diagnosis.agreement import agreement
from adjudge.diagnosis.family import family_of
from adjudge.diagnosis.family_scores import family_scores
from adjudge.diagnosis.score_findings import assumptions, findings
from adjudge.diagnosis.score_sets import checked_scale
from adjudge.diagnosis.targets import TARGETS
from adjudge.errors import ArgumentError, DataError
from adjudge.io.tables import TableLike
from adjudge.results.bias import FamilyScores
from adjudge.results.diagnosis import (
    HumanAgreement,
    PooledWidth,
    ScoreDiagnosis,
    ScoreSetGroup,
    WidthAgreement,
)
from adjudge.rows.scores import Scores, prepare_scores, scored_by_both

ALPHAS = (0.05, 0.10, 0.15, 0.20)
#: The level at which judges' widths are compared, as in the paper.
_MAIN = Fraction(1, 10)


def diagnose_scores(
    source: TableLike | Scores,
    *,
    alphas: Sequence[float | str] = ALPHAS,
    scale: tuple[int, int] = (1, 5),
    target: str = "mean",
    raters: Sequence[str] | None = None,
    by: str | None = None,
    weigh: str = "documents",
    splits: int = 20,
    columns: Mapping[str, str] | None = None,
    families: Mapping[str, str] | None = None,
    confidence_level: float = 0.95,
    rng: Seed = 0,
) -> ScoreDiagnosis:
    """Coverage and size of conformal sets per judge and criterion, and what their width tells.

    `source` is a frame or a path with doc_id, judge_score and people's scores (human_score, or one
    column per rater); model, criterion, judge, score_probs if there are. Methods: "constant", one
    quantile of |judge - human| per judge; "per-criterion" and, with `by`, "per-group", one per
    criterion (and group); "adaptive", per criterion from score_probs. Each is calibrated on a
    random half of the documents and tested on the other half, `splits` times; coverage and size
    are means over documents of the means over their rows. Widths, advice and the error at each
    width use the quantile of all labelled documents. Where models of the judge's own family are
    among those scored (known by name, or by `families`), `family` says whether it favours them.

    >>> rows = {"doc_id": [str(d) for d in range(40)], "judge_score": [3, 4] * 20,
    ...         "human_score": [3, 4] * 20}
    >>> group = diagnose_scores(rows, alphas=[0.1]).groups[0]
    >>> group.coverage, group.mean_size
    (1.0, 1.0)

    The coverage promise is the average over documents (see `ScoreSets`); one criterion inside a
    quantile shared by all ("constant") has none of its own.
    """
    levels = [exact_level(alpha, "alphas") for alpha in alphas]
    if not levels:
        raise ArgumentError("alphas", [], "give at least one error level")
    limits = checked_scale(scale)
    one_of(target, TARGETS, "target")
    one_of(weigh, ("documents", "rows"), "weigh")
    count(splits, "splits", least=1)
    open_unit(confidence_level, "confidence_level")
    given = prepare_scores(source, raters=raters, columns=columns)
    if by is not None and by not in given.frame.columns:
        raise DataError(given.name, "is not there", column=by, remedy="name a column to group by")
    labelled = scored_by_both(given)
    frame = labelled.frame
    documents = frame["doc_id"].n_unique()
    if documents < 2:
        raise DataError(given.name, "has one labelled document", remedy="label at least two")
    judges = split_by_judge(frame, scale=limits, target=target, by=by)
    random = generator(rng)
    halves = [random_half(documents, random) for _ in range(splits)]
    groups: list[ScoreSetGroup] = []
    widths: dict[tuple[str, str], Widths] = {}
    for rows in judges:
        for method in rows.plans:
            evaluated, widths[rows.judge, method] = evaluate_method(
                rows,
                method,
                levels,
                halves,
                scale=limits,
                weigh=weigh,
                confidence_level=confidence_level,
            )
            groups += evaluated
    main = _MAIN if _MAIN in levels else levels[0]
    human = _human_agreement(judges, confidence_level)
    pooled = _pooled(judges, widths, levels)
    family = _family(judges, families, confidence_level)
    return ScoreDiagnosis(
        groups=tuple(groups),
        agreement=_between_judges(judges, widths, main, confidence_level),
        pooled=pooled,
        human_agreement=human,
        family=family,
        scale=limits,
        target=target,
        weigh=weigh,
        splits=splits,
        seed=rng if isinstance(rng, int) else None,
        dropped=labelled.dropped,
        findings=(
            *findings(judges, groups, pooled, documents, limits, main),
            *(f"{found.judge} {found.finding}" for found in family),
        ),
        assumptions=assumptions(weigh, target),
    )


def _family(
    judges: Sequence[ScoreRows], families: Mapping[str, str] | None, confidence_level: float
) -> tuple[FamilyScores, ...]:
    """Each judge's scores of its own family beside people's, where it scored any."""
    found = []
    for rows in judges:
        maker = family_of(rows.judge, families)
        own = [
            maker is not None and model is not None and family_of(model, families) == maker
            for model in rows.model
        ]
        if not any(own):
            continue
        found.append(
            family_scores(
                rows.score - np.nanmean(rows.ratings, axis=1),
                rows.model.tolist(),
                own,
                judge=rows.judge,
                family=maker,
                reference_name="people",
                confidence_level=confidence_level,
            )
        )
    return tuple(found)


def _human_agreement(
    judges: Sequence[ScoreRows], confidence_level: float
) -> tuple[HumanAgreement, ...]:
    found = []
    for rows in judges:
        for criterion in rows.criteria:
            own = rows.criterion == criterion
            found.append(
                HumanAgreement(
                    judge=rows.judge,
                    criterion=criterion,
                    agreement=agreement(
                        rows.score[own].tolist(),
                        rows.ratings[own].tolist(),
                        level="interval",
                        clusters=rows.document[own],
                        confidence_level=confidence_level,
                    ),
                )
            )
    return tuple(found)


def _between_judges(
    judges: Sequence[ScoreRows],
    widths: Mapping[tuple[str, str], Widths],
    level: Fraction,
    confidence_level: float,
) -> tuple[WidthAgreement, ...]:
    """Rows that two judges both scored, matched by document, model and criterion."""
    found = []
    for first, second in combinations(judges, 2):
        for method in (plan for plan in first.plans if plan in second.plans):
            for criterion in (c for c in first.criteria if c in second.criteria):
                mine, theirs = (np.flatnonzero(j.criterion == criterion) for j in (first, second))
                place = {key: at for at, key in zip(theirs, second.key[theirs], strict=True)}
                both = [(at, place[first.key[at]]) for at in mine if first.key[at] in place]
                if not both:
                    continue
                a, b = (np.array(side) for side in zip(*both, strict=True))
                value, interval = width_agreement(
                    widths[first.judge, method][level][a],
                    widths[second.judge, method][level][b],
                    first.document[a],
                    confidence_level,
                )
                found.append(
                    WidthAgreement(
                        judge_a=first.judge,
                        judge_b=second.judge,
                        criterion=criterion,
                        method=method,
                        alpha=float(level),
                        n=len(both),
                        spearman=value,
                        low=interval[0],
                        high=interval[1],
                    )
                )
    return tuple(found)


def _pooled(
    judges: Sequence[ScoreRows],
    widths: Mapping[tuple[str, str], Widths],
    levels: Sequence[Fraction],
) -> tuple[PooledWidth, ...]:
    """Width against error over everything, and the mean of what is left within one criterion."""
    found = []
    for method in dict.fromkeys(plan for rows in judges for plan in rows.plans):
        having = [rows for rows in judges if method in rows.plans]
        for level in levels:
            width = np.concatenate([widths[rows.judge, method][level] for rows in having])
            error = np.concatenate([rows.error for rows in having])
            inner = [
                spearman(widths[rows.judge, method][level][own], rows.error[own])
                for rows in having
                for criterion in rows.criteria
                for own in (rows.criterion == criterion,)
            ]
            within = [value for value in inner if value is not None]
            found.append(
                PooledWidth(
                    method=method,
                    alpha=float(level),
                    n=len(width),
                    pooled=spearman(width, error),
                    within=float(np.mean(within)) if within else None,
                )
            )
    return tuple(found)
