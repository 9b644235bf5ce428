"""A row exactly at the threshold is accepted, one float above it is not, at every user's door.

One line decides (`Rule.accept`): Python's `select`, the command line, POST /v1/judge, a Threshold
and the splits of `evaluate` all follow it.
"""

from __future__ import annotations

import asyncio
import http.client
import json
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from serving import JUDGE, served

from adjudge.cli import run
from adjudge.data import write_result, write_rows
from adjudge.judges import judge_pairs
from adjudge.judges.judge import make_judge, parse_judge, parse_protocol
from adjudge.policy.result import Rule
from adjudge.records import Pair
from adjudge.selection import (
    Guarantee,
    Levels,
    all_guarantees,
    calibrate,
    find_guarantee,
    pac_threshold,
    scope_threshold,
    select,
)
from adjudge.selection.splits import random_halves
from adjudge.selection.thresholds import SplitCounts, SplitTable
from adjudge.server.service import JudgeService

#: The doubt of the calibration rows that are right; those above it are all wrong.
EDGE = 0.3
ABOVE = float(np.nextafter(EDGE, 1))
BELOW = float(np.nextafter(EDGE, 0))


def labelled(edge: float, **columns: str) -> pl.DataFrame:
    """40 right rows, the last three of them exactly at the edge, and 20 wrong ones above it."""
    doubt = np.r_[np.linspace(0.01, 0.2, 37), [edge] * 3, [0.6] * 20]
    frame = pl.DataFrame(
        {"p_a": [0.9] * 60, "uncertainty": doubt, "label": ["A"] * 40 + ["B"] * 20}
    )
    name = "".join(columns.values())
    return frame.with_columns(
        id=pl.format("{}{}", pl.lit(name), pl.int_range(60)),
        **{column: pl.lit(value) for column, value in columns.items()},
    )


def new_rows() -> pl.DataFrame:
    """Two rows at the edge, two one float above it, two one float below."""
    doubt = [EDGE, EDGE, ABOVE, ABOVE, BELOW, BELOW]
    ids = ["at1", "at2", "above1", "above2", "below1", "below2"]
    return pl.DataFrame({"id": ids, "p_a": [0.9, 0.1] * 3, "uncertainty": doubt})


@pytest.mark.parametrize("guarantee", ["scope", "pac"])
def test_select_in_python_and_on_the_command_line(guarantee, tmp_path):
    policy = calibrate(labelled(EDGE), alpha=0.1, guarantee=guarantee)
    assert policy.threshold == EDGE
    expected = [True, True, False, False, True, True]
    assert select(new_rows(), policy).rows["accepted"].to_list() == expected
    write_result(policy, tmp_path / "policy.json")
    for name in ("new.jsonl", "new.csv", "new.parquet"):
        write_rows(new_rows(), tmp_path / name)
        assert run(["select", name, "--policy", "policy.json", "-o", "rows.jsonl"]) == 0
        written = pl.read_ndjson("rows.jsonl")
        assert written["accepted"].to_list() == expected, name
        assert written["reason"].to_list()[2:4] == ["too uncertain", "too uncertain"]


@pytest.mark.parametrize("rule", [scope_threshold, pac_threshold])
def test_a_threshold_in_python(rule):
    frame = labelled(EDGE)
    errors = (frame["label"] == "B").cast(pl.Int64)
    result = rule(frame["uncertainty"], errors, alpha=0.1)
    assert result.accept([EDGE, ABOVE, BELOW]).tolist() == [True, False, True]


