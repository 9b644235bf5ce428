"""Select: a policy applied to new rows, with nobody dropped in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge._validation import BoolArray, FloatArray, IntArray
from adjudge.errors import ArgumentError
from adjudge.io.tables import TableLike
from adjudge.results.selection import Drift, Policy, PolicyGroup, Selection, share
from adjudge.selection.clusters import one_row_per_cluster
from adjudge.selection.drift import drift_of
from adjudge.selection.fdr import fdr_select, pooled_fdr_select
from adjudge.selection.juries import unseated_rows
from adjudge.selection.jury import Jury
from adjudge.selection.policy import check_judge, read_policy
from adjudge.selection.rows import judged, measured, with_column
from adjudge.selection.shift import weighted_fdr_select

_INCOMPLETE = "not measured by every judge of the jury"
_COLUMNS = ["id", "judge", "verdict", "p_a", "uncertainty", "accepted"]


@dataclass(frozen=True)
class Selected:
    """The summary of a selection, and every row with its fate.

    `rows` has id, judge, verdict, p_a, uncertainty, accepted and, where it was not accepted,
    `reason`; the columns of the input follow.
    """

    summary: Selection
    rows: pl.DataFrame


def select(
    judgments: TableLike,
    policy: Policy | str | Path,
    *,
    judge: str | None = None,
    protocol: str | None = None,
    store: str | Path | None = None,
    seed: int = 0,
) -> Selected:
    """Accept or abstain on every row of `judgments`, as the policy says.

    Refuses rows of another judge or prompt than the policy's; `store` helps to say which part of
    the fingerprint differs. Never accepted: rows without a
    measurement or a verdict, and rows of a group the policy does not know. fdr decides on the
    rows given here as one batch. The new scores are compared with the calibration scores
    (`drift`), one random row per cluster where the policy had clusters.

    >>> from adjudge.selection import calibrate
    >>> old = pl.DataFrame({"id": range(60), "p_a": [0.95] * 50 + [0.6] * 10,
    ...                     "label": ["A"] * 50 + ["B"] * 10})
    >>> new = pl.DataFrame({"id": [1, 2], "p_a": [0.97, 0.55]})
    >>> select(new, calibrate(old, alpha=0.1)).rows["accepted"].to_list()
    [True, False]
    """
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    dropped: Counter[str] = Counter()
    everything = judged(judgments, dropped, judge=judge, protocol=protocol)
    warnings = check_judge(rules, everything, store=store)
    unmeasured: Counter[str] = Counter()
    usable = measured(everything, unmeasured)
    if rules.jury is not None:
        jury = Jury(rules.jury.method, np.asarray(rules.jury.weights))
        usable = unseated_rows(usable, jury, rules.jury.judges, Counter())
        everything = _with_incomplete(everything, usable)
        unmeasured = Counter({_INCOMPLETE: everything.height - usable.height})
    dropped += unmeasured
    for column, option in ((rules.by, "by"), (rules.weights_column, "weights")):
        if column is not None and column not in usable.columns:
            raise ArgumentError("judgments", column, f"the policy needs this column ({option})")
    if rules.by is not None:
        usable = with_column(usable, rules.by, "by")
        everything = with_column(everything, rules.by, "by")
    accepted, placed, told = _apply(rules, usable)
    reasons = _reasons(usable, accepted, placed, rules)
    dropped.update(reason for reason in reasons if reason is not None)
    verdicts = usable.select("id", "judge", "protocol").with_columns(
        accepted=pl.Series(accepted, dtype=pl.Boolean), reason=pl.Series(reasons, dtype=pl.String)
    )
    rows = everything.join(
        verdicts, on=["id", "judge", "protocol"], how="left", maintain_order="left"
    )
    why = pl.format("status {}", "status") if rules.jury is None else pl.lit(_INCOMPLETE)
    rows = rows.with_columns(
        accepted=pl.col("accepted").fill_null(False),
        reason=pl.coalesce("reason", pl.when(pl.col("accepted").is_null()).then(why)),
    )
    n, kept = rows.height, int(rows.get_column("accepted").sum())
    summary = Selection(
        guarantee=rules.guarantee,
        alpha=rules.alpha,
        delta=rules.delta,
        n=n,
        n_accepted=kept,
        accepted_share=share(kept, n),
        drift=_drift(rules, usable, placed, seed),
        groups=tuple(told),
        promise=rules.promise,
        not_promised=rules.not_promised,
        assumptions=rules.assumptions,
        warnings=tuple(warnings),
        dropped={reason: count for reason, count in dropped.items() if count},
    )
    others = [name for name in rows.columns if name not in (*_COLUMNS, "reason")]
    return Selected(summary=summary, rows=rows.select([*_COLUMNS, "reason", *others]))


def _with_incomplete(everything: pl.DataFrame, usable: pl.DataFrame) -> pl.DataFrame:
    """The jury's rows, and one without a measurement for every pair that some judge lacks."""
    left_out = everything.unique("id", keep="first", maintain_order=True).join(
        usable, on="id", how="anti", maintain_order="left"
    )
    shared = [name for name in left_out.columns if name in usable.columns]
    blank = ("p_a", "p_fwd", "p_rev", "uncertainty", "verdict", "judge_fingerprint")
    left_out = left_out.select(shared).with_columns(
        *(pl.lit(None, usable.schema[name]).alias(name) for name in blank if name in shared),
        judge=pl.lit(usable["judge"][0], pl.String),
        protocol=pl.lit(usable["protocol"][0], pl.String),
        status=pl.lit("error"),
    )
    return pl.concat([usable, left_out], how="diagonal_relaxed")


