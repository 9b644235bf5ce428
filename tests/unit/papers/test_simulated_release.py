"""The simulated release has what was put into it."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.data import read_battles
from adjudge.data.battles import code_battles
from adjudge.ranking import fit_temperature
from adjudge_papers.simulated_release import CORPORA, JUDGES, SimulatedRun, simulate_release


@pytest.fixture(scope="module")
def runs() -> dict[tuple[str, str], SimulatedRun]:
    return {(run.corpus, run.judge): run for run in simulate_release(battles=3000, seed=2)}


def test_every_judge_scores_the_same_battles(runs: dict[tuple[str, str], SimulatedRun]) -> None:
    for corpus in CORPORA:
        frames = [runs[corpus, judge["judge"]].frame for judge in JUDGES]
        shared = frames[0].join(frames[1], on="id", suffix="_other")
        assert shared.height > 0.9 * frames[0].height
        assert shared.height < frames[0].height
        for column in ("model_a", "model_b", "winner", "language", "length_a"):
            assert shared[column].equals(shared[f"{column}_other"])
    assert set(runs["comparia", "meta-judge"].frame["language"]) == {"fr"}
    assert read_battles(frames[0]).height == frames[0].height


def test_what_judges_add_is_in_their_scores(runs: dict[tuple[str, str], SimulatedRun]) -> None:
    for judge in JUDGES:
        frame = runs["lmarena100k", judge["judge"]].frame
        slot = (frame["score_diff_ab"] - frame["score_diff_ba"]).mean()
        assert slot == pytest.approx(2 * judge["first_slot"], abs=0.1)
        mean = (frame["score_diff_ab"] + frame["score_diff_ba"]) / 2
        np.testing.assert_allclose(frame["score_a"] - frame["score_b"], mean, atol=1e-9)


def test_one_judges_differences_say_nothing_in_french(
    runs: dict[tuple[str, str], SimulatedRun],
) -> None:
    correlations = {}
    for judge in JUDGES:
        battles = code_battles(runs["comparia", judge["judge"]].frame)
        assert battles.score is not None
        assert battles.human is not None
        fit = fit_temperature(battles.score, battles.human, verdict=battles.verdict)
        correlations[judge["judge"]] = fit.correlation or 0.0
    lost = [judge["judge"] for judge in JUDGES if not judge["reads_french"]]
    assert lost == [min(correlations, key=lambda name: correlations[name])]
    assert abs(correlations[lost[0]]) < 0.1
    assert min(value for name, value in correlations.items() if name not in lost) > 0.12


def test_seeded(runs: dict[tuple[str, str], SimulatedRun]) -> None:
    again = simulate_release(battles=3000, seed=2)
    assert all(run.frame.equals(runs[run.corpus, run.judge].frame) for run in again)
    other = simulate_release(battles=3000, seed=3)[0].frame
    assert not other["winner"].head(50).equals(again[0].frame["winner"].head(50))
