"""A labelling round from the user's options: which rows, in which order, with which labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, get_args

import numpy as np
import polars as pl

from adjudge.data import kinds_of, open_items, open_pairs, read_table, sniff
from adjudge.data.decisions import prepare_decisions
from adjudge.data.files import read_text
from adjudge.data.pairs import Stream
from adjudge.data.parts import check_images
from adjudge.data.rows import Rows, measured, merge_dropped
from adjudge.data.shown import TEXTS_OF_ROWS, hashes_of, say_turned
from adjudge.data.source import ColumnNames, Reading, Source
from adjudge.data.steps.labels import WOULD_MATCH, alike_ids, with_ids_of_rows
from adjudge.data.tables import TableLike, as_text, in_use, source_name
from adjudge.data.turns import Units, conversation_of, split_all
from adjudge.errors import ArgumentError, DataError, StoreMissingError, StoreVersionError
from adjudge.images import ImageError
from adjudge.judges.criteria import parse_scale
from adjudge.monitoring.drawing import all_audits
from adjudge.present.text import count, left_out
from adjudge.records import Item, Pair, SampledBy, Subject
from adjudge.server.label_summary import records
from adjudge.server.labelling import GRADES, PAIRS, Draw, LabelKind, LabellingRound, Queue, scores
from adjudge.store import Served, Store, is_store, store_name, use_store
from adjudge.store.interface import DEFAULT_STORE, StorePlace
from adjudge.store.labels import LabelBook
from adjudge.validation import count as check_count
from adjudge.validation import generator


@contextmanager
def open_round(
    rows: TableLike,
    *,
    store: StorePlace = DEFAULT_STORE,
    scale: str | None = None,
    instructions: str | Path | None = None,
    plan: TableLike | None = None,
    abstentions: TableLike | None = None,
    random_share: float = 0.3,
    share_out: bool = False,
    import_labels: TableLike | None = None,
    format: str | None = None,
    unit: str = "conversation",
    seed: int = 0,
    readonly: bool = False,
    announce: Callable[[str], None] | None = None,
    **reading: Unpack[Reading],
) -> Iterator[LabellingRound]:
    """A round of labelling over these rows; its labels are in the store.

    Args:
        rows: Pairs to compare, or items (id, prompt, response) to pass or fail; or audits, from a
            file or from a store of serve, in their order.
        store: Store of all labels: a file or postgresql://...
        scale: Score items on this scale, such as 1-5, instead.
        instructions: Guidelines for raters (Markdown), shown at the top of the page.
        plan: Label the rows that `plan rate` or `plan labels` wrote with --write-ids, or `monitor
            draw` with -o.
        abstentions: Label the abstentions among the rows of `adjudge select -o`.
        random_share: Share of random rows mixed into the abstentions.
        share_out: Give each row to one rater, instead of every row to every rater.
        import_labels: First add the labels of this file. Those of rows in the plan were drawn as it
            says, unless the file says otherwise (sampled_by).
        format: Name of a public format, if it cannot be detected from content.
        unit: What is labelled: conversation (the whole response), turn (each message of the
            assistant), run (of an agent) or step (a message and what its tools returned). Those of
            one conversation are shown in reading order.
        seed: Seed of everything random.
        readonly: Do not write to a store that exists.
        announce: Called with what was left out or imported, as text.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.
    """
    say = announce or (lambda text: None)
    if plan is not None and abstentions is not None:
        raise ArgumentError("abstentions", str(abstentions), "give --plan or --abstentions")
    guide = None if instructions is None else read_text(instructions)
    if isinstance(rows, str | Path) and is_store(rows):
        subjects, kind = audits_of(rows, say)
        store = str(rows) if store == DEFAULT_STORE else store
    else:
        subjects, kind = rows_of(rows, format, scale, seed, say, unit=unit, **reading)
    with _open_labels(store, readonly=readonly) as opened:
        book = LabelBook(opened, kind.labels, {s.id: hashes_of(s) for s in subjects})
        if import_labels is not None:
            drawn = {} if plan is None else dict(planned_rows(plan))
            _import(import_labels, book, kind, [s.id for s in subjects], drawn, say, **reading)
        ids = {subject.id for subject in subjects}
        if n := sum(answer.subject_id not in ids for answer in book.answers()):
            one = f"label in the store is of {'a' if kind is PAIRS else 'an'} {kind.noun}"
            strangers = count(n, one, f"labels in the store are of {kind.noun}s")
            say(f"{strangers} that {store_name(source_name(rows))} does not have")
        for line in _compare(book):
            say(f"{store_name(opened)}: {line}")
        queue = queue_of(subjects, plan, abstentions, random_share, seed, kind, say)
        yield LabellingRound(
            subjects, queue, book, kind=kind, instructions=guide, seed=seed, share_out=share_out
        )


@contextmanager
def _open_labels(place: StorePlace, *, readonly: bool) -> Iterator[Store]:
    """The store; one that is missing is made, and an older one is brought up to date."""
    with ExitStack() as stack:
        opened: Store | None = None
        if readonly:
            with suppress(StoreMissingError, StoreVersionError):
                opened = stack.enter_context(use_store(place, readonly=True))
        yield opened or stack.enter_context(use_store(place))


def _compare(book: LabelBook) -> Iterator[str]:
    """The labels with ids of this round that are of other texts, turned, or of unknown texts."""
    labels = book.compare()
    if n := labels["other"]:
        yield f"{count(n, 'label')} of other texts with these ids: not counted, asked again"
    if n := labels["turned"]:
        yield say_turned(n)
    if n := labels["unknown"]:
        yield f"{count(n, 'label')} without the texts that were shown: joined by id alone"


def _import(
    source: TableLike,
    book: LabelBook,
    kind: LabelKind,
    ids: Sequence[str],
    drawn: Mapping[str, SampledBy],
    say: Callable[[str], None],
    **reading: Unpack[Reading],
) -> None:
    """Add the labels of a file to the book, also those of rows that are not in this round."""
    # The file has its own column names.
    names = ColumnNames(reading.get("columns"), reading.get("labels_as"))
    table = Source(names(source)).open("labels", about=kind.name)
    frame = table.frame
    alike = alike_ids(frame["id"], pl.Series(ids, dtype=pl.String))
    if reading.get("alike_ids"):
        frame = with_ids_of_rows(frame, alike, table.name)
        alike = alike.clear()
    labels, comments = records(frame)
    labels = [
        replace(label, sampled_by=label.sampled_by or drawn.get(label.id)) for label in labels
    ]
    added, same = book.import_labels(labels, comments)
    say(f"{source}: {added:,} labels added, {same:,} were already in the store")
    for line in left_out(table.dropped, "label"):
        say(f"{source}: {line}")
    if nearly := alike["id"].n_unique():
        say(f"{source}: {nearly:,} times: {WOULD_MATCH}")


def rows_of(
    rows: TableLike,
    format: str | None,
    scale: str | None,
    seed: int,
    say: Callable[[str], None],
    *,
    unit: str = "conversation",
    **reading: Unpack[Reading],
) -> tuple[list[Subject], LabelKind]:
    """The rows to label, and the kind of label, from the file's content."""
    # People see all of a run.
    units = Units(unit)
    with in_use(rows) as source:
        kinds = kinds_of(format or sniff(source, reading.get("columns")))
        if "items" not in kinds or "pairs" in kinds:
            if scale is not None:
                remedy = "only single answers can be scored: give items (id, prompt, response)"
                raise ArgumentError("scale", scale, remedy)
            kind = PAIRS
            stream: Stream[Any] = open_pairs(source, format, seed=seed, **reading)
        else:
            kind = GRADES if scale is None else scores(parse_scale(scale))
            stream = open_items(source, format, **reading)
        rows_read = list(stream)
    for row, subject in enumerate(rows_read, start=1):
        _check_images(subject, stream.name, row)
    subjects = list(split_all(rows_read, units, stream.name))
    for line in (*left_out(merge_dropped(stream.dropped, units.dropped)), *units.notes):
        say(f"{stream.name}: {line}")
    return subjects, kind


