"""evaluate on every kind of rows: what it counts, what it leaves out, what it refuses."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge import compare, evaluate
from adjudge.cli import run
from adjudge.errors import ArgumentError, DataError
from adjudge.evaluation import disagreements, measure_scores, prepare_evaluation
from adjudge.present.kinds import from_dict
from adjudge.present.result import Result
from adjudge.simulate.pairs import two_order_judge

#: 100 labelled answers: 50 + 35 right, 10 passes that people fail, 5 fails that people pass.
JUDGE = [1] * 60 + [0] * 40
HUMAN = [1] * 50 + [0] * 10 + [1] * 5 + [0] * 35
GRADES: dict[str, Any] = {"id": [*range(100)], "judge": JUDGE, "human": HUMAN}


def one(rows: Any, **options: Any) -> Any:
    [judge] = evaluate(rows, **options).judges
    return judge


def test_grades_by_hand() -> None:
    judge = one(GRADES)
    assert judge.names == ("pass", "fail")
    assert judge.matrix == ((50, 5, 0), (10, 35, 0))
    assert judge.agreement == 0.85
    assert (judge.constant, round(judge.gain, 12)) == ("pass", 0.3)
    assert judge.kappa == pytest.approx((0.85 - 0.51) / (1 - 0.51))
    passes, fails = judge.classes
    assert (passes.share_of_people, fails.share_of_people) == (50 / 55, 35 / 45)
    assert (passes.share_of_judge, fails.share_of_judge) == (50 / 60, 35 / 40)


@pytest.mark.parametrize(
    "rows",
    [
        {**GRADES, "judge": ["pass" if x else "FAIL" for x in JUDGE]},
        {**GRADES, "judge": [0.9 if x else 0.2 for x in JUDGE]},
        {**GRADES, "human": ["yes" if x else "no" for x in HUMAN]},
        pd.DataFrame(GRADES),
        pl.DataFrame(GRADES).drop("id"),
    ],
    ids=["words", "probabilities", "people's words", "pandas", "no ids"],
)
def test_the_same_rows_in_other_forms_have_the_same_numbers(rows: Any) -> None:
    judge = one(rows)
    assert judge.matrix == ((50, 5, 0), (10, 35, 0))
    assert judge.interval == one(GRADES).interval


def test_labels_of_another_file_and_names_of_columns() -> None:
    labels = {"ticket": [*range(100)], "vote": HUMAN}
    judge = one(
        {"id": [*range(100)], "grade": JUDGE},
        labels=labels,
        columns={"judge": "grade"},
        labels_columns={"id": "ticket", "label": "vote"},
    )
    assert judge.matrix == ((50, 5, 0), (10, 35, 0))


def test_classes() -> None:
    rows = {"judge": list("aabbcc"), "human": list("aabccb")}
    judge = one(rows)
    assert judge.names == ("a", "b", "c")
    assert judge.matrix == ((2, 0, 0, 0), (0, 1, 1, 0), (0, 1, 1, 0))
    assert judge.agreement == 4 / 6


def test_judgments_of_pairs_keep_their_doubt() -> None:
    rows = pl.DataFrame(two_order_judge(300, seed=1))
    result = evaluate(rows, splits=20, alphas=[0.2])
    [judge] = result.judges
    assert result.unit == "pair"
    assert result.doubt is not None
    [quality] = [s for s in result.doubt.signals if s.signal == "preference_entropy"]
    assert quality.accuracy == pytest.approx(judge.agreement)
    again = from_dict(result.to_dict(), Result, source="the result")
    assert again == result


def test_a_row_without_a_verdict_does_not_agree() -> None:
    rows = {"id": [1, 2, 3, 4], "p_a": [0.9, 0.5, 0.2, 0.7], "label": ["A", "A", "B", "tie"]}
    result = evaluate(rows, splits=2)
    [judge] = result.judges
    assert (judge.n, judge.n_no_verdict, judge.errors) == (3, 1, 1)
    assert result.dropped == {"human tie": 1}
    [with_ties] = evaluate(rows, splits=2, ties="error").judges
    assert (with_ties.n, with_ties.errors) == (4, 2)


def test_failures_are_counted_by_status() -> None:
    rows = {**GRADES, "status": ["ok"] * 90 + ["error"] * 6 + ["refused"] * 4}
    result = evaluate(rows)
    assert result.judges[0].n == 90
    assert result.dropped == {"status error": 6, "status refused": 4}
    assert result.failed == 10


def test_clusters_make_the_interval_wider() -> None:
    doubled = {name: values * 4 for name, values in GRADES.items()} | {"id": [*range(400)]}
    alone = one(doubled)
    together = one({**doubled, "prompt_id": [*range(100)] * 4})
    assert (alone.clusters, together.clusters) == (400, 100)
    assert together.high - together.low == pytest.approx(one(GRADES).high - one(GRADES).low, 0.05)
    assert together.high - together.low > 1.8 * (alone.high - alone.low)
    assert one({**doubled, "prompt_id": [*range(100)] * 4}, cluster="none").clusters == 400


# --- several raters, several judges ---


def test_two_people_are_the_second_bar() -> None:
    first, second = [1, 1, 1, 0, 0, 0, 1, 0], [1, 1, 0, 0, 0, 1, 1, 0]
    labels = {
        "id": [*range(8)] * 2,
        "label": [*first, *second],
        "rater": ["ann"] * 8 + ["bob"] * 8,
    }
    judge = one({"id": [*range(8)], "judge": [1, 1, 1, 0, 0, 0, 0, 0]}, labels=labels)
    assert judge.people is not None
    assert (judge.people.n, judge.people.share) == (8, 0.75)
    assert judge.people.with_judge == (5 + 2 / 2) / 8 + 0  # five with both, two with one of them
    wide = one(
        {"judge": [1, 1, 1, 0, 0, 0, 0, 0], "ann": first, "bob": second}, raters=["ann", "bob"]
    )
    assert wide.people == judge.people
    assert wide.n == judge.n == 6  # two raters who disagree are no majority


@pytest.mark.parametrize("meanings", [None, {"Good": "1", "Bad": "0"}])
def test_raters_who_spell_a_word_differently_agree(meanings: dict[str, str] | None) -> None:
    spelled = {
        "judge": ["Good", "good", "GOOD", "bad", "Bad", "good", "n/a", "bad"] * 5,
        "ann": ["good", "Bad", "Good", "BAD", "bad", None, "bad", None] * 5,
        "bob": ["GOOD", "good", "good", "bad", None, "Bad", "Bad", None] * 5,
    }
    plain = {
        name: [None if word in (None, "n/a") else int(word.lower() == "good") for word in words]
        for name, words in spelled.items()
    }
    judge = one(spelled, raters=["ann", "bob"], labels_as=meanings)
    bare = one(plain, raters=["ann", "bob"])
    assert judge.n == bare.n == 25  # two of eight have no label or no verdict, one has two
    assert judge.agreement == bare.agreement == 0.8
    assert judge.people is not None
    assert judge.people == bare.people


def test_a_refusal_names_only_columns_of_the_file() -> None:
    rows = {"Criterion": ["a", "b"], "GPT-4 score": [1, 2], "Ann": [1, 2]}
    with pytest.raises(DataError) as refused:
        evaluate(rows)
    assert str(refused.value).endswith("columns here: Criterion, GPT-4 score, Ann")


def test_judges_in_columns_and_in_rows_are_the_same() -> None:
    rng = np.random.default_rng(0)
    second = np.where(rng.random(100) < 0.7, HUMAN, 1 - np.array(HUMAN)).tolist()
    wide = {"id": [*range(100)], "small": second, "large": JUDGE, "human": HUMAN}
    result = evaluate(wide, judges=["small", "large"])
    rows = {
        "id": [*range(100)] * 2,
        "judge_name": ["small"] * 100 + ["large"] * 100,
        "judge": [*second, *JUDGE],
        "human": HUMAN * 2,
    }
    assert evaluate(rows).judges == result.judges
    assert [judge.judge for judge in result.ranked] == ["large", "small"]
    assert result.best is not None
    assert result.best.judge == "large"
    assert [j.judge for j in evaluate(rows, judges=["small"]).judges] == ["small"]
    with pytest.raises(ArgumentError, match="large, small"):
        evaluate(rows, judges=["medium"])


def test_columns_that_can_be_judges_are_named() -> None:
    rows = {"id": [1, 2, 3], "GPT-4": [1, 0, 1], "Llama 7B": [0, 0, 1], "human": [1, 0, 0]}
    with pytest.raises(DataError) as refused:
        evaluate(rows)
    assert "GPT-4, Llama 7B hold values on the scale of human" in str(refused.value)
    assert "--judge GPT-4 --judge 'Llama 7B'" in str(refused.value)


def test_sides_in_words_of_their_own_are_one_scale() -> None:
    judge = ["first", "second", "first", "tie"]
    human = ["model_a", "model_b", "model_b", "model_a"]
    result = evaluate({"id": [1, 2, 3, 4], "judge": judge, "human": human})
    assert (result.unit, result.judges[0].agreement) == ("pair", 0.5)
    # Classes of equal words are no sides of a pair.
    parties = evaluate({"id": [1, 2, 3], "judge": ["left", "right", "left"], "human": ["left"] * 3})
    assert (parties.unit, parties.judges[0].names) == ("answer", ("left", "right"))


def test_each_metric_is_by_itself() -> None:
    rows = pl.concat(
        [
            pl.DataFrame(GRADES).with_columns(metric=pl.lit("tone")),
            pl.DataFrame(GRADES).with_columns(metric=pl.lit("facts"), judge="human"),
        ]
    )
    agreement = {judge.judge: judge.agreement for judge in evaluate(rows).judges}
    assert agreement == {"tone": 0.85, "facts": 1.0}


# --- how the labels were drawn ---


def by_verdict() -> pl.DataFrame:
    """500 answers: all 68 fails are labelled, and 93 of 432 passes."""
    judge = [0] * 68 + [1] * 432
    human = [1] * 11 + [0] * 57 + [1] * 89 + [0] * 4 + [None] * 339
    return pl.DataFrame({"id": [*range(500)], "judge": judge, "human": human})


def test_labels_that_look_drawn_by_verdict_are_weighted() -> None:
    result = evaluate(by_verdict())
    [judge] = result.judges
    expected = (68 * 57 / 68 + 432 * 89 / 93) / 500
    assert result.drawn == "verdict"
    assert judge.agreement == pytest.approx(expected)
    assert judge.interval is not None
    assert judge.agreement in judge.interval
    assert "labels look drawn by verdict: 68 of 68 fail, 93 of 432 pass" in result.warnings[0]
    assert "of all 500 answers (161 labelled)" in str(result)
    stated = evaluate(by_verdict(), labels_by_verdict=True)
    assert stated.judges == result.judges
    plain = evaluate(by_verdict(), labels_are_random=True)
    assert plain.judges[0].agreement == (57 + 89) / 161
    with pytest.raises(ArgumentError):
        evaluate(by_verdict(), labels_are_random=True, labels_by_verdict=True)


def test_several_judges_and_labels_by_verdict_are_refused_with_a_remedy_that_works() -> None:
    rows = by_verdict().with_columns(other=pl.lit(1)).rename({"judge": "first"})
    with pytest.raises(DataError, match="68 of 68 fail, 93 of 432 pass"):
        evaluate(rows, judges=["first", "other"])
    assert evaluate(rows, judges=["first"]).judges[0].n_rows == 500


def test_within_a_verdict_labels_of_doubtful_rows_are_refused() -> None:
    frame = pl.DataFrame(two_order_judge(400, seed=3))
    doubtful = ((frame["p_fwd"] + frame["p_rev"]) / 2 - 0.5).abs() < 0.2
    label = pl.when(pl.lit(doubtful)).then("label")
    with pytest.raises(DataError, match="differ from others in the judge's doubt"):
        evaluate(frame.with_columns(label), labels_by_verdict=True, splits=2)


def test_rows_that_were_chosen_are_these_rows() -> None:
    rows = {**GRADES, "sampled_by": ["doubt"] * 100}
    result = evaluate(rows)
    assert result.drawn == "chosen"
    assert "of these 100 labelled answers, which were chosen" in str(result)
    some = evaluate({**GRADES, "sampled_by": ["doubt"] * 40 + ["random"] * 60})
    assert (some.drawn, some.judges[0].n) == ("random", 60)
    assert some.dropped == {"label sampled by doubt: not used, its row is unlabelled": 40}


def test_labels_of_a_plan_have_weights() -> None:
    judge = [1] * 50 + [0] * 50
    human = [1] * 45 + [0] * 5 + [0] * 20 + [1] * 5 + [None] * 25
    chance = [1.0] * 50 + [0.5] * 25 + [None] * 25
    rows = {"judge": judge, "human": human, "sampled_by": ["plan"] * 75 + [None] * 25}
    result = evaluate({**rows, "sampling_probability": chance})
    assert result.drawn == "plan"
    assert result.judges[0].agreement == pytest.approx((45 + 2 * 20) / (50 + 2 * 25))


def test_without_labels_it_says_what_the_rows_say() -> None:
    rows = pl.DataFrame(two_order_judge(200, seed=2)).drop("label")
    result = evaluate(rows)
    [judge] = result.unlabelled
    flips = ((rows["p_fwd"] - 0.5) * (rows["p_rev"] - 0.5) < 0).mean()
    assert judge.flips == pytest.approx(flips)
    assert judge.n_rows == sum(judge.verdicts.values()) == 200
    assert "nobody can say how good the judge is" in str(result)
    assert from_dict(result.to_dict(), Result, source="the result") == result


# --- slices ---


def test_the_slice_with_the_errors_is_named_and_others_are_not() -> None:
    topic = [
        "billing" if human != judge else "other" for human, judge in zip(HUMAN, JUDGE, strict=True)
    ]
    topic[:5] = ["billing"] * 5
    rows = {**GRADES, "topic": topic, "lang": ["de", "en"] * 50}
    judge = one(rows)
    first = judge.slices[0]
    assert (first.name, first.errors, first.n, first.shown) == ("topic = billing", 15, 20, True)
    assert [each.shown for each in judge.slices if each.column == "lang"] == [False, False]
    assert "; most in topic = billing (15 of 20)" in str(evaluate(rows))
    assert {each.column for each in one(rows, slices=["lang"]).slices} == {"lang"}
    with pytest.raises(ArgumentError, match="slices"):
        evaluate(rows, slices=["nothing"])


@pytest.mark.parametrize("others", [3, 10])
def test_two_values_and_rows_without_one_are_two_tests(others: int) -> None:
    """The rest of a value has rows without one, so the other value is another test."""
    topics = ["a"] * others + ["b"] * 10 + [None] * 40
    human = [1] * others + [0] * 10 + [1] * 30 + [0] * 10
    slices = (
        evaluate({"judge": [1] * len(topics), "human": human, "topic": topics}).judges[0].slices
    )
    tested = {each.value: each for each in slices if each.p_value is not None}
    assert tested.keys() == ({"a", "b"} if others == 10 else {"b"})
    adjusted = [each.adjusted for each in tested.values()]
    p_values = sorted(each.p_value or 0.0 for each in tested.values())
    assert min(value or 0.0 for value in adjusted) == pytest.approx(p_values[0] * len(tested))


def test_one_name_is_a_list_of_one() -> None:
    rows = {"judge": [1, 0] * 10, "human": [1, 1] * 10, "topic": ["a", "b"] * 10}
    assert evaluate(rows, slices="topic").slices_by == ("topic",)
    people = evaluate({**rows, "ann": [1, 0] * 10}, raters="ann").judges[0]
    assert people.agreement == 1
    with pytest.raises(ArgumentError, match="there is no other column than those read"):
        evaluate({"judge": [1, 0], "human": [1, 1]}, slices=["topic"])


def test_slices_are_named_with_commas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.csv"
    rows = {
        **GRADES,
        "topic": ["x", "y"] * 50,
        "lang": ["de", "de", "en", "en"] * 25,
        "n": [0, 1] * 50,
    }
    pl.DataFrame(rows).write_csv(file)
    assert run(["evaluate", str(file), "--slices", "topic,lang", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["slices_by"] == ["topic", "lang"]


# --- scores ---


def test_scores_by_hand() -> None:
    judge = np.array([1.0, 2, 3, 4, 5, 5])
    people = np.array([[1.0], [3], [3], [3], [5], [4]])
    score = measure_scores(judge, people)
    assert (score.judge_mean, score.people_mean) == (20 / 6, 19 / 6)
    assert score.error == 0.5
    assert (score.constant, round(score.gain, 12)) == (3.0, round(5 / 6 - 0.5, 12))
    assert score.people is None


def test_scores_beside_a_second_rater_by_criterion() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for criterion in ("clarity", "facts"):
        truth = rng.integers(1, 6, 120)
        for at, value in enumerate(truth):
            raters = np.clip(value + rng.integers(-1, 2, 2), 1, 5)
            rows.append(
                {
                    "doc_id": f"d{at // 6}",
                    "model": f"m{at % 6}",
                    "criterion": criterion,
                    "judge": "j",
                    "judge_score": int(np.clip(value + rng.integers(0, 2), 1, 5)),
                    "expert1": int(raters[0]),
                    "expert2": int(raters[1]),
                }
            )
    result = evaluate(pl.DataFrame(rows))
    assert [score.judge for score in result.scores] == ["clarity", "facts"]
    first = result.scores[0]
    frame = pl.DataFrame(rows).filter(pl.col("criterion") == "clarity")
    apart = (frame["expert1"] - frame["expert2"]).abs().mean()
    mean = (frame["expert1"] + frame["expert2"]) / 2
    assert first.people is not None
    assert first.people.error == pytest.approx(apart)
    assert first.error == pytest.approx((frame["judge_score"] - mean).abs().mean())
    assert (first.clusters, first.items) == (20, 20)
    assert from_dict(result.to_dict(), Result, source="the result") == result


# --- the disagreements ---


@pytest.mark.parametrize("answer", [{"p_a": float("nan")}, {"p_a": 0.9, "status": "error"}])
def test_a_judge_that_failed_every_row_is_refused_with_the_reason(answer: dict[str, Any]) -> None:
    rows = [{"id": number, "label": "A", **answer} for number in range(3)]
    with pytest.raises(DataError, match=r"no row has a judge verdict \(3 status error\)"):
        evaluate(rows)


def test_disagreements_have_the_texts_and_the_comments() -> None:
    rows = {**GRADES, "response": [f"answer {k}" for k in range(100)], "reason": ["why"] * 100}
    read = prepare_evaluation(rows)
    wrong = disagreements(read)
    assert wrong.height == evaluate(read).judges[0].errors == 15
    assert wrong.columns == ["id", "verdict", "label", "response", "reason"]
    assert wrong.row(0) == (50, "pass", "fail", "answer 50", "why")
    labels = {"id": [*range(100)], "label": HUMAN, "comment": [f"note {k}" for k in range(100)]}
    told = disagreements(prepare_evaluation({**rows, "human": [None] * 100}, labels=labels))
    assert told["comment"][0] == "note 50"


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, errors = tmp_path / "rows.csv", tmp_path / "errors.csv"
    pl.DataFrame(GRADES).write_csv(file)
    assert run(["evaluate", str(file), "--errors", str(errors), "--plot", "x.png"]) == 0
    out, err = capsys.readouterr()
    assert pl.read_csv(errors).height == 15
    assert f"wrote 15 disagreements to {errors}" in err
    assert len(out.splitlines()) <= 8
    assert run(["evaluate", str(file), "--fail-below", "0.95"]) == 2
    assert run(["evaluate", str(file), "--fail-below", "0.8"]) == 3
    assert "not known whether it is below 0.8" in capsys.readouterr().err
    assert run(["evaluate", str(file), "--fail-below", "0.7"]) == 0
    pl.DataFrame(GRADES).drop("human").write_csv(file)
    assert run(["evaluate", str(file)]) == 2


def test_the_best_judge_is_of_the_mean_of_rows_where_prompts_differ_in_size() -> None:
    # Judge x is better on 40 prompts with one row, y on 20 prompts with 12 rows each.
    rng = np.random.default_rng(0)
    rows = []
    for prompt in range(60):
        alone = prompt < 40
        for at in range(1 if alone else 12):
            human = int(rng.integers(2))
            for name, share in (("x", 0.9 if alone else 0.6), ("y", 0.7 if alone else 0.8)):
                verdict = human if rng.random() < share else 1 - human
                row = {"id": f"{prompt}-{at}", "prompt_id": prompt, "judge_name": name}
                rows.append({**row, "judge": verdict, "human": human})
    table = pl.DataFrame(rows)
    result = evaluate(table)
    compared = compare(table, judges=True)
    assert result.clustered_by == compared.clustered_by == "prompt_id"
    assert result.best is not None
    assert result.best == compared.best_judge
    assert {*result.can_be_best} == {*compared.best}
    mean = {each.judge: each.agreement for each in result.judges}
    assert result.best.judge == "y"
    assert result.best.accuracy == pytest.approx(mean["y"])


@pytest.mark.parametrize("column", ["order", "swapped"])
def test_letters_of_the_place_are_named(column: str) -> None:
    values = ("ab", "ba") if column == "order" else ("false", "true")
    human = ["AB"[at % 2] for at in range(80)]
    other = {"A": "B", "B": "A"}
    of_answer = [other[label] if at % 5 == 0 else label for at, label in enumerate(human)]
    order = [values[at // 2 % 2] for at in range(80)]
    of_place = [
        verdict if shown == values[0] else other[verdict]
        for verdict, shown in zip(of_answer, order, strict=True)
    ]
    table = {"id": [*range(80)], column: order, "human": human}
    assert evaluate({**table, "verdict": of_answer}).warnings == ()
    [warning] = evaluate({**table, "verdict": of_place}).warnings
    assert f"verdicts turn with {column}: right on 80 % of rows with {values[0]}" in warning
    assert f"where {column} is {values[1]}, write B for A and A for B" in warning


def test_what_a_call_took_is_no_slice_unless_it_is_named() -> None:
    took = ["few", "many"] * 50
    calls = ("prompt_tokens", "Total Tokens", "cost_usd", "latency_s", "durationMs", "judge_cost")
    table = {**GRADES, **dict.fromkeys(calls, took), "cost_center": took}
    assert evaluate(table).slices_by == ("cost_center",)
    assert evaluate(table, slices=["latency_s"]).slices_by == ("latency_s",)


@pytest.mark.parametrize("word", ["-1", "skip", "Can't tell"])
def test_a_word_that_can_mean_no_label_is_named_with_a_remedy_that_works(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    human = [word if at % 4 == 0 else str(label) for at, label in enumerate(HUMAN)]
    path = tmp_path / "grades.csv"
    pl.DataFrame({**GRADES, "human": human}).write_csv(path)
    assert run(["evaluate", str(path)]) == 0
    said = capsys.readouterr().err
    assert "of 25 rows, which the judge never says" in said
    remedy = said.split("leave it out: ")[1].split(" (labels_as=)")[0]
    assert run(["evaluate", str(path), *shlex.split(remedy), "--json"]) == 0
    shown = capsys.readouterr()
    assert "never says" not in shown.err
    [judge] = json.loads(shown.out)["judges"]
    assert (judge["n"], judge["names"]) == (75, ["pass", "fail"])


def test_yes_and_no_of_a_judge_are_words_next_to_peoples_maybe() -> None:
    human = ["Maybe" if at % 10 == 0 else "Yes" if at % 2 else "No" for at in range(60)]
    judge = one({"judge": ["Yes" if at % 2 else "No" for at in range(60)], "human": human})
    assert (judge.n, judge.agreement, judge.names) == (60, 0.9, ("Maybe", "No", "Yes"))
