"""Same seed, same bytes: whatever the hash seed of Python, the number of threads, the row order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tries import tried

VERBS = Path(__file__).parents[1] / "support" / "all_verbs.py"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
#: These go by id or by counts: a shuffled file gives the same bytes.
SAME_IN_ANY_ORDER = (
    *("policy.json", "fdr.json", "pac.json", "selection.json"),
    *("plan_selection.json", "plan_rate.json", "plan_cascade.json", "cascade.json"),
    *("cascade_selection.json", "learned.json", "jury.json"),
    *("jury_selection.json", "plan_labels.json", "reproduce_scope.json"),
)
#: What they say of the judge's doubt is the same in any order.
SAME_DOUBT = ("evaluation.json", "doubts.json", "juries.json")
#: Rows are written in the order in which they came.
SAME_LINES = ("judgments.jsonl", "judgments.csv", "selected.csv", "cascade_selected.csv")
#: Sums of floats in another order: the same but for the last digits. Bootstrap draws, which go
#: by position, are left out.
SAME_NUMBERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SAME_DOUBT, ("n", "n_rows", "agreement", "gain", "kappa", "p_value")),
    "estimate.json": ("estimate", "low", "high", "naive"),
    "shared.json": ("estimate", "low", "high"),
    "leaderboard.json": ("elo", "n_battles", "rank"),
    "cycles.json": ("mean_rate", "median_rate", "max_rate", "cycles", "triples"),
    "bias.json": ("raw", "kappa"),
    "scores.json": ("n", "documents"),
}


def start(folder: Path, *, hash_seed: int, threads: int = 1, order: int | None = None) -> Any:
    folder.mkdir()
    environment = {
        **os.environ,
        **dict.fromkeys(THREADS, str(threads)),
        "PYTHONHASHSEED": str(hash_seed),
        "SOURCE_DATE_EPOCH": "1700000000",
    }
    command = [sys.executable, str(VERBS), str(folder)]
    return subprocess.Popen(
        command if order is None else [*command, str(order)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def outputs(run: Any, folder: Path) -> dict[str, bytes]:
    _, remarks = run.communicate(timeout=600)
    assert run.returncode == 0, remarks
    return {file.name: file.read_bytes() for file in sorted((folder / "out").iterdir())}


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    return [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]


@pytest.fixture(scope="module")
def as_is(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("bytes") / "as_is"
    return outputs(start(folder, hash_seed=0), folder)


@pytest.mark.attack("same bytes")
@pytest.mark.crash
def test_no_hash_seed_and_no_thread_count_changes_a_byte(
    as_is: dict[str, bytes], tmp_path: Path
) -> None:
    assert len(as_is) > 45
    for n, (hash_seed, threads) in enumerate([(3, 4), (42, 1), (77, 2), (123456, 8)]):
        folder = tmp_path / str(n)
        tried()
        again = outputs(start(folder, hash_seed=hash_seed, threads=threads), folder)
        assert differing(as_is, again) == [], (hash_seed, threads)


def numbers(content: bytes, fields: tuple[str, ...]) -> list[tuple[str, float]]:
    """Every number of these fields, however deep, sorted: groups may come in another order."""
    seen: list[tuple[str, float]] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                if name in fields and isinstance(inner, (int, float)):
                    seen.append((name, float(inner)))
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(json.loads(content))
    return sorted(seen)


@pytest.mark.attack("same bytes")
@pytest.mark.crash
@pytest.mark.parametrize("order", [5, 6])
def test_shuffled_rows_give_the_same_results(
    as_is: dict[str, bytes], order: int, tmp_path: Path
) -> None:
    folder = tmp_path / "shuffled"
    other = outputs(start(folder, hash_seed=0, order=order), folder)
    assert [name for name in SAME_IN_ANY_ORDER if as_is[name] != other[name]] == []
    for name in SAME_DOUBT:
        doubt, again = (json.loads(files[name])["doubt"] for files in (as_is, other))
        assert doubt == again is not None
    for name in SAME_LINES:
        assert as_is[name] != other[name], "the rows were not shuffled"
        assert sorted(as_is[name].splitlines()) == sorted(other[name].splitlines())
    for name, fields in SAME_NUMBERS.items():
        expected = numbers(as_is[name], fields)
        assert expected, name
        for (field, value), (_, again) in zip(expected, numbers(other[name], fields), strict=True):
            assert again == pytest.approx(value, rel=1e-9), (name, field)
