"""Questions with one image a second: `transformers:` against its processor and `generate`.

    python benchmarks/bench_images.py [--shape small|7b] [--questions 256]

Both read the same questions with the same random weights in one run: a LLaVA whose language model
has the shape, with the vision model of LLaVA-1.5 (576 tokens an image). `7b` needs CUDA. Needs
torch, torchvision, transformers and numpy. Prints both rates, and by how much the log odds differ.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import random
import tempfile
import time
from typing import Any

import numpy as np
import torch
import transformers as hub
from PIL import Image as Pillow

from adjudge.images import keep_bytes
from adjudge.judges.backends.transformers import TransformersBackend
from adjudge.judges.interface import Choice, Data, Message, Question
from adjudge.records import Image
from random_judge import SHAPES, make_tokenizer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for p in m['content'] %}"
    "{% if p['type'] == 'image' %}<image>{% else %}{{ p['text'] }}{% endif %}{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
ASK, END = "Which answer is better?\n", "\nA or B?"
IMAGES = 64


class ReadyBackend(TransformersBackend):
    """The backend with a model that is already in memory."""

    def __init__(self, model: Any, processor: Any) -> None:
        super().__init__("random", device=DEVICE)
        self.parts = processor.tokenizer, model
        self.__dict__["_processor"] = processor
        self.__dict__["_version"] = {}

    def _read(self) -> tuple[Any, Any]:
        return self.parts


def make_model(shape: str) -> tuple[Any, Any]:
    """A model with random weights, and its processor."""
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    size = {"height": 336, "width": 336}
    processor = hub.LlavaProcessor(
        hub.CLIPImageProcessor(size={"shortest_edge": 336}, crop_size=size),
        tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        num_additional_image_tokens=1,
    )
    vision = hub.CLIPVisionConfig(
        hidden_size=1024,
        intermediate_size=4096,
        num_hidden_layers=24,
        num_attention_heads=16,
        image_size=336,
        patch_size=14,
    )
    config = hub.LlavaConfig(
        text_config=hub.LlamaConfig(
            max_position_embeddings=4096, pad_token_id=256, **SHAPES[shape]
        ),
        vision_config=vision,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(DEVICE):
        model = hub.LlavaForConditionalGeneration(config).eval()
    torch.set_default_dtype(torch.float32)
    model.generation_config.pad_token_id = 256
    return model, processor


def make_photos() -> list[bytes]:
    rng = np.random.default_rng(0)
    photos = []
    for _ in range(IMAGES):
        file = io.BytesIO()
        pixels = rng.integers(0, 255, (512, 640, 3), dtype=np.uint8)
        Pillow.fromarray(pixels).save(file, "JPEG")
        photos.append(file.getvalue())
    return photos


def make_words(number: int) -> str:
    return "".join(random.Random(number).choices("etaoin shrdlu", k=600))


def make_question(number: int, photo: bytes) -> Question:
    image = Image(keep_bytes(photo, "photo"), "photo")
    parts = (ASK, image, Data(make_words(number)), END)
    return Question((Message("user", parts),), Choice(("A", "B")))


async def ask_all(backend: TransformersBackend, questions: list[Question]) -> list[Any]:
    return list(await asyncio.gather(*map(backend.ask, questions)))


def generate(model: Any, processor: Any, number: int, photo: bytes) -> Any:
    """What a user would write: one prompt, one new token, its scores."""
    words = {"type": "text", "text": make_words(number) + END}
    content = [{"type": "text", "text": ASK}, {"type": "image"}, words]
    turn = {"role": "user", "content": content}
    text = processor.apply_chat_template([turn], add_generation_prompt=True, tokenize=False)
    picture = Pillow.open(io.BytesIO(photo)).convert("RGB")
    inputs = processor(text=[text], images=[picture], return_tensors="pt")
    how = {"max_new_tokens": 1, "do_sample": False}
    with torch.inference_mode():
        out = model.generate(
            **inputs.to(DEVICE, torch.bfloat16),
            **how,
            output_scores=True,
            return_dict_in_generate=True,
        )
    return torch.log_softmax(out.scores[0][0].float(), -1).cpu()


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--shape", choices=list(SHAPES), default="small")
    options.add_argument("--questions", type=int, default=256)
    given = options.parse_args()
    os.environ["ADJUDGE_IMAGES"] = tempfile.mkdtemp()
    hub.logging.set_verbosity_error()
    model, processor = make_model(given.shape)
    photos = make_photos()
    backend = ReadyBackend(model, processor)
    await backend.start()
    questions = [make_question(n, photos[n % IMAGES]) for n in range(given.questions)]
    await ask_all(backend, questions[:8])
    for n in range(8):
        generate(model, processor, n, photos[n])
    began = time.perf_counter()
    replies = await ask_all(backend, questions)
    rate = len(questions) / (time.perf_counter() - began)
    began = time.perf_counter()
    few = range(min(IMAGES, given.questions))
    logs = [generate(model, processor, n, photos[n]) for n in few]
    plain = len(few) / (time.perf_counter() - began)
    letters = [processor.tokenizer(letter)["input_ids"][0] for letter in "AB"]
    differences = [
        abs(reply.logprobs["A"] - reply.logprobs["B"] - float(row[letters[0]] - row[letters[1]]))
        for reply, row in zip(replies, logs, strict=False)
    ]
    tokens = np.mean([reply.prompt_tokens for reply in replies])
    print(f"{given.shape} on {DEVICE}: {tokens:.0f} tokens a question, one image each")
    print(f"transformers: {rate:.2f} questions a second, {rate / plain:.2f} times generate")
    print(f"processor and generate {plain:.2f}; log odds differ by {max(differences):.1e} at most")
    await backend.close()


if __name__ == "__main__":
    asyncio.run(main())
