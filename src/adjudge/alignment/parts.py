"""The labelled rows in three parts, frozen in the store: propose, select, certify.

The search sees propose (its errors, its examples) and select (its scores). Certify is asked once
for each declared look. Rows of one prompt stay together. A part is remembered by the hash of the
prompt, so that renamed ids, added labels and another order of rows move nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adjudge.errors import ArgumentError, DataError
from adjudge.records import Pair, Subject
from adjudge.store import use_store
from adjudge.store.interface import STATE_OF_ALIGNMENT, StorePlace, content_hash

PARTS = ("propose", "select", "certify")
#: Percent of the clusters in each part.
SHARES = (20, 30, 50)
#: Fewer labels leave too little for three parts.
FEWEST = 100
#: Labels drawn by the judge's doubt are not a random sample.
_CHOSEN = ("doubt", "surest", "audit")
_DIGITS = 20


@dataclass(frozen=True)
class Labelled:
    """One labelled row: its subject, its label, its prompt as a hash."""

    subject: Subject
    label: str
    cluster: str


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at certify: which judges were compared, and the hash of the rows."""

    look: int
    own: str
    chosen: str
    rows: str


@dataclass(frozen=True, kw_only=True)
class Partition:
    """What the store remembers of an alignment: the part of each prompt, and the looks."""

    name: str
    shares: tuple[int, ...]
    parts: Mapping[str, str]
    looks: int | None = None
    ledger: tuple[Look, ...] = ()
    #: What was read from the store; None if this partition is new.
    stored: str | None = field(default=None, compare=False)

    def to_json(self) -> str:
        of_part = {
            part: sorted(cluster for cluster, its in self.parts.items() if its == part)
            for part in PARTS
        }
        state = {
            "kind": "alignment_state",
            "shares": self.shares,
            "parts": of_part,
            "looks": self.looks,
            "ledger": [vars(look) for look in self.ledger],
        }
        return json.dumps(state, sort_keys=True)


def read_labelled(subjects: Sequence[Subject]) -> tuple[list[Labelled], dict[str, int]]:
    """The rows with a usable label, each content once; the others counted by reason."""
    rows: dict[str, Labelled] = {}
    dropped: Counter[str] = Counter()
    for subject in subjects:
        _refuse_chosen(subject)
        label = _label_of(subject)
        if label not in ("A", "B", "0", "1"):
            dropped["no label" if label is None else "label is a tie or a share"] += 1
            continue
        prompt, *responses = texts_of(subject).values()
        key = content_hash([prompt, *sorted(responses)])
        if key in rows:
            dropped["the same texts again"] += 1
        # Rows without a prompt are not alike.
        cluster = content_hash([prompt]) if prompt.strip() else key
        rows.setdefault(key, Labelled(subject, label, cluster[:_DIGITS]))
    return list(rows.values()), dict(dropped)


def texts_of(subject: Subject) -> dict[str, str]:
    """The prompt, then the response or both, by column."""
    names = ("response_a", "response_b") if isinstance(subject, Pair) else ("response",)
    return {name: getattr(subject, name) for name in ("prompt", *names)}


def _label_of(subject: Subject) -> str | None:
    if isinstance(subject, Pair):
        return subject.label
    from adjudge.data.rows import human_share

    try:
        share = human_share(subject.extra.get("human"))
    except ValueError:
        problem, remedy = (
            "is neither pass nor fail",
            "give 1 or 0 (pass or fail), or leave it empty",
        )
        raise DataError(f"item {subject.id!r}", problem, column="human", remedy=remedy) from None
    return None if share is None else f"{share:g}"


def _refuse_chosen(subject: Subject) -> None:
    how, row = subject.extra.get("sampled_by"), f"row {subject.id!r}"
    if how in _CHOSEN:
        problem = f"was labelled because of the judge's own doubt (sampled_by {how})"
        remedy = "align with labels that were drawn at random"
        raise DataError(row, problem, column="sampled_by", remedy=remedy)
    if subject.extra.get("labelled_by") == "model":
        remedy = "align with people's labels"
        raise DataError(row, "was labelled by a model", column="labelled_by", remedy=remedy)


def check_labels(rows: Sequence[Labelled]) -> None:
    """Refuse too few labels, and labels of one class."""
    if len(rows) < FEWEST:
        remedy = f"label at least {FEWEST} rows, drawn at random; there are {len(rows)}"
        raise ArgumentError("rows", f"{len(rows)} labels", remedy)
    if len({row.label for row in rows}) < 2:
        remedy = "a prompt cannot be compared on labels of one class: label more rows"
        raise ArgumentError("rows", f"all labels are {rows[0].label}", remedy)


def check_shares(shares: Sequence[int]) -> tuple[int, ...]:
    if len(shares) != len(PARTS) or sum(shares) != 100 or min(shares) < 10:
        remedy = "give percent for propose, select and certify, each 10 or more, such as 20,30,50"
        raise ArgumentError("shares", ",".join(map(str, shares)), remedy)
    return tuple(shares)


