"""Claims under any sequence of events: no call belongs to two, no final answer is asked again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from calls import latest_replies, make_call
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from adjudge.judges import judge_pairs
from adjudge.records import STATUSES, Pair
from adjudge.store import SQLiteStore

KEYS = [f"k{n}" for n in range(6)]
some_keys = st.lists(st.sampled_from(KEYS), min_size=1, max_size=6)


class Owners(RuleBasedStateMachine):
    """Several owners of one file, each doing what a run does, in any order."""

    owners = Bundle("owners")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "s.db"
        self.held: dict[str, SQLiteStore] = {}
        self.latest: dict[str, str] = {}
        self.rows = 0
        self.open: list[SQLiteStore] = []
        self.closed: set[int] = set()

    @rule(target=owners)
    def arrive(self) -> Any:
        if len(self.open) > 3:
            return multiple()
        store = SQLiteStore(self.path)
        self.open.append(store)
        return store

    @rule(store=owners, keys=some_keys)
    def claim(self, store: SQLiteStore, keys: list[str]) -> None:
        if id(store) in self.closed:
            return
        claimed = store.claim(keys, retry={"error"}, since=self.rows)
        for key in set(keys):
            if self.latest.get(key, "error") != "error":
                assert key in claimed.done
            elif key in self.held:
                assert key in claimed.busy
            else:
                assert key in claimed.ours
                self.held[key] = store

    @rule(store=owners, keys=some_keys, status=st.sampled_from(STATUSES))
    def answer(self, store: SQLiteStore, keys: list[str], status: Any) -> None:
        mine = [key for key in set(keys) if self.held.get(key) is store]
        if id(store) in self.closed:
            return
        store.save(make_call(key, status) for key in mine)
        self.rows += len(mine)
        for key in mine:
            self.latest[key] = status
            del self.held[key]

    @rule(store=owners)
    def leave(self, store: SQLiteStore) -> None:
        if id(store) in self.closed:
            return
        store.close()
        self.closed.add(id(store))
        self.held = {key: owner for key, owner in self.held.items() if owner is not store}

    @invariant()
    def the_latest_answer_speaks(self) -> None:
        alive = [store for store in self.open if id(store) not in self.closed]
        if alive:
            replies = latest_replies(alive[0], KEYS)
            assert {key: reply.status for key, reply in replies.items()} == self.latest

    def teardown(self) -> None:
        for store in self.open:
            if id(store) not in self.closed:
                store.close()
        self.folder.cleanup()


TestOwners = Owners.TestCase
TestOwners.settings = settings(max_examples=40, stateful_step_count=25)

texts = st.text(max_size=40)


@settings(max_examples=60)
@given(
    st.lists(
        st.builds(
            Pair,
            id=texts,
            prompt=texts,
            response_a=texts,
            response_b=texts,
            label=st.sampled_from(["A", "B", "tie", None]),
            extra=st.dictionaries(
                st.text(min_size=1, max_size=8), st.none() | st.integers(0, 9) | texts, max_size=2
            ),
        ),
        min_size=1,
        max_size=8,
        unique_by=lambda pair: pair.id,
    ),
    st.sampled_from([".jsonl", ".csv", ".parquet"]),
)
def test_any_text_gives_one_row_per_pair(pairs: list[Pair], suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = judge_pairs(
            pairs,
            judge="simulated:accuracy=0.8,noise=1",
            store=Path(folder) / "s.db",
            output=Path(folder) / f"o{suffix}",
        )
        assert done.summary.statuses == {"ok": len(pairs)}
        assert (Path(folder) / f"o{suffix}").stat().st_size > 0
        if suffix == ".jsonl":
            import json

            lines = (Path(folder) / "o.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
            assert [json.loads(line)["id"] for line in lines] == [pair.id for pair in pairs]
