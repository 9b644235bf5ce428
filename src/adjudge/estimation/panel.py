"""Several judges in one rate: ppi++ with a prediction from all of them instead of one verdict.

Per group theta = lambda mean_unlabelled(f) + mean_labelled(y - lambda f), with f the cross-fitted
prediction of `combine.py`. The standard error is computed by question, the quantile is Student's,
and the interval is that of `ppi_adjusted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from adjudge.data.grades import Grades
from adjudge.data.tables import as_text
from adjudge.errors import ArgumentError
from adjudge.estimation.clusters import active_clusters
from adjudge.estimation.combine import FOLDS, cross_fit, make_columns
from adjudge.estimation.label_shift import LEVEL, label_shift
from adjudge.estimation.methods import how_drawn, independence, known_seed, refuse_shares, run
from adjudge.estimation.outcome import Outcome, clip, refuse_everything, refuse_outside
from adjudge.estimation.ppi import ppi, ppi_adjusted, tuned_weight
from adjudge.estimation.sample import Sample, sample_of
from adjudge.estimation.share import FEWEST_OTHERS, Prior, prior_from, shared_interval
from adjudge.results.estimation import method_if_random
from adjudge.results.panel import PanelEstimate, PanelRate
from adjudge.rows.panel import Panel
from adjudge.statistics.numbers import student_quantile
from adjudge.validation import BoolArray, FloatArray, IntArray, Seed, generator

METHOD = "several judges"
#: With fewer labels per group, several judges were not narrower than one, and covered less.
FEWEST_LABELS = 50
PROMISE = (
    "approximate: the coverage of these intervals is measured (examples/rates.py), not proven; it "
    f"needs about {FEWEST_LABELS} random labels per group"
)
SHARED = (
    "the shared interval uses the other groups' rates as a prior for this one (Yu and Hoff): it "
    "keeps the level of the plain one for any prior, and is narrower if the groups are alike"
)
_ASSUMES = (
    "within each group the labelled rows are a random sample of the same rows as the test rows"
)


class _Data(NamedTuple):
    """A panel as arrays: the columns of the prediction and the data that it is fitted to."""

    sample: Sample
    columns: FloatArray
    groups: IntArray
    folds: IntArray

    def predict(self, without: int | None = None) -> FloatArray:
        """P(human label 1) of every row; if a group is given, without the labels of that group."""
        labelled = self.sample.labelled
        if without is not None:
            labelled = labelled & (self.groups != without)
        return cross_fit(self.columns, self.sample.human, labelled, self.folds)


def estimate_panel(
    panel: Panel, *, labels_are_random: bool, share: bool, confidence_level: float, seed: Seed
) -> PanelEstimate:
    """One rate for each group, from all judges of the panel."""
    rows = panel.grades
    sample = sample_of(rows)
    labels_drawn = how_drawn(
        planned=sample is None or sample.planned,
        declared=labels_are_random,
        recorded=rows.drawn_at_random,
    )
    refuse_shares(sample, "a panel of judges", rows.name, "human")
    if sample is None or labels_drawn == "plan":
        raise ArgumentError(
            "judge",
            ", ".join(panel.judges),
            "labels were picked by a plan: use one judge and method conditional",
        )
    if labels_drawn == "unknown":
        raise ArgumentError(
            "judge",
            ", ".join(panel.judges),
            "several judges in one rate need labels that are a random sample of each group's rows: "
            "declare it with --labels-are-random (labels_are_random=True)",
        )
    sample = replace(sample, random=True)
    names = rows.group_names or (None,)
    groups = np.zeros(len(rows.judge), dtype=np.int64) if rows.groups is None else rows.groups
    if share and len(names) <= FEWEST_OTHERS:
        raise ArgumentError(
            "share", share, f"needs {FEWEST_OTHERS + 1} groups or more (--by), to learn from others"
        )
    data = _Data(
        sample=sample,
        columns=make_columns(panel.verdicts, groups, len(names), rows.clusters),
        groups=groups,
        folds=_fold(rows, generator(seed)),
    )
    predicted = data.predict()
    rates = tuple(
        _rate(panel, data, predicted, code, name, confidence_level, share=share)
        for code, name in enumerate(names)
    )
    warnings: tuple[str, ...] = ()
    if len(names) > 1 and rows.clusters is None:
        warnings = (
            "no column of questions: rows are treated as independent, and the verdicts on other "
            "answers to a question are not used; name it: --cluster prompt_id (cluster=)",
        )
    return PanelEstimate(
        judges=panel.judges,
        by=rows.by,
        question=panel.question,
        confidence_level=confidence_level,
        groups=rates,
        labels_drawn=labels_drawn,
        promise=PROMISE,
        share_promise=SHARED if share else None,
        assumptions=(_ASSUMES, independence(rows.clusters is not None), *rows.makers),
        warnings=warnings,
        dropped=rows.dropped,
        seed=known_seed(seed),
    )


def _fold(rows: Grades, rng: np.random.Generator) -> IntArray:
    """The fold of every row: rows of one question are in one fold, for any order of the rows."""
    codes = np.arange(len(rows.judge)) if rows.clusters is None else rows.clusters
    by_id = np.arange(len(codes))
    if "id" in rows.frame.columns:
        by_id = as_text(rows.frame["id"]).arg_sort().to_numpy()
    _, first = np.unique(codes[by_id], return_index=True)  # the place of its smallest id
    drawn = np.empty(len(first), dtype=np.int64)
    drawn[np.argsort(first)] = rng.permutation(len(first)) % FOLDS
    return np.asarray(drawn[codes])


def _rate(
    panel: Panel,
    data: _Data,
    predicted: FloatArray,
    code: int,
    name: str | None,
    level: float,
    *,
    share: bool,
) -> PanelRate:
    mine = np.asarray(data.groups == code)
    first = data.sample.restrict(mine)
    # Without a column of questions every row is its own: the quantile is Student's either way.
    questions = np.arange(len(mine)) if first.clusters is None else first.clusters
    combined = replace(first, judge=predicted, clusters=questions)
    warnings: list[str] = []
    method = METHOD if first.m >= FEWEST_LABELS else method_if_random(first.scale)
    if method == METHOD:
        outcome = ppi_adjusted(combined, confidence_level=level)
        outcome = refuse_everything(refuse_outside(outcome))
    else:
        outcome, _, _ = run(first, method, confidence_level=level)
        warnings.append(
            f"fewer than {FEWEST_LABELS} labels: {method} with {panel.judges[0]} alone, since they "
            "are too few to weight several judges"
        )
    warnings += [*outcome.warnings, *outcome.doubts]
    shift = label_shift(first, level=LEVEL / max(len(panel.grades.group_names), 1))
    if shift is not None and shift.rules_out:
        warnings.append(f"label shift: {shift.explanation}")
    prior: Prior | None = None
    ends: tuple[float, float] | tuple[None, None] = (None, None)
    if share and method == METHOD and outcome.estimate is not None:
        prior = _prior(data, code, len(panel.grades.group_names), level)
        ends = (None, None) if prior is None else _share(combined, outcome, prior, level)
    plain, people = (
        run(first, other, confidence_level=level)[0] for other in ("ppi++", "human-only")
    )
    used = outcome.estimate is not None and method == METHOD
    return PanelRate(
        group=name,
        method=method,
        estimate=outcome.rate,
        low=outcome.low,
        high=outcome.high,
        standard_error=outcome.standard_error,
        weight=tuned_weight(combined) if used else None,
        reason=outcome.reason,
        shared_low=ends[0],
        shared_high=ends[1],
        prior_mean=None if prior is None else prior.mean,
        prior_sd=None if prior is None else prior.sd,
        ppi=plain.rate,
        ppi_low=plain.low,
        ppi_high=plain.high,
        human_only=people.rate,
        human_only_low=people.low,
        human_only_high=people.high,
        naive=_naive(panel.verdicts, first.test),
        n_test=first.n,
        n_labels=first.m,
        warnings=tuple(warnings),
    )


def _naive(verdicts: FloatArray, test: BoolArray) -> tuple[float, ...]:
    return tuple(verdicts[test].mean(axis=0).tolist()) if test.any() else ()


def _prior(data: _Data, code: int, groups: int, level: float) -> Prior | None:
    """The distribution of the other groups' rates, by a prediction without this group's labels."""
    predicted = data.predict(without=code)
    outcomes: Sequence[Outcome] = [
        ppi(
            replace(data.sample.restrict(np.asarray(data.groups == other)), judge=predicted),
            confidence_level=level,
        )
        for other in range(groups)
        if other != code
    ]
    given = [(one.estimate, one.standard_error) for one in outcomes]
    known = [(value, error) for value, error in given if value is not None and error]
    if len(known) < FEWEST_OTHERS:
        return None
    return prior_from([value for value, _ in known], [error for _, error in known])


def _share(
    sample: Sample, outcome: Outcome, prior: Prior, level: float
) -> tuple[float, float] | tuple[None, None]:
    """The shared interval around the plain one's centre, with its standard error."""
    if outcome.centre is None or not outcome.half:
        return None, None
    freedom = (active_clusters(sample) or 2) - 1
    error = outcome.half / student_quantile(level, freedom)
    low, high = shared_interval(outcome.centre, error, freedom, prior, confidence_level=level)
    return clip(low), clip(high)
