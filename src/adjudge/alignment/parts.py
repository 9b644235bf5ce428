"""The labelled rows in three parts, frozen in the store: propose, select, certify.

The search sees propose (its errors, its examples) and select (its scores). Certify is asked once
for each declared look. Rows of one question stay together. A part is remembered by the hash of the
question, so that renamed ids, added labels and another order of rows move nothing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

from adjudge.data.rows import Rows
from adjudge.data.steps.labels import MAKERS, take_labels
from adjudge.data.tables import columns_frame
from adjudge.errors import ArgumentError
from adjudge.hashing import call_key, content_hash
from adjudge.judges.protocols.grade import human_of
from adjudge.judges.subjects import question_of, texts_of
from adjudge.present.result import Count
from adjudge.records import CERTIFY, Pair, Subject
from adjudge.store import use_store
from adjudge.store.interface import STATE_OF_ALIGNMENT, Store, StorePlace

PARTS = ("propose", "select", CERTIFY)
#: Percent of the questions in each part.
SHARES = (20, 30, 50)
#: Fewer labels leave too little for three parts.
FEWEST = 100
_DIGITS = 20
_POLL_S = 0.05


@dataclass(frozen=True)
class Labelled:
    """One labelled row: its subject, its label, the hash of its question."""

    subject: Subject
    label: str
    question: str

    @property
    def id(self) -> str:
        return self.subject.id

    @property
    def texts(self) -> dict[str, str]:
        return texts_of(self.subject)


def read_labelled(
    subjects: Iterable[Subject], source: str = "the rows"
) -> tuple[list[Labelled], dict[str, int]]:
    """The rows with a usable label, each content once; the others counted by reason.

    Labels that depend on the judge's doubt, and those of a model, are refused: a prompt is aligned
    with people's labels of rows that were drawn at random.
    """
    labels = [(subject, _label_of(subject)) for subject in subjects]
    labelled = [(subject, label) for subject, label in labels if label is not None]
    dropped = Counter({"no label": len(labels) - len(labelled)})
    if not labelled:
        return [], +dropped
    columns: dict[str, list[Any]] = {
        "id": [subject.id for subject, _ in labelled],
        "label": [label for _, label in labelled],
        **{c: [subject.extra.get(c) for subject, _ in labelled] for c in (*MAKERS, "sampled_by")},
    }
    rows = Rows(columns_frame(columns, source))
    taken = take_labels(rows, "label", source, model_labels=None, refused=True).rows
    dropped.update(taken.dropped)
    used = taken.frame["label"].is_not_null()
    chosen: dict[str, Labelled] = {}
    for subject, label in compress(labelled, used):
        if label not in ("A", "B", 0, 1):
            dropped["label is a tie or a share"] += 1
            continue
        prompt, *responses = texts_of(subject).values()
        key = content_hash([prompt, *sorted(responses)])
        if key in chosen:
            dropped["the same texts again"] += 1
        shown = label if isinstance(label, str) else f"{label:g}"
        chosen.setdefault(key, Labelled(subject, shown, question_of(subject)))
    return list(chosen.values()), dict(+dropped)


def _label_of(subject: Subject) -> str | float | None:
    return subject.label if isinstance(subject, Pair) else human_of(subject)


def check_labels(rows: Sequence[Labelled]) -> None:
    """Refuse too few labels, and labels of one class."""
    if len(rows) < FEWEST:
        remedy = f"label at least {FEWEST} rows, drawn at random; there are {len(rows)}"
        raise ArgumentError("rows", f"{len(rows)} labels", remedy)
    if len({row.label for row in rows}) < 2:
        remedy = "a prompt cannot be compared on labels of one class: label more rows"
        raise ArgumentError("rows", f"all labels are {rows[0].label}", remedy)


def assign(
    rows: Sequence[Labelled], shares: Sequence[int], *, seed: int, before: Mapping[str, str]
) -> dict[str, str]:
    """The part of every question: random, balanced by label; those in `before` stay.

    In random order, each goes to certify until it has its share, then to the part that is furthest
    below its own.

    >>> rows = [Labelled(None, "AB"[i % 2], str(i)) for i in range(100)]
    >>> sorted(Counter(assign(rows, SHARES, seed=0, before={}).values()).items())
    [('certify', 50), ('propose', 20), ('select', 30)]
    """
    parts = dict(before)
    # Of several labels of a question the last in the alphabet: the order of rows has no effect.
    labels = {row.question: row.label for row in sorted(rows, key=lambda row: row.label)}
    counts = Counter((labels.get(question), part) for question, part in parts.items())
    for question in sorted(labels, key=lambda name: content_hash([str(seed), name])):
        if question not in parts:
            label = labels[question]
            sizes = [counts[label, part] for part in PARTS]
            total = sum(sizes) + 1
            missing = [n * total - 100 * k for n, k in zip(shares, sizes, strict=True)]
            at = 2 if missing[2] > 0 else max((1, 0), key=missing.__getitem__)
            parts[question] = PARTS[at]
            counts[label, parts[question]] += 1
    return parts


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at certify: the two judges that were compared, and the hash of the rows."""

    look: Count
    own: str
    chosen: str
    rows: str


