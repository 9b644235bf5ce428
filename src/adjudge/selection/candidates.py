"""Candidates: the rule of each guarantee on the labels, and what other doubts would accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from adjudge.data.judgments import ERROR, HAS_VERDICT, fixed_doubts
from adjudge.data.rows import one_row_per_cluster, partition
from adjudge.policy.result import (
    KEPT_SCORES,
    Acceptance,
    Alternative,
    Cut,
    PolicyGroup,
    Resampling,
    Rule,
    join_rules,
    promise_below,
    share,
)
from adjudge.present.text import count
from adjudge.selection.guarantees import Guarantee, Labels
from adjudge.selection.guarantees.fdr import effective_size
from adjudge.selection.splits import SplitRisk, random_halves
from adjudge.selection.thresholds import (
    Levels,
    ScoreOrder,
    SplitCounts,
    SplitTable,
    order_by_lot,
    within_ratio,
)
from adjudge.statistics.entropy import preference_entropy
from adjudge.validation import BoolArray, FloatArray, one_of

SMALL_GROUPS = ("refuse", "pool")
#: The name of small groups that were pooled on request.
POOLED = "(small groups)"
#: The columns of every entry.
ENTRY_COLUMNS = ("judge", "protocol", "judge_fingerprint", "uncertainty", "verdict", ERROR)
HALF_SPLITS = 20
#: Resamples of the labels, and how many of them are used: evenly spaced in the order of doubt.
RESAMPLES, RESAMPLED_LABELS = 500, 5_000
#: Columns of a finer doubt than the uncertainty. With more rows a lot changes next to nothing.
FINER_COLUMNS = ("score_a", "score_b", "p_fwd", "p_rev", "p_a")
FINER_UP_TO = 20_000
_LOTS = 20


@dataclass(frozen=True)
class Terms:
    """The requested levels, the number of rules that share delta, the seed, and the cuts."""

    levels: Levels
    rules: int
    seed: int
    cuts: Sequence[Cut] = ()


@dataclass(frozen=True)
class Entry:
    """The calibration rows of one judge (and group), one row per cluster."""

    judge: str
    protocol: str
    group: str | None
    fingerprints: tuple[str, ...]
    labels: Labels
    has_verdict: BoolArray
    seed: int
    members: tuple[str, ...] = ()
    finer: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def order(self) -> ScoreOrder:
        """The rows by score; ties by a finer doubt, then in a random order; no errors are used."""
        return order_by_lot(self.labels.scores, self.seed, self.finer)

    @cached_property
    def in_order(self) -> Labels:
        return self.labels.take(self.order.rows)

    @property
    def is_by_lot(self) -> bool:
        """Whether rows are still tied after the finer doubt."""
        keys = [self.labels.scores] if self.finer is None else [self.labels.scores, self.finer]
        return len(np.unique(np.column_stack(keys), axis=0)) < len(self)


def make_entries(
    frame: pl.DataFrame,
    *,
    by: str | None,
    cluster: str | None,
    weights: str | None,
    seed: int,
    own: bool = True,
) -> list[Entry]:
    """Labelled rows split by judge, protocol and group; one row per repeated prompt.

    `own`: their uncertainty is that of the protocol, not of something made from it.
    """
    keys = ["judge", "protocol"] + ([] if by is None else [by])
    entries = []
    needed = {*ENTRY_COLUMNS, *FINER_COLUMNS, by, cluster, weights}
    for rows in partition(frame.select(c for c in frame.columns if c in needed), keys):
        judge, protocol, *group = map(str, rows.select(keys).row(0))
        if cluster is not None:
            rows = rows[one_row_per_cluster(rows[cluster].to_list(), seed=seed).tolist()]
        labels = Labels(
            rows["uncertainty"].cast(pl.Float64).to_numpy(),
            rows[ERROR].to_numpy(),
            None if weights is None else rows[weights].to_numpy(),
            fixed_doubts(protocol) if own else (),
        )
        entries.append(
            Entry(
                judge=judge,
                protocol=protocol,
                group=group[0] if group else None,
                fingerprints=tuple(rows["judge_fingerprint"].drop_nulls().unique().sort()),
                labels=labels,
                has_verdict=rows.select(HAS_VERDICT).to_series().to_numpy(),
                seed=seed,
                finer=finer_doubt(rows),
            )
        )
    return entries


def finer_doubt(rows: pl.DataFrame) -> FloatArray | None:
    """A doubt that orders tied rows, from the judge's answers alone; None if there is none.

    The closeness of two scores, else the doubt of the less sure order, else that of p_a.

    >>> finer_doubt(pl.DataFrame({"score_a": [9, 5], "score_b": [2, 4]})).tolist()
    [-7.0, -1.0]
    """

    def numbers(*names: str) -> list[FloatArray]:
        columns = [rows[name] for name in names if name in rows.columns]
        here = [c.cast(pl.Float64, strict=False) for c in columns if not c.dtype.is_nested()]
        usable = len(here) == len(names) and all(
            c.is_finite().all(ignore_nulls=False) for c in here
        )
        return [column.to_numpy() for column in here] if usable else []

    if rows.height > FINER_UP_TO:
        return None
    if scores := numbers("score_a", "score_b"):
        return -np.abs(scores[0] - scores[1])
    if orders := numbers("p_fwd", "p_rev") or numbers("p_a"):
        return np.asarray(np.max([preference_entropy(p) for p in orders], axis=0))
    return None


def pool_small(entries: Sequence[Entry], least: int, *, small_groups: str) -> list[Entry]:
    """The entries; if requested, groups with fewer than `least` labels are pooled per judge."""
    one_of(small_groups, SMALL_GROUPS, "small_groups")
    if small_groups == "refuse":
        return list(entries)
    large = [entry for entry in entries if entry.group is None or len(entry) >= least]
    small = [entry for entry in entries if entry.group is not None and len(entry) < least]
    return large + [
        replace(
            groups[0],
            group=POOLED,
            fingerprints=tuple(sorted({name for entry in groups for name in entry.fingerprints})),
            labels=Labels.join([entry.labels for entry in groups]),
            has_verdict=np.concatenate([entry.has_verdict for entry in groups]),
            finer=None
            if any(entry.finer is None for entry in groups)
            else np.concatenate([entry.finer for entry in groups if entry.finer is not None]),
            members=tuple(entry.group or "" for entry in groups),
        )
        for groups in by_judge(small)
    ]


def by_judge(entries: Sequence[Entry]) -> list[list[Entry]]:
    """The entries of each judge and protocol, which always have separate rules."""
    keys = dict.fromkeys((entry.judge, entry.protocol) for entry in entries)
    return [[entry for entry in entries if (entry.judge, entry.protocol) == key] for key in keys]


def _over_halves_pooled(
    chosen: Guarantee, groups: Sequence[Entry], levels: Levels, seed: int
) -> list[Acceptance]:
    """Like `_over_halves` for all groups of a judge under one promise.

    Every group is halved, and all batches are decided together.
    """
    rng = np.random.default_rng(seed)
    labels = Labels.join([entry.labels for entry in groups])
    verdict = np.concatenate([entry.has_verdict for entry in groups])
    codes = np.repeat(np.arange(len(groups)), [len(entry) for entry in groups])
    rows_of = [np.flatnonzero(codes == group) for group in range(len(groups))]
    shares, risks = np.zeros((2, HALF_SPLITS, len(groups)))
    for split in range(HALF_SPLITS):
        keys, new = rng.random(len(codes)), np.ones(len(codes), dtype=np.bool_)
        rules = []
        for rows in rows_of:
            half = np.sort(rows[np.argsort(keys[rows])[: len(rows) // 2]])
            new[half] = False
            rules.append(chosen.decide(labels.take(half), levels))
        if new.all():
            break
        accepted = chosen.accept_pooled(rules, labels.scores[new], codes[new], levels)
        accepted &= verdict[new]
        taken = np.bincount(codes[new], accepted, len(groups))
        wrong = np.bincount(codes[new], accepted * labels.errors[new], len(groups))
        shares[split] = taken / np.bincount(codes[new], minlength=len(groups))
        risks[split] = wrong / np.maximum(taken, 1)
    means = zip(shares.mean(axis=0).tolist(), risks.mean(axis=0).tolist(), strict=True)
    return [_indication(len(entry), *mean) for entry, mean in zip(groups, means, strict=True)]


def _over_halves(chosen: Guarantee, entry: Entry, levels: Levels, seed: int) -> Acceptance:
    """Calibrate on half of the labels, use the other half as the batch, 20 times.

    This is only indicative: `select` will use twice as many labels and another batch. With weights,
    the batch is sampled from its half in proportion to the weights, like the new rows.
    """
    rng = np.random.default_rng(seed)
    labels, n = entry.labels, len(entry)
    if n < 2:
        return Acceptance()
    weights = labels.weights if chosen.takes_weights else None
    if weights is None:
        table = SplitTable.build(labels.scores, labels.errors, entry.has_verdict, None, entry.order)
        outcomes = [
            chosen.counts_over_splits(SplitCounts.build(table, halves), levels)
            for halves in random_halves(n, HALF_SPLITS, rng)
        ]
        counts = np.concatenate(outcomes, axis=1)
    else:
        counts = np.empty((3, HALF_SPLITS), dtype=np.int64)
        for split in range(HALF_SPLITS):
            order = rng.permutation(n)
            new = order[n // 2 :]
            new = rng.choice(new, size=len(new), p=weights[new] / weights[new].sum())
            rule = chosen.decide(labels.take(order[: n // 2]), levels)
            batch = labels.take(new)
            taken = chosen.accept(rule, batch.scores, levels, batch.weights)
            taken &= entry.has_verdict[new]
            counts[:, split] = taken.sum(), batch.errors[taken].sum(), len(new)
    over = SplitRisk(chosen.name, levels.alpha, *counts)
    return _indication(n, float(over.coverages.mean()), float(over.risks.mean()))


def _indication(n: int, coverage: float, risk: float) -> Acceptance:
    rows = round(coverage * n)
    wrong = round(risk * rows)
    return Acceptance(
        n_accepted=rows, n_accepted_errors=wrong, coverage=coverage, empirical_risk=risk
    )


def resample_labels(
    guarantee: Guarantee, labels: Labels, has_verdict: BoolArray, levels: Levels, seed: int
) -> Resampling:
    """How often the threshold of labels like these, sorted by score, is above alpha.

    As many are drawn with replacement. The threshold of such a resample is above if its error share
    on the labels that were not drawn is. Checked in tests/montecarlo/test_selection_worth.py: near
    the truth if doubt ranks errors, too close to one half if it does not.
    """
    n = min(len(labels), RESAMPLED_LABELS)
    spaced = (2 * np.arange(n) + 1) * len(labels) // (2 * n)
    labels, has_verdict = labels.take(spaced), has_verdict[spaced]
    drawn = np.random.default_rng(seed).integers(0, n, (RESAMPLES, n))
    drawn += n * np.arange(RESAMPLES)[:, None]
    times = np.bincount(drawn.ravel(), minlength=n * RESAMPLES).reshape(RESAMPLES, n)
    accepted = guarantee.accept_over_resamples(labels, times, levels)
    accepted &= has_verdict & (times == 0)
    wrong = np.count_nonzero(accepted & (labels.errors == 1), axis=1)
    within = within_ratio(wrong, np.count_nonzero(accepted, axis=1), levels.alpha)
    return Resampling(resamples=RESAMPLES, n=n, share_above=1 - float(within.mean()))


@dataclass(frozen=True)
class Candidate:
    """One guarantee on all entries: a rule for each, and what it accepts of the entry's labels."""

    guarantee: Guarantee
    entries: Sequence[Entry]
    terms: Terms
    pooled: bool = False

    @cached_property
    def levels(self) -> Levels:
        """The levels of each rule."""
        return self.guarantee.levels_per_rule(self.terms.levels, self.terms.rules)

    @cached_property
    def rules(self) -> list[Rule]:
        levels, cuts = self.levels, self.terms.cuts
        return [
            self.guarantee.rule_below(entry.in_order, levels, cuts, entry.judge, entry.protocol)
            for entry in self.entries
        ]

    @cached_property
    def seen(self) -> list[Acceptance]:
        """What each rule accepts of its own calibration rows. Only indicative for a batch rule."""
        if not (self.pooled and self.guarantee.takes_pooled):
            return list(map(self._accept, self.entries, self.rules))
        seen_by_entry: dict[int, Acceptance] = {}
        for groups in by_judge(self.entries):
            halves = _over_halves_pooled(self.guarantee, groups, self.levels, self.terms.seed)
            seen_by_entry |= zip(map(id, groups), halves, strict=True)
        return [seen_by_entry[id(entry)] for entry in self.entries]

    def _accept(self, entry: Entry, rule: Rule) -> Acceptance:
        """A row without a verdict counts as an error in calibration and is never accepted."""
        if rule.accepts == "none":
            return Acceptance()
        if self.guarantee.per_batch:
            return _over_halves(self.guarantee, entry, self.levels, self.terms.seed)
        accepted = self.guarantee.accept(rule, entry.labels.scores, self.levels)
        accepted &= entry.has_verdict
        rows, wrong = int(accepted.sum()), int(entry.labels.errors[accepted].sum())
        return Acceptance(
            n_accepted=rows,
            n_accepted_errors=wrong,
            coverage=share(rows, len(entry)),
            empirical_risk=share(wrong, rows),
        )

    def over_lots(self) -> FloatArray:
        """The coverage over other lots; empty if no lot decides."""
        entries = self.entries
        tied = self.guarantee.uses_lot and any(
            not entry.labels.values and entry.is_by_lot for entry in entries
        )
        if not tied or sum(map(len, entries)) > FINER_UP_TO:
            return np.array([])
        others = (
            [replace(entry, seed=entry.seed + lot) for entry in entries]
            for lot in range(1, _LOTS + 1)
        )
        candidates = (Candidate(self.guarantee, entries, self.terms) for entries in others)
        return np.array([candidate.alternative.coverage for candidate in candidates])

    @cached_property
    def alternative(self) -> Alternative:
        """All entries together, as listed in the policy's alternatives."""
        n, per_batch = sum(map(len, self.entries)), self.guarantee.per_batch
        return Alternative(
            guarantee=self.guarantee.name,
            summary=self.guarantee.summary,
            **join_rules(self.rules, self.seen, n, per_batch=per_batch),
            n_accepted=sum(seen.n_accepted for seen in self.seen),
            indicative=per_batch,
            promise=promise_below(self.guarantee.promise(self.terms.levels), self.terms.cuts),
            not_promised=self.guarantee.not_promised(self.terms.levels),
        )

    def coverage_of(self, rows: pl.DataFrame, *, cluster: str | None, ids: pl.Series) -> float:
        """What the guarantee would accept of these ids by another doubt; for comparison only.

        With the rows' own verdicts and uncertainty, without groups or weights.
        """
        rows = rows.filter(pl.col("id").is_in(ids.implode()))
        if rows.height == 0:
            return 0.0
        seed = self.terms.seed
        entries = make_entries(rows, by=None, cluster=cluster, weights=None, seed=seed)
        return Candidate(self.guarantee, entries, self.terms).alternative.coverage

    def groups(self, parts: Mapping[str, Mapping[str, Any]]) -> tuple[PolicyGroup, ...]:
        cells = zip(self.entries, self.rules, self.seen, strict=True)
        return tuple(self._group(*cell, parts) for cell in cells)

    def _group(
        self, entry: Entry, rule: Rule, seen: Acceptance, parts: Mapping[str, Mapping[str, Any]]
    ) -> PolicyGroup:
        # A batch is decided later: it is called feasible if half of the labels accepted anything.
        feasible = seen.coverage > 0 if rule.accepts == "batch" else rule.accepts != "none"
        fingerprint = entry.fingerprints[0] if len(entry.fingerprints) == 1 else None
        fingerprint_parts = None if fingerprint is None else parts.get(fingerprint)
        labels, weights = entry.in_order, entry.labels.weights
        if not self.guarantee.per_batch and len(labels) > KEPT_SCORES:
            spaced = (2 * np.arange(KEPT_SCORES) + 1) * len(labels) // (2 * KEPT_SCORES)
            labels = labels.take(spaced)
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
            **vars(seen),
            note=None if feasible else self._note(entry),
            resampling=self._resample(entry) if feasible else None,
            effective_size=None if weights is None else effective_size(weights),
            fingerprint_parts=None if fingerprint_parts is None else dict(fingerprint_parts),
            members=entry.members,
            scores=tuple(labels.scores.tolist()),
            errors=tuple(labels.errors.tolist()),
            weights=None if labels.weights is None else tuple(labels.weights.tolist()),
        )

    def _resample(self, entry: Entry) -> Resampling | None:
        """None if the promise says how often: a batch has no threshold, and delta bounds it."""
        if self.guarantee.per_batch or self.guarantee.uses_delta:
            return None
        verdicts, seed = entry.has_verdict[entry.order.rows], self.terms.seed
        return resample_labels(self.guarantee, entry.in_order, verdicts, self.levels, seed)

    def labels_needed(self, other: Candidate) -> int | None:
        """About how many labels it needs to accept as much as another guarantee does."""
        if self.alternative.coverage >= other.alternative.coverage:
            return None
        needed = [
            self.guarantee.labels_needed(
                entry.labels, seen.n_accepted, seen.n_accepted_errors, self.levels
            )
            for entry, seen in zip(self.entries, other.seen, strict=True)
            if seen.n_accepted
        ]
        return None if None in needed else sum(n for n in needed if n is not None)

    def _note(self, entry: Entry) -> str:
        n, least = len(entry), self.guarantee.fewest_labels(self.levels)
        if n < least:
            return (
                f"only {count(n, 'label')}: {self.guarantee.name} at alpha "
                f"{float(self.terms.levels.alpha):g} needs {least} without an error; "
                + ("label more" if entry.group is None else "label more, or pool small groups")
            )
        return (
            f"nothing passes: {int(entry.labels.errors.sum())} of {n} verdicts are wrong, also "
            "those with little doubt"
        )
