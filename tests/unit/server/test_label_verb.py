"""`adjudge label` without the page: import, export, summary, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.data import read_labels


@pytest.fixture(autouse=True)
def _files() -> None:
    pairs = [{"id": f"p{i}", "prompt": "q", "response_a": "a", "response_b": "b"} for i in range(6)]
    Path("pairs.jsonl").write_text("\n".join(json.dumps(pair) for pair in pairs))
    Path("labels.csv").write_text(
        "id,label,rater,sampled_by,shown_order\n"
        "p0,A,ann,plan,ab\np1,B,ann,plan,ba\np0,A,bob,plan,ba\np1,tie,bob,plan,ab\n"
    )
    Path("plan.csv").write_text("id,sampled_by,sampling_probability\np0,plan,0.25\np1,plan,0.5\n")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".csv.gz"])
def test_labels_go_in_and_come_out_in_every_format(suffix: str) -> None:
    out = f"out{suffix}"
    assert run(["label", "pairs.jsonl", "--import", "labels.csv", "--export-only", "-o", out]) == 0
    back = read_labels(Path(out))
    kept = ["id", "label", "rater", "sampled_by", "shown_order"]
    assert (
        back.select(kept)
        .sort("id", "rater")
        .equals(read_labels(Path("labels.csv")).select(kept).sort("id", "rater"))
    )


def test_comments_come_back_from_a_file_and_no_spreadsheet_runs_them() -> None:
    head, *rest = Path("labels.csv").read_text().splitlines()
    Path("labels.csv").write_text("\n".join([f"{head},comment", *(f"{row},=1+1" for row in rest)]))
    run(["label", "pairs.jsonl", "--import", "labels.csv", "--export-only", "-o", "out.csv"])
    assert "'\u2060=1+1" in Path("out.csv").read_text()
    assert read_labels(Path("out.csv"))["comment"].unique().to_list() == ["=1+1"]


def test_the_summary_counts_and_compares(capsys: pytest.CaptureFixture[str]) -> None:
    run(["label", "pairs.jsonl", "--import", "labels.csv", "--export-only", "--json",
         "--summary", "labelling.json"])  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    kept = json.loads(Path("labelling.json").read_text())
    assert kept.pop("command").startswith("adjudge label pairs.jsonl")
    assert kept.pop("digest").startswith("sha256:")
    assert kept == told
    assert told["kind"] == "labelling"
    assert (told["n_labels"], told["pairs_labelled"], told["pairs"]) == (4, 2, 6)
    assert told["agreement"][0]["raw"] == 0.5


def test_imported_labels_were_drawn_as_the_plan_says() -> None:
    Path("plan.csv").write_text("id,sampled_by\np0,random\np1,random\n")
    Path("mine.csv").write_text("id,label,sampled_by\np0,A,\np1,B,plan\np2,A,\n")
    run(["label", "pairs.jsonl", "--plan", "plan.csv", "--import", "mine.csv", "--export-only",
         "-o", "out.csv"])  # fmt: skip
    back = read_labels(Path("out.csv")).sort("id")
    assert back["sampled_by"].to_list() == ["random", "plan", None]


def test_a_plan_lends_its_probabilities_to_the_labels() -> None:
    run(["label", "pairs.jsonl", "--import", "labels.csv", "--plan", "plan.csv", "--export-only",
         "-o", "out.csv"])  # fmt: skip
    frame = pl.read_csv("out.csv")
    assert dict(zip(frame["id"], frame["sampling_probability"], strict=True)) == {
        "p0": 0.25, "p1": 0.5,
    }  # fmt: skip


def test_a_cut_goes_from_the_plan_to_the_labels_and_to_calibrate() -> None:
    rows = [
        {"id": f"p{i}", "judge": "x", "protocol": "preference", "p_a": 0.99 - i / 20}
        for i in range(6)
    ]
    Path("judgments.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    assert run(["plan", "labels", "judgments.jsonl", "--surest", "0.5", "--n", "2",
                "--write-ids", "plan.csv"]) == 0  # fmt: skip
    planned = pl.read_csv("plan.csv")
    planned.select("id", "sampled_by", label=pl.lit("A")).write_csv("labels.csv")
    assert run(["label", "pairs.jsonl", "--import", "labels.csv", "--plan", "plan.csv",
                "--export-only", "-o", "out.csv"]) == 0  # fmt: skip
    exported = pl.read_csv("out.csv")
    assert exported.select(planned.columns).sort("id").equals(planned.sort("id"))
    run(["calibrate", "judgments.jsonl", "--labels", "out.csv", "-o", "policy.json"])
    policy = json.loads(Path("policy.json").read_text())
    assert policy["cuts"][0]["at"] == planned["cut"][0]
    assert policy["n_calibration"] == 2


def test_without_abstentions_it_says_that_pairs_are_random(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("selected.csv").write_text("id,accepted,uncertainty\np0,true,0.1\n")
    run(["label", "pairs.jsonl", "--abstentions", "selected.csv", "--export-only"])
    assert "selected.csv has no abstention: every pair is drawn" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--plan", "plan.csv", "--abstentions", "plan.csv"], "--plan or --abstentions"),
        (["--plan", "nowhere.csv"], "nowhere.csv"),
        (["--abstentions", "plan.csv"], "adjudge select"),
        (["--host", "0.0.0.0"], "ADJUDGE_TOKEN"),
        (["--store", "labels.csv", "-o", "labels.csv"], "this one is the store"),
    ],
)
def test_what_it_refuses_it_refuses_in_one_line(
    options: list[str], told: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("ADJUDGE_TOKEN", raising=False)
    assert run(["label", "pairs.jsonl", "--no-browser", *options]) == 1
    said = capsys.readouterr().err.strip()
    assert told in said
    assert len(said.splitlines()) == 1


def test_a_label_that_stands_twice_is_added_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path("twice.csv").write_text("id,label\np0,A\np0,A\np1,B\n")
    run(["label", "pairs.jsonl", "--import", "twice.csv", "--export-only"])
    assert "2 labels added, 1 were already in the store" in capsys.readouterr().err


def test_labels_of_pairs_that_are_not_here_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("strange.csv").write_text("id,label\np0,A\nnobody,B\n")
    run(["label", "pairs.jsonl", "--import", "strange.csv", "--export-only"])
    told = capsys.readouterr().err
    assert "1 label in the store is of a pair that pairs.jsonl does not have" in told


def test_an_export_needs_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fastapi", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("guard", "running", "label_page"):
        monkeypatch.delitem(sys.modules, f"adjudge.server.{name}", raising=False)
    assert run(["label", "pairs.jsonl", "--import", "labels.csv", "--export-only"]) == 0


def test_rows_that_cannot_be_shown_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"prompt": "q", "chosen": "x", "rejected": other} for other in ("x", "y")]
    Path("pairs.json").write_text(json.dumps(rows))
    assert run(["label", "pairs.json", "--export-only"]) == 0
    assert "pairs.json: left out 1 row: chosen and rejected are the same" in capsys.readouterr().err


def test_imported_labels_of_ids_that_are_alike_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("alike.csv").write_text("id,label,rater\np0,A,ann\n P1 ,B,ann\n P1 ,B,bob\nnone,A,ann\n")
    command = ["label", "pairs.jsonl", "--import", "alike.csv", "--export-only", "-o", "out.csv"]
    assert run(command) == 0
    named = "1 times: label of an id that would match up to blanks, case, Unicode or number form"
    assert named in capsys.readouterr().err
    assert run([*command, "--store", "other.db", "--alike-ids"]) == 0
    assert "would match" not in capsys.readouterr().err
    assert sorted(read_labels(Path("out.csv"))["id"]) == ["none", "p0", "p1", "p1"]


def test_words_about_the_origin_of_labels_are_read_in_any_case() -> None:
    Path("origin.csv").write_text("id,label,sampled_by,labelled_by\np0,A, Doubt ,PERSON\n")
    run(["label", "pairs.jsonl", "--import", "origin.csv", "--export-only", "-o", "out.csv"])
    assert read_labels(Path("out.csv"))["sampled_by"].to_list() == ["doubt"]
    assert read_labels(Path("origin.csv"))["labelled_by"].to_list() == ["person"]
