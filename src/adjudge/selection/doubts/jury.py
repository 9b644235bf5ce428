"""Juries, the judges of a pair as one; and learned doubt, over a jury or over one judge.

A jury is the mean of its judges' log odds. A learned doubt uses a share of the labels to learn
verdict and doubt; the rest calibrates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.data.judgments import ERROR, IS_ERROR, WORDS, doubt_ties
from adjudge.data.rows import Identity, identities, verdict_by
from adjudge.errors import ArgumentError
from adjudge.judges.judge import match_judge
from adjudge.policy.doubts import DoubtReport, JuryReport, Lengths
from adjudge.policy.result import Policy
from adjudge.records import MEASURED, About, Grade, Pair, Subject
from adjudge.selection.doubts.base import (
    NO_LENGTHS,
    Answers,
    Coverage,
    Decision,
    Doubt,
    DoubtMethod,
    FittedDoubt,
    Labelled,
    Own,
    OwnDoubt,
    ScoredRows,
)
from adjudge.selection.doubts.evidence import (
    FEWEST_LEARNING,
    MOST_ODDS,
    ORDER_GAP,
    TAIL,
    Evidence,
    LearnedMargin,
    advise_learning,
    check_context,
    count_overturned,
    gap_between,
    judge_evidence,
    lengths_in,
    log_odds,
    with_context,
    with_learned,
)
from adjudge.selection.labelled import NewRows
from adjudge.statistics.entropy import preference_entropy
from adjudge.statistics.numbers import cluster_codes
from adjudge.statistics.ridge import PENALTIES
from adjudge.store import StorePlace
from adjudge.validation import BoolArray, FloatArray, one_of, open_unit

#: How a jury combines its judges without labels.
JURIES = ("mean",)
#: The value in the judge column of a jury's rows.
JURY = "jury"
#: The column with the names of a jury's members.
MEMBER = "__member"
INCOMPLETE = "not scored by every judge of the jury"
IS_MEASURED = pl.col("status").is_in(list(MEASURED))
LEARNED_FROM = "label used to learn the doubt"
#: Columns about one judge's row; all others are about the pair.
OF_JUDGES = frozenset({
    "judge", "protocol", "status", "p_fwd", "p_rev", "p_a", "p_tie", "uncertainty", "verdict",
    "answer_mass", "judge_fingerprint", "server", "tokens", "cost", "detail", MEMBER, ERROR,
})  # fmt: skip


@dataclass(frozen=True)
class JudgeTable:
    """What several judges said: `frame` has one row per id, with the columns that all share.

    `of_judges` has the rows of each judge in the same order, empty if it was not asked.
    """

    frame: pl.DataFrame
    of_judges: tuple[pl.DataFrame, ...]

    @classmethod
    def build(cls, judged: Sequence[pl.DataFrame]) -> JudgeTable:
        """From the rows of each judge; the ids are in their order."""
        judged = [rows.unique("id", maintain_order=True) for rows in judged]
        several = pl.concat(judged, how="diagonal_relaxed")
        shared = [name for name in several.columns if name not in OF_JUDGES and name != "id"]
        frame = several.group_by("id", maintain_order=True).agg(
            pl.col(name).drop_nulls().first() for name in shared
        )
        each = [rows.select("id", *(c for c in rows.columns if c in OF_JUDGES)) for rows in judged]
        join: dict[str, Any] = {"on": "id", "how": "left", "maintain_order": "left"}
        ids = frame.select("id")
        # Most often all judges were asked about the same rows, and nothing has to be matched.
        of_judges = (r if r["id"].equals(ids["id"]) else ids.join(r, **join) for r in each)
        return cls(frame, tuple(of_judges))

    def across(self, cell: pl.Expr) -> NDArray[Any]:
        """A column for each judge; what is unknown of a condition is false."""
        columns = [rows.select(cell).to_series() for rows in self.of_judges]
        return np.column_stack(
            [c.fill_null(False) if c.dtype == pl.Boolean else c for c in columns]
        )

    @property
    def asked(self) -> BoolArray:
        return self.across(pl.col("status").is_not_null())

    def evidence(self, names: Sequence[str]) -> Evidence:
        """The judges' answers; without order gaps unless every score is of both orders."""

        def numbers(name: str) -> FloatArray:
            return self.across(pl.col(name).cast(pl.Float64).fill_null(np.nan))

        p = np.where(self.across(IS_MEASURED), numbers("p_a"), np.nan)
        gaps = gap_between(numbers("p_fwd"), numbers("p_rev"))
        complete = not (np.isnan(gaps) & ~np.isnan(p)).any()
        return Evidence(
            judges=tuple(names),
            p=p,
            order_gaps=gaps if complete else None,
            ties=self.across(pl.col("verdict") == "tie"),
        )


