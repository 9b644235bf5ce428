"""The rule of each guarantee on the labels, and what it would accept by another doubt."""

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
)
from adjudge.statistics.entropy import preference_entropy
from adjudge.validation import BoolArray, FloatArray, IntArray, one_of

SMALL_GROUPS = ("refuse", "pool")
#: The name of small groups that were pooled on request.
POOLED = "(small groups)"
#: The columns of every group.
GROUP_COLUMNS = ("judge", "protocol", "judge_fingerprint", "uncertainty", "verdict", ERROR)
HALF_SPLITS = 20
#: Resamples of the labels.
RESAMPLES = 500
#: The most labels that are resampled, evenly spaced in the order of doubt.
RESAMPLED_LABELS = 5_000
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
class LabelledGroup:
    """The labelled rows that calibrate one rule: of a judge (and group), one row per cluster."""

    judge: str
    protocol: str
    name: str | None
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


def group_rows(
    frame: pl.DataFrame,
    *,
    by: str | None,
    cluster: str | None,
    weights: str | None,
    seed: int,
    of_protocol: bool = True,
) -> list[LabelledGroup]:
    """Labelled rows split by judge, protocol and group; one row per repeated prompt.

    `of_protocol`: their uncertainty is that of the protocol, not of something made from it.
    """
    keys = ["judge", "protocol"] + ([] if by is None else [by])
    needed = {*GROUP_COLUMNS, *FINER_COLUMNS, by, cluster, weights}
    used = frame.select(column for column in frame.columns if column in needed)
    groups = []
    for rows in partition(used, keys):
        judge, protocol, *name = map(str, rows.select(keys).row(0))
        if cluster is not None:
            rows = rows[one_row_per_cluster(rows[cluster].to_list(), seed=seed).tolist()]
        labels = Labels(
            rows["uncertainty"].cast(pl.Float64).to_numpy(),
            rows[ERROR].to_numpy(),
            None if weights is None else rows[weights].to_numpy(),
            fixed_doubts(protocol) if of_protocol else (),
        )
        groups.append(
            LabelledGroup(
                judge=judge,
                protocol=protocol,
                name=name[0] if name else None,
                fingerprints=tuple(rows["judge_fingerprint"].drop_nulls().unique().sort()),
                labels=labels,
                has_verdict=rows.select(HAS_VERDICT).to_series().to_numpy(),
                seed=seed,
                finer=finer_doubt(rows),
            )
        )
    return groups


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


def pool_small(
    groups: Sequence[LabelledGroup], least: int, *, small_groups: str
) -> list[LabelledGroup]:
    """The groups; if requested, those with fewer than `least` labels are pooled per judge."""
    one_of(small_groups, SMALL_GROUPS, "small_groups")
    if small_groups == "refuse":
        return list(groups)
    small: list[LabelledGroup] = []
    large: list[LabelledGroup] = []
    for group in groups:
        is_small = group.name is not None and len(group) < least
        (small if is_small else large).append(group)
    return large + [_pool(of_judge) for of_judge in by_judge(small)]


def _pool(groups: Sequence[LabelledGroup]) -> LabelledGroup:
    """Groups of one judge as one group."""
    finer = [group.finer for group in groups if group.finer is not None]
    fingerprints = {fingerprint for group in groups for fingerprint in group.fingerprints}
    return replace(
        groups[0],
        name=POOLED,
        fingerprints=tuple(sorted(fingerprints)),
        labels=Labels.join([group.labels for group in groups]),
        has_verdict=np.concatenate([group.has_verdict for group in groups]),
        finer=np.concatenate(finer) if len(finer) == len(groups) else None,
        members=tuple(group.name or "" for group in groups),
    )


def by_judge(groups: Sequence[LabelledGroup]) -> list[list[LabelledGroup]]:
    """The groups of each judge and protocol, which always have separate rules."""
    keys = dict.fromkeys((group.judge, group.protocol) for group in groups)
    return [[group for group in groups if (group.judge, group.protocol) == key] for key in keys]


