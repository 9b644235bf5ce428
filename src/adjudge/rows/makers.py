"""Who made labels and what they started from: people or a model, nothing or the judge's answer.

A label that started from the judge's answer repeats the judge if the person did not change it, so
it is not used. A label that a model made gives that model's preference. It is used only if the
caller allows it, and the result then states it.
"""

from __future__ import annotations

from typing import get_args

import polars as pl

from adjudge.errors import DataError
from adjudge.io.refusals import refuse_values
from adjudge.io.runners.values import FROM_JUDGE
from adjudge.present.text import count
from adjudge.records import LabelledBy, StartedFrom
from adjudge.rows.columns import tidy
from adjudge.rows.dropped import Rows

#: The columns with this information.
MAKERS = ("labelled_by", "started_from")
_CHOICES = {"labelled_by": get_args(LabelledBy), "started_from": get_args(StartedFrom)}


def leave_out_dependent(rows: Rows, name: str) -> Rows:
    """Rows whose `label` did not start from the judge's answer; the others are counted."""
    if "started_from" not in rows.frame.columns:
        return rows
    labelled = rows.frame["label"].is_not_null()
    from_judge = _says(rows.frame, labelled, name, "started_from", "judge")
    return rows.without(pl.lit(from_judge), FROM_JUDGE)


def without_dependent(
    frame: pl.DataFrame, labels: pl.Series, name: str
) -> tuple[pl.Series, dict[str, int]]:
    """Labels without those that started from the judge's answer; their rows count as unlabelled."""
    from_judge = _says(frame, labels.is_not_null(), name, "started_from", "judge")
    kept = pl.select(pl.when(~from_judge).then(labels)).to_series().alias(labels.name)
    lost = int(from_judge.sum())
    return kept, {f"{FROM_JUDGE}: not used, its row is unlabelled": lost} if lost else {}


def count_model_labels(frame: pl.DataFrame, labels: pl.Series, name: str, *, allowed: bool) -> int:
    """How many of the labels a model made; refused unless the caller allows them."""
    made = _says(frame, labels.is_not_null(), name, "labelled_by", "model")
    number = int(made.sum())
    if number and not allowed:
        raise DataError(
            name,
            f"{count(number, 'label')} of {labels.len() - labels.null_count():,} "
            f"{'was' if number == 1 else 'were'} made by a model",
            column="labelled_by",
            remedy="use labels of people, or allow these: --model-labels (model_labels=True)",
        )
    return number


def state_model_labels(number: int) -> tuple[str, ...]:
    """The note of a result about labels that a model made; empty if there are none.

    >>> state_model_labels(2)[0]
    '2 labels were made by a model: every figure is about agreement with it, not with people'
    """
    if not number:
        return ()
    verb = "was" if number == 1 else "were"
    return (
        f"{count(number, 'label')} {verb} made by a model: every figure is about agreement with "
        "it, not with people",
    )


def _says(
    frame: pl.DataFrame, labelled: pl.Series, name: str, column: str, value: str
) -> pl.Series:
    """Which labelled rows have this value in the column; an unknown value is refused."""
    if column not in frame.columns:
        return pl.repeat(False, frame.height, eager=True)
    said = tidy(frame[column], name, column)
    strange = labelled & said.is_not_null() & ~said.is_in(_CHOICES[column])
    remedy = "use " + " or ".join(_CHOICES[column])
    refuse_values(said, strange, "{} is not known", source=name, remedy=remedy)
    return labelled & (said == value).fill_null(False)
