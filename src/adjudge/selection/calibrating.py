"""Calibrate: from labelled judgments to a policy that says what it promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np

from adjudge._validation import count, exact_level
from adjudge.errors import ArgumentError
from adjudge.io.tables import TableLike
from adjudge.results.selection import (
    Accepts,
    Alternative,
    JuryReport,
    Policy,
    PolicyGroup,
    Rule,
    share,
)
from adjudge.rows.dropped import merge_dropped
from adjudge.rows.judgments import Judgments, read_labelled
from adjudge.selection.acceptance import Acceptance, accept_labels, accept_labels_pooled
from adjudge.selection.conditions import assumptions, cautions
from adjudge.selection.groups import Entry, entries, pool_small
from adjudge.selection.guarantees import DEFAULT, all_guarantees, find_guarantee
from adjudge.selection.guarantees.base import Guarantee
from adjudge.selection.guarantees.fdr import effective_size
from adjudge.selection.jury import JuryRows, form_jury
from adjudge.store import StorePlace, read_judge_parts

#: Calibration scores that a policy with a threshold keeps: plenty for the drift test, which calls
#: no gap below 0.05 drift, and the file stays small.
_KEPT = 20_000


@dataclass(frozen=True)
class _Terms:
    """The levels wanted, for how many rules together, and the seed of everything random."""

    alpha: Fraction
    delta: Fraction
    rules: int
    seed: int

    def delta_of(self, chosen: Guarantee) -> Fraction:
        """What each rule of a guarantee has of delta."""
        return chosen.delta_per_rule(self.delta, self.rules)

    def fewest_labels(self, chosen: Guarantee) -> int:
        """The fewest labels with which each rule of a guarantee could accept anything."""
        return chosen.fewest_labels(self.alpha, self.delta_of(chosen))


@dataclass(frozen=True)
class _Ruling:
    """One guarantee's rule for one entry, and what it accepts of the entry's labels."""

    entry: Entry
    rule: Rule
    seen: Acceptance

    @property
    def feasible(self) -> bool:
        # A batch is decided later: it looks feasible where half the labels accepted anything.
        return (
            self.seen.coverage > 0 if self.rule.accepts == "batch" else self.rule.accepts != "none"
        )


def calibrate(
    judgments: TableLike | Judgments,
    *,
    alpha: float | Fraction = 0.1,
    labels: TableLike | None = None,
    guarantee: str = DEFAULT,
    delta: float | Fraction = 0.1,
    ties: str = "drop",
    judge: str | None = None,
    protocol: str | None = None,
    by: str | None = None,
    pooled: bool = False,
    small_groups: str = "refuse",
    cluster: str | None = "auto",
    weights: str | None = None,
    jury: str | None = None,
    jury_share: float = 0.3,
    seed: int = 0,
    store: StorePlace = None,
) -> Policy:
    """Choose which verdicts to accept at error level `alpha`, from judgments with human labels.

    `judgments` is a file or a frame (polars, pandas); labels are in its `label` column or come in
    `labels` by id. Of several judges (and protocols) each gets its own rule, unless `judge`
    picks one or `jury` ("mean", "logistic") makes one of them; of several groups (`by`) each gets
    its own, and a guarantee with a delta (pac) shares it among them. `pooled` (fdr) promises over
    all groups together. `cluster` names rows that are not independent: one random row of each
    calibrates ("auto": prompt_id where it repeats; None: no). `weights` names a column of
    importance weights for a shift in the kind of pairs (fdr). `store` is where `judge` kept
    its replies: the policy then remembers the parts of each judge's fingerprint.

    The policy has what every guarantee would accept in `alternatives`, so that choosing one is a
    choice. Nothing accepted is a result: `feasible` is False.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"id": range(60), "p_a": [0.95] * 50 + [0.6] * 10,
    ...                       "label": ["A"] * 50 + ["B"] * 10})
    >>> policy = calibrate(frame, alpha=0.1)
    >>> policy.accepts, policy.n_accepted, [a.n_accepted for a in policy.alternatives]
    ('below', 50, [50, 50, 50])
    """
    chosen = find_guarantee(guarantee)
    level, failure = exact_level(alpha), exact_level(delta, "delta")
    count(seed, "seed")
    _refuse_combinations(chosen, weights=weights, pooled=pooled, by=by, jury=jury)
    table = read_labelled(
        judgments,
        labels,
        judge=judge,
        protocol=protocol,
        ties=ties,
        cluster=cluster,
        by=by,
        weights=weights,
    )
    frame, column = table.frame, table.cluster
    members: JuryRows | None = None
    if jury is not None:
        members = form_jury(frame, jury, jury_share, cluster=column, seed=seed)
        frame = members.rows
    made = entries(frame, by=by, cluster=column, weights=weights, seed=seed)
    repeated = {f"same {column} as a row kept": frame.height - sum(map(len, made))}
    dropped = merge_dropped(table.dropped, members.dropped if members else {}, repeated)
    least = _Terms(level, failure, len(made), seed).fewest_labels(chosen)
    made = pool_small(made, least, small_groups=small_groups)
    terms = _Terms(level, failure, len(made), seed)

    rulings = {one.name: _rule_all(one, made, terms, pooled=pooled) for one in all_guarantees()}
    alternatives = tuple(_alternative(one, rulings[one.name], terms) for one in all_guarantees())
    own = next(other for other in alternatives if other.guarantee == chosen.name)
    prints = sorted({name for entry in made for name in entry.fingerprints})
    parts = read_judge_parts(prints, store)
    groups = tuple(_group(chosen, ruling, terms, parts) for ruling in rulings[chosen.name])
    return Policy(
        guarantee=chosen.name,
        alpha=float(terms.alpha),
        delta=float(terms.delta) if chosen.uses_delta else None,
        ties=ties,
        accepts=own.accepts,
        threshold=own.threshold,
        feasible=any(group.feasible for group in groups),
        indicative=own.indicative,
        n_calibration=sum(group.n_calibration for group in groups),
        n_errors=sum(group.n_errors for group in groups),
        n_accepted=own.n_accepted,
        n_accepted_errors=sum(group.n_accepted_errors for group in groups),
        empirical_risk=own.empirical_risk,
        coverage=own.coverage,
        judges=tuple(members.judges if members else dict.fromkeys(e.judge for e in made)),
        judge_fingerprints=tuple(members.fingerprints if members else prints),
        by=by,
        pooled=pooled,
        cluster=column,
        weights_column=weights,
        jury=None if members is None else _jury_report(members, chosen, own, column, terms),
        seed=seed,
        promise=own.promise,
        not_promised=own.not_promised,
        assumptions=assumptions(
            guarantee=chosen,
            ties=ties,
            cluster=column,
            by=by,
            pooled=pooled,
            weights=weights,
            jury=jury,
        ),
        warnings=cautions(made, guarantee=chosen, delta=terms.delta, frame=frame, cluster=column),
        dropped=dropped,
        groups=groups,
        alternatives=alternatives,
        adjudge_version=version("adjudge"),
    )


def _rule_all(
    chosen: Guarantee, made: Sequence[Entry], terms: _Terms, *, pooled: bool
) -> list[_Ruling]:
    """One guarantee's rules for all entries."""
    alpha, delta, seed = terms.alpha, terms.delta_of(chosen), terms.seed
    rules = [_rule(chosen, entry, alpha, delta) for entry in made]
    if not (pooled and chosen.takes_pooled):
        return [
            _Ruling(
                entry,
                rule,
                accept_labels(chosen, rule, entry, alpha=alpha, delta=delta, seed=seed),
            )
            for rule, entry in zip(rules, made, strict=True)
        ]
    by_place: dict[int, Acceptance] = {}
    for judge in dict.fromkeys((entry.judge, entry.protocol) for entry in made):
        own = [at for at, entry in enumerate(made) if (entry.judge, entry.protocol) == judge]
        together = accept_labels_pooled(
            chosen, [made[at] for at in own], alpha=alpha, delta=delta, seed=seed
        )
        by_place.update(zip(own, together, strict=True))
    return [_Ruling(entry, rules[at], by_place[at]) for at, entry in enumerate(made)]


