"""Prompt files: what is a placeholder, what is refused, and that data stays data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile_texts import HOSTILE_TEXTS, LONE_SURROGATE

from adjudge.errors import DataError
from adjudge.judges.backends.simulated import SimulatedBackend
from adjudge.judges.flow import Progress
from adjudge.judges.interface import Data, Question
from adjudge.judges.judging import JudgingRun, judge_pairs, plan_judging
from adjudge.judges.prompting import (
    builtin_prompt,
    check_prompt,
    fill,
    make_prompt,
    placeholders,
    read_prompt,
)
from adjudge.judges.protocols._choices import PLACEHOLDERS
from adjudge.judges.protocols.preference import Preference
from adjudge.records import Item, Pair, Reply, Subject

HOSTILE = [*(text for _, text in HOSTILE_TEXTS), LONE_SURROGATE]
NAMES = [*(name for name, _ in HOSTILE_TEXTS), "lone_surrogate"]


def hostile_pair(text: str) -> Pair:
    return Pair(id="1", prompt=f"q {text}", response_a=f"a {text}", response_b=f"b {text}")


def plain_pair() -> Pair:
    return Pair(id="1", prompt="q", response_a="a", response_b="b")


@pytest.mark.parametrize("text", HOSTILE, ids=NAMES)
def test_judged_text_never_changes_the_structure(text: str) -> None:
    plain = Preference().questions(plain_pair())
    hostile = Preference().questions(hostile_pair(text))
    for calm, wild in zip(plain, hostile, strict=True):
        assert [m.role for m in wild.messages] == [m.role for m in calm.messages]
        for m, n in zip(wild.messages, calm.messages, strict=True):
            assert [type(p) for p in m.parts] == [type(p) for p in n.parts]
            ours = [p for p in m.parts if isinstance(p, str)]
            assert ours == [p for p in n.parts if isinstance(p, str)]
    shown = [p.text for p in hostile[0].messages[-1].parts if isinstance(p, Data)]
    assert shown == [f"q {text}", f"a {text}", f"b {text}"]
    swapped = [p.text for p in hostile[1].messages[-1].parts if isinstance(p, Data)]
    assert swapped == [f"q {text}", f"b {text}", f"a {text}"]


def test_filled_text_is_not_filled_again() -> None:
    prompt = make_prompt("p", "{prompt}|{response_a}")
    message = fill(prompt, {"prompt": Data("{response_a}"), "response_a": Data("{prompt}")})[0]
    assert message.text == "{response_a}|{prompt}"


def test_a_value_of_several_parts_keeps_data_apart_from_words() -> None:
    prompt = make_prompt("p", "before {prompt} after")
    message = fill(prompt, {"prompt": ["Example: ", Data("x"), "."]})[0]
    assert message.parts == ("before ", "Example: ", Data("x"), ".", " after")


def test_roles_and_literal_braces() -> None:
    text = '--- system ---\nGive {"a": {"b": 1}} and {{prompt}}.\n--- user ---\n{prompt}\n'
    prompt = make_prompt("p", text)
    assert placeholders(prompt) == {"prompt"}
    system, user = fill(prompt, {"prompt": Data("x")})
    assert system.role == "system"
    assert system.text == 'Give {"a": {"b": 1}} and {prompt}.'
    assert user.parts == (Data("x"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{prompt} {response_a}", "the placeholder {response_b} is missing"),
        ("{prompt} {response_a} {{response_b}}", "write {response_b} with single braces"),
        ("{prompt} {response_a} {response_b} {label}", "{label} would show the judge what people"),
        ("hello\n--- user ---\n{prompt}", "there is text before the first role line: 'hello'"),
        ("--- system ---\n\n--- user ---\n{prompt}", "the system message is empty"),
    ],
)
def test_a_prompt_that_cannot_work_is_refused_in_one_line(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        check_prompt(read_prompt(path), required=PLACEHOLDERS)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("mine.txt: ")


def test_files_that_are_no_prompts(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none.txt: no such file"):
        read_prompt(tmp_path / "none.txt")
    with pytest.raises(DataError, match="is a folder"):
        read_prompt(tmp_path)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 {prompt}")
    with pytest.raises(DataError, match="is not UTF-8 at byte 3"):
        read_prompt(tmp_path / "latin.txt")
    (tmp_path / "big.txt").write_bytes(b"x" * 1_000_001)
    with pytest.raises(DataError, match="larger than 1 MB"):
        read_prompt(tmp_path / "big.txt")


def test_the_hash_follows_the_words_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    (tmp_path / "b.txt").write_bytes(b"one\ntwo")
    (tmp_path / "c.txt").write_bytes(b"one\ntwo ")
    a, b, c = (read_prompt(tmp_path / f"{name}.txt").sha256 for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize("text", HOSTILE, ids=NAMES)
def test_a_prompt_of_the_users_own_is_as_safe(text: str) -> None:
    prompt = make_prompt("own", "{response_b}/{prompt}/{response_a}/{prompt}")
    first, second = Preference(prompt=prompt).questions(hostile_pair(text))
    assert first.messages[0].text == f"b {text}/q {text}/a {text}/q {text}"
    assert second.messages[0].text == f"a {text}/q {text}/b {text}/q {text}"


def test_the_built_in_preference_prompt_has_the_papers_structure() -> None:
    prompt = builtin_prompt("preference")
    assert placeholders(prompt) == set(PLACEHOLDERS)
    assert "impartial judge" in prompt.text
    assert prompt.text.rstrip().endswith("Reply with A or B only.")


# --- columns of the row ------------------------------------------------------------------------

WORDS = "{prompt} {response_a} {response_b}"


def with_columns(**columns: object) -> Pair:
    models = {"model_a": "m1", "model_b": "m2"}
    return Pair(id="1", prompt="q", response_a="a", response_b="b", **models, extra=columns)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text {prompt}", "text {prompt}"),
        (3, "3"),
        (0.5, "0.5"),
        (True, "true"),
        (["x", None, {"é": 1}], '["x", null, {"é": 1}]'),
        (
            [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
            "[user]\nhi\n\n[assistant]\nyo",
        ),
    ],
)
def test_a_column_is_shown_as_text_that_is_judged(value: object, shown: str) -> None:
    prompt = make_prompt("mine.txt", WORDS + " {reference}")
    first, second = Preference(prompt=prompt).questions(with_columns(reference=value))
    assert first.messages[0].parts[-1] == Data(shown) == second.messages[0].parts[-1]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_columns_stay_data(text: str) -> None:
    prompt = make_prompt("mine.txt", "--- system ---\n{my_Notes}\n--- user ---\n" + WORDS)
    system, user = Preference(prompt=prompt).questions(with_columns(my_Notes=text))[0].messages
    assert system.parts == (Data(text),)
    assert user.role == "user"


def test_columns_about_one_side_change_places_with_the_answers() -> None:
    prompt = make_prompt("mine.txt", WORDS + " {model_a}/{model_b} {notes_a} {plan_b}")
    pair = with_columns(notes_a="na", notes_b="nb", plan_b="one for both")
    ab, ba = (question.messages[0].text for question in Preference(prompt=prompt).questions(pair))
    assert ab == "q a b m1/m2 na one for both"
    assert ba == "q b a m2/m1 nb one for both"


def ask_with(tmp_path: Path, rows: list[dict[str, object]], **options: object) -> JudgingRun:
    (tmp_path / "mine.txt").write_text(WORDS + " {reference} {notes_a}")
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return judge_pairs(
        pairs, judge="simulated:", prompt=tmp_path / "mine.txt", store=None, **options
    )


def test_a_missing_column_is_named_with_its_row_before_anything_is_asked(tmp_path: Path) -> None:
    whole = {"prompt": "q", "response_a": "a", "response_b": "b", "reference": "r", "notes_a": 1}
    asked: list[Progress] = []
    rows = [{**whole, "id": str(n)} for n in range(3)]
    assert ask_with(tmp_path, rows, progress=asked.append).summary.measured == 3
    asked.clear()
    for column, value in (("reference", None), ("notes_a", None)):
        broken = [*rows[:2], {**rows[2], column: value}]
        with pytest.raises(DataError) as caught:
            ask_with(tmp_path, broken, progress=asked.append)
        said = str(caught.value)
        assert f"pairs.jsonl, row 3, column {column}: is missing, and the prompt mine.txt" in said
        assert "\n" not in said
        with pytest.raises(DataError, match="row 3"):
            plan_judging(tmp_path / "pairs.jsonl", judge="simulated:", prompt=tmp_path / "mine.txt")
    assert not asked


def test_a_sound_in_a_column_is_refused_with_its_row(tmp_path: Path) -> None:
    image = [{"role": "user", "content": [{"type": "input_audio", "data": "x"}]}]
    row = {"prompt": "q", "response_a": "a", "response_b": "b", "notes_a": "n", "id": "1"}
    with pytest.raises(
        DataError, match=r"row 1, column reference: message 1 contains a part of type"
    ):
        ask_with(tmp_path, [{**row, "reference": image}])


@pytest.mark.parametrize("protocol", ["verbalized", "rubric", "criterion", "annotators", "likert"])
def test_every_protocol_with_a_prompt_takes_columns(tmp_path: Path, protocol: str) -> None:
    (tmp_path / "mine.txt").write_text(
        "{prompt} {response} {criterion} {my_column}"
        if protocol == "likert"
        else WORDS
        + ("{criterion}" if protocol == "criterion" else "")
        + " {my_column}\n--- answer ---\nconfidence: 0.5 to 1"
    )
    seen = []

    class Watching(SimulatedBackend):
        async def ask_about(self, subject: Subject, question: Question) -> Reply:
            seen.append(question.messages[-1].text)
            return await super().ask_about(subject, question)

    pair = Pair(id="1", prompt="q", response_a="a", response_b="b", extra={"my_column": "mine!"})
    item = Item(id="1", prompt="q", response="a", extra={"my_column": "mine!"})
    shown = [replace(pair, id=f"d{i}", prompt=f"q{i}", label="A") for i in range(5)]
    judge_pairs(
        [item if protocol == "likert" else pair],
        judge=Watching(),
        protocol=protocol,
        prompt=tmp_path / "mine.txt",
        store=None,
        demonstrations=shown if protocol == "annotators" else None,
    )
    assert seen
    assert all("mine!" in text for text in seen)


def test_a_tournament_shows_what_its_items_share(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(WORDS + " {criterion} {article}")
    items = tmp_path / "items.jsonl"
    row = {"doc_id": "d", "prompt": "q", "response": "r", "article": "the article"}
    rows = [{**row, "id": model, "model": model} for model in "xyz"]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options: dict[str, Any] = {"protocol": "criterion", "prompt": tmp_path / "mine.txt"}
    run = judge_pairs(items, judge="simulated:", store=None, **options)
    assert set(run.judgments["article"]) == {"the article"}
    rows[2]["article"] = "another"
    items.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="row 2, column article: is missing"):
        judge_pairs(items, judge="simulated:", store=None, **options)


def test_demonstrations_need_the_columns_too(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(WORDS + " {reference}")
    shown = [
        Pair(id=f"d{i}", prompt=f"q{i}", response_a="a", response_b="b", label="A")
        for i in range(5)
    ]
    with pytest.raises(DataError, match="demonstrations, row 1, column reference: is missing"):
        judge_pairs(
            [with_columns(reference="r")],
            judge="simulated:",
            protocol="annotators",
            prompt=tmp_path / "mine.txt",
            demonstrations=shown,
            store=None,
        )
