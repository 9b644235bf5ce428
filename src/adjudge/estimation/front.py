"""The entry point: `estimate` takes a table or arrays and returns the rate to report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from adjudge.data.grades import Grades, prepare_grades
from adjudge.data.source import Needs, narrow
from adjudge.data.tables import TableLike
from adjudge.errors import ArgumentError
from adjudge.estimation.classes import check_classes, estimate_classes
from adjudge.estimation.groups import estimate_difference, estimate_groups
from adjudge.estimation.methods import (
    OF_ITS_ROWS,
    RANDOM,
    Request,
    check_combination,
    choose,
    describe,
    how_drawn,
    refuse_shares,
)
from adjudge.estimation.panel import estimate_panel
from adjudge.estimation.sample import sample_of
from adjudge.results.estimation import (
    ClassEstimate,
    Estimate,
    GroupedEstimate,
    RateDifference,
)
from adjudge.results.panel import PanelEstimate
from adjudge.rows.panel import prepare_panel
from adjudge.validation import Seed, open_unit

AnyEstimate = Estimate | GroupedEstimate | ClassEstimate | RateDifference | PanelEstimate


def estimate(
    data: TableLike | Grades | None = None,
    *,
    judge: ArrayLike | None = None,
    human: ArrayLike | None = None,
    judges: Sequence[str] = (),
    share: bool = False,
    labels: TableLike | None = None,
    model: str | None = None,
    by: str | ArrayLike | None = None,
    pool: bool = False,
    compare: tuple[str, str] | None = None,
    cluster: str | ArrayLike | None = None,
    strata: str | ArrayLike | None = None,
    sampling_probability: ArrayLike | None = None,
    method: str = "auto",
    interval: str = "wald",
    labels_are_random: bool = False,
    confidence_level: float = 0.95,
    judge_column: str = "judge",
    human_column: str = "human",
    positive: str | None = None,
    model_labels: bool = False,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    seed: Seed = 0,
) -> AnyEstimate:
    """The rate that people would give, from the judge's verdicts and some human labels.

    Rows with a human label calibrate, rows without one are the test set. Give a table, or the
    arrays `judge` and `human` (None or NaN if there is no label). Verdicts can be 0/1,
    probabilities, or class names.

    Args:
        data: Rows with the judge's verdict and, for some, a human label. The columns are
            `judge_column` and `human_column`; `sampled_by` and `sampling_probability` are used if
            present. A path, a frame, a dict of columns, or the result of `prepare_grades`.
        judge: Array of verdicts or probabilities, if there is no table.
        human: Array of labels, if there is no table.
        judges: Two or more judges for one rate. Columns of verdicts, or names in the column
            `judge_name` (`judge`) with a row per id and judge. Their verdicts together predict the
            human label. Needs labels that are a random sample, 50 per group; approximate.
        share: With several judges: a second interval that borrows from the other groups.
        labels: Human labels by id. A second table; its labels replace those in `data`.
        model: The win rate of this model, from judgments of pairs with model_a and model_b; a tie
            is half a win. The rows are as `adjudge judge` or AlpacaEval writes them; the rate is
            the share of its pairs in which people prefer its answer. `by="opponent"` gives one rate
            for each opponent. The judge's probabilities are used, with `judge_column="verdict"` its
            verdicts.
        by: A rate for each value of this column, such as model. Or an array of groups. Each group
            has its own confusion matrix.
        pool: With groups: one confusion matrix for all of them (read the warning). Almost always a
            mistake.
        compare: With groups: the corrected difference of two of them, paired by cluster.
        cluster: Column of rows that belong together; none: all rows are independent. Or an array. A
            row without a value is a cluster of one. Default: prompt_id, if it repeats within a
            group.
        strata: A confusion matrix for each value of this column. Or an array. The strata's rates
            are combined.
        sampling_probability: Array, if labels were picked with unequal probabilities.
        method: auto, misclassification, ppi++, conditional, difference, human-only or naive. auto:
            misclassification; with random labels conditional, or ppi++ for probabilities. It never
            tests.
        interval: wald (Eq. 6), or profile for weak judges and few labels.
        labels_are_random: State that the labelled rows are a random sample of the test rows; not
            needed if sampled_by is random. auto then uses conditional for 0/1 verdicts and ppi++
            for probabilities. No test decides this.
        confidence_level: Confidence level of the intervals.
        judge_column: Column of the judge's verdicts.
        human_column: Column of the human labels.
        positive: For labels that are words: the one that counts as 1. Verdicts can be the same
            words, or probabilities of that one.
        model_labels: Use labels that a model made (labelled_by model); the result states it. They
            are refused otherwise.
        columns: Columns with other names. Our names to those of the file, e.g.
            {"judge": "llm_says"}. Common names are recognised without it.
        labels_as: Meaning of words in label and verdict columns, e.g. {"ok": "1"}.
        seed: Seed of everything random. The profile interval and the permutation test under `pool`
            use it. A number or a numpy Generator.

    Returns:
        Estimate; GroupedEstimate with `by`; RateDifference with `compare`; ClassEstimate for
        classes; PanelEstimate with `judges`. If no valid number exists, the result gives the
        reason instead.

    >>> result = estimate(judge=[1] * 60 + [0] * 40 + [1, 1, 1, 0] * 9 + [0, 0, 0, 1] * 9,
    ...                   human=[None] * 100 + [1] * 36 + [0] * 36)
    >>> round(result.estimate, 3), round(result.naive, 3)
    (0.7, 0.6)
    """
    level = open_unit(confidence_level, "confidence_level")
    if share and not judges:
        raise ArgumentError("share", share, "is for several judges: --judge A --judge B (judges=)")
    if judges:
        one_judge_only = {
            "method": method != "auto",
            "interval": interval != "wald",
            "pool": pool,
            "compare": compare is not None,
            "strata": strata is not None,
            "sampling_probability": sampling_probability is not None,
            "judge, human": judge is not None or human is not None,
            "model": model is not None,
        }
        for option, given in one_judge_only.items():
            if given:
                raise ArgumentError(
                    option,
                    "given",
                    "is for one judge: leave it out, or name the column of one judge with "
                    "--judge-column instead of --judge (judge_column= instead of judges=)",
                )
        for option, column in (("by", by), ("cluster", cluster)):
            if column is not None and not isinstance(column, str):
                raise ArgumentError(option, "an array", "name a column of the table")
        if isinstance(data, Grades):
            raise ArgumentError("data", "prepared grades", "give the table that has the judges")
        panel = prepare_panel(
            data,
            judges,
            labels=labels,
            by=by if isinstance(by, str) else None,
            cluster=cluster if isinstance(cluster, str) else None,
            judge_column=judge_column,
            human_column=human_column,
            positive=positive,
            model_labels=model_labels,
            columns=columns,
            labels_as=labels_as,
        )
        return estimate_panel(
            panel,
            labels_are_random=labels_are_random,
            share=share,
            confidence_level=level,
            seed=seed,
        )
    own = {judge_column, human_column} - {"judge", "human"}
    # The column `opponent` is made from the model names.
    groups = None if model is not None and isinstance(by, str) and by == "opponent" else by
    named = (groups, cluster, strata, *own, *(columns or {}).values())
    kinds = ("binary", "grades") if model is None else ("judgments",)
    # Labels of another file can be matched by text.
    needs = Needs(kinds, named, texts=labels is not None)
    rows = prepare_grades(
        narrow(data, needs),
        judge=judge,
        human=human,
        labels=labels,
        by=by,
        cluster=cluster,
        strata=strata,
        sampling_probability=sampling_probability,
        model=model,
        judge_column=judge_column,
        human_column=human_column,
        positive=positive,
        model_labels=model_labels,
        paired=compare is not None or pool,
        columns=columns,
        labels_as=labels_as,
    )
    if compare is not None and rows.by is None:
        raise ArgumentError("compare", compare, "name the column of the groups: --by model (by=)")
    if pool and rows.by is None:
        raise ArgumentError("pool", pool, "needs groups: name their column with --by model (by=)")
    if rows.scale == "classes":
        check_classes(rows, method, interval, compare)
    sample = sample_of(rows)
    labels_drawn = how_drawn(
        planned=sample is not None and sample.planned,
        declared=labels_are_random,
        recorded=rows.drawn_at_random,
    )
    if pool and method in OF_ITS_ROWS:
        raise ArgumentError(
            "pool",
            pool,
            f"{method} needs labels that are a random sample of each group's rows: leave out pool, "
            "or use --method misclassification (method=)",
        )
    matrix = "--interval profile" if interval == "profile" else "--pool" if pool else None
    chosen, why = choose(
        method,
        labels_drawn=labels_drawn,
        scale=rows.scale if sample is None else sample.scale,
        matrix="--strata" if rows.strata is not None else matrix,
        graded=sample is not None and sample.graded,
    )
    request = Request(
        method=chosen,
        why=why,
        labels_drawn=labels_drawn,
        interval=interval,
        confidence_level=level,
        by=rows.by,
        pool=pool,
        seed=seed,
        makers=(*rows.makers, *_state_wins(rows)),
    )
    if sample is None:
        return estimate_classes(rows, request)
    label = human_column if rows.wins_of is None else "label"
    refuse_shares(sample, chosen, rows.name, label)
    sample = replace(sample, random=labels_drawn in RANDOM)
    check_combination(sample, chosen, interval)
    if compare is not None:
        return estimate_difference(rows, sample, request, compare)
    if rows.by is not None:
        return estimate_groups(rows, sample, request)
    warnings, dropped = _mixed_models(rows), rows.dropped
    group = None if rows.wins_of is None else f"win rate of {rows.wins_of}"
    del rows  # a large file is in memory once: its numbers are in `sample`
    result, _ = describe(sample, request, group=group, dropped=dropped, warnings=warnings)
    return result


def _state_wins(rows: Grades) -> tuple[str, ...]:
    """What a win rate is a rate of."""
    if rows.wins_of is None:
        return ()
    return (
        f"the rate is the share of the pairs of {rows.wins_of} in which people prefer its answer, "
        "and a tie counts half; it depends on the opponents in the file",
    )


def _mixed_models(rows: Grades) -> tuple[str, ...]:
    """A warning if the rows mix models that the judge can treat differently."""
    if "model" not in rows.frame.columns:
        return ()
    models = rows.frame.get_column("model").n_unique()
    if models < 2:
        return ()
    matrix = "" if rows.strata is not None else " and one confusion matrix"
    return (
        f"the rows come from {models} models: this is one rate{matrix} for their mixture; for a "
        "rate per model: --by model (by=)",
    )
