"""Cuts: labels drawn only among the surest rows have no information about the others.

Below the cut such labels are a random sample, and so are random labels that lie there. A sample
below one cut and a sample below another are both random below both. So everything made from them
uses, and holds for, the pairs below every cut: those whose score, by the judge that was cut, is at
most the cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from adjudge.data.labels import CUT_BY
from adjudge.data.refusals import refuse_values
from adjudge.data.rows import tidy
from adjudge.errors import DataError, PolicyMismatchError
from adjudge.policy.rules import Cut
from adjudge.records import CUT_COLUMNS

#: Why a row above a cut neither calibrates nor is accepted.
BEYOND = "outside the share that was labelled"
_KEEP = "keep the columns that plan labels wrote; adjudge label --plan FILE -o copies them"


def cuts_of(frame: pl.DataFrame, name: str) -> tuple[Cut, ...]:
    """The cuts of the labels of these rows; for each score the lowest.

    >>> cut = Cut(judge="x", protocol="preference", at=0.3, share=0.6)
    >>> cuts_of(pl.DataFrame({"sampled_by": ["surest"], **cut.columns}), "labels") == (cut,)
    True
    """
    if "sampled_by" not in frame.columns:
        return ()
    drawn = frame.filter(pl.col("sampled_by").is_in(CUT_BY))
    if drawn.height == 0:
        return ()
    needed = CUT_COLUMNS[:3]
    for column in needed:
        if column not in drawn.columns or drawn[column].null_count():
            how = drawn["sampled_by"][0]
            problem, remedy = f"is missing for labels that were sampled by {how}", _KEEP
            if how == "audit":
                remedy = "after an alarm, use calibrate --from-audits STATE for the old threshold"
            raise DataError(name, problem, column=column, remedy=remedy)
    read = {c: tidy(drawn[c], name, c) for c in CUT_COLUMNS if c in drawn.columns}
    for column in needed[:2]:
        value = read[column].cast(pl.Float64, strict=False)
        refuse_values(
            read[column],
            ~value.is_finite().fill_null(False),
            "{} is not a number",
            source=name,
            remedy=_KEEP,
        )
        read[column] = value
    lowest: dict[tuple[str | None, ...], Cut] = {}
    for row in pl.DataFrame(list(read.values())).unique().sort("cut", descending=True).to_dicts():
        cut = Cut(
            judge=row["cut_judge"],
            protocol=row.get("cut_protocol"),
            judge_fingerprint=row.get("cut_fingerprint"),
            at=row["cut"],
            share=row["cut_share"],
        )
        lowest[cut.judge, cut.protocol, cut.judge_fingerprint] = cut
    return tuple(lowest.values())


def lie_below(rows: pl.DataFrame, cuts: Sequence[Cut], *, scored: pl.DataFrame) -> pl.Series:
    """Which rows are of pairs below every cut.

    `scored` has the judgments of the judges whose score was cut, with that score as `uncertainty`.
    For a jury or a learned doubt that is not the score of `rows`. If a cut's judge is missing
    there, PolicyMismatchError names it.
    """
    below = np.ones(rows.height, dtype=np.bool_)
    for cut in cuts:
        own = scored.filter(*(_is(column, cut) for column in ("judge", "protocol")))
        known = own.filter(_is("judge_fingerprint", cut) | pl.col("judge_fingerprint").is_null())
        if known.height == 0:
            differs = "judge" if own.height == 0 else "judge_fingerprint"
            raise PolicyMismatchError(
                f"labels were drawn among {cut.name}, but its judgments are missing"
                + (" (the rows of this judge have another fingerprint)" if own.height else "")
                + "; give them too, or draw labels by the judge you have",
                differs=(differs,),
            )
        kept = known.filter(pl.Series(cut.rule.accept(known["uncertainty"].to_numpy())))
        below &= rows["id"].is_in(kept["id"].implode()).to_numpy()
    return pl.Series(below)


def _is(column: str, cut: Cut) -> pl.Expr:
    """Whether a row agrees with the cut in this column; unknown values agree."""
    value = getattr(cut, column)
    return pl.lit(True) if value is None else pl.col(column) == value
