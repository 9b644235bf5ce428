"""What the diagnosis of scores returns and shows: coverage, size, advice, what width indicates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import ClassVar

from adjudge.diagnosis.agreement import MANY_ROWS, Agreement
from adjudge.diagnosis.family import FamilyScores
from adjudge.diagnosis.measures import (
    left_out_together,
    lines_of,
    name_group,
    table_of_groups,
)
from adjudge.diagnosis.scores.figures import (
    agreement_figure,
    coverage_figure,
    sizes_figure,
    width_figure,
)
from adjudge.diagnosis.scores.nonconformity import fewest_documents
from adjudge.present.blocks import Block, Columns, Fact, Figure, Headline, Table, notes_of, table_of
from adjudge.present.figure import unique
from adjudge.present.result import (
    Check,
    Correlation,
    Count,
    Level,
    NotNegative,
    Proportion,
    Result,
    frozen,
    not_empty,
)
from adjudge.present.text import (
    DASH,
    begin,
    clip,
    group_name,
    level,
    number,
    percent,
    show_interval,
    signed,
    span,
)
from adjudge.records import HasInterval, Interval
from adjudge.statistics.numbers import mean_known

#: The coverage of fewer rows with one human score is not worth a sentence.
_FEW_ROWS = 10
#: Sets of scores in random order differ by about so much from one order to another.
_LEAST_GAIN = 0.02


@dataclass(frozen=True, kw_only=True)
class MeanScore(HasInterval):
    """The judge's and people's mean on labelled rows: of all criteria and models, or of one.

    `difference` is the judge's mean minus people's, `interval` its interval over documents.
    """

    judge: str | None
    criterion: str | None
    model: str | None
    n: Count
    judge_mean: float
    human_mean: float
    difference: float
    interval: Interval | None

    @property
    def gap(self) -> str:
        """The difference with its interval."""
        return f"{signed(self.difference, 2)} {show_interval(self.interval, 2)}"


@dataclass(frozen=True, kw_only=True)
class WidthBin(HasInterval):
    """Rows whose set has this many scores, and the judge's mean error on them."""

    width: Count
    n: Count
    mean_error: float
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class SizeErrors(HasInterval):
    """The judge's mean error on rows with one or two scores in their set, and on the others.

    The interval is of the difference, over documents.
    """

    small: NotNegative | None = None
    large: NotNegative | None = None
    interval: Interval | None = None

    @property
    def tells(self) -> bool | None:
        """Whether small sets are shown to have smaller errors; None if one side has no row."""
        if self.small is None or self.large is None:
            return None
        return self.low is not None and self.low > 0


@dataclass(frozen=True, kw_only=True)
class ScoreCoverage:
    """How often sets contain people's score on the rows with this one, on held-out documents."""

    score: int
    n: Count
    coverage: Proportion


@dataclass(frozen=True, kw_only=True)
class ScoreSetGroup:
    """One judge, criterion, method and alpha; means over the splits by document.

    `quantile` is calibrated on all labelled documents; None if a method has none or several.
    `whole_scale`: too few documents are labelled for this alpha, so every set is the entire scale.
    `trust`, `look` and `human` are the paper's advice, by size alone; `inside` is the share of rows
    with one or two scores in their set of which the judge's is one. `shuffled_size` is the mean
    size of learned sets of the same scores in random order.
    """

    judge: str | None
    criterion: str | None
    method: str
    alpha: Level
    n: Count
    documents: Count
    coverage: Proportion
    coverage_sd: NotNegative
    mean_size: NotNegative
    spearman: Correlation | None
    quantile: float | None
    whole_scale: bool
    trust: Proportion
    look: Proportion
    human: Proportion
    by_width: tuple[WidthBin, ...] = field(repr=False)
    errors: SizeErrors = SizeErrors()
    by_score: tuple[ScoreCoverage, ...] = field(default=(), repr=False)
    inside: Proportion | None = None
    shuffled_size: NotNegative | None = None

    @property
    def pays(self) -> bool:
        """Whether the judge's scores make sets smaller than the same scores in random order."""
        least = (1 - _LEAST_GAIN) * (self.shuffled_size or math.inf)
        return self.mean_size < least


@dataclass(frozen=True, kw_only=True)
class WidthAgreement:
    """Spearman correlation of the set widths that two judges give to the same rows."""

    judge_a: str
    judge_b: str
    criterion: str | None
    method: str
    alpha: Level
    n: Count
    spearman: Correlation | None


