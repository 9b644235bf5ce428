"""Prompt files: what is a placeholder, what is refused, and that data stays data."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_texts import HOSTILE_TEXTS, LONE_SURROGATE

from adjudge.errors import DataError
from adjudge.judges.interface import Data
from adjudge.judges.prompting import (
    builtin_prompt,
    check_prompt,
    fill,
    make_prompt,
    placeholders,
    read_prompt,
)
from adjudge.judges.protocols._pairwise import PLACEHOLDERS
from adjudge.judges.protocols.preference import Preference
from adjudge.records import Pair

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
        ("{prompt} {response_a} {response_b} {answer}", "{answer} is not a placeholder here"),
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