def _over_halves_pooled(
    chosen: Guarantee, groups: Sequence[LabelledGroup], levels: Levels, seed: int
) -> list[Acceptance]:
    """Like `_over_halves` for all groups of a judge under one promise.

    Every group is halved, and all batches are decided together.
    """
    rng = np.random.default_rng(seed)
    labels = Labels.join([group.labels for group in groups])
    verdict = np.concatenate([group.has_verdict for group in groups])
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    rows_of = [np.flatnonzero(codes == group) for group in range(len(groups))]
    shares = np.zeros((HALF_SPLITS, len(groups)))
    risks = np.zeros((HALF_SPLITS, len(groups)))
    for split in range(HALF_SPLITS):
        keys = rng.random(len(codes))
        new = np.ones(len(codes), dtype=np.bool_)
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
    return [_indication(len(group), *mean) for group, mean in zip(groups, means, strict=True)]


def _over_halves(chosen: Guarantee, group: LabelledGroup, levels: Levels, seed: int) -> Acceptance:
    """Calibrate on half of the labels, use the other half as the batch, 20 times.

    This is only indicative: `select` will use twice as many labels and another batch. With weights,
    the batch is sampled from its half in proportion to the weights, like the new rows.
    """
    rng = np.random.default_rng(seed)
    labels = group.labels
    n = len(group)
    if n < 2:
        return Acceptance()
    weights = labels.weights if chosen.takes_weights else None
    if weights is None:
        table = SplitTable.build(labels.scores, labels.errors, group.has_verdict, None, group.order)
        outcomes = [
            chosen.counts_over_splits(SplitCounts.build(table, halves), levels)
            for halves in random_halves(n, HALF_SPLITS, rng)
        ]
        counts = np.concatenate(outcomes, axis=1)
    else:
        counts = _counts_over_weighted_halves(chosen, group, weights, levels, rng)
    over = SplitRisk(chosen.name, levels.alpha, *counts)
    return _indication(n, float(over.coverages.mean()), float(over.risks.mean()))


