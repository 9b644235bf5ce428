"""All biases of a judge from one file of judgments, each if its columns are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import polars as pl

from adjudge.data.battles import same_answers
from adjudge.data.rows import partition, text_column
from adjudge.data.source import Needs, narrow
from adjudge.data.tables import TableLike
from adjudge.data.verdicts import CLUSTER, prepare_verdicts
from adjudge.diagnosis._bias_parts import BiasRows, diagnose_rows, wins_of
from adjudge.diagnosis._intervals import FLOOR
from adjudge.results.bias import BiasReport, Diagnoses
from adjudge.validation import Seed, non_negative, open_unit, positive

_ASSUMPTIONS = (
    "intervals are clustered: rows of one cluster can be alike, clusters are independent",
)


def diagnose_bias(
    source: TableLike,
    *,
    pairs: TableLike | None = None,
    labels: TableLike | None = None,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    judge: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    near_tie: float | None = None,
    floor: float = FLOOR,
    families: Mapping[str, str] | None = None,
    confidence_level: float = 0.95,
    model_labels: bool = False,
    seed: Seed = 0,
) -> BiasReport:
    """Position, length, family, agreement, reliability, contradictions and retest, per judge.

    The columns decide what can be measured: label (agreement, reliability), response_a and
    response_b or length_a and length_b (near-tied pairs; with models or labels, the effect of
    length), model_a and model_b (family), score_a and score_b (contradictions; with several judges,
    family in points), score_diff_ab and score_diff_ba (position, also in points), preference_ab and
    preference_ba (contradictions of each reply), repeat (retest; everything else uses repeat 0).
    `not_measured` lists what could not be measured, with the reason.

    Args:
        source: id, judge, p_fwd and p_rev or p_a (or verdict_fwd and verdict_rev). All about
            response_a. Optional: label, response_a, response_b, model_a, model_b, score_a, score_b.
            Or battles, as `rank` takes them; then people's winner is the label. A path or a frame.
        pairs: Pairs with the texts and models, joined by id.
        labels: Human labels by id, for rows without a label.
        columns: Columns with other names. Our column names to those of the tables.
        labels_as: Meaning of words in label and verdict columns. Their words to ours.
        judge: Name of the judge, if the file has none.
        cluster: Column of rows that belong together. Default: prompt_id if it repeats, else id. A
            row without a value is a cluster of one.
        by: Also measure position bias for each value of this column.
        near_tie: Largest difference that is a near tie, for verbosity. Default: 0.1 in probability,
            or 0.3 in score if the judge gave only scores (a rubric's p_a is its score).
        floor: A smaller difference from an unbiased judge does not count as bias. However
            significant it is; scores in points have no floor.
        families: Families of models whose names do not show it. {"model name": "family"}.
        confidence_level: Level of all intervals.
        model_labels: Use labels that a model made (labelled_by model); the result states it.
            Otherwise they are refused.
        seed: Seed of everything random.

    >>> always_first = {"id": list("abcdefgh"), "p_fwd": [1.0] * 8, "p_rev": [0.0] * 8}
    >>> report = diagnose_bias(always_first)
    >>> report.position.first_share, report.position.flip_share
    (1.0, 1.0)
    """
    open_unit(confidence_level, "confidence_level")
    non_negative(floor, "floor")
    if near_tie is not None:
        positive(near_tie, "near_tie")
    named = (cluster, by, *(columns or {}).values())
    rows = prepare_verdicts(
        narrow(source, Needs(("judgments", "battles"), named, texts=True)),
        pairs=pairs,
        labels=labels,
        columns=columns,
        labels_as=labels_as,
        judge=judge,
        cluster="auto" if cluster is None else cluster,
        model_labels=model_labels,
    )
    frame = rows.frame
    if by is not None:
        text_column(frame, by, "by")
    whole = BiasRows(
        frame=frame,
        judge=None,
        everyone=frame,
        repeats=rows.repeats,
        graded=rows.graded,
        by_score=rows.by_score,
        near_tie=near_tie,
        families=families,
        by=by,
        floor=floor,
        confidence_level=confidence_level,
        seed=seed,
    )
    judges = [
        diagnose_rows(
            replace(
                whole,
                frame=part,
                judge=str(name),
                repeats=rows.repeats.filter(pl.col("judge") == name),
            )
        )
        for name, part in sorted((part["judge"][0], part) for part in partition(frame, ["judge"]))
    ]
    everything = judges[0] if len(judges) == 1 else diagnose_rows(whole)
    pooled = {entry.name: getattr(everything, entry.name) for entry in fields(Diagnoses)}
    return BiasReport(
        **pooled,
        clusters=frame[CLUSTER].n_unique(),
        clustered_by=rows.cluster,
        judges=tuple(judges),
        dropped=rows.dropped,
        confidence_level=confidence_level,
        seed=seed if isinstance(seed, int) else None,
        assumptions=(*_ASSUMPTIONS, *rows.makers),
        floor=floor,
        same_answers=same_answers(frame, wins_of(frame)),
    )
