"""A label is about the texts that a person was shown, on both stores and in every join by id."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge import calibrate
from adjudge.cli import run
from adjudge.data.labels import join_labels
from adjudge.errors import DataError
from adjudge.estimation import abtest
from adjudge.judges import judge_pairs
from adjudge.monitoring.drawing import read_audit_labels
from adjudge.server.rounds import open_round
from adjudge.store import Served, copy_store, open_store, use_store
from adjudge.store.labels import LabelBook
from adjudge.store.sqlite import take_step
from adjudge.store.tables import MIGRATIONS

Rows = list[dict[str, Any]]


def pairs(*, of: str = "", n: int = 4) -> Rows:
    """Pairs numbered as in every other file; the texts of another file differ."""
    texts = ("prompt", "response_a", "response_b")
    return [{"id": f"q{i}", **{name: f"{of}{name} {i}" for name in texts}} for i in range(n)]


def exchanged(rows: Rows) -> Rows:
    return [{**r, "response_a": r["response_b"], "response_b": r["response_a"]} for r in rows]


def label_all(place: str | Path, rows: Rows, side: str = "response_a") -> None:
    """Ann says on the page that this response is better."""
    with open_round(rows, store=place) as round_:
        while (task := round_.next("ann")) is not None:
            left = "response_a" if task.shown_order == "ab" else "response_b"
            round_.record(
                rater="ann", subject_id=task.id, side="left" if left == side else "right",
                shown_order=task.shown_order, nonce=f"{task.id}-{task.texts['prompt']}",
            )  # fmt: skip


def labels_of(place: str | Path, rows: Rows, said: Sequence[str] | None = None) -> dict[str, Any]:
    with open_round(rows, store=place, announce=getattr(said, "append", None)) as round_:
        return {answer.subject_id: answer.label for answer in round_.book.answers()}


def test_another_text_with_the_same_id_is_asked_anew_and_counted(place: str) -> None:
    label_all(place, pairs())
    said: list[str] = []
    assert labels_of(place, pairs(of="other "), said) == {}
    assert said == [
        f"{open_name(place)}: 4 labels of other texts with these ids: not counted, asked again"
    ]
    label_all(place, pairs(of="other "), "response_b")
    # The labels of both files stay, each with its texts.
    assert set(labels_of(place, pairs(of="other ")).values()) == {"B"}
    assert set(labels_of(place, pairs()).values()) == {"A"}


def test_the_label_of_an_exchanged_pair_is_turned(place: str) -> None:
    label_all(place, pairs())
    said: list[str] = []
    assert set(labels_of(place, exchanged(pairs()), said).values()) == {"B"}
    assert said == [f"{open_name(place)}: 4 labels turned: the sides of their pairs are exchanged"]
    with open_round(exchanged(pairs()), store=place) as round_:
        turned = {answer.subject_id: answer.shown_order for answer in round_.book.answers()}
    with open_round(pairs(), store=place) as round_:
        first = {answer.subject_id: answer.shown_order for answer in round_.book.answers()}
    assert {turned[name] != first[name] for name in first} == {True}


def test_blanks_and_line_ends_do_not_make_another_text(place: str) -> None:
    label_all(place, pairs())
    spaced = [{**row, "prompt": f" {row['prompt']}\r\n"} for row in pairs()]
    assert len(labels_of(place, spaced)) == 4


def test_an_undo_and_a_comment_are_of_these_texts(place: str) -> None:
    label_all(place, pairs())
    with open_round(pairs(of="other "), store=place) as round_:
        assert round_.undo(rater="ann", nonce="undo-of-nothing") is None
        assert round_.book.last_comment("ann", "q0") is None
    assert len(labels_of(place, pairs())) == 4


def test_a_copy_of_a_store_keeps_what_was_shown(place: str, tmp_path: Path) -> None:
    label_all(place, pairs())
    copy_store(place, tmp_path / "copy.db")
    assert labels_of(tmp_path / "copy.db", pairs(of="other ")) == {}
    assert len(labels_of(tmp_path / "copy.db", pairs())) == 4


def test_an_import_is_of_its_texts_and_a_second_one_changes_nothing(place: str) -> None:
    rows = [{**row, "label": "A", "rater": "bob"} for row in pairs()]
    other = [{**row, "label": "B", "rater": "bob"} for row in pairs(of="other ")]
    said: list[str] = []
    for labels, added in ((rows, 4), (other, 4), (rows, 0), (other, 0)):
        with open_round(pairs(), store=place, import_labels=labels, announce=said.append) as round_:
            assert {a.subject_id: a.label for a in round_.book.answers()} == {
                f"q{i}": "A" for i in range(4)
            }
        assert f"{added} labels added, {4 - added} were already in the store" in " ".join(said)
        said.clear()


def test_an_import_without_texts_is_joined_by_id_and_says_so(place: str) -> None:
    labels = {"id": ["q0", "q1"], "label": ["A", "B"]}
    said: list[str] = []
    with open_round(pairs(), store=place, import_labels=labels, announce=said.append) as round_:
        assert len(round_.book.answers()) == 2
    assert said[-1].endswith("2 labels without the texts that were shown: joined by id alone")


def test_an_older_store_gains_the_column_and_keeps_its_labels(tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(old, isolation_level=None)) as db:
        take_step(db, MIGRATIONS[0], 1)
        db.execute(
            "INSERT INTO label_events (nonce, rater, subject_id, action, label, created_at)"
            " VALUES ('n', 'ann', 'q0', 'label', 'A', 1.0)"
        )
    assert labels_of(old, pairs()) == {"q0": "A"}


# --- files ---


@pytest.fixture
def _labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("one", pairs()), ("two", pairs(of="other ")), ("x", exchanged(pairs()))):
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    label_all("adjudge.db", pairs())


@pytest.mark.usefixtures("_labelled")
def test_an_export_of_another_file_has_no_label(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["label", "two.jsonl", "--export-only", "-o", "two.csv"]) == 0
    printed = capsys.readouterr()
    assert "0 labels on 0 of 4 pairs" in printed.out
    assert "4 labels of other texts with these ids: not counted, asked again" in printed.err
    assert pl.read_csv("two.csv").height == 0


@pytest.mark.usefixtures("_labelled")
def test_the_labels_file_joins_its_own_texts_alone(caplog: pytest.LogCaptureFixture) -> None:
    run(["label", "one.jsonl", "--export-only", "-o", "labels.csv"])
    judged = [{**row, "p_a": 0.9 - i / 10} for i, row in enumerate(pairs())]
    assert join_labels(pl.DataFrame(judged), "labels.csv").frame["label"].to_list() == ["A"] * 4
    turned = join_labels(pl.DataFrame(exchanged(judged)), "labels.csv")
    assert turned.frame["label"].to_list() == ["B"] * 4
    assert "labels.csv: 4 labels turned: the sides of their pairs are exchanged" in caplog.text
    mixed = pl.DataFrame([*pairs()[:2], *pairs(of="other ")[2:]])
    joined = join_labels(mixed, "labels.csv")
    assert joined.frame["label"].to_list() == ["A", "A", None, None]
    assert joined.dropped == {"label of another text with the id of a row": 2}
    with pytest.raises(DataError, match="no label is of the texts of the rows: 'q\\d' has other"):
        join_labels(pl.DataFrame(pairs(of="other ")), "labels.csv")
    # The remedy works.
    by_id = pl.read_csv("labels.csv").drop("shown_texts")
    assert join_labels(pl.DataFrame(pairs(of="other ")), by_id).frame["label"].len() == 4


@pytest.mark.usefixtures("_labelled")
def test_verbs_count_labels_of_other_texts(caplog: pytest.LogCaptureFixture) -> None:
    run(["label", "one.jsonl", "--export-only", "-o", "labels.csv"])
    judged = [{**row, "p_a": 0.9} for row in [*pairs()[:3], *pairs(of="other ")[3:]]]
    policy = calibrate(judged, alpha=0.5, labels="labels.csv")
    assert policy.dropped["label of another text with the id of a row"] == 1
    assert policy.n_calibration == 3


@pytest.mark.usefixtures("_labelled")
def test_rows_of_a_judge_carry_what_it_was_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Judged rows have no texts: labels of another file would be joined by id alone."""
    run(["label", "one.jsonl", "--export-only", "-o", "labels.csv"])
    for name in ("one", "two", "x"):
        judge = ["--judge", "simulated:accuracy=0.9", "--store", "judge.db"]
        assert run(["judge", f"{name}.jsonl", *judge, "-o", f"{name}.csv"]) == 0
    one, two, turned = (pl.read_csv(f"{name}.csv") for name in ("one", "two", "x"))
    assert join_labels(one, "labels.csv").frame["label"].to_list() == ["A"] * 4
    assert join_labels(turned, "labels.csv").frame["label"].to_list() == ["B"] * 4
    with pytest.raises(DataError, match="no label is of the texts of the rows"):
        join_labels(two, "labels.csv")
    capsys.readouterr()
    assert run(["evaluate", "two.csv", "--labels", "labels.csv"]) == 1
    assert "no label is of the texts of two.csv" in capsys.readouterr().err


