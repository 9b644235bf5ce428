"""A gate is decided by people's number, or it is inconclusive and says why and what decides."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge import compare, estimate
from adjudge.cli import run
from adjudge.data import write_result
from adjudge.errors import ArgumentError, DataError
from adjudge.gating import JudgeCard, decide, gate, make_card
from adjudge.integrations.testing import assert_gate
from adjudge.records import Interval

DAY = date(2026, 11, 20)


def graded(
    n: int = 400, *, rate: float = 0.8, labelled: int = 0, seed: int = 0, name: str = "q"
) -> pl.DataFrame:
    """Grades of a judge that errs on a tenth of the passes and a fifth of the fails."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < rate
    wrong = rng.random(n) < np.where(truth, 0.1, 0.2)
    labels = [int(t) if at < labelled else None for at, t in enumerate(truth)]
    return pl.DataFrame(
        {
            "id": [f"{name}{at}" for at in range(n)],
            "prompt_id": [f"p{at}" for at in range(n)],
            "judge_name": "gpt",
            "judge_fingerprint": "f1",
            "served_model": "gpt-2026-01",
            "judge": np.where(wrong, ~truth, truth).astype(int),
            "human": pl.Series(labels, dtype=pl.Int64),
            "sampled_by": "random",
        }
    )


@pytest.fixture(scope="module")
def card() -> JudgeCard:
    return make_card(graded(600, rate=0.7, labelled=600, seed=9), expires="2026-12-31")


def test_the_rule_is_that_of_an_interval_and_a_limit() -> None:
    near = Interval(0.4, 0.6, level=0.95)
    assert [decide([near], at_most=limit) for limit in (0.3, 0.5, 0.6)] == [
        "fail",
        "inconclusive",
        "pass",
    ]
    assert decide([near], at_least=0.4, at_most=0.5) == "inconclusive"
    assert decide([near, Interval(0.1, 0.2, level=0.95)], at_least=0.3) == "fail"
    assert decide([Interval(None, None, level=0.95)], at_least=0.3) == "inconclusive"
    assert decide([], at_least=0.3) == "inconclusive"


@pytest.mark.parametrize(
    ("limit", "outcome"), [(0.6, "pass"), (0.74, "inconclusive"), (0.95, "fail")]
)
def test_labels_of_this_run_decide(card: JudgeCard, limit: float, outcome: str) -> None:
    rows = graded(labelled=150)
    result = gate(rows, card=card, at_least=limit, today=DAY)
    assert (result.outcome, result.decided_by) == (outcome, "labels of this run")
    [number] = result.numbers
    expected = estimate(rows)
    assert (number.estimate, number.interval) == (expected.estimate, expected.interval)
    assert str(result).startswith(outcome.upper())
    assert bool(result.reasons) == (outcome == "inconclusive")


