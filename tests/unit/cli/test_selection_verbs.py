"""calibrate, select, evaluate, plan selection, reproduce scope: files in, files and codes out."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import polars as pl
import pytest

from adjudge.cli import run
from adjudge.errors import ArgumentError
from adjudge.selection import (
    Cascade,
    Choices,
    Jury,
    Learned,
    PlannedCascade,
    find_doubt,
)
from adjudge.simulate.pairs import simulate_choices, simulate_pairs, two_order_judge


@pytest.fixture
def files(tmp_path):
    made = pl.DataFrame(two_order_judge(400, skill=2.0, seed=0))
    made.write_csv(tmp_path / "old.csv")
    new = pl.DataFrame(two_order_judge(120, skill=2.0, seed=1)).drop("label")
    new.write_ndjson(tmp_path / "new.jsonl")
    return tmp_path


def out_of(capsys, *arguments):
    code = run([str(argument) for argument in arguments])
    message = capsys.readouterr()
    return code, message.out, message.err


def test_calibrate_then_select(files, capsys):
    policy = files / "policy.json"
    code, out, _err = out_of(
        capsys, "calibrate", files / "old.csv", "--alpha", "0.2", "-o", policy, "--plot",
        files / "p.png",
    )  # fmt: skip
    assert code == 0
    headline, worth, *rest = out.splitlines()
    assert headline.startswith("scope at alpha 0.2 accepts doubt <= ")
    above = json.loads(policy.read_text())["groups"][0]["resampling"]["share_above"]
    assert above > 0.1
    assert worth.startswith(
        "On average at most 20 % wrong (simulated, not proven); about "
        f"{100 * above:.0f} % of thresholds are above: to deploy one, take pac. fdr ~"
    )
    assert " (proven on average), pac " in worth
    assert [line.split()[0] for line in rest] == ["next:"]
    assert worth.endswith(" (--explain: more)")
    assert len(textwrap.wrap(headline, 80)) == 1
    assert len(textwrap.wrap(worth, 80)) <= 3
    code, out, _err = out_of(capsys, "policy", "show", policy, "--explain")
    assert all(name in out for name in ("It does not promise", "fdr promises", "It assumes"))
    assert (files / "p.png").stat().st_size > 10_000
    assert json.loads(policy.read_text())["kind"] == "policy"
    rows = files / "rows.csv"
    code, out, _err = out_of(
        capsys, "select", files / "new.jsonl", "--policy", policy, "-o", rows, "--json"
    )
    assert code == 0
    summary = json.loads(out)
    written = pl.read_csv(rows)
    assert {"n", "n_accepted", "accepted_share", "drift", "dropped"} <= set(summary)
    assert summary["n"] == written.height == 120
    assert summary["n_accepted"] == written["accepted"].sum() > 0
    assert written.columns[:6] == ["id", "judge", "verdict", "p_a", "uncertainty", "accepted"]


def test_calibrate_json_has_the_promised_names(files, capsys):
    code, out, _err = out_of(capsys, "calibrate", files / "old.csv", "--alpha", "0.2", "--json")
    names = (
        "guarantee alpha delta ties accepts threshold feasible n_calibration n_errors n_accepted "
        "empirical_risk coverage judges assumptions dropped groups alternatives"
    )
    assert code == 0
    assert set(names.split()) <= set(json.loads(out))


def test_nothing_accepted_is_exit_2(files, capsys):
    code, _out, err = out_of(capsys, "calibrate", files / "old.csv", "--alpha", "0.001")
    assert code == 2
    assert "nothing can be accepted" in err
    policy = files / "none.json"
    out_of(capsys, "calibrate", files / "old.csv", "--alpha", "0.001", "-o", policy)
    code, _out, err = out_of(capsys, "select", files / "new.jsonl", "--policy", policy)
    assert code == 2
    assert "nothing was accepted" in err


def test_plan_labels_draws_at_random_or_among_the_surest(files, capsys):
    code, out, _err = out_of(
        capsys, "plan", "labels", files / "new.jsonl", "--surest", "0.6", "--n", "20",
        "--write-ids", files / "ids.jsonl", "--json",
    )  # fmt: skip
    plan, ids = json.loads(out), pl.read_ndjson(files / "ids.jsonl")
    assert code == 0
    assert (plan["kind"], plan["n_below"], plan["n_pool"]) == ("plan_labels", 72, 120)
    assert ids["id"].to_list() == plan["ids"]
    assert set(ids["cut"]) == {plan["cut"]["at"]}
    code, out, err = out_of(capsys, "plan", "labels", files / "new.jsonl", "--n", "20")
    assert code == 0
    assert "Label these 20 of 120 rows, drawn at random" in out
    assert "give --write-ids FILE" in err


def test_drift_is_exit_2(files, capsys):
    policy = files / "policy.json"
    out_of(capsys, "calibrate", files / "old.csv", "--alpha", "0.2", "-o", policy)
    sure = pl.DataFrame({"id": range(200), "p_a": [0.999] * 200})
    sure.write_csv(files / "sure.csv")
    code, out, err = out_of(capsys, "select", files / "sure.csv", "--policy", policy)
    assert code == 2
    assert "DRIFT" in out
    assert "do not look like" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrate", "missing.csv"], "missing.csv"),
        (["calibrate", "{old}", "--alpha", "2"], "alpha = 2.0"),
        (["calibrate", "{old}", "--guarantee", "sure"], "choose one of scope, fdr, pac"),
        (["calibrate", "{old}", "--by", "language"], "choose a column"),
        (["calibrate", "{new}"], "no human labels"),
        (["select", "{new}", "--policy", "{old}"], "not a JSON file"),
        (["select", "{new}"], "--policy"),
        (["evaluate", "{old}", "--ties", "maybe"], "choose one of drop, error"),
        (["plan", "selection", "{new}"], "--accuracies 0.97,0.9,0.7"),
        (["reproduce", "scope", "--data", "mtbench"], "NAME=FILE"),
    ],
)
def test_what_cannot_run_is_one_line_and_exit_1(files, capsys, arguments, message):
    places = {"old": files / "old.csv", "new": files / "new.jsonl"}
    code, out, err = out_of(capsys, *(argument.format(**places) for argument in arguments))
    assert code == 1
    assert out == ""
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_evaluate(files, capsys):
    code, out, _err = out_of(
        capsys, "evaluate", files / "old.csv", "--splits", "50", "--plot", files / "e.svg",
        "-o", files / "e.json",
    )  # fmt: skip
    assert code == 0
    lines = out.splitlines()
    assert len(lines) <= 8
    assert lines[0].startswith("The judge agrees with people on ")
    assert any(line.startswith("its doubt: AUROC ") for line in lines)
    out = out_of(capsys, "evaluate", files / "old.csv", "--splits", "50", "--explain")[1]
    assert "swap_vote_by_coin" in out
    assert "ratio" in out
    assert (files / "e.svg").exists()
    assert json.loads((files / "e.json").read_text())["kind"] == "judge_evaluation"
    out = out_of(capsys, "evaluate", files / "old.csv", "--splits", "5", "--json")[1]
    assert {"signals", "methods"} <= set(json.loads(out)["doubt"])


def test_choose_on_some_rows_then_learn_on_the_others(files, capsys):
    ids, policy, rows = files / "ids.csv", files / "policy.json", files / "rows.csv"
    old = pl.read_csv(files / "old.csv")
    old.select("id").sample(150, seed=0).write_csv(ids)
    texts = {"prompt": "?", "response_a": "a long answer", "response_b": "short"}
    new = pl.read_ndjson(files / "new.jsonl")
    for name, frame in (("old", old), ("new", new)):
        pairs = frame.select("id").with_columns(**{k: pl.lit(v) for k, v in texts.items()})
        pairs.write_csv(files / f"{name}-pairs.csv")
    code, out, _err = out_of(
        capsys, "evaluate", files / "old.csv", "--doubt", "learned", "--choose-on", ids,
        "--splits", "5", "--json",
    )  # fmt: skip
    seen = json.loads(out)["doubt"]
    assert (code, seen["signals"][0]["n"], seen["comparison_splits"]) == (0, 150, 5)
    code, out, _err = out_of(
        capsys, "calibrate", files / "old.csv", "--alpha", "0.2", "--doubt", "learned",
        "--leave-out", ids, "--pairs", files / "old-pairs.csv", "-o", policy,
    )  # fmt: skip
    assert (code, "75 labels that are not used to calibrate" in out) == (0, True)
    made = json.loads(policy.read_text())
    assert (made["n_calibration"], made["doubt"]["lengths"]) == (175, "response")
    select = ["select", files / "new.jsonl", "--policy", policy, "-o", rows]
    code, _out, err = out_of(capsys, *select)
    assert (code, "response_a" in err) == (1, True)
    code, _out, _err = out_of(capsys, *select, "--pairs", files / "new-pairs.csv")
    assert code == 0
    assert pl.read_csv(rows).columns[2:5] == ["verdict", "judge_verdict", "learned_doubt"]


def test_plan_selection_before_there_are_labels(files, capsys):
    ids = files / "ids.csv"
    code, out, err = out_of(
        capsys, "plan", "selection", files / "new.jsonl", "--accuracies", "0.99,0.95", "--gain",
        "0.3", "--repeats", "20", "--write-ids", ids, "--plot", files / "plan.png",
    )  # fmt: skip
    assert code == 0, err
    assert "stated accuracies 0.99, 0.95 on 120 scored rows" in out
    rows = pl.read_ndjson(files / "new.jsonl")
    assert set(pl.read_csv(ids)["id"]) <= set(rows["id"])
    assert (files / "plan.png").exists()
    code, _out, err = out_of(
        capsys, "plan", "selection", files / "new.jsonl", "--accuracies", "good"
    )
    assert code == 1
    assert "give numbers, such as 0.97,0.9,0.7" in err


def test_plan_selection_writes_ids(files, capsys):
    half = pl.read_csv(files / "old.csv").with_columns(
        label=pl.when(pl.int_range(pl.len()) < 60).then("label")
    )
    half.write_csv(files / "half.csv")
    ids = files / "ids.csv"
    code, _out, err = out_of(
        capsys, "plan", "selection", files / "half.csv", "--alpha", "0.2", "--repeats", "20",
        "--gain", "0.001", "--write-ids", ids, "--plot", files / "plan.png",
    )  # fmt: skip
    assert code == 0, err
    chosen = pl.read_csv(ids)
    unlabelled = half.filter(pl.col("label").is_null())["id"].to_list()
    assert set(chosen["id"]) <= set(unlabelled)
    assert (files / "plan.png").exists()


def test_reproduce_scope_on_data_and_on_the_simulator(files, capsys):
    code, out, _err = out_of(
        capsys, "reproduce", "scope", "--data", f"mt-bench={files / 'old.csv'}", "--splits", "20",
        "--sample", "300", "--figures", files / "pictures",
    )  # fmt: skip
    assert code == 0
    assert ["mt-bench", "400", "300"] in [line.split() for line in out.splitlines()]
    assert "0.246" in out
    assert "Simulated judges" not in out
    assert "status: simulated" not in " ".join(out.split())
    pictures = {path.name for path in (files / "pictures").iterdir()}
    assert pictures == {"figure-02.png", "figure-03.png"}
    code, out, _err = out_of(
        capsys, "reproduce", "scope", "--splits", "5", "--sample", "40", "--json"
    )
    assert json.loads(out)["kind"] == "reproduction_scope"
    assert {table["source"] for table in json.loads(out)["tables"]} == {"simulated", "formula"}


def test_the_best_of_several_responses_from_pairs_to_selected_prompts(tmp_path, capsys):
    """All pairs of three answers to a prompt: judged, calibrated by prompt, selected."""
    rows = simulate_choices(120, responses=3, seed=4).drop("p_a", "judge")
    texts = [pl.lit(text).alias(name) for name, text in
             (("prompt", "q"), ("response_a", "one"), ("response_b", "two"))]  # fmt: skip
    rows.with_columns(texts).write_ndjson(tmp_path / "pairs.jsonl")
    judge = ("--judge", "simulated:accuracy=0.95,noise=0.3", "--store", tmp_path / "replies.db")
    code, _, err = out_of(
        capsys, "judge", tmp_path / "pairs.jsonl", *judge, "-o", tmp_path / "judged.jsonl"
    )
    assert code == 0, err
    code, out, err = out_of(
        capsys, "calibrate", tmp_path / "judged.jsonl", "--best", "--alpha", "0.3", "-o",
        tmp_path / "best.json", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert (json.loads(out)["about"], json.loads(out)["n_calibration"]) == ("choices", 120)
    code, _, err = out_of(
        capsys, "select", tmp_path / "judged.jsonl", "--policy", tmp_path / "best.json", "-o",
        tmp_path / "selected.csv",
    )  # fmt: skip
    assert code == 0, err
    selected = pl.read_csv(tmp_path / "selected.csv")
    assert selected.height == 120
    assert set(selected["choice"].drop_nulls()) == {"response-1", "response-2", "response-3"}
    code, _, err = out_of(
        capsys, "calibrate", tmp_path / "judged.jsonl", "--alpha", "0.2", "-o",
        tmp_path / "pair.json",
    )  # fmt: skip
    assert code == 0, err
    code, _, err = out_of(
        capsys, "select", tmp_path / "judged.jsonl", "--best", "--policy", tmp_path / "pair.json"
    )
    assert code == 1
    assert "the policy is about verdicts on pairs, but these are choices" in err
    code, out, err = out_of(
        capsys, "evaluate", tmp_path / "judged.jsonl", "--best", "--splits", "5", "--explain"
    )
    assert code == 0, err
    assert "product" in out
    code, _, err = out_of(
        capsys, "monitor", "draw", tmp_path / "selected.csv", "--audit-rate", "0.5",
        "--secret-env", "PATH", "-o", tmp_path / "audits.csv",
    )  # fmt: skip
    assert code == 1
    assert "has choices among several responses" in err


def test_reproduce_scope_asks_a_judge_by_every_protocol(tmp_path, capsys):
    rows = [
        {"id": p.id, "prompt": p.prompt, "response_a": p.response_a, "response_b": p.response_b,
         "label": p.label}
        for p in simulate_pairs(40, seed=1)
    ]  # fmt: skip
    pl.DataFrame(rows).write_ndjson(tmp_path / "pairs.jsonl")
    code, out, err = out_of(
        capsys, "reproduce", "scope", "--data", f"own={tmp_path / 'pairs.jsonl'}", "--judge",
        "simulated:accuracy=0.85,position_bias=0.3,noise=0.5", "--sample", "30", "--splits", "5",
        "--store", tmp_path / "replies.db", "--json",
    )  # fmt: skip
    assert code == 0, err
    done = json.loads(out)
    tables = {table["name"]: table for table in done["tables"]}
    assert tables["qualities"]["data"] == "own"
    assert {row["signal"] for row in tables["qualities"]["rows"]} == {
        *("preference_entropy", "single_order", "swap_vote", "swap_vote_by_coin"),
        *("verbalized", "annotators"),
    }


def test_text_from_data_is_not_obeyed(files, capsys):
    hostile = pl.read_csv(files / "old.csv").with_columns(judge=pl.lit("\x1b[31m[bold]x[/bold]"))
    hostile.write_csv(files / "hostile.csv")
    code, out, _err = out_of(capsys, "evaluate", files / "hostile.csv", "--splits", "5")
    assert code == 0
    assert "\x1b[31m" not in out
    assert "[bold]x[/bold]" in out


DOUBT_FLAGS = [
    ("--jury mean", Jury("mean")),
    ("--jury learned --category kind", Learned(category="kind", jury=Jury())),
    ("--jury mean --doubt learned", Learned(jury=Jury())),
    ("--doubt learned --learning-share 0.5", Learned(share=0.5)),
    ("--best", Choices()),
    ("--best --jury mean", Choices(Jury("mean"))),
    ("", find_doubt(None)),
]
CASCADE_FLAGS = [
    ("--cascade x,y --costs 1,9 --category kind", Cascade("x,y", (1.0, 9.0), "kind")),
    ("--cascade x,y --learning-share 0.4", Cascade("x,y", share=0.4)),
    ("--plan rows.csv", PlannedCascade(Path("rows.csv"))),
]


def doubt_of(verb, flags, monkeypatch, folder):
    """The doubt that the verb passes to its function."""
    calls = []

    def record(*_, **arguments):
        calls.append(arguments["doubt"])
        raise ArgumentError("doubt", verb, "was recorded")

    first = {"evaluate": "adjudge.evaluation.prepare_evaluation"}
    monkeypatch.setattr(first.get(verb, f"adjudge.selection.{verb}"), record)
    monkeypatch.chdir(folder)
    assert run([verb, "old.csv", *flags.split()]) == 1
    return calls


@pytest.mark.parametrize(("flags", "doubt"), DOUBT_FLAGS + CASCADE_FLAGS)
def test_flags_make_the_doubt_of_calibrate(flags, doubt, files, monkeypatch):
    assert doubt_of("calibrate", flags, monkeypatch, files) == [doubt]


@pytest.mark.parametrize(("flags", "doubt"), DOUBT_FLAGS)
def test_flags_make_the_doubt_of_evaluate(flags, doubt, files, monkeypatch):
    assert doubt_of("evaluate", flags, monkeypatch, files) == [doubt]


@pytest.mark.parametrize(
    ("flags", "unused"),
    [
        ("--costs 1,2", "costs"),
        ("--category kind", "category"),
        ("--jury mean --category kind", "category"),
        ("--cascade x,y --jury mean", "jury"),
        ("--cascade x,y --doubt learned", "doubt"),
        ("--cascade x,y --best", "best"),
        ("--plan old.csv --cascade x,y", "cascade"),
        ("--plan old.csv --costs 1,2", "costs"),
        ("--best --doubt learned", "doubt"),
    ],
)
def test_a_flag_that_the_doubt_does_not_use_is_refused(flags, unused, files, monkeypatch, capsys):
    assert doubt_of("calibrate", flags, monkeypatch, files) == []
    error = capsys.readouterr().err
    assert re.search(f"{unused} = .*: leave it out: the doubt that this command asks for", error)
    remedy = {"costs": "; --cascade does", "category": "; --doubt learned, --jury learned or"}
    assert remedy.get(unused, "") in error


def test_plan_cascade_makes_the_cascade_of_its_flags(files, monkeypatch):
    cascades = []

    def record(*_, cascade, **_others):
        cascades.append(cascade)
        raise ArgumentError("cascade", cascade, "was recorded")

    monkeypatch.setattr("adjudge.selection.plan_cascade", record)
    monkeypatch.chdir(files)
    flags = ["--cascade", "x,y", "--costs", "1,9", "--category", "kind", "--learning-share", "0.4"]
    assert run(["plan", "cascade", "old.csv", *flags]) == 1
    assert cascades == [Cascade("x,y", (1.0, 9.0), "kind", 0.4)]
