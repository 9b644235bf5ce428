"""Audits that a service drew, read from its store: which rules, rows and labels, and how many."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from adjudge.errors import ArgumentError, DataError
from adjudge.monitoring.drawing import (
    AuditCoin,
    draw_audits,
    read_audit_labels,
    read_served_audits,
)
from adjudge.store import open_store
from adjudge.store.labels import GRADE_LABELS, PAIR_LABELS, LabelBook
from adjudge.store.tables import Served


def serve(path: Path, rules: str, *, accepted: int, refused: int, audited: int) -> None:
    content = {"verdict": "A", "audit_rate": 0.25}
    rows = [
        Served(
            rules_id=rules,
            subject_id=f"{rules}-{n}",
            accepted=n < accepted,
            audited=n < audited,
            content=content,
            served_at=1_700_000_000.0,
        )
        for n in range(accepted + refused)
    ]
    with closing(open_store(path)) as store:
        store.add_served(rows)


def test_the_only_rules_are_found_and_what_was_served_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    serve(path, "first", accepted=5, refused=3, audited=2)
    run = read_served_audits(path)
    assert run.rows["id"].to_list() == ["first-0", "first-1"]
    assert run.rows["drawn"].to_list() == [1, 2]
    assert run.rows["audit_rate"].to_list() == [0.25, 0.25]
    assert run.rows["drawn_at"].to_list() == ["2023-11-14T22:13:20+00:00"] * 2
    assert (run.summary.n_served, run.summary.n_accepted, run.summary.n_drawn) == (8, 5, 2)
    assert run.summary.dropped == {"not accepted": 3}


def test_of_several_rules_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    serve(path, "first", accepted=5, refused=3, audited=2)
    serve(path, "second", accepted=4, refused=0, audited=1)
    with pytest.raises(ArgumentError, match="several policies were served: name one"):
        read_served_audits(path)
    assert read_served_audits(path, rules_id="second").rows["id"].to_list() == ["second-0"]
    with pytest.raises(DataError, match=r"has no audits of this policy.*--audit-rate"):
        read_served_audits(path, rules_id="third")


def test_rules_without_an_audit_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    serve(path, "first", accepted=5, refused=3, audited=0)
    with pytest.raises(DataError, match="has no audits;"):
        read_served_audits(path)


def test_labels_are_those_of_the_rows_that_are_audited(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(open_store(path)) as store:
        for kind, name, label in (
            (PAIR_LABELS, "pair", "A"), (GRADE_LABELS, "grade", GRADE_LABELS[0]),
            (PAIR_LABELS, "skipped", None),
        ):  # fmt: skip
            LabelBook(store, kind).add(
                nonce=name, rater="ann", subject_id=name, label=label,
                shown_order=None, sampled_by="audit",
            )  # fmt: skip
    pairs, grades = (read_audit_labels(path, about=about) for about in ("pairs", "grades"))
    assert isinstance(pairs, pl.DataFrame)
    assert isinstance(grades, pl.DataFrame)
    assert pairs.to_dicts() == [{"id": "pair", "label": "A", "rater": "ann", "shown_texts": None}]
    assert grades["id"].to_list() == ["grade"]
    open_store(tmp_path / "empty.db").close()
    assert read_audit_labels(tmp_path / "empty.db", about="pairs") is None


def test_the_rows_of_one_judge_are_drawn() -> None:
    rows = pl.DataFrame(
        {"id": ["a", "b", "c"], "judge": ["x", "y", "x"], "verdict": "A", "accepted": True}
    )
    secret = "s" * 16  # the shortest
    run = draw_audits(rows, audit_rate=1, secret=secret, judge="x")
    assert run.rows["id"].to_list() == ["a", "c"]
    with pytest.raises(ArgumentError, match="15 characters.*at least 16"):
        AuditCoin(1, secret[1:])
