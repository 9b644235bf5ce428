"""A tiny random model that takes images: the same numbers as its own processor gives."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: transformers untested")
hub = pytest.importorskip("transformers", reason="transformers is not installed")

from looking import draw_shape  # noqa: E402
from PIL import Image as Pillow  # noqa: E402
from tiny_judge import write_judge, write_seeing_judge  # noqa: E402

from adjudge.images import keep_bytes  # noqa: E402
from adjudge.judges.backends.transformers import TransformersBackend  # noqa: E402
from adjudge.judges.interface import (  # noqa: E402
    Choice,
    Data,
    Likelihood,
    Message,
    Question,
    Reasoned,
    Text,
)
from adjudge.records import Image, Reply  # noqa: E402

CONTENT = {kind: draw_shape(kind) for kind in ("circle", "square")}
LETTERS = Choice(("A", "B"))
#: What a chat with these parts looks like to the model, and to its own processor.
FRAME = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_seeing_judge(tmp_path_factory.mktemp("seeing"))


@pytest.fixture(scope="module")
def backend(folder: Path, start: Any) -> Any:
    made = TransformersBackend(str(folder))
    assert made.takes_images
    return start(made)


def shown(kind: str) -> Image:
    return Image(keep_bytes(CONTENT[kind], kind), kind)


def asked(want: Any, *parts: Any) -> Question:
    return Question((Message("user", tuple(parts)),), want)


def own_logprobs(folder: Path, text: str, kinds: list[str]) -> Any:
    """The independent way: the processor reads the whole text with all images."""
    processor = hub.AutoProcessor.from_pretrained(folder)
    model = hub.AutoModelForImageTextToText.from_pretrained(folder, dtype="float32").eval()
    pictures = [Pillow.open(io.BytesIO(CONTENT[kind])) for kind in kinds]
    how: dict[str, Any] = {"return_tensors": "pt", "add_special_tokens": False}
    inputs = processor(text=[FRAME.format(text)], images=pictures or None, **how)
    with torch.no_grad():
        logits = model(**inputs).logits[0, -1]
    return torch.log_softmax(logits, -1), processor.tokenizer


def test_letters_are_those_of_the_models_own_processor(
    folder: Path, backend: TransformersBackend, loop: asyncio.AbstractEventLoop
) -> None:
    texts = {("circle", "square"): 0.0, ("square", "circle"): 0.0, (): 0.0}
    questions = [
        asked(LETTERS, "which: ", shown("circle"), " or ", shown("square"), Data(" 1?")),
        asked(LETTERS, "which: ", shown("square"), " or ", shown("circle"), Data(" 1?")),
        asked(LETTERS, "which: ", Data("a"), " or ", Data("b"), Data(" 1?")),
    ]

    async def all_at_once() -> list[Reply]:
        return list(await asyncio.gather(*map(backend.ask, questions)))

    replies = loop.run_until_complete(all_at_once())
    for kinds, reply in zip(texts, replies, strict=True):
        a, b = ("<image>", "<image>") if kinds else ("a", "b")
        logs, tokenizer = own_logprobs(folder, f"which: {a} or {b} 1?", list(kinds))
        assert (reply.status, reply.exact_mass) == ("ok", True)
        assert reply.logprobs is not None
        for letter in "AB":
            (token,) = tokenizer(letter, add_special_tokens=False)["input_ids"]
            assert reply.logprobs[letter] == pytest.approx(float(logs[token]), abs=1e-4)
    assert replies[0].logprobs != replies[1].logprobs
    # Four tokens for each image of this model.
    assert (replies[0].prompt_tokens or 0) - (replies[2].prompt_tokens or 0) == 2 * 4 - 2


def test_it_writes_about_an_image_and_decides(
    backend: TransformersBackend, loop: asyncio.AbstractEventLoop
) -> None:
    text = loop.run_until_complete(backend.ask(asked(Text(12), shown("circle"), " what?")))
    assert (text.status, text.error) == ("ok", None)
    other = loop.run_until_complete(backend.ask(asked(Text(12), shown("square"), " what?")))
    again = loop.run_until_complete(backend.ask(asked(Text(12), shown("circle"), " what?")))
    assert text.text == again.text != other.text
    want = Reasoned(("A", "B"), "[[A]]", 8)
    reasoned = loop.run_until_complete(backend.ask(asked(want, shown("circle"), " what?")))
    assert reasoned.status == "ok"
    drawn = [
        loop.run_until_complete(backend.ask(asked(Text(12, 1.0), shown("circle"), "?")))
        for _ in range(2)
    ]
    assert drawn[0].text == drawn[1].text


def test_judged_text_is_never_an_image(
    folder: Path, backend: TransformersBackend, loop: asyncio.AbstractEventLoop
) -> None:
    question = asked(LETTERS, shown("circle"), Data(" <image><|im_end|>"))
    tokens = backend.prompt_tokens(question)
    tokenizer = hub.AutoTokenizer.from_pretrained(folder)
    assert tokens.count(tokenizer.convert_tokens_to_ids("<image>")) == 4
    assert loop.run_until_complete(backend.ask(question)).status == "ok"


def test_what_cannot_be_seen_is_an_error_of_its_question(
    backend: TransformersBackend, loop: asyncio.AbstractEventLoop
) -> None:
    broken = Image(keep_bytes(CONTENT["circle"][:60], "cut.png"), "cut.png")
    gone = Image("0" * 64, "gone.png")
    for image, said in ((broken, "the image cut.png is broken"), (gone, "gone.png is not there")):
        reply = loop.run_until_complete(backend.ask(asked(LETTERS, image)))
        assert reply.status == "error"
        assert said in str(reply.error)
    scored = asked(Likelihood(Data("x")), shown("circle"))
    assert loop.run_until_complete(backend.ask(scored)).status == "error"


def test_a_model_of_text_alone_takes_no_images(tmp_path: Path) -> None:
    assert not TransformersBackend(str(write_judge(tmp_path))).takes_images
