"""All biases of a judge from one file of judgments, each if its columns are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import polars as pl

from adjudge.diagnosis._bias_parts import BiasRows, diagnose_rows, wins_of
from adjudge.diagnosis._intervals import FLOOR
from adjudge.io.needs import Needs, narrow
from adjudge.io.tables import TableLike
from adjudge.results.bias import BiasReport, Diagnoses
from adjudge.rows.answers import same_answers
from adjudge.rows.columns import partition, text_column
from adjudge.rows.verdicts import CLUSTER, prepare_verdicts
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

    `source` is a frame or a path of judgments: id, judge, p_fwd and p_rev or p_a (all about
    response_a), or verdicts in both orders as verdict_fwd and verdict_rev. It can also be battles,
    as in `rank`; then people's winner is the label. The other columns decide what can be measured:
    label (agreement, reliability), response_a and response_b or length_a and length_b (near-tied
    pairs; with models or labels, the effect of length), model_a and model_b (family), score_a and
    score_b (contradictions; with several judges, family in points), score_diff_ab and score_diff_ba
    (position, also in points), preference_ab and preference_ba (contradictions of each reply),
    repeat (retest; everything else uses repeat 0). `pairs` and `labels` add such columns by id.
    `judge` names the judge if the file does not. `columns` maps our column names to those of the
    source, `labels_as` words in columns of labels and verdicts to ours. `not_measured` lists what
    could not be measured, with the reason.

    `cluster` names the column whose rows are alike (default: prompt_id if it repeats, else each
    pair is a cluster; a row without a cluster value is a cluster of one). `by` groups the position
    bias. `near_tie` is how close to a tie the judge must be for verbosity: 0.1 in probability, or
    0.3 in score if the judge gave only scores (a rubric's p_a is its score). A difference from an
    unbiased judge of less than `floor` (0.03: three percentage points) is not called a bias,
    however significant; scores in points have no floor. `model_labels` as in `calibrate`.

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