def test_rows_of_grades_carry_what_was_shown() -> None:
    items = [{"id": f"q{i}", "prompt": f"p {i}", "response": f"r {i}"} for i in range(3)]
    labels = [{**items[0], "label": "pass"}, {**items[1], "response": "other", "label": "pass"}]
    judged = judge_pairs(items, judge="simulated:accuracy=0.9", protocol="grade", store=None)
    joined = join_labels(judged.judgments, labels, about="grades", column="human")
    assert joined.frame["human"].to_list() == ["pass", None, None]
    assert joined.dropped == {"label of another text with the id of a row": 1}


def test_answers_of_two_systems_with_one_id_are_both_compared() -> None:
    """The first row of an id decided: labels of the second system's answer were left out."""
    rows = [{"id": "1", "response": words, "judge": 1} for words in ("old", "new")]
    labels = [{"id": "1", "response": words, "label": "A"} for words in ("new", "another")]
    joined = join_labels(pl.DataFrame(rows), labels)
    assert joined.dropped == {"label of another text with the id of a row": 1}
    twice = [{**labels[0], "rater": "ann"}, {"id": "1", "response": "old", "label": "B"}]
    with pytest.raises(DataError, match="in two ways"):
        join_labels(pl.DataFrame(rows), [{**label, "rater": "ann"} for label in twice])


