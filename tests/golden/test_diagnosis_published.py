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
from adjudge_papers.diagnosis_study import (
    ALPHAS,
    CRITERIA,
    DOCUMENTS,
    JUDGES,
    REPEATS,
    SYSTEMS,
    Size,
    crowd_as_judge,
)
from adjudge_papers.diagnosis_tables import noise_rows, published_variance
from adjudge_papers.paper import stated_values
from adjudge_papers.printed import Row, paper_tables, read_published
from shown import title, y_ticks

#: The paper's number of each value of an item.
PRINTED = {name: stated_values("diagnosis", name) for name in read_published("diagnosis")["items"]}
TABLES = paper_tables("diagnosis")
PAIRWISE_CALLS = PRINTED["Figure 1"]["pairwise answers"]
SCORE_CALLS = PRINTED["Figure 1"]["scores"]


@pytest.fixture(scope="module")
def done() -> DiagnosisReproduction:
    return reproduce_diagnosis()


# --- the paper's own numbers -----------------------------------------------------------------


def test_published_rates_are_counts_of_triples_of_eight_systems() -> None:
    # Rates per document are k/56, so the largest and median ones must be.
    rows = TABLES["cycles"].published
    assert [row["judge"] for row in rows if row["max"] is not None] == list(JUDGES)
    for row in rows:
        for value in {row["max"], row["median"]} - {None}:
            assert min(abs(value - k / 56) for k in range(21)) < 6e-4
        assert min(abs(row["share"] - k / 30) for k in range(31)) < 6e-4


def test_published_taus_are_those_of_eight_systems_without_ties() -> None:
    # 28 pairs of systems: tau is 1 - 2 k / 28.
    rows = TABLES["rankings"].published
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
    cells = TABLES["sets"].published
    assert len(cells) == 64
    assert all(cell["coverage"] >= 1 - cell["alpha"] for cell in cells)
    assert {cell["judge"] for cell in cells} == set(JUDGES)
    assert {cell["alpha"] for cell in cells} == set(ALPHAS)


def test_means_of_table_4_are_those_printed_below_it() -> None:
    rows = TABLES["agreement"].published
    assert len({(row["judge_a"], row["judge_b"]) for row in rows}) == 6
    for criterion in CRITERIA:
        mean = np.mean([row["spearman"] for row in rows if row["criterion"] == criterion])
        printed = PRINTED["Table 4"][f"{criterion}, mean over pairs"]
        assert mean == pytest.approx(printed, abs=0.0051)


def test_means_and_ranges_of_the_items_are_those_of_the_tables() -> None:
    for criterion in CRITERIA:
        cells = [row for row in TABLES["signals"].published if row["criterion"] == criterion]
        size = PRINTED["Table 3"][f"mean size, {criterion}"]
        assert np.mean([row["mean_size"] for row in cells]) == pytest.approx(size)
        ranks = [row["spearman"] for row in cells if row["spearman"] is not None]
        if ranks:
            printed = PRINTED["Table 3"][f"width against error, {criterion}, mean over judges"]
            assert np.mean(ranks) == pytest.approx(printed)
    margins = [100 * (row["coverage"] - 1 + row["alpha"]) for row in TABLES["sets"].published]
    least = PRINTED["Table 5"]["least coverage minus target, points"]
    assert min(margins) == pytest.approx(least)


def _published(table: str, **row: object) -> list[Row]:
    return [theirs for theirs in TABLES[table].published if TABLES[table].matches(row, theirs)]


def test_the_papers_judges_are_known_by_name() -> None:
    spec = "openrouter:mistralai/mistral-small-3.1-24b-instruct"
    [cell] = _published("sets", judge=spec, criterion="fluency", alpha=0.1)
    assert (cell["coverage"], cell["mean_size"]) == (1.0, 4.99)
    assert not _published("sets", judge="gpt-4o", criterion="fluency", alpha=0.1)
    exact = {"judge": "openai:gpt-4o-mini", "method": "mfas"}
    assert _published("rankings", criterion="coherence", **exact)[0]["tau"] == 0.643
    assert not _published("rankings", criterion="fluency", **exact)
    for pair in ((spec, "gpt-4o-mini"), ("gpt-4o-mini", spec)):
        [both] = _published("agreement", judge_a=pair[0], judge_b=pair[1], criterion="fluency")
        assert both["spearman"] == 0.81


def test_the_published_share_of_documents_is_what_noise_of_that_rate_shows() -> None:
    """The finding: "33 to 67 % of documents" restates the mean rate."""
    rows = noise_rows()
    assert len(rows) == 16
    published = np.array([row["share"] for row in rows])
    chance = np.array([row["chance_share"] for row in rows])
    assert np.corrcoef(published, chance)[0, 1] > 0.8
    assert abs(float((published - chance).mean())) < 0.05


def test_the_papers_cycles_do_not_say_that_criterion_matters_more_than_judge() -> None:
    """Of set sizes it is so; of Table 6 the criterion explains 29 % and the judge 26 %."""
    size, cycle = published_variance()
    assert (size["criterion"], size["judge"]) == pytest.approx((0.842, 0.061), abs=0.0006)
    assert (cycle["criterion"], cycle["judge"]) == pytest.approx((0.290, 0.260), abs=0.0006)


