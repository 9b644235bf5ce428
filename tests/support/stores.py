"""Store files for tests: one filled with calls and labels, and ways to damage it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from adjudge.hashing import call_key
from adjudge.records import Reply
from adjudge.store import Call, use_store
from adjudge.store.labels import LabelBook

CALLS = 400
REPLY = Reply(status="ok", text="A", logprobs={"A": -0.1, "B": -2.4}, raw="{}" * 100)
PAGE = 4096


def keyed_call(n: int, reply: Reply = REPLY) -> Call:
    """A call under the key of its question, as a run keeps it."""
    content = f"{n:064x}"
    return Call(
        call_key=call_key("f", content, "ab", 0, ""),
        judge_fingerprint="f",
        subject_id=f"pair-{n}",
        content_hash=content,
        order="ab",
        repeat=0,
        slot="",
        reply=reply,
    )


def fill_store(place: Path) -> Path:
    """One judge, CALLS calls and a failed one, three labels of which one is taken back."""
    with use_store(place) as store:
        store.remember_judge("f", judge="openai:m", protocol="preference", parts={"model": "m"})
        store.save(keyed_call(n) for n in range(CALLS))
        store.save([keyed_call(CALLS, replace(REPLY, status="error", logprobs=None))])
        book = LabelBook(store)
        for n in range(3):
            book.add(nonce=f"nonce-{n}", rater=f"r{n % 2}", subject_id=f"pair-{n}", label="A",
                     shown_order="ab", sampled_by="random")  # fmt: skip
        book.undo(nonce="nonce-undo", rater="r1")
    return place


def rows_of(place: Path, table: str) -> list[tuple[Any, ...]]:
    db = sqlite3.connect(place)
    try:
        return db.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()  # noqa: S608  (a table of ours)
    finally:
        db.close()


def damage(whole: bytes, *, seed: int, each: int) -> Iterator[bytes]:
    """A file cut short, with flipped bits, or with a page of noise: `each` of every kind."""
    rng = random.Random(seed)
    for _ in range(each):
        yield whole[: rng.randrange(1, len(whole))]
        bad = bytearray(whole)
        for _ in range(rng.choice((1, 3, 10, 50))):
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        yield bytes(bad)
        page = rng.randrange(len(whole) // PAGE) * PAGE
        yield whole[:page] + rng.randbytes(PAGE) + whole[page + PAGE :]
