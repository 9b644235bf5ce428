"""A guarantee from outside goes through every verb: its rule is obeyed, its promise is shown."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from hoeffding import GRID, Hoeffding
from serving import JUDGE

from adjudge.cli import run
from adjudge.data import write_result, write_rows
from adjudge.errors import ArgumentError
from adjudge.judges import judge_pairs
from adjudge.report import write_report
from adjudge.selection import (
    Labels,
    Levels,
    calibrate,
    evaluate_doubt,
    find_guarantee,
    plan_selection,
    read_policy,
    register_guarantee,
    select,
    unregister_guarantee,
)
from adjudge.selection.splits import split_risks
from adjudge.simulate.pairs import simulate_pairs

ALPHA = 0.15
PROMISE = "Hoeffding bounds the error rate by 0.15 but for one time in 10"
NOT_PROMISED = "that a finer grid would not have accepted more"


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register_guarantee(Hoeffding())
    yield
    unregister_guarantee("hoeffding")


@pytest.fixture(scope="module")
def judgments() -> pl.DataFrame:
    judged = judge_pairs(simulate_pairs(1500, seed=1), judge=JUDGE, store=None)
    return judged.judgments


@pytest.fixture
def policy(judgments: pl.DataFrame, tmp_path: Path) -> Path:
    made = calibrate(judgments[:1200], alpha=ALPHA, guarantee="hoeffding")
    return write_result(made, tmp_path / "policy.json")


def test_calibrate_decides_by_it_and_lists_it_with_the_others(judgments, policy):
    made = read_policy(policy)
    own = judgments[:1200]
    wrong = (own["verdict"] != own["label"]).to_numpy().astype(int)
    labels = Labels(own["uncertainty"].to_numpy(), wrong)
    rule = Hoeffding().decide(labels, Levels(Fraction(3, 20), Fraction(1, 10)))
    assert made.threshold == rule.threshold
    assert made.threshold in GRID
    assert (made.delta, made.feasible, made.indicative) == (0.1, True, False)
    assert (made.promise, made.not_promised) == (PROMISE, NOT_PROMISED)
    assert made.assumptions[0] == Hoeffding.assumption
    assert [a.guarantee for a in made.alternatives] == ["scope", "fdr", "pac", "hoeffding"]
    assert made.alternatives[3].promise == PROMISE
    assert made.alternatives[3].n_accepted == made.n_accepted


def test_delta_is_shared_and_too_few_labels_are_refused(judgments):
    own = judgments[:1200].with_columns(
        side=pl.when(pl.int_range(1200) < 200).then(pl.lit("few")).otherwise(pl.lit("many"))
    )
    made = calibrate(own, alpha=ALPHA, guarantee="hoeffding", by="side", cluster=None)
    alone = calibrate(
        own.filter(pl.col("side") == "many"), alpha=ALPHA, delta=0.05, guarantee="hoeffding"
    )
    rules = {group.group: group for group in made.groups}
    assert rules["many"].threshold == alone.threshold
    least = Hoeffding().fewest_labels(Levels(Fraction(3, 20), Fraction(1, 20)))
    assert least == 124
    tiny = calibrate(own[:60], alpha=ALPHA, guarantee="hoeffding")
    assert not tiny.feasible
    assert "hoeffding at alpha 0.15 needs 109 without an error" in (tiny.groups[0].note or "")
    for option in ({"weights": "p_a"}, {"by": "side", "pooled": True}):
        with pytest.raises(ArgumentError, match="--guarantee fdr"):
            calibrate(own, guarantee="hoeffding", **option)


def test_select_obeys_its_threshold(judgments, policy, tmp_path, capsys):
    threshold = read_policy(policy).threshold
    chosen = select(judgments[1200:], policy)
    below = chosen.rows["uncertainty"] <= threshold
    assert chosen.rows["accepted"].to_list() == below.to_list()
    assert 0 < chosen.summary.n_accepted < 300
    assert chosen.summary.promise == PROMISE
    write_rows(judgments[1200:], tmp_path / "new.jsonl")
    assert run(["select", "new.jsonl", "--policy", str(policy)]) == 0
    assert PROMISE in capsys.readouterr().out


def test_evaluate_splits_by_it_without_a_kernel_of_its_own(judgments):
    seen = evaluate_doubt(judgments, splits=20, alphas=[ALPHA])
    rows = [row for row in seen.methods if row.method == "hoeffding"]
    assert len(rows) == len(seen.signals)
    assert not rows[0].baseline
    assert 0 < rows[0].coverage < 1
    s = judgments["uncertainty"].to_numpy()
    e = (judgments["verdict"] != judgments["label"]).to_numpy().astype(int)
    [alone] = split_risks(s, e, alphas=[ALPHA], methods=["hoeffding"], splits=20)
    assert alone.coverages.mean() == rows[0].coverage


def test_plan_follows_it(judgments):
    plan = plan_selection(judgments, alpha=ALPHA, guarantee="hoeffding", repeats=20)
    least = Hoeffding().fewest_labels(Levels(Fraction(3, 20), Fraction(1, 10)))
    assert (plan.guarantee, plan.delta) == ("hoeffding", 0.1)
    assert [point.coverage for point in plan.points if point.n < least] == [0.0, 0.0, 0.0]
    assert plan.points[-1].coverage > 0.5


def test_the_command_line_knows_it(judgments, tmp_path, capsys):
    write_rows(judgments, tmp_path / "rows.jsonl")
    asked = ["--alpha", "0.15", "--guarantee", "hoeffding"]
    assert run(["calibrate", "rows.jsonl", *asked, "-o", "p.json", "--explain"]) == 0
    shown = capsys.readouterr().out
    assert PROMISE in shown
    assert NOT_PROMISED in shown
    assert run(["plan", "selection", "rows.jsonl", *asked, "--repeats", "5"]) == 0
    assert "hoeffding at alpha 0.15" in capsys.readouterr().out
    assert run(["evaluate", "rows.jsonl", "--splits", "5", "--explain"]) == 0
    assert "hoeffding" in capsys.readouterr().out


def test_serve_obeys_it(policy):
    threshold = read_policy(policy).threshold
    program = (
        "import sys, hoeffding; from adjudge.cli import run;"
        "from adjudge.selection import register_guarantee;"
        "register_guarantee(hoeffding.Hoeffding());"
        "sys.exit(run(sys.argv[1:]))"
    )
    command = ["serve", "--policy", str(policy), "--judge", JUDGE, "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *command], stderr=subprocess.PIPE, text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = re.search(r":(\d+)/", line)
        assert port is not None, line + process.stderr.read()
        with closing(http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=30)) as wire:
            wire.request("GET", "/v1/policy")
            message = json.loads(wire.getresponse().read())
            assert (message["guarantee"], message["promise"]) == ("hoeffding", PROMISE)
            outcomes = set()
            for pair in simulate_pairs(40, seed=2):
                fields = ("id", "prompt", "response_a", "response_b")
                body = json.dumps({name: getattr(pair, name) for name in fields})
                wire.request("POST", "/v1/judge", body, {"Content-Type": "application/json"})
                ruling = json.loads(wire.getresponse().read())
                assert ruling["accepted"] == (ruling["uncertainty"] <= threshold)
                outcomes.add(ruling["accepted"])
            assert outcomes == {True, False}
    finally:
        process.kill()
        process.communicate()


def test_the_report_shows_its_promise(judgments, policy, tmp_path):
    write_result(select(judgments[1200:], policy).summary, tmp_path / "selection.json")
    write_result(evaluate_doubt(judgments, splits=5, alphas=[ALPHA]), tmp_path / "evaluation.json")
    write_result(
        plan_selection(judgments, alpha=ALPHA, guarantee="hoeffding", repeats=5),
        tmp_path / "plan.json",
    )
    page = write_report(tmp_path, tmp_path / "report.html").read_text()
    assert PROMISE in page
    assert NOT_PROMISED in page


def test_a_name_is_taken_once_and_an_unknown_one_is_refused_everywhere(judgments):
    with pytest.raises(ArgumentError, match="is in use"):
        register_guarantee(Hoeffding())
    known = "choose one of scope, fdr, pac, hoeffding"
    for call in (
        lambda: find_guarantee("hope"),
        lambda: calibrate(judgments, guarantee="hope"),
        lambda: plan_selection(judgments, guarantee="hope"),
    ):
        with pytest.raises(ArgumentError, match=f"guarantee = 'hope': {known}"):
            call()
    with pytest.raises(ArgumentError, match="methods = 'hope': choose one of vanilla, "):
        evaluate_doubt(judgments, methods=["hope"])
