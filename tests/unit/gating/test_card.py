"""A card binds a judge to its labels: what is on it, what an edit does, what changed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge import calibrate
from adjudge.cli import run
from adjudge.data import write_result
from adjudge.errors import ArgumentError, DataError, PolicyMismatchError
from adjudge.gating import JudgeCard, diff_cards, gate, make_card, read_card, verify_card
from adjudge.present.result import digest_of
from adjudge.store import open_store

DAY = date(2026, 11, 20)


def graded(n: int = 300, *, seed: int = 0, judge: str = "gpt") -> pl.DataFrame:
    """Grades of one judge, labelled but for the last third."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.7
    wrong = rng.random(n) < np.where(truth, 0.1, 0.2)
    verdict = np.where(wrong, ~truth, truth)
    labelled = np.arange(n) < 2 * n // 3
    return pl.DataFrame(
        {
            "id": [f"q{at}" for at in range(n)],
            "judge_name": judge,
            "protocol": "grade",
            "judge_fingerprint": "f1",
            "served_model": "gpt-2026-01",
            "p_pass": np.where(verdict, 0.9, 0.2),
            "human": [int(t) if here else None for t, here in zip(truth, labelled, strict=True)],
            "sampled_by": "random",
            "labelled_by": "person",
            "rater": ["anna", "ben"] * (n // 2),
            "labelled_at": ["2026-10-01T09:00", "2026-10-09T09:00"] * (n // 2),
        }
    )


@pytest.fixture
def card(tmp_path: Path) -> Path:
    graded().write_csv(tmp_path / "rows.csv")
    made = make_card(tmp_path / "rows.csv", expires="2026-12-31", expires_after=5000)
    return write_result(made, tmp_path / "card.json")


def test_a_card_has_the_judge_the_labels_and_what_was_measured(card: Path) -> None:
    read = read_card(card)
    assert (read.judge, read.protocol, read.judge_fingerprint) == ("gpt", "grade", "f1")
    assert read.calibrated_on == {"served_model": ("gpt-2026-01",)}
    labels = read.labels
    assert (labels.n, labels.labelled_by, labels.raters) == (200, {"person": 200}, 2)
    assert (labels.first, labels.last) == ("2026-10-01", "2026-10-09")
    [judge] = read.evaluation.judges
    rows = graded().head(200)
    agree = ((rows["p_pass"] > 0.5).cast(int) == rows["human"]).mean()
    assert judge.agreement == pytest.approx(agree)
    assert read.evaluation.drawn == "random"
    shown = str(read)
    for text in ("gpt-2026-01", "200, drawn: at random", "on 2026-12-31 or after 5,000 rows"):
        assert text in shown
    assert "adjudge card verify CARD ROWS" in shown


def test_a_policy_of_the_judge_puts_its_promise_on_the_card() -> None:
    policy = calibrate(graded(), alpha=0.3)
    made = make_card(graded(), policy=policy)
    assert made.policy is not None
    assert (made.policy.digest, made.policy.promise) == (policy.digest, policy.promise)
    assert made.lines()["promise"] == policy.promise
    other = graded().with_columns(judge_fingerprint=pl.lit("f2"))
    with pytest.raises(PolicyMismatchError, match="give the policy of this judge"):
        make_card(other, policy=policy)


def edit(path: Path, field: str, value: Any, *, with_digest: bool = False) -> None:
    loaded = json.loads(path.read_text())
    *outer, last = field.split(".")
    part = loaded
    for name in outer:
        part = part[int(name)] if name.isdigit() else part[name]
    assert part[last] != value
    part[last] = value
    if with_digest:
        loaded["digest"] = digest_of(loaded)
    path.write_text(json.dumps(loaded))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("evaluation.judges.0.agreement", 0.99),
        ("labels.digest", "sha256:0"),
        ("labels.n", 201),
        ("labels.last", "2026-11-01"),
        ("expires_on", "2027-12-31"),
        ("made_on", "2026-01-01"),
        ("judge_fingerprint", "f2"),
        ("evaluation.judges.0.agreement", float("nan")),
    ],
)
def test_an_edit_fails_the_check(
    card: Path, field: str, value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify_card(card, today=DAY).intact
    edit(card, field, value)
    assert verify_card(card, today=DAY).digest == "differs"
    assert run(["card", "verify", str(card)]) == 2
    assert "was changed" in capsys.readouterr().out
    with pytest.raises(DataError):
        read_card(card)


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("label_codes", [0] * 200, "do not give the matrix"),
        ("labels.n", 150, "the agreement is of 200 labels"),
        ("expires_on", "soon", "not a date"),
    ],
)
def test_an_edit_with_a_new_digest_contradicts_the_rest(
    card: Path, field: str, value: Any, found: str
) -> None:
    edit(card, field, value, with_digest=True)
    check = verify_card(card, today=DAY)
    assert check.digest == "matches"
    assert not check.intact
    assert found in str(check.unreadable)


