"""Two prompts of one judge: rows matched, changes counted by hand, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from adjudge import diagnose_prompts, judge_pairs
from adjudge.cli import run
from adjudge.diagnosis.prompts import prompt_change
from adjudge.errors import ArgumentError, DataError
from adjudge.simulate.pairs import simulate_pairs


def test_scores_that_change_are_counted_and_shift() -> None:
    rows = {
        "doc_id": ["d", "d", "e", "e"], "model": ["m", "n", "m", "n"], "judge": ["j"] * 4,
        "criterion": ["c"] * 4, "judge_score": [3, 4, 2, 5],
    }  # fmt: skip
    other = {**rows, "judge_score": [4, 4, 4, 5]}
    done = diagnose_prompts(rows, other)
    [group] = done.groups
    assert (done.answers, done.clustered_by) == ("scores", "doc_id")
    assert (group.judge, group.criterion, group.n, group.clusters) == ("j", "c", 4, 2)
    assert (group.changed, group.shift) == (0.5, 0.75)
    # Asked once: what the judge changes by itself is not known.
    assert (group.again, group.excess, group.repeated) == (None, None, 0)
    assert diagnose_prompts(other, rows).groups[0].shift == -0.75


def test_repeats_say_what_asking_again_changes() -> None:
    """Row by row: 1 - sum p q across prompts, and within each of them."""
    group = prompt_change(
        [["A", "A", "A"], ["A", "A", "B"], ["A"]],
        [["B", "B", "B"], ["A", "B", "B"], ["A"]],
    )
    across = [1.0, 1 - (2 / 3 * 1 / 3 + 1 / 3 * 2 / 3), 0.0]
    assert group.changed == pytest.approx(sum(across) / 3)
    # Of three answers with two alike, two of three pairs differ; the third row was asked once.
    assert (group.repeated, group.again) == (2, pytest.approx((0 + 2 / 3) / 2))
    assert group.excess == pytest.approx(((1.0 - 0.0) + (across[1] - 2 / 3)) / 2)


def test_a_prompt_that_turns_every_verdict_is_shown() -> None:
    group = prompt_change([["A", "A"]] * 40, [["B", "B"]] * 40)
    assert group.more_than_again
    assert not prompt_change([["A", "B"]] * 40, [["B", "A"]] * 40).more_than_again
    # The difference is real and below the floor.
    few = prompt_change([["A", "A"]] * 400, [["A", "A"]] * 390 + [["B", "B"]] * 10)
    assert few.excess == pytest.approx(0.025)
    assert not few.more_than_again


@pytest.mark.attack("status")
@pytest.mark.parametrize(
    "rows",
    [
        {"id": ["a", "b", "c"], "judge": ["j"] * 3, "verdict": ["A", "B", "A"]},
        {"doc_id": ["d"] * 3, "model_a": list("xxy"), "model_b": list("yzz")}
        | {"verdict": ["A", "B", "tie"]},
        {"id": ["a", "b", "c"], "doc_id": ["d", "e", "f"], "judge_score": [1, 2, 3]},
    ],
)
def test_failed_rows_and_rows_that_are_there_again_are_counted(rows: dict[str, list[str]]) -> None:
    failed = {**rows, "status": ["ok", "refused", "ok"]}
    twice = {name: values * 2 for name, values in failed.items()}
    done = diagnose_prompts(rows, twice)
    assert done.groups[0].n == 2
    assert done.dropped == {
        "the same row again": 3, "status refused": 1, "row only in the first file": 1
    }  # fmt: skip


def test_rows_are_matched_by_judge_and_what_is_left_is_counted() -> None:
    first = {"id": ["a", "b", "c"], "judge": ["j", "j", "k"], "verdict": ["A", "B", "A"]}
    second = {"id": ["b", "a", "d"], "judge": ["j", "j", "k"], "verdict": ["B", "B", "A"]}
    done = diagnose_prompts(first, second)
    [group] = done.groups
    assert (group.judge, group.n, group.changed) == ("j", 2, 0.5)
    assert done.dropped == {"row only in the first file": 1, "row only in the second file": 1}
    # Each file's own rows are counted for it, not for the other.
    more = {name: [*values, *values[-1:] * 2] for name, values in second.items()}
    more["id"][-2:] = ["e", "f"]
    for pair, counts in (((first, more), (1, 3)), ((more, first), (3, 1))):
        places = [f"row only in the {place} file" for place in ("first", "second")]
        assert diagnose_prompts(*pair).dropped == dict(zip(places, counts, strict=True))


def test_a_verdict_that_becomes_none_has_changed() -> None:
    rows = {"id": ["a", "b"], "judge": ["j", "j"], "p_a": [0.9, 0.3]}
    [group] = diagnose_prompts(rows, {**rows, "p_a": [0.5, 0.2]}).groups
    assert group.changed == 0.5
    # A shift of P(A) has no direction: which answer is A is arbitrary.
    assert group.shift is None


def test_tournaments_are_matched_by_document_and_models() -> None:
    rows = {
        "doc_id": ["d", "d", "e"], "model_a": ["x", "x", "x"], "model_b": ["y", "z", "y"],
        "judge": ["j"] * 3, "criterion": ["c"] * 3, "verdict": ["A", "B", None],
    }  # fmt: skip
    done = diagnose_prompts(rows, {**rows, "verdict": ["A", "A", "A"]})
    [group] = done.groups
    assert (group.criterion, group.n, group.changed) == ("c", 2, 0.5)
    assert done.dropped == {"no answer": 1, "row only in the second file": 1}


def test_what_the_judge_wrote_is_compared(tmp_path: Path) -> None:
    """Two runs of one judge by prompts of its own, three times each; clusters are prompts."""
    prompt = tmp_path / "mine.txt"
    prompt.write_text("{prompt}\n1: {response_a}\n2: {response_b}\nA or B?\n", encoding="utf-8")
    pairs = simulate_pairs(30, seed=1)
    for name, words in (("plain", None), ("mine", prompt)):
        judge_pairs(
            pairs, judge="simulated:accuracy=0.7,noise=3,seed=2", store=None, repeats=3,
            prompt=words, output=tmp_path / f"{name}.jsonl",
        )  # fmt: skip
    files = [str(tmp_path / f"{name}.jsonl") for name in ("plain", "mine")]
    [group] = diagnose_prompts(*files).groups
    assert (group.n, group.repeated) == (30, 30)
    # The simulated judge does not read: the same questions, the same answers.
    assert group.excess is not None
    assert group.excess <= 0
    assert not group.more_than_again


def test_the_command_and_its_threshold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name, said in (("one", ["A", "B", "A", "B"]), ("two", ["A", "A", "B", "A"])):
        path = tmp_path / f"{name}.csv"
        pl.DataFrame({"id": list("abcd"), "judge": ["j"] * 4, "verdict": said}).write_csv(path)
        files.append(str(path))
    assert run(["diagnose", "prompts", *files, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"][0]["changed"] == 0.75
    assert run(["diagnose", "prompts", *files, "--fail-above", "0.1"]) == 2
    assert "changed of j is shown to be above 0.1" in capsys.readouterr().err
    assert run(["diagnose", "prompts", *files, "--fail-above", "0.5"]) == 3
    assert "not known whether changed of j is above 0.5" in capsys.readouterr().err
    # Asked once each: what the prompt adds is not known.
    assert run(["diagnose", "prompts", *files, "--fail-above", "excess=0.1"]) == 3


def test_files_that_cannot_be_compared_are_refused() -> None:
    verdicts = {"id": ["a"], "judge": ["j"], "verdict": ["A"]}
    scores = {"doc_id": ["a"], "judge": ["j"], "judge_score": [3]}
    with pytest.raises(DataError, match="has scores, but the dict of columns has verdicts"):
        diagnose_prompts(verdicts, scores)
    with pytest.raises(DataError, match="no row matches one of"):
        diagnose_prompts(verdicts, {**verdicts, "id": ["b"]})
    with pytest.raises(DataError, match="answers of k, but .* those of j; .*compare FILE --judges"):
        diagnose_prompts(verdicts, {**verdicts, "judge": ["k"]})
    with pytest.raises(ArgumentError, match="an answer to both prompts"):
        prompt_change([["A"], []], [["A"], ["B"]])
