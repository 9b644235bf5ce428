"""Many systems, slices and judges: what is shown together, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge import compare, evaluate
from adjudge.cli import run
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import Comparison
from adjudge.estimation.compare import _influence
from adjudge.estimation.systems import read_systems
from adjudge.present.kinds import from_dict
from adjudge.statistics.differences import paired_gap


def systems(n: int = 300, *, labels: int = 0, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    easy = rng.random(n)
    frames = []
    for model, rate in (("low", 0.35), ("mid", 0.65), ("top", 0.7)):
        truth = (0.5 * rng.random(n) + 0.5 * easy < rate).astype(int)
        judge = np.where(rng.random(n) < 0.9, truth, 1 - truth)
        frames.append(
            pl.DataFrame(
                {
                    "id": [f"{model}-{q}" for q in range(n)],
                    "prompt_id": [f"q{q}" for q in range(n)],
                    "model": [model] * n,
                    "topic": [f"t{q % 4}" for q in range(n)],
                    "judge": judge,
                    "human": [int(t) if q < labels else None for q, t in enumerate(truth)],
                }
            )
        )
    return pl.concat(frames)


def test_three_systems_are_compared_together() -> None:
    rows = systems().drop("human")
    got = compare(rows)
    assert isinstance(got, Comparison)
    assert got.systems[-1].name == "low"
    assert (got.systems[-1].loses_to, got.systems[-1].can_be_best) == (2, False)
    assert "top" in got.best
    pair = next(pair for pair in got.differences if (pair.a, pair.b) == ("low", "top"))
    two = compare(rows, a="low", b="top")
    assert pair.judge == two.difference.judge
    assert pair.adjusted >= pair.judge.p_value
    assert len(got.differences) == 3
    frame = got.to_frame()
    assert frame["estimate"].to_list() == [pair.judge.estimate for pair in got.differences]
    assert {"a", "b", "adjusted", "shown", "by_people", "p_value", "n"} <= set(frame.columns)
    assert compare(rows) == got  # seeded


def test_labels_of_all_systems_give_peoples_differences() -> None:
    got = compare(systems(labels=100))
    assert got.by_people
    assert got.n_labelled == 100
    pair = next(pair for pair in got.differences if (pair.a, pair.b) == ("low", "mid"))
    two = compare(systems(labels=100), a="low", b="mid")
    assert pair.people == two.difference.people
    few = compare(systems(labels=20))
    assert not few.by_people
    assert "20 questions labelled for all systems: 30 or more are needed" in few.warnings[0]


def test_a_system_without_common_questions_is_counted_out_of_its_pairs() -> None:
    rows = (
        systems(100)
        .drop("human")
        .filter((pl.col("model") != "mid") | (pl.col("prompt_id").str.slice(1).cast(pl.Int64) < 20))
    )
    got = compare(rows)
    without = [pair for pair in got.differences if pair.judge.estimate is None]
    assert {pair.judge.reason for pair in without} == {"20 questions: 30 or more are needed"}
    assert len(without) == 2
    assert [system.can_be_best for system in got.systems] == [None] * 3
    with pytest.raises(DataError, match="the systems share no question"):
        compare(systems(60).drop("human", "prompt_id"))


def test_clusters_are_averaged_before_systems_are_compared() -> None:
    rows = (
        systems(120)
        .drop("human")
        .with_columns(document=pl.col("prompt_id").str.slice(1).cast(pl.Int64) // 3)
    )
    got = compare(rows, cluster="document")
    pair = next(pair for pair in got.differences if (pair.a, pair.b) == ("low", "top"))
    wide = rows.pivot("model", index="prompt_id", values="judge", maintain_order=True)
    d = (wide["top"] - wide["low"]).cast(pl.Float64).to_numpy().reshape(40, 3).mean(axis=1)
    assert tuple(pair.judge.interval) == pytest.approx(
        tuple(paired_gap(d, zero_one=False).interval(0.95))
    )


def test_slices_are_adjusted_together() -> None:
    got = compare(systems().drop("human"), a="low", b="top", within="topic")
    assert [pair.within for pair in got.differences] == ["t0", "t1", "t2", "t3"]
    alone = compare(systems().drop("human").filter(pl.col("topic") == "t2"), a="low", b="top")
    assert got.differences[2].judge == alone.difference.judge
    assert got.differences[2].adjusted >= alone.difference.judge.p_value
    assert got.better
    with pytest.raises(ArgumentError, match="name both"):
        compare(systems().drop("human"), within="topic")
    with pytest.raises(ArgumentError, match="choose a column"):
        compare(systems().drop("human"), a="low", b="top", within="colour")


def test_a_screening_list_is_for_many() -> None:
    rows = (
        systems(1000)
        .drop("human")
        .with_columns(topic=pl.col("prompt_id").str.slice(1).cast(pl.Int64) % 20)
    )
    screened = compare(rows, a="mid", b="top", within="topic", screen=True)
    strict = compare(rows, a="mid", b="top", within="topic")
    assert screened.screened
    assert len(screened.shown) >= len(strict.shown)
    with pytest.raises(ArgumentError, match="needs 20 differences or more"):
        compare(rows, screen=True)
    with pytest.raises(ArgumentError, match="is for many systems"):
        compare(rows, a="mid", b="top", screen=True)


def judgments(judges: int = 4, n: int = 90, *, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    labels = rng.choice(["A", "B"], n)
    rows = []
    for judge in range(judges):
        right = rng.random(n) < 0.6 + 0.1 * judge
        for at, label in enumerate(labels):
            says_a = (label == "A") == right[at]
            row = {"id": f"r{at}", "judge": f"j{judge}", "p_a": 0.9 if says_a else 0.1}
            rows.append({**row, "label": label, "cost": 0.01 * (judge + 1)})
    return pl.DataFrame(rows)


def test_judges_are_compared_by_peoples_labels() -> None:
    rows = judgments()
    got = compare(rows, judges=True)
    assert isinstance(got, Comparison)
    best = got.best_judge
    assert best.judge == "j3"
    assert got.systems[0].name == "j3"
    shares = {name: frame for (name,), frame in rows.partition_by("judge", as_dict=True).items()}
    for score in got.systems:
        frame = shares[score.name]
        right = (frame["p_a"] > 0.5) == (frame["label"] == "A")
        assert score.mean == pytest.approx(right.mean())
        assert score.cost == pytest.approx(0.01 * (int(score.name[1]) + 1))
    assert best.interval.low < best.reported < best.interval.high
    assert best.reported < best.accuracy + 0.01
    assert best.effective == pytest.approx(4 / (1 + 3 * max(best.correlation, 0)))
    assert (got.n, got.measure, len(got.differences)) == (90, "agreement", 6)
    by_hand = rows.with_columns(
        score=((pl.col("p_a") > 0.5) == (pl.col("label") == "A")).cast(pl.Int64), model="judge"
    ).select("id", "model", judge="score")
    same = compare(by_hand)  # judges are systems whose score is agreement with people
    assert [pair.judge for pair in same.differences] == [pair.judge for pair in got.differences]


def by_verdict(scale: str) -> pl.DataFrame:
    """The judgments without numbers: verdicts of pairs, or grades on a scale."""
    rows = judgments()
    verdict = pl.when(pl.col("p_a") > 0.5).then(pl.lit("A")).otherwise(pl.lit("B"))
    if scale == "pairs":
        return rows.with_columns(verdict=verdict).drop("p_a")
    words = {"grades": ("1", "0"), "words": ("good", "bad"), "classes": ("x", "y")}.get(scale)
    of_judge = pl.col("p_a").cast(pl.String)
    if words is not None:
        of_judge = verdict.replace_strict(dict(zip("AB", words, strict=True)))
    people = dict(zip("AB", words or ("1", "0"), strict=True))
    return rows.select(
        "id",
        "cost",
        judge_name="judge",
        judge=of_judge,
        human=pl.col("label").replace_strict(people),
    )


@pytest.mark.parametrize("scale", ["pairs", "grades", "words", "classes", "probabilities"])
def test_judges_are_compared_by_verdicts_alone(scale: str) -> None:
    """The same numbers as with probabilities, and as `evaluate` gives."""
    rows = by_verdict(scale)
    got = compare(rows, judges=True)
    expected = compare(judgments(), judges=True)
    assert got.best_judge == expected.best_judge
    assert got.differences == expected.differences
    assert got.systems == expected.systems
    if scale != "pairs":
        of_judge = {judge.judge: judge.agreement for judge in evaluate(rows).judges}
        assert of_judge == {system.name: system.mean for system in got.systems}


def test_verdicts_of_judges_can_be_in_two_files_with_labels_in_a_third(tmp_path: Path) -> None:
    rows = by_verdict("grades")
    for judge in ("j0", "j3"):
        of_judge = rows.filter(pl.col("judge_name") == judge)
        of_judge.select("id", "judge").write_csv(tmp_path / f"{judge}.csv")
    labels = rows.filter(pl.col("judge_name") == "j0").select("id", label="human")
    got = compare(tmp_path / "j0.csv", tmp_path / "j3.csv", judges=True, labels=labels)
    both = compare(rows.filter(pl.col("judge_name").is_in(["j0", "j3"])), judges=True)
    assert got.n == both.n == 90
    assert [system.name for system in got.systems] == ["j3.csv", "j0.csv"]
    assert [system.mean for system in got.systems] == [system.mean for system in both.systems]


def test_verdicts_of_judges_that_cannot_be_compared_are_refused() -> None:
    rows = by_verdict("grades")
    wide = rows.pivot(on="judge_name", index=["id", "human"], values="judge")
    with pytest.raises(
        DataError, match="judge: is missing; for judges in columns: .* --judge j0 --"
    ):
        compare(wide, judges=True)
    with pytest.raises(DataError, match="id: is missing; judges are compared on the same rows"):
        compare(rows.drop("id"), judges=True)
    with pytest.raises(DataError, match="label: has no labels; judges are compared by people's"):
        compare(rows.drop("human"), judges=True)
    scores = rows.with_columns(judge=pl.int_range(pl.len()) % 5 + 1, human=2.5)
    with pytest.raises(DataError, match="has scores, not verdicts"):
        compare(scores, judges=True)


def test_a_verdict_that_failed_leaves_its_row_and_is_counted() -> None:
    failed = pl.when(pl.int_range(pl.len()) == 5)
    rows = by_verdict("grades").with_columns(
        status=failed.then(pl.lit("error")).otherwise(pl.lit("ok"))
    )
    got = compare(rows, judges=True)
    assert got.n == 89
    assert got.dropped == {"status error": 1, "row that not all judges answered": 1}


def test_rows_that_not_all_judges_answered_are_counted() -> None:
    rows = judgments().filter(~((pl.col("judge") == "j1") & pl.col("id").is_in(["r1", "r2"])))
    got = compare(rows, judges=True)
    assert got.n == 88
    assert got.dropped == {"row that not all judges answered": 2}
    with pytest.raises(DataError, match="2 labelled rows of all judges"):
        compare(judgments(n=2), judges=True)
    with pytest.raises(DataError, match="judges are compared by people's labels"):
        compare(judgments().drop("label"), judges=True)
    with pytest.raises(DataError, match="has j0 alone"):
        compare(judgments(1), judges=True)
    with pytest.raises(ArgumentError, match="is for systems, not for judges"):
        compare(judgments(), judges=True, a="j0")


def test_two_files_of_one_judge_are_two_prompts(tmp_path: Path) -> None:
    rows = judgments(2)
    for at, name in enumerate(("plain.csv", "strict.csv")):
        part = rows.filter(pl.col("judge") == f"j{at}").with_columns(judge=pl.lit("gpt"))
        part.write_csv(tmp_path / name)
    got = compare(tmp_path / "plain.csv", tmp_path / "strict.csv", judges=True)
    assert {score.name for score in got.systems} == {"plain.csv", "strict.csv"}
    same = {score.mean for score in compare(rows, judges=True).systems}
    assert {score.mean for score in got.systems} == same


def test_the_command_line_takes_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    systems(labels=100).write_csv("rows.csv")
    judgments().write_csv("judgments.csv")
    assert run(["compare", "rows.csv", "--plot", "m.png", "-o", "m.json"]) == 0
    assert run(["compare", "rows.csv", "--a", "low", "--b", "top", "--within", "topic"]) in (0, 2)
    assert run(["compare", "judgments.csv", "--judges", "--plot", "j.png", "-o", "j.json"]) == 0
    assert run(["gate", "rows.csv", "--baseline", "rows.csv", "--margin", "0"]) == 1
    assert "give the rows of one run in each file" in capsys.readouterr().err
    plan = ["plan", "compare", "rows.csv", "--a", "low", "--b", "top", "--difference"]
    assert run([*plan, "0.3"]) == 0
    assert run([*plan, "0.001"]) == 2
    assert isinstance(compare("rows.csv", a="low", b="mid"), Comparison)


def test_a_perfect_judge_takes_most_of_the_error_from_peoples_means() -> None:
    """What each question adds to the error of the means: a tenth of the labels is nearly all."""
    rng = np.random.default_rng(2)
    scores = (rng.random((1000, 3)) < (0.3, 0.5, 0.6)).astype(float)
    wide = pl.DataFrame(scores, schema=["x", "y", "z"]).with_row_index("prompt_id")
    rows = wide.unpivot(index="prompt_id", variable_name="model", value_name="judge")
    rows = rows.with_columns(human=pl.when(pl.col("prompt_id") < 100).then("judge"))
    table = read_systems(rows)[None]
    corrected, alone = (
        (_influence(replace(table, judge=judge), by_people=True) ** 2).sum(axis=0)
        for judge in (table.judge, np.zeros_like(table.judge))
    )
    assert alone == pytest.approx(table.human[:100].var(axis=0) / 100)
    assert (corrected < 0.15 * alone).all()


def test_slices_are_filled_in_the_picture_if_the_family_shows_them() -> None:
    rows = systems().drop("human")
    got = compare(rows, a="mid", b="top", within="topic")
    first, *rest = got.differences
    mixed = replace(got, differences=(replace(first, shown=True), *rest))
    [axes] = mixed.plot().axes
    white = [bool((part.get_facecolor()[0][:3] == 1).all()) for part in axes.collections]
    assert white.count(False) == 1 + sum(pair.shown for pair in rest)
    assert axes.get_xlabel().endswith("hollow: not shown")


def test_a_file_with_a_system_that_was_never_compared_is_refused() -> None:
    values = json.loads(compare(systems().drop("human")).to_json())
    values["systems"][2]["name"] = "other"
    with pytest.raises(DataError, match="other has no difference from the first system"):
        from_dict(values, Comparison, source="x.json")


def test_judges_without_a_label_that_is_used_are_refused_by_the_reason() -> None:
    rows = {
        "id": ["x", "y"] * 2,
        "judge": ["g1", "g1", "g2", "g2"],
        "p_a": [0.9, 0.2, 0.8, 0.3],
        "label": ["A", "B"] * 2,
        "started_from": ["judge"] * 4,
    }
    with pytest.raises(DataError, match="no labelled verdict is left .4 label started from the j"):
        compare(rows, judges=True)


@pytest.mark.parametrize(
    ("others", "systems"),
    [
        (("x2", "y2"), ["x", "x2", "y", "y2"]),
        (("x", "y"), ["x of new.csv", "x of old.csv", "y of new.csv", "y of old.csv"]),
        (("z",), ["x", "y", "z"]),
        (("x",), ["new.csv", "x of old.csv", "y of old.csv"]),
    ],
)
def test_models_of_a_file_are_never_averaged(
    tmp_path: Path, others: tuple[str, ...], systems: list[str]
) -> None:
    for name, models in (("old.csv", ("x", "y")), ("new.csv", others)):
        rows = [
            {"prompt_id": f"q{at}", "model": model, "judge": (at + shift) % 2}
            for shift, model in enumerate(models)
            for at in range(40)
        ]
        pl.DataFrame(rows).write_csv(tmp_path / name)
    done = compare(tmp_path / "old.csv", tmp_path / "new.csv")
    assert sorted(system.name for system in done.systems) == systems


def test_two_scales_are_named_in_the_result() -> None:
    steps = [1, 2, 3, 4, 5] * 8
    rows = {
        "prompt_id": [*range(40)] * 2,
        "model": ["old"] * 40 + ["new"] * 40,
        "judge": [*steps, *(2 * step for step in steps)],
    }
    result = compare(rows, a="old", b="new")
    note = "two scales? 1 to 5 on old, 2 to 10 on new"
    assert result.judge_notes == (note,)
    assert f"by a judge ({note})" in str(result)
    assert "by this judge" not in str(result)
    people = [*steps, *(min(step + 1, 5) for step in steps)]
    labelled = compare({**rows, "human": people}, a="old", b="new")
    assert labelled.by_people
    assert f"warning: {note}" in str(labelled)
