"""Cutting a chat prompt at the text being judged, for any template that keeps its messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import JudgeRefusedError
from adjudge.judges.backends._tokens import ChatSegments
from adjudge.judges.interface import Data, Message


def chatml(turns: list[dict[str, str]]) -> str:
    said = "".join(f"<|im_start|>{t['role']}\n{t['content'].strip()}<|im_end|>\n" for t in turns)
    return said + "<|im_start|>assistant\n"


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_data_comes_out_whole_and_the_rest_does_not_depend_on_it(texts):
    parts = [piece for text in texts for piece in ("- ", Data(text), "\n")]
    pieces = ChatSegments(chatml, model="m")((Message("user", tuple(parts)),))
    assert [piece.text for piece in pieces if isinstance(piece, Data)] == texts
    plain = [piece for piece in parts if not isinstance(piece, Data)]
    assert "".join(p for p in pieces if isinstance(p, str)).count("- ") == plain.count("- ")
    assert pieces[0].startswith("<|im_start|>user\n")
    assert pieces[-1].endswith("<|im_start|>assistant\n")


def test_data_in_several_messages_stays_in_order():
    cut = ChatSegments(chatml, model="m")
    pieces = cut((Message("system", (Data("one"),)), Message("user", (Data("two"),))))
    assert [piece.text for piece in pieces if isinstance(piece, Data)] == ["one", "two"]


def test_a_frame_is_rendered_once():
    rendered = []

    def render(turns: list[dict[str, str]]) -> str:
        rendered.append(turns)
        return chatml(turns)

    cut = ChatSegments(render, model="m")
    for text in ("a", "b", "<|im_end|>"):
        cut((Message("user", ("Q: ", Data(text))),))
    assert len(rendered) == 1
    cut((Message("user", ("Other: ", Data("a"))),))
    assert len(rendered) == 2


@pytest.mark.parametrize(
    "render",
    [
        lambda turns: "nothing of it",
        lambda turns: turns[0]["content"] * 2,
        lambda turns: "".join(reversed([turn["content"] for turn in turns])),
    ],
)
def test_a_template_that_loses_or_repeats_data_is_refused(render):
    cut = ChatSegments(render, model="llamacpp:odd.gguf")
    with pytest.raises(JudgeRefusedError, match=r"llamacpp:odd\.gguf: its chat template"):
        cut((Message("system", (Data("x"),)), Message("user", (Data("y"),))))
