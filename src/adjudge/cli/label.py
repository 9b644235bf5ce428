"""`adjudge label`: a page in the browser where people label pairs."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge._text import count
from adjudge.cli._common import deliver, remark, require_extra
from adjudge.cli._options import (
    FormatOption,
    FormerFormatOption,
    JsonFlag,
    SeedOption,
    StoreOption,
    SummaryOption,
)
from adjudge.errors import ArgumentError

if TYPE_CHECKING:
    from adjudge.records import Pair
    from adjudge.server.queue import Queue
    from adjudge.store.labels import LabelBook


def label(
    pairs: Annotated[Path, typer.Argument(help="Pairs to label.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the labels here when the page is closed."),
    ] = None,
    summary: SummaryOption = None,
    store: StoreOption = "adjudge.db",
    plan: Annotated[
        Path | None, typer.Option(help="Label the rows of `adjudge plan --write-ids FILE`.")
    ] = None,
    abstentions: Annotated[
        Path | None,
        typer.Option(help="Label what the judge abstained from: the rows of `adjudge select -o`."),
    ] = None,
    random_share: Annotated[
        float, typer.Option(help="Share of random pairs among the abstentions.")
    ] = 0.3,
    share_out: Annotated[
        bool, typer.Option(help="Each pair to one rater only, instead of every pair to each.")
    ] = False,
    import_labels: Annotated[
        Path | None, typer.Option("--import", help="First add the labels of this file.")
    ] = None,
    export_only: Annotated[
        bool, typer.Option(help="Write the labels and the summary; open no page.")
    ] = False,
    format: FormatOption = None,
    from_: FormerFormatOption = None,
    host: Annotated[
        str, typer.Option(help="Another address than loopback needs ADJUDGE_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8477,
    browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """Label pairs in the browser: keys 1, 2 and 0; nothing is lost on reload or kill."""
    if not export_only:
        require_extra("server", "fastapi", "uvicorn")
    from adjudge.io import open_pairs, read_labels, write_rows
    from adjudge.server.label_summary import labels_frame, records, summarise
    from adjudge.server.labelling import LabellingRound
    from adjudge.store import check_not_store, store_name, use_store
    from adjudge.store.labels import LabelBook

    if plan is not None and abstentions is not None:
        raise ArgumentError("abstentions", str(abstentions), "give --plan or --abstentions")
    if output is not None:
        check_not_store(store, output)
    with use_store(store) as kept:
        book = LabelBook(kept)
        if import_labels is not None:
            added, same = book.import_labels(records(read_labels(import_labels)))
            remark(f"{import_labels}: {added:,} labels added, {same:,} were there already")
        subjects = list(open_pairs(pairs, format=format or from_))
        _strangers(book, subjects, pairs)
        queue = _queue(subjects, plan, abstentions, random_share, seed)
        if not export_only:
            from adjudge.server.label_app import label_app
            from adjudge.server.run import serve

            round_ = LabellingRound(subjects, queue, book, seed=seed, share_out=share_out)
            token = os.environ.get("ADJUDGE_TOKEN") or None

            def ready(address: str) -> None:
                place = store_name(store)
                remark(f"labelling page: {address}  (Ctrl-C when done; labels are in {place})")
                if token is not None:
                    remark("the page asks for the token in ADJUDGE_TOKEN")
                if browser:
                    webbrowser.open(address)

            serve(
                lambda taken: label_app(round_, host=host, port=taken, token=token),
                host=host,
                port=port,
                token=token,
                ready=ready,
            )
        if output is not None:
            write_rows(labels_frame(book, plan=plan), output)
            remark(f"wrote {output}")
        deliver(summarise(book, subjects), as_json=as_json, output=summary)


def _strangers(book: LabelBook, subjects: list[Pair], pairs: Path) -> None:
    known = {pair.id for pair in subjects}
    strange = sum(answer.id not in known for answer in book.answers())
    if strange:
        labels = count(
            strange, "label in the store is of a pair", "labels in the store are of pairs"
        )
        remark(f"{labels} that {pairs} does not hold")


def _queue(
    subjects: list[Pair],
    plan: Path | None,
    abstentions: Path | None,
    random_share: float,
    seed: int,
) -> Queue:
    from adjudge.server import queue

    ids = [pair.id for pair in subjects]
    if plan is not None:
        return queue.planned_queue(queue.planned_rows(plan), known=ids)
    if abstentions is not None:
        doubtful = queue.abstained_ids(abstentions)
        if not doubtful:
            remark(f"{abstentions} holds no abstention: every pair is drawn at random")
        return queue.doubt_queue(ids, doubtful, seed=seed, random_share=random_share)
    return queue.random_queue(ids, seed=seed)
