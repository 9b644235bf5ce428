"""One matcher of judges: what is the same, what is another, and which part of it differs."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from adjudge.data.rows import Identity, identities
from adjudge.errors import PolicyMismatchError, StoreError
from adjudge.judges.judge import match_judge
from adjudge.store import open_store

OLD = Identity("gpt", "preference", "f1", {"model": "gpt", "prompt": "p1"})


def differs(known: Identity, given: Identity, **options: object) -> tuple[tuple[str, ...], str]:
    with pytest.raises(PolicyMismatchError) as caught:
        match_judge([known], given, **options)  # type: ignore[arg-type]
    return caught.value.differs, str(caught.value)


def test_equal_fingerprints_are_one_judge_whatever_it_is_called() -> None:
    other = Identity("claude", "preference", "f2")
    renamed = Identity("my judge", "preference", "f1")
    assert match_judge([other, OLD], renamed).positions == (1,)
    parts, text = differs(OLD, renamed, by_name=True)
    assert parts == ("judge",)
    assert "made for gpt (preference), not for my judge (preference)" in text


def test_another_fingerprint_is_another_judge_and_its_parts_are_named() -> None:
    parts, text = differs(
        OLD, Identity("gpt", "preference", "f2", {"model": "gpt", "prompt": "p2"})
    )
    assert parts == ("prompt",)
    assert text.endswith("(differs: prompt); calibrate on judgments of this one")
    parts, text = differs(OLD, Identity("gpt", "preference", "f2"))
    assert parts == ("judge_fingerprint",)
    assert "prompt, weights, engine or settings differ" in text
    parts, _ = differs(Identity("gpt", "preference", "f1"), Identity("claude", "preference", "f2"))
    assert parts == ("judge",)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (Identity("claude", "preference"), "judge"),
        (Identity("gpt", "likelihood"), "protocol"),
    ],
)
def test_without_a_fingerprint_the_name_decides(given: Identity, part: str) -> None:
    assert differs(OLD, given)[0] == (part,)
    assert differs(Identity("gpt", "preference"), given)[0] == (part,)


def test_what_could_not_be_compared_is_remarked() -> None:
    nameless = Identity("gpt", "preference")
    assert match_judge([OLD], nameless).remark == (
        "rows of gpt (preference) have no judge_fingerprint: compared by name"
    )
    assert match_judge([nameless], OLD, made="the anchors file").remark == (
        "the anchors file has no judge_fingerprint of gpt (preference): compared by name"
    )
    unknown = match_judge([OLD], Identity())
    assert unknown.remark is not None
    assert "the rows do not name their judge" in unknown.remark
    assert match_judge([OLD], OLD).remark is None


def test_a_judge_with_a_fingerprint_is_not_taken_for_one_with_another() -> None:
    known = [Identity("gpt", "preference", "f1"), Identity("gpt", "preference", None)]
    assert match_judge(known, Identity("gpt", "preference", "f2")).positions == (1,)


def test_judges_of_a_frame_are_told_apart_by_all_three() -> None:
    frame = pl.DataFrame({"judge": ["a", "a", "b"], "judge_fingerprint": ["f", None, "g"]})
    assert identities(frame) == [
        Identity("a", None, None),
        Identity("a", None, "f"),
        Identity("b", None, "g"),
    ]
    assert identities(frame.select(pl.lit(1))) == [Identity()]


def test_the_store_names_the_parts_and_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    store = open_store(path)
    store.remember_judge("f2", judge="gpt", protocol="preference", parts={"model": "gpt"})
    store.close()
    before = path.read_bytes(), sorted(tmp_path.iterdir())
    os.chmod(path, 0o444)
    assert differs(OLD, Identity("gpt", "preference", "f2"), store=path)[0] == ("prompt",)
    assert before == (path.read_bytes(), sorted(tmp_path.iterdir()))
    missing = tmp_path / "none.db"
    assert differs(OLD, Identity("gpt", "preference", "f2"), store=missing)[0] == (
        "judge_fingerprint",
    )
    assert not missing.exists()
    (tmp_path / "text.db").write_text("not a store, whatever its name says")
    with pytest.raises(StoreError, match=r"text\.db"):
        match_judge([OLD], Identity("gpt", "preference", "f2"), store=tmp_path / "text.db")
