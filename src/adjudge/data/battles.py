"""Battles: which of two models a person, or a judge, preferred. Columns, checks, preparation.

Several judges of the same battles can be one jury. A model that gives one answer to every prompt
can be ranked high by a judge that does not read: `same_answers` finds it.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.data.answers import (
    describe_same_answer,
    length_differences,
    same_answers,
    style_columns,
    style_differences,
)
from adjudge.data.columns import Column, Layout, check_columns, each
from adjudge.data.files import Handle
from adjudge.data.names import (
    PAIR,
    WINNER,
    bare_name,
    columns_here,
    drop_missing,
    quote,
    read_choices,
    refuse_values,
    refuse_where,
    usual_names,
)
from adjudge.data.outcomes import (
    VERDICT_COLUMNS,
    JudgeScores,
    code_names,
    code_sorted,
    judge_scores,
    outcome_targets,
)
from adjudge.data.rows import (
    Identity,
    Rows,
    cluster_column,
    code_clusters,
    has_values,
    identities,
    merge_dropped,
    spelled_alike,
    text_column,
)
from adjudge.data.source import Needs, Reading, Source
from adjudge.data.steps.judges import check_judges
from adjudge.data.steps.labels import take_labels
from adjudge.data.steps.repeats import first_repeats, leave_out_repeats
from adjudge.data.steps.status import FAILURES, mark_failures
from adjudge.data.tables import TableLike, as_text, labels_as_of, source_name
from adjudge.errors import ArgumentError, DataError
from adjudge.present.text import count
from adjudge.records import MEASURED
from adjudge.validation import BoolArray, FloatArray, IntArray

VERDICTS = ("A", "B", "tie")
WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
_WINNER = Column(name="winner", choices=WINNERS, words=WINNER)
BATTLE_COLUMNS = Layout(
    "battles",
    Column(name="id"),
    *each("model_a", "model_b", required=True, filled=True),
    _WINNER,
    *each("verdict_fwd", "verdict_rev", choices=VERDICTS, words=PAIR, answer=True),
    *each("length_a", "length_b", type="number", low=0),
    *each("score_a", "score_b", type="number", answer=True),
    *each("prompt_id", "language", "judge"),
    answers=(
        *(*VERDICT_COLUMNS, "p_a", "p_fwd", "p_rev", "p_tie", "uncertainty"),
        *("score_difference", "scores_a", "scores_b"),
    ),
)
_SHARES = {1.0: "model_a", 0.0: "model_b", 0.5: "tie"}
_OBJECT = 'write {"clarity": 7, ...}'


def read_battles(
    source: TableLike, *, votes_required: bool = True, as_is: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Battles as a checked frame: model_a, model_b, winner, then the other columns.

    `winner` is model_a, model_b, tie or tie (bothbad), or empty without a vote. `human_pref` can
    replace it: A, B or tie, or the share of the preference for model_a: 1, 0.5 or 0. (The SoftElo
    release writes 0 for a win of A: such a file is refused here and read with `--format softelo`.)
    With `votes_required=False` a file without either is read too: a `label` column counts as votes,
    and without one there are no votes. score_a and score_b are the judge's numbers. If the file has
    per-criterion objects scores_a and scores_b instead (also as text, JSON or Python), score_a and
    score_b are the means over the criteria that both sides have. `as_is` are columns that the
    caller uses as verdict, score or human: they are not read as one of ours. A battle that failed
    by its status has no answer of the judge; if no judge is in the file, it has no vote.

    >>> read_battles({"model_a": ["x"], "model_b": ["y"], "human_pref": ["B"]})["winner"].to_list()
    ['model_b']
    """
    name = source_name(source)
    words = labels_as_of(source)
    roles = as_is or {}
    judged = [column for role, column in roles.items() if role != "human"]
    frame = BATTLE_COLUMNS.load(source, as_is=roles)
    frame = BATTLE_COLUMNS.check(frame, name, answers=judged, labels_as=words)
    if not {*BATTLE_COLUMNS.answers, *judged} & {*frame.columns}:
        people = [column for column in (roles.get("human"), *_HUMAN) if column is not None]
        # A person's vote that is no outcome is refused, also if a judge would have failed by it.
        frame = mark_failures(frame, name, people, classes=FAILURES)
    if not votes_required and not {"winner", "human_pref"} & set(frame.columns):
        votes = as_text(frame["label"]) if "label" in frame.columns else pl.lit(None, pl.String)
        frame = check_columns(frame.with_columns(winner=votes), [_WINNER], name, labels_as=words)
    frame = _with_winner(frame, name, words)
    refuse_self_meetings(frame, name)
    for column in ("scores_a", "scores_b"):
        if column in frame.columns:
            frame = _unpack(frame, column, name)
    if {"scores_a", "scores_b"} <= set(frame.columns):
        frame = _with_means(frame, name)
    if ("score_a" in frame.columns) != ("score_b" in frame.columns):
        problem, remedy = "one side has a score and the other has none", "give score_a and score_b"
        raise DataError(name, problem, column="score_a", remedy=remedy)
    return BATTLE_COLUMNS.sort(frame)


