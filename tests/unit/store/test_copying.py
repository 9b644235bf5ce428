"""`store copy`: everything of one store in another, both ways, once however often it is done."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from calls import latest_replies, make_call
from postgres import PostgresServer

from adjudge.cli import run
from adjudge.data.writing import read_result
from adjudge.errors import ArgumentError, StoreMissingError
from adjudge.records import Reply
from adjudge.store import Served, Store, copy_store, copying, open_store, use_store
from adjudge.store.copying import StoreCopy
from adjudge.store.labels import LabelBook
from adjudge.store.tables import KnownPrompt

FULL = Reply(
    status="censored",
    text="A \x00 naïve \x1b[31m \x1a0",
    logprobs={"A": -0.1, "B": -7.25},
    censored=frozenset({"B"}),
    counts={"A": 3},
    mean_logprob=-1.5,
    scored_tokens=7,
    prompt_tokens=190,
    completion_tokens=1,
    latency_s=0.1 + 0.2,
    error="half",
    answer_mass=0.9,
    exact_mass=True,
    cut_off=True,
    server="vllm 1",
    raw='{"choices": []}\0',
)


def fill(store: Store) -> None:
    """Something in every table: failures and retries, a label taken back, one counted anew."""
    store.remember_judge("f", judge="openai:m", protocol="preference", parts={"model": "é\0"})
    store.remember_prompt("s", KnownPrompt("mine", "{prompt}\0", {"letters": "A B"}))
    store.save(make_call(f"k{n}", "error", error="timed out") for n in range(100))
    store.save([replace(make_call("k7"), reply=FULL, order=None, repeat=3, slot="persona 2")])
    store.save([make_call("k7", text="again")])
    book = LabelBook(store)
    for n in range(4):
        book.add(nonce=f"n{n}", rater=f"r{n % 2}", subject_id=f"p{n}", label="A",
                 shown_order="ba", sampled_by="doubt",
                 comment="é <b>" if n else None)  # fmt: skip
    book.undo(nonce="undo", rater="r1")
    book.recount(click=book.answers()[0], sampled_by="random")
    store.add_served(
        Served(rules_id="r" if n % 3 else "q", subject_id=f"p{n}", accepted=n % 2 == 0,
               audited=n % 4 == 0, content={"verdict": "A\0", "n": n})
        for n in range(100)
    )  # fmt: skip
    store.keep_monitor("r", '{"kind": "monitor"}')


def content(place: str | Path) -> dict[str, Any]:
    """All that a store says, but for the numbers it gives to calls."""
    with use_store(place, readonly=True) as store:
        calls = list(store.calls())
        histories = store.histories([call.call_key for call in calls])
        return {
            "judges": store.judges(),
            "prompts": store.prompts(),
            "calls": [replace(call, call_id=None) for call in calls],
            "histories": {
                key: [replace(call, call_id=None) for call in rows]
                for key, rows in histories.items()
            },
            "answers": LabelBook(store).answers(),
            "events": store.label_events(),
            "served": list(store.served()),
            "rules": store.served_rules(),
            "monitors": store.monitors(),
        }


@pytest.fixture
def source(place: str) -> str:
    with use_store(place) as store:
        fill(store)
    return place


@pytest.fixture
def target(place: str, postgres_server: PostgresServer) -> str:
    """A store of the other kind than the source."""
    return "target.db" if place.startswith("postgresql") else postgres_server.url()


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_PAGE", 40)


def test_a_copy_says_what_the_source_says_and_is_made_once(source: str, target: str) -> None:
    first = copy_store(source, target)
    assert {table.table: table.added for table in first.tables} == {
        "judges": 1,
        "prompts": 1,
        "calls": 102,
        "label_events": 6,
        "served": 100,
        "monitors": 1,
    }
    assert content(target) == content(source)
    comments = [answer.comment for answer in content(target)["answers"]]
    assert comments == [None, "é <b>", "é <b>"]
    again = copy_store(source, target)
    assert (again.added, again.conflicts) == (0, 0)
    assert sum(table.same for table in again.tables) == first.added
    assert content(target) == content(source)


def test_there_and_back_is_the_same(source: str, target: str) -> None:
    copy_store(source, target)
    copy_store(target, "back.db")
    assert content("back.db") == content(source)
    assert copy_store("back.db", source).added == 0


def test_a_copy_goes_on_where_the_target_ends(source: str, target: str) -> None:
    """Labels that were taken back are found under the numbers of the target."""
    with use_store(target) as store:
        LabelBook(store).add(nonce="own", rater="zoe", subject_id="p0", label="B",
                             shown_order="ab", sampled_by="random")  # fmt: skip
        store.save([make_call("own")])
    copy_store(source, target)
    with use_store(source) as store:
        store.save([make_call("k3", text="late")])
        LabelBook(store).undo(nonce="undo 2", rater="r0")
    done = copy_store(source, target)
    assert (done.added, done.conflicts) == (2, 0)
    theirs = [(a.rater, a.subject_id, a.sampled_by) for a in content(target)["answers"]]
    ours = [(a.rater, a.subject_id, a.sampled_by) for a in content(source)["answers"]]
    assert theirs == [("zoe", "p0", "random"), *ours]


def test_a_conflict_keeps_the_targets_row_and_leaves_exit_code_2(
    source: str, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with use_store(target) as store:
        store.save([make_call("k1", text="theirs")])
        store.keep_monitor("r", "{}")
        store.add_served([Served(rules_id="q", subject_id="p0", accepted=True, audited=False,
                                 content={})])  # fmt: skip
        LabelBook(store).add(nonce="n0", rater="r0", subject_id="p0", label="B",
                             shown_order="ba", sampled_by="doubt")  # fmt: skip
    assert run(["store", "copy", source, target, "-o", "copy.json"]) == 2
    said = capsys.readouterr().out
    assert "4 conflicts" in said
    done = read_result("copy.json", StoreCopy)
    conflicts = {table.table: table.conflicts for table in done.tables if table.conflicts}
    assert conflicts == {"calls": 1, "label_events": 1, "served": 1, "monitors": 1}
    with use_store(target, readonly=True) as store:
        assert latest_replies(store, ["k1"])["k1"].text == "theirs"
        assert len(list(store.calls())) == 100
        assert store.monitors()["r"] == "{}"
    assert copy_store(source, target).conflicts == 4


def test_a_store_is_not_copied_onto_itself_nor_made_of_nothing(source: str, target: str) -> None:
    with pytest.raises(ArgumentError, match="this is the source"):
        copy_store(source, source)
    with pytest.raises(StoreMissingError):
        copy_store(target, source)


def test_memory_does_not_grow_with_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def peak(count: int) -> int:
        place = str(tmp_path / f"{count}.db")
        with use_store(place) as store:
            store.save(make_call(f"k{n}", raw="x" * 8000) for n in range(count))
        source, target = open_store(place), open_store(str(tmp_path / f"{count} copy.db"))
        tracemalloc.start()
        copy_store(source, target)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        source.close()
        target.close()
        return most

    monkeypatch.setattr("adjudge.store.tables.PAGE", 40)
    peak(100)
    assert peak(1000) < 1.5 * peak(200)
