"""Battles, prepared once for every ranking: read, coded, with judges and left-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from adjudge.errors import ArgumentError, DataError
from adjudge.io import open_battles
from adjudge.io.needs import Needs, narrow
from adjudge.io.opening import name_columns
from adjudge.io.tables import TableLike, labels_as_of
from adjudge.rows.answers import describe_same_answer, same_answers
from adjudge.rows.clusters import cluster_column, code_clusters
from adjudge.rows.columns import has_values, refuse_options, text_column
from adjudge.rows.dropped import Rows, first_repeats, merge_dropped
from adjudge.rows.identity import Identity, identities
from adjudge.rows.juries import gather_jury
from adjudge.rows.makers import count_model_labels, state_model_labels, without_dependent
from adjudge.rows.outcomes import (
    JudgeScores,
    code_names,
    code_sorted,
    judge_scores,
    outcome_targets,
)
from adjudge.validation import BoolArray, FloatArray, IntArray

#: The columns that can have people's votes.
_HUMAN = ("winner", "human_pref", "label")
#: The fields of Battles with one value per battle.
_COLUMNS = ("a", "b", "human", "verdict", "score", "panel", "other", "prompts", "group_codes")


@dataclass(frozen=True, kw_only=True)
class Battles:
    """Battles of coded models. `names[a[k]]` met `names[b[k]]` in battle k.

    `human` and `verdict` are targets of people and of the judge, `score` the judge's score
    difference (positive favours model_a), `other` the targets of a second opinion to compare with;
    NaN if a battle has none. `panel` has a column of scores for each judge of a jury. `prompts`
    are codes of the column `cluster`, `groups` the values of the grouping column `by`. `source`
    names the columns of the score (None: the judge gave none), `named` the verdict column that the
    user named, `identities` the judges.
    """

    names: tuple[str, ...]
    a: IntArray
    b: IntArray
    human: FloatArray | None = None
    verdict: FloatArray | None = None
    score: FloatArray | None = None
    panel: FloatArray | None = None
    other: FloatArray | None = None
    prompts: IntArray | None = None
    cluster: str | None = None
    by: str | None = None
    groups: tuple[str, ...] | None = None
    group_codes: IntArray | None = None
    source: str | None = None
    named: str | None = None
    identities: tuple[Identity, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return len(self.names)

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges' names, if the rows have them."""
        return tuple(dict.fromkeys(one.judge for one in self.identities if one.judge is not None))

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The judges' fingerprints, if the rows have them."""
        prints = (one.fingerprint for one in self.identities)
        return tuple(dict.fromkeys(one for one in prints if one is not None))

    def __len__(self) -> int:
        return len(self.a)

    def take(self, rows: BoolArray | IntArray) -> Battles:
        """The battles at `rows` (a mask or positions), among the same models."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        kept = {name: values[rows] for name, values in columns.items() if values is not None}
        return replace(self, **kept)


def prepare_battles(
    battles: TableLike | Battles,
    *,
    format: str | None = None,
    baseline: str | None = None,
    human: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    cluster: str | None = "auto",
    by: str | None = None,
    against: str | None = None,
    model_labels: bool = False,
    jury: bool = False,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> Battles:
    """Read and code battles once; several analyses can then use the same object.

    Options as in `rank`, which accepts the result instead of a file. Prepared battles are returned
    unchanged, and their columns cannot be named again.

    >>> battles = prepare_battles({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    >>> battles.names, battles.human.tolist(), battles.source
    (('x', 'y'), [0.5], None)
    """
    if isinstance(battles, Battles):
        refuse_options(prepare_battles, locals())
        return battles
    options = (human, verdict, score, cluster, by, against, *(columns or {}).values())
    battles = narrow(battles, Needs(("battles",), options, texts=True))
    with name_columns(columns, labels_as) as named:
        battles = named(battles)
    table = open_battles(battles, format, baseline=baseline, votes_required=False)
    rows = first_repeats(Rows(table.frame, table.dropped))
    words, said = labels_as_of(battles), None
    if jury:
        rows, said = gather_jury(rows, verdict=verdict, score=score, labels_as=words)
    votes = human or next((c for c in _HUMAN if c in rows.frame.columns and c != verdict), None)
    makers: tuple[str, ...] = ()
    if votes in rows.frame.columns:
        usable, dependent = without_dependent(rows.frame, rows.frame[votes], table.name)
        by_model = count_model_labels(rows.frame, usable, table.name, allowed=model_labels)
        rows = Rows(rows.frame.with_columns(usable), merge_dropped(rows.dropped, dependent))
        makers = state_model_labels(by_model)
    coded = code_battles(
        rows.frame,
        said=said,
        human=human,
        verdict=verdict,
        score=score,
        cluster=cluster,
        by=by,
        against=against,
        labels_as=words,
        unread=rows.dropped,
    )
    return replace(coded, warnings=(*makers, *coded.warnings))


def code_battles(
    frame: pl.DataFrame,
    *,
    human: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    against: str | None = None,
    labels_as: Mapping[str, str] | None = None,
    unread: Mapping[str, int] | None = None,
    said: JudgeScores | None = None,
) -> Battles:
    """Coded battles from a frame that was read; options as in `prepare_battles`.

    `human`, `verdict` and `score` name columns; without them the usual names are used. `said` has a
    jury's answers instead. Rows without both names and battles of a model with itself are left out
    and counted.

    >>> columns = {"model_a": ["x", "y"], "model_b": ["y", "y"], "winner": ["tie", "tie"]}
    >>> battles = code_battles(pl.DataFrame(columns))
    >>> len(battles), battles.dropped, battles.source
    (1, {'battle of a model with itself': 1}, None)
    """
    for side in ("model_a", "model_b"):
        if side not in frame.columns:
            raise DataError("battles", "is missing", column=side, remedy="give model_a, model_b")
    other = None if against == "votes" else against
    named_columns = {"human": human, "verdict": verdict, "score": score, "against": other}
    for option, named in named_columns.items():
        if named is not None and named not in frame.columns:
            raise ArgumentError(option, named, "choose a column: " + ", ".join(frame.columns))
    names, a, b = code_names(frame["model_a"], frame["model_b"])
    nameless = (a < 0) | (b < 0)
    itself = (a == b) & ~nameless
    votes = human or next((c for c in _HUMAN if c in frame.columns and c != verdict), None)
    y = None if votes is None else outcome_targets(frame[votes], votes, labels_as)
    if y is not None and not np.isfinite(y).any():
        y = None
    if against == "votes" and y is None:
        raise ArgumentError("against", against, "give votes in the file, or a column of outcomes")
    second = y if against == "votes" else None
    if other is not None:
        second = outcome_targets(frame[other], other, labels_as)
    if said is None:
        said = judge_scores(frame, verdict=verdict, score=score, exclude=votes, labels_as=labels_as)
    doubted = []
    if (
        y is not None
        and votes == "winner" != human
        and said.source is None
        and has_values(frame, "judge")
    ):
        doubted.append(
            "the file names a judge without verdicts, and its winners count as people's votes: if "
            "they are the judge's, add --verdict winner (verdict=)"
        )
    column = cluster_column(frame, cluster)
    groups = group_codes = None
    if by is not None:
        groups, group_codes = code_sorted(text_column(frame, by, "by"))
    coded = Battles(
        names=names,
        a=a,
        b=b,
        human=y,
        verdict=said.verdict,
        score=said.score,
        panel=said.panel,
        other=second,
        prompts=None if column is None else code_clusters(frame[column]),
        cluster=column,
        by=by,
        groups=groups,
        group_codes=group_codes,
        source=said.source,
        named=verdict,
        identities=said.identities or tuple(identities(frame)),
        dropped=merge_dropped(
            unread or {},
            {
                "a model's name is missing": int(nameless.sum()),
                "battle of a model with itself": int(itself.sum()),
            },
        ),
        warnings=(*said.warnings, *doubted, *_same_answers(frame, said.verdict, y)),
    )
    out = nameless | itself
    return coded.take(~out) if out.any() else coded


def _same_answers(
    frame: pl.DataFrame, verdict: FloatArray | None, votes: FloatArray | None
) -> list[str]:
    """Models that win with one answer to every prompt, according to the judge, else to people."""
    wins = votes if verdict is None else verdict
    return [] if wins is None else list(map(describe_same_answer, same_answers(frame, wins)))
