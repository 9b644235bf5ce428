"""Select: apply a policy to new rows; every row is returned, with a reason if not accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Unpack

import numpy as np
import polars as pl

from adjudge.data.columns import make_room
from adjudge.data.drift import Drift, drift_of
from adjudge.data.judgments import HAS_VERDICT, Judgments
from adjudge.data.rows import PASS, merge_dropped, one_row_per_cluster, text_column
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.policy.result import Policy, PolicyGroup, share
from adjudge.policy.view import promises_of
from adjudge.present.blocks import Block, Headline, Note, explain, table_of, warnings_of
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    ResultWithRows,
    at_most,
    frozen,
)
from adjudge.present.text import count, number, percent
from adjudge.records import GIVEN, LABELLED, MEASURED, About
from adjudge.selection.doubts.base import (
    Doubt,
    ReadingJudgments,
    StageCount,
    load_doubt,
    open_judgments,
)
from adjudge.selection.doubts.evidence import count_overturned
from adjudge.selection.guarantees import find_guarantee
from adjudge.selection.labelled import BEYOND, lie_below, read_new
from adjudge.selection.verifying import check_about, levels_of, read_policy, remark_answers
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.store import StorePlace
from adjudge.validation import BoolArray, FloatArray, IntArray

#: The first columns, those that there are.
_JUDGED = ["verdict", "judge_verdict", "learned_doubt"]
_COLUMNS = ["id", "judge", *_JUDGED, "p_a", "uncertainty", "accepted"]
_GRADE_COLUMNS = ["id", "judge_name", "judge", *_JUDGED, "p_pass", "uncertainty", "accepted"]
_CHOICE_COLUMNS = ["id", "judge", "choice", "judge_choice", "mean_p", "uncertainty", "accepted"]
#: The doubt that a policy learned, as a column next to the judge's own.
_LEARNED_DOUBT = pl.when(pl.col("uncertainty") < INFINITE_DOUBT).then("uncertainty")
#: The fields of a selection that are those of its policy.
_OF_POLICY = (
    *("about", "guarantee", "alpha", "delta", "promise", "not_promised", "worth", "others"),
    "assumptions",
)
SAME_ROWS = "calibrated on some of these rows: the promise is about new ones"


@dataclass(frozen=True, kw_only=True)
class GroupCount:
    """What was accepted of the new rows of one rule."""

    judge: str
    group: str | None
    n: Count
    n_accepted: Count
    accepted_share: Proportion


@frozen
class Selection(Result):
    """The result of a policy on a file of new rows; the rows are returned with it.

    `n_overturned`: accepted rows whose verdict is not `judge_verdict`; None if the rows have no
    such column. `stages` are those of a cascade, `cost` the cost of its rows, if known.
    `worth` and `others` are sentences of the policy.
    """

    kind: ClassVar[str] = "selection"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (at_most("n_accepted", "n"),)

    about: About = "pairs"
    guarantee: str
    alpha: Level
    delta: Level | None
    n: Count
    n_accepted: Count
    accepted_share: Proportion
    n_overturned: Count | None = None
    stages: tuple[StageCount, ...] = ()
    cost: NotNegative | None = None
    drift: Drift
    groups: tuple[GroupCount, ...] = ()
    promise: str
    not_promised: str
    worth: str = ""
    others: str = ""
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    dropped: Mapping[str, Count]

    def view(self) -> list[Block]:
        worth = self.worth or f"Promise: {self.promise}."
        blocks: list[Block] = [_selection_headline(self)]
        if self.n_accepted:
            blocks.append(Note([worth]))
        if len(self.groups) > 1:
            groups = table_of(
                self.groups,
                {
                    "judge": lambda g: g.judge,
                    "group": lambda g: g.group or "",
                    "rows": lambda g: number(g.n),
                    "accepted": lambda g: number(g.n_accepted),
                    "share": lambda g: percent(g.accepted_share),
                },
                caption="By judge and group",
                text_columns=2,
                detail=True,
            )
            blocks.append(groups)
        if self.stages:
            cost = "" if self.cost is None else f"; its rows cost ${self.cost:,.4f}"
            columns = {
                "stage": lambda stage: stage.judge,
                "ended": lambda stage: number(stage.n),
                "accepted": lambda stage: number(stage.n_accepted),
                "failed": lambda stage: number(stage.n_failed),
            }
            blocks.append(table_of(self.stages, columns, caption=f"The cascade{cost}"))
        if self.drift.flagged:
            blocks.append(Note([_describe_drift(self)], tone="bad"))
        blocks += warnings_of(self.warnings)
        if self.n_overturned is not None:
            noun = "choice" if self.about == "choices" else "verdict"
            overturned = (
                f"{noun} differs from judge_{noun} in {self.n_overturned:,} of "
                f"{count(self.n_accepted, 'accepted row')}"
            )
            blocks.append(Note([overturned]))
        others = [f"On the calibration labels: {self.others}"] if self.others else []
        reasons = [f"{rows:,} {reason}" for reason, rows in self.dropped.items() if rows]
        rest = self.n - self.n_accepted - sum(self.dropped.values())
        if rest > 0:
            reasons.append(f"{rest:,} others left to people")
        if reasons:
            others.append(f"Not accepted: {', '.join(reasons)}")
        if not self.drift.flagged:
            others.insert(0, _describe_drift(self))
        promises = promises_of(self.promise, self.not_promised)
        return blocks + explain(self.assumptions, promises=promises, others=others, brief=False)


@dataclass(frozen=True, repr=False)
class SelectionRun(ResultWithRows):
    """The summary of a selection, and the decision on every row.

    `rows` has id, judge, verdict, p_a, uncertainty, accepted and, if the row was not accepted,
    `reason`. The columns of the input follow; input columns named accepted or reason become
    input_accepted or input_reason. For grades it has judge_name, judge (0 or 1) and p_pass instead.
    For choices it has one row per prompt, with the `choice`, its `mean_p` and the number of
    `responses`. `verdict` is what was accepted or refused. If the policy learned its doubt, or
    combines judges, `judge_verdict` is the judge's own, of several judges the first one's. A
    learned doubt is in `learned_doubt`; p_a and uncertainty remain the judge's. For a cascade there
    is one row per id: p_a and uncertainty are those of the judge in `stage`, at which it ended.
    """

    summary: Selection

    def __repr__(self) -> str:
        return f"SelectionRun({self.summary!r}, rows=<{self.rows.height}>)"


def select(
    judgments: TableLike | Judgments,
    policy: Policy | str | Path,
    *,
    store: StorePlace = None,
    best: bool = False,
    seed: int = 0,
    **reading: Unpack[ReadingJudgments],
) -> SelectionRun:
    """Apply a policy to every row of `judgments`: accept or abstain.

    Rows of another judge or prompt than the policy's are refused. These rows are never accepted:
    rows without a usable score or a verdict, ties of the judge, rows of a group that is not in the
    policy, and rows above the policy's cuts. Rows whose answer_mass is below the policy's
    `min_answer_mass` count as `off_answer`. A guarantee per batch (fdr) treats the given rows as
    one batch. The new scores are compared with the calibration scores (`drift`), without ties, with
    one random row per cluster if the policy had clusters. Only rows below the cuts are in the batch
    and in the drift test. If the rows are the calibration rows, a warning is given. With a policy
    about choices, the rows are combined into one per prompt, as in calibration.

    Args:
        judgments: New judgments or grades, no labels needed. A file or a frame.
        policy: The policy that calibrate wrote. A file, or the policy itself.
        store: Store of the judge's replies, to name what differs between judges.
        best: Choose the best of all responses to a prompt, from comparisons of two responses
            (prompt_id, model_a, model_b). Refuses any other policy.
        seed: Seed of everything random.
        **reading: Which rows and columns are read: see `ReadingJudgments`.

    >>> from adjudge.selection import calibrate
    >>> old = pl.DataFrame({"id": range(60), "p_a": [0.95] * 50 + [0.6] * 10,
    ...                     "label": ["A"] * 50 + ["B"] * 10})
    >>> new = pl.DataFrame({"id": [1, 2], "p_a": [0.97, 0.55]})
    >>> select(new, calibrate(old, alpha=0.1)).rows["accepted"].to_list()
    [True, False]
    """
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    limit = rules.min_answer_mass
    if best:
        check_about(rules, "choices")
    doubt = load_doubt(rules)
    with open_judgments(judgments, reading).keep_apart(rules.by) as source:
        judge = reading.get("judge")
        protocol = reading.get("protocol")
        table = read_new(doubt.prepare(source, judge, protocol, limit), min_answer_mass=limit)
    check_about(rules, table.about)
    judged = doubt.check_judges(table.everything, store=store)
    warnings = [*remark_answers(rules.calibrated_on, table.everything), *judged]
    scored = doubt.score(table)
    usable = scored.rows
    everything = scored.everything
    warnings += scored.remarks
    for column, option in ((rules.by, "by"), (rules.weights_column, "weights")):
        if column is not None and column not in usable.columns:
            raise ArgumentError("judgments", column, f"the policy needs this column ({option})")
    if rules.by is not None:
        usable = usable.with_columns(text_column(usable, rules.by, "by"))
        everything = everything.with_columns(text_column(everything, rules.by, "by"))
    placed = _place(rules, usable)
    if are_calibration_rows(rules, _scores(usable), placed):
        warnings.insert(0, SAME_ROWS)
    below = lie_below(usable, rules.cuts, scored=table.measured).to_numpy()
    # Neither in a batch nor in the drift test: the labels have no information about rows above it.
    decidable = np.where(below, placed, -1)
    accepted = _accept(rules, usable, decidable)
    reasons = _reasons(rules, usable, placed, accepted, below)
    key = ["id", "judge", "protocol"]
    others = {}
    if doubt.overturns:
        others = {"verdict": usable["verdict"], "judge_verdict": scored.judge_verdicts}
        everything = everything.drop("verdict")
    if doubt.learned:
        others["learned_doubt"] = usable.select(_LEARNED_DOUBT).to_series()
    decided = usable.select(key).with_columns(
        accepted=pl.Series(accepted, dtype=pl.Boolean),
        reason=pl.Series(reasons, dtype=pl.String),
        **others,
    )
    rows = make_room(everything, decided.drop(key).columns).join(
        decided, on=key, how="left", maintain_order="left"
    )
    rows = rows.with_columns(
        accepted=pl.col("accepted").fill_null(False),
        reason=pl.coalesce("reason", pl.when(pl.col("accepted").is_null()).then(scored.reason)),
    )
    n = rows.height
    n_accepted = int(rows["accepted"].sum())
    abstained = Counter(reason for reason in reasons if reason is not None)
    overturned = None
    if doubt.overturns:
        overturned = count_overturned(scored.judge_verdicts, usable["verdict"], among=accepted)
    groups = []
    for at, group in enumerate(rules.groups):
        of_group = placed == at
        n_group = int(of_group.sum())
        taken = int(accepted[of_group].sum())
        group_count = GroupCount(
            judge=group.judge,
            group=group.group,
            n=n_group,
            n_accepted=taken,
            accepted_share=share(taken, n_group),
        )
        groups.append(group_count)
    summary = Selection(
        **{name: getattr(rules, name) for name in _OF_POLICY},
        n=n,
        n_accepted=n_accepted,
        accepted_share=share(n_accepted, n),
        n_overturned=overturned,
        stages=scored.stages(accepted),
        cost=scored.cost,
        drift=_drift(rules, doubt, usable, decidable, seed),
        groups=tuple(groups),
        warnings=tuple(warnings),
        dropped=merge_dropped(table.dropped, scored.unscored, abstained),
    )
    names = _COLUMNS
    if rules.about == "grades":
        names = _GRADE_COLUMNS
        rows = _as_grades(rows)
    elif rules.about == "choices":
        names = _CHOICE_COLUMNS
        rows = _as_choices(rows)
    first = [name for name in [*names, "reason", *doubt.columns] if name in rows.columns]
    return SelectionRun(summary=summary, rows=rows.select(*first, pl.exclude(first)))


def _place(policy: Policy, rows: pl.DataFrame) -> IntArray:
    """The policy's group of each row; -1: none."""
    where: dict[tuple[str, str | None, str | None], int] = {}
    for at, group in enumerate(policy.groups):
        for name in group.covers:
            where[group.judge, group.protocol, name] = at
    names = [None] * rows.height if policy.by is None else rows[policy.by].to_list()
    keys = zip(rows["judge"].to_list(), rows["protocol"].to_list(), names, strict=True)
    return np.array([where.get(key, -1) for key in keys], dtype=np.int64)


