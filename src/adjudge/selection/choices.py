"""Choices: all comparisons of the responses to a prompt, combined into one row per prompt.

With p_ij, the probability that the judge prefers response i to response j (the mean of all rows
that compare the two; of a jury, its p_ij):

    choice   the response with the highest mean over j of p_ij
    doubt    1 - product over j of p_ij for that response: 1 - P(it wins all), were they independent
    error    people's best is another response

The people's best is named (column `best`), or follows from labels of all pairs of the prompt: the
response with the highest mean share. A prompt without a choice (a comparison is missing or failed,
or two responses are tied at the top) has no verdict and the largest doubt: it is never accepted,
and it is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from adjudge.data.judgments import Judgments, doubt_ties, mark_off_answer, prepare_judgments
from adjudge.data.labels import join_labels
from adjudge.data.outcomes import OUTCOMES
from adjudge.data.rows import Rows, merge_dropped, tidy
from adjudge.data.source import Source
from adjudge.data.steps.labels import LABELS_OF, MAKERS
from adjudge.data.tables import TableLike, parse_table
from adjudge.errors import ArgumentError, DataError
from adjudge.policy.result import Policy
from adjudge.present.text import count
from adjudge.records import MEASURED
from adjudge.selection.doubts.base import (
    Doubt,
    DoubtMethod,
    FittedDoubt,
    Labelled,
    OwnDoubt,
    ScoredRows,
)
from adjudge.selection.doubts.jury import (
    JURIES,
    JURY,
    Jury,
    JuryDoubt,
    fit_jury,
    make_jury,
    name_members,
)
from adjudge.selection.labelled import NewRows, read_new
from adjudge.store import StorePlace
from adjudge.validation import one_of

NEEDED = ("prompt_id", "model_a", "model_b")
#: Why a prompt has no choice; the first reason that applies is given.
MISSING = "missing comparison"
FAILED = "failed comparison"
SHARED = "tie at the top"
#: The columns of a choice in addition to those of every verdict.
COLUMNS = ("responses", "mean_p", "no_choice")
_KEYS = ("judge", "protocol", "prompt_id")
#: Means of the same numbers in another order can differ by a rounding error.
_EVEN = 1e-9
#: Columns that describe a label, and the values without an objection to it.
_USUAL = dict(zip(("sampled_by", *MAKERS), ("random", "person", "nothing"), strict=True))
#: Columns about one comparison, not about its prompt.
_OF_PAIRS = frozenset(
    {"id", "model_a", "model_b", "response_a", "response_b", "label", "status", "verdict", "best",
     "p_a", "p_fwd", "p_rev", "p_tie", "uncertainty", "answer_mass", "tokens", "cost", "detail",
     "repeat", *_KEYS, *COLUMNS, *_USUAL}
)  # fmt: skip


def prepare_choices(
    judgments: TableLike | Source | Judgments,
    *,
    labels: TableLike | None = None,
    judge: str | None = None,
    protocol: str | None = None,
    min_answer_mass: float | None = None,
    jury: Sequence[str] | None = None,
) -> Judgments:
    """One row for every prompt, judge and protocol: the choice in `verdict`, people's in `label`.

    Each row of `judgments` compares two responses, named in model_a and model_b, to the prompt in
    prompt_id. `labels` are for pairs, or for prompts if they have a column `best`. With `jury` (its
    judges; empty: all), rows of the judge `jury` are added, from the mean log odds of its judges.
    Choices that were prepared are returned unchanged.

    >>> rows = {"prompt_id": ["q"] * 3, "model_a": ["x", "x", "y"], "model_b": ["y", "z", "z"],
    ...         "id": [1, 2, 3], "p_a": [0.9, 0.7, 0.4], "best": ["x"] * 3}
    >>> prepare_choices(rows).frame.select("id", "verdict", "uncertainty", "label").row(0)
    ('q', 'x', 0.37, 'x')
    """
    best = None
    with Source.of(judgments, labels=labels) as opened:
        if isinstance(opened.data, Judgments) and opened.data.about == "choices":
            return opened.data
        labels = opened.labels
        alike = opened.alike_ids
        if labels is not None:
            table = parse_table(labels)
            best, labels = (table, None) if "best" in table.frame.columns else (None, table)
        prepared = prepare_judgments(
            opened.rows, labels=labels, judge=judge, protocol=protocol, alike_ids=alike
        )
    missing = [name for name in NEEDED if name not in prepared.frame.columns]
    if prepared.about != "pairs" or missing:
        raise DataError(
            prepared.name,
            f"has no {', '.join(missing)}" if missing else "has grades",
            remedy="a choice among several responses needs comparisons of two: prompt_id, and "
            "model_a and model_b that name the responses (--column OURS=YOURS)",
        )
    frame = mark_off_answer(prepared.frame, min_answer_mass)
    names = [column for column in (*NEEDED, "best") if column in frame.columns]
    frame = frame.with_columns(tidy(frame[column], prepared.name, column) for column in names)
    rows = Rows(frame, prepared.dropped)
    rows = rows.without(pl.any_horizontal(pl.col(NEEDED).is_null()), f"no {' or '.join(NEEDED)}")
    rows = rows.without(pl.col("model_a") == pl.col("model_b"), "a response compared with itself")
    if (rows.frame.select(pl.col("model_a", "model_b") == "tie")).to_numpy().any():
        raise ArgumentError("model_a", "tie", "give this response another name")
    if jury is not None:
        pairs = read_new(replace(prepared, frame=rows.frame))
        members = make_jury(pairs.measured, "mean", judges=jury)
        together = [rows.frame, members.score(pairs).everything]
        rows = Rows(pl.concat(together, how="diagonal_relaxed"), rows.dropped)
    frame = _fold(rows.frame)
    dropped = rows.dropped
    if best is not None:
        source = best.name
        if "id" not in best.frame.columns and "prompt_id" in best.frame.columns:
            best = parse_table(best.frame.rename({"prompt_id": "id"}))
        joined = join_labels(
            frame, best, about="values", column="best", source=prepared.name, alike_ids=alike
        )
        frame = joined.frame.drop(LABELS_OF)
        dropped = merge_dropped(dropped, joined.dropped)
        frame = frame.with_columns(label=_checked(frame, source))
    elif "best" in rows.frame.columns:
        named_best = rows.frame.group_by(_KEYS).agg(_agreed("best"))
        frame = frame.join(named_best, on=_KEYS, how="left", maintain_order="left")
        frame = frame.with_columns(label=_checked(frame, prepared.name))
    elif "label" not in rows.frame.columns:
        frame = frame.drop("label")
    frame = frame.drop("best", "members", strict=False)
    return Judgments(frame=frame, name=prepared.name, dropped=dropped, about="choices")


class _Choices(Doubt):
    def prepare(
        self, source: Source, judge: str | None, protocol: str | None, least: float | None
    ) -> Judgments:
        """The choices of each judge and, if there is one, of the jury."""
        options: dict[str, Any] = {"judge": judge, "protocol": protocol, "min_answer_mass": least}
        return prepare_choices(source, **options, jury=self.judges or None)


class ChoiceDoubt(_Choices, OwnDoubt):
    """The doubt of a choice among all responses to a prompt."""

    of_protocol = False

    @classmethod
    def load(cls, policy: Policy) -> Doubt | None:
        if policy.about != "choices":
            return None
        return ChoiceJuryDoubt.load(policy) or cls(policy.groups)


class ChoiceJuryDoubt(_Choices, JuryDoubt):
    """The doubt of a choice by several judges as one."""

    def score(self, new: NewRows) -> ScoredRows:
        of_jury = pl.col("judge") == JURY
        rows = new.measured.filter(of_jury)
        everything = new.everything.filter(of_jury)
        first = self.first_verdicts(rows, name_members(new.measured.filter(~of_jury)))
        return ScoredRows(doubt_ties(rows), first, everything, {}, pl.format("status {}", "status"))

    def check_judges(self, frame: pl.DataFrame, *, store: StorePlace = None) -> list[str]:
        return super().check_judges(frame.filter(pl.col("judge") != JURY), store=store)


@dataclass(frozen=True)
class Choices(DoubtMethod):
    """The best of all responses to a prompt, from comparisons of two (prompt_id, model_a, model_b).

    The choice is the response with the highest mean probability. Its doubt is that of its least
    sure comparison. It is an error if people prefer another response (column `best`, or labels of
    all pairs). Then prompts must be exchangeable, and `select` groups new rows by prompt in the
    same way.

    Args:
        jury: Combine all judges of the rows by this jury, instead of one choice for each judge.
    """

    jury: Jury | None = None

    doubt = ChoiceDoubt
    keeps_cuts = False

    @property
    def columns(self) -> tuple[str | None, ...]:
        return ("best",)

    def prepare(
        self, source: Source, judge: str | None, protocol: str | None, least: float | None
    ) -> Judgments:
        judges = None if self.jury is None else ()
        if self.jury is not None:
            one_of(self.jury.method, JURIES, "jury")
        return prepare_choices(
            source, judge=judge, protocol=protocol, min_answer_mass=least, jury=judges
        )

    def learn(self, labelled: Labelled) -> FittedDoubt:
        frame = labelled.frame
        if self.jury is None:
            return FittedDoubt(ChoiceDoubt(), frame)
        of_jury = pl.col("judge") == JURY
        members = name_members(frame.filter(~of_jury))
        jury = make_jury(members, self.jury.method)
        return fit_jury(ChoiceJuryDoubt(**vars(jury)), frame.filter(of_jury), members)


def describe_choices(frame: pl.DataFrame) -> list[str]:
    """Notes about the prompts: those without a choice, those with two answers."""
    lines = []
    for reason in (MISSING, FAILED, SHARED):
        prompts = int((frame["no_choice"] == reason).sum())
        if prompts:
            lines.append(
                f"{count(prompts, 'labelled prompt')} without a choice ({reason}): counted as "
                "errors, never accepted"
            )
    two = int((frame["responses"] == 2).sum())
    if two:
        lines.append(f"{count(two, 'labelled prompt')} with two responses: one comparison decides")
    return lines


def _fold(frame: pl.DataFrame) -> pl.DataFrame:
    """Prompts with choice, doubt and people's best, from rows of comparisons."""
    keys = list(_KEYS)
    swapped = pl.when(pl.col("model_a") > pl.col("model_b"))
    share = pl.when(pl.col("status").is_in(list(MEASURED))).then("p_a")
    label = pl.lit(None, pl.Float64)
    if "label" in frame.columns:
        label = pl.col("label").replace_strict(OUTCOMES, default=None, return_dtype=pl.Float64)
    comparisons = frame.select(
        *keys,
        one=pl.min_horizontal("model_a", "model_b"),
        other=pl.max_horizontal("model_a", "model_b"),
        p=swapped.then(1 - share).otherwise(share),
        y=swapped.then(1 - label).otherwise(label),
    )
    pairs = comparisons.group_by(*keys, "one", "other").agg(pl.col("p", "y").mean())
    turned = pairs.select(
        *keys,
        pl.col("other").alias("one"),
        p=1 - pl.col("p"),
        y=1 - pl.col("y"),
    )
    both_sides = pl.concat([pairs.select(*keys, "one", "p", "y"), turned])
    p = pl.col("p")
    y = pl.col("y")
    responses = both_sides.group_by(*keys, "one").agg(
        mean=p.mean(),
        # Sorted, so that the product does not depend on the order of the rows.
        wins=p.sort().product(),
        failed=p.is_null().any(),
        compared=pl.len(),
        human=pl.when(y.is_not_null().all()).then(y.mean()),
    )
    responses = responses.sort(*keys, "one")
    top = pl.col("mean") >= pl.col("mean").max() - _EVEN
    liked = pl.col("human") >= pl.col("human").max() - _EVEN
    missing = (pl.col("compared") < pl.len() - 1).any()
    # If people did not compare all responses, their first choice is unknown.
    unknown = pl.col("human").is_null().any() | missing
    tie_or_liked = (
        pl.when(liked.sum() > 1).then(pl.lit("tie")).otherwise(pl.col("one").filter(liked).first())
    )
    prompts = responses.group_by(keys, maintain_order=True).agg(
        responses=pl.len(),
        missing=missing,
        failed=pl.col("failed").any(),
        shared=top.sum() > 1,
        verdict=pl.col("one").filter(top).first(),
        mean_p=pl.col("mean").max(),
        wins=pl.col("wins").filter(top).first(),
        label=pl.when(~unknown).then(tie_or_liked),
        members=pl.col("one"),
    )
    words = {"missing": MISSING, "failed": FAILED, "shared": SHARED}
    reason = pl.coalesce(pl.when(name).then(pl.lit(why)) for name, why in words.items())
    chose = pl.when(pl.col("no_choice").is_null())
    without_pairs = dict.fromkeys(("p_a", "p_fwd", "p_rev"), pl.lit(None, pl.Float64))
    chosen = prompts.with_columns(no_choice=reason).with_columns(
        id="prompt_id",
        status=pl.lit("ok"),
        verdict=chose.then("verdict"),
        uncertainty=chose.then(1 - pl.col("wins")).otherwise(1.0),
        mean_p=chose.then("mean_p"),
        **without_pairs,
    )
    shared = [_agreed(name) for name in frame.columns if name not in _OF_PAIRS]
    shared += [_least_usual(name, word) for name, word in _USUAL.items() if name in frame.columns]
    others = frame.group_by(keys).agg(shared)
    prompt_rows = chosen.drop("missing", "failed", "shared", "wins")
    return prompt_rows.join(others, on=keys, how="left", maintain_order="left")


def _agreed(name: str) -> pl.Expr:
    """The value that all rows of a prompt share; empty if they differ."""
    return pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)


def _least_usual(name: str, usual: str) -> pl.Expr:
    """An objection to a label applies to its prompt."""
    strange = pl.col(name).filter(pl.col(name) != usual).drop_nulls().sort().first()
    return pl.coalesce(strange, pl.col(name).drop_nulls().first()).alias(name)


def _checked(frame: pl.DataFrame, name: str) -> pl.Series:
    """People's best, which must be one of the responses, or a tie."""
    no_name = pl.col("best").is_null() | (pl.col("best") == "tie")
    strange = frame.filter(~(no_name | pl.col("best").is_in(pl.col("members"))))
    if strange.height:
        prompt, best, members = strange.select("id", "best", "members").row(0)
        raise DataError(
            name,
            f"{best!r} is not a response to prompt {prompt!r}",
            column="best",
            remedy=f"name one of {', '.join(members[:5])}{' ...' * (len(members) > 5)}, or tie",
        )
    return frame["best"].alias("label")
