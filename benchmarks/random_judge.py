"""A judge with random weights of a known shape, and questions of known lengths, for benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from adjudge.judges.interface import Choice, Data, Likelihood, Message, Question

SHAPES: dict[str, dict[str, int]] = {
    "small": {
        "vocab_size": 8_192,
        "hidden_size": 256,
        "intermediate_size": 768,
        "num_hidden_layers": 6,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
    },
    "1b": {
        "vocab_size": 32_768,
        "hidden_size": 2_048,
        "intermediate_size": 8_192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
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
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True)
class Sizes:
    """Tokens of a prompt's parts; those of questions and answers vary."""

    instruction: int
    question: int
    answer: int

    def draw(self, rng: np.random.Generator, mean: int) -> str:
        size = max(8, int(rng.normal(mean, 0.4 * mean)))
        return "".join(rng.choice(list("etaoin shrdlu"), size=size))


#: 687 tokens in all, with the words and marks around the answers.
LARGE, SMALL = Sizes(124, 97, 200), Sizes(20, 20, 40)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A character is a token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    names = {"pad_token": "<|pad|>", "eos_token": "<|im_end|>"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, additional_special_tokens=["<|im_start|>"], **names
    )
    tokenizer.chat_template = CHATML
    return tokenizer


def make_model(shape: str, dtype: torch.dtype, device: str) -> LlamaForCausalLM:
    """A model of that shape with random weights."""
    config = LlamaConfig(max_position_embeddings=4096, pad_token_id=256, **SHAPES[shape])
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            return LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(before)


def make_comparisons(sizes: Sizes, *, documents: int, answers: int) -> list[Question]:
    """Every pair of a document's answers in both orders."""
    rng = np.random.default_rng(documents * answers)
    system = Message("system", ("i" * sizes.instruction,))
    questions = []
    for _ in range(documents):
        asked = Data(sizes.draw(rng, sizes.question))
        given = [Data(sizes.draw(rng, sizes.answer)) for _ in range(answers)]
        for one, two in permutations(given, 2):
            parts = ("[Question]\n", asked, "\n[A]\n", one, "\n[B]\n", two, "\nBetter: A or B?")
            questions.append(Question((system, Message("user", parts)), Choice(("A", "B"))))
    return questions


def make_grades(sizes: Sizes, *, documents: int, answers: int) -> list[Question]:
    """Whether each of a document's answers passes."""
    rng = np.random.default_rng(2)
    system = Message("system", ("i" * sizes.instruction,))
    questions = []
    for _ in range(documents):
        asked = Data(sizes.draw(rng, sizes.question))
        for _ in range(answers):
            answer = Data(sizes.draw(rng, sizes.answer))
            parts = ("[Question]\n", asked, "\n[Answer]\n", answer, "\nPass: P or F?")
            questions.append(Question((system, Message("user", parts)), Choice(("P", "F"))))
    return questions


def make_likelihoods(sizes: Sizes, *, documents: int, answers: int) -> list[Question]:
    """How probable each of a document's answers is."""
    rng = np.random.default_rng(3)
    questions = []
    for _ in range(documents):
        asked = (Message("user", (Data(sizes.draw(rng, 2 * sizes.question)),)),)
        questions += [
            Question(asked, Likelihood(Data(sizes.draw(rng, sizes.answer)))) for _ in range(answers)
        ]
    return questions
