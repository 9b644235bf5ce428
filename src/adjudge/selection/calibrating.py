"""Calibrate: turn labelled judgments into a policy that states its promise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from importlib.metadata import version
from typing import Any, Unpack

import polars as pl

from adjudge.data.judgments import Judgments
from adjudge.data.rows import DEFAULT_CLUSTERS, cluster_column, merge_dropped
from adjudge.data.source import Needs, Source
from adjudge.data.tables import TableLike
from adjudge.data.turns import JUDGED_AS
from adjudge.errors import ArgumentError
from adjudge.policy.result import (
    Policy,
    PolicyGroup,
    answers_of,
    names_of,
    promise_below,
    sum_groups,
)
from adjudge.present.text import count, percent
from adjudge.records import GIVEN, LABELLED, MIN_ANSWER_MASS
from adjudge.selection.choices import describe_choices
from adjudge.selection.doubts.base import (
    DoubtMethod,
    FittedDoubt,
    Labelled,
    ReadingJudgments,
    find_doubt,
    open_judgments,
)
from adjudge.selection.guarantees import DEFAULT, Guarantee, all_guarantees, find_guarantee
from adjudge.selection.labelled import LabelledRows, read_labelled, without_ids
from adjudge.selection.rules import (
    FINER_COLUMNS,
    FINER_UP_TO,
    GROUP_COLUMNS,
    GuaranteeRules,
    LabelledGroup,
    Terms,
    group_rows,
    pool_small,
)
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
    guarantee: str = DEFAULT,
    delta: float | Fraction = 0.1,
    ties: str = "drop",
    by: str | None = None,
    pooled: bool = False,
    small_groups: str = "refuse",
    cluster: str | None = "auto",
    weights: str | None = None,
    doubt: DoubtMethod | str | None = None,
    leave_out: TableLike | None = None,
    min_answer_mass: float | None = MIN_ANSWER_MASS,
    model_labels: bool = False,
    seed: int = 0,
    store: StorePlace = None,
    **reading: Unpack[ReadingJudgments],
) -> Policy:
    """Choose which verdicts to accept at error level `alpha`, from judgments with human labels.

    Each judge and protocol gets its own rule, unless `judge` selects one or `doubt` combines them.
    The policy lists what every guarantee would accept in `alternatives`, so that you
    can compare them. If nothing can be accepted, the result has `feasible` False.

    A learned doubt, jury or cascade learns from a random share of the labels; only the others
    calibrate. Lengths are used if the rows have length_a and length_b, or the texts.

    Labels that were sampled among the surest rows (`plan_labels`) give a policy for those rows.
    Rows above the cut do not calibrate and are not accepted later (`cuts`).

    Args:
        judgments: Judgments with p_a, or p_fwd and p_rev, or verdict_fwd and verdict_rev. A file or
            a frame, of judgments or grades. Labels are in the column `label` (for grades:
            `human`) or come from `labels`.
        alpha: Error level allowed among accepted verdicts.
        labels: Human labels by id, for rows without a label.
        guarantee: scope: average over calibration sets; fdr: expected share in a batch; pac: this
            threshold, with probability 1 - delta; or one that a package adds.
        delta: How often a guarantee with high probability can fail.
        ties: Human ties: drop, or error (count each as an error).
        by: A guarantee for each value of this column. A guarantee with a delta (pac) shares it
            among the groups.
        pooled: With `by` and fdr: one guarantee for all groups.
        small_groups: Groups with too few labels: refuse or pool.
        cluster: Column of rows that belong together, such as the prompt; auto: prompt_id if it
            repeats; none: all rows are independent. One random row per cluster calibrates.
        weights: Column of weights that correct for a shift in the pairs (fdr).
        doubt: learned: verdict and doubt of one judge, from a share of the labels. Or an object
            that has its options: `Learned`, `Jury`, `Cascade`, `PlannedCascade`, `Choices`, or one
            that a package adds. None: the doubt of each judge.
        leave_out: Ids that were used to choose something; they are left out of calibration. So are
            rows of the same cluster.
        min_answer_mass: Minimum probability of the answer letters; below it a row is off_answer.
            The limit also holds wherever the policy is used.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Without it they are refused.
        seed: Seed of everything random.
        store: Store of the judge's replies, to name what differs between judges. The policy then
            keeps the parts of each judge's fingerprint.
        **reading: Which rows and columns are read: see `ReadingJudgments`.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"id": range(60), "p_a": [0.95] * 50 + [0.6] * 10,
    ...                       "label": ["A"] * 50 + ["B"] * 10})
    >>> policy = calibrate(frame, alpha=0.1)
    >>> policy.accepts, policy.n_accepted, [a.n_accepted for a in policy.alternatives]
    ('below', 50, [50, 50, 50])

    A doubt learned from 40 % of the labels; the others calibrate:

    >>> from adjudge.selection import Learned
    >>> from adjudge.simulate.pairs import two_order_judge
    >>> learned = calibrate(two_order_judge(400, seed=1), alpha=0.2, doubt=Learned(share=0.4))
    >>> learned.doubt.n_learning, learned.doubt.n_verdicts
    (160, 240)
    """
    check_count(seed, "seed")
    if min_answer_mass is not None:
        min_answer_mass = unit(min_answer_mass, "min_answer_mass")
    settings = _Settings(
        guarantee=find_guarantee(guarantee),
        method=find_doubt(doubt),
        alpha=alpha,
        levels=Levels(exact_level(alpha), exact_level(delta, "delta")),
        ties=ties,
        by=by,
        pooled=pooled,
        small_groups=small_groups,
        cluster=cluster,
        weights=weights,
        min_answer_mass=min_answer_mass,
        model_labels=model_labels,
        seed=seed,
        store=store,
    )
    settings.check()
    source = open_judgments(judgments, reading, labels=labels, leave_out=leave_out)
    with source.narrow(settings.needs(source)):
        ids_left_out = source.other("leave_out")
        prepared = settings.method.prepare(
            source, reading.get("judge"), reading.get("protocol"), settings.min_answer_mass
        )
    labelled = _read_labelled(prepared, settings)
    if not settings.method.reads_failed:
        # Only a cascade reads these rows again: a large file is in memory once.
        prepared = replace(prepared, frame=prepared.frame.clear())
    calibration = _learn_and_group(labelled, prepared, settings, ids_left_out)
    rules = _make_rules(calibration, settings)
    policy = _make_policy(calibration, rules, settings)
    assumptions = [*_assumptions(policy, calibration.fitted), *calibration.labelled.makers]
    warnings = [
        *_cautions(policy, calibration),
        *_describe_lots(policy, rules[policy.guarantee].over_lots()),
        *calibration.fitted.remarks,
        *calibration.labelled.looks,
    ]
    return replace(policy, assumptions=tuple(assumptions), warnings=tuple(warnings))


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """The options of a calibration, checked; `alpha` as it was written."""

    guarantee: Guarantee
    method: DoubtMethod
    alpha: float | Fraction
    levels: Levels
    ties: str
    by: str | None
    pooled: bool
    small_groups: str
    cluster: str | None
    weights: str | None
    min_answer_mass: float | None
    model_labels: bool
    seed: int
    store: StorePlace

    def check(self) -> None:
        """ArgumentError for what the guarantee or the doubt cannot use."""
        if self.weights is not None and not self.guarantee.takes_weights:
            can = " or ".join(other.name for other in all_guarantees() if other.takes_weights)
            remedy = f"{self.guarantee.name} cannot use weights: choose --guarantee {can}"
            raise ArgumentError("weights", self.weights, remedy)
        if self.weights is not None and not self.method.takes_weights:
            remedy = "leave it out: a doubt that combines judges cannot use weights"
            raise ArgumentError("weights", self.weights, remedy)
        if self.pooled and (not self.guarantee.takes_pooled or self.by is None):
            can = " or ".join(other.name for other in all_guarantees() if other.takes_pooled)
            remedy = f"needs --guarantee {can} and groups (--by)"
            raise ArgumentError("pooled", self.pooled, remedy)
        if self.pooled and self.weights is not None:
            remedy = "leave it out: weights are used within each group"
            raise ArgumentError("pooled", self.pooled, remedy)
        if self.by in ("judge", "protocol"):
            remedy = "leave it out: each judge and protocol has its own rule"
            raise ArgumentError("by", self.by, remedy)

    @property
    def named_columns(self) -> list[str]:
        return [name for name in (self.by, self.cluster, self.weights) if name is not None]

    def needs(self, source: Source) -> Needs:
        """What is read of the rows."""
        named = (*self.named_columns, *self.method.columns, *source.columns.values())
        return Needs(("judgments", "grades", "binary"), named, texts=self.method.reads_texts)

    def used_columns(self, rows: int) -> set[str] | None:
        """The columns that a calibration on this many rows uses; None if the doubt uses any."""
        if self.method.reads_columns:
            return None
        finer = FINER_COLUMNS if rows <= FINER_UP_TO else ()
        return {*GROUP_COLUMNS, *finer, *NOTED_COLUMNS, *self.named_columns}

    @property
    def of_the_doubt(self) -> dict[str, Any]:
        """The settings that a doubt learns with."""
        return {
            "alpha": self.alpha,
            "ties": self.ties,
            "cluster": self.cluster,
            "min_answer_mass": self.min_answer_mass,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class _Calibration:
    """The labelled rows, the doubt that was learned, and the rows that each rule is made from."""

    labelled: LabelledRows
    fitted: FittedDoubt
    groups: list[LabelledGroup]
    dropped: Mapping[str, int]

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges that the doubt combines, or those of the rows."""
        return self.fitted.doubt.judges or tuple(dict.fromkeys(g.judge for g in self.groups))

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Those of these judges."""
        return self.fitted.doubt.fingerprints if self.fitted.doubt.judges else self.of_rows

    @property
    def of_rows(self) -> tuple[str, ...]:
        """The fingerprints of the rows."""
        return tuple(sorted({name for group in self.groups for name in group.fingerprints}))


def _read_labelled(prepared: Judgments, settings: _Settings) -> LabelledRows:
    method = settings.method
    return read_labelled(
        prepared,
        ties=settings.ties,
        cluster=settings.cluster,
        by=settings.by,
        weights=settings.weights,
        min_answer_mass=settings.min_answer_mass,
        below_cuts=method.keeps_cuts,
        keep_failed=method.reads_failed,
        model_labels=settings.model_labels,
        keep=settings.used_columns(prepared.frame.height),
    )


def _learn_and_group(
    labelled: LabelledRows, prepared: Judgments, settings: _Settings, ids_left_out: Any
) -> _Calibration:
    """Learn the doubt, and split the rows that are left into groups, each with its rule."""
    rows = labelled.frame
    dropped_by_id: Mapping[str, int] = {}
    if ids_left_out is not None:
        rows, dropped_by_id = without_ids(rows, ids_left_out, cluster=labelled.cluster)
    fitted = settings.method.learn(
        Labelled(
            rows,
            labelled.about,
            labelled.cluster,
            prepared,
            settings.of_the_doubt,
            settings.store,
        )
    )
    groups = group_rows(
        fitted.rows,
        by=settings.by,
        cluster=labelled.cluster,
        weights=settings.weights,
        seed=settings.seed,
        of_protocol=fitted.doubt.of_protocol,
    )
    n_repeated = fitted.rows.height - sum(map(len, groups))
    repeated = {f"same {labelled.cluster} as a row that is used": n_repeated}
    dropped = merge_dropped(labelled.dropped, dropped_by_id, fitted.dropped, repeated)
    levels = settings.guarantee.levels_per_rule(settings.levels, len(groups))
    least = settings.guarantee.fewest_labels(levels)
    groups = pool_small(groups, least, small_groups=settings.small_groups)
    return _Calibration(labelled, fitted, groups, dropped)


def _make_rules(calibration: _Calibration, settings: _Settings) -> dict[str, GuaranteeRules]:
    """The rules of every guarantee, by its name."""
    groups = calibration.groups
    terms = Terms(settings.levels, len(groups), settings.seed, calibration.labelled.cuts)
    return {
        guarantee.name: GuaranteeRules(guarantee, groups, terms, settings.pooled)
        for guarantee in all_guarantees()
    }


def _make_policy(
    calibration: _Calibration, rules: Mapping[str, GuaranteeRules], settings: _Settings
) -> Policy:
    """The policy, without what it assumes and warns of."""
    guarantee = settings.guarantee
    levels = settings.levels
    labelled = calibration.labelled
    fitted = calibration.fitted
    chosen = rules[guarantee.name]
    alternatives = {
        name: replace(other.alternative, labels_needed=other.labels_needed(chosen))
        for name, other in rules.items()
    }
    choice = alternatives[guarantee.name]
    coverage_of = partial(chosen.coverage_of, cluster=labelled.cluster, ids=fitted.rows["id"])
    groups = chosen.policy_groups(read_judge_parts(calibration.of_rows, settings.store))
    return Policy(
        about=labelled.about,
        **{**choice.stated, **sum_groups(groups)},
        guarantee_version=guarantee.version,
        alpha=float(levels.alpha),
        delta=float(levels.delta) if guarantee.uses_delta else None,
        ties=settings.ties,
        judges=calibration.judges,
        judge_fingerprints=calibration.fingerprints,
        calibrated_on=answers_of(labelled.frame),
        by=settings.by,
        pooled=settings.pooled,
        cluster=labelled.cluster,
        weights_column=settings.weights,
        **fitted.policy_fields(coverage_of, choice.coverage),
        min_answer_mass=settings.min_answer_mass,
        cuts=labelled.cuts,
        seed=settings.seed,
        worth=promise_below(_describe_worth(guarantee, levels, groups), labelled.cuts),
        assumptions=(),
        dropped=calibration.dropped,
        groups=groups,
        alternatives=tuple(alternatives.values()),
        adjudge_version=version("adjudge"),
    )


#: The columns of the rows that `_cautions` and `answers_of` look at.
NOTED_COLUMNS = (*DEFAULT_CLUSTERS, "sampled_by", "served_model", "criterion", "metric", JUDGED_AS)
#: On noise pac at delta 0.1 is above alpha in .15 of two tries, .34 of eighteen (guarantees.md).
_ONE_TRY = (
    "alpha and the number of labels were chosen before: calibrating again, with more labels or "
    "another alpha, until enough is accepted breaks the promise (for J tries give delta / J to pac)"
)
_COUNTED = "each counts as an error and is never accepted"


def _assumptions(policy: Policy, fitted: FittedDoubt) -> list[str]:
    """The conditions under which the promise holds, one sentence each."""
    lines = [find_guarantee(policy.guarantee).assumption, _ONE_TRY]
    if policy.weights_column is not None:
        lines = [
            "new rows differ from the labelled ones only in how often each kind occurs, and column "
            f"{policy.weights_column} is the correct ratio of the two, not learned from these "
            "labels",
            _ONE_TRY,
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
    lines += fitted.assumptions
    if not fitted.doubt.judges and not policy.judge_fingerprints:
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
    worth = f"{chosen.worth(levels)}; about {about} of thresholds are above"
    if shares[-1] <= float(levels.delta):
        return f"{worth}."
    sure = next(guarantee.name for guarantee in all_guarantees() if guarantee.uses_delta)
    return f"{worth}: to deploy one, take {sure}."


def _describe_lots(policy: Policy, coverages: FloatArray) -> list[str]:
    """How much the order of tied rows decides, if it does; `coverages` are those of other lots."""
    if (coverages == policy.coverage).all():
        return []
    least = percent(coverages.min())
    mean = percent(coverages.mean())
    most = percent(coverages.max())
    return [
        f"labelled rows with equal doubt are in random order (seed {policy.seed}), which decides "
        f"what {policy.guarantee} accepts: over {len(coverages)} other orders {least} to {most} of "
        f"the labels, {mean} on average; do not choose the seed by it, use a finer doubt"
    ]


def _cautions(policy: Policy, calibration: _Calibration) -> list[str]:
    """What a reader of the policy should know in addition to the promise, one sentence each."""
    fitted = calibration.fitted
    return [
        *_cautions_on_judges(calibration),
        *fitted.cautions,
        *_cautions_on_delta(policy, len(calibration.groups)),
        *_cautions_on_verdicts(policy, calibration),
        *_cautions_on_fingerprints(policy, calibration),
        *_cautions_on_sampling(policy, fitted.rows),
    ]


def _cautions_on_judges(calibration: _Calibration) -> Iterator[str]:
    rules = {(group.judge, group.protocol) for group in calibration.groups}
    if len(rules) > 1:
        yield (
            f"{len(rules)} judges, each with its own rule: do not use these labels to choose "
            "among them (select with --judge, combine with --jury)"
        )


def _cautions_on_delta(policy: Policy, rules: int) -> Iterator[str]:
    if policy.delta is not None and rules > 1:
        levels = find_guarantee(policy.guarantee).levels_per_rule(levels_of(policy), rules)
        yield (
            f"{policy.guarantee} uses {float(levels.delta):.3g} of delta {policy.delta:g} for each "
            f"of {rules} rules: all hold together"
        )


def _cautions_on_verdicts(policy: Policy, calibration: _Calibration) -> Iterator[str]:
    """Rows without a verdict are errors, and are never accepted."""
    doubt = calibration.fitted.doubt
    groups = calibration.groups
    ties = sum(int((group.labels.scores == INFINITE_DOUBT).sum()) for group in groups)
    if ties:
        yield f"{doubt.tie} on {count(ties, 'labelled row')}: {_COUNTED}"
    without_verdict = sum(int((~group.has_verdict).sum()) for group in groups) - ties
    if policy.about == "choices":
        yield from describe_choices(calibration.fitted.rows)
    elif without_verdict:
        why = doubt.no_verdict
        if all(group.labels.values for group in groups):
            why = "the two orders contradict each other, or both say tie"
        yield f"no verdict on {count(without_verdict, 'labelled row')} ({why}): {_COUNTED}"


def _cautions_on_fingerprints(policy: Policy, calibration: _Calibration) -> Iterator[str]:
    rows = calibration.fitted.rows
    if any(len(group.fingerprints) > 1 for group in calibration.groups):
        yield "one judge has rows with several fingerprints: select cannot check them"
    identified = calibration.fitted.doubt.judges or policy.judge_fingerprints
    without_fingerprint = rows["judge_fingerprint"].null_count()
    if identified and without_fingerprint:
        yield (
            f"{count(without_fingerprint, 'row')} of {rows.height:,} have no judge_fingerprint: "
            "they can be of another judge or prompt than the others"
        )


def _cautions_on_sampling(policy: Policy, rows: pl.DataFrame) -> Iterator[str]:
    unused = cluster_column(rows, "auto", within=["judge", "protocol"])
    if policy.cluster is None and unused is not None:
        yield f"{unused} repeats but is not used as a cluster: the promise can fail"
    if "sampled_by" in rows.columns:
        planned = int((rows["sampled_by"] == "plan").sum())
        if planned:
            yield (
                f"{planned} labels were drawn by a plan: if it drew by the judge's verdict, the "
                "labelled rows are not like the new ones and the promise does not hold"
            )