@dataclass(frozen=True, kw_only=True)
class HumanAgreement:
    """Agreement of one judge's scores with people on one criterion."""

    judge: str | None
    criterion: str | None
    agreement: Agreement


@frozen
class ScoreDiagnosis(Result):
    """The distance of human scores from the judge's, and what the width of a set indicates.

    `sets` is the kind of set that the diagnosis is about: learned, cross-fitted, residual or
    adaptive; other methods are for comparison. `documents` counts the labelled ones. `agreement`,
    of the widths of two judges, is at one level.
    """

    kind: ClassVar[str] = "score_diagnosis"
    rows_in: ClassVar[str] = "groups"
    checks: ClassVar[tuple[Check, ...]] = (not_empty("groups"),)
    groups: tuple[ScoreSetGroup, ...]
    agreement: tuple[WidthAgreement, ...]
    human_agreement: tuple[HumanAgreement, ...]
    family: tuple[FamilyScores, ...]
    documents: Count
    scale: tuple[int, int]
    target: str
    splits: Count
    confidence_level: Level
    seed: Count | None
    dropped: Mapping[str, Count]
    assumptions: tuple[str, ...]
    sets: str = "residual"
    means: tuple[MeanScore, ...] = ()

    @property
    def methods(self) -> list[str]:
        """The methods with a promise for each criterion, the main one first."""
        methods = list(dict.fromkeys(group.method for group in self.groups))
        if "per-criterion" in methods:
            methods = [name for name in methods if name != "constant"]
        return sorted(methods, key=lambda name: name != self.sets)

    @property
    def main_method(self) -> str:
        """The method to read first."""
        return self.methods[0]

    @property
    def main_alpha(self) -> float:
        """The paper's level 0.1 if it was requested, else the first."""
        levels = [group.alpha for group in self.groups]
        return 0.1 if 0.1 in levels else levels[0]

    @property
    def main_groups(self) -> list[ScoreSetGroup]:
        """The groups of the main method at the main level."""
        key = self.main_method, self.main_alpha
        return [group for group in self.groups if (group.method, group.alpha) == key]

    def trusts(self, group: ScoreSetGroup) -> bool | None:
        """Whether small sets have smaller errors, and the judge agrees with people above chance.

        None if the group has no small sets, or only these.
        """
        intervals = [
            h.agreement.kappa_interval
            for h in self.human_agreement
            if (h.judge, h.criterion) == (group.judge, group.criterion)
        ]
        above_chance = all(ends is not None and (ends.low or 0.0) > 0 for ends in intervals)
        return group.errors.tells and above_chance

    @property
    def size(self) -> int:
        """How many scores the scale has."""
        return self.scale[1] - self.scale[0] + 1

    @property
    def unit(self) -> str:
        """What is exchangeable: a document, or a row if every document has one."""
        return "row" if all(g.n == g.documents for g in self.groups) else "document"

    def view(self) -> list[Block]:
        """The judge's mean next to people's, what sets contain, what their size shows; tables."""
        ends = f"{level(self.confidence_level)} interval"
        lines, more = _remarks(self)
        means: Columns[MeanScore] = {
            "judge, criterion, model": lambda m: group_name(m.judge, m.criterion, m.model),
            "rows": lambda m: number(m.n),
            "judge": lambda m: number(m.judge_mean, 2),
            "people": lambda m: number(m.human_mean, 2),
            "difference": lambda m: signed(m.difference, 2),
            ends: lambda m: show_interval(m.interval, 2),
        }
        caption = "Mean scores on labelled rows"
        if any(m.model is not None for m in self.means):
            caption += "; over all rows, and which system is better: adjudge compare"
        people: Columns[HumanAgreement] = {
            "agree": lambda h: percent(h.agreement.raw),
            "kappa": lambda h: number(h.agreement.kappa, 2),
            ends: lambda h: show_interval(h.agreement.kappa_interval, 2),
            "Krippendorff's alpha": lambda h: number(h.agreement.alpha, 2),
            "two people": lambda h: percent(c.raw if (c := h.agreement.ceiling) else None),
        }
        agreement = table_of_groups(
            self.human_agreement,
            people,
            "Agreement with people (kappa with quadratic weights)",
            optional=("Krippendorff's alpha",),
        )
        lines += left_out_together(self.dropped)
        return [
            *_means_shown(self),
            *notes_of(lines),
            table_of(self.means, means, caption=caption, detail=True),
            *_size_tables(self),
            _small_sets_table(self),
            *_paper_tables(self),
            agreement,
            *notes_of([*more, *self.assumptions], detail=True),
            *_score_figures(self),
        ]