@dataclass(frozen=True, kw_only=True)
class Partition:
    """What the store remembers of an alignment: the part of each question, and the looks.

    `stored` is the text in the store, None if it is new there.
    """

    name: str
    shares: tuple[int, ...]
    parts: Mapping[str, str]
    looks: int | None = None
    ledger: tuple[Look, ...] = ()
    stored: str | None = field(default=None, compare=False)

    def freeze(self, store: StorePlace) -> Partition:
        """Write it to the store, unless another process divided its questions since it was read."""
        state = {"shares": self.shares, "parts": self.parts, "looks": self.looks}
        text = json.dumps(state | {"ledger": [vars(look) for look in self.ledger]}, sort_keys=True)
        with use_store(store) as opened, _alone(opened):
            overlaps = [partition.stored for partition in _overlaps(opened, self.parts)]
            if overlaps not in ([self.stored] if self.stored else [], [text]):
                remedy = "another process aligns with these labels: wait for it, then start again"
                raise ArgumentError("store", self.name, remedy)
            opened.keep_monitor(self.name, text)
        return replace(self, stored=text)

    def find_look(self, looks: int, compared: Mapping[str, str]) -> int:
        """The number of the look that compared the same on the same rows, or of the next one.

        Before the search `compared` has no "chosen": then any look with the same own prompt fits.
        """
        if self.looks not in (None, looks):
            remedy = f"{self.looks} were declared before the first: give --looks {self.looks}"
            raise ArgumentError("looks", looks, remedy)
        for look in self.ledger:
            if compared.items() <= vars(look).items():
                return look.look
        if len(self.ledger) >= looks:
            taken = "all declared looks at these labels were taken: a further one would break the"
            raise ArgumentError("looks", looks, f"{taken} level; label new rows, use a new store")
        return len(self.ledger) + 1


def open_partition(
    store: StorePlace, rows: Sequence[Labelled], *, shares: tuple[int, ...], seed: int
) -> Partition:
    """The partition that the store remembers for these questions, with new ones; or a new one.

    Nothing is written: see `Partition.freeze`.
    """
    with use_store(store) as opened:
        overlaps = _overlaps(opened, {row.question for row in rows})
    if not overlaps:
        parts = assign(rows, shares, seed=seed, before={})
        name = STATE_OF_ALIGNMENT + content_hash(sorted(parts))[:_DIGITS]
        return Partition(name=name, shares=shares, parts=parts)
    if len(overlaps) > 1:
        remedy = f"these rows were divided apart {len(overlaps)} times: align each file alone"
        raise ArgumentError("rows", f"{len(rows)} labels", remedy)
    [partition] = overlaps
    if partition.shares != shares:
        frozen = ",".join(map(str, partition.shares))
        remedy = f"these rows were divided as {frozen} before: give --shares {frozen}"
        raise ArgumentError("shares", shares, remedy)
    return replace(partition, parts=assign(rows, shares, seed=seed, before=partition.parts))


def _overlaps(store: Store, questions: Collection[str]) -> list[Partition]:
    """The partitions in the store that have some of these questions."""
    partitions = []
    for name, text in store.monitors().items():
        if name.startswith(STATE_OF_ALIGNMENT):
            try:
                state = json.loads(text)
                state |= {"shares": tuple(state["shares"]), "name": name, "stored": text}
                state["ledger"] = tuple(Look(**look) for look in state["ledger"])
                partitions.append(Partition(**state))
            except (KeyError, TypeError, ValueError):
                raise ArgumentError("store", name, "cannot be read: use a new store") from None
    return [each for each in partitions if not each.parts.keys().isdisjoint(questions)]


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """Hold the store's claim on dividing labels: a claim of a process that died is taken over."""
    key = call_key("alignment", "parts", None, 0, "")
    while not store.claim([key], retry=(), since=0).ours:
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        store.release([key])