def _check_images(subject: Subject, source: str, row: int) -> None:
    """Refuse a row with an image that a person would not see."""
    texts = {name: getattr(subject, name, subject.extra.get(name)) for name in TEXTS_OF_ROWS}
    for name, text in texts.items():
        try:
            check_images(text if isinstance(text, str) else "")
        except ImageError as error:
            raise DataError(source, str(error), row=row, column=name, remedy=error.remedy) from None


def audits_of(place: StorePlace, say: Callable[[str], None]) -> tuple[list[Subject], LabelKind]:
    """The audits that a service drew, for all policies, in the order of serving."""
    with use_store(place, readonly=True) as store:
        audits = all_audits(store)
    if not audits:
        remedy = "this store has no audits: run serve with --audit-rate"
        raise ArgumentError("rows", store_name(place), remedy)
    subjects = [_audited(audit) for audit in audits]
    pairs = [subject for subject in subjects if isinstance(subject, Pair)]
    if pairs and len(pairs) < len(subjects):
        say(f"{store_name(place)} has audits of pairs and of answers: only the pairs are shown")
    return (list(pairs), PAIRS) if pairs else (subjects, GRADES)


def _audited(audit: Served) -> Subject:
    texts, named = audit.content, {"id": audit.subject_id, "prompt": audit.content["prompt"]}
    extra = {"sampled_by": "audit"}
    if "response_a" in texts:
        sides = {name: texts[name] for name in ("response_a", "response_b")}
        return Pair(**named, **sides, extra=extra)
    shown = {name: texts.get(name) for name in ("reference", "context")}
    return Item(**named, response=texts["response"], extra={**shown, **extra})


