"""What cycles and score sets show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudge.diagnosis.agreement import Agreement, Ceiling
from adjudge.diagnosis.family import FamilyScores
from adjudge.diagnosis.scores.result import (
    HumanAgreement,
    MeanScore,
    ScoreCoverage,
    ScoreDiagnosis,
    ScoreSetGroup,
    SizeErrors,
    WidthAgreement,
    WidthBin,
)
from adjudge.diagnosis.transitivity import Transitivity, TransitivityGroup, WorstDocument
from adjudge.errors import ArgumentError
from adjudge.present.render.terminal import render_text
from shown import assert_shown, decision, drawn, ends, html_lines, legend, terminal_lines

# --- cycles ----------------------------------------------------------------------------------

NOISY = TransitivityGroup(
    judge="gpt-x", criterion="fluency", documents=30, documents_with_triples=29, complete=27,
    cycles=51, triples=1604, mean_rate=0.0323, mean_interval=ends(0.0214, 0.0432),
    median_rate=0.0179, max_rate=0.125, share_with_cycle=0.5517, share_interval=ends(0.357, 0.735),
    expected_rate=0.0411, expected_rate_interval=ends(0.0265, 0.0582),
    expected_share=0.638, expected_share_interval=ends(0.483, 0.793), p_value=0.866,
    same_rate_share=0.577, same_rate_interval=ends(0.414, 0.724), models=8,
    decisive_edges=829, tied_edges=7, missing_edges=4, repeated_edges=120,
    win_rate_confidence=0.913, rates=(0.0, 0.0179, 0.125), eq1_mean=0.0304, eq1_median=0.0178,
    eq1_max=0.125, eq1_share=0.5333,
)  # fmt: skip
CIRCULAR = replace(
    NOISY, judge="odd", criterion="relevance", mean_rate=0.211, mean_interval=ends(0.187, 0.235),
    median_rate=0.196, max_rate=0.339, share_with_cycle=0.966, share_interval=ends(0.822, 0.999),
    expected_rate=0.103, expected_rate_interval=ends(0.081, 0.127), expected_share=0.899,
    p_value=0.005, same_rate_share=0.993, same_rate_interval=ends(0.972, 1.0), cycles=347,
    triples=1650, decisive_edges=832, tied_edges=5, missing_edges=3, win_rate_confidence=None,
    rates=(0.089, 0.339), eq1_mean=0.2066,
)  # fmt: skip
EMPTY = replace(
    NOISY, judge=None, criterion=None, documents_with_triples=0, mean_rate=None,
    mean_interval=None, median_rate=None, max_rate=None, share_with_cycle=None,
    share_interval=None, expected_rate=None, expected_share=None, p_value=None,
    same_rate_share=None,
    same_rate_interval=None, rates=(), eq1_mean=None,
)  # fmt: skip
CYCLES = Transitivity(
    groups=(NOISY, CIRCULAR),
    worst=(
        WorstDocument(
            doc_id="doc-7", rate=0.339, judge="odd", criterion="relevance", cycles=19, triples=56,
            cycle=("m1", "m4", "m2"),
        ),
        WorstDocument(
            doc_id="doc-3", rate=0.125, judge="gpt-x", criterion="fluency", cycles=7, triples=55,
            cycle=(),
        ),
    ),
    combine="mean", rows=1700, dropped={"no verdict": 9}, replicates=200, confidence_level=0.9,
    seed=0, assumptions=("ties are in no triple",),
)  # fmt: skip


def test_cycles() -> None:
    assert_shown(
        CYCLES,
        [
            "bad: 3.2 to 21.1 % of a document's triples are cycles, 55 to 97 % of documents have "
            "one: more than noise explains in 1 of 2 groups",
            "gpt-x, fluency | 3.2 % [2.1, 4.3] | 3 % over all triples (Eq. 1), 4.1 % by noise",
            "odd, relevance | 21.1 % [18.7, 23.5] | 20.7 % over all triples (Eq. 1), 10.3 % by "
            "noise",
            "documents to read first: doc-7, doc-3",
            "left out 9 rows: no verdict",
            "detail: Cycles among the decisive triples of a document (by noise: expected from a "
            "transitive judge with noise)",
            "detail: judge, criterion | mean | 90 % interval | median | max | by noise | p",
            "detail: gpt-x, fluency | 3.2 % | [2.1, 4.3] | 1.8 % | 12.5 % | 4.1 % | 0.866",
            "detail: odd, relevance | 21.1 % | [18.7, 23.5] | 19.6 % | 33.9 % | 10.3 % | 0.005",
            "detail: Cycles over all triples, as in the diagnosis paper (Eq. 1, Tables 1 and 6)",
            "detail: judge, criterion | mean | documents with a cycle | max | median",
            "detail: gpt-x, fluency | 3 % | 53.3 % | 12.5 % | 1.8 %",
            "detail: odd, relevance | 20.7 % | 53.3 % | 12.5 % | 1.8 %",
            "detail: Documents with a cycle",
            "detail: judge, criterion | documents | share | 90 % interval | by noise | if spread "
            "at random",
            "detail: gpt-x, fluency | 30 | 55.2 % | [35.7, 73.5] | 63.8 % | 57.7 %",
            "detail: odd, relevance | 30 | 96.6 % | [82.2, 99.9] | 89.9 % | 99.3 %",
            "detail: Comparisons behind these rates",
            "detail: judge, criterion | cycles | triples | decisive | tied | missing | repeats "
            "agree",
            "detail: gpt-x, fluency | 51 | 1,604 | 829 | 7 | 4 | 91.3 %",
            "detail: odd, relevance | 347 | 1,650 | 832 | 5 | 3 | –",
            "detail: Documents to read first",
            "detail: document | judge, criterion | cycle to read first | rate | cycles",
            "detail: doc-7 | odd, relevance | m1 > m4 > m2 > m1 | 33.9 % | 19 of 56",
            "detail: doc-3 | gpt-x, fluency | – | 12.5 % | 7 of 55",
            "detail: Details",
            "detail: gpt-x, fluency: noise around one ranking explains as many",
            "detail: odd, relevance: noise around one ranking does not explain as many (p = "
            "0.005); they are in fewer documents than if they were spread at random",
            "detail: ties are in no triple",
            "figure: Each dot is a document; the bar is the mean rate that a transitive judge with "
            "noise shows on the same comparisons.",
        ],
    )


def test_the_headline_of_one_group_follows_its_test() -> None:
    numbers = "3.2 % of a document's triples are cycles, 55 % of documents have one: "
    alone = replace(CYCLES, groups=(NOISY,))
    assert html_lines(alone)[0] == numbers + "not shown to be more than noise"
    more = replace(CYCLES, groups=(replace(NOISY, p_value=0.025),))
    assert html_lines(more)[0] == "bad: " + numbers + "more than noise explains"
    assert "does not explain as many (p = 0.025)" in more.explain()
    above = ends(0.0324, 0.0582)
    fewer = replace(CYCLES, groups=(replace(NOISY, expected_rate_interval=above),))
    assert "fewer cycles than from noise around one ranking" in fewer.explain()
    none = replace(CYCLES, groups=(EMPTY,), worst=())
    assert html_lines(none)[0] == (
        "bad: No cycle could be counted: no document has three models with decisive verdicts among "
        "them"
    )
    assert "detail: all rows | – | – | – | – | – | –" in html_lines(none)
    assert not any(line.startswith("figure: ") for line in html_lines(none))


def test_the_picture_of_cycles() -> None:
    figure = CYCLES.plot()
    [axes] = figure.axes
    panel = drawn(axes)
    assert panel["title"] == (
        "Cycles: 3.2 to 21.1 % of a document's triples, in 55 to 97 % of documents"
    )
    assert panel["y"] == "cycles among decisive triples, % per document"
    assert panel["x ticks"] == ["55 %", "97 %"]
    assert panel["texts"] == ["fluency", "relevance"]
    # Each name below the middle of its judges, and a violin for each group with a spread.
    assert [text.xy[0] for text in axes.texts] == pytest.approx([0, 1.6])
    both = replace(CYCLES, groups=(NOISY, replace(NOISY, judge="b"), replace(NOISY, rates=(0.1,))))
    [wide] = both.plot().axes
    assert [text.xy[0] for text in wide.texts] == [1]
    kinds = [type(part).__name__ for part in wide.collections]
    assert kinds == ["FillBetweenPolyCollection", "PathCollection"] * 2 + ["PathCollection"]
    assert panel["lines"] == [
        [(-0.36, 4.11), (0.36, 4.11)],
        [(1.24, 10.3), (1.96, 10.3)],
        [(0, 25), (1, 25)],
    ]
    assert sorted(y for _, y in panel["dots"]) == [0.0, 1.79, 8.9, 12.5, 33.9]
    assert panel["x"] == "share of documents with a cycle"
    assert legend(figure) == ["gpt-x", "odd", "transitive judge with noise", "coin flips: 25 %"]
    [alone] = replace(CYCLES, groups=CYCLES.groups[:1]).plot().axes
    left, right = alone.get_xlim()
    assert right - left > 2.5  # one violin does not fill the picture
    with pytest.raises(ArgumentError, match="no picture"):
        replace(CYCLES, groups=(EMPTY,), worst=()).plot()


def _group(
    judge: str, criterion: str, method: str, alpha: float, coverage: float, size: float
) -> ScoreSetGroup:
    return ScoreSetGroup(
        judge=judge, criterion=criterion, method=method, alpha=alpha, n=240, documents=30,
        coverage=coverage, coverage_sd=0.03, mean_size=size, spearman=round(coverage - 0.7, 3),
        quantile=1.0, whole_scale=False, trust=round(coverage - 0.3, 3),
        look=round(1.2 - coverage, 3), human=0.1,
        by_width=(
            WidthBin(width=2, n=60, mean_error=0.31, interval=ends(0.2, 0.4)),
            WidthBin(width=3, n=180, mean_error=round(size / 5, 3), interval=ends(0.5, 0.9)),
        ),
        errors=SizeErrors(small=0.31, large=round(size / 5, 3), interval=ends(size - 1.93, size)),
        by_score=(
            ScoreCoverage(score=1, n=12, coverage=round(coverage - 0.6, 3)),
            ScoreCoverage(score=4, n=228, coverage=coverage),
        ),
        inside=0.84, shuffled_size=round(size + (0.2 if criterion == "fluency" else -0.2), 3),
    )  # fmt: skip


def _mean(judge: str, criterion: str | None, model: str | None, low: float) -> MeanScore:
    return MeanScore(
        judge=judge, criterion=criterion, model=model, n=240, judge_mean=3 + low, human_mean=3.5,
        difference=low - 0.5, interval=ends(low - 0.6, low - 0.4),
    )  # fmt: skip


def _agreement(judge: str, criterion: str, raw: float) -> HumanAgreement:
    return HumanAgreement(
        judge=judge,
        criterion=criterion,
        agreement=Agreement(
            level="interval", n=240, clusters=30, raw=raw,
            raw_interval=ends(raw - 0.05, raw + 0.04),
            kappa=raw - 0.1, kappa_interval=ends(raw - 0.17, raw - 0.02), alpha=raw - 0.12,
            alpha_interval=ends(raw - 0.2, raw - 0.01),
            ceiling=Ceiling(n=240, raw=raw + 0.06, interval=ends(0.5, 0.9), kappa=0.7, alpha=0.71,
                            gap=0.06, gap_interval=ends(0.01, 0.11)),
            judge_values={"3": 140, "4": 100}, dropped={},
            confidence_level=0.95,
        ),
    )  # fmt: skip


SCORES = ScoreDiagnosis(
    groups=(
        _group("gpt-x", "fluency", "constant", 0.1, 0.841, 2.97),
        _group("gpt-x", "fluency", "constant", 0.2, 0.757, 2.34),
        _group("gpt-x", "relevance", "constant", 0.1, 0.968, 3.02),
        _group("gpt-x", "relevance", "constant", 0.2, 0.889, 2.41),
        _group("gpt-x", "fluency", "per-criterion", 0.1, 0.912, 3.45),
        _group("gpt-x", "fluency", "per-criterion", 0.2, 0.823, 2.88),
        _group("gpt-x", "relevance", "per-criterion", 0.1, 0.894, 1.93),
        _group("gpt-x", "relevance", "per-criterion", 0.2, 0.806, 1.52),
        _group("other", "fluency", "per-criterion", 0.1, 0.931, 4.07),
        _group("other", "fluency", "per-criterion", 0.2, 0.848, 3.16),
    ),
    agreement=(
        WidthAgreement(judge_a="gpt-x", judge_b="other", criterion="fluency",
                       method="per-criterion", alpha=0.1, n=240, spearman=0.36),
    ),
    human_agreement=(
        _agreement("gpt-x", "fluency", 0.61),
        _agreement("gpt-x", "relevance", 0.68),
        _agreement("other", "fluency", 0.57),
    ),
    family=(
        FamilyScores(
            judge="gpt-x", family="OpenAI", reference="people", n=240, own_models=1,
            other_models=7, own_deviation=0.3, other_deviation=0.1, excess=0.2, interval=None,
            biased=False, dropped={}, confidence_level=0.95,
        ),
    ),
    documents=30, scale=(1, 5), target="mean", splits=20, confidence_level=0.95,
    seed=0, dropped={"no human score": 13, "no judge score": 1},
    assumptions=("the promise is an average",),
    means=(
        _mean("gpt-x", None, None, 0.3), _mean("gpt-x", "fluency", None, 0.2),
        _mean("gpt-x", "relevance", None, 0.4), _mean("gpt-x", None, "m1", 0.1),
        _mean("gpt-x", None, "m2", 0.9), _mean("other", None, None, 1.1),
    ),
)  # fmt: skip
#: The same judge with sets that learn its scale, whose width can say something.
LEARNED = replace(
    SCORES,
    sets="learned",
    groups=(
        *SCORES.groups[2:6:2],
        _group("gpt-x", "fluency", "learned", 0.1, 0.921, 2.65),
        _group("gpt-x", "relevance", "learned", 0.1, 0.917, 1.35),
    ),
    agreement=(replace(SCORES.agreement[0], method="learned", spearman=0.27), *SCORES.agreement),
    assumptions=("it holds on average", "learned on a third"),
    means=SCORES.means[:-1],
)
FIGURES = [
    "figure: Mean number of scores in a set, and coverage on held-out documents (bold: below 1 - "
    "alpha).",
    "figure: Coverage on held-out documents at each alpha; the dashed line is 1 - alpha.",
    "figure: Mean error of the judge by the number of scores in the set.",
    "figure: Whether two judges give the same rows wide sets.",
]
MEANS = [
    "detail: Mean scores on labelled rows; over all rows, and which system is better: adjudge "
    "compare",
    "detail: judge, criterion, model | rows | judge | people | difference | 95 % interval",
    "detail: gpt-x | 240 | 3.30 | 3.50 | -0.20 | [-0.30, -0.10]",
    "detail: gpt-x, fluency | 240 | 3.20 | 3.50 | -0.30 | [-0.40, -0.20]",
    "detail: gpt-x, relevance | 240 | 3.40 | 3.50 | -0.10 | [-0.20, 0.00]",
    "detail: gpt-x, m1 | 240 | 3.10 | 3.50 | -0.40 | [-0.50, -0.30]",
    "detail: gpt-x, m2 | 240 | 3.90 | 3.50 | +0.40 | [0.30, 0.50]",
]
AGREEMENT = [
    "detail: Agreement with people (kappa with quadratic weights)",
    "detail: judge, criterion | agree | kappa | 95 % interval | Krippendorff's alpha | two people",
    "detail: gpt-x, fluency | 61 % | 0.51 | [0.44, 0.59] | 0.49 | 67 %",
    "detail: gpt-x, relevance | 68 % | 0.58 | [0.51, 0.66] | 0.56 | 74 %",
    "detail: other, fluency | 57 % | 0.47 | [0.40, 0.55] | 0.45 | 63 %",
]
FAMILY = (
    "gpt-x gives 1 OpenAI model +0.20 points compared with 7 others, measured against "
    "people; no interval: one model alone on a side, or no spread"
)


def _table_4(method: str, value: str) -> list[str]:
    return [
        f"detail: Spearman of two judges' set sizes, {method} (Table 4 of the diagnosis paper)",
        "detail: judges | fluency",
        f"detail: gpt-x and other | {value}",
        f"detail: mean | {value}",
    ]


def test_scores_of_two_judges_with_residual_sets() -> None:
    assert_shown(
        SCORES,
        [
            "2 judges score 3.30 to 4.10 on average and people 3.50",
            "gpt-x | 3.30, people 3.50 | -0.20 [-0.30, -0.10]",
            "other | 4.10, people 3.50 | +0.60 [0.50, 0.70]",
            "at least 90 % of the time people's score is one of 1.9 to 4.1 scores on average",
            "1 or 2 scores in a set: smaller errors in 2 of 3 groups; trust rows there with "
            "the judge's "
            "score in it",
            "missed: people's 1 on gpt-x, relevance is in its set in 29.4 % of 12 rows",
            "this judge does not pay on gpt-x, relevance: sets of 1.93 scores, in random "
            "order 1.73",
            "left out 13 rows: no human score; 1 row: no judge score",
            *MEANS,
            "detail: other | 240 | 4.10 | 3.50 | +0.60 | [0.50, 0.70]",
            "detail: gpt-x: scores in a set on average, scale 1 to 5",
            "detail: criterion | method | alpha 0.1 | alpha 0.2",
            "detail: fluency | per-criterion | 3.45 | 2.88",
            "detail: relevance | per-criterion | 1.93 | 1.52",
            "detail: fluency | constant | 2.97 | 2.34",
            "detail: relevance | constant | 3.02 | 2.41",
            "detail: gpt-x: sets that contain people's score, on held-out documents",
            "detail: criterion | method | alpha 0.1 | alpha 0.2",
            "detail: fluency | per-criterion | 91.2 % | 82.3 %",
            "detail: relevance | per-criterion | 89.4 % | 80.6 %",
            "detail: fluency | constant | 84.1 % | 75.7 %",
            "detail: relevance | constant | 96.8 % | 88.9 %",
            "detail: other: scores in a set on average, scale 1 to 5",
            "detail: criterion | method | alpha 0.1 | alpha 0.2",
            "detail: fluency | per-criterion | 4.07 | 3.16",
            "detail: other: sets that contain people's score, on held-out documents",
            "detail: criterion | method | alpha 0.1 | alpha 0.2",
            "detail: fluency | per-criterion | 93.1 % | 84.8 %",
            "detail: Coverage by people's score, per-criterion sets at alpha 0.1",
            "detail: judge, criterion | 1 | 4",
            "detail: gpt-x, fluency | 31.2 % of 12 | 91.2 % of 228",
            "detail: gpt-x, relevance | 29.4 % of 12 | 89.4 % of 228",
            "detail: other, fluency | 33.1 % of 12 | 93.1 % of 228",
            "detail: Mean size of sets, and of learned ones with the judge's scores in "
            "random order",
            "detail: judge, criterion | scores in a set | in random order",
            "detail: gpt-x, fluency | 3.45 | 3.65",
            "detail: gpt-x, relevance | 1.93 | 1.73",
            "detail: other, fluency | 4.07 | 4.27",
            "detail: Rows by size of their per-criterion set at alpha 0.1, and the judge's mean "
            "error on them",
            "detail: judge, criterion | 1 or 2 scores | judge's inside | their error | error "
            "of others "
            "| entire scale | trust 1 or 2",
            "detail: gpt-x, fluency | 61.2 % | 84 % | 0.31 | 0.69 | 10 % | if inside",
            "detail: gpt-x, relevance | 59.4 % | 84 % | 0.31 | 0.39 | 10 % | no",
            "detail: other, fluency | 63.1 % | 84 % | 0.31 | 0.81 | 10 % | if inside",
            "detail: Spearman of set size and error at alpha 0.1 (Table 3 of the diagnosis paper)",
            "detail: judge, criterion | per-criterion",
            "detail: gpt-x, fluency | +0.21",
            "detail: gpt-x, relevance | +0.19",
            "detail: other, fluency | +0.23",
            *_table_4("per-criterion", "+0.36"),
            *AGREEMENT,
            "detail: Details",
            "detail: coverage of per-criterion sets on held-out documents at alpha 0.1: 89.4 to "
            "93.1 %",
            "detail: judge minus people by system: -0.40 (m1) to +0.40 (m2)",
            f"detail: {FAMILY}",
            "detail: the promise is an average",
            *FIGURES,
        ],
    )


def test_scores_of_one_judge_with_learned_sets() -> None:
    assert_shown(
        LEARNED,
        [
            "gpt-x scores 3.30 on average and people 3.50: -0.20 [-0.30, -0.10]",
            "fluency | 3.20, people 3.50 | -0.30 [-0.40, -0.20], one of 2.6 scores",
            "relevance | 3.40, people 3.50 | -0.10 [-0.20, 0.00], one of 1.4 scores",
            "at least 90 % of the time people's score is one of 1.4 to 2.6 scores on average",
            "1 or 2 scores in a set: smaller errors in 1 of 2 groups; trust rows there with "
            "the judge's "
            "score in it",
            "missed: people's 1 on gpt-x, relevance is in its set in 31.7 % of 12 rows",
            "this judge does not pay on gpt-x, relevance: sets of 1.35 scores, in random "
            "order 1.15",
            "left out 13 rows: no human score; 1 row: no judge score",
            *MEANS,
            "detail: gpt-x: scores in a set on average, scale 1 to 5",
            "detail: criterion | method | alpha 0.1",
            "detail: fluency | learned | 2.65",
            "detail: relevance | learned | 1.35",
            "detail: relevance | constant | 3.02",
            "detail: fluency | per-criterion | 3.45",
            "detail: gpt-x: sets that contain people's score, on held-out documents",
            "detail: criterion | method | alpha 0.1",
            "detail: fluency | learned | 92.1 %",
            "detail: relevance | learned | 91.7 %",
            "detail: relevance | constant | 96.8 %",
            "detail: fluency | per-criterion | 91.2 %",
            "detail: Coverage by people's score, learned sets at alpha 0.1",
            "detail: judge, criterion | 1 | 4",
            "detail: gpt-x, fluency | 32.1 % of 12 | 92.1 % of 228",
            "detail: gpt-x, relevance | 31.7 % of 12 | 91.7 % of 228",
            "detail: Mean size of sets, and of learned ones with the judge's scores in "
            "random order",
            "detail: judge, criterion | scores in a set | in random order",
            "detail: gpt-x, fluency | 2.65 | 2.85",
            "detail: gpt-x, relevance | 1.35 | 1.15",
            "detail: Rows by size of their learned set at alpha 0.1, and the judge's mean error on "
            "them",
            "detail: judge, criterion | 1 or 2 scores | judge's inside | their error | error "
            "of others "
            "| entire scale | trust 1 or 2",
            "detail: gpt-x, fluency | 62.1 % | 84 % | 0.31 | 0.53 | 10 % | if inside",
            "detail: gpt-x, relevance | 61.7 % | 84 % | 0.31 | 0.27 | 10 % | no",
            "detail: Spearman of set size and error at alpha 0.1 (Table 3 of the diagnosis paper)",
            "detail: judge, criterion | learned | per-criterion",
            "detail: gpt-x, fluency | +0.22 | +0.21",
            "detail: gpt-x, relevance | +0.22 | –",
            *_table_4("learned", "+0.27"),
            *_table_4("per-criterion", "+0.36"),
            *AGREEMENT,
            "detail: Details",
            "detail: coverage of learned sets on held-out documents at alpha 0.1: 91.7 to 92.1 %",
            "detail: judge minus people by system: -0.40 (m1) to +0.40 (m2)",
            f"detail: {FAMILY}",
            "detail: it holds on average",
            "detail: learned on a third",
            *FIGURES,
        ],
    )


@pytest.mark.parametrize(
    ("errors", "line"),
    [
        (
            SizeErrors(small=0.31, large=0.69, interval=ends(0.1, 0.6)),
            "mean error 0.31 if a set has 1 or 2 scores, else 0.69: trust the 84 % with the "
            "judge's score in it",
        ),
        (
            SizeErrors(small=0.6, large=0.42, interval=ends(-0.3, -0.1)),
            "mean error 0.60 if a set has 1 or 2 scores, else 0.42: size does not predict it",
        ),
        (
            SizeErrors(small=0.4, large=0.42),
            "mean error 0.40 if a set has 1 or 2 scores, else 0.42: size does not predict it",
        ),
        (
            SizeErrors(small=0.4),
            "every set has 1 or 2 scores: size does not show where the judge errs",
        ),
        (
            SizeErrors(large=0.4),
            "no set has 1 or 2 scores: size does not show where the judge errs",
        ),
    ],
)
def test_a_small_set_is_trusted_only_where_errors_are_smaller(
    errors: SizeErrors, line: str
) -> None:
    group = replace(LEARNED.groups[-1], errors=errors)
    assert line in terminal_lines(replace(LEARNED, groups=(group,)))
    both = replace(LEARNED, groups=(group, replace(group, criterion="fluency")))
    unlike = "set size is not shown to predict the judge's error: look at every row"
    assert (unlike in terminal_lines(both)) == (errors.tells is False)
    assert (": trust" in str(both) or "trust rows" in str(both)) == bool(errors.tells)
    people = LEARNED.human_agreement[0].agreement
    chance = replace(
        LEARNED.human_agreement[0], agreement=replace(people, kappa_interval=ends(-0.1, 0.1))
    )
    random = replace(
        LEARNED, groups=(group,), human_agreement=(replace(chance, criterion="relevance"),)
    )
    if errors.tells:
        none = "agreement with people is not above chance: trust none"
        assert f"mean error 0.31 if a set has 1 or 2 scores, else 0.69: {none}" in terminal_lines(
            random
        )


def test_many_criteria_and_judges_are_a_range() -> None:
    names = ("a", "b", "c", "d", "e")
    means = [_mean("gpt-x", name, None, at / 10) for at, name in enumerate(names)]
    lines = terminal_lines(replace(LEARNED, means=(LEARNED.means[0], *means)))
    assert lines[1] == "judge minus people by criterion: -0.50 (a) to -0.10 (e)"
    judges = [_mean(name, None, None, at / 10) for at, name in enumerate(names)]
    lines = terminal_lines(replace(SCORES, means=tuple(judges)))
    assert lines[:2] == [
        "5 judges score 3.00 to 3.40 on average and people 3.50",
        "judge minus people by judge: -0.50 (a) to -0.10 (e)",
    ]
    # Files from before there were means have the sets alone.
    assert terminal_lines(replace(SCORES, means=()))[0] == (
        "at least 90 % of the time people's score is one of 1.9 to 4.1 scores on average"
    )


def test_what_is_promised_is_said_with_its_sets() -> None:
    crossed = terminal_lines(replace(SCORES, sets="cross-fitted", target="rater"))
    assert "about 90 % of the time a person's score is one of 1.9 to 4.1 scores on average" in (
        crossed
    )
    rows = replace(SCORES, groups=tuple(replace(g, documents=g.n) for g in SCORES.groups))
    assert "on held-out rows at alpha 0.1" in render_text(rows.view(), explain=True)


def test_judges_that_do_not_judge_are_named() -> None:
    one, two, _ = SCORES.human_agreement

    def says(entry: HumanAgreement, **values: int) -> HumanAgreement:
        return replace(entry, agreement=replace(entry.agreement, judge_values=values))

    always = replace(SCORES, human_agreement=(says(one, x=240), says(two, x=240, y=0)))
    assert "gpt-x gives x to all 480 rows: its sets describe only how people score" in str(always)
    half = replace(SCORES, human_agreement=(says(one, x=240), says(two, x=200, y=40)))
    assert "gpt-x gives x to all 240 rows of fluency" in terminal_lines(half)
    right = WidthBin(width=2, n=60, mean_error=0.0, interval=None)
    groups = tuple(
        replace(g, by_width=(right,)) if g.judge == "gpt-x" else g for g in SCORES.groups
    )
    assert (
        "gpt-x equals the human score on all 480 rows: check that it did not see the labels, or "
        "that the labels were not made by it"
    ) in terminal_lines(replace(SCORES, groups=groups))
    assert "other equals" not in str(replace(SCORES, groups=groups))


def test_sets_that_are_the_whole_scale_are_said_to_be() -> None:
    groups = tuple(replace(g, mean_size=5.0) if g.alpha == 0.1 else g for g in SCORES.groups)
    short = replace(SCORES, groups=groups, documents=16)
    whole = "every set is the entire scale"
    assert f"{whole}: calibration needs 9 labelled documents and has 8" in terminal_lines(short)
    # With enough documents there is another cause.
    assert whole in terminal_lines(replace(short, documents=18))


def test_the_picture_of_sizes() -> None:
    figure = SCORES.plot()
    panel = drawn(figure.axes[0])
    title = "Residual sets for 90 % coverage have 1.9 to 4.1 of 5 scores"
    assert figure.get_suptitle() == title
    assert panel["x ticks"] == ["fluency", "relevance"]
    assert panel["y ticks"] == ["gpt-x", "other"]
    assert panel["texts"] == [
        *("3.45", "covers 91.2 %", "1.93", "covers 89.4 %", "4.07", "covers 93.1 %"),
    ]
    bold = [text.get_text() for text in figure.axes[0].texts if text.get_fontweight() == "bold"]
    assert bold == ["covers 89.4 %"]
    [image] = figure.axes[0].get_images()
    assert image.get_array().filled(0).tolist() == [[3.45, 1.93], [4.07, 0]]
    assert figure.axes[1].get_ylabel() == "mean size, of 5 scores"


def test_the_picture_of_width_and_error() -> None:
    figure = LEARNED.plot(figure="width")
    title = "Width against error within a criterion (Spearman): learned +0.22, per-criterion +0.21"
    assert figure.get_suptitle() == title
    panels = {panel["title"]: panel for panel in map(drawn, figure.axes)}
    fluency, relevance = panels["fluency"], panels["relevance"]
    assert fluency["x"] == "scores in the set (larger: more rows)"
    assert drawn(figure.axes[0])["y"] == "mean |judge − human|"
    assert fluency["lines"] == [[(2, 0.31), (3, 0.53)], [(2, 0.31), (3, 0.69)]]
    assert relevance["lines"] == [[(2, 0.31), (3, 0.27)]]
    assert legend(figure) == ["learned", "per-criterion"]  # one judge: the lines are its own
    two = (*LEARNED.groups, *(replace(group, judge="other") for group in LEARNED.groups))
    both = replace(LEARNED, groups=two).plot(figure="width")
    assert legend(both) == ["learned", "per-criterion", "small dots: one judge"]


@pytest.mark.parametrize(
    ("groups", "title"),
    [
        (
            SCORES.groups,
            "Coverage is below 1 − alpha in 1 of 6 cells, by at most 0.6 points; "
            "constant: below in 2 of 4",
        ),
        (
            tuple(g for g in SCORES.groups if g.coverage != 0.894),
            "Coverage is at least 1 − alpha in all 5 cells; constant: below in 2 of 4",
        ),
        # With one criterion the constant quantile has the promise, and counts.
        (
            SCORES.groups[:2],
            "Coverage is below 1 − alpha in 2 of 2 cells, by at most 5.9 points",
        ),
    ],
)
def test_the_title_of_coverage_counts_cells(groups: tuple[ScoreSetGroup, ...], title: str) -> None:
    assert replace(SCORES, groups=groups).plot(figure="coverage").get_suptitle() == title


def test_the_picture_of_coverage() -> None:
    figure = SCORES.plot(figure="coverage")
    fluency, relevance = map(drawn, figure.axes)
    assert (fluency["title"], fluency["x"], fluency["y"]) == (
        "fluency",
        "alpha",
        "coverage on held-out documents, %",
    )
    assert fluency["x ticks"] == ["0.1", "0.2"]
    assert fluency["lines"] == [
        [(0.1, 84.1), (0.2, 75.7)],
        [(0.1, round((91.2 + 93.1) / 2, 3)), (0.2, round((82.3 + 84.8) / 2, 3))],
        [(0.1, 90), (0.2, 80)],
    ]
    assert relevance["lines"][1] == [(0.1, 89.4), (0.2, 80.6)]
    assert legend(figure) == [
        "constant",
        "per-criterion",
        "1 − alpha",
        "band: one standard deviation over judges",
    ]
    alone = replace(SCORES, groups=tuple(g for g in SCORES.groups if g.judge == "gpt-x"))
    assert legend(alone.plot(figure="coverage"))[-1] == "1 − alpha"  # no band to explain


def test_the_picture_of_widths_of_two_judges() -> None:
    figure = LEARNED.plot(figure="agreement")
    assert figure.get_suptitle() == "Spearman of two judges' set widths, mean (learned, α = 0.1)"
    panel = drawn(figure.axes[0])
    assert panel["title"] == "fluency: +0.27"
    assert panel["x ticks"] == panel["y ticks"] == ["gpt-x", "other"]
    assert panel["texts"] == ["+0.27", "+0.27"]
    assert drawn(SCORES.plot(figure="agreement").axes[0])["title"] == "fluency: +0.36"
    alone = replace(LEARNED, agreement=())
    with pytest.raises(ArgumentError, match="choose one of sizes, coverage, width"):
        alone.plot(figure="agreement")
    assert html_lines(alone)[-3:] == FIGURES[:3]


def test_what_follows_from_cycles_and_scores() -> None:
    assert decision(CYCLES) == (
        "3.2 to 21.1 % of triples are cycles: more than noise explains in 1 of 2 groups"
    )
    assert decision(SCORES) == "2 judges score 3.30 to 4.10 on average and people 3.50"