def refuse_self_meetings(frame: pl.DataFrame, source: str) -> None:
    """Refuse battles of a model with itself."""
    same, problem = pl.col("model_a") == pl.col("model_b"), "{} is compared with itself"
    remedy = "drop comparisons of a model with itself"
    refuse_where(frame, same, problem, source=source, column="model_b", remedy=remedy)


def _with_winner(frame: pl.DataFrame, source: str, words: Mapping[str, str]) -> pl.DataFrame:
    if "winner" in frame.columns:
        return frame
    if "human_pref" not in frame.columns:
        raise BATTLE_COLUMNS.missing(frame, "winner", source, "give winner or human_pref")
    human_pref = frame.get_column("human_pref")
    if not (human_pref.dtype in (pl.String, pl.Null) or human_pref.dtype.is_numeric()):
        problem, remedy = "has neither letters nor numbers", "use A, B or tie"
        raise DataError(source, problem, row=1, column="human_pref", remedy=remedy)
    texts = drop_missing(as_text(human_pref))
    numbers = texts.cast(pl.Float64, strict=False)
    if words or texts.is_null().all() or numbers.null_count() > texts.null_count():
        read = frame.with_columns(texts.alias("human_pref"))
        votes = check_columns(read, [replace(_WINNER, name="human_pref")], source, labels_as=words)
        return frame.with_columns(winner=votes["human_pref"])
    if {"judge_pref", "scores_a"} & set(frame.columns):
        problem = (
            "numbers next to judge_pref or scores_a: this looks like the SoftElo release, "
            "where 0 means that A won"
        )
        remedy = "read it with --format softelo, or write A, B and tie"
        raise DataError(source, problem, column="human_pref", remedy=remedy)
    winner = numbers.replace_strict(_SHARES, default=None, return_dtype=pl.String)
    bad = numbers.is_not_null() & winner.is_null()
    remedy = "use A, B or tie, or the share for model_a: 1, 0.5 or 0"
    refuse_values(numbers, bad, "{} is not known", source=source, remedy=remedy)
    return frame.with_columns(winner=winner)


def _unpack(frame: pl.DataFrame, column: str, source: str) -> pl.DataFrame:
    values = frame.get_column(column)
    if values.dtype == pl.String:
        values = _decode(values, source)
    fields = values.struct.fields if isinstance(values.dtype, pl.Struct) else []
    if not fields:
        problem = "has no objects of criterion and number"
        raise DataError(source, problem, row=1, column=column, remedy=_OBJECT)
    numbers = each(*fields, type="number")
    parts = check_columns(values.struct.unnest(), numbers, f"{source}, column {column}")
    packed = parts.select(pl.struct(fields).alias(column)).to_series()
    return frame.with_columns(pl.when(values.is_not_null()).then(packed).alias(column))


def _decode(values: pl.Series, source: str) -> pl.Series:
    # Python writes {'clarity': 7.0}; with plain names, other quotes make it JSON.
    for text in (values, values.str.replace_all("'", '"')):
        try:
            return text.str.json_decode(infer_schema_length=None)
        except pl.exceptions.PolarsError:
            continue
    lines = []
    for row, value in enumerate(values, start=1):
        try:
            parsed = None if value is None else ast.literal_eval(value)
            if parsed is not None and not isinstance(parsed, dict):
                raise ValueError
            lines.append(json.dumps(parsed, allow_nan=False))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            problem = f"{quote(value)} is not an object of criterion and number"
            raise DataError(source, problem, row=row, column=values.name, remedy=_OBJECT) from None
    return pl.Series(values.name, lines).str.json_decode(infer_schema_length=None)


