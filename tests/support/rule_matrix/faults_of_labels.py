"""Faults of labels: who made them and from what, how their rows were drawn, how ids are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from rule_matrix.files import Files
from rule_matrix.rows import Row, opposite
from rule_matrix.rule import Fault, Rule, rename
from rule_matrix.spellings import Spellings
from rule_matrix.verbs import Use


@dataclass(frozen=True)
class Origin:
    """A column about the origin of a label: its usual value, another, and what names that one."""

    column: str
    usual: str
    other: str
    names: Sequence[str]


BY_MODEL = Origin("labelled_by", "person", "model", ("by a model", "by models"))
FROM_JUDGE = Origin("started_from", "nothing", "judge", ("started from the judge",))
BY_DOUBT = Origin("sampled_by", "random", "doubt", ("by doubt", "is doubt"))
BROWSED = Origin("sampled_by", "random", "browsed", ("browsed",))


def labels_by_a_model(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """Labels that a model made are no labels of people."""
    yield from _labels_of(BY_MODEL, use, ["labelled_by", *spellings.names_like("labelled_by")])


def labels_started_from_the_judge(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """Labels that began with the judge's answer are not used: their rows are unlabelled."""
    yield from _labels_of(FROM_JUDGE, use, ["started_from", *spellings.names_like("started_from")])


def labels_sampled_by_doubt(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """Labels of rows that were chosen, not drawn, are not used: their rows are unlabelled."""
    yield from _labels_of(BY_DOUBT, use, ["sampled_by", *spellings.names_like("sampled_by")])
    yield from _labels_of(BROWSED, use, ["sampled_by"])


def origins_in_another_case(use: Use, _: Spellings) -> Iterator[Fault]:
    """MODEL, JUDGE and DOUBT are refused as unknown words or read as ours; never ignored."""
    exemption = use.exemption("sampled_by doubt")
    ignored = exemption is not None and exemption.expected is None
    for origin in (BY_MODEL, FROM_JUDGE, *([] if ignored else [BY_DOUBT])):
        word = origin.other.upper()
        in_capitals = replace(origin, other=word, names=[word, *origin.names])
        yield from _labels_of(in_capitals, use, [origin.column])


def _labels_of(origin: Origin, use: Use, headers: Sequence[str]) -> Iterator[Fault]:
    """Every third label is of the other origin, and the opposite of what it was.

    The reference has no such labels: their rows are unlabelled. Where labels are kept as they are,
    it has them, with the other origin in lower case.
    """
    if not use.people:
        return
    column = origin.column
    plain = _with_origin(use, column, origin.usual)
    table = plain.tables[use.labels_table]
    labelled = [at for at, row in enumerate(table) if row[use.people] is not None]
    chosen = set(labelled[::3])
    rows = [
        {**row, use.people: opposite(use.people, row[use.people]), column: origin.other}
        if at in chosen
        else row
        for at, row in enumerate(table)
    ]
    reference = _without_labels(use, plain, chosen)
    if use.keeps_labels:
        word = origin.other.lower()
        kept = [{**row, column: word} if at in chosen else row for at, row in enumerate(rows)]
        reference = plain.with_table(use.labels_table, kept)
    for header in headers:
        faulted = plain.with_table(use.labels_table, rename(rows, column, header))
        yield Fault(f"{header}, {origin.other}", faulted, reference, origin.names)


def _with_origin(use: Use, column: str, value: str) -> Files:
    def add_origin(row: Row) -> Row:
        return {**row, column: value if row[use.people] is not None else None}

    return use.files.change(use.labels_table, add_origin)


def _without_labels(use: Use, files: Files, chosen: set[int]) -> Files:
    """The files without some labels: without their rows in a file of labels."""
    table = files.tables[use.labels_table]
    if use.labels_table == "labels":
        rows = [row for at, row in enumerate(table) if at not in chosen]
    else:
        emptied = {use.people, "labelled_by", "started_from", "sampled_by"}
        rows = [
            {column: None if column in emptied else value for column, value in row.items()}
            if at in chosen
            else row
            for at, row in enumerate(table)
        ]
    return files.with_table(use.labels_table, rows)


def doubt_beside_random(use: Use, _: Spellings) -> Iterator[Fault]:
    """Some ids were labelled again because of the judge's answer: the random label stays."""
    if "labels" not in use.files.tables:
        return
    of_a_rater = use.files.change("labels", lambda label: {**label, "rater": "r1"})
    raters = {
        "no rater": (use.files, {}),
        "same rater": (of_a_rater, {}),
        "other rater": (of_a_rater, {"rater": "r2"}),
    }
    for origin, (title, (reference, change)) in product(("doubt", "surest"), raters.items()):
        labels = reference.tables["labels"]
        same = [{**label, **change, "sampled_by": origin} for label in labels[::3]]
        other = [{**label, "label": opposite("label", label["label"])} for label in same]
        for which, again in (("same label", same), ("other label", other)):
            faulted = reference.with_table("labels", [*labels, *again])
            yield Fault(f"{origin}, {title}, {which}", faulted, reference, [f"by {origin}"])


def ids_of_labels_nearly_equal(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """Half of the labels match a row only without blanks, case, Unicode or number form."""
    if "labels" not in use.files.tables:
        return
    for title, respell in spellings.ids.items():
        if title == "number form" and not can_be_numbered(use.files):
            continue
        files = numbered(use.files) if title == "number form" else use.files
        labels = files.tables["labels"]
        respelled = [
            {**label, "id": respell(label["id"])} if number % 2 else label
            for number, label in enumerate(labels)
        ]
        faulted = files.with_table("labels", respelled)
        reference = files.with_table("labels", labels[::2])
        yield Fault(title, faulted, reference, ALIKE)


#: How a message says that ids are alike.
ALIKE = (
    *("blank", "blanks", "space", "spaces", "letter case", "case", "nearly"),
    *("would match", "number form", "Unicode"),
)


def can_be_numbered(files: Files) -> bool:
    """Whether no other file has the ids of the rows: the state of a monitor has them."""
    return "monitor.json" not in files.texts


def numbered(files: Files) -> Files:
    """The files with whole numbers, written as text, as ids."""
    numbers = {row["id"]: str(number) for number, row in enumerate(files.rows, 100)}

    def number_row(row: Row) -> Row:
        return {**row, "id": numbers.get(row["id"], row["id"])}

    for table, rows in files.tables.items():
        if "id" in rows[0]:
            files = files.change(table, number_row)
    return files


def labels_that_changed(use: Use, _: Spellings) -> Iterator[Fault]:
    """A third of the labels were others when the same analysis looked before."""
    if "first" not in use.files.tables:
        return
    first = [
        {**label, "label": opposite("label", label["label"])} if number % 3 == 0 else label
        for number, label in enumerate(use.files.tables["first"])
    ]
    names = ["changed", "flipped", "other label", "before"]
    yield Fault("a third", use.files.with_table("first", first), use.files, names)


RULES = (
    Rule("labelled_by model", "labels", "refused", labels_by_a_model),
    Rule("started_from judge", "labels", "counted", labels_started_from_the_judge),
    Rule("sampled_by doubt", "labels", "counted", labels_sampled_by_doubt),
    Rule("case of origin words", "labels", "named", origins_in_another_case),
    Rule("doubt beside random", "labels", "counted", doubt_beside_random),
    Rule("label ids nearly equal", "labels", "counted", ids_of_labels_nearly_equal),
    Rule("labels that changed", "looks", "named", labels_that_changed),
)
