"""What cycles and score sets show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudge.diagnosis.agreement import Agreement, Ceiling
from adjudge.diagnosis.cycles import CycleCount
from adjudge.diagnosis.family import FamilyScores
from adjudge.diagnosis.scores.result import (
    HumanAgreement,
    PooledWidth,
    ScoreDiagnosis,
    ScoreSetGroup,
    WidthAgreement,
    WidthBin,
    agreement_figure,
)
from adjudge.diagnosis.transitivity import Transitivity, TransitivityGroup, Triple, WorstDocument
from adjudge.errors import ArgumentError
from shown import assert_shown, drawn, ends, html_lines, legend, terminal_lines

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
            examples=(Triple(models=("m1", "m4", "m2"), weakest=0.8),),
        ),
        WorstDocument(
            doc_id="doc-3", rate=0.125, judge="gpt-x", criterion="fluency", cycles=7, triples=55,
            examples=(),
        ),
    ),
    combine="mean", rows=1700, dropped={"no verdict": 9}, replicates=200, confidence_level=0.9,
    seed=0, assumptions=("ties are in no triple",),
)  # fmt: skip

NOISY_SENTENCE = (
    "3.2 % of a document's triples are cycles and 55 % of documents have one; a transitive judge "
    "with one ranking and noise would show 4.1 % and 64 %; noise around one ranking explains as "
    "many; as many cycles spread at random would be in 58 % of documents"
)


def test_cycles() -> None:
    assert_shown(
        CYCLES,
        [
            "bad: 3.2 to 21.1 % of a document's triples are cycles, 55 to 97 % of documents have "
            "one: more than noise explains in 1 of 2 groups",
            "Cycles among the decisive triples of a document (from noise: expected from a "
            "transitive judge with noise)",
            "judge, criterion | documents | mean | 90 % interval | median | max | over all "
            "triples | from noise",
            "gpt-x, fluency | 30 | 3.2 % | [2.1, 4.3] | 1.8 % | 12.5 % | 3 % | 4.1 %",
            "odd, relevance | 30 | 21.1 % | [18.7, 23.5] | 19.6 % | 33.9 % | 20.7 % | 10.3 %",
            "Documents with a cycle",
            "judge, criterion | share | 90 % interval | from noise | if spread at random",
            "gpt-x, fluency | 55.2 % | [35.7, 73.5] | 63.8 % | 57.7 %",
            "odd, relevance | 96.6 % | [82.2, 99.9] | 89.9 % | 99.3 %",
            "Comparisons behind these rates",
            "judge, criterion | cycles | triples | decisive | tied | missing | repeats agree",
            "gpt-x, fluency | 51 | 1,604 | 829 | 7 | 4 | 91.3 %",
            "odd, relevance | 347 | 1,650 | 832 | 5 | 3 | –",
            "Documents to read first",
            "document | judge, criterion | cycle to read first | rate | cycles",
            "doc-7 | odd, relevance | m1 > m4 > m2 > m1 | 33.9 % | 19 of 56",
            "doc-3 | gpt-x, fluency | – | 12.5 % | 7 of 55",
            f"gpt-x, fluency: {NOISY_SENTENCE}",
            "odd, relevance: 21.1 % of a document's triples are cycles and 97 % of documents "
            "have one; a transitive judge with one ranking and noise would show 10.3 % and 90 %; "
            "that noise does not explain as many (p = 0.005); as many cycles spread at random "
            "would be in 99 % of documents: here they are in fewer",
            "left out 9 rows: no verdict",
            "detail: What this assumes",
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
    assert "that noise does not explain as many (p = 0.025)" in str(more)
    above = ends(0.0324, 0.0582)
    fewer = replace(CYCLES, groups=(replace(NOISY, expected_rate_interval=above),))
    assert "here there are fewer: noise around one ranking does not describe this judge" in str(
        fewer
    )
    none = replace(CYCLES, groups=(EMPTY,), worst=())
    assert html_lines(none)[0] == (
        "bad: No cycle could be counted: no document has three models with decisive verdicts among "
        "them"
    )
    assert "all rows | 30 | – | – | – | – | – | –" in terminal_lines(none)
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


COUNT = CycleCount(models=6, cycles=3, triples=20, complete=True)


def test_the_cycles_of_one_tournament() -> None:
    assert_shown(COUNT, ["15 % of the decisive triples of 6 models are cycles (3 of 20)"])
    assert_shown(
        replace(COUNT, triples=1900, cycles=1200, complete=False),
        [
            "63.2 % of the decisive triples of 6 models are cycles (1,200 of 1,900)",
            "triples with a tie or a missing comparison are not counted",
        ],
    )
    assert_shown(
        replace(COUNT, triples=0, cycles=0, models=1),
        ["No cycle could be counted: no decisive triple among 1 model"],
    )


# --- scores ----------------------------------------------------------------------------------


def _group(
    judge: str, criterion: str, method: str, alpha: float, coverage: float, size: float
) -> ScoreSetGroup:
    return ScoreSetGroup(
        judge=judge, criterion=criterion, method=method, alpha=alpha, n=240, documents=30,
        coverage=coverage, coverage_sd=0.03, mean_size=size, spearman=round(coverage - 0.7, 3),
        quantile=1.0, whole_scale=False, distinct_widths=3, trust=round(coverage - 0.3, 3),
        look=round(1.2 - coverage, 3), human=0.1,
        by_width=(
            WidthBin(width=2, n=60, mean_error=0.31, interval=ends(0.2, 0.4)),
            WidthBin(width=3, n=180, mean_error=round(size / 5, 3), interval=ends(0.5, 0.9)),
        ),
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
            judge_values={"3": 140, "4": 100}, human_values={"3": 150.0, "4": 90.0}, dropped={},
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
                       method="per-criterion", alpha=0.1, n=240, spearman=0.36,
                       interval=ends(0.2, 0.5)),
    ),
    pooled=(
        PooledWidth(method="constant", alpha=0.1, n=480, pooled=-0.11, within=-0.18),
        PooledWidth(method="constant", alpha=0.2, n=480, pooled=-0.13, within=-0.14),
        PooledWidth(method="per-criterion", alpha=0.1, n=720, pooled=0.42, within=None),
        PooledWidth(method="per-criterion", alpha=0.2, n=720, pooled=0.38, within=0.05),
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
    documents=30, scale=(1, 5), target="mean", weigh="documents", splits=20, confidence_level=0.95,
    seed=0, dropped={"no human score": 13}, assumptions=("the promise is an average",),
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
    pooled=(
        *SCORES.pooled,
        PooledWidth(method="learned", alpha=0.1, n=720, pooled=0.31, within=0.24),
    ),
    assumptions=("it holds on average", "learned on one half"),
)
FIGURES = [
    "figure: Mean number of scores in a set, and coverage on held-out documents (bold: below 1 - "
    "alpha).",
    "figure: Coverage on held-out documents at each alpha; the dashed line is 1 - alpha.",
    "figure: Mean error of the judge by the number of scores in the set.",
    "figure: Whether two judges give the same rows wide sets.",
]
AGREEMENT = [
    "Agreement with people (kappa with quadratic weights)",
    "judge, criterion | agree | kappa | 95 % interval | Krippendorff's alpha | two people",
    "gpt-x, fluency | 61 % | 0.51 | [0.44, 0.59] | 0.49 | 67 %",
    "gpt-x, relevance | 68 % | 0.58 | [0.51, 0.66] | 0.56 | 74 %",
    "other, fluency | 57 % | 0.47 | [0.40, 0.55] | 0.45 | 63 %",
]
FAMILY = (
    "gpt-x gives 1 OpenAI model +0.20 points compared with 7 others, measured against "
    "people; no interval: one model alone on a side, or no spread"
)


def test_residual_scores_say_nothing_about_width() -> None:
    assert_shown(
        SCORES,
        [
            "Residual sets for 90 % coverage contain 1.93 to 4.07 of 5 scores on average and "
            "cover 89.4 to 93.1 % on held-out documents",
            "gpt-x: coverage in % and mean size of sets at each alpha, scale 1 to 5",
            "criterion | method | α 0.1 | α 0.2",
            "fluency | per-criterion | 91.2 3.45 | 82.3 2.88",
            "relevance | per-criterion | 89.4 1.93 | 80.6 1.52",
            "fluency | constant | 84.1 2.97 | 75.7 2.34",
            "relevance | constant | 96.8 3.02 | 88.9 2.41",
            "other: coverage in % and mean size of sets at each alpha, scale 1 to 5",
            "criterion | method | α 0.1 | α 0.2",
            "fluency | per-criterion | 93.1 4.07 | 84.8 3.16",
            "Rows by size of their per-criterion set at alpha 0.1 (1 or 2 scores: trust; the "
            "entire scale: human; between: look)",
            "judge, criterion | trust | look | human",
            "gpt-x, fluency | 61.2 % | 28.8 % | 10 %",
            "gpt-x, relevance | 59.4 % | 30.6 % | 10 %",
            "other, fluency | 63.1 % | 26.9 % | 10 %",
            *AGREEMENT,
            FAMILY,
            "left out 13 rows: no human score",
            "Promise: the promise is an average",
            *FIGURES[:2],
        ],
    )


def test_learned_scores() -> None:
    assert_shown(
        LEARNED,
        [
            "Learned sets for 90 % coverage contain 1.35 to 2.65 of 5 scores on average and "
            "cover 91.7 to 92.1 % on held-out documents",
            "gpt-x: coverage in % and mean size of sets at each alpha, scale 1 to 5",
            "criterion | method | α 0.1",
            "fluency | learned | 92.1 2.65",
            "relevance | learned | 91.7 1.35",
            "relevance | constant | 96.8 3.02",
            "fluency | per-criterion | 91.2 3.45",
            "Rows by size of their learned set at alpha 0.1 (1 or 2 scores: trust; the entire "
            "scale: human; between: look), and Spearman of size and error",
            "judge, criterion | trust | look | human | Spearman",
            "gpt-x, fluency | 62.1 % | 27.9 % | 10 % | +0.22",
            "gpt-x, relevance | 61.7 % | 28.3 % | 10 % | +0.22",
            *AGREEMENT,
            "learned sets have 2.00 scores on average over judges and criteria, residual sets "
            "3.45, at alpha 0.1",
            "set size against error, learned sets: Spearman +0.31 over all rows, +0.24 within "
            "one judge and criterion",
            FAMILY,
            "left out 13 rows: no human score",
            "Promise: it holds on average",
            "detail: What this assumes",
            "detail: learned on one half",
            *FIGURES,
        ],
    )


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
    assert (
        "alpha 0.1: every set is the entire scale, because calibration needs 9 labelled documents "
        "and has 8"
    ) in terminal_lines(short)
    # Row by row there is another count, and with enough documents another cause.
    for other in (replace(short, weigh="rows"), replace(short, documents=18)):
        assert "alpha 0.1: every set is the entire scale" in terminal_lines(other)
    all_whole = tuple(replace(g, whole_scale=True) for g in groups)
    assert html_lines(replace(short, groups=all_whole))[0] == (
        "bad: Every set is the entire scale: 16 labelled documents are too few"
    )


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
    title = "Width against error within a criterion (Spearman): learned +0.24"
    assert figure.get_suptitle() == title
    panels = {panel["title"]: panel for panel in map(drawn, figure.axes)}
    fluency, relevance = panels["fluency"], panels["relevance"]
    assert fluency["x"] == "scores in the set (larger: more rows)"
    assert drawn(figure.axes[0])["y"] == "mean |judge − human|"
    assert fluency["lines"] == [[(2, 0.31), (3, 0.53)]]
    assert relevance["lines"] == [[(2, 0.31), (3, 0.27)]]
    assert legend(figure) == ["learned"]  # one judge: the lines are its own
    two = (*LEARNED.groups, *(replace(group, judge="other") for group in LEARNED.groups))
    both = replace(LEARNED, groups=two).plot(figure="width")
    assert legend(both) == ["learned", "small dots: one judge"]
    with pytest.raises(ArgumentError, match="choose one of sizes, coverage"):
        SCORES.plot(figure="width")


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
    assert drawn(agreement_figure(SCORES, ["per-criterion"]).axes[0])["title"] == "fluency: +0.36"
    for alone in (replace(LEARNED, agreement=()), replace(LEARNED, agreement=SCORES.agreement)):
        with pytest.raises(ArgumentError, match="choose one of sizes, coverage, width"):
            alone.plot(figure="agreement")
        assert html_lines(alone)[-3:] == FIGURES[:3]
