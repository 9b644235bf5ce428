"""Where the judge breaks: biases, cycles, scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields

from adjudge.present.diagnosis import bias_figure, cycles_figure
from adjudge.present.diagnosis_scores import score_figure
from adjudge.present.report.collect import Collected
from adjudge.present.report.document import Block, Section, TableBlock, Words
from adjudge.present.report.sections.pictures import drawn
from adjudge.present.report.sections.several import more_than_one, under_names
from adjudge.present.tables import counted, number, percent
from adjudge.results.bias import BiasReport, JudgeBias
from adjudge.results.diagnosis import ScoreDiagnosis, Transitivity, TransitivityGroup

_TOLD = 2


def diagnosis_section(found: Collected) -> Section | None:
    """Every diagnosis of the folder."""
    biases, cycles = found.named(BiasReport), found.named(Transitivity)
    scores = found.named(ScoreDiagnosis)
    if not (biases or cycles or scores):
        return None
    blocks: list[Block] = []
    troubles = _troubles(biases)
    named = more_than_one(biases, cycles, scores)
    blocks += under_names(biases, _bias, named=named)
    blocks += under_names(cycles, _transitivity, named=named)
    blocks += under_names(scores, _scores, named=named)
    if troubles:
        rest = len(troubles) - _TOLD
        finding = f"{counted(len(troubles), 'bias', 'biases')} found: {'; '.join(troubles[:_TOLD])}"
        finding += f"; and {rest} more." if rest > 0 else "."
        action = "Ask in both orders, calibrate before you trust, and correct before you report."
    else:
        finding = "No bias shows beyond chance in what could be measured."
        action = "That is absence of evidence on this sample, not proof of a fair judge."
    return Section(
        key="diagnosis",
        title="Where the judge breaks",
        finding=finding,
        action=action,
        blocks=tuple(blocks),
        tone="bad" if troubles else "plain",
    )


def _troubles(reports: Sequence[tuple[str, BiasReport]]) -> list[str]:
    """What was found biased, by kind of bias in the order of its fields: position comes first."""
    judges = [(file, judge) for file, report in reports for judge in report.judges]
    files = Counter(_name(judge) for _, judge in judges)

    def who(file: str, judge: JudgeBias) -> str:
        # A judge in two files was asked in two ways: what is true of one may not be of the other.
        return _name(judge) + (f" ({file})" if files[_name(judge)] > 1 else "")

    told = [
        f"{who(file, judge)} {part.finding}"
        for field in fields(JudgeBias)
        for file, judge in judges
        if getattr(part := getattr(judge, field.name), "biased", False)
    ]
    return list(dict.fromkeys(told))


def _name(judge: JudgeBias) -> str:
    return judge.judge or "the judge"


def _bias(report: BiasReport) -> list[Block]:
    rows = []
    for judge in report.judges:
        position, agreement, reliability = judge.position, judge.agreement, judge.reliability
        rows.append(
            (
                _name(judge),
                number(judge.rows),
                percent(position.first_share, 1) if position else "–",
                percent(position.flip_share, 1) if position else "–",
                percent(agreement.raw, 1) if agreement else "–",
                number(agreement.kappa, 2) if agreement else "–",
                number(reliability.ece_equal_mass) if reliability else "–",
            )
        )
    table = TableBlock(
        columns=(
            "judge",
            "rows",
            "first answer wins",
            "verdict flips",
            "agrees with people",
            "kappa",
            "ECE",
        ),
        rows=tuple(rows),
        caption=f"Biases, clustered by {report.clustered_by}; ECE over bins of equally many rows",
    )
    words = tuple(f"{_name(j)}: {line}" for j in report.judges for line in j.findings())
    picture = drawn(
        lambda: bias_figure(report),
        "Intervals that miss the dashed line are biases; a curve off the diagonal misleads.",
    )
    return [table, *([Words(lines=words)] if words else []), *picture]


def _transitivity(result: Transitivity) -> list[Block]:
    table = TableBlock(
        columns=(
            "judge",
            "criterion",
            "documents",
            "mean rate",
            "share with a cycle",
            "expected of a noisy judge",
        ),
        rows=tuple(_cycles(group) for group in result.groups),
        caption="Three-cycles per document",
        text_columns=2,
    )
    picture = drawn(
        lambda: cycles_figure(result),
        "Cycles beyond those of a noisy judge are opinions that run in circles.",
    )
    return [table, Words(lines=tuple(group.finding for group in result.groups)), *picture]


def _cycles(group: TransitivityGroup) -> tuple[str, ...]:
    return (
        group.judge or "–",
        group.criterion or "–",
        number(group.documents),
        number(group.mean_rate),
        percent(group.share_with_cycle, 1),
        percent(group.expected_share, 1),
    )


def _scores(result: ScoreDiagnosis) -> list[Block]:
    table = TableBlock(
        columns=("judge", "criterion", "method", "alpha", "coverage", "mean set size", "Spearman"),
        rows=tuple(
            (
                group.judge or "–",
                group.criterion or "all",
                group.method,
                f"{group.alpha:g}",
                number(group.coverage),
                number(group.mean_size, 2),
                number(group.spearman, 2),
            )
            for group in result.groups
        ),
        caption="Sets of scores that hold the human one",
        text_columns=3,
        folded=len(result.groups) > 24,
    )
    picture = drawn(
        lambda: score_figure(result), "Hand wide sets to people; trust narrow ones that cover."
    )
    return [table, Words(lines=result.findings), *picture]
