"""What people see of an evaluation: a few sentences, the tables behind them, the picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from adjudge.evaluation.evaluate import JudgeEvaluation, UnlabelledJudge
from adjudge.evaluation.scores import ScoreAgreement
from adjudge.evaluation.slices import SliceErrors
from adjudge.evaluation.verdicts import NO_VERDICT, VerdictAgreement
from adjudge.present import figure as theme
from adjudge.present import text
from adjudge.present.blocks import (
    Block,
    Columns,
    Fact,
    Facts,
    Figure,
    Headline,
    Note,
    Table,
    Tone,
    explain,
    remarks_of,
    table_of,
)
from adjudge.present.text import count, group_name, number, percent, show_interval, signed
from adjudge.records import Interval
from adjudge.selection.evaluating import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

#: The most judges, or slices, that are printed; the folded tables and the report have all.
_MOST_JUDGES = 3
_MOST_SLICES = 12
_SHOWN_ALPHA = 0.1
#: Of fewer labels a good judge often disagrees with none.
_MANY_LABELS = 20


def view_judges(result: JudgeEvaluation) -> list[Block]:
    """The sentences of one judge, or the table of several; folded: everything behind them."""
    if result.unlabelled:
        blocks = _view_unlabelled(result)
    elif result.scores:
        blocks = _view_scores(result)
    elif len(result.judges) == 1:
        blocks = _view_judge(result, result.judges[0])
    else:
        blocks = _view_several(result)
    notes = [f"warning: {line}" for line in result.warnings]
    if result.dropped:
        notes.append(_describe_dropped(result.dropped))
    blocks += remarks_of(notes)
    blocks += explain(result.assumptions, brief=False)
    if result.doubt is not None:
        blocks += _folded(result.doubt)
    return blocks


def _describe_dropped(dropped: Mapping[str, int]) -> str:
    """What was left out and why, in one line."""
    if len(dropped) == 1:
        return text.left_out(dropped)[0]
    reasons = ", ".join(f"{n:,} {reason}" for reason, n in dropped.items() if n)
    return f"left out {count(sum(dropped.values()), 'row')}: {reasons}"


def _folded(doubt: Evaluation) -> Iterator[Block]:
    """What the doubt is worth, without its headline, which is among the sentences."""
    for block in doubt.view():
        if isinstance(block, Headline):
            continue
        if isinstance(block, Note):
            yield replace(block, detail=True, brief="")
        else:
            yield replace(block, detail=True) if isinstance(block, Facts | Table) else block


def _name(judge: str | None) -> str:
    return group_name(judge, none="the judge")


def _ends(interval: Interval | None, digits: int = 1) -> str:
    """An interval of shares in points, as in " [79.5, 88.6]"; nothing if there is none."""
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f" [{100 * interval.low:z.{digits}f}, {100 * interval.high:z.{digits}f}]"


def _if_shown(interval: Interval | None, above: str, below: str, neither: str) -> str:
    """What is said if the whole interval is above 0, or below it, or neither."""
    low, high = interval or (None, None)
    if low is not None and low > 0:
        return above
    return below if high is not None and high < 0 else neither


def _number_ends(interval: Interval | None, digits: int = 2) -> str:
    return "" if interval is None else f" {show_interval(interval, digits)}"


# --- one judge's verdicts ---


def _view_judge(result: JudgeEvaluation, judge: VerdictAgreement) -> list[Block]:
    lines = [
        _describe_gain(judge) + _describe_people(judge),
        _describe_classes(judge),
        _describe_errors(judge),
        *_describe_doubt(result.doubt),
    ]
    return [
        _judge_headline(result, judge),
        Note([line for line in lines if line]),
        *_kappa_fact(judge),
        _matrix_table(judge),
        _class_table(judge),
        *_slice_table(judge),
        _judge_figure(judge),
    ]


def _judge_headline(result: JudgeEvaluation, judge: VerdictAgreement) -> Headline:
    rows = count(judge.n, f"labelled {result.unit}")
    if result.drawn == "chosen":
        rows = f"these {rows}, which were chosen"
    elif result.drawn == "verdict":
        rows = f"all {count(judge.n_rows, result.unit)} ({judge.n:,} labelled)"
    if judge.agreement is None:
        words = f"No number for {_name(judge.judge)}: a verdict has no label"
        return Headline(f"{words}; agreement is in{_ends(judge.interval)}", tone="bad")
    agrees = f"{_name(judge.judge)} agrees with people on {percent(judge.agreement)}"
    level = text.level(result.confidence_level)
    ends = f", {level} interval{_ends(judge.interval)}" if judge.interval is not None else ""
    low = None if judge.gain_interval is None else judge.gain_interval.low
    tone: Tone = "plain" if low is None or low > 0 else "bad"
    decision = text.begin(f"{agrees}{_ends(judge.interval)}")
    return Headline(text.begin(f"{agrees} of {rows}{ends}"), tone=tone, decision=decision)


def _describe_gain(judge: VerdictAgreement) -> str:
    """How much more often it agrees than the best constant answer, if that is shown."""
    if judge.gain is None:
        return ""
    always = f'always saying "{judge.constant}"'
    points = f"{number(100 * abs(judge.gain), 1)} points {'more' if judge.gain >= 0 else 'less'}"
    shown = f"that is {points} than {always}"
    words = _if_shown(
        judge.gain_interval, shown, shown, f"not shown to be better than {always}: {points}"
    )
    return words + _ends(judge.gain_interval)


def _describe_people(judge: VerdictAgreement) -> str:
    if (people := judge.people) is None:
        return ""
    words = f"; two people agree on {percent(people.share)} of {count(people.n, 'row')}"
    return f"{words}, one of them with the judge on {percent(people.with_judge)}"


def _describe_classes(judge: VerdictAgreement) -> str:
    """What it does with what people say; of many classes the worst and the best."""
    classes = [each for each in judge.classes if each.share_of_people is not None]
    kappa = ""
    if judge.kappa is not None:
        kappa = f"kappa {judge.kappa:z.2f}"
    shares = [percent(each.share_of_people) + _ends(each.interval, 0) for each in classes]
    if not classes:
        words = ""
    elif {*judge.names} <= {"pass", "fail"}:
        verbs = {"pass": "passes", "fail": "fails"}
        parts = [
            f"{verbs[each.name]} {share} of what people {each.name}"
            for each, share in zip(classes, shares, strict=True)
        ]
        words = f"it {' and '.join(parts)}"
    elif len(judge.names) <= 2:
        whose = ("people's", "their")
        parts = [
            f"{share} of {who} {each.name}"
            for who, each, share in zip(whose, classes, shares, strict=False)
        ]
        words = f"it finds {', '.join(parts)}"
    else:
        ranked = sorted(classes, key=lambda each: each.share_of_people or 0.0)
        names = [f"{percent(each.share_of_people)} ({each.name})" for each in ranked]
        words = f"it agrees with people on {names[0]} to {names[-1]} of what they call so"
    return "; ".join(filter(None, [words, kappa]))


def _describe_errors(judge: VerdictAgreement) -> str:
    """How many disagreements of which kind, and the slice that has most of them."""
    if not judge.errors:
        check = ": check that the judge did not see the labels"
        return "no disagreement" + check * (judge.n >= _MANY_LABELS)
    cells = [
        (row[at], name, verdict)
        for name, row in zip(judge.names, judge.matrix, strict=True)
        for at, verdict in enumerate(judge.names)
        if name != verdict and row[at]
    ]
    cells.sort(key=lambda cell: -cell[0])
    kinds = []
    for n, people, verdict in cells[:2]:
        if {people, verdict} == {"pass", "fail"}:
            noun = {"pass": ("pass", "passes"), "fail": ("fail", "fails")}[verdict]
            kinds.append(f"{count(n, *noun)} that people {people}")
        else:
            kinds.append(f"{n:,} {verdict} where people say {people}")
    if len(cells) > 2:
        kinds.append(f"{sum(cell[0] for cell in cells[2:]):,} others")
    if judge.n_no_verdict:
        kinds.append(f"{judge.n_no_verdict:,} without a verdict")
    words = f"{count(judge.errors, 'disagreement')}: {', '.join(kinds)}"
    return words + _describe_slices(judge.slices)


def _describe_slices(slices: Sequence[SliceErrors]) -> str:
    """The slice with the most errors for its size, if that is more than chance gives."""
    if not slices:
        return ""
    worst = slices[0]
    if worst.shown and worst.worse:
        return f"; most in {worst.name} ({worst.errors:,} of {worst.n:,})"
    tested = sum(each.adjusted is not None for each in slices)
    return f"; none of {count(tested, 'slice')} stands out" if tested else ""


def _describe_doubt(doubt: Evaluation | None) -> list[str]:
    """What the doubt of the first judge is worth."""
    if doubt is None:
        return []
    if len(doubt.judges) > 1:
        main = [doubt.main_signal(key).auroc for key in doubt.judges]
        known = sorted(value for value in main if value is not None)
        ranks = text.span(number(known[0]), number(known[-1])) if known else text.DASH
        return [f"their doubt separates right from wrong verdicts: AUROC {ranks}"]
    [key] = doubt.judges
    quality = doubt.main_signal(key)
    curve = next(c for c in doubt.curves if (c.key, c.signal) == (key, quality.signal))
    if len(curve.coverage) < 2:
        return []  # one value of doubt tells no verdicts apart
    ranks = f"AUROC {number(quality.auroc)}, ECE {number(quality.ece)}"
    if quality.auroc is None:
        ranks = "no AUROC, all verdicts are right or all are wrong"
    alpha = _SHOWN_ALPHA if _SHOWN_ALPHA in doubt.alphas else doubt.alphas[0]
    risks = [m for m in doubt.paper_rows(key) if m.alpha == alpha and not m.baseline]
    if not risks:
        return [f"its doubt: {ranks}"]
    first = risks[0]
    accepted = f"{first.method} at {alpha:g} accepts {percent(first.coverage)}"
    return [f"its doubt: {ranks}; {accepted}, {percent(first.risk)} wrong"]


def _kappa_fact(judge: VerdictAgreement) -> list[Block]:
    if judge.kappa is None:
        return []
    value = f"{judge.kappa:z.2f}{_number_ends(judge.kappa_interval)}"
    return [Facts([Fact("Cohen's kappa", value, "agreement above chance")], detail=True)]


def _matrix_table(judge: VerdictAgreement) -> Table:
    columns = [*judge.names, NO_VERDICT] if judge.n_no_verdict else list(judge.names)
    rows = [
        (name, *(number(n) for n in row[: len(columns)]))
        for name, row in zip(judge.names, judge.matrix, strict=True)
    ]
    caption = f"{text.begin(_name(judge.judge))}: labelled rows by label (rows) and verdict"
    return Table(("people", *columns), rows, caption, detail=True)


def _class_table(judge: VerdictAgreement) -> Table:
    return table_of(
        judge.classes,
        {
            "class": lambda each: each.name,
            "people": lambda each: number(each.people),
            "judge": lambda each: number(each.judge),
            "judge says it where people do": lambda each: (
                percent(each.share_of_people) + _ends(each.interval)
            ),
            "people say it where the judge does": lambda each: (
                percent(each.share_of_judge) + _ends(each.judge_interval)
            ),
        },
        caption="What the judge does with each class (recall, precision)",
        detail=True,
    )


def _slice_table(judge: VerdictAgreement) -> list[Block]:
    if not judge.slices:
        return []
    table = table_of(
        judge.slices,
        {
            "slice": lambda each: each.name,
            "labelled": lambda each: number(each.n),
            "errors": lambda each: number(each.errors),
            "share": lambda each: percent(each.share),
            "other rows": lambda each: percent(each.share_of_rest),
            "p": lambda each: number(each.p_value),
            "adjusted": lambda each: number(each.adjusted),
        },
        caption=f"{text.begin(_name(judge.judge))}: errors by slice; adjusted: for all slices",
        detail=True,
        optional=("p",),
    )
    return [table]


# --- several judges ---


def _view_several(result: JudgeEvaluation) -> list[Block]:
    ranked = result.ranked
    first = ranked[0]
    facts = [_judge_fact(judge) for judge in ranked[:_MOST_JUDGES]]
    lines = []
    if result.best is not None:
        possible = result.can_be_best
        names = ", ".join(possible[:_MOST_JUDGES])
        if len(possible) > _MOST_JUDGES:
            names += f" and {len(possible) - _MOST_JUDGES} more"
        lines.append(f"{len(possible)} of {len(ranked)} judges can be best: {names}")
    if first.people is not None:
        lines.append(_describe_people(first).removeprefix("; ").replace("the judge", "the best"))
    more = [f'over "{first.constant}": points more than always saying it']
    more += _describe_doubt(result.doubt)
    blocks: list[Block] = [_several_headline(result), Facts(facts)]
    if lines:
        blocks.append(Note(lines))
    blocks.append(Note(more, detail=True))
    blocks.append(_judges_table(result, ranked))
    for judge in ranked:
        blocks += [_matrix_table(judge), *_slice_table(judge)]
    caption = "Agreement with people; rings: the best constant answer."
    blocks.append(Figure("judges", partial(judges_figure, result), caption))
    return blocks


def _judge_fact(judge: VerdictAgreement) -> Fact:
    """One of several judges in a line: how much more often it agrees than the best constant."""
    note = ""
    if judge.gain is not None:
        note = f'{signed(100 * judge.gain, 1)} over "{judge.constant}"'
    if len(judge.names) <= 2:
        shares = [
            f"{percent(each.share_of_people, 0)} of {each.name}"
            for each in judge.classes
            if each.share_of_people is not None
        ]
        note += f"; {', '.join(shares)}"
    value = f"{percent(judge.agreement)}{_ends(judge.interval)}"
    return Fact(_name(judge.judge), value, note)


def _several_headline(result: JudgeEvaluation) -> Headline:
    first = result.ranked[0]
    rows = count(first.n, f"labelled {result.unit}")
    most = f"{first.judge} agrees with people most often of {len(result.judges)} judges"
    if (best := result.best) is None:
        ends = _ends(first.interval)
        return Headline(f"{most}: {percent(first.agreement)} of {rows}{ends}")
    most = f"{best.judge} agrees with people most often of {len(result.judges)} judges"
    corrected = f"{percent(best.reported)}{_ends(best.interval)}"
    return Headline(
        f"{most}: {percent(best.accuracy)} of {rows}, {corrected} without the luck of the pick",
        decision=f"{best.judge} agrees with people on {corrected}, the best of "
        f"{len(result.judges)} judges",
    )


def _judges_table(result: JudgeEvaluation, judges: Sequence[VerdictAgreement]) -> Table:
    constant = judges[0].constant
    columns: Columns[VerdictAgreement] = {
        "judge": lambda judge: _name(judge.judge),
        "labelled": lambda judge: number(judge.n),
        "agrees %": lambda judge: (
            percent(judge.agreement).removesuffix(" %") + _ends(judge.interval)
        ),
        f'over always "{constant}"': lambda judge: (
            signed(None if judge.gain is None else 100 * judge.gain, 1) + _ends(judge.gain_interval)
        ),
    }
    if len(judges[0].names) <= 4:
        for name in judges[0].names:
            columns[f"of {name}"] = partial(_share_of_class, name=name)
    columns["kappa"] = lambda judge: number(judge.kappa, 2)
    if any(judge.cost is not None for judge in judges):
        columns["cost"] = lambda judge: number(judge.cost, 5)
    caption = "Each judge against people's labels"
    return table_of(judges, columns, caption=caption, optional=("labelled", "kappa"), detail=True)


def _share_of_class(judge: VerdictAgreement, name: str) -> str:
    share = next((each.share_of_people for each in judge.classes if each.name == name), None)
    return percent(share)


# --- scores ---


def _view_scores(result: JudgeEvaluation) -> list[Block]:
    ranked = sorted(result.scores, key=lambda judge: judge.error)
    if len(ranked) > 1:
        first = ranked[:_MOST_JUDGES]
        names = text.clip_names([_name(judge.judge) for judge in first], 22)
        words = _describe_columns(first)
        if len(ranked) > _MOST_JUDGES:
            words += f"; {len(ranked) - _MOST_JUDGES} more: --explain"
        facts = Facts([*map(_score_fact, names, first)])
        blocks: list[Block] = [_scores_headline(ranked), facts, Note([words])]
    else:
        [judge] = ranked
        lines = [_describe_means(judge), _describe_order(judge), _describe_second(judge)]
        blocks = [_score_headline(result, judge), Note([line for line in lines if line])]
    rings = any(judge.people is not None for judge in result.scores)
    caption = "Mean absolute error"
    caption += "; rings: two people from each other." if rings else "."
    figure = Figure("scores", partial(scores_figure, result), caption)
    return [*blocks, _scores_table(result.scores), figure]


def _score_fact(name: str, judge: ScoreAgreement) -> Fact:
    parts = [f"mean {signed(judge.difference, 2)}"]
    if judge.correlation is not None:
        parts.append(f"rank {number(judge.correlation, 2)}")
    if judge.people is not None:
        parts.append(f"people {number(judge.people.error, 2)}")
    value = f"{number(judge.error, 2)}{_number_ends(judge.error_interval)}"
    return Fact(name, value, "; ".join(parts))


def _describe_columns(judges: Sequence[ScoreAgreement]) -> str:
    """What the numbers of the facts are."""
    words = ["mean: judge minus people"]
    if any(judge.correlation is not None for judge in judges):
        within = {judge.items > 0 for judge in judges if judge.correlation is not None}
        where = "over all rows" if within == {False} else "within items"
        words.append(f"rank: correlation {where}")
    if any(judge.people is not None for judge in judges):
        words.append("people: how far two are apart")
    return "; ".join(words)


def _score_headline(result: JudgeEvaluation, judge: ScoreAgreement) -> Headline:
    rows = count(judge.n, f"{result.unit} that people scored", f"{result.unit}s that people scored")
    words = f"{_name(judge.judge)} is {number(judge.error, 2)} from people's score on average"
    low = None if judge.gain_interval is None else judge.gain_interval.low
    return Headline(
        text.begin(f"{words}{_number_ends(judge.error_interval)}, over {rows}"),
        tone="plain" if low is None or low > 0 else "bad",
        decision=text.begin(f"{words}{_number_ends(judge.error_interval)}"),
    )


def _describe_means(judge: ScoreAgreement) -> str:
    direction = "higher" if judge.difference >= 0 else "lower"
    means = f"its mean {number(judge.judge_mean, 2)} is {number(abs(judge.difference), 2)}"
    means += f" {direction} than people's{_number_ends(judge.interval)}"
    gain = number(abs(judge.gain), 2)
    closer = _if_shown(
        judge.gain_interval, f"{gain} closer", f"{gain} farther", "not shown to be closer"
    )
    always = f"always scoring {judge.constant:g}{_number_ends(judge.gain_interval)}"
    return f"{means}; {closer} than {always}"


def _describe_order(judge: ScoreAgreement) -> str:
    parts = []
    if judge.correlation is not None:
        where = f"within {count(judge.items, 'item')}" if judge.items else "over all rows"
        ends = _number_ends(judge.correlation_interval)
        parts.append(f"rank correlation {where} {number(judge.correlation, 2)}{ends}")
    if judge.kappa is not None:
        ends = _number_ends(judge.kappa_interval)
        parts.append(f"agreement above chance (kappa, quadratic) {number(judge.kappa, 2)}{ends}")
    return "; ".join(parts)


def _describe_second(judge: ScoreAgreement) -> str:
    if (people := judge.people) is None:
        return ""
    words = f"two people are {number(people.error, 2)} apart, the judge from one of them "
    words += f"{number(people.with_judge, 2)}"
    differs = _if_shown(
        people.gap_interval, "farther than", "closer than", "not shown to differ from"
    )
    return f"{words}: {differs} a second person ({count(people.n, 'row')})"


def _scores_headline(ranked: Sequence[ScoreAgreement]) -> Headline:
    least = f"{number(ranked[0].error, 2)} ({_name(ranked[0].judge)})"
    most = f"{number(ranked[-1].error, 2)} ({_name(ranked[-1].judge)})"
    return Headline(f"From people's score on average: {least} to {most}")


def _scores_table(scores: Sequence[ScoreAgreement]) -> Table:
    return table_of(
        scores,
        {
            "judge, criterion": lambda s: _name(s.judge),
            "scored": lambda s: number(s.n),
            "mean error": lambda s: number(s.error, 2) + _number_ends(s.error_interval),
            "judge - people": lambda s: signed(s.difference, 2) + _number_ends(s.interval),
            "closer than constant": lambda s: signed(s.gain, 2) + _number_ends(s.gain_interval),
            "rank corr.": lambda s: number(s.correlation, 2),
            "kappa": lambda s: number(s.kappa, 2),
            "two people": lambda s: number(None if s.people is None else s.people.error, 2),
        },
        caption="Each judge and criterion against people's scores",
        optional=("scored", "kappa", "closer than constant"),
        detail=True,
    )


# --- without labels ---


def _view_unlabelled(result: JudgeEvaluation) -> list[Block]:
    rows = sum(judge.n_rows for judge in result.unlabelled)
    words = f"No human labels in {count(rows, f'judged {result.unit}')}"
    lines = [_describe_unlabelled(judge, result) for judge in result.unlabelled[:_MOST_JUDGES]]
    if result.failed:
        lines.append(f"the judge failed on {count(result.failed, 'row')}")
    return [Headline(f"{words}: nobody can say how good the judge is", tone="bad"), Note(lines)]


def _describe_unlabelled(judge: UnlabelledJudge, result: JudgeEvaluation) -> str:
    said = [f"{word} {n:,}" for word, n in list(judge.verdicts.items())[:4]]
    words = f"{_name(judge.judge)}: {', '.join(said) or count(judge.n_rows, 'row')}"
    if judge.flips is not None:
        words += f"; the order of the answers flips {percent(judge.flips)}"
        words += f"{_ends(judge.interval)} of {count(judge.asked_twice, 'verdict')}"
    return words


# --- pictures ---


def _judge_figure(judge: VerdictAgreement) -> Figure:
    tested = any(each.adjusted is not None for each in judge.slices)
    caption = "Labelled rows by label and verdict"
    caption += ", and the share of errors in each slice." if tested else "."
    return Figure("matrix", partial(matrix_figure, judge), caption)


def matrix_figure(judge: VerdictAgreement) -> Drawing:
    """The matrix as shares of each row of people's, and beside it the errors of the slices."""
    slices = sorted(
        (each for each in judge.slices if each.adjusted is not None), key=lambda s: -s.share
    )[:_MOST_SLICES]
    size = len(judge.names)
    with theme.themed():
        height = max(3.4, 1.2 + 0.62 * size, 1.2 + 0.36 * len(slices))
        figure = theme.new_figure(10.5 if slices else 5.4, height)
        if slices:
            left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1, 1.15)})
            _draw_slices(right, slices, judge)
        else:
            left = figure.subplots()
        _draw_matrix(left, judge)
        agreement = "" if judge.agreement is None else f" on {percent(judge.agreement)}"
        title = text.begin(theme.axis_name(_name(judge.judge)))
        theme.set_suptitle(figure, f"{title} agrees with people{agreement}")
    return figure


