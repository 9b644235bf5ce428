"""The published tables as they are kept, and what the reproduction must show of them.

Numbers of the simulated study are `reproduce_diagnosis(splits=4, seed=0)`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from summeval_file import write_summeval

from adjudge.cli import run
from adjudge_papers.diagnosis import DiagnosisReproduction, reproduce_diagnosis
from adjudge_papers.diagnosis_cycles import published_cycles, published_variance
from adjudge_papers.diagnosis_data import (
    ALPHAS,
    CRITERIA,
    DOCUMENTS,
    JUDGES,
    REPEATS,
    SYSTEMS,
    Size,
    crowd_as_judge,
    published_agreement,
    published_row,
    published_rows,
)
from adjudge_papers.diagnosis_rankings import published_tau
from adjudge_papers.items import read_published
from shown import title, y_ticks

#: The paper's number of each value of an item.
PRINTED = {
    name: {
        value: known["paper"] if isinstance(known, dict) else known
        for value, known in item.get("values", {}).items()
        if known != {}
    }
    for name, item in read_published("diagnosis")["items"].items()
}
PAIRWISE_CALLS = PRINTED["Figure 1"]["pairwise answers"]
SCORE_CALLS = PRINTED["Figure 1"]["scores"]


@pytest.fixture(scope="module")
def done() -> DiagnosisReproduction:
    return reproduce_diagnosis(splits=4)


# --- the paper's own numbers -----------------------------------------------------------------


def test_published_rates_are_counts_of_triples_of_eight_systems() -> None:
    # Rates per document are k/56, so the largest and median ones must be.
    rows = published_rows("cycles")
    assert [row["judge"] for row in rows if row["max"] is not None] == list(JUDGES)
    for row in rows:
        for value in {row["max"], row["median"]} - {None}:
            assert min(abs(value - k / 56) for k in range(21)) < 6e-4
        assert min(abs(row["share"] - k / 30) for k in range(31)) < 6e-4


def test_published_taus_are_those_of_eight_systems_without_ties() -> None:
    # 28 pairs of systems: tau is 1 - 2 k / 28.
    rows = published_rows("rankings")
    assert len(rows) == 5 * len(JUDGES)
    for row in rows:
        assert min(abs(row["tau"] - (1 - k / 14)) for k in range(29)) < 6e-4


def test_the_papers_design_gives_its_counts_of_calls() -> None:
    cells = len(JUDGES) * len(CRITERIA)
    assert DOCUMENTS * SYSTEMS * (SYSTEMS - 1) // 2 * REPEATS * cells == PAIRWISE_CALLS
    assert DOCUMENTS * SYSTEMS * cells == SCORE_CALLS
    # Half of the rows of every cell, but for two.
    assert DOCUMENTS * SYSTEMS // 2 * cells - PRINTED["Section 5.2, width and error"]["rows"] == 2


def test_every_published_cell_meets_its_level() -> None:
    cells = published_rows("sets")
    assert len(cells) == 64
    assert all(cell["coverage"] >= 1 - cell["alpha"] for cell in cells)
    assert {cell["judge"] for cell in cells} == set(JUDGES)
    assert {cell["alpha"] for cell in cells} == set(ALPHAS)


def test_means_of_table_4_are_those_printed_below_it() -> None:
    rows = published_rows("agreement")
    assert len({(row["judge_a"], row["judge_b"]) for row in rows}) == 6
    for criterion in CRITERIA:
        mean = np.mean([row["spearman"] for row in rows if row["criterion"] == criterion])
        printed = PRINTED["Table 4"][f"{criterion}, mean over pairs"]
        assert mean == pytest.approx(printed, abs=0.0051)


def test_means_and_ranges_of_the_items_are_those_of_the_tables() -> None:
    main = [row for row in published_rows("sets") if row["alpha"] == 0.1]
    for criterion in CRITERIA:
        cells = [row for row in main if row["criterion"] == criterion]
        size = PRINTED["Table 3"][f"mean size, {criterion}"]
        assert np.mean([row["mean_size"] for row in cells]) == pytest.approx(size)
        ranks = [row["spearman"] for row in cells if row["spearman"] is not None]
        if ranks:
            printed = PRINTED["Table 3"][f"width against error, {criterion}, mean over judges"]
            assert np.mean(ranks) == pytest.approx(printed)
    for method in ("win-rate", "bt", "schulze", "copeland", "mfas"):
        taus = [row["tau"] for row in published_rows("rankings") if row["method"] == method]
        assert np.mean(taus) == pytest.approx(PRINTED["Table 2"][f"{method}, mean over judges"])
    cycles = published_rows("cycles")
    for item, rows in (
        ("Table 1", [row for row in cycles if row["criterion"] == "coherence"]),
        ("Table 6", cycles),
    ):
        for value, column in (("mean rate", "rate"), ("documents with a cycle", "share")):
            ends = [PRINTED[item][f"{value}, %, {end}"] for end in ("least", "most")]
            shares = [100 * row[column] for row in rows]
            assert [min(shares), max(shares)] == pytest.approx(ends)
    margins = [100 * (row["coverage"] - 1 + row["alpha"]) for row in published_rows("sets")]
    least = PRINTED["Table 5"]["least coverage minus target, points"]
    assert min(margins) == pytest.approx(least)


def test_the_papers_judges_are_known_by_name() -> None:
    spec = "openrouter:mistralai/mistral-small-3.1-24b-instruct"
    cell = published_row("sets", spec, criterion="fluency", alpha=0.1)
    assert (cell["coverage"], cell["mean_size"]) == (1.0, 4.99)
    assert published_row("sets", "gpt-4o", criterion="fluency", alpha=0.1) == {}
    assert published_tau("openai:gpt-4o-mini", "coherence", "mfas") == 0.643
    assert published_tau("openai:gpt-4o-mini", "fluency", "mfas") is None
    assert published_agreement(spec, "gpt-4o-mini", "fluency") == 0.81
    assert published_agreement("gpt-4o-mini", "gpt-4o-mini", "fluency") is None


def test_the_published_share_of_documents_is_what_noise_of_that_rate_shows() -> None:
    """The finding: "33 to 67 % of documents" restates the mean rate."""
    rows = published_cycles()
    assert len(rows) == 16
    published = np.array([row.share for row in rows])
    chance = np.array([row.chance_share for row in rows])
    assert np.corrcoef(published, chance)[0, 1] > 0.8
    assert abs(float((published - chance).mean())) < 0.05


def test_the_papers_cycles_do_not_say_that_criterion_matters_more_than_judge() -> None:
    """Of set sizes it is so; of Table 6 the criterion explains 29 % and the judge 26 %."""
    size, cycle = published_variance()
    assert (size.criterion, size.judge) == pytest.approx((0.842, 0.061), abs=0.0006)
    assert (cycle.criterion, cycle.judge) == pytest.approx((0.290, 0.260), abs=0.0006)


# --- the simulated study ---------------------------------------------------------------------

#: Judge: mean rate by Eq. 1, documents with a cycle, coverage and size at 0.1, width and error.
COHERENCE = {
    "simulated 1": (0.0119, 0.4000, 0.9396, 2.7125, -0.1350),
    "simulated 2": (0.0113, 0.4333, 0.9250, 2.7125, -0.1694),
    "simulated 3": (0.0083, 0.3667, 0.9812, 3.8396, -0.2780),
    "simulated 4": (0.0202, 0.4667, 0.9146, 2.7125, -0.2045),
}
TITLES = {
    "figure-02": ["Cycles: 0.7 to 5.2 % of a document's triples, in 30 to 73 % of documents"],
    "figure-03": [],
    "figure-04": [
        "coherence (paper +0.16)\nr = -0.05, p = 0.29",
        "consistency (paper +0.34)\nr = -0.41, p < 0.0001",
        "fluency (paper +0.15)\nr = -0.39, p < 0.0001",
        "relevance (paper -0.01)\nr = -0.19, p < 0.0001",
    ],
    "figure-05": [
        "coherence: +0.35", "consistency: +0.36", "fluency: +0.29", "relevance: +0.37",
    ],
    "figure-06": list(CRITERIA),
}  # fmt: skip


def test_the_simulated_study(done: DiagnosisReproduction) -> None:
    assert (done.pairwise_answers, done.score_answers) == (PAIRWISE_CALLS, SCORE_CALLS)
    measured = {}
    for row in done.cycles:
        if row.criterion == "coherence":
            [cell] = [
                c for c in done.sets
                if (c.judge, c.criterion, c.alpha) == (row.judge, "coherence", 0.1)
            ]  # fmt: skip
            assert cell.spearman is not None
            assert cell.n == 120
            rates = row.rate, row.share
            measured[row.judge] = (*rates, cell.coverage, cell.mean_size, cell.spearman)
    assert measured.keys() == COHERENCE.keys()
    for judge, golden in COHERENCE.items():
        assert measured[judge] == pytest.approx(golden, abs=0.00006)


def test_hard_documents_have_cycles_and_residual_widths_do_not_say_so(
    done: DiagnosisReproduction,
) -> None:
    """The truth is known: the same hardness makes cycles and errors. Adaptive sets see it."""
    whole = {part.sets: part for part in done.together if part.judge == "all"}
    adaptive, residual = whole["adaptive"], whole["residual"]
    assert adaptive.interval is not None
    assert adaptive.interval.low > 0.5
    assert residual.interval is not None
    assert residual.interval.high < 0


def test_simulated_sets_hold_and_width_of_a_constant_quantile_does_not_follow_error(
    done: DiagnosisReproduction,
) -> None:
    own = done.scores["simulator"]
    for method in ("per-criterion", "adaptive"):
        for alpha in ALPHAS:
            covered = [g.coverage for g in own.groups if (g.method, g.alpha) == (method, alpha)]
            assert len(covered) == 16
            assert np.mean(covered) >= 1 - alpha - 0.01
    within = {p.method: p.within for p in own.pooled if p.alpha == 0.1}
    assert within["adaptive"] is not None
    assert within["per-criterion"] is not None
    assert within["per-criterion"] < 0 < within["adaptive"]


def test_every_picture_of_the_paper(done: DiagnosisReproduction) -> None:
    pictures = done.figures()
    assert list(pictures) == list(done.drawings) == list(TITLES)
    judges = [f"simulated {k}" for k in range(1, 5)]
    for name, picture in pictures.items():
        figure = picture.draw()
        assert [title(axes) for axes in figure.axes if title(axes)] == TITLES[name], name
        if name in ("figure-03", "figure-05"):
            assert y_ticks(figure.axes[0]) == judges


def test_every_item_is_listed(done: DiagnosisReproduction) -> None:
    names = {item.name: item for item in done.items}
    assert {f"Table {k}" for k in range(1, 7)} | {f"Figure {k}" for k in range(1, 7)} <= {*names}
    missing = {name for name, item in names.items() if item.status == "not possible"}
    assert missing == {"Appendix A", "Section 7, prompts"}
    assert {item.figure for item in done.items} - {None} == set(done.drawings)
    assert all(value.ours is not None for item in done.items for value in item.values)


# --- SummEval --------------------------------------------------------------------------------


def test_summeval_as_published_is_cut_to_the_papers_size(tmp_path: Path) -> None:
    path = write_summeval(tmp_path / "model_annotations.aligned.jsonl", articles=False)
    frame = crowd_as_judge(path, Size())
    assert frame["doc_id"].n_unique() == 30
    assert frame["model"].unique().sort().to_list() == sorted(
        f"M{k}" for k in (0, 2, 4, 6, 9, 11, 13, 15)
    )
    assert frame.height == 30 * 8 * 4
    assert crowd_as_judge(path, Size(documents=None, systems=None)).height == 32 * 16 * 4


def test_the_crowd_is_ranked_and_its_cycles_are_simulated(tmp_path: Path) -> None:
    path = write_summeval(tmp_path / "aligned.jsonl", documents=12, systems=5, articles=False)
    done = reproduce_diagnosis(path, splits=1)
    assert (done.tournaments, done.pictured) == ("simulator", "SummEval, crowd")
    assert {row.data for row in done.rankings} == {"SummEval, crowd, by scores", "paper"}
    status = {item.name: (item.status, item.reason) for item in done.items}
    assert status["Table 2"] == (
        "reproduced", "other judges than the paper's, pairs decided by their scores",
    )  # fmt: skip
    assert status["Table 1"] == ("simulated", "")
    assert status["Table 3"] == ("reproduced", "other judges than the paper's")
    assert status["Table 4"] == (
        "not possible", "needs two judges' scores of the same rows",
    )  # fmt: skip


def test_the_command_prints_published_and_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "diagnosis", "--splits", "1", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["kind"] == "reproduction_diagnosis"
    assert {cell["data"] for cell in fields["sets"]} == {"simulator", "paper"}
    assert {cell["alpha"] for cell in fields["sets"]} == set(ALPHAS)