def jury_preference(
    p: FloatArray,
    weights: Sequence[float] | None = None,
    most_odds: float = MOST_ODDS,
    tail: float = TAIL,
) -> FloatArray:
    """The p of several judges as one, from a row per pair and a column per judge.

        p = sigma(sum_j w_j x_j),    x_j = log(p_j / (1 - p_j)), clipped at +-most_odds

    with equal weights that sum to 1 and a slope of `tail` outside the clipping range. There is no
    intercept, so that swapping A and B turns p into 1 - p. Log odds are averaged, not
    probabilities, because judges are overconfident: if p is 0.99 for most pairs, a mean of p only
    counts votes and no longer separates the surer pairs. The odds are clipped because one judge
    with p = 0.9999 would outvote all others.

    >>> jury_preference(np.array([[0.9, 0.5]])).round(3)
    array([0.75])
    """
    # By columns, so that the rounding of a row does not depend on the other rows.
    odds = np.asfortranarray(log_odds(p, most_odds, tail))
    x = odds @ np.asarray(weights or _equal_weights(p.shape[1]))
    # sigma(-x) is computed as 1 - sigma(x), so that a swapped pair mirrors exactly.
    top = 1 / (1 + np.exp(-np.abs(x)))
    return np.asarray(np.where(x >= 0, top, 1 - top))


def _equal_weights(judges: int) -> tuple[float, ...]:
    return (1 / judges,) * judges


