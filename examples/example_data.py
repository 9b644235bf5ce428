"""Write small files in every format adjudge reads, made by its own simulators.

    python examples/example_data.py [FOLDER]

The tour in docs/tour.md works on them, and a test runs the tour.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from adjudge.io import write_rows
from adjudge.simulate.battles import simulate_battles
from adjudge.simulate.binary import BinaryModel, binary_rows
from adjudge.simulate.pairs import simulate_pairs
from adjudge.simulate.panels import panel_rows
from adjudge.simulate.scores import simulate_scores
from adjudge.simulate.tournaments import simulate_tournaments


def write_examples(folder: Path) -> list[str]:
    """One file for each format; the names of the files."""
    pairs = [
        {
            "id": pair.id,
            "prompt": pair.prompt,
            "response_a": pair.response_a,
            "response_b": pair.response_b,
            "label": pair.label,
        }
        for pair in simulate_pairs(1000, seed=1)
    ]
    answers = binary_rows(
        {
            "small": BinaryModel(rate=0.55, specificity=0.7, sensitivity=0.9),
            "large": BinaryModel(rate=0.75, specificity=0.65, sensitivity=0.95),
        },
        prompts=400,
        labels=240,
        seed=1,
    )
    panel = panel_rows(
        {"small": 0.5, "medium": 0.58, "large": 0.64, "huge": 0.7},
        {"gpt": 0.9, "claude": 0.8, "gemini": 0.8},
        questions=300,
        labels=60,
        seed=1,
    )
    files = {
        "pairs.jsonl": pl.DataFrame(pairs[:500]),
        "new_pairs.jsonl": pl.DataFrame(pairs[500:]).drop("label"),
        "answers.csv": answers.drop("truth"),
        "panel.csv": panel.drop("truth"),
        "tournaments.csv": simulate_tournaments(documents=40, models=7, seed=1).frame,
        "scores.jsonl": simulate_scores(documents=40, models=8, seed=1).frame,
        "battles.csv": simulate_battles(models=24, battles=6000, seed=1).frame,
    }
    for name, frame in files.items():
        write_rows(frame, folder / name)
    return list(files)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
    target.mkdir(parents=True, exist_ok=True)
    print(f"wrote {', '.join(write_examples(target))} into {target}")