def _means_shown(result: ScoreDiagnosis) -> list[Block]:
    """The means of the judge, or of the lowest and highest; each criterion or judge if they fit."""
    judges = [m for m in result.means if m.criterion is None and m.model is None]
    if not judges:
        return [Headline(_describe_sets(result))]
    of_judges = _range([m.judge_mean for m in judges])
    of_people = _range([m.human_mean for m in judges])
    averages = f"{of_judges} on average and people {of_people}"
    if len(judges) > 1:
        finding = f"{len(judges)} judges score {averages}"
        facts = lines_of([_mean_fact(group_name(m.judge), m, m.gap) for m in judges])
        lines = [] if facts else _extremes("judge", judges)
        return [Headline(finding, decision=finding), *facts, *notes_of(lines)]
    [judge] = judges
    finding = begin(f"{_who(judge.judge)} scores {averages}: {judge.gap}")
    criteria = {m.criterion: m for m in result.means if m.criterion is not None}
    sizes = {g.criterion: number(g.mean_size, 1) for g in result.main_groups}
    facts = lines_of(
        [
            _mean_fact(name, m, f"{m.gap}, one of {sizes.get(name, DASH)} scores")
            for name, m in criteria.items()
        ]
    )
    lines = [] if facts else _extremes("criterion", criteria.values())
    decision = f"judge minus people {judge.gap}"
    return [Headline(finding, decision=decision), *facts, *notes_of(lines)]


def _range(means: Sequence[float]) -> str:
    return span(number(min(means), 2), number(max(means), 2))


def _mean_fact(name: str, mean: MeanScore, note: str) -> Fact:
    return Fact(name, f"{number(mean.judge_mean, 2)}, people {number(mean.human_mean, 2)}", note)


def _extremes(kind: str, means: Iterable[MeanScore]) -> list[str]:
    """The lowest and the highest difference; nothing without two."""
    ordered = sorted(means, key=lambda m: m.difference)
    if len(ordered) < 2:
        return []
    named = [
        f"{signed(m.difference, 2)} ({clip(m.model or m.criterion or m.judge)})" for m in ordered
    ]
    return [f"judge minus people by {kind}: {named[0]} to {named[-1]}"]


def _describe_sets(result: ScoreDiagnosis) -> str:
    """How many scores contain people's score, at which rate."""
    if {g.mean_size for g in result.main_groups} == {float(result.size)}:
        # Half of the documents calibrate; D of them reach 1 - alpha only if D >= (1 - alpha)/alpha.
        needed = fewest_documents(Fraction(str(result.main_alpha)))
        half = result.documents // 2
        why = f": calibration needs {needed} labelled {result.unit}s and has {half}"
        return "every set is the entire scale" + (why if half < needed else "")
    promise = "about" if result.sets == "cross-fitted" else "at least"
    whose = "people's" if result.target == "mean" else "a person's"
    sizes = [g.mean_size for g in result.main_groups]
    of = span(number(min(sizes), 1), number(max(sizes), 1))
    rate = percent(1 - result.main_alpha)
    return f"{promise} {rate} of the time {whose} score is one of {of} scores on average"


def _describe_small_sets(result: ScoreDiagnosis) -> str:
    """Whether rows with one or two scores in their set have smaller errors here."""
    groups = result.main_groups
    compared = [g for g in groups if g.errors.tells is not None]
    tells = [g for g in compared if g.errors.tells]
    trusted = [g for g in compared if result.trusts(g)]
    if not compared:
        small = sum(g.errors.small is not None for g in groups)
        which = {0: "no set", len(groups): "every set"}.get(small, "every set of some groups")
        return f"{which} has 1 or 2 scores: size does not show where the judge errs"
    if len(groups) == 1:
        errors = groups[0].errors
        of_small = number(errors.small, 2)
        of_large = number(errors.large, 2)
        advice = f"trust the {percent(groups[0].inside)} with the judge's score in it"
        if not trusted:
            advice = "agreement with people is not above chance: trust none"
        if not tells:
            advice = "size does not predict it"
        return f"mean error {of_small} if a set has 1 or 2 scores, else {of_large}: {advice}"
    if not tells:
        return "set size is not shown to predict the judge's error: look at every row"
    where = f"smaller errors in {len(tells)} of {len(groups)} groups"
    if len(trusted) < len(tells):
        where += f", with agreement above chance in {len(trusted)}"
    rows = "trust rows there with the judge's score in it"
    return f"1 or 2 scores in a set: {where}; {rows if trusted else 'trust none'}"


