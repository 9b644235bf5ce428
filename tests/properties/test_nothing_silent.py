"""Failed, repeated and contradictory rows never change a number: they are left out and counted."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tries import tried

from adjudge.data import (
    prepare_battles,
    prepare_grades,
    prepare_judgments,
    prepare_scores,
    prepare_tournaments,
)
from adjudge.data.names import parse_labels_as
from adjudge.data.rows import Rows, measured
from adjudge.data.steps.status import FAILURES
from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import estimate
from adjudge.records import MEASURED, STATUSES

Table = dict[str, list[Any]]
FAILED = sorted(set(STATUSES) - MEASURED)
seeds = st.integers(0, 10**6)
kinds = st.sampled_from(["grades", "judgments", "battles", "scores"])


def grades(rng: random.Random, n: int) -> Table:
    judge = [rng.randint(0, 1) for _ in range(n)]
    human = [rng.choice([0, 1, None]) for _ in range(n)]
    return {"id": [f"g{i}" for i in range(n)], "judge": judge, "human": human}


def judgments(rng: random.Random, n: int) -> Table:
    p_a = [rng.choice([0.1, 0.4, 0.5, 0.8, 0.97]) for _ in range(n)]
    label = [rng.choice(["A", "B", "tie", None]) for _ in range(n)]
    return {"id": [f"j{i}" for i in range(n)], "p_a": p_a, "label": label}


def battles(rng: random.Random, n: int) -> Table:
    models = [rng.sample("wxyz", 2) for _ in range(n)]
    return {
        "id": [f"b{i}" for i in range(n)],
        "model_a": [a for a, _ in models],
        "model_b": [b for _, b in models],
        "winner": [rng.choice(["model_a", "model_b", "tie"]) for _ in range(n)],
        "verdict": [rng.choice(["A", "B", "tie"]) for _ in range(n)],
    }


def scores(rng: random.Random, n: int) -> Table:
    return {
        "id": [f"s{i}" for i in range(n)],
        "doc_id": [f"d{i}" for i in range(n)],
        "judge_score": [rng.randint(1, 5) for _ in range(n)],
        "human_score": [rng.randint(1, 5) for _ in range(n)],
    }


#: The rows of a kind, their preparation, the judge's answer, and what an analysis uses of them.
KINDS: dict[str, tuple[Any, Any, str, Any]] = {
    "grades": (grades, prepare_grades, "judge", lambda rows: (*rows.judge, *map(str, rows.human))),
    "judgments": (
        judgments,
        prepare_judgments,
        "p_a",
        lambda rows: measured(Rows(rows.frame)).frame.select("id", "p_a", "verdict").rows(),
    ),
    "battles": (
        battles,
        prepare_battles,
        "verdict",
        lambda rows: [v for v in rows.verdict.tolist() if v == v],
    ),
    "scores": (
        scores,
        prepare_scores,
        "judge_score",
        lambda rows: rows.frame.drop_nulls("judge_score").select("id", "judge_score").rows(),
    ),
}


def shuffled(rows: Table, more: Table, rng: random.Random) -> pl.DataFrame:
    """The rows in their order, with the others at random places among them."""
    n = len(rows["id"])
    places = sorted([*range(n), *(rng.uniform(-1, n) for _ in more["id"])])
    mixed: Table = {name: [] for name in rows}
    left = {name: iter(values) for name, values in rows.items()}
    others = {name: iter(values) for name, values in more.items()}
    for place in places:
        source = left if isinstance(place, int) else others
        for name in mixed:
            mixed[name].append(next(source[name]))
    return pl.DataFrame(mixed, strict=False)


@pytest.mark.attack("status")
@given(kind=kinds, seed=seeds, failures=st.lists(st.sampled_from(FAILED), min_size=1, max_size=8))
def test_rows_that_failed_are_as_if_they_had_no_answer(
    kind: str, seed: int, failures: list[str]
) -> None:
    tried()
    rng = random.Random(seed)
    make, prepare, _, used = KINDS[kind]
    rows = {**make(rng, 12), "status": [rng.choice(["ok", "censored", "OK"]) for _ in range(12)]}
    bad = {**make(rng, len(failures)), "status": failures}
    bad["id"] = [f"bad{i}" for i in range(len(failures))]
    if "doc_id" in bad:
        bad["doc_id"] = bad["id"]
    assert used(prepare(shuffled(rows, bad, rng))) == used(prepare(rows))


@pytest.mark.attack("words")
@given(
    kind=kinds,
    seed=seeds,
    words=st.lists(st.sampled_from(sorted(FAILURES)), min_size=1, max_size=6),
)
def test_words_that_are_no_verdict_are_no_answer(kind: str, seed: int, words: list[str]) -> None:
    tried()
    rng = random.Random(seed)
    make, prepare, answer, used = KINDS[kind]
    rows, bad = make(rng, 12), make(rng, len(words))
    rows[answer] = [None if value is None else str(value) for value in rows[answer]]
    bad["id"] = [f"bad{i}" for i in range(len(words))]
    if "doc_id" in bad:
        bad["doc_id"] = bad["id"]
    bad[answer] = [rng.choice([word, word.upper(), f" {word.title()} "]) for word in words]
    assert used(prepare(shuffled(rows, bad, rng))) == used(prepare(rows))


@pytest.mark.attack("repeats")
@given(kind=kinds, seed=seeds, times=st.integers(1, 3))
def test_rows_that_are_there_again_count_once(kind: str, seed: int, times: int) -> None:
    tried()
    rng = random.Random(seed)
    make, prepare, _, used = KINDS[kind]
    rows = make(rng, 12)
    chosen = sorted(rng.sample(range(12), rng.randint(1, 12))) * times
    again = {name: [values[at] for at in chosen] for name, values in rows.items()}
    both = {name: rows[name] + again[name] for name in rows}
    prepared = prepare(pl.DataFrame(both, strict=False))
    assert used(prepared) == used(prepare(rows))
    assert prepared.dropped["the same row again"] == len(chosen)


@pytest.mark.attack("repeats")
@given(kind=kinds, seed=seeds)
def test_one_id_with_two_answers_is_refused(kind: str, seed: int) -> None:
    tried()
    rng = random.Random(seed)
    make, prepare, answer, _ = KINDS[kind]
    rows = make(rng, 12)
    at = rng.randrange(12)
    other = {name: [values[at]] for name, values in rows.items()}
    choices = [value for value in make(rng, 60)[answer] if value not in (None, rows[answer][at])]
    other[answer] = choices[:1]
    with pytest.raises(DataError, match="is in the file twice"):
        prepare(pl.DataFrame({name: rows[name] + other[name] for name in rows}, strict=False))


@pytest.mark.attack("status")
@given(kind=kinds, seed=seeds, word=st.text(min_size=1, max_size=12))
def test_any_other_status_is_refused_by_name(kind: str, seed: int, word: str) -> None:
    tried()
    rng = random.Random(seed)
    make, prepare, _, _ = KINDS[kind]
    status = ["ok"] * 12
    at = rng.randrange(12)
    status[at] = f"~{word}"
    with pytest.raises(DataError, match=rf"row {at + 1}, column status: .* is not known"):
        prepare({**make(rng, 12), "status": status})


@pytest.mark.attack("status")
@given(seed=seeds, failed=st.integers(0, 30))
def test_an_estimate_does_not_see_rows_that_failed(seed: int, failed: int) -> None:
    tried()
    rng = random.Random(seed)
    rows = {**grades(rng, 40), "status": ["ok"] * 40}
    bad = {**grades(rng, failed), "status": [rng.choice(FAILED) for _ in range(failed)]}
    bad["id"] = [f"bad{i}" for i in range(failed)]
    clean, mixed = estimate(rows), estimate(shuffled(rows, bad, rng))
    assert (mixed.estimate, mixed.interval) == (clean.estimate, clean.interval)
    assert sum(mixed.dropped.values()) - sum(clean.dropped.values()) == failed


@pytest.mark.attack("status")
@given(seed=seeds)
def test_tournaments_without_failed_edges(seed: int) -> None:
    tried()
    rng = random.Random(seed)
    pairs = [("x", "y"), ("x", "z"), ("y", "z")]
    rows = {
        "doc_id": [f"d{i // 3}" for i in range(9)],
        "model_a": [pairs[i % 3][0] for i in range(9)],
        "model_b": [pairs[i % 3][1] for i in range(9)],
        "verdict": [rng.choice(["A", "B", "tie"]) for _ in range(9)],
        "status": [rng.choice(["ok", "error"]) for _ in range(9)],
    }
    silent = [
        v if s == "ok" else None for v, s in zip(rows["verdict"], rows["status"], strict=True)
    ]
    one, other = (prepare_tournaments(table) for table in (rows, {**rows, "verdict": silent}))
    assert one.dropped == other.dropped
    assert [t.winner.tolist() for t in one.tournaments] == [
        t.winner.tolist() for t in other.tournaments
    ]


words = st.text("abcxyzÄß01. -", min_size=1, max_size=6).filter(
    lambda word: word.strip(" -.") != ""
)


@pytest.mark.attack("options")
@given(word=words, others=st.lists(words, max_size=4), seed=seeds)
def test_a_word_with_two_meanings_is_refused(word: str, others: list[str], seed: int) -> None:
    tried()
    rng = random.Random(seed)
    again = rng.choice([word, word.upper(), word.lower(), f" {word} "])
    if again.strip().lower() != word.strip().lower():
        again = word  # "ß" in capitals is another word
    pairs = [f"{word}=A", f"{again}=B", *(f"{w}=B" for w in others)]
    rng.shuffle(pairs)
    with pytest.raises(ArgumentError, match="one meaning"):
        parse_labels_as(",".join(pairs))


@pytest.mark.attack("rows that do not count")
@given(first=st.integers(2**53, 2**62), fraction=st.floats(0.1, 0.9), n=st.integers(2, 8))
def test_large_ids_next_to_a_fraction_stay_apart(first: int, fraction: float, n: int) -> None:
    tried()
    ids = [str(first + at) for at in range(n)]
    text = "id,judge,human\n" + "".join(f"{one},1,1\n" for one in ids) + f"{fraction!r},0,0\n"
    Path("rows.csv").write_text(text)
    assert prepare_grades("rows.csv").frame["id"].to_list()[:n] == ids


@pytest.mark.attack("rows that do not count")
@given(seed=seeds, kind=st.sampled_from(["case", "blanks", "other"]))
def test_labels_of_no_row_are_refused_with_their_ids(seed: int, kind: str) -> None:
    tried()
    rows = judgments(random.Random(seed), 12)
    change = {"case": str.upper, "blanks": lambda one: f"  {one}", "other": lambda one: f"x{one}"}
    labels = {"id": [change[kind](one) for one in rows["id"]], "label": ["A"] * 12}
    del rows["label"]
    with pytest.raises(DataError, match=repr(labels["id"][0])) as caught:
        prepare_judgments(rows, labels=labels)
    hint = {"case": "case", "blanks": "blanks|spaces", "other": ""}[kind]
    assert re.search(hint, str(caught.value))