# --- the simulated study ---------------------------------------------------------------------

#: Judge: mean rate by Eq. 1, documents with a cycle, coverage and size at 0.1, width and error.
COHERENCE = {
    "simulated-1": (0.0202, 0.4667, 0.9283, 2.9092, 0.1371),
    "simulated-2": (0.0119, 0.3667, 0.9783, 4.3638, 0.0685),
    "simulated-3": (0.0107, 0.2667, 0.9904, 4.5358, 0.1032),
    "simulated-4": (0.0065, 0.2333, 0.9808, 4.5558, 0.0492),
}
TITLES = {
    "figure-02": ["Cycles: 0.7 to 5.8 % of a document's triples, in 20 to 77 % of documents"],
    "figure-03": [],
    "figure-04": [
        "coherence\nr = +0.13",
        "consistency\nr = +0.36",
        "fluency\nr = +0.39",
        "relevance\nr = +0.03",
    ],
    "figure-05": [
        "coherence: +0.22", "consistency: +0.31", "fluency: +0.39", "relevance: +0.28",
    ],
    "figure-06": list(CRITERIA),
}  # fmt: skip


def test_the_simulated_study(done: DiagnosisReproduction) -> None:
    assert [row["n"] for row in done.rows("answers")] == [PAIRWISE_CALLS, SCORE_CALLS]
    measured = {}
    for row in done.rows("cycles", criterion="coherence"):
        [cell] = [
            cell for cell in done.rows("signals", criterion="coherence")
            if cell["judge"] == row["judge"]
        ]  # fmt: skip
        assert cell["n"] == 120
        sets = (cell["coverage"], cell["mean_size"], cell["spearman"])
        measured[row["judge"]] = (row["rate"], row["share"], *sets)
    assert measured.keys() == COHERENCE.keys()
    for judge, golden in COHERENCE.items():
        assert measured[judge] == pytest.approx(golden, abs=0.00006)


def test_the_simulator_shows_the_papers_headline(done: DiagnosisReproduction) -> None:
    """Width grows with the error: +0.576 pooled, in 13 of 16 cells; and criteria matter most."""
    items = {item.name: {v.name: v.ours for v in item.values} for item in done.items}
    pooled = items["Section 5.2, width and error"]
    assert pooled["all rows pooled"] == pytest.approx(0.576, abs=0.05)
    assert pooled["cells where the error never falls with the width"] == 13
    assert pooled["cells where it falls"] == 3
    shares = items["Section 5.2, criterion or judge"]
    by_criterion, by_judge = shares["by criterion, %"], shares["by judge, %"]
    assert by_criterion is not None
    assert by_judge is not None
    assert by_criterion > 5 * by_judge
    assert items["Table 5"]["cells below 1 - alpha"] == 0
    sizes = [items["Table 3"][f"mean size, {name}"] for name in CRITERIA]
    paper = [PRINTED["Table 3"][f"mean size, {name}"] for name in CRITERIA]
    assert sizes == pytest.approx(paper, abs=0.2)


def test_the_simulated_widths_agree_like_the_papers(done: DiagnosisReproduction) -> None:
    """Least on coherence; the noise that judges share was fitted to Table 4, per criterion."""
    items = {item.name: {v.name: v.ours for v in item.values} for item in done.items}
    names = [f"{criterion}, mean over pairs" for criterion in CRITERIA]
    agreement = [items["Table 4"][name] for name in names]
    assert agreement == pytest.approx([PRINTED["Table 4"][name] for name in names], abs=0.13)
    assert min(names, key=lambda name: items["Table 4"][name] or 0.0).startswith("coherence")
    [together] = [row for row in done.rows("together") if row["judge"] == "all"]
    assert together["spearman"] == pytest.approx(0.83, abs=0.005)


def test_every_picture_of_the_paper(done: DiagnosisReproduction) -> None:
    pictures = done.figures()
    assert list(pictures) == list(done.drawings) == list(TITLES)
    judges = [f"simulated-{k}" for k in range(1, 5)]
    for name, picture in pictures.items():
        figure = picture.draw()
        assert [title(axes) for axes in figure.axes if title(axes)] == TITLES[name], name
        assert figure.texts[-1].get_text() == "simulated"
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
    assert (done.data_of("cycles"), done.data_of("sets")) == ("simulator", "SummEval, crowd")
    assert done.data_of("rankings") == "SummEval, crowd, by scores"
    status = {item.name: (item.status, item.reason) for item in done.items}
    assert status["Table 2"] == ("other judges or data", "SummEval, crowd, by scores")
    assert status["Table 1"] == ("simulated", "")
    assert status["Table 3"] == ("other judges or data", "SummEval, crowd")
    assert status["Table 4"] == (
        "not possible", "needs two judges' scores of the same rows",
    )  # fmt: skip


def test_the_command_prints_published_and_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "diagnosis", "--splits", "1", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["kind"] == "reproduction_diagnosis"
    [sets] = [table for table in fields["tables"] if table["name"] == "sets"]
    assert (sets["data"], sets["source"]) == ("simulator", "simulated")
    assert {row["alpha"] for row in sets["rows"]} == set(ALPHAS)
