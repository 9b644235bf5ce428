"""Models that read images in other ways: the numbers of their own processor, for both orders."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: transformers untested")
hub = pytest.importorskip("transformers", reason="transformers is not installed")

from looking import draw_shape  # noqa: E402
from PIL import Image as Pillow  # noqa: E402
from seeing_families import write_gemma, write_idefics  # noqa: E402

from adjudge.images import keep_bytes  # noqa: E402
from adjudge.judges.backends.transformers import TransformersBackend  # noqa: E402
from adjudge.judges.interface import Choice, Data, Message, Question  # noqa: E402
from adjudge.records import Image, Reply  # noqa: E402

CONTENT = {kind: draw_shape(kind) for kind in ("circle", "square")}
ORDERS = list(permutations(CONTENT))


def question(kinds: tuple[str, ...]) -> Question:
    first, second = (Image(keep_bytes(CONTENT[kind], kind), kind) for kind in kinds)
    parts = ("which: ", first, " or ", second, Data(" 1?"))
    return Question((Message("user", parts),), Choice(("A", "B")))


async def ask_all(folder: Path) -> list[Reply]:
    backend = TransformersBackend(str(folder), device="cpu")
    await backend.start()
    try:
        return list(await asyncio.gather(*(backend.ask(question(kinds)) for kinds in ORDERS)))
    finally:
        await backend.close()


def read_by_processor(folder: Path, kinds: tuple[str, ...]) -> tuple[Any, Any]:
    """The log probabilities of the next token, and the tokens of the prompt."""
    processor = hub.AutoProcessor.from_pretrained(folder)
    model = hub.AutoModelForImageTextToText.from_pretrained(folder, dtype="float32").eval()
    image = {"type": "image"}
    words = [{"type": "text", "text": text} for text in ("which: ", " or ", " 1?")]
    turn = {"role": "user", "content": [words[0], image, words[1], image, words[2]]}
    text = processor.apply_chat_template([turn], add_generation_prompt=True, tokenize=False)
    pictures = [[Pillow.open(io.BytesIO(CONTENT[kind])).convert("RGB") for kind in kinds]]
    how: dict[str, Any] = {"return_tensors": "pt", "add_special_tokens": False}
    inputs = processor(text=[text], images=pictures, **how)
    with torch.no_grad():
        logits = model(**inputs).logits[0, -1]
    return torch.log_softmax(logits, -1), inputs["input_ids"][0]


@pytest.mark.parametrize("write", [write_idefics, write_gemma])
def test_letters_are_those_of_the_models_own_processor(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    folder = write(tmp_path)
    replies = asyncio.run(ask_all(folder))
    letters = hub.AutoTokenizer.from_pretrained(folder)
    for kinds, reply in zip(ORDERS, replies, strict=True):
        logs, tokens = read_by_processor(folder, kinds)
        assert (reply.status, reply.error) == ("ok", None)
        assert reply.prompt_tokens == len(tokens)
        assert reply.logprobs is not None
        for letter in "AB":
            (token,) = letters(letter, add_special_tokens=False)["input_ids"]
            assert reply.logprobs[letter] == pytest.approx(float(logs[token]), abs=1e-4)
    assert replies[0].logprobs != replies[1].logprobs
