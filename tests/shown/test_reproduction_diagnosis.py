"""What the reproduction of the diagnosis paper shows: our numbers and the paper's, and pictures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudge.diagnosis.scores.result import PooledWidth, ScoreDiagnosis, ScoreSetGroup, WidthBin
from adjudge.diagnosis.transitivity import Transitivity, TransitivityGroup
from adjudge.errors import ArgumentError
from adjudge_papers.diagnosis import DiagnosisReproduction
from adjudge_papers.diagnosis_cycles import (
    CycleRow,
    CyclesAndWidths,
    PublishedCycles,
    VarianceShare,
)
from adjudge_papers.diagnosis_rankings import RankingRow
from adjudge_papers.diagnosis_sets import PooledErrors, SetCell, WidthPair
from adjudge_papers.items import ItemValue, PaperItem
from adjudge_papers.reproduction import interval_of
from shown import assert_shown, drawn, ends, legend, terminal_lines

DATA = "your judges"


def _cell(judge: str, criterion: str, alpha: float, coverage: float, size: float) -> SetCell:
    return SetCell(
        data=DATA, judge=judge, criterion=criterion, alpha=alpha, n=120, coverage=coverage,
        coverage_sd=0.02, mean_size=size, spearman=round(size / 5 - 0.7, 2), p_value=0.0312,
        monotonic=size > 3.5,
    )  # fmt: skip


CELLS = (
    replace(
        _cell("gpt-4o-mini", "coherence", 0.1, 0.962, 4.38), published_coverage=0.971,
        published_size=4.51, published_spearman=0.18,
    ),
    replace(
        _cell("gpt-4o-mini", "coherence", 0.2, 0.871, 3.02), published_coverage=0.876,
        published_size=2.98,
    ),
    _cell("gpt-4o-mini", "fluency", 0.1, 0.991, 4.93),
    _cell("gpt-4o-mini", "fluency", 0.2, 0.978, 4.87),
    _cell("mine", "coherence", 0.1, 0.884, 2.91),
    _cell("mine", "coherence", 0.2, 0.814, 2.33),
    replace(
        _cell("mine", "fluency", 0.1, 1.0, 5.0), spearman=None, p_value=None, monotonic=None
    ),
    _cell("mine", "fluency", 0.2, 0.924, 4.12),
)  # fmt: skip
BINS = (
    WidthBin(width=3, n=151, mean_error=0.41, interval=ends(0.33, 0.49)),
    WidthBin(width=5, n=89, mean_error=0.93, interval=None),
)
CYCLES = TransitivityGroup(
    judge="gpt-4o-mini", criterion="coherence", documents=30, documents_with_triples=30,
    complete=29, cycles=25, triples=1664, mean_rate=0.0151, mean_interval=ends(0.008, 0.022),
    median_rate=0.0, max_rate=0.089, share_with_cycle=0.433, share_interval=ends(0.25, 0.63),
    expected_rate=0.031, expected_rate_interval=ends(0.02, 0.04), expected_share=0.6,
    expected_share_interval=ends(0.4, 0.8), p_value=0.99, same_rate_share=0.487,
    same_rate_interval=ends(0.3, 0.7), models=8, decisive_edges=837, tied_edges=3,
    missing_edges=0, repeated_edges=840, win_rate_confidence=0.96, rates=(0.0, 0.0179, 0.089),
    eq1_mean=0.0149, eq1_median=0.0, eq1_max=0.089, eq1_share=0.433,
)  # fmt: skip
GROUP = ScoreSetGroup(
    judge="mine", criterion="coherence", method="per-criterion", alpha=0.1, n=240, documents=30,
    coverage=0.951, coverage_sd=0.03, mean_size=3.61, spearman=-0.1, quantile=1.0,
    whole_scale=False, distinct_widths=2, trust=0.1, look=0.8, human=0.1, by_width=(),
)  # fmt: skip
PAPER = DiagnosisReproduction(
    published_cycles=(
        PublishedCycles(judge="LLaMA-3.1-70B", criterion="coherence", rate=0.008, share=0.333,
                        max=0.036, median=0.0, chance_share=0.275),
        PublishedCycles(judge="Qwen-2.5-72B", criterion="fluency", rate=0.024, share=0.6,
                        max=None, median=None, chance_share=0.56),
    ),
    cycles=(
        CycleRow(judge="gpt-4o-mini", criterion="coherence", documents=30, rate=0.0149,
                 decisive_rate=0.0151, share=0.433, median=0.0, max=0.089, chance_share=0.487,
                 published_rate=0.014, published_share=0.467),
        CycleRow(judge="mine", criterion="coherence", documents=30, rate=0.0271,
                 decisive_rate=0.0312, share=0.567, median=0.0179, max=0.143, chance_share=None),
    ),
    rankings=tuple(
        RankingRow(data=DATA, judge=judge, criterion="coherence", method=method, systems=8,
                   documents=30, tau=tau, interval=interval_of(low, high), published=published)
        for judge, method, tau, low, high, published in (
            ("gpt-4o-mini", "win-rate", 0.7143, 0.43, 0.93, 0.714),
            ("gpt-4o-mini", "mfas", 0.6429, None, None, 0.643),
            ("mine", "win-rate", -0.0714, -0.5, 0.43, None),
            ("mine", "mfas", None, None, None, None),
        )
    )
    + tuple(
        RankingRow(data="paper", judge="LLaMA-3.1-70B", criterion="coherence", method=method,
                   systems=8, documents=30, tau=tau)
        for method, tau in (("win-rate", 0.571), ("mfas", 0.643))
    ),
    sets=(*CELLS, replace(CELLS[2], data="paper", coverage_sd=None, p_value=None, monotonic=None)),
    pairs=(
        WidthPair(data=DATA, judge_a="gpt-4o-mini", judge_b="mine", criterion="coherence", n=120,
                  spearman=0.214, p_value=0.019),
        WidthPair(data=DATA, judge_a="gpt-4o-mini", judge_b="mine", criterion="fluency", n=120,
                  spearman=None, p_value=None),
        WidthPair(data=DATA, judge_a="mine", judge_b="qwen-2.5-72b", criterion="coherence",
                  n=120, spearman=0.46, p_value=0.001),
        WidthPair(data=DATA, judge_a="gpt-4o-mini", judge_b="qwen-2.5-72b", criterion="fluency",
                  n=120, spearman=0.11, p_value=0.23, published=0.23),
    ),
    pooled=(
        PooledErrors(data=DATA, criterion=None, n=480, spearman=0.351, p_value=1e-15,
                     interval=interval_of(0.21, 0.49), bins=BINS, published=0.576),
        PooledErrors(data=DATA, criterion="coherence", n=240, spearman=0.094, p_value=0.146,
                     interval=interval_of(-0.06, 0.25), bins=BINS, published=0.16),
    ),
    variance=(
        VarianceShare(data="paper", quantity="mean set size", cells=16, criterion=0.842,
                      judge=0.061, rest=0.097),
        VarianceShare(data=DATA, quantity="mean set size", cells=4, criterion=0.21, judge=0.62,
                      rest=0.17),
        VarianceShare(data="paper", quantity="documents with a cycle", cells=16, criterion=0.29,
                      judge=0.26, rest=0.45),
    ),
    together=(
        CyclesAndWidths(data=DATA, judge="mine", criterion="coherence", sets="residual",
                        documents=30, spearman=-0.123, interval=interval_of(-0.44, 0.19)),
        CyclesAndWidths(data=DATA, judge="all", criterion="all", sets="residual", documents=30,
                        spearman=0.081, interval=None),
    ),
    transitivity=Transitivity(
        groups=(CYCLES,), worst=(), combine="mean", rows=2520, dropped={"no verdict": 4},
        replicates=50, confidence_level=0.95, seed=0, assumptions=(),
    ),
    scores={
        DATA: ScoreDiagnosis(
            groups=(GROUP, replace(GROUP, judge="other", coverage=0.963, mean_size=3.81)),
            agreement=(),
            pooled=(PooledWidth(method="per-criterion", alpha=0.1, n=480, pooled=0.3,
                                within=-0.07),),
            human_agreement=(), family=(), documents=30, scale=(1, 5), target="mean",
            weigh="documents", splits=20, confidence_level=0.95, seed=0,
            dropped={"no judge score": 1}, assumptions=(),
        )
    },
    tournaments=DATA, pictured=DATA, pairwise_answers=2520, score_answers=960, splits=20, seed=0,
    notes=("the caption of Table 1 contradicts it",),
    items=(
        PaperItem(paper="diagnosis", name="Table 2", about="Rankings", status="reproduced",
                  values=(ItemValue(name="mfas", ours=0.643, published=0.5, digits=3),),
                  reason="1 of the paper's 4 judges"),
        *(
            PaperItem(paper="diagnosis", name=f"Figure {k}", about="A picture",
                      status="reproduced", figure=f"figure-0{k}")
            for k in range(2, 7)
        ),
    ),
)  # fmt: skip


def test_the_diagnosis_paper() -> None:
    # Pictures have tests of their own.
    assert_shown(
        replace(PAPER, items=PAPER.items[:1]),
        [
            "43 to 57 % of documents have a cycle (paper 33 to 60 %), 1.5 to 2.7 % of triples "
            "are one (paper 0.8 to 2.4 %); sets for 90 % have 2.9 to 5.0 of 5 scores; their "
            "width against the error: +0.35 (paper +0.58)",
            "Tables 1 and 6, your judges: cycles over all triples (Eq. 1) and over decisive "
            "ones, documents with one, and the same rate at random",
            "judge, criterion | documents | rate | decisive | with cycle | at random | median | "
            "max",
            "gpt-4o-mini, coherence | 30 | 1.5 % | 1.5 % | 43.3 % | 48.7 % | 0 % | 8.9 %",
            "paper | – | 1.4 % | – | 46.7 % | – | – | –",
            "mine, coherence | 30 | 2.7 % | 3.1 % | 56.7 % | – | 1.8 % | 14.3 %",
            "Tables 1 and 6 as published, and documents with a cycle of a consistent judge with "
            "noise (5 points apart on average)",
            "judge, criterion | rate | with a cycle | by noise | median | max",
            "LLaMA-3.1-70B, coherence | 0.8 % | 33.3 % | 27.5 % | 0 % | 3.6 %",
            "Qwen-2.5-72B, fluency | 2.4 % | 60 % | 56 % | – | –",
            "Table 2, your judges: Kendall's tau with people's mean scores (size: documents x "
            "systems; the interval is over documents)",
            "judge, criterion | size | win-rate | 95 % interval | mfas",
            "gpt-4o-mini, coherence | 30 x 8 | 0.714 | [0.43, 0.93] | 0.643",
            "paper | – | 0.714 | – | 0.643",
            "mine, coherence | 30 x 8 | -0.071 | [-0.50, 0.43] | –",
            "paper, LLaMA-3.1-70B, coherence | 30 x 8 | 0.571 | – | 0.643",
            "Table 3, your judges, alpha 0.1: the paper's protocol, the error never falls with "
            "the width in 2 of 4 cells (1 with one width; paper 13 of 16)",
            "judge, criterion | coverage | size | width and error | p | error by width",
            "gpt-4o-mini, coherence | 96.2 % | 4.38 | +0.18 | 0.031 | never falls",
            "paper | 97.1 % | 4.51 | +0.18 | – | –",
            "gpt-4o-mini, fluency | 99.1 % | 4.93 | +0.29 | 0.031 | never falls",
            "mine, coherence | 88.4 % | 2.91 | -0.12 | 0.031 | falls",
            "mine, fluency | 100 % | 5.00 | – | – | one width",
            "Table 4, your judges, alpha 0.1: two judges' widths († p < 0.05, ‡ p < 0.01)",
            "judges | coherence | fluency",
            "gpt-4o-mini / mine | +0.21 † | –",
            "mine / qwen-2.5-72b | +0.46 ‡ | –",
            "gpt-4o-mini / qwen-2.5-72b | – | +0.11",
            "paper | – | +0.23",
            "mean | +0.34 | +0.11",
            "Table 5, your judges: coverage and mean size",
            "judge, criterion | alpha 0.1 | alpha 0.2",
            "gpt-4o-mini, coherence | 96.2 % 4.38 | 87.1 % 3.02",
            "paper, gpt-4o-mini, coherence | 97.1 % 4.51 | 87.6 % 2.98",
            "gpt-4o-mini, fluency | 99.1 % 4.93 | 97.8 % 4.87",
            "mine, coherence | 88.4 % 2.91 | 81.4 % 2.33",
            "mine, fluency | 100 % 5.00 | 92.4 % 4.12",
            "Table 3, as published, alpha 0.1",
            "judge, criterion | coverage | size | width and error | p | error by width",
            "gpt-4o-mini, fluency | 99.1 % | 4.93 | +0.29 | – | –",
            "Table 5, as published: coverage and mean size",
            "judge, criterion | alpha 0.1",
            "gpt-4o-mini, fluency | 99.1 % 4.93",
            "Section 5.2 and Figure 4, alpha 0.1: all judges together, one split",
            "data, criterion | rows | width and error | 95 % interval | p | paper",
            "your judges, all | 480 | +0.35 | [0.21, 0.49] | < 0.0001 | +0.576",
            "your judges, coherence | 240 | +0.09 | [-0.06, 0.25] | 0.15 | +0.16",
            "The same at alpha 0.1 with documents split and weighed, not rows: coverage and "
            "size, means over judges; width and error within one judge and criterion",
            "sets | coherence | width and error",
            "your judges, per-criterion | 95.7 % 3.71 | -0.07",
            "Sections 5.2 and 5.3: what explains the variance over judges and criteria",
            "quantity | data | cells | criterion | judge | rest",
            "mean set size | paper | 16 | 84 % | 6 % | 10 %",
            "mean set size | your judges | 4 | 21 % | 62 % | 17 %",
            "documents with a cycle | paper | 16 | 29 % | 26 % | 45 %",
            "mean set size, paper: criterion explains more than judge; mean set size, your "
            "judges: judge explains more than criterion; documents with a cycle, paper: neither "
            "criterion nor judge explains twice as much as the other",
            "Section 5.3: a document's cycle rate and its mean set width (the paper has no number)",
            "judge, criterion | data, sets | documents | Spearman | 95 % interval",
            "mine, coherence | your judges, residual | 30 | -0.12 | [-0.44, 0.19]",
            "all | your judges, residual | 30 | +0.08 | –",
            "Tables, figures and claims of the paper, 1 item: 1 reproduced",
            "item | about | status | value | ours | paper | difference",
            "Table 2 | Rankings | reproduced | mfas | 0.643 | 0.500 | +0.143",
            "1 of the paper's 4 judges: Table 2",
            "left out 4 rows: no verdict",
            "your judges: left out 1 row: no judge score",
            "the caption of Table 1 contradicts it",
        ],
    )
    assert PAPER.to_frame().height == 9


def test_what_is_simulated_or_missing_is_said() -> None:
    invented = replace(PAPER, simulated_cycles=True)
    assert terminal_lines(invented)[1].startswith("Simulated where nothing was given")
    none = replace(PAPER.cycles[0], rate=None, share=None)
    silent = replace(PAPER, cycles=(none,), rankings=(), pairs=(), together=(), items=())
    lines = terminal_lines(silent)
    assert lines[0].startswith("No cycle could be counted; sets for 90 %")
    assert not any(line.startswith(("Table 2", "Table 4", "Section 5.3:")) for line in lines)


def test_the_picture_of_sizes() -> None:
    figure = PAPER.plot(figure="figure-03")
    assert figure.get_suptitle() == (
        "your judges: sets for 90 % coverage have 2.9 to 5.0 of 5 scores"
    )
    panel = drawn(figure.axes[0])
    assert (panel["x ticks"], panel["y ticks"]) == (
        ["coherence", "fluency"],
        ["gpt-4o-mini", "mine"],
    )
    assert panel["texts"] == [
        *("4.38 (paper 4.51)", "covers 96.2 %", "4.93", "covers 99.1 %"),
        *("2.91", "covers 88.4 %", "5.00", "covers 100 %"),
    ]


def test_the_picture_of_width_and_error() -> None:
    figure = PAPER.plot(figure="figure-04")
    assert figure.get_suptitle() == (
        "your judges: width against error +0.35 over all 480 rows (paper +0.576)"
    )
    [panel] = map(drawn, figure.axes)
    assert panel["title"] == "coherence (paper +0.16)\nr = +0.09, p = 0.15"
    # The error at each width, then the interval where there is one.
    assert panel["lines"] == [[(3, 0.41), (5, 0.93)], [(3, 0.33), (3, 0.49)]]
    assert panel["x ticks"] == ["1\n", "2\n", "3\n151", "4\n", "5\n89"]


def test_the_picture_of_widths_of_two_judges() -> None:
    figure = PAPER.plot(figure="figure-05")
    panel = drawn(figure.axes[0])
    assert panel["title"] == "coherence: +0.34"
    assert panel["x ticks"] == panel["y ticks"] == ["gpt-4o-mini", "mine", "qwen-2.5-72b"]
    with pytest.raises(ArgumentError, match="agreement between judges needs two"):
        replace(PAPER, pairs=()).plot(figure="figure-05")


def test_the_picture_of_coverage() -> None:
    figure = PAPER.plot(figure="figure-06")
    assert figure.get_suptitle() == "your judges: coverage is below 1 − alpha in 1 of 8 cells"
    coherence, fluency = map(drawn, figure.axes)
    assert coherence["lines"] == [[(0.1, 92.3), (0.2, 84.25)], [(0.1, 90), (0.2, 80)]]
    assert fluency["lines"][0] == [(0.1, 99.55), (0.2, 95.1)]
    [band] = figure.axes[0].collections
    heights = {round(float(y), 2) for _, y in band.get_paths()[0].vertices}
    spread = 7.8 / 2**0.5
    assert {round(92.3 - spread, 2), round(92.3 + spread, 2)} <= heights
    assert legend(figure) == ["mean over judges", "one standard deviation", "1 − alpha"]


def test_every_picture_has_a_name() -> None:
    captions = {name: block.caption for name, block in PAPER.figures().items()}
    assert captions == {
        "figure-02": "Each dot is a document; the bar is the mean rate that a transitive judge "
        "with noise shows on the same comparisons.",
        "figure-03": "Mean number of scores in a set and coverage on the other half of the rows "
        "(bold: below 90 %).",
        "figure-04": "Mean error at each width with 95 % intervals over documents, all judges "
        "together.",
        "figure-05": "Spearman correlation of the widths that two judges give a row.",
        "figure-06": "Coverage by alpha, the mean over judges; bands are one standard deviation "
        "over them.",
    }
    assert replace(PAPER, items=()).figures() == {}
