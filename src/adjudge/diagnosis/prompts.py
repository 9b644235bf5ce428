"""Prompt sensitivity: how often a judge's answers change with another wording of the prompt.

The diagnosis paper leaves it to future work (section 7). Two files, the same rows, two prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import numpy as np
import polars as pl

from adjudge.data import kinds_of, sniff
from adjudge.data.names import LOG, shorten
from adjudge.data.rows import (
    DEFAULT_CLUSTERS,
    Rows,
    add_absent,
    cluster_column,
    judge_names,
    measured,
    merge_dropped,
)
from adjudge.data.scores import open_scores
from adjudge.data.source import Reading, Source
from adjudge.data.tables import TableLike, as_text, first_row, source_name
from adjudge.data.tournaments import open_tournaments
from adjudge.data.verdicts import prepare_verdicts
from adjudge.diagnosis.measures import (
    CLUSTERED,
    FLOOR,
    Sample,
    Sampling,
    excludes,
    left_out_together,
    lines_of,
    mean_or_none,
    name_group,
    shows,
    table_of_groups,
)
from adjudge.errors import ArgumentError, DataError
from adjudge.present import text
from adjudge.present.blocks import Block, Columns, Fact, Figure, Headline, Note, notes_of
from adjudge.present.figure import ForestRow, axis_name, forest_figure
from adjudge.present.result import (
    Check,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
    not_empty,
)
from adjudge.records import HasInterval, Interval
from adjudge.validation import non_negative, open_unit, same_length

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

#: The kind of the answers.
Answers = Literal["verdicts", "scores"]


@dataclass(frozen=True, kw_only=True)
class PromptChange(HasInterval):
    """One judge and criterion, on the rows that both prompts were asked about.

    `changed` is the probability that an answer to one prompt differs from an answer to the other.
    `again` is the same for two answers to one prompt, the mean of both, if each was asked more than
    once; `excess` is what the prompt adds to it. `shift` is the mean of second minus first, of
    scores.
    """

    judge: str | None
    criterion: str | None
    n: Count
    clusters: Count
    changed: Proportion
    interval: Interval | None
    repeated: Count
    again: Proportion | None
    excess: float | None
    excess_interval: Interval | None
    shift: float | None
    shift_interval: Interval | None
    #: Whether the prompt has a significant effect: more than a repeat, or on the mean score.
    more_than_again: bool
    shifted: bool


@frozen
class PromptSensitivity(Result):
    """Two prompts, the same rows: how often verdicts or scores change."""

    kind: ClassVar[str] = "prompt_sensitivity"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("groups"),)
    first: str
    second: str
    answers: Answers
    groups: tuple[PromptChange, ...]
    clustered_by: str
    floor: NotNegative
    confidence_level: Level
    dropped: Mapping[str, Count]
    assumptions: tuple[str, ...]

    def view(self) -> list[Block]:
        return view_prompts(self)


_ASSUMPTIONS = (CLUSTERED, "one judge answered both prompts with the same settings")


def diagnose_prompts(
    first: TableLike,
    second: TableLike,
    *,
    cluster: str | None = None,
    floor: float = FLOOR,
    confidence_level: float = 0.95,
    **reading: Unpack[Reading],
) -> PromptSensitivity:
    """How often verdicts or scores change between two prompts, per judge and criterion.

    With repeats in both (`judge --repeats`), the result also has how often the judge changes when
    it is asked again with the same prompt, and what the prompt adds to that.

    Args:
        first: Scores, judgments or tournaments of a judge with one prompt. A path or a frame.
        second: The same rows with another prompt. A path or a frame.
        cluster: Column of rows that belong together. Default: doc_id, else prompt_id, else every
            row is a cluster.
        floor: A smaller effect of the prompt does not count. However significant it is.
        confidence_level: Level of all intervals.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    >>> rows = {"id": list("abcd"), "judge": ["j"] * 4, "verdict": ["A", "B", "A", "B"]}
    >>> done = diagnose_prompts(rows, {**rows, "verdict": ["A", "B", "B", "B"]})
    >>> done.groups[0].changed, done.groups[0].again
    (0.25, None)
    """
    open_unit(confidence_level, "confidence_level")
    non_negative(floor, "floor")
    rows = prepare_prompts(first, second, cluster=cluster, **reading)
    groups = rows.frame.partition_by(["judge", "criterion"], as_dict=True, maintain_order=True)
    changes = []
    for (judge, criterion), group in groups.items():
        answers = group["first"].to_list(), group["second"].to_list()
        change = prompt_change(
            *answers,
            scored=rows.answers == "scores",
            judge=str(judge) if judge else None,
            criterion=None if criterion is None else str(criterion),
            clusters=group["cluster"].to_list(),
            floor=floor,
            confidence_level=confidence_level,
        )
        changes.append(change)
    return PromptSensitivity(
        first=source_name(first),
        second=source_name(second),
        answers=rows.answers,
        groups=tuple(changes),
        clustered_by=rows.cluster,
        floor=floor,
        confidence_level=confidence_level,
        dropped=rows.dropped,
        assumptions=_ASSUMPTIONS,
    )


# --- rows ------------------------------------------------------------------------------------

_KEY = ("judge", "criterion", "key")
_ASK_BOTH = (
    "ask one judge about the same rows with both prompts; two judges with labels: "
    "adjudge compare FIRST SECOND --judges"
)
_COMPARE = "to compare judges, put their rows into one file: adjudge compare FILE --judges"


@dataclass(frozen=True)
class PromptRows:
    """Rows with judge, criterion, key, cluster; the column of clusters; what was left out.

    Of one file, a row has an `answer`, a verdict as text (no verdict as "") or a score. Of both
    files, `first` and `second` list the answers of a question to each prompt, one per repeat.
    """

    frame: pl.DataFrame
    answers: Answers
    cluster: str
    dropped: Mapping[str, int]


def prepare_prompts(
    first: TableLike,
    second: TableLike,
    *,
    cluster: str | None = None,
    **reading: Unpack[Reading],
) -> PromptRows:
    """Two files of scores, judgments or tournaments, matched by judge, criterion and row.

    Rows of scores match by document and model, else by id; verdicts match by id, or by document
    and models. Without `cluster`, rows of one doc_id, else prompt_id, are alike.

    >>> rows = {"id": ["x", "y"], "judge": ["j", "j"], "verdict": ["A", "B"]}
    >>> both = prepare_prompts(rows, {**rows, "verdict": ["A", "A"]})
    >>> both.frame.select("first", "second").rows()
    [(['A'], ['A']), (['B'], ['A'])]
    """
    names = (source_name(first), source_name(second))
    sides = []
    for table in (first, second):
        with Source(table, **reading) as source:
            sides.append(_read_answers(source.rows, cluster))
    if sides[0].answers != sides[1].answers:
        problem = f"has {sides[1].answers}, but {names[0]} has {sides[0].answers}"
        raise DataError(names[1], problem, remedy=_ASK_BOTH)
    questions = [side.frame.group_by(*_KEY, maintain_order=True) for side in sides]
    of_first = questions[0].agg(pl.col("cluster").first(), first="answer")
    of_second = questions[1].agg(second="answer")
    both = of_first.join(of_second, on=_KEY, nulls_equal=True, maintain_order="left").sort(_KEY)
    if both.is_empty():
        problem = f"no row matches one of {names[0]}, by judge, criterion and id"
        judges = [{name or "an unnamed judge" for name in side.frame["judge"]} for side in sides]
        if judges[0].isdisjoint(judges[1]):
            listed = [", ".join(sorted(side)) for side in judges]
            problem = f"has answers of {listed[1]}, but {names[0]} has those of {listed[0]}"
            raise DataError(names[1], problem, remedy=_COMPARE)
        raise DataError(names[1], problem, remedy=_ASK_BOTH)
    _remark_judges(names, sides)
    dropped = merge_dropped(
        *(side.dropped for side in sides),
        {"row only in the first file": of_first.height - both.height},
        {"row only in the second file": of_second.height - both.height},
    )
    return replace(sides[0], frame=both, dropped=dropped)


def _remark_judges(names: tuple[str, str], sides: Sequence[PromptRows]) -> None:
    """Name judges that answered one prompt alone: their rows are not compared."""
    judges = [{*side.frame["judge"].drop_nulls()} for side in sides]
    for at, other in ((0, 1), (1, 0)):
        alone = sorted(judges[at] - judges[other])
        if alone:
            listed = shorten(alone, 5)
            message = "%s: warning: only this file has rows of %s: they are not compared"
            LOG.warning(message, names[at], listed)


def _read_answers(table: TableLike, cluster: str | None) -> PromptRows:
    kinds = kinds_of(sniff(table))
    answers: Answers = "scores" if "scores" in kinds else "verdicts"
    if answers == "scores":
        opened = open_scores(table)
        frame = opened.frame
        key = pl.concat_str("doc_id", pl.coalesce("model", "id"), separator="\x1f")
        answer = pl.col("judge_score")
    elif "tournaments" in kinds and "id" not in (first_row(table) or ()):
        opened = open_tournaments(table)
        frame = judge_names(opened.frame)
        names = ["doc_id", "model_a", "model_b", *(c for c in ("order",) if c in frame.columns)]
        key = pl.concat_str(names, separator="\x1f", ignore_nulls=True)
    else:
        opened = prepare_verdicts(table).repeats
        frame = opened.frame
        key = pl.col("id")
    if answers == "verdicts":
        # A judge that was asked and has no verdict (p_a = 1/2) still gave an answer.
        answered = pl.col("verdict").is_not_null()
        if "p_a" in frame.columns:
            answered = answered | pl.col("p_a").is_not_null()
        answer = pl.when(answered).then(pl.col("verdict").fill_null(""))
    default = next((c for c in ("doc_id", *DEFAULT_CLUSTERS) if c in frame.columns), None)
    column = default if cluster is None else cluster_column(frame, cluster) or default
    frame = add_absent(frame, ["criterion", "status"])
    clusters = key if column is None else pl.coalesce(as_text(frame[column]), key)
    rows = frame.select(
        as_text(frame["judge"]),
        as_text(frame["criterion"]),
        key.alias("key"),
        pl.col("status"),
        cluster=clusters,
        answer=answer,
    )
    no_answer = pl.col("answer").is_null()
    used = measured(Rows(rows, opened.dropped), without=no_answer).without(no_answer, "no answer")
    return PromptRows(used.frame, answers, column or "id", used.dropped)


# --- numbers ---------------------------------------------------------------------------------


def prompt_change(
    first: Sequence[Sequence[Any]],
    second: Sequence[Sequence[Any]],
    *,
    scored: bool = False,
    judge: str | None = None,
    criterion: str | None = None,
    **sampling: Unpack[Sampling],
) -> PromptChange:
    """The answers of each row to both prompts, with all repeats; with `scored` they are scores.

    With shares p_v and q_v of the answers v, a row changes with probability 1 - sum p_v q_v. Asked
    again with the same prompt it changes with 1 - sum p_v^2 (and q), estimated without bias from
    two or more answers. The former minus the mean of the latter is sum (p_v - q_v)^2 / 2, which is
    0 if the prompt has no effect.

    >>> again = prompt_change([["A", "A"], ["A", "B"]], [["B", "B"], ["A", "B"]])
    >>> again.changed, again.again, again.excess
    (0.75, 0.5, 0.25)
    """
    n = same_length(first=first, second=second)
    if n == 0 or not all(map(len, (*first, *second))):
        raise ArgumentError("first", f"{n} rows", "give an answer to both prompts for every row")
    rows = Sample.of(n, **sampling)
    tallies = [(Counter(a), Counter(b)) for a, b in zip(first, second, strict=True)]
    changed = np.array([_change(a, b) for a, b in tallies])
    repeated = np.array([min(a.total(), b.total()) > 1 for a, b in tallies])
    twice = [pair for pair in tallies if min(map(Counter.total, pair)) > 1]
    again = np.array([(_change_again(a) + _change_again(b)) / 2 for a, b in twice])
    excess = shift = None
    excess_ends: Interval | None = None
    shift_ends: Interval | None = None
    if len(again):
        gap = changed[repeated] - again
        excess = float(gap.mean())
        excess_ends = rows.only(repeated).mean_interval(gap)
    if scored:
        before = np.array([np.mean(scores) for scores in first])
        after = np.array([np.mean(scores) for scores in second])
        shift = float((after - before).mean())
        most = float(np.ptp([score for side in (first, second) for row in side for score in row]))
        shift_ends = rows.mean_interval(after - before, -most, most)
    adds = (excess or 0.0) > 0 and shows(excess, excess_ends, 0, rows.floor)
    return PromptChange(
        judge=judge,
        criterion=criterion,
        n=n,
        clusters=rows.facts["clusters"],
        changed=float(changed.mean()),
        interval=rows.share_interval(changed),
        repeated=int(repeated.sum()),
        again=mean_or_none(again),
        excess=excess,
        excess_interval=excess_ends,
        shift=shift,
        shift_interval=shift_ends,
        more_than_again=adds,
        shifted=excludes(shift_ends, 0.0) and bool(shift),
    )


def _change(a: Counter[Any], b: Counter[Any]) -> float:
    """The probability that an answer to one prompt differs from one to the other."""
    return 1 - sum(a[answer] * b[answer] for answer in a) / (a.total() * b.total())


def _change_again(answers: Counter[Any]) -> float:
    """The probability that two different answers of one row differ."""
    k = answers.total()
    return 1 - sum(times * (times - 1) for times in answers.values()) / (k * (k - 1))


# --- view and figure -------------------------------------------------------------------------


def view_prompts(result: PromptSensitivity) -> list[Block]:
    """How often answers change, what asking again explains, and in which direction."""
    groups = result.groups
    ends = f"{text.level(result.confidence_level)} interval"
    again = any(g.again is not None for g in groups)

    tables: dict[str, Columns[PromptChange]] = {
        f"{result.answers.capitalize()} that differ between the two prompts": {
            "rows": lambda g: text.number(g.n),
            result.clustered_by: lambda g: text.number(g.clusters),
            "changed": lambda g: text.percent(g.changed),
            ends: lambda g: text.percent_interval(g.interval),
        }
    }
    if again:
        tables["What asking again with the same prompt changes, and what the new prompt adds"] = {
            "asked twice": lambda g: text.number(g.repeated),
            "same prompt, asked again": lambda g: text.percent(g.again),
            "prompt adds": lambda g: text.percent(g.excess),
            ends: lambda g: text.percent_interval(g.excess_interval),
        }
    if any(g.shift is not None for g in groups):
        tables["Mean score"] = {
            "second minus first": lambda g: text.signed(g.shift, 2),
            ends: lambda g: text.show_interval(g.shift_interval, 2),
        }
    lines = [f"first: {result.first}; second: {result.second}"]
    if not any(g.repeated for g in groups):
        lines.append("asked once each: a part can be chance, which judge --repeats 3 measures")
    facts = [
        Fact(
            name_group(group),
            f"{text.percent(group.changed)} {text.percent_interval(group.interval)}",
            _describe_effect(group),
        )
        for group in groups
    ]
    caption = "Answers that change with the prompt"
    caption += ", and (rings) when the same prompt is asked again." if again else "."
    lines += left_out_together(result.dropped)
    blocks: list[Block] = [_prompts_headline(result), *lines_of(facts), Note(lines)]
    blocks += [table_of_groups(groups, columns, table) for table, columns in tables.items()]
    blocks += notes_of(result.assumptions, detail=True)
    return [*blocks, Figure("changes", partial(prompts_figure, result), caption)]


def _changed_range(result: PromptSensitivity) -> str:
    shares = [group.changed for group in result.groups]
    shown = text.span(text.percent(min(shares)), text.percent(max(shares)))
    return f"{shown} of {result.answers} change with the prompt"


def _prompts_headline(result: PromptSensitivity) -> Headline:
    tested = [g for g in result.groups if g.excess is not None or g.shift is not None]
    matter = sum(group.more_than_again or group.shifted for group in tested)
    if not tested:
        finding = "; asked once, so part of it can be the judge's randomness"
    elif len(tested) == 1:
        finding = ": the prompt matters" if matter else ": the prompt is not shown to matter"
    else:
        finding = f": it is shown to matter for {matter} of {len(tested)} judges and criteria"
    text = _changed_range(result) + finding
    return Headline(text, tone="bad" if matter else "plain", decision=text)


def _describe_effect(group: PromptChange) -> str:
    """What the prompt adds to asking again, how it moves scores, and whether that is shown."""
    effects = []
    if group.excess is not None:
        shown = "" if group.more_than_again else " (can be chance)"
        effects.append(f"{text.signed(100 * group.excess, 1)} points over asking again{shown}")
    if group.shift is not None:
        shown = "" if group.shifted else " (can be chance)"
        effects.append(f"mean score {text.signed(group.shift, 2)}{shown}")
    return ", ".join(effects)


def prompts_figure(result: PromptSensitivity) -> Drawing:
    """A dot with its interval for each judge and criterion, a ring if it was asked again."""
    rows = [
        ForestRow(
            "\n".join(filter(None, (axis_name(g.judge), axis_name(g.criterion)))) or "all rows",
            g.changed,
            g.interval,
            g.again,
        )
        for g in result.groups
    ]
    ends = f"{text.level(result.confidence_level)} interval"
    return forest_figure(
        rows,
        title=_changed_range(result),
        axis=f"{result.answers} that change, %, with {ends}",
        dot="other prompt",
        ring="same prompt, asked again",
    )
