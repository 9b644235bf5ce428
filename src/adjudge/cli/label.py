"""`adjudge label`: a page in the browser where people label pairs or single answers."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli._common import deliver, remark, require_extra
from adjudge.cli._options import (
    ColumnOption,
    FormatOption,
    FormerFormatOption,
    JsonFlag,
    LabelsAsOption,
    SeedOption,
    StoreOption,
    SummaryOption,
    column_map,
    label_map,
    parse_place,
)
from adjudge.errors import ArgumentError
from adjudge.present.text import count, left_out

if TYPE_CHECKING:
    from adjudge.data.pairs import Stream
    from adjudge.data.tables import Table
    from adjudge.records import Item, Pair, Subject
    from adjudge.server.labelling import LabelKind, LabellingRound, Queue
    from adjudge.store.labels import LabelBook


def label(
    rows: Annotated[
        Path,
        typer.Argument(
            help="Pairs to compare, or items (id, prompt, response) to pass or fail. Or audits, "
            "from a file or from a store of serve, in their order.",
            parser=parse_place,
            metavar="ROWS",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the labels here when the page is closed."),
    ] = None,
    summary: SummaryOption = None,
    store: StoreOption = "adjudge.db",
    scale: Annotated[
        str | None, typer.Option(help="Score items on this scale, such as 1-5, instead.")
    ] = None,
    instructions: Annotated[
        Path | None,
        typer.Option(help="Guidelines for raters (Markdown), shown at the top of the page."),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="Label the rows that `plan rate` or `plan labels` wrote with --write-ids, or "
            "`monitor draw` with -o."
        ),
    ] = None,
    abstentions: Annotated[
        Path | None,
        typer.Option(help="Label the abstentions among the rows of `adjudge select -o`."),
    ] = None,
    random_share: Annotated[
        float, typer.Option(help="Share of random rows mixed into the abstentions.")
    ] = 0.3,
    share_out: Annotated[
        bool, typer.Option(help="Give each row to one rater, instead of every row to every rater.")
    ] = False,
    import_labels: Annotated[
        Path | None, typer.Option("--import", help="First add the labels of this file.")
    ] = None,
    export_only: Annotated[
        bool, typer.Option(help="Write the labels and the summary without opening a page.")
    ] = False,
    label_studio: Annotated[
        Path | None,
        typer.Option(
            help="Write the queue as tasks for Label Studio here (.json), and their labelling "
            "config next to them (.xml). Opens no page."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="With --label-studio: only the first N rows of the queue."),
    ] = None,
    column: ColumnOption = None,
    labels_as: LabelsAsOption = None,
    format: FormatOption = None,
    from_: FormerFormatOption = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback needs ADJUDGE_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8477,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """Label pairs or single answers in the browser.

    Every label is stored immediately: a reload or kill loses nothing.
    """
    page = not export_only and label_studio is None
    if page:
        require_extra("server", "fastapi", "uvicorn")
    from adjudge.data import write_rows
    from adjudge.data.files import read_text
    from adjudge.server.label_summary import comments, labels_frame, records, summarise
    from adjudge.server.labelling import LabellingRound
    from adjudge.store import check_not_store, is_store, store_name, use_store
    from adjudge.store.interface import DEFAULT_STORE
    from adjudge.store.labels import LabelBook

    if plan is not None and abstentions is not None:
        raise ArgumentError("abstentions", str(abstentions), "give --plan or --abstentions")
    if limit is not None and label_studio is None:
        raise ArgumentError(
            "limit", limit, "use it with --label-studio: the page runs until Ctrl-C"
        )
    for written in (output, label_studio):
        if written is not None:
            check_not_store(store, written)
    guide = None if instructions is None else read_text(instructions)
    names = {"columns": column_map(column), "labels_as": label_map(labels_as)}
    if is_store(rows):
        subjects, kind = _read_audits(rows)
        store = str(rows) if store == DEFAULT_STORE else store
    else:
        subjects, kind = _read(rows, format or from_, scale, seed, names)
    with use_store(store) as kept:
        book = LabelBook(kept, kind.labels)
        if import_labels is not None:
            given = _labels(import_labels, kind, names)
            added, same = book.import_labels(records(given.frame), comments(given.frame))
            remark(f"{import_labels}: {added:,} labels added, {same:,} were already in the store")
            for line in left_out(given.dropped, "label"):
                remark(f"{import_labels}: {line}")
        _strangers(book, subjects, rows, kind)
        queue = _queue(subjects, plan, abstentions, random_share, seed, kind)
        round_ = LabellingRound(
            subjects, queue, book, kind=kind, instructions=guide, seed=seed, share_out=share_out
        )
        if label_studio is not None:
            _write_tasks(round_, label_studio, limit, plan)
        if page:
            from adjudge.server.guard import serve
            from adjudge.server.label_page import label_app

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
            write_rows(labels_frame(book, plan=plan, kind=kind), output)
            remark(f"wrote {output}")
        deliver(summarise(book, subjects, kind), as_json=as_json, output=summary)


def _read(
    rows: Path,
    format: str | None,
    scale: str | None,
    seed: int,
    names: Mapping[str, Mapping[str, str] | None],
) -> tuple[list[Subject], LabelKind]:
    """The rows to label, and the kind of label, from the file's content."""
    from adjudge.data import kinds_of, open_items, open_pairs, sniff
    from adjudge.data.tables import read_object
    from adjudge.judges.criteria import parse_scale
    from adjudge.server.labelling import GRADES, PAIRS, scores

    source = read_object(rows)
    kinds = kinds_of(format or sniff(source, names["columns"]))
    if "items" not in kinds or "pairs" in kinds:
        if scale is not None:
            remedy = "only single answers can be scored: give items (id, prompt, response)"
            raise ArgumentError("scale", scale, remedy)
        return _listed(open_pairs(source, format=format, seed=seed, **names)), PAIRS
    kind = GRADES if scale is None else scores(parse_scale(scale))
    return _listed(open_items(source, format=format, **names)), kind


