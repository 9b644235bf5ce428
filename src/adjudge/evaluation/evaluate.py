"""How good is the judge, and where is it wrong? On rows of any kind.

Agreement with people stands beside two bars: the best constant answer, and how often two people
agree. How the labels were drawn decides what the numbers are about. Rows with a doubt also have
what that doubt is worth (`evaluate_doubt`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl

from adjudge.data.judgments import Judgments
from adjudge.data.outcomes import code_sorted
from adjudge.data.rows import Rows, code_clusters, has_values
from adjudge.data.source import Reading, Source
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.compare import best_of
from adjudge.estimation.comparison import BestJudge
from adjudge.estimation.systems import of_clusters
from adjudge.evaluation.places import remark_places
from adjudge.evaluation.rows import (
    CHANCE,
    JUDGE,
    LABEL,
    RATERS,
    VERDICT,
    Asked,
    Drawing,
    ReadRows,
    Unit,
    read_rows,
)
from adjudge.evaluation.scores import ScoreAgreement, measure_scores
from adjudge.evaluation.slices import find_slices, slice_columns
from adjudge.evaluation.verdicts import JudgedWords, VerdictAgreement, measure_verdicts
from adjudge.present.blocks import Block
from adjudge.present.result import Check, Count, Level, Proportion, Result, frozen
from adjudge.records import HasInterval, Interval
from adjudge.selection.doubts.base import DoubtMethod, find_doubt
from adjudge.selection.evaluating import Evaluation, evaluate_doubt
from adjudge.selection.splits import ALPHAS
from adjudge.statistics.by_verdict import LEVEL, Draw, detect_draw, p_within_verdicts
from adjudge.statistics.clusters import freedom_of, share_interval
from adjudge.statistics.differences import FEWEST, all_gaps, possibly_best
from adjudge.validation import FloatArray, IntArray, generator, open_unit

_AT_RANDOM = "labelled rows are a random sample of the rows this is to hold for"
_INDEPENDENT = "rows are independent; if some belong together, name their column: --cluster"
_SLICES = "the chance that any slice is named although none differs is 5 % or less (Holm)"
_BY_VERDICT = "within each verdict, the labelled rows are a random (or complete) draw"
_NO_DOUBT = "what its doubt is worth is measured on labels drawn at random: not here"
_BEST = "the interval of the best judge is measured by simulation, not proven"


@dataclass(frozen=True, kw_only=True)
class UnlabelledJudge(HasInterval):
    """What rows without labels say about a judge: its verdicts, and how often the order flips them.

    `flips` is the share of the `asked_twice` pairs whose verdict changes with the order of the
    answers.
    """

    judge: str | None
    n_rows: Count
    verdicts: Mapping[str, Count]
    asked_twice: Count = 0
    flips: Proportion | None = None
    interval: Interval | None = None


def _some_judge(result: JudgeEvaluation) -> str | None:
    measured = result.judges or result.scores or result.unlabelled
    return None if measured else "judges, scores and unlabelled are empty"


@frozen
class JudgeEvaluation(Result):
    """Judges against people: verdicts in `judges`, scores in `scores`, neither without labels.

    `drawn` is how the labelled rows were drawn, None if nothing states it. `best` corrects the best
    of several judges for having been picked, `can_be_best` names those that no other is shown to
    exceed.
    """

    kind: ClassVar[str] = "judge_evaluation"
    checks: ClassVar[tuple[Check, ...]] = (_some_judge,)

    unit: Unit
    drawn: Drawing | None
    clustered_by: str | None
    confidence_level: Level
    judges: tuple[VerdictAgreement, ...] = ()
    scores: tuple[ScoreAgreement, ...] = ()
    unlabelled: tuple[UnlabelledJudge, ...] = ()
    best: BestJudge | None = None
    can_be_best: tuple[str, ...] = ()
    slices_by: tuple[str, ...] = ()
    doubt: Evaluation | None = None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]
    seed: Count | None

    @property
    def failed(self) -> int:
        """How many rows the judges failed."""
        return sum(n for reason, n in self.dropped.items() if reason.startswith("status "))

    @property
    def ranked(self) -> list[VerdictAgreement]:
        """The judges by agreement, the best first."""
        return sorted(self.judges, key=lambda judge: -(judge.agreement or 0.0))

    def _parts(self) -> Sequence[Any]:
        return self.judges or self.scores or self.unlabelled

    def view(self) -> list[Block]:
        from adjudge.evaluation.view import view_judges

        return view_judges(self)


def prepare_evaluation(
    rows: TableLike | Judgments,
    *,
    labels: TableLike | None = None,
    pairs: TableLike | None = None,
    judges: Sequence[str] = (),
    protocol: str | None = None,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    ties: str = "drop",
    cluster: str | None = "auto",
    choose_on: TableLike | None = None,
    doubt: DoubtMethod | str | None = None,
    model_labels: bool = False,
    **reading: Unpack[Reading],
) -> ReadRows:
    """Read rows of any kind once, for `evaluate` and `disagreements`; options as there."""
    named = [judges] if isinstance(judges, str) else list(judges)
    source = Source(rows, labels=labels, pairs=pairs, others={"choose_on": choose_on}, **reading)
    with source:
        asked = Asked(
            judges=named,
            protocol=protocol,
            judge_column=judge_column,
            human_column=human_column,
            positive=positive,
            ties=ties,
            cluster=cluster,
            choose_on=source.other("choose_on"),
            model_labels=model_labels,
        )
        read = read_rows(source, asked, find_doubt(doubt))
    if not read.frame.height:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in read.dropped.items())
        problem = f"no row has a judge verdict ({reasons})"
        raise DataError(read.name, problem, remedy="give rows that the judge has answered")
    return read


def evaluate(
    rows: TableLike | Judgments | ReadRows,
    *,
    labels: TableLike | None = None,
    pairs: TableLike | None = None,
    judges: Sequence[str] = (),
    protocol: str | None = None,
    slices: Sequence[str] | None = None,
    labels_by_verdict: bool = False,
    labels_are_random: bool = False,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    cluster: str | None = "auto",
    ties: str = "drop",
    alphas: Sequence[float | Fraction] = ALPHAS,
    delta: float | Fraction = 0.1,
    splits: int = 1000,
    doubt: DoubtMethod | str | None = None,
    choose_on: TableLike | None = None,
    model_labels: bool = False,
    confidence_level: float = 0.95,
    seed: int = 0,
    **reading: Unpack[Reading],
) -> JudgeEvaluation:
    """How good is the judge, and where is it wrong?

    Rows are grades of 0 and 1, probabilities, classes, scores or judgments of pairs, of one judge
    or several, or the log of another tool. Agreement with people is the share of labelled rows
    whose verdict is the label. It is compared with the best constant answer, and with how often two
    people agree if several labelled the same rows. Judgments of pairs and grades with a doubt also
    have what the doubt is worth.

    Args:
        rows: Rows with the judge's verdicts and, for some, people's. A file or a frame.
        labels: Human labels by id. A second table; its labels replace those in `rows`.
        pairs: The judged pairs, for texts and for a learned doubt that uses their length.
        judges: Name of a judge; repeatable. Names in the rows, or columns of verdicts. Default:
            every judge in the rows.
        protocol: Only this protocol's rows.
        slices: Columns in whose values errors are counted. Default: every column with 2 to 20
            values, without tokens, cost and time of calls.
        labels_by_verdict: State that labels were drawn by verdict, such as all fails and some
            passes. Numbers are then weighted to all rows.
        labels_are_random: State that the labelled rows are a random sample; no test is made.
        judge_column: Column of one judge's verdicts. Default: judge.
        human_column: Column of the human labels. Default: human.
        positive: For verdicts that are words: the one that counts as pass; all others fail.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent.
        ties: Human ties: drop, or error (count each as an error).
        alphas: Error level for the doubt; repeatable.
        delta: How often a guarantee with high probability can fail.
        splits: Random 50/50 splits by item, for the doubt.
        doubt: learned: verdict and doubt of one judge, from a share of the labels. Or an object
            that has its options: `Learned`, `Jury`, `Choices`. None: the doubt of each judge.
        choose_on: Evaluate only these ids; calibrate --leave-out takes the same file. What you
            choose here can then be calibrated on all other rows.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Without it they are refused.
        confidence_level: Level of all intervals.
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> rows = {"judge": [1] * 60 + [0] * 40, "human": [1] * 50 + [0] * 10 + [1] * 5 + [0] * 35}
    >>> result = evaluate(rows)
    >>> result.judges[0].agreement, round(result.judges[0].gain, 2)
    (0.85, 0.3)
    """
    level = open_unit(confidence_level, "confidence_level")
    if labels_by_verdict and labels_are_random:
        raise ArgumentError("labels_by_verdict", True, "labels were drawn by verdict or at random")
    read = rows
    if not isinstance(read, ReadRows):
        read = prepare_evaluation(
            read,
            labels=labels,
            pairs=pairs,
            judges=judges,
            protocol=protocol,
            judge_column=judge_column,
            human_column=human_column,
            positive=positive,
            ties=ties,
            cluster=cluster,
            choose_on=choose_on,
            doubt=doubt,
            model_labels=model_labels,
            **reading,
        )
    if read.frame[LABEL].count():
        read = _with_labelled_judges(read)
    about: dict[str, Any] = {
        "unit": read.unit,
        "clustered_by": _cluster_name(read),
        "confidence_level": level,
        "dropped": read.dropped,
        "seed": seed,
    }
    if not read.frame[LABEL].count():
        unlabelled = tuple(_without_labels(read, judge, level) for judge in read.judges)
        return JudgeEvaluation(**about, drawn=None, unlabelled=unlabelled, assumptions=())
    if read.scored:
        return JudgeEvaluation(
            **about,
            drawn=read.drawn,
            scores=tuple(_score(read, judge, level) for judge in read.judges),
            assumptions=_assumptions(read, read.drawn),
            warnings=_other_scale(read.frame),
        )
    drawn, warnings = _how_drawn(read, labels_by_verdict, labels_are_random, seed)
    labelled = read.frame.filter(pl.col(LABEL).is_not_null())
    warnings += remark_places(labelled)
    columns = slice_columns(labelled, slices, without=read.raters)
    measured = tuple(_measure(read, judge, drawn, columns, level, seed) for judge in read.judges)
    best, can_be_best = _best(read, drawn, level, seed)
    how: dict[str, Any] = {"ties": ties, "alphas": alphas, "delta": delta, "splits": splits}
    how |= {"doubt": doubt, "choose_on": choose_on, "cluster": cluster, "seed": seed}
    quality, why_not = _measure_doubt(read, measured, drawn, model_labels=model_labels, **how)
    warnings += why_not
    return JudgeEvaluation(
        **about,
        drawn=drawn,
        judges=measured,
        best=best,
        can_be_best=can_be_best,
        slices_by=tuple(columns),
        doubt=quality,
        assumptions=_assumptions(read, drawn, best=best is not None, sliced=bool(columns)),
        warnings=tuple(warnings),
    )


def _measure_doubt(
    read: ReadRows, judges: Sequence[VerdictAgreement], drawn: Drawing | None, **how: Any
) -> tuple[Evaluation | None, list[str]]:
    """What the doubt is worth over halves of labelled rows drawn at random, or why it is not."""
    if read.judgments is None or min(judge.clusters for judge in judges) < 2:
        return None, []
    if drawn in ("verdict", "chosen"):
        return None, [_NO_DOUBT]
    return evaluate_doubt(read.judgments, **how), []


def _with_labelled_judges(read: ReadRows) -> ReadRows:
    """The rows of judges with a label; the others are counted."""
    labelled = pl.col(LABEL).is_not_null().any().over(JUDGE)
    rows = Rows(read.frame, read.dropped).without(~labelled, "row of a judge without a label")
    return replace(read, frame=rows.frame, dropped=rows.dropped)


def _cluster_name(read: ReadRows) -> str | None:
    if read.cluster is None:
        return None
    return "prompt_id" if read.cluster.startswith("__") else read.cluster


def _assumptions(
    read: ReadRows, drawn: Drawing | None, *, best: bool = False, sliced: bool = False
) -> tuple[str, ...]:
    about_rows = {"verdict": _BY_VERDICT, "chosen": "it is about these rows, which were chosen"}
    lines = [about_rows.get(drawn or "", _AT_RANDOM)]
    lines.append(
        _INDEPENDENT
        if read.cluster is None
        else f"rows of one {_cluster_name(read)} can be alike; those of different ones are not"
    )
    lines += [_SLICES] * sliced + [_BEST] * best
    return (*lines, *read.makers)


# --- how the labels were drawn ---


def _words(read: ReadRows, judge: str | None, *, by_verdict: bool, seed: int) -> JudgedWords:
    """All rows of one judge."""
    frame = read.of_judge(judge)
    chances = frame[CHANCE]
    weights: FloatArray | None = None
    if chances.count() and not by_verdict:
        weights = 1 / chances.fill_null(1.0).to_numpy()
    cost = None
    if has_values(frame, "cost"):
        cost = float(frame["cost"].cast(pl.Float64, strict=False).mean() or 0.0)  # type: ignore[arg-type]
    return JudgedWords(
        judge=judge,
        verdicts=frame[VERDICT],
        labels=frame[LABEL],
        clusters=read.clusters(frame),
        weights=weights,
        by_verdict=by_verdict,
        raters=frame[RATERS] if frame[RATERS].count() else None,
        cost=cost,
        seed=seed,
    )


def _verdict_codes(words: JudgedWords) -> tuple[IntArray, list[str]]:
    """Verdicts as codes, and the name of each; the last is no verdict."""
    names, codes = code_sorted(words.verdicts)
    return np.where(codes < 0, len(names), codes), [*names, "none"]


def _how_drawn(
    read: ReadRows, by_verdict: bool, at_random: bool, seed: int
) -> tuple[Drawing | None, list[str]]:
    """How the labels were drawn: as recorded or declared, else as it looks; what to say of it."""
    drawn = read.drawn
    if by_verdict:
        drawn = "verdict"
    elif at_random and drawn != "plan":
        drawn = "random"
    warnings: list[str] = []
    judges = read.judges
    draws: dict[str | None, str] = {}
    if drawn in (None, "verdict"):
        for judge in judges:
            words = _words(read, judge, by_verdict=True, seed=seed)
            codes, names = _verdict_codes(words)
            draw = detect_draw(codes, words.labelled, words.clusters, seed=seed)
            if draw.p_value * len(judges) < LEVEL or drawn == "verdict":
                draws[judge] = _describe_draw(draw, names)
    if drawn is None and draws:
        drawn = "verdict"
    if drawn != "verdict":
        return drawn, warnings
    if len(judges) > 1:
        judge = next(iter(draws))
        raise DataError(
            read.name,
            f"labels look drawn by the verdict of {judge} ({draws[judge]}): agreement is weighted "
            "by it, which cannot be done for several judges at once",
            remedy=f"evaluate it alone: --judge '{judge}' (judges=), or state that the labels are "
            "random: --labels-are-random",
        )
    [judge] = judges
    _refuse_drawn_by_doubt(read, judge, seed)
    how = "labels" if by_verdict or read.drawn == "verdict" else "labels look drawn by verdict"
    warnings.append(f"{how}: {draws[judge]}; weighted to all rows")
    return drawn, warnings


def _describe_draw(draw: Draw, names: Sequence[str]) -> str:
    """As in "68 of 68 fail, 93 of 432 pass"."""
    shares = zip(draw.labelled, draw.rows, names, strict=False)
    return ", ".join(f"{labelled:,} of {rows:,} {name}" for labelled, rows, name in shares if rows)


def _refuse_drawn_by_doubt(read: ReadRows, judge: str | None, seed: int) -> None:
    """Labels of the doubtful rows of a verdict cannot be weighted by verdict."""
    frame = read.of_judge(judge)
    if not has_values(frame, "uncertainty"):
        return
    words = _words(read, judge, by_verdict=True, seed=seed)
    doubts = frame["uncertainty"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    codes, _ = _verdict_codes(words)
    p = p_within_verdicts(codes, words.labelled, doubts, words.clusters, seed=seed)
    if p < LEVEL:
        raise DataError(
            read.name,
            "within a verdict, labelled rows differ from others in the judge's doubt: no weight by "
            "verdict corrects that",
            remedy="label rows drawn at random (adjudge plan labels), or give each label's "
            "sampling_probability",
        )


# --- judges ---


def _measure(
    read: ReadRows,
    judge: str | None,
    drawn: Drawing | None,
    columns: Sequence[str],
    level: float,
    seed: int,
) -> VerdictAgreement:
    by_verdict = drawn == "verdict"
    words = _words(read, judge, by_verdict=by_verdict, seed=seed)
    labelled = read.of_judge(judge).filter(pl.col(LABEL).is_not_null())
    strata: IntArray | None = None
    weights = None if words.weights is None else words.weights[words.labelled]
    if by_verdict:
        codes, _ = _verdict_codes(words)
        strata = codes[words.labelled]
        rows = np.bincount(codes)
        weights = (rows / np.maximum(np.bincount(strata, minlength=len(rows)), 1))[strata]
    slices = find_slices(
        labelled,
        columns,
        words.errors,
        clusters=words.labelled_clusters,
        strata=strata,
        weights=weights,
    )
    return measure_verdicts(words, level, slices)


def _score(read: ReadRows, judge: str | None, level: float) -> ScoreAgreement:
    frame = read.of_judge(judge)
    labelled = frame.filter(pl.col(LABEL).is_not_null())
    ratings = labelled[LABEL].to_numpy()[:, None]
    if labelled[RATERS].null_count() == 0:
        width = int(labelled[RATERS].list.len().max() or 1)  # type: ignore[arg-type]
        lists = labelled[RATERS].to_list()
        ratings = np.array([[*each, *[np.nan] * (width - len(each))] for each in lists])
    return measure_scores(
        labelled[VERDICT].to_numpy(),
        ratings.astype(np.float64),
        name=judge,
        clusters=read.clusters(labelled),
        n_rows=frame.height,
        confidence_level=level,
    )


def _other_scale(frame: pl.DataFrame) -> tuple[str, ...]:
    """The warning that judge and people do not seem to score on one scale."""
    people = frame.select(pl.col(RATERS).list.explode().drop_nulls()).to_series()
    people = frame[LABEL].drop_nulls() if people.is_empty() else people
    spans = [(float(each.min()), float(each.max())) for each in (frame[VERDICT], people)]  # type: ignore[arg-type]
    (low, high), (lowest, highest) = spans
    if max(high - highest, lowest - low) <= (highest - lowest) / 2:
        return ()
    ranges = f"the judge scores from {low:g} to {high:g}, people from {lowest:g} to {highest:g}"
    return (f"it looks like two scales: {ranges}",)


def _best(
    read: ReadRows, drawn: Drawing | None, level: float, seed: int
) -> tuple[BestJudge | None, tuple[str, ...]]:
    """The best of several judges on rows that all judged, and which of them can be best.

    The same numbers as `compare --judges` gives.
    """
    names = [name for name in read.judges if name is not None]
    frame = read.frame.filter(pl.col(LABEL).is_not_null())
    if len(names) < 2 or drawn in ("plan", "verdict") or "id" not in frame.columns:
        return None, ()
    names = sorted(names)
    right = (pl.col(VERDICT) == pl.col(LABEL)).fill_null(False).cast(pl.Float64)
    wide = frame.select("id", JUDGE, right=right).pivot(
        on=JUDGE, index="id", values="right", aggregate_function="mean", maintain_order=True
    )
    wide = wide.drop_nulls()
    scores = wide.select(names).to_numpy()
    zero_one = bool(np.isin(scores, (0.0, 1.0)).all())
    freedom = math.inf
    if read.cluster is not None:
        together = pl.col(read.cluster).first().alias("__together")
        first = frame.group_by("id", maintain_order=True).agg(together)
        clusters = code_clusters(wide.join(first, on="id", how="left")["__together"])
        size = int(clusters.max(initial=-1)) + 1
        if size < len(scores):
            zero_one = False
            freedom = freedom_of(clusters)
            scores = of_clusters(scores, clusters, np.ones(size, dtype=np.bool_))
    if len(scores) < FEWEST:
        return None, ()
    rng = generator(seed)
    gaps = all_gaps(scores, zero_one=zero_one)
    influence = (scores - scores.mean(axis=0)) / len(scores)
    possible = possibly_best(gaps, influence, rng, confidence_level=level)
    best = best_of(scores, names, rng, level, freedom)
    return best, tuple(name for name, keep in zip(names, possible, strict=True) if keep)


def _without_labels(read: ReadRows, judge: str | None, level: float) -> UnlabelledJudge:
    frame = read.of_judge(judge)
    verdicts = frame[VERDICT]
    counts: dict[str, int] = {}
    if not read.scored:
        table = verdicts.drop_nulls().value_counts(sort=True, name="rows")
        counts = {str(word): rows for word, rows in table.rows()}
        if verdicts.null_count():
            counts["no verdict"] = verdicts.null_count()
    result = UnlabelledJudge(judge=judge, n_rows=frame.height, verdicts=counts)
    if not {"p_fwd", "p_rev"} <= {*frame.columns}:
        return result
    both = frame.filter(pl.col("p_fwd").is_not_null() & pl.col("p_rev").is_not_null())
    if both.is_empty():
        return result
    flipped = ((pl.col("p_fwd") - 0.5) * (pl.col("p_rev") - 0.5) < 0).cast(pl.Float64)
    flips = both.select(flipped).to_series().to_numpy()
    codes = read.clusters(both)
    ends = share_interval(flips, np.arange(len(flips)) if codes is None else codes, level)
    return replace(result, asked_twice=both.height, flips=float(flips.mean()), interval=ends)


def disagreements(rows: ReadRows) -> pl.DataFrame:
    """The labelled rows whose verdict is not the label, with all columns of the file.

    Of scores, rows with another score than people's mean, the largest distance first.

    >>> table = {"id": ["x", "y"], "judge": [1, 0], "human": [1, 1], "reason": ["good", "short"]}
    >>> wrong = disagreements(prepare_evaluation(table))
    >>> wrong.select("id", "verdict", "label", "reason").rows()
    [('y', 'fail', 'pass', 'short')]
    """
    frame = rows.frame.filter(pl.col(LABEL).is_not_null())
    wrong = frame.filter(pl.col(VERDICT).ne_missing(pl.col(LABEL)))
    verdict, label = pl.col(VERDICT).alias("verdict"), pl.col(LABEL).alias("label")
    first: list[pl.Expr] = [pl.col("id")] if "id" in frame.columns else []
    if wrong[JUDGE].drop_nulls().n_unique() > 1:
        first.append(pl.col(JUDGE).alias("judge"))
    first += [verdict, label]
    if rows.scored:
        distance = pl.col(VERDICT) - pl.col(LABEL)
        first.append(distance.alias("difference"))
        wrong = wrong.sort(distance.abs(), descending=True)
    here = {*(each.meta.output_name() for each in first), "judge", "human", "label_given"}
    rest = [
        column
        for column in wrong.columns
        if column not in here
        and not column.startswith("__")
        and wrong[column].null_count() < wrong.height
    ]
    return wrong.select(*first, *rest)