def test_a_card_of_two_judges_is_refused(card: Path) -> None:
    """A copied judge is a damage that the report of a folder met."""
    judges = json.loads(card.read_text())["evaluation"]["judges"]
    edit(card, "evaluation.judges", judges * 2, with_digest=True)
    assert "a card is of one" in str(verify_card(card, today=DAY).unreadable)


def test_the_rows_must_give_the_numbers_and_the_labels_of_the_card(card: Path) -> None:
    assert verify_card(card, graded(), today=DAY).intact
    edit(card, "evaluation.judges.0.agreement", 0.99, with_digest=True)
    assert verify_card(card, today=DAY).intact  # only the rows tell
    changed = verify_card(card, graded(), today=DAY).changes
    assert [change.line for change in changed] == ["agreement"]
    relabelled = graded().with_columns(
        human=pl.when(pl.col("id") == "q5").then(1 - pl.col("human")).otherwise("human")
    )
    lines = [change.line for change in verify_card(card, relabelled, today=DAY).changes]
    assert "labels digest" in lines


def test_rows_in_another_order_are_the_same_labels(card: Path) -> None:
    again = make_card(graded().sample(fraction=1, shuffle=True, seed=1))
    assert again.labels.digest == read_card(card).labels.digest


def test_an_expired_card_does_not_hold(card: Path) -> None:
    check = verify_card(card, today=date(2027, 1, 1))
    assert check.expired == "the card expired on 2026-12-31"
    assert not check.intact
    assert "does not hold" in str(check)
    read = read_card(card)
    assert read.expired(date(2026, 12, 31), 5000) is None
    assert read.expired(DAY, 5001) == "the card holds for 5,000 rows, and 5,001 were judged"


def test_what_changed_between_two_cards() -> None:
    old = make_card(graded())
    newer = graded(seed=3).with_columns(
        judge_fingerprint=pl.lit("f2"), served_model=pl.lit("gpt-2026-06")
    )
    new = make_card(newer, expires="2026-12-31")
    changes = {change.line: (change.old, change.new) for change in diff_cards(old, new).changes}
    assert changes["fingerprint"] == ("f1", "f2")
    assert changes["served_model"] == ("gpt-2026-01", "gpt-2026-06")
    assert changes["expires"] == ("never", "on 2026-12-31")
    assert {"agreement", "labels digest"} <= changes.keys()
    assert "judge" not in changes
    assert not diff_cards(old, old).changes


def test_what_cannot_be_a_card_is_refused() -> None:
    with pytest.raises(DataError, match="has no label"):
        make_card(graded().with_columns(human=None))
    with pytest.raises(ArgumentError, match="2026-12-31"):
        make_card(graded(), expires="next year")
    with pytest.raises(ArgumentError, match="choose one of"):
        make_card(pl.concat([graded(), graded(judge="sonnet")]))
    assert make_card(pl.concat([graded(), graded(judge="x")]), judge="x").judge == "x"
    mixed = graded().with_columns(
        judge_fingerprint=pl.when(pl.col("id") < "q2").then(pl.lit("f1")).otherwise(pl.lit("f2"))
    )
    with pytest.raises(DataError, match="2 judge"):
        make_card(mixed)


def test_pairs_and_scores_have_cards_too() -> None:
    pairs = {"id": range(80), "p_a": [0.9, 0.2] * 40, "label": ["A", "B", "A", "A"] * 20}
    made = make_card(pairs)
    assert made.evaluation.unit == "pair"
    assert "no judge_fingerprint" in made.warnings[0]
    scores = {"doc_id": range(60), "judge_score": [1, 2, 3] * 20, "human_score": [1, 3, 3] * 20}
    assert "minus people's mean" in make_card(scores).lines()


def test_the_labels_file_says_who_made_the_labels_and_when(tmp_path: Path) -> None:
    rows = graded()
    people = ["id", "human", "sampled_by", "labelled_by", "rater", "labelled_at"]
    rows.head(200).select(people).rename({"rater": "who"}).write_csv(tmp_path / "labels.csv")
    made = make_card(
        rows.drop(people[1:]), labels=tmp_path / "labels.csv", labels_columns={"rater": "who"}
    )
    whole = make_card(rows)
    assert made.labels == whole.labels
    assert (made.label_codes, made.verdict_codes) == (whole.label_codes, whole.verdict_codes)


