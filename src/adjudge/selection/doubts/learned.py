"""Learned doubt: one share of the labels is for learning verdict and doubt, the rest calibrates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.judgments import ERROR, IS_ERROR, WORDS
from adjudge.errors import ArgumentError
from adjudge.policy.doubts import DoubtReport, Lengths
from adjudge.policy.result import Policy
from adjudge.records import About, Grade, Pair, Subject
from adjudge.selection.doubts.base import (
    NO_LENGTHS,
    Answers,
    Coverage,
    Decision,
    Doubt,
    DoubtFit,
    DoubtRequest,
    Labelled,
    OwnDoubt,
    OwnRequest,
    ScoredRows,
)
from adjudge.selection.doubts.evidence import (
    FEWEST_LEARNING,
    ORDER_GAP,
    Evidence,
    LearnedMargin,
    advise_learning,
    check_context,
    count_overturned,
    judge_evidence,
    lengths_in,
    take_rows,
    with_context,
    with_learned,
)
from adjudge.selection.doubts.jury import JuryDoubt, JuryRequest
from adjudge.selection.labelled import NewRows
from adjudge.statistics.numbers import cluster_codes
from adjudge.statistics.ridge import PENALTIES
from adjudge.store import StorePlace
from adjudge.validation import BoolArray, open_unit

LEARNED_FROM = "label used to learn the doubt"


@dataclass(frozen=True)
class LearnedDoubt(Doubt):
    """Verdict and doubt learned from the evidence of another doubt: a judge's own, or a jury's."""

    inner: Doubt
    margin: LearnedMargin
    lengths: Lengths | None
    category: str | None

    learned = True
    no_verdict = "margin 0"

    @property
    def judges(self) -> tuple[str, ...]:
        return self.inner.judges

    @property
    def fingerprints(self) -> tuple[str, ...]:
        return self.inner.fingerprints

    @property
    def cautions(self) -> tuple[str, ...]:
        return self.inner.cautions

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (
            "verdict and doubt were learned from labels that do not calibrate; the promise is "
            "about the learned verdict, which is not always the judge's",
        )

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
        """The rows with the learned verdict and uncertainty."""
        evidence = judge_evidence(frame) if evidence is None else evidence
        check_context(frame, lengths=self.lengths, category=self.category, who="the learned doubt")
        if ORDER_GAP in self.margin.columns and evidence.order_gap is None:
            raise ArgumentError("judgments", "p_fwd, p_rev", "the learned doubt needs both orders")
        evidence = with_context(evidence, frame, lengths=self.lengths, category=self.category)
        return with_learned(frame, *self.margin.predict(evidence), about=about)

    @property
    def not_servable(self) -> str | None:
        return self.inner.not_servable or (NO_LENGTHS if self.lengths == "length" else None)

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


@dataclass(frozen=True, kw_only=True)
class LearnedFit(DoubtFit):
    """A learned doubt and the labelled rows that were not used for learning.

    `judged` has the same rows with the judge's own values.
    """

    doubt: LearnedDoubt
    inner: DoubtFit
    judged: pl.DataFrame
    n_learning: int

    def entries(self, coverage: Coverage, total: float) -> dict[str, Any]:
        margin = self.doubt.margin
        report = DoubtReport(
            **margin.entries,
            stays_home=margin.penalty == PENALTIES[0],
            lengths=self.doubt.lengths,
            category=self.doubt.category,
            categories=margin.categories,
            n_learning=self.n_learning,
            n_verdicts=self.rows.height,
            n_overturned=count_overturned(self.judged["verdict"], self.rows["verdict"]),
            coverage_without=coverage(self.judged),
        )
        over = {
            name: replace(entry, n_training=self.n_learning)
            for name, entry in self.inner.entries(coverage, total).items()
        }
        return {**over, "doubt": report}


class LearnedRequest(DoubtRequest):
    """A doubt learned from a random share of the labelled pairs, or of their clusters."""

    doubt = LearnedDoubt
    asked_by = dict.fromkeys(("jury", "doubt"), "learned")
    reads_texts = True

    @property
    def plain(self) -> DoubtRequest:
        without = replace(self.options, category=None)
        return OwnRequest(without) if without.jury is None else JuryRequest(without)

    def check(self) -> None:
        self.plain.check()

    def learn(self, labelled: Labelled) -> LearnedFit:
        """The rows decide which columns are used. Human ties are not used for learning."""
        inner, seed = self.plain.learn(labelled), labelled.settings["seed"]
        share, category = self.options.learning_share, self.options.category
        frame, about = inner.rows, labelled.about
        evidence = judge_evidence(frame) if inner.evidence is None else inner.evidence
        lengths = lengths_in(frame)
        context = with_context(evidence, frame, lengths=lengths, category=category)
        keys = frame.get_column(labelled.cluster or "id").to_list()
        learning = _random_part(keys, open_unit(share, "learning_share"), seed)
        label = frame.get_column("label").to_numpy()
        used = learning & (label != "tie")
        n = int(used.sum())
        if n < FEWEST_LEARNING or learning.all():
            raise ArgumentError(
                "learning_share",
                share,
                f"leaves {n} labels to learn from and {int((~learning).sum())} to calibrate; "
                f"{FEWEST_LEARNING} or more are needed to learn",
            )
        units = [key for key, here in zip(keys, used, strict=True) if here]
        prefers_a = label[used] == WORDS[about][0]
        margin = LearnedMargin.fit(take_rows(context, used), prefers_a, clusters=units, seed=seed)
        judged = frame.filter(pl.Series(~learning))
        doubt = LearnedDoubt(inner.doubt, margin, lengths, category)
        rows = doubt.apply(judged, take_rows(evidence, ~learning), about=about)
        return LearnedFit(
            doubt=doubt,
            rows=rows.with_columns(IS_ERROR.alias(ERROR)),
            dropped={**inner.dropped, LEARNED_FROM: int(learning.sum())},
            remarks=tuple(advise_learning(cluster_codes(keys)[1])),
            inner=inner,
            judged=judged,
            n_learning=n,
        )


def _random_part(keys: list[object], share: float, seed: int) -> BoolArray:
    """Marks all rows of a random share of the distinct keys."""
    codes, groups = cluster_codes(keys)
    marked = np.zeros(groups, dtype=np.bool_)
    marked[np.random.default_rng(seed).permutation(groups)[: round(share * groups)]] = True
    return np.asarray(marked[codes])
