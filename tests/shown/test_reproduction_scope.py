"""What the reproduction of the SCOPE paper shows: our numbers, the paper's, and the pictures."""

from __future__ import annotations

from dataclasses import replace

from shown_selection import REPRODUCTION, RISKS

from adjudge_papers.paper import MeasuredTable, build_items
from adjudge_papers.printed import read_published, size_of
from adjudge_papers.scope import PICKS, ScopeReproduction
from shown import (
    assert_shown,
    named_points,
    panel,
    points,
    terminal_lines,
    title,
    words,
)

NOTES = [f"note: {text}" for text in read_published("scope")["notes"]]


def with_table(name: str, **changes: object) -> ScopeReproduction:
    tables = [
        replace(table, **changes) if table.name == name else table for table in REPRODUCTION.tables
    ]
    return replace(REPRODUCTION, tables=tuple(tables))


def test_the_scope_paper_reproduced() -> None:
    assert_shown(
        REPRODUCTION,
        [
            "scope's mean error share over 400 splits is at most alpha in 2 of 2 rows (1 data set)",
            "Data sets, without ties: mt-bench",
            "dataset | items | sampled",
            "mt-bench | 2,600 | 2,000",
            "Tables 1 and 2, quality of the uncertainty: mt-bench",
            "dataset, judge, signal | rows | no verdict | accuracy | ECE | AUROC | AUPRC",
            "mt-bench, Qwen2.5-7B-Instruct, single_order | 240 | 12 | 79 % | 0.052 | 0.703 | 0.888",
            "mt-bench, Qwen2.5-7B-Instruct, swap_vote_by_coin | 240 | 0 | 77 % | 0.112 | 0.651 "
            "| 0.834",
            "mt-bench, Qwen2.5-7B-Instruct, preference_entropy | 240 | 0 | 82 % | 0.031 | "
            "0.764 | 0.912",
            "Tables 1 and 2, quality of the uncertainty: as published (excerpts of the text "
            "and of a summary of it; neither names the data, and the bodies of both tables are "
            "not in the text)",
            "dataset, judge, signal | ECE | AUROC | AUPRC",
            "Qwen2.5-7B, single_order | 0.239 | 0.658 | 0.824",
            "Qwen2.5-7B, swap_vote_by_coin | 0.193 | 0.656 | 0.826",
            "Qwen2.5-7B, preference_entropy | 0.143 | 0.685 | 0.855",
            "Qwen2.5-7B, annotators | – | 0.590 | –",
            "Qwen2.5-14B, annotators | – | 0.600 | –",
            "Qwen2.5-14B, preference_entropy | – | 0.780 | –",
            "Qwen2.5-32B, preference_entropy | 0.172 | 0.729 | 0.908",
            "Llama-3.1-70B, preference_entropy | 0.145 | 0.744 | 0.894",
            "Table 3, coverage and error share at alpha 0.1: mt-bench",
            "dataset, judge, method | coverage | error share | ratio | above alpha",
            "mt-bench, Qwen2.5-7B-Instruct, vanilla | 1.000 | 0.213 | 0.214 | 96 %",
            "paper | 1.000 | 0.269 | – | –",
            "mt-bench, Qwen2.5-7B-Instruct, scope | 0.522 | 0.093 | 0.097 | 43 %",
            "paper | 0.246 | 0.097 | – | –",
            "Table 3, coverage and error share at alpha 0.1: as published (the numbers of the "
            "text and of a summary of it; the body of the table is not in the text)",
            "dataset, judge, method | coverage | error share",
            "mt-bench, Qwen2.5-7B, vanilla | 1.000 | 0.269",
            "mt-bench, Qwen2.5-7B, heuristic | 0.907 | 0.251",
            "mt-bench, Qwen2.5-7B, naive | 0.102 | 0.116",
            "mt-bench, Qwen2.5-7B, scope | 0.246 | 0.097",
            "mt-bench, Qwen2.5-14B, naive | – | 0.124",
            "mt-bench, Llama-3.1-70B, scope | 0.543 | –",
            "rewardbench, Qwen2.5-14B, scope | 0.890 | –",
            "rewardbench, Qwen2.5-32B, vanilla | 1.000 | 0.120",
            "rewardbench, Qwen2.5-32B, scope | 0.983 | 0.098",
            "chatbot-arena, Qwen2.5-14B, naive | – | 0.114",
            "chatbot-arena, Llama-3.1-70B, vanilla | 1.000 | 0.198",
            "chatbot-arena, Llama-3.1-70B, scope | 0.583 | 0.099",
            "Figures 2 and 3, coverage and error share of scope by alpha: mt-bench",
            "dataset, judge | coverage 0.05 | error share 0.05 | coverage 0.1 | error share 0.1",
            "mt-bench, Qwen2.5-7B-Instruct | 0.311 | 0.042 | 0.522 | 0.093",
            "paper | 0.018 | – | 0.246 | –",
            "Figures 2 and 3, coverage and error share of scope by alpha: as published (the "
            "coverages of the text)",
            "dataset, judge | coverage 0.05 | coverage 0.1 | coverage 0.15 | coverage 0.2 | "
            "coverage 0.25",
            "mt-bench, Qwen2.5-7B | 0.018 | 0.246 | 0.556 | 0.802 | 0.991",
            "mt-bench, Llama-3.1-70B | 0.072 | 0.543 | 0.790 | 0.950 | 1.000",
            "rewardbench, Qwen2.5-14B | – | 0.890 | – | – | –",
            "rewardbench, Qwen2.5-32B | – | 0.983 | – | – | –",
            "chatbot-arena, Qwen2.5-7B | 0.052 | – | – | – | 0.998",
            "chatbot-arena, Llama-3.1-70B | – | 0.583 | – | – | –",
            "Tables, figures and claims of the paper, 4 items: 3 reproduced, 1 not possible",
            "item | about | status | value | ours | paper | difference",
            "Table 3 | Risk | reproduced | coverage, scope | 0.522 | 0.246 | +0.276",
            "Figure 1 | Overview | not possible | a drawing without numbers | – | – | –",
            "Figure 2a | A picture | reproduced |  | – | – | –",
            "Figure 3 | A picture | reproduced |  | – | – | –",
            "2 of the paper's 12 rows: Table 3",
            "figure: Figure 2: coverage of scope by alpha; rings are the paper's judges.",
            "figure: Figure 3: below the dashed line the mean error share over splits is "
            "within alpha; the band is one standard deviation.",
            "warning: own, verbalized: no number",
            "left out 5 rows: no label",
            *NOTES,
        ],
    )
    frame = REPRODUCTION.to_frame()
    assert frame.select("dataset", "method", "coverage").row(1) == ("mt-bench", "scope", 0.522)
    above = ({**RISKS[1], "risk": 0.1034, "alpha": 0.1, "within": 0}, RISKS[2])
    assert terminal_lines(with_table("curves", rows=above))[0] == (
        "scope's mean error share over 400 splits is at most alpha in 1 of 2 rows (1 data set); "
        "the furthest above is 0.103 at alpha 0.1"
    )


