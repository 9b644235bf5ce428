"""`compare`: what is paired, what is counted, whose number it is, what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from runner_logs import LOGS

from adjudge import compare, plan_compare
from adjudge.cli import run
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation.systems import read_systems
from adjudge.statistics.differences import labelled_gap, paired_gap


def two_systems(n: int = 120, *, seed: int = 0, labels: int = 0) -> pl.DataFrame:
    """Grades of "old" and "new" on the same prompts, ids of their own."""
    rng = np.random.default_rng(seed)
    frames = []
    for model, rate in (("old", 0.5), ("new", 0.8)):
        truth = (rng.random(n) < rate).astype(int)
        judge = np.where(rng.random(n) < 0.9, truth, 1 - truth)
        human = [int(t) if q < labels else None for q, t in enumerate(truth)]
        ids = [f"{model}-{q}" for q in range(n)]
        columns = {"id": ids, "prompt_id": [f"q{q}" for q in range(n)], "model": [model] * n}
        frames.append(pl.DataFrame({**columns, "judge": judge, "human": human}))
    return pl.concat(frames)


def gaps_of(frame: pl.DataFrame, column: str = "judge") -> np.ndarray:
    wide = frame.pivot("model", index="prompt_id", values=column, maintain_order=True)
    return (wide["new"] - wide["old"]).cast(pl.Float64).fill_null(np.nan).to_numpy()


def test_the_judge_alone_is_paired_by_prompt() -> None:
    rows = two_systems().drop("human")
    got = compare(rows, a="old", b="new")
    expected = paired_gap(gaps_of(rows), zero_one=True)
    assert got.difference.judge.estimate == pytest.approx(expected.estimate)
    assert tuple(got.difference.judge.interval) == pytest.approx(tuple(expected.interval(0.95)))
    assert (got.paired_by, got.n, got.difference.people, got.measure) == (
        "prompt_id",
        120,
        None,
        "verdicts",
    )
    assert got.better
    assert not got.worse
    # The order of the two is the user's, and what can show a difference is counted.
    assert [system.name for system in got.systems] == ["old", "new"]
    assert got.difference.discordant == np.count_nonzero(gaps_of(rows))
    assert compare(rows).differences == got.differences  # of two systems, none need be named
    assert all(system.can_be_best is None for system in compare(rows).systems)
    turned = compare(rows, a="new", b="old")
    assert turned.difference.judge.estimate == pytest.approx(-got.difference.judge.estimate)
    assert turned.worse
    assert str(turned).startswith("new scores ")  # the better one comes first, in either case


def test_labels_give_peoples_difference() -> None:
    rows = two_systems(400, labels=120).with_columns(
        sampled_by=pl.when(pl.col("human").is_not_null()).then(pl.lit("random"))
    )
    got = compare(rows, a="old", b="new")
    expected = labelled_gap(gaps_of(rows, "human"), gaps_of(rows), zero_one=True)
    assert got.difference.reported is got.difference.people
    assert got.difference.people.estimate == pytest.approx(expected.estimate)
    assert tuple(got.difference.people.interval) == pytest.approx(tuple(expected.interval(0.95)))
    assert (got.n, got.n_labelled, got.difference.people.n) == (400, 120, 120)
    assert got.warnings == ()
    unknown = compare(rows.drop("sampled_by"), a="old", b="new")
    assert "random sample" in unknown.warnings[0]
    assert unknown.difference == got.difference


def test_a_question_labelled_on_one_side_is_counted_and_its_label_not_used() -> None:
    rows = two_systems(200, labels=60)
    half = rows.with_columns(
        human=pl.when(pl.col("id").is_in(["old-3", "new-4", "new-5"])).then(None).otherwise("human")
    )
    got = compare(half, a="old", b="new")
    assert (got.n, got.n_labelled) == (200, 57)
    assert got.dropped == {"question not labelled for all systems: its labels are not used": 3}


def test_what_cannot_be_paired_is_counted() -> None:
    rows = two_systems().drop("human").filter(~pl.col("id").is_in(["old-1", "old-2", "new-9"]))
    got = compare(rows, a="old", b="new")
    assert (got.n, got.difference.judge.n) == (117, 117)
    assert got.dropped == {"question that one system alone answered": 3}


def test_systems_without_a_common_question_are_not_paired_and_the_result_says_so() -> None:
    rows = two_systems().drop("human", "prompt_id")
    got = compare(rows, a="old", b="new")
    assert got.paired_by is None
    assert "share no question" in got.warnings[0]
    paired = compare(two_systems(), a="old", b="new")
    assert got.difference.judge.estimate == pytest.approx(paired.difference.judge.estimate)
    assert got.n == 240
    with pytest.raises(DataError, match="0 common questions: a pilot needs 30"):
        plan_compare(rows, difference=0.1)
    labelled = two_systems(300, labels=90).drop("prompt_id")
    people = compare(labelled, a="old", b="new").difference.people
    assert people.n == 90
    truth = compare(two_systems(300, labels=300), a="old", b="new").difference.people.estimate
    assert people.low < truth < people.high


def test_rows_of_one_question_are_averaged() -> None:
    rows = two_systems(60).drop("human")
    twice = pl.concat([rows, rows.with_columns(pl.col("id") + "-again", judge=pl.lit(1, pl.Int64))])
    got = compare(twice, a="old", b="new")
    expected = paired_gap(gaps_of(rows) / 2, zero_one=False)
    assert got.n == 60
    assert got.difference.judge.standard_error == pytest.approx(expected.standard_error)


def test_questions_of_a_cluster_count_once() -> None:
    rows = (
        two_systems(90)
        .drop("human")
        .with_columns(document=pl.col("prompt_id").str.slice(1).cast(pl.Int64) // 3)
    )
    got = compare(rows, a="old", b="new", cluster="document")
    expected = paired_gap(gaps_of(rows).reshape(30, 3).mean(axis=1), zero_one=False)
    assert (got.n, got.clustered_by) == (30, "document")
    assert got.difference.judge.standard_error == pytest.approx(expected.standard_error)
    assert compare(rows, a="old", b="new").n == 90
    with pytest.raises(
        ArgumentError, match="choose a column: prompt_id, model, judge, document, human$"
    ):
        compare(rows, a="old", b="new", cluster="page")


def test_scores_and_probabilities() -> None:
    rows = two_systems(labels=60)
    scores = rows.with_columns(judge=pl.col("judge") * 3.5 + 1, human=pl.col("human") * 4 + 1)
    got = compare(scores, a="old", b="new")
    assert got.measure == "scores"
    expected = paired_gap(3.5 * gaps_of(rows), zero_one=False)
    assert got.difference.judge.estimate == pytest.approx(expected.estimate)
    assert got.difference.judge.standard_error == pytest.approx(expected.standard_error)
    shares = rows.drop("human").with_columns(judge=pl.col("judge") * 0.8 + 0.1).head(999)
    assert compare(shares, a="old", b="new").measure == "probabilities"
    native = scores.rename({"judge": "judge_score", "human": "human_score", "prompt_id": "doc_id"})
    same = compare(native, a="old", b="new")
    assert same.difference == got.difference
    assert same.paired_by == "doc_id"


def test_verdicts_of_people_get_pseudo_labels_whatever_the_judge_writes() -> None:
    """People differ on 4 of 150 questions, and a judge that writes probabilities is never exact."""
    rows = two_systems(300, labels=150).with_columns(
        judge=0.4 + 0.2 * pl.col("judge"), human=pl.when(pl.col("human").is_not_null()).then(1)
    )
    rare = pl.when(pl.col("id").is_in([f"old-{q}" for q in range(4)])).then(0)
    rows = rows.with_columns(human=rare.otherwise("human"))
    people = compare(rows, a="old", b="new").difference.people
    assert people is not None
    expected = labelled_gap(gaps_of(rows, "human"), gaps_of(rows), zero_one=True)
    assert people.standard_error == pytest.approx(expected.standard_error)
    h = gaps_of(rows, "human")[:150]
    without = h.std(ddof=2) / math.sqrt(150)
    assert people.standard_error > 1.15 * without


def test_judgments_of_pairs_are_read_from_the_side_of_b() -> None:
    rng = np.random.default_rng(3)
    first = rng.random(80) < 0.5
    p_new = np.clip(rng.normal(0.65, 0.2, 80), 0.01, 0.99)
    pairs = pl.DataFrame(
        {
            "id": [str(i) for i in range(80)],
            "model_a": np.where(first, "new", "old"),
            "model_b": np.where(first, "old", "new"),
            "p_a": np.where(first, p_new, 1 - p_new),
        }
    )
    got = compare(pairs, a="old", b="new")
    assert got.difference.judge.estimate == pytest.approx((2 * p_new - 1).mean())
    assert got.measure == "preferences"
    assert "new is preferred" in str(got)
    assert compare(pairs) == compare(pairs, a="new", b="old")  # two models: by name
    verdicts = compare(pairs, a="old", b="new", judge_column="verdict")
    d = np.sign(p_new - 0.5)
    assert verdicts.difference.judge.standard_error == pytest.approx(
        paired_gap(d, zero_one=True).standard_error
    )
    said = pairs.drop("p_a").with_columns(verdict=np.where(first == (d > 0), "A", "B"))
    assert compare(said, a="old", b="new").difference == verdicts.difference
    sides = compare(pairs.drop("model_a", "model_b"))
    assert (sides.difference.a, sides.difference.b) == ("A", "B")
    third = pl.concat([pairs, pairs.with_columns(pl.col("id") + "x", model_b=pl.lit("third"))])
    with pytest.raises(DataError, match="name two systems"):
        compare(third)
    only = compare(third, a="old", b="new")
    assert only.difference.judge == got.difference.judge
    assert only.dropped["pair with another system"] > 0
    with pytest.raises(ArgumentError, match="was compared with"):
        compare(pairs, a="nobody", b="new")


def test_ties_of_people_are_no_preference() -> None:
    pairs = pl.DataFrame(
        {
            "id": [str(i) for i in range(60)],
            "p_a": [0.2, 0.9, 0.4] * 20,
            "label": ["B", "A", "tie"] * 20,
        }
    )
    got = compare(pairs)
    assert got.difference.people.estimate == pytest.approx(0.0)
    assert got.difference.people.n == 60
    assert "corrected by the judge" not in str(got)  # it adds nothing: every pair has a label


def test_two_files_are_two_systems(tmp_path: Path) -> None:
    rows = two_systems().with_columns(id=pl.col("prompt_id")).drop("human", "prompt_id")
    paths = []
    for model in ("old", "new"):
        paths.append(tmp_path / f"{model}.csv")
        rows.filter(pl.col("model") == model).drop("model").write_csv(paths[-1])
    got = compare(paths[0], paths[1])
    assert (got.difference.a, got.difference.b, got.paired_by) == ("old.csv", "new.csv", "id")
    assert got.difference.judge == compare(rows, a="old", b="new").difference.judge
    labels = rows.head(10).select("id", label=pl.lit(1))
    with pytest.raises(DataError, match="add the column model to the labels"):
        compare(paths[0], paths[1], labels=labels)
    both = rows.filter(pl.col("id").str.slice(1).cast(pl.Int64) < 40).select(
        "id", "model", label="judge"
    )
    labelled = compare(rows, a="old", b="new", labels=both)
    assert labelled.n_labelled == 40
    named = both.with_columns(model=pl.col("model") + ".csv")
    assert compare(paths[0], paths[1], labels=named).difference.people == labelled.difference.people
    by_answer = named.select(id=pl.col("id") + " of " + pl.col("model"), label="label")
    again = compare(paths[0], paths[1], labels=by_answer)  # the ids that --write-ids writes
    assert again.difference.people == labelled.difference.people


def test_two_inspect_logs_pair_by_sample_and_epoch() -> None:
    log = LOGS / "inspect.eval"
    with pytest.raises(DataError, match="--within metric"):
        compare(log, log)
    systems = read_systems(log, log, within="metric")["model_graded_qa"]
    assert systems.names == ("first", "second")
    assert systems.paired_by == "id"
    table = systems.among(("first", "second"))
    assert len(table.judge) > 1
    assert (table.judge[:, 0] == table.judge[:, 1]).all()


def test_few_or_identical_questions_give_no_interval() -> None:
    few = compare(two_systems(29).drop("human"), a="old", b="new")
    assert few.difference.judge.estimate is few.difference.judge.interval is None
    assert few.difference.judge.reason == "29 questions: 30 or more are needed"
    rows = two_systems(40).drop("human").with_columns(judge=pl.col("prompt_id").str.slice(1))
    same = compare(rows, a="old", b="new")
    assert same.difference.judge.reason == "the scores are identical"
    assert str(same).startswith("new and old have identical scores on all 40 questions")
    verdicts = compare(rows.with_columns(judge=1), a="old", b="new").difference.judge
    reach = 1.959964 * math.sqrt(2 / 42 / 42)
    assert tuple(verdicts.interval) == pytest.approx((-reach, reach), abs=1e-6)
    labels = compare(two_systems(100, labels=20), a="old", b="new")
    assert labels.difference.reported is labels.difference.judge
    assert labels.difference.people.reason == "20 labelled questions: 30 or more are needed"


def test_refusals_name_the_remedy() -> None:
    rows = two_systems()
    with pytest.raises(ArgumentError, match="choose one of new, old"):
        compare(rows, a="older", b="new")
    with pytest.raises(ArgumentError, match="name two different systems"):
        compare(rows, a="new", b="new")
    with pytest.raises(DataError, match="name the systems' column"):
        compare(rows.drop("model"))
    with pytest.raises(ArgumentError, match="the rows are of one system"):
        compare(rows.filter(pl.col("model") == "old"))
    words = rows.with_columns(judge=pl.col("judge").replace_strict({0: "poor", 1: "great"}))
    with pytest.raises(DataError, match="--positive NAME"):
        compare(words.drop("human"), a="old", b="new")
    great = compare(words.drop("human"), a="old", b="new", positive="great")
    assert great.difference.judge == compare(rows.drop("human"), a="old", b="new").difference.judge
    planned = rows.with_columns(human=pl.lit(1), sampling_probability=0.5)
    with pytest.raises(DataError, match="picked by a plan"):
        compare(planned, a="old", b="new")
    criteria = pl.DataFrame(
        {"doc_id": ["d"] * 4, "model": ["x", "y"] * 2, "criterion": ["c", "c", "e", "e"]}
    ).with_columns(judge_score=pl.Series([1, 2, 3, 4]))
    with pytest.raises(DataError, match="--within criterion"):
        compare(criteria)


def test_the_exit_code_follows_the_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    two_systems().drop("human").write_csv("rows.csv")
    better, worse = ["--a", "old", "--b", "new"], ["--a", "new", "--b", "old"]
    assert run(["compare", "rows.csv", *better, "--plot", "d.png"]) == 0
    assert run(["compare", "rows.csv", *worse, "-o", "c.json"]) == 0  # a gate fails on it
    assert Path("d.png").exists()
    two_systems(20).drop("human").write_csv("few.csv")
    assert run(["compare", "few.csv", *better]) == 2
    assert run(["compare", "few.csv", "--a", "old"]) == 2  # of two systems, b is the other
    assert run(["compare", "few.csv", "--a", "oldest"]) == 1
    assert "choose one of new, old" in capsys.readouterr().err


def test_a_gate_is_decided_by_people_or_is_inconclusive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge says that the new one is better; 11 questions are labelled on both sides."""
    monkeypatch.chdir(tmp_path)
    rows = two_systems(200)
    for name in ("old", "new"):
        rows.filter(pl.col("model") == name).drop("human").write_csv(f"{name}.csv")
    on_both = [f"{model}-{q}" for model in ("old", "new") for q in range(11)]
    ids = [*on_both, *(f"old-{q}" for q in range(11, 100)), *(f"new-{q}" for q in range(100, 189))]
    pl.DataFrame({"id": ids, "label": [1, 0] * 100}).write_csv("long.csv")
    gate = ["gate", "new.csv", "--baseline", "old.csv", "--margin", "0"]
    few = "11 labelled questions: 30 or more are needed; 178 more are labelled for one system alone"
    assert run([*gate, "--labels", "long.csv"]) == 3
    assert f"no number: {few}" in capsys.readouterr().out
    rows.drop("human").write_csv("rows.csv")
    assert run(["compare", "rows.csv", "--a", "old", "--b", "new", "--labels", "long.csv"]) == 0
    shown = capsys.readouterr().out
    assert "new scores 31.0 points higher than old by this judge" in shown
    assert f"People can differ: {few}." in shown
    assert run(gate) == 3  # no label at all
    pl.DataFrame({"id": ids, "label": [1, 0] * 100, "sampled_by": "doubt"}).write_csv("doubt.csv")
    assert run([*gate, "--labels", "doubt.csv"]) == 3  # labels were given, and none can be used
    # With enough labels people decide, against the judge too.
    turned = {"id": rows["id"], "label": ["old" in name for name in rows["id"]]}
    pl.DataFrame(turned).with_columns(pl.col("label").cast(int)).write_csv("people.csv")
    assert run([*gate, "--labels", "people.csv"]) == 2


