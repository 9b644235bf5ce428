"""Replies out of the store: read as their run read them, filled in again with the texts."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from adjudge.errors import ArgumentError, StoreMissingError
from adjudge.hashing import call_key
from adjudge.judges.judging import judge_pairs, plan_judging
from adjudge.judges.transcript import NO_TEXTS, read_replies
from adjudge.records import Pair, Reply
from adjudge.store import Call, use_store
from adjudge.store.sqlite import take_step
from adjudge.store.tables import MIGRATIONS

OWN = """{prompt} {response_a} or {response_b}? See {{literal}}.
--- answer ---
format: last line: A
tie: C
"""


def pair(n: int) -> Pair:
    return Pair(id=f"p{n}", prompt=f"Q{n}", response_a="{response_b}", response_b="y", label="A")


def call_of(judge: str, key: str, subject: str, content: str, reply: Reply) -> Call:
    return Call(
        call_key=key,
        judge_fingerprint=judge,
        subject_id=subject,
        content_hash=content,
        order="ab",
        repeat=0,
        slot="",
        reply=reply,
    )


PAIRS = [pair(n) for n in range(4)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "own.txt").write_text(OWN)
    for options in ({}, {"protocol": "criterion"}, {"prompt": tmp_path / "own.txt"}):
        judge_pairs(PAIRS, judge="simulated:", store=tmp_path / "s.db", **options)
    return tmp_path / "s.db"


def test_every_call_is_listed_with_its_numbers(place: Path) -> None:
    found = read_replies(store=place, limit=None)
    assert found.matching == found.shown == 4 * 2 + 4 * 2 * 4 + 4 * 2
    assert found.statuses == {"ok": 48}
    assert found.notes == (NO_TEXTS,)
    first = found.replies[0]
    assert (first.id, first.order, first.protocol, first.prompt) == (
        *("p0", "ab", "preference", "preference.txt"),
    )
    assert sum(first.probabilities.values()) == pytest.approx(1)
    assert first.asked is None
    assert first.raw is None
    assert read_replies("p1", store=place, raw=True).matching == 12
    assert read_replies(store=place, protocol="criterion", limit=1).matching == 32
    assert read_replies(store=place, judge="nobody").matching == 0
    assert read_replies(["p0", "p3"], store=place).matching == 24
    assert read_replies([], store=place).matching == 0


def test_with_the_pairs_a_question_reads_as_it_was_sent(place: Path) -> None:
    found = read_replies("p2", store=place, pairs=PAIRS, limit=None)
    own = {r.order: r.asked[0].text for r in found.replies if r.prompt == "own.txt"}
    assert own == {
        "ab": "Q2 {response_b} or y? See {literal}.",
        "ba": "Q2 y or {response_b}? See {literal}.",
    }
    fluent = next(r for r in found.replies if r.slot == "fluency")
    assert "Criterion: fluency\nHow well each sentence is written" in fluent.asked[-1].text
    assert read_replies("p2", store=place, pairs=PAIRS[:1]).notes == (
        "12 of the replies are about rows that are not in --pairs",
    )


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply(status="ok", text="Well.\nB", logprobs={"A": -2, "B": -1, "C": -3}), "ok"),
        (Reply(status="ok", text="Well, B it is, I guess"), "unparsed"),
        (Reply(status="ok", text="x\nB", cut_off=True), "unparsed"),
        (Reply(status="ok", text="I'm sorry, but I can't help with that."), "refused"),
        (
            Reply(
                status="ok",
                text="Well.\nB",
                logprobs={"A": -5, "B": -4, "C": -6},
                answer_mass=0.03,
            ),
            "off_answer",
        ),
        (Reply(status="error", error="HTTP 500"), "error"),
    ],
)
def test_a_reply_is_worth_what_its_run_made_of_it(place: Path, reply: Reply, status: str) -> None:
    with use_store(place) as store:
        prints = [key for key, known in store.judges().items() if known.protocol == "preference"]
        own = next(key for key in prints if "protocol.answer_format" in store.judges()[key].parts)
        key = call_key(own, "c" * 64, "ab", 0, "")
        store.save([call_of(own, key, "late", "c" * 64, reply)])
    found = read_replies("late", store=place)
    assert found.statuses == {status: 1}
    assert read_replies("late", store=place, status=status).matching == 1
    assert read_replies("late", store=place, status="no_logprobs").matching == 0
    if status == "off_answer":
        assert read_replies("late", store=place, min_answer_mass=0.01).statuses == {"ok": 1}


def test_a_call_asked_again_shows_its_latest_reply(place: Path) -> None:
    with use_store(place) as store:
        call = next(store.calls(["p0"]))
        late = Reply(status="error", error="HTTP 500")
        judge, key = call.judge_fingerprint, call.call_key
        store.save([call_of(judge, key, "p0", call.content_hash, late)])
    assert read_replies("p0", store=place).statuses == {"ok": 11, "error": 1}


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreMissingError):
        read_replies(store=tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(ArgumentError, match="status"):
        read_replies(store=tmp_path / "none.db", status="fine")


def test_a_store_of_an_earlier_version_is_read_as_it_is(tmp_path: Path) -> None:
    """Before answer masses and prompts were kept; reading brings nothing up to date."""
    old = tmp_path / "old.db"
    db = sqlite3.connect(old, isolation_level=None)
    for position, step in enumerate(MIGRATIONS[:4], 1):
        take_step(db, step, position)
    parts = '{"protocol.prompt_sha256":"unknown"}'
    db.execute("INSERT INTO judges VALUES ('f', 'openai:m', 'preference', ?, 'then')", (parts,))
    db.execute(
        "INSERT INTO calls (call_key, judge_fingerprint, subject_id, content_hash, shown_order,"
        " repeat_index, slot, status, reply_text, created_at)"
        " VALUES ('k', 'f', 'p0', 'c', 'ab', 0, '', 'ok', 'A', 'then')"
    )
    db.close()
    before = old.read_bytes()
    found = read_replies(store=old, pairs=PAIRS)
    assert [(r.id, r.text, r.answer_mass, r.asked) for r in found.replies] == [
        ("p0", "A", None, None)
    ]
    assert plan_judging(PAIRS, judge="simulated:", store=old).to_ask == 8
    assert old.read_bytes() == before