def _describe_missed(result: ScoreDiagnosis) -> list[str]:
    """The human score that sets contain least often, if that is far below 1 - alpha.

    It is often that of the answers worth catching.
    """
    cells = [(g, s) for g in result.main_groups for s in g.by_score if s.n >= _FEW_ROWS]
    if not cells:
        return []
    group, least = min(cells, key=lambda cell: cell[1].coverage)
    if least.coverage >= (1 - result.main_alpha) / 2:
        return []
    share = f"{percent(least.coverage)} of {least.n:,} rows"
    return [f"missed: people's {least.score}{_on(result, group)} is in its set in {share}"]


def _on(result: ScoreDiagnosis, group: ScoreSetGroup) -> str:
    return f" on {name_group(group)}" if len(result.main_groups) > 1 else ""


def _describe_who_pays(result: ScoreDiagnosis) -> list[str]:
    """The judges and criteria whose sets are as small with the scores in random order."""
    idle = [g for g in result.main_groups if not g.pays]
    if not idle:
        return []
    first = idle[0]
    sizes = f"{number(first.mean_size, 2)} scores, in random order {number(first.shuffled_size, 2)}"
    more = f", and {len(idle) - 1:,} more" if len(idle) > 1 else ""
    return [f"this judge does not pay{_on(result, first)}: sets of {sizes}{more}"]


def _pivot(
    names: tuple[str, ...], cells: Iterable[tuple[tuple[str, ...], str, str]], caption: str
) -> Table:
    """A folded table of cells, each with the names of its row and column."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for row, column, cell in cells:
        rows.setdefault(row, {})[column] = cell
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    lines = [(*name, *(row.get(column, DASH) for column in columns)) for name, row in rows.items()]
    return Table((*names, *columns), lines, caption, text_columns=len(names), detail=True)


def _size_tables(result: ScoreDiagnosis) -> list[Block]:
    """Two tables for each judge, the main method first: size and coverage at each alpha."""
    ordered = sorted(result.groups, key=lambda g: (g.method != result.main_method, g.alpha))
    low, high = result.scale
    held_out = f"sets that contain people's score, on held-out {result.unit}s"
    cells: Columns[ScoreSetGroup] = {
        f"scores in a set on average, scale {low} to {high}": lambda g: number(g.mean_size, 2),
        held_out: lambda g: percent(g.coverage),
    }
    tables: list[Block] = []
    for judge in sorted({g.judge for g in ordered}, key=lambda name: name or ""):
        groups = [g for g in ordered if g.judge == judge]
        names = [(group_name(g.criterion, none="all"), g.method) for g in groups]
        levels = [f"alpha {g.alpha:g}" for g in groups]
        for caption, cell in cells.items():
            entries = zip(names, levels, map(cell, groups), strict=True)
            tables.append(_pivot(("criterion", "method"), entries, f"{_who(judge)}: {caption}"))
    covered = (
        ((name_group(g),), f"{s.score}", f"{percent(s.coverage)} of {s.n:,}")
        for g in result.main_groups
        for s in g.by_score
    )
    caption = (
        f"Coverage by people's score, {result.main_method} sets at alpha {result.main_alpha:g}"
    )
    tables.append(_pivot(("judge, criterion",), covered, caption))
    without: Columns[ScoreSetGroup] = {
        "scores in a set": lambda g: number(g.mean_size, 2),
        "in random order": lambda g: number(g.shuffled_size, 2),
    }
    sizes = "Mean size of sets, and of learned ones with the judge's scores in random order"
    return [*tables, table_of_groups(result.main_groups, without, sizes)]


def _small_sets_table(result: ScoreDiagnosis) -> Table:
    """Rows by the size of their set, and the judge's error on them."""
    trust = {True: "if inside", False: "no", None: DASH}
    columns: Columns[ScoreSetGroup] = {
        "1 or 2 scores": lambda g: percent(g.trust),
        "judge's inside": lambda g: percent(g.inside),
        "their error": lambda g: number(g.errors.small, 2),
        "error of others": lambda g: number(g.errors.large, 2),
        "entire scale": lambda g: percent(g.human),
        "trust 1 or 2": lambda g: trust[result.trusts(g)],
    }
    caption = f"Rows by size of their {result.main_method} set at alpha {result.main_alpha:g}, and "
    return table_of_groups(result.main_groups, columns, f"{caption}the judge's mean error on them")


