"""What the reproduction of the diagnosis paper shows: our numbers and the paper's, and pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adjudge.diagnosis.transitivity import Transitivity, TransitivityGroup
from adjudge.errors import ArgumentError
from adjudge_papers.diagnosis import DiagnosisReproduction
from adjudge_papers.items import ItemValue, PaperItem
from adjudge_papers.paper import MeasuredTable
from shown import drawn, ends, terminal_lines

DATA = "scores.csv"
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


def _table(name: str, *rows: dict[str, Any], **changes: Any) -> MeasuredTable:
    return MeasuredTable(**{"name": name, "rows": rows, "data": DATA, "source": "yours", **changes})


def _cell(
    judge: str, criterion: str, coverage: float, size: float, **others: Any
) -> dict[str, Any]:
    return {
        "judge": judge,
        "criterion": criterion,
        "coverage": coverage,
        "mean_size": size,
        **others,
    }


SIGNALS = (
    _cell("gpt-4o-mini", "coherence", 0.962, 4.38, n=120, spearman=0.18, p_value=0.0312,
          by_width="never falls", monotonic=1),
    _cell("mine", "coherence", 0.884, 2.91, n=120, spearman=-0.12, p_value=0.2, by_width="falls",
          monotonic=0),
    _cell("mine", "fluency", 1.0, 5.0, n=120, spearman=None, p_value=None, by_width="one width",
          monotonic=None),
)  # fmt: skip
PAPER = DiagnosisReproduction(
    settings={"splits": 20},
    seed=0,
    tables=(
        _table(
            "cycles",
            {"judge": "gpt-4o-mini", "criterion": "coherence", "documents": 30, "rate": 0.0149,
             "decisive_rate": 0.0151, "share": 0.433, "median": 0.0, "max": 0.089,
             "chance_share": 0.487},
            {"judge": "mine", "criterion": "coherence", "documents": 30, "rate": 0.0271,
             "decisive_rate": 0.0312, "share": 0.567, "median": 0.0179, "max": 0.143,
             "chance_share": None},
            data="pairs.csv",
        ),
        _table(
            "rankings",
            *(
                {"judge": judge, "criterion": "coherence", "method": method, "tau": tau,
                 "tau_low": low, "tau_high": high, "systems": 8, "documents": 30}
                for judge, method, tau, low, high in (
                    ("gpt-4o-mini", "win-rate", 0.7143, 0.43, 0.93),
                    ("gpt-4o-mini", "mfas", 0.6429, None, None),
                    ("mine", "win-rate", -0.0714, -0.5, 0.43),
                )
            ),
        ),
        _table("signals", *SIGNALS),
        _table(
            "sets",
            *(
                _cell("mine", "coherence", 0.8 + alpha, 5 - 10 * alpha, alpha=alpha, margin=margin)
                for alpha, margin in ((0.1, 0.0), (0.2, 0.2))
            ),
        ),
        _table(
            "agreement",
            {"judge_a": "qwen-2.5-72b", "judge_b": "gpt-4o-mini", "criterion": "fluency",
             "spearman": 0.11, "p_value": 0.23, "n": 120},
        ),
        _table(
            "pooled",
            *(
                {"criterion": name, "n": n, "spearman": value, "spearman_low": 0.2,
                 "spearman_high": 0.5, "p_value": 1e-15}
                for name, n, value in (("all", 480, 0.351), ("coherence", 240, 0.094))
            ),
            same_data=False,
        ),
        _table(
            "bins",
            *(
                {"criterion": "coherence", "width": width, "n": n, "mean_error": error,
                 "mean_error_low": low, "mean_error_high": high}
                for width, n, error, low, high in (
                    (3, 151, 0.41, 0.33, 0.49), (5, 89, 0.93, None, None),
                )
            ),
        ),
    ),
    transitivity=Transitivity(
        groups=(CYCLES,), worst=(), combine="mean", rows=2520, dropped={"no verdict": 4},
        replicates=50, confidence_level=0.95, seed=0, assumptions=(),
    ),
    dropped={"no verdict": 4},
    items=(
        PaperItem(paper="diagnosis", name="Table 2", about="Rankings", status="reproduced",
                  values=(ItemValue(name="mfas", ours=0.643, published=0.643, digits=3),),
                  reason="2 of the paper's 20 rows"),
        *(
            PaperItem(paper="diagnosis", name=f"Figure {k}", about="A picture",
                      status="reproduced", figure=f"figure-0{k}")
            for k in range(2, 7)
        ),
    ),
)  # fmt: skip


def test_the_diagnosis_paper() -> None:
    lines = terminal_lines(PAPER)
    assert lines[0] == (
        "43 to 57 % of documents have a cycle, 1.5 to 2.7 % of triples are one; sets for 90 % have "
        "2.9 to 5.0 of 5 scores; their width against the error: +0.35 (paper +0.58)"
    )
    at = lines.index("gpt-4o-mini, coherence | 30 | 1.5 % | 1.5 % | 43.3 % | 48.7 % | 0 % | 8.9 %")
    assert lines[at + 1 : at + 3] == [
        "paper | – | 1.4 % | – | 46.7 % | – | 0 % | 7.1 %",
        "mine, coherence | 30 | 2.7 % | 3.1 % | 56.7 % | – | 1.8 % | 14.3 %",
    ]
    for line in (
        "LLaMA-3.1-70B, fluency | 3.3 % | 66.7 % | – | –",
        "gpt-4o-mini, coherence | 0.714 [0.430, 0.930] | 0.643",
        "paper | 0.714 | 0.643",
        "mine, coherence | -0.071 [-0.500, 0.430] | –",
        "Mistral-Small, coherence | 0.071 | 0.071 | 0.071 | 0.071 | 0.071",
        "gpt-4o-mini, coherence | 120 | 96.2 % | 4.38 | +0.18 | 0.031 | never falls",
        "paper | – | 97.1 % | 4.51 | +0.18 | – | –",
        "mine, fluency | 120 | 100 % | 5.00 | – | – | one width",
        "mine, coherence | 90 % | 4.00 | 100 % | 3.00",
        "qwen-2.5-72b, gpt-4o-mini | +0.11",
        "paper | +0.23",
        "GPT-4o-mini, LLaMA-3.1-70B | +0.12 | +0.22 | +0.45 | +0.28",
        "all | 480 | +0.351 | [0.20, 0.50] | < 0.0001",
        "all | 1,918 | +0.576",
        "Table 2 | Rankings | reproduced | mfas | 0.643 | 0.643 | +0.000",
        "2 of the paper's 20 rows: Table 2",
        "left out 4 rows: no verdict",
    ):
        assert line in lines, line
    assert PAPER.to_frame().height == 2


def test_what_is_simulated_or_missing_is_said() -> None:
    tables = [replace(table, source="simulated") for table in PAPER.tables]
    invented = replace(PAPER, tables=tuple(tables))
    lines = terminal_lines(invented)
    assert lines[1].startswith("Simulated where nothing was given")
    assert not any(line.startswith("paper |") for line in lines)
    assert invented.plot(figure="figure-03").texts[-1].get_text() == "simulated"
    silent = replace(PAPER, tables=PAPER.tables[2:], items=())
    assert terminal_lines(silent)[0].startswith("No cycle could be counted; sets for 90 %")


def test_the_picture_of_sizes() -> None:
    tables = tuple(replace(table, data=f"home/me/{table.data}") for table in PAPER.tables)
    figure = replace(PAPER, tables=tables).plot(figure="figure-03")
    title = "scores.csv: sets for 90 % coverage have 2.9 to 5.0 of 5 scores"
    assert figure.get_suptitle() == title
    panel = drawn(figure.axes[0])
    assert (panel["x ticks"], panel["y ticks"]) == (
        ["coherence", "fluency"],
        ["gpt-4o-mini", "mine"],
    )


def test_the_picture_of_width_and_error() -> None:
    figure = PAPER.plot(figure="figure-04")
    title = "scores.csv: width against error +0.35 over all 480 rows"
    assert figure.get_suptitle() == title
    [panel] = map(drawn, figure.axes)
    assert panel["title"] == "coherence\nr = +0.09"


def test_the_picture_of_coverage() -> None:
    figure = PAPER.plot(figure="figure-06")
    assert figure.get_suptitle() == "scores.csv: coverage is at least 1 − alpha in all 2 cells"


def test_one_judge_has_no_picture_of_agreement() -> None:
    tables = [table for table in PAPER.tables if table.name != "agreement"]
    alone = replace(PAPER, tables=tuple(tables))
    with pytest.raises(ArgumentError, match="needs two"):
        alone.plot(figure="figure-05")