def _accept(policy: Policy, rows: pl.DataFrame, placed: IntArray) -> BoolArray:
    """Which rows the policy's guarantee accepts, each by the rule of its group."""
    chosen = find_guarantee(policy.guarantee)
    levels = levels_of(policy)
    rules = [group.rule for group in policy.groups]
    scores = _scores(rows)
    accepted = np.zeros(rows.height, dtype=np.bool_)
    if policy.pooled:
        judges = [(group.judge, group.protocol) for group in policy.groups]
        for judge in dict.fromkeys(judges):
            here = np.isin(placed, [at for at, name in enumerate(judges) if name == judge])
            accepted[here] = chosen.accept_pooled(rules, scores[here], placed[here], levels)
    else:
        weights = None
        if policy.weights_column is not None:
            weights = rows[policy.weights_column].cast(pl.Float64).to_numpy()
        for at, rule in enumerate(rules):
            here = placed == at
            own_weights = None if weights is None else weights[here]
            accepted[here] = chosen.accept(rule, scores[here], levels, own_weights)
    return np.asarray(accepted & rows.select(HAS_VERDICT).to_series().to_numpy())


def are_calibration_rows(policy: Policy, scores: FloatArray, placed: IntArray) -> bool:
    """Whether every calibration score, as often as it occurs, is among the new rows' scores.

    `placed` has the policy's group of each new row. Groups without a new row do not count. Scores
    with few distinct values are not evidence, because all of them occur in any file: at least half
    of the old and half of the new scores must be distinct.
    """
    groups = [at for at in range(len(policy.groups)) if (placed == at).any()]
    for at in groups:
        old = np.asarray(policy.groups[at].scores)
        new = np.sort(scores[placed == at])
        values, times = np.unique(old, return_counts=True)
        times_now = np.searchsorted(new, values, "right") - np.searchsorted(new, values, "left")
        distinct_before = 2 * len(values) >= len(old)
        distinct_now = 2 * len(np.unique(new)) >= len(new)
        if not (distinct_before and distinct_now) or (times_now < times).any():
            return False
    return bool(groups)


