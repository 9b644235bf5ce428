"""What the labelled rows stated about their answers, and new rows that state something else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data import write_rows
from adjudge.selection import calibrate, read_policy, select

OLD, NEW = "gpt-x-2024", "gpt-x-2025"
OTHERS = {"served_model": (OLD, NEW), "criterion": ("quality", "brevity"), "metric": ("x", "y"),
          "judged_as": ("turn", "step")}  # fmt: skip


def rows(first: int = 0, n: int = 100, **columns: object) -> pl.DataFrame:
    made = pl.DataFrame({"id": range(first, first + n), "p_a": [0.95, 0.9] * (n // 2)})
    return made.with_columns(**{name: pl.lit(value) for name, value in columns.items()})


@pytest.mark.parametrize("column", [*OTHERS])
def test_another_value_than_the_policys_is_named_with_its_own(column: str) -> None:
    first, second = OTHERS[column]
    policy = calibrate(rows(label="A", **{column: first}), alpha=0.1)
    assert policy.calibrated_on == {column: (first,)}
    summary = select(rows(1000, **{column: second}), policy).summary
    assert [text for text in summary.warnings if column in text] == [
        f"{column} is {second} in some rows, but the policy was calibrated on {first}: its promise "
        "is about that"
        + "; to test whether the judge changed: adjudge monitor judge"
        * (column == "served_model")
    ]
    # The same value, none, and a policy from before this was recorded say nothing.
    older = replace(policy, calibrated_on={})
    for new, rules in (
        (rows(1000, **{column: first}), policy),
        (rows(1000), policy),
        (rows(1000, **{column: second}), older),
    ):
        assert not any(column in text for text in select(new, rules).summary.warnings)
    assert older.rules_id == policy.rules_id


def test_a_policy_by_criterion_selects_rows_of_each() -> None:
    half = pl.when(pl.col("id") % 2 == 0).then(pl.lit("quality")).otherwise(pl.lit("brevity"))
    policy = calibrate(
        rows(label="A", n=200).with_columns(criterion=half), alpha=0.1, by="criterion"
    )
    summary = select(rows(1000).with_columns(criterion=half), policy).summary
    assert {group.group: group.n_accepted for group in summary.groups} == {
        "brevity": 50,
        "quality": 50,
    }


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_commands_write_and_print_it(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labelled, new, policy = (str(tmp_path / name) for name in (f"l.{suffix}", f"n.{suffix}", "p"))
    write_rows(rows(label="A", served_model=OLD, note="long"), labelled)
    write_rows(rows(1000, served_model=NEW), new)
    assert run(["calibrate", labelled, "--alpha", "0.1", "-o", policy]) == 0
    assert json.loads(Path(policy).read_text())["calibrated_on"] == {"served_model": [OLD]}
    assert read_policy(policy).calibrated_on == {"served_model": (OLD,)}
    capsys.readouterr()
    run(["select", new, "--policy", policy])
    printed = " ".join("".join(capsys.readouterr()).split())
    assert f"served_model is {NEW} in some rows, but the policy was calibrated on {OLD}" in printed
    step = "next: adjudge monitor judge LABELLED_ROWS --judge JUDGE --state judge.json"
    assert step in printed
    write_rows(rows(1000, served_model=OLD), new)
    run(["select", new, "--policy", policy])
    assert step not in " ".join("".join(capsys.readouterr()).split())
