"""What the reproduction of the SCOPE paper shows: our numbers, the paper's, and the pictures."""

from __future__ import annotations

from dataclasses import replace

from shown_selection import EVALUATION, REPRODUCTION

from adjudge_papers.reproduction import size_of
from adjudge_papers.scope_figures import PICTURES
from shown import (
    assert_shown,
    legend,
    named_points,
    panel,
    points,
    terminal_lines,
    title,
    words,
    y_ticks,
)


def test_the_scope_paper_reproduced() -> None:
    assert_shown(
        REPRODUCTION,
        [
            "scope's mean error share over 400 splits is at most alpha in 2 of 2 rows (1 data set)",
            "mt-bench: 2,000 of 2,600 items without ties (Tables 1 and 2)",
            "judge | signal | rows | no verdict | accuracy | ECE | ECE paper | AUROC | AUROC paper "
            "| AUPRC | AUPRC paper",
            "x | single_order | 240 | 12 | 0.790 | 0.052 | – | 0.703 | 0.658 | 0.888 | –",
            "x | swap_vote_by_coin | 240 | 0 | 0.770 | 0.112 | – | 0.651 | – | 0.834 | –",
            "x | preference_entropy | 240 | 0 | 0.820 | 0.031 | 0.143 | 0.764 | 0.685 | 0.912 | "
            "0.855",
            "mt-bench, x (Table 3; Figure 2 for scope)",
            "method | alpha | coverage | paper | error share | paper | ratio | above alpha",
            "vanilla | 0.1 | 1.000 | – | 0.213 | – | 0.214 | 96 %",
            "scope | 0.05 | 0.311 | – | 0.042 | – | 0.046 | 31 %",
            "scope | 0.1 | 0.522 | 0.246 | 0.093 | 0.088 | 0.097 | 43 %",
            "pac | 0.1 | 0.333 | – | 0.058 | – | 0.066 | 8 %",
            "left out 5 rows: no label",
            "Items of the paper, 2 items: 1 reproduced, 1 not possible",
            "item | about | status | value | ours | paper | difference",
            "Table 3 | Risk | reproduced | coverage, 7B scope | 0.522 | 0.246 | +0.276",
            "Figure 1 | Overview | not possible | a drawing without numbers | – | – | –",
            "1 of the paper's 12 judges on data sets: Table 3",
            *(f"figure: {caption}" for _, caption in PICTURES.values()),
            "warning: own, verbalized: no number",
            "note: A NOTE",
        ],
    )
    frame = REPRODUCTION.to_frame()
    assert frame.select("dataset", "method", "coverage").row(3) == ("mt-bench", "scope", 0.522)
    above = replace(EVALUATION.methods[3], risk=0.1034)
    other = replace(EVALUATION, methods=(*EVALUATION.methods[:3], above))
    worse = replace(REPRODUCTION, datasets=(replace(REPRODUCTION.datasets[0], evaluation=other),))
    assert terminal_lines(worse)[0] == (
        "scope's mean error share over 400 splits is at most alpha in 1 of 2 rows (1 data set); "
        "the furthest above is 0.103 at alpha 0.1"
    )


def test_without_data_it_says_that_it_is_simulated() -> None:
    simulated = replace(REPRODUCTION, simulated=True)
    assert terminal_lines(simulated)[1] == (
        "Simulated judgments of the paper's shape: judges and numbers are invented. Compare the "
        "pattern with the paper's, not the numbers."
    )
    assert title(panel(simulated, "figure-02")).startswith("mt-bench (simulated)\n")


def test_figures_2_and_3_have_the_papers_points_as_rings() -> None:
    assert list(REPRODUCTION.figures()) == ["figure-02", "figure-03", "table-03", "quality"]
    coverage = panel(REPRODUCTION, "figure-02")
    assert named_points(coverage) == {
        "x": [(0.05, 0.311), (0.1, 0.522)],
        "x, paper": [(0.1, 0.246)],
        "Llama-70B, paper": [(0.05, 0.072)],
    }
    assert words(coverage) == (
        "mt-bench\n52 % accepted at alpha 0.1",
        "alpha: error level allowed",
        "share of verdicts accepted",
    )
    drawn = panel(REPRODUCTION, "figure-03")
    assert named_points(drawn)["x"] == [(0.05, 0.042), (0.1, 0.093)]
    assert named_points(drawn)["x, paper"] == [(0.1, 0.088)]
    assert title(drawn) == "mt-bench\n2 of 2 means at or below alpha"
    band, mark = drawn.collections
    assert mark.get_label() == "± one standard deviation"
    corners = {(round(x, 3), round(y, 3)) for x, y in band.get_paths()[0].vertices}
    assert {(0.05, 0.021), (0.05, 0.063), (0.1, 0.07), (0.1, 0.116)} <= corners


def test_tables_as_pictures() -> None:
    figure = REPRODUCTION.plot(figure="table-03")
    (axes,) = figure.axes
    assert words(axes) == (
        "mt-bench\nMeans above alpha, 1 judge:\nvanilla 1",
        "share of verdicts accepted",
        "error share among accepted",
    )
    assert {(1.0, 0.213), (0.522, 0.093)} <= {p for line in points(axes) for p in line}
    assert named_points(axes)["Llama-70B, paper"] == [(1.0, 0.217)]
    assert [name for name in legend(figure) if name] == [
        *("Llama-70B, paper", "alpha = 0.1", "x", "vanilla", "heuristic", "naive", "scope"),
        "x, paper",
    ]
    quality = REPRODUCTION.plot(figure="quality")
    ece, auroc, _ = quality.axes
    assert y_ticks(ece) == ["x", "x, paper"]
    assert [title(axes) for axes in quality.axes] == [
        "ECE: BPE is lowest in 1 of 1",
        "AUROC: BPE is highest in 1 of 1",
        "AUPRC: BPE is highest in 1 of 1",
    ]
    dots = {p for line in points(auroc) for p in line}
    assert {(0.703, 0.0), (0.651, 0.0), (0.764, 0.0), (0.685, 1.0), (0.658, 1.0)} <= dots
    assert legend(quality) == ["predictive probability", "swap and vote, coin", "BPE", "paper"]


def test_judges_of_one_size_share_a_colour_in_every_picture() -> None:
    sizes = ("Qwen2.5-7B", "vllm:Qwen2.5-7B-Instruct", "simulated-7b", "Llama-3.1-70B", "gpt-4o")
    assert [size_of(name) for name in sizes] == [7.0, 7.0, 7.0, 70.0, None]