def _reasons(
    policy: Policy, rows: pl.DataFrame, placed: IntArray, accepted: BoolArray, below: BoolArray
) -> list[str | None]:
    groups = (policy.groups[at] if at >= 0 else None for at in placed.tolist())
    cells = zip(accepted.tolist(), rows["status"], rows["verdict"], groups, ~below, strict=True)
    reasons = [
        reason_to_abstain(accept, status=status, verdict=verdict, group=group, beyond_cut=beyond)
        for accept, status, verdict, group, beyond in cells
    ]
    if policy.about == "choices":
        return [no_choice or why for no_choice, why in zip(rows["no_choice"], reasons, strict=True)]
    return reasons


def reason_to_abstain(
    accepted: bool,
    *,
    status: str = "ok",
    verdict: str | None,
    group: PolicyGroup | None,
    beyond_cut: bool = False,
) -> str | None:
    """Why a row is not accepted, as written in select's rows and by the server."""
    if accepted:
        return None
    if status not in MEASURED:
        return f"status {status}"
    if verdict is None:
        return "no verdict"
    if verdict == "tie":
        return "judge tie"
    if beyond_cut:
        return BEYOND
    if group is None:
        return "group not calibrated"
    return "nothing is accepted in this group" if group.accepts == "none" else "too uncertain"


