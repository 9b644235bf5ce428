"""Which rows to label: a random sample of all rows, or of the rows where a judge is surest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from adjudge.data.columns import UNNAMED
from adjudge.data.grades import Grades, prepare_grades
from adjudge.data.judgments import Judgments, prepare_judgments
from adjudge.data.labels import BY_SCORE, ways_of
from adjudge.data.rows import (
    Rows,
    cluster_column,
    identities,
    measured,
    merge_dropped,
    one_row_per_cluster,
)
from adjudge.data.source import Reading
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError, DataError
from adjudge.policy.result import Cut, Rule
from adjudge.present.blocks import Block, Fact, Facts, Headline, Note
from adjudge.present.result import Check, Count, Level, Result, at_most, frozen
from adjudge.present.text import count, left_out, number, percent
from adjudge.records import SampledBy
from adjudge.selection.labelled import cuts_of
from adjudge.validation import count as check_count
from adjudge.validation import exact_level, finite


@frozen
class LabelPlan(Result):
    """Pairs sampled for labelling, in random order: from all, or from a judge's surest below a cut.

    `n_pool` rows could be judged by the rule that these labels will give; `n_below` of them are not
    above the cut.
    """

    kind: ClassVar[str] = "plan_labels"
    checks: ClassVar[tuple[Check, ...]] = (at_most("n", "n_below"), at_most("n_below", "n_pool"))

    sampled_by: SampledBy
    surest: Level | None
    cut: Cut | None
    n: Count
    n_pool: Count
    n_below: Count
    seed: Count
    ids: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]

    def _parts(self) -> Sequence[Mapping[str, str | float | None]]:
        cut = {} if self.cut is None else self.cut.columns
        return [{"id": name, "sampled_by": self.sampled_by, **cut} for name in self.ids]

    def view(self) -> list[Block]:
        """Which rows to label, below which cut, and what the labels are good for."""
        if self.cut is None:
            return [
                Headline(f"Label these {self.n:,} of {count(self.n_pool, 'row')}, drawn at random"),
                Note(["They can calibrate a policy and estimate a rate.", *left_out(self.dropped)]),
            ]
        most = percent(self.cut.share)
        return [
            Headline(
                f"Label these {self.n:,} pairs, drawn at random among {self.cut.name}",
                f"A policy from these labels accepts at most {most} of the verdicts.",
            ),
            Facts(
                [
                    Fact("scored verdicts", number(self.n_pool)),
                    Fact(
                        "below the cut",
                        number(self.n_below),
                        f"an uncertainty of at most {self.cut.at:.6g}; tied rows are included",
                    ),
                ]
            ),
            Note(
                [
                    "Use them with pac if random labels would let it accept clearly less than this "
                    "share: it then has more labels near its threshold. If not, it accepts less. "
                    "scope gains nothing from them.",
                    f"calibrate, select and serve never accept above the cut: the other "
                    f"{count(self.n_pool - self.n_below, 'verdict')} go to people.",
                    "Do not choose the share from these labels: to try another share, draw new "
                    "labels.",
                    "They cannot estimate a rate; labels drawn at random can.",
                    *(f"note: {line}" for line in self.warnings),
                    *left_out(self.dropped),
                ]
            ),
        ]


def plan_labels(
    judgments: TableLike | Judgments,
    *,
    surest: float | Fraction | None = None,
    n: int | None = None,
    labels: TableLike | None = None,
    judge: str | None = None,
    protocol: str | None = None,
    cluster: str | None = "auto",
    seed: int = 0,
    **reading: Unpack[Reading],
) -> LabelPlan:
    """Sample unlabelled pairs: from all, or (`surest`) from that share of a judge's verdicts.

    With `surest`, the cut is the smallest observed uncertainty with at least that share of the
    usable rows at or below it. All rows count, labelled or not, and tied rows stay together. Pairs
    are sampled uniformly below the cut. A threshold below the cut then has the same distribution as
    among rows sampled at random from there, so every guarantee holds without weights for rows below
    the cut. The policy accepts nothing above it.

    One row is sampled per cluster. Rows are sampled by id, so their order in the file does not
    matter. A pair whose label was sampled by its score can be sampled again, because a random
    sample would include it too.

    Args:
        judgments: Judgments with p_a, or p_fwd and p_rev. A file or a frame, of judgments or
            grades.
        surest: Draw among this share of the judge's surest verdicts, for a policy by pac. Do not
            choose it with these labels. The policy accepts nothing outside this share. Without it,
            draw among all pairs: for any policy or rate.
        n: How many pairs to label. Default: 200, or all if there are fewer.
        labels: Human labels by id, for rows without a label.
        judge: Only this judge's rows.
        protocol: Only this protocol's rows.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        seed: Seed of everything random.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> rows = {"id": range(10), "p_a": [0.99 - 0.04 * i for i in range(10)]}
    >>> plan = plan_labels(rows, surest=0.5, n=2)
    >>> plan.cut.share, plan.n_below, plan.to_frame()["sampled_by"].to_list()
    (0.5, 5, ['surest', 'surest'])
    """
    if n is not None:
        check_count(n, "n", least=1)
    check_count(seed, "seed")
    try:
        prepared: Judgments | Grades = prepare_judgments(
            judgments, labels=labels, judge=judge, protocol=protocol, **reading
        )
        frame = prepared.frame
    except DataError as error:
        named = any(option is not None for option in (surest, judge, protocol))
        if named or error.column not in ("p_a", "p_pass") or isinstance(judgments, Judgments):
            raise
        try:
            prepared = prepare_grades(judgments, labels=labels, needs_labels=False, **reading)
        except DataError:
            raise error from None
        frame = _grades_without_doubt(prepared)
    if "label" not in frame.columns:
        frame = frame.with_columns(label=pl.lit(None, pl.String))
    if "sampled_by" in frame.columns:
        frame = frame.with_columns(ways_of(frame, frame["label"].is_not_null(), prepared.name))
    rows = Rows(frame, prepared.dropped)
    column = cluster_column(rows.frame, cluster, within=["judge", "protocol"])
    pool = below = rows.frame.unique("id")
    share, cut, warnings = None, None, []
    again: tuple[str, ...] = BY_SCORE
    if surest is not None:
        share, again = exact_level(surest, "surest"), ("doubt", "audit")
        rows = measured(rows)
        pool, cut = rows.frame, _cut(rows.frame, share)
        below = pool.filter(pl.Series(cut.rule.accept(pool["uncertainty"].to_numpy())))
        if below.height == pool.height:
            remedy = "all rows are tied at the cut: give a smaller share, or sample at random"
            raise ArgumentError("surest", surest, remedy)
        earlier = cuts_of(pool.filter(pl.col("label").is_not_null()), prepared.name)
        warnings = [
            f"earlier labels were sampled among {old.name}: together with these they calibrate "
            "only below that cut"
            for old in earlier
            if old.at < cut.at
        ]
    ids = _sample_ids(
        rows.frame, n, column, seed, again=again, among=None if cut is None else below
    )
    return LabelPlan(
        sampled_by="random" if cut is None else "surest",
        surest=None if share is None else float(share),
        cut=cut,
        n=len(ids),
        n_pool=pool.height,
        n_below=below.height,
        seed=seed,
        ids=tuple(ids),
        warnings=tuple(warnings),
        dropped=merge_dropped(rows.dropped),
    )


def _grades_without_doubt(grades: Grades) -> pl.DataFrame:
    """Rows of 0 and 1 in the columns of judgments: a random draw needs no doubt."""
    if "id" not in grades.frame.columns:
        remedy = "name yours: --column id=NAME (columns=): people's labels are joined by it"
        raise DataError(grades.name, "is missing", column="id", remedy=remedy)
    labels = pl.col("human").cast(pl.String).alias("label")
    names = (pl.lit(UNNAMED).alias(name) for name in ("judge", "protocol"))
    return grades.frame.with_columns(labels, *names, pl.col("id").cast(pl.String))


def cut_at(scores: ArrayLike, share: float | Fraction) -> float:
    """The smallest score with at least this share of all scores at or below it.

    >>> cut_at([0.4, 0.1, 0.2, 0.3, 0.2], 0.5)
    0.2
    """
    ordered = np.sort(finite(scores, "scores"))
    return float(ordered[math.ceil(exact_level(share, "surest") * len(ordered)) - 1])


def _cut(rows: pl.DataFrame, share: Fraction) -> Cut:
    """The cut of one judge's scores with this share of the rows at or below it."""
    judges_here = identities(rows)
    judges = sorted({str(judge) for judge in judges_here})
    if len(judges) != 1:
        remedy = f"choose one of {', '.join(judges)}" if judges else "no row has a usable score"
        raise ArgumentError("judge", None, remedy)
    scores = rows.get_column("uncertainty").to_numpy()
    at = cut_at(scores, share)
    prints = {judge.fingerprint for judge in judges_here}
    return Cut(
        judge=judges_here[0].judge or UNNAMED,
        protocol=judges_here[0].protocol,
        judge_fingerprint=prints.pop() if len(prints) == 1 else None,
        at=at,
        share=float(Rule(accepts="below", threshold=at).accept(scores).mean()),
    )


