"""`adjudge estimate`, `adjudge plan rate` and `adjudge reproduce reporting` from the outside."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.cli import run
from simulators import BinaryModel, binary_rows

MODELS = {
    "small": BinaryModel(rate=0.4, specificity=0.7, sensitivity=0.9),
    "large": BinaryModel(rate=0.8, specificity=0.75, sensitivity=0.95),
}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    binary_rows(MODELS, prompts=800, labels=400, seed=1).drop("truth").write_csv(path)
    return path


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    return json.loads(capsys.readouterr().out)


def test_one_rate_as_json(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", str(rows), "--json"]) == 0
    got = printed(capsys)
    assert got["kind"] == "estimate"
    assert got["interval"]["low"] <= 0.6 <= got["interval"]["high"]
    assert got["n_test"] == 1200


def test_groups_pool_and_picture(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", str(rows), "--by", "model", "-o", "e.json", "--plot", "e.png"]) == 0
    printed = capsys.readouterr()
    assert "naive" in printed.out
    assert "one confusion matrix for all groups" not in printed.out + printed.err
    saved = json.loads(Path("e.json").read_text())
    assert [one["group"] for one in saved["groups"]] == ["small", "large"]
    assert Path("e.png").stat().st_size > 10_000
    assert run(["estimate", str(rows), "--by", "model", "--pool", "--json"]) == 0
    printed = capsys.readouterr()
    assert "one confusion matrix for all groups" in printed.err
    assert json.loads(printed.out)["pooled"] is True


def test_groups_are_printed_with_their_own_intervals(
    rows: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    words = ["estimate", str(rows), "--by", "model"]
    assert run([*words, "--json"]) == 0
    groups = printed(capsys)["groups"]
    assert run([*words, "--explain"]) == 0
    out = capsys.readouterr().out.split("each with its own labels")[1]
    for one in groups:
        (line,) = [text for text in out.splitlines() if text.startswith(f" {one['group']} ")]
        assert re.split(r"\s{3,}", line.strip())[1:6] == [
            f"{one['estimate']:.3f}",
            f"[{one['interval']['low']:.3f}, {one['interval']['high']:.3f}]",
            "[{low:.3f}, {high:.3f}]".format_map(one["simultaneous_interval"]),
            f"{one['naive']:.3f}",
            f"[{one['naive_interval']['low']:.3f}, {one['naive_interval']['high']:.3f}]",
        ]


def test_a_table_is_parsed_once(
    rows: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    scan = pl.read_csv
    monkeypatch.setattr(pl, "read_csv", lambda *a, **k: reads.append(a) or scan(*a, **k))
    assert run(["plan", "rate", str(rows), "--budget", "600", "--write-ids", "next.csv"]) == 0
    assert len(reads) == 1


def test_no_estimate_leaves_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coin = tmp_path / "coin.csv"
    pl.DataFrame({"judge": [0, 1] * 60, "human": [None] * 60 + [0, 0, 1, 1] * 15}).write_csv(coin)
    assert run(["estimate", str(coin), "--json", "--plot", "coin.png"]) == 2
    got = printed(capsys)
    assert got["estimate"] is got["interval"] is None
    assert "not better than chance" in got["reason"]


def test_an_interval_of_everything_leaves_with_2_and_no_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weak = tmp_path / "weak.csv"
    judge = [1, 0] * 100 + [1] * 6 + [0] * 4 + [0] * 6 + [1] * 4
    pl.DataFrame({"judge": judge, "human": [None] * 200 + [1] * 10 + [0] * 10}).write_csv(weak)
    for words in ([], ["--interval", "profile"]):
        assert run(["estimate", str(weak), *words]) == 2
        first = capsys.readouterr().out.splitlines()[0]
        assert first.startswith("No misclassification estimate: the interval is all of")
        assert "0." not in first
    assert run(["estimate", str(weak), "--labels-are-random"]) == 0


def test_fail_below_and_usage(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", str(rows), "--fail-below", "0.9"]) == 2
    assert run(["estimate", str(rows), "--fail-below", "0.3"]) == 0
    assert run(["estimate", str(rows), "--fail-below", "nan"]) == 1
    assert "give a finite number" in capsys.readouterr().err
    assert run(["estimate", str(rows), "--method", "magic"]) == 1
    assert "choose one of" in capsys.readouterr().err.strip().splitlines()[-1]
    assert run(["estimate", str(rows), "--judge-column", "nope"]) == 1
    assert "column nope: is missing; name yours" in capsys.readouterr().err


def test_names_and_intervals_stay_whole_at_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["mixtral-8x7b-instruct", "a-model-with-quite-a-long-name-tuned-on-dialogues"]
    models = dict(zip(names, MODELS.values(), strict=True))
    binary_rows(models, prompts=800, labels=400, seed=1).write_csv(tmp_path / "long.csv")
    for width in ("80", "200"):
        monkeypatch.setenv("COLUMNS", width)
        words = ["estimate", str(tmp_path / "long.csv"), "--by", "model"]
        assert run([*words, "--explain"]) == 0
        out = capsys.readouterr().out.split("each with its own labels")[1]
        for name in names:
            (line,) = [text for text in out.splitlines() if text.strip().startswith(name)]
            assert re.search(r"\[0\.\d{3}, [01]\.\d{3}\]", line)
            assert len(line) <= int(width)
        assert ("left out at this width" in out) == (width == "80")
        assert ("sensitivity   specificity" in out) == (width == "200")


def test_a_pool_that_cannot_be_right_leaves_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Labels of one model only; the judge says 1 on 5 % of the other's rows, false alarms are 70 %.
    labelled = {"judge": [1] * 90 + [0] * 10 + [1] * 70 + [0] * 30, "human": [1] * 100 + [0] * 100}
    rest = {"judge": [1, 1, 1, 1, 0] * 40 + [1] * 10 + [0] * 190, "human": [None] * 400}
    pl.DataFrame(
        {
            "judge": labelled["judge"] + rest["judge"],
            "human": labelled["human"] + rest["human"],
            "model": ["known"] * 400 + ["strange"] * 200,
        }
    ).write_csv(tmp_path / "pool.csv")
    assert run(["estimate", str(tmp_path / "pool.csv"), "--by", "model", "--pool", "--json"]) == 2
    known, strange = printed(capsys)["groups"]
    assert known["interval"]["low"] < known["estimate"] < known["interval"]["high"]
    assert strange["estimate"] is strange["interval"] is None
    assert strange["naive"] == 0.05
    assert "before clipping, the rate was -3.250" in strange["reason"]
    assert "errors on these test rows differ from those on the labelled ones" in strange["reason"]
    assert not any("outside [0, 1]" in text for text in strange["warnings"])


def test_the_rows_by_verdict_and_the_next_step_are_those_of_the_plan(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plan", "rate", str(rows), "--draw", "verdict", "--write-ids", "next.csv"]
    assert run([*words, "--width", "0.07", "--json"]) == 0
    plan, remarks = (text := capsys.readouterr()) and json.loads(text.out), text.err
    exist = dict(
        pl.read_csv(rows).filter(pl.col("human").is_not_null()).group_by("judge").len().iter_rows()
    )
    drawn = dict(pl.read_csv("next.csv").group_by("judge").len().iter_rows())
    assert {v: exist[v] + drawn.get(v, 0) for v in (0, 1)} == {
        0: plan["verdict_m0"],
        1: plan["verdict_m1"],
    }
    assert (
        f"{plan['verdict_m1']:,} labels of verdict 1, {plan['verdict_m0']:,} of verdict 0 "
        f"(400 exist): width {plan['verdict_width']:.3f}"
    ) in remarks
    assert plan["verdict_width"] <= 0.07
    # 400 labels are enough: no row is written, and the next step is not to label.
    Path("next.csv").unlink()
    assert run([*words, "--width", "0.3"]) == 0
    shown = capsys.readouterr()
    assert "the table has enough labels for this plan: next.csv not written" in shown.err
    assert shown.out.splitlines()[-1] == f"next: adjudge estimate {rows}"


def test_plan_writes_rows_that_estimate_takes_back(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["plan", "rate", str(rows), "--budget", "600", "--write-ids", "next.csv"]
    assert run([*words, "--draw", "verdict", "--json", "--plot", "plan.png"]) == 0
    plan = printed(capsys)
    assert {"m0", "m1", "expected_width", "human_only_width", "recommendation"} <= set(plan)
    drawn = pl.read_csv("next.csv", infer_schema_length=None)
    assert drawn.height == 200  # 400 are there
    assert set(drawn["sampled_by"]) == {"plan"}
    # People label the drawn rows; nothing else is labelled.
    truth = binary_rows(MODELS, prompts=800, labels=400, seed=1).select("id", "truth")
    bare = pl.read_csv(rows).with_columns(human=pl.lit(None))
    bare.write_csv("bare.csv")
    filled = drawn.drop("human").join(truth, on="id").rename({"truth": "human"})
    filled.write_csv("labels.csv")
    assert run(["estimate", "bare.csv", "--labels", "labels.csv", "--json"]) == 0
    got = printed(capsys)
    assert got["method"] == "conditional"
    assert got["n_calibration_positive"] + got["n_calibration_negative"] == 200
    assert got["interval"]["low"] <= 0.6 <= got["interval"]["high"]
    assert run(["estimate", "bare.csv", "--labels", "labels.csv", "--method", "ppi++"]) == 1


def test_plan_from_guesses_and_infeasible(capsys: pytest.CaptureFixture[str]) -> None:
    guess = ["--judge-rate", "0.55", "--sensitivity", "0.9", "--specificity", "0.7"]
    assert run(["plan", "rate", *guess, "--n-test", "1000", "--width", "0.2", "--explain"]) == 0
    assert "Algorithm 1" in capsys.readouterr().out
    assert run(["plan", "rate", *guess, "--n-test", "50", "--width", "0.01", "--json"]) == 2
    assert printed(capsys)["m0"] is None
    assert run(["plan", "rate", *guess, "--n-test", "50", "--width", "0.01", "--explain"]) == 2
    out = capsys.readouterr().out
    assert out.count("misclassification cannot give width 0.01") == 1
    assert "the judge never helps" in out
    assert run(["plan", "rate", "--width", "0.2"]) == 1
    assert "--judge-rate" in capsys.readouterr().err
    coin = ["--judge-rate", "0.5", "--sensitivity", "0.5", "--specificity", "0.5"]
    assert run(["plan", "rate", *coin, "--n-test", "90", "--width", "0.2", "--plot", "c.png"]) == 2
    assert "do not show that the judge is better than chance" in capsys.readouterr().out


def test_labels_are_a_file_and_a_number_of_them_is_a_budget(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "rate", str(rows), "--labels", "600"]) == 1
    assert "a number of labels is --budget 600" in capsys.readouterr().err
    table = pl.read_csv(rows)
    labelled = table.filter(pl.col("human").is_not_null()).select("id", label="human")
    table.drop("human").write_csv("bare.csv")
    labelled.write_csv("labels.csv")
    files = ["bare.csv", "--labels", "labels.csv", "--budget", "600", "--write-ids"]
    assert run(["plan", "rate", *files, "a.csv", "--json"]) == 0
    apart = printed(capsys)
    assert (
        run(["plan", "rate", str(rows), "--budget", "600", "--write-ids", "b.csv", "--json"]) == 0
    )
    assert printed(capsys) == apart
    assert pl.read_csv("a.csv")["id"].to_list() == pl.read_csv("b.csv")["id"].to_list()


def _protocol(result: dict[str, Any]) -> dict[str, Any]:
    """The table of section 8.2."""
    return next(table for table in result["tables"] if table["name"] == "protocol")


def test_reproduce(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "reporting", "--repeats", "200", "--json"]) == 0
    tables = {table["name"]: table["rows"] for table in printed(capsys)["tables"]}
    assert len(tables["figures"]) == 8
    assert {row["figure"] for row in tables["settings"]} == {str(k) for k in range(9, 17)}
    assert run(["reproduce", "reporting", "--repeats", "100"]) == 0
    assert "Algorithm 1 makes" in capsys.readouterr().out


def test_reproduce_on_battles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    a_wins = rng.random(600) < 0.6
    right = rng.random(600) < 0.85
    pl.DataFrame(
        {
            "model_a": ["x"] * 600,
            "model_b": ["y"] * 600,
            "human": ["tie" if i % 10 == 0 else "A" if w else "B" for i, w in enumerate(a_wins)],
            "judge": ["A" if w else "B" for w in np.where(right, a_wins, ~a_wins)],
        }
    ).write_csv("battles.csv")
    words = ["reproduce", "reporting", "battles.csv", "--repeats", "200"]
    assert run([*words, "--json", "--figures", "f"]) == 0
    got = printed(capsys)
    x, y = _protocol(got)["rows"]
    assert {x["model"], y["model"]} == {"x", "y"}
    assert got["dropped"] == {"tie, or no winner named": 60}
    assert x["rate"] == pytest.approx(1 - y["rate"])
    assert x["coverage"] > 0.8
    assert Path("f/figure7.png").stat().st_size > 5_000


def test_reproduce_asks_a_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from adjudge.simulate.pairs import simulate_pairs
    from simulators import simulate_items

    pairs = pl.DataFrame(
        [
            {"id": p.id, "question": p.prompt, "response_a": p.response_a, "label": p.label,
             "response_b": p.response_b, "model_a": "x", "model_b": "y"}
            for p in simulate_pairs(90, seed=4)
        ]
    )  # fmt: skip
    pairs.write_ndjson(tmp_path / "pairs.jsonl")
    items = pl.DataFrame(
        [
            {"id": i.id, "prompt": i.prompt, "response": i.response, "model": "z",
             "reference": i.extra["reference"], "human": i.extra["human"]}
            for i in simulate_items(50, seed=4)
        ]
    )  # fmt: skip
    items.write_ndjson(tmp_path / "items.jsonl")
    judge = "simulated:accuracy=0.85,noise=0.5,seed=2"
    sizes = ["--repeats", "50", "--splits", "10", "--json"]
    asking = ["--judge", judge, "--store", str(tmp_path / "replies.db"), *sizes]
    assert run(["reproduce", "reporting", str(tmp_path / "pairs.jsonl"), *asking]) == 0
    got = printed(capsys)
    rows = _protocol(got)["rows"]
    assert [(row["model"], row["rows"]) for row in rows] == [("x", 90), ("y", 90)]
    assert {row["judge"] for row in rows} == {judge}
    # A simulated judge never counts as real.
    assert _protocol(got)["source"] == "simulated"
    table = next(item for item in got["items"] if item["name"] == "Table 2")
    assert table["status"] == "simulated"
    assert (tmp_path / "replies.db").is_file()
    graded = ["reproduce", "reporting", str(tmp_path / "items.jsonl"), "--sample", "40", *asking]
    assert run(graded) == 0
    rows = _protocol(printed(capsys))["rows"]
    assert [(row["model"], row["rows"]) for row in rows] == [("z", 40)]
    assert run(["reproduce", "reporting", "--judge", judge]) == 1
    assert "pairs or items" in capsys.readouterr().err