def _drift(policy: Policy, doubt: Doubt, rows: pl.DataFrame, placed: IntArray, seed: int) -> Drift:
    scores = _scores(rows)
    samples = []
    n_infinite = 0
    for at, group in enumerate(policy.groups):
        here = np.flatnonzero(placed == at)
        if policy.cluster is not None and policy.cluster in rows.columns and len(here):
            # As in calibration, rows are sampled by id: their order in the file does not matter.
            here = here[rows[here].select(pl.arg_sort_by("judge", "protocol", "id"))["judge"]]
            names = rows[policy.cluster][here.tolist()].to_list()
            here = here[one_row_per_cluster(names, seed=seed)]
        old = np.asarray(group.scores)
        new = scores[here]
        # An infinite doubt does not measure how sure the judge is.
        n_infinite += int((new == INFINITE_DOUBT).sum())
        samples.append((group.name, old[old < INFINITE_DOUBT], new[new < INFINITE_DOUBT]))
    drift = drift_of(samples)
    if n_infinite:
        drift = replace(
            drift, note=drift.note or f"without {count(n_infinite, *doubt.infinite_rows)}"
        )
    if policy.weights_column is not None and drift.flagged:
        note = "the weights account for a shift: it does not count as drift"
        return replace(drift, flagged=False, note=note)
    return drift


