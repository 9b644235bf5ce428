"""Calibrate: turn labelled judgments into a policy that states its promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Unpack

import polars as pl

from adjudge.data.judgments import Judgments
from adjudge.data.rows import merge_dropped
from adjudge.data.source import Needs, Reading, Source
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.policy.audits import WITHOUT_PROOF, Monitor, audits_to_calibrate
from adjudge.policy.result import Policy, PolicyGroup, names_of, promise_below, sum_groups
from adjudge.present.text import count, percent
from adjudge.records import GIVEN, LABELLED, MIN_ANSWER_MASS
from adjudge.selection.candidates import (
    ENTRY_COLUMNS,
    FINER_COLUMNS,
    FINER_UP_TO,
    Candidate,
    Entry,
    Terms,
    make_entries,
    pool_small,
)
from adjudge.selection.cascade_plan import CascadePlan
from adjudge.selection.choices import describe_choices
from adjudge.selection.doubts.base import DoubtFit, DoubtOptions, Labelled, ask_doubt
from adjudge.selection.guarantees import DEFAULT, Guarantee, all_guarantees, find_guarantee
from adjudge.selection.labelled import read_labelled, without_ids
from adjudge.selection.thresholds import Levels
from adjudge.selection.verifying import levels_of
from adjudge.statistics.entropy import INFINITE_DOUBT
from adjudge.store import StorePlace, read_judge_parts
from adjudge.validation import FloatArray, exact_level, unit
from adjudge.validation import count as check_count


def calibrate(
    judgments: TableLike | Judgments,
    *,
    alpha: float | Fraction = 0.1,
    labels: TableLike | None = None,
    pairs: TableLike | None = None,
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
    doubt: str | None = None,
    cascade: str | Sequence[str] | None = None,
    plan: CascadePlan | str | Path | None = None,
    costs: Sequence[float] | None = None,
    learning_share: float = 0.3,
    category: str | None = None,
    leave_out: TableLike | None = None,
    from_audits: Monitor | str | Path | None = None,
    since_change: bool = False,
    min_answer_mass: float | None = MIN_ANSWER_MASS,
    model_labels: bool = False,
    best: bool = False,
    seed: int = 0,
    store: StorePlace = None,
    **reading: Unpack[Reading],
) -> Policy:
    """Choose which verdicts to accept at error level `alpha`, from judgments with human labels.

    Each judge and protocol gets its own rule, unless `judge` selects one or `jury` or `cascade`
    combines them. The policy lists what every guarantee would accept in `alternatives`, so that you
    can compare them. If nothing can be accepted, the result has `feasible` False.

    A learned doubt, jury or cascade learns from a random share of the labels; only the others
    calibrate. Lengths are used if the rows have length_a and length_b, or the texts.

    Labels that were sampled among the surest rows (`plan_labels`) give a policy for those rows.
    Rows above the cut do not calibrate and are not accepted later (`cuts`).

    With `best`, the choice among all responses to a prompt is the one with the highest mean
    probability. Its doubt is that of its least sure comparison. The choice is an error if people
    prefer another response (column `best`, or labels of all pairs). Then prompts must be
    exchangeable, and `select` groups new rows by prompt in the same way.

    Args:
        judgments: Judgments with p_a, or p_fwd and p_rev, or verdict_fwd and verdict_rev. A file or
            a frame, of judgments or grades. Labels are in the column `label` (for grades:
            `human`) or come from `labels`.
        alpha: Error level allowed among accepted verdicts.
        labels: Human labels by id, for rows without a label.
        pairs: The judged pairs, for a learned doubt that uses the length of the texts.
        guarantee: scope: average over calibration sets; fdr: expected share in a batch; pac: this
            threshold, with probability 1 - delta; or one that a package adds.
        delta: How often a guarantee with high probability can fail.
        ties: Human ties: drop, or error (count each as an error).
        judge: Only this judge's rows.
        protocol: Only this protocol's rows.
        by: A guarantee for each value of this column. A guarantee with a delta (pac) shares it
            among the groups.
        pooled: With `by` and fdr: one guarantee for all groups.
        small_groups: Groups with too few labels: refuse or pool.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        weights: Column of weights that correct for a shift in the pairs (fdr).
        jury: All judges of the file as one: mean (of log odds), or learned from a share of the
            labels.
        doubt: learned: verdict and doubt of one judge, from a share of the labels.
        cascade: Judges of the file, cheap to strong, separated by commas. Each is needed only if
            those before it are not sure enough. Stages, weights and tau come from `plan_cascade` on
            the same rows.
        plan: Use the cascade of this plan (plan cascade -o) instead of `cascade`.
        costs: Cost of a row for each judge of the cascade, such as 1,5,30. By default the mean of
            the rows' column `cost`.
        learning_share: Share of the labels that a learned doubt, jury or cascade learns from.
        category: Column of categories that a learned doubt or cascade can learn from.
        leave_out: Ids that were used to choose something; they are left out of calibration. So are
            rows of the same cluster.
        from_audits: State of `monitor check`: calibrate on the audits drawn after the alarm, below
            the old threshold. `judgments` are these audits.
        since_change: With `from_audits`: only audits since the estimated change; no proven
            guarantee.
        min_answer_mass: Minimum probability of the answer letters; below it a row is off_answer.
            The limit also holds wherever the policy is used.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Without it they are refused.
        best: Choose the best of all responses to a prompt, from comparisons of two responses
            (prompt_id, model_a, model_b).
        seed: Seed of everything random.
        store: Store of the judge's replies, to name what differs between judges. The policy then
            keeps the parts of each judge's fingerprint.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"id": range(60), "p_a": [0.95] * 50 + [0.6] * 10,
    ...                       "label": ["A"] * 50 + ["B"] * 10})
    >>> policy = calibrate(frame, alpha=0.1)
    >>> policy.accepts, policy.n_accepted, [a.n_accepted for a in policy.alternatives]
    ('below', 50, [50, 50, 50])
    """
    chosen = find_guarantee(guarantee)
    levels = Levels(exact_level(alpha), exact_level(delta, "delta"))
    check_count(seed, "seed")
    limit = None if min_answer_mass is None else unit(min_answer_mass, "min_answer_mass")
    _check_guarantee(chosen, weights=weights, pooled=pooled, by=by)
    asked = ask_doubt(
        DoubtOptions(
            jury=jury,
            doubt=doubt,
            cascade=cascade,
            plan=plan,
            best=best,
            pairs=pairs,
            costs=costs,
            category=category,
            learning_share=learning_share,
            weights=weights,
            judge=judge,
        )
    )
    source = Source(
        judgments, labels=labels, pairs=pairs, others={"leave_out": leave_out}, **reading
    )
    named = (by, cluster, weights, category, "best" if best else None, *source.columns.values())
    needs = Needs(("judgments", "grades", "binary"), named, texts=asked.reads_texts)
    with source.narrow(needs):
        leave_out = source.other("leave_out")
        prepared = asked.prepare(source, judge, protocol, limit)
    remarks: tuple[str, ...] = ()
    if since_change and from_audits is None:
        raise ArgumentError("since_change", since_change, "needs --from-audits")
    if from_audits is not None:
        prepared, remark = audits_to_calibrate(
            prepared, from_audits, by=by, min_answer_mass=limit, since_change=since_change
        )
        remarks = (remark,)
    used = None
    if not asked.reads_columns:
        options = [name for name in (by, cluster, weights) if name is not None]
        finer = FINER_COLUMNS if prepared.frame.height <= FINER_UP_TO else ()
        used = {*ENTRY_COLUMNS, *finer, *NOTED_COLUMNS, *options}
    table = read_labelled(
        prepared,
        ties=ties,
        cluster=cluster,
        by=by,
        weights=weights,
        min_answer_mass=limit,
        below_cuts=asked.keeps_cuts,
        keep_failed=asked.reads_failed,
        model_labels=model_labels,
        keep=used,
    )
    if not asked.reads_failed:
        # Only a cascade reads these rows again: a large file is in memory once.
        prepared = replace(prepared, frame=prepared.frame.clear())
    frame, column = table.frame, table.cluster
    chosen_on: Mapping[str, int] = {}
    if leave_out is not None:
        frame, chosen_on = without_ids(frame, leave_out, cluster=column)
    settings = {
        "alpha": alpha,
        "ties": ties,
        "cluster": cluster,
        "min_answer_mass": limit,
        "seed": seed,
    }
    fit = asked.learn(Labelled(frame, table.about, column, prepared, settings, store))
    frame = fit.rows
    entries = make_entries(
        frame, by=by, cluster=column, weights=weights, seed=seed, own=fit.doubt.own
    )
    repeated = {f"same {column} as a row that is used": frame.height - sum(map(len, entries))}
    dropped = merge_dropped(table.dropped, chosen_on, fit.dropped, repeated)
    least = chosen.fewest_labels(chosen.levels_per_rule(levels, len(entries)))
    entries = pool_small(entries, least, small_groups=small_groups)
    terms = Terms(levels, len(entries), seed, table.cuts)
    candidates = {
        candidate_of.name: Candidate(candidate_of, entries, terms, pooled)
        for candidate_of in all_guarantees()
    }
    alternatives = {
        name: replace(
            candidate.alternative, labels_needed=candidate.labels_needed(candidates[chosen.name])
        )
        for name, candidate in candidates.items()
    }
    choice = alternatives[chosen.name]
    coverage_of = partial(candidates[chosen.name].coverage_of, cluster=column, ids=frame["id"])
    prints = sorted({name for entry in entries for name in entry.fingerprints})
    groups = candidates[chosen.name].groups(read_judge_parts(prints, store))
    judges = tuple(dict.fromkeys(entry.judge for entry in entries))
    if fit.doubt.judges:
        judges, prints = fit.doubt.judges, list(fit.doubt.fingerprints)
    policy = Policy(
        about=table.about,
        **{**choice.stated, **sum_groups(groups)},
        guarantee_version=chosen.version,
        alpha=float(levels.alpha),
        delta=float(levels.delta) if chosen.uses_delta else None,
        ties=ties,
        judges=judges,
        judge_fingerprints=tuple(prints),
        by=by,
        pooled=pooled,
        cluster=column,
        weights_column=weights,
        **fit.entries(coverage_of, choice.coverage),
        min_answer_mass=limit,
        cuts=table.cuts,
        seed=seed,
        worth=promise_below(_describe_worth(chosen, levels, groups), table.cuts),
        assumptions=(),
        dropped=dropped,
        groups=groups,
        alternatives=tuple(alternatives.values()),
        adjudge_version=version("adjudge"),
    )
    proof = (WITHOUT_PROOF,) if since_change else ()
    return replace(
        policy,
        assumptions=(*_assumptions(policy, fit), *table.makers, *proof),
        warnings=(
            *_cautions(policy, fit, entries),
            *_describe_lots(policy, candidates[chosen.name].over_lots()),
            *fit.remarks,
            *table.looks,
            *remarks,
        ),
    )


def _check_guarantee(
    chosen: Guarantee, *, weights: str | None, pooled: bool, by: str | None
) -> None:
    if weights is not None and not chosen.takes_weights:
        can = " or ".join(other.name for other in all_guarantees() if other.takes_weights)
        raise ArgumentError(
            "weights", weights, f"{chosen.name} cannot use weights: choose --guarantee {can}"
        )
    if pooled and (not chosen.takes_pooled or by is None):
        can = " or ".join(other.name for other in all_guarantees() if other.takes_pooled)
        raise ArgumentError("pooled", pooled, f"needs --guarantee {can} and groups (--by)")
    if pooled and weights is not None:
        raise ArgumentError("pooled", pooled, "leave it out: weights are used within each group")
    if by in ("judge", "protocol"):
        raise ArgumentError("by", by, "leave it out: each judge and protocol has its own rule")


#: The columns of the rows that `_cautions` looks at.
NOTED_COLUMNS = ("prompt_id", "sampled_by")
_COUNTED = "each counts as an error and is never accepted"


def _assumptions(policy: Policy, fit: DoubtFit) -> list[str]:
    """The conditions under which the promise holds, one sentence each."""
    lines = [find_guarantee(policy.guarantee).assumption]
    if policy.weights_column is not None:
        lines = [
            "new rows differ from the labelled ones only in how often each kind occurs, and column "
            f"{policy.weights_column} is the correct ratio of the two, not learned from these "
            "labels"
        ]
    if policy.about == "choices":
        lines.append(
            "prompts must be exchangeable, including the number and kind of their responses; a "
            "policy about pairs promises nothing about choices, and this one nothing about pairs"
        )
    if policy.about != "grades":
        lines.append(
            f"among {LABELLED[policy.about]} where people have a preference (human ties were left "
            "out)"
            if policy.ties == "drop"
            else f"a human tie counts as an error of any {GIVEN[policy.about]}"
        )
    if policy.cluster is not None:
        lines.append(
            f"rows with the same {policy.cluster} are alike: one random row of each calibrates, "
            f"and the promise is about one row of each new {policy.cluster}, all with equal weight"
        )
    if policy.by is not None and policy.pooled:
        lines.append(f"the promise is about all groups of {policy.by} together, not within each")
    elif policy.by is not None:
        lines.append(f"the promise holds within each group of {policy.by}")
    lines += fit.assumptions
    if not fit.doubt.judges and not policy.judge_fingerprints:
        lines.append(
            "new rows have the same judge and prompt: without judge_fingerprint, select can only "
            "compare judge names"
        )
    if policy.cuts:
        lines.append(
            f"labelled and new pairs here are those among {names_of(policy.cuts)}, and that share "
            "was not chosen with these labels; every row above it is left to people"
        )
    return lines


def _describe_worth(chosen: Guarantee, levels: Levels, groups: Sequence[PolicyGroup]) -> str:
    """What the promise rests on, and how often a threshold like this one is above alpha."""
    resamplings = [group.resampling for group in groups if group.resampling is not None]
    if not resamplings:
        return f"{chosen.worth(levels)}."
    shares = sorted(resampling.share_above for resampling in resamplings)
    about = " to ".join(dict.fromkeys(percent(x, 0) for x in (shares[0], shares[-1])))
    used = max(resampling.n for resampling in resamplings)
    some = f" of {used:,} labels" * (used < max(group.n_calibration for group in groups))
    resamples = f"{resamplings[0].resamples:,} resamples{some}"
    return f"{chosen.worth(levels)}; about {about} of {resamples} were above."


def _describe_lots(policy: Policy, coverages: FloatArray) -> list[str]:
    """How much the order of tied rows decides, if it does; `coverages` are those of other lots."""
    if (coverages == policy.coverage).all():
        return []
    least, mean, most = (percent(x) for x in (coverages.min(), coverages.mean(), coverages.max()))
    return [
        f"labelled rows with equal doubt are in random order (seed {policy.seed}), which decides "
        f"what {policy.guarantee} accepts: over {len(coverages)} other orders {least} to {most} of "
        f"the labels, {mean} on average; do not choose the seed by it, use a finer doubt"
    ]


def _cautions(policy: Policy, fit: DoubtFit, entries: Sequence[Entry]) -> list[str]:
    """What a reader of the policy should know in addition to the promise, one sentence each."""
    doubt, frame, lines = fit.doubt, fit.rows, []
    rules = {(entry.judge, entry.protocol) for entry in entries}
    if len(rules) > 1:
        lines.append(
            f"{len(rules)} judges, each with its own rule: do not use these labels to choose "
            "among them (select with --judge, combine with --jury)"
        )
    lines += fit.cautions
    if policy.delta is not None and len(entries) > 1:
        levels = find_guarantee(policy.guarantee).levels_per_rule(levels_of(policy), len(entries))
        lines.append(
            f"{policy.guarantee} uses {float(levels.delta):.3g} of delta {policy.delta:g} for each "
            f"of {len(entries)} rules: all hold together"
        )
    ties = sum(int((entry.labels.scores == INFINITE_DOUBT).sum()) for entry in entries)
    if ties:
        lines.append(f"{doubt.tie} on {count(ties, 'labelled row')}: {_COUNTED}")
    mute = sum(int((~entry.has_verdict).sum()) for entry in entries) - ties
    if policy.about == "choices":
        lines += describe_choices(frame)
    elif mute:
        rows, why = count(mute, "labelled row"), doubt.no_verdict
        if all(entry.labels.values for entry in entries):
            why = "the two orders contradict each other, or both say tie"
        lines.append(f"no verdict on {rows} ({why}): {_COUNTED}")
    if any(len(entry.fingerprints) > 1 for entry in entries):
        lines.append("one judge has rows with several fingerprints: select cannot check them")
    identified = doubt.judges or policy.judge_fingerprints
    if identified and (silent := frame["judge_fingerprint"].null_count()):
        lines.append(
            f"{count(silent, 'row')} of {frame.height:,} have no judge_fingerprint: they can be of "
            "another judge or prompt than the others"
        )
    if policy.cluster is None and "prompt_id" in frame.columns:
        keys = ["judge", "protocol", "prompt_id"]
        with_prompt = frame.filter(pl.col("prompt_id").is_not_null())
        if with_prompt.select(keys).is_duplicated().any():
            lines.append("prompt_id repeats but is not used as a cluster: the promise can fail")
    if "sampled_by" in frame.columns:
        planned = int((frame["sampled_by"] == "plan").sum())
        if planned:
            lines.append(
                f"{planned} labels were drawn by a plan: if it drew by the judge's verdict, the "
                "labelled rows are not like the new ones and the promise does not hold"
            )
    return lines