def test_post_v1_judge(tmp_path: Path) -> None:
    # What the judge says of two pairs: the same doubt.
    answers = [{"id": "x", "p_fwd": 0.9, "p_rev": 0.9}, {"id": "y", "p_fwd": 0.9, "p_rev": 0.9}]
    write_rows(pl.DataFrame(answers), tmp_path / "answers.jsonl")
    judge = "replay:answers.jsonl"
    pairs = [Pair(id=name, prompt="?", response_a="a", response_b="b") for name in "xy"]
    judged = judge_pairs(pairs, judge=judge, store=None).judgments
    [doubt] = judged["uncertainty"].unique().to_list()
    sides = {"at": doubt, "above": float(np.nextafter(doubt, 0))}
    old = pl.concat(
        [
            labelled(edge, side=side).with_columns(
                judge=pl.lit(judged["judge"][0]), protocol=pl.lit(judged["protocol"][0])
            )
            for side, edge in sides.items()
        ]
    )
    policy = calibrate(old, alpha=0.1, by="side")
    assert {group.group: group.threshold for group in policy.groups} == sides
    path = write_result(policy, tmp_path / "policy.json")
    with (
        served(path, judge=judge) as port,
        closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as wire,
    ):
        decided = {}
        for side in sides:
            for name in "xy":
                body = {"id": name, "prompt": "?", "response_a": "a", "response_b": "b"}
                wire.request(
                    "POST",
                    "/v1/judge",
                    json.dumps(body | {"group": side}),
                    {"Content-Type": "application/json"},
                )
                ruling = json.loads(wire.getresponse().read())
                assert ruling["uncertainty"] == doubt
                decided[side, name] = (ruling["accepted"], ruling["reason"])
    assert decided == {
        ("at", "x"): (True, None),
        ("at", "y"): (True, None),
        ("above", "x"): (False, "too uncertain"),
        ("above", "y"): (False, "too uncertain"),
    }


@pytest.mark.parametrize("guarantee", [one.name for one in all_guarantees()])
def test_ties_enter_or_leave_together(guarantee):
    rng = np.random.default_rng(4)
    for grid in (5, 20):
        doubt = rng.integers(1, grid, 200) / grid
        wrong = rng.random(200) < doubt**2
        old = pl.DataFrame(
            {"p_a": [0.9] * 200, "uncertainty": doubt, "label": np.where(wrong, "B", "A")}
        )
        policy = calibrate(old.with_row_index("id"), alpha=0.2, guarantee=guarantee)
        new = pl.DataFrame({"p_a": [0.9] * 90, "uncertainty": rng.integers(1, grid, 90) / grid})
        rows = select(new.with_row_index("id"), policy).rows
        by_score = rows.group_by("uncertainty").agg(pl.col("accepted").n_unique())
        assert by_score["accepted"].to_list() == [1] * by_score.height
        assert 0 < rows["accepted"].sum() < 90


def test_there_is_no_second_place(monkeypatch):
    """With the one line turned off, nothing with a threshold accepts anything anywhere."""
    policy = calibrate(labelled(EDGE), alpha=0.1)
    frame = labelled(EDGE)
    scores, errors = frame["uncertainty"].to_numpy(), (frame["label"] == "B").to_numpy().astype(int)
    threshold = scope_threshold(scores, errors, alpha=0.1)
    judge = make_judge(parse_judge(JUDGE), parse_protocol("preference"))
    own = calibrate(
        frame.with_columns(
            judge=pl.lit(judge.backend.name), protocol=pl.lit("preference"), uncertainty=0.6
        ).head(40),
        alpha=0.1,
    )
    pair = Pair(id="x", prompt="?", response_a="a", response_b="b")

    def decisions() -> list[int]:
        table = SplitTable.build(scores, errors, None, None)
        [halves] = random_halves(len(scores), 5, 0)
        counts = SplitCounts.build(table, halves)
        scope = find_guarantee("scope")
        reference = Guarantee.counts_over_splits(scope, counts, Levels(Fraction(1, 5)))
        ruling = asyncio.run(JudgeService(judge, own).rule(pair))
        return [
            int(threshold.accept(scores).sum()),
            select(new_rows(), policy).summary.n_accepted,
            calibrate(frame, alpha=0.1).n_accepted,
            int(ruling.accepted),
            int(reference.accepted.sum()),
        ]

    assert all(decisions())
    monkeypatch.setattr(Rule, "accept", lambda self, scores: np.zeros(len(scores), dtype=bool))
    assert not any(decisions())
