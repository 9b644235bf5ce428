"""Write small files in every format that adjudge reads, made by its simulators.

    python examples/example_data.py [FOLDER]

The tour in docs/tour.md uses them, and a test runs the tour.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge.data import write_rows
from adjudge.simulate.battles import simulate_battles
from adjudge.simulate.pairs import simulate_pairs
from simulators import (
    BinaryModel,
    binary_rows,
    panel_rows,
    simulate_items,
    simulate_scores,
    simulate_tournaments,
)


def write_examples(folder: Path) -> list[str]:
    """Write one file for each format; returns the names of the files."""
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
    items = [
        {"id": item.id, "prompt": item.prompt, "response": item.response, **item.extra}
        for item in simulate_items(300, seed=1, labels=150)
    ]
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
        "items.jsonl": pl.DataFrame(items, infer_schema_length=None),
        "answers.csv": answers.drop("truth"),
        "by_verdict.csv": _label_by_verdict(answers),
        "runs.csv": _repeated_runs(),
        "panel.csv": panel.drop("truth"),
        "tournaments.csv": simulate_tournaments(documents=40, models=7, seed=1).frame,
        "scores.jsonl": simulate_scores(documents=40, models=8, seed=1).frame,
        "battles.csv": simulate_battles(models=24, battles=6000, seed=1).frame,
        "styled.csv": styled_battles(models=12, battles=2400, seed=1),
    }
    for name, frame in files.items():
        write_rows(frame, folder / name)
    log = folder / "promptfoo.json"
    log.write_text(json.dumps(promptfoo_results(answers)), encoding="utf-8")
    return [*files, log.name]


def _repeated_runs() -> pl.DataFrame:
    """150 questions run four times; people graded all runs of 50. The judge's errors repeat."""
    rng = np.random.default_rng(8)
    rates = rng.beta(2, 0.8, (150, 1))
    truth = rng.random((150, 4)) < rates
    wrong = (rng.random((150, 1)) < 0.12) & (rng.random((150, 4)) < 0.8)
    graded = np.arange(150)[:, None] < 50
    return pl.DataFrame(
        {
            "prompt_id": [f"q{at}" for at in range(150) for _ in range(4)],
            "epoch": [*range(4)] * 150,
            "id": [f"q{at}" for at in range(150) for _ in range(4)],
            "judge": (truth ^ wrong).ravel().astype(int),
            "human": pl.Series(np.where(graded, truth, np.nan).ravel(), nan_to_null=True),
        }
    )


def styled_battles(models: int, battles: int, seed: int) -> pl.DataFrame:
    """Votes that like length and lists; models differ in how much they write, one by far."""
    draw = np.random.default_rng(seed)
    strength = draw.normal(0, 0.6, models)
    habit = draw.normal(0, 0.5, models)
    habit[0] += 2.5
    a = draw.integers(0, models, battles)
    b = (a + draw.integers(1, models, battles)) % models
    rows: dict[str, Any] = {}
    gap = strength[a] - strength[b]
    for name, mean, effect in (("length", 300.0, 1.0), ("lists", 2.0, 0.4)):
        sides = [draw.poisson(mean * np.exp(habit[m] + draw.normal(0, 0.4, battles)))
                 for m in (a, b)]  # fmt: skip
        difference = sides[0] - sides[1]
        gap = gap + effect * difference / np.maximum(sides[0] + sides[1], 1)
        rows |= {f"{name}_a": sides[0], f"{name}_b": sides[1]}
    won = draw.random(battles) < 1 / (1 + np.exp(-gap))
    names = np.array([f"model-{k:02}" for k in range(models)])
    votes = np.where(won, "model_a", "model_b")
    return pl.DataFrame({"model_a": names[a], "model_b": names[b], "human_pref": votes, **rows})


def _label_by_verdict(answers: pl.DataFrame) -> pl.DataFrame:
    """The answers of one model, of which people labelled all that the judge fails, and a fifth."""
    rows = answers.filter(pl.col("model") == "large").with_row_index("row")
    labelled = (pl.col("judge") == 0) | (pl.col("row") % 5 == 0)
    human = pl.when(labelled).then(pl.col("truth"))
    return rows.with_columns(human=human).drop("row", "truth", "model")


def promptfoo_results(answers: pl.DataFrame) -> dict[str, Any]:
    """The answers as promptfoo exports them: a judge's rubric on each, a thumb on some.

    As in promptfoo, a thumb overwrites the values at the top, and a failed grader has fail.
    """
    results = []
    for at, row in enumerate(answers.to_dicts()):
        failed, score = at % 50 == 7, 0.9 if row["judge"] else 0.2
        rubric = {
            "assertion": {"type": "llm-rubric", "value": "is right", "metric": "correctness"},
            "pass": row["judge"] == 1 and not failed,
            "score": 0 if failed else score,
            "reason": "Could not extract JSON from llm-rubric response" if failed else "",
            "metadata": {"graderError": True} if failed else {},
        }
        thumb = {"assertion": {"type": "human"}, "pass": row["human"] == 1, "score": row["human"]}
        last = rubric if row["human"] is None else thumb
        results.append(
            {
                "id": row["id"],
                "success": last["pass"],
                "score": last["score"],
                "gradingResult": {
                    "pass": last["pass"],
                    "score": last["score"],
                    "componentResults": [rubric] if last is rubric else [rubric, thumb],
                },
                "prompt": {"raw": row["prompt_id"], "label": "{{question}}"},
                "provider": {"id": row["model"]},
                "response": {"output": "an answer"},
                "testCase": {"options": {"provider": "openai:gpt-5-mini"}},
                "vars": {"question": row["prompt_id"]},
            }
        )
    return {"evalId": "eval-1", "results": {"version": 3, "results": results}}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
    target.mkdir(parents=True, exist_ok=True)
    print(f"wrote {', '.join(write_examples(target))} into {target}")