def _scores(rows: pl.DataFrame) -> FloatArray:
    return rows["uncertainty"].to_numpy().astype(np.float64)


def _as_grades(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows in the columns of grades, which `estimate` and `label` also read."""
    judge = pl.when(pl.col("verdict").is_not_null()).then((pl.col("verdict") == PASS).cast(pl.Int8))
    return (
        rows.drop("p_fwd", "p_rev", "label", strict=False)
        .rename({"judge": "judge_name", "p_a": "p_pass"})
        .with_columns(judge.alias("judge"))
    )


def _as_choices(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows in the columns of choices; `reason` explains a missing choice."""
    return rows.drop("p_a", "p_fwd", "p_rev", "label", "no_choice", strict=False).rename(
        {"verdict": "choice", "judge_verdict": "judge_choice"}, strict=False
    )


def _selection_headline(selection: Selection) -> Headline:
    """How many are accepted, why the others are not, and whether the new rows look alike."""
    drift = selection.drift
    verdicts = count(selection.n, GIVEN[selection.about])
    left = f"{selection.n - selection.n_accepted:,} to people"
    looks = (
        "DRIFT" if drift.flagged else "drift not tested" if drift.p_value is None else "no drift"
    )
    accepted = f"{selection.n_accepted:,} of {verdicts} accepted"
    text = f"{selection.guarantee} at alpha {selection.alpha:g}: {accepted}, {left}; {looks}"
    action = ""
    if drift.flagged:
        some = f"label some of the new {LABELLED[selection.about]} and calibrate again"
        action = f"The promise might not hold: {some}."
    bad = drift.flagged or not selection.n_accepted
    decision = f"{accepted}, {left}"
    if drift.flagged:
        decision += "; the new rows look different: label some first"
    return Headline(text, action, tone="bad" if bad else "plain", decision=decision)


def _describe_drift(selection: Selection) -> str:
    drift = selection.drift
    if drift.statistic is None or drift.p_value is None:
        return f"drift not tested: {drift.note}"
    where = f" in {drift.where}" if drift.where and len(selection.groups) > 1 else ""
    note = "" if drift.note is None else f"; {drift.note}"
    return (
        f"{'DRIFT' if drift.flagged else 'no drift detected'}: the distributions of new and "
        f"calibration scores differ by at most {drift.statistic:.3f}{where} "
        f"(Kolmogorov-Smirnov, p = {drift.p_value:.2g}){note}"
    )
