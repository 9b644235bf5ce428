"""Candidates: the rule of each guarantee on the labels, and what other doubts would accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from adjudge.results.rules import Accepts, Cut, Rule, share
from adjudge.results.selection import KEPT_SCORES, Alternative, DoubtReport, JuryReport, PolicyGroup
from adjudge.selection.acceptance import Acceptance, accept_labels, accept_labels_pooled
from adjudge.selection.cuts import limit_rule, promise_below
from adjudge.selection.groups import Entry, make_entries
from adjudge.selection.guarantees.base import Guarantee
from adjudge.selection.guarantees.fdr import effective_size
from adjudge.selection.jury import JuryRows
from adjudge.selection.learning import LearnedRows, report_doubt
from adjudge.selection.split_counts import Levels


@dataclass(frozen=True)
class Terms:
    """The requested levels, the number of rules that share delta, the seed, and the cuts."""

    levels: Levels
    rules: int
    seed: int
    cuts: Sequence[Cut] = ()


@dataclass(frozen=True)
class Candidate:
    """One guarantee on all entries: a rule for each, and what it accepts of the entry's labels.

    `own` has the levels of each rule.
    """

    guarantee: Guarantee
    terms: Terms
    own: Levels
    entries: Sequence[Entry]
    rules: Sequence[Rule]
    seen: Sequence[Acceptance]

    @classmethod
    def build(
        cls, guarantee: Guarantee, entries: Sequence[Entry], terms: Terms, *, pooled: bool
    ) -> Candidate:
        """Decide on every entry."""
        own = guarantee.levels_per_rule(terms.levels, terms.rules)
        least = guarantee.fewest_labels(own)
        rules = []
        for entry in entries:
            labels, rule = entry.in_order, Rule(accepts="none")
            if len(entry) >= least:
                rule = guarantee.decide(labels, own)
            rules.append(limit_rule(rule, labels.scores, entry, terms.cuts))
        if pooled and guarantee.takes_pooled:
            seen = accept_labels_pooled(guarantee, entries, own, seed=terms.seed)
        else:
            seen = [
                accept_labels(guarantee, rule, entry, own, seed=terms.seed)
                for entry, rule in zip(entries, rules, strict=True)
            ]
        return cls(guarantee, terms, own, entries, rules, seen)

    def alternative(self) -> Alternative:
        """All entries together, as listed in the policy's alternatives."""
        rows = sum(seen.rows for seen in self.seen)
        coverage = share(rows, sum(map(len, self.entries)))
        wrong = sum(seen.risk * seen.rows for seen in self.seen)
        risk, threshold = wrong / rows if rows else 0.0, None
        accepts: Accepts = "batch" if self.guarantee.per_batch else "groups"
        if all(rule.accepts == "none" for rule in self.rules):
            accepts = "none"
        if len(self.entries) == 1:
            accepts, threshold = self.rules[0].accepts, self.rules[0].threshold
            coverage, risk = self.seen[0].coverage, self.seen[0].risk
        return Alternative(
            guarantee=self.guarantee.name,
            summary=self.guarantee.summary,
            accepts=accepts,
            threshold=threshold,
            n_accepted=rows,
            coverage=coverage,
            empirical_risk=risk,
            indicative=self.guarantee.per_batch,
            promise=promise_below(self.guarantee.promise(self.terms.levels), self.terms.cuts),
            not_promised=self.guarantee.not_promised(self.terms.levels),
        )

    def groups(self, parts: Mapping[str, Mapping[str, Any]]) -> tuple[PolicyGroup, ...]:
        """The rules as stored in the policy."""
        cells = zip(self.entries, self.rules, self.seen, strict=True)
        return tuple(self._group(*cell, parts) for cell in cells)

    def _group(
        self, entry: Entry, rule: Rule, seen: Acceptance, parts: Mapping[str, Mapping[str, Any]]
    ) -> PolicyGroup:
        # A batch is decided later: it is called feasible if half of the labels accepted anything.
        feasible = seen.coverage > 0 if rule.accepts == "batch" else rule.accepts != "none"
        fingerprint = entry.fingerprints[0] if len(entry.fingerprints) == 1 else None
        known = None if fingerprint is None else parts.get(fingerprint)
        kept, weights = entry.in_order, entry.labels.weights
        if not self.guarantee.per_batch and len(kept) > KEPT_SCORES:
            spaced = (2 * np.arange(KEPT_SCORES) + 1) * len(kept) // (2 * KEPT_SCORES)
            kept = kept.take(spaced)
        return PolicyGroup(
            judge=entry.judge,
            protocol=entry.protocol,
            group=entry.group,
            judge_fingerprint=fingerprint,
            accepts=rule.accepts,
            threshold=rule.threshold,
            feasible=feasible,
            n_calibration=len(entry),
            n_errors=int(entry.labels.errors.sum()),
            n_accepted=seen.rows,
            n_accepted_errors=seen.wrong,
            empirical_risk=seen.risk,
            coverage=seen.coverage,
            note=None if feasible else self._note(entry),
            effective_size=None if weights is None else effective_size(weights),
            fingerprint_parts=None if known is None else dict(known),
            members=entry.members,
            scores=tuple(kept.scores.tolist()),
            errors=tuple(kept.errors.tolist()),
            weights=None if kept.weights is None else tuple(kept.weights.tolist()),
        )

    def _note(self, entry: Entry) -> str:
        """Why an entry accepts nothing."""
        n, least = len(entry), self.guarantee.fewest_labels(self.own)
        if n < least:
            return (
                f"refused: {n} label{'' if n == 1 else 's'}; {self.guarantee.name} at alpha "
                f"{float(self.terms.levels.alpha):g} needs {least} without an error before it can "
                "accept; "
                + ("label more" if entry.group is None else "label more, or pool small groups")
            )
        return (
            f"nothing passes: {int(entry.labels.errors.sum())} of {n} verdicts were wrong, and "
            "their uncertainty does not separate enough right verdicts from wrong ones"
        )


@dataclass(frozen=True)
class Comparison:
    """What other doubts would accept of the same rows; for comparison only."""

    guarantee: Guarantee
    terms: Terms
    cluster: str | None
    ids: pl.Series

    def coverage(self, rows: pl.DataFrame) -> float:
        """With the rows' own verdicts and uncertainty, without groups or weights."""
        rows = rows.filter(pl.col("id").is_in(self.ids.implode()))
        if rows.height == 0:
            return 0.0
        entries = make_entries(
            rows, by=None, cluster=self.cluster, weights=None, seed=self.terms.seed
        )
        candidate = Candidate.build(self.guarantee, entries, self.terms, pooled=False)
        return candidate.alternative().coverage

    def doubt(self, learned: LearnedRows, category: str | None) -> DoubtReport:
        """With the learned doubt and with the judge's own doubt."""
        without = self.coverage(learned.judged)
        return report_doubt(learned, category=category, coverage_without=without)

    def jury(self, members: JuryRows, own: Alternative, learned: LearnedRows | None) -> JuryReport:
        """With the jury and with each of its judges alone."""
        return JuryReport(
            method=members.jury.method,
            judges=members.judges,
            weights=tuple(members.jury.weights.tolist()),
            most_odds=members.jury.most_odds,
            tail=members.jury.tail,
            n_training=0 if learned is None else learned.n_learning,
            coverage=own.coverage,
            coverage_alone={name: self.coverage(rows) for name, rows in members.alone.items()},
        )
