"""Every file is parsed once per command, however many steps the command has."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from examples import write_examples
from parses import count_opens, count_parses

from adjudge.cli import run

JUDGE = "simulated:accuracy=0.8,seed=1"
#: Exit code 2 is a finding about made-up data: the command ran.
FINE = {0, 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of every kind, with labels of their own, a policy and anchors."""
    folder = write_examples(tmp_path_factory.mktemp("parse_once"))
    made = [
        ["judge", "pairs.jsonl", "--judge", JUDGE, "--store", "s.db", "-o", "judged.jsonl"],
        ["judge", "new_pairs.jsonl", "--judge", JUDGE, "--store", "s.db", "-o", "new.jsonl"],
        ["calibrate", "judged.jsonl", "--alpha", "0.2", "-o", "policy.json"],
        [
            "judge",
            "items.jsonl",
            "--judge",
            JUDGE,
            "--protocol",
            "grade",
            "--store",
            "s.db",
            "-o",
            "grades.jsonl",
        ],
        ["calibrate", "grades.jsonl", "--alpha", "0.2", "-o", "grade_policy.json"],
        ["anchors", "make", "battles.csv", "--replicates", "10", "-o", "anchors.json"],
        ["card", "make", "grades.jsonl", "-o", "card.json"],
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in made:
            assert run(words) in FINE
    judged = pl.read_ndjson(folder / "judged.jsonl")
    judged.select("id", "label").head(100).write_csv(folder / "labels.csv")
    judged.drop("label").write_csv(folder / "unlabelled.csv")
    answers = pl.read_csv(folder / "answers.csv")
    answers.filter(pl.col("human").is_not_null()).select("id", "human").write_csv(
        folder / "human.csv"
    )
    answers.drop("human").write_parquet(folder / "answers.parquet")
    battles = pl.read_csv(folder / "battles.csv").drop("human_pref")
    mine = (pl.col("model_a") == "model-03") | (pl.col("model_b") == "model-03")
    battles.filter(mine).with_columns(
        pl.col("model_a", "model_b").replace("model-03", "fresh")
    ).write_csv(folder / "fresh.csv")
    battles.with_columns(id=pl.format("new-{}", "id")).write_csv(folder / "pool.csv")
    return folder


#: What comes after these is written, not read.
WRITES = {"-o", "--write-ids", "--write-rows", "--write-sets"}
COMMANDS = {
    "judge": f"judge pairs.jsonl --judge {JUDGE} --store s.db -o again.jsonl",
    "label": "label pairs.jsonl --store s.db --export-only -o exported.csv",
    "calibrate": "calibrate judged.jsonl --alpha 0.2 --cluster none",
    "calibrate with labels": "calibrate unlabelled.csv --labels labels.csv --store s.db",
    "select": "select new.jsonl --policy policy.json --store s.db -o selected.jsonl",
    "judge items": f"judge items.jsonl --judge {JUDGE} --protocol grade --store s.db -o g.jsonl",
    "label items": "label items.jsonl --store s.db --export-only -o exported_grades.csv",
    "calibrate on grades": "calibrate grades.jsonl --alpha 0.2",
    "select grades": "select grades.jsonl --policy grade_policy.json --store s.db -o sg.jsonl",
    "estimate grades": "estimate grades.jsonl",
    "evaluate": "evaluate unlabelled.csv --labels labels.csv --splits 5",
    "plan selection": "plan selection unlabelled.csv --labels labels.csv --alpha 0.2 --repeats 5 "
    "--write-ids ids.csv",
    "estimate": "estimate answers.csv --by model --cluster prompt_id",
    "estimate with labels": "estimate answers.parquet --labels human.csv",
    "card make": "card make unlabelled.csv --labels labels.csv --policy policy.json",
    "gate": "gate grades.jsonl --card card.json --at-least 0.05",
    "gate with labels": "gate answers.parquet --labels human.csv --card card.json --at-least 0.99",
    "plan rate": "plan rate answers.csv --width 0.1 --write-ids rows.csv",
    "diagnose transitivity": "diagnose transitivity tournaments.csv --replicates 5",
    "diagnose scores": "diagnose scores scores.jsonl --splits 2 --write-sets sets.jsonl",
    "diagnose bias": "diagnose bias unlabelled.csv --pairs pairs.jsonl --labels labels.csv",
    "diagnose bias of battles": "diagnose bias battles.csv",
    "rank": "rank battles.csv --replicates 10 --against votes --evaluate",
    "anchors make": "anchors make battles.csv --replicates 10 -o kept.json",
    "anchors check": "anchors check battles.csv --anchors anchors.json",
    "anchors place": "anchors place fresh.csv --anchors anchors.json",
    "plan battles": "plan battles pool.csv --budget 5 --judged battles.csv --write-rows next.csv",
}


#: A stream is rewound: its first row is looked at, then all rows are read.
OPENS = dict.fromkeys(("judge", "judge items", "label", "label items"), 2)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_parses_each_of_its_files_once(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    words = COMMANDS[name].split()
    outputs = {after for word, after in pairwise(words) if word in WRITES}
    inputs = {word for word in words if Path(word).is_file()} - outputs - {"s.db"}
    with count_parses() as counts, count_opens() as opens:
        code = run(words)
    assert code in FINE, capsys.readouterr().err
    assert inputs
    assert dict(counts) == dict.fromkeys(inputs, 1)
    tables = {file for file in inputs if not file.endswith(".json")}
    assert {file: opens[file] for file in tables} == dict.fromkeys(tables, OPENS.get(name, 1))


def test_a_report_parses_each_file_of_its_folder_once(folder: Path, tmp_path: Path) -> None:
    with count_parses() as counts:
        assert run(["report", str(folder), "-o", str(tmp_path / "report.html")]) == 0
    assert {"policy.json", "anchors.json", "pairs.jsonl", "judged.jsonl"} <= set(counts)
    assert set(counts.values()) == {1}
