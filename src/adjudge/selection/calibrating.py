"""Calibrate: from labelled judgments to a policy that says what it promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl

from adjudge._validation import count, exact_level, one_of
from adjudge.errors import ArgumentError
from adjudge.io.tables import TableLike, as_text, source_name
from adjudge.results.selection import (
    Accepts,
    Alternative,
    JuryReport,
    Policy,
    PolicyGroup,
    counted,
    share,
)
from adjudge.selection.fingerprints import Parts, parts_in_store
from adjudge.selection.groups import Entry, entries, fewest_labels, pool_small
from adjudge.selection.indicative import Indication, indicate, indicate_pooled
from adjudge.selection.juries import Seated, seat_jury
from adjudge.selection.pac import pac_threshold
from adjudge.selection.rows import cluster_column, judged, labelled, with_column, without
from adjudge.selection.scope import scope_threshold
from adjudge.selection.shift import effective_size
from adjudge.selection.words import GUARANTEES, assumptions, cautions, promise

#: Calibration scores that a scope or pac policy keeps: plenty for the drift test, which calls no
#: gap below 0.05 drift, and the file stays small.
_KEPT = 20_000


def calibrate(
    judgments: TableLike,
    *,
    alpha: float | Fraction = 0.1,
    labels: TableLike | None = None,
    guarantee: str = "scope",
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
    store: str | Path | None = None,
) -> Policy:
    """Choose which verdicts to accept at error level `alpha`, from judgments with human labels.

    `judgments` is a file or a frame (polars, pandas); labels stand in its `label` column or come
    in `labels` by id. Of several judges (and protocols) each gets its own rule, unless `judge`
    picks one or `jury` ("mean", "logistic") makes one of them; of several groups (`by`) each gets
    its own, and pac spends delta / G on each of G rules. `pooled` (fdr alone) promises over all
    groups together. `cluster` names rows that are not independent: one random row of each
    calibrates ("auto": prompt_id where it repeats; None: no). `weights` names a column of
    importance weights for a shift in the kind of pairs (fdr alone). `store` is where `judge` kept
    its replies: the policy then remembers the parts of each judge's fingerprint.

    The policy carries what all three guarantees would accept in `alternatives`, so that choosing
    one is a choice. Nothing accepted is a result: `feasible` is False.

    >>> frame = pl.DataFrame({"id": range(60), "p_a": [0.95] * 50 + [0.6] * 10,
    ...                       "label": ["A"] * 50 + ["B"] * 10})
    >>> policy = calibrate(frame, alpha=0.1)
    >>> policy.accepts, policy.n_accepted, [a.n_accepted for a in policy.alternatives]
    ('below', 50, [50, 50, 50])
    """
    level, failure = exact_level(alpha), exact_level(delta, "delta")
    one_of(guarantee, GUARANTEES, "guarantee")
    count(seed, "seed")
    _refuse_combinations(guarantee, weights, pooled, by, jury)
    dropped: Counter[str] = Counter()
    frame = judged(judgments, dropped, judge=judge, protocol=protocol)
    if by is not None:
        frame = with_column(frame, by, "by")
    frame = labelled(frame, labels, ties=ties, dropped=dropped, name=source_name(judgments))
    if by is not None:
        frame = _drop_null(frame, by, f"no {by}", dropped)
    if weights is not None:
        frame = _with_weights(frame, weights)
    column = cluster_column(frame, cluster)
    seated: Seated | None = None
    if jury is not None:
        seated = seat_jury(frame, jury, jury_share, cluster=column, seed=seed, dropped=dropped)
        frame = seated.rows
    made = entries(frame, by=by, cluster=column, weights=weights, seed=seed)
    if column is not None:
        dropped[f"same {column} as a row kept"] += frame.height - sum(map(len, made))
    spent = failure / len(made)
    made = pool_small(made, fewest_labels(guarantee, level, spent), small_groups=small_groups)
    spent = failure / len(made)

    decided = {
        name: [_decide(name, entry, level, spent, seed) for entry in made] for name in GUARANTEES
    }
    if pooled:
        decided["fdr"] = _pooled(made, level, seed)
    alternatives = tuple(_alternative(name, decided[name], level, failure) for name in GUARANTEES)
    prints = sorted({name for entry in made for name in entry.fingerprints})
    parts = parts_in_store(prints, store)
    groups = tuple(
        _with_note(group, entry, guarantee, level, spent, parts)
        for group, entry in zip(decided[guarantee], made, strict=True)
    )
    chosen = alternatives[GUARANTEES.index(guarantee)]
    n = sum(group.n_calibration for group in groups)
    report = (
        None
        if seated is None
        else _jury_report(seated, guarantee, level, spent, chosen, column, seed)
    )
    told, not_told = promise(guarantee, float(level), float(failure))
    return Policy(
        guarantee=guarantee,
        alpha=float(level),
        delta=float(failure) if guarantee == "pac" else None,
        ties=ties,
        accepts=chosen.accepts,
        threshold=chosen.threshold,
        feasible=any(group.feasible for group in groups),
        indicative=chosen.indicative,
        n_calibration=n,
        n_errors=sum(group.n_errors for group in groups),
        n_accepted=chosen.n_accepted,
        n_accepted_errors=sum(group.n_accepted_errors for group in groups),
        empirical_risk=chosen.empirical_risk,
        coverage=chosen.coverage,
        judges=tuple(seated.judges if seated else dict.fromkeys(e.judge for e in made)),
        judge_fingerprints=tuple(prints if seated is None else seated.fingerprints),
        by=by,
        pooled=pooled,
        cluster=column,
        weights_column=weights,
        jury=report,
        seed=seed,
        promise=told,
        not_promised=not_told,
        assumptions=assumptions(
            guarantee=guarantee,
            ties=ties,
            cluster=column,
            by=by,
            pooled=pooled,
            weights=weights,
            jury=jury,
        ),
        warnings=cautions(made, guarantee, failure, frame, column),
        dropped=dict(dropped),
        groups=groups,
        alternatives=alternatives,
        adjudge_version=version("adjudge"),
    )


def _decide(
    guarantee: str, entry: Entry, alpha: Fraction, delta: Fraction, seed: int
) -> PolicyGroup:
    """The rule of one guarantee for one entry."""
    if guarantee == "fdr":
        least = fewest_labels(guarantee, alpha, delta)
        return _batch(entry, indicate(entry, alpha, seed), least)
    if guarantee == "scope":
        rule = scope_threshold(entry.scores, entry.errors, alpha=alpha)
    else:
        rule = pac_threshold(entry.scores, entry.errors, alpha=alpha, delta=delta)
    # A row without a verdict counted as an error above; it is never accepted itself.
    accepted = rule.accept(entry.scores) & entry.has_verdict
    rows, wrong = int(accepted.sum()), int(entry.errors[accepted].sum())
    return _group(
        entry,
        rule.accepts,
        rule.threshold,
        rows,
        wrong,
        share(wrong, rows),
        share(rows, len(entry)),
    )


def _batch(entry: Entry, seen: Indication, least: int) -> PolicyGroup:
    rows = round(seen.coverage * len(entry))
    accepts: Accepts = "batch" if len(entry) >= least else "none"
    wrong = round(seen.risk * rows)
    return _group(entry, accepts, None, rows, wrong, seen.risk, seen.coverage)


def _pooled(made: Sequence[Entry], alpha: Fraction, seed: int) -> list[PolicyGroup]:
    least = fewest_labels("fdr", alpha, alpha)
    seen: dict[int, Indication] = {}
    for rule in dict.fromkeys((entry.judge, entry.protocol) for entry in made):
        own = [at for at, entry in enumerate(made) if (entry.judge, entry.protocol) == rule]
        seen.update(zip(own, indicate_pooled([made[at] for at in own], alpha, seed), strict=True))
    return [_batch(entry, seen[at], least) for at, entry in enumerate(made)]


def _group(
    entry: Entry,
    accepts: Accepts,
    threshold: float | None,
    rows: int,
    wrong: int,
    risk: float,
    coverage: float,
) -> PolicyGroup:
    order = np.lexsort((entry.errors, entry.scores))
    return PolicyGroup(
        judge=entry.judge,
        protocol=entry.protocol,
        group=entry.group,
        judge_fingerprint=entry.fingerprints[0] if len(entry.fingerprints) == 1 else None,
        accepts=accepts,
        threshold=threshold,
        # fdr is decided batch by batch: it looks feasible where half the labels accepted anything.
        feasible=coverage > 0 if accepts == "batch" else accepts != "none",
        n_calibration=len(entry),
        n_errors=int(entry.errors.sum()),
        n_accepted=rows,
        n_accepted_errors=wrong,
        empirical_risk=risk,
        coverage=coverage,
        effective_size=None if entry.weights is None else effective_size(entry.weights),
        members=entry.members,
        scores=tuple(entry.scores[order].tolist()),
        errors=tuple(entry.errors[order].tolist()),
        weights=None if entry.weights is None else tuple(entry.weights[order].tolist()),
    )


def _with_note(
    group: PolicyGroup,
    entry: Entry,
    guarantee: str,
    alpha: Fraction,
    delta: Fraction,
    parts: Parts,
) -> PolicyGroup:
    least, note = fewest_labels(guarantee, alpha, delta), None
    if len(entry) < least:
        note = (
            f"refused: {counted(len(entry), 'label')}, and {guarantee} at alpha "
            f"{float(alpha):g} needs {least} without an error before it can accept; "
            + ("label more" if entry.group is None else "label more, or pool small groups")
        )
    elif not group.feasible:
        note = (
            f"nothing passes: {group.n_errors} of {len(entry)} verdicts were wrong, and their "
            "uncertainty does not set enough of the right ones apart"
        )
    known = parts.get(group.judge_fingerprint or "")
    group = replace(group, note=note, fingerprint_parts=None if known is None else dict(known))
    return group if guarantee == "fdr" else _thinned(group)


def _thinned(group: PolicyGroup) -> PolicyGroup:
    """At most `_KEPT` calibration scores, evenly spaced in their order."""
    n = len(group.scores)
    if n <= _KEPT:
        return group
    kept = ((2 * np.arange(_KEPT) + 1) * n // (2 * _KEPT)).tolist()
    return replace(
        group,
        scores=tuple(group.scores[at] for at in kept),
        errors=tuple(group.errors[at] for at in kept),
    )


def _alternative(
    guarantee: str, groups: Sequence[PolicyGroup], alpha: Fraction, delta: Fraction
) -> Alternative:
    n = sum(group.n_calibration for group in groups)
    rows = sum(group.n_accepted for group in groups)
    told, not_told = promise(guarantee, float(alpha), float(delta))
    wrong = sum(group.empirical_risk * group.n_accepted for group in groups)
    single = groups[0] if len(groups) == 1 else None
    accepts: Accepts
    if single is not None:
        accepts = single.accepts
    elif all(group.accepts == "none" for group in groups):
        accepts = "none"
    else:
        accepts = "batch" if guarantee == "fdr" else "groups"
    return Alternative(
        guarantee=guarantee,
        accepts=accepts,
        threshold=None if single is None else single.threshold,
        n_accepted=rows,
        coverage=share(rows, n) if single is None else single.coverage,
        empirical_risk=(wrong / rows if rows else 0.0) if single is None else single.empirical_risk,
        indicative=guarantee == "fdr",
        promise=told,
        not_promised=not_told,
    )


def _jury_report(
    seated: Seated,
    guarantee: str,
    alpha: Fraction,
    delta: Fraction,
    chosen: Alternative,
    cluster: str | None,
    seed: int,
) -> JuryReport:
    alone = {}
    for name, rows in seated.alone.items():
        made = entries(rows, by=None, cluster=cluster, weights=None, seed=seed)
        decided = [_decide(guarantee, entry, alpha, delta, seed) for entry in made]
        alone[name] = _alternative(guarantee, decided, alpha, delta).coverage
    return JuryReport(
        method=seated.jury.method,
        judges=seated.judges,
        weights=tuple(seated.jury.weights.tolist()),
        n_training=seated.n_training,
        coverage=chosen.coverage,
        coverage_alone=alone,
    )


def _refuse_combinations(
    guarantee: str, weights: str | None, pooled: bool, by: str | None, jury: str | None
) -> None:
    if weights is not None and guarantee != "fdr":
        raise ArgumentError(
            "weights", weights, f"{guarantee} cannot use weights: only --guarantee fdr can"
        )
    if pooled and (guarantee != "fdr" or by is None):
        raise ArgumentError("pooled", pooled, "needs --guarantee fdr and groups with --by")
    if pooled and weights is not None:
        raise ArgumentError("pooled", pooled, "leave it out: weights are used within each group")
    if by in ("judge", "protocol"):
        raise ArgumentError("by", by, "leave it out: each judge and protocol has its own rule")
    if jury is not None and weights is not None:
        raise ArgumentError("jury", jury, "leave out --weights: a jury has no weighted form here")


def _with_weights(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    if column not in frame.columns:
        raise ArgumentError("weights", column, "choose a column: " + ", ".join(frame.columns))
    numbers = as_text(frame.get_column(column)).cast(pl.Float64, strict=False)
    bad = (~(numbers.is_finite() & (numbers > 0))).fill_null(True)
    if bad.any():
        at = int(bad.arg_true()[0])
        raise ArgumentError(
            f"{column} of id {frame['id'][at]!r}", frame[column][at], "give a weight above 0"
        )
    return frame.with_columns(numbers.alias(column))


def _drop_null(frame: pl.DataFrame, column: str, why: str, dropped: Counter[str]) -> pl.DataFrame:
    kept = without(frame, pl.col(column).is_null(), why, dropped)
    if kept.height == 0:
        raise ArgumentError("by", column, "it is empty in every labelled row")
    return kept