def test_rows_of_other_judges_have_no_published_row() -> None:
    """The published table is shown whole, ours with our judges' names."""
    other = tuple({**row, "judge": "gemma-2b"} for row in RISKS if row["alpha"] == 0.1)
    lines = terminal_lines(with_table("risks", rows=other))
    start = lines.index("Table 3, coverage and error share at alpha 0.1: mt-bench")
    assert lines[start + 2 : start + 4] == [
        "mt-bench, gemma-2b, vanilla | 1.000 | 0.213 | 0.214 | 96 %",
        "mt-bench, gemma-2b, scope | 0.522 | 0.093 | 0.097 | 43 %",
    ]
    assert lines[start + 4].startswith("Table 3, coverage and error share at alpha 0.1: as publ")
    assert "mt-bench, Qwen2.5-7B, scope | 0.246 | 0.097" in lines[start + 4 :]


def test_without_data_it_says_that_it_is_simulated() -> None:
    simulated = with_table("curves", source="simulated")
    assert terminal_lines(simulated)[1] == (
        "Simulated judges, with numbers of the simulator, not of a real model. Compare the "
        "pattern with the paper's, not the numbers."
    )
    words = [text.get_text() for text in simulated.plot(figure="figure-02").texts]
    assert words == ["simulated"]
    assert not REPRODUCTION.plot(figure="figure-02").texts
    # A simulated judge with the name of one of the paper's is still simulated.
    [table] = [table for table in simulated.tables if table.name == "curves"]
    assert isinstance(table, MeasuredTable)
    assert "paper | 0.018 | – | 0.246 | –" not in terminal_lines(simulated)


def test_figures_2_and_3_have_the_papers_points_as_rings() -> None:
    assert list(REPRODUCTION.figures()) == ["figure-02", "figure-03"]
    coverage = panel(REPRODUCTION, "figure-02")
    drawn = named_points(coverage)
    assert drawn["Qwen2.5-7B-Instruct"] == [(0.05, 0.311), (0.1, 0.522)]
    rings = [line for line in points(coverage) if len(line) == 1]
    assert [(0.1, 0.246)] in rings
    assert [(0.05, 0.072)] in rings
    assert words(coverage) == (
        "mt-bench\n52 % accepted at alpha 0.1",
        "alpha: error level allowed",
        "share of verdicts accepted",
    )
    risk = panel(REPRODUCTION, "figure-03")
    assert named_points(risk)["Qwen2.5-7B-Instruct"] == [(0.05, 0.042), (0.1, 0.093)]
    assert title(risk) == "mt-bench\n2 of 2 means at or below alpha"
    band, mark = risk.collections
    assert mark.get_label() == "± one standard deviation"
    corners = {(round(x, 3), round(y, 3)) for x, y in band.get_paths()[0].vertices}
    assert {(0.05, 0.021), (0.05, 0.063), (0.1, 0.071), (0.1, 0.115)} <= corners


def test_a_judge_without_both_orders_is_in_no_denominator() -> None:
    one_order = {**RISKS[0], "judge": "gpt-4o", "signal": "verbalized", "n": 40, "no_verdict": 0,
                 "accuracy": 0.7, "ece": 0.2, "auroc": 0.6, "auprc": 0.8}  # fmt: skip
    rows = next(table.rows for table in REPRODUCTION.tables if table.name == "qualities")
    both = with_table("qualities", rows=(*rows, one_order))
    table = next(i for i in build_items("scope", both.tables, picks=PICKS) if i.name == "Table 1")
    assert (table.values[0].name, table.values[0].ours) == (
        "highest AUROC: BPE, % of judges with it", 100,
    )  # fmt: skip


def test_judges_of_one_size_share_a_colour_in_every_picture() -> None:
    sizes = ("Qwen2.5-7B", "vllm:Qwen2.5-7B-Instruct", "simulated-7b", "Llama-3.1-70B", "gpt-4o")
    assert [size_of(name) for name in sizes] == [7.0, 7.0, 7.0, 70.0, None]
