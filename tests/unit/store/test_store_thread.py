"""The store's thread: kept means committed, and trouble reaches the one who waits."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from calls import make_call

from adjudge.errors import StoreError
from adjudge.hashing import call_key, canonical_json, content_hash
from adjudge.store import SQLiteStore
from adjudge.store.interface import Store
from adjudge.store.thread import StoreThread


def test_a_reply_is_on_disk_when_its_future_is_done(tmp_path: Path) -> None:
    place = tmp_path / "s.db"

    async def scenario() -> int:
        thread = StoreThread(place)
        await thread.open()
        await asyncio.gather(*(thread.save(make_call(f"k{n}")) for n in range(3000)))
        reader = sqlite3.connect(place)
        (count,) = reader.execute("SELECT COUNT(*) FROM calls").fetchone()
        reader.close()
        await thread.close()
        return int(count)

    assert asyncio.run(scenario()) == 3000


def test_what_waits_at_close_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "s.db"

    async def scenario() -> None:
        thread = StoreThread(place)
        await thread.open()
        for n in range(100):
            thread.save(make_call(f"k{n}"))
        await thread.close()

    asyncio.run(scenario())
    store = SQLiteStore(place)
    assert store.latest_call_id() == 100
    store.close()


def test_a_store_that_cannot_open_says_so(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_text("not a database at all, only words" * 40)

    async def scenario() -> None:
        await StoreThread(tmp_path / "s.db").open()

    with pytest.raises(StoreError, match=r"s\.db"):
        asyncio.run(scenario())


def test_a_failing_write_is_told_and_nothing_of_its_group_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "s.db"

    def fail(store: Store) -> None:
        raise StoreError("disk full")

    async def scenario() -> list[object]:
        thread = StoreThread(place)
        await thread.open()
        told = await asyncio.gather(
            thread.save(make_call("a")), thread.do(fail), return_exceptions=True
        )
        await thread.close()
        return list(told)

    told = asyncio.run(scenario())
    assert str(told[1]) == "disk full"
    store = SQLiteStore(place)
    kept = "a" in store.lookup_rows(["a"])
    store.close()
    # Either the save was committed before the failing job came round, or it was told of the
    # failure; never "kept" without being there.
    assert kept == (told[0] is None)


def test_keys_change_with_every_part() -> None:
    base = ("f", "c", "ab", 0, "")
    variants = [
        base,
        ("g", "c", "ab", 0, ""),
        ("f", "d", "ab", 0, ""),
        ("f", "c", "ba", 0, ""),
        ("f", "c", None, 0, ""),
        ("f", "c", "ab", 1, ""),
        ("f", "c", "ab", 0, "x"),
    ]
    assert len({call_key(*variant) for variant in variants}) == len(variants)
    assert call_key(*base) == call_key(*base)


def test_content_hash_takes_any_text() -> None:
    assert content_hash(["\ud800"]) != content_hash(["?"])
    assert content_hash([]) != content_hash([""])


def test_canonical_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json(float("nan"))