def _apply(
    policy: Policy, rows: pl.DataFrame
) -> tuple[BoolArray, IntArray, list[Mapping[str, Any]]]:
    """Accepted or not, and which of the policy's groups each row belongs to (-1: none)."""
    placed = _place(policy, rows)
    scores = rows.get_column("uncertainty").to_numpy().astype(np.float64)
    has_verdict = rows.get_column("verdict").is_not_null().to_numpy()
    accepted = np.zeros(rows.height, dtype=np.bool_)
    if policy.pooled:
        for judge in dict.fromkeys((g.judge, g.protocol) for g in policy.groups):
            own = [i for i, g in enumerate(policy.groups) if (g.judge, g.protocol) == judge]
            here = np.isin(placed, own)
            accepted[here] = _pooled(policy, own, scores[here], placed[here])
    else:
        weights = None
        if policy.weights_column is not None:
            weights = rows.get_column(policy.weights_column).cast(pl.Float64).to_numpy()
        for number, group in enumerate(policy.groups):
            here = placed == number
            own_weights = None if weights is None else weights[here]
            accepted[here] = _accept(policy, group, scores[here], own_weights)
    accepted &= has_verdict
    told: list[Mapping[str, Any]] = []
    for number, group in enumerate(policy.groups):
        here = placed == number
        kept = int(accepted[here].sum())
        told.append(
            {
                "judge": group.judge,
                "group": group.group,
                "n": int(here.sum()),
                "n_accepted": kept,
                "accepted_share": share(kept, int(here.sum())),
            }
        )
    return accepted, placed, told


def _place(policy: Policy, rows: pl.DataFrame) -> IntArray:
    where: dict[tuple[str, str | None, str | None], int] = {}
    for number, group in enumerate(policy.groups):
        for name in group.covers:
            where[group.judge, group.protocol, name] = number
    names = [None] * rows.height if policy.by is None else rows.get_column(policy.by).to_list()
    keys = zip(rows["judge"].to_list(), rows["protocol"].to_list(), names, strict=True)
    return np.array([where.get(key, -1) for key in keys], dtype=np.int64)


def _accept(
    policy: Policy, group: PolicyGroup, scores: FloatArray, weights: FloatArray | None
) -> BoolArray:
    if group.accepts == "batch" and len(scores):
        if group.weights is not None and weights is not None:
            return weighted_fdr_select(
                group.scores, group.errors, group.weights, scores, weights, alpha=policy.alpha
            ).accepted
        return fdr_select(group.scores, group.errors, scores, alpha=policy.alpha).accepted
    if group.threshold is None:
        return np.full(len(scores), group.accepts == "all")
    return np.asarray(scores <= group.threshold)


def _pooled(policy: Policy, own: list[int], scores: FloatArray, placed: IntArray) -> BoolArray:
    groups = [policy.groups[i] for i in own]
    return pooled_fdr_select(
        np.concatenate([np.asarray(g.scores) for g in groups]),
        np.concatenate([np.asarray(g.errors) for g in groups]),
        np.repeat(own, [len(g.scores) for g in groups]),
        scores,
        placed,
        alpha=policy.alpha,
    ).accepted


def _reasons(
    rows: pl.DataFrame, accepted: BoolArray, placed: IntArray, policy: Policy
) -> list[str | None]:
    reasons: list[str | None] = []
    silent = rows.get_column("verdict").is_null().to_list()
    for row, kept in enumerate(accepted.tolist()):
        if kept:
            reasons.append(None)
        elif silent[row]:
            reasons.append("no verdict")
        elif placed[row] < 0:
            reasons.append("group not calibrated")
        elif policy.groups[placed[row]].accepts == "none":
            reasons.append("nothing is accepted in this group")
        else:
            reasons.append("too uncertain")
    return reasons


def _drift(policy: Policy, rows: pl.DataFrame, placed: IntArray, seed: int) -> Drift:
    scores = rows.get_column("uncertainty").to_numpy().astype(np.float64)
    parts = []
    for number, group in enumerate(policy.groups):
        here = np.flatnonzero(placed == number)
        if policy.cluster is not None and policy.cluster in rows.columns and len(here):
            names = rows.get_column(policy.cluster)[here.tolist()].to_list()
            here = here[one_row_per_cluster(names, rng=seed)]
        parts.append((group.name, np.asarray(group.scores), scores[here]))
    seen = drift_of(parts)
    if policy.weights_column is not None and seen.flagged:
        told = "a shift is what the weights are for: not counted as drift"
        return replace(seen, flagged=False, note=told)
    return seen