def test_without_labels_of_this_run_it_is_inconclusive_unless_errors_are_assumed_equal(
    card: JudgeCard,
) -> None:
    rows = graded(rate=0.9, seed=3)
    unknown = gate(rows, card=card, at_least=0.8, today=DAY)
    assert unknown.outcome == "inconclusive"
    assert "no labels" in unknown.reasons[0]
    assert unknown.labels_needed is not None
    assert f"{unknown.labels_needed} labels" in str(unknown)
    assumed = gate(rows, card=card, at_least=0.6, assume_same_errors=True, today=DAY)
    assert (assumed.outcome, assumed.decided_by) == ("pass", "labels of the card")
    [number] = assumed.numbers
    judge, human = (list(map(float, codes)) for codes in (card.verdict_codes, card.label_codes))
    both = estimate(
        judge=[*rows["judge"], *(1 - code for code in judge)],
        human=[*[None] * rows.height, *(1 - code for code in human)],
        method="misclassification",
    )
    assert (number.estimate, number.interval) == (both.estimate, both.interval)
    assert (number.n, number.n_labels) == (400, 600)
    said = "the judge errs on these rows as on the labelled rows of its card"
    assert said in assumed.assumptions
    assert said in assumed.explain()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"at_least": float("nan")}, "give a finite number"),
        ({"at_most": float("inf")}, "give a finite number"),
        ({"at_least": 80}, "from 0 to 1"),
        ({"at_least": 0.9, "at_most": 0.5}, "no number reaches it and stays at 0.5"),
    ],
)
def test_a_limit_that_decides_nothing_is_refused(
    card: JudgeCard, limits: dict[str, float], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        gate(graded(labelled=60), card=card, today=DAY, **limits)


def test_where_only_random_labels_decide_the_gate_says_so(card: JudgeCard) -> None:
    """The judge passes all, and so did people: without a fail its specificity is unknown."""
    n = 300
    rows = {
        "judge": [1] * n, "human": [1] * 60 + [None] * (n - 60), "judge_name": [card.judge] * n
    }  # fmt: skip
    unknown = gate(rows, card=card, at_least=0.9, today=DAY)
    assert unknown.outcome == "inconclusive"
    assert str(unknown).startswith("INCONCLUSIVE: people's number is not known; asked for")
    assert unknown.reasons[-1].startswith("Random labels? --labels-are-random gives 1.000")
    assert gate(rows, card=card, at_least=0.9, labels_are_random=True, today=DAY).outcome == "pass"


def test_a_profile_interval_can_decide(card: JudgeCard) -> None:
    rows = graded(labelled=60).drop("sampled_by")
    [number] = gate(rows, card=card, at_least=0.5, interval="profile", today=DAY).numbers
    assert number.interval == estimate(rows, interval="profile").interval
    words = {"at_least": 0.5, "assume_same_errors": True, "today": DAY}
    ends = [
        gate(rows.drop("human"), card=card, interval=how, **words).numbers[0].interval
        for how in ("wald", "profile")
    ]
    assert ends[0] != ends[1]


def test_an_expired_card_or_one_of_another_judge_only_reports(card: JudgeCard) -> None:
    rows = graded(labelled=200)
    late = gate(rows, card=card, at_least=0.5, today=date(2027, 1, 1))
    assert late.outcome == "inconclusive"
    assert late.reasons == ("the card expired on 2026-12-31",)
    assert late.numbers[0].estimate is not None
    other = rows.with_columns(judge_fingerprint=pl.lit("f2"))
    assert "the card was made for" in gate(other, card=card, at_least=0.5, today=DAY).reasons[0]
    moved = rows.with_columns(served_model=pl.lit("gpt-2026-09"))
    [reason] = gate(moved, card=card, at_least=0.5, today=DAY).reasons
    assert "gpt-2026-09" in reason
    assert "adjudge monitor judge" in reason
    few = make_card(graded(labelled=200), expires_after=1000)
    assert gate(rows, card=few, at_least=0.5, judged=1000).outcome == "pass"
    assert gate(rows, card=few, at_least=0.5, judged=1001).outcome == "inconclusive"
    assert gate(graded(1200, labelled=200), card=few, at_least=0.5).outcome == "inconclusive"


def test_rows_that_do_not_name_their_judge_are_taken_with_a_warning(card: JudgeCard) -> None:
    result = gate(
        graded(labelled=200).drop("judge_name", "judge_fingerprint"),
        card=card,
        at_least=0.5,
        today=DAY,
    )
    assert result.outcome == "pass"
    assert "do not name their judge" in result.warnings[0]
    unknown = make_card(graded(labelled=200).drop("sampled_by", "judge_fingerprint"))
    warned = gate(graded(labelled=200), card=unknown, at_least=0.5).warnings
    assert "on the card, how the labels were drawn is not recorded (sampled_by)" in warned


def test_labels_that_were_not_drawn_at_random_correct_no_other_run() -> None:
    rows = graded(labelled=200).with_columns(sampled_by=pl.lit("browsed"))
    chosen = make_card(rows)
    result = gate(graded(), card=chosen, at_least=0.5, assume_same_errors=True)
    assert result.outcome == "inconclusive"
    assert "chosen, not drawn" in result.reasons[0]


def test_several_labelled_rows_of_one_prompt_widen_the_interval_by_the_card() -> None:
    several = graded(600, labelled=600).with_columns(prompt_id=pl.arange(600) // 20)
    alone = make_card(several.drop("prompt_id"))
    together = make_card(several)
    assert together.cluster_codes is not None
    rows = graded(rate=0.9, seed=3)
    widths = [
        np.ptp([*gate(rows, card=c, at_least=0.5, assume_same_errors=True).numbers[0].interval])
        for c in (alone, together)
    ]
    assert widths[0] != widths[1]


def test_groups_are_decided_together(card: JudgeCard) -> None:
    rows = pl.concat(
        [
            graded(labelled=200, seed=seed, rate=rate, name=name).with_columns(model=pl.lit(name))
            for seed, (name, rate) in enumerate([("a", 0.9), ("b", 0.5)])
        ]
    )
    result = gate(rows, card=card, at_least=0.7, by="model", today=DAY)
    assert result.outcome == "fail"
    assert [number.name for number in result.numbers] == ["a", "b"]
    level = result.numbers[0].interval
    assert level is not None
    assert level.level == pytest.approx(0.975)
    only = gate(rows.filter(pl.col("model") == "a"), card=card, at_least=0.7, by="model", today=DAY)
    assert only.outcome == "pass"


def two_runs(*, worse: float, labelled: int, n: int = 600) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same questions in two runs; some that the old one passes, the new one fails."""
    rng = np.random.default_rng(4)
    old = rng.random(n) < 0.8
    new = old & (rng.random(n) >= worse)
    runs = []
    for name, truth in (("old", old), ("new", new)):
        wrong = rng.random(n) < np.where(truth, 0.1, 0.2)
        labels = [int(t) if at < labelled else None for at, t in enumerate(truth)]
        verdicts = np.where(wrong, ~truth, truth).astype(int)
        rows = graded(n, name=name).with_columns(judge=pl.Series(verdicts))
        runs.append(rows.with_columns(human=pl.Series(labels, dtype=pl.Int64)))
    return runs[0], runs[1]


@pytest.mark.parametrize(
    ("worse", "margin", "outcome"),
    [(0.0, 0.1, "pass"), (0.0, 0.0, "inconclusive"), (0.4, 0.02, "fail")],
)
def test_a_baseline_is_decided_on_the_paired_difference(
    worse: float, margin: float, outcome: str
) -> None:
    old, new = two_runs(worse=worse, labelled=300)
    result = gate(new, baseline=old, margin=margin)
    assert result.outcome == outcome
    people = compare(old, new).difference.people  # type: ignore[union-attr]
    [number] = result.numbers
    assert people is not None
    if people.interval is not None:
        assert (number.estimate, number.interval) == (people.estimate, people.interval)


def test_a_baseline_without_labels_is_decided_by_the_card_alone(card: JudgeCard) -> None:
    old, new = two_runs(worse=0.4, labelled=0)
    unknown = gate(new, baseline=old, margin=0.02)
    assert unknown.outcome == "inconclusive"
    assert unknown.questions_needed is not None
    words = {"baseline": old, "margin": 0.02, "assume_same_errors": True, "today": DAY}
    result = gate(new, card=card, **words)
    assert (result.outcome, result.decided_by) == ("fail", "labels of the card")
    [number] = result.numbers
    rows = graded(600, rate=0.7, labelled=600, seed=9)
    agree = rows["judge"] == rows["human"]
    quality = sum(float(agree.filter(rows["human"] == label).mean()) for label in (0, 1))  # type: ignore[arg-type]
    assert number.naive is not None
    assert number.estimate == pytest.approx(number.naive / (quality - 1))
    chance = graded(600, labelled=600, seed=9)
    blind = make_card(chance.with_columns(judge=chance["judge"].shuffle(seed=1)), expires=None)
    assert "better than chance" in gate(new, card=blind, **words).reasons[0]


def test_slices_of_a_baseline_must_all_pass() -> None:
    old, new = two_runs(worse=0.0, labelled=600)
    topic = (pl.int_range(pl.len()) % 3).cast(pl.String).alias("topic")
    worse = pl.when(pl.int_range(pl.len()) % 3 == 1).then(0).otherwise("human").alias("human")
    result = gate(
        new.with_columns(topic, worse),
        baseline=old.with_columns(topic),
        margin=0.1,
        within="topic",
    )
    assert result.outcome == "fail"
    assert len(result.numbers) == 3


def test_scores_pass_by_their_mean(card: JudgeCard) -> None:
    rng = np.random.default_rng(1)
    score = rng.integers(1, 6, 200)
    people = np.clip(score + rng.integers(-1, 2, 200), 1, 5)
    rows = pl.DataFrame({"judge": score, "human": people}).with_columns(
        human=pl.when(pl.int_range(pl.len()) < 120).then("human")
    )
    result = gate(rows, card=make_card(rows), at_least=2)
    assert (result.outcome, result.decided_by) == ("pass", "labels of this run")
    bare = gate(rows.drop("human"), card=make_card(rows), at_least=2, assume_same_errors=True)
    assert bare.outcome == "inconclusive"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "card"),
        ({"card": 1}, "at_least"),
        ({"card": 1, "margin": 0.1}, "at_least"),
        ({"baseline": 1}, "margin"),
        ({"baseline": 1, "margin": 0.1, "at_least": 0.2}, "margin"),
        ({"baseline": 1, "margin": -0.1}, "margin"),
        ({"baseline": 1, "margin": 0.1, "assume_same_errors": True}, "assume_same_errors"),
        ({"baseline": 1, "margin": 0.1, "labels_by_verdict": True}, "labels_by_verdict"),
        ({"card": 1, "at_least": 0.1, "within": "topic"}, "within"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    card: JudgeCard, options: dict[str, object], named: str
) -> None:
    given = {"card": card, "baseline": graded(labelled=100)}
    words = {name: given.get(name, value) for name, value in options.items()}
    with pytest.raises(ArgumentError, match=named):
        gate(graded(labelled=100), **words)  # type: ignore[arg-type]


def test_classes_need_the_word_that_passes(card: JudgeCard) -> None:
    rows = {"judge": ["good", "fair", "bad"] * 40, "human": ["good", "bad", "fair"] * 40}
    with pytest.raises(DataError, match="--positive"):
        gate(rows, card=card, at_least=0.2)
    assert gate(rows, card=make_card(rows, positive="good"), positive="good", at_least=0.2)


def test_the_exit_code_is_the_outcome(
    card: JudgeCard,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_result(make_card(graded(600, rate=0.7, labelled=600, seed=9)), "card.json")
    graded(labelled=150).write_csv("run.csv")
    graded(name="old").write_csv("old.csv")
    base = ["gate", "run.csv", "--card", "card.json", "--at-least"]
    assert run([*base, "0.6", "-o", "gate.json"]) == 0
    assert run([*base, "0.95", "--plot", "gate.png"]) == 2
    assert run([*base, "0.74"]) == 3
    capsys.readouterr()
    assert run(["gate", "old.csv", "--card", "card.json", "--at-least", "0.7"]) == 3
    advised = capsys.readouterr().out.splitlines()[-1]
    assert advised.startswith("next: adjudge plan labels old.csv --n ")
    assert run(["gate", "old.csv", "--baseline", "run.csv", "--margin", "0.1"]) == 3
    assert json.loads(Path("gate.json").read_text())["outcome"] == "pass"
    assert Path("gate.png").exists()
    assert run(["report", "."]) == 0
    assert "Pass or fail" in Path("report.html").read_text()


def test_the_assertion_for_pytest_fails_unless_the_gate_passes(card: JudgeCard) -> None:
    rows = graded(labelled=150)
    assert assert_gate(rows, card=card, at_least=0.6, today=DAY).outcome == "pass"
    with pytest.raises(AssertionError, match="INCONCLUSIVE"):
        assert_gate(rows.drop("human"), card=card, at_least=0.7, today=DAY)
    with pytest.raises(AssertionError, match="FAIL"):
        assert_gate(rows, card=card, at_least=0.95, today=DAY)
