"""prompt, chosen, rejected: the commonest layout of preferences."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge.data import open_pairs, read_public, sniff
from adjudge.errors import DataError

TALK = [{"role": "user", "content": "Hi"}]
HELLO = {"role": "assistant", "content": "Hello"}
NO = {"role": "assistant", "content": "No"}


def sides(**row: Any) -> tuple[str, str, str]:
    """The prompt, the response that the label says is better, and the other one."""
    (pair,) = open_pairs([row])
    texts = {"A": pair.response_a, "B": pair.response_b}
    better = texts.pop(pair.label)
    assert pair.extra["chosen_at"] == pair.label
    return (pair.prompt, better, *texts.values())


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "Hi", "chosen": "Hello", "rejected": "No"},
        {"question": "Hi", "chosen": "Hello", "rejected": "No"},
        {"prompt": TALK, "chosen": [HELLO], "rejected": [NO]},
        {"prompt": "Hi", "chosen": [*TALK, HELLO], "rejected": [*TALK, NO]},
        {"chosen": [*TALK, HELLO], "rejected": [*TALK, NO]},
        {
            "chosen": "\n\nHuman: Hi\n\nAssistant: Hello",
            "rejected": "\n\nHuman: Hi\n\nAssistant: No",
        },
    ],
)
def test_every_shape(row: dict[str, Any]) -> None:
    assert sniff([row]) == "chosen-rejected"
    prompt, better, worse = sides(**row)
    assert prompt.removeprefix("Human: ") in ("Hi", "\n\nHuman: Hi")
    assert (better, worse) == ("Hello", "No")


def test_sides_are_drawn_by_a_seeded_coin() -> None:
    rows = [{"prompt": f"q{i}", "chosen": "x", "rejected": "y"} for i in range(200)]
    first, again, other = (
        [pair.label for pair in open_pairs(rows, seed=seed)] for seed in (0, 0, 1)
    )
    assert first == again
    assert 70 < first.count("A") < 130
    assert 70 < sum(a != b for a, b in zip(first, other, strict=True)) < 130


def test_models_ids_and_other_columns_are_kept() -> None:
    row = {"prompt": "q", "chosen": "x", "rejected": "y", "id": "k", "score_chosen": 9.0}
    row |= {"chosen_model": "good", "rejected_model": "bad"}
    (pair,) = open_pairs([row])
    assert pair.id == "k"
    assert {pair.response_a: pair.model_a, pair.response_b: pair.model_b} == {
        "x": "good", "y": "bad",
    }  # fmt: skip
    assert pair.extra["score_chosen"] == 9.0


def test_rows_that_say_nothing() -> None:
    rows = [
        {"prompt": "q", "chosen": "x", "rejected": "x"},
        {"prompt": "q", "chosen": "x", "rejected": "y"},
    ]
    table = read_public(rows)
    assert table.frame.height == 1
    assert table.dropped == {"chosen and rejected are the same": 1}
    with pytest.raises(DataError, match="row 1, column prompt: is missing; name yours"):
        list(open_pairs([{"chosen": "x", "rejected": "y"}]))
    named = open_pairs([{"ask": "q", "chosen": "x", "rejected": "y"}], columns={"prompt": "ask"})
    assert [pair.prompt for pair in named] == ["q"]


def test_a_column_that_no_row_has_is_refused() -> None:
    rows = [{"prompt": "2+2?", "chosen": "4", "rejected": "5"}]
    pairs = open_pairs(rows, columns={"id": "key"})
    with pytest.raises(
        DataError, match="column key: is not in the file; columns here: prompt, chosen"
    ):
        list(pairs)
