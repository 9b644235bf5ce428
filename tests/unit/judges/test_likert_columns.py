"""Scores keep what the items brought, so that the next command needs no join."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge import diagnose_scores, judge_pairs, plan_judging

ITEMS = {
    "question": [f"q{i % 40}" for i in range(80)],
    "answer": [f"a{i}" for i in range(80)],
    "model": ["x", "y"] * 40,
    "human_score": [1 + i % 5 for i in range(80)],
    "expert_1": [2] * 80,
    "topic": ["maths"] * 80,
    "criterion": ["mine"] * 80,
}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_human_scores_and_other_columns_are_in_the_rows(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"scores{suffix}"
    run = judge_pairs(ITEMS, judge="simulated:", protocol="likert", store=None, output=path)
    rows = run.judgments
    assert rows.height == 4 * 80
    assert rows["human_score"].cast(int).to_list() == [
        h for h in ITEMS["human_score"] for _ in "1234"
    ]
    assert rows["topic"].unique().to_list() == ["maths"]
    assert rows["input_criterion"].unique().to_list() == ["mine"]
    diagnosis = diagnose_scores(path, splits=2)
    assert {group.criterion for group in diagnosis.groups} >= {"coherence", "fluency"}


def test_names_are_for_plans_and_runs_alike() -> None:
    odd = {"task": ["q"], "one": ["x"], "two": ["y"], "vote": [0]}
    names = {"prompt": "task", "response_a": "one", "response_b": "two", "label": "vote"}
    options = {"columns": names, "labels_as": {"0": "B"}, "store": None}
    assert plan_judging(odd, judge="simulated:", **options).calls == 2
    run = judge_pairs(odd, judge="simulated:", **options)
    assert run.judgments["label"].to_list() == ["B"]
