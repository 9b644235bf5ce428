"""What a terminal of 80 columns prints by default is short; --explain prints the rest."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from adjudge.diagnosis import (
    diagnose_bias,
    diagnose_prompts,
    diagnose_scores,
    diagnose_transitivity,
)
from adjudge.present.render.terminal import render_terminal
from adjudge.present.result import Result
from simulators import simulate_scores, simulate_tournaments

CRITERIA = {"coherence": 0.6, "consistency": 1.0, "fluency": 1.4, "relevance": 0.8}


def _lines(result: Result, *, explain: bool = False) -> list[str]:
    screen = Console(file=io.StringIO(), width=80, color_system=None, record=True)
    for part in render_terminal(result.view(), explain=explain):
        screen.print(part)
    return screen.export_text().splitlines()


def _scores(judges: int) -> Result:
    named = {f"a-judge-{size}b-instruct": 0.5 + size / 10 for size in range(judges)}
    frame = simulate_scores(documents=30, models=5, criteria=CRITERIA, judges=named).frame
    silent = pl.when(pl.int_range(pl.len()) > 3).then("judge_score")
    return diagnose_scores(frame.drop("score_probs").with_columns(judge_score=silent), splits=2)


def _prompts() -> Result:
    frame = simulate_scores(documents=20, models=3, criteria=CRITERIA).frame.drop("score_probs")
    moved = frame.with_columns(judge_score=(pl.col("judge_score") + 1).clip(1, 5))
    return diagnose_prompts(frame, moved.tail(-1))


def _cycles(judges: int) -> Result:
    frames = [
        simulate_tournaments(judge=f"judge-{k}", documents=12, missing=0.1, seed=k).frame
        for k in range(judges)
    ]
    return diagnose_transitivity(pl.concat(frames), replicates=20)


def _biases() -> Result:
    rng = np.random.default_rng(1)
    n = 200
    truth = rng.random(n)
    rows = {
        "id": [str(at) for at in range(n)],
        "judge": ["a-judge-7b-instruct"] * n,
        "p_fwd": np.clip(truth + 0.15, 0, 1),
        "p_rev": np.clip(truth - 0.15, 0, 1),
        "label": np.where(rng.random(n) < truth, "A", "B"),
        "model_a": rng.choice(["m1", "m2"], n),
        "model_b": rng.choice(["m3", "m4"], n),
        "length_a": rng.integers(50, 500, n),
        "length_b": rng.integers(50, 500, n),
        "status": ["ok"] * n,
    }
    return diagnose_bias(pl.DataFrame(rows))


ORDINARY: dict[str, Callable[[], Result]] = {
    "scores of one judge": lambda: _scores(1),
    "scores of five judges": lambda: _scores(5),
    "prompts": _prompts,
    "cycles of one judge": lambda: _cycles(1),
    "cycles of six judges": lambda: _cycles(6),
    "biases": _biases,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_the_default_output_is_nine_lines_at_most(name: str) -> None:
    result = ORDINARY[name]()
    short, complete = _lines(result), _lines(result, explain=True)
    assert len(short) <= 9
    assert len(complete) > 2 * len(short)
    assert complete[: len(short)] == short
