"""A labelling round keeps every click once and forgets nothing."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adjudge.errors import ArgumentError
from adjudge.records import Label, Pair
from adjudge.server.label_summary import labels_frame, records, summarise
from adjudge.server.labelling import LabellingRound
from adjudge.server.rounds import doubt_queue, planned_queue, random_queue
from adjudge.store import use_store
from adjudge.store.labels import LabelBook

PAIRS = [Pair(id=f"p{i}", prompt="?", response_a=f"a{i}", response_b=f"b{i}") for i in range(12)]
IDS = [pair.id for pair in PAIRS]


@pytest.fixture
def book(tmp_path: Path) -> Iterator[LabelBook]:
    with use_store(tmp_path / "adjudge.db") as store:
        yield LabelBook(store)


def click(
    round_: LabellingRound,
    rater: str,
    side: str,
    nonce: str | None = None,
    comment: str | None = None,
) -> str:
    shown = round_.next(rater)
    assert shown is not None
    round_.record(
        rater=rater,
        subject_id=shown.id,
        side=side,
        shown_order=shown.shown_order,
        nonce=nonce or f"{rater}-{shown.id}",
        comment=comment,
    )
    return shown.id


def labels_of(book: LabelBook) -> list[Label]:
    """Every label that counts, as it is exported."""
    return records(labels_frame(book))[0]


def test_a_wider_draw_that_meets_a_label_counts_it_as_its_own(book: LabelBook) -> None:
    click(LabellingRound(PAIRS, planned_queue([("p3", "doubt")], known=IDS), book), "ann", "left")
    for how in ("surest", "random"):
        round_ = LabellingRound(PAIRS, planned_queue([("p3", how), ("p5", how)], known=IDS), book)
        if round_.next("ann") is not None:
            click(round_, "ann", "left")
        round_.record(
            rater="ann", subject_id="p5", side="left",
            shown_order=round_.order_for("ann", "p5"), nonce=f"again-{how}",
        )  # fmt: skip
        assert {label.sampled_by for label in labels_of(book)} == {how}
    narrow = LabellingRound(PAIRS, planned_queue([("p5", "surest")], known=IDS), book)
    narrow._recount("ann")
    assert {label.sampled_by for label in labels_of(book)} == {"random"}


def test_a_label_is_about_a_and_b_whatever_the_sides(book: LabelBook) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    for _ in PAIRS:
        shown = round_.next("ann")
        assert shown is not None
        side = "left" if (shown.texts["left"] or "").startswith("a") else "right"
        round_.record(
            rater="ann", subject_id=shown.id, side=side, shown_order=shown.shown_order,
            nonce=f"nonce-{shown.id}",
        )  # fmt: skip
    assert round_.next("ann") is None
    labels = labels_of(book)
    assert {label.label for label in labels} == {"A"}
    assert {label.shown_order for label in labels} == {"ab", "ba"}
    assert {label.sampled_by for label in labels} == {"random"}


def test_a_click_that_arrives_twice_counts_once(book: LabelBook) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    shown = round_.next("ann")
    assert shown is not None
    for _ in range(3):
        round_.record(
            rater="ann", subject_id=shown.id, side="left", shown_order=shown.shown_order,
            nonce="the-same-click",
        )  # fmt: skip
    assert len(labels_of(book)) == 1


def test_undo_brings_the_pair_back_and_undo_repeated_is_one_undo(book: LabelBook) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    first, second = click(round_, "ann", "left"), click(round_, "ann", "right")
    assert round_.undo(rater="ann", nonce="undo-0001") == (second, "right")
    assert round_.undo(rater="ann", nonce="undo-0001") == (second, "right")
    assert [label.id for label in labels_of(book)] == [first]
    shown = round_.next("ann")
    assert shown is not None
    assert shown.id == second
    assert round_.undo(rater="ann", nonce="undo-0002") == (first, "left")
    assert round_.undo(rater="ann", nonce="undo-0003") is None


def test_a_changed_mind_counts_last(book: LabelBook) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    name = click(round_, "ann", "left")
    round_.undo(rater="ann", nonce="undo-0001")
    click(round_, "ann", "tie", nonce="second-thought")
    assert [(label.id, label.label) for label in labels_of(book)] == [(name, "tie")]


def test_a_skip_is_answered_and_no_label(book: LabelBook) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    click(round_, "ann", "skip")
    progress = round_.progress("ann")
    assert progress == {"answered": 1, "total": len(IDS), "labels": 0, "skipped": 1}
    assert labels_of(book) == []


def test_another_process_finds_everything(book: LabelBook, tmp_path: Path) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    done = [click(round_, "ann", "left") for _ in range(5)]
    with use_store(tmp_path / "adjudge.db") as same_file:
        again = LabellingRound(PAIRS, random_queue(IDS, seed=0), LabelBook(same_file))
        shown = again.next("ann")
        assert shown is not None
        assert shown.id not in done
        assert again.progress("ann")["labels"] == 5


def test_two_raters_see_the_same_pairs_or_share_them_out(book: LabelBook) -> None:
    together = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    assert click(together, "ann", "left") == click(together, "bob", "right")
    shared = LabellingRound(PAIRS, random_queue(IDS, seed=0), book, share_out=True)
    seen = [click(shared, rater, "left") for rater in ("ann", "bob") * 4]
    assert max(Counter(seen).values()) == 1


def test_sides_differ_between_pairs_and_hold_on_reload(book: LabelBook) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    orders = {name: round_.order_for("ann", name) for name in IDS}
    assert set(orders.values()) == {"ab", "ba"}
    assert orders == {name: round_.order_for("ann", name) for name in IDS}


def test_a_doubt_label_met_by_the_random_stream_becomes_random(book: LabelBook) -> None:
    queue = doubt_queue(IDS, IDS[:6], seed=0, random_share=0.4)
    round_ = LabellingRound(PAIRS, queue, book)
    while round_.next("ann") is not None:
        click(round_, "ann", "left")
    # The whole random stream has passed, so every pair was drawn at random too.
    assert {label.sampled_by for label in labels_of(book)} == {"random"}


def test_asking_for_the_next_pair_writes_nothing(book: LabelBook) -> None:
    click(LabellingRound(PAIRS, planned_queue([(IDS[0], "doubt")], known=IDS), book), "ann", "left")
    before = labels_of(book)
    assert before[0].sampled_by == "doubt"
    later = LabellingRound(PAIRS, random_queue(IDS[:1], seed=0), book)
    assert later.next("ann") is None
    assert labels_of(book) == before


def test_before_the_random_stream_meets_it_doubt_stays_doubt(book: LabelBook) -> None:
    queue = doubt_queue(IDS, IDS[:6], seed=0, random_share=0.4)
    round_ = LabellingRound(PAIRS, queue, book)
    for _ in range(3):
        click(round_, "ann", "left")
    shown = round_.next("ann")
    at = [draw.id for draw in queue].index(shown.id if shown else "")
    met = {draw.id for draw in queue[:at] if draw.sampled_by == "random"}
    for label in labels_of(book):
        assert label.sampled_by == ("random" if label.id in met else "doubt")


@pytest.mark.parametrize(
    ("change", "told"),
    [({"subject_id": "zz"}, "no such pair"), ({"shown_order": "xx"}, "reload the page")],
)
def test_clicks_that_do_not_fit_are_refused(
    book: LabelBook, change: dict[str, str], told: str
) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    good = {"rater": "ann", "subject_id": "p1", "side": "left", "nonce": "12345678",
            "shown_order": round_.order_for("ann", "p1")}  # fmt: skip
    with pytest.raises(ArgumentError, match=told):
        round_.record(**{**good, **change})  # type: ignore[arg-type]
    assert labels_of(book) == []


def test_import_is_idempotent_and_export_returns_what_came_in(book: LabelBook) -> None:
    labels = [
        Label(id="p1", label="A", rater="ann", sampled_by="random", shown_order="ba"),
        Label(id="p2", label="tie", rater="bob"),
    ]
    assert book.import_labels(labels) == (2, 0)
    assert book.import_labels(labels) == (0, 2)
    assert labels_of(book) == labels


def test_the_labels_file_says_when_each_label_was_made(book: LabelBook) -> None:
    before = datetime.now(UTC).replace(tzinfo=None)
    click(LabellingRound(PAIRS, random_queue(IDS, seed=0), book), "ann", "tie")
    frame = labels_frame(book)
    assert 0 <= (frame["labelled_at"][0] - before).total_seconds() + 0.001 < 60
    names = "id label rater sampled_by shown_order labelled_at shown_texts"
    assert frame.columns == names.split()


def test_a_comment_is_kept_with_its_label_and_comes_back_after_undo(book: LabelBook) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    click(round_, "ann", "tie", comment="  ")
    assert "comment" not in labels_frame(book).columns
    commented = click(round_, "ann", "left", comment=" =both, wrong\r\n<b>twice</b>\n")
    skipped = click(round_, "ann", "skip", comment="no question")
    said = "=both, wrong\n<b>twice</b>"
    assert labels_frame(book)["comment"].to_list() == [None, said]
    assert [(one.id, one.label, one.comment) for one in summarise(book, PAIRS).comments] == [
        (commented, "B" if round_.order_for("ann", commented) == "ba" else "A", said),
        (skipped, None, "no question"),
    ]
    assert round_.undo(rater="ann", nonce="undo-0001") == (skipped, "skip")
    round_.undo(rater="ann", nonce="undo-0002")
    again = round_.next("ann")
    assert again is not None
    assert (again.id, again.comment) == (commented, said)
    other = round_.next("bob")
    assert other is not None
    assert other.comment is None
    click(round_, "ann", "left", nonce="second-thought", comment=None)
    assert "comment" not in labels_frame(book).columns


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("x" * 2001, "'2,001 characters': shorten it to 2,000"),
        ("a\x00b", r"'\\x00': remove this control"),
        ("\x1b[31m", r"'\\x1b': remove this control"),
    ],
)
def test_a_comment_that_cannot_be_kept_keeps_nothing(
    book: LabelBook, comment: str, reason: str
) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    with pytest.raises(ArgumentError, match=reason):
        click(round_, "ann", "left", comment=comment)
    labels = [Label(id="p1", label="A"), Label(id="p2", label="B")]
    with pytest.raises(ArgumentError, match=reason):
        book.import_labels(labels, [None, comment])
    assert labels_of(book) == []


def test_comments_are_imported_once_and_stay_if_a_file_has_none(book: LabelBook) -> None:
    labels = [Label(id="p1", label="A", rater="ann"), Label(id="p2", label="tie", rater="bob")]
    assert book.import_labels(labels, ["why not", None]) == (2, 0)
    assert book.import_labels(labels, ["why not", None]) == (0, 2)
    assert book.import_labels(labels) == (0, 2)
    assert [one.comment for one in book.answers()] == ["why not", None]
    assert book.import_labels(labels, ["on second thought", None]) == (1, 1)
    assert records(labels_frame(book))[1] == [None, "on second thought"]


def test_history_is_kept(book: LabelBook, tmp_path: Path) -> None:
    round_ = LabellingRound(PAIRS, random_queue(IDS, seed=0), book)
    click(round_, "ann", "left")
    round_.undo(rater="ann", nonce="undo-0001")
    with closing(sqlite3.connect(tmp_path / "adjudge.db")) as db:
        actions = [row[0] for row in db.execute("SELECT action FROM label_events ORDER BY event")]
    assert actions == ["label", "undo"]