def _draw_matrix(axes: Axes, judge: VerdictAgreement) -> None:
    columns = [*judge.names, NO_VERDICT] if judge.n_no_verdict else list(judge.names)
    counts = np.array([row[: len(columns)] for row in judge.matrix], dtype=np.float64)
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares = counts / totals
    right = np.eye(len(judge.names), len(columns), dtype=bool)
    grid = np.where(right, shares, -shares)
    theme.draw_cells(axes, grid, _CELLS, (-1.0, 1.0), aspect="auto")
    for row, column in np.ndindex(counts.shape):
        share = f"{percent(shares[row, column], 0)} of row" if counts[row].any() else ""
        theme.write_cell(axes, column, row, f"{int(counts[row, column]):,}", share, bold=False)
    axes.set_xticks(range(len(columns)), text.clip_names(columns, 14))
    axes.set_yticks(range(len(judge.names)), text.clip_names(judge.names, 14))
    axes.set_xlabel("the judge says")
    axes.set_ylabel("people say")
    axes.set_title("Labelled rows")


#: Errors, nothing, agreement: light enough for dark text.
_CELLS = ("#f2b79b", "#ffffff", "#9cd0bd")


def _draw_slices(axes: Axes, slices: Sequence[SliceErrors], judge: VerdictAgreement) -> None:
    places = np.arange(len(slices))
    shares = [100 * each.share for each in slices]
    beyond = {True: theme.WARM, False: theme.GOOD}
    colours = [beyond[each.worse] if each.shown else theme.MUTED for each in slices]
    axes.barh(places, shares, color=colours, height=0.62)
    for place, each in zip(places, slices, strict=True):
        axes.annotate(
            f"{each.errors:,} of {each.n:,}",
            (1, place),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=8,
            color=theme.MUTED,
        )
    if judge.agreement is not None:
        overall = 100 * (1 - judge.agreement)
        axes.axvline(overall, color=theme.INK, linestyle="--", linewidth=1.2)
    names = text.clip_names([each.name for each in slices], 30)
    theme.name_rows(axes, names, fontsize=8.5)
    axes.set_xlim(0, max([*shares, 1.0]) * 1.3)
    axes.set_xlabel("errors, % of labelled rows (dashed: all rows)")
    shown = sum(each.shown and each.worse for each in slices)
    axes.set_title(f"Errors by slice: more than chance in {shown}" if shown else "Errors by slice")


def judges_figure(result: JudgeEvaluation) -> Drawing:
    """A dot with its interval for each judge; a ring at the best constant answer."""
    rows = [
        theme.ForestRow(
            theme.axis_name(judge.judge),
            judge.agreement,
            judge.interval,
            None if judge.agreement is None or judge.gain is None else judge.agreement - judge.gain,
        )
        for judge in result.ranked
    ]
    return theme.forest_figure(
        rows,
        title=_several_headline(result).text.partition(":")[0],
        axis=f"agreement with people, %, with {text.level(result.confidence_level)} interval",
        dot="the judge",
        ring=f'always "{result.ranked[0].constant}"',
    )


def scores_figure(result: JudgeEvaluation) -> Drawing:
    """The mean absolute error of each judge and criterion; a ring where two people are."""
    rows = [
        theme.ForestRow(
            theme.axis_name(_name(judge.judge)),
            judge.error,
            judge.error_interval,
            None if judge.people is None else judge.people.error,
        )
        for judge in result.scores
    ]
    return theme.forest_figure(
        rows,
        title="How far the judge's scores are from people's",
        axis=f"mean absolute error, with {text.level(result.confidence_level)} interval",
        dot="judge from people's mean",
        ring="two people from each other",
        scale=1,
    )
