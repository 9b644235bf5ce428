"""Aligning a judge over HTTP that refuses, thinks first, answers something else or fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from prompted_judge import Proposer, labelled_pairs

from adjudge.alignment import align
from adjudge.alignment.parts import SHARES, open_partition, read_labelled
from adjudge.cli import run
from adjudge.data import write_rows
from adjudge.errors import UnusableRepliesError
from adjudge.judges.judging import judge_pairs
from adjudge.store import use_store

#: What the server does if a prompt has the word, and what is said of such a candidate.
FAULTS = {
    "REFUSES": ("400_filter", "12 of 12 rows have no verdict (12 refused)"),
    "THINKS": ("habit:think_first", "most likely: '<think>'"),
    "APOLOGISES": ("habit:refusal", "no usable score"),
    "SILENT": ("mode:logprobs_null", "no usable score"),
    "GARBLED": ("mode:content_number", "12 of 12 rows are errors"),
    "INVALID": ("400", "HTTP 400: Invalid value: 'foo'"),
}


@pytest.fixture
def how(judge_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return {"judge": "openai:m", "base_url": judge_server.base_url, "store": tmp_path / "a.db"}


def test_candidates_are_dropped_by_their_failures(judge_server: Any, how: dict[str, Any]) -> None:
    rules = [{"contains": word, "steps": [step]} for word, (step, _) in FAULTS.items()]
    judge_server.script("ok", rules=rules)
    words = [*FAULTS, "clear words"]
    run = align(
        labelled_pairs(120), proposer=Proposer(words), candidates=3 + len(words), rounds=1, **how
    )
    tried = {row.name: row for row in run.result.tried}
    for at, (word, (_, reason)) in enumerate(FAULTS.items(), start=1):
        dropped = tried[f"rewrite 1.{at}"].dropped
        assert dropped is not None, word
        assert reason in dropped, word
        assert word not in run.prompt.text
    assert tried[f"rewrite 1.{len(words)}"].dropped is None
    # Errors of the server can be gone in another run, other failures stay.
    assert run.result.warnings == ("2 prompts dropped because of errors: run again to ask again",)


def test_a_row_without_a_verdict_counts_as_wrong(judge_server: Any, how: dict[str, Any]) -> None:
    judge_server.script("ok", rules=[{"contains": "question 0-1", "steps": ["400_filter"]}])
    pairs = labelled_pairs(120)
    result = align(pairs, rounds=1, candidates=1, **how).result
    judged = judge_pairs(pairs, **how).judgments
    verdicts = dict(judged.select("id", "verdict").iter_rows())
    rows, _ = read_labelled(pairs)
    parts = open_partition(how["store"], rows, shares=SHARES, seed=0).parts
    select = [row for row in rows if parts[row.question] == "select"]
    refused = [row for row in select if verdicts[row.id] is None]
    assert refused
    assert {row.subject.prompt[:12] for row in refused} == {"question 0-1"}
    right = np.mean([verdicts[row.id] == row.label for row in select])
    assert result.own_on_select == pytest.approx(right)


def test_a_judge_that_cannot_answer_the_own_prompt_divides_nothing(
    judge_server: Any, how: dict[str, Any]
) -> None:
    judge_server.script("habit:think_first")
    with pytest.raises(UnusableRepliesError):
        align(labelled_pairs(120), **how)
    with use_store(how["store"]) as store:
        assert store.monitors() == {}


#: The rewrite that the server proposes; its judge is right with it.
BETTER = "<prompt>Better\n{prompt}\n{response_a}\n{response_b}</prompt>"


def test_the_command_by_its_exit_codes(
    judge_server: Any,
    how: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """0 a gain, with the command that uses it; 2 no gain; 1 refused, with one line."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    pairs, prompt = labelled_pairs(120), tmp_path / "mine.txt"
    rows = [
        {
            name: getattr(pair, name)
            for name in ("id", "prompt", "response_a", "response_b", "label")
        }
        for pair in pairs
    ]
    write_rows(pl.DataFrame(rows), tmp_path / "pairs.jsonl")
    write_rows(pl.DataFrame(rows[:60]), tmp_path / "few.jsonl")
    prompt.write_text("PLAIN\n{prompt}\n{response_a}\n{response_b}")
    rules = [
        {"contains": "[Case 1 begins]", "steps": [f"text:{BETTER}"]},
        {"contains": "PLAIN", "steps": ["ok"]},
        *(
            {"contains": f"{pair.prompt}\ngood", "steps": ["text:A"]}
            for pair in sorted(pairs, key=lambda pair: -len(pair.prompt))
        ),
    ]
    asked = ["--judge", "openai:m", "--base-url", judge_server.base_url, "--samples", "1"]
    asked += ["--prompt", str(prompt), "--rounds", "1", "--candidates", "4"]
    better = ["--proposer", "openai:big", "--proposer-base-url", judge_server.base_url]

    judge_server.script("text:B", rules=rules)
    assert run(["align", "pairs.jsonl", *asked, *better, "--store", "a.db", "-o", "out"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Gain 0.")
    assert shown.splitlines()[-1] == (
        "next: adjudge judge NEW_ROWS --judge openai:m --protocol preference --samples 1 "
        f"--base-url {judge_server.base_url} --prompt out/prompt.txt -o judged.jsonl"
    )
    assert (tmp_path / "out" / "prompt.txt").read_text().startswith("Better\n{prompt}")
    asked_before = len(judge_server.log())
    assert run(["align", "pairs.jsonl", *asked, *better, "--store", "a.db"]) == 0
    assert len(judge_server.log()) == asked_before

    judge_server.script("ok")
    assert run(["align", "pairs.jsonl", *asked, "--store", "b.db"]) == 2
    assert capsys.readouterr().out.rpartition("Gain")[2].count("No gain shown") == 1

    assert run(["align", "few.jsonl", *asked, "--store", "c.db"]) == 1
    message = capsys.readouterr().err
    assert message == (
        "adjudge: rows = '60 labels': label at least 100 rows, drawn at random; there are 60\n"
    )