def _sample_ids(
    frame: pl.DataFrame,
    n: int | None,
    cluster: str | None,
    seed: int,
    *,
    again: tuple[str, ...],
    among: pl.DataFrame | None = None,
) -> list[str]:
    """`n` ids of rows without a label in random order, one per cluster; None: 200, or all.

    A row can be sampled again if its label was sampled in one of the ways in `again`. One row
    represents a cluster. It is chosen before checking whether it is `among` the wanted rows;
    otherwise clusters with more such rows would get more weight than in a sample of all rows.
    """
    done = frame.filter(pl.col("label").is_not_null())
    if "sampled_by" in frame.columns:
        done = done.filter(~pl.col("sampled_by").is_in(again).fill_null(False))
    left = frame.unique("id").join(done, on="id", how="anti").sort("id")
    if cluster is not None:
        met = pl.col(cluster).is_in(done[cluster].drop_nulls().to_list())
        left = left.filter(~met.fill_null(False))
        left = left[one_row_per_cluster(left[cluster].to_list(), seed=seed).tolist()]
    if among is not None:
        left = left.join(among, on="id", how="semi", maintain_order="left")
    n = min(200, max(left.height, 1)) if n is None else n
    if left.height < n:
        where = "" if among is None else " below the cut"
        raise ArgumentError(
            "n", n, f"only {left.height} unlabelled rows{where} are left to sample from"
        )
    pick = np.random.default_rng(seed).permutation(left.height)[:n]
    return [left["id"][row] for row in pick.tolist()]
