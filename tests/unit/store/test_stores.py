"""What every store does, SQLite and PostgreSQL alike: what is kept, what is claimed, by whom."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
from calls import latest_replies, make_call

from adjudge.errors import StoreError, StoreMissingError
from adjudge.records import STATUSES, Label, Reply, Status
from adjudge.store import (
    Call,
    LabelEvent,
    Served,
    Store,
    open_store,
    read_judge_parts,
    use_store,
)
from adjudge.store.labels import LabelBook
from adjudge.store.tables import REPLY_COLUMNS, KnownPrompt

RETRY = frozenset({"error"})


def test_a_call_comes_back_as_it_was_kept(store: Store) -> None:
    reply = Reply(
        status="censored",
        text="A \x00 naïve \x1b[31m",
        logprobs={"A": -0.1, "B": -7.25},
        censored=frozenset({"B"}),
        counts={"A": 3, "B": 2},
        mean_logprob=-1.5,
        scored_tokens=7,
        prompt_tokens=190,
        completion_tokens=1,
        latency_s=0.25,
        error="half",
        raw='{"choices": []}',
    )
    kept = replace(make_call("k"), order="ba", repeat=3, slot="persona 2", reply=reply)
    store.save([kept])
    (back,) = store.histories(["k"])["k"]
    assert back.created_at is not None
    assert back == replace(kept, call_id=1, created_at=back.created_at)
    assert latest_replies(store, ["k", "other"])["k"] == replace(reply, raw=None)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 129, 700])
def test_batches_of_any_size(store: Store, count: int) -> None:
    keys = [f"k{n}" for n in range(count)]
    claimed = store.claim(keys, retry=RETRY, since=0)
    assert claimed.ours == set(keys)
    store.save(make_call(key) for key in keys)
    assert set(store.lookup_rows(keys)) == set(keys)
    assert set(store.claim(keys, retry=RETRY, since=0).done) == set(keys)


def test_the_latest_row_speaks_and_history_stays(store: Store) -> None:
    store.save([make_call("k", "error", error="timed out")])
    store.save([make_call("k", "ok", text="A")])
    assert latest_replies(store, ["k"])["k"].status == "ok"
    row = dict(zip(REPLY_COLUMNS, store.lookup_rows(["k", "other"])["k"], strict=True))
    assert (row["call_key"], row["status"], row["reply_text"]) == ("k", "ok", "A")
    assert [one.reply.status for one in store.histories(["k"])["k"]] == ["error", "ok"]


def test_rows_that_a_judge_answers_for_the_first_time_after_a_moment_are_counted(
    store: Store,
) -> None:
    def asked(row: str, second: int, status: Status = "ok", judge: str = "f") -> Call:
        call = make_call(f"{row} at {second}", status, subject_id=row)
        moment = f"2026-11-01T00:00:{second:02}.000+00:00"
        return replace(call, judge_fingerprint=judge, created_at=moment)

    before = [asked("old", 1), asked("failed", 1, "error"), asked("other", 1, judge="g")]
    later = [asked("old", 3), asked("failed", 3), asked("new", 3), asked("new", 4)]
    still = [asked("fails", 3, "error"), asked("foreign", 3, judge="g"), asked("odd", 5, "refused")]
    store.save([*before, *later, *still])
    edited = replace(asked("old", 4), call_key="k", content_hash="another text")
    store.save([edited])
    counts = [
        store.count_judged(judge, f"2026-11-01T00:00:{second:02}.000+00:00")
        for judge, second in (("f", 2), ("f", 3), ("f", 0), ("g", 2), ("unknown", 0))
    ]
    assert counts == [4, 2, 5, 1, 0]  # failed, new, odd, the edited one; then the last two


@pytest.mark.parametrize("status", STATUSES)
def test_only_errors_are_asked_again(store: Store, status: str) -> None:
    store.save([make_call("k", status)])
    began = store.latest_call_id()
    claimed = store.claim(["k", "other"], retry=RETRY, since=began)
    assert claimed.done == ({} if status == "error" else {"k": status})
    assert claimed.ours == ({"k", "other"} if status == "error" else {"other"})
    store.release(claimed.ours)
    assert store.claim(["k"], retry=RETRY, since=began, again={"k"}).ours == {"k"}


def test_other_statuses_are_asked_again_on_demand_but_once_a_run(store: Store) -> None:
    store.save([make_call("k", "unparsed")])
    began = store.latest_call_id()
    retry = {"error", "unparsed"}
    assert store.claim(["k"], retry=retry, since=began).ours == {"k"}
    store.save([make_call("k", "unparsed")])
    assert store.claim(["k"], retry=retry, since=began).done["k"] == "unparsed"


def test_a_claim_keeps_others_out_until_it_is_answered_or_given_back(
    store: Store, place: str
) -> None:
    other = open_store(place)
    assert store.claim(["a", "b"], retry=RETRY, since=0).ours == {"a", "b"}
    assert other.claim(["a", "b", "c"], retry=RETRY, since=0).busy == {"a", "b"}
    store.save([make_call("a")])
    store.release(["b"])
    again = other.claim(["a", "b", "c"], retry=RETRY, since=0)
    assert (set(again.done), again.ours, again.busy) == ({"a"}, {"b"}, {"c"})
    other.close()
    assert store.claim(["b", "c"], retry=RETRY, since=0).ours == {"b", "c"}


def test_a_key_named_twice_is_claimed_once(store: Store) -> None:
    assert store.claim(["a", "a"], retry=RETRY, since=0).ours == {"a"}
    assert store.claim(["a"], retry=RETRY, since=0).busy == {"a"}


HOLD = """
import sys, time
from adjudge.store import open_store
store = open_store(sys.argv[1])
store.claim(["a"], retry=(), since=0)
print("claimed", flush=True)
time.sleep(60)
"""


def test_the_claims_of_a_killed_process_are_free_at_once(place: str) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, place], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    store = open_store(place)
    assert store.claim(["a"], retry=RETRY, since=0).busy == {"a"}
    holder.send_signal(signal.SIGKILL)
    # Not waited for yet: a zombie still has a process number, and is dead all the same.
    deadline = time.monotonic() + 5
    while not (claimed := store.claim(["a"], retry=RETRY, since=0)).ours:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert claimed.ours == {"a"}
    holder.wait()
    holder.stdout.close()
    store.close()


def test_parts_of_a_judge_are_kept(store: Store) -> None:
    parts = {"model": "m", "nested": {"temperature": 0.0}}
    store.remember_judge("f", judge="openai:m", protocol="preference", parts=parts)
    store.remember_judge("f", judge="openai:m", protocol="preference", parts=parts)
    assert store.judge_parts("f") == parts
    assert store.judge_parts("g") is None


def test_text_that_is_not_utf8_is_kept_without_harm(store: Store) -> None:
    store.save([make_call("k", text="half a pair: \ud83d", subject_id="\udc00")])
    assert latest_replies(store, ["k"])["k"].text == "half a pair: ?"


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.transaction():
            store.save([make_call("k")])
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert store.lookup_rows(["k"]) == {}


OPEN_AND_CLAIM = """
import sys
from adjudge.records import Reply
from adjudge.store import Call, open_store
store = open_store(sys.argv[1])
mine = []
for start in range(0, 1000, 50):
    keys = [f"k{n}" for n in range(start, start + 50)]
    ours = store.claim(keys, retry=(), since=0).ours
    store.save(Call(call_key=key, judge_fingerprint="f", subject_id="s", content_hash="c",
                    order=None, repeat=0, slot=sys.argv[2], reply=Reply(status="ok"))
               for key in ours)