def test_rows_that_a_policy_accepted_are_called_the_easy_ones() -> None:
    rows = two_systems(120).drop("human")
    slices = rows.with_columns(accepted=pl.col("prompt_id").str.len_chars() < 3)
    got = compare(slices, a="old", b="new", within="accepted")
    easy = "a policy accepted each of these verdicts: they are the easy ones, not all"
    assert got.warnings == (f"slice 1: {easy}",)
    assert compare(slices.filter("accepted"), a="old", b="new").warnings == (easy,)
    assert compare(rows, a="old", b="new").warnings == ()


def test_a_plan_names_a_command_that_has_the_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    metrics = [two_systems(60).with_columns(metric=pl.lit(name)) for name in ("exact", "close")]
    pl.concat(metrics).drop("human").write_csv("rows.csv")
    assert run(["plan", "compare", "rows.csv", "--difference", "0.1"]) == 1
    told = capsys.readouterr().err
    assert "compare in each of them: adjudge compare --within metric" in told
    assert run(["compare", "rows.csv", "--within", "metric"]) == 0


def test_of_several_judges_one_is_named() -> None:
    rows = two_systems().drop("human")
    lenient = rows.with_columns(judge=pl.lit(1, pl.Int64), judge_name=pl.lit("lenient"))
    both = pl.concat([rows.with_columns(judge_name=pl.lit("strict")), lenient])
    with pytest.raises(DataError, match="has 2 judges: lenient, strict; name one: --judge NAME"):
        compare(both, a="old", b="new")
    got = compare(both, a="old", b="new", judge="strict")
    assert got.difference.judge == compare(rows, a="old", b="new").difference.judge
    with pytest.raises(ArgumentError, match="choose one of lenient, strict"):
        compare(both, a="old", b="new", judge="nobody")
    with pytest.raises(ArgumentError, match="do not name their judge"):
        compare(rows, a="old", b="new", judge="strict")