def test_a_run_that_was_cut_for_the_judge_keeps_its_label() -> None:
    run_of_agent = "".join(f"\n\n[assistant]\n{'step ' * 900}" for _ in range(9))
    items = [{"id": "x", "prompt": "Do it.", "response": run_of_agent.strip(), "label": "pass"}]
    judged = judge_pairs(
        [{**items[0], "label": None}], judge="simulated:accuracy=0.9", protocol="grade",
        unit="run", step_limit=500, store=None,
    )  # fmt: skip
    assert judged.judgments["cut_characters"][0] > 0
    joined = join_labels(judged.judgments, items, about="grades", column="human")
    assert joined.frame["human"].to_list() == ["pass"]


def test_words_of_another_kind_cannot_be_turned() -> None:
    rows = pl.DataFrame(exchanged(pairs(n=1)) + pairs(n=2)[1:])
    labels = [{**row, "label": "good"} for row in pairs(n=2)]
    joined = join_labels(rows, labels, about="values")
    assert joined.frame["label"].to_list() == [None, "good"]


# --- A/B tests and audits ---


def test_an_abtest_counts_labels_of_its_texts(place: str) -> None:
    def answers(of: str) -> Rows:
        return [
            {"id": f"{model}{i}", "question": f"{i}", "model": model + of, "judge": i % 2,
             "prompt": f"{i}", "response": f"{of}{model} {i}"}
            for model in ("old", "new")
            for i in range(12)
        ]  # fmt: skip

    items = [{k: row[k] for k in ("id", "prompt", "response")} for row in answers("")]
    with open_round(items, store=place) as round_:
        for draw in round_.queue:
            round_.record(rater="ann", subject_id=draw.id, side="pass", shown_order=None,
                          nonce=f"nonce {draw.id}")  # fmt: skip
    mine = abtest(answers(""), a="old", b="new", store=place)
    assert len(mine.counted) == 12
    other = abtest(answers("other"), a="oldother", b="newother", store=place)
    assert other.counted == ()
    assert other.dropped["label of another text with the id of a row"] == 24


def test_labels_of_audits_carry_their_texts(place: str) -> None:
    with use_store(place) as store:
        texts = {"prompt": "p", "response_a": "x", "response_b": "y", "audit_rate": 1.0}
        store.add_served(
            [Served(rules_id="r", subject_id="s", accepted=True, audited=True, content=texts)]
        )
        for shown in ({**texts, "id": "s"}, {**texts, "id": "s", "prompt": "another"}):
            label_all(place, [shown])
    labels = read_audit_labels(place, about="pairs")
    assert isinstance(labels, pl.DataFrame)
    joined = join_labels(pl.DataFrame([{"id": "s", **texts}]), labels)
    assert joined.frame["label"].to_list() == ["A"]
    assert joined.dropped == {"label of another text with the id of a row": 1}


def test_events_of_a_book_without_rows_are_all_answers(place: str) -> None:
    label_all(place, pairs())
    label_all(place, pairs(of="other "))
    with closing(open_store(place)) as store:
        answers = LabelBook(store).answers_by_text()
        assert len(answers) == 8
        assert {replace(a, shown_texts=None).subject_id for a in answers} == {
            f"q{i}" for i in range(4)
        }


def open_name(place: str) -> str:
    with closing(open_store(place)) as store:
        return store.name