def _paper_tables(result: ScoreDiagnosis) -> list[Block]:
    """The diagnosis paper's r_s(w, e), Table 3, and its Table 4, for every method."""
    of_paper = "of the diagnosis paper)"
    alpha = result.main_alpha
    correlations = (
        ((name_group(g),), method, signed(g.spearman, 2))
        for method in result.methods
        for g in result.groups
        if (g.method, g.alpha) == (method, alpha)
    )
    caption = f"Spearman of set size and error at alpha {alpha:g} (Table 3 {of_paper}"
    tables: list[Block] = [_pivot(("judge, criterion",), correlations, caption)]
    for method in result.methods:
        pairs = [a for a in result.agreement if a.method == method]
        names = [(f"{a.judge_a} and {a.judge_b}", a.criterion, a.spearman) for a in pairs]
        for criterion in unique(a.criterion for a in pairs):
            mean = mean_known(a.spearman for a in pairs if a.criterion == criterion)
            names.append(("mean", criterion, mean))
        caption = f"Spearman of two judges' set sizes, {method} (Table 4 {of_paper}"
        cells = [((name,), group_name(c, none="all"), signed(v, 2)) for name, c, v in names]
        tables += [_pivot(("judges",), cells, caption)] if pairs else []
    return tables


# --- remarks ---------------------------------------------------------------------------------


def _who(judge: str | None) -> str:
    return group_name(judge, none="the judge")


def _remarks(result: ScoreDiagnosis) -> tuple[list[str], list[str]]:
    """What a person has to know: sets, their size, odd judges, own families; and what is left."""
    judges = dict.fromkeys(entry.judge for entry in result.human_agreement)
    lines = [line for judge in judges for line in _odd_scores(result, judge)]
    if result.means:
        lines = [
            _describe_sets(result),
            _describe_small_sets(result),
            *_describe_missed(result),
            *_describe_who_pays(result),
            *lines,
        ]
    covered = [g.coverage for g in result.main_groups]
    sets = f"{result.main_method} sets on held-out {result.unit}s at alpha {result.main_alpha:g}"
    more = [f"coverage of {sets}: {span(percent(min(covered)), percent(max(covered)))}"]
    more += _extremes("system", [m for m in result.means if m.model is not None])
    for family in result.family:
        sentence = f"{_who(family.judge)} {family.describe()}"
        (lines if family.biased else more).append(sentence)
    return lines, more


def _odd_scores(result: ScoreDiagnosis, judge: str | None) -> list[str]:
    """A judge whose scores are all the same, or always the human score."""
    who = _who(judge)
    entries = [entry for entry in result.human_agreement if entry.judge == judge]
    answers = [{value for value, n in e.agreement.judge_values.items() if n} for e in entries]
    rows = sum(entry.agreement.n for entry in entries)
    if len(set().union(*answers)) == 1:
        [value] = answers[0]
        return [
            f"{who} gives {value} to all {rows:,} rows: its sets describe only how people score"
        ]
    lines = []
    for entry, values in zip(entries, answers, strict=True):
        if len(values) == 1:
            n = f"{entry.agreement.n:,}"
            lines.append(f"{who} gives {values.pop()} to all {n} rows of {entry.criterion}")
    errors = [width.mean_error for g in result.groups if g.judge == judge for width in g.by_width]
    if errors and not any(errors) and rows >= MANY_ROWS:
        lines.append(
            f"{who} equals the human score on all {rows:,} rows: check that it did not see the "
            "labels, or that the labels were not made by it"
        )
    return lines


def _score_figures(result: ScoreDiagnosis) -> list[Block]:
    """In the order of importance; the last needs two judges."""
    held_out = f"held-out {result.unit}s"
    captions = {
        sizes_figure: f"Mean number of scores in a set, and coverage on {held_out} (bold: below 1 "
        "- alpha).",
        coverage_figure: f"Coverage on {held_out} at each alpha; the dashed line is 1 - alpha.",
        width_figure: "Mean error of the judge by the number of scores in the set.",
    }
    if result.agreement:
        captions[agreement_figure] = "Whether two judges give the same rows wide sets."
    return [
        Figure(draw.__name__.removesuffix("_figure"), partial(draw, result), caption)
        for draw, caption in captions.items()
    ]