def test_labels_of_label_studio_join_by_id() -> None:
    pairs = [
        {"id": f"p{n}", "model_a": "x", "model_b": "y", "p_a": 0.3 + 0.01 * (n % 30)}
        for n in range(40)
    ]
    got = compare(pairs, a="x", b="y", labels=LOGS / "label_studio.json")
    assert got.n_labelled == 3
    with pytest.raises(DataError, match="adjudge rank"):
        compare(LOGS / "judgearena.jsonl")


def test_labels_of_every_question_need_no_sampling() -> None:
    assert compare(two_systems(80, labels=80), a="old", b="new").warnings == ()


def test_clustered_questions_give_the_mean_of_questions() -> None:
    """Topics of one and of nine questions: B is 1 better on the long ones alone."""
    sizes = [1, 9] * 40
    topics = [f"t{at}" for at, size in enumerate(sizes) for _ in range(size)]
    longer = np.array([size > 1 for size in sizes for _ in range(size)], dtype=float)
    n = len(topics)
    a = np.full(n, 3.0) + np.arange(n) % 2
    both = {"judge": [*a, *(a + longer)], "id": [*range(n), *range(n)], "topic": topics * 2}
    rows = {**both, "model": ["a"] * n + ["b"] * n, "human": both["judge"]}
    got = compare(rows, a="a", b="b", cluster="topic")
    [pair] = got.differences
    assert pair.judge.estimate == pytest.approx(longer.mean()) == 0.9
    assert pair.people is not None
    assert pair.people.estimate == pytest.approx(0.9)
    rows["human"] = [label if at % n < n / 2 else None for at, label in enumerate(both["judge"])]
    [half] = compare(rows, a="a", b="b", cluster="topic").differences
    assert half.people is not None
    assert half.people.estimate == pytest.approx(0.9, abs=0.01)