def _rule(chosen: Guarantee, entry: Entry, alpha: Fraction, delta: Fraction) -> Rule:
    if len(entry) < chosen.fewest_labels(alpha, delta):
        return Rule(accepts="none")
    weights = entry.weights if chosen.takes_weights else None
    return chosen.decide(entry.scores, entry.errors, alpha=alpha, delta=delta, weights=weights)


def _group(
    chosen: Guarantee, ruling: _Ruling, terms: _Terms, parts: Mapping[str, Mapping[str, Any]]
) -> PolicyGroup:
    """One rule as the policy keeps it, with the calibration rows in the order of their scores."""
    entry, rule, seen = ruling.entry, ruling.rule, ruling.seen
    fingerprint = entry.fingerprints[0] if len(entry.fingerprints) == 1 else None
    order = np.lexsort((entry.errors, entry.scores))
    if not chosen.per_batch and len(order) > _KEPT:
        order = order[(2 * np.arange(_KEPT) + 1) * len(order) // (2 * _KEPT)]
    return PolicyGroup(
        judge=entry.judge,
        protocol=entry.protocol,
        group=entry.group,
        judge_fingerprint=fingerprint,
        accepts=rule.accepts,
        threshold=rule.threshold,
        feasible=ruling.feasible,
        n_calibration=len(entry),
        n_errors=int(entry.errors.sum()),
        n_accepted=seen.rows,
        n_accepted_errors=seen.wrong,
        empirical_risk=seen.risk,
        coverage=seen.coverage,
        note=_note(chosen, ruling, terms),
        effective_size=None if entry.weights is None else effective_size(entry.weights),
        fingerprint_parts=_parts(parts, fingerprint),
        members=entry.members,
        scores=tuple(entry.scores[order].tolist()),
        errors=tuple(entry.errors[order].tolist()),
        weights=None if entry.weights is None else tuple(entry.weights[order].tolist()),
    )


def _parts(
    parts: Mapping[str, Mapping[str, Any]], fingerprint: str | None
) -> Mapping[str, Any] | None:
    known = None if fingerprint is None else parts.get(fingerprint)
    return None if known is None else dict(known)


def _note(chosen: Guarantee, ruling: _Ruling, terms: _Terms) -> str | None:
    """Why a group accepts nothing, where it does."""
    entry = ruling.entry
    least = terms.fewest_labels(chosen)
    if len(entry) < least:
        return (
            f"refused: {len(entry)} label{'' if len(entry) == 1 else 's'}, and {chosen.name} at "
            f"alpha {float(terms.alpha):g} needs {least} without an error before it can accept; "
            + ("label more" if entry.group is None else "label more, or pool small groups")
        )
    if ruling.feasible:
        return None
    return (
        f"nothing passes: {int(entry.errors.sum())} of {len(entry)} verdicts were wrong, and "
        "their uncertainty does not set enough of the right ones apart"
    )


def _alternative(chosen: Guarantee, rulings: Sequence[_Ruling], terms: _Terms) -> Alternative:
    rows = sum(ruling.seen.rows for ruling in rulings)
    coverage = share(rows, sum(len(ruling.entry) for ruling in rulings))
    wrong = sum(ruling.seen.risk * ruling.seen.rows for ruling in rulings)
    risk, threshold = wrong / rows if rows else 0.0, None
    accepts: Accepts = "batch" if chosen.per_batch else "groups"
    if all(ruling.rule.accepts == "none" for ruling in rulings):
        accepts = "none"
    if len(rulings) == 1:
        only = rulings[0]
        accepts, threshold = only.rule.accepts, only.rule.threshold
        coverage, risk = only.seen.coverage, only.seen.risk
    return Alternative(
        guarantee=chosen.name,
        summary=chosen.summary,
        accepts=accepts,
        threshold=threshold,
        n_accepted=rows,
        coverage=coverage,
        empirical_risk=risk,
        indicative=chosen.per_batch,
        promise=chosen.promise(float(terms.alpha), float(terms.delta)),
        not_promised=chosen.not_promised(float(terms.alpha), float(terms.delta)),
    )


def _jury_report(
    members: JuryRows,
    chosen: Guarantee,
    together: Alternative,
    cluster: str | None,
    terms: _Terms,
) -> JuryReport:
    alone = {}
    for name, rows in members.alone.items():
        made = entries(rows, by=None, cluster=cluster, weights=None, seed=terms.seed)
        rulings = _rule_all(chosen, made, terms, pooled=False)
        alone[name] = _alternative(chosen, rulings, terms).coverage
    return JuryReport(
        method=members.jury.method,
        judges=members.judges,
        weights=tuple(members.jury.weights.tolist()),
        n_training=members.n_training,
        coverage=together.coverage,
        coverage_alone=alone,
    )


def _refuse_combinations(
    chosen: Guarantee, *, weights: str | None, pooled: bool, by: str | None, jury: str | None
) -> None:
    if weights is not None and not chosen.takes_weights:
        can = " or ".join(one.name for one in all_guarantees() if one.takes_weights)
        raise ArgumentError(
            "weights", weights, f"{chosen.name} cannot use weights: only --guarantee {can} can"
        )
    if pooled and (not chosen.takes_pooled or by is None):
        can = " or ".join(one.name for one in all_guarantees() if one.takes_pooled)
        raise ArgumentError("pooled", pooled, f"needs --guarantee {can} and groups with --by")
    if pooled and weights is not None:
        raise ArgumentError("pooled", pooled, "leave it out: weights are used within each group")
    if by in ("judge", "protocol"):
        raise ArgumentError("by", by, "leave it out: each judge and protocol has its own rule")
    if jury is not None and weights is not None:
        raise ArgumentError("jury", jury, "leave out --weights: a jury has no weighted form here")
