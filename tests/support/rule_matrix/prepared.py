"""Files that only a verb can make: a policy, anchors, decided rows, audits. Each is made once."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
from fuzz_commands import ALARM

from adjudge.estimation.systems import blind_ids
from adjudge.monitoring import JudgeMonitor
from rule_matrix.files import Files, in_folder
from rule_matrix.rows import Row, battles, grades, judgments, labels_of, without_columns
from rule_matrix.running import run_quietly

#: The environment variable with the secret by which audits are drawn.
SECRET = "RULE_MATRIX_SECRET"
os.environ.setdefault(SECRET, "the same audits in every run")
#: So many wrong verdicts raise an alarm.
_WRONG = 12


def make(command: str, files: Files, path: str) -> str:
    """The text of the file that a command writes."""
    with in_folder(files) as paths:
        exit_code, _, errors = run_quietly(command.format(**paths))
        assert exit_code in (0, 2, 3), f"{command}: {errors}"
        return Path(path).read_text()


def make_rows(command: str, files: Files) -> list[Row]:
    """The rows that a command writes to out.jsonl, without empty columns."""
    rows = pl.read_ndjson(make(command, files, "out.jsonl").encode()).to_dicts()
    filled = [column for column in rows[0] if any(row[column] is not None for row in rows)]
    return [{column: row[column] for column in filled} for row in rows]


@cache
def policy() -> str:
    return make_policy(judgments())


def make_policy(rows: list[Row]) -> str:
    command = "calibrate {rows} --alpha 0.2 -o policy.json"
    return make(command, Files({"rows": rows}), "policy.json")


@cache
def anchors() -> str:
    command = "anchors make {rows} --replicates 2 -o anchors.json"
    return make(command, Files({"rows": battles()}), "anchors.json")


@cache
def card() -> str:
    command = "card make {rows} -o card.json"
    return make(command, Files({"rows": grades()}), "card.json")


def unlabelled_judgments() -> list[Row]:
    return judgments(labelled=0)


@cache
def decided_rows() -> list[Row]:
    """What `select` writes: verdicts, accepted or not."""
    files = Files({"rows": unlabelled_judgments()}, {"policy.json": policy()})
    return make_rows("select {rows} --policy policy.json -o out.jsonl", files)


@cache
def audits() -> Files:
    """Audits of every accepted verdict, people's labels of them, and the policy."""
    command = "monitor draw {rows} --audit-rate 1 --secret-env " + SECRET + " -o out.jsonl"
    rows = make_rows(command, Files({"rows": decided_rows()}))
    people = {row["id"]: row["label"] for row in judgments()}
    labels = [{"id": row["id"], "label": people[row["id"]], "sampled_by": "audit"} for row in rows]
    return Files({"rows": rows, "labels": labels}, {"policy.json": policy()})


@cache
def audits_with_an_alarm() -> Files:
    """The same audits, the first of them wrong by people, and the state that raised the alarm."""
    calm = audits()
    other = {"A": "B", "B": "A"}
    labels = [dict(label) for label in calm.tables["labels"]]
    for label in labels[:_WRONG]:
        label["label"] = other[label["label"]]
    files = calm.with_table("labels", labels)
    command = "monitor check {rows} --labels {labels} --policy policy.json --state monitor.json"
    state = make(command, files, "monitor.json")
    return Files(files.tables, {"monitor.json": state})


@cache
def answers_of_a_changed_judge() -> Files:
    """Its new answers about the labelled rows, the policy before, and the state with an alarm."""
    rows = judgments(every_wrong=4)
    ring = replace(ALARM, n_compared=len(rows), anchors=(len(rows),))
    state = JudgeMonitor(
        judge="g1",
        protocol="preference",
        judge_fingerprint="f-g1",
        fingerprint_parts={},
        verdicts=True,
        delta=0.025,
        passes=2,
        asked_at="2026-10-01T06:00:00+00:00",
        served_models=(),
        rounds=(ring,),
        dropped={},
        anchors=tuple(row["id"] for row in rows),
        texts=("",) * len(rows),
        answers=tuple((row["p_a"], row["p_a"]) for row in judgments()),
        adjudge_version="0",
    )
    files = {"policy.json": policy(), "judge.json": state.to_json()}
    tables = {"rows": without_columns(rows, "label"), "labels": labels_of(rows, "label")}
    return Files(tables, files)


@cache
def looks() -> Files:
    """Labels of the questions that `abtest` asks, for both of two looks at them."""
    labels = {row["id"]: row for row in labels_of(grades(labelled=60), "human")}
    rows = without_columns(grades(), "human")
    command = "abtest {rows} --a old --b new --store s.db --seed 1 --write-ids out.jsonl"
    real = dict(zip(blind_ids(pl.Series([*labels])), labels, strict=True))
    drawn = [labels[real[row["id"]]] for row in make_rows(command, Files({"rows": rows}))]
    return Files({"rows": rows, "first": drawn, "labels": drawn})
