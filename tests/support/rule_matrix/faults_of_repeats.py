"""Faults of repeats: rows that are in a file again, or ids that are merely alike."""

from __future__ import annotations

from collections.abc import Iterator

from rule_matrix.faults_of_labels import ALIKE, can_be_numbered, numbered
from rule_matrix.rows import Row, opposite
from rule_matrix.rule import Fault, Rule, opposite_answer
from rule_matrix.spellings import Spellings
from rule_matrix.verbs import Use

#: How many rows are there again.
_AGAIN = 8
_NAMES = ("again", "twice", "repeated", "also the id")


def the_same_rows_again(use: Use, _: Spellings) -> Iterator[Fault]:
    """Equal rows are used once, and counted."""
    if "id" in use.files.rows[0]:
        rows = [*use.files.rows, *use.files.rows[:_AGAIN]]
        yield Fault("equal", use.files.with_table("rows", rows), use.files, _NAMES)


def one_id_with_other_content(use: Use, _: Spellings) -> Iterator[Fault]:
    """Rows of one id, judge and protocol that differ are refused."""
    if "id" not in use.files.rows[0]:
        return
    changed = [_with_other_content(use, row) for row in use.files.rows[:_AGAIN]]
    rows = [*use.files.rows, *changed]
    yield Fault("other answer", use.files.with_table("rows", rows), use.files, _NAMES)


def _with_other_content(use: Use, row: Row) -> Row:
    if use.answers:
        return opposite_answer(use, row)
    column = "response_a" if "response_a" in row else "prompt_id"
    return {**row, column: f"{row[column]} changed"}


def the_same_battle_with_swapped_sides(use: Use, _: Spellings) -> Iterator[Fault]:
    """A battle with its sides swapped is the same battle."""
    if "score_a" in use.files.rows[0] or "human_pref" in use.files.rows[0]:
        swapped = [_swapped(row) for row in use.files.rows[:_AGAIN]]
        faulted = use.files.with_table("rows", [*use.files.rows, *swapped])
        yield Fault("agrees", faulted, use.files, [*_NAMES, "swapped"])


def another_battle_with_swapped_sides(use: Use, _: Spellings) -> Iterator[Fault]:
    """With swapped sides and another outcome it is refused: a column `order` tells them apart."""
    if "score_a" in use.files.rows[0] or "human_pref" in use.files.rows[0]:
        swapped = [_opposite_battle(_swapped(row)) for row in use.files.rows[:_AGAIN]]
        faulted = use.files.with_table("rows", [*use.files.rows, *swapped])
        yield Fault("disagrees", faulted, use.files, ["order"])


_SIDES = {"model_a": "model_b", "model_b": "model_a", "score_a": "score_b", "score_b": "score_a"}


def _swapped(row: Row) -> Row:
    swapped = {column: row[_SIDES.get(column, column)] for column in row}
    if "human_pref" in row:
        swapped["human_pref"] = opposite("human_pref", row["human_pref"])
    return swapped


def _opposite_battle(row: Row) -> Row:
    outcomes = ("human_pref", "score_a", "score_b")
    return {
        column: opposite(column, value) if column in outcomes else value
        for column, value in row.items()
    }


def ids_nearly_equal(use: Use, spellings: Spellings) -> Iterator[Fault]:
    """Ids that are equal without blanks, case, Unicode or number form are named, never merged."""
    if "id" not in use.files.rows[0]:
        return
    for title, respell in spellings.ids.items():
        if title == "number form" and not can_be_numbered(use.files):
            continue
        reference = numbered(use.files) if title == "number form" else use.files
        alike = [_of_another_document(row, respell(row["id"])) for row in reference.rows[:_AGAIN]]
        faulted = reference.with_table("rows", [*reference.rows, *alike])
        yield Fault(title, faulted, reference, ALIKE)


def _of_another_document(row: Row, id_: str) -> Row:
    """The row with this id; scores of one document and model are the same row by that alone."""
    other = {"doc_id": f"more {row['doc_id']}"} if "doc_id" in row else {}
    return {**row, **other, "id": id_}


RULES = (
    Rule("the same row again", "repeats", "counted", the_same_rows_again),
    Rule("one id, other content", "repeats", "refused", one_id_with_other_content),
    Rule("a battle with swapped sides", "repeats", "counted", the_same_battle_with_swapped_sides),
    Rule(
        "another battle with swapped sides",
        "repeats",
        "refused",
        another_battle_with_swapped_sides,
    ),
    Rule("ids nearly equal", "repeats", "named", ids_nearly_equal),
)
