"""A/B tests: labels count in the order of drawing, once, whatever is killed in between."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge import abtest
from adjudge.cli import run
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import ABTest, Experiment
from adjudge.estimation.bets import decide, log_capital
from adjudge.policy.audits import read_monitor
from adjudge.store import use_store
from adjudge.store.labels import GRADE_LABELS, PAIR_LABELS, LabelBook, score_labels


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    return str(request.getfixturevalue("postgres_server").url())


def rows(n: int = 120, *, gap: float = 0.4, seed: int = 0) -> tuple[pl.DataFrame, dict[str, int]]:
    """Grades of two systems without labels, and what people would say of each answer."""
    rng = np.random.default_rng(seed)
    frames, people = [], dict[str, int]()
    for model, rate in (("old", 0.3), ("new", 0.3 + gap)):
        truth = (rng.random(n) < rate).astype(int)
        judge = np.where(rng.random(n) < 0.85, truth, 1 - truth)
        ids = [f"{model}-{q}" for q in range(n)]
        people.update(zip(ids, truth.tolist(), strict=True))
        questions = [f"q{q}" for q in range(n)]
        columns = {"id": ids, "prompt_id": questions, "model": [model] * n, "judge": judge}
        frames.append(pl.DataFrame(columns))
    return pl.concat(frames), people


def look(frame: pl.DataFrame, place: str, labels: dict[str, int] | None = None, **options):
    given = None
    if labels:
        given = {"id": list(labels), "label": list(labels.values())}
    return abtest(frame, a="old", b="new", store=place, labels=given, **options)


def answer(result: ABTest, people: dict[str, int], most: int = 10) -> dict[str, int]:
    return {name: people[name] for item in result.next[:most] for name in item.ids}


def test_labels_decide_and_the_evidence_is_that_of_the_bets(place: str) -> None:
    frame, people = rows()
    result, labels = look(frame, place), dict[str, int]()
    assert (result.decision, len(result.counted), len(result.next)) == (None, 0, 10)
    assert result.needs[0] < result.needs[1]  # the judge favours the new one
    while not result.finished:
        labels |= answer(result, people, most=3)
        result = look(frame, place, labels)
    assert result.decision == "better"
    h = np.array([people[f"new-{q[1:]}"] - people[f"old-{q[1:]}"] for q in result.counted])
    assert result.people == tuple(h.tolist())
    grades = dict(frame.select("id", "judge").iter_rows())
    order = [*result.counted]
    order += [f"q{q}" for q in range(120) if f"q{q}" not in set(order)]
    j = np.array([grades[f"new-{q[1:]}"] - grades[f"old-{q[1:]}"] for q in order], dtype=float)
    for evidence, turn in zip(result.evidence, (1.0, -1.0), strict=True):
        assert evidence == pytest.approx(log_capital(turn * h[None], turn * j[None])[0, -1])
    decided = decide(h[None].astype(float), j[None])
    assert (result.decided_at, 1) == (decided.label[0], decided.sign[0])
    again = look(frame, place, labels)
    assert again == result  # a repeated look changes nothing


def test_a_pending_label_blocks_and_a_counted_one_stays(place: str) -> None:
    frame, people = rows(gap=0.0)
    first = look(frame, place)
    labels = answer(first, people)
    hole = first.next[2].ids[0]
    missing = {name: value for name, value in labels.items() if name != hole}
    held = look(frame, place, missing)
    assert len(held.counted) == 2
    assert held.n_waiting == 7
    assert held.next[0] == first.next[2]
    # A label that waits is not asked for again.
    assert not {name for item in held.next[1:] for name in item.ids} & {*missing}
    changed = {name: 1 - value for name, value in labels.items()}
    after = look(frame, place, changed)
    assert after.people[:2] == held.people  # what was counted is not counted anew
    assert len(after.counted) == 10


def test_two_looks_at_once_count_each_label_once(place: str) -> None:
    frame, people = rows(gap=0.1)
    labels = answer(look(frame, place), people)
    results = [look(frame, place, labels) for _ in range(3)]
    assert results[0] == results[1] == results[2]
    with use_store(place) as store:
        states = [json.loads(state) for state in store.monitors().values()]
    assert len(states) == 1
    assert len(states[0]["counted"]) == len(set(states[0]["counted"])) == 10
    assert read_monitor(place) is None  # it is not a monitor's state


def test_labels_of_the_page_are_read_from_the_store(place: str) -> None:
    frame, people = rows()
    first = look(frame, place)
    with use_store(place) as store:
        book = LabelBook(store, GRADE_LABELS)
        for name, value in answer(first, people).items():
            label = "pass" if value else "fail"
            book.add(nonce=name, rater="ann", subject_id=name, label=label, shown_order=None,
                     sampled_by="random")  # fmt: skip
    assert len(look(frame, place).counted) == 10
    words = frame.with_columns(judge=pl.col("judge").replace_strict({0: "bad", 1: "good"}))
    assert look(words, place, positive="good").people == look(frame, place).people


def test_rules_cannot_change_between_looks(tmp_path: Path) -> None:
    frame, _ = rows()
    place = str(tmp_path / "s.db")
    look(frame, place)
    with pytest.raises(ArgumentError, match="cannot change"):
        look(frame, place, confidence_level=0.9)
    with pytest.raises(ArgumentError, match="cannot change"):
        look(frame, place, rounds=True)
    other = frame.with_columns(judge=1 - pl.col("judge"))
    with pytest.raises(DataError, match="differ from those of the first look"):
        look(other, place)
    written = frame.with_columns(prompt=pl.lit("p"), response=pl.format("answer {}", "id"))
    texts = str(tmp_path / "texts.db")
    look(written, texts)
    look(written.sample(fraction=1, shuffle=True, seed=1), texts)
    with pytest.raises(DataError, match="differ from those of the first look"):
        look(written.with_columns(response=pl.format("another {}", "id")), texts)
    scores = frame.with_columns(judge=pl.col("judge") * 4 + 1)
    with pytest.raises(ArgumentError, match="bets need the ends of the scale"):
        look(scores, str(tmp_path / "t.db"))
    with pytest.raises(ArgumentError, match="lies outside of it"):
        look(scores, str(tmp_path / "t.db"), scale=(1, 4))
    with pytest.raises(ArgumentError, match="is for scores alone"):
        look(frame, str(tmp_path / "t.db"), scale=(1, 5))
    with pytest.raises(ArgumentError, match="is not for rounds"):
        look(frame, str(tmp_path / "t.db"), rounds=True, equal_within=0.1)


def test_equal_within_and_certainty(tmp_path: Path) -> None:
    frame, people = rows(400, gap=0.0)
    result = look(frame, str(tmp_path / "e.db"), people, equal_within=0.3)
    assert result.decision == "equal"
    assert "are equal within 30.0 points by people" in str(result)
    everything = look(frame, str(tmp_path / "f.db"), people)
    assert everything.finished
    truth = sum(people[f"new-{q}"] - people[f"old-{q}"] for q in range(400))
    assert everything.decision == ("better" if truth > 0 else "worse" if truth < 0 else None)


def test_labels_drawn_at_random_before_come_first(tmp_path: Path) -> None:
    frame, people = rows()
    known = {f"q{q}" for q in range(0, 120, 4)}
    marked = frame.with_columns(
        human=pl.when(pl.col("prompt_id").is_in(list(known))).then(
            pl.col("id").replace_strict(people)
        ),
    ).with_columns(sampled_by=pl.when(pl.col("human").is_not_null()).then(pl.lit("random")))
    result = look(marked, str(tmp_path / "r.db"), labels_are_random=True)
    assert set(result.counted) == known
    unknown = look(marked, str(tmp_path / "u.db"))
    assert len(unknown.counted) < 30  # they count only when they are drawn


def test_added_questions_are_refused_and_labels_of_the_old_ones_are_not_random(
    tmp_path: Path,
) -> None:
    """On the old questions the new system is better, on all of them it is worse."""
    old, people = rows(60, gap=0.6)
    place = str(tmp_path / "s.db")
    first = look(old, place)
    labels = answer(first, people)
    assert len(look(old, place, labels).counted) == 10
    added = old.with_columns(
        id=pl.col("id") + "+", prompt_id=pl.col("prompt_id") + "+", judge=1 - pl.col("judge")
    )
    more = pl.concat([old, added, added.with_columns(pl.col("id", "prompt_id") + "+")])
    problem = "are of 180 questions, not 60 as at the first look, and 10 were counted"
    with pytest.raises(DataError, match=problem) as refused:
        look(more, place, labels)
    assert "give the rows of the first look, or start again with another --store" in str(
        refused.value
    )
    # Each remedy works; the labels of the old questions wait until they are drawn.
    assert len(look(old, place, labels).counted) == 10
    marked = {"id": [*people], "label": [*people.values()], "sampled_by": ["random"] * len(people)}
    again = abtest(more, a="old", b="new", store=str(tmp_path / "t.db"), labels=marked)
    assert len(again.counted) < 10
    assert again.decision is None


def test_rounds_look_after_fifty_labels(tmp_path: Path) -> None:
    frame, people = rows(400, gap=0.3)
    place = str(tmp_path / "r.db")
    result, labels = look(frame, place, rounds=True), dict[str, int]()
    while not result.finished:
        labels |= answer(result, people)
        result = look(frame, place, labels, rounds=True)
    assert result.decision == "better"
    assert result.decided_at % 50 == 0


def test_the_command_writes_what_to_label_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame, _ = rows()
    frame.write_csv("rows.csv")
    sure = ["abtest", "rows.csv", "--a", "old", "--b", "new", "--store", "s.db"]
    assert run(sure) == 3
    assert f"next: adjudge {' '.join(sure)} --write-ids to_label.csv" in capsys.readouterr().out
    assert run([*sure, "--write-ids", "next.csv"]) == 3
    shown = capsys.readouterr().out
    assert "out of reach" in shown
    # Grades alone cannot be labelled: ROWS stands for the file with the answers.
    assert "next: adjudge label ROWS --plan next.csv --store s.db" in shown
    following = pl.read_csv("next.csv")
    assert following.height == 20
    assert set(following["sampled_by"]) == {"random"}
    assert run([*sure, "--fail-unless-better"]) == 3
    assert run(["store", "check", "s.db"]) == 0
    assert run(["store", "copy", "s.db", "t.db"]) == 0


def test_the_command_that_comes_next_opens_the_page_on_these_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame, people = rows()
    frame.with_columns(prompt=pl.lit("why?"), response=pl.col("id")).write_csv("rows.csv")
    sure = ["abtest", "rows.csv", "--a", "old", "--b", "new", "--store", "s.db"]
    assert run([*sure, "--write-ids", "next.csv"]) == 3
    [step] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("next: ")]
    label = shlex.split(step)[2:]
    assert label == ["label", "next.csv", "--plan", "next.csv", "--store", "s.db"]
    following = pl.read_csv("next.csv")
    words = {
        # The test's people know an answer by its text, which is its id here.
        name: "pass" if people[text] else "fail"
        for name, text in following.select("id", "response").iter_rows()
    }
    ids = [*words]
    pl.DataFrame({"id": ids, "label": list(words.values())}).write_csv("labels.csv")
    assert run([*label, "--export-only", "--import", "labels.csv", "-o", "kept.csv"]) == 0
    capsys.readouterr()
    assert run([*sure, "--json"]) == 3
    assert len(json.loads(capsys.readouterr().out)["counted"]) == 10


def _pairs(n: int = 40) -> pl.DataFrame:
    """Judgments of pairs, of which the new system is the first in every other one."""
    sides = [("new", "old") if q % 2 else ("old", "new") for q in range(n)]
    columns = {
        "id": [f"p{q}" for q in range(n)],
        "p_a": [0.3 + 0.4 * (q % 3 > 0) for q in range(n)],
    }
    return pl.DataFrame(columns).with_columns(
        model_a=pl.Series([first for first, _ in sides]),
        model_b=pl.Series([second for _, second in sides]),
    )


def _scored(n: int = 40) -> pl.DataFrame:
    frame, _ = rows(n)
    return frame.with_columns(judge=1 + pl.int_range(pl.len()) % 5)


@pytest.mark.parametrize(
    ("frame", "words", "options"),
    [
        (_pairs(), PAIR_LABELS, {}),
        (rows(40)[0], GRADE_LABELS, {}),
        (rows(40)[0].with_columns(judge=0.25 + 0.5 * pl.col("judge")), GRADE_LABELS, {}),
        (_scored(), score_labels(1, 5), {"scale": (1, 5)}),
    ],
)
def test_labels_of_the_page_count_as_those_of_a_file(
    tmp_path: Path, frame: pl.DataFrame, words: Sequence[str], options: dict[str, Any]
) -> None:
    """Three raters each; an answer on which two and two disagree counts as not labelled."""
    rng = np.random.default_rng(3)
    given = [
        {"id": name, "rater": f"rater {rater}", "label": str(rng.choice(words))}
        for name in frame["id"]
        for rater in range(4)
    ]
    place = str(tmp_path / "page.db")
    with use_store(place) as store:
        book = LabelBook(store, words)
        for at, label in enumerate(given):
            book.add(
                nonce=f"nonce-{at}", rater=label["rater"], subject_id=label["id"],
                label=label["label"], shown_order=None, sampled_by="random",
            )  # fmt: skip
    by_page = abtest(frame, a="old", b="new", store=place, **options)
    by_file = abtest(
        frame, a="old", b="new", store=str(tmp_path / "file.db"), labels=given, **options
    )
    assert len(by_page.counted) > 0
    assert by_page.people == by_file.people
    assert (by_page.counted, by_page.n_waiting) == (by_file.counted, by_file.n_waiting)


def test_rows_left_out_and_labels_that_change_later_are_counted(place: str) -> None:
    frame, people = rows()
    failed = frame.with_columns(status=pl.when(pl.col("id") == "new-7").then(pl.lit("error")))
    first = look(failed.with_columns(pl.col("status").fill_null("ok")), place)
    assert first.dropped == {"status error": 1, "question that one system alone answered": 1}
    assert first.questions == 119
    assert "left out 1 row: status error" in str(first)
    labels = answer(first, people)
    again = failed.with_columns(pl.col("status").fill_null("ok"))
    assert look(again, place, labels).dropped == first.dropped
    turned = {name: 1 - value for name, value in labels.items() if name.startswith("new")}
    changed = look(again, place, labels | turned)
    lost = "question whose labels changed after they were counted: the first ones count"
    assert changed.dropped == {**first.dropped, lost: 10}
    assert f"left out 10 rows: {lost}" in str(changed)


def test_a_test_that_compare_began_continues(tmp_path: Path) -> None:
    """Its state was of another kind, and without what is counted now."""
    frame, people = rows()
    place = str(tmp_path / "s.db")
    before = look(frame, place, answer(look(frame, place), people))
    with use_store(place) as store:
        [(name, state)] = store.monitors().items()
        former = json.loads(state)
        assert former.pop("kind") == "abtest"
        del former["dropped"]
        former = {"kind": "comparison_until_sure", **former}
        assert store.replace_monitor(name, state, json.dumps(former))
    after = look(frame, place)
    assert after.counted == before.counted
    assert after.next == before.next


def test_people_are_asked_until_it_is_known(tmp_path: Path) -> None:
    frame, people = rows()
    place = str(tmp_path / "s.db")
    asked = list[Experiment]()

    def ask(experiment: Experiment) -> None:
        asked.append(experiment)
        with use_store(place) as store:
            book = LabelBook(store, GRADE_LABELS)
            while not (result := experiment.look()).finished:
                for name in result.next[0].ids:
                    label = "pass" if people[name] else "fail"
                    book.add(nonce=f"of {name}", rater="ann", subject_id=name, label=label,
                             shown_order=None, sampled_by="random")  # fmt: skip

    decided = abtest(frame, a="old", b="new", store=place, ask=ask)
    assert (decided.decision, decided.decided_at) == ("better", len(decided.counted))
    assert abtest(frame, a="old", b="new", store=place, ask=ask) == decided
    assert len(asked) == 1  # nobody is asked what is known


def test_what_is_known_writes_no_rows_to_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame, people = rows()
    frame.write_csv("rows.csv")
    pl.DataFrame({"id": list(people), "label": list(people.values())}).write_csv("labels.csv")
    known = ["abtest", "rows.csv", "--a", "old", "--b", "new", "--labels", "labels.csv"]
    assert run([*known, "--write-ids", "next.csv"]) == 0
    shown = capsys.readouterr()
    assert "no more labels are needed: next.csv not written" in shown.err
    assert "next: adjudge abtest rows.csv" in shown.out
    assert shown.out.rstrip().endswith("-o abtest.json")
    assert not Path("next.csv").exists()