def queue_of(
    subjects: Sequence[Subject],
    plan: TableLike | None,
    abstentions: TableLike | None,
    random_share: float,
    seed: int,
    kind: LabelKind,
    say: Callable[[str], None],
) -> Queue:
    """The order of the rows: the plan's, abstentions and random rows, audits, or random."""
    ids = [subject.id for subject in subjects]
    if plan is not None:
        return in_reading_order(planned_queue(planned_rows(plan), known=ids), subjects, seed=seed)
    if abstentions is not None:
        doubtful = abstained_ids(abstentions, say)
        if not doubtful:
            say(f"{abstentions} has no abstention: every {kind.noun} is drawn at random")
        return doubt_queue(ids, doubtful, seed=seed, random_share=random_share)
    if all(subject.extra.get("sampled_by") == "audit" for subject in subjects):
        # In the order of drawing: the next check needs the first audits first.
        return planned_queue([(name, "audit") for name in ids], known=ids)
    return in_reading_order(random_queue(ids, seed=seed), subjects, seed=seed)


def in_reading_order(queue: Queue, subjects: Sequence[Subject], *, seed: int) -> Queue:
    """The queue with the turns of a conversation one after the other.

    Conversations come in a random order, whatever their lengths: those labelled so far are a random
    sample of them. A queue of rows that are no turns stays as it is.
    """
    places = {subject.id: place for place, subject in enumerate(subjects)}
    of = {subject.id: conversation_of(subject) for subject in subjects}
    queued = sorted({of[draw.id] for draw in queue})
    if len(queued) == len(queue):
        return queue
    order = dict(zip(queued, generator(seed).permutation(len(queued)).tolist(), strict=True))
    return tuple(sorted(queue, key=lambda draw: (order[of[draw.id]], places[draw.id])))