def _listed(stream: Stream[Pair] | Stream[Item]) -> list[Subject]:
    """All rows of a stream. Rows that it leaves out are printed."""
    subjects: list[Subject] = list(stream)
    for line in left_out(stream.dropped):
        remark(f"{stream.name}: {line}")
    return subjects


def _labels(path: Path, kind: LabelKind, names: Mapping[str, Mapping[str, str] | None]) -> Table:
    """The labels of a file, by the file's column names."""
    from adjudge.data.labels import open_labels
    from adjudge.data.source import ColumnNames

    name = ColumnNames(names["columns"], names["labels_as"])
    return open_labels(name(path), about=kind.name)


def _write_tasks(round_: LabellingRound, path: Path, limit: int | None, plan: Path | None) -> None:
    from adjudge.integrations.label_studio import write_tasks
    from adjudge.server.label_summary import plan_columns

    if round_.instructions is not None:
        remedy = "paste them into the instructions of the Label Studio project"
        raise ArgumentError("instructions", "a file", remedy)
    columns = None if plan is None else plan_columns(plan)
    tasks, config = write_tasks(round_, path, limit=limit, plan=columns)
    remark(f"wrote {count(tasks, 'task')} to {path} and their labelling config to {config}")
    remark("export the labels as JSON, then: adjudge label ROWS --import EXPORT -o labels.csv")


def _read_audits(place: Path) -> tuple[list[Subject], LabelKind]:
    """The audits that a service drew, for all policies, in the order of serving."""
    from adjudge.monitoring.drawing import all_audits
    from adjudge.records import Item, Pair
    from adjudge.server.labelling import GRADES, PAIRS
    from adjudge.store import store_name, use_store

    with use_store(place, readonly=True) as store:
        audits = all_audits(store)
    if not audits:
        remedy = "this store has no audits: run serve with --audit-rate"
        raise ArgumentError("rows", store_name(place), remedy)
    subjects: list[Subject] = []
    for audit in audits:
        texts, drawn = audit.content, {"sampled_by": "audit"}
        if "response_a" in texts:
            subject: Subject = Pair(
                id=audit.subject_id,
                prompt=texts["prompt"],
                response_a=texts["response_a"],
                response_b=texts["response_b"],
                extra=drawn,
            )
        else:
            shown = {name: texts.get(name) for name in ("reference", "context")}
            subject = Item(
                id=audit.subject_id,
                prompt=texts["prompt"],
                response=texts["response"],
                extra={**shown, **drawn},
            )
        subjects.append(subject)
    pairs = [one for one in subjects if isinstance(one, Pair)]
    if pairs and len(pairs) < len(subjects):
        remark(f"{store_name(place)} has audits of pairs and of answers: only the pairs are shown")
    return (list(pairs), PAIRS) if pairs else (subjects, GRADES)


def _strangers(book: LabelBook, subjects: list[Subject], rows: Path, kind: LabelKind) -> None:
    from adjudge.store import store_name

    known = {subject.id for subject in subjects}
    strange = sum(answer.id not in known for answer in book.answers())
    if strange:
        one, several = f"label in the store is of {kind.a_noun}", "labels in the store are of "
        strangers = count(strange, one, several + kind.noun + "s")
        remark(f"{strangers} that {store_name(rows)} does not have")


def _queue(
    subjects: list[Subject],
    plan: Path | None,
    abstentions: Path | None,
    random_share: float,
    seed: int,
    kind: LabelKind,
) -> Queue:
    from adjudge.server import labelling as queue

    ids = [subject.id for subject in subjects]
    if plan is not None:
        return queue.planned_queue(queue.planned_rows(plan), known=ids)
    if abstentions is not None:
        doubtful = queue.abstained_ids(abstentions)
        if not doubtful:
            remark(f"{abstentions} has no abstention: every {kind.noun} is drawn at random")
        return queue.doubt_queue(ids, doubtful, seed=seed, random_share=random_share)
    if all(subject.extra.get("sampled_by") == "audit" for subject in subjects):
        # In the order of drawing: the next check needs the first audits first.
        return queue.planned_queue([(name, "audit") for name in ids], known=ids)
    return queue.random_queue(ids, seed=seed)
