"""The published tables as they are kept, and what the reproduction must show of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adjudge.cli import run
from adjudge.present.figures.diagnosis import save_figures
from adjudge.reproduce.diagnosis import (
    ALPHAS,
    CRITERIA,
    CYCLES,
    EXTREMES,
    JUDGES,
    SETS,
    WIDTH_AGREEMENT,
    crowd_as_judge,
    published_sets,
    reproduce_diagnosis,
)
from adjudge.results.diagnosis_reproduction import DiagnosisRun


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> DiagnosisRun:
    path = _summeval(tmp_path_factory.mktemp("summeval") / "model_annotations.aligned.jsonl")
    return reproduce_diagnosis(path, splits=2)


def test_published_rates_are_counts_of_triples_of_eight_systems() -> None:
    # Rates per document are k/56, so the largest and median ones must be.
    for judge in JUDGES:
        for value in EXTREMES[judge]:
            assert min(abs(value - k / 56) for k in range(21)) < 6e-4
        for _, share in CYCLES[judge]:
            assert min(abs(share - k / 30) for k in range(31)) < 6e-4


def test_every_published_cell_meets_its_level() -> None:
    cells = published_sets()
    assert len(cells) == 64
    assert all(cell.coverage >= 1 - cell.alpha for cell in cells)
    assert {cell.criterion for cell in cells} == set(CRITERIA)
    assert set(SETS) == set(JUDGES)


def test_means_of_table_4_are_those_printed_below_it() -> None:
    printed = {"coherence": 0.10, "consistency": 0.32, "fluency": 0.38, "relevance": 0.36}
    for criterion, pairs in WIDTH_AGREEMENT.items():
        assert len(pairs) == 6
        assert np.mean(pairs) == pytest.approx(printed[criterion], abs=0.0051)


def test_tables_3_and_4_are_compared_with_ours(done: DiagnosisRun) -> None:
    paper = {s.criterion: s for s in done.summary.published_signals}
    assert paper["consistency"].error == pytest.approx(0.2875)
    assert paper["fluency"].error is None
    ours = {(s.data, s.method, s.criterion): s for s in done.summary.signals}
    own = done.scores["simulator"]
    errors = [
        g.spearman
        for g in own.groups
        if (g.method, g.criterion, g.alpha) == ("adaptive", "fluency", 0.1)
    ]
    assert len(errors) == 4
    assert ours["simulator", "adaptive", "fluency"].error == pytest.approx(np.mean(errors))
    assert ours["simulator", "adaptive", "fluency"].agreement is not None
    # One judge has no other to agree with.
    assert ours["SummEval, crowd", "per-criterion", "fluency"].agreement is None


def test_the_published_share_of_documents_is_what_noise_of_that_rate_shows(
    done: DiagnosisRun,
) -> None:
    """The finding: "33 to 67 % of documents" restates the mean rate."""
    rows = done.summary.cycles
    assert len(rows) == 16
    published = np.array([row.published_share for row in rows])
    chance = np.array([row.chance_share for row in rows])
    assert np.corrcoef(published, chance)[0, 1] > 0.8
    assert abs(float((published - chance).mean())) < 0.05


def test_simulated_sets_hold_and_width_of_a_constant_quantile_does_not_follow_error(
    done: DiagnosisRun,
) -> None:
    for method in ("per-criterion", "adaptive"):
        for alpha in ALPHAS:
            covered = [
                cell.coverage
                for cell in done.summary.sets
                if (cell.data, cell.method, cell.alpha) == ("simulator", method, alpha)
            ]
            assert len(covered) == 16
            assert np.mean(covered) >= 1 - alpha - 0.01
    within = {w.method: w.within for w in done.summary.widths if w.data == "simulator"}
    assert within["adaptive"] is not None
    assert within["per-criterion"] is not None
    assert within["per-criterion"] < 0 < within["adaptive"]


def _summeval(path: Path, documents: int = 32, systems: int = 16) -> Path:
    """A file in the release's layout, with random ratings."""
    rng = np.random.default_rng(6)
    with path.open("w", encoding="utf-8") as out:
        for system in range(systems):
            for document in range(documents):
                quality = rng.integers(2, 6)

                def rated(n: int, quality: int = int(quality)) -> list[dict[str, int]]:
                    return [
                        {c: int(np.clip(quality + rng.integers(-1, 2), 1, 5)) for c in CRITERIA}
                        for _ in range(n)
                    ]

                row = {
                    "id": f"dm-test-{document}",
                    "model_id": f"M{system}",
                    "decoded": "a summary",
                    "expert_annotations": rated(3),
                    "turker_annotations": rated(5),
                }
                out.write(json.dumps(row) + "\n")
    return path


def test_the_view_names_every_data_set(done: DiagnosisRun) -> None:
    printed = str(done.summary)
    for text in (
        "Table 3",
        "Table 4",
        "Table 5 as published",
        "SummEval, crowd",
        "simulator, rows",
        "by chance",
    ):
        assert text in printed


def test_summeval_as_published_is_cut_to_the_papers_size(tmp_path: Path) -> None:
    path = _summeval(tmp_path / "model_annotations.aligned.jsonl")
    frame = crowd_as_judge(path, paper_size=True)
    assert frame["doc_id"].n_unique() == 30
    assert frame["model"].unique().sort().to_list() == sorted(
        f"M{k}" for k in (0, 2, 4, 6, 9, 11, 13, 15)
    )
    assert frame.height == 30 * 8 * 4
    assert crowd_as_judge(path, paper_size=False).height == 32 * 16 * 4


def test_the_papers_figures_are_drawn_on_our_data(done: DiagnosisRun, tmp_path: Path) -> None:
    name = "SummEval, crowd"
    made = save_figures(replace(done, scores={name: done.scores[name]}), tmp_path)
    assert [path.name for path in made] == [
        "cycles.png",
        "summeval-crowd-sizes.png",
        "summeval-crowd-width.png",
        "summeval-crowd-coverage.png",
    ]


def test_the_command_prints_published_and_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "diagnosis", "--splits", "1", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["kind"] == "reproduction_diagnosis"
    assert {cell["data"] for cell in fields["sets"]} == {"simulator", "simulator, rows"}
    assert {cell["alpha"] for cell in fields["sets"]} == set(ALPHAS)
