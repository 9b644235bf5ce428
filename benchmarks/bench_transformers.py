"""Pairs a second of the transformers backend against one-by-one `generate`, in one run.

    python benchmarks/bench_transformers.py [--shape small|7b] [--pairs 48]

Both read the same prompts in both orders with the same weights (random: only their shape matters
for speed). `generate` is what a user would write: one prompt, one new token, its scores. On CUDA
the matrix-multiplication ceiling is measured too: the flops of the prompts' tokens without their
padding, at the speed of one large bfloat16 product.

`--shape 7b` needs a CUDA machine; `small` runs anywhere, on one core, in CPU seconds, which a busy
machine does not inflate. Needs torch, transformers and numpy.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from adjudge.judges.backends.transformers import TransformersBackend
from adjudge.judges.interface import Choice, Data, Message, Question

SHAPES: dict[str, dict[str, int]] = {
    "small": {
        "vocab_size": 8_192,
        "hidden_size": 256,
        "intermediate_size": 768,
        "num_hidden_layers": 6,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
    },
    "7b": {
        "vocab_size": 152_064,
        "hidden_size": 3_584,
        "intermediate_size": 18_944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
    },
}
CLOCK = time.perf_counter if torch.cuda.is_available() else time.process_time
#: Mean and spread of the prompts' lengths: what judging chat answers looks like.
LENGTHS = {"small": (160, 80), "7b": (687, 300)}
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_model(shape: str, folder: Path, dtype: torch.dtype, device: str) -> LlamaForCausalLM:
    """A model of that shape with random weights; its folder, for the backend to load."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    names = {"pad_token": "<|pad|>", "eos_token": "<|im_end|>"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, additional_special_tokens=["<|im_start|>"], **names
    )
    tokenizer.chat_template = CHATML
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(max_position_embeddings=4096, pad_token_id=256, **SHAPES[shape])
    torch.manual_seed(0)
    with torch.device(device):
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        model = LlamaForCausalLM(config).eval()
        torch.set_default_dtype(before)
    model.save_pretrained(folder)
    return model


def make_questions(shape: str, pairs: int) -> list[Question]:
    """Two orders of each pair; a character is a token of this tokenizer."""
    mean, spread = LENGTHS[shape]
    rng = np.random.default_rng(1)
    questions = []
    for size in np.clip(rng.normal(mean, spread, pairs), 40, 4 * mean).astype(int):
        answers = ["".join(rng.choice(list("etaoin shrdlu"), size=size // 2)) for _ in range(2)]
        for order, (one, two) in (("ab", answers), ("ba", answers[::-1])):
            parts = ("Better? A: ", Data(one), " B: ", Data(two))
            questions.append(
                Question((Message("user", parts),), Choice(("A", "B")), order=order)  # type: ignore[arg-type]
            )
    return questions


async def run_backend(backend: TransformersBackend, questions: list[Question]) -> tuple[float, Any]:
    await asyncio.gather(*(backend.ask(question) for question in questions[::2]))
    began = CLOCK()
    replies = await asyncio.gather(*(backend.ask(question) for question in questions))
    return CLOCK() - began, replies


def run_generate(
    model: LlamaForCausalLM, prompts: list[list[int]], letters: tuple[int, ...], device: str
) -> tuple[float, list[float]]:
    """P(A) of each prompt, alone, from the scores of one generated token."""
    odds = []
    for number, prompt in enumerate([prompts[0], *prompts]):
        if number == 1:
            began = CLOCK()
        tokens = torch.tensor([prompt], device=device)
        out = model.generate(
            input_ids=tokens,
            attention_mask=torch.ones_like(tokens),
            max_new_tokens=1,
            do_sample=False,
            output_scores=True,
            return_dict_in_generate=True,
            pad_token_id=256,
        )
        a, b = (float(out.scores[0][0, letter]) for letter in letters)
        odds.append(a - b)
    return CLOCK() - began, odds[1:]


def matmul_ceiling(model: LlamaForCausalLM, tokens: int) -> float:
    """Seconds that the prompts' matrix products alone would take on this GPU."""
    n = 8192
    x = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
    for _ in range(3):
        x @ x
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(10):
        x @ x
    torch.cuda.synchronize()
    speed = 10 * 2 * n**3 / (time.perf_counter() - began)
    weights = sum(p.numel() for p in model.model.layers.parameters())
    return 2 * weights * tokens / speed


async def main(shape: str, pairs: int) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if shape == "7b" and device == "cpu":
        raise SystemExit("--shape 7b needs a CUDA machine")
    torch.set_num_threads(1)
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    with tempfile.TemporaryDirectory() as name:
        model = make_model(shape, Path(name), dtype, device)
        questions = make_questions(shape, pairs)
        backend = TransformersBackend(name)
        await backend.start()
        prompts = [backend.prompt_tokens(question) for question in questions]
        letters = backend._tokens.options(("A", "B"))
        batched, replies = await run_backend(backend, questions)
        alone, odds = run_generate(model, prompts, letters, device)
        await backend.close()
    found = [reply.logprobs["A"] - reply.logprobs["B"] for reply in replies]
    apart = max(abs(x - y) for x, y in zip(found, odds, strict=True))
    mean = np.mean([len(prompt) for prompt in prompts])
    where = torch.cuda.get_device_name() if device == "cuda" else "one core"
    print(f"{shape} on {where}, {dtype}, {pairs} pairs, both orders, {mean:.0f} tokens a prompt")
    print(f"  backend                {pairs / batched:8.2f} pairs a second")
    print(f"  one-by-one generate    {pairs / alone:8.2f} pairs a second")
    print(f"  ratio                  {alone / batched:8.2f}")
    print(f"  largest difference of the log odds  {apart:.1e}")
    if device == "cuda":
        ceiling = matmul_ceiling(model, sum(map(len, prompts)))
        print(f"  matmul ceiling         {pairs / ceiling:8.2f} pairs a second")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=sorted(SHAPES), default="small")
    parser.add_argument("--pairs", type=int, default=48)
    given = parser.parse_args()
    asyncio.run(main(given.shape, given.pairs))