def planned_rows(source: TableLike) -> list[Draw]:
    """The ids of a plan file and how each was drawn ("plan" if the file does not have it)."""
    frame = read_table(source)
    if "id" not in frame.columns:
        raise DataError(source_name(source), "is missing", column="id", remedy="give a plan file")
    if "sampled_by" not in frame.columns:
        frame = frame.with_columns(sampled_by=pl.lit("plan"))
    rows = frame.select(as_text(frame["id"]), as_text(frame["sampled_by"]).fill_null("plan"))
    for how in rows["sampled_by"].unique(maintain_order=True):
        if how not in get_args(SampledBy):
            raise ArgumentError("sampled_by", how, "use " + ", ".join(get_args(SampledBy)))
    return [Draw(*row) for row in rows.iter_rows()]


def abstained_ids(source: TableLike, say: Callable[[str], None]) -> list[str]:
    """The ids that `adjudge select` did not accept, highest doubt first."""
    decisions = prepare_decisions(source)
    if "uncertainty" not in decisions.frame.columns:
        remedy = "give the rows that adjudge select wrote with -o"
        raise DataError(decisions.name, "is missing", column="uncertainty", remedy=remedy)
    for line in left_out(decisions.dropped):
        say(f"{decisions.name}: {line}")
    # Without a doubt are rows that the judge failed: they come first.
    order = decisions.frame.filter(~pl.col("accepted")).sort(
        "uncertainty", descending=True, nulls_last=False, maintain_order=True
    )
    for status, n in measured(Rows(order)).dropped.items():
        say(f"{decisions.name}: {count(n, 'abstention')} without an answer of the judge: {status}")
    return list(dict.fromkeys(order["id"].drop_nulls()))


def random_queue(ids: Sequence[str], *, seed: int) -> Queue:
    """Every pair once, in a random order."""
    order = generator(seed).permutation(len(ids))
    return _queue([Draw(ids[i], "random") for i in order])


def planned_queue(planned: Sequence[tuple[str, SampledBy]], *, known: Sequence[str]) -> Queue:
    """The rows of `adjudge plan --write-ids`, in their order, drawn by the plan."""
    ids = set(known)
    if missing := [name for name, _ in planned if name not in ids]:
        remedy = f"{len(missing)} planned ids are not among the rows{_add_unit(missing, ids)}"
        raise ArgumentError("plan", missing[0], remedy)
    return _queue([Draw(*row) for row in planned])


def _add_unit(missing: Collection[str], ids: Collection[str]) -> str:
    """What to do about ids of turns, if the rows are whole conversations."""
    whole = {name.rpartition("#")[0] for name in missing if name}
    return ": they are turns or steps, so add --unit turn or step (unit=)" if whole & {*ids} else ""


def doubt_queue(
    ids: Sequence[str], doubtful: Sequence[str], *, seed: int, random_share: float = 0.3
) -> Queue:
    """The judge's abstentions, highest doubt first, mixed with a random share of all pairs.

    >>> queue = doubt_queue(list("abcdef"), ["c", "a"], seed=0, random_share=0.5)
    >>> sorted({draw.id for draw in queue if draw.sampled_by == "random"})
    ['a', 'b', 'c', 'd', 'e', 'f']
    """
    if not 0 < random_share < 1:
        raise ArgumentError("random_share", random_share, "give a number strictly between 0 and 1")
    if unknown := set(doubtful) - set(ids):
        remedy = f"{len(unknown)} of these ids are not among the rows{_add_unit(unknown, {*ids})}"
        raise ArgumentError("abstentions", min(unknown), remedy)
    rng = generator(seed)
    doubt = iter([Draw(name, "doubt") for name in doubtful])
    chance = iter([Draw(ids[i], "random") for i in rng.permutation(len(ids))])
    return _queue(list(_interleave(doubt, chance, rng, random_share)))


def _interleave(
    doubt: Iterator[Draw], chance: Iterator[Draw], rng: np.random.Generator, share: float
) -> Iterator[Draw]:
    # The coin does not depend on the pairs, so the random stream stays a random sample.
    while True:
        first, second = (chance, doubt) if rng.random() < share else (doubt, chance)
        draw = next(first, None) or next(second, None)
        if draw is None:
            return
        yield draw


def _queue(draws: list[Draw]) -> Queue:
    check_count(len(draws), "pairs", least=1)
    return tuple(draws)