def _with_means(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    left, right = frame.get_column("scores_a"), frame.get_column("scores_b")
    both = [field for field in left.struct.fields if field in right.struct.fields]
    if not both:
        problem, remedy = "shares no criterion with scores_b", "score both on the same criteria"
        raise DataError(source, problem, column="scores_a", remedy=remedy)
    for side, other in (("a", "b"), ("b", "a")):
        if f"score_{side}" in frame.columns:
            continue
        mine, theirs = (pl.col(f"scores_{name}").struct for name in (side, other))
        # A criterion counts only if both sides have it; else the means cannot be compared.
        paired = [pl.when(theirs.field(c).is_not_null()).then(mine.field(c)) for c in both]
        frame = frame.with_columns(pl.mean_horizontal(paired).alias(f"score_{side}"))
    return frame


#: The columns that can have people's votes.
_HUMAN = ("winner", "human_pref", "label")
#: Names in the column judge that belong to people, such as those of MT-Bench.
_PERSON = re.compile(
    r"(expert|author|human|person|people|annotator|rater|voter)([\W_]|\d|s?$)", re.I
)


@dataclass(frozen=True, kw_only=True)
class Battles:
    """Battles of coded models. `names[a[k]]` met `names[b[k]]` in battle k; so for every array.

    `human` and `verdict` are targets of people and of the judge, `score` the judge's score
    difference (positive favours model_a), `other` the targets of a second opinion to compare with;
    NaN if a battle has none. `panel` has a column of scores for each judge of a jury. `prompts`
    are codes of the column `cluster`, `groups` the values of the grouping column `by`. `weights`
    count each battle more or less (`ranking.shift`; None: all once). `length` is the difference in
    length of the answers, `style` has a column for each feature in `control`, whose kinds are
    `style_kinds` (`data.answers`). `failed` is the status of a
    battle that the judge failed (without a judge: whose vote failed), else empty. `source`
    names the columns of the score (None: the judge gave none), `named` the verdict column that the
    user named, `identities` the judges. `voters` is whose votes `human` are, `of_people` whether
    that is people; `command` ranks the same battles again.
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
    weights: FloatArray | None = None
    length: FloatArray | None = None
    style: FloatArray | None = None
    control: tuple[str, ...] = ()
    style_kinds: tuple[str, ...] = ()
    failed: NDArray[np.str_] | None = None
    source: str | None = None
    named: str | None = None
    voters: str = "people's votes"
    of_people: bool = True
    command: str = "adjudge rank FILE"
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
        names = (identity.judge for identity in self.identities)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The judges' fingerprints, if the rows have them."""
        prints = (identity.fingerprint for identity in self.identities)
        return tuple(dict.fromkeys(mark for mark in prints if mark is not None))

    def __len__(self) -> int:
        return len(self.a)

    def count_lost(self, lost: BoolArray, reason: str) -> dict[str, int]:
        """The battles without a judge's answer, by their status; `reason` for all others."""
        if self.failed is None:
            return {reason: int(lost.sum())}
        statuses, counts = np.unique(self.failed[lost], return_counts=True)
        reasons = [f"status {status}" if status else reason for status in statuses.tolist()]
        return dict(zip(reasons, counts.tolist(), strict=True))

    def take(self, rows: BoolArray | IntArray) -> Battles:
        """The battles at `rows` (a mask or positions), among the same models."""
        taken: dict[str, Any] = {
            name: value[rows] for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        return replace(self, **taken)


def prepare_battles(
    battles: TableLike | Source | Battles,
    *,
    format: str | None = None,
    baseline: str | None = None,
    human: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    cluster: str | None = "auto",
    by: str | None = None,
    against: str | None = None,
    control: Sequence[str] | None = None,
    model_labels: bool = False,
    jury: bool = False,
    **reading: Unpack[Reading],
) -> Battles:
    """Read and code battles once; several analyses can then use the same object.

    Options as in `rank`, which accepts the result instead of a file. Prepared battles are returned
    unchanged, and their columns cannot be named again.

    >>> battles = prepare_battles({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    >>> battles.names, battles.human.tolist(), battles.source
    (('x', 'y'), [0.5], None)
    """
    source = Source.of(battles, **reading)
    if (done := source.prepared(Battles, prepare_battles, locals())) is not None:
        return done
    control = [control] if isinstance(control, str) else list(dict.fromkeys(control or ()))
    with source:
        columns = [human, verdict, score, cluster, by, against, *source.columns.values()]
        columns += style_columns(control)
        source.narrow(Needs(("battles",), columns, texts=True))
        # A column that is named as the judge's, or as people's, is not also taken for the other's.
        roles = {"verdict": verdict, "score": score, "human": human}
        as_is = {role: column for role, column in roles.items() if column is not None}
        reader: dict[str, Any] = {"votes_required": False, "as_is": as_is}
        table = source.open("battles", format, baseline=baseline, **reader)
        words = labels_as_of(source.rows)
    frame = read_verdicts(table.frame, (human, verdict, against), table.name, words)
    if jury:
        refuse_unnamed_members(frame)
    apart = [name for name in ("judge", by, against) if name is not None]
    rows = leave_out_repeats(Rows(frame, table.dropped), table.name, apart=apart)
    rows = first_repeats(rows)
    judged = None
    if jury:
        check_judges(rows.frame, table.name, measure="board", apart=apart, groups=["judge"])
        rows, judged = gather_jury(rows, verdict=verdict, score=score, labels_as=words)
    votes = human or next((c for c in _HUMAN if c in rows.frame.columns and c != verdict), None)
    taken = take_labels(rows, votes, table.name, model_labels=model_labels)
    rows = taken.rows
    if not jury and judged_columns(rows.frame, verdict=verdict, score=score, votes=votes):
        apart = [column for column in (by, against) if column is not None]
        check_judges(rows.frame, table.name, measure="board", apart=apart)
    options: dict[str, Any] = {"cluster": cluster, "by": by, "against": against}
    options |= {"control": control or None, **roles}
    coded = code_battles(rows.frame, judged=judged, **options, labels_as=words, unread=rows.dropped)
    command = ["adjudge", "rank", source.name if isinstance(source.data, Handle) else "FILE"]
    spelled = {"format": format, "human": human, "verdict": verdict, "score": score}
    command += [part for name, value in spelled.items() if value for part in (f"--{name}", value)]
    for ours, theirs in source.columns.items():
        command += ["--column", f"{ours}={theirs}"]
    here = source.data.first or {} if isinstance(source.data, Handle) else {}
    if votes is not None and human is None and votes not in here:
        usual = {*map(bare_name, ("human_pref", *usual_names(votes, "battles")))}
        named = source.columns.get(votes)
        theirs = next((name for name in here if name == named or bare_name(name) in usual), votes)
        coded = replace(coded, voters=coded.voters.replace(f" in {votes}", f" in {theirs}"))
    if taken.makers:
        coded = replace(coded, voters="labels that a model made", of_people=False)
    command += ["--control", ",".join(coded.control)] * bool(coded.control)
    return replace(coded, warnings=(*taken.makers, *coded.warnings), command=shlex.join(command))


def judged_columns(
    frame: pl.DataFrame, *, verdict: str | None, score: str | None, votes: str | None
) -> list[str]:
    """The columns with answers of a judge, not votes: `judge` can also name people who voted."""
    answers = (verdict, score, *BATTLE_COLUMNS.answers)
    return [name for name in answers if name in frame.columns and name != votes]


def read_verdicts(
    frame: pl.DataFrame, named: Sequence[str | None], source: str, labels_as: Mapping[str, str]
) -> pl.DataFrame:
    """The named and the usual columns of verdicts as A, B and tie; they can name the models too.

    >>> rows = pl.DataFrame({"model_a": ["x"], "model_b": ["y"], "judge_winner": ["y"]})
    >>> read_verdicts(rows, (), "rows", {})["judge_winner"].to_list()
    ['B']
    """
    models = as_text(frame["model_a"]), as_text(frame["model_b"])
    for column in dict.fromkeys((*named, *VERDICT_COLUMNS)):
        if column not in frame.columns or frame.schema[column] != pl.String:
            continue
        remedy = "use A, B, tie or the winner's name, or leave it empty"
        verdicts = read_choices(
            frame[column], PAIR, VERDICTS, labels_as, models, source=source, remedy=remedy
        )
        frame = frame.with_columns(verdicts)
    return frame


def code_battles(
    frame: pl.DataFrame,
    *,
    human: str | None = None,
    verdict: str | None = None,
    score: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    against: str | None = None,
    control: Sequence[str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    unread: Mapping[str, int] | None = None,
    judged: JudgeScores | None = None,
) -> Battles:
    """Coded battles from a frame that was read; options as in `prepare_battles`.

    `human`, `verdict` and `score` name columns; without them the usual names are used. `judged` has
    a jury's answers instead. Rows without both names and battles of a model with itself are left
    out and counted.

    >>> columns = {"model_a": ["x", "y"], "model_b": ["y", "y"], "winner": ["tie", "tie"]}
    >>> battles = code_battles(pl.DataFrame(columns))
    >>> len(battles), battles.dropped, battles.source
    (1, {'battle of a model with itself': 1}, None)
    """
    for side in ("model_a", "model_b"):
        if side not in frame.columns:
            raise DataError("battles", "is missing", column=side, remedy="give model_a, model_b")
    other = None if against == "votes" else against
    _refuse_absent(frame, human=human, verdict=verdict, score=score, against=other)
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
    if judged is None:
        judged = judge_scores(
            frame, verdict=verdict, score=score, exclude=votes, labels_as=labels_as
        )
    doubted = spelled_alike(names)
    voters = f"people's votes in {votes}"
    of_people = True
    if y is not None and votes != human and judged.source is None and has_values(frame, "judge"):
        voters, of_people = _who_voted(frame, str(votes))
        if not of_people:
            doubted.append(
                "the file names a judge without verdicts, so its winners are that judge's: if "
                f"people gave them, add --human {votes} (human=)"
            )
    wins = y if judged.verdict is None else judged.verdict
    alike = () if wins is None else same_answers(frame, wins)
    column = cluster_column(frame, cluster)
    groups = group_codes = None
    if by == "difficulty" and by not in frame.columns:
        groups, group_codes = DIFFICULTIES, _grade_difficulty(frame, judged.score)
    elif by is not None:
        groups, group_codes = code_sorted(text_column(frame, by, "by"))
    style = None
    kinds: tuple[str, ...] = ()
    without_style = np.zeros(len(a), dtype=bool)
    if control:
        style, kinds = style_differences(frame, control, "battles")
        without_style |= ~np.isfinite(style).all(axis=1)
    out = nameless | itself | without_style
    unnamed_style = without_style & ~nameless & ~itself
    coded = Battles(
        names=names,
        a=a,
        b=b,
        human=y,
        verdict=judged.verdict,
        score=judged.score,
        panel=judged.panel,
        other=second,
        prompts=None if column is None else code_clusters(frame[column]),
        cluster=column,
        by=by,
        groups=groups,
        group_codes=group_codes,
        length=length_differences(frame, "battles"),
        style=style if control else None,
        control=tuple(control or ()),
        style_kinds=kinds,
        failed=_failed_status(frame),
        source=judged.source,
        named=verdict,
        voters=voters,
        of_people=of_people,
        identities=judged.identities or tuple(identities(frame)),
        dropped=merge_dropped(
            unread or {},
            {
                "a model's name is missing": int(nameless.sum()),
                "battle of a model with itself": int(itself.sum()),
                f"no {' or '.join(control or ())}": int(unnamed_style.sum()),
            },
        ),
        warnings=(*judged.warnings, *doubted, *map(describe_same_answer, alike)),
    )
    return coded.take(~out) if out.any() else coded


def _refuse_absent(frame: pl.DataFrame, **named: str | None) -> None:
    """Refuse an option that names a column that is not there."""
    for option, column in named.items():
        if column is not None and column not in frame.columns:
            here = ", ".join(columns_here(frame.columns))
            raise ArgumentError(option, column, f"choose a column: {here}")


def _failed_status(frame: pl.DataFrame) -> NDArray[np.str_] | None:
    """The status of each battle that the judge failed, and "" of the others."""
    if "status" not in frame.columns:
        return None
    status = frame["status"].fill_null("").replace(dict.fromkeys(MEASURED, ""))
    return status.to_numpy().astype(np.str_)


def _who_voted(frame: pl.DataFrame, votes: str) -> tuple[str, bool]:
    """Who gave the votes, by a column of judges without verdicts, and whether all are people."""
    judges = as_text(frame["judge"]).drop_nulls().unique().sort().to_list()
    more = f" and {len(judges) - 3} more" if len(judges) > 3 else ""
    voters = f"the {votes} that {', '.join(judges[:3])}{more} gave"
    return voters, all(_PERSON.match(name) for name in judges)


#: Thirds of the prompts, by how far apart the judge scores their answers.
DIFFICULTIES: tuple[str, ...] = ("easy", "medium", "hard")


def _grade_difficulty(frame: pl.DataFrame, score: FloatArray | None) -> IntArray:
    """Third of each battle's prompt by its mean |s|: prompts with close answers are hard.

    It does not use votes, so quantiles within a third keep their promise.
    """
    if score is None:
        remedy = "give judge scores, or a column difficulty"
        raise ArgumentError("by", "difficulty", remedy)
    named = "prompt_id" in frame.columns
    prompts = frame["prompt_id"] if named else pl.int_range(frame.height, eager=True)
    code = np.unique(as_text(prompts).fill_null("").to_numpy(), return_inverse=True)[1]
    size = np.where(np.isfinite(score), np.abs(score), 0.0)
    scored = np.bincount(code, weights=np.isfinite(score))
    mean = np.bincount(code, weights=size) / np.maximum(scored, 1)
    third = np.empty(len(mean), dtype=np.int64)
    third[np.argsort(-mean, kind="stable")] = np.arange(len(mean)) * 3 // len(mean)
    return third[code]


def refuse_unnamed_members(frame: pl.DataFrame) -> None:
    """Refuse rows of a jury that do not name their battle and their judge."""
    for column in ("id", "judge"):
        if column not in frame.columns or frame[column].null_count():
            remedy = "give every row its battle's id and its judge's name"
            raise DataError("battles", "is missing", column=column, remedy=remedy)


def gather_jury(
    rows: Rows,
    *,
    verdict: str | None = None,
    score: str | None = None,
    labels_as: Mapping[str, str] | None = None,
) -> tuple[Rows, JudgeScores]:
    """The battles that every judge of the file scored, once each, and the judges' answers.

    Rows of one battle have the same `id`. The jury's side is that of most of its members. Its score
    is the mean of theirs, each divided by that judge's mean |s|. This is a simple scale, which
    `soft-elo` replaces by temperatures fitted to votes.
    """
    refuse_unnamed_members(rows.frame)
    _refuse_absent(rows.frame, verdict=verdict, score=score)
    # A member answers a battle once, by whatever protocol and in whatever order it was asked.
    rows = leave_out_repeats(rows, "battles", usual=(), apart=["judge"])
    frame = rows.frame.with_columns(as_text(rows.frame["judge"]), as_text(rows.frame["id"]))
    judges = frame["judge"].unique().sort().to_list()
    if len(judges) < 2:
        remedy = "add rows of another judge"
        problem = "a jury needs two judges or more"
        raise DataError("battles", problem, column="judge", remedy=remedy)
    whole = frame.filter(pl.len().over("id") == len(judges))
    parts = [whole.filter(pl.col("judge") == judge).sort("id") for judge in judges]
    members = [
        judge_scores(part, verdict=verdict, score=score, exclude=None, labels_as=labels_as)
        for part in parts
    ]
    if any(member.score is None for member in members):
        raise DataError("battles", "has no scores", remedy="give judge scores or verdicts")
    panel = np.column_stack([np.asarray(member.score) for member in members])
    sides = np.column_stack([np.asarray(member.verdict) for member in members])
    scored = np.isfinite(panel).all(axis=1)
    panel = panel[scored]
    sides = np.sign(sides[scored] - 0.5).sum(axis=1)
    sizes = np.abs(panel).mean(axis=0) if len(panel) else np.ones(len(judges))
    incomplete = frame["id"].n_unique() - len(panel)
    lost = {"not scored by every judge of the jury": incomplete}
    warnings = dict.fromkeys(text for member in members for text in member.warnings)
    jury = JudgeScores(
        score=(panel / np.where(sizes > 0, sizes, 1.0)).mean(axis=1),
        verdict=np.sign(sides) / 2 + 0.5,
        source=f"jury of {count(len(judges), 'judge')}",
        warnings=tuple(warnings),
        panel=panel,
        identities=tuple(identities(part)[0] for part in parts),
    )
    return Rows(parts[0].filter(scored), merge_dropped(rows.dropped, lost)), jury