def test_the_commands_write_a_card_to_read_and_one_to_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    graded().write_csv("rows.csv")
    for name in ("card.json", "card.md", "card.html"):
        assert run(["card", "make", "rows.csv", "-o", name]) == 0
    assert "next: adjudge gate NEW_ROWS --card card.json" in capsys.readouterr().out
    assert Path("card.md").read_text().startswith("**gpt agrees with people on")
    assert "<html" in Path("card.html").read_text()
    assert run(["card", "verify", "card.json", "rows.csv"]) == 0
    assert run(["card", "diff", "card.json", "card.json"]) == 0
    assert run(["report", "."]) == 0
    assert "agrees with people on" in Path("report.html").read_text()
    assert run(["card", "verify", "rows.csv"]) == 1
    assert isinstance(read_card("card.json"), JudgeCard)


def judge_items(first: int, last: int, *more: str) -> None:
    """Grade items with a simulated judge whose replies are in ci.db; every row has a label."""
    ids = [f"q{at}" for at in range(first, last)]
    items = {"id": ids, "prompt": ids, "response": ids, "sampled_by": ["random"] * len(ids)}
    human = [int(at % 3 > 0) for at in range(first, last)]
    pl.DataFrame({**items, "human": human}).write_csv("items.csv")
    words = ["--judge", "simulated:accuracy=0.9,noise=0.3", "--store", "ci.db"]
    line = ["judge", "items.csv", "--protocol", "grade", *words, "-o", f"{first}.jsonl", *more]
    assert run(line) == 0


def test_rows_judged_since_the_card_are_counted_from_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    judge_items(0, 100)
    make = ["card", "make", "0.jsonl", "--expires-after", "50", "-o", "card.json"]
    assert run([*make, "--store", "ci.db"]) == 0
    card = read_card("card.json")
    verify = ["card", "verify", "card.json", "--store", "ci.db"]
    pass_or_fail = ["gate", "0.jsonl", "--card", "card.json", "--at-least", "0.2"]
    assert card.count_judged("ci.db") == 0
    assert run([*pass_or_fail, "--store", "ci.db"]) == 0
    # Without a store there are only the rows of this run: the output says so.
    capsys.readouterr()
    assert run(pass_or_fail) == 3
    out = capsys.readouterr().out
    assert "the card holds for 50 rows, and 100 were judged" in out
    assert "only the 100 of this run are counted: give the --store of the judge, or --judged" in out

    judge_items(0, 100, "--repeats", "2")  # the same rows again are no new rows
    assert card.count_judged("ci.db") == 0
    judge_items(100, 150)
    assert card.count_judged("ci.db") == 50
    capsys.readouterr()
    assert run(verify) == 0
    assert "50 of 50 rows were judged since it was made" in capsys.readouterr().out
    judge_items(150, 151)
    assert run(verify) == 2
    said = "the card holds for 50 rows, and 51 were judged"
    assert said in capsys.readouterr().out
    result = gate("0.jsonl", card=card, at_least=0.2, store="ci.db")
    assert (result.outcome, result.reasons) == ("inconclusive", (said,))
    assert gate("0.jsonl", card=card, at_least=0.2, judged=0).outcome == "pass"


def test_rows_that_a_store_cannot_count_are_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judge_items(0, 60)
    card = make_card("0.jsonl", expires_after=50)
    missing = gate("0.jsonl", card=card, at_least=0.2, store="other.db")
    assert missing.reasons == ("the card holds for 50 rows, and 60 were judged",)
    assert "only the 60 of this run are counted" in missing.warnings[-1]
    path = write_result(card, tmp_path / "card.json")
    assert "not counted: other.db: no such store" in str(verify_card(path, store="other.db"))
    open_store("other.db").close()
    unknown = {
        "has no reply of the judge": (card, "other.db"),
        "has no judge_fingerprint": (replace(card, judge_fingerprint=None), "ci.db"),
        "make it again": (replace(card, made_at=None), "ci.db"),
    }
    for reason, (each, store) in unknown.items():
        result = gate("0.jsonl", card=each, at_least=0.2, store=store)
        assert result.outcome == "inconclusive"
        assert "whether the card still holds is not known" in result.reasons[0]
        assert reason in result.reasons[0]
        assert gate("0.jsonl", card=each, at_least=0.2, store=store, judged=9).outcome == "pass"
    assert "other.db has no reply" in str(verify_card(path, store="other.db"))
    check = verify_card(path)
    assert (check.judged, check.intact) == (None, True)
    assert "rows judged since it was made: give --store to count them" in str(check)
    never = make_card("0.jsonl")
    assert gate("0.jsonl", card=never, at_least=0.2, store="other.db").outcome == "pass"