def assign(
    rows: Sequence[Labelled],
    shares: tuple[int, ...],
    *,
    seed: int,
    before: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The part of every cluster: random, balanced by label; new clusters go to certify first.

    >>> rows = [Labelled(None, "AB"[i % 2], str(i)) for i in range(100)]
    >>> sorted(Counter(assign(rows, SHARES, seed=0).values()).items())
    [('certify', 50), ('propose', 20), ('select', 30)]
    """
    parts = dict(before or {})
    labels: dict[str, Counter[str]] = {}
    for row in rows:
        labels.setdefault(row.cluster, Counter())[row.label] += 1
    new = [cluster for cluster in labels if cluster not in parts]
    new.sort(key=lambda cluster: _draw(cluster, seed))
    if before:
        for cluster in new:
            parts[cluster] = _most_missing(Counter(parts.values()), shares)
        return parts
    main = {cluster: max(sorted(n), key=n.__getitem__) for cluster, n in labels.items()}
    for label in sorted(set(main.values())):
        stratum = [cluster for cluster in new if main[cluster] == label]
        ends = [math.floor(sum(shares[:k]) * len(stratum) / 100 + 0.5) for k in (1, 2, 3)]
        for at, cluster in enumerate(stratum):
            parts[cluster] = PARTS[sum(at >= end for end in ends[:2])]
    return parts


def _draw(cluster: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{cluster}".encode()).digest()


def _most_missing(counts: Counter[str], shares: tuple[int, ...]) -> str:
    """Certify until it has its share, then the part that is furthest below its own."""
    total = counts.total() + 1
    if 100 * counts["certify"] < shares[2] * total:
        return "certify"
    return min(PARTS[:2], key=lambda part: counts[part] / shares[PARTS.index(part)])


def open_partition(
    store: StorePlace, rows: Sequence[Labelled], *, shares: tuple[int, ...], seed: int
) -> Partition:
    """The partition that the store remembers for these prompts, with new ones added; or a new one.

    Nothing is written: see `freeze`.
    """
    clusters = {row.cluster for row in rows}
    with use_store(store) as opened:
        states = opened.monitors().items()
    known = [_parse(name, text) for name, text in states if name.startswith(STATE_OF_ALIGNMENT)]
    overlaps = [partition for partition in known if clusters & partition.parts.keys()]
    if not overlaps:
        parts = assign(rows, shares, seed=seed)
        name = STATE_OF_ALIGNMENT + content_hash(sorted(parts))[:_DIGITS]
        return Partition(name=name, shares=shares, parts=parts)
    if len(overlaps) > 1:
        remedy = f"these rows were divided apart {len(overlaps)} times: align each file alone"
        raise ArgumentError("rows", f"{len(rows)} labels", remedy)
    [partition] = overlaps
    if partition.shares != shares:
        frozen = ",".join(map(str, partition.shares))
        remedy = f"these rows were divided as {frozen} before: give --shares {frozen}"
        raise ArgumentError("shares", ",".join(map(str, shares)), remedy)
    parts = assign(rows, shares, seed=seed, before=partition.parts)
    return replace(partition, parts=parts)


def _parse(name: str, text: str) -> Partition:
    state: dict[str, Any] = json.loads(text)
    parts = {cluster: part for part, listed in state["parts"].items() for cluster in listed}
    return Partition(
        name=name,
        shares=tuple(state["shares"]),
        parts=parts,
        looks=state["looks"],
        ledger=tuple(Look(**entry) for entry in state["ledger"]),
        stored=text,
    )


def freeze(store: StorePlace, partition: Partition) -> Partition:
    """Write the partition to the store, unless another process changed it in between."""
    text = partition.to_json()
    with use_store(store) as opened:
        if not opened.replace_monitor(partition.name, partition.stored, text):
            remedy = "another process aligns with the same labels: wait for it, then start again"
            raise ArgumentError("store", partition.name, remedy)
    return replace(partition, stored=text)


def find_look(partition: Partition, looks: int, compared: Mapping[str, str]) -> Look | None:
    """The look that compared the same on the same rows; refuse one beyond those declared.

    Before the search `compared` has no "chosen": then any look with the same own prompt fits.
    """
    if partition.looks not in (None, looks):
        remedy = f"{partition.looks} were declared before the first: give --looks {partition.looks}"
        raise ArgumentError("looks", looks, remedy)
    for look in partition.ledger:
        if compared.items() <= vars(look).items():
            return look
    if len(partition.ledger) >= looks:
        problem = (
            "all declared looks at these labels were taken: a further one would break the level"
        )
        raise ArgumentError("looks", looks, f"{problem}; label new rows and use a new store")
    return None


def take_look(
    store: StorePlace, partition: Partition, looks: int, compared: Mapping[str, str]
) -> tuple[Partition, int]:
    """Write one look to the store before certify is asked; a resumed run takes no second one."""
    look = find_look(partition, looks, compared)
    if look is None:
        look = Look(look=len(partition.ledger) + 1, **compared)
        grown = replace(partition, looks=looks, ledger=(*partition.ledger, look))
        partition = freeze(store, grown)
    return partition, look.look