def _counts_over_weighted_halves(
    chosen: Guarantee,
    group: LabelledGroup,
    weights: FloatArray,
    levels: Levels,
    rng: np.random.Generator,
) -> IntArray:
    """Of each split: the rows accepted, the errors among them, and the rows of its batch."""
    n = len(group)
    counts = np.empty((3, HALF_SPLITS), dtype=np.int64)
    for split in range(HALF_SPLITS):
        order = rng.permutation(n)
        new = order[n // 2 :]
        new = rng.choice(new, size=len(new), p=weights[new] / weights[new].sum())
        rule = chosen.decide(group.labels.take(order[: n // 2]), levels)
        batch = group.labels.take(new)
        taken = chosen.accept(rule, batch.scores, levels, batch.weights)
        taken &= group.has_verdict[new]
        counts[:, split] = taken.sum(), batch.errors[taken].sum(), len(new)
    return counts


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

    As many are drawn with replacement. A resample's threshold is above if its error share on all
    labels is, plus half of the optimism: by how much the mean error share is larger on labels that
    were not drawn. (On these alone few rows decide, which called judges that are never above
    sometimes above.) Checked in tests/montecarlo/test_selection_worth.py: near the truth if doubt
    ranks errors, too close to one half if it does not.
    """
    n = min(len(labels), RESAMPLED_LABELS)
    spaced = (2 * np.arange(n) + 1) * len(labels) // (2 * n)
    labels = labels.take(spaced)
    has_verdict = has_verdict[spaced]
    drawn = np.random.default_rng(seed).integers(0, n, (RESAMPLES, n))
    drawn += n * np.arange(RESAMPLES)[:, None]
    times = np.bincount(drawn.ravel(), minlength=n * RESAMPLES).reshape(RESAMPLES, n)
    accepted = guarantee.accept_over_resamples(labels, times, levels) & has_verdict
    shares = _error_shares(accepted, labels.errors)
    unseen = _error_shares(accepted & (times == 0), labels.errors)
    optimism = 0.0
    if not np.isnan(unseen).all():
        optimism = float(np.nanmean(unseen) - np.nanmean(shares))
    # A sum of floats can exceed alpha by a rounding error.
    above = shares + optimism / 2 > float(levels.alpha) + 1e-9
    return Resampling(resamples=RESAMPLES, n=n, share_above=float(above.mean()))


def _error_shares(accepted: BoolArray, errors: IntArray) -> FloatArray:
    """The error share of what each resample accepts, NaN if that is nothing."""
    rows = np.count_nonzero(accepted, axis=1)
    wrong = np.count_nonzero(accepted & (errors == 1), axis=1)
    shares = np.full(len(rows), np.nan)
    return np.asarray(np.divide(wrong, rows, out=shares, where=rows > 0))


@dataclass(frozen=True)
class GuaranteeRules:
    """One guarantee on all groups: a rule for each, and what it accepts of its labels."""

    guarantee: Guarantee
    groups: Sequence[LabelledGroup]
    terms: Terms
    pooled: bool = False

    @cached_property
    def levels(self) -> Levels:
        """The levels of each rule."""
        return self.guarantee.levels_per_rule(self.terms.levels, self.terms.rules)

    @cached_property
    def rules(self) -> list[Rule]:
        cuts = self.terms.cuts
        return [
            self.guarantee.rule_below(
                group.in_order, self.levels, cuts, group.judge, group.protocol
            )
            for group in self.groups
        ]

    @cached_property
    def seen(self) -> list[Acceptance]:
        """What each rule accepts of its own calibration rows. Only indicative for a batch rule."""
        if not (self.pooled and self.guarantee.takes_pooled):
            return list(map(self._accept, self.groups, self.rules))
        accepted: dict[int, Acceptance] = {}
        for groups in by_judge(self.groups):
            halves = _over_halves_pooled(self.guarantee, groups, self.levels, self.terms.seed)
            accepted |= zip(map(id, groups), halves, strict=True)
        return [accepted[id(group)] for group in self.groups]

    def _accept(self, group: LabelledGroup, rule: Rule) -> Acceptance:
        """A row without a verdict counts as an error in calibration and is never accepted."""
        if rule.accepts == "none":
            return Acceptance()
        if self.guarantee.per_batch:
            return _over_halves(self.guarantee, group, self.levels, self.terms.seed)
        accepted = self.guarantee.accept(rule, group.labels.scores, self.levels)
        accepted &= group.has_verdict
        rows = int(accepted.sum())
        wrong = int(group.labels.errors[accepted].sum())
        return Acceptance(
            n_accepted=rows,
            n_accepted_errors=wrong,
            coverage=share(rows, len(group)),
            empirical_risk=share(wrong, rows),
        )

    def over_lots(self) -> FloatArray:
        """The coverage over other lots; empty if no lot decides."""
        groups = self.groups
        tied = self.guarantee.uses_lot and any(
            not group.labels.values and group.is_by_lot for group in groups
        )
        if not tied or sum(map(len, groups)) > FINER_UP_TO:
            return np.array([])
        coverages = []
        for lot in range(1, _LOTS + 1):
            by_lot = [replace(group, seed=group.seed + lot) for group in groups]
            rules = GuaranteeRules(self.guarantee, by_lot, self.terms)
            coverages.append(rules.alternative.coverage)
        return np.array(coverages)

    @cached_property
    def alternative(self) -> Alternative:
        """All groups together, as listed in the policy's alternatives."""
        n = sum(map(len, self.groups))
        per_batch = self.guarantee.per_batch
        levels = self.terms.levels
        promise = promise_below(self.guarantee.promise(levels), self.terms.cuts)
        return Alternative(
            guarantee=self.guarantee.name,
            summary=self.guarantee.summary,
            **join_rules(self.rules, self.seen, n, per_batch=per_batch),
            n_accepted=sum(seen.n_accepted for seen in self.seen),
            indicative=per_batch,
            promise=promise,
            not_promised=self.guarantee.not_promised(levels),
        )

    def coverage_of(self, rows: pl.DataFrame, *, cluster: str | None, ids: pl.Series) -> float:
        """What the guarantee would accept of these ids by another doubt; for comparison only.

        With the rows' own verdicts and uncertainty, without groups or weights.
        """
        rows = rows.filter(pl.col("id").is_in(ids.implode()))
        if rows.height == 0:
            return 0.0
        seed = self.terms.seed
        groups = group_rows(rows, by=None, cluster=cluster, weights=None, seed=seed)
        return GuaranteeRules(self.guarantee, groups, self.terms).alternative.coverage

    def policy_groups(self, parts: Mapping[str, Mapping[str, Any]]) -> tuple[PolicyGroup, ...]:
        cells = zip(self.groups, self.rules, self.seen, strict=True)
        return tuple(self._group(*cell, parts) for cell in cells)

    def _group(
        self,
        group: LabelledGroup,
        rule: Rule,
        seen: Acceptance,
        parts: Mapping[str, Mapping[str, Any]],
    ) -> PolicyGroup:
        # A batch is decided later: it is called feasible if half of the labels accepted anything.
        feasible = seen.coverage > 0 if rule.accepts == "batch" else rule.accepts != "none"
        fingerprint = group.fingerprints[0] if len(group.fingerprints) == 1 else None
        fingerprint_parts = None if fingerprint is None else parts.get(fingerprint)
        labels = group.in_order
        weights = group.labels.weights
        if not self.guarantee.per_batch and len(labels) > KEPT_SCORES:
            spaced = (2 * np.arange(KEPT_SCORES) + 1) * len(labels) // (2 * KEPT_SCORES)
            labels = labels.take(spaced)
        return PolicyGroup(
            judge=group.judge,
            protocol=group.protocol,
            group=group.name,
            judge_fingerprint=fingerprint,
            accepts=rule.accepts,
            threshold=rule.threshold,
            feasible=feasible,
            n_calibration=len(group),
            n_errors=int(group.labels.errors.sum()),
            **vars(seen),
            note=None if feasible else self._note(group),
            resampling=self._resample(group) if feasible else None,
            effective_size=None if weights is None else effective_size(weights),
            fingerprint_parts=None if fingerprint_parts is None else dict(fingerprint_parts),
            members=group.members,
            scores=tuple(labels.scores.tolist()),
            errors=tuple(labels.errors.tolist()),
            weights=None if labels.weights is None else tuple(labels.weights.tolist()),
        )

    def _resample(self, group: LabelledGroup) -> Resampling | None:
        """None if the promise says how often: a batch has no threshold, and delta bounds it."""
        if self.guarantee.per_batch or self.guarantee.uses_delta:
            return None
        has_verdict = group.has_verdict[group.order.rows]
        seed = self.terms.seed
        return resample_labels(self.guarantee, group.in_order, has_verdict, self.levels, seed)

    def labels_needed(self, other: GuaranteeRules) -> int | None:
        """About how many labels it needs to accept as much as another guarantee does."""
        if self.alternative.coverage >= other.alternative.coverage:
            return None
        needed = [
            self.guarantee.labels_needed(
                group.labels, seen.n_accepted, seen.n_accepted_errors, self.levels
            )
            for group, seen in zip(self.groups, other.seen, strict=True)
            if seen.n_accepted
        ]
        return None if None in needed else sum(n for n in needed if n is not None)

    def _note(self, group: LabelledGroup) -> str:
        n = len(group)
        least = self.guarantee.fewest_labels(self.levels)
        if n < least:
            remedy = "label more" if group.name is None else "label more, or pool small groups"
            return (
                f"only {count(n, 'label')}: {self.guarantee.name} at alpha "
                f"{float(self.terms.levels.alpha):g} needs {least} without an error; {remedy}"
            )
        return (
            f"nothing passes: {int(group.labels.errors.sum())} of {n} verdicts are wrong, also "
            "those with little doubt"
        )