@dataclass(frozen=True)
class JuryDoubt(Doubt):
    """Several judges as one. Its rows are those that every judge scored.

    A `learned` jury has the rows of the mean jury: a learned doubt over it keeps the verdict
    without labels.
    """

    method: str
    weights: tuple[float, ...]
    judges: tuple[str, ...]
    fingerprints: tuple[str, ...]
    most_odds: float = MOST_ODDS
    tail: float = TAIL

    not_servable = "the policy of a jury needs several judges; serve takes one"

    @classmethod
    def load(cls, policy: Policy) -> JuryDoubt | None:
        if (saved := policy.jury) is None:
            return None
        names = (saved.judges, policy.judge_fingerprints)
        return cls(saved.method, saved.weights, *names, saved.most_odds, saved.tail)

    def score(self, new: NewRows) -> ScoredRows:
        frame = name_members(new.measured)
        there = set(frame[MEMBER].unique().to_list())
        missing = [name for name in self.judges if name not in there]
        if missing:
            raise ArgumentError(
                "judgments", ", ".join(sorted(there)), "also needs " + ", ".join(missing)
            )
        frame = frame.filter(pl.col(MEMBER).is_in(list(self.judges)))
        rows, evidence = self.assemble(frame, new.about)
        everything = _with_incomplete(new.everything, rows)
        return ScoredRows(
            rows=doubt_ties(rows),
            judge_verdicts=self.first_verdicts(rows, frame),
            everything=everything,
            unscored={INCOMPLETE: everything.height - rows.height},
            reason=pl.lit(INCOMPLETE),
            evidence=evidence,
        )

    def first_verdicts(self, rows: pl.DataFrame, frame: pl.DataFrame) -> pl.Series:
        first = frame.filter(pl.col(MEMBER) == self.judges[0]).select("id", "verdict")
        return rows.select("id").join(first, on="id", how="left", maintain_order="left")["verdict"]

    def check_judges(self, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
        members = [Identity(fingerprint=name) for name in self.fingerprints]
        for judge in identities(frame):
            if judge.fingerprint is not None and members:
                match_judge(members, Identity(fingerprint=judge.fingerprint), made="the jury")
        return []

    def assemble(self, frame: pl.DataFrame, about: About) -> tuple[pl.DataFrame, Evidence]:
        """The jury's rows, and the evidence of its members in the same order.

        The jury's p_tie is the mean over its judges, with 0 for a judge without ties.
        """
        table = JudgeTable.build([frame.filter(pl.col(MEMBER) == name) for name in self.judges])
        evidence = table.evidence(self.judges)
        rows = table.frame
        by_id = rows["id"].arg_sort().to_numpy()
        scored = by_id[~np.isnan(evidence.p[by_id]).any(axis=1)]
        if not len(scored):
            names = ", ".join(self.judges)
            raise ArgumentError("jury", names, "no pair was scored by all of them")
        if "p_tie" in frame.columns:
            ties = frame.group_by("id").agg(pl.col("p_tie").fill_null(0.0).mean())
            rows = rows.join(ties, on="id", how="left", maintain_order="left")
        evidence = evidence.take(scored)
        p = jury_preference(evidence.p, self.weights, self.most_odds, self.tail)
        verdict = verdict_by(rows.columns, WORDS[about])
        rows = rows[scored].with_columns(
            judge=pl.lit(JURY),
            protocol=pl.lit(self.method),
            status=pl.lit("ok"),
            p_a=pl.Series(p),
            uncertainty=pl.Series(preference_entropy(p)),
            judge_fingerprint=pl.lit(None, pl.String),
        )
        return rows.with_columns(verdict=verdict), evidence


def fit_jury(
    doubt: JuryDoubt, rows: pl.DataFrame, members: pl.DataFrame, **others: Any
) -> FittedDoubt:
    """A jury and its labelled rows; `members` are those of its judges."""
    alone = {name: members.filter(pl.col(MEMBER) == name) for name in doubt.judges}

    def policy_fields(coverage: Coverage, total: float) -> dict[str, Any]:
        report = JuryReport(
            method=doubt.method,
            judges=doubt.judges,
            weights=doubt.weights,
            most_odds=doubt.most_odds,
            tail=doubt.tail,
            n_training=0,
            coverage=total,
            coverage_alone={name: coverage(judged) for name, judged in alone.items()},
        )
        return {"jury": report}

    return FittedDoubt(
        doubt,
        rows,
        assumptions=(
            f"the jury's weights ({doubt.method}) were not learned from the calibration labels",
        ),
        cautions=(
            "the coverage of each judge alone is for comparison: if you choose the best judge with "
            "these labels, you need other labels to calibrate",
        ),
        alone=alone,
        policy_fields=policy_fields,
        **others,
    )


@dataclass(frozen=True)
class Jury(DoubtMethod):
    """All judges of the rows as one. Rows that one of them did not score are left out.

    A doubt that is learned over a jury is `Learned(jury=Jury())`.

    Args:
        method: How the judges are combined: mean (of their log odds).
    """

    method: str = JURIES[0]

    doubt = JuryDoubt

    @property
    def title(self) -> str:
        return f"jury ({self.method})"

    @property
    def takes_weights(self) -> bool:
        return False

    def learn(self, labelled: Labelled) -> FittedDoubt:
        """A jury of every judge in the labelled rows; errors are the jury's own."""
        return self.fit(labelled, recorded_as=self.method)

    def fit(self, labelled: Labelled, *, recorded_as: str) -> FittedDoubt:
        """The jury, which the policy names by what is made of it: mean or learned."""
        one_of(self.method, JURIES, "jury")
        members = name_members(labelled.frame)
        doubt = make_jury(members, recorded_as)
        rows, evidence = doubt.assemble(members, labelled.about)
        rows = doubt_ties(rows).with_columns(IS_ERROR.alias(ERROR))
        dropped = {INCOMPLETE: members["id"].n_unique() - rows.height}
        return fit_jury(doubt, rows, members, evidence=evidence, dropped=dropped)


def make_jury(frame: pl.DataFrame, method: str, *, judges: Sequence[str] = ()) -> JuryDoubt:
    """A jury with equal weights of these judges, or of every judge in the rows."""
    frame = name_members(frame)
    members = tuple(judges) or tuple(frame[MEMBER].unique().sort().to_list())
    if len(members) < 2:
        remedy = f"needs two judges or more; there is only {', '.join(members) or 'none'}"
        raise ArgumentError("jury", method, remedy)
    prints = frame["judge_fingerprint"].drop_nulls().unique().sort().to_list()
    return JuryDoubt(method, _equal_weights(len(members)), members, tuple(prints))


def name_members(frame: pl.DataFrame) -> pl.DataFrame:
    """`MEMBER`: the judge's name, with its protocol if the file has several protocols."""
    several = frame["protocol"].n_unique() > 1
    name = pl.format("{} ({})", "judge", "protocol") if several else pl.col("judge")
    return frame.with_columns(name.alias(MEMBER))


def _with_incomplete(everything: pl.DataFrame, usable: pl.DataFrame) -> pl.DataFrame:
    """The jury's rows, and a row without a score for every pair that some judge lacks."""
    left_out = everything.unique("id", keep="first", maintain_order=True).join(
        usable, on="id", how="anti", maintain_order="left"
    )
    shared = [name for name in left_out.columns if name in usable.columns]
    numbers = ("p_a", "p_fwd", "p_rev", "p_tie", "uncertainty", "verdict", "judge_fingerprint")
    blank = {name: pl.lit(None, usable.schema[name]) for name in numbers if name in shared}
    left_out = left_out.select(shared).with_columns(
        **blank,
        judge=pl.lit(usable["judge"][0], pl.String),
        protocol=pl.lit(usable["protocol"][0], pl.String),
        status=pl.lit("error"),
    )
    return pl.concat([usable, left_out], how="diagonal_relaxed")


@dataclass(frozen=True)
class LearnedDoubt(Doubt):
    """Verdict and doubt learned from the evidence of another doubt: a judge's own, or a jury's."""

    inner: Doubt
    margin: LearnedMargin
    lengths: Lengths | None
    category: str | None

    learned = True
    no_verdict = "margin 0"

    def __post_init__(self) -> None:
        unservable = self.inner.not_servable or (NO_LENGTHS if self.lengths == "length" else None)
        prints = self.inner.fingerprints
        vars(self).update(judges=self.inner.judges, fingerprints=prints, not_servable=unservable)

    @classmethod
    def load(cls, policy: Policy) -> LearnedDoubt | None:
        if (saved := policy.doubt) is None:
            return None
        margin = LearnedMargin.load(saved, saved.categories)
        inner = JuryDoubt.load(policy) or OwnDoubt(policy.groups)
        return cls(inner, margin, saved.lengths, saved.category)

    def score(self, new: NewRows) -> ScoredRows:
        scored = self.inner.score(new)
        return replace(scored, rows=self.apply(scored.rows, scored.evidence, about=new.about))

    def apply(
        self, frame: pl.DataFrame, evidence: Evidence | None, *, about: About
    ) -> pl.DataFrame:
        evidence = judge_evidence(frame) if evidence is None else evidence
        check_context(frame, lengths=self.lengths, category=self.category, who="the learned doubt")
        if ORDER_GAP in self.margin.columns and evidence.order_gaps is None:
            raise ArgumentError("judgments", "p_fwd, p_rev", "the learned doubt needs both orders")
        evidence = with_context(evidence, frame, lengths=self.lengths, category=self.category)
        return with_learned(frame, *self.margin.predict(evidence), about=about)

    def decide(
        self, policy: Policy, subject: Subject, category: str | None, answers: Answers
    ) -> Decision | None:
        decision = self.inner.decide(policy, subject, category, answers)
        if decision is None or not decision.measured:
            return decision
        [(judge, judgment)] = answers
        row: dict[str, object] = {"judge": judge.backend.name, "protocol": judgment.protocol}
        row |= {"verdict": decision.verdict, "p_fwd": None, "p_rev": None}
        if isinstance(judgment, Grade):
            row["p_a"] = judgment.p_pass
        else:
            row |= {name: getattr(judgment, name) for name in ("p_a", "p_fwd", "p_rev")}
        if isinstance(subject, Pair):
            row |= {"response_a": subject.response_a, "response_b": subject.response_b}
        if self.category is not None:
            row[self.category] = category
        rows = self.apply(pl.DataFrame([row]), None, about=policy.about)
        return replace(decision, verdict=rows["verdict"][0], doubt=float(rows["uncertainty"][0]))

    def check_judges(self, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
        return self.inner.check_judges(frame, store=store)


@dataclass(frozen=True)
class Learned(DoubtMethod):
    """Verdict and doubt of one judge or of a jury, learned from a random share of the labels.

    The other labels calibrate. Rows of a cluster are in one of the two parts together.

    Args:
        share: Share of the labels that a learned doubt, jury or cascade learns from.
        category: Column of categories that a learned doubt or cascade can learn from.
        jury: Learn over this jury instead of over one judge.
    """

    share: float = 0.3
    category: str | None = None
    jury: Jury | None = None

    doubt = LearnedDoubt
    reads_texts = True

    @property
    def title(self) -> str:
        return "learned doubt" if self.jury is None else "jury (learned)"

    @property
    def columns(self) -> tuple[str | None, ...]:
        return (self.category,)

    @property
    def takes_weights(self) -> bool:
        return self.jury is None

    @property
    def inner(self) -> DoubtMethod:
        """The doubt that it is learned over."""
        return Own() if self.jury is None else self.jury

    def learn(self, labelled: Labelled) -> FittedDoubt:
        """The rows decide which columns are used. Human ties are not used for learning."""
        seed = labelled.settings["seed"]
        if self.jury is None:
            inner = Own().learn(labelled)
        else:
            inner = self.jury.fit(labelled, recorded_as="learned")
        frame = inner.rows
        evidence = judge_evidence(frame) if inner.evidence is None else inner.evidence
        lengths = lengths_in(frame)
        context = with_context(evidence, frame, lengths=lengths, category=self.category)
        clusters = frame[labelled.cluster or "id"].to_list()
        cluster_of_row, n_clusters = cluster_codes(clusters)
        order = np.random.default_rng(seed).permutation(n_clusters)
        n_learning_clusters = round(open_unit(self.share, "learning_share") * n_clusters)
        learning = np.isin(cluster_of_row, order[:n_learning_clusters])
        label = frame["label"].to_numpy()
        decisive = learning & (label != "tie")
        n_learning = int(decisive.sum())
        self._check_enough(n_learning, n_calibration=int((~learning).sum()))
        units = [cluster for cluster, used in zip(clusters, decisive, strict=True) if used]
        prefers_a = label[decisive] == WORDS[labelled.about][0]
        margin = LearnedMargin.fit(context.take(decisive), prefers_a, clusters=units, seed=seed)
        judged = frame.filter(pl.Series(~learning))
        doubt = LearnedDoubt(inner.doubt, margin, lengths, self.category)
        rows = doubt.apply(judged, evidence.take(~learning), about=labelled.about)
        of_judge = inner.doubt.first_verdicts(judged, name_members(labelled.frame))

        def policy_fields(coverage: Coverage, total: float) -> dict[str, Any]:
            report = DoubtReport(
                **margin.saved_fields,
                at_largest_penalty=margin.penalty == PENALTIES[0],
                lengths=lengths,
                category=self.category,
                categories=margin.categories,
                n_learning=n_learning,
                n_verdicts=rows.height,
                n_overturned=count_overturned(of_judge, rows["verdict"]),
                coverage_without=coverage(judged),
            )
            jury_fields = {
                name: replace(report, n_training=n_learning)
                for name, report in inner.policy_fields(coverage, total).items()
            }
            return {**jury_fields, "doubt": report}

        return FittedDoubt(
            doubt,
            rows.with_columns(IS_ERROR.alias(ERROR)),
            assumptions=(
                "verdict and doubt were learned from labels that do not calibrate; the promise is "
                "about the learned verdict, which is not always the judge's",
            ),
            cautions=inner.cautions,
            dropped={**inner.dropped, LEARNED_FROM: int(learning.sum())},
            remarks=tuple(advise_learning(n_clusters)),
            policy_fields=policy_fields,
        )

    def _check_enough(self, n_learning: int, *, n_calibration: int) -> None:
        if n_learning < FEWEST_LEARNING or not n_calibration:
            raise ArgumentError(
                "learning_share",
                self.share,
                f"leaves {n_learning} labels to learn from and {n_calibration} to calibrate; "
                f"{FEWEST_LEARNING} or more are needed to learn",
            )