store.close()
"""


def test_processes_opening_one_new_file_at_once_share_it(place: str) -> None:
    racers = [
        subprocess.Popen([sys.executable, "-c", OPEN_AND_CLAIM, place, str(n)]) for n in range(2)
    ]
    assert [racer.wait(60) for racer in racers] == [0] * 2
    with use_store(place) as store:
        keys = [call.call_key for call in store.calls()]
        assert store.latest_call_id() == len(keys) == len({*keys}) == 1000
        for _ in range(2):  # what an owner claimed is free once it has closed
            with use_store(place) as other:
                claim = other.claim([f"new-{key}" for key in keys], retry=(), since=0)
                assert len(claim.ours) == 1000


def test_texts_of_all_kinds_come_back_as_they_went_in(store: Store) -> None:
    texts = [
        "",
        "\0",
        "\x1a",
        "\x1a0",
        "\0\x1a\0",
        "\\N",
        "\t\n\r\\",
        "é\U0001f600",
        "{'a'}",
        "NULL",
    ]
    store.save(
        make_call(f"k{n}", text=t, error=t, raw=t, subject_id=t) for n, t in enumerate(texts)
    )
    kept = [call.reply for call in store.calls()]
    assert [(reply.text, reply.error, reply.raw) for reply in kept] == [(t, t, t) for t in texts]
    assert [call.call_key for call in store.calls(["\0"])] == ["k1"]
    for n, text in enumerate(texts):
        store.add_label_event(
            LabelEvent(nonce=f"{n}{text}", rater=text, subject_id=text, action="skip", comment=text)
        )
    assert [(e.rater, e.subject_id, e.comment) for e in store.label_events()] == [
        (t, t, t) for t in texts
    ]
    assert len(store.label_events("\0")) == 1
    store.remember_prompt("s", KnownPrompt("\0", "a\0b", {"c": "\0"}))
    assert store.prompts()["s"] == KnownPrompt("\0", "a\0b", {"c": "\0"})
    store.keep_monitor("\0", "\0")
    assert store.monitors() == {"\0": "\0"}


def test_numbers_at_their_ends_come_back(store: Store) -> None:
    numbers = {"prompt_tokens": 2**63 - 1, "completion_tokens": 0, "latency_s": 5e-324}
    store.save([make_call("k", mean_logprob=-1.7976931348623157e308, **numbers)])
    reply = latest_replies(store, ["k"])["k"]
    assert {name: getattr(reply, name) for name in numbers} == numbers
    assert reply.mean_logprob == -1.7976931348623157e308


def test_what_no_column_holds_is_refused_and_the_store_goes_on(store: Store) -> None:
    with pytest.raises((OverflowError, StoreError)):
        store.save([make_call("k", prompt_tokens=2**63)])
    assert store.lookup_rows(["k"]) == {}
    store.save([make_call("k")])
    assert set(store.lookup_rows(["k"])) == {"k"}


def test_what_came_after_the_beginning_of_a_run_is_of_this_run(store: Store, place: str) -> None:
    """Another process answered meanwhile, with an error: this run takes that for its answer."""
    store.save([make_call("before", "error")])
    began = store.latest_call_id()
    with use_store(place) as other:
        other.save([make_call("after", "error")])
    claim = store.claim(["before", "after"], retry=RETRY, since=began)
    assert (claim.ours, set(claim.done)) == ({"before"}, {"after"})
    assert store.claim(["after"], retry=(), since=began + 1, again=["after"]).ours == {"after"}


def test_the_latest_row_of_every_call_in_its_order(store: Store) -> None:
    store.save(make_call(f"k{n}", "error", subject_id=f"s{n % 3}") for n in range(1200))
    store.save([make_call("k7", text="again", subject_id="s1", raw="{}")])
    keys = [call.call_key for call in store.calls()]
    assert keys == [f"k{n}" for n in range(1200) if n != 7] + ["k7"]
    assert [call.call_key for call in store.calls(["s1"])][-1] == "k7"
    assert len(list(store.calls(["s0", "s2", "none"]))) == 800
    assert list(store.calls([])) == []
    assert [call.reply.text for call in store.histories(["k7", "none"])["k7"]] == [None, "again"]


def served(name: str, *, rules: str = "r", audited: bool = True, **content: object) -> Served:
    return Served(rules_id=rules, subject_id=name, accepted=True, audited=audited, content=content)


def test_an_id_is_served_once_under_its_rules_and_audits_keep_their_order(store: Store) -> None:
    names = ["z", "a", "m"]
    assert store.add_served([served(n, verdict="A", odd="\ud800\0") for n in names]) == set(names)
    assert store.add_served([served("a", verdict="B"), served("q", audited=False)]) == {"q"}
    assert store.add_served([served("a", rules="other")]) == {"a"}
    assert store.add_served([]) == frozenset()
    audits = store.audits("r")
    assert [audit.subject_id for audit in audits] == names
    assert [audit.content["verdict"] for audit in audits] == ["A"] * 3
    assert audits[0].content["odd"] == "\ud800\0"
    assert audits[0].served_at <= audits[-1].served_at
    assert store.count_served("r") == (4, 4)
    assert store.count_served("none") == (0, 0)
    assert store.served_rules() == ["r", "other"]
    assert [row.subject_id for row in store.served()] == [*names, "q", "a"]


def test_a_state_takes_the_place_of_the_one_before(store: Store) -> None:
    store.keep_monitor("one", "1")
    store.keep_monitor("two", "2")
    store.keep_monitor("one", "3")
    assert store.monitors() == {"one": "3", "two": "2"}


def test_a_click_counts_once_and_can_be_taken_back(store: Store) -> None:
    book = LabelBook(store)
    for nonce in ("1", "1", "2"):
        book.add(nonce=nonce, rater="ann", subject_id=f"p{nonce}", label="A", shown_order="ab",
                 sampled_by="random")  # fmt: skip
    assert [answer.subject_id for answer in book.answers()] == ["p1", "p2"]
    undone = book.undo(nonce="3", rater="ann")
    assert undone is not None
    assert undone.subject_id == "p2"
    assert book.undo(nonce="3", rater="ann") == undone
    assert [answer.subject_id for answer in book.answers("ann")] == ["p1"]
    assert book.import_labels([Label(id="p9", label="B", rater="bob")] * 2) == (1, 1)
    assert book.answers()[-1].created_at == pytest.approx(time.time(), abs=60)


def test_readers_make_nothing_and_write_nothing(place: str) -> None:
    with pytest.raises(StoreMissingError):
        open_store(place, readonly=True)
    assert read_judge_parts(["f"], place) == {}
    with use_store(place) as writer:
        writer.remember_judge("f", judge="m", protocol="preference", parts={"model": "m"})
        with use_store(place, readonly=True) as reader:
            assert reader.store_id == writer.store_id
            assert reader.judges()["f"].parts == {"model": "m"}
            writer.save([make_call("k")])
            assert set(reader.lookup_rows(["k", "other"])) == {"k"}
            assert reader.latest_call_id() == 1
            with pytest.raises(StoreError, match="opened with readonly"):
                reader.save([make_call("k")])
            with pytest.raises(StoreError, match="opened with readonly"):
                reader.keep_monitor("m", "1")


def test_threads_share_one_store(store: Store) -> None:
    def work(name: str) -> None:
        for n in range(20):
            with store.transaction():
                store.save([make_call(f"{name}-{n}")])
                assert len(store.lookup_rows([f"{name}-{n}"])) == 1
            store.add_label_event(
                LabelEvent(nonce=f"{name}-{n}", rater=name, subject_id="p", action="skip")
            )

    threads = [threading.Thread(target=work, args=(str(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.latest_call_id() == len(store.label_events()) == 80
    assert len(store.label_events("3")) == 20


def test_a_store_knows_itself(store: Store, place: str) -> None:
    assert len(store.store_id or "") == 32
    with use_store(place) as again:
        assert again.store_id == store.store_id
